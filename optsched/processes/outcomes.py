"""Limits of a job (`Limits`), and its outcome (`Outcome`)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from optsched.core.brief import brief
from optsched.core.errors import UsageError

__all__ = ["Limits", "Outcome", "Status"]


@dataclass(frozen=True)
class Limits:
    """The limits of one job.

    Attributes
    ----------
    seconds
        Wall-clock time until its process is killed; None: as long as it takes.
    memory_mb
        Resident memory of its process and all that it started, in MiB; Python and the package count, and take some 150
        of them. None: what the machine has.

    Raises
    ------
    UsageError
        If one is no number above 0.

    Examples
    --------
    >>> Limits(seconds=0.5)
    Limits(seconds=0.5, memory_mb=None)
    """

    seconds: float | None = None
    memory_mb: int | None = None

    def __post_init__(self) -> None:
        """Refuse what limits nothing."""
        for name, unit in (("seconds", "seconds"), ("memory_mb", "MiB")):
            given = getattr(self, name)
            number = isinstance(given, int | float) and not isinstance(given, bool)
            if given is not None and not (number and math.isfinite(given) and given > 0):
                raise UsageError(f"{name}={given!r}: give a number of {unit} above 0, or None for no limit")

    @classmethod
    def of_runs(cls, run_limit: Any = None, memory_limit: Any = None) -> Limits | None:
        """The limits that are called so where runs are asked for; None where neither is given.

        Raises
        ------
        UsageError
            If one is no number above 0, by these names.
        """
        try:
            return cls(run_limit, memory_limit) or None
        except UsageError as error:
            message = str(error).replace("memory_mb=", "memory_limit=").replace("seconds=", "run_limit=")
            raise UsageError(message) from None

    @property
    def options(self) -> list[str]:
        """What sets them on the command line.

        Examples
        --------
        >>> Limits(2.5, 800).options
        ['--run-limit', '2.5', '--memory-limit', '800']
        """
        given = {"--run-limit": self.seconds, "--memory-limit": self.memory_mb}
        return [word for name, limit in given.items() if limit is not None for word in (name, f"{limit:g}")]

    def __bool__(self) -> bool:
        return self.seconds is not None or self.memory_mb is not None


class Status(StrEnum):
    """How a job ended."""

    DONE = "done"
    FAILED = "failed"
    TIMED_OUT = "timed-out"
    OUT_OF_MEMORY = "out-of-memory"
    CRASHED = "crashed"


@dataclass(frozen=True)
class Outcome:
    """The outcome of a job.

    Attributes
    ----------
    status
        `done`; `failed`: the function raised, or job or value could not be sent; `timed-out`; `out-of-memory`: over the
        limit, or of what the machine has; `crashed`: its process ended before it answered.
    value
        What the function gave; None unless it is done.
    message
        What went wrong, in one line; empty where it is done.
    seconds
        Wall-clock time of the job.
    peak_mb
        Most resident memory that was seen, in MiB; None where it is unknown.
    traceback
        Of what the function raised, as Python prints it.
    """

    status: Status
    value: Any = None
    message: str = ""
    seconds: float = 0.0
    peak_mb: float | None = None
    traceback: str = field(default="", repr=False)

    @property
    def done(self) -> bool:
        """Whether there is a value."""
        return self.status is Status.DONE

    def __str__(self) -> str:
        return str(self.status) if self.done else f"{self.status}: {self.message}"

    def __repr__(self) -> str:
        return brief(f"Outcome: {self}")
