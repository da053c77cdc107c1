"""Which engine or model solves a problem, and what is proved when it stops: `solve`, `bounds`, `frontier`.

A route is a way to the optimum: a network engine, the search over limits, a declarative model, or enumeration. Left
alone, `solve` takes the quickest that proves its answer. Whatever the route, the objective is re-evaluated in
`problems` from the placement, the bound is what a certificate says, and OPTIMAL means that the two are equal.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from optsched import models
from optsched.certificates import capacity_certificate, potential_certificate, price_certificate
from optsched.errors import HeuristicFailed, SolverDisagreement, UsageError, nearest
from optsched.heuristics.answers import placement_from
from optsched.instance import Ints
from optsched.placement import NONE, Flow, Placement
from optsched.problems import AnyProblem, GeneralizedAssignment, Latency, MinCostFlow, Problem
from optsched.problems.assignment import AssignmentProblem
from optsched.problems.base import exact
from optsched.results import Bound, Certificate, Decision, Limit, Number, Proof, Sense, Solution, Termination, Value
from optsched.solvers.generalized_assignment import capacity_prices, solve_integer_program
from optsched.solvers.latency_search import FixedLimit, FrontierPoint, LatencySearch, settled, with_claimed_bound
from optsched.solvers.min_cost_flow import by_arrays, by_network_simplex, potentials_of
from optsched.solvers.networks import FlowStatus
from optsched.solvers.outcome import SolverOutcome
from optsched.solvers.profiles import Profile, load_profile
from optsched.solvers.transport import Prices, fill_idle_slots, prices_of, solve_assignment

__all__ = ["Frontier", "bounds", "frontier", "latency_search", "routes_of", "solve", "solve_by"]

_ENGINES = ("network", "arrays", "network-simplex", "dense")
_MODELS = ("pyomo", "pulp")

#: Routes of each sort of problem, the default first.
ASSIGNMENT_ROUTES = (*_ENGINES, *_MODELS, "brute-force")
LATENCY_ROUTES = ("search", "arrays", *_MODELS, "brute-force")
GENERALIZED_ASSIGNMENT_ROUTES = ("arrays", *_MODELS, "brute-force")
MIN_COST_FLOW_ROUTES = ("arrays", "network-simplex", *_MODELS)

#: How far a solver's own figure may be from the re-evaluated one, relative to it.
_AGREES = 1e-6


def routes_of(problem: AnyProblem) -> tuple[str, ...]:
    """Names of the routes that solve a problem, the default first."""
    if isinstance(problem, Latency):
        return LATENCY_ROUTES
    if isinstance(problem, GeneralizedAssignment):
        return GENERALIZED_ASSIGNMENT_ROUTES
    return MIN_COST_FLOW_ROUTES if isinstance(problem, MinCostFlow) else ASSIGNMENT_ROUTES


def solve(
    problem: AnyProblem,
    profile: str | Path | Profile = "exact",
    start: Decision | Sequence[Any] | None = None,
    route: str | None = None,
    time_limit: float | None = None,
) -> Solution:
    """Solve a problem and prove the answer.

    Parameters
    ----------
    problem
        What to solve.
    profile
        Name of a shipped profile, a TOML file, or a profile: limits, gaps and options of the solver.
    start
        A feasible placement or flow to begin from, or a node id or index for each of the tasks to place. Programs with
        integers get it as a start, and the result is never worse.
    route
        Which way; by default one that proves its answer and scales. Assignment problems: `network` (a matching where
        only the number of local tasks counts, else the compact network with HiGHS), `arrays`, `network-simplex`,
        `dense`, `pyomo`, `pulp`, `brute-force`. `latency`: `search`, `arrays`, `pyomo`, `pulp`, `brute-force`.
        `generalized-assignment`: `arrays`, `pyomo`, `pulp`, `brute-force`. `min-cost-flow`: `arrays`,
        `network-simplex`, `pyomo`, `pulp`.
    time_limit
        Seconds; overrides the profile's. Checked between and within solves, not a hard deadline.

    Returns
    -------
    Solution
        Limits, interrupts (Ctrl-C) and infeasibility are results, not exceptions; so is an objective without limit
        (`min-cost-flow`): termination ERROR, and `raw_status` says so.

    Raises
    ------
    UsageError
        For an unknown route or profile, or an infeasible start.
    TooLarge
        If the route would build more than fits; says which to take instead.
    SolverDisagreement
        If a solver's own figure contradicts the re-evaluated one.

    Examples
    --------
    >>> from optsched.instance import Cluster, Instance, Ragged, Workload
    >>> workload = Workload(["t1", "t2"], replicas=Ragged.from_rows([[0, 1], [0]]))
    >>> solution = solve(Latency(Instance(Cluster(["s1", "s2"]), workload)))
    >>> solution.objective, str(solution.termination), str(solution.certificate)
    ((1, 2), 'OPTIMAL', 'combinatorial')
    """
    profile = profile if isinstance(profile, Profile) else load_profile(profile)
    profile = profile.with_limits(time_limit=time_limit)
    known = routes_of(problem)
    if route is None:
        route = known[0]
    elif route not in known:
        raise UsageError(f'{problem.name} has no route "{route}"; {nearest(route, known)}')
    record = _Record(problem, route, None if start is None else _start(problem, start))
    if isinstance(problem, MinCostFlow):
        return _by_flow(record, profile)
    if route == "brute-force":
        return _by_enumeration(record)
    if isinstance(problem, GeneralizedAssignment):
        return _by_packing(record, profile)
    if isinstance(problem, Latency):
        return _by_literal_latency(record, profile) if route == "pulp" else _by_search(record, profile)
    assert isinstance(problem, AssignmentProblem)
    if route in _MODELS:
        return _by_assignment_model(record, profile)
    return _by_engine(record, profile)


def _start(problem: AnyProblem, given: Decision | Sequence[Any]) -> Decision:
    """The decision to start from; UsageError where it means none, or is infeasible."""
    start: Decision
    if isinstance(problem, Problem) and not isinstance(given, Flow):
        try:
            start = placement_from(given, problem)
        except HeuristicFailed as error:
            raise UsageError(f"the start {error}") from None
    elif isinstance(given, Flow) and problem.decided is Flow:
        start = given
    else:
        raise UsageError(f"the start of {problem.name} must be a {problem.decided.__name__.lower()}")
    wrong = problem.violations(start)
    if wrong:
        raise UsageError(f"the start is infeasible: {wrong[0]}")
    return start


class _Record:
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
        candidates = [(problem.evaluate(held), held) for held in (decision, self.start) if held is not None]
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
        return Solution(
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


def _check_bound(problem: AnyProblem, objective: Value, bound: list[Number | None]) -> None:
    """Raise SolverDisagreement where a decision is better than what is claimed to be the best."""
    for component, value, claim in zip(problem.components, objective, bound, strict=True):
        if claim is None:
            return
        beyond = value - claim if component.sense is Sense.MIN else claim - value
        if beyond > 0:
            return
        if beyond < 0:
            noun = problem.decided.__name__.lower()
            raise SolverDisagreement(f"{problem.name}: a {noun}'s {component.name} {value} beats the bound {claim}")


def _check_claim(problem: AnyProblem, claimed: float | None, value: Number) -> None:
    """Raise SolverDisagreement where a solver's own figure is not the re-evaluated one."""
    if claimed is not None and abs(claimed - float(value)) > _AGREES * max(1.0, abs(float(value))):
        raise SolverDisagreement(f"{problem.name}: the solver says {claimed}, the placement is worth {float(value)}")


