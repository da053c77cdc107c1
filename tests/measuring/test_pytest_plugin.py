"""The pytest plugin: a scheduler's own project goes from green to red when its heuristic is made worse."""

import re
import shutil
import subprocess
import sys
import traceback
import xml.etree.ElementTree as ET
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from optsched.core.errors import InputError, UsageError
from optsched.measuring.pytest_plugin import GapCheck, own_name
from optsched.measuring.studies.baselines import Baseline

#: The name of the instance in its folder.
TRACE = "lsap-n6-slots2-idle-ratio1-t9-replicas2-seed5"

PROJECT = Path(__file__).resolve().parents[1] / "data" / "scheduler_project"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the scheduler's project."""
    return Path(shutil.copytree(PROJECT, tmp_path / "project", ignore=shutil.ignore_patterns("__pycache__")))


def pytest_run(project: Path, *arguments: str, code: int = 1) -> str:
    """What pytest says in a project, in a process of its own, which has the plugin since the package is installed."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout
    return done.stdout


def made_worse(project: Path) -> None:
    """The heuristic no longer looks for the data of a task."""
    module = project / "scheduler" / "placing.py"
    text = module.read_text()
    assert "local = [node for node in holders[task] if free[node]]" in text
    module.write_text(text.replace("local = [node for node in holders[task] if free[node]]", "local = []"))


def test_from_green_to_red(project: Path) -> None:
    """Tests that a good heuristic passes, its gaps are in the summary, and a worse one fails with all that helps."""
    chosen = ["-k", "near or generated"]
    green = pytest_run(project, *chosen, code=0)
    assert "optsched gaps" in green
    assert "test_gap.py::test_near_the_optimum: scheduler.placing:place in lsap, 1 run: worst gap 0 %" in green
    made_worse(project)
    red = pytest_run(project, *chosen, "--junitxml", "junit.xml")
    again = "optsched gap traces/small.json --problem lsap --heuristic scheduler.placing:place --seed 0"
    for message in (
        "2 failed",
        f"scheduler.placing:place on {TRACE}, lsap, seed 0: the gap is 200 %, over the limit of 5 %",
        "value 6 against the optimum 2",
        "tasks run elsewhere than in the nearest optimal placement",
        f"reproduce it: {again}",
        "optsched generate lsap",  # a generated instance is drawn again first
    ):
        assert message in red
    assert "optsched/measuring/pytest_plugin.py:" not in red, "the traceback is of the user's files alone"
    shown = subprocess.run(
        [sys.executable, "-m", *again.split()], cwd=project, capture_output=True, text=True, check=False
    )
    assert "200 %" in shown.stdout
    properties = {entry.get("name"): entry.get("value") for entry in ET.parse(project / "junit.xml").iter("property")}
    assert properties["optsched.1.worst"] in ("2.0", "4.0"), "of one of the two tests"
    assert str(properties["optsched"]).startswith("FAILED scheduler.placing:place in lsap")


def test_see_it_again_below_the_root(tmp_path: Path) -> None:
    """Tests that the command of a test below the root finds a heuristic of the test's own module."""
    file = tmp_path / "with space" / "below" / "test_below.py"
    file.parent.mkdir(parents=True)
    file.write_text(
        "def in_order(problem, rng):\n"
        "    slots = enumerate(problem.instance.state.idle_slots)\n"
        "    return [node for node, idle in slots for _ in range(idle)][: len(problem.tasks)]\n"
        "def test_gap(optsched_gap):\n"
        "    optsched_gap(in_order, 'papers/guo-fig2', problem='lsap', max_absolute=0)\n"
    )
    red = pytest_run(tmp_path)
    found = re.search("reproduce it: (.*)", red)
    command = found[1].replace("optsched gap", f"{sys.executable} -m optsched gap")
    again = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert again.returncode == 0, f"{command}\n{again.stderr}"
    assert "test_below:in_order" in again.stdout


