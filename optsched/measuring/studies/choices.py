"""Parses what a study is about: heuristics with parameters, and instances by name, file, folder, pattern or family.

Arguments and command lines say it, or files (TOML) of checks and sweeps: the allowed values of their keys are here.
"""

from __future__ import annotations

import glob
import os
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from numbers import Integral
from operator import index
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar

import msgspec
from msgspec import Meta

from optsched.core.brief import as_argument, brief, counted
from optsched.core.errors import Fault, InputError, UsageError, described, nearest, printable
from optsched.core.instance import Instance
from optsched.heuristics import AnyHeuristic, Heuristic, heuristic
from optsched.heuristics.running.run import of_run, users_own
from optsched.instances.documents.storing import SUFFIXES
from optsched.instances.files import load
from optsched.instances.library import NETWORK, fitting
from optsched.problems import problem_class
from optsched.problems.parameters import resolve
from optsched.solvers.profiles import load_profile

Found = TypeVar("Found")

#: The default seeds of a heuristic; only the first if it draws no random numbers.
SEEDS = range(10)

#: The parameters of `optsched.heuristics.run` itself, and how each is given.
OF_RUN = {
    "seed": "the seed is given by --seed or --repeats (Python: seed=)",
    "time_limit": "the limit is given by --time-limit (Python: time_limit=)",
    "observers": "observers are given in Python (observers=)",
}

#: The most seeds: each is an instance, or a run.
MOST_SEEDS = 1_000_000


@dataclass(frozen=True)
class Choice:
    """A heuristic with the given parameters, and its unique label."""

    entry: Heuristic
    parameters: Mapping[str, Any]
    label: str


def chosen(named: AnyHeuristic | Choice) -> Choice:
    """A heuristic from a text `H[,K=V...]`, or from anything that `optsched.heuristics.heuristic` takes.

    In a text, commas separate the parameters, so a list is written with colons (`f_c=0:0.1:1`). A module of the current
    folder is found, too.

    UsageError if there is no such heuristic or parameter, or it refuses the value.

    >>> choice = chosen("dl,reading=heartbeat")
    >>> choice.entry.name, dict(choice.parameters)
    ('dl', {'reading': 'heartbeat'})
    """
    if isinstance(named, Choice):
        return named
    if not isinstance(named, str):
        entry = heuristic(named)
        return Choice(entry, {}, entry.name)
    name, texts = parted(named, "--heuristic")
    if name == "solve":  # policies over time know it, but it is no heuristic
        raise UsageError(
            f'"{named}": solve decides in rounds of simulate and decompose; here derive a class from '
            "optsched.heuristics.simulating.EveryRound, and name it package.module:class"
        )
    if ":" in name:
        find_here()
    entry = heuristic(name)
    if entry.parameters is None:
        for key in texts.keys() & OF_RUN.keys():
            raise UsageError(f'--heuristic "{named}": {key} is no parameter of a heuristic: {OF_RUN[key]}')
    values = {key: value if entry.parameters is not None else literal(value) for key, value in texts.items()}
    if entry.parameters is not None:
        others = ({"max_idle_rounds"} | of_run(entry)) - {known.name for known in entry.parameters}
        resolve(entry.name, entry.parameters, {key: value for key, value in values.items() if key not in others})
    return Choice(entry, values, named)


def parted(text: str, option: str) -> tuple[str, dict[str, str]]:
    """The name and the parameters of a text `NAME[,K=V...]`; UsageError with the option if a part is no assignment.

    >>> parted("dl,reading=heartbeat", "--heuristic")
    ('dl', {'reading': 'heartbeat'})
    """
    name, *assignments = text.split(",")
    values: dict[str, str] = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals or not key:
            raise UsageError(f'{option} "{text}": write parameters as name=value, lists with colons (0:0.1:1)')
        values[key] = value
    return name, values


def distinct(choices: Iterable[Choice]) -> list[Choice]:
    """Each heuristic once; UsageError if two different ones have one label, as two lambdas of a function have."""
    found: dict[str, Choice] = {}
    for choice in choices:
        if found.setdefault(choice.label, choice) != choice:
            raise UsageError(f"two heuristics are called {choice.label}: define each under a name of its own")
    return list(found.values())


