"""Problems small enough to try every decision: one of each record, two swapped tasks, and all Pareto-optimal values."""

from typing import Any

import numpy as np

from optsched.core.instance import Cluster, Instance, Ragged, Workload
from optsched.core.problem_record import imported
from optsched.core.registry import record, record_of, records
from optsched.core.results import Value
from optsched.instances.generate import generate
from optsched.problems import AnyProblem, Lsap, Problem, problem

#: Every problem of the registry.
NAMES = tuple(records())


def small_problem(name: str, seed: int, parameters: dict[str, Any] | None = None) -> AnyProblem:
    """The problem on an instance that is small enough to try every decision."""
    entry = record(name)
    return problem(name, generate(entry.family, seed=seed, **entry.sizes), **(parameters or {}))


_WORKLOAD = Workload(["t1", "t2"], replicas=Ragged.from_rows([[0, 1], [0]]))


SWAPPED = Lsap(Instance(Cluster(["a", "b"]), _WORKLOAD, name="two"))


def wrong_way(problem: Problem, rng: np.random.Generator) -> list[str]:
    """Each task on the other's node."""
    return ["a", "b"]


def scarcest_first(problem: Any, rng: np.random.Generator) -> Any:
    """Tasks with the fewest replicas first, each to its first free node with data; the rest where there is room."""
    free = problem.capacity.copy()
    nodes = np.full(len(problem.tasks), -1)
    for task in np.argsort([len(held) for held in problem.replicas], kind="stable"):
        local = [node for node in problem.replicas[task] if free[node] > 0]
        if local:
            nodes[task] = local[0]
            free[local[0]] -= 1
    left = np.repeat(np.arange(len(free)), free)
    waiting = np.flatnonzero(nodes < 0)[: len(left)]
    nodes[waiting] = left[: len(waiting)]
    return nodes


def pareto_front(problem: Problem) -> list[Value]:
    """Every Pareto-optimal value, of the placements that the record's enumeration has."""
    enumeration = imported(record_of(type(problem)).enumeration or "optsched.solvers.searches.enumeration:judged")
    return undominated({value for value, _ in enumeration(problem)})


def undominated(values: set[Value]) -> list[Value]:
    """The values of two components, less being better, of which none is as good in both and better in one."""
    front: list[Value] = []
    for value in sorted(values):
        if not front or value[1] < front[-1][1]:
            front.append(value)
    return front
