"""The registry: each problem by its own class, nothing of a base class, and records of packages outside."""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, new_class
from typing import Any

import numpy as np
import pytest
from wrong_problems import WorstMean

from optsched.certificates import certify, proved_bound
from optsched.certificates.assignment import assignment_certificate
from optsched.core import registry
from optsched.core.errors import CertificateInvalid, Fault, InputError, TooLarge, UsageError
from optsched.core.instance import Cluster, Instance, Ints, Ragged, Workload
from optsched.core.placement import Placement
from optsched.core.problem_record import imported
from optsched.core.registry import ProgramLimit, Record, fault_of, record, record_of, records
from optsched.core.results import Bound, Certificate, Component, Proof, Sense, Value, Violation
from optsched.instances.generate import generate
from optsched.measuring.gaps import gap
from optsched.models import module, names
from optsched.problems import PROBLEMS, Flow, GeneralizedAssignment, Latency, Lsap, problem, problem_class
from optsched.problems.assignment import LevelledProblem, Pool, TabledProblem
from optsched.problems.base import Problem
from optsched.problems.counted_places import TaskClasses
from optsched.problems.parameters import Parameter, number
from optsched.routes import bounds, frontier, has_frontier, routes_of, solve
from optsched.solvers.searches.assignment import network_of, solve_assignment
from optsched.solvers.searches.enumeration import best_placement


def three_tasks() -> Instance:
    """Two of three tasks have their data on one node: the one that gives way should be of the larger group."""
    return Instance(
        Cluster(["a", "b", "c"]),
        Workload(
            ["p", "q", "r"],
            replicas=Ragged.from_rows([[0], [0], [1]]),
            job=np.array([0, 1, 1]),
            job_ids=["j1", "j2"],
            job_group=[0, 1],
            group_ids=["small", "large"],
        ),
    )


def test_a_class_instead_of_a_name() -> None:
    """Tests that the message on a class in place of a name says how to pose it, for problems alone."""
    with pytest.raises(UsageError, match=r"not by the class Lsap; pose it by Lsap\(instance\)"):
        problem(Lsap, three_tasks())  # type: ignore[call-overload]
    with pytest.raises(UsageError, match="not by the class dict; known: lsap"):
        record(dict)  # type: ignore[arg-type]


def test_bug_subclass_had_a_false_optimum_with_a_certificate() -> None:
    """Tests that a class without a record gets nothing of its base, whose network called 1 optimal: 1/2 is."""
    problem = WorstMean(three_tasks())
    assert routes_of(problem) == ("brute-force",)
    solution = solve(problem)
    assert (solution.objective, solution.certificate) == ((Fraction(1, 2),), Proof.ENUMERATION)
    assert certify(problem, solution).valid
    with pytest.raises(UsageError, match='has no route "network": no record names routes of its class'):
        solve(problem, route="network")
    for search in (solve_assignment, network_of):
        with pytest.raises(UsageError, match="no record names routes of WorstMean"):
            search(problem)
    prices = assignment_certificate(problem, 1, np.zeros(3, dtype=np.int64), np.zeros(1, dtype=np.int64))
    with pytest.raises(CertificateInvalid, match="worst-mean has no proof of kind dual"):
        proved_bound(problem, prices)
    with pytest.raises(UsageError, match="it has one component"):
        frontier(problem)
    with pytest.raises(
        TooLarge, match=r"WorstMean inherits program from AssignmentProblem: define program in WorstMean itself"
    ):
        best_placement(problem, most=5)
    assert gap(problem, lambda problem, rng: ["c", "a", "b"]).absolute_gap == (Fraction(1, 2),)


