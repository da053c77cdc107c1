"""Gaps as rows: what they say, and what is cut, left out, folded and put into headings."""

from __future__ import annotations

from dataclasses import replace

import pytest
from command_line import run

from optsched.core.instance import Cluster, Instance, Ragged, Workload
from optsched.core.results import Limit, Termination
from optsched.instances.generate import generate
from optsched.measuring.gaps import GapReport, Reference, gap
from optsched.measuring.records import Run
from optsched.measuring.studies.pages import GapPage, gap_lines, gap_row
from optsched.problems import Latency, Lsap, Problem
from optsched.routes import solve
from optsched.solvers.profiles import Profile

THREE = ("papers/fsy-not-optimal", "papers/labl-figure2", "generated/planted-lsap-n30-t25-remote4-seed0")


def instance(name: str = "small") -> Instance:
    """Two tasks with their data on node a, and node b."""
    workload = Workload(["t1", "t2"], replicas=Ragged.from_rows([[0], [0]]))
    return Instance(Cluster(["a", "b"], slots=[2, 2]), workload, name=name)


def placed(problem: Problem, nodes: list[str | None], seed: int = 0) -> GapReport:
    """The report on a given placement."""
    return gap(problem, lambda problem, rng: nodes, seed, Reference(problem))


def rows(reports: list[tuple[str, GapReport]], repeated: bool = False) -> list[dict[str, str]]:
    """The row of each heuristic, of which the reports have the label."""
    of_label: dict[str, list[GapReport]] = {}
    for label, found in reports:
        of_label.setdefault(label, []).append(found)
    return [gap_row(label, found, repeated) for label, found in of_label.items()]


def report(problem: Problem, heuristic: str, seed: int = 0) -> GapReport:
    """The gap of a heuristic."""
    return gap(problem, heuristic, seed, Reference(problem))


def page(work: list[tuple[Problem, list[str]]], seeds: int = 1, most: int = 80) -> str:
    """What is put out of one run of each heuristic on each problem."""
    texts: list[str] = []
    rows = GapPage(texts.append, work, seeds, most=most)
    for problem, names in work:
        for name in names:
            rows.add(Run(report(problem, name)))
    rows.close()
    return "".join(texts)


def test_rows_stand_under_what_they_share() -> None:
    """Tests that each instance and problem has a heading with its reference, and its rows no such column."""
    problems = [Lsap(generate("lsap", seed, nodes=4, tasks=4)) for seed in (0, 1)]
    first, second = page([(problem, ["dl", "rand"]) for problem in problems]).split("\n\n")
    value = report(problems[0], "dl").reference.value
    assert value is not None
    assert first.splitlines()[0] == f"lsap-n4-t4-seed0, lsap: optimum {value[0]} (locality-cost), proof: dual"
    assert first.splitlines()[1].split() == ["heuristic", "objective", "gap", "note"]
    assert [line.split()[0] for line in second.splitlines()[3:]] == ["dl", "rand"]


def test_one_heuristic_on_several_instances_is_one_table() -> None:
    """Tests that with one heuristic a problem the rows are by instance, and what never varies is the heading."""
    problems = [Lsap(generate("lsap", seed, nodes=4, tasks=4)) for seed in (0, 1)]
    lines = page([(problem, ["dl"]) for problem in problems], seeds=2).splitlines()
    assert lines[0] == "dl in lsap"
    assert lines[1].split()[:5] == ["instance", "objective", "reference", "proof", "seeds"]
    assert [line.split()[0] for line in lines[3::2]] == ["lsap-n4-t4-seed0", "lsap-n4-t4-seed1"]
    assert lines[4::2] == ["  only 1 of 2 seeds"] * 2, "below its row, where there is no room beside it"
    one = [(problems[0], ["rand"]), (Latency(problems[0].instance), ["round-robin"])]
    (heading, head, *_) = page(one).splitlines()
    assert heading == "lsap-n4-t4-seed0"
    assert head.split()[:2] == ["problem", "heuristic"]
    mixed = [(problems[0], ["dl"]), (Latency(problems[1].instance), ["labl"])]
    (head, *_) = page(mixed, most=200).splitlines()
    assert head.split()[:3] == ["instance", "problem", "heuristic"]


