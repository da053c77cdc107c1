"""The sum of job times: weights, and exact sums."""

from over_time import batch, proved, weighed

from optsched.core.instance import Cluster, Instance, Workload
from optsched.core.placement import Schedule
from optsched.problems.job_times import JobTimes, common_unit
from optsched.problems.makespan import Makespan
from optsched.problems.service_times import NEVER


def test_what_is_told_beside_the_sum() -> None:
    """Tests the mean and the longest job time, and that nothing is told of no job."""
    problem = JobTimes(Instance(Cluster(["a"]), Workload(["t1", "t2"], duration=[1, 2])))
    assert problem.due == 2
    without = JobTimes(Instance(Cluster(["a"], reduce_slots=[0]), problem.instance.workload))
    assert without.counted_total() == problem.counted_total()
    assert problem.value_in_words == "sum of 2 job times"
    assert Makespan(problem.instance).value_in_words == "makespan"
    shown = [("mean job time", "2 s, of 2 jobs; the longest 3 s")]
    assert problem.details(problem.schedule([0, 0], [0, 1_000_000])) == shown
    nothing = JobTimes(Instance(Cluster(["a"]), Workload([])))
    assert nothing.details(Schedule.empty(0)) == []


def test_how_late_a_job_may_be() -> None:
    """Tests that a job may lose what all of them lose, by its weight, and that one without weight may end whenever."""
    problem = weighed([1, 2, 3], [1, 2, 0])
    (worth,) = problem.evaluate(problem.schedule([0, 0, 0], [0, 1_000_000, 3_000_000]))
    assert problem.latest_completions(worth).tolist() == [1_000_000 + 2_000_000, 2_000_000 + 1_000_000, NEVER]
    assert problem.value_in_words == "weighted sum of 3 job times"


def test_common_unit() -> None:
    """Tests that weights are multiples of their unit, and that without weights there is none."""
    assert (common_unit([]), common_unit([0, 0]), common_unit([4, 6])) == (0, 0, 2)


def test_counting_against_enumeration() -> None:
    """Tests that counting proves no more than the least sum, and often all of it; and no less than the cheap bounds."""
    closed = 0
    for weights in ("equal", "group"):
        for problem, optimum in proved(JobTimes, range(30), weights=weights):
            counted = problem.counted_total()
            assert max(bound.value for bound in problem.cheap_bounds()) <= counted <= optimum
            closed += counted == optimum
    assert closed > 25


def test_jobs_that_end_later_alone() -> None:
    """Tests that counting takes when jobs are proved to end alone, where that is later than it says itself."""
    problem = JobTimes(batch(4, tasks=32))
    later = problem.earliest_completions + 5 * 10**6
    assert problem.counted_total(later) > problem.counted_total()
