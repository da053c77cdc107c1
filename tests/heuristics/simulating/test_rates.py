"""Shared rates over time: against a simulation in fractions, against SimGrid, and against processor sharing."""

import json
import random
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, sqrt
from pathlib import Path

import numpy as np
import pytest
from over_time import driven, seeds
from policy_cases import FIRST

from optsched.core.errors import MissingField, UsageError
from optsched.core.instance import FINISHED, MAP, RUNNING, Cluster, Instance, Ragged, Shuffle, State, Workload
from optsched.core.placement import MICRO
from optsched.heuristics.simulating import simulate
from optsched.heuristics.simulating.rates import Rates, least_times
from optsched.problems import JobTimes, Makespan
from optsched.routes import bounds, solve

SIMGRID = Path(__file__).parents[2] / "data" / "simgrid"

Starts = list[tuple[int, int, int]]


# The definition, without anything kept from one instant to the next --------------------------------------------------


@dataclass
class Flow:
    """A task that runs: where, what it reads from where, how many MB are left of that, and what waits elsewhere."""

    node: int
    source: int | None = None
    left: Fraction = Fraction(0)
    waits: dict[int, Fraction] = field(default_factory=dict)


def shared(flows: dict[int, Flow], instance: Instance) -> dict[int, Fraction]:
    """All rates in MB/s, grown alike until tasks have what they ask for, or what they use is full."""
    cluster, rates = instance.cluster, dict.fromkeys(flows, Fraction(0))
    grow = {task for task in flows if flows[task].left > 0}

    def uses(task: int) -> list[tuple[str, int]]:
        flow = flows[task]
        net = [("rate_in", flow.node), ("rate_out", flow.source)] if flow.source not in (None, flow.node) else []
        return [("rate_process", flow.node), *net]

    while grow:
        on: dict[tuple[str, int], list[int]] = {}
        for task in grow:
            for used in uses(task):
                on.setdefault(used, []).append(task)
        room = {
            (what, node): Fraction(getattr(cluster, what)[node])
            - sum(rates[task] for task in flows if flows[task].left > 0 and (what, node) in uses(task))
            for what, node in on
        }
        asked = {task: Fraction(str(float(instance.workload.rate_in[task]))) for task in grow}
        step = min([asked[task] - rates[task] for task in grow] + [room[used] / len(on[used]) for used in on])
        for task in grow:
            rates[task] += step
        full = {used for used in on if room[used] == step * len(on[used])}
        grow = {task for task in grow if rates[task] < asked[task] and not full.intersection(uses(task))}
    return rates


def in_fractions(instance: Instance, starts: Starts) -> dict[int, int]:
    """When each task ends: all rates anew at every instant, and all MB left in fractions."""
    workload, nodes = instance.workload, len(instance.cluster)
    shuffle = workload.shuffle or Shuffle([], [], size=[])
    sent = [
        (one, other, Fraction(str(size)))
        for one, other, size in zip(shuffle.map.tolist(), shuffle.reduce.tolist(), shuffle.size.tolist(), strict=True)
    ]
    flows: dict[int, Flow] = {}
    ran: dict[int, int] = {}
    ends: dict[int, int] = {}
    coming, now = sorted(starts), 0

    def awaits(reduce: int) -> bool:
        maps = {task for task in range(len(workload)) if workload.kind[task] == MAP}
        return any(workload.job[task] == workload.job[reduce] and task not in ran for task in maps)

    def readers(node: int) -> int:
        return sum(flow.source == node and flow.node != node and flow.left > 0 for flow in flows.values())

    def begin(task: int, node: int) -> None:
        flow = flows[task] = Flow(node)
        if workload.kind[task] == MAP:
            holders = instance.replicas[task].tolist()
            near = [holder for holder in holders if instance.cluster.rack[holder] == instance.cluster.rack[node]]
            flow.left = Fraction(str(float(workload.size[task])))
            if holders:
                flow.source = node if node in holders else min(near or holders, key=lambda one: (readers(one), one))
        else:
            for one, other, size in sent:
                if other == task and one in ran:
                    flow.waits[ran[one]] = flow.waits.get(ran[one], Fraction(0)) + size

    while coming or flows:
        for task in sorted(flows):  # what a node sends is read as a whole, then that of the next node
            flow = flows[task]
            if not flow.left and flow.waits and any(flow.waits.values()):
                there = [node for node, size in flow.waits.items() if size]
                flow.source = min(there, key=lambda node: (node - flow.node - 1) % nodes)
                flow.left = flow.waits.pop(flow.source)
        over = [
            task
            for task in sorted(flows)
            if not flows[task].left
            and not any(flows[task].waits.values())
            and (workload.kind[task] == MAP or not awaits(task))
        ]
        if over:
            for task in over:
                ends[task], ran[task] = now, flows.pop(task).node
                for one, other, size in sent:
                    if one == task and other in flows:
                        waits = flows[other].waits
                        waits[ran[task]] = waits.get(ran[task], Fraction(0)) + size
            continue
        if coming and coming[0][0] == now:
            _, task, node = coming.pop(0)
            begin(task, node)
            continue
        rates = shared(flows, instance)
        moments = [now + ceil(flows[task].left / rate * MICRO) for task, rate in rates.items() if flows[task].left]
        then = min([*moments, *(time for time, *_ in coming[:1])])
        for task, rate in rates.items():
            flows[task].left = max(Fraction(0), flows[task].left - rate * Fraction(then - now, MICRO))
        now = then
    return ends


