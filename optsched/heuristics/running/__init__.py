"""How a heuristic is run: what it is, what it sees, the driver of policies, what it may answer, and what is recorded.

The heuristics themselves are in `heuristics`.
"""
