"""What tasks of schedules waited for: against looking at every second, and chains that have no hole."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from schedule_drawn import whole
from timed_workloads import arriving

import optsched
from optsched.explaining.waiting import Waits
from optsched.instance import KINDS, RUNNING
from optsched.instances.files import from_document
from optsched.problems.makespan import Makespan
from optsched.schedule import MICRO, Schedule
from optsched.searches.list_schedules import list_schedules
from optsched.simulating import simulate


def by_seconds(problem: Makespan, schedule: Schedule) -> list[tuple[int, int, int]]:
    """Seconds for maps, for slots and beside free slots of each task of a schedule in whole seconds."""
    state, workload = problem.instance.state, problem.instance.workload
    ends, kind = problem.ends(schedule) // MICRO, workload.kind
    begin = np.where(state.status == RUNNING, -(10**6), schedule.starts // MICRO)
    runs = (schedule.nodes >= 0) | (state.status == RUNNING)
    from_when = problem.reduces_from(problem.ends(schedule))[problem.jobs.of_task[problem.tasks]]
    found = []
    for position, task in enumerate(problem.tasks.tolist()):
        told = [0, 0, 0]
        for second in range(int(problem.release[position]) // MICRO, int(begin[task])):
            busy = sum(
                bool(runs[other]) and kind[other] == kind[task] and begin[other] <= second < ends[other]
                for other in range(len(workload))
            )
            waits_for_maps = kind[task] == 1 and second * MICRO < from_when[position] < 2**60
            told[0 if waits_for_maps else 1 if busy >= problem.room[KINDS[kind[task]]].sum() else 2] += 1
        found.append((told[0], told[1], told[2]))
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
        problem = optsched.problem("makespan", from_document(whole(seed, 8)), slowstart=slowstart)
        assert isinstance(problem, Makespan)
        listed = list(list_schedules(problem))
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


def test_chains_of_simulations() -> None:
    """Tests the chain of what policies do over time, in which heartbeats pass by free slots."""
    idle = 0
    for seed in range(6):
        instance = arriving(seed)
        problem = Makespan(instance)
        schedule = simulate(instance, "fair", seed=seed).schedule
        waits = Waits(problem, schedule)
        check_chain(waits, problem, schedule)
        idle += sum(link.idle for link in waits.chain)
        total = waits.starts - problem.release
        assert (waits.maps + waits.slots + waits.passed == total).all()
    assert idle > 0


def test_a_reduce_that_waits_for_the_last_map() -> None:
    """Tests that the chain goes from a reduce that is done early to the map that it ended with."""
    tasks = [
        {"id": "m", "job": "j", "duration": 4},
        {"id": "n", "job": "j", "duration": 10},
        {"id": "r", "job": "j", "kind": "reduce", "duration": 2},
    ]
    document = {"format": "optsched/1", "nodes": [{"id": "a", "slots": 2}], "jobs": [{"id": "j"}], "tasks": tasks}
    problem = optsched.problem("makespan", document, slowstart=0.5)
    assert isinstance(problem, Makespan)
    waits = Waits(problem, problem.schedule([0, 0, 0], [0, 0, 4 * MICRO]))
    assert [(link.task, link.why, link.after) for link in waits.chain] == [(1, "arrival", -1), (2, "ends-with", 1)]
    assert (waits.last_of(0), waits.maps.tolist()) == (2, [0, 0, 4 * MICRO])
