"""Packages of their own that bring problems, heuristics, importers and families; the one in `data` has all of these."""

import json
import re
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path

import highspy
import numpy as np
import pytest
from outside_packages import PACKAGE, CommandLine, install, on_path, project
from pages import FENCED, matches, sessions, shell

from optsched.core.errors import UsageError
from optsched.core.instance import Cluster, Instance, Workload
from optsched.core.outside import Listed
from optsched.heuristics import GROUP, HEURISTICS, SHIPPED, Heuristic, run
from optsched.problems import PROBLEMS
from optsched.problems.base import Problem
from optsched.problems.lsap import Lsap

ROOT = Path(__file__).resolve().parents[2]
TINY = "papers/guo-fig2"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the package of the example is installed, as its own pyproject.toml says."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(PACKAGE / "consolidation", folder / "consolidation")
    install(folder, project()["name"], project()["entry-points"])
    return folder


@pytest.fixture
def installed(site: Path) -> Iterator[CommandLine]:
    """The command line where the package of the example is installed."""
    with on_path(site) as command_line:
        yield command_line


def test_the_page_shows_the_package() -> None:
    """Tests that the entry points that the page shows are those of the package that these tests install."""
    page = (ROOT / "docs" / "how-to" / "package.md").read_text()
    shown = tomllib.loads(page.partition("```toml\n")[2].partition("```")[0])
    assert shown["project"]["entry-points"] == project()["entry-points"]


@pytest.mark.thorough
def test_the_page_prints_what_it_shows(site: Path, tmp_path: Path) -> None:
    """Tests that each command of the page, where the package is installed, prints what the page shows."""
    page = (ROOT / "docs" / "how-to" / "package.md").read_text()
    blocks = [block for language, file, block in FENCED.findall(page) if (language, file) == ("console", "installed")]
    assert len(blocks) == 2
    for command, output in (step for block in blocks for step in sessions(block)):
        found = shell(command.removeprefix("$ "), tmp_path, site)
        assert matches(output, found), f"{command}\nshows\n{output}\nprints\n{found}"
        assert "BROKEN" not in found


def test_heuristic_from_outside(installed: CommandLine) -> None:
    """Tests that a package's heuristic is listed last, runs by name with its parameters, and runs by default."""
    listed = installed.json("list", "heuristics")
    names = [entry["name"] for entry in listed]
    assert names == [*(name for family in SHIPPED.values() for name in family), "fullest-first"]
    assert listed[-1]["parameters"]["smallest"]["default"] is False
    chosen = installed.json("gap", TINY, "--problem", "lsap", "--heuristic", "fullest-first,smallest=true")
    assert chosen[0]["heuristic_parameters"] == {"smallest": True}
    default = installed.json("gap", TINY, "--problem", "lsap")
    assert "fullest-first" in [entry["heuristic"] for entry in default]
    wrong = installed("gap", TINY, "--problem", "latency", "--heuristic", "fullest-first", code=2)
    assert "fullest-first serves consolidation, lsap; not latency" in wrong.stderr


@pytest.fixture
def drawn(installed: CommandLine, tmp_path: Path) -> str:
    """An instance of the package's family."""
    file = str(tmp_path / "drawn.json")
    installed("generate", "consolidation", "--nodes", "3", "--tasks", "4", "--seed", "7", "--output", file)
    return file


def test_problem_from_outside(installed: CommandLine, drawn: str, tmp_path: Path) -> None:
    """Tests that a package's problem is listed, described, solved by its program, certified, bounded and measured."""
    names = [entry["name"] for entry in installed.json("list", "problems")]
    assert names == list(PROBLEMS)
    described = installed.json("describe", drawn)["problems"]
    assert {"name": "consolidation", "applies": True, "missing_count": 0, "missing": []} in described
    solution = str(tmp_path / "solution.json")
    installed("solve", drawn, "--problem", "consolidation", "--param", "wake=5", "--output", solution)
    found = json.loads(Path(solution).read_text())
    assert (found["solver"]["route"], found["termination"]) == ("arrays", "OPTIMAL")
    assert [entry["kind"] for entry in found["certificates"]] == ["dual"]
    assert installed.json("bounds", drawn, "--problem", "consolidation", "--param", "wake=5") == []
    assert "every claim is proved" in installed("certify", drawn, solution, "--param", "wake=5").stdout
    assert "the solution's wake=5; the instance itself has wake=3" in installed("certify", drawn, solution).stderr
    installed("certify", drawn, solution, "--param", "wake=4", code=4)
    gaps = installed.json("gap", drawn, "--problem", "consolidation", "--param", "wake=5", "--seed", "0")
    assert {"dl", "fair", "delay", "fullest-first"} <= {entry["heuristic"] for entry in gaps}
    for entry in gaps:
        assert (entry["reference"], entry["reference_kind"]) == (found["objective"][0], "optimum")
        assert (entry["feasible"], entry["reference"] <= entry["objective"]) == (True, True), entry["heuristic"]
    assert "consolidation" in installed("matrix", drawn, "--heuristic", "dl", "--heuristic", "fullest-first").stdout


