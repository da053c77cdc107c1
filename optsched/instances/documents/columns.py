"""Converts documents of records into columns (`Instance`, `FlowNetwork`) and back.

Every file is a header and columns: arrays by the names of their fields (`tasks.size`, `nodes.capacity.cpu`), as in an
archive. A document has the same columns as records. This module converts between records and columns, and makes the
nouns from columns. `optsched.core.parts` defines the fields and their forms. `diagnosis` reports invalid records;
`files` handles the bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from operator import attrgetter
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from msgspec import UNSET, Struct

from optsched.core.arrays import read_only_strings
from optsched.core.errors import Fault, InputError, nearest
from optsched.core.instance import HOPS, Cluster, Instance, Pairs, Ragged, Shuffle, State, Topology, Workload
from optsched.core.instance_faults import places
from optsched.core.network import UNBOUNDED, FlowNetwork
from optsched.core.parts import Column, ids_in, ids_of
from optsched.instances.documents.format import (
    HEADER,
    INSTANCE,
    NETWORK,
    NETWORK_TABLES,
    TABLES,
    InstanceDocument,
    NetworkDocument,
    PairMatrices,
    TopologyForms,
)

#: The most different resources, and the most cells in a table of tasks x node types, that are read from a file. Both
#: are stored densely, so a file of a few megabytes could otherwise take all memory.
MOST_RESOURCES = 100
MOST_CELLS = 2**28

#: Pairs of fields: after a fault in the first, faults of the second are meaningless.
_SHADOWS = {"slots": "idle_slots", "reduce_slots": "idle_reduce_slots", "state": "node"}

_Array = npt.NDArray[Any]


# -- from records to columns ---------------------------------------------------------------------------------------


class Reading:
    """The conversion of one document to an `Instance` or a `FlowNetwork`.

    Faults are added to `faults`, except if a fault is already known. References into `malformed` tables, which are no
    lists of records, are not followed. `source` is the name of the file in messages.
    """

    def __init__(self, faults: Iterable[Fault] = (), malformed: Iterable[str] = (), source: str = "") -> None:
        self.faults = list(faults)
        self.malformed = set(malformed)
        self.source = source
        self._rows: dict[str, Mapping[Any, int]] = {}  # of each table, by id; UNSET, for "no reference", is -1
        self._unfollowed: set[str] = set()  # places of references into malformed tables
        self._arrays: dict[str, _Array] = {}

    def noun(self, document: InstanceDocument | NetworkDocument) -> Instance | FlowNetwork:
        """Make the noun of a document; raises `InputError` with all faults, including earlier ones."""
        header = self.header(document)
        of_instance = isinstance(document, InstanceDocument)
        for table, columns in (TABLES if of_instance else NETWORK_TABLES).items():
            records = _optional(document, table, [])
            if table != "shuffle":
                self._ids(table, records)
            for column in columns:
                entries = list(map(attrgetter(column.field), records))
                if column.always or entries.count(UNSET) < len(entries):
                    self._column(f"{table}.{column.field}", column, entries)
        if isinstance(document, InstanceDocument):
            self._pairs(document.pairs, (len(document.tasks), len(document.nodes)))
        try:
            noun = to_noun(self._arrays, header, of_instance)
        except InputError as error:
            known = self._known()
            for place in list(known):
                record, _, name = place.rpartition(".")
                if name in _SHADOWS:
                    known.add(f"{record}.{_SHADOWS[name]}")
            self.faults += [fault for fault in error.faults if not _within(fault.place, known)]
        if self.faults:
            raise InputError(sorted(self.faults, key=_position), self.source)
        return noun

    def header(self, document: InstanceDocument | NetworkDocument) -> dict[str, Any]:
        """The document without records and matrices, in the form for `to_noun`."""
        names = [*HEADER, *(("time", "parameters") if isinstance(document, InstanceDocument) else ())]
        header = {name: value for name in names if (value := getattr(document, name)) is not UNSET}
        if isinstance(document, InstanceDocument) and document.topology is not UNSET:
            header["topology"] = self._topology(document.topology, len(document.nodes))
        return header

    def _known(self) -> set[str]:
        """Places whose faults are already reported."""
        return {fault.place for fault in self.faults} | self._unfollowed

    # Fields of records ............................................................................................

    def _ids(self, table: str, records: Sequence[Any]) -> None:
        ids = [str(row) if record.id is UNSET else record.id for row, record in enumerate(records)]
        self._rows[table] = {**dict(zip(ids, range(len(ids)), strict=True)), UNSET: -1}
        self._arrays[f"{table}.id"] = read_only_strings(ids)

    def _column(self, name: str, column: Column, entries: list[Any]) -> None:
        """Add the arrays of a column with a value in at least one record."""
        arrays, dtype = self._arrays, column.dtype
        if column.form in ("number", "integer"):
            default = -1 if column.default_of or column.default == UNBOUNDED else column.default
            arrays[name] = _numbers(entries, default, dtype)
            if column.default_of:
                slots = arrays.get(f"{column.table}.{column.default_of}", np.array(1))
                arrays[name] = np.where(arrays[name] < 0, slots, arrays[name])
        elif column.form == "choice":
            choices: dict[Any, int] = {choice: number for number, choice in enumerate(column.choices)}
            choices[UNSET] = int(column.default)
            arrays[name] = np.fromiter(map(choices.__getitem__, entries), dtype, len(entries))
        elif column.form == "label":
            numbers: dict[str, int] = {}
            found = [-1 if label is UNSET else numbers.setdefault(label, len(numbers)) for label in entries]
            arrays[name], arrays[f"{name}.names"] = np.array(found, dtype), read_only_strings(list(numbers))
        elif column.form == "reference":
            arrays[name] = self._references(column.target, entries, places(column.table, column.field))
        elif column.form == "resources":
            self._resources(name, entries)
        elif column.form == "rates":
            self._rates(name, entries)
        elif column.form == "levels":
            arrays[name] = np.full((len(entries), len(HOPS)), np.nan)
            for row, times in enumerate(entries):
                if times is not UNSET:  # a missing rack time equals that beyond the rack
                    rack = times.off_rack if times.rack is UNSET else times.rack
                    arrays[name][row] = times.node, rack, times.off_rack
        else:
            rows = [() if row is UNSET else row for row in entries]
            starts = np.append(0, np.cumsum(np.fromiter(map(len, rows), np.int64, len(rows))))
            values = list(chain.from_iterable(rows))
            if column.form == "numbers":
                arrays[name] = _numbers(values, 0, dtype)
            else:
                place = places(column.table, column.field, starts)
                arrays[name] = self._references(column.target, values, place)
            arrays[f"{name}.starts"] = starts

    def _references(self, table: str, ids: list[Any], place: Callable[[int], str]) -> _Array:
        """Rows of `table` for ids; -1 for an unknown id, which is a fault unless the table itself is faulty."""
        rows = self._rows[table]
        try:
            found = np.fromiter(map(rows.__getitem__, ids), np.int64, len(ids))
        except KeyError:
            found = np.fromiter((rows.get(name, -1) for name in ids), np.int64, len(ids))
            known, alike = self._known(), {str(name).lower(): name for name in rows if name is not UNSET}
            for entry, name in enumerate(ids):
                if name not in rows and (where := place(entry)) not in known:
                    if table in self.malformed:
                        self._unfollowed.add(where)
                    else:
                        near = alike.get(str(name).lower())
                        mend = "" if near is None else f'; did you mean "{near}"?'
                        self.faults.append(Fault(where, f'no {table[:-1]} "{name}"{mend}'))
        found.setflags(write=False)
        return found

    def _resources(self, name: str, objects: list[Any]) -> None:
        """A column for each key of the given objects."""
        columns: dict[str, _Array] = {}
        for row, amounts in enumerate(objects):
            for resource, amount in () if amounts is UNSET else amounts.items():
                if resource not in columns:
                    if len(columns) == MOST_RESOURCES:
                        self.faults.append(Fault(name, f"has more than {MOST_RESOURCES} different names in all"))
                        return
                    columns[resource] = self._arrays[f"{name}.{resource}"] = np.full(len(objects), np.nan)
                columns[resource][row] = amount

    def _rates(self, name: str, values: list[Any]) -> None:
        """Split the tasks' `rate_in` into one number each and one number for each type of node."""
        self._arrays[name] = _numbers([UNSET if isinstance(r, dict) else r for r in values], np.nan, np.float64)
        types = self._arrays.get("nodes.type.names", read_only_strings([])).tolist()
        number = {label: position for position, label in enumerate(types)}
        if not any(isinstance(rates, dict) for rates in values):
            return
        if len(values) * len(types) > MOST_CELLS:
            message = f"{len(values)} tasks by {len(types)} types is past {MOST_CELLS} rates"
            self.faults.append(Fault(name, message))
            return
        by_type = np.full((len(values), len(types)), np.nan)
        for row, rates in enumerate(values):
            for label, rate in rates.items() if isinstance(rates, dict) else ():
                if label in number:
                    by_type[row, number[label]] = rate
                elif "nodes" not in self.malformed:
                    self.faults.append(Fault(f"tasks[{row}].rate_in.{label}", f'no node is of type "{label}"'))
        self._arrays[f"{name}.by_type"] = by_type

    # What has two indices .........................................................................................

    def _pairs(self, pairs: PairMatrices | Any, shape: tuple[int, int]) -> None:
        if pairs is UNSET:
            return
        demand = {f"demand.{name}": matrix for name, matrix in _optional(pairs, "demand", {}).items()}
        given = {"cost": pairs.cost, **demand, "allowed": pairs.allowed}
        for name, matrix in given.items():
            if matrix is not UNSET:
                dtype = np.bool_ if name == "allowed" else np.float64
                self._arrays[f"pairs.{name}"] = self._matrix(f"pairs.{name}", matrix, shape).astype(dtype)

    def _topology(self, forms: TopologyForms, nodes: int) -> Topology | None:
        given = {name: value for name in forms.__struct_fields__ if (value := getattr(forms, name)) is not UNSET}
        if len(given) != 1:
            found = " and ".join(given) or "none of them"
            self.faults.append(Fault("topology", f"give exactly one of distance, hops, rate and links, not {found}"))
        elif "hops" in given:
            return Topology("hops", hops={name: getattr(forms.hops, name) for name in HOPS})
        elif "links" in given:
            return Topology("links", links=tuple((link.from_, link.to, link.rate) for link in given["links"]))
        else:
            ((form, rows),) = given.items()
            self._arrays[f"topology.{form}"] = self._matrix(f"topology.{form}", rows, (nodes, nodes))
        return None

    def _matrix(self, place: str, rows: list[list[Any]], shape: tuple[int, int]) -> _Array:
        """A matrix of the required shape; if the rows do not fit, the faults say which."""
        wrong = [
            Fault(f"{place}[{row}]", f"has {len(values)} entries, not {shape[1]}: one a node")
            for row, values in enumerate(rows)
            if len(values) != shape[1]
        ]
        if len(rows) != shape[0]:
            wrong.insert(0, Fault(place, f"has {len(rows)} rows, not {shape[0]}"))
        if wrong:
            self.faults += wrong
            return np.zeros(shape) if shape[0] * shape[1] <= MOST_CELLS else np.zeros((0, 0))
        return np.array(rows, dtype=np.float64).reshape(shape)


