"""Clusters whose distances are nested areas: racks, and trees of switches of several levels."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from optsched.core.instance import Cluster, Instance, Ragged, State, Topology, Workload


@st.composite
def nested(draw: st.DrawFn) -> Instance:
    """Nodes without tasks, in racks (one, several, none, or some nodes in none), or below one to three switches."""
    names = [f"n{node}" for node in range(draw(st.integers(1, 6)))]
    racks: dict[str, Any] = {}
    if draw(st.booleans()):
        hops = draw(st.sampled_from([(0, 2, 4), (0.25, 0.5, 3), (0, 0, 0), (1, 1, 2), (0, 3, 3)]))
        topology = Topology("hops", hops=dict(zip(("node", "rack", "off_rack"), hops, strict=True)))
        of_nodes = st.integers(draw(st.sampled_from([-1, 0])), 2)
        racks = {"rack": [draw(of_nodes) for _ in names], "rack_ids": ["r1", "r2", "r3"]}
    else:
        # Every node is as far from the root: areas, whatever the rates of the levels are.
        rates = [draw(st.sampled_from([1.0, 3.0, 0.5, 40.0])) for _ in range(3)]
        links: set[tuple[str, str, float]] = set()
        depth = draw(st.integers(1, 3))
        for below in names:
            path = "".join(str(draw(st.integers(0, 1))) for _ in range(depth))
            for level in range(depth):
                switch = f"s{path[: depth - 1 - level]}"
                links.add((below, switch, rates[level]))
                below = switch
        topology = Topology("links", links=tuple(sorted(links)))
    return Instance(Cluster(names, slots=[2] * len(names), topology=topology, **racks), Workload([]))


@st.composite
def posed(draw: st.DrawFn) -> Instance:
    """The same with maps that have sizes and replicas, and idle slots."""
    cluster = draw(nested()).cluster
    nodes, maps = len(cluster), draw(st.integers(0, 5))
    some = st.lists(st.integers(0, nodes - 1), min_size=1, max_size=3, unique=True)
    sizes = st.sampled_from([0.0, 64.0, 128.0, 0.5] if draw(st.booleans()) else [64.0, 0.3, 1 / 3])
    workload = Workload(
        [f"m{task}" for task in range(maps)],
        size=[draw(sizes) for _ in range(maps)],
        replicas=Ragged.from_rows([draw(some) for _ in range(maps)]),
    )
    idle = np.array([draw(st.integers(0, 2)) for _ in range(nodes)])
    return Instance(cluster, workload, State.initial(cluster, workload, idle_slots=idle))
