"""Assertions on a heuristic's gaps: as objects for any test runner, as files (TOML), and reports on their results.

`Check` says what to measure and which gaps are allowed. `Planned` is a check that can be run, and `Outcome` the result.
`CheckFile` reads a file. It has a table `[[check]]` for each check, whose keys are the arguments of `Check.of`. Keys
above the tables hold for all checks that do not override them. `runs_of` runs one of them in a process.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict, Unpack, get_type_hints

from optsched.certificates import certify
from optsched.core.brief import counted
from optsched.core.deprecated import Renamed
from optsched.core.errors import (
    CertificateInvalid,
    Fault,
    InputError,
    OptschedError,
    UsageError,
    expect,
    expect_known,
    nearest,
)
from optsched.core.kinds import CHECKS, read_toml
from optsched.core.processes.containing import contained
from optsched.core.processes.limits import Limits
from optsched.heuristics import AnyHeuristic
from optsched.measuring.gaps import gap_limit
from optsched.measuring.records import Run
from optsched.measuring.studies.baselines import Baseline
from optsched.measuring.studies.choices import (
    MEASURED,
    AboveZero,
    Choice,
    Group,
    Looking,
    Rule,
    Source,
    Text,
    Texts,
    chosen,
    distinct,
    seeds_of,
    tables_of,
)
from optsched.measuring.studies.limits import (
    Breach,
    GapLimit,
    breaches,
    difference,
    lines,
)
from optsched.measuring.studies.runs import Work, check_served, measure, plan
from optsched.measuring.studies.tables import GapReports
from optsched.problems import problem_class
from optsched.solvers.profiles import AnyProfile

__all__ = ["Check", "CheckArguments", "CheckFile", "Outcome", "Planned", "runs_of"]

#: The basis that a reference may have instead of a proof, if `certify` allows it.
KINDS = ("enumeration", "solver", "nothing")


#: The arguments that say which gap is limited, and how far.
_LIMITING = ("max_gap", "max_absolute", "over", "component", "frontier")


#: A number, or a text that may be one.
_FIGURE = int | float | Text
_TRUTH = Rule("true or false", bool)


class CheckArguments(TypedDict, total=False):
    """A check's requirements, and how its gaps are measured: for tests, files of checks and `Check.of` alike.

    A rule says what the value in a file must be; a wrong value gets that message.

    Attributes
    ----------
    max_gap
        The largest gap, as a share of the optimum: `0.05` or `"5%"`. A bare number of 1 or more is refused.
    max_absolute
        The same as a difference, for optima that may be 0.
    over
        Which gap of the runs on an instance, or on all instances of a family: `worst` (the default), `mean`, `median`,
        or a quantile such as 0.9.
    component
        Component of the objective; by default the first that differs.
    frontier
        Whether the component is compared with its best at the other component's value, instead of with the optimum.
    feasible
        Whether every run must have a feasible placement, as by default.
    baseline
        The path of a file: no run may be worse than recorded there.
    certify
        Whether certificates must prove the whole reference (True), or all of it except for allowed kinds
        (`["solver"]`).
    seeds
        Seeds of the heuristic: how many, from 0, or which: a list, or a text (`"0-9"`). By default ten if it draws
        random numbers, else one.
    parameters
        Parameters of the problem.
    profile, time_limit
        As for `optsched.gap`.
    run_limit, memory_limit
        As for `optsched.study`: seconds and MiB after which a run or solve is killed, in its own process.
    """

    max_gap: Annotated[Any, Rule('a share such as 0.05 or "5%"', _FIGURE, lambda value: gap_limit(value, "a share"))]
    max_absolute: Annotated[Any, Rule("a number", _FIGURE, difference)]
    over: Annotated[
        Any,
        Rule('"worst", "mean", "median" or a quantile such as 0.9', _FIGURE, lambda value: GapLimit.of(0, over=value)),
    ]
    component: Annotated[str | None, Rule("the name of a component", Text)]
    frontier: Annotated[bool, _TRUTH]
    feasible: Annotated[bool, _TRUTH]
    baseline: Annotated[bool | str | Path | None, Rule("the path of a file, true or false", bool | Text)]
    certify: Annotated[
        bool | Iterable[str],
        Rule('true, false, or a list such as ["solver"]', bool | Texts, lambda value: kinds_of(value)),
    ]
    seeds: Annotated[int | str | Iterable[int] | None, MEASURED["seeds"]]
    parameters: Annotated[Mapping[str, Any] | None, MEASURED["parameters"]]
    profile: Annotated[AnyProfile, MEASURED["profile"]]
    time_limit: Annotated[float | None, MEASURED["time_limit"]]
    run_limit: Annotated[
        float | None,
        Rule('a number of seconds above 0, or "none"', AboveZero | Literal["none"]),
    ]
    memory_limit: Annotated[int | None, Rule("a number of MiB above 0", AboveZero)]


@dataclass(frozen=True)
class Check:
    """A check: the requirements on heuristics in problems; see `of`.

    Examples
    --------
    >>> check = Check.of("lsap-sched", "papers/guo-fig2", "lsap", max_gap="5%", certify=True)
    >>> check.asserted
    'worst gap at most 5 %, proved'
    >>> outcome = check.planned().run()
    >>> outcome.failed, outcome.in_words
    (False, 'lsap-sched in lsap, 1 run: worst gap 0 %')
    """

    choices: tuple[Choice, ...]
    instances: Sequence[Source | Group]
    problems: tuple[str, ...]
    limit: GapLimit | None
    feasible: bool
    baseline: Path | None
    #: Kinds of claims that are accepted without a proof; None if nothing is certified.
    allowed: tuple[str, ...] | None
    #: None: as many as each heuristic needs (`measure`).
    seeds: tuple[int, ...] | None
    parameters: Mapping[str, Any]
    profile: AnyProfile
    time_limit: float | None
    #: The limits of each run and each solve, which then have their own processes.
    contained: Limits | None

    @classmethod
    def of(
        cls,
        heuristic: AnyHeuristic | Choice | Sequence[AnyHeuristic | Choice],
        instances: Source | Iterable[Source],
        problem: str | Sequence[str],
        **arguments: Unpack[CheckArguments],
    ) -> Check:
        """Make a check from these arguments.

        Parameters
        ----------
        heuristic, instances, problem
            As for `optsched.measuring.pytest_plugin.GapCheck`.
        **arguments
            See `CheckArguments`.

        Raises
        ------
        UsageError
            If nothing is required, an argument does not exist, or a value is invalid.
        """
        asked: dict[str, Any] = {**arguments}
        for name in asked:
            expect_known(name, CheckArguments.__annotations__, f"a check has no argument {name}")
        limit = GapLimit.of(**{name: asked[name] for name in _LIMITING if name in asked})
        feasible, baseline = asked.get("feasible", True), asked.get("baseline")
        expect(baseline, (str, os.PathLike, bool, type(None)), "a baseline is the path of a file")
        allowed, parameters, seeds = kinds_of(asked.get("certify", False)), asked.get("parameters"), asked.get("seeds")
        if limit is None and not baseline and not feasible and allowed is None:
            raise UsageError("nothing is asserted: give max_gap, max_absolute, baseline, feasible or certify")
        heuristics: Sequence[Any] = heuristic if isinstance(heuristic, list | tuple) else [heuristic]
        expect(problem, (str, list, tuple), "a check is in a problem, or a list of them, by name")
        expect(parameters, (Mapping, type(None)), "parameters of problems are a mapping of names to values")
        problems = [problem] if isinstance(problem, str) else list(problem)
        one = isinstance(instances, str) or not isinstance(instances, Iterable)
        sources: list[Any] = [instances] if one else list(instances)  # type: ignore[arg-type]
        if not (heuristics and problems and sources):
            raise UsageError("a check is of at least one heuristic in at least one problem on at least one instance")
        return cls(
            tuple(distinct(map(chosen, heuristics))),
            sources,
            tuple(dict.fromkeys(problem_class(name).name for name in problems)),
            limit,
            feasible,
            Path(baseline) if baseline else None,
            allowed,
            None if seeds is None else tuple(seeds_of(seeds)),
            dict(parameters or {}),
            asked.get("profile", "exact"),
            asked.get("time_limit"),
            Limits.of_runs(asked.get("run_limit"), asked.get("memory_limit")),
        )

    @property
    def asserted(self) -> str:
        """The requirements, in a few words."""
        claims = {
            str(self.limit): self.limit is not None,
            "no worse than recorded": self.baseline is not None,
            "proved": self.allowed is not None,
        }
        return ", ".join(words for words, holds in claims.items() if holds) or f"feasible; {_NO_LIMIT}"

    def planned(self, record: bool = False, recorder: str = "record it") -> Planned:
        """The runs of the check; faults in the arguments are found here.

        Parameters
        ----------
        record
            Whether the runs are recorded as the baseline, instead of being compared with it.
        recorder
            What to do if there is no baseline, in words.

        Raises
        ------
        UsageError
            For heuristics, problems, parameters and limits that do not go together.
        InputError
            For invalid instances or an invalid baseline.
        """
        check_served(self.choices, self.problems, each=True)
        work = plan(self.instances, self.problems, self.choices, self.parameters)
        for part in work:
            if self.limit is not None:
                self.limit.check(part.problem)
        recorded = None
        if self.baseline is not None and self.baseline.exists():
            recorded = Baseline.read(self.baseline)  # also if it is recorded anew: its other runs are kept
        return Planned(self, tuple(work), record, None if record else recorded, recorder)


def kinds_of(certify: bool | Iterable[str]) -> tuple[str, ...] | None:
    """The kinds of claims that `certify` accepts without a proof; None if it requires no proof.

    UsageError if there is no such kind.
    """
    if isinstance(certify, bool):
        return () if certify else None
    expect(certify, Iterable, "certify is true, or a list of claims to allow")
    kinds = (certify,) if isinstance(certify, str) else tuple(certify)
    for kind in kinds:
        if kind not in KINDS:
            raise UsageError(f"certify={kind!r}: give true, or claims to allow; {nearest(kind, KINDS)}")
    return kinds


@dataclass(frozen=True)
class Planned:
    """A check that can be run: its runs, what they are compared with, and its place in a file.

    Attributes
    ----------
    name, line
        Unique in the file, and the line where it begins there; None if unknown.
    """

    check: Check
    work: tuple[Work, ...]
    record: bool
    recorded: Baseline | None
    recorder: str
    name: str = ""
    line: int | None = None

    @property
    def steps(self) -> int:
        """The number of runs; without seeds, of heuristics on problems."""
        return len(self.check.seeds or (0,)) * sum(len(part.choices) for part in self.work)

    @property
    def whole(self) -> str:
        """` of 20`, if the number of runs is known."""
        return "" if self.check.seeds is None else f" of {self.steps}"

    def measure(self, step: Callable[[str], None] = lambda text: None) -> Iterator[Run]:
        """Every run as soon as it is done. The caller applies `check.contained`. `step` is called before each run."""
        check = self.check
        limits, seconds = check.profile, check.time_limit
        return measure(self.work, check.seeds, profile=limits, time_limit=seconds, step=step)

    def run(self) -> Outcome:
        """Run the check."""
        with contained(self.check.contained):
            return self.judge(self.measure())

    def judge(self, measured: Iterable[Run]) -> Outcome:
        """Judge the complete runs."""
        check, reports = self.check, GapReports(measured)
        broken = breaches(reports.measured, check.limit, check.feasible)
        if check.allowed is not None:
            broken += list(_uncertified(reports.measured, check.allowed))
        improved = 0
        if self.recorded is not None:
            worse, improved = self.recorded.compare(reports.measured, self.recorder, every=check.seeds is not None)
            broken += worse
        elif check.baseline is not None and not self.record:
            message = f"there is no baseline {check.baseline}; {self.recorder}"
            broken.append(Breach(message, reports.measured[0], reports.measured))
        return Outcome(check, reports, tuple(broken), improved)


#: The words of a check that only requires feasible placements.
_NO_LIMIT = "limits no gap: give max_gap"


@dataclass(frozen=True)
class Outcome:
    """The outcome of a check.

    Attributes
    ----------
    check, reports
        The requirements, and the results.
    breaches
        The requirements that do not hold.
    improved
        How many runs are better than recorded.
    """

    check: Check
    reports: GapReports
    breaches: tuple[Breach, ...]
    improved: int

    @property
    def failed(self) -> bool:
        """Whether some requirement does not hold."""
        return bool(self.breaches)

    @property
    def cause(self) -> BaseException | None:
        """The heuristic's exception, in the first run that shows it."""
        return next((cause for entry in self.breaches if (cause := entry.worst.report.run.cause) is not None), None)

    told = Renamed("in_words")

    @property
    def in_words(self) -> str:
        """A line on all runs."""
        better = f"; {self.improved} better than recorded" if self.improved else ""
        unlimited = f"; {_NO_LIMIT}" if _NO_LIMIT in self.check.asserted else ""
        return self.reports.in_words(self.check.limit)[0] + better + unlimited

    @property
    def numbers(self) -> dict[str, float]:
        """The number of runs and of those with a feasible placement, and the worst and mean gap of these."""
        return self.reports.in_words(self.check.limit)[1]

    @property
    def over(self) -> str:
        """How many runs have a gap over the limit, in words; empty if there is no limit."""
        limit, reports = self.check.limit, self.reports
        if limit is None:
            return ""
        over = sum((gap := limit.gap(report)) is not None and gap > limit.most for report in reports)
        return f"{over} of {counted(len(reports), 'run')} over the limit of {limit.shown(limit.most)}"

    def lines(self, folder: str = "", breaches: Sequence[Breach] | None = None) -> Iterator[str]:
        """All breaches, or some of them; `folder` is where commands should be typed, if not here."""
        check, broken = self.check, self.breaches if breaches is None else breaches
        return lines(broken, check.choices, folder, check.profile, check.time_limit, check.contained)


