"""Archives of claims: a header and arrays under their places; every way in which one can be wrong."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from input_files import cut

import optsched
from optsched.core.arrays import ById, Chosen, plain
from optsched.core.errors import Fault, InputError
from optsched.core.instance import Cluster, Instance, Workload
from optsched.core.network import FlowNetwork
from optsched.core.placement import NetworkFlow, Placement, Schedule
from optsched.core.results import Certificate, Proof, Solution, Termination
from optsched.instances.claim_files import (
    Reading,
    Rows,
    Writing,
    read_claim,
    read_solution,
    unpacked,
    write_claim,
)

INSTANCE = Instance(Cluster(["a", "b", "c"]), Workload(["t1", "t2"]))
NODES, TASKS = INSTANCE.cluster.node_ids, INSTANCE.workload.task_ids


def solution(**data: Any) -> Solution:
    """A solution with a certificate of these data."""
    proof = Certificate("locality-cost", Proof.DUAL, 0, data)
    held = ("lsap", {}, INSTANCE.sha256, Placement.of([1, None]), (1,), (0,), Termination.FEASIBLE, None, (proof,))
    return Solution(*held, "by hand", 0.0, 0.0, {}, "")


DATA = {
    "prices": ById(NODES, [0, 2], [7, -(2**40)]),
    "of_tasks": ById(TASKS, [], []),
    "cover": Chosen(NODES, [1, 2]),
    "chosen": Chosen(TASKS, [0]),
    "others": ById(np.array(["x", "y"]), [1], [3]),
    "inside": {"prices": ById(NODES, [1], [4])},
    "scale": 5,
}

#: The same by ids.
PLAIN = plain(DATA)


def test_data_there_and_back(tmp_path: Path) -> None:
    """Tests that prices and lists over the instance's columns are arrays there, and all data come back."""
    write_claim(solution(**DATA), INSTANCE, tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz", allow_pickle=False) as arrays:
        held = {name: values.tolist() for name, values in arrays.items() if name != "header"}
        header = msgspec.json.decode(arrays["header"].tobytes())
    at = "certificates[0].data"
    assert held == {
        "placement": [1, -1],
        f"{at}.prices.nodes": [[0, 2], [7, -(2**40)]],
        f"{at}.of_tasks.tasks": [[], []],
        f"{at}.cover.nodes": [1, 2],
        f"{at}.chosen.tasks": [0],
    }
    assert header["placement"] is None
    assert header["certificates"][0]["data"]["prices"] is None
    (proof,) = read_solution(tmp_path / "a.npz", INSTANCE).certificates
    assert proof.data == PLAIN
    assert proof.data["prices"].ids is NODES
    write_claim(solution(**DATA), INSTANCE, tmp_path / "a.json")
    assert read_solution(tmp_path / "a.json", INSTANCE).certificates[0].data == PLAIN


def test_of_another_instance(tmp_path: Path) -> None:
    """Tests that positions in the ids of another instance are left out: certify tells that it is another one."""
    write_claim(solution(**DATA), INSTANCE, tmp_path / "a.npz")
    read = read_solution(tmp_path / "a.npz", Instance(Cluster(["z"]), Workload(["y"])))
    data = read.certificates[0].data
    assert (read.decision, data["prices"], data["cover"], data["scale"]) == (None, (), (), 5)


def test_packed_by_others(tmp_path: Path) -> None:
    """Tests that an archive that NumPy packed, in any order of its entries, is the same claim."""
    problem = optsched.problem("latency", "papers/fsy-not-optimal")
    held = optsched.frontier(problem)
    write_claim(held, problem.instance, tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as arrays:
        np.savez_compressed(tmp_path / "b.npz", **{name: arrays[name] for name in reversed(arrays.files)})
    assert read_claim(tmp_path / "b.npz", problem.instance) == held
    with pytest.raises(InputError, match="this is a frontier, not an instance; optsched certify INSTANCE"):
        optsched.load(tmp_path / "a.npz")


def changed(tmp_path: Path, **arrays: Any) -> list[str]:
    """What is wrong with an archive in which some arrays are others, or gone where they are `...`."""
    write_claim(solution(**DATA), INSTANCE, tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as sound:
        held = {**sound, **arrays}
    np.savez(tmp_path / "a.npz", **{name: values for name, values in held.items() if values is not ...})
    with pytest.raises(InputError) as caught:
        read_solution(tmp_path / "a.npz", INSTANCE)
    assert caught.value.source == str(tmp_path / "a.npz")
    return [str(fault) for fault in caught.value.faults]


PRICES, COVER = "certificates[0].data.prices.nodes", "certificates[0].data.cover.nodes"
KNOWN = "there is no such column; known: placement, schedule, flow, points[0].placement, points[1].moved, and in cert"
NULL = "belongs where the header has null, and it has none there"
WANTED = "expected rows of positions and of whole numbers, got"


@pytest.mark.parametrize(
    ("arrays", "expected"),
    [
        ({"header": ...}, ["header: the column is missing; it holds the JSON text"]),
        ({"header": np.array(b"{")}, ["line 1, column 2: is no JSON here"]),
        ({"header": np.array(b"[]")}, [f"placement: {NULL}"]),
        ({"colour": np.zeros(3)}, [f"colour: {KNOWN}"]),
        ({"certificates[7].data.prices.nodes": np.zeros(1)}, [f"certificates[7].data.prices.nodes: {NULL}"]),
        ({"certificates[0].data.scale.nodes": np.zeros(1)}, [f"certificates[0].data.scale.nodes: {NULL}"]),
        ({"flow": np.zeros(1)}, [f"flow: {NULL}"]),
        ({"placement": np.zeros(1, dtype=int)}, ["placement: expected positions of nodes, one for each of 2 tasks"]),
        ({PRICES: np.zeros((2, 1))}, [f"{PRICES}: {WANTED} float64 of shape (2, 1)"]),
        ({PRICES: np.zeros((3, 1), dtype=int)}, [f"{PRICES}: {WANTED} int64 of shape (3, 1)"]),
        ({PRICES: np.zeros((2, 1), dtype=np.uint64)}, [f"{PRICES}: {WANTED} uint64 of shape (2, 1)"]),
        ({PRICES: np.array([[0, 3], [1, 1]])}, [f"{PRICES}: give increasing positions below 3, the number of ids"]),
    ],
)
def test_faults(tmp_path: Path, arrays: dict[str, Any], expected: list[str]) -> None:
    """Tests that each fault is reported with its place."""
    faults = changed(tmp_path, **arrays)
    assert cut(faults[: len(expected)], expected) == expected


def test_rows_of_something_else() -> None:
    """Tests that an instance has no arcs, and a network no tasks."""
    network = FlowNetwork(["s", "t"], [0], [1], supply=[0, 0])
    assert Reading(network, True, []).rows(Rows("arcs", np.array([[0], [4]]))) == {"0": 4}
    for noun, counted in ((INSTANCE, "arcs"), (network, "tasks")):
        with pytest.raises(ValueError, match=f"there are no {counted} here"):
            Reading(noun, True, []).rows(Rows(counted, np.array([0])))


def test_bombs_and_broken_archives() -> None:
    """Tests that an archive that unpacks to too much, or is cut, is refused before it is unpacked."""
    data = Writing(INSTANCE, {}).content({"format": "optsched-solution/1"})
    assert unpacked(data, 10_000) == {"format": "optsched-solution/1"}
    with pytest.raises(InputError, match=r"unpacks to .* bytes; at most 10 are read"):
        unpacked(data, 10)
    with pytest.raises(InputError, match=r"is no sound \.npz archive"):
        unpacked(data[:-30], 10_000)


ON = Instance(Cluster(["a", "b"]), Workload(["t1", "t2", "t3"]))
NETWORK = FlowNetwork(["s", "t"], tail=[0, 0], head=[1, 1], capacity=[9, 9], supply=[3, -3])
BEFORE = Placement.of([0, 1, None])


def placed(value: Any) -> tuple[Placement, list[str]]:
    """The placement of a value, and the faults."""
    faults: list[Fault] = []
    return Reading(ON, True, faults).placement(value, "placement"), [str(fault) for fault in faults]


def moved(value: Any) -> tuple[Placement, list[str]]:
    """What moves from `BEFORE`, and the faults."""
    faults: list[Fault] = []
    return Reading(ON, True, faults).placement(value, "moved", BEFORE), [str(fault) for fault in faults]


def timed(value: Any) -> tuple[Schedule, list[str]]:
    """The schedule of a value, and the faults."""
    faults: list[Fault] = []
    return Reading(ON, True, faults).schedule(value, "schedule"), [str(fault) for fault in faults]


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
    apart, by_ids = Writing(ON, {}), Writing(ON)
    assert apart.decision(whole, "placement") is None
    assert placed(array_of(apart, "placement", dtype)) == placed(by_ids.decision(whole, "")) == (whole, [])
    tasks = np.flatnonzero(whole.nodes != BEFORE.nodes)
    assert apart.decision(whole, "moved", tasks) is None
    assert moved(array_of(apart, "moved", dtype)) == moved(by_ids.decision(whole, "", tasks)) == (whole, [])
    flow, to = NetworkFlow([2, 1]), Writing(NETWORK, {})
    to.decision(flow, "flow")
    assert sent(array_of(to, "flow", dtype)) == sent(Writing(NETWORK).decision(flow, "")) == (flow, [])


POSITIONS = "placement: expected positions of nodes, one for each of 3 tasks (-1: nowhere), got"
ROWS = "moved: expected two rows, positions of tasks and of their nodes, got"
START = "expected a whole number of microseconds, at most 2^53, got"
UNITS = "flow: expected whole numbers, the units of each of 2 arcs, got"


@pytest.mark.parametrize(
    ("read", "value", "expected"),
    [
        (placed, np.array([[0, 1, 0]]), [f"{POSITIONS} int64 of shape (1, 3)"]),
        (placed, np.array([0, 1, 0], dtype=np.uint64), [f"{POSITIONS} uint64 of shape (3,)"]),
        (placed, np.array([2, 0, -2]), ["placement[0]: the instance has 2", "placement[2]: the instance has 2"]),
        (moved, np.array([0, 1]), [f"{ROWS} int64 of shape (2,)"]),
        (moved, np.array(3), [f"{ROWS} int64 of shape ()"]),
        (moved, np.zeros((3, 1), dtype=int), [f"{ROWS} int64 of shape (3, 1)"]),
        (
            moved,
            np.array([[-1, 0, 3], [0, 7, -1]]),
            ["moved[0][0]: the instance has 3", "moved[0][2]: the instance has 3", "moved[1][1]: the instance has 2"],
        ),
        (moved, np.array([[1, 1], [0, 1]]), ["moved[0]: positions of tasks must increase"]),
        (moved, [], ["moved: expected an object {task: node or null}"]),
        (moved, {"t9": "a"}, ['moved.t9: the instance has no task "t9"']),
        (timed, np.array([0, 1, 1]), ["schedule: expected two rows for 3 tasks"]),
        (timed, np.array([[0, 1], [1, 2]]), ["schedule: expected two rows for 3 tasks"]),
        (timed, np.array([[0.5, 1, 1], [0, 0, 0]]), ["schedule: expected two rows for 3 tasks"]),
        (
            timed,
            np.array([[0, 2, -2], [0, 0, 0]]),
            ["schedule[0][1]: the instance has 2 nodes", "schedule[0][2]: the instance has"],
        ),
        (timed, np.array([[0, 0, -1], [2**53, 2**53 + 1, 2**60]]), [f"schedule[1][1]: {START} 9007199254740993"]),
        (sent, np.array([1]), [f"{UNITS} int64 of shape (1,)"]),
    ],
)
def test_faults_of_decisions(read: Callable[[Any], tuple[Any, list[str]]], value: Any, expected: list[str]) -> None:
    """Tests that each fault of an array is reported with its place, and that something is read all the same."""
    decision, faults = read(value)
    assert cut(faults, expected) == expected
    assert len(decision) == (2 if read is sent else 3)
