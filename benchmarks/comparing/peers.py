"""Other tools on the arrays that optsched posed: each loads them, builds its own input, solves, and says the optimum.

    python -m comparing.peers WAY ARRAYS.npz [GIVEN]

Prints what was measured as JSON. It imports numpy and the tool alone: OR-Tools 9 and highspy 1.15 cannot be loaded in
one process, and OR-Tools may be installed for another Python than optsched. `GIVEN` is the makespan that bounds of
`latency` are given.

The arrays are one of these forms (`form`):

`matching`: `starts`, `nodes` (for each task the nodes with its data, with an idle slot or not), `capacity` (the idle
slots of each node), `count` (how many are to be placed). The answer is the tasks that are placed without their data.

`table`: `cost` (kinds of tasks x nodes), `size` (tasks of each kind), `capacity`; min(tasks, slots) are placed.

`network`: `tail`, `head`, `capacity`, `cost`, `supply`, `base` (a constant).

`latency`: `starts`, `nodes`, `load`, `w_loc`, `w_rem`. The answer is the given makespan and a bound of the work.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

import numpy as np

from comparing.clock import MOST, Clock, again

Arrays = Mapping[str, Any]


@dataclass(frozen=True)
class Peer:
    """A tool's function for a form of input.

    Attributes
    ----------
    form, package
        What it takes, and the package that must be installed.
    pose, solve
        Arrays and what is given to the tool's input, and that to the answer.
    most
        It is not run on more cells or arcs than these (dictionaries of Python, a column a slot).
    bound
        Whether its answer is a bound only.
    """

    form: str
    package: str
    pose: Callable[[Arrays, int], Any]
    solve: Callable[[Any], tuple[int, ...]]
    most: float = float("inf")
    bound: bool = False


# Matchings -------------------------------------------------------------------------------------------------------


def _columns(arrays: Arrays) -> tuple[Any, Any, int]:
    """Starts of the rows, and columns, of a matching of tasks with single slots; how many slots there are."""
    first = np.concatenate([[0], np.cumsum(arrays["capacity"])])
    sizes = arrays["capacity"][arrays["nodes"]]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    columns = np.repeat(first[arrays["nodes"]] - starts[:-1], sizes) + np.arange(starts[-1])
    return starts[arrays["starts"]], columns, int(first[-1])


def _biadjacency(arrays: Arrays, given: int) -> Any:
    import scipy.sparse as sp

    starts, columns, slots = _columns(arrays)
    parts = (np.ones(len(columns), dtype=np.int8), columns.astype(np.int32), starts.astype(np.int32))
    return sp.csr_array(parts, shape=(len(starts) - 1, slots)), int(arrays["count"])


def _scipy_matching(posed: Any) -> tuple[int, ...]:
    from scipy.sparse.csgraph import maximum_bipartite_matching

    return (posed[1] - int(np.count_nonzero(maximum_bipartite_matching(posed[0], perm_type="column") >= 0)),)


def _weighted(arrays: Arrays, given: int) -> Any:
    """A task costs 1 on a slot with its data, and 2 on a column of its own."""
    import scipy.sparse as sp

    starts, columns, slots = _columns(arrays)
    tasks = len(starts) - 1
    rows = np.concatenate([np.repeat(np.arange(tasks), np.diff(starts)), np.arange(tasks)])
    values = np.concatenate([np.ones(len(columns)), np.full(tasks, 2.0)])
    ends = rows, np.concatenate([columns, slots + np.arange(tasks)])
    return sp.csr_array((values, ends), shape=(tasks, slots + tasks)), slots, int(arrays["count"])


def _scipy_weighted(posed: Any) -> tuple[int, ...]:
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    graph, slots, count = posed
    return (count - int(np.count_nonzero(min_weight_full_bipartite_matching(graph)[1] < slots)),)


def _graph(arrays: Arrays, given: int) -> Any:
    import networkx as nx

    starts, columns, _ = _columns(arrays)
    tasks = len(starts) - 1
    graph = nx.Graph()
    graph.add_nodes_from(range(tasks))
    graph.add_edges_from(
        zip(np.repeat(np.arange(tasks), np.diff(starts)).tolist(), (tasks + columns).tolist(), strict=True)
    )
    return graph, tasks, int(arrays["count"])


def _networkx_matching(posed: Any) -> tuple[int, ...]:
    import networkx as nx

    graph, tasks, count = posed
    matched = nx.bipartite.hopcroft_karp_matching(graph, range(tasks))
    return (count - sum(1 for task in range(tasks) if task in matched),)


def _unit_arcs(arrays: Arrays, room: Any) -> tuple[Any, Any, Any, int, int]:
    """Arcs of the maximum flow from tasks to the nodes with their data: tails, heads, capacities, source, sink."""
    tasks, nodes = len(arrays["starts"]) - 1, len(room)
    source, sink = tasks + nodes, tasks + nodes + 1
    each, used, held = np.arange(tasks), np.flatnonzero(room > 0), room[arrays["nodes"]] > 0
    owner = np.repeat(each, np.diff(arrays["starts"]))[held]
    tail = np.concatenate([np.full(tasks, source), owner, tasks + used])
    head = np.concatenate([each, tasks + arrays["nodes"][held], np.full(len(used), sink)])
    limit = np.concatenate([np.ones(len(tail) - len(used), dtype=np.int64), np.minimum(room[used], tasks)])
    return tail, head, limit, source, sink


def _ortools_flow(arcs: tuple[Any, Any, Any, int, int]) -> Any:
    from ortools.graph.python import max_flow

    flow = max_flow.SimpleMaxFlow()
    flow.add_arcs_with_capacity(arcs[0].astype(np.int32), arcs[1].astype(np.int32), arcs[2])
    return flow, arcs[3], arcs[4]


def _ortools_value(posed: Any) -> int:
    flow, source, sink = posed
    assert flow.solve(source, sink) == flow.OPTIMAL
    return int(flow.optimal_flow())


# Tables ----------------------------------------------------------------------------------------------------------


def _matrix(arrays: Arrays, given: int) -> Any:
    tasks = np.repeat(np.arange(len(arrays["size"])), arrays["size"])
    slots = np.repeat(np.arange(len(arrays["capacity"])), arrays["capacity"])
    return arrays["cost"].astype(np.float64)[np.ix_(tasks, slots)]


def _scipy_assignment(posed: Any) -> tuple[int, ...]:
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(posed)
    return (round(posed[rows, columns].sum()),)


def _masses(arrays: Arrays, given: int) -> Any:
    """Balanced: what is left over, tasks or slots, goes to a row or column of its own that costs nothing."""
    cost, size, room = arrays["cost"].astype(np.float64), arrays["size"], arrays["capacity"]
    over = int(size.sum() - room.sum())
    if over > 0:
        cost, room = np.column_stack([cost, np.zeros(len(cost))]), np.append(room, over)
    elif over < 0:
        cost, size = np.vstack([cost, np.zeros(cost.shape[1])]), np.append(size, -over)
    return size.astype(np.float64), room.astype(np.float64), np.ascontiguousarray(cost)


def _pot_emd(posed: Any) -> tuple[int, ...]:
    import ot

    plan, log = ot.emd(*posed, numItermax=10**9, log=True)
    assert log["warning"] is None, log["warning"]
    return (round(float((np.rint(plan) * posed[2]).sum())),)


def _table_arcs(arrays: Arrays, given: int) -> dict[str, Any]:
    """The table as a network: kinds, nodes, a sink, and a vertex for what is not placed."""
    cost, size, room = arrays["cost"], arrays["size"], arrays["capacity"]
    kinds, nodes = cost.shape
    sink, left = kinds + nodes, kinds + nodes + 1
    over = max(0, int(size.sum() - room.sum()))
    tail = [np.repeat(np.arange(kinds), nodes), kinds + np.arange(nodes)]
    head = [np.tile(kinds + np.arange(nodes), kinds), np.full(nodes, sink)]
    limit = [np.minimum(size[:, None], room[None, :]).ravel(), room]
    price = [cost.ravel(), np.zeros(nodes, dtype=np.int64)]
    if over:
        tail.append(np.arange(kinds))
        head.append(np.full(kinds, left))
        limit.append(size)
        price.append(np.zeros(kinds, dtype=np.int64))
    supply = np.concatenate([size, np.zeros(nodes, dtype=np.int64), [over - int(size.sum()), -over]])
    names = {"tail": tail, "head": head, "capacity": limit, "cost": price}
    return {**{name: np.concatenate(parts) for name, parts in names.items()}, "supply": supply, "base": 0}


# Networks --------------------------------------------------------------------------------------------------------


def _given_arcs(arrays: Arrays, given: int) -> Arrays:
    return arrays


def _ortools(arcs: Callable[[Arrays, int], Arrays]) -> Callable[[Arrays, int], Any]:
    def pose(arrays: Arrays, given: int) -> Any:
        from ortools.graph.python import min_cost_flow

        network = arcs(arrays, given)
        flow = min_cost_flow.SimpleMinCostFlow()
        ends = (network[name].astype(np.int32) for name in ("tail", "head"))
        flow.add_arcs_with_capacity_and_unit_cost(*ends, network["capacity"], network["cost"])
        flow.set_nodes_supplies(np.arange(len(network["supply"]), dtype=np.int32), network["supply"])
        return flow, int(network["base"])

    return pose


def _ortools_solved(posed: Any) -> tuple[int, ...]:
    flow, base = posed
    status = flow.solve()
    assert status == flow.OPTIMAL, status
    return (flow.optimal_cost() + base,)


def _networkx(arcs: Callable[[Arrays, int], Arrays]) -> Callable[[Arrays, int], Any]:
    def pose(arrays: Arrays, given: int) -> Any:
        import networkx as nx

        network = arcs(arrays, given)
        graph = nx.MultiDiGraph()
        graph.add_nodes_from((node, {"demand": -supply}) for node, supply in enumerate(network["supply"].tolist()))
        columns = (network[name].tolist() for name in ("tail", "head", "capacity", "cost"))
        for tail, head, capacity, cost in zip(*columns, strict=True):
            graph.add_edge(tail, head, capacity=capacity, weight=cost)
        return graph, int(network["base"])

    return pose


def _networkx_solved(posed: Any) -> tuple[int, ...]:
    import networkx as nx

    graph, base = posed
    return (int(nx.network_simplex(graph)[0]) + base,)


# Latency ---------------------------------------------------------------------------------------------------------


def _local_room(arrays: Arrays, makespan: int) -> Any:
    return np.maximum(makespan - arrays["load"], 0) // int(arrays["w_loc"])


def _work(arrays: Arrays, makespan: int, local: int) -> tuple[int, int]:
    remote = len(arrays["starts"]) - 1 - local
    return makespan, int(arrays["w_loc"]) * local + int(arrays["w_rem"]) * remote


def _csr_flow(arrays: Arrays, makespan: int) -> Any:
    import scipy.sparse as sp

    tail, head, limit, source, sink = _unit_arcs(arrays, _local_room(arrays, makespan))
    graph = sp.csr_array((limit.astype(np.int32), (tail, head)), shape=(sink + 1, sink + 1), dtype=np.int32)
    return graph, source, sink, arrays, makespan


def _scipy_flow(posed: Any) -> tuple[int, ...]:
    from scipy.sparse.csgraph import maximum_flow

    graph, source, sink, arrays, makespan = posed
    return _work(arrays, makespan, int(maximum_flow(graph, source, sink).flow_value))


def _ortools_latency(arrays: Arrays, makespan: int) -> Any:
    return _ortools_flow(_unit_arcs(arrays, _local_room(arrays, makespan))), arrays, makespan


def _ortools_work(posed: Any) -> tuple[int, ...]:
    return _work(posed[1], posed[2], _ortools_value(posed[0]))


#: Arcs of a network that networkx holds as dictionaries, and cells of a matrix with a column a slot.
_PYTHON, _DENSE = 3e5, 2e8

#: Every peer by the name that tables show.
PEERS = {
    "SciPy maximum_bipartite_matching": Peer("matching", "scipy", _biadjacency, _scipy_matching),
    "SciPy min_weight_full_bipartite_matching": Peer("matching", "scipy", _weighted, _scipy_weighted),
    "networkx hopcroft_karp": Peer("matching", "networkx", _graph, _networkx_matching),
    "OR-Tools SimpleMaxFlow": Peer(
        "matching",
        "ortools",
        lambda arrays, given: (_ortools_flow(_unit_arcs(arrays, arrays["capacity"])), int(arrays["count"])),
        lambda posed: (posed[1] - _ortools_value(posed[0]),),
    ),
    "SciPy linear_sum_assignment": Peer("table", "scipy", _matrix, _scipy_assignment, most=_DENSE),
    "POT emd": Peer("table", "POT", _masses, _pot_emd),
    "OR-Tools SimpleMinCostFlow (table)": Peer("table", "ortools", _ortools(_table_arcs), _ortools_solved),
    "networkx network_simplex (table)": Peer("table", "networkx", _networkx(_table_arcs), _networkx_solved, _PYTHON),
    "OR-Tools SimpleMinCostFlow": Peer("network", "ortools", _ortools(_given_arcs), _ortools_solved),
    "networkx network_simplex": Peer("network", "networkx", _networkx(_given_arcs), _networkx_solved, _PYTHON),
    "SciPy maximum_flow, bound at a given makespan": Peer("latency", "scipy", _csr_flow, _scipy_flow, bound=True),
    "OR-Tools SimpleMaxFlow, bound at a given makespan": Peer(
        "latency", "ortools", _ortools_latency, _ortools_work, bound=True
    ),
}  # fmt: skip

#: What each package is imported as.
_MODULES = {"POT": "ot", "scipy": "scipy", "networkx": "networkx", "ortools": "ortools"}


def installed() -> dict[str, str]:
    """Versions of the peers' packages in this Python."""
    found = {}
    for package, module in _MODULES.items():
        if find_spec(module) is not None:
            try:
                found[package] = version(package)
            except PackageNotFoundError:
                found[package] = "?"
    return found


def measured(way: str, path: str, given: int = 0, rounds: int = MOST) -> dict[str, Any]:
    """What a peer takes on the arrays of a file, and its answer, as texts."""
    peer = PEERS[way]
    __import__(_MODULES[peer.package])

    def once(clock: Clock) -> dict[str, Any]:
        with clock.phase("load"), np.load(path) as archive:
            arrays = {name: archive[name] for name in archive.files}
        with clock.phase("pose"):
            posed = peer.pose(arrays, given)
        with clock.phase("solve"):
            answer = peer.solve(posed)
        return {"answer": [str(part) for part in answer]}

    return again(once, rounds)


if __name__ == "__main__":
    if sys.argv[1:] == ["--installed"]:
        print(json.dumps(installed()))
    else:
        print(json.dumps(measured(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))))
