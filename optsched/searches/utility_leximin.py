"""Leximin of `utility`: the lowest utility highest, then the second lowest, and so on; utilisation last.

Sharmilarani et al. ask for the ordered vector of utilities but maximise only its first entry (8). The search does not
fix which jobs have the lowest ones: at each step it only limits how many jobs lie below each level that is settled.
"""

from __future__ import annotations

from pathlib import Path

from optsched.errors import TooLarge
from optsched.fronts import Leximin, entry_name
from optsched.problems.base import GRID, exact, expect_problem, expect_recorded
from optsched.problems.utility import LEAST_FINITE, Utility
from optsched.results import Certificate, Proof, Termination
from optsched.searches.utility_by_maps import utility_search
from optsched.searches.utility_columns import highest_entry
from optsched.searches.utility_patterns import Packing
from optsched.searches.utility_program import Quota, allocation_of, solve_integer_program
from optsched.solvers.outcome import stopped
from optsched.solvers.profiles import Profile, load_profile

__all__ = ["Leximin", "leximin"]


def leximin(problem: Utility, profile: str | Path | Profile = "exact") -> Leximin:
    """The leximin-optimal utilities.

    Parameters
    ----------
    profile
        As of `optsched.solve`; its limits hold for each program.

    Raises
    ------
    TooLarge
        If there are too many nodes and patterns for an exact program.

    Examples
    --------
    The first job can run nothing, and decides the lowest utility alone; the others share what there is:

    >>> from optsched.instance import Cluster, Instance, Workload
    >>> cluster = Cluster(["t"], capacity={"cpu": [4.0]})
    >>> workload = Workload(
    ...     ["m1", "m2", "m3", "m4", "m5"], job=[0, 1, 1, 2, 2], job_ids=["a", "b", "c"],
    ...     goal=[1.0, 2.0, 2.0], map_time=[1.0] * 3, demand={"cpu": [9.0, 2.0, 2.0, 1.0, 1.0]})
    >>> [int(utility) for utility in leximin(Utility(Instance(cluster, workload))).utilities]
    [-1000, 0, 1]
    """
    expect_problem(problem, "leximin", Utility)
    expect_recorded(problem, "leximin", "leximin knows")
    profile = load_profile(profile)
    search = utility_search(problem, profile)
    patterns = search.exact_patterns
    if patterns is None:
        raise TooLarge(f"{problem.name}: leximin would need a program of too many nodes or patterns; take fewer nodes")
    search.run()
    jobs = len(problem.jobs)
    counts, limit = search.counts, search.limit
    first = search.certificates[0]
    closed = bool(jobs) and search.lowest(counts) == first.claim * GRID
    certificates: list[Certificate | None] = [first] if closed else []
    levels = [search.lowest(counts)] if closed else []

    def asked(level: int | None) -> tuple[Packing, list[Quota]]:
        """Pairs at every level, and how many jobs may take one below each: below the k-th lowest, k - 1 jobs."""
        bounds = [*levels, *([] if level is None else [level])]
        packing, height = search.at_steps(sorted({problem.lowest_units, *bounds}), use=level is None)
        return packing, [(height < bound, position) for position, bound in enumerate(bounds)]

    def ordered() -> list[int]:
        allocation = allocation_of(problem, counts)
        return sorted(problem.utility_units(*(part.sum(axis=1) for part in allocation)).tolist())

    while levels and len(levels) < jobs and limit is None:
        low, high = ordered()[len(levels)], max(problem.highest_units.tolist())
        while low < high and limit is None:
            middle = max((low + high + 1) // 2, LEAST_FINITE)
            packing, quotas = asked(middle)
            outcome, found = solve_integer_program(problem, packing, patterns, profile, False, quotas=quotas)
            if found is not None:
                counts = found
                low = ordered()[len(levels)]
            elif outcome.status is Termination.INFEASIBLE:
                high = max(problem.utility_below(middle), low)
            else:
                limit = outcome.limit
        if limit is None:
            tree = None
            try:
                tree = None if problem.coupled else highest_entry(problem, levels, low, profile)
            except KeyboardInterrupt as error:  # the entry stays, by a word
                limit = stopped(error)[0]
            levels.append(low)
            name = entry_name(problem.components[0].name, len(levels))
            certificates.append(tree or Certificate(name, Proof.SOLVER, exact(low, GRID)))
    if levels and limit is None:
        packing, quotas = asked(None)
        outcome, found = solve_integer_program(problem, packing, patterns, profile, True, quotas=quotas)
        counts, limit = counts if found is None else found, outcome.limit
    utilities = tuple(exact(units, GRID) for units in ordered())
    placement = problem.placement_of(allocation_of(problem, counts))
    certificates += [None] * (jobs - len(certificates))
    return Leximin(
        problem.name,
        dict(problem.parameters),
        problem.instance.sha256,
        placement,
        utilities,
        tuple(certificates),
        limit,
    )
