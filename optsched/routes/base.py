"""What a module of routes must have, and what routes speak of: models, frontiers, what a gap says beside itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from optsched.brief import brief, counted
from optsched.results import Bound, FrontierPoint, Limit, Number, Solution, Value
from optsched.solvers.profiles import Profile

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MODELS", "Beside", "BoundsModule", "Frontier", "FrontierModule", "RouteModule", "RoutesByProblem"]

#: Routes that use a declarative model.
MODELS = ("pyomo", "pulp")


class RouteModule(Protocol):
    """What a module of routes has; `optsched.routes` lets mypy hold every module against it."""

    @property
    def ROUTES(self) -> tuple[str, ...]:  # noqa: N802 - the constant of a module
        """Names of the routes, the default first."""

    def by_route(self, call: Any, profile: Profile, /) -> Solution:
        """Solve the problem of a call by its route, which is one of these, and not `brute-force`.

        Parameters
        ----------
        call
            `optsched.routes.call.Call`: the problem, the route and a start; it makes the solution.
        profile
            Limits and options of the solver.
        """


class RoutesByProblem(RouteModule, Protocol):
    """A module of routes not all of which pose every instance."""

    def routes(self, problem: Any, /) -> tuple[str, ...]:
        """Those that pose this one, the default first."""


class BoundsModule(RouteModule, Protocol):
    """A module of routes with more bounds than `cheap_bounds`."""

    def bounds(self, problem: Any, /) -> tuple[Bound, ...]:
        """All of them, those of `cheap_bounds` too."""


class FrontierModule(RouteModule, Protocol):
    """A module of routes to every Pareto-optimal point."""

    def frontier(self, problem: Any, profile: Profile, route: str, /) -> Frontier:
        """The points that one of its routes finds."""


class Beside(Protocol):
    """What a gap says beside itself, for a problem with two components: how far a value is from the frontier."""

    fields: ClassVar[tuple[str, ...]]
    """Names of the figures, as records have them."""

    def __init__(self, problem: Any, profile: Profile, in_time: Callable[[Callable[[], Any]], Any]) -> None:
        """`in_time(ask)` is what `ask` answers, or None where it takes longer than the reference may."""

    def solution(self) -> Solution:
        """The solution that the gap is measured against."""

    def gaps(self, value: Value) -> tuple[Number | None, ...]:
        """Each of the figures for a feasible value; None where it is not proved."""


@dataclass(frozen=True)
class Frontier:
    """Pareto-optimal points by increasing first component: a sequence of `FrontierPoint`.

    `complete` says whether all of them are there; if not, `limit` says what cut the search short.
    """

    problem: str
    components: tuple[str, str]
    points: tuple[FrontierPoint, ...]
    complete: bool
    limit: Limit | None

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
        lines = (f"  {', '.join(map(str, point.objective))}  {point.certificate}" for point in self.points)
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
