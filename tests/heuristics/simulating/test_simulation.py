"""What came of a run: snapshots in between, decisions, and Little's law."""

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from over_time import arriving
from policy_cases import FIRST

from optsched.core.errors import UsageError
from optsched.core.instance import FINISHED, PENDING, RUNNING, Cluster, Instance, Ragged, State, Workload
from optsched.core.placement import MICRO
from optsched.heuristics.running.course import NEVER, Service
from optsched.heuristics.simulating import simulate
from optsched.heuristics.simulating.engine import STARTED
from optsched.heuristics.simulating.rates import Rates
from optsched.heuristics.simulating.services import Transfer
from optsched.instances.generate import generate
from optsched.problems import Lsap


@pytest.mark.parametrize("seed", range(2))
def test_snapshots_are_what_observers_saw(seed: int) -> None:
    """Tests each decision's snapshot against the one that the engine itself made while the decision was observed."""
    seen: list[tuple[Instance, tuple[int, ...]]] = []

    def observe(time: float, stage: Any, decision: Any) -> None:
        if decision.tasks:
            seen.append((decision.before.instance, decision.tasks))

    run = simulate(arriving(seed), "fair", seed=seed, observers=[observe])
    made = iter(seen)
    for position, time, node, tasks in run.decisions():
        first, started = next(made)
        assert run.snapshot(position, time).sha256 == first.sha256
        started_by = list(started)
        while len(started_by) < len(tasks):
            started_by += next(made)[1]
        assert started_by == tasks.tolist()
        assert (run.schedule.nodes[tasks] == node).all()
    assert next(made, None) is None


def test_snapshots_at_times() -> None:
    """Tests what waits, runs and has ended at some times, one or several, and that none is before the beginning."""
    run = simulate(arriving(5), "delay")
    begin, middle, end = run.snapshots([0, 30, 10**6])
    assert begin.sha256 == run.snapshots(0)[0].sha256
    assert len(end.workload) == len(run.instance.workload)
    assert (end.state.status == FINISHED).all()
    assert (end.state.idle_slots == end.cluster.slots).all()
    ends = dict(zip(run.instance.workload.task_ids.tolist(), run.end.tolist(), strict=True))
    for task, status in zip(middle.workload.task_ids.tolist(), middle.state.status.tolist(), strict=True):
        assert (status == FINISHED) == (ends[task] <= 30 * MICRO)
    assert {PENDING, RUNNING, FINISHED} == set(middle.state.status.tolist())
    assert Lsap(middle).instance.time == 30
    with pytest.raises(UsageError, match="a snapshot at -1 s: the run begins at 0 s"):
        run.snapshots(-1)


@pytest.mark.parametrize("policy", ["fair", "dl", "probabilistic"])
def test_littles_law(policy: str) -> None:
    """Tests that the times of jobs in the system sum up to the integral of how many there are, to the microsecond."""
    for seed in range(4):
        run = simulate(arriving(seed, jobs=5), policy, seed=seed)
        jobs = run.job_parts
        ended = np.full(len(jobs), -NEVER)
        np.maximum.at(ended, jobs.of_task, run.end)
        changes = sorted([(at, 1) for at in jobs.arrival.tolist()] + [(at, -1) for at in ended.tolist()])
        area, there = 0, 0
        for (at, change), (later, _) in pairwise(changes):
            there += change
            area += there * (later - at)
        assert area == int((ended - jobs.arrival).sum())
        assert run.jobs["turnaround_time"].sum() == pytest.approx(area / MICRO)


def test_nothing_to_do() -> None:
    """Tests an instance without tasks, and one on which nothing is left to do."""
    empty = simulate(Instance(Cluster(["a"]), Workload([])), "fair")
    assert (empty.unfinished, len(empty.record), list(empty.decisions()), empty.last) == ("", 0, [], 0)
    assert len(empty.jobs) == len(empty.tasks) == len(empty.events) == 0
    assert len(empty.nodes) == 1
    instance = arriving(0)
    state = replace(instance.state, status=np.full(len(instance.workload), FINISHED))
    assert len(simulate(instance.with_state(state), "fair").jobs) == 0


