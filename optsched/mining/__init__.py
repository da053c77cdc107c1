"""Mining: the worst instance for a heuristic, or one that breaks a claim, shrunk to a minimal one.

`changes` makes other documents of one, `judging` says how bad each is, `search` looks and shrinks, `finding` tells and
saves what was found. Values and optima come from `gaps` alone.
"""

from __future__ import annotations

from optsched.mining.finding import Find
from optsched.mining.search import mine

__all__ = ["Find", "mine"]
