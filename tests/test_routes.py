"""Routes: what is solved which way, what a limit leaves, and what is refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from strategies import PARAMETERS

from optsched.certificates import certify
from optsched.errors import SolverDisagreement, TooLarge, UsageError
from optsched.instance import Cluster, Instance, Pairs, Ragged, State, Workload
from optsched.instances.generate import generate
from optsched.placement import Placement
from optsched.problems import FairLsap, Latency, Lsap, Utility, problem
from optsched.results import Limit, Proof, Termination
from optsched.routes import bounds, frontier, routes_of, solve
from optsched.routes.assignment import ROUTES as ASSIGNMENT_ROUTES
from optsched.routes.call import solver_of
from optsched.routes.latency import ROUTES as LATENCY_ROUTES
from optsched.searches.latency import LatencySearch
from optsched.solvers.highs import ArraySolution, LinearProgram
from optsched.solvers.outcome import INTERRUPTED
from optsched.solvers.profiles import Profile

#: Bound and packing do not meet at limit 5, and HiGHS needs branching there.
OPEN_LIMIT = {"seed": 3, "nodes": 20, "tasks": 50, "replicas": 2}


def small(rows: list[list[int]], slots: list[int], loads: list[int] | None = None) -> Instance:
    """Tasks with the given replicas on nodes with the given slots."""
    cluster = Cluster([f"n{node}" for node in range(len(slots))], slots=slots)
    workload = Workload([f"t{task}" for task in range(len(rows))], replicas=Ragged.from_rows(rows))
    return Instance(cluster, workload, State.initial(cluster, workload, load=loads), name="small")


FIGURE_2 = small([[0, 1, 2], [0, 1], [0]], [1, 1, 1])


@pytest.mark.parametrize("route", ASSIGNMENT_ROUTES)
@pytest.mark.parametrize("name", ["lsap", "fair-lsap", "flow"])
def test_every_route_of_assignment_problems_proves_its_answer(name: str, route: str) -> None:
    """Tests that each route ends OPTIMAL with a certificate that the checker accepts, on a generated instance."""
    posed = problem(name, generate(name, seed=3, nodes=8, tasks=4, replicas=2))
    if route == "brute-force":
        posed = problem(name, generate(name, seed=3, nodes=8, tasks=3, replicas=2))
    solution = solve(posed, route=route)
    assert (solution.termination, solution.limit, solution.route) == (Termination.OPTIMAL, None, route)
    assert solution.certificate is (Proof.ENUMERATION if route == "brute-force" else Proof.DUAL)
    verdict = certify(posed, solution)
    assert verdict.valid
    assert verdict.proved or route == "brute-force"  # a cheap bound may prove what was enumerated
    assert solution.objective == solve(posed).objective


@pytest.mark.parametrize("route", LATENCY_ROUTES)
def test_every_route_of_latency_ends_at_the_same_optimum(route: str) -> None:
    """Tests that each route finds the lexicographic optimum, and says what kind of proof there is."""
    posed = Latency(small([[0], [0], [0], [1], []], [1, 1, 1], [0, 2, 1]))
    solution = solve(posed, route=route)
    assert solution.termination is Termination.OPTIMAL
    assert solution.objective == (4, 7)
    assert certify(posed, solution).valid


def test_matching_is_taken_only_where_counting_local_tasks_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the default engine is a matching for two levels, with SciPy where it is large, and else a program."""
    few = solve(Lsap(FIGURE_2))
    assert few.solver["name"] == "augmenting paths"
    monkeypatch.setattr("optsched.searches.assignment.FEW_PAIRS", 0)
    many = solve(Lsap(FIGURE_2))
    assert many.solver["name"] == "SciPy maximum_bipartite_matching"
    assert (few.objective, few.certificates) == (many.objective, many.certificates)
    assert solve(Lsap(FIGURE_2, levels=(0, 1, 2))).solver["name"] == "HiGHS"


@pytest.mark.parametrize("name", PARAMETERS)
def test_nothing_to_place_is_optimal(name: str) -> None:
    """Tests that an instance without tasks has value 0, proved, by every route."""
    cluster = Cluster(["n0"], rate_in=[1.0], rate_out=[1.0])
    workload = Workload([], group_ids=["g"], group_weight=[1.0], job_ids=[], job_group=[])
    posed = problem(name, Instance(cluster, workload))
    for route in routes_of(posed):
        solution = solve(posed, route=route)
        assert solution.optimal
        assert solution.objective is not None
        assert set(solution.objective) == ({0, 1} if name == "lsap-fairness" else {0})  # nothing runs: no share is due
        assert certify(posed, solution).valid
    if name == "latency":
        found = frontier(posed)
        assert (found.values, found.complete) == ([(0, 0)], True)
        assert [certificate.claim for certificate in found[0].certificates] == [0, 0]
        assert bounds(posed)[2].value == 0


