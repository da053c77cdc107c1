"""Files of claims: each variety there and back, exact, and every fault with its place, all of them at once."""

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from input_files import cut

import optsched
from optsched.core.arrays import ById
from optsched.core.decimals import MOST_DIGITS
from optsched.core.errors import InputError, TooLarge, UsageError
from optsched.core.instance import Cluster, Instance, Ragged, Workload
from optsched.core.network import FlowNetwork
from optsched.core.placement import NetworkFlow, Placement, Schedule
from optsched.core.results import FEASIBLE, Certificate, Frontier, FrontierPoint, Limit, Proof, Solution, Termination
from optsched.instances import claim_files
from optsched.instances.claim_files import (
    FRONTIER,
    SCHEDULE,
    SOLUTION,
    claim_document,
    parse_claim,
    read_claim,
    read_decision,
    read_frontier,
    read_schedule,
    read_solution,
    write_claim,
)


def instance(*tasks: str) -> Instance:
    """Two nodes and the tasks, with odd ids."""
    names = list(tasks or ("t1", "t 2", 'odd".id'))
    return Instance(Cluster(["a", "ü"]), Workload(names, replicas=Ragged.from_rows([[0]] * len(names))))


ON, OTHER = instance(), instance("x")
NETWORK = FlowNetwork(["s", "t"], tail=[0, 0], head=[1, 1], capacity=[9, 9], supply=[3, -3], arc_ids=["a", "b.c"])
LONG = Fraction(2**80 + 1, 3**20)
PROOF = Certificate("cost", Proof.DUAL, Fraction(-1, 3), {"node_prices": {"ü": 3}})

#: A solution with a fraction past the precision of doubles, an unknown bound, and every other field.
HELD = Solution(
    problem="fair-lsap",
    parameters={"alpha": 50, "beta": None, "gfc": "ratio", "f_c": [0, 0.1, 1], "include_task": False},
    instance_sha256=ON.sha256,
    decision=Placement.of([1, None, 0]),
    objective=(LONG, -(2**53)),
    bound=(Fraction(-1, 3), None),
    termination=Termination.FEASIBLE,
    limit=Limit.NODES,
    certificates=(PROOF,),
    route="network",
    build_seconds=0.25,
    solve_seconds=1.5,
    solver={"name": "HiGHS", "version": "1.15.1", "options": {"threads": 1}},
    raw_status="Node limit",
)
NOTHING = replace(HELD, decision=None, objective=None, bound=(None, None), certificates=(), limit=None)
TIMED = replace(HELD, decision=Schedule.of([(1, 1_500_000), None, (0, -3)]))
FLOWING = replace(HELD, decision=NetworkFlow([1, 2]), instance_sha256=NETWORK.sha256)

FRONT = Frontier(
    "lsap-fairness",
    ("cost", "fair"),
    (
        FrontierPoint((LONG, 9), Placement.of([1, None, 0]), (PROOF, PROOF)),
        FrontierPoint((2**60, Fraction(-1, 3)), Placement.of([0, 1, 0]), (PROOF, Certificate("fair", Proof.SOLVER, 0))),
    ),
    False,
    Limit.TIME,
    {"distance": "absolute"},
    ON.sha256,
)
EMPTY = replace(FRONT, points=(), complete=True, limit=None)
SHOWN = Certificate(FEASIBLE, Proof.DUAL, 0, {"potentials": ById(ON.cluster.node_ids, [1], [7]), "scale": 1})

RUN = Schedule.of([(1, 2**53), None, (0, -1_500_000)])

#: Each kind of claim: what it is, and what reads it.
CLAIMS: dict[str, tuple[Any, Any, Callable[..., Any]]] = {
    "solution": (HELD, ON, read_solution),
    "nothing": (NOTHING, ON, read_solution),
    "timed": (TIMED, ON, read_solution),
    "flow": (FLOWING, NETWORK, read_solution),
    "frontier": (FRONT, ON, read_frontier),
    "no point": (EMPTY, ON, read_frontier),
    "nothing feasible": (replace(EMPTY, infeasible=SHOWN), ON, read_frontier),
    "run": (RUN, ON, read_schedule),
    "no run": (Schedule.empty(3), ON, read_schedule),
}


@pytest.mark.parametrize("name", CLAIMS)
@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_round_trip(tmp_path: Path, name: str, suffix: str) -> None:
    """Tests that everything comes back as it was, numbers exactly, what is not held too, and that nothing is left."""
    claim, on, read = CLAIMS[name]
    file = tmp_path / f"claim{suffix}"
    write_claim(claim, on, file)
    assert read(file, on) == claim == parse_claim(file.read_bytes(), on)
    assert list(tmp_path.iterdir()) == [file]
    with pytest.raises(InputError, match="cannot be written"):
        write_claim(claim, on, tmp_path / "no" / file.name)
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path / "none.json", on)


