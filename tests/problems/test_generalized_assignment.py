"""`generalized-assignment`: value, feasibility, exact numbers; and knapsacks of boxes against enumeration."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_problems import ODD
from small_problems import ONE_PLACE as SMALL
from small_problems import generalized_assignment as posed
from strategies import problems

from optsched.core.errors import InputError, MissingField
from optsched.core.instance import Cluster, Instance, Ints, Pairs, Workload
from optsched.core.network import FlowNetwork
from optsched.core.placement import Placement
from optsched.core.results import Violation
from optsched.problems import GeneralizedAssignment, generalized_assignment, problem
from optsched.problems.generalized_assignment import CapacityKnapsacks, NodePrices, fill
from optsched.problems.relaxations import Box


def test_value_and_violations() -> None:
    """Tests the value of a placement, and each constraint's violation with its ids and amount."""
    barred = posed(
        [[1.5, 4], [2, 9]],
        {"weight": [[2, 2], [2.25, 2]], "disk": [[1, 1], [1, 1.5]]},
        {"weight": [4, 3], "disk": [9, 1]},
        [[True, True], [True, False]],
    )
    assert SMALL.evaluate(SMALL.placement([1, 0])) == (6,)
    assert posed([[1, 4], [2, 9]], sense="max").cheap_bounds()[0].value == 13
    assert barred.grid == 2
    assert barred.objective(barred.placement([0, 0])) == (Fraction(7, 2),)
    assert barred.violations(barred.placement([-1, 1])) == [
        Violation("assigned", ("t0",), 1),
        Violation("allowed", ("t1", "n1"), 1),
        Violation("capacity", ("disk", "n1"), Fraction(1, 2)),
    ]
    assert barred.violations(barred.placement([0, 0])) == [Violation("capacity", ("weight", "n0"), Fraction(1, 4))]
    assert barred.usable.tolist() == [[True, True], [True, False]]
    with pytest.raises(ValueError, match="an infeasible placement has no value: assigned"):
        SMALL.evaluate(Placement.of([None, None]))


def test_missing_fields() -> None:
    """Tests that absent costs and capacities are reported with their places, and the noun that is due."""
    for pairs in (None, Pairs(allowed=[[True]])):
        with pytest.raises(MissingField, match=r"pairs\.cost: generalized-assignment needs a cost"):
            GeneralizedAssignment(Instance(Cluster(["n"]), Workload(["t"], pairs=pairs)))
    with pytest.raises(MissingField, match=r"nodes\[1\]\.capacity\.weight"):
        posed([[1, 1]], {"weight": [[1, 1]]}, {"weight": [1, float("nan")]})
    network = FlowNetwork(["s"], tail=[], head=[], name="net")
    with pytest.raises(InputError, match="net: format: generalized-assignment is posed on an instance, not on a flow"):
        problem("generalized-assignment", network)
    assert GeneralizedAssignment.applies(network)


@pytest.mark.parametrize(
    ("cost", "demand", "message"),
    [
        (2.0**53, 1.0, r"costs may total too much, past 2\^53/1"),
        (2.0**40 + 1 / 3, 1.0, r"costs may total too much, past 2\^53/10000"),
        (
            1.0,
            1 / 3,
            "pairs.demand.weight: demands of generalized-assignment must have a common denominator of at most",
        ),
        (1.0, 2.0**53, r"demands may total too much, past 2\^53/1"),
    ],
)
def test_numbers_that_are_not_exact(cost: float, demand: float, message: str) -> None:
    """Tests that totals past 2^53 and demands off the grid are refused, with what to do."""
    with pytest.raises(InputError, match=message):
        posed([[cost], [cost]], {"weight": [[demand], [demand]]}, {"weight": [2.0**53]})


def test_numbers_at_their_limits() -> None:
    """Tests that one cost and one demand of 2^53 are taken, and that every resource with a fault is reported."""
    assert posed([[2.0**53]], {"weight": [[2.0**53]]}, {"weight": [2.0**53]}).evaluate(Placement.of([0])) == (2**53,)
    fine = 2.0**42 + 2.0**-10  # as it is written, a multiple of 1/1000
    assert posed([[1.0]] * 2, {"weight": [[fine]] * 2}, {"weight": [2.0**53]}).demand_grid.tolist() == [1000]
    with pytest.raises(InputError, match=r"demands may total too much, past 2\^53/1000"):
        posed([[1.0]] * 3, {"weight": [[fine]] * 3}, {"weight": [2.0**53]})
    with pytest.raises(InputError) as caught:
        posed([[1.0]], {"one": [[1 / 3]], "two": [[1 / 3]]}, {"one": [1.0], "two": [1.0]})
    assert [fault.place for fault in caught.value.faults] == ["pairs.demand.one", "pairs.demand.two"]


