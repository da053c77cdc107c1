"""Services: how long tasks take; compute and fetch by Shen et al.'s example, a queue, and what policies learn."""

import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from over_time import FORMS, driven, fetching, seeds
from policy_cases import answering

from optsched.core.errors import MissingField, UsageError
from optsched.core.instance import (
    FINISHED,
    PENDING,
    Cluster,
    Instance,
    Ragged,
    Shuffle,
    State,
    Topology,
    Workload,
)
from optsched.core.placement import MICRO
from optsched.heuristics.running.base import Offer, View
from optsched.heuristics.simulating import simulate
from optsched.heuristics.simulating.services import (
    Levels,
    Recorded,
    Shuffling,
    Transfer,
    _copied_as_emitted,
    _copied_as_ended,
    unplaced,
)
from optsched.problems.distances import distances
from optsched.problems.job_times import JobTimes
from optsched.problems.makespan import Makespan
from optsched.routes import solve


def test_what_an_instance_does_not_tell() -> None:
    """Tests tasks whose time nobody knows, each told with its field, and factors that are none."""
    instance = Instance(Cluster(["a"]), Workload(["t", "u"], duration=[np.nan, 1]), name="bare")
    with pytest.raises(MissingField, match=r"bare: levels: tasks\[0\]\.times: say how long it takes"):
        Levels().prepare(instance)
    with pytest.raises(MissingField, match=r"bare: recorded: tasks\[0\]\.duration: the trace does not say"):
        Recorded().prepare(instance)
    with pytest.raises(MissingField, match=r"^recorded: "):
        Recorded().prepare(Instance(instance.cluster, instance.workload))
    with pytest.raises(UsageError, match=r"levels: factors=\(1, 2\): give 3 values"):
        Levels((1, 2))
    with pytest.raises(UsageError, match="levels: duration=-1: give a number that is 0 or more"):
        Levels(duration=-1)


def sending(node: int = 1) -> Instance:
    """Two jobs: maps 0, 1 and reduce 2; map 3 and reduce 4, to which map 1 sends as well.

    Map 3 sends to reduce 5, which has no job, twice; map 0 ran on a node.
    """
    cluster = Cluster(["a", "b"])
    workload = Workload(
        ["m0", "m1", "r2", "m3", "r4", "r5"],
        kind=[0, 0, 1, 0, 1, 1],
        job=[0, 0, 0, 1, 1, -1],
        job_ids=["one", "other"],
        shuffle=Shuffle([3, 0, 1, 1, 3, 3], [4, 2, 2, 4, 5, 5], size=np.arange(1.0, 7.0)),
    )
    status, ran = np.full(6, PENDING), np.full(6, -1)
    status[0], ran[0] = FINISHED, node
    return Instance(cluster, workload, State.initial(cluster, workload, status=status, node=ran))


def test_entries_and_maps_that_are_left() -> None:
    """Tests entries by map and by reduce, and how many maps each reduce waits for while they end."""
    shuffling = Shuffling(sending())
    assert [row.tolist() for row in shuffling.of_map] == [[1], [2, 3], [], [0, 4, 5], [], []]
    assert [row.tolist() for row in shuffling.of_reduce] == [[], [], [1, 2], [], [0, 3], [4, 5]]
    assert shuffling.left[[2, 4, 5]].tolist() == [1, 2, 1]  # of their job, and of others that send
    assert shuffling.ready(2).tolist() == [1]
    assert shuffling.ended(1, 0) == [2, 4]
    assert shuffling.left[[2, 4, 5]].tolist() == [0, 1, 1]
    assert (shuffling.ready(4).tolist(), shuffling.node[:2].tolist()) == ([3], [1, 0])
    assert shuffling.ended(3, 0) == [4, 5]
    assert shuffling.left[[2, 4, 5]].tolist() == [0, 0, 0]


def test_without_a_shuffle() -> None:
    """Tests that reduces wait for their maps all the same, and a map without a job holds up nobody."""
    workload = Workload(["m0", "m1", "r2"], kind=[0, 0, 1], job=[0, -1, 0], job_ids=["j"])
    shuffling = Shuffling(Instance(Cluster(["a"]), workload))
    assert (shuffling.ended(1, 0), int(shuffling.left[2])) == ([], 1)
    assert (shuffling.ended(0, 0), int(shuffling.left[2])) == ([2], 0)


def test_maps_that_ended_nobody_knows_where() -> None:
    """Tests that only such maps are reported as still matter."""
    assert [fault.place for fault in unplaced(sending(node=-1))] == ["tasks[0].node"]
    assert not list(unplaced(sending()))


# Compute and fetch ----------------------------------------------------------------------------------------------------

