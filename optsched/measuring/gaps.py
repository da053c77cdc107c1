"""Measures the gap of a heuristic to the proved optimum, or to a lower bound.

The reference is the proved optimum, or if none is proved the best bound. Against a bound, the gap is an upper limit of
the true one. Gaps are exact, never negative, and None if unknown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from optsched.core.brief import brief, several
from optsched.core.deadline import check, deadline
from optsched.core.deprecated import Renamed, former_names
from optsched.core.errors import BoundViolated, HeuristicFailed, OutOfTime, TooLarge, UsageError, expect
from optsched.core.placement import Placement, Schedule
from optsched.core.processes.containing import RunFailed, contained, in_force
from optsched.core.registry import record_of
from optsched.core.results import (
    Bound,
    Frontier,
    Limit,
    Number,
    Proof,
    Sense,
    Solution,
    Termination,
    Value,
    Violation,
    value_text,
)
from optsched.heuristics import HeuristicRun, run
from optsched.measuring.printing import number, percent
from optsched.problems import AnyProblem
from optsched.problems.base import TaskProblem, expect_problem, stated
from optsched.problems.foreign import contradiction
from optsched.problems.locality_counts import locality_counts
from optsched.routes import frontier, routes_of, solve
from optsched.routes.call import Call, Ended
from optsched.solvers.profiles import Profile, load_profile

__all__ = [
    "GapReport",
    "Reference",
    "differing",
    "frontier_gap_fields",
    "gap",
    "gap_limit",
    "gap_of",
    "ratio",
    "reference_of",
    "unanswered",
]

__getattr__ = former_names(__name__, fields_beside="optsched.measuring.gaps:frontier_gap_fields")

Gaps = tuple[Number | None, ...]
#: How many tasks of each kind are on a node with their data, in a rack with it, and off-rack.
Locality = Mapping[str, Mapping[str, int]]


class Reference:
    """The reference of heuristics on one problem: its optimum, or bounds; solved once, on first use.

    Parameters
    ----------
    problem
        The problem.
    profile
        Limits and options of the solver.
    time_limit
        Seconds; overrides the profile's. The frontier for `frontier_gaps` has the same time again.
    solution
        An existing solution, instead of solving. It is refused (UsageError) if its value or kind of proof is not the
        problem's.
    """

    def __init__(
        self,
        problem: TaskProblem[Any],
        profile: str | Path | Profile = "exact",
        time_limit: float | None = None,
        solution: Solution | None = None,
    ) -> None:
        expect_problem(problem, "Reference", TaskProblem)
        expect(solution, (Solution, type(None)), "a reference is measured by a solution", "solve first: optsched.solve")
        self.problem = problem
        self.profile = load_profile(profile, time_limit)
        self._limits = in_force()
        if solution is not None:
            _check_same(problem, solution.problem, solution.instance_sha256, solution.parameters)
            _check_holds(problem, solution)
            self.solution = solution

    @classmethod
    def solved(
        cls, problem: TaskProblem[Any], profile: str | Path | Profile = "exact", time_limit: float | None = None
    ) -> Reference:
        """A reference that is solved at once. If the problem is too large, nothing is known (limit MEMORY).

        Tables use it, so that one problem does not end them. `raw_status` of the solution says what was too large.
        """
        reference = cls(problem, profile, time_limit)
        try:
            _ = reference.solution
        except TooLarge as error:
            reference.solution = unanswered(problem, Limit.MEMORY, str(error))
        return reference

    def __repr__(self) -> str:
        text = repr(self.solution) if "solution" in self.__dict__ else f"{self.problem!r}, not solved yet"
        return brief(f"Reference: {text}")

    @cached_property
    def solution(self) -> Solution:
        """The solution; its time counts once however many heuristics use it."""
        try:
            with deadline(self.profile.time_limit), self._as_limited():
                return solve(self.problem, self.profile)
        except OutOfTime:
            check()  # an earlier deadline is passed on to its caller
            return unanswered(self.problem, Limit.TIME, "out of time")

    def _as_limited(self) -> AbstractContextManager[None]:
        """A context with the limits that were in force when this was made."""
        return nullcontext() if self._limits is None else contained(self._limits)

    @cached_property
    def _frontier(self) -> Frontier | None:
        """The Pareto-optimal points found within the time limit; None if there is no way to search for any."""
        try:
            with self._as_limited():
                return frontier(self.problem, self.profile)
        except (RunFailed, TooLarge):
            return None

    @cached_property
    def cheap(self) -> Bound | None:
        """The best cheap bound on the first component; None if the solver proved a bound, or there is none."""
        solution, problem = self.solution, self.problem
        if solution.bound[0] is not None or solution.termination is Termination.INFEASIBLE:
            return None
        first = problem.components[0]
        try:
            found = [bound for bound in stated(problem, "cheap_bounds", tuple)() if bound.component == first.name]
        except TooLarge:
            return None
        best = min if first.sense is Sense.MAX else max
        return best(found, key=lambda bound: bound.value, default=None)

    @property
    def kind(self) -> str | None:
        """`optimum`, `bound`, or None if nothing is known."""
        if self.solution.optimal:
            return "optimum"
        return "bound" if self.value is not None else None

    @property
    def value(self) -> Gaps | None:
        """The proved optimum, or the proved bounds, or a cheap one; None if even the first component has none."""
        solution = self.solution
        if solution.optimal:
            return solution.objective
        if self.cheap is not None:
            return (self.cheap.value, *(None for _ in solution.bound[1:]))
        return solution.bound if solution.bound[0] is not None else None

    @property
    def infeasible(self) -> str | None:
        """Why nothing is feasible, in words: a plain reason, or the basis of the claim; None if something may be."""
        if self.solution.termination is not Termination.INFEASIBLE:
            return None
        plain: str | None = stated(self.problem, "plainly_infeasible", None)
        return plain or f"proof: {self.certificate or Proof.SOLVER}"

    @property
    def certificate(self) -> Proof | None:
        """Weakest kind of proof among the components; None if a component has none, as with a cheap bound."""
        return self.solution.certificate

    @property
    def optimum(self) -> Placement | None:
        """The nodes of tasks in a decision whose value is the proved optimum; None if none is proved."""
        found = self.solution.decision if self.solution.optimal else None
        if isinstance(found, Schedule):
            return found.placement
        return found if isinstance(found, Placement) else None

    @cached_property
    def locality(self) -> Locality | None:
        """How near tasks are to their data in `optimum`; another optimum may differ. None if nothing has data."""
        return _locality(self.problem, self.optimum)

    beside = Renamed("frontier_gaps")

    def frontier_gaps(self, value: Value) -> dict[str, Number | None]:
        """The frontier's figures for a feasible value, reported with its gap; None if the frontier is not proved.

        For `latency` and `lsap-fairness` they say how far each component is from its least at the other's value; other
        problems have none.
        """
        names = frontier_gap_fields(self.problem)
        front = self._frontier if names else None
        if front is None:
            return dict.fromkeys(names)
        points = [self.problem.minimised(point) for point in front.values]
        first, second = self.problem.minimised(value)
        within = [point[1] for point in points if point[0] <= first]
        settled = within and (front.complete or len(within) < len(points))
        least = next((point[0] for point in points if point[1] <= second), None)
        found = second - within[-1] if settled else None, None if least is None else first - least
        return dict(zip(names, found, strict=True))


def unanswered(problem: TaskProblem[Any], limit: Limit | None, reason: str) -> Solution:
    """The solution of a problem without any answer, since a limit or, without one, a fault ended solving.

    `reason`, in words, is its `raw_status`.
    """
    broken = Termination.ERROR if limit is None else None
    return Call(problem, routes_of(problem)[0], plainly=False).answered(None, (), Ended(reason, limit), broken)


def _check_same(problem: TaskProblem[Any], name: str, instance_sha256: str, parameters: Mapping[str, Any]) -> None:
    """Raise UsageError unless a reference is of this problem."""
    if name != problem.name or instance_sha256 != problem.instance.sha256:
        raise UsageError(f"the reference is of another problem or instance: {name}")
    differing = problem.differing(parameters)
    if differing:
        raise UsageError(f"the reference is of {name} with other parameters: {', '.join(differing)}")


def _check_holds(problem: TaskProblem[Any], solution: Solution) -> None:
    """Raise UsageError if a reference's value or kind of proof is not the problem's, but its base class's."""
    decision, objective = solution.decision, solution.objective
    if isinstance(decision, problem.decided) and objective is not None:
        noun, wrong = decision.noun, problem.violations(decision)
        fault = f"its {noun} is infeasible: {wrong[0]}" if wrong else ""
        if not wrong and problem.evaluate(decision) != objective:
            fault = f"its {noun} is not worth {', '.join(map(str, objective))}"
        if fault:
            raise UsageError(f"the reference is of another problem than {problem.name} as it is posed: {fault}")
    for certificate in solution.certificates:
        if certificate.kind.checkable and str(certificate.kind) not in record_of(type(problem)).provers:
            mismatch = f"{problem.name} as it is posed has no proof of kind {certificate.kind}"
            raise UsageError(f"the reference is of another problem: {mismatch}")


