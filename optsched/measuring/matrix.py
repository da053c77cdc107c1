"""The gap matrix: every heuristic on one instance, judged by every problem that can be posed on it.

A heuristic runs in each problem that it serves. In other problems, its placement from a problem that it serves is
judged. This shows the cost of optimising a different objective. `optsched.measuring.gaps` defines the gap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optsched.core.brief import brief, counted
from optsched.core.deprecated import former_names
from optsched.core.errors import InputError, UsageError, expect
from optsched.core.instance import Instance
from optsched.core.placement import Schedule
from optsched.heuristics import AnyHeuristic, Heuristic, HeuristicRun, applicable, heuristic, run
from optsched.measuring.gaps import Reference, gap_of
from optsched.measuring.records import Run, legend
from optsched.problems import PROBLEMS, Problem, problem_class
from optsched.problems.base import TaskProblem, expect_problem
from optsched.solvers.profiles import Profile

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["GapMatrix", "cell_record", "each_cell", "gap_matrix", "heuristics_of", "posable"]

__getattr__ = former_names(__name__, Cell="optsched.measuring.records:Run")


@dataclass(frozen=True)
class GapMatrix:
    """Rows of heuristics, columns of problems.

    Attributes
    ----------
    instance
        Its name.
    heuristics, problems
        The labels of rows and columns.
    cells
        The run of each pair (heuristic, problem), row by row: its gap, or why there is none, and in which problem it
        ran.
    """

    instance: str
    heuristics: tuple[str, ...]
    problems: tuple[str, ...]
    cells: Mapping[tuple[str, str], Run]

    @classmethod
    def of(cls, runs: Iterable[Run]) -> GapMatrix:
        """The matrix of all its cells, row by row."""
        cells = {(run.heuristic, run.problem): run for run in runs}
        rows, columns = (tuple(dict.fromkeys(names)) for names in zip(*cells, strict=True))
        return cls(next(iter(cells.values())).instance, rows, columns, cells)

    def __getitem__(self, pair: tuple[str, str]) -> Run:
        return self.cells[pair]

    def __repr__(self) -> str:
        sizes = f"{counted(len(self.heuristics), 'heuristic')}, {counted(len(self.problems), 'problem')}"
        return brief(f"GapMatrix on {self.instance or 'instance'}: {sizes}")

    def _repr_html_(self) -> str:
        """A row per heuristic, a column per problem, as `optsched matrix` shows them, and what the marks mean."""
        import pandas as pd

        rows = [[self.cells[row, column].cell() for column in self.problems] for row in self.heuristics]
        shown = pd.DataFrame(rows, index=list(self.heuristics), columns=list(self.problems))
        marks = "".join(f"<br>{escape(line)}" for line in legend(self.cells.values()))
        return f"<p>{escape(self.instance)}</p>{shown.to_html()}<p>{marks.removeprefix('<br>')}</p>"

    def frame(self) -> pd.DataFrame:
        """A row for each cell, row by row.

        Returns
        -------
        pandas.DataFrame
            `heuristic`, `problem`, `ran_in`, `component` (the first one that differs: the gap is its gap), `gap`
            (relative; infinite if the reference is 0), `absolute_gap`, `reason` (why there is none; None if there is
            one).
        """
        import pandas as pd

        rows = []
        for (row, column), cell in self.cells.items():
            component = None if cell.deciding is None else cell.components[cell.deciding[0]]
            rows.append((row, column, cell.ran_in, component, *cell.gap[::-1], cell.reason))
        names = ["heuristic", "problem", "ran_in", "component", "gap", "absolute_gap", "reason"]
        return pd.DataFrame(rows, columns=names, dtype=object).astype({"gap": float, "absolute_gap": float})

    def records(self) -> list[dict[str, Any]]:
        """A record for each cell, row by row."""
        return [cell_record(run) for run in self.cells.values()]


def cell_record(run: Run) -> dict[str, Any]:
    """The report's record, with the label of its row, `ran_in` and `reason`."""
    return {**run.report.record(), "heuristic": run.heuristic, "ran_in": run.ran_in, "reason": run.reason}


def posable(
    instance: Instance,
    names: Sequence[str] = (),
    parameters: Mapping[str, Mapping[str, Any]] | None = None,
    refused: Callable[[str, InputError], None] = lambda name, error: None,
) -> list[TaskProblem[Any]]:
    """The problems called `names` on an instance; without names every one that can be posed and has tasks to place.

    Problems that decide when tasks run must be named: a placement of a snapshot does not say that. `refused` is called
    with those that were not asked for and cannot be posed, and why.

    Raises
    ------
    UsageError
        For an unknown name or parameter, a problem that decides no placement, and if none can be posed.
    InputError
        If a problem that was asked for lacks a field, or has a value that it cannot handle.
    """
    given = parameters or {}
    found: list[TaskProblem[Any]] = []
    names = [names] if isinstance(names, str) else names
    for name, kind in {name: problem_class(name) for name in names or PROBLEMS}.items():
        if names and not issubclass(kind, TaskProblem):
            raise UsageError(f"{name} decides no placement, so that no heuristic has a gap in it")
        if not issubclass(kind, TaskProblem) or (kind.decided is Schedule and not names):
            continue
        try:
            posed = kind(instance, **given.get(name, {}))
        except InputError as error:
            if names:
                raise
            refused(name, error)
            continue
        if names or len(posed.tasks):
            found.append(posed)
    if not found:
        raise UsageError(f"{instance.name or 'the instance'}: no problem with tasks to place can be posed")
    return found


