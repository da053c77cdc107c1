"""Pictures of runs: lines and bars are the numbers of the frames, and bars of Gantt charts are where tasks ran."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from over_time import arriving
from pictured import outside, texts

import optsched
from optsched import showing
from optsched.cli.simulating import PLOTS
from optsched.core.errors import UsageError
from optsched.core.instance import Cluster, Instance, Workload
from optsched.core.placement import MICRO
from optsched.heuristics.simulating import Simulation, simulate
from optsched.measuring.timelines import (
    Timeline,
    job_reductions,
    locality_by_size,
    running_tasks,
    time_distribution,
    timeline,
)
from optsched.problems.makespan import Makespan
from optsched.showing import runs as drawing_runs
from optsched.showing.figures import picture
from optsched.showing.runs import gantt_picture, locality_picture, reductions_picture, running_picture, times_picture

DAY = optsched.load("examples/order-of-jobs")


@pytest.fixture(scope="module")
def runs() -> list[Simulation]:
    """Three policies on a workload."""
    return [simulate(arriving(1), policy, seed=1) for policy in ("dl", "fair", "lsap-sched")]


def points(line: Any) -> list[tuple[float, float]]:
    """The points of a line."""
    return list(zip(*map(list, line.get_data()), strict=True))


def test_distributions(runs: list[Simulation]) -> None:
    """Tests that each curve starts at 0, has every time with its share, and goes on to the longest of all."""
    figure = times_picture(runs)
    for axes, of in zip(figure.axes, ("job", "map", "reduce"), strict=True):
        frame = time_distribution(runs, of)
        for line, run in zip(axes.lines, runs, strict=True):
            own = frame[frame["run"] == run.policy]
            due = [*zip(own["seconds"], 100 * own["share"], strict=True)]
            assert points(line) == [(0, 0), *due, (frame["seconds"].max(), due[-1][1])]
        looks = {(line.get_linestyle(), line.get_marker()) for line in axes.lines}
        assert len(dict(looks)) == len(looks) == 3
    assert texts(figure)[1:] == ["dl", "fair", "lsap-sched"]
    assert len(times_picture(simulate(arriving(2, tasks=4, reduces=0), "dl")).axes) == 2


def test_reductions(runs: list[Simulation]) -> None:
    """Tests the curve of each other policy, and the line at 0."""
    axes = reductions_picture(runs, "fair").axes[0]
    frame = job_reductions(runs, "fair")
    for line, policy in zip(axes.lines, ("dl", "lsap-sched"), strict=False):
        due = np.sort(100 * frame[frame["run"] == policy]["reduction"])
        assert [x for x, _ in points(line)][1:-1] == pytest.approx(due)
        assert [y for _, y in points(line)] == pytest.approx([0, 100 / 3, 200 / 3, 100, 100])
    assert set(axes.lines[-1].get_xdata()) == {0}
    assert axes.get_xlabel() == "job time with fair is less by (%)"


def test_running(runs: list[Simulation], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests running and waiting tasks of each kind, the slots, and that means of thinned lines keep the area."""
    figure = running_picture([*runs, runs[0]])
    frame = running_tasks(runs)
    for row, kind in enumerate(("map", "reduce")):
        for column, name in enumerate(("running", "waiting")):
            axes = figure.axes[2 * row + column]
            for number, line in enumerate(axes.lines[:3]):
                part = frame[(frame["number"] == number) & (frame["kind"] == kind)]
                assert points(line) == [*zip(part["time"], part[name], strict=True)]
        slots = frame[frame["kind"] == kind]["slots"].max()
        assert set(figure.axes[2 * row].lines[3].get_ydata()) == {slots}
    assert texts(figure)[1:] == ["dl", "fair", "lsap-sched"]
    monkeypatch.setattr(drawing_runs, "_POINTS", 7)
    assert len(times_picture(runs).axes[1].lines[0].get_xdata()) == 9, "with the first and the last point"
    line = running_picture(runs[:1]).axes[0].lines[0]
    across, up = line.get_data()
    assert len(across) == 7
    tasks = runs[0].tasks
    assert (np.diff(across) * up[:-1]).sum() == pytest.approx(tasks[tasks["kind"] == "map"]["execution_time"].sum())


