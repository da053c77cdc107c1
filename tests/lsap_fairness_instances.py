"""Small problems of `lsap-fairness`, and what stands on a frontier of theirs."""

from typing import Any

from optsched.certificates import proved_bound
from optsched.core.instance import Cluster, Instance, Ragged, Workload
from optsched.core.results import FrontierPoint, Proof
from optsched.problems import LsapFairness


def posed(weights: list[float] | None = None, idle: list[int] | None = None, **parameters: Any) -> LsapFairness:
    """Groups with 1, 2 and 7 running maps; slots idle on A and B, where data of the third group lie."""
    cluster = Cluster(["A", "B", "C"], slots=[1, 1, 10])
    workload = Workload(
        ["a1", "b1", "b2", "c1", "c2"],
        replicas=Ragged.from_rows([[2], [2], [2], [0], [1]]),
        job=[0, 1, 1, 2, 2],
        job_ids=["j1", "j2", "j3"],
        job_group=[0, 1, 2],
        group_ids=["g1", "g2", "g3"],
        group_weight=weights or [5, 3, 2],
    )
    state = {"idle_slots": idle or [1, 1, 0], "group_running_tasks": [1, 2, 7]}
    return LsapFairness(Instance.initial(cluster, workload, name="small", **state), **parameters)


SMALL = posed()


def check_points(problem: LsapFairness, points: tuple[FrontierPoint, ...]) -> None:
    """Every point is worth what it says, its distance is proved, and no fewer tasks off their data give as little."""
    for before, point in zip((None, *points), points, strict=False):
        assert problem.evaluate(point.placement) == point.objective
        earlier, distance = point.certificates
        assert point.certificate is Proof.DUAL
        assert proved_bound(problem, distance, point.objective) == point.objective[1] == distance.claim
        if before is None:
            assert proved_bound(problem, earlier) == point.objective[0] == earlier.claim
        else:
            fewer = point.objective[0] - 1, point.objective[1]
            assert proved_bound(problem, earlier, fewer) > point.objective[1]
