"""Models of `latency`: all tasks to loaded servers, least makespan, or work within a limit (Agosta et al., section 3).

The compact model of `build_pyomo` is the program of the problem (`Latency.program`). It has only pairs of a task and a
server with its replica. Remote tasks are anonymous: a server takes a number of them. If one of them lands on a server
with its replica, its work only decreases. All variables are whole.

=================== ========================================================================================
component           what it is
=================== ========================================================================================
TASKS, SERVERS      tasks; servers with room for one within the limit (without one: within an upper bound on it)
PAIRS               (task, server of `SERVERS` with its replica)
HOLDERS, LOADED     servers of `local_count`, and of `used`
initial_load        phi_s
limit               the limit on the makespan (only with a fixed limit)
local[t,s]          1 if the task runs on this server, which has its replica
remote[t]           1 if the task runs remotely
remote_count[s]     remote tasks that the server takes
local_count[s]      local tasks that it takes; only if a limit does not leave room for a whole number of them
makespan            the latency L (only without a limit)
used[s]             1 if the server gets work; for servers loaded above the lower bound l** (only without a limit)
every_task[t]       every task runs locally or remotely
remote_balance      the servers take as many remote tasks as there are
local_on[s]         expression: local tasks of the server
remote_on[s]        expression: remote tasks of the server
local_tasks[s]      the server's tasks of `local` are at most local_count[s]
server[s]           the server ends within limit or makespan (with a limit: divided by w_loc where that divides w_rem;
                    from a `w_rem` of 10,000 on several rows server[s,number] on numbers of tasks)
used_local[s]       only a used server takes local tasks
used_remote[s]      only a used server takes remote tasks
work                expression: units of work of all tasks
objective           with a limit: least work; without: least makespan
=================== ========================================================================================

With `per_pair` there are no `local`, `remote` and counts: `place[t,s]` is 1 if the task runs on the server. Without a
limit the makespan may then be as high as with all tasks on one server.

A server that is loaded beyond the limit must not raise the limit. So with a fixed limit it is left out; otherwise it
needs a binary. Prefer a sequence of fixed limits.

The literal model of `build_pulp` has Agosta et al.'s dense binary `place.t.s` for all pairs, and the same binaries:
`used.s` for servers with an initial load. Constraints `task.t`, `server.s`, `used.s`.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pulp
import pyomo.environ as pyo

from optsched.core.placement import Placement
from optsched.models.base import (
    MAX_VARIABLES,
    Entries,
    ModelSize,
    Way,
    decode_binaries,
    host_of,
    ids,
    linear,
    model_of,
    of_problem,
    refuse_too_large,
    said_by,
    started_binaries,
    whole_limit,
)
from optsched.models.programs import PROGRAM, whole_pyomo
from optsched.problems.latency import Latency
from optsched.solvers.algebraic import injective_names

__all__ = ["build_pulp", "build_pyomo", "compact_size", "decode", "literal_size", "start_values"]

#: The unit of its limit.
_UNIT = "units of work"


@model_of(Latency)
def build_pyomo(problem: Latency, limit: int | None = None, *, per_pair: bool = False) -> Any:
    """Build the compact model, mixed-integer linear (parameters as in `ModelModule.build_pyomo`).

    With a `limit`, it finds the least work among placements whose makespan is at most that; it is infeasible if there
    are none. Without, it finds the least makespan with any work. UsageError if the limit is no whole number, 0 or more.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Ragged, Workload
    >>> from optsched.solvers.algebraic import solve_pyomo
    >>> from optsched.solvers.profiles import load_profile
    >>> workload = Workload(["t1", "t2", "t3"], replicas=Ragged.from_rows([[0], [0], [0, 1]]))
    >>> problem = Latency(Instance(Cluster(["s1", "s2"]), workload))
    >>> model = build_pyomo(problem, limit=2)
    >>> solve_pyomo(model, load_profile("exact")).objective
    3.0
    >>> decode(model, problem).nodes.tolist()
    [0, 0, 1]
    """
    before = () if limit is None else (whole_limit(limit, _UNIT),)
    posed = problem.apart() if per_pair else problem
    model = whole_pyomo(posed.program(before), problem.name, before)
    if before:
        model.limit = pyo.Param(initialize=before[0], doc="the latency that is allowed")
    _add_expressions(model, problem, per_pair)
    return model


def _add_expressions(model: Any, problem: Latency, per_pair: bool) -> None:
    """Add the load of each server, its local and its remote tasks, and the total work."""
    tasks, nodes = ids(problem)
    on: dict[tuple[bool, str], list[Any]] = defaultdict(list)
    if per_pair:
        holders = {(task, nodes[server]) for task, row in zip(tasks, problem.replicas, strict=True) for server in row}
        for pair, variable in model.place.items():
            on[pair in holders, pair[1]].append(variable)
    else:
        counted = model.component("local_count")
        for key, variable in (model.local if counted is None else counted).items():
            on[True, key[1] if counted is None else key].append(variable)
        for name, variable in model.remote_count.items():
            on[False, name].append(variable)
    if model.component("SERVERS") is None:
        model.SERVERS = pyo.Set(
            initialize=[name for name in nodes if on[True, name] or on[False, name]], doc="servers that may run tasks"
        )
    loads = dict(zip(nodes, problem.initial_load.tolist(), strict=True))
    model.initial_load = pyo.Param(
        model.SERVERS, initialize={name: loads[name] for name in model.SERVERS}, doc="load before"
    )
    model.local_on = pyo.Expression(
        model.SERVERS, rule=lambda model, name: pyo.quicksum(on[True, name]), doc="its local tasks"
    )
    model.remote_on = pyo.Expression(
        model.SERVERS, rule=lambda model, name: pyo.quicksum(on[False, name]), doc="its remote tasks"
    )
    more = (problem.w_rem - problem.w_loc) * pyo.quicksum(model.remote_on.values())
    model.work = pyo.Expression(expr=problem.w_loc * len(tasks) + more, doc="all units of work")


@of_problem(Latency)
def compact_size(problem: Latency, limit: int | None = None) -> ModelSize:
    """An upper limit on the size of `build_pyomo`'s model: variables for tasks, replicas, and servers with room."""
    most = limit if limit is not None else problem.least_limit(lambda limit: problem.fits(limit, len(problem.tasks)))
    room, tasks = problem.room(whole_limit(most, _UNIT)), len(problem.tasks)
    servers = int(np.count_nonzero(room >= problem.w_loc))
    pairs = int(np.count_nonzero(room[problem.replicas.values] >= problem.w_loc))
    used = 0 if limit is not None else servers
    return ModelSize(
        pairs + tasks + 2 * servers + used + int(limit is None),
        tasks + 1 + 2 * servers + 2 * used,
        3 * pairs + 3 * tasks + 4 * servers + (pairs + 5 * servers if used else 0) + 1,
    )