def test_models_from_outside(installed: CommandLine, drawn: str, tmp_path: Path) -> None:
    """Tests that models of a package's program are listed and exported, with the optimum, and what it does not have."""
    assert installed.json("list", "models")[-1]["module"] == "optsched.models.programs"
    posed = (drawn, "--problem", "consolidation")
    best = installed.json("solve", *posed)["objective"]
    for model, ending in (("compact", "lp"), ("literal", "mps")):
        file = tmp_path / f"{model}.{ending}"
        installed("export", *posed, "--model", model, "--to", str(file))
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        solver.readModel(str(file))
        solver.run()
        assert solver.getInfo().objective_function_value == pytest.approx(best)
    refused = installed("export", *posed, "--to", "network.dimacs", code=2)
    assert "consolidation is no flow network; export it to .lp or .mps" in refused.stderr
    refused = installed("export", *posed, "--to", "x.lp", "--limit", "1", code=2)
    assert "consolidation has none" in refused.stderr


def test_models_from_outside_solve(installed: CommandLine, drawn: str, tmp_path: Path) -> None:
    """Tests that models of a package's program are routes to the optimum, and its arrays the default at any size."""
    best = installed.json("solve", drawn, "--problem", "consolidation")["objective"]
    for route in ("pyomo", "pulp"):
        found = installed.json("solve", drawn, "--problem", "consolidation", "--route", route)
        assert (found["objective"], found["certificates"][0]["kind"]) == (best, "dual")
    large = str(tmp_path / "large.json")
    installed("generate", "consolidation", "--nodes", "9", "--tasks", "18", "--output", large)
    found = installed.json("solve", large, "--problem", "consolidation")
    assert (found["solver"]["route"], found["termination"]) == ("arrays", "OPTIMAL")


def test_importer_from_outside(installed: CommandLine, tmp_path: Path) -> None:
    """Tests that a package's importer is a command with its options and help, whose faults are shown as any other's."""
    assert "blocks" in installed("import", "--help").stdout
    assert re.search(
        r"--slots .* Slots of each node\. +\[default: 2; x>=0\]", installed("import", "blocks", "-h").stdout
    )
    table, made = tmp_path / "table.txt", tmp_path / "made.json"
    table.write_text("t1 a b\nt2 b\n")
    output = installed("import", "blocks", str(table), "--slots", "1", "--name", "mine", "--output", str(made)).stderr
    assert output.splitlines() == [
        "optsched: note: 2 blocks on 2 nodes",
        "optsched: note: assumed or inferred: nodes[].slots; the labels say how (optsched describe)",
    ]
    table.write_text("t1 a\nt2\n")
    assert f"{table}: line 2: names no node" in installed("import", "blocks", str(table), code=3).stderr
    table.write_text("t1 a\nt1 b\n")  # the document's own faults
    assert "tasks[1].id" in installed("import", "blocks", str(table), code=3).stderr
    assert 'did you mean "blocks"?' in installed("import", "block", str(table), code=2).stderr
    assert "-1 is not in the range x>=0" in installed("import", "blocks", str(table), "--slots", "-1", code=2).stderr


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Path]:
    """A folder of installed packages, with none as yet."""
    with on_path(tmp_path):
        yield tmp_path


HEAD = "from optsched.heuristics.running.base import Heuristic\n"


