"""The source of a heuristic, as a digest: by it an edited heuristic is told from the one that ran before.

It covers the text of the module that defines the heuristic, and of each module that this one imports, and so on, as
long as these are the user's own: not of Python, not of an installed distribution (whose version counts instead), not
the rest of this package (whose version is in the key of a run by itself). Imports are read from the text, those within
functions too. What is imported by a computed name, and files that a heuristic reads, are not covered.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sys
import sysconfig
from collections.abc import Iterator
from functools import lru_cache
from importlib.machinery import ModuleSpec
from pathlib import Path

from optsched.errors import UsageError
from optsched.heuristics import HEURISTICS, Heuristic, heuristic

__all__ = ["digest_of", "look_anew", "named", "source_digest"]

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
