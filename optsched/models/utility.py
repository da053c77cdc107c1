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

With `phase=by-maps` no nodes are alike, each is a host of its own, and there is beside these, for each job j with
reduces that take more the more of its maps are placed (`LEVELS` has the pairs of such a job and a number of its maps):

=================== ========================================================================================
grown[j,n,r]        what one of its reduces takes more of a resource beside n placed maps
level[j,n]          binary: just n of its maps are placed
beside[j,n,h]       reduces of the job on the host that run beside n maps; 0 or more, where so large a one fits
one_level[j]        one number of maps is
counted[j]          the number of the maps placed
split[j,h]          reduces on the host are those beside one number or another
only[j,n]           none beside another number than that
=================== ========================================================================================

Fixed reduces need no `beside`: what they take is linear in `level`.

The literal model of `build_pulp` is the tabulated program of Sharmilarani et al.'s (6) to (10): whole `maps.j.t` and
`reduces.j.t` for each job and tracker (P^M, P^R), a binary `worth_maps.j.n` and `worth_reduces.j.n` for each count (one
of them, by `table_maps.j`, `table_reduces.j`, and that of the tasks placed, by `count_maps.j`, `count_reduces.j`),
`lowest`, `served`; rows `utility.j`, `capacity.r.t`, `starved.kind.j`, `penalised`. Fixed reduces are fixed by their
bounds. With `phase=by-maps` `grows.r.j.t` is what the reduces of a job take more of a resource on a tracker: at least
what they take more beside n maps, wherever n are placed (`beside.r.j.t.n`, which holds for none if fewer are).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pulp
import pyomo.environ as pyo

from optsched.decimals import decimal
from optsched.errors import UsageError
from optsched.instance import KINDS, MAP, REDUCE, Ints
from optsched.models.base import (
    MAX_VARIABLES,
    LiteralSize,
    by_ids,
    decoder,
    model_of,
    of_problem,
    refuse_too_large,
    whole,
)
from optsched.placement import Placement
from optsched.problems.base import GRID
from optsched.problems.utility import LEAST_FINITE, Allocation, Utility
from optsched.results import Number
from optsched.searches.utility_patterns import Items, Needs, all_patterns, deal
from optsched.solvers.algebraic import injective_names

__all__ = ["build_pulp", "build_pyomo", "decode", "literal_size"]

#: Units of the first program's objective, and of the second's, that are one of the component's.
OBJECTIVE_UNITS = (1, GRID)

#: Equal nodes become one host where it has up to this many patterns.
MOST_PATTERNS = 1_000