def drawn(seed: int, reduces: int = 0) -> tuple[Instance, Starts]:
    """Up to 5 nodes of 2 racks and 14 maps, some without replicas, and reduces; they start when they are told to."""
    rng = random.Random(seed)
    nodes, maps, jobs = rng.randint(1, 5), rng.randint(1, 14), 2
    cluster = Cluster(
        [f"n{node}" for node in range(nodes)],
        rack=[node % 2 for node in range(nodes)],
        rack_ids=["r0", "r1"],
        **{name: [rng.choice([3, 8, 20]) for _ in range(nodes)] for name in ("rate_in", "rate_out", "rate_process")},
    )
    tasks = maps + reduces
    job = [rng.randrange(jobs) for _ in range(tasks)]
    pairs = [(one, other) for one in range(maps) for other in range(maps, tasks) if job[one] == job[other]]
    sizes = [float(rng.choice([0, 2, 7, 30])) for _ in pairs]
    blocks = [rng.sample(range(nodes), rng.randint(0, min(2, nodes))) for _ in range(maps)] + [[]] * reduces
    receives = {other for _, other in pairs}
    workload = Workload(
        [f"t{task}" for task in range(tasks)],
        kind=[0] * maps + [1] * reduces,
        job=job,
        job_ids=[f"j{number}" for number in range(jobs)],
        size=[float(rng.choice([0, 5, 16, 64])) if task not in receives else np.nan for task in range(tasks)],
        rate_in=[rng.choice([0.7, 3.04, 9.14, 12.8]) for _ in range(tasks)],
        replicas=Ragged.from_rows(blocks),
        shuffle=Shuffle(*(list(column) for column in zip(*pairs, strict=True)), sizes) if pairs else None,
    )
    starts = [(rng.randrange(0, 20) * MICRO // 2, task, rng.randrange(nodes)) for task in range(tasks)]
    return Instance(cluster, workload), starts


@pytest.mark.parametrize("reduces", [False, True])
@pytest.mark.parametrize("seed", seeds(20, 80))
def test_tasks_end_as_by_the_definition(seed: int, reduces: bool) -> None:
    """Tests drawn maps, and reduces that read from node after node what maps sent that have ended, to 3 microseconds.

    By the definition all rates are computed anew at every instant.
    """
    instance, starts = drawn(seed + 500, reduces=1 + seed % 4) if reduces else drawn(seed)
    workload = instance.workload
    sized = np.where((workload.kind == 1) & ~np.isnan(workload.size), 0.0, workload.size)  # as no map sends to them
    instance = replace(instance, workload=replace(workload, size=sized))
    found, exact = driven(Rates(), instance, starts), in_fractions(instance, starts)
    assert found.keys() == exact.keys()
    assert all(abs(found[task] - end) <= 3 for task, end in exact.items()), (found, exact)


def test_flows_of_simgrid() -> None:
    """Tests 60 flows, of which 52 share, against SimGrid 3.32: every end to 5 microseconds."""
    given = json.loads((SIMGRID / "inputs.json").read_text(encoding="utf-8"))
    recorded = json.loads((SIMGRID / "results.json").read_text(encoding="utf-8"))
    nodes, tasks = given["nodes"], given["tasks"]
    place = {node["id"]: number for number, node in enumerate(nodes)}
    rates = {name: [node[name] for node in nodes] for name in ("rate_in", "rate_out", "rate_process")}
    workload = Workload(
        [task["id"] for task in tasks],
        size=[task["size"] for task in tasks],
        rate_in=[task["rate"] for task in tasks],
        replicas=Ragged.from_rows([[place[task["source"]]] for task in tasks]),
    )
    starts = [(round(task["start"] * MICRO), number, place[task["node"]]) for number, task in enumerate(tasks)]
    ends = driven(Rates(), Instance(Cluster(list(place), **rates), workload), starts)
    alone = [task["start"] + task["size"] / task["rate"] for task in tasks]
    theirs = [recorded["ends"][task["id"]] for task in tasks]
    assert sum(end > lone + 1e-3 for end, lone in zip(theirs, alone, strict=True)) == 52
    assert [ends[number] / MICRO for number in range(len(tasks))] == pytest.approx(theirs, abs=5e-6, rel=0)


# What is read from where ---------------------------------------------------------------------------------------------


def two_nodes(**workload: object) -> Instance:
    """Nodes a and b that process 10 MB/s, take in 6 and give out 4."""
    cluster = Cluster(["a", "b"], rate_process=[10, 10], rate_in=[6, 6], rate_out=[4, 4])
    return Instance(cluster, Workload(**{"task_ids": ["t", "u"], "size": [40, 40], **workload}))


def test_reading_from_the_own_node() -> None:
    """Tests that local reads are limited by processing alone, or by their share of what the node gives out as well."""
    instance = two_nodes(replicas=Ragged.from_rows([[0], [0]]))
    starts = [(0, 0, 0), (0, 1, 1)]
    assert driven(Rates(), instance, starts) == {0: 4 * MICRO, 1: 10 * MICRO}
    assert driven(Rates(local="shared"), instance, starts) == {0: 20 * MICRO, 1: 20 * MICRO}


def test_reduces_without_a_shuffle_go_through_their_size() -> None:
    """Tests that such a reduce ends when it has, but not before its job's last map."""
    for size, end in ((20, 4 * MICRO), (90, 9 * MICRO)):
        instance = two_nodes(kind=[0, 1], job=[0, 0], job_ids=["j"], size=[40, size])
        assert driven(Rates(), instance, [(0, 0, 0), (0, 1, 1)]) == {0: 4 * MICRO, 1: end}


def test_tasks_that_are_taken_off_their_nodes() -> None:
    """Tests that the others have all from then on, and that the task begins anew."""
    service, instance = Rates(), two_nodes()
    service.prepare(instance)
    assert [service.started(task, 0, 0) for task in (0, 1)] == [((-1, 0),)] * 2
    assert service.woken(0) == [(0, 8 * MICRO), (1, 8 * MICRO)]
    assert service.stopped(1, 2 * MICRO) == ((-1, 2 * MICRO),)
    assert service.woken(2 * MICRO) == [(0, 5 * MICRO)]
    service.started(1, 1, 3 * MICRO)
    assert service.woken(3 * MICRO) == [(1, 7 * MICRO)]


# Snapshots, progress -------------------------------------------------------------------------------------------------


def test_snapshots_in_which_tasks_run() -> None:
    """Tests that two tasks that run since 0 and 2 s have shared since then, unless they say how much they have read."""
    instance = two_nodes(task_ids=["t", "u", "v"], size=[40, 40, 40], replicas=Ragged.from_rows([[]] * 3))
    wide = replace(instance, cluster=replace(instance.cluster, slots=[3, 3]))
    given = {"status": [RUNNING, RUNNING, 0], "node": [0, 0, -1], "start": [0, 2, np.nan], "idle_slots": [0, 1]}
    state = State.initial(wide.cluster, wide.workload, **given, time=4.0)
    run = simulate(replace(wide, state=state), FIRST, "rates", heartbeat=0)
    # t has read 20 + 10 by 4 s, u 10; v runs on the other node.
    assert (run.end / MICRO).tolist() == [6, 8, 8]
    state = replace(state, bytes_read=np.array([0, 38.0, np.nan]))
    run = simulate(replace(wide, state=state), FIRST, Rates(), heartbeat=0)
    assert (run.end / MICRO).tolist() == [8.2, 4.4, 8]


def test_progress_is_what_was_read_at_heartbeats() -> None:
    """Tests the MB of two maps, and what they emit, by heartbeats that lie before a change of rates, and news once."""
    sent = Shuffle([0, 1], [2, 2], size=[8.0, 16.0])
    instance = two_nodes(
        task_ids=["t", "u", "r"], kind=[0, 0, 1], job=[0] * 3, job_ids=["j"], size=[40, 40, np.nan], shuffle=sent
    )
    service = Rates()
    service.prepare(instance)
    for task, node, time in ((0, 0, 0), (1, 0, 2 * MICRO), (2, 1, 3 * MICRO)):
        service.started(task, node, time)
        service.woken(time)
    progress = service.progress(np.array([MICRO, 3 * MICRO]), 3 * MICRO)
    assert progress.tasks.tolist() == [0, 1]
    assert [progress.bytes_read.tolist(), progress.emitted.tolist()] == [[10, 0], [2, 0]]
    progress = service.progress(np.array([4 * MICRO, 3 * MICRO]), 4 * MICRO)
    assert progress.entries.tolist() == [0, 1]
    assert [progress.bytes_read.tolist(), progress.emitted.tolist()] == [[30, 10], [6, 4]]
    assert service.progress(np.array([4 * MICRO, 5 * MICRO]), 5 * MICRO) is None


def test_what_an_instance_does_not_tell() -> None:
    """Tests sizes and rates that are missing or 0, maps that ended somewhere, and readings that are none."""
    bare = Instance(Cluster(["a"]), Workload(["m", "r"], kind=[0, 1], size=[np.nan] * 2, rate_in=[0, np.nan]))
    with pytest.raises(MissingField) as caught:
        Rates().prepare(bare)
    places = ["tasks[0].size", "tasks[1].size", "tasks[0].rate_in", "tasks[1].rate_in"]
    assert [fault.place for fault in caught.value.faults] == places
    sent = Shuffle([0], [1], size=[8.0])
    lost = two_nodes(kind=[0, 1], shuffle=sent)
    state = State.initial(lost.cluster, lost.workload, status=[FINISHED, 0])
    with pytest.raises(MissingField, match="on which node it ran"):
        Rates().prepare(replace(lost, state=state))
    with pytest.raises(UsageError, match="rates: local='near'"):
        Rates(local="near")


def test_nodes_that_give_nothing_out() -> None:
    """Tests that a task that reads from such a node runs for ever, and that the run says so."""
    instance = two_nodes(task_ids=["t"], size=[40], replicas=Ragged.from_rows([[1]]))
    dry = Instance(replace(instance.cluster, rate_out=[0, 0], slots=[1, 0]), instance.workload)
    run = simulate(dry, FIRST, "rates")
    assert "for ever" in run.unfinished


@pytest.mark.thorough
def test_processor_sharing() -> None:
    """Tests M/M/1-PS: the mean response at loads of 0.5 and 0.7 is 1/(mu - lambda), within 99.9 % by batch means."""
    for load, seed in ((0.5, 1), (0.7, 2)):
        rng = np.random.default_rng(seed)
        count, batches, cut = 12_000, 20, 1_000
        arrival = np.rint(np.cumsum(rng.exponential(1 / load, count + cut)) * MICRO).astype(np.int64).tolist()
        workload = Workload([f"t{task}" for task in range(count + cut)], size=rng.exponential(1, count + cut))
        server = Instance(Cluster(["server"], rate_process=[1]), workload)
        ends = driven(Rates(), server, [(time, task, 0) for task, time in enumerate(arrival)])
        response = [(ends[task] - arrival[task]) / MICRO for task in range(cut, count + cut)]
        means = np.reshape(response, (batches, -1)).mean(axis=1)
        error = means.std(ddof=1) / sqrt(batches)
        assert abs(means.mean() - 1 / (1 - load)) <= 3.88 * error  # Student's t with 19 degrees of freedom
        assert error < 0.1 / (1 - load)


# What no run undercuts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("local", ["free", "shared"])
def test_alone_on_the_best_node_a_task_takes_its_least_time(local: str) -> None:
    """Tests each drawn task alone on each node: never sooner, and on the best node with its data just then."""
    for seed in range(8):
        instance, _ = drawn(seed)
        least = np.rint(least_times(instance, local).workload.times * MICRO).astype(int).tolist()
        for task, (near, rack, far) in enumerate(least):
            assert rack == far
            holders = instance.replicas[task].tolist()
            took = [driven(Rates(local), instance, [(0, task, node)])[task] for node in range(len(instance.cluster))]
            if holders:
                assert min(took[node] for node in holders) == near
            assert min([took[node] for node in range(len(took)) if node not in holders], default=far) >= far


@pytest.mark.parametrize("seed", seeds(3, 60))
def test_no_run_beats_a_bound(seed: int) -> None:
    """Tests that runs, also from snapshots on in which tasks run, are no better than what is proved by least times."""
    instance, _ = drawn(seed, reduces=seed % 3)
    nodes = len(instance.cluster)
    cluster = replace(instance.cluster, slots=[1 + seed % 2] * nodes, reduce_slots=[1] * nodes)
    sized = np.nan_to_num(instance.workload.size)
    instance = Instance(cluster, replace(instance.workload, size=sized))
    for local in ("free", "shared"):
        run = simulate(instance, FIRST, Rates(local), seed=seed)
        assert not run.unfinished
        ends = {Makespan: run.end.max() / MICRO, JobTimes: run.jobs["turnaround_time"].sum()}
        for kind, value in ends.items():
            problem = kind(least_times(instance, local))
            proved = [bound.value for bound in bounds(problem)]
            if seed < 6:  # the rest would take minutes
                proved.append(solve(problem).bound[0])
            assert all(bound is not None and bound <= value + 1e-6 for bound in proved), (local, kind, value, proved)
        for snapshot in run.snapshots(at=[float(run.end.max()) / MICRO * share for share in (0.2, 0.6)]):
            proved = [bound.value for bound in bounds(Makespan(least_times(snapshot, local)))]
            assert all(bound <= ends[Makespan] + 1e-6 for bound in proved)


def test_least_times_of_what_is_reported() -> None:
    """Tests reduces by what they are sent, no limits at all, what was read, a label, and what can be read nowhere."""
    sent = Shuffle([0, 1], [2, 2], size=[8.0, 12.0])
    instance = two_nodes(
        task_ids=["t", "u", "r"], kind=[0, 0, 1], job=[0] * 3, job_ids=["j"], size=[40, 0, np.nan], shuffle=sent
    )
    found = least_times(instance)
    assert found.workload.times.tolist() == [[4] * 3, [0] * 3, [2] * 3]
    assert "alone" in found.labels["times"]
    free = Instance(Cluster(["a"], slots=[0], reduce_slots=[0]), Workload(["t"], size=[5]))
    assert least_times(free).workload.times.tolist() == [[0] * 3]
    far = two_nodes(task_ids=["t"], size=[40], replicas=Ragged.from_rows([[1]]))
    assert least_times(far).workload.times.tolist() == [[4, 10, 10]]
    given = {"status": [RUNNING], "node": [0], "start": [1.0], "bytes_read": [10.0]}
    state = State.initial(far.cluster, far.workload, **given, time=4.0)
    assert least_times(replace(far, state=state)).workload.times.tolist() == [[6] * 3]
    dry = replace(far, cluster=replace(far.cluster, rate_out=[0, 0]))
    assert least_times(dry).workload.times.tolist() == [[4] * 3]
    with pytest.raises(UsageError, match=r"tasks\[0\] can read nowhere, and would never end"):
        least_times(dry, "shared")
    with pytest.raises(UsageError, match="rates: local='near'"):
        least_times(far, "near")
