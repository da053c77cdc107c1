"""Solution files: exact numbers there and back, and every fault with its place."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from optsched.errors import InputError
from optsched.instance import Cluster, Instance, Ragged, Workload
from optsched.instances.claim_files import SOLUTION, claim_document, read_solution, write_claim
from optsched.network import FlowNetwork
from optsched.placement import NetworkFlow, Placement
from optsched.results import Certificate, Limit, Proof, Solution, Termination
from optsched.schedule import Schedule


def instance(*tasks: str) -> Instance:
    """Two nodes and the tasks, with odd ids."""
    names = list(tasks or ("t1", "t 2", 'odd".id'))
    return Instance(Cluster(["a", "ü"]), Workload(names, replicas=Ragged.from_rows([[0]] * len(names))))


def solution(on: Instance, **changes: Any) -> Solution:
    """A solution with a fraction past the precision of doubles, an unknown bound, and every other field."""
    values: dict[str, Any] = {
        "problem": "fair-lsap",
        "parameters": {"alpha": 50, "beta": None, "gfc": "ratio", "f_c": [0, 0.1, 1], "include_task": False},
        "instance_sha256": on.sha256,
        "decision": Placement.of([1, None, 0]),
        "objective": (Fraction(2**80 + 1, 3**20), -(2**53)),
        "bound": (Fraction(-1, 3), None),
        "termination": Termination.FEASIBLE,
        "limit": Limit.NODES,
        "certificates": (Certificate("cost", Proof.DUAL, Fraction(-1, 3), {"node_prices": {"ü": 3}}),),
        "route": "network",
        "build_seconds": 0.25,
        "solve_seconds": 1.5,
        "solver": {"name": "HiGHS", "version": "1.15.1", "options": {"threads": 1}},
        "raw_status": "Node limit",
    }
    return Solution(**{**values, **changes})


def test_round_trip(tmp_path: Path) -> None:
    """Tests that everything comes back as it was, numbers exactly."""
    on = instance()
    held = solution(on)
    for name in ("solution.json", "solution.npz"):
        write_claim(held, on, tmp_path / name)
        assert read_solution(tmp_path / name, on) == held


def test_nothing_held(tmp_path: Path) -> None:
    """Tests that no placement and no objective stay none, not empty and not zero."""
    on = instance()
    held = solution(on, decision=None, objective=None, bound=(None, None), certificates=(), limit=None)
    for name in ("solution.json", "solution.npz"):
        write_claim(held, on, tmp_path / name)
        assert read_solution(tmp_path / name, on) == held


def test_document() -> None:
    """Tests the form: every task named, null for nowhere, lists of integers and of "p/q"."""
    on = instance()
    document = claim_document(solution(on), on)
    assert document["format"] == SOLUTION
    assert document["placement"] == {"t1": "ü", "t 2": None, 'odd".id': "a"}
    assert document["objective"] == [f"{2**80 + 1}/{3**20}", -(2**53)]
    assert document["bound"] == ["-1/3", None]
    assert document["certificates"][0]["claim"] == "-1/3"
    assert {"optsched", "python", "highspy"} <= set(document["versions"])


def test_another_instance_is_read_without_placement(tmp_path: Path) -> None:
    """Tests that a solution of another instance is no fault of the file: certify is to tell."""
    for name in ("solution.json", "solution.npz"):
        write_claim(solution(instance()), instance(), tmp_path / name)
        read = read_solution(tmp_path / name, instance("x"))
        assert (read.decision, read.instance_sha256) == (None, instance().sha256)


def test_half_written_files_are_not_left(tmp_path: Path) -> None:
    """Tests that a file that cannot be written is told, and leaves nothing behind."""
    on = instance()
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        write_claim(solution(on), on, tmp_path / "folder" / "no" / "solution.json")
    assert list((tmp_path / "folder").iterdir()) == []


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda d: d.pop("objective"), "objective: is missing"),
        (lambda d: d.update(objective=3), "objective: expected a list, got 3"),
        (lambda d: d.update(objective=[1, 0.5]), 'objective[1]: expected an integer, or a rational as "p/q"'),
        (lambda d: d.update(objective=[None, 1]), "objective[0]: expected an integer"),
        (lambda d: d.update(objective=[True, 1]), "objective[0]: expected an integer"),
        (lambda d: d.update(bound=["1/0", 1]), "bound[0]: expected an integer"),
        (lambda d: d.update(bound=["/3", "1//2"]), "bound[1]: expected an integer"),
        (lambda d: d.update(bound=["1/" + "9" * 5000, 1]), "bound[0]: expected an integer"),
        (lambda d: d.update(termination="DONE"), "termination: expected one of OPTIMAL"),
        (lambda d: d.update(limit="time"), "limit: expected one of TIME"),
        (lambda d: d.update(parameters=[]), "parameters: expected an object"),
        (lambda d: d.update(problem=7), "problem: expected a string"),
        (lambda d: d.update(placement=[0, 1]), "placement: expected an object"),
        (lambda d: d["placement"].update(t9="a"), 'placement.t9: the instance has no task "t9"'),
        (lambda d: d["placement"].update(t1="c"), "placement.t1: the instance has no node 'c'"),
        (lambda d: d["placement"].update(t1=0), "placement.t1: the instance has no node 0"),
        (lambda d: d["placement"].pop("t1"), "placement.t1: is missing; null is nowhere"),
        (lambda d: d["certificates"][0].update(kind="sworn"), "certificates[0].kind: expected one of dual"),
        (lambda d: d["certificates"][0].update(claim=None), "certificates[0].claim: expected an integer"),
        (lambda d: d["certificates"][0].update(note=1), "certificates[0].note: there is no such field"),
        (lambda d: d.update(certificates={}), "certificates: expected a list"),
        (lambda d: d.update(format="optsched-solution/2"), "format: is no solution file"),
    ],
)
def test_faults(tmp_path: Path, change: Any, fault: str) -> None:
    """Tests that each fault is told with file and place."""
    on = instance()
    document = claim_document(solution(on), on)
    change(document)
    file = tmp_path / "solution.json"
    file.write_text(json.dumps(document))
    with pytest.raises(InputError) as caught:
        read_solution(file, on)
    assert f"{file}: {fault}" in str(caught.value)


def test_every_fault_is_told(tmp_path: Path) -> None:
    """Tests that several faults are told together."""
    on = instance()
    document = claim_document(solution(on), on)
    document["objective"][0] = document["bound"][0] = "x"
    document["placement"]["t1"] = "c"
    file = tmp_path / "solution.json"
    file.write_text(json.dumps(document))
    with pytest.raises(InputError) as caught:
        read_solution(file, on)
    assert [fault.place for fault in caught.value.faults] == ["objective[0]", "bound[0]", "placement.t1"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"", "the file is empty"),
        (b"[1]", "is no solution file"),
        (b"\x00\xff", "byte 1"),
        (b'{"a":' * 100_000, "deep"),
    ],
)
def test_unreadable(tmp_path: Path, text: bytes, told: str) -> None:
    """Tests that what is no JSON object is told as such."""
    file = tmp_path / "solution.json"
    file.write_bytes(text)
    with pytest.raises(InputError, match=told):
        read_solution(file, instance())


def test_doubled_key_and_missing_file(tmp_path: Path) -> None:
    """Tests that a task that is placed twice is a fault, and so is a file that is not there."""
    on = instance()
    text = json.dumps(claim_document(solution(on), on)).replace('"t1": "\\u00fc"', '"t1": "a", "t1": null')
    file = tmp_path / "solution.json"
    file.write_text(text)
    with pytest.raises(InputError, match=r"placement\.t1: the key is given more than once"):
        read_solution(file, on)
    with pytest.raises(InputError, match="cannot be read"):
        read_solution(tmp_path / "none.json", on)


# Flows -------------------------------------------------------------------------------------------------------------

NETWORK = FlowNetwork(["s", "t"], tail=[0, 0], head=[1, 1], capacity=[9, 9], supply=[3, -3], arc_ids=["a", "b.c"])


def flow_file(folder: Path, **changes: Any) -> Path:
    """A solution file of `NETWORK`, with some of its entries changed, or left out where the change is `...`."""
    held = solution(instance(), decision=NetworkFlow([1, 2]), instance_sha256=NETWORK.sha256)
    document = {**claim_document(held, NETWORK), **changes}
    path = folder / "flow.json"
    path.write_text(json.dumps({key: value for key, value in document.items() if value is not ...}))
    return path


def test_flow_there_and_back(tmp_path: Path) -> None:
    """Tests that a network's solution holds its flow by arc, and none where there is none or it is another's."""
    assert json.loads(flow_file(tmp_path).read_text())["flow"] == {"a": 1, "b.c": 2}
    assert read_solution(flow_file(tmp_path), NETWORK).decision == NetworkFlow([1, 2])
    write_claim(read_solution(flow_file(tmp_path), NETWORK), NETWORK, tmp_path / "flow.npz")
    assert read_solution(tmp_path / "flow.npz", NETWORK).decision == NetworkFlow([1, 2])
    assert read_solution(flow_file(tmp_path, flow=None), NETWORK).decision is None
    assert read_solution(flow_file(tmp_path, instance_sha256="other"), NETWORK).decision is None


ONE = "placement: give exactly one of placement and schedule (an instance's) and flow (a network's)"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"flow": ...}, [ONE]),
        ({"placement": None}, [ONE]),
        ({"flow": [1, 2]}, ["flow: expected an object {arc: units}"]),
        ({"flow": ..., "placement": {}}, ["placement: the solution is of a flow network: it has a flow"]),
        (
            {"flow": {"a": 1.5, "z": 1}},
            [
                "flow.a: expected a whole number of units, got 1.5",
                'flow.z: the network has no arc "z"',
                "flow.b.c: is missing; 0 is none",
            ],
        ),
        ({"flow": {"a": 2**63}}, None),
        ({"flow": {"a": True}}, None),
    ],
)
def test_flow_faults(changes: dict[str, Any], told: list[str] | None, tmp_path: Path) -> None:
    """Tests that each fault of a flow is told with its place, a missing arc among them."""
    with pytest.raises(InputError) as caught:
        read_solution(flow_file(tmp_path, **changes), NETWORK)
    found = [str(fault) for fault in caught.value.faults]
    if told is None:
        assert len(found) == 2
        assert "whole number of units" in found[0]
        assert found[1].endswith("is missing; 0 is none")
    else:
        assert found == told


def test_flow_is_no_placement(tmp_path: Path) -> None:
    """Tests that an instance's solution file must have a placement."""
    on = instance()
    path = flow_file(tmp_path, instance_sha256=on.sha256)
    with pytest.raises(InputError, match="flow: the solution is of an instance: it has a placement"):
        read_solution(path, on)


