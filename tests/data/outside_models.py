"""Models written by hand for `consolidation`, of a package that has no program: tests put them into the package."""

from typing import Any

import pulp
import pyomo.environ as pyo
from consolidation.problem import Consolidation

from optsched.core.placement import Placement
from optsched.models.base import (
    MAX_VARIABLES,
    ModelSize,
    binaries,
    by_ids,
    chosen,
    decode_binaries,
    decoder,
    host_of,
    ids,
    of_problem,
    placed_at,
    refuse_too_large,
    started_binaries,
    starter,
)


def _remote(problem: Consolidation, task: int, node: int) -> int:
    return int(node not in problem.replicas[task].tolist())


@of_problem(Consolidation)
def build_pyomo(problem: Consolidation) -> Any:
    """`place[t, n]`, `wake[n]`; each task at most once, each node within its slots and only if it is awake."""
    tasks, nodes = ids(problem)
    model = pyo.ConcreteModel()
    model.place = pyo.Var(tasks, nodes, domain=pyo.Binary)
    model.wake = pyo.Var(nodes, domain=pyo.Binary)
    slots = dict(zip(nodes, problem.capacity.tolist(), strict=True))
    model.once = pyo.Constraint(tasks, rule=lambda m, t: sum(m.place[t, n] for n in nodes) <= 1)
    model.slots = pyo.Constraint(nodes, rule=lambda m, n: sum(m.place[t, n] for t in tasks) <= slots[n] * m.wake[n])
    if tasks:
        model.count = pyo.Constraint(expr=pyo.quicksum(model.place.values()) == problem.count)
    model.cost = pyo.Objective(
        expr=problem.parameters["wake"] * pyo.quicksum(model.wake.values())
        + pyo.quicksum(
            _remote(problem, t, n) * model.place[task, node]
            for t, task in enumerate(tasks)
            for n, node in enumerate(nodes)
        )
    )
    return model


@of_problem(Consolidation)
def literal_size(problem: Consolidation) -> ModelSize:
    """A variable for each task and node, and one for each node."""
    tasks, nodes = len(problem.tasks), len(problem.capacity)
    return ModelSize(nodes * (tasks + 1), tasks + nodes * (tasks + 1) + 1, nodes * (5 * tasks + 3))


@of_problem(Consolidation)
def build_pulp(problem: Consolidation, *, max_variables: int = MAX_VARIABLES) -> Any:
    """The same, but with a constraint for each task and node: it runs there only if the node is awake."""
    refuse_too_large(problem, literal_size(problem), max_variables, "build_pyomo")
    tasks, nodes = ids(problem)
    model = pulp.LpProblem("consolidation", pulp.LpMinimize)
    place = [[model.add_variable(f"place.{t}.{n}", cat=pulp.LpBinary) for n in nodes] for t in tasks]
    wake = [model.add_variable(f"wake.{n}", cat=pulp.LpBinary) for n in nodes]
    model += problem.parameters["wake"] * pulp.lpSum(wake) + pulp.lpSum(
        _remote(problem, t, n) * place[t][n] for t in range(len(tasks)) for n in range(len(nodes))
    )
    for row in place:
        model += pulp.lpSum(row) <= 1
        for variable, awake in zip(row, wake, strict=True):
            model += variable <= awake
    for n, slots in enumerate(problem.capacity.tolist()):
        model += pulp.lpSum(row[n] for row in place) <= slots
    model += pulp.lpSum(variable for row in place for variable in row) == problem.count
    model.place = by_ids(tasks, nodes, place)
    return model


def _decode_pyomo(model: Any, problem: Consolidation) -> Placement:
    return placed_at(problem, chosen(model.place))


decode = decoder(Consolidation, compact=_decode_pyomo, literal=decode_binaries)
start_values = starter(
    Consolidation,
    compact=lambda model, problem, placement: binaries(model.place, host_of(problem, placement)),
    literal=started_binaries,
)
