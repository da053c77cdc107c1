"""Base of families of generated instances: their parameters, checks of values, and drawing.

The families themselves are in the modules next to this one. A family's draw gets the random generator and checked
values; `Family.make` adds what every generated instance or network carries: a name, the command that makes it again,
labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Annotated, Any, TypeAlias, get_origin, get_type_hints

import numpy as np

from optsched.core.brief import brief
from optsched.core.errors import UsageError, nearest
from optsched.core.instance import Cluster, Instance, State, Workload
from optsched.core.network import FlowNetwork

__all__ = [
    "LARGEST_SEED",
    "LOST",
    "Drawn",
    "Family",
    "Setting",
    "Value",
    "optimum_label",
    "require",
    "require_distinct",
    "settings",
    "share",
]

Value: TypeAlias = "int | float | tuple[float, ...]"

LARGEST_SEED = 2**63 - 1

#: Letters that stand for the sizes in an instance's name; other parameters are named in full where they differ.
_SHORT = {"nodes": "n", "tasks": "t", "arcs": "a"}


@dataclass(frozen=True, slots=True)
class Setting:
    """One parameter of a family: default, meaning in one line with its unit, and the values it may take.

    The type of `default` is the parameter's: an integer, a number, or a tuple of numbers. `minimum` and `maximum` are
    allowed, too, and hold for each entry of a tuple. `choices` are the only values allowed, where they are few. The
    command that makes an instance again leaves out what is `later` at its default, which then stays. That is for what a
    family draws on top of what it drew when files of it were published, so that their commands stay true.
    """

    default: Value
    doc: str
    minimum: float = 0
    maximum: float = 10**7
    choices: tuple[Value, ...] = ()
    later: bool = False

    @property
    def type(self) -> type:
        """`int`, `float` or `tuple`."""
        return type(self.default)

    @property
    def range(self) -> str:
        """The allowed values in words.

        >>> Setting(3, "replicas of a block", 1, 20).range
        'an integer from 1 to 20'
        """
        if self.choices:
            return "one of " + ", ".join(map(_text, self.choices))
        what = {int: "an integer", float: "a number", tuple: "numbers separated by commas, each"}[self.type]
        return f"{what} from {_text(self.minimum)} to {_text(self.maximum)}"

    def check(self, family: str, name: str, value: object) -> Value:
        """The value in the parameter's type; text, as the command line hands it over, is read first.

        UsageError if it is of another type or outside the range.
        """
        try:
            if self.type is tuple:
                parts = value.split(",") if isinstance(value, str) else value
                if not isinstance(parts, Iterable):
                    raise ValueError
                checked: Value = tuple(float(_number(part)) for part in parts)
            else:
                checked = self.type(number) if (number := _number(value)) == self.type(number) else number
        except (ValueError, OverflowError):
            raise UsageError(f"{family}: {name} is {value!r}; it must be {self.range}") from None
        entries = checked if isinstance(checked, tuple) else (checked,)
        inside = all(self.minimum <= entry <= self.maximum for entry in entries) and len(entries) > 0
        if not inside or type(checked) is not self.type or (self.choices and checked not in self.choices):
            raise UsageError(f"{family}: {name} is {_text(checked)}; it must be {self.range}")
        return checked


def settings(draw: Callable[..., object]) -> dict[str, Setting]:
    """The parameters of a draw, which its annotations say.

    >>> def drawn(rng: np.random.Generator, *, tasks: Annotated[int, Setting(50, "pending tasks")]) -> None: ...
    >>> settings(drawn)["tasks"].default
    50
    """
    hints = get_type_hints(draw, include_extras=True)
    return {name: hint.__metadata__[0] for name, hint in hints.items() if get_origin(hint) is Annotated}


def share(doc: str) -> Setting:
    """A setting of what a family draws on top: a share of some records, none of them if it is not given."""
    return Setting(0.0, f"share of the {doc}; their number is rounded", 0, 1, later=True)


LOST = share("blocks that no node holds")


@dataclass(frozen=True, slots=True)
class Drawn:
    """A snapshot as a family draws it; `labels` say what was assumed, and the optimum where it is known."""

    cluster: Cluster
    workload: Workload
    state: State
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Family:
    """A named way to draw instances.

    `paper` is the one whose experiment or model it follows, with the section; empty for those of our own. `description`
    is one sentence on what it draws. `parameters` are shown in their order. `draw(rng, **values)`, with every parameter
    given, returns a snapshot, or a flow network without a name.
    """

    name: str
    paper: str
    description: str
    parameters: Mapping[str, Setting]
    draw: Callable[..., Drawn | FlowNetwork]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))

    def __repr__(self) -> str:
        return brief(f"Family {self.name} ({', '.join(self.parameters)}): {self.description}")

    def make(self, seed: int | str = 0, **parameters: object) -> Instance | FlowNetwork:
        """An instance of this family, or a network; the same seed (of NumPy's PCG64) and parameters give the same one.

        `parameters` differ from the defaults; text is read as the parameter's type. UsageError if one is unknown, a
        value is out of its range, or values do not go together.
        """
        for name in parameters:
            if name not in self.parameters:
                raise UsageError(f'{self.name}: no parameter "{name}"; {nearest(name, list(self.parameters))}')
        seed_value = Setting(0, "", 0, LARGEST_SEED).check(self.name, "seed", seed)
        values = {
            name: parameter.check(self.name, name, parameters.get(name, parameter.default))
            for name, parameter in self.parameters.items()
        }
        try:
            drawn = self.draw(np.random.default_rng(int(seed_value)), **values)  # type: ignore[arg-type]
        except UsageError as error:
            raise UsageError(f"{self.name}: {error}") from None
        options = [
            f"--{name.replace('_', '-')} {_text(value)}"
            for name, value in values.items()
            if value != self.parameters[name].default or not self.parameters[name].later
        ]
        command = " ".join(["optsched generate", self.name, *options, f"--seed {seed_value}"])
        named = [
            f"{_SHORT.get(name, name)}{_text(value, '-')}"
            for name, value in values.items()
            if name in _SHORT or value != self.parameters[name].default
        ]
        generated = f"family {self.name}, seed {seed_value}, numpy.random.default_rng (PCG64)"
        fields: dict[str, Any] = {
            "name": "-".join([self.name, *named, f"seed{seed_value}"]).replace("_", "-"),
            "description": f"{self.description} {self.paper}".strip(),
            "source": f"generated by {command}",
            "labels": {"generated": generated, **drawn.labels},
        }
        if isinstance(drawn, FlowNetwork):
            return replace(drawn, **fields)
        return Instance(drawn.cluster, drawn.workload, drawn.state, **fields)


def require(condition: bool, message: str) -> None:
    """Raise `UsageError` with `message` where values that are each in range do not go together."""
    if not condition:
        raise UsageError(message)


def require_distinct(replicas: int, nodes: int) -> None:
    """Raise `UsageError` where the nodes are too few for each replica to lie on a different one."""
    require(replicas <= nodes, f"replicas is {replicas}; it must be at most {nodes}: no node holds a block twice")


def optimum_label(*components: int | Fraction) -> str:
    """An optimal objective as the text of a label: components with commas, fractions as `p/q`.

    >>> optimum_label(5, Fraction(7, 2))
    '5,7/2'
    """
    return ",".join(str(component) for component in components)


def _number(value: object) -> int | float:
    if isinstance(value, str):
        number = float(value)
        return int(value) if number.is_integer() and value.strip().lstrip("+-").isdecimal() else number
    if isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool):
        if not math.isfinite(value):
            raise ValueError
        return value.item() if isinstance(value, np.generic) else value
    raise ValueError


def _text(value: object, comma: str = ",") -> str:
    if isinstance(value, tuple):
        return comma.join(_text(entry) for entry in value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)
