"""What people read: tables, numbers, intervals, CSV, JSON, progress."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from rich.console import Console
from rich.progress import Progress as RichProgress

from optsched.gaps import GapReport, Reference, gap
from optsched.instance import Cluster, Instance, Ragged, Workload
from optsched.printing import (
    Lines,
    Progress,
    Table,
    _Bar,
    _time_left,
    gap_lines,
    gap_table,
    interval,
    number,
    percent,
    progress,
    render,
    to_csv,
    to_json,
    value,
)
from optsched.problems import Latency, Lsap, Problem
from optsched.results import Limit, Termination
from optsched.routes import solve
from optsched.solvers.profiles import Profile


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def instance(name: str = "small") -> Instance:
    """Two tasks with their data on node a, and node b."""
    workload = Workload(["t1", "t2"], replicas=Ragged.from_rows([[0], [0]]))
    return Instance(Cluster(["a", "b"], slots=[2, 2]), workload, name=name)


def report(problem: Problem, nodes: list[str | None], seed: int = 0) -> GapReport:
    """The report on a given placement."""
    return gap(problem, lambda problem, rng: nodes, seed, Reference(problem))


def cells(table: Table) -> list[dict[str, str]]:
    """The rows of a table by column."""
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def test_plain_table_is_aligned() -> None:
    """Tests that a plain table is aligned, numbers to the right, without trailing blanks or colours."""
    text = render(Table(("name", "n"), [("a", "1"), ("longer", "100")], frozenset({"n"})))
    assert text == "name      n\n------  ---\na         1\nlonger  100\n"


def test_terminal_table_keeps_names_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that on a narrow terminal names and numbers stay on one line, and text in brackets is no markup."""
    monkeypatch.setenv("COLUMNS", "20")
    text = render(Table(("name", "note"), [("a-name-of-thirty-characters-or", "[red]word[/red]")]), terminal=True)
    assert "a-name-of-thirty-characters-or" in text
    assert "[red]word[/red]" in text


@pytest.mark.parametrize("terminal", [False, True])
def test_control_characters_are_spelled_out(terminal: bool) -> None:
    """Tests that what a file's author wrote into a name cannot steer the terminal or break a line."""
    text = render(Table(("name",), [("a\x1b]0;title\x07\nb",)]), terminal)
    assert r"a\x1b]0;title\x07\nb" in text


