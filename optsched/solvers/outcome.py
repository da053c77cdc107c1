"""Outcome of one run of a mathematical-programming solver, in the same terms for each way to reach the solver.

It is a solver's claim in floating point. A `results.Solution`, whose objective is exact and evaluated again, is made
from it further up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from optsched.core.errors import OutOfTime
from optsched.core.results import Limit, Termination

__all__ = ["INTERRUPTED", "OUT_OF_MEMORY", "STOPPED", "SolverOutcome", "negated", "stopped"]

#: What stops a search from outside, wherever it is. Its result is then what it holds and has proved.
STOPPED = (KeyboardInterrupt, OutOfTime, MemoryError)


def stopped(error: BaseException) -> tuple[Limit, str]:
    """The limit that one of `STOPPED` stands for, and what to say.

    >>> stopped(MemoryError("std::bad_alloc"))
    (<Limit.MEMORY: 'MEMORY'>, 'out of memory')
    """
    if isinstance(error, KeyboardInterrupt):
        return Limit.INTERRUPTED, "interrupted"
    return (Limit.MEMORY, "out of memory") if isinstance(error, MemoryError) else (Limit.TIME, "out of time")


@dataclass(frozen=True, slots=True)
class SolverOutcome:
    """Why a solver stopped, what it claims to hold and to have proved, and what it literally said.

    None means that the solver does not know, never 0 or infinity.

    Parameters
    ----------
    status
        OPTIMAL only where objective and bound meet; FEASIBLE with an objective, NO_SOLUTION without; INFEASIBLE; and
        ERROR for a run without an answer, an unbounded objective among them (`raw_status` tells).
    limit
        What cut the run short. NODES is any limit on effort that is not time. INTERRUPTED together with OPTIMAL or
        INFEASIBLE: the run was over before the interrupt reached it, and the caller should still stop.
    objective, bound
        Claimed value of the incumbent, and bound on the optimum, in the model's own sense and with its constant.
    raw_status, seconds, nodes
        The solver's words; wall-clock time of the solver alone; branch-and-bound nodes, None for a linear program.
    solver
        `name`, `version`, `interface` and the `options` that were set.
    """

    status: Termination
    limit: Limit | None
    objective: float | None
    bound: float | None
    raw_status: str
    seconds: float
    nodes: int | None
    solver: Mapping[str, Any] = field(default_factory=dict)


def negated(outcome: SolverOutcome) -> SolverOutcome:
    """The same in the other sense: objective and bound change their sign.

    >>> low = negated(SolverOutcome(Termination.FEASIBLE, Limit.TIME, 5.0, 7.5, "time limit reached", 1.0, 0))
    >>> low.objective, low.bound
    (-5.0, -7.5)
    """
    objective, bound = (None if value is None else -value for value in (outcome.objective, outcome.bound))
    return replace(outcome, objective=objective, bound=bound)


#: The outcome where a model did not fit before the solver began.
OUT_OF_MEMORY = SolverOutcome(Termination.NO_SOLUTION, Limit.MEMORY, None, None, "out of memory", 0.0, None)

#: The outcome where Ctrl-C came while the solver did not look for it.
INTERRUPTED = SolverOutcome(Termination.NO_SOLUTION, Limit.INTERRUPTED, None, None, "interrupted", 0.0, None)
