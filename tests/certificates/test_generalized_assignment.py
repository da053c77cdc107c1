"""Prices of capacities: any bound, the checker recomputes it, and no seeded fault is believed."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from generalized_assignment_instances import ODD, SMALL, enumerated, posed, problems
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched.certificates import certify, generalized_assignment_certificate, proved_bound
from optsched.errors import CertificateInvalid
from optsched.problems import GeneralizedAssignment
from optsched.results import Certificate, Limit, Proof, Termination
from optsched.routes import solve


def test_prices_prove_no_more_than_is_true() -> None:
    """Tests prices by hand, rounding to a whole cost, and that negative prices count as none."""
    assert SMALL.price_bound(np.array([[0, 0]]), 1) == 3
    assert SMALL.price_bound(np.array([[3, 0]]), 1) == 6
    assert ODD.price_bound(np.array([[3, 0]]), 2) == 5
    assert ODD.price_bound(np.array([[-3, 0]]), 2) == 0
    huge = posed([[2.0**50, 2.0**51]], {"weight": [[1, 1]]}, {"weight": [1, 1]})
    assert huge.price_bound(np.array([[2**52, 0]]), 2**20) == 2**50


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({"prices": {}, "scale": 0}, "scale: must be above 0, not 0"),
        ({"prices": {}}, "scale: must be an integer"),
        ({"scale": 1}, "prices: must be an object"),
        ({"prices": {"disk": {}}, "scale": 1}, 'there is no resource "disk"'),
        ({"prices": {"weight": []}, "scale": 1}, "weight: must be an object"),
        ({"prices": {"weight": {"n7": 1}}, "scale": 1}, 'prices.weight: there is no node "n7"'),
        ({"prices": {"weight": {"n0": 0.5}}, "scale": 1}, "n0: must be an integer"),
    ],
)
def test_malformed_certificates(data: dict[str, Any], told: str) -> None:
    """Tests that certificates of a wrong form are told, each with its place."""
    with pytest.raises(CertificateInvalid, match=re.escape(told)):
        proved_bound(SMALL, Certificate("cost", Proof.DUAL, 6, data))


@pytest.mark.parametrize("sense", ["min", "max"])
def test_false_claims(sense: str) -> None:
    """Tests that a claim beyond what the prices prove is false, in either sense, and one within it is not."""
    problem = posed([[1, 4], [2, 9]], {"weight": [[2, 2], [2, 2]]}, {"weight": [3, 3]}, sense=sense)
    solution = solve(problem)
    assert solution.objective is not None
    beyond = 1 if sense == "min" else -1
    certificate = generalized_assignment_certificate(problem, np.zeros((1, 2), dtype=np.int64), 1)
    assert proved_bound(problem, certificate) == certificate.claim
    for claim, valid in ((certificate.claim, True), (certificate.claim + beyond, False)):
        weak = replace(
            solution,
            bound=(claim,),
            certificates=(replace(certificate, claim=claim),),
            termination=Termination.FEASIBLE,
            limit=Limit.GAP,
        )
        assert certify(problem, weak).valid == valid


@given(problems(), st.data())
@settings(max_examples=100)
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