#: Shen et al. 2016, II-B.2: the distances of four nodes, and what two maps send to two reduces.
H = [[0, 4, 2, 8], [4, 0, 10, 4], [2, 10, 0, 6], [8, 4, 6, 0]]


def example(compute: Sequence[float] = (10, 10, 5, 5)) -> Instance:
    """Their example: blocks of 128 MB on D1 and D2; R1 receives 10 and 20 MB, R2 5 and 10."""
    cluster = Cluster(["D1", "D2", "D3", "D4"], topology=Topology("distance", np.array(H, dtype=float)))
    workload = Workload(
        ["M1", "M2", "R1", "R2"],
        kind=[0, 0, 1, 1],
        job=[0, 0, 0, 0],
        job_ids=["j"],
        size=[128, 128, np.nan, np.nan],
        duration=compute,
        replicas=Ragged.from_rows([[0], [1], [], []]),
        shuffle=Shuffle([0, 0, 1, 1], [2, 3, 2, 3], size=[10.0, 5.0, 20.0, 10.0]),
    )
    return Instance(cluster, workload)


#: M1 on D3 and M2 on D2, R1 on D1 and R2 on D3, as in their Figure 2.
FIGURE_2 = [(0, 0, 2), (0, 1, 1), (0, 2, 0), (0, 3, 2)]

#: The same, with reduces that start late.
LATE = [*FIGURE_2[:2], (300 * MICRO, 2, 0), (300 * MICRO, 3, 2)]


def seconds(ends: dict[int, int]) -> list[float]:
    """When each task ended."""
    return [ends[task] / MICRO for task in sorted(ends)]


@pytest.mark.parametrize(
    ("options", "starts", "ends"),
    [
        # Costs of 256 and 0 of the maps; R1 copies 80 s from 10 s on, and 20 s after M1; R2 waits for it.
        ({}, FIGURE_2, [266, 10, 266 + 20 + 5, 266 + 5]),
        # R1 has all copied when M1 ends; if M1 emits only in its last 10 s, it copies for as long.
        ({"shuffle": "emitted"}, FIGURE_2, [266, 10, 266 + 5, 266 + 5]),
        ({"shuffle": "emitted", "reads": "first"}, FIGURE_2, [266, 10, 256 + 20 + 5, 266 + 5]),
        # Reduces that start when all maps have ended: 100 s, their cost by Shen et al.'s (2).
        ({}, LATE, [266, 10, 405, 405]),
        ({"shuffle": "emitted"}, LATE, [266, 10, 405, 405]),
        ({"scale": "0.01"}, FIGURE_2, [12.56, 10, 17.76, 17.56]),
    ],
)
def test_the_example_of_shen(options: dict[str, str], starts: list[tuple[int, int, int]], ends: list[float]) -> None:
    """Tests when each of its tasks ends, by each way to read and to copy."""
    assert seconds(driven(Transfer(**options), example(), starts)) == ends


@pytest.mark.parametrize("form", ["distance", "hops", "rate", "links"])
def test_maps_fetch_from_the_nearest_replica(form: str) -> None:
    """Tests each map on each node against the least distance from a replica, whatever form the distances have."""
    nodes, rng = 6, np.random.default_rng(3)
    matrix = rng.integers(1, 9, (nodes, nodes)).astype(float)
    np.fill_diagonal(matrix, 0 if form == "distance" else 1)
    names = [f"n{number}" for number in range(nodes)]
    topology = {
        "distance": Topology("distance", matrix),
        "rate": Topology("rate", matrix),
        "hops": Topology("hops", hops={"node": 0, "rack": 2, "off_rack": 4}),
        "links": Topology(
            "links", links=[(name, f"sw{place % 2}", 10) for place, name in enumerate(names)] + [("sw0", "sw1", 5)]
        ),
    }[form]
    cluster = Cluster(names, rack=np.arange(nodes) % 2, rack_ids=["r0", "r1"], topology=topology)
    blocks = Ragged.from_rows([[0], [1, 4], [5, 2], []])
    workload = Workload(
        [f"t{task}" for task in range(4)], size=[3, 5, 7, np.nan], times=[[2, 9, 9]] * 4, replicas=blocks
    )
    instance = Instance(cluster, workload)
    away = distances(instance)
    service = Transfer()
    service.prepare(instance)
    for task, holders in enumerate(blocks):
        for node in range(nodes):
            takes = 2 + (workload.size[task] * away[holders, node].min() if len(holders) else 0)
            assert service.started(task, node, 5) == ((task, 5 + round(takes * MICRO)),)


