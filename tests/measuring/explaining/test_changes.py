"""Why nothing is feasible: conflicts are infeasible, and none of their tasks can be left out, by trying everything."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_problems import generalized_assignment as posed
from small_problems import small

import optsched
from optsched import Placement, UsageError, generate, solve
from optsched.core.instance import MAP, PENDING, REDUCE, RUNNING, Cluster, Instance, State, Workload
from optsched.core.registry import Record, records
from optsched.core.results import Limit, Solution, Termination, Value, Violation
from optsched.measuring.explaining import Conflict, changes, explain
from optsched.measuring.explaining.chains import better_by
from optsched.measuring.explaining.changes import Worth, conflict_of, rooms, with_replica, with_room
from optsched.measuring.gaps import Reference
from optsched.problems import GeneralizedAssignment, Lsap, Problem, Traffic, problem
from optsched.solvers.profiles import load_profile
from optsched.testing.measured import _conflicting

EXACT = load_profile("exact")


def in_conflict(problem: Problem) -> Conflict:
    """Hold the conflict of an infeasible problem against trying everything; gives it back."""
    _conflicting(problem, "here", counted=False)
    found = explain(problem)
    assert str(found).splitlines()[1]
    return found.conflict


def traffic(by_job: list[int], reduce_slots: list[int], maps: int = 1, slots: int = 1, **parameters: Any) -> Traffic:
    """Jobs with so many reduces each, on nodes with so many slots, each a datacenter."""
    kind = [MAP] * maps + [REDUCE] * sum(by_job)
    job = [0] * maps + [job for job, number in enumerate(by_job) for _ in range(number)]
    nodes = len(reduce_slots)
    names, apart = [f"n{node}" for node in range(nodes)], {"datacenter": list(range(nodes))}
    cluster = Cluster(names, datacenter_ids=names, slots=[slots] * nodes, reduce_slots=reduce_slots, **apart)
    jobs = {"job_ids": [f"j{job}" for job in range(len(by_job))], "filter_ratio": [1.0] * len(by_job)}
    size = [1.0 if which == MAP else 0.0 for which in kind]
    workload = Workload([f"t{task}" for task in range(len(kind))], kind=kind, job=job, size=size, **jobs)
    return Traffic(Instance(cluster, workload), capacity="slots", **parameters)


def test_too_many_reduces() -> None:
    """Tests one reduce more than there are slots, and a job whose reduces fit no datacenter together."""
    found = in_conflict(traffic([3, 2], [2, 1], reduces="free"))
    assert (len(found.tasks), found.slots, found.nodes) == (4, 3, ("n0", "n1"))
    found = in_conflict(traffic([1], [1, 1], maps=3))  # maps are counted by themselves
    assert (found.tasks, found.slots) == (("t0", "t1", "t2"), 2)
    found = in_conflict(traffic([1, 3], [2, 2]))
    assert found.tasks == ("t2", "t3", "t4")
    assert (found.slots, found.nodes) == (None, ("n0", "n1"))


def test_a_task_alone() -> None:
    """Tests the words for a task that fits nowhere, by counting and by its demand."""
    nowhere = posed([[1, 1]], {"w": [[1, 1]]}, {"w": [0, 0]})
    assert str(explain(nowhere)).endswith("There is no room for t0 on any node.")
    too_large = posed([[1, 1]] * 3, {"w": [[1, 2], [9, 8], [2, 2]]}, {"w": [3, 3]})
    assert in_conflict(too_large).tasks == ("t1",)
    assert "One task cannot be placed: t1." in str(explain(too_large))


class Never(GeneralizedAssignment):
    """A problem that nothing satisfies, not even no task at all. No record names it."""

    name = "never"

    def violations(self, placement: Any, /) -> list[Violation]:
        return [*super().violations(placement), Violation("never", (), 1)]


def test_what_no_tasks_explain() -> None:
    """Tests that a constraint that is not about tasks gives the tasks without which nobody asks, and that words fit."""
    problem = posed([[1, 1]] * 2, {"w": [[1, 2], [2, 1]]}, {"w": [9, 9]})
    found = explain(Never(problem.instance))
    assert (len(found.conflict.tasks), found.conflict.nodes) == (1, ())


def test_questions_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that with too few questions the conflict still is one, and is said to be perhaps not the smallest."""
    monkeypatch.setattr(changes, "MOST_SOLVES", 2)
    problem = posed([[1, 1]] * 5, {"w": [[3, 3], [2, 2], [2, 2], [1, 1], [1, 1]]}, {"w": [3, 3]})
    found = conflict_of(problem, EXACT)
    assert not found.irreducible
    assert "A smaller set may suffice" in str(explain(problem))
    monkeypatch.setattr(changes, "MOST_SOLVES", 0)
    assert conflict_of(problem, EXACT) is None
    assert str(explain(problem)).endswith("No set of tasks was found that explains it.")


