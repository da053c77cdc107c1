"""The makespan: what counts for it."""

from optsched.core.instance import Cluster, Instance, Workload
from optsched.problems.makespan import Makespan


def test_how_late_a_job_may_be() -> None:
    """Tests that every job may end with the last one."""
    problem = Makespan(Instance(Cluster(["a"]), Workload(["t1", "t2"], duration=[1, 2])))
    (worth,) = problem.evaluate(problem.schedule([0, 0], [0, 1_000_000]))
    assert problem.latest_completions(worth).tolist() == [3_000_000, 3_000_000]
