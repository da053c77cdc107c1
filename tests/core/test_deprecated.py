"""Names that will go still work, and warn."""

import importlib
import re
import subprocess
import sys

import pytest

from optsched.core.deprecated import FORMER
from optsched.heuristics.running.course import Ends, Service
from optsched.measuring import explaining, gaps, matrix
from optsched.measuring.records import Run

#: Names of former modules that are called otherwise now.
RENAMED = {
    "optsched.instances.solution_files": {"write_solution": "write_claim", "solution_document": "claim_document"},
    "optsched.instances.frontier_files": {"frontier_content": "claim_content"},
    "optsched.instances.schedule_files": {"parse_schedule": "parse_claim"},
}


@pytest.mark.parametrize("former", FORMER)
def test_former_paths_still_work(former: str) -> None:
    """Tests that modules that have moved give all names of the new ones, and warn at the place to mend."""
    present = FORMER[former]
    before, now = importlib.import_module(former), importlib.import_module(present)
    own = {name for name, value in vars(now).items() if getattr(value, "__module__", "") == now.__name__}
    public = {name for name in own if not name.startswith("_")} | set(getattr(now, "__all__", ()))
    names = {name: name for name in public} | RENAMED.get(former, {})
    assert names or present.endswith((".sweeping", ".studies", ".running", ".searches"))
    for name, called in names.items():
        if name in vars(before):  # hooks of pytest, which no code uses by name
            assert getattr(before, name) is getattr(now, called)
            continue
        message = f"{former}.{name} is deprecated and will go in a later release: use {present}.{called}"
        with pytest.warns(DeprecationWarning, match=re.escape(message)) as told:
            assert getattr(before, name) is getattr(now, called)
        assert told[0].filename == __file__
    assert (before.__doc__, dir(before)) == (now.__doc__, dir(now))
    with pytest.raises(AttributeError):
        before.nothing  # noqa: B018


def test_a_name_that_moved_alone() -> None:
    """Tests that a name of a module that stays is found where it is now, with a warning, and that no other is."""
    with pytest.warns(
        DeprecationWarning, match=r"optsched\.measuring\.matrix\.Cell is .* optsched\.measuring\.records\.Run"
    ):
        assert matrix.Cell is Run
    with pytest.warns(DeprecationWarning, match=r"fields_beside is .* optsched\.measuring\.gaps\.frontier_gap_fields"):
        assert gaps.fields_beside is gaps.frontier_gap_fields
    with pytest.warns(DeprecationWarning, match=r"JobTold is .*\.ExplainedJob"):
        assert explaining.JobTold is explaining.ExplainedJob
    with pytest.raises(AttributeError, match="has no attribute 'Cells'"):
        matrix.Cells  # noqa: B018


def test_former_attributes() -> None:
    """Tests that a former attribute warns at its use, and what a subclass so calls stands under the new name."""

    class Fixed(Service):
        def started(self, task: int, node: int, now: int) -> Ends:
            return ()

    with pytest.warns(DeprecationWarning, match=r"Service\.told is deprecated .*: use Service\.label") as caught:
        assert Fixed().told == "Fixed"
    assert caught[0].filename == __file__
    with pytest.warns(DeprecationWarning, match=r"Named\.told is deprecated .*: use Named\.label") as caught:

        class Named(Fixed):
            told = "named"

    assert (caught[0].filename, Named().label) == (__file__, "named")


def test_nothing_else_is_found() -> None:
    """Tests that a module that never was is not found, inside a former package neither."""
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'optsched\.nothing'"):
        importlib.import_module("optsched.nothing")
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'optsched\.measuring\.studies\.nothing'"):
        importlib.import_module("optsched.studies.nothing")


def warnings_of(program: str) -> list[str]:
    """The warnings that a program of its own prints, with their lines."""
    command = [sys.executable, "-W", "always", "-c", program]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line for line in run.stderr.splitlines() if "deprecated" in line]


def test_what_is_inside_a_package_moved_with_it() -> None:
    """Tests names of a module inside a package, modules by name, and that the warning names the line of the user."""
    program = "from optsched.studies.tables import study\nfrom optsched import errors\nimport optsched.core.errors\n"
    program += "assert errors.UsageError is optsched.core.errors.UsageError\n"
    end = "is deprecated and will go in a later release: use optsched"
    assert warnings_of(program) == [
        f"<string>:1: DeprecationWarning: optsched.studies.tables.study {end}.measuring.studies.tables.study",
        f"<string>:4: DeprecationWarning: optsched.errors.UsageError {end}.core.errors.UsageError",
    ]


@pytest.mark.parametrize(
    "line", ["from optsched.errors import UsageError", "import optsched.errors as old; old.UsageError"]
)
def test_bug_a_former_path_warned_twice(line: str) -> None:
    """Tests that each use of a name of a former path warns once: `from` looks first whether the name is there."""
    assert [each.partition(" ")[0] for each in warnings_of(f"{line}\n{line}")] == ["<string>:1:", "<string>:2:"]
