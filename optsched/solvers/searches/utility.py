"""`utility` exactly: thresholds on the lowest utility from both sides, then the most utilisation at the highest.

From above, the linear program over patterns rules thresholds out, and its prices prove it in integers. From below, the
fractions are rounded, what is left is packed greedily, and an integer program over the known patterns is given a few
nodes; then the exact program. The utilisation is treated in the same way, and its proof may
be a tree over the patterns that the prices leave. What is open then is for `optsched.routes.programs`.

A pattern says how many maps and reduces of each job one node holds. The linear program over all patterns is solved by
column generation (Gilmore and Gomory). It asks whether fractions of patterns hold what a lowest utility needs, or how
much of the trackers they can use in addition (`fractions`). Its duals are prices of tasks, which
`Utility.utility_bound` and `Utility.utilisation_bound` turn into proofs. If a node's room takes too many states and has
too many patterns, its amounts are divided and rounded so that every pattern found still fits. The prices are then less
good, never wrong.

The exact program is that of `optsched.problems.utility_program`. With only some patterns of a host, its solution is a
placement, but it proves no bound. If prices nearly close the gap, few patterns and counts can be in a better placement
(`columns_at` there): a program over them is small, and so is the tree of cases of its linear programs.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from optsched.certificates.programs import without_costs
from optsched.certificates.trees import Tree
from optsched.certificates.utility import utilisation_certificate, utilisation_tree_certificate, utility_certificate
from optsched.core.errors import OutOfTime, SolverDisagreement
from optsched.core.instance import Bools, Floats, Ints
from optsched.core.placement import Placement
from optsched.core.results import Certificate, Limit, Termination
from optsched.problems.base import GRID
from optsched.problems.knapsack import MOST_STATES, best_listed, copies_in_powers
from optsched.problems.utility import LEAST_FINITE, Utility
from optsched.problems.utility_program import Columns, TaskPrices, UtilityProgram, columns_at, least_pairs
from optsched.solvers.answers import STOPPED, LinearProgram, SolverOutcome, stopped, whole_numbers, whole_prices
from optsched.solvers.highs import solve_arrays, solve_uninterrupted
from optsched.solvers.profiles import Profile
from optsched.solvers.searches.program_tree import as_arrays, settling_tree

#: Denominator of the prices of missing tasks, which are at most 1.
SHORT_SCALE = 2**30

#: Denominator of the prices of tasks in units of utilisation.
USE_SCALE = 2**10

#: The relative amount by which a pattern must be better than what the linear program pays for its node.
_BETTER = 1e-9


def best_patterns(rooms: Ints, demand: Ints, limit: Ints, worth: Floats) -> tuple[Floats, Ints]:
    """For each room a pattern of highest worth, and its worth; `limit` (items,) is how many of each item are left.

    `rooms`: int64, shape (rooms, resources). `demand`: int64, shape (items, resources). `worth`: float64, shape
    (items,); items without worth are left out.

    Returns float64, shape (rooms,), and int64, shape (rooms, items). Time is items x states x log(limit).
    """
    patterns = np.zeros((len(rooms), len(limit)), dtype=np.int64)
    largest = np.minimum(rooms.max(axis=0, initial=0), (demand * limit[:, None]).sum(axis=0))
    chosen = np.flatnonzero((worth > 0) & (limit > 0) & (demand <= largest).all(axis=1))
    used = np.flatnonzero(demand[chosen].any(axis=0))
    idle = chosen[~demand[chosen].any(axis=1)]
    patterns[:, idle] = limit[idle]
    chosen = chosen[demand[chosen].any(axis=1)]
    if not len(chosen):
        return patterns @ worth, patterns
    demand, largest = demand[chosen][:, used], largest[used]
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


@dataclass
class Patterns:
    """The known patterns, each of a type of nodes, without repetition."""

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

    def item_counts(self, items: int) -> Floats:
        """How many of each item each pattern holds, shape (items, patterns)."""
        return np.array(self.counts, dtype=np.float64).reshape(len(self.counts), items).T

    def of_kind(self, kind: int, items: int) -> Ints:
        """The patterns of one type, shape (patterns, items)."""
        rows = [counts for other, counts in zip(self.kind, self.counts, strict=True) if other == kind]
        return np.array(rows, dtype=np.int64).reshape(-1, items)


class Relaxation(NamedTuple):
    """The answer of the linear program over patterns for a lowest utility.

    Attributes
    ----------
    units
        The utility that each job must have at least.
    patterns
        The known patterns.
    feasible
        Whether fractions of patterns hold what it needs; None if a limit stopped the search.
    prices
        int64, shape (items,): duals of the tasks, times `SHORT_SCALE` or, of the utilisation, `USE_SCALE`.
    weight
        float64, shape (patterns,): how many nodes take each of the first patterns.
    needed
        int64, shape (items,): of the sufficient counts of each job, those nearest to the fractions.
    limit
        What stopped it.
    """

    units: int
    patterns: Patterns
    feasible: bool | None
    prices: Ints
    weight: Floats
    needed: Ints
    limit: Limit | None = None


def fractions(problem: Utility, units: int, patterns: Patterns, profile: Profile, use: bool) -> Relaxation:
    """Pack tasks that give each job at least a utility by fractions of patterns, by column generation.

    Without `use`, they minimise the tasks that are missing. If some are, the prices prove by `Utility.utility_bound`
    that no placement has the utility, and the search for new patterns ends as soon as they do. With `use`, they
    maximise the use in addition to the needs; the prices bound the utilisation by `Utility.utilisation_bound`.

    `units`: the utility, at most `saturated_units`. `patterns`: grows by those that the linear program needs; with
    `use` it must contain some that meet the needs.
    """
    demand, limit, share = problem.items
    owner, pair = least_pairs(problem, units)
    count, types, short = len(limit), len(problem.type_size), 0.0
    tolerance = _BETTER * max(1.0, float(limit.sum()))
    alike = [[kind] for kind in range(types)] if use else [[*range(types)]] * (types > 0)
    while True:
        known = len(patterns.kind)
        found = solve_arrays(_program(problem, owner, pair, patterns, use), profile)
        if found.x is None or found.row_duals is None:
            nothing = np.zeros(count, dtype=np.int64)
            return Relaxation(units, patterns, None, nothing, np.zeros(known), nothing, found.outcome.limit)
        rows = 2 * count if use else count
        # Rows for what jobs need, and for how many tasks there are.
        price, paid = found.row_duals[:rows].reshape(-1, count).sum(axis=0), -found.row_duals[rows : rows + types]
        short = 0.0 if use else float(found.x[known : known + count].sum())
        if not use and short <= tolerance:
            break
        by_type = [
            best_patterns(problem.type_room[own], demand, limit, share[:, own[0]] * use + price) for own in alike
        ]
        values = np.concatenate([np.zeros(0), *(value for value, _ in by_type)])
        best = np.concatenate([np.zeros((0, count), dtype=np.int64), *(pattern for _, pattern in by_type)])
        cost = price @ pair
        least = sum(float(cost[owner == job].min()) for job in range(len(problem.jobs)))
        if not use and least - float(problem.type_size @ values) > short / 2:
            break  # these prices prove it already
        # The best pattern of a type is new if it is worth more than a node of the type costs.
        better = np.flatnonzero(values > paid + _BETTER * np.maximum(1.0, np.abs(paid)))
        added = [patterns.add(kind, best[kind]) for kind in better.tolist()]
        if not any(added):
            break
    chosen = found.x[len(found.x) - len(owner) :]
    nearest = [int(np.argmax(np.where(owner == job, chosen, -1.0))) for job in range(len(problem.jobs))]
    with np.errstate(over="ignore"):  # infinite values are no prices
        prices = whole_prices(price * (USE_SCALE if use else SHORT_SCALE))
    return Relaxation(
        units,
        patterns,
        short <= tolerance,
        np.zeros(count, dtype=np.int64) if prices is None else prices,
        np.append(found.x[:known], np.zeros(len(patterns.kind) - known)),
        pair[:, nearest].sum(axis=1),
    )


def _program(problem: Utility, owner: Ints, pair: Ints, patterns: Patterns, use: bool) -> LinearProgram:
    """The linear program over the known patterns: for the fewest missing tasks, or for the most use.

    Columns: nodes that take each pattern; missing tasks, without `use`; share of each pair of counts. Rows: what each
    job needs of each item; with `use` how many tasks there are of it; nodes of each type; the pairs of each job.
    """
    (_, limit, share), size = problem.items, problem.type_size
    count, known, pairs, jobs = len(limit), len(patterns.kind), len(owner), len(problem.jobs)
    short, supply = (0, count) if use else (count, 0)
    kind, held = np.array(patterns.kind, dtype=np.int64), patterns.item_counts(count)
    rows: list[list[Any]] = [
        [sp.coo_array(held), sp.coo_array(np.eye(count, short)), sp.coo_array(-pair.astype(np.float64))],
        [sp.coo_array(held[:supply]), None, None],
        [_one_in_each(kind, len(size)), None, None],
        [None, None, _one_in_each(owner, jobs)],
    ]
    used = (share[:, kind] * held).sum(axis=0) * use
    columns = known + short + pairs
    return LinearProgram(
        objective=np.concatenate([-used, np.ones(short), np.zeros(pairs)]),
        col_lower=np.zeros(columns),
        col_upper=np.full(columns, np.inf),
        integer=np.zeros(columns, dtype=bool),
        row_lower=np.concatenate([np.zeros(count), np.full(supply + len(size), -np.inf), np.ones(jobs)]),
        row_upper=np.concatenate([np.full(count, np.inf), limit[:supply], size, np.ones(jobs)]),
        matrix=sp.csr_array(sp.block_array(rows)),
    )


def _one_in_each(rows: Ints, height: int) -> sp.coo_array:
    """A matrix with one 1 in each column, in the given rows."""
    return sp.coo_array((np.ones(len(rows)), (rows, np.arange(len(rows)))), shape=(height, len(rows)))


# Exact programs -------------------------------------------------------------------------------------------------------


#: The most columns that are tried, and the most nodes of the branch and bound for a better placement.
_MOST_COLUMNS, _MOST_NODES = 5_000, 2_000

#: The most linear programs of a tree, and the most columns of all of them together.
_MOST_PROGRAMS, _MOST_SOLVED = 2_000, 2_000_000


class Best(NamedTuple):
    """Counts of items by node that use most, shape (items, nodes), or None if the incumbent's do; its proof."""

    counts: Ints | None
    proof: Certificate | None


