"""Models of `utility`: tasks on trackers within their resources, the lowest utility highest (Sharmilarani et al., RAS).

Each model has two forms. Without a limit it maximises the lowest utility, whatever the utilisation. With a limit it
maximises the utilisation among the counts that give every job at least that utility. Utilities are as they are; the
utilisation is in units of 2^-20, so that no tolerance of a solver is as large as a difference.

The compact model of `build_pyomo` does not tell equal nodes apart: they are one host, which takes patterns (how many
tasks of each job and kind one node holds), as far as these can be listed; a host of one node needs none.

=================== ========================================================================================
component           what it is
=================== ========================================================================================
JOBS, ITEMS         jobs; (job, "map" or "reduce") with pending tasks that are to be placed
HOSTS, RESOURCES    nodes that nothing tells apart, each by the id of its first; resources that are demanded
PATTERNS            (host, number) of a host with several nodes: its maximal patterns
FITTING             (job, kind, host) where a task fits
members[h]          ids of the nodes that the host is
demand[j,k,r]       Gamma, in the largest unit of which all demands of the resource are multiples
room[h,r]           what a node of the host has free of the resource, in the same unit, rounded down
holds[h,p,j,k]      tasks of the item in the pattern
pending[j,k]        how many tasks of the item there are
share[j,k,h]        utilisation that one task adds there, in units of 2^-20
fixed_use           with a limit: the utilisation of reduces that are fixed, in the same units
place[j,k,h]        whole: tasks of the item on nodes of the host
take[h,p]           whole: nodes of the host with the pattern
capacity[h,r]       (10), on a host of one node
nodes[h]            no more patterns than nodes
within[j,k,h]       no more tasks of the item than its patterns hold
objective           most utilisation, or the highest lowest utility
------------------- ----------------------------------------------------------------------------------------
NEEDS               with a limit: (job, number), the counts that are enough for the job, neither of which can be less
need[j,i,k]         with a limit: tasks of the kind in these counts
choose[j,i]         with a limit, binary: the job gets at least these
one_need[j]         with a limit: it gets one of them
needed[j,k]         with a limit: tasks placed are no fewer
supply[j,k]         with a limit: tasks placed are no more than are pending
------------------- ----------------------------------------------------------------------------------------
STEPS               without: (job, kind, n) for each n up to what is pending
gain[j,k,n]         without: what the n-th task is worth
base[j]             without: worth of no task; -1 where that is minus infinity
lowest              without: the lowest utility
step[j,k,n]         without, binary: at least n tasks of the item are placed
served              without, binary: no job is at minus infinity
ordered[j,k,n]      without: step by step
allocated[j,k]      without: tasks placed are the steps
least[j]            without: (6), (7), (8): the lowest utility is no more than the job's
starved[j,k]        without: with no task of an item for which that is minus infinity, not all are served
penalised           without: then the lowest utility is -penalty
=================== ========================================================================================

With `per_pair` each node is a host of its own, `place[t,n]` is 1 if the task runs on the node, and the counts of tasks
are sums of these:

=================== ========================================================================================
count[j,k,n]        expression: tasks of the item on the node
once[t]             a task runs on one node at most
held[j,k,n]         fixed reduces are as many as they are to be
=================== ========================================================================================

The literal model of `build_pulp` is the tabulated program of Sharmilarani et al.'s (6) to (10): whole `maps.j.t` and
`reduces.j.t` for each job and tracker (P^M, P^R), a binary `worth_maps.j.n` and `worth_reduces.j.n` for each count (one
of them, by `table_maps.j`, `table_reduces.j`, and that of the tasks placed, by `count_maps.j`, `count_reduces.j`),
`lowest`, `served`; rows `utility.j`, `capacity.r.t`, `starved.kind.j`, `penalised`. Fixed reduces are fixed by their
bounds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pulp
import pyomo.environ as pyo

from optsched.decimals import decimal
from optsched.errors import UsageError
from optsched.instance import KINDS, MAP, REDUCE, Ints
from optsched.models.base import (
    MAX_VARIABLES,
    ModelSize,
    at_most,
    by_ids,
    decode_binaries,
    decoder,
    grouped,
    model_of,
    of_problem,
    priced,
    refuse_too_large,
    whole,
)
from optsched.models.own_rows import is_per_pair
from optsched.models.starts import Entries, started_binaries, starter
from optsched.placement import Placement
from optsched.problems.base import GRID
from optsched.problems.utility import LEAST_FINITE, Allocation, Utility
from optsched.results import Number
from optsched.searches.utility_patterns import Items, Needs, all_patterns, deal
from optsched.solvers.algebraic import injective_names

__all__ = ["build_pulp", "build_pyomo", "compact_size", "decode", "literal_size", "start_values"]

#: Units of the first program's objective, and of the second's, that are one of the component's.
OBJECTIVE_UNITS = (1, GRID)

#: Equal nodes become one host where it has up to this many patterns.
MOST_PATTERNS = 1_000


def _shared(model: Any, word: str, index: tuple[Any, ...]) -> Sequence[str]:
    """The nodes of the host that a variable is indexed by."""
    at = {"place": 2, "take": 0}.get(word)
    return () if at is None else tuple(model.members[index[at]])


@model_of(Utility, shared=_shared)
def build_pyomo(problem: Utility, limit: Number | float | None = None, *, per_pair: bool = False) -> Any:
    """Build the compact model, with whole variables (parameters as in `ModelModule.build_pyomo`).

    With a `limit`, it finds the most utilisation among placements whose lowest utility is at least that, and is
    infeasible where there is none; without, the highest lowest utility, whatever the utilisation. It is a UsageError if
    the limit cannot be reached even with every task placed.

    Examples
    --------
    >>> from optsched.instance import Cluster, Instance, Workload
    >>> from optsched.solvers.algebraic import solve_pyomo
    >>> from optsched.solvers.profiles import load_profile
    >>> cluster = Cluster(["t1", "t2"], capacity={"cpu": [3.0, 3.0]})
    >>> workload = Workload(["m1", "m2", "m3"], job=[0, 0, 1], job_ids=["a", "b"], demand={"cpu": [2.0, 2.0, 1.0]})
    >>> problem = Utility(Instance(cluster, workload))
    >>> model = build_pyomo(problem)
    >>> solve_pyomo(model, load_profile("exact")).objective, decode(model, problem).nodes.tolist()
    (1.0, [0, 1, 0])
    """
    model = pyo.ConcreteModel(problem.name)
    _add_data(model, problem, per_pair)
    _add_places(model, problem, per_pair)
    if limit is None:
        _maximise_lowest(model, problem)
    else:
        _maximise_utilisation(model, problem, _units(problem, limit))
    return model


def _add_data(model: Any, problem: Utility, per_pair: bool) -> None:
    """Add the sets, what tasks demand, what nodes have free, and what patterns hold."""
    items, resources = Items.of(problem), problem.resources
    demand, room = (items.demand // problem.unit).tolist(), (problem.type_room // problem.unit).tolist()
    jobs = problem.instance.workload.job_ids[problem.jobs].tolist()
    every = [(job, KINDS[kind], kind * len(jobs) + row) for kind in problem.kinds for row, job in enumerate(jobs)]
    row_of = {(job, kind): row for job, kind, row in every if items.limit[row]}
    hosts, node_ids = _hosts(problem, items, not per_pair), problem.instance.cluster.node_ids.tolist()
    type_of = {host: int(problem.node_type[members[0]]) for host, (members, _) in hosts.items()}
    patterns = {(host, number): row for host, (_, rows) in hosts.items() for number, row in enumerate(rows.tolist())}
    fits = np.all(items.demand[:, None, :] <= problem.type_room, axis=2).tolist()

    model.JOBS = pyo.Set(initialize=jobs)
    model.ITEMS = pyo.Set(initialize=list(row_of), dimen=2)
    model.RESOURCES = pyo.Set(initialize=resources)
    model.HOSTS = pyo.Set(initialize=list(hosts))
    model.PATTERNS = pyo.Set(initialize=list(patterns), dimen=2)
    fitting = [(*key, host) for key, row in row_of.items() for host in hosts if fits[row][type_of[host]]]
    model.FITTING = pyo.Set(initialize=fitting, dimen=3)
    members = {host: tuple(node_ids[node] for node in nodes) for host, (nodes, _) in hosts.items()}
    model.members = pyo.Param(model.HOSTS, initialize=members, within=pyo.Any)
    demands = {(*key, r): demand[row][position] for key, row in row_of.items() for position, r in enumerate(resources)}
    model.demand = pyo.Param(model.ITEMS, model.RESOURCES, initialize=demands)
    rooms = by_ids(list(hosts), resources, [room[kind] for kind in type_of.values()])
    model.room = pyo.Param(model.HOSTS, model.RESOURCES, initialize=rooms)
    holds = {(*pattern, *key): held[row] for pattern, held in patterns.items() for key, row in row_of.items()}
    model.holds = pyo.Param(model.PATTERNS, model.ITEMS, initialize=holds)
    model.pending = pyo.Param(model.ITEMS, initialize={key: int(items.limit[row]) for key, row in row_of.items()})
    shares = {(*key, host): int(items.share[row_of[*key], type_of[host]]) for *key, host in fitting}
    model.share = pyo.Param(model.FITTING, initialize=shares)


def _add_pairs(model: Any, problem: Utility) -> None:
    """Add each task on each node where it fits, and how many of an item that makes there."""
    tasks = problem.instance.workload.task_ids[problem.tasks].tolist()
    of_item = {
        (job, kind): [tasks[position] for position in positions.tolist()]
        for kind, every in zip(KINDS, (problem.map_positions, problem.reduce_positions), strict=True)
        for job, positions in zip(model.JOBS, every, strict=True)
    }
    fixed = {
        (job, KINDS[REDUCE], node): count
        for job, row in zip(model.JOBS, [] if problem.fixed is None else problem.fixed.tolist(), strict=False)
        for node, count in zip(problem.instance.cluster.node_ids.tolist(), row, strict=True)
    }
    allowed = {**dict.fromkeys(model.FITTING), **{key: count for key, count in fixed.items() if count}}
    model.place = pyo.Var([(task, h) for j, k, h in allowed for task in of_item[j, k]], within=pyo.Binary)
    of_task = grouped(model.place, 0)

    def count(model: Any, j: str, k: str, h: str) -> Any:
        return pyo.quicksum(model.place[task, h] for task in of_item[j, k])

    model.count = pyo.Expression(list(allowed), rule=count)
    model.once = pyo.Constraint(
        list(of_task), rule=lambda model, t: pyo.quicksum(model.place[pair] for pair in of_task[t]) <= 1
    )
    held = [key for key, number in allowed.items() if number]
    model.held = pyo.Constraint(held, rule=lambda model, *key: model.count[key] == fixed[key])


def _counts(model: Any) -> Any:
    """Tasks of each item on each host: variables, or sums of those of its tasks."""
    return model.place if model.component("count") is None else model.count


def _add_places(model: Any, problem: Utility, per_pair: bool) -> None:
    """Add tasks on hosts, and patterns on their nodes, within what these have room for."""
    if per_pair:
        _add_pairs(model, problem)
    else:
        model.place = pyo.Var(
            model.FITTING, within=pyo.NonNegativeIntegers, bounds=lambda model, j, k, h: (0, model.pending[j, k])
        )
    counts = _counts(model)
    model.take = pyo.Var(
        model.PATTERNS, within=pyo.NonNegativeIntegers, bounds=lambda model, h, p: (0, len(model.members[h]))
    )
    patterns, items_on = grouped(model.PATTERNS, 0), grouped(model.FITTING, 2)

    def capacity(model: Any, h: str, r: str) -> Any:
        if h in patterns:
            return pyo.Constraint.Skip
        taken = [model.demand[j, k, r] * counts[j, k, h] for j, k, _ in items_on.get(h, ()) if model.demand[j, k, r]]
        return at_most(taken, model.room[h, r])

    def nodes(model: Any, h: str) -> Any:
        return at_most([model.take[pattern] for pattern in patterns.get(h, ())], len(model.members[h]))

    def within(model: Any, j: str, k: str, h: str) -> Any:
        if h not in patterns:
            return pyo.Constraint.Skip
        held = pyo.quicksum(model.holds[pattern, j, k] * model.take[pattern] for pattern in patterns[h])
        return counts[j, k, h] <= held

    model.capacity = pyo.Constraint(model.HOSTS, model.RESOURCES, rule=capacity)
    model.nodes = pyo.Constraint(model.HOSTS, rule=nodes)
    model.within = pyo.Constraint(model.FITTING, rule=within)


def _placed(model: Any, j: str, k: str) -> Any:
    """The placed tasks of an item."""
    counts = _counts(model)
    return pyo.quicksum(counts[j, k, h] for h in model.HOSTS if (j, k, h) in model.FITTING)


def _hosts(problem: Utility, items: Items, together: bool = True) -> dict[str, tuple[list[int], Ints]]:
    """Nodes that are one host, if any may be `together`, and their patterns; a host of one node needs none."""
    nodes = problem.instance.cluster.node_ids.tolist()
    none = np.zeros((0, len(items.limit)), dtype=np.int64)
    hosts: dict[str, tuple[list[int], Ints]] = {}
    for kind, size in enumerate(problem.type_size.tolist()):
        members = np.flatnonzero(problem.node_type == kind).tolist()
        alike = together and size > 1
        patterns = all_patterns(problem.type_room[kind], items, MOST_PATTERNS) if alike else None
        if patterns is None:
            hosts.update({nodes[node]: ([node], none) for node in members})
        else:
            hosts[nodes[members[0]]] = members, patterns
    return hosts


def _units(problem: Utility, limit: Number | float) -> int:
    """The limit in units, rounded as the tables are; UsageError where not even all tasks together reach it."""
    units = round(decimal(limit) * GRID)
    if units > problem.saturated_units:
        most = problem.saturated_units / GRID
        raise UsageError(f"limit={limit}: the lowest utility is at most {most:g}, even with every task placed")
    return units


def _maximise_utilisation(model: Any, problem: Utility, units: int) -> None:
    """Add what each job needs, and the second objective (9)."""
    jobs, needs, seen = list(model.JOBS), Needs.of(problem, units), Counter[str]()
    pairs: list[tuple[str, int]] = []
    for job in (jobs[owner] for owner in needs.owner.tolist()):
        pairs.append((job, seen[job]))
        seen[job] += 1
    counts = needs.counts[np.stack([needs.owner, len(jobs) + needs.owner]), np.arange(len(pairs))].T.tolist()
    of_job = grouped(pairs, 0)
    model.NEEDS = pyo.Set(initialize=pairs, dimen=2)
    need = {
        (*pair, kind): count
        for pair, row in zip(pairs, counts, strict=True)
        for kind, count in zip(KINDS, row, strict=True)
    }
    model.need = pyo.Param(model.NEEDS, list(KINDS), initialize=need)
    model.choose = pyo.Var(model.NEEDS, within=pyo.Binary)

    def one_need(model: Any, j: str) -> Any:
        return pyo.quicksum(model.choose[pair] for pair in of_job[j]) == 1

    def needed(model: Any, j: str, k: str) -> Any:
        asked = [model.need[pair, k] * model.choose[pair] for pair in of_job[j] if model.need[pair, k]]
        return _placed(model, j, k) >= pyo.quicksum(asked) if asked else pyo.Constraint.Skip

    counts = _counts(model)

    def supply(model: Any, j: str, k: str) -> Any:
        held = [counts[j, k, h] for h in model.HOSTS if (j, k, h) in model.FITTING]
        return at_most(held, model.pending[j, k])

    model.one_need = pyo.Constraint(model.JOBS, rule=one_need)
    model.needed = pyo.Constraint(model.ITEMS, rule=needed)
    model.supply = pyo.Constraint(model.ITEMS, rule=supply)
    model.fixed_use = pyo.Param(initialize=problem.fixed_use)
    used = pyo.quicksum(model.share[key] * counts[key] for key in model.FITTING)
    model.objective = pyo.Objective(expr=used + model.fixed_use, sense=pyo.maximize)


def _maximise_lowest(model: Any, problem: Utility) -> None:
    """Add the utilities (6), (7), step by step, and the first objective (8)."""
    penalty = problem.parameters["penalty"]
    tables = {
        (job, kind): table
        for kind, every in zip(KINDS, (problem.map_utility, problem.reduce_utility), strict=True)
        for job, table in zip(model.JOBS, every, strict=True)
    }
    lost = _add_worths(model, problem, tables)
    of_item, of_job = grouped(model.STEPS, 0, 1), grouped(model.STEPS, 0)
    model.lowest = pyo.Var(bounds=(-penalty, 1.0))
    model.step = pyo.Var(model.STEPS, within=pyo.Binary)
    model.served = pyo.Var(within=pyo.Binary, bounds=(0, int(not lost)))

    def ordered(model: Any, j: str, k: str, n: int) -> Any:
        return model.step[j, k, n] <= model.step[j, k, n - 1] if n > 1 else pyo.Constraint.Skip

    def allocated(model: Any, j: str, k: str) -> Any:
        return _placed(model, j, k) == pyo.quicksum(model.step[step] for step in of_item[j, k])

    def least(model: Any, j: str) -> Any:
        gained = pyo.quicksum(model.gain[step] * model.step[step] for step in of_job.get(j, ()))
        return model.lowest <= model.base[j] + gained

    def starved(model: Any, j: str, k: str) -> Any:
        return model.served <= model.step[j, k, 1] if tables[j, k][0] <= LEAST_FINITE else pyo.Constraint.Skip

    model.ordered = pyo.Constraint(model.STEPS, rule=ordered)
    model.allocated = pyo.Constraint(model.ITEMS, rule=allocated)
    model.least = pyo.Constraint(model.JOBS, rule=least)
    model.starved = pyo.Constraint(model.ITEMS, rule=starved)
    model.penalised = pyo.Constraint(expr=model.lowest <= -penalty + (penalty + 1) * model.served)
    model.objective = pyo.Objective(expr=model.lowest, sense=pyo.maximize)


def _add_worths(model: Any, problem: Utility, tables: Mapping[tuple[str, str], Ints]) -> bool:
    """Add the steps and their worth; whether a job is at minus infinity for good, since it lacks fixed reduces."""
    worth = {key: np.where(table <= LEAST_FINITE, -GRID, table) / GRID for key, table in tables.items()}
    given = dict.fromkeys(tables, 0)
    if problem.fixed is not None:
        placed = problem.fixed.sum(axis=1).tolist()
        given |= {(job, KINDS[REDUCE]): count for job, count in zip(model.JOBS, placed, strict=True)}
    steps = [(j, k, n) for j, k in model.ITEMS for n in range(1, model.pending[j, k] + 1)]
    base = {job: float(sum(worth[job, kind][given[job, kind]] for kind in KINDS)) for job in model.JOBS}
    model.STEPS = pyo.Set(initialize=steps, dimen=3)
    gains = {(j, k, n): float(worth[j, k][n] - worth[j, k][n - 1]) for j, k, n in steps}
    model.gain = pyo.Param(model.STEPS, initialize=gains)
    model.base = pyo.Param(model.JOBS, within=pyo.Reals, initialize=base)
    return any(tables[key][count] <= LEAST_FINITE and key not in model.ITEMS for key, count in given.items())


@of_problem(Utility)
def compact_size(problem: Utility, limit: Number | float | None = None) -> ModelSize:
    """What `build_pyomo` would take, or less: variables for jobs' kinds and hosts, patterns, and steps of utility."""
    found = Items.of(problem)
    hosts = _hosts(problem, found)
    nodes, patterns = len(hosts), sum(len(rows) for _, rows in hosts.values())
    jobs, limits, items = len(problem.jobs), len(problem.resources), int(np.count_nonzero(found.limit))
    fitting = items * nodes
    steps = int(found.limit.sum()) if limit is None else len(Needs.of(problem, _units(problem, limit)).owner)
    return ModelSize(
        fitting + patterns + steps + 2,
        nodes * (limits + 1) + fitting + 3 * jobs + steps + 2 * items + 1,
        fitting * (limits + 7) + patterns * (1 + items) + 4 * steps + 2 * jobs + 2 * items + 3,
    )


