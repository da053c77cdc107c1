"""Names that will go: they work for at least one release, with a DeprecationWarning that says what to use instead."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

__all__ = ["FORMER", "deprecated", "find_former_modules"]

_CLAIMS, _FRAMES = "optsched.instances.claim_files", "optsched.instances.frames"

#: Modules that there are no more: where their names are now, and which of these names are others.
FORMER: dict[str, tuple[str, dict[str, str]]] = {
    "optsched.measuring.explaining.waiting": ("optsched.measuring.explaining.schedules", {}),
    "optsched.heuristics.p_min": ("optsched.heuristics.tuning", {}),
    "optsched.running.service": ("optsched.running.course", {}),
    "optsched.simulating.following": ("optsched.simulating.every_round", {}),
    "optsched.instances.distances": (_FRAMES, {}),
    "optsched.instances.table_files": (_FRAMES, {}),
    **{
        f"optsched.instances.{noun}_files": (
            _CLAIMS,
            {
                f"{noun}_document": "claim_document",
                f"{noun}_content": "claim_content",
                f"write_{noun}": "write_claim",
                f"parse_{noun}": "parse_claim",
            },
        )
        for noun in ("solution", "frontier", "schedule")
    },
}


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


class _FormerModules:
    """Finds the modules of `FORMER`, whose names are those of the present modules, with a warning."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        return ModuleSpec(name, _FormerModules) if name in FORMER else None  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType | None:
        return None

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        former = module.__name__
        present, renamed = FORMER[former]

        def attribute(name: str) -> object:
            called = renamed.get(name, name)
            found: object = getattr(import_module(present), called)
            if not name.startswith("__"):
                deprecated(f"{former}.{name}", f"{present}.{called}")
            return found

        module.__getattr__ = attribute  # type: ignore[method-assign]


def find_former_modules() -> None:
    """Let `import` find the modules of `FORMER`, after all that there are."""
    if _FormerModules not in sys.meta_path:
        sys.meta_path.append(_FormerModules)
