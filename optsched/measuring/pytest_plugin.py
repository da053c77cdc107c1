"""The pytest plugin: a fixture and a marker, both called `optsched_gap`, that hold a heuristic to its gap.

It is installed with the package. Nothing but this module is imported in a run that does not use it.

    def test_close_to_the_optimum(optsched_gap):
        optsched_gap("my_package.scheduler:place", "traces/*.json", problem="lsap", max_gap="5%")

The arguments of both are those of `GapCheck.__call__`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import pytest

if TYPE_CHECKING:
    from optsched.measuring.studies.checks import CheckArguments, Outcome
    from optsched.measuring.studies.tables import GapReports

#: Of the fixture, the marker, and the properties of a test.
NAME = "optsched_gap"

#: Whether a test's own baseline was begun in this run.
_BEGUN = pytest.StashKey[bool]()

#: The most characters of a test's parameters in the name of its baseline.
_LONGEST = 100

#: Where the terminal's summary finds what a test measured.
_PROPERTY = "optsched"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--optsched-update`."""
    group = parser.getgroup("optsched", "gaps of schedulers (optsched)")
    group.addoption(
        "--optsched-update", action="store_true", help="record today's values of the heuristics as the baselines"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Tell pytest of the marker."""
    config.addinivalue_line(
        "markers",
        f"{NAME}(heuristic, instances, problem=..., ...): hold a heuristic to its gap before the test runs",
    )


@pytest.fixture
def optsched_gap(request: pytest.FixtureRequest) -> GapCheck:
    """Holds a heuristic to its gap; see `optsched.measuring.pytest_plugin.GapCheck`."""
    return GapCheck(request.node)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Hold the heuristics of the test's markers to their gaps, before the test itself runs."""
    __tracebackhide__ = True
    for mark in item.iter_markers(NAME):
        GapCheck(item)(*mark.args, **mark.kwargs)


class GapCheck:
    """Measures a heuristic and fails the test if it is too far from the optimum. One for each test.

    Parameters
    ----------
    node
        The test: its name is that of its baseline, and what is measured goes to its properties (JUnit XML).
    """

    def __init__(self, node: Any) -> None:
        self._node = node

    def __call__(
        self,
        heuristic: Any,
        instances: Any,
        problem: str | Sequence[str],
        **arguments: Unpack[CheckArguments],
    ) -> GapReports:
        """Run the heuristic on the instances, and fail unless all that is asked for holds.

        Parameters
        ----------
        heuristic
            As `optsched.gap` takes it: `"package.module:function"`, a callable, a policy, a name of the list. A text
            may hold parameters (`"dl,reading=heartbeat"`). Or a list of them.
        instances
            Names of the library, files, folders, patterns (`"traces/*.json"`), `optsched.Instance`s, families
            (`optsched.Family("lsap", seeds=range(30), parameters={"tasks": 80})`), or a list of them. Relative paths
            are looked for from the current folder, then from that of the test's file.
        problem
            Its name, or a list of names: every heuristic is measured in every one.
        **arguments
            What must hold, and how the gaps are measured: `optsched.measuring.studies.checks.CheckArguments`. Here
            `baseline` may be True for a file of the test's own (next to it, `gaps/MODULE/TEST.json`); a path is looked
            for from pytest's root folder, and several tests may have the file in common. `pytest --optsched-update`
            records it: a test's own file anew, of another file the runs that are measured.

        Returns
        -------
        GapReports
            What was measured.

        Raises
        ------
        AssertionError
            If something does not hold; the heuristic's own exception is its cause.
        UsageError, InputError
            If what is asked for does not exist or is wrong.
        """
        __tracebackhide__ = True
        from optsched.core.errors import InputError, UsageError

        try:
            outcome = self._outcome(heuristic, instances, problem, arguments)
        except (InputError, UsageError) as error:  # shown at the line of the test, without the package's own code
            raise error.with_traceback(None) from None
        self._tell(outcome)
        if outcome.failed:
            raise AssertionError("\n".join(outcome.lines())) from outcome.cause
        return outcome.reports

    def _outcome(
        self, heuristic: Any, instances: Any, problem: str | Sequence[str], arguments: CheckArguments
    ) -> Outcome:
        from optsched.measuring.studies.baselines import Baseline
        from optsched.measuring.studies.checks import Check

        baseline = arguments.get("baseline")
        path = self._node.config.rootpath / baseline if baseline and baseline is not True else None
        if baseline is True:
            module = Path(self._node.path)
            path = module.parent / "gaps" / module.stem / f"{own_name(self._node.nodeid)}.json"
        arguments["baseline"] = path
        check = Check.of(heuristic, self._sources_of(instances), problem, **arguments)
        update = self._node.config.getoption("--optsched-update")
        outcome = check.planned(update, "pytest --optsched-update records it").run()
        if path is not None and update:
            recorded = Baseline.of(outcome.reports.measured)
            if baseline is True and not self._node.stash.get(_BEGUN, False):
                self._node.stash[_BEGUN] = True
                recorded.write(path)  # the test's own file is begun anew, and then holds all its checks
            else:
                recorded.record(path)
        return outcome

    def _sources_of(self, instances: Any) -> Any:
        """The instances, those of relative paths from the test's own folder where the current one has none."""
        import glob
        import os

        if isinstance(instances, str | os.PathLike):
            given, folder = os.fspath(instances), str(Path(self._node.path).parent)
            pattern = glob.has_magic(given) and not os.path.exists(os.path.join(folder, given))
            in_folder = os.path.join(glob.escape(folder) if pattern else folder, given)
            here, there = (os.path.exists(path) or bool(glob.glob(path, recursive=True)) for path in (given, in_folder))
            return in_folder if given and there and not here else instances
        if isinstance(instances, list | tuple | set):
            return [self._sources_of(entry) for entry in instances]
        return instances

    def _tell(self, outcome: Outcome) -> None:
        """Put what was measured into the test's properties, which JUnit XML holds and xdist brings home."""
        count = 1 + sum(name == _PROPERTY for name, _ in self._node.user_properties)
        line = f"{outcome.in_words} (--optsched-update records them)" if outcome.improved else outcome.in_words
        self._node.user_properties.append((_PROPERTY, f"{'FAILED ' if outcome.failed else ''}{line}"))
        for name, value in outcome.numbers.items():
            self._node.user_properties.append((f"{_PROPERTY}.{count}.{name}", value))


def own_name(nodeid: str) -> str:
    """The name of the file of a test, which no other test of its module has: of its classes, its own, its parameters.

    Where characters of the parameters are none of file names, or are too many, a hash of them tells it from others.

    >>> own_name("tests/test_a.py::TestFifo::test_gap[small-3]"), own_name("test_a.py::test_gap[a/b]")
    ('TestFifo.test_gap-small-3', 'test_gap-a-b-c14cddc0')
    """
    import hashlib

    inside = nodeid.partition("::")[2]
    function, bracket, given = inside.partition("[")
    name = function.replace("::", ".")
    if not bracket:
        return name
    given = given.removesuffix("]")
    plain = re.sub(r"[^\w.-]+", "-", given, flags=re.ASCII)[:_LONGEST]
    unique = f"{name}-{plain}"
    return unique if plain == given else f"{unique}-{hashlib.sha256(given.encode()).hexdigest()[:8]}"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """List what was measured, one line a check."""
    lines = [
        (report.nodeid, value)
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", None) == "call"
        for name, value in report.user_properties
        if name == _PROPERTY
    ]
    if not lines:
        return
    terminalreporter.section("optsched gaps")
    for nodeid, value in sorted(lines):
        terminalreporter.write_line(f"{nodeid}: {value}")
