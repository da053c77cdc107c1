"""`optsched solve`, `bounds`, `frontier`, `export` and `certify`: results, files, exit codes, what is proved."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from command_line import answer, run, solved
from traffic_instances import posed

import optsched
from optsched.certificates.checking import shown
from optsched.core.errors import OutOfTime
from optsched.core.instance import Cluster, Instance, Workload
from optsched.core.registry import record, records
from optsched.core.results import Limit, Solution, Termination
from optsched.instances.files import save
from optsched.instances.generate import generate
from optsched.processes import limits
from optsched.processes.limits import Outcome, Status

pytestmark = pytest.mark.usefixtures("wide_page")


FIELDS = [
    "format",
    "problem",
    "parameters",
    "instance_sha256",
    "placement",
    "objective",
    "bound",
    "termination",
    "limit",
    "certificates",
    "solver",
    "versions",
]

PROBLEMS = ["lsap", "fair-lsap", "flow", "latency"]


def test_solve_is_one_object() -> None:
    """Tests that JSON has the fields of the solution file: numbers for one component, lists for two, doubles."""
    one = answer("solve", "papers/guo-fig2", "--problem", "lsap")
    assert list(one) == [*FIELDS, "notes"]
    assert (one["objective"], one["bound"], one["termination"]) == (0, 0, "OPTIMAL")
    assert one["certificates"][0]["kind"] == "dual"
    two = answer("solve", "papers/guo-fig2", "--problem", "latency")
    assert (two["objective"], two["bound"]) == ([1, 3], [1, 3])
    real = answer("solve", "examples/running-tasks", "--problem", "flow")
    assert isinstance(real["objective"], float)
    assert isinstance(real["certificates"][0]["claim"], float)


def test_dry_run_tells_sizes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the routes are reported with the sizes of their models, or one of them, and that nothing is solved."""
    monkeypatch.setattr("optsched.routes.solve", None)
    asked = ("solve", "papers/guo-fig2", "--problem", "lsap", "--dry-run")
    done = answer(*asked)
    assert [entry["route"] for entry in done][:2] == ["network", "arrays"]
    columns = ("variables", "constraints", "coefficients", "megabytes")
    assert done[0] == {"route": "network"} | dict(zip(columns, (6, 6, 12, 0), strict=True))
    assert done[-1] == {"route": "brute-force"} | dict.fromkeys(columns)
    literal = {"route": "pulp", "variables": 9, "constraints": 6, "coefficients": 28, "megabytes": 0}
    assert literal in done
    assert answer(*asked, "--route", "pulp") == [literal]
    assert "pulp                     9            6            28          0" in run(*asked).stdout
    assert run(*asked, "--route", "none").exit_code == 2


def test_solve_table() -> None:
    """Tests that the table says why it stopped, what is held, what is proved and by what."""
    result = run("solve", "examples/half-units", "--problem", "latency")
    assert result.exit_code == 0
    assert result.stderr.splitlines() == [
        "optsched: note: half-units: latency: 1 of 7 maps have no replica: no node is near their data"
    ]
    for expected in ("OPTIMAL", "9, 20", "proof: combinatorial", "search in"):
        assert expected in result.stdout


def test_start(tmp_path: Path) -> None:
    """Tests that a solution file is a start, and one of another instance or an infeasible one is refused."""
    target = solved(tmp_path)
    args = ["--problem", "latency", "--start", str(target)]
    assert run("solve", "examples/running-tasks", *args).exit_code == 0
    result = run("solve", "papers/guo-fig2", *args)
    assert result.exit_code == 2
    assert "holds no decision on this instance" in result.stderr
    document = json.loads(target.read_text())
    document["placement"] = dict.fromkeys(document["placement"])
    target.write_text(json.dumps(document))
    result = run("solve", "examples/running-tasks", *args)
    assert result.exit_code == 2
    assert "the start is infeasible" in result.stderr


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"termination": Termination.NO_SOLUTION, "decision": None, "objective": None, "limit": Limit.TIME}, 5),
        ({"termination": Termination.INFEASIBLE, "decision": None, "objective": None, "bound": (None,)}, 6),
        ({"termination": Termination.FEASIBLE, "limit": Limit.NODES}, 0),
        ({"termination": Termination.FEASIBLE, "limit": Limit.INTERRUPTED}, 130),
    ],
)
def test_exit_codes(monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], code: int) -> None:
    """Tests that limits, infeasibility and interrupts are shown as results, each with its exit code."""
    from optsched import routes

    real = routes.solve

    def stopped(*args: Any) -> Solution:
        return replace(real(*args), certificates=(), **changes)

    monkeypatch.setattr(routes, "solve", stopped)
    for form in ("table", "json"):
        result = run("solve", "papers/guo-fig2", "--problem", "lsap", "--format", form)
        assert result.exit_code == code
        assert str(changes["termination"]) in result.stdout
        assert "Traceback" not in result.stderr


