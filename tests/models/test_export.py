"""Exported LP and MPS files mean the same to every reader, and say what their objective is."""

import itertools
import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import highspy
import pulp
import pyomo.environ as pyo
import pytest
from click.testing import CliRunner
from readers import PULP_3, add_sos, everywhere, read_by_all

import optsched
from optsched import UsageError, models
from optsched.cli import cli
from optsched.core.instance import Cluster, Instance, Ragged, Workload
from optsched.core.results import Sense
from optsched.instances.library import library
from optsched.models import export
from optsched.models.base import linear
from optsched.models.export import about, write_lp, write_mps
from optsched.problems import PROBLEMS, AnyProblem, Latency, Lsap, Problem, problem
from optsched.solvers.algebraic import solve_pulp, solve_pyomo
from optsched.solvers.profiles import Profile


def exported(target: Path, *words: str) -> tuple[str, str]:
    """The text of what `optsched export` writes, and what it tells on stderr."""
    result = CliRunner().invoke(cli, ["export", *words, "--to", str(target)], standalone_mode=False)
    assert (result.exception, result.stdout) == (None, "")
    return target.read_text(encoding="utf-8"), result.stderr


# What a file means ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["compact", "literal"])
def test_mps_of_a_maximum_is_minimised_by_others(tmp_path: Path, model: str) -> None:
    """Tests that what is to be most is negated in MPS, where `OBJSENSE MAX` is passed over, and that this is said."""
    words = ["examples/knapsacks", "--problem", "generalized-assignment", "--param", "sense=max", "--model", model]
    target = tmp_path / "program.mps"
    text, notes = exported(target, *words)
    assert read_by_all(target) == everywhere(target, -35)
    said = "minus the cost, which is to be most: the most is minus the least of this"
    assert said in notes
    assert [line[0] for line in text.splitlines() if said in line] == ["*"]
    assert "OBJSENSE" not in text
    target = tmp_path / "program.lp"
    text, notes = exported(target, *words)
    assert read_by_all(target) == everywhere(target, 35)
    assert notes == ""
    assert "cost (max)" in text.splitlines()[1]


@pytest.mark.parametrize("model", ["compact", "literal"])
def test_mps_of_utility_is_minimised_by_others(tmp_path: Path, model: str) -> None:
    """Tests the two programs of `utility`: the first found -1000 for -1/2, the second is in units of 2^-20."""
    words = ["papers/ras-endless-swap", "--problem", "utility", "--model", model]
    target = tmp_path / "program.mps"
    exported(target, *words)
    assert read_by_all(target) == everywhere(target, 0.5)
    _, notes = exported(target, *words, "--limit", "-1/2")
    assert read_by_all(target) == everywhere(target, -3355444)
    assert "minus the utilisation" in notes
    assert "units of 1/1048576 share of a capacity: divide by 1048576" in notes


@pytest.mark.parametrize("suffix", [".lp", ".mps"])
@pytest.mark.parametrize("model", ["compact", "literal"])
def test_unit_of_the_objective_is_said(tmp_path: Path, model: str, suffix: str) -> None:
    """Tests that the file and stderr say that 87,854,647 is 83.78 MB/s."""
    target = tmp_path / f"program{suffix}"
    text, notes = exported(target, "papers/hsu-frozen-load", "--problem", "flow-congestion", "--model", model)
    assert read_by_all(target) == everywhere(target, 87854647)
    said = "objective in units of 1/1048576 MB/s: divide by 1048576"
    assert said in notes
    assert said in text
    assert "papers/" not in notes


def test_notes_are_one_line_of_ascii(tmp_path: Path) -> None:
    """Tests that a name with a line break and letters beyond ASCII does not end the comment."""
    model = pulp.LpProblem("plain", pulp.LpMinimize)
    model.setObjective(1 * model.add_variable("x", 2))
    for suffix, write in ((".lp", write_lp), (".mps", write_mps)):
        target = tmp_path / f"program{suffix}"
        write(model, target, ["n\nEnd\nENDATA \u00e9 *\\ x"])
        assert read_by_all(target) == everywhere(target, 2)
        assert target.read_bytes().isascii()


# The library ------------------------------------------------------------------------------------------------------


#: Bytes of an LP file up to which a program of the library is solved with its integers, and without them.
WHOLE, RELAXED = 12_000, 150_000


def programs(posed: AnyProblem, value: Any) -> list[tuple[dict[str, Any], Any]]:
    """Options of a problem's programs, each with the optimum of the component that it has as objective."""
    if posed.name in ("latency", "lsap-fairness", "utility"):
        return [({}, value[0]), ({"limit": value[0]}, value[1])]
    if posed.name == "traffic":
        return [({}, value[0]), ({"limit": value[1]}, value[0])]
    return [({}, value[0])]


