"""Contract checks of programs: their results for any objective, at each limit, from a start, and as files."""

from __future__ import annotations

import inspect
import itertools
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from optsched.core.errors import UsageError
from optsched.core.network import FlowNetwork
from optsched.core.placement import NONE, Placement, Schedule
from optsched.core.problem_record import imported
from optsched.core.registry import Record, records
from optsched.core.results import Decision, Sense, Termination
from optsched.instances.files import from_document
from optsched.instances.generate import FAMILIES, generate
from optsched.instances.importers.libraries import import_dimacs
from optsched.problems import Problem, network_problem
from optsched.problems.program_audit import Audit, fault_of, samples
from optsched.problems.programs import Limited, Programmed, limit_unit
from optsched.routes import solve
from optsched.testing.contract import (
    Case,
    cases,
    check,
    columns,
    every_decision,
    expect,
    listed,
    places,
    size_of,
    with_usual,
)

#: The programs of a module of models: the compact one and the paper's own.
KINDS = ("build_pyomo", "build_pulp")

#: The number of drawn objectives for each program in addition to its own, and the largest value of an integer then.
_DRAWN, _MOST = 2, 1000


def is_modelled(record: Record) -> bool:
    """Whether the problem has models."""
    return record.models is not None


@check(lambda record: issubclass(record.problem_class, Programmed))
def check_program(record: Record, seeds: Sequence[int]) -> None:
    """Program and definition agree on every decision: whether it is feasible, and what it costs."""
    if places(record) and record.family in FAMILIES:  # `sizes` may be so small that different objectives agree
        usual: Any = record.problem_class(generate(str(record.family), seeds[0]))
        fault = None if usual.leaves_out_worse else fault_of(usual, (), samples(usual))
        fault = fault or _at_less(usual, itertools.islice(samples(usual), 0, None, 50))
        expect(fault is None, usual.place, str(fault))
    for case in cases(record, seeds):
        problem: Any = case.problem
        for before in _befores(case):
            tried: Any = every_decision(problem)
            if problem.leaves_out_worse and not before:
                tried = (decision for decision in tried if problem.violations(decision) or decision in case.optima)
            fault = fault_of(problem, before, tried)
            expect(fault is None, case.name, str(fault))


def _at_less(problem: Any, decisions: Iterator[Any]) -> str | None:
    """The contradiction where a decision's values stay in the program with one of them a step cheaper."""
    program = problem.program()
    audit, costs = Audit(problem, (), program), program.numbers.objective
    for decision in decisions:
        if problem.violations(decision):
            continue
        values = problem.values_of(decision, program)
        for column in np.flatnonzero(costs * values).tolist():
            less = values.copy()
            less[column] -= np.sign(costs[column])
            fault = None if program.broken(less) else audit.of_values(less)
            if fault is not None:
                return fault
    return None


def _befores(case: Case) -> Iterator[tuple[Any, ...]]:
    """What goes before a component in its program: nothing, then the best and the worst values before it."""
    problem: Any = case.problem
    yield ()
    for position in range(1, len(problem.components)):
        for value in [*case.decisions][:: max(1, len(case.decisions) - 1)]:
            before: tuple[Any, ...] = ()
            for natural in problem.minimised(value)[:position]:
                limited = isinstance(problem, Limited) and not before
                before += (natural * (limit_unit(problem) if limited else problem.program(before).unit),)
            yield before


