"""Limits on gaps: how they are read, which gap they count, and which runs break them."""

import json
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from replica_instances import small

from optsched import GapReports, InputError, Instance, UsageError
from optsched.measuring.records import Run
from optsched.measuring.studies import limits
from optsched.measuring.studies.limits import FORMAT, Baseline, Breach, GapLimit, breaches, lines, traceback_of
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
    unknown = replace(entry, made=replace(entry.report, absolute_gap=None, relative_gap=None))
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


# Recorded runs --------------------------------------------------------------------------------------------------------


def test_there_and_back(tmp_path: Path) -> None:
    """Tests that a file holds what was recorded, exactly, and the same bytes for the same runs."""
    measured = [*answers([0, 1]), *answers([0, 1], name="latency")]
    third = replace(measured[0], made=replace(measured[0].report, seed=1, objective=(Fraction(1, 3),)))
    failed = replace(measured[0], made=replace(measured[0].report, seed=2, objective=None))
    recorded = Baseline.of([*measured, third, failed])
    path = tmp_path / "folder" / "baseline.json"
    recorded.write(path)
    assert Baseline.read(path) == recorded
    before = path.read_bytes()
    Baseline.of([failed, third, *reversed(measured)]).write(path)
    assert path.read_bytes() == before, "the order of the runs does not count"
    assert '"1/3"' in before.decode()


@pytest.mark.parametrize(
    ("then", "now", "message"),
    [
        ([0, 1], [0, 1], None),
        ([1, 0], [0, 1], None),
        ([None, None], [1, 0], None),
        ([None, None], [None, None], None),
        ([0, 1], [1, 0], "the value is 2; recorded is 0"),
        ([1, 0], [None, 0], "had the value 2 when it was recorded; now infeasible"),
    ],
)
def test_compared(then: list[Any], now: list[Any], message: str | None) -> None:
    """Tests that a worse value, or a placement that is no longer feasible, is a breach; a better one is counted."""
    found, improved = Baseline.of(answers(then)).compare(answers(now))
    assert improved == (message is None and then != now)
    assert len(found) == (message is not None)
    assert message is None or found[0].message.startswith(message)


def test_compared_in_order_of_components_and_by_sense() -> None:
    """Tests that values compare as tuples, and that more is better where the objective is a maximum."""
    piled = small([[0], [0]], name="piled")
    work = Baseline.of(answers([0, 0], piled, "latency"))  # (2, 2)
    assert "the value is 3, 4, 50 % from the optimum; recorded is 2, 2 (0 %); if this is meant, record it again" in [
        breach.message for breach in work.compare(answers([0, 1], piled, "latency"))[0]
    ]
    measured = list(measure(plan("papers/ras-immobile", "utility", "fair-sharing"), 1))
    report = measured[0].report
    for change, breaks in ((Fraction(-1, 1000), True), (Fraction(1, 1000), False)):
        changed = replace(report, objective=(report.objective[0] + change, *report.objective[1:]))
        found, improved = Baseline.of(measured).compare([replace(measured[0], made=changed)])
        assert (bool(found), bool(improved)) == (breaks, not breaks)


def test_other_instances_parameters_and_runs() -> None:
    """Tests what is compared with nothing: another instance of that name, parameters, components, or no record."""
    recorded = Baseline.of(answers([0, 1]))
    other = small([[], []], name="two")
    ((breach,), _) = recorded.compare(answers([0, 1], other))
    assert "another than the recorded one" in breach.message
    ((breach,), _) = recorded.compare(answers([0, 1], levels=(0, 1, 2)))
    assert "other parameters" in breach.message
    ((breach,), _) = recorded.compare(answers([0, 1], name="latency"))
    assert "nothing is recorded" in breach.message
    all_of_them = [*answers([0, 1]), *answers([0, 1], other), *answers([0, 1], levels=(0, 1, 2))]
    assert Baseline.of(all_of_them).compare(all_of_them) == ([], 0)
    assert len(Baseline.of(all_of_them).entries) == 3, "instances of one name are recorded each"
    measured = answers([0, 1])
    second = [replace(measured[0], made=replace(measured[0].report, seed=1))]
    assert recorded.compare(second, every=False) == ([], 0), "another seed is recorded"
    ((breach,), _) = recorded.compare(second)
    assert "nothing is recorded of this run" in breach.message
    ((key, (_, gap)),) = Baseline.of(measured).entries.items()
    ((breach,), _) = Baseline({key: ((0, 0), gap)}).compare(measured)
    assert "what is recorded, 0, 0, is no value of lsap; if this is meant, record it again" in breach.message


