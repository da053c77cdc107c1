"""How long tasks take, by locality or by computing and fetching, against the format and against all nodes."""

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from over_time import FORMS, document, fetching

from optsched.core.errors import InputError, MissingField, TooLarge, UsageError
from optsched.core.instance import Cluster, Instance, Ragged, Shuffle, Topology, Workload
from optsched.core.placement import MICRO
from optsched.core.processes import limits
from optsched.instances.files import parse
from optsched.problems.distances import distances
from optsched.problems.job_times import JobTimes
from optsched.problems.makespan import Makespan
from optsched.problems.service_times import NEVER, moved, transfer_times


def agree(times: Any, truth: list[list[int]]) -> None:
    """All that is said of times is that of a table of tasks and nodes."""
    nodes = range(len(truth[0]) if truth else 0)
    areas = [level.area.tolist() for level in times.near]
    alike: dict[Any, list[int]] = {}
    for task, row in enumerate(truth):
        assert times.on(np.full(len(nodes), task), np.arange(len(nodes))).tolist() == times.row(task).tolist() == row
        near = [dict(level.of(task)) for level in times.near]
        found = [next(held[areas[n][node]] for n, held in enumerate(near) if areas[n][node] in held) for node in nodes]
        assert found == row
        assert alike.setdefault(times.alike(task), row) == row
        assert set(row) <= set(times.distinct.tolist())
        assert times.by_level[task].min() <= min(row)
        assert max(row) <= times.longest[task]


def test_times_by_level() -> None:
    """Tests times by the level of the data, also where racks are slower, and the nodes that hold it."""
    for seed in range(60):
        problem = Makespan(parse(json.dumps(document(seed))), factors=(1, 2, 3))
        times, nodes = problem.times, np.arange(len(problem.instance.cluster))
        assert [level.name for level in times.near] == ["node", "rack", "off_rack"]
        agree(times, [times.on(np.full(len(nodes), task), nodes).tolist() for task in range(len(problem.tasks))])
        for task in range(len(problem.tasks)):
            assert times.homes(task) == problem.replicas[task].tolist()
            near = list(times.near[1].of(task))
            held, own = times.near[1].of_tasks(np.array([task, task]))
            assert list(zip(held[1].tolist(), own[len(held[0]) :].tolist(), strict=True)) == near


def test_near_and_far_against_all_nodes() -> None:
    """Tests the least time on usable nodes with the data, and that off them no node is quicker than is said."""
    chance, exact = np.random.default_rng(6), 0
    drawn = [Makespan(parse(json.dumps(document(seed))), factors=(1, 2, 3)) for seed in range(80)]
    drawn += [Makespan(fetching(seed, form), service="transfer") for seed in range(8) for form in FORMS]
    for problem in drawn:
        nodes = len(problem.instance.cluster)
        usable = chance.random(nodes) < 0.7
        near, far = problem.times.near_and_far(usable)
        for row in range(len(problem.tasks)):
            times = problem.times.on(np.full(nodes, row), np.arange(nodes))
            holds = np.isin(np.arange(nodes), problem.replicas[row])
            assert near[row] == min(times[usable & holds].tolist(), default=2**60)
            others = min(times[usable & ~holds].tolist(), default=2**60)
            assert far[row] <= others
            exact += far[row] == others
    assert exact > 200


def table(instance: Instance, scale: float) -> list[list[int]]:
    """What each task takes on each node, by the words of the paper and one sum after another."""
    found = []
    for task, holders in enumerate(instance.replicas):
        workload = instance.workload
        given = workload.duration[task]
        computes = round(Fraction(repr(float(workload.times[task, 0] if np.isnan(given) else given))) * MICRO)
        away = distances(instance)[holders].min(axis=0) if len(holders) else np.zeros(len(instance.cluster))
        size = 0 if workload.kind[task] or not len(holders) else float(workload.size[task])
        found.append([computes + round(size * far * scale * MICRO) for far in away.tolist()])
    return found


