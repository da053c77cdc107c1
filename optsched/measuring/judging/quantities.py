"""The quantities that checks measure: of a decision on a snapshot, and of a run over time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from optsched.core.errors import HeuristicFailed, OutOfTime
from optsched.core.instance import KINDS, MAP, REDUCE
from optsched.core.placement import MICRO
from optsched.core.results import Number
from optsched.heuristics import run
from optsched.measuring.studies.choices import parted
from optsched.problems.locality_counts import locality_counts
from optsched.routes import bounds, frontier, solve
from optsched.simulating import Simulation

__all__ = ["OF_RUNS", "OF_SNAPSHOTS", "Answer"]


class Answer:
    """A problem and a decision on it: the optimum, what a heuristic decides, or one that is written out."""

    def __init__(self, problem: Any, source: str | None, seed: int = 0) -> None:
        self.problem, self.source, self.seed = problem, source or "", seed

    @cached_property
    def decision(self) -> Any:
        """The decision.

        Raises
        ------
        HeuristicFailed
            If there is none.
        """
        if self.source == "optimum":
            return solve(self.problem).decision
        if "@" in self.source:
            return self._decision()
        name, values = parted(self.source, "measure")
        given: dict[str, Any] = {"seed": self.seed, **values}
        done = run(self.problem, name, **given)
        if done.placement is None:
            raise HeuristicFailed(f"{self.source} on {self.problem}: {done.error}")
        return done.placement

    def _decision(self) -> Any:
        """The placement that a text such as `M1@D3 M2@D2` gives."""
        pairs = (one.partition("@") for one in self.source.split())
        return run(self.problem, {task: node for task, _, node in pairs}).raise_if_failed()

    @cached_property
    def value(self) -> tuple[Number, ...]:
        """Its objective; HeuristicFailed if it is not feasible."""
        if broken := self.problem.violations(self.decision):
            raise HeuristicFailed(f"{self.source} on {self.problem}: {broken[0]}")
        return tuple(self.problem.objective(self.decision))


def _exact(number: Any) -> Any:
    return Fraction(int(number)) if isinstance(number, int | np.integer) else number


def _loads(answer: Answer) -> Any:
    """The load with which each server ends, in `latency`."""
    local, remote = answer.problem.counts(answer.decision)
    return answer.problem.initial_load + answer.problem.w_loc * local + answer.problem.w_rem * remote


@lru_cache(maxsize=1)  # the measures of one draw ask for the same one
def _frontier(problem: Any) -> tuple[tuple[Fraction, ...], ...]:
    """The Pareto-optimal points of a problem."""
    found = frontier(problem)
    if not found.complete:
        raise OutOfTime(f"the frontier of {problem} was not proved within the time; give more seconds")
    return tuple(tuple(map(Fraction, point.objective)) for point in found.points)


def _dominated(answer: Answer) -> int:
    """1 where a point of the frontier is better, in both components together."""
    value = tuple(map(Fraction, answer.value))
    points = _frontier(answer.problem)
    return int(any(all(a <= b for a, b in zip(point, value, strict=True)) and point != value for point in points))


def _least(answer: Answer, component: int) -> Fraction:
    """The least of one component among decisions that are no worse in the other one."""
    held = Fraction(answer.value[1 - component])
    return min(point[component] for point in _frontier(answer.problem) if point[1 - component] <= held)


#: Numbers of a decision, and, without a decision, of the problem.
OF_SNAPSHOTS: Mapping[str, Callable[[Answer], Any]] = {
    "first": lambda answer: _exact(answer.value[0]),
    "second": lambda answer: _exact(answer.value[1]),
    "local": lambda answer: Fraction(sum(kind["node"] for kind in _near(answer).values())),
    "local maps": lambda answer: Fraction(_near(answer)[KINDS[0]]["node"]),
    "local reduces": lambda answer: Fraction(_near(answer)[KINDS[1]]["node"]),
    "off-rack": lambda answer: Fraction(sum(kind["off_rack"] for kind in _near(answer).values())),
    "placed": lambda answer: Fraction(answer.decision.placed),
    "most load": lambda answer: _exact(_loads(answer).max()),
    "least load": lambda answer: _exact(_loads(answer).min()),
    "dominated": lambda answer: Fraction(_dominated(answer)),
    "least first": lambda answer: _least(answer, 0),
    "least second": lambda answer: _least(answer, 1),
    "fairest": lambda answer: min(point[1] for point in _frontier(answer.problem)),
    "distance before": lambda answer: answer.problem.groups.distance(None, False),
    "tasks": lambda answer: Fraction(len(answer.problem.tasks)),
    "idle slots": lambda answer: Fraction(int(answer.problem.instance.state.idle_slots.sum())),
    "servers": lambda answer: Fraction(len(answer.problem.instance.cluster)),
    "loads": lambda answer: _exact(answer.problem.initial_load.sum()),
    "highest load": lambda answer: _exact(answer.problem.initial_load.max()),
    "least replicas": lambda answer: _replicas(answer, min),
    "most replicas": lambda answer: _replicas(answer, max),
    "datacenters": lambda answer: Fraction(len(set(answer.problem.instance.cluster.datacenter.tolist()))),
    "job input GB": lambda answer: _of_jobs(answer)[0],
    "job shuffle GB": lambda answer: _of_jobs(answer)[1],
    "map MB": lambda answer: _megabytes(answer, False),
    "reduce MB": lambda answer: _megabytes(answer, True),
    "l*": lambda answer: _exact(answer.problem.average_bound()),
    "l**": lambda answer: _exact(answer.problem.counting_bound()),
    "l_flow": lambda answer: _exact(next(one.value for one in bounds(answer.problem) if one.name == "l_flow")),
}


def _megabytes(answer: Answer, sent: bool) -> Fraction:
    """MB that all maps read, or that they send to reduces; a job without a filter ratio sends nothing."""
    workload = answer.problem.instance.workload
    maps = workload.kind == MAP
    each = workload.size * (np.nan_to_num(workload.filter_ratio)[workload.job] if sent else 1)
    return sum(map(Fraction, each[maps].tolist()), Fraction(0))


def _of_jobs(answer: Answer) -> tuple[Any, Any]:
    """GB that the maps of each job read, and that they send to its reduces by the shuffle."""
    workload = answer.problem.instance.workload
    shuffle, maps, jobs = workload.shuffle, workload.kind == MAP, len(workload.job_ids)
    read = np.bincount(workload.job[maps], workload.size[maps], jobs)
    return read / 1000, np.bincount(workload.job[shuffle.map], shuffle.size, jobs) / 1000


def _replicas(answer: Answer, which: Callable[[Iterable[int]], int]) -> Fraction:
    """The least or the largest number of replicas of a map's block; 0 if there are no maps."""
    workload = answer.problem.instance.workload
    return Fraction(which([*workload.replicas.lengths[workload.kind == MAP].tolist()] or [0]))


