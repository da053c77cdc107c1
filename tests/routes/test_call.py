"""One call of `solve`: what a solver says is checked, and Ctrl-C or a limit outside it is a result."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import AbstractContextManager
from dataclasses import replace

import numpy as np
import pytest
from replica_instances import FIGURE_2
from stopping import interrupted

from optsched.certificates import certify
from optsched.core.deadline import deadline
from optsched.core.errors import SolverDisagreement
from optsched.core.instance import Cluster, Instance, Pairs, Workload
from optsched.core.placement import Placement
from optsched.core.results import Limit, Termination
from optsched.instances.generate import generate
from optsched.problems import Lsap, problem
from optsched.routes import call as call_module
from optsched.routes import solve
from optsched.routes.call import Call, solver_of
from optsched.solvers.highs import ArraySolution, LinearProgram
from optsched.solvers.outcome import INTERRUPTED


@pytest.mark.parametrize("name", ["lsap", "transmission", "transmission-reduces", "flow-congestion"])
@pytest.mark.parametrize("route", ["pyomo", "pulp"])
def test_interrupt_while_a_model_is_built_is_a_result(name: str, route: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C where HiGHS does not see it ends `solve` with what is held, never with an exception."""
    posed = problem(name, generate("mixed", seed=1, nodes=5, tasks=4))
    best = solve(posed).decision
    assert isinstance(best, Placement)
    for build in ("build_pyomo", "build_pulp"):
        monkeypatch.setattr(f"optsched.models.{name.replace('-', '_')}.{build}", interrupted)
    solution = solve(posed, route=route)
    assert solution.raw_status == "interrupted"
    assert solution.optimal or solution.limit is Limit.INTERRUPTED
    held = solve(posed, route=route, start=best)
    assert held.objective == posed.evaluate(best)
    for known in (solution, held):
        assert certify(posed, known).valid


@pytest.mark.parametrize("name", ["flow-congestion", "generalized-assignment"])
def test_interrupt_of_a_search_for_prices_ends_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C while HiGHS looks for prices is not passed over: no integer program is begun."""
    posed = problem(name, generate(name if name.startswith("gen") else "flow", seed=0, nodes=5, tasks=8))
    ran = []

    def interrupted(program: LinearProgram, *_: object) -> ArraySolution:
        ran.append(bool(program.integer.any()))
        return ArraySolution(INTERRUPTED, None, None, None)

    own = {"flow-congestion": "routes.programs", "generalized-assignment": "searches.generalized_assignment"}[name]
    for module in (f"optsched.{own}", "optsched.solvers.highs"):
        monkeypatch.setattr(f"{module}.solve_arrays", interrupted)
    solution = solve(posed)
    assert (ran, solution.limit) == ([False], Limit.INTERRUPTED)
    assert solution.bound != (None,)
    assert certify(posed, solution).valid


def test_infeasible_beside_a_feasible_start_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a solver's word that nothing fits is not believed against a placement that does."""
    instance = Instance(
        Cluster(["a"], capacity={"weight": np.array([5.0])}),
        Workload(["t"], pairs=Pairs(cost=np.array([[1.0]]), demand={"weight": np.array([[2.0]])})),
    )
    posed = problem("generalized-assignment", instance)
    assert solve(posed, start=["a"]).objective == (1,)
    honest = solver_of("pyomo")

    def lying(route: str) -> object:
        return lambda *given: replace(honest(*given), status=Termination.INFEASIBLE, objective=None, bound=None)

    monkeypatch.setattr("optsched.routes.call.solver_of", lying)
    with pytest.raises(SolverDisagreement, match="but the start is"):
        solve(posed, start=["a"], route="pyomo")


def test_figure_of_a_solver_that_differs_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a model whose objective is not the placement's value raises SolverDisagreement."""
    honest = solver_of("pyomo")

    def lying(route: str) -> object:
        return lambda *given: replace(honest(*given), objective=17.0)

    monkeypatch.setattr("optsched.routes.call.solver_of", lying)
    with pytest.raises(SolverDisagreement, match=r"the solver says 17\.0"):
        solve(Lsap(FIGURE_2), route="pyomo")


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
    assert Call(posed, "network").solution(None, (), Limit.TIME, "late").objective is not None
    assert taken == [pytest.approx(seconds)]
