"""`optsched solve`, `bounds`, `frontier`, `export` and `certify`: results, files, exit codes, what is proved."""

import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from command_line import answer, run, small, solved, stderr, stdout
from readers import by_highs
from small_problems import traffic as posed

import optsched
from optsched import routes
from optsched.core.brief import as_argument
from optsched.core.errors import OutOfTime
from optsched.core.instance import Cluster, Instance, Workload
from optsched.core.processes import limits
from optsched.core.processes.limits import Outcome, Status
from optsched.core.registry import record, records
from optsched.core.results import Limit, Solution, Termination
from optsched.instances.files import save
from optsched.instances.generate import generate

pytestmark = pytest.mark.usefixtures("wide_page")


def test_solve_is_one_object(tmp_path: Path) -> None:
    """Tests that JSON has the fields of the solution file: numbers for one component, lists for two, doubles."""
    file = tmp_path / "solution.json"
    one = answer("solve", "papers/guo-fig2", "--problem", "lsap", "--output", str(file))
    assert list(one) == [*json.loads(file.read_text()), "notes"]
    assert (one["objective"], one["bound"], one["termination"]) == (0, 0, "OPTIMAL")
    assert one["certificates"][0]["kind"] == "dual"
    two = answer("solve", "papers/guo-fig2", "--problem", "latency")
    assert (two["objective"], two["bound"]) == ([1, 3], [1, 3])
    real = answer("solve", "examples/running-tasks", "--problem", "flow")
    assert {type(real["objective"]), type(real["certificates"][0]["claim"])} == {float}


def test_dry_run_tells_sizes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the routes are reported with the sizes of their models, or one of them, and that nothing is solved."""
    monkeypatch.setattr("optsched.routes.solve", None)
    asked = ("solve", "papers/guo-fig2", "--problem", "lsap", "--dry-run")
    done = {entry.pop("route"): list(entry.values()) for entry in answer(*asked)}
    assert list(done)[:2] == ["network", "arrays"]
    assert (done["network"], done["pulp"], done["brute-force"]) == ([6, 6, 12, 0], [9, 6, 28, 0], [None] * 4)
    (literal,) = answer(*asked, "--route", "pulp")
    assert literal == {"route": "pulp", "variables": 9, "constraints": 6, "coefficients": 28, "megabytes": 0}
    assert "pulp                     9            6            28          0" in stdout(*asked)
    assert run(*asked, "--route", "none").exit_code == 2


def test_solve_table() -> None:
    """Tests that the table says why it stopped, what is held, what is proved and by what."""
    shown = stdout("solve", "examples/half-units", "--problem", "latency")
    assert all(text in shown for text in ("OPTIMAL", "9, 20", "proof: combinatorial", "search in"))


def test_start(tmp_path: Path) -> None:
    """Tests that a solution file is a start, and one of another instance or an infeasible one is refused."""
    held = solved(tmp_path)
    args = ["--problem", "latency", "--start"]
    stdout("solve", "examples/running-tasks", *args, str(held))
    assert "holds no decision on this instance" in stderr("solve", "papers/guo-fig2", *args, str(held), code=2)
    nowhere = changed(held, lambda document: document.update(placement=dict.fromkeys(document["placement"])))
    assert "the start is infeasible" in stderr("solve", "examples/running-tasks", *args, nowhere, code=2)


@pytest.mark.parametrize(
    ("termination", "changes", "code"),
    [
        (Termination.NO_SOLUTION, {"decision": None, "objective": None, "limit": Limit.TIME}, 5),
        (Termination.INFEASIBLE, {"decision": None, "objective": None, "bound": (None,)}, 6),
        (Termination.FEASIBLE, {"limit": Limit.NODES}, 0),
        (Termination.FEASIBLE, {"limit": Limit.INTERRUPTED}, 130),
    ],
)
def test_exit_codes(
    monkeypatch: pytest.MonkeyPatch, termination: Termination, changes: dict[str, Any], code: int
) -> None:
    """Tests that limits, infeasibility and interrupts are shown as results, each with its exit code."""
    real = routes.solve

    def stopped(*args: Any) -> Solution:
        return replace(real(*args), certificates=(), termination=termination, **changes)

    monkeypatch.setattr(routes, "solve", stopped)
    for form in ("table", "json"):
        assert str(termination) in stdout("solve", "papers/guo-fig2", "--problem", "lsap", "--format", form, code=code)


def test_bounds_where_nothing_is_feasible(tmp_path: Path) -> None:
    """Tests that a warning and the table say why, and that no number stands for the time that nothing takes."""
    path = str(tmp_path / "none.json")
    optsched.save(Instance(Cluster(["n1"], slots=[0]), Workload(["t1", "t2"], kind=[0, 1], duration=[5, 5])), path)
    asked = ("bounds", path, "--problem", "job-times")
    text = 'nothing is feasible: no slot for a map ever becomes free, and task "t1" is one'
    assert f"warning: job-times: {text}" in stderr(*asked)
    assert [" ".join(row.split()) for row in stdout(*asked).splitlines()[2:]] == [f"- - - {text}"]
    assert answer(*asked) == []


def test_frontier() -> None:
    """Tests that the frontier of the library's example is complete and proved."""
    asked = ("frontier", "examples/half-units", "--problem", "latency")
    found = answer(*asked)
    assert [point["objective"] for point in found["points"]] == [[9, 20], [11, 17]]
    assert {point["certificate"] for point in found["points"]} == {"combinatorial"}
    assert (found["complete"], found["limit"], found["components"]) == (True, None, ["makespan", "work"])
    assert stdout(*asked).splitlines()[2].split() == ["9", "20", "combinatorial"]


