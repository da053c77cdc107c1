"""Programs as LP and MPS text: each classic trap of the formats means the same to every reader."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import highspy
import pulp
import pyomo.environ as pyo
import pytest
from readers import PULP_3, add_sos, everywhere, read_by_all

from optsched.core.errors import UsageError
from optsched.models.base import linear
from optsched.models.export import write_lp, write_mps


def _pulp(sense: int = pulp.LpMinimize) -> Any:
    return pulp.LpProblem("trap", sense)


def constant(sense: int) -> Any:
    """A constant in the objective, of either sense."""
    model = _pulp(sense)
    x = model.add_variable("x", 1, 3)
    model.setObjective(2 * x - 7)
    model.addConstraint(x <= 5, "row")
    return model


def constant_of_pyomo(sense: int) -> Any:
    """The same in Pyomo."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(1, 3))
    model.cost = pyo.Objective(expr=2 * model.x - 7, sense=pyo.minimize if sense == pulp.LpMinimize else pyo.maximize)
    model.row = pyo.Constraint(expr=model.x <= 5)
    return model


def range_row() -> Any:
    """A row with two limits, of which the lower one binds; it must not become `RANGES`."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var()
    model.y = pyo.Var(domain=pyo.Integers)
    model.cost = pyo.Objective(expr=model.x + 3 * model.y)
    model.row = pyo.Constraint(expr=(-5, model.x + model.y, 8))
    model.other = pyo.Constraint(expr=(-2.5, model.y, 1))
    return model


def integer_without_upper_bound() -> Any:
    """An integer whose default upper bound is 1 to some readers."""
    model = _pulp(pulp.LpMaximize)
    x = model.add_variable("x", 0, None, "Integer")
    model.setObjective(1 * x)
    model.addConstraint(2 * x <= 15, "row")
    return model


def negative_integers() -> Any:
    """Integers with negative, without lower, and with fractional bounds."""
    model = _pulp()
    x = model.add_variable("x", -3, None, "Integer")
    y = model.add_variable("y", None, -2, "Integer")
    z = model.add_variable("z", None, None, "Integer")
    w = model.add_variable("w", -1.5, 7, "Integer")
    model.setObjective(x + y + z + w)
    model.addConstraint(y >= -4, "least_y")
    model.addConstraint(z + y >= -20.5, "least_z")
    return model


def upper_bound_below_zero() -> Any:
    """Continuous variables with upper bounds below zero, with and without a lower one."""
    model = _pulp(pulp.LpMaximize)
    x, y, z = model.add_variable("x", None, -1), model.add_variable("y", -9, -2), model.add_variable("z")
    model.setObjective(x + y - z)
    model.addConstraint(z >= -6, "row")
    return model


def negative_right_hand_sides() -> Any:
    """Right-hand sides of all signs and kinds, and one of the objective."""
    model = _pulp()
    x, y = model.add_variable("x"), model.add_variable("y")
    model.setObjective(x + 2 * y + 0.5)
    model.addConstraint(x - y == -3, "equal")
    model.addConstraint(-1 * x <= 4, "most")
    model.addConstraint(1 * y >= -1, "least")
    return model


def names_of_all_lengths() -> Any:
    """Bounds without a number for names that fit the fixed form of MPS and for names that do not, and many digits."""
    model = _pulp()
    names = ["a", "exactly8", "longer_than_eight"]
    free = [model.add_variable(f"{name[:7]}f{name[8:]}") for name in names]
    below = [model.add_variable(f"{name[:7]}b{name[8:]}", None, 1234567.1234567891) for name in names]
    whole = [model.add_variable(f"{name[:7]}w{name[8:]}", 0, None, "Integer") for name in names]
    model.setObjective(pulp.lpSum(free) - pulp.lpSum(below) - pulp.lpSum(whole) + 3 * 1234567)
    for variable in free:
        model.addConstraint(variable >= -5, f"least_{variable.name}")
    for variable in whole:
        model.addConstraint(3 * variable <= 20, f"most_{variable.name}")
    return model


def no_objective() -> Any:
    """No objective, and a row that no variable is in."""
    model = _pulp()
    x = model.add_variable("x", 0, 4)
    model.addConstraint(x >= 1, "row")
    model.addConstraint(linear([]) >= -1, "empty")
    return model


def infeasible() -> Any:
    """A row that no variable is in, and that does not hold."""
    model = _pulp()
    model.setObjective(1 * model.add_variable("x", 0, 4))
    model.addConstraint(linear([]) >= 1, "empty")
    return model


def many_digits() -> Any:
    """Costs that differ in their 13th digit: PuLP writes 12."""
    model = _pulp()
    x, y = model.add_variable("x", 0, 1, "Integer"), model.add_variable("y", 0, 1, "Integer")
    model.setObjective(1000000000002 * x + 1000000000001 * y)
    model.addConstraint(x + y == 1, "one")
    model.addConstraint(1000000000001 * x + 3 * y >= 3, "row")
    return model


def fixed() -> Any:
    """Variables that are fixed, one an integer."""
    model = _pulp()
    x, y = model.add_variable("x", 2.5, 2.5), model.add_variable("y", -3, -3, "Integer")
    model.setObjective(x + y)
    model.addConstraint(x + y <= 9, "row")
    return model


def odd_names() -> Any:
    """Names of rows and columns like the words that the writer uses itself, and ids with spaces."""
    model = pyo.ConcreteModel()
    model.ONE_VAR_CONSTANT_ = pyo.Var(bounds=(2, None))
    model.objective = pyo.Var(["a b", "a-b", "e5", "free"], bounds=(1, 2))
    model.cost = pyo.Objective(expr=model.ONE_VAR_CONSTANT_ + pyo.quicksum(model.objective.values()) + 10)
    model.RHS = pyo.Constraint(["x y"], rule=lambda m, _: (1.5, m.objective["a b"], 5))
    return model


def own_constant() -> Any:
    """A PuLP variable that bears the name of the column for constants, and a long row name."""
    model = _pulp()
    x = model.add_variable("ONE_VAR_CONSTANT", 3, 4)
    model.setObjective(x + 1)
    model.addConstraint(pulp.lpSum([x] + [model.add_variable(f"other{i}", 0, 1) for i in range(30)]) <= 40, "r" * 90)
    return model


TRAPS: dict[str, tuple[Callable[[], Any], float | None]] = {
    "constant": (lambda: constant(pulp.LpMinimize), -5),
    "constant of a maximum": (lambda: constant(pulp.LpMaximize), -1),
    "constant of Pyomo": (lambda: constant_of_pyomo(pulp.LpMinimize), -5),
    "constant of a maximum of Pyomo": (lambda: constant_of_pyomo(pulp.LpMaximize), -1),
    "range": (range_row, -9),
    "integer without upper bound": (integer_without_upper_bound, 7),
    "negative integers": (negative_integers, -24),
    "upper bound below zero": (upper_bound_below_zero, 3),
    "negative right-hand sides": (negative_right_hand_sides, -5.5),
    "names of all lengths": (names_of_all_lengths, -15 - 3 * 0.1234567891 - 18),
    "no objective": (no_objective, 0),
    "infeasible": (infeasible, None),
    "many digits": (many_digits, 1000000000001),
    "fixed": (fixed, -0.5),
    "odd names": (odd_names, 16.5),
    "own constant": (own_constant, 4),
}


@pytest.mark.parametrize("suffix", [".lp", ".mps"])
@pytest.mark.parametrize("trap", TRAPS)
def test_trap(tmp_path: Path, trap: str, suffix: str) -> None:
    """Tests that each classic trap of the formats means the same to every reader."""
    make, value = TRAPS[trap]
    model = make()
    holder = model if isinstance(model, pulp.LpProblem) else next(model.component_data_objects(pyo.Objective))
    target = tmp_path / f"program{suffix}"
    (write_lp if suffix == ".lp" else write_mps)(model, target)
    if value is not None and suffix == ".mps" and holder.sense == pulp.LpMaximize:
        value = -value
    assert read_by_all(target) == everywhere(target, value if value is None else pytest.approx(value, abs=2e-8))


def test_numbers_survive_both_formats(tmp_path: Path) -> None:
    """Tests that each number is read as the very same double, whatever its digits."""
    numbers = [0.1 + 0.2, 1 / 3, 2**53 / 64 + 1 / 64, 1e-9 / 7, 123456789012345.0, 27.880000114440918]
    model = _pulp()
    variables = [model.add_variable(f"x{position}", None, value) for position, value in enumerate(numbers)]
    model.setObjective(linear(zip(variables, numbers, strict=True)))
    for variable, value in zip(variables, numbers, strict=True):
        model.addConstraint(value * variable + variables[0] >= -value, f"c{variable.name}")
    for suffix, write in ((".lp", write_lp), (".mps", write_mps)):
        write(model, tmp_path / f"program{suffix}")
        highs = highspy.Highs()
        highs.silent()
        highs.readModel(str(tmp_path / f"program{suffix}"))
        held = highs.getLp()
        by_name = dict(zip(held.col_names_, zip(held.col_cost_, held.col_upper_, strict=True), strict=True))
        assert [by_name[f"x{position}"] for position in range(len(numbers))] == [(value, value) for value in numbers]
        assert dict(zip(held.row_names_, held.row_lower_, strict=True)) == {
            f"cx{position}": -value for position, value in enumerate(numbers)
        }


@pytest.mark.parametrize("suffix", [".lp", ".mps"])
def test_bug_constraints_without_a_name_could_not_be_written(tmp_path: Path, suffix: str) -> None:
    """Tests that constraints that a user adds to a PuLP model without a name are written, as PuLP names them."""
    model = pulp.LpProblem("unnamed", pulp.LpMinimize)
    x, y = model.add_variable("x", 0), model.add_variable("y", 0)
    model.setObjective(2 * x + y)
    model += x >= 0, "_C1" if PULP_3 else "C1"
    model += x + y >= 3
    model += y <= 1
    target = tmp_path / f"program{suffix}"
    (write_lp if suffix == ".lp" else write_mps)(model, target)
    assert read_by_all(target) == everywhere(target, 5)
    text = target.read_text(encoding="utf-8")
    assert all(name in text for name in (("_C1", "_C1_", "_C2") if PULP_3 else ("C1", "_C1", "_C2")))


def test_program_that_cannot_be_written(tmp_path: Path) -> None:
    """Tests that SOS constraints, equal names and squares are refused, not left out."""
    model = _pulp()
    x, y = model.add_variable("x", 0, 1), model.add_variable("y", 0, 1)
    model.setObjective(x + y)
    add_sos(model, {x: 1, y: 2})
    with pytest.raises(UsageError, match="SOS constraints are not written"):
        write_lp(model, tmp_path / "program.lp")
    twice = _pulp()
    twice.setObjective(twice.add_variable("x") + twice.add_variable("x"))
    with pytest.raises(UsageError, match="injective_names"):
        write_lp(twice, tmp_path / "program.lp")
    square = pyo.ConcreteModel()
    square.x = pyo.Var()
    square.cost = pyo.Objective(expr=square.x**2)
    with pytest.raises(UsageError, match="no linear or mixed-integer program"):
        write_mps(square, tmp_path / "program.mps")