# Schedules ---------------------------------------------------------------------------------------------------------


def test_schedule_there_and_back(tmp_path: Path) -> None:
    """Tests that a schedule stands in the place of a placement, by ids and by position."""
    on = instance()
    held = solution(on, decision=Schedule.of([(1, 1_500_000), None, (0, -3)]))
    document = claim_document(held, on)
    assert "placement" not in document
    assert document["schedule"] == {
        "t1": {"node": "ü", "start": 1500000},
        "t 2": None,
        'odd".id': {"node": "a", "start": -3},
    }
    for name in ("solution.json", "solution.npz"):
        write_claim(held, on, tmp_path / name)
        assert read_solution(tmp_path / name, on) == held
        assert read_solution(tmp_path / name, instance("x")).decision is None


def test_schedule_faults(tmp_path: Path) -> None:
    """Tests that a schedule has its own form, is the only decision, and is no network's."""
    on = instance()
    document = claim_document(solution(on, decision=Schedule.empty(3)), on)
    file = tmp_path / "schedule.json"
    for changes, told in (
        ({"placement": {}}, ONE),
        ({"schedule": 3}, "schedule: expected an object {task: {node, start} or null}"),
        ({"schedule": {**document["schedule"], "t1": "a"}}, "schedule.t1: expected an object {node, start}"),
    ):
        file.write_text(json.dumps(document | changes))
        with pytest.raises(InputError) as caught:
            read_solution(file, on)
        assert told in str(caught.value)
    file.write_text(json.dumps(document | {"instance_sha256": NETWORK.sha256}))
    with pytest.raises(InputError, match="schedule: the solution is of a flow network: it has a flow"):
        read_solution(file, NETWORK)