@pytest.mark.parametrize(
    ("limit", "points", "code"), [(Limit.TIME, 1, 0), (Limit.TIME, 0, 5), (Limit.INTERRUPTED, 1, 130)]
)
def test_frontier_cut_short(monkeypatch: pytest.MonkeyPatch, limit: Limit, points: int, code: int) -> None:
    """Tests that a frontier that is not complete says so, and is exit code 5 where there is no point at all."""
    found = routes.frontier(optsched.problem("latency", "examples/half-units"))
    cut = replace(found, points=found.points[:points], complete=False, limit=limit)
    monkeypatch.setattr(routes, "frontier", lambda *_: cut)
    said = stderr("frontier", "examples/half-units", "--problem", "latency", code=code)
    assert f"not complete: {limit} cut it short" in said


def test_plot_has_the_heuristics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that heuristics are drawn in: all that serve the problem, those named, none; and what fails."""
    monkeypatch.chdir(tmp_path)
    Path("mine_plotted.py").write_text(
        "def broken(problem, rng):\n    raise KeyError('x')\n\n\n"
        "def crowd(problem, rng):\n    return [None] * len(problem.tasks)\n"
    )

    def drawn(*heuristics: str) -> tuple[str, str]:
        named = [word for name in heuristics for word in ("--heuristic", name)]
        said = stderr("frontier", "papers/fsy-not-optimal", "--problem", "latency", "--plot", "a.svg", *named)
        return Path("a.svg").read_text(), said

    text, said = drawn()
    assert all(f">{name}<" in text for name in ("round-robin (5, 11)", "flow-based (4, 11)", "labl (4, 7)"))
    assert said == ""
    text, said = drawn("labl,variant=strict", "mine_plotted:broken", "mine_plotted:crowd")
    assert ">mine_plotted:broken: failed<" in text
    assert ">mine_plotted:crowd: infeasible<" in text
    assert "KeyError" in said
    assert "round-robin" not in drawn("none")[0]


@pytest.mark.parametrize("kind", ["json", "npz"])
def test_files_of_points(kind: str, tmp_path: Path) -> None:
    """Tests that a frontier is written, and proved from there; a file that cannot be is reported."""
    front = str(tmp_path / f"front.{kind}")
    stdout("frontier", "papers/fsy-not-optimal", "--problem", "latency", "--output", front)
    assert "every claim is proved" in stdout("certify", "papers/fsy-not-optimal", front)
    assert Path(front).read_bytes().startswith(b"{" if kind == "json" else b"PK")
    assert "the frontier is of" in stdout("certify", "papers/guo-fig2", front, code=4)


@pytest.mark.parametrize(
    ("problem", "model", "suffix"),
    [
        ("lsap", "compact", "lp"),
        ("fair-lsap", "literal", "lp"),
        ("flow", "compact", "mps"),
        ("latency", "literal", "mps"),
    ],
)
def test_exported_program(tmp_path: Path, problem: str, model: str, suffix: str) -> None:
    """Tests that an exported program, read by a solver, has the problem's optimum."""
    target = tmp_path / f"model.{suffix}"
    result = run("export", "examples/running-tasks", "--problem", problem, "--model", model, "--to", str(target))
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    objective = optsched.solve(optsched.problem(problem, "examples/running-tasks")).objective
    assert by_highs(target) == pytest.approx(float(objective[0]), rel=1e-9)
    assert suffix == "mps" or ("Pyomo" in target.read_text()) == (model == "compact")


