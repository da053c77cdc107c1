"""Routes of a problem with a program of its own (`optsched.problems.programs`): find, then prove.

HiGHS finds a decision by the arrays of the program, or by a model. Prices of the linear relaxation prove it; if they
leave a gap, a tree of cases over the program does. If the tree grows too large, the solver's word remains.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.certificates.programs import checked_program, program_certificate
from optsched.certificates.trees import Step, Tree
from optsched.core.errors import CertificateInvalid, ProblemFailed, SolverDisagreement
from optsched.core.results import Certificate, Proof, Sense, Solution, Termination
from optsched.problems.programs import Program
from optsched.routes.base import MODELS
from optsched.routes.call import Call, Found, Held, proof_of
from optsched.searches.program_tree import Root, as_arrays, root, settling_tree
from optsched.solvers.answers import whole_numbers
from optsched.solvers.highs import solve_arrays
from optsched.solvers.profiles import Profile

__all__ = ["OVERRUNS", "ROUTES", "by_route", "plain"]

#: The default first.
ROUTES = ("arrays", *MODELS, "brute-force")

#: A tree takes at most so many linear programs.
_MOST_PROGRAMS = 2_000

#: From so many pairs of tasks and nodes on a step of HiGHS, or of the posing, may take half a second.
OVERRUNS = {"arrays": 100_000}


def by_route(call: Call[Any], profile: Profile) -> Solution:
    """One component after another, each at the best of those before, as long as these are proved."""
    problem, found, held = call.problem, Found(), call.start
    proofs, before = list[Certificate](), tuple[int, ...]()
    call.hold(lambda: (held, tuple(proofs)))
    with call.until_stopped():
        for position in range(len(problem.components)):
            program = _program(problem, before, held)
            limit = problem.evaluate(held)[0] if position else None
            relaxed = root(program.whole, profile.since(call.began))
            found = _found(call, profile, program, relaxed, limit, held)
            if found.decision is None and found.outcome.status is Termination.INFEASIBLE and held is None:
                return call.infeasible(found.raw_status, found.solver, found.build_seconds)
            held = _better(problem, held, found.decision)
            proofs.append(_proof(call, profile, program, relaxed, before, found))
            if held is None or problem.evaluate(held)[position] != proofs[-1].claim:
                break
            before = (*before, int(proofs[-1].claim * program.unit))
    return call.answered(held, proofs, found)


def plain(problem: Any) -> Held:
    """Nothing that needs no search but the cheap bounds, which the checker knows."""
    first = problem.components[0]
    bounds = [bound.value for bound in problem.cheap_bounds() if bound.component == first.name]
    sharpest = (max if first.sense is Sense.MIN else min)(bounds, default=None)
    return None, () if sharpest is None else (Certificate(first.name, Proof.SOLVER, sharpest),)


def _program(problem: Any, before: tuple[int, ...], held: Any) -> Program:
    """The program, which that of another package must have shown itself to be."""
    try:
        return checked_program(problem, before, held)
    except CertificateInvalid as error:
        raise ProblemFailed(str(error)) from None


def _better(problem: Any, *decisions: Any) -> Any:
    held = [decision for decision in decisions if decision is not None]
    return min(held, key=lambda decision: problem.minimised(problem.evaluate(decision)), default=None)


def _found(call: Call[Any], profile: Profile, program: Program, relaxed: Root, limit: Any, held: Any) -> Found:
    """What HiGHS finds by the arrays, at once if the relaxation is whole, or by a model."""
    if call.route != "arrays":
        return call.by_model(profile, limit, held)
    problem, built = call.problem, call.elapsed
    outcome, values = relaxed.outcome, relaxed.values
    if values is None:
        hint = None if held is None else problem.values_of(held, program).astype(np.float64)
        solved = solve_arrays(
            as_arrays(program.whole),
            profile.since(call.began),
            hint,
            lambda x: problem.decision_of(whole_numbers(x), program),
        )
        outcome = solved.outcome
        values = None if solved.x is None else whole_numbers(solved.x)
    decision = None if values is None else problem.decision_of(values, program)
    wrong = None if decision is None else problem.violations(decision)
    if wrong:
        raise SolverDisagreement(f"{problem.name}: HiGHS holds a {problem.decided.noun} that violates {wrong[0]}")
    return Found(outcome, decision, program.component, program.unit, built).checked(problem)


def _proof(
    call: Call[Any], profile: Profile, program: Program, relaxed: Root, before: tuple[int, ...], found: Found
) -> Certificate:
    """Prices of the relaxation, or a tree at what was found, or the solver's word."""
    problem, whole = call.problem, program.whole
    limit = _units(problem, program, found.decision) if found.optimal else 2**60
    tree = relaxed.tree or Tree([np.eye(1, len(whole.row_lower) + 1, dtype=np.int64)[0]], [Step((0,))])
    bound = tree.bound(whole, limit)
    if found.optimal and bound < limit:
        grown = settling_tree(whole, limit, profile.since(call.began), _MOST_PROGRAMS)
        tree, bound = (tree, bound) if grown is None else (grown, limit)
    priced = program_certificate(problem, program, before, tree, bound)
    return proof_of(problem, priced, found, abs(program.unit))


def _units(problem: Any, program: Program, decision: Any) -> int:
    """What a decision costs, in units of a program."""
    return int(problem.evaluate(decision)[program.component] * program.unit)
