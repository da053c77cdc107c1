"""Baselines: what each run came to when it was recorded, and which runs come to more today.

A baseline is a JSON file (`optsched-baseline/1`) with one entry for each run: instance and its hash, problem and
parameters, heuristic, seed, and the objective, exactly. A run is compared with its entry like objectives, component by
component and without a tolerance; on one instance, a worse objective is a larger gap. The gap itself is recorded for
readers of the file. Several tests, also in several processes, may record their runs in one file.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from optsched.core.decimals import spelled
from optsched.core.errors import Fault, InputError
from optsched.core.results import value_text
from optsched.instances.documents.diagnosis import read_number
from optsched.instances.documents.storing import write_whole
from optsched.measuring.gaps import GapReport
from optsched.measuring.printing import canonical, percent
from optsched.measuring.records import Run
from optsched.measuring.studies.limits import Breach, reason

FORMAT = "optsched-baseline/1"

#: Seconds to wait for a file in which another process records.
PATIENCE = 20.0


class Recorded(Struct, frozen=True, kw_only=True):
    """A run as a file has it. `objective` is None if it had no feasible placement, `gap` if none is known."""

    instance: str
    problem: str
    heuristic: str
    seed: int
    parameters: dict[str, Any]
    objective: Annotated[tuple[Any, ...], Meta(min_length=1)] | None
    gap: float | None = None
    instance_sha256: str

    @classmethod
    def of(cls, entry: Run) -> Recorded:
        """The entry of a run."""
        record, (_, gap) = entry.record, entry.gap
        return cls(
            instance=record.instance,
            problem=record.problem,
            heuristic=entry.heuristic,
            seed=record.seed,
            parameters=json.loads(canonical(record.parameters)),
            objective=entry.report.objective,  # exact, unlike that of the record
            gap=None if gap in (None, math.inf) else float(gap),
            instance_sha256=record.instance_sha256,
        )

    @property
    def name(self) -> tuple[str, str, str, int]:
        """The names of the run: that of a changed instance, or with other parameters, has the same ones."""
        return self.instance, self.problem, self.heuristic, self.seed

    @property
    def key(self) -> tuple[str, str, str, int, str, str]:
        """All that a run is found by."""
        return *self.name, self.instance_sha256, canonical(self.parameters)


@dataclass(frozen=True)
class Baseline:
    """Runs as they were recorded, each by its key."""

    entries: Mapping[tuple[Any, ...], Recorded]

    @classmethod
    def of(cls, measured: Iterable[Run]) -> Baseline:
        """The baseline of these runs."""
        return cls({found.key: found for found in map(Recorded.of, measured)})

    @classmethod
    def read(cls, path: str | Path) -> Baseline:
        """Read a file; InputError with every fault if it cannot be read or is no baseline."""
        try:
            document = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            why = getattr(error, "strerror", None) or error
            message = f"cannot be read as a baseline: {why}; mend it, or remove it and record it again"
            raise InputError([Fault("", message)], str(path)) from None
        found = getattr(document, "get", lambda _: None)("format")
        if found != FORMAT:
            message = f'expected "{FORMAT}", not {json.dumps(found)}; remove the file and record it again'
            raise InputError([Fault("format", message)], str(path))
        runs = document.get("runs")
        if not isinstance(runs, list):
            raise InputError([Fault("runs", "expected a list of recorded runs")], str(path))
        faults: list[Fault] = []
        entries: dict[tuple[Any, ...], Recorded] = {}
        for number, run in enumerate(runs):
            place = f"runs[{number}]"
            entry = _recorded(run, place, faults)
            if entry is not None and entry.key in entries:
                faults.append(Fault(place, "records a run that is recorded above; remove one of them"))
            elif entry is not None:
                entries[entry.key] = entry
        if faults:
            raise InputError(faults, str(path))
        return cls(entries)

    def write(self, path: str | Path) -> None:
        """Write a file, one run per line, sorted by name; the same bytes for the same runs."""
        lines = []
        for _, entry in sorted(self.entries.items()):
            value = None if entry.objective is None else [spelled(part) for part in entry.objective]
            lines.append(json.dumps(msgspec.structs.asdict(entry) | {"objective": value}))
        text = f'{{"format": "{FORMAT}", "runs": [\n  ' + ",\n  ".join(lines) + "\n]}\n"
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError([Fault("", f"its folder cannot be made: {error.strerror}")], str(path)) from None
        write_whole(str(path), text.encode())

    def record(self, path: str | Path) -> None:
        """Write these runs into a file, keeping its other runs; also if several processes do so at once.

        InputError if the file is no baseline, cannot be written, or is held by another process for long.
        """
        with _locked(Path(path)):
            others = Baseline.read(path).entries if os.path.exists(path) else {}
            Baseline({**others, **self.entries}).write(path)

    def compare(
        self, measured: Sequence[Run], recorder: str = "record it again", every: bool = True
    ) -> tuple[list[Breach], int]:
        """Which of these runs are worse than recorded, and how many are better.

        `recorder` says how to record the new runs. `every`: whether a run without a record is a fault if another seed
        of it has one.
        """
        breaches: list[Breach] = []
        improved = 0
        names = {recorded.name for recorded in self.entries.values()}
        of_any_seed = {name[:-1] for name in names}
        for entry in measured:
            now = Recorded.of(entry)
            if not every and now.name not in names and now.name[:-1] in of_any_seed:
                continue
            judged = self._worse(entry.report, now)
            if isinstance(judged, str):
                breaches.append(Breach(f"{judged}; if this is meant, {recorder}", entry, (entry,)))
            else:
                improved += judged
        return breaches, improved

    def _worse(self, report: GapReport, now: Recorded) -> str | bool:
        """The fault of a run that is worse; else whether it is better than recorded."""
        then = self.entries.get(now.key)
        if then is None:
            namesakes = [other for other in self.entries.values() if other.name == now.name]
            if not namesakes:
                return "nothing is recorded of this run"
            if any(other.instance_sha256 == now.instance_sha256 for other in namesakes):
                return "the problem has other parameters than the recorded ones"
            return "the instance is another than the recorded one of that name"
        if then.objective is None:
            return report.feasible
        recorded = value_text(then.objective)
        if len(then.objective) != len(report.problem.components):
            return f"what is recorded, {recorded}, is no value of {report.problem.name}"
        if report.objective is None:
            return f"had the value {recorded} when it was recorded; now {reason(report)}"
        value, least = map(report.problem.minimised, (report.objective, then.objective))
        if value <= least:
            return value < least
        away = "" if now.gap is None else f", {percent(now.gap)} from the optimum"
        before = "" if then.gap is None else f" ({percent(then.gap)})"
        return f"the value is {value_text(report.objective)}{away}; recorded is {recorded}{before}"


def _recorded(run: Any, place: str, faults: list[Fault]) -> Recorded | None:
    """An entry of a file; None if it is none, which is among the faults then."""
    try:
        entry = msgspec.convert(run, Recorded)
    except msgspec.ValidationError as error:
        message, _, within = str(error).partition(" - at `$")
        words = f"is no recorded run: {message[0].lower()}{message[1:]}; mend it, or remove the run and record it again"
        faults.append(Fault(place + within.rstrip("`"), words))
        return None
    if entry.objective is None:
        return entry
    parts = enumerate(entry.objective)
    value = tuple(read_number(part, f"{place}.objective[{at}]", faults) for at, part in parts)
    return msgspec.structs.replace(entry, objective=value)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keeps other processes from recording in a file within the block."""
    # An empty database in the temporary folder: its lock is the system's, and ends with the process that holds it.
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
