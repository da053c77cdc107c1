"""An instance: a snapshot of a cluster and its workload at a scheduling decision, as read-only columns.

An `Instance` has a static part (`Cluster`, `Workload`) and a `State` (what runs where, idle slots, loads);
`Instance.with_state` shares the static part, so that a simulation makes many snapshots without copying. Reading and
writing files is in `optsched.instances`; this module holds the nouns and the check that every instance passes,
whatever it was made from.

Conventions: a float column uses NaN for "not given"; an index column uses -1; ids are numpy strings. The arrays are
read-only, and so is everything that shares them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from optsched.errors import Fault, InputError

__all__ = [
    "FINISHED",
    "KINDS",
    "LARGEST",
    "MAP",
    "PENDING",
    "REDUCE",
    "RUNNING",
    "STATES",
    "Cluster",
    "Instance",
    "Pairs",
    "Ragged",
    "Shuffle",
    "State",
    "Topology",
    "Workload",
]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Strings = npt.NDArray[np.str_]
Bools = npt.NDArray[np.bool_]

#: Numbers past this are refused: beyond it doubles no longer hold every integer.
LARGEST = 2**53

KINDS = ("map", "reduce")
MAP, REDUCE = 0, 1
STATES = ("pending", "running", "finished")
PENDING, RUNNING, FINISHED = 0, 1, 2


#: Stands for an omitted column until `__post_init__` fills it, so that a column's type needs no "or None".
_DEFAULT: Any = None


def _frozen(values: npt.ArrayLike, dtype: type) -> npt.NDArray[Any]:
    """A read-only array of `dtype`; shares memory with `values` where they are already a read-only array of it."""
    array: npt.NDArray[Any] = np.asarray(values, dtype=dtype)
    if array.flags.writeable:
        array = array.copy() if array is values else array
        array.setflags(write=False)
    return array


def _strings(values: npt.ArrayLike) -> Strings:
    array = np.asarray(values)
    if array.dtype.kind != "U":
        array = np.asarray(values, dtype=np.str_) if array.size else np.zeros(0, dtype="<U1")
    return _frozen(array, array.dtype.type)


@dataclass(frozen=True, eq=False)
class Ragged:
    """Rows of different length in compressed form: row `i` is `values[starts[i]:starts[i + 1]]`.

    Attributes
    ----------
    starts
        int64, shape (rows + 1,).
    values
        int64 indices or float64 numbers, shape (total,).
    """

    starts: Ints
    values: npt.NDArray[Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "starts", _frozen(self.starts, np.int64))
        kind = np.float64 if np.asarray(self.values).dtype.kind == "f" else np.int64
        object.__setattr__(self, "values", _frozen(self.values, kind))

    @classmethod
    def empty(cls, rows: int, dtype: type = np.int64) -> Ragged:
        """`rows` rows without an entry."""
        return cls(np.zeros(rows + 1, dtype=np.int64), np.zeros(0, dtype=dtype))

    @classmethod
    def from_rows(cls, rows: list[list[Any]], dtype: type = np.int64) -> Ragged:
        """From a list of rows."""
        starts = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in rows], out=starts[1:])
        return cls(starts, np.array([value for row in rows for value in row], dtype=dtype))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, row: int) -> npt.NDArray[Any]:
        return self.values[self.starts[row] : self.starts[row + 1]]

    def __iter__(self) -> Iterator[npt.NDArray[Any]]:
        return (self[row] for row in range(len(self)))

    @cached_property
    def lengths(self) -> Ints:
        """Number of entries of each row, shape (rows,)."""
        return np.diff(self.starts)

    @cached_property
    def row_of(self) -> Ints:
        """Row of each entry, shape (total,)."""
        return np.repeat(np.arange(len(self), dtype=np.int64), self.lengths)

    def take(self, rows: npt.ArrayLike) -> Ragged:
        """The given rows, in the given order."""
        rows = np.asarray(rows, dtype=np.int64)
        lengths = self.lengths[rows]
        starts = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum(lengths, out=starts[1:])
        picks = np.arange(starts[-1]) + np.repeat(self.starts[rows] - starts[:-1], lengths)
        return Ragged(starts, self.values[picks])

    def transposed(self, columns: int) -> Ragged:
        """For each of `columns` values the rows that hold it, increasing."""
        order = np.argsort(self.values, kind="stable")
        starts = np.zeros(columns + 1, dtype=np.int64)
        np.cumsum(np.bincount(self.values, minlength=columns), out=starts[1:])
        return Ragged(starts, self.row_of[order])


@dataclass(frozen=True, eq=False)
class Topology:
    """How far nodes are apart, in one of four forms.

    Attributes
    ----------
    form
        `distance` or `rate`: `matrix` has shape (nodes, nodes), `[from][to]` in the direction in which data moves;
        `hops`: `hops` gives the distance on a node, in a rack and beyond; `links`: undirected `links` with rates.
    """

    form: Literal["distance", "rate", "hops", "links"]
    matrix: Floats | None = None
    hops: Mapping[str, float] | None = None
    links: tuple[tuple[str, str, float], ...] = ()


@dataclass(frozen=True, eq=False)
class Shuffle:
    """What maps send to reduces: parallel columns of task indices and MB (`emitted` so far, NaN where unknown)."""

    map: Ints
    reduce: Ints
    size: Floats
    emitted: Floats

    def __post_init__(self) -> None:
        for name, dtype in (("map", np.int64), ("reduce", np.int64), ("size", np.float64), ("emitted", np.float64)):
            object.__setattr__(self, name, _frozen(getattr(self, name), dtype))

    def __len__(self) -> int:
        return len(self.map)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Costs, demands and permissions for each pair of task and node, shape (tasks, nodes) each, in file order."""

    cost: Floats | None = None
    demand: Mapping[str, Floats] = field(default_factory=dict)
    allowed: Bools | None = None


