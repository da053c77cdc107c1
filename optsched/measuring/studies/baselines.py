"""Recorded runs: what each heuristic came to, and which runs come to more today.

A baseline is a JSON file (`optsched-baseline/1`) with one entry for each run: instance and its hash, problem and
parameters, heuristic, seed, and the objective, exactly. A run is compared with its entry as objectives are, component
by component and without a tolerance; on one instance, a worse objective is a larger gap. The gap itself is recorded for
readers of the file. Several tests, also in several processes, may record their runs in one file.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optsched.core.decimals import spelled
from optsched.core.errors import Fault, InputError
from optsched.core.results import Sense, Value
from optsched.instances.documents.diagnosis import read_number
from optsched.instances.documents.writing import write_whole
from optsched.measuring.gaps import GapReport
from optsched.measuring.printing import percent
from optsched.measuring.records import Run
from optsched.measuring.studies.limits import Breach, reason

__all__ = ["FORMAT", "Baseline", "Comparison"]

FORMAT = "optsched-baseline/1"

#: The key of a run in a baseline: instance, problem, heuristic, seed; hash of the instance, parameters.
_Key = tuple[str, str, str, int, str, str]
#: The part of the key that is a name: the run of a changed instance, or with other parameters, has the same name.
_NAMED = 4

#: The result of a run: its value, None where it had no feasible placement, and its gap, None where none is known.
_Result = tuple[Value | None, float | None]

#: Seconds to wait for a file that another process records in.
PATIENCE = 20.0


@dataclass(frozen=True)
class Comparison:
    """Runs against a baseline: those that are worse or not recorded, and how many are better or as recorded."""

    breaches: tuple[Breach, ...]
    improved: int
    equal: int


@dataclass(frozen=True)
class Baseline:
    """Runs as they were recorded."""

    entries: Mapping[_Key, _Result]

    @classmethod
    def of(cls, measured: Iterable[Run]) -> Baseline:
        """The baseline that these runs make."""
        return cls({_key(entry): (entry.report.objective, _share(entry.report)) for entry in measured})

    @classmethod
    def read(cls, path: str | Path) -> Baseline:
        """Read a file; InputError with every fault if it cannot be read or is no baseline."""
        try:
            document = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(
                [Fault("", f"cannot be read as a baseline: {reason}; mend it, or remove it and record it again")],
                str(path),
            ) from None
        faults: list[Fault] = []
        found = getattr(document, "get", lambda _: None)("format")
        if found != FORMAT:
            message = f'expected "{FORMAT}", not {json.dumps(found)}; remove the file and record it again'
            raise InputError([Fault("format", message)], str(path))
        entries: dict[_Key, _Result] = {}
        runs = document.get("runs")
        for number, run in enumerate(runs if isinstance(runs, list) else []):
            try:
                names = (str(run["instance"]), str(run["problem"]), str(run["heuristic"]), _seed(run["seed"]))
                key = (*names, str(run["instance_sha256"]), json.dumps(dict(run["parameters"]), sort_keys=True))
                if key in entries:
                    faults.append(Fault(f"runs[{number}]", "records a run that is recorded above; remove one of them"))
                gap = run.get("gap")
                value = _value(run["objective"], f"runs[{number}].objective", faults)
                entries[key] = value, None if gap is None else float(gap)
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
        for key, (objective, gap) in sorted(self.entries.items()):
            run = dict(zip(("instance", "problem", "heuristic", "seed"), key[:_NAMED], strict=True)) | {
                "parameters": json.loads(key[5]),
                "objective": None if objective is None else [spelled(part) for part in objective],
                "gap": gap,
                "instance_sha256": key[4],
            }
            lines.append(json.dumps(run))
        text = f'{{"format": "{FORMAT}", "runs": [\n  ' + ",\n  ".join(lines) + "\n]}\n"
        _folder_of(Path(path))
        write_whole(str(path), text.encode())

    def record(self, path: str | Path) -> None:
        """Write these runs into a file that may hold others, which stay; also where several processes do so at once.

        InputError if the file is no baseline, cannot be written, or is held by another process for long.
        """
        _folder_of(Path(path))
        with _locked(Path(path)):
            others = Baseline.read(path).entries if os.path.exists(path) else {}
            Baseline({**others, **self.entries}).write(path)

    def compare(self, measured: Sequence[Run], recorder: str = "record it again", every: bool = True) -> Comparison:
        """Which of these runs are worse than recorded; `recorder` says how to record what is meant.

        `every`: whether a run without a record is wrong where another seed of it has one.
        """
        breaches: list[Breach] = []
        improved = equal = 0
        seeds = {key[:_NAMED] for key in self.entries}
        others = set() if every else {names[:-1] for names in seeds}
        for entry in measured:
            names = _key(entry)[:_NAMED]
            if names not in seeds and names[:-1] in others:
                continue
            judged = self._worse(entry)
            if isinstance(judged, str):
                breaches.append(Breach(f"{judged}; if this is meant, {recorder}", entry, (entry,)))
            else:
                improved, equal = improved + judged, equal + (not judged)
        return Comparison(tuple(breaches), improved, equal)

    def _worse(self, entry: Run) -> str | bool:
        """The fault of a run that is worse; else whether it is better than recorded."""
        report = entry.report
        key = _key(entry)
        recorded = self.entries.get(key)
        if recorded is None:
            namesakes = [other for other in self.entries if other[:_NAMED] == key[:_NAMED]]
            if not namesakes:
                return "nothing is recorded of this run"
            what = "the instance is another than the recorded one of that name"
            if any(other[_NAMED] == key[_NAMED] for other in namesakes):
                what = "the problem has other parameters than the recorded ones"
            return what
        objective, gap = recorded
        if objective is None:
            return report.feasible
        if len(objective) != len(report.problem.components):
            return f"what is recorded, {_value_text(objective)}, is no value of {report.problem.name}"
        if report.objective is None:
            return f"had the value {_value_text(objective)} when it was recorded; now {reason(report)}"
        now, then = (_compared(report, value) for value in (report.objective, objective))
        if now <= then:
            return now < then
        share = _share(report)
        away = "" if share is None else f", {percent(share)} from the optimum"
        before = "" if gap is None else f" ({percent(gap)})"
        return f"the value is {_value_text(report.objective)}{away}; recorded is {_value_text(objective)}{before}"


def _key(entry: Run) -> _Key:
    problem = entry.report.problem
    parameters = json.dumps(dict(problem.parameters), default=str, sort_keys=True)
    return problem.instance.name, problem.name, entry.heuristic, entry.report.seed, problem.instance.sha256, parameters


def _share(report: GapReport) -> float | None:
    gap = report.deciding
    return None if gap is None or gap[1] is None else float(gap[1])


def _value(objective: Any, place: str, faults: list[Fault]) -> Value | None:
    """An objective as a file has it."""
    if objective is None:
        return None
    if not isinstance(objective, list) or not objective:
        raise TypeError("its objective is a list of numbers, or null")
    return tuple(read_number(part, f"{place}[{at}]", faults) for at, part in enumerate(objective))


def _seed(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError("its seed is a whole number")
    return value


def _folder_of(path: Path) -> None:
    """Makes the folder of a file, where there is none."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError([Fault("", f"its folder cannot be made: {error.strerror}")], str(path)) from None


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keeps other processes from recording in a file meanwhile."""
    # An empty database of the temporary folder: its lock is the system's, and ends with the process that holds it.
    digest = hashlib.sha256(os.path.realpath(path).encode("utf-8", "surrogateescape")).hexdigest()[:32]
    lock = Path(tempfile.gettempdir()) / f"optsched-{getattr(os, 'getuid', int)()}-{digest}.lock"
    with closing(sqlite3.connect(lock, timeout=PATIENCE, isolation_level=None)) as held:
        try:
            held.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            busy = error.sqlite_errorcode == sqlite3.SQLITE_BUSY
            message = f"another process has been recording in it for {PATIENCE:g} s" if busy else "cannot be written"
            message += f" ({lock}: {error})"
            raise InputError([Fault("", message)], str(path)) from None
        yield


def _compared(report: GapReport, value: Value) -> Value:
    """A value so that less is better in each component."""
    senses = (component.sense for component in report.problem.components)
    return tuple(part if sense is Sense.MIN else -part for sense, part in zip(senses, value, strict=True))


def _value_text(value: Value) -> str:
    return ", ".join(map(str, value))