@dataclass(frozen=True)
class GapReport:
    """How far a placement is from the reference.

    Attributes
    ----------
    problem
        The problem posed.
    run
        The run of the heuristic.
    seed
        Seed of the run.
    reference
        What it is compared with.
    objective
        Value of the placement; None if it is infeasible or missing.
    violations
        Why the placement has no value.
    absolute_gap, relative_gap
        One entry per component, exact; after the first component that differs the entries are None. None as a whole
        without an objective or a reference.
    """

    problem: TaskProblem[Any]
    run: HeuristicRun
    seed: int
    reference: Reference
    objective: Value | None
    violations: tuple[Violation, ...]
    absolute_gap: Gaps | None
    relative_gap: Gaps | None

    @property
    def feasible(self) -> bool:
        """Whether there is a placement without violations."""
        return self.objective is not None

    @property
    def error(self) -> str | None:
        """What was wrong with the heuristic's answer, if anything."""
        return self.run.error

    @property
    def status(self) -> str:
        """How the run ended, in a word.

        `done`: there is a feasible placement. `infeasible`: there is one with violations. `starved`: the same, because
        the driver gave the policy up. `failed`: the heuristic raised or returned something invalid. `out-of-time`: it
        was stopped, or its process was killed at its limit. `out-of-memory`, `crashed`: how its contained process ended
        (`optsched.core.processes`).
        """
        if self.run.ended is not None:
            return self.run.ended
        if self.run.out_of_time is not None:
            return "out-of-time"
        if self.error is not None:
            return "failed"
        if self.feasible:
            return "done"
        return "starved" if self.run.starved else "infeasible"

    @property
    def placement(self) -> Placement | None:
        """The nodes on which the heuristic placed the tasks."""
        return self.run.placement

    @property
    def decision(self) -> Placement | Schedule | None:
        """The heuristic's decision: its placement, or its schedule if the problem decides one."""
        return self.run.decision

    @property
    def waiting(self) -> int | None:
        """How many of the tasks to place the heuristic left waiting; None if it made no placement."""
        return None if self.placement is None else len(self.problem.tasks) - self.placement.placed

    @cached_property
    def locality(self) -> Locality | None:
        """How near tasks are to their data (`locality_counts`); None if nothing has data, or it is infeasible."""
        return _locality(self.problem, self.placement if self.feasible else None)

    @property
    def deciding(self) -> tuple[Number, Number | None] | None:
        """Absolute and relative gap of the first component that differs from the reference; None if it is unknown.

        The relative gap is None over 0 (the reference is 0). If nothing differs, these are the first component's.
        """
        if self.absolute_gap is None or self.relative_gap is None:
            return None
        found = differing(self.absolute_gap, self.relative_gap)
        return None if found is None else found[1:]

    def __repr__(self) -> str:
        return brief(f"GapReport: {self}")

    def __str__(self) -> str:
        who = f"{self.problem.instance.name or 'instance'}, {self.problem.name}, {self.run.name}"
        if self.error is not None:
            return f"{who}: {self.error}"
        if self.objective is None:
            return f"{who}: infeasible: {several(self.violations, 5)}"
        value = value_text(self.objective)
        if self.reference.value is None or self.absolute_gap is None:
            return f"{who}: {value}, no reference"
        best = value_text(self.reference.value)
        beyond = ", ".join("-" if entry is None else str(entry) for entry in self.absolute_gap)
        cheap = self.reference.cheap
        proof = self.reference.certificate if cheap is None else f"cheap bound {cheap.name}"
        return f"{who}: {value} against the {self.reference.kind} {best} ({proof}): {beyond} beyond"

    def within(self, limit: float | Fraction | str) -> bool:
        """Whether the relative gap of the first component that differs from the reference is at most `limit`.

        False for an infeasible placement, an error, or an unknown gap (nothing is proved, or the gap is over 0: the
        reference is 0).

        Raises
        ------
        UsageError
            If `limit` is no number of at least 0, such as `0.05` or `"5%"`, or a bare number of 1 or more.
        """
        most = gap_limit(limit)
        if self.deciding is None:
            return False
        absolute, relative = self.deciding
        return not absolute or (relative is not None and relative <= most)

    def raise_unless_within(self, limit: float | Fraction | str) -> None:
        """Raise HeuristicFailed with the reason unless `within(limit)`: for tests of schedulers."""
        if self.within(limit):
            return
        who = f"{self.run.name} on {self.problem.instance.name or 'the instance'}, {self.problem.name}"
        if self.error:
            raise HeuristicFailed(self.error) from self.run.cause
        if not self.feasible:
            raise HeuristicFailed(f"{who}: infeasible: {several(self.violations, 5)}")
        absolute, relative = self.deciding or (None, None)
        unshared = "unknown" if absolute is None else f"+{number(absolute)} (over 0)"
        found = unshared if relative is None else percent(relative)
        first = self.problem.components[0]
        side = "lower" if first.sense is Sense.MIN else "upper"
        kind = {"bound": f"the {side} bound", None: "a reference that is"}.get(self.reference.kind, "the optimum")
        best = "unknown" if self.reference.value is None else self._in_units(self.reference.value)
        against = f"{self._in_units(self.objective or ())} against {kind} {best}"
        raise HeuristicFailed(f"{who}: gap {found} is over {percent(gap_limit(limit))}: {against}")

    def _in_units(self, found: Sequence[Number | None]) -> str:
        """The value of each component, with its unit if that is short."""
        units = (component.unit for component in self.problem.components)
        shown = (f" {unit}" if unit in ("s", "MB", "MB/s") else "" for unit in units)
        return ", ".join(number(part) + unit for part, unit in zip(found, shown, strict=True))

    def record(self, placements: bool = False, further: bool = True) -> dict[str, Any]:
        """The report in JSON's types: one number if the problem has one component, else lists.

        `placements`: also the node of each task (for a schedule node and start), in the heuristic's decision and in the
        reference, by their ids. `further`: also the fields that only some problems and runs have; these include gaps to
        the frontier, for which the frontier is solved.
        """
        solution = self.reference.solution
        single = len(self.problem.components) == 1
        record: dict[str, Any] = {
            "instance": self.problem.instance.name,
            "problem": self.problem.name,
            "parameters": dict(self.problem.parameters),
            "heuristic": self.run.name,
            "heuristic_parameters": dict(self.run.parameters),
            "seed": self.seed,
            "sense": _entries(tuple(str(part.sense) for part in self.problem.components), single),
            "feasible": self.feasible,
            "violations": [
                {"constraint": entry.constraint, "ids": list(entry.ids), "amount": _plain(entry.amount)}
                for entry in self.violations
            ],
            "objective": _entries(self.objective, single),
            "reference": _entries(self.reference.value, single),
            "reference_kind": self.reference.kind,
            "absolute_gap": _entries(self.absolute_gap, single),
            "relative_gap": _entries(self.relative_gap, single),
            "certificate": None if self.reference.certificate is None else str(self.reference.certificate),
            "termination": str(solution.termination),
            "limit": None if solution.limit is None else str(solution.limit),
            "error": self.error,
            "build_seconds": solution.build_seconds,
            "solve_seconds": solution.solve_seconds,
            "heuristic_seconds": self.run.seconds,
            "waiting": self.waiting,
            "locality": self.locality,
            "reference_locality": self.reference.locality,
            "status": self.status,
            "components": [part.name for part in self.problem.components],
            "instance_sha256": self.problem.instance.sha256,
            "source": self.problem.instance.source,
            "profile": self.reference.profile.name,
            "time_limit": self.reference.profile.time_limit,
        }
        if not further:
            return record
        known = {} if self.objective is None else self.reference.frontier_gaps(self.objective)
        record |= {name: _plain(known.get(name)) for name in frontier_gap_fields(self.problem)}
        if self.run.rounds is not None:
            record["rounds"] = self.run.rounds
            record["idle_slot_time"] = self.run.idle_slot_time
        if self.problem.decided is Schedule:
            record["assumed"] = self.run.assumed
        if placements:
            best = solution.decision if solution.optimal else None
            found: dict[str, Any] = {"placement": self.decision, "reference_placement": best}
            record |= {name: None if held is None else held.to_dict(self.problem) for name, held in found.items()}
        return record


