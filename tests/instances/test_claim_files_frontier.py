"""Frontier files: exact numbers there and back, and every fault with its place."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from optsched.by_id import ById
from optsched.errors import InputError, UsageError
from optsched.fronts import Frontier
from optsched.instance import Cluster, Instance, Workload
from optsched.instances import claim_files
from optsched.instances.claim_files import FRONTIER, claim_document, read_frontier, write_claim
from optsched.placement import Placement
from optsched.results import FEASIBLE, Certificate, FrontierPoint, Limit, Proof


def instance(*tasks: str) -> Instance:
    """Two nodes and the tasks, with odd ids."""
    return Instance(Cluster(["a", "ü"]), Workload(list(tasks or ("t 1", 'odd".id'))))


def frontier(on: Instance, **changes: Any) -> Frontier:
    """Two points with a fraction past the precision of doubles, and every other field."""
    first = Certificate("cost", Proof.DUAL, Fraction(1, 3), {"node_prices": {"ü": 3}})
    points = [
        FrontierPoint((Fraction(2**80 + 1, 3**20), 9), Placement.of([1, None]), (first, first)),
        FrontierPoint((2**60, Fraction(-1, 3)), Placement.of([0, 1]), (first, Certificate("fair", Proof.SOLVER, 0))),
    ]
    values: dict[str, Any] = {
        "problem": "lsap-fairness",
        "components": ("cost", "fair"),
        "points": tuple(points),
        "complete": False,
        "limit": Limit.TIME,
        "parameters": {"distance": "absolute"},
        "instance_sha256": on.sha256,
    }
    return Frontier(**{**values, **changes})


def test_round_trip(tmp_path: Path) -> None:
    """Tests that everything comes back as it was, numbers exactly, that no point stays none, and why there is none."""
    on = instance()
    shown = Certificate(FEASIBLE, Proof.DUAL, 0, {"potentials": ById(on.cluster.node_ids, [1], [7]), "scale": 1})
    empty = frontier(on, points=(), complete=True, limit=None)
    for held in (frontier(on), empty, replace(empty, infeasible=shown)):
        for name in ("frontier.json", "frontier.npz"):
            write_claim(held, on, tmp_path / name)
            assert read_frontier(tmp_path / name, on) == held


def test_document() -> None:
    """Tests the form: every task of the first point, then what moves, null for nowhere, integers and "p/q"."""
    on = instance()
    document = claim_document(frontier(on), on)
    assert document["format"] == FRONTIER
    assert [point["objective"] for point in document["points"]] == [[f"{2**80 + 1}/{3**20}", 9], [2**60, "-1/3"]]
    assert document["points"][0]["placement"] == {"t 1": "ü", 'odd".id': None}
    assert document["points"][1]["moved"] == {"t 1": "a", 'odd".id': "ü"}
    assert {"optsched", "python"} <= set(document["versions"])


def test_another_instance(tmp_path: Path) -> None:
    """Tests that a frontier on another instance is read without placements, and not written with wrong ids."""
    on = instance()
    for name in ("frontier.json", "frontier.npz"):
        write_claim(frontier(on), on, tmp_path / name)
        read = read_frontier(tmp_path / name, instance("x"))
        assert (len(read), len(read[0].placement), read.instance_sha256) == (2, 0, on.sha256)
    with pytest.raises(UsageError, match="the frontier is of another instance than this: give the one it is of"):
        claim_document(frontier(on), instance("x"))


def fault_of(tmp_path: Path, change: Any) -> list[str]:
    """What is wrong with a document that is changed."""
    on = instance()
    document = claim_document(frontier(on), on)
    change(document)
    file = tmp_path / "frontier.json"
    file.write_text(json.dumps(document))
    with pytest.raises(InputError) as caught:
        read_frontier(file, on)
    return [str(fault) for fault in caught.value.faults]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda d: d.pop("points"), "points: is missing"),
        (lambda d: d.update(points={}), "points: expected a list"),
        (lambda d: d.update(components=["one"]), "components: expected two names, got 1"),
        (lambda d: d.update(complete="yes"), "complete: expected true or false"),
        (lambda d: d.update(limit="time"), "limit: expected one of TIME"),
        (lambda d: d["points"][1].pop("moved"), "points[1].placement: give the placement, or in its place moved (what"),
        (lambda d: d["points"][1].update(placement={}), "points[1].placement: give the placement, or in its place"),
        (lambda d: d["points"][0].pop("placement"), "points[0].placement: give the placement, or in its place moved"),
        (
            lambda d: d["points"][0].update(moved=d["points"][0].pop("placement")),
            "points[0].moved: there is no point before: give the placement, {task: node or null}",
        ),
        (lambda d: d["points"][0].update(placement=None), "points[0].placement: expected an object {task: node"),
        (lambda d: d["points"][1].update(moved=None), "points[1].moved: expected an object {task: node or null}"),
        (lambda d: d["points"][1]["moved"].update(t9="a"), 'points[1].moved.t9: the instance has no task "t9"'),
        (lambda d: d["points"][1]["moved"].update({"t 1": "c"}), "points[1].moved.t 1: the instance has no node 'c'"),
        (lambda d: d["points"][0].update(objective=3), "points[0].objective: expected a list, got 3"),
        (lambda d: d["points"][0].update(objective=[1, 2, 3]), "points[0].objective: expected two numbers, got 3"),
        (lambda d: d["points"][0].update(objective=[1, 0.5]), "points[0].objective[1]: expected an integer, or a"),
        (
            lambda d: d["points"][0]["certificates"].pop(),
            "points[0].certificates: expected two, one a component, got 1",
        ),
        (
            lambda d: d["points"][0]["certificates"][1].update(claim=[]),
            "points[0].certificates[1].claim: expected an integer",
        ),
        (
            lambda d: d["points"][0]["certificates"][1].update(kind="sworn"),
            "points[0].certificates[1].kind: expected one of dual",
        ),
        (lambda d: d["points"][0].update(note=1), "points[0].note: there is no such field"),
        (lambda d: d.update(format="optsched-frontier/2"), "format: is no frontier file: it must begin"),
    ],
)
def test_faults(tmp_path: Path, change: Any, fault: str) -> None:
    """Tests that each fault is told with its place."""
    assert fault_of(tmp_path, change)[0].startswith(fault)


def test_every_fault_is_told(tmp_path: Path) -> None:
    """Tests that faults of several points are told together."""

    def change(document: dict[str, Any]) -> None:
        for point in document["points"]:
            point["objective"] = ["x", 1]
            point["placement" if "placement" in point else "moved"]["t 1"] = "c"

    assert [told.partition(": ")[0] for told in fault_of(tmp_path, change)] == [
        "points[0].objective[0]",
        "points[1].objective[0]",
        "points[0].placement.t 1",
        "points[1].moved.t 1",
    ]


def test_placements_whole(tmp_path: Path) -> None:
    """Tests that a later point may have its placement whole, as others may write it, and the next moves from there."""
    on = instance()
    first, second = frontier(on).points
    held = frontier(on, points=(first, second, replace(second, placement=Placement.of([0, None]))))
    document = claim_document(held, on)
    assert document["points"][2]["moved"] == {'odd".id': None}
    del document["points"][1]["moved"]
    document["points"][1]["placement"] = second.placement.to_dict(on)
    (tmp_path / "frontier.json").write_text(json.dumps(document))
    assert read_frontier(tmp_path / "frontier.json", on) == held


def test_more_placements_than_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that points which move nothing, each a whole placement all the same, are refused past a size."""
    on = instance()
    write_claim(frontier(on), on, tmp_path / "frontier.json")
    monkeypatch.setattr(claim_files, "_MOST_BYTES", 31)
    told = "2 placements of 2 tasks take 32 bytes; at most 31 are read"
    with pytest.raises(InputError, match=f"points: {told}"):
        read_frontier(tmp_path / "frontier.json", on)
    with pytest.raises(UsageError, match=told):
        claim_document(frontier(on), on)
