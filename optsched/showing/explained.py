"""The parts of gaps as pictures: moves from node to node with their gains, and the parts of a gap over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from optsched.core.brief import assumed_in_words, counted
from optsched.core.errors import UsageError
from optsched.core.placement import NONE
from optsched.measuring.decomposing import PARTS, Decomposition
from optsched.measuring.explaining import Explanation
from optsched.measuring.explaining.chains import Chain
from optsched.measuring.explaining.explanation import MOST, Move, gained
from optsched.measuring.printing import number
from optsched.showing.figures import SMALL, begun, fold, headed, keyed, short, trimmed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["chains_picture", "decomposition_picture", "decompositions_picture", "links"]

# Moves ---------------------------------------------------------------------------------------------------------------

#: Inches: a line of a chain with its texts, the heading of a chain, room at the edges, from one place to the next.
_LINE, _HEAD, _ROOM, _STEP = 0.62, 0.24, 0.15, 1.9

#: The most places in a line, drawn moves of a chain, letters of names.
_PLACES, _MOVES, _LETTERS = 5, 24, 12

#: The name of the place of a waiting task.
_WAITS = "waiting"

#: A place in a line, and the texts above and below the arrow to it; none for the first.
_Place = tuple[str, str, str]


def links(moves: Sequence[Move]) -> list[tuple[str | None, Move, str]]:
    """The moves as a path: each with its beginning, None if it goes on from the end of the previous move.

    A move pushes the next one if that one leaves the place which it enters; waiting is no place that could be full.
    """
    found: list[tuple[str | None, Move, str]] = []
    for move in moves:
        goes_on = bool(found) and move.here is not None and found[-1][1].there == move.here
        found.append((None if goes_on else move.here or _WAITS, move, move.there or _WAITS))
    return found


def chains_picture(found: Explanation, most: int = MOST) -> Figure:
    """The moves of a gap: one line for each chain or cycle with its gain, in the order of `explain`.

    An arrow is a task that moves to the place at its tip, and pushes the next task off. The text below it says what the
    task pays, or how near it comes to its data. A cycle ends at the place where it begins. For an infeasible problem
    the picture shows the tasks that cannot be placed together.

    Parameters
    ----------
    found
        Of `optsched.explain`.
    most
        The most chains; one line has the total gain of the others.

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
    lines = list(found.sentences(0))
    rows, closing = _rows(found, most) if found.chains else ([], [])
    width = max([6.0, *(_STEP * (len(part) - 0.4) + 2 * _ROOM for _, parts in rows for part in parts)])
    heading = [line for text in (lines[:1] if rows else lines) for line in fold(text, width, 9)]
    closing = [line for text in closing for line in fold(text, width, SMALL)]
    height = _LINE * sum(len(parts) for _, parts in rows) + _HEAD * (len(rows) + len(closing)) + 2 * _ROOM
    top = 0.2 * len(heading) + 0.1
    with begun(width, height + top, lines[0] if rows else " ".join(lines), constrained=False) as figure:
        axes = figure.add_axes((0, 0, 1, height / (height + top)))
        axes.set(xlim=(0, width), ylim=(height, 0))
        axes.set_axis_off()
        for at, line in enumerate(heading):
            figure.text(_ROOM / width, 1 - (0.2 * (at + 1)) / (height + top), line, fontsize=9)
        y = _ROOM
        for text, parts in rows:
            axes.text(_ROOM, y + 0.15, text, fontsize=SMALL, fontweight="bold")
            y += _HEAD
            for part in parts:
                _path(axes, part, y + 0.26)
                y += _LINE
        for line in closing:
            axes.text(_ROOM, y + 0.15, line, fontsize=SMALL)
            y += _HEAD
    return figure


def _rows(found: Explanation, most: int) -> tuple[list[tuple[str, list[list[_Place]]]], list[str]]:
    """The heading and the lines of each chain; and the lines below all of them."""
    shown, left, moves, gain = found.parted(most)
    moves_of = [found.moves(Chain(chain.positions[:_MOVES], chain.gain, chain.kind)) for chain in shown]
    names, closing = _names([move for moves in moves_of for move in moves])
    rows = [
        (_heading(found, chain, rank), _broken(moves, names))
        for rank, (chain, moves) in enumerate(zip(shown, moves_of, strict=True), 1)
    ]
    if left:
        together = gained(found.problem, gain)
        closing.append(f"and {counted(left, 'more line')} of {counted(moves, 'move')}: together {together}")
    closing.append(f"Together: {gained(found.problem, found.gap or ())}, which is the gap.")
    return rows, closing


