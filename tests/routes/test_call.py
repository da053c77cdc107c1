"""One call of `solve`: what a solver says is checked, and Ctrl-C or a limit outside it is a result."""

import json
import subprocess
import sys
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import pytest
from small_problems import generalized_assignment as packed

import optsched
from optsched import Certificate, Limit, Proof, Solution, Termination, certify
from optsched.core.deadline import deadline
from optsched.core.errors import OutOfTime, SolverDisagreement, TooLarge
from optsched.core.processes.handing import handing, to
from optsched.problems import problem
from optsched.routes import call as call_module
from optsched.routes import generalized_assignment, latency, solve
from optsched.routes.call import Call, Ended, proved
from optsched.solvers.profiles import Profile


def test_infeasible_beside_a_feasible_start_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a solver's word that nothing fits is not believed against a placement that does."""
    posed = packed([[1]], {"weight": [[2]]}, {"weight": [5]})
    assert solve(posed, start=["n0"]).objective == (1,)
    honest = call_module.solver_of("pyomo")

    def lying(*given: Any) -> Any:
        return replace(honest(*given), status=Termination.INFEASIBLE, objective=None, bound=None)

    monkeypatch.setattr("optsched.routes.call.solver_of", lambda route: lying)
    with pytest.raises(SolverDisagreement, match="but the start is"):
        solve(posed, start=["n0"], route="pyomo")


def test_bug_pyomo_printed_a_limit_among_the_data() -> None:
    """Tests that a limit that meets Pyomo in a rule is a result: its log went to stdout, before the JSON."""
    instance = "generated/planted-flow-n8-racks3-t20-seed0"
    command = [sys.executable, "-m", "optsched", "solve", instance, "--problem", "flow"]
    given = ["--route", "pyomo", "--time-limit", "0", "--format", "json"]
    ended = subprocess.run([*command, *given], capture_output=True, text=True, check=True)
    assert json.loads(ended.stdout)["limit"] == "TIME"
    assert ended.stderr == ""


