"""Every fault of a document with its place; `test_hostile_files` has broken text of every format."""

import contextlib
import copy
import json
import random
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from input_files import cut, told_of
from strategies import FULL, NETWORK

from optsched.core.decimals import spelled
from optsched.core.errors import Fault, InputError
from optsched.core.instance import Cluster, Instance, Workload
from optsched.core.instance_faults import DEEPEST
from optsched.instances.claim_files import read_solution
from optsched.instances.documents.diagnosis import Doubled, decode, json_object, key_places, read_number
from optsched.instances.files import from_document, parse


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container and key in a document."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from places(value[key])


def test_mutants_of_documents() -> None:
    """Tests that documents of Python objects with hostile values are read or refused."""
    rng = random.Random(0)
    strange = [float("nan"), float("inf"), 10**400, object(), b"x", {1: 2}, (1, 2), np.int64(3), np.float64(2), {1, 2}]
    for _ in range(200):
        document = copy.deepcopy(rng.choice([FULL, NETWORK]))
        container, key = rng.choice(list(places(document)))
        container[key] = rng.choice(strange)
        with contextlib.suppress(InputError):
            from_document(document)


def refused(text: str | bytes) -> list[str]:
    """The faults of a text, as lines."""
    with pytest.raises(InputError) as caught:
        parse(text)
    return [str(fault) for fault in caught.value.faults]


def document(nodes: str = "", tasks: str = "", rest: str = "") -> str:
    """The text of an instance with a sound node and a sound task, and whatever is given after them."""
    nodes, tasks = (", " + text if text else "" for text in (nodes, tasks))
    return (
        f'{{"format": "optsched/1", "nodes": [{{"id": "n1"}}{nodes}], "tasks": [{{"id": "t1"}}{tasks}]'
        f"{', ' if rest else ''}{rest}}}"
    )


