"""What a user added to a model: found, held against the decision, and refused with its name and the mend."""

from typing import Any

import pyomo.environ as pyo
import pytest
from small_problems import instance_of

from optsched.core.errors import TooLarge, UsageError
from optsched.instances.generate import generate
from optsched.models import base, latency, lsap, makespan
from optsched.problems import Latency, Lsap, Makespan
from optsched.solvers.algebraic import solve_pulp, solve_pyomo

#: Guo et al. 2012, Figure 2: three tasks, a slot on each of three nodes; t1 must run on n1, or something costs 1.
FIG2 = Lsap(instance_of([[0, 1, 2], [0, 1], [0]], 3))

#: Two tasks, each with its data on a node; t1 off n1 costs 2 with t0 off n0, for there is no other slot.
HOMES = Lsap(instance_of([[0], [1]], 2))

#: Two equal tasks, and one that is free; t0 stands for both.
ALIKE = Lsap(instance_of([[0, 1], [0, 1], [2]], 3))


def refusal(model: Any, problem: Any, module: Any = lsap) -> str:
    """What `decode` says of a solved model that it refuses."""
    with pytest.raises(UsageError, match="build the model with per_pair=True") as caught:  # noqa: PT012 - either refuses
        solve_pyomo(model, "exact")
        module.decode(model, problem)
    return str(caught.value)


def test_bug_forbidden_pair_was_decoded() -> None:
    """Tests that t1 off n1 costs 2 per pair, and is refused where it is counted anywhere and then lands there."""
    model = lsap.build_pyomo(HOMES)
    model.keep_off = pyo.Constraint(expr=model.place["t1", "n1"] == 0)
    assert "keep_off does not hold there" in refusal(model, HOMES)
    paired = lsap.build_pyomo(HOMES, per_pair=True)
    paired.keep_off = pyo.Constraint(expr=paired.place["t1", "n1"] == 0)
    assert solve_pyomo(paired, "exact").objective == 2
    placement = lsap.decode(paired, HOMES)
    assert HOMES.evaluate(placement) == (2,)
    assert placement.nodes[1] != 1


def test_fixed_variables_and_bounds() -> None:
    """Tests that a variable that is fixed, and a bound that is set, are constraints as rows are."""
    fixed, bounded = lsap.build_pyomo(HOMES), lsap.build_pyomo(HOMES)
    fixed.place["t1", "n1"].fix(0)
    bounded.place["t1", "n1"].setub(0)
    assert "place[t1,n1] is fixed at 0, and is 1 there" in refusal(fixed, HOMES)
    assert "place[t1,n1] is bounded by 0 and 0, and is 1 there" in refusal(bounded, HOMES)
    harmless = lsap.build_pyomo(HOMES)
    harmless.place["t1", "n1"].setub(5)
    solve_pyomo(harmless, "exact")
    assert HOMES.evaluate(lsap.decode(harmless, HOMES)) == (0,)


def test_variables_that_count_several_tasks() -> None:
    """Tests that a row, a bound and a fixed variable of a class of equal tasks are refused with the names of these."""
    rows, fixed, bounded = (lsap.build_pyomo(ALIKE) for _ in range(3))
    rows.one = pyo.Constraint(expr=rows.place["t0", "n0"] + rows.place["t2", "n2"] <= 1)
    fixed.place["t0", "n0"].fix(0)
    bounded.place["t0", "n0"].setub(1)
    assert "one: place[t0,n0] counts for 2 together (t0, t1), so the model cannot tell which" in refusal(rows, ALIKE)
    for model in (fixed, bounded):
        assert "a bound of place[t0,n0]: place[t0,n0] counts for 2 together (t0, t1)" in refusal(model, ALIKE)
    kept = lsap.build_pyomo(ALIKE)
    kept.alone = pyo.Constraint(expr=kept.place["t2", "n2"] == 1)  # t2 is a class of its own
    solve_pyomo(kept, "exact")
    assert lsap.decode(kept, ALIKE).nodes[2] == 2


def test_variables_of_the_user() -> None:
    """Tests that rows may have variables that the user added, which the decision need not settle."""
    model = lsap.build_pyomo(FIG2)
    model.extra = pyo.Var(bounds=(0, 9))
    model.enough = pyo.Constraint(expr=model.extra >= 2 * model.place["t2", "n0"])
    solve_pyomo(model, "exact")
    assert FIG2.evaluate(lsap.decode(model, FIG2)) == (0,)


