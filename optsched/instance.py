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
    "DEEPEST",
    "FINISHED",
    "HOPS",
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

#: How deep the values of `parameters` may be nested.
DEEPEST = 32

KINDS = ("map", "reduce")
MAP, REDUCE = 0, 1
STATES = ("pending", "running", "finished")
PENDING, RUNNING, FINISHED = 0, 1, 2

#: What `hops` of a topology tells: the distance to the node itself, within a rack, and beyond it.
HOPS = ("node", "rack", "off_rack")


#: Stands for an omitted column until `__post_init__` fills it, so that a column's type needs no "or None".
_DEFAULT: Any = None


def read_only(values: npt.ArrayLike, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """A read-only array of `dtype`; shares memory with `values` where they are already a read-only array of it."""
    array: npt.NDArray[Any] = np.asarray(values, dtype=dtype)
    if array.flags.writeable:
        array = array.copy() if array is values else array
        array.setflags(write=False)
    return array


def read_only_strings(values: npt.ArrayLike) -> Strings:
    """Ids as an array: read-only, one after another in memory and no wider than the longest."""
    array = np.asarray(values)
    if array.dtype.kind != "U":
        array = np.asarray(values, dtype=np.str_) if array.size else np.zeros(array.shape, dtype="<U1")
    width = max(1, int(np.strings.str_len(array).max(initial=0)))
    array = np.ascontiguousarray(array, dtype=f"=U{width}") if array.ndim else array
    return read_only(array, array.dtype)


def _resources(columns: Mapping[str, npt.ArrayLike]) -> Mapping[str, Floats]:
    """A column of numbers for each resource, read-only; one that gives no number at all is left out."""
    frozen = {name: read_only(values, np.float64) for name, values in columns.items()}
    return MappingProxyType({name: values for name, values in frozen.items() if not np.isnan(values).all()})


def _plain(value: Any) -> Any:
    """A free-form value made of plain dicts, lists and scalars: what JSON can say, shared with nobody."""
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value.item() if isinstance(value, np.generic) else value


class _Part:
    """Pickles by its fields, so that a copy in another process is checked for types and read-only again."""

    def __reduce__(self) -> tuple[Any, ...]:
        values = (getattr(self, column.name) for column in fields(self))  # type: ignore[arg-type]
        return type(self), tuple(dict(value) if isinstance(value, MappingProxyType) else value for value in values)


@dataclass(frozen=True, eq=False)
class Ragged(_Part):
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
        object.__setattr__(self, "starts", read_only(self.starts, np.int64))
        kind = np.float64 if np.asarray(self.values).dtype.kind == "f" else np.int64
        object.__setattr__(self, "values", read_only(self.values, kind))

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
class Topology(_Part):
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
class Shuffle(_Part):
    """What maps send to reduces: parallel columns of task indices and MB (`emitted` so far, NaN where unknown)."""

    map: Ints
    reduce: Ints
    size: Floats
    emitted: Floats

    def __post_init__(self) -> None:
        for name, dtype in (("map", np.int64), ("reduce", np.int64), ("size", np.float64), ("emitted", np.float64)):
            object.__setattr__(self, name, read_only(getattr(self, name), dtype))

    def __len__(self) -> int:
        return len(self.map)


@dataclass(frozen=True, eq=False)
class Pairs(_Part):
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
class Cluster(_Part):
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
        object.__setattr__(self, "capacity", _resources(self.capacity))

    def __len__(self) -> int:
        return len(self.node_ids)


@dataclass(frozen=True, eq=False)
class Workload(_Part):
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
class State(_Part):
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
    object.__setattr__(part, ids, read_only_strings([] if names is None else names))
    if getattr(part, ids).ndim != 1:
        raise InputError([Fault(ids, f"has shape {getattr(part, ids).shape}: give one id a record, in one dimension")])
    count = len(getattr(part, ids))
    for name, (dtype, default) in columns.items():
        values = getattr(part, name)
        if dtype is np.str_:
            object.__setattr__(part, name, read_only_strings([] if values is None else values))
        else:
            object.__setattr__(part, name, read_only(np.full(count, default) if values is None else values, dtype))


@dataclass(frozen=True, eq=False)
class Instance(_Part):
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
        faults = [*_text_faults(self), *_faults(self)]
        if faults:
            raise InputError(faults, self.name if isinstance(self.name, str) else "")
        object.__setattr__(self, "labels", MappingProxyType(dict(self.labels)))
        parameters = {problem: MappingProxyType(_plain(values)) for problem, values in self.parameters.items()}
        object.__setattr__(self, "parameters", MappingProxyType(parameters))

    def __reduce__(self) -> tuple[Any, ...]:
        make, values = super().__reduce__()
        *others, parameters = values
        return make, (*others, _plain(parameters))

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
        for key, values in sorted(_content(self), key=lambda entry: entry[0]):
            digest.update(key.encode())
            if not isinstance(values, np.ndarray):
                digest.update(repr(values).encode())
            elif values.dtype.kind == "U":
                digest.update("\n".join(values.tolist()).encode())
            else:
                digest.update(f"{values.dtype.str}{values.shape}".encode())
                if values.dtype.kind == "f":  # one form of zero and of NaN
                    values = np.where(np.isnan(values), np.nan, values + 0.0)
                digest.update(np.ascontiguousarray(values).tobytes())
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
    """Every column by a unique name, and the scalars, for the digest: the same however racks and types are numbered."""
    cluster, workload = instance.cluster, instance.workload

    def walk(prefix: str, value: Any, left_out: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
        if isinstance(value, _Part):
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
    yield from walk("workload", workload, ("rate_in_by_type",))
    yield from walk("state", instance.state)
    for name in named:
        order, renumbered = _first_appearance(getattr(cluster, name), len(getattr(cluster, f"{name}_ids")))
        yield f"cluster.{name}", renumbered
        yield f"cluster.{name}_ids", getattr(cluster, f"{name}_ids")[order]
        if name == "type" and workload.rate_in_by_type is not None:
            yield "workload.rate_in_by_type", workload.rate_in_by_type[:, order]
    yield "time", _canonical(instance.time)
    yield "parameters", _canonical(instance.parameters)


def _first_appearance(numbers: Ints, count: int) -> tuple[Ints, Ints]:
    """The numbers in use, in the order in which they first appear, and each entry's place in that order (or -1)."""
    used, first = np.unique(numbers, return_index=True)
    order = used[np.argsort(first)]
    order = order[order >= 0]
    rank = np.full(count + 1, -1)  # -1 picks the last entry
    rank[order] = np.arange(len(order))
    return order, rank[numbers]


def _text_faults(instance: Instance) -> Iterator[Fault]:
    """Faults of everything that is no column: texts, time, labels, parameters."""
    for name in ("name", "description", "source"):
        yield from free_form_faults(name, getattr(instance, name), str)
    time = instance.time
    if isinstance(time, bool) or not isinstance(time, int | float) or not abs(time) <= LARGEST:
        yield Fault("time", f"{time!r} is no instant between -2^53 and 2^53")
    for label, text in instance.labels.items():
        yield from free_form_faults(f"labels.{key_in_place(label)}", label, str)
        yield from free_form_faults(f"labels.{key_in_place(label)}", text, str)
    for problem, values in instance.parameters.items():
        yield from free_form_faults(f"parameters.{key_in_place(problem)}", problem, str)
        yield from free_form_faults(f"parameters.{key_in_place(problem)}", values, Mapping)


def half_characters(text: str) -> bool:
    """Whether a text holds a lone surrogate, which no file can."""
    return not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)


def key_in_place(key: object) -> str:
    """A key as part of a place, however long or strange it is."""
    text = str(key)
    return text if len(text) <= 60 and text.isprintable() else ascii(text[:40])[1:-1] + "..."


def free_form_faults(place: str, value: Any, kind: type = object, depth: int = 0) -> Iterator[Fault]:
    """What keeps a free-form value from being written as JSON and read again as the same."""
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, kind):
        yield Fault(place, f"expected {'a text' if kind is str else 'an object'}, got {value!r}")
    elif depth > DEEPEST:
        yield Fault(place, f"is nested more than {DEEPEST} deep")
    elif isinstance(value, str):
        if half_characters(value):
            yield Fault(place, f"{value[:40]!r} holds half a character (a lone surrogate)")
    elif isinstance(value, int | float):
        if not abs(value) <= LARGEST:
            yield Fault(place, f"{value!r} must be a number between -2^53 and 2^53")
    elif isinstance(value, Mapping):
        for key, entry in value.items():
            yield from free_form_faults(f"{place}.{key_in_place(key)}", key, str)
            yield from free_form_faults(f"{place}.{key_in_place(key)}", entry, depth=depth + 1)
    elif isinstance(value, list | tuple):
        for position, entry in enumerate(value):
            yield from free_form_faults(f"{place}[{position}]", entry, depth=depth + 1)
    elif value is not None:
        yield Fault(place, f"{value!r} cannot be written as JSON; use numbers, texts, lists and objects")


