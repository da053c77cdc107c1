"""Checks records of other packages: fields and classes, the parts that they name, and whether these fit the class.

A record may name a shipped part only if the part fits its class (`_why_unfit`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from typing import Any, get_type_hints

import msgspec

from optsched.core.deprecated import present_module
from optsched.core.errors import described, nearest
from optsched.core.outside import raised
from optsched.core.problem_record import Record, imported, in_words
from optsched.core.shipped_problems import ASSIGNMENT, SHIPPED, UNLISTED

#: The parts of a problem that has its own program (`optsched.problems.programs`) and names none.
BY_PROGRAM: dict[str, Any] = {
    "models": "optsched.models.programs",
    "routes": "optsched.routes.programs",
    "provers": {"dual": "optsched.certificates.programs:program_proof"},
}

#: Shipped parts that fit every class: they use its own `objective` and `violations`.
_FOR_ALL = ("optsched.routes.base", "optsched.solvers.searches.enumeration:judged")

#: Shipped parts that fit every class whose `program` has its own objective and constraints.
_FOR_PROGRAMS = (BY_PROGRAM["models"], BY_PROGRAM["routes"], *BY_PROGRAM["provers"].values())

#: Shipped parts that fit base classes, besides the classes whose records name them: the bases, and what a subclass may
#: redefine beyond `left_open`. A network reads a table of costs; the enumeration calls `objective`.
_FOR_BASES: dict[str, dict[str, tuple[str, ...]]] = {
    **{
        part: {"optsched.problems.assignment:TabledProblem": ("parameter_table",)}
        for part in (ASSIGNMENT["routes"], ASSIGNMENT["provers"]["dual"], ASSIGNMENT["network"])
    },
    ASSIGNMENT["enumeration"]: dict.fromkeys(
        ("optsched.problems.assignment:LevelledProblem", "optsched.problems.assignment:TabledProblem"),
        ("cheap_bounds", "first_step", "objective", "own_costs", "parameter_table"),
    ),
}

#: Attributes that a subclass may redefine with no effect on value, feasibility and proof: name and description.
_WORDS = {"name", "title", "paper", "requires", "proof", "remark", "details", "told", "__repr__"}

#: Attributes that Python itself gives each class.
_OF_ANY_CLASS = {
    *("__abstractmethods__", "__annotations__", "__dict__", "__doc__", "__module__", "__orig_bases__", "__slots__"),
    *("__annotate__", "__annotate_func__", "__annotations_cache__", "__firstlineno__", "__static_attributes__"),
    *("__parameters__", "__slotnames__", "__type_params__", "__weakref__", "_abc_impl"),
}


#: The names that a module or class of a record must have.
_HAVING = {
    "models": ("build_pyomo", "build_pulp", "literal_size", "decode", "start_values"),
    "routes": ("ROUTES", "by_route"),
    "frontier": ("frontier",),
}


def fault_of_fields(record: Record) -> str | None:
    """The fault of another package's record, as far as its fields and its class show it."""
    for name, kind in get_type_hints(Record, include_extras=True).items():
        value = getattr(record, name)
        with suppress(msgspec.ValidationError):
            if msgspec.convert(value, kind) == value:
                continue
        return f"its {name} is {value!r}; give {in_words(kind)}"
    if record.frontier and record.routes is None:
        return "its frontier is True, but it names no routes that find one"
    if record.frontier_gaps and (not record.frontier or len(record.frontier_gaps) != 2):
        return "it names figures of the frontier; give two, where its frontier is True"
    if record.provers and record.routes is None:
        return "it names provers, but no routes that give what these prove"
    for part in (record.models, record.routes):
        if part is not None and find_spec(part) is None:
            return f'there is no module "{part}"'
    kind = record.problem_class
    if not isinstance(kind, type) or not issubclass(kind, imported("optsched.problems.base:BaseProblem")):
        return f"its problem, {record.problem}, is {described(kind)}; give a subclass of optsched.problems.base.Problem"
    own = f"{kind.__module__}:{kind.__qualname__}"
    if own != record.problem:
        return f'its problem, {record.problem}, is a class of another place; give "{own}"'
    wrong: str | None = imported("optsched.problems.base:class_fault")(kind)
    named = getattr(kind, "name", None)
    if wrong is None and named != record.name:
        return f'the name of {record.problem} is {named!r}, not "{record.name}"'
    return wrong


def _parts(record: Record) -> Iterator[tuple[str, str]]:
    """The parts that a record names besides its class: the field, and its text."""
    for name in ("models", "routes", "enumeration", "network", "infeasible", "unlimited", "slots", "runner", "family"):
        if getattr(record, name) is not None:
            yield name, getattr(record, name)
    if record.frontier and record.routes is not None:
        yield "frontier", record.routes
    yield from (("provers", prover) for prover in record.provers.values())
    yield from (("rivals", rival) for rival in record.rivals)


def _lacking(name: str, value: str) -> str | None:
    """The fault of a part of another package's record."""
    listing = {"family": "optsched.instances.generate:FAMILIES", "rivals": "optsched.heuristics:HEURISTICS"}.get(name)
    if listing is not None and ":" not in value:
        listed = imported(listing)
        what = "heuristic" if name == "rivals" else name
        return None if value in listed else f"there is no such {what}; {nearest(value, list(listed))}"
    try:
        found = imported(value)
    except (Exception, SystemExit) as error:
        return f"it cannot be loaded: {raised(error)}"
    lacks = [each for each in _HAVING.get(name, ()) if not hasattr(found, each)]
    if lacks:
        return f"it has no {lacks[0]}"
    return None if ":" not in value or callable(found) else f"it is {described(found)}, which is no function"


