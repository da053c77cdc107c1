"""Looks for contradictions to unproved claims: by quick decisions, and by trying every placement of a small instance.

Nothing here proves an optimum, but it can contradict a claim: a feasible decision contradicts INFEASIBLE, and a better
one contradicts a bound. Routes accept a solver's unproved claim only if nothing here contradicts it. `examine` does the
same for a solution that somebody else claims. Effort is limited by counts, never by the clock, so that the same input
gives the same answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from optsched.certificates import Enumerated, Verdict, certify
from optsched.core.errors import InputError, OutOfTime, TooLarge, UsageError
from optsched.core.problem_record import imported
from optsched.core.registry import record_of
from optsched.core.results import Decision, Frontier, Solution, Value
from optsched.problems import AnyProblem
from optsched.problems.base import TaskProblem, expect_problem
from optsched.problems.program_audit import samples

__all__ = ["FEW", "MANY", "enumerated", "examine", "quick_decisions"]

#: Larger instances are left to the solver: heuristics would take longer than the check is worth.
_MOST_TASKS = 1000

#: The most tasks times placements that the walk from the best placement visits.
_LOOKS_BY_TASKS = 40_000

#: All placements are tried if there are at most this many: to check a solver's claim; to examine anybody's claim.
FEW, MANY = 2000, 200_000


def examine(
    problem: AnyProblem,
    solution: Solution | Frontier,
    against: dict[str, Decision] | None = None,
    most: int = MANY,
) -> Verdict:
    """Certify a solution and, if something in it is only claimed, look for a contradiction.

    Parameters
    ----------
    problem, solution
        As for `optsched.certify`.
    against
        Decisions that the caller knows, by the name of their source.
    most
        If there are at most this many placements, all are tried, which settles every claim.

    Returns
    -------
    Verdict
        As from `optsched.certify`, but with more contradicted and more proved.

    Examples
    --------
    A solver claims an optimum of 2 without a proof, but 0 is possible:

    >>> from optsched.core.instance import Cluster, Instance, Ragged, Workload
    >>> from optsched.problems import Lsap
    >>> from optsched.core.results import Certificate, Proof, Termination
    >>> problem = Lsap(Instance(Cluster(["a", "b"]), Workload(["t", "u"], replicas=Ragged.from_rows([[0], [1]]))))
    >>> word = Certificate("locality-cost", Proof.SOLVER, 2)
    >>> solution = Solution(
    ...     "lsap", {}, problem.instance.sha256, problem.placement([1, 0]), (2,), (2,), Termination.OPTIMAL, None,
    ...     (word,), "by hand", 0.0, 0.0, {}, "")
    >>> examine(problem, solution).contradicted[0]
    'proof of locality-cost by enumeration: every placement was tried: 0, claimed 2'
    """
    verdict = certify(problem, solution, against)
    if not verdict.valid or not verdict.claims:
        return verdict
    tried = _tried(problem, solution, most)
    if tried is not None:
        verdict = certify(problem, solution, against, tried)
        if not verdict.valid or not verdict.claims:
            return verdict
    held = solution.decision if isinstance(solution, Solution) else None
    start = held if isinstance(held, problem.decided) else None
    return certify(problem, solution, {**(against or {}), **quick_decisions(problem, start)}, tried)


def _tried(problem: AnyProblem, claimed: Solution | Frontier, most: int) -> Enumerated | None:
    """What trying every placement says about a claim; None if there are more than `most`."""
    from optsched.solvers.searches.enumeration import pareto_values

    if isinstance(claimed, Solution):
        return enumerated(problem, most)
    try:
        return Enumerated(front=tuple(pareto_values(problem, most)))  # type: ignore[arg-type]
    except (TooLarge, OutOfTime):
        return None


def enumerated(problem: AnyProblem, most: int = FEW) -> Enumerated | None:
    """The result of trying every placement or schedule; None if there are more than `most`, or flows to decide."""
    from optsched.solvers.searches.enumeration import best_decision

    expect_problem(problem, "enumerated")
    if not isinstance(problem, TaskProblem):
        return None
    try:
        best = best_decision(problem, most=most)
    except (TooLarge, OutOfTime, UsageError):
        return None
    return Enumerated(None if best is None else best[0])


def quick_decisions(problem: AnyProblem, start: Decision | None = None) -> dict[str, Decision]:
    """Feasible decisions that are quickly found, by the name of their source.

    Parameters
    ----------
    problem
        What to decide.
    start
        A feasible decision that is known already; the walk may begin there.

    Returns
    -------
    dict
        From some heuristics, a greedy packing, or for a network any flow; and a walk from the best of them (`samples`).
        Empty if the problem is too large for that, or nothing was found.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Ragged, Workload
    >>> from optsched.problems import Latency
    >>> problem = Latency(Instance(Cluster(["s1", "s2"]), Workload(["t"], replicas=Ragged.from_rows([[1]]))))
    >>> {name: held.nodes.tolist() for name, held in quick_decisions(problem).items()}
    {'flow-based': [1], 'labl': [1], 'local search': [1]}
    """
    size = len(problem.tasks) if isinstance(problem, TaskProblem) else problem.instance.arcs
    if isinstance(problem, TaskProblem) and size > _MOST_TASKS:
        return {}

    def worth(decision: Decision) -> Value:
        return problem.minimised(problem.evaluate(decision))

    try:
        found = dict(_rivals(problem))
        held = [entry for entry in (*found.values(), start) if entry is not None and not problem.violations(entry)]
        best = min(held, key=worth, default=None)
        walk = islice(samples(problem, best), _LOOKS_BY_TASKS // max(1, size)) if size else ()
        held = [*([] if best is None else [best]), *(entry for entry in walk if not problem.violations(entry))]
        if size and held:
            found["local search"] = min(held, key=worth)
    except OutOfTime:
        return {}
    return found


def _rivals(problem: AnyProblem) -> Iterator[tuple[str, Decision]]:
    """The decisions of the quick heuristics and functions that the problem's record names, if they are feasible.

    A class whose record names none has the functions of the class from which it derives.
    """
    kinds = [kind for kind in type(problem).__mro__ if hasattr(kind, "name")]
    for name in next(filter(None, (record_of(kind).rivals for kind in kinds)), ()):
        label, found = name.rpartition(":")[2].replace("_", " "), None
        if ":" in name:
            found = imported(name)(problem)
        else:
            from optsched.heuristics import heuristic, run

            assert isinstance(problem, TaskProblem)
            with suppress(InputError):  # the instance lacks a field that the heuristic needs
                found, label = run(problem, name).decision if heuristic(name).runs_in(problem.name) else None, name
        if found is not None and not problem.violations(found):
            yield label, found
