"""Instances that claims and figures are about: sizes, slots, places and loads that their descriptions say."""

import numpy as np
import pytest

from optsched.heuristics.simulating import Levels, simulate
from optsched.heuristics.simulating.services import service_named
from optsched.measuring.judging import instances as made
from optsched.measuring.judging.quantities import Answer, apart, job_time, reading_time
from optsched.problems import FlowCongestion, Latency
from optsched.problems.distances import distances


@pytest.mark.parametrize("of", ["paths", "links"])
def test_drawn_rates(of: str) -> None:
    """Tests that paths have rates of their own, and links one rate a node; all are from 10 to 100 MB/s."""
    matrix = distances(made.rated(1, "transmission", of, nodes="5"))
    assert (matrix == matrix.T).all()
    away = matrix[np.triu_indices(5, 1)]
    assert (2 / 10 if of == "links" else 1 / 10) >= away.max() > away.min() >= 1 / 100
    by_node = matrix[0, 1] - matrix[0, 2] - (matrix[3, 1] - matrix[3, 2])
    assert (abs(by_node) < 1e-12) == (of == "links")


def test_emissions() -> None:
    """Tests that (3) gives the true sizes where maps emit linearly, and what each other emission says of a map."""
    for seed in range(5):
        drawn = made.emitting(seed, "linear")
        read = drawn.state.bytes_read[:12, None] / 128
        sizes = drawn.workload.shuffle.size.reshape(12, 4)
        emitted, spilled, in_turn = (
            made.emitting(seed, name).state.emitted.reshape(12, 4) for name in ("linear", "four spills", "sorted input")
        )
        assert np.allclose(emitted, sizes * read, atol=1e-3)
        assert np.allclose(spilled, sizes * (4 * read // 1) / 4, atol=1e-3)
        assert (np.diff(in_turn / np.maximum(sizes, 0.1), axis=1) <= 1e-2).all()
    uneven, more = (made.emitting(0, name).state.emitted for name in ("uneven", "very uneven"))
    assert np.isfinite(uneven).all()
    assert not np.array_equal(uneven, more)


def test_one_large_job_before_small_ones() -> None:
    """Tests its tasks and slots, and that its time and that of the small jobs are those of the run."""
    instance = made.large_first(2, "traffic", nodes="8", tasks="40", jobs="8")
    jobs = instance.workload.job
    assert set(jobs.tolist()) == {0, 4, 5, 6, 7}
    assert set(instance.cluster.slots.tolist()) == set(instance.state.idle_reduce_slots.tolist()) == {2}
    run = simulate(instance, "joss-t", Levels(duration=4))
    seconds = [run.end[jobs == job].max() / 1e6 for job in (0, 4, 5, 6, 7)]
    assert job_time(run, "large") == seconds[0]
    assert job_time(run, "small") == pytest.approx(np.mean(seconds[1:]))


def test_few_large_maps() -> None:
    """Tests the resources and the number of jobs."""
    drawn = made.few_large_maps(3, "2", "3")
    assert set(drawn.cluster.capacity) == {"cpu", "disk"}
    assert 2 <= len(set(drawn.workload.job.tolist())) <= 3


def test_only_the_first_jobs_wait() -> None:
    """Tests that 16 maps wait for each job, and that all 44 slots stay idle."""
    for jobs in (1, 3, 9):
        problem = FlowCongestion(made.first_jobs(0, "hsu-table3", str(jobs)), scale="rate_process")
        assert len(problem.tasks) == 16 * jobs
        assert problem.instance.state.idle_slots.sum() == 44


def test_small_rounds() -> None:
    """Tests that a slot is free for every task on every node, and that rounds differ."""
    drawn = [made.small_round(seed) for seed in range(30)]
    assert {len(one.workload) for one in drawn} == {3, 4, 5, 6}
    assert all((one.state.idle_slots == len(one.workload)).all() for one in drawn)
    assert len({one.state.running_rates.values.tobytes() for one in drawn}) > 20


def test_equal_replicas_and_half_as_many_tasks() -> None:
    """Tests the numbers of replicas and of idle slots."""
    drawn = made.equal_replicas(3, "10", "7", "4", "2", "2")
    assert set(drawn.replicas.lengths.tolist()) == {2}
    assert (drawn.state.idle_slots.sum(), drawn.state.idle_slots.max() <= 2) == (7, True)
    half = made.half_as_many(0, "30")
    assert (len(half.workload), half.state.idle_slots.sum()) == (15, 15)


def test_jobs_like_the_trace() -> None:
    """Tests sizes, load and places of the drawn jobs."""
    drawn = made.trace_like(0)
    sizes = np.bincount(drawn.workload.job)
    assert np.unique(sizes).tolist() == [2**power for power in range(4, 14)]
    assert np.count_nonzero(sizes == 8192) == 2
    assert drawn.workload.arrival.max() <= drawn.workload.duration.sum() / (3000 * 0.98)
    assert (drawn.replicas.lengths == 3).all()


def test_input_sink() -> None:
    """Tests who holds and who runs, the bound of a run, and that the run does not end below it."""
    for kind, holders, bound in (("single", 10, 6.4), ("cross", 10, 6.4), ("HPC", 10, 25600 / 1170)):
        drawn = made.input_sink(0, kind, "400")
        assert len(np.unique(drawn.replicas.values)) == holders
        assert drawn.cluster.slots.sum() == 80
        done = simulate(drawn, "dl", service_named("rates")(local="shared"), seed=0, reading="heartbeat")
        assert reading_time(done) == pytest.approx(bound)
        assert done.makespan >= bound
    assert made.input_sink(0, "cross", "100", "1", "10").cluster.topology is not None


def test_jobs_together_and_apart() -> None:
    """Tests that both ways place all tasks, and that split blocks stay on their half."""
    instance = made.two_jobs(1, "split")
    halves = [{node for row in list(instance.replicas)[half] for node in row.tolist()} for half in HALVES]
    assert (halves[0] <= set(range(20)), halves[1] <= set(range(20, 40))) == (True, True)
    answer = Answer(Latency(instance), "labl")
    assert 72 <= apart(answer, "work") <= 3 * 72
    assert apart(answer, "first") <= apart(answer, "end")
    assert len(made.two_jobs(1, "mixed").workload) == 72


HALVES = (slice(36), slice(36, None))


def test_higher_loads() -> None:
    """Tests that every load is higher by as much."""
    low, high = (made.higher_loads(2, "latency", more, nodes="5", tasks="6").state.load for more in ("0", "3"))
    assert np.array_equal(low + 3, high)
