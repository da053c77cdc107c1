"""Runs functions in child processes that can be killed: at a deadline, over a memory limit, or after a crash.

This room does not care what runs there. `run` runs one job; an `Executor` runs many, in the order in which it draws
them: `LocalExecutor` on this machine, `DaskExecutor` on a cluster. Each job has an `Outcome`, even after a crash.
`contained` applies limits to all runs of heuristics and solvers within a block.

We looked at other libraries. `concurrent.futures`, `loky` and `joblib` give up all jobs if one process dies; `pebble`
and `billiard` kill at a deadline, but neither limits memory, and processes that a job started outlive it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optsched.core.processes.containing import contained
    from optsched.core.processes.executors import DaskExecutor, Executor, LocalExecutor, run
    from optsched.core.processes.limits import Limits, Outcome, Status

__all__ = ["DaskExecutor", "Executor", "Limits", "LocalExecutor", "Outcome", "Status", "contained", "run"]

#: Module of each name: code that only asks for the limits in force loads nothing that starts processes.
_MODULES = {
    "DaskExecutor": "executors",
    "Executor": "executors",
    "Limits": "limits",
    "LocalExecutor": "executors",
    "Outcome": "limits",
    "Status": "limits",
    "contained": "containing",
    "run": "executors",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
