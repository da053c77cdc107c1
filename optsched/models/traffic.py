"""Models of `traffic`: tasks to datacenters, least traffic within a limit on the load (Sharmilarani et al., II.D).

The traffic is bilinear: what a map sends crosses if its reduce is elsewhere. The compact model of `build_pyomo` counts
maps of classes of identical maps, and for each class and bundle of reduces how many maps are with the bundle. Given
where the reduces are, the classes are independent. So this is as strong as the product of every pair of variables. It
is the problem's program (`optsched.problems.traffic_program.TrafficProgram`).

==================================== ==================================================================================
component                            what it is
==================================== ==================================================================================
CENTERS                              datacenters
CLASSES, BUNDLES                     classes of equal maps, each by its first id; reduces that go together, likewise
PLACES, HOSTS, TOGETHER              (class, datacenter); (bundle, datacenter); (class, bundle, datacenter) if one
                                     sends to the other
members, reduces                     ids of the maps of each class; ids of the reduces of each bundle
alone[c,d]                           what crosses for a map of the class there if all that it sends crosses (MB)
settled[b,d]                         what crosses from running or ended maps, with the bundle there (MB)
place[c,d]                           whole: maps of the class in the datacenter
host[b,d]                            binary: the bundle is in the datacenter
together[c,b,d]                      whole: maps of the class that are in the datacenter with the bundle
placed[c], hosted[b]                 every map, every bundle is somewhere
map_slots[d], reduce_slots[d]        no datacenter takes more than it has room for, and than the limit
with_maps[c,b,d], with_bundle[c,b,d] no more are together than there are maps; none without the bundle
objective                            least traffic (MB)
==================================== ==================================================================================

With `per_pair` each map is its own class, and `place[t,n]` is 1 if the map or reduce runs on the node:

==================================== ==================================================================================
with_host[r,d]                       a reduce is in the datacenter of its bundle
node_slots[k,n]                      a node takes no more tasks of a kind than it has slots
==================================== ==================================================================================

The literal model of `build_pulp` has a binary `map.m.d` for each map and `reduces.b.d` for each bundle, and for each
map that sends to a bundle the named product `both.m.b.d` of the two, with constraints `product-map.m.b.d` and
`product-reduces.m.b.d`; further `placed.m`, `hosted.b`, `slots.d` and `reduce-slots.d`. A bundle is named by its first
reduce. A sequence of limits finds the least load.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pulp

from optsched.core.instance import Ints
from optsched.core.placement import NONE, Placement
from optsched.models.base import (
    MAX_VARIABLES,
    Entries,
    ModelSize,
    Way,
    add_pairs,
    binaries,
    by_ids,
    chosen,
    linear,
    model_of,
    of_problem,
    priced,
    refuse_too_large,
    said_by,
    whole_limit,
)
from optsched.models.programs import program_of, shared, whole_pyomo
from optsched.problems.traffic import Bundle, Traffic
from optsched.solvers.algebraic import injective_names

__all__ = ["build_pulp", "build_pyomo", "compact_size", "decode", "literal_size", "start_values"]


@model_of(Traffic, shared=shared)
def build_pyomo(problem: Traffic, limit: int | None = None, *, per_pair: bool = False) -> Any:
    """Build the compact model, with whole variables (parameters as in `ModelModule.build_pyomo`).

    With a `limit`, no datacenter takes more maps than that. UsageError if the limit is no whole number, 0 or more, or
    the problem is infeasible for a plain reason.

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
    posed = problem.within(_whole(limit))
    program = (posed.apart() if per_pair else posed).program()
    model = whole_pyomo(program, problem.name, unit=program.unit)
    model.limit = limit
    return model


def _bundles(problem: Traffic) -> dict[str, tuple[Bundle, Any]]:
    """Each bundle and the maps of its job (positions in `problem.maps`), by the id of its first reduce."""
    ids = problem.task_ids[problem.reduces].tolist()
    return {ids[bundle.reduces[0]]: (bundle, job.maps) for job in problem.jobs for bundle in job.bundles}


def _whole(limit: int | None) -> int | None:
    """The limit on the load; UsageError for a wrong one."""
    return None if limit is None else whole_limit(limit, "maps")


@of_problem(Traffic)
def compact_size(problem: Traffic, limit: int | None = None) -> ModelSize:
    """An upper limit on the size of `build_pyomo`'s model: variables for classes, bundles, pairs, and datacenters."""
    posing, bundles = problem.posing, len(problem.bundles)
    classes, pairs, centers = len(posing.classes.first), len(posing.send), posing.centers
    return ModelSize(
        (classes + bundles + pairs) * centers,
        classes + bundles + 2 * centers + 2 * pairs * centers,
        (3 * classes + 3 * bundles + 5 * pairs) * centers,
    )


