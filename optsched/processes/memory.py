"""Available memory of the machine or its container, and whether an allocation was refused."""

from __future__ import annotations

import math
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path

from optsched.core.errors import TooLarge

__all__ = ["allowed_mb", "available_mb", "has_room", "refuse_beyond", "refused"]

#: What this process may take at most, in MiB, where its memory is limited.
allowed_mb: ContextVar[float] = ContextVar("optsched memory allowed", default=math.inf)

#: Where Linux tells of a group of processes what it may take and what it takes: control groups, version 2 and 1.
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

#: Bytes that there always are: who asks for no more need not look.
_ALWAYS = 64 * _MIB


#: How libraries in other languages say in their messages that memory was refused.
_REFUSED = ("bad_alloc", "bad_array_new_length", "cannot allocate memory", "out of memory")


def available_mb() -> int:
    """Memory that can be had without taking it from others, in MiB, within what is allowed; 1 at least.

    >>> available_mb() >= 1
    True
    """
    import psutil

    left: list[int] = [psutil.virtual_memory().available]
    for limit, used, statistics, files in _GROUPS:
        with suppress(OSError, ValueError):  # ValueError: a word says that there is no limit
            most, taken = int(Path(limit).read_text()), int(Path(used).read_text())
            left.append(most - taken + _count(Path(statistics).read_text(), files))
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
    """Refuse what would take more memory than there is, before it is made.

    Parameters
    ----------
    size
        Bytes that it would take, about.
    what
        Where and what it is: `NAME: ... would have 1,000,000 entries`.
    mend
        What to do instead.

    Raises
    ------
    TooLarge
        If there is no memory for it.

    Examples
    --------
    >>> refuse_beyond(1000, "here: a table would have 125 entries", "take fewer tasks")
    """
    if not has_room(size):
        raise TooLarge(f"{what}, and take about {size / _MIB:,.0f} MB where there are {available_mb():,}; {mend}")


def _count(text: str, word: str) -> int:
    r"""The number after a word that begins a line; 0 where there is none. Files that are read count as used till then.

    >>> _count("cache 3\ninactive_file 5\n", "inactive_file")
    5
    """
    return next((int(line.split()[1]) for line in text.splitlines() if line.split()[:1] == [word]), 0)


def refused(error: BaseException | None) -> bool:
    """Whether something was raised because memory was refused, by Python or by a library that says so in its words.

    Examples
    --------
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
