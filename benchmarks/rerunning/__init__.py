"""The papers' experiments run over time, a module a paper; `paper_runs.py` prints them."""
