"""What is left of a sweep, in which order it is drawn, and how each outcome goes into the store.

Runs wait for the optimum that they share. A run that can begin goes before the next optimum, so that results come from
the beginning on. Only the process that sweeps writes. A row holds what its columns tell beside the whole.
"""

from __future__ import annotations

import gzip
import json
import pickle
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from optsched.core.errors import UsageError
from optsched.core.fingerprint import code_version
from optsched.core.instance import Instance
from optsched.core.results import Limit, Solution
from optsched.instances.claim_files import claim_content, parse_claim
from optsched.instances.files import to_json
from optsched.measuring.gaps import Reference, gap_of, unanswered
from optsched.measuring.printing import to_json as json_of
from optsched.measuring.records import Record, Run
from optsched.measuring.sweeping.jobs import OptimumJob, Packed, Refused, RunJob
from optsched.measuring.sweeping.keys import (
    canonical,
    heuristic_parameters,
    named,
    problem_source,
    solver_options,
    source_digest,
)
from optsched.measuring.sweeping.plans import Plan, Planned, Posed
from optsched.measuring.sweeping.store import Store
from optsched.processes import Limits, Outcome, Status
from optsched.running.run import ENDED, ended_run

__all__ = ["Agenda", "RETRIED", "Settings", "instance_row", "optimum_row", "planned_row", "run_row"]

#: How runs and optima ended that are computed again, by what is asked for.
RETRIED = {
    "failed": frozenset({"failed", "crashed", "out-of-memory"}),
    "timed-out": frozenset({"out-of-time"}),
    "all": frozenset({"failed", "crashed", "out-of-memory", "out-of-time"}),
}


#: What is to be said of a run beside its figures: of a problem on an instance, both by name.
Notes = Callable[[str, str], list[str]]


#: What is asked for by a run, whichever code computes it; and the runs of other code.
_ASKED = ("instance_sha256", "problem", "parameters", "heuristic", "heuristic_parameters", "seed", "profile")
_OTHERS = f"SELECT {', '.join(_ASKED)}, version FROM runs WHERE version != ? ORDER BY ended"


def _asked(run: Planned) -> tuple[Any, ...]:
    """The values of `_ASKED`, as the table of runs has them."""
    problem, name = run.posed.problem, named(run.choice.entry)
    values = canonical(dict(problem.parameters)), name, canonical(heuristic_parameters(run.choice))
    return problem.instance.sha256, problem.name, *values, run.seed, run.posed.profile.name


@dataclass(frozen=True)
class Settings:
    """What is no part of any key.

    Attributes
    ----------
    limits
        At which the process of a run, or of solving, is killed.
    notes
        What records say beside their figures.
    """

    limits: Limits = field(default_factory=Limits)
    notes: Notes = lambda instance, problem: []


@dataclass(frozen=True)
class Taken:
    """What an outcome is of: in words, and whether it is an optimum."""

    told: str
    optimum: bool


@dataclass
class _Held:
    """A solved problem, for as long as runs on it are left."""

    packed: Packed
    reference: Reference
    pickled: bytes


