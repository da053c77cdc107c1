"""What models promise beside their optima: refusals, names, decoding of odd solutions, constraints of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import highspy
import numpy as np
import pulp
import pyomo.environ as pyo
import pytest

from optsched import models
from optsched.deadline import deadline
from optsched.errors import OutOfTime, TooLarge, UsageError
from optsched.instance import MAP, REDUCE, Cluster, Instance, Ragged, State, Workload
from optsched.models import export, fair_lsap, flow, latency, lsap, utility
from optsched.problems import FairLsap, Flow, Latency, Lsap, Problem, Utility
from optsched.problems.base import GRID
from optsched.results import Termination
from optsched.solvers.algebraic import solve_pulp, solve_pyomo
from optsched.solvers.profiles import load_profile

EXACT = load_profile("exact")


def instance_of(replicas: list[list[int]], nodes: int, **state: Any) -> Instance:
    """Tasks with these replicas on `nodes` nodes with one slot each, fit for every problem."""
    cluster = Cluster([f"n{node}" for node in range(nodes)], rate_in=[85.0] * nodes, rate_out=[85.0] * nodes)
    workload = Workload(
        [f"t{task}" for task in range(len(replicas))],
        replicas=Ragged.from_rows(replicas),
        rate_in=[3.0] * len(replicas),
        job=[0] * len(replicas),
        job_ids=["j"],
        job_group=[0],
        group_ids=["g"],
        group_weight=[1.0],
    )
    return Instance(cluster, workload, State.initial(cluster, workload, **state))


PROBLEMS = [Lsap, FairLsap, Flow, Latency]


def test_module_of_unknown_problem() -> None:
    """Tests that a wrong name is answered with the nearest one."""
    with pytest.raises(UsageError, match='did you mean "latency"'):
        models.module("latancy")


@pytest.mark.parametrize("kind", PROBLEMS)
def test_refusal_of_a_large_literal_model(kind: type[Problem]) -> None:
    """Tests that a literal model over the limit is refused with its size and the way to take, and built on demand."""
    problem = kind(instance_of([[0], [1], []], 4))
    module = models.module(problem.name)
    size = module.literal_size(problem)
    with pytest.raises(TooLarge, match=rf"{size.variables} variables .* use route=.*max_variables={size.variables}"):
        module.build_pulp(problem, max_variables=size.variables - 1)
    module.build_pulp(problem, max_variables=size.variables)


def test_compact_table_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a compact model with a variable a pair is told of beforehand, with the route to take."""
    problem = Flow(instance_of([[0], [1], []], 4))
    pairs = problem.class_units.size
    monkeypatch.setattr("optsched.models.assignment.MAX_VARIABLES", pairs - 1)
    with pytest.raises(TooLarge, match=f'the compact model would have {pairs} variables, .* use route="network"'):
        flow.build_pyomo(problem)
    monkeypatch.setattr("optsched.models.assignment.MAX_VARIABLES", pairs)
    flow.build_pyomo(problem)


def test_building_a_compact_table_looks_at_the_clock() -> None:
    """Tests that a time limit ends the building of a model too."""
    problem = Flow(instance_of([[0], [1], []], 4))
    with deadline(0), pytest.raises(OutOfTime):
        flow.build_pyomo(problem)


def test_size_of_a_huge_literal_model_needs_no_model() -> None:
    """Tests that sizes are told for instances whose literal model would not fit any machine."""
    problem = Lsap(instance_of([[0]] * 100_000, 10))
    size = lsap.literal_size(problem)
    assert size.variables == 100_000**2 + 1
    with pytest.raises(TooLarge, match=r"10,000,000,001 variables and 200,000 constraints and take about [0-9,]+ MB"):
        lsap.build_pulp(problem)


@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("builder", ["build_pyomo", "build_pulp"])
def test_decoding_before_solving(kind: type[Problem], builder: str) -> None:
    """Tests that an unsolved model is not decoded."""
    problem = kind(instance_of([[0], [1]], 2))
    module = models.module(problem.name)
    with pytest.raises(UsageError, match="solve the model before decoding"):
        module.decode(getattr(module, builder)(problem), problem)


