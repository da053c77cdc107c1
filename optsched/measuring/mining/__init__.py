"""Mining: the worst instance for a heuristic, or one that breaks a claim, shrunk to a minimal one.

`starts` draws small instances, `changes` makes others of one and `shrinking` smaller ones, all of them plain documents
(`documents`); `judging` says how bad each is, `walking` looks for the worst and shrinks it, `finding` tells and saves
what was found. Values and optima come from `gaps` alone.
"""

from __future__ import annotations

from optsched.measuring.mining.search import Find, mine
from optsched.measuring.mining.walking import is_broken

__all__ = ["Find", "is_broken", "mine"]
