"""Fair, Capacity, delay, FIFO and LARTS: whose turn it is, which job gets the slot, and where reduces go."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from policy_cases import first_answers, first_view, order, posed
from transmission_instances import example, instances

from optsched.core.instance import (
    FINISHED,
    MAP,
    PENDING,
    REDUCE,
    Cluster,
    Instance,
    Ragged,
    Shuffle,
    State,
    Topology,
    Workload,
)
from optsched.core.placement import NONE
from optsched.heuristics import run
from optsched.heuristics.fair import CapacityPolicy, DelayPolicy, FairPolicy, fifo, hadoop_delay, larts
from optsched.heuristics.running.base import Offer, View
from optsched.instances.files import load
from optsched.problems import FlowCongestion, Lsap
from optsched.problems.transmission_reduces import TransmissionReduces

HOPS = Topology("hops", hops={"node": 0.0, "rack": 2.0, "off_rack": 4.0})


def _reduces(jobs: list[int]) -> TransmissionReduces:
    """Reduces of these jobs on two nodes of three slots; a map on each node has sent 1 MB to each."""
    cluster = Cluster(["a", "b"], reduce_slots=[3, 3], topology=HOPS)
    count = len(jobs)
    maps = [job for job in sorted(set(jobs)) for _ in cluster.node_ids]
    pairs = [(count + number, task) for number, job in enumerate(maps) for task in range(count) if jobs[task] == job]
    workload = Workload(
        [f"R{task}" for task in range(count)] + [f"M{number}" for number in range(len(maps))],
        kind=[REDUCE] * count + [MAP] * len(maps),
        job=jobs + maps,
        job_ids=[f"j{job}" for job in sorted(set(jobs))],
        shuffle=Shuffle([sender for sender, _ in pairs], [to for _, to in pairs], [1.0] * len(pairs)),
    )
    node = [-1] * count + [number % 2 for number in range(len(maps))]
    status = [PENDING] * count + [FINISHED] * len(maps)
    return TransmissionReduces(Instance(cluster, workload, State.initial(cluster, workload, status=status, node=node)))


def congested(reduces: int, slots: list[int]) -> FlowCongestion:
    """So many reduces of a job with one map, on nodes with these reduce slots."""
    rates = {"rate_in": [85] * len(slots), "rate_out": [85] * len(slots)}
    cluster = Cluster(["a", "b"][: len(slots)], slots=[1] * len(slots), reduce_slots=slots, **rates)
    tasks = {"kind": [REDUCE] * reduces + [MAP], "job": [0] * (reduces + 1), "rate_in": [1.0] * (reduces + 1)}
    sent = Shuffle([reduces] * reduces, list(range(reduces)), [1.0] * reduces)
    names = [f"t{task}" for task in range(reduces + 1)]
    return FlowCongestion(Instance(cluster, Workload(names, **tasks, job_ids=["J"], shuffle=sent)))


def answers(policy: Any, view: View, nodes: list[int], kind: str = "map", free: int = 1) -> list[int | None]:
    """What a policy answers to offers of these nodes, none of which is ever taken."""
    policy.start(view, np.random.default_rng(0))
    shown = [policy.offer(Offer(0.0, node, kind, free), view) for node in nodes]
    return [answer[0] if answer else None for answer in shown]


class TestFair:
    """Delay scheduling within fair shares."""

    def test_defaults_of_hadoop_1(self) -> None:
        """Tests that the delay is 1.5 heartbeats of every node a level, rounded up, and that a heartbeat fills a node.

        In Hadoop 1.2.1 `mapred.fairscheduler.locality.delay` is 1.5 heartbeat intervals where it is not set, and
        `mapred.fairscheduler.assignmultiple` is true.
        """
        assert [hadoop_delay(nodes) for nodes in (3, 15, 60)] == [5, 23, 90]
        assert FairPolicy().fills_nodes
        assert not FairPolicy(assign="single").fills_nodes
        view = first_view(posed([0], [0], [1.0], replicas=[[0]]))  # on three nodes
        assert answers(FairPolicy(), view, [2] * 11, free=9) == [None] * 10 + [0]

    def test_a_start_in_the_heartbeat_is_no_skip(self) -> None:
        """Tests that a job that starts one map and then has none for the node's next slot has not been skipped."""
        view = first_view(posed([0, 0], [0], [1.0], replicas=[[0], [2]]))
        policy = FairPolicy(delay=1)
        assert order(policy, view, 2) == [0]
        assert policy.offer(Offer(0.0, 1, "map", 9), view) == (), "no heartbeat was skipped before this one"
        assert policy.offer(Offer(0.0, 1, "map", 9), view) == (), "one: the rack will do, but holds nothing"
        assert policy.offer(Offer(0.0, 1, "map", 9), view) == (1,)

    @pytest.mark.parametrize(("tasks", "most"), [(6, 2), (7, 3), (27, 9), (30, 9)])
    def test_a_node_gets_no_more_than_its_part(self, tasks: int, most: int) -> None:
        """Tests the cap of Hadoop's load manager on three nodes of nine slots: a third of the tasks, rounded up."""
        problem = posed([0] * tasks, [0], [1.0], replicas=[[0, 1, 2]] * tasks)
        for seed in range(3):
            nodes = run(problem, "fair", seed).raise_if_failed().nodes
            assert np.bincount(nodes[nodes >= 0], minlength=3).max() == most
        view = first_view(posed([0] * 6, [0], [1.0]))
        assert len(order(FairPolicy(assign="single"), view, 6)) == 6

    def test_cap_of_reduces(self) -> None:
        """Tests that reduces are capped where they may share a node, and not where those of a job may not.

        On two nodes of four slots the two reduces of a job, the only ones, may both go to the first node that beats if
        nothing bars them; the cap gives each node one. Of four reduces a cap of two could bar a job from the one
        node that is open to it.
        """
        for seed in range(5):
            nodes = run(congested(2, [4, 4]), "fair", seed).raise_if_failed().nodes
            assert sorted(nodes[:2].tolist()) == [0, 1]
            result = run(_reduces([0, 1, 2, 2]), "fair", seed)
            assert not result.starved, "a cap of two would leave a reduce of the last job without a node"