def test_bug_bounds_of_a_base_class_proved_a_false_optimum() -> None:
    """Tests that what a base states is not believed of a class without a record: no bound, no reason, no capacity."""
    problem = WorstMean(three_tasks())
    assert bounds(problem) == ()
    claim = Certificate("worst-mean", Proof.SOLVER, 1)
    held = problem.placement([2, 0, 1])
    false = replace(solve(problem), decision=held, objective=(1,), bound=(1,), certificates=(claim,))
    assert not certify(problem, false).proved

    class Loose(GeneralizedAssignment):
        def constraint_violations(self, placement: Placement) -> Iterator[Violation]:
            return iter(())

    base = generate("generalized-assignment", seed=0, nodes=2, tasks=3)
    small = replace(base, cluster=replace(base.cluster, capacity={"weight": np.zeros(2)}))
    assert GeneralizedAssignment(small).plainly_infeasible is not None
    assert solve(Loose(small)).optimal

    class Waiting(Latency):
        def constraint_violations(self, placement: Placement) -> Iterator[Violation]:
            return iter(())

        def objective(self, placement: Placement, /) -> Value:
            return (placement.placed, placement.placed)

    assert solve(Waiting(three_tasks())).objective == (0, 0)


def test_bug_proofs_that_the_decision_contradicts_were_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a bound beyond the value of the decision beside it is false, whatever proves it."""
    problem = Lsap(three_tasks())
    solution = solve(problem)
    monkeypatch.setattr("optsched.certificates.assignment.assignment_proof", lambda *given: 2)
    verdict = certify(problem, solution)
    assert verdict.contradicted == ("dual proof of locality-cost: proves 2, claimed 1, but the placement is worth 1",)
    monkeypatch.setattr(Lsap, "cheap_bounds", lambda self: (Bound("wrong", "locality-cost", 2, "", ""),))
    word = Certificate("locality-cost", Proof.SOLVER, 1)
    verdict = certify(problem, replace(solution, certificates=(word,)))
    assert verdict.contradicted == (
        "cheap bound wrong of locality-cost: proves 2, claimed 1, but the placement is worth 1",
    )


@pytest.mark.parametrize("name", list(records()))
def test_records_name_what_is_there(name: str) -> None:
    """Tests that each part that a record names can be imported, and that the class and the record have one name."""
    entry = records()[name]
    kind = entry.problem_class
    assert kind.name == entry.name == name
    assert record_of(kind) is entry is record(name)
    assert problem_class(name) is kind is PROBLEMS[name]
    parts = (entry.models, entry.routes, entry.enumeration, entry.network, entry.unlimited)
    rivals = (rival for rival in entry.rivals if ":" in rival)
    for part in (*parts, entry.infeasible, *entry.provers.values(), *rivals):
        assert part is None or imported(part) is not None
    assert str(kind.proof) in entry.provers
    assert (entry.models is not None) == (name in names())
    assert entry.models is None or module(name).__name__ == entry.models
    assert entry.frontier == (entry.routes is not None and hasattr(imported(entry.routes), "frontier"))


class Unfinished(Problem):
    """A problem without any definition."""


class Point:
    """An entry point of a package outside."""

    name, value, dist = "outside", "package:RECORD", None

    def __init__(self, loaded: Any) -> None:
        self.loaded = loaded

    def load(self) -> Any:
        return self.loaded


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Point]]:
    """Entry points of packages outside; the registry is as before when the test is over."""
    points: list[Point] = []
    brought = {registry.GROUP: points}
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **asked: brought.get(asked.get("group"), {}))
    records.cache_clear()
    yield points
    records.cache_clear()


def test_record_from_outside(outside: list[Point]) -> None:
    """Tests that a package's record stands after the shipped ones, and is found by name and by class."""
    entry = mean()
    outside.append(Point(entry))
    assert list(records())[-1] == list(PROBLEMS)[-1] == "worst-mean"
    assert problem_class("worst-mean") is WorstMean
    assert record_of(WorstMean) is entry
    with pytest.raises(UsageError, match='did you mean "worst-mean"'):
        problem_class("worst-meen")
    with pytest.raises(UsageError, match='there is no model of "worst-mean"'):
        module("worst-mean")