@of_problem(Utility)
def literal_size(problem: Utility, limit: Number | float | None = None) -> ModelSize:
    """What `build_pulp` would take: a variable for each job, kind and tracker, and for each entry of a table.

    With a `limit` it is hardly less.
    """
    jobs, nodes, resources = len(problem.jobs), len(problem.node_type), len(problem.resources)
    entries = sum(len(table) for table in (*problem.map_utility, *problem.reduce_utility))
    return ModelSize(
        2 * jobs * nodes + entries + 2,
        5 * jobs + nodes * resources + 1 + len(_infinite(problem)),
        2 * jobs * (1 + resources) * nodes + 3 * entries,
    )


def _infinite(problem: Utility) -> list[tuple[int, int]]:
    """Kind and job of the tables that begin with minus infinity."""
    tables = ((MAP, problem.map_utility), (REDUCE, problem.reduce_utility))
    return [(kind, job) for kind, table in tables for job, row in enumerate(table) if row[0] <= LEAST_FINITE]


@model_of(Utility)
def build_pulp(problem: Utility, limit: Number | float | None = None, *, max_variables: int = MAX_VARIABLES) -> Any:
    """Build Sharmilarani et al.'s own program, tabulated.

    A `limit` is as in `build_pyomo`.

    Its attributes `maps` and `reduces` are dicts from (job id, node id) to the variable.

    Examples
    --------
    >>> from optsched.instance import Cluster, Instance, Workload
    >>> instance = Instance(
    ...     Cluster(["t"], capacity={"cpu": [1.0]}), Workload(["m"], job=[0], job_ids=["a"], demand={"cpu": [1.0]}))
    >>> [str(variable) for variable in build_pulp(Utility(instance)).variables()]
    ['lowest', 'maps.a.t', 'reduces.a.t', 'served', 'worth_maps.a.0', 'worth_maps.a.1', 'worth_reduces.a.0']
    """
    refuse_too_large(problem, literal_size(problem), max_variables, "build_pyomo")
    units = None if limit is None else _units(problem, limit)
    jobs, nodes = problem.instance.workload.job_ids[problem.jobs].tolist(), problem.instance.cluster.node_ids.tolist()
    names, penalty = (injective_names(jobs), injective_names(nodes)), problem.parameters["penalty"]
    model = pulp.LpProblem(problem.name, pulp.LpMaximize)
    lowest = model.add_variable("lowest", -penalty, 1)
    served = model.add_variable("served", 0, 1, "Integer")
    counts, worth = zip(*(_literal_counts(model, problem, kind, names) for kind in problem.kinds), strict=True)
    tables_of = (problem.map_utility, problem.reduce_utility)
    for row, job in enumerate(names[0]):
        # Minus infinity is kept out by `starved`; here it counts as -1, below which nothing finite is.
        utility = pulp.lpSum(
            max(entry, -GRID) / GRID * chosen
            for entries, table in zip(worth, tables_of, strict=True)
            for entry, chosen in zip(table[row].tolist(), entries[row], strict=True)
        )
        model.addConstraint(lowest <= utility, f"utility.{job}")
    for kind, row in _infinite(problem):
        model.addConstraint(served + worth[kind][row][0] <= 1, f"starved.{KINDS[kind]}.{names[0][row]}")
    model.addConstraint(lowest <= -penalty + (penalty + 1) * served, "penalised")
    _literal_capacities(model, problem, counts, names[1])
    if units is None:
        model.setObjective(lowest)
    else:
        # Half a unit of 2^-20 less, so that rounding keeps nothing out that reaches it.
        lowest.lowBound = (units - 0.5) / GRID
        shares = (share[:, problem.node_type].tolist() for share in (problem.map_share, problem.reduce_share))
        used = (one * count for pair in zip(counts, shares, strict=True) for count, one in priced(*pair))
        model.setObjective(pulp.lpSum(used))
    model.maps, model.reduces = (by_ids(jobs, nodes, hosts) for hosts in counts)
    return model