@pytest.mark.parametrize("model", ["compact", "literal"])
def test_export_beyond_the_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    """Tests that `export` looks at the memory before it builds a program of either kind, and writes nothing then."""
    monkeypatch.setattr(limits, "has_room", lambda size: False)
    asked = ("export", "examples/running-tasks", "--problem", "lsap", "--model", model)
    said = stderr(*asked, "--to", str(tmp_path / "model.lp"), code=2)
    assert "coefficients" in said
    assert "export smaller instances" in said
    assert not list(tmp_path.iterdir())


def test_exported_latency_at_a_limit(tmp_path: Path) -> None:
    """Tests that at a fixed limit the least work within it is exported."""
    target = tmp_path / "model.lp"
    stdout("export", "examples/half-units", "--problem", "latency", "--to", str(target), "--limit", "11")
    assert by_highs(target) == 17


@pytest.mark.parametrize("model", ["compact", "literal"])
def test_exported_utility_at_a_limit(tmp_path: Path, model: str) -> None:
    """Tests that at a lowest utility, a rational or the nearest to a decimal, the most utilisation is exported."""
    lowest, utilisation = answer("solve", "papers/ras-endless-swap", "--problem", "utility")["objective"]
    target = tmp_path / "model.lp"
    args = ["papers/ras-endless-swap", "--problem", "utility", "--model", model, "--to", str(target)]
    for limit in (str(Fraction(lowest)), f"{lowest:.9f}"):
        stdout("export", *args, "--limit", limit)
        assert by_highs(target) / 2**20 == pytest.approx(utilisation, rel=1e-9)


@pytest.mark.parametrize(("problem", "grid"), [("lsap", 1), ("flow", 2**20)])
def test_exported_network(tmp_path: Path, problem: str, grid: int) -> None:
    """Tests that the exported network, solved by networkx from GraphML, has the problem's optimum in its units."""
    import networkx

    args, target = ("export", "examples/running-tasks", "--problem", problem, "--to"), tmp_path / "network"
    stdout(*args, f"{target}.graphml")
    graph = networkx.read_graphml(f"{target}.graphml")
    cost, _ = networkx.network_simplex(networkx.MultiDiGraph(graph))
    assert cost / grid == answer("solve", "examples/running-tasks", "--problem", problem)["objective"]
    assert (f"costs in units of 1/{grid}" in stderr(*args, f"{target}.dimacs")) == (grid > 1)
    lines = Path(f"{target}.dimacs").read_text().splitlines()
    assert f"p min {graph.number_of_nodes()} {graph.number_of_edges()}" in lines
    assert sum(line.startswith("a ") for line in lines) == graph.number_of_edges()


NETWORK = {
    "format": "optsched-network/1",
    "nodes": [{"id": "s", "supply": 2}, {"id": "t", "supply": -2}],
    "arcs": [{"tail": "s", "head": "t", "capacity": 5, "cost": 3}],
}


