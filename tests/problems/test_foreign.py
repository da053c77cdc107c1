"""Problems of packages outside whose code raises, or answers nonsense: one line that names package and problem."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from outside_packages import PACKAGE, install, on_path, project

from optsched.certificates import certify
from optsched.core.errors import BoundViolated, Fault, ProblemFailed, UsageError
from optsched.core.instance import Cluster, Instance, Workload
from optsched.core.placement import NONE, Placement
from optsched.core.results import Bound, Component, Proof, Sense, Value, Violation
from optsched.measuring.gaps import gap
from optsched.measuring.matrix import gap_matrix
from optsched.problems import Lsap
from optsched.problems.base import Problem, class_fault, stated
from optsched.problems.foreign import contradiction
from optsched.routes import bounds, solve
from optsched.testing.__main__ import report


class Broken(Problem):
    """Counts the tasks on each node; each method fails as `Broken.how` says."""

    name = "broken"
    title = "breaks where it is told to"
    components = (Component("cost", Sense.MIN, "unit"), Component("rest", Sense.MAX, "unit"))
    proof = Proof.ENUMERATION
    how: Mapping[str, Any] = {}

    def _answer(self, name: str, usual: Any) -> Any:
        shown = self.how.get(name, usual)
        if isinstance(shown, type) and issubclass(shown, BaseException):
            raise shown("as it was told")
        return shown

    @classmethod
    def missing(cls, instance: Instance, parameters: Mapping[str, Any]) -> Iterator[Fault]:
        return iter(cls._answer(cls, "missing", ()))  # type: ignore[arg-type]

    def prepare(self) -> None:
        self._answer("prepare", None)

    @property
    def plainly_infeasible(self) -> str | None:
        found: str | None = self._answer("plainly_infeasible", None)
        return found

    @property
    def offered(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._answer("offered", {"map": np.ones(2)})
        return found

    @property
    def due(self) -> int:
        return int(self._answer("due", np.int64(2))) if "due" not in self.how else self.how["due"]

    @property
    def first_step(self) -> int | None:
        found: int | None = self._answer("first_step", super().first_step)
        return found

    def objective(self, placement: Placement, /) -> Value:
        value: Value = self._answer("objective", (placement.placed, Fraction(1, 2)))
        return value

    def constraint_violations(self, placement: Placement) -> Iterator[Violation]:
        if (self.nodes_of(placement) == NONE).any():
            yield Violation("all", (), 1)
        yield from self._answer("constraint_violations", ())

    def cheap_bounds(self) -> tuple[Bound, ...]:
        found: tuple[Bound, ...] = self._answer("cheap_bounds", (Bound("least", "cost", 2, "all", ""),))
        return found


def posed() -> Broken:
    """The problem on two tasks and two nodes."""
    return Broken(Instance(Cluster(["a", "b"]), Workload(["t1", "t2"])))


def nodes(problem: Problem, rng: Any) -> list[str]:
    """A heuristic."""
    return ["a", "b"]


@pytest.mark.parametrize(
    ("method", "answer", "message"),
    [
        ("objective", ZeroDivisionError, "its objective raised ZeroDivisionError: as it was told"),
        ("objective", 3, r"its objective answered 3; give a tuple of an int or Fraction for each of cost, rest"),
        ("objective", (1, 2, 3), r"its objective answered \(1, 2, 3\); give a tuple"),
        ("objective", (1, 0.5), r"its objective answered \(1, 0.5\); give a tuple"),
        ("objective", (1, Fraction(1, 10**4000)), "its objective answered .* give numbers of up to 4,000 digits"),
        ("objective", [1, 2], r"its objective answered \[1, 2\]; give a tuple"),
        ("constraint_violations", KeyError, "its constraint_violations raised KeyError: 'as it was told'"),
        ("constraint_violations", (None,), "its constraint_violations answered None; give Violations"),
        ("cheap_bounds", RuntimeError, "its cheap_bounds raised RuntimeError: as it was told"),
        ("cheap_bounds", (2,), "its cheap_bounds answered 2; give Bounds"),
        ("cheap_bounds", None, "its cheap_bounds answered None; give Bounds"),
        ("plainly_infeasible", IndexError, "its plainly_infeasible raised IndexError: as it was told"),
        ("plainly_infeasible", 5, "its plainly_infeasible answered 5; give a text, or None"),
        ("first_step", 0, "its first_step answered 0; give an int or Fraction above 0, or None"),
        ("prepare", AttributeError, "its prepare raised AttributeError: as it was told"),
        ("missing", OSError, "its missing raised OSError: as it was told"),
        ("missing", ("a",), "its missing answered 'a'; give Faults"),
        (
            "cheap_bounds",
            (Bound("b", "coast", 2, "all"),),
            "its cheap_bounds answered Bound.*; give a Bound of cost or",
        ),
        (
            "offered",
            [1, 1],
            r"its offered answered \[1, 1\]; give the idle slots of each node by kind of task, such as",
        ),
        ("offered", {"map": [1]}, r"its offered answered \{'map': \[1\]\}; give the idle slots"),
        ("offered", {"maps": [1, 1]}, "its offered answered .*; give the idle slots"),
        ("due", 1.5, "its due answered 1.5; give a number of tasks"),
    ],
)
def test_a_problem_that_fails(monkeypatch: pytest.MonkeyPatch, method: str, answer: Any, message: str) -> None:
    """Tests that whatever a problem's own methods raise or answer wrongly is one message, chained, from any call."""
    problem = posed()
    solution = solve(problem)
    monkeypatch.setattr(Broken, "how", {method: answer})
    calls: list[Callable[[], Any]] = [
        lambda: solve(problem),
        lambda: gap(problem, nodes),
        lambda: gap_matrix([problem], {"mine": (nodes, {})}),
        lambda: certify(problem, solution),
    ]
    asked = {
        "cheap_bounds": [lambda: bounds(problem)],
        "plainly_infeasible": calls[:3],
        "first_step": [lambda: stated(problem, "first_step", None)],
        "prepare": [posed],
        "missing": [posed],
        "offered": [lambda: problem.offered],
        "due": [lambda: problem.due],
    }
    for call in asked.get(method, calls):
        with pytest.raises(ProblemFailed, match=rf'^the problem "broken" \({__name__}:Broken\): {message}') as caught:
            call()
        (line,) = str(caught.value).splitlines()
        if isinstance(answer, type):
            assert isinstance(caught.value.__cause__, answer)
            assert re.search(rf"{re.escape(Path(__file__).name)}, line \d+\)", line)


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"name": None}, "name: None is no str"),
        ({"title": 5}, "title: 5 is no str"),
        ({"components": ("cost",)}, r"components: 'cost' is no Component\(name, sense, unit\)"),
        ({"components": Broken.components[0]}, r"components: Component\(.*\) is no tuple of Component\("),
        ({"components": ()}, "components: is empty; give a tuple of Component"),
        ({"components": (Component("cost", "min", "MB"),)}, "components: sense='min' is no Sense"),
        ({"components": Broken.components * 2}, "components: there are several with the name 'cost'"),
        ({"parameter_table": ("wake",)}, r"parameter_table: 'wake' is no Parameter\(name, default, parse, doc\)"),
        ({"requires": "racks"}, "requires: 'racks' is no tuple of str"),
        ({"proof": "dual"}, "proof: 'dual' is no Proof"),
        ({"always_feasible": 0}, "always_feasible: 0 is no bool"),
        (
            {"title": 5, "proof": "dual", "requires": [3]},
            r"title: 5 .*; requires: \[3\] is no tuple of str; proof: 'dual'",
        ),
    ],
)
def test_what_a_class_states(stated: Mapping[str, Any], message: str) -> None:
    """Tests that whatever a class says wrongly of itself is said when it is posed, all at once."""
    kind = type("Stating", (Broken,), {"__module__": __name__, **stated})
    assert re.search(message, str(class_fault(kind)))
    with pytest.raises(ProblemFailed, match=f"{message}; mend the class|{message}"):
        kind(posed().instance)


