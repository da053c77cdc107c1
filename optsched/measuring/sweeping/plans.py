"""Plans a sweep: every run with its key, and the optima that runs share; also from a file (TOML).

The key finds a result again; any input that would change the result changes the key.

An optimum's key covers the content of the instance (without names), the problem with all its parameters, the solver
profile, and the version of this package. A run's key covers the optimum's key, the heuristic with all its parameters
and its source, and the seed.

The source of a heuristic is a digest: it distinguishes an edited heuristic from the one that ran. It covers the text of
the module that defines the heuristic, and of each module that this one imports, and so on, as long as these are the
user's own: not Python's, not an installed distribution's (whose version counts instead), not this package's (whose
version is in the key of a run by itself). Imports are read from the text, including those within functions. Modules
that are imported by a computed name, and files that a heuristic reads, are not covered.

Limits on time and memory are in no key: a run that finished within its limits gives the same result under other limits.
A stopped run is kept as stopped, and is computed again on request.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache, partial
from importlib.machinery import ModuleSpec
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

from optsched.core.brief import as_argument
from optsched.core.errors import Fault, InputError, UsageError
from optsched.core.kinds import SWEEP, read_toml
from optsched.core.resources import code_version
from optsched.heuristics import HEURISTICS, AnyHeuristic, Heuristic, heuristic
from optsched.heuristics.running.run import TIMING
from optsched.measuring.printing import canonical
from optsched.measuring.studies.choices import (
    MEASURED,
    AboveZero,
    AtLeastZero,
    Choice,
    Rule,
    Source,
    Text,
    groups_of,
    seeds_of,
    tables_of,
)
from optsched.measuring.studies.runs import Refused, not_noted, plan
from optsched.problems.base import TaskProblem
from optsched.problems.parameters import resolve
from optsched.solvers.profiles import AnyProfile, Profile, load_profile

#: This package, whose version has the digest of all its modules.
_OURS = __name__.partition(".")[0]


def named(entry: Heuristic) -> str:
    """The name by which another process finds a heuristic: a listed one, or `package.module:function`.

    UsageError if no name leads to it, as for a lambda, a function within a function, or one that was typed into a
    notebook.

    >>> from optsched.heuristics.lsap_sched import HEURISTICS
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
    """The digest (hexadecimal) of the source of a heuristic of a name (`named`); empty for one of this package.

    It covers the files on disk. A process reads them once for each sweep.

    UsageError if there is no such heuristic.
    """
    defined = getattr(_callable(heuristic(name)), "__module__", None) or ""
    return digest_of(name.partition(":")[0] if ":" in name else defined)


def look_anew() -> None:
    """Read all sources again: in a notebook they may be edited between two sweeps."""
    importlib.invalidate_caches()
    digest_of.cache_clear()


@lru_cache(maxsize=256)
def digest_of(module: str) -> str:
    """The digest of a module's text and of what it needs (see the head of this module); empty in this package."""
    if module.partition(".")[0] == _OURS:
        return ""
    parts = sorted(set(_parts(module)))
    return hashlib.sha256("\n".join(f"{what} {text}" for what, text in parts).encode()).hexdigest()


def _parts(first: str) -> Iterator[tuple[str, str]]:
    """Each module that counts with the digest of its text, and each distribution with its version."""
    waiting, seen = [first], {first}
    while waiting:
        module = waiting.pop()
        package = module.partition(".")[0]
        if package in sys.stdlib_module_names or package == _OURS:
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
    """Where a module is found; None if the name is no module's or its package fails."""
    loaded = sys.modules.get(module)
    if loaded is not None and loaded.__spec__ is not None:
        return loaded.__spec__
    try:
        return importlib.util.find_spec(module)
    except Exception:  # the text of the packages above it may raise anything
        return None


def _imports(data: bytes, module: str, is_package: bool) -> Iterator[str]:
    """The modules that a text may import: also each name that is imported from another, and every package above."""
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


#: The folders of Python's own modules and of installed distributions.
_PATHS = {name: Path(path).resolve() for name, path in sysconfig.get_paths().items()}


def _installed(spec: ModuleSpec | None) -> bool:
    origin = Path(spec.origin).resolve() if spec is not None and spec.origin else None
    return origin is not None and any(origin.is_relative_to(_PATHS[name]) for name in ("purelib", "platlib"))


@lru_cache(maxsize=256)
def _versions(package: str) -> tuple[tuple[str, str], ...]:
    """The distributions that contain a package, each with its version."""
    from importlib.metadata import PackageNotFoundError, packages_distributions, version

    try:
        return ((package, version(package)),)
    except PackageNotFoundError:  # its distribution has another name: all must be searched
        names = packages_distributions().get(package, ())
        return tuple((name, version(name)) for name in sorted(set(names)))


#: The options of a profile that change no result, unless the solve is stopped.
_NO_PART = ("name", "description", "time_limit")


