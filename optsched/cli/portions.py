"""`optsched simulate --stream`: a workload in portions, never held whole, and rows of jobs written as they come."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from optsched.cli import arguments
from optsched.cli.simulating import FIELDS as OF_RUNS
from optsched.cli.simulating import RunRows
from optsched.errors import HeuristicFailed, UsageError, nearest
from optsched.fingerprint import code_version

if TYPE_CHECKING:
    import pandas as pd

    from optsched.cli.notes import Notes
    from optsched.cli.streams import Sink, Write
    from optsched.instance import Instance
    from optsched.instances.documents.writing import GrowingFile
    from optsched.simulating.streaming import Streamed

__all__ = ["FIELDS", "Portions", "portions_of", "simulate_portions"]

#: What portions may be made of.
INSTANCES, SWIM = "instances", "swim"

#: Jobs of a portion of a SWIM trace.
_JOBS = 100

#: So many rows of jobs are one group of a Parquet file.
_ROWS = 10_000

#: The fields of a record of a run: those of other runs, but what needs all jobs at once, and how much was held.
FIELDS = tuple(
    field
    for name in OF_RUNS
    for field in (("most_held", name) if name == "unfinished" else (name,))
    if field not in ("instance_sha256", "losses", "median_job_time")
)


@dataclass(frozen=True, slots=True)
class Portions:
    """A workload in portions: what it is called, how to read it anew, and whether runs are to be exact."""

    name: str
    read: Callable[[], Iterator[Instance]]
    exact: bool


def portions_of(text: str, given: Sequence[str]) -> Portions:
    """The workload that `--stream` and the INSTANCEs mean.

    Parameters
    ----------
    text
        `instances` or `swim`, with values.
    given
        The INSTANCEs: portions in their order, or one SWIM trace.

    Raises
    ------
    UsageError
        For another word or value; nothing is read before.
    InputError
        For folders and patterns without instances.
    """
    from optsched.studies.choices import literal, load_instance, names_of, parted

    kind, texts = parted(text, "--stream")
    if kind not in (INSTANCES, SWIM):
        raise UsageError(f'--stream "{text}": there is no stream of "{kind}"; {nearest(kind, (INSTANCES, SWIM))}')
    values = {name: literal(value) for name, value in texts.items()}
    exact = values.pop("exact", True)
    if not isinstance(exact, bool):
        raise UsageError(f'--stream "{text}": exact={texts["exact"]}: give true or false')
    if kind == INSTANCES:
        _check_known(text, values, [])
        names = names_of(given)
        more = f" and {len(names) - 1} more" * (len(names) > 1)
        return Portions(f"{names[0]}{more}", lambda: map(_in_order, map(load_instance, names)), exact)
    if len(given) != 1:
        raise UsageError(f"--stream swim: is of one trace, and these are {len(given)}")
    return Portions(*_of_trace(text, given[0], values), exact)


def _in_order(instance: Instance) -> Instance:
    """The instance with its jobs, and tasks by their jobs, in order of arrival, where all have one."""
    import numpy as np

    from optsched.simulating.streaming import portions

    workload = instance.workload
    if (workload.job < 0).any() or np.isnan(workload.arrival).any() or not len(workload.job_ids):
        return instance  # which is told
    return next(portions(instance, len(workload.job_ids)))


def _check_known(text: str, values: Mapping[str, Any], known: Sequence[str]) -> None:
    known = [*known, "exact"]
    for name in values:
        if name not in known:
            raise UsageError(f'--stream "{text}": there is no parameter "{name}"; {nearest(name, known)}')


def _of_trace(text: str, path: str, values: dict[str, Any]) -> tuple[str, Callable[[], Iterator[Instance]]]:
    """What a SWIM trace is called, and how to read it."""
    from optsched.instances.files import from_document
    from optsched.instances.importers import IMPORTERS
    from optsched.instances.importers.foreign import stem
    from optsched.instances.importers.swim import swim_portions

    _check_known(text, values, ["jobs", *(option.name for option in IMPORTERS["swim"].options)])
    for name, value in values.items():
        if not isinstance(value, int) or isinstance(value, bool):
            raise UsageError(f'--stream "{text}": {name}={value}: give a whole number')

    def read() -> Iterator[Instance]:
        for document in swim_portions(path, **{"jobs": _JOBS, **values}):
            yield from_document(document, f"{path}: {document['name']}")  # type: ignore[misc]

    return stem(path, "tsv|txt|gz", "swim"), read


def simulate_portions(
    workload: Portions,
    policies: Mapping[str, tuple[Any, dict[str, Any]]],
    rules: Mapping[str, Any],
    seeds: Sequence[int],
    jobs: str | None,
    form: str,
    output: str | None,
) -> None:
    """Run policies on a workload in portions, and put out a row or record for each run.

    Raises
    ------
    HeuristicFailed
        At the end, for policies that left tasks for ever.
    """
    from optsched.cli.notes import Notes
    from optsched.cli.streams import collected, replacing
    from optsched.simulating.streaming import simulate_stream

    runs = len(policies) * len(seeds)
    notes = Notes()
    if (first := next(workload.read(), None)) is not None:  # its labels are those of all
        notes.of_labels(replace(first, name=workload.name))
        notes.tell()

    with ExitStack() as files:
        file = None if jobs is None else files.enter_context(replacing(jobs))
        rows = None if file is None or jobs is None else files.enter_context(_job_rows(file, jobs))

        def found(step: Callable[[str], None]) -> Iterator[Streamed]:
            for text, (policy, values) in policies.items():
                for seed in seeds:
                    step(f"{workload.name} {text}")
                    tell = None if rows is None else rows.of(workload.name, text.partition(",")[0], seed)
                    parts = workload.read()
                    yield simulate_stream(parts, policy, seed=seed, exact=workload.exact, jobs=tell, **rules, **values)

        def sink(write: Write) -> Sink[Streamed]:
            return _sink(form, write, output, workload.name, len(seeds) > 1, notes)

        done = collected(found, sink, output, f"of {runs} runs", runs)
    for run in done:
        if run.unfinished and not run.starved:
            arguments.note(f"{workload.name}, {run.policy}: {run.unfinished}")
    left = [f'{workload.name}: under policy "{run.policy}": {run.unfinished}' for run in done if run.starved]
    if left:
        raise HeuristicFailed(*left)


def _sink(form: str, write: Write, output: str | None, name: str, repeated: bool, notes: Notes) -> Sink[Streamed]:
    from optsched.cli.streams import Records

    if form in arguments.TABLES:
        first = ("policy", *(("seed",) if repeated else ()))
        times = {"makespan": "makespan", "mean job": "mean_job_time", "longest job": "longest_job_time"}
        return RunRows(write, output, form, first, times, {"most held": "most_held"})

    def record(run: Streamed) -> dict[str, Any]:
        return {"version": code_version(), "instance": name, **run.record_of(), "notes": notes.told(name, "")}

    return Records(form, write, ["version", *FIELDS], record)


# Rows of jobs -----------------------------------------------------------------------------------------------------


@contextmanager
def _job_rows(file: GrowingFile, path: str) -> Iterator[_JobRows]:
    """Rows of jobs that go into a file as they come; where a run breaks off, what there is by then is whole."""
    rows = _Csv(file) if path.endswith(".csv") else _Parquet(file)
    try:
        yield rows
    finally:
        rows.close()


class _JobRows(ABC):
    """Takes rows of jobs, each frame with what it is of."""

    def of(self, instance: str, policy: str, seed: int) -> Callable[[pd.DataFrame], None]:
        """What takes the rows of a run."""

        def tell(rows: pd.DataFrame) -> None:
            if len(rows):
                named = rows.assign(instance=instance, policy=policy, seed=seed)
                self.add(named[["instance", "policy", "seed", *rows.columns]])

        return tell

    @abstractmethod
    def add(self, rows: pd.DataFrame) -> None:
        """Rows that are complete."""

    @abstractmethod
    def close(self) -> None:
        """There are no more."""


class _Csv(_JobRows):
    def __init__(self, file: GrowingFile) -> None:
        self._file, self._begun = file, False

    def add(self, rows: pd.DataFrame) -> None:
        self._file.write(rows.to_csv(index=False, header=not self._begun, lineterminator="\n").encode())
        self._begun = True

    def close(self) -> None:
        """Every row is written."""


class _Parquet(_JobRows):
    """Groups of rows; the schema is that of the first, with texts where a column holds no number."""

    def __init__(self, file: GrowingFile) -> None:
        self._sink = _Appending(file)
        self._held: list[pd.DataFrame] = []
        self._writer: Any = None

    def add(self, rows: pd.DataFrame) -> None:
        self._held.append(rows)
        if sum(map(len, self._held)) >= _ROWS:
            self._put()

    def close(self) -> None:
        if self._held:
            self._put()
        if self._writer is not None:
            self._writer.close()

    def _put(self) -> None:
        import pandas as pd
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter

        rows = pd.concat(self._held, ignore_index=True)
        self._held.clear()
        if self._writer is None:
            kinds = ((name, _KINDS.get(column.dtype.kind, "string")) for name, column in rows.items())
            self._writer = ParquetWriter(self._sink, pa.schema([(name, kind) for name, kind in kinds]))
        self._writer.write_table(pa.Table.from_pandas(rows, self._writer.schema, preserve_index=False))


#: Arrow's types of columns, by the kind of NumPy's.
_KINDS = {"b": "bool", "i": "int64", "f": "float64"}


class _Appending:
    """A growing file as Arrow writes to it."""

    closed = False

    def __init__(self, file: GrowingFile) -> None:
        self._file, self._written = file, 0

    def write(self, part: Any) -> int:
        """Add a part."""
        self._file.write(bytes(part))
        self._written += len(part)
        return len(part)

    def tell(self) -> int:
        """How much there is."""
        return self._written

    def flush(self) -> None:
        """Everything is written at once."""

    def close(self) -> None:
        """The file is closed by who made it."""