class Agenda:
    """What is left of a plan.

    Parameters
    ----------
    plan
        The runs.
    store
        Where results are found and put.
    retry
        Which of the runs and optima that are there are computed again: a key of `RETRIED`, or None.
    settings
        Limits.
    """

    def __init__(self, plan: Plan, store: Store, retry: str | None = None, settings: Settings | None = None) -> None:
        self.plan, self.settings = plan, settings or Settings()
        self._store = store
        again = RETRIED[retry] if retry else frozenset()
        solved = {row["key"]: row["status"] not in again for row in store.rows("SELECT key, status FROM optima")}
        ran = {row["key"]: row for row in store.rows("SELECT key, status, stale FROM runs")}
        #: Runs by the optimum that they wait for, first those that are not on the way.
        self._waiting: dict[str, list[Planned]] = {}
        self._ready: deque[Planned] = deque()
        #: How many runs are there already.
        self.there = 0
        #: How many that are there were cut short, and are not computed again.
        self.kept: Counter[str] = Counter()
        for key, run in plan.unique.items():
            found, is_solved = ran.get(key), solved.get(run.posed.key, False)
            if is_solved and found and not found["stale"] and found["status"] not in again:
                self.there += 1
                self.kept[found["status"]] += 1
            elif is_solved:
                self._ready.append(run)
            else:
                self._waiting.setdefault(run.posed.key, []).append(run)
        #: How many of those to be computed are there as other code computed them, by its version.
        self.stale = self._of_other_code() if self.there < len(plan.unique) else Counter()
        #: How many runs and optima are to be computed.
        self.runs, self.optima = len(plan.unique) - self.there, len(self._waiting)
        #: The number of the sweep in the store.
        self.sweep = 0
        #: How the runs and optima of this time ended.
        self.ended: Counter[str] = Counter()
        self.solved: Counter[str] = Counter()
        self._unsolved = deque(self._waiting)
        self._held: dict[str, _Held] = {}
        self._left = Counter(run.posed.key for run in self._ready)
        self._left.update({key: len(runs) for key, runs in self._waiting.items()})

    def _of_other_code(self) -> Counter[str]:
        rows = list(self._store.rows(_OTHERS, code_version()))
        others = {tuple(row[name] for name in _ASKED): row["version"] for row in rows}
        if not others:
            return Counter()
        left = [*self._ready, *(run for runs in self._waiting.values() for run in runs)]
        return Counter(others[asked] for run in left if (asked := _asked(run)) in others)

    @property
    def left(self) -> int:
        """How many runs are still to be computed."""
        return self.runs - self.ended.total()

    def jobs(self) -> Iterator[tuple[str, OptimumJob | RunJob]]:
        """Each job that can begin, by its key; when there is none, others have to end first."""
        while self._ready or self._unsolved:
            if self._ready:
                run = self._ready.popleft()
                yield run.key, self._run_job(run)
            else:
                key = self._unsolved.popleft()
                posed = self._waiting[key][0].posed
                yield key, OptimumJob(Packed.of(key, posed.problem, posed.profile))

    def _run_job(self, run: Planned) -> RunJob:
        held = self._hold(run.posed)
        name, values = named(run.choice.entry), dict(run.choice.parameters)
        return RunJob(held.packed, held.pickled, name, values, source_digest(name), run.seed)

    def _hold(self, posed: Posed, solution: Solution | None = None) -> _Held:
        """A solved problem, with its solution out of the store where it is not held."""
        if posed.key not in self._held:
            instance = posed.problem.instance
            if solution is None:
                (row,) = self._store.rows("SELECT solution FROM optima WHERE key = ?", posed.key)
                solution = parse_claim(row["solution"].encode(), instance, f"{self._store.path}: {posed.key}")
            # What is to be checked of the proofs need not go along.
            bare = replace(solution, certificates=tuple(replace(entry, data={}) for entry in solution.certificates))
            reference = Reference(posed.problem, posed.profile, solution=bare)
            packed = Packed.of(posed.key, posed.problem, posed.profile)
            self._held[posed.key] = _Held(packed, reference, pickle.dumps(bare))
        return self._held[posed.key]

    def take(self, key: str, outcome: Outcome) -> Taken:
        """Put an outcome into the store, and tell what it is of.

        Raises
        ------
        UsageError
            If the process that computed it has other code than this one.
        KeyboardInterrupt
            If it was cut short from without.
        InputError
            If it cannot be stored.
        """
        if isinstance(outcome.value, Refused):
            raise UsageError(f"a worker cannot take part: {outcome.value.told}; end this sweep, and begin it again")
        posed = self._waiting[key][0].posed if key in self._waiting else self.plan.unique[key].posed
        limits = self.settings.limits
        further = {
            "time_limit": posed.profile.time_limit,
            "run_limit": limits.seconds,
            "memory_limit": limits.memory_mb,
            "seconds": outcome.seconds,
            "peak_mb": outcome.peak_mb,
            "sweep": self.sweep,
            "ended": now(),
        }
        if key in self._waiting:
            return Taken(self._take_optimum(key, outcome, further), True)
        run = self.plan.unique[key]
        self._take_run(run, outcome, further)
        return Taken(run.told, False)

    def _take_optimum(self, key: str, outcome: Outcome, further: Mapping[str, Any]) -> str:
        runs = self._waiting[key]
        posed = runs[0].posed
        solution = _solution(posed, outcome)
        if solution.limit is Limit.INTERRUPTED:
            raise KeyboardInterrupt
        row = optimum_row(posed, solution, outcome)
        with self._store.transaction():
            if not list(self._store.rows("SELECT 1 FROM instances WHERE sha256 = ?", posed.problem.instance.sha256)):
                self._store.put("instances", instance_row(posed.problem.instance))
            self._store.put(
                "optima", {**row, **further, "solution": claim_content(solution, posed.problem.instance).decode()}
            )
            self._store.execute("UPDATE runs SET stale = 1 WHERE optimum = ?", key)
        self.solved[row["status"]] += 1
        del self._waiting[key]
        self._hold(posed, solution)
        self._ready.extend(runs)
        return f"{posed.problem.instance.name}, {posed.problem.name}, optimum"

    def _take_run(self, run: Planned, outcome: Outcome, further: Mapping[str, Any]) -> None:
        posed, problem = run.posed, run.posed.problem
        record = outcome.value if outcome.done else _broken_off(run, outcome, self._hold(posed).reference)
        notes = self.settings.notes(problem.instance.name, problem.name)
        record = json.loads(json_of({"version": code_version(), **record, "notes": notes}))
        with self._store.transaction():
            self._store.put("runs", {**run_row(run, record), **further, "stale": 0, "record": record})
        self.ended[record["status"]] += 1
        self._left[posed.key] -= 1
        if not self._left[posed.key]:
            self._held.pop(posed.key, None)