def _by_enumeration(record: _Record) -> Solution:
    from optsched.solvers.brute_force import best_placement

    problem = record.problem
    assert isinstance(problem, Problem)
    found = best_placement(problem)
    if found is None:
        return record.solution(None, (), None, "no placement is feasible", {}, unanswered=Termination.INFEASIBLE)
    value, nodes = found
    certificates = tuple(
        Certificate(component.name, Proof.ENUMERATION, claim)
        for component, claim in zip(problem.components, value, strict=True)
    )
    return record.solution(problem.placement(nodes), certificates, None, "all placements tried", {})


# Assignment problems ---------------------------------------------------------------------------------------------


def _by_engine(record: _Record, profile: Profile) -> Solution:
    problem = record.problem
    assert isinstance(problem, AssignmentProblem)
    placement, certificate = _fallback(problem)
    try:
        found = solve_assignment(problem, profile, record.route)
        if found.nodes is not None:
            placement = problem.placement(found.nodes)
            certificate = _proof(problem, placement, found.prices)
    except KeyboardInterrupt:
        return record.solution(placement, (certificate,), Limit.INTERRUPTED, "interrupted", {})
    return record.solution(placement, (certificate,), found.limit, found.raw_status, found.solver, found.build_seconds)


def _by_assignment_model(record: _Record, profile: Profile) -> Solution:
    problem = record.problem
    assert isinstance(problem, AssignmentProblem)
    module = models.module(problem.name)
    model = module.build_pyomo(problem) if record.route == "pyomo" else module.build_pulp(problem)
    built = time.perf_counter() - record.began
    outcome = _solver(record.route)(model, profile)
    if outcome.objective is None:
        placement, certificate = _fallback(problem)
    else:
        placement = module.decode(model, problem)
        certificate = _proof(problem, placement, None)
        if outcome.status is Termination.OPTIMAL:
            _check_claim(problem, outcome.objective, problem.evaluate(placement)[0])
    return record.solution(placement, (certificate,), outcome.limit, outcome.raw_status, outcome.solver, built)