def test_what_a_class_does_not_state() -> None:
    """Tests that attributes and methods that are missing are named together."""
    kind = type("Bare", (Problem,), {"__module__": "bare", "titel": "a typo"})
    assert class_fault(kind) == (
        "bare:Bare does not define components, constraint_violations, missing, name, objective, prepare, proof, title"
    )


def test_a_problem_that_contradicts_itself_is_no_bug() -> None:
    """Tests that two parts that disagree are the fault of a class from outside, and a bug for a shipped one."""
    error = BoundViolated("cost 1 is beyond the proved 2")
    assert contradiction(Lsap(posed().instance), error) is error
    found = contradiction(posed(), error)
    assert isinstance(found, ProblemFailed)
    assert str(found).startswith(f"cost 1 is beyond the proved 2; the definition of {__name__}:Broken and its program")


def test_what_a_problem_may_raise() -> None:
    """Tests that faults of the input, wrong usage, interrupts and right answers of a problem pass as they are."""
    with pytest.MonkeyPatch.context() as patched:
        for error in (UsageError, KeyboardInterrupt):
            patched.setattr(Broken, "how", {"prepare": error})
            with pytest.raises(error):
                posed()
        patched.setattr(Broken, "how", {"first_step": Fraction(1, 2)})
        assert stated(posed(), "first_step", None) == Fraction(1, 2)
    assert solve(posed()).objective == (2, Fraction(1, 2))


