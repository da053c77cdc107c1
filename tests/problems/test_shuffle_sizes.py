"""Sizes of shuffle entries as a scheduler can know them: Shen et al. 2016, equation (3), and its gaps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from optsched.core.errors import MissingField, UsageError
from optsched.core.instance import FINISHED, RUNNING, Cluster, Instance, Shuffle, Workload
from optsched.problems.shuffle_sizes import SIZES, estimated_sizes, extrapolated, seen_sizes

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


def test_the_paper_s_example() -> None:
    """Tests that 1 MB at 10 % becomes 10 MB, 5 MB at 90 % 5.56 MB, and that this turns the order of the two maps."""
    (m1,), (m2,) = estimate([[5.0], [1.0]], [100.0, 100.0], [90.0, 10.0])
    assert m2 == 10
    assert round(m1, 2) == 5.56


def test_progress_counts_for_each_map() -> None:
    """Tests equation (3) for maps of different sizes."""
    assert estimate([[2.0, 4.0], [3.0, 0.0]], [128.0, 64.0], [32.0, 64.0]) == [[8.0, 16.0], [3.0, 0.0]]


@pytest.mark.parametrize("read", [0.0, UNKNOWN])
def test_no_progress_yet(read: float) -> None:
    """Tests that a map that has read nothing is taken as what has progressed in its job, split as that is."""
    assert estimate([[2.0, 4.0], [3.0, 0.0], [9.0, 9.0]], [128.0, 64.0, 192.0], [32.0, 64.0, read])[2] == [10.0, 8.0]


def test_progress_without_a_size() -> None:
    """Tests that a map whose output is not known is taken as its job is, and does not count there itself."""
    assert estimate([[2.0], [UNKNOWN]], [100.0, 50.0], [10.0, 25.0]) == [[20.0], [10.0]]


def test_part_of_the_sizes_known() -> None:
    """Tests that a map counts once with what it has read, and not for reduces of which it does not say."""
    assert estimate([[2.0, 4.0], [UNKNOWN, 6.0]], [100.0, 100.0], [10.0, 30.0]) == [[20.0, 40.0], [20.0, 20.0]]
    found = estimate([[2.0, UNKNOWN], [3.0, UNKNOWN], [UNKNOWN, UNKNOWN]], [100.0] * 3, [0.1, 0.2, 0.0])
    assert found == [[2000.0, 50.0], [1500.0, 50.0], [1666.666666667, 50.0]]


def test_nothing_has_progressed() -> None:
    """Tests the uniform guess: a map emits as much as it reads, in equal shares; another job's progress is no help."""
    assert estimate([[0.0, 0.0], [5.0, 1.0]], [64.0, 100.0], [0.0, 50.0], [0, 1]) == [[32.0, 32.0], [10.0, 2.0]]


def test_maps_without_a_job_stand_alone() -> None:
    """Tests that they learn from none, and none learns from them."""
    found = estimate([[9.0], [UNKNOWN], [UNKNOWN]], [10.0, 40.0, 40.0], [10.0, 0.0, 0.0], [-1, -1, 0])
    assert found == [[9.0], [40.0], [40.0]]


def test_another_job_that_sends_to_the_same_reduce() -> None:
    """Tests that a map learns from its own job alone what the reduce gets."""
    found = estimate([[2.0], [6.0], [UNKNOWN]], [100.0] * 3, [10.0, 10.0, 0.0], [0, 1, 0])
    assert found == [[20.0], [60.0], [20.0]]


def test_reduce_of_which_nobody_tells() -> None:
    """Tests that its sizes are the uniform guess, also where doubles of what was read do not add up to the same."""
    sender, receiver = np.repeat([2, 1, 0], 2), np.tile([3, 4], 3)
    read, none = np.array([0.1, 0.2, 0.3, UNKNOWN, UNKNOWN]), np.zeros(5, dtype=np.int64)
    emitted = np.tile([0.0, UNKNOWN], 3)
    found = extrapolated(emitted, sender, receiver, np.array([1.0] * 3 + [UNKNOWN] * 2), read, none)
    assert found.tolist() == [0.0, 0.5] * 3


