"""Solver profiles (TOML): effort, time limit, gap and other limits of a solver.

The shipped ones are in the top-level folder `solvers`. `Profile.options` translates a profile for HiGHS;
`optsched.solvers.highs` sets these options.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from optsched.core.errors import Fault, InputError, UsageError, expect, nearest
from optsched.core.kinds import PROFILE, expected, read_toml
from optsched.core.resources import folder

__all__ = ["AnyProfile", "Profile", "load_profile", "profile_names"]

#: HiGHS options that a profile sets itself, and the key to use instead of naming them under `highs`.
_RESERVED = {
    "time_limit": "time_limit",
    "mip_max_nodes": "node_limit",
    "mip_rel_gap": "relative_gap",
    "mip_abs_gap": "absolute_gap",
    "threads": "threads",
    "random_seed": "random_seed",
    "log_to_console": "highs.log_file",
}

#: HiGHS counts nodes, threads and seeds in 32 bits.
_INT_MAX = 2**31 - 1


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0


def _count(value: Any, least: int = 0) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= _INT_MAX


#: For each key: what it must be, in words, and a test of a value.
_RULES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "name": ("a string", lambda value: isinstance(value, str)),
    "description": ("a string", lambda value: isinstance(value, str)),
    "time_limit": ("a number of seconds, at least 0", lambda value: value is None or _number(value)),
    "node_limit": ("an integer from 0 to 2^31 - 1", lambda value: value is None or _count(value)),
    "relative_gap": ("a finite number, at least 0", _number),
    "absolute_gap": ("a finite number, at least 0", _number),
    "threads": ("an integer from 1 to 2^31 - 1", lambda value: _count(value, 1)),
    "random_seed": ("an integer from 0 to 2^31 - 1", _count),
    "highs": ("a table of HiGHS options", lambda value: isinstance(value, Mapping)),
}


def _faults(values: Mapping[str, Any]) -> list[Fault]:
    """Everything wrong with the values of a profile, except the options under `highs`, which only HiGHS can judge."""
    faults = [
        Fault(key, f"{values[key]!r} is not {words}")
        for key, (words, right) in _RULES.items()
        if key in values and not right(values[key])
    ]
    options = values.get("highs")
    if isinstance(options, Mapping):
        faults += [
            Fault(f"highs.{option}", f"is set by the profile itself: use {key}")
            for option, key in _RESERVED.items()
            if option in options
        ]
    return faults


@dataclass(frozen=True, slots=True)
class Profile:
    """How much effort a solver makes and when it may stop.

    Parameters
    ----------
    name, description
        Its name, and one line about it.
    time_limit
        Seconds, or None. HiGHS checks the clock only between its steps and can overshoot several times.
    node_limit
        Branch-and-bound nodes, or None. Unlike with a time limit, every run gives the same result.
    relative_gap, absolute_gap
        The solver may stop at this gap; the result is then FEASIBLE with limit GAP, never OPTIMAL.
    threads, random_seed
        Threads and random seed of the solver.
    highs
        Further options of HiGHS, by its own names and types.

    Raises
    ------
    UsageError
        If a value has the wrong type or range, or `highs` names an option that the profile itself sets.

    Examples
    --------
    >>> profile = Profile("exact").with_limits(time_limit=60.0)
    >>> profile.time_limit, profile.options["mip_rel_gap"]
    (60.0, 0.0)
    """

    name: str
    description: str = ""
    time_limit: float | None = None
    node_limit: int | None = None
    relative_gap: float = 0.0
    absolute_gap: float = 0.0
    threads: int = 1
    random_seed: int = 0
    highs: Mapping[str, bool | int | float | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        faults = _faults({key: getattr(self, key) for key in _RULES})
        if faults:
            raise UsageError("; ".join(f"profile {fault}" for fault in faults))

    @property
    def options(self) -> dict[str, bool | int | float | str]:
        """The HiGHS options of this profile."""
        options: dict[str, bool | int | float | str] = {
            "log_to_console": False,
            "solver": "simplex",  # for the duals of a basis; `highs` may name another
            "threads": self.threads,
            "random_seed": self.random_seed,
            "mip_rel_gap": float(self.relative_gap),
            "mip_abs_gap": float(self.absolute_gap),
        }
        if self.time_limit is not None:
            options["time_limit"] = float(self.time_limit)
        if self.node_limit is not None:
            options["mip_max_nodes"] = self.node_limit
        return options | dict(self.highs)

    def with_limits(self, *, time_limit: float | None = None, node_limit: int | None = None) -> Profile:
        """The same profile with other limits; None keeps the profile's own."""
        limits = {"time_limit": time_limit, "node_limit": node_limit}
        return dataclasses.replace(self, **{key: value for key, value in limits.items() if value is not None})  # type: ignore[arg-type]

    def since(self, began: float) -> Profile:
        """The same profile with the time that is left since `began` (`time.perf_counter()`), for the next solve.

        >>> Profile("short", time_limit=3).since(time.perf_counter() - 60).time_limit
        0.0
        """
        if self.time_limit is None:
            return self
        return self.with_limits(time_limit=max(0.0, self.time_limit - (time.perf_counter() - began)))


#: A profile: the name of a shipped one, a TOML file, or a `Profile`.
AnyProfile = str | Path | Profile


def profile_names() -> list[str]:
    """Names of the shipped profiles, in order.

    >>> "exact" in profile_names()
    True
    """
    return sorted(path.stem for path in folder("solvers").glob("*.toml"))


def load_profile(name: AnyProfile, time_limit: float | None = None) -> Profile:
    """Read a shipped profile by its name, or a user's own by its path; a `Profile` is returned as it is.

    Parameters
    ----------
    name
        One of `profile_names()`, the path of a file that ends in `.toml`, or a `Profile`.
    time_limit
        Seconds that replace the profile's own; None keeps these.

    Raises
    ------
    UsageError
        If no shipped profile has this name, and there is no such file.
    InputError
        If the file is missing or not TOML, has an unknown key or a wrong value, or names an option or value that
        HiGHS does not know; lists every fault.

    Examples
    --------
    >>> load_profile("ci").node_limit
    2000
    """
    expect(name, (str, Path, Profile), "a profile is a name, a path or a Profile")
    return (name if isinstance(name, Profile) else _loaded(name)).with_limits(time_limit=time_limit)


def _loaded(name: str | Path) -> Profile:
    path = Path(name)
    if path.suffix != ".toml" and (not path.is_file() or str(name) in profile_names()):
        return _shipped(str(name))
    with expected(path, PROFILE, [PROFILE]):
        return _read(path)


@cache
def _shipped(name: str) -> Profile:
    """The shipped profile of a name, read only once: reading it takes longer than solving a small instance."""
    if name not in profile_names():
        raise UsageError(f'no solver profile "{name}": {nearest(name, profile_names())}')
    return _read(folder("solvers") / f"{name}.toml")


def _read(path: Path) -> Profile:
    """The profile in a file."""
    _, values = read_toml(path)
    keys = [key for key in _RULES if key != "name"]
    faults = [Fault(key, f"unknown key: {nearest(key, keys)}") for key in values if key not in keys] + _faults(values)
    options = values.get("highs")
    if options and isinstance(options, Mapping):
        from optsched.solvers.options import option_faults  # importing HiGHS takes a tenth of a second

        own = {name: value for name, value in options.items() if name not in _RESERVED}
        faults += [Fault(f"highs.{fault.place}", fault.message) for fault in option_faults(own)]
    if faults:
        raise InputError(faults, str(path))
    return Profile(name=path.stem, **values)
