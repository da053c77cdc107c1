"""Delay scheduling: how often a job lets an offer pass, in both forms, and the formulas for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from policy_cases import first_view
from transmission_instances import example

from optsched.errors import UsageError
from optsched.heuristics import run
from optsched.heuristics.delay import DelayPolicy, hadoop_delay
from optsched.instance import RUNNING, Cluster, Instance, Ragged, State, Workload
from optsched.problems import Lsap
from optsched.problems.transmission_reduces import TransmissionReduces
from optsched.running.base import Event, Offer, View


def one_job(replicas: list[list[int]], idle: tuple[int, ...] = (1, 1, 1), **columns: Any) -> Lsap:
    """Nodes a and b in one rack, c in another; d holds data and is never idle."""
    cluster = Cluster(["a", "b", "c", "d"], rack=[0, 0, 1, 1], rack_ids=["r1", "r2"], slots=[9] * 4)
    job = columns.pop("job", [0] * len(replicas))
    workload = Workload(
        [f"t{task}" for task in range(len(replicas))],
        job=job,
        job_ids=[f"j{number}" for number in range(max(job) + 1)],
        replicas=Ragged.from_rows(replicas),
        **columns,
    )
    return Lsap(Instance(cluster, workload, State.initial(cluster, workload, idle_slots=[*idle, 0])))


def answers(policy: DelayPolicy, view: View, nodes: list[int]) -> list[int | None]:
    """What a policy answers to offers of one map slot each, none of which is ever taken."""
    policy.start(view, np.random.default_rng(0))
    told = [policy.offer(Offer(0.0, node, "map", 1), view) for node in nodes]
    return [answer[0] if answer else None for answer in told]


class TestSkipCount:
    """A job without data on the node is skipped D times, and then takes what it gets."""

    @pytest.mark.parametrize("skips", [0, 1, 3])
    def test_skips_so_often(self, skips: int) -> None:
        """Tests that the first D offers without data pass, and the next does not."""
        view = first_view(one_job([[3]]))
        assert answers(DelayPolicy(D=skips), view, [2] * (skips + 1)) == [None] * skips + [0]

    def test_local_at_once(self) -> None:
        """Tests that an offer of a node with data is taken without a skip."""
        assert answers(DelayPolicy(D=5), first_view(one_job([[1]])), [0, 1]) == [None, 0]

    def test_rack_before_any(self) -> None:
        """Tests that a job that takes any slot prefers a task with data in the rack."""
        view = first_view(one_job([[3], [1]]))
        assert answers(DelayPolicy(D=0), view, [0]) == [1]
        assert answers(DelayPolicy(D=0), view, [2]) == [0]

    def test_a_local_start_resets_and_a_remote_one_does_not(self) -> None:
        """Tests that a job keeps taking remote slots once it was skipped enough, until it starts a local task."""
        view = first_view(one_job([[3], [3], [0], [3]]))
        one, other, waits, *rest = answers(DelayPolicy(D=2), view, [2, 2, 2, 2, 0, 2, 2, 2])
        assert (one, other) == (None, None)
        assert rest[1:4] == [2, None, None]
        assert {waits, rest[0], rest[4]} == {0, 1, 3}

    def test_auto_is_a_heartbeat_of_each_free_node(self) -> None:
        """Tests that the default lets as many offers pass as nodes have a free slot."""
        assert answers(DelayPolicy(), first_view(one_job([[3]])), [2] * 4) == [None] * 3 + [0]
        assert answers(DelayPolicy(), first_view(one_job([[3]], (0, 0, 1))), [2] * 2) == [None, 0]

    def test_the_next_job_gets_the_offer(self) -> None:
        """Tests that a skipped job leaves the offer to the next by running tasks, and is skipped once by it."""
        view = first_view(one_job([[3], [2]], job=[0, 1]))
        assert answers(DelayPolicy(D=1), view, [2, 2]) == [1, 0]


class TestTwoLevel:
    """A delay for the node, another for the rack."""

    def test_node_then_rack_then_any(self) -> None:
        """Tests the two delays one after another."""
        view = first_view(one_job([[1], [1], [1]]))
        policy = DelayPolicy("two-level", D1=2, D2=1)
        in_rack, beyond = answers(policy, view, [0, 0, 0]), answers(policy, view, [2, 2, 2, 2])
        assert [answer is None for answer in in_rack] == [True, True, False]
        assert [answer is None for answer in beyond] == [True, True, True, False]

    def test_level_is_kept(self) -> None:
        """Tests that a job that came down to its rack takes the next rack slot at once, and waits D2 for any."""
        view = first_view(one_job([[1]] * 4))
        policy = DelayPolicy("two-level", D1=1, D2=2)
        taken = [answer is not None for answer in answers(policy, view, [2, 0, 0, 2, 2, 2])]
        assert taken == [False, True, True, False, False, True]

    def test_without_racks(self) -> None:
        """Tests that where no node has a rack the two delays add up."""
        cluster = Cluster(["a", "b"])
        problem = Lsap(Instance(cluster, Workload(["t"], replicas=Ragged.from_rows([[1]]))))
        policy = DelayPolicy("two-level", D1=1, D2=2)
        assert answers(policy, first_view(problem), [0] * 4) == [None] * 3 + [0]


def test_reduces_are_drawn_at_random() -> None:
    """Tests that a reduce slot gets any reduce of the job, but none where the job runs one already."""
    view = first_view(TransmissionReduces(example((2, 1))))
    taken = set()
    for seed in range(40):
        policy = DelayPolicy()
        policy.start(view, np.random.default_rng(seed))
        taken.add(policy.offer(Offer(0.0, 0, "reduce", 2), view)[0])
    assert taken == {2, 3}


def test_new_jobs_are_learnt() -> None:
    """Tests that a job that arrives later is served, with a delay of its own."""
    problem = one_job([[0], [3]], job=[0, 1], arrival=[0.0, 7.0])
    result = run(problem, "delay", D=1)
    assert result.raise_if_failed().placed == 2
    assert result.idle_slot_time in (1, 2)  # the first job may have been skipped too


def test_too_long_a_delay_starves() -> None:
    """Tests that a delay beyond what the driver waits for is told as starved."""
    result = run(one_job([[3]]), "delay", D=61, max_idle_rounds=20)
    assert (result.starved, result.rounds, result.idle_slot_time) == (True, 20, 60)
    assert not run(one_job([[3]]), "delay", D=59, max_idle_rounds=20).starved


@pytest.mark.parametrize("wrong", [{"D": -1}, {"D": "long"}, {"form": "three-level"}])
def test_wrong_parameters(wrong: dict[str, Any]) -> None:
    """Tests that delays are whole numbers or auto, and forms have names."""
    with pytest.raises(UsageError):
        run(one_job([[3]]), "delay", **wrong)


def test_notified_starts_count() -> None:
    """Tests that the job with fewer running tasks goes first once the other has started one."""
    view = first_view(one_job([[0], [0], [0]], job=[0, 0, 1]))
    policy = DelayPolicy()
    policy.start(view, np.random.default_rng(0))
    assert policy.offer(Offer(0.0, 0, "map", 3), view)[0] in (0, 1)
    view.status.base[0] = RUNNING  # type: ignore[index]
    policy.notify(Event(0.0, "task-started", 0), view)
    assert policy.offer(Offer(0.0, 0, "map", 2), view) == (2,)


def test_rounds_that_a_job_waits() -> None:
    """Tests that the delays of both levels count: fixed ones, the longest of a job, and Hadoop's of the nodes."""
    view = first_view(one_job([[0], [1]]))
    for given, waits in (
        ({"D": 7}, 7),
        ({"form": "two-level", "D1": 3, "D2": 4}, 7),
        ({"form": "two-level", "D1": 3}, 3 + 9),
        ({"form": "two-level", "D1": "hadoop", "D2": 1}, hadoop_delay(len(view.cluster)) + 1),
    ):
        policy = DelayPolicy(**given)
        policy.start(view, np.random.default_rng(0))
        policy._auto = {0: 5, 1: 9, 2: 4}
        assert policy.waits_rounds == waits
