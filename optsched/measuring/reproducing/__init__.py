"""The papers' figures and tables: one description each, and the same figure with the optimum in it.

The descriptions are data: `instances/figures/PAPER.toml`. `results` measures, and has the statistics and the table;
`optsched.showing` draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from optsched.core.errors import UsageError
from optsched.measuring.judging import SHIPPED, named, read, selected
from optsched.measuring.judging.findings import EFFORTS, check_asked
from optsched.measuring.reproducing.figure_definition import KINDS, Axis, FigureDefinition

if TYPE_CHECKING:
    from optsched.measuring.reproducing.results import Reproduction

__all__ = ["EFFORTS", "KINDS", "Axis", "PaperFigure", "figure", "figures"]

#: The most draws of a point.
MOST_DRAWS = 100_000


class PaperFigure(FigureDefinition, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A figure or a table of a paper, as it is measured again.

    `{x}` in the texts of `on`, `problem`, `service` and `measure` stands for a value of the axis.

    Attributes
    ----------
    id
        `PAPER/FIGURE`, such as `guo-2012/4a`.
    paper
        The paper's authors and year.
    place, title
        Its place in the paper, and what it shows.
    kind
        One of `KINDS`.
    judge
        `snapshots` (decisions on instances) or `runs` (policies over time).
    on
        Instances, as in the checks of claims, by a label; the label is empty if there is only one. The results of a
        list of instances form one row.
    on_full
        The same for full measurements, if these have other sizes.
    problem, service
        As in the checks of claims.
    measure
        The meaning of each name, as in the checks of claims (`optsched.measuring.judging.quantities`).
    series
        The lines: expressions over these names. The first is the optimum or the bound, if the figure has one. For
        `scatter` two expressions each: up, then across.
    along
        Whether one draw gives a series its values at all places of the axis, instead of one draw for each place.
    x, y, across
        What varies; the label of the measured number, with the unit; and that of the other number of a scatter plot.
    draws, full
        Seeds of either effort; without `full` the same.
    published
        The paper's own numbers, if its text has them: of a series, by the value on the axis.
    caption
        What a reader must know: the region, the reading, the assumptions.
    shown_by
        The command that shows it instead, if nothing is random.
    left_out
        Why it is not measured (a diagram, a cluster that no longer exists).
    """

    def reproduce(
        self,
        effort: str = "quick",
        *,
        seeds: int | None = None,
        jobs: int = 1,
        store: str | None = None,
        time_limit: float | None = None,
        notify: Callable[[str], object] | None = None,
        partial: Callable[[Reproduction], object] | None = None,
    ) -> Reproduction:
        """Measure it.

        Parameters
        ----------
        effort
            `quick` (seconds) or `full` (the paper's).
        seeds
            The number of draws, for any effort.
        jobs
            Processes that work at once.
        store
            A file (SQLite) that keeps each measured draw. Draws in it of this version of the code are not measured
            again.
        time_limit
            Seconds; draws that do not fit are left out, and points without a draw are `missing`.
        notify
            Called with a line on each draw, before it is measured.
        partial
            Called with the results so far, after 1, 2, 5, 10, ... draws of each point.

        Raises
        ------
        UsageError
            For an unknown effort, or a figure that is not measured.
        OutOfTime
            If the time limit ends before the first draw.
        """
        check_asked(effort, seeds, MOST_DRAWS)
        self._check_measured()
        from optsched.measuring.reproducing.results import measured  # listing figures does not need it

        draws = seeds or self.draws_of(effort)
        return measured(self, effort, draws, jobs, store, time_limit, notify, partial)

    def stored(self, effort: str = "full") -> Reproduction:
        """The kept result of the project's own last measurement.

        Raises
        ------
        UsageError
            For an unknown effort, and if nothing is kept.
        """
        check_asked(effort)
        self._check_measured()
        from optsched.measuring.reproducing.results import kept

        return kept(self, effort)

    def _check_measured(self) -> None:
        if not self.measured:
            raise UsageError(f"{self.id} is not measured: {self.left_out or f'see {self.shown_by}'}")

    def record(self) -> dict[str, Any]:
        """Everything about the figure, in JSON's types."""
        content: dict[str, Any] = msgspec.to_builtins(self)
        return content


#: The papers, in listed order.
PAPERS = SHIPPED[:-1]


@cache
def _read(name: str) -> tuple[PaperFigure, ...]:
    """The figures of a paper."""
    return msgspec.convert(tuple(read("figures", name).values()), tuple[PaperFigure, ...])


def figures(paper: str | None = None, words: Iterable[str] = ()) -> tuple[PaperFigure, ...]:
    """The figures and tables of the papers.

    Parameters
    ----------
    paper
        Only those of one paper, by its name, such as `guo-2012`.
    words
        Only those in whose text each of these words occurs.

    Raises
    ------
    UsageError
        For an unknown paper, with the nearest one.

    Examples
    --------
    >>> figures("guo-2012", ["number of replicas"])[0].id
    'guo-2012/4b'
    """
    fields = ("id", "paper", "place", "title", "caption")
    return selected({each: _read(each) for each in PAPERS}, paper, words, fields)


def figure(name: str) -> PaperFigure:
    """The figure of an id.

    Raises
    ------
    UsageError
        If there is none; names the nearest ids.

    Examples
    --------
    >>> figure("guo-2012/4a").place
    'Figure 4(a)'
    """
    return named("figure", name, figures(), "optsched figure")