def test_decoding_latency_before_solving_where_nothing_can_be_remote() -> None:
    """Tests the same where a model has no counts of remote tasks that would tell."""
    problem = Latency(instance_of([[0], [1]], 2))
    with pytest.raises(UsageError, match=r"local\[t0,n0\] has no value"):
        latency.decode(latency.build_pyomo(problem, limit=1), problem)


def test_decoding_a_fractional_solution() -> None:
    """Tests that a solution off the vertices is refused where no repair is known."""
    problem = Lsap(instance_of([[0, 1], [0, 1]], 2))
    model = lsap.build_pyomo(problem, aggregate=False)
    for variable in model.component_data_objects(pyo.Var):
        variable.set_value(0.5 if variable.parent_component().local_name == "place" else 0.0)
    with pytest.raises(UsageError, match=r"place\[t0,n0\] = 0.5 is no whole number: solve to a vertex"):
        lsap.decode(model, problem)


@pytest.mark.parametrize("limit", [2, None])
def test_repair_of_fractional_latency(limit: int | None) -> None:
    """Tests that fractional local shares become a whole placement within the same limit and work."""
    problem = Latency(instance_of([[0, 1]] * 4, 2))
    model = latency.build_pyomo(problem, limit=limit)
    solve_pyomo(model, EXACT)
    for variable in model.local.values():
        variable.set_value(0.5)
    assert problem.evaluate(latency.decode(model, problem)) == (2, 4)


def test_repair_keeps_servers_closed() -> None:
    """Tests that the repair leaves alone servers that the model does not have, and counts remote tasks."""
    problem = Latency(instance_of([[0, 1, 2]] * 3 + [[2]], 4, load=[0, 0, 9, 0]))
    model = latency.build_pyomo(problem, limit=3)
    assert solve_pyomo(model, EXACT).objective == 6
    for (task, server), variable in model.local.items():
        variable.set_value(0.5, skip_validation=True)
        assert (task, server) != ("t3", "n2")
    placement = latency.decode(model, problem)
    assert problem.evaluate(placement)[1] == 6
    assert placement.nodes[3] != 2


@pytest.mark.parametrize("limit", [-1, 2.5, True, "3"])
def test_limits_that_are_none(limit: Any) -> None:
    """Tests that a limit must be a whole number, 0 or more, in either model."""
    problem = Latency(instance_of([[0]], 1))
    for builder in (latency.build_pyomo, latency.build_pulp):
        with pytest.raises(UsageError, match="whole number"):
            builder(problem, limit=limit)


def test_weights_decide_which_integers_are_needed() -> None:
    """Tests that local counts are there only where w_loc does not divide w_rem, or is above 1 without a limit."""
    instance = instance_of([[0], [0, 1]], 2)
    needed = {
        (1, 3, 4): False,
        (2, 4, 8): False,
        (2, 3, 8): True,
        (1, 3, None): False,
        (2, 4, None): True,
    }
    for (w_loc, w_rem, limit), counted in needed.items():
        model = latency.build_pyomo(Latency(instance, w_loc=w_loc, w_rem=w_rem), limit=limit)
        assert (model.component("local_count") is not None) is counted


def test_only_servers_loaded_above_the_bound_need_a_binary() -> None:
    """Tests that servers that any limit allows, and those beyond every sensible one, have no binary."""
    problem = Latency(instance_of([[0, 2, 3]] * 4, 4, load=[0, 0, 4, 50]))
    assert problem.counting_bound() == 2
    model = latency.build_pyomo(problem)
    assert list(model.used) == ["n2"]
    assert list(model.SERVERS) == ["n0", "n1", "n2"]


@pytest.mark.parametrize("kind", [Lsap, FairLsap, Flow])
def test_classes(kind: type[Problem]) -> None:
    """Tests that equal tasks are one class by the id of its first, and single ones on demand."""
    problem = kind(instance_of([[0], [1], [0], [0]], 4))
    module = models.module(problem.name)
    model = module.build_pyomo(problem)
    assert dict(model.members.items()) == {"t0": ("t0", "t2", "t3"), "t1": ("t1",)}
    assert dict(model.size.items()) == {"t0": 3, "t1": 1}
    assert list(module.build_pyomo(problem, aggregate=False).CLASSES) == ["t0", "t1", "t2", "t3"]


