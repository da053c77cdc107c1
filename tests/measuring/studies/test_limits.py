"""Limits on gaps: how they are read, which gap they count, and which runs break them."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from small_problems import small

from optsched import GapReports, Instance, UsageError
from optsched.measuring.records import Run
from optsched.measuring.studies.limits import Breach, GapLimit, breaches, lines, traceback_of
from optsched.measuring.studies.runs import measure, plan

#: Four slots, and four tasks of which the first has its data on a node without one: at best one is off its data.
ONE_OFF = small([[4], [0], [1], [2]], [1, 1, 1, 1, 0], name="one")


def in_turn(*answers: list[Any]) -> Any:
    """A heuristic with an answer for each run; all such have one label."""
    turns = iter(answers)

    def place(problem: Any, rng: Any) -> list[Any]:
        return next(turns)

    place.__qualname__ = "place"
    return place


TWO = small([[0], [1]], name="two")


def answers(nodes: list[Any], instance: Instance = TWO, name: str = "lsap", **parameters: Any) -> list[Run]:
    """One run with that answer."""
    return list(measure(plan(instance, name, in_turn(nodes), parameters), 1))


def runs(by: list[int]) -> list[Run]:
    """Runs on one instance, each with so many more tasks off their data than the optimum, 1."""
    answers = {0: [3, 0, 1, 2], 2: [3, 1, 0, 2], 3: [3, 1, 2, 0]}
    return list(measure(plan(ONE_OFF, "lsap", in_turn(*(answers[more] for more in by))), len(by)))


@pytest.mark.parametrize(
    ("over", "most", "holds"),
    [("worst", 3, True), ("worst", 2.9, False), ("mean", 1.25, True), ("mean", 1.24, False), ("median", 2, True),
     ("median", 1.9, False), (0.5, 0, True), (0.75, 2, True), (0.75, 1, False), (1, 3, True), (1, 2, False)],
)  # fmt: skip
def test_over_runs(over: Any, most: Any, holds: bool) -> None:
    """Tests each way to compare several runs, whose gaps are 0, 0, 2, 3: the median is the higher middle."""
    limit = GapLimit.of(max_gap=Fraction(str(most)), over=over)
    measured = runs([0, 0, 2, 3])
    assert [entry.report.deciding for entry in measured] == [(0, 0), (0, 0), (2, 2), (3, 3)]
    found = breaches(measured, limit)
    assert (not found) is holds
    if found:
        assert found[0].worst is measured[-1], "the worst run is shown"
        assert str(Fraction(str(most)) * 100 // 1) in found[0].message


def test_an_optimum_of_zero() -> None:
    """Tests that beside an optimum of 0 a share breaks every limit and says why, and a difference is compared."""
    measured = list(measure(plan(made(2), "lsap", swap), 1))
    share = GapLimit.of(max_gap="10000%")
    (breach,) = breaches(measured, share)
    assert "over 0: the reference is 0" in breach.message
    assert "max_absolute" in breach.message
    assert not breaches(measured, GapLimit.of(max_absolute=2))
    (breach,) = breaches(measured, GapLimit.of(max_absolute=1))
    assert breach.message == "the gap is 2, over the limit of 1"


def test_infeasible_placements() -> None:
    """Tests that a run without a feasible placement breaks what wants feasibility, and counts as endless else."""
    measured = list(measure(plan(made(2), "lsap", in_turn([None, None], *[[0, 1]] * 3)), 4))
    (breach,) = breaches(measured, None)
    assert breach.message.startswith("1 of 4 runs without a feasible placement: infeasible: cardinality")
    assert not breaches(measured, None, feasible=False)
    assert not breaches(measured, GapLimit.of(max_gap=0, over=0.75), feasible=False)
    assert breaches(measured, GapLimit.of(max_gap=0, over="worst"), feasible=False)
    assert breaches(measured, GapLimit.of(max_gap=0, over="mean"), feasible=False)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"max_gap": 0, "max_absolute": 0}, "not both"),
        ({"max_gap": 0, "over": "best"}, "worst, mean, median"),
        ({"max_gap": 0, "over": 0}, "quantile"),
        ({"max_gap": 0, "over": 1.5}, "quantile"),
        ({"max_gap": 0, "frontier": True}, "component"),
        ({"max_absolute": "x"}, "max_absolute is a number"),
        ({"over": "nonsense"}, "give max_gap or max_absolute"),
        ({"component": "work"}, "give max_gap or max_absolute"),
        ({"frontier": True}, "give max_gap or max_absolute"),
    ],
)
def test_limits_that_are_none(given: dict[str, Any], message: str) -> None:
    """Tests that what goes not together, or does not exist, is wrong usage."""
    with pytest.raises(UsageError, match=message):
        GapLimit.of(**given)
    assert GapLimit.of() is None


PILED = small([[0]] * 3, name="piled")


def test_component_and_frontier() -> None:
    """Tests that a component is measured against the optimum, and on the frontier against the best beside the other.

    Three tasks of server n0, weights 1 and 3: on n0 alone makespan 3 and work 3, which is the optimum. One a server has
    makespan 3 and work 7, that is 4 beyond the least work at its makespan, and 0 beyond the least makespan.
    """
    measured = answers([0, 1, 2], PILED, "latency")
    assert measured[0].report.objective == (3, 7)
    for given, gap in (
        ({"component": "work"}, 4),
        ({"component": "makespan"}, 0),
        ({"component": "work", "frontier": True}, 4),
        ({"component": "makespan", "frontier": True}, 0),
    ):
        limit = GapLimit.of(max_absolute=0, **given)
        assert limit.gap(measured[0].report) == gap, given
    relative = GapLimit.of(max_gap="133%", component="work", frontier=True)
    (breach,) = breaches(measured, relative)
    assert "133.3 %, over the limit of 133 %" in breach.message
    for wrong, message in (({"component": "load"}, "makespan"), ({}, "wants component")):
        with pytest.raises(UsageError, match=message):
            breaches(measured, GapLimit.of(max_absolute=0, **wrong))
    with pytest.raises(UsageError, match="no frontier"):
        breaches(runs([0]), GapLimit.of(max_gap=0, component="locality-cost", frontier=True))


def test_later_component_of_a_worse_run() -> None:
    """Tests that a component after one that differs has no gap from the optimum, and that the message says so."""
    (breach,) = breaches(answers([1, 1, 1], PILED, "latency"), GapLimit.of(max_absolute=0, component="work"))
    assert "unknown" in breach.message
    assert "frontier" in breach.message


def test_bug_a_frontier_at_zero_was_told_by_another_gap() -> None:
    """Tests that over a best of 0 on the frontier the component's own difference is said, whatever the optimum says."""
    (entry,) = measure(plan("examples/weights-decimal", "lsap-fairness", "rand"), 1)
    limit = GapLimit.of(max_gap=0, component="fairness-distance", frontier=True)
    unknown = Run.of(replace(entry.report, absolute_gap=None, relative_gap=None), entry.group, entry.heuristic)
    for measured in (entry, unknown):
        (breach,) = breaches([measured], limit)
        assert breach.message.startswith("the gap is 1/15 over 0: ")


