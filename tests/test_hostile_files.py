"""Every reader, of instances, solutions, profiles and foreign files: no file ends in more than a clear refusal."""

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from input_files import (
    ASSIGN,
    DIMACS,
    GAP,
    HOSTILE_WORDS,
    NODES,
    QUEUES,
    SLS,
    SWIM,
    changed_bytes,
    hostile,
    noun,
    told_of,
)
from strategies import FULL, NETWORK

from optsched.core.errors import printable
from optsched.core.instance import Cluster, Instance, Workload
from optsched.core.placement import Schedule
from optsched.core.results import Limit, Solution, Termination
from optsched.instances.claim_files import claim_document, read_schedule, read_solution
from optsched.instances.files import from_document, load, parse
from optsched.instances.importers.libraries import import_dimacs, import_orlib_assign, import_orlib_gap
from optsched.instances.importers.rumen import import_rumen
from optsched.instances.importers.sls import import_sls
from optsched.instances.importers.swim import import_swim
from optsched.measuring.printing import Table, render
from optsched.problems import PROBLEMS, problem
from optsched.solvers.profiles import load_profile

DATA = Path(__file__).parent / "data" / "rumen"


#: Parts of names: escape sequences that clear a screen or set its title, line ends, what turns text around, half a
#: character, what is no character.
OBEYED = ("\x1b[2J", "\x1b]0;title\x07", "\r\n", "\x85", "\u2028", "\x9b31m", "\u202e", "\x00", "\ud800", "\x7f\x08")