def _optional(document: Struct, name: str, default: Any) -> Any:
    value = getattr(document, name)
    return default if value is UNSET else value


def _numbers(values: list[Any], default: float, dtype: type) -> _Array:
    if UNSET in values or None in values:
        values = [default if value is UNSET or value is None else value for value in values]
    array: _Array = np.fromiter(values, dtype, len(values))
    array.setflags(write=False)
    return array


def _within(place: str, known: set[str]) -> bool:
    """Whether a place, or one that contains it, is known: `tasks[3].node` lies in `tasks[3]`."""
    while place:
        if place in known:
            return True
        place = place[: max(place.rfind("."), place.rfind("["), 0)]
    return False


_ORDER = ("", *InstanceDocument.__struct_fields__, "arcs")


def _position(fault: Fault) -> tuple[int, int, int]:
    """Sort key of a fault: part of the document, then record."""
    match = re.match(r"(\w*)(?:\[(\d+)\])?", fault.place)
    name, row = (match[1], match[2]) if match else ("", None)
    known = name in _ORDER
    return 0 if known else 1, _ORDER.index(name) if known else 0, int(row or 0)


# -- from columns to nouns -----------------------------------------------------------------------------------------

#: Kinds of NumPy types for each kind of column, and their names.
_KINDS = {
    "integer": ("iu", "integers"),
    "number": ("iuf", "numbers"),
    "string": ("SU", "fixed-width strings"),
    "truth": ("b", "booleans"),
}


