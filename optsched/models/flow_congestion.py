"""Models of `flow-congestion`: tasks to slots at least flow-rate penalty, with the load that they add (Hsu and Freeh).

The load cost of a node depends on the whole set of its tasks, including the standard deviation. Both models therefore
choose sets from a list with their costs: patterns, how many tasks of each type. Costs are whole numbers of the
problem's units, 2^-20 MB/s, so that every difference is larger than a solver's tolerance.

The compact model of `build_pyomo` counts: classes of identical tasks, hosts of identical nodes, and how many nodes of a
host take each pattern.

=================== ========================================================================================
component           what it is
=================== ========================================================================================
KINDS               map and reduce
CLASSES, HOSTS      classes of equal tasks, hosts of equal nodes, each by the id of its first
PATTERNS            (host, number): nonempty sets of tasks that a node of the host can take
PAIRS               (class, host) with a slot for the class's kind
members, nodes      ids of the tasks of each class; ids of the nodes of each host
load_cost[h,p]      load cost of a node of the host with the pattern
read_cost[c,h]      what a task of the class pays there for reading
choose[h,p]         whole: nodes of the host with the pattern
place[c,h]          whole: tasks of the class on nodes of the host
one_pattern[h]      no more patterns than nodes
filled[h,t]         tasks of the type (same kind and rates) on the host are those of its patterns
class_supply[c]     no more tasks than the class has
cardinality[k]      the required number of tasks of the kind is placed
objective           least cost
=================== ========================================================================================

With `per_pair` each task is its own class and each node its own host: `place[t,n]` is 1 if the task runs on the node.

The literal model of `build_pulp` has Hsu and Freeh's arcs from tasks to compute nodes, binary `place.t.n`, and `skip.t`
for a task that waits. Instead of the arcs from nodes to the sink, it has the linearisation that the literal effective
load needs: a binary `pattern.n.number` for each set of tasks on each node. Constraints: `task.t`, `one_pattern.n`,
`filled.n.type`, `cardinality.kind`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pulp

from optsched.core.instance import KINDS, Ints
from optsched.models.base import (
    BINARIES,
    MAX_VARIABLES,
    ModelSize,
    ids,
    linear,
    model_of,
    of_problem,
    refuse_too_large,
    said_by,
)
from optsched.models.programs import PROGRAM, shared, size_of, whole_pyomo
from optsched.problems.base import GRID
from optsched.problems.flow_congestion import FlowCongestion
from optsched.solvers.algebraic import injective_names

__all__ = ["build_pulp", "build_pyomo", "compact_size", "decode", "literal_size", "start_values"]

#: How many units of each program's objective are one of the component's.
OBJECTIVE_UNITS = (GRID, 1)


@model_of(FlowCongestion, shared=shared)
def build_pyomo(problem: FlowCongestion, *, per_pair: bool = False) -> Any:
    """Build the compact model, with whole variables; its objective is in units of 2^-20 MB/s.

    `per_pair` is as in `ModelModule.build_pyomo`.

    Raises
    ------
    TooLarge
        If there are too many patterns to list.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> from optsched.solvers.algebraic import solve_pyomo
    >>> from optsched.solvers.profiles import load_profile
    >>> cluster = Cluster(["n1", "n2"], slots=[2, 2], rate_in=[85, 85])
    >>> problem = FlowCongestion(Instance(cluster, Workload(["t1", "t2"], rate_in=[9.14, 9.14])))
    >>> model = build_pyomo(problem)
    >>> f"{solve_pyomo(model, load_profile('exact')).objective / problem.grid:.3f}"
    '56.806'
    >>> decode(model, problem).nodes.tolist(), list(model.PATTERNS)
    ([0, 1], [('n1', 1), ('n1', 2)])
    """
    return whole_pyomo((problem.apart() if per_pair else problem).program(), problem.name)


def _sets(problem: FlowCongestion, node: int) -> Iterator[Ints]:
    """Every nonempty set of tasks that the node can take: how many of each type."""
    choices = []
    for kind in problem.kinds:
        types = np.flatnonzero(problem.type_kind == kind).tolist()
        most = int(problem.slots[kind, node])
        choices.append([some for size in range(most + 1) for some in combinations_with_replacement(types, size)])
    for parts in product(*choices):
        amounts = np.bincount(sum(parts, ()), minlength=len(problem.type_kind)).astype(np.int64)
        if amounts.any() and (amounts <= problem.types.size).all():
            yield amounts


@of_problem(FlowCongestion)
def compact_size(problem: FlowCongestion) -> ModelSize:
    """The size of `build_pyomo`'s model: a variable for each class and kind of node, and each set of the latter.

    Raises
    ------
    TooLarge
        If there are too many patterns to list.
    """
    return size_of(problem.program())


@of_problem(FlowCongestion)
def literal_size(problem: FlowCongestion) -> ModelSize:
    """The size of `build_pulp`'s model: a variable for each task, each pair with a slot, and each set of each node."""
    hosts = range(len(problem.hosts.first))
    sets = sum((len(problem.patterns(host)) - 1) * int(problem.hosts.size[host]) for host in hosts)
    tasks, nodes = len(problem.tasks), len(problem.idle_nodes)
    offers = [int(np.count_nonzero(problem.slots[kind])) for kind in problem.kinds]
    pairs = sum(offers[kind] for kind in problem.kind.tolist())
    filled = sum(offers[kind] for kind in problem.type_kind.tolist())
    kinds = len(set(problem.kind.tolist()))
    rows = tasks + nodes + filled + kinds
    return ModelSize(tasks + pairs + sets, rows, 2 * tasks + 3 * pairs + sets * (2 + len(problem.type_kind)))


