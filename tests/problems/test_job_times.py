"""The sum of job times: weights, and exact sums."""

from __future__ import annotations

from fractions import Fraction

from schedule_drawn import exactly

from optsched.instance import Cluster, Instance, Workload
from optsched.problems.job_times import JobTimes


def test_weights_of_groups() -> None:
    """Tests that a job counts as its group weighs, exactly."""
    workload = Workload(
        ["t1", "t2"], job=[0, 1], job_ids=["j1", "j2"], job_group=[0, 1], duration=[0.1, 0.2],
        group_ids=["g1", "g2"], group_weight=[0.1, 3],
    )  # fmt: skip
    problem = JobTimes(Instance(Cluster(["a"]), workload), weights="group")
    assert problem.evaluate(problem.schedule([0, 0], [200_000, 0])) == (Fraction(63, 100),)
    assert problem.cheap_bounds()[0].value == Fraction(61, 100)


def test_exact_times() -> None:
    """Tests that times are rounded once, as they are written, and that nothing is lost of large ones."""
    assert exactly(0.1) == Fraction(1, 10)
    problem = JobTimes(Instance(Cluster(["a"]), Workload(["t1", "t2", "t3"], duration=[0.1, 0.2, 1e8])))
    schedule = problem.schedule([0, 0, 0], [0, 100_000, 300_000])
    assert problem.evaluate(schedule) == (Fraction(1, 10) + Fraction(3, 10) + 10**8 + Fraction(3, 10),)
