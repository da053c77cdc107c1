"""An instance: a snapshot of a cluster and its workload at a scheduling decision, as read-only columns.

An `Instance` has a static part (`Cluster`, `Workload`) and a `State` (what runs where, idle slots, loads).
`Instance.with_state` shares the static part, so that a simulation makes many snapshots without copying. The parts are
in `parts` and their checks in `instance_faults`; `optsched.instances` reads and writes files. Users of an instance can
import everything they need from here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from optsched.core.arrays import LARGEST, Bools, Floats, Ints, Part, Ragged, Strings, Whole, joined, plain
from optsched.core.brief import brief, counted
from optsched.core.errors import InputError, expect
from optsched.core.instance_faults import column_faults, header_faults
from optsched.core.parts import (
    FINISHED,
    HOPS,
    KINDS,
    MAP,
    OMITTED,
    PENDING,
    REDUCE,
    RUNNING,
    STATES,
    Cluster,
    Pairs,
    Shuffle,
    State,
    Topology,
    Workload,
    columns_of,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "FINISHED",
    "HOPS",
    "KINDS",
    "LARGEST",
    "MAP",
    "PENDING",
    "REDUCE",
    "RUNNING",
    "STATES",
    "Bools",
    "Cluster",
    "Floats",
    "Instance",
    "Ints",
    "Pairs",
    "Ragged",
    "Shuffle",
    "State",
    "Strings",
    "Topology",
    "Workload",
]

#: Reads and writes frames: a module of `optsched.instances`, loaded on first use.
_FRAMES = "optsched.instances.frames"


@dataclass(frozen=True, eq=False)
class Instance(Whole):
    """A snapshot of cluster and workload. Make one with `optsched.load`, a generator, or from the three parts.

    Parameters
    ----------
    cluster, workload
        The static part.
    state
        What runs where, and at what time; by default nothing runs and every slot is idle, at time 0.
    name, description, source, labels
        What it is and where it comes from; `labels` says what was generated, inferred or assumed.
    parameters
        Parameters of problems that belong to this instance: `{"lsap": {"levels": [0, 1, 2]}}`.

    Raises
    ------
    InputError
        If anything is wrong; every fault is listed with its place.

    Examples
    --------
    >>> cluster = Cluster(["n1", "n2"])
    >>> workload = Workload(["t1"], replicas=Ragged.from_rows([[1]]))
    >>> instance = Instance(cluster, workload)
    >>> instance.state.idle_slots.tolist(), instance.replicas[0].tolist()
    ([1, 1], [1])
    """

    cluster: Cluster
    workload: Workload
    state: State = OMITTED
    name: str = ""
    description: str = ""
    source: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.state is OMITTED:
            object.__setattr__(self, "state", State.initial(self.cluster, self.workload))
        object.__setattr__(self, "state", self.state.of(self.workload))
        texts = {name: getattr(self, name) for name in ("name", "description", "source")}
        faults = [
            *header_faults(texts, self.state.time, self.labels, self.parameters),
            *column_faults(self.cluster, self.workload, self.state),
        ]
        if faults:
            raise InputError(faults, self.name if isinstance(self.name, str) else "")
        object.__setattr__(self, "labels", MappingProxyType(dict(self.labels)))
        parameters = {problem: MappingProxyType(plain(values)) for problem, values in self.parameters.items()}
        object.__setattr__(self, "parameters", MappingProxyType(parameters))

    @classmethod
    def initial(cls, cluster: Cluster, workload: Workload, *, time: float = 0, **others: Any) -> Instance:
        """An instance in which nothing runs and every slot is idle, except for the given columns of its state.

        `others` are columns of `State` (`out_in_use=[12.5, 0]`) and fields of an instance (`name`, `labels`, ...).
        InputError lists every fault with its place.

        >>> Instance.initial(Cluster(["n1", "n2"]), Workload(["t1"]), idle_slots=[0, 1]).state.idle_slots.tolist()
        [0, 1]
        """
        header = {held.name: others.pop(held.name) for held in fields(cls) if held.name in others}
        return cls(cluster, workload, State.initial(cluster, workload, time=time, **others), **header)

    @property
    def time(self) -> float:
        """The instant of the snapshot, in seconds."""
        return self.state.time

    @property
    def replicas(self) -> Ragged:
        """One row a task: the indices of the nodes that hold its block."""
        return self.workload.replicas

    def with_state(self, state: State) -> Instance:
        """The same cluster and workload in another state; shares every static array and repeats no check."""
        expect(state, State, "with_state takes a State")
        return self._with(state=state.of(self.workload))

    def with_slots(self, slots: Ints, reduce_slots: Ints) -> Instance:
        """The same with other slots on each node; shares all other arrays and repeats no check."""
        return self._with(cluster=replace(self.cluster, slots=slots, reduce_slots=reduce_slots))

    def taken(self, tasks: Ints, jobs: Ints) -> Instance:
        """The instance with only the given tasks and jobs, renumbered, and all nodes and groups."""
        shuffle, entries = self.workload.shuffle, np.zeros(0, dtype=np.int64)
        if shuffle is not None:
            entries = shuffle.between(tasks, len(self.workload))[1]
        return self._with(workload=self.workload.taken(tasks, jobs), state=self.state.taken(tasks, entries))

    def _with(self, **parts: Part) -> Instance:
        """The same with other parts, without checks."""
        other = object.__new__(Instance)
        for column in fields(self):
            object.__setattr__(other, column.name, parts.get(column.name, getattr(self, column.name)))
        return other

    @staticmethod
    def from_frames(nodes: pd.DataFrame, tasks: pd.DataFrame, **others: Any) -> Instance:
        """An instance from pandas frames: a row is a record, a column a field of the instance format.

        Ids are in the column `id`. `others` are further frames (`jobs`, `groups`, `replicas`, `running_rates`,
        `shuffle`) and the rest of the format (`name`, `time`, `parameters`, `topology`, ...); see
        `optsched.instances.frames.from_frames`.

        >>> import pandas
        >>> nodes = pandas.DataFrame({"id": ["n1", "n2"], "slots": [2, 1]})
        >>> tasks = pandas.DataFrame({"id": ["t1", "t2"], "replicas": [["n1"], ["n1", "n2"]]})
        >>> Instance.from_frames(nodes, tasks, name="small")
        <Instance small: 2 tasks, 2 nodes>
        """
        made: Instance = import_module(_FRAMES).from_frames(nodes, tasks, **others)
        return made

    def to_frames(self) -> dict[str, pd.DataFrame]:
        """The instance as pandas frames, one per table; see `optsched.instances.frames.to_frames`."""
        frames: dict[str, pd.DataFrame] = import_module(_FRAMES).to_frames(self)
        return frames

    @cached_property
    def node_index(self) -> Mapping[str, int]:
        """Index of each node id."""
        return {name: index for index, name in enumerate(self.cluster.node_ids.tolist())}

    @cached_property
    def task_index(self) -> Mapping[str, int]:
        """Index of each task id."""
        return {name: index for index, name in enumerate(self.workload.task_ids.tolist())}

    @cached_property
    def sha256(self) -> str:
        """Digest of everything that a problem may read: all columns, time and parameters, but no name or label."""
        digest = hashlib.sha256(b"optsched/1")
        for key, values in sorted(_content(self), key=lambda entry: entry[0]):
            digest.update(key.encode())
            if not isinstance(values, np.ndarray):
                digest.update(repr(values).encode())
            elif values.dtype.kind == "U":
                digest.update(joined(values))
            else:
                digest.update(f"{values.dtype.str}{values.shape}".encode())
                if values.dtype.kind == "f":  # one form of zero and of NaN
                    values = np.where(np.isnan(values), np.nan, values + 0.0)
                digest.update(np.ascontiguousarray(values).tobytes())
        return digest.hexdigest()

    def __str__(self) -> str:
        return f"{self.name or 'instance'}: {len(self.workload)} tasks, {len(self.cluster)} nodes"

    def __repr__(self) -> str:
        sizes = f"{counted(len(self.workload), 'task')}, {counted(len(self.cluster), 'node')}"
        return brief(f"Instance {self.name}: {sizes}" if self.name else f"Instance: {sizes}")


def _canonical(value: Any) -> Any:
    """Mappings as sorted pairs and tuples as lists, so that equal parameters have equal text."""
    if isinstance(value, Mapping):
        return [(key, _canonical(value[key])) for key in sorted(value)]
    if isinstance(value, list | tuple):
        return [_canonical(entry) for entry in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _content(instance: Instance) -> Iterator[tuple[str, Any]]:
    """Every column by a unique name, and the scalars, for the digest; it does not depend on numbering."""
    cluster, workload = instance.cluster, instance.workload

    def walk(prefix: str, value: Any, left_out: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
        if isinstance(value, Part):
            for column in fields(value):  # type: ignore[arg-type]
                if column.name not in left_out:
                    yield from walk(f"{prefix}.{column.name}", getattr(value, column.name))
        elif isinstance(value, Mapping) and any(isinstance(entry, np.ndarray) for entry in value.values()):
            for key in value:
                yield from walk(f"{prefix}.{key}", value[key])
        elif value is not None:
            yield prefix, value if isinstance(value, np.ndarray) else _canonical(value)

    named = ("rack", "datacenter", "type")
    yield from walk("cluster", cluster, (*named, *(f"{name}_ids" for name in named)))
    unsaid = ("times",) if np.isnan(workload.times).all() else ()  # instances older than `times` keep their digest
    yield from walk("workload", workload, ("rate_in_by_type", *unsaid))
    moved = [column for column in columns_of(State) if column.digest]
    yield from walk("state", instance.state, ("time", *(column.attribute for column in moved)))
    for column in moved:
        if column.table != "shuffle" or workload.shuffle is not None:
            yield from walk(column.digest, column.values_in(instance))
    for name in named:
        order, renumbered = _first_appearance(getattr(cluster, name), len(getattr(cluster, f"{name}_ids")))
        yield f"cluster.{name}", renumbered
        yield f"cluster.{name}_ids", getattr(cluster, f"{name}_ids")[order]
        if name == "type" and workload.rate_in_by_type is not None:
            yield "workload.rate_in_by_type", workload.rate_in_by_type[:, order]
    yield "time", _canonical(instance.time)
    yield "parameters", _canonical(instance.parameters)


def _first_appearance(numbers: Ints, count: int) -> tuple[Ints, Ints]:
    """The numbers in use, by first appearance, and each entry's position in that order (or -1)."""
    used, first = np.unique(numbers, return_index=True)
    order = used[np.argsort(first)]
    order = order[order >= 0]
    rank = np.full(count + 1, -1)  # -1 picks the last entry
    rank[order] = np.arange(len(order))
    return order, rank[numbers]
