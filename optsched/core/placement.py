"""The decisions that problems ask for: placements, schedules, and flows on networks.

A `Placement` gives each task its node, or none; a `Schedule` also its start. A `NetworkFlow` gives each arc its units.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from optsched.core.arrays import LARGEST, Floats, Ints
from optsched.core.brief import brief, counted
from optsched.core.decimals import rounded_units
from optsched.core.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "MICRO",
    "NONE",
    "NetworkFlow",
    "Placement",
    "Schedule",
    "frozen_numbers",
    "microseconds",
    "noun_of",
    "seconds",
]

#: The node index that stands for "runs nowhere".
NONE = -1


def frozen_numbers(numbers: npt.ArrayLike, what: str) -> npt.NDArray[np.int64]:
    """A copy of a row of whole numbers that cannot be changed; ValueError if it is not such a row."""
    given = np.asarray(numbers)
    if given.size and given.dtype.kind not in "iu":
        raise ValueError(f"{what}: whole numbers, not {given.dtype}")
    if given.ndim != 1:
        raise ValueError(f"{what}: one dimension, not {given.ndim}")
    frozen = np.array(given, dtype=np.int64, copy=True)
    frozen.setflags(write=False)
    return frozen


class _Rows:
    """Base of decisions: as long as their first column; equal if all columns are, and they are of the same kind."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def _columns(self) -> list[npt.NDArray[np.int64]]:
        return [getattr(self, column.name) for column in fields(self)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Rows) or not (isinstance(other, type(self)) or isinstance(self, type(other))):
            return False
        return all(map(np.array_equal, self._columns(), other._columns()))

    def __hash__(self) -> int:
        return hash(tuple(column.tobytes() for column in self._columns()))

    def __len__(self) -> int:
        return len(self._columns()[0])


@dataclass(frozen=True, eq=False, slots=True)
class Placement(_Rows):
    """The index of the node that each task of an instance runs on, in file order, or `NONE` (-1): int64, shape
    (tasks,).

    It is copied and made read-only. A problem checks whether the indices exist and the placement is feasible
    (`Problem.violations`); this class does not.

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

    def __repr__(self) -> str:
        return brief(f"Placement: {self.placed} of {counted(len(self), 'task')} placed")


@dataclass(frozen=True, eq=False, slots=True)
class NetworkFlow(_Rows):
    """The units that flow on each arc of a flow network, in its order: int64, shape (arcs,).

    They are copied and made read-only. A problem checks bounds and conservation (`MinCostFlow.violations`); this class
    does not.

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

    def __repr__(self) -> str:
        return brief(f"NetworkFlow: units on {np.count_nonzero(self.units)} of {counted(len(self), 'arc')}")


def noun_of(of: Any) -> Any:
    """The given instance or network, or that of the given problem."""
    return getattr(of, "instance", of)


#: Microseconds in a second: times of schedules are whole numbers of them.
MICRO = 10**6


def microseconds(times: Floats | float) -> Ints:
    """Finite times in seconds as whole microseconds, each rounded once (half to even) as a decimal; same shape.

    Times past 2^53 microseconds become 2^60, which every schedule refuses.

    >>> microseconds(np.array([0.1, 12.0])).tolist()
    [100000, 12000000]
    """
    return rounded_units(np.asarray(times, dtype=np.float64), MICRO)


def seconds(units: int) -> int | Fraction:
    """Whole microseconds as exact seconds: an integer if possible, else a fraction.

    >>> seconds(2_500_000), seconds(3_000_000)
    (Fraction(5, 2), 3)
    """
    value = Fraction(units, MICRO)
    return value.numerator if value.denominator == 1 else value


