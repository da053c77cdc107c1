"""Routes of `latency`: the search over limits (with a MIP if bound and packing differ) and the literal model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from optsched.core.placement import Placement
from optsched.core.results import Bound, Certificate, Frontier, Proof, Solution, Termination
from optsched.problems import Latency
from optsched.problems.base import expect_recorded
from optsched.routes.base import by_model, frontier_of, only_point
from optsched.routes.call import Call, Ended, Held, modelled
from optsched.routes.listing import MODELS
from optsched.solvers.answers import whole_bound
from optsched.solvers.profiles import Profile, load_profile
from optsched.solvers.searches.latency import FixedLimit, LatencySearch, with_claimed_bound, with_placement

#: The default first.
ROUTES = ("search", "arrays", *MODELS, "brute-force")


def by_route(call: Call[Latency], profile: Profile) -> Solution:
    """Solve by the search over limits, or by the literal model if there is a task."""
    if call.route == "pulp" and len(call.problem.tasks):
        return by_model(call, profile, 1)
    return _by_search(call, latency_search(call.problem, profile, call.start, call.route))


def latency_search(
    problem: Latency, profile: str | Path | Profile = "exact", start: Placement | None = None, route: str = "search"
) -> LatencySearch:
    """The search that answers all questions about a `latency` problem, each computed once (see `LatencySearch`)."""
    expect_recorded(problem, "routes", "the search knows")
    decide = _compact_pyomo if route == "pyomo" else _compact_arrays
    return LatencySearch(problem, load_profile(profile), decide, start, shortcuts=route == "search")


def _compact_arrays(search: LatencySearch, known: FixedLimit, profile: Profile) -> FixedLimit:
    """Settle a limit by the compact program with HiGHS and arrays, whose modules are loaded only then."""
    from optsched.solvers.searches.latency_program import compact_program

    return compact_program(search, known, profile)


def _compact_pyomo(search: LatencySearch, known: FixedLimit, profile: Profile) -> FixedLimit:
    """Settle a limit by the compact Pyomo model."""
    problem = search.problem
    found = modelled(problem, "pyomo", profile, known.limit, search.hint(known.limit))
    outcome = found.outcome
    search.solver, search.raw_status = dict(outcome.solver), outcome.raw_status
    if outcome.status is Termination.INFEASIBLE:
        return replace(known, remote_bound=None, feasible=False, proof=Proof.SOLVER)
    extra = problem.w_rem - problem.w_loc
    remote = None if outcome.bound is None or not extra else (whole_bound(outcome.bound) - search.work(0)) / extra
    bounded = with_claimed_bound(known, remote)
    if found.decision is None:
        return replace(bounded, stopped=outcome.limit)
    return with_placement(search, bounded, problem.nodes_of(found.decision), outcome.limit)


def solve_by(search: LatencySearch) -> Solution:
    """Solve by route "search", with a search that keeps what it learns for later questions."""
    return _by_search(Call(search.problem, "search", search.start), search)


def _by_search(call: Call[Latency], search: LatencySearch) -> Solution:
    problem = call.problem
    if not len(problem.tasks):
        return call.settled(problem.placement([]), *_nothing())
    built, known = call.elapsed, None
    with call.until_stopped():
        known = search.first_feasible()
    known = known or search.open_limit()
    certificates = [search.makespan_certificate(known.limit)]
    if known.nodes is None:
        nodes = search.fallback(known.limit)
    else:
        nodes = known.nodes
        certificates.append(search.work_certificate(known))
    ending = Ended(search.raw_status, known.stopped, search.solver, built)
    return call.answered(problem.placement(nodes), certificates, ending)


def plain(problem: Latency) -> Held:
    """A quickly found placement, and a bound by counting."""
    if not len(problem.tasks):
        return problem.placement([]), _nothing()
    search = LatencySearch(problem, Profile("exact"), _compact_arrays)
    limit = search.open_limit().limit
    return problem.placement(search.fallback(limit)), (search.makespan_certificate(limit),)


def _nothing() -> tuple[Certificate, Certificate]:
    """The proof of (0, 0) if there is no task."""
    data = {"limit": 0, "cover": []}
    return (
        Certificate("makespan", Proof.COMBINATORIAL, 0, data),
        Certificate("work", Proof.COMBINATORIAL, 0, data),
    )


def bounds(problem: Latency) -> tuple[Bound, ...]:
    """The cheap bounds, and l_flow: the least limit that a maximum b-matching and counting do not rule out."""
    cheap = problem.cheap_bounds()
    flow = latency_search(problem).flow_bound() if len(problem.tasks) else 0
    entry = Bound("l_flow", "makespan", flow, "makespan of the job", "Agosta et al., note 3")
    return (*cheap[:2], entry, *cheap[2:])


def frontier(problem: Latency, profile: Profile, route: str) -> Frontier:
    """Every Pareto-optimal (makespan, work). Without a task it is only (0, 0), the optimum."""
    if not len(problem.tasks):
        return only_point(problem, problem.placement([]), _nothing())
    search = latency_search(problem, profile, route=route)
    points, limit = search.frontier()
    complete = bool(points) and points[-1].objective[1] == problem.least_work
    return frontier_of(problem, points, limit, complete)
