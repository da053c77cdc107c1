"""Laws that relate the optimum of one instance to that of another: no expected value is known, but the relation is."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
import pytest
from capacity_instances import generalized_assignment_problems, traffic_problems
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import PARAMETERS, instances, problems
from transmission_instances import PROBLEMS as TRANSMISSION
from transmission_instances import problems as transmission_problems
from utility_instances import problems as utility_problems

from optsched.instance import Instance
from optsched.instances.files import from_document, to_document
from optsched.network import FlowNetwork
from optsched.problems import (
    PROBLEMS,
    FairLsap,
    Flow,
    FlowCongestion,
    Latency,
    Lsap,
    LsapFairness,
    MinCostFlow,
    Problem,
)
from optsched.problems.base import GRID, AnyProblem
from optsched.results import Number, Value
from optsched.routes import frontier, solve

pytestmark = pytest.mark.filterwarnings("ignore::optsched.problems.fair_lsap.RationRuleWarning")

some = settings(max_examples=40)

Document = dict[str, Any]


def optimum(problem: AnyProblem) -> Value:
    """The proved optimum."""
    value = solve(problem).objective
    assert value is not None
    return value


def again(problem: Problem, change: Callable[[Document], None] = lambda document: None, **parameters: Any) -> Problem:
    """The same problem on a changed copy of its instance, or with changed parameters."""
    document = to_document(problem.instance)
    change(document)
    instance = from_document(document)
    assert isinstance(instance, Instance)
    return type(problem)(instance, **{**problem.parameters, **parameters})


def pending(problem: Problem, document: Document) -> list[Document]:
    """The records of the problem's tasks."""
    return [document["tasks"][task] for task in problem.tasks.tolist()]


# Laws of all problems ----------------------------------------------------------------------------------------------


#: Problems of any kind; `utility` with its reduces free, since RAS fixes them in the order of the file, and `fair-lsap`
#: with its selection free, since Guo et al. take equal tasks in that order too.
ANY = {
    **{name: problems(name, **({"selection": "free"} if name == "fair-lsap" else {})) for name in PARAMETERS},
    **{name: transmission_problems(name) for name in TRANSMISSION},
    "utility": utility_problems(reduces="free"),
}


@pytest.mark.parametrize("name", ANY)
def test_permutation(name: str) -> None:
    """Tests that the order of nodes and tasks in the file does not matter."""

    @some
    @given(ANY[name], st.randoms(use_true_random=False))
    def law(problem: Problem, random: Any) -> None:
        def shuffled(document: Document) -> None:
            order = list(range(len(document["nodes"])))
            random.shuffle(order)
            document["nodes"] = [document["nodes"][node] for node in order]
            for form, matrix in document.get("topology", {}).items():
                if form in ("distance", "rate"):
                    document["topology"][form] = [[matrix[row][column] for column in order] for row in order]
            random.shuffle(document["tasks"])

        assert optimum(again(problem, shuffled)) == optimum(problem)

    law()


@pytest.mark.parametrize("name", ["lsap", "fair-lsap", "lsap-fairness", "flow", "flow-congestion", "latency"])
def test_added_replica(name: str) -> None:
    """Tests that one replica more is never worse.

    Two exceptions are left out: with `selection=fixed` replicas also decide who is within a ration, and in Hsu and
    Freeh's problems a task without replicas reads from an idle source, which its first replica may not be.
    """

    @some
    @given(problems(name, **({"selection": "free"} if name == "fair-lsap" else {})), st.data())
    def law(problem: Problem, data: st.DataObject) -> None:
        document = to_document(problem.instance)
        nodes = [node["id"] for node in document["nodes"]]
        open_tasks = [
            row
            for row, task in enumerate(pending(problem, document))
            if len(task.get("replicas", [])) < len(nodes) and (not name.startswith("flow") or task.get("replicas"))
        ]
        assume(open_tasks)
        row = data.draw(st.sampled_from(open_tasks))
        held = pending(problem, document)[row].get("replicas", [])
        node = data.draw(st.sampled_from([node for node in nodes if node not in held]))

        def added(document: Document) -> None:
            pending(problem, document)[row]["replicas"] = [*held, node]

        assert optimum(again(problem, added)) <= optimum(problem)

    law()


