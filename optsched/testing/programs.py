"""Contract checks of programs: what they find, for any objective, at each limit, from a start, and as files."""

from __future__ import annotations

import inspect
import itertools
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from optsched.core.errors import UsageError
from optsched.core.network import FlowNetwork
from optsched.core.placement import NONE, Placement, Schedule
from optsched.core.registry import Record, imported, records
from optsched.core.results import Decision, Sense, Termination, Value
from optsched.instances.files import from_document
from optsched.instances.importers.libraries import import_dimacs
from optsched.problems import Problem, network_problem
from optsched.routes import solve
from optsched.testing.contract import Case, cases, check, columns, expect, listed, size_of, with_usual

#: The programs of a module of models: the compact one and the paper's own.
KINDS = ("build_pyomo", "build_pulp")

#: Objectives that are drawn for each program next to its own, and what an integer is at most under them.
_DRAWN, _MOST = 2, 1000


def is_modelled(record: Record) -> bool:
    """Whether the problem has models."""
    return record.models is not None


@dataclass(frozen=True)
class Program:
    """One program of a problem: how it was built, the component that is its objective, and the truth of it."""

    where: str
    kind: str
    model: Any
    limit: Any
    component: int
    truth: Any


def programs(record: Record, case: Case) -> Iterator[Program]:
    """Every program of the module of models: compact and literal, with and without a limit, in and out of reach."""
    from optsched.models.export import about

    module, problem = imported(str(record.models)), case.problem
    names = [component.name for component in problem.components]
    free = names.index(about(problem).component.name)
    asked: list[tuple[dict[str, Any], int, Any]] = [({}, free, case.best_of(free))]
    if record.limit is not None:
        wanted, other = 1 - record.limit.component, record.limit.component
        signs = problem.minimised((1, 1))
        reached = sorted({value[other] for value in case.decisions})
        beyond = [reached[0] - 1] if reached and (reached[0] > 0 or signs[other] < 0) else []
        for value in beyond + reached[:2] + reached[-1:]:
            limit = signs[other] * value
            asked.append(({"limit": limit_of(record, limit)}, wanted, case.best_of(wanted, (other, limit))))
    for kind in KINDS:
        build = getattr(module, kind)
        for options, component, truth in asked:
            ways = [options]
            if kind == "build_pyomo" and "per_pair" in inspect.signature(build).parameters:
                ways.append({**options, "per_pair": True})
            for way in ways:
                where = ", ".join([case.name, kind, *(f"{key}={value}" for key, value in way.items())])
                try:
                    model = build(problem, **way)
                except UsageError as error:  # nothing is feasible for a plain reason
                    expect(truth is None, where, f"is refused: {error}")
                    continue
                yield Program(where, kind, model, options.get("limit"), component, truth)


def limit_of(record: Record, value: Any) -> Any:
    """A limit as the models of a problem take it."""
    assert record.limit is not None
    return int(value) if record.limit.denominator == 1 else value


def agrees(value: float | Fraction, truth: Any) -> bool:
    """Whether a solver's number is the truth, but for its tolerance."""
    return abs(float(value) - float(truth)) <= 1e-6 * max(1.0, abs(float(truth)))


def solved(program: Program, start: Any = None, presolve: bool = True) -> Any:
    """The answer of HiGHS to a program, from a start if there is one."""
    from optsched.solvers.algebraic import solve_pulp, solve_pyomo
    from optsched.solvers.profiles import load_profile

    run = solve_pulp if program.kind == "build_pulp" else solve_pyomo
    profile = load_profile("exact")
    if not presolve:
        profile = replace(profile, highs={**profile.highs, "presolve": "off"})
    return run(program.model, profile, start)


@check(is_modelled)
def check_models(record: Record, seeds: Sequence[int]) -> None:
    """Every model has the true optimum, decodes it correctly, and admits no infeasible decision."""
    module = imported(str(record.models))
    for case in cases(record, seeds):
        for program in programs(record, case):
            right_program(record, case, program)
        if case.best is not None:
            size, model = module.literal_size(case.problem), module.build_pulp(case.problem)
            built = len(model.variables()), len(list(model.constraints()))
            expect(built == (size.variables, size.constraints), case.name, f"literal_size says {size}, built {built}")