def most_utilisation(problem: Utility, units: int, prices: TaskPrices, used: int, profile: Profile) -> Best | None:
    """The most utilisation if every job has a utility; None if too many columns are left to decide.

    `units`: the utility. `prices` of tasks nearly prove the incumbent's utilisation. `used`: that utilisation, in
    units, without fixed reduces.
    """
    columns = columns_at(problem, units, prices, -used)
    if columns is None or len(columns.kind) > _MOST_COLUMNS:
        return None
    few = replace(profile, node_limit=min(_MOST_NODES, profile.node_limit or _MOST_NODES))
    found = solve_uninterrupted(as_arrays(columns.program), few)
    if found.outcome.status not in (Termination.OPTIMAL, Termination.INFEASIBLE):
        return None
    counts = None
    if found.x is not None:
        values = whole_numbers(found.x)
        better = -int((columns.program.objective * values).sum())
        if better > used:
            counts = np.zeros((columns.counts.shape[1], len(problem.node_type)), dtype=np.int64)
            for kind in range(len(problem.type_size)):
                own = np.flatnonzero(columns.kind == kind)
                counts[:, problem.node_type == kind] = np.repeat(columns.counts[own], values[own], axis=0).T
            used, columns = better, columns_at(problem, units, prices, -better)
    tree = None if columns is None else _tree(columns, -used, profile)
    proof = None if tree is None else utilisation_tree_certificate(problem, used + problem.fixed_use, prices, tree)
    return Best(counts, proof)