def in_turn(begin: int, ends: list[int], copies: list[int]) -> int:
    """When one has copied from maps, one after another in the order in which they end."""
    time = begin
    for end, copy in sorted(zip(ends, copies, strict=True), key=lambda pair: pair[0]):
        time = max(time, end) + copy
    return time


def as_they_emit(begin: int, since: list[int], until: list[int], copies: list[int]) -> Fraction:
    """When a server that is idle only when nothing has been emitted has copied all."""
    times = sorted({begin, *(time for time in (*since, *until) if time > begin)})

    def emitted(time: int) -> Fraction:
        shares = (min(max(Fraction(time - one, other - one), 0), 1) for one, other in zip(since, until, strict=True))
        return sum((copy * share for copy, share in zip(copies, shares, strict=True)), Fraction(0))

    waits = emitted(begin)
    for before, time in pairwise(times):
        waits = max(Fraction(0), waits + emitted(time) - emitted(before) - (time - before))
    return times[-1] + waits


@pytest.mark.parametrize("seed", seeds(50, 200))
def test_copies_are_those_of_a_queue(seed: int) -> None:
    """Tests both readings against a queue, event after event; copying early never ends later."""
    rng = random.Random(seed)
    maps = rng.randint(1, 8)
    since = [rng.randint(-50, 60) for _ in range(maps)]
    until = [time + rng.randint(1, 60) for time in since]
    copies, begin = [rng.choice([0, 1, 5, 40]) for _ in range(maps)], rng.randint(-60, 130)
    arrays = [np.array(column) for column in (since, until, copies)]
    ended, emitted = _copied_as_ended(begin, *arrays[1:]), _copied_as_emitted(begin, *arrays)
    assert ended == in_turn(begin, until, copies)
    exact = as_they_emit(begin, since, until, copies)
    assert exact - Fraction(1, 100) <= emitted < exact + 1
    assert emitted <= max(ended, *until, begin)


def test_nothing_to_copy() -> None:
    """Tests a reduce to which no map sends: it waits for its job's maps and computes."""
    instance = example()
    alone = replace(instance, workload=replace(instance.workload, shuffle=None))
    assert seconds(driven(Transfer(), alone, FIGURE_2))[2:] == [271, 271]
    assert _copied_as_emitted(7, *[np.zeros(0, dtype=np.int64)] * 3) == 7


def test_tasks_that_are_taken_off_their_nodes() -> None:
    """Tests that a map that was stopped holds its reduces up until it has run again."""
    service, instance = Transfer(), example()
    service.prepare(instance)
    for time, task, node in FIGURE_2:
        service.started(task, node, time)
    assert service.ended(1, 10 * MICRO) == []
    assert [service.stopped(task, 50 * MICRO) for task in (0, 3)] == [(), ()]
    assert service.started(0, 0, 60 * MICRO) == ((0, 70 * MICRO),)
    assert service.ended(0, 70 * MICRO) == [(2, 95 * MICRO)]  # R1 on D1 copied M2's 80 s from 10 s on
    assert service.ended(2, 85 * MICRO) == ()


@pytest.mark.parametrize("reads", ["throughout", "first"])
def test_progress_is_seen_at_heartbeats_only(reads: str) -> None:
    """Tests what a policy sees of two maps while it waits: what each had read by its node's last heartbeat."""
    cluster = Cluster(["a", "b"], slots=[1, 1], topology=Topology("distance", np.array([[0.0, 1.0], [1.0, 0.0]])))
    replicas = Ragged.from_rows([[0]] * 6)
    workload = Workload(list("uvwxyz"), size=[10.0] * 6, duration=[10.0] * 6, replicas=replicas)
    watched: dict[float, list[float]] = {}

    def watching(offer: Offer, view: View) -> Sequence[int]:
        watched[offer.time] = view.bytes_read.tolist()
        return view.pending[:1].tolist()

    run = simulate(Instance(cluster, workload), answering(watching), Transfer(reads=reads), heartbeat=4)
    starts = dict(zip(run.instance.workload.task_ids.tolist(), run.schedule.starts.tolist(), strict=True))
    nodes = dict(zip(run.instance.workload.task_ids.tolist(), run.schedule.nodes.tolist(), strict=True))
    beats = {node: min(starts[task] for task in starts if nodes[task] == node) % (4 * MICRO) for node in (0, 1)}
    assert len(watched) >= 6
    for time, seen in watched.items():
        now = round(time * MICRO)
        for task, read in zip(starts, seen, strict=True):
            begun, node = starts[task], nodes[task]
            if np.isnan(read) or begun > now or run.end[list(starts).index(task)] <= now:
                continue
            beat = now - (now - beats[node]) % (4 * MICRO)
            fetches = 10 * MICRO * node
            takes = fetches if reads == "first" else fetches + 10 * MICRO
            share = min(1, (beat - begun) / takes) if takes else 1.0
            assert read == pytest.approx(10 * share)


