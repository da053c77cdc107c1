"""`optsched certify`: what is proved, what is only claimed, what is false."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from command_line import answer, run, solved

from optsched.certificates.checking import shown
from optsched.core.errors import OutOfTime
from optsched.core.registry import record, records
from optsched.instances.files import save
from optsched.instances.generate import generate
from optsched.processes.limits import Outcome, Status

pytestmark = pytest.mark.usefixtures("wide_page")


def changed(path: Path, change: Any) -> str:
    """The solution file with a change, beside it."""
    document = json.loads(path.read_text())
    change(document)
    target = path.with_name("changed.json")
    target.write_text(json.dumps(document))
    return str(target)


def swap(document: dict[str, Any]) -> None:
    """Another placement, which is worth another value or infeasible."""
    tasks = [task for task, node in document["placement"].items() if node is not None]
    document["placement"][tasks[0]] = None


@pytest.mark.parametrize(
    ("problem", "change"),
    [
        ("lsap", swap),
        ("lsap", lambda document: document["objective"].__setitem__(0, 0)),
        ("lsap", lambda document: document["certificates"][0]["data"].__setitem__("node_prices", {"n1": 50})),
        ("lsap", lambda document: (document["bound"].__setitem__(0, 9), document["certificates"][0].update(claim=9))),
        ("lsap", lambda document: document.update(termination="FEASIBLE", limit="TIME")),
        ("lsap", lambda document: document.update(certificates=[])),
        ("lsap", lambda document: document.update(instance_sha256="0" * 64)),
        ("latency", lambda document: document.update(bound=[1])),
    ],
)
def test_false_claims(tmp_path: Path, problem: str, change: Any) -> None:
    """Tests that a corrupted placement, value, bound, dual, termination or digest is exit code 4."""
    file = changed(solved(tmp_path, problem), change)
    result = run("certify", "examples/running-tasks", file)
    assert result.exit_code == 4, result.stderr
    assert "FALSE" in result.stdout
    assert "a claim is false" in result.stdout
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("kind", ["solve", "frontier", "INFEASIBLE"])
def test_time_limit(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that what is not checked within the limit is not proved, and not false, in each kind of file."""
    source, file = "examples/packing", tmp_path / "claim.json"
    if kind == "INFEASIBLE":
        network = {"nodes": [{"id": "s", "supply": 2}, {"id": "t", "supply": -2}]}
        network |= {"format": "optsched-network/1", "arcs": [{"tail": "s", "head": "t", "capacity": 1}]}
        source = str(tmp_path / "network.json")
        Path(source).write_text(json.dumps(network))
        assert run("solve", source, "--problem", "min-cost-flow", "--output", str(file)).exit_code == 6
    else:
        assert run(kind, source, "--problem", "latency", "--output", str(file)).exit_code == 0
    assert run("certify", source, str(file), "--time-limit", "60").exit_code == 0
    late = {"solve": "checking.proved_bound", "frontier": "checking.proved_bound", "INFEASIBLE": "checking.imported"}[
        kind
    ]

    def out_of_time(*_: Any) -> None:
        raise OutOfTime("out of time")

    with monkeypatch.context() as patch:
        patch.setattr(
            f"optsched.certificates.{late}", lambda *_: out_of_time() if kind != "INFEASIBLE" else out_of_time
        )
        patch.setattr("optsched.routes.doubts.enumerated", lambda *_: None)
        patch.setattr("optsched.routes.doubts._tried", lambda *_: None)
        result = run("certify", source, str(file), "--time-limit", "60")
        assert result.exit_code == 4
        assert "not checked within the time limit" in result.stdout
        assert "FALSE" not in result.stdout
        assert run("certify", source, str(file), "--allow", "nothing").exit_code == 0
    monkeypatch.setattr("optsched.routes.doubts.certify", out_of_time)
    result = run("certify", source, str(file), "--time-limit", "60")
    assert result.exit_code == 4
    assert "nothing is contradicted, but nothing is proved (--allow nothing takes it)" in result.stdout


