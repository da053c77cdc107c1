"""When each task ran where, as frames: against schedules followed by hand, and against looking at instants."""

import math

import numpy as np
import pandas as pd
import pytest
from over_time import arriving, document

import optsched
from optsched import UsageError, gap, problem, solve
from optsched.core.instance import Cluster, Instance, Ragged, State, Workload
from optsched.core.placement import MICRO
from optsched.heuristics.simulating import EveryRound, Simulation, simulate
from optsched.instances.files import from_document
from optsched.measuring import timelines
from optsched.measuring.timelines import job_reductions, regret, running_tasks, time_distribution, timeline
from optsched.problems.makespan import Makespan
from optsched.solvers.searches.schedules import placed_schedules


@pytest.fixture(scope="module")
def runs() -> list[Simulation]:
    """Two policies on two workloads each, one after another."""
    return [simulate(arriving(seed), policy, seed=1) for policy in ("dl", "fair") for seed in (1, 2)]


def small() -> Instance:
    """Two nodes; a map of a job runs, two wait, and a reduce of theirs; one map of no job."""
    cluster = Cluster(["a", "b"], slots=[2, 1], reduce_slots=[1, 0], rack=[0, 0], rack_ids=["r"])
    jobs = {"kind": [0, 0, 0, 1, 0], "job": [0, 0, 0, 0, -1], "job_ids": ["j"]}
    times, replicas = [[4, 6, 9]] * 3 + [[2, 2, 2], [1, 1, 3]], Ragged.from_rows([[0], [1], [0], [], []])
    workload = Workload(["m1", "m2", "m3", "r", "x"], **jobs, replicas=replicas, times=times)
    runs = {"status": [1, 0, 0, 0, 0], "node": [0, -1, -1, -1, -1], "start": [1] + [math.nan] * 4}
    return Instance(cluster, workload, State.initial(cluster, workload, time=2, **runs, idle_slots=[1, 1]))


def test_a_schedule_by_hand() -> None:
    """Tests nodes, slots, locality, starts and ends of a schedule with a task that runs already, and who waits when."""
    problem = Makespan(small())
    schedule = problem.schedule([1, 0, 0, 0], [2 * MICRO, 2 * MICRO, 6 * MICRO, 6 * MICRO])
    line = timeline(problem, schedule, "mine")
    rows = timelines.spans(line)
    shown = rows.drop(columns="run").astype(object)
    assert shown.where(shown.notna(), None).to_numpy().tolist() == [
        ["m1", "j", "map", "a", 0, "node", 1, 5],
        ["m2", "j", "map", "b", 0, "node", 2, 6],
        ["m3", "j", "map", "a", 1, "node", 2, 6],
        ["r", "j", "reduce", "a", 0, "off_rack", 6, 8],
        ["x", None, "map", "a", 1, "off_rack", 6, 9],
    ]
    assert set(rows["run"]) == {"mine"}
    columns = ["time", "running", "waiting", "slots"]
    steps = {kind: rows[columns].to_numpy().tolist() for kind, rows in running_tasks([line]).groupby("kind")}
    assert steps["map"] == [[2, 3, 1, 3], [5, 2, 1, 3], [6, 1, 0, 3], [9, 0, 0, 3]]
    assert steps["reduce"] == [[2, 0, 1, 1], [6, 1, 0, 1], [8, 0, 0, 1], [9, 0, 0, 1]]
    assert time_distribution(line)[["seconds", "share"]].to_numpy().tolist() == [[6, 0.5], [7, 1]]
    assert time_distribution(line, "map")["seconds"].tolist() == [3, 4, 4, 4]


def test_slots_are_taken_by_one_task_at_a_time() -> None:
    """Tests on drawn schedules that no slot has two tasks at once, and that there are no more slots than room."""
    seen = 0
    for seed in range(60):
        problem = optsched.problem("makespan", from_document(document(seed)))
        for schedule in placed_schedules(problem):
            one = timeline(problem, schedule)
            taken: dict[tuple[int, int, int], int] = {}
            columns = (one.nodes, one.kinds, one.lanes, one.starts, one.ends)
            for node, kind, lane, start, end in zip(*(column.tolist() for column in columns), strict=True):
                assert taken.get((node, kind, lane), start) <= start
                taken[node, kind, lane] = end
                assert lane < one.slots["reduce" if kind else "map"][node]
                seen += lane > 0
    assert seen > 20


def test_running_tasks_by_looking_at_instants(runs: list[Simulation]) -> None:
    """Tests at every instant, and between instants, how many tasks run and wait, by the frame of tasks of each run."""
    for run in runs:
        steps, tasks = running_tasks(run), run.tasks
        for kind in ("map", "reduce"):
            own, rows = tasks[tasks["kind"] == kind], steps[steps["kind"] == kind]
            assert rows["time"].is_monotonic_increasing
            for row in rows.to_dict("records"):
                at = row["time"]
                runs_then = (own["starting_time"] <= at) & (own["finish_time"] > at)
                waits_then = (own["submission_time"] <= at) & (own["starting_time"] > at)
                assert (row["running"], row["waiting"]) == (runs_then.sum(), waits_then.sum())
                assert row["utilisation"] == row["running"] / row["slots"]
            area = (rows["running"].to_numpy()[:-1] * np.diff(rows["time"])).sum()
            assert math.isclose(area, own["execution_time"].sum())


