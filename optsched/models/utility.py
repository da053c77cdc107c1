"""Models of `utility`: tasks on trackers within their resources, the lowest utility highest (Sharmilarani et al., RAS).

Each model has two forms. Without a limit it maximises the lowest utility with any utilisation. With a limit it
maximises the utilisation among the counts that give every job at least that utility. Utilities are in their own units;
the utilisation is in units of 2^-20, so that every difference is larger than a solver's tolerance.

The compact model of `build_pyomo` does not distinguish equal nodes: they are one host, which takes patterns (how many
tasks of each job and kind one node holds), if these can be listed; a host of one node needs none.

=================== ========================================================================================
component           what it is
=================== ========================================================================================
HOSTS               identical nodes, by the id of the first
members[h]          ids of the nodes of the host
FITTING             (job, kind, host) if a task fits
ITEMS, JOBS         (job, "map" or "reduce") with pending tasks to place; jobs
PATTERNS            (host, number) of a host with several nodes: its maximal patterns
place[j,k,h]        whole: tasks of the item on nodes of the host
take[h,p]           whole: nodes of the host with the pattern
capacity[h,r]       (10), on a host of one node, in the largest unit that divides all demands
nodes[h]            no more patterns than nodes
within[j,k,h]       no more tasks of the item than its patterns hold
objective           most utilisation, or the highest lowest utility
------------------- ----------------------------------------------------------------------------------------
NEEDS               with a limit: (job, number), sufficient counts of the job; neither can be less
choose[j,i]         with a limit, binary: the job gets at least these
one_need[j]         with a limit: it gets one of them
needed[j,k]         with a limit: at least as many tasks are placed
supply[j,k]         with a limit: at most the pending tasks are placed
fixed_use           with a limit: 1, for the utilisation of fixed reduces
------------------- ----------------------------------------------------------------------------------------
STEPS               without: (job, kind, n) for each n up to the number of pending tasks
lowest              without: the lowest utility, in units of 2^-20
step[j,k,n]         without, binary: at least n tasks of the item are placed
served              without, binary: no job is at minus infinity
ordered[j,k,n]      without: step by step
allocated[j,k]      without: placed tasks are the steps
least[j]            without: (6), (7), (8): the lowest utility is no more than the job's
starved[j,k]        without: if an item has no task and that means minus infinity, not all jobs are served
penalised           without: then the lowest utility is -penalty
=================== ========================================================================================

These are the variables and rows of the problem's program (`optsched.problems.utility_program`); ROOMS, SHARED, SEVERAL,
LATER and STARVING are the labels of rows. With `per_pair` each node is its own host and `place[t,n]` is 1 if the task
runs on the node (PAIRS); `once[t]` (TASKS) puts a task on at most one node, and `held[j,k,n]` (FIXED) sets the number
of fixed reduces.

The literal model of `build_pulp` is the tabulated program of Sharmilarani et al.'s (6) to (10). It has whole `maps.j.t`
and `reduces.j.t` for each job and tracker (P^M, P^R). It has binaries `worth_maps.j.n` and `worth_reduces.j.n` for each
count: exactly one is chosen (`table_maps.j`, `table_reduces.j`), that of the placed tasks (`count_maps.j`,
`count_reduces.j`). Further `lowest`, `served`; rows `utility.j`, `capacity.r.t`, `starved.kind.j`, `penalised`. Fixed
reduces are fixed by their bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pulp

from optsched.core.errors import UsageError
from optsched.core.instance import KINDS, MAP, REDUCE
from optsched.core.placement import Placement
from optsched.core.results import Number
from optsched.models.base import (
    MAX_VARIABLES,
    Entries,
    ModelSize,
    Way,
    by_ids,
    int_of,
    model_of,
    of_problem,
    priced,
    rational_limit,
    refuse_too_large,
    said_by,
)
from optsched.models.programs import PROGRAM, shared, size_of, whole_pyomo
from optsched.problems.base import GRID, exact
from optsched.problems.utility import LEAST_FINITE, Allocation, Utility
from optsched.solvers.algebraic import injective_names

__all__ = ["build_pulp", "build_pyomo", "compact_size", "decode", "literal_size", "start_values"]

#: How many units of each program's objective are one of the component's.
OBJECTIVE_UNITS = (1, GRID)


@model_of(Utility, shared=shared)
def build_pyomo(problem: Utility, limit: Number | float | None = None, *, per_pair: bool = False) -> Any:
    """Build the compact model, with whole variables (parameters as in `ModelModule.build_pyomo`).

    With a `limit`, it finds the most utilisation among placements whose lowest utility is at least that; it is
    infeasible if there are none. Without, it finds the highest lowest utility with any utilisation. UsageError if the
    limit cannot be reached even with every task placed.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> from optsched.solvers.algebraic import solve_pyomo
    >>> from optsched.solvers.profiles import load_profile
    >>> cluster = Cluster(["t1", "t2"], capacity={"cpu": [3.0, 3.0]})
    >>> workload = Workload(["m1", "m2", "m3"], job=[0, 0, 1], job_ids=["a", "b"], demand={"cpu": [2.0, 2.0, 1.0]})
    >>> problem = Utility(Instance(cluster, workload))
    >>> model = build_pyomo(problem)
    >>> solve_pyomo(model, load_profile("exact")).objective, decode(model, problem).nodes.tolist()
    (1.0, [0, 1, 0])
    """
    posed, before = problem.apart() if per_pair else problem, _before(problem, limit)
    return whole_pyomo(posed.program(before), problem.name, before, unit=-1 if before else -GRID)


def _before(problem: Utility, limit: Number | float | None) -> tuple[Number, ...]:
    """The argument of the program for a limit."""
    return () if limit is None else (exact(-_units(problem, limit), GRID),)


def _units(problem: Utility, limit: Number | float) -> int:
    """The limit in units, rounded like the tables; UsageError if not even all tasks together reach it."""
    units = round(rational_limit(limit, "a lowest utility") * GRID)
    if units > problem.saturated_units:
        most = problem.saturated_units / GRID
        raise UsageError(f"limit={limit}: the lowest utility is at most {most:g}, even with every task placed")
    return units


@of_problem(Utility)
def compact_size(problem: Utility, limit: Number | float | None = None) -> ModelSize:
    """The size of `build_pyomo`'s model: variables for jobs' kinds and hosts, patterns, and steps of utility."""
    return size_of(problem.program(_before(problem, limit)))


@of_problem(Utility)
def literal_size(problem: Utility, limit: Number | float | None = None) -> ModelSize:
    """The size of `build_pulp`'s model: a variable for each job, kind and tracker, and for each entry of a table.

    With a `limit` it is hardly smaller.
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
    >>> from optsched.core.instance import Cluster, Instance, Workload
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
        # `starved` excludes minus infinity; here it counts as -1, and no finite value is lower.
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
        # Half a unit of 2^-20 less, so that rounding excludes nothing that reaches it.
        lowest.lowBound = (units - 0.5) / GRID
        shares = (share[:, problem.node_type].tolist() for share in (problem.map_share, problem.reduce_share))
        used = (one * count for pair in zip(counts, shares, strict=True) for count, one in priced(*pair))
        model.setObjective(pulp.lpSum(used))
    model.maps, model.reduces = (by_ids(jobs, nodes, hosts) for hosts in counts)
    model.lowest = lowest
    return model