@pytest.mark.parametrize("name", ["lsap", "fair-lsap", "lsap-fairness", "flow", "flow-congestion"])
def test_added_slot(name: str) -> None:
    """Tests that one idle slot more is never worse where no more tasks run for it.

    Where tasks outnumber the slots, one more runs and may cost something: for `lsap` at most an off-rack task's level.
    All slots of the cluster stay what they are in `fair-lsap`, for they set the rations.
    """

    @some
    @given(problems(name, **({"selection": "free"} if name == "fair-lsap" else {})), st.data())
    def law(problem: Any, data: st.DataObject) -> None:
        row = data.draw(st.integers(0, len(problem.instance.cluster) - 1))

        def added(document: Document) -> None:
            node = document["nodes"][row]
            slots = node.get("slots", 1)
            node["idle_slots"] = node.get("idle_slots", slots) + 1
            node["slots"] = max(slots, node["idle_slots"])

        after = again(problem, added)
        if name == "fair-lsap":
            assume(after.instance.cluster.slots.sum() == problem.instance.cluster.slots.sum())
        if after.due == problem.due:
            assert optimum(after) <= optimum(problem)
        elif isinstance(after, Lsap):
            assert optimum(after)[0] <= optimum(problem)[0] + after.levels[2]

    law()


@pytest.mark.parametrize("name", PARAMETERS)
def test_scaling(name: str) -> None:
    """Tests that an optimum scales with the costs; where costs are rounded, up to half a grid unit a rounding.

    Weights of groups are shares: their scale is nothing.
    """
    factor = 3

    @some
    @given(problems(name))
    def law(problem: Problem) -> None:
        parameters: dict[str, Any] = {}

        def scaled(document: Document) -> None:
            for node in document["nodes"]:
                for key in ("load", "rate_in", "rate_process"):
                    if key in node:
                        node[key] *= factor
                if "running_rates" in node:
                    node["running_rates"] = [rate * factor for rate in node["running_rates"]]
            for group in document["groups"]:
                group["weight"] *= 4  # exact in any weight
            for task in document["tasks"]:
                rate = task.get("rate_in", 0)
                task["rate_in"] = (
                    {key: value * factor for key, value in rate.items()} if isinstance(rate, dict) else rate * factor
                )

        if isinstance(problem, Lsap):
            parameters["levels"] = [level * factor for level in problem.levels]
        elif isinstance(problem, FairLsap):
            parameters = {key: problem.parameters[key] * factor for key in ("alpha", "fairness")}
        elif isinstance(problem, Latency):
            parameters = {"w_loc": problem.w_loc * factor, "w_rem": problem.w_rem * factor}
        elif not isinstance(problem.parameters.get("scale", "none"), str):
            parameters["scale"] = problem.parameters["scale"] * factor
        after = again(problem, scaled, **parameters)
        if isinstance(problem, Lsap | Latency):
            assert optimum(after) == tuple(factor * entry for entry in optimum(problem))
        elif isinstance(problem, LsapFairness):
            assert optimum(after) == optimum(problem)
        else:
            assert isinstance(problem, FairLsap | Flow | FlowCongestion)
            roundings = problem.due * (1 if isinstance(problem, Flow) else 2)
            assert 2 * abs(optimum(after)[0] - factor * optimum(problem)[0]) * GRID <= roundings * (factor + 1)

    law()


def times(value: Any, factor: Fraction) -> Any:
    """What is written, scaled as the decimal that it is: 0.3 is a tenth of 3; lists and objects entry by entry."""
    if isinstance(value, list):
        return [times(entry, factor) for entry in value]
    if isinstance(value, dict):
        return {key: times(entry, factor) for key, entry in value.items()}
    return float(Fraction(str(value)) * factor)


#: What scales in each problem: keys of nodes, groups, tasks, the shuffle, the topology and pairs; and each component.
#: `lsap`, `worst-group`, `latency` and `min-cost-flow` are in whole numbers, and take no tenths (`test_scaling`).
SCALED: dict[str, tuple[dict[str, list[str]], tuple[int, ...]]] = {
    "fair-lsap": ({"groups": ["weight"]}, (0,)),
    "lsap-fairness": ({"groups": ["weight"]}, (0, 0)),
    "flow": ({"nodes": ["rate_in", "rate_process", "running_rates"], "tasks": ["rate_in"]}, (1,)),
    "flow-congestion": ({"nodes": ["rate_in", "rate_process", "running_rates"], "tasks": ["rate_in"]}, (1,)),
    "transmission-maps": ({"tasks": ["size"]}, (1,)),
    "transmission-reduces": ({"shuffle": ["size"]}, (1,)),
    "transmission": ({"tasks": ["size"], "shuffle": ["size"]}, (1,)),
    "utility": ({"nodes": ["capacity"], "tasks": ["demand", "demand_shuffle"]}, (0, 0)),
    "traffic": ({"tasks": ["size"]}, (1, 0)),
    "generalized-assignment": ({"nodes": ["capacity"], "pairs": ["cost", "demand"]}, (1,)),
}