def test_progress_of_what_maps_emit() -> None:
    """Tests the MB that M1 has read and emitted at a heartbeat, by both readings, and that news is reported once."""
    for reads, read, emitted in (("throughout", 128 * 133 / 266, 0.5), ("first", 128 * 133 / 256, 0.0)):
        service = Transfer(reads=reads)
        service.prepare(example())
        for time, task, node in FIGURE_2:
            service.started(task, node, time)
        service.ended(1, 10 * MICRO)
        beats = np.full(4, 133 * MICRO)
        progress = service.progress(beats, 133 * MICRO)
        assert [column.tolist() for column in (progress.tasks, progress.entries)] == [[0], [0, 1]]
        assert (progress.bytes_read.tolist(), progress.emitted.tolist()) == ([read], [10 * emitted, 5 * emitted])
        assert service.progress(beats, 134 * MICRO) is None


def test_what_an_instance_does_not_tell_of_transfers() -> None:
    """Tests maps without size, tasks without duration, a cluster without distances, and readings that are none."""
    instance = example((10, np.nan, 5, 5))
    unsized = replace(instance, workload=replace(instance.workload, size=np.full(4, np.nan)))
    with pytest.raises(MissingField) as caught:
        Transfer().prepare(unsized)
    assert [fault.place for fault in caught.value.faults] == ["tasks[1].duration", "tasks[0].size", "tasks[1].size"]
    bare = replace(instance, cluster=Cluster(["a", "b", "c", "d"]), workload=example().workload)
    with pytest.raises(MissingField, match="topology"):
        Transfer().prepare(bare)
    for wrong in ({"scale": -1}, {"reads": "never"}, {"shuffle": "late"}):
        with pytest.raises(UsageError, match=f"transfer: {next(iter(wrong))}="):
            Transfer(**wrong)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("policy", ["rand", "fair", "dl"])
@pytest.mark.parametrize("form", FORMS)
def test_runs_in_the_problems(form: str, policy: str, seed: int) -> None:
    """Tests that maps end in the problems as in a run, reduces no later, and that what is proved holds for the run."""
    for reduces in (0, 1):
        instance = fetching(seed, form, nodes=5, tasks=8, reduces=reduces)
        run = simulate(instance, policy, Transfer(scale=0.37), seed=seed, slowstart=0.5)
        assert run.unfinished == ""
        is_map = instance.workload.kind == 0
        for kind in (Makespan, JobTimes):
            problem = kind(instance, service="transfer", scale=0.37, slowstart=0.5)
            ends = problem.ends(run.schedule)
            assert ends[is_map].tolist() == run.end[is_map].tolist()
            assert (ends <= run.end).all()
            worth = Fraction(int(run.job_times.sum() if kind is JobTimes else run.end.max()), MICRO)
            value = problem.evaluate(run.schedule)[0]
            assert value <= worth if reduces else value == worth
            assert all(bound.value <= value for bound in problem.cheap_bounds())
            assert solve(problem).bound[0] <= value


@pytest.mark.parametrize("form", FORMS)
def test_reduces_that_copy_nothing(form: str) -> None:
    """Tests that reduces then end as in the problems, and those that copy no sooner."""
    compared = 0
    for seed in range(4):
        drawn = fetching(seed, form, nodes=4, tasks=8, reduces=8)
        workload = drawn.workload
        maps, reduces = (np.flatnonzero(workload.kind == kind) for kind in (0, 1))
        pairs = [(m, r) for m in maps for r in reduces if workload.job[m] == workload.job[r]]
        sent = Shuffle(*np.array(pairs).T, size=[2.0] * len(pairs))
        instance = replace(drawn, workload=replace(workload, shuffle=sent))
        problem = JobTimes(instance, service="transfer", scale=0.5)
        run = simulate(instance, "fair", Transfer(scale=0.5, shuffle="none"), heartbeat=0)
        assert run.end.tolist() == problem.ends(run.schedule).tolist()
        copied = simulate(instance, "fair", Transfer(scale=0.5), heartbeat=0)
        assert (problem.ends(copied.schedule) <= copied.end).all()
        assert problem.remark is not None
        compared += int(copied.end.max()) > int(problem.ends(copied.schedule).max())
    assert compared


def test_what_it_is_called() -> None:
    """Tests the name of a service in records: with what is not as usual."""
    assert Transfer().label == "transfer"
    assert Transfer("0.004", "first", "none").label == "transfer,scale=0.004,reads=first,shuffle=none"
    assert (Transfer().waits_for_maps, Transfer(shuffle="none").waits_for_maps) == (False, True)
