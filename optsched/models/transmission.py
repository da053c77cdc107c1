"""Models of `transmission`: maps and reduces placed at once, a bilinear program (Shen et al. 2016) in two linear forms.

Both have Shen et al.'s x_jp and y_fi; they differ in what stands for the products of them. The compact model of
`build_pyomo` sends the output of each class of equal maps through a network, all reduces at once, where no product of a
size and a distance needs rounding (`flow`); else, and where asked for, it is RLT-1 with a product a pair of map and
reduce (`pairs`; Shen et al. 2016, note 3, 3). x_jp and y_fi are whole, all else is continuous.

======================= ====================================================================================
component               what it is
======================= ====================================================================================
CLASSES, REDUCES, NODES classes of equal maps (in `flow`: of those with one reduce), by their first; reduces; nodes
members, size           ids of the maps of each class; how many they are
place[c,p]              whole: maps of the class on the node (x_jp); only nodes with idle map slots
run[f,i]                binary: reduce on the node (y_fi); only nodes that it may use
placed[c], runs[f]      expressions: all placed maps of the class; whether the reduce is placed
class_supply[c]         placed[c] is at most size[c]
map_cardinality         map_count maps are placed
map_slots[p]            no node takes more maps than its idle map slots
reduce_once[f]          runs[f] is at most 1
reduce_cardinality      reduce_count reduces are placed
reduce_slots[i]         no node takes more reduces than its idle reduce slots
distinct[J,i]           one reduce of a job on a node at most
FLOWS                   `flow`: (class, node or None of the maps, node) along which output of the class may move
moved[c,p,i]            `flow`: MB of the class from node to node; from None where its maps are not placed
sent[c,p]               `flow`: no more leaves a node than its maps of the class have for all reduces
received[c,i]           `flow`: each node receives what its reduces need of the class
PRODUCTS                `pairs`: (class, reduce, node, node)
both[c,f,p,i]           `pairs`: maps of the class on one node while the reduce is on the other (z_jpfi)
both_of_map[c,f,p]      `pairs`: sum of both over i is place[c,p]; at most that, where not every task is placed
both_of_reduce[c,f,i]   `pairs`: sum of both over p is size[c] run[f,i]; at most that, where not every task is placed
both_placed[...]        `pairs`: and no less, but for tasks that are not placed
objective               least cost
======================= ====================================================================================

The literal model of `build_pulp` is the linearisation of Glover and of Kaufman and Broeckx (Shen et al. 2016, note 3,
2): binaries `x.j.p` and `y.f.i`, and `w.f.i`, which is at least the cost of fetching the reduce's input to the node
if it runs there: `shuffle.f.i`: w_fi >= sum of U_jpfi x_jp - M_fi (1 - y_fi), with U the cost of an entry between two
nodes and M_fi the sum over maps of the largest of them, which is valid.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pulp
import pyomo.environ as pyo

from optsched.core.errors import UsageError
from optsched.core.instance import Ints
from optsched.core.placement import Placement
from optsched.models.base import (
    MAX_VARIABLES,
    ModelSize,
    add_classes,
    by_ids,
    chosen,
    dealt,
    decoder,
    grouped,
    linear,
    model_of,
    of_problem,
    placed_at,
    refuse_too_large,
)
from optsched.models.starts import Entries, binaries, counted, host_of, starter
from optsched.problems.assignment import TaskClasses
from optsched.problems.transmission import Transmission
from optsched.solvers.algebraic import injective_names

__all__ = ["FORMS", "build_pulp", "build_pyomo", "compact_size", "decode", "literal_size", "start_values"]

#: What stands for the products of x and y in the compact model.
FORMS = ("flow", "pairs")


@model_of(Transmission)
def build_pyomo(problem: Transmission, *, form: str | None = None, per_pair: bool = False) -> Any:
    """Build the compact model, with whole and continuous variables (parameters as in `ModelModule.build_pyomo`).

    Parameters
    ----------
    form
        `flow` or `pairs`; by default `flow` where `problem.grid` is 1. Elsewhere `flow` would not round what each
        entry costs, and differ from the problem in the last digits.

    Raises
    ------
    UsageError
        For another form, or `flow` where costs are rounded.

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
    form = form or ("flow" if problem.grid == 1 else "pairs")
    if form not in FORMS:
        raise UsageError(f"form={form!r}: give one of {', '.join(FORMS)}")
    if form == "flow" and problem.grid != 1:
        raise UsageError('form="flow" needs whole sizes and distances: use form="pairs"')
    model = pyo.ConcreteModel(problem.name)
    shuffle = _Shuffle(problem)
    classes = _add_places(model, problem, None if per_pair else shuffle.classes(form))
    add_products = _add_flow if form == "flow" else _add_pairs
    cost = add_products(model, problem, classes, shuffle)
    model.objective = pyo.Objective(expr=cost + _linear(model, problem, classes))
    return model


