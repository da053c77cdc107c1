"""`draw`: the picture of each object."""

from typing import Any

import pytest
from pictured import racked, texts

import optsched
from optsched.core.errors import UsageError
from optsched.core.placement import NetworkFlow, Placement, Schedule
from optsched.measuring.gaps import gap
from optsched.problems.schedules import ScheduleProblem
from optsched.showing.drawing import draw, panel


def names(figure: Any) -> list[str]:
    """The names of the panels."""
    return [text.get_text() for text in figure.texts if text.get_fontweight() == "bold"]


def test_instances() -> None:
    """Tests a name, a document, an instance, and placements on it."""
    assert names(draw("papers/guo-fig2")) == ["guo-fig2"]
    assert names(draw({"format": "optsched/1", "nodes": [{"id": "n"}], "tasks": []})) == ["instance"]
    assert names(draw(racked(), Placement.empty(6))) == ["placement"]


@pytest.mark.thorough
def test_problems() -> None:
    """Tests that placements of all kinds stand before the optimum, which is last, and alone without them."""
    problem = optsched.problem("latency", "papers/fsy-not-optimal")
    best = "optimum (proved: combinatorial)"
    assert names(draw(problem)) == [best]
    report, solution = optsched.gap(problem, "labl"), optsched.solve(problem)
    shown = draw(problem, "round-robin", report, solution, solution.decision, [0] * 7)
    assert names(shown) == ["round-robin", "labl", "placement", "placement", "placement", best]
    assert names(draw(report)) == ["labl", best]
    assert optsched.draw is draw


def test_networks() -> None:
    """Tests a network, a problem on it, flows on both, with their values."""
    network = optsched.load("examples/negative-cycle")
    problem = optsched.problem("min-cost-flow", network)
    assert len(draw(network).axes) == 1
    titles = [axes.get_title() for axes in draw(problem, optsched.solve(problem)).axes]
    assert titles == ["negative-cycle\nflow: 3", "negative-cycle\noptimum: 3"]
    nothing = NetworkFlow([0] * network.arcs)
    assert draw(problem, nothing).axes[0].get_title() == "negative-cycle\nflow, infeasible"
    assert draw(network, nothing).axes[0].get_title() == "negative-cycle\nflow"


def test_wrong_arguments() -> None:
    """Tests that what cannot be drawn is reported in one line with what to do."""
    instance, problem = racked(), optsched.problem("lsap", racked())
    other = optsched.problem("latency", "papers/fsy-not-optimal")
    for arguments, message in (
        ((instance, "dl"), "pose a problem first"),
        ((None,), "not None"),
        ((3, "dl"), "not on an int"),
        ((problem, [0, 1]), "the placement has 2 nodes"),
        ((problem, optsched.solve(other)), "another instance"),
        ((problem, optsched.gap(other, "labl")), "another instance"),
        ((optsched.load("examples/negative-cycle"), "dl"), "flows are drawn on a network"),
    ):
        with pytest.raises(UsageError, match=rf"\A.*{message}.*\Z"):
            draw(*arguments)


def test_what_is_cut_short_is_drawn_without_an_optimum() -> None:
    """Tests that without a known placement or schedule the others are drawn, and nothing at all is reported."""
    problem = optsched.problem("lsap", racked())
    assert names(draw(problem, [0, 1, 1, 2, 3], time_limit=0))[0] == "placement"
    pairs = {"cost": [[1], [1]], "demand": {"c": [[1], [1]]}}
    crowded = {"format": "optsched/1", "nodes": [{"id": "n1", "capacity": {"c": 1}, "slots": 0}], "pairs": pairs}
    crowded["tasks"] = [{"id": "a", "duration": 1}, {"id": "b", "duration": 1}]
    for name, noun in (("generalized-assignment", "placement"), ("makespan", "schedule")):
        with pytest.raises(UsageError, match=f"no {noun} is known to draw: INFEASIBLE"):
            draw(optsched.problem(name, crowded))
    assert "infeasible" in texts(draw(optsched.problem("generalized-assignment", crowded), [0, 0]))[1]