def _literal_counts(
    model: Any, problem: Utility, kind: int, names: tuple[list[str], list[str]]
) -> tuple[list[list[Any]], list[list[Any]]]:
    """Add the tasks of a kind on trackers, and an entry of each job's table for each number of them: one is chosen."""
    word, fixed = f"{KINDS[kind]}s", problem.fixed if kind == REDUCE else None
    pending, tables = (
        (problem.pending_maps, problem.map_utility)
        if kind == MAP
        else (problem.pending_reduces, problem.reduce_utility)
    )
    most = np.tile(pending[:, None], len(names[1])) if fixed is None else fixed
    least = np.zeros_like(most) if fixed is None else fixed
    counts, worth = [], []
    for job, table, *limits in zip(names[0], tables, least.tolist(), most.tolist(), strict=True):
        hosts = [
            model.add_variable(f"{word}.{job}.{node}", low, high, "Integer")
            for node, low, high in zip(names[1], *limits, strict=True)
        ]
        entries = [model.add_variable(f"worth_{word}.{job}.{n}", 0, 1, "Integer") for n in range(len(table))]
        model.addConstraint(pulp.lpSum(entries) == 1, f"table_{word}.{job}")
        taken = pulp.lpSum(n * entry for n, entry in enumerate(entries))
        model.addConstraint(pulp.lpSum(hosts) == taken, f"count_{word}.{job}")
        counts.append(hosts)
        worth.append(entries)
    return counts, worth


