"""The results of checks, for people and CI servers: a table, JUnit XML, annotations of GitHub Actions, Markdown."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from optsched.core.errors import printable
from optsched.measuring.printing import Table, escaped, render, spread
from optsched.measuring.studies.checks import Outcome, Planned
from optsched.measuring.studies.limits import Breach, GapLimit, frames_of, group_of, grouped, traceback_of

#: The heads of the table, and those with numbers.
COLUMNS = ("check", "runs", "seeds", "worst", "mean", "verdict", "limit")
NUMBERS = frozenset({"runs", "seeds", "worst", "mean"})


@dataclass(frozen=True)
class Result:
    """The result of a check: its outcome (None if it was not finished), how many runs were done, and seconds."""

    planned: Planned
    outcome: Outcome | None
    done: int
    seconds: float

    @property
    def verdict(self) -> str:
        """`passed`, `FAILED`, `recorded` if a baseline was and everything else holds, `not finished`, or `not run`."""
        if self.outcome is None:
            return "not finished" if self.done else "not run"
        if self.outcome.failed:
            return "FAILED"
        planned = self.planned
        return "recorded" if planned.record and planned.check.baseline is not None else "passed"

    @property
    def cells(self) -> tuple[str, ...]:
        """Its row."""
        asserted = self.planned.check.asserted
        if self.outcome is None:
            return self.planned.name, f"{self.done}{self.planned.whole}", "-", "-", "-", self.verdict, asserted
        limit, numbers = self.outcome.check.limit, self.outcome.numbers
        counted = limit or GapLimit(0)
        worst = counted.shown(numbers.get("worst"))
        mean = spread(counted.shown(numbers.get("mean")), numbers.get("half_width", 0))
        if numbers["feasible"] < numbers["runs"]:
            worst, mean = "infeasible", "-"
        elif numbers["over_zero"]:
            worst, mean = "over 0", "-"
        parts = [f"{self.outcome.improved} better than recorded"] if self.outcome.improved else []
        if limit is not None and limit.statistic != "worst":
            judged = limit.shown(limit.compared(self.outcome.reports.measured))
            if limit.statistic != "mean" or not mean.startswith(judged.partition(" ")[0]):
                parts.append(f"{limit.statistic} {judged}")
        details = f" ({', '.join(parts)})" if parts else ""
        return self.planned.name, str(self.done), f"{numbers['seeds']:g}", worst, mean, self.verdict, asserted + details


def breach_lines(result: Result, folder: str = "") -> Iterator[str]:
    """The lines on each breach, for people, and the traceback of a heuristic's exception.

    `folder` is where commands should be typed, if not here.
    """
    if result.outcome is None or not result.outcome.failed:
        return
    yield from result.outcome.lines(folder)
    if result.outcome.cause is not None:
        yield from traceback_of(result.outcome.cause).rstrip("\n").split("\n")


# JUnit XML --------------------------------------------------------------------------------------------------------


def junit(results: Sequence[Result], folder: str = "") -> bytes:
    """The results in the form that CI servers read: a suite for each check, a case for each group of its runs.

    A group is an instance or a family, with one heuristic in one problem. The suite's properties have the results; an
    unfinished check is one skipped case.
    """
    root = ET.Element("testsuites", {"name": "optsched check"})
    for result in results:
        root.append(_suite(result, folder))
    for count in ("tests", "failures", "errors"):
        root.set(count, str(sum(int(suite.get(count, 0)) for suite in root)))
    root.set("time", f"{sum(result.seconds for result in results):.3f}")
    ET.indent(root)
    text: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _suite(result: Result, folder: str) -> ET.Element:
    suite = ET.Element("testsuite", {"name": _xml_text(result.planned.name), "errors": "0"})
    properties = ET.SubElement(suite, "properties")
    check = result.planned.check
    values: dict[str, object] = {
        "heuristic": ", ".join(choice.label for choice in check.choices),
        "problem": ", ".join(check.problems),
        "limit": check.asserted,
        "verdict": result.verdict,
    }
    if result.outcome is not None:
        values |= result.outcome.numbers
    for name, value in values.items():
        ET.SubElement(properties, "property", {"name": f"optsched.{name}", "value": _xml_text(str(value))})
    if result.outcome is None:
        case = ET.SubElement(suite, "testcase", {"name": "not finished", "classname": _xml_text(result.planned.name)})
        ET.SubElement(case, "skipped", {"message": f"{result.done}{result.planned.whole} runs were done"})
    else:
        _cases(suite, result.planned.name, result.outcome, folder)
    suite.set("tests", str(len(suite.findall("testcase"))))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    suite.set("time", f"{result.seconds:.3f}")
    return suite


def _cases(suite: ET.Element, name: str, outcome: Outcome, folder: str) -> None:
    broken: dict[tuple[str, str, str], list[Breach]] = {}
    for breach in outcome.breaches:
        for key in dict.fromkeys(map(group_of, breach.runs)):
            broken.setdefault(key, []).append(breach)
    for key, runs in grouped(outcome.reports.measured).items():
        group, problem, label = key
        seconds = f"{sum(entry.report.run.seconds for entry in runs):.3f}"
        title = _xml_text(f"{label} on {group}, {problem}")
        case = ET.SubElement(suite, "testcase", {"name": title, "classname": _xml_text(name), "time": seconds})
        if key in broken:
            cause = next(filter(None, (breach.worst.report.run.cause for breach in broken[key])), None)
            text = list(outcome.lines(folder, broken[key]))
            kind = "AssertionError" if cause is None else getattr(cause, "kind", type(cause).__name__)
            failure = ET.SubElement(case, "failure", {"type": kind, "message": _xml_text(broken[key][0].message)})
            if cause is not None:
                text.append(traceback_of(cause).rstrip("\n"))
            failure.text = _xml_text("\n".join(text))


#: Characters that no XML document can contain, escaped or not.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _xml_text(text: str) -> str:
    """A text in which characters that XML cannot contain are spelled out."""
    return _FORBIDDEN.sub(lambda match: printable(match[0]), text)


# GitHub Actions ---------------------------------------------------------------------------------------------------


def github_annotations(
    results: Iterable[Result], path: str | Path, workspace: str | Path = ".", folder: str = ""
) -> Iterator[str]:
    """A line for each failed check, which GitHub Actions shows next to the code.

    It is shown at the line of the user's own code that raised, if one did, else at the check in its file `path`.
    `workspace` is the folder of the repository's checkout, `folder` where commands should be typed, if not here.
    """
    for result in results:
        if result.outcome is None or not result.outcome.failed:
            continue
        place = _raised_at(result.outcome, Path(workspace)) or (
            _within(Path(path), Path(workspace)),
            result.planned.line,
        )
        properties = {"file": place[0], "line": place[1], "title": f"optsched: {result.planned.name}"}
        listed = ",".join(f"{key}={_escaped(value, True)}" for key, value in properties.items() if value is not None)
        heads = filter(None, [result.outcome.in_words, result.outcome.over])
        message = "\n".join([*heads, *result.outcome.lines(folder)])
        yield f"::error {listed}::{_escaped(message)}"


def _within(path: Path, workspace: Path) -> str:
    """A path as GitHub wants it: relative to the workspace, if it is in it."""
    full, root = path.resolve(), workspace.resolve()
    return full.relative_to(root).as_posix() if full.is_relative_to(root) else str(path)


def _raised_at(outcome: Outcome, workspace: Path) -> tuple[str, int | None] | None:
    """File and line of the innermost of the user's own lines that raised."""
    if outcome.cause is None:
        return None
    root = workspace.resolve()
    own = [
        (Path(file), line)
        for file, line in frames_of(outcome.cause)
        if Path(file).resolve().is_relative_to(root)
        and not Path(file).resolve().is_relative_to(Path(__file__).parents[2])
        and "site-packages" not in Path(file).parts
    ]
    return (_within(own[-1][0], workspace), own[-1][1]) if own else None