def _literal_counts(
    model: Any, problem: Utility, kind: int, names: tuple[list[str], list[str]]
) -> tuple[list[list[Any]], list[list[Any]]]:
    """Add the tasks of a kind on trackers, and an entry of each job's table for each number of them; one is chosen."""
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
    demands = problem.items.demand // unit
    free, hosts = (problem.free // unit).tolist(), [row for kind in counts for row in kind]
    for position, resource in enumerate(injective_names(problem.resources)):
        taking = [(row, need) for row, need in zip(hosts, demands[:, position].tolist(), strict=True) if need]
        for column, node in enumerate(nodes):
            used = [need * row[column] for row, need in taking]
            model.addConstraint(pulp.lpSum(used) <= free[column][position], f"capacity.{resource}.{node}")


def _decode_literal(model: Any, problem: Utility) -> Placement:
    shape = len(problem.jobs), len(problem.instance.cluster)
    maps, reduces = (
        np.array([int_of(count) for count in counts.values()], dtype=np.int64).reshape(shape)
        for counts in (model.maps, model.reduces)
    )
    return problem.placement_of(Allocation(maps, reduces))


def _started_literal(model: Any, problem: Utility, placement: Placement) -> Entries:
    for variables, counts in zip((model.maps, model.reduces), problem.allocated(placement), strict=True):
        yield from zip(variables.values(), counts.ravel().tolist(), strict=True)
    yield model.lowest, float(problem.objective(placement)[0])


decode, start_values = said_by(Utility, PROGRAM, Way(_decode_literal, _started_literal))
