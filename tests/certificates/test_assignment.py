"""Prices of assignment problems: corrupted ones are reported, none prove more than the optimum, and each is needed."""

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_problems import FAIRNESS as SMALL
from solutions import LSAP, SOLVED, with_data
from strategies import problems

from optsched.certificates import certify, proved_bound
from optsched.core.errors import CertificateInvalid
from optsched.core.instance import Cluster, Instance, Ragged, Workload
from optsched.core.results import Certificate, Proof
from optsched.instances.claim_files import read_solution, write_claim
from optsched.problems import LsapFairness
from optsched.problems.assignment import AssignmentProblem
from optsched.routes import frontier, solve
from optsched.solvers.searches.enumeration import best_placement


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"task_price": None}, "task_price: must be an integer up to 2^53, not None"),
        ({"node_prices": [1, 0, 0]}, "node_prices: must be an object, not [1, 0, 0]"),
        ({"node_prices": {"z": 1}}, 'node_prices: there is no node "z"'),
        ({"pool_prices": 3}, "pool_prices: must be an object, not 3"),
        ({"pool_prices": {"some": 1}}, 'pool_prices: there is no pool "some"'),
        ({"task_price": 0}, "proves -2, claimed 1"),
        ({"node_prices": {"a": 0}}, "proves 0, claimed 1"),
        ({"node_prices": {"a": 2}}, "proves -1, claimed 1"),
        ({"node_prices": {"a": 1, "b": 1}}, "proves 0, claimed 1"),
        ({"pool_prices": {"all": 1}}, "proves -2, claimed 1"),
    ],
)
def test_corrupted_prices(data: dict[str, Any], message: str) -> None:
    """Tests that each malformed or changed price is caught, and what is said."""
    assert SOLVED["lsap"].certificates[0].data["task_price"] == 1
    assert SOLVED["lsap"].certificates[0].data["node_prices"] == {"a": 1}
    verdict = certify(LSAP, with_data(SOLVED["lsap"], "locality-cost", **data))
    with pytest.raises(CertificateInvalid, match="^" + re.escape(f"dual proof of locality-cost: {message}")):
        verdict.raise_if_invalid()


def test_harmless_prices() -> None:
    """Tests that a price on a node without idle slots, or below 0, and a dearer task where all run, change no proof."""
    assert certify(LSAP, with_data(SOLVED["lsap"], "locality-cost", task_price=2)).proved
    solution = with_data(SOLVED["lsap"], "locality-cost", node_prices={"a": 1, "b": -7, "c": 9})
    assert certify(LSAP, solution).proved


@given(st.sampled_from(["lsap", "fair-lsap", "flow"]).flatmap(problems), st.data())
@pytest.mark.filterwarnings("ignore::optsched.problems.fair_lsap.RationRuleWarning")
def test_no_prices_prove_more_than_the_optimum(problem: AssignmentProblem, data: st.DataObject) -> None:
    """Tests weak duality: whatever the prices, what they prove is at most the enumerated optimum."""
    best = best_placement(problem)[0]
    unit = max(problem.grid // 2, 1)
    price = st.integers(-4 * unit, 400 * unit)
    prices = {
        "task_price": data.draw(price),
        "node_prices": {str(node): data.draw(price) for node in problem.instance.cluster.node_ids},
        "pool_prices": {pool.name: data.draw(price) for pool in problem.pools},
    }
    certificate = Certificate(problem.components[0].name, Proof.DUAL, 0, prices)
    assert proved_bound(problem, certificate) <= best[0]


@pytest.mark.parametrize("weights", [np.random.default_rng(0).uniform(0.1, 1, 100), [1, 1e-300, 0.3]])
def test_bug_prices_and_values_were_written_that_no_reader_takes(tmp_path: Path, weights: Any) -> None:
    """Tests that shares of many weights, and of tiny ones, come back from both kinds of files and certify there.

    A hundred weights of 16 digits take fractions of 1,400 digits, a tiny weight prices of 301 digits.
    """
    groups = len(weights)
    workload = Workload(
        [f"t{row}" for row in range(groups)],
        replicas=Ragged.from_rows([[row % 2] for row in range(groups)]),
        job=np.arange(groups),
        job_ids=[f"j{row}" for row in range(groups)],
        job_group=list(range(groups)),
        group_ids=[f"g{row}" for row in range(groups)],
        group_weight=weights,
    )
    running = {"group_running_tasks": [row % 3 for row in range(groups)]}
    instance = Instance.initial(Cluster(["a", "b"], slots=[groups // 3 + 1] * 2), workload, **running)
    problem = LsapFairness(instance, distance="relative")
    solution = solve(problem)
    for suffix in (".json", ".npz"):
        path = tmp_path / f"solution{suffix}"
        write_claim(solution, instance, path)
        again = read_solution(path, instance)
        assert again.objective == solution.objective
        assert certify(problem, again).proved


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"locality_cost": 1}, "a proof for up to 1 tasks off their data does not apply to this placement"),
        ({"locality_cost": 2.0}, "locality_cost: must be an integer"),
        ({"task_price": "1.5"}, "task_price: must be an integer or a fraction \"p/q\", not '1.5'"),
        ({"node_prices": {"Z": 1}}, 'node_prices: there is no node "Z"'),
        ({"group_prices": {"g9": 1}}, 'group_prices: there is no group "g9"'),
        ({"group_prices": {"g1": "x"}}, "g1: must be an integer or a fraction"),
    ],
)
def test_faulty_certificates(changes: dict[str, Any], message: str) -> None:
    """Tests that data that is not what the proof needs is reported."""
    point = frontier(SMALL)[2]
    certificate = replace(point.certificates[1], data={**point.certificates[1].data, **changes})
    with pytest.raises(CertificateInvalid) as caught:
        proved_bound(SMALL, certificate, point.objective)
    assert message in str(caught.value)


def test_a_proof_needs_its_placement() -> None:
    """Tests that a distance is proved within a locality cost only."""
    with pytest.raises(CertificateInvalid, match="does not apply to this placement"):
        proved_bound(SMALL, frontier(SMALL)[0].certificates[1])


@pytest.mark.parametrize("key", ["locality_price", "task_price", "node_prices", "group_prices"])
def test_changed_prices_prove_less(key: str) -> None:
    """Tests that each of the prices is needed: without it a true claim is caught."""
    point = frontier(SMALL)[1]
    certificate = point.certificates[1]
    other = {"node_prices": {"A": 1, "B": 1}} if key == "node_prices" else {key: {} if key == "group_prices" else 0}
    changed = replace(certificate, data={**certificate.data, **other})
    assert proved_bound(SMALL, changed, point.objective) < certificate.claim
    solution = replace(
        solve(SMALL), certificates=(solve(SMALL).certificates[0], replace(changed, claim=Fraction(11, 30)))
    )
    assert not certify(SMALL, solution).valid
