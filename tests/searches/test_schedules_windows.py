"""Windows that are found prove what is looked for, and no more than the optimum; crowded nodes prove more."""

from __future__ import annotations

import random

import numpy as np
import pytest
from over_time import batch, proved

from optsched.certificates import proved_bound
from optsched.certificates.schedules import makespan_certificate
from optsched.core.instance import MAP, Cluster, Instance, Ragged, Workload
from optsched.instances.files import from_document
from optsched.problems.makespan import Makespan
from optsched.problems.schedule_bounds import Window, ruled_out
from optsched.searches import schedules as module
from optsched.searches.job_placing import JobPlacing
from optsched.searches.schedules import ScheduleSearch, latest_window, node_prices


def crowded(seed: int) -> Makespan:
    """Twenty-four tasks whose data is on two of six nodes, which take three times as long elsewhere."""
    chance = random.Random(seed)
    replicas = [[chance.randrange(2)] for _ in range(24)]
    workload = Workload([f"t{n}" for n in range(24)], replicas=Ragged.from_rows(replicas), times=[[10, 25, 30]] * 24)
    cluster = Cluster([f"n{n}" for n in range(6)], rack=[n % 2 for n in range(6)], rack_ids=["a", "b"])
    return Makespan(Instance(cluster, workload))


def test_prices_of_crowded_nodes_prove_more() -> None:
    """Tests that windows at prices of nodes prove more than at equal ones, and no more than a schedule attains."""
    for seed in range(4):
        problem = crowded(seed)
        placed = JobPlacing(problem).schedule(range(24), np.zeros(24, dtype=bool))
        value = problem.evaluate(placed)[0]
        assert not ruled_out(problem, Window(MAP, 0, 40 * 10**6))
        found = latest_window(problem, MAP, 40 * 10**6, int(value * 10**6))
        assert found is not None
        assert ruled_out(problem, found)
        certificate = makespan_certificate(problem, found)
        assert 40 < certificate.claim <= value
        assert proved_bound(problem, certificate) == certificate.claim


def test_prices_against_enumeration() -> None:
    """Tests that no window at such prices rules out what a schedule attains."""
    for problem, optimum in proved(Makespan, range(40)):
        end = problem.now + int(optimum * 10**6)
        for kind in set(problem.kind.tolist()) if end > problem.now else ():
            window = Window(kind, problem.now, end)
            prices = node_prices(problem, window)
            assert prices is None or not ruled_out(problem, window._replace(prices=prices))


def test_no_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a window without tasks, or a program that is too large, has no prices."""
    problem = Makespan(batch(1))
    assert node_prices(problem, Window(MAP, 10**9, 2 * 10**9)) is None
    monkeypatch.setattr(module, "_ARCS", 10)
    assert node_prices(problem, Window(MAP, 0, 20 * 10**6)) is None


def test_the_latest_window_rules_out_what_it_says() -> None:
    """Tests that the checker agrees, and that some optima are closed so."""
    closed = 0
    for problem, optimum in proved(Makespan, range(60)):
        for kind in sorted(set(problem.kind.tolist())):
            window = latest_window(problem, kind, problem.now, problem.now + int(optimum * 10**6))
            if window is not None:
                assert ruled_out(problem, window)
                closed += makespan_certificate(problem, window).claim == optimum
    assert closed > 5


def test_windows_see_that_tasks_do_not_divide() -> None:
    """Tests that three tasks of 10 s on two slots end at 20 s, where their area is 15 s; in microseconds as well."""
    for length in (10, 10.000003):
        workload = Workload(["t1", "t2", "t3"], duration=[length] * 3)
        problem = Makespan(Instance(Cluster(["a", "b"]), workload))
        window = latest_window(problem, MAP, 0, round(2 * length * 10**6))
        assert window is not None
        assert makespan_certificate(problem, window).claim * 10**6 == round(2 * length * 10**6)


@pytest.mark.parametrize(
    ("maps", "reduces"),
    [
        ([3.001], [5.003, 7.007]),
        ([9.081], [5.585 + number * 1.013 for number in range(9)]),
        pytest.param([9.081], [round(5.585 + number * 1.013, 3) for number in range(14)], marks=pytest.mark.thorough),
    ],
)
def test_bug_times_finer_than_a_step_were_left_open(maps: list[float], reduces: list[float]) -> None:
    """Tests that reduces one after another on a slot are proved, whatever fractions of a second they take."""
    names = [f"m{number}" for number in range(len(maps))] + [f"r{number}" for number in range(len(reduces))]
    kind = ["map"] * len(maps) + ["reduce"] * len(reduces)
    tasks = [
        {"id": name, "job": "j", "kind": what, "duration": time}
        for name, what, time in zip(names, kind, [*maps, *reduces], strict=True)
    ]
    document = {"format": "optsched/1", "name": "fine", "nodes": [{"id": "n"}], "jobs": [{"id": "j"}], "tasks": tasks}
    problem = Makespan(from_document(document), slowstart=1)
    search = ScheduleSearch(problem)
    search.run()
    assert search.closed
    assert proved_bound(problem, search.proof) == search.value