def test_values_and_gaps_of_placements() -> None:
    """Tests the words of a gap: above, at the optimum, beside 0, below a maximum, and of the optimum itself."""

    def shown(name: str, instance: str, heuristic: Any) -> str:
        problem = optsched.problem(name, instance)
        return panel(problem, optsched.gap(problem, heuristic, seed=0)).lines[0]

    problem = optsched.problem("latency", "papers/fsy-not-optimal")
    report = optsched.gap(problem, "labl")
    assert panel(problem, report, "LABL").lines[0] == "makespan 4, work 7, 33.33 % above the optimum"
    best = [text.get_text() for text in draw(report).texts]
    assert best[-3:-1] == ["optimum (proved: combinatorial)", "makespan 3, work 9"]
    again = optsched.gap(problem, lambda posed, rng: report.reference.solution.decision)
    assert panel(problem, again).lines[0] == "makespan 3, work 9, at the optimum"
    assert shown("lsap", "papers/guo-fig2", "dl") == "locality-cost 1, 1 above the optimum (over 0)"
    assert "below the optimum" in shown("utility", "papers/ras-endless-swap", "fair-sharing")


class Never:
    """A policy that takes nothing."""

    def offer(self, offer: object, view: object) -> list[int]:
        return []


def test_infeasible_failed_and_starved_are_reported() -> None:
    """Tests that a placement with violations is drawn with them, and a failure says what failed."""
    problem = optsched.problem("lsap", racked())
    crowd = optsched.gap(problem, lambda posed, rng: [0, 0, 0, 0, 0])
    assert panel(problem, crowd).lines[0].startswith("infeasible: slots")
    broken = panel(problem, optsched.gap(problem, lambda posed, rng: 1 / 0))
    assert broken.name.endswith(": failed")
    (line,) = broken.lines  # nothing is counted where there is no placement
    assert "ZeroDivisionError" in line
    assert panel(problem, optsched.gap(problem, Never(), max_idle_rounds=1)).name.endswith(": starved")


@pytest.fixture(scope="module")
def problem() -> ScheduleProblem:
    """Two jobs, four maps and two reduces."""
    return optsched.problem("job-times", "examples/order-of-jobs")


def test_values_and_gaps_are_reported(problem: ScheduleProblem) -> None:
    """Tests the names of a heuristic's schedule, a given one, and the optimum; and the picture of all of them."""
    best, report = optsched.solve(problem), gap(problem, "fair")
    empty = Schedule.empty(len(problem.instance.workload))
    figure = optsched.draw(problem, "fair", best, empty)
    titles = [title for axes in figure.axes if (title := axes.get_title(loc="left"))]
    names = [title.partition("\n")[0] for title in titles]
    assert names[0].startswith(f"fair: job time {float(report.objective[0]):g}, ")
    assert names[0].endswith("above the optimum")
    assert names[1] == f"schedule: job time {float(best.objective[0]):g}"
    assert names[2].startswith("schedule: infeasible: every-task-runs(")
    assert names[3].startswith("optimum (proved: ")
    assert titles == [f"{names[0]}\nlevels, heartbeat 3 s", *(f"{name}\n" for name in names[1:])]
    assert f"{names[3]}\n" in [axes.get_title(loc="left") for axes in optsched.draw(report).axes]
    run = optsched.simulate(problem.instance, "fair")
    titles = [axes.get_title(loc="left") for axes in optsched.draw(run, run).axes]
    assert titles.count("fair\nlevels, heartbeat 3 s") == 2


def test_what_fails_has_no_bars(problem: ScheduleProblem) -> None:
    """Tests that a heuristic that raises is named so, and a schedule of another instance is reported."""
    failed = panel(problem, gap(problem, lambda posed, rng: 1 / 0), "mine")
    assert (failed.name, len(failed.rows)) == ("mine: failed", 0)
    with pytest.raises(UsageError, match="of another instance"):
        panel(problem, Schedule.empty(1))
