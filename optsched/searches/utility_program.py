"""The exact program of `utility` by HiGHS: which counts of tasks each node takes at a given lowest utility.

The program is that of `optsched.problems.utility_program`. With only some patterns of a host what it finds is a
placement, but what it rules out means nothing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optsched.core.errors import SolverDisagreement
from optsched.core.instance import Floats, Ints
from optsched.core.placement import Placement
from optsched.problems.utility import Allocation, Utility
from optsched.problems.utility_program import Hosts, packing_program, values_of
from optsched.problems.utility_program import counts_of as counts_by
from optsched.searches.program_tree import as_arrays
from optsched.solvers.answers import whole_numbers
from optsched.solvers.highs import solve_arrays
from optsched.solvers.outcome import SolverOutcome
from optsched.solvers.profiles import Profile

__all__ = ["MOST_COLUMNS", "allocation_of", "counts_of", "exact_hosts", "solve_packing"]

#: A type of nodes has at most so many patterns, else its nodes are counted one by one, with at most so many columns.
_MOST_PATTERNS, MOST_COLUMNS = 5_000, 20_000


def exact_hosts(problem: Utility) -> Hosts | None:
    """The hosts of an exact program; None where it would be too large."""
    hosts = Hosts.exact(problem, _MOST_PATTERNS)
    return hosts if int(hosts.single.sum()) * 2 * len(problem.jobs) <= MOST_COLUMNS else None


def solve_packing(
    problem: Utility, hosts: Hosts, units: int, profile: Profile, use: bool, start: Ints | None = None
) -> tuple[SolverOutcome, Ints | None]:
    """Find counts with which each job has a utility of at least `units`.

    Parameters
    ----------
    hosts
        Which nodes are told apart, and the patterns that they take.
    use
        Whether to maximise the utilisation; else any counts do.
    start
        Counts to start from, shape (items, nodes), with that utility.

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
    program = packing_program(problem, hosts, units)
    whole = program.whole if use else replace(program.whole, objective=np.zeros_like(program.whole.objective))
    hint = None if start is None else values_of(problem, hosts, program, start, units)

    def dealt(values: Floats) -> Ints:
        return counts_by(problem, hosts, program, whole_numbers(values))

    def decode(values: Floats) -> Placement:
        placement: Placement = problem.placement_of(allocation_of(problem, dealt(values)))
        return placement

    found = solve_arrays(as_arrays(whole), profile, None if hint is None else hint.astype(np.float64), decode)
    if found.x is None:
        return found.outcome, None
    wrong = [str(violation) for violation in problem.violations(decode(found.x))]
    wrong += [] if wrong or program.broken(whole_numbers(found.x)) is None else ["what a job needs"]
    if wrong:
        raise SolverDisagreement(f"{problem.name}: HiGHS holds a placement that violates {wrong[0]}")
    return found.outcome, dealt(found.x)


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
