"""What a failed test says of a gap: the run, where it differs from the optimum, and the command that shows it again."""

from __future__ import annotations

import os
import shlex
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from optsched.core.outside import own_traceback
from optsched.core.placement import NONE, Placement
from optsched.instances.files import SUFFIXES
from optsched.measuring.explaining.chains import nearer
from optsched.measuring.explaining.explanation import cause_lines, causes_of
from optsched.measuring.gaps import GapReport
from optsched.measuring.printing import Table, render
from optsched.measuring.records import Run
from optsched.measuring.studies.choices import Choice
from optsched.measuring.studies.limits import Breach
from optsched.problems import Problem
from optsched.processes import Limits
from optsched.processes.containing import TracedElsewhere
from optsched.solvers.profiles import AnyProfile, Profile, load_profile, profile_names

__all__ = ["again", "differing", "frames_of", "lines", "traceback_of"]

#: So many tasks that are placed differently, and so many breaches, are told one by one.
_SHOWN = 12


def lines(
    breaches: Sequence[Breach],
    choices: Iterable[Choice] = (),
    folder: str = "",
    profile: AnyProfile = "exact",
    time_limit: float | None = None,
    contained: Limits | None = None,
) -> Iterator[str]:
    """A text on breaches: for each the worst run, its differences from the optimum, and how to see it again.

    `folder` is where the command is to be typed, if that is not the current one; `profile`, `time_limit` and
    `contained` are those of the runs.
    """
    go = f"cd {shlex.quote(folder)} && " if folder else ""
    by_label = {choice.label: choice for choice in choices}
    for breach in breaches[:_SHOWN]:
        entry = breach.worst
        report = entry.report
        where = report.problem.instance.name or entry.group
        yield f"{entry.heuristic} on {where}, {report.problem.name}, seed {report.seed}: {breach.told}"
        if report.objective is not None and report.reference.value is not None:
            best = f"the {report.reference.kind} {_told(report.reference.value)}"
            yield f"  value {_told(report.objective)} against {best}"
        yield from (f"  {line}" for line in differing(report))
        choice = by_label.get(entry.heuristic)
        yield f"  see it again: {go}{again(entry, choice, profile, time_limit, contained, folder)}"
    if len(breaches) > _SHOWN:
        yield f"and {len(breaches) - _SHOWN} more"


def _told(value: Sequence[object]) -> str:
    return ", ".join("unknown" if part is None else str(part) for part in value)


def differing(report: GapReport) -> Iterator[str]:
    """What is avoidable, and a table of the tasks that the nearest optimum known places elsewhere."""
    best, problem = report.reference.solution.decision, report.problem
    if report.placement is None or not isinstance(best, Placement) or not report.absolute_gap:
        return
    assert isinstance(problem, Problem)
    before, (after, nearest) = problem.nodes_of(report.placement), nearer(problem, report.placement, best)
    moved = np.flatnonzero(before != after)
    if not len(moved):
        return
    kind = "an optimal" if report.reference.solution.optimal else "the best known"
    yield from cause_lines(problem, causes_of(problem, before, after))
    told = "the nearest optimal" if nearest else kind
    yield f"{len(moved)} of {len(problem.tasks)} tasks run elsewhere than in {told} placement:"
    rows = [("task", "heuristic", kind.removeprefix("an ").removeprefix("the "))]
    ids, nodes = problem.instance.workload.task_ids[problem.tasks], problem.instance.cluster.node_ids
    for task in moved[:_SHOWN].tolist():
        here, there = int(before[task]), int(after[task])
        rows.append((ids[task], *("-" if node == NONE else nodes[node] for node in (here, there))))
    head, _, *lines = render(Table(rows[0], rows[1:])).splitlines()
    yield from (f"  {line}" for line in (head, *lines))
    if len(moved) > _SHOWN:
        yield f"  and {len(moved) - _SHOWN} more"


def again(
    entry: Run,
    choice: Choice | None = None,
    profile: AnyProfile = "exact",
    time_limit: float | None = None,
    contained: Limits | None = None,
    folder: str = "",
) -> str:
    """The shell command that makes a run again, with all that decides it; where there is none, what to do first.

    Parameters
    ----------
    entry, choice
        The run, and its heuristic with its parameters.
    profile, time_limit, contained
        What it was measured with; `contained` are the limits of processes of their own.
    folder
        Where the command is to be typed, if not here.
    """
    report = entry.report
    problem, source = report.problem, report.problem.instance.source
    command = ["optsched", "gap", _argument(entry.group)]
    before = ""
    if command[-1] == "":
        generated = source.removeprefix("generated by ")
        command[-1] = f"{Path(problem.instance.name or 'instance').name}.json"
        if generated != source:
            before = f"{generated} --output {shlex.quote(command[-1])} && "
        else:
            before = f"save the instance first (optsched.save(instance, {command[-1]!r})), then "
    command += ["--problem", problem.name]
    defaults = {parameter.name: parameter.default for parameter in problem.parameter_table}
    for name, value in problem.parameters.items():
        if value != defaults[name]:
            command += ["--param", f"{name}={','.join(map(str, value)) if isinstance(value, tuple) else value}"]
    label = entry.heuristic if choice is None else choice.label
    if "<" in label:
        return f"{label} has no name that a command could import: define it at the top of its module"
    command += ["--heuristic", label, "--seed", str(report.seed)]
    command += _limits(profile, time_limit)
    command += [] if contained is None else contained.options
    return before + _found_from(label.partition(":")[0], folder) + " ".join(map(shlex.quote, command))


def _found_from(name: str, folder: str) -> str:
    """What lets a command find a module that lies neither in its folder nor among the installed packages."""
    path = Path(getattr(sys.modules.get(name), "__file__", None) or "").resolve()
    parts = (*name.split("."), *["__init__"] * (path.stem == "__init__"))
    root = path.parents[len(parts) - 1] if len(path.parents) >= len(parts) else path
    told = path.with_suffix("").parts[-len(parts) :] == parts
    if not told or root == Path(folder).resolve() or {"site-packages", "dist-packages"} & set(root.parts):
        return ""
    return f"PYTHONPATH={shlex.quote(os.path.relpath(root, folder or os.curdir))} "


def _limits(profile: AnyProfile, time_limit: float | None) -> list[str]:
    """The options that say how hard a reference was tried for; the command line has a limit on time by default."""
    loaded = load_profile(profile)
    name = str(profile)
    if isinstance(profile, Profile):
        known = loaded.name in profile_names()
        shipped = known and replace(load_profile(loaded.name), time_limit=loaded.time_limit) == loaded
        name = loaded.name if shipped else f"{loaded.name}.toml"
    seconds = loaded.time_limit if time_limit is None else time_limit
    limit = "none" if seconds is None else f"{seconds:g}"
    return [*([] if name == "exact" else ["--profile", name]), "--time-limit", limit]


def traceback_of(error: BaseException) -> str:
    """The traceback of what a heuristic raised, from its own first line on, wherever it ran."""
    return error.trace if isinstance(error, TracedElsewhere) else own_traceback(error)


def frames_of(error: BaseException) -> list[tuple[str, int | None]]:
    """File and line of each frame of what a heuristic raised, the innermost last."""
    if isinstance(error, TracedElsewhere):
        return list(error.frames)
    return [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]


def _argument(group: str) -> str:
    """What names the instance on the command line; empty where it is in no file and not in the library."""
    from optsched.instances.library import library

    if group.endswith(SUFFIXES) or group in library():
        return group
    return ""