def _near(answer: Answer) -> Mapping[str, Mapping[str, int]]:
    return locality_counts(answer.problem, answer.decision)


def _maps_here(done: Simulation) -> Fraction:
    """The share of maps that ran on their node."""
    jobs = done.jobs
    return Fraction(int(jobs["node_local"].sum()), int(jobs["maps"].sum()))


def _times(done: Simulation, kind: int) -> Any:
    """Seconds that each task of a kind took."""
    took = (done.raise_if_unfinished().end - done.schedule.starts) / MICRO
    return took[done.instance.workload.kind == kind]


#: Numbers of a run, in seconds or as shares; `times` of all jobs or tasks.
OF_RUNS: Mapping[str, Callable[[Simulation], Any]] = {
    "elapsed": lambda done: done.raise_if_unfinished().makespan,
    "mean job time": lambda done: float(done.raise_if_unfinished().job_times.mean()) / MICRO,
    "most job time": lambda done: float(done.raise_if_unfinished().job_times.max()) / MICRO,
    "job times": lambda done: done.raise_if_unfinished().job_times / MICRO,
    "map times": lambda done: _times(done, MAP),
    "reduce times": lambda done: _times(done, REDUCE),
    "maps": lambda done: int(done.jobs["maps"].sum()),
    "reduces": lambda done: int(done.jobs["reduces"].sum()),
    "utilisation": lambda done: float(done.nodes["map_busy"].sum() / done.nodes["map_slots"].sum() / done.makespan),
    "local maps": _maps_here,
    "unfinished": lambda done: Fraction(bool(done.unfinished)),
}
