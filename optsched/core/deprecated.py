"""Deprecated names: they work for at least one release, with a DeprecationWarning that names the new one."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_CORE = ["deadline", "errors", "instance", "network", "placement", "registry", "resources", "results"]
_JOINED = {"by_id": "arrays", "fronts": "results", "schedule": "placement"}
_MEASURING = ["decomposing", "explaining", "gaps", "matrix", "mining", "printing", "studies"]
_MEASURING += ["pytest_plugin", "sweeping", "timelines"]

#: Former modules, and where their names are now. Modules inside a former package are inside the present one.
FORMER = {
    **{f"optsched.{name}": f"optsched.core.{name}" for name in _CORE},
    **{f"optsched.{name}": f"optsched.measuring.{name}" for name in _MEASURING},
    **{f"optsched.{name}": f"optsched.core.{present}" for name, present in _JOINED.items()},
    "optsched.doubts": "optsched.routes.doubts",
    "optsched.drawing": "optsched.showing",
    "optsched.drawing.chains": "optsched.showing.explained",
    "optsched.drawing.decompositions": "optsched.showing.explained",
    "optsched.drawing.gantt": "optsched.showing.runs",
    "optsched.explaining.waiting": "optsched.measuring.explaining.schedules",
    "optsched.heuristics.p_min": "optsched.heuristics.probabilistic",
    "optsched.heuristics.ras_enforcement": "optsched.heuristics.ras",
    "optsched.instances.distances": "optsched.instances.frames",
    "optsched.instances.frontier_files": "optsched.instances.claim_files",
    "optsched.instances.schedule_files": "optsched.instances.claim_files",
    "optsched.instances.solution_files": "optsched.instances.claim_files",
    "optsched.instances.table_files": "optsched.instances.frames",
    "optsched.measuring.judging.kept": "optsched.measuring.judging.findings",
    "optsched.models.starts": "optsched.models.base",
    "optsched.processes": "optsched.core.processes",
    "optsched.problems.shuffle_sizes": "optsched.problems.transmission_costs",
    "optsched.regrets": "optsched.measuring.timelines",
    "optsched.reporting": "optsched.showing",
    "optsched.running": "optsched.heuristics.running",
    "optsched.running.service": "optsched.heuristics.running.course",
    "optsched.searches": "optsched.solvers.searches",
    "optsched.simulating": "optsched.heuristics.simulating",
    "optsched.simulating.following": "optsched.heuristics.simulating.every_round",
    "optsched.simulating.transfer": "optsched.heuristics.simulating.services",
    "optsched.tuning": "optsched.heuristics.probabilistic",
}


def deprecated(former: str, present: str, stacklevel: int = 2) -> None:
    """Warn that a name will be removed, and name its replacement; `stacklevel` as for `warnings.warn`."""
    message = f"{former} is deprecated and will go in a later release: use {present}"
    warnings.warn(message, DeprecationWarning, stacklevel=stacklevel + 1)


def former_names(module: str, **present: str) -> Callable[[str], object]:
    """A module's `__getattr__` for names that moved, such as `Cell="optsched.measuring.records:Run"`."""

    def attribute(name: str) -> object:
        if name not in present:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        where, _, called = present[name].partition(":")
        deprecated(f"{module}.{name}", f"{where}.{called}")
        found: object = getattr(import_module(where), called)
        return found

    return attribute


class Renamed:
    """A former name of an attribute, such as `told = Renamed("details")`: it returns the present one, and warns."""

    def __init__(self, present: str) -> None:
        self._present = present

    def __set_name__(self, owner: type, name: str) -> None:
        self._names = f"{owner.__name__}.{name}", f"{owner.__name__}.{self._present}"

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        if instance is None:
            return self
        deprecated(*self._names)
        return getattr(instance, self._present)


def take_former(kind: type, former: str, present: str) -> None:
    """If a subclass of an ABC defines a member under its former name, define it under the present one too."""
    own = vars(kind).get(former)
    if own is not None and not isinstance(own, Renamed):
        deprecated(f"{kind.__name__}.{former}", f"{kind.__name__}.{present}", stacklevel=4)
        setattr(kind, present, own)


def present_module(former: str) -> str | None:
    """Where the names of a former module are now; None if it is no former module.

    >>> present_module("optsched.studies.tables")
    'optsched.measuring.studies.tables'
    """
    package, inside = former, ""
    while package and package not in FORMER:
        package, _, name = package.rpartition(".")
        inside = f".{name}{inside}"
    return FORMER[package] + inside if package else None


def _present_name(former: str, name: str) -> str:
    """The present name of a former module's name: files of claims had a function for each kind of claim."""
    noun = former.rpartition(".")[2].removesuffix("_files")
    if not former.startswith("optsched.instances.") or noun not in ("solution", "frontier", "schedule"):
        return name
    renamed = {f"{noun}_{kind}": f"claim_{kind}" for kind in ("document", "content")}
    return {**renamed, f"write_{noun}": "write_claim", f"parse_{noun}": "parse_claim"}.get(name, name)


#: Packages that look names up without using them: `from` checks that one exists, pytest lists all of a plugin.
_ASKING = ("importlib", "_pytest", "pluggy")


class _FormerModules:
    """Finds former modules. Each has the names of the present module, and warns when one is used."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if not name.startswith("optsched.") or present_module(name) is None:
            return None
        return ModuleSpec(name, _FormerModules, is_package=True)  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType | None:
        import_module(str(present_module(spec.name)))  # a package may lack such a module
        return None

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        former = module.__name__
        present = str(present_module(former))
        now = import_module(present)

        def attribute(name: str) -> object:
            called = _present_name(former, name)
            found: object = getattr(now, called)
            asked = str(sys._getframe(1).f_globals.get("__name__"))
            if not name.startswith("__") and asked.partition(".")[0] not in _ASKING:
                deprecated(f"{former}.{name}", f"{present}.{called}")
            return found

        module.__getattr__ = attribute  # type: ignore[method-assign]
        module.__dir__ = lambda: dir(now)  # type: ignore[method-assign]
        module.__doc__ = now.__doc__
        # pytest looks for hooks without asking `__getattr__`.
        vars(module).update({name: value for name, value in vars(now).items() if name.startswith("pytest_")})


def find_former_modules() -> None:
    """Let `import` find former modules, after all present ones."""
    if _FormerModules not in sys.meta_path:
        sys.meta_path.append(_FormerModules)
