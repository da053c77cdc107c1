"""Prices of reduces and nodes: the checker recomputes what they prove (the contract seeds faults)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transmission_instances import posed, problems

from optsched.certificates import proved_bound
from optsched.certificates.transmission_reduces import transmission_reduces_certificate
from optsched.core.errors import CertificateInvalid
from optsched.core.results import Certificate, Proof
from optsched.problems import Problem
from optsched.problems.transmission_reduces import TransmissionReduces
from optsched.routes import solve
from optsched.searches.enumeration import best_placement


def test_prices_prove_no_more_than_is_true() -> None:
    """Tests prices by hand, that negative ones count as none, and those of jobs that the rule does not limit."""
    problem = posed([1.0, 2.0], [2, 1], matrix=[[0.0, 4.0], [4.0, 0.0]])
    nodes, pairs = np.zeros(2, dtype=np.int64), np.zeros((3, 2), dtype=np.int64)
    assert problem.price_bound(0, nodes, pairs) == 0
    assert problem.price_bound(4, nodes, pairs) == 0
    pairs[0, 0] = 4
    assert problem.price_bound(4, nodes, pairs) == 4  # the optimum: r1 where the map is, r0 at 4
    assert problem.price_bound(4, nodes - 9, pairs) == 4
    pairs[2] = 100
    assert problem.price_bound(4, nodes, pairs) == 4
    free = posed([1.0, 2.0], [2, 1], matrix=[[0.0, 4.0], [4.0, 0.0]], distinct=False)
    assert free.price_bound(4, nodes, pairs) == 0
    assert posed([1.0], [0, 0]).price_bound(9, nodes, pairs) == 0


@given(problems("transmission-reduces"), st.integers(-9, 40), st.randoms(use_true_random=False))
def test_any_prices_give_a_bound(problem: Problem, count: int, random: Any) -> None:
    """Tests that whatever the prices, no feasible placement costs less than what they prove."""
    assert isinstance(problem, TransmissionReduces)
    nodes = np.array([random.randint(-3, 20) for _ in problem.capacity])
    pairs = np.array([[random.randint(-3, 20) for _ in row] for row in problem.barred])
    bound = problem.price_bound(count * problem.grid, nodes * problem.grid, pairs * problem.grid)
    best = best_placement(problem)
    assert best is not None
    assert Fraction(bound, problem.grid) <= best[0][0]


def test_certificate_holds_prices_by_id() -> None:
    """Tests what a certificate holds, and that the checker recomputes its claim from that alone."""
    problem = posed([1.0, 2.0], [2, 1], matrix=[[0.0, 4.0], [4.0, 0.0]])
    pairs = np.array([[4, 0], [0, 0], [0, 0]])
    certificate = transmission_reduces_certificate(problem, 4, np.array([0, 1]), pairs)
    assert certificate.data == {"task_price": 4, "node_prices": {"n1": 1}, "job_prices": {"j0": {"n0": 4}}, "unit": "1"}
    assert proved_bound(problem, certificate) == certificate.claim == problem.price_bound(4, np.array([0, 1]), pairs)
    half = posed([0.5], [0, 1], matrix=[[0.0, 4.0], [4.0, 0.0]])
    assert solve(half).certificates[0].data["unit"] == "1/2"


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({}, "task_price: must be an integer"),
        ({"task_price": 1}, "node_prices: must be an object"),
        ({"task_price": 1, "node_prices": {"x": 1}}, 'node_prices: there is no node "x"'),
        ({"task_price": 1, "node_prices": {}, "job_prices": 3}, "job_prices: must be an object"),
        ({"task_price": 1, "node_prices": {}, "job_prices": {"x": {}}}, 'job_prices: there is no job "x"'),
        ({"task_price": 1, "node_prices": {}, "job_prices": {"j1": 2}}, "j1: must be an object"),
        ({"task_price": 1, "node_prices": {}, "job_prices": {"j1": {"x": 2}}}, 'job_prices.j1: there is no node "x"'),
        ({"task_price": 1, "node_prices": {}, "job_prices": {"j1": {"n0": 0.5}}}, "n0: must be an integer"),
    ],
)
def test_certificates_that_are_none(data: dict[str, Any], told: str) -> None:
    """Tests that every part of a certificate's data is looked at."""
    with pytest.raises(CertificateInvalid, match=told):
        proved_bound(posed([1.0], [1]), Certificate("transmission-cost", Proof.DUAL, 0, data))
