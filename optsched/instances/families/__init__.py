"""Families of generated instances: one module a paper or model, `jobs` for workloads of jobs and over time (RAS, JoSS,
`mixed`, `makespan`, `job-times`, `day`), `others` for those of no paper.

`base` holds what a family is, and the random draws that they share. The registry and the function that people call are
in `optsched.instances.generate`.
"""