def _faults(instance: Instance) -> Iterator[Fault]:
    """Everything wrong with the columns of an instance, in the order of its parts."""
    cluster, workload, state = instance.cluster, instance.workload, instance.state
    nodes, tasks = len(cluster), len(workload)
    tables: dict[str, tuple[Strings, dict[str, Any]]] = {
        "nodes": (cluster.node_ids, {name: getattr(cluster, name) for name in _CLUSTER if "ids" not in name}),
        "groups": (
            workload.group_ids,
            {"weight": workload.group_weight, "running_tasks": workload.group_running_tasks},
        ),
        "jobs": (
            workload.job_ids,
            {"group" if name == "job_group" else name: getattr(workload, name) for name in _JOBS},
        ),
        "tasks": (workload.task_ids, {name: getattr(workload, name) for name in _TASKS}),
    }
    node_columns, task_columns = tables["nodes"][1], tables["tasks"][1]
    node_columns.update({name: getattr(state, name) for name in ("idle_slots", "idle_reduce_slots", "load")})
    node_columns.update({f"capacity.{name}": values for name, values in cluster.capacity.items()})
    task_columns.update({"state": state.status, "node": state.node, "start": state.start})
    for demand in ("demand", "demand_shuffle"):
        task_columns.update({f"{demand}.{name}": values for name, values in getattr(workload, demand).items()})
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
    for name, values in (("load", state.load), ("out_in_use", cluster.out_in_use)):
        for row in np.flatnonzero(np.isnan(values)).tolist():
            yield Fault(f"nodes[{row}].{name}", "is no number; where nothing is known it is 0")
    resources = [("nodes.capacity", cluster.capacity)]
    resources += [(f"tasks.{name}", getattr(workload, name)) for name in ("demand", "demand_shuffle")]
    resources += [("pairs.demand", workload.pairs.demand)] if workload.pairs is not None else []
    for place, named in resources:
        for name in named:
            if not name or not name.isprintable():
                yield Fault(place, f"{name!r} names no resource: give a non-empty string of printable characters")
    misshapen = False
    for table, (ids, columns) in tables.items():
        yield from id_faults(table, ids)
        for name, values in columns.items():
            if values.shape != ids.shape:
                misshapen = True
                yield Fault(f"{table}.{name}", f"has shape {values.shape} where the table has {len(ids)} records")
            elif name in index_limits:
                lowest = 0 if name in ("kind", "state") else -1
                for row in np.flatnonzero((values < lowest) | (values >= index_limits[name])).tolist():
                    yield Fault(f"{table}[{row}].{name}", f"there is no entry {values[row]} to refer to")
            else:
                yield from _number_faults(table, name, values, signed=name in ("start", "arrival", "goal"))
    for name in ("rack_ids", "datacenter_ids", "type_ids"):
        yield from id_faults(name, getattr(cluster, name))
    ragged = [("tasks", "replicas", workload.replicas, tasks), ("nodes", "running_rates", cluster.running_rates, nodes)]
    for table, name, rows, count in ragged:
        if not _row_starts_fit(rows, count):
            misshapen = True
            yield Fault(f"{table}.{name}", f"the row starts must run from 0 to {rows.values.size} over {count} rows")
    if misshapen:
        return  # what follows compares columns with one another
    yield from _state_faults(instance)
    yield from _replica_faults(instance)
    for entry in np.flatnonzero(~((cluster.running_rates.values >= 0) & (cluster.running_rates.values <= LARGEST))):
        place = _entry("nodes", "running_rates", cluster.running_rates, entry)
        yield Fault(place, f"{cluster.running_rates.values[entry]} must be a rate in MB/s, 0 or more")
    yield from _matrix_faults(instance)
    yield from _shuffle_faults(workload)
    yield from _link_faults(cluster.topology)