def right_program(record: Record, case: Case, program: Program) -> None:
    """A program finds its truth, and for any objective a feasible decision."""
    from optsched.models.export import about

    problem, outcome = case.problem, solved(program)
    if program.truth is None:
        expect(outcome.status is Termination.INFEASIBLE, program.where, f"{outcome.status}, not INFEASIBLE")
        return
    expect(outcome.status is Termination.OPTIMAL, program.where, str(outcome.status))
    value = about(problem, program.limit is not None).of(outcome.objective)
    expect(agrees(value, program.truth), program.where, f"finds {float(value)}, the truth is {program.truth}")
    worth = _decoded(record, case, program)[program.component]
    expect(worth == program.truth, program.where, f"decodes into what is worth {worth}, not {program.truth}")
    for draw in range(_DRAWN):
        _draw_objective(program.model, np.random.default_rng(draw))
        outcome = solved(program)
        if outcome.status is Termination.INFEASIBLE:  # it is feasible: highspy 1.15's presolve says otherwise of some
            outcome = solved(program, presolve=False)
        drawn = replace(program, where=f"{program.where}, another objective")
        expect(outcome.status is Termination.OPTIMAL, drawn.where, str(outcome.status))
        left_out = program.kind == "build_pulp" and getattr(problem, "due", 0) < size_of(problem)
        by_costs = getattr(imported(str(record.models)), "KEPT_BY_COSTS", ()) if left_out else ()
        _decoded(record, case, drawn, by_costs)


def _decoded(record: Record, case: Case, program: Program, by_costs: Sequence[str] = ()) -> Value:
    """The value of what a solved program holds, which must be feasible and within the limit.

    Where the objective is another one, what only the costs keep (`by_costs`) may be violated.
    """
    problem = case.problem
    decision = imported(str(record.models)).decode(program.model, problem)
    wrong = [entry for entry in problem.violations(decision) if entry.constraint not in by_costs]
    expect(not wrong, program.where, f"decodes into what is infeasible: {'; '.join(map(str, wrong))}")
    value = problem.objective(decision)
    if program.limit is not None:
        sign, worth = problem.minimised((1, 1))[1 - program.component], value[1 - program.component]
        expect(sign * worth <= sign * program.limit, program.where, f"decodes into {worth}, past the limit")
    return value


def _room(bound: float | None) -> float:
    """What a variable without a bound may be at most where its objective is drawn: more than the optimum has."""
    return max(_MOST, 2 * (bound or 0))


def _draw_objective(model: Any, rng: np.random.Generator) -> None:
    """Give a program another objective: drawn costs, of either sign, of its integers, or of all where it has none."""
    import pulp
    import pyomo.environ as pyo

    from optsched.models.base import is_per_pair, remember

    if isinstance(model, pulp.LpProblem):
        variables = model.variables()
        held = [variable for variable in variables if variable.cat == pulp.LpInteger] or variables
        for variable in held:
            if variable.upBound is None:
                variable.upBound = _room(variable.varValue)
        model.sense = pulp.LpMinimize
        model.setObjective(pulp.lpSum(int(rng.integers(-9, 10)) * variable for variable in held))
        remember(model, per_pair=True)  # these bounds are no constraint that might mean something else
        return
    listed = list(model.component_data_objects(pyo.Var))
    whole = [variable for variable in listed if not variable.is_continuous()] or listed
    for variable in whole:
        if variable.ub is None:
            variable.setub(_room(variable.value))
    for objective in list(model.component_objects(pyo.Objective)):
        model.del_component(objective)
    model.drawn = pyo.Objective(expr=sum(int(rng.integers(-9, 10)) * variable for variable in whole))
    remember(model, is_per_pair(model))  # of this objective nothing is promised but what is feasible