def to_noun(arrays: Mapping[str, _Array], header: Mapping[str, Any], of_instance: bool) -> Instance | FlowNetwork:
    """The instance, or the network, of columns and a header: name, time, a topology that is no matrix, ....

    InputError if a column is missing, unknown or of the wrong type, or if the noun is wrong.
    """
    columns = _Columns(arrays)
    parts: dict[str, dict[str, Any]] = {"cluster": {}, "workload": {}, "shuffle": {}, "state": {}, "flownetwork": {}}
    for table, described in (TABLES if of_instance else NETWORK_TABLES).items():
        if table != "shuffle":
            part, attribute = ids_in(table) if of_instance else ("flownetwork", f"{table[:-1]}_ids")
            parts[part][attribute] = columns.take(f"{table}.id", "string", required=table in ("nodes", "tasks"))
        there = not of_instance or any(f"{table}.{column.field}" in arrays for column in described)
        for column in described:
            parts[column.part] |= columns.attributes_of(column, required=column.always and there)
    others = dict(header)
    if of_instance:
        time, topology = others.pop("time", 0), others.pop("topology", None)
        forms: tuple[Literal["distance", "rate"], ...] = ("distance", "rate")
        matrices = {form: columns.take(f"topology.{form}", "number") for form in forms}
        given = [Topology(form, matrix) for form, matrix in matrices.items() if matrix is not None]
        given += [] if topology is None else [topology]
        if len(given) > 1:
            columns.faults.append(Fault("topology", "is given in more than one form"))
        parts["cluster"]["topology"] = given[0] if given else None
        parts["workload"]["pairs"] = Pairs(
            cost=columns.take("pairs.cost", "number"),
            demand=columns.take_all("pairs.demand.", "number"),
            allowed=columns.take("pairs.allowed", "truth"),
        )
    columns.raise_faults()
    if not of_instance:
        return FlowNetwork(**parts["flownetwork"], **others)
    shuffle = None if parts["shuffle"]["map"] is None else Shuffle(**parts["shuffle"])
    cluster, workload = Cluster(**parts["cluster"]), Workload(**parts["workload"], shuffle=shuffle)
    return Instance(cluster, workload, State.initial(cluster, workload, time=time, **parts["state"]), **others)


