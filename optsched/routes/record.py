"""What every route is made with: the record of one call, the checks of a solver's word, and points of a frontier.

The objective is re-evaluated in `problems` from what is decided, the bound is what a certificate says, and OPTIMAL
means that the two are equal.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar, Protocol

import numpy as np

from optsched.doubts import FEW, examine
from optsched.errors import SolverDisagreement
from optsched.problems import AnyProblem, Problem
from optsched.results import (
    Certificate,
    Decision,
    FrontierPoint,
    Limit,
    Number,
    Proof,
    Solution,
    Termination,
    Value,
)
from optsched.solvers.answers import decoding
from optsched.solvers.outcome import SolverOutcome
from optsched.solvers.profiles import Profile

__all__ = [
    "MODELS",
    "Beside",
    "Frontier",
    "Record",
    "by_enumeration",
    "check_claim",
    "decoded",
    "solver_of",
    "whole_bound",
]

#: Routes that use a declarative model.
MODELS = ("pyomo", "pulp")

#: The status where enumeration found nothing.
ALL_TRIED = "no placement is feasible"

#: How far a solver's own figure may be from the re-evaluated one, relative to it.
_AGREES = 1e-6


class Record:
    """Makes the `Solution` of one call: evaluates, compares with the start, and decides on the termination."""

    def __init__(self, problem: AnyProblem, route: str, start: Any) -> None:
        self.problem, self.route, self.start = problem, route, start
        self.began = time.perf_counter()

    def solution(
        self,
        decision: Decision | None,
        certificates: tuple[Certificate, ...],
        limit: Limit | None,
        raw_status: str,
        solver: Mapping[str, Any],
        build_seconds: float = 0.0,
        unanswered: Termination | None = None,
    ) -> Solution:
        """The solution with the better of `decision` and the start; each bound is what its certificate claims.

        `unanswered` is INFEASIBLE or ERROR where there is no optimum to be found.
        """
        problem = self.problem
        if unanswered is Termination.INFEASIBLE and self.start is not None:
            raise SolverDisagreement(f"{problem.name}: a solver says that nothing is feasible, but the start is")
        candidates = [(_worth(problem, held), held) for held in (decision, self.start) if held is not None]
        best_of = min(candidates, key=lambda held: problem.minimised(held[0])) if candidates else (None, None)
        objective, best = best_of
        claims = {certificate.component: certificate.claim for certificate in certificates}
        bound: list[Number | None] = []
        for place, component in enumerate(problem.components):
            open_before = objective is None or list(objective[:place]) != bound
            bound.append(None if place and open_before else claims.get(component.name))
        if objective is not None:
            _check_bound(problem, objective, bound)
        held_claims = {part.name for part, claim in zip(problem.components, bound, strict=True) if claim is not None}
        if objective is not None and objective == tuple(bound):
            termination, limit = Termination.OPTIMAL, None
        elif unanswered is not None:
            termination, limit = unanswered, None
        else:
            termination = Termination.FEASIBLE if objective is not None else Termination.NO_SOLUTION
            limit = limit or Limit.GAP
        solution = Solution(
            problem=problem.name,
            parameters=dict(problem.parameters),
            instance_sha256=problem.instance.sha256,
            decision=best,
            objective=objective,
            bound=tuple(bound),
            termination=termination,
            limit=limit,
            certificates=tuple(entry for entry in certificates if entry.component in held_claims),
            route=self.route,
            build_seconds=build_seconds,
            solve_seconds=max(0.0, time.perf_counter() - self.began - build_seconds),
            solver=solver,
            raw_status=raw_status,
        )
        _doubt(problem, solution)
        return solution


def _doubt(problem: AnyProblem, solution: Solution) -> None:
    """Take a solver's mere word only where nothing that is quickly found contradicts it.

    Raises
    ------
    SolverDisagreement
        If a decision is found that is better than a claimed bound, or feasible where nothing should be.
    """
    if solution.limit is Limit.INTERRUPTED:
        return
    if solution.termination is Termination.INFEASIBLE:
        word = problem.plainly_infeasible is None and solution.raw_status != ALL_TRIED
    else:
        word = any(certificate.kind is Proof.SOLVER for certificate in solution.certificates)
    if not word:
        return
    verdict = examine(problem, solution, most=FEW)
    if not verdict.valid:
        told = "; ".join(verdict.contradicted)
        raise SolverDisagreement(f"{problem.name}: the solver is contradicted: {told}")


def _check_bound(problem: AnyProblem, objective: Value, bound: list[Number | None]) -> None:
    """Raise SolverDisagreement where a decision is better than what is claimed to be the best."""
    place = problem.beaten(objective, bound)
    if place is not None:
        component, noun = problem.components[place].name, problem.decided.__name__.lower()
        told = f"a {noun}'s {component} {objective[place]} beats the bound {bound[place]}"
        raise SolverDisagreement(f"{problem.name}: {told}")


def check_claim(problem: AnyProblem, claimed: float | None, value: Number) -> None:
    """Raise SolverDisagreement where a solver's own figure is not the re-evaluated one."""
    if claimed is not None and abs(claimed - float(value)) > _AGREES * max(1.0, abs(float(value))):
        raise SolverDisagreement(f"{problem.name}: the solver says {claimed}, the placement is worth {float(value)}")