def test_who_needs_a_heuristic() -> None:
    """Tests that a feasible problem asks for a heuristic, and that where nothing is feasible none is asked."""
    problem = posed([[1, 1]] * 2, {"w": [[1, 1]] * 2}, {"w": [1, 1]})
    with pytest.raises(UsageError, match="give a heuristic or a placement: there are feasible ones"):
        explain(problem)
    assert conflict_of(problem, EXACT) is None
    problem = posed([[1]] * 2, {"w": [[1]] * 2}, {"w": [1]})
    found = explain(problem, lambda *_: pytest.fail("it was asked"))
    assert found.to_dict()["conflict"] == {"tasks": ("t0", "t1"), "nodes": ("n0",), "slots": 1, "irreducible": True}
    assert found.to_dict()["reference_kind"] == "infeasible"
    assert "infeasible" in repr(found)


# What changes are worth -----------------------------------------------------------------------------------------------


pytestmark = pytest.mark.filterwarnings("ignore::optsched.problems.fair_lsap.RationRuleWarning")

PLACING = [entry for entry in records().values() if entry.problem_class.decided is Placement]

FIELDS = {"map": ("slots", "idle_slots"), "reduce": ("reduce_slots", "idle_reduce_slots")}


def changed(instance: Instance, worth: Worth, folder: Path) -> Instance:
    """The instance with the change, made in its file."""
    file = folder / "changed.json"
    optsched.save(instance, file)
    document: dict[str, Any] = json.loads(file.read_text())
    node = next(entry for entry in document["nodes"] if entry["id"] == worth.node)
    if worth.change == "slot":
        slots, idle = FIELDS[worth.of]
        node[idle] = node.get(idle, node.get(slots, 1)) + 1
        node[slots] = node.get(slots, 1) + 1
    elif worth.change == "capacity":
        for resource, amount in worth.more.items():
            node["capacity"][resource] = float(Fraction(str(node["capacity"][resource])) + Fraction(amount))
    else:
        task = next(entry for entry in document["tasks"] if entry["id"] == worth.of)
        task.setdefault("replicas", []).append(worth.node)
    file.write_text(json.dumps(document))
    return optsched.load(file)


def check(posed: Problem, here: Solution, folder: Path, most: int = 4) -> list[Worth]:
    """Hold what changes are worth against trying every placement of the changed instance; gives it back."""
    found = explain(posed, here, worth=most)
    best: Value = found.report.reference.solution.objective
    assert len(found.worths) <= most
    for worth in found.worths:
        again = type(posed)(changed(posed.instance, worth, folder), **posed.parameters)
        solved = solve(again, route="brute-force")
        assert (worth.objective, worth.gain) == (solved.objective, better_by(posed, best, solved.objective))
        if worth.promised is not None and not worth.placed:
            assert worth.gain <= worth.promised if worth.change == "slot" else worth.gain >= worth.promised
        if worth.change == "capacity":
            assert worth.gain >= worth.promised > (0,) * len(worth.promised)
    return list(found.worths)