def test_flow_network(tmp_path: Path) -> None:
    """Tests that a flow network is described, bounded, solved, certified and exported, and heuristics refuse it."""
    file, held, target = (str(tmp_path / name) for name in ("network.json", "solution.json", "network.dimacs"))
    Path(file).write_text(json.dumps(NETWORK))
    stdout("export", file, "--to", target)
    assert "a 1 2 0 5 3" in Path(target).read_text()
    assert "problem min-cost-flow  applies" in " ".join(stdout("describe", file).split("\n"))
    for suffix, words in (("lp", []), ("mps", ["--problem", "min-cost-flow"]), ("lp", ["--model", "literal"])):
        stdout("export", file, "--to", str(tmp_path / f"x.{suffix}"), *words)
    refused = stderr("export", file, "--problem", "lsap", "--to", target, code=3)
    assert "lsap is posed on an instance, not on a flow network" in refused
    flow = ["--problem", "min-cost-flow"]
    assert "optimal" in stdout("solve", file, *flow, "--output", held).lower()
    document = json.loads(Path(held).read_text())
    assert (document["flow"], document["objective"], "placement" in document) == ({"0": 2}, [6], False)
    assert "every claim is proved" in stdout("certify", file, held)
    stdout("solve", file, *flow, "--start", held)
    assert answer("bounds", file, *flow)[0]["value"] == 0


@pytest.mark.parametrize(
    ("arcs", "code", "message"),
    [
        ([{"head": "t", "capacity": 1, "cost": 3}], 6, "INFEASIBLE"),
        ([{"head": "t", "capacity": 9, "cost": 3}, {"head": "s", "cost": -1}], 5, "unbounded: a cycle"),
    ],
)
def test_network_without_an_optimum(tmp_path: Path, arcs: list[dict[str, Any]], code: int, message: str) -> None:
    """Tests that there being no flow, or no least cost, is a result with its own exit code."""
    file = tmp_path / "network.json"
    file.write_text(json.dumps({**NETWORK, "arcs": [{"tail": "s", **arc} for arc in arcs]}))
    assert message in stdout("solve", str(file), "--problem", "min-cost-flow", code=code)


def test_frontier_where_nothing_is_feasible(tmp_path: Path) -> None:
    """Tests that a frontier without points says why it has none, with the exit code of `solve`, and is certified."""
    tasks = [{"id": name, "job": "j", "size": 1} for name in "tu"]
    full = {"nodes": [{"id": "n", "datacenter": "d"}], "jobs": [{"id": "j"}], "tasks": tasks}
    file = small(tmp_path / "full.json", **full, parameters={"traffic": {"capacity": "slots"}})
    points = str(tmp_path / "points.npz")
    said = stderr("frontier", file, "--problem", "traffic", "--output", points, code=6)
    assert "there is no point, since nothing is feasible: 2 maps are pending, and only 1 map" in said
    shown = stdout("solve", file, "--problem", "traffic", code=6)
    (row,) = (line for line in shown.splitlines() if "feasible-decisions" in line)
    assert row.split(maxsplit=1)[1] == "0, a task or node alone shows it"
    stdout("certify", file, points)


def test_proof_that_nothing_is_feasible(tmp_path: Path) -> None:
    """Tests that a frontier and a solution say what proves that nothing is feasible."""
    full = posed([[0]], reduces=2, reduce_slots=[3, 3], jobs=3, capacity="slots")
    file, points = str(tmp_path / "full.json"), str(tmp_path / "points.json")
    optsched.save(replace(full.instance, parameters={"traffic": dict(full.parameters)}), file)
    asked = ("frontier", file, "--problem", "traffic")
    assert "since nothing is feasible: proof: dual" in stderr(*asked, "--output", points, code=6)
    assert answer(*asked, code=6)["infeasible"] == "dual"
    stdout("certify", file, points)
    for route, expected in (("search", "proof: dual"), ("brute-force", "proof: enumeration")):
        shown = stdout("solve", file, "--problem", "traffic", "--route", route, code=6).splitlines()
        (row,) = (line for line in shown if "feasible-decisions" in line or "proof" in line)
        assert row.split(maxsplit=1) == ["feasible-decisions", f"0, {expected}"]


