"""Tests of short reprs: each noun that may hold thousands of entries says what it is in a line."""

import enum
import gzip
import inspect
import io
import re
import tokenize
from functools import cache
from pathlib import Path
from typing import Any

import command_line
import numpy as np
import pytest
from command_line import answer

import optsched
from optsched.core.brief import PAPERS, assumed_in_words, brief, cited
from optsched.core.instance import Cluster, Instance, Pairs, Ragged, Shuffle, Topology, Workload
from optsched.heuristics import HEURISTICS, HeuristicRun, run
from optsched.heuristics.running.base import View
from optsched.instances.generate import FAMILIES, generate
from optsched.instances.library import library
from optsched.measuring.gaps import Reference
from optsched.measuring.matrix import gap_matrix
from optsched.problems import Latency, MinCostFlow


@cache
def nouns() -> dict[str, Any]:
    """A noun of each class: of a cluster of 585 nodes where that matters, with names that no line would hold."""
    drawn = generate("latency", nodes=585, tasks=90)
    assert isinstance(drawn, Instance)
    named = Instance(drawn.cluster, drawn.workload, drawn.state, name="n" * 9000)
    latency = Latency(named)
    solution = optsched.solve(latency)
    report = optsched.gap(latency, "labl", reference=solution)
    network = generate("min-cost-flow", nodes=60, arcs=900)
    assert isinstance(network, optsched.FlowNetwork)
    flow = optsched.solve(MinCostFlow(network))
    lsap = optsched.problem("lsap", generate("lsap", nodes=3, tasks=4))
    matrix = gap_matrix([lsap], {"rand" * 99: ("rand", {})})
    frontier = optsched.frontier(latency)
    jobs = optsched.problem("job-times", "examples/order-of-jobs")
    seen: list[View] = []

    class Looks:
        def start(self, view: View, rng: np.random.Generator) -> None:
            seen.append(view)

        def offer(self, offer: Any, view: View) -> list[int]:
            return view.pending[: offer.free].tolist()

    run(lsap, Looks())
    made = [
        named, named.cluster, named.workload, named.state, named.replicas, latency, solution, solution.decision, report,
        report.run, report.reference, network, flow.decision, matrix, next(iter(matrix.cells.values())), frontier,
        frontier[0], solution.certificates[0], optsched.Family("lsap", range(9000)), optsched.explain(latency, "labl"),
        optsched.mine("dl,reading=heartbeat", "lsap", budget=40),
        optsched.study("papers/guo-fig2", "lsap", "dl"), next(iter(library().values())), FAMILIES["mixed"], seen[0],
        HEURISTICS["labl"],
        Shuffle([0] * 999, [1] * 999, np.ones(999)), Pairs(cost=np.ones((99, 99))),
        Topology("links", links=tuple((str(end), "s", 1.0) for end in range(999))),
        optsched.Schedule.of([(0, 5)] * 9000), optsched.simulate(jobs.instance, "dl"),
        optsched.decompose(jobs, "dl", [0]),
        optsched.Sweep("gaps.sqlite" * 99, [{"record": None}] * 9000),
    ]  # fmt: skip
    return {type(noun).__name__: noun for noun in made}


def test_every_public_noun_is_tried() -> None:
    """Tests that no public class is left out: but errors, words of a list, and the two below, which are small."""
    public = {name for name in optsched.__all__ if inspect.isclass(getattr(optsched, name))}
    small = {name for name in public if issubclass(getattr(optsched, name), Exception | enum.Enum)}
    assert public - small <= set(nouns())


def test_reprs_are_short() -> None:
    """Tests that each noun says in one line of less than 200 characters what it is."""
    for name, noun in nouns().items():
        assert re.fullmatch(r"<.{1,197}>", repr(noun)), name


@pytest.mark.parametrize(
    ("noun", "expected"),
    [
        ("Cluster", "<Cluster: 585 nodes, 0 racks, 585 slots>"),
        ("Workload", "<Workload: 90 maps of 0 jobs>"),
        ("State", "<State: 90 pending, 0 running, 0 finished; 585 idle slots>"),
        ("Placement", "<Placement: 90 of 90 tasks placed>"),
        ("FlowNetwork", "<FlowNetwork min-cost-flow-n60-a900-seed0: 60 nodes, 900 arcs>"),
        ("Frontier", "<Frontier of latency: 4 points of makespan, work>"),
        ("GapMatrix", "<GapMatrix on lsap-n3-t4-seed0: 1 heuristic, 1 problem>"),
        ("HeuristicRun", "<HeuristicRun of labl: 90 of 90 tasks placed>"),
        ("Shuffle", "<Shuffle: 999 transfers>"),
        ("Pairs", "<Pairs: cost>"),
        ("Topology", "<Topology: 999 links>"),
        ("View", "<View of lsap: 4 tasks arrived, 3 nodes>"),
    ],
)
def test_what_they_say(noun: str, expected: str) -> None:
    """Tests that the line counts what is in the noun."""
    assert repr(nouns()[noun]) == expected