@model_of(Utility)
def build_pyomo(problem: Utility, limit: Number | float | None = None) -> Any:
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
    items = Items.of(problem)
    demand, room = items.demand // problem.unit, problem.type_room // problem.unit
    jobs = problem.instance.workload.job_ids[problem.jobs].tolist()
    row_of = {(job, KINDS[kind]): kind * len(jobs) + row for kind in problem.kinds for row, job in enumerate(jobs)}
    listed = [key for key, row in row_of.items() if items.limit[row]]
    hosts = _hosts(problem, items)
    type_of = {host: int(problem.node_type[members[0]]) for host, (members, _) in hosts.items()}
    node_ids = problem.instance.cluster.node_ids.tolist()

    model = pyo.ConcreteModel(problem.name)
    model.JOBS = pyo.Set(initialize=jobs)
    model.ITEMS = pyo.Set(initialize=listed, dimen=2)
    model.RESOURCES = pyo.Set(initialize=problem.resources)
    model.HOSTS = pyo.Set(initialize=list(hosts))
    model.PATTERNS = pyo.Set(
        initialize=[(host, number) for host, (_, patterns) in hosts.items() for number in range(len(patterns))],
        dimen=2,
    )
    model.FITTING = pyo.Set(
        initialize=[
            (*key, host)
            for key in listed
            for host in hosts
            if (items.demand[row_of[key]] <= problem.type_room[type_of[host]]).all()
        ],
        dimen=3,
    )
    model.members = pyo.Param(
        model.HOSTS,
        initialize={host: tuple(node_ids[node] for node in members) for host, (members, _) in hosts.items()},
        within=pyo.Any,
    )
    model.demand = pyo.Param(
        model.ITEMS,
        model.RESOURCES,
        initialize={
            (*key, resource): int(demand[row_of[key], position])
            for key in listed
            for position, resource in enumerate(problem.resources)
        },
    )
    model.room = pyo.Param(
        model.HOSTS,
        model.RESOURCES,
        initialize={
            (host, resource): int(room[type_of[host], position])
            for host in hosts
            for position, resource in enumerate(problem.resources)
        },
    )
    model.holds = pyo.Param(
        model.PATTERNS,
        model.ITEMS,
        initialize={
            (host, number, *key): int(pattern[row_of[key]])
            for host, (_, patterns) in hosts.items()
            for number, pattern in enumerate(patterns)
            for key in listed
        },
    )
    model.pending = pyo.Param(model.ITEMS, initialize={key: int(items.limit[row_of[key]]) for key in listed})
    model.share = pyo.Param(
        model.FITTING, initialize={(*key, h): int(items.share[row_of[*key], type_of[h]]) for *key, h in model.FITTING}
    )
    model.place = pyo.Var(
        model.FITTING, within=pyo.NonNegativeIntegers, bounds=lambda model, j, k, h: (0, model.pending[j, k])
    )
    model.take = pyo.Var(
        model.PATTERNS, within=pyo.NonNegativeIntegers, bounds=lambda model, h, p: (0, len(model.members[h]))
    )

    def placed(model: Any, j: str, k: str) -> Any:
        return pyo.quicksum(model.place[j, k, h] for h in hosts if (j, k, h) in model.FITTING)

    growing = _grow(model, problem, placed)

    def capacity(model: Any, h: str, r: str) -> Any:
        taken = [(j, k) for j, k in listed if (j, k, h) in model.FITTING and model.demand[j, k, r]]
        more = growing(h, r)
        if len(hosts[h][1]) or (not taken and not more):
            return pyo.Constraint.Skip
        taking = pyo.quicksum(model.demand[j, k, r] * model.place[j, k, h] for j, k in taken)
        return taking + pyo.quicksum(more) <= model.room[h, r]

    def nodes(model: Any, h: str) -> Any:
        if not len(hosts[h][1]):
            return pyo.Constraint.Skip
        return pyo.quicksum(model.take[h, p] for p in range(len(hosts[h][1]))) <= len(model.members[h])

    def within(model: Any, j: str, k: str, h: str) -> Any:
        if not len(hosts[h][1]):
            return pyo.Constraint.Skip
        held = pyo.quicksum(model.holds[h, p, j, k] * model.take[h, p] for p in range(len(hosts[h][1])))
        return model.place[j, k, h] <= held

    model.capacity = pyo.Constraint(model.HOSTS, model.RESOURCES, rule=capacity)
    model.nodes = pyo.Constraint(model.HOSTS, rule=nodes)
    model.within = pyo.Constraint(model.FITTING, rule=within)
    if limit is None:
        _maximise_lowest(model, problem, placed)
    else:
        _maximise_utilisation(model, problem, placed, _units(problem, limit))
    return model