@pytest.mark.thorough
@pytest.mark.parametrize("name", PROBLEMS)
def test_library_is_read_alike(tmp_path: Path, name: str) -> None:
    """Tests that HiGHS, CBC and PuLP's reader agree on LP and MPS of each program of the library, with its optimum."""
    seen = 0
    for entry in library().values():
        if name not in entry.optima:
            continue
        known = entry.optima[name]
        posed = problem(name, optsched.load(entry.path), **known.parameters)
        for (options, value), kind in itertools.product(programs(posed, known.value), ("build_pyomo", "build_pulp")):
            module = models.module(name)
            if kind == "build_pulp" and module.literal_size(posed).variables > 1000:
                continue
            model = getattr(module, kind)(posed, **options)
            meaning = about(posed, "limit" in options)
            program, twin = tmp_path / "program.lp", tmp_path / "program.mps"
            write_lp(model, program)
            size = program.stat().st_size
            if size > RELAXED:
                continue
            write_mps(model, twin)
            negated = meaning.component.sense is Sense.MAX
            relaxed = size > WHOLE
            answers = list(read_by_all(program, relaxed).values())
            answers += [-found if negated else found for found in read_by_all(twin, relaxed).values()]
            where = (entry.name, kind, options, answers)
            assert answers == [pytest.approx(answers[0], rel=1e-7, abs=1e-6)] * 5, where
            if not relaxed:
                assert float(meaning.of(answers[0])) == pytest.approx(float(value), rel=1e-7, abs=1e-7), where
            seen += 1
    assert seen


@pytest.mark.parametrize("name", ["influence", "Inf", "nano", "free", "End"])
@pytest.mark.parametrize("write", [write_lp, write_mps])
def test_bug_names_that_readers_take_for_numbers(tmp_path: Path, name: str, write: Any) -> None:
    """Tests that a name which HiGHS reads as a number or a word of the format is reported, for both kinds of models.

    HiGHS failed on the LP file, and the MPS file was refused as "no linear or mixed-integer program".
    """
    literal = pulp.LpProblem("named", pulp.LpMinimize)
    literal.setObjective(literal.add_variable(name, 0) + literal.add_variable("y", 0))
    compact = pyo.ConcreteModel()
    compact.add_component(name, pyo.Var(domain=pyo.NonNegativeReals))
    compact.cost = pyo.Objective(expr=compact.component(name))
    compact.row = pyo.Constraint(expr=compact.component(name) >= 1)
    for model in (literal, compact):
        with pytest.raises(UsageError, match=f'the name "{name}" begins as a number does, or is a word of LP files'):
            write(model, tmp_path / "file")
    row = pulp.LpProblem("row", pulp.LpMinimize)
    row.addConstraint(row.add_variable("x", 0) >= 1, "infeasible")
    with pytest.raises(UsageError, match='the name "infeasible"'):
        write(row, tmp_path / "file")


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
    outcome = solve_pulp(model, Profile("exact")) if literal else solve_pyomo(model, Profile("exact"))
    assert highs.getInfo().objective_function_value == pytest.approx(outcome.objective)


# Traps of the formats -------------------------------------------------------------------------------------------------


#: Bounds of a column, and "Integer" if it is one.
Column = tuple[float | None, float | None] | tuple[float | None, float | None, str]

#: Variables by name, a row over them, and whether it is `>=`, `<=` or `==` its right-hand side.
Row = tuple[dict[str, float], str, float]


def literal(columns: dict[str, Column], costs: dict[str, float], rows: dict[str, Row], constant: float = 0.0) -> Any:
    """The PuLP problem of least cost from its columns, costs and rows."""
    model = pulp.LpProblem("trap", pulp.LpMinimize)
    made = {name: model.add_variable(name, *column) for name, column in columns.items()}
    compared = {">=": operator.ge, "<=": operator.le, "==": operator.eq}
    if costs:
        model.setObjective(linear([(made[name], cost) for name, cost in costs.items()], constant))
    for name, (entries, word, side) in rows.items():
        body = linear([(made[column], value) for column, value in entries.items()])
        model.addConstraint(compared[word](body, side), name)
    return model


def constant_of_a_maximum() -> Any:
    """A constant in an objective that is to be most."""
    model = pulp.LpProblem("trap", pulp.LpMaximize)
    x = model.add_variable("x", 1, 3)
    model.setObjective(2 * x - 7)
    model.addConstraint(x <= 5, "row")
    return model