def now() -> str:
    """This instant, in UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _solution(posed: Posed, outcome: Outcome) -> Solution:
    """What a process that solves has found; where it did not end by itself, that nothing is known."""
    if outcome.done:
        found: Solution = outcome.value
        return found
    limit = {Status.TIMED_OUT: Limit.TIME, Status.OUT_OF_MEMORY: Limit.MEMORY}.get(outcome.status)
    return unanswered(posed.problem, limit, str(outcome))


def _broken_off(run: Planned, outcome: Outcome, reference: Reference) -> dict[str, Any]:
    """The record of a run whose process did not end by itself, or raised what is no fault of the heuristic alone."""
    ran = ended_run(named(run.choice.entry), heuristic_parameters(run.choice), outcome)
    return gap_of(run.posed.problem, ran, run.seed, reference).record()


# Rows of the store ----------------------------------------------------------------------------------------------------


def instance_row(instance: Instance) -> dict[str, Any]:
    """The row of an instance, with its file: what `optsched.load` reads."""
    return {
        "sha256": instance.sha256,
        "name": instance.name,
        "tasks": len(instance.workload),
        "nodes": len(instance.cluster),
        "content": gzip.compress(to_json(instance), mtime=0),
    }


def planned_row(plan: str, position: int, run: Planned) -> dict[str, Any]:
    """The row of a run that is asked for."""
    names = dict(zip(("group", "instance", "label", "variant"), run.called, strict=True))
    return {"plan": plan, "position": position, "run": run.key, **names}


def optimum_row(posed: Posed, solution: Solution, outcome: Outcome) -> dict[str, Any]:
    """The row of an optimum: of its solution, and of how the process ended that looked for it."""
    status = ENDED.get(outcome.status, str(outcome.status))
    if outcome.done and solution.limit is Limit.TIME:
        status = ENDED[Status.TIMED_OUT]
    objective, bound = solution.objective, solution.bound
    return {
        "key": posed.key,
        "instance_sha256": posed.problem.instance.sha256,
        "problem": posed.problem.name,
        "parameters": canonical(dict(posed.problem.parameters)),
        "source_sha256": problem_source(posed.problem),
        "profile": posed.profile.name,
        "solver": canonical(solver_options(posed.profile)),
        "version": code_version(),
        "status": status,
        "message": outcome.message,
        "termination": str(solution.termination),
        "objective": None if objective is None else float(objective[0]),
        "bound": None if bound[0] is None else float(bound[0]),
        "certificate": None if solution.certificate is None else str(solution.certificate),
    }


def run_row(run: Planned, record: Mapping[str, Any]) -> dict[str, Any]:
    """The row of a run: what its record tells, a column each."""
    name = named(run.choice.entry)
    kept = Record.of(record)
    absolute, relative = Run(kept).gap
    return {
        "key": run.key,
        "optimum": run.posed.key,
        "status": record["status"],
        "message": record["error"],
        "instance": record["instance"],
        "instance_sha256": record["instance_sha256"],
        "problem": record["problem"],
        "parameters": canonical(record["parameters"]),
        "heuristic": record["heuristic"],
        "heuristic_parameters": canonical(record["heuristic_parameters"]),
        "source_sha256": source_digest(name),
        "seed": record["seed"],
        "profile": run.posed.profile.name,
        "version": record["version"],
        "objective": kept.of_each("objective")[0],
        "reference": kept.of_each("reference")[0],
        "reference_kind": record["reference_kind"],
        "certificate": record["certificate"],
        "gap": relative,
        "absolute_gap": absolute,
        "heuristic_seconds": record["heuristic_seconds"],
    }
