"""Families of generated instances: one module a paper, one for those whose optimum is known by construction.

`base` holds what a family is, `sampling` the random draws that they share. The registry and the function that people
call are in `optsched.instances.generate`.
"""