class TestCapacity:
    """The job of the queue whose data is nearest to the slot."""

    def test_a_queue_that_is_behind_goes_before_locality(self) -> None:
        """Tests that shares count before locality: the queue without a running task takes an off-rack one."""
        view = first_view(posed([0, 0, 1], [0, 1], [1.0, 1.0], running=(0,), replicas=[[0], [0], [2]]))
        assert order(CapacityPolicy(), view, 2) == [2, 1]

    @pytest.mark.parametrize(("delay", "passes"), [(0, 0), (2, 2), ("auto", 3)])
    def test_reduces_wait_for_their_data(self, delay: Any, passes: int) -> None:
        """Tests that a job lets so many offers pass of nodes with nothing for it, and takes most MB where there is."""
        cluster = Cluster(["a", "b", "c"], reduce_slots=[1] * 3, topology=HOPS)
        jobs = {"kind": [MAP, REDUCE, REDUCE], "job": [0] * 3, "job_ids": ["J"]}
        workload = Workload(["M", "R1", "R2"], **jobs, shuffle=Shuffle([0, 0], [1, 2], [50.0, 50.0]))
        running = {"status": [1, 0, 0], "node": [2, -1, -1], "emitted": [5.0, 9.0]}  # all of it on c
        view = first_view(TransmissionReduces(Instance.initial(cluster, workload, **running)))
        nodes = [0] * (passes + 1) + [2] * bool(delay)
        assert answers(CapacityPolicy(delay), view, nodes, "reduce") == [None] * passes + [1] + [2] * bool(delay)


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


@pytest.mark.parametrize(
    ("policy", "posed", "nodes", "expected"),
    [
        # The first D offers without data pass, and the next does not.
        *((DelayPolicy(D=skips), one_job([[3]]), [2] * (skips + 1), [None] * skips + [0]) for skips in (0, 1, 3)),
        # A node with data is taken at once.
        (DelayPolicy(D=5), one_job([[1]]), [0, 1], [None, 0]),
        # A job that takes any slot prefers a task with data in the rack.
        (DelayPolicy(D=0), one_job([[3], [1]]), [0], [1]),
        (DelayPolicy(D=0), one_job([[3], [1]]), [2], [0]),
        # By default as many offers pass as nodes have a free slot.
        (DelayPolicy(), one_job([[3]]), [2] * 4, [None] * 3 + [0]),
        (DelayPolicy(), one_job([[3]], (0, 0, 1)), [2] * 2, [None, 0]),
        # A job that is skipped leaves the offer to the next one by running tasks, and is skipped once by it.
        (DelayPolicy(D=1), one_job([[3], [2]], job=[0, 1]), [2, 2], [1, 0]),
        # The two delays one after another: for the node, and then for the rack.
        (DelayPolicy("two-level", D1=2, D2=1), one_job([[1]]), [0, 0, 0], [None, None, 0]),
        (DelayPolicy("two-level", D1=2, D2=1), one_job([[1]]), [2, 2, 2, 2], [None, None, None, 0]),
        # Where no node has a rack they add up.
        (
            DelayPolicy("two-level", D1=1, D2=2),
            Lsap(Instance(Cluster(["a", "b"]), Workload(["t"], replicas=Ragged.from_rows([[1]])))),
            [0] * 4,
            [None] * 3 + [0],
        ),
    ],
)
def test_offers_that_a_job_lets_pass(policy: Any, posed: Lsap, nodes: list[int], expected: list[int | None]) -> None:
    """Tests what is started on offers of these nodes, one after another, by how long the job waits for its data."""
    assert answers(policy, first_view(posed), nodes) == expected


