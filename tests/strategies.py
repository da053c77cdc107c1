"""What hypothesis draws: tiny problems, clusters of nested areas, and documents of any valid content.

Every problem is held against its oracle (`oracles.documents`) on these. Numbers are as people write them, some tasks
run or have ended, and parameters are drawn too. A failure shows the number of the document:
`oracles.documents.drawn(name, number)` has its text.
"""

from typing import Any

import numpy as np
from hypothesis import strategies as st
from oracles.documents import drawn
from oracles.latency import Latency

from optsched.core.instance import Cluster, Instance, Ragged, State, Topology, Workload
from optsched.instances.files import parse
from optsched.problems import PROBLEMS, Utility

#: Documents have numbers below this.
_DOCUMENTS = 10**6


def instances(name: str = "fair-lsap") -> st.SearchStrategy[Instance]:
    """Instances with the fields of a problem."""
    return problems(name).map(lambda problem: problem.instance)


def problems(name: str, tasks: int = 6, nodes: int = 4, **fixed: Any) -> st.SearchStrategy[Any]:
    """The problem called `name` on an instance with at most so many tasks and nodes; parameters may be `fixed`."""
    found = st.integers(0, _DOCUMENTS - 1).map(lambda number: posed(name, number, fixed))
    return found.filter(lambda problem: len(problem.tasks) <= tasks and len(problem.instance.cluster) <= nodes)


def posed(name: str, number: int, fixed: dict[str, Any]) -> Any:
    """The problem on a document; loads of `latency` are made whole as it says."""
    document = drawn(name, number)
    text, parameters = document.text, document.call
    if name == "latency":
        text, parameters = Latency(document.text, document.parameters).scaled()
    return PROBLEMS[name](parse(text), **{**parameters, **fixed})


def utilities(most: int = 6, jobs: tuple[int, int] = (0, 3), **fixed: Any) -> st.SearchStrategy[Utility]:
    """`utility` on up to three trackers with so many jobs, and so many tasks at most."""
    return problems("utility", tasks=most, **fixed).filter(lambda problem: jobs[0] <= len(problem.jobs) <= jobs[1])


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
def nested_maps(draw: st.DrawFn) -> Instance:
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


#: Every field of the format once.
FULL: dict[str, Any] = {
    "format": "optsched/1",
    "name": "full",
    "description": 'a "quoted": description',
    "source": "nowhere",
    "labels": {"slots": "inferred", "größe": "Ω"},
    "time": 3.5,
    "parameters": {"lsap": {"levels": [0, 1, 2]}, "latency": {"deep": {"er": [None, True, 0.5, "x"]}}},
    "nodes": [
        {
            "id": "n1",
            "rack": "r1",
            "datacenter": "d1",
            "type": "c1",
            "slots": 2,
            "idle_slots": 1,
            "reduce_slots": 3,
            "idle_reduce_slots": 0,
            "load": 0.5,
            "capacity": {"cpu": 8},
            "rate_process": 60,
            "rate_in": 85,
            "rate_out": 85.5,
            "out_in_use": 0.25,
            "running_rates": [3.04, 9.14],
        },
        {"id": "n2", "rack": "r2", "type": "c2"},
        {"id": "n3", "rack": "r1", "capacity": {"disk": 1}},
    ],
    "groups": [{"id": "g1", "weight": 0.25, "running_tasks": 3}, {"id": "g2"}],
    "jobs": [{"id": "j1", "group": "g2", "arrival": 0, "goal": 600, "filter_ratio": 0.2, "map_time": 30}, {"id": "j2"}],
    "tasks": [
        {
            "id": "t1",
            "job": "j1",
            "replicas": ["n3", "n1"],
            "size": 128,
            "rate_in": {"c1": 3.04, "c2": 3.2},
            "demand": {"cpu": 1},
            "demand_shuffle": {"memory": 1},
            "bytes_read": 12.8,
            "observed": "n2",
            "state": "running",
            "node": "n2",
            "start": -12.5,
            "duration": 40,
            "times": {"node": 38.5, "rack": 40, "off_rack": 47},
        },
        {"id": "t9", "kind": "reduce", "rate_in": 5},
        {"id": "t10", "job": "j2", "state": "finished", "node": "n1"},
    ],
    "shuffle": [{"map": "t1", "reduce": "t9", "size": 10, "emitted": 1}, {"map": "t10", "reduce": "t9", "size": 0}],
    "pairs": {
        "cost": [[1, -2.5, 3], [4, 5, 6], [7, 8, 9]],
        "demand": {"cpu": [[1, 2, 3], [4, 5, 6], [7, 8, 9]]},
        "allowed": [[True, False, True], [True, True, True], [False, False, False]],
    },
    "topology": {"distance": [[0, 4, 1], [4, 0, 1], [1, 2, 0]]},
}


