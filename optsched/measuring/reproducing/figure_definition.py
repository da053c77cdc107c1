"""A figure or a table of a paper: what it shows, and what is measured for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from optsched.measuring.judging.findings import Check

__all__ = ["KINDS", "Axis", "FigureDefinition"]

#: The kinds of figures.
KINDS: Mapping[str, str] = {
    "line": "a value of each series at each number on the axis",
    "bars": "a value of each series for each name on the axis",
    "cdf": "the distribution of many values of each series, by quantiles",
    "scatter": "a point of two values for each series",
}


class Axis(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The axis of a figure: what varies.

    Attributes
    ----------
    name
        Its label, with the unit.
    quick, full
        Its values at either effort; without `full` the same.
    log
        Whether the picture has a logarithmic axis, also in a scatter plot.
    """

    name: str
    quick: tuple[int | float | str, ...] = ("",)
    full: tuple[int | float | str, ...] = ()
    log: bool = False


class FigureDefinition(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The fields of `PaperFigure`, which describes them, and derived values; subclasses measure."""

    id: str
    paper: str
    place: str
    title: str
    kind: str = "line"
    judge: str = "snapshots"
    on: dict[str, str | tuple[str, ...]] = {}
    on_full: dict[str, str | tuple[str, ...]] = {}
    problem: str = ""
    service: str = ""
    measure: dict[str, str] = {}
    series: dict[str, tuple[str, ...]] = {}
    x: Axis = Axis("")
    along: bool = False
    y: str = ""
    across: str = ""
    draws: int = 10
    full: int = 0
    published: dict[str, dict[str, float]] = {}
    caption: str = ""
    shown_by: str = ""
    left_out: str = ""

    @property
    def measured(self) -> bool:
        """Whether `reproduce` measures it."""
        return bool(self.series)

    def values(self, effort: str) -> tuple[int | float | str, ...]:
        """The values on the axis."""
        return (self.x.full if effort == "full" else ()) or self.x.quick

    def instances(self, effort: str) -> Mapping[str, str | tuple[str, ...]]:
        """The instances by label."""
        return (self.on_full if effort == "full" else {}) or self.on

    def draws_of(self, effort: str) -> int:
        """The number of draws of each point."""
        return (self.full if effort == "full" else 0) or self.draws

    def points(self, effort: str) -> dict[tuple[str, int | float | str], Check]:
        """What is measured in one draw each, by label and value on the axis; "" if one draw has all values."""
        found = {}
        for label, texts in self.instances(effort).items():
            for value in ("",) if self.along or self.kind == "cdf" else self.values(effort):

                def filled(text: str, value: Any = value) -> str:
                    return text.replace("{x}", str(value))

                found[label, value] = Check(
                    says="",
                    judge=self.judge,
                    on=tuple(map(filled, [texts] if isinstance(texts, str) else texts)),
                    problem=filled(self.problem),
                    measure={name: filled(text) for name, text in self.measure.items()},
                    service=filled(self.service),
                )
        return found