def key_of(kind: str, *covered: Any) -> str:
    """The key of an `optimum` or a `run` from everything that it covers.

    For an optimum these are the version, the hash of the instance, the problem, its source and parameters, and the
    relevant part of the profile; for a run the key of the optimum, the heuristic, its source and parameters, and the
    seed.
    """
    return hashlib.sha256(canonical((kind, *covered)).encode()).hexdigest()


def solver_options(profile: Profile) -> dict[str, Any]:
    """The options of a profile that a result may depend on.

    >>> from optsched.solvers.profiles import load_profile
    >>> solver_options(load_profile("ci"))["node_limit"]
    2000
    """
    return {part.name: getattr(profile, part.name) for part in fields(profile) if part.name not in _NO_PART}


def problem_source(problem: TaskProblem[Any]) -> str:
    """The digest of the source of another package's problem; empty for those of this package."""
    return digest_of(type(problem).__module__)


def optimum_key(problem: TaskProblem[Any], profile: Profile) -> str:
    """The key of the optimum of a posed problem."""
    posed = problem.instance.sha256, problem.name, problem_source(problem), dict(problem.parameters)
    return key_of("optimum", code_version(), *posed, solver_options(profile))


def heuristic_parameters(choice: Choice) -> dict[str, Any]:
    """The values of a heuristic's parameters in force; for a user's own, the given ones.

    >>> from optsched.measuring.studies.choices import chosen
    >>> heuristic_parameters(chosen("dl"))
    {'reading': 'sweep', 'ties': 'random'}
    """
    given = dict(choice.parameters)
    if choice.entry.parameters is None:
        return given
    own = {parameter.name for parameter in choice.entry.parameters}
    others = {name: given.pop(name) for name in ("max_idle_rounds", *TIMING) if name in given and name not in own}
    return {**resolve(choice.entry.name, choice.entry.parameters, given), **others}


def run_key(optimum: str, choice: Choice, seed: int) -> str:
    """The key of a run of a heuristic on the problem whose optimum has the key `optimum`.

    UsageError if no name leads to the heuristic.
    """
    name = named(choice.entry)
    return key_of("run", optimum, name, source_digest(name), heuristic_parameters(choice), seed)


Parameters = Mapping[str, Any]


# What is to be computed --------------------------------------------------------------------------------------------


#: The largest whole number that SQLite holds.
LARGEST_SEED = 2**63 - 1


@dataclass(frozen=True)
class PosedProblem:
    """A posed problem whose optimum runs share: with the optimum's key, and the profile by which it is solved."""

    key: str
    problem: TaskProblem[Any]
    profile: Profile


@dataclass(frozen=True)
class PlannedRun:
    """A run that was asked for.

    Several may have one `key`, and so one result. `instance` is the instance's name here: one of the same content may
    have another name. `variant` says which of several parameters it has (`w_rem=5`).
    """

    key: str
    posed: PosedProblem
    choice: Choice
    seed: int
    group: str
    instance: str
    variant: str

    @property
    def called(self) -> tuple[str, str, str, str]:
        """Its names: of group, instance, heuristic and variant."""
        return self.group, self.instance, self.choice.label, self.variant

    @property
    def label(self) -> str:
        """What runs, in a few words."""
        problem = self.posed.problem
        variant = f" {self.variant}" if self.variant else ""
        return f"{self.instance}, {problem.name}{variant}, {self.choice.label}, seed {self.seed}"


@dataclass(frozen=True)
class Plan:
    """The runs of a sweep, in the order in which they were asked for."""

    runs: tuple[PlannedRun, ...]

    @cached_property
    def unique(self) -> dict[str, PlannedRun]:
        """The first run of each key, which is computed."""
        found: dict[str, PlannedRun] = {}
        for run in self.runs:
            found.setdefault(run.key, run)
        return found

    @cached_property
    def digest(self) -> str:
        """A digest, the same for plans with the same runs under the same names."""
        rows = [(run.key, *run.called) for run in self.runs]
        return hashlib.sha256(canonical(rows).encode()).hexdigest()

    def __len__(self) -> int:
        return len(self.runs)


