"""Families of generated instances: one module a paper or model, one for optima known by construction.

`base` holds what a family is, `sampling` the random draws that they share. The registry and the function that people
call are in `optsched.instances.generate`.
"""
