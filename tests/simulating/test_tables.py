"""Runs as frames."""

from __future__ import annotations

import math
from collections.abc import Sequence

from optsched.instance import Cluster, Instance, Ragged, Workload
from optsched.running.base import Offer, View
from optsched.simulating import simulate

#: Columns that mean what they mean in Batsim's `jobs.csv`.
BATSIM = [
    "job_id",
    "submission_time",
    "requested_number_of_resources",
    "success",
    "starting_time",
    "execution_time",
    "finish_time",
    "waiting_time",
    "turnaround_time",
    "stretch",
    "allocated_resources",
]


class First:
    """The first task that waits."""

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        return view.pending_of(offer.kind)[:1].tolist()


def test_frames_of_a_small_run() -> None:
    """Tests every frame of a run that can be followed by hand: one node, two jobs, a map that is not done in time."""
    workload = Workload(
        ["m1", "m2", "r", "m3"],
        kind=[0, 0, 1, 0],
        job=[0, 0, 0, 1],
        job_ids=["a", "b"],
        job_group=[0, -1],
        group_ids=["g"],
        arrival=[1, 2],
        replicas=Ragged.from_rows([[0], [1], [], [0]]),
        times=[[2, 4, 4], [2, 4, 4], [1, 1, 1], [50, 50, 50]],
    )
    cluster = Cluster(["x", "y"], rack=[0, 0], rack_ids=["k"], slots=[1, 0], reduce_slots=[1, 0])
    run = simulate(Instance(cluster, workload), First, heartbeat=0, slowstart=1, until=10)
    jobs = run.jobs.set_index("job_id")
    assert set(BATSIM) - {"job_id"} <= set(jobs.columns)
    assert jobs.loc["a", ["group", "maps", "reduces", "node_local", "rack_local", "remote"]].tolist() == [
        "g",
        2,
        1,
        1,
        1,
        0,
    ]
    tasks = run.tasks.set_index("task_id")
    assert tasks["node"].tolist() == ["x"] * 4
    assert tasks["locality"].tolist() == ["node", "rack", "remote", "node"]
    assert run.events["event"].tolist()[:2] == ["job-arrived", "task-started"]
    assert run.events["job"].tolist()[0] == "a"
    if jobs.loc["b", "success"]:
        raise AssertionError("it takes 50 s, and the run ends at 10 s")
    assert math.isnan(jobs.loc["b", "finish_time"])
    assert jobs.loc["b", "allocated_resources"] == "x"
    nodes = run.nodes.set_index("node_id")
    assert nodes["maps"].tolist() == [3, 0]
    assert nodes["map_utilisation"].isna().tolist() == [False, True]
    assert nodes.loc["x", "map_busy"] <= 10
