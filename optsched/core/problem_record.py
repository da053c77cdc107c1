"""What a record of a problem says, and how the parts that it names are imported.

`optsched.core.registry` has these names too, for packages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from operator import attrgetter
from typing import Annotated, Any, get_args

from msgspec import Meta


@dataclass(frozen=True, slots=True)
class ProgramLimit:
    """The meaning of the limit of a problem's second program (`build_pyomo(problem, limit=...)`, `export --limit`).

    `meaning` is a noun for the limited quantity: "the makespan". The limit is rounded to multiples of one over
    `denominator`; 1: it must be a whole number, 0 or more; None: any fraction. `component` is the position of the
    limited component; of two, the other one is then the objective.
    """

    meaning: str
    denominator: int | None = 1
    component: int = 0


@dataclass(frozen=True, slots=True)
class KnownOptimum:
    """The optimum that `optsched self-test` solves: an instance of the library, by two routes that share no code."""

    instance: str
    routes: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Scaling:
    """How an optimum changes if an instance is written in other units.

    Attributes
    ----------
    powers
        For each component, the power of the factor by which it is multiplied.
    fields
        The fields that the factor multiplies: keys of each record of a part of the instance format. If neither these
        nor parameters are named, nothing has units, and every power is 0.
    parameters
        Parameters of the problem that are multiplied too.
    whole
        Whether all of these are whole numbers, so that they cannot be written in tenths.
    rounded
        Whether costs are rounded to the grid, so that the law holds only up to half a unit of it per rounding.
    """

    powers: tuple[int, ...]
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    parameters: tuple[str, ...] = ()
    whole: bool = False
    rounded: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.powers, tuple):
            raise TypeError(f"Scaling.powers is {self.powers!r}; give a tuple, one power a component")


def _said(words: str, pattern: str | None = None) -> Meta:
    """A description of a field's values, in words for messages."""
    return Meta(description=words, pattern=pattern)


_NAMES = 'texts "package.module:name"'

#: Names of parts, and of modules.
_Named = Annotated[str, _said('a text "package.module:name"', r"^[\w.]+:[\w.]+\Z")]
_Module = Annotated[str, _said('a text "package.module"', r"^[\w.]+\Z")]


def in_words(kind: Any) -> str:
    """What a field of this kind may contain."""
    descriptions = (one.description for one in getattr(kind, "__metadata__", ()) if one.description)
    return next(descriptions, None) or in_words(get_args(kind)[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Everything the program knows about one problem. The problem lacks what the record leaves out.

    Attributes
    ----------
    name
        The class's `name`, used on the command line.
    problem
        The class.
    models
        A module of models (`optsched.models.base.ModelModule`), for the routes `pyomo` and `pulp` and for `export`.
    routes
        A module of routes (`optsched.routes.base.RouteModule`). Without one there is `brute-force`, and the routes of
        the models if there are models. A class with its own program (`Programmed`) needs to name neither routes nor
        models nor provers.
    provers
        Functions that recompute a bound from a certificate's data, by the kind of the certificate:
        `(problem, certificate, value) -> bound`.
    enumeration
        An enumeration of placements that is quicker than judging each: `problem -> iterator of (value, nodes)`, the
        value as `minimised` compares it. For a problem that decides a schedule: `(problem, most) -> iterator of (value,
        (nodes, starts))`, which contains an optimum.
    network
        `problem -> FlowNetwork`: the compact flow network, for `export --to FILE.dimacs`.
    infeasible
        Recomputes from a certificate's data that nothing is feasible: `(problem, certificate) -> sentence`;
        CertificateInvalid if it does not prove that.
    unlimited
        `problem -> sentence or None`: the proof that a feasible decision can be improved for ever.
    limit
        What the limit of its second program means.
    frontier
        Whether its routes find every Pareto-optimal point (`optsched.routes.base.RouteModule`).
    frontier_gaps
        Names of the two figures that a gap gets from the frontier: how far the second component is from its least value
        at this first component, and the first from its least at this second.
    slots
        `problem -> slots of each node, or None`: if nodes only count the tasks that may use them (`usable`), a matching
        shows why nothing is feasible.
    runner
        For a problem that decides a schedule, runs a policy over time: `(problem, policy, seed, observers, heartbeat,
        assign) -> Simulation`.
    rivals
        What may contradict a solver's unproved claim: names of quick heuristics, and functions
        `problem -> decision or None`.
    known
        What the self-test solves.
    family, sizes
        The family of generated instances (`optsched list families`), and parameters that make one small enough to try
        every placement.
    variants
        Parameters of the problem, other than its defaults, with which the contract suite tries these instances too.
    scaling
        How its optimum changes in other units, for the contract suite (`optsched.testing`).
    ordered
        Parts of an instance file whose order matters to the problem, each with the parameters under which it does.
    """

    name: str
    problem: _Named
    models: _Module | None = None
    routes: _Module | None = None
    provers: Annotated[Mapping[str, _Named], _said(f"a mapping of kinds of certificates to {_NAMES}")] = field(
        default_factory=dict
    )
    enumeration: _Named | None = None
    network: _Named | None = None
    infeasible: _Named | None = None
    unlimited: _Named | None = None
    limit: Annotated[ProgramLimit | None, _said("a ProgramLimit")] = None
    frontier: Annotated[bool, _said("True or False")] = False
    frontier_gaps: Annotated[tuple[str, ...], _said("a tuple of two names of figures")] = ()
    slots: _Named | None = None
    runner: _Named | None = None
    rivals: Annotated[tuple[str, ...], _said(f"a tuple of names of heuristics and {_NAMES}")] = ()
    known: Annotated[KnownOptimum | None, _said("a KnownOptimum")] = None
    family: Annotated[str | None, _said("the name of a family")] = None
    sizes: Annotated[Mapping[str, Any], _said("a mapping of parameters of the family")] = field(default_factory=dict)
    variants: Annotated[tuple[Mapping[str, Any], ...], _said("a tuple of mappings of parameters")] = ()
    scaling: Annotated[Scaling | None, _said("a Scaling")] = None
    ordered: Annotated[
        Mapping[str, Mapping[str, Any]], _said("a mapping of parts of an instance file to mappings of parameters")
    ] = field(default_factory=dict)

    @property
    def problem_class(self) -> Any:
        """The class of the problem."""
        return imported(self.problem)


def imported(path: str) -> Any:
    """The object that `package.module:name` names, or the module if no name is given.

    >>> imported("math:floor")(2.5)
    2
    """
    module, _, name = path.partition(":")
    found = import_module(module)
    return attrgetter(name)(found) if name else found