def test_every_problem_has_its_law_of_tenths() -> None:
    """Tests that no problem is left out of the law below, but those that take whole numbers alone."""
    assert set(PROBLEMS) == {*SCALED, "lsap", "worst-group", "latency", "min-cost-flow"}


@pytest.mark.parametrize(
    "factor",
    [
        pytest.param(Fraction(1, 10), id="tenths"),
        pytest.param(Fraction(7, 1000), id="thousandths", marks=pytest.mark.thorough),
    ],
)
@pytest.mark.parametrize("name", SCALED)
def test_tenths(name: str, factor: Fraction) -> None:
    """Tests that an instance in tenths is the same in whole numbers: weights scale nothing, sizes what they move.

    Exactly so, but for `flow` and `flow-congestion`, whose costs are always rounded.
    """
    keys, powers = SCALED[name]

    @some
    @given(TENTHS[name])
    def law(problem: Problem) -> None:
        def scaled(document: Document) -> None:
            for part, names in keys.items():
                records = document.get(part, [])
                for record in [records] if isinstance(records, dict) else records:
                    for key in set(names) & set(record):
                        record[key] = times(record[key], factor)

        parameters: dict[str, Any] = {}
        if not isinstance(problem.parameters.get("scale", "none"), str):
            parameters["scale"] = times(problem.parameters["scale"], factor)
        after = again(problem, scaled, **parameters)
        before = solve(problem).objective
        if before is None:
            assert solve(after).objective is None
            return
        expected = tuple(entry * factor**power for entry, power in zip(before, powers, strict=True))
        if name.startswith("flow"):
            roundings = 2 * problem.due * (1 + factor)
            assert abs(optimum(after)[0] - expected[0]) * GRID * 2 <= roundings
        else:
            assert optimum(after) == expected

    law()


#: Where nothing is rounded before scaling.
TENTHS = {
    **ANY,
    "fair-lsap": problems("fair-lsap"),
    "traffic": traffic_problems(),
    "generalized-assignment": generalized_assignment_problems(),
    **{
        name: strategy.filter(lambda problem: problem.grid <= 1000)
        for name, strategy in ANY.items()
        if name in TRANSMISSION
    },
}


def test_costs_of_a_network_scale() -> None:
    """Tests that whole costs ten times as large make a flow ten times as dear."""
    arcs = {"tail": [0, 0, 1], "head": [1, 2, 2], "capacity": [2, 1, 2]}
    small = FlowNetwork(["a", "b", "c"], supply=[2, 0, -2], cost=[1, 3, 1], **arcs)
    large = FlowNetwork(["a", "b", "c"], supply=[2, 0, -2], cost=[10, 30, 10], **arcs)
    assert optimum(MinCostFlow(large)) == tuple(10 * entry for entry in optimum(MinCostFlow(small)))


# Laws of the assignment problems -----------------------------------------------------------------------------------


