"""What a policy's gap over time is made of, as a picture: part by part from the policy down to the bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optsched.decomposing import Decomposition
from optsched.drawing.figures import begun, plain, settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["decomposition_picture"]

#: Grey and hatching of what a part adds, and of what it takes away.
_MORE, _LESS = ("0.55", ""), ("0.9", "////")


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
    component = found.problem.components[0]
    policy = float(found.means[0])
    steps = [(part, float(value)) for part, value in found.parts.items() if value is not None]
    title = f"{found.policy} on {found.problem.instance.name or 'an instance'}: what its {component.name} is made of"
    with settings():
        figure = begun(6.5, 0.45 * len(steps) + 1.5, title)
        axes = figure.add_subplot()
        at = policy
        for row, (_, seconds) in enumerate(steps):
            colour, hatch = _MORE if seconds >= 0 else _LESS
            axes.barh(row, -seconds, left=at, height=0.6, color=colour, hatch=hatch, edgecolor="black")
            axes.annotate(f"{seconds:.4g} s", (at - seconds / 2, row), (0, 14), textcoords="offset points", ha="center")
            axes.plot([at - seconds] * 2, [row, min(row + 1, len(steps) - 1)], color="black", linewidth=0.7)
            at -= seconds
        axes.set_yticks(range(len(steps)), [part for part, _ in steps])
        axes.invert_yaxis()
        axes.axvline(policy, color="black", linewidth=0.7, linestyle="--")
        axes.set_xlabel(f"{component.name}, s")
        plain(axes.set_title(title, fontsize=9, loc="left"))
    return figure
