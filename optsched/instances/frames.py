"""Instances as tables: pandas frames and back, and files of them (`tasks.csv` and `nodes.csv`, or `.parquet`).

There is one frame for each table, with references by id and replicas in long form.

Everything else (name, labels, time, parameters, pairs, topology) is in the `attrs` of the frame of nodes, so
`from_frames(**to_frames(instance))` is the same instance. `from_frames` also takes these by name, which has precedence.
"""

from __future__ import annotations

import csv
import json
import os
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import numpy.typing as npt

from optsched.core.errors import Fault, InputError, described, expect, nearest
from optsched.core.instance import Floats, Instance
from optsched.core.parts import Column, ids_of
from optsched.instances.documents.columns import names_in, plain_numbers, to_document
from optsched.instances.documents.format import INSTANCE, RECORDS, TABLES
from optsched.instances.documents.storing import TABLE_SUFFIXES
from optsched.instances.files import from_document

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "TABLE_NAMES",
    "distance_matrix",
    "from_frames",
    "header",
    "load_tables",
    "names_in_table",
    "tasks_table",
    "to_frames",
]

#: The frames of ragged columns, in addition to the tables, and their own columns.
_LONG = {"replicas": ("task", "node"), "running_rates": ("node", "rate")}

#: The key of `attrs` under which the frame of nodes has everything that is no table.
_HEADER = "optsched"

#: Every frame that an instance may have.
TABLE_NAMES = ("nodes", "groups", "jobs", "tasks", *_LONG, "shuffle")


def to_frames(instance: Instance) -> dict[str, pd.DataFrame]:
    """An instance as frames.

    `nodes`, `groups`, `jobs`, `tasks`: one row for each record and one column for each field (`capacity.cpu`,
    `rate_in.c1` if a field has several), None or NaN if nothing is given. `replicas` (task, node), `running_rates`
    (node, rate) and `shuffle` (map, reduce, size, emitted): one row for each entry, in file order.
    `nodes.attrs["optsched"]` has everything that is no table (`header`).

    >>> from optsched.core.instance import Cluster, Instance, Ragged, Workload
    >>> instance = Instance(Cluster(["n1", "n2"]), Workload(["t1"], replicas=Ragged.from_rows([[1, 0]])))
    >>> to_frames(instance)["replicas"]
      task node
    0   t1   n2
    1   t1   n1
    """
    import pandas as pd

    frames = {}
    for table, columns in TABLES.items():
        values: dict[str, Any] = {} if table == "shuffle" else {"id": ids_of(instance, table).astype(object)}
        for column in columns:
            values.update(_frame_columns(instance, column))
        frames[table] = pd.DataFrame(values)
    nodes, tasks = (ids_of(instance, table).astype(object) for table in ("nodes", "tasks"))
    replicas, rates = instance.replicas, instance.state.running_rates
    frames["replicas"] = pd.DataFrame({"task": tasks[replicas.row_of], "node": nodes[replicas.values]}, dtype=object)
    frames["running_rates"] = pd.DataFrame({"node": nodes[rates.row_of], "rate": rates.values})
    frames["nodes"].attrs[_HEADER] = header(instance)
    return {name: frames[name] for name in TABLE_NAMES}


def _frame_columns(instance: Instance, column: Column) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    for key, values in column.parts_in(instance) if column.form not in ("numbers", "references") else ():
        title = f"{column.field}.{key}" if key else column.field
        if column.form in ("choice", "label", "reference"):
            yield title, np.array([*names_in(instance, column), None], dtype=object)[values]  # -1 picks None
        elif column.form == "integer" and column.default == -1:
            yield title, np.where(values < 0, np.nan, values)
        elif column.form != "levels" or not np.isnan(values).all():
            yield title, values


def header(instance: Instance) -> dict[str, Any]:
    """The parts of an instance outside the frames, as `from_frames` takes them: name, time, parameters, pairs, ..."""
    return {key: value for key, value in to_document(instance).items() if key not in TABLES}


