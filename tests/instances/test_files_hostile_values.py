"""Values and names that a file should not hold: indices past the end, absurd exponents, what a terminal would obey."""

from __future__ import annotations

import gzip
import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import run
from instance_documents import FULL, NETWORK

from optsched.errors import InputError, UsageError, printable
from optsched.instance import Cluster, Instance, Workload
from optsched.instances.documents.diagnosis import decode
from optsched.instances.files import from_document, load, parse, save
from optsched.instances.importers.dimacs import import_dimacs
from optsched.instances.importers.orlib import import_orlib_assign, import_orlib_gap
from optsched.instances.importers.rumen import import_rumen
from optsched.instances.importers.sls import import_sls
from optsched.instances.importers.swim import import_swim
from optsched.instances.solution_files import read_solution, solution_document
from optsched.problems import PROBLEMS, problem
from optsched.report import Table, render
from optsched.results import Limit, Solution, Termination
from optsched.solvers.profiles import load_profile

DATA = Path(__file__).parent.parent / "data" / "rumen"

#: Columns of `FULL` and `NETWORK` as archives in which a number stands for a record of a table.
INDEX_COLUMNS = (
    *("nodes.rack", "nodes.datacenter", "nodes.type", "jobs.group", "tasks.job", "tasks.kind", "tasks.state"),
    *("tasks.node", "tasks.observed", "tasks.replicas", "tasks.replicas.starts", "nodes.running_rates.starts"),
    *("shuffle.map", "shuffle.reduce", "arcs.tail", "arcs.head"),
)

#: The four columns of a shuffle.
SHUFFLE = ("map", "reduce", "size", "emitted")

#: Exponents that no number needs, some longer than any integer that is read.
ABSURD = ("1e400", "-1e400", "1e999999999999999999", "-1E+99999999999999999999999", "9e" + "9" * 5000, "1e308")

#: Parts of names: escape sequences that clear a screen or set its title, line ends, what turns text around, half a
#: character, what is no character.
OBEYED = ("\x1b[2J", "\x1b]0;title\x07", "\r\n", "\x85", "\u2028", "\x9b31m", "\u202e", "\x00", "\ud800", "\x7f\x08")


def arrays_of(document: dict[str, Any], path: Path) -> dict[str, Any]:
    """The columns of a document, as its archive holds them."""
    save(from_document(document), path)
    with np.load(path) as archive:
        return dict(archive)


def told_of(read: Callable[[], object]) -> str:
    """What a reader tells of its input, empty where it takes it; fails on any other error, and on unprintable lines."""
    began = time.process_time()
    raised: Exception | None = None
    try:
        read()
    except (InputError, UsageError) as error:
        raised = error
    assert time.process_time() - began < 10  # a second would do: this finds what never ends
    told = "" if raised is None else str(raised)
    assert told or raised is None
    assert not isinstance(raised, InputError) or raised.faults
    assert all(line.isprintable() for line in told.split("\n")), told
    return told


@pytest.mark.parametrize("name", INDEX_COLUMNS)
def test_indices_past_the_end_in_archives(tmp_path: Path, name: str) -> None:
    """Tests that an index without a record, however large or negative, is a fault of its column and no IndexError."""
    path = tmp_path / "a.npz"
    arrays = arrays_of(NETWORK if name.startswith("arcs") else FULL, path)
    for odd in (3, 7, -2, 2**31, 2**53 + 1, 2**62, -(2**63)):
        for place in (0, -1):
            values = arrays[name].astype(np.int64)
            values[place] = odd
            np.savez(path, **{**arrays, name: values})
            told = told_of(lambda: load(path))
            if not (name == "tasks.replicas.starts" and odd == 3):  # which is where its last row ends
                assert name.partition(".")[0] in told


def test_running_task_of_a_job_that_does_not_exist() -> None:
    """Tests that an instance whose running task names a job past the end lists that fault and those beside it."""
    workload = {"job": [5, -1], "job_ids": ["j"], "job_group": [0], "group_ids": ["g"], "group_running_tasks": [1]}
    instance = Instance(Cluster(["a"]), Workload(["t1", "t2"]))
    state = type(instance.state)([1, 1], [0, 0], [np.nan] * 2, [2], [1], [0])
    with pytest.raises(InputError) as caught:
        Instance(Cluster(["a"]), Workload(["t1", "t2"], **workload), state)
    assert [str(fault) for fault in caught.value.faults] == [
        "tasks[0].job: there is no entry 5 to refer to",
        "nodes[0].idle_slots: 2 is more than its 1 slots",
    ]


