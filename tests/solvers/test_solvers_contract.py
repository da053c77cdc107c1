"""What every way to HiGHS must mean by its outcome: the same models through arrays, Pyomo and PuLP."""

import operator
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import highspy
import numpy as np
import pulp
import pyomo.environ as pyo
import pytest
from pyomo.common.collections import ComponentMap

from optsched import Limit, Termination, UsageError
from optsched.solvers.algebraic import solve_pulp, solve_pyomo
from optsched.solvers.answers import SolverOutcome, negated
from optsched.solvers.highs import SMALL_MODELS, small_program, solve_arrays
from optsched.solvers.profiles import Profile

INF = float("inf")
EXACT = Profile("exact")


@dataclass(frozen=True)
class Model:
    """A small program in its own sense, which each way states in its own language.

    `columns` are (lower, upper, integer); `rows` are (lower, coefficients, upper).
    """

    costs: list[float]
    columns: list[tuple[float, float, bool]]
    rows: list[tuple[float, list[float], float]]
    constant: float = 0.0
    maximise: bool = False


@dataclass(frozen=True)
class Answer:
    """What a way gives back: the outcome, the values in the model, and the duals of its rows."""

    outcome: SolverOutcome
    values: list[float | None]
    duals: list[float | None]


Way = Callable[[Model, Profile, "list[float] | None"], Answer]


def finite(value: float) -> float | None:
    """The value, or None where it is no limit."""
    return None if abs(value) == INF else value


def by_arrays(model: Model, profile: Profile, start: list[float] | None) -> Answer:
    """Arrays only minimise: a maximisation is negated, and its outcome turned back."""
    sign = -1.0 if model.maximise else 1.0
    program = small_program([sign * cost for cost in model.costs], model.columns, model.rows, sign * model.constant)
    solution = solve_arrays(program, profile, None if start is None else np.array(start))
    return Answer(
        negated(solution.outcome) if model.maximise else solution.outcome,
        [None] * len(model.costs) if solution.x is None else solution.x.tolist(),
        [None] * len(model.rows) if solution.row_duals is None else (sign * solution.row_duals).tolist(),
    )


