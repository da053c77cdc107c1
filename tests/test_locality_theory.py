"""Guo et al.'s closed forms against enumeration of every case, the optimum, and figures of a simulation."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations, product

import pytest
from oracles.locality_theory import expected_local_tasks, goodness_of_locality, local_task_distribution, stirling2

from optsched.core.instance import Cluster, Instance, Ragged, State, Workload
from optsched.problems import Lsap
from optsched.searches.assignment import solve_assignment


@pytest.mark.parametrize(("nodes", "tasks"), [(nodes, tasks) for nodes in range(1, 6) for tasks in range(6)])
def test_distribution_equals_enumeration(nodes: int, tasks: int) -> None:
    """Tests that p(k, T) counts exactly the cases in which k of T tasks find an idle slot with their data."""
    for idle in range(nodes + 1):
        # Idle slots are the first ones, as in the paper's argument; a node serves one of the tasks with data on it.
        counts = Counter(len({home for home in homes if home < idle}) for homes in product(range(nodes), repeat=tasks))
        expected = [Fraction(counts[local], nodes**tasks) for local in range(min(tasks, idle) + 1)]
        assert local_task_distribution(nodes, idle, tasks) == expected
        assert sum(expected) == 1


def test_expectation_is_the_mean_of_the_distribution() -> None:
    """Tests that the closed form of E equals the sum of k p(k, T)."""
    for nodes, idle, tasks in product(range(1, 7), range(7), range(7)):
        if idle <= nodes:
            mean = sum(local * share for local, share in enumerate(local_task_distribution(nodes, idle, tasks)))
            assert expected_local_tasks(nodes, idle, tasks) == mean


@pytest.mark.parametrize(("nodes", "slots", "tasks"), [(2, 2, 3), (3, 2, 2), (2, 3, 3), (1, 3, 2)])
def test_extension_to_several_slots_equals_the_mean_optimum(nodes: int, slots: int, tasks: int) -> None:
    """Tests that E for S > 1 is the mean of the solved optimum over all placements of data and idle slots."""
    for idle in range(nodes * slots + 1):
        total = cases = 0
        for free in combinations(range(nodes * slots), idle):
            idle_slots = [sum(1 for slot in free if slot // slots == node) for node in range(nodes)]
            for homes in product(range(nodes), repeat=tasks):
                total += sum(min(idle_slots[node], homes.count(node)) for node in range(nodes))
                cases += 1
        assert expected_local_tasks(nodes, idle, tasks, slots) == Fraction(total, cases)


def test_counting_local_tasks_is_what_the_optimum_does() -> None:
    """Tests that for C = 1 the solved lsap has the number of local tasks that the theory counts."""
    homes, idle_slots = [0, 0, 0, 1, 2], [2, 1, 0]
    cluster = Cluster(["a", "b", "c"], slots=[2, 2, 2])
    workload = Workload([f"t{task}" for task in range(5)], replicas=Ragged.from_rows([[home] for home in homes]))
    problem = Lsap(Instance(cluster, workload, State.initial(cluster, workload, idle_slots=idle_slots)))
    placement = problem.placement(solve_assignment(problem).nodes)
    assert problem.locality_counts(placement)["node"] == 3


@pytest.mark.parametrize(
    ("nodes", "slots", "idle", "tasks", "value"),
    [(20, 1, 10, 15, 5.367), (20, 2, 10, 15, 4.945), (30, 4, 40, 40, 23.202), (10, 3, 20, 30, 17.058)],
)
def test_figures_of_the_digest(nodes: int, slots: int, idle: int, tasks: int, value: float) -> None:
    """Tests the four expectations that our notes tabulated."""
    assert float(expected_local_tasks(nodes, idle, tasks, slots)) == pytest.approx(value, abs=5e-4)


def test_goodness_at_the_setting_of_figure_4() -> None:
    """Tests that at T = IS = 50, N = 100, C = 1 the locality is .39499."""
    assert float(goodness_of_locality(100, 50, 50)) == pytest.approx(0.39499, abs=5e-6)


def test_stirling_numbers_obey_their_recurrence() -> None:
    """Tests S(n, k) = k S(n - 1, k) + S(n - 1, k - 1)."""
    for items, boxes in product(range(1, 9), range(1, 9)):
        assert stirling2(items, boxes) == boxes * stirling2(items - 1, boxes) + stirling2(items - 1, boxes - 1)


@pytest.mark.parametrize("numbers", [(0, 0, 1, 1), (2, 3, 1, 1), (2, 1, -1, 1), (2, 1, 1, 0), (2, 0, 1, 0)])
def test_impossible_numbers_are_refused(numbers: tuple[int, int, int, int]) -> None:
    """Tests that sizes which do not exist raise ValueError with all of them named."""
    nodes, idle, tasks, slots = numbers
    with pytest.raises(ValueError, match=f"nodes={nodes}"):
        expected_local_tasks(nodes, idle, tasks, slots)
    if slots == 1:
        with pytest.raises(ValueError, match=f"nodes={nodes}, slots=1, idle={idle}, tasks={tasks}: give at least"):
            local_task_distribution(nodes, idle, tasks)


def test_one_task() -> None:
    """Tests that the share of one task is the chance that its node is idle."""
    assert goodness_of_locality(4, 3, 1) == Fraction(3, 4)


def test_no_task_has_no_share() -> None:
    """Tests that the goodness of no tasks is refused."""
    with pytest.raises(ValueError, match="no tasks"):
        goodness_of_locality(2, 1, 0)
