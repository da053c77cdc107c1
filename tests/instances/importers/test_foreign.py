"""Importers of DIMACS, OR-Library, SLS and SWIM files: what they read, every fault with its line, and broken files."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from optsched.errors import InputError, UsageError
from optsched.instance import Instance
from optsched.instances.files import from_document
from optsched.instances.importers.dimacs import import_dimacs
from optsched.instances.importers.foreign import Imported
from optsched.instances.importers.orlib import import_orlib_assign, import_orlib_gap
from optsched.instances.importers.sls import import_sls
from optsched.instances.importers.swim import import_swim
from optsched.network import FlowNetwork
from optsched.problems import problem
from optsched.routes import solve

DIMACS = "c a comment\np min 3 3\nn 1 4\nn 3 -4\n\na 1 2 0 4 2\na 1 2 1 3 -5\na 2 3 0 5 08\n"
GAP = "2 3\n 4 5 6\n 7 8 9\n 1 1 2\n 2 1 1\n 3 2\n"
ASSIGN = "2\n 4 1\n 2 3\n"
SLS = (
    '{"job.id": "j1", "job.start.ms": 1000, "job.queue.name": "q1", "job.tasks": ['
    '{"container.host": "/r1/h1", "container.start.ms": 1500, "container.end.ms": 4000, "container.type": "map"},'
    '{"container.host": "/r1/h2", "container.start.ms": 1500, "container.end.ms": 4000, "container.type": "map"}]}\n'
    '{"job.id": "j2", "job.start.ms": 3000, "job.queue.name": "q2", "job.tasks": ['
    '{"container.host": "/r1/h1", "container.start.ms": 3500, "container.end.ms": 5000, "container.type": "map"},'
    '{"container.host": "/r1/h1", "container.start.ms": 4000, "container.end.ms": 6000, "container.type": "reduce"}]}\n'
)
NODES = '{"rack": "r1", "nodes": [{"node": "h1", "memory-mb": 2048, "vcores": 6}, {"node": "h2"}]}\n'
QUEUES = (
    '<?xml version="1.0"?><allocations><queue name="q1"><weight>0.25</weight>'
    '<queue name="inner"><weight>3</weight></queue></queue><pool name="q2"/></allocations>'
)
SWIM = "job0\t5\t5\t200000000\t1000000\t0\njob1\t9\t4\t0\t0\t7\njob2\t9\t0\t0\t0\t0\n"


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    """Writes a text as a file."""

    def write(text: str | bytes, name: str = "some.txt") -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


def noun(imported: Imported) -> Any:
    """The instance or network that the one document is."""
    (document,) = imported.documents
    return from_document(document)


def faults(importer: Callable[..., Imported], *paths: Path) -> list[str]:
    """Every fault that an importer tells of."""
    with pytest.raises(InputError) as caught:
        importer(*paths)
    assert caught.value.source == str(paths[-1])
    return [str(fault) for fault in caught.value.faults]


# DIMACS ------------------------------------------------------------------------------------------------------------


def test_dimacs(file: Callable[..., Path]) -> None:
    """Tests that parallel arcs, lower limits and negative costs stay what they are, and that DIMACS reads back."""
    network = noun(import_dimacs(file(DIMACS, "net.min")))
    assert isinstance(network, FlowNetwork)
    assert (network.name, network.source) == ("net", "DIMACS file net.min")
    assert network.supply.tolist() == [4, 0, -4]
    assert (network.lower.tolist(), network.capacity.tolist(), network.cost.tolist()) == (
        [0, 1, 0],
        [4, 3, 5],
        [2, -5, 8],
    )
    again = noun(import_dimacs(file(network.to_dimacs(), "again.min")))
    assert again.sha256 == network.sha256
    assert noun(import_dimacs(file(gzip.compress(DIMACS.encode()), "net.in.gz"), name="other")).name == "other"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", ['there is no line "p min NODES ARCS"']),
        ("c only\n", ['there is no line "p min NODES ARCS"']),
        ("n 1 2\np min 1 0\n", ['line 1: stands before the line "p min NODES ARCS"']),
        ("p max 1 0\n", ['line 1: is a problem of kind "max"; only min (minimum-cost flow) is read']),
        ("p min 1\nn 1 1\n", ["line 1: has 3 words; it must be p min NODES ARCS"]),
        ("p min 1 0\np min 1 0\n", ["line 2: is a second problem; the first is on line 1"]),
        ("p min 99999999999 0\n", ["line 1: 99999999999 nodes are more than the 10000000 that are read"]),
        ("p min 1 1\n", ["line 1: says 1 arcs, but there are 0"]),
        (
            "p min 1 0\nn 1 4\n",
            ["line 1: the supplies of its nodes add up to 4, not 0: what enters must leave somewhere"],
        ),
        (
            "p min 2 2\nn 3 1\nn 1 x\nn 1 0\nn 1 5\nz 1\na 1 2 5 4 0\na 0 2 -1 4 1e3\na 1 2 0 4\n",
            [
                "line 2: the node is 3; nodes are numbered from 1 to 2",
                'line 3: the supply must be a whole number, not "x"',
                "line 5: node 1 has a supply on line 4 already",
                'line 6: begins with "z"; a line is a comment (c), p min NODES ARCS, n NODE SUPPLY, '
                "a TAIL HEAD LOWER CAPACITY COST",
                "line 7: the lower limit 5 is more than the capacity 4",
                "line 8: the tail is 0; nodes are numbered from 1 to 2",
                "line 8: the lower limit is -1; it must be 0 or more",
                'line 8: the cost must be a whole number, not "1e3"',
                "line 9: has 5 words; it must be a TAIL HEAD LOWER CAPACITY COST",
            ],
        ),
        (
            "p min 1 1\na 1 1 0 9007199254740993 " + "9" * 5000 + "\n",
            [
                'line 2: the capacity "9007199254740993" is past 2^53',
                'line 2: the cost "' + "9" * 36 + "... is past 2^53",
            ],
        ),
    ],
)
def test_dimacs_faults(file: Callable[..., Path], text: str, told: list[str]) -> None:
    """Tests that each fault is told with its line, all of them at once."""
    assert faults(import_dimacs, file(text)) == told


# OR-Library --------------------------------------------------------------------------------------------------------


def test_gap(file: Callable[..., Path]) -> None:
    """Tests that matrices of agents x jobs become tasks x nodes, and the optimum by hand in either sense."""
    least = noun(import_orlib_gap(file(GAP, "gap1.txt")))
    assert least.workload.pairs.cost.tolist() == [[4, 7], [5, 8], [6, 9]]
    assert least.workload.pairs.demand["weight"].tolist() == [[1, 2], [1, 1], [2, 1]]
    assert (least.name, least.cluster.capacity["weight"].tolist()) == ("gap1", [3, 2])
    assert solve(problem("generalized-assignment", least)).objective == (18,)
    most = noun(import_orlib_gap(file(GAP, "gap1.txt"), "max"))
    assert solve(problem("generalized-assignment", most)).objective == (21,)


def test_gap_sets(file: Callable[..., Path]) -> None:
    """Tests that a file of several sets gives the one that is asked for, and asks where none is."""
    path = file("2\n" + GAP + "1 1  5  2  2.5\n", "gap2.txt")
    second = noun(import_orlib_gap(path, number=2))
    assert (second.name, second.source) == ("gap2-2", "OR-Library generalized-assignment file gap2.txt, set 2")
    assert second.cluster.capacity["weight"].tolist() == [2.5]
    assert noun(import_orlib_gap(path, number=1)).workload.pairs.cost.shape == (3, 2)
    with pytest.raises(UsageError, match="holds 2 sets; choose one by its number, 1 to 2"):
        import_orlib_gap(path)
    with pytest.raises(UsageError, match="has no set 3; it holds 2"):
        import_orlib_gap(path, number=3)
    for importer in (import_orlib_gap, import_orlib_assign):
        with pytest.raises(UsageError, match='sense must be "min" or "max"'):
            importer(path, "least")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", ["holds no number"]),
        ("3", ["line 1: is too short: expected agents, jobs and their numbers"]),
        ("a 2\n", ['line 1: expected how many there are, got "a"']),
        (
            "2 3\n 1 2\n",
            [
                "line 1: 2 agents and 3 jobs need 14 more numbers, but 2 follow; "
                "nor are these 2 sets one after the other"
            ],
        ),
        ("1\n1 x 3\n", None),
        ("2\n1 1 5 1 1\n1 1 5\n", None),
        ("0\n1\n2\n", None),
        (
            "1 2\n 1 nan\n -1 1e17\n -4\n",
            [
                'line 2: expected a number, got "nan"',
                'line 3: "-1" is negative',
                'line 3: "1e17" is past 2^53',
                'line 4: "-4" is negative',
            ],
        ),
    ],
)
def test_gap_faults(file: Callable[..., Path], text: str, told: list[str] | None) -> None:
    """Tests that each fault is told with its line, all of them at once."""
    found = faults(import_orlib_gap, file(text))
    assert found == told if told is not None else "nor are these" in found[0]


def test_assign(file: Callable[..., Path]) -> None:
    """Tests that every item has a place of its own, at the optimum by hand, proved by prices."""
    instance = noun(import_orlib_assign(file(ASSIGN, "assign2.txt")))
    solution = solve(problem("generalized-assignment", instance))
    assert (instance.name, solution.objective, str(solution.certificate)) == ("assign2", (3,), "dual")
    assert solve(problem("generalized-assignment", instance, sense="max")).objective == (7,)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", ["holds no number"]),
        ("x", ['line 1: expected how many there are, got "x"']),
        ("2\n 1 2\n 3\n", ["line 3: 2 items need 4 costs, but 3 numbers follow"]),
        ("1\n 1 2\n", ["line 2: 1 items need 1 costs, but 2 numbers follow"]),
        ("1\n 1,5\n", ['line 2: expected a number, got "1,5"']),
    ],
)
def test_assign_faults(file: Callable[..., Path], text: str, told: list[str]) -> None:
    """Tests that each fault is told with its line."""
    assert faults(import_orlib_assign, file(text)) == told


# SLS ---------------------------------------------------------------------------------------------------------------


def test_sls(file: Callable[..., Path]) -> None:
    """Tests jobs, nodes, racks, resources, slots and queue weights, and what is labelled as assumed."""
    imported = import_sls(file(SLS, "jobs.json"), file(NODES, "nodes.json"), file(QUEUES, "fair.xml"))
    instance = noun(imported)
    assert imported.notes == ()
    assert instance.name == "jobs"
    assert instance.cluster.node_ids.tolist() == ["h1", "h2"]
    assert instance.cluster.capacity["vcores"].tolist()[0] == 6
    assert instance.cluster.slots.tolist() == [2, 2]
    assert instance.workload.task_ids.tolist() == ["j1_c1", "j1_c2", "j2_c1", "j2_c2"]
    assert instance.workload.kind.tolist() == [0, 0, 0, 1]
    assert [row.tolist() for row in instance.replicas] == [[0], [1], [0], []]
    assert instance.workload.arrival.tolist() == [0, 2]
    assert instance.workload.duration.tolist() == [2.5, 2.5, 1.5, 2.0]
    assert instance.workload.group_ids.tolist() == ["q1", "q2"]
    assert instance.workload.group_weight.tolist() == [0.25, 1]
    assert set(instance.labels) == {"state", "replicas", "slots", "arrival", "duration", "weight"}
    assert solve(problem("lsap", instance)).objective == (0,)
    plain = noun(import_sls(file(SLS), slots="3", name="plain"))
    assert (plain.name, plain.cluster.slots.tolist(), plain.cluster.rack_ids.tolist()) == ("plain", [3, 3], ["r1"])
    assert plain.workload.group_weight.tolist() == [1, 1]


def test_sls_oddities(file: Callable[..., Path]) -> None:
    """Tests the notes on what is odd, and that what is odd is left out."""
    nodes = NODES.replace('"r1"', '"r9"').replace('"h2"', '"h3"')
    text = SLS.replace('"container.end.ms": 4000', '"container.end.ms": 400').replace('"job.start.ms": 3000, ', "")
    imported = import_sls(file(text, "a"), file(nodes, "b"), file(QUEUES.replace("q2", "q3"), "c"))
    instance = noun(imported)
    assert [row.tolist() for row in instance.replicas] == [[0], [], [0], []]
    assert "queue q2 has no weight in the allocation file; it weighs 1" in imported.notes
    told = " ".join(imported.notes)
    for what in ("on hosts that the node file does not have", "name another rack", "ended before they started"):
        assert what in told
    bare = '{"job.id": "j", "job.tasks": [{"container.type": "map", "container.host": "h"}, {"container.type": "map"}]}'
    assert "groups" not in import_sls(file(bare)).documents[0]
    assert import_sls(file(bare + '{"job.id": "cut", "job', "cut")).notes


@pytest.mark.parametrize("slots", ["many", 0, True])
def test_sls_slots(file: Callable[..., Path], slots: Any) -> None:
    """Tests that slots are inferred or a number."""
    with pytest.raises(UsageError, match='slots must be "inferred" or a number of at least 1'):
        import_sls(file(SLS), slots=slots)


@pytest.mark.parametrize(
    ("jobs", "told"),
    [
        ("", ["there is no complete job in it; an SLS job file is JSON objects, one after the other"]),
        ("[1]", ["job 1: must be an object, not a list"]),
        ('{"job.id": "j", "job.tasks": []}', ["the jobs name no host, and there is no node file"]),
        (
            '{"job.id": "' + "j" * 201 + '", "job.start.ms": -5, "job.tasks": [{"container.type": "am"}, {}]} '
            '{"job.queue.name": ""}',
            [
                'job 1.job.tasks[0].container.type: must be map or reduce, not "am"',
                "job 1.job.tasks[1].container.type: is missing",
                "job 1.job.start.ms: -5 is negative; only -1 stands for unknown",
                'job 1.job.id: "' + "j" * 36 + "... is longer than 200 characters",
                "job 2.job.id: is missing",
                'job 2.job.queue.name: must be a non-empty string of printable characters, not ""',
            ],
        ),
        (SLS.replace('"j2"', '"j1"'), ['job 2.job.id: "j1" is the id of another job too']),
        (
            SLS.replace("/r1/h2", "/r2/h1"),
            ['j1, container 2: host "h1" is in rack "r2" here, and in "r1" before'],
        ),
    ],
)
def test_sls_job_faults(file: Callable[..., Path], jobs: str, told: list[str]) -> None:
    """Tests that each fault of a job file is told with its place, all of them at once."""
    assert faults(import_sls, file(jobs)) == told


@pytest.mark.parametrize(
    ("nodes", "told"),
    [
        ("", ["there is no node in it; an SLS node file is {rack, nodes: [{node}]}, one a rack"]),
        (NODES[:-10], ["the file ends within rack 1; the complete ones before it are kept"]),
        (
            '{"nodes": [{"node": "' + "n" * 201 + '"}, {"node": "a"}, {"node": "a", "vcores": "6"}, {}]}',
            [
                "rack 1.rack: is missing",
                'rack 1.nodes[0].node: "' + "n" * 36 + "... is longer than 200 characters",
                'rack 1.nodes[2].vcores: must be a whole number, not "6"',
                'rack 1.nodes[2].node: "a" is the name of another node too',
                "rack 1.nodes[3].node: is missing",
            ],
        ),
    ],
)
def test_sls_node_faults(file: Callable[..., Path], nodes: str, told: list[str]) -> None:
    """Tests that each fault of a node file is told with its place."""
    assert faults(import_sls, file(SLS, "jobs"), file(nodes, "nodes")) == told


@pytest.mark.parametrize(
    ("queues", "told"),
    [
        ("<allocations>", ["line 1, column 14: malformed XML: no element found"]),
        ('<!DOCTYPE x [<!ENTITY a "b">]><allocations/>', ["declares a document type; an allocation file needs none"]),
        ("<queues/>", ['the outermost element is "queues", not allocations']),
        (
            '<allocations><queue/><queue name="a"><weight>x</weight></queue><queue name="b"><weight>-1</weight></queue>'
            '<queue name="c"><weight>nan</weight><weight>1</weight></queue><queue name="a"/></allocations>',
            [
                "root.?: a queue needs a name of printable characters",
                'root.a.weight: must be a number, not "x"',
                'root.b.weight: must be a finite number, 0 or more, not "-1"',
                "root.c.weight: is given twice",
                'root.c.weight: must be a finite number, 0 or more, not "nan"',
                "root.a: is given twice",
            ],
        ),
    ],
)
def test_sls_queue_faults(file: Callable[..., Path], queues: str, told: list[str]) -> None:
    """Tests that each fault of an allocation file is told with its place, and entities are not even read."""
    assert faults(import_sls, file(SLS, "jobs"), file(NODES, "nodes"), file(queues, "queues")) == told


def test_cut_compressed_files(file: Callable[..., Path]) -> None:
    """Tests that compressed data that end too early are told, in each format of lines and in XML."""
    cut = file(gzip.compress(random.Random(0).randbytes(400).hex().encode())[:-40], "cut.gz")
    for importer in (import_dimacs, import_orlib_gap, import_orlib_assign, import_swim):
        assert faults(importer, cut) == ["the compressed data were cut before their end"]
    assert "cut before their end" in faults(import_sls, file(SLS, "jobs"), file(NODES, "nodes"), cut)[0]


# SWIM --------------------------------------------------------------------------------------------------------------


def test_swim(file: Callable[..., Path]) -> None:
    """Tests that arrivals and sizes are the trace's, the rest generated from the seed, and that the labels say so."""
    imported = import_swim(file(SWIM, "fb.tsv"), nodes=5, seed=3)
    instance = noun(imported)
    assert isinstance(instance, Instance)
    assert instance.workload.task_ids.tolist() == ["job0_m1", "job0_m2", "job0_r1", "job1_m1", "job1_r1", "job2_m1"]
    assert instance.workload.size.tolist() == [128, 72, 1, 0, 0, 0]
    assert instance.workload.arrival.tolist() == [5, 9, 9]
    assert instance.workload.filter_ratio.tolist()[0] == 0.005
    assert instance.replicas.lengths.tolist() == [3, 3, 0, 3, 0, 3]
    assert instance.cluster.slots.tolist() == [2] * 5
    assert all(instance.labels[name].startswith("generated") for name in ("tasks", "nodes", "replicas"))
    assert all(instance.labels[name].startswith("recorded") for name in ("arrival", "size", "filter_ratio"))
    path = file(SWIM, "fb.tsv")
    assert noun(import_swim(path, nodes=5, seed=3)).sha256 == instance.sha256
    assert noun(import_swim(path, nodes=5, seed=4)).sha256 != instance.sha256
    first = noun(import_swim(path, first=1, replicas=0, name="one"))
    assert (first.name, len(first.workload), first.replicas.lengths.sum()) == ("one", 3, 0)
    assert first.source == "SWIM trace fb.tsv, the first 1 jobs"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"nodes": 2}, "3 replicas need as many nodes, and there are 2"),
        ({"block": 0}, "block is 0; it must be 1 or more"),
        ({"first": 0}, "first is 0; it must be 1 or more"),
        ({"seed": -1}, "seed is -1; it must be 0 or more"),
    ],
)
def test_swim_options(file: Callable[..., Path], options: dict[str, int], told: str) -> None:
    """Tests that numbers out of range are wrong usage."""
    with pytest.raises(UsageError, match=told):
        import_swim(file(SWIM), **options)