def _literal_capacities(model: Any, problem: Utility, counts: Sequence[Any], nodes: list[str]) -> None:
    """Add what each tracker has of each resource for the tasks on it, (10)."""
    unit = problem.unit
    demands = np.concatenate([problem.demand_map, problem.demand_reduce]) // unit
    free, hosts = (problem.free // unit).tolist(), [row for kind in counts for row in kind]
    for position, resource in enumerate(injective_names(problem.resources)):
        taking = [(row, need) for row, need in zip(hosts, demands[:, position].tolist(), strict=True) if need]
        for column, node in enumerate(nodes):
            used = [need * row[column] for row, need in taking]
            model.addConstraint(pulp.lpSum(used) <= free[column][position], f"capacity.{resource}.{node}")


def _decode_literal(model: Any, problem: Utility) -> Placement:
    shape = len(problem.jobs), len(problem.instance.cluster)
    maps, reduces = (
        np.array([whole(count) for count in counts.values()], dtype=np.int64).reshape(shape)
        for counts in (model.maps, model.reduces)
    )
    return problem.placement_of(Allocation(maps, reduces))


def _decode_compact(model: Any, problem: Utility) -> Placement:
    if is_per_pair(model):
        return decode_binaries(model, problem)
    jobs = problem.instance.workload.job_ids[problem.jobs].tolist()
    column = problem.instance.node_index
    counts: Ints = np.zeros((2, len(jobs), len(column)), dtype=np.int64)
    row = {job: position for position, job in enumerate(jobs)}
    kinds = {kind: position for position, kind in enumerate(KINDS)}
    patterns: dict[str, list[int]] = {}
    for host, number in model.PATTERNS:
        patterns.setdefault(host, []).append(number)
    for host in model.HOSTS:
        members = [column[node] for node in model.members[host]]
        found = {(j, k): whole(model.place[j, k, host]) for j, k in model.ITEMS if (j, k, host) in model.FITTING}
        if host not in patterns:
            for (job, kind), count in found.items():
                counts[kinds[kind], row[job], members[0]] = count
            continue
        listed = list(found)
        if not listed:
            continue
        held = [[model.holds[host, number, j, k] for j, k in listed] for number in patterns[host]]
        times = [whole(model.take[host, number]) for number in patterns[host]]
        dealt = deal(np.array(held).reshape(-1, len(listed)), np.array(times), np.array([found[key] for key in listed]))
        for position, (job, kind) in enumerate(listed):
            counts[kinds[kind], row[job], members[: len(dealt)]] = dealt[:, position]
    if problem.fixed is not None:
        counts[REDUCE] = problem.fixed
    return problem.placement_of(Allocation(*counts))


def _started_compact(model: Any, problem: Utility, placement: Placement) -> Entries:
    """Tasks of each job and kind on each host; what nodes of a host hold is for the solver to find."""
    if is_per_pair(model):
        return started_binaries(model, problem, placement)
    row_of, column = {job: row for row, job in enumerate(model.JOBS)}, problem.instance.node_index
    counts = dict(zip(KINDS, problem.allocated(placement), strict=True))
    members = {host: [column[node] for node in model.members[host]] for host in model.HOSTS}
    return (
        (variable, int(counts[kind][row_of[job], members[host]].sum()))
        for (job, kind, host), variable in model.place.items()
    )


def _started_literal(model: Any, problem: Utility, placement: Placement) -> Entries:
    for variables, counts in zip((model.maps, model.reduces), problem.allocated(placement), strict=True):
        yield from zip(variables.values(), counts.ravel().tolist(), strict=True)


decode = decoder(Utility, compact=_decode_compact, literal=_decode_literal, started=_started_compact)
start_values = starter(Utility, compact=_started_compact, literal=_started_literal)
