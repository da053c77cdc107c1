"""What a policy is driven on over time, where no problem is posed: all tasks that wait, and slots of both kinds."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from optsched.brief import brief
from optsched.instance import KINDS, MAP, REDUCE, Instance, Ints
from optsched.problems.base import pending_of

__all__ = ["Stage"]


class Stage:
    """The pending tasks of an instance and its idle slots; it has what drivers and policies ask of a problem.

    Parameters
    ----------
    instance
        What it is on.
    **parameters
        What policies look for in the parameters of a problem: with `distinct=True` no two reduces of a job run on one
        node at once.

    Examples
    --------
    >>> from optsched.instance import Cluster, Workload
    >>> stage = Stage(Instance(Cluster(["a"], slots=[2]), Workload(["t1", "t2"], kind=[0, 1])))
    >>> stage.tasks.tolist(), {kind: slots.tolist() for kind, slots in stage.offered.items()}
    ([0, 1], {'map': [2], 'reduce': [1]})
    """

    name: ClassVar = "simulate"
    kinds: ClassVar = (MAP, REDUCE)

    def __init__(self, instance: Instance, /, **parameters: Any) -> None:
        self.instance = instance
        self.parameters: Mapping[str, Any] = MappingProxyType(parameters)
        self.tasks: Ints = pending_of(instance, MAP, REDUCE)
        self.tasks.setflags(write=False)
        self.replicas = instance.replicas.take(self.tasks)

    @property
    def offered(self) -> Mapping[str, Ints]:
        """Idle slots of each node, by kind of task; shape (nodes,)."""
        state = self.instance.state
        return dict(zip(KINDS, (state.idle_slots, state.idle_reduce_slots), strict=True))

    @property
    def due(self) -> int:
        """How many tasks are to run."""
        return len(self.tasks)

    def __repr__(self) -> str:
        return brief(f"Stage on {self.instance}")
