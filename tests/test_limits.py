"""A time limit that falls anywhere: what is held and proved by then is the result, for every problem and route."""

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import highspy
import numpy as np
import pytest
from engines import clock_of_looks
from small_problems import NAMES, small_problem

from optsched.certificates import certify
from optsched.core.deadline import deadline
from optsched.core.errors import OutOfTime
from optsched.core.placement import NONE
from optsched.core.processes import handing
from optsched.core.processes.handing import unpack
from optsched.core.results import Limit, Proof, Sense, Termination
from optsched.heuristics import applicable
from optsched.instances.generate import generate
from optsched.measuring.explaining import explain
from optsched.measuring.gaps import gap
from optsched.measuring.matrix import gap_matrix
from optsched.problems import Problem, problem
from optsched.routes import frontier, has_frontier, routes_of, solve
from optsched.routes.call import Incumbent
from optsched.solvers import highs as engine
from optsched.solvers.profiles import Profile
from optsched.solvers.searches import latency as packing
from optsched.solvers.searches import utility
from optsched.solvers.searches.assignment import optimal_placement, solve_assignment
from optsched.solvers.searches.tabled_assignment import table_prices

WORST = {"nodes": 10, "tasks": 40, "groups": 6, "racks": 4, "replicas": 2, "slots": 4, "idle_ratio": 1.0, "seed": 17}

#: Small instances whose default routes look at the clock: family, sizes and parameters.
CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "lsap": ("lsap", {"nodes": 30, "tasks": 40, "racks": 4}, {"levels": (0, 1, 2)}),
    "fair-lsap": ("fair-lsap", {}, {"selection": "free"}),
    "lsap-fairness": ("lsap-fairness", {}, {}),
    "flow": ("flow", {}, {}),
    "transmission-maps": ("transmission", {"tasks": 40}, {}),
    "latency": ("latency", {"nodes": 20, "tasks": 50, "replicas": 2, "seed": 3}, {}),
    "flow-congestion": ("flow", {"nodes": 9, "tasks": 12, "seed": 1}, {}),
    "worst-group": ("worst-group", WORST, {"levels": (0, 3, 7)}),
}


def posed(name: str, **sizes: Any) -> Any:
    """The problem called `name` of `CASES`, posed anew: nothing is known of it yet."""
    family, drawn, parameters = CASES[name]
    return problem(name, generate(family, **{**drawn, **sizes}), **parameters)


def check_limits(pose: Callable[[], Any], routes: Iterable[str | None]) -> int:
    """Deadlines at the first, second, ... look at the clock: what is held is proved. How often one cut a route short.

    A frontier that is cut short is the beginning of the whole one.
    """
    whole = pose()
    best, points = solve(whole), frontier(whole) if has_frontier(whole) else None
    cut = 0
    for looks, route in product((0, 1, 2, 3, 5, 8, 13, 25, 60), routes):
        with clock_of_looks():
            solution = solve(pose(), route=route, time_limit=looks)
        assert solution.limit is Limit.TIME or solution.termination is Termination.OPTIMAL, (route, looks)
        assert solution.objective is None or whole.beaten(solution.objective, best.bound) is None, (route, looks)
        assert solution.bound[0] is not None or route is not None, looks
        assert certify(whole, solution).valid, (route, looks)
        cut += solution.limit is Limit.TIME
    for looks in (0, 2, 5, 10, 20, 40) if points else ():
        with clock_of_looks():
            found = frontier(pose(), time_limit=looks)
        assert found.values == points.values[: len(found)]
        assert (found.limit is Limit.TIME) is not found.complete
        assert certify(whole, found).valid, looks
    return cut


@pytest.mark.parametrize("name", CASES)
def test_bug_limit_was_not_looked_at(name: str) -> None:
    """Tests default routes and frontiers: always a placement, and a bound that is proved."""
    assert check_limits(lambda: posed(name), [None]) > 0