@pytest.mark.thorough
def test_under_xdist(project: Path) -> None:
    """Tests that the workers' gaps and messages come home."""
    made_worse(project)
    red = pytest_run(project, "-n", "2", "-k", "near or generated")
    assert "2 failed" in red
    assert "over the limit of 5 %" in red
    assert "test_near_the_optimum: FAILED scheduler.placing:place in lsap" in red


@pytest.mark.thorough
def test_against_a_baseline(project: Path) -> None:
    """Tests that without a baseline the test says how to record one, that what is recorded passes, and worse fails."""
    chosen = ["-k", "recorded"]
    missing = pytest_run(project, *chosen)
    assert "there is no baseline" in missing
    assert "pytest --optsched-update records it" in missing
    path = project / "tests" / "gaps" / "test_gap" / "test_not_worse_than_recorded.json"
    assert not path.exists()
    pytest_run(project, *chosen, "--optsched-update", code=0)
    before = path.read_bytes()
    pytest_run(project, *chosen, code=0)
    made_worse(project)
    red = pytest_run(project, *chosen)
    assert "the value is 6, 200 % from the optimum; recorded is 2 (0 %)" in red
    assert "if this is meant, pytest --optsched-update records it" in red
    assert path.read_bytes() == before
    pytest_run(project, *chosen, "--optsched-update", code=0)
    assert path.read_bytes() != before
    shutil.copy(PROJECT / "scheduler" / "placing.py", project / "scheduler" / "placing.py")
    assert "better than recorded" in pytest_run(project, *chosen, code=0)


def test_a_run_that_does_not_use_it_imports_nothing(tmp_path: Path) -> None:
    """Tests that in a run without gaps, of the package only its names, the plugin itself and no numpy are imported."""
    (tmp_path / "test_plain.py").write_text(
        "import sys\n"
        "def test_plain():\n"
        "    assert {name for name in sys.modules if name.startswith('optsched')} == "
        "{'optsched', 'optsched.core', 'optsched.core.deprecated', 'optsched.measuring', "
        "'optsched.measuring.pytest_plugin'}\n"
        "    assert not {'numpy', 'scipy', 'click'} & set(sys.modules)\n"
    )
    assert "optsched gaps" not in pytest_run(tmp_path, "-p", "no:hypothesispytest", "-p", "no:xdist", code=0)


