"""Tests of Sharmilarani et al.'s task scheduler: no tracker is overloaded between two placements, and it arrives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from utility_instances import snapshot, utilities

from optsched.core.errors import UsageError
from optsched.core.placement import NONE, Placement
from optsched.heuristics.ras import Move, availability, enforce, fair_sharing, ras
from optsched.problems.utility import Utility

RNG = np.random.default_rng(0)  # neither scheduler draws anything


def replayed(problem: Utility, current: Placement, seconds: list[float], move: Move) -> np.ndarray[Any, Any]:
    """Go through the steps, checking each against what runs; the node of each of the problem's tasks at the end."""
    node = problem.nodes_of(current).copy()
    begun = np.where(node == NONE, np.nan, 0.0)
    position_of = {task: position for position, task in enumerate(problem.tasks.tolist())}
    clock = 0.0
    for step in move.steps:
        task = position_of[step.task]
        assert step.time >= clock
        clock = step.time
        if step.what == "ended":
            assert node[task] == step.node
            assert step.time == begun[task] + seconds[task]
            node[task] = NONE
        else:
            assert np.isnan(begun[task])
            node[task], begun[task] = step.node, step.time
        assert not [fault for fault in problem.violations(problem.placement(node)) if fault.constraint == "capacity"]
    return node


@st.composite
def moves(draw: st.DrawFn) -> tuple[Utility, Placement, Placement, list[float], float]:
    """A problem, a placement that runs, one to move to, how long tasks take, and the buffer."""
    problem = draw(utilities(most=6, reduces="free"))
    placements = [
        problem.placement([NONE] * len(problem.tasks)),
        fair_sharing(problem, RNG, slots=draw(st.integers(1, 3))),
        ras(problem, RNG),
        ras(problem, RNG, rounds=1, improvement="literal"),
    ]
    current, target = draw(st.sampled_from(placements)), draw(st.sampled_from(placements))
    count = len(problem.tasks)
    # Other tasks of the same jobs run than the ones that a placement names first.
    order = np.array(draw(st.permutations(range(count))), dtype=np.int64)
    job, kind = (column[problem.tasks] for column in (problem.instance.workload.job, problem.instance.workload.kind))
    order = order[np.lexsort((job[order], kind[order]))]
    nodes = np.full(count, NONE)
    nodes[order] = problem.nodes_of(current)[np.lexsort((job, kind))]
    seconds = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0, 3.5, 10.0]), min_size=count, max_size=count))
    return problem, problem.placement(nodes), target, seconds, draw(st.sampled_from([0.0, 2.0]))


@given(moves())
def test_never_overloaded_and_reaches_the_target(
    case: tuple[Utility, Placement, Placement, list[float], float],
) -> None:
    """Tests each step of a move, and that at its end each tracker runs what it is to, or all that there is.

    Between two steps at most `buffer` passes after a task has ended before its tracker is advertised.
    """
    problem, current, target, seconds, buffer = case
    move = enforce(problem, current, target, seconds, buffer=buffer)
    node = replayed(problem, current, seconds, move)
    assert np.array_equal(problem.nodes_of(move.runs), node)
    waiting = {step.task for step in move.steps if step.what == "started"}
    waiting |= set(problem.tasks[problem.nodes_of(current) != NONE].tolist())
    left = np.array([task not in waiting for task in problem.tasks.tolist()], dtype=bool)
    positions = (problem.map_positions, problem.reduce_positions)
    for runs, wanted, rows in zip(problem.allocated(move.runs), problem.allocated(target), positions, strict=True):
        for job, tasks in enumerate(rows):
            assert (runs[job] <= wanted[job]).all()
            assert not left[tasks].any() or np.array_equal(runs[job], wanted[job])
    ends = [step.time for step in move.steps if step.what == "ended"]
    assert all(time <= move.seconds for time in ends)
    assert move.seconds == 0 or ends


@given(moves())
def test_starts_only_what_the_target_has_there(
    case: tuple[Utility, Placement, Placement, list[float], float],
) -> None:
    """Tests that a job never starts on a tracker that has none of it in the target; nothing moves once it runs."""
    problem, current, target, seconds, buffer = case
    move = enforce(problem, current, target, seconds, buffer=buffer)
    workload = problem.instance.workload
    wanted = problem.allocated(target)
    rows = {job: row for row, job in enumerate(problem.jobs.tolist())}
    for step in move.steps:
        if step.what == "started":
            assert wanted[workload.kind[step.task]][rows[int(workload.job[step.task])], step.node] > 0


