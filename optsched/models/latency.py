"""Models of `latency`: all tasks to loaded servers, least makespan, or work within a limit (Agosta et al., section 3).

The compact model of `build_pyomo` keeps pairs only of a task and a server with its replica. Remote tasks are
anonymous: a server takes a number of them, whichever they are; should one land on a replica, its work only drops.
For given whole numbers of remote tasks the rest is a transportation problem, so `local` and `remote` are continuous
(proof: Agosta et al., note 4).

=================== ========================================================================================
component           what it is
=================== ========================================================================================
TASKS, SERVERS      tasks; servers with room for one within the limit (without one: within an upper bound on it)
PAIRS               (task, server of `SERVERS` with its replica)
initial_load        phi_s
limit               the limit on the makespan (only with a fixed limit)
local[t,s]          1 if the task runs on this server, which has its replica; continuous in [0, 1]
remote[t]           1 if the task runs remotely; continuous in [0, 1]
remote_count[s]     remote tasks that the server takes; integer
local_count[s]      local tasks that it takes; integer, and there only where `local` would not be whole without it
makespan            the latency L; integer (only without a limit)
used[s]             1 if the server gets work; binary, for servers that are loaded above the lower bound l** (only
                    without a limit)
every_task[t]       every task runs locally or remotely
remote_balance      the servers take as many remote tasks as there are
local_on[s]         expression: local tasks of the server
remote_on[s]        expression: remote tasks of the server
local_tasks[s]      the server's tasks of `local` are at most local_count[s]
server[s]           the server ends within limit or makespan (with a limit: divided by w_loc where that divides w_rem)
used_local[s]       only a used server takes local tasks
used_remote[s]      only a used server takes remote tasks
work                expression: units of work of all tasks
objective           with a limit: least work; without: least makespan
=================== ========================================================================================

With `per_pair` there are no `local`, `remote` and counts: `place[t,s]` is 1 if the task runs on the server. Without a
limit the makespan may then be as high as with all tasks on one server.

A server that is loaded beyond the limit must not raise the limit. So it is left out where the limit is fixed, and
needs a binary where it is not. Prefer a sequence of fixed limits.

The literal model of `build_pulp` has Agosta et al.'s dense binary `place.t.s` for all pairs, with the same caution:
`used.s` for servers with an initial load. Constraints `task.t`, `server.s`, `used.s`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pulp
import pyomo.environ as pyo

from optsched.core.instance import Ints
from optsched.core.placement import NONE, Placement
from optsched.models.base import (
    MAX_VARIABLES,
    ModelSize,
    decode_binaries,
    decoder,
    grouped,
    ids,
    is_whole,
    linear,
    model_of,
    of_problem,
    refuse_too_large,
    value_of,
    whole,
    whole_limit,
)
from optsched.models.own_rows import is_per_pair
from optsched.models.starts import Entries, binaries, host_of, started_binaries, starter
from optsched.problems.latency import Latency
from optsched.solvers.algebraic import injective_names
from optsched.solvers.networks import maximum_b_matching

__all__ = ["build_pulp", "build_pyomo", "compact_size", "decode", "literal_size", "start_values"]

#: What its limit counts.
_UNIT = "units of work"


@model_of(Latency)
def build_pyomo(problem: Latency, limit: int | None = None, *, per_pair: bool = False) -> Any:
    """Build the compact model, mixed-integer linear (parameters as in `ModelModule.build_pyomo`).

    With a `limit`, it finds the least work among placements whose makespan is at most that, and is infeasible where
    there is none; without, the least makespan, whatever the work. A limit that is no whole number, 0 or more, is a
    UsageError.

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
    if limit is None:
        return _least_makespan(problem, per_pair)
    limit = whole_limit(limit, _UNIT)
    divides = problem.w_rem % problem.w_loc == 0
    model = _without_rows(problem, limit, counted=not divides, per_pair=per_pair)
    model.limit = pyo.Param(initialize=limit)
    scale = problem.w_loc if divides else 1

    def server(model: Any, name: str) -> Any:
        added = problem.w_loc // scale * model.local_on[name] + problem.w_rem // scale * model.remote_on[name]
        return added <= (limit - model.initial_load[name]) // scale

    model.server = pyo.Constraint(model.SERVERS, rule=server)
    model.objective = pyo.Objective(expr=model.work)
    return model


