"""The routes of `worst-group` against each other and by hand, what stops them, and models that err."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from worst_group_instances import ONE_SLOT, RACKS, posed

from optsched.certificates import certify
from optsched.core.errors import OutOfTime, SolverDisagreement, UsageError
from optsched.core.instance import Instance
from optsched.core.placement import Placement
from optsched.core.results import Limit, Proof, Termination
from optsched.instances.files import from_document
from optsched.instances.generate import generate
from optsched.instances.importers.rumen import import_rumen
from optsched.problems import Lsap, WorstGroup
from optsched.routes import call, routes_of, solve
from optsched.searches.worst_group import FlowEngine, ProgramEngine
from optsched.solvers.outcome import SolverOutcome
from optsched.solvers.profiles import Profile

#: Two of three tasks want one slot on the third node; the linear program gives each of them a half of it.
HALVES = posed([[2], [], [2]], [1, 1, 0], slots=[2, 0, 1], racks=[-1, 0, 0], levels=[0, 1, 2])


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


def test_what_prices_leave_open_is_proved_by_a_tree() -> None:
    """Tests an optimum that the linear program misses: a tree proves it, whichever route found it."""
    for route in ("thresholds", "arrays", "pyomo", "pulp"):
        solution = solve(HALVES, route=route)
        assert (solution.optimal, solution.objective, solution.certificate) == (True, (2, 4), Proof.DUAL)
        assert certify(HALVES, solution).proved


def test_a_start_is_kept_where_nothing_is_better() -> None:
    """Tests that an optimal start is not lost, and that a worse one is improved, by the integer program too."""
    for problem, best, bad in ((ONE_SLOT, [1, 1, 0], [0, 1, 1]), (RACKS, [0, 0, 1], [0, 1, 0])):
        for start in (best, bad):
            solution = solve(problem, start=problem.placement(start), route="arrays")
            assert solution.objective == problem.evaluate(problem.placement(best))


@pytest.mark.parametrize("route", ["thresholds", "pyomo", "pulp"])
@pytest.mark.parametrize("level", [10**7, 2**40 - 3])
def test_bug_a_models_mean_was_believed_to_a_millionth(route: str, level: int) -> None:
    """Tests that what a solver says of a large mean counts only as far as its relative precision goes."""
    problem = posed([[0]] * 5, [0] * 5, slots=[1], levels=[level] * 3)
    solution = solve(problem, route=route)
    assert (solution.optimal, solution.objective) == (True, (Fraction(level, 5), level))


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


@pytest.mark.parametrize("route", ["pyomo", "pulp"])
def test_a_model_that_errs_is_caught(route: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a solver's claim of another mean or cost raises."""
    true = call.solver_of

    def claims(place: int) -> Any:
        seen: list[int] = []

        def solver(model: Any, profile: Profile, hint: Any, _: Any) -> SolverOutcome:
            seen.append(1)
            outcome = true(route)(model, profile, hint)
            return replace(outcome, objective=7.0) if len(seen) == place else outcome

        return lambda route: solver

    for place in (1, 2):
        monkeypatch.setattr(call, "solver_of", claims(place))
        with pytest.raises(SolverDisagreement, match=r"the solver says 7.0, the placement is worth (0\.5|1\.0)"):
            solve(ONE_SLOT, route=route)


@pytest.mark.parametrize("route", ["pyomo", "pulp"])
def test_a_model_that_stops_leaves_what_it_holds(route: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests a limit in the first program and in the second: the mean is proved by prices, the cost as far as it is."""
    true = call.solver_of

    def stops(place: int) -> Any:
        seen: list[int] = []

        def solver(model: Any, profile: Profile, hint: Any, _: Any) -> SolverOutcome:
            seen.append(1)
            if len(seen) < place:
                return true(route)(model, profile, hint)
            return SolverOutcome(Termination.NO_SOLUTION, Limit.NODES, None, None, "stopped", 0.0, 0)

        return lambda route: solver

    monkeypatch.setattr(call, "solver_of", stops(1))
    solution = solve(ONE_SLOT, route=route)
    assert (solution.termination, solution.limit) == (Termination.NO_SOLUTION, Limit.NODES)
    assert solution.bound == (Fraction(1, 2), None)
    monkeypatch.setattr(call, "solver_of", stops(2))
    solution = solve(ONE_SLOT, route=route)  # the first program's placement is as cheap as can be, which prices prove
    assert (solution.optimal, solution.objective) == (True, (Fraction(1, 2), 1))
