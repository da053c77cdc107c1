"""Pictures of runs: their lines and bars are the numbers of the frames."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pictured import texts
from timed_workloads import arriving

from optsched import showing
from optsched.cli.simulating import PLOTS
from optsched.core.instance import Cluster, Instance, Workload
from optsched.measuring.timelines import job_reductions, locality_by_size, running_tasks, time_distribution
from optsched.showing import runs as drawing_runs
from optsched.showing.figures import picture
from optsched.showing.runs import locality_picture, reductions_picture, running_picture, times_picture
from optsched.simulating import Simulation, simulate


@pytest.fixture(scope="module")
def runs() -> list[Simulation]:
    """Three policies on a workload."""
    return [simulate(arriving(1), policy, seed=1) for policy in ("dl", "fair", "lsap-sched")]


def points(line: Any) -> list[tuple[float, float]]:
    """The points of a line."""
    return [(float(x), float(y)) for x, y in zip(*line.get_data(), strict=True)]


def test_distributions(runs: list[Simulation]) -> None:
    """Tests that each curve starts at 0, has every time with its share, and goes on to the longest of all."""
    figure = times_picture(runs)
    for axes, of in zip(figure.axes, ("job", "map", "reduce"), strict=True):
        frame = time_distribution(runs, of)
        for line, run in zip(axes.lines, runs, strict=True):
            own = frame[frame["run"] == run.policy]
            due = [*zip(own["seconds"], 100 * own["share"], strict=True)]
            assert points(line) == [(0, 0), *due, (frame["seconds"].max(), due[-1][1])]
        assert (
            len({line.get_linestyle() for line in axes.lines}) == len({line.get_marker() for line in axes.lines}) == 3
        )
    assert texts(figure)[1:] == ["dl", "fair", "lsap-sched"]
    thinned = time_distribution(simulate(arriving(2, tasks=4, reduces=0), "dl"), "map")
    assert len(times_picture(simulate(arriving(2, tasks=4, reduces=0), "dl")).axes) == 2
    assert len(thinned) == 4


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
        assert heights == pytest.approx(100 * own[["node", "rack", "remote"]].to_numpy().T.ravel())
        assert {patch.get_hatch() for patch in axes.patches} == {"", "//////", "......"}


def test_pictures_of_nothing() -> None:
    """Tests every picture of a run of no task, and that the command line has a name for each."""
    empty = simulate(Instance(Cluster(["a"]), Workload([])), "dl")
    other = simulate(Instance(Cluster(["a"]), Workload([])), "fair")
    told = {"gantt": "nothing ran", "times": "no job ended", "reductions": "no jobs to compare"}
    told |= {"running": "", "locality": "no map of a job ran"}
    assert tuple(told) == PLOTS
    for name in PLOTS:
        draw = getattr(showing, f"{name}_picture")
        figure = draw([empty, other])
        assert "".join(text.get_text() for text in figure.axes[0].texts) == told[name]
        assert picture(figure) == picture(draw([empty, other]))


def test_what_was_assumed_is_above_the_picture(runs: list[Simulation]) -> None:
    """Tests the heading: of one instance or how many, and by which rules, of each policy where these differ."""
    other = simulate(arriving(2), "fifo", heartbeat=1, seed=1)
    for draw in (times_picture, running_picture, locality_picture):
        assert draw(runs[:2]).get_suptitle().split("\n")[1:] == ["levels, heartbeat 3 s"]
        assert draw([*runs[:2], other]).get_suptitle().split("\n")[1:] == [
            "dl, fair: levels, heartbeat 3 s",
            "fifo: levels, heartbeat 1 s",
        ]