class Program:
    """One program of a problem: a model of one kind, without a limit or at one, built when it is needed.

    The builder gets the limit and other `options`.
    """

    def __init__(self, record: Record, case: Case, kind: str, limit: Any = None, **options: Any) -> None:
        from optsched.models.export import about

        self.record, self.case, self.kind, self.limit = record, case, kind, limit
        self.module: Any = imported(str(record.models))
        self.options = options if limit is None else {"limit": limit, **options}
        self.where = ", ".join([case.name, kind, *(f"{key}={value}" for key, value in self.options.items())])
        self.meaning = about(case.problem, limit is not None)
        #: The component that is its objective, and its true optimum.
        self.component = case.problem.components.index(self.meaning.component)
        within = None if limit is None or record.limit is None else (record.limit.component, limit)
        self.truth = case.best_of(self.component, within)

    @cached_property
    def model(self) -> Any:
        """The program of the module of models."""
        return getattr(self.module, self.kind)(self.case.problem, **self.options)

    def solved(self, start: Any = None, presolve: bool = True) -> Any:
        """The answer of HiGHS, from a start if there is one."""
        from optsched.solvers.algebraic import solve_pulp, solve_pyomo
        from optsched.solvers.profiles import load_profile

        run = solve_pulp if self.kind == "build_pulp" else solve_pyomo
        profile = load_profile("exact")
        if not presolve:
            profile = replace(profile, highs={**profile.highs, "presolve": "off"})
        return run(self.model, profile, start)

    def value(self, outcome: Any, where: str) -> Fraction:
        """The value of an optimum, in the units of the component."""
        expect(outcome.status is Termination.OPTIMAL, where, str(outcome.status))
        return self.meaning.of(outcome.objective)

    def finds_truth(self, start: Any = None, where: str | None = None) -> None:
        """The program finds the true optimum, from a start if there is one."""
        value = self.value(self.solved(start), where or self.where)
        expect(agrees(value, self.truth), where or self.where, f"finds {float(value)}, the truth is {self.truth}")

    def decoded(self, where: str, by_costs: Sequence[str] = ()) -> Any:
        """The value of its decision in the component; the decision must be feasible and within the limit.

        If the objective is another one, the rules that only the costs enforce (`by_costs`) may be violated.
        """
        problem = self.case.problem
        decision = self.module.decode(self.model, problem)
        wrong = [entry for entry in problem.violations(decision) if entry.constraint not in by_costs]
        expect(not wrong, where, f"decodes into what is infeasible: {'; '.join(map(str, wrong))}")
        value = problem.objective(decision)
        if self.limit is not None:
            sign, worth = problem.minimised((1, 1))[1 - self.component], value[1 - self.component]
            expect(sign * worth <= sign * self.limit, where, f"decodes into {worth}, past the limit")
        return value[self.component]


def programs(record: Record, case: Case) -> Iterator[Program]:
    """Every program of the module of models: compact and literal, with and without a limit, in and out of reach."""
    limits: list[Any] = [None]
    if record.limit is not None:
        sign = case.problem.minimised((1, 1))[record.limit.component]
        reached = sorted({value[record.limit.component] for value in case.decisions})
        beyond = [reached[0] - 1] if reached and (reached[0] > 0 or sign < 0) else []
        limits += [sign * value for value in beyond + reached[:2] + reached[-1:]]
    for kind in KINDS:
        build = getattr(imported(str(record.models)), kind)
        pairs = kind == "build_pyomo" and "per_pair" in inspect.signature(build).parameters
        for limit, way in itertools.product(limits, [{}, {"per_pair": True}] if pairs else [{}]):
            program = Program(record, case, kind, limit, **way)
            try:
                assert program.model is not None
            except UsageError as error:  # an obvious reason makes everything infeasible
                expect(program.truth is None, program.where, f"is refused: {error}")
            else:
                yield program


def agrees(value: float | Fraction, truth: Any) -> bool:
    """Whether a solver's number equals the truth, within its tolerance."""
    return abs(float(value) - float(truth)) <= 1e-6 * max(1.0, abs(float(truth)))


@check(is_modelled)
def check_models(record: Record, seeds: Sequence[int]) -> None:
    """Every model has the true optimum, decodes it correctly, and admits no infeasible decision."""
    module = imported(str(record.models))
    for case in cases(record, seeds):
        for program in programs(record, case):
            right_program(program)
        if case.best is not None:
            size, model = module.literal_size(case.problem), module.build_pulp(case.problem)
            built = len(model.variables()), len(list(model.constraints()))
            expect(built == (size.variables, size.constraints), case.name, f"literal_size says {size}, built {built}")


def right_program(program: Program) -> None:
    """A program finds its true optimum, and for any objective a feasible decision."""
    where, problem = program.where, program.case.problem
    if program.truth is None:
        outcome = program.solved()
        expect(outcome.status is Termination.INFEASIBLE, where, f"{outcome.status}, not INFEASIBLE")
        return
    program.finds_truth()
    worth = program.decoded(where)
    expect(worth == program.truth, where, f"decodes into what is worth {worth}, not {program.truth}")
    left_out = program.kind == "build_pulp" and getattr(problem, "due", 0) < size_of(problem)
    for draw in range(_DRAWN):
        _draw_objective(program.model, np.random.default_rng(draw))
        outcome = program.solved()
        if outcome.status is Termination.INFEASIBLE:  # it is feasible, but the presolve of highspy 1.15 sometimes errs
            outcome = program.solved(presolve=False)
        program.value(outcome, f"{where}, another objective")
        by_costs = getattr(program.module, "KEPT_BY_COSTS", ()) if left_out else ()
        program.decoded(f"{where}, another objective", by_costs)


def _room(bound: float | None) -> float:
    """The largest value of an unbounded variable under a drawn objective: more than the optimum has."""
    return max(_MOST, 2 * (bound or 0))