def by_pyomo(model: Model, profile: Profile, start: list[float] | None) -> Answer:
    """A ConcreteModel with a `dual` suffix."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(len(model.costs)))
    for variable, (lower, upper, integer) in zip(m.x.values(), model.columns, strict=True):
        variable.domain = pyo.Integers if integer else pyo.Reals
        variable.bounds = finite(lower), finite(upper)
    m.rows = pyo.ConstraintList()
    for lower, coefficients, upper in model.rows:
        m.rows.add((finite(lower), pyo.sum_product(coefficients, m.x, index=range(len(coefficients))), finite(upper)))
    m.objective = pyo.Objective(
        expr=pyo.sum_product(model.costs, m.x, index=range(len(model.costs))) + model.constant,
        sense=pyo.maximize if model.maximise else pyo.minimize,
    )
    m.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    hint = None if start is None else ComponentMap(zip(m.x.values(), start, strict=True))
    outcome = solve_pyomo(m, profile, hint)
    return Answer(outcome, [v.value for v in m.x.values()], [m.dual.get(row) for row in m.rows.values()])


def by_pulp(model: Model, profile: Profile, start: list[float] | None) -> Answer:
    """An LpProblem; a row with two sides is two constraints, of which the active one has the dual."""
    problem = pulp.LpProblem("model", pulp.LpMaximize if model.maximise else pulp.LpMinimize)
    x = [
        problem.add_variable(f"x{i:03d}", finite(lower), finite(upper), "Integer" if integer else "Continuous")
        for i, (lower, upper, integer) in enumerate(model.columns)
    ]
    problem.setObjective(pulp.lpDot(model.costs, x) + model.constant)
    row_of: dict[str, int] = {}
    for row, (lower, coefficients, upper) in enumerate(model.rows):
        body = pulp.lpDot(coefficients, x)
        for name, side, compared in (("least", lower, operator.ge), ("most", upper, operator.le)):
            if finite(side) is not None:
                problem.addConstraint(compared(body, side), f"{name}{row}")
                row_of[f"{name}{row}"] = row
    hint = None if start is None else {v.name: value for v, value in zip(x, start, strict=True)}
    outcome = solve_pulp(problem, profile, hint)
    duals: list[float | None] = [None] * len(model.rows)
    for constraint in problem.constraints():
        if constraint.pi is not None:
            row = row_of[constraint.name]
            duals[row] = (duals[row] or 0.0) + constraint.pi
    return Answer(outcome, [v.varValue for v in x], duals)


WAYS: dict[str, Way] = {"arrays": by_arrays, "pyomo": by_pyomo, "pulp": by_pulp}


@pytest.fixture(params=WAYS, name="solve")
def way(request: pytest.FixtureRequest) -> Way:
    """Each of the three ways in turn."""
    return WAYS[request.param]


def knapsack(items: int, dimensions: int, maximise: bool = True) -> Model:
    """A multi-dimensional knapsack: easy to satisfy, and hard to prove from 50 items and 5 dimensions on."""
    rng = np.random.default_rng(0)
    weights = rng.integers(1, 100, (dimensions, items)).astype(float)
    values = rng.integers(1, 100, items).astype(float)
    return Model(
        costs=(values if maximise else -values).tolist(),
        columns=[(0.0, 1.0, True)] * items,
        rows=[(-INF, row.tolist(), float(row.sum() // 2)) for row in weights],
        maximise=maximise,
    )


def test_linear_program(solve: Way) -> None:
    """Tests that a maximisation with a constant has its textbook optimum, bound and duals in its own sense."""
    model = Model(
        costs=[3.0, 5.0],
        columns=[(0.0, 4.0, False), (0.0, INF, False)],
        rows=[(-INF, [0.0, 2.0], 12.0), (-INF, [3.0, 2.0], 18.0)],
        constant=10.0,
        maximise=True,
    )
    answer = solve(model, EXACT, None)
    outcome = answer.outcome
    assert (outcome.status, outcome.limit, outcome.raw_status) == (Termination.OPTIMAL, None, "Optimal")
    assert (outcome.objective, outcome.bound, outcome.nodes) == (46.0, 46.0, None)
    assert answer.values == [2.0, 6.0]
    assert answer.duals == pytest.approx([1.5, 1.0])


@pytest.mark.parametrize("start", [None, [0.0, 5.0]])
def test_dual_of_minimisation(solve: Way, start: list[float] | None) -> None:
    """Tests that the dual of a lower side is what one more unit costs, so positive, whatever the start."""
    model = Model([2.0, 3.0], [(0.0, 3.0, False), (0.0, INF, False)], [(5.0, [1.0, 1.0], INF)])
    answer = solve(model, EXACT, start)
    assert (answer.outcome.objective, answer.duals) == (12.0, [3.0])


@pytest.mark.parametrize("maximise", [True, False])
def test_integer_program(solve: Way, maximise: bool) -> None:
    """Tests that objective and bound of a MIP meet at the optimum, in either sense, and that it has no duals."""
    answer = solve(knapsack(30, 3, maximise), EXACT, None)
    assert (answer.outcome.status, answer.outcome.limit) == (Termination.OPTIMAL, None)
    assert answer.outcome.objective == pytest.approx(1046.0 if maximise else -1046.0)
    assert answer.outcome.bound == pytest.approx(answer.outcome.objective)
    assert answer.duals == [None] * 3


@pytest.mark.parametrize("issue", SMALL_MODELS)
def test_small_models_that_went_wrong(solve: Way, issue: str) -> None:
    """Tests the models of two and three variables that some release of HiGHS called optimal at a wrong value."""
    program, optimum = SMALL_MODELS[issue]
    columns = zip(program.col_lower.tolist(), program.col_upper.tolist(), program.integer.tolist(), strict=True)
    rows = zip(program.row_lower.tolist(), program.matrix.toarray().tolist(), program.row_upper.tolist(), strict=True)
    outcome = solve(Model(program.objective.tolist(), list(columns), list(rows)), EXACT, None).outcome
    assert outcome.status is Termination.OPTIMAL
    assert outcome.objective == pytest.approx(optimum, abs=1e-5)  # rows may be passed by a millionth


@pytest.mark.parametrize("integer", [True, False])
def test_infeasible(solve: Way, integer: bool) -> None:
    """Tests that an infeasible model is a result that claims no objective, bound or values."""
    model = Model([1.0], [(0.0, 1.0, integer)], [(3.0, [2.0], INF)], constant=5.0)
    answer = solve(model, EXACT, None)
    assert (answer.outcome.status, answer.outcome.limit) == (Termination.INFEASIBLE, None)
    assert (answer.outcome.objective, answer.outcome.bound) == (None, None)
    assert (answer.values, answer.duals) == ([None], [None])


@pytest.mark.parametrize("integer", [True, False])
@pytest.mark.parametrize("maximise", [True, False])
def test_unbounded_is_not_infeasible(solve: Way, integer: bool, maximise: bool) -> None:
    """Tests that an unbounded objective is an error that says so, where HiGHS leaves open which it is for a MIP."""
    model = Model(
        costs=[1.0 if maximise else -1.0, 0.0],
        columns=[(0.0, INF, integer), (0.0, 1.0, integer)],
        rows=[(-INF, [-1.0, 1.0], 1.0)],
        maximise=maximise,
    )
    outcome = solve(model, EXACT, None).outcome
    assert (outcome.status, outcome.objective, outcome.bound) == (Termination.ERROR, None, None)
    assert "nbounded" in outcome.raw_status


def unclear(side: float) -> Model:
    """A MIP that HiGHS leaves at "infeasible or unbounded": a free ride beside two equations of six binaries."""
    rows = [[0.0, 2.0, 3.0, 5.0, 7.0, 11.0, 13.0], [0.0, 13.0, 2.0, 11.0, 3.0, 7.0, 5.0]]
    return Model(
        costs=[-1.0] + [0.0] * 6,
        columns=[(0.0, INF, True)] + [(0.0, 1.0, True)] * 6,
        rows=[(side, row, side) for row in rows],
    )


def test_infeasible_or_unbounded_is_settled(solve: Way) -> None:
    """Tests that a second run tells infeasible from unbounded, and that a limit in it claims nothing."""
    infeasible, unbounded = solve(unclear(15.0), EXACT, None).outcome, solve(unclear(41.0), EXACT, None).outcome
    assert (infeasible.status, infeasible.limit) == (Termination.INFEASIBLE, None)
    assert (unbounded.status, unbounded.limit) == (Termination.ERROR, None)
    assert infeasible.raw_status == "Primal infeasible or unbounded; without objective: Infeasible"
    assert unbounded.raw_status == "Primal infeasible or unbounded; without objective: Optimal"
    weights = [46.0, 58.0, 74.0, 94.0, 106.0, 130.0, 134.0, 146.0, 154.0, 158.0, 170.0, 178.0]
    hard = Model(
        costs=[-1.0] + [0.0] * 12,
        columns=[(0.0, INF, True)] + [(0.0, 1.0, True)] * 12,
        rows=[(300.0, [0.0, *weights], 300.0), (-INF, [0.0, *reversed(weights)], 330.0)],
    )
    limited = solve(hard, Profile("none", node_limit=0), None).outcome
    assert (limited.status, limited.limit) == (Termination.NO_SOLUTION, Limit.NODES)
    assert [infeasible.bound, unbounded.bound, limited.bound] == [None] * 3


def test_node_limit_keeps_incumbent_and_bound(solve: Way) -> None:
    """Tests that a node limit gives a solution and a bound with a gap between them, never an optimum."""
    answer = solve(knapsack(50, 5), Profile("limited", node_limit=20), None)
    outcome = answer.outcome
    assert (outcome.status, outcome.limit, outcome.nodes) == (Termination.FEASIBLE, Limit.NODES, 20)
    assert outcome.objective < outcome.bound
    value = sum(cost * (x or 0.0) for cost, x in zip(knapsack(50, 5).costs, answer.values, strict=True))
    assert value == pytest.approx(outcome.objective)


def test_limit_before_any_solution(solve: Way) -> None:
    """Tests that a limit of no nodes gives no solution, where PuLP raises KeyError and keeps zeros."""
    answer = solve(knapsack(50, 5), Profile("none", node_limit=0), None)
    assert (answer.outcome.status, answer.outcome.limit) == (Termination.NO_SOLUTION, Limit.NODES)
    assert (answer.outcome.objective, answer.outcome.bound) == (None, None)
    assert answer.values == [None] * 50


def test_time_limit(solve: Way) -> None:
    """Tests that a time limit of 0 is reported as such, where PuLP says "Optimal"."""
    outcome = solve(knapsack(50, 5), Profile("none", time_limit=0.0), None).outcome
    assert outcome.status in (Termination.NO_SOLUTION, Termination.FEASIBLE)
    assert outcome.limit is Limit.TIME


@pytest.mark.parametrize("gap", ["relative_gap", "absolute_gap"])
def test_tolerated_gap_is_no_optimum(solve: Way, gap: str) -> None:
    """Tests that stopping at a tolerated gap is FEASIBLE with limit GAP, where every library says "Optimal"."""
    profile = Profile("loose", relative_gap=0.5) if gap == "relative_gap" else Profile("loose", absolute_gap=900.0)
    outcome = solve(knapsack(50, 5), profile, None).outcome
    assert (outcome.status, outcome.limit, outcome.raw_status) == (Termination.FEASIBLE, Limit.GAP, "Optimal")
    assert outcome.objective < outcome.bound


def test_tolerance_without_gap_is_an_optimum(solve: Way) -> None:
    """Tests that a profile that tolerates a gap still says OPTIMAL where objective and bound meet."""
    model = Model([1.0], [(0.0, 9.0, True)], [(4.0, [2.0], INF)])
    outcome = solve(model, Profile("loose", relative_gap=0.5), None).outcome
    assert (outcome.status, outcome.objective, outcome.bound) == (Termination.OPTIMAL, 2.0, 2.0)


def test_start_is_honoured(solve: Way) -> None:
    """Tests that an optimal start is held when the solver may search no node."""
    model, limited = knapsack(30, 3), Profile("none", node_limit=0)
    assert solve(model, limited, None).outcome.objective is None
    best = solve(model, EXACT, None)
    start = [round(x or 0.0) for x in best.values]
    started = solve(model, limited, [float(x) for x in start])
    assert started.outcome.status is Termination.FEASIBLE
    assert started.outcome.objective == pytest.approx(best.outcome.objective)


@pytest.fixture
def outer_handler() -> Iterator[Callable[..., None]]:
    """A handler of Ctrl-C for the time of a test: a signal that reaches it has missed the solver."""

    def missed(*_: object) -> None:
        pytest.fail("the signal came before or after the run")

    former = signal.signal(signal.SIGINT, missed)
    yield missed
    signal.signal(signal.SIGINT, former)


def test_interrupt_keeps_incumbent_and_bound(solve: Way, outer_handler: Callable[..., None]) -> None:
    """Tests that Ctrl-C stops a hard MIP at once, with incumbent and bound, and that the former handler returns."""
    sent: list[float] = []

    def press() -> None:
        sent.append(time.monotonic())
        signal.raise_signal(signal.SIGINT)

    solve(knapsack(3, 1), EXACT, None)  # what it imports is loaded before the clock runs
    timer = threading.Timer(0.5, press)
    timer.start()
    outcome = solve(knapsack(150, 20), EXACT, None).outcome
    assert time.monotonic() - sent[0] < 10
    timer.join()
    assert (outcome.status, outcome.limit) == (Termination.FEASIBLE, Limit.INTERRUPTED)
    assert outcome.objective < outcome.bound
    assert signal.getsignal(signal.SIGINT) is outer_handler


def test_other_threads_before(solve: Way) -> None:
    """Tests that a profile with other threads than an earlier solve works, where HiGHS refuses and PuLP gives zeros."""
    for threads in (1, 2, 1):
        outcome = solve(knapsack(30, 3), Profile("threads", threads=threads), None).outcome
        assert (outcome.status, outcome.objective) == (Termination.OPTIMAL, pytest.approx(1046.0))
        assert outcome.solver["options"]["threads"] == threads


def test_from_several_threads(solve: Way) -> None:
    """Tests that solves in two threads take turns instead of hanging, and touch no signal handler."""
    outcomes: list[SolverOutcome] = []
    workers = [
        threading.Thread(target=lambda: outcomes.append(solve(knapsack(30, 3), EXACT, None).outcome), daemon=True)
        for _ in range(2)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=30.0)
    assert [outcome.status for outcome in outcomes] == [Termination.OPTIMAL] * 2


def test_options_that_highs_refuses(solve: Way, capfd: pytest.CaptureFixture[str]) -> None:
    """Tests that a wrong option is an error, which all libraries let pass in silence."""
    with pytest.raises(UsageError, match='did you mean "mip_rel_gap"'):
        solve(knapsack(5, 1), Profile("typo", highs={"mip_rel_gpa": 0.1}), None)
    assert capfd.readouterr().out == ""


def test_record_of_the_solver(solve: Way, capfd: pytest.CaptureFixture[str]) -> None:
    """Tests that the outcome names solver, version, interface and every option set, and that nothing is printed."""
    profile = Profile("x", random_seed=7, highs={"presolve": "off"})
    outcome = solve(knapsack(10, 2), profile, None).outcome
    assert outcome.solver["name"] == "HiGHS"
    assert outcome.solver["version"] == highspy.Highs().version()
    assert outcome.solver["interface"].split()[0] in WAYS
    assert outcome.solver["options"] == profile.options
    assert outcome.seconds >= 0.0
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("methods", [["run"], ["passModel", "addVars", "addCol"]], ids=["solving", "building"])
def test_out_of_memory(solve: Way, methods: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that running out of memory, while HiGHS solves or is given the model, is a result with limit MEMORY."""

    def fail(*_: object) -> None:
        raise MemoryError

    for method in methods:
        monkeypatch.setattr(highspy.Highs, method, fail)
    answer = solve(knapsack(10, 2), EXACT, None)
    assert (answer.outcome.status, answer.outcome.limit) == (Termination.NO_SOLUTION, Limit.MEMORY)
    assert answer.values == [None] * 10
