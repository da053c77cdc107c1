"""Names that will go: they work for at least one release, with a DeprecationWarning that says what to use instead."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module

__all__ = ["deprecated", "moved"]


def deprecated(former: str, present: str, stacklevel: int = 2) -> None:
    """Warn that a name will go.

    Parameters
    ----------
    former, present
        The name, and what to use instead.
    stacklevel
        As for `warnings.warn`: 2 is the caller of the function that calls this one.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     deprecated("optsched.old", "optsched.new")
    >>> print(told[0].message)
    optsched.old is deprecated and will go in a later release: use optsched.new
    """
    told = f"{former} is deprecated and will go in a later release: use {present}"
    warnings.warn(told, DeprecationWarning, stacklevel=stacklevel + 1)


def moved(former: str, present: str) -> Callable[[str], object]:
    """The `__getattr__` of a module that has moved: each name is that of the new module, with a warning.

    Parameters
    ----------
    former, present
        The modules.
    """

    def attribute(name: str) -> object:
        found: object = getattr(import_module(present), name)
        if not name.startswith("__"):
            deprecated(f"{former}.{name}", f"{present}.{name}")
        return found

    return attribute