#: An exponent beyond those of doubles: a fraction with it would take all memory.
_LONG_EXPONENT = re.compile("[eE][-+]?[0-9]{4}")


def gap_limit(limit: Any, name: str = "a limit on the gap") -> Fraction | float:
    """A limit on a relative gap, parsed as by `ratio`; from 100 % on it must be written with its unit.

    UsageError if it is none, or a bare number of 1 or more: 5 would be 500 %, where 5 % may be meant. A Fraction, and a
    text such as `"7/5"`, are shares.

    >>> gap_limit(0.05), gap_limit("500%")
    (Fraction(1, 20), Fraction(5, 1))
    """
    found = ratio(limit, name)
    if 1 <= found < math.inf and not isinstance(limit, Fraction) and not {"%", "/"} & set(str(limit)):
        number, share, percents = str(limit).strip(), float(found) / 100, 100 * float(found)
        mend = f'write "{number}%" or {share:g}, or "{percents:g}%" if that is meant'
        raise UsageError(f"{name} of {number} is {percents:g} %: {mend}")
    return found


def ratio(value: Any, name: str = "a share") -> Fraction | float:
    """A share as a number of at least 0: `0.05`, `"0.05"`, `"1/20"` and `"5%"` are exactly the same.

    Infinity (`"inf"`) as a limit admits every known gap. UsageError if it is no share.

    >>> ratio("5%"), ratio(0.05), ratio("1/20")
    (Fraction(1, 20), Fraction(1, 20), Fraction(1, 20))
    """
    text = value.strip() if isinstance(value, str) else value
    if text in (math.inf, "inf"):
        return math.inf
    percent = isinstance(text, str) and text.endswith("%")
    try:
        number = text[:-1].strip() if percent else str(text)
        past = "/" not in number and math.isinf(float(number))
        if isinstance(text, bool) or past or _LONG_EXPONENT.search(number):
            raise ValueError
        found = Fraction(number) / 100 if percent else Fraction(number)
    except (ValueError, ZeroDivisionError):
        raise UsageError(f'{name} is a number of at least 0, such as 0.05 or "5%", not {value!r}') from None
    if found < 0:
        raise UsageError(f'{name} is a number of at least 0, such as 0.05 or "5%", not {value!r}')
    return found