def test_documents() -> None:
    """Tests the forms: every task named, null for nowhere, lists of integers and of "p/q", what moves at points."""
    document = claim_document(HELD, ON)
    assert document["format"] == SOLUTION
    assert document["placement"] == {"t1": "ü", "t 2": None, 'odd".id': "a"}
    assert (document["objective"], document["bound"]) == ([f"{2**80 + 1}/{3**20}", -(2**53)], ["-1/3", None])
    assert document["certificates"][0]["claim"] == "-1/3"
    assert {"optsched", "python", "highspy"} <= set(document["versions"])
    assert "placement" not in claim_document(TIMED, ON)
    assert claim_document(FLOWING, NETWORK)["flow"] == {"a": 1, "b.c": 2}
    document = claim_document(FRONT, ON)
    assert document["format"] == FRONTIER
    assert [point["objective"] for point in document["points"]] == [[f"{2**80 + 1}/{3**20}", 9], [2**60, "-1/3"]]
    assert document["points"][0]["placement"] == {"t1": "ü", "t 2": None, 'odd".id': "a"}
    assert document["points"][1]["moved"] == {"t1": "a", "t 2": "ü"}
    assert claim_document(RUN, ON) == {
        "format": SCHEDULE,
        "instance_sha256": ON.sha256,
        "schedule": {"t1": {"node": "ü", "start": 2**53}, "t 2": None, 'odd".id': {"node": "a", "start": -1500000}},
    }


@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_another_instance(tmp_path: Path, suffix: str) -> None:
    """Tests that claims of another instance are read without decisions (certify is to tell), a schedule is not."""
    file = tmp_path / f"claim{suffix}"
    for claim in (HELD, TIMED):
        write_claim(claim, ON, file)
        assert (read_solution(file, OTHER).decision, read_solution(file, OTHER).instance_sha256) == (None, ON.sha256)
        assert read_decision(file, OTHER) is None
    write_claim(FRONT, ON, file)
    read = read_frontier(file, OTHER)
    assert (len(read), len(read[0].placement), read.instance_sha256) == (2, 0, ON.sha256)
    write_claim(RUN, ON, file)
    with pytest.raises(InputError, match=r"instance_sha256: is of .*: give the instance it is of"):
        read_schedule(file, OTHER)


def test_wrong_nouns(tmp_path: Path) -> None:
    """Tests that nothing is written with the ids of something else."""
    for claim, noun in ((HELD, "solution"), (FRONT, "frontier")):
        with pytest.raises(UsageError, match=f"the {noun} is of another instance than this: give the one it is of"):
            claim_document(claim, OTHER)
    with pytest.raises(UsageError, match="a file of claims holds"):
        write_claim(RUN.placement, ON, tmp_path / "a.json")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="3 tasks"):
        write_claim(Schedule.empty(2), ON, tmp_path / "a.json")
    with pytest.raises(UsageError, match="a frontier file names the ids of what it is of"):
        write_claim(FRONT, NETWORK, tmp_path / "a.json")
    assert list(tmp_path.iterdir()) == []


def faults_of(name: str, change: Callable[[dict[str, Any]], Any], on: Any = None) -> list[str]:
    """What is wrong with the document of a claim that is changed."""
    claim, own, read = CLAIMS[name]
    document = json.loads(json.dumps(claim_document(claim, own)))
    change(document)
    formats = {read_solution: SOLUTION, read_frontier: FRONTIER, read_schedule: SCHEDULE}
    with pytest.raises(InputError) as caught:
        parse_claim(document, on or own, "claim.json", [formats[read]])
    assert caught.value.source == "claim.json"
    return [str(fault) for fault in caught.value.faults]


NUMBER = 'expected an integer, or a rational as "p/q"'
START = "expected a whole number of microseconds, at most 2^53, got"
ONE = "placement: give exactly one of placement and schedule (an instance's) and flow (a network's)"
WHOLE = "give the placement, or in its place moved (what"
MISSING = 'schedule.odd".id: is missing; null does not run'


