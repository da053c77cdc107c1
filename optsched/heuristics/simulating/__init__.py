"""Policies over time: jobs arrive, tasks take the time that a service gives, and slots are offered at heartbeats.

`simulate` runs a policy over an instance. `run_posed` runs it in a problem that decides when tasks run, by the
problem's times and rules. `engine` has the engine, `services` the services, and `simulation` the result of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import isabstract
from itertools import pairwise
from typing import Any

import numpy as np

from optsched.core.decimals import decimal
from optsched.core.errors import HeuristicFailed, MissingField, UsageError, described, expect, expect_known, nearest
from optsched.core.instance import LARGEST, Instance
from optsched.core.placement import MICRO, microseconds
from optsched.core.processes.containing import call, in_force, value_of
from optsched.heuristics import AnyHeuristic, heuristic
from optsched.heuristics.observed import Following, observed_schedule
from optsched.heuristics.running.base import Heuristic, Policy
from optsched.heuristics.running.course import NEVER, Progress, Service
from optsched.heuristics.running.driver import Observer, attempt, watched_streams
from optsched.heuristics.running.known import posed_on
from optsched.heuristics.running.run import IN_WORDS, check_observers, check_seed, values_in_force
from optsched.heuristics.simulating.engine import Engine, Rules, Stage
from optsched.heuristics.simulating.every_round import SOLVE, EveryRound
from optsched.heuristics.simulating.services import SERVICES, Levels, Recorded, Transfer, service_named
from optsched.heuristics.simulating.simulation import Simulation
from optsched.problems.base import HOW_TO_LOAD
from optsched.problems.parameters import number
from optsched.problems.schedules import ScheduleProblem

__all__ = [
    "ASSIGN",
    "EveryRound",
    "Following",
    "Levels",
    "Progress",
    "Recorded",
    "SOLVE",
    "Service",
    "Simulation",
    "observed_schedule",
    "problem_service",
    "run_posed",
    "simulate",
]

#: A loss: a node (its id, or its index), when it is lost, and when it is back, in seconds; None: never.
Loss = tuple[str | int, float, float | None]

#: The valid values of each.
HOW = "give a node, when it is lost, and when it is back (None: never)"

#: What a heartbeat of a node may start: tasks for all its free slots, or one of each kind.
ASSIGN = ("all", "one")


def simulate(
    instance: Instance,
    policy: AnyHeuristic | tuple[AnyHeuristic, Mapping[str, Any]],
    service: Service | str | None = None,
    heartbeat: float | None = 3,
    assign: str = "all",
    slowstart: float = 0.05,
    seed: int | Sequence[int] = 0,
    until: float | None = None,
    observers: Sequence[Observer] = (),
    losses: Iterable[Loss] = (),
    *,
    progress: Callable[[float], object] | None = None,
    **parameters: Any,
) -> Simulation:
    """Run a policy over time, from the state of an instance on, until all tasks have ended.

    Jobs arrive at their `arrival`. Every node has a heartbeat every few seconds, at which its free slots are offered;
    the heartbeats of all nodes are spread evenly over the interval, in an order drawn from the seed. A service gives
    the duration of each task on its node. The policy is notified of all events.

    Reduces of a job are offered once enough of its maps have ended, and hold their slots until its last map has ended.

    Parameters
    ----------
    instance
        What waits, runs and has ended when the run begins.
    policy
        As for `optsched.heuristics.run`: a name, or a policy (class or object) of your own. A batch heuristic, and
        `solve`, decides in rounds (`EveryRound`, whose parameters it takes too). `observed` starts each task when and
        where the instance recorded its start (`Following`). A pair of it and a mapping gives parameters with the same
        names as those here, such as `("joss-t", {"policy": "B"})`.
    service
        How long tasks take: a `Service`, or `levels`, `transfer`, `rates`, `recorded` or `overload`. By default
        `Levels()`, and `Recorded()` for `observed`.
    heartbeat
        Seconds between two heartbeats of a node. 0 or None: slots are offered as soon as they are free, to all nodes in
        random order.
    assign
        `all`: a heartbeat fills all free slots of its node, one after another, until the policy declines one. This is
        what Hadoop 1 does. `one`: it starts at most one task of each kind.
    slowstart
        The share of a job's maps that must have ended before its reduces are offered (Hadoop: 0.05; `observed`: 0).
    seed
        Seed of the heartbeats and of the policy's draws. The same instance, policy and seed give the same run.
    until
        Seconds on the clock of the instance after which nothing happens any more.
    observers
        Called as in `optsched.heuristics.run`, with (time, problem, decision) after each offer.
    losses
        Nodes that are lost: for each its id (or index), when it is lost, and when it is back with its data (None:
        never), in seconds. Tasks that run there wait again, and so do its ended maps while a reduce of their job has
        not ended. While it is away nobody reads its replicas. Only with services that store nothing about running tasks
        (`levels`, `recorded`).
    progress
        Called now and then with the share of the run that is over, from 0 to 1: of its tasks that have ended, or of the
        time until it is stopped. The run is the same without it.
    **parameters
        The policy's own.

    Returns
    -------
    Simulation
        Also if tasks are left that nothing starts any more; `unfinished` says why.

    Raises
    ------
    UsageError
        For an unknown policy or parameter, or a value out of its range.
    MissingField
        If the instance lacks what policy or service need.
    HeuristicFailed
        If the policy raises, or starts what it cannot start; if the service raises, or gives an invalid answer; and if
        the run ends at a limit of `optsched.core.processes.contained`, within which it has its own process.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Ragged, Workload
    >>> workload = Workload(["t1", "t2"], replicas=Ragged.from_rows([[0], [0]]), times=[[10, 15, 15]] * 2)
    >>> run = simulate(Instance(Cluster(["a", "b"]), workload), "dl", heartbeat=0)
    >>> sorted(run.tasks["execution_time"]), run.unfinished
    ([10.0, 15.0], '')
    """
    expect(instance, Instance, "simulate takes an instance", HOW_TO_LOAD)
    check_seed(seed)
    check_observers(observers)
    if in_force() is not None:
        if observers:
            raise UsageError("observers cannot see into the process of a contained run: leave them or the limits out")
        given = (instance, policy, service, heartbeat, assign, slowstart, seed, until, (), tuple(losses))
        return _contained(given, parameters)
    present = on_the_clock(instance)
    name, driven, values = policy_of(policy, present, parameters)
    again = isinstance(driven, Following)
    rules = rules_of(heartbeat, assign, 0 if again else slowstart, until, instance.time)
    chosen = service_of((Recorded if again else Levels)() if service is None else service)
    lost = losses_of(losses, present)
    if lost and not getattr(chosen, "stateless", False):
        raise UsageError(f"losses: {type(chosen).__name__} keeps tasks that run; take levels or recorded")
    if lost and again:
        raise UsageError("losses: observed follows a trace and cannot react to a loss; simulate another policy")
    rules = replace(rules, losses=lost)
    try:
        with watched_streams() as drawn:
            engine = Engine(Stage(present), driven, chosen, rules, seed, observers, progress)
            unfinished = engine.run()
    except HeuristicFailed as failed:
        of_another = str(failed).startswith(("the service", "heuristic"))
        start = f'under policy "{name}":' if of_another else f'policy "{name}"'
        raise HeuristicFailed(*(f"{start} {line}" for line in failed.lines)) from failed.__cause__
    return replace(Simulation.of(engine, name, values, seed, unfinished), drawn=drawn())


def problem_service(problem: ScheduleProblem) -> Service:
    """The service that gives tasks the problem's times: with `service=transfer` reduces copy nothing.

    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> from optsched.problems import Makespan
    >>> problem_service(Makespan(Instance(Cluster(["a"]), Workload(["t"], duration=[2])), factors=(1, 1, 2)))
    <Service levels,factors=1:1:2>
    """
    if problem.parameters["service"] == "transfer":
        return Transfer(problem.parameters["scale"], shuffle="none")
    return Levels(problem.parameters["factors"])


def run_posed(
    problem: ScheduleProblem,
    heuristic: Heuristic,
    values: Mapping[str, Any],
    /,
    seed: int | Sequence[int] = 0,
    observers: Sequence[Observer] = (),
    heartbeat: Any = 3,
    assign: str = "all",
    **rounds: Any,
) -> Simulation:
    """Run a policy over time, with the service times and the slowstart of a problem.

    Parameters
    ----------
    problem
        The tasks to run, and their times.
    heuristic, values
        A policy, or a listed batch heuristic, with the values of its parameters.
    seed, observers, heartbeat, assign
        As in `optsched.simulate`. Observers get the problem posed on the present snapshot.
    **rounds
        For a batch heuristic: the parameters of `EveryRound`.

    Raises
    ------
    UsageError
        If the heartbeat or the way to assign is invalid.
    HeuristicFailed
        If the policy raises, or starts what it cannot start.

    Examples
    --------
    >>> from optsched.heuristics import heuristic
    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> from optsched.problems import Makespan
    >>> problem = Makespan(Instance(Cluster(["a"]), Workload(["t1", "t2"], duration=[2, 3])))
    >>> problem.evaluate(run_posed(problem, heuristic("dl"), {}, heartbeat=0).schedule)
    (5,)
    """
    clocked = on_the_clock(problem.instance)
    posed: Any = problem if clocked is problem.instance else posed_on(problem, clocked)
    rules = rules_of(heartbeat, assign, problem.parameters["slowstart"])
    if heuristic.policy is None:
        given = {name: value for name, value in values.items() if value is not None}  # None: not given
        policy: Any = EveryRound(heuristic, **rounds, **given)
        policy.check(posed.instance)
    else:
        policy = attempt(heuristic.policy, **values)
    engine = Engine(posed, policy, problem_service(problem), rules, seed, observers)
    unfinished = engine.run()
    return Simulation.of(engine, heuristic.name, values, seed, unfinished)


def _contained(arguments: tuple[Any, ...], parameters: Mapping[str, Any]) -> Simulation:
    """The run in its own process; HeuristicFailed if that ends before it answers."""
    outcome = call(_elsewhere, (arguments, parameters))
    found: Simulation | None = value_of(outcome)
    if found is None:
        name = policy_of(arguments[1], arguments[0], dict(parameters))[0]
        raise HeuristicFailed(f'policy "{name}" {IN_WORDS.get(outcome.status, "")}{outcome.message}')
    return found


def _elsewhere(asked: tuple[tuple[Any, ...], Mapping[str, Any]]) -> Simulation:
    given, parameters = asked
    return simulate(*given, **parameters)


def rules_of(
    heartbeat: float | str | None, assign: str, slowstart: float, until: float | None = None, since: float = 0
) -> Rules:
    """The rules of a run from `since` on, from `simulate`'s arguments; UsageError for invalid ones."""
    return Rules(
        heartbeat=_microseconds("heartbeat", 0 if heartbeat is None else heartbeat, 0),
        one=_choice("assign", assign, ASSIGN) == "one",
        slowstart=decimal(_number("slowstart", slowstart, 0, 1)),
        until=None if until is None else _microseconds("until", until, since),
    )


