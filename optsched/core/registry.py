"""Every problem that optsched knows, with one record each: where its definition, models, routes and proofs are.

Only here does the program learn of a problem. A record names the parts as text (`package.module:name`). Each part is
imported on first use, so that one problem never loads another problem's engines.

A problem is looked up by its own class, never by a base class: the searches and proofs of a base class do not know what
a subclass changes. A class without a record can only be solved by trying every placement and judged by its own
`objective` and `violations`.

Other packages add records by entry points of the group `optsched.problems`; these come after the shipped ones. Their
fields and classes are checked when they are listed, their other parts on first use. Such a record may name a shipped
part only if the part fits its class (`_stranger`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from operator import attrgetter
from typing import Annotated, Any, get_args, get_type_hints

import msgspec
from msgspec import Meta

from optsched.core.deprecated import present_module
from optsched.core.errors import UsageError, described, nearest
from optsched.core.outside import Listed, raised

__all__ = [
    "GROUP",
    "SHIPPED",
    "KnownOptimum",
    "ProgramLimit",
    "Record",
    "Scaling",
    "altered",
    "fault_of",
    "package_of",
    "record",
    "record_of",
    "records",
]

#: Entry points of this group are records of problems.
GROUP = "optsched.problems"


@dataclass(frozen=True, slots=True)
class ProgramLimit:
    """The meaning of the limit of a problem's second program (`build_pyomo(problem, limit=...)`, `export --limit`).

    `meaning` is a noun for the limited quantity: "the makespan". The limit is rounded to multiples of one over
    `denominator`; 1: it must be a whole number, 0 or more; None: any fraction. `component` is the position of the
    limited
    component; of two, the other one is then the objective.
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
        nor
        parameters are named, nothing has units, and every power is 0.
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


def _said(words: str, pattern: str | None = None) -> Meta:
    """A description of a field's values, in words for messages."""
    return Meta(description=words, pattern=pattern)


_NAMES = 'texts "package.module:name"'

#: Names of parts, and of modules.
_Named = Annotated[str, _said('a text "package.module:name"', r"^[\w.]+:[\w.]+\Z")]
_Module = Annotated[str, _said('a text "package.module"', r"^[\w.]+\Z")]


def _in_words(kind: Any) -> str:
    """What a field of this kind may contain."""
    descriptions = (one.description for one in getattr(kind, "__metadata__", ()) if one.description)
    return next(descriptions, None) or _in_words(get_args(kind)[0])


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
        the
        models if there are models. A class with its own program (`Programmed`) needs to name neither routes nor models
        nor provers.
    provers
        Functions that recompute a bound from a certificate's data, by the kind of the certificate:
        `(problem, certificate, value) -> bound`.
    enumeration
        An enumeration of placements that is quicker than judging each: `problem -> iterator of (value, nodes)`, the
        value
        as `minimised` compares it. For a problem that decides a schedule: `(problem, most) -> iterator of
        (value, (nodes, starts))`, which contains an optimum.
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
        at
        this first component, and the first from its least at this second.
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


#: How the assignment problems are solved and proved: an exact network, or a table of costs.
_ASSIGNMENT: dict[str, Any] = {
    "routes": "optsched.routes.assignment",
    "provers": {"dual": "optsched.certificates.assignment:assignment_proof"},
    "enumeration": "optsched.solvers.searches.enumeration:assignments",
    "network": "optsched.solvers.searches.assignment:compact_network",
}

#: Hsu and Freeh's rates scale as a whole; each penalty is rounded.
_RATES = Scaling(
    (1,),
    {"nodes": ("rate_in", "rate_process", "running_rates"), "tasks": ("rate_in",)},
    parameters=("scale",),
    rounded=True,
)

#: Small instances of jobs over time: running tasks, busy slots, lost blocks, arrivals between the ends of tasks.
_SMALL_OVER_TIME: dict[str, Any] = {
    "nodes": 2,
    "tasks": 4,
    "reduces": 2,
    "jobs": 2,
    "groups": 2,
    "racks": 1,
    "replicas": 1,
    "slots": 2,
    "reduce_slots": 1,
    "longest": 9,
    "gap": 3,
    "distances": 5,
    "lost": 0.25,
    "running": 0.25,
    "busy": 0.25,
}