def _takes_limit(record: Record) -> bool:
    return is_modelled(record) and any(
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
    """A limit between two values is one like any other, or refused where limits are whole numbers."""
    limit, module = record.limit, imported(str(record.models))
    assert limit is not None
    if limit.denominator is not None:
        message = f"a limit may not be {value}: no multiple of 1/{limit.denominator} is between two values"
        expect(limit.denominator == 1 or (value * limit.denominator).denominator == 1, case.name, message)
    for kind in KINDS:
        where = f"{case.name}, {kind}, limit={value}"
        try:
            model = getattr(module, kind)(case.problem, limit=value)
        except UsageError as error:
            expect(limit.denominator == 1, where, f"is refused: {error}")
            continue
        expect(limit.denominator != 1, where, "is taken, though limits are whole numbers")
        wanted = 1 - limit.component
        truth = case.best_of(wanted, (limit.component, value))
        right_program(record, case, Program(where, kind, model, value, wanted, truth))


@check(is_modelled)
def check_starts(record: Record, seeds: Sequence[int]) -> None:
    """A model fixed at a decision is worth what the decision is. From a partial one it finds the optimum."""
    from optsched.models.export import about

    module = imported(str(record.models))
    for case in cases(record, seeds):
        held = list(case.decisions.values())
        for decision in held[1:2] or held:  # the second best: what is left to the solver would become the best
            asked: list[dict[str, Any]] = [{}]
            if record.limit is not None:
                asked.append({"limit": limit_of(record, case.problem.objective(decision)[record.limit.component])})
            for kind, options in itertools.product(KINDS, asked):
                model = getattr(module, kind)(case.problem, **options)
                shown = "".join(f", {name}={value}" for name, value in options.items())
                where = f"{case.name}, {kind}{shown}, start {columns(decision)}"
                own = about(case.problem, bool(options)).component
                component = case.problem.components.index(own)
                limit = options.get("limit")
                within = None if record.limit is None or limit is None else (record.limit.component, limit)
                program = Program(where, kind, model, limit, component, case.best_of(component, within))
                if limit is None:
                    _from_unfinished(record, case, program, decision)
                left_out = (
                    isinstance(decision, Schedule)
                    and limit is None
                    and not module.start_values(model, case.problem, decision)
                )
                _at_start(record, case, program, held[0] if left_out else decision)


def _at_start(record: Record, case: Case, program: Program, decision: Decision) -> None:
    """Held at what a decision starts with, a program has a solution, and it is worth what the decision is.

    A schedule may be worth more there: it starts as early as the order of its tasks allows.
    """
    from optsched.models.export import about

    _hold(program.model, imported(str(record.models)).start_values(program.model, case.problem, decision))
    outcome, worth = solved(program), case.problem.evaluate(decision)[program.component]
    expect(outcome.status is Termination.OPTIMAL, program.where, str(outcome.status))
    value = about(case.problem, program.limit is not None).of(outcome.objective)
    sign = 1 if case.problem.components[program.component].sense is Sense.MIN else -1
    as_good = agrees(value, worth) or (isinstance(decision, Schedule) and sign * value < sign * worth)
    expect(as_good, program.where, f"the start has the value {worth}, and the result of it {float(value)}")
    found = _decoded(record, case, program)[program.component]
    expect(sign * found <= sign * worth, program.where, f"the start is worth {worth}, and is decoded into {found}")


def _from_unfinished(record: Record, case: Case, program: Program, decision: Decision) -> None:
    """What is found from a decision that lacks its last task, or from one with all tasks on the first node."""
    from optsched.models.export import about

    problem, module = case.problem, imported(str(record.models))
    if not isinstance(problem, Problem):
        return
    assert isinstance(decision, Placement)
    placed = np.flatnonzero(decision.nodes != NONE)
    unfinished = decision.with_tasks(placed[-1:], [NONE] * len(placed[-1:]))
    for start in (unfinished, problem.placement([0] * len(problem.tasks))):
        outcome = solved(program, module.start_values(program.model, problem, start))
        where = f"{program.where}, from {columns(start)} in its place"
        expect(outcome.status is Termination.OPTIMAL, where, str(outcome.status))
        value = about(problem, program.limit is not None).of(outcome.objective)
        expect(agrees(value, program.truth), where, f"finds {float(value)}, the truth is {program.truth}")


def _hold(model: Any, start: Any) -> None:
    """Let a program's variables be what a start says."""
    import pulp

    from optsched.models.base import is_per_pair, remember

    if isinstance(model, pulp.LpProblem):
        for variable in model.variables():
            if variable.name in start:
                variable.lowBound = variable.upBound = start[variable.name]
    else:
        for variable, value in start.items():
            variable.fix(value)
    remember(model, is_per_pair(model))  # it is no constraint that might mean something else


# Files: programs as LP and MPS, networks as DIMACS -------------------------------------------------------------------


@check(is_modelled)
def check_export(record: Record, seeds: Sequence[int]) -> None:
    """LP and MPS files of every model mean the same to each reader."""
    from optsched.models.export import about, write_lp, write_mps

    for case in cases(record, seeds[:1]):
        problem = case.problem
        with tempfile.TemporaryDirectory() as folder:
            for program in programs(record, case):
                meaning = about(problem, program.limit is not None)
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
    """Whether the problem is posed on a network, or is one by its record, or by that of another with its routes."""
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
    """The optimum of a file as HiGHS reads it; None where it is infeasible."""
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