def losses_of(losses: Iterable[Loss], instance: Instance) -> tuple[tuple[int, int, int], ...]:
    """Losses as node, and microseconds of loss and return, in order of time.

    Raises
    ------
    UsageError
        For an unknown node, invalid times, and two losses of a node at once.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Workload
    >>> losses_of([("b", 5, None)], Instance(Cluster(["a", "b"]), Workload([])))
    ((1, 5000000, 1152921504606846976),)
    """
    expect(losses, Sequence, "losses: must be a list", HOW)
    found = sorted(_loss(loss, instance) for loss in losses)
    for (node, _, back), (other, lost, _) in pairwise(found):
        if node == other and lost < back:
            name = instance.cluster.node_ids[node]
            raise UsageError(f'losses: node "{name}" is lost at {lost / MICRO:g} s, and not yet back then')
    return tuple(sorted(found, key=lambda loss: (loss[1], loss[0])))


def _loss(loss: Any, instance: Instance) -> tuple[int, int, int]:
    ids = instance.cluster.node_ids.tolist()
    try:
        node, lost, back = loss
        index = instance.node_index[node] if isinstance(node, str) else range(len(ids)).index(node)
        times = round(lost * MICRO), NEVER if back is None else round(back * MICRO)
    except KeyError:
        raise UsageError(f'losses: there is no node "{loss[0]}"; {nearest(loss[0], ids)}') from None
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"losses: {loss!r}; {HOW}") from None
    if max(abs(times[0]), 0 if back is None else abs(times[1])) > LARGEST:
        raise UsageError(f"losses: {loss!r}; a time is at most 2^53 microseconds")
    if not round(instance.time * MICRO) <= times[0] < times[1]:
        raise UsageError(f"losses: {loss!r}; a node is lost once the run has begun, and comes back later")
    return index, *times


