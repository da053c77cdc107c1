"""A small generated instance of every problem of the registry, by the family and sizes of its record."""

from __future__ import annotations

from typing import Any

from optsched.core.registry import record, records
from optsched.instances.generate import generate
from optsched.problems import AnyProblem, problem

__all__ = ["NAMES", "small_problem"]

#: Every problem of the registry.
NAMES = tuple(records())


def small_problem(name: str, seed: int, parameters: dict[str, Any] | None = None) -> AnyProblem:
    """The problem on an instance that is small enough to try every decision."""
    entry = record(name)
    assert entry.family is not None
    return problem(name, generate(entry.family, seed=seed, **entry.sizes), **(parameters or {}))
