"""What is told of checks: cells, JUnit XML that CI servers read, annotations of GitHub Actions, Markdown."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from optsched.measuring.studies.baselines import Baseline
from optsched.measuring.studies.check_reports import COLUMNS, Result, breach_lines, github_annotations, junit, markdown
from optsched.measuring.studies.checks import Check
from optsched.measuring.studies.choices import Choice, chosen

#: What the schema that Jenkins publishes (junit-10.xsd, which pytest's own tests use) allows in each element: children,
#: attributes, and those of them that must be there.
SCHEMA = {
    "testsuites": ({"testsuite"}, {"name", "time", "tests", "failures", "errors"}, set()),
    "testsuite": (
        {"properties", "testcase"},
        {"name", "tests", "failures", "errors", "time", "skipped"},
        {"name", "tests", "failures", "errors"},
    ),
    "properties": ({"property"}, set(), set()),
    "property": (set(), {"name", "value"}, {"name", "value"}),
    "testcase": ({"skipped", "failure"}, {"name", "time", "classname"}, {"name"}),
    "skipped": (set(), {"type", "message"}, set()),
    "failure": (set(), {"type", "message"}, set()),
}


def wide(problem: Any, rng: Any) -> list[Any]:
    """Node by node in order: one task of papers/guo-fig2 away from its data."""
    nodes = [node for node, slots in enumerate(problem.instance.state.idle_slots) for _ in range(slots)]
    return [*nodes, *[None] * len(problem.tasks)][: len(problem.tasks)]


def broken(problem: Any, rng: Any) -> list[str]:
    """Raises, with a character that no XML holds and several that mean something somewhere."""
    raise KeyError("\x1b[31m ]]> & <b> \ufffe 100 % | `x`")


def result(
    heuristic: Any,
    instances: Any = "papers/guo-fig2",
    name: str = "near, or 5 %",
    record: bool = False,
    **asserted: Any,
) -> Result:
    """What comes of a check in lsap."""
    planned = Check.of(heuristic, instances, "lsap", **asserted).planned(record)
    outcome = planned.run()
    return Result(replace(planned, name=name, line=7), outcome, len(outcome.reports), 1.5)


def unfinished(done: int) -> Result:
    """A check of two runs that was broken off."""
    planned = Check.of("dl", "papers/guo-fig2", "lsap", seeds=2, max_gap=0).planned()
    return Result(replace(planned, name="broken off", line=None), None, done, 0.25)


@pytest.mark.parametrize(
    ("make", "cells"),
    [
        (lambda: result("lsap-sched", max_gap=0), ("1", "1", "0 %", "0 %", "passed", "worst gap at most 0 %")),
        (lambda: result(wide, max_absolute=0), ("1", "1", "1", "1", "FAILED", "worst gap at most 0")),
        (lambda: result(wide, max_gap=0), ("1", "1", "over 0", "-", "FAILED", "worst gap at most 0 %")),
        (
            lambda: result("dl", ["papers/guo-fig2", "examples/one-each"], over="mean", max_absolute=0.75, seeds=1),
            ("2", "1", "1", "0.5", "FAILED", "mean gap at most 0.75 (mean 1)"),
        ),
        (lambda: result(broken), ("1", "1", "infeasible", "-", "FAILED", "feasible; limits no gap: give max_gap")),
        (lambda: unfinished(1), ("1 of 2", "-", "-", "-", "not finished", "worst gap at most 0 %")),
        (lambda: unfinished(0), ("0 of 2", "-", "-", "-", "not run", "worst gap at most 0 %")),
    ],
)
def test_cells(make: Callable[[], Result], cells: tuple[str, ...]) -> None:
    """Tests the row of a check, whatever came of it."""
    found = make()
    assert len(found.cells) == len(COLUMNS)
    assert found.cells[1:] == cells


def test_recorded_and_better(tmp_path: Path) -> None:
    """Tests what a row says where a baseline is recorded, and where runs are better than it."""
    path = tmp_path / "gaps.json"
    best, worse = ([Choice(chosen(given).entry, {}, "mine")] for given in ("lsap-sched", wide))
    assert result(best, baseline=path, record=True).verdict == "recorded"
    Baseline.of(result(worse).outcome.reports.measured).write(path)
    found = result(best, baseline=path)
    assert found.cells[-2:] == ("passed", "no worse than recorded (1 better than recorded)")
    assert found.outcome.in_words.endswith("; 1 better than recorded")


def test_told() -> None:
    """Tests that of what passed nothing is reported, and of what raised the message and its own traceback."""
    assert list(breach_lines(result("lsap-sched"))) == []
    assert list(breach_lines(unfinished(1))) == []
    lines = list(breach_lines(result(broken), "a b"))
    assert "raised KeyError" in lines[0]
    again = "  reproduce it: cd 'a b' && PYTHONPATH=.. optsched gap papers/guo-fig2"
    assert any(line.startswith(again) for line in lines)
    at = lines.index("Traceback (most recent call last):")
    assert __file__ in lines[at + 1]
    assert "in broken" in lines[at + 1], "what called it is left out"
    assert lines[-1].startswith("KeyError: ")


def element(tree: ET.Element) -> None:
    """Assert that an element and all in it are as the schema wants them."""
    children, attributes, needed = SCHEMA[tree.tag]
    assert {child.tag for child in tree} <= children
    assert needed <= set(tree.attrib) <= attributes
    if "time" in tree.attrib:
        assert re.fullmatch(r"\d+\.\d{3}", tree.attrib["time"])
    for child in tree:
        element(child)


def test_junit_is_what_readers_want() -> None:
    """Tests that elements and attributes are those of the schema, and that the counts are those of the cases."""
    results = [
        result("lsap-sched", ["papers/guo-fig2", "papers/guo-table2"], max_gap=0),
        result([wide, "lsap-sched"], ["papers/guo-fig2", "papers/guo-table2"], name="two", max_absolute=0),
        result(broken, name="raises \x00 \ud800 \ufffe"),
        unfinished(1),
    ]
    text = junit(results)
    assert text.startswith(b"<?xml version='1.0' encoding='utf-8'?>\n<testsuites")
    root = ET.fromstring(text)
    element(root)
    counts = [(suite.get("tests"), suite.get("failures"), suite.get("skipped")) for suite in root]
    assert counts == [("2", "0", "0"), ("4", "1", "0"), ("1", "1", "0"), ("1", "0", "1")]
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("8", "2", "0")
    for suite in root:
        assert len({case.get("name") for case in suite.iter("testcase")}) == int(str(suite.get("tests")))
    properties = {entry.get("name"): entry.get("value") for entry in root[1].iter("property")}
    assert properties["optsched.verdict"] == "FAILED"
    assert float(str(properties["optsched.worst"])) == 1
    assert properties["optsched.limit"] == "worst gap at most 0"
    assert root[2].get("name") == r"raises \x00 \ud800 \ufffe", "what XML cannot hold is spelled out"
    assert root[3].find("testcase/skipped").get("message") == "1 of 2 runs were done"


def test_junit_failures() -> None:
    """Tests message, text, type and traceback of a failure, and that all cases fail where nothing can be judged."""
    (failure,) = ET.fromstring(junit([result(wide, max_absolute=0.5)])).iter("failure")
    assert failure.get("type") == "AssertionError"
    assert failure.get("message") == "the gap is 1, over the limit of 0.5"
    assert "value 1 against the optimum 0" in str(failure.text)
    (failure,) = ET.fromstring(junit([result(broken)], "here")).iter("failure")
    assert failure.get("type") == "KeyError"
    assert "in broken" in str(failure.text)
    assert r"\x1b[31m ]]> & <b>" in str(failure.text)
    assert "cd here && PYTHONPATH=.. optsched gap" in str(failure.text)
    limited = result(wide, max_absolute=0.5, profile="ci", time_limit=9, run_limit=60)
    (failure,) = ET.fromstring(junit([limited])).iter("failure")
    assert "--profile ci --time-limit 9 --run-limit 60" in str(failure.text)
    found = result("lsap-sched", ["papers/guo-fig2", "papers/guo-table2"], baseline="no/such.json")
    root = ET.fromstring(junit([found]))
    assert (root.get("tests"), root.get("failures")) == ("2", "2")


def command(line: str) -> tuple[str, dict[str, str], str]:
    """Name, properties and message of a command, read as the runner of GitHub Actions reads it."""

    def plain(text: str) -> str:
        for escape, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
            text = text.replace(escape, character)
        return text

    assert "\n" not in line
    found = re.fullmatch(r"::(\w+) ([^:]*)::(.*)", line)
    listed = dict(part.split("=", 1) for part in found[2].split(","))
    return found[1], {key: plain(value) for key, value in listed.items()}, plain(found[3])


def test_annotations(tmp_path: Path) -> None:
    """Tests an error for each check that failed: at the check in its file, or at the line that raised."""
    results = [result("lsap-sched", max_gap=0), result(wide, max_absolute=0.5), result(broken), unfinished(1)]
    first, second = github_annotations(results, tmp_path / "a,b" / "checks.toml", tmp_path)
    name, properties, message = command(first)
    assert name == "error"
    assert properties == {"file": "a,b/checks.toml", "line": "7", "title": "optsched: near, or 5 %"}
    assert message.splitlines()[1] == "1 of 1 run over the limit of 0.5"
    assert "the gap is 1, over the limit of 0.5\n  value 1 against the optimum 0\n" in message
    assert command(second)[1]["file"] == "a,b/checks.toml", "the heuristic is not in the workspace"
    _, raised = github_annotations(results, "checks.toml", Path(__file__).parent)
    _, properties, message = command(raised)
    assert properties["file"] == Path(__file__).name
    line = Path(__file__).read_text(encoding="utf-8").splitlines()[int(properties["line"]) - 1]
    assert line.strip().startswith("raise KeyError")
    assert "raised KeyError" in message
    failed = replace(results[1], planned=replace(results[1].planned, name="x", line=None))
    (line,) = github_annotations([failed], "/elsewhere/checks.toml", "/nowhere")
    assert command(line)[1] == {"file": "/elsewhere/checks.toml", "title": "optsched: x"}, "no line is known"


def test_markdown() -> None:
    """Tests the heading, that each row has as many cells as there are columns, and that texts stay in their fences."""
    text = markdown([result("lsap-sched", name="a|b *c*", max_gap=0), result(broken, name="`d`"), unfinished(0)], "x")
    lines = text.splitlines()
    assert lines[0] == "## optsched check: 1 of 3 failed, 1 not finished"
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) == 5
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {len(COLUMNS) + 1}
    assert r"| a\|b \*c\* |" in rows[2]
    assert r"### \`d\`" in lines
    (first, last) = (at for at, line in enumerate(lines) if line.startswith("```"))
    assert lines[first] == "```text"
    assert "Traceback (most recent call last):" in lines[first:last]
    assert "\x1b" not in text
    assert markdown([result("lsap-sched")]).startswith("## optsched check: 1 passed\n")

    def fenced(problem: Any, rng: Any) -> list[str]:
        raise ValueError("\n```\n# not a heading")

    lines = markdown([result(fenced)]).splitlines()
    assert lines.count("````text") == lines.count("````") == 1, "what was raised cannot end the fence around it"