def policy_of(chosen: Any, instance: Instance, parameters: dict[str, Any]) -> tuple[str, Policy, Mapping[str, Any]]:
    """The policy that is driven over time, its name, and its parameters in force."""
    if isinstance(chosen, tuple) and len(chosen) == 2 and isinstance(chosen[1], Mapping):
        chosen, parameters = chosen[0], {**chosen[1], **parameters}
    if isinstance(chosen, EveryRound | Following):
        if parameters:
            raise UsageError(f"{chosen.name} is made already: give its parameters when it is made")
        made: EveryRound | Following = chosen
    else:
        entry = None if chosen == SOLVE else heuristic(chosen)
        if entry is not None and entry.policy is not None:
            values = values_in_force(entry, parameters)
            if faults := entry.faults(Stage(instance)):  # type: ignore[arg-type]  # has what is asked of a problem
                raise MissingField(faults, f"{instance.name}: {entry.name}" if instance.name else entry.name)
            policy: Policy = attempt(entry.policy, **values)
            return entry.name, policy, values
        if entry is not None and entry.name == Following.name:
            values_in_force(entry, parameters)
            made = Following(instance, observed_schedule(instance))
        else:
            made = EveryRound(SOLVE if entry is None else entry, **parameters)
    if isinstance(made, EveryRound):
        made.check(instance)
    return made.name, made, parameters


