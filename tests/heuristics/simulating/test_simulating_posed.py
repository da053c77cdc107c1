"""Policies over time in a problem: their schedules are feasible there, and not past a bound."""

from typing import Any

import numpy as np
import pytest
from over_time import FORMS, document, fetching
from policy_cases import answering

import optsched
from optsched.core.errors import MissingField, UsageError
from optsched.core.instance import Cluster, Instance, Workload
from optsched.core.placement import MICRO, Schedule
from optsched.heuristics import HEURISTICS, applicable, heuristic, run
from optsched.heuristics.running.base import over_time
from optsched.heuristics.simulating import EveryRound, problem_service, run_posed, simulate
from optsched.instances.files import from_document
from optsched.instances.generate import generate
from optsched.measuring.gaps import Reference, gap
from optsched.measuring.matrix import gap_matrix
from optsched.measuring.records import record_fields
from optsched.measuring.studies.runs import plan
from optsched.measuring.studies.tables import gap_row
from optsched.problems import JobTimes, Lsap, Makespan

TWO = Workload(["t1", "t2"], duration=[2, 3])


def batch(seed: int = 0, **sizes: Any) -> Instance:
    """A generated instance."""
    found = generate("job-times", seed, **{"nodes": 3, "tasks": 8, "reduces": 3, "jobs": 3, "longest": 9} | sizes)
    assert isinstance(found, Instance)
    return found


def test_its_service_is_the_problems() -> None:
    """Tests that the ends of a run are those of the problem, of drawn instances with all that a file may have."""
    compared = 0
    for seed in range(40):
        problem = JobTimes(from_document(document(seed)), factors=(1, 2, 3), slowstart=0.5)
        begun = np.unique(problem.instance.workload.job[problem.instance.state.status != 0])
        late = problem.instance.workload.arrival[begun[begun >= 0]] > problem.instance.time
        if problem.plainly_infeasible is not None or not len(problem.tasks) or late.any():
            continue  # what has begun has arrived, whatever the file says
        found = run_posed(problem, heuristic("dl"), {"reading": "sweep"}, seed, heartbeat=0.5)
        if found.unfinished:
            continue
        assert not problem.violations(found.schedule), seed
        ran = problem.instance.state.status != 2
        assert found.end[ran].tolist() == problem.ends(found.schedule)[ran].tolist()
        compared += 1
    assert compared > 10


@pytest.mark.parametrize("form", FORMS)
def test_its_service_is_the_problems_with_transfer(form: str) -> None:
    """Tests that maps fetch in the run, too, and that reduces copy nothing there: all ends are those of the problem."""
    for seed in range(4):
        problem = JobTimes(fetching(seed, form, reduces=1), service="transfer", scale=0.3, slowstart=0.5)
        assert repr(problem_service(problem)) == "<Service transfer,scale=0.3,shuffle=none>"
        for name in ("fair", "lsap-sched"):
            found = run_posed(problem, heuristic(name), {}, seed, heartbeat=1)
            assert not problem.violations(found.schedule)
            assert found.end.tolist() == problem.ends(found.schedule).tolist()
            assert found.assumed == "transfer,scale=0.3,shuffle=none, heartbeat 1 s"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"heartbeat": -1}, "heartbeat=-1"),
        ({"heartbeat": "soon"}, "heartbeat='soon'"),
        ({"assign": "two"}, "assign='two'"),
        ({"max_idle_rounds": 3}, "makespan runs over time, in which there are no rounds"),
        ({"heartbet": 3}, "heartbet"),
    ],
)
def test_wrong_times(given: dict[str, Any], message: str) -> None:
    """Tests that what is no heartbeat, no way to assign and no parameter is refused."""
    with pytest.raises(UsageError, match=message):
        run(Makespan(Instance(Cluster(["a"]), TWO)), "dl", **given)


def test_no_times_where_nothing_runs() -> None:
    """Tests that a heartbeat is of problems over time alone, and a policy's own parameter of that name goes first."""
    with pytest.raises(UsageError, match="heartbeat"):
        run(Lsap(Instance(Cluster(["a"]), TWO)), "dl", heartbeat=3)
    problem = Makespan(Instance(Cluster(["a"]), TWO))
    assert dict(run(problem, "fair", assign="single").parameters)["assign"] == "single"
    assert dict(run(problem, "fair", heartbeat="1.5").parameters)["heartbeat"] == 1.5
    with pytest.raises(UsageError, match="multiple, single"):
        run(problem, "fair", assign="one")