class _Columns:
    """Arrays to be put into the nouns: each is taken once, in the required type; the rest is unknown."""

    def __init__(self, arrays: Mapping[str, _Array]) -> None:
        self.left = dict(arrays)
        self.known: list[str] = []
        self.faults: list[Fault] = []

    def take(self, name: str, kind: str, required: bool = False) -> Any:
        """The array of that name, or None; for required ids an empty array instead."""
        self.known.append(name)
        values = self.left.pop(name, None)
        instead = np.zeros(0, dtype="U1") if required and kind == "string" else None
        if values is None:
            if required:
                self.faults.append(Fault(name, "the column is missing"))
            return instead
        kinds, wanted = _KINDS[kind]
        if values.dtype.kind not in kinds or values.dtype == np.uint64:
            self.faults.append(Fault(name, f"expected {wanted}, got {values.dtype}"))
            return instead
        try:
            return _decoded(values) if values.dtype.kind == "S" else values
        except UnicodeDecodeError as error:
            self.faults.append(Fault(name, f"is no UTF-8 text: {error.reason}"))
            return instead

    def take_all(self, prefix: str, kind: str) -> dict[str, _Array]:
        """The arrays whose names have this prefix, by the rest of their names."""
        names = [name for name in self.left if name.startswith(prefix)]
        taken = {name.removeprefix(prefix): self.take(name, kind) for name in names}
        return {name: values for name, values in taken.items() if values is not None}

    def attributes_of(self, column: Column, required: bool) -> dict[str, Any]:
        """The attributes that hold a column, and their contents."""
        name, kind = f"{column.table}.{column.field}", "number" if column.dtype is np.float64 else "integer"
        if column.form == "resources":
            return {column.attribute: self.take_all(f"{name}.", kind)}
        values = self.take(name, kind, required)
        if column.form == "label":
            return {column.attribute: values, f"{column.attribute}_ids": self.take(f"{name}.names", "string")}
        if column.form == "rates":
            return {column.attribute: values, f"{column.attribute}_by_type": self.take(f"{name}.by_type", kind)}
        if column.form in ("numbers", "references"):
            starts = self.take(f"{name}.starts", "integer", required=values is not None)
            values = None if values is None or starts is None else Ragged(starts, values)
        elif column.default == UNBOUNDED and values is not None:
            values = np.where(values == -1, UNBOUNDED, values.astype(np.int64))
        return {column.attribute: values}

    def raise_faults(self) -> None:
        """Raise InputError with all faults of the columns, and one for each unknown column."""
        for name in self.left:
            self.faults.append(Fault(name, f"there is no such column; {nearest(name, self.known)}"))
        if self.faults:
            raise InputError(self.faults)


