"""What files, scripts and records rely on: names, units and defaults of each problem, and of each cheap bound."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, is_dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import numpy as np
import pytest
from small_problems import small_problem

from optsched.certificates.flows import flow_congestion_certificate
from optsched.core.instance import Cluster, Instance, Ragged, Topology, Workload
from optsched.core.registry import records
from optsched.core.resources import folder
from optsched.core.results import Bound
from optsched.instances.files import load
from optsched.measuring.gaps import gap
from optsched.problems import (
    PROBLEMS,
    FlowCongestion,
    Problem,
    distances,
    flow_congestion,
    knapsack,
    problem,
    transmission_bounds,
)
from optsched.problems.base import GRID, table_row
from optsched.problems.lsap import parse_levels
from optsched.routes import bounds, solve

#: Of each problem: paper; components with sense and unit; parameters with their defaults; what it needs; kind of proof.
CONTRACT: dict[str, tuple[str, list[tuple[str, str, str]], dict[str, Any], list[str], str]] = {
    "lsap": ("003", [("locality-cost", "min", "level")], {"levels": (0, 1, 1)}, [], "dual"),
    "fair-lsap": (
        "003",
        [("fairness-and-locality-cost", "min", "cost")],
        {
            "alpha": 50,
            "beta": None,
            "gfc": "ratio",
            "rations": "floor",
            "selection": "fixed",
            "overflow": "weight",
            "fairness": 1,
        },
        ["groups[].weight", "jobs[].group", "tasks[].job"],
        "dual",
    ),
    "lsap-fairness": (
        "003",
        [("locality-cost", "min", "task off its data"), ("fairness-distance", "min", "share")],
        {"distance": "absolute"},
        ["groups[].weight", "jobs[].group", "tasks[].job"],
        "dual",
    ),
    "worst-group": (
        "003",
        [("worst-mean", "min", "level a task"), ("locality-cost", "min", "level")],
        {"levels": (0, 1, 1)},
        ["jobs[].group", "tasks[].job"],
        "dual",
    ),
    "flow": (
        "002",
        [("penalty", "min", "MB/s")],
        {"f_c": (0, 0.1, 1), "scale": "rate_in", "include_task": False},
        [
            "tasks[].rate_in",
            "nodes[].rate_out of nodes with replicas",
            "nodes[].rate_in of nodes with idle slots, unless scale is a number",
        ],
        "dual",
    ),
    "flow-congestion": (
        "002",
        [("penalty", "min", "MB/s")],
        {"f_c": (0, 0.1, 1), "scale": "rate_in", "deviation": True, "weights": "literal"},
        [
            "tasks[].rate_in",
            "nodes[].rate_out of nodes with replicas, or with output of maps that pending reduces need",
            "nodes[].rate_in of nodes with idle slots, unless scale is a number",
        ],
        "dual",
    ),
    "latency": (
        "004",
        [("makespan", "min", "units of work"), ("work", "min", "units of work")],
        {"w_loc": 1, "w_rem": 3},
        ["nodes[].load in whole units of work"],
        "combinatorial",
    ),
    "transmission-maps": (
        "000",
        [("transmission-cost", "min", "MB x distance")],
        {},
        ["topology", "tasks[].size and replicas of pending maps"],
        "dual",
    ),
    "transmission-reduces": (
        "000",
        [("transmission-cost", "min", "MB x distance")],
        {"distinct": True},
        ["topology", "shuffle"],
        "dual",
    ),
    "transmission": (
        "000",
        [("transmission-cost", "min", "MB x distance")],
        {"distinct": True},
        ["topology", "shuffle", "tasks[].size and replicas of pending maps"],
        "combinatorial",
    ),
    "utility": (
        "001",
        [("lowest-utility", "max", "utility"), ("utilisation", "max", "share of a capacity")],
        {"reduces": "free", "tables": "literal", "phase": "shuffle", "penalty": 1000},
        [
            "tasks[].job",
            "tasks[].demand",
            "nodes[].capacity of each resource in demand",
            "jobs[].map_time where it has a goal",
        ],
        "dual",
    ),
    "traffic": (
        "001",
        [("traffic", "min", "MB"), ("load", "min", "maps")],
        {"capacity": "none", "reduces": "together"},
        [
            "nodes[].datacenter",
            "tasks[].size of maps",
            "jobs[].filter_ratio, or shuffle, of jobs with maps and reduces",
        ],
        "dual",
    ),
    "generalized-assignment": (
        "OR-Library",
        [("cost", "min", "unit of cost")],
        {"sense": "min"},
        ["pairs.cost", "nodes[].capacity of each resource in pairs.demand"],
        "dual",
    ),
    "min-cost-flow": ("-", [("cost", "min", "unit of cost")], {}, ["a flow network"], "dual"),
    "makespan": (
        "-",
        [("makespan", "min", "s")],
        {"factors": (1, 1, 1), "slowstart": 0.05},
        ["tasks[].times or duration"],
        "dual",
    ),
    "job-times": (
        "000",
        [("job time", "min", "s")],
        {"factors": (1, 1, 1), "slowstart": 0.05, "weights": "equal"},
        ["tasks[].times or duration"],
        "dual",
    ),
}

#: For an instance and a problem the cheap bounds: name, component, and the value by hand where that is short.
BOUNDS: list[tuple[str, str, list[tuple[str, str | None, Any]]]] = [
    # Both tasks can be local within 1 on their own, but not together: 2 (Agosta et al., note 3). All local, work is 2.
    (
        "examples/flow-bound",
        "latency",
        [("l*", "makespan", 1), ("l**", "makespan", 1), ("l_flow", "makespan", 2), ("least-work", "work", 2)],
    ),
    # A load of 7 is there before any task: the makespan of the cluster is no bound on the job's.
    (
        "examples/half-units",
        "latency",
        [("l*", None, 7), ("l**", "makespan", None), ("l_flow", "makespan", None), ("least-work", "work", None)],
    ),
    ("examples/flow-bound", "lsap", [("best-node", "locality-cost", 0)]),
    # 2 + 3 + 2 + 4 + 1, the least of each row.
    ("examples/knapsacks", "generalized-assignment", [("best-node", "cost", 12)]),
    # 5 times -4, once -3, and the one unit that must go at 9.
    ("examples/negative-cycle", "min-cost-flow", [("best-arc", "cost", -14)]),
    # Task m5 alone has no replica.
    (
        "examples/running-tasks",
        "lsap-fairness",
        [("best-node", "locality-cost", 1), ("fair-share", "fairness-distance", None)],
    ),
    # Of two tasks of one group and one of the other two want the same slot, and each could have it alone.
    (
        "examples/worst-group",
        "worst-group",
        [("average", "worst-mean", 0), ("best-node-of-group", "worst-mean", 0), ("best-node", "locality-cost", 0)],
    ),
    ("examples/running-tasks", "fair-lsap", [("best-node", "fairness-and-locality-cost", None)]),
    ("papers/hsu-effective-load", "flow", [("best-node", "penalty", None)]),
    ("papers/hsu-effective-load", "flow-congestion", [("best-node", "penalty", None)]),
    # Of each job two blocks of 20 MB lie away from the reduce: what they send crosses, 10 each, or they do, 20 each.
    ("papers/joss-break-even", "traffic", [("best-datacenter", "traffic", 20 + 40 + 40), ("even-spread", "load", 6)]),
    # Nothing is contended: both blocks are local.
    ("papers/pna-estimate", "transmission-maps", [("best-node", "transmission-cost", 0)]),
    ("papers/pna-estimate", "transmission-reduces", [("best-node", "transmission-cost", None)]),
    ("papers/pna-estimate", "transmission", [("best-node", "transmission-cost", None)]),
    # All on the smaller tracker: two maps of 2/6 and two of 4/6.
    (
        "papers/ras-immobile",
        "utility",
        [("all-placed", "lowest-utility", 1), ("all-of-cpu", "lowest-utility", 1), ("all-placed", "utilisation", 2)],
    ),
]


@pytest.mark.parametrize("name", PROBLEMS)
def test_contract_of_a_problem(name: str) -> None:
    """Tests what files and scripts rely on: nothing of it changes unnoticed. Parameters may be added."""
    row = table_row(PROBLEMS[name])
    paper, components, parameters, requires, proof = CONTRACT[name]
    assert set(row) == {"name", "title", "paper", "components", "parameters", "requires", "certificate"}
    assert row["name"] == name
    assert row["paper"] == paper
    assert [tuple(component.values()) for component in row["components"]] == components
    assert parameters.items() <= {key: entry["default"] for key, entry in row["parameters"].items()}.items()
    assert row["requires"] == requires
    assert row["certificate"] == proof
    assert all(entry["doc"] for entry in row["parameters"].values())


def test_contract_is_of_all_problems() -> None:
    """Tests that every problem has its contract here, and is known by name where files are read."""
    assert list(CONTRACT) == list(PROBLEMS)
    assert set(records()) == set(PROBLEMS)


@pytest.mark.parametrize("name", PROBLEMS)
def test_defaults_are_values(name: str) -> None:
    """Tests that each default, written out, is read as itself, and that no parameter takes just any word."""
    for parameter in PROBLEMS[name].parameter_table:
        if parameter.default is not None:
            given = parameter.default
            text = ",".join(map(str, given)) if isinstance(given, tuple) else str(given)
            assert parameter.parse(given) == parameter.parse(text) == given
        with pytest.raises((ValueError, TypeError, ArithmeticError)):
            parameter.parse("XXnone of them")


@pytest.mark.parametrize(("entry", "name", "expected"), BOUNDS)
def test_cheap_bounds_by_name(entry: str, name: str, expected: list[tuple[str, str | None, Any]]) -> None:
    """Tests which bounds there are, of which component, and their values where a hand computes them."""
    posed = problem(name, load(folder("instances") / f"{entry}.json"))
    found: tuple[Bound, ...] = bounds(posed)
    assert [(bound.name, bound.component) for bound in found] == [
        (bound, component) for bound, component, _ in expected
    ]
    assert all(bound.component in (None, *(component.name for component in posed.components)) for bound in found)
    for bound, (_, _, value) in zip(found, expected, strict=True):
        assert value is None or bound.value == value
        assert bound.bounds


def test_prices_say_their_unit() -> None:
    """Tests that certificates say in which unit their prices count: parts of the grid, or shares of all maps."""
    halves = Cluster(["a", "b"], rate_in=[3.0, 3.0], rate_out=[3.0, 3.0])
    snapshot = Instance(halves, Workload(["t1"], rate_in=[0.5]))
    flow = solve(problem("flow", snapshot))
    assert flow.certificates[0].data["unit"] == f"1/{GRID}"
    assert solve(problem("lsap", snapshot)).certificates[0].data["unit"] == "1"
    halves = Cluster(["a", "b"], topology=Topology("distance", [[0.0, 0.5], [0.5, 0.0]]))
    block = Workload(["t1"], size=[1.0], replicas=Ragged.from_rows([[0]]))
    assert solve(problem("transmission-maps", Instance(halves, block))).certificates[0].data["unit"] == "1/2"
    congestion = FlowCongestion(snapshot)
    prices = np.zeros(2, dtype=np.int64), np.zeros(len(congestion.classes.size), dtype=np.int64)
    assert flow_congestion_certificate(congestion, *prices, 8).data["unit"] == f"1/{8 * GRID}"
    assert flow_congestion_certificate(congestion, *prices, 8).data["class_prices"] == {}
    shared = load(folder("instances") / "examples" / "running-tasks.json")
    units = {proof.component: proof.data.get("unit") for proof in solve(problem("lsap-fairness", shared)).certificates}
    assert units == {"locality-cost": "1", "fairness-distance": "maps over 16"}


def test_penalty_may_be_as_large_as_the_grid_is_fine() -> None:
    """Tests the limits of Sharmilarani et al.'s penalty: above 2, up to 2^20 and not a step more."""
    (penalty,) = (entry for entry in PROBLEMS["utility"].parameter_table if entry.name == "penalty")
    assert penalty.parse(GRID) == GRID
    for wrong in (2, GRID + 1):
        with pytest.raises(ValueError, match="give"):
            penalty.parse(wrong)


