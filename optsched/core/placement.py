"""The decisions that problems ask for: for each task the node it runs on, or none; for each arc its flow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from optsched.core.brief import brief, counted
from optsched.core.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["NONE", "NetworkFlow", "Placement", "frozen_numbers", "noun_of"]

#: The node index that stands for "runs nowhere".
NONE = -1


def frozen_numbers(numbers: npt.ArrayLike, what: str) -> npt.NDArray[np.int64]:
    """A copy of a row of whole numbers that cannot be changed; ValueError where it is none."""
    given = np.asarray(numbers)
    if given.size and given.dtype.kind not in "iu":
        raise ValueError(f"{what}: whole numbers, not {given.dtype}")
    if given.ndim != 1:
        raise ValueError(f"{what}: one dimension, not {given.ndim}")
    frozen = np.array(given, dtype=np.int64, copy=True)
    frozen.setflags(write=False)
    return frozen


@dataclass(frozen=True, eq=False, slots=True)
class Placement:
    """The index of the node that each task of an instance runs on, in file order, or `NONE` (-1): int64, shape
    (tasks,).

    It is copied and made read-only. Whether the indices exist and the placement is feasible is for a problem to say
    (`Problem.violations`), not for this class.

    >>> placement = Placement.of([0, None, 2])
    >>> placement.nodes.tolist(), placement.placed
    ([0, -1, 2], 2)
    """

    #: Its noun in messages.
    noun: ClassVar = "placement"

    nodes: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", frozen_numbers(self.nodes, "a placement is one node index a task"))

    @classmethod
    def of(cls, nodes: Iterable[int | None]) -> Placement:
        """Build from node indices, None for a task that runs nowhere."""
        return cls(np.array([NONE if node is None else node for node in nodes]))

    @classmethod
    def empty(cls, tasks: int) -> Placement:
        """The placement of `tasks` tasks in which none runs."""
        return cls(np.full(tasks, NONE, dtype=np.int64))

    @property
    def placed(self) -> int:
        """How many tasks run somewhere."""
        return int(np.count_nonzero(self.nodes != NONE))

    def to_dict(self, of: Any, rows: npt.NDArray[np.int64] | None = None) -> dict[str, str | None]:
        """The node of each task by their ids; None: the task runs nowhere.

        There is an entry for every task of an instance, for every task to place of a problem, or for those at the
        positions `rows`. UsageError if `of` has another number of tasks, or lacks a node.

        >>> from optsched.core.instance import Cluster, Instance, Workload
        >>> Placement.of([1, None]).to_dict(Instance(Cluster(["a", "b"]), Workload(["t1", "t2"])))
        {'t1': 'b', 't2': None}
        """
        instance = noun_of(of)
        placed, tasks = self.on(instance), instance.workload.task_ids
        if rows is None:
            rows = np.arange(len(tasks)) if of is instance else of.tasks
        names = [*instance.cluster.node_ids.tolist(), None]  # -1 picks None
        return {task: names[node] for task, node in zip(tasks[rows].tolist(), placed[rows].tolist(), strict=True)}

    def on(self, instance: Any) -> npt.NDArray[np.int64]:
        """The nodes of an instance's tasks; UsageError if it has another number of tasks, or lacks a node."""
        nodes = len(instance.cluster.node_ids)
        if len(instance.workload.task_ids) != len(self) or not np.all((self.nodes >= NONE) & (self.nodes < nodes)):
            raise UsageError(f"the placement of {counted(len(self), 'task')} is none on {instance!r}")
        return self.nodes

    def frame(self, of: Any) -> pd.DataFrame:
        """The same as a pandas frame: columns `task` and `node`."""
        import pandas as pd

        return pd.DataFrame(list(self.to_dict(of).items()), columns=["task", "node"], dtype=object)

    def with_tasks(self, tasks: Sequence[int] | npt.NDArray[np.int64], nodes: npt.ArrayLike) -> Placement:
        """A copy in which `tasks` run on `nodes`."""
        changed = self.nodes.copy()
        changed[np.asarray(tasks, dtype=np.int64)] = nodes
        return Placement(changed)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Placement) and np.array_equal(self.nodes, other.nodes)

    def __repr__(self) -> str:
        return brief(f"Placement: {self.placed} of {counted(len(self), 'task')} placed")

    def __hash__(self) -> int:
        return hash(self.nodes.tobytes())

    def __len__(self) -> int:
        return len(self.nodes)


@dataclass(frozen=True, eq=False, slots=True)
class NetworkFlow:
    """The units that flow on each arc of a flow network, in its order: int64, shape (arcs,).

    They are copied and made read-only. Whether the flow keeps the bounds of the arcs and what enters the nodes is for a
    problem to say (`MinCostFlow.violations`), not for this class.

    >>> NetworkFlow([2, 0]).units.tolist()
    [2, 0]
    """

    #: Its noun in messages.
    noun: ClassVar = "flow"

    units: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        object.__setattr__(self, "units", frozen_numbers(self.units, "a flow is one number an arc"))

    def to_dict(self, of: Any) -> dict[str, int]:
        """The units on each arc by its id; `of` is the network, or a problem on it.

        UsageError if it has another number of arcs.
        """
        network = noun_of(of)
        return dict(zip(network.arc_ids.tolist(), self.on(network).tolist(), strict=True))

    def on(self, network: Any) -> npt.NDArray[np.int64]:
        """The units on a network's arcs; UsageError if it has another number of arcs."""
        if len(network.arc_ids) != len(self):
            raise UsageError(f"the flow on {counted(len(self), 'arc')} is none on {network!r}")
        return self.units

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NetworkFlow) and np.array_equal(self.units, other.units)

    def __repr__(self) -> str:
        return brief(f"NetworkFlow: units on {np.count_nonzero(self.units)} of {counted(len(self), 'arc')}")

    def __hash__(self) -> int:
        return hash(self.units.tobytes())

    def __len__(self) -> int:
        return len(self.units)


def noun_of(of: Any) -> Any:
    """The instance or network that is given, or that a problem is on."""
    return getattr(of, "instance", of)
