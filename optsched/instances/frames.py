"""Instances as pandas frames and back: one frame a table, references by id, replicas in long form.

What is no table (name, labels, time, parameters, pairs, topology) is in the `attrs` of the frame of nodes, so that
`from_frames(**to_frames(instance))` is the same instance. `from_frames` also takes it by name, which goes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from optsched.errors import Fault, InputError, expect, nearest
from optsched.instance import Instance
from optsched.instances.distances import distance_matrix
from optsched.instances.documents.columns import ids_of, names_in, plain_numbers, to_document
from optsched.instances.documents.format import INSTANCE, TABLES
from optsched.instances.files import from_document
from optsched.parts import HOPS, Column, Shuffle

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TABLE_NAMES", "from_frames", "header", "names_in_table", "to_frames"]

#: The long frames beside the four tables: name, and the columns that each must have.
_LONG = {
    "replicas": ("task", "node"),
    "running_rates": ("node", "rate"),
    "shuffle": (*Shuffle.ENDS, *Shuffle.AMOUNTS),
}

#: The key of `attrs` under which the frame of nodes has what is no table.
_HEADER = "optsched"

#: Every frame that an instance may have.
TABLE_NAMES = (*TABLES, *_LONG)


def to_frames(instance: Instance) -> dict[str, pd.DataFrame]:
    """An instance as frames.

    Parameters
    ----------
    instance
        Any instance.

    Returns
    -------
    dict[str, pandas.DataFrame]
        `nodes`, `groups`, `jobs`, `tasks`: a row a record and a column a field (`capacity.cpu`, `rate_in.c1` where a
        field has several), None or NaN where nothing is given. `replicas` (task, node), `running_rates` (node, rate)
        and `shuffle` (map, reduce, size, emitted): a row an entry, in file order. `nodes.attrs["optsched"]` has what is
        no table (`header`).

    Examples
    --------
    >>> from optsched.instance import Cluster, Instance, Ragged, Workload
    >>> instance = Instance(Cluster(["n1", "n2"]), Workload(["t1"], replicas=Ragged.from_rows([[1, 0]])))
    >>> to_frames(instance)["replicas"]
      task node
    0   t1   n2
    1   t1   n1
    """
    import pandas as pd

    frames = {}
    for table, columns in TABLES.items():
        values: dict[str, Any] = {"id": ids_of(instance, table).astype(object)}
        for column in columns:
            values.update(_frame_columns(instance, column))
        frames[table] = pd.DataFrame(values)
    nodes, tasks = (ids_of(instance, table).astype(object) for table in ("nodes", "tasks"))
    replicas, rates = instance.replicas, instance.state.running_rates
    frames["replicas"] = pd.DataFrame({"task": tasks[replicas.row_of], "node": nodes[replicas.values]}, dtype=object)
    frames["running_rates"] = pd.DataFrame({"node": nodes[rates.row_of], "rate": rates.values})
    shuffle = instance.workload.shuffle
    if shuffle is None:
        frames["shuffle"] = pd.DataFrame({name: [] for name in _LONG["shuffle"]})
    else:
        ends = {"map": tasks[shuffle.map], "reduce": tasks[shuffle.reduce]}
        frames["shuffle"] = pd.DataFrame({**ends, "size": shuffle.size, "emitted": instance.state.emitted})
    frames["nodes"].attrs[_HEADER] = header(instance)
    return frames


def _frame_columns(instance: Instance, column: Column) -> Iterable[tuple[str, npt.NDArray[Any]]]:
    part = getattr(instance, column.part)
    values = getattr(part, column.attribute)
    if column.form == "resources":
        yield from ((f"{column.field}.{name}", amounts) for name, amounts in values.items())
    elif column.form == "levels":
        if not np.isnan(values).all():
            yield from ((f"{column.field}.{name}", times) for name, times in zip(HOPS, values.T, strict=True))
    elif column.form in ("number", "integer", "rates"):
        unknown = column.form == "integer" and column.default == -1
        yield column.field, np.where(values < 0, np.nan, values) if unknown else values
        if column.form == "rates" and part.rate_in_by_type is not None:
            names = instance.cluster.type_ids.tolist()
            yield from ((f"{column.field}.{name}", part.rate_in_by_type[:, row]) for row, name in enumerate(names))
    elif column.form in ("choice", "label", "reference"):
        yield column.field, np.array([*names_in(instance, column), None], dtype=object)[values]  # -1 picks None


def header(instance: Instance) -> dict[str, Any]:
    """What frames leave out of an instance, as `from_frames` takes it: name, time, parameters, pairs, topology, ..."""
    return {key: value for key, value in to_document(instance).items() if key not in (*TABLES, "shuffle")}


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
    """An instance from frames: a row a record, a column a field (docs/reference/instance-format.md).

    Parameters
    ----------
    nodes, tasks, jobs, groups
        Fields by their names; a field with several amounts is a column each (`capacity.cpu`, `demand.cpu`; `rate_in.c1`
        of a node type; `times.off_rack`). Ids are in the column `id`, or are the index where that is called so. Whole
        numbers do as ids and references. What is left out, None or NaN takes the default of the format.
    replicas
        Columns `task` and `node`, a row a replica; or leave it out and let `tasks` have lists of ids in its column
        `replicas`. `running_rates` is likewise: `node` and `rate` (MB/s).
    shuffle
        Columns `map`, `reduce`, `size` and `emitted` (MB).
    **header
        The rest of the format: `name`, `time`, `parameters`, `pairs`, `topology`, ..., before what the frame of nodes
        has in its `attrs`. The `distance` of a topology may
        be an array, a frame or a networkx graph (`optsched.instances.distances.distance_matrix`).

    Raises
    ------
    UsageError
        If what is given is no frame.
    InputError
        If anything in the frames is wrong. It lists every fault with row and column: `tasks[3].size` is the fourth row
        of `tasks`, whatever its index.

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
    frames = {name: _with_id(frame) if name in TABLES else frame for name, frame in given.items() if frame is not None}
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
    for table in (*TABLES, "shuffle"):
        if table in frames and (table in TABLES or len(frames[table])):
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
        told = [Fault(places.get(fault.place, fault.place), fault.message) for fault in error.faults]
        raise InputError(told, error.source) from None
    assert isinstance(instance, Instance)  # as the format says
    return instance


