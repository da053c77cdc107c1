"""`optsched check`: a project from green to red, outputs, baselines, what goes wrong; `optsched mine`: its finds."""

import json
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from click.testing import Result
from command_line import ENVIRONMENT, PROGRAM, answer, interrupted, run, stderr, stdout
from engines import interrupted as press

from optsched.measuring.mining import BUDGET, MOST

PROJECT = Path(__file__).resolve().parents[1] / "data" / "scheduler_project"

#: Two checks with heuristics of the list: the first passes, the second is against a baseline.
TWO = """
problem = "lsap"

[[check]]
name = "near"
heuristic = "lsap-sched"
instances = "papers/guo-fig2"
max_gap = "5%"

[[check]]
name = "as recorded"
heuristic = "dl"
seeds = 2
instances = ["papers/guo-fig2", "generated/lsap-n20-t15-seed0"]
baseline = "gaps/both.json"
"""

#: A scheduler that raises.
OWN = 'def broken(problem, rng):\n    return {}["lost"]\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder of its own, not within GitHub Actions."""
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(text: str, *args: str) -> Result:
    """What comes of a file in the current folder."""
    Path("optsched-check.toml").write_text(text)
    return run("check", *args)


def afresh(folder: Path, *args: str) -> Result:
    """What the command does in a folder whose modules were never imported before, as in a process of its own."""
    known = set(sys.modules)
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        patched.syspath_prepend(folder)
        patched.setattr(sys, "dont_write_bytecode", True)  # an edit within a second would not be seen
        found = run(*args)
    for name in set(sys.modules) - known:
        if str(getattr(sys.modules[name], "__file__", None)).startswith(str(folder)):
            del sys.modules[name]
    return found


def table(stdout: str) -> dict[str, list[str]]:
    """The cells of each row of the table by the name of its check, the limit from the line below."""
    text = stdout.partition("\n\n")[0].replace("\n  ", "  ")
    rows = (re.split(r"\s{2,}", line) for line in text.splitlines()[2:])
    return {name: cells for name, *cells in rows}


def test_from_green_to_red(folder: Path) -> None:
    """Tests that a project's checks pass from any folder, and that its heuristic made worse fails them all."""
    project = Path(shutil.copytree(PROJECT, folder / "project", ignore=shutil.ignore_patterns("__pycache__")))
    recorded = afresh(project, "check", "--update")
    assert recorded.stderr == "optsched: note: 2 runs recorded in gaps/not-worse-than-recorded.json\n"
    green = afresh(folder, "check", "project/optsched-check.toml")
    assert (green.exit_code, green.stderr) == (0, "")
    assert [cells[4] for cells in table(green.stdout).values()] == ["passed"] * 3
    module = project / "scheduler" / "placing.py"
    text = module.read_text()
    worse = text.replace("local = [node for node in holders[task] if free[node]]", "local = []")
    assert worse != text
    module.write_text(worse)
    red = afresh(folder, "check", "project/optsched-check.toml")
    assert red.exit_code == 4
    expected = ["1", "1", "200 %", "200 %", "FAILED", "worst gap at most 5 %, proved"]
    assert table(red.stdout)["near the optimum"] == expected
    failed = "3 of 3 checks failed: near the optimum, generated, not worse than recorded"
    assert red.stderr == f"optsched: error: {failed}\n"
    again = "optsched gap traces/small.json --problem lsap --heuristic scheduler.placing:place --seed 0"
    again += " --time-limit none --run-limit 600"
    assert f"  reproduce it: cd project && {again}\n" in red.stdout
    assert "the value is 6, 200 % from the optimum; recorded is 2 (0 %)" in red.stdout
    assert "tasks run elsewhere than in the nearest optimal placement" in red.stdout
    assert "200 %" in afresh(project, *again.split()[1:]).stdout


def test_a_heuristic_that_raises(folder: Path) -> None:
    """Tests that its own traceback is on stdout and in JUnit XML, what it prints is not, and where GitHub shows it."""
    (folder / "own.py").write_text(OWN)
    (folder / "checks.toml").write_text(
        'problem = "lsap"\ninstances = "papers/guo-fig2"\n'
        '[[check]]\nheuristic = "own:broken"\nmax_gap = "100%"\n'
        '[[check]]\nheuristic = "hostile_heuristics:third"\nmax_absolute = 9\n'
    )
    summary = folder / "summary.md"
    summary.write_text("before\n")
    environment = {**ENVIRONMENT, "GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
    command = [*PROGRAM, "check", "checks.toml", "--junit", "found.xml"]
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)
    assert found.returncode == 4
    assert "called" in found.stderr
    assert "called\n" not in found.stdout
    (failure,) = ET.parse(folder / "found.xml").iter("failure")
    assert (failure.get("type"), 'return {}["lost"]' in str(failure.text)) == ("KeyError", True)
    lines = found.stdout.splitlines()
    stop = next(line for line in lines if line.startswith("::stop-commands::")).removeprefix("::stop-commands::")
    within = lines[lines.index(f"::stop-commands::{stop}") : lines.index(f"::{stop}::")]
    assert 'return {}["lost"]' in "\n".join(within)
    (error,) = (line for line in lines if line.startswith("::error "))
    assert error.startswith("::error file=own.py,line=2,title=optsched%3A own%3Abroken in lsap::")
    text = summary.read_text()
    assert text.startswith("before\n## optsched check: 1 of 2 failed\n")
    assert "Traceback (most recent call last):" in text


