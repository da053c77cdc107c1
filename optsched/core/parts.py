"""The parts of an instance: cluster, workload, state and their tables, as read-only columns.

Conventions: a float column uses NaN for "not given"; an index column uses -1; ids are numpy strings. Each part gives
omitted columns their defaults and freezes all of them; `instance_faults` checks their contents.

Each attribute says once what column it is (`Column`): which records have it, in what form it is held, and its value if
it is left out. Files, archives, frames, checks and the view of policies follow from that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache, cached_property
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

from optsched.core.arrays import Bools, Floats, Ints, Part, Ragged, Strings, read_only, read_only_strings
from optsched.core.brief import brief, counted
from optsched.core.errors import Fault, InputError

KINDS = ("map", "reduce")
MAP, REDUCE = 0, 1
STATES = ("pending", "running", "finished")
PENDING, RUNNING, FINISHED = 0, 1, 2

#: The levels of locality, in order: on a node with the data, in its rack, and beyond. `hops` of a topology gives the
#: distance of each level, and `times` of a task its duration there.
HOPS = ("node", "rack", "off_rack")

#: Stands for an omitted column until `__post_init__` fills it, so that a column's type needs no "or None".
OMITTED: Any = None

Form = Literal[
    "integer",
    "number",
    "choice",
    "label",
    "reference",
    "resources",
    "numbers",
    "references",
    "rates",
    "levels",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """How a field of a record is held: the part of an instance, its attribute, and the form.

    Attributes
    ----------
    table, field
        The records that have the field (`nodes`, `groups`, `jobs`, `tasks`, `shuffle`, or `arcs`), and its name in the
        format.
    part, attribute
        `cluster`, `workload`, `state` or `shuffle`, and the attribute there; a network is itself the part.
    form
        `integer`, `number`, `choice` (an index into `choices`), `label` (an index into the names that appear, which are
        in `<attribute>_ids`), `reference` (an index into the table `target`), `resources` (a column for each key),
        `numbers` and `references` (ragged rows), `rates` (a number, or one for each node type), and `levels` (a number
        for each of `HOPS`, or none at all; shape (records, 3)).
    default
        The value in a record without the field; NaN: none.
    default_of
        An attribute of the cluster whose value is used instead in such a record.
    signed
        Whether it may be negative.
    always
        Whether an archive has it even if no record has the field.
    hindsight
        Whether it is known only afterwards, so that no policy may see it.
    digest
        The name of the column in the digest of an instance, if it is not `part.attribute`.
    """

    table: str
    field: str
    part: str
    attribute: str
    form: Form
    default: float = math.nan
    default_of: str = ""
    target: str = ""
    choices: tuple[str, ...] = ()
    signed: bool = False
    always: bool = False
    hindsight: bool = False
    digest: str = ""

    @property
    def dtype(self) -> type:
        """The type of its entries."""
        return np.int64 if self.form in ("integer", "choice", "label", "reference", "references") else np.float64

    def values_in(self, noun: Any) -> Any:
        """The column's values in an instance or a network."""
        part = noun.workload.shuffle or NOTHING_SENT if self.part == "shuffle" else getattr(noun, self.part, noun)
        return getattr(part, self.attribute)

    def parts_in(self, noun: Any) -> Iterator[tuple[str, Any]]:
        """The values by resource, level of locality or type of node if it has several; else under ""."""
        values = self.values_in(noun)
        if self.form == "resources":
            yield from values.items()
        elif self.form == "levels":
            yield from zip(HOPS, values.T, strict=True)
        else:
            yield "", values
        if self.form == "rates" and noun.workload.rate_in_by_type is not None:
            yield from zip(noun.cluster.type_ids.tolist(), noun.workload.rate_in_by_type.T, strict=True)

    def default_in(self, cluster: Any) -> Any:
        """The value in records without the field: one for all, or one for each."""
        return getattr(cluster, self.default_of) if self.default_of else self.default

    def filled(self, values: Any, count: int) -> Any:
        """The column of `count` records, read-only and of its type. None: all of them omit the field.

        InputError if the values are not of its type.
        """
        ragged = self.form in ("numbers", "references")
        try:
            if self.form == "resources":
                return _resources(values or {})
            if values is not None:
                return _rows(values, self.dtype) if ragged else _exact(values, self.dtype)
        except (AttributeError, OverflowError, TypeError, ValueError):
            what = "whole numbers" if self.dtype is np.int64 else "numbers"
            what += " by resource" * (self.form == "resources") + " in rows" * ragged
            message = f"expected {what}, got {' '.join(repr(values).split()):.60}"
            raise InputError([Fault(f"{self.table}.{self.field}", message)]) from None
        if ragged:
            return Ragged.empty(count, self.dtype)
        if self.form == "levels":
            return np.broadcast_to(self.default, (count, len(HOPS)))  # read-only: takes no memory
        column: npt.NDArray[Any] = np.full(count, self.default, self.dtype)
        column.setflags(write=False)
        return column


