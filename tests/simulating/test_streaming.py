"""Workloads in portions: the runs are those of the whole, task by task, and what has ended is held no more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from timed_workloads import arriving

from optsched.errors import HeuristicFailed, UsageError
from optsched.heuristics import HEURISTICS, Offer, Policy, View
from optsched.instance import FINISHED, Cluster, Instance, Pairs, Shuffle, Workload
from optsched.simulating import EveryRound, simulate
from optsched.simulating.streaming import joined, portions, simulate_stream


class First(Policy):
    """The first task that waits."""

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        first: list[int] = view.pending_of(offer.kind)[:1].tolist()
        return first


class Looking(First):
    """Looks at what maps send, which is known of the whole workload, also where it is nothing."""

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        assert view.shuffle is not None
        return super().offer(offer, view)


class Failing:
    """Cannot be offered anything."""

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        raise ValueError("no")


def spread(seed: int, jobs: int = 6, apart: float = 300.0, reduces: int = 5) -> Instance:
    """A workload with pauses in which nothing waits, in order of arrival; maps send to reduces of their own job."""
    instance = arriving(seed, jobs=jobs, reduces=reduces)
    rng = np.random.default_rng(seed)
    arrival = np.cumsum(rng.choice([0.0, 7.0, apart], jobs))
    sent, job = instance.workload.shuffle, instance.workload.job
    if sent is not None:
        own = job[sent.map] == job[sent.reduce]
        sent = Shuffle(sent.map[own], sent.reduce[own], sent.size[own])
    workload = replace(instance.workload, arrival=arrival, shuffle=sent)
    whole = Instance(instance.cluster, workload, name="spread")
    return joined(portions(whole, 1))


def same_rows(one: pd.DataFrame, other: pd.DataFrame, by: list[str]) -> None:
    """Check that two frames have the same rows, in whatever order."""
    ordered = [frame.sort_values(by).reset_index(drop=True) for frame in (one, other)]
    pd.testing.assert_frame_equal(*ordered, check_dtype=False)


POLICIES = sorted(name for name, entry in HEURISTICS.items() if entry.online)
ROUNDS = [pytest.param(EveryRound(name, period=7), id=f"rounds of {name}") for name in ("lsap-sched", "sequential")]


@pytest.mark.parametrize("policy", [*POLICIES, *ROUNDS])
def test_a_workload_in_portions_runs_as_the_whole(policy: Any) -> None:
    """Tests rows of jobs and of events of every policy against those of the run on all portions at once.

    `dl` draws maps from a list in which those that have started stay until they are drawn, so it draws otherwise.
    """
    dropped = 0
    for seed in range(3):
        whole = spread(seed, reduces=9)
        assert whole.workload.shuffle is not None
        due = simulate(whole, policy, seed=seed)
        jobs: list[pd.DataFrame] = []
        events: list[pd.DataFrame] = []
        run = simulate_stream(portions(whole, 1), policy, seed=seed, jobs=jobs.append, events=events.append)
        dropped += run.most_held < len(whole.workload)
        figures = due.record_of()
        assert [getattr(run, name) for name in COUNTED] == [figures[name] for name in COUNTED]
        if policy == "dl":
            continue
        same_rows(pd.concat(jobs), due.jobs, ["job_id"])
        pd.testing.assert_frame_equal(pd.concat(events, ignore_index=True), due.events, check_dtype=False)
        assert run.makespan == pytest.approx(figures["makespan"])
        assert run.mean_job_time == pytest.approx(figures["mean_job_time"])
        assert run.longest_job_time == pytest.approx(figures["longest_job_time"])
        assert (run.locality, run.offers) == (due.locality, due.offers)
    assert dropped


#: What is counted in a run.
COUNTED = ("tasks", "ended", "jobs", "jobs_ended", "unfinished")


@pytest.mark.parametrize("jobs", [1, 2, 5])
@pytest.mark.parametrize(
    "rules", [{"heartbeat": 0}, {"assign": "one", "slowstart": 1.0}, {"service": "recorded"}], ids=str
)
def test_portions_of_any_size_under_any_rules(jobs: int, rules: dict[str, Any]) -> None:
    """Tests jobs against the whole run where portions come while tasks wait, run, are held or are late."""
    for seed in range(4):
        whole = spread(seed, apart=20)
        due = simulate(whole, "fair", seed=seed, **rules)
        rows: list[pd.DataFrame] = []
        run = simulate_stream(portions(whole, jobs), "fair", seed=seed, jobs=rows.append, **rules)
        same_rows(pd.concat(rows), due.jobs, ["job_id"])
        assert (run.offers, run.unfinished) == (due.offers, due.unfinished)


@pytest.mark.parametrize("policy", ["probabilistic", "least-cost", "coupling", ROUNDS[-1], Looking])
def test_portions_in_which_nothing_is_sent(policy: Any) -> None:
    """Tests that policies that weigh shuffles go on where jobs without any come once all others have been dropped."""
    whole = spread(2, apart=2000, reduces=9)
    sent = whole.workload.shuffle
    assert sent is not None
    early = sent.map < np.flatnonzero(whole.workload.job == 2)[0]
    assert early.any()
    rest = Shuffle(sent.map[early], sent.reduce[early], sent.size[early])
    arrival = 2000.0 * np.arange(len(whole.workload.job_ids))
    whole = Instance(whole.cluster, replace(whole.workload, arrival=arrival, shuffle=rest), name="spread")
    due = simulate(whole, policy)
    rows: list[pd.DataFrame] = []
    run = simulate_stream(portions(whole, 1), policy, jobs=rows.append)
    same_rows(pd.concat(rows), due.jobs, ["job_id"])
    assert run.most_held < len(whole.workload)


def test_shuffles_that_follow_one_another() -> None:
    """Tests what maps send in portions as one workload, where a portion sends nothing, first, last or between."""
    cluster = Cluster(["a"])

    def part(job: int, sends: bool) -> Instance:
        sent = Shuffle([0], [1], [job + 0.5]) if sends else None
        names = [f"m{job}", f"r{job}"]
        return Instance(
            cluster,
            Workload(names, kind=[0, 1], job=[0, 0], job_ids=[f"j{job}"], arrival=[job], duration=[1, 1], shuffle=sent),
        )

    for sends in ([True, False, True], [False, True, True], [True, True, False], [False, True, False]):
        sent = joined(part(job, given) for job, given in enumerate(sends)).workload.shuffle
        assert sent is not None
        due = [(2 * job, 2 * job + 1, job + 0.5) for job, given in enumerate(sends) if given]
        assert list(zip(sent.map.tolist(), sent.reduce.tolist(), sent.size.tolist(), strict=True)) == due
    assert joined([part(0, False), part(1, False)]).workload.shuffle is None


def test_what_is_held_does_not_grow_with_what_ran() -> None:
    """Tests that of many jobs, one after another, few are held, and a run that stops tells of what is left."""
    cluster = Cluster(["a"])

    def day(count: int) -> Iterator[Instance]:
        for job in range(count):
            names = [f"t{job}-{task}" for task in range(3)]
            yield Instance(
                cluster, Workload(names, job=[0] * 3, job_ids=[f"j{job}"], arrival=[20 * job], duration=[4] * 3)
            )

    run = simulate_stream(day(200), First)
    assert (run.ended, run.jobs_ended, run.most_held, run.unfinished) == (600, 200, 3, "")
    assert repr(run) == "<Streamed run of tests.simulating.test_streaming:First: 600 of 600 tasks ran>"
    # On one slot something always waits under delay scheduling, as no map has data.
    assert simulate_stream(day(20), "fair").most_held == 60
    assert simulate_stream(day(20), "fair", exact=False).most_held < 40
    rows: list[pd.DataFrame] = []
    stopped = simulate_stream(day(200), First, heartbeat=0, until=45, jobs=rows.append)
    assert (stopped.unfinished, stopped.jobs, stopped.jobs_ended) == ("stopped at 45 s, as asked", 3, 2)
    assert pd.concat(rows)["success"].tolist() == [True, True, False]
    assert simulate_stream(day(1), "fair", until=0).mean_job_time is None


class Following(First):
    """Knows beforehand."""

    def appointments(self, instance: Instance) -> list[tuple[int, int]]:
        return []


def test_portions_that_do_not_go_on() -> None:
    """Tests each thing that a portion may not have, told with its number, and who wants it all."""
    cluster, other = Cluster(["a"]), Cluster(["b"])
    fields: dict[str, Any] = {"job": [0], "job_ids": ["j"], "arrival": [5], "duration": [4]}
    first = Instance(cluster, Workload(["t"], **fields))
    runs = replace(first.state, status=np.array([FINISHED]), node=np.array([0]))
    two: dict[str, Any] = {"job": [0, 1], "job_ids": ["j", "k"], "duration": [1, 1]}
    for second, told in (
        (first.with_state(runs), "tasks that do not wait"),
        (Instance(cluster, Workload(["t"], duration=[4])), "tasks without a job"),
        (Instance(cluster, Workload(["t"], **fields | {"arrival": [np.nan]})), "jobs without an arrival"),
        (Instance(cluster, Workload(["t", "u"], arrival=[8, 6], **two)), "jobs that are not in order of arrival"),
        (
            Instance(cluster, Workload(["t", "u"], arrival=[6, 8], **two | {"job": [1, 0]})),
            "jobs that are not in order",
        ),
        (
            Instance(cluster, Workload(["t"], **fields | {"arrival": [4]})),
            "jobs that arrive before those of the portion",
        ),
        (Instance(other, Workload(["t"], **fields)), "other nodes or groups than the portion before"),
        (
            Instance(cluster, Workload(["t"], **fields, job_group=[0], group_ids=["g"])),
            "other nodes or groups than the portion before",
        ),
        (
            Instance(
                cluster, Workload(["t", "u"], **two, arrival=[5, 6], kind=[0, 1], shuffle=Shuffle([0], [1], [3.0]))
            ),
            "maps that send to reduces of other jobs",
        ),
        (Instance(cluster, Workload(["t"], **fields, pairs=Pairs(cost=np.ones((1, 1))))), "pairs"),
    ):
        with pytest.raises(UsageError, match=f"portion 2 of the workload has {told}"):
            simulate_stream([first, second], "dl")
    late = Instance(cluster, Workload(["t"], **fields | {"arrival": [4]}), name="noon")
    with pytest.raises(UsageError, match='portion 2 of the workload, "noon", has jobs that arrive before'):
        simulate_stream([first, late], "dl")
    with pytest.raises(UsageError, match="give at least one portion of the workload"):
        simulate_stream([], "dl")
    with pytest.raises(UsageError, match="simulate_stream takes portions of a workload, not"):
        simulate_stream(first, "dl")
    with pytest.raises(UsageError, match="portion 2 of the workload is an instance, not an int"):
        simulate_stream([first, 5], "dl")
    with pytest.raises(UsageError, match="until=nan: give a finite number"):
        simulate_stream([first], "dl", until=float("nan"))
    with pytest.raises(UsageError, match=r"service: Rates keeps tasks that run, .*; take levels or recorded"):
        simulate_stream([first], "dl", "rates")
    with pytest.raises(UsageError, match="Following knows the whole workload beforehand; simulate it at once"):
        simulate_stream([first], Following)
    with pytest.raises(HeuristicFailed, match="raised ValueError: no"):
        simulate_stream([first], Failing)


def test_portions_of_one_instant() -> None:
    """Tests that jobs of one instant arrive together also where they are in different portions."""
    cluster = Cluster(["a", "b"])
    fields: dict[str, Any] = {"job": [0], "duration": [4], "arrival": [5]}
    parts = [Instance(cluster, Workload([f"t{job}"], job_ids=[f"j{job}"], **fields)) for job in range(3)]
    events: list[pd.DataFrame] = []
    assert simulate_stream(parts, "dl", events=events.append).ended == 3
    assert pd.concat(events)["event"].tolist()[:4] == ["job-arrived"] * 3 + ["task-started"]
