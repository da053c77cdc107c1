"""What solutions must keep: every route against enumeration, and proved solutions whose certificates are changed."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from small_problems import small

from optsched.certificates import certify
from optsched.core.instance import Cluster, Instance
from optsched.core.results import Proof, Sense, Solution, Termination
from optsched.problems import Latency, Lsap, Problem
from optsched.routes import bounds, routes_of, solve
from optsched.solvers.searches.enumeration import best_placement


def check_routes(problem: Problem, kinds: Mapping[str, Proof]) -> None:
    """Every route finds the enumerated optimum, or that there is none, and certifies; no bound is beyond the optimum.

    `kinds` has the kind of proof that the first component must have by some of the routes.
    """
    best = best_placement(problem)
    value = None if best is None else best[0]
    for route in routes_of(problem):
        solution = solve(problem, route=route)
        verdict = certify(problem, solution)
        assert verdict.valid, (route, str(verdict))
        assert solution.objective == value, route
        assert solution.termination is (Termination.INFEASIBLE if value is None else Termination.OPTIMAL), route
        if value is not None:
            assert solution.bound == value, route
            assert verdict.proved >= (solution.certificate in (Proof.DUAL, Proof.COMBINATORIAL)), route
            assert solution.certificate is kinds.get(route, solution.certificate), route
    for bound in bounds(problem) if value is not None else ():
        for component, most in zip(problem.components, value, strict=True):
            sign = 1 if component.sense is Sense.MIN else -1
            assert bound.component != component.name or sign * bound.value <= sign * most, bound.name


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
