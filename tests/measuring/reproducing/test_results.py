"""Measuring figures, in one process and in several, from a store and in little time; their tables; what is kept."""

import sqlite3
from dataclasses import asdict, replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optsched import generate, solve
from optsched.core.errors import InputError, OutOfTime, UsageError
from optsched.measuring.reproducing import EFFORTS, Axis, PaperFigure, figure, figures, results
from optsched.measuring.reproducing.results import Entry, Reproduction, Values
from optsched.problems import Lsap

KEPT = [one for one in figures() if one.measured]


@given(st.lists(st.floats(0, 100), min_size=1, max_size=30))
def test_intervals_are_possible(values: list[float]) -> None:
    """Tests that an interval holds the mean and stays within the values, so that no share is below 0 or above 100 %."""
    found = Values.of(values)
    assert found.least - 1e-5 <= found.low <= found.mean + 1e-5
    assert found.mean - 1e-5 <= found.high <= found.most + 1e-5
    assert found.draws == len(values)


def test_intervals_cover() -> None:
    """Tests that about 95 % of the intervals of 40 draws hold the true mean."""
    rng = np.random.default_rng(1)
    intervals = [Values.of(rng.exponential(1, 40)) for _ in range(100)]
    assert 0.88 < np.mean([one.low <= 1 <= one.high for one in intervals]) < 0.98


def test_table_and_rows() -> None:
    """Tests a table with the paper's own number beside ours."""
    value = Values.of([1.0, 3.0])
    about = {"paper": "Guo et al. 2012", "place": "Figure 0", "title": "a title", "y": "share (%)"}
    one = PaperFigure(id="guo-2012/x", **about, series={"dl": ("dl",)}, published={"dl": {"5": 2.5}})
    found = Reproduction(one, "quick", 2, (Entry("", "dl", 4, value), Entry("", "dl", 5, value)), "v")
    table = found.table()
    assert table.columns[1:] == ("dl", "dl: paper")
    assert [row[2] for row in table.rows] == ["", "2.5"]
    assert [row["paper"] for row in found.rows()] == [None, 2.5]
    assert found.caption() == (
        "Guo et al. 2012, Figure 0: a title. Share (%): means of 2 draws, with the 95 % interval of the mean "
        "(bootstrap)."
    )
    assert list(found.frame()["median"]) == [2.0, 2.0]
    uneven = replace(found, entries=(*found.entries[:1], Entry("", "dl", 5, Values.of([1.0]))))
    assert "means of 1 to 2 draws" in uneven.caption()


