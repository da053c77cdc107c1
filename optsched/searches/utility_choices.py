"""Proofs of utilities, and of the utilisation with `phase=by-maps`: by choices of counts and cuts by prices.

A program chooses the counts of each job. Where fractions of patterns do not hold them, the prices of the shortage are a
cut, and the program chooses anew (Benders 1962); where it has no choice left, a tree over it is the proof. So neither
many patterns matter, nor that with `phase=by-maps` what fits on a node depends on others.

For the utilisation the choices that use more than what is held are gone through, and the best of them is cut off, or
packed where fractions hold it. Where none is left, the cuts alone are the proof.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from optsched.certificates.utility import usage_choices_certificate, utility_choices_certificate
from optsched.deadline import check
from optsched.errors import OutOfTime, TooLarge
from optsched.instance import Ints
from optsched.problems.utility import Utility
from optsched.problems.utility_choices import Choices, Cut, Usage, choices_at, usage_at
from optsched.problems.utility_levels import LevelPrices, Levels
from optsched.results import Certificate, Termination
from optsched.searches.program_tree import as_arrays, settling_tree
from optsched.searches.utility_patterns import USE_SCALE, Needs, Packing, Patterns, Relaxation, least_shortage, most_use
from optsched.solvers.answers import whole_numbers
from optsched.solvers.highs import solve_uninterrupted
from optsched.solvers.profiles import Profile

__all__ = ["entry_by_choices", "most_by_choices"]

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


def _ruled_out(problem: Utility, asked: Sequence[int], profile: Profile) -> tuple[list[LevelPrices], Choices] | None:
    """Cuts that leave no choice of counts; None where one is left that fractions hold, or a limit came before."""
    choices = choices_at(problem, asked, ())
    levels, patterns = choices.levels, Patterns()
    packing = Packing.by_levels(problem, levels, use=False)
    cuts = [
        LevelPrices(problem.demand_map[:, resource], _by_level(levels, levels.demand(problem)[:, resource]))
        for resource in range(len(problem.resources))
    ]
    few = replace(profile, node_limit=min(_MOST_NODES, profile.node_limit or _MOST_NODES))
    for _ in range(_MOST_CUTS):
        check()
        choices = choices_at(problem, asked, cuts)
        found = solve_uninterrupted(as_arrays(choices.program), few)
        if found.outcome.status is Termination.INFEASIBLE:
            return cuts, choices
        if found.x is None:
            return None
        need = packing.needs.counts @ whole_numbers(found.x)
        one = Needs(np.zeros(1, dtype=np.int64), need[:, None])
        chosen = replace(packing, needs=one, items=replace(packing.items, limit=need))
        short = least_shortage(chosen, patterns, profile)
        if short.feasible is not False:
            return None
        jobs = len(problem.jobs)
        cuts.append(LevelPrices(short.prices[:jobs], _by_level(levels, short.prices[jobs:])))
    return None


def _by_level(levels: Levels, prices: Ints) -> list[dict[int, int]]:
    """Prices of items by job, and by the number of maps with which a level begins."""
    reduces: list[dict[int, int]] = [{} for _ in levels.least]
    rows = zip(levels.item_job.tolist(), levels.item_maps.tolist(), prices.tolist(), strict=True)
    for job, maps, price in rows:
        reduces[job][maps] = price
    return reduces


def most_by_choices(
    problem: Utility,
    units: int,
    given: LevelPrices,
    used: int,
    pack: Callable[[Relaxation], int],
    profile: Profile,
) -> Certificate | None:
    """The certificate that no more is used than what is held at last; None where there is none.

    Parameters
    ----------
    units
        The lowest utility.
    given
        Prices that prove a utilisation, in parts of `USE_SCALE`.
    used
        The utilisation that is held, in units, without fixed reduces.
    pack
        Packs counts that fractions of patterns hold, and says what utilisation is held then.
    profile
        Limits and options of the solver.
    """
    cuts = [*_of_resources(problem, units), Cut(given, USE_SCALE, np.zeros(len(problem.jobs), dtype=np.int64))]
    try:
        for _ in range(_MOST_CUTS):
            usage = usage_at(problem, units, used, cuts)
            choices = usage.choices()
            if choices is None:
                return None
            if not len(choices):
                return usage_choices_certificate(problem, used, cuts)
            cut, relaxation = _cut_at(problem, usage, choices[0], profile)
            if cut is not None and _leaves_out(usage_at(problem, units, used, [cut]), choices[0]):
                cuts.append(cut)
                continue
            before, used = used, used if relaxation is None else pack(relaxation)
            if used <= before:
                return None
    except (OutOfTime, TooLarge):  # what is held stays held, by a word
        pass
    return None


def _of_resources(problem: Utility, units: int) -> list[Cut]:
    """What is placed takes no more of each resource than there is."""
    levels = Levels.of(problem, units, [range(int(maps) + 1) for maps in problem.pending_maps])
    demand, none = levels.demand(problem), np.zeros(len(problem.jobs), dtype=np.int64)
    return [
        Cut(LevelPrices(problem.demand_map[:, resource], _by_level(levels, demand[:, resource])), 0, none)
        for resource in range(len(problem.resources))
    ]


def _cut_at(problem: Utility, usage: Usage, chosen: Ints, profile: Profile) -> tuple[Cut | None, Relaxation | None]:
    """A cut against the chosen counts, and what fractions of patterns say of them; None where a limit came before."""
    every, fixed = np.arange(len(chosen)), problem.fixed is not None
    maps = usage.maps[chosen]
    levels = Levels(
        item_job=every[:0] if fixed else every,
        item_maps=maps[:0] if fixed else maps,
        job=every,
        item=np.full_like(every, -1) if fixed else every,
        fewest=maps,
        most=maps,
        reduces=usage.reduces[chosen],
        least=maps,
    )
    packing = Packing.by_levels(problem, levels, use=False)
    if (packing.room < 0).any():
        return Cut(LevelPrices(np.zeros_like(every), [{} for _ in chosen]), 0, maps), None
    found, scale = least_shortage(packing, Patterns(), profile), 0
    if found.feasible:
        found, scale = most_use(packing, found.patterns, profile), USE_SCALE
    if found.feasible is None:
        return None, None
    jobs = len(problem.jobs)
    return Cut(LevelPrices(found.prices[:jobs], _by_level(levels, found.prices[jobs:])), scale, maps), found


def _leaves_out(usage: Usage, chosen: Ints) -> bool:
    """Whether a choice is beyond a cut."""
    return bool((usage.cost[chosen].sum(axis=0) > usage.limit).any())
