"""Tiny random documents of each problem, with numbers as people write them: tenths, hundredths, thirds cut short, large
whole ones, ties, zeros, and now and then nothing at all. The same problem and number give the same document.
"""

import json
import re
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

__all__ = ["Posed", "drawn"]

Record = dict[str, Any]


class Posed(NamedTuple):
    """A document, the parameters that a caller gives with it, and all that are not at their defaults."""

    name: str
    text: str
    call: Record
    parameters: Record


class Drawing:
    """One source of randomness and one style of numbers."""

    def __init__(self, name: str, number: int) -> None:
        self.random = Random(f"{name}:{number}")
        self.style = self.random.choice(["tenths", "hundredths", "thirds", "whole", "large", "tied", "mixed"])
        self.large = 1000

    def some(self, low: int, high: int) -> int:
        """A whole number."""
        return self.random.randint(low, high)

    def often(self, chance: float) -> bool:
        """True that often."""
        return self.random.random() < chance

    def amount(self, top: int = 10, above_zero: bool = False, style: str | None = None) -> int | float:
        """A number from 0 to `top` (to `large` times that if large) as it would be written."""
        style = style or self.style
        if style == "mixed":
            style = self.random.choice(["tenths", "hundredths", "thirds", "whole", "tied"])
        if not above_zero and self.often(0.1):
            return 0
        found: int | float
        if style == "tenths":
            found = self.some(1, 10 * top) / 10
        elif style == "hundredths":
            found = self.some(1, 100 * top) / 100
        elif style == "thirds":
            found = round(self.some(1, 3 * top) / 3, self.some(2, 4) if self.often(0.8) else 7)
        elif style == "whole":
            found = self.some(1, top)
        elif style == "large":
            found = self.some(1, top) * self.large + self.some(0, 9) * self.large // 10
        else:
            found = self.random.choice([0.1, 0.3, 1.1]) * 1
        return found

    def written(self, number: str) -> str:
        """The same decimal, now and then with zeros behind it or with an exponent."""
        if self.often(0.9):
            return number
        whole, part = number.split(".")
        return self.random.choice([f"{number}00", f"{int(whole + part)}e-{len(part)}"])

    def chosen(self, parameters: dict[str, list[Any]]) -> Record:
        """Values of some parameters."""
        return {name: self.random.choice(values) for name, values in parameters.items() if self.often(0.5)}

    def subset(self, ids: list[str], most: int) -> list[str]:
        """Some of the ids, in any order."""
        return self.random.sample(ids, min(len(ids), self.some(0, most)))


def nodes_of(draw: Drawing, low: int = 2, high: int = 4) -> list[Record]:
    """Nodes with racks, some without, and with few slots."""
    nodes = []
    for number in range(draw.some(low, high)):
        slots = draw.some(0 if draw.often(0.2) else 1, 2)
        node: Record = {"id": f"n{number}", "slots": slots}
        if draw.often(0.7):
            node["rack"] = draw.random.choice(["r1", "r2"])
        if draw.often(0.4):
            node["idle_slots"] = draw.some(0, slots)
        nodes.append(node)
    return nodes


def tasks_of(draw: Drawing, nodes: list[Record], kinds: list[str], states: list[str]) -> list[Record]:
    """Tasks of these kinds and states, in any order; maps have up to three replicas."""
    ids = [node["id"] for node in nodes]
    order = list(zip(kinds, states, strict=True))
    draw.random.shuffle(order)
    numbers = draw.random.sample(range(5, 20), len(order))  # t10 may come before t9 or after it
    tasks = []
    for number, (kind, state) in zip(numbers, order, strict=True):
        task: Record = {"id": f"t{number}"}
        if kind != "map" or draw.often(0.2):
            task["kind"] = kind
        if kind == "map":
            task["replicas"] = draw.subset(ids, 3)
        if state != "pending":
            task["state"] = state
            if state == "running" or draw.often(0.8):
                task["node"] = draw.random.choice(ids)
        tasks.append(task)
    return tasks