def frontier_gap_fields(problem: TaskProblem[Any] | type[AnyProblem]) -> tuple[str, ...]:
    """Names of the further fields of a gap in this problem or class."""
    return record_of(problem if isinstance(problem, type) else type(problem)).frontier_gaps


def _locality(problem: TaskProblem[Any], placement: Placement | None) -> Locality | None:
    """The counts of a placement; None without one, or if the instance says of no task where its data is."""
    instance = problem.instance
    if placement is None or not (len(instance.replicas.values) or instance.workload.shuffle is not None):
        return None
    return locality_counts(problem, placement)


def differing(absolute: Sequence[Any], relative: Sequence[Any]) -> tuple[int, Any, Any] | None:
    """The position of the first component that differs from the reference, and its absolute and relative gap.

    None if that is unknown; if nothing differs, the first component.

    >>> differing([0, 2], [0, 0.5]), differing([0, None], [0, None]), differing([0, 0], [0, 0])
    ((1, 2, 0.5), None, (0, 0, 0))
    """
    for position, (difference, share) in enumerate(zip(absolute, relative, strict=True)):
        if difference is None:
            return None
        if difference:
            return position, difference, share
    return 0, absolute[0], relative[0]


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Fraction) else value


def _entries(values: tuple[Any, ...] | None, single: bool) -> Any:
    if values is None:
        return None
    entries = [_plain(value) for value in values]
    return entries[0] if single else entries


