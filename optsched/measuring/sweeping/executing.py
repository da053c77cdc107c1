"""A sweep from beginning to end: the lock, the plan in the store, jobs to an executor, outcomes into the store.

On the way it says how long the rest may take.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shlex
import socket
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from optsched.core.errors import InputError, OptschedError, UsageError, nearest
from optsched.core.fingerprint import code_version
from optsched.heuristics import AnyHeuristic
from optsched.instances.claim_files import versions
from optsched.measuring.studies.choices import Choice, Source
from optsched.measuring.sweeping.agenda import RETRIED, Agenda, Settings, now, planned_row
from optsched.measuring.sweeping.jobs import execute
from optsched.measuring.sweeping.keys import look_anew
from optsched.measuring.sweeping.plans import Parameters, Plan, planned
from optsched.measuring.sweeping.results import Sweep, load_sweep
from optsched.measuring.sweeping.store import Store, locked
from optsched.processes import DaskExecutor, Executor, Limits, LocalExecutor
from optsched.solvers.profiles import AnyProfile, load_profile

__all__ = ["PRELOADED", "Pace", "Steps", "carry_out", "executor_of", "in_words", "sweep", "to_do"]

#: What every worker needs and what takes long to import.
PRELOADED = ("optsched.measuring.sweeping.jobs", "optsched.routes.call", "scipy.optimize", "highspy")


class Steps(Protocol):
    """Told how a sweep goes."""

    def waits(self, told: str, /) -> None:
        """Another sweep is on in the store, or another program holds it, and this one waits for its end."""

    def begins(self, agenda: Agenda, /) -> None:
        """It is known what is to be done."""

    def ended(self, told: str, agenda: Agenda, left: str, /) -> None:
        """A run or an optimum has ended; `left` says how long the rest may take."""


class _Silent:
    """Says nothing."""

    def waits(self, told: str) -> None:
        pass

    def begins(self, agenda: Agenda) -> None:
        pass

    def ended(self, told: str, agenda: Agenda, left: str) -> None:
        pass


def executor_of(workers: int = 1, limits: Limits | None = None, dask: str | None = None) -> Executor:
    """What runs the jobs: processes of this machine, or with `dask` those of the cluster whose scheduler is there.

    Raises
    ------
    UsageError
        If Dask is not installed, or nobody answers at the address.
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

    What is in the store is not computed again. Each result is stored as soon as it is there, and stays whatever comes
    after it: the same call goes on where an earlier one was interrupted or killed. Every run is a process's that can be
    killed; a heuristic that fails, hangs or crashes costs its own run.

    Parameters
    ----------
    store
        An SQLite file, which is made where there is none.
    instances, problems, heuristics, seeds, profile
        As for `optsched.study`. Heuristics are such as other processes can import: of the list, or of a module.
    parameters
        Of the problems, as for `optsched.study`; or a list of several such, each of which is tried.
    time_limit
        Seconds for each reference, and for each run, which look at the clock themselves; by default the profile's.
    run_limit, memory_limit
        Seconds and MiB after which the process of a run, or of solving, is killed.
    workers
        How many processes of this machine work at once.
    dask
        Address of the scheduler of a Dask cluster, to work there instead: `tcp://host:8786`.
    retry
        Compute again what is there and ended badly: `"failed"` (also crashed, or out of memory), `"timed-out"`, or
        `"all"` of these.

    Returns
    -------
    Sweep
        The results, with `frame()` and `summary()`.

    Raises
    ------
    UsageError
        For what does not exist or does not go together; before anything runs.
    InputError
        For instances that are wrong, and a store that cannot be used.

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
    limited = load_profile(profile).with_limits(time_limit=time_limit)
    plan = planned(instances, problems, heuristics, seeds, parameters=parameters, profile=limited)
    settings = Settings(Limits.of_runs(run_limit, memory_limit) or Limits())
    with executor_of(workers, settings.limits, dask) as executor:
        agenda = carry_out(plan, store, executor, retry=retry, settings=settings)
    return load_sweep(store, agenda.sweep)


def to_do(plan: Plan, store: str | os.PathLike[str], retry: str | None = None) -> Agenda:
    """What a sweep would compute; nothing is made or changed.

    Raises
    ------
    InputError
        If there is a file of that name that is no store, or cannot be read.
    """
    _check_retry(retry)
    if _begun(store):
        with Store(store) as held:
            return Agenda(plan, held, retry)
    with TemporaryDirectory() as folder, Store(os.path.join(folder, "empty.sqlite"), write=True) as held:
        return Agenda(plan, held, retry)


def _begun(store: str | os.PathLike[str]) -> bool:
    """Whether there is something other than an empty file, as one is where a sweep was killed at its very beginning."""
    return os.path.exists(store) and not (os.path.isfile(store) and os.path.getsize(store) == 0)


def carry_out(
    plan: Plan,
    store: str | os.PathLike[str],
    executor: Executor,
    *,
    retry: str | None = None,
    settings: Settings | None = None,
    steps: Steps | None = None,
    options: Mapping[str, Any] | None = None,
) -> Agenda:
    """Compute what of a plan is not in a store, and put it there.

    Parameters
    ----------
    plan, store, retry
        The runs, the file, and what is computed again.
    executor
        What runs the jobs; it has the limits of `settings`.
    settings
        Limits, as they are to be kept.
    steps
        Told how it goes.
    options
        What was asked for, for the table `sweeps`.

    Returns
    -------
    Agenda
        How the runs ended.

    Raises
    ------
    UsageError
        If workers have other code than this process.
    InputError
        If the store cannot be used.
    KeyboardInterrupt
        What ended before is in the store.
    """
    _check_retry(retry)
    steps = steps or _Silent()
    if _begun(store):
        Store(store).__exit__(None, None, None)  # what is no store gets no lock beside it
    with (
        locked(store, lambda: steps.waits(_other(store))),
        Store(store, write=True, waits=lambda: steps.waits("another program holds it")) as opened,
    ):
        agenda = Agenda(plan, opened, retry, settings)
        steps.begins(agenda)
        with _listed(opened, plan, options or {}) as agenda.sweep:
            _work(agenda, executor, steps)
    return agenda


