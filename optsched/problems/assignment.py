"""Assignment of tasks to idle slots: what `lsap`, `fair-lsap`, `flow`, `transmission-maps` and others share.

Exactly min(tasks, idle slots) tasks are placed. The cost of a placement has two parts. Each placed task pays a pair
cost for its node. And each task belongs to one pool: the k-th placed task of a pool pays the k-th cheapest of the
pool's tiers. A pool with a single tier adds a constant cost per task. All costs are whole multiples of 1/`grid`.

The linear program behind it is a network and hence integral. Its dual has three kinds of prices, which a certificate
contains. Any prices prove a valid lower bound (`price_bound`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from optsched.core.arrays import contains
from optsched.core.errors import Fault, InputError, UsageError
from optsched.core.instance import KINDS, LARGEST, Ints, Ragged
from optsched.core.placement import NONE, Placement
from optsched.core.processes.limits import refuse_beyond
from optsched.core.results import Bound, Number, Value, Violation
from optsched.problems.base import OwnCosts, exact, exact_product, exact_sum, overfull
from optsched.problems.counted_places import (
    CountedPlaces,
    Level,
    Places,
    TaskClasses,
    enter_places,
    enter_steps,
    filled,
)
from optsched.problems.distances import NearestAreas
from optsched.problems.programs import Builder, Program

#: Pairs of class and node that are computed at once, so that memory use stays small.
BLOCK = 2**22

#: Measured bytes for a cost in a table of pairs, including temporary arrays.
BYTES_A_PAIR = 24


@dataclass(frozen=True, slots=True)
class Pool:
    """Tasks that share their tiers: pairs (units of cost, number of tasks), cheapest first, enough for all their tasks.

    `name` is unique in the problem.
    """

    name: str
    tiers: tuple[tuple[int, int], ...]

    def cost(self, placed: int) -> int:
        """Units of cost of placing this many tasks of the pool."""
        total = 0
        for units, size in self.tiers:
            total += units * min(size, placed)
            placed -= min(size, placed)
        return total


def minimum_by_row(rows: Ragged, values: Ints, empty: int) -> Ints:
    """Minimum over each row of `values[entry]`, `empty` for a row without entries; shape (rows,), of `values`' type."""
    result = np.full(len(rows), empty, dtype=values.dtype)
    filled = np.flatnonzero(rows.lengths)
    if len(filled):
        result[filled] = np.minimum.reduceat(values[rows.values], rows.starts[:-1][filled])
    return result