@dataclass(frozen=True, eq=False)
class Cluster:
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
        _fill(self, "node_ids", _CLUSTER)
        if self.running_rates is _DEFAULT:
            object.__setattr__(self, "running_rates", Ragged.empty(len(self), np.float64))

    def __len__(self) -> int:
        return len(self.node_ids)


@dataclass(frozen=True, eq=False)
class Workload:
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
        _fill(self, "task_ids", _TASKS)
        _fill(self, "job_ids", _JOBS)
        _fill(self, "group_ids", _GROUPS)
        if self.replicas is _DEFAULT:
            object.__setattr__(self, "replicas", Ragged.empty(len(self)))

    def __len__(self) -> int:
        return len(self.task_ids)

    @cached_property
    def group(self) -> Ints:
        """Group of each task through its job, or -1; shape (tasks,)."""
        groups = np.append(self.job_group, -1)  # a task without a job picks the last entry
        return _frozen(groups[self.job], np.int64)


@dataclass(frozen=True, eq=False)
class State:
    """What changes from one snapshot to the next.

    `status`, `node`, `start` have shape (tasks,): one of `PENDING`, `RUNNING`, `FINISHED`; the node it runs or ran
    on, or -1; the time it started, or NaN. `idle_slots`, `idle_reduce_slots`, `load` have shape (nodes,).
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
            object.__setattr__(self, column.name, _frozen(getattr(self, column.name), dtype))

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
_CLUSTER: dict[str, tuple[type, Any]] = {
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
_TASKS: dict[str, tuple[type, Any]] = {
    "job": (np.int64, -1),
    "kind": (np.int64, MAP),
    "size": (np.float64, np.nan),
    "rate_in": (np.float64, np.nan),
    "bytes_read": (np.float64, np.nan),
    "observed": (np.int64, -1),
    "duration": (np.float64, np.nan),
}
_JOBS: dict[str, tuple[type, Any]] = {
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
    names = getattr(part, ids)
    object.__setattr__(part, ids, _strings([] if names is None else names))
    count = len(getattr(part, ids))
    for name, (dtype, default) in columns.items():
        values = getattr(part, name)
        if dtype is np.str_:
            object.__setattr__(part, name, _strings([] if values is None else values))
        else:
            object.__setattr__(part, name, _frozen(np.full(count, default) if values is None else values, dtype))


@dataclass(frozen=True, eq=False)
class Instance:
    """A snapshot of cluster and workload. Make one with `optsched.load`, a generator, or from the three parts.

    Parameters
    ----------
    cluster, workload
        The static part.
    state
        What runs where; by default nothing runs and every slot is idle.
    name, description, source, labels
        What it is and where it comes from; `labels` says what was generated, inferred or assumed.
    time
        The instant of the snapshot, in seconds.
    parameters
        Parameters of problems that belong to this instance: `{"lsap": {"levels": [0, 1, 2]}}`.

    Raises
    ------
    InputError
        If anything in it is wrong; every fault is listed with its place.

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
    state: State = _DEFAULT
    name: str = ""
    description: str = ""
    source: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    time: float = 0
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.state is _DEFAULT:
            object.__setattr__(self, "state", State.initial(self.cluster, self.workload))
        for name in ("labels", "parameters"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        faults = list(_faults(self))
        if faults:
            raise InputError(faults, self.name)

    @property
    def replicas(self) -> Ragged:
        """One row a task: the indices of the nodes that hold its block."""
        return self.workload.replicas

    def with_state(self, state: State) -> Instance:
        """The same cluster and workload in another state; shares every static array and checks nothing again."""
        other = object.__new__(Instance)
        for column in fields(self):
            object.__setattr__(other, column.name, getattr(self, column.name))
        object.__setattr__(other, "state", state)
        return other

    def with_parameters(self, parameters: Mapping[str, Mapping[str, Any]]) -> Instance:
        """The same instance with other parameters."""
        return replace(self, parameters=parameters)

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
        for key, values in sorted(_content(self)):
            digest.update(key.encode())
            if isinstance(values, np.ndarray):
                if values.dtype.kind == "U":
                    joined = "\n".join(values.tolist())
                    digest.update(joined.encode("utf-8", "surrogatepass"))
                else:
                    digest.update(f"{values.dtype.str}{values.shape}".encode())
                    digest.update(np.ascontiguousarray(values).tobytes())
            else:
                digest.update(repr(values).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def __str__(self) -> str:
        return f"{self.name or 'instance'}: {len(self.workload)} tasks, {len(self.cluster)} nodes"


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
    """Every column by a unique name, and the scalars, for the digest."""

    def walk(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
        if value is None:
            return
        if isinstance(value, Cluster | Workload | State | Ragged | Topology | Shuffle | Pairs):
            for column in fields(value):
                yield from walk(f"{prefix}.{column.name}", getattr(value, column.name))
        elif isinstance(value, Mapping) and any(isinstance(entry, np.ndarray) for entry in value.values()):
            for key in value:
                yield from walk(f"{prefix}.{key}", value[key])
        else:
            yield prefix, value if isinstance(value, np.ndarray) else _canonical(value)

    for name in ("cluster", "workload", "state", "time", "parameters"):
        yield from walk(name, getattr(instance, name))


def _faults(instance: Instance) -> Iterator[Fault]:
    """Everything wrong with an instance, in the order of its parts."""
    cluster, workload, state = instance.cluster, instance.workload, instance.state
    nodes, tasks = len(cluster), len(workload)
    tables: list[tuple[str, int, Strings, dict[str, Any]]] = [
        ("nodes", nodes, cluster.node_ids, {name: getattr(cluster, name) for name in _CLUSTER if "ids" not in name}),
        (
            "groups",
            len(workload.group_ids),
            workload.group_ids,
            {"weight": workload.group_weight, "running_tasks": workload.group_running_tasks},
        ),
        (
            "jobs",
            len(workload.job_ids),
            workload.job_ids,
            {"group" if name == "job_group" else name: getattr(workload, name) for name in _JOBS},
        ),
        ("tasks", tasks, workload.task_ids, {name: getattr(workload, name) for name in _TASKS}),
    ]
    tables[0][3].update({name: getattr(state, name) for name in ("idle_slots", "idle_reduce_slots", "load")})
    tables[0][3].update({f"capacity.{name}": values for name, values in cluster.capacity.items()})
    tables[3][3].update({"state": state.status, "node": state.node, "start": state.start})
    for demand in ("demand", "demand_shuffle"):
        tables[3][3].update({f"{demand}.{name}": values for name, values in getattr(workload, demand).items()})
    index_limits = {
        "rack": len(cluster.rack_ids),
        "datacenter": len(cluster.datacenter_ids),
        "type": len(cluster.type_ids),
        "group": len(workload.group_ids),
        "job": len(workload.job_ids),
        "kind": len(KINDS),
        "observed": nodes,
        "node": nodes,
        "state": len(STATES),
    }
    if not isinstance(instance.time, int | float) or not abs(instance.time) <= LARGEST:
        yield Fault("time", f"{instance.time!r} is no instant between -2^53 and 2^53")
    for table, count, ids, columns in tables:
        yield from _id_faults(table, ids)
        for name, values in columns.items():
            if values.shape != (count,):
                yield Fault(f"{table}.{name}", f"has shape {values.shape} where the table has {count} records")
            elif name in index_limits:
                lowest = 0 if name in ("kind", "state") else -1
                for row in np.flatnonzero((values < lowest) | (values >= index_limits[name])).tolist():
                    yield Fault(f"{table}[{row}].{name}", f"there is no entry {values[row]} to refer to")
            else:
                yield from _number_faults(table, name, values, signed=name in ("start", "arrival", "goal"))
    for idle, slots in (("idle_slots", "slots"), ("idle_reduce_slots", "reduce_slots")):
        free, all_slots = getattr(state, idle), getattr(cluster, slots)
        if free.shape == all_slots.shape:
            for row in np.flatnonzero(free > all_slots).tolist():
                yield Fault(f"nodes[{row}].{idle}", f"{free[row]} is more than its {all_slots[row]} {slots}")
    if state.status.shape == state.node.shape:
        for row in np.flatnonzero((state.status == RUNNING) & (state.node < 0)).tolist():
            yield Fault(f"tasks[{row}].node", "a running task needs the node it runs on")
        for row in np.flatnonzero((state.status == PENDING) & (state.node >= 0)).tolist():
            yield Fault(f"tasks[{row}].node", "a pending task runs on no node; leave it out, or set its state")
    yield from _replica_faults(instance)
    yield from _ragged_rate_faults(cluster)
    yield from _matrix_faults(instance)


def _id_faults(table: str, ids: Strings) -> Iterator[Fault]:
    names = ids.tolist()
    if len(set(names)) != len(names):
        first: dict[str, int] = {}
        for row, name in enumerate(names):
            if first.setdefault(name, row) != row:
                yield Fault(f"{table}[{row}].id", f'"{name}" is the id of {table}[{first[name]}] already')
    joined = "".join(names)
    if "" in names or not joined.isprintable():
        for row, name in enumerate(names):
            if not name or not name.isprintable():
                yield Fault(f"{table}[{row}].id", f"{name!r} must be a non-empty string of printable characters")


def _number_faults(table: str, name: str, values: npt.NDArray[Any], signed: bool) -> Iterator[Fault]:
    """Negative, infinite and too large entries; NaN means "not given", and -1 running tasks likewise."""
    lowest = -1 if name == "running_tasks" else 0
    with np.errstate(invalid="ignore"):
        wrong = np.abs(values) > LARGEST
        if not signed:
            wrong |= values < lowest
    for row in np.flatnonzero(wrong).tolist():
        value = values[row]
        why = "is negative" if value < 0 and not signed else "is past 2^53"
        yield Fault(f"{table}[{row}].{name}", f"{value} {why}")


def _replica_faults(instance: Instance) -> Iterator[Fault]:
    replicas, nodes = instance.replicas, len(instance.cluster)
    starts = replicas.starts
    if len(replicas) != len(instance.workload) or starts[0] != 0 or starts[-1] != len(replicas.values):
        yield Fault("tasks.replicas", "the row starts do not fit the tasks and the values")
        return
    if np.any(replicas.lengths < 0):
        yield Fault("tasks.replicas", "the row starts decrease")
        return

    def place(entry: int) -> str:
        row = int(np.searchsorted(starts, entry, side="right")) - 1
        return f"tasks[{row}].replicas[{entry - int(starts[row])}]"

    for entry in np.flatnonzero((replicas.values < 0) | (replicas.values >= nodes)).tolist():
        yield Fault(place(entry), f"there is no node {replicas.values[entry]}")
    for shift in range(1, int(replicas.lengths.max(initial=0))):
        same = (replicas.values[shift:] == replicas.values[:-shift]) & (
            replicas.row_of[shift:] == replicas.row_of[:-shift]
        )
        for entry in np.flatnonzero(same).tolist():
            node = int(replicas.values[entry])
            named = instance.cluster.node_ids[node] if 0 <= node < nodes else node
            yield Fault(place(entry + shift), f'node "{named}" is named twice')


def _ragged_rate_faults(cluster: Cluster) -> Iterator[Fault]:
    rates = cluster.running_rates
    for entry in np.flatnonzero(~((rates.values >= 0) & (rates.values <= LARGEST))).tolist():
        row = int(rates.row_of[entry])
        place = f"nodes[{row}].running_rates[{entry - int(rates.starts[row])}]"
        yield Fault(place, f"{rates.values[entry]} must be a rate in MB/s, 0 or more")


def _matrix_faults(instance: Instance) -> Iterator[Fault]:
    """Faults of everything that has two indices: demand by type, shuffle, pairs, topology."""
    cluster, workload = instance.cluster, instance.workload
    nodes, tasks = len(cluster), len(workload)
    matrices: list[tuple[str, Floats, tuple[int, int], bool, bool]] = []
    if workload.rate_in_by_type is not None:
        shape = (tasks, len(cluster.type_ids))
        matrices.append(("tasks.rate_in", workload.rate_in_by_type, shape, False, True))
    if workload.pairs is not None:
        if workload.pairs.cost is not None:
            matrices.append(("pairs.cost", workload.pairs.cost, (tasks, nodes), True, False))
        for name, matrix in workload.pairs.demand.items():
            matrices.append((f"pairs.demand.{name}", matrix, (tasks, nodes), False, False))
        allowed = workload.pairs.allowed
        if allowed is not None and allowed.shape != (tasks, nodes):
            yield Fault("pairs.allowed", f"has shape {allowed.shape}, not tasks x nodes {(tasks, nodes)}")
    if cluster.topology is not None and cluster.topology.matrix is not None:
        matrices.append((f"topology.{cluster.topology.form}", cluster.topology.matrix, (nodes, nodes), False, False))
    for place, matrix, shape, signed, gaps in matrices:
        if matrix.shape != shape:
            yield Fault(place, f"has shape {matrix.shape}, not {shape}")
            continue
        with np.errstate(invalid="ignore"):
            wrong = ~(np.abs(matrix) <= LARGEST) & ~(np.isnan(matrix) & gaps)
            if not signed:
                wrong |= matrix < 0
        for row, column in zip(*np.nonzero(wrong), strict=True):
            what = "a number" if signed else "a number, 0 or more,"
            yield Fault(f"{place}[{row}][{column}]", f"{matrix[row, column]} must be {what} up to 2^53")
        if place == "topology.distance":
            for row in np.flatnonzero(np.diagonal(matrix) != 0).tolist():
                yield Fault(f"{place}[{row}][{row}]", "the distance of a node to itself must be 0")
    shuffle = workload.shuffle
    if shuffle is not None:
        for name, kind in (("map", MAP), ("reduce", REDUCE)):
            indices = getattr(shuffle, name)
            for row, index in enumerate(indices.tolist()):
                if not 0 <= index < tasks:
                    yield Fault(f"shuffle[{row}].{name}", f"there is no task {index}")
                elif workload.kind[index] != kind:
                    yield Fault(f"shuffle[{row}].{name}", f'task "{workload.task_ids[index]}" is no {name}')
        for name in ("size", "emitted"):
            yield from _number_faults("shuffle", name, getattr(shuffle, name), signed=False)
