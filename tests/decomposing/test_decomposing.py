"""What a gap over time is made of: parts that add up, grants that are what they say, and what is refused."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from schedule_drawn import document

import optsched
from optsched.decomposing import PARTS, decompose
from optsched.errors import HeuristicFailed, UsageError
from optsched.gaps import Reference
from optsched.instance import Cluster, Instance, Ragged, Workload
from optsched.instances.files import parse
from optsched.problems.job_times import JobTimes
from optsched.problems.makespan import Makespan
from optsched.running.base import Policy


def two_jobs() -> Instance:
    """One slot; a long job that comes first, and a short one."""
    workload = Workload(["a1", "a2", "b1"], job=[0, 0, 1], job_ids=["a", "b"], duration=[8, 8, 1])
    return Instance(Cluster(["n"]), workload, name="two-jobs")


def crossed() -> Instance:
    """Two slots and two tasks, each with its data on the other's node."""
    rows = Ragged.from_rows([[1], [0]])
    workload = Workload(["t1", "t2"], job=[0, 0], job_ids=["j"], replicas=rows, times=[[1, 5, 5]] * 2)
    return Instance(Cluster(["a", "b"]), workload, name="crossed")


class First(Policy):
    """Always the first task that waits."""

    def offer(self, offer: object, view: object) -> tuple[int, ...]:
        return tuple(view.pending[:1].tolist())  # type: ignore[attr-defined]


def test_parts_add_up() -> None:
    """Tests that the parts add up to what the policy is above the bound, on drawn instances."""
    for seed in range(12):
        text = document(seed, tasks=4)
        for node in text["nodes"]:
            for kind in ("", "reduce_"):
                node[f"{kind}slots"] += 1
                node[f"idle_{kind}slots"] += 1
        problem = (Makespan, JobTimes)[seed % 2](parse(json.dumps(text)))
        found = decompose(problem, "fair", range(2), heartbeat=3)
        assert list(found.parts) == list(PARTS)
        assert found.bound is not None
        assert (
            sum((value or Fraction(0) for value in found.parts.values()), Fraction(0)) == found.means[0] - found.bound
        )
        best = optsched.solve(problem, route="brute-force").objective
        assert best is not None
        assert found.bound <= best[0] <= found.known <= min(run.any_order for run in found.runs)
        for run in found.runs:
            assert run.any_order <= run.nearest


def test_each_grant() -> None:
    """Tests each part where it is known: an order of jobs that costs 15 s, and tasks that cost 4 s for their places."""
    order = decompose(JobTimes(two_jobs()), First, [0], heartbeat=0)
    assert list(order.parts.values()) == [0, 15, 0, 0]
    assert [(run.as_is, run.nearest, run.any_order, run.order) for run in order.runs] == [(33, 33, 18, "fewest-left")]
    place = decompose(Makespan(crossed()), First, [3, 3], heartbeat=0)
    assert list(place.parts.values()) == [4, 0, 0, 0]
    assert place.runs[0] == place.runs[1]
    assert (place.known, place.bound) == (1, 1)


def test_how_it_is_shown() -> None:
    """Tests the line and the frame: parts in order, with shares of the whole gap."""
    found = decompose(JobTimes(two_jobs()), First, [0], heartbeat=0)
    assert "First on two-jobs" in repr(found)
    frame = found.frame()
    assert frame["part"].tolist() == list(PARTS)
    assert frame["share"].tolist() == [0, 1, 0, 0]


def test_what_is_refused() -> None:
    """Tests that a problem without time, no seed, and a policy that starts nothing are each told in a line."""

    class Idle(Policy):
        def offer(self, offer: object, view: object) -> tuple[int, ...]:
            return ()

    with pytest.raises(UsageError, match="decompose takes"):
        decompose(optsched.problem("lsap", "papers/guo-fig2"), "dl")
    with pytest.raises(UsageError, match="one seed or more"):
        decompose(Makespan(two_jobs()), "fair", [])
    with pytest.raises(HeuristicFailed, match="Idle"):
        decompose(Makespan(two_jobs()), Idle, [0])


def test_a_reference_saves_solving(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a solution or a reference stands for solving, and that one of another problem is refused."""
    problem = JobTimes(two_jobs())
    solution = optsched.solve(problem)
    monkeypatch.setattr("optsched.gaps.solve", lambda *given, **named: pytest.fail("it is solved again"))
    for reference in (solution, Reference(problem, solution=solution)):
        found = decompose(problem, First, [0], heartbeat=0, reference=reference)
        assert list(found.parts.values()) == [0, 15, 0, 0]
        assert found.proof is solution.certificate
    with pytest.raises(UsageError, match="the reference is of another problem"):
        decompose(Makespan(two_jobs()), First, [0], reference=solution)
    with pytest.raises(UsageError, match="a reference or a solution"):
        decompose(problem, First, [0], reference=3)


def test_steps_are_told() -> None:
    """Tests that each seed is told before it runs, and the search for the best schedule after them."""
    told: list[str] = []
    decompose(Makespan(crossed()), "dl", seeds=[3, 5], heartbeat=0, step=told.append)
    assert told == ["seed 3", "seed 5", "the best schedule"]