#: Times are in seconds, and so are the times of events.
_SECONDS = Scaling((1,), {"tasks": ("times", "duration", "start", "size"), "jobs": ("arrival",)})

#: The shipped problems, in the order in which they are listed.
SHIPPED = (
    Record(
        name="lsap",
        problem="optsched.problems.lsap:Lsap",
        models="optsched.models.lsap",
        **_ASSIGNMENT,
        rivals=("dl",),
        known=KnownOptimum("generated/planted-lsap-n30-t25-remote4-seed0", ("network", "pulp")),
        family="lsap",
        sizes={"nodes": 3, "tasks": 4, "slots": 2, "idle_ratio": 0.5, "replicas": 1, "racks": 2, "lost": 0.25},
        variants=({"levels": (0, 1, 2)},),
        scaling=Scaling((1,), parameters=("levels",), whole=True),
    ),
    Record(
        name="fair-lsap",
        problem="optsched.problems.fair_lsap:FairLsap",
        models="optsched.models.fair_lsap",
        **_ASSIGNMENT,
        rivals=("dl",),
        known=KnownOptimum("generated/planted-fair-lsap-n20-t30-remote3-seed0", ("network", "pulp")),
        family="fair-lsap",
        sizes={"nodes": 3, "tasks": 4, "slots": 2, "weights": "1,2"},
        variants=({"selection": "free"},),
        scaling=Scaling((1,), {"groups": ("weight",)}, parameters=("alpha", "fairness"), rounded=True),
        # Guo et al. 2012 take equal tasks into a group's ration in the order of the file.
        ordered={"tasks": {"selection": "fixed"}},
    ),
    Record(
        name="lsap-fairness",
        problem="optsched.problems.lsap_fairness:LsapFairness",
        models="optsched.models.lsap_fairness",
        routes="optsched.routes.lsap_fairness",
        provers={"dual": "optsched.certificates.assignment:lsap_fairness_proof"},
        enumeration="optsched.solvers.searches.enumeration:assignments",
        limit=ProgramLimit("the locality cost"),
        frontier=True,
        frontier_gaps=("fairness_gap_at_locality", "locality_gap_at_fairness"),
        rivals=("dl",),
        known=KnownOptimum("examples/running-tasks", ("arrays", "pulp")),
        family="lsap-fairness",
        sizes={"nodes": 3, "tasks": 4, "slots": 2, "idle_ratio": 0.5, "weights": "1,2,4", "replicas": 1, "lost": 0.5},
        variants=({"distance": "relative"},),
        scaling=Scaling((0, 0), {"groups": ("weight",)}),
    ),
    Record(
        name="worst-group",
        problem="optsched.problems.worst_group:WorstGroup",
        models="optsched.models.worst_group",
        routes="optsched.routes.by_program",
        provers={"dual": "optsched.certificates.programs:program_proof"},
        limit=ProgramLimit("the worst mean", None),
        rivals=("dl",),
        known=KnownOptimum("examples/worst-group", ("arrays", "pulp")),
        family="worst-group",
        sizes={
            "nodes": 4,
            "tasks": 4,
            "slots": 1,
            "idle_ratio": 1.0,
            "replicas": 1,
            "groups": 2,
            "racks": 2,
            "lost": 0.25,
        },
        variants=({"levels": (0, 1, 2)},),
        scaling=Scaling((1, 1), parameters=("levels",), whole=True),
    ),
    Record(
        name="flow",
        problem="optsched.problems.flow:Flow",
        models="optsched.models.flow",
        **_ASSIGNMENT,
        rivals=("dl", "balancing"),
        known=KnownOptimum("generated/planted-flow-n8-racks3-t20-seed0", ("network", "pulp")),
        family="flow",
        sizes={"nodes": 4, "tasks": 4, "slots": 2, "lost": 0.5},
        variants=({"scale": 1, "include_task": True},),
        scaling=_RATES,
    ),
    Record(
        name="flow-congestion",
        problem="optsched.problems.flow_congestion:FlowCongestion",
        models="optsched.models.flow_congestion",
        routes="optsched.routes.by_program",
        provers={"dual": "optsched.certificates.programs:program_proof"},
        enumeration="optsched.solvers.searches.enumeration:assignments",
        rivals=("flow-greedy", "balancing"),
        known=KnownOptimum("papers/hsu-frozen-load", ("arrays", "pulp")),
        family="flow",
        sizes={"nodes": 4, "tasks": 3, "slots": 2, "lost": 0.34, "reduces": 1},
        variants=({"scale": 1, "deviation": False, "weights": "shuffle"},),
        scaling=_RATES,
    ),
    Record(
        name="latency",
        problem="optsched.problems.latency:Latency",
        models="optsched.models.latency",
        routes="optsched.routes.latency",
        provers={"combinatorial": "optsched.certificates.latency:latency_proof"},
        enumeration="optsched.solvers.searches.enumeration:schedules",
        limit=ProgramLimit("the makespan"),
        frontier=True,
        frontier_gaps=("work_gap_at_makespan", "makespan_gap_at_work"),
        rivals=("flow-based", "labl"),
        known=KnownOptimum("generated/planted-latency-n20-seed0", ("search", "pulp")),
        family="latency",
        sizes={"nodes": 3, "tasks": 4, "replicas": 2, "lost": 0.25},
        variants=({"w_loc": 2, "w_rem": 5},),
        scaling=Scaling((1, 1), {"nodes": ("load",)}, parameters=("w_loc", "w_rem"), whole=True),
    ),
    Record(
        name="transmission-maps",
        problem="optsched.problems.transmission_maps:TransmissionMaps",
        models="optsched.models.transmission_maps",
        **_ASSIGNMENT,
        rivals=("least-cost",),
        known=KnownOptimum("papers/pna-largest-p", ("network", "pulp")),
        family="transmission",
        sizes={"nodes": 3, "tasks": 4, "replicas": 1, "spread": 9, "slots": 1},
        scaling=Scaling((1,), {"tasks": ("size",)}),
    ),
    Record(
        name="transmission-reduces",
        problem="optsched.problems.transmission_reduces:TransmissionReduces",
        models="optsched.models.transmission_reduces",
        routes="optsched.routes.transmission_reduces",
        provers={"dual": "optsched.certificates.transmission:transmission_reduces_proof"},
        rivals=("least-cost",),
        known=KnownOptimum("papers/pna-example-placed", ("arrays", "pulp")),
        family="transmission",
        sizes={"nodes": 4, "tasks": 4, "reduces": 4, "finished": 1, "spread": 9, "reduce_slots": 2, "running": 0.25},
        variants=({"distinct": False},),
        scaling=Scaling((1,), {"shuffle": ("size",)}),
    ),
    Record(
        name="transmission",
        problem="optsched.problems.transmission:Transmission",
        models="optsched.models.transmission",
        routes="optsched.routes.transmission",
        provers={"combinatorial": "optsched.certificates.transmission:transmission_proof"},
        rivals=("least-cost", "fifo"),
        known=KnownOptimum("papers/pna-example", ("search", "pulp")),
        family="transmission",
        sizes={
            "nodes": 2,
            "tasks": 3,
            "jobs": 2,
            "reduces": 3,
            "replicas": 1,
            "spread": 9,
            "slots": 1,
            "reduce_slots": 2,
            "finished": 0.34,
            "running": 0.34,
        },
        variants=({"distinct": False},),
        scaling=Scaling((1,), {"tasks": ("size",), "shuffle": ("size",)}),
    ),
    Record(
        name="utility",
        problem="optsched.problems.utility:Utility",
        models="optsched.models.utility",
        routes="optsched.routes.utility",
        provers={
            "dual": "optsched.certificates.utility:utility_proof",
            "combinatorial": "optsched.certificates.utility:utility_tree_proof",
        },
        enumeration="optsched.solvers.searches.enumeration:allocations",
        limit=ProgramLimit("a lowest utility that is asked for", 2**20),
        rivals=("ras", "fair-sharing"),
        known=KnownOptimum("papers/ras-endless-swap", ("thresholds", "pulp")),
        family="utility",
        sizes={"nodes": 2, "types": 2, "jobs": 3, "maps": 3, "reduces": 1, "room": 0.6, "running": 0.25},
        variants=({"reduces": "fixed", "tables": "smoothed"}, {"phase": "reduce"}),
        scaling=Scaling((0, 0), {"nodes": ("capacity",), "tasks": ("demand", "demand_shuffle")}),
    ),
    Record(
        name="traffic",
        problem="optsched.problems.traffic:Traffic",
        models="optsched.models.traffic",
        routes="optsched.routes.traffic",
        provers={"dual": "optsched.certificates.traffic:traffic_proof"},
        infeasible="optsched.certificates.traffic:no_room_proof",
        limit=ProgramLimit("the load of the fullest datacenter", component=1),
        frontier=True,
        rivals=("joss-t", "joss-j"),
        known=KnownOptimum("papers/joss-empty-datacenter", ("search", "pulp")),
        family="traffic",
        sizes={
            "nodes": 3,
            "datacenters": 3,
            "tasks": 2,
            "jobs": 2,
            "reduces": 2,
            "replicas": 2,
            "lost": 0.5,
            "finished": 2,
            "running": 2,
        },
        variants=({"capacity": "slots"}, {"capacity": "slots", "reduces": "free"}),
        scaling=Scaling((1, 0), {"tasks": ("size",)}),
    ),
    Record(
        name="generalized-assignment",
        problem="optsched.problems.generalized_assignment:GeneralizedAssignment",
        models="optsched.models.generalized_assignment",
        routes="optsched.routes.generalized_assignment",
        provers={
            "dual": "optsched.certificates.generalized_assignment:generalized_assignment_proof",
            "combinatorial": "optsched.certificates.generalized_assignment:capacity_tree_proof",
        },
        infeasible="optsched.certificates.generalized_assignment:no_packing_proof",
        enumeration="optsched.solvers.searches.enumeration:packings",
        slots="optsched.solvers.searches.generalized_assignment:slots_counted",
        rivals=("optsched.solvers.searches.generalized_assignment:greedy_packing",),
        known=KnownOptimum("examples/knapsacks", ("arrays", "brute-force")),
        family="generalized-assignment",
        sizes={"nodes": 3, "tasks": 4, "tightness": 1.5, "resources": 2, "barred": 0.25},
        variants=({"sense": "max"},),
        scaling=Scaling((1,), {"nodes": ("capacity",), "pairs": ("cost", "demand")}),
    ),
    Record(
        name="min-cost-flow",
        problem="optsched.problems.min_cost_flow:MinCostFlow",
        models="optsched.models.min_cost_flow",
        routes="optsched.routes.min_cost_flow",
        provers={"dual": "optsched.certificates.min_cost_flow:min_cost_flow_proof"},
        infeasible="optsched.certificates.min_cost_flow:no_flow_proof",
        unlimited="optsched.certificates.min_cost_flow:limitless_cycle",
        rivals=("optsched.solvers.searches.min_cost_flow:feasible_flow",),
        known=KnownOptimum("examples/negative-cycle", ("arrays", "network-simplex")),
        family="min-cost-flow",
        sizes={"nodes": 4, "arcs": 6, "units": 2, "bounded_below": 0.5},
        scaling=Scaling((1,), {"arcs": ("cost",)}, whole=True),
    ),
    Record(
        name="makespan",
        problem="optsched.problems.makespan:Makespan",
        models="optsched.models.makespan",
        routes="optsched.routes.schedules",
        provers={"dual": "optsched.certificates.schedules:schedule_proof"},
        enumeration="optsched.solvers.searches.enumeration:semi_active",
        runner="optsched.heuristics.simulating:run_posed",
        rivals=("fair", "dl"),
        known=KnownOptimum("examples/order-of-jobs", ("search", "brute-force")),
        family="makespan",
        sizes=_SMALL_OVER_TIME,
        variants=({"slowstart": 1}, {"service": "transfer"}),
        scaling=_SECONDS,
    ),
    Record(
        name="job-times",
        problem="optsched.problems.job_times:JobTimes",
        models="optsched.models.job_times",
        routes="optsched.routes.schedules",
        provers={"dual": "optsched.certificates.schedules:schedule_proof"},
        enumeration="optsched.solvers.searches.enumeration:semi_active",
        runner="optsched.heuristics.simulating:run_posed",
        rivals=("fair", "dl"),
        known=KnownOptimum("examples/order-of-jobs", ("search", "brute-force")),
        family="job-times",
        sizes=_SMALL_OVER_TIME,
        variants=({"weights": "group"}, {"slowstart": 1}, {"service": "transfer", "scale": 0.5}),
        scaling=_SECONDS,
    ),
)

