"""Gap matrices of reports."""

from __future__ import annotations

from report_records import Study, record, shown

from optsched.reporting.matrices import matrices
from optsched.reporting.reading import read


def test_matrices() -> None:
    """Tests a matrix for each instance and seed: gaps, differences, reasons, placements made elsewhere, empty cells."""
    cells = [
        record(3, ran_in="lsap"),
        record(5, 0, ran_in="flow", problem="latency"),
        record(None, ran_in="lsap", reason="slots", heuristic="fair"),
        record(3, None, ran_in="lsap", heuristic="late"),
        record(2, ran_in="lsap", instance="b", seed=1),
    ]
    several = {"sense": ["min"] * 2, "objective": [1, 3], "reference": [1, 2], "components": []}
    cells.append(record(**several, absolute_gap=[0, 1], relative_gap=[0, 0.5], ran_in="traffic", problem="traffic"))
    first, second = matrices(read(Study(cells)).cells)
    assert first.columns == ("heuristic", "lsap", "latency", "traffic")
    assert shown(first) == [["dl", "50 %", "+5 *", "50 %"], ["fair", "slots", "", ""], ["late", "unproved", "", ""]]
    assert (first.title, second.title) == ("Gap matrix of a, seed 0", "Gap matrix of b, seed 1")
