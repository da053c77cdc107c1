"""Instances that the contract suite makes of others: each is changed as it says, and in nothing else."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from small_problems import NAMES, small_problem

from optsched.core.registry import Scaling
from optsched.instances.files import to_document
from optsched.problems import AnyProblem
from optsched.testing.cases import every_decision
from optsched.testing.changes import emptied, limitless, permuted, scaled, scarce, starved

PLACING = [name for name in NAMES if name != "min-cost-flow"]


def document_of(problem: AnyProblem) -> Any:
    """The document of a problem's instance."""
    return to_document(problem.instance)


def by_ids(document: Any) -> Any:
    """What a document says, whatever its order: records and matrices by the ids of their rows and columns."""
    nodes, tasks = ([record["id"] for record in document.get(part, [])] for part in ("nodes", "tasks"))

    def pairs(matrix: Any, rows: list[str]) -> dict[tuple[str, str], Any]:
        return {(row, node): matrix[at][to] for at, row in enumerate(rows) for to, node in enumerate(nodes)}

    said = {
        part: sorted(json.dumps(record, sort_keys=True) for record in document.get(part, []))
        for part in ("nodes", "tasks", "arcs", "jobs", "groups")
    }
    said |= {form: pairs(document["topology"][form], nodes) for form in document.get("topology", {}) if form != "hops"}
    for name, matrix in document.get("pairs", {}).items():
        held = matrix if isinstance(matrix, dict) else {"": matrix}
        said |= {f"{name} {resource}": pairs(rows, tasks) for resource, rows in held.items()}
    return said


@pytest.mark.parametrize("name", NAMES)
def test_another_order_says_the_same(name: str) -> None:
    """Tests that records and matrices say the same of the same ids in another order, and parts that are kept stay."""
    problem = small_problem(name, 3)
    before = document_of(problem)
    orders = set()
    for seed in range(4):
        after = document_of(permuted(problem, np.random.default_rng(seed), kept={"tasks"}))
        assert by_ids(after) == by_ids(before)
        assert [task["id"] for task in after.get("tasks", [])] == [task["id"] for task in before.get("tasks", [])]
        orders.add(tuple(node["id"] for node in after["nodes"]))
    assert len(orders) > 1
    assert document_of(problem) == before


def test_units_are_decimals() -> None:
    """Tests that what is written is multiplied as the decimal that it is: a tenth ten times is 1, in field and list."""
    problem = small_problem("flow", 3)
    law = Scaling((0,), {"nodes": ("rate_in",)}, ("f_c",))
    tenth = scaled(problem, law, Fraction(1, 10))
    rates = [node["rate_in"] for node in document_of(problem)["nodes"]]
    assert [node["rate_in"] for node in document_of(tenth)["nodes"]] == [
        float(Fraction(str(rate)) / 10) if Fraction(str(rate)) / 10 % 1 else rate // 10 for rate in rates
    ]
    assert document_of(scaled(tenth, law, Fraction(10))) == document_of(problem)
    assert scaled(tenth, law, Fraction(10)).parameters == problem.parameters


@pytest.mark.parametrize("name", PLACING)
def test_nothing_to_place(name: str) -> None:
    """Tests that without tasks, and with all of them finished, nothing is to be decided."""
    found = emptied(small_problem(name, 3))
    assert found
    assert all(len(problem.tasks) == 0 for problem in found)


@pytest.mark.parametrize("name", PLACING)
def test_no_room(name: str) -> None:
    """Tests that no slot is idle and no capacity is left, on any node."""
    instance = starved(small_problem(name, 3)).instance
    assert not instance.state.idle_slots.any()
    assert not instance.state.idle_reduce_slots.any()
    assert not any(np.nan_to_num(held).any() for held in instance.cluster.capacity.values())


def test_nothing_feasible_though_nothing_shows_it() -> None:
    """Tests that too little room is found of which only trying all decisions tells that nothing fits."""
    found = list(scarce(small_problem("generalized-assignment", 3)))
    assert found
    for problem in found:
        assert problem.plainly_infeasible is None
        assert all(map(problem.violations, every_decision(problem)))


def test_networks_without_room_and_without_a_limit() -> None:
    """Tests that a node which nothing leaves has a unit to send, and that paying arcs there and back have no limit."""
    problem = small_problem("min-cost-flow", 3)
    arcs, nodes = problem.instance.arcs, len(problem.instance)
    (bare,) = emptied(problem)
    assert (bare.instance.arcs, bare.instance.supply.any()) == (0, False)
    stuck = starved(problem).instance
    assert (len(stuck), stuck.supply[-1], stuck.supply.sum()) == (nodes + 1, 1, 0)
    assert nodes not in {*stuck.tail.tolist(), *stuck.head.tolist()}
    added = limitless(problem).instance
    assert added.arcs == arcs + 2
    assert added.cost[arcs:].tolist() == [-1, -1]
    assert (added.tail[arcs], added.head[arcs]) == (added.head[arcs + 1], added.tail[arcs + 1])
