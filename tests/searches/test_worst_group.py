"""The search of `worst-group`: both engines and every route against enumeration, limits, and engines that err."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from worst_group_instances import ONE_SLOT, RACKS, posed, problems

from optsched.certificates import certify
from optsched.errors import OutOfTime, SolverDisagreement, UsageError
from optsched.instance import Instance
from optsched.instances.files import from_document
from optsched.instances.generate import generate
from optsched.instances.importers.rumen import import_rumen
from optsched.placement import Placement
from optsched.problems import Lsap, WorstGroup
from optsched.results import Limit, Number, Proof, Termination
from optsched.routes import call as calls
from optsched.routes import routes_of, solve
from optsched.searches import worst_group as search
from optsched.searches.enumeration import best_placement
from optsched.searches.worst_group import Cheapest, Engine, FlowEngine, GroupSearch, ProgramEngine, is_flow
from optsched.solvers.outcome import SolverOutcome
from optsched.solvers.profiles import Profile

#: Two of three tasks want one slot on the third node; the linear program gives each of them a half of it.
HALVES = posed([[2], [], [2]], [1, 1, 0], slots=[2, 0, 1], racks=[-1, 0, 0], levels=[0, 1, 2])


def engines(problem: WorstGroup) -> list[Engine]:
    """The engines that settle a problem."""
    every: list[Engine] = [ProgramEngine(problem, Profile("exact"))]
    return [*every, FlowEngine(problem)] if is_flow(problem) else every


def searched(problem: WorstGroup, engine: Engine, start: Placement | None = None) -> GroupSearch:
    """A search that has run."""
    found = GroupSearch(problem, engine, start)
    found.run()
    return found


@settings(max_examples=120)
@given(problems())
def test_engines_find_the_optimum(problem: WorstGroup) -> None:
    """Tests both components against enumeration, the proofs, and that with two levels the cost is that of `lsap`."""
    found = best_placement(problem)
    assert found is not None
    best, _ = found
    solution = solve(problem)
    assert (solution.optimal, solution.objective) == (True, best)
    assert certify(problem, solution).valid
    if not problem.count:
        return
    for engine in engines(problem):
        end = searched(problem, engine)
        assert problem.evaluate(end.placement) == best
        assert tuple(certificate.claim for certificate in end.certificates) == best
    if is_flow(problem):
        assert solution.certificate is Proof.DUAL
        assert solve(Lsap(problem.instance, levels=problem.levels)).objective == best[1:]


@pytest.mark.parametrize("route", ["thresholds", "arrays", "pyomo", "pulp", "brute-force"])
def test_routes(route: str) -> None:
    """Tests that each route finds both optima of the library, though at one slot the network of `lsap` does not."""
    assert routes_of(ONE_SLOT)[0] == "thresholds"
    for problem, best in ((ONE_SLOT, (Fraction(1, 2), 1)), (RACKS, (1, 3))):
        solution = solve(problem, route=route)
        assert (solution.optimal, solution.objective) == (True, best)
        assert solution.certificate is (Proof.ENUMERATION if route == "brute-force" else Proof.DUAL)
        assert certify(problem, solution).valid
    with pytest.raises(UsageError, match="has no route"):
        solve(ONE_SLOT, route="network")


@pytest.mark.parametrize("seed", range(3))
def test_routes_agree_beyond_enumeration(seed: int) -> None:
    """Tests flows, HiGHS and the compact model against each other with 30 tasks of five groups, and with racks."""
    instance = generate("worst-group", seed=seed, racks=6)
    assert isinstance(instance, Instance)
    two = WorstGroup(instance)
    solution = solve(two)
    assert solution.solver["name"] == "SciPy maximum_flow"
    assert (solution.optimal, solution.certificate) == (True, Proof.DUAL)
    for route in ("arrays", "pyomo"):
        assert solve(two, route=route).objective == solution.objective
    three = WorstGroup(instance, levels=(0, 1, 2))
    solution = solve(three)
    assert solution.solver["name"] == "HiGHS"
    assert (solution.optimal, solution.certificate) == (True, Proof.DUAL)
    assert solve(three, route="pyomo").objective == solution.objective


def test_users_of_a_yahoo_cluster(real_data: Path) -> None:
    """Tests the worst of three users of yahoo4, 113/131 = 0.862595, where the least cost leaves one at 9/10.

    The slots that the jobs used are pooled; each of the jobs with maps is of another user.
    """
    folder = real_data / "hadoop"
    imported = import_rumen(folder / "yahoo4.trace.json.gz", topology=folder / "yahoo4.topology.json.gz")
    instance = from_document(imported.documents[0])
    assert isinstance(instance, Instance)
    problem = WorstGroup(instance, levels=(0, 1, 2))
    assert dict(zip(problem.group_ids, problem.sizes, strict=True)) == {"hadoopqa": 20, "geek2": 3, "geek3": 131}
    solution = solve(problem)
    assert isinstance(solution.decision, Placement)
    assert solution.objective == (Fraction(113, 131), 132)
    assert round(float(solution.objective[0]), 6) == 0.862595
    assert problem.costs_by_group(solution.decision) == [17, 2, 113]
    verdict = certify(problem, solution)
    assert verdict.proved
    lsap = solve(Lsap(instance, levels=(0, 1, 2)))
    assert lsap.objective == (132,)
    assert isinstance(lsap.decision, Placement)
    assert problem.evaluate(lsap.decision)[0] > Fraction(113, 131)
    assert solve(WorstGroup(instance)).objective == (Fraction(4, 5), 121)


def test_what_prices_leave_open_is_a_solvers_word() -> None:
    """Tests an optimum that the linear program misses: the mean is proved by the word of the integer one alone."""
    for route in ("thresholds", "arrays", "pyomo", "pulp"):
        solution = solve(HALVES, route=route)
        assert (solution.optimal, solution.objective, solution.certificate) == (True, (2, 4), Proof.SOLVER)
        assert certify(HALVES, solution).valid


@pytest.mark.parametrize("slots", [[0], [1]])
def test_nothing_to_place(slots: list[int]) -> None:
    """Tests that without tasks or slots every route proves 0, 0."""
    problem = posed([[0]], [0], slots=slots) if not slots[0] else posed([], [], slots=slots)
    for route in routes_of(problem):
        solution = solve(problem, route=route)
        assert (solution.optimal, solution.objective) == (True, (0, 0))
        assert certify(problem, solution).valid


def test_a_start_is_kept_where_nothing_is_better() -> None:
    """Tests that an optimal start is not lost, and that a worse one is improved, by the integer program too."""
    for problem, best, bad in ((ONE_SLOT, [1, 1, 0], [0, 1, 1]), (RACKS, [0, 0, 1], [0, 1, 0])):
        for start in (best, bad):
            solution = solve(problem, start=problem.placement(start), route="arrays")
            assert solution.objective == problem.evaluate(problem.placement(best))


# Thresholds that only a solver excludes ----------------------------------------------------------------------------


class Scripted:
    """An engine that knows the placements of `RACKS` and excludes nothing by prices."""

    raw_status = "scripted"

    def __init__(self, problem: WorstGroup, least: Number, stop: Number | None = None) -> None:
        self.problem, self.least, self.stop = problem, least, stop
        self.solver: dict[str, Any] = {}
        self.tried: list[Number] = []

    def excluded(self, mean: Number) -> None:
        return None

    def priced(self, mean: Number) -> None:
        return None

    def cheapest(self, mean: Number, start: Placement | None) -> Cheapest:
        self.tried.append(mean)
        if self.stop is not None and mean >= self.stop:
            return Cheapest(None, None, None, Limit.NODES)
        if mean < self.least:
            return Cheapest(None, False, None, None)
        dear = int(self.least * self.problem.sizes[0])  # the other group is at its data
        nodes = np.array([1] * dear + [0] * (self.problem.sizes[0] - dear) + [2], dtype=np.int64)
        return Cheapest(nodes, True, float(dear), None)


def ladder() -> WorstGroup:
    """Sixteen tasks with data on one node, another beside it, and a second group at its data: means in sixteenths."""
    return posed([[0]] * 16 + [[2]], [0] * 16 + [1], slots=[16, 16, 1], levels=[0, 1, 1])


@pytest.mark.parametrize("least", range(1, 16))
def test_means_are_halved(least: int) -> None:
    """Tests that the least mean is found between one that is excluded and one that is held, in few programs."""
    problem = ladder()
    engine = Scripted(problem, Fraction(least, 16))
    all_away = problem.placement([1] * 16 + [2])
    end = searched(problem, engine, all_away)
    assert problem.evaluate(end.placement) == (Fraction(least, 16), least)
    mean, cost = end.certificates
    assert (mean.claim, mean.kind) == (Fraction(least, 16), Proof.SOLVER)
    assert (cost.claim, cost.kind) == (least, Proof.SOLVER)
    assert len(engine.tried) <= 7


def test_a_limit_between_the_means() -> None:
    """Tests that where a limit strikes the excluded means are claimed, and the start is held."""
    problem = ladder()
    end = searched(problem, Scripted(problem, Fraction(9, 16), Fraction(8, 16)), problem.placement([1] * 16 + [2]))
    assert (end.limit, len(end.certificates)) == (Limit.NODES, 1)
    assert end.certificates[0].claim < Fraction(9, 16)
    assert problem.evaluate(end.placement)[0] == 1


class Tolerant(Scripted):
    """An engine whose placements have a mean of `least` at any limit from `least` - 2/16 on."""

    def cheapest(self, mean: Number, start: Placement | None) -> Cheapest:
        return super().cheapest(mean + Fraction(2, 16), start)


@pytest.mark.parametrize("least", [1, 2, 3, 9, 16])
def test_a_placement_beyond_the_limit_settles_nothing(least: int) -> None:
    """Tests that it is held where it is better, that no mean above its limit is excluded, and that the search ends."""
    problem = ladder()
    engine = Tolerant(problem, Fraction(least, 16))
    end = searched(problem, engine, problem.placement([1] * 16 + [2]))
    assert problem.evaluate(end.placement)[0] in (Fraction(least, 16), 1)
    claims = {certificate.component: certificate.claim for certificate in end.certificates}
    assert claims["worst-mean"] <= Fraction(least, 16)
    if claims["worst-mean"] < Fraction(least, 16):
        assert list(claims) == ["worst-mean"]
        assert "beyond the limit on the mean" in end.raw_status


def test_bug_a_limit_that_tolerances_pass_was_tried_for_ever() -> None:
    """Tests levels of millions one apart, where HiGHS takes a cost of 4194304 for one of at most 4194292."""
    problem = posed([[0], [0], [0], [0], []], [0, 0, 0, 1, 0], slots=[2], levels=[2097152, 3145728, 3145729])
    solution = solve(problem)
    assert solution.objective == (1048576, 4194304)
    assert solution.optimal or solution.bound[1] is None
    assert solution.bound[0] is not None
    assert solution.bound[0] <= 1048576
    assert certify(problem, solution).valid


@pytest.mark.parametrize("route", ["thresholds", "pyomo", "pulp"])
@pytest.mark.parametrize("level", [10**7, 2**40 - 3])
def test_bug_a_models_mean_was_believed_to_a_millionth(route: str, level: int) -> None:
    """Tests that what a solver says of a large mean counts only as far as its relative precision goes."""
    problem = posed([[0]] * 5, [0] * 5, slots=[1], levels=[level] * 3)
    solution = solve(problem, route=route)
    assert (solution.optimal, solution.objective) == (True, (Fraction(level, 5), level))


def test_prices_that_rounding_spoils(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a mean which prices exclude but do not prove is excluded on the engine's word."""
    monkeypatch.setattr(FlowEngine, "_cut", lambda self, network, flow: search.GroupPrices.none(self.problem))
    end = searched(ONE_SLOT, FlowEngine(ONE_SLOT))
    assert ONE_SLOT.evaluate(end.placement) == (Fraction(1, 2), 1)
    assert [certificate.kind for certificate in end.certificates] == [Proof.SOLVER, Proof.SOLVER]