def test_reductions_by_hand(runs: list[Simulation]) -> None:
    """Tests the share by which each job was quicker, job by job, and which policy is compared."""
    found = job_reductions(runs)
    theirs, ours = (pd.concat([run.jobs for run in part], ignore_index=True) for part in (runs[:2], runs[2:]))
    assert found["job_id"].tolist() == theirs["job_id"].tolist()
    assert np.allclose(found["reduction"], 1 - ours["turnaround_time"] / theirs["turnaround_time"])
    nothing = Instance(Cluster(["a"], slots=[2]), Workload(["t", "u"], duration=[0, 1]))
    none = [timeline(simulate(nothing, "dl", heartbeat=0), name=name) for name in "ab"]
    assert job_reductions(none)["job_id"].tolist() == ["u"]  # no share of no time
    assert set(found["run"]) == {"dl"}
    assert set(job_reductions(runs, "dl")["run"]) == {"fair"}


def test_locality_by_size_by_hand(runs: list[Simulation]) -> None:
    """Tests sizes in MB and in maps, and shares by size, against the frames of jobs; many sizes by powers of two."""
    run = runs[0]
    found = timelines.locality_by_size(run)
    jobs, workload = run.jobs, run.instance.workload
    maps = (workload.kind == 0) & (workload.job >= 0)
    size = np.bincount(workload.job[maps], weights=workload.size[maps], minlength=len(workload.job_ids))
    due = sorted((size[workload.job_ids.tolist().index(row["job_id"])], row) for row in jobs.to_dict("records"))
    assert (found["unit"] == "MB").all()
    assert found["least"].tolist() == [mb for mb, _ in due]
    for (_, row), shown in zip(due, found.to_dict("records"), strict=True):
        assert shown["maps"] == row["maps"]
        assert [shown[near] * row["maps"] for near in ("node", "rack", "off_rack")] == pytest.approx(
            [row["node_local"], row["rack_local"], row["off_rack"]]
        )
    sizes = [1, 2, 3, 4, 5, 6, 7, 8, 9, 20]
    job = np.repeat(np.arange(len(sizes)), sizes)
    cluster, names = Cluster(["a"], slots=[9]), [f"t{number}" for number in range(len(job))]
    many = Workload(names, job=job, job_ids=[f"j{number}" for number in range(len(sizes))], duration=[1] * len(job))
    shown = timelines.locality_by_size(simulate(Instance(cluster, many), "dl"))
    assert shown[["least", "most", "jobs"]].to_numpy().tolist() == [
        [1, 1, 1], [2, 3, 2], [4, 7, 4], [8, 9, 2], [20, 20, 1],
    ]  # fmt: skip
    assert set(shown["unit"]) == {"maps"}


def test_reports_are_timelines() -> None:
    """Tests that a gap over time is one, and what is none is reported."""
    problem = optsched.problem("makespan", "examples/order-of-jobs")
    report = gap(problem, "fair")
    assert timeline(report).name == "fair"
    assert timeline(report).assumed == report.run.assumed == "levels, heartbeat 3 s"
    assert timeline(timeline(report), name="b").rows.tolist() == timeline(report).rows.tolist()
    for wrong, message in (
        (lambda: timeline(problem), "a timeline is of a schedule, not of None"),
        (lambda: timeline("x"), 'not the text "x"'),
        (lambda: timelines.timelines_of([]), "there is no run to show"),
        (lambda: timeline(problem, optsched.Schedule.empty(1)), "the schedule is of another instance"),
        (lambda: time_distribution(report, "task"), "of='task': give job, map or reduce"),
        (lambda: job_reductions(report), "reductions need fair and another one"),
        (lambda: job_reductions([timeline(report), simulate(arriving(1), "dl")]), "ran on different instances"),
    ):
        with pytest.raises(UsageError, match=message):
            wrong()


# What each decision of a run cost -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lsap", "transmission-maps"])
def test_regrets_are_gaps_of_single_decisions(name: str) -> None:
    """Tests that none is negative, each optimum is that of its snapshot, and that only maps are judged."""
    run = simulate(arriving(2, tasks=8), "rand", seed=1, heartbeat=2, randomness=1)
    regrets = regret(run, name)
    starts = [(time, node, tasks) for _, time, node, tasks in run.decisions()]
    maps = [(time, tasks) for time, _, tasks in starts if (run.instance.workload.kind[tasks] == 0).all()]
    ids = run.instance.workload.task_ids
    assert [row.split() for row in regrets["tasks"]] == [ids[tasks].tolist() for _, tasks in maps]
    assert (regrets["regret"].astype(float) >= 0).all()
    assert (regrets["regret"].astype(float) > 0).any()
    assert regrets["proved"].all()
    position = next(iter(run.decisions()))[0]
    first = solve(problem(name, run.snapshot(position, starts[0][0])))
    assert regrets["optimum"][0] == first.objective[0]
    assert run.regret(name).equals(regrets)


def test_decisions_without_regret() -> None:
    """Tests that there is no regret of decisions of one optimum at one instant, nor where nothing is feasible."""
    run = simulate(arriving(1, reduces=0), EveryRound("solve", "lsap"), heartbeat=0)
    assert (regret(run, "lsap", profile="quick")["regret"].astype(float) == 0).all()
    run = simulate(arriving(2, tasks=6), "fair", heartbeat=0)
    regrets = regret(run, "latency", parameters={"w_rem": 3})
    assert regrets["regret"].isna().sum() + (regrets["regret"].dropna() >= 0).sum() == len(regrets)
    with pytest.raises(UsageError, match="min-cost-flow does not place tasks on a snapshot"):
        regret(run, "min-cost-flow")
