"""What the maps of each job send to its reduces, for `traffic`: in MB as in the instance, and in whole units."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np

from optsched.core.arrays import grouped
from optsched.core.decimals import FINEST, common_denominator, decimal, for_each
from optsched.core.instance import FINISHED, MAP, PENDING, RUNNING, Bools, Floats, Instance, Ints


@dataclass(frozen=True, eq=False, slots=True)
class Bundle:
    """Reduces of a job that go to one datacenter together: all of them, or each by itself with `reduces=free`.

    `reduces`: their positions in `Traffic.reduces`. `send`: units that each of the job's maps sends to all of them
    together, shape (maps of the job,). `settled`: units that running and ended maps send across, with the bundle in
    each datacenter, shape (datacenters,).
    """

    reduces: Ints
    send: Ints
    settled: Ints


@dataclass(frozen=True, eq=False, slots=True)
class Job:
    """The tasks to place of a job. All tasks without a job form one, called "", without traffic.

    `maps`: their positions in `Traffic.maps`.
    """

    name: str
    maps: Ints
    bundles: tuple[Bundle, ...]


class Exchanging:
    """Which tasks and jobs exchange data with a pending task: masks that `missing` and `sent_by_job` share.

    For tasks: `pending`; maps that send to a relevant reduce (`sending`); maps whose size matters (`sized`). For jobs:
    those with a map that sends (`exchanging`), and those whose maps send by `filter_ratio` (`by_ratio`).
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

    Without `column` each entry goes to every reduce. Rows are the job's pending maps, then its running and ended ones
    (`settled`); columns are its pending reduces, then its running ones. All keep the order of the instance.
    """

    job: int
    maps: Ints
    settled: Ints
    reduces: Ints
    running: Ints
    row: Ints
    column: Ints | None
    size: Floats
    part: Fraction

    @property
    def megabytes(self) -> float:
        copies = len(self.reduces) + len(self.running) if self.column is None else 1
        return float(self.size.sum()) * float(self.part) * copies

    def exchanged(self) -> Floats:
        """The data that is sent, MB, each entry once."""
        return self.size * float(self.part)

    def denominator(self) -> int | None:
        """The common denominator of all amounts that are sent; None if it is above `FINEST`."""
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
        shape = len(self.maps) + len(self.settled), len(self.reduces) + len(self.running)
        units = np.zeros(shape, dtype=np.int64)
        sent = for_each(self.size, lambda size: round(size * self.part * grid))
        if self.column is None:
            units[self.row] = sent[:, None]
        else:
            np.add.at(units, (self.row, self.column), sent)
        return units


def common_grid(sizes: Floats, sent: Iterable[Sent]) -> int:
    """The common denominator of sizes and of amounts sent; `FINEST` if it would be larger."""
    common = 1
    for found in (common_denominator(sizes), *(part.denominator() for part in sent)):
        common = lcm(common, found or FINEST + 1)
        if common > FINEST:
            return FINEST
    return common


def sent_by_job(instance: Instance) -> Iterator[Sent]:
    """What the maps of each job with a pending task send to its reduces, if a pending task takes part in it.

    All tasks without a job are one job, -1, which sends nothing.
    """
    workload, status, shuffle = instance.workload, instance.state.status, instance.workload.shuffle
    who, position = Exchanging(instance), np.zeros(len(workload), dtype=np.int64)
    for job, members in grouped(workload.job):
        pending, is_map = who.pending[members], workload.kind[members] == MAP
        if not pending.any():
            continue
        maps, settled = members[is_map & pending], members[is_map & ~pending]
        reduces, running = members[~is_map & pending], members[~is_map & (status[members] == RUNNING)]
        rows, columns = np.concatenate([maps, settled]), np.concatenate([reduces, running])
        tasks = job, maps, settled, reduces, running
        if job >= 0 and who.by_ratio[job]:
            row = np.flatnonzero(who.sending[rows])
            part = decimal(workload.filter_ratio[job]) / int(np.count_nonzero(~is_map))
            yield Sent(*tasks, row, None, workload.size[rows[row]], part)
        elif job >= 0 and who.exchanging[job] and shuffle is not None:
            own = (workload.job[shuffle.map] == job) & (status[shuffle.reduce] != FINISHED)
            position[rows], position[columns] = np.arange(len(rows)), np.arange(len(columns))
            yield Sent(
                *tasks, position[shuffle.map[own]], position[shuffle.reduce[own]], shuffle.size[own], Fraction(1)
            )
        else:
            none = np.zeros(0, dtype=np.int64)
            yield Sent(*tasks, none, none, none.astype(np.float64), Fraction(1))


def across(units: Ints, where: Ints, count: int) -> Ints:
    """The traffic of each row of `units` for each of `count` datacenters, if column i is settled at `where[i]`."""
    inside = np.zeros((len(units), count), dtype=np.int64)
    for column, center in enumerate(where.tolist()):
        inside[:, center] += units[:, column]
    across: Ints = units.sum(axis=1)[:, None] - inside
    return across
