"""Explanations of schedules: jobs, tasks and the chain beside the optimum, and what cannot be explained."""

import json
from itertools import pairwise

import numpy as np
import pytest
from over_time import whole

import optsched
from optsched.core.errors import HeuristicFailed, UsageError
from optsched.core.instance import KINDS, RUNNING
from optsched.core.placement import MICRO, Placement, Schedule
from optsched.instances.files import from_document
from optsched.measuring.explaining import ScheduleExplanation, explain, explained
from optsched.measuring.explaining.schedules import Waits
from optsched.measuring.gaps import gap
from optsched.problems.makespan import Makespan
from optsched.problems.schedules import ScheduleProblem
from optsched.solvers.searches.schedules import placed_schedules


@pytest.fixture(scope="module")
def problem() -> ScheduleProblem:
    """Two jobs, six maps and two reduces on two nodes."""
    return optsched.problem("job-times", "examples/order-of-jobs")


def test_jobs_lose_what_the_gap_is(problem: ScheduleProblem) -> None:
    """Tests that what the jobs lose to the optimum adds up to the gap, and the times of each task and job."""
    found = explain(problem, "fair")
    assert sum(job.lost for job in found.jobs) == float(found.gap[0]) > 0
    assert [job.lost for job in found.jobs] == sorted((job.lost for job in found.jobs), reverse=True)
    schedule = found.schedule
    ends = dict(zip(problem.instance.workload.task_ids.tolist(), problem.ends(schedule) / MICRO, strict=True))
    for task in found.tasks:
        assert task.end == ends[task.task]
        assert task.start >= task.waited  # the first job arrives at 0
    for job in found.jobs:
        assert job.alone <= min(job.best, job.time)
        assert job.last.end == max(end for name, end in ends.items() if name.startswith(job.job))
    shown = found.to_dict()
    assert json.loads(json.dumps(shown))["gap"] == [int(found.gap[0])] == shown["gap"]
    assert {entry["task"] for entry in shown["tasks"]} == set(ends)
    assert shown["chain"][-1]["end"] == max(ends.values())
    assert repr(found).startswith("<fair on order-of-jobs, job-times: gap ")


def test_what_may_be_given(problem: ScheduleProblem) -> None:
    """Tests a report, a schedule and a solution; what is none of these, infeasible or fails is reported."""
    assert isinstance(explained(gap(problem, "fair")), ScheduleExplanation)
    best = optsched.solve(problem)
    for given in (best, best.decision):
        found = explain(problem, given)
        assert (found.gap, found.who, [job.lost for job in found.jobs]) == ((0,), "the schedule", [0, 0])
    other = optsched.solve(optsched.problem("job-times", optsched.generate("job-times", seed=1, tasks=3, jobs=1)))
    tasks = len(problem.instance.workload)

    def breaks(*_: object) -> None:
        raise ZeroDivisionError

    for given, kind, message in (
        (None, UsageError, "give a policy or a schedule: there are feasible ones"),
        (other, UsageError, "of another instance"),
        (Placement.empty(tasks), UsageError, "decides when tasks run: give a policy or a schedule"),
        (Schedule.empty(tasks), UsageError, "the schedule is infeasible, so that there is no gap to explain: every-"),
        (breaks, HeuristicFailed, "ZeroDivisionError"),
    ):
        with pytest.raises(kind, match=message):
            explain(problem, given)
    with pytest.raises(UsageError, match="takes no parameters: leave seeds out"):
        explain(problem, best, seeds=3)


def test_nothing_is_feasible() -> None:
    """Tests that an infeasible problem is explained without a schedule, in words and for JSON."""
    document = {"format": "optsched/1", "nodes": [{"id": "a", "slots": 0}], "tasks": [{"id": "t", "duration": 1}]}
    found = explain(optsched.problem("makespan", document))
    assert (found.infeasible, found.schedule, found.gap) == (True, None, None)
    assert str(found) == (
        'instance, makespan: no schedule is feasible: no slot for a map ever becomes free, and task "t" is one.'
    )
    assert found.to_dict()["jobs"] == []
    assert repr(found) == "<makespan on instance: infeasible>"
    with pytest.raises(UsageError, match="nothing is feasible"):
        optsched.draw(found)


