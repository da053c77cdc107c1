"""What stops a search in tests: Ctrl-C in the place of a function, and a clock that each look at it moves on."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest


def interrupted(*_: Any, **__: Any) -> NoReturn:
    """Ctrl-C comes, whatever was asked."""
    raise KeyboardInterrupt


@contextmanager
def clock_of_looks() -> Iterator[None]:
    """The clock of deadlines shows how often it was looked at: a limit of 3 ends the fourth look."""
    clock = itertools.count()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("optsched.core.deadline.time", SimpleNamespace(monotonic=lambda: next(clock)))
        yield
