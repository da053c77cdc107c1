"""Why a gap is there, as a picture: each chain or cycle of moves as a path from place to place, with its gain."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from optsched.core.brief import counted
from optsched.core.placement import NONE
from optsched.measuring.explaining import Explanation
from optsched.measuring.explaining.chains import Chain, total_gain
from optsched.measuring.explaining.explanation import MOST, Move, gained, sentences
from optsched.measuring.printing import number
from optsched.showing.figures import begun, plain, settings, trimmed, wide

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["chains_picture", "links"]

#: Inches: a line of a chain with its texts, the heading of a chain, room, the least between two places.
_LINE, _HEAD, _ROOM, _ARROW = 0.62, 0.24, 0.15, 1.0

#: Points of texts; moves of a chain that are drawn; letters of names; inches of a line before it is broken.
_TEXT, _MOVES, _LETTERS, _WIDE = 7.5, 24, 16, 9.0

#: What a place is called where a task waits.
_WAITS = "waiting"


class _Link(NamedTuple):
    """A step of a path, in names for show: from a place, or None where it goes on from the one before, to a place; the
    task, and what stands below it.
    """

    start: str | None
    task: str
    below: str
    end: str


def links(moves: Sequence[Move]) -> list[tuple[str | None, Move, str]]:
    """The moves as a path: each with where it begins, None where it goes on from where the one before ended.

    A move pushes the next one where that leaves the place which it enters; waiting is no place that could be full.
    """
    found: list[tuple[str | None, Move, str]] = []
    for move in moves:
        goes_on = bool(found) and move.here is not None and found[-1][1].there == move.here
        found.append((None if goes_on else move.here or _WAITS, move, move.there or _WAITS))
    return found


def chains_picture(found: Explanation, most: int = MOST) -> Figure:
    """The moves that a gap is made of: a line a chain or cycle, the first ones as `explain` tells them, with its gain.

    An arrow is a task that moves to the place at its tip, where it pushes the next one off; below it stands what the
    task pays or how near it comes to its data. A cycle ends at the place where it begins. Of an infeasible problem the
    picture says which tasks cannot be placed together.

    Parameters
    ----------
    found
        Of `optsched.explain`.
    most
        So many chains; what the others gain together is told.

    Raises
    ------
    UsageError
        If matplotlib is missing.

    Examples
    --------
    >>> import optsched
    >>> problem = optsched.problem("latency", "papers/fsy-not-optimal")
    >>> figure = chains_picture(optsched.explain(problem, "round-robin"))
    >>> [text.get_text() for text in figure.axes[0].texts if text.get_fontweight() == "bold"][0]
    '1. 2 less work'
    """
    told = list(sentences(found, 0))
    if not found.chains:
        return _words(told)
    shown, left = found.chains[:most], found.chains[most:]
    moves_of = [found.moves(_cut(chain)) for chain in shown]
    names, closing = _names([move for moves in moves_of for move in moves])
    rows = [
        (_heading(found, chain, rank), _broken(moves, names))
        for rank, (chain, moves) in enumerate(zip(shown, moves_of, strict=True), 1)
    ]
    if left:
        moves = sum(len(chain.positions) for chain in left)
        together = gained(found.problem, total_gain(found.problem, left))
        closing.append(f"and {counted(len(left), 'more line')} of {counted(moves, 'move')}: together {together}")
    closing.append(f"Together: {gained(found.problem, found.gap or ())}, which is the gap.")
    lines = sum(len(parts) for _, parts in rows)
    height = _LINE * lines + _HEAD * (len(rows) + len(closing)) + 2 * _ROOM
    ends = [wide(text, 9) for text, _ in rows] + [_length(part) for _, parts in rows for part in parts]
    heading = _wrapped(told[0], max([4.0, *ends]))
    width = max([*ends, *(wide(line, 9) for line in heading), *(wide(line, _TEXT) for line in closing)]) + 2 * _ROOM
    top = 0.2 * len(heading) + 0.1
    with settings():
        figure = begun(width, height + top, told[0], constrained=False)
        axes = figure.add_axes((0, 0, 1, height / (height + top)))
        axes.set(xlim=(0, width), ylim=(height, 0))
        axes.set_axis_off()
        for at, line in enumerate(heading):
            plain(figure.text(_ROOM / width, 1 - (0.2 * (at + 1)) / (height + top), line, fontsize=9))
        y = _ROOM
        for text, parts in rows:
            plain(axes.text(_ROOM, y + 0.15, text, fontsize=_TEXT + 0.5, fontweight="bold"))
            y += _HEAD
            for part in parts:
                _path(axes, part, y + 0.26)
                y += _LINE
        for line in closing:
            plain(axes.text(_ROOM, y + 0.15, line, fontsize=_TEXT))
            y += _HEAD
    return figure


def _heading(found: Explanation, chain: Chain, rank: int) -> str:
    """The number of a chain, its gain, and what else is to be said of it."""
    kind = {"cycle": " (a cycle)", "together": " (all at once)", "rest": " (not told apart)"}.get(chain.kind, "")
    if chain.kind == "cycle" and found.difference is not None and found.difference.there[chain.positions[-1]] == NONE:
        kind = ""  # it ends where it begins, in waiting
    after = " after the lines above" if chain.ordered and rank > 1 else ""
    cut = len(chain.positions) - _MOVES
    more = f", {counted(cut, 'more move')} not drawn" if cut > 0 else ""
    return f"{rank}. {gained(found.problem, chain.gain)}{after}{kind}{more}"


def _cut(chain: Chain) -> Chain:
    return Chain(chain.positions[:_MOVES], chain.gain, chain.kind, chain.ordered)


def _names(moves: Sequence[Move]) -> tuple[dict[tuple[str, str], str], list[str]]:
    """What is shown of each place and task, and what all their ids share."""
    held = {
        "nodes": list(dict.fromkeys(place for move in moves for place in (move.here, move.there) if place is not None)),
        "tasks": list(dict.fromkeys(move.task for move in moves)),
    }
    names, told = {("nodes", _WAITS): _WAITS}, []
    for what, ids in held.items():
        shown, shared = trimmed(ids, _LETTERS)
        names |= {(what, name): text for name, text in zip(ids, shown, strict=True)}
        told += [f"{what} {shared}"] if shared else []
    return names, ["; ".join(told)] if told else []


def _broken(moves: Sequence[Move], names: Mapping[tuple[str, str], str]) -> list[list[_Link]]:
    """The steps of a chain in lines that are not too long; one that is broken begins with the place it goes on from."""
    lines: list[list[_Link]] = [[]]
    for start, move, end in links(moves):
        shown = names["tasks", move.task], _below(move), names["nodes", end]
        step = _Link(None if start is None else names["nodes", start], *shown)
        if lines[-1] and _length([*lines[-1], step]) > _WIDE:
            lines.append([])
            step = _Link(names["nodes", start or move.here or _WAITS], *shown)
        lines[-1].append(step)
    return lines


def _length(part: Sequence[_Link]) -> float:
    """Inches of a line."""
    return sum((_box(step.start) + 0.1 if step.start else 0) + _reach(step) + _box(step.end) for step in part) + _ROOM


def _box(place: str) -> float:
    return wide(place, _TEXT) + 0.2


def _reach(step: _Link) -> float:
    """Inches of an arrow, with room for what stands above and below it."""
    return max(_ARROW, wide(step.task, _TEXT) + 0.3, wide(step.below, 6.5) + 0.3)


def _below(move: Move) -> str:
    """What stands below an arrow: what the task pays before and after, and how near its data is."""
    if move.cost_here is not None and move.cost_there is not None:
        return f"pays {number(move.cost_here)} → {number(move.cost_there)}"
    if move.data_here is not None and move.data_there is not None:
        return f"{move.data_here} → {move.data_there}"
    if move.cost_there is not None:
        return f"pays {number(move.cost_there)}"
    return "" if move.cost_here is None else f"paid {number(move.cost_here)}"


def _path(axes: Axes, part: Sequence[_Link], y: float) -> None:
    """A line of places and arrows."""
    x = _ROOM
    for rank, step in enumerate(part):
        if step.start:
            x += (0.1 if rank else 0) + _place(axes, step.start, x + (0.1 if rank else 0), y)
        reach = _reach(step)
        arrow: dict[str, Any] = {"arrowstyle": "-|>", "color": "black", "linewidth": 1.1}
        axes.annotate("", xy=(x + reach - 0.04, y), xytext=(x + 0.04, y), arrowprops=arrow)
        middle = x + reach / 2
        plain(axes.text(middle, y - 0.06, step.task, fontsize=_TEXT, ha="center", va="bottom"))
        plain(axes.text(middle, y + 0.07, step.below, fontsize=6.5, ha="center", va="top"))
        x += reach
        x += _place(axes, step.end, x, y)


def _place(axes: Axes, place: str, x: float, y: float) -> float:
    """A node, or waiting, as a box; its width."""
    from matplotlib.patches import Rectangle

    width = _box(place)
    look: dict[str, Any] = {"facecolor": "white", "linestyle": ":"} if place == _WAITS else {"facecolor": "#e3f1fa"}
    axes.add_patch(Rectangle((x, y - 0.13), width, 0.26, edgecolor="black", linewidth=0.8, **look))
    plain(axes.text(x + width / 2, y, place, fontsize=_TEXT, ha="center", va="center"))
    return width


def _wrapped(text: str, width: float) -> list[str]:
    import textwrap

    return textwrap.wrap(text, max(30, math.floor(width / wide("x", 9))))


def _words(told: Sequence[str]) -> Figure:
    """What there is to say where nothing moves: no gap, or no feasible placement."""
    lines = [line for text in told for line in _wrapped(text, 6.5)]
    with settings():
        figure = begun(7.0, 0.22 * len(lines) + 0.3, " ".join(told), constrained=False)
        height = figure.get_figheight()
        for at, line in enumerate(lines):
            plain(figure.text(0.02, 1 - 0.22 * (at + 1) / height, line, fontsize=9))
    return figure
