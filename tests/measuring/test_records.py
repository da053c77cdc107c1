"""Runs as plain values: what was kept as JSON makes the frames and summaries that the reports themselves make."""

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
import pytest

import optsched
from optsched import study
from optsched.cli.gaps import LEGEND
from optsched.core.errors import HeuristicFailed
from optsched.measuring.gaps import Reference
from optsched.measuring.printing import to_json
from optsched.measuring.records import Record, Run, frame_of, legend
from optsched.measuring.studies.limits import GapLimit, breaches
from optsched.measuring.studies.tables import GapReports, summaries, summary_frame
from optsched.showing import tables
from optsched.showing.drawing import gap_text
from optsched.showing.gaps import ratios, runs_of


def lost(problem: Any, rng: Any) -> list[str]:
    """Fails."""
    raise KeyError("lost")


def idle(problem: Any, rng: Any) -> list[None]:
    """Places nothing."""
    return [None] * len(problem.tasks)


def several() -> GapReports:
    """Runs of all sorts, in problems of one component and of two, with and without a gap beside 0."""
    names = ["papers/guo-fig2", "papers/guo-table2", "examples/packing"]
    return study(names, ["lsap", "latency"], ["dl", "round-robin", lost, idle], seeds=2)


def read_again(found: GapReports) -> list[Run]:
    """Runs as they come back from JSON."""
    return [
        Run(Record.of(json.loads(to_json(run.report.record()))), run.group, run.heuristic) for run in found.measured
    ]


def test_what_was_kept() -> None:
    """Tests that records that went through JSON make the frame and summary that the reports make, type for type."""
    found = several()
    frame = found.frame()
    beside = ["work_gap_at_makespan", "makespan_gap_at_work"]
    assert set(beside) < set(frame.columns)
    assert (frame["gap"] > 0).any()
    runs = read_again(found)
    pd.testing.assert_frame_equal(frame_of(runs), frame)
    pd.testing.assert_frame_equal(summary_frame(summaries(runs)), found.summary())
    assert {"optimal", "above", "over_zero", "failed", "infeasible"} <= {run.outcome for run in runs}


def test_a_summary_solves_no_frontier(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the gaps to a frontier, which may take as long as all else, are found only for what shows them."""
    reports = study("examples/packing", "latency", ["labl", "round-robin"], seeds=2)
    asked: list[object] = []
    monkeypatch.setattr(Reference, "frontier_gaps", lambda *call: asked.append(call) or {})
    assert len(reports.summary()) == 2
    assert [run.status for run in reports.measured] == ["done"] * 4
    assert tables.overview(summaries(reports.measured)).rows
    assert not asked
    assert len(reports.frame()) == 4
    assert len(asked) == 4


def test_levels_of_locality_of_an_earlier_version() -> None:
    """Tests that `remote` in JSON, as earlier versions wrote it, is read as `off_rack`; other faults stay faults."""
    record = json.loads(to_json(next(iter(several())).record()))
    text = json.dumps(record)
    assert '"off_rack"' in text
    assert Record.of(json.loads(text.replace('"off_rack"', '"remote"'))) == Record.of(record)
    with pytest.raises(msgspec.ValidationError, match="Expected `object`, got `int`"):
        Record.of(record | {"locality": {"map": 3}})


def test_an_unknown_gap() -> None:
    """Tests that a run without a reference has no gap in frame and summary, and is counted as unknown."""
    (record,) = study("papers/guo-table2", "fair-lsap", "dl").records()
    unknown = {"reference": None, "reference_kind": None, "absolute_gap": None, "relative_gap": None}
    run = Run(Record.of({**record, **unknown}))
    assert (run.outcome, run.relative, run.proof) == ("unknown", None, "unknown")
    frame = frame_of([run])
    assert frame[["gap", "absolute_gap", "reference_1"]].isna().all(axis=None)
    assert frame["objective_1"][0] == 50


def test_bug_a_gap_over_zero_had_five_names() -> None:
    """Tests that everything that tells of a run whose reference is 0 calls it over 0, and fields `over_zero`."""
    found = study("papers/guo-fig2", "lsap", "dl")
    (run,), (report,) = found.measured, found
    (part,) = summaries([run])
    assert (run.outcome, part.rows[0].over_zero, found.summary()["over_zero"].tolist()) == ("over_zero", 1, [1])
    line, numbers = found.in_words()
    assert numbers["over_zero"] == 1
    (breach,) = breaches([run], GapLimit.of(max_gap=0.5))
    with pytest.raises(HeuristicFailed) as failed:
        report.raise_unless_within(0.5)
    texts = [line, breach.message, str(failed.value), part.table().rows[0][-1], *legend([run]), tables.gaps(part).note]
    texts += [", ".join(tables.gaps(part).columns), LEGEND, gap_text(report)]
    texts += [panels(found)["lsap"]["dl"].lacking() for panels in (runs_of, partial(ratios, against="reference"))]
    assert [text for text in texts if "over 0" not in text.lower()] == []
    words = re.compile("beside.zero|beside 0|(optimum.?|reference|bound) of 0")
    rooms = [Path(optsched.__file__).parent / room for room in ("cli", "measuring", "showing")]
    sources = [path for room in rooms for path in room.rglob("*.py")]
    assert [str(path) for path in sources if words.search(path.read_text(encoding="utf-8"))] == []
