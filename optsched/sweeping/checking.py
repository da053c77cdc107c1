"""Whether a store is sound: the file, what its rows say of one another, and the proofs of its optima."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from optsched.certificates import certify
from optsched.errors import OptschedError
from optsched.fingerprint import code_version
from optsched.sweeping.keys import optimum_digest, run_digest
from optsched.sweeping.results import OPTIMA, optimum_of
from optsched.sweeping.store import Store

__all__ = ["Checked", "check_store"]


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
