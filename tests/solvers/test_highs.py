"""HiGHS through arrays: what the contract of all three ways does not cover."""

import dataclasses
import itertools
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import highspy
import numpy as np
import pytest
import scipy.sparse as sp

from optsched import Limit, Termination, generate, solve
from optsched.core.deadline import deadline, remaining
from optsched.core.errors import InputError, OutOfTime, SolverDisagreement, UsageError
from optsched.core.processes.handing import handing, taking
from optsched.instances.files import from_document
from optsched.problems import FairLsap, WorstGroup
from optsched.solvers import highs as engine
from optsched.solvers.answers import LinearProgram
from optsched.solvers.highs import SMALL_MODELS, Improving, WarmProgram, solve_arrays, wrong_answers
from optsched.solvers.profiles import Profile, load_profile

INF = np.inf
EXACT = Profile("exact")


def program(costs: list[float], matrix: list[list[float]], row_lower: list[float], **changes: object) -> LinearProgram:
    """Minimise `costs` with `matrix @ x >= row_lower` and 0 <= x <= 10, continuous unless `changes` say otherwise."""
    columns = len(costs)
    fields: dict[str, object] = {
        "objective": np.array(costs, dtype=float),
        "col_lower": np.zeros(columns),
        "col_upper": np.full(columns, 10.0),
        "integer": np.zeros(columns, dtype=bool),
        "row_lower": np.array(row_lower, dtype=float),
        "row_upper": np.full(len(row_lower), INF),
        "matrix": sp.csr_array(np.array(matrix, dtype=float).reshape(len(row_lower), columns)),
    }
    return LinearProgram(**(fields | changes))


