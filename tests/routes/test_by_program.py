"""The routes of `worst-group` and `flow-congestion`, what stops them, and models that err."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from small_problems import ONE_SLOT
from small_problems import worst_group as posed

import optsched
from optsched import Limit, Proof, Termination, certify, generate
from optsched.core.errors import OutOfTime, SolverDisagreement, TooLarge
from optsched.core.instance import Cluster, Instance, Ragged, Workload
from optsched.instances.files import from_document
from optsched.instances.importers.rumen import import_rumen
from optsched.problems import FlowCongestion, Lsap, WorstGroup, flow_congestion
from optsched.routes import call, programs, solve
from optsched.solvers.answers import SolverOutcome
from optsched.solvers.profiles import Profile
from optsched.solvers.searches.enumeration import best_placement

#: Two of three tasks want one slot on the third node; the linear program gives each of them a half of it.
HALVES = posed([[2], [], [2]], [1, 1, 0], slots=[2, 0, 1], racks=[-1, 0, 0], levels=[0, 1, 2])


@pytest.mark.parametrize("seed", range(2))
def test_routes_agree_beyond_enumeration(seed: int) -> None:
    """Tests HiGHS and the compact model against each other with 30 tasks of five groups, and with racks."""
    instance = generate("worst-group", seed=seed, racks=6)
    two = WorstGroup(instance)
    solution = solve(two)
    assert (solution.optimal, solution.certificate) == (True, Proof.DUAL)
    assert solve(two, route="pyomo").objective == solution.objective
    assert solution.objective[1:] == solve(Lsap(instance)).objective  # Guo et al. 2012, note 12
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
    problem = WorstGroup(instance, levels=(0, 1, 2))
    assert dict(zip(problem.group_ids, problem.sizes, strict=True)) == {"hadoopqa": 20, "geek2": 3, "geek3": 131}
    solution = solve(problem)
    assert solution.objective == (Fraction(113, 131), 132)
    assert round(float(solution.objective[0]), 6) == 0.862595
    assert problem.costs_by_group(solution.decision) == [17, 2, 113]
    verdict = certify(problem, solution)
    assert verdict.proved
    lsap = solve(Lsap(instance, levels=(0, 1, 2)))
    assert lsap.objective == (132,)
    assert problem.evaluate(lsap.decision)[0] > Fraction(113, 131)
    assert solve(WorstGroup(instance)).objective == (Fraction(4, 5), 121)


def test_what_prices_leave_open_is_proved_by_a_tree() -> None:
    """Tests an optimum that the linear program misses: a tree proves it, whichever route found it."""
    for route in ("arrays", "pyomo", "pulp"):
        solution = solve(HALVES, route=route)
        assert (solution.optimal, solution.objective, solution.certificate) == (True, (2, 4), Proof.DUAL)
        assert certify(HALVES, solution).proved


@pytest.mark.parametrize("route", ["arrays", "pyomo", "pulp"])
@pytest.mark.parametrize("level", [10**7, 2**40 - 3])
def test_bug_a_models_mean_was_believed_to_a_millionth(route: str, level: int) -> None:
    """Tests that what a solver says of a large mean counts only as far as its relative precision goes."""
    problem = posed([[0]] * 5, [0] * 5, slots=[1], levels=[level] * 3)
    solution = solve(problem, route=route)
    assert (solution.optimal, solution.objective) == (True, (Fraction(level, 5), level))


@pytest.mark.parametrize("route", ["arrays", "pyomo", "pulp"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, OutOfTime, MemoryError])
def test_limits_are_results(route: str, error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that what stops an engine leaves a placement and a bound, and says so."""

    def stopped(*_: Any) -> None:
        raise error

    monkeypatch.setattr(programs, "root", stopped)
    solution = solve(ONE_SLOT, start=ONE_SLOT.placement([0, 1, 1]), route=route)
    limits = {KeyboardInterrupt: Limit.INTERRUPTED, OutOfTime: Limit.TIME, MemoryError: Limit.MEMORY}
    assert (solution.termination, solution.limit) == (Termination.FEASIBLE, limits[error])
    assert (solution.objective, solution.bound[1]) == ((1, 1), None)
    assert solution.bound[0] in (0, None)
    assert certify(ONE_SLOT, solution).valid


def told(place: int, changed: Callable[[SolverOutcome], SolverOutcome]) -> Any:
    """Solvers of models whose answer is changed from the program at a place on."""
    true, programs = call.solver_of, itertools.count(1)

    def of(route: str) -> Any:
        def solver(model: Any, profile: Profile, hint: Any, _: Any) -> SolverOutcome:
            outcome = true(route)(model, profile, hint)
            return changed(outcome) if next(programs) >= place else outcome

        return solver

    return of