def test_keeping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that what is kept is read as it was, and that nothing else is lost."""
    monkeypatch.setattr(results, "folder", lambda name: tmp_path)
    (tmp_path / "figures").mkdir()
    found = [figure(name).reproduce(seeds=1) for name in ("guo-2012/4a", "guo-2012/4b")]
    for one in found:
        results.keep([one])
    assert [results.kept(one.figure, "quick").entries for one in found] == [one.entries for one in found]
    with pytest.raises(UsageError, match="no full measurement is kept"):
        found[0].figure.stored("full")
    (tmp_path / "figures" / "guo-2012.json").write_text("{")
    with pytest.raises(InputError, match=r"guo-2012\.json: no file of measured figures"):
        results.keep(found[:1])


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("one", KEPT, ids=lambda one: one.id)
def test_what_is_kept_is_of_the_description(one: PaperFigure, effort: str) -> None:
    """Tests that both efforts of each figure are kept, with every point of the description of today and no other."""
    found = one.stored(effort)
    labels = {", ".join(filter(None, (on, name))) for on in found.figure.on for name in found.figure.series}
    assert set(found.labels()) == labels
    values = results.QUANTILES if found.figure.kind == "cdf" else found.figure.values(effort)
    assert {entry.x for entry in found.entries} == set(values)


@pytest.mark.thorough
@pytest.mark.parametrize("one", KEPT, ids=lambda one: one.id)
def test_what_is_kept_comes_again(one: PaperFigure) -> None:
    """Tests that the quick measurement gives the numbers that are kept."""
    again, kept = one.reproduce("quick"), one.stored("quick")
    assert len(again.entries) == len(kept.entries)
    for new, old in zip(again.entries, kept.entries, strict=True):
        assert (new.on, new.series, new.x) == (old.on, old.series, old.x)
        assert new.value.mean == pytest.approx(old.value.mean, rel=1e-5)
        assert new.value.draws == old.value.draws


# Measuring -----------------------------------------------------------------------------------------------------------


def small(**changes: object) -> PaperFigure:
    """A figure of two points."""
    return msgspec.structs.replace(figure("guo-2012/4b"), x=Axis("replicas", (1, 3)), draws=3, **changes)


def test_numbers_are_those_of_solve() -> None:
    """Tests the means of the optimum against solving each instance."""
    found = small().reproduce()
    for replicas in (1, 3):
        shares = []
        for seed in range(3):
            posed = Lsap(generate("guo-fig4", seed=seed, replicas=replicas))
            remote = solve(posed).objective
            shares.append(100 * (1 - float(remote[0]) / posed.count))
        (entry,) = [one for one in found.entries if one.series == "optimum" and one.x == replicas]
        assert entry.value.mean == pytest.approx(np.mean(shares))
        assert (entry.value.least, entry.value.most) == pytest.approx((min(shares), max(shares)))


def test_processes_and_a_store(tmp_path: Path) -> None:
    """Tests that processes, and a store of the same description, give the numbers of one process."""
    store = str(tmp_path / "draws.sqlite")
    alone, together = small().reproduce(), small().reproduce(jobs=2, store=store)
    assert alone.entries == together.entries
    with sqlite3.connect(store) as database:
        assert database.execute("SELECT count(*) FROM cells").fetchone() == (6,), "a row for each cell"
    steps: list[str] = []
    again = small().reproduce(store=store, notify=steps.append)
    assert again.entries == alone.entries
    assert steps == []
    more = small().reproduce(seeds=4, store=store, notify=steps.append)
    assert len(steps) == 2, "one draw more of each point"
    assert more.draws == 4
    other = small(on={"": "guo-fig4,tasks=10,replicas={x}"})
    assert other.reproduce(store=store).entries == other.reproduce().entries


def test_a_file_that_is_no_store(tmp_path: Path) -> None:
    """Tests the message for a file of another kind, and that it stays as it is; and for a folder that is not there."""
    path = tmp_path / "notes.txt"
    path.write_text("mine" * 300)
    for wrong in (path, tmp_path / "nowhere" / "draws.sqlite"):
        with pytest.raises(InputError, match="name a new file"):
            small().reproduce(store=str(wrong))
    assert path.read_text() == "mine" * 300


@pytest.mark.parametrize("table", ["runs (key TEXT)", "cells (other TEXT)"])
def test_a_database_of_something_else(tmp_path: Path, table: str) -> None:
    """Tests that a store of a sweep, or any other database, is refused and stays as it is."""
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as database:
        database.execute(f"CREATE TABLE {table}")
    before = path.read_bytes()
    with pytest.raises(InputError, match="name a new file"):
        small().reproduce(store=str(path))
    assert path.read_bytes() == before


@pytest.mark.parametrize("jobs", [1, 2])
def test_no_time(jobs: int) -> None:
    """Tests that a limit that ends before the first draw is an error."""
    with pytest.raises(OutOfTime, match="give more seconds"):
        figure("guo-2012/4a").reproduce(time_limit=1e-6, jobs=jobs)


def test_time_for_some_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the points that were measured are there, and that the caption names the others."""
    measured = results.numbers

    def one_alone(cell: results.Draw) -> results.Numbers:
        if "replicas=3" in cell.check.on[0]:
            raise OutOfTime("the time limit was reached")
        return measured(cell)

    monkeypatch.setattr(results, "numbers", one_alone)
    found = small().reproduce()
    assert {entry.x for entry in found.entries} == {1}
    assert found.missing() == ["3"]
    assert "Not measured in the time: 3." in found.caption() + "."


def test_numbers_so_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests what is shown after 1 and 2 draws of each point, and how many draws there are if time cuts them short."""
    shown: list[Reproduction] = []
    small().reproduce(partial=shown.append)
    assert [one.draws for one in shown] == [1, 2]
    assert shown[1].entries == small().reproduce(seeds=2).entries
    store = str(tmp_path / "draws.sqlite")
    small().reproduce(seeds=2, store=store)
    found = small().reproduce(seeds=500, store=store, time_limit=0.2)
    assert 2 <= found.draws < 500
    assert {entry.value.draws for entry in found.entries} <= {found.draws, found.draws - 1}


def test_faults_of_a_draw() -> None:
    """Tests that what is wrong with a description is said in one process and in two."""
    wrong = small(measure={"best": "local of nobody"}, series={"optimum": ("best",)})
    for jobs in (1, 2):
        with pytest.raises(UsageError, match="nobody"):
            wrong.reproduce(jobs=jobs)


def test_distributions_and_points() -> None:
    """Tests the quantiles of many values of one draw, each with its share, and points of two numbers."""
    found = small(kind="cdf", on={"": "guo-fig4"}, series={"optimum": ("row(1, 2, 3, 4)",)}).reproduce(seeds=1)
    assert {(entry.x, entry.value.mean) for entry in found.entries} >= {(25, 1.0), (50, 2.0), (75, 3.0), (100, 4.0)}
    found = small(kind="scatter", across="tasks", series={"optimum": ("best", "n")}).reproduce()
    assert all(entry.across is not None and entry.across.mean == 50 for entry in found.entries)
    assert asdict(found)["draws"] == 3


def test_pooled_instances_and_values_along_the_axis() -> None:
    """Tests that what is measured on several instances stands in one row, which can be a value for each place."""
    both = ("guo-fig4,tasks=10", "guo-fig4,tasks=20")
    found = small(on={"": both}, along=True, series={"tasks": ("n",)}).reproduce(seeds=2)
    assert [(entry.x, entry.value.mean) for entry in found.entries] == [(1, 10.0), (3, 20.0)]
    total = small(on={"": both}, series={"tasks": ("total(n)",)}).reproduce(seeds=1)
    assert [entry.value.mean for entry in total.entries] == [30.0, 30.0]