class AssignmentProblem(CountedPlaces):
    """Exactly min(tasks, idle slots) of the tasks, each on a node with an idle slot, at least total cost.

    `capacity` is the idle slots of each node, at most the number of tasks; `count` is how many tasks are placed. Costs
    are whole multiples of 1/`grid`. `pool` is the index in `pools` of each task's pool. `cost_name` is a model's name
    for the cost of a task in a place; empty: it has none.
    """

    left_open = ("grid", "prepare_costs")
    grid = 1
    cost_name = ""
    pools: tuple[Pool, ...]
    pool: Ints

    def prepare(self) -> None:
        self.capacity = np.minimum(self.instance.state.idle_slots, len(self.tasks))
        self.capacity.setflags(write=False)
        self.count = min(len(self.tasks), int(self.capacity.sum()))
        self.pools, self.pool = (Pool("all", ((0, len(self.tasks)),)),), np.zeros(len(self.tasks), dtype=np.int64)
        self.prepare_costs()
        for pool, tasks in zip(self.pools, np.bincount(self.pool, minlength=len(self.pools)).tolist(), strict=True):
            if sum(size for _, size in pool.tiers) < tasks:  # the others would be free, and no price would bound them
                raise UsageError(f'{self.place}: the pool "{pool.name}" has {tasks} tasks, and too few in its tiers')
        dearest = max((abs(units) for pool in self.pools for units, _ in pool.tiers), default=0)
        largest = self.largest_pair_units() + dearest
        if largest * max(self.count, 1) > LARGEST:
            message = f"costs may total too much, past 2^53/{self.grid}; scale the costs or rates down"
            raise InputError([Fault("", message)], self.place)

    @abstractmethod
    def prepare_costs(self) -> None:
        """Compute the pools and the inputs of `pair_units`."""

    @abstractmethod
    def largest_pair_units(self) -> int:
        """An upper limit on the absolute units of any pair."""

    @abstractmethod
    def pair_units(self, positions: Ints, nodes: Ints) -> Ints:
        """Units of cost of the pairs (`tasks[positions[i]]`, `nodes[i]`), without pool costs; int64."""

    @abstractmethod
    def cheapest_units(self, prices: Ints) -> Ints:
        """For each task the least pair units plus node price over the nodes with idle slots; shape (tasks,).

        Requires at least one idle slot.
        """

    def every_place(self) -> Places:
        """Every class on every node with idle slots."""
        idle, first = np.flatnonzero(self.capacity > 0).astype(np.int64), self.classes().first
        return self.places_at(Ragged.of_lengths(np.full(len(first), len(idle)), np.tile(idle, len(first))))

    def places_at(self, nodes: Ragged) -> Places:
        """The places of each class on only these nodes."""
        return self.places_on(nodes, self.pair_units(self.classes().first[nodes.row_of], nodes.values))

    @property
    def network_places(self) -> Places:
        """The places of the network that solves the problem: those of the program, or fewer."""
        return self.places

    def program(self, before: tuple[Number, ...] = ()) -> Program:
        """Least cost of places and tiers; a pool with a single tier adds it to its tasks' places."""
        builder, pool = Builder(), self.pool[self.classes().first]
        single = np.array([steps[0][0] if len(steps) == 1 else 0 for steps in self._filled_tiers], dtype=np.int64)
        columns, owner = enter_places(self, builder, single[pool], self.cost_name)
        tiers = {number: steps for number, steps in enumerate(self._filled_tiers) if len(steps) > 1}
        names = [pool.name for pool in self.pools]
        enter_steps(
            builder,
            "pool_tier",
            {names[of]: steps for of, steps in tiers.items()},
            columns,
            (names[of] for of in pool[owner].tolist()),
        )
        return builder.program(unit=self.grid)

    @property
    def _filled_tiers(self) -> list[list[tuple[int, int]]]:
        """The tiers of each pool that have room."""
        return [[(units, size) for units, size in pool.tiers if size] for pool in self.pools]

    def values_of(self, decision: Placement, program: Program) -> Ints:
        placed = self.nodes_of(decision) != NONE
        counts = np.bincount(self.pool[placed], minlength=len(self.pools)).tolist()
        steps = zip(self._filled_tiers, counts, strict=True)
        tiers = [filled([size for _, size in tiers], count) for tiers, count in steps if len(tiers) > 1]
        return np.concatenate([self.place_values(decision), *tiers])

    @property
    def offered(self) -> Mapping[str, Ints]:
        return MappingProxyType({KINDS[self.kinds[0]]: self.capacity})

    @property
    def due(self) -> int:
        return self.count

    @property
    def own_costs(self) -> OwnCosts:
        """Pair units plus the single tier of the pool; tasks of a pool with more tiers are counted by label."""
        tiers = [[units for units, size in pool.tiers if size] for pool in self.pools]
        constant = np.array([of[0] if len(of) == 1 else 0 for of in tiers], dtype=np.int64)[self.pool]
        several = np.array([1 + pool if len(of) > 1 else 0 for pool, of in enumerate(tiers)], dtype=np.int64)

        def units(positions: Ints, nodes: Ints) -> Ints:
            return self.pair_units(positions, nodes) + constant[positions]

        return OwnCosts(0, self.grid, units, several[self.pool], self.capacity)

    def units(self, placement: Placement) -> int:
        """Total cost of a placement in units of 1/`grid`."""
        nodes = self.nodes_of(placement)
        placed = np.flatnonzero(nodes != NONE)
        counts = np.bincount(self.pool[placed], minlength=len(self.pools)).tolist()
        pools = sum(pool.cost(number) for pool, number in zip(self.pools, counts, strict=True))
        return self.units_on(placed, nodes[placed]) + pools

    def units_on(self, positions: Ints, nodes: Ints) -> int:
        """Sum of the pair units of distinct tasks (positions in `tasks`), each on its node."""
        return int(self.pair_units(positions, nodes).sum())

    def objective(self, placement: Placement) -> Value:
        return (exact(self.units(placement), self.grid),)

    def constraint_violations(self, placement: Placement) -> Iterator[Violation]:
        nodes = self.nodes_of(placement)
        yield from overfull(self.instance.cluster, nodes, self.capacity, "slots")
        placed = int(np.count_nonzero(nodes != NONE))
        if placed < self.count:
            yield Violation("cardinality", (), self.count - placed)

    def price_bound(self, count_price: int, node_prices: Ints, pool_prices: Ints) -> int:
        """The lower bound, in units, that prices prove (weak duality). It is valid for any prices.

        Parameters
        ----------
        count_price
            Price of placing one more task, in units.
        node_prices
            int64, shape (nodes,): price of a slot on each node; negative ones count as 0.
        pool_prices
            int64, shape (pools,): what each pool charges a task instead of its tier.
        """
        if not self.count:
            return 0
        node_prices = np.maximum(node_prices, 0)
        rent = sum(
            size * max(0, int(price) - units)
            for pool, price in zip(self.pools, pool_prices, strict=True)
            for units, size in pool.tiers
        )
        slots = exact_product(node_prices, self.capacity)
        earned = self.gains(count_price - pool_prices, node_prices)
        return count_price * self.count - (earned + slots + rent)

    def gains(self, worth: Ints, prices: Ints) -> int:
        """The gain of all tasks that are worth more than their cheapest place at `prices` (`cheapest_units`).

        `worth` is the worth of a task of each pool, in units: int64, shape (pools,).
        """
        gain = worth[self.pool] - self.cheapest_units(prices)
        return exact_sum(gain[gain > 0])

    def cheap_bounds(self) -> tuple[Bound, ...]:
        """The sum of the `count` cheapest tasks, each on its own best node: as if no slot were contended."""
        if not self.count:
            best = 0
        else:
            cheapest = np.sort(self.cheapest_units(np.zeros_like(self.capacity)))[: self.count]
            tiers = sorted(cost for pool in self.pools for units, size in pool.tiers for cost in [units] * size)
            best = int(cheapest.sum()) + sum(tiers[: self.count])
        name = self.components[0].name
        return (Bound("best-node", name, exact(best, self.grid), f"{name}, with every slot open to every task"),)