def as_column(table: str, form: Form, default: float | None = None, **metadata: Any) -> dict[str, Any]:
    """The metadata of an attribute that is a column: its table, its form, and the other fields of `Column`."""
    if default is None:
        default = -1 if form in ("label", "reference") else math.nan
    return {"table": table, "form": form, "default": default, **metadata}


def _rows_of(table: str) -> dict[str, Any]:
    """The metadata of an attribute that has an entry for each record of a table, but is no column of the format."""
    return {"table": table}


@cache
def _described(part: type) -> dict[str, dict[str, Any]]:
    """The metadata of the attributes of a part, by their names."""
    hints = get_type_hints(part, include_extras=True).items()
    return {name: hint.__metadata__[0] for name, hint in hints if get_origin(hint) is Annotated}


@cache
def columns_of(part: type) -> tuple[Column, ...]:
    """The columns of a part of an instance, or of a network, in its order."""
    return tuple(
        Column(**{"field": attribute, "part": part.__name__.lower(), "attribute": attribute, **metadata})
        for attribute, metadata in _described(part).items()
        if "form" in metadata
    )


def ids_in(table: str) -> tuple[str, str]:
    """The part and the attribute that hold the ids of a table."""
    return "cluster" if table == "nodes" else "workload", f"{table[:-1]}_ids"


def ids_of(noun: Any, table: str) -> Strings:
    """The ids of a table of an instance or a network."""
    part, attribute = ids_in(table)
    ids: Strings = getattr(getattr(noun, part, noun), attribute)
    return ids


def _exact(values: npt.ArrayLike, dtype: type) -> npt.NDArray[Any]:
    """A read-only array of `dtype`; ValueError if that would change a number."""
    array = np.asarray(values)
    if dtype is np.int64 and array.dtype.kind in "fuO":
        whole = np.floor(array.astype(np.float64) if array.dtype == object else array)
        if not ((np.abs(array) < 2**63) & (array == whole)).all():
            raise ValueError
    return read_only(values, dtype)


def _rows(values: Any, dtype: type) -> Ragged:
    """Ragged rows of `dtype`, also from lists of lists; ValueError if that would change a number."""
    rows = values if isinstance(values, Ragged) else Ragged.from_rows(values, np.float64)
    return rows if rows.values.dtype == dtype else Ragged(rows.starts, _exact(rows.values, dtype))


def _resources(columns: Mapping[str, npt.ArrayLike]) -> Mapping[str, Floats]:
    """A column of numbers for each resource, read-only; a resource without any number is left out."""
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

    def __repr__(self) -> str:
        held = counted(len(self.links), "link") if self.form == "links" else self.form
        return brief(f"Topology: {held}")


