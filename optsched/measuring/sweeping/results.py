"""What a store holds of a sweep: records, frames, the summaries of `optsched gap`, and the optima with their proofs.

And whether it is sound: the file, what its rows say of one another, and the proofs of its optima.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from optsched.certificates import certify
from optsched.core.brief import brief, counted
from optsched.core.errors import Fault, InputError, OptschedError, UsageError
from optsched.core.fingerprint import code_version
from optsched.core.results import Solution
from optsched.instances.claim_files import SOLUTION, parse_claim
from optsched.instances.files import LARGEST_FILE, parse
from optsched.measuring.gaps import fields_beside
from optsched.measuring.records import Record, Run, frame_of
from optsched.measuring.studies.tables import ProblemSummary, summaries, summary_frame
from optsched.measuring.sweeping.keys import optimum_digest, run_digest
from optsched.measuring.sweeping.store import Store
from optsched.problems import AnyProblem, problem_class

if TYPE_CHECKING:
    import pandas as pd


__all__ = ["Checked", "OPTIMA", "Sweep", "check_store", "load_sweep", "of_other_code", "optimum_of"]

#: The runs of some plans, each as it is called in the plan, in its order.
_ASKED = 'planned.run, planned."group", planned.instance, planned.label, planned.variant'
_RUNS = f"""
SELECT {_ASKED}, runs.record, runs.optimum, runs.version
FROM planned LEFT JOIN runs ON runs.key = planned.run
WHERE planned.plan IN ({{}}) GROUP BY {_ASKED} ORDER BY min(planned.plan), min(planned.position)"""


class Sweep:
    """The runs of a store that a sweep asked for and that are done; see `load_sweep`.

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
        told = f", {others.total()} {of_other_code(others)}" if others else ""
        return brief(f"Sweep in {self.path}: {len(self)} of {counted(self.planned, 'run')} done{told}")

    def _repr_html_(self) -> str:
        return self.summary().to_html(index=False, na_rep="-")

    def records(self) -> list[Mapping[str, Any]]:
        """A record for each run, as `optsched gap --format json` writes it."""
        return [{**json.loads(row["record"]), "instance": row["instance"]} for row in self._rows]

    @cached_property
    def _runs(self) -> list[Run]:
        """The runs as this sweep calls them."""
        each = zip(self._rows, map(Record.of, self.records()), strict=True)
        return [Run(record, row["group"], row["label"]) for row, record in each]

    def frame(self) -> pd.DataFrame:
        """A row for each run, one number a column: that of `optsched.GapReports`."""
        names = dict.fromkeys(run.problem for run in self._runs)
        beside = dict.fromkeys(field for name in names for field in fields_beside(problem_class(name)))
        return frame_of(self._runs, list(beside))

    def summary(self) -> pd.DataFrame:
        """A row for each problem and heuristic: that of `optsched.GapReports`, each variant of a problem by itself."""
        return summary_frame(self.summaries())

    def summaries(self) -> list[ProblemSummary]:
        """The runs summed up by problem: what `optsched gap` prints of several instances."""
        variants = (f"{run.problem} {row['variant']}".rstrip() for run, row in zip(self._runs, self._rows, strict=True))
        return summaries(replace(run, problem=name) for run, name in zip(self._runs, variants, strict=True))

    def optima(self) -> Iterator[tuple[AnyProblem, Solution]]:
        """Each problem that these runs are of, with its solution and the proof: what `optsched.certify` takes."""
        keys = dict.fromkeys(row["optimum"] for row in self._rows)
        with Store(self.path) as store:
            for key in keys:
                (row,) = store.rows(OPTIMA + " WHERE optima.key = ?", key)
                yield optimum_of(row, self.path)


def of_other_code(versions: Iterable[str]) -> str:
    """What to say of runs that other code computed.

    Examples
    --------
    >>> of_other_code({"0.1.0": 3})
    'by other code (optsched 0.1.0)'
    """
    return f"by other code (optsched {', '.join(sorted(versions))})"


#: An optimum, with the instance that it is of.
OPTIMA = (
    "SELECT optima.*, instances.name, instances.content FROM optima "
    "JOIN instances ON instances.sha256 = optima.instance_sha256"
)