def test_the_chain_is_framed(problem: ScheduleProblem) -> None:
    """Tests that the picture has the schedule with its chain beside the optimum."""
    found = explain(problem, "fair")
    figure = optsched.draw(found)
    framed = [patch for axes in figure.axes for patch in axes.patches if patch.get_label() == "framed"]
    ends = sorted(float(x) for patch in framed for x in patch.get_path().vertices[1::5, 0])
    assert ends == [link.end / MICRO for link in found.chain]
    assert any("optimum (proved: " in axes.get_title(loc="left") for axes in figure.axes)


def by_seconds(problem: Makespan, schedule: Schedule) -> list[list[int]]:
    """Seconds for maps, for slots and beside free slots of each task of a schedule in whole seconds."""
    state, workload = problem.instance.state, problem.instance.workload
    ends, kind = problem.ends(schedule) // MICRO, workload.kind
    begin = np.where(state.status == RUNNING, -(10**6), schedule.starts // MICRO)
    runs = (schedule.nodes >= 0) | (state.status == RUNNING)
    from_when = problem.reduces_from(problem.ends(schedule))[problem.jobs.of_task[problem.tasks]]
    found = []
    for position, task in enumerate(problem.tasks.tolist()):
        shown = [0, 0, 0]
        for second in range(int(problem.release[position]) // MICRO, int(begin[task])):
            busy = sum(
                bool(runs[other]) and kind[other] == kind[task] and begin[other] <= second < ends[other]
                for other in range(len(workload))
            )
            waits_for_maps = kind[task] == 1 and second * MICRO < from_when[position] < 2**60
            shown[0 if waits_for_maps else 1 if busy >= problem.room[KINDS[kind[task]]].sum() else 2] += 1
        found.append(shown)
    return found


def check_chain(waits: Waits, problem: Makespan, schedule: Schedule) -> None:
    """The chain begins with an arrival or what ran, has no hole, and ends with the makespan."""
    chain = waits.chain
    if not chain:
        assert problem.evaluate(schedule) == (0,)
        return
    assert (chain[-1].end - problem.now) / MICRO == float(problem.evaluate(schedule)[0])
    assert (chain[0].after, chain[0].why in ("arrival", "runs")) == (-1, True)
    if chain[0].why == "arrival":
        position = problem.tasks.tolist().index(chain[0].task)
        assert chain[0].start - chain[0].idle == problem.release[position]
    for before, link in pairwise(chain):
        assert link.after == before.task
        assert link.start - link.idle == before.end
        assert link.idle >= 0
        if link.why == "slot":
            assert before.node == link.node


@pytest.mark.parametrize("slowstart", [0, 0.5, 1])
def test_every_second_has_its_cause(slowstart: float) -> None:
    """Tests seconds for maps, slots and beside free slots by looking at each, and the chain, on drawn schedules."""
    seen = np.zeros(3, dtype=np.int64)
    whys: set[str] = set()
    for seed in range(40):
        problem = optsched.problem("makespan", from_document(whole(seed)), slowstart=slowstart)
        listed = list(placed_schedules(problem))
        later = [problem.schedule(one.nodes[problem.tasks], one.starts[problem.tasks] + 2 * MICRO) for one in listed]
        for schedule in [*listed, *later[:2]]:
            waits = Waits(problem, schedule)
            found = [waits.maps, waits.slots, waits.passed]
            due = by_seconds(problem, schedule)
            assert np.stack(found, axis=1).tolist() == [[MICRO * time for time in row] for row in due]
            seen += np.sum(due, axis=0, dtype=np.int64) if due else 0
            check_chain(waits, problem, schedule)
            whys |= {link.why for link in waits.chain}
    assert (seen[1:] > 0).all()
    assert {"arrival", "slot", "runs"} <= whys
    assert ("maps" in whys) == (slowstart > 0)


def test_a_reduce_that_waits_for_the_last_map() -> None:
    """Tests that the chain goes from a reduce that is done early to the map that it ended with."""
    tasks = [
        {"id": "m", "job": "j", "duration": 4},
        {"id": "n", "job": "j", "duration": 10},
        {"id": "r", "job": "j", "kind": "reduce", "duration": 2},
    ]
    document = {"format": "optsched/1", "nodes": [{"id": "a", "slots": 2}], "jobs": [{"id": "j"}], "tasks": tasks}
    problem = optsched.problem("makespan", document, slowstart=0.5)
    waits = Waits(problem, problem.schedule([0, 0, 0], [0, 0, 4 * MICRO]))
    assert [(link.task, link.why, link.after) for link in waits.chain] == [(1, "arrival", -1), (2, "ends-with", 1)]
    assert (waits.last_of(0), waits.maps.tolist()) == (2, [0, 0, 4 * MICRO])


def three() -> ScheduleExplanation:
    """A schedule of two jobs on a node with a slot of each kind; one task of a third job runs already."""
    document = {
        "format": "optsched/1",
        "name": "three",
        "nodes": [{"id": "a", "slots": 1, "idle_slots": 0}],
        "jobs": [{"id": name} for name in "ijk"],
        "tasks": [
            {"id": "x", "job": "i", "duration": 3, "state": "running", "node": "a", "start": 0},
            {"id": "m", "job": "j", "duration": 4},
            {"id": "n", "job": "k", "duration": 1},
            {"id": "r", "job": "k", "kind": "reduce", "duration": 2},
        ],
    }
    problem = optsched.problem("job-times", document)
    return explain(problem, problem.schedule([0, 0, 0], [3 * MICRO, 8 * MICRO, 9 * MICRO]))


def test_sentences() -> None:
    """Tests every sentence of a small schedule, with each cause and each kind of link but one."""
    assert str(three()).splitlines() == [
        "three, job-times: the schedule has a sum of 3 job times of 21 s; the proved optimum: 17 s.",
        "Mean job time: 7 s, of 3 jobs; the longest 11 s. In the proved optimum: 5.66667 s, of 3 jobs; the longest 8 "
        "s.",
        "3 tasks: 0 did not wait; together they waited 9 s for maps of the job, 10 s while no slot was "
        "free, 1 s while a slot was free somewhere.",
        "Jobs, from arrival to end; first the one that loses most against its time in the proved optimum:",
        "  1. k: 11 s, 6 s in the proved optimum, 3 s alone; its last task, r on a, waited 9 s for maps of the job, "
        "and took 2 s",
        "  2. i: 3 s, 3 s in the proved optimum, 3 s alone; its last task ran at the beginning",
        "  3. j: 7 s, 8 s in the proved optimum, 4 s alone; its last task, m on a, waited 3 s while no slot was free, "
        "and took 4 s",
        "This chain of tasks leads to the last end:",
        "  0 to 3 s: x on a: it ran at the beginning",
        "  3 to 7 s: m on a: x left the slot",
        "  8 to 9 s: n on a: m left the slot, 1 s later",
        "  9 to 11 s: r on a: n, the map that it waited for, had ended",
    ]


def test_few_are_reported() -> None:
    """Tests that jobs and links that are not reported are counted, and that a makespan has no mean."""
    assert [line.split(",")[0] for line in list(three().sentences(1))[4:]] == [
        "  1. k: 11 s",
        "  and 2 more jobs",
        "This chain of tasks leads to the last end:",
        "  3 tasks before",
        "  9 to 11 s: r on a: n",
    ]
    problem = optsched.problem("makespan", "examples/order-of-jobs")
    lines = str(explain(problem, "fair")).splitlines()
    assert lines[0] == (
        "order-of-jobs, makespan: fair (levels, heartbeat 3 s) has a makespan of 19.5 s; the proved optimum: 15 s."
    )
    assert lines[1].startswith("8 tasks: 1 did not wait")