@model_of(FlowCongestion)
def build_pulp(problem: FlowCongestion, *, max_variables: int = MAX_VARIABLES) -> Any:
    """Build the literal program: an arc for each task and node, and a pattern for each node.

    Its attribute `place` is a dict from (task id, node id) to the variable; the objective is in units of 2^-20
    MB/s.

    Raises
    ------
    TooLarge
        If it has more than `max_variables` variables, or there are too many patterns to list.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> problem = FlowCongestion(Instance(Cluster(["a"], rate_in=[85]), Workload(["t"], rate_in=[2])))
    >>> [variable.name for variable in build_pulp(problem).variables()]
    ['pattern.a.1', 'place.t.a', 'skip.t']
    """
    refuse_too_large(problem, literal_size(problem), max_variables, "build_pyomo")
    tasks, nodes = ids(problem, problem.idle_nodes)
    task_names, node_names = injective_names(tasks), injective_names(nodes)
    type_names = [task_names[first] for first in problem.types.first.tolist()]
    kind = problem.kind.tolist()
    slots = problem.slots[:, problem.idle_nodes]
    read = problem.read_units[problem.classes.of_task].tolist()

    model = pulp.LpProblem(problem.name, pulp.LpMinimize)
    place = {
        (row, column): model.add_variable(f"place.{task}.{node}", 0, 1, "Integer")
        for row, task in enumerate(task_names)
        for column, node in enumerate(node_names)
        if slots[kind[row], column]
    }
    skip = [model.add_variable(f"skip.{task}", 0, 1, "Integer") for task in task_names]
    sets = [list(_sets(problem, node)) for node in problem.idle_nodes.tolist()]
    pattern = [
        [model.add_variable(f"pattern.{node}.{number}", 0, 1, "Integer") for number in range(1, len(listed) + 1)]
        for node, listed in zip(node_names, sets, strict=True)
    ]
    terms = [(arc, read[row][column]) for (row, column), arc in place.items()]
    for column, (listed, chosen) in enumerate(zip(sets, pattern, strict=True)):
        terms.extend(zip(chosen, problem.load_units(column, np.array(listed)).tolist(), strict=True))
    model.setObjective(linear(terms))

    for row, task in enumerate(task_names):
        arcs = [place[row, column] for column in range(len(nodes)) if (row, column) in place]
        model.addConstraint(pulp.lpSum([*arcs, skip[row]]) == 1, f"task.{task}")
    for column, node in enumerate(node_names):
        model.addConstraint(pulp.lpSum(pattern[column]) <= 1, f"one_pattern.{node}")
        for number, (name, members) in enumerate(zip(type_names, problem.types.members, strict=True)):
            if slots[problem.type_kind[number], column]:
                sent = [(place[row, column], 1) for row in members.tolist()]
                held = [
                    (chosen, -int(amounts[number]))
                    for chosen, amounts in zip(pattern[column], sets[column], strict=True)
                ]
                model.addConstraint(linear([*sent, *held]) == 0, f"filled.{node}.{name}")
    for which in sorted(set(kind)):
        waiting = [skip[row] for row in range(len(tasks)) if kind[row] == which]
        model.addConstraint(
            pulp.lpSum(waiting) == len(waiting) - int(problem.counts[which]), f"cardinality.{KINDS[which]}"
        )
    model.place = {(tasks[row], nodes[column]): arc for (row, column), arc in place.items()}
    return model


decode, start_values = said_by(FlowCongestion, PROGRAM, BINARIES)
