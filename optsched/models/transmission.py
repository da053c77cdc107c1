"""Models of `transmission`: maps and reduces placed at once, a bilinear program (Shen et al. 2016) in two linear forms.

Both have Shen et al.'s x_jp and y_fi; they differ in how they linearise the products. The compact model of
`build_pyomo` is the program of the problem (`Transmission.program`). If no product of a size and a distance needs
rounding, it sends the output of each class of equal maps through a network, to all reduces at once (`flow`). Otherwise,
or if asked for, it is RLT-1 with a product for each pair of map and reduce (`pairs`; Shen et al. 2016, note 3, 3). x_jp
and y_fi are whole, everything else is continuous.

======================= ====================================================================================
component               what it is
======================= ====================================================================================
CLASSES, REDUCES, HOSTS classes of equal maps (in `flow`: of those with one reduce), by their first; reduces with a
                        node that they may use; nodes with idle map slots
members                 ids of the maps of each class
place[c,p]              whole: maps of the class on the node (x_jp); only nodes with idle map slots
run[f,i]                binary: reduce on the node (y_fi); only nodes that it may use
placed[c], runs[f]      expressions: all placed maps of the class; whether the reduce is placed
class_supply[c]         placed[c] is at most the size of the class
map_cardinality         map_count maps are placed
map_slots[p]            no node takes more maps than its idle map slots
reduce_once[f]          runs[f] is at most 1
reduce_cardinality      reduce_count reduces are placed
reduce_slots[i]         no node takes more reduces than its idle reduce slots
distinct[J,i]           at most one reduce of a job on a node
FLOWS                   `flow`: (class, node or None of the maps, node) along which output of the class may move
moved[c,p,i]            `flow`: MB of the class from node to node; from None if its maps are not placed
sent[c,p]               `flow`: no more leaves a node than its maps of the class have for all reduces
received[c,i]           `flow`: each node receives what its reduces need of the class
PRODUCTS                `pairs`: (class, reduce, node, node)
both[c,f,p,i]           `pairs`: maps of the class on one node while the reduce is on the other (z_jpfi)
both_of_map[c,f,p]      `pairs`: sum of both over i is place[c,p]; at most that, if not every task is placed
both_of_reduce[c,f,i]   `pairs`: sum of both over p is size run[f,i]; at most that, if not every task is placed
both_placed[...]        `pairs`: and at least that, except for tasks that are not placed
objective               least cost
======================= ====================================================================================

The literal model of `build_pulp` is the linearisation of Glover and of Kaufman and Broeckx (Shen et al. 2016, note 3,
2). It has binaries `x.j.p` and `y.f.i`, and `w.f.i`, which is at least the cost of fetching the reduce's input to the
node if it runs there: `shuffle.f.i`: w_fi >= sum of U_jpfi x_jp - M_fi (1 - y_fi), with U the cost of an entry between
two nodes and M_fi the sum over maps of the largest of them, which is valid.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pulp
import pyomo.environ as pyo

from optsched.core.errors import UsageError
from optsched.core.placement import NONE, Placement
from optsched.models.base import (
    MAX_VARIABLES,
    Entries,
    ModelSize,
    Way,
    binaries,
    chosen,
    grouped,
    host_of,
    linear,
    model_of,
    of_problem,
    placed_at,
    refuse_too_large,
    said_by,
)
from optsched.models.programs import program_of, shared, whole_pyomo
from optsched.problems.transmission import Transmission
from optsched.solvers.algebraic import injective_names

__all__ = ["FORMS", "build_pulp", "build_pyomo", "compact_size", "decode", "literal_size", "start_values"]

#: The ways to linearise the products of x and y in the compact model.
FORMS = ("flow", "pairs")


@model_of(Transmission, shared=shared)
def build_pyomo(problem: Transmission, *, form: str | None = None, per_pair: bool = False) -> Any:
    """Build the compact model, with whole and continuous variables (parameters as in `ModelModule.build_pyomo`).

    Parameters
    ----------
    form
        `flow` or `pairs`; by default `flow` if `problem.grid` is 1. Otherwise `flow` would not round the cost of each
        entry, and differ from the problem in the last digits.

    Raises
    ------
    UsageError
        For another form, or `flow` if costs are rounded.

    Examples
    --------
    >>> from optsched.core.instance import MAP, REDUCE, Cluster, Instance, Ragged, Shuffle, Topology, Workload
    >>> from optsched.solvers.algebraic import solve_pyomo
    >>> from optsched.solvers.profiles import load_profile
    >>> cluster = Cluster(["D1", "D2"], topology=Topology("distance", [[0.0, 4.0], [4.0, 0.0]]))
    >>> shuffle = Shuffle(map=[0], reduce=[1], size=[10.0])
    >>> workload = Workload(
    ...     ["M1", "R1"], kind=[MAP, REDUCE], size=[128.0, 0.0], replicas=Ragged.from_rows([[1], []]), shuffle=shuffle)
    >>> problem = Transmission(Instance(cluster, workload))
    >>> model = build_pyomo(problem)
    >>> solve_pyomo(model, load_profile("exact")).objective, decode(model, problem).nodes.tolist()
    (0.0, [1, 1])
    """
    form = form or problem.form
    if form not in FORMS:
        raise UsageError(f"form={form!r}: give one of {', '.join(FORMS)}")
    if form == "flow" and problem.grid != 1:
        raise UsageError('form="flow" needs whole sizes and distances: use form="pairs"')
    posed = problem.in_form(form).apart() if per_pair else problem.in_form(form)
    model = whole_pyomo(posed.program(), problem.name, unit=problem.grid)
    model.form = form
    on_class, of_reduce = grouped(model.place, 0), grouped(model.run, 0)
    model.placed = pyo.Expression(
        model.CLASSES,
        rule=lambda model, c: pyo.quicksum(model.place[pair] for pair in on_class.get(c, ())),
        doc="maps of the class that are placed",
    )
    reduces = _names(problem)[1]
    model.runs = pyo.Expression(
        reduces,
        rule=lambda model, f: pyo.quicksum(model.run[pair] for pair in of_reduce.get(f, ())),
        doc="1 if the reduce is placed",
    )
    return model


def _names(problem: Transmission) -> tuple[list[str], list[str], list[str]]:
    """Ids of maps, reduces and nodes."""
    tasks = problem.task_ids
    return tasks[problem.maps].tolist(), tasks[problem.reduces].tolist(), problem.instance.cluster.node_ids.tolist()


@of_problem(Transmission)
def compact_size(problem: Transmission) -> ModelSize:
    """An upper limit on the size of `build_pyomo`'s model: variables for places, and flows or products of pairs."""
    sends = problem.sent[:, problem.map_classes.first]
    maps, hosts, nodes = sends.shape[1], int(np.count_nonzero(problem.map_capacity)), len(problem.distance)
    reduces, runs = len(problem.reduces), int(np.count_nonzero(problem.usable))
    senders, sent = int(sends.any(axis=0).sum()), int(np.count_nonzero(sends))
    place = maps * hosts
    variables, rows = place + runs, reduces + maps + 2 + hosts + nodes + min(runs, reduces * nodes)
    terms = 4 * place + 5 * runs
    if problem.form == "flow":
        moved, ties = senders * (hosts + 1) * nodes, senders * (hosts + 1 + nodes)
        return ModelSize(variables + moved, rows + ties, terms + 3 * moved + senders * (2 * hosts + runs))
    both, ties = sent * hosts * nodes, 2 * sent * (hosts + nodes)
    return ModelSize(variables + both, rows + ties, terms + 7 * both + ties)


