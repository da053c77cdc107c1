"""Claims of papers as `optsched mine` takes them: how far each is from being broken, which it is below 0.

Each is called with the `GapReport` of a feasible placement.
"""

from __future__ import annotations

from fractions import Fraction

from optsched.core.instance import MAP
from optsched.measuring.gaps import GapReport
from optsched.problems import Latency

__all__ = ["corollary_1", "one_replica", "theorem_1", "theorem_2", "theorem_3", "worst_case_of_b"]

#: What a claim answers where it says nothing: far from being broken.
UNSAID = 1000


def _latency(report: GapReport) -> tuple[Latency, list[int]]:
    """The problem, and the load with which each server ends."""
    problem = report.problem
    assert isinstance(problem, Latency)
    assert report.placement is not None
    local, remote = problem.counts(report.placement)
    return problem, (problem.initial_load + problem.w_loc * local + problem.w_rem * remote).tolist()


def _value(report: GapReport) -> tuple[Fraction, ...]:
    assert report.objective is not None
    return tuple(map(Fraction, report.objective))


def theorem_1(report: GapReport) -> int:
    """Theorem 1 of Agosta et al.: loads end within w_rem of each other; on idle servers, of blocks with replicas."""
    problem, loads = _latency(report)
    meant = not problem.initial_load.any() and all(len(row) for row in problem.replicas)
    return min(loads) + problem.w_rem - max(loads) if meant else UNSAID


def theorem_2(report: GapReport) -> Fraction:
    """Theorem 2 of Agosta et al.: work is at most l** n less the initial loads (of a job with tasks)."""
    problem, loads = _latency(report)
    if not len(problem.tasks):
        return Fraction(UNSAID)
    return problem.counting_bound() * len(loads) - int(problem.initial_load.sum()) - _value(report)[1]


def theorem_3(report: GapReport) -> Fraction:
    """In the proof of Theorem 3 of Agosta et al.: the latency is at most (w_rem |T| + loads) / |S|."""
    problem, loads = _latency(report)
    work = problem.w_rem * len(problem.tasks) + int(problem.initial_load.sum())
    return Fraction(work, len(loads)) - _value(report)[0]


def corollary_1(report: GapReport) -> Fraction:
    """Corollary 1 of Agosta et al.: the makespan is within w_rem of the optimum."""
    problem, _ = _latency(report)
    assert report.reference.value is not None
    return Fraction(report.reference.value[0] or 0) + problem.w_rem - _value(report)[0]


def one_replica(report: GapReport) -> bool:
    """Guo et al. 2012, section IV.A: where blocks have one replica, dl-sched is optimal."""
    lengths = report.problem.instance.workload.replicas.lengths
    return report.absolute_gap == (0,) or not (lengths == 1).all()


def worst_case_of_b(report: GapReport) -> Fraction:
    """Sharmilarani et al., (3): policy B moves at most TR2, which is (k-1)/k of the reduces' input."""
    workload, cluster = report.problem.instance.workload, report.problem.instance.cluster
    datacenters = len(set(cluster.datacenter.tolist()))
    maps = workload.kind == MAP
    # It is about blocks with replicas, and maps that put something out.
    if datacenters < 2 or not (workload.filter_ratio > 0).all() or not workload.replicas.lengths[maps].all():
        return Fraction(UNSAID)
    output = (workload.size * workload.filter_ratio[workload.job])[maps]
    most = Fraction(datacenters - 1, datacenters) * sum(map(Fraction, output.tolist()))
    return 1 - _value(report)[0] / most if most else Fraction(UNSAID)