def service_of(chosen: Any) -> Service:
    """The chosen service; UsageError if it lacks a method of a service."""
    if isinstance(chosen, str):
        return service_named(_choice("service", chosen, tuple(SERVICES)))()
    name = chosen.__name__ if isinstance(chosen, type) else type(chosen).__name__
    if not callable(getattr(chosen, "started", None)):
        raise UsageError(f"service: give one of {', '.join(SERVICES)}, or a Service, not {described(chosen)}")
    if isabstract(chosen):
        raise UsageError(f"service: {name} does not say when a task ends; define `started`")
    needed = (member for member in vars(Service) if not member.startswith("_") and member not in ("label", "told"))
    if lacks := [member for member in needed if not hasattr(chosen, member)]:
        raise UsageError(
            f"service: {name} has no {', '.join(lacks)}; derive it from optsched.heuristics.simulating.Service"
        )
    service: Service = chosen() if isinstance(chosen, type) else chosen
    return service


def _choice(name: str, value: Any, known: Sequence[str]) -> str:
    expect_known(value, known, f"{name}={value!r}")
    return str(value)


def _number(name: str, value: Any, lowest: float, highest: float | None = None) -> Any:
    try:
        return number(lowest=lowest, highest=highest)(value)
    except ValueError as error:
        raise UsageError(f"{name}={value!r}: {error}") from None


def _microseconds(name: str, value: Any, lowest: float) -> int:
    units = round(decimal(_number(name, value, lowest)) * MICRO)
    if not units and _number(name, value, lowest):
        raise UsageError(f"{name}={value!r}: give 0.000001 or more seconds")
    return units


def on_the_clock(instance: Instance) -> Instance:
    """The instance with its time and its arrivals at whole microseconds."""
    arrival = instance.workload.arrival
    given = ~np.isnan(arrival)
    rounded = arrival.copy()
    rounded[given] = microseconds(arrival[given]) / MICRO
    time = int(microseconds(instance.time)) / MICRO
    if np.array_equal(rounded, arrival, equal_nan=True) and time == instance.time:
        return instance
    return replace(
        instance,
        workload=replace(instance.workload, arrival=rounded),
        state=replace(instance.state, time=time),
    )
