"""Functions run in processes of their own that can be killed: at a deadline, over a limit on memory, when they crash.

What runs there is none of this room's business. `run` runs one job; an `Executor` runs many, in the order in which it
draws them: `LocalExecutor` on this machine, `DaskExecutor` on a cluster. Whatever a job does, there is an `Outcome`.

Of the libraries looked at, `concurrent.futures`, `loky` and `joblib` give up all jobs where one process dies; `pebble`
and `billiard` kill at a deadline, but neither limits memory, and what a job has started outlives it.
"""

from __future__ import annotations

from optsched.processes.local import LocalExecutor, run
from optsched.processes.outcomes import Executor, Limits, Outcome, Status

__all__ = ["Executor", "Limits", "LocalExecutor", "Outcome", "Status", "run"]
