"""From records to columns and back: what a document says as an `Instance` or a `FlowNetwork`, and the other way round.

Records arrive typed (`format`), so this module resolves references, collects columns and counts the keys that it saw.
What is no valid record is `diagnosis`'s business, bytes are `files`'s.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, pairwise
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import UNSET, Struct

from optsched.core.arrays import read_only_strings
from optsched.core.errors import Fault, InputError
from optsched.core.instance import (
    HOPS,
    LARGEST,
    Cluster,
    Instance,
    Pairs,
    Ragged,
    Shuffle,
    State,
    Strings,
    Topology,
    Workload,
)
from optsched.core.network import FlowNetwork
from optsched.core.parts import Column, columns_of, ids_in
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

__all__ = ["MOST_CELLS", "MOST_RESOURCES", "Reading", "header_of", "ids_of", "names_in", "plain_numbers", "to_document"]

#: At most this many different resources, and this many cells in a table of tasks x node types, are read from a file:
#: both are held densely, so a file of a few megabytes could otherwise ask for all memory.
MOST_RESOURCES = 100
MOST_CELLS = 2**28

#: A fault in the first field makes what is then found in the second one meaningless.
_SHADOWS = {"slots": "idle_slots", "reduce_slots": "idle_reduce_slots", "state": "node"}

_Index = Mapping[Any, int]
_Noun = TypeVar("_Noun", Instance, FlowNetwork)


class Reading:
    """One document on its way to an `Instance` or a `FlowNetwork`.

    Parameters
    ----------
    faults
        What was found wrong before; what is found here is added, except where a fault is known already.
    malformed
        Tables that are no list of records: references into them are not followed.
    source
        Name of the file, for the messages.
    nul_free
        Whether it is known that no string holds the character NUL.

    Attributes
    ----------
    keys
        How many keys of objects were seen, to be compared with how many the text has.
    doubtful
        Whether a number may have been rounded to 2^53 when it was decoded.
    """

    def __init__(
        self, faults: Iterable[Fault] = (), malformed: Iterable[str] = (), source: str = "", nul_free: bool = False
    ) -> None:
        self.faults = list(faults)
        self.malformed = set(malformed)
        self.source = source
        self.nul_free = nul_free
        self.keys = 1  # "format"
        self.doubtful = False
        self._rows: dict[str, _Index] = {}  # of each table, by id; UNSET, for "no reference", is -1
        self._unfollowed: set[str] = set()  # places of references into malformed tables

    def instance(self, document: InstanceDocument) -> Instance:
        """The instance that a document describes; raises `InputError` with all faults, also those found before."""
        header = self._header(document, (*HEADER, "time", "parameters"))
        parts: dict[str, dict[str, Any]] = {"cluster": {}, "workload": {}, "state": {}}
        for table, columns in TABLES.items():
            records: list[Struct] = self._optional(document, table, [])
            part, attribute = ids_in(table)
            parts[part][attribute] = self._ids(table, records)
            for column in columns:
                given = self._given(records, column.field)
                if given is not None:
                    self._column(table, column, given, parts)
        shape = len(document.tasks), len(document.nodes)
        self._shuffle(self._optional(document, "shuffle", []), parts)
        parts["workload"]["pairs"] = self._pairs(self._optional(document, "pairs", None), shape)
        parts["cluster"]["topology"] = self._topology(self._optional(document, "topology", None), shape[1])
        if "rates" in parts["workload"]:
            self._rates_by_type(parts["workload"], shape[0], parts["cluster"].get("type_ids", []))

        def make() -> Instance:
            cluster, workload = Cluster(**parts["cluster"]), Workload(**parts["workload"])
            state, time = parts["state"], header.pop("time", 0)
            for column in columns_of(State):
                if column.default_of and column.attribute in state:
                    given = state[column.attribute]
                    state[column.attribute] = np.where(given < 0, column.default_in(cluster), given)
            return Instance(cluster, workload, State.initial(cluster, workload, time=time, **state), **header)

        return self._finish(make)

    def network(self, document: NetworkDocument) -> FlowNetwork:
        """The flow network that a document describes; raises `InputError` with all faults, also those found before."""
        header = self._header(document, HEADER)
        nodes, arcs = self._optional(document, "nodes", []), self._optional(document, "arcs", [])
        node_ids = self._ids("nodes", nodes)
        columns: dict[str, Any] = {}
        for table, records in (("nodes", nodes), ("arcs", arcs)):
            for name, default in NETWORK_TABLES[table].items():
                given = self._given(records, name)
                if given is not None:
                    columns[name] = self._numbers(given, default, np.int64)
        names = self._given(arcs, "id")
        if names is not None:
            self._no_ends("arcs", "id", names)
            columns["arc_ids"] = [str(row) if name is UNSET else name for row, name in enumerate(names)]
        for name in ("tail", "head"):
            ends = self._given(arcs, name) or []
            columns[name] = self._references("nodes", ends, _place("arcs", name))
        return self._finish(lambda: FlowNetwork(read_only_strings(node_ids), **columns, **header))

    def _finish(self, make: Callable[[], _Noun]) -> _Noun:
        """What `make` makes; raises what was found before together with what the noun itself finds."""
        try:
            noun = make()
        except InputError as error:
            known = self._known()
            for place in list(known):
                record, _, name = place.rpartition(".")
                if name in _SHADOWS:
                    known.add(f"{record}.{_SHADOWS[name]}")
            self.faults += [fault for fault in error.faults if not _within(fault.place, known)]
            noun = None
        if self.faults or noun is None:
            raise InputError(sorted(self.faults, key=_position), self.source)
        return noun

    def _known(self) -> set[str]:
        """Places about which all is said."""
        return {fault.place for fault in self.faults} | self._unfollowed

    # -- fields of records -------------------------------------------------------------------------------------------

    def _optional(self, document: Struct, name: str, default: Any) -> Any:
        value = getattr(document, name)
        if value is UNSET:
            return default
        self.keys += 1
        return value

    def _header(self, document: Struct, names: Sequence[str]) -> dict[str, Any]:
        header = {name: self._optional(document, name, UNSET) for name in names}
        self.keys += sum(_count_keys(header[name]) for name in ("labels", "parameters") if name in header)
        self.doubtful |= abs(header.get("time") or 0) == LARGEST
        return {name: value for name, value in header.items() if value is not UNSET}

    def _ids(self, table: str, records: Sequence[Any]) -> list[str]:
        ids = [record.id for record in records]
        self.keys += len(ids)
        self._no_ends(table, "id", ids)
        rows: dict[Any, int] = dict(zip(ids, range(len(ids)), strict=True))
        rows[UNSET] = -1
        self._rows[table] = rows
        return ids

    def _no_ends(self, table: str, field: str, names: list[Any]) -> None:
        """NumPy drops the character NUL from the end of a string, so such names must not come as far as the nouns."""
        if not self.nul_free and "\0" in "".join(name for name in names if name is not UNSET):
            for row, name in enumerate(names):
                if name is not UNSET and "\0" in name:
                    told = f"{name!r} must be a non-empty string of printable characters"
                    self.faults.append(Fault(f"{table}[{row}].{field}", told))

    def _given(self, records: Sequence[Struct], name: str) -> list[Any] | None:
        """The field of every record, or None where no record has it."""
        values = list(map(attrgetter(name), records))
        absent = values.count(UNSET)
        self.keys += len(values) - absent
        return None if absent == len(values) else values

    def _column(self, table: str, column: Column, given: list[Any], parts: dict[str, dict[str, Any]]) -> None:
        """Put a column, of which at least one record gives a value, into its part."""
        part, name = parts[column.part], column.attribute
        if column.form == "number":
            part[name] = self._numbers(given, column.default, np.float64)
        elif column.form == "integer":
            default = -1 if column.default_of else int(column.default)  # -1, until the cluster is known
            part[name] = self._numbers(given, default, np.int64)
        elif column.form == "choice":
            choices: dict[Any, int] = {choice: number for number, choice in enumerate(column.choices)}
            choices[UNSET] = int(column.default)
            part[name] = np.fromiter(map(choices.__getitem__, given), np.int64, len(given))
        elif column.form == "label":
            self._no_ends(table, column.field, given)
            numbers: dict[str, int] = {}
            part[name] = [-1 if label is UNSET else numbers.setdefault(label, len(numbers)) for label in given]
            part[f"{name}_ids"] = list(numbers)
        elif column.form == "reference":
            part[name] = self._references(column.target, given, _place(table, column.field))
        elif column.form == "resources":
            part[name] = self._resources(f"{table}.{column.field}", given, MOST_RESOURCES)
        elif column.form == "rates":
            part["rates"] = given
        elif column.form == "levels":
            part[name] = self._levels(given)
        else:
            rows = [() if row is UNSET else row for row in given]
            starts = np.append(0, np.cumsum(np.fromiter(map(len, rows), np.int64, len(rows))))
            values = list(chain.from_iterable(rows))
            if column.form == "numbers":
                part[name] = Ragged(starts, self._numbers(values, 0, np.float64))
                return

            def place(entry: int) -> str:
                row = int(np.searchsorted(starts, entry, side="right")) - 1
                return f"{table}[{row}].{column.field}[{entry - starts[row]}]"

            part[name] = Ragged(starts, self._references(column.target, values, place))

    def _numbers(self, values: list[Any], default: float, dtype: type) -> npt.NDArray[Any]:
        if UNSET in values or None in values:
            values = [default if value is UNSET or value is None else value for value in values]
        array: npt.NDArray[Any] = np.fromiter(values, dtype, len(values))
        with np.errstate(invalid="ignore"):
            self.doubtful |= bool(np.any(np.abs(array) == LARGEST))
        array.setflags(write=False)
        return array

    def _references(self, table: str, ids: list[Any], place: Callable[[int], str]) -> npt.NDArray[np.int64]:
        """Rows of `table` for ids; -1 where there is none, which is a fault unless the table itself is at fault."""
        rows = self._rows[table]
        try:
            found = np.fromiter(map(rows.__getitem__, ids), np.int64, len(ids))
        except KeyError:
            found = np.fromiter((rows.get(name, -1) for name in ids), np.int64, len(ids))
            known = self._known()
            for entry, name in enumerate(ids):
                if name not in rows and (where := place(entry)) not in known:
                    if table in self.malformed:
                        self._unfollowed.add(where)
                    else:
                        self.faults.append(Fault(where, f'no {table[:-1]} "{name}"'))
        found.setflags(write=False)
        return found

    def _resources(self, place: str, given: list[Any], most: int) -> dict[str, npt.NDArray[np.float64]]:
        """A column for each key of the given objects."""
        columns: dict[str, npt.NDArray[np.float64]] = {}
        for row, amounts in enumerate(given):
            if amounts is UNSET:
                continue
            self.keys += len(amounts)
            for name, amount in amounts.items():
                if name not in columns:
                    if len(columns) == most:
                        self.faults.append(Fault(place, f"has more than {most} different names in all"))
                        return columns
                    columns[name] = np.full(len(given), np.nan)
                columns[name][row] = amount
                self.doubtful |= amount == LARGEST
        return columns

    def _levels(self, given: list[Any]) -> npt.NDArray[np.float64]:
        """A row of times for each record; the one in the rack, where it is left out, is as the one beyond."""
        values = np.full((len(given), len(HOPS)), np.nan)
        for row, times in enumerate(given):
            if times is not UNSET:
                told = times.node, times.off_rack if times.rack is UNSET else times.rack, times.off_rack
                self.keys += len(HOPS) - (times.rack is UNSET)
                self.doubtful |= LARGEST in told
                values[row] = told
        return values

    def _rates_by_type(self, workload: dict[str, Any], tasks: int, types: Sequence[str]) -> None:
        """Split what tasks say of `rate_in` into one number each and one number for each type of node."""
        given = workload.pop("rates")
        workload["rate_in"] = self._numbers([UNSET if isinstance(r, dict) else r for r in given], np.nan, np.float64)
        number = {name: position for position, name in enumerate(types)}
        if not any(isinstance(rates, dict) for rates in given):
            return
        if tasks * len(types) > MOST_CELLS:
            self.faults.append(
                Fault("tasks.rate_in", f"{tasks} tasks by {len(types)} types is past {MOST_CELLS} rates")
            )
            return
        by_type = np.full((tasks, len(types)), np.nan)
        for row, rates in enumerate(given):
            if isinstance(rates, dict):
                self.keys += len(rates)
                for name, rate in rates.items():
                    self.doubtful |= rate == LARGEST
                    if name in number:
                        by_type[row, number[name]] = rate
                    elif "nodes" not in self.malformed:
                        self.faults.append(Fault(f"tasks[{row}].rate_in.{name}", f'no node is of type "{name}"'))
        workload["rate_in_by_type"] = by_type

    # -- what has two indices ----------------------------------------------------------------------------------------

    def _shuffle(self, entries: Sequence[Struct], parts: dict[str, dict[str, Any]]) -> None:
        """Put what maps send into the workload, and what they have sent so far into the state."""
        ends = {}
        for name in Shuffle.ENDS:
            given = self._given(entries, name) or []
            ends[name] = self._references("tasks", given, _place("shuffle", name))
        if not entries:
            return
        size = self._numbers(self._given(entries, "size") or [], np.nan, np.float64)
        emitted = self._given(entries, "emitted")
        if emitted is not None:
            parts["state"]["emitted"] = self._numbers(emitted, np.nan, np.float64)
        parts["workload"]["shuffle"] = Shuffle(ends["map"], ends["reduce"], size)

    def _pairs(self, pairs: PairMatrices | None, shape: tuple[int, int]) -> Pairs | None:
        if pairs is None:
            return None
        cost, allowed = self._optional(pairs, "cost", None), self._optional(pairs, "allowed", None)
        demand: dict[str, Any] = self._optional(pairs, "demand", {})
        self.keys += len(demand)
        return Pairs(
            None if cost is None else self._matrix("pairs.cost", cost, shape),
            {name: self._matrix(f"pairs.demand.{name}", matrix, shape) for name, matrix in demand.items()},
            None if allowed is None else self._matrix("pairs.allowed", allowed, shape).astype(np.bool_),
        )

    def _topology(self, forms: TopologyForms | None, nodes: int) -> Topology | None:
        if forms is None:
            return None
        given = {name: self._optional(forms, name, None) for name in ("distance", "hops", "rate", "links")}
        names = [name for name, value in given.items() if value is not None]
        if len(names) != 1:
            told = " and ".join(names) or "none of them"
            self.faults.append(Fault("topology", f"give exactly one of distance, hops, rate and links, not {told}"))
            return None
        if forms.hops is not UNSET:
            self.keys += len(HOPS)
            self.doubtful |= any(getattr(forms.hops, name) == LARGEST for name in HOPS)
            return Topology("hops", hops={name: getattr(forms.hops, name) for name in HOPS})
        if forms.links is not UNSET:
            self.keys += 3 * len(forms.links)
            self.doubtful |= any(link.rate == LARGEST for link in forms.links)
            return Topology("links", links=tuple((link.from_, link.to, link.rate) for link in forms.links))
        form = names[0]
        matrix = self._matrix(f"topology.{form}", given[form], (nodes, nodes))
        return Topology("distance" if form == "distance" else "rate", matrix)

    def _matrix(self, place: str, rows: list[list[Any]], shape: tuple[int, int]) -> npt.NDArray[Any]:
        """A matrix of the shape that is due; where the rows do not fit, the faults say which."""
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
        matrix = np.array(rows, dtype=np.float64).reshape(shape)
        self.doubtful |= bool(np.any(np.abs(matrix) == LARGEST))
        return matrix


def _place(table: str, name: str) -> Callable[[int], str]:
    """Place of a field in a row of a table."""
    return lambda row: f"{table}[{row}].{name}"


def _count_keys(value: Any) -> int:
    """Keys of all objects in a free-form value."""
    count, waiting = 0, [value]
    while waiting:
        entry = waiting.pop()
        if isinstance(entry, dict):
            count += len(entry)
            waiting.extend(entry.values())
        elif isinstance(entry, list):
            waiting.extend(entry)
    return count


def _within(place: str, known: set[str]) -> bool:
    """Whether a place, or something that it lies in, is known: `tasks[3].node` lies in `tasks[3]`."""
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


def to_document(noun: Instance | FlowNetwork) -> dict[str, Any]:
    """The document of an instance or a network: plain dicts, lists and numbers, in the order in which it is written.

    Defaults are left out, and numbers that are integers are written as integers.

    Parameters
    ----------
    noun
        An instance or a flow network.

    Returns
    -------
    dict
        What `optsched.instances.files.from_document` reads back as the same.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> to_document(Instance(Cluster(["n1"], slots=[2]), Workload(["t1"], size=[64.0])))
    {'format': 'optsched/1', 'nodes': [{'id': 'n1', 'slots': 2}], 'tasks': [{'id': 't1', 'size': 64}]}
    """
    document = header_of(noun)
    topology = document.pop("topology", None)
    if isinstance(noun, FlowNetwork):
        return document | _network_tables(noun)
    for table, columns in TABLES.items():
        records = _records(noun, table, columns)
        if records or table in ("nodes", "tasks"):
            document[table] = records
    document |= _two_index_parts(noun)
    if topology is not None:
        document["topology"] = topology
    return document


def header_of(noun: Instance | FlowNetwork) -> dict[str, Any]:
    """What a document says beside records and matrices: format, name, labels, ..., and a topology that is no matrix."""
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


def ids_of(instance: Instance, table: str) -> Strings:
    """Ids of the records of a table."""
    part, attribute = ids_in(table)
    ids: Strings = getattr(getattr(instance, part), attribute)
    return ids


def plain_numbers(values: npt.NDArray[Any]) -> list[Any]:
    """Python numbers: integers where a value is one, None for NaN."""
    plain: list[Any] = values.tolist()
    if values.dtype.kind != "f":
        return plain
    with np.errstate(invalid="ignore"):
        whole = values.astype(np.int64)
    if np.array_equal(whole, values):
        plain = whole.tolist()
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


def _records(instance: Instance, table: str, columns: Sequence[Column]) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = [{"id": name} for name in ids_of(instance, table).tolist()]
    for column in columns:
        for name, values in _entries(instance, column):
            for record, value in zip(records, values, strict=True):
                if value is not None:
                    record[name] = value
    return records


def _entries(instance: Instance, column: Column) -> Iterable[tuple[str, Iterable[Any]]]:
    """The field of each record, None where it is left out; nothing where all records leave it out."""
    part = getattr(instance, column.part)
    values = getattr(part, column.attribute)
    if column.form in ("number", "integer"):
        left_out = (values == column.default_in(instance.cluster)) | (values != values)
        if not left_out.all():
            plain = plain_numbers(values)
            yield column.field, (None if out else value for value, out in zip(plain, left_out.tolist(), strict=True))
    elif column.form in ("choice", "label", "reference"):
        if np.any(values != column.default):
            names = names_in(instance, column)
            yield column.field, (None if value == column.default else names[value] for value in values.tolist())
    elif column.form == "resources":
        yield from _objects(column.field, values)
    elif column.form == "levels":
        if not np.isnan(values).all():
            yield from _objects(column.field, dict(zip(HOPS, values.T, strict=True)))
    elif column.form == "rates":
        if not np.isnan(values).all():
            yield column.field, plain_numbers(values)
        if part.rate_in_by_type is not None:
            yield from _objects(
                column.field, dict(zip(instance.cluster.type_ids.tolist(), part.rate_in_by_type.T, strict=True))
            )
    elif len(values.values):
        flat = plain_numbers(values.values)
        if column.form == "references":
            ids = names_in(instance, column)
            flat = [ids[index] for index in flat]
        bounds = values.starts.tolist()
        yield column.field, (flat[start:end] or None for start, end in pairwise(bounds))


def names_in(instance: Instance, column: Column) -> Sequence[str]:
    """What the indices of a column stand for."""
    if column.form == "choice":
        return column.choices
    if column.form == "label":
        labels: list[str] = getattr(instance.cluster, f"{column.attribute}_ids").tolist()
        return labels
    names: list[str] = ids_of(instance, column.target).tolist()
    return names


def _objects(field: str, columns: Mapping[str, npt.NDArray[np.float64]]) -> Iterable[tuple[str, Iterable[Any]]]:
    if columns:
        rows = zip(*(plain_numbers(values) for values in columns.values()), strict=True)
        objects = ({name: value for name, value in zip(columns, row, strict=True) if value is not None} for row in rows)
        yield field, (amounts or None for amounts in objects)


def _two_index_parts(instance: Instance) -> dict[str, Any]:
    parts: dict[str, Any] = {}
    shuffle, pairs, topology = instance.workload.shuffle, instance.workload.pairs, instance.cluster.topology
    if shuffle is not None:
        tasks = instance.workload.task_ids.tolist()
        columns = (shuffle.map.tolist(), shuffle.reduce.tolist(), plain_numbers(shuffle.size))
        entries = [
            {"map": tasks[source], "reduce": tasks[target], "size": size}
            for source, target, size in zip(*columns, strict=True)
        ]
        for entry, emitted in zip(entries, plain_numbers(instance.state.emitted), strict=True):
            if emitted is not None:
                entry["emitted"] = emitted
        parts["shuffle"] = entries
    if pairs is not None:
        matrices: dict[str, Any] = {}
        if pairs.cost is not None:
            matrices["cost"] = _rows(pairs.cost)
        if pairs.demand:
            matrices["demand"] = {name: _rows(matrix) for name, matrix in pairs.demand.items()}
        if pairs.allowed is not None:
            matrices["allowed"] = pairs.allowed.tolist()
        parts["pairs"] = matrices
    if topology is not None and topology.matrix is not None:
        parts["topology"] = {topology.form: _rows(topology.matrix)}
    return parts


def _rows(matrix: npt.NDArray[np.float64]) -> list[list[Any]]:
    return [plain_numbers(row) for row in matrix]


def _network_tables(network: FlowNetwork) -> dict[str, Any]:
    names = network.node_ids.tolist()
    nodes = [
        {"id": name, "supply": supply} if supply else {"id": name}
        for name, supply in zip(names, network.supply.tolist(), strict=True)
    ]
    arcs = []
    defaults = NETWORK_TABLES["arcs"]
    columns = [getattr(network, name).tolist() for name in ("arc_ids", "tail", "head", *defaults)]
    for row, (name, tail, head, *numbers) in enumerate(zip(*columns, strict=True)):
        arc: dict[str, Any] = {"tail": names[tail], "head": names[head]}
        if name != str(row):
            arc["id"] = name
        given = zip(defaults.items(), numbers, strict=True)
        arc |= {field: number for (field, default), number in given if number != default}
        arcs.append(arc)
    return {"nodes": nodes, "arcs": arcs}
