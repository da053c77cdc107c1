"""How long tasks take, by locality, against what the format says and against all nodes."""

from __future__ import annotations

import json

import numpy as np
from over_time import FORMS, document, fetching, two_jobs

from optsched.core.schedule import MICRO
from optsched.instances.files import parse
from optsched.problems.makespan import Makespan


def test_times_by_level() -> None:
    """Tests that a task takes its time of the level, its duration times the factor, or its duration without data."""
    instance = two_jobs(times=[[1, 2, 4], [np.nan] * 3, [np.nan] * 3], duration=[np.nan, 10, 10])
    problem = Makespan(instance, factors="1,1.5,3")
    rows, nodes = np.repeat(np.arange(3), 3), np.tile(np.arange(3), 3)
    found = problem.times.on(rows, nodes).reshape(3, 3) / MICRO
    assert found.tolist() == [[1, 2, 4], [10, 15, 30], [10, 10, 10]]
    assert problem.least_times.tolist() == [MICRO, 10 * MICRO, 10 * MICRO]


def test_cheapest_is_the_least_of_all_nodes() -> None:
    """Tests the cheapest node by times and prices against all nodes, where no task is slower near its data."""
    chance = np.random.default_rng(5)
    for seed in range(80):
        text = document(seed)
        for task in text["tasks"]:
            if "times" in task:
                task["times"] = dict(zip(task["times"], sorted(task["times"].values()), strict=True))
        problem = Makespan(parse(json.dumps(text)), factors=(1, 2, 3))
        nodes = len(problem.instance.cluster)
        prices, usable = chance.integers(0, 5, nodes), chance.random(nodes) < 0.8
        found = problem.times.cheapest(prices, usable)
        for row in range(len(problem.tasks)):
            all_nodes = problem.times.on(np.full(nodes, row), np.arange(nodes)) * prices
            assert found[row] == min(all_nodes[usable].tolist(), default=2**60)


def test_all_that_is_asked_of_times() -> None:
    """Tests rows, homes, what is alike, and each level against each task on each node, also where racks are slower."""
    for seed in range(60):
        problem = Makespan(parse(json.dumps(document(seed, 6))), factors=(1, 2, 3))
        times, nodes = problem.times, len(problem.instance.cluster)
        areas = [level.area.tolist() for level in times.near]
        assert [level.name for level in times.near] == ["node", "rack", "off_rack"]
        rows: dict[tuple[int, ...], list[int]] = {}
        for task in range(len(problem.tasks)):
            row = times.on(np.full(nodes, task), np.arange(nodes)).tolist()
            assert times.row(task).tolist() == row
            near = [dict(level.of(task)) for level in times.near]
            assert row == [
                next(held[areas[n][node]] for n, held in enumerate(near) if areas[n][node] in held)
                for node in range(nodes)
            ]
            assert times.homes(task) == problem.replicas[task].tolist()
            assert rows.setdefault(times.alike(task), row) == row
            assert set(row) <= set(times.distinct.tolist())
            assert max(row) <= times.longest[task]
            held, own = times.near[1].of_tasks(np.array([task, task]))
            assert (held[1].tolist(), own[len(held[0]) :].tolist()) == (list(near[1]), list(near[1].values()))


def test_near_and_far_against_all_nodes() -> None:
    """Tests the least time on usable nodes with the data, and that off them no node is quicker than is said."""
    chance, exact = np.random.default_rng(6), 0
    drawn = [Makespan(parse(json.dumps(document(seed))), factors=(1, 2, 3)) for seed in range(80)]
    drawn += [Makespan(fetching(seed, form), service="transfer") for seed in range(8) for form in FORMS]
    for problem in drawn:
        nodes = len(problem.instance.cluster)
        usable = chance.random(nodes) < 0.7
        near, far = problem.times.near_and_far(usable)
        for row in range(len(problem.tasks)):
            times = problem.times.on(np.full(nodes, row), np.arange(nodes))
            holds = np.isin(np.arange(nodes), problem.replicas[row])
            assert near[row] == min(times[usable & holds].tolist(), default=2**60)
            others = min(times[usable & ~holds].tolist(), default=2**60)
            assert far[row] <= others
            exact += far[row] == others
    assert exact > 200