def find_here() -> None:
    """Make modules of the current folder importable; they hide no installed module."""
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))


def users_function(name: str, what: str) -> Callable[..., Any]:
    """A user's function `package.module:function`, also from a module of the current folder.

    `what` is its role, for the UsageError if there is none.

    >>> users_function("math:floor", "claim")(2.5)
    2
    """
    find_here()
    found = users_own(name, what)
    if not callable(found):
        raise UsageError(f'{what} "{name}": it is {described(found)}, which is no function')
    return found  # type: ignore[no-any-return]


def assignments(option: str, texts: Iterable[str]) -> dict[str, str]:
    """Names and values from the texts `name=value` of a command line's option, with `_` for `-` in the names.

    >>> assignments("--set", ["max-load=5"])
    {'max_load': '5'}
    """
    values: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f'{option} "{text}": write it as name=value')
        values[name.replace("-", "_")] = value
    return values


def literal(text: str) -> Any:
    """The value for a user's own function: a number, true, false or a text; a list if there are colons."""
    if ":" in text:
        return [literal(part) for part in text.split(":")]
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def seeds_of(seeds: int | str | Iterable[int]) -> list[int]:
    """Seeds from their number, starting at 0, or from a list, or a text such as `0-29` or `1,4,7-9`.

    UsageError if they are invalid, or more than a million.

    >>> seeds_of(3), seeds_of("1,4,7-9")
    ([0, 1, 2], [1, 4, 7, 8, 9])
    """
    try:
        found: list[Any] = list(islice(_each_seed(seeds), MOST_SEEDS + 1))
    except (TypeError, ValueError):
        found = []
    if not found or any(isinstance(seed, bool) or not hasattr(seed, "__index__") or seed < 0 for seed in found):
        of_text = "give whole numbers from 0 on, of a range the lower one first: 0-29, or 1,4,7"
        forms = of_text if isinstance(seeds, str) else "give how many, a list of whole numbers from 0 on, or 0-29"
        raise UsageError(f"seeds {seeds!r}: {forms}")
    if len(found) > MOST_SEEDS:
        raise UsageError(f"seeds {seeds!r} are more than {MOST_SEEDS:,}: take fewer at once")
    return list(dict.fromkeys(map(index, found)))


def _each_seed(seeds: Any) -> Iterator[Any]:
    if isinstance(seeds, str):
        for part in seeds.split(","):
            first, dash, last = part.strip().partition("-")
            yield from range(int(first), int(last if dash else first) + 1)
    else:
        yield from range(seeds) if isinstance(seeds, Integral) and not isinstance(seeds, bool) else seeds


