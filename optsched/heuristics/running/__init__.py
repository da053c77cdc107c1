"""Runs heuristics, batch callables and online policies: what they see, what they may answer, what is recorded.

The heuristics themselves are in `heuristics`.
"""