def test_interrupted_solve_keeps_incumbent_and_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C within the solver prints what is held and proved, with exit code 130."""

    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("optsched.routes.assignment.solve_assignment", interrupted)
    result = run("solve", "papers/guo-fig2", "--problem", "lsap", "--format", "json")
    held = json.loads(result.stdout)
    assert (result.exit_code, held["termination"], held["limit"]) == (130, "FEASIBLE", "INTERRUPTED")
    assert held["objective"] >= held["bound"] >= 0


def test_bounds() -> None:
    """Tests that each bound is reported with what it bounds, in table and JSON."""
    found = answer("bounds", "papers/labl-theorem1-a", "--problem", "latency")
    assert [bound["name"] for bound in found] == ["l*", "l**", "l_flow", "least-work"]
    assert {bound["component"] for bound in found} == {"makespan", "work"}
    assert "l_flow" in run("bounds", "papers/labl-theorem1-a", "--problem", "latency").stdout


def test_bounds_where_nothing_is_feasible(tmp_path: Path) -> None:
    """Tests that a warning and the table say why, and that no number stands for the time that nothing takes."""
    path = tmp_path / "none.json"
    workload = Workload(["t1", "t2"], kind=[0, 1], duration=[5, 5])
    optsched.save(Instance(Cluster(["n1"], slots=[0]), workload), path)
    for problem in ("makespan", "job-times"):
        done = run("bounds", str(path), "--problem", problem)
        assert done.exit_code == 0
        text = 'nothing is feasible: no slot for a map ever becomes free, and task "t1" is one'
        assert f"warning: {problem}: {text}" in done.stderr
        assert [" ".join(row.split()) for row in done.stdout.splitlines()[2:]] == [f"- - - {text}"]
        assert json.loads(run("bounds", str(path), "--problem", problem, "--format", "json").stdout) == []


def test_frontier() -> None:
    """Tests that the frontier of the library's example is complete and proved."""
    found = answer("frontier", "examples/half-units", "--problem", "latency")
    assert [point["objective"] for point in found["points"]] == [[9, 20], [11, 17]]
    assert {point["certificate"] for point in found["points"]} == {"combinatorial"}
    assert (found["complete"], found["limit"], found["components"]) == (True, None, ["makespan", "work"])
    table = run("frontier", "examples/half-units", "--problem", "latency")
    assert table.stdout.splitlines()[2].split() == ["9", "20", "combinatorial"]


@pytest.mark.parametrize(
    ("limit", "points", "code"), [(Limit.TIME, 1, 0), (Limit.TIME, 0, 5), (Limit.INTERRUPTED, 1, 130)]
)
def test_frontier_cut_short(monkeypatch: pytest.MonkeyPatch, limit: Limit, points: int, code: int) -> None:
    """Tests that a frontier that is not complete says so, and is exit code 5 where there is no point at all."""
    from optsched import routes

    real = routes.frontier

    def stopped(*args: Any) -> routes.Frontier:
        found = real(*args)
        return replace(found, points=found.points[:points], complete=False, limit=limit)

    monkeypatch.setattr(routes, "frontier", stopped)
    result = run("frontier", "examples/half-units", "--problem", "latency")
    assert result.exit_code == code
    assert f"not complete: {limit} cut it short" in result.stderr