def _least_makespan(problem: Latency, per_pair: bool) -> Any:
    """The compact model whose limit is a variable, from l** to what suffices when all tasks are remote.

    Per pair it may be as high as with all tasks on one server: a constraint of the user's may ask for that.
    """
    lower = problem.counting_bound()
    upper = problem.least_limit(lambda limit: problem.fits(limit, len(problem.tasks)))
    if per_pair:
        upper = int(problem.initial_load.max(initial=0)) + problem.w_rem * len(problem.tasks)
    model = _without_rows(problem, upper, counted=problem.w_loc > 1, per_pair=per_pair)
    model.makespan = pyo.Var(within=pyo.NonNegativeIntegers, bounds=(lower, upper))
    loaded = {name: upper - model.initial_load[name] for name in model.SERVERS if model.initial_load[name] > lower}
    model.used = pyo.Var(list(loaded), within=pyo.Binary)

    def server(model: Any, name: str) -> Any:
        load = model.initial_load[name] * (model.used[name] if name in loaded else 1)
        return load + problem.w_loc * model.local_on[name] + problem.w_rem * model.remote_on[name] <= model.makespan

    def used_local(model: Any, name: str) -> Any:
        return model.local_on[name] <= loaded[name] // problem.w_loc * model.used[name]

    def used_remote(model: Any, name: str) -> Any:
        return model.remote_on[name] <= loaded[name] // problem.w_rem * model.used[name]

    model.server = pyo.Constraint(model.SERVERS, rule=server)
    model.used_local = pyo.Constraint(list(loaded), rule=used_local)
    model.used_remote = pyo.Constraint(list(loaded), rule=used_remote)
    model.objective = pyo.Objective(expr=model.makespan)
    return model


def _without_rows(problem: Latency, limit: int, counted: bool, per_pair: bool) -> Any:
    """All but the rows of the servers and the objective; `counted` adds whole numbers of local tasks."""
    model = pyo.ConcreteModel("latency")
    if per_pair:
        _add_places(model, problem, limit)
        return model
    _add_variables(model, problem, problem.room(limit), counted)
    of_task, of_server, remote = grouped(model.PAIRS, 0), grouped(model.PAIRS, 1), set(model.remote_count)

    def local_tasks(model: Any, name: str) -> Any:
        return pyo.quicksum(model.local[pair] for pair in of_server[name]) <= model.local_count[name]

    def local_on(model: Any, name: str) -> Any:
        if counted and name in of_server:
            return model.local_count[name]
        return pyo.quicksum(model.local[pair] for pair in of_server.get(name, []))

    def remote_on(model: Any, name: str) -> Any:
        return model.remote_count[name] if name in remote else 0

    def every_task(model: Any, task: str) -> Any:
        return pyo.quicksum(model.local[pair] for pair in of_task.get(task, [])) + model.remote[task] == 1

    def remote_balance(model: Any) -> Any:
        if not len(model.TASKS):
            return pyo.Constraint.Feasible
        return pyo.quicksum(model.remote.values()) == pyo.quicksum(model.remote_count.values())

    if counted:
        model.local_tasks = pyo.Constraint(list(of_server), rule=local_tasks)
    model.local_on = pyo.Expression(model.SERVERS, rule=local_on)
    model.remote_on = pyo.Expression(model.SERVERS, rule=remote_on)
    model.every_task = pyo.Constraint(model.TASKS, rule=every_task)
    model.remote_balance = pyo.Constraint(rule=remote_balance)
    more = (problem.w_rem - problem.w_loc) * pyo.quicksum(model.remote.values())
    model.work = pyo.Expression(expr=problem.w_loc * len(model.TASKS) + more)
    return model


def _add_places(model: Any, problem: Latency, limit: int) -> None:
    """Add each task on each server, and what the rows of the servers are made of."""
    tasks, nodes = ids(problem)
    holders = {(task, nodes[server]) for task, row in zip(tasks, problem.replicas, strict=True) for server in row}
    left = dict(zip(nodes, problem.room(limit).tolist(), strict=True))
    loads = dict(zip(nodes, problem.initial_load.tolist(), strict=True))
    servers = [name for name in nodes if loads[name] <= limit]  # the others take no task, and have no row
    model.TASKS = pyo.Set(initialize=tasks)
    model.SERVERS = pyo.Set(initialize=servers)
    model.initial_load = pyo.Param(model.SERVERS, initialize={name: loads[name] for name in servers})

    def most(model: Any, *pair: str) -> tuple[int, int]:
        return 0, int(left[pair[1]] >= (problem.w_loc if pair in holders else problem.w_rem))

    model.place = pyo.Var(tasks, nodes, within=pyo.Binary, bounds=most)

    def tasks_on(local: bool) -> Any:
        def total(model: Any, name: str) -> Any:
            return pyo.quicksum(model.place[task, name] for task in tasks if ((task, name) in holders) is local)

        return pyo.Expression(model.SERVERS, rule=total)

    def every_task(model: Any, task: str) -> Any:
        return pyo.quicksum(model.place[task, name] for name in nodes) == 1

    model.local_on, model.remote_on = tasks_on(True), tasks_on(False)
    model.every_task = pyo.Constraint(model.TASKS, rule=every_task)
    more = (problem.w_rem - problem.w_loc) * pyo.quicksum(model.remote_on.values())
    model.work = pyo.Expression(expr=problem.w_loc * len(tasks) + more)