def test_a_local_start_resets_and_an_off_rack_one_does_not() -> None:
    """Tests that a job keeps taking off-rack slots once it was skipped enough, until it starts a local task."""
    view = first_view(one_job([[3], [3], [0], [3]]))
    one, other, waits, *rest = answers(DelayPolicy(D=2), view, [2, 2, 2, 2, 0, 2, 2, 2])
    assert (one, other) == (None, None)
    assert rest[1:4] == [2, None, None]
    assert {waits, rest[0], rest[4]} == {0, 1, 3}


def test_reduces_are_drawn_at_random() -> None:
    """Tests that a reduce slot gets any reduce of the job, but none where the job runs one already."""
    taken = first_answers(TransmissionReduces(example((2, 1))), DelayPolicy(), 0, "reduce", 40)
    assert set(taken) == {(2,), (3,)}


@pytest.mark.parametrize(
    ("policy", "waits"),
    [
        (DelayPolicy(D=7), 7),
        (DelayPolicy("two-level", D1=3, D2=4), 7),
        (DelayPolicy("two-level", D1=3), 3 + 9),
        (DelayPolicy("two-level", D1="hadoop", D2=1), hadoop_delay(4) + 1),
        (CapacityPolicy(reduce_delay=7), 7),
        (CapacityPolicy(), 9),
    ],
)
def test_rounds_that_a_job_waits(policy: Any, waits: int) -> None:
    """Tests that all delays count: fixed ones, the longest of a job, none before any, and Hadoop's of the nodes."""
    policy.start(first_view(one_job([[0], [1]])), np.random.default_rng(0))
    if waits == 9:
        policy._auto = {}
        assert policy.waits_rounds == 0
    policy._auto = {0: 5, 1: 9, 2: 4}
    assert policy.waits_rounds == waits


# FIFO and LARTS -------------------------------------------------------------------------------------------------------

RNG = np.random.default_rng(0)


class TestFifo:
    """Jobs by arrival, each task as near its block as the slots allow when its turn comes."""

    def test_fills_the_first_node(self) -> None:
        """Tests that with separate storage, in no rack, FIFO fills node after node (Hsu and Freeh, note 10)."""
        cluster = Cluster(["a", "b", "s"], slots=[3, 3, 0])
        workload = Workload([f"t{task}" for task in range(4)], replicas=Ragged.from_rows([[2]] * 4))
        assert fifo(Lsap(Instance(cluster, workload)), RNG).nodes.tolist() == [0, 0, 0, 1]

    def test_skips_what_does_not_wait(self) -> None:
        """Tests that jobs are looked up through the pending tasks, not through all tasks of the instance."""
        cluster = Cluster(["a", "b"])
        workload = Workload(["t0", "t1", "t2"], job=[0, 0, 1], job_ids=["late", "early"], arrival=[5.0, 1.0])
        state = State.initial(cluster, workload, status=[2, 0, 0], node=[0, -1, -1])
        assert fifo(Lsap(Instance(cluster, workload, state)), RNG).nodes.tolist() == [NONE, 1, 0]

    def test_reduces_where_no_rule_bars_them(self) -> None:
        """Tests that in `flow-congestion` reduces of a job share a node, and maps and reduces have their own slots."""
        cluster = Cluster(["a", "b"], slots=[1, 1], reduce_slots=[2, 1], rate_in=[85, 85], rate_out=[85, 85])
        workload = Workload(
            ["R1", "M1", "R2", "R3"], kind=[1, 0, 1, 1], job=[0] * 4, job_ids=["J"], rate_in=[1.0] * 4,
            replicas=Ragged.from_rows([[], [1], [], []]),
        )  # fmt: skip
        problem = FlowCongestion(Instance(cluster, workload))
        assert problem.nodes_of(fifo(problem, RNG)).tolist() == [0, 1, 0, 1]


class TestLarts:
    """Reduces near the node that holds most of what they read."""

    def test_the_node_with_most_then_the_nearest(self) -> None:
        """Tests Shen et al.'s example: both reduces have most input on D2; the second takes the nearest node."""
        problem = TransmissionReduces(example((2, 1)))
        assert problem.nodes_of(larts(problem, RNG)).tolist() == [1, 0]  # D1 and D4 are 4 from D2, D1 has more

    def test_sizes_decide(self) -> None:
        """Tests the estimate (3): by what is emitted M1 has most, by progress M2 has (Shen et al. 2016, II-B.2)."""
        problem = TransmissionReduces(load("papers/pna-estimate"))
        chosen = {
            sizes: int(problem.nodes_of(larts(problem, RNG, sizes=sizes))[0])
            for sizes in ("emitted", "extrapolated", "actual")
        }
        assert chosen == {"emitted": 0, "extrapolated": 1, "actual": 1}


@given(instances())
def test_maps_of_a_problem_of_reduces_stay(instance: Instance) -> None:
    """Tests that where only reduces are placed, waiting maps have no node."""
    if instance.workload.shuffle is not None:
        problem = TransmissionReduces(instance)
        assert problem.violations(fifo(problem, RNG)) == []
