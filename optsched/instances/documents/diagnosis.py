"""Finds every fault of a document: the slow reader, used if the fast one meets a fault or a doubt.

Every field of every record is converted separately, so that each fault is listed with its place. Valid values go on to
`columns`, which adds the faults of references and of the whole. A valid file needs nothing of this module.
"""

from __future__ import annotations

import json
import re
import types
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from enum import Enum
from fractions import Fraction
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import UNSET, Struct, UnsetType

from optsched.core.decimals import rational
from optsched.core.errors import FAULTS_SHOWN, Fault, InputError, nearest
from optsched.core.instance import LARGEST
from optsched.core.instance_faults import DEEPEST, half_characters, key_in_place
from optsched.core.results import Number
from optsched.instances.documents.format import INSTANCE, NETWORK, InstanceDocument, NetworkDocument


class Doubled(dict[str, Any]):
    """An object with duplicate keys in its text; the reader reports them."""

    doubled: tuple[str, ...] = ()


def json_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these keys and values (`json`'s `object_pairs_hook`), `Doubled` if a key is duplicated.

    >>> json_object([("a", 1), ("b", 2), ("a", 3)]).doubled
    ('a',)
    """
    entries = dict(pairs)
    if len(entries) == len(pairs):
        return entries
    doubled = Doubled(entries)
    doubled.doubled = tuple(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
    return doubled


def key_places(data: bytes) -> int:
    """How many places of JSON text look like the end of a key: a quote and a colon with only space between them.

    Outside of strings only keys end like that; within a string an escaped quote would be needed. So there are at least
    as many such places as keys. If there are no more than different keys in all objects, no key is duplicated.

    >>> key_places(b'{"a": {"b" : 1}}')
    2
    """
    places = data.count(b'":')
    if places != data.count(b":"):  # other colons: in strings, or after a space
        places += len(re.findall(rb'"[ \t\r\n]+:', data))
    return places


class _Odd:
    """A number in JSON text that is no number of the format."""

    def __init__(self, text: str) -> None:
        self.text = text if len(text) <= 40 else f"{text[:20]}... ({len(text)} characters)"


def decode(text: bytes, source: str = "") -> Any:
    """JSON text as plain objects in which oddities (duplicate keys, NaN, too large numbers) are marked.

    InputError if the text is empty, no UTF-8, no JSON, or nested too deep to read.
    """
    if not text.strip():
        raise InputError([Fault("", "the file is empty")], source)
    if text.startswith(b"\xef\xbb\xbf"):
        raise InputError([Fault("byte 0", "starts with a byte order mark; save it as UTF-8 without one")], source)
    try:
        return json.loads(
            text.decode("utf-8"),
            object_pairs_hook=json_object,
            parse_constant=_Odd,
            parse_int=lambda digits: int(digits) if len(digits) <= _LONGEST_INTEGER else _Odd(digits),
            parse_float=_float,
        )
    except UnicodeDecodeError as error:
        message = f"is no UTF-8 text ({error.reason}); is it a binary or compressed file under a wrong name?"
        raise InputError([Fault(f"byte {error.start}", message)], source) from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InputError([Fault(place, f"is no JSON here: {error.msg}")], source) from None
    except RecursionError:
        raise InputError([Fault("", "is nested too deep; an instance is a few levels deep")], source) from None


#: Free-form values that need no conversion, so that a million of them are not examined one by one.
_PLAIN = frozenset((str, int, float, bool, type(None)))

#: Longer integers are not read; a flow's total cost, up to 2^53 units at 2^53 on each arc, has fewer characters.
_LONGEST_INTEGER = 60


def _float(text: str) -> float | _Odd:
    value = float(text)
    if abs(value) < LARGEST:
        return value
    try:
        return _Odd(text) if Decimal(text).copy_abs() > LARGEST else value
    except InvalidOperation:  # an exponent of more digits than Decimal reads
        return _Odd(text)


def read_number(value: Any, place: str, faults: list[Fault]) -> Number:
    """The exact number that `value` represents: an integer, or a rational as `"p/q"`.

    If it is no number, the result is 0, with a fault at `place` added to `faults`.

    >>> faults = []
    >>> read_number("6/4", "bound[0]", faults), read_number(0.5, "bound[1]", faults)
    (Fraction(3, 2), 0)
    >>> print(*faults)
    bound[1]: expected an integer, or a rational as "p/q"
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and (exact := rational(value)) is not None:
        return exact.numerator if exact.denominator == 1 else exact
    faults.append(Fault(place, 'expected an integer, or a rational as "p/q"'))
    return 0


class Diagnosis:
    """Converts a document field by field and lists what is wrong.

    `faults` has the faults found, `malformed` the tables that are no lists of records. Free-form values are nested at
    most `deepest` deep.
    """

    def __init__(self, deepest: int = DEEPEST) -> None:
        self.deepest = deepest
        self.faults: list[Fault] = []
        self.malformed: set[str] = set()

    def document(self, value: Any, source: str = "") -> InstanceDocument | NetworkDocument:
        """The document without faulty fields; InputError if even the intended format is not recognised."""
        known = f'known: "{INSTANCE}", "{NETWORK}"'
        if not isinstance(value, Mapping):
            message = f'expected an object that begins {{"format": "{INSTANCE}", ...}}, got {shown(value)}'
            raise InputError([Fault("", message)], source)
        name = value.get("format", UNSET)
        if name not in (INSTANCE, NETWORK):
            fault = "is missing" if name is UNSET else f"unknown format {shown(name)}"
            self.faults.append(Fault("format", f"{fault}; {known}"))
            name = INSTANCE if "tasks" in value else NETWORK if "arcs" in value else UNSET
            if name is UNSET or "format" in value:
                raise InputError(self.faults, source)
        kind: type[InstanceDocument] | type[NetworkDocument] = InstanceDocument if name == INSTANCE else NetworkDocument
        document: InstanceDocument | NetworkDocument = self.record(value, kind)
        return document

    def record(self, value: Any, kind: type[Struct], place: str = "") -> Any:
        """An object without faulty fields; its `kind` defines the fields.

        A missing required field gets a harmless value. If the kind allows other fields (`forbid_unknown_fields`), they
        are ignored, and null means not given.
        """
        fields = _fields(kind)
        found: dict[str, Any] = {}
        if not isinstance(value, Mapping):
            self._add(place, f"expected an object, got {shown(value)}")
            value = {}
            missing = False
        else:
            missing = True
            self._doubled(value, place)
        before = f"{place}." if place else ""
        if not kind.__struct_config__.forbid_unknown_fields:
            value = {key: entry for key, entry in value.items() if key in fields and entry is not None}
        for key, entry in value.items():
            if key not in fields:
                if not (key == "format" and place == ""):
                    hint = nearest(str(key), list(fields)) if len(self.faults) < FAULTS_SHOWN else ""
                    self._add(f"{before}{key_in_place(key)}", f"there is no such field; {hint}".rstrip("; "))
                continue
            name, kind_of_field, _ = fields[key]
            converted = self._value(entry, kind_of_field, f"{before}{key}")
            if converted is not UNSET:
                found[name] = converted
            elif place == "":
                self.malformed.add(key)
        for key, (name, kind_of_field, required) in fields.items():
            if required and name not in found:
                if missing and key not in value:
                    self._add(f"{before}{key}", "is missing")
                    if place == "":
                        self.malformed.add(key)
                found[name] = _harmless(kind_of_field)
        return kind(**found)

    def _value(self, value: Any, kind: Any, place: str) -> Any:
        """A value of a kind; UNSET if it is none, with the faults noted."""
        base, limits = _base(kind)
        if isinstance(base, type) and issubclass(base, Struct):
            return self.record(value, base, place)
        origin, arms = get_origin(base), get_args(base)
        if origin in (Union, types.UnionType):
            objects = [arm for arm in arms if get_origin(arm) is dict]
            others = [arm for arm in arms if get_origin(arm) is not dict and arm not in (type(None), UnsetType)]
            if value is None and type(None) in arms:
                return None
            if Fraction in arms:
                return read_number(value, place, self.faults)
            preferred = [*objects, *others] if isinstance(value, Mapping) else [*others, *objects]
            return self._value(value, preferred[0], place)
        if origin in (list, tuple):
            if not isinstance(value, list | tuple):
                return self._refuse(place, kind, value)
            if not value and limits.get("min_length"):
                self._add(place, "must not be empty")
            entries = (self._value(entry, arms[0], f"{place}[{row}]") for row, entry in enumerate(value))
            return origin(_harmless(arms[0]) if entry is UNSET else entry for entry in entries)
        if origin is dict:
            if not isinstance(value, Mapping):
                return self._refuse(place, kind, value)
            self._doubled(value, place)
            keys = {key: self._value(key, arms[0], f"{place}.{key_in_place(key)}") for key in value}
            found = {key: self._value(entry, arms[1], f"{place}.{key_in_place(key)}") for key, entry in value.items()}
            return {key: entry for key, entry in found.items() if entry is not UNSET and keys[key] is not UNSET}
        if base is Any:
            return self._free_form(value, place, 1)
        if isinstance(value, _Odd) or (isinstance(value, int) and abs(value) > LARGEST):
            return self._refuse(place, kind, value)
        if isinstance(value, str) and half_characters(value):
            self._add(place, f"{value[:40]!r} holds half a character (a lone surrogate)")
            return UNSET
        if isinstance(value, str) and "max_length" in limits and not value.isprintable():
            self._add(place, f"{value[:40]!r} must be a non-empty string of printable characters")
            return UNSET
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError:
            return self._refuse(place, kind, value)

    def _free_form(self, value: Any, place: str, depth: int) -> Any:
        """A value of `parameters`: only oddities are faults here; the instance checks everything else."""
        if isinstance(value, _Odd):
            return self._refuse(place, float, value)
        if depth > self.deepest:
            self._add(place, f"is nested more than {self.deepest} deep")
            return UNSET
        if isinstance(value, Mapping):
            self._doubled(value, place)
            if depth < self.deepest and _PLAIN.issuperset(map(type, value.values())):
                return dict(value)
            entries = {
                key: self._free_form(entry, f"{place}.{key_in_place(key)}", depth + 1) for key, entry in value.items()
            }
            return {key: entry for key, entry in entries.items() if entry is not UNSET}
        if isinstance(value, list | tuple):
            items = [self._free_form(entry, f"{place}[{row}]", depth + 1) for row, entry in enumerate(value)]
            return [entry for entry in items if entry is not UNSET]
        return value

    def _doubled(self, value: Mapping[str, Any], place: str) -> None:
        if isinstance(value, Doubled):
            for key in value.doubled:
                self._add(
                    f"{place}.{key_in_place(key)}" if place else key_in_place(key), "the key is given more than once"
                )

    def _refuse(self, place: str, kind: Any, value: Any) -> UnsetType:
        self._add(place, _explained(kind, value))
        return UNSET

    def _add(self, place: str, message: str) -> None:
        self.faults.append(Fault(place, message))


@cache
def _fields(kind: type[Struct]) -> dict[str, tuple[str, Any, bool]]:
    """For each key of a record: the attribute, the kind of its value, and whether it is required."""
    return {field.encode_name: (field.name, field.type, field.required) for field in msgspec.structs.fields(kind)}


def _base(kind: Any) -> tuple[Any, dict[str, Any]]:
    """A kind without its limits, and the limits."""
    if get_origin(kind) is not Annotated:
        return kind, {}
    base, *metas = get_args(kind)
    limits: dict[str, Any] = {}
    for meta in metas:
        names = ("ge", "gt", "le", "min_length", "max_length", "description")
        limits |= {name: getattr(meta, name) for name in names if getattr(meta, name) is not None}
    return base, limits


def _harmless(kind: Any) -> Any:
    """Replaces a missing or faulty value, so that the rest can be read; the fault is noted already."""
    base, _ = _base(kind)
    if isinstance(base, type) and issubclass(base, Struct):
        return base(**{name: _harmless(entry) for name, entry, required in _fields(base).values() if required})
    empty: Any = {list: [], tuple: (), dict: {}}.get(get_origin(base) or base)
    return {str: "", float: 1.0, int: 1, bool: True}.get(base, empty)


def _explained(kind: Any, value: Any) -> str:
    """The explanation of a fault: the expected and the actual value, and the remedy."""
    base, limits = _base(kind)
    if isinstance(value, _Odd) and base in (float, int):
        return f"{value.text} is past 2^53" if value.text.lstrip("-")[:1].isdigit() else f"{value.text} is no number"
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and base in (float, int) and abs(value) > LARGEST:
        return f"{shown(value)} is past 2^53"
    choices = _choices(base)
    if choices and isinstance(value, str):
        hint = nearest(value, choices)
        message = f"expected one of {', '.join(choices)}, got {shown(value)}"
        return message if hint.startswith("known") else f"{message}; {hint}"
    if base is str and isinstance(value, str):
        if not value:
            return "must not be empty"
        if len(value) > limits["max_length"]:
            return f"has {len(value)} characters; at most {limits['max_length']} are read"
        return f"expected {limits['description']}, got {shown(value)}"
    wanted = {float: "a number", int: "an integer", str: "a string", bool: "true or false"}.get(base, "")
    wanted = wanted or (
        "a list" if get_origin(base) in (list, tuple) else "an object" if get_origin(base) is dict else "a string"
    )
    if base in (float, int):
        wanted += {0: ", 0 or more", -1: ", 0 or more, or -1 where it is unknown"}.get(limits.get("ge", 1), "")
    if "gt" in limits:
        wanted += " above 0"
    hint = ""
    if base in (float, int) and isinstance(value, str):
        with suppress(ValueError):
            float(value)
            hint = "; write it without quotes"
    return f"expected {wanted}, got {shown(value)}{hint}"


def _choices(base: Any) -> tuple[str, ...]:
    """The texts that a kind of value allows; empty if it is no choice."""
    if isinstance(base, type) and issubclass(base, Enum):
        return tuple(member.value for member in base)
    return get_args(base) if get_origin(base) is Literal else ()


def shown(value: Any) -> str:
    """A value as in the file, shortened.

    >>> shown("x" * 50), shown([1])
    ('"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx..."', 'a list')
    """
    if isinstance(value, _Odd):
        return value.text
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if value is None or isinstance(value, bool | str):
        return json.dumps(value if not isinstance(value, str) or len(value) <= 40 else value[:40] + "...")
    if isinstance(value, int | float):
        return str(value)
    return f"the {type(value).__name__} {value!r:.40}"
