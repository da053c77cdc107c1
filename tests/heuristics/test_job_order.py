"""Whose turn it is: pools by their weights, jobs by what runs of them, and maps drawn by where their data are."""

import numpy as np
from policy_cases import first_view, order, posed

from optsched.core.instance import Cluster, Instance, Ragged, Workload
from optsched.heuristics.fair import FairPolicy
from optsched.heuristics.job_order import NODE, RACK, WaitingMaps
from optsched.heuristics.running.base import View
from optsched.problems import Lsap


def drawn(view: View, level: int, node: int, seeds: int = 40) -> set[int | None]:
    """What is drawn first at a level on a node, whatever the seed."""
    found = set()
    for seed in range(seeds):
        maps = WaitingMaps()
        maps.add(view.pending, view)
        found.add(maps.draw(level, node, view, np.random.default_rng(seed)))
    return found


def test_nodes_outside_any_rack_share_none() -> None:
    """Tests that data on a node without a rack are near no other node without one."""
    instance = Instance(Cluster(["a", "b"]), Workload(["t"], replicas=Ragged.from_rows([[0]])))
    view = first_view(Lsap(instance))
    assert drawn(view, NODE, 0) == {0}
    assert drawn(view, RACK, 0) == drawn(view, RACK, 1) == {None}


class TestPools:
    """Groups share by their weights, whichever policy."""

    def test_jobs_without_group_and_tasks_without_job(self) -> None:
        """Tests that they are a pool of weight 1, in which tasks without a job are one job."""
        view = first_view(posed([0, 0, -1, 1], [0, -1], [1.0]))
        assert order(FairPolicy(), view, 4) in ([2, 0, 3, 1], [2, 1, 3, 0])
