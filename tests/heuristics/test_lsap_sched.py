"""`lsap-sched`: optimal in node-locality all at once, no worse off with larger windows than a heartbeat alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from optsched.errors import UsageError
from optsched.heuristics import run
from optsched.instance import FINISHED, PENDING, Cluster, Instance, Ragged, State, Workload
from optsched.instances.files import load
from optsched.problems import Lsap


@st.composite
def instances(draw: st.DrawFn) -> Instance:
    """A few nodes with slots, some of them idle, and tasks with up to three replicas, some of them done."""
    nodes, tasks = draw(st.integers(1, 6)), draw(st.integers(0, 10))
    slots = draw(st.lists(st.integers(0, 3), min_size=nodes, max_size=nodes))
    idle = [draw(st.integers(0, free)) for free in slots]
    rows = draw(st.lists(st.sets(st.integers(0, nodes - 1), max_size=3).map(sorted), min_size=tasks, max_size=tasks))
    status = draw(st.lists(st.sampled_from([PENDING, PENDING, FINISHED]), min_size=tasks, max_size=tasks))
    cluster = Cluster([f"n{node}" for node in range(nodes)], slots=slots)
    workload = Workload([f"t{task}" for task in range(tasks)], replicas=Ragged.from_rows(rows))
    return Instance(cluster, workload, State.initial(cluster, workload, idle_slots=idle, status=status))


def square_lsap(problem: Lsap) -> int:
    """Guo et al.'s algorithm to the letter: the 0/1 matrix of tasks and slots, padded to a square with 1."""
    slots = np.repeat(np.arange(len(problem.capacity)), problem.capacity)
    tasks, size = len(problem.tasks), max(len(problem.tasks), len(slots))
    cost = np.ones((size, size), dtype=np.int64)
    for row in range(tasks):
        cost[row, : len(slots)] = [node not in problem.replicas[row] for node in slots.tolist()]
    rows, columns = linear_sum_assignment(cost)
    real = (rows < tasks) & (columns < len(slots))
    return int(cost[rows[real], columns[real]].sum())


@given(instance=instances())
def test_equals_the_padded_square(instance: Instance) -> None:
    """Tests that the matching and its fill cost what Guo et al.'s padded LSAP costs."""
    problem = Lsap(instance)
    assert problem.evaluate(run(problem, "lsap-sched").raise_if_failed()) == (square_lsap(problem),)


@given(instance=instances(), window=st.integers(1, 5), seed=st.integers(0, 99))
def test_windows_are_feasible_and_never_better(instance: Instance, window: int, seed: int) -> None:
    """Tests that a window gives a full placement which costs at least the optimum."""
    problem = Lsap(instance)
    placement = run(problem, "lsap-sched", seed, window=window).raise_if_failed()
    assert problem.evaluate(placement) >= (square_lsap(problem),)


def test_figure_2() -> None:
    """Tests Guo et al.'s Figure 2: three of three tasks local, where dl-sched, offered A, B, C in turn, has two."""
    problem = Lsap(load("papers/guo-fig2"))
    assert problem.instance.cluster.slots.tolist() == [3, 3, 3]
    assert problem.capacity.tolist() == [1, 1, 1]
    assert problem.evaluate(problem.placement([0, 1, 2])) == (1,)
    assert run(problem, "lsap-sched").raise_if_failed().nodes.tolist() == [2, 1, 0]
    assert {problem.evaluate(run(problem, "dl", seed).raise_if_failed())[0] for seed in range(40)} == {0, 1}


def test_deterministic_without_a_window_and_random_with_one() -> None:
    """Tests that the seed matters for the order of the slots alone."""
    workload = Workload(
        [f"t{task}" for task in range(8)], replicas=Ragged.from_rows([[0, 1], [0, 2], [0, 3]] + [[4]] * 5)
    )
    problem = Lsap(Instance(Cluster([f"n{node}" for node in range(8)]), workload))

    def answers(**parameters: Any) -> set[tuple[int, ...]]:
        return {tuple(run(problem, "lsap-sched", seed, **parameters).raise_if_failed().nodes) for seed in range(10)}

    assert len(answers()) == len(answers(window=0)) == 1
    assert len(answers(window=3)) > 1


def test_whole_window_is_all_at_once() -> None:
    """Tests that a window as large as all idle slots costs the optimum."""
    workload = Workload(["t1", "t2", "t3"], replicas=Ragged.from_rows([[0, 1], [0], [1, 2]]))
    problem = Lsap(Instance(Cluster(["a", "b", "c"]), workload))
    for seed in range(5):
        assert problem.evaluate(run(problem, "lsap-sched", seed, window=3).raise_if_failed()) == (0,)


def test_knows_no_racks() -> None:
    """Tests that with three levels it still counts local tasks alone, as the paper's does."""
    cluster = Cluster(["a", "b", "c"], rack=[0, 1, 0], rack_ids=["r1", "r2"])
    workload = Workload(["t1"], replicas=Ragged.from_rows([[0]]))
    state = State.initial(cluster, workload, idle_slots=[0, 1, 1])
    problem = Lsap(Instance(cluster, workload, state), levels=(0, 1, 2))
    assert problem.evaluate(run(problem, "lsap-sched").raise_if_failed()) == (2,)


@pytest.mark.parametrize("window", [-1, 0.5, "many"])
def test_wrong_window(window: Any) -> None:
    """Tests that a window is a whole number, 0 or more."""
    problem = Lsap(Instance(Cluster(["a"]), Workload(["t1"])))
    with pytest.raises(UsageError, match="lsap-sched: window="):
        run(problem, "lsap-sched", window=window)