def _draw_objective(model: Any, rng: np.random.Generator) -> None:
    """Give a program another objective: drawn costs, of either sign, of its integers, or of all if it has none."""
    import pulp
    import pyomo.environ as pyo

    from optsched.models.own_rows import is_per_pair, remember

    if isinstance(model, pulp.LpProblem):
        variables = model.variables()
        held = [variable for variable in variables if variable.cat == pulp.LpInteger] or variables
        for variable in held:
            if variable.upBound is None:
                variable.upBound = _room(variable.varValue)
        model.sense = pulp.LpMinimize
        model.setObjective(pulp.lpSum(int(rng.integers(-9, 10)) * variable for variable in held))
        remember(model, per_pair=True)  # these bounds are no constraint that might have another meaning
        return
    listed = list(model.component_data_objects(pyo.Var))
    whole = [variable for variable in listed if not variable.is_continuous()] or listed
    for variable in whole:
        if variable.ub is None:
            variable.setub(_room(variable.value))
    for objective in list(model.component_objects(pyo.Objective)):
        model.del_component(objective)
    model.drawn = pyo.Objective(expr=sum(int(rng.integers(-9, 10)) * variable for variable in whole))
    remember(model, is_per_pair(model))  # with this objective only feasibility is promised


def _takes_limit(record: Record) -> bool:
    several = is_modelled(record) and len(record.problem_class.components) > 1
    return several and any(
        "limit" in inspect.signature(getattr(imported(str(record.models)), kind)).parameters for kind in KINDS
    )


@check(lambda record: record.limit is not None or _takes_limit(record))
def check_limits(record: Record, seeds: Sequence[int]) -> None:
    """The model of the second component takes the limit that the record names."""
    limit, module = record.limit, imported(str(record.models))
    expect(limit is not None, record.problem, "its programs take a limit, and the record does not describe it")
    assert limit is not None
    for kind in KINDS:
        taken = "limit" in inspect.signature(getattr(module, kind)).parameters
        expect(taken, record.problem, f"the record says what a limit means, and {kind} takes none")
    name = record.problem_class.components[limit.component].name.replace("-", " ")
    expect(
        name in limit.meaning, record.problem, f'the meaning "{limit.meaning}" does not name what is limited: {name}'
    )
    between = 0
    for case in cases(record, with_usual(seeds)):
        signs = case.problem.minimised((1, 1))
        reached = sorted({signs[limit.component] * value[limit.component] for value in case.decisions})
        for low, high in itertools.pairwise(reached):
            between += 1
            _between(record, case, Fraction(low) + Fraction(high - low) / 2)
            break
    text = f"no instance has two values of what is limited: {name}; let the field sizes of the record draw some"
    expect(between > 0, record.problem, text)


def _between(record: Record, case: Case, value: Fraction) -> None:
    """A limit between two values is valid like any other, or refused if limits are whole numbers."""
    limit = record.limit
    assert limit is not None
    if limit.denominator is not None:
        message = f"a limit may not be {value}: no multiple of 1/{limit.denominator} is between two values"
        expect(limit.denominator == 1 or (value * limit.denominator).denominator == 1, case.name, message)
    for kind in KINDS:
        program = Program(record, case, kind, value)
        try:
            assert program.model is not None
        except UsageError as error:
            expect(limit.denominator == 1, program.where, f"is refused: {error}")
            continue
        expect(limit.denominator != 1, program.where, "is taken, though limits are whole numbers")
        right_program(program)


@check(is_modelled)
def check_starts(record: Record, seeds: Sequence[int]) -> None:
    """A model fixed at a decision is worth what the decision is. From a partial one it finds the optimum."""
    for case in cases(record, seeds):
        held = list(case.decisions.values())
        for decision in held[1:2] or held:  # the second best: the rest, left to the solver, would become the best
            limits: list[Any] = [None]
            if record.limit is not None:
                limits.append(case.problem.objective(decision)[record.limit.component])
            for kind, limit in itertools.product(KINDS, limits):
                program = Program(record, case, kind, limit)
                if limit is None:
                    _from_unfinished(program, decision)
                left_out = isinstance(decision, Schedule) and limit is None
                left_out = left_out and not program.module.start_values(program.model, case.problem, decision)
                _at_start(program, held[0] if left_out else decision)


