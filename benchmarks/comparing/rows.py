"""What is posed: for each problem instances at growing sizes, and those whose times are known elsewhere (anchors)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from optsched.core.instance import Cluster, Instance, Ragged, Workload
from optsched.core.network import FlowNetwork
from optsched.core.registry import SHIPPED
from optsched.instances.files import from_document
from optsched.instances.generate import generate

#: Which rows are run: `tiny` are those of the contract suite, in which every placement can be tried; `stages` are those
#: that tell what each stage of a search is for.
SETTINGS = ("tiny", "small", "anchors", "large", "stages")


@dataclass(frozen=True)
class Row:
    """One instance.

    Attributes
    ----------
    problem, setting
        The problem, and the setting in which the row is run.
    series
        Rows of one series differ in size alone: they have one growth exponent and one line of the plot.
    size
        What it grows in: tasks, arcs or pairs of jobs and nodes, as the label says.
    drawn, family
        Parameters of a family of generated instances, or of one of `made`.
    parameters
        Of the problem.
    kind
        `solve`, `frontier`, `study` (bounds, optimum, frontier and the certificates of both, one after another),
        `heuristics` (each a way, whose placements need not be equal) or `files` (each kind of file a way, which is
        read).
    """

    problem: str
    setting: str
    series: str
    size: int
    family: str
    drawn: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    kind: str = "solve"

    @property
    def label(self) -> str:
        """The instance in words."""
        parts = [
            f"{name}={value:,}" if isinstance(value, int) else f"{name}={value}" for name, value in self.drawn.items()
        ]
        parts += [f"{name}={value}" for name, value in self.parameters.items()]
        return f"{self.family} {' '.join(parts)}".strip()

    @property
    def key(self) -> str:
        """What tells it from every other row."""
        return f"{self.problem} / {self.kind} / {self.series} / {self.label}"

    def as_json(self) -> dict[str, Any]:
        """For another process."""
        return {**asdict(self), "drawn": dict(self.drawn), "parameters": dict(self.parameters)}

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Row:
        """The row that another process gave."""
        parameters = {
            name: tuple(value) if isinstance(value, list) else value for name, value in given["parameters"].items()
        }
        return cls(**{**given, "parameters": parameters})


#: Heuristics of rows of that kind, by problem.
HEURISTICS = {
    "lsap": ("fifo", "dl", "rand", "delay", "fair", "capacity"),
    "latency": ("round-robin", "flow-based", "labl"),
    "traffic": ("joss-t", "joss-j"),
}

_RACKS = {"levels": (0, 1, 2)}


def _lsap(nodes: int, tasks: int) -> dict[str, Any]:
    return {"nodes": nodes, "slots": 2, "idle_ratio": 0.1, "tasks": tasks}


def _latency(nodes: int, tasks: int) -> dict[str, Any]:
    return {"nodes": nodes, "tasks": tasks}


def _transmission(nodes: int, tasks: int, reduces: int, jobs: int) -> dict[str, Any]:
    return {"nodes": nodes, "tasks": tasks, "reduces": reduces, "jobs": jobs}


def _over_time(tasks: int, **more: Any) -> dict[str, Any]:
    return {"nodes": tasks // 12, "tasks": tasks, "reduces": tasks // 10, "jobs": 8, "slots": 2, **more}


#: Series of each problem: its name, the family, the parameters of the problem, and for each setting sizes and what is
#: drawn. A series whose name begins with a kind (`frontier: ...`) is of that kind.
_Series = tuple[str, str, Mapping[str, Any], Mapping[str, list[tuple[int, Mapping[str, Any]]]]]

#: Of schedules.
_SCHEDULED: list[_Series] = [
    (name, family, {}, {"stages": [(tasks, {"tasks": tasks, **drawn, "seed": seed}) for seed in range(3)]})
    for name, tasks, family, drawn in (
        ("few tasks", 8, "makespan", {"nodes": 3, "reduces": 2, "jobs": 3, "slots": 1, "running": 0.2}),
        ("at once", 40, "makespan", {"nodes": 6, "reduces": 8, "jobs": 4, "slots": 2}),
        ("arriving", 40, "job-times", {"nodes": 6, "reduces": 8, "jobs": 4, "slots": 2}),
        ("maps alone", 40, "job-times", {"nodes": 6, "reduces": 0, "jobs": 6, "slots": 1, "gap": 40.0}),
        ("crowded", 120, "crowded", {"nodes": 20, "jobs": 3, "slots": 2, "gap": 10.0}),
        ("many jobs", 240, "job-times", {"nodes": 20, "reduces": 0, "jobs": 12, "slots": 2, "gap": 30.0}),
        ("busy slots", 240, "job-times", {"nodes": 20, "reduces": 0, "jobs": 12, "slots": 2, "gap": 8.0}),
    )
]

_SERIES: dict[str, list[_Series]] = {
    "lsap": [
        (
            "two levels",
            "lsap",
            {},
            {
                "small": [(300, _lsap(1000, 300)), (2000, _lsap(5000, 2000)), (10_000, _lsap(20_000, 10_000))],
                "anchors": [(200_000, _lsap(100_000, 200_000))],
                "large": [(1_000_000, _lsap(100_000, 1_000_000))],
            },
        ),
        (
            "three levels",
            "lsap",
            _RACKS,
            {
                "small": [(900, {"nodes": 1000, "slots": 2, "tasks": 900, "racks": 20})],
                "anchors": [(5000, {"nodes": 5000, "slots": 2, "tasks": 5000, "racks": 50})],
                "large": [(50_000, {"nodes": 50_000, "slots": 2, "tasks": 50_000, "racks": 500})],
            },
        ),
        ("heuristics: policies", "lsap", {}, {
            "small": [(2000, _lsap(1000, 2000))],
            "large": [(1_000_000, _lsap(100_000, 1_000_000))],
        }),
        ("files: reading", "replicas", {}, {
            "small": [(10_000, {"nodes": 1000, "tasks": 10_000})],
            "large": [(1_000_000, {"nodes": 100_000, "tasks": 1_000_000})],
        }),
    ],
    "fair-lsap": [
        ("rations", "fair-lsap", {}, {
            "small": [(n * 3 // 2, {"nodes": n, "tasks": n * 3 // 2, "replicas": 3}) for n in (1000, 5000)],
            "anchors": [(100_000, {"nodes": 100_000, "tasks": 100_000, "replicas": 3})],
            "large": [(500_000, {"nodes": 500_000, "tasks": 500_000, "replicas": 3})],
        }),
        ("free selection", "fair-lsap", {"selection": "free"}, {
            "small": [(1500, {"nodes": 1000, "tasks": 1500, "replicas": 3})],
        }),
    ],
    "lsap-fairness": [
        ("", "lsap-fairness", {}, {
            "small": [(n * 3 // 2, {"nodes": n, "tasks": n * 3 // 2, "replicas": 3}) for n in (1000, 5000)],
            "anchors": [(40_000, {"nodes": 20_000, "tasks": 40_000, "replicas": 3})],
            "large": [(200_000, {"nodes": 100_000, "tasks": 200_000, "replicas": 3})],
        }),
    ],
    "worst-group": [
        ("two levels", "worst-group", {}, {
            "small": [(450, {"nodes": 1000, "tasks": 450, "groups": 20})],
            "anchors": [(9000, {"nodes": 20_000, "tasks": 9000, "groups": 50})],
            "large": [(90_000, {"nodes": 200_000, "tasks": 90_000, "groups": 50})],
        }),
        ("three levels", "worst-group", _RACKS, {
            "small": [(140, {"nodes": 300, "tasks": 140, "groups": 10, "racks": 15})],
        }),
    ],
    "flow": [
        ("half idle", "flow", {}, {
            "small": [(40, {}), (1000, {"nodes": 140, "tasks": 1000})],
            "anchors": [(2000, {"nodes": 280, "tasks": 2000}), (4000, {"nodes": 560, "tasks": 4000})],
            "large": [(16_000, {"nodes": 2240, "tasks": 16_000})],
        }),
        ("some 100 nodes", "flow", {}, {
            "small": [(1000, {"nodes": 127, "tasks": 1000, "slots": 20})],
            "anchors": [
                (10_000, {"nodes": 127, "tasks": 10_000, "slots": 200}),
                (10_000, {"nodes": 140, "tasks": 10_000, "slots": 200}),
            ],
            "large": [(100_000, {"nodes": 127, "tasks": 100_000, "slots": 1000})],
        }),
        ("1,000 nodes", "flow", {}, {
            "anchors": [(10_000, {"nodes": 1273, "tasks": 10_000, "slots": 22})],
        }),
        ("equal rows and columns", "flow", {}, {
            "small": [(1000, {"nodes": 50, "tasks": 1000, "slots": 40, "idle_ratio": 1.0})],
            "anchors": [(10_000, {"nodes": 1273, "tasks": 10_000, "slots": 11, "idle_ratio": 1.0})],
        }),
    ],
    "flow-congestion": [
        ("", "flow", {}, {
            "small": [(40, {}), (200, {"nodes": 56, "tasks": 200})],
            "anchors": [(600, {"nodes": 140, "tasks": 600})],
            "large": [(2400, {"nodes": 560, "tasks": 2400})],
        }),
    ],
    "latency": [
        ("uniform", "latency", {}, {
            "small": [(70, _latency(40, 70)), (3450, _latency(2000, 3450))],
            "anchors": [(20_000, _latency(10_000, 20_000)), (100_000, _latency(50_000, 100_000))],
            "large": [(200_000, _latency(100_000, 200_000))],
        }),
        ("ten tasks a server", "latency", {}, {
            "large": [(1_000_000, _latency(100_000, 1_000_000))],
        }),
        ("skewed", "skewed-latency", {}, {
            "small": [(900, {"nodes": 500, "tasks": 900})],
        }),
        ("frontier: uniform", "latency", {}, {
            "small": [(70, _latency(40, 70)), (3450, _latency(2000, 3450))],
            "anchors": [(20_000, _latency(10_000, 20_000)), (100_000, _latency(50_000, 100_000))],
            "large": [(200_000, _latency(100_000, 200_000))],
        }),
        ("frontier: ten tasks a server", "latency", {}, {
            "large": [(1_000_000, _latency(100_000, 1_000_000))],
        }),
        ("study: ten tasks a server", "latency", {}, {
            "large": [(1_000_000, _latency(100_000, 1_000_000))],
        }),
        ("heuristics: policies", "latency", {}, {
            "small": [(3450, _latency(2000, 3450))],
            "large": [(1_000_000, _latency(100_000, 1_000_000))],
        }),
    ],
    "transmission-maps": [
        ("two racks", "transmission", {}, {
            "small": [(300, {"nodes": 150, "tasks": 300}), (1000, {"nodes": 500, "tasks": 1000})],
            "anchors": [(3000, {"nodes": 1500, "tasks": 3000})],
            "large": [(10_000, {"nodes": 5000, "tasks": 10_000})],
        }),
        ("drawn distances", "transmission", {}, {
            "small": [(600, {"nodes": 300, "tasks": 600, "spread": 5})],
            "anchors": [(3000, {"nodes": 1500, "tasks": 3000, "spread": 5})],
        }),
        ("many slots a node", "transmission", {}, {
            "small": [(3000, {"nodes": 60, "tasks": 3000, "slots": 100})],
        }),
    ],
    "transmission-reduces": [
        ("", "transmission", {}, {
            "small": [(40, _transmission(50, 200, 40, 8)), (150, _transmission(200, 500, 150, 20))],
            "anchors": [(500, _transmission(5000, 2000, 500, 20))],
        }),
    ],
    "transmission": [
        ("", "transmission", {}, {
            "small": [(12, {}), (16, {"nodes": 16, "tasks": 16})],
            "anchors": [(32, {"nodes": 32, "tasks": 32}), (50, {"nodes": 40, "tasks": 50, "reduces": 5})],
        }),
    ],
    "utility": [
        ("equal nodes", "utility", {}, {
            "small": [(40, {}), (400, {"jobs": 8, "nodes": 50, "maps": 150})],
            "anchors": [(4000, {"jobs": 20, "nodes": 200, "maps": 600})],
            "large": [(300_000, {"jobs": 30, "nodes": 10_000, "maps": 30_000})],
        }),
        ("equal nodes, reduces fixed", "utility", {"reduces": "fixed"}, {
            "anchors": [(4000, {"jobs": 20, "nodes": 200, "maps": 600})],
            "large": [(300_000, {"jobs": 30, "nodes": 10_000, "maps": 30_000})],
        }),
        ("different nodes", "utility", {}, {
            "small": [(48, {"jobs": 4, "nodes": 12, "types": 3})],
            "anchors": [(400, {"jobs": 8, "nodes": 50, "types": 50, "maps": 150, "reduces": 12})],
        }),
    ],
    "traffic": [
        ("no slots", "traffic", {}, {
            "small": [(120, {}), (2000, {"nodes": 400, "tasks": 2000, "jobs": 50, "datacenters": 8})],
            "anchors": [(10_000, {"nodes": 1000, "tasks": 10_000, "jobs": 100, "datacenters": 10})],
            "large": [(100_000, {"nodes": 10_000, "tasks": 100_000, "jobs": 1000, "datacenters": 10})],
        }),
        ("slots", "traffic", {"capacity": "slots"}, {
            "small": [(600, {"nodes": 200, "tasks": 600, "jobs": 30})],
            "anchors": [(10_000, {"nodes": 1000, "tasks": 10_000, "jobs": 100, "datacenters": 10})],
        }),
        ("scarce slots", "traffic", {"capacity": "slots"}, {
            "stages": [
                (tasks, {"nodes": tasks // 10, "tasks": tasks, "jobs": 6, "datacenters": 4, "spare": 0.1, "seed": seed})
                for tasks in (40, 120) for seed in range(5)
            ],
            "large": [
                (1000, {"nodes": 100, "tasks": 1000, "jobs": jobs, "datacenters": 10, "spare": 0.1})
                for jobs in (50, 20)
            ],
        }),
        ("heuristics: policies", "traffic", {}, {
            "small": [(2000, {"nodes": 400, "tasks": 2000, "jobs": 50, "datacenters": 8})],
            "large": [(40_000, {"nodes": 4000, "tasks": 40_000, "jobs": 400, "datacenters": 10})],
        }),
    ],
    "generalized-assignment": [
        ("types C and D", "generalized-assignment", {}, {
            "small": [(30, {}), (60, {"nodes": 8, "tasks": 60})],
            "anchors": [(100, {"nodes": 5, "tasks": 100}), (200, {"nodes": 10, "tasks": 200})],
        }),
        ("plain assignment", "plain assignment", {}, {
            "small": [(200, {"nodes": 200})],
            "anchors": [(700, {"nodes": 700})],
            "large": [(2000, {"nodes": 2000})],
        }),
    ],
    "min-cost-flow": [
        ("random", "random network", {}, {
            "small": [
                (3000, {"nodes": 300, "arcs": 3000}),
                (20_000, {"nodes": 2000, "arcs": 20_000}),
                (25_000, {"nodes": 2500, "arcs": 25_000}),
            ],
            "anchors": [(100_000, {"nodes": 10_000, "arcs": 100_000})],
            "large": [(1_000_000, {"nodes": 100_000, "arcs": 1_000_000})],
        }),
        ("bounds and negative costs", "min-cost-flow", {}, {
            "small": [(2000, {"nodes": 500, "arcs": 2000})],
            "anchors": [(100_000, {"nodes": 10_000, "arcs": 100_000})],
        }),
    ],
    "makespan": [
        ("", "makespan", {}, {
            "small": [(count, _over_time(count)) for count in (60, 240)],
            "anchors": [(1200, {"nodes": 60, "tasks": 1200, "reduces": 60, "jobs": 20, "slots": 4})],
        }),
        *_SCHEDULED,
    ],
    "job-times": [
        ("", "job-times", {}, {
            "small": [(count, _over_time(count)) for count in (60, 240)],
            "anchors": [(1200, {"nodes": 60, "tasks": 1200, "reduces": 60, "jobs": 20, "slots": 4})],
        }),
        *_SCHEDULED,
    ],
}  # fmt: skip


def _tiny() -> Iterator[Row]:
    """A row for each problem of the registry, at the sizes of the contract suite, and one for each of its variants."""
    for record in SHIPPED:
        assert record.family is not None
        for parameters in ({}, *record.variants):
            series = "tiny" + "".join(f" {name}={value}" for name, value in parameters.items())
            yield Row(record.name, "tiny", series, 4, record.family, record.sizes, parameters)
        for kind in ("frontier", "study") if record.frontier else ():
            yield Row(record.name, "tiny", f"{kind}: tiny", 4, record.family, record.sizes, {}, kind)


def _listed() -> Iterator[Row]:
    for problem, series in _SERIES.items():
        for name, family, parameters, settings in series:
            kind = name.partition(":")[0] if ":" in name else "solve"
            for setting, entries in settings.items():
                for size, drawn in entries:
                    yield Row(problem, setting, name, size, family, drawn, parameters, kind)


ROWS = (*_tiny(), *_listed())


def rows(settings: tuple[str, ...], problems: tuple[str, ...] = ()) -> list[Row]:
    """The rows of these settings and problems (all where none is named), by problem and series, smaller sizes first."""
    order = [record.name for record in SHIPPED]
    found = [row for row in ROWS if row.setting in settings and (not problems or row.problem in problems)]
    series = {(row.problem, row.series): place for place, row in reversed(list(enumerate(ROWS)))}
    return sorted(found, key=lambda row: (order.index(row.problem), series[row.problem, row.series], row.size))


# Instances that no family makes --------------------------------------------------------------------------------------


def _plain_assignment(nodes: int) -> Instance:
    """Each task on a place of its own, at whole costs from 1 to 100, as OR-Library's assignment problems have them."""
    rng = np.random.default_rng(0)
    pairs = {"cost": rng.integers(1, 101, (nodes, nodes)).tolist(), "demand": {"place": [[1] * nodes] * nodes}}
    document = {
        "format": "optsched/1",
        "nodes": [{"id": f"n{node}", "capacity": {"place": 1}} for node in range(nodes)],
        "tasks": [{"id": f"t{task}"} for task in range(nodes)],
        "pairs": pairs,
    }
    instance = from_document(document)
    assert isinstance(instance, Instance)
    return instance