def states(draw: Drawing, pending: int, others: int) -> list[str]:
    """So many pending tasks, and some that run or have ended."""
    return ["pending"] * pending + [draw.random.choice(["running", "finished"]) for _ in range(others)]


def of_maps(draw: Drawing, most: int = 5, others: int = 2, nodes: list[Record] | None = None) -> Record:
    """A document with maps."""
    nodes = nodes_of(draw) if nodes is None else nodes
    pending = 0 if draw.often(0.02) else draw.some(min(2, most), most)
    shown = states(draw, pending, draw.some(0, others))
    return {"format": "optsched/1", "nodes": nodes, "tasks": tasks_of(draw, nodes, ["map"] * len(shown), shown)}


def of_both(draw: Drawing, maps: int, reduces: int, others: int, nodes: list[Record]) -> Record:
    """A document with maps and reduces."""
    for node in nodes:
        if draw.often(0.6):
            node["reduce_slots"] = draw.some(0, 2)
            if draw.often(0.4):
                node["idle_reduce_slots"] = draw.some(0, node["reduce_slots"])
    of_map, of_reduce = (states(draw, draw.some(0, most), draw.some(0, others)) for most in (maps, reduces))
    kinds = ["map"] * len(of_map) + ["reduce"] * len(of_reduce)
    return {"format": "optsched/1", "nodes": nodes, "tasks": tasks_of(draw, nodes, kinds, of_map + of_reduce)}


def add_shuffle(draw: Drawing, document: Record, chance: float = 0.7, of_jobs: set[str] | None = None) -> None:
    """What maps send to reduces, of the same job if jobs are given."""
    tasks = document["tasks"]
    document["shuffle"] = [
        {"map": one["id"], "reduce": other["id"], "size": draw.amount()}
        for one in tasks
        for other in tasks
        if one.get("kind", "map") == "map" and other.get("kind") == "reduce" and draw.often(chance)
        if of_jobs is None or (one.get("job") in of_jobs and one.get("job") == other.get("job"))
    ]


def lsap(draw: Drawing) -> tuple[Record, Record]:
    """Locality alone; the other numbers are there to be passed over."""
    document = of_maps(draw, 6)
    for task in document["tasks"]:
        task["size"] = draw.amount()
    return document, draw.chosen({"levels": [[0, 1, 2], [0, 1, 1], [1, 2, 5], [0, 0, 3]]})


def add_groups(draw: Drawing, document: Record, above_zero: bool) -> None:
    """Groups with weights, and a job for each task."""
    groups = [f"g{number}" for number in range(draw.some(1, 3))]
    document["groups"] = [{"id": group, "weight": draw.amount(5, above_zero)} for group in groups]
    if not any(group["weight"] for group in document["groups"]):
        document["groups"][0]["weight"] = 0.1
    jobs = [f"j{number}" for number in range(draw.some(1, 3))]
    document["jobs"] = [{"id": job, "group": draw.random.choice(groups)} for job in jobs]
    for task in document["tasks"]:
        task["job"] = draw.random.choice(jobs)
    if draw.often(0.7):
        for group in document["groups"]:
            group["running_tasks"] = draw.some(0, 3)


def fair_lsap(draw: Drawing) -> tuple[Record, Record]:
    """Groups, with every reading of the costs."""
    document = of_maps(draw)
    parameters = draw.chosen(
        {
            "alpha": [0, 0.1, 0.7, 20, 33.33, 50],
            "beta": ["auto", 0.1, 3, 1000.5],
            "gfc": ["ratio", "difference"],
            "selection": ["fixed", "free"],
            "overflow": ["weight", "complement", "flat", "naive"],
            "fairness": [0, 0.1, 0.3, 1],
            "rations": ["floor", "largest-remainder", "largest-remainder"],
        }
    )
    add_groups(draw, document, parameters.get("gfc") != "difference")
    groups = document["groups"]
    if len(groups) > 1 and draw.often(0.5):  # shares of ten slots, in tenths: rations that are just whole
        cuts = sorted(draw.random.sample(range(1, 10), len(groups) - 1))
        for group, low, high in zip(groups, [0, *cuts], [*cuts, 10], strict=True):
            group["weight"] = (high - low) / 10
        more = max(0, 10 - sum(node["slots"] for node in document["nodes"]))
        document["nodes"].append({"id": "busy", "slots": more, "idle_slots": 0})
    return document, parameters