def fault_of_parts(record: Record) -> str | None:
    """The fault of the first wrong part of a record."""
    for name, value in _parts(record):
        wrong = _lacking(name, value)
        if wrong is not None:
            return f"names {value!r} in its {name}: {wrong}"
    for name, value in _parts(record):
        for origin in sorted(_origins(value)) if name not in _TRIED else ():
            wrong = _why_unfit(record.problem_class, origin)
            if wrong is not None:
                return f"names {value!r} in its {name}: {wrong}"
    for entry in SHIPPED:  # what shipped parts rely on
        if record.models == entry.models and record.limit != entry.limit:
            return f"names the models of {entry.name} without its limit: give {entry.limit}"
        lacking = entry.provers.keys() - record.provers.keys()
        if record.routes == entry.routes and lacking and issubclass(record.problem_class, entry.problem_class):
            return f"names the routes of {entry.name} without its provers of kind {', '.join(sorted(lacking))}"
    return None


def altered(kind: type[Any], base: type[Any], anew: Collection[str] = ()) -> str | None:
    """The first attribute of a base class that a subclass redefines; None: it is the same problem.

    A subclass may define abstract attributes and those in `anew`; words such as its name have no effect.

    >>> from optsched.problems import Lsap, LsapFairness
    >>> altered(type("Renamed", (Lsap,), {"name": "renamed"}), Lsap)
    >>> altered(type("Free", (Lsap,), {"objective": lambda self, placement: (0,)}), Lsap)
    'objective'
    """
    free = {*_WORDS, *_OF_ANY_CLASS, *base.__abstractmethods__, *anew}
    there = {name for each in base.__mro__ for name in vars(each)}
    for name in sorted(there - free):
        own, known = _definition(kind, name), _definition(base, name)
        if own is not known and not (isinstance(own, tuple | str | int) and own == known):
            return name
    # A property with a setter may replace something that the base computes, such as `capacity`.
    more = {name for each in set(kind.__mro__) - set(base.__mro__) for name in vars(each)} - there - free
    return next((name for name in sorted(more) if getattr(_definition(kind, name), "fset", None) is not None), None)


def _definition(kind: type[Any], name: str) -> Any:
    return next(vars(each)[name] for each in kind.__mro__ if name in vars(each))


#: Parts that are tried, not trusted: instances, rivals, and policies, whose schedules the problem's `objective` judges.
_TRIED = ("family", "rivals", "runner")


#: The functions of a module of routes or models that make answers; the rest only helps.
_ANSWERING = ("by_route", "frontier", "bounds", "build_pyomo", "build_pulp")


@cache
def _knowing() -> Mapping[str, Mapping[str, tuple[str, ...] | None]]:
    """The classes that each shipped part fits: those whose records name it (with None), and its bases."""
    found: dict[str, dict[str, tuple[str, ...] | None]] = {}
    for entry in (*SHIPPED, *UNLISTED):
        for _, part in _parts(entry):
            found.setdefault(part, {})[entry.problem] = None
    return {part: {**classes, **_FOR_BASES.get(part, {})} for part, classes in found.items()}


def _origins(value: str) -> set[str]:
    """A part, and the shipped parts that it passes on under another name."""
    found = imported(value)
    module = value.partition(":")[0]
    value = value.replace(module, present_module(module) or module)  # records of packages may name a former path
    if ":" in value:
        given = {f"{getattr(found, '__module__', None)}:{getattr(found, '__qualname__', None)}"}
    else:
        given = {str(getattr(getattr(found, each, None), "__module__", None)) for each in _ANSWERING}
    return {value} | (given & _knowing().keys())


def _why_unfit(kind: type[Any], part: str) -> str | None:
    """Why a shipped part does not fit a class; None if it fits, or is not shipped.

    A part fits the class of each shipped record that names it (the contract suite tests these), and the base class in
    `_FOR_BASES`. It also fits a subclass that alters nothing of these.
    """
    if not part.startswith("optsched.") or part in _FOR_ALL:
        return None
    if part in _FOR_PROGRAMS:
        owner: Any = next((each for each in kind.__mro__ if "program" in vars(each)), kind)
        changed = altered(kind, owner)
        taken = f"it takes the program of {owner.__name__}, and {kind.__name__} defines {changed} anew"
        return None if changed is None else f"{taken}; define program too"
    known, wrong = _knowing().get(part, {}), None
    for path, anew in known.items():
        base = imported(path)
        if issubclass(kind, base):
            changed = altered(kind, base, () if anew is None else (*anew, *base.left_open))
            if changed is None:
                return None
            wrong = wrong or f"it knows {base.__name__}, and {kind.__name__} defines {changed} anew"
    if wrong is None:
        classes = ", ".join(path.partition(":")[2] for path in known) or "no problem"
        wrong = f"it knows {classes}, and {kind.__name__} is no subclass"
    return f"{wrong}; name one of its own, or none"


def fault_of(record: Record) -> str | None:
    """The fault of a record: a field, its class, or a part that it names; None if there is none.

    >>> fault_of(Record(name="tidy", problem="builtins:dict"))
    'its problem, builtins:dict, is the class dict; give a subclass of optsched.problems.base.Problem'
    """
    return fault_of_fields(record) or fault_of_parts(record)
