"""Groups with weights: their shares of the occupied slots, and the distance from fair shares (Guo et al. 2012, III.D).

The problems make costs or an objective of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from optsched.core.decimals import decimal
from optsched.core.errors import Fault
from optsched.core.instance import MAP, PENDING, RUNNING, Instance, Ints

__all__ = ["Groups", "missing_group_of_tasks", "missing_groups"]


def missing_groups(instance: Instance, problem: str, positive: str | None = None) -> Iterator[Fault]:
    """The faults of an instance that lacks what weighs its groups: one fault a record.

    `problem` is the name of who asks. `positive` says who wants every weight to be positive, and why; None if nobody.
    """
    workload = instance.workload
    if not len(workload.group_ids):
        yield Fault("groups", f"{problem} needs groups with weights")
        return
    for group in np.flatnonzero(np.isnan(workload.group_weight)).tolist():
        yield Fault(f"groups[{group}].weight", f"{problem} needs the group's share")
    if not np.nansum(workload.group_weight) > 0:
        yield Fault("groups.weight", "the weights must have a positive sum")
    elif positive is not None:
        for group in np.flatnonzero(workload.group_weight == 0).tolist():
            yield Fault(f"groups[{group}].weight", f"{positive}: give a positive share")
    yield from missing_group_of_tasks(instance, problem)


def missing_group_of_tasks(instance: Instance, problem: str, running: bool = True) -> Iterator[Fault]:
    """Pending maps without a group, and running ones too where `running` says that these count."""
    workload, status = instance.workload, instance.state.status
    active = (workload.kind == MAP) & ((status == PENDING) | (running & (status == RUNNING)))
    for task in np.flatnonzero(active & (workload.group < 0)).tolist():
        job = int(workload.job[task])
        place = f"tasks[{task}].job" if job < 0 else f"jobs[{job}].group"
        yield Fault(place, f'{problem} needs a group for task "{workload.task_ids[task]}"')


@dataclass(frozen=True)
class Groups:
    """The groups of an instance, all of them weighed.

    Attributes
    ----------
    ids
        Of the groups.
    weights
        Share that is due to each, w: fractions that sum to 1 (Guo et al. 2012, equation 8). Weights are the decimals
        that they are written as, so that 0.2, 0.3, 0.5 are the shares of 2, 3, 5.
    running
        Running maps of each, rt.
    """

    ids: list[str]
    weights: list[Fraction]
    running: list[int]

    @classmethod
    def of(cls, instance: Instance) -> Groups:
        """The groups of an instance that lacks nothing. Running maps are those it counts, and those listed."""
        workload, state = instance.workload, instance.state
        given = [decimal(weight) for weight in workload.group_weight.tolist()]
        total = sum(given)
        running = (state.status == RUNNING) & (workload.kind == MAP)
        listed = np.bincount(workload.group[running], minlength=len(given))
        counts = np.maximum(state.group_running_tasks, 0) + listed
        return cls(workload.group_ids.tolist(), [weight / total for weight in given], counts.tolist())

    def shares(self, placed: Sequence[int] | Ints | None = None) -> list[Fraction]:
        """Share of each group in all running maps, once `placed` more of each run; 0 where no map runs (eq. 9)."""
        more = [0] * len(self.running) if placed is None else [int(number) for number in placed]
        counts = [busy + extra for busy, extra in zip(self.running, more, strict=True)]
        total = sum(counts)
        return [Fraction(count, total) if total else Fraction(0) for count in counts]

    def distance(self, placed: Sequence[int] | Ints | None = None, relative: bool = False) -> Fraction:
        """Mean over the groups of |s - w|, once `placed` more of each run (Guo et al. 2012, equations 14 and 15).

        `relative` divides each group's distance by its weight, the other reading of equation 14.

        Examples
        --------
        >>> groups = Groups(["g", "h"], [Fraction(1, 4), Fraction(3, 4)], [1, 1])
        >>> groups.distance(), groups.distance([0, 2]), groups.distance(relative=True)
        (Fraction(1, 4), Fraction(0, 1), Fraction(2, 3))
        """
        distances = [
            abs(share - weight) / (weight if relative else 1)
            for share, weight in zip(self.shares(placed), self.weights, strict=True)
        ]
        return sum(distances, Fraction(0)) / len(distances)