def test_each_output(folder: Path) -> None:
    """Tests that XML and Markdown go into files beside what is printed, and that without GitHub nothing is for it."""
    found = check(TWO, "--only", "near", "--junit", "a.xml", "--markdown", "a.md")
    assert found.exit_code == 0
    assert table(found.stdout) == {"near": ["1", "1", "0 %", "0 %", "passed", "worst gap at most 5 %"]}
    assert "::" not in found.stdout
    assert ET.parse("a.xml").getroot().get("tests") == "1"
    assert Path("a.md").read_text().startswith("## optsched check: 1 passed\n\n| check | runs |")
    assert sorted(path.name for path in folder.iterdir()) == ["a.md", "a.xml", "optsched-check.toml"]


def test_github_is_asked_for_and_not(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that --github and --no-github go before what the environment says."""
    failing = TWO.replace('"lsap-sched"', '"rand"').replace('max_gap = "5%"', "max_absolute = 0")
    shown = check(failing, "--only", "near", "--github").stdout
    assert "::error file=optsched-check.toml,line=4,title=" in shown
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    assert "::" not in check(failing, "--only", "near", "--no-github").stdout
    assert not Path("summary.md").exists()
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "no/such/summary.md")
    found = check(failing, "--only", "near")
    assert found.exit_code == 4
    assert "warning: the summary of the step cannot be written: No such file or directory" in found.stderr


def test_baselines() -> None:
    """Tests that a baseline is asked for, recorded, kept, compared with, and that nothing else in its file is lost."""
    missing = check(TWO)
    assert missing.exit_code == 4
    assert "there is no baseline gaps/both.json; optsched check --update records it" in missing.stdout
    recorded = check(TWO, "--update")
    assert (recorded.exit_code, table(recorded.stdout)["as recorded"][4]) == (0, "recorded")
    path = Path("gaps/both.json")
    before = path.read_bytes()
    assert check(TWO).exit_code == 0
    found = check(TWO.replace('heuristic = "dl"', 'heuristic = "rand"'))
    assert found.exit_code == 4
    assert "nothing is recorded of this run; if this is meant, optsched check --update records it" in found.stdout
    assert path.read_bytes() == before
    more = '[[check]]\nname = "more"\nheuristic = "rand"\nseeds = 2\n'
    more += 'instances = "papers/guo-fig2"\nbaseline = "gaps/both.json"\n'
    assert "2 runs recorded in gaps/both.json\n" in check(TWO + more, "--update", "--only", "more").stderr
    assert len(json.loads(path.read_text())["runs"]) == 6
    with_more = path.read_bytes()
    assert check(TWO, "--update").exit_code == 0
    assert path.read_bytes() == with_more, "another file of checks, or a test, may have recorded the rest"
    path.write_text("{")
    broken = check(TWO, "--update")
    assert (broken.exit_code, broken.stdout, path.read_text()) == (3, "", "{"), "before anything is measured"
    assert "gaps/both.json: cannot be read as a baseline" in broken.stderr


@pytest.mark.parametrize(
    ("text", "args", "code", "message"),
    [
        (TWO, ["--only", "nera"], 2, 'optsched-check.toml has no check "nera"; did you mean "near"?'),
        (
            TWO,
            ["--update", "--only", "near"],
            2,
            "none of the checks has a baseline; give one baseline = true, or a path",
        ),
        (TWO, ["--junit", "no/a.xml"], 3, 'no/a.xml: cannot be written: there is no folder "no"; create it first'),
        ("x = 1\n" + TWO, [], 3, "optsched-check.toml: x: there is no such key"),
    ],
)
def test_wrong_use(text: str, args: list[str], code: int, message: str, folder: Path) -> None:
    """Tests that what is wrong is told before anything runs, and that nothing is written."""
    found = check(text, *args)
    assert (found.exit_code, "passed" in found.stdout) == (code, False)
    assert message in found.stderr
    assert [path.name for path in folder.iterdir()] == ["optsched-check.toml"]


@pytest.mark.parametrize("limit", ["", pytest.param("run_limit = 60\n", marks=pytest.mark.thorough)])
def test_checks_at_once(folder: Path, limit: str) -> None:
    """Tests that checks in several processes are told as one after another: rows, baselines, faults of heuristics."""
    (folder / "own.py").write_text(OWN)
    broken = '\n[[check]]\nname = "broken"\nheuristic = "own:broken"\ninstances = "papers/guo-fig2"\n'
    (folder / "optsched-check.toml").write_text(limit + TWO + broken)
    assert run("check", "--update", "--only", "as recorded").exit_code == 0
    apart, at_once = (afresh(folder, "check", *words) for words in ((), ("--jobs", "3")))
    assert (at_once.exit_code, at_once.stdout, at_once.stderr) == (apart.exit_code, apart.stdout, apart.stderr)
    assert [cells[4] for cells in table(at_once.stdout).values()] == ["passed", "passed", "FAILED"]


def test_ctrl_c_tells_what_was_finished(folder: Path) -> None:
    """Tests that Ctrl-C ends it with 130, tells what was done, and replaces neither an older report nor a baseline."""
    (folder / "own.py").write_text(OWN)
    (folder / "checks.toml").write_text(
        'problem = "lsap"\ninstances = "papers/guo-fig2"\n'
        '[[check]]\nname = "first"\nheuristic = "lsap-sched"\nbaseline = true\n'
        '[[check]]\nname = "second"\nheuristic = "hostile_heuristics:third"\nseeds = 5\n'
        '[[check]]\nname = "third"\nheuristic = "dl"\n'
    )
    (folder / "found.xml").write_text("older")
    code, out, output = interrupted(folder, "check", "checks.toml", "--update", "--junit", "found.xml")
    assert (code, "interrupted" in output) == (130, True), output
    cells = table(out)
    assert [cells[name][4] for name in cells] == ["recorded", "not finished", "not run"]
    assert cells["second"][0] == "2 of 5"
    assert (folder / "found.xml").read_text() == "older"
    assert ET.parse(folder / "found.xml.partial").getroot().get("tests") == "3"
    assert not (folder / "gaps").exists()


MINE = ("mine", "--problem", "lsap", "--heuristic", "dl,reading=heartbeat", "--budget", "60")


def test_words_and_files(tmp_path: Path) -> None:
    """Tests the report, the notes on what was written, and that the same name is refused before the search."""
    asked = (*MINE, "--to", str(tmp_path / "mined"), "--name", "worst")
    result = run(*asked)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].startswith("dl,reading=heartbeat on lsap: ")
    assert lines[1].startswith("gap: ")
    assert lines[-1].endswith(" ".join(("optsched", *MINE, "--seed", "0")))
    assert sorted(path.name for path in (tmp_path / "mined").iterdir()) == ["test_worst.py", "worst.json"]
    assert result.stderr.count("written: ") == 2
    assert "is there already" in stderr(*asked, code=2)


def test_help_tells_the_defaults() -> None:
    """Tests that the help, which does not load the search, has the budget and the sizes that hold."""
    done = " ".join(stdout("mine", "--help").split())
    assert f"by default {BUDGET}, or all that --time-limit allows" in done
    for option in ("tasks", "nodes"):
        assert f"--most-{option} INTEGER RANGE [default: {MOST[option]}; x>=1]" in done


def test_several_runs_and_seconds() -> None:
    """Tests that runs, their mean, and seconds for a budget reach the search; JSON holds record and instance."""
    found = answer(*MINE[:3], "--heuristic", "rand", "--run-seeds", "0-2", "--over", "mean", "--budget", "10")
    assert (found["found"], found["seeds"], found["over"]) == (True, [0, 1, 2], "mean")
    assert found["report"]["problem"] == "lsap"
    assert found["instance"]["labels"]["optimum.lsap"] == str(found["report"]["reference"])
    stdout(*MINE[:-2], "--time-limit", "0.000001", code=5)


def test_nothing_found() -> None:
    """Tests exit code 5 where the heuristic is optimal on all that was tried."""
    asked = (*MINE[:3], "--heuristic", "lsap-sched", "--budget", "5")
    result = run(*asked)
    assert (result.exit_code, result.stdout) == (5, "")
    assert "no instance on which a gap was found" in result.stderr
    assert answer(*asked, code=5)["found"] is False


def test_a_claim_of_a_paper() -> None:
    """Tests that an id needs neither problem nor heuristic, and that the find names all three and what is false."""
    shown = run("mine", "--claim", "guo-2012/4.1-one-replica", "--budget", "60").stdout
    assert shown.startswith("the claim is broken: dl,reading=heartbeat on lsap: ")
    assert "false here: (most > 1) | (least < 1) | (dl == optimum); the claim is about: one replica" in shown
    assert "--heuristic dl,reading=heartbeat --claim guo-2012/4.1-one-replica" in shown


def test_an_interrupt_keeps_the_best(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C writes what was found so far, says that it is not shrunk, and ends with 130."""
    monkeypatch.setattr("optsched.measuring.mining.walking.Search.shrink", press)
    assert "not minimal" in stdout(*MINE, "--to", str(tmp_path), "--name", "cut", code=130)
    assert (tmp_path / "cut.json").exists()
