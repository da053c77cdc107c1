"""Sweeps: many gaps, each in its own process, into a store in which finished results are never lost.

`plans` says what is computed, and the keys of results. `store` is the file, what is read from it, and its check. Here a
sweep runs from beginning to end: jobs in their own processes, outcomes into the store. A job solves one problem, or
runs one heuristic and judges it; jobs and their answers are picklable. A process keeps what several jobs in a row
share: the posed problem, and the reference with its derived values. Runs wait for the optimum that they share; a run
that can begin goes before the next optimum, so that the first results come early. Only the process that sweeps writes.
A row has the whole record, and some fields as columns.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import pickle
import platform
import shlex
import socket
import sys
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from tempfile import TemporaryDirectory
from typing import Any

from optsched.core.errors import InputError, OptschedError, UsageError, nearest
from optsched.core.processes import DaskExecutor, Executor, Limits, LocalExecutor, Outcome, Status
from optsched.core.processes.limits import refused
from optsched.core.resources import code_version
from optsched.core.results import Limit, Solution
from optsched.heuristics import AnyHeuristic, run
from optsched.heuristics.running.run import ENDED, ended_run
from optsched.instances.claim_files import claim_content, parse_claim, versions
from optsched.instances.files import to_json
from optsched.measuring.gaps import Reference, gap_of, unanswered
from optsched.measuring.printing import canonical
from optsched.measuring.printing import to_json as json_of
from optsched.measuring.records import Record, Run
from optsched.measuring.studies.choices import Choice, Source
from optsched.measuring.sweeping.plans import (
    Parameters,
    Plan,
    PlannedRun,
    PosedProblem,
    heuristic_parameters,
    look_anew,
    named,
    optimum_key,
    planned,
    problem_source,
    solver_options,
    source_digest,
)
from optsched.measuring.sweeping.store import Store, Sweep, load_sweep, locked
from optsched.problems import problem_class
from optsched.problems.base import TaskProblem
from optsched.solvers.profiles import AnyProfile, Profile, load_profile

__all__ = [
    "Agenda",
    "Job",
    "PRELOADED",
    "RETRIED",
    "Steps",
    "Sweep",
    "carry_out",
    "execute",
    "executor_of",
    "load_sweep",
    "sweep",
    "to_do",
]

code_version()  # it reads all sources: a worker loads this module before the time of its first job counts


@dataclass(frozen=True)
class Job:
    """Solve a problem within the time limit of its profile; or run a heuristic on a solved one, and judge it.

    The problem and the solution that a run is compared with are pickled, and only read if the process does not have
    them.
    """

    optimum: str
    posed: bytes = field(repr=False)
    heuristic: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""
    seed: int = 0
    solution: bytes = field(default=b"", repr=False)

    @classmethod
    def solving(cls, posed: PosedProblem) -> Job:
        """Solve a problem as it is posed."""
        problem = posed.problem
        content = problem.name, dict(problem.parameters), problem.instance, posed.profile
        return cls(posed.key, pickle.dumps(content))

    def solved(self, solution: Solution) -> Job:
        """This problem with its solution, without the data of its proofs."""
        bare = replace(solution, certificates=tuple(replace(entry, data={}) for entry in solution.certificates))
        return replace(self, solution=pickle.dumps(bare))

    def of_run(self, choice: Choice, seed: int) -> Job:
        """Run a heuristic on this problem."""
        name = named(choice.entry)
        digest = source_digest(name)
        return replace(self, heuristic=name, parameters=dict(choice.parameters), source=digest, seed=seed)


def execute(job: Job) -> Solution | dict[str, Any] | str:
    """The solution of a problem, or the record of a run; a text says why a result cannot be kept as such.

    Examples
    --------
    >>> import optsched
    >>> (run,) = planned("papers/guo-fig2", "lsap", "dl").runs
    >>> job = Job.solving(run.posed)
    >>> solution = execute(job)
    >>> solution.objective
    (0,)
    >>> record = execute(job.solved(solution).of_run(run.choice, 0))
    >>> record["objective"], record["reference"], record["certificate"]
    (1, 0, 'dual')
    """
    with redirect_stdout(sys.stderr):  # what a heuristic or solver prints must not mix with data
        problem, profile = _posed(job.posed)
        if optimum_key(problem, profile) != job.optimum:
            return f"optsched {code_version()} runs there, or a package of another version that brings a problem"
        if not job.heuristic:
            return Reference.solved(problem, profile).solution
        if source_digest(job.heuristic) != job.source:
            return f"heuristic {job.heuristic} has another source there than when the sweep began"
        ran = run(problem, job.heuristic, job.seed, time_limit=profile.time_limit, **job.parameters)
        if ran.cause is not None and refused(ran.cause):
            raise ran.cause  # there was too little memory: this is no answer of the heuristic
        return gap_of(problem, ran, job.seed, _reference(job.posed, job.solution)).record()


@lru_cache(maxsize=4)
def _posed(content: bytes) -> tuple[TaskProblem[Any], Profile]:
    name, parameters, instance, profile = pickle.loads(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the same warning came when the problem was first posed
        problem = problem_class(name)(instance, **parameters)
    assert isinstance(problem, TaskProblem)  # flow networks have no heuristics, and so no place in a plan
    return problem, profile


@lru_cache(maxsize=4)
def _reference(content: bytes, solution: bytes) -> Reference:
    problem, profile = _posed(content)
    return Reference(problem, profile, solution=pickle.loads(solution))


# What is left of a plan, and how outcomes are stored ---------------------------------------------------------------


_FAILED = frozenset({"failed", "crashed", "out-of-memory"})
_LATE = frozenset({"out-of-time"})

#: The endings of runs and optima that are computed again, by the value of `retry`.
RETRIED = {"failed": _FAILED, "timed-out": _LATE, "all": _FAILED | _LATE}


#: Makes the notes on a run, next to its figures: on a problem on an instance, both by name.
Notes = Callable[[str, str], list[str]]


#: What identifies a run, whichever code computes it; and the runs of other code.
_ASKED = ("instance_sha256", "problem", "parameters", "heuristic", "heuristic_parameters", "seed", "profile")
_OTHERS = f"SELECT {', '.join(_ASKED)}, version FROM runs WHERE version != ? ORDER BY ended"


class Agenda:
    """The part of a plan that is left to do, and its results, which go into a store; parameters as for `carry_out`."""

    def __init__(
        self,
        plan: Plan,
        store: Store,
        retry: str | None = None,
        limits: Limits | None = None,
        notes: Notes = lambda instance, problem: [],
    ) -> None:
        self.plan, self._store, self._limits, self._notes = plan, store, limits or Limits(), notes
        again = RETRIED[retry] if retry else frozenset()
        solved = {row["key"]: row["status"] not in again for row in store.rows("SELECT key, status FROM optima")}
        ran = {row["key"]: row for row in store.rows("SELECT key, status, stale FROM runs")}
        #: Runs that can begin, and the others by the optimum that they wait for.
        self._ready: deque[PlannedRun] = deque()
        self._waiting: dict[str, list[PlannedRun]] = {}
        #: How the runs ended that are there already.
        self.kept: Counter[str] = Counter()
        wanted: list[PlannedRun] = []
        for key, one in plan.unique.items():
            found, is_solved = ran.get(key), solved.get(one.posed.key, False)
            if is_solved and found and not found["stale"] and found["status"] not in again:
                self.kept[found["status"]] += 1
                continue
            wanted.append(one)
            if is_solved:
                self._ready.append(one)
            else:
                self._waiting.setdefault(one.posed.key, []).append(one)
        #: The number of these, and of the runs and optima to be computed.
        self.there, self.runs, self.optima = self.kept.total(), len(wanted), len(self._waiting)
        #: How many of those to be computed exist from other code, by its version.
        self.stale = self._of_other_code(wanted)
        #: The number of the sweep in the store.
        self.sweep = 0
        #: How the runs and optima of this sweep ended.
        self.ended: Counter[str] = Counter()
        self.solved: Counter[str] = Counter()
        self._unsolved = deque(self._waiting)
        #: Solved problems, as long as runs on them are left.
        self._held: dict[str, Job] = {}
        self._left = Counter(one.posed.key for one in wanted)

    def _of_other_code(self, wanted: Sequence[PlannedRun]) -> Counter[str]:
        rows = list(self._store.rows(_OTHERS, code_version())) if wanted else []
        others = {tuple(row[name] for name in _ASKED): row["version"] for row in rows}
        found: Counter[str] = Counter()
        for one in wanted if others else ():
            problem, name = one.posed.problem, named(one.choice.entry)
            values = canonical(dict(problem.parameters)), name, canonical(heuristic_parameters(one.choice))
            asked = problem.instance.sha256, problem.name, *values, one.seed, one.posed.profile.name
            found.update([others[asked]] if asked in others else [])
        return found

    @property
    def left(self) -> int:
        """The number of runs that are still to be computed."""
        return self.runs - self.ended.total()

    def jobs(self) -> Iterator[tuple[str, Job]]:
        """Each job that can begin, by its key; if there is none, others have to end first."""
        while self._ready or self._unsolved:
            if self._ready:
                run = self._ready.popleft()
                yield run.key, self._hold(run.posed).of_run(run.choice, run.seed)
            else:
                key = self._unsolved.popleft()
                yield key, Job.solving(self._waiting[key][0].posed)

    def _hold(self, posed: PosedProblem, solution: Solution | None = None) -> Job:
        """A problem with its solution, which comes from the store if it is neither given nor in memory."""
        if posed.key not in self._held:
            if solution is None:
                (row,) = self._store.rows("SELECT solution FROM optima WHERE key = ?", posed.key)
                source = f"{self._store.path}: {posed.key}"
                solution = parse_claim(row["solution"].encode(), posed.problem.instance, source)
            self._held[posed.key] = Job.solving(posed).solved(solution)
        return self._held[posed.key]

    def take(self, key: str, outcome: Outcome) -> str:
        """Put an outcome into the store, and return a description of it.

        UsageError if the process that computed it has other code than this one. KeyboardInterrupt if it was stopped
        from outside. InputError if it cannot be stored.
        """
        if isinstance(outcome.value, str):
            raise UsageError(f"a worker cannot take part: {outcome.value}; end this sweep, and begin it again")
        if key in self._waiting:
            return self._take_optimum(self._waiting[key][0].posed, outcome)
        return self._take_run(self.plan.unique[key], outcome)

    def _take_optimum(self, posed: PosedProblem, outcome: Outcome) -> str:
        """Put in an optimum; KeyboardInterrupt if Ctrl-C cut it short."""
        problem, instance = posed.problem, posed.problem.instance
        limit = {Status.TIMED_OUT: Limit.TIME, Status.OUT_OF_MEMORY: Limit.MEMORY}.get(outcome.status)
        solution: Solution = outcome.value if outcome.done else unanswered(problem, limit, str(outcome))
        solution.raise_if_interrupted()
        late = outcome.done and solution.limit is Limit.TIME
        status = ENDED[Status.TIMED_OUT] if late else ENDED.get(outcome.status, str(outcome.status))
        objective, bound = solution.objective, solution.bound
        row = {
            "key": posed.key,
            "source_sha256": problem_source(problem),
            "solver": canonical(solver_options(posed.profile)),
            "status": status,
            "message": outcome.message,
            "termination": str(solution.termination),
            "objective": None if objective is None else float(objective[0]),
            "bound": None if bound[0] is None else float(bound[0]),
            "certificate": None if solution.certificate is None else str(solution.certificate),
            "solution": claim_content(solution, instance).decode(),
        }
        with self._store.transaction():
            if not list(self._store.rows("SELECT 1 FROM instances WHERE sha256 = ?", instance.sha256)):
                tasks, nodes = len(instance.workload), len(instance.cluster)
                content = gzip.compress(to_json(instance), mtime=0)  # `optsched.load` reads it
                counts = {"name": instance.name, "tasks": tasks, "nodes": nodes, "content": content}
                self._store.put("instances", {"sha256": instance.sha256, **counts})
            self._store.put("optima", {**row, **self._shared(posed, outcome)})
            self._store.execute("UPDATE runs SET stale = 1 WHERE optimum = ?", posed.key)
        self.solved[status] += 1
        self._hold(posed, solution)
        self._ready.extend(self._waiting.pop(posed.key))
        return f"{instance.name}, {problem.name}, optimum"

    def _take_run(self, run: PlannedRun, outcome: Outcome) -> str:
        """Put in a run on a solved problem."""
        posed, problem, name = run.posed, run.posed.problem, named(run.choice.entry)
        record = outcome.value
        if not outcome.done:  # its process was ended, or raised something that is not only the heuristic's fault
            ran = ended_run(name, heuristic_parameters(run.choice), outcome)
            reference = Reference(problem, posed.profile, solution=pickle.loads(self._hold(posed).solution))
            record = gap_of(problem, ran, run.seed, reference).record()
        notes = self._notes(problem.instance.name, problem.name)
        record = json.loads(json_of({"version": code_version(), **record, "notes": notes}))
        kept = Record.of(record)
        absolute, relative = Run(kept).gap
        alike = ("status", "instance", "heuristic", "seed", "reference_kind", "certificate", "heuristic_seconds")
        row = {
            "key": run.key,
            "optimum": posed.key,
            **{column: record[column] for column in alike},
            "message": record["error"],
            "heuristic_parameters": canonical(record["heuristic_parameters"]),
            "source_sha256": source_digest(name),
            "objective": kept.of_each("objective")[0],
            "reference": kept.of_each("reference")[0],
            "gap": relative,
            "absolute_gap": absolute,
            "stale": 0,
            "record": record,
        }
        with self._store.transaction():
            self._store.put("runs", {**row, **self._shared(posed, outcome)})
        self.ended[record["status"]] += 1
        self._left[posed.key] -= 1
        if not self._left[posed.key]:
            self._held.pop(posed.key, None)
        return run.label

    def _shared(self, posed: PosedProblem, outcome: Outcome) -> dict[str, Any]:
        """The columns that optima and runs have in common."""
        return {
            "instance_sha256": posed.problem.instance.sha256,
            "problem": posed.problem.name,
            "parameters": canonical(dict(posed.problem.parameters)),
            "profile": posed.profile.name,
            "version": code_version(),
            "time_limit": posed.profile.time_limit,
            "run_limit": self._limits.seconds,
            "memory_limit": self._limits.memory_mb,
            "seconds": outcome.seconds,
            "peak_mb": outcome.peak_mb,
            "sweep": self.sweep,
            "ended": now(),
        }


def now() -> str:
    """The present instant, in UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