def mean(**given: Any) -> Record:
    """A record of the problem above, with other fields."""
    return Record(**{"name": "worst-mean", "problem": "wrong_problems:WorstMean"} | given)


FRONT: dict[str, Any] = {"routes": "json", "frontier": True}


@pytest.mark.parametrize(
    ("loaded", "message"),
    [
        (WorstMean, r"it must name a optsched\.core\.problem_record\.Record, or a tuple of them"),
        (mean(problem="no_such_module:Mine"), "cannot be loaded: ModuleNotFoundError: .*no_such_module"),
        (mean(problem=f"{__name__}:Mine"), "cannot be loaded: AttributeError: .*Mine"),
        (mean(name="mine"), 'the name of .*:WorstMean is .worst-mean., not "mine"'),
        (mean(problem="math:floor"), r"its problem, math:floor, is .*; give a subclass of .*base\.Problem"),
        (mean(problem=f"{__name__}:Point"), "is the class Point; give a subclass of"),
        (mean(problem="optsched.problems:Lsap"), 'is a class of another place; give "optsched.problems.lsap:Lsap"'),
        (mean(problem=f"{__name__}:Unfinished"), "not define components, constraint_violations, missing, name, obj"),
        (mean(models="no_such_module"), 'there is no module "no_such_module"'),
        (mean(routes="no.such.module"), "cannot be loaded: ModuleNotFoundError"),
        (mean(problem=None), 'its problem is None; give a text "package.module:name"; mend it, or uninstall a package'),
        (mean(enumeration="package"), "its enumeration is 'package'; give a text \"package.module:name\""),
        (mean(models="package:name"), "its models is 'package:name'; give a text \"package.module\""),
        (mean(provers={"dual": 5}), 'give a mapping of kinds of certificates to texts "package.module:name"'),
        (mean(limit=5), "its limit is 5; give a ProgramLimit"),
        (mean(frontier=1), "its frontier is 1; give True or False"),
        (mean(rivals="dl"), 'give a tuple of names of heuristics and texts "package.module:name"'),
        (mean(known=5), "its known is 5; give a KnownOptimum"),
        (mean(family=5), "its family is 5; give the name of a family"),
        (mean(sizes={3: 4}), "give a mapping of parameters of the family"),
        (mean(variants=({}, 5)), "give a tuple of mappings of parameters"),
        (mean(scaling=5), "its scaling is 5; give a Scaling"),
        (mean(frontier=True), "its frontier is True, but it names no routes that find one"),
        (mean(**FRONT, frontier_gaps=("one", "two", "three")), "it names figures of the frontier; give two"),
        (mean(frontier_gaps=("one", "two")), "it names figures of the frontier; give two, where its frontier is True"),
        # `certify` believed the provers of a base class, and proved the base's optimum.
        (mean(provers=record("lsap").provers), "it names provers, but no routes that give what these prove"),
    ],
)
def test_faults_of_packages_outside(outside: list[Point], loaded: Any, message: str) -> None:
    """Tests that what is wrong with a package's record is shown with the entry point, and shipped names still work."""
    outside.append(Point(loaded))
    with pytest.raises(UsageError, match=message) as caught:
        list(records())
    assert 'entry point "outside = package:RECORD" of a package (optsched.problems)' in str(caught.value)
    assert record("lsap").name == "lsap"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"routes": "json"}, "'json' in its routes: it has no ROUTES"),
        ({"models": "json"}, "'json' in its models: it has no build_pyomo"),
        ({"enumeration": "no_such_module:name"}, "in its enumeration: it cannot be loaded: ModuleNotFoundError"),
        ({"network": "math:pi"}, "'math:pi' in its network: it is .*, which is no function"),
        ({"infeasible": "math:no_such"}, "in its infeasible: it cannot be loaded"),
        ({"unlimited": "math:no_such"}, "in its unlimited: it cannot be loaded"),
        ({"provers": {"dual": "math:no"}, "routes": "optsched.routes.assignment"}, "'math:no' in its provers: it cann"),
        ({"frontier": True, "routes": "optsched.routes.assignment"}, "assignment' in its frontier: it has no frontier"),
        ({"rivals": ("dl", "last-cost")}, '.last-cost. in its rivals: there is no such heuristic; .*"least-cost"'),
        ({"rivals": ("math:no_such",)}, "'math:no_such' in its rivals: it cannot be loaded"),
        ({"family": "lsapp"}, '.lsapp. in its family: there is no such family; did you mean "lsap"?'),
    ],
)
def test_parts_of_records_from_outside(outside: list[Point], given: dict[str, Any], message: str) -> None:
    """Tests that a part that is not there is said when the problem is first asked for, and every time; not in lists."""
    outside.append(Point(mean(**given)))
    assert "worst-mean" in list(records())
    problem = WorstMean(three_tasks())
    asks = (lambda: record("worst-mean"), lambda: record_of(WorstMean), lambda: solve(problem))
    for ask in (*asks, asks[0]):
        with pytest.raises(UsageError, match=message) as caught:
            ask()
        assert str(caught.value).startswith('the record of the problem "worst-mean" (wrong_problems:WorstMean) names ')
        assert str(caught.value).endswith("; mend it, or uninstall a package")


