"""The routes of `generalized-assignment` against enumeration: proofs, limits, starts, and large capacities."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from small_problems import ONE_PLACE as SMALL
from small_problems import generalized_assignment as posed

from optsched import Limit, Termination, certify
from optsched.core.errors import OutOfTime, SolverDisagreement
from optsched.core.instance import Cluster, Instance, Pairs, Workload
from optsched.problems import GeneralizedAssignment
from optsched.routes import generalized_assignment, solve
from optsched.routes.generalized_assignment import ROUTES as GENERALIZED_ASSIGNMENT_ROUTES
from optsched.solvers.answers import SolverOutcome
from optsched.solvers.profiles import load_profile
from optsched.solvers.searches.capacity_tree import CapacityNeighbourhoods
from optsched.solvers.searches.enumeration import best_placement


@pytest.mark.parametrize("route", ["arrays", "pyomo", "pulp"])
def test_bug_both_solves_share_the_time(route: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the search for prices takes its time from the limit, so that the integer program has what is left."""
    module = "optsched.routes.generalized_assignment"
    given: list[float | None] = []
    solve(SMALL, route=route)  # what is imported meanwhile keeps its own clock
    now = iter(range(0, 1000, 4))
    monkeypatch.setattr("time.perf_counter", lambda: float(next(now)))

    def noted(outcome: Any) -> Any:
        return lambda problem, profile, *_: (given.append(profile.time_limit), outcome)[1]

    stopped = SolverOutcome(Termination.NO_SOLUTION, Limit.TIME, None, None, "stopped", 0.0, None)
    monkeypatch.setattr(f"{module}.capacity_prices", noted((np.zeros((1, 2), dtype=np.int64), 1)))
    monkeypatch.setattr(f"{module}.solve_integer_program", noted((stopped, None)))
    monkeypatch.setattr("optsched.routes.call.solver_of", lambda route: noted(stopped))
    assert solve(SMALL, route=route, time_limit=100).limit is Limit.TIME
    prices, program = given
    assert 0 < program < prices == 100


@pytest.mark.parametrize("route", GENERALIZED_ASSIGNMENT_ROUTES)
def test_infeasible(route: str) -> None:
    """Tests that a task that fits nowhere is proved, and a crowd by a tree, whichever route was taken."""
    stranded = posed([[1], [1]], {"weight": [[2], [4]]}, {"weight": [3]})
    solution = solve(stranded, route=route)
    assert (solution.termination, solution.decision, solution.limit) == (Termination.INFEASIBLE, None, None)
    verdict = certify(stranded, solution)
    assert verdict.proved
    assert "t1 fits on no node" in str(verdict)
    crowded = posed([[1], [1]], {"weight": [[2], [2]]}, {"weight": [3]})
    solution = solve(crowded, route=route)
    assert solution.termination is Termination.INFEASIBLE
    verdict = certify(crowded, solution)
    assert verdict.valid
    tried = route == "brute-force"
    word = "that there is no feasible placement rests on: enumeration"
    assert verdict.unproved == ((word,) if tried else ())
    assert str(solution.certificate) == ("enumeration" if tried else "combinatorial")
    claimed = replace(solution, decision=crowded.placement([0, 0]), objective=(2,))
    assert not certify(crowded, claimed).valid


def test_packings_that_are_none() -> None:
    """Tests that demands which do not fit together are proved so by a tree without costs, for both senses."""
    demand = {"weight": [[9, 10], [5, 8], [4, 4], [3, 3], [8, 5], [3, 9]]}
    cost = [[3, -1], [2, 7], [0, 0], [1, 1], [4, 4], [0, 9]]
    for sense in ("min", "max"):
        problem = posed(cost, demand, {"weight": [14, 17]}, sense=sense)
        solution = solve(problem)
        assert (solution.termination, str(solution.certificate)) == (Termination.INFEASIBLE, "combinatorial")
        assert certify(problem, solution).proved
    looser = posed(cost, demand, {"weight": [16, 17]})
    assert solve(looser).optimal
    false = replace(solution, instance_sha256=looser.instance.sha256, parameters=dict(looser.parameters))
    costly = {"multipliers": [{"scale": 1, "task_prices": {}, "prices": {}}], "steps": [{"by": [0]}]}
    for data, expected in ((false.certificates[0].data, "the leaf at step 0 proves nothing"), (costly, "leaves room")):
        claimed = replace(false, certificates=(replace(false.certificates[0], data=data),))
        (found,) = certify(looser, claimed).contradicted
        assert expected in found


def test_prices_close_or_the_solver_is_named() -> None:
    """Tests that a bound which rounding closes is a dual proof, and that else the solver's word is reported as such."""
    closed = solve(SMALL)
    assert (closed.objective, str(closed.certificate), certify(SMALL, closed).proved) == ((6,), "dual", True)
    open_ = posed([[0, 10], [0, 10], [0, 10]], {"weight": [[2, 0]] * 3}, {"weight": [3, 9]})
    solution = solve(open_)
    assert (solution.objective, solution.bound, str(solution.certificate)) == ((20,), (20,), "solver")
    verdict = certify(open_, solution)
    assert verdict.valid
    assert not verdict.proved


