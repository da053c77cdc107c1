"""HiGHS: the only module that runs it, and its interface with arrays.

`run` takes a HiGHS object that already holds a model. So limits, gaps, interrupts and statuses mean the same through
arrays, Pyomo and PuLP (the last two are in `algebraic`). HiGHS has several traps, which are handled here:

- it says "Optimal" at any tolerated gap: only objective and bound together decide;
- it refuses options of a wrong name or type by a return value (`options`);
- it notices Ctrl-C only at the end, or loses the incumbent: here a callback stops the solver and keeps both;
- interior point may loop for ever, on programs of some twenty columns (highspy 1.15): after 300 iterations simplex
  takes over;
- the first object of a process prints a banner before any option can be set (highspy 1.16): see `options.QuietHighs`;
- "infeasible or unbounded" needs a second run without the objective;
- a model without columns is "empty", even if its rows cannot hold;
- solving with another number of threads than before in the same process fails once.

Solves in several threads of one process take turns. After a solve with more than one thread, `fork` followed by a solve
hangs: start processes by spawn.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import Any

import highspy
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from optsched.core.deadline import remaining
from optsched.core.errors import OutOfTime, SolverDisagreement, UsageError
from optsched.core.processes.handing import taken
from optsched.core.processes.limits import available_mb, has_room
from optsched.core.results import Limit, Termination
from optsched.solvers.answers import (
    OUT_OF_MEMORY,
    LinearProgram,
    SolverOutcome,
    check_duals,
    check_objective,
    check_values,
)
from optsched.solvers.options import QuietHighs, set_options
from optsched.solvers.profiles import AnyProfile, Profile, load_profile

_ERROR = highspy.HighsStatus.kError
_Status = highspy.HighsModelStatus
_FEASIBLE_POINT = 2  # HighsInfo.primal_solution_status of a feasible solution

_LIMITS = {
    _Status.kTimeLimit: Limit.TIME,
    _Status.kSolutionLimit: Limit.NODES,
    _Status.kIterationLimit: Limit.NODES,
    _Status.kMemoryLimit: Limit.MEMORY,
    _Status.kInterrupt: Limit.INTERRUPTED,
    _Status.kObjectiveTarget: Limit.GAP,
}

#: Difference of objective and bound, relative to the objective, that counts as no gap: rounding, and what HiGHS leaves
#: at a tolerated gap of 0 (its feasibility tolerance).
_ROUNDING, _CLOSED = 1e-9, 1e-6 + 1e-9

#: Interior point takes some tens of iterations at any size, or never ends (highspy 1.15); after this many, simplex
#: takes over.
_IPM_ITERATIONS = 300
_STUCK = (_Status.kIterationLimit, _Status.kUnknown, _Status.kSolveError)

#: A bound this far away (or infinite) means that none is known: no problem has such numbers.
_BEYOND = 2.0**62

#: HiGHS refuses programs in which a row has a coefficient of this size.
MOST_COEFFICIENT = 10**15

#: Measured lower limit on HiGHS's bytes for a coefficient of a large program.
_BYTES_A_COEFFICIENT = 300

#: Reports of better solutions take at most this share of the time, except the first one.
_SHARE = 0.1

_one_at_a_time = threading.Lock()

Floats = npt.NDArray[np.float64]


def run(
    highs: Any,
    profile: AnyProfile,
    interface: str,
    start: tuple[npt.NDArray[np.int32], Floats] | None = None,
    improving: Callable[[Floats], None] | None = None,
) -> SolverOutcome:
    """Run HiGHS on the model that it holds, within the limits of a profile; the outcome in the sense of that model.

    An earlier deadline (`core.deadline`) replaces the profile's time limit. `interface` is the builder of the model,
    for the record: `arrays`, `pyomo 6.10.1`. `start` has columns and their values in a solution to start from; HiGHS
    completes a partial one and ignores an infeasible one. Linear programs start without. If HiGHS ends with a solution
    whose value is not what it says, as 1.16.0 may after completing a start, it runs again without the start.
    `improving` gets the values of the columns of each better solution during the search of a program with integers
    (`Improving`). It must not run HiGHS.

    Ctrl-C in the main thread ends the run with limit INTERRUPTED. UsageError for an option that HiGHS refuses.
    """
    profile = load_profile(profile)
    options = profile.options
    watched = options.get("solver") == "ipm" and "ipm_iteration_limit" not in options
    limited = options | ({"ipm_iteration_limit": _IPM_ITERATIONS} if watched else {})
    limits = [float(limit) for limit in (remaining(), profile.time_limit) if limit is not None]
    if limits:  # HiGHS's clock continues from run to run
        limited["time_limit"] = min(limits) + highs.getRunTime()
    faults = set_options(highs, limited)
    if faults:
        raise UsageError("; ".join(f"solver option {fault}" for fault in faults))
    solver = {"name": "HiGHS", "version": highs.version(), "interface": interface, "options": options}
    began = time.perf_counter()

    def outcome(status: Termination, limit: Limit | None, raw: str, **claims: Any) -> SolverOutcome:
        values = {"objective": None, "bound": None, "nodes": None} | claims
        return SolverOutcome(
            status, limit, raw_status=raw, seconds=time.perf_counter() - began, solver=solver, **values
        )

    with _one_at_a_time, _interruptible(highs) as interrupted, _telling(highs, improving):
        try:
            # A linear program starts only from a basis.
            started = start is not None and _has_integers(highs)
            if start is not None and started:
                highs.setSolution(len(start[0]), *start)
            _run(highs)
            raw = _words(highs)
            if started and _misvalued(highs) and not interrupted():
                highs.clearSolver()
                _run(highs)
                raw = f"from the start: {raw}, whose value is not the one it reports; without: {_words(highs)}"
            if watched and not _has_integers(highs) and highs.getModelStatus() in _STUCK and not interrupted():
                set_options(highs, {"solver": "simplex"})  # HiGHS counts the time of both runs
                _run(highs)
                raw = f"interior point: {raw}; simplex: {_words(highs)}"
            unclear = highs.getModelStatus() == _Status.kUnboundedOrInfeasible
            if unclear:
                columns = highs.getNumCol()
                highs.changeColsCost(columns, np.arange(columns, dtype=np.int32), np.zeros(columns))
                _run(highs)
                raw = f"{raw}; without objective: {_words(highs)}"
        except MemoryError:
            return outcome(Termination.NO_SOLUTION, Limit.MEMORY, "out of memory")
        closed = _ROUNDING if profile.relative_gap or profile.absolute_gap else _CLOSED
        status, limit, claims = _read(highs, closed, interrupted())
        if unclear and status in (Termination.OPTIMAL, Termination.FEASIBLE):
            status = Termination.ERROR  # there are solutions, so the objective is unbounded
        if unclear:
            claims = {}
    return outcome(status, limit, raw, **claims)


def _has_integers(highs: Any) -> bool:
    return any(kind != highspy.HighsVarType.kContinuous for kind in highs.getLp().integrality_)


def _words(highs: Any) -> str:
    return str(highs.modelStatusToString(highs.getModelStatus()))


def _run(highs: Any) -> None:
    """Run; once more if an earlier solve in this process has left a scheduler with other threads."""
    if highs.run() == _ERROR:
        highspy.Highs.resetGlobalScheduler(True)
        highs.run()


def _misvalued(highs: Any) -> bool:
    """Whether HiGHS holds a solution whose value is not the objective that it claims.

    Missing, extra or non-numeric values raise when they are read.
    """
    info, values = highs.getInfo(), np.asarray(highs.getSolution().col_value)
    if info.primal_solution_status != _FEASIBLE_POINT:
        return False
    if len(values) != highs.getNumCol() or not np.isfinite(values).all():
        return False
    try:
        check_objective(info.objective_function_value, values, program_of(highs))
    except SolverDisagreement:
        return True
    return False


@contextlib.contextmanager
def _interruptible(highs: Any) -> Iterator[Callable[[], bool]]:
    """Let Ctrl-C stop the solver, which then keeps incumbent and bound; yields a function that says whether it came.

    Python delivers signals only to its main thread, so elsewhere nothing is changed; the former handler always returns.
    """
    former = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or former is None:
        yield lambda: False
        return
    pressed = threading.Event()

    def stop(event: Any) -> None:
        if pressed.is_set():
            event.interrupt()

    callbacks = (highs.cbMipInterrupt, highs.cbSimplexInterrupt, highs.cbIpmInterrupt)
    for callback in callbacks:
        callback.subscribe(stop)
    signal.signal(signal.SIGINT, lambda _number, _frame: pressed.set())
    try:
        yield pressed.is_set
    finally:
        signal.signal(signal.SIGINT, former)
        for callback in callbacks:
            callback.unsubscribe(stop)


@contextlib.contextmanager
def _telling(highs: Any, tell: Callable[[Floats], None] | None) -> Iterator[None]:
    """Report the better solutions of a program with integers within the block; finally raise what reporting raised."""
    if tell is None or not _has_integers(highs):
        yield
        return
    improving = Improving(tell)

    def improved(event: Any) -> None:
        improving.take(event.data_out.mip_solution)

    def look(_event: Any) -> None:
        improving.look()

    highs.cbMipImprovingSolution.subscribe(improved)
    highs.cbMipInterrupt.subscribe(look)
    try:
        yield
    finally:
        highs.cbMipImprovingSolution.unsubscribe(improved)
        highs.cbMipInterrupt.unsubscribe(look)
    improving.end()


class Improving:
    """Reports each better solution, or only the latest one if all would take too long.

    A solution is skipped if it cannot be decoded (`SolverDisagreement`: a solver's rows hold only within a tolerance),
    or if there is neither time nor memory to report it. The solver calls this in a callback, so no exception may reach
    it: thrown through a library in another language, maybe on its own thread, it can end the process.

    `tell` gets the values of the columns, float64. It is called in the context (deadline, receiver) of the creator of
    this object.
    """

    def __init__(self, tell: Callable[[Floats], None], clock: Callable[[], float] = time.perf_counter) -> None:
        self._tell, self._clock, self._context = tell, clock, copy_context()
        self._began, self._spent = clock(), 0.0
        self._latest: Floats | None = None
        self._raised: BaseException | None = None
        self._one_at_a_time = threading.Lock()

    def take(self, values: npt.ArrayLike) -> None:
        """Take a solution that is better than all before; it is copied."""
        self._latest = np.array(values, dtype=np.float64)
        self.look()

    def look(self) -> None:
        """Report the latest solution, unless that is done or reports have used their share of the time."""
        if self._latest is None or self._raised is not None:
            return
        with self._one_at_a_time:
            began = self._clock()
            values = self._latest
            if values is None or self._spent > _SHARE * (began - self._began):
                return
            self._latest = None
            try:
                self._context.run(self._tell, values)
            except (SolverDisagreement, OutOfTime, MemoryError):
                pass
            except BaseException as error:  # it must not reach the solver, which calls this
                self._raised = error
            self._spent += self._clock() - began

    def end(self) -> None:
        """Raise what reporting raised, now that the solver has ended."""
        if self._raised is not None:
            raise self._raised


def _read(highs: Any, closed: float, interrupted: bool) -> tuple[Termination, Limit | None, dict[str, Any]]:
    """Status, limit and claims (objective, bound, nodes) after a run."""
    status, info = highs.getModelStatus(), highs.getInfo()
    limit = _LIMITS.get(status, Limit.INTERRUPTED if interrupted else None)
    if status == _Status.kModelEmpty:
        offset, lp = highs.getObjectiveOffset()[1], highs.getLp()
        if np.all(np.asarray(lp.row_lower_) <= 0.0) and np.all(np.asarray(lp.row_upper_) >= 0.0):
            return Termination.OPTIMAL, limit, {"objective": offset, "bound": offset}
        return Termination.INFEASIBLE, limit, {}
    integer = info.mip_node_count >= 0
    nodes = int(info.mip_node_count) if integer else None
    if status == _Status.kInfeasible:
        return Termination.INFEASIBLE, limit, {"nodes": nodes}
    if status != _Status.kOptimal and status not in _LIMITS:
        return Termination.ERROR, limit, {"nodes": nodes}
    objective = float(info.objective_function_value) if info.primal_solution_status == _FEASIBLE_POINT else None
    if integer:
        bound = float(info.mip_dual_bound) if abs(info.mip_dual_bound) < _BEYOND else None
    else:  # a MIP's figure is then 0, not a bound
        bound = objective if status == _Status.kOptimal else None
    if objective is not None and not np.isfinite(objective):
        raise SolverDisagreement(f"the solver says that its solution is worth {objective}, which is no number")
    claims = {"objective": objective, "bound": bound, "nodes": nodes}
    if objective is None:
        return Termination.NO_SOLUTION, limit, claims
    if status != _Status.kOptimal:
        return Termination.FEASIBLE, limit, claims
    if bound is None or abs(objective - bound) > closed * max(1.0, abs(objective)):
        return Termination.FEASIBLE, Limit.GAP, claims
    return Termination.OPTIMAL, limit, claims


@dataclass(frozen=True, eq=False, slots=True)
class ArraySolution:
    """Outcome of `solve_arrays`, with the incumbent `x`, if any, and the duals of a linear program that was solved.

    `row_duals` y, shape (rows,), is the change of the minimum per unit of a row's active side. So it is at least 0 if
    `row_lower` is active and at most 0 if `row_upper` is. `col_duals`, shape (columns,), is `objective - matrix.T @ y`.
    """

    outcome: SolverOutcome
    x: Floats | None
    row_duals: Floats | None
    col_duals: Floats | None


def solve_arrays(
    program: LinearProgram,
    profile: AnyProfile,
    start: Floats | None = None,
    decode: Callable[[Floats], Any] | None = None,
) -> ArraySolution:
    """Solve a linear or mixed-integer program given as arrays.

    `start` is a solution to start from, shape (columns,). HiGHS ignores an infeasible one. `decode` decodes a solution,
    or returns None. Better ones during the search are passed on if somebody asked for them
    (`optsched.core.processes.handing.taking`); they need not be optimal, and `decode` must not run HiGHS.

    UsageError if HiGHS does not know an option, or the start has the wrong length or non-finite numbers.

    Examples
    --------
    Minimise x + 2y with x + y >= 3, x <= 2:

    >>> program = LinearProgram(
    ...     objective=np.array([1.0, 2.0]), col_lower=np.zeros(2), col_upper=np.array([2.0, np.inf]),
    ...     integer=np.zeros(2, dtype=bool), row_lower=np.array([3.0]), row_upper=np.array([np.inf]),
    ...     matrix=sp.csr_array([[1.0, 1.0]]))
    >>> solution = solve_arrays(program, Profile("exact"))
    >>> solution.outcome.objective, solution.x.tolist(), solution.row_duals.tolist(), solution.col_duals.tolist()
    (4.0, [2.0, 1.0], [2.0], [-1.0, 0.0])
    """
    columns = len(program.objective)
    hint = None
    if start is not None:
        if start.shape != (columns,) or not np.isfinite(start).all():
            raise UsageError(f"a start is {columns} finite numbers, one a column; this one has shape {start.shape}")
        hint = (np.arange(columns, dtype=np.int32), start.astype(np.float64))
    improving = None if decode is None else taken(lambda values: decode(check_values(values, program)))
    return solve_program(program, profile, "arrays", hint, improving)


def solve_program(
    program: LinearProgram,
    profile: AnyProfile,
    interface: str,
    start: tuple[npt.NDArray[np.int32], Floats] | None = None,
    improving: Callable[[Floats], None] | None = None,
) -> ArraySolution:
    """Give a new HiGHS object a program and `run` it; UsageError if it refuses the program."""
    columns, highs, needed = len(program.objective), QuietHighs(), program.matrix.nnz * _BYTES_A_COEFFICIENT
    if not has_room(needed):
        rows = program.matrix.shape[0]
        size = f"{columns:,} variables, {rows:,} constraints and {program.matrix.nnz:,} coefficients"
        status = f"a program of {size} would take {needed / 2**20:,.0f} MB or more where there are {available_mb():,}"
        return ArraySolution(replace(OUT_OF_MEMORY, raw_status=status), None, None, None)
    try:
        if highs.passModel(_highs_lp(program)) == _ERROR:
            reason = "infinite costs, coefficients of 1e15 or more, a lower bound of +inf or an upper one of -inf"
            raise UsageError(f"HiGHS refuses the program: {reason}")
    except MemoryError:
        return ArraySolution(OUT_OF_MEMORY, None, None, None)
    return read_solution(highs, run(highs, profile, interface, start, improving), program)


class WarmProgram:
    """A linear program without integers that is solved repeatedly within other bounds, or with other costs.

    Each run begins from the basis of the last one.
    """

    def __init__(self, program: LinearProgram) -> None:
        self._program, self._highs = program, QuietHighs()
        self._columns = np.arange(len(program.objective), dtype=np.int32)
        self._passed = False

    def solve(
        self,
        lower: Floats,
        upper: Floats,
        profile: AnyProfile,
        objective: Floats | None = None,
    ) -> ArraySolution:
        """Solve like `solve_uninterrupted`, with these bounds of the columns, and with other costs if given."""
        costs = self._program.objective if objective is None else objective
        program = replace(self._program, col_lower=lower, col_upper=upper, objective=costs)
        if not self._passed:
            self._highs.passModel(_highs_lp(program))
            self._passed = True
        self._highs.changeColsBounds(len(self._columns), self._columns, lower, upper)
        self._highs.changeColsCost(len(self._columns), self._columns, costs)
        found = read_solution(self._highs, run(self._highs, profile, "arrays"), program)
        if found.outcome.limit is Limit.INTERRUPTED:
            raise KeyboardInterrupt
        return found


def solve_uninterrupted(program: LinearProgram, profile: Profile) -> ArraySolution:
    """Solve like `solve_arrays`, as an intermediate step. KeyboardInterrupt if Ctrl-C came while HiGHS ran."""
    found = solve_arrays(program, profile)
    if found.outcome.limit is Limit.INTERRUPTED:
        raise KeyboardInterrupt
    return found


def read_solution(highs: Any, outcome: SolverOutcome, program: LinearProgram | None = None) -> ArraySolution:
    """Read and check the solution that HiGHS holds after `run`; the only place for that.

    `program` is what was solved; by default it is taken from HiGHS. SolverDisagreement if HiGHS holds no solution, if
    its value is not the claimed one, or if its duals are not finite numbers.
    """
    if outcome.objective is None:
        return ArraySolution(outcome, None, None, None)
    program = program_of(highs) if program is None else program
    solution = highs.getSolution()
    values = check_values(solution.col_value, program)
    check_objective(outcome.objective, values, program)
    if outcome.status is not Termination.OPTIMAL or _has_integers(highs) or not solution.dual_valid:
        return ArraySolution(outcome, values, None, None)
    row_duals = check_duals(solution.row_dual, len(program.row_lower), "duals of the rows")
    return ArraySolution(outcome, values, row_duals, check_duals(solution.col_dual, len(values), "reduced costs"))


def program_of(highs: Any) -> LinearProgram:
    """The program that HiGHS holds, in its own sense; bounds of a semicontinuous column are widened to include 0."""
    lp = highs.getLp()
    matrix, shape = lp.a_matrix_, (lp.num_row_, lp.num_col_)
    by_row = matrix.format_ == highspy.MatrixFormat.kRowwise
    held = (sp.csr_array if by_row else sp.csc_array)(
        (np.asarray(matrix.value_), np.asarray(matrix.index_), np.asarray(matrix.start_)), shape=shape
    )
    kinds = list(lp.integrality_) or [highspy.HighsVarType.kContinuous] * lp.num_col_
    integer_kinds = (highspy.HighsVarType.kInteger, highspy.HighsVarType.kSemiInteger)
    semi = np.array([kind in (highspy.HighsVarType.kSemiContinuous, integer_kinds[1]) for kind in kinds], dtype=bool)
    lower = np.asarray(lp.col_lower_, dtype=np.float64)
    return LinearProgram(
        objective=np.asarray(lp.col_cost_, dtype=np.float64),
        col_lower=np.where(semi, np.minimum(lower, 0.0), lower),
        col_upper=np.asarray(lp.col_upper_, dtype=np.float64),
        integer=np.array([kind in integer_kinds for kind in kinds], dtype=bool),
        row_lower=np.asarray(lp.row_lower_, dtype=np.float64),
        row_upper=np.asarray(lp.row_upper_, dtype=np.float64),
        matrix=held,
        offset=float(lp.offset_),
    )


def _highs_lp(program: LinearProgram) -> Any:
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = program.matrix.shape
    lp.col_cost_, lp.offset_ = program.objective.astype(np.float64), float(program.offset)
    lp.col_lower_, lp.col_upper_ = program.col_lower.astype(np.float64), program.col_upper.astype(np.float64)
    lp.row_lower_, lp.row_upper_ = program.row_lower.astype(np.float64), program.row_upper.astype(np.float64)
    by_row = program.matrix.format == "csr"
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise if by_row else highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = program.matrix.indptr.astype(np.int32)
    lp.a_matrix_.index_ = program.matrix.indices.astype(np.int32)
    lp.a_matrix_.value_ = program.matrix.data.astype(np.float64)
    if program.integer.any():
        kinds = np.array([highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger])
        lp.integrality_ = kinds[program.integer.astype(np.intp)].tolist()
    return lp


# The installed release ------------------------------------------------------------------------------------------------


#: A smaller deviation of an optimum is no fault: HiGHS keeps a row up to a millionth (1.16 gives 8.999999 for 9).
_OFF = 1e-5


def small_program(
    objective: Sequence[float],
    columns: Sequence[tuple[float, float, bool]],
    rows: Sequence[tuple[float, Sequence[float], float]],
    offset: float = 0.0,
) -> LinearProgram:
    """A program from costs, columns (lower, upper, integer) and rows (lower, coefficients, upper)."""
    lower, upper, integer = zip(*columns, strict=True)
    row_lower, coefficients, row_upper = zip(*rows, strict=True)
    return LinearProgram(
        objective=np.array(objective),
        col_lower=np.array(lower),
        col_upper=np.array(upper),
        integer=np.array(integer),
        row_lower=np.array(row_lower),
        row_upper=np.array(row_upper),
        matrix=sp.csr_array(np.array(coefficients)),
        offset=offset,
    )


#: Small programs for which some release of HiGHS called a wrong value "Optimal" (highspy 1.14 failed all, by 0.8 or
#: more). For each public issue the model and its optimum, found by hand; `optsched self-test` runs them.
SMALL_MODELS: dict[str, tuple[LinearProgram, float]] = {
    "HiGHS#2957": (
        small_program([1.0, 2.0], [(0.0, 20.0, True), (8.0, 20.0, False)], [(20.1, [1.0, 1.0], np.inf)]),
        28.2,
    ),
    "HiGHS#3002": (
        small_program(
            [1.0, 4.0, 9.0],
            [(0.0, 4.0, False), (-1.0, 1.0, False), (0.0, np.inf, True)],
            [(-np.inf, [1.0, 1.0, 0.0], 5.0), (10.0, [1.0, 0.0, 1.0], np.inf), (7.5, [0.0, -1.0, 1.0], 7.5)],
        ),
        64.0,
    ),
    "HiGHS#3043": (
        small_program([2.0, 3.0], [(0.0, 10.0, False), (0.0, 10.0, True)], [(4.5, [1.0, 1.0], np.inf)]),
        9.0,
    ),
    "HiGHS#3073": (
        small_program(
            [100.0, 0.01, 0.0],
            [(0.0, np.inf, False), (-np.inf, np.inf, False), (0.45, 3.0, True)],
            [(3.0, [1.0, 0.0, 1.0], 3.0), (-np.inf, [0.0, -1.0, 1.0], 0.0), (-np.inf, [0.0, -1.0, -1.0], 0.0)],
        ),
        0.03,
    ),
}


def wrong_answers() -> list[str]:
    """One line for each of the models that the installed HiGHS gets wrong; it should be empty.

    >>> wrong_answers()
    []
    """
    lines = []
    for issue, (program, optimum) in SMALL_MODELS.items():
        outcome = solve_arrays(program, Profile("exact")).outcome
        if outcome.objective is None or outcome.bound is None or abs(outcome.objective - optimum) > _OFF:
            lines.append(f"{issue}: optimum {optimum}, HiGHS {outcome.solver['version']} says {outcome.objective}")
    return lines