def test_plot_has_the_heuristics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that heuristics are drawn in: all that serve the problem, those named, none; and what fails."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine_plotted.py").write_text(
        "def broken(problem, rng):\n    raise KeyError('x')\n\n\n"
        "def crowd(problem, rng):\n    return [None] * len(problem.tasks)\n"
    )

    def drawn(*heuristics: str) -> tuple[str, str]:
        named = [word for name in heuristics for word in ("--heuristic", name)]
        done = run("frontier", "papers/fsy-not-optimal", "--problem", "latency", "--plot", "a.svg", *named)
        assert done.exit_code == 0
        return Path("a.svg").read_text(), done.stderr

    text, result = drawn()
    assert all(f">{name}<" in text for name in ("round-robin (5, 11)", "flow-based (4, 11)", "labl (4, 7)"))
    assert result == ""
    text, result = drawn("labl,variant=strict", "mine_plotted:broken", "mine_plotted:crowd")
    assert ">mine_plotted:broken: failed<" in text
    assert ">mine_plotted:crowd: infeasible<" in text
    assert "KeyError" in result
    assert "round-robin" not in drawn("none")[0]


# Export -----------------------------------------------------------------------------------------------------------


def optimum_of(path: Path) -> float:
    """The optimum that HiGHS finds in a file of its own accord."""
    import highspy

    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    assert solver.readModel(str(path)) == highspy.HighsStatus.kOk
    solver.run()
    return float(solver.getInfo().objective_function_value)


@pytest.mark.parametrize("kind", ["json", "npz"])
def test_files_of_points(kind: str, tmp_path: Path) -> None:
    """Tests that a frontier is written, and proved from there; a file that cannot be is reported."""
    front = tmp_path / f"front.{kind}"
    asked = ("frontier", "papers/fsy-not-optimal", "--problem", "latency", "--output")
    assert run(*asked, str(front)).exit_code == 0
    done = run("certify", "papers/fsy-not-optimal", str(front))
    assert (done.exit_code, "every claim is proved" in done.stdout) == (0, True), done.stdout
    assert front.read_bytes().startswith(b"{" if kind == "json" else b"PK")
    other = run("certify", "papers/guo-fig2", str(front))
    assert (other.exit_code, "the frontier is of" in other.stdout) == (4, True)


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("model", ["compact", "literal"])
@pytest.mark.parametrize("suffix", ["lp", "mps"])
def test_exported_program(tmp_path: Path, problem: str, model: str, suffix: str) -> None:
    """Tests that an exported program, read by a solver, has the problem's optimum."""
    target = tmp_path / f"model.{suffix}"
    args = ["examples/running-tasks", "--problem", problem, "--model", model, "--to", str(target)]
    result = run("export", *args)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    instance = optsched.load(str(Path(optsched.__file__).parent.parent / "instances/examples/running-tasks.json"))
    assert isinstance(instance, optsched.Instance)
    objective = optsched.solve(optsched.problem(problem, instance)).objective
    assert objective is not None
    assert optimum_of(target) == pytest.approx(float(objective[0]), rel=1e-9)


