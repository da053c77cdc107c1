"""Splits a policy's gap over time into causes: waits, placement, order of jobs, knowledge, and an unproved rest.

A policy runs over an instance, and so do variants of it with more and more freedom (`variants`). Each difference has a
sign: a decision that is best at its moment need not belong to a best run, so more freedom may do worse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from optsched.core.brief import brief, counted, labelled
from optsched.core.deadline import check
from optsched.core.errors import HeuristicFailed, UsageError, described, expect
from optsched.core.results import Number, Proof, Solution
from optsched.heuristics import AnyHeuristic
from optsched.heuristics.simulating import policy_of, problem_service, simulate
from optsched.measuring.decomposing.variants import ORDERS, InOrder, Together, arrivals, known_at, planned_anew
from optsched.measuring.gaps import Reference, reference_of
from optsched.problems.base import expect_problem
from optsched.problems.schedules import ScheduleProblem
from optsched.solvers.profiles import Profile

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Decomposition",
    "Decompositions",
    "PARTS",
    "Replays",
    "arrivals",
    "decompose",
    "decompose_all",
    "known_at",
    "planned_anew",
]

#: The parts of a gap, in order, each with the two values whose difference it is.
PARTS = {
    "waits for offers": "A - B, slots offered at once",
    "placement": "B - C, the nearest tasks of each job",
    "order of jobs": "C - D, the best order tried",
    "not found": "D - E, what no tried order reached",
    "knowledge": "E - F, arrivals known beforehand",
    "not proved": "F - G, the proved bound",
}

#: The means in `Replays`, which are measured with each seed: A to D.
_REPLAYED = ("as_is", "at_once", "nearest", "any_order")


@dataclass(frozen=True, slots=True)
class Replays:
    """The values A to D of `decompose` with one seed (of heartbeats and draws).

    With several policies D is also the best C of the others. `order` names the source of D: `policy`, a name of
    `optsched.measuring.decomposing.variants.ORDERS`, or the label of another policy.
    """

    seed: int
    as_is: Number
    at_once: Number
    nearest: Number
    any_order: Number
    order: str


@dataclass(frozen=True, eq=False)
class Decomposition:
    """The parts of a policy's gap over time.

    Attributes
    ----------
    problem, policy, parameters
        What was measured: the name of what ran, and its parameters as given.
    runs
        The values A to D of each seed.
    arrived, known
        E and F of `decompose`; they are equal if everything arrives at once.
    bound, proof
        G: no schedule is better, and its proof; None if nothing is proved.
    assumed
        How long tasks took, and when slots were offered, in words.
    """

    problem: ScheduleProblem
    policy: str
    runs: tuple[Replays, ...]
    arrived: Number
    known: Number
    bound: Number | None
    proof: Proof | None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    assumed: str = ""

    @property
    def label(self) -> str:
        """The policy with its parameters, as the command line writes them: `fair,delay=0`."""
        return labelled(self.policy, self.parameters)

    @property
    def means(self) -> dict[str, Fraction]:
        """The means of A to D over the seeds, by their names in `Replays`."""
        values = {name: [Fraction(getattr(run, name)) for run in self.runs] for name in _REPLAYED}
        return {name: sum(column, Fraction(0)) / len(self.runs) for name, column in values.items()}

    @property
    def parts(self) -> dict[str, Fraction | None]:
        """The parts of the gap by name, as means over the seeds; they sum to A less G. None: not known."""
        ends: list[Any] = [*self.means.values(), Fraction(self.arrived), Fraction(self.known), self.bound]
        steps = (None if after is None else before - after for before, after in pairwise(ends))
        return dict(zip(PARTS, steps, strict=True))

    @property
    def gap(self) -> Fraction | None:
        """The whole gap, A less G, as a mean over the seeds; None if nothing is proved."""
        return None if self.bound is None else self.means["as_is"] - self.bound

    def frame(self) -> pd.DataFrame:
        """A row for each part: `part`, its mean in seconds, and its share of the whole gap (missing: no gap)."""
        import pandas as pd

        gap = self.gap
        rows = [
            {
                "part": part,
                "seconds": None if seconds is None else float(seconds),
                "share": float(seconds / gap) if gap and seconds is not None else None,
                "is": meaning,
            }
            for (part, seconds), meaning in zip(self.parts.items(), PARTS.values(), strict=True)
        ]
        return pd.DataFrame(rows)

    def __repr__(self) -> str:
        parts = ", ".join(f"{part} {float(value):g}" for part, value in self.parts.items() if value is not None)
        return brief(f"Decomposition of {self.label} on {self.problem.instance}: {parts}")


@dataclass(frozen=True, eq=False, repr=False)
class Decompositions(Sequence[Decomposition]):
    """The decompositions of several policies' gaps, below one best schedule and one bound: a sequence of them.

    `failed` has the label of each policy that failed, and the reason.
    """

    problem: ScheduleProblem
    found: tuple[Decomposition, ...]
    failed: Mapping[str, HeuristicFailed] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.found)

    def __getitem__(self, position: Any) -> Any:
        return self.found[position]

    def raise_if_failed(self) -> Decompositions:
        """The same; HeuristicFailed with a line for each policy that failed."""
        if self.failed:
            raise HeuristicFailed(*(line for error in self.failed.values() for line in error.lines))
        return self

    def frame(self) -> pd.DataFrame:
        """A row for each policy, indexed by its label: A as `as it is`, the parts, `bound` and `gap`, in seconds.

        Unknown values are missing.
        """
        import pandas as pd

        rows = [{"as it is": one.means["as_is"], **one.parts, "bound": one.bound, "gap": one.gap} for one in self.found]
        columns = ["as it is", *PARTS, "bound", "gap"]
        index = pd.Index([one.label for one in self.found], name="policy", dtype=object)
        return pd.DataFrame(rows, index, columns).astype(float)

    def __repr__(self) -> str:
        labels = ", ".join(one.label for one in self.found) or "none"
        return brief(f"Decompositions of {counted(len(self), 'gap')} on {self.problem.instance}: {labels}")


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
    step: Callable[[str], None] = lambda text: None,
    **parameters: Any,
) -> Decomposition:
    """Split a policy's gap into parts, by replays of the same instance; for several policies, see `decompose_all`.

    Each replay grants more than the previous one. A: nothing; B: slots as soon as they are free; C: the best placement
    of each instant, for the same number of tasks of each job on the same slots; D: any order of jobs that needs no
    future; E: the times of everything that has arrived; F: all arrivals; G is the proved bound. D, E and F are the best
    schedules found, not bounds. D: the best of C and three simple job orders with the nearest tasks. E: also a plan
    that is made again at each arrival. The part `not found` is the gap that no tried order closes.

    Parameters
    ----------
    problem
        A problem over time, such as `makespan` or `job-times`.
    policy
        As for `optsched.simulate`.
    seeds
        One or more.
    heartbeat, assign
        As in `optsched.simulate`; only for A.
    time_limit, profile
        As in `optsched.solve`, for F and G, and again for E.
    reference
        As for `optsched.gap`, instead of solving.
    step
        Called with the next step: each seed, and the search for E to G.
    **parameters
        The policy's own.

    Raises
    ------
    UsageError
        If the problem decides no schedules, there is no seed, or the reference is of another problem.
    HeuristicFailed
        If the policy raises, starts what it cannot start, or leaves tasks unfinished for ever.

    Examples
    --------
    >>> import optsched
    >>> from optsched.core.instance import Cluster, Ragged, Workload
    >>> workload = Workload(["t1", "t2"], job=[0, 0], job_ids=["j"], replicas=Ragged.from_rows([[1], [0]]),
    ...                     times=[[1, 5, 5]] * 2)
    >>> problem = optsched.problem("makespan", optsched.Instance(Cluster(["a", "b"]), workload))
    >>> found = decompose(problem, "rand", seeds=[2], heartbeat=0)
    >>> {part: str(value) for part, value in found.parts.items() if value}
    {'placement': '4'}
    """
    rules: Any = {"heartbeat": heartbeat, "assign": assign, "time_limit": time_limit, "profile": profile}
    measured = decompose_all(problem, [(policy, parameters)], seeds, **rules, reference=reference, step=step)
    for error in measured.failed.values():
        raise error
    return measured.found[0]


def decompose_all(
    problem: ScheduleProblem,
    policies: Iterable[AnyHeuristic | tuple[AnyHeuristic, Mapping[str, Any]]],
    /,
    seeds: Iterable[int] = range(5),
    *,
    heartbeat: float | None = 3,
    assign: str = "all",
    time_limit: float | None = None,
    profile: str | Profile = "exact",
    reference: Reference | Solution | None = None,
    step: Callable[[str], None] = lambda text: None,
) -> Decompositions:
    """Split the gaps of several policies into parts, side by side.

    The best schedule is searched, and the bound proved, once for all of them; simple orders of jobs are tried once for
    each seed. D is the best order that was tried for any of the policies with the seed (except those that know the
    future, such as `observed`), and F the best schedule tried at all. Neither is worse than in `decompose` of a single
    policy.

    Parameters
    ----------
    problem, seeds, heartbeat, assign, time_limit, profile, reference
        As in `decompose`.
    policies
        One or more, each as for `optsched.simulate`, or a pair of that and its parameters.
    step
        Called with the next step: each policy with each seed, and the search for E to G.

    Returns
    -------
    Decompositions
        A policy that fails, or never finishes, does not end the table: it is in `failed`.

    Raises
    ------
    UsageError
        As for `decompose`, and if there is no policy, or one occurs twice.

    Examples
    --------
    >>> import optsched
    >>> found = decompose_all(optsched.problem("job-times", "examples/order-of-jobs"), ["fifo", ("fair", {"delay": 0})])
    >>> found.frame()["order of jobs"].to_dict()
    {'fifo': 1.5, 'fair,delay=0': 0.0}
    """
    expect_problem(problem, "decompose", ScheduleProblem)
    expect(seeds, Iterable, "decompose takes a list of seeds", "such as range(5)")
    chosen = tuple(seeds)
    if not chosen:
        raise UsageError("decompose: give one seed or more")
    best = reference_of(problem, reference, profile, time_limit)
    replaying = _Replaying(problem, heartbeat, assign)
    failed: dict[str, HeuristicFailed] = {}
    ran: list[_Made] = []
    for made in _made(problem, policies):
        try:
            for seed in chosen:
                step(f"{made.label}, seed {seed}")
                replaying.run(made, seed)
                check()
            ran.append(made)
        except HeuristicFailed as error:
            failed[made.label] = error
    if not ran:  # then the best schedule is not sought
        return Decompositions(problem, (), failed)
    step("the best schedule")
    replays = {made.label: tuple(replaying.replays(made, seed, ran) for seed in chosen) for made in ran}
    tried: dict[bool, list[Number]] = {False: [], True: []}  # by whether the policy knows the future
    for made in ran:
        tried[made.knows] += [one for each in replays[made.label] for one in (each.as_is, each.at_once, each.any_order)]
    solution = best.solution
    if solution.objective is not None:
        tried[True].append(solution.objective[0])
    if len(arrivals(problem)) > 1:
        anew = planned_anew(problem, profile, time_limit)
        tried[False] += [] if anew is None else [anew]
    else:
        tried[False] += tried[True]  # nothing is unknown
    known = min(tried[False] + tried[True])
    ends = min(tried[False], default=known), known, *_bound(problem, solution)
    return Decompositions(
        problem,
        tuple(
            Decomposition(problem, made.name, replays[made.label], *ends, made.parameters, replaying.assumed)
            for made in ran
        ),
        failed,
    )


@dataclass(frozen=True, slots=True)
class _Made:
    """A policy with its parameters, its name, and whether it knows the future."""

    policy: AnyHeuristic
    parameters: Mapping[str, Any]
    name: str
    knows: bool

    @property
    def label(self) -> str:
        return labelled(self.name, self.parameters)


def _made(problem: ScheduleProblem, policies: Any) -> list[_Made]:
    """The policies, each with its parameters; UsageError if they are invalid, or one occurs twice."""
    if isinstance(policies, str) or not isinstance(policies, Iterable):
        expected = "a list of policies; for one alone there is optsched.decompose"
        raise UsageError(f"decompose_all takes {expected}, not {described(policies)}")
    made: dict[str, _Made] = {}
    for given in policies:
        policy, parameters = given if isinstance(given, tuple) and len(given) == 2 else (given, {})
        name, driven, _ = policy_of(policy, problem.instance, dict(parameters))
        one = _Made(policy, dict(parameters), name, hasattr(driven, "appointments"))
        if made.setdefault(one.label, one) is not one:
            raise UsageError(
                f"decompose_all: {one.label} is there twice; give policies of different names or parameters"
            )
    if not made:
        raise UsageError("decompose_all: give one policy or more")
    return list(made.values())


@dataclass
class _Replaying:
    """The runs of policies over time: A to C of each with each seed, and the plain orders of jobs with each seed."""

    problem: ScheduleProblem
    heartbeat: float | None
    assign: str
    assumed: str = ""
    own: dict[tuple[str, int], tuple[Number, Number, Number]] = field(default_factory=dict)
    orders: dict[int, dict[str, Number]] = field(default_factory=dict)

    def run(self, made: _Made, seed: int) -> None:
        """Run a policy as it is (A), without heartbeats (B), and with the nearest tasks (C)."""
        problem, policy = self.problem, (made.policy, made.parameters)
        driven = policy_of(made.policy, problem.instance, dict(made.parameters))[1]
        as_is, self.assumed = self._value(policy, seed, self.heartbeat)
        at_once = self._value(policy, seed)[0] if self.heartbeat else as_is
        self.own[made.label, seed] = as_is, at_once, self._value(Together(problem, driven), seed)[0]
        if seed not in self.orders:
            self.orders[seed] = {order: self._value(InOrder(problem, order), seed)[0] for order in ORDERS}

    def _value(self, policy: Any, seed: int, heartbeat: float | None = 0) -> tuple[Number, str]:
        """The value of a run, and its rules in words."""
        slowstart, service = self.problem.parameters["slowstart"], problem_service(self.problem)
        rules: dict[str, Any] = {"heartbeat": heartbeat, "assign": self.assign, "slowstart": slowstart}
        run = simulate(self.problem.instance, policy, service, seed=seed, **rules)
        return self.problem.evaluate(run.raise_if_unfinished().schedule)[0], run.assumed

    def replays(self, made: _Made, seed: int, ran: Sequence[_Made]) -> Replays:
        """A to C of a policy, and D: the best of C, the plain orders, and C of the others that know no future."""
        found = self.own[made.label, seed]
        others = [(one.label, self.own[one.label, seed][-1]) for one in ran if one is not made and not one.knows]
        tried = [("policy", found[-1]), *self.orders[seed].items(), *others]
        order, least = min(tried, key=lambda entry: entry[1])
        return Replays(seed, *found, least, order)


def _bound(problem: ScheduleProblem, solution: Solution) -> tuple[Number | None, Proof | None]:
    """G and its proof."""
    first = problem.components[0].name
    bounds: list[tuple[Number, Proof | None]] = [
        (bound.value, Proof.COMBINATORIAL) for bound in problem.cheap_bounds() if bound.component == first
    ]
    if solution.bound is not None and solution.bound[0] is not None:
        proof = Proof.weakest([certificate.kind for certificate in solution.certificates])
        bounds.insert(0, (solution.bound[0], proof))
    return max(bounds, key=lambda entry: entry[0], default=(None, None))
