"""Statistics, tables and what is kept of figures."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optsched.core.errors import UsageError
from optsched.measuring.reproducing import EFFORTS, PaperFigure, figure, figures, results
from optsched.measuring.reproducing.results import Entry, Reproduction, Values

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
