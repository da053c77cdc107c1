"""What Sharmilarani et al. claim of RAS and the library disproves: its rounds do not maximise the lowest utility."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np

from optsched.certificates import certify
from optsched.core.instance import Cluster, Instance, Workload
from optsched.core.resources import folder
from optsched.core.results import Number
from optsched.heuristics.ras import map_rounds, ras
from optsched.instances.files import load
from optsched.problems.utility import Utility, spread_reduces
from optsched.routes import solve

RNG = np.random.default_rng(0)  # RAS draws nothing


def library(name: str) -> Instance:
    """A worked example or counterexample of the library."""
    instance = load(folder("instances") / "papers" / f"{name}.json")
    assert isinstance(instance, Instance)
    return instance


def optimum(instance: Instance) -> Number:
    """The highest lowest utility, proved."""
    problem = Utility(instance)
    solution = solve(problem)
    assert solution.optimal
    assert solution.objective is not None
    certify(problem, solution).raise_if_invalid()
    return solution.objective[0]


def orders(instance: Instance, resources: list[str]) -> set[Number]:
    """The lowest utility that RAS finds with these resources alone, in every order of trackers and of jobs."""
    cluster, workload = instance.cluster, instance.workload
    found = set()
    for nodes in map(list, permutations(range(len(cluster)))):
        for jobs in map(list, permutations(range(len(workload.job_ids)))):
            other = Instance(
                Cluster(cluster.node_ids[nodes], capacity={name: cluster.capacity[name][nodes] for name in resources}),
                Workload(
                    workload.task_ids,
                    job=np.argsort(jobs)[workload.job],
                    demand={name: workload.demand[name] for name in resources},
                    job_ids=workload.job_ids[jobs],
                    goal=workload.goal[jobs],
                    map_time=workload.map_time[jobs],
                ),
            )
            problem = Utility(other)
            found.add(problem.evaluate(ras(problem, RNG))[0])
    return found


def test_swaps_without_an_end() -> None:
    """Tests that the rounds as worded repeat a placement at -1, and that the strict rule finds the optimum -1/2."""
    instance = library("ras-endless-swap")
    problem = Utility(instance)
    literal = map_rounds(problem, spread_reduces(problem), improvement="literal")
    assert (literal.ended, literal.lowest) == ("endless", (-1, -1))
    assert problem.evaluate(ras(problem, RNG))[0] == optimum(instance) == Fraction(-1, 2)


def test_no_map_is_moved_to_another_tracker() -> None:
    """Tests that with one resource and two jobs RAS ends at 1/2, in every order, where all maps would fit."""
    instance = library("ras-immobile")
    assert optimum(instance) == 1
    assert orders(instance, ["cpu"]) == {Fraction(1, 2)}


def test_three_resources() -> None:
    """Tests Sharmilarani et al., note 8: with three resources RAS ends at 0 in every order, where all maps would fit.

    With any one of the three alone it finds the optimum, in every order.
    """
    instance = library("ras-three-resources")
    assert optimum(instance) == 1
    assert orders(instance, ["cpu", "disk", "memory"]) == {0}
    for resource in ("cpu", "disk", "memory"):
        assert orders(instance, [resource]) == {1}