def gap(
    problem: TaskProblem[Any],
    heuristic: Any,
    /,
    seed: int = 0,
    reference: Reference | Solution | None = None,
    profile: str | Path | Profile = "exact",
    time_limit: float | None = None,
    **parameters: Any,
) -> GapReport:
    """Run a heuristic and measure its distance from the optimum.

    Parameters
    ----------
    problem
        The problem.
    heuristic
        A name from `optsched list heuristics`, `package.module:function`, a policy, or any callable `(problem, rng) ->
        placement or node ids`; or a decision made elsewhere: a `Placement`, `Schedule` or `Solution`, or a mapping from
        ids of tasks to ids of nodes.
    seed
        For the heuristic, and for the driver of a policy.
    reference
        A reference or solution to compare with, if several heuristics share one; else the problem is solved.
    profile
        Solver profile, by name or path.
    time_limit
        Seconds for solving, instead of the profile's, and the same again for the run of the heuristic. By default the
        profile limits solving, and nothing limits the heuristic. A report says what was stopped.
    **parameters
        Parameters of the heuristic.

    Returns
    -------
    GapReport
        It exists even if the heuristic failed or its placement is infeasible: see its `error` and `violations`.

    Raises
    ------
    UsageError
        For an unknown heuristic, one that does not serve the problem, or a reference of another problem.
    BoundViolated
        If a feasible placement beats a proved bound: a bug somewhere.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Ragged, Workload
    >>> from optsched.problems import Lsap
    >>> workload = Workload(["t1", "t2"], replicas=Ragged.from_rows([[0, 1], [0]]))
    >>> problem = Lsap(Instance(Cluster(["a", "b"]), workload))
    >>> report = gap(problem, lambda problem, rng: ["a", "b"])
    >>> report.objective, report.reference.value, report.absolute_gap
    ((1,), (0,), (1,))
    >>> gap(problem, {"t1": "b", "t2": "a"}).absolute_gap
    (0,)
    """
    expect_problem(problem, "gap", TaskProblem)
    against = reference_of(problem, reference, profile, time_limit)
    return gap_of(problem, run(problem, heuristic, seed, time_limit=time_limit, **parameters), seed, against)


