"""`lsap` over several waves at once, with all of them known beforehand: what a run of waves is measured against.

All tasks are placed in a given number of waves, each with its own idle slots. Every wave but the last is full, as
schedulers that leave no slot idle make it. Without that rule waiting would make every task local (Guo et al. 2012,
note 3). It changes no cost to which of the full waves a slot belongs. So a node has two capacities only: its slots in
the full waves, and its slots in the last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from optsched.instance import Cluster, Instance, Ints, Ragged, State
from optsched.placement import NONE, Placement
from optsched.problems.lsap import Lsap
from optsched.results import Violation

__all__ = ["LsapWaves"]


class LsapWaves(Lsap):
    """Place all tasks of an `lsap` problem in the given waves at least total locality cost.

    The instance has each node twice: as it is, with its idle slots of all full waves, and as `<id> (last wave)`. A
    surcharge on the latter makes the optimum fill the former; the value takes it off again.

    Parameters
    ----------
    problem
        The problem of the first wave.
    capacities
        int64 idle slots, shape (nodes,), for each wave; together they hold all tasks, and without the last they do
        not.

    Raises
    ------
    ValueError
        If the waves hold too few tasks, or one of them is not needed.

    Examples
    --------
    >>> from optsched.instance import Workload
    >>> workload = Workload(["t1", "t2"], replicas=Ragged.from_rows([[0], [0]]))
    >>> whole = LsapWaves(Lsap(Instance(Cluster(["a"]), workload)), [np.array([1]), np.array([1])])
    >>> whole.evaluate(whole.placed([Placement.of([0, None]), Placement.of([None, 0])]))
    (0,)
    """

    def __init__(self, problem: Lsap, capacities: Sequence[Ints]) -> None:
        full = np.sum(capacities[:-1], axis=0, dtype=np.int64) + np.zeros_like(problem.capacity)
        last = np.asarray(capacities[-1], dtype=np.int64)
        tasks = len(problem.tasks)
        if not full.sum() < tasks <= full.sum() + last.sum():
            raise ValueError(f"{len(capacities)} waves of {full.sum() + last.sum()} slots do not fit {tasks} tasks")
        self._nodes = len(full)
        self._full = int(full.sum())
        super().__init__(_doubled(problem.instance, full, last), **dict(problem.parameters))

    def prepare_costs(self) -> None:
        super().prepare_costs()
        self.count = len(self.tasks)
        self._extra = self.levels[2] * self.count + 1
        self.surcharge = np.repeat(np.array([0, self._extra], dtype=np.int64), self._nodes)

    def units(self, placement: Placement) -> int:
        return super().units(placement) - self._extra * (self.count - self._full)

    def price_bound(self, count_price: int, node_prices: Ints, pool_prices: Ints) -> int:
        return super().price_bound(count_price, node_prices, pool_prices) - self._extra * (self.count - self._full)

    def constraint_violations(self, placement: Placement) -> Iterator[Violation]:
        yield from super().constraint_violations(placement)
        nodes = self.nodes_of(placement)
        early = int(np.count_nonzero((nodes != NONE) & (nodes < self._nodes)))
        if early < self._full:
            yield Violation("full-waves", (), self._full - early)

    def placed(self, waves: Sequence[Placement]) -> Placement:
        """The placements of the waves as one placement of this problem."""
        nodes = np.full(len(self.instance.workload), NONE, dtype=np.int64)
        for index, wave in enumerate(waves):
            ran = wave.nodes != NONE
            nodes[ran] = wave.nodes[ran] + (self._nodes if index == len(waves) - 1 else 0)
        return Placement(nodes)


def _doubled(instance: Instance, full: Ints, last: Ints) -> Instance:
    """The instance with each node once for the full waves and once for the last; slots, racks and replicas follow."""
    cluster, workload, state = instance.cluster, instance.workload, instance.state
    nodes = len(cluster)
    names = cluster.node_ids.tolist()
    suffix = " (last wave)"
    while not set(names).isdisjoint(f"{name}{suffix}" for name in names):
        suffix += "'"
    slots = np.concatenate([full, last])
    twice = Cluster(
        np.array([*names, *(f"{name}{suffix}" for name in names)], dtype=np.str_),
        rack=np.tile(cluster.rack, 2),
        rack_ids=cluster.rack_ids,
        slots=slots,
    )
    rows = [np.concatenate([row, row + nodes]).tolist() for row in instance.replicas]
    bare = replace(workload, replicas=Ragged.from_rows(rows), shuffle=None, pairs=None, rate_in_by_type=None)
    return Instance(
        twice,
        bare,
        State.initial(twice, bare, status=state.status, node=state.node, start=state.start),
        name=instance.name,
        source=instance.source,
    )
