"""What a gap over time is made of: parts that add up, grants that are what they say, and what is refused."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from over_time import document
from small_problems import small

import optsched
from optsched.core.errors import HeuristicFailed, UsageError
from optsched.core.instance import State
from optsched.heuristics.running.base import Policy
from optsched.instances.files import parse
from optsched.measuring.decomposing import PARTS, decompose, decompose_all
from optsched.problems.job_times import JobTimes
from optsched.problems.makespan import Makespan

#: One slot; a long job that comes first, and a short one.
TWO_JOBS = small([[], [], []], [1], name="two-jobs", job=[0, 0, 1], job_ids=["a", "b"], duration=[8, 8, 1])

#: Two slots and two tasks, each with its data on the other's node.
CROSSED = small([[1], [0]], job=[0, 0], job_ids=["j"], times=[[1, 5, 5]] * 2)


class First(Policy):
    """Always the first task that waits."""

    def offer(self, offer: Any, view: Any) -> tuple[int, ...]:
        return tuple(view.pending_of(offer.kind)[:1].tolist())


class Idle(Policy):
    """Starts nothing."""

    def offer(self, offer: object, view: object) -> tuple[int, ...]:
        return ()


def last_name(label: str) -> str:
    """What a policy of this file is called, without where it is."""
    return re.split("[.:]", label)[-1]


def test_parts_add_up() -> None:
    """Tests that the parts add up to what the policy is above the bound, on drawn instances."""
    for seed in range(12):
        text = document(seed)
        for node in text["nodes"]:
            for kind in ("", "reduce_"):
                node[f"{kind}slots"] += 1
                node[f"idle_{kind}slots"] += 1
        problem = (Makespan, JobTimes)[seed % 2](parse(json.dumps(text)))
        found = decompose(problem, "fair", range(2), heartbeat=3)
        assert list(found.parts) == list(PARTS)
        total = sum(value or Fraction(0) for value in found.parts.values())
        assert total == found.gap == found.means["as_is"] - found.bound
        best = optsched.solve(problem, route="brute-force").objective
        assert found.bound <= best[0] <= found.known <= found.arrived <= min(run.any_order for run in found.runs)
        for run in found.runs:
            assert run.any_order <= run.nearest


def test_each_grant() -> None:
    """Tests parts that are known, and how they are shown: an order that costs 15 s, and 4 s for the places of tasks."""
    order = decompose(JobTimes(TWO_JOBS), First, [0], heartbeat=0)
    assert list(order.parts.values()) == [0, 0, 15, 0, 0, 0]
    assert "First on two-jobs" in repr(order)
    assert order.frame()[["part", "share"]].to_numpy().tolist() == [[part, part == "order of jobs"] for part in PARTS]
    assert [(run.as_is, run.nearest, run.any_order, run.order) for run in order.runs] == [(33, 33, 18, "fewest-left")]
    place = decompose(Makespan(CROSSED), First, [3, 3], heartbeat=0)
    assert list(place.parts.values()) == [0, 4, 0, 0, 0, 0]
    assert place.runs[0] == place.runs[1]
    assert (place.known, place.bound) == (1, 1)


def drawn(seed: int, arrive: bool) -> JobTimes | Makespan:
    """A drawn problem, with jobs that arrive over time or all at once."""
    instance = optsched.generate(
        "job-times", seed=seed, nodes=2, tasks=4, jobs=3, reduces=seed % 2, slots=1, gap=5, replicas=1
    )
    if not arrive:
        instance = replace(instance, workload=replace(instance.workload, arrival=np.full(3, float(seed))))
    return (JobTimes, Makespan)[seed % 2](instance)


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in (0, 2, 3))])
def test_laws_of_parts(seed: int) -> None:
    """Tests that knowledge is nothing where all arrives at once, waits for offers where there are no heartbeats, that
    heartbeats change no other part, and that all policies share what is below the best order.
    """
    policies = ["fifo", "rand", "fair"]
    for arrive in (False, True):
        problem = drawn(seed, arrive)
        reference = optsched.solve(problem, time_limit=5)
        beating, at_once = (
            decompose_all(problem, policies, range(2), heartbeat=beat, reference=reference) for beat in (3, 0)
        )
        for one, other in zip(beating, at_once, strict=True):
            for found in (one, other):
                assert sum(found.parts.values()) == found.gap  # bounds are proved
                assert found.parts["not found"] >= 0
                assert found.parts["knowledge"] >= 0
                assert arrive or found.parts["knowledge"] == 0
            assert other.parts["waits for offers"] == 0
            assert [run.at_once for run in one.runs] == [run.as_is for run in other.runs]
            assert list(one.parts)[1:3] == ["placement", "order of jobs"]
            assert [one.parts[part] for part in list(PARTS)[1:3]] == [other.parts[part] for part in list(PARTS)[1:3]]
        assert len({(one.arrived, one.known, one.bound) for one in beating}) == 1


def test_knowledge_is_of_arrivals() -> None:
    """Tests the price of not knowing that a short job comes: whoever knows lets the long one wait."""
    instance = small([[], []], [1], job=[0, 1], job_ids=["a", "b"], arrival=[0, 1], duration=[9, 1])
    problem = JobTimes(instance)
    found = decompose(problem, First, [0], heartbeat=0)
    assert (found.arrived, found.known) == (9 + 9, 11 + 1)
    assert list(found.parts.values()) == [0, 0, 0, 0, 6, 0]
    at_once = replace(instance, workload=replace(instance.workload, arrival=np.ones(2)))
    found = decompose(JobTimes(at_once), First, [0], heartbeat=0)
    assert list(found.parts.values()) == [0, 0, 0, 8, 0, 0]  # no order that is tried looks at durations


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        (lambda problem: decompose(optsched.problem("lsap", "papers/guo-fig2"), "dl"), UsageError, "decompose takes"),
        (lambda problem: decompose(problem, "fair", []), UsageError, "one seed or more"),
        (lambda problem: decompose(problem, Idle, [0]), HeuristicFailed, "Idle"),
        (lambda problem: decompose_all(problem, []), UsageError, "give one policy or more"),
        (lambda problem: decompose_all(problem, "fair"), UsageError, r"for one alone there is optsched\.decompose"),
        (lambda problem: decompose_all(problem, ["fair", "fair"]), UsageError, "fair is there twice"),
        (lambda problem: decompose_all(problem, ["fair"], []), UsageError, "decompose: give one seed or more"),
        (lambda problem: decompose_all(problem, [("fair", {"delai": 1})]), UsageError, "delai"),
    ],
)
def test_what_is_refused(asked: Callable[[Makespan], object], error: type[Exception], message: str) -> None:
    """Tests a line for a problem without time, no seed or policy, one twice, a parameter that is none, and idling."""
    with pytest.raises(error, match=message):
        asked(Makespan(CROSSED))


def test_several_policies_share_what_is_below(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that one reference is solved for several policies: each has A and B of its own, and all share C and D."""
    problem = JobTimes(parse(json.dumps(document(5))))
    policies = ["fifo", "rand", ("fair", {"delay": 0})]
    alone = [decompose(problem, "fifo", range(2)), decompose(problem, "rand", range(2))]
    solved: list[object] = []
    solve = optsched.measuring.gaps.solve
    monkeypatch.setattr("optsched.measuring.gaps.solve", lambda *given: solved.append(given) or solve(*given))
    found = decompose_all(problem, policies, range(2))
    assert len(solved) == 1
    assert [one.label for one in found] == ["fifo", "rand", "fair,delay=0"]
    assert found.raise_if_failed() is found
    for one, single in zip(found, alone, strict=False):
        pairs = zip(one.runs, single.runs, strict=True)
        assert all((run.as_is, run.nearest) == (other.as_is, other.nearest) for run, other in pairs)
        assert one.known <= single.known
    for rows in zip(*(one.runs for one in found), strict=True):
        assert len({run.any_order for run in rows}) == 1
        assert rows[0].any_order <= min(run.nearest for run in rows)
    assert len({(one.arrived, one.known, one.bound, one.proof, one.assumed) for one in found}) == 1
    frame = found.frame()
    assert frame.index.tolist() == [one.label for one in found]
    assert (frame[list(PARTS)].sum(axis=1) - frame["gap"]).abs().max() < 1e-9
    assert (frame["as it is"] - frame["bound"] - frame["gap"]).abs().max() < 1e-9
    assert "3 gaps" in repr(found)
    assert found[0] is next(iter(found))


