"""The store of a sweep: an SQLite file with one transaction for each result, so that no finished result is lost.

It uses a rollback journal, not a write-ahead log: between two results the store is one file that can be copied, and
network drives work. A sweep holds a lock (a file next to the store); others may read at the same time. Writing waits
while another program reads. pandas and any SQLite browser read the tables; docs/how-to/sweep.md describes each.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import sqlite3
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optsched.certificates import certify
from optsched.core import kinds
from optsched.core.brief import brief, counted
from optsched.core.errors import Fault, InputError, OptschedError, UsageError
from optsched.core.resources import code_version
from optsched.core.results import Solution
from optsched.instances.claim_files import SOLUTION, parse_claim
from optsched.instances.files import LARGEST_FILE, parse
from optsched.measuring.records import Record, Run, frame_of, renewed
from optsched.measuring.studies.tables import ProblemSummary, summaries, summary_frame
from optsched.measuring.sweeping.plans import key_of
from optsched.problems import AnyProblem, problem_class

if TYPE_CHECKING:
    import pandas as pd

#: The file's header says that it is a store ("opsw"), and which version of the tables it has.
APPLICATION, VERSION = 0x6F707377, 1

#: The commands that make the tables.
SCHEMA = (
    """
CREATE TABLE instances (
    sha256 TEXT PRIMARY KEY NOT NULL,   -- of everything that a problem may read
    name TEXT NOT NULL,
    tasks INTEGER NOT NULL,
    nodes INTEGER NOT NULL,
    content BLOB NOT NULL               -- the instance as a file NAME.json.gz
)""",
    """
CREATE TABLE sweeps (
    id INTEGER PRIMARY KEY,
    plan TEXT NOT NULL,                 -- which rows of the table planned
    command TEXT NOT NULL,
    options TEXT NOT NULL,              -- JSON
    version TEXT NOT NULL,
    versions TEXT NOT NULL,             -- JSON: Python, solvers, numpy, ...
    machine TEXT NOT NULL,              -- JSON
    runs INTEGER NOT NULL,
    begun TEXT NOT NULL,
    ended TEXT,                         -- null: it runs, or it was killed
    outcome TEXT                        -- finished, interrupted, or what went wrong
)""",
    """
CREATE TABLE optima (
    key TEXT PRIMARY KEY NOT NULL,
    instance_sha256 TEXT NOT NULL REFERENCES instances (sha256),
    problem TEXT NOT NULL,
    parameters TEXT NOT NULL,           -- JSON
    source_sha256 TEXT NOT NULL,        -- of the problem, where a package of its own brings it
    profile TEXT NOT NULL,              -- its name
    solver TEXT NOT NULL,               -- JSON: what of the profile the key covers
    version TEXT NOT NULL,              -- of optsched
    status TEXT NOT NULL,               -- done, out-of-time, out-of-memory, crashed, failed
    message TEXT NOT NULL,              -- what went wrong
    termination TEXT NOT NULL,
    objective REAL,                     -- first component
    bound REAL,
    certificate TEXT,
    time_limit REAL,
    run_limit REAL,
    memory_limit REAL,
    seconds REAL,
    peak_mb REAL,
    sweep INTEGER NOT NULL REFERENCES sweeps (id),
    ended TEXT NOT NULL,
    solution TEXT NOT NULL              -- a solution file, optsched-solution/1
)""",
    """
CREATE TABLE runs (
    key TEXT PRIMARY KEY NOT NULL,
    optimum TEXT NOT NULL REFERENCES optima (key),
    status TEXT NOT NULL,               -- done, infeasible, starved, failed, out-of-time, out-of-memory, crashed
    message TEXT,                       -- what went wrong
    instance TEXT NOT NULL,
    instance_sha256 TEXT NOT NULL,
    problem TEXT NOT NULL,
    parameters TEXT NOT NULL,           -- JSON
    heuristic TEXT NOT NULL,
    heuristic_parameters TEXT NOT NULL, -- JSON
    source_sha256 TEXT NOT NULL,        -- of a user's own heuristic; else empty
    seed INTEGER NOT NULL,
    profile TEXT NOT NULL,
    version TEXT NOT NULL,              -- of optsched
    objective REAL,                     -- first component
    reference REAL,
    reference_kind TEXT,                -- optimum, bound
    certificate TEXT,
    gap REAL,                           -- relative, of the component that decides; infinite over 0
    absolute_gap REAL,
    heuristic_seconds REAL,
    time_limit REAL,
    run_limit REAL,
    memory_limit REAL,
    seconds REAL,
    peak_mb REAL,
    sweep INTEGER NOT NULL REFERENCES sweeps (id),
    ended TEXT NOT NULL,
    stale INTEGER NOT NULL DEFAULT 0,   -- 1: the optimum was solved again since
    record TEXT NOT NULL                -- JSON, as optsched gap --format json writes it
)""",
    """
