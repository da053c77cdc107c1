"""Shen et al.'s costs as a scheduler sees them, against the worked example by hand."""

from dataclasses import replace

import numpy as np
import pytest
from policy_cases import first_view
from transmission_instances import example

from optsched.core.instance import FINISHED, PENDING, RUNNING, Cluster, Instance, Ragged, Shuffle, Topology, Workload
from optsched.heuristics.running.base import View
from optsched.heuristics.seen_costs import AreaCosts, SeenCosts, all_stored, missing_sizes, sizes_parameter
from optsched.instances.families.base import distinct_nodes
from optsched.problems.distances import NestedAreas, cluster_areas, cluster_places
from optsched.problems.transmission_costs import map_costs
from optsched.problems.transmission_maps import TransmissionMaps
from optsched.problems.transmission_reduces import TransmissionReduces

REDUCES = np.array([2, 3])

#: What the two reduces cost on each node where M1 ran on D3 and M2 on D2: MB times distances, summed by hand.
COSTS = [
    [10 * 2 + 20 * 4, 10 * 10 + 0, 0 + 20 * 10, 10 * 6 + 20 * 4],
    [5 * 2 + 10 * 4, 5 * 10, 10 * 10, 5 * 6 + 10 * 4],
]


def seen(status: list[int], node: list[int]) -> View:
    """A view of the worked example with its maps in these states: half is emitted, sizes are known of finished ones."""
    instance = example()
    shuffle = instance.workload.shuffle
    emitted = np.where(np.array(status)[shuffle.map] == PENDING, np.nan, shuffle.size / 2)
    workload = replace(instance.workload, shuffle=None)
    sizes = np.where(np.array(status)[shuffle.map] == FINISHED, shuffle.size, np.nan)
    known = {"shuffle": Shuffle(shuffle.map, shuffle.reduce, sizes), "emitted": emitted, "true_shuffle": shuffle}
    places = np.array([*status, PENDING, PENDING]), np.array([*node, -1, -1])
    state = [np.zeros(4)] * 4, np.array([64.0, 64.0, np.nan, np.nan]), np.zeros(4), Ragged.empty(4, float), np.zeros(0)
    return View("transmission", {}, instance.cluster, workload, *places, *state[0], *state[1:], **known)


@pytest.mark.parametrize(
    ("sizes", "status", "share"),
    [
        ("actual", RUNNING, 1.0),
        ("emitted", RUNNING, 0.5),
        ("extrapolated", RUNNING, 1.0),
        ("emitted", FINISHED, 1.0),
        ("extrapolated", FINISHED, 1.0),
    ],
)
def test_reduces_by_what_is_known(sizes: str, status: int, share: float) -> None:
    """Tests (2) by hand with maps half done, on D3 and D2: what is emitted is half of it, extrapolated all."""
    view = seen([status, status], [2, 1])
    costs = SeenCosts(view.cluster, sizes)
    assert costs.of(REDUCES, "reduce", view) == pytest.approx(share * np.array(COSTS))
    assert costs.of(REDUCES[::-1], "reduce", view)[0] == pytest.approx(share * np.array(COSTS[1]))
    assert costs.stored(REDUCES, view) == pytest.approx(share * np.array([[0, 20, 10, 0], [0, 10, 5, 0]]))


def test_nothing_known_of_the_shuffle() -> None:
    """Tests that reduces cost nothing anywhere where no shuffle is seen."""
    view = replace(seen([RUNNING, RUNNING], [2, 1]), shuffle=None)
    assert SeenCosts(view.cluster, "emitted").of(REDUCES, "reduce", view).tolist() == [[0] * 4] * 2


def test_what_extrapolation_lacks() -> None:
    """Tests that a map without a size is reported where reduces are placed, and nothing where only maps are."""
    workload = replace(example((2, 1)).workload, size=[np.nan, 128.0, np.nan, np.nan])
    lacking = Instance(example().cluster, workload, example((2, 1)).state)
    assert [fault.place for fault in missing_sizes(TransmissionReduces(lacking))] == ["tasks[0].size"]
    assert list(missing_sizes(TransmissionReduces(example((2, 1))))) == []
    maps = TransmissionMaps(Instance(example().cluster, replace(workload, size=[128.0] * 4, shuffle=None)))
    assert list(missing_sizes(maps)) == []


