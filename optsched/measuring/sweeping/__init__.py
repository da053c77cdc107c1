"""Sweeps: many gaps, each in a process of its own, into a store in which what is finished is never lost.

`plans` says what is to be computed, and by what it is found again; `executing` is a sweep from beginning to end, with
what its processes do; `store` is the file, what is read from it, and whether it is sound.
"""

from __future__ import annotations

from optsched.measuring.sweeping.executing import sweep
from optsched.measuring.sweeping.store import Sweep, load_sweep

__all__ = ["Sweep", "load_sweep", "sweep"]