def from_frames(
    nodes: pd.DataFrame,
    tasks: pd.DataFrame,
    *,
    jobs: pd.DataFrame | None = None,
    groups: pd.DataFrame | None = None,
    replicas: pd.DataFrame | None = None,
    running_rates: pd.DataFrame | None = None,
    shuffle: pd.DataFrame | None = None,
    **header: Any,
) -> Instance:
    """An instance from frames: one row for each record, one column for each field (docs/reference/instance-format.md).

    Parameters
    ----------
    nodes, tasks, jobs, groups
        Fields by their names; a field with several amounts has one column for each (`capacity.cpu`, `demand.cpu`;
        `rate_in.c1` of a node type; `times.off_rack`). Ids are in the column `id`, or in an index of that name. Whole
        numbers are allowed as ids and references. A missing value, None or NaN takes the default of the format.
    replicas
        Columns `task` and `node`, one row for each replica. Without it `tasks` may have lists of ids in a column
        `replicas`. `running_rates` works likewise: `node` and `rate` (MB/s).
    shuffle
        Columns `map`, `reduce`, `size` and `emitted` (MB).
    **header
        The rest of the format: `name`, `time`, `parameters`, `pairs`, `topology`, ...; these have precedence over the
        `attrs` of the frame of nodes. The `distance` of a topology may be an array, a frame or a networkx graph
        (`optsched.instances.frames.distance_matrix`).

    Raises
    ------
    UsageError
        If an argument is no frame.
    InputError
        If anything in the frames is faulty. It lists every fault with row and column: `tasks[3].size` is the fourth row
        of `tasks`; its index does not matter.

    Examples
    --------
    >>> import pandas
    >>> nodes = pandas.DataFrame({"id": ["n1", "n2"], "slots": [2, 1]})
    >>> tasks = pandas.DataFrame({"id": ["t1", "t2"], "replicas": [["n1"], ["n1", "n2"]]})
    >>> print(from_frames(nodes, tasks, name="small"))
    small: 2 tasks, 2 nodes
    """
    import pandas as pd

    given = {"nodes": nodes, "tasks": tasks, "jobs": jobs, "groups": groups}
    given |= {"replicas": replicas, "running_rates": running_rates, "shuffle": shuffle}
    for name, frame in given.items():
        if name in ("nodes", "tasks") or frame is not None:
            expect(
                frame, pd.DataFrame, f"from_frames takes {name} as a pandas frame", "pandas.DataFrame(...) makes one"
            )
    frames = {name: frame for name, frame in given.items() if frame is not None}
    for name, frame in frames.items():
        if frame.index.name == "id" and "id" not in frame.columns and "id" in _fields(name):
            frames[name] = frame.reset_index()
    header = {**nodes.attrs.get(_HEADER, {}), **header}
    faults = [fault for name, frame in frames.items() for fault in _column_faults(name, frame)]
    for table, name in (("tasks", "replicas"), ("nodes", "running_rates")):
        if name in frames and name in frames[table].columns:
            faults.append(Fault(name, f'is a frame, and a column of the frame "{table}" too; give one of them'))
    document: dict[str, Any] = {"format": INSTANCE, **header}
    if document["format"] != INSTANCE:
        faults.append(Fault("header.format", f'frames hold an instance, "{INSTANCE}", and nothing else'))
    if faults:
        raise InputError(faults)
    for table in TABLES:
        if table in frames:
            document[table] = _frame_records(table, frames[table])
    topology = header.get("topology")
    if isinstance(topology, Mapping) and not isinstance(topology.get("distance"), list | None):
        ids = [str(record.get("id")) for record in document["nodes"]]
        document["topology"] = {**topology, "distance": distance_matrix(topology["distance"], ids).tolist()}
    places = {
        **_attach(document["tasks"], frames, "replicas", "task", "node"),
        **_attach(document["nodes"], frames, "running_rates", "node", "rate"),
    }
    try:
        instance = from_document(document)
    except InputError as error:
        renamed = [Fault(places.get(fault.place, fault.place), fault.message) for fault in error.faults]
        raise InputError(renamed, error.source) from None
    assert isinstance(instance, Instance)  # as the format says
    return instance


def _column_faults(name: str, frame: pd.DataFrame) -> Iterable[Fault]:
    """The faults of the columns of a frame, before any row is read."""
    titles = [str(title) for title in frame.columns]
    fields = _fields(name)
    several = [column.field for column in TABLES.get(name, ()) if column.form in ("resources", "rates", "levels")]
    for title in dict.fromkeys(titles):
        field, dot, _ = title.partition(".")
        if titles.count(title) > 1:
            yield Fault(f"{name}.{title}", "the frame has several columns of this name")
        elif field not in fields or (dot and field not in several):
            yield Fault(f"{name}.{title}", f"there is no such field; {nearest(title, list(fields))}")
    for field, needed in fields.items():
        if needed and field not in titles:
            yield Fault(name, f'the frame has no column "{field}"')


def _fields(name: str) -> dict[str, bool]:
    """The fields of a frame, and whether it must have each of them."""
    if name in _LONG:
        return dict.fromkeys(_LONG[name], True)
    return {field.name: field.required for field in msgspec.structs.fields(RECORDS[name])}