def test_locality(runs: list[Simulation]) -> None:
    """Tests the height of each bar: the share of a job's maps by how near to their data they ran."""
    figure = locality_picture(runs[:2])
    frame = locality_by_size(runs[:2])
    for axes, policy in zip(figure.axes, ("dl", "fair"), strict=False):
        own = frame[frame["run"] == policy]
        heights = [patch.get_height() for patch in axes.patches]  # type: ignore[attr-defined]
        assert heights == pytest.approx(100 * own[["node", "rack", "off_rack"]].to_numpy().T.ravel())
        assert {patch.get_hatch() for patch in axes.patches} == {"", "//////", "......"}


def test_pictures_of_nothing() -> None:
    """Tests every picture of a run of no task, and that the command line has a name for each."""
    empty = simulate(Instance(Cluster(["a"]), Workload([])), "dl")
    other = simulate(Instance(Cluster(["a"]), Workload([])), "fair")
    expected = {"gantt": "nothing ran", "times": "no job ended", "reductions": "no jobs to compare"}
    expected |= {"running": "", "locality": "no map of a job ran"}
    assert tuple(expected) == PLOTS
    for name in PLOTS:
        draw = getattr(showing, f"{name}_picture")
        figure = draw([empty, other])
        assert "".join(text.get_text() for text in figure.axes[0].texts) == expected[name]
        assert picture(figure)


def test_what_was_assumed_is_above_the_picture(runs: list[Simulation]) -> None:
    """Tests the heading: of one instance or how many, and by which rules, of each policy where these differ."""
    other = simulate(arriving(2), "fifo", heartbeat=1, seed=1)
    for draw in (times_picture, running_picture, locality_picture):
        assert draw(runs[:2]).get_suptitle().split("\n")[1:] == ["levels, heartbeat 3 s"]
        found = {times_picture: ": mean job time ", locality_picture: ": node-local maps "}.get(draw, "")
        assert found in draw(runs[:2]).get_suptitle()
        assert draw([*runs[:2], other]).get_suptitle().split("\n")[1:] == [
            "dl, fair: levels, heartbeat 3 s",
            "fifo: levels, heartbeat 1 s",
        ]


def bars(axes: Any) -> set[tuple[float, float, float]]:
    """Row, start and end of all bars of a panel."""
    found = set()
    for patch in axes.patches:
        corners = patch.get_path().vertices.reshape(-1, 5, 2)
        found |= {(round(float(c[0, 1] - 0.08)), float(c[0, 0]), float(c[1, 0])) for c in corners}
    return found


