"""Wrong kinds of arguments end in one message that says what to do, in every public function."""

import math
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import optsched
from optsched import models
from optsched.core.errors import InputError, UsageError
from optsched.core.placement import Placement
from optsched.heuristics import applicable, run
from optsched.instances import claim_files
from optsched.instances.generate import generate
from optsched.instances.library import library
from optsched.measuring.gaps import Reference
from optsched.measuring.judging.findings import check_asked
from optsched.measuring.matrix import gap_matrix, posable
from optsched.measuring.reproducing import figure
from optsched.measuring.studies.checks import Check
from optsched.measuring.sweeping.plans import planned
from optsched.measuring.timelines import regret
from optsched.models.export import about
from optsched.problems import PROBLEMS, Latency, Lsap, MinCostFlow
from optsched.routes import has_frontier, routes_of
from optsched.routes.doubts import enumerated
from optsched.solvers.algebraic import solve_pulp, solve_pyomo
from optsched.solvers.answers import LinearProgram
from optsched.solvers.highs import solve_arrays
from optsched.solvers.profiles import load_profile
from optsched.solvers.searches.assignment import solve_assignment

INSTANCE, NETWORK = "papers/guo-fig2", "examples/negative-cycle"


#: What is given in place of what is wanted, by the name of its kind.
GIVEN: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "text": lambda: "papers/no-such",
    "path": lambda: Path("no-such.json"),
    "dict": dict,
    "list": lambda: ["a", 2],
    "number": lambda: -3,
    "nan": lambda: math.nan,
    "class": lambda: Lsap,
    "instance": lambda: lsap().instance,
    "network": lambda: optsched.load(NETWORK),
    "problem": lambda: optsched.problem("lsap", INSTANCE),
    "other problem": lambda: optsched.problem("latency", INSTANCE),
    "flow problem": lambda: optsched.problem("min-cost-flow", NETWORK),
    "solution": lambda: optsched.solve(lsap()),
}


@cache
def made(kind: str) -> Any:
    """One of a kind."""
    return GIVEN[kind]()


over_time = partial(optsched.problem, "makespan", "examples/order-of-jobs")
lsap, latency, flow = (partial(made, kind) for kind in ("problem", "other problem", "flow problem"))
network, solution = partial(made, "network"), partial(made, "solution")


def program() -> Any:
    """A linear program."""
    none, one = np.zeros(0), np.ones(1)
    return LinearProgram(one, 0 * one, one, np.array([True]), none, none, sp.csr_array((0, 1)))


PLACING = {"problem", "other problem"}
ANY_PROBLEM = {*PLACING, "flow problem"}

