"""Frontiers of reports."""

from __future__ import annotations

from report_records import Study, entries, record, shown

from optsched.reporting.frontiers import frontier
from optsched.reporting.reading import read


def test_frontiers() -> None:
    """Tests the points, those of heuristics on the same problem beside them, and what is said of one that was cut."""
    points = [{"objective": [1, 3.5], "certificate": "dual"}, {"objective": [2, 3], "certificate": "solver"}]
    document = {"version": "1", "instance": "a", "problem": "lsap", "parameters": {"levels": [0, 1, 1]}}
    document |= {"components": ["x", "y"], "points": points, "complete": False, "limit": "TIME"}
    both = {"sense": ["min"] * 2, "components": ["x", "y"], "reference": [1, 3.5], "relative_gap": [1, None]}
    run = record(**both, objective=[2, 4.25], absolute_gap=[1, None])
    found = read(Study([document, run, {**run, "seed": 1}, {**run, "instance": "b"}]))
    runs = entries([run, {**run, "seed": 1}, {**run, "instance": "b"}])
    table = frontier(1, found.frontiers[0], runs)
    assert shown(table) == [
        ["frontier", "1", "3.5", "dual"],
        ["frontier", "2", "3", "solver"],
        ["dl", "2", "4.25", ""],
    ]
    assert table.note == "Not complete: TIME cut it short."
    failed = {**run, "status": "failed", "error": "lost", "objective": None, "seed": 2}
    table = frontier(1, found.frontiers[0], entries([run, failed]))
    assert shown(table)[2:] == [["dl, seed 0", "2", "4.25", ""], ["dl, seed 2", "-", "-", "failed"]]