def test_what_is_not_there() -> None:
    """Tests nouns that hold nothing, have no name, or came to nothing."""
    instance = Instance(Cluster(["a"]), Workload([]))
    assert repr(instance) == "<Instance: 0 tasks, 1 node>"
    assert repr(instance.workload) == "<Workload: no task of 0 jobs>"
    assert repr(Ragged.from_rows([[1]])) == "<Ragged: 1 row, 1 number>"
    assert repr(Pairs()) == "<Pairs: nothing>"
    assert repr(Topology("hops", hops={"node": 0})) == "<Topology: hops>"
    reference = Reference(optsched.problem("lsap", "papers/guo-fig2"))
    assert repr(reference) == "<Reference: <lsap on guo-fig2: 3 tasks, 3 nodes>, not solved yet>"
    assert repr(HeuristicRun("mine", {}, None, 0.1, error="it raised")) == "<HeuristicRun of mine: it raised>"
    assert repr(optsched.FlowNetwork(["s"], [], [])) == "<FlowNetwork: 1 node, 0 arcs>"


def test_control_characters_and_length() -> None:
    """Tests that what a terminal would obey is spelled out, and that what is cut says so."""
    assert brief("a\nb\x1b") == r"<a\nb\x1b>"
    assert brief("a" * 198) == f"<{'a' * 194}...>"
    assert brief("a" * 197) == f"<{'a' * 197}>"


def labelled(**labels: str) -> Instance:
    """An instance with labels."""
    return Instance(Cluster(["a"]), Workload(["t"]), labels=labels)


def test_of_several_instances() -> None:
    """Tests each once, in order, and nothing of what is drawn as a whole."""
    one, other = labelled(slots="inferred"), labelled(times="assumed", slots="inferred")
    drawn = labelled(rates="assumed", generated="family lsap")
    assert assumed_in_words([one, other, drawn]) == "assumed or inferred: slots, times"
    assert assumed_in_words([drawn]) == assumed_in_words([]) == ""


ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "papers.md"
SHORT = re.compile(r"(?<![\w.,])(?:00[0-4]|FSY)(?!\w|[.,]\d)")

#: Where users read, and where the next author does.
FOLDERS = ("optsched", "docs", "models", "instances", "solvers", "benchmarks", "notebooks", "tests")

CALLED = "|".join(map(re.escape, PAPERS.values()))

#: What may have a short name: in Python a text that is nothing else, in files the tags, and the two tables.
EXCEPT = re.compile(
    rf'"(?:00[0-4](?:, )?)+"|"tags": \[[^]]*\]|^\| (?:{CALLED}) \| [^|]+ \| (?:00[0-4]|FSY) \|$|^\| `tags` \|.*$', re.M
)

#: What the short names mean, and the tests of that.
MEANINGS = {ROOT / "optsched" / "core" / "brief.py", Path(__file__).resolve()}


def test_names_are_those_of_the_page() -> None:
    """Tests that the notes on the papers call each paper as the lists do, with the same short name."""
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| (00\d|FSY) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {short: name for name, short in rows} == PAPERS


@pytest.mark.parametrize("what", ["problems", "heuristics", "families", "instances"])
def test_lists_name_authors(what: str) -> None:
    """Tests that no table says 000 to 004, and that JSON has the short name and the authors."""
    assert SHORT.search(command_line.run("list", what).stdout) is None
    entries = answer("list", what)
    for entry in entries:
        if "paper" in entry:
            assert entry["cited"] == cited(entry["paper"])
    if what != "instances":
        assert "Guo et al. 2012" in {entry["cited"].partition(",")[0] for entry in entries}


def files(*suffixes: str) -> list[Path]:
    """The project's files with one of the suffixes, but for those that are kept as an earlier version wrote them."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
    for folder in FOLDERS:
        found += sorted((ROOT / folder).rglob("*"))
    return [path for path in found if path.suffix in suffixes and not path.parent.name.startswith("written_by_")]


@pytest.mark.parametrize(
    ("suffixes", "least"), [((".py",), 100), ((".md",), 20), ((".ipynb",), 2), ((".json", ".gz"), 20)]
)
def test_files_name_authors(suffixes: tuple[str, ...], least: int) -> None:
    """Tests that no module, page, notebook, instance or schema has a short name but where it is explained, or a tag."""
    found = [path for path in files(*suffixes) if path.resolve() not in MEANINGS]
    assert len(found) >= least
    for path in found:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        text = data.decode()
        if path.suffix == ".py" and SHORT.search(text):  # a name may be FSY
            tokens = tokenize.generate_tokens(io.StringIO(text).readline)
            text = "\n".join(token.string for token in tokens if token.type in {tokenize.STRING, tokenize.COMMENT})
        assert not SHORT.search(EXCEPT.sub("", text)), path