#: Each public function with one argument to get wrong, and the kinds that it takes.
CALLS: dict[str, tuple[Callable[[Any], Any], set[str]]] = {
    "load": (optsched.load, set()),
    "save": (lambda given: optsched.save(given, "saved.json"), {"instance", "network"}),
    "save to": (lambda given: optsched.save(lsap().instance, given), {"path"}),
    "problem of a name": (lambda given: optsched.problem(given, INSTANCE), set()),
    "problem on": (lambda given: optsched.problem("lsap", given), {"instance"}),
    "min-cost-flow on": (lambda given: optsched.problem("min-cost-flow", given), {"network"}),
    "class on": (Latency, {"instance"}),
    "solve": (optsched.solve, ANY_PROBLEM),
    "solve with profile": (lambda given: optsched.solve(lsap(), given), set()),
    "solve from start": (lambda given: optsched.solve(lsap(), start=given), {"None"}),
    "solve a flow from start": (lambda given: optsched.solve(flow(), start=given), {"None"}),
    "solve by route": (lambda given: optsched.solve(lsap(), route=given), {"None"}),
    "solve in time": (lambda given: optsched.solve(lsap(), time_limit=given), {"None"}),
    "claims of": (optsched.claims, {"None"}),
    "bounds": (optsched.bounds, ANY_PROBLEM),
    "frontier": (optsched.frontier, {"other problem"}),
    "frontier with profile": (lambda given: optsched.frontier(latency(), given), set()),
    "frontier in time": (lambda given: optsched.frontier(latency(), time_limit=given), {"None"}),
    "frontier by route": (lambda given: optsched.frontier(latency(), route=given), {"None"}),
    "routes_of": (routes_of, ANY_PROBLEM),
    "has_frontier": (has_frontier, ANY_PROBLEM),
    "certify": (lambda given: optsched.certify(given, solution()), ANY_PROBLEM),
    "certify of": (lambda given: optsched.certify(lsap(), given), {"solution"}),
    "certify against": (lambda given: optsched.certify(lsap(), solution(), given), {"None", "dict"}),
    "certify with": (lambda given: optsched.certify(lsap(), solution(), None, given), {"None"}),
    "gap": (lambda given: optsched.gap(given, "lsap-sched"), {"problem"}),
    "gap of": (lambda given: optsched.gap(lsap(), given), {"dict", "solution"}),
    "gap with seed": (lambda given: optsched.gap(lsap(), "dl", seed=given), set()),
    "gap against": (lambda given: optsched.gap(lsap(), "dl", reference=given), {"None", "solution"}),
    "gap with profile": (lambda given: optsched.gap(lsap(), "dl", profile=given), set()),
    "gap in time": (lambda given: optsched.gap(lsap(), "dl", time_limit=given), {"None"}),
    "within": (lambda given: optsched.gap(lsap(), "dl").raise_unless_within(given), set()),
    "Reference": (Reference, PLACING),
    "Reference by": (lambda given: Reference(lsap(), solution=given), {"None", "solution"}),
    "run": (lambda given: run(given, "dl"), {"problem"}),
    "run of": (lambda given: run(lsap(), given), {"dict", "solution"}),
    "run with seed": (lambda given: run(lsap(), "dl", given), set()),
    "run in time": (lambda given: run(lsap(), "dl", time_limit=given), {"None"}),
    "run in rounds": (lambda given: run(lsap(), "dl", max_idle_rounds=given), {"None"}),
    "run observed by": (lambda given: run(lsap(), "dl", observers=[None if given is Lsap else given]), set()),
    "run observed": (lambda given: run(lsap(), "dl", observers=given), set()),
    "applicable": (applicable, PLACING),
    "generate": (generate, set()),
    "generate with seed": (lambda given: generate("lsap", given), set()),
    "library": (library, {"None"}),
    "load_profile": (load_profile, set()),
    "read_solution": (lambda given: claim_files.read_solution(given, lsap().instance), set()),
    "write_solution": (lambda given: claim_files.write_claim(given, lsap().instance, "/dev/null"), {"solution"}),
    "write_solution on": (lambda given: claim_files.write_claim(solution(), given, "/dev/null"), {"instance"}),
    "write_solution to": (lambda given: claim_files.write_claim(solution(), lsap().instance, given), {"path"}),
    "gap_matrix": (gap_matrix, set()),
    "gap_matrix of": (lambda given: gap_matrix([given], {"dl": ("dl", {})}), {"problem"}),
    "gap_matrix with rows": (lambda given: gap_matrix([lsap()], given), {"None", "dict"}),
    "study": (lambda given: optsched.study(given, "lsap", "dl"), {"instance"}),
    "study in": (lambda given: optsched.study(INSTANCE, given, "dl"), {"dict"}),
    "study of": (lambda given: optsched.study(INSTANCE, "lsap", given), {"dict", "solution"}),
    "study with seeds": (lambda given: optsched.study(INSTANCE, "lsap", "dl", given), {"None"}),
    "study with parameters": (lambda given: optsched.study(INSTANCE, "lsap", "dl", parameters=given), {"None", "dict"}),
    "sweep with parameters": (lambda given: planned(INSTANCE, "lsap", "dl", parameters=given), {"None", "dict"}),
    "check with baseline": (lambda given: Check.of("dl", INSTANCE, "lsap", baseline=given), {"None", "text", "path"}),
    "check with certify": (lambda given: Check.of("dl", INSTANCE, "lsap", certify=given), {"dict"}),
    "decompose": (lambda given: optsched.decompose(given, "fifo"), set()),
    "decompose with seeds": (lambda given: optsched.decompose(over_time(), "fifo", given), set()),
    "mine with seed": (lambda given: optsched.mine("dl", "lsap", seed=given, budget=1), set()),
    "judge or reproduce with seeds": (lambda given: check_asked("quick", given), {"None"}),
    "stored": (lambda given: figure("guo-2012/4a").stored(given), set()),
    "regret": (lambda given: regret(given, "lsap"), set()),
    "enumerated": (enumerated, ANY_PROBLEM),
    "about": (about, ANY_PROBLEM),
    "solve_arrays with profile": (lambda given: solve_arrays(program(), given), set()),
    "models.module": (models.module, set()),
    "with_state": (lambda given: lsap().instance.with_state(given), set()),
    "placement": (lambda given: lsap().placement(given), set()),
    "violations": (lambda given: lsap().violations(given), set()),
    "evaluate": (lambda given: lsap().evaluate(given), set()),
    "violations of a flow": (lambda given: flow().violations(given), set()),
}


