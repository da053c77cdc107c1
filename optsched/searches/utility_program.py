"""The integer program of `utility` at a given lowest utility: which counts of tasks each node takes.

Nodes of one type are counted one by one, or all at once by the patterns that they take, so that the program has no
symmetry between them. With every maximal pattern of a type it is exact. With only some of them, what it finds is a
placement, but what it rules out means nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from optsched.errors import SolverDisagreement
from optsched.instance import Floats, Ints
from optsched.placement import Placement
from optsched.problems.utility import Allocation, Utility
from optsched.searches.utility_patterns import Packing, all_patterns, deal
from optsched.solvers.answers import whole_numbers
from optsched.solvers.blocks import Block, ones_at, stacked
from optsched.solvers.highs import LinearProgram, solve_arrays
from optsched.solvers.outcome import SolverOutcome
from optsched.solvers.profiles import Profile

__all__ = ["MOST_COLUMNS", "allocation_of", "counts_of", "exact_patterns", "solve_integer_program"]

#: A type of nodes has at most so many patterns, else its nodes are counted one by one, with at most so many columns.
_MOST_PATTERNS, MOST_COLUMNS = 5_000, 20_000


def exact_patterns(packing: Packing) -> dict[int, Ints] | None:
    """The types of nodes for which an exact program takes patterns, with these; None where it would be too large."""
    patterns: dict[int, Ints] = {}
    for kind in np.flatnonzero(packing.type_size > 1).tolist():
        every = all_patterns(packing.type_room[kind], packing.items, _MOST_PATTERNS)
        if every is not None:
            patterns[kind] = every
    singles = int(np.count_nonzero(~np.isin(packing.node_type, list(patterns))))
    return patterns if singles * len(packing.items.limit) <= MOST_COLUMNS else None


def solve_integer_program(
    problem: Utility,
    packing: Packing,
    patterns: Mapping[int, Ints],
    profile: Profile,
    use: bool,
    start: Ints | None = None,
) -> tuple[SolverOutcome, Ints | None]:
    """Find counts with which each job has at least one of its pairs.

    Parameters
    ----------
    packing
        What is packed, with the pairs of counts of each job.
    patterns
        Patterns of the types of nodes that take patterns, shape (patterns, items) each; nodes of the other types are
        counted one by one.
    use
        Whether to maximise the utilisation; else any counts do.
    start
        Counts to start from, shape (items, nodes); taken where no type has patterns.

    Returns
    -------
    tuple
        What HiGHS says, of the negated utilisation in units, and the counts that it holds, int64, of the maps of each
        job, then the reduces of each job, by node. None where it holds none.

    Raises
    ------
    SolverDisagreement
        If HiGHS holds counts that are not feasible.
    """
    needs = packing.needs
    columns = _Columns.of(packing, patterns)
    program = _program(problem, packing, columns, use)
    hint = None
    if start is not None and not patterns:
        hint = np.zeros(len(program.objective))
        hint[: len(columns.item)] = start[columns.item, columns.node]
        placed = start.sum(axis=1)
        enough = (needs.counts <= placed[:, None]).all(axis=0)
        first = [int(np.flatnonzero(enough & (needs.owner == job))[0]) for job in range(len(problem.jobs))]
        hint[len(hint) - len(needs.owner) + np.array(first, dtype=np.int64)] = 1

    def dealt(packed: Ints) -> Placement:
        placement: Placement = problem.placement_of(allocation_of(problem, packed))
        return placement

    def decode(values: Floats) -> Placement:
        return dealt(columns.counts(packing, whole_numbers(values)))

    found = solve_arrays(program, profile, hint, decode)
    if found.x is None:
        return found.outcome, None
    x = whole_numbers(found.x)
    packed = columns.counts(packing, x)
    wrong = [str(violation) for violation in problem.violations(dealt(packed))]
    if (packed.sum(axis=1) < needs.counts @ x[len(x) - len(needs.owner) :]).any():
        wrong.append("what a job needs")
    if wrong:
        raise SolverDisagreement(f"{problem.name}: HiGHS holds a placement that violates {wrong[0]}")
    return found.outcome, packed


def allocation_of(problem: Utility, counts: Ints) -> Allocation:
    """Counts of items by node, shape (items, nodes), as maps and reduces, with the fixed reduces added."""
    maps, reduces = np.split(counts, 2)
    return Allocation(maps, reduces if problem.fixed is None else problem.fixed)


def counts_of(problem: Utility, placement: Placement) -> Ints:
    """Counts of items by node in a placement, shape (items, nodes), without fixed reduces."""
    counts: Ints = np.concatenate(problem.allocated(placement))
    if problem.fixed is not None:
        counts[len(problem.jobs) :] = 0
    return counts


@dataclass(frozen=True)
class _Columns:
    """Columns of the program: counts on single nodes, then nodes that take a pattern, then tasks placed by type.

    Attributes
    ----------
    item, node
        Item and node of each count on a single node.
    kind, pattern
        Type of each pattern, and what it holds, shape (patterns, items).
    placed_item, placed_kind
        Item and type of each count on the nodes of a type with patterns; it is at most what the patterns hold.
    """

    item: Ints
    node: Ints
    kind: Ints
    pattern: Ints
    placed_item: Ints
    placed_kind: Ints

    @classmethod
    def of(cls, packing: Packing, patterns: Mapping[int, Ints]) -> _Columns:
        items = packing.items
        single = np.flatnonzero(~np.isin(packing.node_type, list(patterns)))
        fits = (items.demand[:, None, :] <= packing.room[single]).all(axis=2) & (items.limit > 0)[:, None]
        item, position = np.nonzero(fits)
        kind = np.repeat(np.array(list(patterns), dtype=np.int64), [len(rows) for rows in patterns.values()])
        pattern = np.concatenate([np.zeros((0, len(items.limit)), dtype=np.int64), *patterns.values()])
        held = np.zeros((len(packing.type_size), len(items.limit)), dtype=bool)
        np.logical_or.at(held, kind, pattern > 0)
        placed_kind, placed_item = np.nonzero(held)
        return cls(item, single[position], kind, pattern, placed_item, placed_kind)

    @property
    def width(self) -> int:
        """How many columns there are."""
        return len(self.item) + len(self.kind) + len(self.placed_item)

    def counts(self, packing: Packing, x: Ints) -> Ints:
        """What each node takes, shape (items, nodes): patterns go to the nodes of their type in order."""
        counts = np.zeros((len(packing.items.limit), len(packing.node_type)), dtype=np.int64)
        counts[self.item, self.node] = x[: len(self.item)]
        times = x[len(self.item) : len(self.item) + len(self.kind)]
        placed = np.zeros((len(packing.type_size), len(packing.items.limit)), dtype=np.int64)
        placed[self.placed_kind, self.placed_item] = x[len(self.item) + len(self.kind) : self.width]
        for kind in np.unique(self.kind).tolist():
            own = np.flatnonzero(self.kind == kind)
            dealt = deal(self.pattern[own], times[own], placed[kind])
            nodes = np.flatnonzero(packing.node_type == kind)[: len(dealt)]
            counts[:, nodes] = dealt.T
        return counts


def _program(problem: Utility, packing: Packing, columns: _Columns, use: bool) -> LinearProgram:
    """Rows: capacities of single nodes; patterns by type; tasks placed within patterns; limits; needs; pairs.

    Amounts of a resource are in `Utility.unit`.
    """
    items, needs = packing.items, packing.needs
    heights, most, blocks = _capacity_rows(problem, packing, columns)
    count, jobs, first = len(items.limit), len(problem.jobs), len(heights)
    for row in (first, first + 1):  # no more than there are, and no fewer than what is needed
        blocks[row, 0] = ones_at(columns.item, count)
        blocks[row, 2] = ones_at(columns.placed_item, count)
    blocks[first + 1, 3] = -needs.counts
    blocks[first + 2, 3] = ones_at(needs.owner, jobs)
    heights += [count, count, jobs]
    most += [items.limit, np.full(count, np.inf), np.ones(jobs)]
    widths = [len(columns.item), len(columns.kind), len(columns.placed_item), len(needs.owner)]
    upper = [items.limit[columns.item], packing.type_size[columns.kind], items.limit[columns.placed_item]]
    share = items.share * use
    nothing = [np.zeros(width, dtype=np.int64) for width in widths]
    used = [share[columns.item, packing.node_type[columns.node]], nothing[1]]
    used += [share[columns.placed_item, columns.placed_kind], nothing[3]]
    return LinearProgram(
        objective=(-np.concatenate(used)).astype(np.float64),
        col_lower=np.zeros(sum(widths)),
        col_upper=np.concatenate([*upper, np.ones(widths[3])]).astype(np.float64),
        integer=np.ones(sum(widths), dtype=bool),
        row_lower=np.repeat([-np.inf] * (first + 1) + [0.0, 1.0], heights),
        row_upper=np.concatenate(most).astype(np.float64),
        matrix=stacked(heights, widths, blocks),
    )


def _capacity_rows(
    problem: Utility, packing: Packing, columns: _Columns
) -> tuple[list[int], list[Ints | Floats], dict[tuple[int, int], Block]]:
    """Rows of capacities of single nodes, patterns by type, and tasks placed within these: heights, most, blocks."""
    unit, types, placed = problem.unit, len(packing.type_size), len(columns.placed_item)
    nodes, row = np.unique(columns.node, return_inverse=True)
    amount = packing.items.demand[columns.item] // unit
    blocks: dict[tuple[int, int], Block] = {
        (position, 0): ones_at(row, len(nodes)) * amount[:, position] for position in range(len(unit))
    }
    after = len(unit)
    blocks[after, 1] = ones_at(columns.kind, types)
    blocks[after + 1, 1] = -columns.pattern.T[columns.placed_item] * (columns.kind == columns.placed_kind[:, None])
    blocks[after + 1, 2] = sp.eye_array(placed, format="csr")
    most: list[Ints | Floats] = [(packing.room[nodes] // unit).T.ravel(), packing.type_size, np.zeros(placed)]
    return [len(nodes)] * len(unit) + [types, placed], most, blocks