def _decoded(values: _Array) -> _Array:
    """UTF-8 strings at fixed width as NumPy strings: all at once if they are ASCII."""
    codes = np.ascontiguousarray(values).view(np.uint8)
    if codes.size and codes.max() > 127:
        return np.strings.decode(values, "utf-8")
    decoded: _Array = codes.astype(np.uint32).view(f"<U{values.dtype.itemsize}" if values.size else "<U1")
    return decoded.reshape(values.shape)


# -- from nouns to columns and records -----------------------------------------------------------------------------


def to_arrays(noun: Instance | FlowNetwork) -> dict[str, _Array]:
    """Every column that differs from the defaults, by name; without the header."""
    arrays: dict[str, _Array] = {}
    network = isinstance(noun, FlowNetwork)
    for table, columns in (NETWORK_TABLES if network else TABLES).items():
        if table == "shuffle":
            columns = columns if len(columns[0].values_in(noun)) else ()
        elif len(ids := ids_of(noun, table)) or table in ("nodes", "tasks"):
            arrays[f"{table}.id"] = ids
        for column in columns:
            arrays.update(_column_arrays(noun, f"{table}.{column.field}", column))
    return arrays if isinstance(noun, FlowNetwork) else arrays | _matrix_arrays(noun)


def _column_arrays(noun: Any, name: str, column: Column) -> Iterator[tuple[str, _Array]]:
    values = column.values_in(noun)
    if column.form == "resources":
        yield from ((f"{name}.{resource}", amounts) for resource, amounts in values.items())
    elif column.form in ("numbers", "references"):
        if len(values.values):
            yield from ((name, values.values), (f"{name}.starts", values.starts))
    elif column.always or not _left_out(noun, column, values).all():
        yield name, np.where(values == UNBOUNDED, -1, values) if column.default == UNBOUNDED else values
        if column.form == "label":
            yield f"{name}.names", getattr(noun.cluster, f"{column.attribute}_ids")
    if column.form == "rates" and noun.workload.rate_in_by_type is not None:
        yield f"{name}.by_type", noun.workload.rate_in_by_type


def _matrix_arrays(instance: Instance) -> dict[str, _Array]:
    """The columns with two indices."""
    arrays: dict[str, _Array] = {}
    pairs, topology = instance.workload.pairs, instance.cluster.topology
    if pairs is not None:
        matrices = {"cost": pairs.cost, "allowed": pairs.allowed}
        matrices |= {f"demand.{name}": matrix for name, matrix in pairs.demand.items()}
        arrays |= {f"pairs.{name}": matrix for name, matrix in matrices.items() if matrix is not None}
    if topology is not None and topology.matrix is not None:
        arrays[f"topology.{topology.form}"] = topology.matrix
    return arrays


def to_document(noun: Instance | FlowNetwork) -> dict[str, Any]:
    """The document of an instance or a network: plain dicts, lists and numbers, in the order of the file.

    Defaults are left out, and numbers that are integers are written as integers.
    `optsched.instances.files.from_document` reads the same instance back.

    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> to_document(Instance(Cluster(["n1"], slots=[2]), Workload(["t1"], size=[64.0])))
    {'format': 'optsched/1', 'nodes': [{'id': 'n1', 'slots': 2}], 'tasks': [{'id': 't1', 'size': 64}]}
    """
    document = header_of(noun)
    if isinstance(noun, FlowNetwork):
        document |= {table: _records(noun, table, columns) for table, columns in NETWORK_TABLES.items()}
        for row, (arc, name) in enumerate(zip(document["arcs"], noun.arc_ids.tolist(), strict=True)):
            if name != str(row):
                others = {field: arc.pop(field) for field in list(arc) if field not in ("tail", "head")}
                arc |= {"id": name, **others}
        return document
    topology = document.pop("topology", None)
    for table, columns in TABLES.items():
        records = _records(noun, table, columns)
        if records or table in ("nodes", "tasks"):
            document[table] = records
    document |= _two_index_parts(noun)
    if topology is not None:
        document["topology"] = topology
    return document