def _add_variables(model: Any, problem: Latency, room: Ints, counted: bool) -> None:
    """Add the servers with room for a task, the pairs of a task and one with its replica, and who runs where."""
    tasks, nodes = ids(problem)
    fits, w_rem = room >= problem.w_loc, problem.w_rem
    left = {nodes[server]: int(room[server]) for server in np.flatnonzero(fits).tolist()}
    pairs = [
        (task, nodes[server])
        for task, row in zip(tasks, problem.replicas, strict=True)
        for server in row[fits[row]].tolist()
    ]
    of_server = grouped(pairs, 1)
    servers = [name for name, units in left.items() if units >= w_rem or name in of_server]
    loads = dict(zip(nodes, problem.initial_load.tolist(), strict=True))
    model.TASKS = pyo.Set(initialize=tasks)
    model.SERVERS = pyo.Set(initialize=servers)
    model.PAIRS = pyo.Set(dimen=2, initialize=pairs)
    model.initial_load = pyo.Param(model.SERVERS, initialize={name: loads[name] for name in servers})
    model.local = pyo.Var(model.PAIRS, bounds=(0, 1))
    model.remote = pyo.Var(model.TASKS, bounds=(0, 1))
    counts = [("remote_count", [name for name in servers if left[name] >= w_rem], w_rem)]
    counts += [("local_count", list(of_server), problem.w_loc)] * counted
    for word, names, units in counts:
        most = {name: (0, left[name] // units) for name in names}
        variable = pyo.Var(names, within=pyo.NonNegativeIntegers, bounds=lambda model, name, most=most: most[name])
        model.add_component(word, variable)


@of_problem(Latency)
def compact_size(problem: Latency, limit: int | None = None) -> ModelSize:
    """What `build_pyomo` would take, or less: variables for tasks, their replicas, and servers with room."""
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
    """What `build_pulp` would take: a variable for each task and server."""
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


def _decode_compact(model: Any, problem: Latency) -> Placement:
    """The placement of a solved compact model. Where `local` is not whole, tasks are matched to servers anew.

    `local` need only be whole at a vertex. The matching keeps the model's numbers of remote tasks, so that work and
    makespan are at most the model's.
    """
    if is_per_pair(model):
        return decode_binaries(model, problem)
    row_of = problem.instance.node_index
    position = {task: row for row, task in enumerate(ids(problem)[0])}
    remote = np.zeros(len(row_of), dtype=np.int64)
    for server, variable in model.remote_count.items():
        remote[row_of[server]] = whole(variable)
    nodes = np.full(len(position), NONE, dtype=np.int64)
    if all(is_whole(value_of(variable)) for variable in model.local.values()):
        for (task, server), variable in model.local.items():
            if whole(variable):
                nodes[position[task]] = row_of[server]
    else:
        nodes = _matched(model, problem, remote)
    left = np.flatnonzero(nodes == NONE)
    nodes[left] = np.repeat(np.arange(len(remote)), remote)[: len(left)]
    return problem.placement(nodes)


def _tasks_on(problem: Latency, placement: Placement) -> list[dict[str, int]]:
    """Local and remote tasks of each server."""
    servers = problem.instance.cluster.node_ids.tolist()
    return [dict(zip(servers, counts.tolist(), strict=True)) for counts in problem.counts(placement)]


def _started_makespan(model: Any, problem: Latency, placement: Placement) -> Entries:
    """The makespan, where every task is placed, and which loaded servers get work."""
    local, remote = _tasks_on(problem, placement)
    if placement.placed == len(problem.tasks):
        yield model.makespan, int(problem.objective(placement)[0])
    yield from ((variable, int(local[name] + remote[name] > 0)) for name, variable in model.used.items())


def _started_compact(model: Any, problem: Latency, placement: Placement) -> Entries:
    """Each task on its server, and whole numbers of tasks of each server."""
    local, remote = _tasks_on(problem, placement)
    if is_per_pair(model):
        yield from started_binaries(model, problem, placement)
    else:
        host = host_of(problem, placement)
        yield from binaries(model.local, host)
        yield from (
            (variable, int(task in host and (task, host[task]) not in model.PAIRS))
            for task, variable in model.remote.items()
        )
        yield from ((variable, remote[name]) for name, variable in model.remote_count.items())
    if model.component("local_count") is not None:
        yield from ((variable, local[name]) for name, variable in model.local_count.items())
    if model.component("makespan") is not None:
        yield from _started_makespan(model, problem, placement)


def _started_literal(model: Any, problem: Latency, placement: Placement) -> Entries:
    yield from started_binaries(model, problem, placement)
    if hasattr(model, "makespan"):
        yield from _started_makespan(model, problem, placement)


def _matched(model: Any, problem: Latency, remote: np.ndarray) -> np.ndarray:
    """As many tasks as possible on servers with their replicas, beside `remote` tasks of each server."""
    limit = whole(model.makespan) if model.component("makespan") is not None else int(pyo.value(model.limit))
    open_to = np.isin(problem.instance.cluster.node_ids, list(model.SERVERS))
    room = np.where(open_to, problem.room(limit) - problem.w_rem * remote, 0)
    replicas = problem.replicas
    return maximum_b_matching(replicas.starts, replicas.values, room // problem.w_loc, len(remote)).node


decode = decoder(Latency, compact=_decode_compact, literal=decode_binaries, started=_started_compact)
start_values = starter(Latency, compact=_started_compact, literal=_started_literal)