def test_no_idle_slot_places_nothing() -> None:
    """Tests that without idle slots exactly no task is placed, and that this is optimal."""
    solution = solve(Lsap(small([[0]], [0])))
    assert (solution.objective, solution.termination) == ((0,), Termination.OPTIMAL)


def test_unknown_route_is_refused_with_the_nearest() -> None:
    """Tests the message for a misspelt route."""
    with pytest.raises(UsageError, match='did you mean "network"'):
        solve(Lsap(FIGURE_2), route="netwrok")


def test_infeasible_start_is_refused() -> None:
    """Tests that a start must be feasible, and that the message says what is wrong with it."""
    with pytest.raises(UsageError, match=r"the start is infeasible: slots\(n0\) by 1"):
        solve(Lsap(FIGURE_2), start=Placement.of([0, 0, 1]))


def test_start_may_name_nodes() -> None:
    """Tests that a start is also taken as node ids, and that one that means no placement is refused."""
    posed = Lsap(FIGURE_2)
    assert solve(posed, start=["n2", "n1", "n0"]).objective == (0,)
    with pytest.raises(UsageError, match=r'the start answered node "n9"'):
        solve(posed, start=["n9", "n1", "n0"])


def test_dense_route_refuses_costs_of_groups() -> None:
    """Tests that the dense assignment says that it cannot hold costs that depend on counts."""
    posed = FairLsap(generate("fair-lsap", seed=1, nodes=40, tasks=200), selection="free")
    with pytest.raises(UsageError, match='use route "network"'):
        solve(posed, route="dense")


def test_brute_force_refuses_what_it_cannot_finish() -> None:
    """Tests that enumeration says how much it would take before it starts."""
    with pytest.raises(TooLarge, match="leave the route out"):
        solve(Lsap(generate("lsap", seed=1, nodes=50, tasks=50)), route="brute-force")


# Limits and starts -----------------------------------------------------------------------------------------------


def test_time_limit_leaves_a_placement_and_a_bound() -> None:
    """Tests that an engine stopped at once leaves a feasible placement, a proved bound and the limit's name."""
    posed = Lsap(generate("lsap", seed=1, nodes=400, tasks=300, racks=20), levels=(0, 1, 2))
    solution = solve(posed, time_limit=0)
    assert (solution.termination, solution.limit) == (Termination.FEASIBLE, Limit.TIME)
    assert solution.objective is not None
    assert solution.bound[0] is not None
    assert solution.bound[0] <= solve(posed).objective[0] < solution.objective[0]
    assert certify(posed, solution).proved


def test_start_is_never_lost() -> None:
    """Tests that a stopped engine answers the start where that is better than its own fallback."""
    posed = Lsap(generate("lsap", seed=1, nodes=400, tasks=300, racks=20), levels=(0, 1, 2))
    best = solve(posed)
    again = solve(posed, time_limit=0, start=best.decision)
    assert again.objective == best.objective
    assert again.limit is Limit.TIME


def test_latency_under_a_node_limit_says_what_it_holds() -> None:
    """Tests that a limit where the program is stopped leaves a placement, and no bound on the work."""
    posed = Latency(generate("latency", **OPEN_LIMIT))
    solution = solve(posed, Profile("none", node_limit=0), route="arrays")
    assert solution.termination is Termination.FEASIBLE
    assert solution.limit is Limit.NODES
    assert solution.objective is not None
    assert certify(posed, solution).valid


def test_latency_start_is_the_answer_where_time_is_up() -> None:
    """Tests that a search without time answers with the better of start and packing, and the flow bound."""
    posed = Latency(generate("latency", **OPEN_LIMIT))
    best = solve(posed)
    stopped = solve(posed, time_limit=0)
    assert (stopped.termination, stopped.limit) == (Termination.FEASIBLE, Limit.TIME)
    assert stopped.bound[0] is not None
    assert stopped.bound[1] is None
    held = solve(posed, time_limit=0, start=best.decision)
    assert held.objective == best.objective