CREATE TABLE planned (
    plan TEXT NOT NULL,
    position INTEGER NOT NULL,
    run TEXT NOT NULL,                  -- key of runs, where it is done
    "group" TEXT NOT NULL,              -- of instances
    instance TEXT NOT NULL,             -- what it is called in this plan
    label TEXT NOT NULL,                -- of the heuristic
    variant TEXT NOT NULL,              -- of the parameters
    PRIMARY KEY (plan, position)
) WITHOUT ROWID""",
    "CREATE INDEX runs_by_optimum ON runs (optimum)",
    """
CREATE VIEW gaps AS
SELECT instance, problem, parameters, heuristic, heuristic_parameters, seed, status, objective, reference,
       reference_kind, certificate, gap, absolute_gap, heuristic_seconds
FROM runs WHERE gap IS NOT NULL""",
)


#: Seconds to wait for readers of the store; and between two checks whether another sweep has ended.
_PATIENCE, _PAUSE = 60.0, 0.5


class Store(AbstractContextManager["Store"]):
    """An open store.

    `path`: the file. `write`: whether results will be put in; then the file is made if it does not exist. `waits`:
    called when another program holds the store for long, once for each time; then the wait has no end. Without it a
    long wait is an error, as it is when the store is opened. InputError if it cannot be opened, is no store or a
    damaged one, or is of a newer version of optsched.
    """

    def __init__(
        self, path: str | os.PathLike[str], write: bool = False, waits: Callable[[], None] | None = None
    ) -> None:
        self.path = os.fspath(path)
        self._write, self._waits = write, waits
        if not write and not os.path.exists(self.path):
            raise InputError([Fault("", "there is no such store; optsched sweep --store makes one")], self.path)
        if os.path.exists(self.path) and not os.path.isfile(self.path):
            what = "folder" if os.path.isdir(self.path) else "device or a pipe"
            raise InputError([Fault("", f"is a {what}; name a file, such as sweep.sqlite")], self.path)
        with kinds.expected(self.path, kinds.STORE, [kinds.STORE], "name another file"):
            self._open()

    def _open(self) -> None:
        with self._named_errors():
            mode = "rwc" if self._write else "rw"  # a hot journal must be rolled back by readers, too
            uri = f"{Path(self.path).absolute().as_uri()}?mode={mode}"
            self._connection = sqlite3.connect(uri, uri=True, timeout=_PATIENCE, isolation_level=None)
            self._connection.row_factory = sqlite3.Row
        try:
            with self._named_errors():
                self._connection.execute("PRAGMA foreign_keys = ON")
                self._connection.execute("PRAGMA synchronous = FULL")
                self._check_kind()
        except BaseException:
            self._connection.close()
            raise

    def _check_kind(self) -> None:
        """Raise InputError unless this is a store that this version knows; turn an empty file into one."""
        application, version = self._number("application_id"), self._number("user_version")
        if application == APPLICATION and version > VERSION:
            message = f"is a store of a newer optsched (version {version}; this one knows {VERSION}): update optsched"
            raise InputError([Fault("", message)], self.path)
        if application == APPLICATION:
            # A reader notices damaged rows; a writer should know of them beforehand.
            if self._write and (self._connection.execute("PRAGMA quick_check(1)").fetchone() or [""])[0] != "ok":
                raise sqlite3.DatabaseError("its pages contradict one another")
            return
        if application or self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise InputError([Fault("", "is a database, but no store of optsched sweep: name another file")], self.path)
        if not self._write:
            raise InputError([Fault("", "is empty: no sweep has begun in it")], self.path)
        with self.transaction():
            for statement in SCHEMA:
                self._connection.execute(statement)
            self._connection.execute(f"PRAGMA application_id = {APPLICATION}")
            self._connection.execute(f"PRAGMA user_version = {VERSION}")

    def _number(self, pragma: str) -> int:
        return int(self._connection.execute(f"PRAGMA {pragma}").fetchone()[0])

    def __exit__(self, *ended: object) -> None:
        self._connection.close()

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Translate SQLite's errors into our words."""
        try:
            yield
        except sqlite3.Error as error:
            raise InputError([Fault("", _words(error))], self.path) from None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything put in within the block is stored completely, on the disk, or not at all."""
        with self._named_errors():
            _patiently(self._connection, self._waits, "BEGIN IMMEDIATE")
            try:
                yield
                _patiently(self._connection, self._waits, "COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):  # a full disk has rolled back already
                    self._connection.execute("ROLLBACK")
                raise

    def put(self, table: str, row: Mapping[str, Any]) -> int:
        """Insert a row, replacing one with the same key, and return its number; lists and objects become JSON."""
        names, marks = ", ".join(f'"{name}"' for name in row), ", ".join("?" * len(row))
        command = f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({marks})"
        return self._connection.execute(command, list(map(_cell, row.values()))).lastrowid or 0

    def execute(self, command: str, *values: Any) -> None:
        """Change something, within a transaction."""
        self._connection.execute(command, values)

    def rows(self, query: str, *values: Any) -> Iterator[dict[str, Any]]:
        """The rows of a query, each a dictionary."""
        with self._named_errors():
            cursor = _patiently(self._connection, self._waits, query, *values)
            yield from map(dict, cursor)

    def faults(self) -> list[str]:
        """The faults of the file by SQLite's own check, and which rows refer to missing rows."""
        with self._named_errors():
            found = [str(row[0]) for row in self._connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
            found += [
                f"table {row[0]}, row {row[1]}: refers to a row of {row[2]} that is not there"
                for row in self._connection.execute("PRAGMA foreign_key_check")
            ]
        return found


def _cell(value: Any) -> Any:
    if isinstance(value, list | dict):
        value = json.dumps(value, default=str)
    # Of a text what Unicode has a form for.
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def _words(error: sqlite3.Error) -> str:
    """The message for an error of SQLite, with the mend."""
    name = getattr(error, "sqlite_errorname", "") or ""
    if name == "SQLITE_NOTADB":
        return "is no SQLite file, and so no store: name another file"
    if name.startswith("SQLITE_CORRUPT") or not name:
        return f"is damaged ({error}): take a copy of it, or what `sqlite3 FILE .recover` still finds"
    if name.startswith(("SQLITE_FULL", "SQLITE_IOERR_WRITE")):
        return "cannot be written: the disk is full; what was finished is kept, so make room and sweep again"
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return f"cannot be opened or written ({error}): check the path, its folder and who may write there"
    if _busy(error):
        return f"is locked by another program for more than {_PATIENCE:g} s: close it there"
    return f"cannot be used: {error}"


def _patiently(
    connection: sqlite3.Connection, waits: Callable[[], None] | None, command: str, *values: Any
) -> sqlite3.Cursor:
    """Run a command; while another program holds the file, try again, after one call of `waits`."""
    warned = False
    while True:
        try:
            return connection.execute(command, values)
        except sqlite3.OperationalError as error:
            if waits is None or not _busy(error):
                raise
        if not warned:
            waits()
            warned = True


def _busy(error: sqlite3.Error) -> bool:
    return (getattr(error, "sqlite_errorname", "") or "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


@contextmanager
def locked(path: str | os.PathLike[str], waits: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Keep others from sweeping into a store within the block; if another sweep runs, wait until it has ended.

    The lock is on a file next to the store, FILE-lock, which stays. It ends with the process that holds it.

    `path`: the store. `waits`: called once, if it must wait. InputError if its folder does not exist, or the
    file next to it cannot be written.
    """
    lock_file = f"{os.path.realpath(path)}-lock"  # the same for every name of the store
    if not os.path.isdir(folder := os.path.dirname(lock_file)):
        message = f"there is no folder {folder}: make it, or name another file"
        raise InputError([Fault("", message)], os.fspath(path))
    try:
        with closing(sqlite3.connect(lock_file, timeout=_PAUSE, isolation_level=None)) as connection:
            _patiently(connection, waits, "BEGIN EXCLUSIVE")
            yield
    except sqlite3.Error as error:
        raise InputError([Fault("", _words(error))], lock_file) from None


# What is read from it ----------------------------------------------------------------------------------------------


#: The runs of some plans, each with its names in the plan, in its order.
_ASKED = 'planned.run, planned."group", planned.instance, planned.label, planned.variant'
_RUNS = f"""
SELECT {_ASKED}, runs.record, runs.optimum, runs.version
FROM planned LEFT JOIN runs ON runs.key = planned.run
WHERE planned.plan IN ({{}}) GROUP BY {_ASKED} ORDER BY min(planned.plan), min(planned.position)"""


class Sweep:
    """The finished runs of a store that a sweep asked for; see `load_sweep`.

    Attributes
    ----------
    path
        The store.
    planned
        How many runs were asked for.
    finished
        Whether each of them has a result.
    """

    def __init__(self, path: str, rows: list[dict[str, Any]]) -> None:
        self.path, self.planned = path, len(rows)
        self._rows = [row for row in rows if row["record"] is not None]

    @property
    def finished(self) -> bool:
        return len(self) == self.planned

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        others = Counter(row["version"] for row in self._rows if row["version"] != code_version())
        others_text = f", {others.total()} {of_other_code(others)}" if others else ""
        return brief(f"Sweep in {self.path}: {len(self)} of {counted(self.planned, 'run')} done{others_text}")

    def _repr_html_(self) -> str:
        return self.summary().to_html(index=False, na_rep="-")

    def records(self) -> list[Mapping[str, Any]]:
        """A record for each run, as `optsched gap --format json` writes it."""
        return [{**renewed(json.loads(row["record"])), "instance": row["instance"]} for row in self._rows]

    @cached_property
    def _runs(self) -> list[Run]:
        """The runs with this sweep's names."""
        each = zip(self._rows, map(Record.of, self.records()), strict=True)
        return [Run(record, row["group"], row["label"]) for row, record in each]

    def frame(self) -> pd.DataFrame:
        """A row for each run, one number per column: that of `optsched.GapReports`."""
        return frame_of(self._runs)

    def summary(self) -> pd.DataFrame:
        """A row for each problem and heuristic, as in `optsched.GapReports`, each variant of a problem by itself."""
        return summary_frame(self.summaries())

    def summaries(self) -> list[ProblemSummary]:
        """The runs summarised by problem: what `optsched gap` prints for several instances."""
        variants = (f"{run.problem} {row['variant']}".rstrip() for run, row in zip(self._runs, self._rows, strict=True))
        return summaries(replace(run, problem=name) for run, name in zip(self._runs, variants, strict=True))

    def optima(self) -> Iterator[tuple[AnyProblem, Solution]]:
        """Each problem of these runs, with its solution and the proof: arguments of `optsched.certify`."""
        keys = dict.fromkeys(row["optimum"] for row in self._rows)
        with Store(self.path) as store:
            for key in keys:
                (row,) = store.rows(OPTIMA + " WHERE optima.key = ?", key)
                yield optimum_of(row, self.path)


def of_other_code(versions: Iterable[str]) -> str:
    """The message on runs that other code computed.

    >>> of_other_code({"0.1.0": 3})
    'by other code (optsched 0.1.0)'
    """
    return f"by other code (optsched {', '.join(sorted(versions))})"


#: An optimum, with its instance.
OPTIMA = (
    "SELECT optima.*, instances.name, instances.content FROM optima "
    "JOIN instances ON instances.sha256 = optima.instance_sha256"
)


def optimum_of(row: Mapping[str, Any], path: str) -> tuple[AnyProblem, Solution]:
    """The problem and the solution of a row of `OPTIMA`.

    InputError if the row is damaged.
    """
    source = f"{path}: {row['name']}"
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(row["content"])) as packed:
            text = packed.read(LARGEST_FILE)
    except (EOFError, OSError, zlib.error) as error:
        raise InputError([Fault("", f"its content is damaged: {error}")], source) from None
    instance = parse(text, source)
    solution: Solution = parse_claim(row["solution"].encode(), instance, source, [SOLUTION])
    problem: AnyProblem = problem_class(row["problem"])(instance, **json.loads(row["parameters"]))
    return problem, solution


def load_sweep(path: str | os.PathLike[str], sweep: int | str = "last") -> Sweep:
    """Read a store.

    Parameters
    ----------
    path
        The store of `optsched.sweep`.
    sweep
        Which runs: those of the last sweep, those of a sweep by its number (column `id` of the table `sweeps`), or
        `"all"` that any sweep has asked for.

    Raises
    ------
    InputError
        If there is no such store, or it cannot be read.
    UsageError
        If it has no such sweep.

    Examples
    --------
    >>> import tempfile
    >>> from optsched.measuring.sweeping import sweep
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = sweep(f"{folder}/gaps.sqlite", "papers/guo-table2", "fair-lsap", "dl")
    ...     found = load_sweep(f"{folder}/gaps.sqlite")
    >>> found.finished, len(found), found.frame()["gap"].round(3).tolist()
    (True, 1, [0.125])
    """
    with Store(path) as store:
        plans = {row["id"]: row["plan"] for row in store.rows("SELECT id, plan FROM sweeps ORDER BY id")}
        if not plans:
            raise InputError([Fault("", "is empty: no sweep has begun in it")], store.path)
        if sweep == "all":
            wanted = list(dict.fromkeys(plans.values()))
        else:
            number = max(plans) if sweep == "last" else sweep
            if number not in plans:
                raise UsageError(f'{store.path} has no sweep {sweep!r}: give a number to {max(plans)}, "last" or "all"')
            wanted = [plans[number]]
        return Sweep(store.path, list(store.rows(_RUNS.format(", ".join("?" * len(wanted))), *wanted)))


# Whether a store is sound ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Checked:
    """The result of checking a store: how many rows there are, and what is wrong."""

    runs: int
    optima: int
    instances: int
    #: How many of the optima are proved again, from only the instance and the proof.
    proved: int
    #: How many of the others have which basis: `solver`, `enumeration` or `nothing`.
    claimed: Mapping[str, int]
    #: How many runs are of other code than this, by its version.
    others: Counter[str]
    #: A line for each fault.
    faults: tuple[str, ...]


def check_store(path: str | os.PathLike[str], step: Callable[[str], None] = lambda text: None) -> Checked:
    """Check a store: SQLite's own check, each row against its key and record, each optimum against its proof.

    `path`: the store of a sweep. `step`: called with each optimum before it is checked. InputError if it cannot be read
    at all.
    """
    with Store(path) as store:
        faults = store.faults()
        runs = optima = 0
        rests: Counter[str] = Counter()
        others: Counter[str] = Counter()
        for row in store.rows("SELECT * FROM runs"):
            runs += 1
            others[row["version"]] += row["version"] != code_version()
            faults += [f"run {row['key'][:12]}: {fault}" for fault in _of_run(row)]
        for row in store.rows(OPTIMA):
            optima += 1
            step(f"{row['name']} {row['problem']}")
            lines, rests_on = _of_optimum(row, store.path)
            faults += [f"optimum {row['key'][:12]} ({row['name']}, {row['problem']}): {line}" for line in lines]
            rests.update(rests_on)
        (counted,) = store.rows("SELECT count(*) AS instances FROM instances")
        proved = rests.pop("proof", 0)
        return Checked(runs, optima, counted["instances"], proved, dict(rests), +others, tuple(faults))


def _of_run(row: Mapping[str, Any]) -> Iterator[str]:
    """Where a run's row does not fit its key or its record."""
    try:
        record = json.loads(row["record"])
        parameters = json.loads(row["heuristic_parameters"])
    except ValueError as error:
        yield f"its record is no JSON ({error})"
        return
    if row["key"] != key_of("run", row["optimum"], row["heuristic"], row["source_sha256"], parameters, row["seed"]):
        yield "its key is not that of what it says it ran"
    for name in ("status", "instance_sha256", "problem", "heuristic", "seed", "version"):
        if record.get(name) != row[name]:
            yield f"its record has another {name}"


def _of_optimum(row: Mapping[str, Any], path: str) -> tuple[list[str], list[str]]:
    """What is wrong with an optimum, and its basis: `proof` or a claim; nothing if it is contradicted."""
    faults = []
    try:
        parameters, solver = json.loads(row["parameters"]), json.loads(row["solver"])
        covered = row["version"], row["instance_sha256"], row["problem"], row["source_sha256"], parameters, solver
        if row["key"] != key_of("optimum", *covered):
            faults.append("its key is not that of what it says was solved")
        problem, solution = optimum_of(row, path)
        verdict = certify(problem, solution)
    except (OptschedError, ValueError) as error:
        return [*faults, str(error)], []
    if not verdict.valid:
        return [*faults, *verdict.contradicted], []
    # As in the verdict: the claim of the first component that nothing proved.
    return faults, [verdict.claims[0].kind if verdict.claims else "proof"]