def test_markdown_and_latex() -> None:
    """Tests that both mark columns of numbers, and write what they would obey; a line end is spelled out."""
    table = Table(("name", "gap"), [("a_b|c & d\n", "5 %"), ("{x}\\~^<>", "1 ±2 %")], frozenset({"gap"}))
    assert render(table, terminal=True, form="markdown").splitlines() == [
        "| name | gap |",
        "|---|--:|",
        r"| a\_b\|c \& d\\n | 5 % |",
        r"| {x}\\\~^\<\> | 1 ±2 % |",
    ]
    assert render(table, form="latex").splitlines() == [
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"name & gap \\",
        r"\midrule",
        r"a\_b\textbar{}c \& d\textbackslash{}n & 5 \% \\",
        r"\{x\}\textbackslash{}\textasciitilde{}\textasciicircum{}\textless{}\textgreater{} & 1 $\pm$2 \% \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_table_without_rows() -> None:
    """Tests that a table without rows is its header."""
    assert render(Table(("a", "b"), [])) == "a  b\n-  -\n"


def test_json() -> None:
    """Tests that rationals are doubles, and NaN, which JSON lacks, is refused."""
    assert json.loads(to_json({"gap": [Fraction(1, 2), None, 3]})) == {"gap": [0.5, None, 3]}
    with pytest.raises(ValueError, match="JSON"):
        to_json(float("nan"))
    with pytest.raises(TypeError, match="has no form in JSON"):
        to_json(np.int64(1))


def test_csv() -> None:
    """Tests that texts stand as they are, unknown is empty, everything else JSON, and columns of later records too."""
    text = to_csv([{"a": "x,y", "b": None}, {"a": "z", "c": {"k": Fraction(1, 4)}}])
    assert text == 'a,b,c\n"x,y",,\nz,,"{""k"":0.25}"\n'


def test_numbers() -> None:
    """Tests that integers keep all digits, rationals six, and unknown is a dash."""
    assert [number(2**60), number(Fraction(2, 3)), number(None)] == ["1152921504606846976", "0.666667", "-"]
    assert (value((1, None, Fraction(1, 2))), value(None)) == ("1, -, 0.5", "-")
    assert [percent(Fraction(1, 3)), percent(0), percent(None)] == ["33.33 %", "0 %", "-"]


def test_interval_against_a_table() -> None:
    """Tests the 95 % interval with the quantile of Student's t for 9 degrees of freedom, 2.262, from printed tables."""
    draws = [float(draw) for draw in range(10)]
    low, high = interval(draws) or (0, 0)
    half = 2.262157 * float(np.std(draws, ddof=1)) / 10**0.5
    assert (low, high) == pytest.approx((4.5 - half, 4.5 + half), rel=1e-6)
    assert interval([1.0]) is None


def test_gap_row() -> None:
    """Tests that beside a reference of 0 the row tells differences, and else percentages."""
    problem = Lsap(instance())
    (row,) = cells(gap_table([("mine", report(problem, ["a", "b"]))]))
    assert (row["instance"], row["problem"], row["heuristic"]) == ("small", "lsap", "mine")
    assert (row["objective"], row["reference"], row["kind"], row["proof"]) == ("1", "0", "optimum", "dual")
    assert (row["gap"], row["note"]) == ("+1", "")
    problem = Lsap(instance(), levels=[1, 2, 2])
    (row,) = cells(gap_table([("mine", report(problem, ["a", "b"]))]))
    assert row["gap"] == "50 %"


def test_row_of_racks() -> None:
    """Tests that a single run tells node, rack and remote where racks are given and the optimum has others."""
    cluster = Cluster(list("abc"), rack=[0, 0, 1], rack_ids=["r", "s"])
    workload = Workload(["t", "u"], replicas=Ragged.from_rows([[0], [0]]))
    problem = Lsap(Instance(cluster, workload), levels=(0, 1, 2))
    reports = [gap(problem, lambda *_, nodes=nodes: nodes) for nodes in (["a", "b"], ["b", "c"], ["c", "b"])]
    notes = [gap_table([("own", report)]).rows[0][-1] for report in reports]
    assert notes == ["", *["0/1/1 node/rack/remote, optimum 1/1/0"] * 2]
    assert gap_table([("own", report) for report in reports], repeated=True).rows[0][-1] == ""
    plain = Lsap(Instance(Cluster(list("abc")), workload))
    assert gap_table([("own", gap(plain, lambda *_: ["b", "c"]))]).rows[0][-1] == ""


def test_lexicographic_row() -> None:
    """Tests that a component after the first that differs has no gap."""
    problem = Latency(instance())
    far, near = report(problem, ["b", "b"]), report(problem, ["a", "a"])
    rows = cells(gap_table([("far", far), ("near", near)]))
    assert [row["gap"] for row in rows] == ["200 %, -", "0 %, 0 %"]


def test_repeated_row() -> None:
    """Tests that several seeds are one row, with mean, interval and worst of those that are feasible."""
    problem = Lsap(instance(), levels=[1, 2, 2])
    reports = [
        report(problem, nodes, seed) for seed, nodes in enumerate([["a", "a"], ["a", "b"], ["b", "b"], [None] * 2])
    ]
    (row,) = cells(gap_table([("mine", entry) for entry in reports], repeated=True))
    assert (row["objective"], row["mean gap ±95 %"], row["worst gap"]) == ("3", "50 ±124 %", "100 %")
    assert row["note"].startswith("1 of 4 infeasible: cardinality")


def test_later_components_count_where_they_are_known() -> None:
    """Tests that the mean of a later component is over the seeds whose earlier ones are at the reference."""
    problem = Latency(instance())
    reports = [report(problem, nodes, seed) for seed, nodes in enumerate([["a", "a"], ["a", "a"], ["b", "b"]])]
    (row,) = cells(gap_table([("mine", entry) for entry in reports], repeated=True))
    assert (row["mean gap ±95 %"], row["worst gap"]) == ("66.67 ±287 %, 0 %", "200 %, 0 %")


def test_error_row() -> None:
    """Tests that an error is told in the note, in short."""
    problem = Lsap(instance())
    (row,) = cells(gap_table([("mine", report(problem, ["nowhere" * 50, "b"]))]))
    assert row["gap"] == row["objective"] == "-"
    assert row["note"].startswith("error: heuristic ")
    assert len(row["note"]) < 70


def test_row_out_of_time() -> None:
    """Tests that a run and a reference that were cut short are told in the note, with the limit, together."""
    problem = Lsap(instance())
    late = gap(problem, "dl", 0, Reference(problem), time_limit=0)
    (row,) = cells(gap_table([("dl", late)]))
    assert (row["gap"], row["objective"], row["note"]) == ("-", "-", "out of time after 0 s")
    held = replace(solve(problem), bound=(None,), termination=Termination.FEASIBLE, limit=Limit.TIME)
    unproved = Reference(problem, Profile("short", time_limit=7.5), solution=held)
    (row,) = cells(gap_table([("dl", gap(problem, "dl", 0, unproved))]))
    told = "beside the cheap bound best-node; reference out of time after 7.5 s"
    assert (row["kind"], row["note"]) == ("bound", told)
    (row,) = cells(gap_table([("dl", late), ("dl", gap(problem, "dl", 1, unproved))], repeated=True))
    assert row["note"] == f"1 of 2 out of time after 0 s; 1 of 2 {told}"
    unlimited = Reference(problem, solution=held)
    (row,) = cells(gap_table([("dl", gap(problem, "dl", 0, unlimited))]))
    assert row["note"] == "beside the cheap bound best-node; reference out of time"


def test_lines_come_one_by_one() -> None:
    """Tests that lines are those of the whole table where cells fit, and that a wider cell moves little."""
    table = Table(("name", "n", "note"), [("a", "1", "x"), ("longer", "100", "")], frozenset({"n"}))
    lines = Lines(table.columns, (6, 3, 4), table.numbers)
    assert lines.head() + "".join(map(lines.line, table.rows)) == render(table)
    assert lines.line(("a", "123456", "x")) == "a    123456  x\n"
    assert lines.line(("longer", "123456", "x")) == "longer  123456  x\n"
    assert lines.line(("far too long", "1", "x")) == "far too long  1  x\n"


@pytest.mark.parametrize("repeated", [False, True])
def test_widths_are_known_before_the_rows(repeated: bool) -> None:
    """Tests that the lines of the work to be done align with its rows, and are wider for two components."""
    one, two = Lsap(instance("a-long-name")), Latency(instance("b"))
    reports = [("mine", report(one, ["a", "b"])), ("far longer label", report(two, ["a", "a"]))]
    table = gap_table(reports, repeated)
    lines = gap_lines([(one, ["mine"]), (two, ["far longer label"])], repeated)
    assert lines.columns == table.columns
    head, rule, *rows = (lines.head() + "".join(map(lines.line, table.rows))).splitlines()
    ends = [at for at, letter in enumerate(rule + " ") if letter == " " and rule[at - 1] == "-"]
    assert all(line.ljust(end + 1)[end] == " " for line in (head, *rows) for end in ends)
    narrow = gap_lines([(one, ["mine"]), (two, [])], repeated)
    assert sum(narrow.widths) < sum(lines.widths)
    assert narrow.widths[0] == len("a-long-name")


def test_time_that_is_left() -> None:
    """Tests that nothing is estimated before the first step is done, and then that the others take as long."""
    clock = [0.0]
    bar = RichProgress(get_time=lambda: clock[0], console=Console(file=io.StringIO()))
    bar.add_task("", total=5)
    (task,), column = bar.tasks, _time_left()
    told = []
    for now, done in ((10, 0), (20, 1), (30, 4), (2000, 1)):
        clock[0] = now
        bar.update(task.id, completed=done)
        told.append(str(column.render(task)))
    assert told == ["", "about 80 s left", "about 8 s left", "about 133 min left"]


def test_progress_within_a_step() -> None:
    """Tests that what is done of a step counts beside the steps that are done, and the next step begins a new one."""
    bar = RichProgress(disable=True)
    step = _Bar(bar, 3)
    (task,) = bar.tasks
    done = []
    for share in (0.25, 0.5, 7.0):
        if share != 0.5:
            step("next")
        step.within(share)
        done.append(task.completed)
    step("last")
    assert [*done, task.completed] == [0.25, 0.5, 2, 2]
    Progress().within(0.5)


def test_progress_on_a_terminal_only() -> None:
    """Tests that progress is shown on a terminal and nowhere else."""
    silent, shown = io.StringIO(), Terminal()
    for stream in (silent, shown):
        with progress(stream, 2) as step:
            step("first [bold]")
            with step.aside():
                stream.write("")
            step("second")
        with progress(stream) as step:
            step("of unknown length")
    assert silent.getvalue() == ""
    assert shown.getvalue() != ""