@pytest.mark.parametrize("columns", ["40", "80"])
@pytest.mark.parametrize(
    "args",
    [
        ("gap", *THREE, "--problem", "lsap", "--problem", "latency"),
        ("gap", *THREE, "--problem", "latency", "--heuristic", "labl", "--each"),
        ("gap", "papers/guo-fig2", "--problem", "lsap", "--repeats", "3"),
        ("matrix", "papers/hsu-two-clusters", "--heuristic", "dl", "--heuristic", "labl"),
    ],
    ids=["summary", "each", "repeats", "matrix"],
)
def test_output_fits_the_page(args: tuple[str, ...], columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that no line of a table of `gap` and `matrix` is longer than the page, where none is a terminal."""
    monkeypatch.setenv("COLUMNS", columns)
    text = run(*args).stdout
    assert text
    assert max(map(len, text.splitlines())) <= int(columns)


def test_gap_row() -> None:
    """Tests that beside a reference of 0 the row tells differences, and else percentages."""
    problem = Lsap(instance())
    (row,) = rows([("mine", placed(problem, ["a", "b"]))])
    assert (row["instance"], row["problem"], row["heuristic"]) == ("small", "lsap", "mine")
    assert (row["objective"], row["reference"], row["kind"], row["proof"]) == ("1", "0", "optimum", "dual")
    assert (row["gap"], row["note"]) == ("+1", "")
    problem = Lsap(instance(), levels=[1, 2, 2])
    (row,) = rows([("mine", placed(problem, ["a", "b"]))])
    assert row["gap"] == "50 %"


def test_row_of_racks() -> None:
    """Tests that a single run tells node, rack and remote where racks are given and the optimum has others."""
    cluster = Cluster(list("abc"), rack=[0, 0, 1], rack_ids=["r", "s"])
    workload = Workload(["t", "u"], replicas=Ragged.from_rows([[0], [0]]))
    problem = Lsap(Instance(cluster, workload), levels=(0, 1, 2))
    reports = [gap(problem, lambda *_, nodes=nodes: nodes) for nodes in (["a", "b"], ["b", "c"], ["c", "b"])]
    notes = [gap_row("own", [report])["note"] for report in reports]
    assert notes == ["", *["0/1/1 node/rack/remote, optimum 1/1/0"] * 2]
    assert gap_row("own", reports, repeated=True)["note"] == ""
    plain = Lsap(Instance(Cluster(list("abc")), workload))
    assert gap_row("own", [gap(plain, lambda *_: ["b", "c"])])["note"] == ""


def test_lexicographic_row() -> None:
    """Tests that a component after the first that differs has no gap."""
    problem = Latency(instance())
    far, near = placed(problem, ["b", "b"]), placed(problem, ["a", "a"])
    both = rows([("far", far), ("near", near)])
    assert [row["gap"] for row in both] == ["200 %, -", "0 %, 0 %"]


def test_repeated_row() -> None:
    """Tests that several seeds are one row, with mean, interval and worst of those that are feasible."""
    problem = Lsap(instance(), levels=[1, 2, 2])
    reports = [
        placed(problem, nodes, seed) for seed, nodes in enumerate([["a", "a"], ["a", "b"], ["b", "b"], [None] * 2])
    ]
    (row,) = rows([("mine", entry) for entry in reports], repeated=True)
    assert (row["objective"], row["mean gap ±95 %"], row["worst gap"]) == ("3", "50 ±124 %", "100 %")
    assert row["note"].startswith("1 of 4 infeasible: cardinality")


def test_later_components_count_where_they_are_known() -> None:
    """Tests that the mean of a later component is over the seeds whose earlier ones are at the reference."""
    problem = Latency(instance())
    reports = [placed(problem, nodes, seed) for seed, nodes in enumerate([["a", "a"], ["a", "a"], ["b", "b"]])]
    (row,) = rows([("mine", entry) for entry in reports], repeated=True)
    assert (row["mean gap ±95 %"], row["worst gap"]) == ("66.67 ±287 %, 0 %", "200 %, 0 %")


def test_error_row() -> None:
    """Tests that an error is told in the note, in short."""
    problem = Lsap(instance())
    (row,) = rows([("mine", placed(problem, ["nowhere" * 50, "b"]))])
    assert row["gap"] == row["objective"] == "-"
    assert row["note"].startswith("error: heuristic ")
    assert len(row["note"]) < 70


def test_row_out_of_time() -> None:
    """Tests that a run and a reference that were cut short are told in the note, with the limit, together."""
    problem = Lsap(instance())
    late = gap(problem, "dl", 0, Reference(problem), time_limit=0)
    (row,) = rows([("dl", late)])
    assert (row["gap"], row["objective"], row["note"]) == ("-", "-", "out of time after 0 s")
    held = replace(solve(problem), bound=(None,), termination=Termination.FEASIBLE, limit=Limit.TIME)
    unproved = Reference(problem, Profile("short", time_limit=7.5), solution=held)
    (row,) = rows([("dl", gap(problem, "dl", 0, unproved))])
    told = "beside the cheap bound best-node; reference out of time after 7.5 s"
    assert (row["kind"], row["note"]) == ("bound", told)
    (row,) = rows([("dl", late), ("dl", gap(problem, "dl", 1, unproved))], repeated=True)
    assert row["note"] == f"1 of 2 out of time after 0 s; 1 of 2 {told}"
    unlimited = Reference(problem, solution=held)
    (row,) = rows([("dl", gap(problem, "dl", 0, unlimited))])
    assert row["note"] == "beside the cheap bound best-node; reference out of time"


@pytest.mark.parametrize("repeated", [False, True])
def test_widths_are_known_before_the_rows(repeated: bool) -> None:
    """Tests that the lines of the work to be done align with its rows, and are wider for two components."""
    one, two = Lsap(instance("a-long-name")), Latency(instance("b"))
    reports = [("mine", placed(one, ["a", "b"])), ("far longer label", placed(two, ["a", "a"]))]
    cells = rows(reports, repeated)
    lines = gap_lines([(one, ["mine"]), (two, ["far longer label"])], repeated)
    assert lines.columns == tuple(cells[0])
    texts = [lines.line(list(row.values())) for row in cells]
    head, rule, *below = (lines.head() + "".join(texts)).splitlines()
    ends = [at for at, letter in enumerate(rule + " ") if letter == " " and rule[at - 1] == "-"]
    assert all(line.ljust(end + 1)[end] == " " for line in (head, *below) for end in ends)
    narrow = gap_lines([(one, ["mine"]), (two, [])], repeated)
    assert sum(narrow.widths) < sum(lines.widths)
    assert narrow.widths[0] == len("a-long-name")
