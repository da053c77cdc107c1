"""What a gap over time is made of: parts that add up, grants that are what they say, and what is refused."""

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from over_time import arriving, document
from small_problems import small

import optsched
from optsched.core.errors import HeuristicFailed, UsageError
from optsched.core.instance import PENDING, RUNNING, Instance, State
from optsched.heuristics import HEURISTICS, heuristic
from optsched.heuristics.running.base import Policy
from optsched.heuristics.running.run import values_in_force
from optsched.heuristics.simulating import simulate
from optsched.heuristics.simulating.every_round import EveryRound
from optsched.instances.files import parse
from optsched.measuring.decomposing import (
    ORDERS,
    PARTS,
    InOrder,
    JobTasks,
    Together,
    arrivals,
    decompose,
    decompose_all,
    known_at,
    placed_together,
    planned_anew,
)
from optsched.problems.job_times import JobTimes
from optsched.problems.makespan import Makespan

#: One slot; a long job that comes first, and a short one.
TWO_JOBS = small([[], [], []], [1], name="two-jobs", job=[0, 0, 1], job_ids=["a", "b"], duration=[8, 8, 1])

#: Two slots and two tasks, each with its data on the other's node.
CROSSED = small([[1], [0]], job=[0, 0], job_ids=["j"], times=[[1, 5, 5]] * 2)


class First(Policy):
    """Always the first task that waits."""

    def offer(self, offer: Any, view: Any) -> tuple[int, ...]:
        return tuple(view.pending_of(offer.kind)[:1].tolist())


class Idle(Policy):
    """Starts nothing."""

    def offer(self, offer: object, view: object) -> tuple[int, ...]:
        return ()


def last_name(label: str) -> str:
    """What a policy of this file is called, without where it is."""
    return re.split("[.:]", label)[-1]


def test_parts_add_up() -> None:
    """Tests that the parts add up to what the policy is above the bound, on drawn instances."""
    for seed in range(12):
        text = document(seed)
        for node in text["nodes"]:
            for kind in ("", "reduce_"):
                node[f"{kind}slots"] += 1
                node[f"idle_{kind}slots"] += 1
        problem = (Makespan, JobTimes)[seed % 2](parse(json.dumps(text)))
        found = decompose(problem, "fair", range(2), heartbeat=3)
        assert list(found.parts) == list(PARTS)
        total = sum(value or Fraction(0) for value in found.parts.values())
        assert total == found.gap == found.means["as_is"] - found.bound
        best = optsched.solve(problem, route="brute-force").objective
        assert found.bound <= best[0] <= found.known <= found.arrived <= min(run.any_order for run in found.runs)
        for run in found.runs:
            assert run.any_order <= run.nearest


def test_each_grant() -> None:
    """Tests parts that are known, and how they are shown: an order that costs 15 s, and 4 s for the places of tasks."""
    order = decompose(JobTimes(TWO_JOBS), First, [0], heartbeat=0)
    assert list(order.parts.values()) == [0, 0, 15, 0, 0, 0]
    assert "First on two-jobs" in repr(order)
    assert order.frame()[["part", "share"]].to_numpy().tolist() == [[part, part == "order of jobs"] for part in PARTS]
    assert [(run.as_is, run.nearest, run.any_order, run.order) for run in order.runs] == [(33, 33, 18, "fewest-left")]
    place = decompose(Makespan(CROSSED), First, [3, 3], heartbeat=0)
    assert list(place.parts.values()) == [0, 4, 0, 0, 0, 0]
    assert place.runs[0] == place.runs[1]
    assert (place.known, place.bound) == (1, 1)