def test_all_of_ten_faults() -> None:
    """Tests that a file with ten faults of different kinds is refused with all ten, in the order of their places."""
    text = """{"format": "optsched/1", "nmae": "ten", "time": NaN,
      "nodes": [{"id": "n1", "slots": "2"}, {"id": "n1"}, {"id": "n2", "idle_slots": 5}, {"id": "n3", "load": -1}],
      "tasks": [{"id": "t1", "replicas": ["n1", "n93", "n1"]}, {"id": "t2", "size": 1, "size": 2},
                {"id": "t3", "kind": "Map", "job": "j1"}, {"size": 9007199254740993}]}"""
    assert refused(text) == [
        "time: NaN is no number",
        'nodes[0].slots: expected an integer, 0 or more, got "2"; write it without quotes',
        'nodes[1].id: "n1" is the id of nodes[0] already',
        "nodes[2].idle_slots: 5 is more than its 1 slots",
        "nodes[3].load: expected a number, 0 or more, got -1",
        'tasks[0].replicas[1]: no node "n93"',
        'tasks[0].replicas[2]: node "n1" is named twice',
        "tasks[1].size: the key is given more than once",
        'tasks[2].kind: expected one of map, reduce, got "Map"; did you mean "map"?',
        'tasks[2].job: no job "j1"',
        "tasks[3].size: 9007199254740993 is past 2^53",
        "tasks[3].id: is missing",
        'nmae: there is no such field; did you mean "name"?',
    ]


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("", ["the file is empty"]),
        (b"\xef\xbb\xbf{}", ["byte 0: starts with a byte order mark; save it as UTF-8 without one"]),
        ("[" * 200_000, ["is nested too deep; an instance is a few levels deep"]),
        ('{"format": "optsched/1"', ["line 1, column 24: is no JSON here: Expecting ',' delimiter"]),
        ("[]", ['expected an object that begins {"format": "optsched/1", ...}, got a list']),
        ('{"format": "optsched/2", "tasks": []}', ['format: unknown format "optsched/2"; known: "optsched/1"']),
        ('{"tasks": [], "nodes": {}}', ["format: is missing; known:", "nodes: expected a list, got an object"]),
        ('{"format": "optsched/1", "nodes": []}', ["tasks: is missing"]),
        (document(nodes="5"), ["nodes[1]: expected an object, got 5"]),
        (document(nodes='{"id": ""}'), ["nodes[1].id: must not be empty"]),
        (document(nodes='{"id": "\\r"}'), ["nodes[1].id: '\\r' must be a non-empty string of printable characters"]),
        (document(rest='"parameters": {"p": {"a": [NaN]}}'), ["parameters.p.a[0]: NaN is no number"]),
        (document(nodes=f'{{"id": "{"x" * 300}"}}'), ["nodes[1].id: has 300 characters; at most 256 are read"]),
        (document(nodes='{"id": "b", "slots": true}'), ["nodes[1].slots: expected an integer, 0 or more, got true"]),
        (document(nodes='{"id": "b", "capacity": {"cpu": -1}}'), ["nodes[1].capacity.cpu: expected a number, 0 or"]),
        (document(tasks='{"id": "u", "replicas": "n1"}'), ['tasks[1].replicas: expected a list, got "n1"']),
        (document(tasks='{"id": "u", "size": -1e400}'), ["tasks[1].size: -1e400 is past 2^53"]),
        (document(tasks='{"id": "u", "size": 9007199254740992.5}'), ["tasks[1].size: 9007199254740992.5 is past 2^53"]),
        (document(tasks='{"id": "u", "rate_in": {"c9": "x"}}'), ["tasks[1].rate_in.c9: expected a number, 0 or more"]),
        (
            document(tasks='{"id": "u", "times": {"node": -1, "rack": "3", "racks": 2, "off_rack": 1e16}}'),
            [
                "tasks[1].times.node: expected a number, 0 or more, got -1",
                'tasks[1].times.rack: expected a number, 0 or more, got "3"; write it without quotes',
                'tasks[1].times.racks: there is no such field; did you mean "rack"?',
                "tasks[1].times.off_rack: 1e16 is past 2^53",
            ],
        ),
        (
            document(tasks='{"id": "u", "times": {"rack": 1}}'),
            [f"tasks[1].times.{name}: is missing" for name in ("node", "off_rack")],
        ),
        (
            document(tasks='{"id": "u", "times": {"node": 1, "off_rack": 2, "off_rack": 3}}'),
            ["tasks[1].times.off_rack: the key is given more than once"],
        ),
        (document(rest='"jobs": [{"id": "j", "group": "g"}]'), ['jobs[0].group: no group "g"']),
        (
            document(rest='"parameters": {"p": {"a": ' + "[" * 100 + "NaN" + "]" * 100 + "}}"),
            [f"parameters.p.a{'[0]' * DEEPEST}: is nested more than 32 deep"],
        ),
        (
            document(rest='"shuffle": [{"map": "t1", "reduce": "t1", "size": 1}, {"map": "t7", "reduce": 5}]'),
            [
                'shuffle[0].reduce: task "t1" is no reduce',
                "shuffle[1].reduce: expected a string, got 5",
                "shuffle[1].size: is missing",
                'shuffle[1].map: no task "t7"',
            ],
        ),
        (
            document(rest='"pairs": {"cost": [[1, 2], [3]], "demand": {"cpu": [[1]]}, "allowed": [[1]]}'),
            [
                "pairs.allowed[0][0]: expected true or false, got 1",
                "pairs.cost: has 2 rows, not 1",
                "pairs.cost[0]: has 2 entries, not 1: one a node",
                "pairs.demand.cpu: no node has this resource in its capacity",
            ],
        ),
        (document(rest='"topology": {}'), ["topology: give exactly one of distance, hops, rate and links, not"]),
        (
            document(rest='"topology": {"hops": {"node": 0, "rack": 1, "off_rak": 2}}'),
            ["topology.hops.off_rak: there is no such field; did you mean", "topology.hops.off_rack: is missing"],
        ),
        (
            document(rest='"topology": {"links": [{"from": "n1", "to": "s", "rate": 0}]}'),
            ["topology.links[0].rate: expected a number above 0, got 0"],
        ),
        (
            '{"format": "optsched-network/1", "nodes": [{"id": "a", "supply": 1}],'
            ' "arcs": [{"tail": "a", "head": "b", "lower": 3, "capacity": 2}, {"tail": "a", "cost": 1.5}]}',
            [
                "nodes.supply: the supplies add up to 1, not 0: what enters must leave somewhere",
                "arcs[0].lower: 3 is more than the capacity 2",
                'arcs[0].head: no node "b"',
                "arcs[1].cost: expected an integer, got 1.5",
                "arcs[1].head: is missing",
            ],
        ),
    ],
)
def test_each_fault_has_its_message(text: str | bytes, faults: list[str]) -> None:
    """Tests that each kind of fault is reported with its place, its value and how to mend it, and nothing beside it."""
    assert cut(sorted(refused(text)), sorted(faults)) == sorted(faults)