def test_bug_an_unknown_frontier_imported_the_routes_of_every_record(
    outside: list[Point], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that what names the problems with a frontier asks their records, and imports no part of any."""
    (tmp_path / "broken_routes.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    outside.append(Point(mean(routes="broken_routes")))
    with pytest.raises(UsageError, match="problems with a frontier: lsap-fairness, latency, traffic"):
        frontier(Lsap(three_tasks()))


#: What a record names beside its class, its family and its rivals.
PARTS = ("models", "routes", "provers", "enumeration", "network", "infeasible", "unlimited", "frontier_gaps")
PARTS += ("slots", "runner", "limit", "frontier")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Record]:
    """Makes a class of a package outside, and its record with the parts of a shipped one."""
    package = ModuleType("made_outside")
    monkeypatch.setitem(sys.modules, package.__name__, package)

    def make(entry: Record, *bases: type[Any], parts: Iterable[str] = PARTS, **defined: Any) -> Record:
        there = {"__module__": package.__name__, "name": f"mine-{entry.name}", **defined}
        kind = new_class("Mine", bases or (entry.problem_class,), exec_body=lambda body: body.update(there))
        kind.__abstractmethods__ = frozenset()  # it is about parts; no problem is posed by what a base lacks
        monkeypatch.setattr(package, "Mine", kind, raising=False)
        named = {part: getattr(entry, part) for part in parts}
        return Record(name=there["name"], problem="made_outside:Mine", **named)

    return make


@pytest.mark.filterwarnings("ignore::optsched.problems.fair_lsap.RationRuleWarning")
@pytest.mark.parametrize("name", [entry.name for entry in registry.SHIPPED])
def test_a_new_name_changes_nothing(outside: list[Point], made: Callable[..., Record], name: str) -> None:
    """Tests that a subclass that is only called otherwise has what its base has, and the same optimum, proved."""
    entry = record(name)
    assert entry.family is not None
    expected = {"title": "mine", "paper": "", "requires": ("all",), "__doc__": "Mine.", "helper": lambda self: 5}
    mine = made(entry, components=tuple(entry.problem_class.components), **expected)
    outside.append(Point(mine))
    drawn = generate(entry.family, **entry.sizes)
    problem, base = mine.problem_class(drawn), entry.problem_class(drawn)
    assert routes_of(problem) == routes_of(base)
    best = solve(base)
    for route in (None, routes_of(problem)[1]):
        solution = solve(problem, route=route)
        assert solution.objective == best.objective
        verdict = certify(problem, solution)
        assert verdict.valid
        assert route or verdict.proved == certify(base, best).proved
    assert [bound.value for bound in bounds(problem)] == [bound.value for bound in bounds(base)]
    if entry.frontier:
        assert [point.objective for point in frontier(problem)] == [point.objective for point in frontier(base)]


@pytest.mark.parametrize("name", [entry.name for entry in registry.SHIPPED])
def test_bug_parts_of_another_problem_proved_a_false_optimum(made: Callable[..., Record], name: str) -> None:
    """Tests that each part is refused for a subclass that defines any attribute of its base anew: `certify` agreed."""
    entry = record(name)
    base = entry.problem_class
    assert fault_of(made(entry)) is None
    there = {attribute for each in base.__mro__ for attribute in vars(each) if not attribute.startswith("__")} - WORDS
    assert {"objective", "violations", "prepare", "cheap_bounds", "parameter_table"} < there
    for attribute in sorted({"__init__", *there}):
        text = f": it knows {base.__name__}, and Mine defines {attribute} anew; name one of its own, or none"
        assert str(fault_of(made(entry, **{attribute: property(lambda self: 5)}))).endswith(text)
    for part in PARTS:
        trusted = getattr(entry, part) and part not in ("runner", "limit", "frontier", "frontier_gaps")
        only = made(entry, parts=[part], prepare=lambda self: None)
        wrong = fault_of(replace(only, routes="wrong_problems") if part == "provers" else only)
        text = wrong is not None and re.search(f" in its {part}: it (?:knows|takes the program of) ", wrong)
        assert bool(text) == bool(trusted), part


#: What a subclass may call otherwise, and what Python keeps there.
WORDS = {"name", "title", "paper", "requires", "proof", "remark", "details", "told", "_abc_impl"}


class Mixed:
    """What a class takes from elsewhere."""

    def objective(self, placement: Placement, /) -> Value:
        return (7,)


def test_parts_of_another_problem_by_other_ways(
    outside: list[Point], made: Callable[..., Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that an objective of a mixed-in class counts, and a part that a module of the package hands on."""
    lsap = record("lsap")
    mixed = made(lsap, Mixed, Lsap)
    outside.append(Point(mixed))
    problem = mixed.problem_class(three_tasks())
    claimed = replace(solve(Lsap(three_tasks())), problem="mine-lsap")
    text = "in its models: it knows Lsap, and Mine defines objective anew; name one of its own, or none; mend it, or"
    for way in (solve, bounds, frontier, routes_of, has_frontier, lambda problem: certify(problem, claimed)):
        with pytest.raises(UsageError, match=text):
            way(problem)
    with pytest.raises(UsageError, match=text):
        module("mine-lsap")
    assert fault_of(made(lsap, Lsap, Mixed)) is None  # the objective of Lsap comes first
    for part in ("routes", "models"):
        handing = ModuleType("handing")
        for name in ("ROUTES", "by_route", "build_pyomo", "build_pulp", "literal_size", "decode", "start_values"):
            setattr(handing, name, getattr(imported(getattr(lsap, part)), name, None))
        monkeypatch.setitem(sys.modules, "handing", handing)
        handing.__spec__ = ModuleSpec("handing", None)
        given = replace(made(lsap, Mixed, Lsap, parts=()), **{part: "handing"})
        assert f"names 'handing' in its {part}: it knows Lsap" in str(fault_of(given))
    monkeypatch.setattr(sys.modules["made_outside"], "prove", imported(lsap.provers["dual"]), raising=False)
    given = replace(made(lsap, Mixed, Lsap, parts=()), routes="wrong_problems", provers={"dual": "made_outside:prove"})
    assert "names 'made_outside:prove' in its provers: it knows Lsap" in str(fault_of(given))
    stranger = replace(made(lsap, parts=()), models="optsched.models.latency")
    assert "in its models: it knows Latency, and Mine is no subclass; name" in str(fault_of(stranger))
    nobody = replace(made(lsap, parts=()), slots="optsched.core.decimals:decimal")
    assert "in its slots: it knows no problem, and Mine is no subclass; name" in str(fault_of(nobody))
    judged = replace(made(lsap, Mixed, Lsap, parts=()), routes="optsched.routes.base")
    assert fault_of(replace(judged, enumeration="optsched.solvers.searches.enumeration:judged")) is None
    with pytest.warns(DeprecationWarning, match="use optsched.solvers.searches.enumeration.judged"):
        assert fault_of(replace(judged, enumeration="optsched.searches.enumeration:judged")) is None


@pytest.mark.parametrize("name", [entry.name for entry in registry.SHIPPED])
def test_bug_parts_without_what_they_take_for_granted(made: Callable[..., Record], name: str) -> None:
    """Tests that routes without their provers and models without their limit are shown; a solver was blamed before."""
    entry = record(name)
    bare = made(entry, parts=["routes"])
    text = f"names the routes of {name} without its provers of kind {', '.join(sorted(entry.provers))}"
    assert text in str(fault_of(bare))
    assert fault_of(replace(bare, provers=entry.provers)) is None
    wrong = ProgramLimit("another", 7)
    for limit in {None, wrong} - {entry.limit}:
        text = f"names the models of {name} without its limit: give {entry.limit}"
        assert fault_of(replace(made(entry, parts=["models"]), limit=limit)) == text
    assert fault_of(made(entry, parts=["models", "limit"])) is None


def test_an_inherited_program_is_of_the_inherited_objective(made: Callable[..., Record]) -> None:
    """Tests that the parts that take any program refuse a shipped one beside another objective."""
    congestion = record("flow-congestion")
    parts: Any = {"routes": "optsched.routes.programs", "models": "optsched.models.programs"}
    text = "in its models: it takes the program of FlowCongestion, and Mine defines objective anew; define program too"
    assert text in str(fault_of(replace(made(congestion, parts=(), objective=Mixed.objective), **parts)))
    assert fault_of(replace(made(congestion, parts=()), **parts)) is None
    own = {"objective": Mixed.objective, "program": lambda self, before: None}
    assert fault_of(replace(made(congestion, parts=(), **own), **parts)) is None


def test_setters_of_what_the_base_works_out(made: Callable[..., Record]) -> None:
    """Tests that a property that takes what the base works out is refused, and one that cannot be set is not."""
    lsap = record("lsap")
    hiding = property(lambda self: (0, 1, 5), lambda self, levels: None)
    assert "it knows Lsap, and Mine defines levels anew" in str(fault_of(made(lsap, levels=hiding)))
    assert fault_of(made(lsap, own=property(lambda self: 5))) is None


def test_shared_parts_know_a_base_class(made: Callable[..., Record]) -> None:
    """Tests that the networks take any table of costs, the enumeration any objective, and nothing beyond that."""
    shared = ("routes", "provers", "network", "enumeration")
    flow, fairness = record("flow"), record("lsap-fairness")
    own = {name: vars(Flow)[name] for name in ("grid", "made_classes", "missing", "prepare_costs", "table")}
    words = {name: vars(Flow)[name] for name in ("title", "components", "parameter_table", "proof")}
    own |= words
    assert fault_of(made(flow, TabledProblem, parts=shared, **own)) is None
    for name in ("pair_units", "price_bound", "constraint_violations"):
        wrong = fault_of(made(flow, TabledProblem, parts=shared, **own, **{name: lambda self: 5}))
        assert f"it knows TabledProblem, and Mine defines {name} anew" in str(wrong)
    assert fault_of(made(fairness, LevelledProblem, parts=["enumeration"], **words, objective=Mixed.objective)) is None
    wrong = fault_of(made(flow, LevelledProblem, parts=["routes"], **words))
    assert "knows Lsap, FairLsap, Flow, TransmissionMaps, _Ranked, TabledProblem, and Mine is" in str(wrong)


class Tabled(TabledProblem):
    """Costs of its own for each pair, and two pools that may be too small."""

    name = "tabled"
    title = paper = ""
    components = (Component("cost", Sense.MIN, ""),)
    parameter_table = (Parameter("room", 3, number(), ""), Parameter("cost", 2, number(), ""))
    requires = ()
    proof = Proof.DUAL

    @classmethod
    def missing(cls, instance: Instance, parameters: Mapping[str, Any]) -> Iterator[Fault]:
        return iter(())

    def prepare_costs(self) -> None:
        super().prepare_costs()
        self.pools = (Pool("all", ((1, self.parameters["room"]),)),)

    def made_classes(self) -> TaskClasses:
        return TaskClasses.from_keys(range(len(self.tasks)))

    def table(self, positions: Ints) -> Ints:
        return self.parameters["cost"] * (positions[:, None] + self.idle_nodes % 2)


def test_own_costs_in_shipped_networks(outside: list[Point]) -> None:
    """Tests that a table of a package's own is solved and proved by the networks, pools and numbers past limits not."""
    parts: Any = {part: getattr(record("flow"), part) for part in ("routes", "provers", "network", "enumeration")}
    outside.append(Point(Record(name="tabled", problem=f"{__name__}:Tabled", **parts)))
    for cost in (2, -2):
        problem = Tabled(three_tasks(), cost=cost)
        for route in routes_of(problem):
            solution = solve(problem, route=route)
            assert solution.objective == best_placement(problem)[0]  # type: ignore[index]
            assert certify(problem, solution).proved or route == "brute-force"
    with pytest.raises(UsageError, match=r'tabled: the pool "all" has 3 tasks, and too few in its tiers'):
        Tabled(three_tasks(), room=2)
    with pytest.raises(InputError, match="costs may total too much"):
        Tabled(three_tasks(), cost=-(2**52))


class Inheriting(Lsap):
    """Another objective, and routes of its own, beside what it inherits."""

    name = "inheriting"

    def objective(self, placement: Placement, /) -> Value:
        return (0,)


class Heir(Inheriting):
    """A bound of its own."""

    name = "heir"

    def cheap_bounds(self) -> tuple[Bound, ...]:
        return (Bound("own", "locality-cost", 0, "", ""),)


class Grandchild(Heir):
    """A third objective, and the bound of another."""

    name = "grandchild"

    def objective(self, placement: Placement, /) -> Value:
        return (-1,)


def test_bug_an_inherited_bound_was_believed_beside_another_objective(outside: list[Point]) -> None:
    """Tests that a cheap bound is believed of the class that states it, and of no subclass with another objective."""
    for kind in (Inheriting, Heir, Grandchild):
        outside.append(Point(Record(name=kind.name, problem=f"{__name__}:{kind.__name__}", routes="wrong_problems")))
    values = [[bound.value for bound in bounds(kind(three_tasks()))] for kind in (Inheriting, Heir, Grandchild)]
    assert values == [[], [0], []]


def test_bug_broken_package_stopped_classes_of_others(outside: list[Point]) -> None:
    """Tests that a broken package is as if absent for a class without a record, and for one of another package."""
    outside.append(Point(5))
    problem = WorstMean(three_tasks())
    assert record_of(WorstMean) == mean()
    assert solve(problem).objective == (Fraction(1, 2),)
    entry = mean(rivals=("dl",))
    outside.append(Point(entry))
    records.cache_clear()
    assert record_of(WorstMean) is entry
    with pytest.raises(UsageError, match="names an int"):
        list(records())


def test_bug_a_registered_program_had_no_parts_by_its_name(outside: list[Point]) -> None:
    """Tests that a class with a program of its own has its models, routes and provers by name as by class."""
    outside.append(Point(Record(name="gathering", problem="programmed:Gathering")))
    found = record("gathering")
    assert found == record_of(found.problem_class)
    assert (found.models, found.routes) == ("optsched.models.programs", "optsched.routes.programs")
    assert module("gathering").__name__ == "optsched.models.programs"