def test_export_beyond_the_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that `export` looks at the memory before it builds a program of either kind, and writes nothing then."""
    monkeypatch.setattr(limits, "has_room", lambda size: False)
    for model in ("compact", "literal"):
        target = tmp_path / f"{model}.lp"
        refused = run("export", "examples/running-tasks", "--problem", "lsap", "--model", model, "--to", str(target))
        assert refused.exit_code != 0
        assert "coefficients" in refused.stderr
        assert "export smaller instances" in refused.stderr
        assert not target.exists()


def test_exported_latency_at_a_limit(tmp_path: Path) -> None:
    """Tests that at a fixed limit the least work within it is exported; other problems have no limit."""
    target = tmp_path / "model.lp"
    args = ["examples/half-units", "--problem", "latency", "--to", str(target)]
    assert run("export", *args, "--limit", "11").exit_code == 0
    assert optimum_of(target) == 17


@pytest.mark.parametrize("model", ["compact", "literal"])
def test_exported_utility_at_a_limit(tmp_path: Path, model: str) -> None:
    """Tests that at a lowest utility, a rational or the nearest to a decimal, the most utilisation is exported."""
    known = answer("solve", "papers/ras-endless-swap", "--problem", "utility")["objective"]
    target = tmp_path / "model.lp"
    args = ["papers/ras-endless-swap", "--problem", "utility", "--model", model, "--to", str(target)]
    for limit in (str(Fraction(known[0])), f"{known[0]:.9f}"):
        assert run("export", *args, "--limit", limit).exit_code == 0
        assert optimum_of(target) / 2**20 == pytest.approx(known[1], rel=1e-9)


@pytest.mark.parametrize("problem", ["lsap", "fair-lsap", "flow"])
def test_exported_network(tmp_path: Path, problem: str) -> None:
    """Tests that the exported network, solved by networkx from GraphML, has the problem's optimum in its units."""
    import networkx

    target = tmp_path / "network.graphml"
    assert run("export", "examples/running-tasks", "--problem", problem, "--to", str(target)).exit_code == 0
    graph = networkx.read_graphml(target)
    cost, _ = networkx.network_simplex(networkx.MultiDiGraph(graph))
    grid = 1 if problem == "lsap" else 2**20
    assert cost / grid == answer("solve", "examples/running-tasks", "--problem", problem)["objective"]
    target = tmp_path / "network.dimacs"
    assert run("export", "examples/running-tasks", "--problem", problem, "--to", str(target)).exit_code == 0
    lines = target.read_text().splitlines()
    arcs = sum(line.startswith("a ") for line in lines)
    assert f"p min {graph.number_of_nodes()} {arcs}" in lines
    assert arcs == graph.number_of_edges()


NETWORK = {
    "format": "optsched-network/1",
    "nodes": [{"id": "s", "supply": 2}, {"id": "t", "supply": -2}],
    "arcs": [{"tail": "s", "head": "t", "capacity": 5, "cost": 3}],
}


def test_flow_network(tmp_path: Path) -> None:
    """Tests that a flow network is described, bounded, solved, certified and exported, and heuristics refuse it."""
    file = tmp_path / "network.json"
    file.write_text(json.dumps(NETWORK))
    target = tmp_path / "network.dimacs"
    assert run("export", str(file), "--to", str(target)).exit_code == 0
    assert "a 1 2 0 5 3" in target.read_text()
    assert "problem min-cost-flow  applies" in " ".join(run("describe", str(file)).stdout.split("\n"))
    for suffix, words in (("lp", []), ("mps", ["--problem", "min-cost-flow"]), ("lp", ["--model", "literal"])):
        assert run("export", str(file), "--to", str(tmp_path / f"x.{suffix}"), *words).exit_code == 0
    result = run("export", str(file), "--problem", "lsap", "--to", str(target))
    assert (result.exit_code, "lsap is posed on an instance, not on a flow network" in result.stderr) == (3, True)
    flow = ["--problem", "min-cost-flow"]
    held = tmp_path / "solution.json"
    assert "optimal" in run("solve", str(file), *flow, "--output", str(held)).stdout.lower()
    document = json.loads(held.read_text())
    assert (document["flow"], document["objective"], "placement" in document) == ({"0": 2}, [6], False)
    assert "every claim is proved" in run("certify", str(file), str(held)).stdout
    assert run("solve", str(file), *flow, "--start", str(held)).exit_code == 0
    assert answer("bounds", str(file), *flow)[0]["value"] == 0


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
    result = run("solve", str(file), "--problem", "min-cost-flow")
    assert (result.exit_code, message in result.stdout) == (code, True), result.stdout


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("route", [None, "pulp", "pyomo"])
def test_solution_file_certifies(tmp_path: Path, problem: str, route: str | None) -> None:
    """Tests that `certify` finds true what each sort of route writes, and false if asked with other parameters."""
    target = tmp_path / "solution.json"
    way = [] if route is None else ["--route", route]
    param = {"lsap": "levels=0,1,2", "fair-lsap": "alpha=7", "flow": "f_c=0,0.25,1", "latency": "w_rem=4"}[problem]
    args = ["examples/running-tasks", "--problem", problem, "--param", param, *way]
    assert run("solve", *args, "--output", str(target)).exit_code == 0
    verdict = answer("certify", "examples/running-tasks", str(target), "--param", param)
    assert verdict["valid"]
    assert verdict["proved"] == (not verdict["claims"])
    assert answer("certify", "examples/running-tasks", str(target)) == verdict
    other = {"lsap": "levels=0,1,1", "fair-lsap": "alpha=8", "flow": "f_c=0,0.5,1", "latency": "w_rem=3"}[problem]
    others = run("certify", "examples/running-tasks", str(target), "--param", other)
    assert (others.exit_code, "the parameters differ from --param" in others.stdout) == (4, True)
    document = json.loads(target.read_text())
    assert list(document) == FIELDS
    assert isinstance(document["objective"], list)
    assert not any(isinstance(value, float) for value in document["objective"] + document["bound"])


