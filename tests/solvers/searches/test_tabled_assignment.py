"""Assignment by a table of costs: where it is the quicker way, its optimum, and the prices that prove it."""

import numpy as np
import pytest
from engines import plain
from hypothesis import given, settings
from hypothesis import strategies as st
from small_problems import FIGURE_2
from strategies import problems
from transmission_instances import problems as small_maps

from optsched import Limit, Proof, certify, generate, solve
from optsched.core.deadline import deadline
from optsched.core.errors import OutOfTime
from optsched.core.instance import Cluster, Instance, Ragged, Topology, Workload
from optsched.core.placement import NONE
from optsched.problems import Lsap, problem
from optsched.problems.assignment import AssignmentProblem
from optsched.solvers.searches import tabled_assignment
from optsched.solvers.searches.assignment import prices_of
from optsched.solvers.searches.enumeration import best_placement
from optsched.solvers.searches.tabled_assignment import assign_table, is_tabled, is_transported, transport_table
from optsched.solvers.tables import assign_dense


@given(posed=st.one_of(problems("flow"), small_maps("transmission-maps")), seed=st.integers(0, 10**6))
def test_prices_of_a_table(posed: AssignmentProblem, seed: int) -> None:
    """Tests that a placement has prices that close it if it is optimal, and none if it is not, whatever it is."""
    rng, (best, _) = np.random.default_rng(seed), best_placement(posed)
    slots = np.repeat(np.arange(len(posed.capacity)), posed.capacity)
    for _ in range(6):
        nodes = np.full(len(posed.tasks), NONE)
        nodes[rng.permutation(len(posed.tasks))[: posed.count]] = rng.permutation(slots)[: posed.count]
        placement = posed.placement(nodes)
        prices = prices_of(posed, placement)
        assert (prices is not None) == (posed.evaluate(placement) == best)
        if prices is not None:
            assert posed.price_bound(*prices) == posed.units(placement)


def test_table_is_taken_where_it_is_quicker() -> None:
    """Tests that `network` takes the table, but for tasks that only repeat each other, and stops at a deadline."""
    posed = problem("flow", generate("flow", nodes=28, tasks=80))
    assert is_tabled(posed)
    assert solve(posed).solver["name"] == "SciPy linear_sum_assignment"
    with deadline(0), pytest.raises(OutOfTime):
        assign_table(posed)
    assert solve(posed, time_limit=60).optimal
    assert solve(posed, time_limit=0).limit is Limit.TIME
    repeated = problem("flow", generate("flow", nodes=14, tasks=1000, slots=100))
    assert not is_tabled(repeated)
    assert solve(repeated).solver["name"] == "HiGHS"
    assert not is_tabled(Lsap(FIGURE_2))


@settings(max_examples=20)
@given(posed=st.one_of(problems("flow"), small_maps("transmission-maps")))
def test_table_is_transported_and_proved(posed: AssignmentProblem) -> None:
    """Tests the transportation problem of small tables: SciPy's optimum, all placed that can be, and closing prices."""
    if not posed.count:
        return
    with pytest.MonkeyPatch.context() as patched:
        plain(patched, "optsched.solvers.kernels")
        owner, node, units, prices = transport_table(posed)
    assert (np.bincount(owner, weights=units, minlength=len(posed.classes().size)) <= posed.classes().size).all()
    assert (np.bincount(node, weights=units, minlength=len(posed.capacity)) <= posed.capacity).all()
    assert units.sum() == posed.count
    cost = int((posed.pair_units(posed.classes().first[owner], node) * units).sum())
    idle, row = posed.idle_nodes, posed.classes().of_task
    column = assign_dense(posed.class_units, posed.capacity[idle], posed.count, row)
    assert cost == posed.class_units[row, column][column >= 0].sum()
    assert posed.price_bound(*prices) == cost + posed.pools[0].cost(posed.count)


def test_large_table_is_transported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a large table is a transportation problem where kernels compile, with the same optimum as without."""
    pytest.importorskip("numba")
    posed = problem("flow", generate("flow", nodes=280, tasks=2000))
    assert is_transported(posed)
    first, second = solve(posed), solve(posed)
    assert (first.solver["name"], first.certificate) == ("network simplex on the table", Proof.DUAL)
    assert (certify(posed, first).proved, first.decision == second.decision) == (True, True)
    monkeypatch.setattr(tabled_assignment, "compiles", lambda: False)
    assert not is_transported(posed)
    assert solve(posed).solver["name"] == "SciPy linear_sum_assignment"
    assert solve(posed).objective == first.objective
    assert solve(posed, time_limit=0).limit is Limit.TIME


def test_tasks_that_want_different_nodes_are_assigned() -> None:
    """Tests that a table of drawn distances goes to SciPy, even where kernels compile; many slots a node do not."""
    pytest.importorskip("numba")
    spread = {"nodes": 400, "tasks": 800, "spread": 5}
    posed = problem("transmission-maps", generate("transmission", seed=0, **spread))
    assert posed.pairs > 2**18
    assert not is_transported(posed)
    assert is_transported(problem("transmission-maps", generate("transmission", seed=0, **spread, slots=20)))


def test_large_costs_leave_the_table_to_integers() -> None:
    """Tests that costs whose sums doubles would not hold are no table's, and are solved and proved all the same."""
    distance = np.full((3, 3), 2.0**47)
    np.fill_diagonal(distance, 0.0)
    cluster = Cluster(["a", "b", "c"], slots=[1, 1, 40], topology=Topology("distance", distance))
    workload = Workload([f"t{task}" for task in range(40)], replicas=Ragged.from_rows([[0]] * 40), size=[1.0] * 40)
    posed = problem("transmission-maps", Instance(cluster, workload))
    assert not is_tabled(posed)
    solution = solve(posed)
    assert (solution.objective, solution.certificate) == ((39 * 2**47,), Proof.DUAL)