def transportation(rows: int, columns: int) -> LinearProgram:
    """A random dense transportation problem with integer data, in CSC form."""
    rng = np.random.default_rng(3)
    arcs = np.arange(rows * columns)
    entries = (np.ones(2 * arcs.size), (np.r_[arcs // columns, rows + arcs % columns], np.r_[arcs, arcs]))
    ones = np.ones(rows + columns)
    return LinearProgram(
        objective=rng.integers(-50, 50, arcs.size).astype(float),
        col_lower=np.zeros(arcs.size),
        col_upper=np.full(arcs.size, INF),
        integer=np.zeros(arcs.size, dtype=bool),
        row_lower=np.r_[ones[:rows] * columns, ones[rows:] * 0.0],
        row_upper=np.r_[ones[:rows] * columns, ones[rows:] * (rows + 1)],
        matrix=sp.csc_array(entries, shape=(rows + columns, arcs.size)),
    )


@pytest.mark.parametrize("profile", ["exact", "large"])
def test_duals_prove_the_optimum(profile: str) -> None:
    """Tests the KKT conditions: reduced costs are c - A'y, signs fit the active sides, and y gives the same value."""
    lp = transportation(8, 12)
    solution = solve_arrays(lp, load_profile(profile))
    x, y, reduced = solution.x, solution.row_duals, solution.col_duals
    assert np.allclose(reduced, lp.objective - lp.matrix.T @ y)
    assert np.array_equal(y, y.round())  # basic duals of a network with integer costs
    assert reduced.min() >= 0.0
    activity = lp.matrix @ x
    assert np.all((y <= 0.0) | np.isclose(activity, lp.row_lower))
    assert np.all((y >= 0.0) | np.isclose(activity, lp.row_upper))
    value = np.where(y > 0.0, y * lp.row_lower, y * lp.row_upper).sum()
    assert value == pytest.approx(solution.outcome.objective)


def test_the_same_rows_within_other_bounds() -> None:
    """Tests a program solved again within other bounds, feasible or not, and with other costs, against single ones."""
    posed = program([1.0, 2.0], [[1.0, 1.0]], [3.0])
    warm = WarmProgram(posed)
    for lower, upper in (([0, 0], [10, 10]), ([0, 0], [2, 10]), ([0, 0], [1, 1]), ([0, 3], [2, 4]), ([0, 0], [10, 10])):
        bounds = np.array(lower, dtype=np.float64), np.array(upper, dtype=np.float64)
        found = warm.solve(*bounds, EXACT)
        once = solve_arrays(dataclasses.replace(posed, col_lower=bounds[0], col_upper=bounds[1]), EXACT)
        assert (found.outcome.status, found.outcome.objective) == (once.outcome.status, once.outcome.objective)
        assert (found.row_duals is None) == (once.row_duals is None)
    for costs, expected in ((None, [3.0, 0.0]), (np.array([3.0, 1.0]), [0.0, 3.0]), (None, [3.0, 0.0])):
        assert warm.solve(posed.col_lower, posed.col_upper, EXACT, costs).x.tolist() == expected


def test_bug_time_limit_counted_earlier_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a time limit is of the run, not of all runs of a program that is solved again and again."""
    posed = program([1.0, 2.0], [[1.0, 1.0]], [3.0])
    warm = WarmProgram(posed)
    given = []
    monkeypatch.setattr(engine, "set_options", lambda highs, options: given.append(options["time_limit"]) or [])
    monkeypatch.setattr(engine.highspy.Highs, "getRunTime", lambda highs: 70.0)
    assert warm.solve(posed.col_lower, posed.col_upper, EXACT.with_limits(time_limit=10)).outcome.limit is None
    assert given == [80.0]


def test_no_columns() -> None:
    """Tests that a program without columns is optimal at its constant, or infeasible by its rows."""
    assert solve_arrays(program([], [], [], offset=3.0), EXACT).outcome.objective == 3.0
    assert solve_arrays(program([], [[]], [0.0]), EXACT).outcome.status is Termination.OPTIMAL
    assert solve_arrays(program([], [[]], [1.0]), EXACT).outcome.status is Termination.INFEASIBLE


@pytest.fixture
def press(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Ctrl-C just before or just after HiGHS runs, once the handler is in place."""

    def at(moment: str) -> None:
        original = highspy.Highs.run

        def run(highs: highspy.Highs) -> object:
            if moment == "before":
                signal.raise_signal(signal.SIGINT)
            status = original(highs)
            if moment == "after":
                signal.raise_signal(signal.SIGINT)
            return status

        monkeypatch.setattr(highspy.Highs, "run", run)

    return at


@pytest.mark.parametrize("solver", ["simplex", "ipm"])
def test_interrupt_of_linear_program(press: Callable[[str], None], solver: str) -> None:
    """Tests that a linear program is stopped by the callback of its algorithm, and claims no bound then."""
    press("before")
    outcome = solve_arrays(transportation(60, 80), Profile("x", highs={"presolve": "off", "solver": solver})).outcome
    assert (outcome.limit, outcome.bound) == (Limit.INTERRUPTED, None)
    assert outcome.raw_status == "Interrupted by user"


def test_wrong_arrays() -> None:
    """Tests that every array that does not fit is refused by name, before HiGHS sees them."""
    arrays = {"objective": np.array([1.0, np.nan]), "integer": np.zeros(5, dtype=bool), "row_upper": np.zeros((1, 1))}
    with pytest.raises(InputError) as caught:
        dataclasses.replace(program([1.0, 1.0], [[1.0, 1.0]], [1.0]), matrix=sp.coo_array([[1.0, np.nan]]), **arrays)
    assert [str(fault).partition(",")[0] for fault in caught.value.faults] == [
        "matrix: must be CSR or CSC with fewer than 2^31 entries",
        "objective: is NaN at 1",
        "integer: has shape (5",
        "row_upper: has shape (1",
        "matrix: has an entry that is NaN",
    ]


@pytest.mark.parametrize("start", [np.zeros(3), np.array([0.0, np.inf])])
def test_wrong_start(start: np.ndarray) -> None:
    """Tests that a start of the wrong length or with an infinite value is wrong usage."""
    with pytest.raises(UsageError, match="2 finite numbers"):
        solve_arrays(program([1.0, 1.0], [[1.0, 1.0]], [1.0]), EXACT, start)


def test_program_that_highs_refuses() -> None:
    """Tests that bounds that HiGHS does not take are an error, not an unsolved model."""
    with pytest.raises(UsageError, match="HiGHS refuses"):
        solve_arrays(program([1.0], [[1.0]], [1.0], col_lower=np.array([INF])), EXACT)


@pytest.mark.parametrize("name", ["exact", "large", "ci"])
def test_integers_stay_integers(name: str) -> None:
    """Tests that naming an algorithm for linear programs does not make HiGHS drop integrality."""
    lp = program([3.0, 2.0], [[2.0, 2.0]], [7.0], integer=np.ones(2, dtype=bool))
    assert solve_arrays(lp, load_profile(name)).outcome.objective == 8.0


@pytest.mark.parametrize(("seed", "nodes", "tasks"), [(109662, 4, 4), (725408, 3, 4), (561618, 2, 6), (96292, 3, 6)])
def test_bug_interior_point_that_never_ends(seed: int, nodes: int, tasks: int) -> None:
    """Tests networks of 20 columns on which interior point goes round for ever in 1.15, so that simplex takes over."""
    shown = Counter[str]()
    for overflow, alpha, replicas in itertools.product(("naive", "weight", "complement"), (0, 20, 50), (1, 2)):
        made = generate("fair-lsap", nodes=nodes, tasks=tasks, seed=seed, replicas=replicas)
        problem = FairLsap(made, selection="free", overflow=overflow, alpha=alpha)
        solution = solve(problem, load_profile("large"), route="network")
        assert solution.optimal
        assert solution.objective == solve(problem, route="network").objective
        shown[solution.raw_status] += 1
    by_simplex = shown.pop("interior point: Iteration limit reached; simplex: Optimal", 0)
    assert set(shown) == {"Optimal"}
    assert (by_simplex > 0) == highspy.Highs().version().startswith("1.15.")


def test_simplex_takes_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that where interior point is not done after the iterations that it may take, simplex finds the optimum."""
    monkeypatch.setattr(engine, "_IPM_ITERATIONS", 1)
    problem = FairLsap(generate("fair-lsap", nodes=40, tasks=60, seed=1), selection="free")
    solution = solve(problem, load_profile("large"), route="network")
    assert solution.raw_status == "interior point: Iteration limit reached; simplex: Optimal"
    assert solution.objective == solve(problem, route="network").objective


def test_own_limits_of_interior_point_are_kept() -> None:
    """Tests that a limit on iterations that the profile sets ends the run, without simplex after it."""
    profile = Profile("few", highs={"solver": "ipm", "ipm_iteration_limit": 0, "presolve": "off"})
    made = generate("fair-lsap", nodes=4, tasks=4, seed=109662, replicas=1)
    solution = solve(FairLsap(made, selection="free"), profile, route="network")
    assert (solution.limit, "simplex" in solution.raw_status) == (Limit.NODES, False)


def test_program_that_would_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that HiGHS does not get a program for which there is no memory, and that its size is reported."""
    monkeypatch.setattr("optsched.solvers.highs.has_room", lambda size: size < 300)
    monkeypatch.setattr("optsched.solvers.highs.available_mb", lambda: 7)
    found = solve_arrays(program([1.0], [[1.0]], [1.0]), "exact")
    text = "a program of 1 variables, 1 constraints and 1 coefficients would take 0 MB or more where there are 7"
    assert (found.outcome.limit, found.outcome.raw_status, found.x) == (Limit.MEMORY, text, None)


class TestOnTheWay:
    """Solutions that a program with integers finds on its way."""

    def knapsacks(self) -> LinearProgram:
        """Some 40 binaries in three knapsacks, of which HiGHS finds better fillings one after another."""
        rng = np.random.default_rng(4)
        value, size = rng.integers(10, 99, 40), rng.integers(10, 99, (3, 40))
        binary = {"col_upper": np.ones(40), "integer": np.ones(40, dtype=bool)}
        return program(-value, size, [-INF] * 3, row_upper=size.sum(axis=1) / 3.0, **binary)

    def test_each_is_feasible_and_better(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Tests that each is a solution, better than the one before, and the last one the optimum."""
        monkeypatch.setattr("optsched.solvers.highs._SHARE", INF)
        posed, found = self.knapsacks(), []
        with handing(), taking(found.append):
            solved = solve_arrays(posed, EXACT, decode=np.copy)
        assert solved.outcome.status is Termination.OPTIMAL
        values = [float(posed.objective @ x) for x in found]
        assert len(values) > 1
        assert values == sorted(values, reverse=True)
        assert values[-1] == pytest.approx(solved.outcome.objective)
        for x in found:
            assert (posed.matrix @ x <= posed.row_upper + 1e-6).all()
            assert np.abs(x - np.rint(x)).max() <= 1e-6

    def test_mistake_is_raised_after_the_run(self) -> None:
        """Tests that what decoding raises by mistake is raised by who runs HiGHS, which runs on as before after it."""
        with handing(), taking(print), pytest.raises(ZeroDivisionError):
            solve_arrays(self.knapsacks(), EXACT, decode=lambda x: 1 / 0)
        assert solve_arrays(self.knapsacks(), EXACT).outcome.status is Termination.OPTIMAL


#: An instance whose least cost within the least mean is 4. The literal model of `worst-group` gets the optimum of its
#: first program as a start, of some columns; from there HiGHS 1.16.0 says that the least cost is 2.
START_THAT_MISLEADS = {
    "format": "optsched/1",
    "nodes": [
        {"id": "n0", "slots": 1, "rack": "r1", "idle_slots": 1},
        {"id": "n1", "slots": 2},
        {"id": "n2", "slots": 2, "rack": "r1"},
        {"id": "n3", "slots": 1},
    ],
    "tasks": [
        {"id": "t14", "kind": "map", "replicas": [], "job": "j0"},
        {"id": "t15", "replicas": ["n3"], "job": "j0"},
        {"id": "t6", "replicas": ["n0", "n2"], "state": "finished", "node": "n1", "job": "j0"},
        {"id": "t5", "replicas": ["n2"], "job": "j0"},
        {"id": "t17", "replicas": ["n3"], "job": "j0"},
        {"id": "t12", "replicas": ["n2"], "job": "j0"},
    ],
    "groups": [{"id": "g0", "weight": 4600, "running_tasks": 3}, {"id": "g1", "weight": 5300, "running_tasks": 2}],
    "jobs": [{"id": "j0", "group": "g1"}],
}


def test_start_that_misleads() -> None:
    """Tests that a partial start, after which HiGHS 1.16.0 claims another value than its solution has, does no harm."""
    problem = WorstGroup(from_document(START_THAT_MISLEADS), levels=[0, 1, 2])
    solution = solve(problem, route="pulp")
    assert (solution.optimal, solution.objective) == (True, (Fraction(4, 5), 4))


class ClaimsLess:
    """HiGHS that claims another objective than its solution has, until it is told to forget its start."""

    def __init__(self, highs: highspy.Highs) -> None:
        self.highs, self.started = highs, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.highs, name)

    def setSolution(self, *given: Any) -> Any:  # noqa: N802 - as HiGHS calls it
        self.started = True
        return self.highs.setSolution(*given)

    def clearSolver(self) -> Any:  # noqa: N802 - as HiGHS calls it
        self.started = False
        return self.highs.clearSolver()

    def getInfo(self) -> Any:  # noqa: N802 - as HiGHS calls it
        info = self.highs.getInfo()
        if self.started:
            info.objective_function_value -= 1.0
        return info


def test_claim_from_a_start_is_held_to_its_solution() -> None:
    """Tests that HiGHS runs again without a start where its claim is not the value of its solution, and says so."""
    highs = highspy.Highs()
    highs.setOptionValue("log_to_console", False)
    highs.passModel(engine._highs_lp(program([1.0, 2.0], [[1.0, 1.0]], [3.0], integer=np.array([True, True]))))
    outcome = engine.run(ClaimsLess(highs), EXACT, "test", (np.array([0], dtype=np.int32), np.array([3.0])))
    assert (outcome.status, outcome.objective) == (Termination.OPTIMAL, 3.0)
    assert outcome.raw_status == "from the start: Optimal, whose value is not the one it reports; without: Optimal"


# Better solutions on the way ------------------------------------------------------------------------------------------


class Clock:
    """A clock that stands until it is moved on."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_telling_takes_a_small_part_of_the_time() -> None:
    """Tests that the first solution is reported at once, and of those that come too soon after it the latest alone."""
    clock, seen = Clock(), []

    def tell(values: np.ndarray) -> None:
        seen.append(values.tolist())
        clock.now += 1.0

    improving, values = Improving(tell, clock), np.zeros(1)
    improving.look()
    for value in (1.0, 2.0, 3.0):
        values[0] = value
        improving.take(values)
    values[0] = -1.0
    clock.now = 9.0
    improving.look()
    assert seen == [[1.0]]
    clock.now = 10.0
    improving.look()
    improving.look()
    assert seen == [[1.0], [3.0]]
    improving.end()


@pytest.mark.parametrize("kind", [SolverDisagreement, OutOfTime, MemoryError])
def test_what_cannot_be_told_is_passed_over(kind: type[Exception]) -> None:
    """Tests that a solution which stands for nothing, or for which no time or memory is left, is not reported."""
    seen = []

    def tell(values: np.ndarray) -> None:
        if not seen:
            seen.append(0.0)
            raise kind("no")
        seen.append(values[0])

    improving = Improving(tell, Clock())
    improving.take([1.0])
    improving.take([2.0])
    improving.end()
    assert seen == [0.0, 2.0]


@pytest.mark.parametrize("kind", [LookupError, KeyboardInterrupt])
def test_mistake_is_raised_at_the_end(kind: type[BaseException]) -> None:
    """Tests that anything else reaches who asked, and not the solver, after which nothing is reported any more."""
    seen = []

    def tell(values: np.ndarray) -> None:
        seen.append(values[0])
        raise kind("a bug")

    improving = Improving(tell, Clock())
    improving.take([1.0])
    improving.take([2.0])
    with pytest.raises(kind, match="a bug"):
        improving.end()
    assert seen == [1.0]


def test_any_thread_may_tell() -> None:
    """Tests that a deadline, and who waits, are the same where a solver calls from a thread of its own."""
    seen: list[bool] = []
    with deadline(1000):
        improving = Improving(lambda _: seen.append(remaining() is not None), Clock())
    thread = threading.Thread(target=improving.take, args=([1.0],))
    thread.start()
    thread.join()
    assert seen == [True]


# No banner ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "first",
    [
        "solve(problem, route='arrays')",
        pytest.param("solve(problem, route='pyomo')", marks=pytest.mark.thorough),
        pytest.param("solve(problem, route='pulp')", marks=pytest.mark.thorough),
        pytest.param("load_profile('solvers/large.toml')", marks=pytest.mark.thorough),
        pytest.param("write_mps(build_pyomo(problem), sys.argv[1])", marks=pytest.mark.thorough),
    ],
)
def test_nothing_is_printed(first: str, tmp_path: Path) -> None:
    """Tests each way in a process of its own, by the file descriptor, which is what HiGHS prints to."""
    program = f"""
import sys
import optsched
from optsched.models.export import write_mps
from optsched.models.lsap import build_pyomo
from optsched.routes import solve
from optsched.solvers.profiles import load_profile
problem = optsched.problem("lsap", optsched.generate("lsap", seed=1))
{first}
print("highspy" in sys.modules)
"""
    command = [sys.executable, "-c", program, f"{tmp_path}/model.mps"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert (ended.stdout, ended.stderr) == ("True\n", "")


def test_sanity_reports_wrong_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a wrong optimum would be reported by issue, value and version."""
    monkeypatch.setitem(SMALL_MODELS, "HiGHS#3043", (SMALL_MODELS["HiGHS#3043"][0], 8.0))
    (line,) = wrong_answers()
    assert line.startswith("HiGHS#3043: optimum 8.0, HiGHS")
    assert float(line.rpartition(" says ")[2]) == pytest.approx(9.0, abs=1e-5)
