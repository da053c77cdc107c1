"""Studies: many gaps at once, limits on them, and what was recorded of them.

`choices` says what heuristics and instances may be given as, `runs` plans and measures, `limits` judges, `checks` says
what must hold and what came of it, `tables` sums up.
"""
