"""The costs of moving data: Shen et al.'s terms (1) and (2) on their grid, and the estimate (3) of sizes.

A cost is MB times distance: MB x hops, or seconds if a distance is an inverse rate. If sizes and distances are whole
multiples of some unit (`Scale`), nothing is rounded. Else each product of a size and a distance is rounded once. Sums
are exact. The problems evaluate the true sizes of a shuffle. Heuristics use what a scheduler can know of them
(`estimated_sizes`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from optsched.core.decimals import common_denominator, whole_units
from optsched.core.errors import Fault, MissingField, expect_known
from optsched.core.instance import FINISHED, LARGEST, MAP, Bools, Floats, Instance, Ints, Ragged, Workload
from optsched.problems.base import GRID, on_grid, pending_of
from optsched.problems.distances import (
    NestedAreas,
    Places,
    cluster_places,
    dense,
    missing_topology,
    nested_areas,
    whole_areas,
    whole_places,
)

#: Products that are computed at once, so that memory use stays small.
_BLOCK = 2**22


@dataclass(frozen=True, eq=False)
class Scale:
    """The units in which sizes and distances are multiplied.

    Attributes
    ----------
    grid
        Costs are whole multiples of 1/`grid`: the product of the common denominators of sizes and of distances
        (distances as decimals or as 1 over decimals), 1 if all are whole. If the product is above `GRID`, it is `GRID`,
        and products are rounded.
    denominator
        The common denominator of the sizes; None if products are rounded.
    nested
        The distances as nested areas, with lengths for multiplication; None if they have no such form.
    """

    grid: int
    denominator: int | None
    nested: NestedAreas | None
    _instance: Instance

    @classmethod
    def of(cls, instance: Instance, *megabytes: Floats) -> Scale:
        """The scale of these sizes and the instance's distances."""
        nested, denominator = nested_areas(instance), common_denominator(*megabytes)
        areas = whole_areas(instance)
        whole = whole_places(instance) if nested is None else areas
        if whole is None or denominator is None or denominator * whole[1] > GRID:
            return cls(GRID, None, nested, instance)
        return cls(denominator * whole[1], denominator, None if areas is None else areas[0], instance)

    @property
    def remark(self) -> str | None:
        """The remark that products are rounded."""
        if self.denominator is not None:
            return None
        return (
            f"each cost, MB times distance, is rounded to a multiple of 1/{GRID}: sizes and distances need a finer unit"
        )

    @cached_property
    def places(self) -> Places:
        """Distances for multiplication, between places of nodes, also if these are nested areas; whole as `lengths`
        are.

        They take memory for nodes and for pairs of places.
        """
        whole = None if self.denominator is None else whole_places(self._instance)
        return cluster_places(self._instance.cluster, self._instance.name) if whole is None else whole[0]

    @cached_property
    def lengths(self) -> Floats:
        """Distances for multiplication, `[from][to]`, float64, shape (nodes, nodes); whole if nothing is rounded.

        It is a matrix of all pairs of nodes, also if these are nested areas.
        """
        return dense(self.places, self._instance)

    def amounts(self, megabytes: Floats) -> Floats:
        """Sizes for multiplication: whole if nothing is rounded; same shape."""
        if self.denominator in (None, 1):
            return megabytes
        return whole_units(megabytes, self.denominator).astype(np.float64)

    def units(self, products: Floats) -> Ints:
        """Products of amounts and lengths in units of 1/`grid`; a product of 2^53 or more becomes 2^60.

        A double of 2^53 may stand for a product that is one more.
        """
        if self.denominator is None:
            return on_grid(products)
        return np.where(products < LARGEST, products, 2.0**60).astype(np.int64)


def missing_of_maps(name: str, instance: Instance) -> Iterator[Fault]:
    """The faults of pending maps without what the cost (1) needs: size and replicas of each."""
    tasks = pending_of(instance, MAP)
    for task in tasks[np.isnan(instance.workload.size[tasks])].tolist():
        yield Fault(f"tasks[{task}].size", f"{name} needs the size of the block that the map reads, in MB")
    for task in tasks[instance.replicas.lengths[tasks] == 0].tolist():
        yield Fault(f"tasks[{task}].replicas", f"{name} needs a node that holds the map's block")


