"""Waves: where the idle slots do not hold all tasks, one round of scheduling after another until all tasks ran.

Over time that is a run in which every task takes a unit of time, and nothing starts before all that runs has ended: a
barrier. Each wave is a snapshot of its own, posed and judged like any other. `optsched.gaps` judges the waves as a
whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from optsched.brief import brief
from optsched.errors import UsageError, expect, nearest
from optsched.heuristics import AnyHeuristic, HeuristicRun, run
from optsched.instance import FINISHED, MAP, REDUCE, Instance, Ints
from optsched.placement import NONE
from optsched.problems import Problem, problem
from optsched.problems.base import HOW_TO_LOAD
from optsched.running.course import Course
from optsched.running.service import Ends, Service
from optsched.schedule import MICRO

__all__ = ["IDLE", "Wave", "waves"]

#: What the next wave's idle slots are.
IDLE = ("same", "fresh")


@dataclass(frozen=True)
class Wave:
    """One wave.

    Attributes
    ----------
    index
        0 for the first.
    snapshot, problem
        The instance as it is before the wave, and the problem posed on it.
    run
        What the heuristic did.
    """

    index: int
    snapshot: Instance
    problem: Problem
    run: HeuristicRun

    def __repr__(self) -> str:
        return brief(f"Wave {self.index}: {self.problem!r}, {self.run!r}")


def waves(
    name: str,
    instance: Instance,
    heuristic: AnyHeuristic,
    seed: int = 0,
    *,
    idle: str = "same",
    problem_parameters: Mapping[str, Any] | None = None,
    time_limit: float | None = None,
    **parameters: Any,
) -> Iterator[Wave]:
    """Run a heuristic wave after wave, each on what the waves before have left.

    What a wave has placed is finished before the next one. The waves end when no task waits. They also end with a wave
    that places nothing, that fails, or whose placement violates more than `cardinality`: whatever would follow from it
    means nothing.

    Parameters
    ----------
    name, problem_parameters
        The problem to pose on each snapshot, and its parameters.
    instance
        The first snapshot.
    heuristic, parameters
        As for `optsched.heuristics.run`.
    seed
        The first wave runs with it as given; later ones with (seed, wave).
    idle
        `same`: the slots that the wave has used are idle again. `fresh`: as many idle slots are drawn from all slots of
        the cluster, as in Guo et al.'s simulations (Guo et al. 2012, note 3), of each kind of task that is placed.

    time_limit
        Seconds for the run of each wave.

    Yields
    ------
    Wave

    Raises
    ------
    UsageError
        As `run`, and for an unknown `idle`.

    Examples
    --------
    >>> from optsched.instance import Cluster, Ragged, Workload
    >>> instance = Instance(Cluster(["a"]), Workload(["t1", "t2"], replicas=Ragged.from_rows([[], [0]])))
    >>> for wave in waves("lsap", instance, "lsap-sched"):
    ...     print(wave.run.placement.nodes.tolist(), wave.problem.evaluate(wave.run.placement))
    [-1, 0] (0,)
    [0, -1] (1,)
    """
    expect(instance, Instance, "waves take an instance", HOW_TO_LOAD)
    if idle not in IDLE:
        raise UsageError(f"idle={idle!r}; {nearest(str(idle), IDLE)}")
    drawn = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2,)))  # 0 and 1 are a run's own streams
    snapshot, clock = instance, _UnitTimes(len(instance.workload))
    while True:
        index = clock.now // MICRO
        posed = problem(name, snapshot, **(problem_parameters or {}))
        if not len(posed.tasks):
            return
        result = run(posed, heuristic, (seed, index) if index else seed, time_limit=time_limit, **parameters)
        yield Wave(index, snapshot, posed, result)
        placement = result.placement
        if placement is None or not placement.placed:
            return
        if any(violation.constraint != "cardinality" for violation in posed.violations(placement)):
            return
        clock.pass_wave(placement.nodes)
        snapshot = _after(snapshot, placement.nodes, posed.kinds, drawn if idle == "fresh" else None)


class _Unit(Service):
    """Each task takes a second, of nobody's clock but this one."""

    def started(self, task: int, node: int, now: int) -> Ends:
        return ((task, now + MICRO),)


class _UnitTimes(Course):
    """A run over time with a barrier: each wave starts once all tasks of the one before have ended."""

    def __init__(self, tasks: int) -> None:
        super().__init__(tasks, _Unit())

    def pass_wave(self, nodes: Ints) -> None:
        """Start what a wave has placed, and let it end."""
        for task in np.flatnonzero(nodes != NONE).tolist():
            self.starts(task, int(nodes[task]))
        while self.running:
            self.step()


def _after(snapshot: Instance, nodes: Ints, kinds: tuple[int, ...], rng: np.random.Generator | None) -> Instance:
    """The snapshot once the placed tasks have finished where they ran; their slots are idle again.

    Where there is a generator, as many idle slots as before are drawn afresh, of each kind that is placed.
    """
    state, ran = snapshot.state, nodes != NONE
    idle: dict[str, Any] = {}
    for kind, slots, free in ((MAP, "slots", "idle_slots"), (REDUCE, "reduce_slots", "idle_reduce_slots")):
        if kind in kinds and rng is not None:
            many = int(getattr(state, free).sum())
            idle[free] = rng.multivariate_hypergeometric(getattr(snapshot.cluster, slots), many)
    status, node = np.where(ran, FINISHED, state.status), np.where(ran, nodes, state.node)
    return snapshot.with_state(replace(state, status=status, node=node, **idle))
