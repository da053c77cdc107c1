"""A decision over time: for each task the node it runs on and when it starts, or none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from optsched.core.arrays import LARGEST, Floats, Ints
from optsched.core.brief import brief, counted
from optsched.core.decimals import rounded_units
from optsched.core.placement import NONE, Placement, frozen_numbers, noun_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MICRO", "Schedule", "microseconds", "seconds"]

#: Microseconds in a second: times of schedules are whole numbers of them.
MICRO = 10**6


def microseconds(times: Floats | float) -> Ints:
    """Finite times in seconds as whole microseconds, each rounded once (half to even) as a decimal; same shape.

    What is past 2^53 microseconds becomes 2^60, which no schedule takes.

    >>> microseconds(np.array([0.1, 12.0])).tolist()
    [100000, 12000000]
    """
    return rounded_units(np.asarray(times, dtype=np.float64), MICRO)


def seconds(units: int) -> int | Fraction:
    """Whole microseconds as exact seconds: an integer where they are one, else a fraction.

    >>> seconds(2_500_000), seconds(3_000_000)
    (Fraction(5, 2), 3)
    """
    value = Fraction(units, MICRO)
    return value.numerator if value.denominator == 1 else value


@dataclass(frozen=True, eq=False, slots=True)
class Schedule:
    """The node (index, or `NONE`: -1) and the start of each task of an instance, in file order; int64, shape (tasks,)
    each.

    Starts are microseconds on the clock of the instance (of its `time`, and of arrivals); that of a task that does not
    run is 0. Both columns are copied and made read-only. Whether nodes exist and slots are free is for a problem to say
    (`ScheduleProblem.violations`), not for this class. ValueError if they have another shape or type, or a start is
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
        """Build from a pair of node index and start a task, None for one that does not run."""
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
        """Where the tasks run, whenever they do."""
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

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schedule):
            return False
        return np.array_equal(self.nodes, other.nodes) and np.array_equal(self.starts, other.starts)

    def __repr__(self) -> str:
        return brief(f"Schedule: {self.placed} of {counted(len(self), 'task')} run")

    def __hash__(self) -> int:
        return hash((self.nodes.tobytes(), self.starts.tobytes()))

    def __len__(self) -> int:
        return len(self.nodes)
