"""Routes of a problem with a program of its own (`optsched.problems.programs`): find, then prove.

HiGHS finds a decision by the arrays of the program, or by a model. Prices of the linear relaxation prove it. If they
leave a gap, a tree of cases over the program closes it. If the tree grows too large, the solver's claim remains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from optsched.certificates.programs import (
    checked_program,
    limit_certificate,
    program_below,
    program_certificate,
    without_costs,
)
from optsched.certificates.trees import Step, Tree
from optsched.core.errors import CertificateInvalid, OutOfTime, ProblemFailed, SolverDisagreement
from optsched.core.instance import Ints
from optsched.core.results import Certificate, Number, Proof, Solution, Termination
from optsched.problems.base import exact, exact_product, stated
from optsched.problems.foreign import is_shipped
from optsched.problems.program_audit import Audit
from optsched.problems.programs import Limited, Program, limit_unit
from optsched.problems.relaxations import IntegerProgram
from optsched.routes.call import Call, Found, Held, proof_of, quick_answer
from optsched.routes.listing import MODELS
from optsched.solvers.answers import whole_numbers
from optsched.solvers.highs import solve_arrays
from optsched.solvers.profiles import Profile
from optsched.solvers.searches.program_tree import Root, as_arrays, root, settling_tree

#: The default first.
ROUTES = ("arrays", *MODELS, "brute-force")

#: A tree solves at most this many linear programs, with at most this many columns in all.
_MOST_PROGRAMS, _MOST_COLUMNS = 2_000, 500_000

#: Denominator of the prices that bound a limit: the weights of large groups are small.
_LIMIT_SCALE = 2**30

#: A solver may take closer values for equal (its tolerances are 1e-6); a bound this large counts as none.
_UNTOLD, _ENDLESS = 2e-6, 2**33

#: From this many pairs of tasks and nodes, a step of HiGHS, or the posing, may take half a second.
OVERRUNS = {"arrays": 100_000}


def by_route(call: Call[Any], profile: Profile, known: Sequence[Certificate] = ()) -> Solution:
    """Optimise one component after another, each at the optimum of the earlier ones, as long as these are proved.

    Without a start it begins with the quick answer, if that has a decision. `known` has proofs of the first
    components, which are used if nothing stronger is found.
    """
    call.start = call.start or quick_answer(call.problem)[0]
    problem, search = call.problem, _Search(call, profile, known)
    call.incumbent.hold(lambda: (search.incumbent, tuple(search.proofs)))
    with call.until_stopped():
        for position, component in enumerate(problem.components):
            proofs = list(known[position : position + 1])
            if not any(map(search.attains, proofs)):
                proofs.append(search.proof())
                if search.answer.outcome.status is Termination.INFEASIBLE and search.incumbent is None:
                    return call.infeasible(search.answer)
            proof = max(proofs, key=lambda each: component.sign * each.claim)
            search.proofs.append(proof)
            if not search.attains(proof):
                break
            search.go_on(proof)
    return call.answered(search.incumbent, (*search.proofs, *known[len(search.proofs) :]), search.answer)


def plain(problem: Any) -> Held:
    """Only the cheap bounds, which the checker knows."""
    first = problem.components[0]
    bounds = [bound.value for bound in stated(problem, "cheap_bounds", tuple)() if bound.component == first.name]
    sharpest = max(bounds, key=lambda value: first.sign * value, default=None)
    return None, () if sharpest is None else (Certificate(first.name, Proof.SOLVER, sharpest),)


def _sound(make: Callable[..., Program], problem: Any, *args: Any) -> Program:
    """A program; if it comes from another package, after a check that it is a program."""
    try:
        return make(problem, *args)
    except CertificateInvalid as error:
        raise ProblemFailed(str(error)) from None


class _Search:
    """The state of a solve: the best decision, the last answer, and the components that are settled."""

    def __init__(self, call: Call[Any], profile: Profile, known: Sequence[Certificate]) -> None:
        self.call, self.problem, self._profile, self.known = call, call.problem, profile, known
        self.incumbent, self.answer = call.start, Found()
        self.before: tuple[Number, ...] = ()
        self.proofs: list[Certificate] = []
        self._posed: tuple[tuple[Number, ...], Program] | None = None
        self._roots: dict[tuple[Number, ...], Root] = {}
        self._best: dict[tuple[Number, ...], Found] = {}

    @property
    def profile(self) -> Profile:
        """The profile with the time that is left."""
        return self._profile.since(self.call.began)

    @property
    def _limited(self) -> bool:
        """Whether the next component is settled by limits."""
        return not self.before and isinstance(self.problem, Limited)

    def attains(self, proof: Certificate) -> bool:
        """Whether the incumbent is as good as the proof of the next component."""
        return self.incumbent is not None and self.problem.evaluate(self.incumbent)[len(self.before)] == proof.claim

    def go_on(self, proof: Certificate) -> None:
        """Go on to the next component; the current one is settled."""
        unit = limit_unit(self.problem) if self._limited else self.program(self.before).unit
        self.before += (exact(proof.claim * unit),)

    def program(self, before: tuple[Number, ...]) -> Program:
        """A program, checked if it comes from another package; the last one is kept."""
        if self._posed is None or self._posed[0] != before:
            self._posed = before, _sound(checked_program, self.problem, before, self.incumbent)
        return self._posed[1]

    def root(self, before: tuple[Number, ...]) -> Root:
        """The linear relaxation of a program."""
        if before not in self._roots:
            self._roots[before] = root(self.program(before).numbers, self.profile)
        return self._roots[before]

    def best(self, before: tuple[Number, ...]) -> Found:
        """The best decision found of a program; it becomes the incumbent if it is better."""
        if before not in self._best:
            # The first model of `Limited` counts the first component rounded up: it only says where to begin.
            begins = isinstance(self.problem, Limited) and not before and not is_shipped(self.problem)
            arrays = self.call.route not in MODELS or begins
            self._best[before] = self._by_arrays(before) if arrays else self._by_model(before)
        self.answer = self._best[before]
        self.incumbent = self.call.incumbent.better(self.incumbent, self.answer.decision)
        return self.answer

    def _by_model(self, before: tuple[Number, ...]) -> Found:
        if not is_shipped(self.problem):
            self.program(before)  # before a model of it is solved, it is held against the definition
        limit = None if not before else self.problem.evaluate(self.incumbent)[0]
        if before and isinstance(self.problem, Limited):
            limit = exact(before[0] * limit_unit(self.problem))
        return self.call.by_model(self._profile, limit, self.incumbent)

    def _by_arrays(self, before: tuple[Number, ...]) -> Found:
        """HiGHS's answer by the arrays: at once if the relaxation is integral or empty, or ends in an error."""
        problem, built = self.problem, self.call.elapsed
        program, relaxed = self.program(before), self.root(before)
        outcome, values = relaxed.outcome, relaxed.values
        if values is None and outcome.status not in (Termination.INFEASIBLE, Termination.ERROR):
            start = None if self.incumbent is None else problem.values_of(self.incumbent, program)
            solved = solve_arrays(
                as_arrays(program.numbers),
                self.profile,
                None if start is None or program.broken(start) else start.astype(np.float64),
                lambda x: problem.decision_of(whole_numbers(x), program),
            )
            outcome = solved.outcome
            values = None if solved.x is None else whole_numbers(solved.x)
        decision = None if values is None else problem.decision_of(values, program)
        if values is not None:
            self._judge(before, program, values, decision)
        found = Found(outcome, decision, program.component, program.unit, built)
        return found if isinstance(problem, Limited) and not before else found.checked(problem)

    def _judge(self, before: tuple[Number, ...], program: Program, values: Ints, decision: Any) -> None:
        """Raise an error if HiGHS's values mean an infeasible decision, or contradict a class of another package."""
        problem = self.problem
        wrong = problem.violations(decision)
        if not wrong and is_shipped(problem):
            return
        broken = program.broken(values)
        fault = Audit(problem, before, program).of_values(values) if broken is None else None
        if fault is not None:
            raise ProblemFailed(f"{problem.name}: {fault}")
        if wrong:
            held = f"HiGHS holds a {problem.decided.noun} that violates {wrong[0]}"
            raise SolverDisagreement(f"{problem.name}: {held}: {broken}")

    def proof(self) -> Certificate:
        """Prove the next component: by limits, or by the relaxation's prices, a tree, or the solver's claim."""
        if self._limited:
            return _ByLimits(self).proof()
        found, problem, program = self.best(self.before), self.problem, self.program(self.before)
        if not is_shipped(problem):  # a decision that the program lacks may be near the one that it gives
            _sound(checked_program, problem, self.before, self.incumbent)
        whole = program.numbers
        limit = int(problem.evaluate(found.decision)[program.component] * program.unit) if found.optimal else 2**60
        nothing = Tree([np.eye(1, len(whole.row_lower) + 1, dtype=np.int64)[0]], [Step((0,))])
        tree = self.root(self.before).tree or nothing
        bound = tree.bound(whole, limit)
        if found.optimal and bound < limit:
            grown = self.tree(whole, limit)
            tree, bound = (tree, bound) if grown is None else (grown, limit)
        priced = program_certificate(problem, program, self.before, tree, bound)
        return proof_of(problem, priced, found, abs(program.unit))

    def tree(self, program: IntegerProgram, limit: int) -> Tree | None:
        """A tree that shows that nothing is worth less than a limit; None if it is too large, or time runs out."""
        most = min(_MOST_PROGRAMS, max(1, _MOST_COLUMNS // max(1, len(program.box.lower))))
        try:
            return settling_tree(program, limit, self.profile, most)
        except OutOfTime:  # the decision stays, with the solver's claim
            return None


class _ByLimits:
    """Settles the first component of a `Limited` problem: the programs within lower limits on it are empty."""

    def __init__(self, search: _Search) -> None:
        self.problem, self.search = search.problem, search

    def proof(self) -> Certificate:
        """Prove the first component by a tree that rules out less than the incumbent; else by the solver's claim."""
        problem, claim = self.problem, self._least_limit() * limit_unit(self.problem)
        program = _sound(program_below, problem, claim, self.search.incumbent)
        tree = self.search.tree(without_costs(program.numbers), 1)
        if tree is None:
            return Certificate(problem.components[0].name, Proof.SOLVER, claim)
        return limit_certificate(problem, claim, program, tree)

    def _least_limit(self) -> Number:
        """The least known value of the first component; once it is settled, a decision that attains it is held."""
        problem, low = self.problem, self._first_limit()
        by_model = self.search.call.route in MODELS and is_shipped(problem)
        if by_model:
            bound = self.search.best(()).bound
            if bound is None or abs(bound) >= _ENDLESS:
                return low
            believed = bound * limit_unit(problem) - _UNTOLD * max(1.0, abs(bound))
            low = max(low, problem.value_from(Fraction(believed)))
        if self.search.incumbent is None and self.search.best(()).decision is None:
            return low

        def empty(limit: Number) -> bool | None:
            return self.search.root((limit,)).outcome.status is Termination.INFEASIBLE

        def excluded(limit: Number) -> bool | None:
            found = self.search.best((limit,))
            if found.decision is None:
                return True if found.outcome.status is Termination.INFEASIBLE else None
            return False if self._first(found.decision) <= limit else None  # over the limit by tolerances

        return self._least_but(low if by_model else self._least_but(low, empty), excluded)

    def _first(self, decision: Any) -> Number:
        """The first component of a decision, negated if more is better."""
        first: Number = self.problem.minimised(self.problem.evaluate(decision))[0]
        return first

    def _least_but(self, low: Number, excluded: Callable[[Number], bool | None]) -> Number:
        """The least value from `low` on that is not excluded: in steps that double, then by halving.

        It is at most that of the incumbent. If it is unknown whether a value is excluded, the value reached so far.
        """
        problem, first = self.problem, low
        high = self._first(self.search.incumbent)
        while low < high:
            probe = problem.value_from(min(2 * low - first, Fraction(low + high) / 2))
            probe = probe if probe < high else low
            cut = excluded(probe)
            if cut is None:
                break
            if cut:
                low = problem.value_above(probe)
            else:
                high = min(probe, self._first(self.search.incumbent))
        return low

    def _first_limit(self) -> Number:
        """The least value of the first component that the relaxation and the cheap bounds leave."""
        problem, unit = self.problem, limit_unit(self.problem)
        name = problem.components[0].name
        claims = [bound.value for bound in stated(problem, "cheap_bounds", tuple)() if bound.component == name]
        claims += [proof.claim for proof in self.search.known[:1]]
        program = self.search.program(())
        numbers = program.numbers  # its objective is at most the first component, rounded up
        ends = np.where(numbers.objective > 0, numbers.lower, -numbers.upper)
        loosest = exact(exact_product(np.abs(numbers.objective), ends) - 1, abs(program.unit))
        least = max([loosest, *(claim * unit for claim in claims)])
        tree = root(numbers, self.search.profile, _LIMIT_SCALE).tree
        first: Number = problem.value_from(least) if tree is None else problem.value_left(tree.multipliers[0], least)
        return first