def by_enumeration(record: Record) -> Solution:
    """Try every placement of a small instance."""
    from optsched.searches.enumeration import best_placement

    problem = record.problem
    assert isinstance(problem, Problem)
    found = best_placement(problem)
    if found is None:
        return record.solution(None, (), None, ALL_TRIED, {}, unanswered=Termination.INFEASIBLE)
    value, nodes = found
    certificates = tuple(
        Certificate(component.name, Proof.ENUMERATION, claim)
        for component, claim in zip(problem.components, value, strict=True)
    )
    return record.solution(problem.placement(nodes), certificates, None, "all placements tried", {})


def decoded(module: ModuleType, model: Any, problem: AnyProblem) -> Any:
    """What a solved model stands for; SolverDisagreement where that is nothing, or not feasible."""
    with decoding(problem.name):
        decision = module.decode(model, problem)
    _worth(problem, decision)
    return decision


def _worth(problem: AnyProblem, decision: Decision) -> Value:
    """The value of what a solver holds; SolverDisagreement where it is infeasible.

    Solvers keep a row to a tolerance that grows with its numbers, from about 10^8 on by more than a unit.
    """
    try:
        return problem.evaluate(decision)
    except ValueError as error:
        mend = "where numbers near 10^8 and more meet, scale them down or take the default route"
        raise SolverDisagreement(f"{problem.name}: of what the solver holds: {error}; {mend}") from error


class Beside(Protocol):
    """What a gap says beside itself, for a problem with two components: how far a value is from the frontier."""

    fields: ClassVar[tuple[str, ...]]
    """Names of the figures, as records have them."""

    def __init__(self, problem: Any, profile: Profile, in_time: Callable[[Callable[[], Any]], Any]) -> None:
        """`in_time(ask)` is what `ask` answers, or None where it takes longer than the reference may."""

    def solution(self) -> Solution:
        """The solution that the gap is measured against."""

    def gaps(self, value: Value) -> tuple[Number | None, ...]:
        """Each of the figures for a feasible value; None where it is not proved."""


def solver_of(route: str) -> Callable[..., SolverOutcome]:
    """What solves the models of a route."""
    from optsched.solvers import algebraic

    return algebraic.solve_pyomo if route == "pyomo" else algebraic.solve_pulp


def whole_bound(claimed: float) -> int:
    """The least whole number that a lower bound in floating point leaves room for."""
    return int(np.ceil(claimed - _AGREES * max(1.0, abs(claimed))))


@dataclass(frozen=True)
class Frontier:
    """Pareto-optimal points by increasing first component: a sequence of `FrontierPoint`.

    `complete` says whether all of them are there; if not, `limit` says what cut the search short.
    """

    problem: str
    components: tuple[str, str]
    points: tuple[FrontierPoint, ...]
    complete: bool
    limit: Limit | None

    def __iter__(self) -> Iterator[FrontierPoint]:
        return iter(self.points)

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, index: int) -> FrontierPoint:
        return self.points[index]

    def __str__(self) -> str:
        head = f"{self.problem}: {', '.join(self.components)}" + (
            "" if self.complete else f" (cut short: {self.limit})"
        )
        lines = (f"  {', '.join(map(str, point.objective))}  {point.certificate}" for point in self.points)
        return "\n".join([head, *lines])

    @property
    def values(self) -> list[Value]:
        """The objective of each point."""
        return [point.objective for point in self.points]