def test_the_order_of_another_policy() -> None:
    """Tests that C is another policy's order where that is the best one, unless that policy knows what comes."""

    class Longest(Policy):
        """The last task that waits: of two jobs that are there at once the order that is best here."""

        def offer(self, offer: object, view: object) -> tuple[int, ...]:
            return tuple(view.pending[-1:].tolist())

    jobs = {"job": [0, 1, 1, *[2] * 9], "job_ids": ["a", "b", "c"], "duration": [100, 30, 30, *[1] * 9]}
    instance = small([[]] * 12, [1], **jobs, observed=[0] * 12)
    state = State.initial(instance.cluster, instance.workload, start=[69, 9, 39, *range(9)])
    problem = JobTimes(instance.with_state(state))
    # c ends after 9 s, b after 69 s, a after 169 s; no plain order begins with the job of the most tasks.
    found = decompose_all(problem, [First, Longest], [0], heartbeat=0)
    assert [(run.as_is, run.any_order, last_name(run.order)) for one in found for run in one.runs] == [
        (100 + 160 + 169, 247, "Longest"),
        (247, 247, "policy"),
    ]
    beside = decompose_all(problem, [First, "observed"], [0], heartbeat=0)
    for known in (decompose(problem, First, [0], heartbeat=0), beside[0]):
        assert [(run.any_order, run.order) for run in known.runs] == [(429, "policy")]
        assert known.known == 247
    assert beside[1].runs[0].as_is == 247


def test_a_policy_that_fails_ends_no_table() -> None:
    """Tests that a policy that fails is told of by its name, and that the others are measured."""
    lines: list[str] = []
    found = decompose_all(Makespan(CROSSED), [First, Idle], [3], heartbeat=0, step=lines.append)
    assert [last_name(one.label) for one in found] == ["First"]
    assert list(map(last_name, found.failed)) == ["Idle"]
    assert list(map(last_name, lines)) == ["First, seed 3", "Idle, seed 3", "the best schedule"]
    with pytest.raises(HeuristicFailed, match='Idle": 2 maps wait'):
        found.raise_if_failed()
    lines.clear()
    nothing = decompose_all(Makespan(CROSSED), [Idle], [3], heartbeat=0, step=lines.append)
    assert (len(nothing), list(map(last_name, lines)), nothing.frame().shape) == (0, ["Idle, seed 3"], (0, 9))