@of_problem(Transmission)
def literal_size(problem: Transmission) -> ModelSize:
    """The size of `build_pulp`'s model: x_jp, y_fi and w_fi, and a long constraint for each w_fi."""
    usable, limited, nodes = problem.usable, problem.limited, len(problem.distance)
    maps, hosts, places = len(problem.maps), int(np.count_nonzero(problem.map_capacity)), int(np.count_nonzero(usable))
    rows, columns = np.nonzero(usable & limited[:, None])
    distinct = len(np.unique(problem.job[rows] * nodes + columns))
    on_nodes = int(np.count_nonzero(usable.any(axis=0)))
    fetched = int(usable.sum(axis=1) @ np.bincount(problem.entries.reduce, minlength=len(usable))) * hosts
    return ModelSize(
        maps * hosts + 2 * places,
        maps + hosts + len(usable) + on_nodes + distinct + places + 2,
        4 * maps * hosts + 8 * places + fetched,
    )


@model_of(Transmission)
def build_pulp(problem: Transmission, *, max_variables: int = MAX_VARIABLES) -> Any:
    """Build the literal linearisation of Shen et al.'s bilinear program.

    Its attributes `x` and `y` are dicts from (task id, node id) to the variable.

    Examples
    --------
    >>> from optsched.core.instance import MAP, REDUCE, Cluster, Instance, Ragged, Shuffle, Topology, Workload
    >>> cluster = Cluster(["D1", "D2"], topology=Topology("distance", [[0.0, 4.0], [4.0, 0.0]]))
    >>> shuffle = Shuffle(map=[0], reduce=[1], size=[10.0])
    >>> workload = Workload(
    ...     ["M1", "R1"], kind=[MAP, REDUCE], size=[128.0, 0.0], replicas=Ragged.from_rows([[1], []]), shuffle=shuffle)
    >>> model = build_pulp(Transmission(Instance(cluster, workload)))
    >>> print(next(row for row in model.constraints() if row.name == "shuffle.R1.D2"))
    w.R1.D2 - 40.0*x.M1.D1 - 40.0*y.R1.D2 >= -40.0
    """
    refuse_too_large(problem, literal_size(problem), max_variables, 'route="search" or build_pyomo')
    maps, reduces, nodes = _names(problem)
    map_names, reduce_names, node_names = injective_names(maps), injective_names(reduces), injective_names(nodes)
    units, grid = problem.units_between(), problem.grid
    model = pulp.LpProblem(problem.name, pulp.LpMinimize)
    hosts = np.flatnonzero(problem.map_capacity).tolist()
    x = {
        (j, p): model.add_variable(f"x.{map_names[j]}.{node_names[p]}", cat=pulp.LpBinary)
        for j in range(len(maps))
        for p in hosts
    }
    usable = list(map(tuple, np.argwhere(problem.usable).tolist()))
    y = {(f, i): model.add_variable(f"y.{reduce_names[f]}.{node_names[i]}", cat=pulp.LpBinary) for f, i in usable}
    w = {(f, i): model.add_variable(f"w.{reduce_names[f]}.{node_names[i]}", 0) for f, i in usable}
    terms = [(variable, int(problem.map_units[pair]) / grid) for pair, variable in x.items()]
    terms += [(variable, int(problem.reduce_units[pair]) / grid) for pair, variable in y.items()]
    model.setObjective(linear([*terms, *((variable, 1.0) for variable in w.values())]))

    for j, name in enumerate(map_names):
        model.addConstraint(pulp.lpSum(x[j, p] for p in hosts) <= 1, f"map.{name}")
    model.addConstraint(pulp.lpSum(x.values()) == problem.map_count, "maps")
    for p in hosts:
        here = pulp.lpSum(x[j, p] for j in range(len(maps)))
        model.addConstraint(here <= int(problem.map_capacity[p]), f"map_slots.{node_names[p]}")
    of_reduce, of_node, of_job = (defaultdict[Any, list[Any]](list) for _ in range(3))
    for (f, i), variable in y.items():
        of_reduce[f].append(variable)
        of_node[i].append(variable)
        if problem.limited[f]:
            of_job[int(problem.job[f]), i].append(variable)
    for f, name in enumerate(reduce_names):
        model.addConstraint(pulp.lpSum(of_reduce[f]) <= 1, f"reduce.{name}")
    model.addConstraint(pulp.lpSum(y.values()) == problem.reduce_count, "reduces")
    for i, variables in of_node.items():
        model.addConstraint(pulp.lpSum(variables) <= int(problem.reduce_capacity[i]), f"reduce_slots.{node_names[i]}")
    job_names = injective_names(problem.instance.workload.job_ids.tolist())
    for (job, i), variables in of_job.items():
        model.addConstraint(pulp.lpSum(variables) <= 1, f"distinct.{job_names[job]}.{node_names[i]}")
    for f, name in enumerate(reduce_names):
        senders = np.flatnonzero(problem.sent[f]).tolist() if hosts else []
        costs = {j: units[j, f] for j in senders}
        for i in (i for g, i in usable if g == f):
            most = sum(int(costs[j][hosts, i].max()) for j in senders) / grid  # M_fi
            moved = [(x[j, p], int(costs[j][p, i])) for j in senders for p in hosts]
            fetched = linear([(variable, cost / grid) for variable, cost in moved if cost])
            model.addConstraint(w[f, i] >= fetched - most * (1 - y[f, i]), f"shuffle.{name}.{node_names[i]}")
    model.x = {(maps[j], nodes[p]): variable for (j, p), variable in x.items()}
    model.y, model.w = ({(reduces[f], nodes[i]): one for (f, i), one in table.items()} for table in (y, w))
    return model


def _started_literal(model: Any, problem: Transmission, placement: Placement) -> Entries:
    host, on = host_of(problem, placement), problem.nodes_of(placement)
    yield from binaries({**model.x, **model.y}, host)
    reduces, fetched = problem.task_ids[problem.reduces].tolist(), Counter[tuple[str, str]]()
    for (j, f), units in problem.units_between().items():
        sender, receiver = on[problem.maps[j]], on[problem.reduces[f]]
        if NONE not in (sender, receiver):
            fetched[reduces[f], host[reduces[f]]] += int(units[sender, receiver])
    yield from ((variable, fetched[pair] / problem.grid) for pair, variable in model.w.items())


decode, start_values = said_by(
    Transmission,
    program_of(lambda model, problem: problem.in_form(model.form)),
    Way(
        lambda model, problem: placed_at(problem, chosen(model.x) | chosen(model.y)),
        _started_literal,
    ),
)