def test_a_heuristic_is_not_blamed_for_its_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a problem's own fault inside a heuristic is reported as the problem's."""

    def asks(problem: Problem, rng: Any) -> list[str]:
        problem.objective(problem.placement([0, 1]))
        return ["a", "b"]

    problem = posed()
    monkeypatch.setattr(Broken, "how", {"objective": ValueError})
    with pytest.raises(ProblemFailed):
        gap(problem, asks)


# On the command line -----------------------------------------------------------------------------------------------


def install_with(folder: Path, text: str, other: str) -> Path:
    """Install the package of the example with another text in the place of one; where its modules are."""
    modules = folder / "consolidation"
    modules.mkdir()
    for file in (PACKAGE / "consolidation").glob("*.py"):
        (modules / file.name).write_text(file.read_text().replace(text, other))
    if text not in (modules / "problem.py").read_text() and other not in (modules / "problem.py").read_text():
        by_hand = (PACKAGE.parent / "outside_models.py").read_text()
        (modules / "models.py").write_text(by_hand.replace(text, other))
        problem = (modules / "problem.py").read_text().replace("(Problem, Programmed)", "(Problem)")
        (modules / "problem.py").write_text(problem.replace("family=", 'models="consolidation.models", family='))
    install(folder, project()["name"], project()["entry-points"])
    return modules


def test_bug_a_wrong_objective_was_called_a_bug_of_optsched(tmp_path: Path) -> None:
    """Tests that every command that meets the objective ends with one line, exit code 1, and no traceback."""
    install_with(tmp_path, "return (self.parameters", "1 / 0\n        return (self.parameters")
    drawn, posed = str(tmp_path / "drawn.json"), ["--problem", "consolidation"]
    with on_path(tmp_path) as there:
        there("generate", "consolidation", "--nodes", "3", "--tasks", "4", "--output", drawn)
        for command in ("solve", "gap", "matrix"):
            lines = there(command, drawn, *posed, code=1).stderr.splitlines()
            (line,) = [line for line in lines if "note:" not in line]
            assert line.startswith(
                'optsched: error: consolidation-n3-t4-seed0: the problem "consolidation" of optsched-consolidation '
                "(consolidation.problem:Consolidation): its objective raised ZeroDivisionError: division by zero ("
            )
            assert line.endswith("; mend it, or uninstall optsched-consolidation")
        done = CliRunner().invoke(report, ["consolidation"])
    assert (done.exit_code, "Traceback" in done.output) == (4, False)
    assert len([line for line in done.output.splitlines() if "ZeroDivisionError" in line]) == 1
    assert "BROKEN  as above" in done.output


def test_bug_code_of_a_record_was_called_a_bug_of_optsched(tmp_path: Path) -> None:
    """Tests that what a package's models raise is reported as that package's, with its line and exit code 1."""
    lines = (install_with(tmp_path, "model = pyo.ConcreteModel()", "[][1]") / "models.py").read_text().splitlines()
    at = 1 + next(row for row, line in enumerate(lines) if "[][1]" in line)
    with on_path(tmp_path) as there:
        drawn = str(tmp_path / "drawn.json")
        there("generate", "consolidation", "--nodes", "3", "--tasks", "4", "--output", drawn)
        words = ["export", drawn, "--problem", "consolidation", "--to", str(tmp_path / "x.lp")]
        shown = there(*words, code=1).stderr.splitlines()
    assert shown == [
        "optsched: error: optsched-consolidation raised "
        f"IndexError: list index out of range ({tmp_path}/consolidation/models.py, line {at}); "
        "mend it, or uninstall optsched-consolidation"
    ]


def test_bug_a_fault_of_a_model_ended_the_gaps_of_all_instances(tmp_path: Path) -> None:
    """Tests that what a package's models raise on one instance names it, and the other instances are measured."""
    begin = "model = pyo.ConcreteModel()"
    install_with(tmp_path, begin, f"1 // max(0, 20 - len(tasks))\n    {begin}")
    files = [str(tmp_path / f"{tasks}.json") for tasks in (4, 21, 5)]
    with on_path(tmp_path) as there:
        for file in files:
            there("generate", "consolidation", "--tasks", Path(file).stem, "--nodes", "9", "--output", file)
        chosen = ["--problem", "consolidation", "--heuristic", "fullest-first", "--seed", "0", "--format", "json"]
        done = there("gap", *files, *chosen, code=1)
    assert [entry["instance"] for entry in json.loads(done.stdout)] == [
        f"consolidation-n9-t{tasks}-seed0" for tasks in (4, 5)
    ]
    (line,) = [line for line in done.stderr.splitlines() if "error:" in line]
    assert line.startswith(
        "optsched: error: consolidation-n9-t21-seed0: consolidation: optsched-consolidation raised ZeroDivisionError"
    )