@pytest.mark.thorough
def test_recorded_beside_each_other(tmp_path: Path) -> None:
    """Tests that four processes that record in one file at once lose nothing, and leave nothing behind."""
    path = tmp_path / "shared.json"
    script = (
        "import sys\n"
        "from optsched.measuring.studies.limits import Baseline\n"
        "from optsched.measuring.studies.runs import measure, plan\n"
        "for seed in range(5):\n"
        "    work = plan('papers/guo-fig2', 'lsap', 'rand')\n"
        "    Baseline.of(measure(work, [int(sys.argv[1]) * 5 + seed])).record(sys.argv[2])\n"
    )
    ran = [subprocess.Popen([sys.executable, "-c", script, str(part), str(path)]) for part in range(4)]
    assert [process.wait() for process in ran] == [0] * 4
    assert sorted(key[3] for key in Baseline.read(path).entries) == [*range(20)]
    assert [entry.name for entry in tmp_path.iterdir()] == ["shared.json"]


def test_a_file_that_is_held_or_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a file that is held for too long, or a folder that cannot be made, is reported with the path."""
    recorded = Baseline.of(answers([0, 1]))
    monkeypatch.setattr(limits, "PATIENCE", 0.01)
    with (
        limits._locked(tmp_path / "b.json"),
        pytest.raises(InputError, match=r"b\.json: another process has been recording in it"),
    ):
        recorded.record(tmp_path / "b.json")
    recorded.record(tmp_path / "b.json")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="its folder cannot be made"):
        recorded.record(tmp_path / "file" / "c.json")
    with pytest.raises(InputError, match="cannot be written"):
        recorded.record(tmp_path / ("x" * 300))


def test_a_lock_of_a_killed_process_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that what a process held that was killed is not waited for, not even a moment."""
    path = tmp_path / "b.json"
    script = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from optsched.measuring.studies.limits import _locked\n"
        "with _locked(Path(sys.argv[1])):\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    assert subprocess.run([sys.executable, "-c", script, str(path)], check=False).returncode == -9
    monkeypatch.setattr(limits, "PATIENCE", 0.0)
    Baseline.of(answers([0, 1])).record(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["b.json"]


#: A run as files have it, but for its objective.
RUN = dict.fromkeys(("instance", "problem", "heuristic", "instance_sha256"), "x") | {"seed": 0, "parameters": {}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "cannot be read as a baseline"),
        ("[]", "format"),
        ('{"format": "optsched-baseline/2"}', "optsched-baseline/2"),
        (json.dumps({"format": FORMAT}), "expected a list"),
        ([{"instance": "x"}, 5], r"runs\[1\]"),
        ([RUN | {"objective": [0.5]}], r"runs\[0\].objective\[0\]"),
        ([RUN | {"objective": "12"}], "a list of numbers, or null"),
        ([RUN | {"objective": []}], "a list of numbers, or null"),
        ([RUN | {"objective": [1], "gap": "5 %"}], r"runs\[0\]"),
        ([RUN | {"objective": [1], "seed": 1.5}], "seed is a whole number"),
        ([RUN | {"objective": [1], "seed": True}], "its seed is a whole number"),
        (
            [RUN | {"objective": [1]}, RUN | {"objective": [9]}],
            r"runs\[1\]: records a run that is recorded above; remove",
        ),
    ],
)
def test_broken_files(content: str | list[Any], message: str, tmp_path: Path) -> None:
    """Tests that a file that is no baseline, or of another version, is bad input with its place."""
    path = tmp_path / "baseline.json"
    path.write_text(content if isinstance(content, str) else json.dumps({"format": FORMAT, "runs": content}))
    with pytest.raises(InputError, match=message) as caught:
        Baseline.read(path)
    assert str(path) in str(caught.value)