@dataclass(frozen=True, eq=False)
class Shuffle(Part):
    """The shuffle: what each map sends to each reduce in total, as parallel columns of task indices and MB."""

    map: Annotated[Ints, as_column("shuffle", "reference", math.nan, target="tasks", always=True)]
    reduce: Annotated[Ints, as_column("shuffle", "reference", math.nan, target="tasks", always=True)]
    size: Annotated[Floats, as_column("shuffle", "number", always=True)]

    def __post_init__(self) -> None:
        fill(self)

    def __len__(self) -> int:
        return int(self.map.size)  # also if it is not a list, which is a fault

    def __repr__(self) -> str:
        return brief(f"Shuffle: {counted(len(self), 'transfer')}")

    def between(self, tasks: Ints, count: int) -> tuple[Shuffle, Ints]:
        """The entries between two of the given tasks out of `count`, renumbered; and which entries these are."""
        number = np.full(count, -1)
        number[tasks] = np.arange(len(tasks))
        ends = number[self.map], number[self.reduce]
        keep = (ends[0] >= 0) & (ends[1] >= 0)
        return Shuffle(ends[0][keep], ends[1][keep], self.size[keep]), np.flatnonzero(keep)


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

    def __repr__(self) -> str:
        held = [name for name in ("cost", "allowed") if getattr(self, name) is not None]
        return brief(f"Pairs: {', '.join([*held, *(f'demand.{name}' for name in self.demand)]) or 'nothing'}")


@dataclass(frozen=True, eq=False)
class Cluster(Part):
    """The nodes, as columns of shape (nodes,). Omitted columns take the defaults of the instance format.

    `rack`, `datacenter`, `type` are indices into `rack_ids`, `datacenter_ids`, `type_ids`, or -1. `rate_process`,
    `rate_in`, `rate_out` are Hsu and Freeh's R_p, R_in and R_out, in MB/s.
    """

    node_ids: Strings
    rack: Annotated[Ints, as_column("nodes", "label")] = OMITTED
    rack_ids: Strings = OMITTED
    datacenter: Annotated[Ints, as_column("nodes", "label")] = OMITTED
    datacenter_ids: Strings = OMITTED
    type: Annotated[Ints, as_column("nodes", "label")] = OMITTED
    type_ids: Strings = OMITTED
    slots: Annotated[Ints, as_column("nodes", "integer", 1)] = OMITTED
    reduce_slots: Annotated[Ints, as_column("nodes", "integer", 1)] = OMITTED
    rate_process: Annotated[Floats, as_column("nodes", "number")] = OMITTED
    rate_in: Annotated[Floats, as_column("nodes", "number")] = OMITTED
    rate_out: Annotated[Floats, as_column("nodes", "number")] = OMITTED
    capacity: Annotated[Mapping[str, Floats], as_column("nodes", "resources")] = field(default_factory=dict)
    topology: Topology | None = None

    def __post_init__(self) -> None:
        fill(self)

    def __len__(self) -> int:
        return len(self.node_ids)

    def __repr__(self) -> str:
        sizes = f"{counted(len(self), 'node')}, {counted(len(self.rack_ids), 'rack')}"
        return brief(f"Cluster: {sizes}, {counted(int(self.slots.sum()), 'slot')}")