@pytest.mark.parametrize("shape", [(), (1, 2)])
@pytest.mark.parametrize("name", ["rack_ids", "datacenter_ids", "type_ids", "node_ids"])
def test_names_in_no_list(name: str, shape: tuple[int, ...]) -> None:
    """Tests that names of racks, datacenters and types in other than one dimension are refused by the column's name."""
    columns: dict[str, Any] = {"node_ids": ["a"], name: np.full(shape, "x")}
    with pytest.raises(InputError, match=name) as caught:
        Cluster(**columns)
    assert "in one dimension" in str(caught.value)


@pytest.mark.parametrize("shape", [(), (1, 1), (2,)])
def test_shuffle_in_no_list(tmp_path: Path, shape: tuple[int, ...]) -> None:
    """Tests that columns of a shuffle that are no lists of one length are refused by their names."""
    path = tmp_path / "a.npz"
    arrays = arrays_of(FULL | {"shuffle": FULL["shuffle"][:1]}, path)
    for wrong in (SHUFFLE, SHUFFLE[:1], SHUFFLE[1:], SHUFFLE[3:]):
        strange = {f"shuffle.{name}": np.resize(arrays[f"shuffle.{name}"], shape) for name in wrong}
        np.savez(path, **{**arrays, **strange})
        told = told_of(lambda: load(path))
        assert (wrong == SHUFFLE and shape == (2,)) == (told == "")
        assert not told or "shuffle." in told


@pytest.mark.parametrize("text", ABSURD)
def test_absurd_exponents(tmp_path: Path, text: str) -> None:
    """Tests that a number with an absurd exponent is past 2^53, in instances and in solution files."""
    given = f'{{"format": "optsched/1", "nodes": [{{"id": "n1", "load": {text}}}], "tasks": []}}'
    told = told_of(lambda: parse(given))
    assert told.startswith("nodes[0].load: ")
    assert "past 2^53" in told or "is no number" in told
    path, instance = tmp_path / "solution.json", Instance(Cluster(["n1"]), Workload(["t1"]))
    path.write_text(f'{{"format": "optsched-solution/1", "bound": [{text}], "objective": {text}}}')
    assert str(path) in told_of(lambda: read_solution(path, instance))
    decode(f"[{text}, -{text.lstrip('-')}]".encode())


@pytest.mark.parametrize("odd", OBEYED)
def test_messages_show_what_a_terminal_would_obey(tmp_path: Path, odd: str) -> None:
    """Tests that names with control characters stand escaped in messages, whichever field they are in, and in tables.

    Nodes, tasks, jobs, groups, racks, resources, keys, references, labels, names of files and values of parameters.
    """
    name = json.dumps(f"a{odd}b")
    nodes = f'{{"id": {name}, "rack": {name}, "capacity": {{{name}: 1}}}}, {{"id": {name}}}, {{"id": "n", {name}: 1}}'
    tasks = f'{{"id": {name}, "job": {name}, "replicas": [{name}, "c{odd[0]}"], "rate_in": {{{name}: 1}}}}'
    for fields in (
        f'"nodes": [{nodes}], "tasks": [{tasks}]',
        f'"nodes": [{{"id": "n"}}], "tasks": [{{"id": "t", "replicas": [{name}], "job": {name}}}]',
        f'"nodes": [{{"id": "n"}}], "tasks": [{{"id": "t", "kind": {name}, "demand": {{{name}: 1}}}}]',
        f'"nodes": [{{"id": "n"}}], "tasks": [], "groups": [{{"id": {name}}}]',
        f'"nodes": [{{"id": "n"}}], "tasks": [], "jobs": [{{"id": {name}}}, {{"id": "j", "group": {name}}}]',
        f'"nodes": [{{"id": "n"}}], "tasks": [], "labels": {{{name}: 1}}, "parameters": {{{name}: 1}}',
        f'"nodes": [{{"id": "n"}}], "tasks": [], "topology": {{"links": [{{"from": {name}, "to": "n", "rate": 1}}]}}',
        f'"nodes": [{{"id": "n"}}], "tasks": [], "pairs": {{"demand": {{{name}: []}}}}, "time": {name}, {name}: 1',
    ):
        assert told_of(lambda fields=fields: parse(f'{{"format": "optsched/1", {fields}}}', f"file{odd}"))
    arcs = f'"nodes": [{{"id": {name}}}], "arcs": [{{"id": {name}, "tail": {name}, "head": {name}, "cost": {name}}}]'
    assert told_of(lambda: parse(f'{{"format": "optsched-network/1", {arcs}}}'))
    lsap = problem("lsap", Instance(Cluster(["n1"]), Workload(["t1"])))
    for call in (
        lambda: load(f"{tmp_path}/{odd.strip(chr(0))}.json"),
        lambda: load_profile(f"{odd}.toml"),
        lambda: load_profile(odd),
        lambda: type(lsap)(lsap.instance, **{odd: 1}),
        lambda: type(lsap)(lsap.instance, levels=odd),
        lambda: problem(odd, lsap.instance),
    ):
        assert told_of(call)
    shown = render(Table((f"x{odd}",), [(f"a{odd}b",)], frozenset({f"x{odd}"})))
    assert all(line.isprintable() for line in shown.split("\n"))
    assert printable(f"a{odd}b") in shown
    assert len(shown.splitlines()) == 3