@dataclass(frozen=True)
class Family:
    """Generated instances: one of a family for each seed.

    Attributes
    ----------
    name
        As in `optsched list families`.
    seeds
        Seeds of the instances, as for `seeds_of`.
    parameters
        Those that differ from the family's defaults.

    Examples
    --------
    >>> [instance.name for instance in Family("lsap", range(2), {"nodes": 3, "tasks": 4}).instances()]
    ['lsap-n3-t4-seed0', 'lsap-n3-t4-seed1']
    """

    name: str
    seeds: int | str | Iterable[int] = range(10)
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Keep the values of an iterator, which yields them only once."""
        if isinstance(self.seeds, Iterator):
            object.__setattr__(self, "seeds", tuple(islice(self.seeds, MOST_SEEDS + 1)))

    def instances(self) -> Iterator[Instance]:
        """The instances, drawn one by one."""
        from optsched.instances.generate import generate

        if taken := {"seed", "family"} & set(self.parameters):
            raise UsageError(
                f"{self.name}: {taken.pop()} is no parameter: give a family's name and its seeds by themselves"
            )
        for seed in seeds_of(self.seeds):
            drawn = generate(self.name, seed=seed, **self.parameters)
            if not isinstance(drawn, Instance):
                raise UsageError(f"family {self.name} draws flow networks, for which there are no heuristics")
            yield drawn

    def __repr__(self) -> str:
        return brief(f"Family {self}")

    def __str__(self) -> str:
        parameters = [f"{key}={value}" for key, value in self.parameters.items()]
        seeds = seeds_of(self.seeds)
        return f"{','.join([self.name, *parameters])} ({counted(len(seeds), 'seed')})"


@dataclass(frozen=True)
class Group:
    """Instances that share one mean, median or worst gap: a single one, or the seeds of a family."""

    label: str
    instances: tuple[Instance, ...]


#: Instances may be given as: a name of the library, a file, a folder, a pattern of files (`traces/*.json`) or, if it
#: fits no file, of names of the library (`papers/*`), an instance, a family, or a group made of these.
Source = str | os.PathLike[str] | Instance | Family | Group


def groups_of(sources: Source | Iterable[Source]) -> list[Group]:
    """The instances, each file and name as its own group, each family as one.

    If two of the instances have the same name, each gets the path or name by which it was asked for.

    UsageError if a source is none of these. InputError with the faults of all files, if there are any, and for folders
    and patterns without instances.
    """
    if isinstance(sources, str) or not isinstance(sources, Iterable):
        sources = [sources]
    found: list[tuple[str, tuple[Instance, ...]]] = []
    errors: list[InputError] = []
    for source in _expanded(sources, errors):
        if isinstance(source, Instance):
            found.append((source.name or "instance", (source,)))
        elif isinstance(source, Group):
            found.append((source.label, source.instances))
        elif isinstance(source, Family):
            found.append((str(source), tuple(source.instances())))
        else:
            try:
                found.append((source, (load_instance(source),)))
            except InputError as error:
                errors.append(error if error.source else error.with_source(source))
    raise_all(errors)
    names = Counter(instance.name for _, instances in found for instance in instances)
    return [
        Group(label, (replace(one[0], name=label),) if len(one) == 1 and names[one[0].name] > 1 else one)
        for label, one in found
    ]


def _expanded(sources: Iterable[Source], errors: list[InputError]) -> Iterator[str | Instance | Family | Group]:
    """Folders and patterns expanded to their files and names, each once; those without any are noted."""
    seen: set[str] = set()
    for source in sources:
        if isinstance(source, Instance | Family | Group):
            yield source
            continue
        if not isinstance(source, str | os.PathLike):
            raise UsageError(f"an instance is a name, a path, an Instance or a Family, not {described(source)}")
        try:
            paths = _paths(os.fspath(source))
        except InputError as error:
            errors.append(error)
            continue
        for path in paths:
            if path not in seen:
                seen.add(path)
                yield path


def _paths(source: str) -> list[str]:
    if os.path.isdir(source):
        from optsched.instances.frames import tasks_table

        if tasks_table(source) is not None:
            return [source]
        found = sorted(str(path) for path in Path(source).iterdir() if path.name.endswith(SUFFIXES))
        message = f"holds no instance: no file whose name ends in {', '.join(SUFFIXES)}, and no tasks.csv"
    elif glob.has_magic(source) and not os.path.exists(source):
        found = sorted(path for path in glob.glob(source, recursive=True) if os.path.isfile(path))
        found = found or [entry.name for entry in fitting(source) if NETWORK not in entry.tags]
        message = "fits no file, and no instance of the library"
    elif source.endswith(SUFFIXES) or os.path.exists(source):
        return [source]
    else:  # of the library: its whole name, which is unique
        found = [entry.name for entry in fitting(source)]
        return found if len(found) == 1 else [source]
    if not found:
        raise InputError([Fault("", message)], source)
    return found


def load_instance(source: str) -> Instance:
    """The instance of a file or of the library, named by its path if it has no name.

    InputError if there is none, it is wrong, or it is a flow network.
    """
    loaded = load(source)
    if not isinstance(loaded, Instance):
        raise InputError([Fault("format", "is a flow network, for which there are no heuristics; solve it")], source)
    return loaded if loaded.name else replace(loaded, name=source)


class _SeveralInputs(InputError):
    """Faults of several files, each with the name of its file."""

    def __init__(self, errors: Sequence[InputError]) -> None:
        self.errors = errors
        super().__init__([fault for error in errors for fault in error.faults])

    def __str__(self) -> str:
        return "\n".join(map(str, self.errors))


def raise_all(errors: Sequence[InputError]) -> None:
    """Raise the errors, if there are any, as a single one."""
    if errors:
        raise errors[0] if len(errors) == 1 else _SeveralInputs(errors)


# Tables of files of checks and sweeps (TOML) -------------------------------------------------------------------------
#
# `tables_of` reads a document into one `Looking` for each table, and `Looking` finds what its values stand for. Both
# note every fault with its place.

#: Forms of values: a nonempty text, one or several; the same or true or false; a finite number.
Text: TypeAlias = Annotated[str, Meta(min_length=1)]
Texts: TypeAlias = Text | Annotated[list[Text], Meta(min_length=1)]
AboveZero: TypeAlias = Annotated[float, Meta(gt=0, le=sys.float_info.max)]
AtLeastZero: TypeAlias = Annotated[float, Meta(ge=0, le=sys.float_info.max)]


class _Named(msgspec.Struct):
    """A table with a name, among other keys."""

    name: Text


@dataclass(frozen=True)
class Rule:
    """What the value of a key must be.

    `expected` describes it in words, `form` is its type in msgspec. `check` raises UsageError or InputError for a fault
    of a value of that form.
    """

    expected: str
    form: Any
    check: Callable[[Any], object] = lambda value: None

    def holds(self, value: Any) -> bool:
        """Whether a value has the form."""
        with suppress(msgspec.ValidationError):
            msgspec.convert(value, self.form)
            return True
        return False


#: The rule for each key that says what is measured.
MEASURED: dict[str, Rule] = {
    "heuristic": Rule('a text such as "package.module:function", or a list of them', Texts),
    "problem": Rule('a name such as "lsap", or a list of names', Texts),
    "instances": Rule("a name, file, folder or pattern, or a list of them", Texts),
    "family": Rule(
        'a table with a name, such as {name = "lsap", seeds = "0-29", nodes = 20}, or a list of them',
        _Named | Annotated[list[_Named], Meta(min_length=1)],
    ),
    "seeds": Rule('how many, a list of seeds, or a text such as "0-29"', int | str | list[Any], seeds_of),
    "parameters": Rule("a table", dict[str, Any]),
    "profile": Rule("the name of a profile, or a file", Text, load_profile),
    "time_limit": Rule("a number of seconds, at least 0", AtLeastZero),
}


def note_faults(table: Mapping[str, Any], rules: Mapping[str, Rule], before: str, faults: list[Fault]) -> None:
    """Note unknown keys of a table, and values and entries of lists of a wrong form; `before` precedes each key."""
    for key, value in table.items():
        place, rule = f"{before}{printable(key)}", rules.get(key)
        if rule is None:
            faults.append(Fault(place, f"there is no such key; {nearest(key, list(rules))}"))
        elif not rule.holds(value):
            entries = enumerate(value) if isinstance(value, list) else ()
            wrong = [(f"{place}[{row}]", entry) for row, entry in entries if not rule.holds([entry])]
            for where, what in wrong or [(place, value)]:
                faults.append(Fault(where, f"expected {rule.expected}, got {_shown(what)}"))


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value in ("", []):
        return "an empty text" if value == "" else "an empty list"
    if isinstance(value, Mapping):
        return "a table"
    return str(value) if isinstance(value, int | float) else described(value)


def listed(value: Any) -> list[Any]:
    """A list unchanged, and anything else as a list of one."""
    return value if isinstance(value, list) else [value]


@dataclass
class Looking:
    """Resolves the values of a table; faults are noted at their places, and what is at fault already is passed over.

    `values` are those in force, those of the keys `own` from the table itself; `place` is that of the table. `missing`:
    whether a required key is missing.
    """

    values: Mapping[str, Any]
    own: Collection[str]
    faults: list[Fault]
    place: str
    missing: bool

    def place_of(self, key: str) -> str:
        """The place of a key's value."""
        return f"{self.place}.{key}" if self.place and key in self.own else key

    def one(self, place: str, looked_at: Callable[[Any], Found], value: Any) -> list[Found]:
        """The object for a value; nothing if it is wrong."""
        try:
            return [looked_at(value)]
        except (UsageError, InputError) as error:
            self.faults.extend(Fault(place, line) for line in error.lines)
            return []

    def entries(self, key: str) -> list[tuple[str, Any]]:
        """The value of a key, or each entry of its list, with its place."""
        place, value, wrong = self.place_of(key), self.values.get(key, []), {fault.place for fault in self.faults}
        if not isinstance(value, list):
            return [] if place in wrong else [(place, value)]
        entries = [(f"{place}[{row}]", entry) for row, entry in enumerate(value)]
        return [entry for entry in entries if not {place, entry[0]} & wrong]

    def each(self, key: str, looked_at: Callable[[Any], Found]) -> list[Found]:
        """The objects for the entries of a key."""
        return [found for place, value in self.entries(key) for found in self.one(place, looked_at, value)]

    def choices(self) -> list[Choice]:
        """The heuristics."""
        return self.each("heuristic", chosen)

    def problems(self) -> list[str]:
        """The names of the problems."""
        return self.each("problem", lambda name: problem_class(name).name)

    def groups(self) -> list[Group]:
        """The instances, those of families last."""
        named = self.one(self.place_of("instances"), groups_of, [value for _, value in self.entries("instances")])
        drawn = self.each("family", lambda table: groups_of(_family(table)))
        return [group for groups in (*named, *drawn) for group in groups]

    def sound(self, rules: Mapping[str, Rule]) -> dict[str, Any]:
        """The values of these keys, without those at fault and those that the check of their key refuses."""
        return {
            key: value
            for key, value in self.values.items()
            if key in rules
            and len(self.entries(key)) == len(listed(value))
            and self.one(self.place_of(key), rules[key].check, value)
        }


