"""Lists of the papers' figures, and what is refused."""

import pytest

from optsched.core.errors import UsageError
from optsched.measuring.reproducing import PAPERS, figure, figures


def test_unknown_names() -> None:
    """Tests the messages for an id, a paper and an effort that do not exist, and for a figure that is not measured."""
    with pytest.raises(UsageError, match='no figure "guo-2012/4z"; did you mean guo-2012/4'):
        figure("guo-2012/4z")
    with pytest.raises(UsageError, match='no paper "guo"'):
        figures("guo")
    with pytest.raises(UsageError, match="no effort 'fast'"):
        figure("guo-2012/4a").reproduce("fast")
    for seeds in (0, 10**9):
        with pytest.raises(UsageError, match=f"seeds {seeds}"):
            figure("guo-2012/4a").reproduce(seeds=seeds)
    for left in [one for one in figures() if not one.measured][:3]:
        for ask in (left.reproduce, left.stored):
            with pytest.raises(UsageError, match=f"{left.id} is not measured"):
                ask()


def test_each_paper_has_figures() -> None:
    """Tests that every paper is listed, with words and without."""
    assert {one.id.partition("/")[0] for one in figures()} <= set(PAPERS)
    assert figures("guo-2012", ["number of replicas"])[0].record()["place"] == "Figure 4(b)"
