"""Trees, and prices of reduces and nodes, as certificates: what they prove, and seeded faults."""

import copy
import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transmission_instances import example, posed, problems

from optsched.certificates import certify, proved_bound
from optsched.certificates.transmission import transmission_certificate, transmission_reduces_certificate
from optsched.core.errors import CertificateInvalid
from optsched.core.results import Certificate, Proof, Solution
from optsched.problems import Problem
from optsched.problems.transmission import Transmission
from optsched.problems.transmission_bounds import Branching, ReduceBounds
from optsched.problems.transmission_reduces import TransmissionReduces
from optsched.routes import solve
from optsched.solvers.searches.enumeration import best_placement


def tree(solution: Solution) -> Any:
    """A copy of the data of its certificate."""
    return copy.deepcopy(dict(solution.certificates[0].data))


def test_seeded_faults() -> None:
    """Tests that a tree with a state left out proves less, and that data which means nothing is refused."""
    problem = Transmission(example())
    solution = solve(problem)
    bounds = ReduceBounds(problem)
    nothing = transmission_certificate(bounds, Branching(np.arange(2), {}), 80)
    assert proved_bound(problem, nothing) < 80
    claimed = replace(solution, bound=(81,), certificates=(replace(solution.certificates[0], claim=81),))
    assert not certify(problem, claimed).valid
    no_node = 'there is no node "D9"'
    wrong: list[tuple[str, Any, str]] = [
        ("order", "R1", "order: must be a list, not 'R1'"),
        ("order", ["R1", "R1"], "order: must name every pending reduce once"),
        ("order", ["R1", "R2", "R9"], "order: must name every pending reduce once"),
        ("states", None, "states: must be a list, not None"),
        ("states", [{"on": ["D9"], "prices": []}], "on: there is no node 'D9'"),
        ("states", [{"on": [["D1"]], "prices": []}], "on: there is no node ['D1']"),
        ("states", [{"on": [], "prices": [{"nodes": {"D9": 1}, "unplaced": 0}]}], f"prices.nodes: {no_node}"),
    ]
    for key, value, message in wrong:
        data = {**tree(solution), key: value}
        with pytest.raises(CertificateInvalid, match="^" + re.escape(message)):
            proved_bound(problem, replace(solution.certificates[0], data=data))


def test_every_price_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a tree whose prices all differ, the last node's among them, is read as it was written."""
    problem = Transmission(example())
    bounds, found = ReduceBounds(problem), []
    prices = np.arange(20, 20 + len(bounds.free))
    written = transmission_certificate(bounds, Branching(np.array([1, 0]), {(): [prices], (2,): [prices + 9]}), 80)
    monkeypatch.setattr(ReduceBounds, "proved", lambda self, branching, claim: found.append(branching) or 0)
    proved_bound(problem, written)
    assert found[0].order.tolist() == [1, 0]
    states = {state: [given.tolist() for given in some] for state, some in found[0].states.items()}
    assert states == {(): [prices.tolist()], (2,): [(prices + 9).tolist()]}


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
    ("data", "message"),
    [
        ({}, "task_price: must be an integer"),
        ({"task_price": 1}, "node_prices: must be an object"),
        ({"task_price": 1, "node_prices": {"x": 1}}, 'node_prices: there is no node "x"'),
        ({"task_price": 1, "node_prices": {}, "job_prices": {"x": {}}}, 'job_prices: there is no job "x"'),
        ({"task_price": 1, "node_prices": {}, "job_prices": {"j1": 2}}, "j1: must be an object"),
        ({"task_price": 1, "node_prices": {}, "job_prices": {"j1": {"x": 2}}}, 'job_prices.j1: there is no node "x"'),
    ],
)
def test_certificates_that_are_none(data: dict[str, Any], message: str) -> None:
    """Tests that every part of a certificate's data is looked at."""
    with pytest.raises(CertificateInvalid, match=message):
        proved_bound(posed([1.0], [1]), Certificate("transmission-cost", Proof.DUAL, 0, data))