def test_parameter() -> None:
    """Tests that all three ways are taken, and nothing else is."""
    parameter = sizes_parameter("emitted")
    assert parameter.default == "emitted"
    assert [parameter.parse(way) for way in ("actual", "extrapolated")] == ["actual", "extrapolated"]
    with pytest.raises(ValueError, match="known: "):
        parameter.parse("guessed")


def test_maps_that_read_on() -> None:
    """Tests that what a reduce will fetch from a running map follows what the map has read and emitted by now."""
    view = seen([RUNNING, RUNNING], [0, 1])
    costs = SeenCosts(view.cluster)
    reduces = view.pending_of("reduce")
    half = costs.stored(reduces, view).copy()
    view.bytes_read[:2] = [128.0, 32.0]
    view.progress[...] = 1
    now = costs.stored(reduces, view)
    assert (now == SeenCosts(view.cluster).stored(reduces, view)).all()
    assert (now[:, 0] < half[:, 0]).all()
    assert (now[:, 1] > half[:, 1]).all()
    view.emitted[:] *= 3
    view.progress[...] = 2
    assert costs.stored(reduces, view) == pytest.approx(3 * now)


def drawn(seed: int) -> Instance:
    """Maps of two jobs and of none in all states, of which is known what they sent to some reduces, to all, or none."""
    rng = np.random.default_rng(seed)
    maps, reduces, nodes = 9, 5, 3
    status = np.append(rng.integers(0, 3, maps), np.full(reduces, PENDING))
    node = np.where(status == PENDING, -1, rng.integers(0, nodes, maps + reduces))
    pairs = np.argwhere(rng.random((maps, reduces)) < rng.choice([0.3, 1.0]))
    pairs[:, 1] += maps
    shuffle = Shuffle(*pairs.T, rng.random(len(pairs)).round(2))
    nothing = np.full(reduces, np.nan)
    workload = Workload(
        [f"t{task}" for task in range(maps + reduces)],
        kind=np.repeat([0, 1], [maps, reduces]),
        job=rng.integers(-1, 2, maps + reduces),
        job_ids=["j1", "j2"],
        size=np.append(rng.choice([64.0, 100.0], maps), nothing),
        replicas=Ragged.of_lengths([1] * maps + [0] * reduces, rng.integers(0, nodes, maps)),
        shuffle=shuffle,
    )
    cluster = Cluster([f"n{number}" for number in range(nodes)], topology=Topology("rate", rng.random((nodes, nodes))))
    read = np.append(rng.choice([np.nan, 0.0, 20.0, 70.0], maps), nothing)
    emitted = np.where(rng.random(len(pairs)) < 0.5, np.nan, rng.random(len(pairs)).round(2))
    silent = rng.random(maps + reduces) < 0.3
    emitted[silent[shuffle.map]] = np.nan
    return Instance.initial(cluster, workload, status=status, node=node, bytes_read=read, emitted=emitted)


@pytest.mark.parametrize("sizes", ["actual", "emitted", "extrapolated"])
def test_some_reduces_alone(sizes: str) -> None:
    """Tests that what is held for some reduces is what a look at the whole shuffle finds, and what these cost."""
    rng = np.random.default_rng(0)
    for seed in range(40):
        instance = drawn(seed)
        view, costs = first_view(TransmissionReduces(instance)), SeenCosts(instance.cluster, sizes)
        among = np.sort(rng.choice(view.pending_of("reduce"), rng.integers(1, 6), replace=False))
        found = all_stored(instance, instance.state.node, among, sizes)
        for asked in (among, among[::-1][:2]):
            assert costs.stored(asked, view).tolist() == found[np.searchsorted(among, asked)].tolist()
        distance = cluster_places(instance.cluster).matrix
        assert costs.of(among, "reduce", view) == pytest.approx(found @ distance)