def _solver(route: str) -> Callable[..., SolverOutcome]:
    from optsched.solvers import algebraic

    return algebraic.solve_pyomo if route == "pyomo" else algebraic.solve_pulp


def _proof(problem: AssignmentProblem, placement: Placement, prices: Prices | None) -> Certificate:
    """The dual certificate of an optimal placement: by the engine's prices if they close it, else by shortest paths."""
    units = problem.units(placement)
    if prices is None or problem.price_bound(*prices) != units:
        prices = prices_of(problem, placement)
    if prices is None:
        return _fallback(problem)[1]
    return price_certificate(problem, *prices)


def _fallback(problem: AssignmentProblem) -> tuple[Placement, Certificate]:
    """What is held when an engine stops without an answer: the first tasks on the first slots, and a plain bound."""
    nodes: Ints = np.full(len(problem.tasks), NONE, dtype=np.int64)
    fill_idle_slots(nodes, problem.capacity, problem.count)
    free = np.zeros_like(problem.capacity)
    pools = np.array([pool.tiers[0][0] for pool in problem.pools], dtype=np.int64)
    task = 0
    if problem.count:
        task = int(np.sort(pools[problem.pool] + problem.cheapest_units(free))[problem.count - 1])
    return problem.placement(nodes), price_certificate(problem, task, free, pools)


# Generalized assignment ------------------------------------------------------------------------------------------


def _by_packing(record: _Record, profile: Profile) -> Solution:
    """The integer program by arrays or a model, and the prices of the capacities: they close it, or the solver's word.

    Prices are looked for first. Where rounding their bound closes the optimum, that is its proof.
    """
    problem = record.problem
    assert isinstance(problem, GeneralizedAssignment)
    if len(problem.stranded):
        task = problem.instance.workload.task_ids[problem.tasks[problem.stranded[0]]]
        told = f"{task} fits on no node that it may use"
        return record.solution(None, (), None, told, {}, unanswered=Termination.INFEASIBLE)
    if not len(problem.tasks):
        nothing = capacity_certificate(problem, np.zeros_like(problem.capacity), 1)
        return record.solution(problem.placement([]), (nothing,), None, "nothing to place", {})
    priced = capacity_certificate(problem, *capacity_prices(problem, profile))
    placement: Placement | None
    if record.route == "arrays":
        built = time.perf_counter() - record.began
        outcome, placement = solve_integer_program(problem, profile, record.start)
        claimed = None if outcome.bound is None else problem.sign * outcome.bound
        figure = None if outcome.objective is None else problem.sign * outcome.objective / problem.grid
    else:
        module = models.module(problem.name)
        model = module.build_pyomo(problem) if record.route == "pyomo" else module.build_pulp(problem)
        built = time.perf_counter() - record.began
        outcome = _solver(record.route)(model, profile)
        placement = None if outcome.objective is None else module.decode(model, problem)
        claimed = None if outcome.bound is None else outcome.bound * problem.grid
        figure = outcome.objective
    if outcome.status is Termination.INFEASIBLE:
        return record.solution(
            None, (), None, outcome.raw_status, outcome.solver, built, unanswered=Termination.INFEASIBLE
        )
    certificate = priced
    if outcome.status is Termination.OPTIMAL and placement is not None:
        value = problem.evaluate(placement)[0]
        _check_claim(problem, figure, value)
        if priced.claim != value:
            certificate = Certificate("cost", Proof.SOLVER, value)
    elif claimed is not None:
        word = exact(problem.sign * _integer_bound(problem.sign * claimed), problem.grid)
        if problem.sign * word > problem.sign * priced.claim:
            certificate = Certificate("cost", Proof.SOLVER, word)
    return record.solution(placement, (certificate,), outcome.limit, outcome.raw_status, outcome.solver, built)