@pytest.mark.parametrize("part", ["matching", "packing, shifted", "prices", "placement"])
def test_parts_look_at_the_clock(part: str) -> None:
    """Tests that each part of a search that may be long ends where a deadline is past, and not before."""
    latency, flow, lsap = posed("latency"), posed("flow"), posed("lsap")
    nodes = solve_assignment(flow).nodes
    nobody = np.full(len(latency.tasks), NONE, dtype=np.int64)
    parts = {
        "matching": lambda: packing.GrowingMatchings(latency).at(5),
        "packing, shifted": lambda: packing.shifted(latency, 50, nobody),
        "prices": lambda: table_prices(flow, nodes),
        "placement": lambda: optimal_placement(lsap),
    }
    assert parts[part]() is not None
    with deadline(0), pytest.raises(OutOfTime):
        parts[part]()


def test_engines_stop_for_a_deadline_of_who_calls() -> None:
    """Tests that a deadline around a route is the route's too, whichever it is."""
    for route in ("network", "arrays"):
        with deadline(0):
            solution = solve(posed("fair-lsap"), route=route)
        assert (solution.termination, solution.limit) == (Termination.FEASIBLE, Limit.TIME)


#: Parameters of problems that programs with integers settle.
PROGRAMS: dict[str, dict[str, Any]] = {
    "utility": {},
    "utility, fixed": {"reduces": "fixed"},
    "latency": {},
    "traffic": {"capacity": "slots"},
    "generalized-assignment": {},
    "generalized-assignment, most": {"sense": "max"},
}

#: Cases with prices prove what is claimed of these, whatever a program says; and a program of these that is cut short
#: has left out what prices make dear, so that its bound is no higher than what they prove there.
PROVED_ANYHOW = ("traffic",)