@dataclass(frozen=True, eq=False)
class Workload(Part):
    """Groups, jobs and tasks, as columns. Omitted columns take the defaults of the instance format.

    `replicas` has one row per task: the indices of the nodes with its block. `rate_in` is the task's demand in MB/s if
    it is one number; `rate_in_by_type` (shape (tasks, types), NaN if not given) if it depends on the node's type.
    `duration`, in seconds, is how long the task took, or takes anywhere. `times`, shape (tasks, 3), is its duration by
    locality: on a node with its block, in the rack of one, beyond (NaN: not given; all three or none). Sizes are in MB.
    """

    task_ids: Annotated[Strings, _rows_of("tasks")]
    job: Annotated[Ints, as_column("tasks", "reference", target="jobs")] = OMITTED
    kind: Annotated[Ints, as_column("tasks", "choice", MAP, choices=KINDS)] = OMITTED
    replicas: Annotated[Ragged, as_column("tasks", "references", target="nodes")] = OMITTED
    size: Annotated[Floats, as_column("tasks", "number")] = OMITTED
    rate_in: Annotated[Floats, as_column("tasks", "rates")] = OMITTED
    rate_in_by_type: Annotated[Floats | None, _rows_of("tasks")] = None
    observed: Annotated[Ints, as_column("tasks", "reference", target="nodes", hindsight=True)] = OMITTED
    duration: Annotated[Floats, as_column("tasks", "number", hindsight=True)] = OMITTED
    times: Annotated[Floats, as_column("tasks", "levels", hindsight=True)] = OMITTED
    demand: Annotated[Mapping[str, Floats], as_column("tasks", "resources")] = field(default_factory=dict)
    demand_shuffle: Annotated[Mapping[str, Floats], as_column("tasks", "resources")] = field(default_factory=dict)
    job_ids: Annotated[Strings, _rows_of("jobs")] = OMITTED
    job_group: Annotated[Ints, as_column("jobs", "reference", field="group", target="groups")] = OMITTED
    arrival: Annotated[Floats, as_column("jobs", "number", signed=True)] = OMITTED
    goal: Annotated[Floats, as_column("jobs", "number", signed=True)] = OMITTED
    filter_ratio: Annotated[Floats, as_column("jobs", "number")] = OMITTED
    map_time: Annotated[Floats, as_column("jobs", "number")] = OMITTED
    group_ids: Annotated[Strings, _rows_of("groups")] = OMITTED
    group_weight: Annotated[Floats, as_column("groups", "number", field="weight")] = OMITTED
    shuffle: Shuffle | None = None
    pairs: Pairs | None = None

    def __post_init__(self) -> None:
        fill(self)
        if self.rate_in_by_type is not None:
            rates = read_only(self.rate_in_by_type, np.float64)
            object.__setattr__(self, "rate_in_by_type", None if np.isnan(rates).all() else rates)
        if self.shuffle is not None and not len(self.shuffle):
            object.__setattr__(self, "shuffle", None)
        if self.pairs is not None and self.pairs.cost is None and self.pairs.allowed is None and not self.pairs.demand:
            object.__setattr__(self, "pairs", None)

    def __len__(self) -> int:
        return len(self.task_ids)

    def __repr__(self) -> str:
        kinds = zip(np.bincount(self.kind, minlength=len(KINDS)).tolist(), KINDS, strict=True)
        counts = ", ".join(counted(count, kind) for count, kind in kinds if count) or "no task"
        return brief(f"Workload: {counts} of {counted(len(self.job_ids), 'job')}")

    @cached_property
    def group(self) -> Ints:
        """Group of each task through its job, or -1; shape (tasks,)."""
        groups = np.append(self.job_group, -1)  # a task without a job picks the last entry
        return read_only(groups[self.job], np.int64)

    def sending_nothing(self) -> Workload:
        """The same with an empty shuffle: it is known that nothing is sent, while without a shuffle nothing is known.

        Snapshots of runs use it. No file can tell the two apart.
        """
        other = replace(self, shuffle=None)
        object.__setattr__(other, "shuffle", NOTHING_SENT)
        return other

    def foreseen(self, tasks: Ints, jobs: Ints) -> Workload:
        """The given tasks and jobs, renumbered, and all groups, without columns of hindsight, shuffle and pairs."""
        return self._with_rows(tasks, jobs, hindsight=False)

    def taken(self, tasks: Ints, jobs: Ints) -> Workload:
        """The given tasks and jobs, renumbered, and all groups, with all of their columns."""
        pairs, shuffle = self.pairs, self.shuffle
        if pairs is not None:
            pairs = Pairs(_taken(pairs.cost, tasks), _taken(pairs.demand, tasks), _taken(pairs.allowed, tasks))
        between = None if shuffle is None else shuffle.between(tasks, len(self))[0]
        return replace(self._with_rows(tasks, jobs, hindsight=True), shuffle=between, pairs=pairs)

    def first(self, tasks: int, jobs: int) -> Workload:
        """The first tasks and jobs, and all groups, as views of the same memory.

        The first tasks must belong to the first jobs; shuffle and pairs are left out.
        """
        if tasks == len(self) and jobs == len(self.job_ids):
            return self
        counts = {"tasks": tasks, "jobs": jobs, "groups": len(self.group_ids)}
        other = object.__new__(Workload)
        for name, metadata in _described(Workload).items():
            values = _taken(getattr(self, name), slice(counts[metadata["table"]]))
            object.__setattr__(other, name, _resources(values) if isinstance(values, dict) else values)
        rates = other.rate_in_by_type
        none = {"rate_in_by_type"} if rates is not None and np.isnan(rates).all() else set()
        for name in (*none, "shuffle", "pairs"):
            object.__setattr__(other, name, None)
        return other

    def _with_rows(self, tasks: Ints, jobs: Ints, hindsight: bool) -> Workload:
        rows = {"tasks": tasks, "jobs": jobs, "groups": np.arange(len(self.group_ids))}
        seen = {
            name: _taken(getattr(self, name), rows[metadata["table"]])
            for name, metadata in _described(Workload).items()
            if hindsight or not metadata.get("hindsight")
        }
        number = np.full(len(self.job_ids) + 1, -1)  # a task without a job picks the last entry
        number[jobs] = np.arange(len(jobs))
        return Workload(**{**seen, "job": number[seen["job"]]})