def planned(
    instances: Source | Iterable[Source],
    problems: str | Sequence[str] = (),
    heuristics: AnyHeuristic | Sequence[AnyHeuristic | Choice] = (),
    seeds: int | str | Iterable[int] = 1,
    *,
    parameters: Parameters | Sequence[Parameters] = (),
    profile: AnyProfile = "exact",
    refused: Refused = not_noted,
) -> Plan:
    """The runs of instances x problems x heuristics x seeds x parameters; every fault is found here.

    `instances`, `problems`, `heuristics`, `seeds`, `profile`: as for `optsched.study`. `parameters`: those of the
    problems, as for `optsched.study`; or several of these, each of which is tried. `refused`: called with problems that
    were not asked for by name and cannot be posed. UsageError for what does not exist or does not go together, and for
    a heuristic that other processes cannot import. InputError for instances that are wrong or lack a field.

    >>> variants = [{"w_rem": 3}, {"w_rem": 5}]
    >>> plan = planned("papers/guo-fig2", "latency", ["labl", "round-robin"], 3, parameters=variants)
    >>> len(plan), len({run.posed.key for run in plan.runs}), plan.runs[-1].label
    (12, 2, 'guo-fig2, latency w_rem=5, round-robin, seed 2')
    """
    several = isinstance(parameters, Iterable) and not isinstance(parameters, str | Mapping)
    variants: list[Any] = list(parameters) or [{}] if several else [parameters]
    groups, drawn, loaded = groups_of(instances), seeds_of(seeds), load_profile(profile)
    if max(drawn) > LARGEST_SEED:
        raise UsageError(f"seed {max(drawn)}: a store takes whole numbers up to {LARGEST_SEED}")
    found: dict[tuple[str, ...], PlannedRun] = {}
    known: dict[str, PosedProblem] = {}
    faults: dict[str, None] = {}
    for values in variants:
        try:
            for work in plan(groups, problems, heuristics, values, refused=refused):
                problem, key = work.problem, optimum_key(work.problem, loaded)
                variant = _variant_text(problem, values) if len(variants) > 1 else ""
                posed = known.setdefault(key, PosedProblem(key, problem, loaded))
                for choice, seed in product(work.choices, drawn):
                    names = work.group, problem.instance.name, variant
                    run = PlannedRun(run_key(key, choice, seed), posed, choice, seed, *names)
                    # A problem without any of the varied parameters is the same in all variants.
                    found.setdefault((run.key, *run.called), run)
        except UsageError as error:
            faults.update(dict.fromkeys(error.lines))
    if faults:
        raise UsageError(*faults)
    return Plan(tuple(found.values()))


def _variant_text(problem: TaskProblem[Any], values: Parameters) -> str:
    """The problem's own parameters among `values`, in a few words."""
    of_one = values.get(problem.name)
    own = of_one if isinstance(of_one, Mapping) else {}
    known = {entry.name for entry in problem.parameter_table}
    return " ".join(f"{name}={as_argument(value)}" for name, value in {**values, **own}.items() if name in known)


# The file of a sweep -----------------------------------------------------------------------------------------------


#: The most keys of a file.
_Count = Annotated[int, Meta(gt=0)]

#: The keys of each part: what is measured.
_PART: dict[str, Rule] = {
    **{key: rule for key, rule in MEASURED.items() if key != "time_limit"},
    "parameters": Rule(
        "a table such as {levels = [0, 1, 2]}, or a list of them; each is tried", dict[str, Any] | list[dict[str, Any]]
    ),
}

#: The keys of the whole sweep: where to, how and within which limits.
_WHOLE: dict[str, Rule] = {
    "store": Rule('the path of a file, such as "sweep.sqlite"', Text),
    "time_limit": Rule('a number of seconds, at least 0, or "none"', AtLeastZero | Literal["none"]),
    "run_limit": Rule("a number of seconds above 0", AboveZero),
    "memory_limit": Rule("a whole number of MiB", _Count),
    "jobs": Rule("a whole number of processes", _Count),
    "dask": Rule("the address of a scheduler, such as tcp://host:8786", Text),
}


class SweepFile:
    """A file of a sweep. Its relative paths and modules start from the current folder.

    `path`: the file's name in messages. `options`: the settings of the whole: `store`, `time_limit`, `run_limit`,
    `memory_limit`, `jobs`, `dask`. InputError if it cannot be read, is no TOML, or has an unknown key or value; lists
    every fault.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        _, document = read_toml(path, SWEEP)
        faults: list[Fault] = []
        values, self._parts = tables_of(document, "part", _PART, {**_PART, **_WHOLE}, faults)
        self.options = {key: values[key] for key in _WHOLE if key in values}
        if faults:
            raise InputError(faults, self.path)

    def planned(
        self,
        refused: Refused = not_noted,
        limited: Callable[[str | None], AnyProfile] = lambda name: name or "exact",
    ) -> Plan:
        """The runs of all parts.

        `refused`: as for `planned`. `limited`: the profile, with its time limit, by the name in a part, if any.
        InputError with everything that is wrong with what the file names.
        """
        faults: list[Fault] = []
        runs: list[PlannedRun] = []
        for looking in self._parts:
            looking.faults = []
            choices, problems, groups = looking.choices(), looking.problems(), looking.groups()
            sound = looking.sound(_PART)
            if not looking.faults:
                planned_on = partial(
                    planned,
                    problems=problems,
                    heuristics=choices,
                    seeds=sound.get("seeds", 1),
                    parameters=sound.get("parameters", {}),
                    profile=limited(sound.get("profile")),
                    refused=refused,
                )
                for part in looking.one(looking.place, planned_on, groups):
                    runs += part.runs
            faults += looking.faults
        if faults:
            raise InputError(dict.fromkeys(faults), self.path)
        return Plan(tuple(runs))
