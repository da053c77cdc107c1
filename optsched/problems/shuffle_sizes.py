"""Estimates how much each map will send to each reduce, as a scheduler can know it: Shen et al. 2016, equation (3).

The problems evaluate the true sizes; these estimates are what heuristics decide by.
"""

from __future__ import annotations

import numpy as np

from optsched.core.errors import Fault, MissingField, UsageError, nearest
from optsched.core.instance import FINISHED, LARGEST, Bools, Floats, Instance, Ints, Workload

__all__ = ["SIZES", "estimated_sizes", "extrapolated", "seen_sizes"]

#: Ways to tell the size of a shuffle entry.
SIZES = ("actual", "emitted", "extrapolated")


def estimated_sizes(instance: Instance, sizes: str = "extrapolated") -> Floats:
    """MB of each shuffle entry, estimated in one of three ways.

    Parameters
    ----------
    instance
        With a shuffle.
    sizes
        `actual`: what the entry will have been in the end. `emitted`: what the map has emitted so far (Shen et al.'s
        Coupling Scheduler), 0 where that is not given. `extrapolated`: equation (3), see `extrapolated`.

    Returns
    -------
    float64, shape (shuffle entries,)
        For a finished map it is what the map has emitted, whichever way.

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
    if sizes not in SIZES:
        raise UsageError(f"sizes={sizes!r}; {nearest(sizes, SIZES)}")
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
    """As `estimated_sizes`, but from what a scheduler sees: for a running map the entry's `size` need not be known.

    What cannot be extrapolated, since the map's block has no size, is what the map has emitted so far.

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
    """I_jf = A_jf B_j / d_j of equation (3); what it leaves open is settled as below (Shen et al. 2016, note 11).

    In this order, for map j and reduce f:

    1. d_j > 0 and A_jf known: A_jf B_j / d_j, and A_jf where the map has read its block or more.
    2. Else, if other maps of its job have progressed: B_j times what these have emitted for f over what they have read.
       Maps whose A_jf is not known are left out. So the split over the reduces is theirs too.
    3. Else (no map of the job has progressed, or the map has no job) a uniform guess: B_j over the number of reduces
       that the map sends to. It supposes that a map emits as much as it reads.

    Parameters
    ----------
    emitted, sender, receiver
        Of each shuffle entry: A_jf in MB (NaN where unknown), index of the map, index of the reduce.
    size, bytes_read, job
        Of each task: B_j and d_j in MB (NaN where unknown), and the index of its job or -1.
    fan_out, reporting
        Of each task: how many reduces it sends to, and whether it is known of any how much. To be given where the
        entries are those of some reduces only, and all of each of them; else both are seen in the entries.

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
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # next to nothing may have been read
        growth = np.clip(size / bytes_read, 1.0, LARGEST)
        estimate: Floats = emitted * growth[sender]
    if not progressed.all():
        rest = np.flatnonzero(~progressed)
        estimate[rest] = size[sender[rest]] / fan_out[sender[rest]]
        _take_as_job(
            estimate, rest, emitted, sender, _pairs(job[sender], receiver), size, bytes_read, job, reporting & reads
        )
    return np.minimum(estimate, LARGEST)


def _take_as_job(
    estimate: Floats,
    rest: Ints,
    emitted: Floats,
    sender: Ints,
    pair: Ints,
    size: Floats,
    bytes_read: Floats,
    job: Ints,
    progressed: Bools,
) -> None:
    """Estimate the `rest` of the entries as what the maps of the job have emitted that have progressed (of each task).

    Maps whose output for a reduce is not known do not count for it.
    """
    progressed = progressed & (job >= 0)
    maps = np.flatnonzero(progressed)
    jobs = int(job.max(initial=-1)) + 2  # job -1 picks the last place, which stays 0
    pairs = int(pair.max(initial=-1)) + 1
    silent = rest[progressed[sender[rest]]]  # of a map that has progressed only what is not known is left
    owner, ours = job[sender[rest]], pair[rest]
    count = np.bincount(job[maps], minlength=jobs)[owner] - np.bincount(pair[silent], minlength=pairs)[ours]
    total = np.bincount(job[maps], bytes_read[maps], jobs)[owner]
    total -= np.bincount(pair[silent], bytes_read[sender[silent]], pairs)[ours]
    counted = np.ones(len(emitted), dtype=bool)
    counted[rest] = False
    emitted_for = np.bincount(pair[counted], emitted[counted], pairs)[ours]
    typical = (count > 0) & (total > 0)
    block = size[sender[rest[typical]]]
    with np.errstate(over="ignore"):
        estimate[rest[typical]] = block * emitted_for[typical] / total[typical]


def _pairs(owner: Ints, receiver: Ints) -> Ints:
    """A number for each pair of the job of the map and the reduce, the same wherever both are.

    >>> _pairs(np.array([7, 7, 8, 8]), np.array([5, 6, 5, 6])).tolist()
    [2, 3, 0, 1]
    """
    tasks = int(receiver.max(initial=-1)) + 1
    number, one_of = np.zeros(tasks, dtype=np.int64), np.zeros(tasks, dtype=np.int64)
    number[receiver], one_of[receiver] = 1, owner  # most reduces get from maps of a single job
    receivers = int(number.sum())
    pair = (np.cumsum(number) - 1)[receiver]
    others = np.flatnonzero(owner != one_of[receiver])
    if len(others):
        pair[others] = receivers + np.unique(owner[others] * tasks + receiver[others], return_inverse=True)[1]
    return pair
