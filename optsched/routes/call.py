"""One call of `solve`: makes its solution, runs models, and checks a solver's claims.

`problems` evaluates the objective again from the decision, the bound is what a certificate says, and OPTIMAL means that
both are equal. `Call.until_stopped` catches every outer stop of a route: the solution then has what is found and proved
so far.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from types import ModuleType
from typing import Any, Generic, Protocol, TypeVar

from optsched.core.arrays import LARGEST
from optsched.core.deadline import deadline, late, unhurried
from optsched.core.errors import SolverDisagreement, TooLarge
from optsched.core.problem_record import imported
from optsched.core.processes.handing import hand_over, unheard
from optsched.core.registry import record_of
from optsched.core.results import (
    FEASIBLE,
    Certificate,
    Decision,
    Limit,
    Number,
    Proof,
    Solution,
    Termination,
    Value,
    digest_of,
)
from optsched.problems import AnyProblem
from optsched.problems.base import exact, stated
from optsched.solvers.answers import INTERRUPTED, STOPPED, SolverOutcome, check_claim, decoding, stopped, whole_bound
from optsched.solvers.profiles import Profile

#: Seconds for the quick answer after a stop: `_QUICK`, or what is left of `_BEYOND` after the deadline if that is less
#: (as when a process was killed), but at least `_LEAST`.
_QUICK, _BEYOND, _LEAST = 1.0, 1.7, 0.3

#: The most nodes of the default route's search for a proof.
_MOST_NODES = 1_000

Posed = TypeVar("Posed", bound=AnyProblem)


class Ending(Protocol):
    """How a run of an engine or a model ended: `Ended`, `Found`, or what the engines of a problem return."""

    @property
    def limit(self) -> Limit | None: ...
    @property
    def raw_status(self) -> str: ...
    @property
    def solver(self) -> Mapping[str, Any]: ...
    @property
    def build_seconds(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Ended:
    """An `Ending` that a route makes itself; `build_seconds` is as in `Found`."""

    raw_status: str = ""
    limit: Limit | None = None
    solver: Mapping[str, Any] = field(default_factory=dict)
    build_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Found:
    """The answer of an engine or a model: its decision, or None, and its status, figures and words.

    The defaults describe a run that was stopped before it started. `position` is the component that the engine
    minimises or maximises, and `units` says how many of its units are one of the component's; it is negative if the
    engine minimises what the problem maximises. `build_seconds` is the wall-clock time until the model was built.
    """

    outcome: SolverOutcome = INTERRUPTED
    decision: Any = None
    position: int = 0
    units: int = 1
    build_seconds: float = 0.0

    @property
    def limit(self) -> Limit | None:
        """The limit that stopped the run."""
        return self.outcome.limit

    @property
    def raw_status(self) -> str:
        """The solver's words."""
        return self.outcome.raw_status

    @property
    def solver(self) -> Mapping[str, Any]:
        """The solver's name, version and options."""
        return self.outcome.solver

    @property
    def bound(self) -> float | None:
        """The bound on the component that the solver claims."""
        return None if self.outcome.bound is None else self.outcome.bound / self.units

    @property
    def optimal(self) -> bool:
        """Whether the solver claims that its decision is an optimum."""
        return self.outcome.status is Termination.OPTIMAL and self.decision is not None

    def checked(self, problem: AnyProblem) -> Found:
        """The same; SolverDisagreement if the value of a claimed optimum differs from the claim."""
        if self.optimal and self.outcome.objective is not None:
            check_claim(
                problem.name, self.outcome.objective / self.units, problem.evaluate(self.decision)[self.position]
            )
        return self


#: A decision, or None, and what is proved so far.
Held = tuple[Decision | None, tuple[Certificate, ...]]


