"""What a policy's gap over time is made of: placement, the order of jobs, knowledge, and what nothing proves.

A policy runs over an instance, and so do variants of it that are granted more and more. What each grant changes is
signed: a decision that is best where it was taken need not belong to a best run, so that more freedom may do worse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from optsched.brief import brief
from optsched.deadline import check
from optsched.decomposing.policies import ORDERS, InOrder, Nearest
from optsched.decomposing.together import Together
from optsched.errors import UsageError
from optsched.gaps import Reference, reference_of
from optsched.heuristics import AnyHeuristic
from optsched.problems.base import expect_problem
from optsched.problems.schedules import ScheduleProblem
from optsched.results import Number, Proof, Solution
from optsched.running.base import Policy
from optsched.simulating import Levels, policy_of, simulate
from optsched.solvers.profiles import Profile

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PARTS", "Decomposition", "Replays", "decompose"]

#: The parts of a gap, in order, each with what it is the difference of.
PARTS = {
    "placement": "A - B, the nearest tasks of each job",
    "order of jobs": "B - C, the best order without knowledge",
    "knowledge": "C - D, the best found with all known",
    "not proved": "D - E, the proved bound",
}


@dataclass(frozen=True, slots=True)
class Replays:
    """The values of one seed.

    Attributes
    ----------
    seed
        Of heartbeats and draws.
    as_is
        A: the policy as it is.
    nearest
        B: at each instant as many tasks of each job as the policy starts then, on the slots that it uses, but those
        that take the least more than at their best, altogether.
    any_order
        C: the best of B and of plain orders of jobs, with the nearest tasks.
    order
        Which that was: `policy`, or a name of `optsched.decomposing.policies.ORDERS`.
    """

    seed: int
    as_is: Number
    nearest: Number
    any_order: Number
    order: str


@dataclass(frozen=True, eq=False)
class Decomposition:
    """What a policy's gap over time is made of.

    Attributes
    ----------
    problem
        What was measured.
    policy
        Name of what ran.
    runs
        The values of each seed.
    known
        D: the best schedule found with all arrivals and times known, of all that was tried.
    bound, proof
        E: no schedule is better, and what proves it; None where nothing is proved.
    """

    problem: ScheduleProblem
    policy: str
    runs: tuple[Replays, ...]
    known: Number
    bound: Number | None
    proof: Proof | None

    @property
    def means(self) -> tuple[Fraction, Fraction, Fraction]:
        """A, B and C on average over the seeds."""
        columns = zip(*((run.as_is, run.nearest, run.any_order) for run in self.runs), strict=True)
        a, b, c = (Fraction(sum(map(Fraction, column), Fraction(0)), len(self.runs)) for column in columns)
        return a, b, c

    @property
    def parts(self) -> dict[str, Fraction | None]:
        """The parts of the gap by name, on average over the seeds: they add up to A less E. None: not known."""
        a, b, c = self.means
        known = Fraction(self.known)
        last = None if self.bound is None else known - self.bound
        return dict(zip(PARTS, (a - b, b - c, c - known, last), strict=True))

    def frame(self) -> pd.DataFrame:
        """A row for each part: `part`, its mean in seconds, and its share of the whole gap (missing: no gap)."""
        import pandas as pd

        gap = None if self.bound is None else self.means[0] - self.bound
        rows = [
            {
                "part": part,
                "seconds": None if seconds is None else float(seconds),
                "share": float(seconds / gap) if gap and seconds is not None else None,
                "is": told,
            }
            for (part, seconds), told in zip(self.parts.items(), PARTS.values(), strict=True)
        ]
        return pd.DataFrame(rows)

    def __repr__(self) -> str:
        told = ", ".join(f"{part} {float(value):g}" for part, value in self.parts.items() if value is not None)
        return brief(f"Decomposition of {self.policy} on {self.problem.instance}: {told}")


def decompose(
    problem: ScheduleProblem,
    policy: AnyHeuristic,
    /,
    seeds: Iterable[int] = range(5),
    *,
    heartbeat: float | None = 3,
    assign: str = "all",
    time_limit: float | None = None,
    profile: str | Profile = "exact",
    reference: Reference | Solution | None = None,
    step: Callable[[str], None] | None = None,
    **parameters: Any,
) -> Decomposition:
    """Measure what a policy's gap over time is made of, by replays of the same instance.

    Each replay grants more than the one before: A nothing; B the best placement of each instant, for the same number
    of tasks of each job on the same slots; C any order of jobs that looks at no future; D all arrivals and times; E is
    the proved bound. The replays of one seed have the same heartbeats. C and D are the best that was found, and no
    bounds.

    Parameters
    ----------
    problem
        A problem over time, as `makespan` or `job-times`.
    policy
        As `optsched.simulate` takes it.
    seeds
        One or more.
    heartbeat, assign
        As in `optsched.simulate`.
    time_limit, profile
        As in `optsched.solve`, for D and E.
    reference
        As `optsched.gap` takes it, instead of solving: for several policies the best schedule is sought once.
    step
        Told what comes next: each seed, and the search for D and E.
    **parameters
        The policy's own.

    Raises
    ------
    UsageError
        If the problem decides no schedules, there is no seed, or the reference is of another problem.
    HeuristicFailed
        If the policy raises, starts what it cannot start, or leaves tasks for ever.

    Examples
    --------
    >>> import optsched
    >>> from optsched.instance import Cluster, Ragged, Workload
    >>> workload = Workload(["t1", "t2"], job=[0, 0], job_ids=["j"], replicas=Ragged.from_rows([[1], [0]]),
    ...                     times=[[1, 5, 5]] * 2)
    >>> problem = optsched.problem("makespan", optsched.Instance(Cluster(["a", "b"]), workload))
    >>> found = decompose(problem, "rand", seeds=[2], heartbeat=0)
    >>> {part: str(value) for part, value in found.parts.items()}
    {'placement': '4', 'order of jobs': '0', 'knowledge': '0', 'not proved': '0'}
    """
    expect_problem(problem, "decompose", ScheduleProblem)
    given = tuple(seeds)
    if not given:
        raise UsageError("decompose: give one seed or more")
    beside = reference_of(problem, reference, profile, time_limit)
    component = problem.components[0].name
    replay = _Replay(problem, heartbeat, assign)
    name = policy_of(policy, problem.instance, parameters)[0]
    runs, best = [], None
    for seed in given:
        if step is not None:
            step(f"seed {seed}")
        values = replay.of_seed(policy, seed, parameters)
        runs.append(values)
        best = values.any_order if best is None else min(best, values.any_order)
        best = min(best, values.as_is)
        check()
    if step is not None:
        step("the best schedule")
    solution = beside.solution
    assert best is not None
    known = best if solution.objective is None else min(best, solution.objective[0])
    bounds = [] if solution.bound is None or solution.bound[0] is None else [(solution.bound[0], _proof(solution))]
    bounds += [(bound.value, Proof.COMBINATORIAL) for bound in problem.cheap_bounds() if bound.component == component]
    bound, proof = max(bounds, key=lambda entry: entry[0], default=(None, None))
    return Decomposition(problem, name, tuple(runs), known, bound, proof)


def _proof(solution: Solution) -> Proof | None:
    """What proves a solution's bound."""
    return Proof.weakest([certificate.kind for certificate in solution.certificates])


