"""Instances as tables in files: `tasks.csv` and `nodes.csv`, or `.parquet`, and the other tables of `to_frames`."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optsched.errors import Fault, InputError
from optsched.instance import Instance
from optsched.instances.files import TABLE_SUFFIXES
from optsched.instances.frames import TABLE_NAMES, from_frames, names_in_table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["load_tables", "tasks_table"]

#: The table of a folder that is an instance.
_TASKS = "tasks"


def tasks_table(source: str) -> Path | None:
    """The table of tasks that a path names: a file of a table, or a folder with `tasks.csv`; None where there is none.

    A file that is another table of such a folder, as `nodes.csv`, stands for the folder.
    """
    path = Path(source)
    if source.endswith(TABLE_SUFFIXES):
        return (_beside(path, _TASKS) or path) if path.stem in TABLE_NAMES else path
    return _beside(path / _TASKS, _TASKS) if path.is_dir() else None


def _beside(path: Path, table: str) -> Path | None:
    """The file of a table in the folder of a file, of the same kind if there are both; None where there is none."""
    kinds = sorted(TABLE_SUFFIXES, key=lambda suffix: suffix != path.suffix)
    found = (path.with_name(table + suffix) for suffix in kinds)
    return next((file for file in found if file.is_file()), None)


def load_tables(tasks: Path) -> Instance:
    r"""The instance whose tasks are in a file, and whose other tables lie in the same folder.

    Parameters
    ----------
    tasks
        A `.csv` or `.parquet` file with a row for each task: columns as `from_frames` takes them. Its column `replicas`
        has ids of nodes, parted by spaces or semicolons. `nodes` must lie next to it. `jobs`, `groups`, `replicas`,
        `running_rates`, `shuffle` and `header.json` (name, time, parameters, topology, ...) may.

    Returns
    -------
    Instance
        Called as the header says, else as the file is, or as its folder is where the file is `tasks`.

    Raises
    ------
    InputError
        If a table is missing, unreadable or wrong; lists every fault with row and column.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "nodes.csv").write_text("id,slots\nn1,2\nn2,1\n")
    ...     _ = Path(folder, "small.csv").write_text("id,replicas\nt1,n1 n2\nt2,\n")
    ...     print(load_tables(Path(folder, "small.csv")))
    small: 2 tasks, 2 nodes
    """
    frames = {_TASKS: _table(tasks, _TASKS)}
    for name in TABLE_NAMES:
        file = None if name == _TASKS else _beside(tasks, name)
        if file is not None:
            frames[name] = _table(file, name)
    if "nodes" not in frames:
        told = "is a table of tasks; put nodes.csv (a row for each node: id, slots, rack) next to it"
        raise InputError([Fault("", told)], str(tasks))
    header = tasks.with_name("header.json")
    said = _header(header) if header.is_file() else {}
    said.setdefault("name", tasks.resolve().parent.name if tasks.stem == _TASKS else tasks.stem)
    try:
        return from_frames(**frames, **said)
    except InputError as error:
        raise error.with_source(str(tasks)) from None


def _header(path: Path) -> dict[str, Any]:
    """What is no table."""
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError([Fault("", f"cannot be read: {error}")], str(path)) from None
    if not isinstance(said, dict) or set(said) & {*TABLE_NAMES}:
        told = "holds what is no table, as an object: name, time, parameters, pairs, topology, labels"
        raise InputError([Fault("", told)], str(path))
    return said


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
                warnings.simplefilter("error", pd.errors.ParserWarning)  # else entries past the header are dropped
                frame = pd.read_csv(path, dtype=text, keep_default_na=False, na_values=[""], index_col=False)
            for title in frame.columns.difference(list(text)):
                if frame[title].dtype.kind not in "iufb":  # some entry is no number: the others stay what they are
                    frame[title] = frame[title].map(_number).astype(object)
    except ImportError:
        told = "Parquet needs pyarrow; install it (pip install pyarrow), or write CSV"
        raise InputError([Fault("", told)], source) from None
    except pd.errors.ParserWarning:
        told = "has rows with more entries than the header; quote an entry with a comma, or name each column"
        raise InputError([Fault("", told)], source) from None
    except (OSError, ValueError) as error:  # also what pandas calls a ParserError, or an EmptyDataError
        raise InputError([Fault("", f"is no table: {' '.join(str(error).split())}")], source) from None
    if "replicas" in frame.columns:
        frame["replicas"] = frame["replicas"].map(_listed)
    return frame


def _number(entry: Any) -> Any:
    """What a text says, where that is a number."""
    for kind in (int, float):
        try:
            return kind(entry) if isinstance(entry, str) and "_" not in entry else entry
        except ValueError:
            pass
    return entry


def _listed(replicas: Any) -> Any:
    """Ids that a text parts by spaces or semicolons, as a list."""
    return replicas.replace(";", " ").split() if isinstance(replicas, str) else replicas