def lsap_fairness(draw: Drawing) -> tuple[Record, Record]:
    """Groups and shares."""
    document = of_maps(draw)
    parameters = draw.chosen({"distance": ["absolute", "relative"]})
    add_groups(draw, document, parameters.get("distance") == "relative")
    return document, parameters


def worst_group(draw: Drawing) -> tuple[Record, Record]:
    """Groups that compete for few nodes; weights are there to be passed over."""
    document = of_maps(draw)
    add_groups(draw, document, False)
    return document, draw.chosen({"levels": [[0, 1, 2], [0, 1, 2], [0, 1, 1], [1, 2, 5], [0, 0, 3], [0, 2, 3]]})


def add_rates(draw: Drawing, document: Record) -> None:
    """Rates of nodes and of tasks; not so large that doubles, of which penalties are made, would err by 2^-20."""
    draw.large = 10
    typed = draw.often(0.5)
    for node in document["nodes"]:
        node |= {field: draw.amount(90, True) for field in ("rate_in", "rate_process", "rate_out")}
        node["out_in_use"] = draw.amount(50)
        if typed and draw.often(0.9):
            node["type"] = draw.random.choice(["c1", "c2"])
        if draw.often(0.5):
            node["running_rates"] = [draw.amount(20) for _ in range(draw.some(0, 2))]
    types = {node.get("type") for node in document["nodes"]}
    typed = typed and None not in types
    known = [draw.amount(20) for _ in range(2)]

    def rate() -> int | float:
        found: int | float = draw.random.choice(known) if draw.often(0.6) else draw.amount(20)
        return found

    for task in document["tasks"]:
        task["rate_in"] = {name: rate() for name in sorted(types)} if typed and draw.often(0.8) else rate()


SCALES = ["rate_in", "rate_process", 1, 12.8, 0.3]
DISTANCES = [[0, 0.1, 1], [0, 0.3, 0.7], [0.5, 0.1, 0.2], [0, 0, 0]]


def flow(draw: Drawing) -> tuple[Record, Record]:
    """Rates, with loads frozen."""
    document = of_maps(draw)
    add_rates(draw, document)
    return document, draw.chosen({"f_c": DISTANCES, "scale": SCALES, "include_task": [True, False]})


def flow_congestion(draw: Drawing) -> tuple[Record, Record]:
    """Rates, with loads of what is placed, and reduces."""
    document = of_both(draw, 4, 2, 1, nodes_of(draw, 1, 3))
    add_rates(draw, document)
    add_shuffle(draw, document)
    return document, draw.chosen(
        {"f_c": DISTANCES, "scale": SCALES, "deviation": [True, False], "weights": ["literal", "shuffle"]}
    )


def latency(draw: Drawing) -> tuple[Record, Record]:
    """Initial loads."""
    document = of_maps(draw, 5)
    for node in document["nodes"]:
        node["load"] = draw.amount(6)
    parameters = draw.random.choice([{}, {}, {"w_rem": 2}, {"w_loc": 2, "w_rem": 3}, {"w_loc": 3, "w_rem": 10}])
    return document, dict(parameters)