def missing_of_shuffle(name: str, instance: Instance) -> Iterator[Fault]:
    """The faults of an instance without what the cost (2) needs: topology and shuffle."""
    if instance.cluster.topology is None:
        yield missing_topology(name)
    if instance.workload.shuffle is None:
        yield Fault("shuffle", f"{name} needs what maps send to reduces, in MB")


def map_costs(sizes: Floats, replicas: Ragged, places: Places, nodes: Ints | None = None) -> Floats:
    """C_ij of (1) for each map (row) and node (column): its block's MB times the distance from the nearest replica.

    `sizes`: B_j in MB, or amounts of a `Scale`, with its places. `replicas`: nodes with each map's block; the distance
    of a map without any is the greatest one, on every node. `nodes`: the columns, if not all nodes.
    """
    nearest = places.nearest(replicas, np.arange(len(places.place)) if nodes is None else nodes)
    with np.errstate(over="ignore"):
        costs: Floats = sizes[:, None] * nearest
    return costs


def summed_units(scale: Scale, amounts: Floats, at: Ints, row: Ints, rows: int, *, receiving: bool = False) -> Ints:
    """The costs of the entries of each of `rows` on each node, in units of `scale`.

    `amounts`, `at`, `row`: of each entry its amount in `scale`, the node of its other end, and the row in which it
    counts. `receiving`: whether the other end receives; else it sends.

    All are 2^60 if a sum is 2^53 units or more: a double of 2^53 may stand for one more.
    """
    if scale.nested is not None:
        return _summed_by_areas(scale, scale.nested, amounts, at, row, rows)
    places = scale.places.backwards() if receiving else scale.places
    nodes = len(places.place)
    weights: Floats = np.zeros((rows, nodes))
    np.add.at(weights, (row, at), amounts)
    with np.errstate(over="ignore"):
        sums = places.sums(weights)
    exactly = scale.denominator is not None
    if not (sums * (1 if exactly else scale.grid) < LARGEST).all():
        return np.full(sums.shape, 2**60, dtype=np.int64)
    if exactly:  # whole numbers, whose sums doubles represent exactly
        return sums.astype(np.int64)
    from scipy.sparse import csc_array

    # Equal sizes at one node make one product: hash partitioners send the same to many. Pairs are complex numbers.
    distinct, inverse = np.unique(at + 1j * amounts, return_inverse=True)
    counts = csc_array((np.ones(len(row), dtype=np.int64), (row, inverse)), shape=(rows, len(distinct)))
    units: Ints = np.zeros(sums.shape, dtype=np.int64)
    step = max(1, _BLOCK // max(1, nodes))
    for begin in range(0, len(distinct), step):
        part = distinct[begin : begin + step]
        products = scale.units(part.imag[:, None] * places.rows(part.real.astype(np.int64)))
        units += np.asarray(counts[:, begin : begin + step] @ products, dtype=np.int64)
    return units


def _summed_by_areas(scale: Scale, nested: NestedAreas, amounts: Floats, at: Ints, row: Ints, rows: int) -> Ints:
    """As `summed_units`: all pay for the greatest length; each area refunds what those within it pay too much."""
    nodes = nested.areas.shape[1]
    with np.errstate(over="ignore"):
        paid = scale.units(amounts[:, None] * nested.lengths)
    total = np.zeros(rows)
    np.add.at(total, row, paid[:, -1].astype(np.float64))
    if not (total < 2.0**62).all():  # some sums would overflow int64
        return np.full((rows, nodes), 2**60, dtype=np.int64)
    sums: Ints = np.zeros((rows, nodes), dtype=np.int64)
    for level, areas in enumerate((np.arange(nodes), *nested.areas)):
        less = np.zeros((rows, int(areas.max(initial=-1)) + 1), dtype=np.int64)
        longer = paid[:, level + 1] if level < len(nested.areas) else np.zeros(len(paid), dtype=np.int64)
        np.add.at(less, (row, areas[at]), paid[:, level] - longer)
        sums += less[:, areas]
    return sums if (sums < LARGEST).all() else np.full(sums.shape, 2**60, dtype=np.int64)


def too_much(grid: int) -> Fault:
    """The fault of costs that are too large to be summed exactly."""
    return Fault("", f"costs may total too much, past 2^53/{grid}; scale sizes or distances down")


#: Ways to estimate the size of a shuffle entry.
SIZES = ("actual", "emitted", "extrapolated")


def estimated_sizes(instance: Instance, sizes: str = "extrapolated") -> Floats:
    """MB of each shuffle entry, estimated in one of three ways.

    Parameters
    ----------
    instance
        With a shuffle.
    sizes
        `actual`: the final size of the entry. `emitted`: what the map has emitted so far (Shen et al.'s Coupling
        Scheduler), 0 if that is not given. `extrapolated`: equation (3), see `extrapolated`.

    Returns
    -------
    float64, shape (shuffle entries,)
        For a finished map it is always what the map has emitted.

    Raises
    ------
    MissingField
        If there is no shuffle, or a map whose output is extrapolated has no size.
    UsageError
        If there is no such way.

    Examples
    --------
    Shen et al. 2016, note 10: M1 has emitted 5 MB at 90 %, M2 1 MB at 10 %, of blocks of 100 MB.

    >>> from optsched.core.instance import Cluster, Shuffle, Workload
    >>> shuffle = Shuffle(map=[0, 1], reduce=[2, 2], size=[5.5, 10.0])
    >>> workload = Workload(["M1", "M2", "R1"], kind=[0, 0, 1], size=[100.0, 100.0, np.nan], shuffle=shuffle)
    >>> progress = {"bytes_read": [90.0, 10.0, np.nan], "emitted": [5.0, 1.0]}
    >>> instance = Instance.initial(Cluster(["D1"]), workload, **progress)
    >>> estimated_sizes(instance, "emitted").tolist(), estimated_sizes(instance).round(2).tolist()
    ([5.0, 1.0], [5.56, 10.0])
    """
    expect_known(sizes, SIZES, f"sizes={sizes!r}")
    workload, shuffle = instance.workload, instance.workload.shuffle
    if shuffle is None:
        raise MissingField([Fault("shuffle", "sizes of it are asked for")], instance.name)
    if sizes == "extrapolated":
        open_ones = shuffle.map[instance.state.status[shuffle.map] != FINISHED]
        unknown = np.unique(open_ones[np.isnan(workload.size[open_ones])]).tolist()
        if unknown:
            message = "extrapolation needs the size of the block that the map reads, in MB"
            raise MissingField([Fault(f"tasks[{task}].size", message) for task in unknown], instance.name)
    state = instance.state
    ends = shuffle.map, shuffle.reduce, shuffle.size
    return seen_sizes(workload, *ends, state.emitted, state.status, state.bytes_read, sizes)


def seen_sizes(
    workload: Workload,
    sender: Ints,
    receiver: Ints,
    size: Floats,
    emitted: Floats,
    status: Ints,
    bytes_read: Floats,
    sizes: str,
    fan_out: Ints | None = None,
    reporting: Bools | None = None,
) -> Floats:
    """As `estimated_sizes`, but from what a scheduler sees: for a running map the entry's `size` may be unknown.

    If a map's block has no size, its entry cannot be extrapolated; then it is what the map has emitted so far.

    `sender`, `receiver`, `size` and `emitted` are of entries; for `fan_out` and `reporting` see `extrapolated`.
    """
    if sizes == "actual":
        return size
    finished = (status == FINISHED)[sender]
    so_far = np.where(finished, size, np.where(np.isnan(emitted), 0.0, emitted))
    if sizes == "emitted":
        return so_far
    read = np.where(status == FINISHED, workload.size, bytes_read)
    sent = np.where(finished, size, emitted)
    estimate = extrapolated(sent, sender, receiver, workload.size, read, workload.job, fan_out, reporting)
    return np.where(finished | np.isnan(estimate), so_far, estimate)


def extrapolated(
    emitted: Floats,
    sender: Ints,
    receiver: Ints,
    size: Floats,
    bytes_read: Floats,
    job: Ints,
    fan_out: Ints | None = None,
    reporting: Bools | None = None,
) -> Floats:
    """I_jf = A_jf B_j / d_j of equation (3), with the following cases (Shen et al. 2016, note 11).

    In this order, for map j and reduce f:

    1. d_j > 0 and A_jf known: A_jf B_j / d_j, and A_jf if the map has read its block or more.
    2. Else, if other maps of its job have progressed: B_j times what these have emitted for f over what they have read.
       Maps with unknown A_jf are left out. So the split over the reduces is theirs too.
    3. Else (no map of the job has progressed, or the map has no job) a uniform guess: B_j over the number of reduces
       that the map sends to. It assumes that a map emits as much as it reads.

    Parameters
    ----------
    emitted, sender, receiver
        For each shuffle entry: A_jf in MB (NaN if unknown), index of the map, index of the reduce.
    size, bytes_read, job
        For each task: B_j and d_j in MB (NaN if unknown), and the index of its job or -1.
    fan_out, reporting
        For each task: how many reduces it sends to, and whether the amount is known for any. Needed if the entries are
        all those of only some reduces; otherwise both are derived from the entries.

    Returns
    -------
    float64, shape (entries,)
        MB, 2^53 at most.

    Examples
    --------
    Two maps of a job with blocks of 100 MB; one has read half and emitted 10 MB and 30 MB:

    >>> entries = np.array([10.0, 30.0, np.nan, np.nan]), np.array([0, 0, 1, 1]), np.array([2, 3, 2, 3])
    >>> sizes, read = np.array([100.0, 100.0, np.nan, np.nan]), np.array([50.0, np.nan, np.nan, np.nan])
    >>> extrapolated(*entries, sizes, read, np.zeros(4, dtype=np.int64)).tolist()
    [20.0, 60.0, 20.0, 60.0]
    """
    known = ~np.isnan(emitted)
    tasks = len(size)
    if fan_out is None:
        fan_out = np.bincount(sender, minlength=tasks)
    if reporting is None:
        reporting = np.zeros(tasks, dtype=bool)
        reporting[sender[known]] = True
    reads = bytes_read > 0
    progressed = known & reads[sender]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # a map may have read next to nothing
        growth = np.clip(size / bytes_read, 1.0, LARGEST)
        estimate: Floats = emitted * growth[sender]
    if progressed.all():
        return np.minimum(estimate, LARGEST)
    rest = np.flatnonzero(~progressed)
    estimate[rest] = size[sender[rest]] / fan_out[sender[rest]]
    # Like the job's maps that have progressed, except those whose output for the reduce is unknown.
    pair = np.unique(job[sender] * tasks + receiver, return_inverse=True)[1]
    counted = reporting & reads & (job >= 0)
    maps, silent = np.flatnonzero(counted), rest[counted[sender[rest]]]
    jobs = int(job.max(initial=-1)) + 2  # job -1 picks the last entry, which stays 0
    owner, ours, pairs = job[sender[rest]], pair[rest], int(pair.max(initial=-1)) + 1
    count = np.bincount(job[maps], minlength=jobs)[owner] - np.bincount(pair[silent], minlength=pairs)[ours]
    total = np.bincount(job[maps], bytes_read[maps], jobs)[owner]
    total -= np.bincount(pair[silent], bytes_read[sender[silent]], pairs)[ours]
    emitted_for = np.bincount(pair[progressed], emitted[progressed], pairs)[ours]
    typical = (count > 0) & (total > 0)
    block = size[sender[rest[typical]]]
    with np.errstate(over="ignore"):
        estimate[rest[typical]] = block * emitted_for[typical] / total[typical]
    return np.minimum(estimate, LARGEST)
