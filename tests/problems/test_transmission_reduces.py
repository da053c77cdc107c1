"""`transmission-reduces`: Shen et al.'s reduce costs, one reduce of a job a node, exact sums, and what is refused."""

import pytest
from transmission_instances import example, posed

from optsched.core.errors import InputError, TooLarge
from optsched.problems.transmission_reduces import TransmissionReduces


@pytest.mark.parametrize("size", [2.0**52 + 1, 2.0**53, 2.0**32 + 1 / 3])
def test_costs_that_are_not_exact(size: float) -> None:
    """Tests that totals past 2^53 units are refused, also where none of the costs is."""
    with pytest.raises(InputError, match=r"few: transmission-reduces: costs may total too much, past 2\^53"):
        posed(
            [size, size], [1, 1], matrix=[[0.0, 1.0], [1.0, 0.0]] if size == 2.0**52 + 1 else [[0.0, 2.0], [2.0, 0.0]]
        )


def test_tables_that_would_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a table of costs is refused before it is made, with its size."""
    monkeypatch.setattr("optsched.core.processes.limits.has_room", lambda size: size < 8 * 24)
    text = "2 reduces of 1 jobs on 4 nodes would have a table of 8 costs, and take about 0 MB where there are"
    with pytest.raises(TooLarge, match=text):
        TransmissionReduces(example((2, 1)))