def drawn(seed: int, arrive: bool) -> JobTimes | Makespan:
    """A drawn problem, with jobs that arrive over time or all at once."""
    instance = optsched.generate(
        "job-times", seed=seed, nodes=2, tasks=4, jobs=3, reduces=seed % 2, slots=1, gap=5, replicas=1
    )
    if not arrive:
        instance = replace(instance, workload=replace(instance.workload, arrival=np.full(3, float(seed))))
    return (JobTimes, Makespan)[seed % 2](instance)


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in (0, 2, 3))])
def test_laws_of_parts(seed: int) -> None:
    """Tests that knowledge is nothing where all arrives at once, waits for offers where there are no heartbeats, that
    heartbeats change no other part, and that all policies share what is below the best order.
    """
    policies = ["fifo", "rand", "fair"]
    for arrive in (False, True):
        problem = drawn(seed, arrive)
        reference = optsched.solve(problem, time_limit=5)
        beating, at_once = (
            decompose_all(problem, policies, range(2), heartbeat=beat, reference=reference) for beat in (3, 0)
        )
        for one, other in zip(beating, at_once, strict=True):
            for found in (one, other):
                assert sum(found.parts.values()) == found.gap  # bounds are proved
                assert found.parts["not found"] >= 0
                assert found.parts["knowledge"] >= 0
                assert arrive or found.parts["knowledge"] == 0
            assert other.parts["waits for offers"] == 0
            assert [run.at_once for run in one.runs] == [run.as_is for run in other.runs]
            assert list(one.parts)[1:3] == ["placement", "order of jobs"]
            assert [one.parts[part] for part in list(PARTS)[1:3]] == [other.parts[part] for part in list(PARTS)[1:3]]
        assert len({(one.arrived, one.known, one.bound) for one in beating}) == 1


def test_knowledge_is_of_arrivals() -> None:
    """Tests the price of not knowing that a short job comes: whoever knows lets the long one wait."""
    instance = small([[], []], [1], job=[0, 1], job_ids=["a", "b"], arrival=[0, 1], duration=[9, 1])
    problem = JobTimes(instance)
    found = decompose(problem, First, [0], heartbeat=0)
    assert (found.arrived, found.known) == (9 + 9, 11 + 1)
    assert list(found.parts.values()) == [0, 0, 0, 0, 6, 0]
    at_once = replace(instance, workload=replace(instance.workload, arrival=np.ones(2)))
    found = decompose(JobTimes(at_once), First, [0], heartbeat=0)
    assert list(found.parts.values()) == [0, 0, 0, 8, 0, 0]  # no order that is tried looks at durations


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        (lambda problem: decompose(optsched.problem("lsap", "papers/guo-fig2"), "dl"), UsageError, "decompose takes"),
        (lambda problem: decompose(problem, "fair", []), UsageError, "one seed or more"),
        (lambda problem: decompose(problem, Idle, [0]), HeuristicFailed, "Idle"),
        (lambda problem: decompose_all(problem, []), UsageError, "give one policy or more"),
        (lambda problem: decompose_all(problem, "fair"), UsageError, r"for one alone there is optsched\.decompose"),
        (lambda problem: decompose_all(problem, ["fair", "fair"]), UsageError, "fair is there twice"),
        (lambda problem: decompose_all(problem, ["fair"], []), UsageError, "decompose: give one seed or more"),
        (lambda problem: decompose_all(problem, [("fair", {"delai": 1})]), UsageError, "delai"),
    ],
)
def test_what_is_refused(asked: Callable[[Makespan], object], error: type[Exception], message: str) -> None:
    """Tests a line for a problem without time, no seed or policy, one twice, a parameter that is none, and idling."""
    with pytest.raises(error, match=message):
        asked(Makespan(CROSSED))


