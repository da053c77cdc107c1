"""Groups, pools and instants of the program over time."""

from typing import Any

import pytest
from over_time import weighed

from optsched.core.errors import TooLarge
from optsched.core.instance import REDUCE
from optsched.instances.files import from_document
from optsched.problems import Makespan, timetable
from optsched.problems.timetable import Timetable
from optsched.solvers.searches.schedules import best_placed


def placed(problem: Any) -> Any:
    """The problem whose program has what is no worse than the best schedule of some that are placed job by job."""
    return problem.within(problem.evaluate(best_placed(problem))[0])


def posed(tasks: list[dict[str, Any]], nodes: list[dict[str, Any]], **more: Any) -> Any:
    """An instance file with the jobs that its tasks name."""
    jobs = [{"id": job} for job in dict.fromkeys(task["job"] for task in tasks if "job" in task)]
    return from_document({"format": "optsched/1", "nodes": nodes, "jobs": jobs, "tasks": tasks, **more})


RACKS = [{"id": name, "rack": rack} for name, rack in zip("abcd", "rrss", strict=True)]


def one_task(times: tuple[int, ...], *replicas: str) -> Timetable:
    """A task with data on some nodes, and its times on its data, in the rack and beyond."""
    named = dict(zip(("node", "rack", "off_rack"), times, strict=True))
    return placed(Makespan(posed([{"id": "t", "replicas": list(replicas), "times": named}], RACKS))).timetable


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


def test_reduces_may_start_their_time_before_maps_end() -> None:
    """Tests that a reduce of 2 s may start so that it ends with the map of 5 s."""
    tasks: list[dict[str, Any]] = [
        {"id": "m", "job": "j", "duration": 5},
        {"id": "r", "job": "j", "kind": "reduce", "duration": 2},
    ]
    table = placed(Makespan(posed(tasks, [{"id": "a", "reduce_slots": 1}]), slowstart=0)).timetable
    pairs = zip(table.groups, table.starts, strict=True)
    assert [starts.tolist() for group, starts in pairs if group.kind == REDUCE] == [[0, 2, 3]]
    assert (table.earliest, table.latest) == ([5], [5])


def test_a_job_without_weight_may_end_when_all_have_run() -> None:
    """Tests that the latest end is that of all tasks in turn where a weight of 0 sets no limit."""
    problem = weighed([4, 4], [1, 0.5])
    assert placed(problem).timetable.latest == [6, 8]
    problem.weights = (1, 0)
    assert placed(problem).timetable.latest == [4, 8]


def test_too_many_instants_and_starts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that times that are too fine are refused with their tick, and too many starts, too."""
    tasks: list[dict[str, Any]] = [{"id": f"t{number}", "duration": 1 + 2.0**-number} for number in range(12)]
    problem = Makespan(posed(tasks, [{"id": "a"}]))
    monkeypatch.setattr(timetable, "MOST_INSTANTS", 500)
    with pytest.raises(TooLarge, match=r"more than 500 instants .* multiples of 1e-06 s and jobs may end until 13.9"):
        _ = placed(problem).timetable
    monkeypatch.setattr(timetable, "MOST_INSTANTS", 10**6)
    monkeypatch.setattr(timetable, "MOST_STARTS", 100)
    with pytest.raises(TooLarge, match="more than 100 ways to start tasks"):
        _ = placed(problem).timetable