def test_command_line_tells_a_name_with_line_ends_in_one_line(tmp_path: Path) -> None:
    """Tests that names of files and parameters that hold line ends and escapes are one line of stderr each."""
    for arguments, code in (
        (["describe", f"{tmp_path}/a\x1b[2J\r\x85.json"], 3),
        (["solve", "examples/knapsacks", "--problem", "lsap", "--param", "levels=\x1b[2J\n\u2028"], 2),
        (["solve", "examples/knapsacks", "--problem", "ls\x85ap"], 2),
        (["frobni\x1bcate"], 2),
    ):
        result = run(*arguments)
        assert result.exit_code == code
        assert result.stdout == ""
        assert [line[:16] for line in result.stderr.split("\n")] == ["optsched: error:", ""]
        assert all(line.isprintable() for line in result.stderr.split("\n"))


# Every reader -----------------------------------------------------------------------------------------------------

SOLVED = from_document(FULL)


def _solution_text() -> str:
    """A solution file, without having solved anything."""
    held = Solution(
        *("lsap", {"levels": (0, 1)}, "", None, (3,), (2,), Termination.FEASIBLE, Limit.GAP, ()),
        *("by hand", 0.0, 0.0, {}, ""),
    )
    document = solution_document(held, SOLVED) | {"instance_sha256": SOLVED.sha256}
    document |= {"placement": {"t1": "n1", "t9": None, "t10": "n2"}, "objective": ["1/3"]}
    document["certificates"] = [{"component": "cost", "kind": "dual", "claim": "7/2", "data": {"prices": [1, "1/2"]}}]
    return json.dumps(document)


PROFILE = 'description = "d"\ntime_limit = 3.5\nnode_limit = 7\n[highs]\nsolver = "ipm"\nmip_pool_age_limit = 3\n'
SLS = (
    '{"job.id": "j1", "job.start.ms": 1000, "job.queue.name": "q1", "job.tasks": ['
    '{"container.host": "/r1/h1", "container.start.ms": 1500, "container.end.ms": 4000, "container.type": "map"}]}\n'
)
NODES = '{"rack": "r1", "nodes": [{"node": "h1", "memory-mb": 2048, "vcores": 6}]}\n'
QUEUES = '<?xml version="1.0"?><allocations><queue name="q1"><weight>0.25</weight></queue></allocations>'

#: For each reader a sound text, and how it is read from a file.
READERS: dict[str, tuple[str, str, Callable[[Path], object]]] = {
    "instance": (json.dumps(FULL), "a.json", load),
    "network": (json.dumps(NETWORK), "a.json", load),
    "solution": (_solution_text(), "a.json", lambda path: read_solution(path, SOLVED)),
    "profile": (PROFILE, "a.toml", load_profile),
    "dimacs": ("p min 2 1\nn 1 3\nn 2 -3\na 1 2 0 5 7\n", "a.min", lambda path: _nouns(import_dimacs(path))),
    "orlib-gap": ("2 1 5 6.5 3 4 8 9e1\n", "a.txt", lambda path: _nouns(import_orlib_gap(path, number=1))),
    "orlib-assign": ("2\n 5 6\n 3 4\n", "a.txt", lambda path: _nouns(import_orlib_assign(path))),
    "swim": ("job0\t5\t5\t200000000\t1000000\t0\n", "a.tsv", lambda path: _nouns(import_swim(path))),
    "sls": (SLS, "a.json", lambda path: _nouns(import_sls(path))),
    "sls-nodes": (NODES, "a.json", lambda path: _nouns(import_sls(_beside(path, SLS), path))),
    "sls-queues": (QUEUES, "a.xml", lambda path: _nouns(import_sls(_beside(path, SLS), queues=path))),
    "rumen": ((DATA / "plain.trace.json").read_text(), "a.json", lambda path: _nouns(import_rumen(path))),
    "rumen-topology": (
        (DATA / "plain.topology.json").read_text(),
        "a.json",
        lambda path: _nouns(import_rumen(DATA / "plain.trace.json", path)),
    ),
}


def _nouns(imported: Any) -> list[object]:
    return [from_document(document) for document in imported.documents]


def _beside(path: Path, text: str) -> Path:
    other = path.with_name("beside")
    other.write_text(text)
    return other