@pytest.mark.parametrize(
    ("name", "change", "expected"),
    [
        ("solution", lambda d: d.pop("objective"), ["objective: is missing"]),
        ("solution", lambda d: d.update(objective=3), ["objective: expected a list, got 3"]),
        ("solution", lambda d: d.update(objective=[True, 1]), [f"objective[0]: {NUMBER}"]),
        ("solution", lambda d: d.update(termination="DONE"), ["termination: expected one of OPTIMAL"]),
        ("solution", lambda d: d.update(parameters=[]), ["parameters: expected an object"]),
        ("solution", lambda d: d.update(placement=[0, 1]), ["placement: expected an object {task: node or null}"]),
        ("solution", lambda d: d["placement"].update(t9="a"), ['placement.t9: the instance has no task "t9"']),
        ("solution", lambda d: d["placement"].update(t1=[]), ["placement.t1: the instance has no node []"]),
        ("solution", lambda d: d["placement"].pop("t1"), ["placement.t1: is missing; null is nowhere"]),
        ("solution", lambda d: d["certificates"][0].update(kind="sworn"), ["certificates[0].kind: expected one of d"]),
        ("solution", lambda d: d["certificates"][0].update(note=1), ["certificates[0].note: there is no such field"]),
        ("solution", lambda d: d.update(format="optsched-solution/2"), ["format: is no solution file"]),
        ("solution", lambda d: d.update(flow={}), [ONE]),
        (
            "solution",
            lambda d: (d.update(objective=["x", 1], bound=["x"]), d["placement"].update(t1="c")),
            [f"objective[0]: {NUMBER}", f"bound[0]: {NUMBER}", "placement.t1: the instance has no node 'c'"],
        ),
        ("flow", lambda d: d.pop("flow"), [ONE]),
        ("flow", lambda d: d.update(flow=[1, 2]), ["flow: expected an object {arc: units}"]),
        ("flow", lambda d: d.update(placement=d.pop("flow")), ["placement: the solution is of a flow network: it has"]),
        (
            "flow",
            lambda d: d.update(flow={"a": 1.5, "z": 1}),
            ["flow.a: expected a whole number", "flow.z: the network has no arc", "flow.b.c: is missing; 0 is none"],
        ),
        ("flow", lambda d: d["flow"].update(a=2**63), ["flow.a: expected a whole number of units"]),
        ("flow", lambda d: d["flow"].update(a=True), ["flow.a: expected a whole number of units"]),
        ("frontier", lambda d: d.pop("points"), ["points: is missing"]),
        ("frontier", lambda d: d.update(points={}), ["points: expected a list"]),
        ("frontier", lambda d: d.update(components=["one"]), ["components: expected two names, got 1"]),
        ("frontier", lambda d: d.update(complete="yes"), ["complete: expected true or false"]),
        ("frontier", lambda d: d["points"][1].pop("moved"), [f"points[1].placement: {WHOLE}"]),
        ("frontier", lambda d: d["points"][1].update(placement={}), [f"points[1].placement: {WHOLE}"]),
        (
            "frontier",
            lambda d: d["points"][0].update(moved=d["points"][0].pop("placement")),
            ["points[0].moved: there is no point before: give the placement, {task: node or null}"],
        ),
        ("frontier", lambda d: d["points"][0].update(objective=[1, 2, 3]), ["points[0].objective: expected two"]),
        ("frontier", lambda d: d["points"][0]["certificates"].pop(), ["points[0].certificates: expected two, one a"]),
        ("frontier", lambda d: d["points"][0].update(note=1), ["points[0].note: there is no such field"]),
        (
            "frontier",
            lambda d: [
                (point.update(objective=["x", 1]), point.get("placement", point.get("moved")).update(t1="c"))
                for point in d["points"]
            ],
            [
                f"points[0].objective[0]: {NUMBER}",
                f"points[1].objective[0]: {NUMBER}",
                "points[0].placement.t1: the instance has no node",
                "points[1].moved.t1: the instance has no node",
            ],
        ),
        ("run", lambda d: d.pop("schedule"), ["schedule: is missing"]),
        ("run", lambda d: d.update(problem="makespan"), ["problem: there is no such field"]),
        ("run", lambda d: d.update(schedule=None), ["schedule: expected an object {task: {node, start} or null}"]),
        (
            "run",
            lambda d: d.update(schedule={"t1": 3, "t 2": {"node": "b", "start": 1.5}, "t9": None}),
            [
                "schedule.t1: expected an object {node, start}, the start in microseconds, or null",
                "schedule.t 2.node: the instance has no node 'b'",
                f"schedule.t 2.start: {START} 1.5",
                'schedule.t9: the instance has no task "t9"',
                MISSING,
            ],
        ),
        (
            "run",
            lambda d: d["schedule"].update({"t1": {}, "t 2": {"node": "a", "start": 2**53 + 1, "end": 3}}),
            [
                "schedule.t1.node: is missing",
                "schedule.t1.start: is missing",
                "schedule.t 2.end: there is no such field; known: node, start",
                f"schedule.t 2.start: {START} 9007199254740993",
            ],
        ),
        ("run", lambda d: d["schedule"]["t1"].update(start=True), [f"schedule.t1.start: {START}"]),
    ],
)
def test_faults(name: str, change: Callable[[dict[str, Any]], Any], expected: list[str]) -> None:
    """Tests that every fault is reported at once, each with its place."""
    assert cut(faults_of(name, change), expected) == expected


