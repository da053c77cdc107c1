"""Keys: by them what was computed is found again, and whatever would change a result changes them.

An optimum's key covers the content of the instance (no name of it), the problem with all its parameters, the solver
profile, and the version of this package. A run's covers the optimum's key, the heuristic with all its parameters and
its source, and the seed.

The source of a heuristic is a digest: by it an edited heuristic is told from the one that ran before. It covers the
text of the module that defines the heuristic, and of each module that this one imports, and so on, as long as these
are the user's own: not of Python, not of an installed distribution (whose version counts instead), not the rest of
this package (whose version is in the key of a run by itself). Imports are read from the text, those within functions
too. What is imported by a computed name, and files that a heuristic reads, are not covered.

Limits on time and memory are in no key: what ended within them would have ended the same within others. What they cut
short is kept as cut short, and is computed again where that is asked for.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import lru_cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from optsched.core.errors import UsageError
from optsched.core.fingerprint import code_version
from optsched.heuristics import HEURISTICS, Heuristic, heuristic
from optsched.measuring.studies.choices import Choice
from optsched.problems.base import TaskProblem, resolve
from optsched.running.run import TIMING
from optsched.solvers.profiles import Profile

__all__ = [
    "canonical",
    "digest_of",
    "heuristic_parameters",
    "look_anew",
    "named",
    "optimum_digest",
    "optimum_key",
    "problem_source",
    "run_digest",
    "run_key",
    "solver_options",
    "source_digest",
]

#: This package: of its modules only heuristics count by their text.
_OURS = __name__.partition(".")[0]
_HEURISTICS = f"{_OURS}.heuristics"


def named(entry: Heuristic) -> str:
    """The name by which another process finds a heuristic: that of the list, or `package.module:function`.

    Raises
    ------
    UsageError
        If no name leads to it, as to a lambda, a function within a function, or one that was typed into a notebook.

    Examples
    --------
    >>> from optsched.heuristics.dl import HEURISTICS
    >>> named(HEURISTICS[0])
    'dl'
    """
    if HEURISTICS.get(entry.name) is entry:
        return entry.name
    try:
        same = entry.name.partition(":")[0] != "__main__" and _callable(heuristic(entry.name)) is _callable(entry)
    except UsageError:
        same = False
    if not same:
        raise UsageError(
            f"heuristic {entry.name}: a sweep runs it in processes of their own, where no name leads to it; "
            "define it at the top of a module of yours, and give package.module:function"
        )
    return entry.name


def _callable(entry: Heuristic) -> object:
    return entry.policy or entry.batch


def source_digest(name: str) -> str:
    """The digest (hexadecimal) of a heuristic's source, as it lies on the disk; a process looks once for each sweep.

    Parameters
    ----------
    name
        From `named`.

    Raises
    ------
    UsageError
        If there is no such heuristic.

    Examples
    --------
    >>> source_digest("dl") == source_digest("rand") != source_digest("labl")  # dl and rand are of one module
    True
    """
    defined = getattr(_callable(heuristic(name)), "__module__", None) or ""
    return digest_of(name.partition(":")[0] if ":" in name else defined)


def look_anew() -> None:
    """Have all sources looked at again: in a notebook they are edited between two sweeps."""
    importlib.invalidate_caches()
    digest_of.cache_clear()


@lru_cache(maxsize=256)
def digest_of(module: str) -> str:
    """The digest of a module's text and of what it needs; see the head of this module."""
    parts = sorted(set(_parts(module)))
    return hashlib.sha256("\n".join(f"{what} {told}" for what, told in parts).encode()).hexdigest()


def _parts(first: str) -> Iterator[tuple[str, str]]:
    """Each of the modules that count with the digest of its text, and each distribution with its version."""
    waiting, seen = [first], {first}
    while waiting:
        module = waiting.pop()
        package = module.partition(".")[0]
        if package in sys.stdlib_module_names:
            continue
        if module != first and package == _OURS and not f"{module}.".startswith(f"{_HEURISTICS}."):
            continue
        # The package goes first: to find a module within it, Python would run its text.
        if package != first.partition(".")[0] and any(_installed(_spec(name)) for name in (package, module)):
            yield from _versions(package)
            continue
        spec = _spec(module)
        if spec is None or not spec.origin:
            continue
        path = Path(spec.origin)
        try:
            data = path.read_bytes()
        except OSError:
            continue
        yield module, hashlib.sha256(data).hexdigest()
        if path.suffix == ".py":
            for further in _imports(data, module, spec.submodule_search_locations is not None):
                if further not in seen:
                    seen.add(further)
                    waiting.append(further)


def _spec(module: str) -> ModuleSpec | None:
    """Where a module is found; None where there is none, as of a name that is no module, or its package fails."""
    loaded = sys.modules.get(module)
    if loaded is not None and loaded.__spec__ is not None:
        return loaded.__spec__
    try:
        return importlib.util.find_spec(module)
    except Exception:  # whatever the text of the packages above it raises
        return None


def _imports(data: bytes, module: str, is_package: bool) -> Iterator[str]:
    """The modules that a text may import: also each name that is taken from another, and every package above."""
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError):
        return
    package = module if is_package else module.rpartition(".")[0]
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        for name in names:
            parts = name.split(".")
            yield from (".".join(parts[: length + 1]) for length in range(len(parts)) if parts[0])


#: Where Python's own modules and installed distributions lie.
_PATHS = {name: Path(path).resolve() for name, path in sysconfig.get_paths().items()}


def _installed(spec: ModuleSpec | None) -> bool:
    if spec is None or not spec.origin:
        return False
    resolved = Path(spec.origin).resolve()
    return any(resolved.is_relative_to(_PATHS[name]) for name in ("purelib", "platlib"))


@lru_cache(maxsize=256)
def _versions(package: str) -> tuple[tuple[str, str], ...]:
    """The distributions that bring a package, each with its version."""
    from importlib.metadata import PackageNotFoundError, packages_distributions, version

    try:
        return ((package, version(package)),)
    except PackageNotFoundError:  # its distribution is called otherwise: all must be looked through
        names = packages_distributions().get(package, ())
        return tuple((name, version(name)) for name in sorted(set(names)))


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

    >>> from optsched.measuring.studies.choices import chosen
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