def test_frontier_where_nothing_is_feasible(tmp_path: Path) -> None:
    """Tests that a frontier without points says why it has none, with the exit code of `solve`, and is certified."""
    tasks = [{"id": name, "job": "j", "size": 1} for name in "tu"]
    document = {
        "format": "optsched/1",
        "nodes": [{"id": "n", "datacenter": "d"}],
        "jobs": [{"id": "j"}],
        "tasks": tasks,
    }
    file, points = tmp_path / "instance.json", str(tmp_path / "points.npz")
    file.write_text(json.dumps({**document, "parameters": {"traffic": {"capacity": "slots"}}}))
    result = run("frontier", str(file), "--problem", "traffic", "--output", points)
    solved = run("solve", str(file), "--problem", "traffic")
    assert result.exit_code == solved.exit_code == 6, result.stderr
    assert "there is no point, since nothing is feasible: 2 maps are pending, and only 1 map" in result.stderr
    (row,) = (line for line in solved.stdout.splitlines() if "feasible-decisions" in line)
    assert row.split(maxsplit=1)[1] == "0, a task or node alone shows it"
    assert run("certify", str(file), points).exit_code == 0


def test_proof_that_nothing_is_feasible(tmp_path: Path) -> None:
    """Tests that a frontier and a solution say what proves that nothing is feasible."""
    full = posed([[0]], reduces=2, reduce_slots=[3, 3], jobs=3, capacity="slots")
    file, points = str(tmp_path / "full.json"), str(tmp_path / "points.json")
    optsched.save(replace(full.instance, parameters={"traffic": dict(full.parameters)}), file)
    result = run("frontier", file, "--problem", "traffic", "--output", points)
    assert (result.exit_code, "since nothing is feasible: proof: dual" in result.stderr) == (6, True)
    assert json.loads(run("frontier", file, "--problem", "traffic", "--format", "json").stdout)["infeasible"] == "dual"
    assert run("certify", file, points).exit_code == 0
    for route, expected in (("search", "proof: dual"), ("brute-force", "proof: enumeration")):
        (row,) = (
            line
            for line in run("solve", file, "--problem", "traffic", "--route", route).stdout.splitlines()
            if "feasible-decisions" in line or "proof" in line
        )
        assert row.split(maxsplit=1) == ["feasible-decisions", f"0, {expected}"]


