"""Mining: the worst instance for a heuristic, or one that breaks a claim, shrunk to a minimal one.

Instances are plain documents while they are changed and made smaller (`documents`). `walking` says how bad each is and
looks for the worst; `search` tells and saves what was found; `statements` are claims of the papers. Values and optima
come from `gaps` alone.
"""

from __future__ import annotations

from optsched.measuring.mining.search import Find, mine
from optsched.measuring.mining.statements import Statement, statement
from optsched.measuring.mining.walking import is_broken

__all__ = ["Find", "Statement", "is_broken", "mine", "statement"]
