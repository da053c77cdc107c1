"""Routes of `latency`: the search over limits, with a MIP where bound and packing differ, and the literal model."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from optsched import models
from optsched.placement import Placement
from optsched.problems import Latency
from optsched.results import Bound, Certificate, FrontierPoint, Limit, Number, Proof, Solution, Termination, Value
from optsched.routes.record import (
    MODELS,
    Frontier,
    Record,
    by_enumeration,
    check_claim,
    decoded,
    solver_of,
    whole_bound,
)
from optsched.searches.latency import FixedLimit, LatencySearch, settled, with_claimed_bound
from optsched.solvers.outcome import STOPPED, stopped
from optsched.solvers.profiles import Profile, load_profile

__all__ = ["ROUTES", "Beside", "bounds", "by_route", "frontier", "latency_search", "solve_by"]

#: The default first.
ROUTES = ("search", "arrays", *MODELS, "brute-force")


def by_route(record: Record, profile: Profile) -> Solution:
    """Solve by the record's route."""
    if record.route == "brute-force":
        return by_enumeration(record)
    return _by_literal(record, profile) if record.route == "pulp" else _by_search(record, profile)


def latency_search(
    problem: Latency, profile: str | Path | Profile = "exact", start: Placement | None = None, route: str = "search"
) -> LatencySearch:
    """The search that answers all questions about a `latency` problem, each computed once (see `LatencySearch`)."""
    profile = profile if isinstance(profile, Profile) else load_profile(profile)
    if route == "pyomo":
        return LatencySearch(problem, profile, start, decide=_compact_pyomo, shortcuts=False)
    return LatencySearch(problem, profile, start, shortcuts=route == "search")


def _compact_pyomo(search: LatencySearch, known: FixedLimit, profile: Profile) -> FixedLimit:
    """Settle a limit by the compact Pyomo model."""
    problem = search.problem
    module = models.module(problem.name)
    model = module.build_pyomo(problem, limit=known.limit)
    hint = search.hint(known.limit)
    start = None if hint is None else module.start_values(model, problem, hint)
    outcome = solver_of("pyomo")(model, profile, start)
    search.solver, search.raw_status = dict(outcome.solver), outcome.raw_status
    if outcome.status is Termination.INFEASIBLE:
        return replace(known, remote_bound=None, feasible=False, proof=Proof.SOLVER)
    extra = problem.w_rem - problem.w_loc
    remote = None if outcome.bound is None or not extra else (outcome.bound - search.work(0)) / extra
    bounded = with_claimed_bound(known, remote)
    if outcome.objective is None:
        return replace(bounded, stopped=outcome.limit)
    nodes = problem.nodes_of(decoded(module, model, problem))
    return settled(search, bounded, nodes, outcome.limit)


def solve_by(search: LatencySearch) -> Solution:
    """What `solve` by route "search" gives, by a search that keeps what it learns for later questions."""
    return _by_search(Record(search.problem, "search", search.start), search.profile, search)


def _by_search(record: Record, profile: Profile, search: LatencySearch | None = None) -> Solution:
    problem = record.problem
    assert isinstance(problem, Latency)
    if not len(problem.tasks):
        return record.solution(problem.placement([]), _nothing(), None, "nothing to place", {})
    search = search or latency_search(problem, profile, record.start, record.route)
    built = time.perf_counter() - record.began
    limit: Limit | None
    try:
        known = search.first_feasible()
        limit = known.stopped
    except STOPPED as error:
        known, limit = search.open_limit(), stopped(error)[0]
    certificates = [search.makespan_certificate(known.limit)]
    if known.nodes is None:
        nodes = search.fallback(known.limit)
    else:
        nodes = known.nodes
        certificates.append(search.work_certificate(known))
    return record.solution(
        problem.placement(nodes), tuple(certificates), limit, search.raw_status, search.solver, built
    )