def row_of(tasks: int, jobs: int, nodes: int, slots: int = 1) -> Timeline:
    """Tasks of a second each, one after another on each slot, jobs in turn."""
    names = [f"t{number}" for number in range(tasks)]
    job = np.arange(tasks) % jobs
    workload = Workload(names, job=job, job_ids=[f"j{number}" for number in range(jobs)], duration=[1] * tasks)
    problem = Makespan(Instance(Cluster([f"n{number}" for number in range(nodes)], slots=[slots] * nodes), workload))
    lane = np.arange(tasks) % (nodes * slots)
    return timeline(problem, problem.schedule(lane // slots, np.arange(tasks) // (nodes * slots) * MICRO))


def test_bars_are_where_tasks_ran() -> None:
    """Tests rows, starts and ends of maps and reduces, names of nodes, tasks and jobs, and that looks are shared."""
    both = [simulate(DAY, policy, heartbeat=0) for policy in ("fifo", "fair")]
    figure = gantt_picture(both, "two $x$")
    maps, reduces, other, _ = figure.axes
    assert bars(maps) == {(0, 0, 6), (1, 0, 7), (0, 6, 12), (1, 7, 13), (0, 12, 14.5), (1, 13, 15)}
    assert bars(reduces) == {(1, 6, 13), (0, 14.5, 15.5)}
    assert [label.get_text() for label in maps.get_yticklabels()] == ["a", "b"]
    titles = [axes.get_title(loc="left") for axes in (maps, other)]
    assert titles == ["fifo\nlevels, no heartbeats", "fair\nlevels, no heartbeats"]
    assert {"long-1", "short-1", "long", "short"} <= set(texts(figure))
    assert figure.get_suptitle() == "two $x$"
    assert [patch.get_hatch() for patch in maps.patches] == [patch.get_hatch() for patch in other.patches]
    assert maps.get_xlim() == other.get_xlim()
    assert not outside(figure)
    first, again = (picture(gantt_picture(both), ".svg") for _ in range(2))
    assert first == again


@pytest.mark.parametrize(("jobs", "shown", "last"), [(12, 12, "j11"), (30, 11, "19 other jobs")])
def test_jobs_with_least_slot_time_share_a_look(jobs: int, shown: int, last: str) -> None:
    """Tests that eleven jobs have looks of their own among many, twelve jobs all, and that no two look the same."""
    figure = gantt_picture(row_of(60, jobs, 3))
    names = texts(figure)
    assert (len([name for name in names if name.startswith("j")]), names[-1]) == (shown, last)
    legend = figure.legends[0].get_patches()
    assert len({(patch.get_facecolor(), patch.get_hatch()) for patch in legend}) == len(legend) == 12


def test_bars_that_follow_one_another_are_one() -> None:
    """Tests that thousands of bars of a job are merged on each slot, and the picture says so; a job between is seen."""
    axes = gantt_picture(row_of(2000, 1, 4, 2)).axes[0]
    assert bars(axes) == {(row, 0, 250) for row in range(8)}
    assert "are one" in axes.get_xlabel()
    one = row_of(800, 1, 1)
    late = np.where(np.arange(800) < 400, 0, 5 * MICRO)
    pause = replace(one, starts=one.starts + late, ends=one.ends + late, last=one.last + 5 * MICRO)
    assert bars(gantt_picture(pause).axes[0]) == {(0, 0, 400), (0, 405, 805)}
    apart = gantt_picture(row_of(800, 2, 1)).axes[0]
    assert (len(bars(apart)), "are one" in apart.get_xlabel()) == (800, False)
    large = gantt_picture(row_of(7000, 10, 60, 4))
    assert sum(len(axes.patches) for axes in large.axes) <= 2 * 12 * len(large.axes), "a shape a look, not a task"


def test_nodes_are_left_out_where_there_are_many() -> None:
    """Tests that every k-th node is drawn of so many that their slots would not be seen, and the picture says so."""
    axes = gantt_picture(row_of(1500, 3, 1000)).axes[0]
    assert "one node in 3 is drawn" in axes.get_xlabel()
    assert axes.get_ylim() == (334, 0)
    assert len(axes.get_yticklabels()) <= 40
    assert {row for row, _, _ in bars(axes)} == set(range(334))


@pytest.mark.parametrize("tasks", [0, 1])
def test_little(tasks: int) -> None:
    """Tests a run of nothing, and one of a task that takes no time."""
    workload = Workload(["t"][:tasks], duration=[0] * tasks)
    axes = gantt_picture(simulate(Instance(Cluster(["a"]), workload), "dl", heartbeat=0)).axes[0]
    assert ("nothing ran" in [text.get_text() for text in axes.texts]) == (tasks == 0)
    assert axes.get_xlim() == (-1, 1)


def test_what_a_picture_leaves_out_is_reported() -> None:
    """Tests a run that was stopped, one that lost a node, and runs on other nodes, which have no chart in common."""
    whole = simulate(DAY, "fifo", heartbeat=0)
    stopped = simulate(DAY, "fifo", heartbeat=0, until=8)
    lost = simulate(DAY, "fifo", heartbeat=0, losses=[("b", 1, 2)])
    labels = [gantt_picture(run).axes[-1].get_xlabel() for run in (whole, stopped, lost)]
    assert labels == [
        "time (s)",
        "time (s)\ntasks that had not ended are cut off at the end",
        "time (s)\n1 start in vain, on lost nodes, not drawn",
    ]
    assert len(lost.attempts) == 1
    assert max(end for _, _, end in bars(gantt_picture(stopped).axes[0])) == 8
    with pytest.raises(UsageError, match="the nodes of order-of-jobs and an instance are not the same"):
        gantt_picture([timeline(whole), row_of(2, 1, 1)])
