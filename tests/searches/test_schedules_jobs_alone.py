"""What is searched for of jobs alone: each proof is kept where it says more, and work has its limits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from over_time import FORMS, batch, crowded, fetching, one_job

from optsched.certificates import proved_bound
from optsched.certificates.schedules import makespan_certificate
from optsched.core.instance import Instance, Ragged
from optsched.core.results import Certificate, Proof
from optsched.problems.job_times import JobTimes
from optsched.problems.makespan import Makespan
from optsched.routes import bounds
from optsched.routes.latency import latency_search
from optsched.searches import schedules
from optsched.searches.enumeration import best_decision
from optsched.searches.schedules import AloneSearch

SECOND = 10**6


def test_covers_and_then_the_optimum() -> None:
    """Tests that covers give l_flow of a job, and the exact search the optimum of `latency`, in tenths of a second."""
    gained = 0
    for seed in range(60):
        instance, alone = one_job(seed)
        search, lone = AloneSearch(Makespan(instance)), latency_search(alone)
        search.by_covers()
        assert search.bound.value * 10 == max(lone.flow_bound(), search.problem.earliest_completions[0] * 10 // SECOND)
        before = search.bound.value
        search.exactly()
        assert search.bound.value * 10 == lone.first_feasible().limit
        gained += search.bound.value > before
    assert gained


def test_a_bound_by_name() -> None:
    """Tests that `job-alone` is among the bounds of both problems, and none where nothing is feasible."""
    instance = one_job(3)[0]
    for kind in (Makespan, JobTimes):
        *cheap, last = bounds(kind(instance))
        assert (last.name, last.component) == ("job-alone", kind.components[0].name)
        assert last.value > max(bound.value for bound in cheap)
        none = instance.with_slots(np.zeros(4, dtype=np.int64), np.zeros(4, dtype=np.int64))
        idle = replace(none.state, idle_slots=np.zeros(4, dtype=np.int64))
        assert bounds(kind(none.with_state(idle))) == ()


def test_makespan_holds_the_last_job_alone() -> None:
    """Tests that a proof of the makespan has one job, where it says more than counting, and that of job times each."""
    for seed in range(30):
        problem = Makespan(crowded(seed, 6))
        if problem.plainly_infeasible is not None:
            continue
        one, each = AloneSearch(problem), AloneSearch(JobTimes(problem.instance))
        for search in (one, each):
            search.by_covers()
            search.exactly()
        assert len(one.proofs) == (one.ends.max() > problem.earliest_completions.max())
        later = np.flatnonzero(each.ends > problem.earliest_completions)
        assert [entry["job"] for entry in each.proofs] == later.tolist()


def test_work_has_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that only so many tasks and replicas are looked at, those jobs first that may gain most."""
    problem = JobTimes(batch(2, nodes=4, slots=1, tasks=40, jobs=4))
    search = AloneSearch(problem)
    search.by_covers()
    seen = len(search.looked_at)
    assert seen > 1
    monkeypatch.setattr(schedules, "_SIZE", 2 * (schedules._BEGUN + 60))
    few = AloneSearch(problem)
    few.by_covers()
    few.exactly()
    assert 0 < len(few.looked_at) < seen
    assert (few.ends <= search.ends).all()
    monkeypatch.setattr(schedules, "_LITTLE", 0)
    none = AloneSearch(problem)
    none.by_covers()
    before = none.ends.copy()
    none.exactly()
    assert (none.ends == before).all()


def test_jobs_without_weight_are_left_out() -> None:
    """Tests that a job that does not count is not looked at."""
    instance = one_job(3)[0]
    given = {"job_group": [0], "group_ids": ["g"], "group_weight": [0.0]}
    weightless = replace(instance.workload, **given)  # type: ignore[arg-type]
    search = AloneSearch(JobTimes(Instance(instance.cluster, weightless), weights="group"))
    search.by_covers()
    assert not len(search.looked_at)


def test_a_word_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that what a search of `latency` only claims changes nothing."""
    search = AloneSearch(Makespan(one_job(3)[0]))

    def word(self: Any, limit: int) -> Certificate:
        return Certificate("makespan", Proof.SOLVER, limit)

    monkeypatch.setattr(schedules.LatencySearch, "makespan_certificate", word)
    search.by_covers()
    assert not search.entries


def test_jobs_that_fetch_over_distances() -> None:
    """Tests with times of transfer, over distances of each kind, that the bound holds, adds something and is proved."""
    more = dict.fromkeys(FORMS, 0)
    for seed in range(4):
        for form in FORMS:
            drawn = fetching(seed, form, nodes=3, tasks=5, jobs=1, slots=1)
            near = Ragged.from_rows([[0]] * len(drawn.workload))
            instance = replace(drawn, workload=replace(drawn.workload, replicas=near, size=drawn.workload.size + 1))
            problem = Makespan(instance, service="transfer", scale=2)
            search, found = AloneSearch(problem), best_decision(problem)
            assert found is not None
            search.by_covers()
            search.exactly()
            certificate = makespan_certificate(problem, None, search.proofs)
            assert proved_bound(problem, certificate) == search.bound.value <= found[0][0]
            more[form] += search.bound.value > max(bound.value for bound in problem.cheap_bounds())
    assert all(more.values())
