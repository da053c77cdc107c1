"""Running a heuristic on a problem: a listed one by its name, or a user's own callable or policy.

Running a heuristic always gives a `HeuristicRun`: its placement, or what was wrong with its answer.
"""

from __future__ import annotations

import importlib
import inspect
import math
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from optsched.core.brief import brief, counted
from optsched.core.deadline import alarm, check, deadline
from optsched.core.errors import (
    HeuristicFailed,
    InputError,
    MissingField,
    OutOfTime,
    ProblemFailed,
    UsageError,
    described,
    expect,
    nearest,
)
from optsched.core.outside import own_traceback, raised
from optsched.core.placement import NONE, Placement, Schedule
from optsched.core.problem_record import imported as registered
from optsched.core.processes.containing import TracedElsewhere, call
from optsched.core.processes.limits import Outcome, Status
from optsched.core.registry import record_of
from optsched.core.results import Solution
from optsched.heuristics.running.base import Heuristic, Policy
from optsched.heuristics.running.driver import (
    MAX_IDLE_ROUNDS,
    Observer,
    attempt,
    drive,
    placement_from,
    schedule_from,
    streams,
    watched_streams,
)
from optsched.heuristics.running.known import posed_on
from optsched.problems import PROBLEMS
from optsched.problems.base import TaskProblem
from optsched.problems.parameters import Parameter, number, resolve

#: The types of decisions made elsewhere.
_DECIDED = (Placement, Schedule, Solution, Mapping)

#: How slots are offered to a policy over time: parameters of its run, not of the policy (`optsched.simulate`).
TIMING = ("heartbeat", "assign")

#: The further parameters of a batch heuristic that decides in rounds (`optsched.heuristics.simulating.EveryRound`).
ROUNDS = ("problem", "period", "on_free", "problem_parameters")


@dataclass(frozen=True)
class HeuristicRun:
    """The result of running a heuristic.

    Attributes
    ----------
    name, parameters
        Which heuristic, with the values in force.
    placement
        Where it placed the tasks, feasible or not; None if it raised or returned something invalid.
    schedule
        Where and when, if the problem decides that; its `placement` is where.
    assumed
        For a policy over time, in words: how long tasks take, and when slots are offered.
    seconds
        Wall-clock time, for a policy with its driver.
    rounds, idle_slot_time
        A policy's rounds of offers and slot-rounds offered in vain; None for a batch heuristic.
    starved
        Whether the driver gave a policy up, with tasks waiting and slots idle.
    error
        What was wrong, one line per fault, with the heuristic's name; None if nothing.
    cause
        The exception that the heuristic raised, with its traceback; None if it raised none.
    out_of_time
        The limit, in seconds, that stopped it; None if none did.
    ended
        How its contained process ended, if it gave no answer (`optsched.core.processes`): `out-of-time`,
        `out-of-memory` or `crashed`; else None.
    drawn
        Whether random numbers were drawn, by the heuristic or for the order of offers: another seed may differ.
    """

    name: str
    parameters: Mapping[str, Any]
    placement: Placement | None
    seconds: float
    rounds: int | None = None
    idle_slot_time: int | None = None
    starved: bool = False
    error: str | None = None
    out_of_time: float | None = None
    cause: BaseException | None = field(default=None, repr=False, compare=False)
    ended: str | None = None
    schedule: Schedule | None = None
    assumed: str = ""
    drawn: bool = False

    @property
    def decision(self) -> Placement | Schedule | None:
        """The decision: the schedule if one was asked for, else the placement."""
        return self.placement if self.schedule is None else self.schedule

    def __repr__(self) -> str:
        result = self.error
        if self.placement is not None:
            result = f"{self.placement.placed} of {counted(len(self.placement), 'task')} placed"
        return brief(f"HeuristicRun of {self.name}: {result}{', starved' if self.starved else ''}")

    def raise_if_failed(self) -> Placement:
        """The placement; HeuristicFailed if there is none, from what the heuristic raised."""
        if self.placement is None:
            raise HeuristicFailed(self.error) from self.cause
        return self.placement