# From beginning to end ---------------------------------------------------------------------------------------------


#: The modules that every worker needs and that take long to import.
PRELOADED = ("optsched.measuring.sweeping", "optsched.routes.call", "scipy.optimize", "highspy")


class Steps:
    """Called as a sweep proceeds; this one does nothing."""

    def waits(self, message: str) -> None:
        """Another sweep, or another program, holds the store, and this one waits for it."""

    def begins(self, agenda: Agenda) -> None:
        """The plan is complete, and jobs begin."""

    def ended(self, run: str, agenda: Agenda) -> None:
        """A run or an optimum has ended."""


def executor_of(workers: int = 1, limits: Limits | None = None, dask: str | None = None) -> Executor:
    """The executor of the jobs: processes of this machine, or with `dask` those of the cluster of that scheduler.

    UsageError if Dask is not installed, or no scheduler answers at the address.
    """
    if dask is None:
        return LocalExecutor(workers, limits, preload=PRELOADED)
    return DaskExecutor(dask, limits, preload=PRELOADED)


def sweep(
    store: str | os.PathLike[str],
    instances: Source | Iterable[Source],
    problems: str | Sequence[str] = (),
    heuristics: AnyHeuristic | Sequence[AnyHeuristic | Choice] = (),
    seeds: int | str | Iterable[int] = 1,
    *,
    parameters: Parameters | Sequence[Parameters] = (),
    profile: AnyProfile = "exact",
    time_limit: float | None = None,
    run_limit: float | None = None,
    memory_limit: int | None = None,
    workers: int = 1,
    dask: str | None = None,
    retry: str | None = None,
) -> Sweep:
    """Measure many gaps into a store: instances x problems x heuristics x seeds x parameters.

    Results in the store are not computed again. Each result is stored as soon as it is known, and stays, however the
    call ends: the same call continues after an interrupt or a kill. Every run is in a process that can be killed; a
    heuristic that fails, hangs or crashes costs only its own run.

    Parameters
    ----------
    store
        An SQLite file, which is made if it does not exist.
    instances, problems, heuristics, seeds, profile
        As for `optsched.study`. Other processes must be able to import the heuristics: listed ones, or those of a
        module.
    parameters
        Parameters of the problems, as for `optsched.study`; or a list of them, each of which is tried.
    time_limit
        Seconds for each reference, and for each run, which check the clock themselves; by default the profile's.
    run_limit, memory_limit
        Seconds and MiB after which the process of a run, or of solving, is killed.
    workers
        How many processes of this machine work at once.
    dask
        Address of the scheduler of a Dask cluster that should work instead: `tcp://host:8786`.
    retry
        Compute again what ended badly: `"failed"` (also crashed, or out of memory), `"timed-out"`, or `"all"` of these.

    Returns
    -------
    Sweep
        The results, with `frame()` and `summary()`.

    Raises
    ------
    UsageError
        For what does not exist or does not go together; before anything runs.
    InputError
        For wrong instances, and a store that cannot be used.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = sweep(f"{folder}/gaps.sqlite", "papers/guo-table2", "fair-lsap", ["dl", "lsap-fair-sched"])
    ...     print(found.frame()[["heuristic", "gap", "status"]].to_string(index=False))
          heuristic   gap status
                 dl 0.125   done
    lsap-fair-sched 0.000   done
    """
    look_anew()
    limited = load_profile(profile, time_limit)
    plan = planned(instances, problems, heuristics, seeds, parameters=parameters, profile=limited)
    limits = Limits.of_runs(run_limit, memory_limit)
    with executor_of(workers, limits, dask) as executor:
        agenda = carry_out(plan, store, executor, retry=retry, limits=limits)
    return load_sweep(store, agenda.sweep)


