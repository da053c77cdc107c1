"""Models of `traffic`: tasks to datacenters, least traffic within a limit on the load (Sharmilarani et al., II.D).

The traffic is bilinear: what a map sends crosses where its reduce is elsewhere. The compact model of `build_pyomo`
counts maps of classes that nothing tells apart, and for each class and bundle of reduces how many maps are with the
bundle. Given where the reduces are, the classes are independent of each other. So this is as strong as the product of
every pair of variables.

==================================== ==================================================================================
component                            what it is
==================================== ==================================================================================
CENTERS                              datacenters
CLASSES, BUNDLES                     classes of equal maps, each by its first id; reduces that go together, likewise
PAIRS                                (class, bundle) of which one sends to the other
members, size                        ids of the maps of each class; how many they are
reduces, weight                      ids of the reduces of each bundle; how many they are
alone[c,d]                           what crosses for a map of the class there, were all that it sends to cross (MB)
settled[b,d]                         what crosses from maps that run or have ended, with the bundle there (MB)
send[c,b]                            what a map of the class sends to the bundle (MB)
map_room[d]                          maps that the datacenter takes, within its slots and the limit
reduce_room[d]                       reduces that it takes
place[c,d]                           maps of the class in the datacenter; whole
host[b,d]                            the bundle is in the datacenter; binary
together[c,b,d]                      maps of the class that are in the datacenter with the bundle
placed[c], hosted[b]                 every map, every bundle is somewhere
map_slots[d], reduce_slots[d]        no datacenter takes more than it has room for
with_maps[c,b,d], with_bundle[c,b,d] no more are together than there are maps, nor without the bundle
objective                            least traffic (MB)
==================================== ==================================================================================

With `per_pair` each map is a class of its own, and `place[t,n]` is 1 if the map or reduce runs on the node:

==================================== ==================================================================================
maps_in[m,d]                         expression: 1 if the map is in the datacenter
with_host[r,d]                       a reduce is in the datacenter of its bundle
node_slots[k,n]                      a node takes no more tasks of a kind than it has slots
==================================== ==================================================================================

The literal model of `build_pulp` has a binary `map.m.d` for each map and `reduces.b.d` for each bundle, and for each
map that sends to a bundle the named product `both.m.b.d` of the two, with constraints `product-map.m.b.d` and
`product-reduces.m.b.d`; beside these `placed.m`, `hosted.b`, `slots.d` and `reduce-slots.d`. A bundle is named by its
first reduce. The least load is found by a sequence of limits.
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
    add_classes,
    add_pairs,
    at_most,
    by_ids,
    chosen,
    dealt,
    decode_binaries,
    decoder,
    grouped,
    linear,
    model_of,
    of_problem,
    priced,
    refuse_too_large,
    whole_limit,
)
from optsched.models.own_rows import is_per_pair
from optsched.models.starts import Entries, binaries, counted, started_binaries, starter
from optsched.problems.traffic import Bundle, Traffic
from optsched.solvers.algebraic import injective_names

__all__ = ["build_pulp", "build_pyomo", "compact_size", "decode", "literal_size", "start_values"]


@model_of(Traffic)
def build_pyomo(problem: Traffic, limit: int | None = None, *, per_pair: bool = False) -> Any:
    """Build the compact model, with whole variables (parameters as in `ModelModule.build_pyomo`).

    With a `limit`, no datacenter takes more maps than that. It is a UsageError if the limit is no whole number, 0 or
    more, or nothing is feasible for a plain reason.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Ragged, Workload
    >>> from optsched.solvers.algebraic import solve_pyomo
    >>> from optsched.solvers.profiles import load_profile
    >>> cluster = Cluster(["a", "b"], datacenter=[0, 1], datacenter_ids=["east", "west"])
    >>> workload = Workload(["m1", "m2", "r"], kind=[0, 0, 1], replicas=Ragged.from_rows([[0], [1], []]),
    ...     size=[10, 10, 0], job=[0, 0, 0], job_ids=["j"], filter_ratio=[1.5])
    >>> problem = Traffic(Instance(cluster, workload))
    >>> model = build_pyomo(problem, limit=1)
    >>> solve_pyomo(model, load_profile("exact")).objective, decode(model, problem).placed
    (15.0, 3)
    """
    rooms = _rooms(problem, limit)
    model = pyo.ConcreteModel(problem.name)
    _add_traffic(model, problem, per_pair)
    model.map_room = pyo.Param(model.CENTERS, initialize=rooms[0])
    model.reduce_room = pyo.Param(model.CENTERS, initialize=rooms[1])
    if per_pair:
        _add_pairs(model, problem)
    else:
        model.place = pyo.Var(
            model.CLASSES, model.CENTERS, within=pyo.NonNegativeIntegers, bounds=lambda model, c, d: (0, model.size[c])
        )
    maps = model.maps_in if per_pair else model.place
    _add_places(model, maps)
    model.objective = pyo.Objective(
        expr=pyo.quicksum(model.alone[key] * maps[key] for key in model.alone)
        + pyo.quicksum(model.settled[key] * model.host[key] for key in model.host)
        - pyo.quicksum(model.send[c, b] * model.together[c, b, d] for c, b, d in model.together)
    )
    return model


def _add_traffic(model: Any, problem: Traffic, per_pair: bool) -> None:
    """Add classes of maps, bundles of reduces, and what crosses between them and the datacenters."""
    tasks = problem.instance.workload.task_ids[problem.tasks]
    centers, bundles, grid = problem.datacenters, _bundles(problem), problem.grid
    names, classes = add_classes(model, tasks[problem.maps].tolist(), None if per_pair else problem.map_classes())
    number = {int(row): name for row, name in zip(classes.first.tolist(), names, strict=True)}
    send = {
        (number[row], name): amount
        for name, (bundle, of) in bundles.items()
        for row, amount in zip(of.tolist(), (bundle.send / grid).tolist(), strict=True)
        if row in number and amount
    }
    total: dict[str, float] = dict.fromkeys(names, 0.0)
    for (name, _), amount in send.items():
        total[name] += amount
    model.CENTERS = pyo.Set(initialize=centers)
    model.BUNDLES = pyo.Set(initialize=list(bundles))
    model.PAIRS = pyo.Set(initialize=list(send), dimen=2)
    reduces = {name: tuple(tasks[problem.reduces[entry.reduces]].tolist()) for name, (entry, _) in bundles.items()}
    model.reduces = pyo.Param(model.BUNDLES, initialize=reduces, within=pyo.Any)
    model.weight = pyo.Param(model.BUNDLES, initialize={name: len(held) for name, held in reduces.items()})
    alone = problem.map_units[classes.first] / grid + np.array(list(total.values()))[:, None]
    model.alone = pyo.Param(model.CLASSES, model.CENTERS, initialize=by_ids(names, centers, alone.tolist()))
    settled = [(bundle.settled / grid).tolist() for bundle, _ in bundles.values()]
    model.settled = pyo.Param(model.BUNDLES, model.CENTERS, initialize=by_ids(list(bundles), centers, settled))
    model.send = pyo.Param(model.PAIRS, initialize=send)


def _add_pairs(model: Any, problem: Traffic) -> None:
    """Add each task on each node that takes one of its kind, and what that says of datacenters."""
    tasks = problem.instance.workload.task_ids[problem.tasks].tolist()
    nodes, center = problem.instance.cluster.node_ids.tolist(), problem.datacenter.tolist()
    kinds = {"map": (problem.maps, problem.map_slots), "reduce": (problem.reduces, problem.reduce_slots)}
    pairs = {
        kind: [(tasks[task], nodes[node]) for task in positions.tolist() for node in np.flatnonzero(slots).tolist()]
        for kind, (positions, slots) in kinds.items()
    }
    model.place = pyo.Var(pairs["map"] + pairs["reduce"], within=pyo.Binary)
    model.host = pyo.Var(model.BUNDLES, model.CENTERS, within=pyo.Binary)
    center_of = {name: problem.datacenters[at] for name, at in zip(nodes, center, strict=True)}
    inside = grouped(((*pair, center_of[pair[1]]) for pair in model.place), 0, 2)
    room = {(kind, nodes[n]): slots for kind, (_, every) in kinds.items() for n, slots in enumerate(every.tolist())}
    on_node = grouped(((kind, *pair) for kind, held in pairs.items() for pair in held), 0, 2)

    def there(model: Any, task: str, d: str) -> Any:
        return pyo.quicksum(model.place[task, node] for _, node, _ in inside.get((task, d), ()))

    def node_slots(model: Any, kind: str, node: str) -> Any:
        return pyo.quicksum(model.place[pair] for _, *pair in on_node[kind, node]) <= room[kind, node]

    model.maps_in = pyo.Expression(model.CLASSES, model.CENTERS, rule=there)
    model.node_slots = pyo.Constraint(list(on_node), rule=node_slots)
    model.with_host = pyo.Constraint(pyo.Any)
    for b in model.BUNDLES:
        for task in model.reduces[b]:
            for d in model.CENTERS:
                model.with_host[task, d] = there(model, task, d) == model.host[b, d]


def _add_places(model: Any, maps: Any) -> None:
    """Add where bundles are, which maps are with them, and all constraints on that; `maps` are those of a class."""
    if model.component("host") is None:
        model.host = pyo.Var(model.BUNDLES, model.CENTERS, within=pyo.Binary)
    model.together = pyo.Var(
        model.PAIRS, model.CENTERS, within=pyo.NonNegativeReals, bounds=lambda model, c, b, d: (0, model.size[c])
    )

    def placed(model: Any, c: str) -> Any:
        return pyo.quicksum(maps[c, d] for d in model.CENTERS) == model.size[c]

    def hosted(model: Any, b: str) -> Any:
        return pyo.quicksum(model.host[b, :]) == 1

    def map_slots(model: Any, d: str) -> Any:
        return at_most([maps[c, d] for c in model.CLASSES], model.map_room[d])

    def reduce_slots(model: Any, d: str) -> Any:
        return at_most([model.weight[b] * model.host[b, d] for b in model.BUNDLES], model.reduce_room[d])

    def with_maps(model: Any, c: str, b: str, d: str) -> Any:
        return model.together[c, b, d] <= maps[c, d]

    def with_bundle(model: Any, c: str, b: str, d: str) -> Any:
        return model.together[c, b, d] <= model.size[c] * model.host[b, d]

    model.placed = pyo.Constraint(model.CLASSES, rule=placed)
    model.hosted = pyo.Constraint(model.BUNDLES, rule=hosted)
    model.map_slots = pyo.Constraint(model.CENTERS, rule=map_slots)
    model.reduce_slots = pyo.Constraint(model.CENTERS, rule=reduce_slots)
    model.with_maps = pyo.Constraint(model.PAIRS, model.CENTERS, rule=with_maps)
    model.with_bundle = pyo.Constraint(model.PAIRS, model.CENTERS, rule=with_bundle)


def _bundles(problem: Traffic) -> dict[str, tuple[Bundle, Any]]:
    """Each bundle and the maps of its job (places in `problem.maps`), by the id of its first reduce."""
    ids = problem.instance.workload.task_ids[problem.tasks[problem.reduces]].tolist()
    return {ids[bundle.reduces[0]]: (bundle, job.maps) for job in problem.jobs for bundle in job.bundles}


def _rooms(problem: Traffic, limit: int | None) -> tuple[dict[str, int], dict[str, int]]:
    """Room for maps and for reduces in each datacenter; UsageError for a wrong limit."""
    rooms = problem.room_within(None if limit is None else whole_limit(limit, "maps")), problem.reduce_room
    of_maps, of_reduces = (dict(zip(problem.datacenters, room.tolist(), strict=True)) for room in rooms)
    return of_maps, of_reduces


@of_problem(Traffic)
def compact_size(problem: Traffic, limit: int | None = None) -> ModelSize:
    """What `build_pyomo` would take, or less: variables for classes, bundles, and pairs of them, and datacenters."""
    classes, centers = len(problem.map_classes().first), len(problem.datacenters)
    bundles = sum(len(job.bundles) for job in problem.jobs)
    first = np.zeros(len(problem.maps), dtype=bool)
    first[problem.map_classes().first] = True
    pairs = sum(int(np.count_nonzero(bundle.send[first[job.maps]])) for job in problem.jobs for bundle in job.bundles)
    return ModelSize(
        (classes + bundles + pairs) * centers,
        classes + bundles + 2 * centers + 2 * pairs * centers,
        (3 * classes + 3 * bundles + 5 * pairs) * centers,
    )


@of_problem(Traffic)
def literal_size(problem: Traffic, limit: int | None = None) -> ModelSize:
    """What `build_pulp` would take: a binary for each map, bundle and product of these in each datacenter."""
    centers, bundles = len(problem.datacenters), _bundles(problem).values()
    products = centers * sum(int(np.count_nonzero(bundle.send)) for bundle, _ in bundles)
    decided = centers * (len(problem.maps) + len(bundles))
    rows = len(problem.maps) + len(bundles) + centers * (bool(len(problem.maps)) + bool(bundles)) + 2 * products
    return ModelSize(decided + products, rows, 3 * decided + 5 * products)


@model_of(Traffic)
def build_pulp(problem: Traffic, limit: int | None = None, *, max_variables: int = MAX_VARIABLES) -> Any:
    """Build the literal model: binaries for each map and each bundle of reduces, and their products by name.

    Its attributes `place` and `host` are dicts from (map id, datacenter) and (id of a bundle's first reduce,
    datacenter) to the variable.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Ragged, Workload
    >>> cluster = Cluster(["a"], datacenter=[0], datacenter_ids=["east"])
    >>> workload = Workload(["m", "r"], kind=[0, 1], size=[10, 0], job=[0, 0], job_ids=["j"], filter_ratio=[1])
    >>> [str(variable) for variable in build_pulp(Traffic(Instance(cluster, workload))).variables()]
    ['both.m.r.east', 'map.m.east', 'reduces.r.east']
    """
    map_room, reduce_room = _rooms(problem, limit)
    refuse_too_large(problem, literal_size(problem, limit), max_variables, "build_pyomo")
    centers, bundles, grid = problem.datacenters, _bundles(problem), problem.grid
    maps = problem.instance.workload.task_ids[problem.tasks[problem.maps]].tolist()
    center_names, map_names, bundle_names = injective_names(centers), injective_names(maps), injective_names(bundles)
    model = pulp.LpProblem(problem.name, pulp.LpMinimize)
    place = add_pairs(model, "map", map_names, center_names)
    host = add_pairs(model, "reduces", bundle_names, center_names)
    total: Ints = np.zeros(len(maps), dtype=np.int64)
    for bundle, of in bundles.values():
        np.add.at(total, of, bundle.send)
    cost = priced(place, ((problem.map_units + total[:, None]) / grid).tolist())
    cost += priced(host, ((bundle.settled / grid).tolist() for bundle, _ in bundles.values()))
    for name, hosts, (bundle, of) in zip(bundle_names, host, bundles.values(), strict=True):
        for row, amount in zip(of.tolist(), (bundle.send / grid).tolist(), strict=True):
            if not amount:
                continue
            for d, at_map, at_bundle in zip(center_names, place[row], hosts, strict=True):
                label = f"{map_names[row]}.{name}.{d}"
                both = model.add_variable(f"both.{label}", 0, 1)
                cost.append((both, -amount))
                model.addConstraint(both - at_map <= 0, f"product-map.{label}")
                model.addConstraint(both - at_bundle <= 0, f"product-reduces.{label}")
    model.setObjective(linear(cost))
    for word, names, table in (("placed", map_names, place), ("hosted", bundle_names, host)):
        for name, arcs in zip(names, table, strict=True):
            model.addConstraint(pulp.lpSum(arcs) == 1, f"{word}.{name}")
    weights = [len(bundle.reduces) for bundle, _ in bundles.values()]
    for column, (center, name) in enumerate(zip(centers, center_names, strict=True)):
        if maps:
            model.addConstraint(pulp.lpSum(arcs[column] for arcs in place) <= map_room[center], f"slots.{name}")
        if bundles:
            used = linear([(arcs[column], own) for arcs, own in zip(host, weights, strict=True)])
            model.addConstraint(used <= reduce_room[center], f"reduce-slots.{name}")
    model.place, model.host = by_ids(maps, centers, place), by_ids(list(bundles), centers, host)
    return model


def _placed(problem: Traffic, of_map: dict[str, str], model: Any) -> Placement:
    """The placement with each map in its datacenter, and each bundle where `host` says."""
    column = {center: position for position, center in enumerate(problem.datacenters)}
    hosts = {name: column[center] for name, center in chosen(model.host).items()}
    maps = problem.instance.workload.task_ids[problem.tasks[problem.maps]].tolist()
    at_reduce = np.zeros(len(problem.reduces), dtype=np.int64)
    for name, (bundle, _) in _bundles(problem).items():
        at_reduce[bundle.reduces] = hosts[name]
    return problem.placed_in(np.array([column[of_map[name]] for name in maps], dtype=np.int64), at_reduce)


def _decode_compact(model: Any, problem: Traffic) -> Placement:
    if is_per_pair(model):
        return decode_binaries(model, problem)
    return _placed(problem, dealt(model), model)


def _centers(problem: Traffic, placement: Placement) -> dict[str, str]:
    """The datacenter of each task that is placed; a bundle is named by its first reduce, and is where that is."""
    tasks, nodes = problem.instance.workload.task_ids[problem.tasks].tolist(), problem.nodes_of(placement).tolist()
    names, center = problem.datacenters, problem.datacenter.tolist()
    return {task: names[center[node]] for task, node in zip(tasks, nodes, strict=True) if node != NONE}


def _started_compact(model: Any, problem: Traffic, placement: Placement) -> Entries:
    at = _centers(problem, placement)
    if is_per_pair(model):
        yield from started_binaries(model, problem, placement)
    else:
        counts = counted(model.members, at)
        yield from ((variable, counts[pair]) for pair, variable in model.place.items())
    yield from binaries(model.host, at)


def _started_literal(model: Any, problem: Traffic, placement: Placement) -> Entries:
    return binaries({**model.place, **model.host}, _centers(problem, placement))


decode = decoder(
    Traffic,
    compact=_decode_compact,
    literal=lambda model, problem: _placed(problem, chosen(model.place), model),
    started=_started_compact,
)
start_values = starter(Traffic, compact=_started_compact, literal=_started_literal)
