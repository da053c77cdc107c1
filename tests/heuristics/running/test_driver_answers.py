"""What a heuristic may answer, and that nonsense is reported for what it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from optsched.core.errors import HeuristicFailed
from optsched.core.instance import FINISHED, Cluster, Instance, State, Workload
from optsched.core.placement import Placement
from optsched.heuristics.running.driver import ENTRIES_SHOWN, placement_from, tasks_from
from optsched.problems import Lsap


@pytest.fixture
def problem() -> Lsap:
    """Two nodes, three tasks, the first of which is finished."""
    cluster, workload = Cluster(["a", "b"]), Workload(["t1", "t2", "t3"])
    return Lsap(Instance(cluster, workload, State.initial(cluster, workload, status=[FINISHED, 0, 0])))


@pytest.mark.parametrize(
    "answer",
    [
        ["b", None],
        ("b", -1),
        [1, None],
        [np.str_("b"), np.int32(-1)],
        np.array([1, -1]),
        np.array([1, -1], dtype=np.int8),
        np.array(["b", None], dtype=object),
        Placement.of([None, 1, None]),
    ],
)
def test_answers_read(problem: Lsap, answer: Any) -> None:
    """Tests that ids, indices, None and -1 in any sequence, and placements of the instance, mean the same."""
    assert placement_from(answer, problem).nodes.tolist() == [-1, 1, -1]


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (None, "answered None; give a Placement"),
        ("ab", "answered a str; give a Placement"),
        ({"t2": "a", "t8": "b"}, 'names task "t8", which is none of problem.tasks'),
        (iter(["a", "b"]), "iterator; give a Placement"),
        (3, "answered a int"),
        (["a"], "answered 1 nodes; give exactly one for each of problem.tasks, that is 2"),
        (["a", "b", "a"], "answered 3 nodes"),
        (Placement.of([0, 1]), "answered 2 nodes; give exactly one for each task of the instance, that is 3"),
        (np.zeros((2, 2), dtype=np.int64), r"an array of shape \(2, 2\)"),
        (["a", "z"], 'answered node "z" for task "t3": the instance has no such node'),
        ([0, 2], 'answered node index 2 for task "t3": indices run from 0 to 1, and -1 is nowhere'),
        (np.array([-2, 0]), 'answered node index -2 for task "t2"'),
        (Placement.of([0, 2, 0]), 'answered node index 2 for task "t2"'),
        ([float("nan"), 0], 'answered nan for task "t2": give a node id, a node index, or None'),
        (np.array([0.0, np.nan]), 'answered 0.0 for task "t2"'),
        ([True, 0], 'answered True for task "t2"'),
        ([["a"], "b"], r"answered \['a'\] for task"),
    ],
)
def test_nonsense_told(problem: Lsap, answer: Any, complaint: str) -> None:
    """Tests that each wrong type, length and entry is reported with the task that it concerns."""
    with pytest.raises(HeuristicFailed, match=complaint):
        placement_from(answer, problem)


def test_every_wrong_entry_told_up_to_a_limit() -> None:
    """Tests that wrong entries have a line each, and that many of them are counted."""
    tasks = ENTRIES_SHOWN + 5
    problem = Lsap(Instance(Cluster(["a"]), Workload([f"t{task}" for task in range(tasks)])))
    with pytest.raises(HeuristicFailed) as failed:
        placement_from(["z"] * tasks, problem)
    lines = str(failed.value).splitlines()
    assert len(lines) == ENTRIES_SHOWN + 1
    assert lines[-1] == "and 5 more entries that are wrong"


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (None, "answered None; give a sequence of tasks"),
        ("01", "answered '01'"),
        (1, "answered 1; give a sequence"),
        ([0.0], "answered 0.0; give the tasks' numbers"),
        ([float("nan")], "answered nan"),
        ([True], "answered True"),
        ([3], "answered task 3, which is no map that waits"),
        ([-1], "answered task -1, which is no map that waits"),
        ([0, 0], "answered task 0 twice"),
        ([0, 1, 2], "answered 3 tasks, more than the 2 free slots"),
    ],
)
def test_policy_nonsense_told(answer: Any, complaint: str) -> None:
    """Tests that a policy's wrong types, unknown, repeated and too many tasks are reported."""
    with pytest.raises(HeuristicFailed, match=complaint):
        tasks_from(answer, 2, "map", range(3).__contains__, lambda task: f"task {task}")


def test_policy_answers_read() -> None:
    """Tests that any sequence or array of whole numbers is a policy's answer."""
    for answer in ([0, 2], (0, 2), np.array([0, 2]), [np.int64(0), 2]):
        assert tasks_from(answer, 2, "map", range(3).__contains__, str) == [0, 2]