#: What replaces a word of a text, or is put between two: numbers that are none, too large, too long; names; structure.
HOSTILE_WORDS = (
    *("-1", "0", "1e400", "1e999999999999999999", "-1e99999999999999999999", "1e-999999999999999999999", "9" * 5000),
    *("9007199254740993", "4611686018427387904", "-9223372036854775809", "0x10", "1_000", "1.", ".5", "+5", "NaN"),
    *("-Infinity", "nan", "inf", "true", "null", '""', '"\x1b[2J"', '"\\u001b[2J"', '"\\u0000"', '"\\ud800"', "\u0661"),
    *(
        '"\u202e"',
        "[]",
        "{}",
        "[[[[1]]]]",
        "[" * 5000,
        '{"a":' * 5000,
        "a" * 5000,
        "\x00",
        "\x85",
        "\u2028",
        "\x0c",
        "#",
    ),
    *("<!DOCTYPE a [<!ENTITY b 'b'>]>&b;", "2026-11-22T00:00:00Z", "24:00:00", "'''", "=", ",", "1/0", "1/3"),
)


def hostile(text: str, rng: random.Random) -> bytes:
    """A text in which a few words were replaced, removed, doubled or exchanged, or some bytes were changed."""
    words = _words(text)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at, how = rng.randrange(len(words)), rng.randrange(6)
        if how <= 2:
            words[at] = rng.choice(HOSTILE_WORDS)
        elif how == 3:
            words[at] = ""
        elif how == 4:
            words[at] += " " + words[rng.randrange(len(words))]
        else:
            other = rng.randrange(len(words))
            words[at], words[other] = words[other], words[at]
    data = bytearray("".join(words).encode("utf-8", "surrogatepass"))
    if rng.random() < 0.2 and data:
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def _words(text: str) -> list[str]:
    """Strings, numbers and single characters, which put together are the text."""
    words, at = [], 0
    while at < len(text):
        end = at + 1
        if text[at] == '"':
            end = text.find('"', end) + 1 or len(text)
        while text[at] != '"' and text[at].isalnum() and end < len(text) and (text[end].isalnum() or text[end] in ".-"):
            end += 1
        words.append(text[at:end])
        at = end
    return words


def check_hostile(reader: str, path: Path, count: int) -> None:
    """Every broken file is refused in lines fit to print, or read; at least one in eight is refused."""
    text, name, read = READERS[reader]
    told_of(lambda: read(_written(path / name, text.encode())))
    refused = 0
    for seed in range(count):
        data = hostile(text, random.Random(f"{reader} {seed}"))
        target = path / name
        if name.endswith(".json") and seed % 8 == 0 and reader in ("instance", "network"):
            target, data = path / f"{name}.gz", gzip.compress(data, mtime=0)
        try:
            told = told_of(lambda target=target, data=data: read(_written(target, data)))
        except Exception as error:
            error.add_note(f"{reader}, seed {seed}: {data[:300]!r}")
            raise
        refused += bool(told)
    assert refused > count // 8


def _written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("reader", READERS)
def test_hostile_words(tmp_path: Path, reader: str) -> None:
    """Tests that 40 seeded mutants of the text of each format are read or refused: no other error, nothing obeyed."""
    check_hostile(reader, tmp_path, 40)


@pytest.mark.thorough
@pytest.mark.parametrize("reader", READERS)
def test_hostile_words_at_length(tmp_path: Path, reader: str) -> None:
    """Tests the same on 1500 of each."""
    check_hostile(reader, tmp_path, 1500)


@pytest.mark.parametrize(
    "value", ["{a = 1}", "[1]", "2026-11-22", "nan", "1e999", '"\\u001b[2J"', "9" * 30, "[" * 9999]
)
def test_options_of_highs_that_are_no_numbers(tmp_path: Path, value: str) -> None:
    """Tests that a profile whose HiGHS option is a table, a list, a date or not a number is refused by its name."""
    told = told_of(
        lambda: load_profile(_written(tmp_path / "a.toml", f"[highs]\nmip_pool_age_limit = {value}".encode()))
    )
    assert "highs.mip_pool_age_limit" in told or "TOML" in told or "nested too deep" in told
    told = told_of(lambda: load_profile(_written(tmp_path / "b.toml", b"[highs]\nmip_feasibility_tolerance = nan")))
    assert "highs.mip_feasibility_tolerance" in told


@pytest.mark.parametrize("name", PROBLEMS)
def test_hostile_parameters(name: str) -> None:
    """Tests that each parameter of each problem takes or refuses hostile values, as text and from a file."""
    table = PROBLEMS[name].parameter_table
    values = (*HOSTILE_WORDS, None, True, [], {}, [None], 10**400, -(10**400), float("nan"), float("inf"), b"x", 1.5)
    for parameter in table:
        for given in values:
            told = ""
            try:
                parameter.parse(given)
            except (ValueError, TypeError, ArithmeticError) as error:  # which `resolve` tells as wrong usage
                told = str(error)
            assert len(told) < 500