class _Replay:
    """Runs over one instance, judged by the problem."""

    def __init__(self, problem: ScheduleProblem, heartbeat: float | None, assign: str) -> None:
        self._problem, self._heartbeat, self._assign = problem, heartbeat, assign

    def of_seed(self, policy: AnyHeuristic, seed: int, parameters: dict[str, Any]) -> Replays:
        """A, B and C with one seed."""
        problem = self._problem
        as_is = self._value(policy, seed, **parameters)
        nearest = self._value(self._granted(policy_of(policy, problem.instance, parameters)[1]), seed)
        tried = {order: self._value(InOrder(problem, order), seed) for order in ORDERS}
        tried = {"policy": nearest, **tried}
        order = min(tried, key=lambda name: tried[name])
        return Replays(seed, as_is, nearest, tried[order], order)

    def _granted(self, policy: Policy) -> Policy:
        """A policy with the tasks of the same jobs that are placed best at each instant."""
        # At a heartbeat one node alone is offered: the nearest tasks are the best ones then.
        return Nearest(self._problem, policy) if self._heartbeat else Together(self._problem, policy)

    def _value(self, policy: Any, seed: int, **parameters: Any) -> Number:
        problem = self._problem
        run = simulate(
            problem.instance,
            policy,
            Levels(problem.parameters["factors"]),
            heartbeat=self._heartbeat,
            assign=self._assign,
            slowstart=problem.parameters["slowstart"],
            seed=seed,
            **parameters,
        )
        return problem.evaluate(run.raise_if_unfinished().schedule)[0]
