"""Descriptions of the papers' figures: all are there, each can be measured, and says what a reader must know."""

import re

import pytest

from optsched.core.problem_record import imported
from optsched.measuring.judging.judges import JUDGES
from optsched.measuring.reproducing import EFFORTS, KINDS, PaperFigure, figures
from optsched.measuring.reproducing.results import QUANTILES

MEASURED = [one for one in figures() if one.measured]


@pytest.mark.parametrize("one", figures(), ids=lambda one: one.id)
def test_every_figure_says_how(one: PaperFigure) -> None:
    """Tests that a figure is measured, shown by a command, or left out with a reason, and only one of these."""
    assert [one.measured, bool(one.shown_by), bool(one.left_out)].count(True) == 1
    assert all((one.title, one.place))
    if one.measured:
        assert all((one.on, one.y, one.kind in KINDS, one.judge in JUDGES))
        assert one.full == 0 or one.full >= one.draws
        assert {len(texts) for texts in one.series.values()} == {2 if one.kind == "scatter" else 1}
        assert not one.x.full or set(one.x.quick) <= set(one.x.full), "what is quick is a part of the whole"


@pytest.mark.parametrize("one", MEASURED, ids=lambda one: one.id)
def test_published_numbers_have_a_place(one: PaperFigure) -> None:
    """Tests that the paper's own numbers are of a series, at a value on the axis."""
    values = {str(value) for effort in EFFORTS for value in one.values(effort)} | set(map(str, QUANTILES))
    labels = {*one.series, *(", ".join(filter(None, (on, name))) for on in one.on for name in one.series)}
    assert set(one.published) <= labels
    assert {at for told in one.published.values() for at in told} <= values


@pytest.mark.parametrize("one", MEASURED, ids=lambda one: one.id)
def test_callables_are_there(one: PaperFigure) -> None:
    """Tests that each `package.module:function` of a description can be imported, at every value on the axis."""
    texts = (*one.measure.values(), *map(str, one.on.values()), *map(str, one.on_full.values()))
    for name in re.findall(r"(optsched[\w.]+:[\w{}]+)", " ".join(texts)):
        for value in one.values("full") if "{x}" in name else ("",):
            assert callable(imported(name.replace("{x}", str(value))))
