"""The engines of `flow-congestion`: the convex flow and where it is refused, and the program of patterns."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from congestion_instances import of_one_type, paper, problems
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_kernels import plain

from optsched.certificates import certify
from optsched.errors import SolverDisagreement
from optsched.instance import Cluster, Instance, Workload
from optsched.instances.generate import generate
from optsched.problems import FlowCongestion
from optsched.problems.base import GRID
from optsched.results import Limit, Proof, Termination
from optsched.routes import solve
from optsched.searches import assignment, flow_congestion
from optsched.searches.assignment import NetworkSolution
from optsched.searches.enumeration import best_placement
from optsched.searches.flow_congestion import (
    LoadProgram,
    SlotNetwork,
    plain_prices,
    solve_convex_flow,
    solve_patterns,
    solve_relaxed,
)
from optsched.solvers import networks
from optsched.solvers.highs import solve_arrays
from optsched.solvers.networks import min_cost_flow
from optsched.solvers.outcome import SolverOutcome
from optsched.solvers.profiles import Profile

EXACT = Profile("exact")


class TestConvexFlow:
    """One type of tasks, where each costs no less than the one before it."""

    @settings(max_examples=80)
    @given(of_one_type(), st.booleans())
    def test_against_enumeration(self, instance: Instance, deviation: bool) -> None:
        """Tests that where the instance is convex its flow is optimal, and its own prices prove it; else it refuses."""
        problem = FlowCongestion(instance, deviation=deviation)
        if not problem.convex:
            assert deviation
            with pytest.raises(ValueError, match="several types of tasks, or one more costs less"):
                solve_convex_flow(problem, EXACT)
            return
        best = best_placement(problem)
        outcome, placement, prices = solve_convex_flow(problem, EXACT)
        assert best is not None
        assert placement is not None
        assert problem.evaluate(placement) == best[0]
        assert outcome.status is Termination.OPTIMAL
        assert problem.price_bound(*prices) == problem.units(placement)
        _, other = solve_patterns(problem, EXACT)
        assert other is not None
        assert problem.evaluate(other) == best[0]

    def test_slots_are_no_model_of_the_counterexample(self) -> None:
        """Tests that an arc for each slot promises less than any placement costs where the instance is not convex.

        It takes the cheaper second slot of a node without the first.
        """
        problem = paper("hsu-not-convex")
        slots = SlotNetwork(problem)
        found = min_cost_flow(slots.tail, slots.head, 0 * slots.tail, slots.capacity, slots.cost, slots.supply)
        solution = solve(problem)
        assert solution.objective is not None
        assert found.flow is not None
        assert (slots.cost * found.flow).sum() < solution.objective[0] * GRID - 1000
        assert solution.solver["interface"] == "arrays"
        assert float(solution.objective[0]) == pytest.approx(12.3525, abs=5e-5)
        assert certify(problem, solution).valid

    def test_alike_nodes_share_evenly(self) -> None:
        """Tests that seven tasks on three alike nodes go 3, 2, 2."""
        cluster = Cluster(["a", "b", "c"], slots=[4, 4, 4], rate_in=[85.0] * 3)
        problem = FlowCongestion(Instance(cluster, Workload([f"t{task}" for task in range(7)], rate_in=[9.14] * 7)))
        _, placement, _ = solve_convex_flow(problem, EXACT)
        assert placement is not None
        assert sorted(np.bincount(placement.nodes).tolist()) == [2, 2, 3]

    @pytest.mark.parametrize("large", [False, True])
    def test_by_either_engine(self, large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        """Tests that the network simplex of large networks and HiGHS prove one optimum, and a limit leaves none."""
        plain(monkeypatch, "optsched.solvers.simplex_kernels")
        for module in (assignment, networks):
            monkeypatch.setattr(module, "simplex_compiled", lambda _: large)
        instance = generate("flow", nodes=14, tasks=40)
        workload = replace(instance.workload, rate_in=np.full(40, 9.14), rate_in_by_type=None)
        problem = FlowCongestion(replace(instance, workload=workload))
        assert problem.convex
        found = solve(problem)
        assert (found.solver["name"], found.certificate) == ("network simplex" if large else "HiGHS", Proof.DUAL)
        assert certify(problem, found).proved
        assert found.objective == (Fraction(problem.price_bound(*solve_convex_flow(problem, EXACT)[2]), GRID),)
        stopped = SolverOutcome(Termination.NO_SOLUTION, Limit.TIME, None, None, "stopped", 0.0, None)
        monkeypatch.setattr(flow_congestion, "solve_network", lambda *_: NetworkSolution(None, None, stopped))
        outcome, placement, prices = solve_convex_flow(problem, EXACT)
        assert (outcome, placement) == (stopped, None)
        assert problem.price_bound(*prices) == problem.price_bound(*plain_prices(problem))
        assert solve(problem).limit is Limit.TIME


class TestPatterns:
    """The program of patterns."""

    @settings(max_examples=40)
    @given(problems(), st.integers(0, 3))
    def test_start(self, problem: FlowCongestion, seed: int) -> None:
        """Tests that a placement makes columns that are feasible, cost the same, and stand for a placement as dear."""
        nodes = np.full(len(problem.tasks), -1)
        random = np.random.default_rng(seed)
        for kind in problem.kinds:
            slots = random.permutation(np.repeat(np.arange(problem.slots.shape[1]), problem.slots[kind]))
            tasks = random.permutation(np.flatnonzero(problem.kind == kind))[: problem.counts[kind]]
            nodes[tasks] = slots[: len(tasks)]
        placement = problem.placement(nodes)
        program = LoadProgram(problem)
        arrays, x = program.arrays(), program.start(placement)
        assert (arrays.col_lower <= x).all()
        assert (x <= arrays.col_upper).all()
        rows = arrays.matrix @ x
        assert (arrays.row_lower <= rows).all()
        assert (rows <= arrays.row_upper).all()
        assert arrays.objective @ x == problem.units(placement)
        assert problem.units(program.placement(x)) == problem.units(placement)

    def test_disagreement(self) -> None:
        """Tests that columns that are no placement are the solver's fault, and said to be."""
        problem = paper("hsu-not-convex")
        program = LoadProgram(problem)
        with pytest.raises(SolverDisagreement, match=r"HiGHS holds a placement that violates cardinality\(map\) by 2"):
            program.placement(np.zeros(len(program.host) + len(program.pair_class)))

    def test_prices(self) -> None:
        """Tests that prices past 2^53 are passed over, and that without duals there are plain ones."""
        problem = paper("hsu-two-clusters")
        program = LoadProgram(problem)
        duals = solve_arrays(program.arrays(relaxed=True), EXACT).row_duals
        assert duals is not None
        assert problem.price_bound(*program.prices(duals)) == problem.price_bound(*solve_relaxed(problem, EXACT)[2])
        (cheap,) = problem.cheap_bounds()
        for useless in (None, duals * 2.0**40):
            assert Fraction(problem.price_bound(*program.prices(useless)), GRID) == cheap.value

    @settings(max_examples=50)
    @given(problems())
    def test_plain_prices(self, problem: FlowCongestion) -> None:
        """Tests that the prices that no solver gave prove at least what every task alone on its best node costs."""
        (cheap,) = problem.cheap_bounds()
        assert Fraction(problem.price_bound(*plain_prices(problem)), GRID) >= cheap.value