def _uncertified(measured: Iterable[Run], allowed: Sequence[str]) -> Iterator[Breach]:
    """The references that are not proved."""
    runs: dict[int, Run] = {}  # the first run of each reference
    for run in measured:
        runs.setdefault(id(run.report.reference), run)
    for entry in runs.values():
        try:
            certify(entry.report.problem, entry.report.reference.solution).raise_unless_proved(allowed)
        except CertificateInvalid as error:
            yield Breach(f"the reference is not proved: {error}", entry, (entry,))


# Files -------------------------------------------------------------------------------------------------------------


#: The rule for each key's value.
_RULES: dict[str, Rule] = {
    "name": Rule("a text", Text),
    **{key: MEASURED[key] for key in ("heuristic", "problem", "instances", "family")},
    **{name: hint.__metadata__[0] for name, hint in get_type_hints(CheckArguments, include_extras=True).items()},
}


class CheckFile:
    """A file of checks. Its relative paths and modules start from the current folder.

    InputError if it cannot be read or is no TOML.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        self._text, self._document = read_toml(path, CHECKS)

    def planned(self, only: Iterable[str] = (), record: bool = False) -> list[Planned]:
        """The checks of the names `only`, or all.

        `record`: whether their runs are recorded as baselines, instead of being compared with them. UsageError if there
        is no check of such a name; InputError with everything that is wrong with the file and with what it names.
        """
        faults: list[Fault] = []
        above = {key: rule for key, rule in _RULES.items() if key != "name"}
        _, tables = tables_of(self._document, "check", _RULES, above, faults, needed=("heuristic", "problem"))
        heads = re.finditer(r"^[ \t]*(\[\[\s*check\s*\]\])", self._text, re.MULTILINE)
        lines = [self._text.count("\n", 0, head.start(1)) + 1 for head in heads]
        entries: list[tuple[str, int | None, Looking]] = []
        for number, table in enumerate(tables):
            parts = (", ".join(str(entry) for _, entry in table.entries(key)) for key in ("heuristic", "problem"))
            name = next((given for _, given in table.entries("name")), " in ".join(parts))
            same = next((other.place for called, _, other in entries if called == name), None)
            if same is not None and not table.missing:
                words = f'{same} is called "{name}", too: give each a name of its own'
                faults.append(Fault(f"{table.place}.name", words))
            entries.append((name, lines[number] if len(lines) == len(tables) else None, table))
        names = [name for name, _, _ in entries]
        for name in only:
            expect_known(name, names, f'{self.path} has no check "{name}"')
        wanted = set(only) or set(names)
        found = []
        for name, line, table in entries:
            planned = _planned(name, table, record) if name in wanted else None
            if planned is not None:
                found.append(replace(planned, name=name, line=line))
        if faults:
            raise InputError(dict.fromkeys(faults), self.path)
        return found


def runs_of(asked: tuple[str, bool, str]) -> list[Run] | OptschedError:
    """The runs of one check, for its own process in the folder of the file: by its path, `record`, and name."""
    path, record, name = asked
    try:
        with redirect_stdout(sys.stderr):
            (planned,) = CheckFile(path).planned([name], record)
            with contained(planned.check.contained):
                return list(planned.measure())
    except OptschedError as error:
        return error


def _planned(name: str, looking: Looking, record: bool) -> Planned | None:
    """The runs of a check; None if something is wrong, which is then among the faults."""
    choices, problems, groups = looking.choices(), looking.problems(), looking.groups()
    values = looking.sound(_RULES)
    if not (choices and problems):
        return None
    for key in ("name", "heuristic", "problem", "family", "instances"):
        values.pop(key, None)
    if values.get("baseline") is True:
        stem = re.sub(r"[^\w.-]+", "-", name).strip("-.")
        values["baseline"] = f"gaps/{stem or 'check'}.json"
    if values.setdefault("run_limit", RUN_LIMIT) == "none":
        values["run_limit"] = None

    def made(arguments: dict[str, Any]) -> Planned | None:
        check = Check.of(choices, groups or [_NO_GROUP], problems, **arguments)
        return check.planned(record, RECORDER) if groups else None

    return next(iter(looking.one(looking.place, made, values)), None)


#: Stands for wrong instances, so that other faults of their check are found too.
_NO_GROUP = Group("none", ())


#: Seconds after which a run or a solve is killed, if the file sets no limit: none may hang a server for ever.
RUN_LIMIT = 600

#: The advice if there is no baseline.
RECORDER = "optsched check --update records it"
