"""Laws that relate the optimum of one instance to that of another: no expected value is known, but the relation is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from over_time import FORMS, fetching
from strategies import instances, problems

from optsched.core.instance import Instance, Ragged, Topology
from optsched.core.results import Number, Value
from optsched.instances.files import from_document, to_document
from optsched.problems import (
    PROBLEMS,
    FairLsap,
    Flow,
    Latency,
    Lsap,
    Problem,
)
from optsched.problems.base import AnyProblem
from optsched.routes import solve
from optsched.testing.changes import permuted

pytestmark = pytest.mark.filterwarnings("ignore::optsched.problems.fair_lsap.RationRuleWarning")

some = settings(max_examples=8)

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
    """Tests that with alpha fewer tasks are off their data and the fairness cost rises (Guo et al. 2012, section 3)."""
    steps: list[tuple[int, Number]] = []
    for alpha in (0, 1, 10, 50, 200, 10**6):
        posed = again(problem, alpha=alpha)
        assert isinstance(posed, FairLsap)
        solution = solve(posed)
        assert solution.decision is not None
        assert solution.objective is not None
        counts = posed.locality_counts(solution.decision)
        away = counts["rack"] + counts["off_rack"]
        steps.append((away, solution.objective[0] - alpha * away))
    aways, fairness = [step[0] for step in steps], [step[1] for step in steps]
    assert aways == sorted(aways, reverse=True)
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


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["makespan", "job-times"])
def test_what_is_fetched_over_distances(name: str, form: str) -> None:
    """Tests optima of tasks that compute and fetch: the order of nodes does not matter, and neither do distances at a
    scale of 0, or from which unit they are counted; what is nearer is never worse.
    """
    kind = PROBLEMS[name]
    for seed in range(2):
        instance = fetching(seed, form, tasks=5, reduces=1, jobs=2)
        held = kind(instance, service="transfer", scale=0.5)
        value = optimum(held)
        assert optimum(permuted(held, np.random.default_rng(seed))) == value
        workload = instance.workload
        alone = np.where(np.isnan(workload.duration), workload.times[:, 0], workload.duration)
        computing = replace(
            instance, workload=replace(workload, duration=alone, times=np.full((len(alone), 3), np.nan))
        )
        nothing = optimum(kind(instance, service="transfer", scale=0))
        assert nothing == optimum(kind(computing)) <= value
        doubled = replace(instance, workload=replace(workload, size=2 * workload.size))
        assert optimum(kind(doubled, service="transfer", scale=0.25)) == value
        everywhere = Ragged.from_rows([list(range(4)) if len(row) else [] for row in instance.replicas])
        near = replace(instance, workload=replace(workload, replicas=everywhere))
        assert optimum(kind(near, service="transfer", scale=0.5)) <= value


@pytest.mark.parametrize("name", ["makespan", "job-times"])
def test_equal_distances(name: str) -> None:
    """Tests that where all nodes are as far from a block as its own, each map takes that much longer anywhere."""
    kind, same = PROBLEMS[name], Topology("hops", hops={"node": 2, "rack": 2, "off_rack": 2})
    for seed in range(4):
        drawn = fetching(seed, "hops", tasks=5, reduces=1, jobs=2)
        instance = replace(drawn, cluster=replace(drawn.cluster, topology=same))
        workload = instance.workload
        alone = np.where(np.isnan(workload.duration), workload.times[:, 0], workload.duration)
        more = np.where((workload.kind == 0) & (workload.replicas.lengths > 0), workload.size, 0)  # 2 at a scale of 0.5
        longer = replace(workload, duration=alone + more, times=np.full((len(alone), 3), np.nan))
        assert optimum(kind(instance, service="transfer", scale=0.5)) == optimum(
            kind(replace(instance, workload=longer))
        )
