"""What the maps of each job send to its reduces, for `traffic`: in MB as the instance has it, and in whole units."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np

from optsched.core.arrays import grouped
from optsched.core.decimals import FINEST, common_denominator, decimal, for_each
from optsched.core.instance import FINISHED, MAP, PENDING, RUNNING, Bools, Floats, Instance, Ints


@dataclass(frozen=True, eq=False, slots=True)
class Bundle:
    """Reduces of a job that go to one datacenter together: all of them, or each alone with `reduces=free`.

    Attributes
    ----------
    reduces
        Their places in `Traffic.reduces`; int64.
    send
        Units that each of the job's maps sends to them all together; int64, shape (maps of the job,).
    settled
        Units that the maps which run or have ended send across, with the bundle in each datacenter; int64, shape
        (datacenters,).
    """

    reduces: Ints
    send: Ints
    settled: Ints


@dataclass(frozen=True, eq=False, slots=True)
class Job:
    """The tasks of a job that are to be placed. All tasks without a job make one, called "", without traffic.

    Attributes
    ----------
    name
        Its id.
    maps
        Their places in `Traffic.maps`; int64.
    bundles
        Its reduces.
    """

    name: str
    maps: Ints
    bundles: tuple[Bundle, ...]


class Exchanging:
    """Which tasks and jobs exchange data with a pending task: masks that `missing` and `sent_by_job` share.

    Attributes
    ----------
    pending
        bool, shape (tasks,).
    sending
        bool, shape (tasks,): maps that a reduce which matters receives from.
    sized
        bool, shape (tasks,): maps whose size matters.
    by_ratio
        bool, shape (jobs,): jobs whose maps send by `filter_ratio`.
    """

    def __init__(self, instance: Instance) -> None:
        workload, status, job = instance.workload, instance.state.status, instance.workload.job
        is_map, jobs = workload.kind == MAP, len(workload.job_ids)
        self.pending = status == PENDING

        def having(tasks: Bools) -> Bools:
            return np.bincount(job[tasks & (job >= 0)], minlength=jobs) > 0

        def of(jobs_: Bools) -> Bools:
            picked: Bools = np.append(jobs_, False)[job]  # a task without a job picks the last entry
            return picked

        waiting, live = having(~is_map & self.pending), having(~is_map & (status != FINISHED))
        self.sending = is_map & np.where(self.pending, of(live), of(waiting))
        listed = np.zeros(jobs, dtype=bool)
        if workload.shuffle is not None:
            ends = job[workload.shuffle.map]
            listed[ends[ends >= 0]] = True
        self.exchanging = having(self.sending)
        self.by_ratio = self.exchanging & ~listed
        self.sized = (is_map & self.pending) | (self.sending & of(self.by_ratio))


@dataclass(frozen=True, eq=False, slots=True)
class Sent:
    """What the maps of a job send to its reduces: an entry is `size` MB times `part`, from map `row` to `column`.

    Without `column` each entry goes to every reduce. Rows are the job's pending maps and then those that run or have
    ended; columns are its pending reduces and then those that run. Both keep the order of the instance.
    """

    shape: tuple[int, int]
    row: Ints
    column: Ints | None
    size: Floats
    part: Fraction

    @property
    def megabytes(self) -> float:
        return float(self.size.sum()) * float(self.part) * (self.shape[1] if self.column is None else 1)

    def exchanged(self) -> Floats:
        """The data that is sent, MB, each entry once."""
        return self.size * float(self.part)

    def denominator(self) -> int | None:
        """The common denominator of all that is sent; None where it is above `FINEST`."""
        if self.part == 1:
            return common_denominator(self.size)
        common = 1
        for size in np.unique(self.size).tolist():
            common = lcm(common, (decimal(size) * self.part).denominator)
            if common > FINEST:
                return None
        return common

    def units(self, grid: int) -> Ints:
        """The units that each map sends to each reduce, int64, in 1/`grid` MB."""
        units = np.zeros(self.shape, dtype=np.int64)
        sent = for_each(self.size, lambda size: round(size * self.part * grid))
        if self.column is None:
            units[self.row] = sent[:, None]
        else:
            np.add.at(units, (self.row, self.column), sent)
        return units


def common_grid(sizes: Floats, sent: Iterable[Sent]) -> int:
    """The common denominator of sizes and of what is sent, `FINEST` where it is above that."""
    common = 1
    for found in (common_denominator(sizes), *(part.denominator() for part in sent)):
        common = lcm(common, found or FINEST + 1)
        if common > FINEST:
            return FINEST
    return common


def sent_by_job(instance: Instance) -> dict[int, Sent]:
    """The data that the maps of each job send to its reduces, where a pending task sends or receives."""
    workload, status = instance.workload, instance.state.status
    who = Exchanging(instance)
    position = np.zeros(len(workload), dtype=np.int64)
    sent: dict[int, Sent] = {}
    for job, members in grouped(workload.job):
        if job < 0 or not who.exchanging[job]:
            continue
        is_map = workload.kind[members] == MAP
        maps = members[is_map]
        maps = np.concatenate([maps[status[maps] == PENDING], maps[status[maps] != PENDING]])
        every = members[~is_map]
        reduces = np.concatenate([every[status[every] == PENDING], every[status[every] == RUNNING]])
        if who.by_ratio[job]:
            sending = np.flatnonzero(who.sending[maps])
            part = decimal(workload.filter_ratio[job]) / len(every)
            sent[job] = Sent((len(maps), len(reduces)), sending, None, workload.size[maps[sending]], part)
            continue
        shuffle = workload.shuffle
        assert shuffle is not None  # else the job is not listed in it
        own = (workload.job[shuffle.map] == job) & (status[shuffle.reduce] != FINISHED)
        position[maps], position[reduces] = np.arange(len(maps)), np.arange(len(reduces))
        row, column = position[shuffle.map[own]], position[shuffle.reduce[own]]
        sent[job] = Sent((len(maps), len(reduces)), row, column, shuffle.size[own], Fraction(1))
    return sent


def across(units: Ints, where: Ints, count: int) -> Ints:
    """The traffic of each row of `units` and each of `count` datacenters, if column i is settled at `where[i]`."""
    inside = np.zeros((len(units), count), dtype=np.int64)
    for column, center in enumerate(where.tolist()):
        inside[:, center] += units[:, column]
    across: Ints = units.sum(axis=1)[:, None] - inside
    return across