def run_heuristic(
    problem: TaskProblem[Any],
    heuristic: Heuristic,
    /,
    seed: int | Sequence[int] = 0,
    *,
    max_idle_rounds: Any = None,
    observers: Sequence[Observer] = (),
    time_limit: float | None = None,
    **parameters: Any,
) -> HeuristicRun:
    """Run a listed entry, or one made by `custom`; see `optsched.heuristics.run`."""
    values, shown = checked(problem, heuristic, seed, max_idle_rounds, observers, time_limit, parameters)
    timing = {name: parameters[name] for name in parameters if name not in values}
    shown |= timing
    given = problem if heuristic.shipped else posed_on(problem, problem.instance)  # a user's code only spoils its own
    began = time.perf_counter()
    found: dict[str, Any] = {"placement": None}
    error = exceeded = cause = None
    try:
        with watched_streams() as drawn, deadline(time_limit), nullcontext() if heuristic.shipped else alarm():
            if problem.decided is Schedule and (heuristic.online or problem.name in heuristic.in_rounds):
                runner = record_of(type(problem)).runner
                if runner is None:
                    reason = f"no record names what runs policies over time in {type(problem).__name__}"
                    mend = "name a runner in its record (optsched.core.registry)"
                    raise UsageError(f"{problem.name}: {reason}; {mend}")
                ran = registered(runner)(given, heuristic, values, seed, observers, **timing)
                shown |= {name: value for name, value in ran.timing.items() if name in of_run(heuristic)}
                # The policy would never have started what it leaves waiting over time.
                unserved = bool((ran.schedule.nodes[problem.tasks] == NONE).any())
                found = {"placement": ran.schedule.placement, "schedule": ran.schedule}
                found |= {"starved": unserved, "assumed": ran.assumed}
            elif heuristic.policy is not None:
                policy = attempt(heuristic.policy, **values)
                rounds = shown.get("max_idle_rounds", MAX_IDLE_ROUNDS)
                driven = drive(given, policy, seed, max_idle_rounds=rounds, observers=observers)
                found = {name: getattr(driven, name) for name in ("placement", "rounds", "idle_slot_time", "starved")}
            else:
                decided = _batch(heuristic, given, streams(seed)[1], values)
                found = {"placement": decided}
                if isinstance(decided, Schedule):
                    found = {"placement": decided.placement, "schedule": decided}
    except HeuristicFailed as failed:
        cause = failed.__cause__
        error = "\n".join(f'heuristic "{heuristic.name}" {line}' for line in failed.lines)
    except OutOfTime:
        check()  # a deadline that is not of this run is for its caller
        if time_limit is None:
            raise
        exceeded = time_limit
        error = f'heuristic "{heuristic.name}" was out of time after {time_limit:g} s'
    return HeuristicRun(
        heuristic.name,
        MappingProxyType(shown),
        seconds=time.perf_counter() - began,
        error=error,
        out_of_time=exceeded,
        cause=cause,
        drawn=drawn(),
        **found,
    )


def of_run(heuristic: Heuristic) -> set[str]:
    """The names of the parameters of a run over time that are not the heuristic's."""
    if not heuristic.online and not heuristic.in_rounds:
        return set()
    names = set(TIMING) if heuristic.online else {*TIMING, *ROUNDS}
    if heuristic.parameters is not None:
        return names - {parameter.name for parameter in heuristic.parameters}
    assert heuristic.policy is not None
    try:
        return names - set(inspect.signature(heuristic.policy).parameters)
    except (TypeError, ValueError):  # of compiled code
        return names