def _tree(columns: Columns, limit: int, profile: Profile) -> Tree | None:
    """The tree over columns, with no more effort than it is worth."""
    most = min(_MOST_PROGRAMS, _MOST_SOLVED // max(1, len(columns.program.objective)))
    try:
        return settling_tree(columns.program, limit, profile, most) if most else None
    except OutOfTime:  # the incumbent stays, with a solver's claim
        return None


#: The most columns of the exact program for trackers that are counted one by one.
MOST_COLUMNS = 20_000


def is_too_large(problem: Utility) -> bool:
    """Whether the exact program counts too many trackers one by one."""
    return int(problem.posing.single.sum()) * 2 * len(problem.jobs) > MOST_COLUMNS


def solve_packing(posing: UtilityProgram, units: int, profile: Profile, use: bool) -> tuple[SolverOutcome, Ints | None]:
    """Find counts that give each job a utility of at least `units`; with `use` the most utilisation.

    Returns HiGHS's claims about the negated utilisation in units, and its counts, int64, of the maps of each job, then
    the reduces of each job, by node. None if it has none.

    SolverDisagreement if HiGHS's counts are infeasible, or too few.
    """
    program = posing.most_used(units)
    whole = program.numbers if use else without_costs(program.numbers)
    found = solve_arrays(
        as_arrays(whole), profile, None, lambda values: posing.decision_of(whole_numbers(values), program)
    )
    if found.x is None:
        return found.outcome, None
    values = whole_numbers(found.x)
    wrong = [str(violation) for violation in posing.problem.violations(posing.decision_of(values, program))]
    wrong += [] if wrong or program.broken(values) is None else ["what a job needs"]
    if wrong:
        raise SolverDisagreement(f"{posing.problem.name}: HiGHS holds a placement that violates {wrong[0]}")
    return found.outcome, posing.counts_of(values, program)


# The search -----------------------------------------------------------------------------------------------------------


#: Branch-and-bound nodes for the programs over known patterns, which may well have no solution.
_NODES_OF_A_TRY = 500

#: What ends the search; running out of a try's few nodes does not.
_STOPPING = (Limit.INTERRUPTED, Limit.TIME, Limit.MEMORY)

#: Of patterns with the same worth at the prices, those of large tasks go first, since small tasks fill the rest.
_TIE = 1e-3


@dataclass
class UtilitySearch:
    """The search for one problem; after `run` it has placement, certificates, and why it stopped.

    `profile`: limits; a time limit holds for the search as a whole. `start`: an initial feasible placement.
    """

    problem: Utility
    profile: Profile
    start: Placement | None = None

    def __post_init__(self) -> None:
        problem = self.problem
        self.items = problem.items
        self.patterns = Patterns()
        self.limit: Limit | None = None
        self.certificates: tuple[Certificate, ...] = ()
        self._began = time.perf_counter()
        self.counts: Ints = np.zeros((len(self.items.limit), len(problem.node_type)), dtype=np.int64)
        if self.start is not None:
            self.counts = problem.items_on(self.start)

    # What is held -----------------------------------------------------------------------------------------------------

    @property
    def placement(self) -> Placement:
        """The best placement so far."""
        return self.problem.placed(self.counts)

    def lowest(self, counts: Ints) -> int:
        """The lowest utility of the counts, in units."""
        maps, reduces = np.split(counts.sum(axis=1), 2)
        fixed = self.problem.fixed
        units = self.problem.utility_units(maps, reduces if fixed is None else fixed.sum(axis=1))
        return int(units.min(initial=self.problem.saturated_units))

    def used(self, counts: Ints) -> int:
        """The utilisation of the counts, in units, without fixed reduces."""
        return int((counts * self.items.share[:, self.problem.node_type]).sum())

    # The search -------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Search. After Ctrl-C, what is found and proved so far stays."""
        try:
            self._run()
        except STOPPED as error:
            self.limit = stopped(error)[0]

    def _run(self) -> None:
        jobs = len(self.problem.jobs)
        zeros = np.zeros(jobs, dtype=np.int64)
        best = utility_certificate(self.problem, zeros, zeros)
        self.certificates = (best,)
        if not jobs:
            self.certificates = (best, utilisation_certificate(self.problem, 0, zeros, zeros, 1))
            return
        best, relaxation = self._ruled_out(best)
        self.certificates = (best,)
        ceiling = int(best.claim * GRID)
        self._pack_downwards(ceiling, relaxation)
        if self.lowest(self.counts) == ceiling:
            self._use(ceiling)
        else:
            self._fill()

    def _ruled_out(self, best: Certificate) -> tuple[Certificate, Relaxation | None]:
        """The strongest bound that prices prove, and the relaxation at the highest threshold that is not ruled out."""
        problem = self.problem
        low, high = LEAST_FINITE - 1, problem.saturated_units
        held: Relaxation | None = None
        while high >= LEAST_FINITE and (held is None or problem.utility_below(high) >= low):
            middle = max((low + high + 1) // 2, LEAST_FINITE)
            found = self._short(middle)
            if found.feasible is None:
                self.limit = found.limit
                return best, held
            if found.feasible:
                low, held = middle, found
                continue
            prices = found.prices // max(1, int(np.gcd.reduce(found.prices)))
            certificate = utility_certificate(problem, *np.split(prices, 2))
            proved = int(certificate.claim * GRID)
            if certificate.claim < best.claim:
                best = certificate
            high = min(problem.utility_below(middle), proved)
        return best, held

    def _pack_downwards(self, ceiling: int, relaxation: Relaxation | None) -> None:
        """Try to pack thresholds from the ceiling down, in growing steps, until one succeeds."""
        threshold, step = ceiling, 1
        while relaxation is not None and threshold > self.lowest(self.counts) and self.limit is None:
            if self._pack(threshold, relaxation, threshold == ceiling):
                return
            for _ in range(step):
                threshold = self.problem.utility_below(threshold)
            step *= 2
            relaxation = self._short(threshold)

    def _short(self, units: int) -> Relaxation:
        """How many tasks of what a lowest utility needs fractions of patterns miss."""
        return fractions(self.problem, units, self.patterns, self._within(), use=False)

    def _used_most(self, units: int) -> tuple[Relaxation, Certificate]:
        """The most utilisation of fractions of patterns at a known lowest utility, and its proof."""
        jobs = len(self.problem.jobs)
        for kind, counts in zip(self.problem.node_type.tolist(), self.counts.T, strict=True):
            self.patterns.add(kind, counts)
        found = fractions(self.problem, units, self.patterns, self._within(), use=True)
        prices = found.prices[:jobs], found.prices[jobs:]
        return found, utilisation_certificate(self.problem, units, *prices, USE_SCALE)

    # Thresholds -------------------------------------------------------------------------------------------------------

    def _pack(self, threshold: int, relaxation: Relaxation, thoroughly: bool) -> bool:
        """Try to hold a threshold: round the fractions, else ask the program over known patterns, then all."""
        counts = self._rounded(relaxation)
        if self.lowest(counts) < threshold:
            self._keep(counts)
            outcome, known = self._known_patterns(relaxation, use=False)
            if known is None and thoroughly and outcome.limit not in _STOPPING and not is_too_large(self.problem):
                outcome, known = solve_packing(self.problem.posing, threshold, self._within(), False)
            if known is None:
                self._interrupted(outcome)
                return False
            counts = known
        self._keep(counts)
        return True

    def _use(self, units: int) -> None:
        """The most utilisation at the highest lowest utility."""
        self._fill()
        relaxed, proof = self._used_most(units)
        self.certificates = (*self.certificates, proof)
        if relaxed.feasible is None:
            self.limit = relaxed.limit
            return
        target = int(proof.claim * GRID) - self.problem.fixed_use
        if self.used(self.counts) < target:
            self._keep(self._rounded(relaxed))
            self._fill()
        given = TaskPrices(relaxed.prices, USE_SCALE)
        self._packed(units, relaxed, given, target)

    def _packed(self, units: int, relaxation: Relaxation, prices: TaskPrices, target: int) -> None:
        """Pack what uses `target` units, or nearly so, until a tree proves that this is the most."""
        if self.used(self.counts) >= target or self._by_columns(units, prices):
            return
        tried = self.used(self.counts)
        outcome, found = self._known_patterns(relaxation, use=True)
        self._interrupted(outcome)
        if found is not None:
            self._keep(found)
            self._fill()
        if tried < self.used(self.counts) < target:
            self._by_columns(units, prices)

    def _by_columns(self, units: int, prices: TaskPrices) -> bool:
        """Whether a tree over the columns that prices leave proves the incumbent's utilisation, or its result's."""
        best = most_utilisation(self.problem, units, prices, self.used(self.counts), self._within())
        if best is None:
            return False
        if best.counts is not None:
            self._keep(best.counts)
        if best.proof is not None:
            self.certificates = (self.certificates[0], best.proof)
        return best.proof is not None

    # Ways to a placement ----------------------------------------------------------------------------------------------

    def _keep(self, counts: Ints) -> None:
        """Keep counts that are better than the incumbent's."""
        value = self.lowest(counts), self.used(counts)
        if value > (self.lowest(self.counts), self.used(self.counts)):
            self.counts = counts.copy()

    def _rounded(self, relaxation: Relaxation) -> Ints:
        """Whole patterns of the fractions; then each remaining node gets the pattern worth most of what is missing."""
        problem, items = self.problem, self.items
        counts = np.zeros((len(items.limit), len(problem.room)), dtype=np.int64)
        left = items.limit.copy()
        idle = [np.flatnonzero(problem.node_type == kind).tolist() for kind in range(len(problem.type_size))]
        whole = np.floor(relaxation.weight + 1e-6).astype(np.int64)
        for position in np.flatnonzero(whole).tolist():
            nodes, pattern = idle[relaxation.patterns.kind[position]], relaxation.patterns.counts[position]
            for _ in range(int(whole[position])):
                if not nodes:
                    break
                taken = np.minimum(pattern, left)
                counts[:, nodes.pop()] = taken
                left -= taken
        largest = np.maximum(problem.room.max(axis=0, initial=0), 1)
        prices = np.maximum(relaxation.prices, 0) / max(1, int(relaxation.prices.max(initial=0)))
        worth = prices + _TIE * (items.demand / largest).sum(axis=1)
        for node in [node for nodes in idle for node in nodes]:
            missing = np.minimum(left, np.maximum(relaxation.needed - counts.sum(axis=1), 0))
            if not missing.any():
                break
            pattern = best_patterns(problem.room[[node]], items.demand, missing, worth)[1][0]
            relaxation.patterns.add(int(problem.node_type[node]), pattern)
            counts[:, node] = pattern
            left -= pattern
        return counts

    def _fill(self) -> None:
        """Add tasks where there is room left, the same on alike nodes, and always those that use most."""
        problem, items = self.problem, self.items
        counts = self.counts.copy()
        room = problem.room - counts.T @ items.demand
        left = items.limit - counts.sum(axis=1)
        alike, group = np.unique(np.column_stack([problem.node_type, room]), axis=0, return_inverse=True)
        for position, row in enumerate(alike):
            nodes = np.flatnonzero(group.reshape(-1) == position)
            while len(nodes) and left.any():
                share = items.share[:, row[0]].astype(np.float64)
                pattern = best_patterns(row[None, 1:], items.demand, left, share)[1][0]
                if not pattern.any():
                    break
                times = min(len(nodes), int((left[pattern > 0] // pattern[pattern > 0]).min()))
                counts[:, nodes[:times]] += pattern[:, None]
                left -= times * pattern
                nodes = nodes[times:]
        self._keep(counts)

    def _known_patterns(self, relaxation: Relaxation, use: bool) -> tuple[SolverOutcome, Ints | None]:
        """The integer program over the known patterns, for a few nodes."""
        problem, count = self.problem, len(self.items.limit)
        known = {kind: relaxation.patterns.of_kind(kind, count) for kind in range(len(problem.type_size))}
        nodes = min(_NODES_OF_A_TRY, self.profile.node_limit or _NODES_OF_A_TRY)
        profile = replace(self._within(), node_limit=nodes)
        return solve_packing(UtilityProgram(problem, known), relaxation.units, profile, use)

    # Limits -----------------------------------------------------------------------------------------------------------

    def _within(self) -> Profile:
        """The profile with what is left of the time."""
        return self.profile.since(self._began)

    def _interrupted(self, outcome: SolverOutcome) -> None:
        """Whether an interrupt or the time limit ends the search; running out of a try's few nodes does not."""
        if outcome.limit in _STOPPING:
            self.limit = outcome.limit