@pytest.mark.parametrize("slack", [1e-3, -5e-7])
@pytest.mark.parametrize("name", PROGRAMS)
def test_bug_bound_of_a_program_cut_short_had_the_wrong_sign(
    name: str, slack: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that what is claimed of a program that time cuts short bounds its side, also where the solver rounds."""
    posed = small_problem(name.split(",")[0], 3, PROGRAMS[name])
    best = solve(posed).objective
    read = engine._read

    def cut_short(highs: Any, *others: Any) -> tuple[Termination, Limit | None, dict[str, Any]]:
        status, limit, claims = read(highs, *others)
        if status is not Termination.OPTIMAL or claims["nodes"] is None:
            return status, limit, claims
        outward = -slack if highs.getObjectiveSense()[1] == highspy.ObjSense.kMinimize else slack
        claims["bound"] += outward * max(1.0, abs(claims["bound"]))
        return Termination.FEASIBLE, Limit.TIME, claims

    monkeypatch.setattr(engine, "_read", cut_short)
    monkeypatch.setattr("optsched.routes.proved", lambda call, solution, *_: solution)  # it is about words
    claimed = 0
    for route in routes_of(posed)[:-1]:
        solution = solve(posed, route=route)
        assert posed.minimised(solution.objective) >= posed.minimised(best)
        for component, value, bound in zip(posed.components, best, solution.bound, strict=True):
            if bound is not None:
                better = value - bound if component.sense is Sense.MIN else bound - value
                assert better >= 0
                assert better <= 2 * abs(slack) * max(1, abs(value)) + 1 or name in PROVED_ANYHOW
        claimed += any(certificate.kind is Proof.SOLVER for certificate in solution.certificates)
    assert claimed > 0 or slack < 0 or name in PROVED_ANYHOW


@pytest.mark.parametrize("route", ["pyomo", "pulp"])
@pytest.mark.parametrize("name", ["lsap", "fair-lsap", "flow", "transmission-maps"])
def test_proof_of_a_model_that_is_cut_short_keeps_its_placement(
    monkeypatch: pytest.MonkeyPatch, name: str, route: str
) -> None:
    """Tests that the shortest paths of a proof look at the clock, and the model's optimal placement is held then."""
    case = posed(name, nodes=8, tasks=10)
    best = solve(case).objective

    def late() -> None:
        raise OutOfTime("out of time")

    monkeypatch.setattr("optsched.solvers.searches.assignment.check", late)
    solution = solve(case, route=route)
    assert (solution.objective, solution.limit) == (best, Limit.TIME if solution.bound != best else None)
    assert certify(case, solution).valid


@pytest.mark.parametrize("route", ["pyomo", "pulp"])
def test_model_whose_building_is_cut_short_leaves_a_placement(monkeypatch: pytest.MonkeyPatch, route: str) -> None:
    """Tests that a limit while a model is built leaves the first tasks on the first slots, and a plain bound."""
    case = posed("flow")

    def late(*_: object) -> None:
        raise OutOfTime("out of time")

    monkeypatch.setattr(f"optsched.models.flow.build_{route}", late)
    solution = solve(case, route=route)
    assert (solution.termination, solution.limit) == (Termination.FEASIBLE, Limit.TIME)
    assert certify(case, solution).valid


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_every_route_keeps_its_limit(name: str) -> None:
    """Tests every route and frontier of a problem."""
    check_limits(lambda: small_problem(name, 0), routes_of(small_problem(name, 0)))


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_every_measure_keeps_its_limit(name: str) -> None:
    """Tests gaps, explanations and matrices within limits that fall anywhere: the rest is reported as out of time."""
    whole = small_problem(name, 0)
    if not isinstance(whole, Problem):
        return
    best = solve(whole)
    known = applicable(whole)
    heuristic = known[0] if known else lambda *_: best.decision
    for looks in (0, 1, 4, 15, 60):
        with clock_of_looks():
            report = gap(small_problem(name, 0), heuristic, time_limit=looks)
            cells = gap_matrix([small_problem(name, 0)], {"it": (heuristic, {})}, time_limit=looks)
            shown = explain(small_problem(name, 0), best.decision, time_limit=looks, worth=1)
        for measured in (report, cells["it", name].report, shown.report):
            assert measured.status in ("done", "out-of-time"), (looks, measured.error)
            solution = measured.reference.solution
            assert solution.optimal or solution.limit is Limit.TIME, looks


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_what_is_handed_over_only_gets_better(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests by every route that each decision which is handed over is feasible and no worse than the one before."""
    monkeypatch.setattr(engine, "_SHARE", np.inf)
    whole = small_problem(name, 0)
    for route in routes_of(whole):
        handed: list[Any] = []
        monkeypatch.setattr(handing, "_send", [lambda packed, more, to=handed: to.append(unpack(packed))])
        with handing.handing():
            best = solve(small_problem(name, 0), route=route).objective
        assert best is not None
        held = [decision for decision, _ in handed if decision is not None]
        assert not any(whole.violations(decision) for decision in held), route
        values = [whole.minimised(whole.evaluate(decision)) for decision in held]
        assert values == sorted(values, reverse=True), route
        assert values[-1:] >= [whole.minimised(best)] or not values, route


@pytest.mark.parametrize("name", ["flow-congestion", "worst-group", *PROGRAMS])
def test_programs_tell_what_they_find(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that what HiGHS finds on its way by arrays is decoded, where somebody waits: each is feasible here."""
    case = small_problem(name.split(",")[0], 3, PROGRAMS[name]) if name in PROGRAMS else posed(name)
    found = []
    monkeypatch.setattr(Incumbent, "improve", lambda _, decision: found.append(decision))
    with handing.handing(), handing.taking(found.append):
        if "utility" in name:  # the program of the most use, which the relaxation does not solve
            utility.solve_packing(case.posing, case.lowest_units, Profile("exact"), True)
        else:
            solve(case, route="arrays")
    assert found
    assert not any(case.violations(decision) for decision in found)