def test_bug_the_former_path_had_no_fixture(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a project that loads the plugin by its former path has it, and no warning for each of its names."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    shown = pytest_run(project, "-W", "error", "-p", "optsched.pytest_plugin", "-k", "near", code=0)
    assert "optsched gaps" in shown
    assert "warning" not in shown


@pytest.fixture
def check(tmp_path: Path) -> GapCheck:
    """A check in a test of a folder of its own."""
    config = SimpleNamespace(getoption=lambda name: False, rootpath=tmp_path)
    given = {"path": tmp_path / "test_own.py", "nodeid": "test_own.py::TestOwn::test_own[a/b]", "config": config}
    return GapCheck(SimpleNamespace(**given, user_properties=[], stash={}))


def test_the_users_exception_is_the_cause(check: GapCheck) -> None:
    """Tests that what the heuristic raised is chained, with its own line in the traceback."""

    def broken(problem: Any, rng: Any) -> list[str]:
        return {}["lost"]

    with pytest.raises(AssertionError, match="raised KeyError: 'lost'") as caught:
        check(broken, "papers/guo-fig2", "lsap", max_gap="5%")
    assert isinstance(caught.value.__cause__, KeyError)
    assert traceback.extract_tb(caught.value.__cause__.__traceback__)[-1].name == "broken"


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"max_gap": 5}, UsageError, 'max_gap of 5 is 500 %: write "5%" or 0.05, or "500%" if that is meant'),
        ({"maxgap": 0.05}, UsageError, 'a check has no argument maxgap; did you mean "max_gap"'),
        ({"problem": "flow"}, InputError, "rate"),
        ({"baseline": "folder"}, InputError, "cannot be read as a baseline"),
    ],
)
def test_wrong_use(
    check: GapCheck, given: dict[str, Any], error: Any, message: str, tmp_path: Path, monkeypatch: Any
) -> None:
    """Tests that wrong use is reported as what it is, before anything runs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    with pytest.raises(error, match=message):
        check(**{"heuristic": "dl", "instances": "papers/guo-fig2", "problem": "lsap"} | given)


def test_bug_wrong_use_printed_the_packages_own_code(tmp_path: Path) -> None:
    """Tests that a fixture and a marker that are asked for wrongly end in the message, at the line of the test."""
    (tmp_path / "test_wrong.py").write_text(
        "import pytest\n\n"
        "def test_fixture(optsched_gap):\n"
        "    optsched_gap('dl', 'papers/guo-fig2', problem='lsap', max_gap=5)\n\n"
        "@pytest.mark.optsched_gap('dl', 'no/such.json', problem='lsap', max_gap=0)\n"
        "def test_marker():\n    pass\n"
    )
    shown = pytest_run(tmp_path, "-q")
    assert "E       optsched.core.errors.UsageError: max_gap of 5 is 500 %" in shown
    assert "No such file" in shown
    assert shown.count("    def ") == 1


def test_the_baselines_own_file(check: GapCheck, tmp_path: Path) -> None:
    """Tests that the file of a test's own baseline has its name, whatever its parameters hold."""
    check._node.config.getoption = lambda name: True
    check("lsap-sched", "papers/guo-fig2", "lsap", baseline=True)
    assert (tmp_path / "gaps" / "test_own" / "TestOwn.test_own-a-b-c14cddc0.json").exists()


def test_baselines_of_different_tests_do_not_collide() -> None:
    """Tests that tests of two classes, and parameters that differ in odd characters or late, have a file each."""
    inside = ["A::test", "B::test", "test", *(f"test[{given}]" for given in ("a/b", "a b", "a-b", "a-b-", "", "a::b"))]
    inside += [f"test[{'x' * 300}{end}]" for end in "12"]
    names = [own_name(f"tests/test_a.py::{node}") for node in inside]
    assert len({*names}) == len(inside)
    assert all(re.fullmatch(r"[\w.-]{1,150}", name) for name in names)


def test_several_checks_of_a_test_keep_their_records(check: GapCheck, tmp_path: Path) -> None:
    """Tests that the second check of a test does not replace what the first one recorded; a new recording does."""
    instances = ("papers/guo-fig2", "papers/guo-table2")
    for update in (True, False):
        check._node.config.getoption = lambda name, update=update: update
        for instance in instances:
            check("dl", instance, "lsap", seeds=1, baseline=True)
    check._node.config.getoption = lambda name: True
    check._node.stash = {}
    check("dl", instances[0], "lsap", seeds=1, baseline=True)
    (path,) = (tmp_path / "gaps" / "test_own").iterdir()
    assert len(Baseline.read(path).entries) == 1, "what is no longer measured is no longer recorded"


def test_instances_beside_the_test(check: GapCheck, tmp_path: Path, monkeypatch: Any) -> None:
    """Tests that names, folders and patterns are found beside the test's file, odd characters and all."""
    folder = tmp_path / "odd [1]"
    folder.mkdir()
    check._node.path = folder / "test_own.py"
    shutil.copy(PROJECT / "traces" / "small.json", folder / "a[b].json")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for given in ("a[b].json", "*.json", Path("a[b].json")):
        assert len(check("dl", given, "lsap", seeds=1, max_gap="inf")) == 1
    for given, message in (("", "no such file"), (".", "holds no instance")):
        with pytest.raises(InputError, match=message):
            check("dl", given, "lsap", max_gap="inf")