# Flows -----------------------------------------------------------------------------------------------------------

#: HiGHS says it in its own words, networkx by an exception.
_UNBOUNDED = "unbounded: a cycle of negative cost has no limit"


def _by_flow(record: _Record, profile: Profile) -> Solution:
    """A flow by an engine or a model; potentials prove it, the engine's own or those of its residual network."""
    problem = record.problem
    assert isinstance(problem, MinCostFlow)
    network, potentials = problem.instance, None
    flow: Flow | None
    if problem.cut_off:
        told = f"no arc can take what is left to send of {network.node_ids[problem.cut_off[0]]}"
        return record.solution(None, (), None, told, {}, unanswered=Termination.INFEASIBLE)
    if not network.arcs:
        nothing = potential_certificate(problem, np.zeros(len(network), dtype=np.int64))
        return record.solution(Flow(network.lower), (nothing,) if nothing else (), None, "no arc to decide on", {})
    if record.route == "network-simplex":
        status, flow, potentials = by_network_simplex(problem)
        outcome = SolverOutcome(
            Termination(status) if status is not FlowStatus.UNBOUNDED else Termination.ERROR,
            None,
            None,
            None,
            _UNBOUNDED if status is FlowStatus.UNBOUNDED else str(status).lower(),
            0.0,
            None,
            {"name": "networkx network_simplex"},
        )
        built = 0.0
    elif record.route == "arrays":
        outcome, flow, potentials = by_arrays(problem, profile)
        built = 0.0
    else:
        module = models.module(problem.name)
        model = module.build_pyomo(problem) if record.route == "pyomo" else module.build_pulp(problem)
        built = time.perf_counter() - record.began
        outcome = _solver(record.route)(model, profile)
        flow = None if outcome.objective is None else module.decode(model, problem)
    if outcome.status in (Termination.INFEASIBLE, Termination.ERROR):
        raw = outcome.raw_status
        if outcome.status is Termination.ERROR and raw != _UNBOUNDED and "unbounded" in raw.lower():
            raw = f"{_UNBOUNDED} ({raw})"
        return record.solution(None, (), None, raw, outcome.solver, built, unanswered=outcome.status)
    if flow is not None and outcome.status is Termination.OPTIMAL:
        value = problem.evaluate(flow)[0]
        _check_claim(problem, outcome.objective, value)
        if potentials is None or problem.potential_bound(potentials) != value:
            potentials = potentials_of(problem, flow)
    if potentials is None:
        potentials = np.zeros(len(network), dtype=np.int64)
    certificate = potential_certificate(problem, potentials)
    certificates = () if certificate is None else (certificate,)
    return record.solution(flow, certificates, outcome.limit, outcome.raw_status, outcome.solver, built)


# Latency ---------------------------------------------------------------------------------------------------------


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
    outcome = _solver("pyomo")(model, profile, start)
    search.solver, search.raw_status = dict(outcome.solver), outcome.raw_status
    if outcome.status is Termination.INFEASIBLE:
        return replace(known, remote_bound=None, feasible=False, proof=Proof.SOLVER)
    extra = problem.w_rem - problem.w_loc
    remote = None if outcome.bound is None or not extra else (outcome.bound - search.work(0)) / extra
    bounded = with_claimed_bound(known, remote)
    if outcome.objective is None:
        return replace(bounded, stopped=outcome.limit)
    nodes = problem.nodes_of(module.decode(model, problem))
    return settled(search, bounded, nodes, outcome.limit)


def solve_by(search: LatencySearch) -> Solution:
    """What `solve` by route "search" gives, by a search that keeps what it learns for later questions."""
    return _by_search(_Record(search.problem, "search", search.start), search.profile, search)


def _by_search(record: _Record, profile: Profile, search: LatencySearch | None = None) -> Solution:
    problem = record.problem
    assert isinstance(problem, Latency)
    if not len(problem.tasks):
        nothing = tuple(Certificate(part.name, Proof.COMBINATORIAL, 0, _NOTHING) for part in problem.components)
        return record.solution(problem.placement([]), nothing, None, "nothing to place", {})
    search = search or latency_search(problem, profile, record.start, record.route)
    built = time.perf_counter() - record.began
    limit: Limit | None
    try:
        known = search.first_feasible()
        limit = known.stopped
    except KeyboardInterrupt:
        known, limit = search.open_limit(), Limit.INTERRUPTED
    certificates = [search.makespan_certificate(known.limit)]
    if known.nodes is None:
        nodes = search.fallback(known.limit)
    else:
        nodes = known.nodes
        certificates.append(search.work_certificate(known))
    return record.solution(
        problem.placement(nodes), tuple(certificates), limit, search.raw_status, search.solver, built
    )


