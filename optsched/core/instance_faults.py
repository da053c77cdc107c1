"""Checks instances from any source, and reports every fault with its place.

`optsched.instances` finds the faults of a file's text, before there are columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from optsched.core.arrays import LARGEST, Ints, Ragged, Strings
from optsched.core.errors import Fault
from optsched.core.parts import (
    HOPS,
    MAP,
    NOTHING_SENT,
    PENDING,
    REDUCE,
    RUNNING,
    Cluster,
    Column,
    Shuffle,
    State,
    Workload,
    columns_of,
    ids_of,
)

#: How deep the values of `parameters` may be nested.
DEEPEST = 32


def header_faults(
    texts: Mapping[str, Any], time: Any, labels: Mapping[Any, Any], parameters: Mapping[Any, Any]
) -> Iterator[Fault]:
    """Faults of everything that is not a column: texts by their names, time, labels, parameters."""
    for name, text in texts.items():
        yield from free_form_faults(name, text, str)
    if isinstance(time, bool) or not isinstance(time, int | float) or not abs(time) <= LARGEST:
        yield Fault("time", f"{time!r} is no instant between -2^53 and 2^53")
    for label, text in labels.items():
        yield from free_form_faults(f"labels.{key_in_place(label)}", label, str)
        yield from free_form_faults(f"labels.{key_in_place(label)}", text, str)
    for problem, values in parameters.items():
        yield from free_form_faults(f"parameters.{key_in_place(problem)}", problem, str)
        yield from free_form_faults(f"parameters.{key_in_place(problem)}", values, Mapping)


def half_characters(text: str) -> bool:
    """Whether a text contains a lone surrogate, which no file can hold."""
    return not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)


def key_in_place(key: object) -> str:
    """A key as part of a place, however long or strange it is."""
    text = str(key)
    return text if len(text) <= 60 and text.isprintable() else ascii(text[:40])[1:-1] + "..."


def free_form_faults(place: str, value: Any, kind: type = object, depth: int = 0) -> Iterator[Fault]:
    """The faults that would change a free-form value when it is written as JSON and read back."""
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


#: The names to which labels refer.
_LABEL_IDS = ("rack_ids", "datacenter_ids", "type_ids")


def column_faults(cluster: Cluster, workload: Workload, state: State) -> Iterator[Fault]:
    """Everything wrong with the columns of an instance."""
    parts = SimpleNamespace(cluster=cluster, workload=workload, state=state)
    names = {table: ids_of(parts, table) for table in ("nodes", "groups", "jobs", "tasks")}
    names |= {label: getattr(cluster, label) for label in _LABEL_IDS}
    yield from _resource_faults(cluster, workload)
    fit = yield from table_faults(parts, (Cluster, Workload, Shuffle, State), names)
    if fit:  # the remaining checks compare columns with one another
        yield from _state_faults(cluster, workload, state)
        yield from _replica_faults(cluster, workload)
        yield from _rate_faults(cluster, workload)
        yield from _time_faults(workload)
        yield from _pair_faults(cluster, workload)
        yield from _topology_faults(cluster)
        yield from _shuffle_faults(workload)


def table_faults(noun: Any, parts: Iterable[type], names: Mapping[str, Strings]) -> Generator[Fault, None, bool]:
    """Faults of ids and of each column by itself; returns whether every column has an entry for each record.

    `names` has the ids of each table, and the names to which labels refer.
    """
    for table, ids in names.items():
        yield from id_faults(table, ids)
    fit = True
    for column in (column for part in parts for column in columns_of(part)):
        rows = len(noun.workload.shuffle or ()) if column.table == "shuffle" else len(names[column.table])
        misshapen = list(_shape_faults(column, noun, rows))
        fit = fit and not misshapen
        yield from misshapen or _entry_faults(column, noun, names)
    return fit


def _shape_faults(column: Column, noun: Any, rows: int) -> Iterator[Fault]:
    """Arrays of a column that do not have an entry for each of some rows."""
    values, place = column.values_in(noun), f"{column.table}.{column.field}"
    if column.form in ("numbers", "references"):
        if not _row_starts_fit(values, rows):
            yield Fault(place, f"the row starts must run from 0 to {values.values.size} over {rows} rows")
    elif column.form == "resources":
        for name, amounts in values.items():
            yield from _unless_of_shape(f"{place}.{name}", amounts, (rows,), column.table)
    elif column.form == "levels":
        yield from _unless_of_shape(place, values, (rows, len(HOPS)), f"{column.table} x levels of locality")
    else:
        yield from _unless_of_shape(place, values, (rows,), column.table)
        if column.form == "rates" and (by_type := noun.workload.rate_in_by_type) is not None:
            types = len(noun.cluster.type_ids)
            yield from _unless_of_shape(place, by_type, (rows, types), f"{column.table} x types")


def _unless_of_shape(place: str, values: npt.NDArray[Any], shape: tuple[int, ...], meaning: str) -> list[Fault]:
    wrong = Fault(place, f"has shape {values.shape}, not {meaning} {shape}")
    return [] if values.shape == shape else [wrong]


def _row_starts_fit(ragged: Ragged, rows: int) -> bool:
    starts = ragged.starts
    return bool(
        starts.shape == (rows + 1,)
        and ragged.values.ndim == 1
        and starts[0] == 0
        and starts[-1] == len(ragged.values)
        and np.all(starts[1:] >= starts[:-1])
    )


def _entry_faults(column: Column, noun: Any, names: Mapping[str, Strings]) -> Iterator[Fault]:
    """Entries of a column that refer to nothing, or are no numbers of its range."""
    for key, values in column.parts_in(noun):
        ragged, name = isinstance(values, Ragged), f"{column.field}.{key}" if key else column.field
        place = places(column.table, name, values.starts if ragged else None)
        entries = values.values if ragged else values
        if column.form in ("choice", "label", "reference", "references"):
            count = len(column.choices) or len(names[column.target or f"{column.attribute}_ids"])
            what = column.target[:-1] or column.field
            for row in np.flatnonzero((entries < (-1 if column.default == -1 else 0)) | (entries >= count)).tolist():
                yield Fault(place(row), f"there is no {what} {entries[row]}")
        else:
            yield from _number_faults(place, entries, column.signed, column.default, ragged or column.default == 0)


def places(table: str, field: str, starts: Ints | None = None) -> Callable[[int], str]:
    """The place of each entry of a field; `starts` are those of ragged rows.

    >>> places("tasks", "size")(3), places("tasks", "replicas", np.array([0, 2, 3]))(2)
    ('tasks[3].size', 'tasks[1].replicas[0]')
    """
    if starts is None:
        return lambda row: f"{table}[{row}].{field}"

    def place(entry: int) -> str:
        row = int(np.searchsorted(starts, entry, side="right")) - 1
        return f"{table}[{row}].{field}[{entry - starts[row]}]"

    return place


def _number_faults(
    place: Callable[..., str],
    values: npt.NDArray[Any],
    signed: bool = False,
    default: float = math.nan,
    needed: bool = False,
) -> Iterator[Fault]:
    """Entries beyond 2^53, and negative ones unless `signed`, except the `default`; NaN only if it is `needed`."""
    wrong = ~(values <= LARGEST) if needed else values > LARGEST
    wrong |= values < (-LARGEST if signed else 0)
    if wrong.any():
        wrong &= values != default
    for at in zip(*np.nonzero(wrong), strict=True):
        value = values[at]
        if np.isnan(value):
            yield Fault(place(*at), "is no number" + "; where nothing is known it is 0" * (default == 0))
        else:
            why = "is negative" if value < 0 and not signed else "is past 2^53"
            yield Fault(place(*at), f"{value} {why}")


def _resource_faults(cluster: Cluster, workload: Workload) -> Iterator[Fault]:
    """Resources with an invalid name."""
    named = {"nodes.capacity": cluster.capacity, "tasks.demand": workload.demand}
    named["tasks.demand_shuffle"] = workload.demand_shuffle
    if workload.pairs is not None:
        named["pairs.demand"] = workload.pairs.demand
    for place, resources in named.items():
        for name in resources:
            if not name or not name.isprintable():
                yield Fault(place, f"{name!r} names no resource: give a non-empty string of printable characters")


def id_faults(table: str, ids: Strings) -> Iterator[Fault]:
    """Ids that are repeated, empty, or not printable."""
    if _surely_sound(ids):
        return
    first: dict[str, int] = {}
    for row, name in enumerate(ids.tolist()):
        if first.setdefault(name, row) != row:
            yield Fault(f"{table}[{row}].id", f'"{name}" is the id of {table}[{first[name]}] already')
        if not name or not name.isprintable():
            yield Fault(f"{table}[{row}].id", f"{name!r} must be a non-empty string of printable characters")


def _surely_sound(ids: Strings) -> bool:
    """Whether all ids are printable ASCII and have different hashes: far faster than a look at each of a million."""
    if not ids.size:
        return True
    codes = ids.view(np.uint32).reshape(len(ids), -1)
    lengths = np.strings.str_len(ids)
    if not lengths.all() or np.count_nonzero(codes - np.uint32(32) < 95) != lengths.sum():
        return False  # an empty id, or a character that is none of the 95 printable ones
    hashes = np.zeros(len(ids), dtype=np.uint64)
    for characters in codes.T:
        hashes *= np.uint64(0x9E3779B97F4A7C15)
        hashes += characters
    hashes.sort()
    return not (hashes[1:] == hashes[:-1]).any()


def _state_faults(cluster: Cluster, workload: Workload, state: State) -> Iterator[Fault]:
    """Idle slots that do not exist, running tasks that run nowhere, and pending ones that run somewhere."""
    for idle, slots in (("idle_slots", "slots"), ("idle_reduce_slots", "reduce_slots")):
        free, all_slots = getattr(state, idle), getattr(cluster, slots)
        for row in np.flatnonzero(free > all_slots).tolist():
            yield Fault(f"nodes[{row}].{idle}", f"{free[row]} is more than its {all_slots[row]} {slots}")
    for row in np.flatnonzero((state.status == RUNNING) & (state.node < 0)).tolist():
        yield Fault(f"tasks[{row}].node", "a running task needs the node it runs on")
    for row in np.flatnonzero((state.status == PENDING) & (state.node >= 0)).tolist():
        yield Fault(f"tasks[{row}].node", "a pending task runs on no node; leave it out, or set its state")


def _replica_faults(cluster: Cluster, workload: Workload) -> Iterator[Fault]:
    """Nodes that are named twice in the replicas of a task."""
    replicas, place = workload.replicas, places("tasks", "replicas", workload.replicas.starts)
    for entry in _repeated(replicas).tolist():
        node = int(replicas.values[entry])
        named = cluster.node_ids[node] if 0 <= node < len(cluster) else node
        yield Fault(place(entry), f'node "{named}" is named twice')


def _repeated(ragged: Ragged) -> Ints:
    """Entries whose value occurs earlier in their row, increasing."""
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


def _rate_faults(cluster: Cluster, workload: Workload) -> Iterator[Fault]:
    """Tasks with a rate for all nodes and others by type, and rates for types without a node."""
    if workload.rate_in_by_type is None:
        return
    given = ~np.isnan(workload.rate_in_by_type)
    for row in np.flatnonzero(given.any(axis=1) & ~np.isnan(workload.rate_in)).tolist():
        yield Fault(f"tasks[{row}].rate_in", "is given both as one number and by node type; give one of them")
    unused = np.setdiff1d(np.arange(len(cluster.type_ids)), cluster.type)
    for column in unused[given[:, unused].any(axis=0)].tolist():
        row = int(np.flatnonzero(given[:, column])[0])
        name = cluster.type_ids[column]
        yield Fault(f"tasks[{row}].rate_in.{name}", f'no node is of type "{name}"')


def _time_faults(workload: Workload) -> Iterator[Fault]:
    """Tasks with the times of some levels of locality, but not of all."""
    left_out = np.isnan(workload.times.T)
    for level, row in zip(*np.nonzero(left_out & ~left_out.all(axis=0)), strict=True):
        yield Fault(f"tasks[{row}].times.{HOPS[level]}", f"is not given; give {', '.join(HOPS)} or none of them")


def _pair_faults(cluster: Cluster, workload: Workload) -> Iterator[Fault]:
    """Faults of the matrices of tasks and nodes."""
    if workload.pairs is None:
        return
    demand = {f"demand.{name}": matrix for name, matrix in workload.pairs.demand.items()}
    shape = len(workload), len(cluster)
    for name, matrix in {"cost": workload.pairs.cost, **demand, "allowed": workload.pairs.allowed}.items():
        if matrix is not None:
            yield from _unless_of_shape(f"pairs.{name}", matrix, shape, "tasks x nodes") or _number_faults(
                _cells(f"pairs.{name}"), matrix, signed=name == "cost", needed=True
            )
    for name in workload.pairs.demand.keys() - cluster.capacity.keys():
        yield Fault(f"pairs.demand.{name}", "no node has this resource in its capacity")


def _cells(matrix: str) -> Callable[[int, int], str]:
    """The place of each entry of a matrix."""
    return lambda row, column: f"{matrix}[{row}][{column}]"


def _topology_faults(cluster: Cluster) -> Iterator[Fault]:
    """Faults of the distances, in any of the four forms."""
    topology, nodes = cluster.topology, len(cluster)
    if topology is None:
        return
    if topology.form == "hops":
        hops = topology.hops or {}
        for name in HOPS:
            value = hops.get(name, -1)
            if not 0 <= value <= LARGEST:
                yield Fault(f"topology.hops.{name}", f"{hops.get(name)} must be a distance, 0 or more")
        for name in hops.keys() - set(HOPS):
            yield Fault(f"topology.hops.{name}", f"is none of {', '.join(HOPS)}")
    elif topology.form == "links":
        for row, (one, other, rate) in enumerate(topology.links):
            if not 0 < rate <= LARGEST:
                yield Fault(f"topology.links[{row}].rate", f"{rate} must be a rate in MB/s above 0")
            for name, end in (("from", one), ("to", other)):
                if not end or not end.isprintable():
                    yield Fault(f"topology.links[{row}].{name}", f"{end!r} must be a non-empty, printable name")
    else:
        place, matrix = f"topology.{topology.form}", np.zeros(0) if topology.matrix is None else topology.matrix
        misshapen = _unless_of_shape(place, matrix, (nodes, nodes), "nodes x nodes")
        yield from misshapen or _number_faults(_cells(place), matrix, needed=True)
        if topology.form == "distance" and not misshapen:
            for row in np.flatnonzero(np.diagonal(matrix) != 0).tolist():
                yield Fault(f"{place}[{row}][{row}]", "the distance of a node to itself must be 0")


def _shuffle_faults(workload: Workload) -> Iterator[Fault]:
    """Transfers of the shuffle from what is no map, to what is no reduce, and without a size."""
    shuffle, tasks = workload.shuffle or NOTHING_SENT, len(workload)
    for name, kind, indices in (("map", MAP, shuffle.map), ("reduce", REDUCE, shuffle.reduce)):
        known = (indices >= 0) & (indices < tasks)
        of_kind = np.append(workload.kind, kind)[np.where(known, indices, tasks)] == kind
        for row in np.flatnonzero(~of_kind).tolist():
            yield Fault(f"shuffle[{row}].{name}", f'task "{workload.task_ids[indices[row]]}" is no {name}')
    for row in np.flatnonzero(np.isnan(shuffle.size)).tolist():
        yield Fault(f"shuffle[{row}].size", "is not given")
