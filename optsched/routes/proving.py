"""Proofs in the place of a solver's word: what the default route proves of what another one found.

A model's solver says that its optimum is one, and shows nothing. The default route, begun from this optimum, has its
prices, cover or tree; so it is the route that is another one, and the proof is the same. It is looked for with few
nodes, and in the time that is left. What it does not give stays a word.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from optsched.core.errors import SolverDisagreement, TooLarge
from optsched.core.results import FEASIBLE, Certificate, Proof, Solution, Termination
from optsched.problems.base import stated
from optsched.processes.handing import unheard
from optsched.routes.base import RouteModule
from optsched.routes.call import Call
from optsched.solvers.outcome import STOPPED
from optsched.solvers.profiles import Profile

__all__ = ["proved"]

#: A search of the default route for a proof may look into so many nodes.
_MOST_NODES = 1_000


def proved(call: Call[Any], solution: Solution, profile: Profile, module: RouteModule, default: str) -> Solution:
    """A solution with the default route's proofs in the place of words, as far as there are any.

    Parameters
    ----------
    call, solution, profile
        The call of another route (which is not `brute-force`), what it gave, and the limits of both.
    module, default
        The routes of the problem, and which is the default.

    Raises
    ------
    SolverDisagreement
        If the default route finds something better, or that there is none where the other says so.
    """
    if not any(_words(call, solution)):
        return solution
    call.hold(lambda: (solution.decision, solution.certificates))
    most = _MOST_NODES if profile.node_limit is None else min(_MOST_NODES, profile.node_limit)
    few = replace(profile.since(call.began), node_limit=most)
    own: Solution | None = None
    with suppress(TooLarge, *STOPPED), unheard():
        own = module.by_route(Call(call.problem, default, solution.decision), few)
    if own is None:
        return solution
    _agree(call, solution, own)
    shown = {entry.component: entry for entry in own.certificates if entry.kind.checkable}
    if solution.termination is Termination.INFEASIBLE:
        proofs = tuple(entry for name, entry in shown.items() if name == FEASIBLE)
    else:
        proofs = tuple(_stronger(entry, shown.get(entry.component)) for entry in solution.certificates)
    taken = time.perf_counter() - call.began - solution.build_seconds
    return replace(solution, certificates=proofs, solve_seconds=max(solution.solve_seconds, taken))


def _words(call: Call[Any], solution: Solution) -> Iterator[Any]:
    """What a solution claims to be all there is, on a solver's word."""
    if solution.termination is Termination.INFEASIBLE:
        if not solution.certificates and stated(call.problem, "plainly_infeasible", None) is None:
            yield solution.raw_status
    elif solution.optimal:
        yield from (entry for entry in solution.certificates if entry.kind is Proof.SOLVER)


def _stronger(word: Certificate, other: Certificate | None) -> Certificate:
    """The other certificate in the place of a word, if it claims the same."""
    if word.kind is not Proof.SOLVER or other is None or other.claim != word.claim:
        return word
    return other


def _agree(call: Call[Any], solution: Solution, own: Solution) -> None:
    """SolverDisagreement where the default route has something better than what is said to be the best."""
    problem = call.problem
    if own.objective is None:
        return
    held = None if solution.objective is None else problem.minimised(solution.objective)
    if held is None or problem.minimised(own.objective) < held:
        told = "that nothing is feasible" if solution.objective is None else f"{solution.objective} is the best"
        found = f"route {own.route} finds {own.objective}"
        raise SolverDisagreement(f"{problem.name}: the solver of route {call.route} says {told}, and {found}")