@dataclass(frozen=True, eq=False, slots=True)
class Schedule(_Rows):
    """The node (index, or `NONE`: -1) and the start of each task of an instance, in file order; int64, shape (tasks,)
    each.

    Starts are microseconds on the instance's clock (that of its `time` and of arrivals); the start of a task that does
    not run is 0. Both columns are copied and made read-only. A problem checks whether nodes exist and slots are free
    (`ScheduleProblem.violations`); this class does not. ValueError if they have another shape or type, or a start is
    past 2^53 microseconds.

    >>> schedule = Schedule.of([(0, 0), None, (2, 1_500_000)])
    >>> schedule.nodes.tolist(), schedule.starts.tolist(), schedule.placed
    ([0, -1, 2], [0, 0, 1500000], 2)
    """

    #: Its noun in messages.
    noun: ClassVar = "schedule"

    nodes: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        nodes = frozen_numbers(self.nodes, "a schedule has one node index a task")
        starts = frozen_numbers(self.starts, "a schedule has one start in microseconds a task")
        if len(starts) != len(nodes):
            raise ValueError(f"a schedule has one start a task: {len(starts)} for {counted(len(nodes), 'task')}")
        kept = np.where(nodes == NONE, 0, starts)
        if kept.size and (kept.max() > LARGEST or kept.min() < -LARGEST):
            raise ValueError("a start is at most 2^53 microseconds")
        kept.setflags(write=False)
        object.__setattr__(self, "nodes", nodes)
        object.__setattr__(self, "starts", kept)

    @classmethod
    def of(cls, entries: Iterable[tuple[int, int] | None]) -> Schedule:
        """Build from a pair of node index and start for each task, None for one that does not run."""
        pairs = [(NONE, 0) if entry is None else entry for entry in entries]
        return cls(np.array([node for node, _ in pairs], np.int64), np.array([start for _, start in pairs], np.int64))

    @classmethod
    def empty(cls, tasks: int) -> Schedule:
        """The schedule of `tasks` tasks in which none runs."""
        return cls(np.full(tasks, NONE, dtype=np.int64), np.zeros(tasks, dtype=np.int64))

    @property
    def placed(self) -> int:
        """How many tasks run."""
        return int(np.count_nonzero(self.nodes != NONE))

    @property
    def placement(self) -> Placement:
        """Where the tasks run, without their starts."""
        return Placement(self.nodes)

    def to_dict(self, of: Any) -> dict[str, dict[str, Any] | None]:
        """Node and start (microseconds) of each task by their ids; None: the task does not run.

        There is an entry for every task of an instance, or for every task to run of a problem. UsageError if `of` has
        another number of tasks, or lacks a node.

        >>> from optsched.core.instance import Cluster, Instance, Workload
        >>> Schedule.of([(1, 0), None]).to_dict(Instance(Cluster(["a", "b"]), Workload(["t1", "t2"])))
        {'t1': {'node': 'b', 'start': 0}, 't2': None}
        """
        instance = noun_of(of)
        starts = self.starts
        rows = range(len(self)) if of is instance else of.tasks.tolist()
        names = self.placement.to_dict(of)
        return {
            task: None if node is None else {"node": node, "start": int(starts[row])}
            for row, (task, node) in zip(rows, names.items(), strict=True)
        }

    def on(self, instance: Any) -> npt.NDArray[np.int64]:
        """The nodes of an instance's tasks; UsageError if it has another number of tasks, or lacks a node."""
        return self.placement.on(instance)

    def frame(self, of: Any) -> pd.DataFrame:
        """The same as a pandas frame: columns `task`, `node` and `start` (seconds; missing: it does not run)."""
        import pandas as pd

        rows = [
            (task, None, None) if entry is None else (task, entry["node"], entry["start"] / MICRO)
            for task, entry in self.to_dict(of).items()
        ]
        return pd.DataFrame(rows, columns=["task", "node", "start"]).astype({"start": np.float64})

    def with_tasks(self, tasks: npt.ArrayLike, nodes: npt.ArrayLike, starts: npt.ArrayLike) -> Schedule:
        """A copy in which `tasks` run on `nodes` from `starts` on."""
        changed = self.nodes.copy(), self.starts.copy()
        rows = np.asarray(tasks, dtype=np.int64)
        changed[0][rows], changed[1][rows] = nodes, starts
        return Schedule(*changed)

    def __repr__(self) -> str:
        return brief(f"Schedule: {self.placed} of {counted(len(self), 'task')} run")
