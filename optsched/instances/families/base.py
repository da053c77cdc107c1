"""Base of families of generated instances: parameters, checks of values, drawing, and shared draws.

The families themselves are in the modules next to this one. A family's draw gets the random generator and checked
values. `Family.make` adds what every generated instance or network has: a name, the command that makes it again,
labels. The shared draws are vectorised, without loops over tasks or nodes; each takes its generator.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Annotated, Any, TypeAlias, get_origin, get_type_hints

import numpy as np

from optsched.core.arrays import places_in
from optsched.core.brief import brief
from optsched.core.errors import UsageError, expect_known
from optsched.core.instance import (
    PENDING,
    Bools,
    Cluster,
    Floats,
    Instance,
    Ints,
    Ragged,
    Shuffle,
    State,
    Strings,
    Workload,
)
from optsched.core.network import FlowNetwork

__all__ = [
    "ASSUMED",
    "LARGEST_SEED",
    "LOST",
    "PRECISION",
    "Drawn",
    "Family",
    "Setting",
    "Value",
    "dealt",
    "distinct_nodes",
    "idle_slots",
    "in_blocks",
    "numbered",
    "on",
    "optimum_label",
    "proportional_shuffle",
    "racked",
    "replica_counts",
    "require",
    "require_distinct",
    "settings",
    "share",
    "some",
    "zipf_weights",
]

Value: TypeAlias = "int | float | tuple[float, ...]"

LARGEST_SEED = 2**63 - 1

#: Letters for the sizes in an instance's name; other parameters are named in full if they differ from the default.
_SHORT = {"nodes": "n", "tasks": "t", "arcs": "a"}


@dataclass(frozen=True, slots=True)
class Setting:
    """One parameter of a family: default, meaning in one line with its unit, and the values it may take.

    The type of `default` is the parameter's: an integer, a number, or a tuple of numbers. `minimum` and `maximum` are
    allowed, too, and apply to each entry of a tuple. `choices` are the only allowed values, if they are few. A `later`
    setting was added to a family after files of it were published. The command that makes an instance again leaves it
    out at its default, which must not change. So the published commands stay valid.
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
        """The value in the parameter's type; text, as from the command line, is read first.

        UsageError if it has another type or is outside the range.
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
    """The parameters of a draw, from its annotations.

    >>> def drawn(rng: np.random.Generator, *, tasks: Annotated[int, Setting(50, "pending tasks")]) -> None: ...
    >>> settings(drawn)["tasks"].default
    50
    """
    hints = get_type_hints(draw, include_extras=True)
    return {name: hint.__metadata__[0] for name, hint in hints.items() if get_origin(hint) is Annotated}


def share(doc: str) -> Setting:
    """A setting of a share of some records, for a later addition to a family; by default no records."""
    return Setting(0.0, f"share of the {doc}; their number is rounded", 0, 1, later=True)


LOST = share("blocks that no node holds")


@dataclass(frozen=True, slots=True)
class Drawn:
    """A drawn snapshot; `labels` have the assumptions, and the optimum if it is known."""

    cluster: Cluster
    workload: Workload
    state: State
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Family:
    """A named way to draw instances.

    `paper` is the paper whose experiment or model it follows, with the section; empty for our own families.
    `description` is one sentence on what it draws. `parameters` are listed in their order. `draw(rng, **values)`, with
    every parameter given, returns a snapshot, or a flow network without a name.
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
        value is out of its range, or values cannot be combined.
        """
        for name in parameters:
            expect_known(name, self.parameters, f'{self.name}: no parameter "{name}"')
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
    """Raise `UsageError` with `message` if valid values cannot be combined."""
    if not condition:
        raise UsageError(message)


def require_distinct(replicas: int, nodes: int) -> None:
    """Raise `UsageError` if there are too few nodes to put each replica on a different one."""
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


#: Weight of the most popular node in `zipf_weights`; the weights of a million nodes still sum within int64.
PRECISION = 2**43


def numbered(prefix: str, count: int) -> Strings:
    """The ids `prefix1` to `prefix<count>`.

    >>> numbered("n", 3).tolist()
    ['n1', 'n2', 'n3']
    """
    return np.array([f"{prefix}{number}" for number in range(1, count + 1)], dtype=np.str_)


def in_blocks(count: int, parts: int) -> Ints:
    """Divide `count` records into `parts` blocks of nearly equal size, neighbours together; shape (count,).

    >>> in_blocks(5, 2).tolist()
    [0, 0, 0, 1, 1]
    """
    return np.arange(count, dtype=np.int64) * parts // count


def racked(nodes: int, racks: int, slots: int, **more: Any) -> Cluster:
    """Equal nodes in racks of nearly equal size, with `slots` map slots each; UsageError if there are more racks than
    nodes.

    `more` are other columns of the cluster; a single number applies to all nodes.

    >>> cluster = racked(3, 2, 4, reduce_slots=1)
    >>> cluster.rack.tolist(), cluster.slots.tolist()
    ([0, 0, 1], [4, 4, 4])
    """
    require(racks <= nodes, f"racks is {racks}; it must be at most nodes ({nodes}): each rack has a node")
    columns: dict[str, Any] = {"slots": slots, **more}
    filled: dict[str, Any] = {
        name: np.full(nodes, value) if isinstance(value, int) else value for name, value in columns.items()
    }
    return Cluster(numbered("n", nodes), rack=in_blocks(nodes, racks), rack_ids=numbered("r", racks), **filled)


def some(rng: np.random.Generator, count: int, share: float) -> Bools:
    """Which of `count` records belong to a random share of them; shape (count,). For a share of 0 nothing is drawn."""
    chosen = np.zeros(count, dtype=bool)
    number = round(count * share)
    chosen[rng.choice(count, number, replace=False) if number else []] = True
    return chosen


def replica_counts(rng: np.random.Generator, tasks: int, largest: int, lost: float = 0.0) -> Ints:
    """Numbers of replicas, uniform from 1 to `largest`, but 0 for a share `lost` of the tasks; shape (tasks,)."""
    counts: Ints = rng.integers(1, largest, size=tasks, endpoint=True)
    return np.where(some(rng, tasks, lost), 0, counts)


def on(rng: np.random.Generator, status: Ints, nodes: int) -> Ints:
    """A random node for each task that runs or has ended, and -1 for the others; shape (tasks,)."""
    started = status != PENDING
    where = np.full(len(status), -1, dtype=np.int64)
    where[started] = rng.integers(0, nodes, size=int(started.sum()))
    return where


def idle_slots(rng: np.random.Generator, nodes: int, slots: int, idle: int) -> Ints:
    """Idle slots of each node if `idle` of all `nodes * slots` slots are idle, at random (Guo et al. 2012, III.B)."""
    chosen = rng.choice(nodes * slots, idle, replace=False, shuffle=False)
    return np.bincount(chosen // slots, minlength=nodes).astype(np.int64)


def zipf_weights(rng: np.random.Generator, nodes: int, exponent: float) -> Ints:
    """Integer popularities that fall as rank^-exponent, with random ranks of the nodes; shape (nodes,)."""
    rank = rng.permutation(nodes) + 1.0
    weights: Ints = np.maximum(1, np.floor(PRECISION * rank**-exponent)).astype(np.int64)
    return weights


def dealt(rng: np.random.Generator, count: int, jobs: int) -> Ints:
    """The job of each of `count` tasks: first one for each job, if possible; bigger jobs get more of the rest."""
    weights = zipf_weights(rng, jobs, 1.0)
    rest = max(0, count - jobs)
    drawn = np.searchsorted(np.cumsum(weights), rng.integers(0, weights.sum(), size=rest), side="right")
    return np.sort(np.concatenate((np.arange(min(count, jobs)), drawn)))


def distinct_nodes(
    rng: np.random.Generator,
    counts: Ints,
    among: int | Ints,
    *,
    weights: Ints | None = None,
    first: Ints | None = None,
) -> Ragged:
    """Draw for each task `counts` different nodes, in increasing order.

    Each node is drawn from those that the task does not have yet. The draw is a position in the line of the remaining
    nodes (or, weighted, of their weights), which is then moved past each node already taken. All tasks draw at once and
    nothing is rejected. O(tasks x largest count^2).

    `counts` has shape (tasks,). The nodes to draw `among` are 0 to `among - 1`, or an array of distinct indices.
    `weights` are positive integers, one for each of these; the probability of a node is its share of the remaining
    weights. `first` (shape (tasks,)) is a certain node of each task, as a position in `among`; it counts as one of
    `counts`.

    >>> rng = np.random.default_rng(0)
    >>> [row.tolist() for row in distinct_nodes(rng, np.array([1, 3, 2]), 3)]
    [[2], [0, 1, 2], [0, 1]]
    """
    size = among if isinstance(among, int) else len(among)
    ends = None if weights is None else np.cumsum(weights)
    columns = int(counts.max(initial=0))
    taken = np.full((len(counts), columns), size, dtype=np.int64)  # rows sorted; `size` stands for "none yet"
    for column in range(columns):
        if column == 0 and first is not None:
            taken[:, 0] = first
            continue
        rows = np.flatnonzero(counts > column)
        earlier = taken[rows, :column]
        if ends is None or weights is None:
            node = rng.integers(0, size - column, size=len(rows))
            for other in earlier.T:
                node += node >= other
        else:
            position = rng.integers(0, ends[-1] - weights[earlier].sum(axis=1))
            for other in earlier.T:
                position += np.where(position >= ends[other] - weights[other], weights[other], 0)
            node = np.searchsorted(ends, position, side="right")
        taken[rows, column] = node
        taken[:, : column + 1].sort(axis=1)
    drawn = taken[taken < size]
    if isinstance(among, int):
        return Ragged.of_lengths(counts, drawn)
    rows = np.repeat(np.arange(len(counts)), counts)
    return Ragged.of_lengths(counts, among[drawn][np.lexsort((among[drawn], rows))])


#: The label of an unrecorded shuffle.
ASSUMED = "assumed: what a reduce takes in comes from the maps of its job in proportion to what each gives out"


def proportional_shuffle(map_job: Ints, output: Floats, reduce_job: Ints, received: Floats) -> Shuffle:
    """Draw the size that each map sends to each reduce of its job; maps are numbered first, then reduces.

    `map_job` and `output` (shape (maps,)) are the job and the output of each map, in any unit. If all of a job's are 0,
    they are taken as equal. `reduce_job` and `received` (shape (reduces,)) are the job and the input of each reduce,
    MB. There is one entry for each pair of a job, map after map; sizes to the byte.

    >>> shuffle = proportional_shuffle(np.array([0, 0]), np.array([1.0, 3.0]), np.array([0]), np.array([8.0]))
    >>> shuffle.reduce.tolist(), shuffle.size.tolist()
    ([2, 2], [2.0, 6.0])
    """
    jobs = 1 + int(max(map_job.max(initial=-1), reduce_job.max(initial=-1)))
    total = np.bincount(map_job, output, minlength=jobs)
    weight = np.where(total[map_job] > 0, output, 1.0)
    total = np.bincount(map_job, weight, minlength=jobs)
    order = np.argsort(reduce_job, kind="stable")
    fan = np.bincount(reduce_job, minlength=jobs)
    first = np.cumsum(fan) - fan
    sender = np.repeat(np.arange(len(map_job)), fan[map_job])
    receiver = order[first[map_job[sender]] + places_in(fan[map_job])]
    size = np.round(received[receiver] * weight[sender] / total[map_job[sender]], 6)
    return Shuffle(sender, len(map_job) + receiver, size)
