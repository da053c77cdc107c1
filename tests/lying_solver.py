"""HiGHS as it would be if it lied: what it holds, says or claims is altered where the product reads it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import highspy
import numpy as np

_Status = highspy.HighsModelStatus


def _values(rng: np.random.Generator, solution: Any, what: str) -> None:
    """Alter what is held of one kind (`col_value`, `row_dual`): one entry, all of them, or their number."""
    values = list(getattr(solution, what))
    way = rng.integers(10)
    if not values:
        values = [1.0]
    elif way < 6:
        position = int(rng.integers(len(values)))
        values[position] = [values[position] + 1, values[position] - 1, np.nan, np.inf, 1e300, values[position] + 0.5][
            way
        ]
    elif way == 6:
        values = values[::-1]
    elif way == 7:
        values = [0.0] * len(values)
    elif way == 8:
        values = values[:-1]
    else:
        values = [*values, 1.0]
    setattr(solution, what, values)


#: What may be altered.
LIES = ("col_value", "row_dual", "objective", "bound", "both", "status", "held")


@contextmanager
def lying(lie: str, seed: int, often: float) -> Iterator[list[str]]:
    """Within this HiGHS lies of one thing, in a share `often` of its runs; gives the list of lies that were told."""
    rng, seen = np.random.default_rng(seed), []
    kept = {name: getattr(highspy.Highs, name) for name in ("getSolution", "getInfo", "getModelStatus", "run")}

    def run(self: Any) -> Any:
        result = kept["run"](self)
        self.lies = bool(rng.random() < often)
        self.seed = int(rng.integers(2**31))
        if self.lies:
            seen.append(lie)
        return result

    def lies(self: Any, *kinds: str) -> np.random.Generator | None:
        """The generator of this run's lie, the same at each look; None where it tells the truth about this."""
        return np.random.default_rng(self.seed) if getattr(self, "lies", False) and lie in kinds else None

    def solution(self: Any) -> Any:
        held = kept["getSolution"](self)
        draw = lies(self, "col_value", "row_dual")
        if draw is None:
            return held
        names = ("col_value", "col_dual", "row_value", "row_dual", "dual_valid", "value_valid")
        copy = SimpleNamespace(**{name: getattr(held, name) for name in names})
        _values(draw, copy, lie)
        return copy

    def info(self: Any) -> Any:
        held = kept["getInfo"](self)
        draw = lies(self, "objective", "bound", "both", "held")
        if draw is None:
            return held
        names = ("mip_node_count", "primal_solution_status", "objective_function_value", "mip_dual_bound", "mip_gap")
        copy = SimpleNamespace(**{name: getattr(held, name) for name in names})
        by = [1.0, -1.0, 1e6, np.nan, np.inf, -1e300, 0.5][int(draw.integers(7))]
        if lie in ("objective", "both"):
            copy.objective_function_value += by
        if lie in ("bound", "both"):
            copy.mip_dual_bound += by
        if lie == "held":
            copy.primal_solution_status = 0 if copy.primal_solution_status else 2
        return copy

    def status(self: Any) -> Any:
        held = kept["getModelStatus"](self)
        draw = lies(self, "status")
        if draw is None:
            return held
        others = (
            _Status.kOptimal,
            _Status.kInfeasible,
            _Status.kUnbounded,
            _Status.kTimeLimit,
            _Status.kUnknown,
            _Status.kUnboundedOrInfeasible,
        )
        return others[int(draw.integers(len(others)))]

    altered = {"getSolution": solution, "getInfo": info, "getModelStatus": status, "run": run}
    try:
        for name, function in altered.items():
            setattr(highspy.Highs, name, function)
        yield seen
    finally:
        for name, function in kept.items():
            setattr(highspy.Highs, name, function)
