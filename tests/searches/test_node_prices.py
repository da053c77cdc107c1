"""Prices of nodes: no window at them rules out what a schedule attains, and crowded nodes prove more."""

from __future__ import annotations

import random

import numpy as np
import pytest
from over_time import batch, proved

from optsched.certificates import proved_bound
from optsched.certificates.schedules import makespan_certificate
from optsched.core.instance import MAP, Cluster, Instance, Ragged, Workload
from optsched.problems.makespan import Makespan
from optsched.problems.schedule_windows import Window, ruled_out
from optsched.searches import node_prices as module
from optsched.searches.job_placing import JobPlacing
from optsched.searches.node_prices import latest_window, node_prices


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
    assert latest_window(problem, MAP, 0, 40 * 10**6) is None
