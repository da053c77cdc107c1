"""Guo et al.'s closed forms, as our notes correct them, against enumeration of every case."""

from collections import Counter
from fractions import Fraction
from itertools import combinations, product
from math import comb, factorial

import pytest
from oracles.locality_theory import expected_local_tasks


def stirling2(items: int, boxes: int) -> int:
    """Ways to part items into non-empty boxes that nothing tells apart."""
    onto = sum((-1) ** (boxes - used) * comb(boxes, used) * used**items for used in range(boxes + 1))
    return onto // factorial(boxes)


def distribution(nodes: int, idle: int, tasks: int) -> list[Fraction]:
    """p(k, T): Guo et al. 2012, equation 2, with the factor k! that the paper's words leave out (note 2)."""
    found = []
    for local in range(min(tasks, idle) + 1):
        of_near = [
            comb(tasks, near) * stirling2(near, local) * (nodes - idle) ** (tasks - near)
            for near in range(local, tasks + 1)
        ]
        found.append(Fraction(comb(idle, local) * factorial(local) * sum(of_near), nodes**tasks))
    return found


@pytest.mark.parametrize(("nodes", "tasks"), [(nodes, tasks) for nodes in range(1, 6) for tasks in range(6)])
def test_distribution_equals_enumeration(nodes: int, tasks: int) -> None:
    """Tests that p(k, T) counts exactly the cases in which k of T tasks find an idle slot with their data; its mean."""
    for idle in range(nodes + 1):
        # Idle slots are the first ones, as in the paper's argument; a node serves one of the tasks with data on it.
        counts = Counter(len({home for home in homes if home < idle}) for homes in product(range(nodes), repeat=tasks))
        shares = [Fraction(counts[local], nodes**tasks) for local in range(min(tasks, idle) + 1)]
        assert distribution(nodes, idle, tasks) == shares
        assert expected_local_tasks(nodes, idle, tasks) == sum(local * share for local, share in enumerate(shares))


@pytest.mark.parametrize(("nodes", "slots", "tasks"), [(2, 2, 3), (3, 2, 2), (2, 3, 3), (1, 3, 2)])
def test_extension_to_several_slots_equals_the_mean_optimum(nodes: int, slots: int, tasks: int) -> None:
    """Tests that E for S > 1 is the mean of the optimum over all placements of data and idle slots."""
    for idle in range(nodes * slots + 1):
        total = cases = 0
        for free in combinations(range(nodes * slots), idle):
            idle_slots = [sum(1 for slot in free if slot // slots == node) for node in range(nodes)]
            for homes in product(range(nodes), repeat=tasks):
                total += sum(min(idle_slots[node], homes.count(node)) for node in range(nodes))
                cases += 1
        assert expected_local_tasks(nodes, idle, tasks, slots) == Fraction(total, cases)
