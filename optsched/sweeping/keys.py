"""Keys: by them what was computed is found again, and whatever would change a result changes them.

An optimum's key covers the content of the instance (no name of it), the problem with all its parameters, the solver
profile, and the version of this package. A run's covers the optimum's key, the heuristic with all its parameters and
its source, and the seed.

Limits on time and memory are in no key: what ended within them would have ended the same within others. What they cut
short is kept as cut short, and is computed again where that is asked for.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from optsched.fingerprint import code_version
from optsched.problems.base import TaskProblem, resolve
from optsched.running.run import TIMING
from optsched.solvers.profiles import Profile
from optsched.studies.choices import Choice
from optsched.sweeping.sources import digest_of, named, source_digest

__all__ = [
    "canonical",
    "heuristic_parameters",
    "optimum_digest",
    "optimum_key",
    "problem_source",
    "run_digest",
    "run_key",
    "solver_options",
]

#: What of a profile changes no result, but where it is cut short.
_NO_PART = ("name", "description", "time_limit")


def canonical(value: Any) -> str:
    """A value as JSON that is the same for the same content.

    >>> canonical({"b": (1, 2), "a": 0.5})
    '{"a":0.5,"b":[1,2]}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=_plain)


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else str(value)


def _digest(*parts: Any) -> str:
    return hashlib.sha256(canonical(parts).encode()).hexdigest()


def solver_options(profile: Profile) -> dict[str, Any]:
    """What of a profile a result may depend on.

    >>> from optsched.solvers.profiles import load_profile
    >>> solver_options(load_profile("ci"))["node_limit"]
    2000
    """
    return {part.name: getattr(profile, part.name) for part in fields(profile) if part.name not in _NO_PART}


def problem_source(problem: TaskProblem[Any]) -> str:
    """The digest of the source of a problem that a package of its own brings; empty for those of this package."""
    module = type(problem).__module__
    return "" if module.startswith("optsched.") else digest_of(module)


def optimum_digest(
    version: str, instance_sha256: str, problem: str, source: str, parameters: Mapping[str, Any], solver: Any
) -> str:
    """The key of an optimum from all that it covers."""
    return _digest("optimum", version, instance_sha256, problem, source, parameters, solver)


def run_digest(optimum: str, heuristic: str, source: str, parameters: Mapping[str, Any], seed: int) -> str:
    """The key of a run from all that it covers."""
    return _digest("run", optimum, heuristic, source, parameters, seed)


def optimum_key(problem: TaskProblem[Any], profile: Profile) -> str:
    """The key of the optimum of a problem as it is posed."""
    posed = problem.instance.sha256, problem.name, problem_source(problem), dict(problem.parameters)
    return optimum_digest(code_version(), *posed, solver_options(profile))


def heuristic_parameters(choice: Choice) -> dict[str, Any]:
    """The values of a heuristic's parameters that are in force: of a user's own, those that were given.

    >>> from optsched.studies.choices import chosen
    >>> heuristic_parameters(chosen("dl"))
    {'reading': 'sweep'}
    """
    given = dict(choice.parameters)
    if choice.entry.parameters is None:
        return given
    own = {parameter.name for parameter in choice.entry.parameters}
    others = {name: given.pop(name) for name in ("max_idle_rounds", *TIMING) if name in given and name not in own}
    return {**resolve(choice.entry.name, choice.entry.parameters, given), **others}


def run_key(optimum: str, choice: Choice, seed: int) -> str:
    """The key of a run of a heuristic on the problem whose optimum has the key `optimum`.

    Raises
    ------
    UsageError
        If no name leads to the heuristic.
    """
    name = named(choice.entry)
    return run_digest(optimum, name, source_digest(name), heuristic_parameters(choice), seed)
