"""Placements and flows of files: by ids or by position, and every fault with its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from optsched.core.errors import Fault
from optsched.core.instance import Cluster, Instance, Workload
from optsched.core.network import FlowNetwork
from optsched.core.placement import NetworkFlow, Placement
from optsched.instances.documents.claims import Reading, Writing

INSTANCE = Instance(Cluster(["a", "b"]), Workload(["t1", "t2", "t3"]))
NETWORK = FlowNetwork(["s", "t"], tail=[0, 0], head=[1, 1], capacity=[9, 9], supply=[3, -3])
BEFORE = Placement.of([0, 1, None])


def placed(value: Any) -> tuple[Placement, list[str]]:
    """The placement of a value, and the faults."""
    faults: list[Fault] = []
    return Reading(INSTANCE, True, faults).placement(value, "placement"), [str(fault) for fault in faults]


def moved(value: Any) -> tuple[Placement, list[str]]:
    """What moves from `BEFORE`, and the faults."""
    faults: list[Fault] = []
    return Reading(INSTANCE, True, faults).placement(value, "moved", BEFORE), [str(fault) for fault in faults]


def sent(value: Any) -> tuple[NetworkFlow, list[str]]:
    """The flow of a value, and the faults."""
    faults: list[Fault] = []
    return Reading(NETWORK, True, faults).flow(value, "flow"), [str(fault) for fault in faults]


def array_of(writing: Writing, place: str, dtype: str) -> Any:
    """What was set apart at a place, in another width."""
    assert writing.arrays is not None
    return writing.arrays[place].astype(dtype)


@pytest.mark.parametrize("dtype", ["i1", "<i4", ">i8", "u1"])
def test_there_and_back(dtype: str) -> None:
    """Tests that a decision is the same by ids and by position, in whatever width and byte order."""
    whole = Placement.of([0, 1, 1] if dtype == "u1" else [1, None, 0])
    apart, by_ids = Writing(INSTANCE, {}), Writing(INSTANCE)
    assert apart.decision(whole, "placement") is None
    assert placed(array_of(apart, "placement", dtype)) == placed(by_ids.decision(whole, "")) == (whole, [])
    tasks = np.flatnonzero(whole.nodes != BEFORE.nodes)
    assert apart.decision(whole, "moved", tasks) is None
    assert moved(array_of(apart, "moved", dtype)) == moved(by_ids.decision(whole, "", tasks)) == (whole, [])
    flow, to = NetworkFlow([2, 1]), Writing(NETWORK, {})
    to.decision(flow, "flow")
    assert sent(array_of(to, "flow", dtype)) == sent(Writing(NETWORK).decision(flow, "")) == (flow, [])


def test_order_is_no_matter() -> None:
    """Tests that an object may name tasks in any order."""
    assert placed({"t3": None, "t1": "b", "t2": "a"}) == (Placement.of([1, 0, None]), [])


POSITIONS = "placement: expected positions of nodes, one for each of 3 tasks (-1: nowhere), got"
ROWS = "moved: expected two rows, positions of tasks and of their nodes, got"
UNITS = "flow: expected whole numbers, the units of each of 2 arcs, got"


@pytest.mark.parametrize(
    ("read", "value", "told"),
    [
        (placed, np.array([0, 1]), [f"{POSITIONS} int64 of shape (2,)"]),
        (placed, np.array([[0, 1, 0]]), [f"{POSITIONS} int64 of shape (1, 3)"]),
        (placed, np.array(1), [f"{POSITIONS} int64 of shape ()"]),
        (placed, np.array([0.0, 1, 0]), [f"{POSITIONS} float64 of shape (3,)"]),
        (placed, np.array([True, True, False]), [f"{POSITIONS} bool of shape (3,)"]),
        (placed, np.array([0, 1, 0], dtype=np.uint64), [f"{POSITIONS} uint64 of shape (3,)"]),
        (placed, np.array(["a", "b", "a"]), [f"{POSITIONS} <U1 of shape (3,)"]),
        (
            placed,
            np.array([2, 0, -2]),
            [
                "placement[0]: the instance has 2 nodes, and none at 2",
                "placement[2]: the instance has 2 nodes, and none at -2",
            ],
        ),
        (moved, np.array([0, 1]), [f"{ROWS} int64 of shape (2,)"]),
        (moved, np.array(3), [f"{ROWS} int64 of shape ()"]),
        (moved, np.zeros((3, 1), dtype=int), [f"{ROWS} int64 of shape (3, 1)"]),
        (
            moved,
            np.array([[-1, 0, 3], [0, 7, -1]]),
            [
                "moved[0][0]: the instance has 3 tasks, and none at -1",
                "moved[0][2]: the instance has 3 tasks, and none at 3",
                "moved[1][1]: the instance has 2 nodes, and none at 7",
            ],
        ),
        (moved, np.array([[1, 1], [0, 1]]), ["moved[0]: positions of tasks must increase"]),
        (moved, [], ["moved: expected an object {task: node or null}"]),
        (moved, {"t9": "a"}, ['moved.t9: the instance has no task "t9"']),
        (sent, np.array([1]), [f"{UNITS} int64 of shape (1,)"]),
        (sent, np.array([1.5, 2]), [f"{UNITS} float64 of shape (2,)"]),
    ],
)
def test_faults(read: Callable[[Any], tuple[Any, list[str]]], value: Any, told: list[str]) -> None:
    """Tests that each fault of an array is told with its place, and that something is read all the same."""
    decision, faults = read(value)
    assert faults == told
    assert len(decision) == (2 if read is sent else 3)