def test_batch_heuristics_in_rounds() -> None:
    """Tests that they run over time as they are simulated, and a gap says what was assumed, in record and table."""
    problem = JobTimes(batch(2, gap=4), slowstart=0.5)
    reference = Reference(problem)
    for name, rounds in (("lsap-sched", {}), ("fifo", {"problem": "fair-lsap", "period": 5, "on_free": 2})):
        report = gap(problem, name, 3, reference, heartbeat=2, assign="one", **rounds)
        made = EveryRound(name, **rounds)
        same = simulate(problem.instance, made, heartbeat=2, assign="one", slowstart=0.5, seed=3)
        assert report.run.schedule == same.schedule
        assert (report.feasible, report.status) == (True, "done")
        assert dict(report.run.parameters).items() >= {"heartbeat": 2, "assign": "one", **rounds}.items()
        assert report.record()["assumed"] == "levels, heartbeat 2 s, one task each"
        assert gap_row(name, [report])["note"].endswith("levels, heartbeat 2 s, one task each")
    assert "assumed" in record_fields([problem], policies=True)
    assert "lsap-sched" not in [entry.name for entry in applicable(problem)]


@pytest.mark.parametrize("name", over_time())
def test_bug_every_heuristic_that_applies_left_out_batch_heuristics(name: str) -> None:
    """Tests that by default all heuristics are measured over time that a run takes by name, and each ends it."""
    posed = optsched.problem(name, "generated/job-times-n4-t10-reduces3-jobs4-slots1-running0.2-seed42")
    runs = {}
    for entry in HEURISTICS.values():
        try:
            runs[entry.name] = run(posed, entry.name)
        except (MissingField, UsageError):
            continue
    assert {"fifo", "lsap-sched", "lsap-fair-sched"} < set(runs)
    assert [entry.name for entry in applicable(posed, by_default=True)] == [name for name in runs if name != "observed"]
    assert [found.name for found in runs.values() if found.error is not None] == []
    (work,) = plan(posed.instance, name)
    assert {choice.label for choice in work.choices} == {*runs} - {"observed"}
    cell = gap_matrix([posed, Lsap(posed.instance)], {"fifo": ("fifo", {})})["fifo", name]
    assert (cell.ran_in, cell.reason) == (name, None)


def test_batch_heuristics_that_cannot_run() -> None:
    """Tests fields that a round would miss, problems that it does not serve, and rounds where nothing runs."""
    problem = Makespan(Instance(Cluster(["a"]), TWO))
    with pytest.raises(MissingField, match="quincy: topology: transmission-maps needs it"):
        run(problem, "quincy")
    with pytest.raises(UsageError, match="lsap-sched does not serve latency, only lsap"):
        run(problem, "lsap-sched", problem="latency")
    with pytest.raises(UsageError, match='lsap-sched has no parameter "period"'):
        run(Lsap(problem.instance), "lsap-sched", period=3)
    with pytest.raises(UsageError, match="period='often'"):
        run(problem, "lsap-sched", period="often")


#: Starts the first task, and then nothing.
LAZY = answering(lambda offer, view: [] if (view.status != 0).any() else [int(view.pending_of(offer.kind)[0])])


def test_policies_of_ones_own() -> None:
    """Tests a policy that leaves a task, one that starts one twice, and a callable that answers a schedule or none."""
    problem = JobTimes(Instance(Cluster(["a"]), TWO))
    reference = Reference(problem)
    lazy = gap(problem, LAZY, reference=reference)
    assert (lazy.status, lazy.waiting) == ("starved", 1)
    assert [entry.constraint for entry in lazy.violations] == ["every-task-runs"]
    assert gap_row("lazy", [lazy])["note"] == "starved: 1 of 2 tasks never started; levels, heartbeat 3 s"
    twice = gap(problem, answering(lambda offer, view: [0]), reference=reference)
    assert twice.status == "failed"
    assert "which is no map that waits" in str(twice.error)
    best = gap(problem, lambda given, rng: given.schedule([0, 0], [0, 2 * MICRO]), reference=reference)
    assert (best.objective, best.absolute_gap) == ((7,), (0,))
    assert best.record(placements=True)["placement"]["t2"] == {"node": "a", "start": 2000000}
    assert best.record(placements=True)["reference_placement"]["t2"] == {"node": "a", "start": 2000000}
    for answer, message in (
        (["a", "a"], "answered a list; give a Schedule"),
        (None, "answered None; give a Schedule"),
        (problem.schedule([7, 0], [0, 0]), "node index 7"),
        (Schedule.empty(5), "answered 5 tasks; give exactly"),
    ):
        assert message in str(gap(problem, lambda given, rng, answer=answer: answer, reference=reference).error)


def test_a_class_without_a_record_has_no_runner() -> None:
    """Tests that what a subclass changes no runner knows: it says so, and callables serve it."""

    class Other(Makespan):
        """Another makespan."""

    problem = Other(Instance(Cluster(["a"]), TWO))
    with pytest.raises(UsageError, match="no record names what runs policies over time in Other"):
        run(problem, LAZY)
