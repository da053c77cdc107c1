"""Models of `transmission-reduces`: the variables of the paper, names, classes that share nodes, and fractions."""

from __future__ import annotations

import re

import pyomo.environ as pyo
import pytest
from transmission_instances import example, posed

from optsched import models
from optsched.core.errors import UsageError
from optsched.core.instance import REDUCE, Cluster, Instance, Shuffle, State, Topology, Workload
from optsched.models import transmission_reduces
from optsched.problems import TransmissionReduces
from optsched.solvers.algebraic import solve_pyomo
from optsched.solvers.profiles import load_profile


def test_literal_model_has_the_paper_s_variables() -> None:
    """Tests names and right sides of the literal model, where a reduce of the job runs."""
    problem = posed([1.0, 2.0], [1, 1], running=[(0, 1)], matrix=[[0.0, 4.0], [4.0, 0.0]])
    model = models.module("transmission-reduces").build_pulp(problem)
    assert sorted(variable.name for variable in model.variables()) == ["y.r0.n0", "y.r0.n1", "y.r1.n0", "y.r1.n1"]
    rows = {row.name: -row.constant for row in model.constraints()}
    assert rows == {
        "reduce.r0": 1, "reduce.r1": 1, "cardinality": 1, "node.n0": 1, "node.n1": 1, "job.j0.n0": 1, "job.j0.n1": 0
    }  # fmt: skip


def test_fractions_are_not_decoded() -> None:
    """Tests that a solution off the vertices is refused."""
    problem = TransmissionReduces(example((2, 1)))
    model = transmission_reduces.build_pyomo(problem)
    for variable in model.place.values():
        variable.set_value(0.5)
    with pytest.raises(UsageError, match=r"place\[R1,D1\] = 0.5 is no whole number"):
        transmission_reduces.decode(model, problem)


def test_names_of_literal_models() -> None:
    """Tests that ids which a file could confuse, of tasks, nodes and jobs, give names that differ."""
    cluster = Cluster(["n 1", "n_1"], topology=Topology("hops", hops={"node": 0, "rack": 1, "off_rack": 2}))
    shuffle = Shuffle([0, 0], [1, 2], [1.0, 2.0])
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
    shuffle = Shuffle([0] * 4, [1, 2, 3, 4], [2.0] * 4)
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
    model = transmission_reduces.build_pyomo(problem, per_pair=True)
    model.away = pyo.Constraint(["r1", "r2", "s"], rule=lambda model, task: model.place[task, "a"] == 0)
    assert solve_pyomo(model, profile).objective == 18
