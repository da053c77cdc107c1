"""Studies: many gaps at once, limits on them, and recorded results.

`choices` says what heuristics and instances may be given as, also in files of checks and sweeps, `runs` plans and
measures, `tables` sums up. `limits` and `baselines` judge, `checks` says what must hold, `check_reports` the results.
`commands` gives runs again.
"""