def tables_of(
    document: Mapping[str, Any],
    key: str,
    rules: Mapping[str, Rule],
    above: Mapping[str, Rule],
    faults: list[Fault],
    needed: Sequence[str] = (),
) -> tuple[dict[str, Any], list[Looking]]:
    """The values above the tables `[[key]]` of a document, and each table with its values in force.

    Entries of a wrong form, and missing ones, are among the faults. `rules` and `above` define the keys in a table and
    above the tables; the latter hold for all tables that do not override them. `needed` are keys that each table must
    have, or that must be above it; if none are needed, a document without such a table is itself one.
    """
    shared = {name: value for name, value in document.items() if name != key}
    note_faults(shared, {**above, key: Rule("a list of tables", bool)}, "", faults)
    tables = document.get(key, [] if needed else [{}])
    if not isinstance(tables, list) or not all(isinstance(table, Mapping) for table in tables):
        faults.append(Fault(key, f"is no list of tables: begin each {key} with [[{key}]]"))
        return shared, []
    if not tables:
        faults.append(Fault(key, f"is missing: write a table [[{key}]] with heuristic, problem and instances"))
    found = []
    for number, table in enumerate(tables):
        place = f"{key}[{number}]." if key in document else ""
        note_faults(table, rules, place, faults)
        given = {**shared, **table}
        missing = {name: f"is missing: give {rules[name].expected}" for name in needed if name not in given}
        if not {"instances", "family"} & given.keys():
            missing["instances"] = f"is missing: give {rules['instances'].expected}, or a family"
        faults += [Fault(f"{place}{name}", words) for name, words in missing.items()]
        found.append(Looking(given, table, faults, place.rstrip("."), bool(missing)))
    return shared, found


def _family(table: Mapping[str, Any]) -> Family:
    """Generated instances from `{name, seeds, parameters...}`."""
    drawn_with = {
        key: as_argument(value) if isinstance(value, list) else value
        for key, value in table.items()
        if key not in ("name", "seeds")
    }
    return Family(table["name"], table.get("seeds", 10), drawn_with)