@pytest.mark.parametrize("call", CALLS)
def test_wrong_kind_of_argument(call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that each kind of thing that a function does not take is refused in one line, by its own error."""
    monkeypatch.chdir(tmp_path)
    function, takes = CALLS[call]
    for kind in GIVEN:
        value = made(kind)
        if kind in takes:
            function(value)
            continue
        with pytest.raises((UsageError, InputError)) as caught:
            function(value)
        message = str(caught.value)
        assert message, (call, kind)
        assert "object has no attribute" not in message, (call, kind, message)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("function", ["build_pyomo", "build_pulp", "literal_size", "decode"])
def test_models_take_their_own_problem(name: str, function: str) -> None:
    """Tests that what builds and decodes models refuses what is no problem, another problem, and what is no model."""
    module = models.module(name)
    called = getattr(module, function)
    other = latency() if name == "lsap" else lsap()
    before = (None,) if function == "decode" else ()
    for given in (None, "papers/guo-fig2", other.instance, PROBLEMS[name], {}):
        with pytest.raises(UsageError, match=f"{function} takes a problem, not"):
            called(*before, given)
    with pytest.raises(UsageError, match=f"takes the problem {name}, not {other.name}"):
        called(*before, other)
    with pytest.raises(UsageError, match=f"{function} takes the problem"):
        called(*before, problem=other)


def test_decode_of_another_model() -> None:
    """Tests that decoding what is no model, and a model of another problem, says what is wanted."""
    of_lsap, of_latency = models.module("lsap"), models.module("latency")
    with pytest.raises(UsageError, match=r"decode takes a model of lsap.*not None"):
        of_lsap.decode(None, lsap())
    with pytest.raises(UsageError, match="decode it with the problem that it was built from"):
        of_latency.decode(of_lsap.build_pyomo(lsap()), latency())
    with pytest.raises(TypeError):
        of_lsap.build_pyomo()


@pytest.mark.parametrize("function", [optsched.solve, optsched.bounds, optsched.frontier])
def test_empty_stop_iteration(function: Callable[[Any], Any]) -> None:
    """Tests that an instance, where a problem is wanted, is reported how to be posed."""
    with pytest.raises(UsageError, match=r"takes a problem, not an Instance; pose one on it first: optsched.problem"):
        function(lsap().instance)
    with pytest.raises(UsageError, match=r'optsched.problem\("lsap", "papers/guo-fig2"\)'):
        function(INSTANCE)
    with pytest.raises(UsageError, match=r'optsched.problem\("min-cost-flow", network\)'):
        function(network())
    with pytest.raises(UsageError, match=r"pose it on an instance first: MinCostFlow\(instance\)"):
        function(MinCostFlow)


def test_profiles_by_name_wherever_one_is_taken() -> None:
    """Tests that engines, searches and models take the name of a profile, or its file, as `solve` does."""
    model = models.module("lsap").build_pyomo(lsap())
    literal = models.module("lsap").build_pulp(lsap())
    ci = load_profile("ci")
    assert load_profile(ci) == ci
    for profile in ("ci", ci):
        outcomes = [solve_pyomo(model, profile), solve_pulp(literal, profile), solve_arrays(program(), profile).outcome]
        assert [outcome.solver["options"]["mip_max_nodes"] for outcome in outcomes] == [ci.node_limit] * 3
    assert solve_assignment(lsap(), "ci", "arrays").nodes.tolist() == solve_assignment(lsap()).nodes.tolist()


def test_names_of_the_library_are_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that `load` and `problem` take a name of the library, as each command does, but files first."""
    monkeypatch.chdir(tmp_path)
    path = library()[INSTANCE].path
    assert optsched.load(INSTANCE).sha256 == optsched.load(path).sha256 == optsched.load(str(path)).sha256
    assert optsched.problem("latency", INSTANCE, w_rem=2).parameters["w_rem"] == 2
    assert optsched.problem("latency", path).instance.name == "guo-fig2"
    with pytest.raises(InputError, match=r'did you mean "papers/guo-fig2"'):
        optsched.load("papers/guo-fig22")
    with pytest.raises(InputError, match="optsched list instances"):
        optsched.load("zzzzzz")
    with pytest.raises(InputError, match="is a folder; name its files"):
        optsched.load(tmp_path)
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "guo-fig2").write_text("{}")
    with pytest.raises(InputError, match="unknown kind of file"):
        optsched.load(INSTANCE)


def test_other_kinds_of_the_right_type() -> None:
    """Tests a solution of another problem, a placement of another instance, a negative limit and a wrong shape."""
    assert not optsched.certify(latency(), solution()).valid
    other = optsched.load("papers/fsy-not-optimal")
    with pytest.raises(UsageError, match="of another instance"):
        claim_files.write_claim(solution(), other, "/dev/null")
    with pytest.raises(UsageError, match="the start answered 3 nodes"):
        optsched.solve(optsched.problem("lsap", other), start=solution().decision)
    with pytest.raises(UsageError, match="time_limit -1"):
        run(lsap(), "dl", time_limit=-1)
    with pytest.raises(UsageError, match="time_limit"):
        optsched.solve(lsap(), time_limit=-1)
    with pytest.raises(UsageError, match=r"places 3 tasks: .*not a list of shape \(2,\)"):
        lsap().placement([0, 1])
    assert lsap().placement([0, 1, -1]) == Placement([0, 1, -1])
    with pytest.raises(UsageError, match="gap takes a problem that places tasks, not min-cost-flow"):
        optsched.gap(flow(), "dl")
    with pytest.raises(UsageError, match="decompose takes a problem that decides a schedule, not lsap"):
        optsched.decompose(lsap(), "fifo")
    assert [posed.name for posed in posable(lsap().instance, "lsap")] == ["lsap"]
    assert len(optsched.study(INSTANCE, "lsap", "dl", np.int64(2))) == 2