def test_levels_may_not_decrease() -> None:
    """Tests that locality costs are refused where any is below the one before it, and may be equal."""
    for given in ("2,1,3", "0,2,1", "3,2,1"):
        with pytest.raises(ValueError, match="do not decrease"):
            parse_levels(given)
    for levels in ((0, 0, 0), (1, 1, 2), (2, 3, 3)):
        assert parse_levels(",".join(map(str, levels))) == levels


def test_gap_of_no_name_and_what_is_within() -> None:
    """Tests that a report of an instance without a name says so, and that `within` answers true or false."""
    lsap = problem("lsap", Instance(Cluster(["a"]), Workload(["t1"])))
    report = gap(lsap, "dl")
    assert str(report).startswith("instance, lsap, dl: ")
    assert report.within(0.0) is True
    failed = gap(lsap, lambda posed, rng: [7])
    assert failed.within("900%") is False


#: What an answer depends on: arrays of a problem that nobody can change after it is posed.
READ_ONLY = {
    "lsap": "tasks capacity",
    "fair-lsap": "tasks capacity",
    "lsap-fairness": "tasks capacity",
    "worst-group": "tasks capacity",
    "flow": "tasks capacity class_units",
    "flow-congestion": "tasks slots counts type_kind type_rates class_type read_units",
    "latency": "tasks initial_load",
    "transmission-maps": "tasks capacity class_units",
    "transmission-reduces": "tasks capacity job barred usable units",
    "transmission": "tasks map_capacity reduce_capacity job barred usable distance amounts map_units reduce_units",
    "utility": "tasks",
    "traffic": "tasks datacenter maps reduces map_slots reduce_slots map_units",
    "generalized-assignment": "tasks units demand capacity",
}