def swap(problem: Any, rng: Any) -> list[str]:
    """The first two nodes, the wrong way round."""
    return list(problem.instance.cluster.node_ids[[1, 0, *range(2, len(problem.tasks))]])


def made(tasks: int) -> Instance:
    """Task i has its data on node i."""
    return small([[task] for task in range(tasks)], name="row")


def measured(instances: Any, heuristic: Any = swap, name: str = "lsap", **parameters: Any) -> list[Run]:
    """One run."""
    return list(measure(plan(instances, name, heuristic, parameters), 1))


def test_lines_of_a_breach() -> None:
    """Tests that a breach tells the run, both values, each task that differs with both nodes, and what to do."""
    printed = list(lines(breaches(measured(made(3)), GapLimit.of(max_absolute=1))))
    assert printed[:4] == [
        f"{__name__}:swap on row, lsap, seed 0: the gap is 2, over the limit of 1",
        "  value 2 against the optimum 0",
        "  2 avoidable off-rack maps (2 less locality-cost), on n1, n0",
        "  2 of 3 tasks run elsewhere than in the nearest optimal placement:",
    ]
    assert [line.split()[0] for line in printed[4:7]] == ["task", "t0", "t1"]
    assert printed[5].split() == ["t0", "n1", "n0"]
    assert printed[7].startswith("  reproduce it: save the instance first (optsched.save(instance, 'row.json'))")
    printed = list(lines(breaches(measured("papers/guo-fig2"), GapLimit.of(max_absolute=0)), folder="a b"))
    again_there = "  reproduce it: cd 'a b' && PYTHONPATH=.. optsched gap papers/guo-fig2 --problem lsap"
    assert printed[-1].startswith(again_there)


