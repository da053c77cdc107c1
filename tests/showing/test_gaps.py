"""Tests for pictures of gaps: what is drawn of each run, and that no run is dropped in silence."""

import math
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
from matplotlib.figure import Figure

from optsched.core.errors import UsageError
from optsched.showing.figures import picture
from optsched.showing.gaps import Runs, box_plot, distribution, gaps_picture, performance_profile, ratios

NAN = math.nan


def row(heuristic: str, value: float | None, reference: float = 10, **more: Any) -> dict[str, Any]:
    """A run as `GapReports.frame` has it, of a problem whose value is to be low."""
    gap = NAN if value is None else value - reference
    share = NAN if value is None or not reference else gap / reference
    if value == reference == 0:
        share = 0.0
    return {
        "problem": "lsap",
        "instance": "one",
        "seed": 0,
        "heuristic": heuristic,
        "feasible": value is not None,
        "starved": False,
        "error": None,
        "termination": "OPTIMAL",
        "component_1": "locality-cost",
        "objective_1": NAN if value is None else value,
        "reference_1": reference,
        "absolute_gap_1": gap,
        "relative_gap_1": share,
    } | more


def frame(*rows: dict[str, Any]) -> pd.DataFrame:
    """The frame of some runs."""
    return pd.DataFrame(list(rows))


#: What the axis of shares, and that of differences, is called.
SHARES, DIFFERENCES = "gap in locality-cost (% of the optimum)", "difference in locality-cost from the optimum (level)"


#: A run of each sort.
SORTS = frame(
    row("a", 10),
    row("a", 15, instance="two"),
    row("a", None, instance="three"),
    row("a", None, instance="four", starved=True),
    row("a", None, instance="five", error="it raised"),
    row("a", 3, 0, instance="six"),
    row("a", 0, 0, instance="seven"),
    row("a", 12, NAN, instance="eight"),
)


def test_heads_say_what_is_found() -> None:
    """Tests who has the smallest and the largest mean gap and the most optima; one whose runs fail has no mean."""
    rows = [row("a", 10), row("a", 15), row("b", 20), row("c", 20), row("d", 10), row("d", None)]
    boxes, curves = gaps_picture(frame(*rows)).axes
    assert boxes.get_title() == "lsap: smallest mean gap 25 % (a), largest 100 %\n(b, c)"
    assert curves.get_title() == "lsap: most often optimal: a, d, 50 % of runs"
    assert performance_profile(frame(*rows)).axes[0].get_title() == "lsap: most often the best: a, 100 % of runs"


def test_box_plot_of_differences() -> None:
    """Tests that differences are not in per cent, and that their axis has whole ticks."""
    axes = box_plot(SORTS, absolute=True).axes[0]
    assert axes.get_xlabel() == DIFFERENCES
    assert axes.patches[0].get_path().vertices[:, 0].max() == 3.5
    assert all(tick == int(tick) for tick in axes.get_xticks())


#: Two problems: of one the optimum is always 0, of the other once.
ABOVE_0 = frame(
    row("a", 0, 0),
    row("a", 3, 0, instance="two"),
    row("b", 5, 0),
    row("a", 3, 0, problem="flow"),
    row("a", 15, problem="flow", instance="two"),
)


@pytest.mark.parametrize(("make", "each"), [(box_plot, 1), (distribution, 1), (gaps_picture, 2)])
def test_panel_above_an_optimum_of_0_is_of_differences(make: Callable[..., Figure], each: int) -> None:
    """Tests that a panel is not empty because no per cent can be reported: it has differences, and says so."""
    axes = make(ABOVE_0).axes
    assert len(axes) == 2 * each
    for above, other in zip(axes[:each], axes[each:], strict=True):
        assert above.get_xlabel() == DIFFERENCES
        assert above.get_xlim()[1] > 5
        assert other.get_xlabel() == SHARES


def test_axes_say_what_gaps_are_of() -> None:
    """Tests that nothing above an optimum of 0 leaves the axis in per cent, and that a bound is called no optimum."""
    assert box_plot(frame(row("a", 0, 0), row("a", 10))).axes[0].get_xlabel() == SHARES
    of_bounds = box_plot(frame(row("a", 12), row("a", 11, termination="FEASIBLE"))).axes[0].get_xlabel()
    assert of_bounds.endswith("(% of the optimum, or of the bound where none is proved)")


def test_distribution_is_of_all_runs() -> None:
    """Tests that runs without a gap keep the curve below 100 %, and that the legend says how many and why."""
    axes = distribution(SORTS).axes[0]
    (line,) = axes.lines
    assert line.get_xdata()[:2] == pytest.approx([0, 50])
    assert line.get_ydata() == pytest.approx([25, 37.5, 37.5])
    (text,) = axes.get_legend().get_texts()
    assert text.get_text() == "a (of 8: 1 infeasible, 1 starved, 1 failed, 1 over 0, 1 unknown)"