@pytest.mark.parametrize(("beyond", "seconds"), [(0.0, 1.0), (1.2, 0.5), (9.0, 0.3)])
def test_what_needs_no_search_is_quick(beyond: float, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests how long may be taken for it: less where much of the time beyond the limit is gone already."""
    taken: list[float] = []

    def within(limit: float) -> AbstractContextManager[None]:
        taken.append(limit)
        return deadline(limit)

    monkeypatch.setattr(call_module, "late", lambda: beyond)
    monkeypatch.setattr(call_module, "deadline", within)
    posed = problem("lsap", "papers/guo-fig2")
    assert Call(posed, "network").answered(None, (), Ended("late", Limit.TIME)).objective is not None
    assert taken == [pytest.approx(seconds)]


# Proofs in the place of a word ----------------------------------------------------------------------------------------


PACKING = optsched.problem("latency", "examples/packing")
#: Two tasks of which each fits beside none.
CROWDED = packed([[1], [1]], {"weight": [[2], [2]]}, {"weight": [3]})


class Module:
    """Routes that give what they are told to."""

    ROUTES = ("search", "pyomo")

    def __init__(self, given: Solution | Exception) -> None:
        self.given, self.asked = given, list[tuple[Any, Profile]]()

    def by_route(self, call: Any, profile: Profile) -> Solution:
        """The solution, or the error."""
        self.asked.append((call.start, profile))
        if isinstance(self.given, Exception):
            raise self.given
        return self.given


def said(route: str = "pulp") -> tuple[Call[Any], Solution]:
    """What a model says of the optimum of a small instance."""
    call: Call[Any] = Call(PACKING, route)
    return call, latency.by_route(call, Profile("exact"))


@pytest.mark.parametrize(
    ("name", "instance", "route"),
    [
        ("latency", "examples/packing", "pyomo"),
        ("latency", "examples/packing", "pulp"),
        ("transmission", "papers/pna-example", "pyomo"),
        ("generalized-assignment", "generated/generalized-assignment-n5-t30-seed0", "pyomo"),
        ("flow-congestion", "generated/flow-n9-t12-seed1", "pulp"),
        ("utility", "papers/ras-endless-swap", "pulp"),
    ],
)
def test_optimum_of_a_model_is_proved(name: str, instance: str, route: str) -> None:
    """Tests that what a model finds has the certificates that the default route gives, and is still the model's."""
    problem = optsched.problem(name, instance)
    solution, best = solve(problem, route=route), solve(problem)
    assert (solution.route, solution.objective, solution.certificate) == (route, best.objective, best.certificate)
    assert certify(problem, solution).proved
    assert solution.solver != best.solver


@pytest.mark.parametrize("route", ["arrays", "pyomo", "pulp"])
def test_that_nothing_is_feasible_is_proved(route: str) -> None:
    """Tests that a model's word that nothing is feasible becomes the default route's tree."""
    word = generalized_assignment.by_route(Call(CROWDED, route), Profile("exact"))
    assert (word.termination, word.certificates) == (Termination.INFEASIBLE, ())
    assert certify(CROWDED, solve(CROWDED, route=route)).proved


def test_what_is_no_word_is_left() -> None:
    """Tests that nobody is asked about a proof, or what is not optimal."""
    call, word = said()
    module = Module(ValueError("asked"))
    proof = solve(PACKING)
    stopped = replace(word, termination=Termination.FEASIBLE, limit=Limit.TIME)
    plain = replace(word, termination=Termination.NO_SOLUTION, certificates=())
    for solution in (proof, stopped, plain):
        assert proved(call, solution, Profile("exact"), module, "search") is solution
    assert module.asked == []


@pytest.mark.parametrize("error", [OutOfTime("late"), MemoryError(), TooLarge("too large")])
def test_what_ends_the_search_for_a_proof_leaves_the_word(error: Exception) -> None:
    """Tests that time, memory or size that is out takes nothing away, and that few nodes are looked into."""
    call, word = said()
    module = Module(error)
    assert proved(call, word, Profile("exact"), module, "search") is word
    assert proved(call, word, Profile("few", node_limit=7), module, "search") is word
    asked = [(start, profile.node_limit) for start, profile in module.asked]
    assert asked == [(word.decision, 1_000), (word.decision, 7)]


def test_weaker_claims_leave_the_word() -> None:
    """Tests that a proof of less, another word, and no certificate are not taken."""
    call, word = said()
    own = solve(PACKING)
    lower = (replace(own.certificates[0], claim=3), Certificate("work", Proof.SOLVER, 2))
    for certificates in (lower, ()):
        found = proved(call, word, Profile("exact"), Module(replace(own, certificates=certificates)), "search")
        assert found.certificates == word.certificates


def test_contradictions_are_reported() -> None:
    """Tests that a better decision of the default route, or any where none should be, is a disagreement."""
    call, word = said()
    worse = replace(word, objective=(5, 2), bound=(5, 2))
    with pytest.raises(SolverDisagreement, match=r"route pulp says .* is the best, and route search finds \(4, 2\)"):
        proved(call, worse, Profile("exact"), Module(solve(PACKING)), "search")
    nothing = replace(
        word, termination=Termination.INFEASIBLE, objective=None, bound=(None, None), certificates=(), decision=None
    )
    with pytest.raises(SolverDisagreement, match=r"says that nothing is feasible, and route search finds \(4, 2\)"):
        proved(call, nothing, Profile("exact"), Module(solve(PACKING)), "search")
    cut = replace(nothing, termination=Termination.NO_SOLUTION, limit=Limit.TIME)
    assert proved(call, nothing, Profile("exact"), Module(cut), "search").certificates == ()


def test_what_is_held_stays_where_the_process_is_killed() -> None:
    """Tests that the optimum is handed over before a proof is looked for, and nothing after it."""
    sent: list[bytes] = []
    with to(lambda data, more: sent.append(data)), handing():
        call, word = said()
        before = len(sent)
        proved(call, word, Profile("exact"), latency, "search")
    assert len(sent) == before + 1