@pytest.mark.parametrize("seeds", [(3,), pytest.param((2, 3), marks=pytest.mark.thorough)], ids=str)
@pytest.mark.parametrize("record", PLACING, ids=lambda record: record.name)
def test_worth_is_what_solving_again_gives(record: Record, seeds: tuple[int, ...], tmp_path: Path) -> None:
    """Tests each problem of the registry and its variants by enumeration of a changed file; what helps it is tried."""
    asked: set[str] = set()
    helpful: set[str] = set()
    for seed in seeds:
        for parameters in ({}, *record.variants):
            posed = record.problem_class(generate(str(record.family), seed, **record.sizes), **parameters)
            best = solve(posed)
            if best.optimal and len(posed.tasks):
                asked |= {worth.change for worth in check(posed, best, tmp_path, 2)}
                for change in ("slot", "replica", "capacity"):
                    easy = solve(record.problem_class(eased(posed.instance, change), **parameters))
                    if any(better_by(posed, best.objective, easy.objective)):
                        helpful.add(change)
    assert asked >= helpful
    assert asked


def eased(instance: Instance, change: str) -> Instance:
    """The instance with as much more as there can be of what a change gives one more of."""
    for node in range(len(instance.cluster)):
        if change == "slot":
            instance = with_room(instance, [node], {MAP: 1, REDUCE: 1})
        elif change == "capacity":
            instance = with_room(instance, [node], capacity=dict.fromkeys(instance.cluster.capacity, 1000))
        else:
            for task in np.flatnonzero(instance.workload.kind == MAP).tolist():
                if node not in instance.replicas[task]:
                    instance = with_replica(instance, task, node)
    return instance


#: Three tasks whose data is on the first of three nodes with a slot each.
CONTENDED = Lsap(small([[0]] * 3))


def test_slots_where_prices_are_and_replicas_where_it_costs() -> None:
    """Tests that the dear slot comes first, that full nodes follow, and that a replica goes where the task runs."""
    found = explain(CONTENDED, [1, 2, 0], worth=5)
    assert found.gap == (0,)
    expected = {(worth.change, worth.node): worth for worth in found.worths}
    slot = expected["slot", "n0"]
    assert (slot.gain, slot.objective, slot.promised, slot.placed) == ((1,), (1,), (1,), 0)
    assert expected["slot", "n1"].gain == (0,)
    replica = expected["replica", "n1"]
    assert (replica.gain, replica.promised) == ((1,), (1,))
    assert [worth.gain for worth in found.worths] == sorted((worth.gain for worth in found.worths), reverse=True)


def test_slots_without_a_price() -> None:
    """Tests that a slot has no price where it lets one more task run, or changes what all tasks pay."""
    found = explain(Lsap(small([[], []], [1])), [0, None], worth=1)
    (worth,) = found.worths
    assert (worth.gain, worth.placed, worth.promised) == ((-1,), 1, None)
    assert "one more map slot on n0: 1 more locality-cost (optimum 2), with 1 task more placed" in str(found)
    assert found.to_dict()["worths"] == [
        {"change": "slot", "node": "n0", "of": "map", "promised": None, "objective": [2], "gain": [-1], "placed": 1}
        | {"more": {}}
    ]
    posed = problem("fair-lsap", generate("fair-lsap", 13, nodes=3, slots=1, tasks=2))
    slots = [worth for worth in explain(posed, solve(posed), worth=5).worths if worth.change == "slot"]
    assert slots
    assert all(worth.promised is None or worth.placed or worth.gain <= worth.promised for worth in slots)


def test_bounds_of_worth() -> None:
    """Tests that no more is solved than was asked for, that nonsense is refused, and why nothing is tried."""
    assert explain(CONTENDED, [1, 2, 0]).worths == ()
    assert len(explain(CONTENDED, [1, 2, 0], worth=2).worths) == 2
    held = replace(solve(CONTENDED), termination=Termination.FEASIBLE, limit=Limit.TIME)
    untold = explain(CONTENDED, [1, 2, 0], worth=2, reference=held)
    assert untold.worths == ()
    assert str(untold).endswith("No change of the cluster was tried: the optimum is not proved.")
    for wrong in (-1, 1.5, True):
        with pytest.raises(UsageError, match="give how many changed instances to solve"):
            explain(CONTENDED, [1, 2, 0], worth=wrong)
    found = explain(problem("latency", small([[0]])), [0], worth=3)
    assert found.worths == ()
    text = "no full node would offer one more slot, and no replica or room betters the optimum as it is placed"
    assert found.to_dict()["no_worth"] == text
    assert str(found).endswith(f"No change of the cluster was tried: {text}.")


