"""Random draws that families share: distinct nodes, idle slots, ids, shuffles.

All is vectorised, with no loop over tasks or nodes. Every draw takes the `numpy.random.Generator` that it uses; nothing
here makes one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.core.instance import PENDING, Bools, Cluster, Floats, Ints, Ragged, Shuffle, Strings
from optsched.instances.families.base import require

__all__ = [
    "ASSUMED",
    "PRECISION",
    "dealt",
    "distinct_nodes",
    "idle_slots",
    "in_blocks",
    "numbered",
    "on",
    "racked",
    "proportional_shuffle",
    "replica_counts",
    "some",
    "zipf_weights",
]

#: Weight of the most popular node in `zipf_weights`; the weights of a million nodes still sum within int64.
PRECISION = 2**43


def numbered(prefix: str, count: int) -> Strings:
    """The ids `prefix1` to `prefix<count>`.

    >>> numbered("n", 3).tolist()
    ['n1', 'n2', 'n3']
    """
    return np.array([f"{prefix}{number}" for number in range(1, count + 1)], dtype=np.str_)


def in_blocks(count: int, parts: int) -> Ints:
    """Deal `count` records to `parts` parts of nearly equal size, neighbours together; shape (count,).

    >>> in_blocks(5, 2).tolist()
    [0, 0, 0, 1, 1]
    """
    return np.arange(count, dtype=np.int64) * parts // max(count, 1)


def racked(nodes: int, racks: int, slots: int, **more: Any) -> Cluster:
    """Equal nodes in racks of nearly equal size, with `slots` map slots each; UsageError if there are more racks than
    nodes.

    `more` are other columns of the cluster; one that is the same for all nodes may be one number.

    >>> cluster = racked(3, 2, 4, reduce_slots=1)
    >>> cluster.rack.tolist(), cluster.slots.tolist()
    ([0, 0, 1], [4, 4, 4])
    """
    require(racks <= nodes, f"racks is {racks}; it must be at most nodes ({nodes}): each rack has a node")
    columns: dict[str, Any] = {"slots": slots, **more}
    filled: dict[str, Any] = {
        name: np.full(nodes, value) if isinstance(value, int) else value for name, value in columns.items()
    }
    return Cluster(numbered("n", nodes), rack=in_blocks(nodes, racks), rack_ids=numbered("r", racks), **filled)


def some(rng: np.random.Generator, count: int, share: float) -> Bools:
    """Which of `count` records are among a share of them, at random; shape (count,). Of no share nothing is drawn."""
    chosen = np.zeros(count, dtype=bool)
    number = round(count * share)
    chosen[rng.choice(count, number, replace=False) if number else []] = True
    return chosen


def replica_counts(rng: np.random.Generator, tasks: int, largest: int, lost: float = 0.0) -> Ints:
    """Numbers of replicas, uniform from 1 to `largest`, but 0 for a share `lost` of the tasks; shape (tasks,)."""
    counts: Ints = rng.integers(1, largest, size=tasks, endpoint=True)
    return np.where(some(rng, tasks, lost), 0, counts)


def on(rng: np.random.Generator, status: Ints, nodes: int) -> Ints:
    """The node of each task that runs or has ended, at random, and -1 for the others; shape (tasks,)."""
    started = status != PENDING
    where = np.full(len(status), -1, dtype=np.int64)
    where[started] = rng.integers(0, nodes, size=int(started.sum()))
    return where


def idle_slots(rng: np.random.Generator, nodes: int, slots: int, idle: int) -> Ints:
    """Idle slots of each node when `idle` of all `nodes * slots` slots are, at random (Guo et al. 2012, III.B)."""
    chosen = rng.choice(nodes * slots, idle, replace=False, shuffle=False)
    return np.bincount(chosen // slots, minlength=nodes).astype(np.int64)


def zipf_weights(rng: np.random.Generator, nodes: int, exponent: float) -> Ints:
    """Integer popularities that fall as rank^-exponent, ranks dealt to the nodes at random; shape (nodes,)."""
    rank = rng.permutation(nodes) + 1.0
    weights: Ints = np.maximum(1, np.floor(PRECISION * rank**-exponent)).astype(np.int64)
    return weights


def dealt(rng: np.random.Generator, count: int, jobs: int) -> Ints:
    """The job of each of `count` tasks: one each as far as they go, and of the rest the more, the bigger a job is."""
    weights = zipf_weights(rng, jobs, 1.0)
    rest = max(0, count - jobs)
    drawn = np.searchsorted(np.cumsum(weights), rng.integers(0, weights.sum(), size=rest), side="right")
    return np.sort(np.concatenate((np.arange(min(count, jobs)), drawn)))


def distinct_nodes(
    rng: np.random.Generator,
    counts: Ints,
    among: int | Ints,
    *,
    weights: Ints | None = None,
    first: Ints | None = None,
) -> Ragged:
    """Draw for each task `counts` different nodes, in increasing order.

    Node after node is drawn from those that the task does not have yet: the draw is a position in the line of the
    remaining nodes (or, weighted, in the line of their weights), which is then moved past each one already taken. All
    tasks draw at once and nothing is rejected. O(tasks x largest count^2).

    `counts` has shape (tasks,). The nodes to draw `among` are 0 to `among - 1`, or an array of indices without
    repetition. `weights` are positive integers, one for each of these; a node's chance to be the next is its share of
    the weights that remain. `first` (shape (tasks,)) is a node that each task has for certain, as a position in
    `among`; it counts as one of `counts`.

    >>> rng = np.random.default_rng(0)
    >>> [row.tolist() for row in distinct_nodes(rng, np.array([1, 3, 2]), 3)]
    [[2], [0, 1, 2], [0, 1]]
    """
    size = among if isinstance(among, int) else len(among)
    ends = None if weights is None else np.cumsum(weights)
    columns = int(counts.max(initial=0))
    taken = np.full((len(counts), columns), size, dtype=np.int64)  # rows sorted; `size` stands for "none yet"
    for column in range(columns):
        if column == 0 and first is not None:
            taken[:, 0] = first
            continue
        rows = np.flatnonzero(counts > column)
        earlier = taken[rows, :column]
        if ends is None or weights is None:
            node = rng.integers(0, size - column, size=len(rows))
            for other in earlier.T:
                node += node >= other
        else:
            position = rng.integers(0, ends[-1] - weights[earlier].sum(axis=1))
            for other in earlier.T:
                position += np.where(position >= ends[other] - weights[other], weights[other], 0)
            node = np.searchsorted(ends, position, side="right")
        taken[rows, column] = node
        taken[:, : column + 1].sort(axis=1)
    drawn = taken[taken < size]
    if isinstance(among, int):
        return Ragged.of_lengths(counts, drawn)
    rows = np.repeat(np.arange(len(counts)), counts)
    return Ragged.of_lengths(counts, among[drawn][np.lexsort((among[drawn], rows))])


#: The label of a shuffle that is not recorded.
ASSUMED = "assumed: what a reduce takes in comes from the maps of its job in proportion to what each gives out"


def proportional_shuffle(map_job: Ints, output: Floats, reduce_job: Ints, received: Floats) -> Shuffle:
    """Draw what each map sends to each reduce of its job, with the maps numbered first and the reduces after them.

    `map_job` and `output` (shape (maps,)) are the job of each map, and what it gives out, in any unit. Where all of a
    job's are 0, they are taken as equal. `reduce_job` and `received` (shape (reduces,)) are the job of each reduce, and
    what it takes in, MB. There is one entry for each pair of a job, map after map; sizes to the byte.

    >>> shuffle = proportional_shuffle(np.array([0, 0]), np.array([1.0, 3.0]), np.array([0]), np.array([8.0]))
    >>> shuffle.reduce.tolist(), shuffle.size.tolist()
    ([2, 2], [2.0, 6.0])
    """
    jobs = 1 + int(max(map_job.max(initial=-1), reduce_job.max(initial=-1)))
    total = np.bincount(map_job, output, minlength=jobs)
    weight = np.where(total[map_job] > 0, output, 1.0)
    total = np.bincount(map_job, weight, minlength=jobs)
    order = np.argsort(reduce_job, kind="stable")
    fan = np.bincount(reduce_job, minlength=jobs)
    first = np.cumsum(fan) - fan
    sender = np.repeat(np.arange(len(map_job)), fan[map_job])
    rank = np.arange(len(sender)) - np.repeat(np.cumsum(fan[map_job]) - fan[map_job], fan[map_job])
    receiver = order[first[map_job[sender]] + rank]
    size = np.round(received[receiver] * weight[sender] / total[map_job[sender]], 6)
    return Shuffle(sender, len(map_job) + receiver, size)