def to_do(plan: Plan, store: str | os.PathLike[str], retry: str | None = None) -> Agenda:
    """The work of a sweep; nothing is made or changed.

    InputError if the file exists but is no store, or cannot be read.
    """
    _check_retry(retry)
    if _begun(store):
        with Store(store) as held:
            return Agenda(plan, held, retry)
    with TemporaryDirectory() as folder, Store(os.path.join(folder, "empty.sqlite"), write=True) as held:
        return Agenda(plan, held, retry)


def _begun(store: str | os.PathLike[str]) -> bool:
    """Whether the file has content; a sweep that was killed at its very beginning leaves an empty one."""
    return os.path.exists(store) and not (os.path.isfile(store) and os.path.getsize(store) == 0)


def carry_out(
    plan: Plan,
    store: str | os.PathLike[str],
    executor: Executor,
    *,
    retry: str | None = None,
    limits: Limits | None = None,
    notes: Notes = lambda instance, problem: [],
    steps: Steps | None = None,
    options: Mapping[str, Any] | None = None,
) -> Agenda:
    """Compute the part of a plan that is not in a store, and put it there.

    `plan`, `store`, `executor`, `retry`: the runs, the file, the executor of the jobs, and what is computed again.
    `limits`, `notes`, `options`: kept with the results: the limits of the executor, what records say next to their
    figures, and the arguments. `steps`: called as it proceeds. UsageError if workers have other code than this process.
    InputError if the store cannot be used. KeyboardInterrupt: what ended before is in the store.
    """
    _check_retry(retry)
    steps = steps or Steps()
    if _begun(store):
        with Store(store):
            pass  # a file that is no store gets no lock file
    with (
        locked(store, lambda: steps.waits(_other(store))),
        Store(store, write=True, waits=lambda: steps.waits("another program holds it")) as opened,
    ):
        agenda = Agenda(plan, opened, retry, limits, notes)
        steps.begins(agenda)
        with _listed(opened, plan, options or {}) as agenda.sweep:
            while agenda.left:
                # If no job can begin before others have ended, the executor has drawn the last one: ask it again.
                for key, outcome in executor.map(execute, agenda.jobs()):
                    steps.ended(agenda.take(key, outcome), agenda)
    return agenda