@pytest.mark.parametrize("kind", [Lsap, FairLsap, Flow])
def test_assignment_models_are_continuous(kind: type[Problem]) -> None:
    """Tests that the compact assignment models hold no integer."""
    model = models.module(kind.name).build_pyomo(kind(instance_of([[0], [1], [0]], 2)))
    assert all(variable.is_continuous() for variable in model.component_data_objects(pyo.Var))


def test_racks_only_where_they_save() -> None:
    """Tests that rack variables exist only for levels that tell racks from elsewhere."""
    cluster = Cluster(["a", "b", "c"], rack=[0, 0, 1], rack_ids=["r", "s"])
    workload = Workload(["t"], replicas=Ragged.from_rows([[0]]))
    instance = Instance(cluster, workload, State.initial(cluster, workload, idle_slots=[0, 1, 1]))
    assert len(lsap.build_pyomo(Lsap(instance)).place_in_rack) == 0
    model = lsap.build_pyomo(Lsap(instance, levels=(0, 1, 2)))
    assert list(model.place_in_rack) == [("t", "r")]
    assert list(model.rack_to_node) == ["b"]
    assert solve_pyomo(model, EXACT).objective == 1


def test_tiers_only_where_a_pool_has_two_costs() -> None:
    """Tests that free selection makes tiers of a group that may go beyond its ration, and fixed selection none."""
    instance = instance_of([[0], [0], [1]], 2)
    assert len(fair_lsap.build_pyomo(FairLsap(instance)).tier) == 0
    model = fair_lsap.build_pyomo(FairLsap(instance, selection="free"))
    assert dict(model.tier_size.items()) == {("g", 1): 2, ("g", 2): 1}
    literal = fair_lsap.build_pulp(FairLsap(instance, selection="free"))
    assert {"group.g", "ration.g", "overflow.g"} <= {constraint.name for constraint in literal.constraints()}


def test_own_constraint_in_the_literal_model() -> None:
    """Tests that the dict of a literal model's variables serves to add a constraint."""
    problem = Flow(instance_of([[0], [1]], 2))
    model = flow.build_pulp(problem)
    best = solve_pulp(model, EXACT).objective
    model.addConstraint(model.place["t0", "n0"] == 0, "keep_off")
    worse = solve_pulp(model, EXACT).objective
    assert best is not None
    assert worse is not None
    assert worse > best
    assert flow.decode(model, problem).nodes.tolist() == [1, 0]


AWKWARD = ["a_b", "a b", "a-b", "a", "b", "a_", "_b", "1e5", "free", "ü", "x" * 200]


@pytest.mark.parametrize("literal", [False, True], ids=["compact", "literal"])
@pytest.mark.parametrize("kind", [Lsap, Latency])
def test_files_of_awkward_ids(kind: type[Problem], literal: bool, tmp_path: Path) -> None:
    """Tests that no two ids share a name in a file, and that the file has the model's optimum."""
    count = len(AWKWARD)
    cluster = Cluster(AWKWARD)
    workload = Workload(AWKWARD, replicas=Ragged.from_rows([*([task + 1, 0] for task in range(count - 1)), [0]]))
    problem = kind(Instance(cluster, workload))
    module = models.module(problem.name)
    model = module.build_pulp(problem) if literal else module.build_pyomo(problem)
    export.write_lp(model, tmp_path / "model.lp")
    highs = highspy.Highs()
    highs.silent()
    assert highs.readModel(str(tmp_path / "model.lp")) == highspy.HighsStatus.kOk
    names = highs.getLp().col_names_
    variables = model.variables() if literal else list(model.component_data_objects(pyo.Var))
    assert len(set(names)) == len(names) == len(variables)
    highs.run()
    outcome = solve_pulp(model, EXACT) if literal else solve_pyomo(model, EXACT)
    assert highs.getInfo().objective_function_value == pytest.approx(outcome.objective)


