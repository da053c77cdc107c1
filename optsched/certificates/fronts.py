"""Checks frontiers and ordered vectors of utilities: each part by the proof that its problem has for it.

A frontier is proved without gaps. The certificate of the first component of its first point says that nothing is before
it. Of each later point the first certificate is of the second component: whatever is better in the first component than
this point is no better in the second than the point before. So there is nothing between the two, and nothing as good as
this point that is better in the first component. The second certificate says that whatever is as good as this point in
the first component is no better in the second. What is said to be complete ends where a cheap bound of the second
component is attained.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from optsched.brief import counted
from optsched.certificates.checking import (
    NOTHING,
    Checks,
    Claim,
    Enumerated,
    Verdict,
    nothing_feasible,
    show,
)
from optsched.fronts import Frontier, Leximin, entry_name
from optsched.placement import Placement
from optsched.problems import AnyProblem
from optsched.problems.base import stated
from optsched.registry import record_of
from optsched.results import Certificate, Component, Decision, FrontierPoint, Number, Sense, Value

__all__ = ["certify_frontier", "certify_leximin"]


def certify_frontier(
    problem: AnyProblem,
    frontier: Frontier,
    against: Mapping[str, Decision] | None = None,
    enumerated: Enumerated | None = None,
) -> Verdict:
    """What `certify` says of a frontier; see there."""
    checking = _FrontierChecks(problem, frontier)
    if checking.known() and checking.ordered():
        for number, point in enumerate(frontier):
            checking.point(number, point)
        checking.end()
        if checking.claims and enumerated is not None:
            checking.tried(enumerated)
        checking.rivals(against or {})
    return checking.verdict()


def certify_leximin(
    problem: AnyProblem,
    leximin: Leximin,
    against: Mapping[str, Decision] | None = None,
    enumerated: Enumerated | None = None,
) -> Verdict:
    """What `certify` says of an ordered vector of utilities; see there."""
    checking = _LeximinChecks(problem, leximin)
    if checking.known() and checking.attained():
        for rank, certificate in enumerate(leximin.certificates):
            checking.entry(rank, certificate)
        if checking.claims and enumerated is not None:
            checking.tried(enumerated)
        checking.rivals(against or {})
    return checking.verdict()


class _Checks(Checks):
    """The checks of a claim that has several values."""

    def bound(
        self, where: str, component: Component, certificate: Certificate, claim: Number, given: Value, as_name: str = ""
    ) -> None:
        """A certificate proves a claim of a component, with earlier components given; else a cheap bound, or nothing.

        `as_name` is what the certificate must be of, where that is not the component.
        """
        name = as_name or component.name
        if certificate.component != name or certificate.claim != claim:
            found = f"{name} {claim} is claimed, but the certificate says {certificate.component} {certificate.claim}"
            self.check(where, False, found)
        elif certificate.kind.checkable:
            self.proof(f"{where}: {certificate.kind} proof of {name}", component, certificate, given)
        elif as_name or not self.cheap(f"{where}: ", component, claim):
            self.claims.append(
                Claim(str(certificate.kind), f"{where}: bound {claim} of {name} rests on: {certificate.kind}")
            )

    def settle(self, told: str, holds: bool, found: str) -> None:
        """What trying every placement gave stands in the place of all claims."""
        self.claims.clear()
        self.check(told, holds, f"every placement was tried: {found}", proof=True)


class _FrontierChecks(_Checks):
    """The checks of a frontier."""

    def __init__(self, problem: AnyProblem, frontier: Frontier) -> None:
        super().__init__(problem, frontier)
        self.frontier, self.values = frontier, [problem.minimised(value) for value in _pairs(frontier, problem)]

    def known(self) -> bool:
        """Whether it is of this problem and of its components."""
        names = tuple(component.name for component in self.problem.components)
        same = self.frontier.components == names
        self.check("components", same, ", ".join(self.frontier.components) + ("" if same else f", not {show(names)}"))
        return self.identified()

    def ordered(self) -> bool:
        """Whether each point is worse than the one before in the first component, and better in the second."""
        steps = list(zip(self.values, self.values[1:], strict=False))
        wrong = [number for number, (a, b) in enumerate(steps, 2) if not (a[0] < b[0] and a[1] > b[1])]
        told = f"points {wrong[0] - 1} and {wrong[0]} are not" if wrong else "each point is"
        first, second = self.frontier.components
        self.check("order", not wrong, f"{told} worse in {first} and better in {second} than the one before")
        return not wrong

    def point(self, number: int, point: FrontierPoint) -> None:
        """A point is attained; nothing is before it, or between it and the one before; and nothing is below it."""
        where = f"point {number + 1}"
        if not _feasible(self, where, point.placement, point.objective):
            return
        first, second = self.problem.components
        earlier, beside = point.certificates
        if number:
            before = self.frontier[number - 1].objective
            self.between(f"before {where}", earlier, point.objective, before)
        else:
            self.bound(f"before {where}", first, earlier, point.objective[0], point.objective)
        self.bound(where, second, beside, point.objective[1], point.objective)

    def between(self, where: str, certificate: Certificate, value: Value, before: Value) -> None:
        """Nothing that is better than a point in the first component is better in the second than the one before."""
        first, second = self.problem.components
        step = stated(self.problem, "first_step", None)
        if step is None and certificate.kind.checkable:
            told = f"{where}: {self.problem.name} does not say what values of {first.name} are multiples of"
            self.claims.append(Claim(NOTHING, f"{told} (first_step), so that the certificate is of no value before"))
            return
        better = (0 if step is None else step) * (1 if first.sense is Sense.MIN else -1)
        self.bound(where, second, certificate, before[1], (value[0] - better, before[1]))

    def end(self) -> None:
        """Nothing is behind the last point where all points are said to be there."""
        frontier = self.frontier
        if frontier.infeasible is not None and (len(frontier) or not frontier.complete):
            beside = counted(len(frontier), "point") if len(frontier) else "it is not complete"
            self.check("infeasible", False, f"a proof that nothing is feasible, but {beside}")
        elif frontier.complete and frontier.limit is not None:
            self.check("complete", False, f"complete, but cut short by {frontier.limit}")
        elif not frontier.complete:
            if not len(frontier):
                self.claims.append(Claim(NOTHING, "no point is claimed"))
        elif len(frontier):
            where, second = f"after point {len(frontier)}", self.problem.components[1]
            if not self.cheap(f"{where}: ", second, frontier[-1].objective[1]):
                told = f"that nothing has better {second.name} than point {len(frontier)} rests on: {NOTHING}"
                self.claims.append(Claim(NOTHING, told))
        else:
            self.add(nothing_feasible(self.problem, frontier.infeasible, "complete", "no point"))

    def tried(self, enumerated: Enumerated) -> None:
        """The points are those that trying every placement gives, as far as they go."""
        front, held = list(enumerated.front), self.frontier.values
        holds = held == (front if self.frontier.complete else front[: len(held)])
        self.settle("enumeration", holds, "; ".join(map(show, front)) or "none is feasible")

    def rivals(self, against: Mapping[str, Decision]) -> None:
        """Whether a decision that somebody found is not beaten or met by a point, as far as these go."""
        for name, held in against.items():
            value = self.problem.minimised(self.problem.objective(held))
            met = any(point[0] <= value[0] and point[1] <= value[1] for point in self.values)
            within = self.frontier.complete or (bool(self.values) and value[0] <= self.values[-1][0])
            if within and not met:
                self.check("rivals", False, f"{name} found {show(self.problem.objective(held))}")
                return
        if against:
            self.check("rivals", True, f"{', '.join(against)} found nothing better than the points")


class _LeximinChecks(_Checks):
    """The checks of an ordered vector of utilities."""

    def __init__(self, problem: AnyProblem, leximin: Leximin) -> None:
        super().__init__(problem, leximin)
        self.leximin = leximin

    def known(self) -> bool:
        """Whether it is of this problem, which has such a vector."""
        told = "has an ordered vector" if record_of(type(self.problem)).leximin else "has no ordered vector"
        self.check("leximin", record_of(type(self.problem)).leximin is not None, f"{self.problem.name} {told}")
        return self.identified()

    def attained(self) -> bool:
        """Whether the placement is feasible and has these utilities."""
        placement = self.leximin.placement
        wrong = self.problem.violations(placement)
        self.check("placement", not wrong, "; ".join(map(str, wrong[:3])) or "feasible")
        if wrong:
            return False
        held = tuple(sorted(self.problem.utilities(placement)))
        same = held == self.leximin.utilities
        self.check("utilities", same, f"the placement's are {show(held) or 'none'}")
        return same

    def entry(self, rank: int, certificate: Certificate | None) -> None:
        """An entry is highest, the earlier ones given."""
        component, utilities = self.problem.components[0], self.leximin.utilities
        name = entry_name(component.name, rank + 1)
        if certificate is None:
            self.claims.append(Claim(NOTHING, f"no bound of {name} is claimed"))
        else:
            as_name = name if rank else ""
            self.bound(f"entry {rank + 1}", component, certificate, utilities[rank], utilities[:rank], as_name)

    def tried(self, enumerated: Enumerated) -> None:
        """The vector is that which trying every placement gives."""
        best = enumerated.vector or ()
        self.settle("enumeration", best == self.leximin.utilities, f"the highest vector is {show(best)}")

    def rivals(self, against: Mapping[str, Decision]) -> None:
        """Whether a decision that somebody found has a higher vector, in what is claimed to be highest."""
        claimed = [certificate is not None for certificate in self.leximin.certificates]
        upto = claimed.index(False) if False in claimed else len(claimed)
        for name, held in against.items():
            vector: Sequence[Number] = sorted(self.problem.utilities(held))
            if tuple(vector[:upto]) > self.leximin.utilities[:upto]:
                self.check("rivals", False, f"{name} found {show(tuple(vector))}")
                return
        if against and upto:
            within = "" if upto == len(claimed) else f" in the first {upto} of its entries, which are claimed"
            self.check("rivals", True, f"{', '.join(against)} found no higher vector{within}")


def _pairs(frontier: Frontier, problem: AnyProblem) -> list[Value]:
    """The values of the points; none where the problem has other components than two, which `known` tells."""
    return frontier.values if len(problem.components) == len(frontier.components) else []


def _feasible(checking: _Checks, where: str, placement: Placement, claimed: Value) -> bool:
    """Whether a placement is feasible and worth what is claimed; it is told."""
    problem = checking.problem
    wrong = problem.violations(placement)
    found = "; ".join(map(str, wrong[:3]))
    value = None if wrong else problem.objective(placement)
    checking.check(
        where, value == claimed, found or f"the placement's value is {show(value or ())}, claimed {show(claimed)}"
    )
    return value == claimed
