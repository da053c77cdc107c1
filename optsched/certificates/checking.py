"""Checks a solution: right instance, feasible decision, true value, proved bounds, honest termination."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from optsched.certificates.capacities import capacity_proof
from optsched.certificates.covers import cover_proof
from optsched.certificates.flow_congestion import task_price_proof
from optsched.certificates.potentials import limitless_cycle, potential_proof
from optsched.certificates.prices import price_proof
from optsched.certificates.shares import fairness_proof
from optsched.certificates.traffic import slot_price_proof
from optsched.certificates.transmission import branching_proof
from optsched.certificates.transmission_reduces import reduce_proof
from optsched.certificates.utility import job_price_proof
from optsched.errors import CertificateInvalid
from optsched.problems import AnyProblem, GeneralizedAssignment, Latency, LsapFairness, MinCostFlow
from optsched.problems.assignment import AssignmentProblem
from optsched.problems.flow_congestion import FlowCongestion
from optsched.problems.traffic import Traffic
from optsched.problems.transmission import Transmission
from optsched.problems.transmission_reduces import TransmissionReduces
from optsched.problems.utility import Utility
from optsched.results import Certificate, Component, Number, Proof, Sense, Solution, Termination, Value

__all__ = ["Check", "Verdict", "certify", "proved_bound"]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at: what, whether it holds, and what was found."""

    what: str
    holds: bool
    found: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What certifying a solution gave.

    Attributes
    ----------
    checks
        Everything that was checked, in order.
    unproved
        Claims that rest on somebody's word, as sentences.
    """

    checks: tuple[Check, ...]
    unproved: tuple[str, ...]

    @property
    def valid(self) -> bool:
        """Whether no claim is false."""
        return all(check.holds for check in self.checks)

    @property
    def proved(self) -> bool:
        """Whether every claim was proved here: nothing is false, nothing rests on a word."""
        return self.valid and not self.unproved

    def raise_if_invalid(self) -> None:
        """Raise CertificateInvalid that names every false claim."""
        false = [f"{check.what}: {check.found}" for check in self.checks if not check.holds]
        if false:
            raise CertificateInvalid("\n".join(false))

    def __str__(self) -> str:
        lines = [f"{'ok   ' if check.holds else 'FALSE'} {check.what}: {check.found}" for check in self.checks]
        return "\n".join([*lines, *(f"word  {sentence}" for sentence in self.unproved)])


def certify(problem: AnyProblem, solution: Solution) -> Verdict:
    """Check a solution: right instance, feasible placement, true value, proved bounds, honest termination.

    Parameters
    ----------
    problem
        The problem, posed afresh on the instance.
    solution
        What somebody claims, from `solve` or from a solution file.

    Returns
    -------
    Verdict
        `valid` unless a claim is false; `proved` if, beyond that, no bound rests on a solver's word.

    Examples
    --------
    >>> from optsched.instance import Cluster, Instance, Workload
    >>> from optsched.problems import Lsap
    >>> problem = Lsap(Instance(Cluster(["a"]), Workload(["t"])))
    >>> nothing = Certificate("locality-cost", Proof.DUAL, 1, {"task_price": 1, "node_prices": {}, "pool_prices": {}})
    >>> solution = Solution(
    ...     "lsap", {}, problem.instance.sha256, problem.placement([0]), (1,), (1,), Termination.OPTIMAL, None,
    ...     (nothing,), "by hand", 0.0, 0.0, {}, "")
    >>> certify(problem, solution).proved
    True
    """
    checks: list[Check] = []
    unproved: list[str] = []

    def check(what: str, holds: bool, found: str) -> None:
        checks.append(Check(what, holds, found))

    check("problem", solution.problem == problem.name, f'the solution is of "{solution.problem}"')
    digest = problem.instance.sha256
    same = solution.instance_sha256 == digest
    check("instance", same, f"sha256 {digest[:12]}" + ("" if same else f", claimed {solution.instance_sha256[:12]}"))
    differing = problem.differing(solution.parameters)
    check("parameters", not differing, ", ".join(differing) + " differ" if differing else "as posed")
    if not all(entry.holds for entry in checks):
        return Verdict(tuple(checks), ())
    _check_decision(problem, solution, check)
    _check_bounds(problem, solution, check, unproved)
    return Verdict(tuple(checks), tuple(unproved))


def _check_decision(problem: AnyProblem, solution: Solution, check: Callable[[str, bool, str], None]) -> None:
    noun = problem.decided.__name__.lower()
    if solution.decision is None:
        held = solution.objective is None
        check(noun, held, "none" if held else "there is none, but an objective is claimed")
        return
    if not isinstance(solution.decision, problem.decided):
        check(noun, False, f"the decision is a {type(solution.decision).__name__.lower()}")
        return
    violations = problem.violations(solution.decision)
    found = "; ".join(str(violation) for violation in violations[:3]) if violations else "feasible"
    check(noun, not violations, found)
    if not violations:
        value = problem.evaluate(solution.decision)
        check("objective", value == solution.objective, f"the {noun}'s value is {_show(value)}")


def _check_bounds(
    problem: AnyProblem, solution: Solution, check: Callable[[str, bool, str], None], unproved: list[str]
) -> None:
    """Each claimed bound against its certificate, and the termination against objective and bounds."""
    if len(solution.bound) != len(problem.components):
        check("bound", False, f"{len(solution.bound)} entries for {len(problem.components)} components")
        return
    if solution.objective is not None and len(solution.objective) != len(problem.components):
        check("objective", False, f"{len(solution.objective)} entries for {len(problem.components)} components")
        return
    certificates = {certificate.component: certificate for certificate in solution.certificates}
    if len(certificates) < len(solution.certificates):
        check("certificate", False, "a component has more than one")
    known = {component.name for component in problem.components}
    for stranger in sorted(certificates.keys() - known):
        check("certificate", False, f'{problem.name} has no component "{stranger}"')
    for place, (component, claim) in enumerate(zip(problem.components, solution.bound, strict=True)):
        certificate = certificates.get(component.name)
        certified = None if certificate is None else certificate.claim
        if certified != claim:
            claimed, says = ("nothing" if entry is None else entry for entry in (claim, certified))
            check(f"bound of {component.name}", False, f"{claimed} is claimed, but the certificate says {says}")
            continue
        if claim is None or certificate is None:
            continue
        if certificate.kind.checkable:
            _check_proof(problem, solution, component, certificate, check)
        else:
            unproved.append(f"bound {claim} of {component.name} rests on: {certificate.kind}")
        given_earlier = solution.objective is not None and solution.objective[:place] == solution.bound[:place]
        if solution.objective is not None and given_earlier:
            holds = _at_least(component, solution.objective[place], claim)
            check(f"order of {component.name}", holds, f"objective {solution.objective[place]}, bound {claim}")
    _check_termination(problem, solution, check, unproved)


def _check_proof(
    problem: AnyProblem,
    solution: Solution,
    component: Component,
    certificate: Certificate,
    check: Callable[[str, bool, str], None],
) -> None:
    what = f"{certificate.kind} proof of {component.name}"
    try:
        value = proved_bound(problem, certificate, solution.objective)
    except CertificateInvalid as error:
        check(what, False, str(error))
        return
    check(what, _at_least(component, value, certificate.claim), f"proves {value}, claimed {certificate.claim}")


def _check_termination(
    problem: AnyProblem, solution: Solution, check: Callable[[str, bool, str], None], unproved: list[str]
) -> None:
    closed = solution.objective is not None and solution.objective == solution.bound
    optimal = solution.termination is Termination.OPTIMAL
    if optimal or closed:
        check("termination", optimal == closed, f"{solution.termination}, {'closed' if closed else 'a gap is left'}")
    elif solution.termination is Termination.INFEASIBLE:
        noun = problem.decided.__name__.lower()
        if problem.always_feasible or solution.decision is not None:
            told = "there is one" if solution.decision is not None else f"{problem.name} always has a feasible one"
            check("termination", False, f"INFEASIBLE: no {noun}, but {told}")
        elif problem.plainly_infeasible is not None:
            check("termination", True, f"INFEASIBLE: {problem.plainly_infeasible}")
        else:
            unproved.append(f"that there is no feasible {noun} rests on: {Proof.SOLVER}")
    elif solution.termination is Termination.ERROR and _plainly_unbounded(problem, solution) is not None:
        check("termination", True, f"ERROR: {_plainly_unbounded(problem, solution)}")
    elif solution.termination is Termination.ERROR:
        unproved.append(f"that there is no optimum to be found rests on: {Proof.SOLVER}")
    elif solution.termination is Termination.FEASIBLE and solution.decision is None:
        check("termination", False, f"FEASIBLE, but there is no {problem.decided.__name__.lower()}")


def _plainly_unbounded(problem: AnyProblem, solution: Solution) -> str | None:
    """What shows, beside the feasible decision, that its objective has no limit; None where nothing does."""
    if not isinstance(problem, MinCostFlow) or solution.decision is None:
        return None
    return limitless_cycle(problem)


def _at_least(component: Component, value: Number, claim: Number) -> bool:
    """Whether `value` is on the feasible side of `claim`."""
    return value >= claim if component.sense is Sense.MIN else value <= claim


def _show(value: Value) -> str:
    return ", ".join(str(entry) for entry in value)


def proved_bound(problem: AnyProblem, certificate: Certificate, objective: Value | None = None) -> Number:
    """The bound that a certificate proves, recomputed from its data; nothing it claims is believed.

    Parameters
    ----------
    problem, certificate
        What it is about, of a kind that can be checked.
    objective
        Value of the placement that it comes with: the earlier components of it are what a proof of a later one takes
        as given.

    Raises
    ------
    CertificateInvalid
        If the data is not what its kind needs, or the kind cannot be checked for the problem.
    """
    for kind, sort, prove in PROOFS:
        if certificate.kind is kind and isinstance(problem, sort):
            return prove(problem, certificate, objective)
    raise CertificateInvalid(f"{problem.name} has no proof of kind {certificate.kind}")


#: What proves a bound from a certificate's data: (problem, certificate, value of the placement that it comes with).
Prover = Callable[[Any, Certificate, Value | None], Number]

#: Which kind of proof of which sort of problem is recomputed by what.
PROOFS: tuple[tuple[Proof, type[AnyProblem], Prover], ...] = (
    (Proof.DUAL, LsapFairness, fairness_proof),
    (Proof.DUAL, AssignmentProblem, price_proof),
    (Proof.DUAL, GeneralizedAssignment, capacity_proof),
    (Proof.DUAL, FlowCongestion, task_price_proof),
    (Proof.DUAL, TransmissionReduces, reduce_proof),
    (Proof.DUAL, MinCostFlow, potential_proof),
    (Proof.DUAL, Traffic, slot_price_proof),
    (Proof.DUAL, Utility, job_price_proof),
    (Proof.COMBINATORIAL, Latency, cover_proof),
    (Proof.COMBINATORIAL, Transmission, branching_proof),
)
