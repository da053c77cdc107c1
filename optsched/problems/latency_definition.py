"""What `latency` is: all tasks to loaded servers, least makespan, then least work (Agosta et al., sections 3.1 to 3.3).

Here are objective and constraints, what fits within a limit on the makespan, and the bounds by counting and by prices.
Slots play no part: every task is placed. A server first works off its initial load, then its tasks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from math import gcd, lcm
from typing import Any, NamedTuple

import numpy as np

from optsched.core.arrays import places_in
from optsched.core.decimals import decimal
from optsched.core.errors import Fault, InputError, UsageError
from optsched.core.instance import LARGEST, Bools, Floats, Instance, Ints, Ragged
from optsched.core.placement import NONE, Placement
from optsched.core.results import Bound, Component, Number, Proof, Sense, Value, Violation
from optsched.problems.base import OwnCosts, Problem, exact_sum
from optsched.problems.parameters import Parameter, number, resolve

#: The most mixes of local and remote tasks that are tried for the one that fills a server best.
_MOST_MIXES = 1000


class LatencyPrices(NamedTuple):
    """Prices that bound the number of remote tasks within a limit on the makespan (see `price_bound`).

    `weight`: the cost of a remote task, at least 0; with 0 the prices are only for room. `tasks`: int64, shape
    (tasks,): what each task pays for being placed, counted as at least 0. `remote`: the price of room for a remote
    task, at least 0.
    """

    weight: int
    tasks: Ints
    remote: int

    @staticmethod
    def largest(tasks: int) -> int:
        """The largest allowed price for `tasks` tasks, so that no sum exceeds 2^53."""
        return LARGEST // (4 * max(1, tasks))


class LatencyDefinition(Problem):
    """Objective, constraints, counting and prices of `Latency`, without its program."""

    name = "latency"
    title = "tasks to servers with initial loads, least makespan, then least work"
    paper = "004"
    # A unit of work is that of `nodes[].load`: a local task takes w_loc of them.
    components = (Component("makespan", Sense.MIN, "units of work"), Component("work", Sense.MIN, "units of work"))
    parameter_table = (
        Parameter(
            "w_loc", 1, number(lowest=1, integer=True), "work of a task on a server with its data (Agosta et al.)"
        ),
        Parameter(
            "w_rem", 3, number(lowest=1, integer=True), "work of a task elsewhere (Agosta et al.), at least w_loc"
        ),
    )
    requires = ("nodes[].load in whole units of work",)
    proof = Proof.COMBINATORIAL
    places_all = True
    by_replicas = True

    @classmethod
    def missing(cls, instance: Instance, parameters: Mapping[str, Any]) -> Iterator[Fault]:
        loads = instance.state.load
        fractional = np.flatnonzero(loads != np.floor(loads))
        if len(fractional):
            factor = _whole_factor(loads)
            mend = f"multiply loads, w_loc and w_rem by {factor}" if factor else "round the loads"
            for node in fractional.tolist():
                yield Fault(f"nodes[{node}].load", f"latency needs whole units of work, not {loads[node]}; {mend}")

    def prepare(self) -> None:
        self.w_loc: int = self.parameters["w_loc"]
        self.w_rem: int = self.parameters["w_rem"]
        if self.w_rem < self.w_loc:
            own = resolve(self.name, self.parameter_table, self.instance.parameters.get(self.name, {}))
            wrong = f"{self.w_rem} is less than w_loc={self.w_loc}: a remote task takes at least as long as a local one"
            if own["w_rem"] < own["w_loc"]:  # it came with the file
                raise InputError([Fault("parameters.latency.w_rem", wrong)], self.instance.name)
            raise UsageError(f"latency: w_rem={wrong}")
        self.initial_load = self.instance.state.load.astype(np.int64)
        self.initial_load.setflags(write=False)
        if len(self.tasks) and not len(self.initial_load):
            raise InputError([Fault("nodes", "latency needs a server to place tasks on")], self.place)
        if int(self.initial_load.max(initial=0)) + self.w_rem * len(self.tasks) > LARGEST:
            raise InputError([Fault("", "loads and work may total past 2^53; scale them down")], self.place)

    def objective(self, placement: Placement) -> Value:
        local, remote = self.counts(placement)
        worked = local + remote > 0
        finish = self.initial_load + self.w_loc * local + self.w_rem * remote
        makespan = int(finish[worked].max(initial=0))
        return makespan, self.w_loc * int(local.sum()) + self.w_rem * int(remote.sum())

    @property
    def own_costs(self) -> OwnCosts:
        """The work of each task; the makespan depends on all tasks of a server together."""
        return OwnCosts(1, 1, self.work_of)

    def work_of(self, positions: Ints, nodes: Ints) -> Ints:
        """Work of the tasks at `positions` on `nodes`: `w_loc` if the server has a replica, else `w_rem`."""
        return np.where(self.at_home(positions, nodes), self.w_loc, self.w_rem).astype(np.int64)

    def at_home(self, positions: Ints, nodes: Ints) -> Bools:
        """Whether the servers `nodes` have a replica of the tasks at `positions`."""
        rows = self.replicas.take(positions)
        local = np.zeros(len(positions), dtype=bool)
        local[rows.row_of[rows.values == nodes[rows.row_of]]] = True
        return local

    def counts(self, placement: Placement) -> tuple[Ints, Ints]:
        """Local and remote tasks that each server gets, shape (nodes,) each."""
        nodes, replicas, servers = self.nodes_of(placement), self.replicas, len(self.initial_load)
        at_home = replicas.values.compress(replicas.values == nodes.take(replicas.row_of))
        placed = nodes if nodes.min(initial=0) > NONE else nodes[nodes > NONE]
        local = np.bincount(at_home, minlength=servers).astype(np.int64, copy=False)
        return local, np.bincount(placed, minlength=servers).astype(np.int64, copy=False) - local

    def cluster_makespan(self, placement: Placement) -> int:
        """Largest final load over all servers, with or without work: Agosta et al.'s formula for the latency."""
        return max(int(self.objective(placement)[0]), int(self.initial_load.max(initial=0)))

    def throughput(self, placement: Placement) -> float | None:
        """Tasks per unit of work, Agosta et al.'s R; None if there is no task."""
        work = self.objective(placement)[1]
        return len(self.tasks) / float(work) if work else None

    def constraint_violations(self, placement: Placement) -> Iterator[Violation]:
        ids = self.instance.workload.task_ids
        for task in self.tasks[self.nodes_of(placement) == NONE].tolist():
            yield Violation("every-task-placed", (str(ids[task]),), 1)

    # What fits within a limit on the makespan ----------------------------------------------------------------------

    def room(self, limit: int) -> Ints:
        """Work that each server can take within `limit`, (limit - phi_s)^+; shape (nodes,)."""
        return np.maximum(limit - self.initial_load, 0)

    def local_pairs(self, limit: int) -> Ragged:
        """For each task the servers with its replica and room within `limit`, as in the program."""
        return self.replicas.kept(self.room(limit)[self.replicas.values] >= self.w_loc)

    def local_capacity(self, limit: int) -> Ints:
        """Local tasks that fit on each server within `limit`; shape (nodes,)."""
        return self.room(limit) // self.w_loc

    def fillable(self, limit: int) -> Ints:
        """The most work that whole tasks, of `w_loc` or `w_rem` each, sum to on each server within `limit`."""
        room, common = self.room(limit), gcd(self.w_loc, self.w_rem)
        # More remote tasks never help: w_loc/common of them are as much work as w_rem/common local ones.
        most = min(self.w_loc // common - 1, int(room.max(initial=0)) // self.w_rem)
        if most > _MOST_MIXES:
            return room // common * common
        best: Ints = room // self.w_loc * self.w_loc
        for remote in range(1, most + 1):
            rest = room - remote * self.w_rem
            best = np.where(rest >= 0, np.maximum(best, remote * self.w_rem + rest // self.w_loc * self.w_loc), best)
        return best

    def usable_work(self, limit: int, remote: int) -> int:
        """A limit on the work of whole tasks, at most `remote` of them remote, on all servers within `limit`.

        It is less than `fillable` if there are too few remote tasks to fill the room that local ones leave: with tasks
        of 2 and 5, only a remote task fills a server with room for 5. Only local tasks waste `waste = room % w_loc` of
        a server. With b remote tasks the waste is `(waste - w_rem b) % w_loc`, so b tasks gain the difference. The
        gains of 0, 1, 2, ... remote tasks lie below a concave line. So however they are distributed, all servers
        together gain at most what the `remote` steepest steps of these lines sum to.
        """
        room, mixes = self.room(limit), self.w_loc // gcd(self.w_loc, self.w_rem)
        if mixes == 1:  # whole remote tasks waste as much as local ones
            return exact_sum(room - room % self.w_loc)
        if mixes * self.w_loc > _MOST_MIXES:
            return exact_sum(self.fillable(limit))
        left, number = room % self.w_loc, np.minimum(room // self.w_rem, mixes - 1)
        alike, servers = np.unique(left * mixes + number, return_counts=True)
        steps: list[tuple[Fraction, int]] = []
        for kind, count in zip(alike.tolist(), servers.tolist(), strict=True):
            spare, most = divmod(kind, mixes)
            gains = [spare - (spare - self.w_rem * few) % self.w_loc for few in range(most + 1)]
            steps += [(rate, width * count) for rate, width in _concave(gains)]
        gained = Fraction(0)
        for rate, width in sorted(steps, reverse=True):
            gained += rate * min(width, remote)
            remote -= min(width, remote)
        return exact_sum(room - left) + int(gained)

    def fits(self, limit: int, remote: int) -> bool:
        """Whether counting alone allows that all tasks end within `limit` with at least `remote` of them remote.

        If a placement has more remote tasks, they also fit with `w_loc` of work instead of `w_rem`, so that exactly
        `remote` are counted.
        """
        return self._enough(limit, self.usable_work(limit, remote), remote)

    def _enough(self, limit: int, usable: int, remote: int) -> bool:
        """Whether there is room for `remote` remote tasks, and for the work of all tasks in the `usable` work."""
        work = self.w_loc * (len(self.tasks) - remote) + self.w_rem * remote
        return exact_sum(self.room(limit) // self.w_rem) >= remote and usable >= work

    def least_remote(self, limit: int, cover: Bools) -> int:
        """The least number of remote tasks in any placement within `limit`, by a cover (bool, shape (nodes,)).

        A local task runs on a server of the cover, within its local capacity, or on another server with room and its
        replica. The bound is valid for every cover; a minimum vertex cover makes it as strong as a maximum b-matching.
        """
        capacity = self.local_capacity(limit)
        free = self.replicas.count_any((~cover & (capacity > 0))[self.replicas.values])
        return max(0, len(self.tasks) - exact_sum(capacity[cover]) - free)

    def price_bound(self, limit: int, prices: LatencyPrices) -> int:
        """A lower bound on `prices.weight` times the remote tasks of any placement within `limit` (weak duality).

        Every task has a price, and so has room for a remote task. A server earns at most what whole remote tasks, and
        its own most expensive tasks with them, bring within its room. The bound is valid for any prices. If it is above
        0 with a weight of 0, no placement is within `limit`. Unlike a cover, it accounts for room that whole tasks
        leave unused.
        """
        on, room = self.server_tasks, self.room(limit)
        paid = np.maximum(prices.tasks[on.values], 0)
        order = np.lexsort((-paid, on.row_of))
        earned = np.append(0, np.cumsum(paid[order]))
        # Fewer remote tasks than leave room for all of a server's own are no better than that number.
        first = (room - self.w_loc * np.minimum(on.lengths, room // self.w_loc)) // self.w_rem
        number = room // self.w_rem - first + 1
        server, start = np.repeat(np.arange(len(room)), number), np.cumsum(number) - number
        remote = first[server] + places_in(number)
        local = np.minimum((room[server] - self.w_rem * remote) // self.w_loc, on.lengths[server])
        worth = earned[on.starts[server] + local] - earned[on.starts[server]]
        worth += prices.remote * np.minimum(remote, len(self.tasks))
        best = np.maximum.reduceat(worth, start) if len(room) else worth
        return int(np.minimum(prices.tasks, prices.weight + prices.remote).sum()) - exact_sum(best)

    def priced_remote(self, limit: int, prices: LatencyPrices) -> int | None:
        """The least number of remote tasks within `limit` that prices prove; None: they prove that nothing fits."""
        bound = self.price_bound(limit, prices)
        if not prices.weight:
            return None if bound > 0 else 0
        return max(0, -(-bound // prices.weight))

    @cached_property
    def homeless(self) -> int:
        """The number of tasks without any replica: they are remote in every placement."""
        return len(self.tasks) - int(np.count_nonzero(self.replicas.lengths))

    @property
    def least_work(self) -> int:
        """Work if every task with a replica is local: no placement has less."""
        return self.w_loc * (len(self.tasks) - self.homeless) + self.w_rem * self.homeless

    @cached_property
    def server_tasks(self) -> Ragged:
        """For each server the positions of the tasks with a replica on it."""
        return self.replicas.transposed(len(self.initial_load))

    # Bounds --------------------------------------------------------------------------------------------------------

    @property
    def first_step(self) -> Number:
        return 1

    def cheap_bounds(self) -> tuple[Bound, ...]:
        """l* and l** of Agosta et al., and the least work.

        l* averages over all servers, also those that are too loaded to get work. So it bounds the makespan of the whole
        cluster. It bounds the job's only if every server's load is below it (Agosta et al., note 2). The stronger bound
        l_flow needs a flow engine: `optsched.bounds` has it.
        """
        average = self.average_bound()
        harmless = not len(self.tasks) or int(self.initial_load.max(initial=0)) < average
        return (
            Bound(
                "l*",
                "makespan" if harmless else None,
                average,
                "makespan of the job and of the cluster" if harmless else "makespan of the cluster, not of the job",
                "Agosta et al., Problem 1",
            ),
            Bound("l**", "makespan", self.counting_bound(), "makespan of the job", "Agosta et al., Problem 2"),
            Bound("least-work", "work", self.least_work, "work, at any makespan"),
        )

    def average_bound(self) -> int:
        """l* of Agosta et al.: all loads and tasks, as if local, spread evenly over the servers, rounded up."""
        if not len(self.tasks):
            return 0
        total = self.w_loc * len(self.tasks) + exact_sum(self.initial_load)
        return -(-total // len(self.initial_load))

    def counting_bound(self) -> int:
        """l** of Agosta et al.: the least limit that counting remote slots and work does not rule out (bisection)."""
        return self._counting_bound

    @cached_property
    def _counting_bound(self) -> int:
        starts = self.replicas.starts[:-1][self.replicas.lengths > 0]
        loads = self.initial_load[self.replicas.values]
        # For each task with replicas: the earliest time at which a server with one is free.
        begins = np.minimum.reduceat(loads, starts) if len(starts) else loads

        def allowed(limit: int) -> bool:
            # |T_rem[l]| of Agosta et al.: tasks whose replicas are all on servers that are busy at the limit.
            forced = len(self.tasks) - int(np.count_nonzero(begins < limit))
            return self._enough(limit, exact_sum(self.room(limit)), forced)

        return self.least_limit(allowed)

    def least_limit(self, allowed: Callable[[int], bool], low: int = 0, top: int | None = None) -> int:
        """The least allowed limit, at most `top`: by default that of all tasks remote on one server.

        `top` and every limit above an allowed one must be allowed; no limit below `low` may be. Steps upwards from
        `low` double until a limit is allowed; then bisection finds the least. So few limits far from `low` are tried.
        """
        if not len(self.tasks):
            return 0
        if top is None:
            top = int(self.initial_load.min()) + self.w_rem * len(self.tasks)
        high, step = low, 1
        while high < top and not allowed(high):
            low, high, step = high + 1, min(high + step, top), 2 * step
        return low + bisect_left(range(low, high), True, key=allowed)


def _concave(heights: Sequence[int]) -> Iterator[tuple[Fraction, int]]:
    """Slope and width of each rising piece of the least concave line above heights at 0, 1, 2, ...

    >>> list(_concave([0, -1, 2, 3, 1]))
    [(Fraction(1, 1), 3)]
    """
    at = 0
    while at + 1 < len(heights):
        slope, end = max((Fraction(heights[to] - heights[at], to - at), to) for to in range(at + 1, len(heights)))
        if slope <= 0:
            return
        yield slope, end - at
        at = end


def _whole_factor(loads: Floats) -> int | None:
    """The least factor up to 10^6 that makes all loads whole, or None.

    A load counts as the decimal that it is written as; a computed one, such as 1/3, as a fraction of small denominator.
    """
    factor = 1
    for load in np.unique(loads).tolist():
        part = decimal(load)
        if part.denominator > 10**6:
            part = Fraction(load).limit_denominator(10**6)
        factor = lcm(factor, part.denominator)
        if factor > 10**6 or float(part) != load:
            return None
    return factor