def header_of(noun: Instance | FlowNetwork) -> dict[str, Any]:
    """The parts of the document that are no records or matrices: format, name, labels, and a non-matrix topology."""
    header: dict[str, Any] = {"format": INSTANCE if isinstance(noun, Instance) else NETWORK}
    for name in HEADER:
        value = getattr(noun, name)
        if value:
            header[name] = value if isinstance(value, str) else dict(value)
    if isinstance(noun, FlowNetwork):
        return header
    if noun.time:
        header["time"] = _plain_values(noun.time)
    if noun.parameters:
        header["parameters"] = _plain_values(noun.parameters)
    topology = noun.cluster.topology
    if topology is not None and topology.hops is not None:
        header["topology"] = {"hops": {name: _plain_values(topology.hops[name]) for name in HOPS}}
    elif topology is not None and topology.matrix is None:
        links = [{"from": one, "to": other, "rate": _plain_values(rate)} for one, other, rate in topology.links]
        header["topology"] = {"links": links}
    return header


def plain_numbers(values: _Array) -> list[Any]:
    """Python numbers: integers if a value is one, None for NaN."""
    plain: list[Any] = values.tolist()
    if values.dtype.kind != "f":
        return plain
    with np.errstate(invalid="ignore"):
        integers = values.astype(np.int64)
    if np.array_equal(integers, values):
        plain = integers.tolist()
    else:
        plain = [None if value != value else int(value) if value.is_integer() else value for value in plain]
    return plain


def _plain_values(value: Any) -> Any:
    """A free-form value as plain dicts, lists and numbers, with integers as integers."""
    if isinstance(value, Mapping):
        return {key: _plain_values(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain_values(entry) for entry in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _records(noun: Instance | FlowNetwork, table: str, columns: Sequence[Column]) -> list[dict[str, Any]]:
    """The records of a table; arcs without their ids."""
    if table in ("shuffle", "arcs"):
        records: list[dict[str, Any]] = [{} for _ in range(len(columns[0].values_in(noun)))]
    else:
        records = [{"id": name} for name in ids_of(noun, table).tolist()]
    for column in columns:
        for key, values in column.parts_in(noun):
            name = key or column.field
            for record, value in zip(records, _plain_entries(noun, column, values), strict=True):
                if value is not None:
                    (record.setdefault(column.field, {}) if key else record)[name] = value
    return records


def _left_out(noun: Any, column: Column, values: _Array) -> npt.NDArray[np.bool_]:
    """The entries that a file leaves out."""
    found: npt.NDArray[np.bool_] = (values == column.default_in(getattr(noun, "cluster", None))) | (values != values)
    return found


def _plain_entries(noun: Any, column: Column, values: Any) -> Iterable[Any]:
    """The entry of each record as in a document, None if it is left out."""
    if isinstance(values, Ragged):
        flat = plain_numbers(values.values)
        if column.form == "references":
            ids = names_in(noun, column)
            flat = [ids[index] for index in flat]
        return (flat[start:end] or None for start, end in pairwise(values.starts.tolist()))
    left_out = _left_out(noun, column, values)
    if left_out.all():
        return [None] * len(values)
    plain = plain_numbers(values)
    if column.form in ("choice", "label", "reference"):
        names = [*names_in(noun, column), None]  # -1 picks None
        plain = [names[index] for index in plain]
    return (None if out else value for value, out in zip(plain, left_out.tolist(), strict=True))


def names_in(noun: Any, column: Column) -> Sequence[str]:
    """The names behind the indices of a column."""
    if column.form == "choice":
        return column.choices
    if column.form == "label":
        labels: list[str] = getattr(noun.cluster, f"{column.attribute}_ids").tolist()
        return labels
    names: list[str] = ids_of(noun, column.target).tolist()
    return names


def _two_index_parts(instance: Instance) -> dict[str, Any]:
    """Pairs and a matrix topology, as in a document."""
    parts: dict[str, Any] = {}
    for name, values in _matrix_arrays(instance).items():
        part, _, rest = name.partition(".")
        *above, last = rest.split(".", 1)
        holder = parts.setdefault(part, {})
        for step in above:
            holder = holder.setdefault(step, {})
        holder[last] = [plain_numbers(row) for row in values]
    if "allowed" in parts.get("pairs", {}):
        parts["pairs"]["allowed"] = parts["pairs"].pop("allowed")  # after the demands
    return parts