def _with_id(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with its ids as a column."""
    return frame.reset_index() if frame.index.name == "id" and "id" not in frame.columns else frame


def _column_faults(name: str, frame: pd.DataFrame) -> Iterable[Fault]:
    """What is wrong with the columns of a frame, before any row is looked at."""
    titles = [str(title) for title in frame.columns]
    columns = TABLES.get(name, ())
    fields = _LONG.get(name) or ("id", *(column.field for column in columns))
    several = [column.field for column in columns if column.form in ("resources", "rates", "levels")]
    for title in dict.fromkeys(titles):
        field, dot, _ = title.partition(".")
        if titles.count(title) > 1:
            yield Fault(f"{name}.{title}", "the frame has several columns of this name")
        elif field not in fields or (dot and field not in several):
            yield Fault(f"{name}.{title}", f"there is no such field; {nearest(title, fields)}")
    for needed in fields[:1] if name in TABLES else [field for field in fields if field != "emitted"]:
        if needed not in titles:
            yield Fault(name, f'the frame has no column "{needed}"')


def _frame_records(table: str, frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame as records, without what is not given; `capacity.cpu` becomes a key in `capacity`."""
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
                told = f'is given both as "{field}" and as "{title}"; give one of them'
                raise InputError([Fault(f"{table}[{row}].{field}", told)])
    return records


def names_in_table(table: str) -> set[str]:
    """The columns of a frame that hold ids, or what things are called.

    >>> sorted(names_in_table("replicas"))
    ['node', 'task']
    """
    if table in _LONG:
        return set(_LONG[table]) - {"rate", *Shuffle.AMOUNTS}
    forms = ("label", "reference", "references")
    return {"id", *(column.field for column in TABLES[table] if column.form in forms)}


def _frame_values(values: pd.Series[Any], names: bool = False) -> list[Any]:
    """The values of a column as plain Python values, None where nothing is given; `names`: whole numbers as text."""
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
    """What is called by a whole number is called by its digits."""
    if isinstance(entry, list):
        return [_named(part) for part in entry]
    return str(entry) if isinstance(entry, int) and not isinstance(entry, bool) else entry


def _attach(
    records: list[dict[str, Any]], frames: Mapping[str, pd.DataFrame], name: str, key: str, value: str
) -> dict[str, str]:
    """Put the rows of a long frame into the records that they belong to, in their order.

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