@pytest.mark.parametrize(
    ("kind", "tasks", "nodes"),
    [
        (kind, *shape)
        for kind in PROBLEMS
        for shape in ((0, 2), (0, 0), (2, 0))
        if kind is not Latency or shape != (2, 0)
    ],
)
def test_nothing_to_place(kind: type[Problem], tasks: int, nodes: int) -> None:
    """Tests that models without tasks or nodes are built, solved and decoded; latency refuses tasks without a node."""
    problem = kind(instance_of([[]] * tasks, nodes))
    module = models.module(problem.name)
    for build, solve in ((module.build_pyomo, solve_pyomo), (module.build_pulp, solve_pulp)):
        model = build(problem)
        outcome = solve(model, EXACT)
        assert (outcome.status, outcome.objective) == (Termination.OPTIMAL, 0)
        assert module.decode(model, problem).nodes.tolist() == [-1] * tasks


def test_an_impossible_limit() -> None:
    """Tests that limits without a placement are infeasible in both models, also where no server has room."""
    problem = Latency(instance_of([[0]], 2, load=[4, 4]))
    for limit in (0, 4):
        assert solve_pyomo(latency.build_pyomo(problem, limit=limit), EXACT).status is Termination.INFEASIBLE
        assert solve_pulp(latency.build_pulp(problem, limit=limit), EXACT).status is Termination.INFEASIBLE


def test_models_are_deterministic(tmp_path: Path) -> None:
    """Tests that the same problem gives the same file twice."""
    problem = Latency(instance_of([[0, 1], [1, 2], []], 3, load=[0, 2, 7]))
    written = []
    for number in range(2):
        export.write_lp(latency.build_pyomo(problem), tmp_path / f"{number}.lp")
        written.append((tmp_path / f"{number}.lp").read_bytes())
    assert written[0] == written[1]


def test_literal_problem_has_paper_costs() -> None:
    """Tests that Guo et al.'s Figure 3 padding is there: dummies at constant 1, taken out again."""
    problem = Lsap(instance_of([[0]], 3))
    model = lsap.build_pulp(problem)
    costs = {variable.name: cost for variable, cost in model.objective.items()}
    assert [costs[f"place.dummy_{row}.n{node}.1"] for row in (1, 2) for node in range(3)] == [1.0] * 6
    assert costs["constant"] == -2
    assert isinstance(model, pulp.LpProblem)
    assert np.isclose(solve_pulp(model, EXACT).objective, 0)


@pytest.mark.parametrize("weights", [(1, 3), (2, 5)])
def test_start_of_a_latency_model_is_taken(weights: tuple[int, int]) -> None:
    """Tests that an optimal placement as a start is what models hold when they may not branch at all."""
    from optsched.instances.generate import generate
    from optsched.models import latency
    from optsched.problems import Latency
    from optsched.routes import solve
    from optsched.solvers.algebraic import solve_pulp, solve_pyomo
    from optsched.solvers.profiles import Profile

    problem = Latency(generate("latency", seed=3, nodes=8, tasks=16, replicas=2), w_loc=weights[0], w_rem=weights[1])
    best = solve(problem)
    assert best.decision is not None
    assert best.objective is not None
    stopped = Profile("stopped", node_limit=0)
    for limit, value in ((int(best.objective[0]), best.objective[1]), (None, best.objective[0])):
        for build, run in ((latency.build_pyomo, solve_pyomo), (latency.build_pulp, solve_pulp)):
            model = build(problem, limit=limit)
            outcome = run(model, stopped, latency.start_values(model, problem, best.decision))
            assert outcome.objective == pytest.approx(float(value))
            assert problem.evaluate(latency.decode(model, problem))[0] == best.objective[0]


def test_bug_second_compact_program_of_utility_left_out_fixed_reduces() -> None:
    """Tests that with fixed reduces the compact program counts what these use, as the literal one does."""
    cluster = Cluster(["a", "b"], capacity={"cpu": [4.0, 4.0]})
    workload = Workload(["m", "r"], kind=[MAP, REDUCE], job=[0, 0], job_ids=["j"], demand={"cpu": np.array([1.0, 2.0])})
    problem = Utility(Instance(cluster, workload), reduces="fixed")
    for build, solve in ((utility.build_pyomo, solve_pyomo), (utility.build_pulp, solve_pulp)):
        assert solve(build(problem, limit=1), load_profile("exact")).objective == 0.75 * GRID