class _Shuffle:
    """Entries of a problem as matrices: MB of each map for each reduce, and the cost of a pair between nodes."""

    def __init__(self, problem: Transmission) -> None:
        self.problem = problem
        maps, reduces = len(problem.maps), len(problem.reduces)
        self.entries: dict[tuple[int, int], list[int]] = defaultdict(list)
        for entry, pair in enumerate(zip(problem.entries.map.tolist(), problem.entries.reduce.tolist(), strict=True)):
            self.entries[pair].append(entry)
        self.sent = np.zeros((maps, reduces))
        np.add.at(self.sent, (problem.entries.map, problem.entries.reduce), problem.entries.size)

    def units(self, one: int, other: int) -> Ints:
        """Cost of a pair of map and reduce in units, for each node of the map (row) and of the reduce."""
        nodes = len(self.problem.distance)
        return sum(
            (self.problem.entry_units(entry) for entry in self.entries[one, other]), np.zeros((nodes, nodes), int)
        )

    def classes(self, form: str) -> TaskClasses:
        """Maps that cost the same on every node and send the same to every reduce.

        In `flow` those that send to several reduces stay alone: a flow could serve each reduce from the one of them
        that is near, where each reduce needs the output of all of them.
        """
        sizes: dict[int, list[tuple[int, float]]] = defaultdict(list)
        entries = self.problem.entries
        for one, other, size in zip(entries.map.tolist(), entries.reduce.tolist(), entries.size.tolist(), strict=True):
            sizes[one].append((other, size))
        rows = [(row.tobytes(), sizes[position]) for position, row in enumerate(self.problem.map_units)]
        alone = [form == "flow" and len({other for other, _ in sent}) > 1 for _, sent in rows]
        return TaskClasses.from_keys(
            [
                (position if alone[position] else -1, costs, tuple(sorted(sent)))
                for position, (costs, sent) in enumerate(rows)
            ]
        )


def _names(problem: Transmission) -> tuple[list[str], list[str], list[str]]:
    """Ids of maps, reduces and nodes."""
    tasks = problem.instance.workload.task_ids[problem.tasks]
    return tasks[problem.maps].tolist(), tasks[problem.reduces].tolist(), problem.instance.cluster.node_ids.tolist()


def _hosts(problem: Transmission) -> list[str]:
    """Ids of the nodes with idle map slots."""
    found: list[str] = problem.instance.cluster.node_ids[problem.map_capacity > 0].tolist()
    return found


def _add_places(model: Any, problem: Transmission, classes: TaskClasses | None) -> TaskClasses:
    """Where maps and reduces are, and all constraints on that; returns the classes, each map alone where None."""
    maps, reduces, nodes = _names(problem)
    names, classes = add_classes(model, maps, classes)
    sizes = dict(zip(names, classes.size.tolist(), strict=True))
    hosts = _hosts(problem)
    model.REDUCES = pyo.Set(initialize=reduces)
    model.NODES = pyo.Set(initialize=nodes)
    model.place = pyo.Var(names, hosts, within=pyo.NonNegativeIntegers, bounds=lambda model, c, p: (0, sizes[c]))
    usable = np.argwhere(problem.usable).tolist()
    model.run = pyo.Var([(reduces[row], nodes[column]) for row, column in usable], within=pyo.Binary)
    of_reduce, on_node = grouped(model.run, 0), grouped(model.run, 1)
    jobs = problem.instance.workload.job_ids.tolist()
    limited = [(jobs[problem.job[row]], reduces[row], nodes[column]) for row, column in usable if problem.limited[row]]
    of_job = grouped(limited, 0, 2)

    def distinct(model: Any, j: str, i: str) -> Any:
        return pyo.quicksum(model.run[f, i] for _, f, _ in of_job[j, i]) <= 1

    def runs(model: Any, f: str) -> Any:
        return pyo.quicksum(model.run[pair] for pair in of_reduce.get(f, ()))

    model.placed = pyo.Expression(names, rule=lambda model, c: pyo.quicksum(model.place[c, p] for p in hosts))
    model.runs = pyo.Expression(reduces, rule=runs)
    if usable:
        model.reduce_once = pyo.Constraint(list(of_reduce), rule=lambda model, f: model.runs[f] <= 1)
        model.reduce_cardinality = pyo.Constraint(expr=pyo.quicksum(model.runs.values()) == problem.reduce_count)
    if hosts and names:
        model.class_supply = pyo.Constraint(names, rule=lambda model, c: model.placed[c] <= model.size[c])
        model.map_cardinality = pyo.Constraint(expr=pyo.quicksum(model.placed.values()) == problem.map_count)
        room = dict(zip(nodes, problem.map_capacity.tolist(), strict=True))
        model.map_slots = pyo.Constraint(
            hosts, rule=lambda model, p: pyo.quicksum(model.place[c, p] for c in names) <= room[p]
        )
    slots = dict(zip(nodes, problem.reduce_capacity.tolist(), strict=True))
    model.reduce_slots = pyo.Constraint(
        list(on_node), rule=lambda model, i: pyo.quicksum(model.run[pair] for pair in on_node[i]) <= slots[i]
    )
    model.distinct = pyo.Constraint([pair for pair, rivals in of_job.items() if len(rivals) > 1], rule=distinct)
    return classes


