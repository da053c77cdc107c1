"""The heuristics: what a scheduler could run, batch or online, all on the problems' own instances.

One module per family, named after one of its heuristics, and imported on first use. `running` defines what a heuristic
is and runs it; `simulating` runs policies over time. Some heuristics solve an exact problem of their own by a search of
`optsched.solvers.searches`; none uses a model. A batch heuristic is called with the problem and a random generator; its
docstring mentions the generator only if it is used.

Other packages add heuristics by entry points of the group `optsched.heuristics`; these come after the shipped ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from optsched.core.errors import UsageError, nearest
from optsched.core.outside import Listed
from optsched.core.processes.containing import in_force
from optsched.core.registry import records
from optsched.core.resources import HEURISTICS as SHIPPED
from optsched.heuristics.running.base import BatchHeuristic, Event, Heuristic, Offer, Policy, View
from optsched.heuristics.running.driver import Answer, Observer
from optsched.heuristics.running.run import AnyHeuristic, HeuristicRun, custom, imported, run_contained, run_heuristic
from optsched.problems.base import TaskProblem, expect_problem

__all__ = [
    "GROUP",
    "HEURISTICS",
    "AnyHeuristic",
    "BatchHeuristic",
    "Answer",
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

#: Entry points of this group are heuristics.
GROUP = "optsched.heuristics"

#: The family of each shipped heuristic.
_FAMILY_OF = {name: family for family, names in SHIPPED.items() for name in names}


def _shipped(name: str) -> Heuristic:
    """A shipped heuristic; its family is imported."""
    entries: Sequence[Heuristic] = import_module(f"{__name__}.{_FAMILY_OF[name]}").HEURISTICS
    return next(entry for entry in entries if entry.name == name)


def _fault(entry: Heuristic) -> str | None:
    """The problem of a package's heuristic that does not exist."""
    try:
        known = list(records())
    except UsageError:  # a package of problems has a fault, which is shown where problems are listed
        return None
    strange = (name for name in entry.named if name not in known)
    return next((f'its problems have "{name}", which does not exist; {nearest(name, known)}' for name in strange), None)


#: Every heuristic by its name, in listed order; those of other packages come last.
HEURISTICS: Mapping[str, Heuristic] = Listed(GROUP, Heuristic, _FAMILY_OF, _shipped, _fault)


def heuristic(named: AnyHeuristic) -> Heuristic:
    """The entry for a name, a user's callable or a policy.

    Parameters
    ----------
    named
        A listed name; `package.module:function`, which is imported; an entry; a class or instance with `offer`; a
        callable `(problem, rng, **parameters) -> placement`; or a decision made elsewhere: a placement, a schedule, a
        solution, or a mapping from ids of tasks to ids of nodes.

    Raises
    ------
    UsageError
        For an unknown name (with the nearest one), a module or function that cannot be imported, and anything else.

    Examples
    --------
    >>> heuristic("dl").online
    True
    >>> heuristic("dll")
    Traceback (most recent call last):
    optsched.core.errors.UsageError: there is no heuristic "dll"; did you mean "dl"? (your own: package.module:function)
    """
    if isinstance(named, Heuristic):
        return named
    if not isinstance(named, str):
        return custom(named)
    if ":" in named:
        return imported(named)
    if named not in HEURISTICS:
        known = nearest(named, list(HEURISTICS))
        raise UsageError(f'there is no heuristic "{named}"; {known} (your own: package.module:function)')
    return HEURISTICS[named]


def applicable(problem: TaskProblem[Any], *, by_default: bool = False) -> list[Heuristic]:
    """The listed heuristics that serve a problem and have all the fields that they need, in listed order.

    `by_default` adds those that decide round after round in a problem over time. It includes `observed` only if every
    task has a record, since otherwise its placement is infeasible.
    """
    expect_problem(problem, "applicable", TaskProblem)
    entries = [
        entry for entry in HEURISTICS.values() if (entry.applies(problem) if by_default else entry.serves(problem))
    ]
    recorded = not by_default or bool((problem.instance.workload.observed[problem.tasks] >= 0).all())
    return [entry for entry in entries if recorded or entry.name != "observed"]


def run(
    problem: TaskProblem[Any],
    heuristic: AnyHeuristic,
    /,
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
        The problem. A user's own code gets a copy, so that it cannot change the problem that judges its answer.
    heuristic
        See `heuristic`.
    seed
        A whole number, or several, for `numpy.random.SeedSequence`; driver and heuristic have separate streams.
    max_idle_rounds
        For a policy: the number of rounds without an assignment after which it counts as starved (default 100).
    observers
        For a policy: called with (time, problem, decision) after each decision.
    time_limit
        Seconds. After them the run ends with an error and no placement. The shipped heuristics check the clock in their
        loops. A user's own code is interrupted where it is: in the main thread of Unix, between steps of Python code;
        elsewhere it may call `optsched.core.deadline.check` itself.
    **parameters
        The heuristic's own. In a problem that decides when tasks run, a policy also has `heartbeat` (seconds, default
        3) and `assign` (`all` or `one`), as in `optsched.simulate`, unless it has parameters of these names. There, a
        listed batch heuristic decides in rounds, and also takes `problem`, `period` and `on_free` of
        `optsched.heuristics.simulating.EveryRound`.

    Returns
    -------
    HeuristicRun
        With the placement, feasible or not, or with the error of a heuristic that raised or returned something invalid.
        Within `optsched.core.processes.contained` it runs in its own process, and anything that ends that is also an
        error.

    Raises
    ------
    UsageError
        For an unknown heuristic or parameter, one that does not serve the problem, or an invalid seed.
    MissingField
        If the instance lacks a field that the heuristic needs.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Ragged, Workload
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
    expect_problem(problem, "run", TaskProblem)
    entry = _entry(heuristic)
    run_it = run_heuristic if in_force() is None else run_contained
    return run_it(
        problem,
        entry,
        seed,
        max_idle_rounds=max_idle_rounds,
        observers=observers,
        time_limit=time_limit,
        **parameters,
    )


_entry = heuristic  # `run` has a parameter of that name