def test_what_ran_before_is_in_the_tables() -> None:
    """Tests that a task that ran at the beginning has its own start, and is no part of the schedule."""
    workload = Workload(["t", "u"], duration=[9, 2], job=[0, 1], job_ids=["a", "b"], arrival=[1, 0])
    cluster = Cluster(["n"])
    state = State.initial(
        cluster, workload, time=4, idle_slots=[0], status=[RUNNING, PENDING], node=[0, -1], start=[2, np.nan]
    )
    run = simulate(Instance(cluster, workload, state), "dl", heartbeat=0)
    assert run.schedule.nodes.tolist() == [-1, 0]
    times = run.jobs[["starting_time", "finish_time", "turnaround_time"]]
    assert times.to_numpy().tolist() == [[2, 11, 10], [11, 13, 13]]
    assert [what for _, what, *_ in run.record.tolist()].count(STARTED) == 1


def reported(instance: Instance) -> tuple[dict[str, float], dict[tuple[str, str], float]]:
    """What is known of each running map: MB that it has read, and that it has given out to each reduce."""
    names, state, shuffle = instance.workload.task_ids.tolist(), instance.state, instance.workload.shuffle
    runs = np.flatnonzero(state.status == RUNNING).tolist()
    read = {names[task]: float(state.bytes_read[task]) for task in runs if not np.isnan(state.bytes_read[task])}
    given = {}
    if shuffle is not None:
        for entry in np.flatnonzero(state.status[shuffle.map] == RUNNING).tolist():
            key = names[shuffle.map[entry]], names[shuffle.reduce[entry]]
            given[key] = float(state.emitted[entry])
    return read, {key: emitted for key, emitted in given.items() if not np.isnan(emitted)}


@pytest.mark.parametrize("heartbeat", [3, 0])
@pytest.mark.parametrize(
    ("made", "service"),
    [
        (lambda: generate("shen-run", batch=3, divide=40), lambda: Transfer(scale=0.01)),
        (lambda: generate("hsu-run"), Rates),
    ],
    ids=["transfer", "rates"],
)
def test_snapshots_show_what_observers_saw(
    made: Callable[[], Instance], service: Callable[[], Service], heartbeat: float
) -> None:
    """Tests the snapshot of each tenth decision against the state in which its observer saw it taken."""
    seen: dict[tuple[float, int], Instance] = {}

    def observe(time: float, stage: Any, decision: Any) -> None:
        if decision.tasks and (time, decision.offer.node) not in seen:
            seen[time, decision.offer.node] = decision.before.instance

    run = simulate(made(), "fifo", service(), heartbeat=heartbeat, observers=[observe])
    count = 0
    for position, time, node, _ in list(run.decisions())[::10]:
        found = reported(run.snapshot(position, time))
        assert found == reported(seen[time / MICRO, node])
        count += len(found[0]) + len(found[1])
    assert count
    later, earlier = run.snapshots([30, 20])
    assert reported(earlier) == reported(run.snapshots(20)[0]) != reported(later)


#: Columns that mean what they mean in Batsim's `jobs.csv`.
BATSIM = (
    "job_id submission_time requested_number_of_resources success starting_time execution_time finish_time "
    "waiting_time turnaround_time stretch allocated_resources"
)


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
    run = simulate(Instance(cluster, workload), FIRST, heartbeat=0, slowstart=1, until=10)
    jobs = run.jobs.set_index("job_id")
    assert set(BATSIM.split()) <= set(run.jobs.columns)
    counts = jobs.loc["a", ["group", "maps", "reduces", "node_local", "rack_local", "off_rack"]]
    assert counts.tolist() == ["g", 2, 1, 1, 1, 0]
    tasks = run.tasks.set_index("task_id")
    assert tasks["node"].tolist() == ["x"] * 4
    assert tasks["locality"].tolist() == ["node", "rack", "off_rack", "node"]
    assert run.events["event"].tolist()[:2] == ["job-arrived", "task-started"]
    assert run.events["job"].tolist()[0] == "a"
    assert not jobs.loc["b", "success"], "it takes 50 s, and the run ends at 10 s"
    assert math.isnan(jobs.loc["b", "finish_time"])
    assert jobs.loc["b", "allocated_resources"] == "x"
    nodes = run.nodes.set_index("node_id")
    assert nodes["maps"].tolist() == [3, 0]
    assert nodes["map_utilisation"].isna().tolist() == [False, True]
    assert nodes.loc["x", "map_busy"] <= 10
