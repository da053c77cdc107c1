"""The file of a sweep: what it asks for, the one in the guide, and every fault with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from optsched.core.errors import InputError
from optsched.measuring.sweeping.plans import SweepFile
from optsched.solvers.profiles import load_profile


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the file is to be."""
    return tmp_path / "sweep.toml"


def test_one_part(file: Path) -> None:
    """Tests that what is measured stands at the top, and what limits it beside it."""
    file.write_text(
        """
        store = "a.sqlite"
        jobs = 2
        run_limit = 5.5
        memory_limit = 2000
        time_limit = "none"
        instances = "papers/guo-fig2"
        family = {name = "lsap", seeds = "0-1", nodes = 4, tasks = 3}
        problem = ["lsap", "latency"]
        heuristic = ["dl", "labl,variant=strict"]
        seeds = [3, 7]
        parameters = [{w_rem = 3}, {w_rem = 5}]
        profile = "ci"
        """
    )
    found = SweepFile(file)
    assert found.options == {
        "store": "a.sqlite",
        "jobs": 2,
        "run_limit": 5.5,
        "memory_limit": 2000,
        "time_limit": "none",
    }
    plan = found.planned()
    assert len(plan) == 3 * 2 * 3
    assert {run.posed.profile.name for run in plan.runs} == {"ci"}
    assert {run.group for run in plan.runs} == {"papers/guo-fig2", "lsap,nodes=4,tasks=3 (2 seeds)"}
    named: list[str | None] = []

    def limited(name: str | None) -> str:
        named.append(name)
        return "quick"

    assert all(run.posed.profile == load_profile("quick") for run in found.planned(limited=limited).runs)
    assert named == ["ci"]


def test_parts(file: Path) -> None:
    """Tests that each part has what stands above, unless it says otherwise, and that all are one sweep."""
    file.write_text(
        """
        instances = "papers/guo-fig2"
        seeds = 2

        [[part]]
        problem = "lsap"
        heuristic = "dl"

        [[part]]
        problem = "latency"
        heuristic = "labl"
        instances = ["papers/guo-fig2", "papers/guo-table2"]
        seeds = 1
        """
    )
    runs = SweepFile(file).planned().runs
    assert [(run.posed.problem.name, run.instance, run.seed) for run in runs] == [
        ("lsap", "guo-fig2", 0),
        ("lsap", "guo-fig2", 1),
        ("latency", "guo-fig2", 0),
        ("latency", "guo-table2", 0),
    ]


def told(file: Path, text: str) -> list[str]:
    """What is wrong with a file."""
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        SweepFile(file).planned()
    return [line.removeprefix(f"{file}: ") for line in str(caught.value).splitlines()]


def test_wrong_forms(file: Path) -> None:
    """Tests that every wrong key and value is told, with its place, before anything is looked for."""
    text = 'stroe = "a"\nrun_limit = 0\nmemory_limit = 0.5\njobs = true\ntime_limit = "x"\nparameters = 3\n'
    assert told(file, text) == [
        'stroe: there is no such key; did you mean "store"?',
        "run_limit: expected a number of seconds above 0, got 0",
        "memory_limit: expected a whole number of MiB, got 0.5",
        "jobs: expected a whole number of processes, got true",
        'time_limit: expected a number of seconds, at least 0, or "none", got the text "x"',
        "parameters: expected a table such as {levels = [0, 1, 2]}, or a list of them, each of which is tried, got 3",
        "instances: is missing: give a name, file, folder or pattern, or a list of them, or a family",
    ]
    assert told(file, 'part = 3\ninstances = "a"') == ["part: is no list of tables: begin each part with [[part]]"]
    assert told(file, "[[part]]\nstore = 3") == [
        "part[0].store: there is no such key; known: heuristic, problem, instances, family, seeds, parameters, profile",
        "part[0].instances: is missing: give a name, file, folder or pattern, or a list of them, or a family",
    ]


def test_what_is_not_there(file: Path) -> None:
    """Tests that all names of all parts that lead nowhere are told together."""
    text = (
        '[[part]]\ninstances = "nowhere"\nheuristic = "dll"\n[[part]]\ninstances = "papers/guo-fig2"\nproblem = "lap"'
    )
    lines = told(file, text)
    assert [line.partition(":")[0] for line in lines] == ["part[0].heuristic", "part[0].instances", "part[1].problem"]
    (line,) = told(file, 'instances = "papers/guo-fig2"\nheuristic = "dl"\nproblem = "latency"')
    assert line.startswith("heuristic dl serves ")


def test_every_part_and_variant_is_tried(file: Path) -> None:
    """Tests that what does not go together is told of each part, with its place, and of each choice of parameters."""
    part = '[[part]]\ninstances = "papers/guo-fig2"\nproblem = "latency"\n'
    text = f'{part}heuristic = "labl"\nparameters = [{{w_remm = 3}}, {{w_rem = "x"}}]\n{part}heuristic = "dl"\n'
    lines = told(file, text)
    assert [line.partition(": ")[0] for line in lines] == ["part[0]", "part[0]", "part[1]"]
    assert [word in line for word, line in zip(("w_remm", "w_rem='x'", "serves"), lines, strict=True)] == [True] * 3