def test_memory_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that checks that take more memory prove nothing, that others do, and that a crash is an error."""
    file = str(solved(tmp_path, "latency"))
    asked = ("certify", "examples/running-tasks", file, "--memory-limit")
    assert "every claim is proved" in run(*asked, "4000").stdout
    result = run(*asked, "1")
    assert result.exit_code == 4
    assert "the solution: not checked within the memory limit" in result.stdout
    crashed = Outcome(Status.CRASHED, message="killed by signal 9")
    monkeypatch.setattr("optsched.processes.containing.call", lambda *_: crashed)
    result = run(*asked, "4000")
    assert "checking it crashed: killed by signal 9" in result.stderr


def test_another_instance(tmp_path: Path) -> None:
    """Tests that a solution of another instance is exit code 4, also where the problem could not be posed there."""
    result = run("certify", "papers/guo-fig2", str(solved(tmp_path, "flow")))
    assert result.exit_code == 4
    assert "FALSE  instance" in result.stdout


def test_word_is_no_proof(tmp_path: Path) -> None:
    """Tests that a solver's word that nothing proves is exit code 4 unless its kind is allowed, and told as such."""
    target = tmp_path / "solution.json"
    name = "generated/generalized-assignment-n5-t30-seed0"
    solved_by = ("--problem", "generalized-assignment", "--output", str(target))
    assert run("solve", name, *solved_by).exit_code == 0
    target = Path(changed(target, lambda document: document["certificates"][0].update(kind="solver", data={})))
    result = run("certify", name, str(target))
    assert result.exit_code == 4
    assert "claim" in result.stdout
    assert "rests on: solver" in result.stdout
    assert "nothing is contradicted, but nothing is proved (--allow solver takes it)" in result.stdout
    assert "found nothing better than the bound" in result.stdout
    assert run("certify", name, str(target), "--allow", "enumeration").exit_code == 4
    result = run("certify", name, str(target), "--allow", "solver")
    assert result.exit_code == 0
    assert "accepted without a proof, as allowed: solver" in result.stdout


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"certificates": [{"component": "locality-cost", "kind": "solver", "claim": 999, "data": {}}]},
            "claimed 999",
        ),
        ({"termination": "INFEASIBLE", "certificates": []}, "lsap always has a feasible placement"),
        ({"certificates": []}, "no bound is claimed"),
    ],
)
def test_bug_claims_that_were_not_checked(tmp_path: Path, changes: dict[str, Any], told: str) -> None:
    """Tests that a bound of 999, a claimed INFEASIBLE and no claim at all are no success, and what is said of each."""
    document = json.loads(solved(tmp_path, "lsap").read_text())
    claim = next((entry["claim"] for entry in changes["certificates"]), None)
    document |= {"placement": None, "objective": None, "bound": [claim], "termination": "NO_SOLUTION", **changes}
    file = tmp_path / "changed.json"
    file.write_text(json.dumps(document))
    result = run("certify", "examples/running-tasks", str(file))
    assert (result.exit_code, told in result.stdout) == (4, True), result.stdout
    assert "every claim is proved" not in result.stdout


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda document: document.update(problem="lsapp"), 'there is no problem "lsapp"'),
        (lambda document: document.update(parameters={"level": 1}), 'has no parameter "level"'),
        (lambda document: document.update(parameters={"levels": [2, 1, 0]}), "give costs that do not decrease"),
        (lambda document: document["placement"].update(t9="n1"), 'placement.t9: the instance has no task "t9"'),
        (lambda document: document.pop("bound"), "bound: is missing"),
        (lambda document: document.update(extra=1), "extra: there is no such field"),
    ],
)
def test_bad_solution_file(tmp_path: Path, change: Any, told: str) -> None:
    """Tests that a solution file of the wrong form is exit code 3, with file and place."""
    result = run("certify", "examples/running-tasks", changed(solved(tmp_path, "lsap"), change))
    assert result.exit_code == 3
    assert "changed.json" in result.stderr
    assert told in result.stderr


def test_size_of_a_tree_and_its_time(tmp_path: Path) -> None:
    """Tests that a tree's size is told where it is printed, and beside it where it is checked the time that took."""
    path, name = str(tmp_path / "tree.json"), "generated/generalized-assignment-n5-t30-seed0"
    solved = run("solve", name, "--problem", "generalized-assignment", "--output", path)
    assert "proof: combinatorial, a tree of 1 case\n" in solved.stdout
    checked = run("certify", name, path)
    assert re.search(r"claimed 576, by a tree of 1 case in \d+\.\d{3} s", checked.stdout)
    checks = json.loads(run("certify", name, path, "--format", "json").stdout)["checks"]
    proof = next(check for check in checks if "cases" in check)
    assert (proof["proof"], proof["cases"]) == (True, 1)
    assert proof["seconds"] >= 0
    assert sum("seconds" in check for check in checks) == 1


@pytest.mark.parametrize("problem", list(records()))
def test_bug_a_solution_of_other_parameters_was_false(tmp_path: Path, problem: str) -> None:
    """Tests that the parameters of the file are taken and said, and held against those of --param, of every problem.

    Without --param such a solution was called false, as of others than the defaults, for which nobody had asked.
    """
    entry = record(problem)
    assert entry.family is not None
    instance, solution = str(tmp_path / "instance.json"), str(tmp_path / "solution.json")
    save(generate(entry.family, **entry.sizes), instance)
    for variant in entry.variants[:1]:
        given = {name: shown(value) for name, value in variant.items()}
        params = [part for name, text in given.items() for part in ("--param", f"{name}={text}")]
        answer("solve", instance, "--problem", problem, *params, "--output", solution)
        verdict = run("certify", instance, solution, "--allow", "enumeration", "--allow", "solver")
        assert verdict.exit_code == 0, verdict.stdout
        told = ", ".join(f"{name}={text}" for name, text in given.items())
        assert f"checked with the solution's {told}; the instance by itself has " in verdict.stderr
        asked = run("certify", instance, solution, *params, "--allow", "enumeration", "--allow", "solver")
        assert asked.exit_code == 0
        assert "checked with" not in asked.stderr
        name = next(iter(given))
        usual = shown(next(known.default for known in entry.problem_class.parameter_table if known.name == name))
        others = run("certify", instance, solution, "--param", f"{name}={usual}")
        assert others.exit_code == 4
        assert f"the solution has {name}={given[name]}, asked for: " in others.stdout
        assert "the parameters differ from --param (without --param the file's parameters are used)" in others.stdout


def test_a_problem_of_a_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the verdict on another package's problem says whose it is, and on a shipped one nothing."""
    path = str(solved(tmp_path, "lsap"))
    assert "is a problem of" not in run("certify", "examples/running-tasks", path).stderr
    monkeypatch.setattr("optsched.core.registry.package_of", lambda kind: "somebody")
    assert "lsap is a problem of somebody: its program" in run("certify", "examples/running-tasks", path).stderr