@dataclass(frozen=True, eq=False)
class State(Part):
    """The state: what changes from one snapshot to the next, and its `time` in seconds.

    `status`, `node`, `start` have shape (tasks,): one of `PENDING`, `RUNNING`, `FINISHED`; the node it runs or ran on,
    or -1; the time it started, or NaN. `idle_slots`, `idle_reduce_slots`, `load` have shape (nodes,). `idle_slots` is
    what is free now, as given: it is not computed from the running tasks. `bytes_read`, shape (tasks,), is how many MB
    of its input each task has read (Shen et al.'s d_j), or NaN. `out_in_use`, shape (nodes,), is the rate at which each
    node sends data, in MB/s (Hsu and Freeh's r_out; default 0). `running_rates` has, for each node, the input rates of
    tasks that run there but are not listed as tasks, in MB/s. `group_running_tasks`, shape (groups,), counts a group's
    tasks that run but are not listed as tasks (-1: not given). `emitted`, shape (entries of the shuffle,), is how many
    MB the map has sent so far, or NaN.
    """

    status: Annotated[Ints, as_column("tasks", "choice", PENDING, field="state", choices=STATES)]
    node: Annotated[Ints, as_column("tasks", "reference", target="nodes")]
    start: Annotated[Floats, as_column("tasks", "number", signed=True)]
    idle_slots: Annotated[Ints, as_column("nodes", "integer", default_of="slots")]
    idle_reduce_slots: Annotated[Ints, as_column("nodes", "integer", default_of="reduce_slots")]
    load: Annotated[Floats, as_column("nodes", "number", 0)]
    bytes_read: Annotated[Floats, as_column("tasks", "number", digest="workload.bytes_read")] = OMITTED
    out_in_use: Annotated[Floats, as_column("nodes", "number", 0, digest="cluster.out_in_use")] = OMITTED
    running_rates: Annotated[Ragged, as_column("nodes", "numbers", digest="cluster.running_rates")] = OMITTED
    group_running_tasks: Annotated[
        Ints, as_column("groups", "integer", -1, field="running_tasks", digest="workload.group_running_tasks")
    ] = OMITTED
    emitted: Annotated[Floats, as_column("shuffle", "number", always=True, digest="workload.shuffle.emitted")] = OMITTED
    time: float = 0

    def __post_init__(self) -> None:
        fill(self, nodes=np.size(self.load), tasks=np.size(self.status))

    def __repr__(self) -> str:
        tasks = ", ".join(f"{np.count_nonzero(self.status == row)} {name}" for row, name in enumerate(STATES))
        return brief(f"State: {tasks}; {counted(int(self.idle_slots.sum()), 'idle slot')}")

    def of(self, workload: Workload) -> State:
        """The same with the omitted columns whose length only the workload gives.

        Without a shuffle nothing is emitted; with one, `emitted` is unknown unless given.
        """
        entries = len(workload.shuffle or ())
        given = self.emitted is not None and bool(self.emitted.size) == bool(entries)
        if self.group_running_tasks is not None and given:
            return self
        state = replace(self) if given else replace(self, emitted=OMITTED)
        fill(state, groups=len(workload.group_ids), shuffle=entries)
        return state

    def taken(self, tasks: Ints, entries: Ints) -> State:
        """The state with only the given tasks and entries of the shuffle, and all nodes."""
        columns = [column.attribute for column in columns_of(State) if column.table == "tasks"]
        kept = {name: getattr(self, name)[tasks] for name in columns}
        return replace(self, **kept, emitted=self.emitted[entries])

    @classmethod
    def initial(
        cls, cluster: Cluster, workload: Workload, *, time: float = 0, **columns: npt.ArrayLike | Ragged | None
    ) -> State:
        """The state in which nothing runs and every slot is idle, except for the given `columns`."""
        counts = {"nodes": len(cluster), "groups": len(workload.group_ids), "tasks": len(workload)}
        counts["shuffle"] = len(workload.shuffle or ())
        defaults = {
            column.attribute: column.default_in(cluster)
            if column.default_of
            else column.filled(None, counts[column.table])
            for column in columns_of(State)
        }
        given = {name: values for name, values in columns.items() if values is not None}
        return cls(**{**defaults, **given}, time=time).of(workload)