def changed(path: Path, change: Any) -> str:
    """A file like the solution file, with a change."""
    document = json.loads(path.read_text())
    change(document)
    target = path.with_name("changed.json")
    target.write_text(json.dumps(document))
    return str(target)


def test_false_claims(tmp_path: Path) -> None:
    """Tests that a claim that is false, and a solution of another instance, are exit code 4."""
    file = solved(tmp_path, "flow")
    shown = stdout("certify", "examples/running-tasks", changed(file, lambda held: held.update(objective=[0])), code=4)
    assert "FALSE" in shown
    assert "a claim is false" in shown
    assert "FALSE  instance" in stdout("certify", "papers/guo-fig2", str(file), code=4)


@pytest.mark.parametrize("kind", ["solve", "frontier", "INFEASIBLE"])
def test_time_limit(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that what is not checked within the limit is not proved, and not false, in each kind of file."""
    source, file = "examples/packing", str(tmp_path / "claim.json")
    if kind == "INFEASIBLE":
        source = str(tmp_path / "network.json")
        arcs = [{"tail": "s", "head": "t", "capacity": 1}]
        Path(source).write_text(json.dumps({**NETWORK, "arcs": arcs}))
        stdout("solve", source, "--problem", "min-cost-flow", "--output", file, code=6)
    else:
        stdout(kind, source, "--problem", "latency", "--output", file)
    asked = ("certify", source, file, "--time-limit", "60")
    stdout(*asked)

    def out_of_time(*_: Any) -> None:
        raise OutOfTime("out of time")

    with monkeypatch.context() as patch:
        if kind == "INFEASIBLE":
            patch.setattr("optsched.certificates.checking.imported", lambda *_: out_of_time)
        else:
            patch.setattr("optsched.certificates.checking.proved_bound", out_of_time)
        patch.setattr("optsched.routes.doubts.enumerated", lambda *_: None)
        patch.setattr("optsched.routes.doubts._tried", lambda *_: None)
        shown = stdout(*asked, code=4)
        assert "not checked within the time limit" in shown
        assert "FALSE" not in shown
        stdout("certify", source, file, "--allow", "nothing")
    monkeypatch.setattr("optsched.routes.doubts.certify", out_of_time)
    expected = "nothing is contradicted, but nothing is proved (--allow nothing accepts it)"
    assert expected in stdout(*asked, code=4)


def test_memory_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that checks that take more memory prove nothing, that others do, and that a crash is an error."""
    asked = ("certify", "examples/running-tasks", str(solved(tmp_path, "latency")), "--memory-limit")
    assert "every claim is proved" in stdout(*asked, "4000")
    assert "the solution: not checked within the memory limit" in stdout(*asked, "1", code=4)
    crashed = Outcome(Status.CRASHED, message="killed by signal 9")
    monkeypatch.setattr("optsched.core.processes.containing.call", lambda *_: crashed)
    assert "checking it crashed: killed by signal 9" in run(*asked, "4000").stderr


def test_word_is_no_proof(tmp_path: Path) -> None:
    """Tests that a solver's word that nothing proves is exit code 4 unless its kind is allowed, and shown as such."""
    target, name = tmp_path / "solution.json", "generated/generalized-assignment-n5-t30-seed0"
    stdout("solve", name, "--problem", "generalized-assignment", "--output", str(target))
    word = changed(target, lambda document: document["certificates"][0].update(kind="solver", data={}))
    shown = stdout("certify", name, word, code=4)
    assert "rests on: solver" in shown
    assert "nothing is contradicted, but nothing is proved (--allow solver accepts it)" in shown
    assert "found nothing better than the bound" in shown
    assert run("certify", name, word, "--allow", "enumeration").exit_code == 4
    assert "accepted without a proof, as allowed: solver" in stdout("certify", name, word, "--allow", "solver")


@pytest.mark.parametrize(
    ("claims", "termination", "message"),
    [
        ([999], "NO_SOLUTION", "claimed 999"),
        ([], "INFEASIBLE", "lsap always has a feasible placement"),
        ([], "NO_SOLUTION", "no bound is claimed"),
    ],
)
def test_bug_claims_that_were_not_checked(tmp_path: Path, claims: list[int], termination: str, message: str) -> None:
    """Tests that a bound of 999, a claimed INFEASIBLE and no claim at all are no success, and what is said of each."""
    words = [{"component": "locality-cost", "kind": "solver", "claim": claim, "data": {}} for claim in claims]
    nothing = {"placement": None, "objective": None, "bound": claims or [None], "certificates": words}
    file = changed(solved(tmp_path, "lsap"), lambda held: held.update(nothing, termination=termination))
    shown = stdout("certify", "examples/running-tasks", file, code=4)
    assert message in shown
    assert "every claim is proved" not in shown


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"problem": "lsapp"}, 'there is no problem "lsapp"'),
        ({"parameters": {"level": 1, "depth": 2}}, 'has no parameter "depth"'),
        ({"parameters": {"levels": [2, 1, 0]}}, "give costs that do not decrease"),
        ({"extra": 1}, "extra: there is no such field"),
    ],
)
def test_bad_solution_file(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    """Tests that a solution file of the wrong form is exit code 3, with file and place."""
    file = changed(solved(tmp_path, "lsap"), lambda held: held.update(change))
    said = stderr("certify", "examples/running-tasks", file, code=3)
    assert "changed.json" in said
    assert message in said


def test_size_of_a_tree_and_its_time(tmp_path: Path) -> None:
    """Tests that a tree's size is shown where it is printed, and beside it where it is checked the time that took."""
    path, name = str(tmp_path / "tree.json"), "generated/generalized-assignment-n5-t30-seed0"
    shown = stdout("solve", name, "--problem", "generalized-assignment", "--output", path)
    assert "proof: combinatorial, a tree of 1 case\n" in shown
    checked = stdout("certify", name, path)
    assert re.search(r"claimed 576, by a tree of 1 case in \d+\.\d{3} s", checked)
    checks = answer("certify", name, path)["checks"]
    (proof,) = (check for check in checks if "cases" in check)
    assert (proof["proof"], proof["cases"], proof["seconds"] >= 0) == (True, 1, True)
    assert sum("seconds" in check for check in checks) == 1


@pytest.mark.parametrize("problem", [name for name, entry in records().items() if entry.variants])
def test_bug_a_solution_of_other_parameters_was_false(tmp_path: Path, problem: str) -> None:
    """Tests that the parameters of the file are taken and said, and held against those of --param, of every problem.

    Without --param such a solution was called false, as of others than the defaults, for which nobody had asked.
    """
    entry = record(problem)
    instance, solution = str(tmp_path / "instance.json"), str(tmp_path / "solution.json")
    save(generate(entry.family, **entry.sizes), instance)
    given = {name: as_argument(value) for name, value in entry.variants[0].items()}
    params = [part for name, text in given.items() for part in ("--param", f"{name}={text}")]
    stdout("solve", instance, "--problem", problem, *params, "--output", solution)
    certify = ("certify", instance, solution, "--allow", "enumeration", "--allow", "solver")
    message = ", ".join(f"{name}={text}" for name, text in given.items())
    assert f"checked with the solution's {message}; the instance itself has " in stderr(*certify)
    assert "checked with" not in stderr(*certify, *params)
    name = next(iter(given))
    usual = as_argument(next(known.default for known in entry.problem_class.parameter_table if known.name == name))
    others = stdout("certify", instance, solution, "--param", f"{name}={usual}", code=4)
    assert f"the solution has {name}={given[name]}, asked for: " in others
    assert "the parameters differ from --param (without --param the file's parameters are used)" in others


def test_a_problem_of_a_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the verdict on another package's problem says whose it is, and on a shipped one nothing."""
    asked = ("certify", "examples/running-tasks", str(solved(tmp_path, "lsap")))
    assert "is a problem of" not in stderr(*asked)
    monkeypatch.setattr("optsched.core.registry.package_of", lambda kind: "somebody")
    assert "lsap is a problem of somebody: its program" in stderr(*asked)