@of_problem(Traffic)
def literal_size(problem: Traffic, limit: int | None = None) -> ModelSize:
    """The size of `build_pulp`'s model: a binary for each map, bundle and product of these in each datacenter."""
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
    map_room, reduce_room = problem.room_within(_whole(limit)).tolist(), problem.reduce_room.tolist()
    refuse_too_large(problem, literal_size(problem, limit), max_variables, "build_pyomo")
    centers, bundles, grid = problem.datacenters, _bundles(problem), problem.grid
    maps = problem.task_ids[problem.maps].tolist()
    center_names, map_names, bundle_names = injective_names(centers), injective_names(maps), injective_names(bundles)
    model = pulp.LpProblem(problem.name, pulp.LpMinimize)
    place = add_pairs(model, "map", map_names, center_names)
    host = add_pairs(model, "reduces", bundle_names, center_names)
    total: Ints = np.zeros(len(maps), dtype=np.int64)
    for bundle, of in bundles.values():
        np.add.at(total, of, bundle.send)
    cost = priced(place, ((problem.map_units + total[:, None]) / grid).tolist())
    cost += priced(host, ((bundle.settled / grid).tolist() for bundle, _ in bundles.values()))
    products: dict[tuple[str, str, str], Any] = {}
    for name, hosts, (task, (bundle, of)) in zip(bundle_names, host, bundles.items(), strict=True):
        for row, amount in zip(of.tolist(), (bundle.send / grid).tolist(), strict=True):
            if not amount:
                continue
            for d, center, at_map, at_bundle in zip(center_names, centers, place[row], hosts, strict=True):
                label = f"{map_names[row]}.{name}.{d}"
                both = products[maps[row], task, center] = model.add_variable(f"both.{label}", 0, 1)
                cost.append((both, -amount))
                model.addConstraint(both - at_map <= 0, f"product-map.{label}")
                model.addConstraint(both - at_bundle <= 0, f"product-reduces.{label}")
    model.setObjective(linear(cost))
    model.both = products
    for word, names, table in (("placed", map_names, place), ("hosted", bundle_names, host)):
        for name, arcs in zip(names, table, strict=True):
            model.addConstraint(pulp.lpSum(arcs) == 1, f"{word}.{name}")
    weights = [len(bundle.reduces) for bundle, _ in bundles.values()]
    for column, name in enumerate(center_names):
        if maps:
            model.addConstraint(pulp.lpSum(arcs[column] for arcs in place) <= map_room[column], f"slots.{name}")
        if bundles:
            used = linear([(arcs[column], own) for arcs, own in zip(host, weights, strict=True)])
            model.addConstraint(used <= reduce_room[column], f"reduce-slots.{name}")
    model.place, model.host = by_ids(maps, centers, place), by_ids(list(bundles), centers, host)
    return model


def _decode_literal(model: Any, problem: Traffic) -> Placement:
    """The placement with each map in its datacenter, and each bundle where `host` says."""
    column = {center: position for position, center in enumerate(problem.datacenters)}
    of_map, of_bundle = (
        {name: column[center] for name, center in chosen(variables).items()} for variables in (model.place, model.host)
    )
    maps = problem.task_ids[problem.maps].tolist()
    at_reduce = np.zeros(len(problem.reduces), dtype=np.int64)
    for name, (bundle, _) in _bundles(problem).items():
        at_reduce[bundle.reduces] = of_bundle[name]
    return problem.placed_in(np.array([of_map[name] for name in maps], dtype=np.int64), at_reduce)


def _centers(problem: Traffic, placement: Placement) -> dict[str, str]:
    """The datacenter of each placed task; a bundle is named by its first reduce, and is where that is."""
    tasks, nodes = problem.task_ids.tolist(), problem.nodes_of(placement).tolist()
    names, center = problem.datacenters, problem.datacenter.tolist()
    return {task: names[center[node]] for task, node in zip(tasks, nodes, strict=True) if node != NONE}


def _started_literal(model: Any, problem: Traffic, placement: Placement) -> Entries:
    at = _centers(problem, placement)
    yield from binaries({**model.place, **model.host}, at)
    yield from (
        (variable, int(at.get(task) == at.get(bundle) == center))
        for (task, bundle, center), variable in model.both.items()
    )


decode, start_values = said_by(
    Traffic,
    program_of(lambda model, problem: problem.within(model.limit)),
    Way(_decode_literal, _started_literal),
)