def test_several_policies_share_what_is_below(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that one reference is solved for several policies: each has A and B of its own, and all share C and D."""
    problem = JobTimes(parse(json.dumps(document(5))))
    policies = ["fifo", "rand", ("fair", {"delay": 0})]
    alone = [decompose(problem, "fifo", range(2)), decompose(problem, "rand", range(2))]
    solved: list[object] = []
    solve = optsched.measuring.gaps.solve
    monkeypatch.setattr("optsched.measuring.gaps.solve", lambda *given: solved.append(given) or solve(*given))
    found = decompose_all(problem, policies, range(2))
    assert len(solved) == 1
    assert [one.label for one in found] == ["fifo", "rand", "fair,delay=0"]
    assert found.raise_if_failed() is found
    for one, single in zip(found, alone, strict=False):
        pairs = zip(one.runs, single.runs, strict=True)
        assert all((run.as_is, run.nearest) == (other.as_is, other.nearest) for run, other in pairs)
        assert one.known <= single.known
    for rows in zip(*(one.runs for one in found), strict=True):
        assert len({run.any_order for run in rows}) == 1
        assert rows[0].any_order <= min(run.nearest for run in rows)
    assert len({(one.arrived, one.known, one.bound, one.proof, one.assumed) for one in found}) == 1
    frame = found.frame()
    assert frame.index.tolist() == [one.label for one in found]
    assert (frame[list(PARTS)].sum(axis=1) - frame["gap"]).abs().max() < 1e-9
    assert (frame["as it is"] - frame["bound"] - frame["gap"]).abs().max() < 1e-9
    assert "3 gaps" in repr(found)
    assert found[0] is next(iter(found))


def test_the_order_of_another_policy() -> None:
    """Tests that C is another policy's order where that is the best one, unless that policy knows what comes."""

    class Longest(Policy):
        """The last task that waits: of two jobs that are there at once the order that is best here."""

        def offer(self, offer: object, view: object) -> tuple[int, ...]:
            return tuple(view.pending[-1:].tolist())

    jobs = {"job": [0, 1, 1, *[2] * 9], "job_ids": ["a", "b", "c"], "duration": [100, 30, 30, *[1] * 9]}
    instance = small([[]] * 12, [1], **jobs, observed=[0] * 12)
    state = State.initial(instance.cluster, instance.workload, start=[69, 9, 39, *range(9)])
    problem = JobTimes(instance.with_state(state))
    # c ends after 9 s, b after 69 s, a after 169 s; no plain order begins with the job of the most tasks.
    found = decompose_all(problem, [First, Longest], [0], heartbeat=0)
    assert [(run.as_is, run.any_order, last_name(run.order)) for one in found for run in one.runs] == [
        (100 + 160 + 169, 247, "Longest"),
        (247, 247, "policy"),
    ]
    beside = decompose_all(problem, [First, "observed"], [0], heartbeat=0)
    for known in (decompose(problem, First, [0], heartbeat=0), beside[0]):
        assert [(run.any_order, run.order) for run in known.runs] == [(429, "policy")]
        assert known.known == 247
    assert beside[1].runs[0].as_is == 247


def test_a_policy_that_fails_ends_no_table() -> None:
    """Tests that a policy that fails is told of by its name, and that the others are measured."""
    lines: list[str] = []
    found = decompose_all(Makespan(CROSSED), [First, Idle], [3], heartbeat=0, step=lines.append)
    assert [last_name(one.label) for one in found] == ["First"]
    assert list(map(last_name, found.failed)) == ["Idle"]
    assert list(map(last_name, lines)) == ["First, seed 3", "Idle, seed 3", "the best schedule"]
    with pytest.raises(HeuristicFailed, match='Idle": 2 maps wait'):
        found.raise_if_failed()
    lines.clear()
    nothing = decompose_all(Makespan(CROSSED), [Idle], [3], heartbeat=0, step=lines.append)
    assert (len(nothing), list(map(last_name, lines)), nothing.frame().shape) == (0, ["Idle, seed 3"], (0, 9))


def posed(arrival: list[int], duration: list[int], nodes: int = 1) -> Instance:
    """A job of one task at each arrival."""
    jobs = {"job": range(len(arrival)), "job_ids": [f"j{job}" for job in range(len(arrival))]}
    return small([[]] * len(arrival), [1] * nodes, **jobs, arrival=arrival, duration=duration)


def test_what_is_known() -> None:
    """Tests that a plan shows what it has started, and no job that comes later."""
    problem = JobTimes(posed([0, 1, 2], [9, 1, 1]))
    plan = optsched.simulate(problem.instance, "fifo", heartbeat=0).schedule
    present = known_at(problem, plan, 1_000_000)
    assert present.workload.job_ids.tolist() == ["j0", "j1"]
    assert present.state.status.tolist() == [RUNNING, PENDING]
    assert np.array_equal(arrivals(problem), [0, 1_000_000, 2_000_000])


def test_bug_a_reduce_that_waits_for_its_maps_was_over() -> None:
    """Tests that a running reduce keeps its slot under a plan until the last map of its job has ended."""
    tasks = [
        {"id": "m", "job": "j", "duration": 4},
        {"id": "r", "job": "j", "kind": "reduce", "duration": 1, "state": "running", "node": "a", "start": 0},
        {"id": "s", "job": "k", "kind": "reduce", "duration": 1},
    ]
    nodes = [{"id": "a", "slots": 1, "reduce_slots": 1, "idle_reduce_slots": 0}]
    given = {"format": "optsched/1", "time": 2, "nodes": nodes, "jobs": [{"id": "j"}, {"id": "k"}], "tasks": tasks}
    problem = JobTimes(parse(json.dumps(given)))
    assert known_at(problem, optsched.Schedule.empty(3), 2_000_000).state.status.tolist() == [PENDING, RUNNING, PENDING]
    best = optsched.solve(problem).objective
    assert planned_anew(problem) == best[0]


@settings(max_examples=8)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5)), min_size=1, max_size=4), st.integers(1, 2))
def test_between_the_optimum_and_itself(jobs: list[tuple[int, int]], nodes: int) -> None:
    """Tests that no plan without the future beats the optimum, and that it is the optimum if all arrives at once."""
    arrival, duration = map(list, zip(*jobs, strict=True))
    for kind in (JobTimes, Makespan):
        best = optsched.solve(kind(posed(arrival, duration, nodes))).objective
        found = planned_anew(kind(posed(arrival, duration, nodes)))
        assert found >= best[0]
        at_once = kind(posed([arrival[0]] * len(jobs), duration, nodes))
        assert planned_anew(at_once) == pytest.approx(optsched.solve(at_once).objective[0], abs=0)