def _escaped(value: object, of_property: bool = False) -> str:
    """A value escaped for the commands of GitHub Actions."""
    escapes = {"%": "%25", "\r": "%0D", "\n": "%0A"} | ({":": "%3A", ",": "%2C"} if of_property else {})
    return re.sub(f"[{''.join(escapes)}]", lambda match: escapes[match[0]], str(value))


# Markdown ---------------------------------------------------------------------------------------------------------


def markdown(results: Sequence[Result], folder: str = "") -> str:
    """A heading, a table with a row for each check, and the breaches."""
    failed = [result for result in results if result.verdict == "FAILED"]
    unfinished = [result for result in results if result.outcome is None]
    heading = f"{len(failed)} of {len(results)} failed" if failed else f"{len(results) - len(unfinished)} passed"
    heading += f", {len(unfinished)} not finished" if unfinished else ""
    table = render(Table(COLUMNS, [result.cells for result in results], NUMBERS), form="markdown")
    parts = [f"## optsched check: {heading}", table.rstrip("\n")]
    for result in failed:
        text = "\n".join(printable(line.replace("\t", "    ")) for line in breach_lines(result, folder))
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
        parts.append(f"### {escaped(result.planned.name, 'markdown')}\n\n{fence}text\n{text}\n{fence}")
    return "\n\n".join(parts) + "\n"
