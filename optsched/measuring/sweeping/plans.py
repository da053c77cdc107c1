"""What a sweep is to compute: every run with its key, and the optima that the runs share."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from optsched.core.errors import InputError, UsageError
from optsched.core.instance import Instance
from optsched.heuristics import AnyHeuristic
from optsched.measuring.studies.choices import Choice, Group, Source, groups_of, seeds_of
from optsched.measuring.studies.runs import plan
from optsched.measuring.sweeping.keys import canonical, optimum_key, run_key
from optsched.problems.base import TaskProblem
from optsched.solvers.profiles import AnyProfile, Profile, load_profile

__all__ = ["Planned", "Plan", "Posed", "planned"]

Parameters = Mapping[str, Any]

#: What SQLite holds as a whole number.
LARGEST_SEED = 2**63 - 1


@dataclass(frozen=True)
class Posed:
    """A problem whose optimum runs share.

    Attributes
    ----------
    key
        Of the optimum.
    problem
        As it is posed.
    profile
        By which it is solved.
    """

    key: str
    problem: TaskProblem[Any]
    profile: Profile


@dataclass(frozen=True)
class Planned:
    """A run that was asked for.

    Attributes
    ----------
    key
        By which its result is found; several that are asked for may have one result.
    posed
        The problem.
    choice, seed
        The heuristic and its seed.
    group, instance
        The instances with which its instance is counted, and what that is called here: an instance of the same content
        may bear another name.
    variant
        Which of the parameters it has, where there are several to choose from: `w_rem=5`; else empty.
    """

    key: str
    posed: Posed
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
    def told(self) -> str:
        """What runs, in a few words."""
        problem = self.posed.problem
        variant = f" {self.variant}" if self.variant else ""
        return f"{self.instance}, {problem.name}{variant}, {self.choice.label}, seed {self.seed}"


@dataclass(frozen=True)
class Plan:
    """The runs of a sweep, in the order in which they were asked for."""

    runs: tuple[Planned, ...]

    @cached_property
    def unique(self) -> dict[str, Planned]:
        """The first run of each key: what is to be computed."""
        found: dict[str, Planned] = {}
        for run in self.runs:
            found.setdefault(run.key, run)
        return found

    @cached_property
    def digest(self) -> str:
        """The same for plans that ask for the same runs under the same names."""
        rows = [(run.key, *run.called) for run in self.runs]
        return hashlib.sha256(canonical(rows).encode()).hexdigest()

    def __add__(self, other: Plan) -> Plan:
        return Plan((*self.runs, *other.runs))

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
    refused: Callable[[Instance, str, InputError], None] = lambda instance, name, error: None,
) -> Plan:
    """The runs of instances x problems x heuristics x seeds x parameters; every fault is found here.

    Parameters
    ----------
    instances, problems, heuristics, seeds
        As for `optsched.study`.
    parameters
        Of the problems, as for `optsched.study`; or several such, each of which is tried.
    profile
        As for `optsched.study`.
    refused
        Told of problems that were not asked for by name and cannot be posed.

    Raises
    ------
    UsageError
        For what does not exist or does not go together, and for a heuristic that other processes cannot import.
    InputError
        For instances that are wrong or lack a field.

    Examples
    --------
    >>> variants = [{"w_rem": 3}, {"w_rem": 5}]
    >>> plan = planned("papers/guo-fig2", "latency", ["labl", "round-robin"], 3, parameters=variants)
    >>> len(plan), len({run.posed.key for run in plan.runs}), plan.runs[-1].told
    (12, 2, 'guo-fig2, latency w_rem=5, round-robin, seed 2')
    """
    variants = [parameters] if isinstance(parameters, Mapping) else list(parameters) or [{}]
    groups, drawn, loaded = groups_of(instances), seeds_of(seeds), load_profile(profile)
    if max(drawn) > LARGEST_SEED:
        raise UsageError(f"seed {max(drawn)}: a store takes whole numbers up to {LARGEST_SEED}")
    found: dict[tuple[str, ...], Planned] = {}
    known: dict[str, Posed] = {}
    faults: dict[str, None] = {}
    for values in variants:
        runs = _of_variant(groups, problems, heuristics, drawn, values, len(variants) > 1, loaded, known, refused)
        try:
            for run in runs:
                # A problem that has none of the parameters that vary is the same in all variants.
                found.setdefault((run.key, *run.called), run)
        except UsageError as error:
            faults.update(dict.fromkeys(str(error).split("\n")))
    if faults:
        raise UsageError(*faults)
    return Plan(tuple(found.values()))


def _of_variant(
    groups: Sequence[Group],
    problems: str | Sequence[str],
    heuristics: AnyHeuristic | Sequence[AnyHeuristic | Choice],
    seeds: Sequence[int],
    values: Parameters,
    several: bool,
    profile: Profile,
    known: dict[str, Posed],
    refused: Callable[[Instance, str, InputError], None],
) -> Iterable[Planned]:
    """The runs with one choice of parameters; `known` are the problems of all choices by now."""
    for part in plan(groups, problems, heuristics, values, refused=refused):
        variant = _told(part.problem, values) if several else ""
        key = optimum_key(part.problem, profile)
        posed = known.setdefault(key, Posed(key, part.problem, profile))
        for choice in part.choices:
            for seed in seeds:
                name = part.problem.instance.name
                yield Planned(run_key(key, choice, seed), posed, choice, seed, part.group, name, variant)


def _told(problem: TaskProblem[Any], values: Parameters) -> str:
    """Those of the parameters that a problem has, in a few words."""
    of_one = values.get(problem.name)
    own = of_one if isinstance(of_one, Mapping) else {}
    known = {entry.name for entry in problem.parameter_table}
    return " ".join(f"{name}={_word(value)}" for name, value in {**values, **own}.items() if name in known)


def _word(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
