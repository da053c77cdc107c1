"""Instances and networks as `.npz` archives: one array a column, nothing pickled, the same bytes for the same content.

An array is named after its field (`tasks.size`, `nodes.capacity.cpu`). References are row numbers, -1 for none; ragged
rows come with `<field>.starts`; racks, datacenters and types with `<field>.names`; ids are UTF-8 at fixed width. A
column that says nothing beyond the defaults is left out. `header` holds, as JSON text, what is no column. NumPy reads
the file as it is (`numpy.load`). Opening a file, and what may go wrong with that, is in `files`.
"""

from __future__ import annotations

import io
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from optsched.core.errors import Fault, InputError, nearest
from optsched.core.instance import Cluster, Instance, Pairs, Ragged, Shuffle, State, Topology, Workload
from optsched.core.network import DEFAULTS, UNBOUNDED, FlowNetwork
from optsched.core.parts import Column, ids_in
from optsched.instances.documents.columns import ids_of
from optsched.instances.documents.format import NETWORK_TABLES, TABLES

__all__ = ["header_text", "pack", "read_arrays", "to_arrays", "to_instance", "to_network", "told", "whole"]

_Array = npt.NDArray[Any]

#: Kinds of NumPy types that hold what is wanted.
_KINDS = {"integer": "iu", "number": "iuf", "string": "SU", "truth": "b"}
_WORDS = {"integer": "integers", "number": "numbers", "string": "fixed-width strings", "truth": "booleans"}


def to_arrays(noun: Instance | FlowNetwork) -> dict[str, _Array]:
    """Every column that says more than the defaults, by name; without the header."""
    if isinstance(noun, FlowNetwork):
        return _network_arrays(noun)
    arrays: dict[str, _Array] = {}
    for table, columns in TABLES.items():
        ids = ids_of(noun, table)
        if len(ids) or table in ("nodes", "tasks"):
            arrays[f"{table}.id"] = ids
        for column in columns:
            arrays.update(_column_arrays(noun, f"{table}.{column.field}", column))
    shuffle, pairs, topology = noun.workload.shuffle, noun.workload.pairs, noun.cluster.topology
    if shuffle is not None:
        arrays |= {f"shuffle.{name}": getattr(shuffle, name) for name in (*shuffle.ENDS, "size")}
        arrays["shuffle.emitted"] = noun.state.emitted
    if pairs is not None:
        matrices = {"pairs.cost": pairs.cost, "pairs.allowed": pairs.allowed}
        arrays |= {name: matrix for name, matrix in matrices.items() if matrix is not None}
        arrays |= {f"pairs.demand.{name}": matrix for name, matrix in pairs.demand.items()}
    if topology is not None and topology.matrix is not None:
        arrays[f"topology.{topology.form}"] = topology.matrix
    return arrays


def _column_arrays(instance: Instance, name: str, column: Column) -> Iterator[tuple[str, _Array]]:
    values = getattr(getattr(instance, column.part), column.attribute)
    if column.form == "resources":
        yield from ((f"{name}.{resource}", amounts) for resource, amounts in values.items())
    elif column.form in ("numbers", "references"):
        if len(values.values):
            yield from ((name, values.values), (f"{name}.starts", values.starts))
    elif column.form == "label":
        if np.any(values >= 0):
            yield from ((name, values), (f"{name}.names", getattr(instance.cluster, f"{column.attribute}_ids")))
    else:
        if np.any((values != column.default_in(instance.cluster)) & (values == values)):
            yield name, values
        if column.form == "rates" and instance.workload.rate_in_by_type is not None:
            yield f"{name}.by_type", instance.workload.rate_in_by_type


def _network_arrays(network: FlowNetwork) -> dict[str, _Array]:
    arrays: dict[str, _Array] = {"nodes.id": network.node_ids, "arcs.tail": network.tail, "arcs.head": network.head}
    if not np.array_equal(network.arc_ids, np.arange(network.arcs).astype(np.str_)):
        arrays["arcs.id"] = network.arc_ids
    for name, default in DEFAULTS.items():
        values = getattr(network, name)
        if np.any(values != default):
            table = "nodes" if name in NETWORK_TABLES["nodes"] else "arcs"
            arrays[f"{table}.{name}"] = np.where(values == UNBOUNDED, -1, values)
    return arrays


