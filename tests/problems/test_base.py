"""What all problems share: layers of parameters, missing fields, known nodes and tasks, and exact numbers."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from optsched.core.errors import InputError, UsageError
from optsched.core.instance import FINISHED, MAP, REDUCE, RUNNING, Cluster, Instance, Ragged, Workload
from optsched.core.placement import Placement
from optsched.problems import Latency, Lsap
from optsched.problems.base import GRID, exact, exact_product, expect_problem, on_grid


def simple(parameters: dict[str, Any] | None = None, tasks: int = 2) -> Instance:
    """Tasks with a replica each on the first of two nodes."""
    workload = Workload([f"t{task}" for task in range(tasks)], replicas=Ragged.from_rows([[0]] * tasks))
    return Instance(Cluster(["a", "b"]), workload, name="simple", parameters=parameters or {})


def test_precedence_of_parameters() -> None:
    """Tests that a call beats the instance, which beats the default; the result cannot be changed."""
    own = simple({"lsap": {"levels": [0, 1, 2]}, "flow": {"scale": 1}})
    assert Lsap(simple()).parameters["levels"] == (0, 1, 1)
    assert Lsap(own).parameters["levels"] == (0, 1, 2)
    called = Lsap(own, levels="0:3:4")
    assert called.parameters["levels"] == (0, 3, 4)
    with pytest.raises(TypeError):
        called.parameters["levels"] = (0, 0, 0)  # type: ignore[index]


def test_exact_numbers() -> None:
    """Tests that units are integers where they can be, else fractions, and reals are rounded once, half to even."""
    assert (exact(7), exact(7, 2), exact(8, 4), exact(-3, 6)) == (7, Fraction(7, 2), 2, Fraction(-1, 2))
    assert isinstance(exact(8, 4), int)
    assert on_grid([0.1, 0.5 / GRID, 1.5 / GRID, -1.0]).tolist() == [104858, 0, 2, -GRID]
    assert on_grid([2.0**33, -(2.0**33), 2.0**33 + 1]).tolist() == [2**53, -(2**53), 2**60]


def test_which_tasks_are_placed() -> None:
    """Tests that pending maps are, and no reduces and nothing that runs or is done; indices are the instance's."""
    rows = Ragged.from_rows([[0], [0], [1], [0], [0, 1]])
    workload = Workload(["done", "reduce", "m1", "runs", "m2"], kind=[MAP, REDUCE, MAP, MAP, MAP], replicas=rows)
    state = {"status": [FINISHED, 0, 0, RUNNING, 0], "node": [0, -1, -1, 1, -1]}
    posed = Lsap(Instance.initial(Cluster(["a", "b"]), workload, **state))
    assert posed.tasks.tolist() == [2, 4]
    assert [row.tolist() for row in posed.replicas] == [[1], [0, 1]]
    placement = posed.placement([1, 0])
    assert placement.nodes.tolist() == [-1, -1, 1, -1, 0]
    assert posed.nodes_of(placement).tolist() == [1, 0]
    strangers = posed.violations(Placement.of([0, 1, None, None, None]))
    assert [str(violation) for violation in strangers] == [
        "pending-map(done) by 1",
        "pending-map(reduce) by 1",
        "cardinality: 2 tasks too few placed",
    ]


def test_nonsense_is_told_before_constraints() -> None:
    """Tests that a wrong length and unknown nodes are violations on their own."""
    posed = Lsap(simple())
    for nodes, expected in (
        ([0], ["length by -1"]),
        ([0, 1, 1], ["length by 1"]),
        ([2, -2], ["known-node(t0) by 1", "known-node(t1) by 1"]),
    ):
        assert [str(entry) for entry in posed.violations(Placement.of(nodes))] == expected


def test_infeasible_has_no_value() -> None:
    """Tests that evaluating an infeasible placement is an error that names a violation."""
    posed = Lsap(simple())
    with pytest.raises(ValueError, match=r"an infeasible placement has no value: slots\(a\) by 1"):
        posed.evaluate(posed.placement([0, 0]))
    assert repr(posed) == "<lsap on simple: 2 tasks, 2 nodes>"
    assert np.array_equal(posed.placement([1, -1]).nodes, [1, -1])


def test_parameters_of_no_problem_are_bad_input() -> None:
    """Tests that parameters that come under a misspelt name are told of, not passed over; those of others are."""
    with pytest.raises(InputError, match=r'simple: parameters\.lsapp: there is no such problem; did you mean "lsap"'):
        Lsap(simple({"lsapp": {"levels": [0, 1, 2]}}))
    assert Lsap(simple({"traffic": {"capacities": True}})).parameters["levels"] == (0, 1, 1)


def test_what_a_problem_is_posed_on_and_places() -> None:
    """Tests that anything but an instance is refused by name, and so are nodes that are no indices."""
    with pytest.raises(UsageError, match=r"^lsap is posed on an instance or a flow network"):
        Lsap("papers/guo-fig2")  # type: ignore[arg-type]
    posed = Lsap(simple())
    for wrong in ([0.0, 1.0], [True, False], ["a", "b"], [0]):
        with pytest.raises(UsageError, match="lsap places 2 tasks: give a node index, or -1, for each"):
            posed.placement(wrong)


def test_what_stands_for_a_problem() -> None:
    """Tests that a class is told to be posed, another type is not, and that a long text is not repeated."""
    for given, text in (
        (Lsap, r"pose it on an instance first: Lsap\(instance\)"),
        (int, r'pose one first: optsched\.problem\("lsap", instance\)'),
        ("x" * 60, f'pose one first: optsched.problem."lsap", "{"x" * 60}".$'),
        ("x" * 61, r"; pose one first$"),
    ):
        with pytest.raises(UsageError, match=text):
            expect_problem(given, "solve")


def test_what_a_problem_without_slots_says() -> None:
    """Tests that such a problem offers nothing to policies, wants nothing filled, and is never plainly infeasible."""
    posed = Latency(simple())
    assert (dict(posed.offered), posed.due, posed.plainly_infeasible) == ({}, 0, None)


def test_products_of_columns_are_exact() -> None:
    """Tests that a sum of products is the same by columns and by lists, on either side of what int64 holds."""
    for largest in (3, 2**26, 2**40, 2**62):
        prices, amounts = np.array([-largest, largest, 1]), np.array([1, largest, 7])
        expected = -largest + largest * largest + 7
        assert exact_product(prices, amounts) == exact_product(prices.tolist(), amounts.tolist()) == expected
    assert exact_product(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)) == 0
    assert exact_product(np.array([[1, 2], [3, 4]]), np.array([[5, 6], [7, 8]])) == 70
    assert exact_product(np.array([-(2**63)]), np.array([1])) == -(2**63)
