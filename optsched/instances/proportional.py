"""The shuffle that a hash partitioner would make: each reduce fetches from each map in proportion to the map's output.

Neither traces nor papers record who sends what to whom, only what each map gives out or each reduce takes in. Whoever
uses this labels it as assumed.
"""

from __future__ import annotations

import numpy as np

from optsched.instance import Floats, Ints, Shuffle

__all__ = ["ASSUMED", "proportional_shuffle"]

#: What the label of such a shuffle says.
ASSUMED = "assumed: what a reduce takes in comes from the maps of its job in proportion to what each gives out"


def proportional_shuffle(map_job: Ints, output: Floats, reduce_job: Ints, received: Floats) -> Shuffle:
    """What each map sends to each reduce of its job, with the maps numbered first and the reduces after them.

    Parameters
    ----------
    map_job, output
        Job of each map, and what it gives out, in any unit; shape (maps,). Where all of a job's are 0, they are taken
        as equal.
    reduce_job, received
        Job of each reduce, and what it takes in, MB; shape (reduces,).

    Returns
    -------
    Shuffle
        One entry for each pair of a job, map after map; sizes to the byte.

    Examples
    --------
    >>> shuffle = proportional_shuffle(np.array([0, 0]), np.array([1.0, 3.0]), np.array([0]), np.array([8.0]))
    >>> shuffle.reduce.tolist(), shuffle.size.tolist()
    ([2, 2], [2.0, 6.0])
    """
    jobs = 1 + int(max(map_job.max(initial=-1), reduce_job.max(initial=-1)))
    whole = np.bincount(map_job, output, minlength=jobs)
    weight = np.where(whole[map_job] > 0, output, 1.0)
    whole = np.bincount(map_job, weight, minlength=jobs)
    order = np.argsort(reduce_job, kind="stable")
    fan = np.bincount(reduce_job, minlength=jobs)
    first = np.cumsum(fan) - fan
    sender = np.repeat(np.arange(len(map_job)), fan[map_job])
    rank = np.arange(len(sender)) - np.repeat(np.cumsum(fan[map_job]) - fan[map_job], fan[map_job])
    receiver = order[first[map_job[sender]] + rank]
    size = np.round(received[receiver] * weight[sender] / whole[map_job[sender]], 6)
    return Shuffle(sender, len(map_job) + receiver, size)
