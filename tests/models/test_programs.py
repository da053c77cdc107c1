"""Models that are made of a problem's program: names, rows, classes, decoding and starts."""

from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from programmed import Gathering
from small_problems import instance_of

import optsched
from optsched import models
from optsched.core.errors import TooLarge, UsageError
from optsched.core.instance import Cluster, Instance, Ints, Ragged, Workload
from optsched.core.placement import Placement
from optsched.models import programs
from optsched.problems import FairLsap, Flow, Lsap, Problem
from optsched.problems.programs import Program
from optsched.solvers.algebraic import solve_pulp, solve_pyomo
from optsched.solvers.profiles import load_profile

SMALL = Gathering(
    Instance(Cluster(["a", "b"], slots=[2, 1]), Workload(["t", "u"], replicas=Ragged.from_rows([[0], [1]])))
)


def test_names() -> None:
    """Tests that families are components with their docs, over sets that families of the same labels share."""
    model = programs.build_pyomo(SMALL)
    assert model.place.doc == "the task runs on the node"
    assert sorted(model.place.keys()) == [("t", "a"), ("t", "b"), ("u", "a"), ("u", "b")]
    assert model.slots.index_set() is model.use.index_set() is model.NODES
    assert str(model.slots["b"].expr).replace(" ", "") == "place[t,b]+place[u,b]-use[b]<=0"
    assert [constraint.name for constraint in model.component_objects(pyo.Constraint)] == ["once", "slots"]
    literal = programs.build_pulp(SMALL)
    assert [variable.name for variable in literal.variables_of][:3] == ["use.a", "use.b", "place.t.a"]
    size = programs.compact_size(SMALL)
    assert (size.variables, size.constraints) == (6, 4)
    assert (len(literal.variables()), len(literal.constraints())) == (6, 4)


def test_refused() -> None:
    """Tests that a model of another problem is no model of this one, and that a size is a limit."""
    other = optsched.problem("flow-congestion", "papers/hsu-two-clusters")
    with pytest.raises(UsageError, match="decode takes a model of gathering"):
        programs.decode(pyo.ConcreteModel(), SMALL)
    with pytest.raises(UsageError, match="start_values takes a model of gathering"):
        programs.start_values(pyo.ConcreteModel(), SMALL, SMALL.placement([0, 0]))
    with pytest.raises(TooLarge, match="variables"):
        programs.build_pulp(SMALL, max_variables=5)
    assert len(programs.build_pulp(other).variables()) == len(other.program().names)


def test_limit_between_two_values() -> None:
    """Tests that a limit which no value attains is the value below it, and a value itself is kept."""
    posed = optsched.problem("worst-group", "examples/worst-group")
    (value, _) = optsched.solve(posed).objective
    limits = [value, value + Fraction(1, 10**6), value + 1]
    built = [programs.build_pulp(posed, limit) for limit in limits]
    kept, between, more = ([str(row) for row in model.constraints()] for model in built)
    assert kept == between != more


class Loose(Gathering):
    """What its variables say of single tasks is forgotten: tasks go to the used nodes in order."""

    def decision_of(self, values: Ints, program: Program) -> Placement:
        used = np.flatnonzero(values[program.family("use")])
        return self.placement(np.repeat(used, self.idle[used])[: len(self.tasks)])


@pytest.mark.parametrize("build", [programs.build_pyomo, programs.build_pulp])
def test_own_constraints(build: Any) -> None:
    """Tests that a constraint of the user's holds for the decision, or that the model says that it does not."""
    exact = load_profile("exact")
    for problem in (SMALL, Loose(SMALL.instance)):
        model = build(problem)
        if isinstance(model, pyo.ConcreteModel):
            model.forbidden = pyo.Constraint(expr=model.place["t", "a"] == 0)
            solve_pyomo(model, exact)
        else:
            model.addConstraint(model.variables_of[model.program.names.index(["place", "t", "a"])] == 0, "forbidden")
            solve_pulp(model, exact)
        if problem is SMALL:
            assert programs.decode(model, problem).nodes.tolist() == [1, 0]
            continue
        with pytest.raises(UsageError, match=r"does not keep what was added to the model: .*forbidden"):
            programs.decode(model, problem)


@pytest.mark.parametrize("kind", [Lsap, FairLsap, Flow])
def test_classes(kind: type[Problem]) -> None:
    """Tests that equal tasks are one class by the id of its first, and single ones on demand."""
    problem = kind(instance_of([[0], [1], [0], [0]], 4))
    module = models.module(problem.name)
    model = module.build_pyomo(problem)
    assert dict(model.members.items()) == {"t0": ("t0", "t2", "t3"), "t1": ("t1",)}
    assert list(module.build_pyomo(problem, per_pair=True).CLASSES) == ["t0", "t1", "t2", "t3"]


@pytest.mark.parametrize("kind", [Lsap, FairLsap, Flow])
def test_assignment_models_are_continuous(kind: type[Problem]) -> None:
    """Tests that the compact assignment models hold no integer."""
    model = models.module(kind.name).build_pyomo(kind(instance_of([[0], [1], [0]], 2)))
    assert all(variable.is_continuous() for variable in model.component_data_objects(pyo.Var))
