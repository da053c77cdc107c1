"""A paper's figure, measured again, with the optimum as its first line and the paper's own numbers hollow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from optsched.measuring.printing import escaped, folded
from optsched.measuring.reproducing.results import Values
from optsched.showing.figures import begun, fold, keyed, look, short

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from optsched.measuring.reproducing.results import Entry, Reproduction


def reproduced_picture(found: Reproduction) -> Figure:
    """The picture of a reproduced figure: means with their 95 % intervals.

    Parameters
    ----------
    found
        Of `optsched.figure(...).reproduce()` or `.stored()`.

    Raises
    ------
    UsageError
        If matplotlib is missing.

    Examples
    --------
    >>> import optsched
    >>> picture = reproduced_picture(optsched.figure("guo-2012/4b").reproduce(seeds=2))
    >>> picture.axes[0].get_xlabel()
    'replicas of a block'
    """
    figure = found.figure
    labels = found.labels()
    draw = _bars if figure.kind == "bars" else _curves
    with begun(6.4, 4.2 + 0.2 * len(labels), f"{figure.paper}, {figure.place}: {figure.title}") as picture:
        axes = picture.subplots()
        handles, names = draw(axes, found), list(labels)
        axes.set(**dict(zip(("xlabel", "ylabel"), _names(found), strict=True)))
        if figure.kind != "scatter" and any(found.published(entry) is not None for entry in found.entries):
            handles.append(axes.plot([], [], linestyle="", marker="o", color="0.4", markerfacecolor="white")[0])
            names.append("the paper's own number")
        columns = 2 if len(names) > 3 else 1
        keyed(picture, handles, [short(name, 60) for name in names], loc="outside lower center", ncols=columns)
        axes.grid(alpha=0.3)
        lines = fold(found.caption(), picture.get_figwidth(), 8)
        picture.suptitle("\n".join(lines), fontsize=8)
    return picture


def _looks(found: Reproduction) -> Iterator[tuple[list[Entry], dict[str, Any], int]]:
    """The points of each line, its colour, marker and dash, and the number of its form.

    In a family of curves each member has a colour, and each series a form.
    """
    members = list(dict.fromkeys(entry.on for entry in found.entries))
    series = list(dict.fromkeys(entry.series for entry in found.entries))
    for number, own in enumerate(found.lines().values()):
        colour = form = number
        if min(len(members), len(series)) > 1:
            colour, form = members.index(own[0].on), series.index(own[0].series)
        drawn_in = look(colour)["color"]
        yield own, look(form) | {"color": drawn_in} | ({"markerfacecolor": drawn_in} if colour != form else {}), form


def _bounds(parts: Sequence[Any]) -> list[list[float]] | None:
    """How far each interval reaches below and above its mean; None for positions on the axis."""
    if not isinstance(parts[0], Values):
        return None
    return [[max(0.0, one.mean - one.low) for one in parts], [max(0.0, one.high - one.mean) for one in parts]]


def _ends(kind: str, entry: Entry) -> tuple[Any, Any]:
    """The coordinates of a point: positions on the axis, or values."""
    if kind == "cdf":
        return entry.value, entry.x
    return (entry.x if entry.across is None else entry.across), entry.value


def _names(found: Reproduction) -> tuple[str, str]:
    """The labels of both axes."""
    figure = found.figure
    if figure.kind == "cdf":
        return figure.y, "values that are at most this (%)"
    return (figure.across if figure.kind == "scatter" else figure.x.name), figure.y


def _curves(axes: Axes, found: Reproduction) -> list[Any]:
    """Lines, distributions, or points."""
    kind, handles = found.figure.kind, []
    for own, style, _ in _looks(found):
        sides = list(zip(*(_ends(kind, entry) for entry in own), strict=True))
        across, up = ([one.mean if isinstance(one, Values) else one for one in side] for side in sides)
        if kind == "scatter":
            style |= {"linestyle": "-" if len(own) > 1 else "", "linewidth": 0.7}
        handles.append(axes.errorbar(across, up, _bounds(sides[1]), _bounds(sides[0]), capsize=2, **style))
        if kind != "scatter":
            _published(axes, found, own, [entry.x for entry in own], style)
    if found.figure.x.log:
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter("{x:g}")  # texts of pictures are plain: 2^4 as a formula is not drawn
    if kind == "cdf":
        axes.set_ylim(-3, 103)
    return handles


def _bars(axes: Axes, found: Reproduction) -> list[Any]:
    handles = []
    names = list(dict.fromkeys(str(entry.x) for entry in found.entries))
    wide = 0.8 / len(found.lines())
    for number, (own, style, form) in enumerate(_looks(found)):
        shift = (number - (len(found.lines()) - 1) / 2) * wide
        at = [names.index(str(entry.x)) + shift for entry in own]
        values = [entry.value for entry in own]
        handles.append(
            axes.bar(
                at,
                [one.mean for one in values],
                wide,
                yerr=_bounds(values),
                capsize=2,
                color=style["color"],
                hatch=("", "//", "..", "xx", "\\\\")[form % 5],
                edgecolor="white",
                ecolor="0.5",
            )
        )
        _published(axes, found, own, at, {"color": "black", "marker": "o"})
    axes.set_axisbelow(True)
    axes.xaxis.set_ticks(range(len(names)), ["\n".join(folded(name, 14).split("\n")) for name in names], fontsize=8)
    return handles


def _published(axes: Axes, found: Reproduction, own: Sequence[Entry], places: Sequence[Any], style: Any) -> None:
    """The paper's own numbers at positions on the axis, hollow; for distributions the positions are vertical."""
    known = [
        (place, number) for place, number in zip(places, map(found.published, own), strict=True) if number is not None
    ]
    sides = [[place for place, _ in known], [number for _, number in known]]
    hollow = {**style, "linestyle": "", "markersize": 7, "markerfacecolor": "white"}
    axes.plot(*(sides[::-1] if found.figure.kind == "cdf" else sides), zorder=4, **hollow)


