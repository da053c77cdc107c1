"""Proved solutions of a small `lsap` and a small `latency`, and the same with changed data of a certificate."""

from dataclasses import replace
from typing import Any

from replica_instances import small

from optsched.core.instance import Cluster, Instance
from optsched.core.results import Solution
from optsched.problems import Latency, Lsap
from optsched.routes import solve

#: Three tasks that want two slots of node a: optimum 1; node c is busy.
LSAP = Lsap(
    Instance.initial(Cluster(["a", "b", "c"], slots=[2, 2, 1]), small([[0]] * 3).workload, idle_slots=[2, 1, 0])
)

#: Five private tasks of one of three idle servers: optimum (3, 9).
LATENCY = Latency(Instance(Cluster(["s1", "s2", "s3"]), small([[0]] * 5).workload))

#: Their solutions, by the name of the problem.
SOLVED = {problem.name: solve(problem) for problem in (LSAP, LATENCY)}


def with_data(solution: Solution, component: str, **data: Any) -> Solution:
    """The solution with entries of one certificate's data replaced; None leaves an entry out."""
    certificates = []
    for certificate in solution.certificates:
        if certificate.component == component:
            merged = {key: value for key, value in {**certificate.data, **data}.items() if value is not None}
            certificate = replace(certificate, data=merged)
        certificates.append(certificate)
    return replace(solution, certificates=tuple(certificates))