def optimum_of(row: Mapping[str, Any], path: str) -> tuple[AnyProblem, Solution]:
    """The problem and the solution of a row of `OPTIMA`.

    Raises
    ------
    InputError
        If the row is damaged.
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
    """What a store holds.

    Parameters
    ----------
    path
        The store of `optsched.sweep`.
    sweep
        Which runs: those that the last sweep asked for, those of a sweep by its number (column `id` of the table
        `sweeps`), or `"all"` that any sweep has asked for.

    Raises
    ------
    InputError
        If there is no such store, or it cannot be read.
    UsageError
        If it has no such sweep.

    Examples
    --------
    >>> import tempfile
    >>> from optsched.measuring.sweeping.executing import sweep
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
    """What was found.

    Attributes
    ----------
    runs, optima, instances
        How many there are.
    proved
        How many of the optima are proved anew, from the instance and the proof alone.
    claimed
        How many of the others rest on what: `solver`, `enumeration` or `nothing`.
    others
        How many runs are of other code than this, by its version.
    faults
        What is wrong, a line each.
    """

    runs: int
    optima: int
    instances: int
    proved: int
    claimed: Mapping[str, int]
    others: Counter[str]
    faults: tuple[str, ...]


def check_store(path: str | os.PathLike[str], step: Callable[[str], None] = lambda text: None) -> Checked:
    """Check a store: SQLite's own check, each row against its key and record, each optimum against its proof.

    Parameters
    ----------
    path
        The store of a sweep.
    step
        Told of each optimum before it is checked.

    Raises
    ------
    InputError
        If it cannot be read at all.
    """
    with Store(path) as store:
        faults = store.faults()
        runs = optima = 0
        rests: Counter[str] = Counter()
        others: Counter[str] = Counter()
        for row in store.rows("SELECT * FROM runs"):
            runs += 1
            others[row["version"]] += row["version"] != code_version()
            faults += [f"run {row['key'][:12]}: {told}" for told in _of_run(row)]
        for row in store.rows(OPTIMA):
            optima += 1
            step(f"{row['name']} {row['problem']}")
            told, rests_on = _of_optimum(row, store.path)
            faults += [f"optimum {row['key'][:12]} ({row['name']}, {row['problem']}): {line}" for line in told]
            rests.update(rests_on)
        (counted,) = store.rows("SELECT count(*) AS instances FROM instances")
        proved = rests.pop(_PROVED, 0)
        return Checked(runs, optima, counted["instances"], proved, dict(rests), +others, tuple(faults))


def _of_run(row: Mapping[str, Any]) -> Iterator[str]:
    """What of a run's row does not fit its key or its record."""
    try:
        record = json.loads(row["record"])
        parameters = json.loads(row["heuristic_parameters"])
    except ValueError as error:
        yield f"its record is no JSON ({error})"
        return
    if row["key"] != run_digest(row["optimum"], row["heuristic"], row["source_sha256"], parameters, row["seed"]):
        yield "its key is not that of what it says it ran"
    for name in ("status", "instance_sha256", "problem", "heuristic", "seed", "version"):
        if record.get(name) != row[name]:
            yield f"its record has another {name}"


#: What an optimum rests on that needs nobody's word.
_PROVED = "proof"


def _of_optimum(row: Mapping[str, Any], path: str) -> tuple[list[str], list[str]]:
    """What is wrong with an optimum's row, and what it rests on: nothing where it is contradicted."""
    faults = []
    try:
        parameters, solver = json.loads(row["parameters"]), json.loads(row["solver"])
        covered = row["version"], row["instance_sha256"], row["problem"], row["source_sha256"], parameters, solver
        if row["key"] != optimum_digest(*covered):
            faults.append("its key is not that of what it says was solved")
        problem, solution = optimum_of(row, path)
        verdict = certify(problem, solution)
    except (OptschedError, ValueError) as error:
        return [*faults, str(error)], []
    if not verdict.valid:
        return [*faults, *verdict.contradicted], []
    # As the verdict has them, the claim of the first component that nothing proved.
    return faults, [verdict.claims[0].kind if verdict.claims else _PROVED]
