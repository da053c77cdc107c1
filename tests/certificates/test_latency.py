"""Covers of servers as certificates of `latency`: corrupted ones are reported, and none prove more than the optimum."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_problems import pareto_front
from solutions import LATENCY, SOLVED, with_data
from strategies import problems

from optsched.certificates import Verdict, certify, proved_bound
from optsched.core.arrays import Chosen
from optsched.core.errors import CertificateInvalid
from optsched.core.instance import Cluster, Instance, Ragged, Workload
from optsched.core.results import Certificate, Proof
from optsched.problems import Latency
from optsched.routes import solve


@pytest.mark.parametrize(
    ("component", "data", "message"),
    [
        ("makespan", {"limit": None}, "limit: must be an integer up to 2^53, not None"),
        ("makespan", {"cover": {"s1": 1}}, "cover: must be a list of servers, not {'s1': 1}"),
        ("makespan", {"cover": ["s9"]}, "cover: there is no server 's9'"),
        ("makespan", {"cover": [["s1"]]}, "cover: there is no server ['s1']"),
        ("makespan", {"limit": 1}, "proves 2, claimed 3"),
        ("makespan", {"limit": 3}, "proves 0, claimed 3"),
        ("makespan", {"cover": []}, "proves 0, claimed 3"),
        ("work", {"cover": ["s2"]}, "proves 5, claimed 9"),
        ("work", {"limit": 2}, "limit: a proof for makespans up to 2 does not apply to this placement's"),
        ("work", {"limit": 4}, "proves 7, claimed 9"),
    ],
)
def test_corrupted_covers(component: str, data: dict[str, Any], message: str) -> None:
    """Tests that each malformed or changed cover is caught, and what is said."""
    makespan, work = SOLVED["latency"].certificates
    assert (makespan.data["limit"], work.data) == (2, {"limit": 3, "cover": ["s1"]})
    verdict = certify(LATENCY, with_data(SOLVED["latency"], component, **data))
    with pytest.raises(CertificateInvalid, match="^" + re.escape(f"combinatorial proof of {component}: {message}")):
        verdict.raise_if_invalid()


def test_covers_by_position() -> None:
    """Tests that a cover is the same by positions in the instance's ids, by positions in others, and by names."""
    ids = LATENCY.instance.cluster.node_ids
    first = SOLVED["latency"].certificates[1].data["cover"]
    assert first.ids is ids
    for cover in (first, Chosen(np.array(["s1"]), [0]), ["s1"]):
        assert certify(LATENCY, with_data(SOLVED["latency"], "work", cover=cover)).proved


def test_work_is_proved_for_a_placement_only() -> None:
    """Tests that a proof of the work, which takes the makespan as given, says nothing without a placement."""
    work = SOLVED["latency"].certificates[1]
    assert proved_bound(LATENCY, work, (3, 9)) == 9
    with pytest.raises(CertificateInvalid, match="does not apply"):
        proved_bound(LATENCY, work)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, None),
        ({"limit": 6}, "proves 0, claimed 6"),
        ({"limit": 4}, "proves 5, claimed 6"),
        ({"weight": 1}, "proves 0, claimed 6"),
        ({"weight": -1}, "weight: must be at least 0, not -1"),
        ({"remote_price": -1}, "remote_price: must be at least 0, not -1"),
        ({"remote_price": 2**50}, "task_prices: the prices of 4 tasks must be at most 562949953421312"),
        ({"task_prices": {"t9": 1}}, 'task_prices: there is no task "t9"'),
        ({"task_prices": {"a": 2**50}}, "task_prices: the prices of 4 tasks must be at most 562949953421312"),
        ({"task_prices": {}}, "proves 0, claimed 6"),
    ],
)
def test_prices_rule_a_limit_out(data: dict[str, Any], message: str | None) -> None:
    """Tests prices that no cover replaces, from solving and from a certificate, and that changed ones are reported."""
    workload = Workload(["a", "b", "c", "d"], replicas=Ragged.from_rows([[0], [0], [0], []]))
    problem = Latency(Instance(Cluster(["s"]), workload))
    solution = solve(problem)
    makespan = Certificate(
        "makespan",
        Proof.COMBINATORIAL,
        6,
        {"limit": 5, "weight": 0, "task_prices": {"a": 1, "b": 1, "c": 1, "d": 1}, "remote_price": 1} | data,
    )
    held = replace(solution, certificates=(makespan, *solution.certificates[1:]))
    verdict = certify(problem, held)
    if message is None:
        assert verdict.proved
    else:
        with pytest.raises(CertificateInvalid, match="^" + re.escape(f"combinatorial proof of makespan: {message}")):
            verdict.raise_if_invalid()


@given(problems("latency"), st.data())
def test_no_cover_proves_more_than_the_optimum(problem: Latency, data: st.DataObject) -> None:
    """Tests that whatever cover and limit are named, no makespan or work is proved that enumeration undercuts."""
    front = pareto_front(problem)
    servers = problem.instance.cluster.node_ids.tolist()
    named = {"limit": data.draw(st.integers(-3, 40)), "cover": data.draw(st.lists(st.sampled_from(servers)))}
    assert proved_bound(problem, Certificate("makespan", Proof.COMBINATORIAL, 0, named)) <= front[0][0]
    for makespan, work in front:
        if makespan <= named["limit"]:
            assert proved_bound(problem, Certificate("work", Proof.COMBINATORIAL, 0, named), (makespan, work)) <= work


def test_bug_limit_past_what_int64_adds() -> None:
    """Tests that a huge limit on a thousand servers does not wrap round and prove a false optimum."""
    servers = 1024
    workload = Workload(["t"], replicas=Ragged.from_rows([[0]]))
    problem = Latency(Instance(Cluster([f"s{server}" for server in range(servers)]), workload))
    remote = problem.placement([1])
    claims = (
        Certificate("makespan", Proof.COMBINATORIAL, 3, {"limit": 2**53, "cover": []}),
        Certificate(
            "work", Proof.COMBINATORIAL, 3, {"limit": 2**53, "cover": problem.instance.cluster.node_ids.tolist()}
        ),
    )
    forged = replace(solve(problem), decision=remote, objective=(3, 3), bound=(3, 3), certificates=claims)
    verdict: Verdict = certify(problem, forged)
    assert [check.found for check in verdict.checks if not check.holds] == [
        "proves 0, claimed 3",
        "proves 1, claimed 3",
    ]
