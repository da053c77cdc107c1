"""Limits of a job (`Limits`), its outcome (`Outcome`), and how much memory there is."""

from __future__ import annotations

import math
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from optsched.core.brief import brief
from optsched.core.errors import TooLarge, UsageError


@dataclass(frozen=True)
class Limits:
    """The limits of one job.

    `seconds` is the wall-clock time until its process is killed; None: as long as it takes. `memory_mb` is the resident
    memory of its process and all that it started, in MiB, including some 150 for Python and the package; None: what the
    machine has. UsageError if one is no number above 0.

    >>> Limits(seconds=0.5)
    Limits(seconds=0.5, memory_mb=None)
    """

    seconds: float | None = None
    memory_mb: int | None = None

    def __post_init__(self) -> None:
        """Refuse a limit that limits nothing."""
        for name, unit in (("seconds", "seconds"), ("memory_mb", "MiB")):
            given = getattr(self, name)
            number = isinstance(given, int | float) and not isinstance(given, bool)
            if given is not None and not (number and math.isfinite(given) and given > 0):
                raise UsageError(f"{name}={given!r}: give a number of {unit} above 0, or None for no limit")

    @classmethod
    def of_runs(cls, run_limit: Any = None, memory_limit: Any = None) -> Limits | None:
        """The limits with the names that users give them; None if neither is given.

        UsageError, by these names, if one is no number above 0.
        """
        try:
            return cls(run_limit, memory_limit) or None
        except UsageError as error:
            message = str(error).replace("memory_mb=", "memory_limit=").replace("seconds=", "run_limit=")
            raise UsageError(message) from None

    @property
    def options(self) -> list[str]:
        """The command-line options that set them.

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

    Its `status`: `done`; `failed` (the function raised, or job or value could not be sent); `timed-out`;
    `out-of-memory` (over the limit, or over what the machine has); `crashed` (its process ended before it answered).
    `value` is the function's result, None unless the job is done. `message` is what went wrong, in one line; empty if
    it is done. `seconds` is the wall-clock time of the job, `peak_mb` the highest resident memory seen, in MiB; None if
    unknown. `traceback` is that of the function's exception, as Python prints it.
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


#: The most MiB that this process may take, if its memory is limited.
allowed_mb: ContextVar[float] = ContextVar("optsched memory allowed", default=math.inf)

#: Linux files with the limit and the use of memory of a group of processes: control groups, version 2 and 1.
_GROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat", "inactive_file"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        "/sys/fs/cgroup/memory/memory.stat",
        "total_inactive_file",
    ),
)

_MIB = 1 << 20

#: Bytes that are always available: no check is needed for fewer.
_ALWAYS = 64 * _MIB


#: How the messages of libraries in other languages say that memory was refused.
_REFUSED = ("bad_alloc", "bad_array_new_length", "cannot allocate memory", "out of memory")


def available_mb() -> int:
    """Memory that is free without taking it from others, in MiB, within the limits; at least 1.

    >>> available_mb() >= 1
    True
    """
    import psutil

    left: list[int] = [psutil.virtual_memory().available]
    for limit, used, statistics, files in _GROUPS:
        with suppress(OSError, ValueError):  # ValueError: a word says that there is no limit
            most, taken = int(Path(limit).read_text()), int(Path(used).read_text())
            # Cached files count as used until memory is needed.
            left.append(most - taken + count_after(files, Path(statistics).read_text()))
    allowed = allowed_mb.get()
    if allowed < math.inf:
        left.append(round(allowed * _MIB) - psutil.Process().memory_info().rss)
    return max(1, min(left) // _MIB)


def has_room(size: float) -> bool:
    """Whether there is memory for `size` bytes.

    >>> has_room(1000), has_room(1e18)
    (True, False)
    """
    return size <= _ALWAYS or size <= available_mb() * _MIB


def refuse_beyond(size: float, what: str, mend: str) -> None:
    """Refuse something that would take more memory than there is, before it is made.

    TooLarge if about `size` bytes are not available. `what` says where and what it is (`NAME: ... would have 1,000,000
    entries`), `mend` what to do instead.

    >>> refuse_beyond(1000, "here: a table would have 125 entries", "take fewer tasks")
    """
    if not has_room(size):
        raise TooLarge(f"{what}, and take about {size / _MIB:,.0f} MB where there are {available_mb():,}; {mend}")


def count_after(word: str, text: str) -> int:
    r"""The number after a word at the start of a line; 0 if there is none.

    >>> count_after("inactive_file", "cache 3\ninactive_file 5\n")
    5
    """
    return next((int(line.split()[1]) for line in text.splitlines() if line.split()[:1] == [word]), 0)


def refused(error: BaseException | None) -> bool:
    """Whether an exception means that memory was refused, by Python or by a library that says so in its message.

    >>> refused(MemoryError()), refused(RuntimeError("std::bad_alloc")), refused(ValueError("no"))
    (True, True, False)
    """
    while error is not None:
        try:
            words = str(error).lower()
        except Exception:  # its own code
            words = ""
        if isinstance(error, MemoryError) or any(text in words for text in _REFUSED):
            return True
        error = error.__cause__ or error.__context__
    return False
