"""Nodes that are lost for a while: what runs again, what is recorded, and what a snapshot shows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from timed_workloads import arriving

from optsched.errors import UsageError
from optsched.heuristics import HEURISTICS
from optsched.instance import RUNNING, Cluster, Instance, Ragged, State, Workload
from optsched.regrets import regret
from optsched.running.course import NEVER
from optsched.schedule import MICRO
from optsched.simulating import EveryRound, simulate

#: Lost twice and once, and for ever.
LOSSES = [("n1", 5, 20), ("n2", 7.5, 9), ("n1", 40, 61), ("n3", 30, None)]


def test_a_lost_node() -> None:
    """Tests by hand a map that runs again, one whose output is fetched no more and one whose output is still needed."""
    workload = Workload(
        ["m1", "m2", "m3", "r"],
        kind=[0, 0, 0, 1],
        job=[0, 0, 1, 0],
        job_ids=["with", "without"],
        duration=[4, 9, 3, 2],
    )
    instance = Instance(Cluster(["a", "b"], slots=[2, 1], reduce_slots=[0, 1]), workload)

    class OnA:
        """The first that waits, at first on `a` alone."""

        def offer(self, offer: Any, view: Any) -> list[int]:
            first: list[int] = view.pending_of(offer.kind)[:1].tolist()
            return first if offer.node == 0 or offer.kind == "reduce" or offer.time >= 6 else []

    run = simulate(instance, OnA, heartbeat=0, slowstart=0, losses=[("a", 8, 10)])
    # m1 and m2 begin on a at 0; m1 ends at 4, m3 runs from 4 to 7; m1's output is needed, m3's is not.
    assert run.attempts.to_dict("records") == [
        {"task_id": "m1", "job_id": "with", "kind": "map", "node": "a"}
        | {"starting_time": 0, "finish_time": 4, "lost_time": 8},
        {"task_id": "m2", "job_id": "with", "kind": "map", "node": "a"}
        | {"starting_time": 0, "finish_time": pytest.approx(float("nan"), nan_ok=True), "lost_time": 8},
    ]
    assert run.schedule.starts.tolist() == [8 * MICRO, 10 * MICRO, 4 * MICRO, 0]
    assert (run.end / MICRO).tolist() == [12, 19, 7, 19]
    assert run.unfinished == ""
    events = run.events
    assert events["event"].tolist().count("task-returned") == 2
    lost = events[events["event"].isin(["node-lost", "node-back"])]
    assert lost[["time", "node"]].values.tolist() == [[8, "a"], [10, "a"]]
    assert lost["task"].isna().all()


@pytest.mark.parametrize("policy", sorted(name for name, entry in HEURISTICS.items() if entry.online))
@pytest.mark.parametrize("heartbeat", [3, 0])
def test_runs_with_losses(policy: str, heartbeat: float) -> None:
    """Tests for every policy that all ends, nothing on a lost node, and that snapshots are what observers saw."""
    for seed in range(2):
        seen: list[Instance] = []

        def observe(time: float, stage: Any, decision: Any, seen: list[Instance] = seen) -> None:
            if decision.tasks:
                seen.append(decision.before.instance)

        run = simulate(arriving(seed), policy, heartbeat=heartbeat, seed=seed, losses=LOSSES, observers=[observe])
        assert run.unfinished == ""
        assert (run.end < NEVER).all()
        assert (run.end >= run.schedule.starts).all()
        spans = [
            (row.node, row.starting_time, min(row.lost_time, np.nan_to_num(row.finish_time, nan=np.inf)))
            for row in run.attempts.itertuples()
        ] + [(row.node, row.starting_time, row.finish_time) for row in run.tasks.itertuples()]
        for name, lost, back in LOSSES:
            for node, start, end in spans:
                assert node != name or end <= lost or start >= (np.inf if back is None else back)
        first = {(inst.time, int((inst.state.status == RUNNING).sum())): inst for inst in reversed(seen)}
        for position, time, _, _ in run.decisions():
            snapshot = run.snapshot(position, time)
            key = snapshot.time, int((snapshot.state.status == RUNNING).sum())
            assert first[key].sha256 == snapshot.sha256
    with pytest.raises(UsageError, match="regret: nodes were lost in this run"):
        regret(run, "lsap")


def test_rounds_and_runs_without_losses() -> None:
    """Tests rounds, losses after the end, which change nothing, and a run that ends for want of nodes."""
    instance = arriving(1)
    assert simulate(instance, EveryRound("lsap-sched"), losses=LOSSES).unfinished == ""
    plain, later = simulate(instance, "fair"), simulate(instance, "fair", losses=[("n1", 10**6, None)])
    assert np.array_equal(plain.record, later.record)
    assert len(plain.attempts) == 0
    told = simulate(instance, "fair", losses=[(node, 3, None) for node in range(4)]).unfinished
    assert "and no node has a slot for maps" in told


def test_replicas_of_a_lost_node_are_not_read() -> None:
    """Tests that a map takes as long as without them, and that what ran at the beginning runs again."""
    cluster = Cluster(["a", "b", "c"], rack=[0, 0, 1], rack_ids=["r", "s"])
    workload = Workload(["t", "u"], replicas=Ragged.from_rows([[0], []]), times=[[1, 2, 4], [9, 9, 9]])
    state = State.initial(
        cluster, workload, idle_slots=[0, 1, 1], status=[0, 1], node=[-1, 0], start=[np.nan, -3], time=2
    )
    instance = Instance(cluster, workload, state)
    run = simulate(instance, "dl", heartbeat=0, losses=[("a", 2, 5)])
    assert sorted((run.end - run.schedule.starts).tolist()) == [4 * MICRO, 9 * MICRO]
    assert run.attempts[["task_id", "starting_time", "lost_time"]].values.tolist() == [["u", -3, 2]]
    assert run.tasks["starting_time"].tolist() == (run.schedule.starts / MICRO).tolist()
    assert len(run.begun_before) == 0


@pytest.mark.parametrize(
    ("loss", "told"),
    [
        (("n9", 1, 2), 'losses: there is no node "n9"'),
        ((9, 1, 2), "losses: (9, 1, 2); give a node, when it is lost, and when it is back"),
        (("n1", 1), "losses: ('n1', 1); give a node"),
        (("n1", "x", 2), "losses: ('n1', 'x', 2); give a node"),
        (("n1", 2, 2), "a node is lost once the run has begun, and comes back later"),
        (("n1", -1, 2), "a node is lost once the run has begun"),
        (("n1", float("inf"), None), "give a node, when it is lost"),
        (("n1", 1e300, None), "a time is at most 2^53 microseconds"),
        (("n1", 1, 1e12), "a time is at most 2^53 microseconds"),
    ],
)
def test_losses_that_are_none(loss: Any, told: str) -> None:
    """Tests that each is told, and two at once of a node, services that keep tasks, and traces."""
    instance = arriving(0)
    with pytest.raises(UsageError) as caught:
        simulate(instance, "dl", losses=[loss])
    assert told in str(caught.value)
    with pytest.raises(UsageError, match="losses: must be a list, not None; give a node, when it is lost"):
        simulate(instance, "dl", losses=None)
    with pytest.raises(UsageError, match='losses: node "n1" is lost at 4 s, and not yet back then'):
        simulate(instance, "dl", losses=[("n1", 1, 5), ("n1", 4, 6)])
    with pytest.raises(UsageError, match="losses: Transfer keeps tasks that run; take levels or recorded"):
        simulate(instance, "dl", "transfer", losses=[("n1", 1, 5)])
    traced = replace(instance, workload=replace(instance.workload, observed=np.zeros(17, dtype=np.int64)))
    traced = traced.with_state(replace(traced.state, start=np.zeros(17)))
    with pytest.raises(UsageError, match="losses: observed follows a trace"):
        simulate(traced, "observed", losses=[("n1", 1, 5)])