def pack(header: bytes, arrays: Mapping[str, _Array]) -> bytes:
    """The bytes of an archive: uncompressed, integers as narrow as they fit, no date in them."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, values in {"header": np.frombuffer(header, dtype=np.uint8), **arrays}.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, _narrow(values), allow_pickle=False)
    return buffer.getvalue()


def _narrow(values: _Array) -> _Array:
    if values.dtype.kind == "U":
        return np.strings.encode(values, "utf-8") if values.size else np.zeros(0, dtype="S1")
    if values.dtype == np.int64 and values.size and max(abs(int(values.min())), int(values.max())) < 2**31:
        return values.astype(np.int32)
    return np.ascontiguousarray(values)


def read_arrays(data: bytes, largest: int) -> dict[str, _Array]:
    """The arrays of an archive, read-only, with nothing unpickled.

    Raises
    ------
    InputError
        If it is no sound archive of plain arrays, or says that it unpacks to more than `largest` bytes.
    """
    arrays: dict[str, _Array] = {}
    faults = []
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            total = sum(entry.file_size for entry in entries)
            if total > largest:
                raise InputError([Fault("", f"unpacks to {total} bytes; at most {largest} are read")])
            for entry in entries:
                name = entry.filename.removesuffix(".npy")
                if not name.isprintable():
                    faults.append(Fault("", f"{name[:40]!r} is no name of a column"))
                elif name in arrays:
                    faults.append(Fault(name, "the column is given more than once"))
                elif entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or entry.flag_bits & 1:
                    faults.append(Fault(name, "is encrypted, or compressed in a way that NumPy does not use"))
                else:
                    try:
                        arrays[name] = _array(archive.read(entry))
                    except _CORRUPT as error:
                        faults.append(Fault(name, f"is no sound NumPy array: {_first_line(error)}"))
    except _CORRUPT as error:
        faults.append(Fault("", f"is no sound .npz archive: {_first_line(error)}"))
    if faults:
        raise InputError(faults)
    return arrays


def header_text(arrays: dict[str, _Array], form: str) -> bytes:
    """The JSON text of an archive, taken out of its arrays; `form` is what it should be of.

    Raises
    ------
    InputError
        If it has none.
    """
    text = arrays.pop("header", None)
    if text is None or text.dtype.kind not in "uSU":
        told = f'the column is missing; it holds the JSON text {{"format": "{form}", ...}}'
        raise InputError([Fault("header", told)])
    return text.tobytes()


def whole(values: _Array) -> bool:
    """Whether an array holds whole numbers that int64 can hold."""
    return values.dtype.kind in "iu" and values.dtype != np.uint64


def told(values: _Array) -> str:
    """What an array is, for messages."""
    return f"{values.dtype} of shape {values.shape}"


#: What zipfile, zlib and NumPy raise on bytes that are not what they seem.
_CORRUPT = (
    *(zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError, TypeError, SyntaxError),
    *(KeyError, IndexError, OverflowError, MemoryError, struct.error, tokenize.TokenError),
)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:120]


def _array(data: bytes) -> _Array:
    """An array over the bytes of an `.npy` entry."""
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    else:
        shape, fortran, dtype = np.lib.format.read_array_header_2_0(stream)
    if dtype.hasobject or dtype.kind not in "iufbSU":
        raise ValueError(f"it holds {dtype}, neither numbers nor fixed-width strings")
    count = 1
    for length in shape:
        count *= length
    rest = len(data) - stream.tell()
    if any(length < 0 for length in shape) or count * dtype.itemsize != rest:
        raise ValueError(f"its shape {shape} of {dtype} does not fit its {rest} bytes")
    if dtype.itemsize == 0:  # any number of them fits into no bytes at all
        raise ValueError("its strings have no width")
    values = np.frombuffer(data, dtype=dtype, offset=stream.tell())
    return values.reshape(shape, order="F" if fortran else "C")


class _Columns:
    """Arrays on their way into the nouns: each is taken once, in the type that is due; what is left is unknown."""

    def __init__(self, arrays: Mapping[str, _Array]) -> None:
        self.left = dict(arrays)
        self.known: list[str] = []
        self.faults: list[Fault] = []

    def take(self, name: str, kind: str, required: bool = False) -> Any:
        """The array of that name, or None."""
        self.known.append(name)
        values = self.left.pop(name, None)
        if values is None:
            if required:
                self.faults.append(Fault(name, "the column is missing"))
            return np.zeros(0, dtype="U1") if required and kind == "string" else None
        if values.dtype.kind not in _KINDS[kind] or values.dtype == np.uint64:
            self.faults.append(Fault(name, f"expected {_WORDS[kind]}, got {values.dtype}"))
            return np.zeros(0, dtype="U1") if required and kind == "string" else None
        if values.dtype.kind == "S":
            try:
                return _decoded(values)
            except UnicodeDecodeError as error:
                self.faults.append(Fault(name, f"is no UTF-8 text: {error.reason}"))
                return np.zeros(0, dtype="U1") if required else None
        return values

    def take_all(self, prefix: str, kind: str) -> dict[str, _Array]:
        """The arrays whose names begin so, by the rest of their names."""
        names = [name for name in self.left if name.startswith(prefix)]
        taken = {name.removeprefix(prefix): self.take(name, kind) for name in names}
        return {name: values for name, values in taken.items() if values is not None}

    def made(self, make: Callable[[], Any]) -> Any:
        """What `make` makes; raises what is wrong with the columns together with what it finds itself."""
        for name in self.left:
            self.faults.append(Fault(name, f"there is no such column; {nearest(name, self.known)}"))
        if self.faults:
            raise InputError(self.faults)
        return make()


def _decoded(values: _Array) -> _Array:
    """UTF-8 strings at fixed width as NumPy strings: at once where all is ASCII."""
    codes = np.ascontiguousarray(values).view(np.uint8)
    if codes.size and codes.max() > 127:
        return np.strings.decode(values, "utf-8")
    decoded: _Array = codes.astype(np.uint32).view(f"<U{values.dtype.itemsize}" if values.size else "<U1")
    return decoded.reshape(values.shape)


def to_instance(arrays: Mapping[str, _Array], header: Mapping[str, Any], topology: Topology | None) -> Instance:
    """The instance of a header (name, time, ...), a topology that is no matrix, and columns.

    Raises
    ------
    InputError
        If a column is missing, unknown or of the wrong type, or if the instance is wrong.
    """
    columns = _Columns(arrays)
    parts: dict[str, dict[str, Any]] = {"cluster": {"topology": topology}, "workload": {}, "state": {}}
    for table, described in TABLES.items():
        part, attribute = ids_in(table)
        parts[part][attribute] = columns.take(f"{table}.id", "string", required=table in ("nodes", "tasks"))
        for column in described:
            name = f"{table}.{column.field}"
            held = parts[column.part]
            if column.form == "resources":
                held[column.attribute] = columns.take_all(f"{name}.", "number")
            elif column.form in ("numbers", "references"):
                values = columns.take(name, "number" if column.form == "numbers" else "integer")
                starts = columns.take(f"{name}.starts", "integer", required=values is not None)
                if values is not None and starts is not None:
                    held[column.attribute] = Ragged(starts, values)
            else:
                held[column.attribute] = columns.take(name, "number" if column.dtype is np.float64 else "integer")
                if column.form == "label":
                    held[f"{column.attribute}_ids"] = columns.take(f"{name}.names", "string")
                elif column.form == "rates":
                    held["rate_in_by_type"] = columns.take(f"{name}.by_type", "number")
    workload = parts["workload"]
    ends = {name: columns.take(f"shuffle.{name}", "integer") for name in Shuffle.ENDS}
    sizes = {name: columns.take(f"shuffle.{name}", "number") for name in Shuffle.AMOUNTS}
    if all(values is not None for values in (*ends.values(), *sizes.values())):
        parts["state"]["emitted"] = sizes.pop("emitted")
        workload["shuffle"] = Shuffle(**ends, **sizes)
    elif any(values is not None for values in (*ends.values(), *sizes.values())):
        columns.faults.append(Fault("shuffle", "needs all of map, reduce, size and emitted (NaN where unknown)"))
    allowed = columns.take("pairs.allowed", "truth")
    workload["pairs"] = Pairs(
        columns.take("pairs.cost", "number"), columns.take_all("pairs.demand.", "number"), allowed
    )
    matrices = {form: columns.take(f"topology.{form}", "number") for form in ("distance", "rate")}
    given = {form: matrix for form, matrix in matrices.items() if matrix is not None}
    if len(given) + (topology is not None) > 1:
        columns.faults.append(Fault("topology", "is given in more than one form"))
    for form, matrix in given.items():
        parts["cluster"]["topology"] = Topology("distance" if form == "distance" else "rate", matrix)

    def make() -> Instance:
        cluster, workload = Cluster(**parts["cluster"]), Workload(**parts["workload"])
        others = {name: value for name, value in header.items() if name != "time"}
        state = State.initial(cluster, workload, time=header.get("time", 0), **parts["state"])
        return Instance(cluster, workload, state, **others)

    instance: Instance = columns.made(make)
    return instance


def to_network(arrays: Mapping[str, _Array], header: Mapping[str, Any]) -> FlowNetwork:
    """The flow network of a header and columns; raises `InputError` as `to_instance` does."""
    columns = _Columns(arrays)
    ids = {"node_ids": columns.take("nodes.id", "string", required=True), "arc_ids": columns.take("arcs.id", "string")}
    ends = {name: columns.take(f"arcs.{name}", "integer", required=True) for name in ("tail", "head")}
    others = {
        name: columns.take(f"{table}.{name}", "integer")
        for table in ("arcs", "nodes")
        for name in NETWORK_TABLES[table]
    }
    if others["capacity"] is not None:
        others["capacity"] = np.where(others["capacity"] == -1, UNBOUNDED, others["capacity"].astype(np.int64))
    network: FlowNetwork = columns.made(lambda: FlowNetwork(**ids, **ends, **others, **header))
    return network