def test_unproved_worth_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that where solving again ends without a proof, it is said, and no gain is told."""
    best = solve(CONTENDED)
    cut = replace(best, termination=Termination.FEASIBLE, limit=Limit.TIME, bound=(None,), certificates=())
    monkeypatch.setattr(Reference, "solved", lambda problem, profile: Reference(CONTENDED, solution=cut))
    found = explain(CONTENDED, [1, 2, 0], reference=best, worth=1)
    (worth,) = found.worths
    assert (worth.gain, worth.objective) == (None, None)
    assert str(found).endswith("not proved within the limit")


def packed(cost: list[list[float]], capacity: list[float], allowed: list[list[bool]] | None = None) -> Problem:
    """`generalized-assignment` of tasks that weigh 0.2 each, with these capacities."""
    return posed(cost, {"weight": [[0.2] * len(capacity)] * len(cost)}, {"weight": capacity}, allowed)


def test_the_task_that_gains_most() -> None:
    """Tests the task that gains most on each node, dearest first; none that may not go there or saves nothing."""
    asked = packed([[0, 9, 9], [1, 7, 3], [0, 2, 6]], [0.2, 0.0, 0.4])
    found = rooms(asked, np.array([0, 2, 2]))
    shown = [(room.node, room.of, room.more, room.promised) for room, _ in found]
    assert shown == [("n0", "t2", {"weight": Fraction(1, 5)}, (6,)), ("n1", "t2", {"weight": Fraction(1, 5)}, (4,))]
    assert found[0][1].instance.cluster.capacity["weight"].tolist() == [0.4, 0.0, 0.4]
    barred = packed([[1, 2], [1, 2]], [0.2, 0.2], [[True, True], [False, True]])
    assert rooms(barred, np.array([0, 1])) == []
    assert rooms(packed([[1, 1], [1, 1]], [0.2, 0.2]), np.array([0, 1])) == []


@pytest.mark.parametrize(("held", "expected"), [(4.0, {"cpu": 1}), (1.0, None)])
def test_waiting_tasks(held: float, expected: dict[str, int] | None) -> None:
    """Tests that in `utility` room is made for a task that waits, but not on a node that running tasks overload."""
    cluster = Cluster(["a"], capacity={"cpu": [held]})
    jobs = {"job": [0, 1, 1], "job_ids": ["i", "j"], "goal": [9.0, 9.0], "map_time": [1.0, 1.0]}
    workload = Workload(["r", "m1", "m2"], **jobs, demand={"cpu": [3.0, 1.0, 1.0]})
    state = State.initial(cluster, workload, status=[RUNNING, PENDING, PENDING], node=[0, -1, -1])
    asked = problem("utility", Instance(cluster, workload, state))
    last = np.array([0, -1]) if expected else np.array([-1, -1])
    assert [(room.node, room.of, room.more) for room, _ in rooms(asked, last)] == (
        [("a", "m2", expected)] if expected else []
    )


def test_words_and_numbers_of_room() -> None:
    """Tests the sentence and the record of one more unit of a capacity."""
    found = explain(packed([[1, 9], [1, 5]], [0.2, 0.2]), [0, 1], worth=1)
    assert str(found).endswith("  -  0.2 more weight on n0, room for t1: 4 less cost (optimum 2)")
    (worth,) = found.to_dict()["worths"]
    assert (worth["change"], worth["node"], worth["of"], worth["more"]) == ("capacity", "n0", "t1", {"weight": "1/5"})
    assert worth["promised"] == worth["gain"] == [4]