def _taken(values: Any, rows: Ints | slice) -> Any:
    """The given rows of an attribute of any form, or the first ones."""
    if values is None:
        return None
    if isinstance(values, Mapping):
        return {name: column[rows] for name, column in values.items()}
    if isinstance(values, Ragged):
        return values.first(rows.stop) if isinstance(rows, slice) else values.take(rows)
    return values[rows]


def fill(part: Any, **counts: int) -> None:
    """Give omitted columns their defaults and make every column a read-only array of its type.

    `counts` has the number of records of tables whose ids are not in the part. If it is not known, a column stays
    omitted. InputError if ids are in no list, or values are not of the type of their column.
    """
    faults = []
    for name in (held.name for held in fields(part) if held.name.endswith("_ids")):
        names = getattr(part, name)
        ids = read_only_strings([] if names is None else names)
        object.__setattr__(part, name, ids)
        counts[name.replace("_ids", "s")] = ids.size
        if ids.ndim != 1:
            faults.append(Fault(name, f"has shape {ids.shape}: give one id a record, in one dimension"))
    if faults:  # no column has a length to compare with
        raise InputError(faults)
    kind: type = type(part)
    required = {held.name for held in fields(part) if held.default is MISSING}
    for column in columns_of(kind):
        values = getattr(part, column.attribute)
        if values is None and column.attribute in required:
            faults.append(Fault(f"{column.table}.{column.field}", "is missing: give one for each"))
        elif values is not None or column.table in counts:
            try:
                object.__setattr__(part, column.attribute, column.filled(values, counts.get(column.table, 0)))
            except InputError as error:
                faults += error.faults
    if faults:
        raise InputError(faults)


#: The shuffle of an instance without one.
NOTHING_SENT = Shuffle(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
