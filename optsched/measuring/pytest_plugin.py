"""The pytest plugin: a fixture and a marker, both called `optsched_gap`, that limit a heuristic's gap.

It is installed with the package. A run that does not use it imports only this module.

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

#: Name of the fixture, the marker, and the properties of a test.
NAME = "optsched_gap"

#: Whether a test's own baseline was begun in this run.
_BEGUN = pytest.StashKey[bool]()

#: The most characters of a test's parameters in the name of its baseline.
_LONGEST = 100

#: Where the terminal's summary finds the results of a test.
_PROPERTY = "optsched"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--optsched-update`."""
    group = parser.getgroup("optsched", "gaps of schedulers (optsched)")
    group.addoption(
        "--optsched-update", action="store_true", help="record today's values of the heuristics as the baselines"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers",
        f"{NAME}(heuristic, instances, problem=..., ...): hold a heuristic to its gap before the test runs",
    )


@pytest.fixture
def optsched_gap(request: pytest.FixtureRequest) -> GapCheck:
    """Limits a heuristic's gap; see `optsched.measuring.pytest_plugin.GapCheck`."""
    return GapCheck(request.node)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Check the gaps of the test's markers, before the test itself runs."""
    __tracebackhide__ = True
    for mark in item.iter_markers(NAME):
        GapCheck(item)(*mark.args, **mark.kwargs)


class GapCheck:
    """Measures a heuristic and fails the test if it is too far from the optimum. One for each test.

    Parameters
    ----------
    node
        The test: its name is that of its baseline, and its properties (JUnit XML) get the results.
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
        """Run the heuristic on the instances, and fail unless all requirements hold.

        Parameters
        ----------
        heuristic
            As for `optsched.gap`: `"package.module:function"`, a callable, a policy, a listed name. A text may contain
            parameters (`"dl,reading=heartbeat"`). Or a list of them.
        instances
            Names of the library, files, folders, patterns (`"traces/*.json"`), `optsched.Instance`s, families
            (`optsched.Family("lsap", seeds=range(30), parameters={"tasks": 80})`), or a list of them. Relative paths
            start from the current folder, or else from that of the test's file.
        problem
            Its name, or a list of names: every heuristic is measured in every one.
        **arguments
            The requirements, and how the gaps are measured: `optsched.measuring.studies.checks.CheckArguments`. Here
            `baseline` may be True for the test's own file (next to it, `gaps/MODULE/TEST.json`); a path starts from
            pytest's root folder, and several tests may share the file. `pytest --optsched-update` records it: a test's
            own file anew, in another file the measured runs.

        Returns
        -------
        GapReports
            The results.

        Raises
        ------
        AssertionError
            If a requirement does not hold; the heuristic's own exception is its cause.
        UsageError, InputError
            If something in the arguments does not exist or is wrong.
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
                recorded.write(path)  # the test's own file is rewritten, and then has all its checks
            else:
                recorded.record(path)
        return outcome

    def _sources_of(self, instances: Any) -> Any:
        """The instances; relative paths start from the test's own folder if the current one has no such file."""
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
        """Write the results to the test's properties, which JUnit XML contains and xdist brings home."""
        count = 1 + sum(name == _PROPERTY for name, _ in self._node.user_properties)
        line = f"{outcome.in_words} (--optsched-update records them)" if outcome.improved else outcome.in_words
        self._node.user_properties.append((_PROPERTY, f"{'FAILED ' if outcome.failed else ''}{line}"))
        for name, value in outcome.numbers.items():
            self._node.user_properties.append((f"{_PROPERTY}.{count}.{name}", value))


def own_name(nodeid: str) -> str:
    """The file name of a test, unique in its module: from its classes, its name and its parameters.

    If the parameters have characters that file names cannot have, or too many, a hash of them makes it unique.

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
    """List the results, one line per check."""
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