@pytest.mark.parametrize("form", FORMS)
def test_each_task_on_each_node(form: str) -> None:
    """Tests all times against those of a table, one by one and all at once, and what is said of all nodes."""
    levels = set()
    for seed in range(8):
        instance = fetching(seed, form, nodes=3 + seed, tasks=12, reduces=1)
        tasks = np.arange(len(instance.workload))
        times, truth = transfer_times(instance, tasks, 0.37), table(instance, 0.37)
        assert len(times) == len(tasks)
        agree(times, truth)
        for task, row in enumerate(truth):
            assert {row[node] for node in times.homes(task)} <= {min(row)}
        levels.add(len(times.areas))
    assert levels == {"hops": {3}, "switches": {3}}.get(form, levels)


@pytest.mark.parametrize("form", FORMS)
def test_cheapest_fetching_is_the_least_of_all_nodes(form: str) -> None:
    """Tests the cheapest node by times and prices against all nodes, and against those that are near enough."""
    chance = np.random.default_rng(3)
    for seed in range(12):
        instance = fetching(seed, form, nodes=4 + seed % 3, tasks=8)
        nodes, tasks = len(instance.cluster), np.arange(len(instance.workload))
        times, truth = transfer_times(instance, tasks, 1), np.array(table(instance, 1))
        prices, usable = chance.integers(0, 5, nodes), chance.random(nodes) < 0.7
        plain = np.where(usable, truth * prices, NEVER).min(axis=1)
        assert times.cheapest(prices, usable).tolist() == plain.tolist()
        near = np.where(usable & (truth <= 9 * MICRO), truth * prices, NEVER).min(axis=1)
        assert times.cheapest(prices, usable, 9 * MICRO).tolist() == near.tolist()


def test_a_cluster_of_one_node_and_of_none() -> None:
    """Tests that on a node alone a map still reads over its distance from itself, and that nothing runs nowhere."""
    hops = Topology("hops", hops={"node": 2, "rack": 3, "off_rack": 4})
    workload = Workload(["m", "bare"], size=[10, 10], duration=[1, 1], replicas=Ragged.from_rows([[0], []]))
    alone = transfer_times(Instance(Cluster(["a"], topology=hops), workload), np.arange(2), 0.5)
    assert [alone.row(task).tolist() for task in (0, 1)] == [[11 * MICRO], [MICRO]]
    assert [level.name for level in alone.near] == ["anywhere"]
    bare = Instance(Cluster([], topology=hops), Workload(["m"], duration=[1]))
    for topology in (hops, Topology("distance", np.zeros((0, 0)))):
        none = transfer_times(replace(bare, cluster=Cluster([], topology=topology)), np.arange(1), 1)
        assert (none.row(0).tolist(), none.longest.tolist(), none.homes(0)) == ([], [MICRO], [])
        assert none.cheapest(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool)).tolist() == [NEVER]


