"""Solutions and Pareto frontiers: why solving stopped, the decisions, the proved bounds, and their certificates.

Three questions are kept apart, as in MathOptInterface: why did it stop (`termination`, `limit`), what is the result
(`decision`, `objective`, `bound`), and what did the solver literally say (`raw_status`). None means unknown, never zero
or infinity.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, cast

from optsched.core.brief import brief, counted
from optsched.core.placement import NetworkFlow, Placement, Schedule

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "FEASIBLE",
    "Bound",
    "Certificate",
    "Component",
    "Decision",
    "Digested",
    "Frontier",
    "FrontierPoint",
    "Limit",
    "Number",
    "Proof",
    "Sense",
    "Solution",
    "Termination",
    "Value",
    "Violation",
    "digest_of",
    "digested",
]

T = TypeVar("T")

#: Objectives are exact.
Number = int | Fraction
#: One number for each component of the objective, in lexicographic order.
Value = tuple[Number, ...]
#: The component of a certificate that nothing is feasible: it bounds the number of feasible decisions by 0.
FEASIBLE = "feasible-decisions"
#: The kinds of decisions.
Decision = Placement | NetworkFlow | Schedule


class Sense(enum.StrEnum):
    """Direction of a component of an objective."""

    MIN = "min"
    MAX = "max"


class Termination(enum.StrEnum):
    """Why solving stopped. OPTIMAL only if every component is closed at zero gap."""

    OPTIMAL = "OPTIMAL"
    INFEASIBLE = "INFEASIBLE"
    FEASIBLE = "FEASIBLE"
    NO_SOLUTION = "NO_SOLUTION"
    ERROR = "ERROR"


class Limit(enum.StrEnum):
    """What cut the search short."""

    TIME = "TIME"
    NODES = "NODES"
    MEMORY = "MEMORY"
    GAP = "GAP"
    INTERRUPTED = "INTERRUPTED"


class Proof(enum.StrEnum):
    """Kind of a proof of a bound. `DUAL` and `COMBINATORIAL` are checked in exact arithmetic without a solver."""

    DUAL = "dual"
    COMBINATORIAL = "combinatorial"
    ENUMERATION = "enumeration"
    SOLVER = "solver"

    @property
    def rank(self) -> int:
        """0 for the strongest kind."""
        return list(Proof).index(self)

    @property
    def checkable(self) -> bool:
        """Whether the proof itself can be checked without the solver that found it."""
        return self in (Proof.DUAL, Proof.COMBINATORIAL)

    @staticmethod
    def weakest(kinds: list[Proof]) -> Proof | None:
        """The weakest of several kinds; None for an empty list."""
        return max(kinds, key=lambda kind: kind.rank) if kinds else None


@dataclass(frozen=True, slots=True)
class Component:
    """One component of an objective: its name, direction and unit."""

    name: str
    sense: Sense
    unit: str

    @property
    def sign(self) -> int:
        """1 if less is better, -1 if more is."""
        return 1 if self.sense is Sense.MIN else -1

    def at_least(self, value: Number, claim: Number) -> bool:
        """Whether `value` is no better than `claim`, as a value is if `claim` bounds it."""
        return self.sign * value >= self.sign * claim


@dataclass(frozen=True, slots=True)
class Violation:
    """One violated constraint: its name, the ids (of the instance) that it concerns, and by how much."""

    constraint: str
    ids: tuple[str, ...]
    amount: Number

    def __str__(self) -> str:
        where = f"({', '.join(self.ids)})" if self.ids else ""
        if self.constraint == "cardinality":
            return f"cardinality{where}: {counted(int(self.amount), 'task')} too few placed"
        return f"{self.constraint}{where} by {self.amount}"


@dataclass(frozen=True, slots=True)
class Bound:
    """A proved limit on one quantity.

    `component` is the component of the objective that it bounds, or None if it bounds something else. `value` is in the
    component's natural sense. `bounds` says in words what it bounds, also if that is not the objective. `source` is
    paper and equation.
    """

    name: str
    component: str | None
    value: Number
    bounds: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Certificate:
    """A proof of a bound on one component, given that every earlier component is at its proved value.

    If nothing is feasible, its component is `FEASIBLE`, and it claims 0. `claim` is the bound. `data` is what the
    checker of this `kind` needs for this problem, in the instance's own ids: dictionaries, lists and numbers, or `ById`
    and `Chosen`, which `optsched.core.arrays.plain` converts to JSON's types.
    """

    component: str
    kind: Proof
    claim: Number
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def cases(self) -> int | None:
        """How many cases its proof has, if it is a tree: steps, or states; None if it is not."""
        found = [self.data[key] for key in ("steps", "states") if isinstance(self.data.get(key), list | tuple)]
        return len(found[0]) if found else None

    def __repr__(self) -> str:
        return brief(f"Certificate: {self.component} {self.claim}, {self.kind}")


@dataclass(frozen=True)
class FrontierPoint:
    """A Pareto-optimal point of two components: no decision has less of one and not more of the other.

    `placement` attains the `objective`. The first certificate proves that no decision is better in the first component
    without being worse in the second. The other one bounds the second component, given the first.
    """

    objective: Value
    placement: Placement
    certificates: tuple[Certificate, Certificate]

    @property
    def certificate(self) -> Proof:
        """The weaker of the two kinds of proof."""
        weakest = Proof.weakest([certificate.kind for certificate in self.certificates])
        assert weakest is not None
        return weakest

    def __repr__(self) -> str:
        return brief(f"FrontierPoint: {value_text(self.objective)}, {self.certificate}")


class Digested(Protocol):
    """An instance or a flow network."""

    @property
    def sha256(self) -> str:
        """Its digest."""


def digest_of(digested: Digested) -> str:
    """A placeholder for a digest, which is computed on first use.

    For a million tasks the digest takes longer than solving many a problem on them.
    """
    return cast(str, digested)


class _Digest:
    """The attribute `instance_sha256`: text, or a placeholder until its first use."""

    def __get__(self, instance: object, owner: type) -> str:
        if instance is None:
            raise AttributeError(_DIGEST)
        value = instance.__dict__[_DIGEST]
        digest: str = value if isinstance(value, str) else value.sha256
        instance.__dict__[_DIGEST] = digest
        return digest

    def __set__(self, instance: object, value: str) -> None:
        instance.__dict__[_DIGEST] = value


#: The attribute, and the method that pickle calls.
_DIGEST, _STATE = "instance_sha256", "__getstate__"


def digested(kind: type[T]) -> type[T]:
    """Let a class of results take the placeholder of `digest_of`. A copy for another process has the text."""

    def state(instance: object) -> dict[str, Any]:
        return {**instance.__dict__, _DIGEST: getattr(instance, _DIGEST)}

    setattr(kind, _DIGEST, _Digest())
    setattr(kind, _STATE, state)
    return kind


@digested
@dataclass(frozen=True)
class Solution:
    """The result of solving a problem. The module's docstring says how to read it.

    Attributes
    ----------
    problem, parameters, instance_sha256
        What was solved.
    decision
        The best decision found, or None.
    objective
        Its value, one entry per component, as from `Problem.evaluate`; None without a decision.
    bound
        Proved bound of each component, in its natural sense. An entry is None if nothing is proved, as for a later
        component before the earlier ones are closed.
    termination, limit, raw_status
        Why it stopped, the limit that stopped it, and the solver's literal words.
    certificates
        One for each component with a bound, in the order of the components. If nothing is feasible: one of that
        (`FEASIBLE`), or none.
    route
        The route taken, as `solve(route=...)` would name it.
    build_seconds, solve_seconds
        Wall-clock time for building the model or network, and for solving.
    solver
        Names, versions and options of the engines that computed it.
    """

    noun: ClassVar[str] = "solution"

    problem: str
    parameters: Mapping[str, Any]
    instance_sha256: str
    decision: Decision | None
    objective: Value | None
    bound: tuple[Number | None, ...]
    termination: Termination
    limit: Limit | None
    certificates: tuple[Certificate, ...]
    route: str
    build_seconds: float
    solve_seconds: float
    solver: Mapping[str, Any]
    raw_status: str

    @property
    def optimal(self) -> bool:
        """Whether every component is closed at zero gap."""
        return self.termination is Termination.OPTIMAL

    @property
    def certificate(self) -> Proof | None:
        """The weakest kind of proof among the components, or that nothing is feasible; None if a bound lacks one."""
        needed = 1 if self.termination is Termination.INFEASIBLE else max(1, len(self.bound))
        if len(self.certificates) < needed:
            return None
        return Proof.weakest([certificate.kind for certificate in self.certificates])

    def raise_if_interrupted(self) -> None:
        """Raise KeyboardInterrupt if Ctrl-C cut the solver short."""
        if self.limit is Limit.INTERRUPTED:
            raise KeyboardInterrupt

    def frame(self) -> pd.DataFrame:
        """A row for each component, with its value and its bound.

        Returns
        -------
        pandas.DataFrame
            `component` (its name, None if nothing is proved about it), `objective`, `bound` (doubles, NaN if unknown),
            `proof`.
        """
        import pandas as pd

        objective = self.objective or (None,) * len(self.bound)
        proofs = [(proof.component, str(proof.kind)) for proof in self.certificates if proof.component != FEASIBLE]
        proofs += [(None, None)] * (len(self.bound) - len(proofs))  # type: ignore[list-item]
        rows = [
            (name, held, bound, kind) for (name, kind), held, bound in zip(proofs, objective, self.bound, strict=True)
        ]
        frame = pd.DataFrame(rows, columns=["component", "objective", "bound", "proof"], dtype=object)
        return frame.astype({"objective": float, "bound": float})

    def _repr_html_(self) -> str:
        return f"<p>{escape(str(self).splitlines()[0])}</p>{self.frame().to_html(na_rep='unknown', index=False)}"

    def __repr__(self) -> str:
        limit = f" (limit {self.limit})" if self.limit else ""
        proof = f", {self.certificate}" if self.certificate else ""
        held = f"objective {value_text(self.objective)}, bound {value_text(self.bound)}"
        return brief(f"Solution of {self.problem}: {self.termination}{limit}, {held}{proof}")

    def __str__(self) -> str:
        limit = f" (limit {self.limit})" if self.limit else ""
        proof = self.certificate or "none"
        return (
            f"{self.problem}: {self.termination}{limit}\n"
            f"  objective {value_text(self.objective)}\n"
            f"  bound     {value_text(self.bound)}\n"
            f"  proof     {proof}\n"
            f"  route     {self.route} in {self.build_seconds + self.solve_seconds:.3f} s"
        )


def value_text(value: Sequence[Number | None] | None) -> str:
    """A value in words, exactly: each component with commas between.

    >>> value_text((Fraction(1, 2), None))
    '1/2, unknown'
    """
    if value is None:
        return "unknown"
    return ", ".join("unknown" if entry is None else str(entry) for entry in value)


@digested
@dataclass(frozen=True)
class Frontier:
    """Pareto-optimal points by increasing first component: a sequence of `FrontierPoint`.

    `components` are the names of the two components. `complete` says whether all points are there; if not, `limit` is
    what stopped the search. `infeasible`, if there is no point, is the proof that nothing is feasible (of
    `results.FEASIBLE`); None if a task or node alone shows it, or nothing proves it. `optsched.frontier` sets
    `parameters` and `instance_sha256`.
    """

    noun: ClassVar[str] = "frontier"

    problem: str
    components: tuple[str, str]
    points: tuple[FrontierPoint, ...]
    complete: bool
    limit: Limit | None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    instance_sha256: str = ""
    infeasible: Certificate | None = None

    def __iter__(self) -> Iterator[FrontierPoint]:
        return iter(self.points)

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, index: int) -> FrontierPoint:
        return self.points[index]

    def __repr__(self) -> str:
        cut = "" if self.complete else f" (cut short: {self.limit})"
        return brief(f"Frontier of {self.problem}: {counted(len(self), 'point')} of {', '.join(self.components)}{cut}")

    def __str__(self) -> str:
        head = f"{self.problem}: {', '.join(self.components)}" + (
            "" if self.complete else f" (cut short: {self.limit})"
        )
        lines = [f"  {', '.join(map(str, point.objective))}  {point.certificate}" for point in self.points]
        if self.infeasible is not None:
            lines.append(f"  nothing is feasible  {self.infeasible.kind}")
        return "\n".join([head, *lines])

    def _repr_html_(self) -> str:
        return f"<p>{escape(str(self).splitlines()[0])}</p>{self.frame().to_html(index=False)}"

    def frame(self) -> pd.DataFrame:
        """A row for each point: a column for each component (doubles), and `proof`."""
        import pandas as pd

        columns: dict[str, Any] = {
            name: pd.Series([float(point.objective[position]) for point in self.points], dtype=float)
            for position, name in enumerate(self.components)
        }
        columns["proof"] = pd.Series([str(point.certificate) for point in self.points], dtype=object)
        return pd.DataFrame(columns)

    @property
    def values(self) -> list[Value]:
        """The objective of each point."""
        return [point.objective for point in self.points]
