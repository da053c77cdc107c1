"""Pareto frontiers of two components: every Pareto-optimal point with its certificates.

It carries the proofs of its points, and what it is of, so that it can be written to a file and certified as solutions
are (`optsched.certify`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

from optsched.core.brief import brief, counted
from optsched.core.results import Certificate, FrontierPoint, Limit, Value, digested

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Frontier"]


@digested
@dataclass(frozen=True)
class Frontier:
    """Pareto-optimal points by increasing first component: a sequence of `FrontierPoint`.

    `components` are the names of the two components. `complete` says whether all points are there; if not, `limit` is
    what cut the search short. `infeasible`, where there is no point, is the proof that nothing is feasible (of
    `results.FEASIBLE`); None where a task or node alone shows it, or nothing proves it. `optsched.frontier` fills in
    `parameters` and `instance_sha256`.
    """

    noun: ClassVar[str] = "frontier"

    problem: str
    components: tuple[str, str]
    points: tuple[FrontierPoint, ...]
    complete: bool
    limit: Limit | None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    instance_sha256: str = ""
    infeasible: Certificate | None = None

    def __iter__(self) -> Iterator[FrontierPoint]:
        return iter(self.points)

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, index: int) -> FrontierPoint:
        return self.points[index]

    def __repr__(self) -> str:
        cut = "" if self.complete else f" (cut short: {self.limit})"
        return brief(f"Frontier of {self.problem}: {counted(len(self), 'point')} of {', '.join(self.components)}{cut}")

    def __str__(self) -> str:
        head = f"{self.problem}: {', '.join(self.components)}" + (
            "" if self.complete else f" (cut short: {self.limit})"
        )
        lines = [f"  {', '.join(map(str, point.objective))}  {point.certificate}" for point in self.points]
        if self.infeasible is not None:
            lines.append(f"  nothing is feasible  {self.infeasible.kind}")
        return "\n".join([head, *lines])

    def _repr_html_(self) -> str:
        return f"<p>{escape(str(self).splitlines()[0])}</p>{self.frame().to_html(index=False)}"

    def frame(self) -> pd.DataFrame:
        """A row for each point: a column for each component (doubles), and `proof`."""
        import pandas as pd

        columns: dict[str, Any] = {
            name: pd.Series([float(point.objective[position]) for point in self.points], dtype=float)
            for position, name in enumerate(self.components)
        }
        columns["proof"] = pd.Series([str(point.certificate) for point in self.points], dtype=object)
        return pd.DataFrame(columns)

    @property
    def values(self) -> list[Value]:
        """The objective of each point."""
        return [point.objective for point in self.points]