def _linear(model: Any, problem: Transmission, classes: TaskClasses) -> Any:
    """The cost of blocks that move to maps, and of what moves between a pending task and one that has a node."""
    maps, reduces, nodes = _names(problem)
    of_class = by_ids([maps[row] for row in classes.first.tolist()], nodes, problem.map_units[classes.first].tolist())
    of_reduce = by_ids(reduces, nodes, problem.reduce_units.tolist())
    terms = [of_class[pair] / problem.grid * variable for pair, variable in model.place.items()]
    terms += [of_reduce[pair] / problem.grid * variable for pair, variable in model.run.items()]
    return pyo.quicksum(terms)


def _add_flow(model: Any, problem: Transmission, classes: TaskClasses, shuffle: _Shuffle) -> Any:
    """Output of each class as a flow from the nodes of its maps to those of the reduces; returns what it costs."""
    maps, reduces, _ = _names(problem)
    sent = {
        maps[first]: dict(zip(reduces, shuffle.sent[first].tolist(), strict=True)) for first in classes.first.tolist()
    }
    output = {maps[first]: float(shuffle.sent[first].sum()) for first in classes.first.tolist()}
    all_placed = problem.map_count == len(problem.maps)
    sources: list[str | None] = [*_hosts(problem), *[None] * (not all_placed)]
    runs_on = grouped(model.run, 1)
    senders = [name for name in model.CLASSES if any(sent[name].values())]
    flows = [(c, p, i) for c in senders for p in sources for i in runs_on]
    model.FLOWS = pyo.Set(initialize=flows, dimen=3)
    model.moved = pyo.Var(model.FLOWS, within=pyo.NonNegativeReals)

    def leaves(model: Any, c: str, p: str | None) -> Any:
        here = model.size[c] - model.placed[c] if p is None else model.place[c, p]
        return pyo.quicksum(model.moved[c, p, i] for i in runs_on) <= output[c] * here

    def arrives(model: Any, c: str, i: str) -> Any:
        needed = pyo.quicksum(sent[c][f] * model.run[f, i] for f, _ in runs_on[i])
        return pyo.quicksum(model.moved[c, p, i] for p in sources) == model.size[c] * needed

    if flows:
        model.sent = pyo.Constraint([(c, p) for c in senders for p in sources], rule=leaves)
        model.received = pyo.Constraint([(c, i) for c in senders for i in runs_on], rule=arrives)
    column, distance = problem.instance.node_index, problem.distance
    return pyo.quicksum(
        float(distance[column[p], column[i]]) * model.moved[c, p, i] for c, p, i in flows if p is not None
    )


def _add_pairs(model: Any, problem: Transmission, classes: TaskClasses, shuffle: _Shuffle) -> Any:
    """RLT-1: a product for each pair of class and reduce and each pair of nodes; returns what they cost."""
    maps, reduces, _ = _names(problem)
    hosts, column, of_reduce = _hosts(problem), problem.instance.node_index, grouped(model.run, 0)
    costs = {
        (maps[first], reduces[other]): shuffle.units(first, other)
        for first in classes.first.tolist()
        for other in np.flatnonzero(shuffle.sent[first]).tolist()
        if hosts and reduces[other] in of_reduce
    }
    products = [(c, f, p, i) for c, f in costs for p in hosts for _, i in of_reduce[f]]
    model.PRODUCTS = pyo.Set(initialize=products, dimen=4)
    model.both = pyo.Var(model.PRODUCTS, within=pyo.NonNegativeReals)
    if costs:
        _tie_products(model, problem.map_count == len(problem.maps) and problem.reduce_count == len(problem.reduces))
    return pyo.quicksum(
        int(costs[c, f][column[p], column[i]]) / problem.grid * model.both[c, f, p, i] for c, f, p, i in products
    )


