"""Pyomo and PuLP models: what the contract of all three ways does not cover."""

import math
import pickle
import re
from pathlib import Path

import highspy
import pulp
import pyomo.environ as pyo
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyomo.common.collections import ComponentMap
from readers import PULP_3, add_sos

from optsched import Limit, Termination, UsageError
from optsched.solvers.algebraic import injective_names, solve_pulp, solve_pyomo
from optsched.solvers.profiles import Profile

EXACT = Profile("exact")


def pyomo_model(sense: int = pyo.minimize) -> pyo.ConcreteModel:
    """Place x = 4 against a requirement of 2x >= 7, with a variable that nothing uses."""
    m = pyo.ConcreteModel(name="small")
    m.x = pyo.Var(domain=pyo.Integers, bounds=(0, 9), initialize=1)
    m.idle = pyo.Var(initialize=5)
    m.cost = pyo.Objective(expr=3 * m.x, sense=sense)
    m.need = pyo.Constraint(expr=2 * m.x >= 7)
    return m


def pulp_problem(sense: int = pulp.LpMinimize) -> tuple[pulp.LpProblem, pulp.LpVariable]:
    """The same in PuLP, without the idle variable."""
    problem = pulp.LpProblem("small", sense)
    x = problem.add_variable("x", 0, 9, "Integer")
    problem.setObjective(3 * x)
    problem.addConstraint(2 * x >= 7, "need")
    return problem, x


def test_models_of_the_other_library() -> None:
    """Tests that a model for the other of the two functions is refused, with the one that takes it."""
    with pytest.raises(UsageError, match=r"solve_pyomo takes a Pyomo model, not a LpProblem; .* is for solve_pulp"):
        solve_pyomo(pulp_problem()[0], EXACT)
    with pytest.raises(UsageError, match=r"solve_pulp takes a PuLP problem, not a ConcreteModel; .* is for"):
        solve_pulp(pyomo_model(), EXACT)


def test_bug_a_model_without_solution_kept_the_values_of_an_earlier_solve() -> None:
    """Tests that a Pyomo model without a solution has no values; it had those of a former solve, and decoded them."""
    m = pyomo_model()
    assert solve_pyomo(m, EXACT).objective == 12
    assert (m.x.value, m.x.stale, m.idle.value, m.idle.stale) == (4.0, False, 5, True)
    m.never = pyo.Constraint(expr=m.x >= 20)
    assert solve_pyomo(m, EXACT).status is Termination.INFEASIBLE
    assert (m.x.value, m.x.stale, m.idle.value) == (None, True, 5)


def test_bug_a_product_of_variables_was_an_expression_of_degree_none() -> None:
    """Tests that a constraint that is not linear is named."""
    m = pyomo_model()
    m.product = pyo.Constraint(expr=m.x * m.idle >= 1)
    with pytest.raises(UsageError, match="the constraint product is not linear"):
        solve_pyomo(m, EXACT)


def test_pyomo_reduced_costs_and_suffixes() -> None:
    """Tests that `rc` and `dual` are filled for a linear program, and emptied by a solve that has none."""
    m = pyomo_model()
    m.x.domain = pyo.Reals
    m.x.setub(2)
    m.y = pyo.Var(bounds=(0, None))
    m.need.set_value(2 * m.x + m.y >= 7)
    m.cost.set_value(3 * m.x + 2 * m.y)
    m.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    m.rc = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    assert solve_pyomo(m, EXACT).objective == 12.0
    assert (m.dual[m.need], m.rc[m.x], m.rc[m.y]) == (2.0, -1.0, 0.0)
    m.x.domain = pyo.Integers
    solve_pyomo(m, EXACT)
    assert len(m.dual) == len(m.rc) == 0


@pytest.mark.parametrize("fault", ["cubic", "objectives", "sos"])
def test_pyomo_models_that_highs_cannot_take(fault: str) -> None:
    """Tests that a model that is not linear, or has two objectives or SOS constraints, is refused by name."""
    m = pyomo_model()
    if fault == "cubic":
        m.cost.set_value(m.x**3)
    elif fault == "objectives":
        m.second = pyo.Objective(expr=m.x)
    else:
        m.y = pyo.Var([1, 2])
        m.sos = pyo.SOSConstraint(var=m.y, sos=1)
    with pytest.raises(UsageError, match="HiGHS cannot take the model small"):
        solve_pyomo(m, EXACT)


def test_wrong_starts() -> None:
    """Tests that a start that names an unused variable, or a value that is not finite, is wrong usage."""
    m = pyomo_model()
    with pytest.raises(UsageError, match="the start names idle, which"):
        solve_pyomo(m, EXACT, ComponentMap([(m.idle, 1)]))
    problem, _ = pulp_problem()
    with pytest.raises(UsageError, match="the start names z, which"):
        solve_pulp(problem, EXACT, {"z": 1.0})
    with pytest.raises(UsageError, match="the start gives x the value nan"):
        solve_pulp(problem, EXACT, {"x": float("nan")})