def test_swim_does_not_fill_the_memory(file: Callable[..., Path]) -> None:
    """Tests that a size that makes too many maps is refused before any is made."""
    with pytest.raises(UsageError, match="blocks of 1 MB make 9007199255 maps, over 2000000"):
        import_swim(file(f"j\t0\t0\t{2**53}\t0\t0\n"), block=1)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "",
            [
                "holds no job; a line has job id, submit time, gap to the job before, map input bytes, shuffle bytes, "
                "reduce output bytes"
            ],
        ),
        (
            "a\t0\t0\t1\t1\nb\t-1\tx\t1.5\t1\t1\nb\t1\t1\t1\t1\t99999999999999999\n" + "c" * 101 + "\t1\t1\t1\t1\t1\n",
            [
                "line 1: has 5 columns, not 6: job id, submit time, gap to the job before, map input bytes, "
                "shuffle bytes, reduce output bytes",
                "line 2: submit time is -1; it must be 0 or more",
                'line 2: gap to the job before must be a whole number, not "x"',
                'line 2: map input bytes must be a whole number, not "1.5"',
                'line 3: reduce output bytes "99999999999999999" is past 2^53',
                'line 3: job "b" is on line 2 already',
                'line 4: the job id "' + "c" * 36 + "... must be up to 100 printable characters",
            ],
        ),
    ],
)
def test_swim_faults(file: Callable[..., Path], text: str, told: list[str]) -> None:
    """Tests that each fault is told with its line, all of them at once."""
    assert faults(import_swim, file(text)) == told