def _grow(model: Any, problem: Utility, placed: Callable[..., Any]) -> Callable[[str, str], list[Any]]:
    """Add what reduces take beside placed maps; the terms of it on a host and a resource, none where nothing grows."""
    if not problem.coupled:
        return lambda h, r: []
    row_of = {job: row for row, job in enumerate(model.JOBS)}
    some = problem.pending_reduces if problem.fixed is None else problem.fixed.sum(axis=1)
    jobs = [job for job, row in row_of.items() if problem.growth[row].any() and some[row]]
    model.LEVELS = pyo.Set(
        initialize=[(job, n) for job in jobs for n in range(int(problem.pending_maps[row_of[job]]) + 1)], dimen=2
    )
    model.grown = pyo.Param(
        model.LEVELS,
        model.RESOURCES,
        initialize={
            (job, n, resource): int(problem.grown[row_of[job]][n, position] // problem.unit[position])
            for job, n in model.LEVELS
            for position, resource in enumerate(problem.resources)
        },
    )
    model.level = pyo.Var(model.LEVELS, within=pyo.Binary)
    numbers = {job: range(int(problem.pending_maps[row_of[job]]) + 1) for job in jobs}
    model.one_level = pyo.Constraint(
        jobs, rule=lambda model, j: pyo.quicksum(model.level[j, n] for n in numbers[j]) == 1
    )
    model.counted = pyo.Constraint(
        jobs,
        rule=lambda model, j: pyo.quicksum(n * model.level[j, n] for n in numbers[j]) == placed(model, j, KINDS[MAP]),
    )
    if problem.fixed is not None:
        column = {node: position for position, node in enumerate(problem.instance.cluster.node_ids.tolist())}
        fixed = problem.fixed

        def of_fixed(h: str, r: str) -> list[Any]:
            here = [(j, n, int(fixed[row_of[j], column[h]])) for j, n in model.LEVELS]
            return [
                count * model.grown[j, n, r] * model.level[j, n]
                for j, n, count in here
                if count and model.grown[j, n, r]
            ]

        return of_fixed
    reduce = KINDS[REDUCE]
    hosts = [(j, h) for j in jobs for h in model.HOSTS if (j, reduce, h) in model.FITTING]
    beside = [
        (j, n, h)
        for j, h in hosts
        for n in numbers[j]
        if all(model.demand[j, reduce, r] + model.grown[j, n, r] <= model.room[h, r] for r in model.RESOURCES)
    ]
    running: dict[tuple[str, str], list[tuple[str, int, str]]] = {}
    level: dict[tuple[str, int], list[tuple[str, int, str]]] = {}
    for key in beside:
        running.setdefault((key[0], key[2]), []).append(key)
        level.setdefault(key[:2], []).append(key)
    model.beside = pyo.Var(beside, within=pyo.NonNegativeReals)
    model.split = pyo.Constraint(
        hosts,
        rule=lambda model, j, h: model.place[j, reduce, h] == pyo.quicksum(model.beside[key] for key in running[j, h]),
    )
    model.only = pyo.Constraint(
        list(level),
        rule=lambda model, j, n: (
            pyo.quicksum(model.beside[key] for key in level[j, n]) <= model.pending[j, reduce] * model.level[j, n]
        ),
    )
    on_host: dict[str, list[tuple[str, int, str]]] = {}
    for key in beside:
        on_host.setdefault(key[2], []).append(key)
    return lambda h, r: [
        model.grown[j, n, r] * model.beside[j, n, h] for j, n, _ in on_host.get(h, ()) if model.grown[j, n, r]
    ]


def _hosts(problem: Utility, items: Items) -> dict[str, tuple[list[int], Ints]]:
    """Nodes that are one host, and their patterns; a host of one node has none, and needs none."""
    nodes = problem.instance.cluster.node_ids.tolist()
    none = np.zeros((0, len(items.limit)), dtype=np.int64)
    hosts: dict[str, tuple[list[int], Ints]] = {}
    for kind, size in enumerate(problem.type_size.tolist()):
        members = np.flatnonzero(problem.node_type == kind).tolist()
        alike = size > 1 and not problem.coupled
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


def _maximise_utilisation(model: Any, problem: Utility, placed: Callable[..., Any], units: int) -> None:
    """Add what each job needs, and the second objective (9)."""
    jobs = list(model.JOBS)
    needs = Needs.of(problem, units)
    number = [int(np.count_nonzero(needs.owner[:pair] == owner)) for pair, owner in enumerate(needs.owner.tolist())]
    pairs = [(jobs[owner], position) for owner, position in zip(needs.owner.tolist(), number, strict=True)]
    model.NEEDS = pyo.Set(initialize=pairs, dimen=2)
    model.need = pyo.Param(
        model.NEEDS,
        list(KINDS),
        initialize={
            (*pair, kind): int(needs.counts[position * len(jobs) + owner, column])
            for column, (pair, owner) in enumerate(zip(pairs, needs.owner.tolist(), strict=True))
            for position, kind in enumerate(KINDS)
        },
    )
    model.choose = pyo.Var(model.NEEDS, within=pyo.Binary)

    def one_need(model: Any, j: str) -> Any:
        return pyo.quicksum(model.choose[pair] for pair in pairs if pair[0] == j) == 1

    def needed(model: Any, j: str, k: str) -> Any:
        asked = [(pair, model.need[*pair, k]) for pair in pairs if pair[0] == j and model.need[*pair, k]]
        if not asked:
            return pyo.Constraint.Skip
        return placed(model, j, k) >= pyo.quicksum(need * model.choose[pair] for pair, need in asked)

    def supply(model: Any, j: str, k: str) -> Any:
        if not any(key[:2] == (j, k) for key in model.FITTING):
            return pyo.Constraint.Skip
        return placed(model, j, k) <= model.pending[j, k]

    model.one_need = pyo.Constraint(model.JOBS, rule=one_need)
    model.needed = pyo.Constraint(model.ITEMS, rule=needed)
    model.supply = pyo.Constraint(model.ITEMS, rule=supply)
    model.fixed_use = pyo.Param(initialize=problem.fixed_use)
    model.objective = pyo.Objective(
        expr=pyo.quicksum(model.share[key] * model.place[key] for key in model.FITTING) + model.fixed_use,
        sense=pyo.maximize,
    )


def _maximise_lowest(model: Any, problem: Utility, placed: Callable[..., Any]) -> None:
    """Add the utilities (6), (7), step by step, and the first objective (8)."""
    row_of = {job: row for row, job in enumerate(model.JOBS)}
    tables = {
        (job, kind): (problem.map_utility if kind == KINDS[MAP] else problem.reduce_utility)[row]
        for job, row in row_of.items()
        for kind in KINDS
    }
    worth = {key: np.where(table <= LEAST_FINITE, -GRID, table) / GRID for key, table in tables.items()}
    penalty = problem.parameters["penalty"]
    if problem.fixed is None:
        given = dict.fromkeys(row_of, (0, 0))
    else:
        given = {job: (0, int(problem.fixed[row].sum())) for job, row in row_of.items()}
    model.STEPS = pyo.Set(
        initialize=[(j, k, n) for j, k in model.ITEMS for n in range(1, model.pending[j, k] + 1)], dimen=3
    )
    model.gain = pyo.Param(
        model.STEPS, initialize={(j, k, n): float(worth[j, k][n] - worth[j, k][n - 1]) for j, k, n in model.STEPS}
    )
    model.base = pyo.Param(
        model.JOBS,
        within=pyo.Reals,
        initialize={
            job: float(sum(worth[job, kind][count] for kind, count in zip(KINDS, counts, strict=True)))
            for job, counts in given.items()
        },
    )
    # Minus infinity for good: fixed reduces, of which a job has none.
    lost = any(
        tables[job, kind][count] <= LEAST_FINITE and (job, kind) not in model.ITEMS
        for job, counts in given.items()
        for kind, count in zip(KINDS, counts, strict=True)
    )
    model.lowest = pyo.Var(bounds=(-penalty, 1.0))
    model.step = pyo.Var(model.STEPS, within=pyo.Binary)
    model.served = pyo.Var(within=pyo.Binary, bounds=(0, int(not lost)))

    def ordered(model: Any, j: str, k: str, n: int) -> Any:
        return model.step[j, k, n] <= model.step[j, k, n - 1] if n > 1 else pyo.Constraint.Skip

    def allocated(model: Any, j: str, k: str) -> Any:
        return placed(model, j, k) == pyo.quicksum(model.step[j, k, n] for n in range(1, model.pending[j, k] + 1))

    def least(model: Any, j: str) -> Any:
        steps = [key for key in model.STEPS if key[0] == j]
        return model.lowest <= model.base[j] + pyo.quicksum(model.gain[key] * model.step[key] for key in steps)

    def starved(model: Any, j: str, k: str) -> Any:
        return model.served <= model.step[j, k, 1] if tables[j, k][0] <= LEAST_FINITE else pyo.Constraint.Skip

    model.ordered = pyo.Constraint(model.STEPS, rule=ordered)
    model.allocated = pyo.Constraint(model.ITEMS, rule=allocated)
    model.least = pyo.Constraint(model.JOBS, rule=least)
    model.starved = pyo.Constraint(model.ITEMS, rule=starved)
    model.penalised = pyo.Constraint(expr=model.lowest <= -penalty + (penalty + 1) * model.served)
    model.objective = pyo.Objective(expr=model.lowest, sense=pyo.maximize)


@of_problem(Utility)
def literal_size(problem: Utility) -> LiteralSize:
    """What `build_pulp` would take: a variable for each job, kind and tracker, and for each entry of a table."""
    jobs, nodes, resources = len(problem.jobs), len(problem.node_type), len(problem.resources)
    entries = sum(len(table) for table in (*problem.map_utility, *problem.reduce_utility))
    free = problem.fixed is None
    growing = int(np.count_nonzero(problem.growth)) if free else 0
    beside = sum(int(np.count_nonzero(np.diff(table, axis=0))) for table in problem.grown) if free else 0
    return LiteralSize.of(
        (2 * jobs + growing) * nodes + entries + 2,
        5 * jobs + nodes * (resources + beside) + 1 + len(_infinite(problem)),
        (2 * jobs * (1 + resources) + growing + 3 * beside) * nodes + 3 * entries,
    )


def _infinite(problem: Utility) -> list[tuple[int, int]]:
    """Kind and job of the tables that begin with minus infinity."""
    tables = ((MAP, problem.map_utility), (REDUCE, problem.reduce_utility))
    return [(kind, job) for kind, table in tables for job, row in enumerate(table) if row[0] <= LEAST_FINITE]


@model_of(Utility)
def build_pulp(problem: Utility, limit: Number | float | None = None, *, max_variables: int = MAX_VARIABLES) -> Any:
    """Build Sharmilarani et al.'s own program, tabulated.

    A `limit` is as in `build_pyomo`.

    Returns
    -------
    pulp.LpProblem
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
    jobs = problem.instance.workload.job_ids[problem.jobs].tolist()
    nodes = problem.instance.cluster.node_ids.tolist()
    job_names, node_names = injective_names(jobs), injective_names(nodes)
    penalty = problem.parameters["penalty"]
    model = pulp.LpProblem(problem.name, pulp.LpMaximize)
    lowest = model.add_variable("lowest", -penalty, 1)
    served = model.add_variable("served", 0, 1, "Integer")
    counts: list[list[list[Any]]] = []
    worth: list[list[list[Any]]] = []
    parts = (
        ("maps", problem.pending_maps, problem.map_utility, None),
        ("reduces", problem.pending_reduces, problem.reduce_utility, problem.fixed),
    )
    for word, pending, tables, fixed in parts:
        counts.append([])
        worth.append([])
        for row, job in enumerate(job_names):
            least = [0] * len(nodes) if fixed is None else fixed[row].tolist()
            most = [int(pending[row])] * len(nodes) if fixed is None else least
            hosts = [
                model.add_variable(f"{word}.{job}.{node}", low, high, "Integer")
                for node, low, high in zip(node_names, least, most, strict=True)
            ]
            entries = [model.add_variable(f"worth_{word}.{job}.{n}", 0, 1, "Integer") for n in range(len(tables[row]))]
            model.addConstraint(pulp.lpSum(entries) == 1, f"table_{word}.{job}")
            taken = pulp.lpSum(n * entry for n, entry in enumerate(entries))
            model.addConstraint(pulp.lpSum(hosts) == taken, f"count_{word}.{job}")
            counts[-1].append(hosts)
            worth[-1].append(entries)
    tables_of = (problem.map_utility, problem.reduce_utility)
    for row, job in enumerate(job_names):
        # Minus infinity is kept out by `starved`; here it counts as -1, below which nothing finite is.
        utility = pulp.lpSum(
            max(int(units_), -GRID) / GRID * entry
            for entries, table in zip(worth, tables_of, strict=True)
            for units_, entry in zip(table[row].tolist(), entries[row], strict=True)
        )
        model.addConstraint(lowest <= utility, f"utility.{job}")
    for kind, row in _infinite(problem):
        model.addConstraint(served + worth[kind][row][0] <= 1, f"starved.{KINDS[kind]}.{job_names[row]}")
    model.addConstraint(lowest <= -penalty + (penalty + 1) * served, "penalised")
    unit = problem.unit
    grows = _literal_growth(model, problem, counts[REDUCE], worth[MAP], (job_names, node_names))
    demands, free = (problem.demand_map // unit, problem.demand_reduce // unit), problem.free // unit
    for position, resource in enumerate(injective_names(problem.resources)):
        for column, node in enumerate(node_names):
            used = pulp.lpSum(
                int(demand[row, position]) * hosts[row][column]
                for demand, hosts in zip(demands, counts, strict=True)
                for row in range(len(jobs))
                if demand[row, position]
            ) + pulp.lpSum(grows.get((position, column), ()))
            model.addConstraint(used <= int(free[column, position]), f"capacity.{resource}.{node}")
    if units is None:
        model.setObjective(lowest)
    else:
        # Half a unit of 2^-20 less, so that rounding keeps nothing out that reaches it.
        lowest.lowBound = (units - 0.5) / GRID
        shares = (share[:, problem.node_type].tolist() for share in (problem.map_share, problem.reduce_share))
        model.setObjective(
            pulp.lpSum(
                one * count
                for share, hosts in zip(shares, counts, strict=True)
                for row, counted in zip(share, hosts, strict=True)
                for one, count in zip(row, counted, strict=True)
            )
        )
    model.maps, model.reduces = (by_ids(jobs, nodes, hosts) for hosts in counts)
    return model


def _literal_growth(
    model: Any, problem: Utility, hosts: list[list[Any]], worth: list[list[Any]], names: tuple[list[str], list[str]]
) -> dict[tuple[int, int], list[Any]]:
    """What reduces take more of each resource on each tracker for the maps of their jobs that are placed."""
    terms: dict[tuple[int, int], list[Any]] = {}
    for row, position in np.argwhere(problem.growth).tolist():
        more = (problem.grown[row][:, position] // problem.unit[position]).tolist()
        for column, count in enumerate(hosts[row]):
            most = int(count.upBound)
            if not most:
                continue
            if problem.fixed is not None:
                grows = pulp.lpSum(most * amount * entry for amount, entry in zip(more, worth[row], strict=True))
            else:
                word = f"{injective_names(problem.resources)[position]}.{names[0][row]}.{names[1][column]}"
                grows = model.add_variable(f"grows.{word}", 0)
                for n in range(1, len(more)):
                    if more[n] > more[n - 1]:
                        fewer = pulp.lpSum(worth[row][:n])  # 1 where fewer than n maps are placed
                        model.addConstraint(grows >= more[n] * count - more[n] * most * fewer, f"beside.{word}.{n}")
            terms.setdefault((position, column), []).append(grows)
    return terms


def _decode_literal(model: Any, problem: Utility) -> Placement:
    shape = len(problem.jobs), len(problem.instance.cluster)
    maps, reduces = (
        np.array([whole(count) for count in counts.values()], dtype=np.int64).reshape(shape)
        for counts in (model.maps, model.reduces)
    )
    return problem.placement_of(Allocation(maps, reduces))


def _decode_compact(model: Any, problem: Utility) -> Placement:
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


decode = decoder(Utility, compact=_decode_compact, literal=_decode_literal)