#: Every field of a flow network once.
NETWORK: dict[str, Any] = {
    "format": "optsched-network/1",
    "name": "net",
    "labels": {"costs": "assumed"},
    "nodes": [{"id": "s", "supply": 4}, {"id": "m"}, {"id": "t", "supply": -4}],
    "arcs": [
        {"tail": "s", "head": "m", "id": "first", "lower": 1, "capacity": 3, "cost": 2},
        {"tail": "s", "head": "m", "cost": -5},
        {"tail": "m", "head": "t", "capacity": 9},
    ],
}


ids = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), min_size=1, max_size=5)


numbers = st.one_of(
    st.integers(0, 2**53 - 1).map(float), st.floats(0, 1e15, allow_subnormal=True), st.sampled_from([0.0, 0.1, 1e-300])
)


signed = st.one_of(numbers, numbers.map(lambda value: -value))


texts = st.text(st.characters(codec="utf-8"), max_size=8)


values = st.recursive(
    st.none() | st.booleans() | signed | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """Any valid instance document."""

    def sometimes(record: dict[str, Any], **fields: st.SearchStrategy[Any]) -> None:
        for name, strategy in fields.items():
            if draw(st.booleans()):
                record[name] = draw(strategy)

    def table(most: int, least: int = 0) -> list[dict[str, Any]]:
        return [{"id": name} for name in draw(st.lists(ids, min_size=least, max_size=most, unique=True))]

    amounts = st.dictionaries(st.sampled_from(["cpu", "memory", "io"]), numbers, max_size=3)
    nodes, groups, jobs, tasks = table(4, 1), table(2), table(3), table(5)
    for node in nodes:
        for slots in ("slots", "reduce_slots"):
            sometimes(node, **{slots: st.integers(0, 2**53)})
            sometimes(node, **{f"idle_{slots}": st.integers(0, node.get(slots, 1))})
        names = st.sampled_from(["a", "b", "c"])
        sometimes(node, rack=names, datacenter=names, type=names, load=numbers, capacity=amounts, rate_process=numbers)
        sometimes(node, rate_in=numbers, rate_out=numbers, out_in_use=numbers)
        sometimes(node, running_rates=st.lists(numbers, max_size=3))
    for group in groups:
        sometimes(group, weight=numbers, running_tasks=st.integers(0, 9))
    for job in jobs:
        sometimes(job, arrival=signed, goal=signed, filter_ratio=numbers, map_time=numbers)
        if groups:
            sometimes(job, group=st.sampled_from([group["id"] for group in groups]))
    types = sorted({node["type"] for node in nodes if "type" in node})
    node_ids = st.sampled_from([node["id"] for node in nodes])
    idle = [node["id"] for node in nodes if "running_rates" not in node]
    counted = {group["id"] for group in groups if "running_tasks" in group}
    for task in tasks:
        sometimes(task, kind=st.sampled_from(["map", "reduce"]), replicas=st.lists(node_ids, unique=True))
        sometimes(task, size=numbers, bytes_read=numbers, observed=node_ids, start=signed, duration=numbers)
        sometimes(task, demand=amounts, demand_shuffle=amounts)
        levels = {"node": numbers, "off_rack": numbers}
        sometimes(task, times=st.fixed_dictionaries(levels, optional={"rack": numbers}))
        by_type = st.dictionaries(st.sampled_from(types), numbers, max_size=3) if types else numbers
        sometimes(task, rate_in=st.one_of(numbers, by_type))
        if jobs:
            sometimes(task, job=st.sampled_from([job["id"] for job in jobs]))
        job = next((job for job in jobs if job["id"] == task.get("job")), {})
        states = ["pending", "finished"] + (["running"] if idle and job.get("group") not in counted else [])
        sometimes(task, state=st.sampled_from(states))
        if task.get("state") == "running":
            task["node"] = draw(st.sampled_from(idle))
        elif task.get("state") == "finished":
            sometimes(task, node=node_ids)
    document: dict[str, Any] = {"format": "optsched/1", "nodes": nodes, "tasks": tasks, "groups": groups, "jobs": jobs}
    sometimes(document, name=texts, description=texts, source=texts, labels=st.dictionaries(texts, texts, max_size=2))
    sometimes(
        document, time=signed, parameters=st.dictionaries(texts, st.dictionaries(texts, values, max_size=2), max_size=2)
    )
    ends = {kind: [task["id"] for task in tasks if task.get("kind", "map") == kind] for kind in ("map", "reduce")}
    if ends["map"] and ends["reduce"]:
        entry = {name: st.sampled_from(of_kind) for name, of_kind in ends.items()} | {"size": numbers}
        sometimes(document, shuffle=st.lists(st.fixed_dictionaries(entry, optional={"emitted": numbers}), max_size=3))

    def matrix(rows: int, entries: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        row = st.lists(entries, min_size=len(nodes), max_size=len(nodes))
        return st.lists(row, min_size=rows, max_size=rows)

    pairs: dict[str, Any] = {}
    sometimes(pairs, cost=matrix(len(tasks), signed), allowed=matrix(len(tasks), st.booleans()))
    known = sorted({name for node in nodes for name in node.get("capacity", {})})
    if known:
        sometimes(pairs, demand=st.dictionaries(st.sampled_from(known), matrix(len(tasks), numbers), max_size=2))
    sometimes(document, pairs=st.just(pairs))
    positive = st.floats(1e-6, 1e9)
    distance = draw(matrix(len(nodes), numbers))
    for row, line in enumerate(distance):
        line[row] = 0.0
    forms = st.one_of(
        st.just({"distance": distance}),
        st.fixed_dictionaries({"rate": matrix(len(nodes), numbers)}),
        st.fixed_dictionaries({"hops": st.fixed_dictionaries({"node": numbers, "rack": numbers, "off_rack": numbers})}),
        st.fixed_dictionaries(
            {"links": st.lists(st.fixed_dictionaries({"from": ids, "to": ids, "rate": positive}), max_size=3)}
        ),
    )
    sometimes(document, topology=forms)
    return document


@st.composite
def network_documents(draw: st.DrawFn) -> dict[str, Any]:
    """Any valid document of a flow network."""
    nodes: list[dict[str, Any]] = [{"id": name} for name in draw(st.lists(ids, min_size=1, max_size=5, unique=True))]
    supplies = draw(st.lists(st.integers(-(2**40), 2**40), min_size=len(nodes) - 1, max_size=len(nodes) - 1))
    for node, supply in zip(nodes, [*supplies, -sum(supplies)], strict=True):
        node["supply"] = supply
    arcs = []
    for _ in range(draw(st.integers(0, 6))):
        ends = st.sampled_from([node["id"] for node in nodes])
        lower = draw(st.integers(0, 2**53))
        arc: dict[str, Any] = {"tail": draw(ends), "head": draw(ends), "lower": lower}
        arc["capacity"] = draw(st.one_of(st.none(), st.integers(lower, 2**53)))
        arc["cost"] = draw(st.integers(-(2**53), 2**53))
        arcs.append(arc)
    return {"format": "optsched-network/1", "name": draw(texts), "nodes": nodes, "arcs": arcs}