def test_many_faults_are_quick() -> None:
    """Tests that unknown keys and dangling references are all listed, ten times as many in far less than 100 times."""

    def seconds(faults: int) -> float:
        keys = ", ".join(f'"k{row}": 0' for row in range(faults))
        replicas = ", ".join(f'"x{row}"' for row in range(faults))
        started = time.process_time()
        assert len(refused(document(tasks=f'{{"id": "u", {keys}}}'))) == faults
        assert len(refused(document(tasks=f'{{"id": "u", "replicas": [{replicas}]}}'))) == faults
        return time.process_time() - started

    assert seconds(10_000) < 40 * seconds(1_000)


#: Exponents that no number needs, some longer than any integer that is read.
ABSURD = ("1e400", "-1e400", "1e999999999999999999", "-1E+99999999999999999999999", "9e" + "9" * 5000, "1e308")


@pytest.mark.parametrize("text", ABSURD)
def test_absurd_exponents(tmp_path: Path, text: str) -> None:
    """Tests that a number with an absurd exponent is past 2^53, in instances and in solution files."""
    given = f'{{"format": "optsched/1", "nodes": [{{"id": "n1", "load": {text}}}], "tasks": []}}'
    message = told_of(lambda: parse(given))
    assert message.startswith("nodes[0].load: ")
    assert "past 2^53" in message or "is no number" in message
    path, instance = tmp_path / "solution.json", Instance(Cluster(["n1"]), Workload(["t1"]))
    path.write_text(f'{{"format": "optsched-solution/1", "bound": [{text}], "objective": {text}}}')
    assert str(path) in told_of(lambda: read_solution(path, instance))
    decode(f"[{text}, -{text.lstrip('-')}]".encode())


EXACT: list[int | Fraction] = [0, -3, 2**80, Fraction(1, 3), Fraction(-7, 2), Fraction(10**3999, 7)]


@pytest.mark.parametrize(
    ("text", "value"),
    [*((spelled(value), value) for value in EXACT), ("6/4", Fraction(3, 2)), ("6/3", 2), ("-0/5", 0), ("3/1", 3)],
)
def test_numbers_come_back(text: int | str, value: int | Fraction) -> None:
    """Tests that what is written is read as the same number, of any size, and a rational is shortened, to an integer
    where no denominator is left.
    """
    faults: list[Fault] = []
    again = read_number(text, "bound[0]", faults)
    assert (again, type(again), faults) == (value, type(value), [])


def test_doubled_keys_are_kept_in_the_order_of_the_text() -> None:
    """Tests that the last value counts, as in `json`, and that each doubled key is shown once, wherever it stands."""
    text = '{"b": {"x": 1, "y": 2}, "a": 1, "c": [{"k": 1, "k": 2, "k": 3}], "b": 4, "a": 5}'
    found = json.loads(text, object_pairs_hook=json_object)
    assert isinstance(found, Doubled)
    assert found == {"b": 4, "a": 5, "c": [{"k": 3}]}
    assert (found.doubled, found["c"][0].doubled) == (("b", "a"), ("k",))
    assert type(json_object([("a", 1), ("b", 2)])) is dict


@pytest.mark.parametrize(
    ("text", "places"),
    [
        (b'{"a": 1, "b": {"c": [{"d": 2}]}}', 4),
        (b'{"a" : 1, "b"\n: ":"}', 3),
        (b'{"a": 1, "a": 2}', 2),
        (b'["a:b"]', 0),
        (b'["\\":"]', 1),
    ],
)
def test_places_of_keys(text: bytes, places: int) -> None:
    """Tests that each key is a place, doubled ones too, and a string that begins or goes on with a colon too."""
    assert key_places(text) == places
