"""`job-times`: all tasks on slots over time, so that jobs end soon after they arrive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import floor, gcd, lcm
from typing import Any

import numpy as np

from optsched.core.brief import counted
from optsched.core.decimals import decimal
from optsched.core.errors import Fault
from optsched.core.instance import FINISHED, KINDS, Instance, Ints
from optsched.core.placement import MICRO, Schedule
from optsched.core.results import Bound, Component, Number, Proof, Sense, Value
from optsched.problems.base import exact
from optsched.problems.parameters import Parameter, choice
from optsched.problems.schedule_bounds import fluid_ends, work_by_job
from optsched.problems.schedule_program import Goal, TimedProblem, job_labels
from optsched.problems.service_times import NEVER


class JobTimes(TimedProblem):
    """Every task on a slot; minimises the sum over jobs of the time from arrival to end, in seconds.

    The jobs with a task that waits or runs at the snapshot count. A task without a job is its own job. A job without an
    arrival counts from the snapshot on. `ScheduleProblem` defines what is feasible. `weights` has the exact weight of
    each job.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> workload = Workload(["t1", "t2"], duration=[10, 20])
    >>> problem = JobTimes(Instance(Cluster(["a"]), workload))
    >>> first, second = problem.schedule([0, 0], [0, 10_000_000]), problem.schedule([0, 0], [20_000_000, 0])
    >>> problem.evaluate(first), problem.evaluate(second)
    ((40,), (50,))
    """

    name = "job-times"
    title = "all tasks on slots over time, least sum of job times"
    paper = "000"
    components = (Component("job time", Sense.MIN, "s"),)
    parameter_table = (
        *TimedProblem.shared_parameters,
        Parameter(
            "weights", "equal", choice("equal", "group"), "what each job counts: the same, or its group's weight"
        ),
    )
    requires = ("tasks[].times or duration",)
    proof = Proof.DUAL
    over = ("job_over", "every_task")

    @classmethod
    def missing(cls, instance: Instance, parameters: Mapping[str, Any]) -> Iterator[Fault]:
        yield from super().missing(instance, parameters)
        if parameters["weights"] == "equal":
            return
        workload = instance.workload
        weight = np.append(workload.group_weight, np.nan)[workload.group]
        for task in np.flatnonzero(np.isnan(weight) & (instance.state.status != FINISHED)).tolist():
            yield Fault(f"tasks[{task}].job", "weights=group needs a job with a group that has a weight")

    def prepare_value(self) -> None:
        self.weights = super().job_weights
        if self.parameters["weights"] == "group":
            given = self.instance.workload.group_weight[self.instance.workload.job_group[self.jobs.rows]]
            self.weights = tuple(exact(decimal(weight)) for weight in given.tolist())

    @property
    def job_weights(self) -> tuple[Number, ...]:
        return self.weights

    @property
    def value_in_words(self) -> str:
        """The sum, and the number of jobs; says if it is weighted."""
        weighted = "weighted " * (self.parameters["weights"] != "equal")
        return f"{weighted}sum of {counted(len(self.jobs), 'job time')}"

    def objective(self, schedule: Schedule, /) -> Value:
        return (self.total(self.completions(schedule)),)

    def details(self, schedule: Schedule, /) -> list[tuple[str, str]]:
        """The mean job time, and the longest, unweighted."""
        times = (self.completions(schedule) - self.jobs.arrival).tolist()
        if not times:
            return []
        mean, longest = sum(times) / len(times) / MICRO, max(times) / MICRO
        return [("mean job time", f"{mean:.6g} s, of {counted(len(times), 'job')}; the longest {longest:.6g} s")]

    def total(self, completions: Any) -> Number:
        """The weighted sum of the times from arrival to these ends (microseconds, shape (jobs,)), in exact seconds."""
        times = (completions - self.jobs.arrival).tolist()
        return exact(Fraction(sum(weight * time for weight, time in zip(self.weights, times, strict=True))), MICRO)

    def latest_completions(self, value: Number) -> Ints:
        """As in `ScheduleProblem`: one job may use all the slack of the sum. `NEVER` without weight."""
        alone = self.earliest_completions
        lost = (value - self.total(alone)) * MICRO
        weights = map(Fraction, self.weights)
        each = [max(-NEVER, min(NEVER, floor(lost / weight))) if weight else NEVER for weight in weights]
        return np.minimum(alone + np.array(each, dtype=np.int64), NEVER)

    @property
    def value_unit(self) -> Number:
        return Fraction(common_unit(self.weights) or 1, MICRO)

    def goals(self) -> list[Goal]:
        columns = zip(job_labels(self), self.weights, self.jobs.arrival.tolist(), strict=True)
        return [Goal((name,), weight, since, [job]) for job, (name, weight, since) in enumerate(columns)]

    def cheap_bounds(self) -> tuple[Bound, ...]:
        """Each job alone on all slots, and all jobs on one machine as fast as all slots of a kind.

        Empty if nothing is feasible.
        """
        if self.plainly_infeasible is not None:
            return ()
        alone = self.earliest_completions
        found = [Bound("alone", "job time", self.total(alone), "sum of job times, were all slots each job's own")]
        if self.parameters["weights"] == "equal":
            fluid = max(-(-sum(ends) // slots) for slots, ends in self._fluid(alone))
            arrived = sum((self.jobs.arrival - self.now).tolist())
            meaning = "sum of job times, were jobs divisible among all slots, the shortest remaining first"
            found.append(Bound("fluid", "job time", exact(fluid - arrived, MICRO), meaning))
        return tuple(found)

    def _fluid(self, alone: Ints) -> Iterator[tuple[int, list[int]]]:
        """For each kind its slots, and the ends of jobs on one machine as fast as all: microseconds from now times
        slots.

        A job that needs no slot of the kind ends as it does alone.
        """
        for kind, name in enumerate(KINDS):
            slots = max(1, int(self.room[name].sum()))
            work, release = work_by_job(self, kind)
            yield slots, fluid_ends(work, np.where(work > 0, release, alone) - self.now, slots)

    def counted_total(self, alone: Ints | None = None) -> Number:
        """The lower bound of the sum of job times, in seconds, that counting proves.

        A job counts its weight from its arrival to its end. So the sum is the integral over time of the weight that has
        not ended. That is least if all jobs end as early as they do alone. With equal weights one fluid machine per
        kind is another bound: shortest remaining job first has the most ended jobs at any instant (Schrage 1968).
        `alone` is a proved earliest end of each job (microseconds, shape (jobs,)); by default `earliest_completions`.
        `earliest_completions`.
        """
        alone = self.earliest_completions if alone is None else alone
        limits = list(_stepwise(zip(alone.tolist(), self.weights, strict=True)))
        if len(set(self.weights)) == 1:
            for slots, fluid in self._fluid(alone):
                limits += _stepwise((self.next_end(self.now - -end // slots), self.weights[0]) for end in fluid)
        ordered = sorted(((until, most) for until, most in limits if until > self.now), reverse=True)
        total = most = sum(self.weights)
        area: Number = 0
        for place, (until, worth) in enumerate(ordered):
            most = min(most, worth)
            since = ordered[place + 1][0] if place + 1 < len(ordered) else self.now
            area += (until - since) * (total - most)
        return exact(Fraction(area, MICRO) + self.total(np.full_like(alone, self.now)))


def _stepwise(ends: Iterable[tuple[int, Number]]) -> Iterator[tuple[int, Number]]:
    """Instants, and the most weight that has ended before each, given the earliest end of each weight."""
    before: Number = 0
    for end, weight in sorted(ends):
        yield end, before
        before += weight


def common_unit(weights: Sequence[Number]) -> Number:
    """The largest number that divides all weights; 0 for no weights or only zeros.

    >>> common_unit([Fraction(1, 2), Fraction(3, 4), 3])
    Fraction(1, 4)
    """
    parts = [Fraction(weight) for weight in set(weights)]
    below = lcm(*(part.denominator for part in parts))
    return Fraction(gcd(*(int(part * below) for part in parts)), below)