def test_distribution_has_a_panel_a_problem() -> None:
    """Tests the panels, the same look of a heuristic in each, and how many runs there are where that differs."""
    rows = [row(name, 11, problem=problem) for problem in ("p", "q", "r", "s") for name in ("a", "b")]
    figure = distribution(frame(*rows, row("c", 12, problem="s"), row("c", 12, problem="s")))
    panels = figure.axes
    assert [axes.get_title() for axes in panels] == ["p", "q", "r", "s"]
    assert [text.get_text() for text in panels[3].get_legend().get_texts()] == ["a", "b", "c (2 runs)"]
    assert {axes.lines[1].get_marker() for axes in panels} == {"s"}


def test_profile_by_hand() -> None:
    """Tests ratios of three heuristics on three instances: ties, the best of each, a failed run."""
    values = {"one": (10, 20, 10), "two": (30, 15, None), "three": (12, 12, 48)}
    rows = frame(
        *(row(h, v, instance=name) for name, given in values.items() for h, v in zip("abc", given, strict=True))
    )
    assert ratios(rows) == {
        "lsap": {"a": Runs((1, 2, 1), {}), "b": Runs((2, 1, 1), {}), "c": Runs((1, 4), {"infeasible": 1})}
    }
    axes = performance_profile(rows).axes[0]
    assert [line.get_ydata()[0] for line in axes.lines] == pytest.approx([200 / 3, 200 / 3, 100 / 3])
    assert axes.lines[2].get_xdata()[:2] == pytest.approx([1, 4])
    assert axes.lines[2].get_ydata()[-1] == pytest.approx(200 / 3)
    assert axes.get_legend().get_texts()[2].get_text() == "c (of 3: 1 infeasible)"
    over_zero = ratios(frame(row("a", 0, 0), row("b", 2, 0)))["lsap"]
    assert over_zero == {"a": Runs((1,), {}), "b": Runs((), {"over 0": 1})}


def test_profile_of_a_maximum() -> None:
    """Tests that of a maximum the higher value is the better one, and that values below 0 have no ratio."""

    def of(heuristic: str, value: float, instance: str) -> dict[str, Any]:
        less = {"absolute_gap_1": 8 - value, "relative_gap_1": (8 - value) / 8}
        return row(heuristic, value, 8, instance=instance) | less

    found = ratios(frame(of("a", 8, "one"), of("b", 2, "one"), of("a", -1, "two"), of("b", 4, "two")))
    assert found["lsap"] == {"a": Runs((1,), {"no ratio": 1}), "b": Runs((4, 1), {})}


def test_profile_against_the_reference() -> None:
    """Tests that the proved optimum may be the rival, and that without a reference nothing is reported."""
    rows = frame(row("a", 15), row("b", 20), row("a", 15, NAN, instance="two"))
    assert ratios(rows, against="reference")["lsap"] == {"a": Runs((1.5,), {"unknown": 1}), "b": Runs((2,), {})}
    with pytest.raises(UsageError, match='"best" or "reference"'):
        performance_profile(rows, against="worst")


@pytest.mark.parametrize("make", [box_plot, distribution, performance_profile])
def test_wrong_arguments(make: Any) -> None:
    """Tests that what is no frame of gaps, lacks columns or is empty is reported in one line."""
    for given, message in (
        ([1, 2], "not a list; measure first"),
        (frame({"problem": "lsap"}), "needs the columns heuristic, feasible, relative_gap_1"),
        (SORTS.iloc[:0], "no run to draw"),
        (SORTS.drop(columns="absolute_gap_1"), "needs the columns absolute_gap_1"),
    ):
        with pytest.raises(UsageError, match=rf"\A.*{message}.*\Z"):
            make(given)
    with pytest.raises(UsageError, match="relative_gap_2"):
        make(SORTS, component=2)


@pytest.mark.thorough
@pytest.mark.parametrize("make", [box_plot, distribution, performance_profile])
def test_drawn_whatever_is_in_it(make: Any) -> None:
    """Tests that a figure is drawn without a warning, and twice the same: one run, no gap, many, any names."""
    panels = {
        "one run": [row("only", 10)],
        "no gap": [row("none", None)],
        "_$x$ names": [row("_$x$", 11), row("b" * 300, 12), row("ключ", 10)],
        "many": [row(f"h{number}", 10 + number) for number in range(25)],
    }
    rows = frame(*({**run, "problem": name} for name, runs in panels.items() for run in runs))
    figure = make(rows)
    assert [axes.get_title().partition(":")[0] for axes in figure.axes] == list(panels)
    assert picture(figure) == picture(make(rows))


def test_far_apart_gaps_are_logarithmic() -> None:
    """Tests that gaps over orders of magnitude have a logarithmic axis with plain numbers, and others none."""
    near, far = frame(row("a", 11), row("b", 14)), frame(row("a", 10.1), row("b", 1000))
    assert box_plot(near).axes[0].get_xscale() == "linear"
    axes = box_plot(far).axes[0]
    assert axes.get_xscale() == "symlog"
    axes.figure.canvas.draw()
    assert {"0", "1", "10", "100", "1000"} <= {label.get_text() for label in axes.get_xticklabels()}
    assert performance_profile(near).axes[0].get_xscale() == "linear"
    assert performance_profile(far).axes[0].get_xscale() == "log"
