"""Limits on gaps: how they are read, which gap they count, and which runs break them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from optsched.core.errors import UsageError
from optsched.core.instance import Cluster, Instance, Ragged, Workload
from optsched.measuring.records import Run
from optsched.measuring.studies.limits import Breach, GapLimit, breaches
from optsched.measuring.studies.runs import measure, plan

#: Four slots, and four tasks of which the first has its data on a node without one: at best one is off its data.
ONE_OFF = Instance(
    Cluster(["a", "b", "c", "d", "full"], slots=[1, 1, 1, 1, 0]),
    Workload(["t0", "t1", "t2", "t3"], replicas=Ragged.from_rows([[4], [0], [1], [2]])),
    name="one",
)


def rotated(by: list[int]) -> Any:
    """A heuristic that takes the optimum and passes the nodes of `by[run]` local tasks round: so many more are off."""
    turns = iter(by)

    def place(problem: Any, rng: Any) -> list[str]:
        local, turn = ["a", "b", "c"], next(turns)
        return ["d", *local[1:turn], *local[: min(turn, 1)], *local[turn:]]

    return place


def runs(by: list[int]) -> list[Run]:
    """Runs on one instance, each with so many more tasks off their data than the optimum, 1."""
    return list(measure(plan(ONE_OFF, "lsap", rotated(by)), len(by)))


@pytest.mark.parametrize(
    ("over", "most", "holds"),
    [("worst", 3, True), ("worst", 2.9, False), ("mean", 1.25, True), ("mean", 1.24, False), ("median", 2, True),
     ("median", 1.9, False), (0.5, 0, True), (0.75, 2, True), (0.75, 1, False), (1, 3, True), (1, 2, False)],
)  # fmt: skip
def test_over_runs(over: Any, most: Any, holds: bool) -> None:
    """Tests each way to compare several runs, whose gaps are 0, 0, 2, 3: the median is the higher middle."""
    limit = GapLimit.of(max_gap=Fraction(str(most)), over=over)
    assert limit is not None
    measured = runs([0, 0, 2, 3])
    assert [entry.report.deciding for entry in measured] == [(0, 0), (0, 0), (2, 2), (3, 3)]
    found = breaches(measured, limit)
    assert (not found) is holds
    if found:
        assert found[0].worst is measured[-1], "the worst run is shown"
        assert str(Fraction(str(most)) * 100 // 1) in found[0].told


def test_an_optimum_of_zero() -> None:
    """Tests that beside an optimum of 0 a share breaks every limit and says why, and a difference is compared."""
    measured = list(measure(plan(zero(), "lsap", swapped), 1))
    share = GapLimit.of(max_gap="10000%")
    (breach,) = breaches(measured, share)
    assert "over 0: the reference is 0" in breach.told
    assert "max_absolute" in breach.told
    assert not breaches(measured, GapLimit.of(max_absolute=2))
    (breach,) = breaches(measured, GapLimit.of(max_absolute=1))
    assert breach.told == "the gap is 2, over the limit of 1"


def zero() -> Instance:
    """Two tasks that fit on their nodes."""
    return Instance(Cluster(["a", "b"]), Workload(["t1", "t2"], replicas=Ragged.from_rows([[0], [1]])), name="zero")


def swapped(problem: Any, rng: Any) -> list[str]:
    """Each task on the other's node."""
    return ["b", "a"]


def test_infeasible_placements() -> None:
    """Tests that a run without a feasible placement breaks what wants feasibility, and counts as endless else."""

    def sometimes(problem: Any, rng: Any) -> list[str | None]:
        sometimes.run += 1  # type: ignore[attr-defined]
        return [None, None] if sometimes.run == 1 else ["a", "b"]  # type: ignore[attr-defined]

    sometimes.run = 0  # type: ignore[attr-defined]
    measured = list(measure(plan(zero(), "lsap", sometimes), 4))
    (breach,) = breaches(measured, None)
    assert breach.told.startswith("1 of 4 runs without a feasible placement: infeasible: cardinality")
    assert not breaches(measured, None, feasible=False)
    assert not breaches(measured, GapLimit.of(max_gap=0, over=0.75), feasible=False)
    assert breaches(measured, GapLimit.of(max_gap=0, over="worst"), feasible=False)
    assert breaches(measured, GapLimit.of(max_gap=0, over="mean"), feasible=False)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"max_gap": 0, "max_absolute": 0}, "not both"),
        ({"max_gap": 0, "over": "best"}, "worst, mean, median"),
        ({"max_gap": 0, "over": 0}, "quantile"),
        ({"max_gap": 0, "over": 1.5}, "quantile"),
        ({"max_gap": 0, "frontier": True}, "component"),
        ({"max_absolute": "x"}, "max_absolute is a number"),
    ],
)
def test_limits_that_are_none(given: dict[str, Any], told: str) -> None:
    """Tests that what goes not together, or does not exist, is wrong usage."""
    with pytest.raises(UsageError, match=told):
        GapLimit.of(**given)


