"""Recorded runs: what each heuristic came to, and which runs come to more today.

A baseline is a JSON file (`optsched-baseline/1`) with one entry for each run: instance and its hash, problem and
parameters, heuristic, seed, and the objective, exactly. A run is compared with its entry as objectives are, component
by component and without a tolerance; on one instance, a worse objective is a larger gap. The gap itself is recorded for
whoever reads the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optsched.errors import Fault, InputError
from optsched.gaps import GapReport
from optsched.instances.documents.rationals import read_number, spelled
from optsched.instances.documents.writing import write_whole
from optsched.results import Sense, Value
from optsched.studies.limits import Breach, reason
from optsched.studies.runs import Measured

__all__ = ["FORMAT", "Baseline", "Comparison"]

FORMAT = "optsched-baseline/1"

#: What tells a run from the others of a baseline: instance, problem, heuristic, seed.
_Key = tuple[str, str, str, int]


@dataclass(frozen=True)
class _Entry:
    """What a run came to: `objective` is None where it had no feasible placement, `gap` where none is known."""

    instance_sha256: str
    parameters: Mapping[str, Any]
    objective: Value | None
    gap: float | None


@dataclass(frozen=True)
class Comparison:
    """Runs against a baseline.

    Attributes
    ----------
    breaches
        The runs that are worse than recorded, or that nothing is recorded of.
    improved
        How many are better.
    equal
        How many are as recorded.
    """

    breaches: tuple[Breach, ...]
    improved: int
    equal: int


@dataclass(frozen=True)
class Baseline:
    """What runs came to when they were recorded."""

    entries: Mapping[_Key, _Entry]

    @classmethod
    def of(cls, measured: Iterable[Measured]) -> Baseline:
        """The baseline that these runs make."""
        return cls({_key(entry): _entry(entry.report) for entry in measured})

    @classmethod
    def read(cls, path: str | Path) -> Baseline:
        """Read a file.

        Raises
        ------
        InputError
            If it cannot be read or is no baseline; lists every fault.
        """
        try:
            document = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            told = getattr(error, "strerror", None) or error
            raise InputError([Fault("", f"cannot be read as a baseline: {told}")], str(path)) from None
        faults: list[Fault] = []
        found = getattr(document, "get", lambda _: None)("format")
        if found != FORMAT:
            told = f'expected "{FORMAT}", not {json.dumps(found)}; record the baseline again'
            raise InputError([Fault("format", told)], str(path))
        entries: dict[_Key, _Entry] = {}
        runs = document.get("runs")
        for number, run in enumerate(runs if isinstance(runs, list) else []):
            try:
                key = (str(run["instance"]), str(run["problem"]), str(run["heuristic"]), int(run["seed"]))
                objective = run["objective"]
                value = None
                if objective is not None:
                    place = f"runs[{number}].objective"
                    value = tuple(read_number(part, f"{place}[{at}]", faults) for at, part in enumerate(objective))
                entries[key] = _Entry(str(run["instance_sha256"]), dict(run["parameters"]), value, run.get("gap"))
            except (KeyError, TypeError, ValueError) as error:
                faults.append(Fault(f"runs[{number}]", f"is no recorded run ({type(error).__name__}: {error})"))
        if not isinstance(runs, list):
            faults.append(Fault("runs", "expected a list of recorded runs"))
        if faults:
            raise InputError(faults, str(path))
        return cls(entries)

    def write(self, path: str | Path) -> None:
        """Write a file, one run a line, in the order of names; the same bytes for the same runs."""
        lines = []
        for key, entry in sorted(self.entries.items()):
            run = dict(zip(("instance", "problem", "heuristic", "seed"), key, strict=True)) | {
                "parameters": dict(entry.parameters),
                "objective": None if entry.objective is None else [spelled(part) for part in entry.objective],
                "gap": entry.gap,
                "instance_sha256": entry.instance_sha256,
            }
            lines.append(json.dumps(run))
        text = f'{{"format": "{FORMAT}", "runs": [\n  ' + ",\n  ".join(lines) + "\n]}\n"
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        write_whole(str(path), text.encode())

    def compare(self, measured: Sequence[Measured]) -> Comparison:
        """Which of these runs are worse than recorded."""
        breaches: list[Breach] = []
        improved = equal = 0
        for entry in measured:
            told = self._worse(entry)
            if isinstance(told, str):
                breaches.append(Breach(told, entry, (entry,)))
            else:
                improved, equal = improved + told, equal + (not told)
        return Comparison(tuple(breaches), improved, equal)

    def _worse(self, entry: Measured) -> str | bool:
        """What is wrong with a run; else whether it is better than recorded."""
        report = entry.report
        recorded = self.entries.get(_key(entry))
        if recorded is None:
            return "nothing is recorded of this run; record it"
        if recorded.instance_sha256 != report.problem.instance.sha256:
            return "the instance is another than the recorded one of that name; record it again if this is meant"
        if _plain(report.problem.parameters) != recorded.parameters:
            return "the problem has other parameters than the recorded ones; record it again if this is meant"
        if recorded.objective is None:
            return report.feasible
        if report.objective is None:
            return f"had the value {_told(recorded.objective)} when it was recorded; now {reason(report)}"
        now, then = (_compared(report, value) for value in (report.objective, recorded.objective))
        if now <= then:
            return now < then
        gap = report.deciding
        share = "" if gap is None or gap[1] is None else f", {100 * float(gap[1]):.4g} % from the optimum"
        before = "" if recorded.gap is None else f" ({100 * recorded.gap:.4g} %)"
        return f"the value is {_told(report.objective)}{share}; recorded is {_told(recorded.objective)}{before}"


def _key(entry: Measured) -> _Key:
    return entry.report.problem.instance.name, entry.report.problem.name, entry.label, entry.report.seed


def _entry(report: GapReport) -> _Entry:
    gap = report.deciding
    share = None if gap is None or gap[1] is None else float(gap[1])
    return _Entry(report.problem.instance.sha256, _plain(report.problem.parameters), report.objective, share)


def _plain(parameters: Mapping[str, Any]) -> Any:
    """Parameters as JSON gives them back."""
    return json.loads(json.dumps(dict(parameters), default=str))


def _compared(report: GapReport, value: Value) -> Value:
    """A value so that less is better in each component."""
    senses = (component.sense for component in report.problem.components)
    return tuple(part if sense is Sense.MIN else -part for sense, part in zip(senses, value, strict=True))


def _told(value: Value) -> str:
    return ", ".join(map(str, value))