def constant_of_pyomo() -> Any:
    """The same in Pyomo."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(1, 3))
    model.cost = pyo.Objective(expr=2 * model.x - 7, sense=pyo.maximize)
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


def odd_names() -> Any:
    """Names of rows and columns like the words that the writer uses itself, and ids with spaces."""
    model = pyo.ConcreteModel()
    model.ONE_VAR_CONSTANT_ = pyo.Var(bounds=(2, None))
    model.objective = pyo.Var(["a b", "a-b", "e5", "free"], bounds=(1, 2))
    model.cost = pyo.Objective(expr=model.ONE_VAR_CONSTANT_ + pyo.quicksum(model.objective.values()) + 10)
    model.RHS = pyo.Constraint(["x y"], rule=lambda m, _: (1.5, m.objective["a b"], 5))
    return model


#: Names that fit the fixed form of MPS, and one that does not.
LENGTHS = ("a", "exactly8", "longer_than_eight")

#: Each trap: what makes the program, and its optimum, None where it is infeasible.
TRAPS: dict[str, tuple[Callable[[], Any], float | None]] = {
    "constant": (lambda: literal({"x": (1, 3)}, {"x": 2}, {"row": ({"x": 1}, "<=", 5)}, -7), -5),
    "constant of a maximum": (constant_of_a_maximum, -1),
    "constant of a maximum of Pyomo": (constant_of_pyomo, -1),
    "range": (range_row, -9),
    "odd names": (odd_names, 16.5),
    # Bounds of integers, of which one has no upper bound, which is 1 to some readers; bounds below 0; fixed variables.
    "bounds": (
        lambda: literal(
            {"i": (-3, None, "Integer"), "j": (None, -2, "Integer"), "k": (None, None, "Integer")}
            | {"l": (-1.5, 7, "Integer"), "m": (0, None, "Integer"), "n": (-3, -3, "Integer")}
            | {"p": (None, -1), "q": (-9, -2), "r": (2.5, 2.5)},
            {"i": 1, "j": 1, "k": 1, "l": 1, "m": -1, "n": 1, "p": -1, "q": -1, "r": 1},
            {"j": ({"j": 1}, ">=", -4), "k": ({"k": 1, "j": 1}, ">=", -20.5), "m": ({"m": 2}, "<=", 15)},
        ),
        -28.5,
    ),
    "negative right-hand sides": (
        lambda: literal(
            {"x": (None, None), "y": (None, None)},
            {"x": 1, "y": 2},
            {"equal": ({"x": 1, "y": -1}, "==", -3), "most": ({"x": -1}, "<=", 4), "least": ({"y": 1}, ">=", -1)},
            0.5,
        ),
        -5.5,
    ),
    "names of all lengths": (
        lambda: literal(
            {f"{name[:7]}f{name[8:]}": (None, None) for name in LENGTHS}
            | {f"{name[:7]}b{name[8:]}": (None, 1234567.1234567891) for name in LENGTHS}
            | {f"{name[:7]}w{name[8:]}": (0, None, "Integer") for name in LENGTHS},
            {f"{name[:7]}{kind}{name[8:]}": -1 + 2 * (kind == "f") for kind in "fbw" for name in LENGTHS},
            {f"least_{name}": ({f"{name[:7]}f{name[8:]}": 1}, ">=", -5) for name in LENGTHS}
            | {f"most_{name}": ({f"{name[:7]}w{name[8:]}": 3}, "<=", 20) for name in LENGTHS},
            3 * 1234567,
        ),
        -15 - 3 * 0.1234567891 - 18,
    ),
    # The row "empty" has no variable.
    "no objective": (lambda: literal({"x": (0, 4)}, {}, {"row": ({"x": 1}, ">=", 1), "empty": ({}, ">=", -1)}), 0),
    "infeasible": (lambda: literal({"x": (0, 4)}, {"x": 1}, {"empty": ({}, ">=", 1)}), None),
    # Costs that differ in their 13th digit: PuLP writes 12.
    "many digits": (
        lambda: literal(
            {"x": (0, 1, "Integer"), "y": (0, 1, "Integer")},
            {"x": 1000000000002, "y": 1000000000001},
            {"one": ({"x": 1, "y": 1}, "==", 1), "row": ({"x": 1000000000001, "y": 3}, ">=", 3)},
        ),
        1000000000001,
    ),
    # A variable that bears the name of the column for constants, and a long row name.
    "own constant": (
        lambda: literal(
            {"ONE_VAR_CONSTANT": (3, 4)} | {f"other{number}": (0, 1) for number in range(30)},
            {"ONE_VAR_CONSTANT": 1},
            {"r" * 90: ({"ONE_VAR_CONSTANT": 1} | {f"other{number}": 1 for number in range(30)}, "<=", 40)},
            1,
        ),
        4,
    ),
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
    model = pulp.LpProblem("digits")
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
    model = pulp.LpProblem("sos")
    x, y = model.add_variable("x", 0, 1), model.add_variable("y", 0, 1)
    model.setObjective(x + y)
    add_sos(model, {x: 1, y: 2})
    with pytest.raises(UsageError, match="SOS constraints are not written"):
        write_lp(model, tmp_path / "program.lp")
    twice = pulp.LpProblem("twice")
    twice.setObjective(twice.add_variable("x") + twice.add_variable("x"))
    with pytest.raises(UsageError, match="injective_names"):
        write_lp(twice, tmp_path / "program.lp")
    square = pyo.ConcreteModel()
    square.x = pyo.Var()
    square.cost = pyo.Objective(expr=square.x**2)
    with pytest.raises(UsageError, match="no linear or mixed-integer program"):
        write_mps(square, tmp_path / "program.mps")
