"""Schedules by lists: all feasible, no better than the optimum, and the same on every run."""

from __future__ import annotations

import numpy as np
import pytest
from schedule_drawn import document

import optsched
from optsched.core.instance import Instance
from optsched.core.schedule import MICRO
from optsched.instances.files import from_document
from optsched.problems.schedules import ScheduleProblem
from optsched.searches import list_schedules as list_schedules_module
from optsched.searches.enumeration import best_decision
from optsched.searches.list_schedules import ORDERS, list_schedule, list_schedules


def posed(name: str, text: object, **parameters: object) -> ScheduleProblem:
    """A problem over time on an instance file."""
    problem = optsched.problem(name, from_document(text), **parameters)  # type: ignore[arg-type]
    assert isinstance(problem, ScheduleProblem)
    return problem


@pytest.mark.parametrize("name", ["makespan", "job-times"])
def test_lists_are_feasible_and_no_better_than_the_optimum(name: str) -> None:
    """Tests every order and rule on drawn instances with slowstarts, and that some list is the optimum mostly."""
    tried = reached = 0
    for seed in range(90):
        problem = posed(name, document(seed, 4), slowstart=(0, 0.5, 1)[seed % 3])
        best = best_decision(problem)
        found = list(list_schedules(problem))
        assert len(found) == (0 if best is None else 2 * len(ORDERS))
        if best is not None:
            values = [problem.evaluate(schedule) for schedule in found]
            assert min(values) >= best[0]
            tried, reached = tried + 1, reached + (min(values) == best[0])
    assert reached > 0.8 * tried


def document_of(tasks: list[dict[str, object]], nodes: list[dict[str, object]]) -> dict[str, object]:
    """An instance file with the jobs that its tasks name."""
    jobs = [{"id": job} for job in dict.fromkeys(str(task["job"]) for task in tasks)]
    return {"format": "optsched/1", "nodes": nodes, "jobs": jobs, "tasks": tasks}


def test_orders_of_jobs() -> None:
    """Tests that the shorter job goes first by least work, and the longer one by length."""
    tasks: list[dict[str, object]] = [
        {"id": "l", "job": "long", "duration": 9},
        {"id": "s", "job": "short", "duration": 1},
    ]
    problem = posed("job-times", document_of(tasks, [{"id": "a"}]))
    starts = {name: list_schedule(problem, order(problem)).starts.tolist() for name, order in ORDERS.items()}
    assert starts == {
        "arrival": [0, 9 * MICRO],
        "least-work": [MICRO, 0],
        "longest": [0, 9 * MICRO],
    }


def test_reduces_start_so_late_that_they_end_with_the_maps() -> None:
    """Tests that the only slot for reduces serves another job until it is needed."""
    tasks: list[dict[str, object]] = [
        {"id": "m", "job": "j", "duration": 10},
        {"id": "r", "job": "j", "kind": "reduce", "duration": 3},
        {"id": "n", "job": "k", "duration": 0},
        {"id": "o", "job": "k", "kind": "reduce", "duration": 7},
    ]
    problem = posed("job-times", document_of(tasks, [{"id": "a", "slots": 2, "reduce_slots": 1}]), slowstart=0)
    found = list_schedule(problem, np.array([0, 1]))
    assert (found.starts // MICRO).tolist() == [0, 7, 0, 0]
    assert problem.evaluate(found) == (17,)


def test_tasks_wait_for_their_data_or_do_not() -> None:
    """Tests that each of three tasks waits where its data would end it sooner, or takes what is free."""
    tasks: list[dict[str, object]] = [
        {"id": f"t{number}", "job": "j", "replicas": ["a"], "times": {"node": 10, "rack": 25, "off_rack": 25}}
        for number in range(3)
    ]
    problem = posed("makespan", document_of(tasks, [{"id": "a"}, {"id": "b"}]))
    assert isinstance(problem.instance, Instance)
    waiting, taking = (list_schedule(problem, np.array([0]), waits) for waits in (True, False))
    assert (problem.evaluate(waiting), waiting.nodes.tolist()) == ((30,), [0, 0, 0])
    assert (problem.evaluate(taking), taking.nodes.tolist()) == ((25,), [0, 1, 0])


def many_jobs(jobs: int, tasks: int) -> ScheduleProblem:
    """Jobs that arrive one after another, with their data on two of six nodes each."""
    nodes = [{"id": f"n{number}", "rack": f"r{number % 3}", "slots": 2} for number in range(6)]
    text = document_of(
        [
            {
                "id": f"t{number}",
                "job": f"j{number % jobs}",
                "replicas": [f"n{number % 6}", f"n{(number + 1 + number % 4) % 6}"][: 1 + number % 2],
                "times": {"node": 10 + number % 4, "rack": 12 + number % 5, "off_rack": 25},
            }
            for number in range(tasks)
        ],
        nodes,  # type: ignore[arg-type]
    )
    for number, job in enumerate(text["jobs"]):  # type: ignore[arg-type,var-annotated]
        job["arrival"] = number / 4
    return posed("job-times", text)


@pytest.mark.parametrize("jobs", [3, 40])
def test_what_is_remembered_of_jobs_that_wait_changes_nothing(jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests the same schedules where every job is asked at every slot, and that most of the asking is left out."""
    problem, asked = many_jobs(jobs, 120), [0]
    elsewhere = list_schedules_module._Line._sooner_elsewhere

    def counting(*given: object) -> int | None:
        asked[0] += 1
        return elsewhere(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(list_schedules_module._Line, "_sooner_elsewhere", counting)
    found = list(list_schedules(problem))
    few, asked[0] = asked[0], 0
    monkeypatch.setattr(list_schedules_module._Wanting, "wait", lambda *_: None)
    assert list(list_schedules(problem)) == found
    assert 0 < few < asked[0]
