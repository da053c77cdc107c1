"""Routes of `utility`: thresholds on the lowest utility, the compact model at each of them, the literal model."""

from __future__ import annotations

import math
import time

import numpy as np

from optsched import models
from optsched.certificates.utility import utilisation_certificate, utility_certificate
from optsched.instance import LARGEST, Ints
from optsched.problems.base import GRID, exact
from optsched.problems.utility import Utility
from optsched.results import Certificate, Proof, Solution, Termination
from optsched.routes.record import MODELS, Record, by_enumeration, check_claim, decoded, solver_of, whole_bound
from optsched.searches.utility import UtilitySearch
from optsched.searches.utility_program import counts_of
from optsched.solvers.outcome import SolverOutcome, negated
from optsched.solvers.profiles import Profile

__all__ = ["ROUTES", "by_route", "routes"]

#: The default first.
ROUTES = ("thresholds", *MODELS, "brute-force")


def routes(problem: Utility) -> tuple[str, ...]:
    """Those that pose the problem: where the nodes' rooms depend on each other only enumeration does."""
    return ("brute-force",) if problem.coupled else ROUTES


#: Utilities that differ by less a solver may take for the same (its tolerances are 1e-6); tables go in steps of 2^-20.
_UNTOLD = 2e-6


def by_route(record: Record, profile: Profile) -> Solution:
    """The highest lowest utility, then the most utilisation; prices of tasks prove them, or the solver's word."""
    problem = record.problem
    assert isinstance(problem, Utility)
    if record.route == "brute-force":
        return by_enumeration(record)
    if record.route == "pulp" and len(problem.jobs):
        return _by_literal(record, profile)
    if record.route == "thresholds":
        search = UtilitySearch(problem, profile, record.start)
    else:
        search = UtilitySearch(problem, profile, record.start, decide=_compact_pyomo, shortcuts=False)
    search.run()
    return record.solution(search.placement, search.certificates, search.limit, search.raw_status, search.solver)


def _compact_pyomo(
    problem: Utility, units: int, use: bool, profile: Profile, start: Ints | None
) -> tuple[SolverOutcome, Ints | None]:
    """Settle a threshold by the compact Pyomo model; its figures are negated: arrays minimise, it maximises."""
    module = models.module(problem.name)
    model = module.build_pyomo(problem, limit=exact(units, GRID))
    if not use:
        model.objective.expr = 0 * model.objective.expr
    outcome = negated(solver_of("pyomo")(model, profile))
    counts = None
    if outcome.objective is not None:
        counts = counts_of(problem, decoded(module, model, problem))
    return outcome, counts


def _by_literal(record: Record, profile: Profile) -> Solution:
    """The tabulated program twice: the highest lowest utility, then the most utilisation beside it."""
    problem = record.problem
    assert isinstance(problem, Utility)
    module = models.module(problem.name)
    none = np.zeros(len(problem.jobs), dtype=np.int64)
    model = module.build_pulp(problem)
    built = time.perf_counter() - record.began
    first = solver_of("pulp")(model, profile)
    certificates = [utility_certificate(problem, none, none)]
    if first.bound is not None and abs(first.bound) < LARGEST / GRID:
        # Between two utilities that some job may have nothing is attained.
        believed = first.bound + _UNTOLD * max(1.0, abs(first.bound))
        units = problem.utility_below(math.floor(believed * GRID) + 1)
        if units < certificates[0].claim * GRID:
            certificates[0] = Certificate("lowest-utility", Proof.SOLVER, exact(units, GRID))
    placement = None if first.objective is None else decoded(module, model, problem)
    if placement is None or first.status is not Termination.OPTIMAL:
        return record.solution(placement, tuple(certificates), first.limit, first.raw_status, first.solver, built)
    lowest = problem.evaluate(placement)[0]
    check_claim(problem, first.objective, lowest)
    model = module.build_pulp(problem, limit=lowest)
    second = solver_of("pulp")(model, profile.since(record.began))
    certificates.append(utilisation_certificate(problem, int(lowest * GRID), none, none, 1))
    if second.bound is not None:
        used = exact(-whole_bound(-second.bound), GRID)
        if second.objective is not None:
            found = decoded(module, model, problem)
            if second.status is Termination.OPTIMAL:
                used = problem.evaluate(found)[1]
                check_claim(problem, second.objective / GRID, used)
            placement = max(placement, found, key=problem.evaluate)
        if used < certificates[1].claim:
            certificates[1] = Certificate("utilisation", Proof.SOLVER, used)
    return record.solution(placement, tuple(certificates), second.limit, second.raw_status, second.solver, built)