def _row_starts_fit(ragged: Ragged, rows: int) -> bool:
    starts = ragged.starts
    return bool(
        starts.shape == (rows + 1,)
        and ragged.values.ndim == 1
        and starts[0] == 0
        and starts[-1] == len(ragged.values)
        and np.all(starts[1:] >= starts[:-1])
    )


def _entry(table: str, name: str, ragged: Ragged, entry: int | np.integer[Any]) -> str:
    """Place of one entry of a ragged column: `tasks[17].replicas[2]`."""
    row = int(np.searchsorted(ragged.starts, entry, side="right")) - 1
    return f"{table}[{row}].{name}[{entry - int(ragged.starts[row])}]"


def id_faults(table: str, ids: Strings) -> Iterator[Fault]:
    """Ids that are given twice, empty, or not printable."""
    if _surely_sound(ids):
        return
    names = ids.tolist()
    first: dict[str, int] = {}
    for row, name in enumerate(names):
        if first.setdefault(name, row) != row:
            yield Fault(f"{table}[{row}].id", f'"{name}" is the id of {table}[{first[name]}] already')
        if not name or not name.isprintable():
            yield Fault(f"{table}[{row}].id", f"{name!r} must be a non-empty string of printable characters")


def _surely_sound(ids: Strings) -> bool:
    """Whether all ids are visibly distinct, non-empty and of printable ASCII; False means that a closer look is due.

    Distinct hashes prove distinct ids, and a million of them sort in milliseconds where the ids take a second.
    """
    if not ids.size:
        return True
    codes = ids.view(np.uint32).reshape(len(ids), -1)
    hashes = np.zeros(len(ids), dtype=np.uint64)
    before, reached = None, 0
    for position in range(codes.shape[1]):
        characters = codes[:, position].copy()
        present = int(np.count_nonzero(characters))
        if np.count_nonzero(characters - np.uint32(32) <= 94) != present:  # 32 to 126 print; 0 is past the end
            return False
        gap = present < len(ids) if before is None else reached < len(ids) and np.any((characters != 0) & (before == 0))
        if gap:  # an empty id, or a NUL within one
            return False
        hashes *= np.uint64(0x9E3779B97F4A7C15)
        hashes += characters
        before, reached = characters, present
    hashes.sort()
    return not (hashes[1:] == hashes[:-1]).any()


