"""What data moves and costs: scales without rounding, nearest replicas, sums of entries, and estimated sizes."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transmission_instances import posed

from optsched.core.errors import MissingField, UsageError
from optsched.core.instance import (
    FINISHED,
    PENDING,
    REDUCE,
    RUNNING,
    Cluster,
    Instance,
    Ragged,
    Shuffle,
    Topology,
    Workload,
)
from optsched.problems import Problem, Transmission, TransmissionMaps, TransmissionReduces
from optsched.problems.base import GRID
from optsched.problems.distances import distances
from optsched.problems.transmission_costs import (
    Scale,
    estimated_sizes,
    extrapolated,
    seen_sizes,
    summed_units,
    too_much,
)

HOPS = {"node": 0, "rack": 1, "off_rack": 1}


def network(topology: Topology, nodes: int = 2) -> Instance:
    """Nodes without tasks."""
    return Instance(Cluster([f"n{node}" for node in range(nodes)], topology=topology), Workload([]))


SQUARE = [[0, 3], [5, 0]]


@pytest.mark.parametrize(
    ("topology", "sizes", "grid", "denominator"),
    [
        (Topology("distance", SQUARE), [2.0, 7.0], 1, 1),
        (Topology("distance", SQUARE), [0.5, 0.2], 10, 10),
        (Topology("distance", [[0, 0.25], [5, 0]]), [0.5], 8, 2),
        (Topology("rate", [[0, 3], [40, 0]]), [1.0], 120, 1),
        (Topology("distance", SQUARE), [2.0**-20], GRID, 2**20),
        (Topology("distance", SQUARE), [1 / 3], GRID, None),
        (Topology("distance", [[0, 1 / 3], [5, 0]]), [1.0], GRID, None),
        (Topology("distance", [[0, 2.0**-15], [5, 0]]), [1 / 64], GRID, None),
        (Topology("distance", SQUARE), [], 1, 1),
    ],
)
def test_scales(topology: Topology, sizes: list[float], grid: int, denominator: int | None) -> None:
    """Tests the grid as the product of both denominators, as long as it is at most 2^20; else products are rounded."""
    instance, megabytes = network(topology), np.array(sizes)
    scale = Scale.of(instance, megabytes)
    assert (scale.grid, scale.denominator) == (grid, denominator)
    plain = distances(instance)
    amounts = scale.amounts(megabytes)
    for size, amount in zip(sizes, amounts.tolist(), strict=True):
        worth = scale.units(amount * scale.lengths)
        if denominator is None:
            assert worth.tolist() == np.rint(size * plain * GRID).tolist()
        else:
            assert amount == round(size * denominator)
            assert worth.tolist() == np.rint(amount * scale.lengths).tolist()
            assert worth / grid == pytest.approx(size * plain)
    assert scale.units(np.array([2.0**54 * (1 if denominator is None else GRID)])).tolist() == [2**60]


@given(st.data())
def test_sums_of_entries(data: st.DataObject) -> None:
    """Tests sums against entries added up one by one, in fractions or rounded once a product, in both directions."""
    nodes, rows, entries = (data.draw(st.integers(low, 4)) for low in (1, 1, 0))
    sizes = st.sampled_from(data.draw(st.sampled_from([[1.0, 2.0, 9.0], [0.5, 0.2], [1 / 3, 0.7]])))
    lengths = data.draw(st.lists(st.sampled_from([0.0, 1.0, 2.5]), min_size=nodes**2, max_size=nodes**2))
    matrix = np.reshape(lengths, (nodes, nodes)) * (1.0 - np.eye(nodes))
    megabytes = [data.draw(sizes) for _ in range(entries)]
    at, row = ([data.draw(st.integers(0, most - 1)) for _ in range(entries)] for most in (nodes, rows))
    scale = Scale.of(network(Topology("distance", matrix), nodes), np.array(megabytes))
    for receiving in (False, True):
        expected = [[Fraction(0)] * nodes for _ in range(rows)]
        for size, there, which in zip(megabytes, at, row, strict=True):
            for node in range(nodes):
                length = matrix[node][there] if receiving else matrix[there][node]
                exact = Fraction(str(size)) * Fraction(str(length)) * scale.grid
                expected[which][node] += round(size * length * GRID) if scale.denominator is None else exact
        amounts = scale.amounts(np.array(megabytes))
        units = summed_units(scale, amounts, np.array(at, int), np.array(row, int), rows, receiving=receiving)
        assert units.tolist() == expected


@pytest.mark.parametrize("topology", [Topology("distance", [[0, 1], [1, 0]]), Topology("hops", hops=HOPS)])
@pytest.mark.parametrize("sizes", [[2.0**52, 2.0**52 + 1], [2.0**33 + 1 / 3, 1 / 3], [2.0**63] * 5])
def test_sums_that_are_too_large(sizes: list[float], topology: Topology) -> None:
    """Tests that one sum past 2^53 units makes all of them 2^60, whether or not products are rounded."""
    scale = Scale.of(network(topology), np.array(sizes))
    none = np.zeros(len(sizes), dtype=np.int64)
    assert summed_units(scale, scale.amounts(np.array(sizes)), none, none, 2).tolist() == [[2**60] * 2] * 2
    assert str(too_much(8)) == "costs may total too much, past 2^53/8; scale sizes or distances down"


def test_bug_costs_one_past_2_53_were_called_2_53() -> None:
    """Tests that a product and a sum of 2^53 + 1, which doubles take for 2^53, are too much, and less is not."""
    far = 3002399751580331.0  # 3 times as far is 2^53 + 1
    scale = Scale.of(network(Topology("distance", [[0, far], [far, 0]])), np.array([3.0]))
    assert (scale.units(np.array([3 * far, 3 * far - 2])) == [2**60, 2**53 - 2]).all()
    scale = Scale.of(network(Topology("distance", [[0, 1], [1, 0]])), np.array([2.0**52]))
    for more, expected in ((1, 2**60), (-1, 2**53 - 1)):
        amounts = np.array([2.0**52, 2.0**52 + more])
        assert summed_units(scale, amounts, np.array([0, 0]), np.array([0, 0]), 1)[0, 1] == expected


def test_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that entries computed a few at a time give the same sums."""
    whole = posed([1 / 3, 0.7, 1.5], [1] * 4).units
    monkeypatch.setattr("optsched.problems.transmission_costs._BLOCK", 1)
    assert np.array_equal(posed([1 / 3, 0.7, 1.5], [1] * 4).units, whole)
    assert not whole.flags.writeable