def add_topology(draw: Drawing, document: Record) -> None:
    """Distances, in one of the forms."""
    nodes = document["nodes"]
    form = draw.random.choice(["distance", "distance", "hops", "rate", "links"])
    if form == "hops":
        document["topology"] = {"hops": {"node": 0, "rack": draw.amount(3), "off_rack": draw.amount(6)}}
    elif form == "links":
        ids = [node["id"] for node in nodes]
        links = [(name, "switch") for name in ids] + [tuple(draw.random.sample(ids, 2)) for _ in ids[1:2]]
        document["topology"] = {"links": [{"from": a, "to": b, "rate": draw.amount(100, True)} for a, b in links]}
    else:
        rate = form == "rate"
        matrix = [
            [0 if a == b and not rate else draw.amount(10, rate) for b in range(len(nodes))] for a in range(len(nodes))
        ]
        document["topology"] = {form: matrix}


def add_sizes(draw: Drawing, document: Record) -> None:
    """Blocks, each on some node."""
    ids = [node["id"] for node in document["nodes"]]
    for task in document["tasks"]:
        if task.get("kind", "map") == "map":
            task["size"] = draw.amount(64)
            task["replicas"] = task["replicas"] or [draw.random.choice(ids)]


def add_jobs(draw: Drawing, document: Record, all_of_them: bool = False) -> None:
    """A job for each task, or for most."""
    jobs = [f"j{number}" for number in range(draw.some(1, 2))]
    document["jobs"] = [{"id": job} for job in jobs]
    for task in document["tasks"]:
        if all_of_them or draw.often(0.8):
            task["job"] = draw.random.choice(jobs)


def transmission_maps(draw: Drawing) -> tuple[Record, Record]:
    """Blocks and distances."""
    document = of_maps(draw)
    add_sizes(draw, document)
    add_topology(draw, document)
    return document, {}


def in_touch(draw: Drawing, document: Record) -> None:
    """What maps send to reduces, one entry at least: one of a map and a reduce that have ended, if need be."""
    add_shuffle(draw, document)
    if not document["shuffle"]:
        document["tasks"] += [{"id": "m", "state": "finished"}, {"id": "r", "kind": "reduce", "state": "finished"}]
        document["shuffle"] = [{"map": "m", "reduce": "r", "size": draw.amount()}]


def transmission_reduces(draw: Drawing) -> tuple[Record, Record]:
    """What maps hold for reduces, and distances."""
    document = of_both(draw, 1, 4, 2, nodes_of(draw))
    add_sizes(draw, document)
    add_jobs(draw, document)
    add_topology(draw, document)
    in_touch(draw, document)
    return document, draw.chosen({"distinct": [True, False]})


def transmission(draw: Drawing) -> tuple[Record, Record]:
    """Both."""
    document = of_both(draw, 3, 2, 1, nodes_of(draw, 2, 3))
    add_sizes(draw, document)
    add_jobs(draw, document)
    add_topology(draw, document)
    in_touch(draw, document)
    return document, draw.chosen({"distinct": [True, False]})


def utility(draw: Drawing) -> tuple[Record, Record]:
    """Profiles of jobs, capacities and goals."""
    nodes: list[Record] = [{"id": f"n{number}"} for number in range(draw.some(1, 3))]
    resources = ["cpu", "memory"][: draw.some(1, 2)]
    for node in nodes:
        node["capacity"] = {name: draw.amount(6) for name in resources}
    document = of_both(draw, 4, 2, 1, nodes)
    add_jobs(draw, document, all_of_them=True)
    document["time"] = draw.amount(5)
    for job in document["jobs"]:
        job["map_time"] = draw.amount(10, True)
        if draw.often(0.7):
            job["goal"] = draw.amount(40)

    def profile() -> Record:
        scale = 1000 if draw.style == "large" else 1
        return {name: draw.random.choice([0, 0.1, 0.25, 0.3, 0.5, 1, 1.1, 2, 3]) * scale for name in resources}

    profiles = {(job["id"], kind): profile() for job in document["jobs"] for kind in ("map", "reduce", "shuffling")}
    shuffling = {job["id"]: draw.often(0.5) for job in document["jobs"]}
    for task in document["tasks"]:
        kind = task.get("kind", "map")
        task["demand"] = profiles[task["job"], kind]
        if kind == "reduce" and shuffling[task["job"]]:
            task["demand_shuffle"] = profiles[task["job"], "shuffling"]
    return document, draw.chosen(
        {
            "reduces": ["free", "fixed", "fixed"],
            "tables": ["literal", "smoothed"],
            "phase": ["shuffle", "shuffle", "reduce"],
            "penalty": [2.1, 3.33, 1000],
        }
    )