def _check_retry(retry: str | None) -> None:
    if retry is not None and retry not in RETRIED:
        raise UsageError(f"retry={retry!r}: {nearest(retry, list(RETRIED))}")


def _other(store: str | os.PathLike[str]) -> str:
    """Who else sweeps into a store, as far as it says."""
    with contextlib.suppress(InputError), Store(store) as opened:
        for row in opened.rows("SELECT machine, begun FROM sweeps WHERE ended IS NULL ORDER BY id DESC LIMIT 1"):
            machine = json.loads(row["machine"])
            return f"process {machine['process']} on {machine['host']} sweeps into it since {row['begun']}"
    return "another process sweeps into it"


@contextmanager
def _listed(store: Store, plan: Plan, options: Mapping[str, Any]) -> Iterator[int]:
    """Enter a sweep in the store, and how it ended; returns its number."""
    row = {
        "plan": plan.digest,
        "command": shlex.join(sys.argv),
        "options": dict(options),
        "version": code_version(),
        "versions": versions(),
        "machine": {
            "host": socket.gethostname(),
            "process": os.getpid(),
            "system": platform.platform(),
            "cores": os.cpu_count(),
        },
        "runs": len(plan),
        "begun": now(),
    }
    with store.transaction():
        if not list(store.rows("SELECT 1 FROM planned WHERE plan = ? LIMIT 1", plan.digest)):
            for position, run in enumerate(plan.runs):
                names = dict(zip(("group", "instance", "label", "variant"), run.called, strict=True))
                store.put("planned", {"plan": plan.digest, "position": position, "run": run.key, **names})
        number = store.put("sweeps", row)
    outcome = "interrupted"
    try:
        yield number
        outcome = "finished"
    except Exception as error:
        outcome = str(error) if isinstance(error, OptschedError) else f"{type(error).__name__}: {error}"
        raise
    finally:
        ending = "UPDATE sweeps SET ended = ?, outcome = ? WHERE id = ?"
        # If the disk is full, the message should say so.
        with (
            contextlib.suppress(InputError) if outcome != "finished" else contextlib.nullcontext(),
            store.transaction(),
        ):
            store.execute(ending, now(), outcome, number)
