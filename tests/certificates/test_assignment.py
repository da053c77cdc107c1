"""Prices of assignment problems: corrupted ones are told, and none prove more than the optimum."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from proved_solutions import LSAP, SOLVED, with_data
from strategies import problems

from optsched.certificates import certify, proved_bound
from optsched.core.errors import CertificateInvalid
from optsched.core.instance import Cluster, Instance, Workload
from optsched.core.results import Certificate, Proof
from optsched.problems import FairLsap, Flow
from optsched.problems.assignment import AssignmentProblem
from optsched.routes import solve
from optsched.searches.enumeration import best_placement


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"task_price": None}, "task_price: must be an integer up to 2^53, not None"),
        ({"task_price": True}, "task_price: must be an integer up to 2^53, not True"),
        ({"task_price": 1.0}, "task_price: must be an integer up to 2^53, not 1.0"),
        ({"task_price": 2**53 + 1}, "task_price: must be an integer"),
        ({"node_prices": [1, 0, 0]}, "node_prices: must be an object, not [1, 0, 0]"),
        ({"node_prices": None}, "node_prices: must be an object, not None"),
        ({"node_prices": {"z": 1}}, 'node_prices: there is no node "z"'),
        ({"node_prices": {"a": "1"}}, "a: must be an integer up to 2^53, not '1'"),
        ({"pool_prices": 3}, "pool_prices: must be an object, not 3"),
        ({"pool_prices": {"some": 1}}, 'pool_prices: there is no pool "some"'),
        ({"pool_prices": {"all": None}}, "all: must be an integer up to 2^53, not None"),
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


def test_every_assignment_problem_has_its_own_pools() -> None:
    """Tests that prices of `fair-lsap` and `flow`, in units of the grid, are proved, and changed ones prove no more."""
    workload = Workload(
        ["t1", "t2"],
        job=[0, 1],
        job_ids=["i", "j"],
        job_group=[0, 1],
        group_ids=["g", "h"],
        group_weight=[1, 1],
        rate_in=[3.0, 16.0],
    )
    cluster = Cluster(["a"], slots=[2], rate_in=[85])
    instance = Instance.initial(cluster, workload, idle_slots=[1], group_running_tasks=[1, 0])
    for problem in (FairLsap(instance), FairLsap(instance, selection="free"), Flow(instance)):
        solution = solve(problem)
        assert certify(problem, solution).proved
        data = solution.certificates[0].data
        assert data["unit"] == "1/1048576"
        other = with_data(solution, problem.components[0].name, task_price=data["task_price"] + 1, pool_prices={})
        value = proved_bound(problem, other.certificates[0])
        assert value <= solution.bound[0]  # type: ignore[operator]
    assert np.array_equal(Flow(instance).idle_nodes, [0])