def test_bug_a_mean_gap_stood_beside_the_values_of_the_worst_run() -> None:
    """Tests that the mean over the runs comes first, and then the worst run with its own gap."""
    printed = list(lines(breaches(runs([0, 0, 2, 3]), GapLimit.of(max_gap="50%", over="mean"))))
    assert printed[0].endswith("place on one, lsap: the mean gap of 4 runs is 125 %, over the limit of 50 %")
    assert printed[1] == "  the worst run, on one, seed 3, has a gap of 300 %: value 4 against the optimum 1"
    printed = list(lines(breaches(runs([0, 0, 2, 3]), GapLimit.of(max_gap="50%"))))
    assert printed[0].endswith("on one, lsap, seed 3: the gap is 300 % (worst of 4 runs), over the limit of 50 %")


def test_bug_a_mean_was_rounded_in_two_ways() -> None:
    """Tests that a report has the mean that a limit is compared with: of 2/3 and 1, and of 0; floats gave less."""
    both = [small([[6], [6], [6], [0], [1], [2]], [1] * 6 + [0], name=name) for name in ("one", "two")]
    place = in_turn([3, 4, 5, 1, 0, 2], [3, 4, 5, 1, 2, 0], [3, 4, 5, 0, 1, 2], [3, 4, 5, 0, 1, 2])
    (_, numbers) = GapReports(list(measure(plan(both, "lsap", place), 2))).in_words()
    assert numbers["mean"] == float(Fraction(5, 12))


def test_bug_what_avoidable_maps_left_of_a_gap_had_no_name() -> None:
    """Tests that a line names the rest of a gap of 6, of which avoidable maps are 4."""
    printed = list(lines(breaches(measured("generated/lsap-n20-t15-seed0", "rand"), GapLimit.of(max_gap=0))))
    assert printed[1] == "  value 8 against the optimum 2"
    assert printed[2].startswith("  4 avoidable rack-local maps (4 less locality-cost), on n7")
    assert printed[3] == "  tasks that wait in only one of the placements and all other moves: 2 less locality-cost"


def test_traceback_begins_with_the_users_own_line() -> None:
    """Tests that what called a heuristic is left out of its traceback, and that what it called is there."""

    def broken(problem: Any, rng: Any) -> list[str]:
        raise ValueError("no") from KeyError("cause")

    (entry,) = measured(made(1), broken)
    cause = entry.report.run.cause
    message = traceback_of(cause)
    assert "KeyError: 'cause'" in message
    assert message.endswith("ValueError: no\n")
    assert message.count("File ") == 1
    assert "in broken" in message
    assert "never raised" in traceback_of(ValueError("never raised"))


def test_tables_of_tasks() -> None:
    """Tests that of many tasks and breaches the rest is counted; who waits has a dash, no placement has no table."""
    found = answers([*range(1, 30), 0], made(30))
    printed = list(lines(breaches(found, GapLimit.of(max_absolute=0))))
    assert "    and 18 more" in printed
    many = [Breach("is wrong", found[0], tuple(found))] * 14
    assert list(lines(many))[-1] == "and 2 more"
    printed = list(lines(breaches(answers([0, None], made(2)), None)))
    assert printed[0].endswith("seed 0: infeasible: cardinality: 1 task too few placed")
    assert len(printed) == 2, "an infeasible placement is not compared"

    def broken(problem: Any, rng: Any) -> list[str]:
        raise KeyError("lost")

    printed = list(lines(breaches(measured(made(2), broken), None)))
    assert "raised KeyError: 'lost'" in printed[0]
