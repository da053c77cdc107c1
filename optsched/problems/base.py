"""Base of all problems: required fields, components, and the only definition of value and feasibility.

The problems themselves are one module each, next to this one. Nothing here solves anything.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from functools import cache, cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Generic, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

from optsched.core.arrays import Strings
from optsched.core.brief import brief
from optsched.core.decimals import FINEST
from optsched.core.deprecated import Renamed, take_former
from optsched.core.errors import (
    Fault,
    InputError,
    MissingField,
    ProblemFailed,
    UsageError,
    described,
    expect,
    nearest,
)
from optsched.core.instance import LARGEST, MAP, PENDING, Cluster, Instance, Ints, Ragged
from optsched.core.network import FlowNetwork
from optsched.core.placement import NONE, Placement
from optsched.core.registry import altered, record_of, records
from optsched.core.results import Bound, Component, Decision, Number, Proof, Sense, Value, Violation
from optsched.problems.foreign import hold, is_shipped, path_of
from optsched.problems.parameters import Parameter, choice, either, number, resolve, switch

__all__ = [
    "GRID",
    "AnyProblem",
    "BaseProblem",
    "OwnCosts",
    "Parameter",
    "Problem",
    "TaskProblem",
    "choice",
    "either",
    "exact",
    "exact_product",
    "exact_sum",
    "number",
    "expect_problem",
    "on_grid",
    "overfull",
    "pending_of",
    "stated",
    "switch",
]

#: Real unit costs are rounded once to multiples of 1/GRID and held as integers from then on.
GRID = FINEST


def exact(units: Number, grid: int = 1) -> Number:
    """`units / grid` as an integer if possible, else as a fraction.

    >>> exact(6, 4), exact(8, 4)
    (Fraction(3, 2), 2)
    """
    value = Fraction(units, grid)
    return value.numerator if value.denominator == 1 else value


def exact_sum(values: npt.ArrayLike) -> int:
    """Sum of whole numbers, 0 or more, that may exceed int64: high and low halves are added separately.

    >>> exact_sum([2**53] * 1024) == 2**63
    True
    """
    whole = np.asarray(values, dtype=np.int64)
    return (int((whole >> 32).sum()) << 32) + int((whole & 0xFFFFFFFF).sum())


def exact_product(prices: Ints | Sequence[int], amounts: Ints | Sequence[int]) -> int:
    """The exact sum of the products of prices and amounts, both integers of one shape, however large.

    >>> exact_product([2**62, 1], [4, 5]) == 2**64 + 5
    True
    """
    if isinstance(prices, np.ndarray) and isinstance(amounts, np.ndarray) and prices.size:
        largest = [max(abs(int(column.min())), abs(int(column.max()))) for column in (prices, amounts)]
        if largest[0] * largest[1] * prices.size <= LARGEST:  # neither products nor their sums exceed int64
            return int(np.vdot(prices, amounts))
    both = (column.ravel().tolist() if isinstance(column, np.ndarray) else column for column in (prices, amounts))
    return sum(price * amount for price, amount in zip(*both, strict=True))


def overfull(cluster: Cluster, nodes: Ints, capacity: Ints, constraint: str, *kind: str) -> Iterator[Violation]:
    """The nodes that run more tasks than they have slots, in order.

    Parameters
    ----------
    cluster
        Has the ids.
    nodes
        Node (or -1) of each task.
    capacity
        int64, shape (nodes,): the slots.
    constraint, kind
        The name of the violation, and what precedes the node's id.
    """
    used = np.bincount(nodes[nodes != NONE], minlength=len(capacity))
    for node in np.flatnonzero(used > capacity).tolist():
        yield Violation(constraint, (*kind, str(cluster.node_ids[node])), int(used[node] - capacity[node]))


def on_grid(costs: npt.ArrayLike) -> Ints:
    """Real costs, rounded once to whole multiples of 1/`GRID` (half to even); int64 of the same shape.

    A cost past 2^53 multiples, infinite or NaN becomes 2^60, which every problem refuses; int64 would wrap round.

    >>> on_grid([0.25, np.inf]).tolist() == [GRID // 4, 2**60]
    True
    """
    with np.errstate(over="ignore"):
        units = np.asarray(np.asarray(costs, dtype=np.float64) * GRID)
    np.rint(units, out=units)
    if not (units.size and units.min() >= -LARGEST and units.max() <= LARGEST):
        units = np.where(np.abs(units) <= LARGEST, units, 2.0**60)
    return units.astype(np.int64)


Noun = TypeVar("Noun", bound=Instance | FlowNetwork)
Decided = TypeVar("Decided", bound=Decision)


class BaseProblem(ABC, Generic[Noun, Decided]):
    """An objective and its constraints on an instance or network; decided by a placement, a schedule, or a flow.

    Subclasses set the class attributes, compute what they need in `prepare`, and define value, feasibility and cheap
    bounds.

    Parameters
    ----------
    instance
        What it is posed on: a snapshot, or a flow network.
    **parameters
        Override the instance's own (`instance.parameters[name]`), which override the defaults.

    Raises
    ------
    MissingField
        If the instance lacks a field that the problem needs; names the record and its field.
    InputError
        If a field has a value that the problem cannot handle (`latency` with a fractional load), or the problem is
        posed on the other noun.
    UsageError
        For an unknown parameter or a value out of its range.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[str] = ""
    components: tuple[Component, ...]
    """On the class: for the default parameters. On a problem: its own, if a parameter decides the sense."""
    parameter_table: ClassVar[tuple[Parameter, ...]] = ()
    requires: ClassVar[tuple[str, ...]] = ()
    proof: ClassVar[Proof]
    """The strongest kind of certificate that the problem admits."""
    posed_on: ClassVar[type[Instance] | type[FlowNetwork]]
    decided: ClassVar[type[Decision]]
    always_feasible: ClassVar[bool] = True
    """Whether every instance has a feasible decision."""
    always_plain: ClassVar[bool] = False
    """Whether `plainly_infeasible` explains every infeasible instance."""
    places_all: ClassVar[bool] = False
    """Whether every feasible placement places every task."""
    left_open: ClassVar[tuple[str, ...]] = ()
    """What subclasses may override besides abstract attributes, while everything else stays true of them."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        take_former(cls, "told", "details")
        hold(cls)

    def __init__(self, instance: Noun, /, **parameters: Any) -> None:
        wrong = None if is_shipped(self) else class_fault(type(self))
        if wrong is not None:
            raise ProblemFailed(f"{wrong}; mend the class")
        expect(instance, (Instance, FlowNetwork), f"{self.name} is posed on an instance or a flow network", HOW_TO_LOAD)
        if not isinstance(instance, self.posed_on):
            nouns = "a flow network, not on an instance", "an instance, not on a flow network"
            due = nouns[self.posed_on is Instance]
            raise InputError([Fault("format", f"{self.name} is posed on {due}")], instance.name)
        self.instance = instance
        #: The prefix of faults: the instance's name, if it has one, and the problem's.
        self.place = f"{instance.name}: {self.name}" if instance.name else self.name
        given = instance.parameters if isinstance(instance, Instance) else {}
        strangers = [name for name in given if name != self.name and name not in records()]
        if strangers:
            known = list(records())
            faults = [
                Fault(f"parameters.{name}", f"there is no such problem; {nearest(name, known)}") for name in strangers
            ]
            raise InputError(faults, instance.name)
        own = given.get(self.name, {})
        try:
            resolve(self.name, self.parameter_table, own)
        except UsageError as error:  # a bad value that came with the file is bad input, not wrong usage
            raise InputError([Fault(f"parameters.{self.name}", str(error))], instance.name) from None
        values = resolve(self.name, self.parameter_table, own, parameters)
        #: Parameters that the caller or the instance gave; the others have their defaults.
        self.given = frozenset({*own, *parameters})
        self.parameters: Mapping[str, Any] = MappingProxyType(values)
        missing = list(self.missing(instance, self.parameters))
        if missing:
            raise MissingField(missing, self.place)
        self.prepare()

    @classmethod
    def applies(cls, instance: Instance | FlowNetwork) -> list[Fault]:
        """The reasons why the problem cannot be posed on `instance`; empty if it can be."""
        try:
            cls(instance)  # type: ignore[arg-type]
        except InputError as error:
            return list(error.faults)
        return []

    @classmethod
    @abstractmethod
    def missing(cls, instance: Noun, parameters: Mapping[str, Any]) -> Iterator[Fault]:
        """The fields that the problem needs and the instance lacks, one fault per record."""

    @abstractmethod
    def prepare(self) -> None:
        """Compute what evaluation needs from instance and parameters."""

    @property
    def remark(self) -> str | None:
        """A warning if the user may have meant another problem; None: no warning."""
        return None

    @property
    def first_step(self) -> Number | None:
        """The step of the first component: all values are multiples of it; None if no step is known.

        To check that no point of a frontier is missing, `optsched.certify` looks one step before the later of two
        points.
        """
        return None

    @property
    def plainly_infeasible(self) -> str | None:
        """Why no decision is feasible, if one task or node alone shows it; None if none does."""
        return None

    @abstractmethod
    def objective(self, decision: Decided, /) -> Value:
        """Exact value of a feasible decision."""

    @abstractmethod
    def violations(self, decision: Decided, /) -> list[Violation]:
        """Every violated constraint, by how much, in the instance's own ids; empty if feasible."""

    def cheap_bounds(self) -> tuple[Bound, ...]:
        """Bounds that cost about one pass over the instance, each with what it bounds; by default none."""
        return ()

    def evaluate(self, decision: Decided, /) -> Value:
        """Exact value of a decision, one entry per component: the only definition of the objective.

        Raises
        ------
        ValueError
            If the decision is infeasible: it has violations, but no value.
        """
        wrong = self.violations(decision)
        if wrong:
            raise ValueError(f"an infeasible {self.decided.noun} has no value: {wrong[0]}")
        value = self.objective(decision)
        if not is_shipped(self):
            self._refute(decision, value)
        return value

    @cached_property
    def _claimed(self) -> tuple[Bound, ...]:
        """The cheap bounds of the first component."""
        first = self.components[0].name
        return tuple(bound for bound in stated(self, "cheap_bounds", tuple)() if bound.component == first)

    def _refute(self, decision: Decided, value: Value) -> None:
        """ProblemFailed if a feasible decision is better than a cheap bound."""
        first = self.components[0]
        for bound in self._claimed:
            if not first.at_least(value[0], bound.value):
                claim = f'{type(self).__name__}.cheap_bounds claims {bound.value} for {first.name} ("{bound.name}")'
                found = f"the feasible {self.decided.noun} {in_ids(self, decision)} has {value[0]}"
                raise ProblemFailed(f"{self.place}: {claim}, but {found}; mend the bound")

    def minimised(self, value: Value) -> Value:
        """A value for comparisons: less is better, component after component."""
        return tuple(
            entry if component.sense is Sense.MIN else -entry
            for component, entry in zip(self.components, value, strict=True)
        )

    def beaten(self, value: Value, bound: Sequence[Number | None]) -> int | None:
        """The first component in which a feasible `value` is better than a claimed bound; None if there is none.

        A bound on a later component counts only if the earlier components equal their bounds. None is no bound.
        """
        for position, (component, entry, claim) in enumerate(zip(self.components, value, bound, strict=True)):
            if claim is None:
                return None
            if entry != claim:
                return None if component.at_least(entry, claim) else position
        return None

    def differing(self, parameters: Mapping[str, Any]) -> list[str]:
        """Names of those `parameters` that this problem lacks, or has with another value."""

        def same(name: str, value: Any) -> bool:
            try:
                return bool(resolve(self.name, self.parameter_table, {name: value})[name] == self.parameters[name])
            except UsageError:
                return False

        return [name for name, given in parameters.items() if not same(name, given)]

    def __repr__(self) -> str:
        return brief(f"{self.name} on {self.instance}")


#: A problem of any noun and decision.
AnyProblem = BaseProblem[Any, Any]


def in_ids(problem: AnyProblem, decision: Any) -> str:
    """A decision as messages show it: in ids, and not too long."""
    text = str(decision.to_dict(problem))
    return text if len(text) < 120 else f"{text[:116]} ..."


@cache
def _stated_kinds() -> dict[str, tuple[Any, bool]]:
    """The attributes that a class states, each with its type, and whether it is a tuple of these."""
    found = {}
    for name, hint in get_type_hints(BaseProblem).items():
        kind = get_args(hint)[0] if get_origin(hint) is ClassVar else hint
        several = get_origin(kind) is tuple
        each = get_args(kind)[0] if several else kind
        if isinstance(each, type):
            found[name] = each, several
    return found


def class_fault(kind: type[Any]) -> str | None:
    """What a class of problems does not state, or states wrongly; None: nothing.

    >>> class_fault(type("Mine", (Problem,), {"__module__": "mine", "name": "mine", "title": 3, "proof": "dual"}))
    "mine:Mine does not define components, constraint_violations, missing, objective, prepare; title: 3 is no str; \
proof: 'dual' is no Proof"
    """
    kinds = _stated_kinds()
    missing = {name for name in kinds if not hasattr(kind, name)} | set(getattr(kind, "__abstractmethods__", ()))
    faults = [f"{path_of(kind)} does not define {', '.join(sorted(missing))}"] if missing else []
    for name, (wanted, several) in kinds.items():
        value: Any = getattr(kind, name, None)
        if name in missing or isinstance(value, property):  # what a problem says of itself later
            continue
        form = wanted.__name__
        if is_dataclass(wanted):
            form += f"({', '.join(part.name for part in fields(wanted))})"
        if several and not isinstance(value, tuple):
            faults.append(f"{name}: {value!r} is no tuple of {form}")
            continue
        entries: tuple[Any, ...] = value if several else (value,)
        strangers = [entry for entry in entries if not isinstance(entry, wanted)]
        faults.extend(f"{name}: {entry!r} is no {form}" for entry in strangers)
        if is_dataclass(wanted) and not strangers:
            faults.extend(f"{name}: {fault}" for fault in _record_faults(entries, wanted))
    if not getattr(kind, "components", True):
        faults.append("components: is empty; give a tuple of Component(name, sense, unit)")
    return "; ".join(faults) or None


def _record_faults(entries: Sequence[Any], kind: Any) -> Iterator[str]:
    """The fields of records that have the wrong type, and names that several have."""
    for name, wanted in get_type_hints(kind).items():
        if wanted in (str, Sense):
            yield from (
                f"{name}={getattr(entry, name)!r} is no {wanted.__name__}"
                for entry in entries
                if not isinstance(getattr(entry, name), wanted)
            )
    names = [entry.name for entry in entries]
    yield from (f"there are several with the name {name!r}" for name in dict.fromkeys(names) if names.count(name) > 1)


@dataclass(frozen=True, eq=False)
class OwnCosts:
    """Each task's own cost on a node: the part of one component of the objective that no other task changes.

    Attributes
    ----------
    component
        Position of that component: the sum of the placed tasks' own costs, and of a part that `counted` describes.
    grid
        Costs are whole multiples of 1/`grid`.
    units
        `(positions in problem.tasks, nodes) -> int64 units`, both of shape (n,).
    counted
        int64, shape (len(problem.tasks),): a label of each task. Among placements with the same number of tasks of each
        label, only own costs change the objective. None: other things do, or it is not known.
    slots
        int64, shape (nodes,): a placement is feasible exactly if no node gets more tasks than this and as many tasks
        are placed as required. None: there are other constraints.
    """

    component: int
    grid: int
    units: Callable[[Ints, Ints], Ints]
    counted: Ints | None = None
    slots: Ints | None = None


def stated(problem: AnyProblem, name: str, otherwise: Any) -> Any:
    """What a problem states about itself by an attribute (its cheap bounds, why nothing is feasible, that all is
    placed).

    If no record gives the class routes, only statements that the class itself defines count: an inherited one is about
    the objective and constraints of its base. For a class of another package, an inherited statement counts only if the
    class alters nothing of that base (`optsched.core.registry.altered`). Otherwise the result is `otherwise`.

    >>> from optsched.core.instance import Cluster, Workload
    >>> from optsched.problems.latency import Latency
    >>> class Waiting(Latency):
    ...     pass
    >>> instance = Instance(Cluster(["a"]), Workload(["t"]))
    >>> stated(Latency(instance), "places_all", False), stated(Waiting(instance), "places_all", False)
    (True, False)
    """
    kind = type(problem)
    if name not in vars(kind) and (record_of(kind).routes is None or not _inherits(kind, name)):
        return otherwise
    return getattr(problem, name)


def _inherits(kind: type[AnyProblem], name: str) -> bool:
    """Whether a base class's statement also holds for a class: it is shipped, or alters nothing of that base."""
    if kind.__module__.startswith("optsched."):
        return True
    base: Any = next(each for each in kind.__mro__ if name in vars(each))
    if base.__module__ == __name__:  # such statements hold for any class that does not redefine them
        return True
    if base.__module__.startswith("optsched."):
        base = next(each for each in kind.__mro__ if each.__module__.startswith("optsched."))
    return altered(kind, base, base.left_open) is None


#: The advice if something else is given as an instance or a placement.
HOW_TO_LOAD = 'read one first: optsched.load("papers/guo-fig2"), or the path of a file'
HOW_TO_PLACE = "make one first: problem.placement(nodes), with a node index or -1 for each of problem.tasks"


def expect_problem(problem: Any, taker: str, kind: type[Any] = BaseProblem) -> None:
    """Raise UsageError unless the argument is a posed problem of a kind; says how to pose one.

    Examples
    --------
    >>> expect_problem("papers/guo-fig2", "solve")
    Traceback (most recent call last):
    optsched.core.errors.UsageError: solve takes a problem, not the text "papers/guo-fig2"; pose one first: \
optsched.problem("lsap", "papers/guo-fig2")
    """
    if isinstance(problem, kind):
        return
    if isinstance(problem, BaseProblem):
        does = f"decides a {kind.decided.noun}" if hasattr(kind, "decided") else "places tasks"
        only = f"the problem {kind.name}" if hasattr(kind, "name") else f"a problem that {does}"
        raise UsageError(f"{taker} takes {only}, not {problem.name}")
    if isinstance(problem, type) and issubclass(problem, BaseProblem):
        mend = f"pose it on an instance first: {problem.__name__}(instance)"
    elif isinstance(problem, FlowNetwork):
        mend = 'pose one on it first: optsched.problem("min-cost-flow", network)'
    elif isinstance(problem, Instance):
        mend = 'pose one on it first: optsched.problem("lsap", instance)'
    elif isinstance(problem, str):
        mend = f'pose one first: optsched.problem("lsap", "{problem}")' if len(problem) <= 60 else "pose one first"
    else:
        mend = 'pose one first: optsched.problem("lsap", instance)'
    raise UsageError(f"{taker} takes a problem, not {described(problem)}; {mend}")


def expect_recorded(problem: AnyProblem, part: str, who: str) -> None:
    """Raise UsageError if a class's record lacks a part: a part of its base does not know what the class changed.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Workload
    >>> from optsched.problems.latency import Latency
    >>> class Waiting(Latency):
    ...     name = "waiting"
    >>> expect_recorded(Waiting(Instance(Cluster(["a"]), Workload(["t"]))), "models", "build_pyomo knows")
    Traceback (most recent call last):
    optsched.core.errors.UsageError: waiting: no record names models of Waiting, and build_pyomo knows its base class \
only; name its own models in a record (optsched.core.registry)
    """
    kind = type(problem)
    if getattr(record_of(kind), part) is None:
        raise UsageError(
            f"{problem.name}: no record names {part} of {kind.__name__}, and {who} its base class only; name its own "
            f"{part} in a record (optsched.core.registry)"
        )


def pending_of(instance: Instance, *kinds: int) -> Ints:
    """Indices of the waiting tasks of these kinds, increasing."""
    kind = instance.workload.kind
    waits = (instance.state.status == PENDING) & (kind == kinds[0] if len(kinds) == 1 else np.isin(kind, kinds))
    return np.flatnonzero(waits).astype(np.int64)


class TaskProblem(BaseProblem[Instance, Decided]):
    """A problem that decides on pending tasks of an instance; see `BaseProblem` for what all problems have.

    Attributes
    ----------
    kinds
        Set by the class: which kinds of tasks it decides on; by default maps.
    tasks
        int64: indices of the tasks to decide on: the pending ones of these kinds.
    by_replicas
        Set by the class: whether it matters where a map's block is.
    replicas
        One row for each of `tasks`.
    """

    posed_on = Instance
    kinds: ClassVar[tuple[int, ...]] = (MAP,)
    by_replicas: ClassVar[bool] = False

    tasks: Ints
    replicas: Ragged

    def __init__(self, instance: Instance, /, **parameters: Any) -> None:
        if isinstance(instance, Instance):
            self.tasks = pending_of(instance, *self.kinds)
            self.tasks.setflags(write=False)
            self._all_of_them = len(self.tasks) == len(instance.workload)
            self.replicas = instance.replicas if self._all_of_them else instance.replicas.take(self.tasks)
        super().__init__(instance, **parameters)

    @property
    def task_ids(self) -> Strings:
        """The id of each of `tasks`."""
        return self.instance.workload.task_ids[self.tasks]

    @property
    def offered(self) -> Mapping[str, Ints]:
        """Idle slots of each node that a policy is offered, by kind of task, shape (nodes,); empty: no slots."""
        return MappingProxyType({})

    told = Renamed("details")

    def details(self, decision: Decided, /) -> list[tuple[str, str]]:
        """Details of a feasible decision that reports show after its value, as names and texts."""
        return []

    @property
    def due(self) -> int:
        """How many tasks must fill slots, if there are slots."""
        return 0


class Problem(TaskProblem[Placement]):
    """A problem that places pending tasks of an instance; see `TaskProblem` and `BaseProblem` for what it has."""

    decided = Placement

    @abstractmethod
    def constraint_violations(self, placement: Placement) -> Iterator[Violation]:
        """Violations of the problem's own constraints by a placement of pending maps on existing nodes."""

    def violations(self, placement: Placement, /) -> list[Violation]:
        expect(placement, Placement, f"{self.name} judges a placement", HOW_TO_PLACE)
        task_ids, node_ids = self.instance.workload.task_ids, self.instance.cluster.node_ids
        if len(placement) != len(task_ids):
            return [Violation("length", (), len(placement) - len(task_ids))]
        nodes = placement.nodes
        if len(nodes) and (nodes.min() < NONE or nodes.max() >= len(node_ids)):
            unknown = np.flatnonzero((nodes < NONE) | (nodes >= len(node_ids))).tolist()
            return [Violation("known-node", (str(task_ids[task]),), 1) for task in unknown]
        found = []
        if not self._all_of_them:  # some tasks may be placed that are not to be placed
            strangers = nodes != NONE
            strangers[self.tasks] = False
            constraint = "pending-map" if self.kinds == (MAP,) else "pending-task"
            found = [Violation(constraint, (str(name),), 1) for name in task_ids[strangers]]
        found.extend(self.constraint_violations(placement))
        return found

    @property
    def own_costs(self) -> OwnCosts | None:
        """The tasks' own costs; None if costs depend only on tasks together."""
        return None

    def placement(self, nodes: npt.ArrayLike) -> Placement:
        """A placement of the instance from one node index (or -1) for each of `tasks`; UsageError for anything else."""
        given = np.asarray(nodes)
        if given.shape != self.tasks.shape or (given.size and given.dtype.kind not in "iu"):
            expected = f"{self.name} places {len(self.tasks)} tasks: give a node index, or -1, for each"
            raise UsageError(f"{expected}, not {described(nodes)}" + (f" of shape {given.shape}" if given.ndim else ""))
        if self._all_of_them:
            return Placement(given)
        return Placement.empty(len(self.instance.workload)).with_tasks(self.tasks, nodes)

    def nodes_of(self, placement: Placement) -> Ints:
        """The node index (or -1) of each of `tasks`."""
        return placement.nodes if self._all_of_them else placement.nodes[self.tasks]


def table_row(problem: type[AnyProblem]) -> dict[str, Any]:
    """The row of a problem in `optsched list problems`."""
    return {
        "name": problem.name,
        "title": problem.title,
        "paper": problem.paper,
        "components": [{"name": part.name, "sense": str(part.sense), "unit": part.unit} for part in problem.components],
        "parameters": {
            parameter.name: {"default": parameter.default, "doc": parameter.doc}
            for parameter in problem.parameter_table
        },
        "requires": list(problem.requires),
        "certificate": str(problem.proof),
    }