def test_an_objective_of_the_user() -> None:
    """Tests that a decision that is worse than the model says of the user's objective is refused, and a copy is."""
    model = lsap.build_pyomo(FIG2)
    model.objective.deactivate()
    model.most = pyo.Objective(expr=pyo.quicksum(model.place_anywhere.values()), sense=pyo.maximize)
    assert "the model's objective is 3, and 1 there" in refusal(model, FIG2)
    assert "the model's objective is 3, and 1 there" in refusal(model.clone(), FIG2)


@pytest.mark.parametrize("way", ["compact", "per pair", "literal"])
def test_bug_a_row_that_came_after_solving_was_passed_over(way: str) -> None:
    """Tests that decoding a solved model refuses a row that was added since, and that its values break."""
    model = lsap.build_pulp(HOMES) if way == "literal" else lsap.build_pyomo(HOMES, per_pair=way == "per pair")
    (solve_pulp if way == "literal" else solve_pyomo)(model, "exact")
    if way == "literal":
        model.addConstraint(model.place["t1", "n1", 1] == 0, "late")
    else:
        model.late = pyo.Constraint(expr=model.place["t1", "n1"] == 0)
    with pytest.raises(UsageError, match="late does not hold for the values that the model has: solve it again"):
        lsap.decode(model, HOMES)


def test_a_model_without_an_objective() -> None:
    """Tests that a decision is held against rows where no objective, or more than one, is active after solving."""
    model = lsap.build_pyomo(HOMES)
    model.keep_off = pyo.Constraint(expr=model.place["t1", "n1"] == 0)
    solve_pyomo(model, "exact")
    model.objective.deactivate()
    with pytest.raises(UsageError, match="keep_off does not hold there"):
        lsap.decode(model, HOMES)


@pytest.mark.parametrize("literal", [False, True])
def test_models_over_time_refuse_every_row(literal: bool) -> None:
    """Tests that a model that has only the instants of an optimum is not decoded with a row or bound more."""
    problem = Makespan(generate("makespan", seed=1, nodes=2, tasks=3, reduces=0, jobs=1, slots=1, replicas=1))
    for bound in (False, True):
        model = (makespan.build_pulp if literal else makespan.build_pyomo)(problem)
        run = solve_pulp if literal else solve_pyomo
        run(model, "exact")
        unused = max(model.start.values(), key=lambda each: -(each.varValue if literal else each.value))
        if literal and bound:
            unused.upBound = 0
        elif literal:
            model.addConstraint(unused <= 0, "own")
        elif bound:
            unused.setub(0)
        else:
            model.own = pyo.Constraint(expr=unused <= 0)
        text = r"has only the instants that an optimum.*per_pair"
        with pytest.raises(UsageError, match=text):
            run(model, "exact")
        with pytest.raises(UsageError, match=text):
            makespan.decode(model, problem)


def test_aggregate_is_deprecated() -> None:
    """Tests that the older argument is taken, with a warning that names the new one."""
    with pytest.warns(DeprecationWarning, match="use per_pair=True in place of aggregate=False"):
        model = lsap.build_pyomo(ALIKE, aggregate=False)
    assert ("t1", "n2") in model.place
    with pytest.warns(DeprecationWarning, match="aggregate is deprecated"):
        assert len(lsap.build_pyomo(ALIKE, aggregate=True).CLASSES) == 2


def test_too_many_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a model with more pairs than may be made is refused with their number."""
    monkeypatch.setattr(base, "MAX_VARIABLES", 8)
    with pytest.raises(TooLarge, match="per_pair=True would have 9 pairs of a task and a node; at most 8 are made"):
        lsap.build_pyomo(ALIKE, per_pair=True)


def test_own_variables_of_literal_models() -> None:
    """Tests that a variable of the user may have another value than the solver gave it, once the model is decoded."""
    problem = Latency(instance_of([[0], [1], [0]], 2))
    model = latency.build_pulp(problem)
    hours = model.add_variable("hours", 0)
    model.addConstraint(60 * hours - model.makespan == 0, "hours_is")
    model.addConstraint(model.makespan <= 20, "soon")
    model.setObjective(0 * hours)
    solve_pulp(model, "exact")
    assert problem.evaluate(latency.decode(model, problem))[0] <= 20
