"""Records as `optsched gap --format json` writes them, made by hand for the tests of reports."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from optsched.measuring.printing import Table
from optsched.measuring.records import Run
from optsched.showing.sources import entries_of, read


def record(
    value: float | None = 4, best: float | None = 2, instance: str = "a", heuristic: str = "dl", **changes: Any
) -> dict[str, Any]:
    """A run with this value against this optimum; without a value it is infeasible."""
    difference = None if value is None or best is None else value - best
    relative = None if difference is None else 0 if not difference else difference / best if best else None
    return {
        "version": "0.1.0",
        "instance": instance,
        "problem": "lsap",
        "parameters": {"levels": [0, 1, 1]},
        "heuristic": heuristic,
        "heuristic_parameters": {},
        "seed": 0,
        "sense": "min",
        "feasible": value is not None,
        "violations": [] if value is not None else [{"constraint": "slots", "ids": ["n0"], "amount": 1}],
        "objective": value,
        "reference": best,
        "reference_kind": None if best is None else "optimum",
        "absolute_gap": difference,
        "relative_gap": relative,
        "certificate": None if best is None else "dual",
        "termination": "OPTIMAL",
        "build_seconds": 0.25,
        "solve_seconds": 0.5,
        "heuristic_seconds": 0.125,
        "status": "done" if value is not None else "infeasible",
        "components": ["locality-cost"],
        "instance_sha256": instance,
        **changes,
    }


#: The record of a frontier of one point.
FRONTIER = {"version": "0.1.0", "instance": "a", "problem": "latency", "parameters": {}, "components": ["x", "y"]}
FRONTIER |= {"points": [{"objective": [1, 3], "certificate": "dual"}], "complete": True, "limit": None}


def pair(
    values: Iterable[float | None], second: Iterable[float | None], best: float | None = 2
) -> list[dict[str, Any]]:
    """Two heuristics, `dl` and `fair`, on instances a, b, c, ... with these values."""
    rows = []
    for number, both in enumerate(zip(values, second, strict=True)):
        rows += [record(value, best, chr(97 + number), name) for name, value in zip(("dl", "fair"), both, strict=True)]
    return rows


class Study:
    """What has records, as a study in memory has."""

    def __init__(self, records: Iterable[Mapping[str, Any]]) -> None:
        self._records = list(records)

    def records(self) -> list[dict[str, Any]]:
        return [dict(entry) for entry in self._records]

    def __repr__(self) -> str:
        return "<Study>"


def entries(records: Iterable[Mapping[str, Any]]) -> list[Run]:
    """The runs of a report on these records."""
    return entries_of(read(Study(records)).runs)[0]


def written(folder: Path, content: Any, name: str = "records.json") -> str:
    """The path of a file with this content, which is JSON unless it is text or bytes."""
    path = folder / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return str(path)


#: Gaps of 100 %, 0, and 5 over 0; infeasible, starved, killed.
MIXED = [
    record(4, 2, "a"),
    record(2, 2, "b"),
    record(5, 0, "c"),
    record(None, 2, "d"),
    record(None, 2, "e", status="starved"),
    record(None, 2, "f", status="out-of-time", error="killed after 5 s"),
    record(None, 2, "g", status="out-of-memory", error="took 4 GB"),
    record(None, 2, "h", status="crashed", error="exit code 3"),
    record(None, 2, "i", status="failed", error="KeyError: lost"),
    record(3, None, "j"),
]


def shown(table: Table) -> list[list[str]]:
    """The texts of a table."""
    for row in table.rows:
        assert len(row) == len(table.columns)
    assert table.numbers <= set(table.columns)
    return [list(row) for row in table.rows]
