"""Proofs of utilities by choices of counts and cuts by prices, which need no list of patterns.

A program chooses the counts of each job. Where fractions of patterns do not hold them, the prices of the shortage are a
cut, and the program chooses anew (Benders 1962); where it has no choice left, a tree over it is the proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from optsched.certificates.utility import utility_choices_certificate
from optsched.deadline import check
from optsched.errors import OutOfTime
from optsched.instance import Ints
from optsched.problems.utility import Utility
from optsched.problems.utility_choices import Choices, choices_at
from optsched.results import Certificate, Termination
from optsched.searches.program_tree import as_arrays, settling_tree
from optsched.searches.utility_patterns import Needs, Packing, Patterns, least_shortage
from optsched.solvers.answers import whole_numbers
from optsched.solvers.highs import solve_uninterrupted
from optsched.solvers.profiles import Profile

__all__ = ["entry_by_choices"]

#: At most so many cuts are made, so many nodes searched for a choice, and so many linear programs solved for the tree.
_MOST_CUTS, _MOST_NODES, _MOST_PROGRAMS = 100, 2_000, 2_000


def entry_by_choices(problem: Utility, lower: Sequence[int], units: int, profile: Profile) -> Certificate | None:
    """The certificate that the next entry of the ordered vector is no higher than `units`; None where there is none.

    Parameters
    ----------
    lower
        The entries before it, in units, ascending.
    units
        The claim.
    profile
        Limits and options of the solver.
    """
    asked = [*lower, *[units + 1] * (len(problem.jobs) - len(lower))]
    try:
        found = _ruled_out(problem, asked, profile)
    except OutOfTime:  # what is held stays held, by a word
        return None
    if found is None:
        return None
    cuts, choices = found
    tree = settling_tree(choices.program, 1, profile, _MOST_PROGRAMS)
    return None if tree is None else utility_choices_certificate(problem, lower, units + 1, cuts, tree)


def _ruled_out(problem: Utility, asked: Sequence[int], profile: Profile) -> tuple[list[Ints], Choices] | None:
    """Cuts that leave no choice of counts; None where one is left that fractions hold, or a limit came before."""
    packing, patterns = Packing.of(problem, asked[0]), Patterns()
    cuts = list(np.concatenate([problem.demand_map, problem.demand_reduce]).T)
    few = replace(profile, node_limit=min(_MOST_NODES, profile.node_limit or _MOST_NODES))
    for _ in range(_MOST_CUTS):
        check()
        choices = choices_at(problem, asked, cuts)
        found = solve_uninterrupted(as_arrays(choices.program), few)
        if found.outcome.status is Termination.INFEASIBLE:
            return cuts, choices
        if found.x is None:
            return None
        need = choices.counts @ whole_numbers(found.x)
        one = Needs(np.zeros(1, dtype=np.int64), need[:, None])
        chosen = replace(packing, needs=one, items=replace(packing.items, limit=need))
        short = least_shortage(chosen, patterns, profile)
        if short.feasible is not False:
            return None
        cuts.append(short.prices)
    return None
