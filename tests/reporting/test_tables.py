"""The tables of a report: every run is in them, or counted where it is not."""

from __future__ import annotations

from typing import Any

import pytest
from report_records import MIXED, entries, pair, record, shown

import optsched
from optsched.reporting import tables
from optsched.studies.summing import summaries
from optsched.studies.tables import summed


def of_problem(records: list[dict[str, Any]]) -> Any:
    """The summary of the one problem of these records."""
    (part,) = summaries(entry.run for entry in entries(records))
    return part


def test_every_run_is_counted() -> None:
    """Tests that runs with a gap and runs of each reason without one add up to all runs."""
    table = tables.gaps(of_problem(MIXED))
    (row,) = table.rows
    cells = dict(zip(table.columns, row, strict=True))
    assert (cells["instances"].value, cells["runs"].value, cells["with gap"].value) == (10, 10, 2)
    reasons = [cells[name].value for name in tables.WITHOUT.values()]
    assert reasons == [1] * 8
    assert cells["at optimum"].shown == "1/10"
    assert (cells["median"].shown, cells["mean"].shown, cells["worst"].shown) == ("50 %", "50 %", "100 %")
    assert cells["95 % interval"].shown == "-", "of two instances"
    assert "Runs under infeasible, starved, failed, out of time" in table.note


def test_intervals_are_those_of_studies() -> None:
    """Tests that every figure of a study's summary is the same in a report on its records."""
    found = optsched.study(optsched.Family("lsap", range(5), {"tasks": 30}), "lsap", ["dl", "rand"], seeds=2)
    (ours,) = summaries(entry.run for entry in entries(found.records()))
    (theirs,) = summed(found.measured)
    assert ours == theirs
    columns = tables.gaps(ours).columns
    assert "infeasible" not in columns, "columns of what did not happen are left out"


def test_overview_and_proofs() -> None:
    """Tests the denominators of the overview, and the share of each kind of proof."""
    rows = [*MIXED, record(None, instance="x", heuristic="fair"), record(3, problem="flow", reference_kind="bound")]
    parts = summaries(entry.run for entry in entries(rows))
    assert shown(tables.overview(parts)) == [
        ["dl", "50 % (2/11)", "50 %"],
        ["fair", "infeasible", ""],
    ]
    proofs = tables.proofs(parts)
    assert proofs.columns == ("problem", "instances", "dual", "unknown", "bound only")
    assert shown(proofs) == [["lsap", "11", "10/11", "1/11", "0/11"], ["flow", "1", "0/1", "0/1", "1/1"]]


def test_distribution_and_profile() -> None:
    """Tests that shares are of all runs, also those without a value."""
    rows = [*pair([2, 4, None, 3], [2, 2, 2, 2]), record(3, 0, "z", "dl"), record(0, 0, "z", "fair")]
    found = tables.distribution(entries(rows))
    assert shown(found)[0] == ["dl", "5", *["1/5"] * 5, "2/5", "3/5", "0", "1 infeasible, 1 over 0"]
    profile = tables.profile(entries(rows))
    assert shown(profile)[0][1:] == ["5", *["1/5"] * 5, "2/5", "3/5", "3/5", "0", "1 infeasible, 1 over 0"]
    assert shown(profile)[1][2] == "5/5"
    beyond = tables.profile(entries(pair([20], [2])))
    assert shown(beyond)[0][-2:] == ["1", ""]


def test_reasons_are_the_same_everywhere() -> None:
    """Tests that what is counted of runs without a gap is called the same in tables and pictures."""
    lacking = tables.distribution(entries(MIXED)).rows[0][-1].shown
    assert sorted(lacking.split(", ")) == sorted(f"1 {reason}" for reason in tables.WITHOUT.values())


def test_comparisons() -> None:
    """Tests the row of two heuristics; a single one is compared with none."""
    table = tables.comparisons(entries(pair([3, 4, 5, 6, 7, 8], [2, 2, 2, 2, 2, 2])))
    assert table is not None
    assert shown(table) == [
        ["dl", "fair", "6", "0", "0", "6", "0", "175 %", "6", "0.031", "0.031", "1.00"],
    ]
    assert tables.comparisons(entries([record()])) is None
    equal = tables.comparisons(entries(pair([2], [2])))
    assert equal is not None
    assert shown(equal)[0][-3:] == ["-", "-", "-"]
    many = tables.comparisons(entries(pair([3.0 + number for number in range(60)], [2] * 60)))
    assert many is not None
    assert many.rows[0][9].shown == "~ < 0.0001"


def test_times() -> None:
    """Tests that a reference counts once, and that what is not recorded is not counted as 0."""
    rows = [*pair([2, 2], [2, 2]), record(instance="x", heuristic_seconds=None, solve_seconds=None)]
    assert shown(tables.times(entries(rows))) == [
        ["the reference (build and solve)", "2", *["0.75"] * 3, "1.5"],
        ["dl", "2", *["0.125"] * 3, "0.25"],
        ["fair", "2", *["0.125"] * 3, "0.25"],
    ]
    assert shown(tables.times(entries([record(heuristic_seconds=None)])))[1] == ["dl", "0", "-", "-", "-", "-"]


@pytest.mark.parametrize("make", [tables.distribution, tables.profile, tables.times])
def test_nothing_with_a_value(make: Any) -> None:
    """Tests that tables of runs that all failed are there, and say so."""
    table = make(entries([record(None, instance=name) for name in "ab"]))
    assert shown(table)
