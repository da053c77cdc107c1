"""The compact program of `latency` at a fixed limit (Agosta et al., note 4), and the prices that its relaxation gives.

Rounding makes the relaxation strong: of a server with three tasks of its own and room for five units, a remote task of
three takes away one of them, not none.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from optsched.core.deadline import check
from optsched.core.instance import Floats, Ints, Ragged
from optsched.core.placement import Placement
from optsched.core.results import Termination
from optsched.problems import Latency
from optsched.problems.assignment import TaskClasses
from optsched.problems.counted_room import count_limits
from optsched.problems.latency import LatencyPrices
from optsched.solvers.blocks import Block, ones_at, stacked
from optsched.solvers.highs import LinearProgram, solve_arrays
from optsched.solvers.profiles import Profile

__all__ = ["CompactProgram", "room_limits"]

#: From this weight of a remote task on the room of a server is told by limits on numbers of tasks (`counted_room`).
_LARGE_WEIGHT = 10_000

#: A cut counts as broken from here on.
_BROKEN = 1e-6

#: So many remote tasks more are a gain of a round.
_GAIN = 1e-4

#: Duals become whole prices on this grid, or a coarser one where their total would be too large.
_GRID = 10**6


def room_limits(size: int, w_loc: int, w_rem: int, room: int) -> list[tuple[int, int, int]]:
    """Limits on numbers of local and remote tasks in the place of that on the room that they take.

    Each is (a, b, c) for a local + b remote <= c. Of `size` tasks as many fit as keep them all. Where weights are small
    it is the one limit on the room.

    >>> room_limits(9, 1, 3, 7), room_limits(4, 20_000, 30_000, 70_000)
    ([(1, 3, 7)], [(1, 0, 3), (1, 1, 3), (1, 2, 4), (0, 1, 2)])
    """
    if w_rem < _LARGE_WEIGHT:
        return [(w_loc, w_rem, room)]
    return count_limits(size, w_loc, w_rem, room)


class CompactProgram:
    """The compact program at a limit, as arrays.

    Columns: local tasks of each class on each server with a replica and room, and remote tasks of each class (both
    continuous); remote counts of the servers, and where w_loc is not 1 their local counts (integers); remote tasks
    without room, which there are none of but in the program that looks for the fewest of them. Rows: every task of a
    class is local or remote; the servers take as many remote tasks as have room; each server keeps its room
    (`room_limits`); the local counts are the sums of the local tasks; and cuts.

    With q remote tasks, a server takes at most f(q) = min(k, (room - w_rem q) // w_loc) of any k tasks of its own. From
    the last q at which f is what it is with none, f falls. A cut is the line down to the next q, no steeper than
    w_rem // w_loc; the relaxation would leave out the corner between (mixed-integer rounding, Nemhauser and Wolsey
    1990). There is one for each server's own tasks together, and for others where a relaxation breaks it.
    """

    def __init__(self, problem: Latency, limit: int) -> None:
        self.problem = problem
        room = problem.room(limit)
        self.servers = np.flatnonzero(room >= problem.w_loc)
        #: Place of each server of the instance among `servers`, or -1.
        self.column = np.full(len(room), -1, dtype=np.int64)
        self.column[self.servers] = np.arange(len(self.servers))
        reachable = [tuple(sorted(row[room[row] >= problem.w_loc].tolist())) for row in problem.replicas]
        self.classes = TaskClasses.from_keys(reachable)
        rows = Ragged.from_rows([list(reachable[first]) for first in self.classes.first.tolist()])
        self.pair_class, self.pair_server = rows.row_of, self.column[rows.values]
        self.counted = problem.w_loc > 1
        #: Column of the first remote count.
        self.first_count = len(rows.values) + len(rows)
        self.room = room[self.servers]
        size = self.classes.size[self.pair_class]
        own = np.bincount(self.pair_server, size, minlength=len(self.room)).astype(np.int64)
        slope, height = self._cut(np.arange(len(self.room)), own)
        #: Cuts: of the local tasks of each pair, of the remote count of a server, and the most that they make.
        self._cuts = [
            (ones_at(self.pair_server, len(self.room)), sp.diags_array(slope.astype(np.float64), format="csr"), height)
        ]

    def program(self, whole: bool = True, homeless: bool = False) -> LinearProgram:
        """For the fewest remote tasks, or with `homeless` the fewest without room; `whole`: counts are integers."""
        problem, free = self.problem, self.room.astype(np.float64)
        pairs, classes, servers = len(self.pair_class), len(self.classes.size), len(self.servers)
        counted = servers if self.counted else 0
        supply, each_server = self.classes.size.astype(np.float64), sp.eye_array(servers, format="csr")
        local_tasks = ones_at(self.pair_server, servers)
        local_cuts, remote_cuts = (sp.vstack(parts, format="csr") for parts in list(zip(*self._cuts, strict=True))[:2])
        heights = np.concatenate([height for *_, height in self._cuts])
        local_room, remote_room, most = self._room
        blocks: dict[tuple[int, int], Block] = {
            (0, 0): ones_at(self.pair_class, classes),
            (0, 1): sp.eye_array(classes, format="csr"),
            (1, 1): np.ones((1, classes)),
            (1, 2): -np.ones((1, servers)),
            (1, 4): -np.ones((1, 1)),
            (2, 2): remote_room,
            (4, 0): local_cuts,
            (4, 2): remote_cuts,
        }
        if self.counted:
            blocks |= {(2, 3): local_room, (3, 0): local_tasks, (3, 3): -each_server}
        else:
            blocks[2, 0] = (local_room @ local_tasks).tocsr()
        widths = [pairs, classes, servers, counted, 1]
        no_more, nothing = np.full(len(most), -np.inf), np.zeros(counted)
        most_local = np.full(counted, len(problem.tasks))
        no_room = len(problem.tasks) if homeless else 0
        return LinearProgram(
            objective=np.repeat([0.0, not homeless, 0.0, 0.0, homeless], widths),
            col_lower=np.zeros(sum(widths)),
            col_upper=np.concatenate([supply[self.pair_class], supply, free // problem.w_rem, most_local, [no_room]]),
            integer=np.repeat([False, False, whole, whole, False], widths),
            row_lower=np.concatenate([supply, [0.0], no_more, nothing, np.full(len(heights), -np.inf)]),
            row_upper=np.concatenate([supply, [0.0], most, nothing, heights]),
            matrix=stacked([classes, 1, len(most), counted, len(heights)], widths, blocks).tocsc(),
        )

    @cached_property
    def _room(self) -> tuple[sp.csr_array, sp.csr_array, Floats]:
        """The limits on the room of the servers: parts of local and of remote counts, and the most of both together."""
        problem = self.problem
        limits = [room_limits(len(problem.tasks), problem.w_loc, problem.w_rem, room) for room in self.room.tolist()]
        server = np.repeat(np.arange(len(limits)), list(map(len, limits)))
        local, remote, most = np.array([limit for some in limits for limit in some], dtype=np.float64).reshape(-1, 3).T
        rows, shape = np.arange(len(server)), (len(server), len(limits))
        return sp.csr_array((local, (rows, server)), shape), sp.csr_array((remote, (rows, server)), shape), most

    def _cut(self, server: Ints, own: Ints) -> tuple[Ints, Floats]:
        """Slope and height of the cut of so many tasks of a server's own: local + slope remote <= height."""
        w_loc, w_rem, room = self.problem.w_loc, self.problem.w_rem, self.room[server]
        most = np.minimum(own, room // w_loc)
        last = (room - w_loc * most) // w_rem
        beyond = np.maximum(room - w_rem * (last + 1), 0) // w_loc
        slope = np.minimum(most - beyond, w_rem // w_loc)
        return slope, (most + slope * last).astype(np.float64)

    def prices(self, profile: Profile, rounds: int = 1, patience: int | None = None) -> Iterator[LatencyPrices]:
        """Prices from the relaxation's duals, after each round of cuts that the one before broke.

        There are no more where the profile's limits are reached, nothing is broken, the prices rule the limit out, or
        `patience` rounds in a row have gained nothing.
        """
        began, homeless = time.perf_counter(), False
        best, idle = -np.inf, 0
        while rounds > 0:
            check()
            solution = solve_arrays(self.program(whole=False, homeless=homeless), profile.since(began))
            if solution.outcome.status is Termination.INFEASIBLE and not homeless:
                homeless = True  # remote tasks have no room, and the prices of this program show it
                continue
            if solution.x is None or solution.row_duals is None:
                return
            real = solution.row_duals[: len(self.classes.size) + 1]
            largest = 1 + int(np.abs(real).max(initial=0))
            grid = min(_GRID, LatencyPrices.largest(len(self.problem.tasks)) // largest)
            duals = np.rint(real * grid).astype(np.int64)
            yield LatencyPrices(0 if homeless else grid, duals[:-1][self.classes.of_task], max(0, -int(duals[-1])))
            rounds -= 1
            value = self._remote(solution.x)
            best, idle = (value, 0) if value > best + _GAIN else (best, idle + 1)
            if homeless or idle == patience or not self._sharpened(solution.x):
                return

    def _remote(self, x: Floats) -> float:
        """Remote tasks in a solution of the relaxation, which need not be whole."""
        return float(x[len(self.pair_class) : self.first_count].sum())

    def _sharpened(self, x: Floats) -> bool:
        """Add the cut of each server that a solution of the relaxation breaks most; False where it breaks none.

        Of tasks that are alike, cuts have their mean.
        """
        size = self.classes.size[self.pair_class]
        each = x[: len(size)] / size  # how much of each task of a class is on the server
        order = np.lexsort((-each, self.pair_server))
        entry = np.repeat(order, size[order])  # a row a task, the most local tasks of a server first
        server = self.pair_server[entry]
        first = np.searchsorted(server, server)
        number = np.arange(len(entry)) - first + 1
        total = np.append(0.0, np.cumsum(each[entry]))
        slope, height = self._cut(server, number)
        beyond = total[1:] - total[first] + slope * x[self.first_count + server] - height
        worst = np.lexsort((-beyond, server))
        worst = worst[np.diff(server[worst], prepend=-1) > 0]
        worst = worst[beyond[worst] > _BROKEN]
        if not len(worst):
            return False
        cut_of = np.full(len(self.room), -1, dtype=np.int64)
        cut_of[server[worst]] = np.arange(len(worst))
        held = np.flatnonzero(cut_of[server] >= 0)
        held = held[number[held] <= number[worst][cut_of[server[held]]]]
        ends = cut_of[server[held]], entry[held]
        local = sp.csr_array((1.0 / size[entry[held]], ends), shape=(len(worst), len(size)))
        remote = sp.csr_array(
            (slope[worst].astype(np.float64), (np.arange(len(worst)), server[worst])),
            shape=(len(worst), len(self.room)),
        )
        self._cuts.append((local, remote, height[worst]))
        return True

    def remote_counts(self, x: Floats) -> Ints:
        """Remote tasks of each server of the instance in a solution."""
        counts = np.zeros(len(self.column), dtype=np.int64)
        found = x[self.first_count : self.first_count + len(self.servers)]
        counts[self.servers] = np.rint(found).astype(np.int64)
        return counts

    def values(self, placement: Placement) -> Floats:
        """The columns' values in a placement within the limit."""
        problem = self.problem
        nodes, replicas = problem.nodes_of(placement), problem.replicas
        at_home = replicas.row_of[replicas.values == nodes[replicas.row_of]]
        keys = self.pair_class * len(self.servers) + self.pair_server
        order = np.argsort(keys)
        wanted = self.classes.of_task[at_home] * len(self.servers) + self.column[nodes[at_home]]
        pair_values = np.bincount(order[np.searchsorted(keys[order], wanted)], minlength=len(keys))
        away = self.classes.size - np.bincount(self.pair_class, pair_values, minlength=len(self.classes.size))
        local, remote = (counts[self.servers] for counts in problem.counts(placement))
        counts = [remote, local] if self.counted else [remote]
        return np.concatenate([pair_values, away, *counts, [0]]).astype(np.float64)