@given(utilities(reduces="free"))
def test_a_placement_that_runs_already_is_reached_at_once(problem: Utility) -> None:
    """Tests that nothing is started or awaited where the trackers run what they are to."""
    placement = ras(problem, RNG)
    move = enforce(problem, placement, placement, np.ones(len(problem.tasks)))
    assert (move.steps, move.seconds, move.runs) == ((), 0.0, placement)


def started(move: Move) -> list[tuple[float, int, int]]:
    """Time, task and node of what was started."""
    return [(step.time, step.task, step.node) for step in move.steps if step.what == "started"]


def test_lowest_utility_first() -> None:
    """Tests that what is free goes to the job of lowest utility with what it runs now, reduces before maps.

    When a task of job 0 ends, two of the four units are free. Job 1 runs nothing, so it comes first; its reduce before
    its map; then job 2, which runs a map already, gets none in this block.
    """
    problem = Utility(snapshot([[4], [1]], [(2, 2, [2]), (2, 2, [1], 1, [1]), (2, 3, [1])]))
    task = {"a": (0, 1), "b": (2, 3), "reduce": 4, "c": (5, 6, 7)}
    current, target = np.full(8, NONE), np.full(8, NONE)
    current[[0, 1]], current[5] = 0, 1
    target[[2, 4, 6]], target[7] = 0, 1
    seconds = np.full(8, 100.0)
    seconds[[0, 1]] = 10, 20
    move = enforce(problem, problem.placement(current), problem.placement(target), seconds, buffer=0)
    assert started(move) == [(10, task["reduce"], 0), (10, task["b"][0], 0), (20, task["c"][1], 0)]
    assert move.seconds == 20


def test_the_most_available_tracker_is_advertised_first() -> None:
    """Tests that of two trackers that become free within the buffer the more available one is served first.

    With no buffer the one that becomes free first is.
    """
    problem = Utility(snapshot([[3], [1]], [(None, 4, [1]), (None, 2, [1])]))
    current, target = problem.placement([0, 0, 0, 1, NONE, NONE]), problem.placement([NONE] * 4 + [0, 1])
    seconds = [5.0, 30.0, 30.0, 6.0, 1.0, 1.0]
    assert started(enforce(problem, current, target, seconds, buffer=0))[:2] == [(5, 4, 0), (6, 5, 1)]
    assert started(enforce(problem, current, target, seconds, buffer=2))[:2] == [(7, 4, 1), (7, 5, 0)]


def test_availability_is_the_least_share() -> None:
    """Tests the slot advertisement's measure, with a resource that a tracker lacks, and with none at all."""
    assert availability([[1, 6], [4, 0], [2, 2]], [[2, 8], [4, 0], [2, 2]]).tolist() == [0.5, 0.0, 1.0]
    assert availability(np.zeros((2, 0)), np.zeros((2, 0))).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("current", "target", "seconds", "buffer", "said"),
    [
        ([0, 0], [0, NONE], [1, 1], 0, "the current placement is infeasible: capacity"),
        ([0, NONE], [0, 0], [1, 1], 0, "the target placement is infeasible: capacity"),
        ([0, NONE], [0, NONE], [1], 0, "give seconds, 0 or more, for each"),
        ([0, NONE], [0, NONE], [1, np.nan], 0, "give seconds, 0 or more, for each"),
        ([0, NONE], [0, NONE], [1, -1], 0, "give seconds, 0 or more, for each"),
        ([0, NONE], [0, NONE], [1, 1], -1, "buffer is -1"),
        ([0, NONE], [0, NONE], [1, 1], np.inf, "buffer is inf"),
    ],
)
def test_refuses(current: list[int], target: list[int], seconds: list[float], buffer: float, said: str) -> None:
    """Tests that placements that overload a tracker, and times that are none, are refused with what is wrong."""
    problem = Utility(snapshot([[1]], [(None, 2, [1])]))
    with pytest.raises(UsageError, match=said):
        enforce(problem, problem.placement(current), problem.placement(target), seconds, buffer=buffer)