@pytest.mark.parametrize(
    ("kind", "places"),
    [
        (TransmissionMaps, ["topology", "tasks[0].size", "tasks[1].replicas"]),
        (TransmissionReduces, ["topology", "shuffle"]),
        (Transmission, ["topology", "shuffle", "tasks[0].size", "tasks[1].replicas"]),
    ],
)
def test_missing_fields_of_each_problem(kind: type[Problem], places: list[str]) -> None:
    """Tests that all that is missing is reported, of what is pending alone."""
    rows = Ragged.from_rows([[0], [], []])
    bare = Workload(["a", "b", "r"], kind=[0, 0, REDUCE], size=[np.nan, 1, np.nan], replicas=rows)
    for status, expected in ((PENDING, places), (FINISHED, [place for place in places if place != "tasks[0].size"])):
        with pytest.raises(MissingField) as caught:
            kind(Instance.initial(Cluster(["n"]), bare, status=[status, 0, 0], node=[status // FINISHED - 1, -1, -1]))
        assert [fault.place for fault in caught.value.faults] == expected


UNKNOWN = np.nan


def estimate(
    emitted: list[list[float]], size: list[float], read: list[float], job: list[int] | None = None
) -> list[list[float]]:
    """`extrapolated` from a matrix of maps and reduces, each map sending to each reduce."""
    maps, reduces = len(emitted), len(emitted[0])
    sender, receiver = np.repeat(np.arange(maps), reduces), np.tile(np.arange(maps, maps + reduces), maps)
    more = np.full(reduces, UNKNOWN)
    jobs = np.array([*(job or [0] * maps), *[0] * reduces])
    found = extrapolated(np.ravel(emitted), sender, receiver, np.append(size, more), np.append(read, more), jobs)
    rounded: list[list[float]] = found.reshape(maps, reduces).round(9).tolist()
    return rounded


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        # The paper's example: 1 MB at 10 % becomes 10 MB, 5 MB at 90 % 5.56 MB, which turns the order of the two maps.
        (([[5.0], [1.0]], [100.0, 100.0], [90.0, 10.0]), [[5.555555556], [10.0]]),
        # Maps of different sizes.
        (([[2.0, 4.0], [3.0, 0.0]], [128.0, 64.0], [32.0, 64.0]), [[8.0, 16.0], [3.0, 0.0]]),
        # A map that has read nothing is taken as what has progressed in its job, split as that is.
        *(
            (
                ([[2.0, 4.0], [3.0, 0.0], [9.0, 9.0]], [128.0, 64.0, 192.0], [32.0, 64.0, read]),
                [[8, 16], [3, 0], [10, 8]],
            )
            for read in (0.0, UNKNOWN)
        ),
        # A map whose output is not known is taken as its job is, and does not count there itself.
        (([[2.0], [UNKNOWN]], [100.0, 50.0], [10.0, 25.0]), [[20.0], [10.0]]),
        # A map counts once with what it has read, and not for reduces of which it does not say.
        (([[2.0, 4.0], [UNKNOWN, 6.0]], [100.0, 100.0], [10.0, 30.0]), [[20.0, 40.0], [20.0, 20.0]]),
        (
            ([[2.0, UNKNOWN], [3.0, UNKNOWN], [UNKNOWN, UNKNOWN]], [100.0] * 3, [0.1, 0.2, 0.0]),
            [[2000.0, 50.0], [1500.0, 50.0], [1666.666666667, 50.0]],
        ),
        # The uniform guess where nothing of the job has progressed; another job's progress is no help.
        (([[0.0, 0.0], [5.0, 1.0]], [64.0, 100.0], [0.0, 50.0], [0, 1]), [[32.0, 32.0], [10.0, 2.0]]),
        # Maps without a job learn from none, and none learns from them.
        (([[9.0], [UNKNOWN], [UNKNOWN]], [10.0, 40.0, 40.0], [10.0, 0.0, 0.0], [-1, -1, 0]), [[9.0], [40.0], [40.0]]),
        # A map learns from its own job alone, also where another one sends to the same reduce.
        (([[2.0], [6.0], [UNKNOWN]], [100.0] * 3, [10.0, 10.0, 0.0], [0, 1, 0]), [[20.0], [60.0], [20.0]]),
        # A map past the end of its block sends what it has emitted, not less.
        (([[6.0]], [64.0], [65.0]), [[6.0]]),
        # An estimate that no double holds is 2^53 MB, also of maps that learn of it; 0 stays 0.
        (([[5.0, 0.0], [UNKNOWN, UNKNOWN]], [100.0, 100.0], [1e-310, 0.0], [0, 0]), [[2.0**53, 0.0], [2.0**53, 0.0]]),
    ],
)
def test_extrapolated(given: tuple[Any, ...], expected: list[list[float]]) -> None:
    """Tests equation (3) and what is settled where it leaves a size open, by hand."""
    assert estimate(*given) == expected


def test_reduce_of_which_nobody_tells() -> None:
    """Tests that its sizes are the uniform guess, also where doubles of what was read do not add up to the same."""
    sender, receiver = np.repeat([2, 1, 0], 2), np.tile([3, 4], 3)
    read, none = np.array([0.1, 0.2, 0.3, UNKNOWN, UNKNOWN]), np.zeros(5, dtype=np.int64)
    emitted = np.tile([0.0, UNKNOWN], 3)
    found = extrapolated(emitted, sender, receiver, np.array([1.0] * 3 + [UNKNOWN] * 2), read, none)
    assert found.tolist() == [0.0, 0.5] * 3


def seen(status: list[int], **columns: Any) -> Instance:
    """Two maps of a job and one reduce."""
    sent = Shuffle([0, 1], [2, 2], [8.0, 20.0])
    given = {"size": [100.0, 100.0, UNKNOWN], "shuffle": sent} | columns
    workload = Workload(["M1", "M2", "R"], kind=[0, 0, 1], job=[0, 0, 0], job_ids=["J"], **given)
    node = [0 if entry in (RUNNING, FINISHED) else -1 for entry in status]
    progress = {"bytes_read": [50.0, UNKNOWN, UNKNOWN], "emitted": [5.0, UNKNOWN]}
    return Instance.initial(Cluster(["D1"]), workload, status=status, node=node, name="two", **progress)


def test_faults() -> None:
    """Tests that an unknown way, an absent shuffle, and sizes of blocks that are not known are reported."""
    with pytest.raises(UsageError, match='did you mean "emitted"'):
        estimated_sizes(seen([RUNNING, RUNNING, 0]), "emited")
    with pytest.raises(MissingField, match=r"^shuffle: sizes of it are asked for"):
        estimated_sizes(Instance(Cluster(["D1"]), Workload([])))
    with pytest.raises(MissingField) as caught:
        estimated_sizes(seen([RUNNING, FINISHED, 0], size=[UNKNOWN] * 3))
    assert [fault.place for fault in caught.value.faults] == ["tasks[0].size"]


def test_a_block_without_a_size_is_not_extrapolated() -> None:
    """Tests that a scheduler then sees what the map has emitted so far, and nothing where that is not known."""
    workload = Workload(
        ["M", "N", "R"], kind=[0, 0, 1], size=[UNKNOWN] * 3, shuffle=Shuffle([0, 1], [2, 2], [9.0, 9.0])
    )
    ends = np.array([0, 1]), np.array([2, 2]), np.full(2, UNKNOWN)
    seen = np.array([4.0, UNKNOWN]), np.array([RUNNING, RUNNING, 0]), np.array([2.0, UNKNOWN, UNKNOWN])
    assert seen_sizes(workload, *ends, *seen, "extrapolated").tolist() == [4.0, 0.0]
