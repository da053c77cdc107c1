"""Frontiers of two components as staircases, with what heuristics came to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from optsched.core.brief import counted
from optsched.core.results import Component, Proof, Sense, Value
from optsched.measuring.printing import value
from optsched.problems import PROBLEMS
from optsched.showing.figures import begun, headed, keyed, look, settings, short, whole_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from optsched.measuring.gaps import GapReport
    from optsched.routes import Frontier
    from optsched.showing.sources import FrontierRecord

__all__ = ["frontier_picture", "staircase", "values_of"]

#: Values of this share of an axis' length are room at its ends.
_ROOM = 0.06


def frontier_picture(
    found: Frontier | FrontierRecord, heuristics: Mapping[str, Value | str] | Iterable[GapReport] = (), name: str = ""
) -> Figure:
    """The points of a frontier as a staircase: nothing is possible below and left of it. Heuristics are drawn in.

    A point is full where it is proved, and hollow where it rests on a solver's word. Of a frontier that was cut short
    the title says so.

    Parameters
    ----------
    found
        Of `optsched.frontier`.
    heuristics
        Reports; or what each came to: a value, or a word that says why it has none (`infeasible`), which stands in the
        legend.
    name
        Of the instance.

    Raises
    ------
    UsageError
        If matplotlib is missing.

    Examples
    --------
    >>> import optsched
    >>> problem = optsched.problem("latency", "papers/fsy-not-optimal")
    >>> figure = frontier_picture(optsched.frontier(problem), [optsched.gap(problem, "labl")])
    >>> figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()
    ('makespan (units of work)', 'work (units of work)')
    """
    given = heuristics if isinstance(heuristics, Mapping) else values_of(heuristics)
    title = f"{name}: {found.problem}" if name else found.problem
    reached = sum(entry in found.values for entry in given.values())
    if not found.complete:
        title += " (not complete)"
    elif given:
        title += f": {reached} of {counted(len(given), 'heuristic')} on the frontier"
    values = "; ".join(", ".join(map(str, entry)) for entry in found.values[:20]) or "no point"
    with settings():
        figure = begun(7.0, 3.6 + 0.08 * max(0, len(given) - 12), f"{title}: {values}")
        axes = figure.subplots()
        every = [*found.values, *(entry for entry in given.values() if not isinstance(entry, str))]
        for axis, position in ((axes.xaxis, 0), (axes.yaxis, 1)):
            _limits(axes, position, [float(entry[position]) for entry in every])
            whole_ticks(axis, [float(entry[position]) for entry in every])
        points = staircase(axes, found)
        handles, names = _heuristics(axes, given)
        handles, names = [*points, *handles], [*(str(line.get_label()) for line in points), *names]
        keyed(axes, handles, names, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0)
        labels = [
            name if part is None or not part.unit else f"{name} ({part.unit})"
            for name, part in zip(found.components, _components(found), strict=True)
        ]
        axes.set(xlabel=labels[0], ylabel=labels[1])
        axes.grid(alpha=0.3)
        headed(figure, title)
    return figure


def values_of(reports: Iterable[GapReport]) -> dict[str, Value | str]:
    """The values of heuristics, or the word for what became of the run."""
    return {report.run.name: report.status if report.objective is None else report.objective for report in reports}


def staircase(axes: Axes, found: Frontier | FrontierRecord, label: str = "frontier") -> list[Line2D]:
    """Draw the points of a frontier into axes of one's own, and where both components are to be low the stairs.

    The stairs reach to the upper and the right end of the axes as they are. `label` is what a legend calls the points;
    without one they are not in it. Returned are the points, proved ones and others.
    """
    if not found.points:
        return []
    components = _components(found)
    first, second = ([float(entry[position]) for entry in found.values] for position in (0, 1))
    if all(part is None or part.sense is Sense.MIN for part in components):
        right, top = max(axes.get_xlim()[1], first[-1]), max(axes.get_ylim()[1], second[0])
        axes.plot(
            [first[0], *first, right], [top, *second, second[-1]], drawstyle="steps-post", color="black", linewidth=1
        )
    drawn: list[Line2D] = []
    proved = [point.certificate is not Proof.SOLVER for point in found.points]
    for sure, face, how in ((True, "black", "proved"), (False, "white", "a solver's word")):
        shown = [at for at, held in enumerate(proved) if held is sure]
        if shown:
            drawn += axes.plot(
                [first[at] for at in shown],
                [second[at] for at in shown],
                linestyle="",
                marker="o",
                markersize=5,
                color="black",
                markerfacecolor=face,
                label=f"{label}, {how}" if label else "_unnamed",
                zorder=3,
            )
    return drawn


def _heuristics(axes: Axes, entries: Mapping[str, Value | str]) -> tuple[list[Any], list[str]]:
    """A marker for each value, with the names of all that have it; words without one."""
    from matplotlib.lines import Line2D

    together: dict[Value | str, list[str]] = {}
    for name, entry in entries.items():
        together.setdefault(entry, []).append(short(name))
    handles: list[Any] = []
    names = []
    for number, (entry, who) in enumerate(together.items()):
        looked = {
            **look(number + 1),
            "linestyle": "",
            "markersize": 9,
            "markerfacecolor": "none",
            "markeredgewidth": 1.6,
        }
        if isinstance(entry, str):
            handles.append(Line2D([], [], linestyle=""))
            names += [f"{', '.join(who)}: {entry}"]
        else:
            handles += axes.plot(float(entry[0]), float(entry[1]), zorder=4, **looked)
            names += [f"{', '.join(who)} ({value(entry)})"]
    return handles, names


def _components(found: Frontier | FrontierRecord) -> tuple[Component | None, Component | None]:
    """The two components as their problem has them; None for those of a problem that is not known here."""
    kind = PROBLEMS.get(found.problem)
    known = {} if kind is None else {part.name: part for part in kind.components}
    first, second = (known.get(name) for name in found.components)
    return first, second


def _limits(axes: Axes, position: int, values: Sequence[float]) -> None:
    """Limits with room around the values."""
    if values:
        room = _ROOM * (max(values) - min(values)) or 0.5
        limits = (min(values) - room, max(values) + room)
        (axes.set_ylim if position else axes.set_xlim)(*limits)
