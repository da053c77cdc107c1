"""Exact programs of `utility`: over all patterns, over the columns that prices leave, over many drawn patterns.

The program is that of `optsched.problems.utility_program`. With only some patterns of a host what it finds is a
placement, but what it rules out means nothing. The patterns and counts that can be in a better placement
(`optsched.problems.utility_program`) are few where prices nearly close: a program over them is small, and so is the
tree of cases of its linear programs.

Column generation leaves few patterns, and whole numbers of these seldom add up to what jobs need. Where many patterns
are worth the same at its prices, a program over some hundreds of them mostly does. So patterns are drawn (`vary`):
each is the best of a part of the items, whose worths are changed a little.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from optsched.certificates.programs import without_costs
from optsched.certificates.trees import Tree
from optsched.certificates.utility import utilisation_tree_certificate
from optsched.core.deadline import check
from optsched.core.errors import OutOfTime, SolverDisagreement
from optsched.core.instance import Floats, Ints
from optsched.core.results import Certificate, Termination
from optsched.problems.knapsack import MOST_STATES
from optsched.problems.utility import Utility
from optsched.problems.utility_program import Columns, Hosts, TaskPrices, UtilityProgram, columns_at
from optsched.searches.program_tree import as_arrays, settling_tree
from optsched.searches.utility_patterns import Packing, Patterns, best_patterns
from optsched.solvers.answers import whole_numbers
from optsched.solvers.highs import solve_arrays, solve_uninterrupted
from optsched.solvers.outcome import SolverOutcome
from optsched.solvers.profiles import Profile

__all__ = [
    "MOST_COLUMNS",
    "Best",
    "is_too_large",
    "most_utilisation",
    "solve_packing",
    "vary",
]

#: More columns are not tried, nor more nodes of the branch and bound for a better placement.
_MOST_COLUMNS, _MOST_NODES = 5_000, 2_000

#: The most linear programs of a tree, and the most columns of all of them together.
_MOST_PROGRAMS, _MOST_SOLVED = 2_000, 2_000_000


class Best(NamedTuple):
    """Counts of items by node that use most, shape (items, nodes), or None where those that are held do; its proof."""

    counts: Ints | None
    proof: Certificate | None


def most_utilisation(problem: Utility, units: int, prices: TaskPrices, used: int, profile: Profile) -> Best | None:
    """The most utilisation where every job has a utility; None where too many columns are left to tell.

    Parameters
    ----------
    units
        The utility.
    given
        Prices of tasks that nearly prove the utilisation that is held.
    used
        What is held, in units, without fixed reduces.
    profile
        Limits and options of the solver.
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
        counts = _dealt(problem, columns, whole_numbers(found.x))
        better = int((columns.program.objective * whole_numbers(found.x)).sum())
        if better < -used:
            used = -better
            columns = columns_at(problem, units, prices, -used)
        else:
            counts = None
    tree = _tree(columns, -used, profile)
    proof = None if tree is None else utilisation_tree_certificate(problem, used + problem.fixed_use, prices, tree)
    return Best(counts, proof)


def _dealt(problem: Utility, columns: Columns, values: Ints) -> Ints:
    """Counts of items by node, of patterns that are taken `values` times each, shape (items, nodes)."""
    counts = np.zeros((columns.counts.shape[1], len(problem.node_type)), dtype=np.int64)
    for kind in range(len(problem.type_size)):
        own = np.flatnonzero(columns.kind == kind)
        counts[:, problem.node_type == kind] = np.repeat(columns.counts[own], values[own], axis=0).T
    return counts


def _tree(columns: Columns | None, limit: int, profile: Profile) -> Tree | None:
    """The tree over columns, with no more effort than it is worth."""
    if columns is None:
        return None
    most = min(_MOST_PROGRAMS, _MOST_SOLVED // max(1, len(columns.program.objective)))
    try:
        return settling_tree(columns.program, limit, profile, most) if most else None
    except OutOfTime:  # what is held stays held, by a word
        return None


#: The most columns of the exact program for trackers that are counted one by one.
MOST_COLUMNS = 20_000


def is_too_large(problem: Utility) -> bool:
    """Whether the exact program counts too many trackers one by one."""
    return int(problem.posing.hosts.single.sum()) * 2 * len(problem.jobs) > MOST_COLUMNS


def solve_packing(
    problem: Utility, hosts: Hosts, units: int, profile: Profile, use: bool
) -> tuple[SolverOutcome, Ints | None]:
    """Find counts with which each job has a utility of at least `units`.

    Parameters
    ----------
    hosts
        Classes of equal nodes, and the patterns that they take.
    use
        Whether to maximise the utilisation; else any counts do.

    Returns
    -------
    tuple
        What HiGHS says, of the negated utilisation in units, and the counts that it holds, int64, of the maps of each
        job, then the reduces of each job, by node. None where it holds none.

    Raises
    ------
    SolverDisagreement
        If HiGHS holds counts that are not feasible, or too few.
    """
    posing = UtilityProgram(problem, hosts)
    program = posing.most_used(units)
    whole = program.numbers if use else without_costs(program.numbers)
    found = solve_arrays(
        as_arrays(whole), profile, None, lambda values: posing.decision_of(whole_numbers(values), program)
    )
    if found.x is None:
        return found.outcome, None
    values = whole_numbers(found.x)
    wrong = [str(violation) for violation in problem.violations(posing.decision_of(values, program))]
    wrong += [] if wrong or program.broken(values) is None else ["what a job needs"]
    if wrong:
        raise SolverDisagreement(f"{problem.name}: HiGHS holds a placement that violates {wrong[0]}")
    return found.outcome, posing.counts_of(values, program)


#: How often patterns are drawn at most, and the entries of all dynamic programs up to which they are drawn.
_DRAWS, _MOST_ENTRIES = 400, 2 * 10**8

#: The share of the items that a drawn pattern is made of, by how much their worths are changed at most, and what an
#: item counts that is worth nothing, of the largest worth.
_SHARE, _CHANGE, _FILLING = 0.6, 0.05, 0.005


def vary(packing: Packing, patterns: Patterns, worth: Floats, short: float) -> None:
    """Add patterns that are worth nearly as much as the best one of their type.

    Parameters
    ----------
    packing
        What is packed.
    patterns
        Grows.
    worth
        float64, shape (items, types): of one task. What is worth nothing, or less, fills what is left.
    short
        By how much a pattern may fall short of the best.
    """
    problem, items = packing.problem, packing.items
    types = len(problem.type_size)
    count, most = len(items.limit), np.minimum(problem.room.max(axis=0, initial=0), items.demand.T @ items.limit)
    states = min(float(np.prod(most + 1.0)), MOST_STATES)
    draws = int(min(_DRAWS, _MOST_ENTRIES / (states * max(count, 1))))
    rng = np.random.default_rng(0)
    best: dict[int, float] = {}
    for draw in range(draws):
        check()
        kind = draw % types
        room, own = problem.type_room[[kind]], worth[:, kind]
        if kind not in best:
            best[kind] = float(best_patterns(room, items, items.limit, own)[0][0])
        chance, change = rng.random(count), rng.random(count)
        filling = _FILLING * max(float(own.max(initial=0)), 1.0) * change
        changed = np.where(own > 0, own * (1 + _CHANGE * change), filling)
        pattern = best_patterns(room, items, items.limit, np.where(chance < _SHARE, changed, 0))[1][0]
        if best[kind] - float(own @ pattern) <= short:
            patterns.add(kind, pattern)