class Incumbent:
    """What a call holds so far. It is handed over, so that it is the answer if the call's process is killed.

    `rescued`: what a killed process of the call had handed over; None: nothing. `plainly`: whether `completed` adds
    the quick answer.
    """

    def __init__(self, problem: AnyProblem, plainly: bool = True) -> None:
        self.problem = problem
        self.rescued: Held | None = None
        self._plainly = plainly
        self._quick: Held = (None, ())
        self._handed: Held = (None, ())

    def hold_quick_answer(self) -> None:
        """Hold the quick answer until there is a better one."""

        def made() -> Held:
            self._quick = self._handed = quick_answer(self.problem)
            return self._quick

        hand_over(made)

    def hold(self, make: Callable[[], Held]) -> None:
        """Hold what `make` gives; it is called only if the process may be killed at a deadline.

        The best decision and the latest proofs are kept; a stronger bound of the quick answer replaces a weaker one.
        """

        def made() -> Held:
            decision, certificates = self._with(self._quick, *make())
            self._handed = self.better(self._handed[0], decision), certificates
            return self._handed

        hand_over(made)

    def improve(self, decision: Decision) -> None:
        """Hold an engine's incumbent, with what is proved so far, if it is feasible and better.

        Only a process that may be killed calls this (`optsched.core.processes.handing.taking`).
        """
        before, certificates = self._handed
        if self.problem.violations(decision) or self.better(before, decision) is before:
            return
        self._handed = decision, certificates
        hand_over(lambda: self._handed)

    def better(self, first: Decision | None, second: Decision | None) -> Decision | None:
        """The better of two feasible decisions, the first if they are equally good; None if there is neither."""
        held = [decision for decision in (first, second) if decision is not None]
        return min(held, key=lambda decision: self.problem.minimised(self.problem.evaluate(decision)), default=None)

    def keep(self, answer: Held | None) -> None:
        """Take what the process of the call handed over, which includes the quick answer; None: nothing came."""
        if answer is not None:
            self.rescued, self._plainly = answer, False

    def completed(self, decision: Decision | None, certificates: tuple[Certificate, ...], started: bool) -> Held:
        """The same; the quick answer fills in a missing decision, or a missing bound on the first component."""
        first = self.problem.components[0].name
        whole = (decision is not None or started) and first in {proof.component for proof in certificates}
        if whole or not self._plainly:
            return decision, certificates
        quickly = max(_LEAST, min(_QUICK, _BEYOND - late()))
        with suppress(*STOPPED), unhurried(), deadline(quickly):
            return self._with(quick_answer(self.problem), decision, certificates)
        return decision, certificates

    def _with(self, quick: Held, decision: Decision | None, certificates: tuple[Certificate, ...]) -> Held:
        """Fill in from `quick` a missing decision or bound, or a weaker bound on the first component."""
        first, (quick_decision, proofs) = self.problem.components[0], quick
        by_component = {certificate.component: certificate for certificate in certificates}
        for proof in proofs:
            before = by_component.get(proof.component)
            weaker = before is not None and not first.at_least(before.claim, proof.claim)
            if before is None or (weaker and proof.component == first.name):
                by_component[proof.component] = proof
        return quick_decision if decision is None else decision, tuple(by_component.values())


def quick_answer(problem: AnyProblem) -> Held:
    """The quick answer without a search (`plain` of the problem's module of routes); nothing if it has none."""
    named = record_of(type(problem)).routes
    make = None if named is None else getattr(import_module(named), "plain", None)
    held: Held = (None, ()) if make is None else make(problem)
    return held