def test_flow_is_no_placement(tmp_path: Path) -> None:
    """Tests that an instance's solution must have a placement or a schedule, and places a task once."""
    shown = faults_of("flow", lambda d: d.update(instance_sha256=ON.sha256), ON)
    assert shown == ["flow: the solution is of an instance: it has a placement or a schedule"]
    text = json.dumps(claim_document(HELD, ON)).replace('"t1": "\\u00fc"', '"t1": "a", "t1": null')
    with pytest.raises(InputError, match=r"placement\.t1: the key is given more than once"):
        parse_claim(text.encode(), ON)


def test_more_placements_than_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that points which move nothing, each a whole placement all the same, are refused past a size."""
    document = claim_document(FRONT, ON)
    monkeypatch.setattr(claim_files, "_MOST_BYTES", 47)
    text = "2 placements of 3 tasks take 48 bytes; at most 47 are read"
    with pytest.raises(InputError, match=f"points: {text}"):
        parse_claim(document, ON)
    with pytest.raises(UsageError, match=text):
        claim_document(FRONT, ON)


def test_each_format(tmp_path: Path) -> None:
    """Tests that `read_claim` gives what a file is, and that no claim is taken for an instance or for another's."""
    file = tmp_path / "claim.json"
    for claim, message in ((HELD, "a solution"), (FRONT, "a frontier")):
        write_claim(claim, ON, file)
        assert read_claim(file, ON) == claim
        with pytest.raises(InputError, match=f"this is {message}, not an instance; optsched certify INSTANCE"):
            optsched.load(file)
    with pytest.raises(InputError, match="format: it is of an instance, and this is a flow network"):
        read_claim(file, NETWORK)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"format": "optsched-leximin/1"}', "an ordered vector of utilities, which optsched no longer reads"),
        ('{"format": "optsched-other/1"}', "is no solution file"),
        ("", "the file is empty"),
        ("[1]", "is no solution file"),
        ("\x00", "is no JSON here"),
        ('{"a":' * 100_000, "deep"),
    ],
)
def test_others(tmp_path: Path, text: str, message: str) -> None:
    """Tests that what is none of these, or not whole, is one line."""
    file = tmp_path / "claim.json"
    file.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_claim(file, optsched.load("papers/fsy-not-optimal"))
    assert len(str(caught.value).splitlines()) == 1


def long_claim(kind: str, number: Any) -> tuple[Instance, Any]:
    """An instance, and a solution or a frontier of it with a long number as claim."""
    problem = optsched.problem("latency", "papers/fsy-not-optimal")
    if kind == "solution":
        found = optsched.solve(problem)
        return problem.instance, replace(found, certificates=(replace(found.certificates[0], claim=number),))
    front = optsched.frontier(problem)
    first, second = front.points[0].certificates
    point = replace(front.points[0], certificates=(first, replace(second, claim=number)))
    return problem.instance, replace(front, points=(point, *front.points[1:]))


@pytest.mark.parametrize("kind", ["solution", "frontier"])
@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_bug_numbers_were_written_that_no_reader_takes(tmp_path: Path, kind: str, suffix: str) -> None:
    """Tests that the longest numbers are read back from each kind of file, and longer ones leave no file."""
    most = 10**MOST_DIGITS
    file = tmp_path / f"claim{suffix}"
    for number in (Fraction(1 - most, most - 2), 1 - most, 10**59, 10**60, Fraction(3, 1)):
        instance, given = long_claim(kind, number)
        write_claim(given, instance, file)
        again = read_claim(file, instance)
        entries = again.points[0].certificates if isinstance(again, Frontier) else again.certificates
        assert number in [entry.claim for entry in entries]
    file.unlink()
    for number in (most, Fraction(1, most)):
        instance, given = long_claim(kind, number)
        with pytest.raises(TooLarge, match="a number has more than 4,000 digits, which no file holds; give shorter"):
            write_claim(given, instance, file)
        assert list(tmp_path.iterdir()) == []
