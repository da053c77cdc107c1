"""The models of `lsap`: racks where they save, the paper's costs, and sizes without a model."""

from __future__ import annotations

import numpy as np
import pulp
import pyomo.environ as pyo
import pytest
from replica_instances import instance_of

from optsched.core.errors import TooLarge, UsageError
from optsched.core.instance import Cluster, Instance, Ragged, State, Workload
from optsched.core.results import Termination
from optsched.models import lsap
from optsched.problems import Lsap
from optsched.solvers.algebraic import solve_pulp, solve_pyomo
from optsched.solvers.profiles import Profile


def test_size_of_a_huge_literal_model_needs_no_model() -> None:
    """Tests that sizes are told for instances whose literal model would not fit any machine."""
    problem = Lsap(instance_of([[0]] * 100_000, 10))
    size = lsap.literal_size(problem)
    assert size.variables == 100_000**2 + 1
    with pytest.raises(TooLarge, match=r"10,000,000,001 variables and 200,000 constraints and take about [0-9,]+ MB"):
        lsap.build_pulp(problem)


def test_decoding_a_fractional_solution() -> None:
    """Tests that a solution off the vertices is refused where no repair is known."""
    problem = Lsap(instance_of([[0, 1], [0, 1]], 2))
    model = lsap.build_pyomo(problem, per_pair=True)
    for variable in model.component_data_objects(pyo.Var):
        variable.set_value(0.5 if variable.parent_component().local_name == "place" else 0.0)
    with pytest.raises(UsageError, match=r"place\[t0,n0\] = 0.5 is no whole number: solve to a vertex"):
        lsap.decode(model, problem)


def test_bug_an_infeasible_model_decoded_to_the_earlier_placement() -> None:
    """Tests that both kinds of models refuse to be decoded after a solve that found nothing, and say what to do."""
    problem = Lsap(instance_of([[0, 1], [0, 1]], 2))
    model, literal = lsap.build_pyomo(problem, per_pair=True), lsap.build_pulp(problem)
    solve_pyomo(model, "exact")
    solve_pulp(literal, "exact")
    assert lsap.decode(model, problem).placed == lsap.decode(literal, problem).placed == 2
    model.none = pyo.Constraint(expr=sum(model.place.values()) <= 1)
    literal.addConstraint(pulp.lpSum(literal.place.values()) <= 1, "none")
    for changed, solve in ((model, solve_pyomo), (literal, solve_pulp)):
        assert solve(changed, "exact").status is Termination.INFEASIBLE
        with pytest.raises(UsageError, match="has no value: solve the model before decoding it"):
            lsap.decode(changed, problem)


def test_racks_only_where_they_save() -> None:
    """Tests that rack variables exist only for levels that tell racks from elsewhere."""
    cluster = Cluster(["a", "b", "c"], rack=[0, 0, 1], rack_ids=["r", "s"])
    workload = Workload(["t"], replicas=Ragged.from_rows([[0]]))
    instance = Instance(cluster, workload, State.initial(cluster, workload, idle_slots=[0, 1, 1]))
    assert lsap.build_pyomo(Lsap(instance)).component("place_in_rack") is None
    model = lsap.build_pyomo(Lsap(instance, levels=(0, 1, 2)))
    assert list(model.place_in_rack) == [("t", "r")]
    assert {name: row.upper for name, row in model.rack_slots.items()} == {"r": 1}
    assert solve_pyomo(model, Profile("exact")).objective == 1


def test_racks_take_no_more_than_their_slots() -> None:
    """Tests that of two tasks with data in a rack with one idle slot one is off-rack, in this model and per pair."""
    cluster = Cluster(["a", "b", "c"], rack=[0, 0, 1], rack_ids=["r", "s"])
    workload = Workload(["t", "u"], replicas=Ragged.from_rows([[0], [0]]))
    instance = Instance(cluster, workload, State.initial(cluster, workload, idle_slots=[0, 1, 1]))
    problem = Lsap(instance, levels=(0, 1, 2))
    for per_pair in (False, True):
        model = lsap.build_pyomo(problem, per_pair=per_pair)
        assert solve_pyomo(model, Profile("exact")).objective == 3
        assert problem.evaluate(lsap.decode(model, problem)) == (3,)


def test_literal_problem_has_paper_costs() -> None:
    """Tests that Guo et al.'s Figure 3 padding is there: dummies at constant 1, taken out again."""
    problem = Lsap(instance_of([[0]], 3))
    model = lsap.build_pulp(problem)
    costs = {variable.name: cost for variable, cost in model.objective.items()}
    assert [costs[f"place.dummy_{row}.n{node}.1"] for row in (1, 2) for node in range(3)] == [1.0] * 6
    assert costs["constant"] == -2
    assert isinstance(model, pulp.LpProblem)
    assert np.isclose(solve_pulp(model, Profile("exact")).objective, 0)