def gap_matrix(
    problems: Sequence[TaskProblem[Any]],
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
        The label of each row, with the heuristic and its parameters; by default every listed one that serves one of the
        problems.
    seed
        Seed of every run.
    profile, time_limit
        For solving each problem, once; and the limit for each run of a heuristic.
    step
        Called with each next step.

    Returns
    -------
    GapMatrix

    Raises
    ------
    UsageError
        If there is no problem, they are on several instances, a heuristic serves none of them, or none does.
    KeyboardInterrupt
        Also if Ctrl-C stopped a solver.

    Examples
    --------
    >>> from optsched.instances.files import load
    >>> from optsched.instances.library import library
    >>> matrix = gap_matrix(posable(load(library()["papers/guo-fig2"].path), ["lsap", "latency"]))
    >>> matrix["lsap-sched", "lsap"].cell(), matrix["lsap-sched", "latency"].ran_in, matrix["labl", "lsap"].reason
    ('0 %', 'lsap', 'slots')
    """
    return GapMatrix.of(each_cell(problems, heuristics, seed, profile, time_limit, step))


def each_cell(
    problems: Sequence[TaskProblem[Any]],
    heuristics: Mapping[str, tuple[AnyHeuristic, Mapping[str, Any]]] | None = None,
    seed: int = 0,
    profile: str | Path | Profile = "exact",
    time_limit: float | None = None,
    step: Callable[[str], None] = lambda text: None,
) -> Iterator[Run]:
    """The cells of `gap_matrix` row by row, each as soon as it is known; all faults are raised before the first."""
    expect(problems, (list, tuple), "a gap matrix is of a list of problems", "posable(instance) makes one")
    for posed in problems:
        expect_problem(posed, "a gap matrix", TaskProblem)
    expect(heuristics, (Mapping, type(None)), "its rows are a mapping of labels to a heuristic and its parameters")
    if len({posed.instance.sha256 for posed in problems}) != 1:
        raise UsageError(f"a gap matrix is of one instance, not of {len({p.instance.sha256 for p in problems})}")
    rows = heuristics_of(problems, heuristics)
    names = ", ".join(posed.name for posed in problems)
    if not rows:
        raise UsageError(f"no heuristic of the list serves {names} on this instance; give your own")
    homes: dict[str, list[TaskProblem[Any]]] = {}
    for label, (entry, _) in rows.items():
        order = [*entry.problems, *(posed.name for posed in problems)]
        homes[label] = sorted(filter(entry.applies, problems), key=lambda posed: order.index(posed.name))
        if not homes[label]:
            raise UsageError(f"heuristic {label} serves none of {names} on this instance")

    def cells() -> Iterator[Run]:
        references: dict[str, Reference] = {}
        for label, (entry, parameters) in rows.items():
            runs: dict[str, HeuristicRun] = {}
            for posed in problems:
                if posed.name not in references:
                    step(f"{posed.instance.name} {posed.name}")
                    references[posed.name] = Reference.solved(posed, profile, time_limit)
                step(f"{posed.instance.name} {posed.name} {label}")
                # If it does not serve the problem: the first one that it serves of the same kinds, or of any.
                alike = (one for one in homes[label] if set(one.kinds) >= set(posed.kinds))
                home = posed if posed in homes[label] else next(alike, homes[label][0])
                if home.name not in runs:
                    runs[home.name] = run(home, entry, seed, time_limit=time_limit, **parameters)
                reference = references[posed.name]
                report = gap_of(posed, _carried(runs[home.name], posed, home), seed, reference)
                yield Run.of(report, heuristic=label, ran_in=home.name)
                reference.solution.raise_if_interrupted()

    return cells()


def heuristics_of(
    problems: Sequence[TaskProblem[Any]], heuristics: Mapping[str, tuple[AnyHeuristic, Mapping[str, Any]]] | None = None
) -> dict[str, tuple[Heuristic, Mapping[str, Any]]]:
    """The rows: their labels, with the heuristic and its parameters; by default every listed one."""
    if heuristics:
        return {label: (heuristic(given), parameters) for label, (given, parameters) in heuristics.items()}
    found = {entry.name: entry for posed in problems for entry in applicable(posed, by_default=True)}
    return {name: (entry, {}) for name, entry in found.items()}


def _carried(done: HeuristicRun, posed: TaskProblem[Any], home: TaskProblem[Any]) -> HeuristicRun:
    """A run as another problem sees it: only where its own tasks are placed; nothing if it decides another noun."""
    if done.placement is None or posed is home:
        return done
    if posed.decided is Schedule and done.schedule is not None:
        return done
    if not isinstance(posed, Problem) or done.schedule is not None:
        return replace(done, placement=None, schedule=None)
    placement = posed.placement(done.placement.nodes[posed.tasks])
    return replace(done, placement=placement)
