"""The heuristics: what a scheduler could run, batch or online, all on the problems' own instances.

One module a family, named after its first heuristic. `optsched.running` says what a heuristic is and runs it; `waves`
goes on until all tasks ran. Some heuristics solve an exact problem of their own by a search of `optsched.searches`;
none uses a model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from optsched.errors import UsageError, nearest
from optsched.heuristics import (
    coupling,
    delay,
    dl,
    fair,
    fair_sharing,
    fifo,
    flow_based,
    flow_sched,
    joss,
    labl,
    lsap_fair_sched,
    lsap_sched,
    observed,
    probabilistic,
    quincy,
    ras,
    sequential,
)
from optsched.problems import Problem
from optsched.problems.base import expect_problem
from optsched.running.base import BatchHeuristic, Event, Heuristic, Offer, Policy, View
from optsched.running.driver import Decision, Observer
from optsched.running.run import AnyHeuristic, HeuristicRun, custom, imported, run_heuristic

__all__ = [
    "HEURISTICS",
    "AnyHeuristic",
    "BatchHeuristic",
    "Decision",
    "Event",
    "Heuristic",
    "HeuristicRun",
    "Observer",
    "Offer",
    "Policy",
    "View",
    "applicable",
    "heuristic",
    "run",
]

_FAMILIES = (
    dl,
    lsap_sched,
    lsap_fair_sched,
    flow_sched,
    fifo,
    delay,
    fair,
    probabilistic,
    coupling,
    quincy,
    sequential,
    flow_based,
    labl,
    joss,
    ras,
    fair_sharing,
    observed,
)

#: Every heuristic by its name, in the order in which they are listed.
HEURISTICS: Mapping[str, Heuristic] = MappingProxyType(
    {entry.name: entry for family in _FAMILIES for entry in family.HEURISTICS}
)


def heuristic(given: AnyHeuristic) -> Heuristic:
    """The entry that a name, a user's callable or a policy stands for.

    Parameters
    ----------
    given
        A name of the list; `package.module:function`, which is imported; an entry; a class or instance with `offer`;
        or a callable `(problem, rng, **parameters) -> placement`.

    Raises
    ------
    UsageError
        For an unknown name (with the nearest one), a module or function that cannot be imported, and what is none of
        these.

    Examples
    --------
    >>> heuristic("dl").online
    True
    >>> heuristic("dll")
    Traceback (most recent call last):
    optsched.errors.UsageError: there is no heuristic "dll"; did you mean "dl"? (your own: package.module:function)
    """
    if isinstance(given, Heuristic):
        return given
    if not isinstance(given, str):
        return custom(given)
    if ":" in given:
        return imported(given)
    if given not in HEURISTICS:
        known = nearest(given, list(HEURISTICS))
        raise UsageError(f'there is no heuristic "{given}"; {known} (your own: package.module:function)')
    return HEURISTICS[given]


def applicable(problem: Problem, *, by_default: bool = False) -> list[Heuristic]:
    """The heuristics of the list that serve a problem and find the fields that they need, in the list's order.

    `by_default`: `observed` only where there is a record of every task, since what it gives else is infeasible.
    """
    expect_problem(problem, "applicable", Problem)
    entries = [entry for entry in HEURISTICS.values() if entry.serves(problem)]
    recorded = not by_default or bool((problem.instance.workload.observed[problem.tasks] >= 0).all())
    return [entry for entry in entries if recorded or entry.name != "observed"]


def run(
    problem: Problem,
    heuristic: AnyHeuristic,
    seed: int | Sequence[int] = 0,
    *,
    max_idle_rounds: int | None = None,
    observers: Sequence[Observer] = (),
    time_limit: float | None = None,
    **parameters: Any,
) -> HeuristicRun:
    """Run a heuristic on a problem.

    Parameters
    ----------
    problem
        What to place. A user's own code gets a copy, so that it cannot change what its answer is judged by.
    heuristic
        See `heuristic`.
    seed
        A whole number, or several, of `numpy.random.SeedSequence`; driver and heuristic have streams of their own.
    max_idle_rounds
        Of a policy: rounds without an assignment after which it counts as starved (default 100).
    observers
        Of a policy: called with (time, problem, decision) after each decision.
    time_limit
        Seconds. Past them the run ends with an error and no placement. The heuristics of the list look at the clock in
        their loops. A user's own code is broken off where it stands, in the main thread of Unix and between steps of
        Python code; elsewhere it may call `optsched.deadline.check` itself.
    **parameters
        The heuristic's own.

    Returns
    -------
    HeuristicRun
        With the placement, feasible or not, or with the error of a heuristic that raised or answered nonsense.

    Raises
    ------
    UsageError
        For an unknown heuristic or parameter, one that does not serve the problem, or a wrong seed.
    MissingField
        If the instance lacks a field that the heuristic needs.

    Examples
    --------
    >>> from optsched.instance import Cluster, Instance, Ragged, Workload
    >>> from optsched.problems import Lsap
    >>> workload = Workload(["t1", "t2"], replicas=Ragged.from_rows([[0, 1], [0]]))
    >>> problem = Lsap(Instance(Cluster(["a", "b"]), workload))
    >>> run(problem, "lsap-sched").placement.nodes.tolist()
    [1, 0]
    >>> def backwards(problem, rng):
    ...     return ["b", "A"]
    >>> print(run(problem, backwards).error)
    heuristic "...backwards" answered node "A" for task "t2": the instance has no such node
    """
    expect_problem(problem, "run", Problem)
    entry = _entry(heuristic)
    return run_heuristic(
        problem,
        entry,
        seed,
        max_idle_rounds=max_idle_rounds,
        observers=observers,
        time_limit=time_limit,
        **parameters,
    )


_entry = heuristic  # `run` has a parameter of that name
