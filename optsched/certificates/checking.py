"""Checks a solution: right instance, feasible decision, true value, proved bounds, honest termination."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from optsched.certificates import programs
from optsched.core.brief import as_argument, several
from optsched.core.errors import CertificateInvalid, OutOfTime, TooLarge
from optsched.core.problem_record import imported
from optsched.core.registry import record_of
from optsched.core.results import (
    FEASIBLE,
    Bound,
    Certificate,
    Component,
    Decision,
    Frontier,
    Number,
    Proof,
    Solution,
    Termination,
    Value,
    value_text,
)
from optsched.problems import AnyProblem
from optsched.problems.base import stated
from optsched.problems.foreign import is_shipped, path_of
from optsched.problems.programs import Programmed

#: The basis of a claim without a certificate; the other kinds are those of `Proof`.
NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: what was checked, whether it holds, what was found, and whether that proves a claim.

    For a proof by a tree, `cases` is the number of its cases, and `seconds` how long their check took.
    """

    what: str
    holds: bool
    found: str
    proof: bool = False
    cases: int | None = None
    seconds: float = field(default=0.0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim that nothing proved here: its basis (a kind of `Proof`, or `nothing`), and a sentence."""

    kind: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Enumerated:
    """The result of trying every decision.

    Attributes
    ----------
    value
        Value of the best one; None if none is feasible.
    front
        Values of all Pareto-optimal ones, the best first component first.
    """

    value: Value | None = None
    front: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of certifying a solution: what is proved, what is only claimed, and what is contradicted.

    Attributes
    ----------
    checks
        Everything that was checked, in order.
    claims
        Claims that nothing proved.
    """

    checks: tuple[Finding, ...]
    claims: tuple[Claim, ...]

    @property
    def valid(self) -> bool:
        """Whether no claim is contradicted."""
        return all(check.holds for check in self.checks)

    @property
    def proved(self) -> bool:
        """Whether something was claimed and all of it was proved here: nothing is contradicted or only claimed."""
        return self.valid and not self.claims

    @property
    def proofs(self) -> tuple[str, ...]:
        """What was proved, as sentences."""
        return tuple(f"{check.what}: {check.found}" for check in self.checks if check.proof and check.holds)

    @property
    def unproved(self) -> tuple[str, ...]:
        """What is only claimed, as sentences."""
        return tuple(claim.sentence for claim in self.claims)

    @property
    def contradicted(self) -> tuple[str, ...]:
        """What is false, as sentences."""
        return tuple(f"{check.what}: {check.found}" for check in self.checks if not check.holds)

    def accepted(self, allow: Iterable[str] = ()) -> bool:
        """Whether nothing is contradicted, and every unproved claim has an allowed basis (`solver`, `nothing`)."""
        kinds = {str(kind) for kind in allow}
        return self.valid and all(claim.kind in kinds for claim in self.claims)

    def raise_if_invalid(self) -> None:
        """Raise CertificateInvalid that names every false claim; unproved claims pass."""
        if not self.valid:
            raise CertificateInvalid(*self.contradicted)

    def raise_unless_proved(self, allow: Iterable[str] = ()) -> None:
        """Raise CertificateInvalid that names every false claim, and every unproved one without an allowed basis.

        Parameters
        ----------
        allow
            Kinds that are accepted without a proof: `solver`, `enumeration`, `nothing`.
        """
        self.raise_if_invalid()
        kinds = {str(kind) for kind in allow}
        unproved = [f"not proved: {claim.sentence}" for claim in self.claims if claim.kind not in kinds]
        if unproved:
            raise CertificateInvalid(*unproved)

    def __str__(self) -> str:
        lines = [f"{mark_of(check):6} {check.what}: {check.found}" for check in self.checks]
        return "\n".join([*lines, *(f"claim  {sentence}" for sentence in self.unproved)])


def mark_of(check: Finding) -> str:
    """One word for a check: `ok`, `proved` if it proves a claim, `FALSE`."""
    if not check.holds:
        return "FALSE"
    return "proved" if check.proof else "ok"


def certify_solution(
    problem: AnyProblem,
    solution: Solution,
    against: Mapping[str, Decision] | None = None,
    enumerated: Enumerated | None = None,
) -> Verdict:
    """The verdict of `certify` on a solution; see there."""
    checking = _SolutionChecks(problem, solution, enumerated)
    if checking.identified():
        checking.decision()
        checking.programs()
        checking.bounds()
        checking.rivals(against or {})
        checking.silence()
    return checking.verdict()


class Checks:
    """The checks of one claim, in the order in which they are printed.

    The first ones check that it is about this problem, on this instance, with these parameters.
    """

    def __init__(self, problem: AnyProblem, claimed: Solution | Frontier) -> None:
        self.problem: Any = problem
        self.checks: list[Finding] = []
        self.claims: list[Claim] = []
        noun, digest = claimed.noun, problem.instance.sha256
        self.check("problem", claimed.problem == problem.name, f'the {noun} is of "{claimed.problem}"')
        same = claimed.instance_sha256 == digest
        other = "" if same else f", claimed {claimed.instance_sha256[:12]}"
        self.check("instance", same, f"sha256 {digest[:12]}{other}")
        differing = problem.differing(claimed.parameters)
        asked = ", ".join(f"{name}={as_argument(value)}" for name, value in problem.parameters.items()) or "none"
        if differing:
            others = ", ".join(f"{name}={as_argument(claimed.parameters[name])}" for name in differing)
            asked = f"the {noun} has {others}, asked for: {asked}"
        self.check("parameters", not differing, asked)

    def check(self, what: str, holds: bool, result: str, proof: bool = False) -> None:
        """Record the result of a check."""
        self.checks.append(Finding(what, holds, result, proof))

    def add(self, finding: Finding | Claim) -> None:
        """Record a check, or an unproved claim."""
        if isinstance(finding, Finding):
            self.checks.append(finding)
        else:
            self.claims.append(finding)

    def identified(self) -> bool:
        """Whether the problem, the instance and the parameters are the intended ones."""
        return all(entry.holds for entry in self.checks)

    def verdict(self) -> Verdict:
        """The verdict over all checks."""
        return Verdict(tuple(self.checks), tuple(self.claims))

    def proof(self, what: str, component: Component, certificate: Certificate, earlier: Value | None) -> None:
        """Check that a checkable certificate proves its claim, given the `earlier` components."""

        def prove() -> tuple[bool, str]:
            value = proved_bound(self.problem, certificate, earlier)
            beaten = self.beaten(component, value)
            found = f"proves {value}, claimed {certificate.claim}{beaten}"
            return component.at_least(value, certificate.claim) and not beaten, found

        self.add(tried(what, certificate, prove))

    def cheap(self, where: str, component: Component, claim: Number) -> bool:
        """Whether a cheap bound proves a claim of a component for any other components; not past a deadline."""
        bounds: tuple[Bound, ...] = ()
        with suppress(OutOfTime):
            bounds = stated(self.problem, "cheap_bounds", tuple)()
        for cheap in bounds:
            if cheap.component == component.name and component.at_least(cheap.value, claim):
                beaten = self.beaten(component, cheap.value)
                found = f"proves {cheap.value}, claimed {claim}{beaten}"
                self.check(f"{where}cheap bound {cheap.name} of {component.name}", not beaten, found, proof=True)
                return True
        return False

    def beaten(self, component: Component, value: Number) -> str:
        """The message that a decision is better than a claimed bound; empty if it is not."""
        return ""


def tried(what: str, certificate: Certificate, prove: Callable[[], tuple[bool, str]]) -> Finding | Claim:
    """Record whether a certificate proves its claim; `prove` returns that, and what it found."""
    began = time.perf_counter()
    try:
        holds, found = prove()
    except CertificateInvalid as error:
        return Finding(what, False, str(error))
    except OutOfTime:
        return unchecked(what)
    return Finding(what, holds, found, True, certificate.cases, time.perf_counter() - began)


class _SolutionChecks(Checks):
    """The checks of one solution."""

    def __init__(self, problem: AnyProblem, solution: Solution, enumerated: Enumerated | None) -> None:
        super().__init__(problem, solution)
        self.solution, self.enumerated = solution, enumerated
        self.noun = problem.decided.noun
        #: Value of the decision, once it is known to be feasible.
        self.worth: Value | None = None

    def decision(self) -> None:
        """Check that the decision is feasible and has the claimed value."""
        problem, solution, noun = self.problem, self.solution, self.noun
        if solution.decision is None:
            held = solution.objective is None
            self.check(noun, held, "none" if held else "there is none, but an objective is claimed")
            return
        if not isinstance(solution.decision, problem.decided):
            self.check(noun, False, f"the decision is a {solution.decision.noun}")
            return
        violations = problem.violations(solution.decision)
        found = several(violations, 3) if violations else "feasible"
        self.check(noun, not violations, found)
        if not violations:
            self.worth = value = problem.objective(solution.decision)
            self.check("objective", value == solution.objective, f"the {noun}'s value is {value_text(value)}")

    def programs(self) -> None:
        """Whether the programs of another package's class agree with its definition near the decision."""
        problem, bound = self.problem, self.solution.bound
        proved = any("before" in certificate.data for certificate in self.solution.certificates)
        if self.worth is None or not proved or not isinstance(problem, Programmed) or is_shipped(problem):
            return
        try:
            programs.check_programs(problem, self.solution.decision, bound)
        except CertificateInvalid as error:
            self.check("program", False, str(error))

    def bounds(self) -> None:
        """Check each claimed bound against its certificate, and the termination against objective and bounds."""
        problem, solution = self.problem, self.solution
        if len(solution.bound) != len(problem.components):
            self.check("bound", False, f"{len(solution.bound)} entries for {len(problem.components)} components")
            return
        if solution.objective is not None and len(solution.objective) != len(problem.components):
            found = f"{len(solution.objective)} entries for {len(problem.components)} components"
            self.check("objective", False, found)
            return
        certificates = {certificate.component: certificate for certificate in solution.certificates}
        if len(certificates) < len(solution.certificates):
            self.check("certificate", False, "a component has more than one")
        known = {component.name for component in problem.components}
        known |= {FEASIBLE} if solution.termination is Termination.INFEASIBLE else set()
        for stranger in sorted(certificates.keys() - known):
            self.check("certificate", False, f'{problem.name} has no component "{stranger}"')
        for position, (component, claim) in enumerate(zip(problem.components, solution.bound, strict=True)):
            certificate = certificates.get(component.name)
            certified = None if certificate is None else certificate.claim
            if certified != claim:
                claimed, says = ("nothing" if entry is None else entry for entry in (claim, certified))
                found = f"{claimed} is claimed, but the certificate says {says}"
                self.check(f"bound of {component.name}", False, found)
                continue
            if claim is None or certificate is None:
                continue
            if certificate.kind.checkable:
                what = f"{certificate.kind} proof of {component.name}"
                self.proof(what, component, certificate, solution.objective)
            else:
                self.word(position, component, certificate)
            if solution.objective is not None and solution.objective[:position] == solution.bound[:position]:
                holds = component.at_least(solution.objective[position], claim)
                found = f"objective {solution.objective[position]}, bound {claim}"
                self.check(f"order of {component.name}", holds, found)
        self.termination()

    def beaten(self, component: Component, value: Number) -> str:
        """The message that the decision is better than a claimed bound; empty if it is not.

        A bound of a later component concerns only decisions whose earlier components are at their bounds.
        """
        problem, solution, worth = self.problem, self.solution, self.worth
        position = problem.components.index(component)
        if worth is None or worth[:position] != solution.bound[:position] or component.at_least(worth[position], value):
            return ""
        return f", but the {self.noun} is worth {worth[position]}"

    def word(self, position: int, component: Component, certificate: Certificate) -> None:
        """Check an unproved claim: a cheap bound or trying every decision may prove it; else it stays a claim."""
        claim = certificate.claim
        if self.cheap("", component, claim):
            return
        best = None if self.enumerated is None else self.enumerated.value
        if best is not None and best[:position] == self.solution.bound[:position]:
            holds = component.at_least(best[position], claim)
            text = f"every {self.noun} was tried: {best[position]}, claimed {claim}"
            self.check(f"proof of {component.name} by enumeration", holds, text, proof=True)
            return
        self.claims.append(
            Claim(str(certificate.kind), f"bound {claim} of {component.name} rests on: {certificate.kind}")
        )

    def termination(self) -> None:
        """Check that the termination follows from objective and bounds, or from a plain reason."""
        solution, noun = self.solution, self.noun
        closed = solution.objective is not None and solution.objective == solution.bound
        optimal = solution.termination is Termination.OPTIMAL
        nothing = solution.decision is None
        if optimal or closed:
            found = f"{solution.termination}, {'closed' if closed else 'but a gap remains'}"
            self.check("termination", optimal == closed, found)
        elif solution.termination is Termination.INFEASIBLE:
            self.infeasible()
        elif solution.termination is Termination.ERROR:
            self.unbounded()
        elif (solution.termination is Termination.FEASIBLE) == nothing:
            found = f"there is {'no' if nothing else 'a'} {noun}"
            self.check("termination", False, f"{solution.termination}, but {found}")

    def infeasible(self) -> None:
        """Check the claim that nothing is feasible: by a certificate, a plain reason, or trying every decision."""
        solution, noun = self.solution, self.noun
        if solution.decision is not None:
            self.check("termination", False, f"INFEASIBLE: no {noun}, but there is one")
            return
        given = next((entry for entry in solution.certificates if entry.component == FEASIBLE), None)
        found = nothing_feasible(self.problem, given, "termination", "INFEASIBLE")
        if isinstance(found, Claim) and self.enumerated is not None:
            holds = self.enumerated.value is None
            text = f"every {noun} was tried: {'none is' if holds else 'one is'} feasible"
            self.check("termination", holds, f"INFEASIBLE: {text}", proof=True)
        else:
            self.add(found)

    def unbounded(self) -> None:
        """Check an unbounded objective: a cycle of a flow network, with the flow, proves it; others only claim it."""
        shown = record_of(type(self.problem)).unlimited
        if shown is not None and "unbounded" in self.solution.raw_status:
            cycle = imported(shown)(self.problem)
            if cycle is None:
                self.check("termination", False, "ERROR, unbounded: but every cycle of negative cost has a limit")
                return
            if self.solution.decision is not None:
                self.check("termination", True, f"ERROR, unbounded: {cycle}", proof=True)
                return
        word = f"that there is no optimum to be found rests on: {Proof.SOLVER}"
        self.claims.append(Claim(str(Proof.SOLVER), word))

    def rivals(self, against: Mapping[str, Decision]) -> None:
        """Check whether a known decision contradicts the claims."""
        problem, solution = self.problem, self.solution
        feasible = {name: held for name, held in against.items() if not problem.violations(held)}
        if not feasible or len(solution.bound) != len(problem.components):
            return
        if solution.termination is Termination.INFEASIBLE:
            name = next(iter(feasible))
            self.check("termination", False, f"INFEASIBLE, but {name} found a feasible {self.noun}")
            return
        for name, held in feasible.items():
            value = problem.evaluate(held)
            position = problem.beaten(value, solution.bound)
            if position is not None:
                component = problem.components[position].name
                found = f"{solution.bound[position]} is claimed, but {name} found {value_text(value)}"
                self.check(f"bound of {component}", False, found)
                return
        found = ", ".join(feasible)
        self.check("rivals", True, f"{found} found nothing better than the bound")

    def silence(self) -> None:
        """Record a solution without a bound or a reason: it claims nothing that could be proved."""
        claimed = any(entry is not None for entry in self.solution.bound)
        if self.claims or claimed or any(check.proof for check in self.checks):
            return
        good = "" if self.solution.decision is None else f": how good the {self.noun} is, is not said"
        self.claims.append(Claim(NOTHING, f"no bound is claimed{good}"))


def nothing_feasible(problem: AnyProblem, certificate: Certificate | None, what: str, claim: str) -> Finding | Claim:
    """Check that a certificate, or a plain reason, proves that no decision is feasible; else it is a solver's claim.

    `what` names the check; its `claim` says that nothing is feasible.
    """
    noun = problem.decided.noun
    if stated(problem, "always_feasible", False):
        mend = f"; set always_feasible = False in {path_of(problem)} if an instance may have none"
        sure = f"{problem.name} always has a feasible {noun}"
        return Finding(what, False, f"{claim}, but {sure}{'' if is_shipped(problem) else mend}")
    if certificate is not None and certificate.kind.checkable:
        what = f"{certificate.kind} proof that nothing is feasible"
        prover = record_of(type(problem)).infeasible
        if prover is None:
            return Finding(what, False, f"{problem.name} has no such proof")
        if (certificate.component, certificate.claim) != (FEASIBLE, 0):
            return Finding(what, False, f"claims {certificate.component} {certificate.claim}, not {FEASIBLE} 0")
        return tried(what, certificate, lambda: (True, f"{claim}: {imported(prover)(problem, certificate)}"))
    plain = stated(problem, "plainly_infeasible", None)
    if plain is not None:
        return Finding(what, True, f"{claim}: {plain}", proof=True)
    if stated(problem, "always_plain", False):
        return Finding(what, False, f"{claim}, but nothing makes that so: a {noun} is feasible")
    kind = Proof.SOLVER if certificate is None else certificate.kind
    return Claim(str(kind), f"that there is no feasible {noun} rests on: {kind}")


def proved_bound(problem: AnyProblem, certificate: Certificate, objective: Value | None = None) -> Number:
    """The bound that a certificate proves, recomputed from its data; none of its claims is trusted.

    Parameters
    ----------
    problem, certificate
        The problem, and a certificate of a kind that can be checked.
    objective
        Value of the placement that comes with it: a proof of a later component takes its earlier components as given.

    Raises
    ------
    CertificateInvalid
        If the data does not fit its kind, the kind cannot be checked for the problem, or a check is too large.
    """
    named = record_of(type(problem)).provers.get(str(certificate.kind))
    by_program = certificate.kind is Proof.DUAL and "before" in certificate.data and isinstance(problem, Programmed)
    prove: Prover | None = programs.program_proof if by_program else None if named is None else imported(named)
    if prove is None:
        raise CertificateInvalid(f"{problem.name} has no proof of kind {certificate.kind}")
    try:
        return prove(problem, certificate, objective)
    except TooLarge as error:
        raise CertificateInvalid(str(error)) from None


def unchecked(what: str, limit: str = "time") -> Claim:
    """The claims if a limit, on time or memory, ended the checks before a proof was checked."""
    return Claim(NOTHING, f"{what}: not checked within the {limit} limit")


#: A function that proves a bound from a certificate's data: (problem, certificate, value of its placement) -> bound.
Prover = Callable[[Any, Certificate, Value | None], Number]