# Broken files ------------------------------------------------------------------------------------------------------


def broken(text: str, rng: random.Random) -> bytes:
    """A text with some of its bytes, words or lines changed, doubled or cut."""
    data = text.encode()
    for _ in range(rng.randint(1, 3)):
        at, to = sorted(rng.randrange(len(data) + 1) for _ in range(2))
        pick = rng.randrange(6)
        if pick == 0:
            data = data[:at]
        elif pick == 1:
            data = data[:at] + data[to:]
        elif pick == 2:
            data = data[:to] + data[at:to] + data[to:]
        elif pick == 3:
            data = data[:at] + rng.randbytes(rng.randint(1, 3)) + data[at:]
        elif pick == 4:
            odd = [b"-1", b"1e9", b"nan", b"99999999999999999999", b"\x00", b"{}", b"null", b"\t", b"\n", "é".encode()]
            data = data[:at] + rng.choice(odd) + data[at:]
        else:
            words = data.split(b" ")
            rng.shuffle(words)
            data = b" ".join(words)
        data = data or b" "
    return data


IMPORTERS: dict[str, Callable[[Callable[..., Path], random.Random], Imported]] = {
    "dimacs": lambda file, rng: import_dimacs(file(broken(DIMACS, rng))),
    "orlib-gap": lambda file, rng: import_orlib_gap(file(broken(GAP, rng)), number=1),
    "orlib-assign": lambda file, rng: import_orlib_assign(file(broken(ASSIGN, rng))),
    "sls": lambda file, rng: import_sls(file(broken(SLS, rng))),
    "sls-nodes": lambda file, rng: import_sls(file(SLS, "jobs"), file(broken(NODES, rng))),
    "sls-queues": lambda file, rng: import_sls(file(SLS, "jobs"), queues=file(broken(QUEUES, rng))),
    "swim": lambda file, rng: import_swim(file(broken(SWIM, rng))),
}


def check_broken(name: str, file: Callable[..., Path], count: int) -> None:
    """Every broken file is told of as bad input or wrong usage, in lines fit to print, or gives a sound document."""
    read = 0
    for seed in range(count):
        told = ""
        try:
            noun(IMPORTERS[name](file, random.Random(f"{name} {seed}")))
            read += 1
        except (InputError, UsageError) as error:
            told = str(error)
        assert all(line.isprintable() for line in told.splitlines()), (name, seed)
    assert read < count


@pytest.mark.parametrize("name", IMPORTERS)
def test_broken_files(name: str, file: Callable[..., Path]) -> None:
    """Tests that 300 seeded mutants of each format end in a clear fault or a sound noun, never in anything else."""
    check_broken(name, file, 300)


@pytest.mark.thorough
@pytest.mark.parametrize("name", IMPORTERS)
def test_broken_files_at_length(name: str, file: Callable[..., Path]) -> None:
    """Tests the same on 4000."""
    check_broken(name, file, 4000)
