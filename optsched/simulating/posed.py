"""Policies over time in a problem that decides when tasks run: what the problem says holds in the run, too.

Batch heuristics decide in rounds there, each on a snapshot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from optsched.problems.schedules import ScheduleProblem
from optsched.running.answers import attempt
from optsched.running.base import Heuristic
from optsched.running.course import Service
from optsched.running.driver import Observer
from optsched.running.known import posed_on
from optsched.simulating import on_the_clock, rules_of
from optsched.simulating.engine import Engine
from optsched.simulating.every_round import EveryRound
from optsched.simulating.services import Levels
from optsched.simulating.simulation import Simulation
from optsched.simulating.transfer import Transfer

__all__ = ["run_posed", "service_of"]


def service_of(problem: ScheduleProblem) -> Service:
    """The service by which tasks take what a problem says: with `service=transfer` reduces copy nothing.

    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> from optsched.problems import Makespan
    >>> service_of(Makespan(Instance(Cluster(["a"]), Workload(["t"], duration=[2])), factors=(1, 1, 2)))
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
        What is to run, and how long it takes.
    heuristic, values
        A policy, or a batch heuristic of the list, with the values of its parameters.
    seed, observers, heartbeat, assign
        As in `optsched.simulate`. Observers get the problem posed on the present snapshot.
    **rounds
        Of a batch heuristic: what `EveryRound` takes.

    Raises
    ------
    UsageError
        For a heartbeat or a way to assign that there is not.
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
    engine = Engine(posed, policy, service_of(problem), rules, seed, observers)
    unfinished = engine.run()
    return Simulation.of(engine, heuristic.name, values, seed, unfinished)