def _frame_records(table: str, frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame as records, without missing values; `capacity.cpu` becomes a key in `capacity`."""
    names = names_in_table(table)
    records: list[dict[str, Any]] = [{} for _ in range(len(frame))]
    for title in frame.columns:
        field, dot, key = str(title).partition(".")
        values = _frame_values(frame[title], field in names)
        for row, (record, value) in enumerate(zip(records, values, strict=True)):
            if value is None:
                continue
            if not dot:
                record[field] = value
            elif isinstance(record.setdefault(field, {}), dict):
                record[field][key] = value
            else:
                message = f'is given both as "{field}" and as "{title}"; give one of them'
                raise InputError([Fault(f"{table}[{row}].{field}", message)])
    return records


def names_in_table(table: str) -> set[str]:
    """The columns of a frame that hold ids or names.

    >>> sorted(names_in_table("replicas"))
    ['node', 'task']
    """
    if table in _LONG:
        return set(_LONG[table]) - {"rate"}
    forms = ("label", "reference", "references")
    return {"id", *(column.field for column in TABLES[table] if column.form in forms)}


def _frame_values(values: pd.Series[Any], names: bool = False) -> list[Any]:
    """The values of a column as plain Python values, None if nothing is given; `names`: whole numbers as text."""
    array = values.to_numpy()
    if array.dtype.kind in "iuf":
        plain = plain_numbers(array)
    else:
        given = values.notna().tolist()
        entries = values.astype(object).tolist() if array.dtype.kind in "mM" else array.tolist()
        plain = [_plain(entry) if here else None for entry, here in zip(entries, given, strict=True)]
    return [_named(entry) for entry in plain] if names else plain


def _plain(entry: Any) -> Any:
    """An entry as JSON could hold it."""
    if isinstance(entry, np.ndarray | tuple | set | frozenset):
        return [_plain(part) for part in (sorted(entry) if isinstance(entry, set | frozenset) else entry)]
    return entry.item() if isinstance(entry, np.generic) else entry


def _named(entry: Any) -> Any:
    """A name that is a whole number becomes text."""
    if isinstance(entry, list):
        return [_named(part) for part in entry]
    return str(entry) if isinstance(entry, int) and not isinstance(entry, bool) else entry


def _attach(
    records: list[dict[str, Any]], frames: Mapping[str, pd.DataFrame], name: str, key: str, value: str
) -> dict[str, str]:
    """Put the rows of a long frame into their records, in their order.

    Returns the place of each entry in the frame, by its place in the document.
    """
    if name not in frames:
        return {}
    owners = {record.get("id"): row for row, record in enumerate(records)}
    faults, places = [], {}
    table, names = f"{key}s", names_in_table(name)
    columns = (_frame_values(frames[name][title], title in names) for title in (key, value))
    for row, (owner, entry) in enumerate(zip(*columns, strict=True)):
        if owner in owners:
            held = records[owners[owner]].setdefault(name, [])
            places[f"{table}[{owners[owner]}].{name}[{len(held)}]"] = f"{name}[{row}].{value}"
            held.append(entry)
        else:
            faults.append(Fault(f"{name}[{row}].{key}", f'no {key} "{owner}"'))
    if faults:
        raise InputError(faults)
    return places


#: The most wrong or missing names that a message shows.
_NAMES_SHOWN = 3


def distance_matrix(distances: Any, nodes: Sequence[str], place: str = "topology.distance") -> Floats:
    """The distances between nodes, in the nodes' order, for `Topology("distance", matrix)`: float64, shape (nodes,
    nodes).

    `distances` is an array, or nested lists, `[from][to]` in the nodes' order. Or it is a pandas frame with the nodes'
    ids as index and columns, in any order. Or it is a networkx graph that has every node; other vertices are switches.
    Then the distance is the least sum of `weight` of edges (1 for an edge without one), along their directions if the
    graph has any.

    InputError, at `place`, if it is none of these, has another shape, lacks or repeats a node, names an unknown one, or
    has no path. The instance checks that each entry is a number of 0 or more.

    >>> import networkx, pandas
    >>> distance_matrix(networkx.Graph([("a", "switch"), ("switch", "b")]), ["a", "b"]).tolist()
    [[0.0, 2.0], [2.0, 0.0]]
    >>> frame = pandas.DataFrame([[0, 5], [7, 0]], index=["b", "a"], columns=["b", "a"])
    >>> distance_matrix(frame, ["a", "b"]).tolist()
    [[0.0, 7.0], [5.0, 0.0]]
    """
    names = [str(node) for node in nodes]
    if hasattr(distances, "adjacency"):
        found = _by_paths(distances, names, place)
    elif hasattr(distances, "columns") and hasattr(distances, "index"):
        found = _by_ids(distances, names, place)
    else:
        found = distances
    try:
        matrix: Floats = np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError):
        message = f"expected an array, a frame or a graph of distances, got {described(distances)}"
        raise InputError([Fault(place, f"{message}; each entry must be a number")]) from None
    if matrix.shape != (len(names), len(names)):
        message = f"has shape {matrix.shape}, not nodes x nodes {(len(names), len(names))}"
        raise InputError([Fault(place, f"{message}; give a row and a column for each node, in the nodes' order")])
    return matrix


def _by_ids(frame: Any, names: Sequence[str], place: str) -> Any:
    """The entries of a frame in the order of the nodes."""
    sides = {what: [str(label) for label in getattr(frame, what)] for what in ("index", "columns")}
    known, faults = set(names), []
    for what, labels in sides.items():
        for label, count in Counter(labels).items():
            if label not in known:
                faults.append(Fault(f"{place}.{what}", f'no node "{label}"; {nearest(label, list(names))}'))
            elif count > 1:
                faults.append(Fault(f"{place}.{what}", f'"{label}" is there twice; keep one'))
        faults += _missing(set(labels), names, f"{place}.{what}")
    if faults:
        raise InputError(faults)
    places = ({label: place for place, label in enumerate(labels)} for labels in sides.values())
    rows, columns = ([place[name] for name in names] for place in places)
    return frame.to_numpy()[np.ix_(rows, columns)]


def _missing(there: set[str], names: Sequence[str], place: str) -> Iterator[Fault]:
    """The missing nodes, in one line."""
    missing = [name for name in names if name not in there]
    if missing:
        more = f" and {len(missing) - _NAMES_SHOWN} more" if len(missing) > _NAMES_SHOWN else ""
        listed = ", ".join(f'"{name}"' for name in missing[:_NAMES_SHOWN])
        yield Fault(place, f"lacks {listed}{more}; it must have every node")


def _by_paths(graph: Any, names: Sequence[str], place: str) -> Floats:
    """The lengths of shortest paths of a graph between the nodes."""
    import networkx as nx

    vertices = {str(vertex): vertex for vertex in graph}
    if missing := list(_missing(set(vertices), names, place)):
        raise InputError(missing)
    for one, other, weight in graph.edges(data="weight", default=1):
        if isinstance(weight, bool) or not isinstance(weight, int | float | np.number) or not weight >= 0:
            message = f'the edge from "{one}" to "{other}" weighs {weight!r}; give a number, 0 or more'
            raise InputError([Fault(place, message)])
    matrix = np.zeros((len(names), len(names)))
    for row, name in enumerate(names):
        lengths = nx.single_source_dijkstra_path_length(graph, vertices[name])
        for column, other in enumerate(names):
            if vertices[other] not in lengths:
                message = f'the graph has no path from "{name}" to "{other}"; add an edge'
                raise InputError([Fault(place, message)])
            matrix[row, column] = lengths[vertices[other]]
    return matrix


#: The main table of a folder that is an instance.
_TASKS = "tasks"


def tasks_table(source: str) -> Path | None:
    """The table of tasks at a path: a file of a table, or a folder with `tasks.csv`; None if there is none.

    A file with another table of such a folder, such as `nodes.csv`, stands for the folder.
    """
    path = Path(source)
    if source.endswith(TABLE_SUFFIXES):
        return (_sibling(path, _TASKS) or path) if path.stem in TABLE_NAMES else path
    return _sibling(path / _TASKS, _TASKS) if path.is_dir() else None


def _sibling(path: Path, table: str) -> Path | None:
    """The file of a table in the folder of a file, of the same kind if both exist; None if there is none."""
    kinds = sorted(TABLE_SUFFIXES, key=lambda suffix: suffix != path.suffix)
    found = (path.with_name(table + suffix) for suffix in kinds)
    return next((file for file in found if file.is_file()), None)


def load_tables(tasks: Path) -> Instance:
    r"""The instance whose tasks are in a file, and whose other tables are in the same folder.

    The file (`.csv` or `.parquet`) has one row for each task, with the columns of `from_frames`. Its column `replicas`
    has ids of nodes, separated by spaces or semicolons. `nodes` is required next to it. `jobs`, `groups`, `replicas`,
    `running_rates`, `shuffle` and `header.json` (name, time, parameters, topology, ...) are optional. The name of the
    instance is the header's, else that of the file, or of its folder if the file is `tasks`.

    InputError if a table is missing, unreadable or faulty; lists every fault with file, line and column.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "nodes.csv").write_text("id,slots\nn1,2\nn2,1\n")
    ...     _ = Path(folder, "small.csv").write_text("id,replicas\nt1,n1 n2\nt2,\n")
    ...     print(load_tables(Path(folder, "small.csv")))
    small: 2 tasks, 2 nodes
    """
    siblings = {name: _sibling(tasks, name) for name in TABLE_NAMES if name != _TASKS}
    files = {_TASKS: tasks, **{name: file for name, file in siblings.items() if file is not None}}
    frames = {name: _table(file, name) for name, file in files.items()}
    if "nodes" not in frames:
        message = "is a table of tasks; put nodes.csv (a row for each node: id, slots, rack) next to it"
        raise InputError([Fault("", message)], str(tasks))
    header = tasks.with_name("header.json")
    fields = _header(header) if header.is_file() else {}
    fields.setdefault("name", tasks.resolve().parent.name if tasks.stem == _TASKS else tasks.stem)
    try:
        return from_frames(**frames, **fields)
    except InputError as error:
        faults = [_in_file(fault, files, str(tasks)) for fault in error.faults]
        if "jobs" not in files and (of_jobs := [fault for fault in faults if fault.message.startswith('no job "')]):
            add = Fault(str(tasks), "its tasks name jobs: add jobs.csv with a row for each job (column id)")
            faults = [add, *(fault for fault in faults if fault not in of_jobs)]
        raise InputError(faults) from None


def _in_file(fault: Fault, files: Mapping[str, Path], otherwise: str) -> Fault:
    """A fault with its file, and the line of its row; `otherwise` is the file of faults outside the tables."""
    table, row = re.findall(r"^(\w*)(?:\[(\d+)\])?", fault.place)[0]
    path = files.get(table)
    where = otherwise if path is None else str(path)
    if path is not None and row and path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            entries = csv.reader(file)
            ends = [entries.line_num for entry in entries if entry]  # pandas leaves out empty lines, too
        where += f", line {ends[int(row) + 1]}"
    elif path is not None and row:
        where += f", row {int(row) + 1}"
    message = fault.message
    if re.search(r'^no node ".*[|,/+].*"$', message) and ".replicas" in fault.place:
        message += "; separate replicas by blanks or ;"
    return Fault(f"{where}: {fault.place}" if fault.place else where, message)


def _header(path: Path) -> dict[str, Any]:
    """Everything that is no table."""
    try:
        header = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError([Fault("", f"cannot be read: {error}")], str(path)) from None
    if not isinstance(header, dict) or set(header) & {*TABLE_NAMES}:
        message = "holds what is no table, as an object: name, time, parameters, pairs, topology, labels"
        raise InputError([Fault("", message)], str(path))
    return header


def _table(path: Path, name: str) -> pd.DataFrame:
    """The frame of a file, names as text."""
    import pandas as pd

    source = os.fspath(path)
    try:
        if path.suffix == ".parquet":
            frame = pd.read_parquet(path)
        else:
            text = dict.fromkeys(names_in_table(name), str)
            with warnings.catch_warnings():
                warnings.simplefilter("error", pd.errors.ParserWarning)  # else entries beyond the header are dropped
                frame = pd.read_csv(path, dtype=text, keep_default_na=False, na_values=[""], index_col=False)
            for title in frame.columns.difference(list(text)):
                if frame[title].dtype.kind not in "iufb":  # some entry is no number: the others stay what they are
                    frame[title] = frame[title].map(_number).astype(object)
    except ImportError:
        message = "Parquet needs pyarrow; install it (pip install pyarrow), or write CSV"
        raise InputError([Fault("", message)], source) from None
    except pd.errors.ParserWarning:
        message = "has rows with more entries than the header; quote an entry with a comma, or name each column"
        raise InputError([Fault("", message)], source) from None
    except (OSError, ValueError) as error:  # including pandas' ParserError and EmptyDataError
        raise InputError([Fault("", f"is no table: {' '.join(str(error).split())}")], source) from None
    if len(frame.columns) == 1 and ";" in frame.columns[0]:
        raise InputError([Fault("", "its columns are separated by semicolons; write it with commas")], source)
    if "replicas" in frame.columns:
        frame["replicas"] = [
            ids.replace(";", " ").split() if isinstance(ids, str) else ids for ids in frame["replicas"]
        ]
    return frame


def _number(entry: Any) -> Any:
    """The number in a text, if it is one."""
    for kind in (int, float):
        try:
            return kind(entry) if isinstance(entry, str) and "_" not in entry else entry
        except ValueError:
            pass
    return entry
