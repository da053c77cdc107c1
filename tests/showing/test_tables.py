"""The tables of a report: every run is in them, or counted where it is not."""

from collections.abc import Iterable
from itertools import product
from typing import Any

import pytest
from report_records import MIXED, Study, entries, pair, record, shown
from scipy.stats import rankdata

import optsched
from optsched.measuring.printing import in_full
from optsched.measuring.records import WITHOUT
from optsched.measuring.studies.tables import summaries
from optsched.showing import tables
from optsched.showing.sources import read
from optsched.showing.tables import holm, signed_rank


def of_problem(records: list[dict[str, Any]]) -> Any:
    """The summary of the one problem of these records."""
    (part,) = summaries(entries(records))
    return part


def test_every_run_is_counted() -> None:
    """Tests that runs with a gap and runs of each reason without one add up to all runs, called the same everywhere."""
    table = tables.gaps(of_problem(MIXED))
    cells = dict(zip(table.columns, *table.rows, strict=True))
    assert (in_full(cells["instances"]), in_full(cells["runs"]), in_full(cells["with gap"])) == (10, 10, 2)
    assert [in_full(cells[name]) for name in WITHOUT.values()] == [1] * 8
    assert cells["at optimum"] == "1/10"
    assert (cells["median"], cells["mean"], cells["worst"]) == ("50 %", "50 %", "100 %")
    assert cells["95 % interval"] == "-", "of two instances"
    assert "Runs under infeasible, starved, failed, out of time" in table.note
    lacking = tables.distribution(entries(MIXED)).rows[0][-1]
    assert sorted(lacking.split(", ")) == sorted(f"1 {reason}" for reason in WITHOUT.values())


def test_intervals_are_those_of_studies() -> None:
    """Tests that every figure of a study's summary is the same in a report on its records."""
    found = optsched.study(optsched.Family("lsap", range(5), {"tasks": 30}), "lsap", ["dl", "rand"], seeds=2)
    ours = summaries(entries(found.records()))
    assert ours == summaries(found.measured)
    assert "infeasible" not in tables.gaps(ours[0]).columns, "columns of what did not happen are left out"


def test_overview_and_proofs() -> None:
    """Tests the denominators of the overview, and the share of each kind of proof."""
    rows = [*MIXED, record(None, instance="x", heuristic="fair"), record(3, problem="flow", reference_kind="bound")]
    parts = summaries(entries(rows))
    assert shown(tables.overview(parts)) == [["dl", "50 % (2/11)", "50 %"], ["fair", "infeasible", ""]]
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


def test_frontiers() -> None:
    """Tests the points, those of heuristics on the same problem beside them, and what is said of one that was cut."""
    points = [{"objective": [1, 3.5], "certificate": "dual"}, {"objective": [2, 3], "certificate": "solver"}]
    document = {"version": "1", "instance": "a", "problem": "lsap", "parameters": {"levels": [0, 1, 1]}}
    document |= {"components": ["x", "y"], "points": points, "complete": False, "limit": "TIME"}
    both = {"sense": ["min"] * 2, "components": ["x", "y"], "reference": [1, 3.5], "relative_gap": [1, None]}
    run = record(**both, objective=[2, 4.25], absolute_gap=[1, None])
    (found,) = read(Study([document])).frontiers
    table = tables.frontier(1, found, entries([run, {**run, "seed": 1}, {**run, "instance": "b"}]))
    stairs = [["frontier", "1", "3.5", "dual"], ["frontier", "2", "3", "solver"]]
    assert shown(table) == [*stairs, ["dl", "2", "4.25", ""]]
    assert table.note == "Not complete: TIME cut it short."
    failed = {**run, "status": "failed", "error": "lost", "objective": None, "seed": 2}
    table = tables.frontier(1, found, entries([run, failed]))
    assert shown(table)[2:] == [["dl, seed 0", "2", "4.25", ""], ["dl, seed 2", "-", "-", "failed"]]


def test_instances() -> None:
    """Tests the cell of an instance: a mean over seeds, a difference beside 0, a reason, and how many runs count."""
    rows = [record(4, seed=seed) for seed in (0, 1)] + [record(None, seed=2)]
    rows += [record(1, 0, "z"), record(0, 0, "z", seed=1), record(None, instance="n"), record(3, None, "u")]
    rows += [record(2, instance="a", heuristic="fair")]
    table = tables.instances(entries(rows))
    assert shown(table) == [
        ["a", "2", "dual", "100 % (2/3)", "0 %"],
        ["z", "0", "dual", "+0.5", ""],
        ["n", "2", "dual", "infeasible", ""],
        ["u", "-", "unknown", "unknown", ""],
    ]