@pytest.mark.parametrize("route", ["pyomo", "pulp"])
def test_a_model_that_errs_is_caught(route: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a solver's claim of another mean or cost raises."""
    for place in (1, 2):
        with monkeypatch.context() as patched:
            patched.setattr(call, "solver_of", told(place, lambda outcome: replace(outcome, objective=7.0)))
            with pytest.raises(SolverDisagreement, match=r"the solver says 7.0, the placement is worth (0\.5|1\.0)"):
                solve(ONE_SLOT, route=route)


@pytest.mark.parametrize("route", ["pyomo", "pulp"])
def test_a_model_that_stops_leaves_what_it_holds(route: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests a limit in the first program and in the second: the mean is proved by prices, the cost as far as it is."""
    stopped = SolverOutcome(Termination.NO_SOLUTION, Limit.NODES, None, None, "stopped", 0.0, 0)
    with monkeypatch.context() as patched:
        patched.setattr(call, "solver_of", told(1, lambda outcome: stopped))
        solution = solve(ONE_SLOT, route=route)
    assert (solution.termination, solution.limit) == (Termination.FEASIBLE, Limit.NODES)
    assert solution.bound == (Fraction(1, 2), None)
    monkeypatch.setattr(call, "solver_of", told(2, lambda outcome: stopped))
    solution = solve(ONE_SLOT, route=route)  # the first program's placement is as cheap as can be, which prices prove
    assert (solution.optimal, solution.objective) == (True, (Fraction(1, 2), 1))


def test_bug_a_limit_that_tolerances_pass_was_tried_for_ever() -> None:
    """Tests levels of millions one apart, where HiGHS takes a cost of 4194304 for one of at most 4194292."""
    problem = posed([[0], [0], [0], [0], []], [0, 0, 0, 1, 0], slots=[2], levels=[2097152, 3145728, 3145729])
    solution = solve(problem)
    assert solution.objective == (1048576, 4194304)
    assert solution.optimal or solution.bound[1] is None
    assert solution.bound[0] <= 1048576
    assert certify(problem, solution).valid


@pytest.mark.parametrize("levels", [(0, 2**40 - 3, 2**40), (0, 1, 2**40), (0, 10**6, 10**6 + 1)])
@pytest.mark.parametrize("seed", [2, pytest.param(9, marks=pytest.mark.thorough)])
def test_bug_large_levels_were_not_settled(levels: tuple[int, int, int], seed: int) -> None:
    """Tests levels of a million and more, where limits on costs are within HiGHS's tolerances: it was FEASIBLE."""
    sizes = {"nodes": 4, "tasks": 6, "slots": 1, "idle_ratio": 1.0, "replicas": 1, "groups": 2, "racks": 3}
    problem = WorstGroup(generate("worst-group", seed=seed, **sizes), levels=levels)
    best = best_placement(problem)
    solution = solve(problem, route="arrays")
    assert (solution.objective, solution.optimal) == (best[0], True)
    assert certify(problem, solution).valid


def test_levels_that_highs_would_refuse() -> None:
    """Tests levels that no coefficient may have: numbers of tasks take their place, or the cost is left open."""
    settled = 0
    for seed in range(2):
        for idle_ratio in (1.0, 0.5):
            drawn = generate(
                "worst-group", seed=seed, nodes=4, tasks=4, idle_ratio=idle_ratio, replicas=1, groups=2, racks=2
            )
            for levels in ((0, 10**15 + 7, 2 * 10**15 + 9), (5, 10**15, 10**15 + 3)):
                problem = WorstGroup(drawn, levels=levels)
                found, solution = best_placement(problem), solve(problem)
                assert solution.objective >= found[0]
                assert certify(problem, solution).valid
                if not levels[0] or problem.count == len(problem.tasks):
                    assert (solution.optimal, solution.objective) == (True, found[0])
                settled += solution.optimal
    assert settled > 2


def test_without_a_tree_the_word_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the least mean is proved by a tree, and that without one the word of HiGHS is left."""
    assert [proof.kind for proof in solve(ONE_SLOT).certificates] == [Proof.DUAL, Proof.DUAL]
    monkeypatch.setattr(programs, "_MOST_PROGRAMS", 0)
    assert solve(ONE_SLOT).certificates[0].kind is Proof.SOLVER


# flow-congestion ------------------------------------------------------------------------------------------------------


def test_bug_duals_on_the_limit_of_a_pair() -> None:
    """Tests that prices prove the optimum too where HiGHS could price a class's supply at the limit of its pair.

    Two alike nodes, and two Greps of which one reads from a busy node and the other from afar.
    """
    cluster = Cluster(["a", "b", "storage"], slots=[2, 2, 0], rate_in=[85.0] * 3, rate_out=[85.0] * 3)
    running = Ragged.from_rows([[0.27, 12.8], [0.27, 12.8], []], float)
    workload = Workload(["t1", "t2"], rate_in=[0.27, 0.27], replicas=Ragged.from_rows([[2], []]))
    instance = Instance.initial(cluster, workload, out_in_use=[0.0, 0.0, 200.0], running_rates=running)
    problem = FlowCongestion(instance, f_c=(0.5, 0.1, 0.2), scale=1)
    solution = solve(problem)
    assert solution.certificate is Proof.DUAL
    assert certify(problem, solution).proved


def test_whole_relaxation_is_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that where the relaxed patterns come out whole no integer program is solved."""
    monkeypatch.delattr("optsched.routes.programs.solve_arrays")
    problem = optsched.problem("flow-congestion", "papers/hsu-two-clusters")
    solution = solve(problem)
    assert solution.certificate is Proof.DUAL
    assert certify(problem, solution).proved


@pytest.mark.parametrize("route", ["arrays", "pyomo", "pulp"])
def test_too_many(route: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that every route refuses what cannot be listed, with a message that says what to do."""
    monkeypatch.setattr(flow_congestion, "MOST_PATTERNS", 5)
    with pytest.raises(TooLarge, match="4 types of tasks make 22 patterns on 2 different nodes, too many to list"):
        solve(optsched.problem("flow-congestion", "papers/hsu-two-clusters"), route=route)
