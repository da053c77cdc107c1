"""Exported LP and MPS files mean the same to every reader, and say what their objective is."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import highspy
import pulp
import pyomo.environ as pyo
import pytest
from click.testing import CliRunner
from readers import everywhere, read_by_all
from replica_instances import instance_of

import optsched
from optsched import models
from optsched.cli import cli
from optsched.core.errors import UsageError
from optsched.core.instance import Cluster, Instance, Ragged, Workload
from optsched.core.results import Sense
from optsched.instances.library import library
from optsched.models import export, latency
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
    text, told = exported(target, *words)
    assert read_by_all(target) == everywhere(target, -35)
    said = "minus the cost, which is to be most: the most is minus the least of this"
    assert said in told
    assert [line[0] for line in text.splitlines() if said in line] == ["*"]
    assert "OBJSENSE" not in text
    target = tmp_path / "program.lp"
    text, told = exported(target, *words)
    assert read_by_all(target) == everywhere(target, 35)
    assert told == ""
    assert "cost (max)" in text.splitlines()[1]


@pytest.mark.parametrize("model", ["compact", "literal"])
def test_mps_of_utility_is_minimised_by_others(tmp_path: Path, model: str) -> None:
    """Tests the two programs of `utility`: the first found -1000 for -1/2, the second is in units of 2^-20."""
    words = ["papers/ras-endless-swap", "--problem", "utility", "--model", model]
    target = tmp_path / "program.mps"
    exported(target, *words)
    assert read_by_all(target) == everywhere(target, 0.5)
    _, told = exported(target, *words, "--limit", "-1/2")
    assert read_by_all(target) == everywhere(target, -3355444)
    assert "minus the utilisation" in told
    assert "units of 1/1048576 share of a capacity: divide by 1048576" in told


@pytest.mark.parametrize("suffix", [".lp", ".mps"])
@pytest.mark.parametrize("model", ["compact", "literal"])
def test_unit_of_the_objective_is_said(tmp_path: Path, model: str, suffix: str) -> None:
    """Tests that the file and stderr say that 87,854,647 is 83.78 MB/s."""
    target = tmp_path / f"program{suffix}"
    text, told = exported(target, "papers/hsu-frozen-load", "--problem", "flow-congestion", "--model", model)
    assert read_by_all(target) == everywhere(target, 87854647)
    said = "objective in units of 1/1048576 MB/s: divide by 1048576"
    assert said in told
    assert said in text
    assert "papers/" not in told


def test_unit_of_a_network_is_said(tmp_path: Path) -> None:
    """Tests that stderr says the unit of a network's costs, where it is not the problem's own."""
    assert "1/1048576 MB/s" in exported(tmp_path / "a.dimacs", "papers/hsu-frozen-load", "--problem", "flow")[1]
    assert exported(tmp_path / "a.dimacs", "papers/guo-fig2", "--problem", "lsap")[1] == ""


def test_notes_are_one_line_of_ascii(tmp_path: Path) -> None:
    """Tests that a name with a line break and letters beyond ASCII does not end the comment."""
    model = pulp.LpProblem("plain", pulp.LpMinimize)
    model.setObjective(1 * model.add_variable("x", 2))
    for suffix, write in ((".lp", write_lp), (".mps", write_mps)):
        target = tmp_path / f"program{suffix}"
        write(model, target, ["n\nEnd\nENDATA \u00e9 *\\ x"])
        assert read_by_all(target) == everywhere(target, 2)
        assert target.read_bytes().isascii()


# Traps of the formats ---------------------------------------------------------------------------------------------


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
    """Tests that a name which HiGHS reads as a number or a word of the format is told, for both kinds of models.

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


def test_models_are_deterministic(tmp_path: Path) -> None:
    """Tests that the same problem gives the same file twice."""
    problem = Latency(instance_of([[0, 1], [1, 2], []], 3, load=[0, 2, 7]))
    written = []
    for number in range(2):
        export.write_lp(latency.build_pyomo(problem), tmp_path / f"{number}.lp")
        written.append((tmp_path / f"{number}.lp").read_bytes())
    assert written[0] == written[1]