def test_no_limit() -> None:
    """Tests that without a number there is no limit."""
    assert GapLimit.of() is None


LATENCY = Instance(
    Cluster(["a", "b", "c"]),
    Workload(["t1", "t2", "t3"], replicas=Ragged.from_rows([[0], [0], [0]])),
    name="piled",
)


def remote(problem: Any, rng: Any) -> list[str]:
    """One task a server, two of them off their data: makespan 3, as on one server, but more work."""
    return ["a", "b", "c"]


def test_component_and_frontier() -> None:
    """Tests that a component is measured against the optimum, and on the frontier against the best beside the other.

    Three tasks of server a, weights 1 and 3: on a alone makespan 3 and work 3, which is the optimum. One a server has
    makespan 3 and work 7, that is 4 beyond the least work at its makespan, and 0 beyond the least makespan.
    """
    measured = list(measure(plan(LATENCY, "latency", remote), 1))
    assert measured[0].report.objective == (3, 7)
    for given, gap in (
        ({"component": "work"}, 4),
        ({"component": "makespan"}, 0),
        ({"component": "work", "frontier": True}, 4),
        ({"component": "makespan", "frontier": True}, 0),
    ):
        limit = GapLimit.of(max_absolute=0, **given)
        assert limit is not None
        assert limit.gap(measured[0].report) == gap, given
    relative = GapLimit.of(max_gap="133%", component="work", frontier=True)
    (breach,) = breaches(measured, relative)
    assert "133.3 %, over the limit of 133 %" in breach.told
    for wrong, told in (({"component": "load"}, "makespan"), ({}, "wants component")):
        with pytest.raises(UsageError, match=told):
            breaches(measured, GapLimit.of(max_absolute=0, **wrong))
    with pytest.raises(UsageError, match="no frontier"):
        breaches(runs([0]), GapLimit.of(max_gap=0, component="locality-cost", frontier=True))


def test_later_component_of_a_worse_run() -> None:
    """Tests that a component after one that differs has no gap from the optimum, and that the message says so."""

    def far(problem: Any, rng: Any) -> list[str]:
        return ["b", "b", "b"]

    (breach,) = breaches(measure(plan(LATENCY, "latency", far), 1), GapLimit.of(max_absolute=0, component="work"))
    assert isinstance(breach, Breach)
    assert "unknown" in breach.told
    assert "frontier" in breach.told


@pytest.mark.parametrize("given", [{"over": "mean"}, {"component": "work"}, {"frontier": True}, {"over": "nonsense"}])
def test_nothing_is_limited(given: dict[str, Any]) -> None:
    """Tests that which gap is meant, without a limit on it, is no assertion that holds of everything."""
    with pytest.raises(UsageError, match="give max_gap or max_absolute"):
        GapLimit.of(**given)


def test_bug_a_frontier_at_zero_was_told_by_another_gap() -> None:
    """Tests that over a best of 0 on the frontier the component's own difference is told, whatever the optimum says."""
    (entry,) = measure(plan("examples/weights-decimal", "lsap-fairness", "rand"), 1)
    limit = GapLimit.of(max_gap=0, component="fairness-distance", frontier=True)
    unknown = replace(entry, made=replace(entry.report, absolute_gap=None, relative_gap=None))
    for measured in (entry, unknown):
        (breach,) = breaches([measured], limit)
        assert breach.told.startswith("the gap is 1/15 over 0: ")
