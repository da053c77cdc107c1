"""Checks instances from any source, and reports every fault with its place.

`optsched.instances` finds the faults of a file's text, before there are columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from operator import attrgetter
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from optsched.core.arrays import LARGEST, Floats, Ints, Ragged, Strings
from optsched.core.errors import Fault
from optsched.core.parts import (
    HOPS,
    MAP,
    PENDING,
    REDUCE,
    RUNNING,
    Cluster,
    Column,
    State,
    Topology,
    Workload,
    columns_of,
    ids_in,
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


#: Forms of columns that may have more or fewer than one entry per record.
_OF_SEVERAL = ("numbers", "references", "resources", "levels")

#: Fields of nodes that are names.
_LABELS = ("rack", "datacenter", "type")


def column_faults(cluster: Cluster, workload: Workload, state: State) -> Iterator[Fault]:
    """Everything wrong with the columns of an instance, in the order of its parts."""
    parts = SimpleNamespace(cluster=cluster, workload=workload, state=state)
    held = [(column, column.values_in(parts)) for kind in (Cluster, Workload, State) for column in columns_of(kind)]
    tables = {table: attrgetter(".".join(ids_in(table)))(parts) for table in ("nodes", "groups", "jobs", "tasks")}
    counts = {table: len(ids) for table, ids in tables.items()}
    counts |= {label: len(getattr(cluster, f"{label}_ids")) for label in _LABELS}
    for column, values in held:
        if column.form == "number" and not math.isnan(column.default):
            for row in np.flatnonzero(np.isnan(values)).tolist():
                yield Fault(f"{column.table}[{row}].{column.field}", "is no number; where nothing is known it is 0")
    yield from _resource_faults(cluster, workload)
    misshapen = False
    for table, ids in tables.items():
        yield from id_faults(table, ids)
        own = [(column, values) for column, values in held if column.table == table]
        entries = [(column.field, column, values) for column, values in own if column.form not in _OF_SEVERAL]
        for column, amounts in own:
            if column.form == "resources":
                entries += [(f"{column.field}.{name}", column, values) for name, values in amounts.items()]
        for name, column, values in entries:
            if values.shape == ids.shape:
                yield from _entry_faults(name, column, values, counts)
            else:
                misshapen = True
                yield Fault(f"{table}.{name}", f"has shape {values.shape} where the table has {len(ids)} records")
    for label in _LABELS:
        yield from id_faults(f"{label}_ids", getattr(cluster, f"{label}_ids"))
    for column, rows in held:
        if isinstance(rows, Ragged) and not _row_starts_fit(rows, count := counts[column.table]):
            misshapen = True
            message = f"the row starts must run from 0 to {rows.values.size} over {count} rows"
            yield Fault(f"{column.table}.{column.field}", message)
    if misshapen:
        return  # the remaining checks compare columns with one another
    yield from _state_faults(cluster, workload, state)
    yield from _replica_faults(cluster, workload)
    rates = state.running_rates
    for entry in np.flatnonzero(~((rates.values >= 0) & (rates.values <= LARGEST))):
        message = f"{rates.values[entry]} must be a rate in MB/s, 0 or more"
        yield Fault(_entry("nodes", "running_rates", rates, entry), message)
    yield from _matrix_faults(cluster, workload)
    yield from _shuffle_faults(workload, state)
    yield from _link_faults(cluster.topology)


def _entry_faults(name: str, column: Column, values: npt.NDArray[Any], counts: Mapping[str, int]) -> Iterator[Fault]:
    """Entries of a column that refer to nothing, or are out of range; `counts` has the length of each target."""
    if column.form not in ("choice", "label", "reference"):
        lowest = -LARGEST if column.signed else -1 if column.default < 0 else 0
        yield from number_faults(column.table, name, values, lowest)
        return
    limit = len(column.choices) or counts[column.target or column.attribute]
    for row in np.flatnonzero((values < (0 if column.choices else -1)) | (values >= limit)).tolist():
        yield Fault(f"{column.table}[{row}].{name}", f"there is no entry {values[row]} to refer to")


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
    """Ids that are repeated, empty, or not printable."""
    names = ids.tolist()
    if all(names) and "".join(names).isprintable() and _surely_distinct(ids):
        return
    first: dict[str, int] = {}
    for row, name in enumerate(names):
        if first.setdefault(name, row) != row:
            yield Fault(f"{table}[{row}].id", f'"{name}" is the id of {table}[{first[name]}] already')
        if not name or not name.isprintable():
            yield Fault(f"{table}[{row}].id", f"{name!r} must be a non-empty string of printable characters")


def _surely_distinct(ids: Strings) -> bool:
    """Whether all ids have different hashes: for a million ids this takes a quarter of the time of a set."""
    hashes = np.zeros(len(ids), dtype=np.uint64)
    for characters in ids.view(np.uint32).reshape(len(ids), -1).T if len(ids) else ():
        hashes *= np.uint64(0x9E3779B97F4A7C15)
        hashes += characters
    hashes.sort()
    return not (hashes[1:] == hashes[:-1]).any()


def number_faults(table: str, name: str, values: npt.NDArray[Any], lowest: int = 0) -> Iterator[Fault]:
    """Infinite, too large and too small entries. NaN means "not given", and so does -1 if it is the lowest."""
    with np.errstate(invalid="ignore"):
        wrong = (values > LARGEST) | (values < lowest)
    for row in np.flatnonzero(wrong).tolist():
        value = values[row]
        why = "is negative" if value < 0 and lowest > -LARGEST else "is past 2^53"
        yield Fault(f"{table}[{row}].{name}", f"{value} {why}")


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
    replicas, nodes = workload.replicas, len(cluster)
    values = replicas.values
    for entry in np.flatnonzero((values < 0) | (values >= nodes)).tolist():
        yield Fault(_entry("tasks", "replicas", replicas, entry), f"there is no node {values[entry]}")
    for entry in _repeated(replicas).tolist():
        node = int(values[entry])
        named = cluster.node_ids[node] if 0 <= node < nodes else node
        yield Fault(_entry("tasks", "replicas", replicas, entry), f'node "{named}" is named twice')


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


def _matrix_faults(cluster: Cluster, workload: Workload) -> Iterator[Fault]:
    """Faults of all matrices: demand by type, times, pairs, topology."""
    nodes, tasks = len(cluster), len(workload)
    matrices: list[tuple[str, Floats, tuple[int, int], bool]] = []
    if workload.rate_in_by_type is not None:
        yield from _rate_by_type_faults(cluster, workload)
    yield from _time_faults(workload)
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


def _time_faults(workload: Workload) -> Iterator[Fault]:
    times, shape = workload.times, (len(workload), len(HOPS))
    if times.shape != shape:
        yield Fault("tasks.times", f"has shape {times.shape}, not tasks x levels of locality {shape}")
        return
    left_out = np.isnan(times)
    for row, level in zip(*np.nonzero(left_out & ~left_out.all(axis=1, keepdims=True)), strict=True):
        yield Fault(f"tasks[{row}].times.{HOPS[level]}", f"is not given; give {', '.join(HOPS)} or none of them")
    for level, name in enumerate(HOPS):
        yield from number_faults("tasks", f"times.{name}", times[:, level])


def _shuffle_faults(workload: Workload, state: State) -> Iterator[Fault]:
    shuffle, tasks = workload.shuffle, len(workload)
    if shuffle is None:
        return
    amounts = {"size": shuffle.size, "emitted": state.emitted}
    for name, values in {"map": shuffle.map, "reduce": shuffle.reduce, **amounts}.items():
        if values.shape != (len(shuffle),):
            yield Fault(f"shuffle.{name}", f"has shape {values.shape}, not {(len(shuffle),)}")
            return
    for name, kind in (("map", MAP), ("reduce", REDUCE)):
        indices = getattr(shuffle, name)
        known = (indices >= 0) & (indices < tasks)
        for row in np.flatnonzero(~known).tolist():
            yield Fault(f"shuffle[{row}].{name}", f"there is no task {indices[row]}")
        of_kind = np.append(workload.kind, kind)[np.where(known, indices, tasks)] == kind
        for row in np.flatnonzero(~of_kind).tolist():
            yield Fault(f"shuffle[{row}].{name}", f'task "{workload.task_ids[indices[row]]}" is no {name}')
    for name, values in amounts.items():
        yield from number_faults("shuffle", name, values)
    for row in np.flatnonzero(np.isnan(shuffle.size)).tolist():
        yield Fault(f"shuffle[{row}].size", "is not given")


def _link_faults(topology: Topology | None) -> Iterator[Fault]:
    """Faults of a topology without a matrix."""
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