def traffic(draw: Drawing) -> tuple[Record, Record]:
    """Datacenters, blocks, and what jobs send."""
    nodes = nodes_of(draw, 2, 4)
    for node in nodes:
        node["datacenter"] = draw.random.choice(["d1", "d2", "d3"])
    document = of_both(draw, 3, 3, 1, nodes)
    add_jobs(draw, document)
    for task in document["tasks"]:
        if task.get("kind", "map") == "map":
            task["size"] = draw.amount(64)
            if "state" in task:  # what ran somewhere is known to have run there
                task.setdefault("node", draw.random.choice(nodes)["id"])
    for job in document["jobs"]:
        job["filter_ratio"] = draw.amount(2)
    parameters = draw.chosen({"capacity": ["none", "slots", "slots"], "reduces": ["together", "free", "free", "free"]})
    if draw.often(0.8 if "reduces" in parameters else 0.4):
        jobs = [job["id"] for job in document["jobs"]]
        add_shuffle(draw, document, 0.8, set(jobs if draw.often(0.5) else jobs[:1]))
    return document, parameters


def generalized_assignment(draw: Drawing) -> tuple[Record, Record]:
    """Costs of any sign, demands and capacities."""
    document = of_maps(draw, 5, 0, [{"id": f"n{number}"} for number in range(draw.some(2, 3))])
    nodes, tasks = document["nodes"], document["tasks"]
    for task in tasks:
        task["replicas"] = []

    def table(entry: Callable[[], Any]) -> list[list[Any]]:
        return [[entry() for _ in nodes] for _ in tasks]

    pairs: Record = {"cost": table(lambda: draw.amount(20) * draw.random.choice([1, 1, 1, -1]))}
    if draw.often(0.8):
        resources = ["weight", "volume"][: draw.some(1, 2)]
        scale = 1000 if draw.style == "large" else 1
        demands = [0, 0.1, 0.2, 0.3, 0.5, 1, 1.25, 2, 3]
        pairs["demand"] = {name: table(lambda: draw.random.choice(demands) * scale) for name in resources}
        for node in nodes:
            node["capacity"] = {name: draw.amount(5) for name in resources}
    if draw.often(0.3):
        pairs["allowed"] = table(lambda: draw.often(0.8))
    document["pairs"] = pairs
    return document, draw.chosen({"sense": ["min", "max"]})


def min_cost_flow(draw: Drawing) -> tuple[Record, Record]:
    """Networks of whole numbers, some large, with parallel arcs, loops, lower limits and arcs without a limit."""
    scale = draw.random.choice([1, 1, 1000, 10**9])
    supply = [draw.some(-3, 3) if draw.often(0.6) else 0 for _ in range(draw.some(1, 4))]
    supply[-1] -= sum(supply)
    names = [f"v{number}" for number in range(len(supply))]
    arcs = []
    for _ in range(draw.some(0, 6)):
        arc: Record = {"tail": draw.random.choice(names), "head": draw.random.choice(names)}
        lower = draw.some(0, 1) if draw.often(0.3) else 0
        if lower:
            arc["lower"] = lower * scale
        if draw.often(0.8):
            arc["capacity"] = (lower + draw.some(0, 3)) * scale
        arc["cost"] = draw.some(-3, 9) * draw.random.choice([1, 10, 1000])
        arcs.append(arc)
    nodes = [{"id": name, "supply": units * scale} for name, units in zip(names, supply, strict=True)]
    return {"format": "optsched-network/1", "nodes": nodes, "arcs": arcs}, {}


