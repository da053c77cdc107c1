"""Timetables: which tasks, nodes and instants are distinguished, by hand, and what is refused."""

from typing import Any

import pytest
from over_time import weighed

from optsched.core.errors import TooLarge
from optsched.core.instance import MAP, REDUCE
from optsched.instances.files import from_document
from optsched.problems import Makespan, timetable
from optsched.problems.timetable import Timetable
from optsched.solvers.searches.job_placing import best_placed


def posed(tasks: list[dict[str, Any]], nodes: list[dict[str, Any]], **more: Any) -> Any:
    """An instance file with the jobs that its tasks name."""
    jobs = [{"id": job} for job in dict.fromkeys(task["job"] for task in tasks if "job" in task)]
    return from_document({"format": "optsched/1", "nodes": nodes, "jobs": jobs, "tasks": tasks, **more})


def placed(problem: Any) -> Timetable:
    """The timetable of what is no worse than the best schedule of some that are placed job by job."""
    return Timetable(problem, problem.evaluate(best_placed(problem))[0])


RACKS = [{"id": name, "rack": rack} for name, rack in zip("abcd", "rrss", strict=True)]


def one_task(times: tuple[int, ...], *replicas: str) -> Timetable:
    """A task with data on some nodes, and its times on its data, in the rack and beyond."""
    named = dict(zip(("node", "rack", "off_rack"), times, strict=True))
    return placed(Makespan(posed([{"id": "t", "replicas": list(replicas), "times": named}], RACKS)))


def test_places_of_a_task() -> None:
    """Tests that a task is counted on its nodes, in their racks or anywhere, and nodes without data are one pool."""
    table = one_task((10, 12, 15), "a")
    places = [(group.level, group.place, group.nodes, group.time) for group in table.groups]
    assert places == [("off_rack", -1, (0, 1, 2, 3), 15), ("rack", 0, (0, 1), 12), ("node", 0, (0,), 10)]
    assert [pool.nodes for pool in table.pools] == [(0,), (1,), (2, 3)]
    both_racks = one_task((10, 12, 15), "a", "c")
    assert {node for group in both_racks.groups for node in group.nodes} == {0, 1, 2, 3}
    assert sorted(group.level for group in both_racks.groups) == ["node", "node", "rack", "rack"]


@pytest.mark.parametrize(
    ("times", "levels"),
    [
        ((10, 12, 12), ["off_rack", "node"]),
        ((10, 10, 12), ["off_rack", "rack"]),
        ((7, 7, 7), ["off_rack"]),
        ((12, 10, 15), ["node"] * 4),
        ((0, 10, 15), ["node"]),
    ],
)
def test_places_with_the_same_time_are_one(times: tuple[int, int, int], levels: list[str]) -> None:
    """Tests levels with the same time, times that grow near the data, and a place where no time is taken."""
    assert [group.level for group in one_task(times, "a").groups] == levels


def test_instants_are_sums() -> None:
    """Tests the instants of two tasks and a release: sums with each time no more often than there are tasks of it."""
    tasks: list[dict[str, Any]] = [{"id": "s", "job": "j", "duration": 3}, {"id": "t", "duration": 5}]
    table = placed(Makespan(posed(tasks, [{"id": "a"}])))
    assert table.instants[MAP].tolist() == [0, 3, 5, 8]
    assert [starts.tolist() for starts in table.starts] == [[0, 3, 5], [0, 3]]


def test_reduces_may_start_their_time_before_maps_end() -> None:
    """Tests that a reduce of 2 s may start so that it ends with the map of 5 s."""
    tasks: list[dict[str, Any]] = [
        {"id": "m", "job": "j", "duration": 5},
        {"id": "r", "job": "j", "kind": "reduce", "duration": 2},
    ]
    table = placed(Makespan(posed(tasks, [{"id": "a", "reduce_slots": 1}]), slowstart=0))
    pairs = zip(table.groups, table.starts, strict=True)
    assert [starts.tolist() for group, starts in pairs if group.kind == REDUCE] == [[0, 2, 3]]
    assert (table.earliest, table.latest) == ([5], [5])


def test_a_job_without_weight_may_end_when_all_have_run() -> None:
    """Tests that the latest end is that of all tasks in turn where a weight of 0 sets no limit."""
    problem = weighed([4, 4], [1, 0.5])
    assert placed(problem).latest == [6, 8]
    problem.weights = (1, 0)
    assert placed(problem).latest == [4, 8]


def test_too_many_instants_and_starts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that times that are too fine are refused with their tick, and too many starts, too."""
    tasks: list[dict[str, Any]] = [{"id": f"t{number}", "duration": 1 + 2.0**-number} for number in range(12)]
    problem = Makespan(posed(tasks, [{"id": "a"}]))
    monkeypatch.setattr(timetable, "MOST_INSTANTS", 500)
    with pytest.raises(TooLarge, match=r"more than 500 instants .* multiples of 1e-06 s and jobs may end until 13.9"):
        placed(problem)
    monkeypatch.setattr(timetable, "MOST_INSTANTS", 10**6)
    monkeypatch.setattr(timetable, "MOST_STARTS", 100)
    with pytest.raises(TooLarge, match="more than 100 ways to start tasks"):
        placed(problem)