def test_failures_and_runs() -> None:
    """Tests that each run is a row with its command, and that what failed says why."""
    runs = entries(MIXED)
    failed = shown(tables.failures(runs))
    assert [row[4] for row in failed] == ["infeasible", "starved", "out of time", "out of memory", "crashed", "failed"]
    assert (failed[0][5], failed[2][5]) == ("slots(n0) by 1", "killed after 5 s")
    everything = shown(tables.all_runs(runs))
    assert [row[0] for row in everything] == list("defghicabj"), "failures, over 0, the largest gaps"
    assert everything[7][5:11] == ["4", "2", "dual", "2", "100 %", "0.125"]
    assert everything[7][-1] == "optsched gap a.json --problem lsap --heuristic dl --seed 0"
    plain = record(None, violations=[{"constraint": "cardinality", "ids": [], "amount": 3}])
    assert shown(tables.failures(entries([plain])))[0][5] == "cardinality by 3"


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
    first, second = tables.matrices(read(Study(cells)).cells)
    assert first.columns == ("heuristic", "lsap", "latency", "traffic")
    assert shown(first) == [["dl", "50 %", "+5 *", "50 % (2)"], ["fair", "slots", "", ""], ["late", "unproved", "", ""]]
    assert "(2) in traffic: gap in component 2, where component 1 is at the optimum. +: over 0" in first.note
    assert (first.title, second.title) == ("Gap matrix of a, seed 0", "Gap matrix of b, seed 1")


def by_all_signs(differences: list[float]) -> float:
    """The two-sided p of the signed-rank test, from its definition: all changes of sign are as likely."""
    ranks = rankdata([abs(difference) for difference in differences])

    def off(ups: Iterable[bool]) -> float:
        return abs(sum(rank for rank, up in zip(ranks, ups, strict=True) if up) - ranks.sum() / 2)

    seen = off(difference > 0 for difference in differences)
    draws = [off(ups) for ups in product((False, True), repeat=len(ranks))]
    return sum(draw >= seen - 1e-9 for draw in draws) / len(draws)


@pytest.mark.parametrize(
    "differences", [[1.0, 2.0, -3.0, 4.0], [1.0, 1.0, 1.0, -1.0, 2.0], [2.0], [3.0, -1.0, 4.0, -1.0, 5.0, 9.0, -2.0]]
)
def test_signed_rank_is_exact(differences: list[float]) -> None:
    """Tests p of few differences, with ties and without, against all changes of sign."""
    p, _, by = signed_rank(differences)
    assert (p, by) == (pytest.approx(by_all_signs(differences)), "exact")


def test_signed_rank_by_hand() -> None:
    """Tests the rank-biserial correlation, that differences of 0 change nothing, and the approximation of many."""
    assert signed_rank([0.0, 1.0, 0.0, 2.0, -3.0]) == signed_rank([1.0, 2.0, -3.0])
    assert signed_rank([1.0, 2.0, -3.0])[1] == 0, "ranks 1, 2 and 3, of which 3 is against"
    assert signed_rank([-1.0, -2.0])[1] == -1
    assert signed_rank([1.0] * 14)[2] == "normal"
    assert signed_rank([]) == (None, None, None)


def compared(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of the table of pairs by column, with numbers in full."""
    table = tables.comparisons(entries(rows))
    return [] if table is None else list(table.numbered())


def test_a_comparison_by_hand() -> None:
    """Tests the counts: an instance where one is infeasible is left out, and one beside an optimum of 0 is no test."""
    rows = pair([4, 2, 8, None, 2], [2, 2, 4, 2, 4])
    rows += [record(3, 0, "z", "dl"), record(1, 0, "z", "fair"), record(9, 2, "alone", "dl")]
    (found,) = compared(rows)
    assert list(found.values())[:2] == ["dl", "fair"]
    assert (found["pairs"], found["left out"], found["tested"]) == (5, 1, 3)
    assert (found["first better"], found["equal"], found["second better"]) == (1, 1, 3)
    assert found["median difference"] == 0.5, "of 1, 0, 2 and -1"
    assert found["p"] == found["p (Holm)"] == pytest.approx(by_all_signs([1.0, 2.0, -1.0]))
    assert compared([record(instance="a"), record(instance="b", heuristic="fair")]) == []


def test_seeds_and_maxima() -> None:
    """Tests that an instance is one pair whatever the seeds, an infeasible one leaves it out, and maxima."""
    rows = [record(value, seed=seed, heuristic=name) for name in ("dl", "fair") for seed, value in enumerate((2, 6))]
    (found,) = compared(rows)
    assert (found["pairs"], found["equal"], found["p"]) == (1, 1, "-")
    (found,) = compared([*rows, record(None, seed=2)])
    assert (found["pairs"], found["left out"], found["median difference"]) == (0, 1, "-")
    most = {"sense": "max", "best": 10}
    rows = [record(9, **most, absolute_gap=1, relative_gap=0.1)]
    rows += [record(5, **most, heuristic="fair", absolute_gap=5, relative_gap=0.5)]
    (found,) = compared(rows)
    assert (found["first better"], found["second better"]) == (1, 0)
    assert found["median difference"] == pytest.approx(-0.4)


def test_holm_by_hand() -> None:
    """Tests the correction: the smallest times how many there are, never less than one before, at most 1."""
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1, 1]
    assert holm([]) == []


def test_every_pair_is_corrected_together() -> None:
    """Tests that three heuristics are three comparisons, and that those without a test do not count."""
    values = {"dl": range(3, 9), "fair": range(4, 10), "rand": range(3, 9)}
    rows = [record(value, 2, str(number), name) for name, known in values.items() for number, value in enumerate(known)]
    found = {(row["first"], row["second"]): row for row in compared(rows)}
    equal, first = found["dl", "rand"], found["dl", "fair"]
    assert (equal["p"], equal["p (Holm)"]) == ("-", "-")
    assert (first["p (Holm)"], first["effect"]) == (pytest.approx(2 * first["p"]), -1)