def over_time(draw: Drawing) -> tuple[Record, Record]:
    """Jobs that arrive, times by locality or durations, and what runs on slots of its own."""
    nodes = nodes_of(draw, 1, 3)
    document = of_both(draw, 3, 2, 2, nodes)
    add_groups(draw, document, above_zero=True)
    document["time"] = draw.random.choice([0, 0, 1.5, -2])
    for job in document["jobs"]:
        if draw.often(0.6):
            job["arrival"] = draw.random.choice([-1, 0, 0.7, 2])
    own_jobs = draw.often(0.7)
    for task in document["tasks"]:
        if not own_jobs and draw.often(0.2):
            del task["job"]
        if draw.often(0.5):
            task["times"] = {level: draw.amount() for level in ("node", "rack", "off_rack")}
        else:
            task["duration"] = draw.amount()
        if task.get("state") == "running":
            task["start"] = document["time"] - draw.random.choice([0, 1, 0.5, 30])
    for node in nodes:
        for kind, slots, idle in (("map", "slots", "idle_slots"), ("reduce", "reduce_slots", "idle_reduce_slots")):
            runs = sum(
                task.get("state") == "running" and task["node"] == node["id"] and task.get("kind", "map") == kind
                for task in document["tasks"]
            )
            node[slots] = max(node.get(slots, 1), runs)
            node[idle] = min(node.get(idle, node[slots]), node[slots] - runs)
    parameters = draw.chosen({"factors": [[1, 1.5, 2], [1, 1, 0.5]], "slowstart": [0, 0.5, 1]})
    if draw.often(0.4):
        draw.style = "tenths" if draw.style == "large" else draw.style  # a second has a million microseconds
        add_topology(draw, document)
        for task in document["tasks"]:
            if task.get("kind", "map") == "map" and task.get("replicas"):
                task["size"] = draw.amount()
        parameters |= {"service": "transfer", "scale": draw.random.choice([1, 0.5, 0.004, 0])}
    return document, parameters


def job_times(draw: Drawing) -> tuple[Record, Record]:
    """The same, where jobs count as much as their groups."""
    document, parameters = over_time(draw)
    if draw.often(0.4) and all("job" in task for task in document["tasks"]):
        parameters["weights"] = "group"
    return document, parameters


FAMILIES: dict[str, Callable[[Drawing], tuple[Record, Record]]] = {
    "lsap": lsap,
    "fair-lsap": fair_lsap,
    "flow": flow,
    "latency": latency,
    "lsap-fairness": lsap_fairness,
    "worst-group": worst_group,
    "flow-congestion": flow_congestion,
    "transmission-maps": transmission_maps,
    "transmission-reduces": transmission_reduces,
    "transmission": transmission,
    "utility": utility,
    "traffic": traffic,
    "generalized-assignment": generalized_assignment,
    "min-cost-flow": min_cost_flow,
    "makespan": over_time,
    "job-times": job_times,
}


def drawn(name: str, number: int) -> Posed:
    """The instance of a problem with a number; its parameters come with the file, or with the call."""
    draw = Drawing(name, number)
    document, parameters = FAMILIES[name](draw)
    in_file = bool(parameters) and draw.often(0.3)
    if in_file:
        document["parameters"] = {name: parameters}
    text = re.sub(r"\d+\.\d+", lambda found: draw.written(found[0]), json.dumps(document))
    call = {} if in_file else {key: shell(value) if draw.often(0.3) else value for key, value in parameters.items()}
    return Posed(name, text, call, parameters)


def shell(value: Any) -> Any:
    """A parameter as it comes from a command line: a string, with commas in a list."""
    return ",".join(map(str, value)) if isinstance(value, list) else str(value).lower()
