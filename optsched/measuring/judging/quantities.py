"""What can be measured of a decision on a snapshot, and of a run over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from optsched.core.errors import HeuristicFailed
from optsched.core.instance import KINDS
from optsched.core.results import Number
from optsched.core.schedule import MICRO
from optsched.heuristics import run
from optsched.measuring.studies.choices import parted
from optsched.problems.locality_counts import locality_counts
from optsched.routes import frontier, solve
from optsched.simulating import Simulation

__all__ = ["OF_RUNS", "OF_SNAPSHOTS", "Answer"]


class Answer:
    """A problem and a decision on it: the optimum, or what a heuristic decides."""

    def __init__(self, problem: Any, source: str | None, seed: int = 0) -> None:
        self.problem, self._source, self._seed = problem, source, seed

    @cached_property
    def decision(self) -> Any:
        """The decision.

        Raises
        ------
        HeuristicFailed
            If there is none.
        """
        assert self._source is not None
        if self._source == "optimum":
            return solve(self.problem).decision
        name, values = parted(self._source, "measure")
        given: dict[str, Any] = {"seed": self._seed, **values}
        done = run(self.problem, name, **given)
        if done.placement is None:
            raise HeuristicFailed(f"{self._source} on {self.problem}: {done.error}")
        return done.placement

    @cached_property
    def value(self) -> tuple[Number, ...]:
        """Its objective; HeuristicFailed if it is not feasible."""
        if broken := self.problem.violations(self.decision):
            raise HeuristicFailed(f"{self._source} on {self.problem}: {broken[0]}")
        return tuple(self.problem.objective(self.decision))


def _exact(number: Any) -> Any:
    return Fraction(int(number)) if isinstance(number, int | np.integer) else number


def _loads(answer: Answer) -> Any:
    """The load with which each server ends, in `latency`."""
    local, remote = answer.problem.counts(answer.decision)
    return answer.problem.initial_load + answer.problem.w_loc * local + answer.problem.w_rem * remote


def _dominated(answer: Answer) -> int:
    """1 where a point of the frontier is better, in both components together."""
    value = tuple(map(Fraction, answer.value))
    points = [point.objective for point in frontier(answer.problem).points]
    return int(any(all(a <= b for a, b in zip(point, value, strict=True)) and point != value for point in points))


#: Numbers of a decision, and, without a decision, of the problem.
OF_SNAPSHOTS: Mapping[str, Callable[[Answer], Any]] = {
    "first": lambda answer: _exact(answer.value[0]),
    "second": lambda answer: _exact(answer.value[1]),
    "local": lambda answer: Fraction(sum(kind["node"] for kind in _near(answer).values())),
    "local maps": lambda answer: Fraction(_near(answer)[KINDS[0]]["node"]),
    "local reduces": lambda answer: Fraction(_near(answer)[KINDS[1]]["node"]),
    "placed": lambda answer: Fraction(answer.decision.placed),
    "most load": lambda answer: _exact(_loads(answer).max()),
    "least load": lambda answer: _exact(_loads(answer).min()),
    "dominated": lambda answer: Fraction(_dominated(answer)),
    "tasks": lambda answer: Fraction(len(answer.problem.tasks)),
    "servers": lambda answer: Fraction(len(answer.problem.instance.cluster)),
    "loads": lambda answer: _exact(answer.problem.initial_load.sum()),
    "highest load": lambda answer: _exact(answer.problem.initial_load.max()),
    "l*": lambda answer: _exact(answer.problem.average_bound()),
    "l**": lambda answer: _exact(answer.problem.counting_bound()),
}


def _near(answer: Answer) -> Mapping[str, Mapping[str, int]]:
    return locality_counts(answer.problem, answer.decision)


def _maps_here(done: Simulation) -> Fraction:
    """The share of maps that ran on their node."""
    jobs = done.jobs
    return Fraction(int(jobs["node_local"].sum()), int(jobs["maps"].sum()))


#: Numbers of a run, in seconds or as shares.
OF_RUNS: Mapping[str, Callable[[Simulation], Any]] = {
    "elapsed": lambda done: done.raise_if_unfinished().makespan,
    "mean job time": lambda done: float(done.raise_if_unfinished().job_times.mean()) / MICRO,
    "local maps": _maps_here,
    "unfinished": lambda done: Fraction(bool(done.unfinished)),
}