def _heading(found: Explanation, chain: Chain, rank: int) -> str:
    """The number of a chain, its gain, and remarks."""
    kind = {"cycle": " (a cycle)", "together": " (all at once)", "rest": " (in no separate moves)"}.get(chain.kind, "")
    if chain.kind == "cycle" and found.difference is not None and found.difference.there[chain.positions[-1]] == NONE:
        kind = ""  # it ends where it begins, in waiting
    after = " after the lines above" if chain.ordered and rank > 1 else ""
    cut = len(chain.positions) - _MOVES
    more = f", {counted(cut, 'more move')} not drawn" if cut > 0 else ""
    return f"{rank}. {gained(found.problem, chain.gain)}{after}{kind}{more}"


def _names(moves: Sequence[Move]) -> tuple[dict[tuple[str, str], str], list[str]]:
    """The text for each place and task, and the common part of all their ids."""
    held = {
        "nodes": list(dict.fromkeys(place for move in moves for place in (move.here, move.there) if place is not None)),
        "tasks": list(dict.fromkeys(move.task for move in moves)),
    }
    names, notes = {("nodes", _WAITS): _WAITS}, []
    for what, ids in held.items():
        shown, shared = trimmed(ids, _LETTERS)
        names |= {(what, name): text for name, text in zip(ids, shown, strict=True)}
        notes += [f"{what} {shared}"] if shared else []
    return names, ["; ".join(notes)] if notes else []


def _broken(moves: Sequence[Move], names: Mapping[tuple[str, str], str]) -> list[list[_Place]]:
    """The places of a chain in lines; a continued line begins with the place that it continues from."""
    lines: list[list[_Place]] = [[]]
    for start, move, end in links(moves):
        needed = 1 if start is None else 2
        if len(lines[-1]) + needed > _PLACES:
            lines.append([])
        if start is not None or not lines[-1]:
            lines[-1].append((names["nodes", start or move.here or _WAITS], "", ""))
        lines[-1].append((names["nodes", end], names["tasks", move.task], _below(move)))
    return lines


def _below(move: Move) -> str:
    """The text below an arrow: what the task pays before and after, and the locality of its data."""
    if move.cost_here is not None and move.cost_there is not None:
        return f"pays {number(move.cost_here)} → {number(move.cost_there)}"
    if move.data_here is not None and move.data_there is not None:
        return f"{move.data_here} → {move.data_there}"
    if move.cost_there is not None:
        return f"pays {number(move.cost_there)}"
    return "" if move.cost_here is None else f"paid {number(move.cost_here)}"


def _path(axes: Axes, part: Sequence[_Place], y: float) -> None:
    """A line of places and arrows."""
    boxes: list[Any] = []
    for x, (place, task, below) in enumerate(part):
        middle = _ROOM + _STEP * (x + 0.3)
        look = {"facecolor": "white", "linestyle": ":"} if place == _WAITS else {"facecolor": "#e3f1fa"}
        box = {"boxstyle": "square,pad=0.4", "edgecolor": "black", "linewidth": 0.8, **look}
        boxes.append(axes.text(middle, y, place, fontsize=SMALL, ha="center", va="center", bbox=box))
        if task:
            ends = {"patchA": boxes[-2].get_bbox_patch(), "patchB": boxes[-1].get_bbox_patch()}
            arrow: dict[str, Any] = {"arrowstyle": "-|>", "color": "black", "linewidth": 1.1, **ends}
            axes.annotate("", xy=(middle, y), xytext=(middle - _STEP, y), arrowprops=arrow)
            axes.text(middle - _STEP / 2, y - 0.06, task, fontsize=SMALL, ha="center", va="bottom")
            axes.text(middle - _STEP / 2, y + 0.07, below, fontsize=SMALL, ha="center", va="top")


# Parts of a gap over time --------------------------------------------------------------------------------------------

#: Grey and hatching of a positive and of a negative part.
_MORE, _LESS = ("0.55", ""), ("0.9", "////")

#: Grey and hatching of each part in a stack.
_LOOKS = dict(
    zip(
        PARTS,
        (("1.0", ""), ("1.0", "...."), ("0.75", ""), ("0.75", "xxxx"), ("0.55", ""), ("0.3", "")),
        strict=True,
    )
)

#: Inches of a bar in a stack, and of everything else.
_BAR, _REST = 0.42, 1.7