def test_more_read_than_there_is() -> None:
    """Tests that a map past the end of its block sends what it has emitted, not less."""
    assert estimate([[6.0]], [64.0], [65.0]) == [[6.0]]


def test_next_to_nothing_read() -> None:
    """Tests that an estimate which no double holds is 2^53 MB, also of maps that learn of it; 0 stays 0."""
    found = estimate([[5.0, 0.0], [UNKNOWN, UNKNOWN]], [100.0, 100.0], [1e-310, 0.0], [0, 0])
    assert found == [[2.0**53, 0.0], [2.0**53, 0.0]]


def test_no_entries() -> None:
    """Tests that nothing is estimated of nothing."""
    none = np.zeros(0, dtype=np.int64)
    assert extrapolated(np.zeros(0), none, none, np.zeros(0), np.zeros(0), none).shape == (0,)


def posed(status: list[int], **columns: Any) -> Instance:
    """Two maps of a job and one reduce."""
    workload = Workload(
        ["M1", "M2", "R"],
        kind=[0, 0, 1],
        job=[0, 0, 0],
        job_ids=["J"],
        shuffle=Shuffle([0, 1], [2, 2], [8.0, 20.0]),
        **{"size": [100.0, 100.0, UNKNOWN], **columns},
    )
    node = [0 if entry in (RUNNING, FINISHED) else -1 for entry in status]
    progress = {"bytes_read": [50.0, UNKNOWN, UNKNOWN], "emitted": [5.0, UNKNOWN]}
    return Instance.initial(Cluster(["D1"]), workload, status=status, node=node, name="two", **progress)


def test_three_ways_to_tell() -> None:
    """Tests sizes as they are, as emitted so far, and as extrapolated; a finished map's are known whichever way."""
    running = posed([RUNNING, RUNNING, 0])
    assert [estimated_sizes(running, way).tolist() for way in SIZES] == [[8.0, 20.0], [5.0, 0.0], [10.0, 10.0]]
    assert estimated_sizes(running).tolist() == [10.0, 10.0]
    done = posed([FINISHED, RUNNING, 0])
    assert [estimated_sizes(done, way).tolist() for way in SIZES] == [[8.0, 20.0], [8.0, 0.0], [8.0, 8.0]]


def test_faults() -> None:
    """Tests that an unknown way, an absent shuffle, and sizes of blocks that are not known are told."""
    with pytest.raises(UsageError, match='did you mean "emitted"'):
        estimated_sizes(posed([RUNNING, RUNNING, 0]), "emited")
    with pytest.raises(MissingField, match=r"^shuffle: sizes of it are asked for"):
        estimated_sizes(Instance(Cluster(["D1"]), Workload([])))
    with pytest.raises(MissingField) as caught:
        estimated_sizes(posed([RUNNING, FINISHED, 0], size=[UNKNOWN] * 3))
    assert [fault.place for fault in caught.value.faults] == ["tasks[0].size"]


def test_a_block_without_a_size_is_not_extrapolated() -> None:
    """Tests that a scheduler then sees what the map has emitted so far, and nothing where that is not known."""
    workload = Workload(
        ["M", "N", "R"], kind=[0, 0, 1], size=[UNKNOWN] * 3, shuffle=Shuffle([0, 1], [2, 2], [9.0, 9.0])
    )
    ends = np.array([0, 1]), np.array([2, 2]), np.full(2, UNKNOWN)
    seen = np.array([4.0, UNKNOWN]), np.array([RUNNING, RUNNING, 0]), np.array([2.0, UNKNOWN, UNKNOWN])
    assert seen_sizes(workload, *ends, *seen, "extrapolated").tolist() == [4.0, 0.0]
