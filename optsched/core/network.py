"""A flow network that is not a placement: arcs with bounds and costs, nodes with supplies, all in integers.

`optsched.instances.files` reads and writes its files; `optsched.solvers` solves it. This module has the noun, the check
that every network passes, the forms that other tools take (networkx, DIMACS, GraphML), and its cycles of negative cost:
a minimum-cost flow is unbounded if no arc of such a cycle has a limit.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

import numpy as np
import numpy.typing as npt

from optsched.core.arrays import Ints, Strings, Whole, joined
from optsched.core.brief import brief, counted
from optsched.core.errors import Fault, InputError
from optsched.core.instance_faults import table_faults
from optsched.core.parts import OMITTED, as_column, fill

if TYPE_CHECKING:
    import networkx as nx

#: The capacity of an arc without a limit; larger than every number that a network may contain.
UNBOUNDED = int(np.iinfo(np.int64).max)


@dataclass(frozen=True, eq=False)
class FlowNetwork(Whole):
    """A minimum-cost-flow problem: send every supply to a demand, within the bounds of the arcs, at least cost.

    Parameters
    ----------
    node_ids
        Names of the nodes, shape (nodes,).
    tail, head
        Index of the node that each arc leaves and enters, shape (arcs,). Parallel arcs and loops are kept.
    lower, capacity
        Least (default 0) and greatest flow of each arc (default `UNBOUNDED`), shape (arcs,).
    cost
        Cost of one unit of flow on each arc, shape (arcs,); default 0; may be negative.
    supply
        What enters at each node (if negative: leaves), shape (nodes,); default 0.
    arc_ids
        Names of the arcs; by default their positions, counted from 0.
    name, description, source, labels
        What it is and where it comes from.

    Raises
    ------
    InputError
        If anything is wrong (an arc to nowhere, a lower bound above the capacity, supplies that do not sum to 0,
        numbers past 2^53); every fault is listed with its place.

    Examples
    --------
    >>> network = FlowNetwork(
    ...     ["s", "t"], tail=[0, 0], head=[1, 1], capacity=[1, UNBOUNDED], cost=[2, 5], supply=[3, -3]
    ... )
    >>> print(network.to_dimacs(), end="")
    c an arc of capacity 4 has none: no optimal flow needs more
    p min 2 2
    n 1 3
    n 2 -3
    a 1 2 0 1 2
    a 1 2 0 4 5
    """

    node_ids: Strings
    tail: Annotated[Ints, as_column("arcs", "reference", math.nan, target="nodes", always=True)]
    head: Annotated[Ints, as_column("arcs", "reference", math.nan, target="nodes", always=True)]
    lower: Annotated[Ints, as_column("arcs", "integer", 0)] = OMITTED
    capacity: Annotated[Ints, as_column("arcs", "integer", UNBOUNDED)] = OMITTED
    cost: Annotated[Ints, as_column("arcs", "integer", 0, signed=True)] = OMITTED
    supply: Annotated[Ints, as_column("nodes", "integer", 0, signed=True)] = OMITTED
    arc_ids: Strings = OMITTED
    name: str = ""
    description: str = ""
    source: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.arc_ids is OMITTED:
            object.__setattr__(self, "arc_ids", np.arange(np.size(self.tail)).astype(np.str_))
        fill(self)
        object.__setattr__(self, "labels", MappingProxyType(dict(self.labels)))
        faults = list(_faults(self))
        if faults:
            raise InputError(faults, self.name)

    def __len__(self) -> int:
        return len(self.node_ids)

    @property
    def arcs(self) -> int:
        """Number of arcs."""
        return len(self.tail)

    @cached_property
    def sha256(self) -> str:
        """Digest of everything that decides the optimum and names a flow: all columns and ids, but no name or label."""
        digest = hashlib.sha256(b"optsched-network/1")
        for ids in (self.node_ids, self.arc_ids):
            digest.update(joined(ids) + b"\0")
        for name in ("tail", "head", "lower", "capacity", "cost", "supply"):
            digest.update(name.encode() + getattr(self, name).tobytes())
        return digest.hexdigest()

    @cached_property
    def node_index(self) -> Mapping[str, int]:
        """Index of each node id."""
        return {name: index for index, name in enumerate(self.node_ids.tolist())}

    def enough_capacity(self) -> int:
        """A limit that no arc's flow exceeds in some optimal solution, if there is one: supplies plus capacities.

        An optimal flow consists of paths from supplies to demands and of cycles. A cycle of negative cost has an arc of
        finite capacity; otherwise the problem is unbounded.
        """
        finite = self.capacity[self.capacity != UNBOUNDED]
        lower = self.lower[self.capacity == UNBOUNDED]
        total = sum(finite.tolist()) + sum(lower.tolist()) + sum(self.supply[self.supply > 0].tolist())
        return int(max(total, self.lower.max(initial=0)))

    def to_networkx(self) -> nx.MultiDiGraph[str]:
        """Make a networkx graph: nodes carry `demand` (supply negated), arcs `weight`, `lower` and, if any, `capacity`.

        The key of each arc is its id. networkx's own flow algorithms know no lower bounds.

        >>> import networkx
        >>> network = FlowNetwork(["s", "t"], tail=[0, 0], head=[1, 1], capacity=[1, 9], cost=[2, 5], supply=[3, -3])
        >>> networkx.network_simplex(network.to_networkx())[0]
        12
        """
        import networkx as nx

        graph: nx.MultiDiGraph[str] = nx.MultiDiGraph(name=self.name)
        names = self.node_ids.tolist()
        graph.add_nodes_from(
            (name, {"demand": -supply}) for name, supply in zip(names, self.supply.tolist(), strict=True)
        )
        columns = (self.arc_ids, self.tail, self.head, self.lower, self.capacity, self.cost)
        for key, tail, head, lower, capacity, cost in zip(*(column.tolist() for column in columns), strict=True):
            bound = {} if capacity == UNBOUNDED else {"capacity": capacity}
            graph.add_edge(names[tail], names[head], key=key, weight=cost, lower=lower, **bound)
        return graph

    def to_dimacs(self) -> str:
        """The network in DIMACS form (`p min`): nodes are numbered from 1, arcs keep their order.

        DIMACS has no arcs without a limit; they get `enough_capacity`.
        """
        enough = self.enough_capacity()
        lines = [f"c {line}" for line in self.name.splitlines()]
        if np.any(self.capacity == UNBOUNDED):
            lines.append(f"c an arc of capacity {enough} has none: no optimal flow needs more")
        lines.append(f"p min {len(self)} {self.arcs}")
        lines += [f"n {node + 1} {supply}" for node, supply in enumerate(self.supply.tolist()) if supply]
        capacity = np.where(self.capacity == UNBOUNDED, -1, self.capacity)
        columns = (self.tail, self.head, self.lower, capacity, self.cost)
        for tail, head, lower, limit, cost in zip(*(column.tolist() for column in columns), strict=True):
            lines.append(f"a {tail + 1} {head + 1} {lower} {enough if limit < 0 else limit} {cost}")
        return "\n".join(lines) + "\n"

    def to_graphml(self) -> str:
        """The network in GraphML, with the attributes of `to_networkx`."""
        import networkx as nx

        return "\n".join(nx.generate_graphml(self.to_networkx())) + "\n"

    def __str__(self) -> str:
        return f"{self.name or 'network'}: {len(self)} nodes, {self.arcs} arcs"

    def __repr__(self) -> str:
        sizes = f"{counted(len(self), 'node')}, {counted(self.arcs, 'arc')}"
        return brief(f"FlowNetwork {self.name}: {sizes}" if self.name else f"FlowNetwork: {sizes}")


def _faults(network: FlowNetwork) -> Iterator[Fault]:
    """Everything wrong with a network."""
    fit = yield from table_faults(network, (FlowNetwork,), {"nodes": network.node_ids, "arcs": network.arc_ids})
    if not fit:
        return
    for row in np.flatnonzero((network.lower > network.capacity) & (network.capacity >= 0)).tolist():
        message = f"{network.lower[row]} is more than the capacity {network.capacity[row]}"
        yield Fault(f"arcs[{row}].lower", message)
    total = sum(network.supply.tolist())
    if total:
        yield Fault("nodes.supply", f"the supplies add up to {total}, not 0: what enters must leave somewhere")


def negative_cycle(tail: Ints, head: Ints, cost: Ints, nodes: int) -> list[int]:
    """Arcs of one cycle whose costs sum to less than 0, in the order of the cycle; empty without one.

    `tail`, `head` and `cost` have shape (arcs,); parallel arcs and loops are allowed. Bellman-Ford on all arcs at once,
    exact, within the strongly connected components (SciPy) that have an arc of negative cost: O(nodes x arcs) at worst.
    After 1, 2, 4, ... passes, the arcs by which nodes were reached last are searched for a cycle. A cycle of such arcs
    always has negative cost (Tarjan 1981; Cherkassky and Goldberg 1999).

    >>> negative_cycle(np.array([0, 1, 1]), np.array([1, 0, 1]), np.array([2, -3, 0]), nodes=2)
    [0, 1]
    """
    kept = np.flatnonzero(_in_doubtful_components(tail, head, cost, nodes))
    if not len(kept):
        return []
    # Only the nodes of these components are kept, renumbered.
    names, ends = np.unique(np.concatenate([tail[kept], head[kept]]), return_inverse=True)
    start, end = ends[: len(kept)], ends[len(kept) :]
    largest = max(abs(int(cost[kept].min())), abs(int(cost[kept].max())))
    kind = np.int64 if (len(names) + 1) * largest < 2**62 else object  # Python's integers if int64 might wrap round
    length = cost[kept].astype(kind)
    distance: npt.NDArray[np.generic] = np.zeros(len(names), dtype=kind)
    last = np.full(len(names), -1, dtype=np.int64)
    cycle: list[int] = []
    step = 0
    while not cycle:  # this ends: after one pass per node, labels still fall only because of a cycle
        step += 1
        offered = distance[start] + length
        nearer = distance.copy()
        np.minimum.at(nearer, end, offered)
        better = np.flatnonzero((offered == nearer[end]) & (nearer[end] != distance[end]))
        if not len(better):
            return []
        distance = nearer
        last[end[better]] = better
        if step & (step - 1) == 0 or step > len(names):
            cycle = _cycle_of(start, last)
    return [int(kept[arc]) for arc in cycle]


def _in_doubtful_components(tail: Ints, head: Ints, cost: Ints, nodes: int) -> npt.NDArray[np.bool_]:
    """Which arcs lie within a strongly connected component that contains an arc of negative cost."""
    if not (cost < 0).any():
        return np.zeros(len(cost), dtype=bool)
    import scipy.sparse as sp  # its import takes longer than most problems need
    from scipy.sparse.csgraph import connected_components

    graph = sp.csr_array((np.ones(len(tail), dtype=np.int8), (tail, head)), shape=(nodes, nodes))
    _, component = connected_components(graph, directed=True, connection="strong")
    within = component[tail] == component[head]
    doubtful = np.zeros(nodes, dtype=bool)
    doubtful[component[tail[within & (cost < 0)]]] = True
    inside: npt.NDArray[np.bool_] = within & doubtful[component[tail]]
    return inside


def _cycle_of(start: Ints, last: Ints) -> list[int]:
    """Arcs of a cycle among the arcs by which nodes were reached last (-1: by none), in order; empty if none."""
    seen = np.zeros(len(last), dtype=np.int64)
    arcs, tails = last.tolist(), start.tolist()
    for origin in range(len(arcs)):
        node = origin
        while arcs[node] >= 0 and not seen[node]:
            seen[node] = origin + 1
            node = tails[arcs[node]]
        if arcs[node] >= 0 and seen[node] == origin + 1:
            cycle, at = [arcs[node]], tails[arcs[node]]
            while at != node:
                cycle.append(arcs[at])
                at = tails[arcs[at]]
            return cycle[::-1]
    return []
