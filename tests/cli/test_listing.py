"""`optsched list` and `versions`: what there is."""

from __future__ import annotations

import pytest
from command_line import answer, run

from optsched.problems import PROBLEMS


@pytest.mark.parametrize("what", ["problems", "heuristics", "models", "instances", "profiles", "families"])
def test_list(what: str) -> None:
    """Tests that each list is a table, and in JSON a list of objects with different names."""
    table = run("list", what)
    assert table.exit_code == 0
    entries = answer("list", what)
    names = [entry["name"] for entry in entries]
    assert len(set(names)) == len(names) > 0
    assert len(table.stdout.splitlines()) == len(names) + 2


def test_each_list_names_what_commands_take() -> None:
    """Tests that what is listed is what the commands know, by the same names."""
    from optsched.heuristics import HEURISTICS
    from optsched.instances.generate import FAMILIES
    from optsched.solvers.profiles import profile_names

    for what, known in (
        ("problems", PROBLEMS),
        ("models", PROBLEMS),
        ("heuristics", HEURISTICS),
        ("families", FAMILIES),
        ("profiles", profile_names()),
    ):
        assert [entry["name"] for entry in answer("list", what)] == list(known)


def test_models_own_their_files() -> None:
    """Tests that a model's files are those that bear its name, and `lsap` does not claim those of `fair-lsap`."""
    for entry in answer("list", "models"):
        assert f"{entry['name']}.md" in entry["files"]
        assert all(file.startswith(entry["name"]) for file in entry["files"])


def test_versions() -> None:
    """Tests that versions of the package, Python and the solvers are told."""
    told = answer("versions")
    assert {"optsched", "python", "platform", "numpy", "highspy", "pyomo", "pulp"} <= set(told)
    assert run("versions").stdout.count("\n") == len(told) + 2