def _number_faults(table: str, name: str, values: npt.NDArray[Any], signed: bool) -> Iterator[Fault]:
    """Negative, infinite and too large entries; NaN means "not given", and -1 running tasks likewise."""
    lowest = -LARGEST if signed else -1 if name == "running_tasks" else 0
    with np.errstate(invalid="ignore"):
        wrong = (values > LARGEST) | (values < lowest)
    for row in np.flatnonzero(wrong).tolist():
        value = values[row]
        why = "is negative" if value < 0 and not signed else "is past 2^53"
        yield Fault(f"{table}[{row}].{name}", f"{value} {why}")


def _state_faults(instance: Instance) -> Iterator[Fault]:
    """Idle slots that do not exist, tasks that run nowhere, and running tasks that are given twice."""
    cluster, workload, state = instance.cluster, instance.workload, instance.state
    for idle, slots in (("idle_slots", "slots"), ("idle_reduce_slots", "reduce_slots")):
        free, all_slots = getattr(state, idle), getattr(cluster, slots)
        for row in np.flatnonzero(free > all_slots).tolist():
            yield Fault(f"nodes[{row}].{idle}", f"{free[row]} is more than its {all_slots[row]} {slots}")
    runs = state.status == RUNNING
    for row in np.flatnonzero(runs & (state.node < 0)).tolist():
        yield Fault(f"tasks[{row}].node", "a running task needs the node it runs on")
    for row in np.flatnonzero((state.status == PENDING) & (state.node >= 0)).tolist():
        yield Fault(f"tasks[{row}].node", "a pending task runs on no node; leave it out, or set its state")
    running = np.flatnonzero(runs)
    for table, name, given, where in (
        ("nodes", "running_rates", cluster.running_rates.lengths > 0, state.node),
        ("groups", "running_tasks", workload.group_running_tasks >= 0, workload.group),
    ):
        first: dict[int, int] = {}
        for row, index in zip(running.tolist(), where[running].tolist(), strict=True):
            if 0 <= index < len(given) and given[index]:
                first.setdefault(index, row)
        for index, row in sorted(first.items()):
            told = f"stands for running tasks, but tasks[{row}] runs too and is listed; give one form or the other"
            yield Fault(f"{table}[{index}].{name}", told)