@some
@given(instances())
def test_lsap_is_a_matching(instance: Instance) -> None:
    """Tests that the optimum is the number of tasks that run less a largest matching with slots (Guo et al.)."""
    problem = Lsap(instance)
    graph = nx.Graph()
    slots = [(node, slot) for node, free in enumerate(problem.capacity.tolist()) for slot in range(free)]
    tasks = [f"task {row}" for row in range(len(problem.tasks))]
    graph.add_nodes_from([*tasks, *slots])
    for task, row in zip(tasks, problem.replicas, strict=True):
        graph.add_edges_from((task, slot) for slot in slots if slot[0] in row)
    matching = nx.bipartite.maximum_matching(graph, top_nodes=tasks)
    assert optimum(problem) == (problem.count - len(matching) // 2,)


@some
@given(instances())
def test_racks_play_no_part_at_equal_levels(instance: Instance) -> None:
    """Tests that racks do not matter where rack and off-rack cost the same, and that dearer levels cost more."""
    problem = Lsap(instance)

    def bare(document: Document) -> None:
        for node in document["nodes"]:
            node.pop("rack", None)

    assert optimum(again(problem, bare)) == optimum(problem)
    assert optimum(Lsap(instance, levels=(0, 0, 1))) <= optimum(problem) <= optimum(Lsap(instance, levels=(0, 1, 2)))


@some
@given(instances(), st.sampled_from([0, 20, 50]), st.sampled_from(["fixed", "free"]))
def test_no_fairness_is_lsap(instance: Instance, alpha: int, selection: str) -> None:
    """Tests that a fairness weight of 0 leaves plain `lsap` with levels 0, alpha, alpha."""
    fair = FairLsap(instance, fairness=0, alpha=alpha, selection=selection)
    assert optimum(fair) == optimum(Lsap(instance, levels=(0, alpha, alpha)))


@some
@given(problems("fair-lsap", alpha=20))
def test_fairness_is_idle_where_all_tasks_run(problem: FairLsap) -> None:
    """Tests that with no more tasks than idle slots only locality is decided, as in `lsap` (Guo et al. 2012, note
    4).
    """
    assume(len(problem.tasks) <= problem.capacity.sum())
    solution = solve(problem)
    assert solution.decision is not None
    counts = problem.locality_counts(solution.decision)
    assert (counts["rack"] + counts["off_rack"],) == optimum(Lsap(problem.instance))


@some
@given(problems("fair-lsap", alpha=0))
def test_staircase(problem: FairLsap) -> None:
    """Tests that with alpha fewer tasks are remote and the fairness cost rises (Guo et al. 2012, section 3)."""
    steps: list[tuple[int, Number]] = []
    for alpha in (0, 1, 10, 50, 200, 10**6):
        posed = again(problem, alpha=alpha)
        assert isinstance(posed, FairLsap)
        solution = solve(posed)
        assert solution.decision is not None
        assert solution.objective is not None
        counts = posed.locality_counts(solution.decision)
        remote = counts["rack"] + counts["off_rack"]
        steps.append((remote, solution.objective[0] - alpha * remote))
    remotes, fairness = [step[0] for step in steps], [step[1] for step in steps]
    assert remotes == sorted(remotes, reverse=True)
    assert fairness == sorted(fairness)


@some
@given(problems("flow"))
def test_constant_is_constant(problem: Flow) -> None:
    """Tests that a distance term raised alike for all pairs adds rate times that (Hsu and Freeh, note 9)."""
    assume(len(problem.tasks) <= problem.capacity.sum() and not len(problem.instance.cluster.type_ids))
    raised = again(problem, f_c=[term + 2 for term in problem.parameters["f_c"]])
    added = 2 * sum(problem.rates[:, -1].tolist())
    assert float(optimum(raised)[0] - optimum(problem)[0]) == pytest.approx(added, abs=1e-5)


# Laws of latency ---------------------------------------------------------------------------------------------------


@some
@given(problems("latency"), st.integers(1, 9))
def test_load_shift(problem: Latency, shift: int) -> None:
    """Tests that loads raised alike delay the job alike and change no work."""
    assume(len(problem.tasks))

    def raised(document: Document) -> None:
        for node in document["nodes"]:
            node["load"] = node.get("load", 0) + shift

    makespan, work = optimum(problem)
    assert optimum(again(problem, raised)) == (makespan + shift, work)


@some
@given(problems("latency"), st.integers(0, 6))
def test_added_server(problem: Latency, load: int) -> None:
    """Tests that a server more, which holds nothing and may be loaded, is never worse."""

    def added(document: Document) -> None:
        document["nodes"].append({"id": "more", "load": load, "type": "c1", "rack": "r1"})

    assert optimum(again(problem, added)) <= optimum(problem)


@some
@given(problems("latency"), st.integers(0, 6))
def test_task_left_out(problem: Latency, drawn: int) -> None:
    """Tests that without one of its tasks a job ends no later and takes less work."""
    assume(len(problem.tasks))

    def fewer(document: Document) -> None:
        document["tasks"].pop(int(problem.tasks[drawn % len(problem.tasks)]))

    before, after = optimum(problem), optimum(again(problem, fewer))
    assert after[0] <= before[0]
    assert after < before


@some
@given(problems("latency"))
def test_frontier(problem: Latency) -> None:
    """Tests that the frontier begins at the optimum, trades makespan for work at each point, and ends at least work."""
    points = frontier(problem).values
    makespans, works = zip(*points, strict=True)
    assert points[0] == optimum(problem)
    assert works[-1] == problem.least_work
    assert np.all(np.diff(np.array(makespans, dtype=np.int64)) > 0)
    assert np.all(np.diff(np.array(works, dtype=np.int64)) < 0)