@contextmanager
def ctrl_c_after(seconds: float) -> Iterator[None]:
    """Send this process an interrupt after some seconds."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def test_interrupt_is_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C outside the solver leaves a feasible placement and a bound, with limit INTERRUPTED."""
    posed = Latency(generate("latency", seed=1, nodes=50, tasks=100))

    def slow(self: LatencySearch, limit: int) -> None:
        time.sleep(30)

    monkeypatch.setattr(LatencySearch, "packed", slow)
    with ctrl_c_after(0.3):
        monkeypatch.setattr(LatencySearch, "fallback", lambda self, limit: np.zeros(100, dtype=np.int64))
        solution = solve(posed)
    assert (solution.termination, solution.limit) == (Termination.FEASIBLE, Limit.INTERRUPTED)
    assert solution.bound[0] is not None
    assert certify(posed, solution).valid


def test_interrupt_of_an_engine_is_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C while a network is built leaves the fallback and its bound."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("optsched.routes.assignment.solve_assignment", interrupted)
    posed = Lsap(FIGURE_2)
    solution = solve(posed)
    assert (solution.limit, solution.objective) == (Limit.INTERRUPTED, (1,))
    assert certify(posed, solution).valid


def test_interrupt_of_a_proof_keeps_the_placement(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C while the proof is made leaves the engine's placement, and a plain bound."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("optsched.routes.assignment._proof", interrupted)
    posed = Lsap(FIGURE_2, levels=(0, 1, 2))
    solution = solve(posed)
    assert solution.objective == (0,)
    assert certify(posed, solution).valid


@pytest.mark.parametrize("name", ["lsap", "transmission", "transmission-reduces", "flow-congestion"])
@pytest.mark.parametrize("route", ["pyomo", "pulp"])
def test_interrupt_while_a_model_is_built_is_a_result(name: str, route: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C where HiGHS does not see it ends `solve` with what is held, never with an exception."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    posed = problem(name, generate("mixed", seed=1, nodes=5, tasks=4))
    best = solve(posed).decision
    assert isinstance(best, Placement)
    for build in ("build_pyomo", "build_pulp"):
        monkeypatch.setattr(f"optsched.models.{name.replace('-', '_')}.{build}", interrupted)
    solution = solve(posed, route=route)
    assert solution.raw_status == "interrupted"
    assert solution.optimal or solution.limit is Limit.INTERRUPTED
    held = solve(posed, route=route, start=best)
    assert held.objective == posed.evaluate(best)
    for known in (solution, held):
        assert certify(posed, known).valid


@pytest.mark.parametrize("name", ["flow-congestion", "generalized-assignment"])
def test_interrupt_of_a_search_for_prices_ends_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C while HiGHS looks for prices is not passed over: no integer program is begun."""
    posed = problem(name, generate(name if name.startswith("gen") else "flow", seed=0, nodes=5, tasks=8))
    module = name.replace("-", "_")
    ran = []

    def interrupted(program: LinearProgram, *_: object) -> ArraySolution:
        ran.append(bool(program.integer.any()))
        return ArraySolution(INTERRUPTED, None, None, None)

    monkeypatch.setattr(f"optsched.searches.{module}.solve_arrays", interrupted)
    solution = solve(posed)
    assert (ran, solution.limit) == ([False], Limit.INTERRUPTED)
    assert solution.bound != (None,)
    assert certify(posed, solution).valid


def test_infeasible_beside_a_feasible_start_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a solver's word that nothing fits is not believed against a placement that does."""
    instance = Instance(
        Cluster(["a"], capacity={"weight": np.array([5.0])}),
        Workload(["t"], pairs=Pairs(cost=np.array([[1.0]]), demand={"weight": np.array([[2.0]])})),
    )
    posed = problem("generalized-assignment", instance)
    assert solve(posed, start=["a"]).objective == (1,)
    honest = solver_of("pyomo")

    def lying(route: str) -> object:
        return lambda *given: replace(honest(*given), status=Termination.INFEASIBLE, objective=None, bound=None)

    monkeypatch.setattr("optsched.routes.call.solver_of", lying)
    with pytest.raises(SolverDisagreement, match="but the start is"):
        solve(posed, start=["a"], route="pyomo")


def test_figure_of_a_solver_that_differs_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a model whose objective is not the placement's value raises SolverDisagreement."""
    honest = solver_of("pyomo")

    def lying(route: str) -> object:
        return lambda *given: replace(honest(*given), objective=17.0)

    monkeypatch.setattr("optsched.routes.call.solver_of", lying)
    with pytest.raises(SolverDisagreement, match=r"the solver says 17\.0"):
        solve(Lsap(FIGURE_2), route="pyomo")


@pytest.mark.parametrize("route", ["pyomo", "pulp"])
def test_models_at_a_node_limit_say_what_they_hold(route: str) -> None:
    """Tests that models stopped at the root give a result that the checker accepts, optimal or not."""
    posed = Latency(generate("latency", seed=1, nodes=12, tasks=40, replicas=2))
    solution = solve(posed, Profile("none", node_limit=0), route=route)
    assert certify(posed, solution).valid
    assert solution.limit is (None if solution.optimal else Limit.NODES)


@pytest.mark.parametrize("route", ["arrays", "pyomo", "pulp"])
def test_assignment_models_out_of_time_fall_back(route: str) -> None:
    """Tests that a linear program without time leaves a placement and a bound."""
    posed = Lsap(generate("lsap", seed=1, nodes=60, tasks=50, racks=5), levels=(0, 1, 2))
    solution = solve(posed, time_limit=0, route=route)
    assert certify(posed, solution).valid
    assert solution.objective is not None


# Frontiers and bounds --------------------------------------------------------------------------------------------


def test_frontier_of_one_component_is_refused() -> None:
    """Tests that a problem without two components has no frontier."""
    with pytest.raises(UsageError, match=r"one component; problems with a frontier: lsap-fairness, latency, traffic$"):
        frontier(Lsap(FIGURE_2))


def test_frontier_of_utility_is_refused_for_what_it_is() -> None:
    """Tests that the refusal does not say that two components are one."""
    with pytest.raises(UsageError, match="utility has no frontier: no route finds it; problems with a frontier: "):
        frontier(Utility(generate("utility", seed=0)))


def test_frontier_out_of_time_is_not_complete() -> None:
    """Tests that a frontier that was cut short says so."""
    found = frontier(Latency(generate("latency", **OPEN_LIMIT)), time_limit=0)
    assert not found.complete
    assert found.limit is Limit.TIME
    assert str(found) == "latency: makespan, work (cut short: TIME)"


@pytest.mark.parametrize("route", ["search", "arrays", "pyomo"])
def test_frontiers_agree_and_their_certificates_hold(route: str) -> None:
    """Tests that the three ways through the limits give the same points, each with its certificates."""
    posed = Latency(small([[0]] * 5 + [[1], []], [1, 1, 1], [0, 1, 0]))
    found = frontier(posed, route=route)
    assert found.values == frontier(posed).values
    assert found.complete
    assert len(found) == len(list(found)) == len(found.values)
    assert found[0].objective == found.values[0]
    for point in found:
        assert posed.evaluate(point.placement) == point.objective


def test_bounds_name_what_they_bound() -> None:
    """Tests that l* is no bound of the job where a server is loaded beyond it, and the order l** <= l_flow."""
    found = {entry.name: entry for entry in bounds(Latency(small([[0]], [1, 1], [0, 100])))}
    assert (found["l*"].value, found["l*"].component) == (51, None)
    assert (found["l**"].value, found["l_flow"].value, found["least-work"].value) == (1, 1, 1)
    assert "not of the job" in found["l*"].bounds
    assert bounds(Lsap(FIGURE_2))[0].value == 0


def test_proof_of_infeasible_limits_by_a_program_is_called_so() -> None:
    """Tests that where only a program rules out a limit, the makespan's proof is the solver's word."""
    seen = set()
    for seed in range(60):
        posed = Latency(generate("latency", seed=seed, nodes=3, tasks=6, replicas=2, max_load=4), w_rem=4)
        solution = solve(posed)
        assert solution.objective == solve(posed, route="brute-force").objective
        verdict = certify(posed, solution)
        assert verdict.valid
        assert verdict.proved is (solution.certificate is Proof.COMBINATORIAL)
        seen.add(solution.certificate)
    assert seen == {Proof.COMBINATORIAL, Proof.SOLVER}


def test_bug_pyomo_printed_a_limit_among_the_data() -> None:
    """Tests that a limit that meets Pyomo in a rule is a result: its log went to stdout, before the JSON."""
    instance = "generated/planted-flow-n8-racks3-t20-seed0"
    command = [sys.executable, "-m", "optsched", "solve", instance, "--problem", "flow"]
    given = ["--route", "pyomo", "--time-limit", "0", "--format", "json"]
    ended = subprocess.run([*command, *given], capture_output=True, text=True, check=True)
    assert json.loads(ended.stdout)["limit"] == "TIME"
    assert ended.stderr == ""