_NOTHING = {"limit": 0, "cover": []}


def _by_literal_latency(record: _Record, profile: Profile) -> Solution:
    """Least makespan by the dense literal model, then least work within it by the same at a fixed limit."""
    problem = record.problem
    assert isinstance(problem, Latency)
    if not len(problem.tasks):
        return _by_search(record, profile)
    module = models.module(problem.name)
    model = module.build_pulp(problem)
    built = time.perf_counter() - record.began
    start = None if record.start is None else module.start_values(model, problem, record.start)
    first = _solver("pulp")(model, profile, start)
    certificates: list[Certificate] = []
    if first.bound is not None:
        certificates.append(Certificate("makespan", Proof.SOLVER, max(0, _integer_bound(first.bound))))
    placement = None if first.objective is None else module.decode(model, problem)
    if placement is None or first.limit is not None:  # nothing, or a makespan that is not the least
        return record.solution(placement, tuple(certificates), first.limit, first.raw_status, first.solver, built)
    makespan = problem.evaluate(placement)[0]
    _check_claim(problem, first.objective, makespan)
    model = module.build_pulp(problem, limit=int(makespan))
    if profile.time_limit is not None:
        left = profile.time_limit - (time.perf_counter() - record.began)
        profile = profile.with_limits(time_limit=max(0.0, left))
    second = _solver("pulp")(model, profile, module.start_values(model, problem, placement))
    if second.objective is not None:
        placement = module.decode(model, problem)
    if second.bound is not None:
        certificates.append(Certificate("work", Proof.SOLVER, _integer_bound(second.bound)))
    return record.solution(placement, tuple(certificates), second.limit, second.raw_status, second.solver, built)


def _integer_bound(claimed: float) -> int:
    return int(np.ceil(claimed - _AGREES * max(1.0, abs(claimed))))


# Bounds and frontiers --------------------------------------------------------------------------------------------


def bounds(problem: AnyProblem) -> tuple[Bound, ...]:
    """Every bound that is cheap to prove, each with what it bounds.

    Beside `Problem.cheap_bounds` this has l_flow for `latency`: the least limit that a maximum b-matching and counting
    do not rule out (digest 004, 2).

    Examples
    --------
    >>> from optsched.instance import Cluster, Instance, Workload
    >>> [bound.name for bound in bounds(Latency(Instance(Cluster(["s1"]), Workload(["t1"]))))]
    ['l*', 'l**', 'l_flow', 'least-work']
    """
    cheap = problem.cheap_bounds()
    if not isinstance(problem, Latency):
        return cheap
    flow = LatencySearch(problem, Profile("exact")).flow_bound() if len(problem.tasks) else 0
    entry = Bound("l_flow", "makespan", flow, "makespan of the job", "digest 004, section 2")
    return (*cheap[:2], entry, *cheap[2:])


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


def frontier(
    problem: AnyProblem, profile: str | Path | Profile = "exact", time_limit: float | None = None, route: str = "search"
) -> Frontier:
    """All Pareto-optimal points of a problem with two components, each with its proof.

    Raises
    ------
    UsageError
        If the problem has one component only.

    Examples
    --------
    >>> from optsched.instance import Cluster, Instance, Ragged, Workload
    >>> workload = Workload(list("abcd"), replicas=Ragged.from_rows([[0]] * 4))
    >>> print(frontier(Latency(Instance(Cluster(["s1", "s2"]), workload))))
    latency: makespan, work
      3, 6  combinatorial
      4, 4  combinatorial
    """
    if not isinstance(problem, Latency):
        raise UsageError(f'{problem.name} has one component, so it has no frontier; "latency" has one')
    profile = profile if isinstance(profile, Profile) else load_profile(profile)
    search = latency_search(problem, profile.with_limits(time_limit=time_limit), route=route)
    points, limit = search.frontier()
    complete = not len(problem.tasks) or (bool(points) and points[-1].objective[1] == problem.least_work)
    return Frontier(problem.name, ("makespan", "work"), tuple(points), complete, limit)
