"""A day of a cluster: jobs that come more often at noon than at midnight, and read files of which some are popular.

It is nobody's experiment. What it is like is told of clusters by Chen, Alspaugh and Katz (Interactive analytical
processing in big data systems, VLDB 2012): few jobs have most of the tasks, arrivals follow the hours of the day, and
how often files are read falls as a power of their rank. The figures are assumed.
"""

from __future__ import annotations

import math

import numpy as np

from optsched.instance import MAP, REDUCE, Cluster, Floats, Ints, Ragged, State, Workload
from optsched.instances.families.base import Drawn, Family, Setting, require, require_distinct
from optsched.instances.families.sampling import dealt, distinct_nodes, in_blocks, numbered, zipf_weights

__all__ = ["FAMILIES"]

#: Jobs read one of so many files each: one file for three jobs.
_JOBS_A_FILE = 3

#: Standard deviation of the logarithm of the seconds that a task of a job takes.
_SPREAD = 0.7

#: The hours after which arrivals begin anew.
_DAY = 24.0


def _day(
    rng: np.random.Generator,
    *,
    nodes: int,
    tasks: int,
    reduces: int,
    jobs: int,
    racks: int,
    replicas: int,
    slots: int,
    reduce_slots: int,
    hours: float,
    load: float,
    swing: float,
    factors: tuple[float, ...],
) -> Drawn:
    """Block k of a job is block k of its file; times by locality are those on the data times the factors."""
    require_distinct(replicas, nodes)
    require(racks <= nodes, f"racks is {racks}; it must be at most nodes")
    require(len(factors) == 3, f"factors has {len(factors)} numbers; it takes three: node, rack, off-rack")
    cluster = Cluster(
        numbered("n", nodes),
        rack=in_blocks(nodes, racks),
        rack_ids=numbered("r", racks),
        slots=np.full(nodes, slots),
        reduce_slots=np.full(nodes, reduce_slots),
    )
    job = np.concatenate((dealt(rng, tasks, jobs), dealt(rng, reduces, jobs)))
    reduce = np.arange(len(job)) >= tasks
    counts = np.bincount(job[:tasks], minlength=jobs)
    seconds = _seconds(rng, counts, load * nodes * slots * hours * 3600)
    workload = Workload(
        np.concatenate((numbered("m", tasks), numbered("s", reduces))),
        kind=np.where(reduce, REDUCE, MAP),
        job=job,
        replicas=_replicas(rng, counts, job[:tasks], replicas, nodes).padded(reduces),
        times=np.where(reduce[:, None], np.nan, seconds[job][:, None] * np.asarray(factors)),
        duration=np.where(reduce, seconds[job], np.nan),
        job_ids=numbered("j", jobs),
        arrival=_arrivals(rng, jobs, hours, swing),
    )
    labels = {
        "times": "assumed: log-normal, alike in a job, scaled to the load; no experiment of a paper",
        "arrivals": "assumed: a Poisson process, least at midnight and greatest at noon",
        "blocks": "assumed: files by popularity, replicas on different nodes at random",
    }
    return Drawn(cluster, workload, State.initial(cluster, workload), labels)


def _seconds(rng: np.random.Generator, counts: Ints, work: float) -> Floats:
    """Of each job the whole seconds, one or more, of a task on its data, so that all its maps are near `work` seconds;
    shape (jobs,).
    """
    drawn: Floats = rng.lognormal(0.0, _SPREAD, size=len(counts))
    total = float(drawn @ counts)
    return np.maximum(1, (drawn * (work / total if total else 1)).round())


def _replicas(rng: np.random.Generator, counts: Ints, job: Ints, replicas: int, nodes: int) -> Ragged:
    """The nodes of the block of each map; jobs that read the same file share its blocks from the first on."""
    files = math.ceil(len(counts) / _JOBS_A_FILE)
    popular = np.cumsum(zipf_weights(rng, files, 1.0))
    file = np.searchsorted(popular, rng.integers(0, popular[-1], size=len(counts)), side="right")
    length = np.zeros(files, dtype=np.int64)
    np.maximum.at(length, file, counts)
    held = distinct_nodes(rng, np.full(int(length.sum()), replicas), nodes).values.reshape(-1, replicas)
    within = np.arange(len(job)) - (np.cumsum(counts) - counts)[job]
    block = (np.cumsum(length) - length)[file[job]] + within
    return Ragged.of_lengths(np.full(len(job), replicas), held[block].ravel())


def _arrivals(rng: np.random.Generator, jobs: int, hours: float, swing: float) -> Floats:
    """When jobs arrive, in seconds to the millisecond: so many points of a Poisson process, whose rate goes as
    1 - swing cos(2 pi t / 24 h).
    """
    at = np.linspace(0, hours, 1 + math.ceil(60 * hours))
    passed = at - swing * _DAY / (2 * math.pi) * np.sin(2 * math.pi * at / _DAY)
    drawn = np.sort(np.interp(rng.random(jobs) * passed[-1], passed, at))
    arrival: Floats = (drawn * 3600).round(3)
    return arrival


FAMILIES = (
    Family(
        "day",
        "",
        "Jobs that arrive over a day, more of them at noon, and read popular files; times by locality.",
        {
            "nodes": Setting(10, "nodes", 1, 10**6),
            "tasks": Setting(1200, "maps"),
            "reduces": Setting(120, "reduces", 0, 10**6),
            "jobs": Setting(120, "jobs; the share of each falls as 1 over its rank", 1, 10**6),
            "racks": Setting(2, "racks", 1, 10**6),
            "replicas": Setting(3, "replicas of a block", 1, 1000),
            "slots": Setting(2, "map slots of each node", 1, 1000),
            "reduce_slots": Setting(1, "reduce slots of each node", 0, 1000),
            "hours": Setting(24.0, "hours in which jobs arrive", 0.01, 10**4),
            "load": Setting(0.7, "share of the map slots that maps on their data hold over these hours", 0.01, 100),
            "swing": Setting(0.8, "how much arrivals change over the day: 0 evenly, 1 none at midnight", 0, 1),
            "factors": Setting(
                (1.0, 1.2, 1.6), "how many times as long a map takes on its data, in its rack, beyond", 0.01, 1000
            ),
        },
        _day,
    ),
)
