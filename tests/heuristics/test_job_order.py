"""Whose turn it is: pools by their weights, jobs by what runs of them, and maps drawn by where their data are."""

from typing import Any

import numpy as np
import pytest
from policy_cases import barred_case, first_view, order, posed

from optsched.core.instance import MAP, PENDING, RUNNING, Cluster, Instance, Ragged, Workload
from optsched.heuristics.fair import CapacityPolicy, FairPolicy
from optsched.heuristics.job_order import ANYWHERE, NODE, RACK, JobPolicy, WaitingMaps
from optsched.heuristics.running.base import Offer, View
from optsched.problems import Lsap


def drawn(view: View, level: int, node: int, seeds: int = 40) -> set[int | None]:
    """What is drawn first at a level on a node, whatever the seed."""
    found = set()
    for seed in range(seeds):
        maps = WaitingMaps()
        maps.add(view.pending, view)
        found.add(maps.draw(level, node, view, np.random.default_rng(seed)))
    return found


def test_maps_by_where_their_data_are() -> None:
    """Tests that a draw gives every map with data on the node, in its rack, or any, and None where there is none."""
    view = first_view(posed([0] * 4, [0], [1.0], replicas=[[0], [0, 1], [2], []]))
    assert drawn(view, NODE, 0) == {0, 1}
    assert drawn(view, NODE, 1) == {1}
    assert drawn(view, RACK, 1) == {0, 1}
    assert drawn(view, RACK, 2) == {2}
    assert drawn(view, ANYWHERE, 2) == {0, 1, 2, 3}
    maps = WaitingMaps()
    maps.add(view.pending, view)
    assert maps.at(RACK, 0, view) == {0: [0, 1]}, "once, though both nodes of the rack hold a block"
    nothing = first_view(posed([0], [0], [1.0], replicas=[[0]]))
    assert drawn(nothing, NODE, 1) == drawn(nothing, RACK, 2) == {None}


def test_nodes_outside_any_rack_share_none() -> None:
    """Tests that data on a node without a rack are near no other node without one."""
    instance = Instance(Cluster(["a", "b"]), Workload(["t"], replicas=Ragged.from_rows([[0]])))
    view = first_view(Lsap(instance))
    assert drawn(view, NODE, 0) == {0}
    assert drawn(view, RACK, 0) == drawn(view, RACK, 1) == {None}


def test_a_map_is_drawn_once_and_not_after_it_started() -> None:
    """Tests that a map is taken out of its list when it is drawn, and passed over where it has started meanwhile."""
    view = first_view(posed([0] * 3, [0], [1.0], replicas=[[0], [0, 1], [0]]))
    maps, draws = WaitingMaps(), np.random.default_rng(0)
    maps.add(view.pending, view)
    assert {maps.draw(NODE, 0, view, draws) for _ in range(3)} == {0, 1, 2}
    assert maps.draw(NODE, 0, view, draws) is None
    view.status.base[1] = RUNNING
    assert maps.draw(NODE, 1, view, draws) is None
    assert {maps.draw(RACK, 1, view, draws) for _ in range(3)} == {0, 2, None}


def test_a_reduce_bars_its_job_from_the_node() -> None:
    """Tests that where reduces of a job want distinct nodes, one that runs bars the others from its node, not maps."""
    view, policy = first_view(barred_case()), JobPolicy()
    policy.start(view, np.random.default_rng(0))
    assert [list(policy.jobs(Offer(0.0, node, "reduce", 1))) for node in (0, 1)] == [[], [0]]
    assert (policy.reduce_nodes(0), policy.reduce_nodes(-1)) == ([0], [])
    view.status.base[view.workload.kind == MAP] = PENDING
    policy.start(view, np.random.default_rng(0))
    assert [list(policy.jobs(Offer(0.0, 0, kind, 1))) for kind in ("map", "reduce")] == [[0], []]


class TestPools:
    """Groups share by their weights, whichever policy."""

    @pytest.mark.parametrize("policy", [FairPolicy(), CapacityPolicy()])
    def test_by_weight_and_by_what_runs(self, policy: Any) -> None:
        """Tests weights 2 and 1, tasks that run, `running_tasks` of a group, and a weight of 0, which goes last."""
        weighed = first_view(posed([0] * 6 + [1] * 6, [0, 1], [2.0, 1.0]))
        assert [task // 6 for task in order(policy, weighed, 9)] == [0, 1, 0, 0, 1, 0, 0, 1, 0]
        running = first_view(posed([0] * 4 + [1] * 4, [0, 1], [1.0, 1.0], running=(0, 1)))
        assert [task // 4 for task in order(policy, running, 4)] == [1, 1, 0, 1]
        counted = posed([0] * 2 + [1] * 2 + [2] * 2, [0, 1, 2], [1.0, 1.0, 0.0], group_running_tasks=[1, 0, 0])
        assert [task // 2 for task in order(policy, first_view(counted), 6)] == [1, 0, 1, 0, 2, 2]

    def test_jobs_of_a_pool_by_running_tasks(self) -> None:
        """Tests that within a pool the jobs take turns under Fair, and go by arrival under Capacity."""
        jobs = [0, 0, 1, 1]
        fair = order(FairPolicy(), first_view(posed(jobs, [0, 0], [1.0])), 4)
        assert [jobs[task] for task in fair] == [0, 1, 0, 1]
        capacity = order(CapacityPolicy(), first_view(posed(jobs, [0, 0], [1.0])), 4)
        assert [jobs[task] for task in capacity] == [0, 0, 1, 1]

    def test_jobs_without_group_and_tasks_without_job(self) -> None:
        """Tests that they are a pool of weight 1, in which tasks without a job are one job."""
        view = first_view(posed([0, 0, -1, 1], [0, -1], [1.0]))
        assert order(FairPolicy(), view, 4) in ([2, 0, 3, 1], [2, 1, 3, 0])