def test_every_problem_says_what_is_read_only() -> None:
    """Tests that no problem that places tasks is left out of the table."""
    assert set(READ_ONLY) == {name for name, kind in PROBLEMS.items() if issubclass(kind, Problem)}


@pytest.mark.parametrize("name", READ_ONLY)
def test_what_an_answer_depends_on_is_read_only(name: str) -> None:
    """Tests that tasks, capacities and costs of a posed problem cannot be written to."""
    posed = small_problem(name, 1)
    for attribute in READ_ONLY[name].split():
        array = getattr(posed, attribute)
        assert array.size
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0
    if isinstance(posed, FlowCongestion):
        assert not posed.patterns(0).flags.writeable
        assert not posed.pattern_units(0).flags.writeable


@pytest.mark.parametrize("module", ["measuring.gaps", "problems", "certificates"])
def test_records_are_frozen(module: str) -> None:
    """Tests that no dataclass of these modules can be changed once it is made."""
    root = import_module(f"optsched.{module}")
    names = [found.name for found in iter_modules(root.__path__)] if hasattr(root, "__path__") else []
    modules = [root, *(import_module(f"optsched.{module}.{name}") for name in names)]
    kinds = {kind for part in modules for kind in vars(part).values() if isinstance(kind, type) and is_dataclass(kind)}
    own = [kind for kind in kinds if kind.__module__.startswith(root.__name__)]
    assert own
    for kind in own:
        made = object.__new__(kind)
        with pytest.raises(FrozenInstanceError):
            setattr(made, fields(kind)[0].name, None)


def test_sizes_that_are_refused() -> None:
    """Tests from which sizes on tables, matrices and lists are refused, or bounds are coarser: as they are reported."""
    assert distances.MOST_NODES == 8192
    assert (flow_congestion.MOST_PATTERNS, flow_congestion.MOST_ENTRIES) == (2_000_000, 33_554_432)
    assert knapsack.MOST_STATES == 262_144
    assert transmission_bounds.MOST_PRODUCTS == 536_870_912


def test_what_is_said_of_whole_classes() -> None:
    """Tests which problems may have no feasible decision: all others always have one."""
    over_time = {"makespan", "job-times"}
    may_fail = {"traffic", "generalized-assignment", "min-cost-flow", *over_time}
    assert {name for name, kind in PROBLEMS.items() if not kind.always_feasible} == may_fail
    assert {name for name, kind in PROBLEMS.items() if kind.always_plain} == over_time
