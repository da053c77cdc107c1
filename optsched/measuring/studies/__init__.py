"""Studies: many gaps at once, limits on them, and what was recorded of them.

`choices` says what heuristics and instances may be given as, `runs` plans and measures, `limits` and `baselines` judge,
`messages` tells what is wrong, `tables` sums up.
"""