def _replica_faults(instance: Instance) -> Iterator[Fault]:
    replicas, nodes = instance.replicas, len(instance.cluster)
    values = replicas.values
    for entry in np.flatnonzero((values < 0) | (values >= nodes)).tolist():
        yield Fault(_entry("tasks", "replicas", replicas, entry), f"there is no node {values[entry]}")
    for entry in _repeated(replicas).tolist():
        node = int(values[entry])
        named = instance.cluster.node_ids[node] if 0 <= node < nodes else node
        yield Fault(_entry("tasks", "replicas", replicas, entry), f'node "{named}" is named twice')


def _repeated(ragged: Ragged) -> Ints:
    """Entries that name a value which an earlier entry of their row names already, increasing."""
    values, longest = ragged.values, int(ragged.lengths.max(initial=0))
    if longest > 8:
        order = np.lexsort((values, ragged.row_of))
        same = (values[order][1:] == values[order][:-1]) & (ragged.row_of[order][1:] == ragged.row_of[order][:-1])
        return np.sort(order[1:][same])
    repeated = []
    for shift in range(1, longest):  # short rows: neighbours at each distance; hardly any pair is equal
        later = np.flatnonzero(values[shift:] == values[:-shift]) + shift
        row = np.searchsorted(ragged.starts, later, side="right")
        repeated.append(later[row == np.searchsorted(ragged.starts, later - shift, side="right")])
    return np.unique(np.concatenate(repeated)) if repeated else np.zeros(0, dtype=np.int64)


def _matrix_faults(instance: Instance) -> Iterator[Fault]:
    """Faults of everything that is a matrix: demand by type, pairs, topology."""
    cluster, workload = instance.cluster, instance.workload
    nodes, tasks = len(cluster), len(workload)
    matrices: list[tuple[str, Floats, tuple[int, int], bool]] = []
    if workload.rate_in_by_type is not None:
        yield from _rate_by_type_faults(cluster, workload)
    if workload.pairs is not None:
        if workload.pairs.cost is not None:
            matrices.append(("pairs.cost", workload.pairs.cost, (tasks, nodes), True))
        for name, matrix in workload.pairs.demand.items():
            matrices.append((f"pairs.demand.{name}", matrix, (tasks, nodes), False))
            if name not in cluster.capacity:
                yield Fault(f"pairs.demand.{name}", "no node has this resource in its capacity")
        allowed = workload.pairs.allowed
        if allowed is not None and allowed.shape != (tasks, nodes):
            yield Fault("pairs.allowed", f"has shape {allowed.shape}, not tasks x nodes {(tasks, nodes)}")
    topology = cluster.topology
    if topology is not None and topology.form in ("distance", "rate"):
        matrix = np.zeros(0) if topology.matrix is None else topology.matrix
        matrices.append((f"topology.{topology.form}", matrix, (nodes, nodes), False))
    for place, matrix, shape, signed in matrices:
        if matrix.shape != shape:
            yield Fault(place, f"has shape {matrix.shape}, not {shape}")
            continue
        with np.errstate(invalid="ignore"):
            wrong = ~((matrix <= LARGEST) & (matrix >= (-LARGEST if signed else 0)))
        for row, column in zip(*np.nonzero(wrong), strict=True):
            what = "a number" if signed else "a number, 0 or more,"
            yield Fault(f"{place}[{row}][{column}]", f"{matrix[row, column]} must be {what} up to 2^53")
        if place == "topology.distance":
            for row in np.flatnonzero(np.diagonal(matrix) != 0).tolist():
                yield Fault(f"{place}[{row}][{row}]", "the distance of a node to itself must be 0")