class Call(Generic[Posed]):
    """Makes the `Solution` of one call: evaluates, compares with the start, and decides on the termination.

    A call that is stopped before it has anything falls back on a quick answer without a search, if `plainly`.
    """

    def __init__(self, problem: Posed, route: str, start: Any = None, plainly: bool = True) -> None:
        self.problem, self.route, self.start = problem, route, start
        self.began = time.perf_counter()
        self.incumbent = Incumbent(problem, plainly)
        self._stopped: tuple[Limit, str] | None = None
        self._valued: tuple[Decision, Value] | None = None

    @property
    def elapsed(self) -> float:
        """Seconds since the call."""
        return time.perf_counter() - self.began

    @contextmanager
    def until_stopped(self) -> Iterator[None]:
        """A context that ends on an interrupt, or if time or memory runs out; the solution then says so."""
        try:
            yield
        except STOPPED as error:
            self._stopped = stopped(error)

    def worth(self, decision: Decision) -> Value:
        """The value of an engine's or a model's decision, computed once. SolverDisagreement if it is infeasible."""
        if self._valued is None or self._valued[0] is not decision:
            self._valued = decision, _worth(self.problem, decision)
        return self._valued[1]

    def by_model(self, profile: Profile, limit: Any = None, start: Any = None) -> Found:
        """The answer of the route's model within the time that is left, its claim checked (see `modelled`)."""
        before = self.elapsed
        found = modelled(self.problem, self.route, profile.since(self.began), limit, start)
        return replace(found, build_seconds=before + found.build_seconds).checked(self.problem)

    def settled(self, decision: Decision, *proofs: Certificate | None, status: str = "nothing to place") -> Solution:
        """The solution if there is nothing to decide."""
        return self.answered(decision, (proof for proof in proofs if proof is not None), Ended(status))

    def infeasible(self, ending: Ending, proof: Certificate | None = None) -> Solution:
        """The solution if nothing is feasible, with its proof."""
        return self.answered(None, () if proof is None else (proof,), ending, Termination.INFEASIBLE)

    def rescued(self, ending: Ending, unanswered: Termination | None = None) -> Solution:
        """The solution from the results that existed when the process of the call was killed."""
        return self.answered(*(self.incumbent.rescued or (None, ())), ending, unanswered)

    def answered(
        self,
        decision: Decision | None,
        certificates: Iterable[Certificate],
        ending: Ending,
        unanswered: Termination | None = None,
    ) -> Solution:
        """The solution with the better of `decision` and the start; each bound is what its certificate claims.

        `unanswered` is INFEASIBLE or ERROR if there is no optimum. If the call was stopped from outside, that replaces
        the limit and the status of `ending`.
        """
        limit, raw_status = self._stopped or (ending.limit, ending.raw_status)
        problem, certificates = self.problem, tuple(certificates)
        if unanswered is Termination.INFEASIBLE and self.start is not None:
            raise SolverDisagreement(f"{problem.name}: a solver says that nothing is feasible, but the start is")
        if unanswered is None and limit in (Limit.TIME, Limit.INTERRUPTED):
            decision, certificates = self.incumbent.completed(decision, certificates, self.start is not None)
        candidates = [(self.worth(held), held) for held in (decision, self.start) if held is not None]
        best_of = min(candidates, key=lambda one: problem.minimised(one[0])) if candidates else (None, None)
        objective, best = best_of
        bound = _bound(problem, objective, certificates)
        held_claims = {FEASIBLE} if unanswered is Termination.INFEASIBLE else set()
        held_claims |= {part.name for part, claim in zip(problem.components, bound, strict=True) if claim is not None}
        if objective is not None and objective == tuple(bound):
            termination, limit = Termination.OPTIMAL, None
        elif unanswered is not None:
            termination, limit = unanswered, None
        else:
            termination = Termination.FEASIBLE if objective is not None else Termination.NO_SOLUTION
            limit = limit or Limit.GAP
        solution = Solution(
            problem=problem.name,
            parameters=dict(problem.parameters),
            instance_sha256=digest_of(problem.instance),
            decision=best,
            objective=objective,
            bound=tuple(bound),
            termination=termination,
            limit=limit,
            certificates=tuple(entry for entry in certificates if entry.component in held_claims),
            route=self.route,
            build_seconds=ending.build_seconds,
            solve_seconds=max(0.0, time.perf_counter() - self.began - ending.build_seconds),
            solver=ending.solver,
            raw_status=raw_status,
        )
        _doubt(problem, solution)
        return solution


