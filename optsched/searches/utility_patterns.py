"""Patterns of tasks on one node for `utility`: the best one at given prices, all maximal ones, and the linear program.

A pattern says how many maps and reduces of each job one node holds. The linear program over all patterns is solved by
column generation (Gilmore and Gomory). It asks whether fractions of patterns hold what a lowest utility needs
(`least_shortage`), or how much of the trackers they can use beside it (`most_use`). Its duals are prices of tasks,
which `Utility.utility_bound` and `Utility.utilisation_bound` turn into proofs.

Where a node's room takes too many states, and has too many patterns, its amounts are divided and rounded so that every
pattern found still fits the room. The prices are then less good, never wrong.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from optsched.instance import Bools, Floats, Ints
from optsched.problems.knapsack import MOST_STATES, best_listed, copies_in_powers
from optsched.problems.utility import Utility
from optsched.problems.utility_columns import least_pairs
from optsched.results import Limit
from optsched.solvers.answers import whole_prices
from optsched.solvers.blocks import Block, ones_at, stacked
from optsched.solvers.highs import LinearProgram, solve_arrays
from optsched.solvers.profiles import Profile

__all__ = [
    "SHORT_SCALE",
    "USE_SCALE",
    "Items",
    "Needs",
    "Packing",
    "Patterns",
    "Relaxation",
    "all_patterns",
    "best_patterns",
    "least_shortage",
    "most_use",
]

#: Denominator of the prices of tasks that are short, which are at most 1.
SHORT_SCALE = 2**30

#: Denominator of the prices of tasks in units of utilisation.
USE_SCALE = 2**10

#: How far a pattern must be better than what the linear program pays for its node, relative to it.
_BETTER = 1e-9


@dataclass(frozen=True)
class Items:
    """What is packed: the maps of each job, then the reduces of each job.

    Attributes
    ----------
    demand
        int64, shape (items, resources).
    limit
        int64, shape (items,): how many may be placed; none of fixed reduces.
    share
        int64, shape (items, types): what one adds to the utilisation.
    """

    demand: Ints
    limit: Ints
    share: Ints

    @classmethod
    def of(cls, problem: Utility) -> Items:
        """The items of a problem."""
        open_reduces = problem.pending_reduces if problem.fixed is None else np.zeros_like(problem.pending_reduces)
        return cls(
            np.concatenate([problem.demand_map, problem.demand_reduce]),
            np.concatenate([problem.pending_maps, open_reduces]),
            np.concatenate([problem.map_share, problem.reduce_share]),
        )


def best_patterns(rooms: Ints, items: Items, limit: Ints, worth: Floats) -> tuple[Floats, Ints]:
    """For each room a pattern that is worth most, and its worth; `limit` (items,) of each item are left.

    Parameters
    ----------
    rooms
        int64, shape (rooms, resources).
    worth
        float64, shape (items,); what is worth nothing is left out.

    Returns
    -------
    tuple
        float64, shape (rooms,), and int64, shape (rooms, items). Time is items x states x log(limit).
    """
    patterns = np.zeros((len(rooms), len(limit)), dtype=np.int64)
    largest = np.minimum(rooms.max(axis=0, initial=0), (items.demand * limit[:, None]).sum(axis=0))
    chosen = np.flatnonzero((worth > 0) & (limit > 0) & (items.demand <= largest).all(axis=1))
    used = np.flatnonzero(items.demand[chosen].any(axis=0))
    idle = chosen[~items.demand[chosen].any(axis=1)]
    patterns[:, idle] = limit[idle]
    chosen = chosen[items.demand[chosen].any(axis=1)]
    if not len(chosen):
        return patterns @ worth, patterns
    demand, largest = items.demand[chosen][:, used], largest[used]
    rooms = np.minimum(rooms[:, used], largest)
    divisor = np.gcd.reduce(demand, axis=0)
    if math.prod((largest // divisor + 1).tolist()) > MOST_STATES:
        listed = [best_listed(room, demand, limit[chosen], worth[chosen]) for room in rooms]
        found = [counts for _, counts in filter(None, listed)]
        if len(found) == len(rooms):
            patterns[:, chosen] = found
            return patterns @ worth, patterns
    while math.prod((largest // divisor + 1).tolist()) > MOST_STATES:
        divisor[np.argmax(largest // divisor)] *= 2
    table = np.zeros((largest // divisor + 1).tolist())
    steps = -(-demand // divisor)
    taken: list[tuple[int, int, list[int], Bools]] = []
    for item, step in zip(chosen.tolist(), steps.tolist(), strict=True):
        fits = min(extent // size for extent, size in zip((largest // divisor).tolist(), step, strict=True) if size)
        for part in copies_in_powers(min(int(limit[item]), fits)):
            shift = [part * size for size in step]
            ends = tuple(slice(size, None) for size in shift)
            starts = tuple(slice(extent - size) for size, extent in zip(shift, table.shape, strict=True))
            gained = table[starts] + part * worth[item]
            better = np.zeros(table.shape, dtype=bool)
            better[ends] = gained > table[ends]
            table[ends] = np.maximum(table[ends], gained)
            taken.append((item, part, shift, better))
    left = rooms // divisor
    for item, part, shift, better in reversed(taken):
        has = better[tuple(left.T)]
        patterns[has, item] += part
        left[has] -= shift
    return patterns @ worth, patterns


def all_patterns(room: Ints, items: Items, most: int) -> Ints | None:
    """Every maximal pattern of a room: no task can be added. int64, shape (patterns, items); None beyond `most`."""
    fits = np.flatnonzero((items.limit > 0) & (items.demand <= room).all(axis=1))
    demand, limit = items.demand[fits].tolist(), items.limit[fits].tolist()
    found: list[list[int]] = []
    counts = [0] * len(fits)
    visits = 0

    def add(position: int, left: list[int]) -> bool:
        """Go through the counts of the items from `position` on; False once there are too many."""
        nonlocal visits
        visits += 1
        if visits > 20 * most or len(found) > most:
            return False
        if position == len(fits):
            if not any(
                count < limit[item] and all(need <= have for need, have in zip(demand[item], left, strict=True))
                for item, count in enumerate(counts)
            ):
                found.append(list(counts))
            return True
        bounds = [have // need for need, have in zip(demand[position], left, strict=True) if need]
        for count in range(min([limit[position], *bounds]), -1, -1):
            counts[position] = count
            rest = [have - count * need for need, have in zip(demand[position], left, strict=True)]
            if not add(position + 1, rest):
                return False
        counts[position] = 0
        return True

    if not add(0, room.tolist()) or len(found) > most:
        return None
    patterns = np.zeros((len(found), len(items.limit)), dtype=np.int64)
    patterns[:, fits] = np.array(found, dtype=np.int64).reshape(len(found), len(fits))
    return patterns


def deal(patterns: Ints, times: Ints, placed: Ints) -> Ints:
    """Tasks on each of the nodes that take patterns: `times` (patterns,) of each, `placed` (items,) tasks in all.

    What patterns hold beyond the tasks that are placed is left out, on the last nodes. Shape (nodes, items).

    >>> deal(np.array([[2, 1], [0, 3]]), np.array([2, 1]), np.array([3, 4])).tolist()
    [[2, 1], [1, 1], [0, 2]]
    """
    upto = np.minimum(np.cumsum(np.repeat(patterns, times, axis=0), axis=0), placed)
    dealt: Ints = np.diff(upto, axis=0, prepend=0)
    return dealt


@dataclass
class Patterns:
    """Patterns that are known so far, each of a type of nodes, without repetition."""

    kind: list[int] = field(default_factory=list)
    counts: list[Ints] = field(default_factory=list)
    _known: set[tuple[int, bytes]] = field(default_factory=set)

    def add(self, kind: int, counts: Ints) -> bool:
        """Add a pattern; False if it was known."""
        key = kind, counts.tobytes()
        if key in self._known:
            return False
        self._known.add(key)
        self.kind.append(kind)
        self.counts.append(counts.copy())
        return True

    def held(self, items: int) -> Floats:
        """How many of each item each pattern holds, shape (items, patterns)."""
        return np.array(self.counts, dtype=np.float64).reshape(len(self.counts), items).T

    def of_kind(self, kind: int, items: int) -> Ints:
        """The patterns of one type, shape (patterns, items)."""
        rows = [counts for other, counts in zip(self.kind, self.counts, strict=True) if other == kind]
        return np.array(rows, dtype=np.int64).reshape(-1, items)


@dataclass(frozen=True)
class Relaxation:
    """What the linear program over patterns says of a packing.

    Attributes
    ----------
    packing
        What is packed.
    patterns
        Those that are known.
    feasible
        Whether fractions of patterns hold what it needs; None where a limit cut the search short.
    prices
        int64, shape (items,): duals of the tasks, times `SHORT_SCALE` (`least_shortage`) or `USE_SCALE` (`most_use`).
    weight
        float64, shape (patterns,): how many nodes take each of the first patterns.
    needed
        int64, shape (items,): of the counts that are enough for each job, those that the fractions are nearest to.
    limit
        What cut it short.
    """

    packing: Packing
    patterns: Patterns
    feasible: bool | None
    prices: Ints
    weight: Floats
    needed: Ints
    limit: Limit | None = None


@dataclass(frozen=True)
class Needs:
    """Pairs of counts that give a job a utility.

    Attributes
    ----------
    owner
        int64, shape (pairs,): the job.
    counts
        int64, shape (items, pairs): the fewest tasks of each item.
    """

    owner: Ints
    counts: Ints

    @classmethod
    def of(cls, problem: Utility, units: int) -> Needs:
        """Every pair of which neither count can be less: a job takes one of its pairs, or more."""
        return cls(*least_pairs(problem, units))


@dataclass(frozen=True)
class Packing:
    """What is to be packed on the nodes so that each job has at least a utility.

    Attributes
    ----------
    items, needs
        Of what there is to be how much; each job has a pair of counts.
    room
        int64, shape (nodes, resources).
    node_type, type_size, type_room
        Nodes of equal capacity and room are of one type: int64, shapes (nodes,), (types,), (types, resources).
    """

    items: Items
    needs: Needs
    room: Ints
    node_type: Ints
    type_size: Ints
    type_room: Ints

    @classmethod
    def of(cls, problem: Utility, units: int) -> Packing:
        """For a utility of at least `units`."""
        types = problem.node_type, problem.type_size, problem.type_room
        return cls(Items.of(problem), Needs.of(problem, units), problem.room, *types)


def least_shortage(packing: Packing, patterns: Patterns, profile: Profile) -> Relaxation:
    """Whether fractions of patterns hold what a packing needs: the fewest tasks that are short of it.

    Where some are short, the prices prove by `Utility.utility_bound` that no placement has its utility. The search for
    new patterns ends as soon as they do.

    Parameters
    ----------
    packing
        Of a utility of at most `saturated_units`.
    patterns
        Grows by the patterns that the linear program needs.
    """
    items, needs = packing.items, packing.needs
    count, types, jobs = len(items.limit), len(packing.type_size), int(needs.owner.max()) + 1
    tolerance = _BETTER * max(1.0, float(items.limit.sum()))
    while True:
        known = len(patterns.kind)
        found = solve_arrays(_shortage_program(packing, patterns), profile)
        if found.x is None or found.row_duals is None:
            return _cut_short(packing, patterns, known, found.outcome.limit)
        price, paid = found.row_duals[:count], -found.row_duals[count : count + types]
        short = float(found.x[known : known + count].sum())
        if short <= tolerance:
            break
        values, best = best_patterns(packing.type_room, items, items.limit, price)
        cost = price @ needs.counts
        least = sum(float(cost[needs.owner == job].min()) for job in range(jobs))
        if least - float(packing.type_size @ values) > short / 2:
            break  # these prices prove it already
        if not _added(patterns, values, best, paid):
            break
    return _relaxation(packing, patterns, known, found.x, price, SHORT_SCALE, short <= tolerance)


def most_use(packing: Packing, patterns: Patterns, profile: Profile) -> Relaxation:
    """The most utilisation of fractions of patterns that hold what a packing needs.

    The prices prove an upper bound of the utilisation by `Utility.utilisation_bound`.

    Parameters
    ----------
    patterns
        Must hold patterns that reach what is needed; grows by those that use more.
    """
    items = packing.items
    count, types = len(items.limit), len(packing.type_size)
    while True:
        known = len(patterns.kind)
        found = solve_arrays(_use_program(packing, patterns), profile)
        if found.x is None or found.row_duals is None:
            return _cut_short(packing, patterns, known, found.outcome.limit)
        duals = found.row_duals
        price = duals[:count] + duals[count : 2 * count]  # of what jobs need, and of how many tasks there are
        paid = -duals[2 * count : 2 * count + types]
        by_type = [
            best_patterns(packing.type_room[[kind]], items, items.limit, items.share[:, kind] + price)
            for kind in range(types)
        ]
        values = np.concatenate([np.zeros(0), *(value for value, _ in by_type)])
        best = np.concatenate([np.zeros((0, count), dtype=np.int64), *(pattern for _, pattern in by_type)])
        if not _added(patterns, values, best, paid):
            break
    return _relaxation(packing, patterns, known, found.x, price, USE_SCALE, True)


def _added(patterns: Patterns, values: Floats, best: Ints, paid: Floats) -> bool:
    """Add the best pattern of each type that is worth more than a node of the type costs; whether one of them is new.

    `values` is what each pattern is worth, `paid` the price of a node; both of shape (types,).
    """
    better = np.flatnonzero(values > paid + _BETTER * np.maximum(1.0, np.abs(paid)))
    new = [patterns.add(kind, best[kind]) for kind in better.tolist()]
    return any(new)


def _cut_short(packing: Packing, patterns: Patterns, known: int, limit: Limit | None) -> Relaxation:
    """What is known where the solver holds no solution of the linear program."""
    nothing = np.zeros(len(packing.items.limit), dtype=np.int64)
    return Relaxation(packing, patterns, None, nothing, np.zeros(known), nothing, limit)


def _relaxation(
    packing: Packing, patterns: Patterns, known: int, x: Floats, price: Floats, scale: int, feasible: bool
) -> Relaxation:
    """What the last linear program says; it had the first `known` patterns, and later ones have the weight 0."""
    needs = packing.needs
    share = x[len(x) - len(needs.owner) :]
    jobs = int(needs.owner.max()) + 1
    chosen = [int(np.argmax(np.where(needs.owner == job, share, -1.0))) for job in range(jobs)]
    with np.errstate(over="ignore"):  # which is past every number, and no price
        prices = whole_prices(price * scale)
    return Relaxation(
        packing,
        patterns,
        feasible,
        np.zeros(len(price), dtype=np.int64) if prices is None else prices,
        np.append(x[:known], np.zeros(len(patterns.kind) - known)),
        needs.counts[:, chosen].sum(axis=1),
    )


def _shortage_program(packing: Packing, patterns: Patterns) -> LinearProgram:
    """The linear program for the fewest tasks short of what jobs need, over the known patterns.

    Columns: nodes that take each pattern; tasks short of the need; share of each pair of counts. Rows: what each job
    needs of each item; nodes of each type; the pairs of each job.
    """
    needs = packing.needs
    count, known, pairs, jobs = len(needs.counts), len(patterns.kind), len(needs.owner), int(needs.owner.max()) + 1
    types = len(packing.type_size)
    blocks: dict[tuple[int, int], Block] = {
        (0, 0): patterns.held(count),
        (0, 1): np.eye(count),
        (0, 2): -needs.counts.astype(np.float64),
        (1, 0): ones_at(np.array(patterns.kind, dtype=np.int64), types),
        (2, 2): ones_at(needs.owner, jobs),
    }
    return _program(
        np.concatenate([np.zeros(known), np.ones(count), np.zeros(pairs)]),
        np.concatenate([np.zeros(count), np.full(types, -np.inf), np.ones(jobs)]),
        np.concatenate([np.full(count, np.inf), packing.type_size, np.ones(jobs)]),
        stacked([count, types, jobs], [known, count, pairs], blocks),
    )


def _use_program(packing: Packing, patterns: Patterns) -> LinearProgram:
    """The linear program for the most utilisation where jobs have what they need, over the known patterns.

    Columns: nodes that take each pattern; share of each pair of counts. Rows: what each job needs of each item; how
    many tasks there are of it; nodes of each type; the pairs of each job.
    """
    items, needs = packing.items, packing.needs
    count, known, pairs, jobs = len(items.limit), len(patterns.kind), len(needs.owner), int(needs.owner.max()) + 1
    types = len(packing.type_size)
    kind, held = np.array(patterns.kind, dtype=np.int64), patterns.held(count)
    blocks: dict[tuple[int, int], Block] = {
        (0, 0): held,
        (0, 1): -needs.counts.astype(np.float64),
        (1, 0): held,
        (2, 0): ones_at(kind, types),
        (3, 1): ones_at(needs.owner, jobs),
    }
    return _program(
        np.concatenate([-(items.share[:, kind] * held).sum(axis=0), np.zeros(pairs)]),
        np.concatenate([np.zeros(count), np.full(count + types, -np.inf), np.ones(jobs)]),
        np.concatenate([np.full(count, np.inf), items.limit, packing.type_size, np.ones(jobs)]),
        stacked([count, count, types, jobs], [known, pairs], blocks),
    )


def _program(objective: Floats, lower: Floats, upper: Floats, matrix: sp.csr_array) -> LinearProgram:
    """A linear program to minimise over columns of at least 0, with these bounds of its rows."""
    return LinearProgram(
        objective=objective,
        col_lower=np.zeros(len(objective)),
        col_upper=np.full(len(objective), np.inf),
        integer=np.zeros(len(objective), dtype=bool),
        row_lower=lower,
        row_upper=upper,
        matrix=matrix,
    )