def decomposition_picture(found: Decomposition) -> Figure:
    """A bar for each part of the gap, from the policy as it is (above) to the bound (below), end to end.

    A negative part, from more freedom with a worse result, goes back and is hatched.

    Parameters
    ----------
    found
        Of `optsched.decompose`.

    Raises
    ------
    UsageError
        If matplotlib is missing.
    """
    component = found.problem.components[0].name
    policy = float(found.means["as_is"])
    steps = [(part, float(value)) for part, value in found.parts.items() if value is not None]
    end = "the best schedule found" if found.bound is None else "the bound"
    above = f"{component} {_time(sum(value for _, value in steps))} above {end}{_most([found])}"
    title = f"{found.label} on {found.problem.instance.name or 'an instance'}: {above}"
    with begun(6.5, 0.45 * len(steps) + 1.5, title) as figure:
        axes = figure.add_subplot()
        at = policy
        for row, (_, seconds) in enumerate(steps):
            colour, hatch = _MORE if seconds >= 0 else _LESS
            axes.barh(row, -seconds, left=at, height=0.6, color=colour, hatch=hatch, edgecolor="black")
            axes.annotate(_time(seconds), (at - seconds / 2, row), (0, 14), textcoords="offset points", ha="center")
            axes.plot([at - seconds] * 2, [row, min(row + 1, len(steps) - 1)], color="black", linewidth=0.7)
            at -= seconds
        axes.set_yticks(range(len(steps)), [part for part, _ in steps])
        axes.invert_yaxis()
        axes.axvline(policy, color="black", linewidth=0.7, linestyle="--")
        axes.set_xlabel(_with_labels(f"{found.problem.value_in_words} (s)", found))
        headed(figure, title)
    return figure


def decompositions_picture(found: Sequence[Decomposition]) -> Figure:
    """A bar for each policy, its parts stacked from the bound (left) up to the policy as it is, with the whole gap.

    A negative part goes back from the end of those below it, as a hatched bar within them. If nothing is proved, stacks
    begin at the best known schedule.

    Parameters
    ----------
    found
        Of `optsched.measuring.decomposing.decompose_all`, or several of `optsched.decompose` in one problem with one
        reference.

    Raises
    ------
    UsageError
        If there are none, they have no common end, or matplotlib is missing.
    """
    held = list(found)
    if not held:
        raise UsageError("there is no gap to draw: give what one policy's gap or more are made of")
    if len({(one.problem.name, one.problem.instance.sha256, one.known, one.bound) for one in held}) > 1:
        raise UsageError("these gaps do not end at one bound: measure them together, by decompose_all")
    first = held[0]
    where, what = first.problem.instance.name or "an instance", first.problem.value_in_words
    below = "best schedule found, of" if first.bound is None else "bound of"
    end = first.known if first.bound is None else first.bound
    with begun(
        7, _BAR * len(held) + _REST, f"What the gaps of policies are made of on {where}, {first.problem.name}"
    ) as figure:
        axes = figure.add_subplot()
        bars: dict[str, Any] = {}
        longest = 0.0
        for row, one in enumerate(held):
            at = 0.0
            for part, value in reversed(one.parts.items()):
                seconds = 0.0 if value is None else float(value)
                grey, hatch = _LOOKS[part] if seconds >= 0 else _LESS
                height = 0.6 if seconds >= 0 else 0.25
                (bar,) = axes.barh(
                    row, seconds, left=at, height=height, color=grey, hatch=hatch, edgecolor="black", linewidth=0.7
                )
                bars.setdefault(part if seconds >= 0 else f"{part}, less than nothing", bar)
                at += seconds
            reach = sum(float(value) for value in one.parts.values() if value is not None and value > 0)
            longest = max(longest, reach)
            axes.annotate(_time(at), (reach, row), (4, 0), textcoords="offset points", va="center", fontsize=8)
        axes.yaxis.set_ticks(range(len(held)), [short(one.label) for one in held])
        axes.invert_yaxis()
        axes.set_xlim(0, 1.15 * longest or 1)
        axes.set_xlabel(_with_labels(f"{what} above the {below} {_time(float(end))} (s)", first))
        order = sorted(bars, key=lambda part: (list(PARTS).index(part.split(",")[0]), part))
        keyed(figure, [bars[part] for part in order], order, loc="outside lower center", ncols=min(3, len(order)))
        assumed = f" ({first.assumed})" * bool(first.assumed)
        headed(figure, f"{where}, {first.problem.name}: what gaps are made of{_most(held)}{assumed}")
    return figure


def _most(found: Sequence[Decomposition]) -> str:
    """The largest part of these gaps together, in words; empty if they have none."""
    sums = {part: sum(float(one.parts[part] or 0) for one in found) for part in PARTS}
    part = max(PARTS, key=lambda part: sums[part])
    return f", most of it {part}" if sums[part] > 0 else ""


def _with_labels(text: str, found: Decomposition) -> str:
    """A text, and below it the assumptions about the instance."""
    return "\n".join(filter(None, [text, assumed_in_words([found.problem.instance])]))


def _time(seconds: float) -> str:
    """Seconds in few digits, and without decimals if there are many digits before the point."""
    return f"{seconds:.4g} s" if abs(seconds) < 1000 else f"{seconds:,.0f} s"
