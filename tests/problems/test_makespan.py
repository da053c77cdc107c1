"""The makespan: what counts for it."""

from optsched.core.instance import Cluster, Instance, Workload
from optsched.problems.makespan import Makespan


def test_what_runs_counts() -> None:
    """Tests that the makespan is after the snapshot, and of what runs then, too."""
    cluster, workload = Cluster(["a"], slots=[2]), Workload(["t1", "t2"], duration=[50, 10])
    problem = Makespan(
        Instance.initial(
            cluster, workload, time=100, status=[1, 0], node=[0, -1], start=[90, float("nan")], idle_slots=[1]
        )
    )
    assert problem.evaluate(problem.schedule([0], [100_000_000])) == (40,)
    assert problem.evaluate(problem.schedule([0], [140_000_000])) == (50,)
    assert [bound.value for bound in problem.cheap_bounds()] == [40, 25]


def test_how_late_a_job_may_be() -> None:
    """Tests that every job may end with the last one."""
    problem = Makespan(Instance(Cluster(["a"]), Workload(["t1", "t2"], duration=[1, 2])))
    (worth,) = problem.evaluate(problem.schedule([0, 0], [0, 1_000_000]))
    assert problem.latest_completions(worth).tolist() == [3_000_000, 3_000_000]
