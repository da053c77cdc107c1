"""Over the columns that prices leave of `utility`: a better placement, and the tree that proves that there is none.

The patterns and counts that can be in a better placement (`optsched.problems.utility_columns`) are few where prices
nearly close. An integer program over them is small, and so is the tree of cases of its linear programs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from optsched.certificates.trees import Tree
from optsched.certificates.utility import utilisation_tree_certificate, utility_tree_certificate
from optsched.core.errors import OutOfTime
from optsched.core.instance import Ints
from optsched.core.results import Certificate, Termination
from optsched.problems.utility import Utility
from optsched.problems.utility_columns import Columns, TaskPrices, columns_at
from optsched.searches.program_tree import as_arrays, settling_tree
from optsched.solvers.answers import whole_numbers
from optsched.solvers.highs import solve_uninterrupted
from optsched.solvers.profiles import Profile

__all__ = ["Best", "most_utilisation", "no_higher"]

#: More columns are not tried, nor more nodes of the branch and bound for a better placement.
_MOST_COLUMNS, _MOST_NODES = 5_000, 2_000

#: Linear programs of a tree are at most so many, and those of all columns together so many columns.
_MOST_PROGRAMS, _MOST_SOLVED = 2_000, 2_000_000


class Best(NamedTuple):
    """Counts of items by node that use most, shape (items, nodes), or None where those that are held do; its proof."""

    counts: Ints | None
    proof: Certificate | None


def most_utilisation(problem: Utility, units: int, given: TaskPrices, used: int, profile: Profile) -> Best | None:
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
    columns = columns_at(problem, units, given, -used)
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
            columns = columns_at(problem, units, given, -used)
        else:
            counts = None
    tree = _tree(columns, -used, profile)
    proof = None if tree is None else utilisation_tree_certificate(problem, used + problem.fixed_use, given, tree)
    return Best(counts, proof)


def _dealt(problem: Utility, columns: Columns, values: Ints) -> Ints:
    """Counts of items by node of patterns that are taken so many times each, shape (items, nodes)."""
    counts = np.zeros((columns.counts.shape[1], len(problem.node_type)), dtype=np.int64)
    for kind in range(len(problem.type_size)):
        own = np.flatnonzero(columns.kind == kind)
        counts[:, problem.node_type == kind] = np.repeat(columns.counts[own], values[own], axis=0).T
    return counts


def no_higher(problem: Utility, units: int, profile: Profile) -> Certificate | None:
    """The certificate that the lowest utility is no higher than `units`; None without a tree."""
    tree = _tree(columns_at(problem, units + 1, TaskPrices.none(problem), None), 1, profile)
    return None if tree is None else utility_tree_certificate(problem, units + 1, tree)


def _tree(columns: Columns | None, limit: int, profile: Profile) -> Tree | None:
    """The tree over columns, with no more effort than it is worth."""
    if columns is None:
        return None
    most = min(_MOST_PROGRAMS, _MOST_SOLVED // max(1, len(columns.program.objective)))
    try:
        return settling_tree(columns.program, limit, profile, most) if most else None
    except OutOfTime:  # what is held stays held, by a word
        return None