# Limits and disagreement -------------------------------------------------------------------------------------------


def test_flows_check_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a flow that is not maximum is noticed."""
    engine, true = FlowEngine(ONE_SLOT), FlowEngine._flow
    monkeypatch.setattr(FlowEngine, "_flow", lambda *given: (*true(*given)[:2], 2))
    with pytest.raises(SolverDisagreement, match="SciPy places 2 of 3 tasks"):
        engine.cheapest(1, None)


@pytest.mark.parametrize("route", ["thresholds", "arrays", "pyomo", "pulp"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, OutOfTime, MemoryError])
def test_limits_are_results(route: str, error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that what stops an engine leaves a placement and a bound, and says so."""

    def stopped(*_: Any) -> None:
        raise error

    for engine in (FlowEngine, ProgramEngine):
        monkeypatch.setattr(engine, "excluded", stopped)
    solution = solve(ONE_SLOT, start=ONE_SLOT.placement([0, 1, 1]), route=route)
    limits = {KeyboardInterrupt: Limit.INTERRUPTED, OutOfTime: Limit.TIME, MemoryError: Limit.MEMORY}
    assert (solution.termination, solution.limit) == (Termination.FEASIBLE, limits[error])
    assert (solution.objective, solution.bound) == ((1, 1), (0, None))
    assert certify(ONE_SLOT, solution).valid


