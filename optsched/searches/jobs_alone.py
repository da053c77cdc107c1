"""Bounds each job alone on the empty cluster: by the search of `latency`, by covers first and then exactly.

Jobs that may prove most come first. Work is limited by counts, not by a clock: what is beyond them counts as before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from optsched.certificates.schedules import alone_entry, end_alone
from optsched.core.deadline import check
from optsched.core.instance import Ints
from optsched.core.placement import seconds
from optsched.core.results import Bound, Certificate
from optsched.problems.job_times import JobTimes
from optsched.problems.jobs_alone import JobAlone, JobsAlone
from optsched.problems.makespan import Makespan
from optsched.problems.schedules import ScheduleProblem
from optsched.searches.latency import LatencySearch, relaxation
from optsched.solvers.profiles import Profile

__all__ = ["AloneSearch"]

#: Tasks, and pairs of a task and a slot with its data, that are looked at in all; and what beginning a job counts as.
_SIZE, _BEGUN = 4_000_000, 8_000

#: Jobs that are looked at exactly, and the most tasks and pairs of each.
_EXACT, _SMALL = 20, 3_000

#: Who bounds one job so.
_SOURCE = "Agosta et al., note 3"


class AloneSearch:
    """The bounds so far of jobs alone, of a problem that is not plainly infeasible.

    Attributes
    ----------
    ends
        int64, shape (jobs,): microseconds at which each job ends at the earliest.
    entries
        By job: what a certificate holds of it (`alone_entry`); not for jobs where counting proves as much.
    looked_at
        The jobs that were, of those that may gain something.
    """

    def __init__(self, problem: ScheduleProblem) -> None:
        self.problem = problem
        self.ends = problem.earliest_completions.copy()
        self.entries: dict[int, Mapping[str, Any]] = {}
        self._jobs = JobsAlone(problem)
        self.looked_at: list[int] = []
        self._searches: dict[int, tuple[JobAlone, LatencySearch]] = {}

    @property
    def bound(self) -> Bound:
        """The bound of all jobs, each alone: of the last end, or of the sum of their times."""
        problem = self.problem
        if isinstance(problem, JobTimes):
            meaning = "sum of job times, each job alone on the empty cluster, near and far from its data"
            return Bound("job-alone", "job time", problem.total(self.ends), meaning, _SOURCE)
        latest = seconds(int(self.ends.max(initial=problem.now)) - problem.now)
        return Bound("job-alone", "makespan", latest, "makespan, of one job on the empty cluster", _SOURCE)

    @property
    def proofs(self) -> list[Mapping[str, Any]]:
        """The entries that a certificate needs: all of them, or for `makespan` that of the job that ends last."""
        if not isinstance(self.problem, Makespan):
            return [entry for _, entry in sorted(self.entries.items())]
        last = int(np.argmax(self.ends)) if len(self.ends) else -1
        return [self.entries[last]] if last in self.entries else []

    def by_covers(self) -> None:
        """Bound each job by matchings and counting, as l_flow of `latency`."""
        left = _SIZE
        for job in self._promising():
            size = self._jobs.size(job)
            left -= size + _BEGUN
            if left < 0:
                return
            if self._may_gain(job):
                self._bound(job, size <= _SMALL)

    def exactly(self) -> None:
        """Bound jobs by the optimum of `latency`, where it is proved by a cover or prices; those that may gain most."""
        promising = [job for job in self._promising() if job in self._searches]
        for job in promising[:_EXACT]:
            if self._may_gain(job):
                alone, search = self._searches[job]
                limit = search.first_feasible().limit
                self._keep(alone, search.makespan_certificate(limit))

    def _gains(self) -> Ints:
        """How much later than is proved each job may end, or of `makespan` all of them; microseconds."""
        proved = self.ends.max(initial=self.problem.now) if isinstance(self.problem, Makespan) else self.ends
        return np.asarray(self._jobs.latest - proved)

    def _may_gain(self, job: int) -> bool:
        return bool(self._gains()[job] > 0)

    def _promising(self) -> list[int]:
        """Jobs that alone may end later than is proved, those first that may gain most."""
        gain = self._gains()
        weights = np.array([float(weight) for weight in getattr(self.problem, "weights", [1] * len(gain))])
        order: list[int] = np.argsort(-gain * weights, kind="stable").tolist()
        return [job for job in order if gain[job] > 0 and weights[job] > 0]

    def _bound(self, job: int, small: bool) -> None:
        check()
        self.looked_at.append(job)
        alone = self._jobs.posed(job)
        assert alone is not None  # a job that may gain something has maps, and slots for them
        search = LatencySearch(alone.posed, Profile("alone"), decide=relaxation)
        self._keep(alone, search.makespan_certificate(search.flow_bound()))
        if small:
            self._searches[job] = alone, search

    def _keep(self, alone: JobAlone, proof: Certificate) -> None:
        """Hold a proof that says more of its job than is known; not a solver's word."""
        if not proof.kind.checkable:
            return
        entry = alone_entry(self.problem, alone, proof)
        end = end_alone(self.problem, alone, entry)
        if end > self.ends[alone.job]:
            self.ends[alone.job], self.entries[alone.job] = end, entry
