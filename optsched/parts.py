"""The parts of an instance: cluster, workload, state and what belongs to them, as read-only columns.

Conventions: a float column uses NaN for "not given"; an index column uses -1; ids are numpy strings. Each part gives
omitted columns their defaults and freezes all of them; what the columns say is checked in `instance_faults`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from optsched.arrays import Bools, Floats, Ints, Part, Ragged, Strings, read_only, read_only_strings
from optsched.errors import Fault, InputError

__all__ = [
    "CLUSTER_COLUMNS",
    "FINISHED",
    "HOPS",
    "JOB_COLUMNS",
    "KINDS",
    "MAP",
    "PENDING",
    "REDUCE",
    "RUNNING",
    "STATES",
    "TASK_COLUMNS",
    "Cluster",
    "Pairs",
    "Shuffle",
    "State",
    "Topology",
    "Workload",
]

KINDS = ("map", "reduce")
MAP, REDUCE = 0, 1
STATES = ("pending", "running", "finished")
PENDING, RUNNING, FINISHED = 0, 1, 2

#: What `hops` of a topology tells: the distance to the node itself, within a rack, and beyond it.
HOPS = ("node", "rack", "off_rack")

#: Stands for an omitted column until `__post_init__` fills it, so that a column's type needs no "or None".
_DEFAULT: Any = None


def _resources(columns: Mapping[str, npt.ArrayLike]) -> Mapping[str, Floats]:
    """A column of numbers for each resource, read-only; one that gives no number at all is left out."""
    frozen = {name: read_only(values, np.float64) for name, values in columns.items()}
    return MappingProxyType({name: values for name, values in frozen.items() if not np.isnan(values).all()})


@dataclass(frozen=True, eq=False)
class Topology(Part):
    """How far nodes are apart, in one of four forms.

    Attributes
    ----------
    form
        `distance` or `rate`: `matrix` has shape (nodes, nodes), `[from][to]` in the direction in which data moves;
        `hops`: `hops` gives the distance on a node, in a rack and beyond (`node`, `rack`, `off_rack`); `links`:
        undirected `links` (one end, other end, rate in MB/s) between node ids and names of switches.
    """

    form: Literal["distance", "rate", "hops", "links"]
    matrix: Floats | None = None
    hops: Mapping[str, float] | None = None
    links: tuple[tuple[str, str, float], ...] = ()

    def __post_init__(self) -> None:
        if self.matrix is not None:
            object.__setattr__(self, "matrix", read_only(self.matrix, np.float64))
        if self.hops is not None:
            object.__setattr__(self, "hops", MappingProxyType(dict(self.hops)))
        object.__setattr__(self, "links", tuple((str(one), str(other), rate) for one, other, rate in self.links))


@dataclass(frozen=True, eq=False)
class Shuffle(Part):
    """What maps send to reduces: parallel columns of task indices and MB (`emitted` so far, NaN where unknown)."""

    map: Ints
    reduce: Ints
    size: Floats
    emitted: Floats

    def __post_init__(self) -> None:
        for name, dtype in (("map", np.int64), ("reduce", np.int64), ("size", np.float64), ("emitted", np.float64)):
            object.__setattr__(self, name, read_only(getattr(self, name), dtype))

    def __len__(self) -> int:
        return int(self.map.size)  # also where it is no list, which is a fault


@dataclass(frozen=True, eq=False)
class Pairs(Part):
    """Costs, demands and permissions for each pair of task and node, shape (tasks, nodes) each, in file order."""

    cost: Floats | None = None
    demand: Mapping[str, Floats] = field(default_factory=dict)
    allowed: Bools | None = None

    def __post_init__(self) -> None:
        if self.cost is not None:
            object.__setattr__(self, "cost", read_only(self.cost, np.float64))
        if self.allowed is not None:
            object.__setattr__(self, "allowed", read_only(self.allowed, np.bool_))
        demand = {name: read_only(matrix, np.float64) for name, matrix in self.demand.items()}
        object.__setattr__(self, "demand", MappingProxyType(demand))


@dataclass(frozen=True, eq=False)
class Cluster(Part):
    """The nodes, as columns of shape (nodes,). Omitted columns take the defaults of the instance format.

    `rack`, `datacenter`, `type` are indices into `rack_ids`, `datacenter_ids`, `type_ids`, or -1. `rate_process`,
    `rate_in`, `rate_out` are 002's R_p, R_in, R_out and `out_in_use` its r_out (default 0), in MB/s. `running_rates`
    holds, for each node, the input rates of tasks that run there but are not listed as tasks.
    """

    node_ids: Strings
    rack: Ints = _DEFAULT
    rack_ids: Strings = _DEFAULT
    datacenter: Ints = _DEFAULT
    datacenter_ids: Strings = _DEFAULT
    type: Ints = _DEFAULT
    type_ids: Strings = _DEFAULT
    slots: Ints = _DEFAULT
    reduce_slots: Ints = _DEFAULT
    rate_process: Floats = _DEFAULT
    rate_in: Floats = _DEFAULT
    rate_out: Floats = _DEFAULT
    out_in_use: Floats = _DEFAULT
    running_rates: Ragged = _DEFAULT
    capacity: Mapping[str, Floats] = field(default_factory=dict)
    topology: Topology | None = None

    def __post_init__(self) -> None:
        _fill(self, "node_ids", CLUSTER_COLUMNS)
        if self.running_rates is _DEFAULT:
            object.__setattr__(self, "running_rates", Ragged.empty(len(self), np.float64))
        object.__setattr__(self, "capacity", _resources(self.capacity))

    def __len__(self) -> int:
        return len(self.node_ids)


@dataclass(frozen=True, eq=False)
class Workload(Part):
    """Groups, jobs and tasks, as columns. Omitted columns take the defaults of the instance format.

    `replicas` has one row a task: the indices of the nodes that hold its block. `rate_in` is the task's demand in
    MB/s where it is one number; `rate_in_by_type` (shape (tasks, types), NaN where not given) where it depends on the
    node's type. `duration` is in seconds, sizes in MB. `group_running_tasks` counts tasks of a group that run but are
    not listed as tasks (-1: not given).
    """

    task_ids: Strings
    job: Ints = _DEFAULT
    kind: Ints = _DEFAULT
    replicas: Ragged = _DEFAULT
    size: Floats = _DEFAULT
    rate_in: Floats = _DEFAULT
    rate_in_by_type: Floats | None = None
    bytes_read: Floats = _DEFAULT
    observed: Ints = _DEFAULT
    duration: Floats = _DEFAULT
    demand: Mapping[str, Floats] = field(default_factory=dict)
    demand_shuffle: Mapping[str, Floats] = field(default_factory=dict)
    job_ids: Strings = _DEFAULT
    job_group: Ints = _DEFAULT
    arrival: Floats = _DEFAULT
    goal: Floats = _DEFAULT
    filter_ratio: Floats = _DEFAULT
    map_time: Floats = _DEFAULT
    group_ids: Strings = _DEFAULT
    group_weight: Floats = _DEFAULT
    group_running_tasks: Ints = _DEFAULT
    shuffle: Shuffle | None = None
    pairs: Pairs | None = None

    def __post_init__(self) -> None:
        _fill(self, "task_ids", TASK_COLUMNS)
        _fill(self, "job_ids", JOB_COLUMNS)
        _fill(self, "group_ids", _GROUPS)
        if self.replicas is _DEFAULT:
            object.__setattr__(self, "replicas", Ragged.empty(len(self)))
        for name in ("demand", "demand_shuffle"):
            object.__setattr__(self, name, _resources(getattr(self, name)))
        if self.rate_in_by_type is not None:
            rates = read_only(self.rate_in_by_type, np.float64)
            object.__setattr__(self, "rate_in_by_type", None if np.isnan(rates).all() else rates)
        if self.shuffle is not None and not len(self.shuffle):
            object.__setattr__(self, "shuffle", None)
        if self.pairs is not None and self.pairs.cost is None and self.pairs.allowed is None and not self.pairs.demand:
            object.__setattr__(self, "pairs", None)

    def __len__(self) -> int:
        return len(self.task_ids)

    @cached_property
    def group(self) -> Ints:
        """Group of each task through its job, or -1; shape (tasks,)."""
        groups = np.append(self.job_group, -1)  # a task without a job picks the last entry
        return read_only(groups[self.job], np.int64)


@dataclass(frozen=True, eq=False)
class State(Part):
    """What changes from one snapshot to the next.

    `status`, `node`, `start` have shape (tasks,): one of `PENDING`, `RUNNING`, `FINISHED`; the node it runs or ran
    on, or -1; the time it started, or NaN. `idle_slots`, `idle_reduce_slots`, `load` have shape (nodes,). A running
    task does not take a slot away: `idle_slots` is what is free at this instant, and whoever makes the state says it.
    """

    status: Ints
    node: Ints
    start: Floats
    idle_slots: Ints
    idle_reduce_slots: Ints
    load: Floats

    def __post_init__(self) -> None:
        for column in fields(self):
            dtype = np.float64 if column.name in ("start", "load") else np.int64
            object.__setattr__(self, column.name, read_only(getattr(self, column.name), dtype))

    @classmethod
    def initial(cls, cluster: Cluster, workload: Workload, **columns: npt.ArrayLike | None) -> State:
        """The state in which nothing runs and every slot is idle, but for the given `columns`."""
        defaults: dict[str, npt.ArrayLike | None] = {
            "status": np.full(len(workload), PENDING),
            "node": np.full(len(workload), -1),
            "start": np.full(len(workload), np.nan),
            "idle_slots": cluster.slots,
            "idle_reduce_slots": cluster.reduce_slots,
            "load": np.zeros(len(cluster)),
        }
        given = {name: values for name, values in columns.items() if values is not None}
        return cls(**{**defaults, **given})  # type: ignore[arg-type]


# Columns of each part: name -> (dtype, default). A default of None stands for a column of strings without entries.
CLUSTER_COLUMNS: dict[str, tuple[type, Any]] = {
    "rack": (np.int64, -1),
    "rack_ids": (np.str_, None),
    "datacenter": (np.int64, -1),
    "datacenter_ids": (np.str_, None),
    "type": (np.int64, -1),
    "type_ids": (np.str_, None),
    "slots": (np.int64, 1),
    "reduce_slots": (np.int64, 1),
    "rate_process": (np.float64, np.nan),
    "rate_in": (np.float64, np.nan),
    "rate_out": (np.float64, np.nan),
    "out_in_use": (np.float64, 0.0),
}
TASK_COLUMNS: dict[str, tuple[type, Any]] = {
    "job": (np.int64, -1),
    "kind": (np.int64, MAP),
    "size": (np.float64, np.nan),
    "rate_in": (np.float64, np.nan),
    "bytes_read": (np.float64, np.nan),
    "observed": (np.int64, -1),
    "duration": (np.float64, np.nan),
}
JOB_COLUMNS: dict[str, tuple[type, Any]] = {
    "job_group": (np.int64, -1),
    "arrival": (np.float64, np.nan),
    "goal": (np.float64, np.nan),
    "filter_ratio": (np.float64, np.nan),
    "map_time": (np.float64, np.nan),
}
_GROUPS: dict[str, tuple[type, Any]] = {
    "group_weight": (np.float64, np.nan),
    "group_running_tasks": (np.int64, -1),
}


def _fill(part: Cluster | Workload, ids: str, columns: Mapping[str, tuple[type, Any]]) -> None:
    """Give omitted columns their defaults and make every column a read-only array of its type."""
    faults = []
    for name in (ids, *(name for name, (dtype, _) in columns.items() if dtype is np.str_)):
        names = getattr(part, name)
        object.__setattr__(part, name, read_only_strings([] if names is None else names))
        if getattr(part, name).ndim != 1:
            shape = getattr(part, name).shape
            faults.append(Fault(name, f"has shape {shape}: give one id a record, in one dimension"))
    if faults:  # no column has a length to be compared with
        raise InputError(faults)
    count = len(getattr(part, ids))
    for name, (dtype, default) in columns.items():
        if dtype is not np.str_:
            values = getattr(part, name)
            object.__setattr__(part, name, read_only(np.full(count, default) if values is None else values, dtype))
