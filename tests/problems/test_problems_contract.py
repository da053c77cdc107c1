"""What files, scripts and records rely on: names, units and defaults of each problem, and of each cheap bound."""

from dataclasses import FrozenInstanceError, fields, is_dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pytest
from small_problems import small_problem

from optsched.core.instance import Cluster, Instance, Workload
from optsched.core.registry import records
from optsched.instances.files import load
from optsched.problems import PROBLEMS, FlowCongestion, Problem, problem
from optsched.problems.base import GRID, table_row
from optsched.routes import bounds, solve

RATES = ["tasks[].rate_in", "nodes[].rate_out of nodes with replicas"]
MAPS = "tasks[].size and replicas of pending maps"
GROUPS = ["groups[].weight", "jobs[].group", "tasks[].job"]
PENALTY = ("penalty", "min", "MB/s")
MOVED = ("transmission-cost", "min", "MB x distance")
TIMES = "tasks[].times or duration"

#: Of each problem: paper; components with sense and unit; what it needs; kind of proof. Defaults: `test_oracles`.
CONTRACT: dict[str, tuple[str, list[tuple[str, str, str]], list[str], str]] = {
    "lsap": ("003", [("locality-cost", "min", "level")], [], "dual"),
    "fair-lsap": ("003", [("fairness-and-locality-cost", "min", "cost")], GROUPS, "dual"),
    "lsap-fairness": (
        "003",
        [("locality-cost", "min", "task off its data"), ("fairness-distance", "min", "share")],
        GROUPS,
        "dual",
    ),
    "worst-group": (
        "003",
        [("worst-mean", "min", "level a task"), ("locality-cost", "min", "level")],
        GROUPS[1:],
        "dual",
    ),
    "flow": ("002", [PENALTY], [*RATES, "nodes[].rate_in of nodes with idle slots, unless scale is a number"], "dual"),
    "flow-congestion": (
        "002",
        [PENALTY],
        [
            RATES[0],
            "nodes[].rate_out of nodes with replicas, or with output of maps that pending reduces need",
            "nodes[].rate_in of nodes with idle slots, unless scale is a number",
        ],
        "dual",
    ),
    "latency": (
        "004",
        [("makespan", "min", "units of work"), ("work", "min", "units of work")],
        ["nodes[].load in whole units of work"],
        "combinatorial",
    ),
    "transmission-maps": ("000", [MOVED], ["topology", MAPS], "dual"),
    "transmission-reduces": ("000", [MOVED], ["topology", "shuffle"], "dual"),
    "transmission": ("000", [MOVED], ["topology", "shuffle", MAPS], "combinatorial"),
    "utility": (
        "001",
        [("lowest-utility", "max", "utility"), ("utilisation", "max", "share of a capacity")],
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
        ["pairs.cost", "nodes[].capacity of each resource in pairs.demand"],
        "dual",
    ),
    "min-cost-flow": ("-", [("cost", "min", "unit of cost")], ["a flow network"], "dual"),
    "makespan": ("-", [("makespan", "min", "s")], [TIMES], "dual"),
    "job-times": ("000", [("job time", "min", "s")], [TIMES], "dual"),
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
    ("papers/hsu-effective-load", "flow", [("best-node", "penalty", None)]),
    # Of each job two blocks of 20 MB lie away from the reduce: what they send crosses, 10 each, or they do, 20 each.
    ("papers/joss-break-even", "traffic", [("best-datacenter", "traffic", 20 + 40 + 40), ("even-spread", "load", 6)]),
    # Nothing is contended: both blocks are local.
    ("papers/pna-estimate", "transmission-maps", [("best-node", "transmission-cost", 0)]),
    ("papers/pna-estimate", "transmission-reduces", [("best-node", "transmission-cost", None)]),
    # All on the smaller tracker: two maps of 2/6 and two of 4/6.
    (
        "papers/ras-immobile",
        "utility",
        [("all-placed", "lowest-utility", 1), ("all-of-cpu", "lowest-utility", 1), ("all-placed", "utilisation", 2)],
    ),
]


@pytest.mark.parametrize("name", PROBLEMS)
def test_contract_of_a_problem(name: str) -> None:
    """Tests what files and scripts rely on: nothing of it changes unnoticed."""
    row = table_row(PROBLEMS[name])
    paper, components, requires, proof = CONTRACT[name]
    assert set(row) == {"name", "title", "paper", "components", "parameters", "requires", "certificate"}
    assert (row["name"], row["paper"], row["requires"], row["certificate"]) == (name, paper, requires, proof)
    assert [tuple(component.values()) for component in row["components"]] == components
    assert all(entry["doc"] for entry in row["parameters"].values())


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
    found = bounds(problem(name, load(entry)))
    assert [(bound.name, bound.component) for bound in found] == [(bound, of) for bound, of, _ in expected]
    for bound, (_, _, value) in zip(found, expected, strict=True):
        assert value is None or bound.value == value
        assert bound.bounds


def test_prices_say_their_unit() -> None:
    """Tests that certificates say in which unit their prices count: parts of the grid, or shares of all maps."""
    snapshot = Instance(Cluster(["a", "b"], rate_in=[3.0, 3.0], rate_out=[3.0, 3.0]), Workload(["t1"], rate_in=[0.5]))
    shared = load("examples/running-tasks")
    for name, instance, units in (
        ("flow", snapshot, [f"1/{GRID}"]),
        ("lsap", snapshot, ["1"]),
        ("lsap-fairness", shared, ["1", "maps over 16"]),
    ):
        assert [proof.data["unit"] for proof in solve(problem(name, instance)).certificates] == units


def test_penalty_may_be_as_large_as_the_grid_is_fine() -> None:
    """Tests the limits of Sharmilarani et al.'s penalty: above 2, up to 2^20 and not a step more."""
    (penalty,) = (entry for entry in PROBLEMS["utility"].parameter_table if entry.name == "penalty")
    assert penalty.parse(GRID) == GRID
    for wrong in (2, GRID + 1):
        with pytest.raises(ValueError, match="give"):
            penalty.parse(wrong)


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


def test_no_problem_is_left_out() -> None:
    """Tests that every problem has its contract here, and every one that places tasks its read-only arrays."""
    assert list(CONTRACT) == list(PROBLEMS) == list(records())
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


def test_what_is_said_of_whole_classes() -> None:
    """Tests which problems may have no feasible decision: all others always have one."""
    over_time = {"makespan", "job-times"}
    may_fail = {"traffic", "generalized-assignment", "min-cost-flow", *over_time}
    assert {name for name, kind in PROBLEMS.items() if not kind.always_feasible} == may_fail
    assert {name for name, kind in PROBLEMS.items() if kind.always_plain} == over_time