class TabledProblem(AssignmentProblem):
    """An assignment problem with its own cost for each pair of class and node: a table."""

    #: int64, shape (idle nodes,): indices of the nodes with idle slots.
    idle_nodes: Ints

    @property
    def near(self) -> NearestAreas | None:
        """The levels of each class and node with idle slots; None if costs do not depend on levels."""
        return None

    @abstractmethod
    def made_classes(self) -> TaskClasses:
        """Tasks with the same row in the table are one class."""

    @abstractmethod
    def table(self, positions: Ints) -> Ints:
        """Units of cost of the tasks at `positions` (rows) on `idle_nodes` (columns), int64."""

    def prepare_costs(self) -> None:
        self.idle_nodes = np.flatnonzero(self.capacity > 0).astype(np.int64)
        self._column = np.full(len(self.capacity), -1, dtype=np.int64)
        self._column[self.idle_nodes] = np.arange(len(self.idle_nodes))

    def classes(self) -> TaskClasses:
        return self._classes

    @cached_property
    def _classes(self) -> TaskClasses:
        return self.made_classes()

    @property
    def pairs(self) -> int:
        """The number of pairs of a class and one of `idle_nodes`: the entries of the table."""
        return len(self._classes.first) * len(self.idle_nodes)

    @cached_property
    def class_units(self) -> Ints:
        """Units of cost of each class on each of `idle_nodes`, int64, shape (classes, idle nodes).

        TooLarge if there is no memory for them.
        """
        first = self._classes.first
        kinds = f"{len(first):,} kinds of tasks on {len(self.idle_nodes):,} nodes"
        what = f"{self.place}: {kinds} would have a table of {self.pairs:,} costs"
        refuse_beyond(self.pairs * BYTES_A_PAIR, what, "take fewer tasks or nodes")
        units = np.empty((len(first), len(self.idle_nodes)), dtype=np.int64)
        step = max(1, BLOCK // max(1, len(self.idle_nodes)))
        with np.errstate(over="ignore", invalid="ignore"):  # `on_grid` turns such a cost into one that is refused
            for begin in range(0, len(first), step):
                units[begin : begin + step] = self.table(first[begin : begin + step])
        units.setflags(write=False)
        return units

    def largest_pair_units(self) -> int:
        return max(int(self.class_units.max(initial=0)), -int(self.class_units.min(initial=0)))

    def __getstate__(self) -> dict[str, Any]:
        """The state without the table, which another process computes faster than it receives it."""
        return {name: value for name, value in vars(self).items() if name != "class_units"}

    def pair_units(self, positions: Ints, nodes: Ints) -> Ints:
        return self.class_units[self._classes.of_task[positions], self._column[nodes]]

    def cheapest_units(self, prices: Ints) -> Ints:
        cheapest = np.empty(len(self.class_units), dtype=np.int64)
        step = max(1, BLOCK // max(1, len(self.idle_nodes)))
        for begin in range(0, len(cheapest), step):
            part = self.class_units[begin : begin + step] + prices[self.idle_nodes]
            cheapest[begin : begin + step] = part.min(axis=1)
        return cheapest[self._classes.of_task]


class LevelledProblem(AssignmentProblem):
    """An assignment problem whose pair costs are three levels: on a replica's node, in a replica's rack, off-rack.

    `levels` are in units and not decreasing. A task without replicas is off-rack everywhere. On a node without a rack
    every task is off-rack, unless the node has its replica.
    """

    by_replicas = True
    levels: tuple[int, int, int]

    def prepare(self) -> None:
        self.rack = self.instance.cluster.rack
        self._racks = max(len(self.instance.cluster.rack_ids), 1)
        super().prepare()

    @cached_property
    def _node_keys(self) -> Ints:
        """Each pair of a task and a node with its replica as one number, increasing."""
        return np.sort(self.replicas.row_of * len(self.rack) + self.replicas.values)

    @cached_property
    def _rack_keys(self) -> Ints:
        """Each pair of a task and a rack with its replica as one number, increasing."""
        rack_of_replica = self.rack[self.replicas.values]
        known = rack_of_replica >= 0
        keys = np.sort(self.replicas.row_of[known] * self._racks + rack_of_replica[known])
        return keys[np.diff(keys, prepend=-1) > 0]  # for a million tasks ten times as fast as np.unique

    @cached_property
    def idle_replicas(self) -> Ragged:
        """For each task the nodes that have its replica and an idle slot."""
        return self.replicas.kept(self.capacity[self.replicas.values] > 0)

    @cached_property
    def idle_homes(self) -> tuple[Ints, Ragged]:
        """The tasks that have such nodes, increasing, and a row for each of them."""
        starts = self.idle_replicas.starts
        tasks = np.flatnonzero(starts[1:] != starts[:-1])
        return tasks, Ragged(np.append(starts[tasks], starts[-1]), self.idle_replicas.values)

    @cached_property
    def idle_racks(self) -> Ragged:
        """For each task the racks (indices) that have a replica and an idle slot."""
        idle = np.zeros(self._racks, dtype=bool)
        idle[self.rack[(self.capacity > 0) & (self.rack >= 0)]] = True
        rows, racks = np.divmod(self._rack_keys, self._racks)
        starts = np.searchsorted(rows, np.arange(len(self.tasks) + 1))
        return Ragged(starts, racks).kept(idle[racks])

    def locality(self, positions: Ints, nodes: Ints) -> Ints:
        """0, 1 or 2 for pairs (`tasks[positions[i]]`, `nodes[i]`): on the node, in the rack, off-rack."""
        if not len(positions):
            return np.zeros(0, dtype=np.int64)
        on_node = contains(self._node_keys, positions * len(self.rack) + nodes)
        rack = self.rack[nodes]
        in_rack = (rack >= 0) & contains(self._rack_keys, positions * self._racks + rack)
        return np.where(on_node, 0, np.where(in_rack, 1, 2)).astype(np.int64)

    def largest_pair_units(self) -> int:
        return max(map(abs, self.levels))

    def pair_units(self, positions: Ints, nodes: Ints) -> Ints:
        return np.array(self.levels, dtype=np.int64)[self.locality(positions, nodes)]

    def units_on(self, positions: Ints, nodes: Ints) -> int:
        on_node, in_rack, off_rack = self.levels
        if in_rack < off_rack or not self.capacity[nodes].all():
            return super().units_on(positions, nodes)
        target = np.full(len(self.tasks), NONE, dtype=np.int64)
        target[positions] = nodes
        tasks, near = self.idle_homes  # each node of a task once, so that no task counts twice
        local = int(np.count_nonzero(near.values == np.repeat(target[tasks], near.lengths)))
        return off_rack * len(positions) - (off_rack - on_node) * local

    def cheapest_units(self, prices: Ints) -> Ints:
        on_node, in_rack, off_rack = self.levels
        idle = np.flatnonzero(self.capacity > 0)
        anywhere = off_rack + int(prices[idle].min())
        if in_rack == off_rack:
            local = on_node + minimum_by_row(self.idle_replicas, prices, anywhere - on_node)
            return np.minimum(local, anywhere)
        rack_price = np.full(self._racks, anywhere, dtype=np.int64)
        np.minimum.at(rack_price, self.rack[idle[self.rack[idle] >= 0]], prices[idle[self.rack[idle] >= 0]])
        local = on_node + minimum_by_row(self.idle_replicas, prices, anywhere - on_node)
        racked = in_rack + minimum_by_row(self.idle_racks, rack_price, anywhere - in_rack)
        return np.minimum(np.minimum(local, racked), anywhere)

    def gains(self, worth: Ints, prices: Ints) -> int:
        on_node, in_rack, off_rack = self.levels
        if in_rack < off_rack or len(self.pools) > 1:
            return super().gains(worth, prices)
        tasks, near = self.idle_homes
        anywhere = off_rack + int(prices[self.capacity > 0].min())  # all other tasks gain the same there
        local = np.minimum(on_node + minimum_by_row(near, prices, 0), anywhere)
        gain = int(worth[0]) - local
        return exact_sum(gain[gain > 0]) + (len(self.tasks) - len(tasks)) * max(0, int(worth[0]) - anywhere)

    @cached_property
    def places(self) -> Places:
        """On nodes with their data, in racks with it if that saves anything, and anywhere."""
        first, (_, rack, off_rack) = self.classes().first, self.levels
        on_node, in_rack = self.idle_replicas.take(first), self.idle_racks.take(first)
        in_rack = in_rack.kept(np.full(len(in_rack.values), rack < off_rack))
        lengths = [len(on_node.values), len(in_rack.values), len(first)]
        racks = Level(in_rack, self.rack, self.instance.cluster.rack_ids)
        units = np.repeat(np.array(self.levels, dtype=np.int64), lengths)
        return Places((*self.places_on(on_node, units).levels, racks), True, units)

    def classes(self) -> TaskClasses:
        return self._classes

    @cached_property
    def _classes(self) -> TaskClasses:
        nodes, local = len(self.rack), self.idle_replicas
        ordered = Ragged(local.starts, np.sort(local.row_of * nodes + local.values) % max(nodes, 1))
        racks = (self.idle_racks,) if self.levels[1] < self.levels[2] else ()
        return TaskClasses.from_rows(self.pool, ordered, *racks)

    def locality_counts(self, placement: Placement) -> Mapping[str, int]:
        """How many placed tasks run on a replica's node, in a replica's rack, and off-rack."""
        nodes = self.nodes_of(placement)
        placed = np.flatnonzero(nodes != NONE)
        counts = np.bincount(self.locality(placed, nodes[placed]), minlength=3).tolist()
        return dict(zip(("node", "rack", "off_rack"), counts, strict=True))
