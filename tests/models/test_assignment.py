"""What the compact models of assignment share: classes, and no integer."""

import pyomo.environ as pyo
import pytest
from replica_instances import instance_of

from optsched import models
from optsched.problems import FairLsap, Flow, Lsap, Problem


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