def _tie_products(model: Any, all_placed: bool) -> None:
    """Tie each product to where its maps and its reduce are."""
    of_map, of_reduce = grouped(model.PRODUCTS, 0, 1, 2), grouped(model.PRODUCTS, 0, 1, 3)

    def over(products: list[Any]) -> Any:
        return pyo.quicksum(model.both[product] for product in products)

    def both_of_map(model: Any, c: str, f: str, p: str) -> Any:
        most = model.place[c, p]
        return over(of_map[c, f, p]) == most if all_placed else over(of_map[c, f, p]) <= most

    def both_of_reduce(model: Any, c: str, f: str, i: str) -> Any:
        most = model.size[c] * model.run[f, i]
        return over(of_reduce[c, f, i]) == most if all_placed else over(of_reduce[c, f, i]) <= most

    model.both_of_map = pyo.Constraint(list(of_map), rule=both_of_map)
    model.both_of_reduce = pyo.Constraint(list(of_reduce), rule=both_of_reduce)
    if all_placed:
        return
    model.both_placed = pyo.ConstraintList()
    for (c, f, p), products in of_map.items():
        model.both_placed.add(over(products) >= model.place[c, p] - model.size[c] * (1 - model.runs[f]))
    for (c, f, i), products in of_reduce.items():
        idle = model.size[c] - model.placed[c]
        model.both_placed.add(over(products) >= model.size[c] * model.run[f, i] - idle)


@of_problem(Transmission)
def compact_size(problem: Transmission) -> ModelSize:
    """What `build_pyomo` would take, or less: variables for places, and flows or products between pairs of nodes."""
    form, shuffle = "flow" if problem.grid == 1 else "pairs", _Shuffle(problem)
    first = shuffle.classes(form).first
    maps, hosts, nodes = len(first), len(_hosts(problem)), len(problem.distance)
    reduces, runs = len(problem.reduces), int(np.count_nonzero(problem.usable))
    senders, sent = int(shuffle.sent[first].any(axis=1).sum()), int(np.count_nonzero(shuffle.sent[first]))
    place = maps * hosts
    variables, rows = place + runs, reduces + maps + 2 + hosts + nodes + min(runs, reduces * nodes)
    terms = 4 * place + 5 * runs
    if form == "flow":
        moved = senders * (hosts + 1) * nodes
        return ModelSize(
            variables + moved,
            rows + senders * (hosts + 1 + nodes),
            terms + 3 * moved + senders * (hosts + runs) + senders * hosts,
        )
    both = sent * hosts * nodes
    ties = 2 * sent * (hosts + nodes)
    return ModelSize(
        variables + both, rows + ties, terms + 5 * both + ties + sent * hosts * nodes + sent * nodes * hosts
    )


@of_problem(Transmission)
def literal_size(problem: Transmission) -> ModelSize:
    """What `build_pulp` would take: x_jp, y_fi and w_fi, and a long constraint for each w_fi."""
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
    shuffle, grid = _Shuffle(problem), problem.grid
    model = pulp.LpProblem(problem.name, pulp.LpMinimize)
    hosts = np.flatnonzero(problem.map_capacity).tolist()
    x = {
        (j, p): model.add_variable(f"x.{map_names[j]}.{node_names[p]}", cat=pulp.LpBinary)
        for j in range(len(maps))
        for p in hosts
    }
    usable = [(f, i) for f, i in np.argwhere(problem.usable).tolist()]
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
        senders = np.flatnonzero(shuffle.sent[:, f]).tolist() if hosts else []
        costs = {j: shuffle.units(j, f) for j in senders}
        for i in (i for g, i in usable if g == f):
            most = sum(int(costs[j][hosts, i].max()) for j in senders) / grid  # M_fi
            units = [(x[j, p], int(costs[j][p, i])) for j in senders for p in hosts]
            fetched = linear([(variable, cost / grid) for variable, cost in units if cost])
            model.addConstraint(w[f, i] >= fetched - most * (1 - y[f, i]), f"shuffle.{name}.{node_names[i]}")
    model.x = {(maps[j], nodes[p]): variable for (j, p), variable in x.items()}
    model.y = {(reduces[f], nodes[i]): variable for (f, i), variable in y.items()}
    return model


def _started_compact(model: Any, problem: Transmission, placement: Placement) -> Entries:
    host = host_of(problem, placement)
    counts = counted(model.members, host)
    yield from ((variable, counts[pair]) for pair, variable in model.place.items())
    yield from binaries(model.run, host)


def _started_literal(model: Any, problem: Transmission, placement: Placement) -> Entries:
    return binaries({**model.x, **model.y}, host_of(problem, placement))


decode = decoder(
    Transmission,
    compact=lambda model, problem: placed_at(problem, dealt(model) | chosen(model.run)),
    literal=lambda model, problem: placed_at(problem, chosen(model.x) | chosen(model.y)),
    started=_started_compact,
)
start_values = starter(Transmission, compact=_started_compact, literal=_started_literal)