def _rate_by_type_faults(cluster: Cluster, workload: Workload) -> Iterator[Fault]:
    rates, shape = workload.rate_in_by_type, (len(workload), len(cluster.type_ids))
    assert rates is not None
    if rates.shape != shape:
        yield Fault("tasks.rate_in", f"has shape {rates.shape}, not tasks x types {shape}")
        return
    with np.errstate(invalid="ignore"):
        wrong = (rates < 0) | (rates > LARGEST)
    for row, column in zip(*np.nonzero(wrong), strict=True):
        yield Fault(f"tasks[{row}].rate_in.{cluster.type_ids[column]}", f"{rates[row, column]} must be 0 up to 2^53")
    given = ~np.isnan(rates)
    for row in np.flatnonzero(given.any(axis=1) & ~np.isnan(workload.rate_in)).tolist():
        yield Fault(f"tasks[{row}].rate_in", "is given both as one number and by node type; give one of them")
    unused = np.setdiff1d(np.arange(len(cluster.type_ids)), cluster.type)
    for column in unused[given[:, unused].any(axis=0)].tolist():
        row = int(np.flatnonzero(given[:, column])[0])
        name = cluster.type_ids[column]
        yield Fault(f"tasks[{row}].rate_in.{name}", f'no node is of type "{name}"')


def _shuffle_faults(workload: Workload) -> Iterator[Fault]:
    shuffle, tasks = workload.shuffle, len(workload)
    if shuffle is None:
        return
    for name in ("reduce", "size", "emitted"):
        if getattr(shuffle, name).shape != shuffle.map.shape:
            yield Fault(f"shuffle.{name}", f"has shape {getattr(shuffle, name).shape}, not {shuffle.map.shape}")
            return
    for name, kind in (("map", MAP), ("reduce", REDUCE)):
        indices = getattr(shuffle, name)
        known = (indices >= 0) & (indices < tasks)
        for row in np.flatnonzero(~known).tolist():
            yield Fault(f"shuffle[{row}].{name}", f"there is no task {indices[row]}")
        of_kind = np.append(workload.kind, kind)[np.where(known, indices, tasks)] == kind
        for row in np.flatnonzero(~of_kind).tolist():
            yield Fault(f"shuffle[{row}].{name}", f'task "{workload.task_ids[indices[row]]}" is no {name}')
    for name in ("size", "emitted"):
        yield from _number_faults("shuffle", name, getattr(shuffle, name), signed=False)
    for row in np.flatnonzero(np.isnan(shuffle.size)).tolist():
        yield Fault(f"shuffle[{row}].size", "is not given")


def _link_faults(topology: Topology | None) -> Iterator[Fault]:
    """Faults of a topology that is no matrix."""
    if topology is None or topology.form in ("distance", "rate"):
        return
    if topology.form == "hops":
        hops = topology.hops or {}
        for name in HOPS:
            value = hops.get(name, -1)
            if not 0 <= value <= LARGEST:
                yield Fault(f"topology.hops.{name}", f"{hops.get(name)} must be a distance, 0 or more")
        for name in hops.keys() - set(HOPS):
            yield Fault(f"topology.hops.{name}", f"is none of {', '.join(HOPS)}")
        return
    for row, (one, other, rate) in enumerate(topology.links):
        if not 0 < rate <= LARGEST:
            yield Fault(f"topology.links[{row}].rate", f"{rate} must be a rate in MB/s above 0")
        for name, end in (("from", one), ("to", other)):
            if not end or not end.isprintable():
                yield Fault(f"topology.links[{row}].{name}", f"{end!r} must be a non-empty, printable name")