def _at_start(program: Program, decision: Decision) -> None:
    """Fixed at the start values of a decision, a program has a solution, with the decision's value.

    A schedule may have a better value there: it starts as early as the order of its tasks allows.
    """
    problem, component = program.case.problem, program.component
    where = f"{program.where}, start {columns(decision)}"
    _hold(program.model, program.module.start_values(program.model, problem, decision))
    value, worth = program.value(program.solved(), where), problem.evaluate(decision)[component]
    sign = problem.components[component].sign
    as_good = agrees(value, worth) or (isinstance(decision, Schedule) and sign * value < sign * worth)
    expect(as_good, where, f"the start has the value {worth}, and the result of it {float(value)}")
    found = program.decoded(where)
    expect(sign * found <= sign * worth, where, f"the start is worth {worth}, and is decoded into {found}")


def _from_unfinished(program: Program, decision: Decision) -> None:
    """The result from a decision without its last task, or from one with all tasks on the first node."""
    problem = program.case.problem
    if not isinstance(problem, Problem):
        return
    assert isinstance(decision, Placement)
    placed = np.flatnonzero(decision.nodes != NONE)
    unfinished = decision.with_tasks(placed[-1:], [NONE] * len(placed[-1:]))
    for start in (unfinished, problem.placement([0] * len(problem.tasks))):
        entries = program.module.start_values(program.model, problem, start)
        program.finds_truth(entries, f"{program.where}, from {columns(start)} in its place")


def _hold(model: Any, start: Any) -> None:
    """Fix a program's variables at the values of a start."""
    import pulp

    from optsched.models.own_rows import is_per_pair, remember

    if isinstance(model, pulp.LpProblem):
        for variable in model.variables():
            if variable.name in start:
                variable.lowBound = variable.upBound = start[variable.name]
    else:
        for variable, value in start.items():
            variable.fix(value)
    remember(model, is_per_pair(model))  # it is no constraint that might have another meaning


# Files: programs as LP and MPS, networks as DIMACS -------------------------------------------------------------------


@check(is_modelled)
def check_export(record: Record, seeds: Sequence[int]) -> None:
    """LP and MPS files of every model mean the same to each reader."""
    from optsched.models.export import write_lp, write_mps

    for case in cases(record, seeds[:1]):
        with tempfile.TemporaryDirectory() as folder:
            for program in programs(record, case):
                meaning = program.meaning
                for suffix, write in ((".lp", write_lp), (".mps", write_mps)):
                    path = Path(folder, f"program{suffix}")
                    write(program.model, path, meaning.notes())
                    found = _read_by_highs(path)
                    expect((found is None) == (program.truth is None), program.where, f"{suffix} says {found}")
                    if found is not None:
                        says = meaning.of(found, negated=suffix == ".mps" and meaning.component.sense is Sense.MAX)
                        where = f"{program.where}, {suffix}"
                        expect(agrees(says, program.truth), where, f"says {float(says)}, the truth is {program.truth}")


def _by_networks(record: Record) -> bool:
    """Whether the problem is posed on a network, or is one by its record, or by a record with the same routes."""
    same = (entry for entry in records().values() if record.routes is not None and entry.routes == record.routes)
    return record.problem_class.posed_on is FlowNetwork or any(entry.network for entry in (record, *same))


@check(_by_networks)
def check_network(record: Record, seeds: Sequence[int]) -> None:
    """The network, written as DIMACS and read again, costs what the optimum does."""
    for case in cases(record, seeds):
        problem = case.problem
        network = problem.instance
        if record.problem_class.posed_on is not FlowNetwork:
            message = "names no network, and other problems with its routes do"
            expect(record.network is not None, record.problem, message)
            network = imported(str(record.network))(problem)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "network.dimacs")
            path.write_text(network.to_dimacs())
            (document,) = import_dimacs(path).documents
        read = from_document(document)
        assert isinstance(read, FlowNetwork)
        least, units = solve(network_problem(read)).objective, getattr(problem, "grid", 1)
        best = None if case.best is None else (case.best[0] * units,)
        expect(least == best, case.name, f"the network costs {listed(least)}, in units {listed(best)}")


def _read_by_highs(path: Path) -> float | None:
    """The optimum of a file as HiGHS reads it; None if it is infeasible."""
    import highspy

    from optsched.solvers.options import QuietHighs

    highs = QuietHighs()
    highs.setOptionValue("mip_rel_gap", 0.0)
    highs.setOptionValue("mip_abs_gap", 0.0)
    expect(highs.readModel(str(path)) != highspy.HighsStatus.kError, path.name, "HiGHS cannot read it")
    highs.run()
    status = highs.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return None
    if status == highspy.HighsModelStatus.kModelEmpty:
        return float(highs.getObjectiveOffset()[1])
    expect(status == highspy.HighsModelStatus.kOptimal, path.name, f"HiGHS says {status}")
    return float(highs.getInfo().objective_function_value)
