"""Prices of capacities: any bound, and the checker recomputes it (the contract seeds faults)."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_problems import ODD, enumerated
from small_problems import ONE_PLACE as SMALL
from small_problems import generalized_assignment as posed
from strategies import problems

from optsched.certificates import capacity_tree_certificate, generalized_assignment_certificate, proved_bound
from optsched.certificates.trees import Branch, Step, Tree
from optsched.core.errors import CertificateInvalid
from optsched.core.results import Proof
from optsched.problems import GeneralizedAssignment


def test_prices_prove_no_more_than_is_true() -> None:
    """Tests prices by hand, rounding to a whole cost, and that negative prices count as none."""
    assert SMALL.price_bound(np.array([[0, 0]]), 1) == 3
    assert SMALL.price_bound(np.array([[3, 0]]), 1) == 6
    assert ODD.price_bound(np.array([[3, 0]]), 2) == 5
    assert ODD.price_bound(np.array([[-3, 0]]), 2) == 0
    huge = posed([[2.0**50, 2.0**51]], {"weight": [[1, 1]]}, {"weight": [1, 1]})
    assert huge.price_bound(np.array([[2**52, 0]]), 2**20) == 2**50


@given(problems("generalized-assignment"), st.data())
@settings(max_examples=50)
def test_any_prices_bound(problem: GeneralizedAssignment, data: st.DataObject) -> None:
    """Tests weak duality: whatever the prices and their scale, the bound is not beyond the enumerated optimum."""
    best = enumerated(problem)
    entry = st.integers(-3, 9)
    shape = problem.capacity.shape
    prices = np.array(data.draw(st.lists(entry, min_size=shape[0] * shape[1], max_size=shape[0] * shape[1])))
    certificate = generalized_assignment_certificate(
        problem, prices.astype(np.int64).reshape(shape), data.draw(st.sampled_from([1, 3, 2**20]))
    )
    if best is not None:
        assert problem.minimised((certificate.claim,)) <= problem.minimised(best)


#: A tree over `ODD`, whose optimum is 6: prices of places that settle it, and such as leave it open.
PRICES = [np.array([1, 3, 3, 3, 0, 0]), np.array([1, 1, 1, 1, 0, 0])]
GROWN = Tree(PRICES, [Step((1,), Branch(0, 0)), Step((0,)), Step((0,))])


def test_a_tree_is_written_and_proved() -> None:
    """Tests what a tree is as data, by the ids of the instance, what it proves, and that less is proved by less."""
    certificate = capacity_tree_certificate(ODD, GROWN, 6)
    assert (certificate.claim, certificate.kind) == (6, Proof.COMBINATORIAL)
    of_tasks = {"t0": 3, "t1": 3, "t2": 3}
    assert certificate.data["multipliers"][0] == {"scale": 1, "task_prices": of_tasks, "prices": {"weight": {}}}
    assert certificate.data["steps"] == [{"by": [1], "branch": ["t0", "n0"], "at": 0}, {"by": [0]}, {"by": [0]}]
    assert proved_bound(ODD, certificate) == 6
    weak = capacity_tree_certificate(ODD, Tree(PRICES, [Step((1,))]), 6)
    assert proved_bound(ODD, weak) == 2
    assert proved_bound(ODD, replace(certificate, claim=10**30)) == 6
    most = posed([[1, 4], [2, 9]], {"weight": [[2, 2], [2, 2]]}, {"weight": [3, 3]}, sense="max")
    tree = Tree([np.array([1, -1, -6, 0, 0])], [Step((0,))])
    assert proved_bound(most, capacity_tree_certificate(most, tree, -10)) == 10


@pytest.mark.parametrize(
    ("kind", "changed", "message"),
    [
        ("dual", {"prices": {}, "scale": 0}, "scale: must be above 0, not 0"),
        ("dual", {"prices": {"disk": {}}, "scale": 1}, 'there is no resource "disk"'),
        ("dual", {"prices": {"weight": []}, "scale": 1}, "weight: must be an object"),
        ("dual", {"prices": {"weight": {"n7": 1}}, "scale": 1}, 'prices.weight: there is no node "n7"'),
        (
            "combinatorial",
            {"steps": [{"by": [0], "branch": ["t9", "n0"], "at": 0}]},
            "there is no task 't9' with a node 'n0'",
        ),
        (
            "combinatorial",
            {"steps": [{"by": [0], "branch": ["t0", "n9"], "at": 0}]},
            "there is no task 't0' with a node 'n9'",
        ),
        ("combinatorial", {"steps": [{"by": [0], "branch": [0, 0], "at": 0}]}, "must be a task and a node"),
        ("combinatorial", {"steps": [{"by": [0], "branch": "t0", "at": 0}]}, "must be a task and a node"),
        ("combinatorial", {"multipliers": [{"scale": 1, "prices": {}}] * 2}, "task_prices: must be an object"),
        (
            "combinatorial",
            {"multipliers": [{"scale": 1, "task_prices": {"t9": 1}, "prices": {}}] * 2},
            'there is no task "t9"',
        ),
        (
            "combinatorial",
            {"multipliers": [{"scale": 1, "task_prices": {}, "prices": {"d": {}}}] * 2},
            'there is no resource "d"',
        ),
    ],
)
def test_malformed_certificates(kind: str, changed: dict[str, Any], message: str) -> None:
    """Tests that each part of prices, or of a tree, that is not as it must be is reported with its place."""
    certificate = capacity_tree_certificate(ODD, GROWN, 6)
    data = {**certificate.data, **changed} if kind == "combinatorial" else changed
    with pytest.raises(CertificateInvalid, match=re.escape(message)):
        proved_bound(ODD, replace(certificate, kind=Proof(kind), data=data))
