"""Trees as certificates of `transmission`: what they prove, and seeded faults."""

from __future__ import annotations

import copy
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from transmission_instances import example

from optsched.certificates import certify, proved_bound
from optsched.certificates.transmission import transmission_certificate
from optsched.core.errors import CertificateInvalid
from optsched.core.results import Solution
from optsched.problems.transmission import Transmission
from optsched.problems.transmission_bounds import Branching, ReduceBounds, ReduceCharges
from optsched.routes import solve


def tree(solution: Solution) -> Any:
    """A copy of the data of its certificate."""
    return copy.deepcopy(dict(solution.certificates[0].data))


def test_seeded_faults() -> None:
    """Tests that a tree with a state left out proves less, and that data which means nothing is refused."""
    problem = Transmission(example())
    solution = solve(problem)
    bounds = ReduceBounds(problem)
    nothing = transmission_certificate(bounds, Branching(np.arange(2), {}, None), 80)
    assert proved_bound(problem, nothing) < 80
    claimed = replace(solution, bound=(81,), certificates=(replace(solution.certificates[0], claim=81),))
    assert not certify(problem, claimed).valid
    wrong: list[tuple[str, Any, str]] = [
        ("order", "R1", "order: must be a list, not 'R1'"),
        ("order", ["R1", "R1"], "order: must name every pending reduce once"),
        ("order", ["R1", 3], "order: must name every pending reduce once"),
        ("order", ["R1", "R2", "R9"], "order: must name every pending reduce once"),
        ("states", None, "states: must be a list, not None"),
        ("states", ["R1"], "states: must hold objects, not 'R1'"),
        ("states", [{"on": ["D9"], "prices": []}], "on: there is no node 'D9'"),
        ("states", [{"on": [["D1"]], "prices": []}], "on: there is no node ['D1']"),
        ("states", [{"on": [], "prices": [3]}], "prices: must hold objects, not 3"),
        (
            "states",
            [{"on": [], "prices": [{"nodes": {"D9": 1}, "unplaced": 0}]}],
            'prices.nodes: there is no node "D9"',
        ),
        ("states", [{"on": [], "prices": [{"nodes": {}, "unplaced": 0.5}]}], "unplaced: must be an integer"),
        ("charges", {"nodes": {}, "unplaced": 0, "jobs": {"J9": {}}}, 'charges.jobs: there is no job "J9"'),
        ("charges", {"nodes": {"D9": 1}, "unplaced": 0, "jobs": {}}, 'charges.nodes: there is no node "D9"'),
        ("charges", {"nodes": {}, "unplaced": 0, "jobs": {"J": {"D9": 1}}}, 'charges.jobs.J: there is no node "D9"'),
        ("charges", 3, "charges: must be an object"),
    ]
    for key, value, told in wrong:
        data = {**tree(solution), key: value}
        with pytest.raises(CertificateInvalid, match="^" + re.escape(told)):
            proved_bound(problem, replace(solution.certificates[0], data=data))


def test_charges_of_jobs_are_read_back() -> None:
    """Tests that prices of a job's places, negative ones and large ones too, are read and prove no more than 80."""
    problem = Transmission(example())
    solution = solve(problem)
    for price in (-3, 0, 5, 2**53):
        charges = {"nodes": {"D1": price}, "unplaced": price, "jobs": {"J": {"D2": price}}}
        certificate = replace(solution.certificates[0], data={**tree(solution), "charges": charges})
        assert proved_bound(problem, certificate) == 80


def test_every_price_and_charge_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a tree whose prices and charges all differ, the last node's among them, is read as it was written."""
    problem = Transmission(example())
    bounds, found = ReduceBounds(problem), []
    nodes, jobs = len(problem.instance.cluster), len(problem.instance.workload.job_ids)
    places = np.vstack([10 + np.arange(jobs * nodes).reshape(jobs, nodes), np.zeros((1, nodes))]).astype(np.int64)
    charges = ReduceCharges(np.arange(1, nodes + 2), places)
    prices = np.arange(20, 20 + len(bounds.free))
    written = transmission_certificate(bounds, Branching(np.array([1, 0]), {(): [prices]}, charges), 80)
    monkeypatch.setattr(ReduceBounds, "proved", lambda self, branching, claim: found.append(branching) or 0)
    proved_bound(problem, written)
    assert found[0].order.tolist() == [1, 0]
    assert [[given.tolist() for given in some] for some in found[0].states.values()] == [[prices.tolist()]]
    assert found[0].charges.slots.tolist() == charges.slots.tolist()
    assert found[0].charges.places.tolist() == places.tolist()
