"""Runs from their records, made just now or read from where they were kept: for frames and for summing up."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from optsched.instance import KINDS
from optsched.problems.locality_counts import CLASSES
from optsched.studies.runs import Measured
from optsched.studies.summing import Run

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Kept", "deciding", "frame_of", "run_of"]


@dataclass(frozen=True)
class Kept:
    """A record with what it is called in a study.

    Attributes
    ----------
    group, label
        Of which group of instances the run is, and what its heuristic was called.
    record
        As `GapReport.record` makes it.
    """

    group: str
    label: str
    record: Mapping[str, Any]

    @classmethod
    def of(cls, entry: Measured) -> Kept:
        """That of a gap which was measured."""
        return cls(entry.group, entry.label, entry.report.record())


def deciding(record: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Absolute and relative gap of the first component that differs, infinite beside 0; None where unknown."""
    if record["absolute_gap"] is None:
        return None, None
    absolutes, relatives = _listed(record["absolute_gap"]), _listed(record["relative_gap"])
    for absolute, relative in zip(absolutes, relatives, strict=True):
        if absolute is None:
            return None, None
        if absolute:
            return absolute, float("inf") if relative is None else relative
    return 0, relatives[0]


def _listed(entries: Any) -> Sequence[Any]:
    """What a record has of each component: of one component it is no list."""
    return entries if isinstance(entries, list) else [entries]


def frame_of(kept: Iterable[Kept], beside: Sequence[str] = ()) -> pd.DataFrame:
    """A row for each run, one number a column; `optsched.GapReports.frame` says which.

    `beside`: the names of what gaps say beside themselves.
    """
    import pandas as pd

    runs = list(kept)
    columns = max((len(run.record["components"]) for run in runs), default=1)
    frame = pd.DataFrame([_row(run, columns, beside) for run in runs])
    texts = {"group", "instance", "problem", "parameters", "heuristic", "status", "error", "proof", "termination"}
    for name in frame.columns:
        if name not in texts | {"seed", "feasible", "starved"} and not name.startswith("component_"):
            frame[name] = frame[name].astype(float)
    return frame


def _row(run: Kept, columns: int, beside: Sequence[str]) -> dict[str, Any]:
    record = run.record
    absolute, relative = deciding(record)
    row: dict[str, Any] = {
        "group": run.group,
        "instance": record["instance"],
        "problem": record["problem"],
        "parameters": json.dumps(record["parameters"], default=str),
        "heuristic": run.label,
        "seed": record["seed"],
        "feasible": record["feasible"],
        "starved": record["status"] == "starved",
        "status": record["status"],
        "error": record["error"],
        "proof": record["certificate"],
        "termination": record["termination"],
        "gap": relative,
        "absolute_gap": absolute,
    }
    for position in range(columns):
        names = record["components"]
        row[f"component_{position + 1}"] = names[position] if position < len(names) else None
        for name in ("objective", "reference", "absolute_gap", "relative_gap"):
            values = _listed(record[name])
            row[f"{name}_{position + 1}"] = values[position] if position < len(values) else None
    row["waiting"] = record["waiting"]
    for whose in ("", "reference_"):
        counts = record[f"{whose}locality"]
        for kind in KINDS:
            for place in CLASSES:
                row[f"{whose}{kind}_{place}"] = None if counts is None else counts.get(kind, {}).get(place)
    row |= {name: record.get(name) for name in beside}
    return row | {name: record[name] for name in ("build_seconds", "solve_seconds", "heuristic_seconds")}


def run_of(record: Mapping[str, Any], heuristic: str = "", problem: str = "") -> Run:
    """What summing up needs to know of a run, from its record.

    `heuristic`, `problem`: what it is counted under, where that is not the name that the record has.

    Examples
    --------
    >>> import optsched
    >>> (record,) = optsched.study("papers/guo-table2", "fair-lsap", "dl").records()
    >>> run = run_of(record)
    >>> run.outcome, round(run.gap, 6)
    ('above', 0.125)
    """
    outcome, gap = _outcome(record)
    kind, proof = record["reference_kind"], record["certificate"]
    parameters = json.dumps(record["parameters"], sort_keys=True, default=str)
    return Run(
        problem or record["problem"],
        record["components"][0],
        heuristic or record["heuristic"],
        record["instance"] or "instance",
        (record["instance_sha256"], record["instance"], record["problem"], parameters, record.get("wave")),
        str(proof) if kind == "optimum" else kind or "unknown",
        outcome,
        gap,
        record["seed"],
    )


def _outcome(record: Mapping[str, Any]) -> tuple[str, float | None]:
    """Which sort of run it was, and the relative gap in the first component, where there is one."""
    if record["status"] != "done":
        return record["status"].replace("-", "_"), None
    if record["absolute_gap"] is None:
        return "unknown", None
    absolutes, gap = _listed(record["absolute_gap"]), _listed(record["relative_gap"])[0]
    if gap is None:
        return "beside_zero", None
    met = record["reference_kind"] == "optimum" and not any(absolutes) and None not in absolutes
    return "optimal" if met else "above", gap