# Agreement ---------------------------------------------------------------------------------------------------------


def test_rounded_costs_are_reported() -> None:
    """Tests that a user hears how many costs were rounded and by how much, and nothing where all are exact."""
    text = "1 of 4 costs are rounded to multiples of 1/1048576, by up to 1e-07, 1 of them to 0"
    assert posed([[1, 0.5], [1e-7, 9]]).remark == text
    assert posed([[1, 0.1], [1e-6, 9]]).remark is None
    assert posed([]).remark is None


def test_knapsacks_against_enumeration() -> None:
    """Tests the least cost, with each task and without it, against all sets; pairs that are not open do not count."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        cost, weight = rng.integers(-9, 6, (5, 2)), rng.integers(0, 5, (5, 2))
        room, free = rng.integers(4, 9, 2), rng.random((5, 2)) < 0.8
        kind = object if rng.random() < 0.3 else np.int64
        filled = fill(cost.astype(kind), weight, free, room)
        for node in range(2):
            sets = [
                (sum(int(cost[task, node]) for task in chosen), chosen)
                for size in range(6)
                for chosen in itertools.combinations(np.flatnonzero(free[:, node]).tolist(), size)
                if weight[list(chosen), node].sum() <= room[node]
            ]
            assert filled.least[node] == min(sets)[0]
            for task in np.flatnonzero(free[:, node]).tolist():
                assert filled.without[task, node] == min(total for total, chosen in sets if task not in chosen)
                assert filled.including[task, node] == min(total for total, chosen in sets if task in chosen)


@given(problems("generalized-assignment"), st.data())
def test_any_prices_bound_any_box(problem: GeneralizedAssignment, data: st.DataObject) -> None:
    """Tests that no prices prove more of a box than its best placement costs, or leave out one below the limit."""
    if not len(problem.tasks):
        return
    knapsacks, (tasks, nodes) = CapacityKnapsacks(problem), problem.units.shape
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    box = knapsacks.box
    for variable in rng.choice(tasks * nodes, min(2, tasks * nodes), replace=False).tolist():
        box = box.split(variable, 0)[int(rng.integers(0, 2))]
    scale = int(rng.choice([0, 1, 7, 2**45]))
    prices = NodePrices(scale, rng.integers(-9, 9, tasks) * max(scale, 1), rng.integers(-2, 5, problem.capacity.shape))
    limit = int(rng.integers(-30, 40))
    whole = Box(box.lower.copy(), box.upper.copy())
    found, costs = knapsacks.settle(box, prices.multipliers, limit), []
    for choice in itertools.product(range(nodes), repeat=tasks):
        there = np.zeros((tasks, nodes), dtype=np.int64)
        there[np.arange(tasks), choice] = 1
        if not problem.violations(problem.placement(choice)) and within(there, whole):
            cost = sum(problem.sign * int(problem.units[pair]) for pair in enumerate(choice))
            costs.append(cost)
            assert cost >= limit or within(there, box)
    assert found is None or found <= min([*costs, limit])
    assert max(costs, default=knapsacks.beyond - 1) < knapsacks.beyond


def within(there: Ints, box: Box) -> bool:
    """Whether a placement, as 0 or 1 of each task and node, is in a box."""
    return bool(((box.lower <= there.ravel()) & (there.ravel() <= box.upper)).all())


def test_what_is_implied_without_prices() -> None:
    """Tests that a task with one node left is there, that what does not fit beside it is not, and that both go on."""
    knapsacks = CapacityKnapsacks(posed([[0, 5]] * 2, {"weight": [[2, 2], [2, 2]]}, {"weight": [3, 9]}))
    box, free = knapsacks.box.split(1, 0)[0], np.zeros(5, dtype=np.int64)
    assert knapsacks.implied(box)
    assert box.lower.tolist() == box.upper.tolist() == [1, 0, 0, 1]
    assert [knapsacks.settle(box, free, limit) for limit in (9, 5)] == [5, 5]
    assert box.empty
    for given_ in (Box(np.array([1, 1, 0, 0]), np.ones(4, int)), Box(np.zeros(4, int), np.array([1, 1, 0, 0]))):
        assert not knapsacks.implied(given_)
        assert given_.empty
    assert knapsacks.settle(Box(np.array([1, 0, 1, 0]), np.ones(4, int)), free, 9) == 9


def test_a_ray_shows_that_nothing_is_there() -> None:
    """Tests that prices without costs prove that three tasks do not go where two places are, and say no more."""
    crowded = posed([[1, 1]] * 3, {"weight": [[2, 2]] * 3}, {"weight": [3, 3]})
    knapsacks = CapacityKnapsacks(crowded)
    ray = NodePrices(0, np.ones(3, int), np.zeros((1, 2), int)).multipliers
    assert knapsacks.settle(knapsacks.box, ray, 77) == 77
    loose = CapacityKnapsacks(ODD)
    assert loose.settle(loose.box, ray, 77) is None


@pytest.mark.parametrize("size", [1, 10**12])
def test_capacities_of_any_size(size: int) -> None:
    """Tests that a capacity in large units is counted in them, and one that takes too large a table is divided."""
    problem = posed(
        [[0, 3]] * 3,
        {"weight": [[2.0 * size, 0]] * 3, "none": [[0, 0]] * 3},
        {"weight": [3.0 * size, 9], "none": [1, 1]},
    )
    knapsacks = CapacityKnapsacks(problem)
    assert knapsacks.weight.tolist() == [[1, 0]] * 3
    assert knapsacks.room.tolist() == [1, 0]
    odd = posed([[0, 3]] * 3, {"weight": [[2.0 * size, 0], [2.0 * size + 1, 0], [1, 0]]}, {"weight": [3.0 * size, 9]})
    assert CapacityKnapsacks(odd).room[0] == (3 if size == 1 else 1023)
    free = CapacityKnapsacks(posed([[0, 3]] * 3))
    assert free.settle(free.box, np.array([1, 1, 1, 1]), 50) == 0


@pytest.mark.parametrize("tasks", [1, 2])
def test_bug_sums_over_many_nodes(tasks: int) -> None:
    """Tests that a price of a place that every node earns is added up exactly, however many nodes there are."""
    problem = posed([[1] * 1200] * tasks)
    knapsacks = CapacityKnapsacks(problem)
    for price, most in ((2**53, tasks), (-(2**53), tasks), (1, tasks)):
        prices = NodePrices(1, np.full(tasks, price), np.zeros((0, 1200), dtype=np.int64))
        proved = knapsacks.settle(knapsacks.box, prices.multipliers, tasks + 1)
        assert proved <= most


def test_bug_knapsacks_together_past_int64() -> None:
    """Tests that prices prove what they do, and stop no check, where each knapsack is exact and all of them are not."""
    tasks = nodes = 100
    knapsacks = CapacityKnapsacks(posed([[1] * nodes] * tasks))
    prices = NodePrices(1, np.full(tasks, 2**50), np.zeros((0, nodes), dtype=np.int64))
    least = tasks * 2**50 - nodes * tasks * (2**50 - 1)  # all tasks on all nodes, and then one of them on one alone
    assert knapsacks.settle(knapsacks.box, prices.multipliers, tasks) == least + (nodes - 1) * (2**50 - 1)


@pytest.mark.parametrize("tasks", [0, 2])
def test_bug_no_nodes(tasks: int) -> None:
    """Tests that trees are checked where there is no node: nothing costs nothing, and tasks have no place."""
    workload = Workload([f"t{task}" for task in range(tasks)], pairs=Pairs(np.zeros((tasks, 0))))
    problem = GeneralizedAssignment(Instance(Cluster([]), workload))
    knapsacks = CapacityKnapsacks(problem)
    assert (knapsacks.beyond, problem.price_bound(np.zeros((0, 0), dtype=np.int64), 1)) == (1, 0)
    prices = NodePrices(1, np.zeros(tasks, dtype=np.int64), np.zeros((0, 0), dtype=np.int64))
    assert knapsacks.settle(knapsacks.box, prices.multipliers, 1) == (1 if tasks else 0)


def test_the_table_of_a_knapsack_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a capacity is divided further where the tables of many tasks would fill the memory."""
    problem = posed([[0]] * 12, {"weight": [[10.0**6 + 1]] * 11 + [[1.0]]}, {"weight": [10.0**7]})
    width = int(CapacityKnapsacks(problem).room[0])
    assert 1024 < width < 12 * 128
    monkeypatch.setattr(generalized_assignment, "_MOST_ENTRIES", 13 * 1100)
    assert 1024 <= CapacityKnapsacks(problem).room[0] < 1100
