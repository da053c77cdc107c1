"""Families of generated instances: one module for each paper or model, `jobs` for workloads of jobs and over time (RAS,
JoSS, `mixed`, `makespan`, `job-times`, `day`), `others` for those of no paper.

`base` defines families and has the random draws that they share. The registry and the public function are in
`optsched.instances.generate`.
"""