def reference_of(
    problem: TaskProblem[Any],
    against: Reference | Solution | None,
    profile: str | Path | Profile = "exact",
    time_limit: float | None = None,
) -> Reference:
    """The given reference, or the problem as it will be solved; UsageError if of another problem."""
    expect(against, (Reference, Solution, type(None)), "measured is against a reference or a solution")
    if isinstance(against, Solution):
        return Reference(problem, profile, solution=against)
    if against is None:
        return Reference(problem, profile, time_limit)
    if (other := against.problem) is not problem:
        _check_same(problem, other.name, other.instance.sha256, other.parameters)
    return against


def gap_of(problem: TaskProblem[Any], run: HeuristicRun, seed: int, reference: Reference) -> GapReport:
    """The gap of an existing run."""
    violations: tuple[Violation, ...] = ()
    objective: Value | None = None
    decision: Any = run.decision
    if decision is not None:
        violations = tuple(problem.violations(decision))
        objective = None if violations else problem.evaluate(decision)
    absolute: Gaps | None = None
    relative: Gaps | None = None
    if objective is not None and reference.value is not None:
        absolute, relative = _gaps(problem, objective, reference.value)
    return GapReport(problem, run, seed, reference, objective, violations, absolute, relative)


def _gaps(problem: TaskProblem[Any], objective: Value, reference: Gaps) -> tuple[Gaps, Gaps]:
    """Absolute and relative gap per component, as far as they are meaningful."""
    absolute: list[Number | None] = []
    relative: list[Number | None] = []
    for component, value, best in zip(problem.components, objective, reference, strict=True):
        if best is None or (absolute and absolute[-1] != 0):
            absolute.append(None)
            relative.append(None)
            continue
        difference = component.sign * (value - best)
        if difference < 0:
            message = f"{problem!r}: {component.name} {value} is beyond the proved {best}"
            raise contradiction(problem, BoundViolated(message))
        absolute.append(difference)
        relative.append(_ratio(difference, best))
    return tuple(absolute), tuple(relative)


def _ratio(difference: Number, best: Number) -> Number | None:
    if best == 0:
        return 0 if difference == 0 else None
    ratio = Fraction(difference) / abs(Fraction(best))
    return ratio.numerator if ratio.denominator == 1 else ratio