def test_tasks_that_compute_and_fetch(tmp_path: Path) -> None:
    """Tests `service=transfer` from the file on to a certified solution, what it needs, and values that are none."""
    found = answer("solve", "papers/pna-compute-and-fetch", "--problem", "makespan")
    assert (found["objective"], found["parameters"]["service"], found["parameters"]["scale"]) == (30, "transfer", 0.1)
    nearer = answer("solve", "papers/pna-compute-and-fetch", "--problem", "makespan", "--param", "scale=0.05")
    assert nearer["objective"] == 30
    file, held = tmp_path / "m.json", tmp_path / "m.solution.json"
    drawn = ("--nodes=3", "--tasks=6", "--jobs=2", "--distances=4", "--output", str(file))
    assert run("generate", "job-times", *drawn).exit_code == 0
    asked = ("--problem", "job-times", "--param", "service=transfer", "--param", "scale=0.5")
    run("solve", str(file), *asked, "--output", str(held))
    assert "proof" in run("certify", str(file), str(held), *asked[2:]).stdout
    done = answer("gap", str(file), *asked, "--heuristic", "fair")
    assert done[0]["assumed"] == "transfer,scale=0.5,shuffle=none, heartbeat 3 s"
    unused = run("solve", str(file), "--problem", "makespan", "--param", "scale=2")
    assert "scale counts with service=transfer alone" in unused.stderr


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
    assert "nothing is contradicted, but nothing is proved (--allow nothing accepts it)" in result.stdout


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
    """Tests that a solver's word that nothing proves is exit code 4 unless its kind is allowed, and shown as such."""
    target = tmp_path / "solution.json"
    name = "generated/generalized-assignment-n5-t30-seed0"
    solved_by = ("--problem", "generalized-assignment", "--output", str(target))
    assert run("solve", name, *solved_by).exit_code == 0
    target = Path(changed(target, lambda document: document["certificates"][0].update(kind="solver", data={})))
    result = run("certify", name, str(target))
    assert result.exit_code == 4
    assert "claim" in result.stdout
    assert "rests on: solver" in result.stdout
    assert "nothing is contradicted, but nothing is proved (--allow solver accepts it)" in result.stdout
    assert "found nothing better than the bound" in result.stdout
    assert run("certify", name, str(target), "--allow", "enumeration").exit_code == 4
    result = run("certify", name, str(target), "--allow", "solver")
    assert result.exit_code == 0
    assert "accepted without a proof, as allowed: solver" in result.stdout


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"certificates": [{"component": "locality-cost", "kind": "solver", "claim": 999, "data": {}}]},
            "claimed 999",
        ),
        ({"termination": "INFEASIBLE", "certificates": []}, "lsap always has a feasible placement"),
        ({"certificates": []}, "no bound is claimed"),
    ],
)
def test_bug_claims_that_were_not_checked(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    """Tests that a bound of 999, a claimed INFEASIBLE and no claim at all are no success, and what is said of each."""
    document = json.loads(solved(tmp_path, "lsap").read_text())
    claim = next((entry["claim"] for entry in changes["certificates"]), None)
    document |= {"placement": None, "objective": None, "bound": [claim], "termination": "NO_SOLUTION", **changes}
    file = tmp_path / "changed.json"
    file.write_text(json.dumps(document))
    result = run("certify", "examples/running-tasks", str(file))
    assert (result.exit_code, message in result.stdout) == (4, True), result.stdout
    assert "every claim is proved" not in result.stdout


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda document: document.update(problem="lsapp"), 'there is no problem "lsapp"'),
        (lambda document: document.update(parameters={"level": 1}), 'has no parameter "level"'),
        (lambda document: document.update(parameters={"levels": [2, 1, 0]}), "give costs that do not decrease"),
        (lambda document: document["placement"].update(t9="n1"), 'placement.t9: the instance has no task "t9"'),
        (lambda document: document.pop("bound"), "bound: is missing"),
        (lambda document: document.update(extra=1), "extra: there is no such field"),
    ],
)
def test_bad_solution_file(tmp_path: Path, change: Any, message: str) -> None:
    """Tests that a solution file of the wrong form is exit code 3, with file and place."""
    result = run("certify", "examples/running-tasks", changed(solved(tmp_path, "lsap"), change))
    assert result.exit_code == 3
    assert "changed.json" in result.stderr
    assert message in result.stderr


def test_size_of_a_tree_and_its_time(tmp_path: Path) -> None:
    """Tests that a tree's size is shown where it is printed, and beside it where it is checked the time that took."""
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
        message = ", ".join(f"{name}={text}" for name, text in given.items())
        assert f"checked with the solution's {message}; the instance itself has " in verdict.stderr
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