#: Problems that are not posed by name: `sequential` derives them from `transmission-maps`.
_UNLISTED = (Record(name="ranked-maps", problem="optsched.heuristics.sequential:_Ranked", **_ASSIGNMENT),)


_BY_NAME = {entry.name: entry for entry in SHIPPED}
_BY_CLASS = {entry.problem: entry for entry in (*SHIPPED, *_UNLISTED)}

#: The parts of a problem that has its own program (`optsched.problems.programs`) and names none.
_BY_PROGRAM: dict[str, Any] = {
    "models": "optsched.models.programs",
    "routes": "optsched.routes.programs",
    "provers": {"dual": "optsched.certificates.programs:program_proof"},
}

#: Shipped parts that fit every class: they use its own `objective` and `violations`.
_FOR_ALL = ("optsched.routes.base", "optsched.solvers.searches.enumeration:judged")

#: Shipped parts that fit every class whose `program` has its own objective and constraints.
_FOR_PROGRAMS = (_BY_PROGRAM["models"], _BY_PROGRAM["routes"], *_BY_PROGRAM["provers"].values())

#: Shipped parts that fit base classes, besides the classes whose records name them: the bases, and what a subclass may
#: redefine beyond `left_open`. A network reads a table of costs; the enumeration calls `objective`.
_FOR_BASES: dict[str, dict[str, tuple[str, ...]]] = {
    **{
        part: {"optsched.problems.assignment:TabledProblem": ()}
        for part in (_ASSIGNMENT["routes"], _ASSIGNMENT["provers"]["dual"], _ASSIGNMENT["network"])
    },
    _ASSIGNMENT["enumeration"]: dict.fromkeys(
        ("optsched.problems.assignment:LevelledProblem", "optsched.problems.assignment:TabledProblem"),
        ("cheap_bounds", "first_step", "objective", "own_costs"),
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


# Records of packages outside ------------------------------------------------------------------------------------------


#: The names that a module or class of a record must have.
_HAVING = {
    "models": ("build_pyomo", "build_pulp", "literal_size", "decode", "start_values"),
    "routes": ("ROUTES", "by_route"),
    "frontier": ("frontier",),
}


def _fault(record: Record) -> str | None:
    """The fault of another package's record, as far as its fields and its class show it."""
    for name, kind in get_type_hints(Record, include_extras=True).items():
        value = getattr(record, name)
        with suppress(msgspec.ValidationError):
            if msgspec.convert(value, kind) == value:
                continue
        return f"its {name} is {value!r}; give {_in_words(kind)}"
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
    undefined = sorted(getattr(kind, "__abstractmethods__", ()))
    if undefined:
        return f"{record.problem} does not define {', '.join(undefined)}"
    named = getattr(kind, "name", None)
    return None if named == record.name else f'the name of {record.problem} is {named!r}, not "{record.name}"'


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


def _wrong_part(record: Record) -> str | None:
    """The fault of the first wrong part of a record."""
    for name, value in _parts(record):
        wrong = _lacking(name, value)
        if wrong is not None:
            return f"names {value!r} in its {name}: {wrong}"
    for name, value in _parts(record):
        for origin in sorted(_origins(value)) if name not in _TRIED else ():
            wrong = _stranger(record.problem_class, origin)
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
    for entry in (*SHIPPED, *_UNLISTED):
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


def _stranger(kind: type[Any], part: str) -> str | None:
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
    return _fault(record) or _wrong_part(record)


class _Records(Listed[Record]):
    """Records by their names. A package's record is checked with all parts when `whole` first asks for it."""

    def __init__(self) -> None:
        super().__init__(GROUP, Record, _BY_NAME, _BY_NAME.__getitem__, _fault)
        self._completed: dict[str, Record] = {}

    def completed(self, record: Record) -> Record:
        """The record with the parts that follow from its class; UsageError if it names a part that does not exist."""
        if record.name in _BY_NAME:
            return record
        if record.name not in self._completed:
            wrong = _wrong_part(record)
            if wrong is not None:
                raise UsageError(
                    f'the record of the problem "{record.name}" ({record.problem}) {wrong}; mend or uninstall the '
                    "package that brings it"
                )
            self._completed[record.name] = _by_program(record, imported(record.problem))
        return self._completed[record.name]


@cache
def records() -> _Records:
    """Every listed problem's record by its name, the shipped ones first.

    Installed packages are read for the first name that is not shipped, or for the whole list. The mapping then raises
    UsageError, with the package, if something is no record, a name is taken, or a field, class or module is wrong.
    """
    return _Records()


def record(name: str) -> Record:
    """The record of the problem called `name`; UsageError with the nearest name if there is none.

    >>> record("latency").problem
    'optsched.problems.latency:Latency'
    """
    if not isinstance(name, str):
        raise UsageError(f"a problem is named by a text, not by {described(name)}; {nearest(name, list(records()))}")
    if name not in records():
        known = [part.strip() for part in name.split(",")]
        mend = "give --problem once for each (Python: a list)" if len(known) > 1 and known[0] in records() else ""
        raise UsageError(f'there is no problem "{name}"; {mend or nearest(name, list(records()))}')
    return records().completed(records()[name])


def record_of(kind: type[Any]) -> Record:
    """The record of a class of problems; for a class that is not registered, a record of only the class.

    A package whose record cannot be read counts as not installed: the class is not its own. UsageError if another
    package's
    record names a part that does not exist.

    >>> from optsched.problems.lsap import Lsap
    >>> class Mine(Lsap):
    ...     pass
    >>> record_of(Lsap).routes, record_of(Mine).routes
    ('optsched.routes.assignment', None)
    """
    own = f"{kind.__module__}:{kind.__qualname__}"
    if own in _BY_CLASS:
        return _BY_CLASS[own]
    brought = _brought(kind)
    found = Record(name=kind.name, problem=own) if brought is None else records().completed(brought[0])
    return _by_program(found, kind)


def _by_program(record: Record, kind: type[Any]) -> Record:
    """A record with the parts that follow from the class's own program, if it names none."""
    if "program" not in vars(kind) or not issubclass(kind, imported("optsched.problems.programs:Programmed")):
        return record
    if record.routes is not None:
        return record
    first, *others = kind.components
    parts = _BY_PROGRAM | ({"limit": ProgramLimit(f"the {first.name}", None)} if others else {})
    return replace(record, **{name: part for name, part in parts.items() if not getattr(record, name)})


def package_of(kind: type[Any]) -> str | None:
    """The installed package that adds a class of problems; None: no package does."""
    brought = _brought(kind)
    return None if brought is None else brought[1]


def _brought(kind: type[Any]) -> tuple[Record, str] | None:
    """Another package's record that names this class, and the package."""
    found = None if kind.name in _BY_NAME else records().readable(kind.name)
    return found if found is not None and found[0].problem == f"{kind.__module__}:{kind.__qualname__}" else None