def _nothing() -> tuple[Certificate, Certificate]:
    """The proof of (0, 0) where there is no task."""
    data = {"limit": 0, "cover": []}
    return (
        Certificate("makespan", Proof.COMBINATORIAL, 0, data),
        Certificate("work", Proof.COMBINATORIAL, 0, data),
    )


def _by_literal(record: Record, profile: Profile) -> Solution:
    """Least makespan by the dense literal model, then least work within it by the same at a fixed limit."""
    problem = record.problem
    assert isinstance(problem, Latency)
    if not len(problem.tasks):
        return _by_search(record, profile)
    module = models.module(problem.name)
    model = module.build_pulp(problem)
    built = time.perf_counter() - record.began
    start = None if record.start is None else module.start_values(model, problem, record.start)
    first = solver_of("pulp")(model, profile, start)
    certificates: list[Certificate] = []
    if first.bound is not None:
        certificates.append(Certificate("makespan", Proof.SOLVER, max(0, whole_bound(first.bound))))
    placement = None if first.objective is None else decoded(module, model, problem)
    if placement is None or first.limit is not None:  # there is nothing, or a makespan that may not be the least
        return record.solution(placement, tuple(certificates), first.limit, first.raw_status, first.solver, built)
    makespan = problem.evaluate(placement)[0]
    check_claim(problem, first.objective, makespan)
    model = module.build_pulp(problem, limit=int(makespan))
    second = solver_of("pulp")(model, profile.since(record.began), module.start_values(model, problem, placement))
    if second.objective is not None:
        placement = decoded(module, model, problem)
    if second.bound is not None:
        certificates.append(Certificate("work", Proof.SOLVER, whole_bound(second.bound)))
    return record.solution(placement, tuple(certificates), second.limit, second.raw_status, second.solver, built)


def bounds(problem: Latency) -> tuple[Bound, ...]:
    """The cheap bounds, and l_flow: the least limit that a maximum b-matching and counting do not rule out."""
    cheap = problem.cheap_bounds()
    flow = LatencySearch(problem, Profile("exact")).flow_bound() if len(problem.tasks) else 0
    entry = Bound("l_flow", "makespan", flow, "makespan of the job", "Agosta et al., note 3")
    return (*cheap[:2], entry, *cheap[2:])


def frontier(problem: Latency, profile: Profile, route: str) -> Frontier:
    """Every Pareto-optimal (makespan, work). Where there is no task it is (0, 0) alone, which is the optimum then."""
    names = ("makespan", "work")
    if not len(problem.tasks):
        nothing = problem.placement([])
        only = FrontierPoint(problem.evaluate(nothing), nothing, _nothing())
        return Frontier(problem.name, names, (only,), True, None)
    search = latency_search(problem, profile, route=route)
    points, limit = search.frontier()
    complete = bool(points) and points[-1].objective[1] == problem.least_work
    return Frontier(problem.name, names, tuple(points), complete, limit)


class Beside:
    """Work beyond the least at the same makespan, and makespan beyond the least with no more work.

    One search answers both questions, and finds the optimum too.
    """

    fields = ("work_gap_at_makespan", "makespan_gap_at_work")

    def __init__(self, problem: Latency, profile: Profile, in_time: Callable[[Callable[[], Any]], Any]) -> None:
        self._search, self._in_time = latency_search(problem, profile), in_time

    def solution(self) -> Solution:
        return solve_by(self._search)

    def gaps(self, value: Value) -> tuple[Number | None, Number | None]:
        makespan, work = map(int, value)
        return (
            _beyond(work, self._asked(lambda: self._search.least_work_within(makespan))),
            _beyond(makespan, self._asked(lambda: self._search.least_makespan_with(work))),
        )

    def _asked(self, ask: Callable[[], int | None]) -> int | None:
        self._search.renew()
        found: int | None = self._in_time(ask)
        return found


def _beyond(value: int, least: int | None) -> int | None:
    return None if least is None else value - least