def _check_retry(retry: str | None) -> None:
    if retry is not None and retry not in RETRIED:
        raise UsageError(f"retry={retry!r}: {nearest(retry, list(RETRIED))}")


def _work(agenda: Agenda, executor: Executor, steps: Steps) -> None:
    pace = Pace(agenda.runs, agenda.optima)
    while agenda.left:
        # Where no job can begin before others have ended, the executor has drawn the last one: it is asked again.
        for key, outcome in executor.map(execute, agenda.jobs()):
            taken = agenda.take(key, outcome)
            pace.ended(taken.optimum, outcome.seconds)
            steps.ended(taken.told, agenda, in_words(pace.left))


def _other(store: str | os.PathLike[str]) -> str:
    """Who else sweeps into a store, as far as it says."""
    with contextlib.suppress(InputError), Store(store) as opened:
        for row in opened.rows("SELECT machine, begun FROM sweeps WHERE ended IS NULL ORDER BY id DESC LIMIT 1"):
            machine = json.loads(row["machine"])
            return f"process {machine['process']} on {machine['host']} sweeps into it since {row['begun']}"
    return "another process sweeps into it"


@contextmanager
def _listed(store: Store, plan: Plan, options: Mapping[str, Any]) -> Iterator[int]:
    """Enter a sweep in the store, and how it ended; gives its number."""
    row = {
        "plan": plan.digest,
        "command": shlex.join(sys.argv),
        "options": dict(options),
        "version": code_version(),
        "versions": versions(),
        "machine": _machine(),
        "runs": len(plan),
        "begun": now(),
    }
    with store.transaction():
        if not list(store.rows("SELECT 1 FROM planned WHERE plan = ? LIMIT 1", plan.digest)):
            for position, run in enumerate(plan.runs):
                store.add("planned", planned_row(plan.digest, position, run))
        number = store.add("sweeps", row)
    outcome = "interrupted"
    try:
        yield number
        outcome = "finished"
    except Exception as error:
        outcome = str(error) if isinstance(error, OptschedError) else f"{type(error).__name__}: {error}"
        raise
    finally:
        ending = "UPDATE sweeps SET ended = ?, outcome = ? WHERE id = ?"
        # Where the disk is full, that is what is to be told.
        with (
            contextlib.suppress(InputError) if outcome != "finished" else contextlib.nullcontext(),
            store.transaction(),
        ):
            store.execute(ending, now(), outcome, number)


def _machine() -> dict[str, Any]:
    return {
        "host": socket.gethostname(),
        "process": os.getpid(),
        "system": platform.platform(),
        "cores": os.cpu_count(),
    }


# How long it may still take -------------------------------------------------------------------------------------------


class Pace:
    """Estimates the time left from what ended so far: optima and runs apart, since they take differently long.

    Parameters
    ----------
    runs, optima
        How many there are to be.
    clock
        Tells seconds.

    Examples
    --------
    >>> seconds = iter([0, 20, 30])
    >>> pace = Pace(runs=6, optima=1, clock=lambda: next(seconds))
    >>> pace.ended(optimum=True, seconds=20)
    >>> pace.left is None  # nothing is known of runs
    True
    >>> pace.ended(optimum=False, seconds=10)
    >>> pace.left
    50.0
    """

    def __init__(self, runs: int, optima: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._total = {False: runs, True: optima}
        self._count = {False: 0, True: 0}
        self._seconds = {False: 0.0, True: 0.0}
        self._clock, self._began = clock, clock()

    def ended(self, optimum: bool, seconds: float) -> None:
        """One more has ended, after so many seconds of its own."""
        self._count[optimum] += 1
        self._seconds[optimum] += seconds
        self._elapsed = self._clock() - self._began

    @property
    def runs(self) -> int:
        """How many runs have ended."""
        return self._count[False]

    @property
    def left(self) -> float | None:
        """Seconds until all have ended, if they go on like this; None where that cannot be told yet."""
        work = 0.0
        for kind, total in self._total.items():
            missing = total - self._count[kind]
            if missing and not self._count[kind]:
                return None
            work += missing * self._seconds[kind] / self._count[kind] if missing else 0
        spent = sum(self._seconds.values())
        # What the processes spent against the time that went by is how many of them worked at once.
        return work * self._elapsed / spent if spent else 0.0


def in_words(seconds: float | None) -> str:
    """A time left, in words.

    >>> in_words(None), in_words(8), in_words(130), in_words(9000), in_words(400000)
    ('time left unknown yet', '8 s left', '2 min left', '2 h 30 min left', '4 d 15 h left')
    """
    if seconds is None:
        return "time left unknown yet"
    whole = round(seconds)
    if whole < 90:
        return f"{whole} s left"
    minutes = round(whole / 60)
    if minutes < 120:
        return f"{minutes} min left"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min left"
    return f"{hours // 24} d {hours % 24} h left"
