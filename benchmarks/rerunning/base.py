"""What the reruns of all papers share: a table, and a run to its end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from study_tables import spread, table

from optsched.core.instance import Floats, Instance
from optsched.core.schedule import MICRO
from optsched.simulating import EveryRound, Service, Simulation, simulate

__all__ = ["Form", "Table", "called", "ran", "shares", "taken"]

#: A policy and its parameters; with a `period` it is a batch heuristic that decides in rounds.
Form = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Table:
    """A table: its title, the names of its columns, its rows, and how many columns are text."""

    title: str
    header: list[str]
    rows: list[list[object]]
    text_columns: int = 1

    def __str__(self) -> str:
        return f"### {self.title}\n\n{table(self.header, self.rows, self.text_columns)}\n"


def called(form: Form) -> str:
    """A policy with its parameters, as on the command line.

    >>> called(("fair", {"delay": 0}))
    '`fair,delay=0`'
    """
    name, values = form
    return f"`{','.join([name, *(f'{key}={value}' for key, value in values.items())])}`"


def ran(instance: Instance, form: Form, service: Service, seed: int) -> Simulation:
    """A run to its end: heartbeats every 3 s, which fill all free slots of a node, as in Hadoop 1."""
    name, values = form
    made = EveryRound(name, **values) if "period" in values else None
    run = simulate(instance, name, service, seed=seed, **values) if made is None else simulate(instance, made, service)
    if run.unfinished:
        raise SystemExit(f"{called(form)}: {run.unfinished}")
    return run


def taken(run: Simulation) -> Floats:
    """How long each task took, in seconds."""
    return (run.end - run.schedule.starts) / MICRO


def shares(parts: Iterable[tuple[float, float]]) -> str:
    """Parts of wholes in per cent, as a mean with half of its 95 % interval; nothing of nothing.

    >>> shares([(1, 3)]), shares([(1, 4), (2, 4), (3, 4)]), shares([(0, 0)])
    ('33.3 %', '50.0 ± 62.1 %', '')
    """
    found = [100 * part / whole for part, whole in parts if whole]
    return f"{spread(found)} %" if found else ""