# The same numbers of tasks of each job at each instant, placed at the least time altogether ---------------------------

POLICIES = [name for name, entry in HEURISTICS.items() if entry.online]


def made(name: str) -> Policy:
    """A policy of the list."""
    entry = heuristic(name)
    if entry.policy is None:
        return EveryRound(name)
    return entry.policy(**values_in_force(entry, {}))


#: Two nodes and two maps: one may have its data on both, and the other on the first alone. Greedy is worse.
TWO_MAPS = Makespan(small([[0, 1], [0]], job=[0, 0], job_ids=["j"], times=[[1, 5, 5]] * 2))


def test_an_instant_is_placed_as_a_whole() -> None:
    """Tests that no task is in another's place, where the nearest task of each offer in turn would be."""
    problem = TWO_MAPS
    orders = InOrder(problem, "arrival"), Together(problem, InOrder(problem, "arrival"))
    in_turn, whole = (
        {problem.evaluate(simulate(problem.instance, order, heartbeat=0, seed=seed).schedule) for seed in range(6)}
        for order in orders
    )
    assert (in_turn, whole) == ({(1,), (5,)}, {(1,)})


def test_jobs_change_places() -> None:
    """Tests that maps of two jobs change nodes where each has its data on the other's; reduces stay."""
    jobs = {"kind": [0, 0, 1, 1], "job": [0, 1, 0, 1], "job_ids": ["x", "y"]}
    problem = Makespan(small([[0], [1], [], []], [1, 1], **jobs, times=[[1, 5, 5]] * 2 + [[2, 2, 2]] * 2))
    for seed in range(4):
        run = simulate(problem.instance, Together(problem, InOrder(problem, "arrival")), heartbeat=0, seed=seed)
        assert run.schedule.nodes[:2].tolist() == [0, 1]
        assert problem.evaluate(run.schedule) == (3,)