# For papers ----------------------------------------------------------------------------------------------------------


def reproduced_pgf(found: Reproduction) -> str:
    r"""The same figure as the source of a picture for LaTeX's `pgfplots`, with every number in it.

    A document includes it by `\input`, with `\usepackage{pgfplots}` and `\pgfplotsset{compat=1.17}`.
    """
    figure = found.figure
    across, up = (escaped(text, "latex") for text in _names(found))
    options = [f"xlabel={{{across}}}", f"ylabel={{{up}}}", "grid=major", "legend pos=outer north east"]
    if figure.kind == "bars":
        names = ",".join(dict.fromkeys(f"{{{escaped(str(entry.x), 'latex')}}}" for entry in found.entries))
        options += ["ybar", f"symbolic x coords={{{names}}}", "xtick=data"]
    elif figure.x.log:
        options += ["xmode=log", "log basis x=2"]
    ways = {"cdf": "x", "scatter": "xy"}.get(figure.kind, "y")
    errors = ", ".join(["error bars/.cd", *(f"{way} dir=both, {way} explicit" for way in ways)])
    marks = "only marks, " if figure.kind == "scatter" else ""
    lines = [f"% {line}" for line in fold(found.caption(), 6.4, 8)]
    lines += ["\\begin{tikzpicture}", f"\\begin{{axis}}[{', '.join(options)}]"]
    for label, own in found.lines().items():
        lines.append(f"\\addplot+[{marks}{errors}] coordinates {{")
        for entry in own:  # a point with its intervals, up and down
            sides = _ends(figure.kind, entry)
            at = [f"{one.mean:g}" if isinstance(one, Values) else f"{{{escaped(str(one), 'latex')}}}" for one in sides]
            reach = [_bounds([one]) or [[0.0], [0.0]] for one in sides]
            above, below = (", ".join(f"{ends[way][0]:g}" for ends in reach) for way in (1, 0))
            lines.append(f"  ({', '.join(at)}) += ({above}) -= ({below})")
        lines.append("};")
        lines.append(f"\\addlegendentry{{{escaped(label, 'latex')}}}")
    return "\n".join([*lines, "\\end{axis}", "\\end{tikzpicture}"]) + "\n"
