"""Pictures of reproduced figures: each kind draws every line with its interval, and the paper's own numbers."""

from dataclasses import replace

import msgspec
import pytest

from optsched.measuring.reproducing import KINDS, PaperFigure
from optsched.measuring.reproducing.results import Entry, Reproduction, Values
from optsched.showing import picture, reproduced_pgf, reproduced_picture

pytest.importorskip("matplotlib")


def drawn(kind: str) -> Reproduction:
    """Two lines with three points each."""
    one = PaperFigure(
        id="guo-2012/x",
        paper="Guo et al. 2012",
        place="Figure 0",
        title="a title with $ and _",
        kind=kind,
        y="share (%)",
        across="time (s)",
        series={"optimum": ("a",), "_dl$": ("b",)},
        published={"_dl$": {"2": 2.5}},
    )
    values = [Values.of([number, number + 1.0]) for number in range(3)]
    across = values[0] if kind == "scatter" else None
    entries = [Entry("", name, at, value, across) for name in one.series for at, value in enumerate(values)]
    return Reproduction(one, "quick", 2, tuple(entries), "v")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind(kind: str) -> None:
    """Tests the axes, the legend and the head."""
    figure = reproduced_picture(drawn(kind))
    (axes,) = figure.axes
    labels = {axes.get_xlabel(), axes.get_ylabel()}
    assert "share (%)" in labels
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names[:2] == ["optimum", "_dl$"]
    assert ("the paper's own number" in names) == (kind != "scatter")
    assert b"a title with $ and _" in picture(figure)


def test_logarithmic_axis() -> None:
    """Tests an axis that the description says is logarithmic."""
    found = drawn("line")
    axis = msgspec.structs.replace(found.figure.x, log=True)
    figure = msgspec.structs.replace(found.figure, x=axis)
    entries = tuple(msgspec.structs.replace(entry, x=2**at) for at, entry in enumerate(found.entries))
    shown = reproduced_picture(Reproduction(figure, "quick", 2, entries, "v"))
    assert shown.axes[0].get_xscale() == "log"
    shown.canvas.draw()
    assert not any("$" in label.get_text() for label in shown.axes[0].get_xticklabels())


@pytest.mark.parametrize("kind", KINDS)
def test_pgf(kind: str) -> None:
    """Tests that every point of every line is there with its interval, and that names are escaped."""
    source = reproduced_pgf(drawn(kind))
    assert source.count("\\addplot+") == 2
    assert source.count(" += (") == 6
    assert "\\addlegendentry{\\_dl\\$}" in source
    assert source.count("{") == source.count("}")


def test_a_family_of_curves() -> None:
    """Tests that each member of a family has a colour, and each series a marker and a dash."""
    one = drawn("line")
    family = tuple(
        msgspec.structs.replace(entry, on=on) for on in ("2 replicas", "3 replicas") for entry in one.entries
    )
    lines = [bars[0] for bars in reproduced_picture(replace(one, entries=family)).axes[0].containers]
    colours, markers = [line.get_color() for line in lines], [line.get_marker() for line in lines]
    assert colours == [colours[0], colours[0], colours[2], colours[2]]
    assert colours[0] != colours[2]
    assert markers == [markers[0], markers[1]] * 2
    assert markers[0] != markers[1]
    from matplotlib.container import BarContainer

    bars = replace(drawn("bars"), entries=family)
    first = [held[0] for held in reproduced_picture(bars).axes[0].containers if isinstance(held, BarContainer)]
    assert len({bar.get_facecolor() for bar in first}) == 2
    assert [bar.get_hatch() for bar in first] == [first[0].get_hatch(), "//"] * 2
