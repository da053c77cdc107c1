"""Checks a Pareto frontier: each point by the certificates of its problem, and that no point is missing.

A frontier is proved without gaps. The first certificate of the first point: no decision is better in the first
component. The first certificate of each later point bounds the second component: every decision better in the first
component is no better than the previous point in the second. So nothing lies between the two points, and nothing as
good as this one is better in the first component. The second certificate: every decision as good in the first component
is no better in the second. A frontier that claims to be complete ends at a cheap bound of the second component.
"""

from __future__ import annotations

from collections.abc import Mapping

from optsched.certificates.checking import NOTHING, Checks, Claim, Enumerated, Verdict, nothing_feasible
from optsched.core.brief import counted
from optsched.core.results import Certificate, Component, Decision, Frontier, FrontierPoint, Number, Value, value_text
from optsched.problems import AnyProblem
from optsched.problems.base import stated


def certify_frontier(
    problem: AnyProblem,
    frontier: Frontier,
    against: Mapping[str, Decision] | None = None,
    enumerated: Enumerated | None = None,
) -> Verdict:
    """The verdict of `certify` on a frontier; see there."""
    checking = _FrontierChecks(problem, frontier)
    if checking.known() and checking.ordered():
        for number, point in enumerate(frontier):
            checking.point(number, point)
        checking.end()
        if checking.claims and enumerated is not None:
            checking.tried(enumerated)
        checking.rivals(against or {})
    return checking.verdict()


class _FrontierChecks(Checks):
    """The checks of a frontier."""

    def __init__(self, problem: AnyProblem, frontier: Frontier) -> None:
        super().__init__(problem, frontier)
        paired = len(problem.components) == len(frontier.components)  # otherwise `known` reports it
        self.frontier, self.values = frontier, [problem.minimised(value) for value in frontier.values if paired]

    def bound(self, where: str, component: Component, certificate: Certificate, claim: Number, earlier: Value) -> None:
        """Check that a certificate, or else a cheap bound, proves a claim of a component, given the earlier ones."""
        name = component.name
        if certificate.component != name or certificate.claim != claim:
            found = f"{name} {claim} is claimed, but the certificate says {certificate.component} {certificate.claim}"
            self.check(where, False, found)
        elif certificate.kind.checkable:
            self.proof(f"{where}: {certificate.kind} proof of {name}", component, certificate, earlier)
        elif not self.cheap(f"{where}: ", component, claim):
            self.claims.append(
                Claim(str(certificate.kind), f"{where}: bound {claim} of {name} rests on: {certificate.kind}")
            )

    def known(self) -> bool:
        """Whether it is about this problem and its components."""
        names = tuple(component.name for component in self.problem.components)
        same = self.frontier.components == names
        other = "" if same else f", not {', '.join(names)}"
        self.check("components", same, ", ".join(self.frontier.components) + other)
        return self.identified()

    def ordered(self) -> bool:
        """Whether each point is worse than the previous one in the first component, and better in the second."""
        steps = list(zip(self.values, self.values[1:], strict=False))
        wrong = [number for number, (a, b) in enumerate(steps, 2) if not (a[0] < b[0] and a[1] > b[1])]
        which = f"points {wrong[0] - 1} and {wrong[0]} are not" if wrong else "each point is"
        first, second = self.frontier.components
        self.check("order", not wrong, f"{which} worse in {first} and better in {second} than the one before")
        return not wrong

    def point(self, number: int, point: FrontierPoint) -> None:
        """Check that a point is attained, that nothing is before or below it, or between it and the previous one."""
        where, problem = f"point {number + 1}", self.problem
        wrong = problem.violations(point.placement)
        value = None if wrong else problem.objective(point.placement)
        worth = f"the placement's value is {value_text(value or ())}, claimed {value_text(point.objective)}"
        self.check(where, value == point.objective, "; ".join(map(str, wrong[:3])) or worth)
        if value != point.objective:
            return
        first, second = problem.components
        earlier, proof = point.certificates
        if number:
            before = self.frontier[number - 1].objective
            self.between(f"before {where}", earlier, point.objective, before)
        else:
            self.bound(f"before {where}", first, earlier, point.objective[0], point.objective)
        self.bound(where, second, proof, point.objective[1], point.objective)

    def between(self, where: str, certificate: Certificate, value: Value, before: Value) -> None:
        """Check that nothing better in the first component than a point beats the previous point in the second."""
        first, second = self.problem.components
        step = stated(self.problem, "first_step", None)
        if step is None and certificate.kind.checkable:
            text = f"{where}: {self.problem.name} does not say what values of {first.name} are multiples of"
            self.claims.append(Claim(NOTHING, f"{text} (first_step), so the certificate proves nothing before it"))
            return
        better = (0 if step is None else step) * first.sign
        self.bound(where, second, certificate, before[1], (value[0] - better, before[1]))

    def end(self) -> None:
        """Check that no point is missing after the last one, if the frontier claims to be complete."""
        frontier = self.frontier
        if frontier.infeasible is not None and (len(frontier) or not frontier.complete):
            points = counted(len(frontier), "point") if len(frontier) else "it is not complete"
            self.check("infeasible", False, f"a proof that nothing is feasible, but {points}")
        elif frontier.complete and frontier.limit is not None:
            self.check("complete", False, f"complete, but cut short by {frontier.limit}")
        elif not frontier.complete:
            if not len(frontier):
                self.claims.append(Claim(NOTHING, "no point is claimed"))
        elif len(frontier):
            where, second = f"after point {len(frontier)}", self.problem.components[1]
            if not self.cheap(f"{where}: ", second, frontier[-1].objective[1]):
                text = f"that nothing has better {second.name} than point {len(frontier)} rests on: {NOTHING}"
                self.claims.append(Claim(NOTHING, text))
        else:
            self.add(nothing_feasible(self.problem, frontier.infeasible, "complete", "no point"))

    def tried(self, enumerated: Enumerated) -> None:
        """Check that the points are those found by trying every placement, as far as they go."""
        front, held = list(enumerated.front), self.frontier.values
        holds = held == (front if self.frontier.complete else front[: len(held)])
        self.claims.clear()
        found = "; ".join(map(value_text, front)) or "none is feasible"
        self.check("enumeration", holds, f"every placement was tried: {found}", proof=True)

    def rivals(self, against: Mapping[str, Decision]) -> None:
        """Check that some point is at least as good as each known decision, as far as the points go."""
        for name, held in against.items():
            value = self.problem.minimised(self.problem.objective(held))
            met = any(point[0] <= value[0] and point[1] <= value[1] for point in self.values)
            within = self.frontier.complete or (bool(self.values) and value[0] <= self.values[-1][0])
            if within and not met:
                self.check("rivals", False, f"{name} found {value_text(self.problem.objective(held))}")
                return
        if against:
            self.check("rivals", True, f"{', '.join(against)} found nothing better than the points")