def _random_network(nodes: int, arcs: int) -> FlowNetwork:
    """A dear ring, on which everything fits, and random arcs; the first tenth of the nodes supplies the last."""
    rng = np.random.default_rng(0)
    supply = np.zeros(nodes, dtype=np.int64)
    supply[: nodes // 10], supply[-(nodes // 10) :] = 20, -20
    ring = np.arange(nodes)
    return FlowNetwork(
        np.array([f"v{node}" for node in range(nodes)]),
        np.concatenate([ring, rng.integers(0, nodes, arcs)]),
        np.concatenate([(ring + 1) % nodes, rng.integers(0, nodes, arcs)]),
        capacity=np.concatenate([np.full(nodes, 20 * nodes), rng.integers(1, 30, arcs)]),
        cost=np.concatenate([np.full(nodes, 200), rng.integers(1, 100, arcs)]),
        supply=supply,
    )


def _replicas(nodes: int, tasks: int) -> Instance:
    """Tasks with sizes and three distinct random replicas, on nodes in racks of forty."""
    rng = np.random.default_rng(0)
    third = nodes // 3
    replicas = rng.integers(0, third, size=(tasks, 3)) + np.array([0, third, 2 * third])
    cluster = Cluster(
        np.char.add("n", np.arange(nodes).astype(np.str_)),
        rack=np.arange(nodes) // 40,
        rack_ids=np.char.add("r", np.arange(-(-nodes // 40)).astype(np.str_)),
        slots=np.full(nodes, 2),
    )
    workload = Workload(
        np.char.add("t", np.arange(tasks).astype(np.str_)),
        size=rng.integers(1, 129, tasks).astype(np.float64),
        replicas=Ragged(np.arange(tasks + 1) * 3, replicas.ravel()),
    )
    return Instance(cluster, workload, name="reading")


def _crowded(nodes: int, **drawn: Any) -> Instance:
    """Maps over time whose data is on a quarter of the nodes, each block on one of them."""
    instance = generate("job-times", nodes=nodes, replicas=1, reduces=0, **drawn)
    held = instance.workload.replicas
    replicas = Ragged(held.starts, held.values % max(1, nodes // 4))
    return replace(instance, workload=replace(instance.workload, replicas=replicas))


_OWN = {
    "crowded": _crowded,
    "plain assignment": _plain_assignment,
    "random network": _random_network,
    "replicas": _replicas,
}


def made(row: Row) -> Instance | FlowNetwork:
    """The row's instance: of seed 0, or the same where nothing is drawn."""
    own = _OWN.get(row.family)
    return generate(row.family, **row.drawn) if own is None else own(**row.drawn)
