"""Sweeps for tests: an executor in this process, small plans, and what of a store does not depend on time."""

import json
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from optsched.core.processes import Outcome, Status
from optsched.measuring.studies.choices import Family
from optsched.measuring.sweeping.plans import Plan, planned
from optsched.measuring.sweeping.store import Store

#: What of records and rows says how long something took, when and where.
TIMES = {
    *("build_seconds", "solve_seconds", "heuristic_seconds", "seconds", "peak_mb", "ended", "sweep"),
    *("run_limit", "memory_limit"),
}


class InProcess:
    """Runs jobs here, one after another; `before` is called before each with its key and number.

    What it answers stands for the job's outcome, if it answers.
    """

    def __init__(self, before: Callable[[str, int], Outcome | None] = lambda key, number: None) -> None:
        self.before = before
        self.keys: list[str] = []

    def map(self, function: Callable[[Any], Any], jobs: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Outcome]]:
        for key, job in jobs:
            shown = self.before(key, len(self.keys))
            self.keys.append(key)
            yield key, shown or Outcome(Status.DONE, function(job), seconds=0.5, peak_mb=64.0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass


def stop(at: int, error: BaseException) -> Callable[[str, int], None]:
    """What an executor calls before each job, and raises an error before the job of a number."""

    def before(key: str, number: int) -> None:
        if number == at:
            raise error

    return before


def small_plan(seeds: int = 2, instances: int = 2, **others: Any) -> Plan:
    """Runs of two heuristics, one of them with chance, on generated instances."""
    drawn = Family("lsap", range(instances), {"nodes": 4, "tasks": 5})
    return planned(drawn, "lsap", ["lsap-sched", "rand"], seeds, **others)


def count(path: Path, table: str = "runs") -> int:
    """How many rows a table has by now; 0 where there is no store yet."""
    if not path.exists():
        return 0
    # Not mode=ro: who reads what was killed within a commit has to roll it back.
    connection = sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=30)
    try:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone():
            return 0  # killed before there were tables
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
    finally:
        connection.close()


def contents(path: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """The runs and optima of a store by their keys, without what tells of time."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    with Store(path) as store:
        for table, document in (("runs", "record"), ("optima", "solution")):
            found[table] = rows = {row["key"]: timeless(row) for row in store.rows(f"SELECT * FROM {table}")}
            for row in rows.values():
                row[document] = timeless(json.loads(row[document])) | {"solver": None}
    return found


def timeless(row: dict[str, Any]) -> dict[str, Any]:
    """A row or record without what tells of time."""
    return {name: value for name, value in row.items() if name not in TIMES}


@contextmanager
def memory_folder(fallback: Path) -> Iterator[Path]:
    """A folder in memory, where there is one: what a process wrote before it was killed is there as on any disk."""
    shared = Path("/dev/shm")
    if not shared.is_dir():
        yield fallback
        return
    with tempfile.TemporaryDirectory(dir=shared) as folder:
        yield Path(folder)