def test_reduces_that_are_alike_cost_alike() -> None:
    """Tests that equal reduces have equal costs wherever they stand; a product by BLAS rounds by place."""
    rng, maps, reduces = np.random.default_rng(0), 40, 101
    pairs = np.array([(sender, maps + reduce) for sender in range(maps) for reduce in range(reduces)])
    sent = np.repeat(rng.random(maps), reduces)
    workload = Workload(
        [f"t{task}" for task in range(maps + reduces)],
        kind=np.repeat([0, 1], [maps, reduces]),
        job=[0] * (maps + reduces),
        job_ids=["j"],
        size=np.append(np.ones(maps), np.full(reduces, np.nan)),
        replicas=Ragged.of_lengths([1] * maps + [0] * reduces, np.zeros(maps, dtype=int)),
        shuffle=Shuffle(*pairs.T, sent),
    )
    cluster = Cluster([f"n{number}" for number in range(maps)], topology=Topology("rate", rng.random((maps, maps))))
    ran = [FINISHED] * maps + [PENDING] * reduces
    instance = Instance.initial(cluster, workload, status=ran, node=[*range(maps), *[-1] * reduces])
    view = first_view(TransmissionReduces(instance))
    costs = SeenCosts(view.cluster).of(view.pending_of("reduce"), "reduce", view)
    assert (costs == costs[0]).all()
    assert len(np.unique(costs[0])) > 1


def racks(rng: np.random.Generator, nodes: int) -> Cluster:
    """Nodes in racks, some in none; hops from a node to itself may cost as well."""
    hops = dict(zip(("node", "rack", "off_rack"), np.cumsum(rng.integers(0, 4, size=3)).tolist(), strict=True))
    rack = rng.integers(-1, 3, size=nodes)
    return Cluster(
        [f"n{node}" for node in range(nodes)], rack=rack, rack_ids=["a", "b", "c"], topology=Topology("hops", hops=hops)
    )


@pytest.mark.parametrize("seed", range(12))
def test_as_the_table(seed: int) -> None:
    """Tests the cost on each node and the means while nodes fill up and free again, of racks and of one switch."""
    rng = np.random.default_rng(seed)
    nodes, maps = int(rng.integers(1, 9)), int(rng.integers(1, 12))
    cluster = racks(rng, nodes)
    if seed % 3 == 0:
        links = [(f"n{node}", "switch", 0.25) for node in range(nodes)]
        cluster = Cluster([f"n{node}" for node in range(nodes)], topology=Topology("links", links=links))
    nested = cluster_areas(cluster)
    sizes = rng.integers(0, 200, size=maps).astype(np.float64)
    replicas = distinct_nodes(rng, rng.integers(1, min(3, nodes), size=maps, endpoint=True), nodes)
    assert AreaCosts.exact(nested, sizes)
    costs, table = AreaCosts(nested, sizes, replicas), map_costs(sizes, replicas, cluster_places(cluster))
    for _ in range(6):
        rows, free = np.flatnonzero(rng.random(maps) < 0.6), rng.random(nodes) < 0.7
        free[rng.integers(nodes)] = True
        for node in range(nodes):
            assert costs.on(rows, node).tolist() == table[rows, node].tolist()
        assert costs.means(rows, free).tolist() == table[rows][:, free].mean(axis=1).tolist()


def test_no_maps() -> None:
    """Tests that without maps there are no costs."""
    costs = AreaCosts(NestedAreas(np.zeros((1, 2), dtype=np.int64), np.array([0.0, 1.0])), np.zeros(0), Ragged.empty(0))
    assert costs.means(np.zeros(0, dtype=np.int64), np.ones(2, dtype=np.bool_)).tolist() == []


@pytest.mark.parametrize(("sizes", "lengths"), [([1.5], [0.0, 1.0]), ([1.0], [0.0, 0.1]), ([2.0**52], [0.0, 2.0])])
def test_sums_that_doubles_round_are_left_to_the_table(sizes: list[float], lengths: list[float]) -> None:
    """Tests that sizes or distances that are not whole, and sums past 2^53, are not counted by area."""
    nested = NestedAreas(np.zeros((1, 2), dtype=np.int64), np.array(lengths))
    assert not AreaCosts.exact(nested, np.array(sizes))