@pytest.mark.parametrize(("bound", "kind", "claim"), [(None, "dual", 0), (12.2, "solver", 13), (-4.0, "dual", 0)])
def test_bound_at_a_limit(monkeypatch: pytest.MonkeyPatch, bound: float | None, kind: str, claim: int) -> None:
    """Tests that at a limit the better of the prices' bound and the solver's, rounded to a whole cost, is claimed."""
    problem = posed([[0, 10], [0, 10], [0, 10]], {"weight": [[2, 0]] * 3}, {"weight": [3, 9]})
    stopped = SolverOutcome(Termination.NO_SOLUTION, Limit.NODES, None, bound, "stopped", 0.0, 0)
    monkeypatch.setattr("optsched.routes.generalized_assignment.solve_integer_program", lambda *_: (stopped, None))
    monkeypatch.setattr(
        "optsched.routes.generalized_assignment.capacity_prices", lambda *_: (np.zeros((1, 2), dtype=np.int64), 1)
    )
    solution = solve(problem, route="arrays")
    assert (solution.termination, solution.limit) == (Termination.NO_SOLUTION, Limit.NODES)
    assert (solution.bound, str(solution.certificate)) == ((claim,), kind)


def nearly_equal(seed: int, size: int) -> GeneralizedAssignment:
    """Five tasks that demand about `size` of each of three nodes, whose capacities are about multiples of it."""
    rng = np.random.default_rng(seed)
    demand = size + rng.integers(-3, 4, (5, 3))
    capacity = rng.integers(1, 4, 3) * size + rng.integers(-3, 4, 3)
    pairs = Pairs(cost=rng.integers(1, 30, (5, 3)).astype(float), demand={"weight": demand.astype(float)})
    cluster = Cluster(["a", "b", "c"], capacity={"weight": capacity.astype(float)})
    return GeneralizedAssignment(Instance(cluster, Workload([f"t{task}" for task in range(5)], pairs=pairs)))


@pytest.mark.parametrize("size", [10**8, 10**12])
def test_bug_capacities_kept_to_a_millionth(size: int) -> None:
    """Tests that a placement that exceeds a capacity by few units of 10^8 is cut off, and refused of a model."""
    refused = 0
    for seed in range(12):
        problem = nearly_equal(seed, size)
        best, found = best_placement(problem), solve(problem, route="arrays")
        assert found.objective == (None if best is None else best[0])
        assert found.termination is (Termination.INFEASIBLE if best is None else Termination.OPTIMAL)
        try:
            by_model = solve(problem, route="pulp")
        except SolverDisagreement as error:
            refused += "an infeasible placement has no value: capacity" in str(error)
        else:
            assert by_model.objective == found.objective
    assert refused


def test_neighbourhoods_and_tree_by_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that neighbourhoods begin from what the tree holds, that it takes what they find, and so at a deadline."""
    rng = np.random.default_rng(5)
    weight = rng.integers(5, 25, (15, 4))
    cost = 30 - weight + rng.integers(0, 4, (15, 4))
    problem = posed(cost.tolist(), {"weight": weight.tolist()}, {"weight": (0.8 * weight.sum(axis=0) // 4).tolist()})
    monkeypatch.setattr("optsched.solvers.searches.capacity_tree.repaired", lambda *_: None)
    monkeypatch.setattr(f"{generalized_assignment.__name__}._PARTS", (0, 0))
    monkeypatch.setattr(f"{generalized_assignment.__name__}._FEW", 14)
    turns: list[tuple[int, int]] = []

    class Noted(CapacityNeighbourhoods):
        """Neighbourhoods that find the optimum at their second turn, and then have no time left."""

        def search(self, trees: int) -> None:
            turns.append((trees, self.limit))
            if len(turns) == 2:
                self.hold(best)
                raise OutOfTime("out of time")

    monkeypatch.setattr(generalized_assignment, "CapacityNeighbourhoods", Noted)
    for name, value in (("_FEW", 15), ("_OPEN", 0)):  # too few tasks, or too little open
        with monkeypatch.context() as patch:
            patch.setattr(f"{generalized_assignment.__name__}.{name}", value)
            optimum = solve(problem)
            assert optimum.optimal
            assert not turns
    best = problem.nodes_of(optimum.decision)
    found = solve(problem)
    assert found.limit is Limit.TIME
    assert found.objective == optimum.objective
    assert [trees for trees, _ in turns] == [generalized_assignment._NEAR] * 2
    assert turns[0][1] == turns[1][1] > problem.evaluate(optimum.decision)[0]


def test_the_tree_proves_what_prices_leave_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that where prices leave a gap a tree closes it, that HiGHS helps where it is too large, and a deadline."""
    module = "optsched.routes.generalized_assignment"
    rng = np.random.default_rng(11)
    weight = rng.integers(1, 20, (10, 3))
    cost = (21 - weight + rng.integers(-3, 4, (10, 3))).tolist()
    problem = posed(cost, {"weight": weight.tolist()}, {"weight": (0.8 * weight.sum(axis=0) // 3).tolist()})
    grown = solve(problem)
    assert (str(grown.certificate), grown.raw_status) == ("combinatorial", "every case is settled")
    assert certify(problem, grown).proved
    monkeypatch.setattr(f"{module}._SOON", 0)
    monkeypatch.setattr(f"{module}._PARTS", (0,))
    monkeypatch.setattr(f"{module}._NEAR", 0)
    with monkeypatch.context() as patch:  # HiGHS finds the optimum, and the tree proves it
        patch.setattr(f"{module}.greedy_packing", lambda problem: None)
        patch.setattr("optsched.solvers.searches.capacity_tree.repaired", lambda *_: None)
        again = solve(problem)
        assert (again.objective, str(again.certificate)) == (grown.objective, "combinatorial")
    monkeypatch.setattr("optsched.solvers.searches.capacity_tree.MOST_STEPS", -1)
    monkeypatch.setattr(f"{module}._NODES", 0)
    word = solve(problem)  # the tree is too large, and HiGHS is asked without a limit at last
    assert (word.objective, str(word.certificate)) == (grown.objective, "solver")
    assert word.solver["name"] == "HiGHS"
    few = replace(load_profile("exact"), node_limit=0)
    held = solve(problem, few)
    assert held.bound[0] <= grown.bound[0]
    assert solve(problem, time_limit=0).limit is Limit.TIME
