"""The problems over time against an oracle that looks at every instant; and schedules as early as can be."""

import json
import random
from typing import Any

import numpy as np
import pytest
from oracles import schedules as oracles
from over_time import both, document, two_jobs

from optsched.core.errors import InputError, MissingField, UsageError
from optsched.core.instance import Cluster, Instance, State, Workload
from optsched.core.placement import MICRO, Placement, Schedule
from optsched.instances.files import parse
from optsched.problems.job_times import JobTimes
from optsched.problems.makespan import Makespan
from optsched.problems.schedules import as_early
from optsched.solvers.searches.schedules import placed_schedules

FACTORS = ((1, 1, 1), (1, 1.5, 3), (0.3, 1, 0.1))


def drawn_decision(oracle: oracles.Makespan, chance: random.Random) -> tuple[list[int | None], list[int]]:
    """Any node, or none, and a start on a coarse grid, mostly after the release, for each task."""
    nodes = [None if chance.random() < 0.05 else chance.randrange(len(oracle.nodes)) for _ in oracle.pending]
    early = [max(oracle.now, oracle.arrival(task)) for task in oracle.pending]
    return nodes, [start + int(chance.choice([0, 0, 1, 2, 0.5, 3, 10, 13, -1]) * MICRO) for start in early]


def test_values_and_violations() -> None:
    """Tests that values, and what is feasible, are those of an oracle, on drawn instances and schedules."""
    for seed in range(36):
        text, chance = json.dumps(document(seed)), random.Random(seed)
        parameters: dict[str, Any] = {"factors": FACTORS[seed % 3], "slowstart": (0.05, 1, 0, 0.5)[seed % 4]}
        kind, judge = ((Makespan, oracles.Makespan), (JobTimes, oracles.JobTimes))[seed // 3 % 2]
        problem, oracle = kind(parse(text), **parameters), judge(text, parameters)
        for nodes, starts in (drawn_decision(oracle, chance) for _ in range(24)):
            schedule = problem.schedule([-1 if node is None else node for node in nodes], starts)
            wrong = oracle.wrong((*nodes, *starts))
            assert {(broken.constraint, broken.ids) for broken in problem.violations(schedule)} == wrong, seed
            if not wrong:
                value = oracle.value((*nodes, *starts))
                assert problem.evaluate(schedule) == value, seed
                assert all(bound.value <= value[0] for bound in problem.cheap_bounds()), seed


def test_what_is_missing() -> None:
    """Tests that every task without a time, and every running one without a start, is named, in one go."""
    cluster = Cluster(["a"], slots=[2])
    workload = Workload(["t1", "t2", "t3"], duration=[np.nan, 1, np.nan])
    with pytest.raises(MissingField) as raised:
        Makespan(
            Instance.initial(
                cluster, workload, status=[0, 1, 2], node=[-1, 0, 0], idle_slots=[1], start=[np.nan, np.nan, np.nan]
            )
        )
    assert [fault.place for fault in raised.value.faults] == ["tasks[0].times", "tasks[1].start"]
    with pytest.raises(MissingField, match="group that has a weight"):
        JobTimes(Instance(cluster, Workload(["t"], duration=[1])), weights="group")


def test_too_long() -> None:
    """Tests that times that may add up past 2^53 microseconds are refused before anything is computed with them."""
    with pytest.raises(InputError, match="write them in larger units"):
        Makespan(Instance(Cluster(["a"]), Workload(["t1", "t2"], duration=[8e9, 8e9])))


def test_wrong_decisions() -> None:
    """Tests what is said of a schedule of another length, on no node, of what does not wait, and of no schedule."""
    instance = two_jobs(duration=[1, 1, 1])
    problem = Makespan(instance)
    assert problem.violations(Schedule.empty(2))[0].constraint == "length"
    assert problem.violations(Schedule.of([(3, 0), None, None]))[0].constraint == "known-node"
    with pytest.raises(UsageError, match="makespan judges a schedule, not"):
        problem.violations(Placement.of([0, 0, 0]))  # type: ignore[arg-type]
    cluster, workload = instance.cluster, instance.workload
    ended = instance.with_state(State.initial(cluster, workload, status=[2, 0, 0], node=[0, -1, -1]))
    names = {broken.constraint for broken in Makespan(ended).violations(Schedule.of([(0, 0), (0, 0), (0, 0)]))}
    assert names == {"pending-task"}


def test_nothing_ends_later() -> None:
    """Tests that a schedule that is late by some seconds is feasible as early as can be, and no worse than before."""
    for problem, best in both(range(6)):
        for schedule in placed_schedules(problem):
            late = Schedule(schedule.nodes, schedule.starts + 3 * MICRO * (schedule.nodes >= 0))
            early = as_early(problem, late)
            assert best <= problem.evaluate(early)[0] <= problem.evaluate(schedule)[0]
            assert (problem.ends(early) <= problem.ends(schedule)).all()


@pytest.mark.parametrize("left", [0, 1])
def test_tasks_that_do_not_run_are_passed_over(left: int) -> None:
    """Tests that a schedule without some of its tasks is still one without them, with reduces that cannot start."""
    for problem, _ in both(range(6)):
        for schedule in placed_schedules(problem):
            nodes = schedule.nodes.copy()
            nodes[left::2] = -1
            kept = Schedule(nodes, schedule.starts)
            assert (as_early(problem, kept).nodes == nodes).all()
