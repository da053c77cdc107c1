"""The gap matrix: every heuristic on one instance, judged by every problem that can be posed on it.

A heuristic that serves a problem is run in it. In a problem that it does not serve, the placement that it made in one
that it does serve is judged: so one sees what a scheduler that cares for one thing costs in another. What a gap is, is
for `optsched.gaps` to say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from optsched.errors import InputError, UsageError
from optsched.gaps import GapReport, Reference, gap_of
from optsched.heuristics import AnyHeuristic, Heuristic, HeuristicRun, applicable, heuristic, run
from optsched.instance import Instance
from optsched.problems import PROBLEMS, Problem, problem_class
from optsched.results import Number
from optsched.solvers.profiles import Profile

__all__ = ["Cell", "GapMatrix", "gap_matrix", "posable"]


@dataclass(frozen=True)
class Cell:
    """A heuristic's placement, judged by a problem.

    Attributes
    ----------
    heuristic
        What the row is called.
    ran_in
        Name of the problem in which the heuristic was run.
    report
        The gap, or why there is none.
    """

    heuristic: str
    ran_in: str
    report: GapReport

    @property
    def reason(self) -> str | None:
        """Why there is no gap, in one word; None where there is one.

        `failed`: the heuristic raised or answered nonsense. `starved`: it left tasks waiting for ever. `unproved`: no
        reference is known. Else the constraint of the problem that the placement violates first.
        """
        if self.report.error is not None:
            return "failed"
        if not self.report.feasible:
            return "starved" if self.report.run.starved else self.report.violations[0].constraint
        return "unproved" if self.report.absolute_gap is None else None

    @property
    def gap(self) -> tuple[Number, Number | None] | None:
        """Absolute and relative gap of the first component that differs; relative None beside a reference of 0."""
        report = self.report
        if report.absolute_gap is None or report.relative_gap is None:
            return None
        known = [
            (absolute, relative)
            for absolute, relative in zip(report.absolute_gap, report.relative_gap, strict=True)
            if absolute is not None
        ]
        return next((pair for pair in known if pair[0]), known[0])

    def record(self) -> dict[str, Any]:
        """The report's record, with `ran_in` and `reason`."""
        return {**self.report.record(), "heuristic": self.heuristic, "ran_in": self.ran_in, "reason": self.reason}


@dataclass(frozen=True)
class GapMatrix:
    """Rows of heuristics, columns of problems.

    Attributes
    ----------
    instance
        Its name.
    heuristics, problems
        What rows and columns are called.
    cells
        The cell of each pair (heuristic, problem).
    """

    instance: str
    heuristics: tuple[str, ...]
    problems: tuple[str, ...]
    cells: Mapping[tuple[str, str], Cell]

    def __getitem__(self, pair: tuple[str, str]) -> Cell:
        return self.cells[pair]

    def records(self) -> list[dict[str, Any]]:
        """A record for each cell, row by row."""
        return [self.cells[row, column].record() for row in self.heuristics for column in self.problems]


def posable(
    instance: Instance, names: Sequence[str] = (), parameters: Mapping[str, Mapping[str, Any]] | None = None
) -> list[Problem]:
    """The problems called `names` on an instance; without names every one that can be posed and has tasks to place.

    Raises
    ------
    UsageError
        For a name or parameter that there is not, a problem that decides no placement, and if none can be posed.
    InputError
        If a problem that was asked for lacks a field, or finds a value that it cannot take.
    """
    given = parameters or {}
    found: list[Problem] = []
    for name in dict.fromkeys(names) if names else PROBLEMS:
        kind = problem_class(name)
        if not issubclass(kind, Problem):
            if names:
                raise UsageError(f"{name} decides no placement, so that no heuristic has a gap in it")
            continue
        try:
            posed = kind(instance, **given.get(name, {}))
        except InputError:
            if names:
                raise
            continue
        if names or len(posed.tasks):
            found.append(posed)
    if not found:
        raise UsageError(f"{instance.name or 'the instance'}: no problem with tasks to place can be posed")
    return found


def gap_matrix(
    problems: Sequence[Problem],
    heuristics: Mapping[str, tuple[AnyHeuristic, Mapping[str, Any]]] | None = None,
    seed: int = 0,
    profile: str | Path | Profile = "exact",
    time_limit: float | None = None,
    step: Callable[[str], None] = lambda text: None,
) -> GapMatrix:
    """Judge heuristics by problems, all posed on one instance.

    Parameters
    ----------
    problems
        See `posable`.
    heuristics
        What each row is called, with the heuristic and its parameters; by default every one of the list that serves
        one of the problems.
    seed
        Of every run.
    profile, time_limit
        For solving each problem, once.
    step
        Told of each thing that is done next.

    Returns
    -------
    GapMatrix

    Raises
    ------
    UsageError
        If there is no problem, they are on several instances, or a heuristic serves none of them.

    Examples
    --------
    >>> from optsched.instances.files import load
    >>> from optsched.instances.library import library
    >>> matrix = gap_matrix(posable(load(library()["papers/guo-fig2"].path), ["lsap", "latency"]))
    >>> matrix["lsap-sched", "lsap"].gap, matrix["lsap-sched", "latency"].ran_in, matrix["labl", "lsap"].reason
    ((0, 0), 'lsap', 'slots')
    """
    if len({posed.instance.sha256 for posed in problems}) != 1:
        raise UsageError(f"a gap matrix is of one instance, not of {len({p.instance.sha256 for p in problems})}")
    chosen = heuristics or _listed(problems)
    references: dict[str, Reference] = {}
    for posed in problems:
        step(f"{posed.instance.name} {posed.name}")
        references[posed.name] = Reference.solved(posed, profile, time_limit)
    cells: dict[tuple[str, str], Cell] = {}
    for label, (given, parameters) in chosen.items():
        entry = heuristic(given)
        homes = [posed for name in entry.problems for posed in problems if posed.name == name and entry.serves(posed)]
        if not homes:
            raise UsageError(f"heuristic {label} serves none of {', '.join(references)} on this instance")
        runs: dict[str, HeuristicRun] = {}
        for posed in problems:
            step(f"{posed.instance.name} {posed.name} {label}")
            home = _home(posed, homes)
            if home.name not in runs:
                runs[home.name] = run(home, entry, seed, **parameters)
            judged = _carried(runs[home.name], posed)
            report = gap_of(posed, judged, seed, references[posed.name])
            cells[label, posed.name] = Cell(label, home.name, report)
    return GapMatrix(problems[0].instance.name, tuple(chosen), tuple(references), cells)


def _listed(problems: Sequence[Problem]) -> dict[str, tuple[Heuristic, Mapping[str, Any]]]:
    found = {entry.name: entry for posed in problems for entry in applicable(posed, by_default=True)}
    return {name: (entry, {}) for name, entry in found.items()}


def _home(posed: Problem, homes: Sequence[Problem]) -> Problem:
    """Where a heuristic is run for `posed`: there, else in the first that places the same kinds, else in the first."""
    if posed in homes:
        return posed
    return next((home for home in homes if set(home.kinds) >= set(posed.kinds)), homes[0])


def _carried(done: HeuristicRun, posed: Problem) -> HeuristicRun:
    """A run as another problem sees it: only where its own tasks are placed."""
    if done.placement is None:
        return done
    placement = posed.placement(done.placement.nodes[posed.tasks])
    return replace(done, placement=placement)