def test_pairs_that_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that times over uneven distances are refused before they are made; one after another they can be had."""
    for name, value in {"_ALWAYS": 0, "available_mb": lambda: 0}.items():
        monkeypatch.setattr(limits, name, value)
    text = (
        r"^some: over uneven distances there would be times for 3 pairs of tasks and nodes, and take about .* by racks"
    )
    topology = Topology("distance", [[0, 2, 5], [2, 0, 1], [5, 1, 0]])
    workload = Workload(["m", "n"], size=[100, 1], duration=[10, 1], replicas=Ragged.from_rows([[0], []]))
    instance = Instance(Cluster(["a", "b", "c"], topology=topology), workload, name="some")
    times = transfer_times(instance, np.array([0, 1]), 0.01)
    assert (times.row(0) // MICRO).tolist() == [10, 12, 15]
    with pytest.raises(TooLarge, match=text):
        _ = times.near
    even = Instance(
        Cluster(["a", "b"], topology=Topology("hops", hops={"node": 0, "rack": 2, "off_rack": 4})), workload
    )
    assert len(transfer_times(even, np.array([0, 1]), 0.01).near) > 0


def test_what_is_moved_is_rounded_once() -> None:
    """Tests halves of a microsecond, and amounts past all times."""
    assert moved(np.array([0.5, 1.5, 2.5]), np.array([1.0] * 3), 1e-6).tolist() == [0, 2, 2]
    assert moved(np.array([2.0**53]), np.array([2.0**53]), 2**53).tolist() == [2**54]


def pair(**columns: object) -> Instance:
    """A map and a reduce on two nodes at a distance of 1."""
    cluster = Cluster(["a", "b"], topology=Topology("distance", [[0, 1], [1, 0]]))
    rows = Ragged.from_rows([[0], []])
    given = {"size": [4, np.nan], "duration": [1, 2]} | columns
    workload = Workload(["m", "r"], kind=[0, 1], job=[0, 0], job_ids=["j"], replicas=rows, **given)  # type: ignore[arg-type]
    return Instance(cluster, workload, name="pair")


@pytest.mark.parametrize("kind", [Makespan, JobTimes])
def test_what_is_missing(kind: type[Makespan]) -> None:
    """Tests that each field that is missing is reported with its place and what to do, and values that are none."""
    asked = {"service": "transfer"}
    bare = replace(pair(size=[np.nan] * 2, duration=[np.nan, 2]), cluster=Cluster(["a", "b"]))
    with pytest.raises(MissingField) as caught:
        kind(bare, **asked)
    assert [(fault.place, fault.message) for fault in caught.value.faults] == [
        ("topology", f"{kind.name} with service=transfer needs it: give one of distance, hops, rate and links"),
        ("tasks[0].duration", "say for how many seconds it computes"),
        ("tasks[0].size", "say how many MB it reads from its replicas"),
    ]
    kind(pair(size=[np.nan] * 2), service="levels")
    with pytest.raises(UsageError, match="scale=-1: give a number that is 0 or more"):
        kind(pair(), scale=-1)
    with pytest.raises(UsageError, match="service='foo': known: levels, transfer"):
        kind(pair(), service="foo")
    with pytest.raises(InputError, match=r"times may add up past 2.*, or give a smaller scale"):
        kind(pair(), scale=2**52, **asked)
    stuck = replace(pair(), cluster=Cluster(["a", "b"], topology=Topology("rate", [[1, 0], [1, 1]])))
    with pytest.raises(InputError, match=r"topology\.rate\[0\]\[1\]"):
        kind(stuck, **asked)


def test_remarks() -> None:
    """Tests what a user is reported: that reduces copy nothing, what is taken for computing, what does not count."""
    instance = pair()
    workload = instance.workload
    sends = replace(instance, workload=replace(workload, shuffle=Shuffle([0], [1], size=[3.0])))
    times, none = np.repeat(workload.duration[:, None], 3, axis=1), np.full(len(workload), np.nan)
    timed = replace(instance, workload=replace(workload, times=times, duration=none))
    text = "service=transfer: what reduces copy costs no time, since it depends on where their maps ran"
    counts = "factors counts with service=levels alone"
    assumed = "service=transfer: tasks without a duration compute for as long as they take on their data"
    for given, parameters, expected in (
        (sends, {"service": "transfer"}, text),
        (sends, {"service": "transfer", "factors": (1, 1, 2)}, f"{text}; {counts}"),
        (instance, {"service": "transfer", "factors": (1, 1, 2)}, counts),
        (timed, {"service": "transfer"}, assumed),
        (timed, {}, None),
        (sends, {"scale": 2}, "scale counts with service=transfer alone"),
        (instance, {"service": "transfer", "scale": 2}, None),
        (sends, {"factors": (1, 1, 2)}, None),
    ):
        assert Makespan(given, **parameters).remark == expected
