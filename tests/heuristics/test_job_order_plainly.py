"""Policies that index who has data where, against the same rules that look at every job on every offer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from plain_policies import Plain, PlainCapacity, PlainDelay, PlainFair, random_snapshot

from optsched.heuristics import HEURISTICS
from optsched.problems import Lsap
from optsched.running.driver import drive

CASES: list[tuple[str, Callable[..., Plain], Mapping[str, Any]]] = [
    ("delay", PlainDelay, {}),
    ("delay", PlainDelay, {"D": 2}),
    ("delay", PlainDelay, {"D": 0}),
    ("delay", PlainDelay, {"form": "two-level", "D1": 2, "D2": 3}),
    ("delay", PlainDelay, {"form": "two-level", "D1": "hadoop", "D2": 0}),
    ("fair", PlainFair, {}),
    ("fair", PlainFair, {"delay": 2}),
    ("fair", PlainFair, {"delay": 2, "assign": "single"}),
    ("capacity", PlainCapacity, {}),
]


def compared(name: str, plain: Callable[..., Plain], parameters: Mapping[str, Any], seed: int) -> None:
    """Drive both over a random snapshot; the shipped one is not asked about the nodes that it refuses."""
    problem = Lsap(random_snapshot(seed))
    make = HEURISTICS[name].policy
    assert make is not None
    found, expected = (drive(problem, policy, seed) for policy in (make(**parameters), plain(**parameters)))
    assert found.placement.nodes.tolist() == expected.placement.nodes.tolist()
    counts = [(run.rounds, run.idle_slot_time, run.starved) for run in (found, expected)]
    assert counts[0] == counts[1]


@pytest.mark.parametrize(("name", "plain", "parameters"), CASES)
def test_as_the_rules_read(name: str, plain: Callable[..., Plain], parameters: Mapping[str, Any]) -> None:
    """Tests that placement, rounds and idle slot-time are those of the rules looked up job by job."""
    for seed in range(6):
        compared(name, plain, parameters, seed)


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "plain", "parameters"), CASES)
def test_as_the_rules_read_often(name: str, plain: Callable[..., Plain], parameters: Mapping[str, Any]) -> None:
    """Tests the same on many snapshots."""
    for seed in range(6, 60):
        compared(name, plain, parameters, seed)
