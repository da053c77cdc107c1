"""`makespan`: all tasks on slots over time, so that the last one ends as soon as it can."""

from __future__ import annotations

from math import floor

import numpy as np

from optsched.core.instance import KINDS, Ints
from optsched.core.placement import MICRO, Schedule, seconds
from optsched.core.results import Bound, Component, Number, Proof, Sense, Value
from optsched.problems.schedule_bounds import area_makespan
from optsched.problems.schedule_program import Goal, TimedProblem
from optsched.problems.service_times import NEVER


class Makespan(TimedProblem):
    """Every task on a slot, and the last end as early as possible: seconds after the snapshot.

    Tasks that run at the snapshot count, too. `ScheduleProblem` defines what is feasible.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Ragged, Workload
    >>> workload = Workload(["t1", "t2"], replicas=Ragged.from_rows([[0], [0]]), times=[[10, 12, 15]] * 2)
    >>> problem = Makespan(Instance(Cluster(["a", "b"]), workload))
    >>> apart, one_by_one = problem.schedule([0, 1], [0, 0]), problem.schedule([0, 0], [0, 10_000_000])
    >>> problem.evaluate(apart), problem.evaluate(one_by_one)
    ((15,), (20,))
    """

    name = "makespan"
    title = "all tasks on slots over time, the last end as early as possible"
    paper = "-"
    components = (Component("makespan", Sense.MIN, "s"),)
    parameter_table = TimedProblem.shared_parameters
    requires = ("tasks[].times or duration",)
    proof = Proof.DUAL
    over = ("all_over", "every_job")

    def objective(self, schedule: Schedule, /) -> Value:
        return (seconds(int(self.completions(schedule).max(initial=self.now)) - self.now),)

    def latest_completions(self, value: Number) -> Ints:
        return np.full(len(self.jobs), max(-NEVER, min(NEVER, floor(self.now + value * MICRO))))

    def goals(self) -> list[Goal]:
        return [Goal((), 1, self.now, range(len(self.jobs)))]

    def cheap_bounds(self) -> tuple[Bound, ...]:
        """The longest job as if all slots were its own, and the area of all slots; none if nothing is feasible."""
        if self.plainly_infeasible is not None:
            return ()
        alone = int(self.earliest_completions.max(initial=self.now))
        area = max(area_makespan(self, kind, self.release) for kind in range(len(KINDS)))
        return (
            Bound("critical-path", "makespan", seconds(alone - self.now), "makespan, of the longest job alone"),
            Bound("area", "makespan", seconds(area - self.now), "makespan, were tasks divisible among all slots"),
        )
