"""Proofs of bounds, checked in integers and fractions, without the solver that found them.

The checker and the producers of solutions share only the nouns and `problems`. So a wrong price can make a bound weak,
never wrong. There is one module per problem, or for several similar ones. `<problem>_certificate` makes a certificate
(`<component>_certificate` one of a later component, if it has its own), and `<problem>_proof` recomputes its bound.
`reading` parses their data, `checking` checks a solution, and `fronts` a frontier. `dual` certificates contain prices
or potentials, `combinatorial` ones a cover, a tree or the like. `enumeration` is repeated if the instance is small.
`solver` is a solver's claim, never a proof.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import NoneType
from typing import TYPE_CHECKING

from optsched.certificates.checking import Claim, Enumerated, Finding, Verdict, certify_solution, proved_bound
from optsched.certificates.fronts import certify_frontier
from optsched.core.errors import expect
from optsched.core.results import Decision, Frontier, Solution
from optsched.problems import AnyProblem
from optsched.problems.base import expect_problem

if TYPE_CHECKING:
    from optsched.certificates.assignment import assignment_certificate, lsap_fairness_certificate
    from optsched.certificates.generalized_assignment import (
        capacity_tree_certificate,
        generalized_assignment_certificate,
        no_packing_certificate,
    )
    from optsched.certificates.latency import latency_certificate, latency_prices
    from optsched.certificates.min_cost_flow import min_cost_flow_certificate, no_flow_certificate
    from optsched.certificates.traffic import load_certificate, no_room_certificate, traffic_certificate
    from optsched.certificates.transmission import transmission_certificate, transmission_reduces_certificate
    from optsched.certificates.utility import utilisation_certificate, utility_certificate

__all__ = [
    "Finding",
    "Claim",
    "Enumerated",
    "Verdict",
    "assignment_certificate",
    "capacity_tree_certificate",
    "certify",
    "generalized_assignment_certificate",
    "latency_certificate",
    "latency_prices",
    "load_certificate",
    "lsap_fairness_certificate",
    "min_cost_flow_certificate",
    "no_flow_certificate",
    "no_packing_certificate",
    "no_room_certificate",
    "proved_bound",
    "traffic_certificate",
    "transmission_certificate",
    "transmission_reduces_certificate",
    "utilisation_certificate",
    "utility_certificate",
]


def certify(
    problem: AnyProblem,
    solution: Solution | Frontier,
    against: Mapping[str, Decision] | None = None,
    enumerated: Enumerated | None = None,
) -> Verdict:
    """Check a solution: right instance, feasible placement, true value, proved bounds, honest termination.

    Parameters
    ----------
    problem
        The problem, posed again on the instance with the intended parameters, which the solution must have.
        `optsched.problem(solution.problem, instance, **solution.parameters)` takes those of the solution.
    solution
        The claim: from `solve` or a solution file, or a frontier or its file.
    against
        Decisions by the name of their source: a feasible one contradicts INFEASIBLE, a better one a bound. They prove
        nothing. `optsched.routes.doubts.examine` looks for some.
    enumerated
        The result of trying every decision, if that was done; it settles each claim of a bound.

    Returns
    -------
    Verdict
        `valid` unless a claim is contradicted; `proved` if, in addition, something is claimed and all of it is proved.

    Notes
    -----
    A bound needs no certificate if a cheap bound of the problem is as good. Within a deadline
    (`optsched.core.deadline`), everything unchecked at its end counts as claimed without a basis. A frontier is checked
    in three ways: every point; that nothing lies before the first or between two; and, if it claims to be complete,
    that nothing lies after the last.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> from optsched.core.results import Certificate, Proof, Termination
    >>> from optsched.problems import Lsap
    >>> problem = Lsap(Instance(Cluster(["a"]), Workload(["t"])))
    >>> nothing = Certificate("locality-cost", Proof.DUAL, 1, {"task_price": 1, "node_prices": {}, "pool_prices": {}})
    >>> solution = Solution(
    ...     "lsap", {}, problem.instance.sha256, problem.placement([0]), (1,), (1,), Termination.OPTIMAL, None,
    ...     (nothing,), "by hand", 0.0, 0.0, {}, "")
    >>> certify(problem, solution).proved
    True
    """
    expect_problem(problem, "certify")
    hint = "solve first, or read one: claim_files.read_solution"
    expect(solution, (Solution, Frontier), "certify takes a solution", hint)
    expect(against, (Mapping, NoneType), "certify compares with a dictionary of decisions by name")
    expect(enumerated, (Enumerated, NoneType), "certify takes what was enumerated", "doubts.enumerated(problem) has it")
    if isinstance(solution, Solution):
        return certify_solution(problem, solution, against, enumerated)
    return certify_frontier(problem, solution, against, enumerated)


#: The functions that make certificates, by their modules; a module, and its problem, is imported on demand.
_MADE = {
    ".assignment": ("assignment_certificate", "lsap_fairness_certificate"),
    ".generalized_assignment": (
        "capacity_tree_certificate",
        "generalized_assignment_certificate",
        "no_packing_certificate",
    ),
    ".latency": ("latency_certificate", "latency_prices"),
    ".min_cost_flow": ("min_cost_flow_certificate", "no_flow_certificate"),
    ".traffic": ("load_certificate", "no_room_certificate", "traffic_certificate"),
    ".transmission": ("transmission_certificate", "transmission_reduces_certificate"),
    ".utility": ("utilisation_certificate", "utility_certificate"),
}


def __getattr__(name: str) -> object:
    """The function that makes certificates of a problem (PEP 562)."""
    for module, names in _MADE.items():
        if name in names:
            return getattr(import_module(module, __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
