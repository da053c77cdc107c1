"""The compact program of `makespan` and `job-times` as arrays for HiGHS: what `optsched.models.schedules` has by names.

Its columns are how many tasks of each class are counted in which group, the starts, how many tasks of each job and kind
have ended by when, and what is over or has begun by when.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from optsched.arrays import Floats, Ints
from optsched.deadline import check
from optsched.instance import MAP, REDUCE
from optsched.problems.job_times import JobTimes
from optsched.problems.schedules import ScheduleProblem
from optsched.schedule import Schedule
from optsched.searches.timetable import Timetable
from optsched.searches.timetable_counts import Counts, counts_of, dealt
from optsched.solvers.highs import LinearProgram

__all__ = ["ScheduleProgram"]


class ScheduleProgram:
    """The program, in ticks, and what its solutions stand for.

    Attributes
    ----------
    table
        What is told apart.
    program
        For `optsched.solvers.highs.solve_arrays`.

    Raises
    ------
    TooLarge
        As `Timetable` says.
    """

    def __init__(self, problem: ScheduleProblem) -> None:
        self.table = table = Timetable(problem)
        self._upper: list[float] = []
        self._whole: list[bool] = []
        self._cost: dict[int, float] = {}
        self._offset = 0.0
        self._entries: list[tuple[Ints, Ints, Floats]] = []
        self._limits: list[tuple[float, float]] = []
        self._counted = [(number, group) for number, each in enumerate(table.classes) for group in each.groups]
        sizes = [len(table.classes[number].members) for number, _ in self._counted]
        self._columns(sizes)
        self._most = np.zeros(len(table.groups), dtype=np.int64)
        np.add.at(self._most, [group for _, group in self._counted], sizes)
        self._add_starts()
        self._add_counted()
        self._ticks: dict[tuple[int, int], Ints] = {}
        self._ended: dict[tuple[int, int], Ints] = {}
        self._add_ended()
        self._maps_over: dict[tuple[int, int], int] = {}
        self._begun: dict[tuple[int, int], tuple[int, int]] = {}
        self._add_slots()
        self._add_order()
        self._over: list[tuple[int, list[int], int]] = []  # column, jobs, tick
        if isinstance(problem, JobTimes):
            self._add_job_times(problem)
        else:
            self._add_makespan()
        self.program = self._program()

    def _columns(self, upper: Sequence[float], whole: bool = True) -> Ints:
        """New columns from 0 to these bounds."""
        begin = len(self._upper)
        self._upper += upper
        self._whole += [whole] * len(upper)
        return np.arange(begin, len(self._upper))

    def _row(self, columns: Sequence[int] | Ints, values: Sequence[float], lower: float, upper: float) -> int:
        """A new row; the last of `values` is that of all other columns, and what is left over is not needed."""
        number, filled = len(self._limits), [*values, *[values[-1]] * len(columns)][: len(columns)]
        self._entries.append(
            (np.full(len(columns), number), np.asarray(columns, dtype=np.int64), np.array(filled, dtype=np.float64))
        )
        self._limits.append((lower, upper))
        return number

    def _add_starts(self) -> None:
        """Columns of starts: of each group and pool one after another."""
        table = self.table
        self._starts: dict[tuple[int, int], Ints] = {}
        for number, group in enumerate(table.groups):
            for pool in table.pools_of[number]:
                most = min(self._most[number], table.pools[pool].room) if group.time else self._most[number]
                self._starts[number, pool] = self._columns([float(most)] * len(table.starts[number]))

    def _add_counted(self) -> None:
        """Each task is counted in a group, and as many start."""
        own: list[list[int]] = [[] for _ in self.table.classes]
        into: list[list[int]] = [[] for _ in self.table.groups]
        for column, (number, group) in enumerate(self._counted):
            own[number].append(column)
            into[group].append(column)
        for columns, each in zip(own, self.table.classes, strict=True):
            self._row(columns, [1], len(each.members), len(each.members))
        for group, columns in enumerate(into):
            starts = np.concatenate([self._starts[group, pool] for pool in self.table.pools_of[group]])
            self._row([*columns, *starts.tolist()], [1] * len(columns) + [-1], 0, 0)

    def _add_ended(self) -> None:
        """How many have ended by each tick at which one may."""
        keys = sorted({(group.job, group.kind) for group in self.table.groups})
        by_key: dict[tuple[int, int], list[tuple[Ints, Ints]]] = {key: [] for key in keys}
        for (number, _), columns in self._starts.items():
            group = self.table.groups[number]
            by_key[group.job, group.kind].append((columns, self.table.starts[number] + group.time))
        self._by_end: dict[tuple[int, int], list[Ints]] = {}
        for key, held in by_key.items():
            columns, ends = (np.concatenate(parts) for parts in zip(*held, strict=True))
            order = np.argsort(ends, kind="stable")
            ticks, begin = np.unique(ends[order], return_index=True)
            self._ticks[key] = ticks
            self._by_end[key] = np.split(columns[order], begin[1:])
            chain = self._ended[key] = self._columns([np.inf] * len(ticks), whole=False)
            for place, starts in enumerate(self._by_end[key]):
                before = chain[place - 1 : place] if place else chain[:0]
                self._row([chain[place], *before, *starts], [1, *[-1] * len(before), -1], 0, 0)

    def _by(self, job: int, kind: int, tick: int) -> list[int]:
        """The column of how many have ended by a tick, or none where none has."""
        place = int(np.searchsorted(self._ticks[job, kind], tick, side="right")) - 1
        return [] if place < 0 else [int(self._ended[job, kind][place])]

    def _add_slots(self) -> None:
        """Room of each pool wherever a task may start."""
        for number, pool in enumerate(self.table.pools):
            check()
            held = [
                (self._starts[group, number], self.table.starts[group], self.table.groups[group].time)
                for group in pool.groups
                if self.table.groups[group].time
            ]
            ticks = np.unique(np.concatenate([starts for _, starts, _ in held] or [np.zeros(0, dtype=np.int64)]))
            over = [
                [self._over_by(job, tick) for until, job in pool.held if until <= tick and job >= 0]
                for tick in ticks.tolist()  # first, since these columns have rows of their own
            ]
            base = len(self._limits)
            for tick, waiting in zip(ticks.tolist(), over, strict=True):
                self._row(waiting, [-1], -np.inf, pool.free(tick) - len(waiting))
            for columns, starts, time in held:
                begin, end = np.searchsorted(ticks, starts), np.searchsorted(ticks, starts + time)
                length = end - begin
                rows = np.repeat(base + begin - np.cumsum(length) + length, length) + np.arange(length.sum())
                self._entries.append((rows, np.repeat(columns, length), np.ones(len(rows))))

    def _over_by(self, job: int, tick: int) -> int:
        """The column that is 1 only if all maps of a job have ended by a tick."""
        if (job, tick) not in self._maps_over:
            maps = self.table.maps[job]
            column = int(self._columns([float(tick >= maps.last)])[0])
            self._maps_over[job, tick] = column
            self._row([column, *self._by(job, MAP, tick)], [maps.pending, -1], -np.inf, 0)
        return self._maps_over[job, tick]

    def _add_order(self) -> None:
        """Reduces start when enough maps have ended, and end when all have."""
        begins: dict[tuple[int, int], list[int]] = {}
        most: dict[int, int] = {}
        for number, group in enumerate(self.table.groups):
            if group.kind == REDUCE and self.table.maps[group.job].pending:
                for pool in self.table.pools_of[number]:
                    for tick, column in zip(
                        self.table.starts[number].tolist(), self._starts[number, pool], strict=True
                    ):
                        begins.setdefault((group.job, tick), []).append(int(column))
        for each in self.table.classes:
            most[each.job] = most.get(each.job, 0) + len(each.members) * (each.kind == REDUCE)
        for (job, tick), columns in begins.items():
            needed = self.table.maps[job].still_needed(tick)
            if needed:
                column = int(self._columns([1.0])[0])
                self._begun[job, tick] = column, needed
                self._row([column, *self._by(job, MAP, tick)], [needed, -1], -np.inf, 0)
                self._row([column, *columns], [-most[job], 1], -np.inf, 0)
        for job, kind in self._ticks:
            if kind == REDUCE and self.table.maps[job].pending:
                for tick, ending in zip(self._ticks[job, kind].tolist(), self._by_end[job, kind], strict=True):
                    self._row([self._over_by(job, tick), *ending], [-most[job], 1], -np.inf, 0)

    # Objectives -----------------------------------------------------------------------------------------------------

    def _pending(self, job: int) -> tuple[int, int]:
        """The kind of the last pending tasks of a job, and how many they are; 0 where none is pending."""
        for kind in (REDUCE, MAP):
            if (job, kind) in self._ticks:
                held = [len(each.members) for each in self.table.classes if (each.job, each.kind) == (job, kind)]
                return kind, sum(held)
        return MAP, 0

    def _add_over(self, jobs: list[int], earliest: int, ticks: Ints, weight: float) -> None:
        """Count the ticks until some jobs have ended, by columns that are 1 from then on."""
        self._offset += weight * earliest
        after = [earliest, *ticks[ticks > earliest].tolist()]
        for tick, later in pairwise(after):
            column = int(self._columns([1.0])[0])
            self._cost[column] = -weight * (later - tick)
            self._offset += weight * (later - tick)
            self._over.append((column, jobs, tick))
            for job in jobs:
                kind, count = self._pending(job)
                if count and tick < self._ticks[job, kind][-1]:
                    self._row([column, *self._by(job, kind, tick)], [count, -1], -np.inf, 0)

    def _add_job_times(self, problem: JobTimes) -> None:
        """Weighted job times."""
        since = ((problem.jobs.arrival - problem.now) / self.table.step).tolist()
        for job, (weight, arrival) in enumerate(zip(map(float, problem.weights), since, strict=True)):
            self._offset -= weight * arrival
            kind, count = self._pending(job)
            ticks = self._ticks[job, kind] if count else np.zeros(0, dtype=np.int64)
            self._add_over([job], self.table.earliest[job], ticks, weight)

    def _add_makespan(self) -> None:
        """The last end, and the area of each pool, which it bounds."""
        ticks = np.unique(np.concatenate([*self._ticks.values(), np.zeros(0, dtype=np.int64)]))
        self._add_over(list(range(len(self.table.earliest))), max(self.table.earliest, default=0), ticks, 1.0)
        for number, pool in enumerate(self.table.pools) if self._cost else ():
            parts = [(self._starts[group, number], self.table.groups[group].time) for group in pool.groups]
            columns = np.concatenate([*(starts for starts, _ in parts), np.array(list(self._cost))])
            times = [time for starts, time in parts for _ in starts]
            gaps = [-pool.room * cost for cost in self._cost.values()]
            busy = sum(until for until, _ in pool.held)
            self._row(columns, [*times, *gaps], -np.inf, pool.room * self._offset - busy)

    def _program(self) -> LinearProgram:
        """All of it."""
        nothing = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))
        rows, columns, values = (np.concatenate(parts) for parts in zip(*self._entries, nothing, strict=True))
        shape = (len(self._limits), len(self._upper))
        cost = np.zeros(shape[1])
        cost[list(self._cost)] = list(self._cost.values())
        lower, upper = np.array(self._limits, dtype=np.float64).reshape(-1, 2).T
        return LinearProgram(
            objective=cost,
            col_lower=np.zeros(shape[1]),
            col_upper=np.array(self._upper, dtype=np.float64),
            integer=np.array(self._whole, dtype=bool),
            row_lower=lower,
            row_upper=upper,
            matrix=sp.coo_array((values, (rows, columns)), shape=shape).tocsr(),
            offset=self._offset,
        )

    # Solutions ------------------------------------------------------------------------------------------------------

    def decode(self, values: Floats) -> Schedule:
        """The schedule that a solution stands for."""
        whole = np.rint(values).astype(np.int64)
        counted = {key: int(whole[column]) for column, key in enumerate(self._counted) if whole[column]}
        starts = {
            (group, pool, int(self.table.starts[group][place])): int(whole[columns[place]])
            for (group, pool), columns in self._starts.items()
            for place in np.flatnonzero(whole[columns]).tolist()
        }
        return dealt(self.table, Counts(counted, starts))

    def start(self, schedule: Schedule) -> Floats:
        """A schedule as a solution to start from."""
        counts, found = counts_of(self.table, schedule), np.zeros(len(self._upper))
        for column, key in enumerate(self._counted):
            found[column] = counts.counted.get(key, 0)
        for (group, pool, tick), count in counts.starts.items():
            found[self._starts[group, pool][int(np.searchsorted(self.table.starts[group], tick))]] = count
        for key, starting in self._by_end.items():
            found[self._ended[key]] = np.cumsum([found[columns].sum() for columns in starting])
        for (job, tick), column in self._maps_over.items():
            maps = self.table.maps[job]
            found[column] = tick >= maps.last and found[self._by(job, MAP, tick)].sum() >= maps.pending
        for (job, tick), (column, needed) in self._begun.items():
            found[column] = found[self._by(job, MAP, tick)].sum() >= needed
        for column, jobs, tick in self._over:
            found[column] = all(self._is_over(found, job, tick) for job in jobs)
        return found

    def _is_over(self, found: Floats, job: int, tick: int) -> bool:
        """Whether a job has ended by a tick in a solution."""
        kind, count = self._pending(job)
        return not count or bool(found[self._by(job, kind, tick)].sum() >= count)