def test_pulp_status_says_optimal_of_optima_only() -> None:
    """Tests that PuLP's own status and values agree with the outcome: limits, gaps and infeasible."""
    problem, x = pulp_problem()
    outcome = solve_pulp(problem, EXACT)
    assert problem.solutionTime == outcome.seconds > 0
    assert (problem.status, problem.sol_status, x.value()) == (pulp.LpStatusOptimal, pulp.LpSolutionOptimal, 4.0)
    started = solve_pulp(problem, Profile("none", time_limit=0.0, highs={"presolve": "off"}), {"x": 5.0})
    assert (started.status, started.limit) == (Termination.FEASIBLE, Limit.TIME)
    assert (problem.status, problem.sol_status) == (pulp.LpStatusNotSolved, pulp.LpSolutionIntegerFeasible)
    problem.addConstraint(x >= 20, "never")
    solve_pulp(problem, EXACT)
    assert problem.status == pulp.LpStatusInfeasible
    nothing = [math.nan, None][PULP_3]  # PuLP 4 takes no None back
    assert str([x.value(), pulp.value(problem.objective)]) == str([nothing, nothing])


def test_pulp_slack_and_reduced_cost() -> None:
    """Tests slack, dual and reduced cost of a maximisation: changes of the maximum, not of its negation."""
    problem = pulp.LpProblem("small", pulp.LpMaximize)
    x = problem.add_variable("x", 0, 4)
    y = problem.add_variable("y", 0)
    problem.setObjective(3 * x + 2 * y)
    problem.addConstraint(x + y <= 6, "limit")
    problem.addConstraint(y <= 5, "loose")
    solve_pulp(problem, EXACT)
    limit, loose = problem.constraints()
    assert (limit.pi, limit.slack, loose.pi, loose.slack) == (2.0, 0.0, 0.0, 3.0)
    assert (x.dj, y.dj) == (1.0, 0.0)


@pytest.mark.skipif(not PULP_3, reason="PuLP 4 pickles no problem")
def test_solved_pulp_problem_pickles() -> None:
    """Tests that a solved problem can go to another process, which PuLP's own solve prevents."""
    problem, _ = pulp_problem()
    solve_pulp(problem, EXACT)
    assert pickle.loads(pickle.dumps(problem)).variables()[0].value() == 4.0


def test_pulp_refuses_what_it_would_lose() -> None:
    """Tests that two variables of one name, and SOS constraints, are refused: PuLP drops or merges them in silence."""
    problem, x = pulp_problem()
    twin = problem.add_variable("x", 0, 1)
    problem.addConstraint(x + twin <= 9, "both")
    with pytest.raises(UsageError, match="injective_names"):
        solve_pulp(problem, EXACT)
    problem, x = pulp_problem()
    add_sos(problem, {x: 1})
    with pytest.raises(UsageError, match="SOS"):
        solve_pulp(problem, EXACT)


def test_constraints_that_highs_refuses() -> None:
    """Tests that a coefficient of 1e15, with which HiGHS takes no constraint, is wrong usage and not a lost one."""
    literal, x = pulp_problem()
    literal.addConstraint(1e15 * x <= 5e15, "limit")
    compact = pyomo_model()
    compact.limit = pyo.Constraint(expr=1e15 * compact.x <= 5e15)
    for solve, model in ((solve_pulp, literal), (solve_pyomo, compact)):
        with pytest.raises(UsageError, match="HiGHS refuses constraints of small: coefficients must be"):
            solve(model, EXACT)


TRICKY = ["a b", "a_b", "a-b", "a+b", "a[b]", "a->b", "a/b", "A_b", "", " ", "_", "__", "1", "_31_", "e5", "5e", "free",
          "FREE", "st", "end", "é", "日本", "_z0_", "x" * 90, "x" * 91, "\n", "obj", "a.b"]  # fmt: skip


@given(labels=st.lists(st.one_of(st.text(max_size=6), st.sampled_from(TRICKY)), unique=True))
def test_names_never_collide(labels: list[str]) -> None:
    """Tests that different labels have different names, which are LP-safe and which PuLP takes as they are."""
    names, program = injective_names(labels), pulp.LpProblem("names")
    assert len(set(names)) == len(labels)
    for name in names:
        assert re.fullmatch("[A-Za-z_][A-Za-z0-9_]{0,79}", name)
        assert program.add_variable(name).name == name


def test_names_survive_an_lp_file(tmp_path: Path) -> None:
    """Tests that HiGHS reads back each name of a tricky label from the LP file that PuLP wrote."""
    names = injective_names(TRICKY)
    problem = pulp.LpProblem("names")
    variables = [problem.add_variable(name, 1) for name in names]
    problem.setObjective(pulp.lpSum(2 * v for v in variables))
    problem.addConstraint(pulp.lpSum(variables) >= 1, "all")
    path = tmp_path / "names.lp"
    problem.writeLP(str(path))
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    assert sorted(highs.allVariableNames()) == sorted(names)


def test_names_of_repeated_labels() -> None:
    """Tests that a label that occurs twice is refused."""
    with pytest.raises(UsageError, match='"n1" occurs twice'):
        injective_names(["n1", "n2", "n1"])
