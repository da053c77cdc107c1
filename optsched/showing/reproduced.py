"""A paper's figure as it was measured again, with the optimum as its first line and the paper's own numbers hollow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from optsched.measuring.printing import escaped, folded
from optsched.showing.figures import begun, fold, keyed, look, named, plain, settings, short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from optsched.measuring.reproducing.results import Entry, Reproduction

__all__ = ["reproduced_pgf", "reproduced_picture"]


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
    draw = {"bars": _bars, "scatter": _points, "cdf": _distribution}.get(figure.kind, _lines)
    with settings():
        picture = begun(6.4, 4.2 + 0.2 * len(labels), f"{figure.paper}, {figure.place}: {figure.title}")
        axes = picture.subplots()
        handles, names = draw(axes, found, labels)
        if figure.kind != "scatter" and any(found.published(entry) is not None for entry in found.entries):
            handles.append(axes.plot([], [], linestyle="", marker="o", color="0.4", markerfacecolor="white")[0])
            names.append("the paper's own number")
        columns = 2 if len(names) > 3 else 1
        keyed(picture, handles, [short(name, 60) for name in names], loc="outside lower center", ncols=columns)
        axes.grid(alpha=0.3)
        lines = fold(found.caption(), picture.get_figwidth(), 8)
        plain(picture.suptitle("\n".join(lines), fontsize=8))
    return picture


def _numbers(found: Reproduction, labels: Sequence[str]) -> list[tuple[int, int]]:
    """The colour and the form of each line: of a family of curves a colour for each member, a form for each series."""
    members = list(dict.fromkeys(entry.on for entry in found.entries))
    series = list(dict.fromkeys(entry.series for entry in found.entries))
    if min(len(members), len(series)) == 1:
        return [(number, number) for number in range(len(labels))]
    firsts = [_own(found, label)[0] for label in labels]
    return [(members.index(first.on), series.index(first.series)) for first in firsts]


def _looks(found: Reproduction, labels: Sequence[str]) -> list[dict[str, Any]]:
    """The colour, marker and dash of each line."""
    looks = []
    for colour, form in _numbers(found, labels):
        style = look(form)
        if colour != form:
            style["color"] = style["markerfacecolor"] = look(colour)["color"]
        looks.append(style)
    return looks


def _bounds(parts: Sequence[Any]) -> list[list[float]]:
    """How far each interval reaches below and above its mean."""
    return [[max(0.0, one.mean - one.low) for one in parts], [max(0.0, one.high - one.mean) for one in parts]]


def _own(found: Reproduction, label: str) -> list[Entry]:
    return [entry for entry in found.entries if entry.label == label]


def _lines(axes: Axes, found: Reproduction, labels: Sequence[str]) -> tuple[list[Any], list[str]]:
    handles = []
    for label, style in zip(labels, _looks(found, labels), strict=True):
        own = _own(found, label)
        values = [entry.value for entry in own]
        across: Any = [entry.x for entry in own]
        handles.append(axes.errorbar(across, [one.mean for one in values], _bounds(values), capsize=2, **style))
        _published(axes, found, own, style)
    if found.figure.x.log:
        axes.set_xscale("log", base=2)
    axes.set(xlabel=found.figure.x.name, ylabel=found.figure.y)
    return handles, list(labels)


def _published(
    axes: Axes, found: Reproduction, own: Sequence[Entry], style: dict[str, Any], shift: float | None = None
) -> None:
    pairs: list[Any] = [
        (entry.x if shift is None else at + shift, told)
        for at, entry in enumerate(own)
        if (told := found.published(entry)) is not None
    ]
    hollow = {**style, "linestyle": "", "markersize": 7, "markerfacecolor": "white"}
    axes.plot([x for x, _ in pairs], [told for _, told in pairs], zorder=4, **hollow)


def _bars(axes: Axes, found: Reproduction, labels: Sequence[str]) -> tuple[list[Any], list[str]]:
    handles = []
    names = list(dict.fromkeys(str(entry.x) for entry in found.entries))
    wide = 0.8 / len(labels)
    numbers = _numbers(found, labels)
    for number, (label, style) in enumerate(zip(labels, _looks(found, labels), strict=True)):
        own = {str(entry.x): entry for entry in _own(found, label)}
        shift = (number - (len(labels) - 1) / 2) * wide
        at = [names.index(name) + shift for name in own]
        values = [entry.value for entry in own.values()]
        handles.append(
            axes.bar(
                at,
                [one.mean for one in values],
                wide,
                yerr=_bounds(values),
                capsize=2,
                color=style["color"],
                hatch=("", "//", "..", "xx", "\\\\")[numbers[number][1] % 5],
                edgecolor="white",
                ecolor="0.5",
            )
        )
        _published(axes, found, [own[name] for name in names if name in own], style, shift)
    named(axes.xaxis, range(len(names)), ["\n".join(folded(name, 14).split("\n")) for name in names], fontsize=8)
    axes.set(xlabel=found.figure.x.name, ylabel=found.figure.y)
    return handles, list(labels)


def _distribution(axes: Axes, found: Reproduction, labels: Sequence[str]) -> tuple[list[Any], list[str]]:
    handles = []
    for label, style in zip(labels, _looks(found, labels), strict=True):
        own = _own(found, label)
        values = [entry.value for entry in own]
        shares: Any = [entry.x for entry in own]
        handles.append(axes.errorbar([one.mean for one in values], shares, xerr=_bounds(values), capsize=2, **style))
        pairs: list[Any] = [(told, entry.x) for entry in own if (told := found.published(entry)) is not None]
        hollow = {**style, "linestyle": "", "markersize": 7, "markerfacecolor": "white"}
        axes.plot([told for told, _ in pairs], [share for _, share in pairs], zorder=4, **hollow)
    axes.set(xlabel=found.figure.y, ylabel="values that are at most this (%)", ylim=(-3, 103))
    return handles, list(labels)


def _points(axes: Axes, found: Reproduction, labels: Sequence[str]) -> tuple[list[Any], list[str]]:
    handles = []
    for label, style in zip(labels, _looks(found, labels), strict=True):
        own = _own(found, label)
        across = [entry.across for entry in own if entry.across is not None]
        values = [entry.value for entry in own]
        joined = {**style, "linestyle": "-" if len(own) > 1 else "", "linewidth": 0.7}
        handles.append(
            axes.errorbar(
                [one.mean for one in across],
                [one.mean for one in values],
                _bounds(values),
                _bounds(across),
                capsize=2,
                **joined,
            )
        )
    if found.figure.x.log:
        axes.set_xscale("log", base=2)
    axes.set(xlabel=found.figure.across, ylabel=found.figure.y)
    return handles, list(labels)


# For papers ----------------------------------------------------------------------------------------------------------


def reproduced_pgf(found: Reproduction) -> str:
    r"""The same figure as the source of a picture for LaTeX's `pgfplots`, with every number in it.

    A document takes it by `\input`, with `\usepackage{pgfplots}` and `\pgfplotsset{compat=1.17}`.
    """
    figure = found.figure
    labels = {"bars": (figure.x.name, figure.y), "scatter": (figure.across, figure.y)}
    labels["cdf"] = (figure.y, "values that are at most this (%)")
    across, up = (escaped(text, "latex") for text in labels.get(figure.kind, (figure.x.name, figure.y)))
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
    for label in found.labels():
        points = [f"  {_coordinate(figure.kind, entry)}" for entry in _own(found, label)]
        lines += [f"\\addplot+[{marks}{errors}] coordinates {{", *points, "};"]
        lines.append(f"\\addlegendentry{{{escaped(label, 'latex')}}}")
    return "\n".join([*lines, "\\end{axis}", "\\end{tikzpicture}"]) + "\n"


def _coordinate(kind: str, entry: Entry) -> str:
    """A point with how far its intervals reach up and down."""
    value, ((low,), (high,)) = entry.value, _bounds([entry.value])
    if kind == "cdf":
        return f"({value.mean:g}, {entry.x}) += ({high:g}, 0) -= ({low:g}, 0)"
    if kind == "scatter" and entry.across is not None:
        (left,), (right,) = _bounds([entry.across])
        return f"({entry.across.mean:g}, {value.mean:g}) += ({right:g}, {high:g}) -= ({left:g}, {low:g})"
    at = f"{{{escaped(entry.x, 'latex')}}}" if isinstance(entry.x, str) else f"{entry.x:g}"
    return f"({at}, {value.mean:g}) += (0, {high:g}) -= (0, {low:g})"