def _rests_on_a_word(problem: AnyProblem, solution: Solution) -> bool:
    """Whether something in a solution is claimed by a solver without a proof."""
    if solution.termination is Termination.INFEASIBLE:
        return not solution.certificates and stated(problem, "plainly_infeasible", None) is None
    return any(certificate.kind is Proof.SOLVER for certificate in solution.certificates)


def _doubt(problem: AnyProblem, solution: Solution) -> None:
    """Accept a solver's unproved claim only if nothing that is quickly found contradicts it.

    SolverDisagreement if a decision beats a claimed bound, or is feasible although nothing should be.
    """
    if solution.limit is Limit.INTERRUPTED or not _rests_on_a_word(problem, solution):
        return
    from optsched.routes.doubts import FEW, examine

    verdict = examine(problem, solution, most=FEW)
    if not verdict.valid:
        contradictions = "; ".join(verdict.contradicted)
        raise SolverDisagreement(f"{problem.name}: the solver is contradicted: {contradictions}")


def _bound(problem: AnyProblem, objective: Value | None, certificates: tuple[Certificate, ...]) -> list[Number | None]:
    """What certificates claim of each component; of a later one, only if the earlier components are at their bounds.

    SolverDisagreement if a decision is better than a claimed bound.
    """
    claims = {certificate.component: certificate.claim for certificate in certificates}
    bound: list[Number | None] = []
    for position, component in enumerate(problem.components):
        open_before = objective is None or list(objective[:position]) != bound
        bound.append(None if position and open_before else claims.get(component.name))
    beaten = None if objective is None else problem.beaten(objective, bound)
    if objective is not None and beaten is not None:
        name, noun = problem.components[beaten].name, problem.decided.noun
        message = f"a {noun}'s {name} {objective[beaten]} beats the bound {bound[beaten]}"
        raise SolverDisagreement(f"{problem.name}: {message}")
    return bound


def modelled(
    problem: AnyProblem,
    route: str,
    profile: Profile,
    limit: Any = None,
    start: Decision | None = None,
    prepare: Callable[[Any], None] | None = None,
) -> Found:
    """Build the model of a route (`pyomo` or `pulp`), solve it, and decode the solver's incumbent.

    `limit` is that of the second program; None: the first one. `start` is a decision to begin from; `prepare` changes
    the model before it is solved.

    TooLarge if there is no memory for the model; nothing is built then. SolverDisagreement if the solver's incumbent is
    no decision, or is infeasible.
    """
    from optsched.models.export import about
    from optsched.routes.listing import may_overrun, refuse_beyond_memory

    if may_overrun(problem, route, {}):
        refuse_beyond_memory(problem, route, limit)
    module = imported(record_of(type(problem)).models or "")
    build = module.build_pyomo if route == "pyomo" else module.build_pulp
    began = time.perf_counter()
    with _stops_unlogged():
        model = build(problem) if limit is None else build(problem, limit=limit)
    built = time.perf_counter() - began
    if prepare is not None:
        prepare(model)
    hint = None if start is None else module.start_values(model, problem, start)

    def decode() -> Any:
        with decoding(problem.name):
            return module.decode(model, problem)

    outcome = solver_of(route)(model, profile, hint, decode)
    decision = None
    if outcome.objective is not None:
        decision = decode()
        _worth(problem, decision)
    meaning = about(problem, limit is not None)
    return Found(outcome, decision, problem.components.index(meaning.component), meaning.units, built)


@contextmanager
def _stops_unlogged() -> Iterator[None]:
    """Keep Pyomo from logging a limit or Ctrl-C that arrives in one of its rules as an error of that rule."""

    def is_no_stop(record: logging.LogRecord) -> bool:
        return not isinstance(sys.exception(), STOPPED)

    handlers = logging.getLogger("pyomo").handlers
    for handler in handlers:
        handler.addFilter(is_no_stop)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(is_no_stop)