@of_problem(Latency)
def literal_size(problem: Latency, limit: int | None = None) -> ModelSize:
    """The size of `build_pulp`'s model: a variable for each task and server."""
    tasks, loads = len(problem.tasks), problem.initial_load
    if limit is not None:
        servers = int(np.count_nonzero(problem.room(whole_limit(limit, _UNIT))))
        return ModelSize(tasks * servers, tasks + servers, 3 * tasks * servers)
    loaded = int(np.count_nonzero(loads))
    return ModelSize(
        tasks * len(loads) + loaded + 1,
        tasks + len(loads) + loaded,
        tasks * (2 * len(loads) + loaded) + len(loads) + 2 * loaded + 1,
    )


@model_of(Latency)
def build_pulp(problem: Latency, limit: int | None = None, *, max_variables: int = MAX_VARIABLES) -> Any:
    """Build Agosta et al.'s own program: a binary for each task and server.

    With a `limit`, it finds the least work within that on servers that are not loaded beyond it; without, the least
    makespan.

    Its attribute `place` is a dict from (task id, server id) to the variable; without a limit, `used` is one from
    server id, and `makespan` the variable.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Ragged, Workload
    >>> workload = Workload(["t"], replicas=Ragged.from_rows([[0]]))
    >>> build_pulp(Latency(Instance(Cluster(["s1", "s2"]), workload)), limit=3).objective
    1*place.t.s1 + 3*place.t.s2 + 0.0
    """
    refuse_too_large(problem, literal_size(problem, limit), max_variables, 'route="search" or build_pyomo with a limit')
    tasks, servers = ids(problem)
    task_names, server_names = injective_names(tasks), injective_names(servers)
    loads = problem.initial_load.tolist()
    open_to = range(len(servers)) if limit is None else np.flatnonzero(problem.room(whole_limit(limit, _UNIT))).tolist()

    model = pulp.LpProblem("latency", pulp.LpMinimize)
    place = [
        {server: model.add_variable(f"place.{name}.{server_names[server]}", cat=pulp.LpBinary) for server in open_to}
        for name in task_names
    ]
    model.place = {
        (task, servers[server]): variable
        for task, row in zip(tasks, place, strict=True)
        for server, variable in row.items()
    }
    work: dict[int, list[tuple[Any, int]]] = {server: [] for server in open_to}
    for row, replicas in zip(place, problem.replicas, strict=True):
        holders = set(replicas.tolist())
        for server, variable in row.items():
            work[server].append((variable, problem.w_loc if server in holders else problem.w_rem))
    if limit is not None:
        model.setObjective(linear([term for terms in work.values() for term in terms]))
    else:
        model.makespan = model.add_variable("makespan", 0, cat=pulp.LpInteger)
        model.used = {
            servers[server]: model.add_variable(f"used.{server_names[server]}", cat=pulp.LpBinary)
            for server in open_to
            if loads[server]
        }
        model.setObjective(1 * model.makespan)
    for name, row in zip(task_names, place, strict=True):
        model.addConstraint(pulp.lpSum(row.values()) == 1, f"task.{name}")
    for server, terms in work.items():
        name, added = server_names[server], linear(terms)
        if limit is not None:
            model.addConstraint(added <= limit - loads[server], f"server.{name}")
            continue
        used = model.used.get(servers[server])
        if used is None:
            model.addConstraint(added - model.makespan <= 0, f"server.{name}")
        else:
            model.addConstraint(added - model.makespan + loads[server] * used <= 0, f"server.{name}")
            model.addConstraint(pulp.lpSum(variable for variable, _ in terms) <= len(tasks) * used, f"used.{name}")
    return model


def _started_literal(model: Any, problem: Latency, placement: Placement) -> Entries:
    yield from started_binaries(model, problem, placement)
    if not hasattr(model, "makespan"):
        return
    if placement.placed == len(problem.tasks):
        yield model.makespan, int(problem.objective(placement)[0])
    used = set(host_of(problem, placement).values())
    yield from ((variable, int(name in used)) for name, variable in model.used.items())


decode, start_values = said_by(Latency, PROGRAM, Way(decode_binaries, _started_literal))
