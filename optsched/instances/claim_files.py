"""Any file of claims or of a decision: solution, frontier, schedule; its `format` says which."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from optsched.errors import Fault, InputError, expect
from optsched.fronts import Frontier
from optsched.instance import Instance
from optsched.instances.documents.claims import opened
from optsched.instances.files import content
from optsched.instances.frontier_files import parse_frontier
from optsched.instances.schedule_files import parse_schedule
from optsched.instances.solution_files import parse_solution
from optsched.network import FlowNetwork
from optsched.results import Decision, Solution
from optsched.schedule import Schedule

__all__ = ["read_claim", "read_decision", "read_held"]

#: What files say of themselves that no version after 0.2's development versions reads.
_RETIRED = "optsched-leximin/"


def read_claim(path: str | os.PathLike[str], instance: Instance | FlowNetwork) -> Solution | Frontier:
    """Read a solution or a frontier.

    Parameters
    ----------
    path
        The file.
    instance
        What it should be of.

    Raises
    ------
    InputError
        If the file is missing, unreadable, of none of these formats, or wrong; lists every fault with its place.
    """
    expect(path, (str, os.PathLike), "read_claim takes a path")
    expect(instance, (Instance, FlowNetwork), "read_claim takes an instance or a flow network")
    source = os.fspath(path)
    document, form = _opened(path)
    if form.startswith(_RETIRED):
        told = f'"{form}" is an ordered vector of utilities, which optsched no longer reads; solve --problem utility'
        raise InputError([Fault("format", f"{told} has the lowest utility and its proof")], source)
    if form.startswith("optsched-frontier/"):
        if not isinstance(instance, Instance):
            raise InputError([Fault("format", "it is of an instance, and this is a flow network")], source)
        return parse_frontier(document, instance, source)
    return parse_solution(document, instance, source)


def read_decision(path: str | os.PathLike[str], instance: Instance | FlowNetwork) -> Decision | None:
    """Read what was decided: of a solution file, or of a schedule file.

    Parameters
    ----------
    path
        The file.
    instance
        What it should be of.

    Returns
    -------
    Placement, Schedule, NetworkFlow or None
        None where a solution holds no decision, or is of another instance.

    Raises
    ------
    InputError
        If the file is missing, unreadable, of neither format, or wrong; lists every fault with its place.
    """
    expect(path, (str, os.PathLike), "read_decision takes a path")
    expect(instance, (Instance, FlowNetwork), "read_decision takes an instance or a flow network")
    held = read_held(path, instance)
    return held.decision if isinstance(held, Solution) else held


def read_held(path: str | os.PathLike[str], instance: Instance | FlowNetwork) -> Solution | Schedule:
    """A solution, or the schedule of a schedule file; raises as `read_decision` does."""
    document, form = _opened(path)
    if form.startswith("optsched-schedule/") and isinstance(instance, Instance):
        return parse_schedule(document, instance, os.fspath(path))
    return parse_solution(document, instance, os.fspath(path))


def _opened(path: str | os.PathLike[str]) -> tuple[Any, str]:
    """The document of a file, and the format that it says it has."""
    document = opened(content(path), os.fspath(path))
    return document, str(document.get("format")) if isinstance(document, Mapping) else ""