def checked(
    problem: TaskProblem[Any],
    heuristic: Heuristic,
    seed: int | Sequence[int],
    max_idle_rounds: Any,
    observers: Sequence[Observer],
    time_limit: float | None,
    parameters: Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The heuristic's parameters in force, and the run's record of them: including `max_idle_rounds`, if given.

    It raises for unknown names and wrong values, and for a problem that the heuristic does not serve.
    """
    timing = of_run(heuristic) if problem.decided is Schedule else set()
    values = values_in_force(heuristic, {name: given for name, given in parameters.items() if name not in timing})
    check_seed(seed)
    is_number = isinstance(time_limit, int | float) and not isinstance(time_limit, bool)
    if time_limit is not None and not (is_number and math.isfinite(time_limit) and time_limit >= 0):
        raise UsageError(f"time_limit {time_limit!r}: give a number of seconds, at least 0, or None")
    check_observers(observers)
    if not heuristic.online and (max_idle_rounds is not None or observers):
        raise UsageError(f"{heuristic.name} is a batch heuristic: it has no rounds and nothing to observe")
    shown = dict(values)
    if max_idle_rounds is not None:
        rounds = Parameter("max_idle_rounds", None, number(lowest=1, integer=True), "")
        shown |= resolve(heuristic.name, (rounds,), {"max_idle_rounds": max_idle_rounds})
        if problem.decided is Schedule:
            raise UsageError(f"{problem.name} runs over time, in which there are no rounds: leave max_idle_rounds out")
    # A user's own may serve a class that no record names.
    if heuristic.parameters is not None and not heuristic.runs_in(problem.name):
        raise UsageError(
            f"{heuristic.name} does not serve {problem.name}, only {', '.join(heuristic.problems)}; "
            "name another heuristic or problem"
        )
    if faults := heuristic.faults(problem, parameters):
        raise MissingField(faults, f"{problem.instance.name}: {heuristic.name}")
    return values, shown


def _batch(
    heuristic: Heuristic, problem: TaskProblem[Any], rng: np.random.Generator, parameters: Mapping[str, Any]
) -> Placement | Schedule:
    """Call a batch heuristic and read its answer. Bad parameters or input reported by a listed one are no failure."""
    assert heuristic.batch is not None
    if heuristic.parameters is not None:
        try:
            answer = heuristic.batch(problem, rng, **parameters)
        except (UsageError, InputError, HeuristicFailed, OutOfTime, ProblemFailed):
            raise
        except Exception as error:
            raise HeuristicFailed(f"raised {raised(error)}") from error
    else:
        answer = attempt(heuristic.batch, problem, rng, **parameters)
    read = schedule_from if problem.decided is Schedule else placement_from
    found: Placement | Schedule = attempt(read, answer, problem)
    return found


def values_in_force(heuristic: Heuristic, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The values in force; UsageError for a name that the heuristic lacks or a value that it refuses."""
    if heuristic.parameters is not None:
        return resolve(heuristic.name, heuristic.parameters, parameters)
    function = heuristic.policy or heuristic.batch
    assert function is not None
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of compiled code
        return dict(parameters)
    try:
        signature.bind(*(() if heuristic.online else (None, None)), **parameters)
    except TypeError as error:
        takes = "its parameters" if heuristic.online else "(problem, rng) and its parameters"
        raise UsageError(f"{heuristic.name} is called with {takes}: {error}") from None
    return dict(parameters)


def check_seed(seed: int | Sequence[int]) -> None:
    """UsageError for a seed from which no stream can be made."""
    entries = list(seed) if isinstance(seed, Sequence) else [seed]
    integral = all(isinstance(entry, int | np.integer) and not isinstance(entry, bool) for entry in entries)
    if not entries or not integral or min(entries) < 0:
        raise UsageError(f"seed {seed!r}: give a whole number, 0 or more")


def check_observers(observers: Sequence[Observer]) -> None:
    """UsageError for observers that cannot be called."""
    expect(observers, Sequence, "observers are a list of callables (time, problem, decision)")
    for observer in observers:
        if not callable(observer):
            raise UsageError(f"an observer is a callable (time, problem, decision), not {described(observer)}")


def custom(own: Any, name: str | None = None) -> Heuristic:
    """An entry for a user's own heuristic; by default it has the name by which `imported` would find it.

    `own` is a class or instance with `offer` (a policy; a class is called with the parameters), or a callable
    `(problem, rng, **parameters) -> placement`, or `-> schedule` for problems that decide one. Or it is a decision made
    elsewhere, which is called "given": a placement, a schedule, a solution, or a mapping from ids of tasks to ids of
    nodes. UsageError if it is none of these, or a solution without a placement or schedule.
    """
    if isinstance(own, _DECIDED):
        held = _Held(*((own.decision, own.instance_sha256) if isinstance(own, Solution) else (own, None)))
        if not isinstance(held.decision, Placement | Schedule | Mapping):
            raise UsageError("the solution has no placement or schedule to measure; give another")
        noun = Schedule if isinstance(held.decision, Schedule) else Placement
        serves = tuple(name for name, kind in PROBLEMS.items() if kind.decided is noun)
        return Heuristic(name or "given", "", "", serves, "decided elsewhere", None, batch=held)
    if name is None:
        owner = own if hasattr(own, "__qualname__") else type(own)
        name = f"{owner.__module__}:{owner.__qualname__}"
    offers = callable(getattr(own, "offer", None))
    if not offers and isinstance(own, type):
        raise UsageError(f"{name} is a class without offer(offer, view), which makes a policy; give it that method")
    if not offers and not callable(own):
        raise UsageError(
            f"{own!r} is no heuristic: give a name, a callable (problem, rng) -> placement, a class with "
            "offer(), or what was decided (a Placement, Schedule, Solution, or nodes by tasks)"
        )
    doc = next(iter((inspect.getdoc(own) or "").splitlines()), "")
    kinds = {problem: kind for problem, kind in PROBLEMS.items() if issubclass(kind, TaskProblem)}
    if not offers:
        return Heuristic(name, "", "", tuple(kinds), doc, parameters=None, batch=own)
    serves = tuple(problem for problem, kind in kinds.items() if kind.offered is not TaskProblem.offered)
    policy = own if isinstance(own, type) else _Always(own)
    return Heuristic(name, "", "", serves, doc, parameters=None, policy=policy)


@dataclass(frozen=True, eq=False)
class _Held:
    """Returns a decision made elsewhere."""

    decision: Any
    sha256: str | None

    def __call__(self, problem: TaskProblem[Any], rng: np.random.Generator) -> Any:
        if self.sha256 not in (None, problem.instance.sha256):
            raise HeuristicFailed("is a solution of another instance; solve this one")
        return self.decision


@dataclass(frozen=True)
class _Always:
    """Returns the one given policy; a call takes no parameters."""

    policy: Policy

    def __call__(self) -> Policy:
        return self.policy


def imported(name: str) -> Heuristic:
    """The user's own heuristic called `package.module:function`; raises as `users_own` does."""
    return custom(users_own(name), name)


def users_own(name: str, what: str = "heuristic") -> Any:
    """The object that a user names as `package.module:function`; `what` is its kind, for the messages.

    Raises
    ------
    UsageError
        If there is no such module or function, or importing it raises; says how to mend it.
    """
    module_name, _, attribute = name.partition(":")
    place = f'{what} "{name}"'
    if not all(part.isidentifier() for part in [*module_name.split("."), *attribute.split(".")]):
        raise UsageError(f"{place}: write it as package.module:function")
    try:
        found: Any = _without_bytecode(module_name)
    except (Exception, SystemExit) as error:
        missing = isinstance(error, ModuleNotFoundError) and f"{module_name}.".startswith(f"{error.name}.")
        if missing:
            mend = "install it, or put the folder that holds it on PYTHONPATH"
            if module_name.endswith(".py"):
                mend = f'give its name and not its file: "{module_name.removesuffix(".py")}:{attribute}"'
            raise UsageError(f'{place}: there is no module "{module_name}"; {mend}') from None
        raise UsageError(f"{place}: importing its module raised {raised(error)}; mend the module") from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            known = [entry for entry in dir(found) if not entry.startswith("_") and callable(getattr(found, entry))]
            raise UsageError(f'{place}: there is no "{part}" in it; {nearest(part, known)}')
        found = getattr(found, part)
    return found


def _without_bytecode(module: str) -> Any:
    """A user's module, imported afresh if this process does not have it, without a copy in `__pycache__`.

    Python compares a cached copy with the present text by size and second. A heuristic that is edited within a second,
    as by a program that tries numbers, would run as it was before.
    """
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        return importlib.import_module(module)
    finally:
        sys.dont_write_bytecode = before


#: Types that a heuristic may be given by: a name, an entry of the list, a policy (class or instance), a callable, or a
#: decision made elsewhere.
AnyHeuristic = (
    str | Heuristic | Policy | type[Policy] | Callable[..., Any] | Placement | Schedule | Solution | Mapping[Any, Any]
)


# Run a heuristic in its own process, if limits are in force (`core.processes.contained`) ------------------------------

#: The words in records for processes that ended before they answered.
ENDED = {Status.TIMED_OUT: "out-of-time", Status.OUT_OF_MEMORY: "out-of-memory", Status.CRASHED: "crashed"}

#: The words in messages for each status.
IN_WORDS = {
    Status.TIMED_OUT: "was out of time: ",
    Status.OUT_OF_MEMORY: "was out of memory: ",
    Status.CRASHED: "crashed: ",
}


def run_contained(
    problem: TaskProblem[Any],
    heuristic: Heuristic,
    /,
    seed: int | Sequence[int] = 0,
    *,
    max_idle_rounds: Any = None,
    observers: Sequence[Observer] = (),
    time_limit: float | None = None,
    **parameters: Any,
) -> HeuristicRun:
    """The same as `run_heuristic`, but a crash or hang of the heuristic is an error of the run.

    Raises
    ------
    UsageError
        As `run_heuristic` does, and for observers, which cannot see into another process.
    """
    _, shown = checked(problem, heuristic, seed, max_idle_rounds, observers, time_limit, parameters)
    if observers:
        raise UsageError("observers cannot see into the process of a contained run: leave them or the limits out")
    outcome = call(_run, (problem, heuristic, seed, max_idle_rounds, time_limit, parameters))
    if outcome.done:
        found: HeuristicRun = outcome.value
        return found
    return ended_run(heuristic.name, MappingProxyType(shown), outcome)


def ended_run(name: str, parameters: Mapping[str, Any], outcome: Outcome) -> HeuristicRun:
    """The run of a heuristic whose process gave no answer."""
    return HeuristicRun(
        name,
        parameters,
        None,
        outcome.seconds,
        error=f'heuristic "{name}" {IN_WORDS.get(outcome.status, "")}{outcome.message}',
        cause=TracedElsewhere(outcome.traceback) if outcome.traceback else None,
        ended=ENDED.get(outcome.status),
    )


def _run(asked: tuple[Any, ...]) -> HeuristicRun:
    """The run; an exception, which may not be picklable, becomes its error. Refused memory ends the process."""
    problem, heuristic, seed, max_idle_rounds, time_limit, parameters = asked
    run = run_heuristic(problem, heuristic, seed, max_idle_rounds=max_idle_rounds, time_limit=time_limit, **parameters)
    if run.cause is None:
        return run
    from optsched.core.processes.limits import refused  # it loads modules that send things

    if refused(run.cause):
        raise run.cause
    frames = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(run.cause.__traceback__)]
    return replace(run, cause=TracedElsewhere(own_traceback(run.cause), type(run.cause).__name__, frames))