def entry(name: str = "mine", problems: str = '("lsap",)', more: str = "batch=print", parameters: str = "()") -> str:
    """Code that makes a heuristic."""
    return f'Heuristic("{name}", "", "", {problems}, "", {parameters}, {more})'


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("1 / 0", r"cannot be loaded: ZeroDivisionError: .*broken.py, line 2\); mend it, or uninstall broken-package"),
        ("raise SystemExit(3)", "cannot be loaded: SystemExit: 3"),
        ("import no_such_module", "cannot be loaded: ModuleNotFoundError: .*no_such_module"),
        ("def broken(:", "cannot be loaded: SyntaxError"),
        ("", "cannot be loaded: AttributeError: .*MINE"),
        ("MINE = 5", r"names an int; it must name a optsched\..*\.base\.Heuristic, or a tuple of them"),
        (f"MINE = ({entry()}, None)", "names None; it must name"),
        (f"MINE = {entry('dl')}", 'has the name "dl", which is taken'),
        (f"MINE = ({entry()}, {entry()})", 'has the name "mine", which is taken'),
        (f"MINE = {entry('mine,too')}", "is called 'mine,too'; a name is of letters"),
        (f"MINE = {entry(more='')}", "UsageError: .*give batch or policy, and one of them only"),
        (f"MINE = {entry(problems='5')}", r"its problems are 5; give a tuple of names"),
        (f"MINE = {entry(problems='(5,)')}", r"its problems are \(5,\); give a tuple of names"),
        (f"MINE = {entry(problems='(chr(108),)')}", 'its problems have "l", which does not exist; known'),
        (f"MINE = {entry(parameters='(5,)')}", r"its parameters are \(5,\); give a tuple of Parameters"),
    ],
)
def test_broken_package(empty: Path, module: str, message: str) -> None:
    """Tests that what is wrong with a package is one line that names its entry point, and stops no shipped name."""
    install(empty, "broken-package", {GROUP: {"mine": "broken:MINE"}})
    (empty / "broken.py").write_text(HEAD + module)
    listed = Listed(GROUP, Heuristic, ["dl"], HEURISTICS.__getitem__, vars(HEURISTICS)["_check"])
    assert listed["dl"].name == "dl"
    for ask in (list, len, lambda known: known["mine"], lambda known: "mine" in known):
        with pytest.raises(UsageError, match=message) as failed:
            ask(listed)
        (line,) = str(failed.value).splitlines()
        assert line.startswith('the entry point "mine = broken:MINE" of broken-package (optsched.heuristics)')


def test_order_of_packages(empty: Path) -> None:
    """Tests that what packages bring is in the order of their names, and that a tuple keeps its own."""
    install(empty, "b-package", {GROUP: {"first": "modules:ONE"}})
    install(empty, "a-package", {GROUP: {"second": "modules:TWO", "first": "modules:THREE"}})
    (empty / "modules.py").write_text(
        f"{HEAD}ONE = {entry('one')}\nTWO = ({entry('z')}, {entry('y')})\nTHREE = {entry('three')}\n"
    )
    listed = Listed(GROUP, Heuristic, ["dl"], HEURISTICS.__getitem__)
    assert list(listed) == ["dl", "three", "z", "y", "one"]
    assert "no-such" not in listed


def test_broken_packages_on_the_command_line(tmp_path: Path) -> None:
    """Tests that a broken package ends with exit code 2 what lists it, and nothing that does without it."""
    groups = {group: {"mine": "broken:MINE"} for group in project()["entry-points"]}
    install(tmp_path, "broken-package", groups)
    (tmp_path / "broken.py").write_text("1 / 0")
    with on_path(tmp_path) as there:
        lists = ("list problems", "list heuristics", "list families", "import --help")
        for command in (*lists, f"gap {TINY} --problem lsap", f"gap {TINY} --heuristic dl"):
            output = there(*command.split(), code=2).stderr
            assert output.startswith('optsched: error: the entry point "mine = broken:MINE" of broken-package')
            assert len(output.splitlines()) == 1
        there("gap", TINY, "--problem", "lsap", "--heuristic", "dl")
        there("solve", TINY, "--problem", "lsap")
        there("import", "dimacs", "--help")
        there("generate", "lsap", "--nodes", "3", "--tasks", "2")


def test_heuristic_from_outside_gets_a_copy() -> None:
    """Tests that a heuristic of a package with parameters of its own cannot change what it is judged by."""

    def greedy(problem: Problem, rng: np.random.Generator) -> list[int]:
        problem.count = 0  # type: ignore[attr-defined]
        return [0]

    problem = Lsap(Instance(Cluster(["a"]), Workload(["t"])))
    mine = Heuristic("mine", "", "", ("lsap",), "", batch=greedy)
    assert not mine.shipped
    placement = run(problem, mine).raise_if_failed()
    assert problem.count == 1
    assert problem.violations(placement) == []