def word_of(problem: AnyProblem, outcome: Found, grid: int) -> Number | None:
    """What a solver claims of the component that it optimises, in units of 1/`grid`; None if it claims nothing."""
    if outcome.optimal:
        return problem.evaluate(outcome.decision)[outcome.position]
    if outcome.bound is None or not abs(outcome.bound) < LARGEST / grid:
        return None
    sign = problem.components[outcome.position].sign
    return sign * exact(whole_bound(sign * outcome.bound * grid), grid)


def proof_of(problem: AnyProblem, priced: Certificate, outcome: Found, grid: int) -> Certificate:
    """The proof of a component: prices, or the solver's claim if that is stronger."""
    word = word_of(problem, outcome, grid)
    if word is None or problem.components[outcome.position].at_least(priced.claim, word):
        return priced
    return Certificate(priced.component, Proof.SOLVER, word)


def _worth(problem: AnyProblem, decision: Decision) -> Value:
    """The value of a solver's decision; SolverDisagreement if it is infeasible.

    Solvers satisfy a row within a tolerance that grows with its numbers: from about 10^8 on, by more than a unit.
    """
    try:
        return problem.evaluate(decision)
    except ValueError as error:
        mend = "where numbers near 10^8 and more meet, scale them down or take the default route"
        raise SolverDisagreement(f"{problem.name}: of what the solver holds: {error}; {mend}") from error


def solver_of(route: str) -> Callable[..., SolverOutcome]:
    """The solver of a route's models."""
    from optsched.solvers import algebraic

    return algebraic.solve_pyomo if route == "pyomo" else algebraic.solve_pulp


# Proofs in the place of a word ---------------------------------------------------------------------------------------
# A model's solver claims an optimum without a proof. The default route, started from this optimum, finds prices, a
# cover or a tree. Only the route differs; the proof is the default route's. The search for it has few nodes and the
# time that is left. Claims that it does not prove stay the solver's.


def proved(call: Call[Any], solution: Solution, profile: Profile, module: ModuleType, default: str) -> Solution:
    """A solution with the default route's proofs in place of the solver's claims, as far as there are any.

    The call is of another route (not `brute-force`), which gave the solution within the same limits. `module` has the
    routes of the problem. SolverDisagreement if the default route finds something better, or finds a decision
    although the other route claims that nothing is feasible.
    """
    ended = solution.optimal or solution.termination is Termination.INFEASIBLE
    if not ended or not _rests_on_a_word(call.problem, solution):
        return solution
    call.incumbent.hold(lambda: (solution.decision, solution.certificates))
    most = _MOST_NODES if profile.node_limit is None else min(_MOST_NODES, profile.node_limit)
    few = replace(profile.since(call.began), node_limit=most)
    own: Solution | None = None
    with suppress(TooLarge, *STOPPED), unheard():
        own = module.by_route(Call(call.problem, default, solution.decision), few)
    if own is None:
        return solution
    problem, before = call.problem, solution.objective
    if own.objective is not None and (before is None or problem.minimised(own.objective) < problem.minimised(before)):
        claim = "that nothing is feasible" if before is None else f"{before} is the best"
        found = f"route {own.route} finds {own.objective}"
        raise SolverDisagreement(f"{problem.name}: the solver of route {call.route} says {claim}, and {found}")
    shown = {entry.component: entry for entry in own.certificates if entry.kind.checkable}
    if solution.termination is Termination.INFEASIBLE:
        proofs = tuple(entry for name, entry in shown.items() if name == FEASIBLE)
    else:
        proofs = tuple(
            shown[word.component]
            if word.kind is Proof.SOLVER and word.component in shown and shown[word.component].claim == word.claim
            else word
            for word in solution.certificates
        )
    taken = time.perf_counter() - call.began - solution.build_seconds
    return replace(solution, certificates=proofs, solve_seconds=max(solution.solve_seconds, taken))