def test_waits_as_long_as_the_other() -> None:
    """Tests that a policy that lets rounds of offers pass on purpose is asked as often as it would be by itself."""

    class Waits(InOrder):
        waits_rounds = 250
        passed = 0

        def offer(self, offer: Any, view: Any) -> Any:
            self.passed += 1
            return super().offer(offer, view) if self.passed > 2 * self.waits_rounds else ()

    problem = TWO_MAPS
    assert Together(problem, EveryRound("lsap-sched", problem="lsap", period=1000.0)).waits_seconds == 1000
    assert not simulate(problem.instance, Together(problem, Waits(problem, "arrival")), heartbeat=0).unfinished
    Waits.waits_rounds = 600
    assert simulate(problem.instance, Together(problem, Waits(problem, "arrival")), heartbeat=0).unfinished == ""


@pytest.mark.parametrize("name", [*POLICIES, "fifo", "lsap-sched"])
def test_any_policy_runs(name: str) -> None:
    """Tests that runs are feasible, the same twice, and begin with as many tasks of each job on the same nodes."""
    for seed in range(2):
        problem = Makespan(arriving(seed, nodes=3, tasks=9, reduces=3))
        run = simulate(problem.instance, Together(problem, made(name)), heartbeat=0, seed=seed)
        assert run.unfinished == ""
        assert problem.violations(run.schedule) == []
        again = simulate(problem.instance, Together(problem, made(name)), heartbeat=0, seed=seed)
        assert (again.record == run.record).all()


def least(times: list[Any], job: list[int], slots: list[int], counts: Counter[int]) -> int:
    """The least time beyond the best, by trying every choice of maps in every order."""
    found = [
        sum(times[task][node] - times[task].min() for task, node in zip(chosen, slots, strict=True))
        for chosen in permutations(range(len(times)), len(slots))
        if Counter(job[task] for task in chosen) == counts
    ]
    return min(found)


def test_placed_at_the_least_time() -> None:
    """Tests the network against every way to place, with racks, few replicas, and several slots of a node."""
    rng = np.random.default_rng(4)
    for seed in range(30):
        problem = Makespan(arriving(seed, nodes=3, tasks=6, reduces=0, jobs=2))
        view: Any = SimpleNamespace(workload=problem.instance.workload)
        tasks = JobTasks(problem, view)
        times, job = [problem.times.row(task) for task in range(6)], tasks.job.tolist()
        slots = rng.integers(0, 3, size=int(rng.integers(1, 5))).tolist()
        counts = Counter(job[task] for task in rng.choice(6, size=len(slots), replace=False).tolist())
        found = placed_together(tasks, np.arange(6), Counter(slots), counts)
        assert Counter(found.values()) == Counter(slots)
        assert Counter(job[task] for task in found) == counts
        assert sum(times[task][node] - times[task].min() for task, node in found.items()) == least(
            times, job, slots, counts
        )


def test_orders_of_jobs() -> None:
    """Tests which job each order serves first: the first to arrive, that with fewest running, or fewest left."""
    problem = JobTimes(small([[]] * 5, [2], job=[0, 0, 0, 1, 1], job_ids=["a", "b"], times=[[4, 4, 4]] * 5))
    firsts = {}
    for order in ORDERS:
        run = simulate(problem.instance, InOrder(problem, order), heartbeat=0)
        firsts[order] = sorted(np.flatnonzero(run.schedule.starts == 0).tolist())
    assert firsts == {"arrival": [0, 1], "fewest-running": [0, 3], "fewest-left": [3, 4]}