def test_no_time() -> None:
    """Tests that without time a placement is held, by flows and by HiGHS."""
    for problem in (ONE_SLOT, RACKS):
        solution = solve(
            problem, time_limit=0, start=problem.placement([0, 1, 1] if problem is ONE_SLOT else [0, 1, 0])
        )
        assert solution.termination in (Termination.FEASIBLE, Termination.NO_SOLUTION)
        assert solution.limit is Limit.TIME


@pytest.mark.parametrize("route", ["pyomo", "pulp"])
def test_a_model_that_errs_is_caught(route: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a solver's claim of another mean or cost raises."""
    true = calls.solver_of

    def claims(place: int) -> Any:
        seen: list[int] = []

        def solver(model: Any, profile: Profile, hint: Any) -> SolverOutcome:
            seen.append(1)
            outcome = true(route)(model, profile, hint)
            return replace(outcome, objective=7.0) if len(seen) == place else outcome

        return lambda route: solver

    for place in (1, 2):
        monkeypatch.setattr(calls, "solver_of", claims(place))
        with pytest.raises(SolverDisagreement, match=r"the solver says 7.0, the placement is worth (0\.5|1\.0)"):
            solve(ONE_SLOT, route=route)


@pytest.mark.parametrize("route", ["pyomo", "pulp"])
def test_a_model_that_stops_leaves_what_it_holds(route: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests a limit in the first program and in the second: the mean is proved by prices, the cost as far as it is."""
    true = calls.solver_of

    def stops(place: int) -> Any:
        seen: list[int] = []

        def solver(model: Any, profile: Profile, hint: Any) -> SolverOutcome:
            seen.append(1)
            if len(seen) < place:
                return true(route)(model, profile, hint)
            return SolverOutcome(Termination.NO_SOLUTION, Limit.NODES, None, None, "stopped", 0.0, 0)

        return lambda route: solver

    monkeypatch.setattr(calls, "solver_of", stops(1))
    solution = solve(ONE_SLOT, route=route)
    assert (solution.termination, solution.limit) == (Termination.NO_SOLUTION, Limit.NODES)
    assert solution.bound == (Fraction(1, 2), None)
    monkeypatch.setattr(calls, "solver_of", stops(2))
    solution = solve(ONE_SLOT, route=route)  # the first program's placement is as cheap as can be, which prices prove
    assert (solution.optimal, solution.objective) == (True, (Fraction(1, 2), 1))
