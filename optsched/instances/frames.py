"""Instances as pandas frames and back: one frame a table, references by id, replicas in long form.

What is no table (name, labels, time, parameters, pairs, topology) stays where it is: it is handed to `from_frames`
as a document without records, which `header` takes from an instance.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from optsched.errors import Fault, InputError, nearest
from optsched.instance import Instance
from optsched.instances.documents.columns import ids_of, names_in, plain_numbers, to_document
from optsched.instances.documents.format import INSTANCE, TABLES
from optsched.instances.files import from_document
from optsched.parts import Column, Shuffle

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["from_frames", "header", "to_frames"]

#: The long frames beside the four tables: name, and the columns that each must have.
_LONG = {
    "replicas": ("task", "node"),
    "running_rates": ("node", "rate"),
    "shuffle": (*Shuffle.ENDS, *Shuffle.AMOUNTS),
}


def to_frames(instance: Instance) -> dict[str, pd.DataFrame]:
    """An instance as frames.

    Parameters
    ----------
    instance
        Any instance.

    Returns
    -------
    dict of DataFrame
        `nodes`, `groups`, `jobs`, `tasks`: a row a record and a column a field (`capacity.cpu`, `rate_in.c1` where a
        field has several), None or NaN where nothing is given. `replicas` (task, node), `running_rates` (node, rate)
        and `shuffle` (map, reduce, size, emitted): a row an entry, in file order.

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
    replicas, rates = instance.replicas, instance.cluster.running_rates
    frames["replicas"] = pd.DataFrame({"task": tasks[replicas.row_of], "node": nodes[replicas.values]}, dtype=object)
    frames["running_rates"] = pd.DataFrame({"node": nodes[rates.row_of], "rate": rates.values})
    shuffle = instance.workload.shuffle
    if shuffle is None:
        frames["shuffle"] = pd.DataFrame({name: [] for name in _LONG["shuffle"]})
    else:
        ends = {"map": tasks[shuffle.map], "reduce": tasks[shuffle.reduce]}
        frames["shuffle"] = pd.DataFrame({**ends, "size": shuffle.size, "emitted": shuffle.emitted})
    return frames


def _frame_columns(instance: Instance, column: Column) -> Iterable[tuple[str, npt.NDArray[Any]]]:
    part = getattr(instance, column.part)
    values = getattr(part, column.attribute)
    if column.form == "resources":
        yield from ((f"{column.field}.{name}", amounts) for name, amounts in values.items())
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


def from_frames(frames: Mapping[str, pd.DataFrame], header: Mapping[str, Any] | None = None) -> Instance:
    """An instance from frames as `to_frames` makes them.

    Parameters
    ----------
    frames
        `nodes` and `tasks`, and any of the other frames; columns that are left out, and entries that are None or NaN,
        take the defaults of the format.
    header
        The rest of the document (name, time, parameters, pairs, topology, ...).

    Raises
    ------
    InputError
        If a frame is missing or unknown, or anything in the frames is wrong; lists every fault.

    Examples
    --------
    >>> import pandas
    >>> nodes, tasks = pandas.DataFrame({"id": ["n1"], "slots": [2]}), pandas.DataFrame({"id": ["t1", "t2"]})
    >>> print(from_frames({"nodes": nodes, "tasks": tasks}, {"name": "small"}))
    small: 2 tasks, 1 nodes
    """
    known = [*TABLES, *_LONG]
    faults = [Fault(name, f"there is no such frame; {nearest(name, known)}") for name in frames if name not in known]
    faults += [Fault(name, "the frame is missing") for name in ("nodes", "tasks") if name not in frames]
    for name, columns in _LONG.items():
        if name in frames:
            missing = [column for column in columns[:3] if column not in frames[name].columns]
            faults += [Fault(name, f'the frame has no column "{column}"') for column in missing]
    document: dict[str, Any] = {"format": INSTANCE, **(header or {})}
    if document["format"] != INSTANCE:
        faults.append(Fault("header.format", f'frames hold an instance, "{INSTANCE}", and nothing else'))
    if faults:
        raise InputError(faults)
    for table in TABLES:
        if table in frames:
            document[table] = _frame_records(frames[table])
    _attach(document["tasks"], frames, "replicas", "task", "node")
    _attach(document["nodes"], frames, "running_rates", "node", "rate")
    if "shuffle" in frames and len(frames["shuffle"]):
        document["shuffle"] = _frame_records(frames["shuffle"])
    instance = from_document(document)
    assert isinstance(instance, Instance)  # as the format says
    return instance


def _frame_records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame as records, without what is not given; `capacity.cpu` becomes a key in `capacity`."""
    records: list[dict[str, Any]] = [{} for _ in range(len(frame))]
    for title in frame.columns:
        field, dot, key = str(title).partition(".")
        for row, (record, value) in enumerate(zip(records, _frame_values(frame[title]), strict=True)):
            if value is None:
                continue
            if not dot:
                record[field] = value
            elif isinstance(record.setdefault(field, {}), dict):
                record[field][key] = value
            else:
                told = f'is given both as "{field}" and as "{title}"; give one of them'
                raise InputError([Fault(f"row {row}.{field}", told)])
    return records


def _frame_values(values: pd.Series[Any]) -> list[Any]:
    """The values of a column as plain Python values, None where nothing is given."""
    array = values.to_numpy()
    if array.dtype.kind in "iuf":
        return plain_numbers(array)
    given = values.notna().tolist()
    plain = array.tolist()
    return [
        (entry.item() if isinstance(entry, np.generic) else entry) if here else None
        for entry, here in zip(plain, given, strict=True)
    ]


def _attach(records: list[dict[str, Any]], frames: Mapping[str, pd.DataFrame], name: str, key: str, value: str) -> None:
    """Put the rows of a long frame into the records that they belong to, in their order."""
    if name not in frames:
        return
    owners = {record.get("id"): record for record in records}
    faults = []
    rows = zip(_frame_values(frames[name][key]), _frame_values(frames[name][value]), strict=True)
    for row, (owner, entry) in enumerate(rows):
        if owner in owners:
            owners[owner].setdefault(name, []).append(entry)
        else:
            faults.append(Fault(f"{name}[{row}].{key}", f'no {key} "{owner}"'))
    if faults:
        raise InputError(faults)
