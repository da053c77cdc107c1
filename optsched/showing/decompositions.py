"""What gaps over time are made of, as pictures: part by part from a policy down to the bound, or policies as stacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from optsched.core.errors import UsageError
from optsched.instances.labels import assumed_in_words
from optsched.measuring.decomposing import PARTS, Decomposition
from optsched.showing.figures import begun, headed, keyed, named, plain, settings, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["decomposition_picture", "decompositions_picture"]

#: Grey and hatching of what a part adds, and of what it takes away.
_MORE, _LESS = ("0.55", ""), ("0.9", "////")

#: Grey and hatching of each part in a stack.
_LOOKS = dict(
    zip(
        PARTS,
        (("1.0", ""), ("1.0", "...."), ("0.75", ""), ("0.75", "xxxx"), ("0.55", ""), ("0.3", "")),
        strict=True,
    )
)

#: Inches of a bar in a stack, and of all that is no bar.
_BAR, _REST = 0.42, 1.7


def decomposition_picture(found: Decomposition) -> Figure:
    """A bar for each part of the gap, from the policy as it is (above) to the bound (below), each from where one ends.

    A part that is negative, since more freedom did worse, goes back and is hatched.

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
    title = f"{found.label} on {found.problem.instance.name or 'an instance'}: what its {component} is made of"
    with settings():
        figure = begun(6.5, 0.45 * len(steps) + 1.5, title)
        axes = figure.add_subplot()
        at = policy
        for row, (_, seconds) in enumerate(steps):
            colour, hatch = _MORE if seconds >= 0 else _LESS
            axes.barh(row, -seconds, left=at, height=0.6, color=colour, hatch=hatch, edgecolor="black")
            axes.annotate(_told(seconds), (at - seconds / 2, row), (0, 14), textcoords="offset points", ha="center")
            axes.plot([at - seconds] * 2, [row, min(row + 1, len(steps) - 1)], color="black", linewidth=0.7)
            at -= seconds
        axes.set_yticks(range(len(steps)), [part for part, _ in steps])
        axes.invert_yaxis()
        axes.axvline(policy, color="black", linewidth=0.7, linestyle="--")
        axes.set_xlabel(_with_labels(f"{found.problem.value_in_words}, s", found))
        plain(axes.set_title(title, fontsize=9, loc="left"))
    return figure


def decompositions_picture(found: Sequence[Decomposition]) -> Figure:
    """A bar for each policy, its parts stacked from the bound (left) up to the policy as it is, with the whole gap.

    A part that is negative goes back from the end of those below it, as a hatched bar within them. Where nothing is
    proved, stacks begin at the best schedule that was found.

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
    with settings():
        figure = begun(
            7, _BAR * len(held) + _REST, f"What the gaps of policies are made of on {where}, {first.problem.name}"
        )
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
            axes.annotate(_told(at), (reach, row), (4, 0), textcoords="offset points", va="center", fontsize=8)
        named(axes.yaxis, range(len(held)), [short(one.label) for one in held])
        axes.invert_yaxis()
        axes.set_xlim(0, 1.15 * longest or 1)
        axes.set_xlabel(_with_labels(f"{what} above the {below} {_told(float(end))} (s)", first))
        order = sorted(bars, key=lambda part: (list(PARTS).index(part.split(",")[0]), part))
        keyed(figure, [bars[part] for part in order], order, loc="outside lower center", ncols=min(3, len(order)))
        headed(
            figure, f"{where}, {first.problem.name}: what gaps are made of{f' ({first.assumed})' * bool(first.assumed)}"
        )
    return figure


def _with_labels(text: str, found: Decomposition) -> str:
    """A text, and below it what of the instance was assumed."""
    return "\n".join(filter(None, [text, assumed_in_words([found.problem.instance])]))


def _told(seconds: float) -> str:
    """Seconds in few digits, and none after the point where there are many before it."""
    return f"{seconds:.4g} s" if abs(seconds) < 1000 else f"{seconds:,.0f} s"
