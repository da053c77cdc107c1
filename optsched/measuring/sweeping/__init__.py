"""Sweeps: many gaps, each in a process of its own, into a store in which what is finished is never lost.

`plans` says what is to be computed and `keys` by what it is found again; `jobs` is what the processes do, `agenda` what
is left and how outcomes are stored; `store` is the file; `executing` is a sweep from beginning to end, `results` what
is read from it, and whether it is sound.
"""

from __future__ import annotations

from optsched.measuring.sweeping.executing import sweep
from optsched.measuring.sweeping.store import Sweep, load_sweep

__all__ = ["Sweep", "load_sweep", "sweep"]