@pytest.mark.parametrize("odd", OBEYED)
def test_messages_show_what_a_terminal_would_obey(tmp_path: Path, odd: str) -> None:
    """Tests that names with control characters stand escaped in messages, whichever field they are in, and in tables.

    Nodes, tasks, jobs, groups, racks, resources, keys, references, labels, names of files and values of parameters.
    """
    name, n = json.dumps(f"a{odd}b"), '"nodes": [{"id": "n"}]'
    nodes = f'{{"id": {name}, "rack": {name}, "capacity": {{{name}: 1}}}}, {{"id": {name}}}, {{"id": "n", {name}: 1}}'
    tasks = f'{{"id": {name}, "job": {name}, "replicas": [{name}, "c{odd[0]}"], "rate_in": {{{name}: 1}}}}'
    for fields in (
        f'"nodes": [{nodes}], "tasks": [{tasks}]',
        f'{n}, "tasks": [{{"id": "t", "replicas": [{name}], "job": {name}}}]',
        f'{n}, "tasks": [{{"id": "t", "kind": {name}, "demand": {{{name}: 1}}}}]',
        f'{n}, "tasks": [], "groups": [{{"id": {name}}}]',
        f'{n}, "tasks": [], "jobs": [{{"id": {name}}}, {{"id": "j", "group": {name}}}]',
        f'{n}, "tasks": [], "labels": {{{name}: 1}}, "parameters": {{{name}: 1}}',
        f'{n}, "tasks": [], "topology": {{"links": [{{"from": {name}, "to": "n", "rate": 1}}]}}',
        f'{n}, "tasks": [], "pairs": {{"demand": {{{name}: []}}}}, "time": {name}, {name}: 1',
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


SOLVED = from_document(FULL)

#: Fields of a solution file, without having solved anything.
SOLUTION = {
    "placement": {"t1": "n1", "t9": None, "t10": "n2"},
    "objective": ["1/3"],
    "instance_sha256": SOLVED.sha256,
    "certificates": [{"component": "cost", "kind": "dual", "claim": "7/2", "data": {"prices": [1, "1/2"]}}],
}
HELD = Solution(
    "lsap", {"levels": (0, 1)}, "", None, (3,), (2,), Termination.FEASIBLE, Limit.GAP, (), "", 0.0, 0.0, {}, ""
)
SCHEDULE = Schedule.of([(0, 1_500_000), None, (1, -3)])
PROFILE = 'description = "d"\ntime_limit = 3.5\nnode_limit = 7\n[highs]\nsolver = "ipm"\nmip_pool_age_limit = 3\n'

PLAIN, PLACES = (DATA / "plain.trace.json").read_text(), (DATA / "plain.topology.json").read_text()

#: For each reader a sound text, and how it is read from a file.
READERS: dict[str, tuple[str, str, Callable[[Path], object]]] = {
    "instance": (json.dumps(FULL), "a.json", load),
    "network": (json.dumps(NETWORK), "a.json", load),
    "solution": (
        json.dumps(claim_document(HELD, SOLVED) | SOLUTION),
        "a.json",
        lambda path: read_solution(path, SOLVED),
    ),
    "schedule": (json.dumps(claim_document(SCHEDULE, SOLVED)), "a.json", lambda path: read_schedule(path, SOLVED)),
    "profile": (PROFILE, "a.toml", load_profile),
    "dimacs": (DIMACS, "a.min", lambda path: noun(import_dimacs(path))),
    "orlib-gap": (GAP, "a.txt", lambda path: noun(import_orlib_gap(path, number=1))),
    "orlib-assign": (ASSIGN, "a.txt", lambda path: noun(import_orlib_assign(path))),
    "swim": (SWIM, "a.tsv", lambda path: noun(import_swim(path))),
    "sls": (SLS, "a.json", lambda path: noun(import_sls(path))),
    "sls-nodes": (NODES, "a.json", lambda path: noun(import_sls(_beside(path, SLS), path))),
    "sls-queues": (QUEUES, "a.xml", lambda path: noun(import_sls(_beside(path, SLS), queues=path))),
    "rumen": (PLAIN, "a.json", lambda path: noun(import_rumen(path))),
    "rumen-jobs": (
        PLAIN,
        "a.json",
        lambda path: list(map(from_document, import_rumen(path, slots=2, split=True).documents)),
    ),
    "rumen-topology": (PLACES, "a.json", lambda path: noun(import_rumen(DATA / "plain.trace.json", path))),
}


def _beside(path: Path, text: str) -> Path:
    other = path.with_name("beside")
    other.write_text(text)
    return other


def check_hostile(reader: str, path: Path, count: int) -> None:
    """Every broken file is refused in lines fit to print, or read; at least one in eight is refused."""
    text, name, read = READERS[reader]
    told_of(lambda: read(_written(path / name, text.encode())))
    refused = 0
    for seed in range(count):
        data = hostile(text, random.Random(f"{reader} {seed}"))
        target = path / name
        if seed % 8 == 0 and reader not in ("solution", "profile"):
            rng = random.Random(seed)
            target, data = path / f"{name}.gz", gzip.compress(data, mtime=0)
            data = changed_bytes(rng, data) if rng.random() < 0.5 else data
        try:
            message = told_of(lambda target=target, data=data: read(_written(target, data)))
        except Exception as error:
            error.add_note(f"{reader}, seed {seed}: {data[:300]!r}")
            raise
        refused += bool(message)
    assert refused > count // 8


def _written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("reader", READERS)
def test_hostile_words(tmp_path: Path, reader: str) -> None:
    """Tests that 60 seeded mutants of the text of each format are read or refused: no other error, nothing obeyed."""
    check_hostile(reader, tmp_path, 60)


@pytest.mark.thorough
@pytest.mark.parametrize("reader", READERS)
def test_hostile_words_at_length(tmp_path: Path, reader: str) -> None:
    """Tests the same on 4000 of each."""
    check_hostile(reader, tmp_path, 4000)


@pytest.mark.parametrize(
    "value", ["{a = 1}", "[1]", "2026-11-22", "nan", "1e999", '"\\u001b[2J"', "9" * 30, "[" * 9999]
)
def test_options_of_highs_that_are_no_numbers(tmp_path: Path, value: str) -> None:
    """Tests that a profile whose HiGHS option is a table, a list, a date or not a number is refused by its name."""
    path = _written(tmp_path / "a.toml", f"[highs]\nmip_pool_age_limit = {value}".encode())
    message = told_of(lambda: load_profile(path))
    assert "highs.mip_pool_age_limit" in message or "TOML" in message or "nested too deep" in message


@pytest.mark.parametrize("name", PROBLEMS)
def test_hostile_parameters(name: str) -> None:
    """Tests that each parameter of each problem takes or refuses hostile values, as text and from a file."""
    table = PROBLEMS[name].parameter_table
    values = (*HOSTILE_WORDS, None, True, [], {}, [None], 10**400, -(10**400), float("nan"), float("inf"), b"x", 1.5)
    for parameter in table:
        for given in values:
            message = ""
            try:
                parameter.parse(given)
            except (ValueError, TypeError, ArithmeticError) as error:  # which `resolve` tells as wrong usage
                message = str(error)
            assert len(message) < 500
