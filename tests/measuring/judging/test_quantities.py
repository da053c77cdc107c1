"""Quantities: what each says of decisions whose numbers are known."""

from __future__ import annotations

from fractions import Fraction

import pytest

from optsched import generate, load, problem, simulate
from optsched.measuring.judging.quantities import OF_RUNS, OF_SNAPSHOTS, Answer


@pytest.mark.parametrize(
    ("what", "source", "value"),
    [
        ("first", "labl,lbar=l**", 8),
        ("second", "labl,lbar=l**", 20),
        ("second", "labl", 24),
        ("most load", "labl", 6),
        ("dominated", "labl", 0),
        ("dominated", "round-robin", 1),
        ("local", "labl", 18),
        ("local maps", "labl", 18),
        ("placed", "labl", 20),
        ("first", "optimum", 6),
        ("least second", "round-robin", 20),
        ("least second", "flow-based", 24),
        ("least first", "flow-based", 6),
        ("least first", "labl,lbar=l**", 8),
    ],
)
def test_of_figure_2(what: str, source: str, value: int) -> None:
    """Tests quantities of decisions on the worked example of Agosta et al."""
    answer = Answer(problem("latency", load("papers/labl-figure2")), source)
    assert OF_SNAPSHOTS[what](answer) == value


def test_of_the_problem() -> None:
    """Tests what needs no decision, and the least load, on a counterexample with loads 0 and 100."""
    posed = problem("latency", load("papers/labl-theorem2-a"))
    numbers = {
        name: OF_SNAPSHOTS[name](Answer(posed, None))
        for name in ("l*", "l**", "tasks", "servers", "loads", "highest load", "l_flow")
    }
    assert numbers == {"l*": 51, "l**": 1, "tasks": 1, "servers": 2, "loads": 100, "highest load": 100, "l_flow": 1}
    assert OF_SNAPSHOTS["least load"](Answer(posed, "labl")) == 1
    replicas = Answer(problem("lsap", load("papers/guo-fig2")), None)
    assert [OF_SNAPSHOTS[f"{which} replicas"](replicas) for which in ("least", "most")] == [1, 3]


def test_of_jobs() -> None:
    """Tests what the jobs of Table II read and shuffle: 10 to 100 GB, and Wordcount twice as much."""
    answer = Answer(problem("transmission", generate("shen-table2", batch=1)), None)
    read, sent = (OF_SNAPSHOTS[f"job {what} GB"](answer) for what in ("input", "shuffle"))
    assert read == pytest.approx([10 * job for job in range(1, 11)], rel=1e-3)
    assert sent == pytest.approx(2 * read)


def test_local_reduces() -> None:
    """Tests that maps and reduces are counted apart."""
    posed = problem("transmission", load("papers/pna-example"))
    answer = Answer(posed, "optimum")
    assert (OF_SNAPSHOTS["local maps"](answer), OF_SNAPSHOTS["local reduces"](answer)) == (2, 2)


def test_of_runs() -> None:
    """Tests times and shares of a run, and that a run without an end has no time."""
    instance = load("examples/order-of-jobs")
    done = simulate(instance, "fifo")
    assert OF_RUNS["elapsed"](done) == done.makespan
    assert OF_RUNS["mean job time"](done) == pytest.approx(done.job_times.mean() / 1e6)
    assert OF_RUNS["unfinished"](done) == 0
    assert 0 <= OF_RUNS["local maps"](done) <= Fraction(1)


def test_times_of_runs() -> None:
    """Tests times of all jobs and tasks: those of the frames, in seconds."""
    done = simulate(load("examples/order-of-jobs"), "fifo")
    frame = done.tasks
    for name, kind in (("map times", "map"), ("reduce times", "reduce")):
        own = frame[frame["kind"] == kind]["execution_time"].to_numpy(dtype=float)
        assert OF_RUNS[name](done).tolist() == pytest.approx(own.tolist())
    assert OF_RUNS["job times"](done).mean() == pytest.approx(OF_RUNS["mean job time"](done))
