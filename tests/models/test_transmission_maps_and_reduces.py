"""What models of Shen et al.'s two stages promise beside optima: refusals, names, decoding, own constraints."""

from __future__ import annotations

import re

import pyomo.environ as pyo
import pytest
from transmission_instances import example

from optsched import models
from optsched.errors import TooLarge, UsageError
from optsched.instance import REDUCE, Cluster, Instance, Shuffle, State, Topology, Workload
from optsched.models import transmission_reduces
from optsched.problems import Problem, TransmissionMaps, TransmissionReduces
from optsched.solvers.algebraic import solve_pyomo
from optsched.solvers.profiles import load_profile

STAGES: list[Problem] = [TransmissionMaps(example()), TransmissionReduces(example((2, 1)))]


@pytest.mark.parametrize("problem", STAGES, ids=lambda problem: problem.name)
def test_refusal_of_a_large_literal_model(problem: Problem) -> None:
    """Tests that a literal model over the limit is refused with its size and the way to take, and built on demand."""
    module = models.module(problem.name)
    size = module.literal_size(problem)
    assert size.variables == 8
    with pytest.raises(TooLarge, match=r"8 variables .* use route=.* or build_pyomo, .*max_variables=8"):
        module.build_pulp(problem, max_variables=7)
    module.build_pulp(problem, max_variables=8)


@pytest.mark.parametrize("problem", STAGES, ids=lambda problem: problem.name)
@pytest.mark.parametrize("builder", ["build_pyomo", "build_pulp"])
def test_decoding_before_solving(problem: Problem, builder: str) -> None:
    """Tests that an unsolved model is not decoded."""
    module = models.module(problem.name)
    with pytest.raises(UsageError, match="solve the model before decoding"):
        module.decode(getattr(module, builder)(problem), problem)


def test_fractions_are_not_decoded() -> None:
    """Tests that a solution off the vertices is refused."""
    problem = STAGES[1]
    model = transmission_reduces.build_pyomo(problem)  # type: ignore[arg-type]
    for variable in model.place.values():
        variable.set_value(0.5)
    with pytest.raises(UsageError, match=r"place\[R1,D1\] = 0.5 is no whole number"):
        transmission_reduces.decode(model, problem)  # type: ignore[arg-type]


def test_names_of_literal_models() -> None:
    """Tests that ids which a file could confuse, of tasks, nodes and jobs, give names that differ."""
    cluster = Cluster(["n 1", "n_1"], topology=Topology("hops", hops={"node": 0, "rack": 1, "off_rack": 2}))
    shuffle = Shuffle([0, 0], [1, 2], [1.0, 2.0], [0.0, 0.0])
    kind, job = [0, REDUCE, REDUCE], [0, 0, 1]
    workload = Workload(["m", "r.1", "r 1"], kind=kind, job=job, job_ids=["j 1", "j_1"], shuffle=shuffle)
    state = State.initial(cluster, workload, status=[1, 0, 0], node=[0, -1, -1])
    model = transmission_reduces.build_pulp(TransmissionReduces(Instance(cluster, workload, state)))
    names = [variable.name for variable in model.variables()] + [row.name for row in model.constraints()]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9_.]+", name) for name in names)


def test_classes_and_shared_nodes() -> None:
    """Tests that equal reduces of a job are one class, of which a node takes one, and a constraint of one's own."""
    cluster = Cluster(
        ["a", "b", "c"], reduce_slots=[2] * 3, topology=Topology("hops", hops={"node": 0, "rack": 1, "off_rack": 3})
    )
    shuffle = Shuffle([0] * 4, [1, 2, 3, 4], [2.0] * 4, [0.0] * 4)
    workload = Workload(
        ["m", "r1", "r2", "s", "free"],
        kind=[0] + [REDUCE] * 4,
        job=[0, 0, 0, 1, -1],
        job_ids=["J", "K"],
        shuffle=shuffle,
    )
    state = State.initial(cluster, workload, status=[1, 0, 0, 0, 0], node=[0, -1, -1, -1, -1])
    problem = TransmissionReduces(Instance(cluster, workload, state))
    model = transmission_reduces.build_pyomo(problem)
    assert {name: model.members[name] for name in model.CLASSES} == {"r1": ("r1", "r2"), "s": ("s",), "free": ("free",)}
    assert set(model.SHARED) == {(job, node) for job in "JK" for node in "abc"}
    profile = load_profile("exact")
    assert solve_pyomo(model, profile).objective == 12
    assert problem.evaluate(transmission_reduces.decode(model, problem)) == (12,)
    model.away = pyo.Constraint(expr=model.place["r1", "a"] + model.place["s", "a"] == 0)
    assert solve_pyomo(model, profile).objective == 18
