"""A user's own constraint on every model of the registry: the constrained optimum or a refusal, never a wrong decision.

Random constraints are added to each model as a user would write them, and enumeration says what they cost.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pulp
import pyomo.environ as pyo
import pytest

from optsched import Termination, UsageError, models
from optsched.core.placement import NetworkFlow
from optsched.core.registry import records
from optsched.core.results import Sense
from optsched.models.export import about
from optsched.problems.base import GRID
from optsched.solvers.algebraic import solve_pulp, solve_pyomo
from optsched.testing.contract import Case, cases, columns
from optsched.testing.programs import agrees

#: How each model is built.
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "compact": ("build_pyomo", {}),
    "per pair": ("build_pyomo", {"per_pair": True}),
    "literal": ("build_pulp", {}),
}

#: Models that leave out what no optimum needs, which a constraint may need: they refuse every constraint.
PRUNED = {(name, way) for name in ("makespan", "job-times") for way in ("compact", "literal")}
#: These take seconds to solve for four tasks, per pair since they may end as late as one task after another.
SLOW = {"makespan", "job-times"}
#: Their compact models refuse most constraints, so that more are tried.
REFUSING = {"lsap", "lsap-fairness", "worst-group"}

#: A task and where it is, or an arc and "".
Pair = tuple[str, str]


class Asked(NamedTuple):
    """A constraint: in each of some rows, so many of the pairs at least and at most."""

    rows: tuple[frozenset[Pair], ...]
    least: float
    most: float

    def keeps(self, held: Mapping[Pair, int]) -> bool:
        """Whether a decision keeps it, by what it has of each pair."""
        return all(self.least <= sum(held.get(pair, 0) for pair in row) <= self.most for row in self.rows)


def places(case: Case, way: str) -> list[str]:
    """What the variables call the place of each node: its datacenter in two models of `traffic`."""
    problem = case.problem
    if problem.name == "traffic" and way != "per pair":
        return [problem.datacenters[center] for center in problem.datacenter.tolist()]
    names: list[str] = problem.instance.cluster.node_ids.tolist()
    return names


def held_by(case: Case, way: str, decision: Any) -> dict[Pair, int]:
    """What a decision has of each pair."""
    problem = case.problem
    if isinstance(decision, NetworkFlow):
        return {(arc, ""): n for arc, n in zip(problem.instance.arc_ids.tolist(), decision.units.tolist(), strict=True)}
    tasks = problem.instance.workload.task_ids[problem.tasks].tolist()
    nodes = decision.nodes[problem.tasks].tolist()
    names = places(case, way)
    return {(task, names[node]): 1 for task, node in zip(tasks, nodes, strict=True) if node >= 0}


def constraints(case: Case, way: str, rng: np.random.Generator) -> Iterator[Asked]:
    """A pair that is forbidden, or forced, two tasks that are apart, and few of some tasks, or of all, on a node."""

    def drawn(from_: list[str], count: int) -> list[str]:
        return rng.permutation(from_)[:count].tolist()

    def row(tasks: list[str], node: str) -> frozenset[Pair]:
        return frozenset((task, node) for task in tasks)

    if case.problem.decided is NetworkFlow:
        for least, most in ((-math.inf, 0), (-math.inf, 1), (1, math.inf)):
            yield Asked((row(drawn(case.problem.instance.arc_ids.tolist(), 1), ""),), least, most)
        return
    tasks: list[str] = case.problem.instance.workload.task_ids[case.problem.tasks].tolist()
    nodes = sorted(set(places(case, way)))
    for least, most in ((-math.inf, 0), (-math.inf, 0), (1, math.inf)):
        yield Asked((row(drawn(tasks, 1), *drawn(nodes, 1)),), least, most)
    two = drawn(tasks, 2)
    yield Asked(tuple(row(two, node) for node in nodes), -math.inf, 1)
    yield Asked((row(drawn(tasks, len(tasks) // 2 + 1), *drawn(nodes, 1)),), -math.inf, 1)
    yield Asked((row(tasks, *drawn(nodes, 1)),), -math.inf, 1)


def variables(model: Any, case: Case) -> dict[Pair, Any]:
    """What a user takes for the variable of a task in a place; a sum where there are several."""
    if case.problem.decided is NetworkFlow:
        network = case.problem.instance
        if isinstance(model, pulp.LpProblem):
            return {(arc, ""): variable for arc, variable in model.flow.items()}
        lower = dict(zip(network.arc_ids.tolist(), network.lower.tolist(), strict=True))
        return {(arc, ""): model.extra[arc] + low if arc in model.ARCS else low for arc, low in lower.items()}
    literal, found = isinstance(model, pulp.LpProblem), dict[Pair, Any]()
    words = ("place", "host", "start", "x", "y") if literal else ("place", "run", "local", "counted")
    for word in words[:-1] if not literal and hasattr(model, "place") else words:
        for key, variable in getattr(model, word, {}).items():
            pair = (key[0], key[1][0]) if word == "start" else (key[0], key[-1]) if word == "counted" else key[:2]
            found[pair] = found[pair] + variable if pair in found else variable
    return found


def counts(model: Any, asked: Asked, tasks: int) -> list[Any] | None:
    """The rows of a constraint in a model of `utility` that counts tasks; None where it is not on all of them."""
    if len(asked.rows) > 1 or len(asked.rows[0]) < tasks:
        return None
    ((_, node), *_) = asked.rows[0]
    if isinstance(model, pulp.LpProblem):
        return [pulp.lpSum(held[key] for held in (model.maps, model.reduces) for key in held if key[1] == node)]
    return [sum(model.place[key] for key in model.place if key[-1] == node)]


def rows_of(model: Any, case: Case, way: str, asked: Asked) -> list[Any] | None:
    """The rows of a constraint in a model's variables; None where the model has none for it."""
    if case.problem.name == "utility" and way != "per pair":
        fixed = way == "compact" and case.problem.fixed is not None  # the reduces have no variables
        return None if fixed else counts(model, asked, len(case.problem.tasks))
    table = variables(model, case)
    named = way == "compact" or (case.problem.name == "traffic" and way == "literal")
    if named and not all(pair in table for row in asked.rows for pair in row):
        return None
    return [sum(table[pair] for pair in row if pair in table) for row in asked.rows]


def add(model: Any, rows: list[Any], asked: Asked) -> None:
    """Add a constraint to a model."""
    for number, row in enumerate(rows):
        for value, low in ((asked.least, True), (asked.most, False)):
            if isinstance(row, int | float) or math.isinf(value):
                continue
            expression = row >= value if low else row <= value
            if isinstance(model, pulp.LpProblem):
                model.addConstraint(expression, f"own.{number}")
            else:
                model.add_component(f"own_{number}", pyo.Constraint(expr=expression))


def outcome_of(case: Case, way: str, model: Any, asked: Asked, options: Mapping[str, Any], truth: Any) -> str:
    """What becomes of a constraint: "kept", "infeasible", "refused", or what else is said; wrong answers fail."""
    problem, module = case.problem, models.module(case.problem.name)
    meaning = about(problem, bool(options))
    run = solve_pulp if isinstance(model, pulp.LpProblem) else solve_pyomo
    if way == "compact" or (problem.name, way) in PRUNED:
        try:
            if run(model, "exact").objective is not None:
                module.decode(model, problem)
        except UsageError as error:
            return "refused" if "per_pair=True" in str(error) else str(error)
    outcome = run(model, "exact")
    if outcome.status is Termination.INFEASIBLE:
        worse = not options and truth is not None and truth != case.best_of(problem.components.index(meaning.component))
        assert truth is None or (worse and (problem.name, way) == ("latency", "compact"))
        return "infeasible"
    assert outcome.status is Termination.OPTIMAL
    decision = module.decode(model, problem)
    assert not problem.violations(decision)
    assert asked.keeps(held_by(case, way, decision))
    assert problem.evaluate(decision)[problem.components.index(meaning.component)] == truth
    assert agrees(meaning.of(outcome.objective), truth)
    return "kept"


def tried(name: str, way: str, seeds: tuple[int, ...], numbers: int) -> Iterator[str]:
    """What becomes of random constraints on a problem's models."""
    record, module = records()[name], models.module(name)
    if name in SLOW:
        record = replace(record, sizes={**record.sizes, "tasks": 3, "reduces": 1})
    builder, chosen = WAYS[way]
    for case in cases(record, seeds):
        worth, rng = case.judged, np.random.default_rng(0)
        known = [(worth[tuple(columns(decision))], held_by(case, way, decision)) for decision in case.feasible]
        signs = case.problem.minimised((1,) * len(case.problem.components))
        limits: list[dict[str, Any]] = [{}] if known else []
        if record.limit is not None and known:
            reached = sorted({value[record.limit.component] for value, _ in known})
            limits += [{"limit": signs[record.limit.component] * reached[len(reached) // 2]}]
        for options in limits:
            component = case.problem.components.index(about(case.problem, bool(options)).component)
            for asked in [asked for _ in range(numbers) for asked in constraints(case, way, rng)]:
                fitting = [value for value, held in known if asked.keeps(held)]
                if options and record.limit is not None:
                    sign, most = signs[record.limit.component], options["limit"]
                    fitting = [value for value in fitting if value[record.limit.component] <= sign * most]
                truth = signs[component] * min(value[component] for value in fitting) if fitting else None
                model = getattr(module, builder)(case.problem, **options, **chosen)
                rows = rows_of(model, case, way, asked)
                if rows is None:
                    continue
                if any(isinstance(row, int | float) and not asked.least <= row <= asked.most for row in rows):
                    assert truth is None or (name, way) in PRUNED, "the model lacks a pair that may be"
                    continue
                add(model, rows, asked)
                yield outcome_of(case, way, model, asked, options, truth)


#: The variable of a model that is no better than the first component, and how many of its units are one of that.
VALUES = {
    ("latency", "compact"): ("makespan", 1),
    ("latency", "literal"): ("makespan", 1),
    ("utility", "compact"): ("lowest", GRID),
    ("utility", "literal"): ("lowest", 1),
    ("worst-group", "compact"): ("worst_mean", 1),
    ("worst-group", "literal"): ("worst", 1),
}


@pytest.mark.parametrize(("name", "way"), [*VALUES, *((name, "per pair") for name, way in VALUES if way == "compact")])
def test_bug_a_worse_value_held_for_the_model_alone(name: str, way: str) -> None:
    """Tests that a row which asks for a worse value is kept or refused, though a variable alone may have the value."""
    module, (builder, chosen), found = models.module(name), WAYS[way], Counter[bool]()
    word, units = VALUES[name, "literal" if way == "literal" else "compact"]
    for case in cases(records()[name], range(2, 6)):
        worst = case.problem.components[0].sense is Sense.MAX
        for value in sorted({worth[0] for worth in case.judged.values()}, reverse=worst)[1:3]:
            model, asked = getattr(module, builder)(case.problem, **chosen), float(value * units)
            add(model, [getattr(model, word)], Asked((), *((-math.inf, asked) if worst else (asked, math.inf))))
            assert (solve_pulp if way == "literal" else solve_pyomo)(model, "exact").objective is not None
            with suppress(UsageError):
                decided = case.problem.evaluate(module.decode(model, case.problem))[0]
                found[decided <= value if worst else decided >= value] += 1
                continue
            with pytest.raises(UsageError, match="does not keep what was added to the model"):
                module.decode(model, case.problem)
            found[True] += 1
    assert found[True] > 4
    assert not found[False]


@pytest.mark.parametrize(
    ("name", "way"),
    [
        pytest.param(name, way, marks=[pytest.mark.thorough] * (name == "job-times" and way != "compact"))
        for name in models.names()
        for way in WAYS
    ],
)
def test_own_constraint_is_kept_or_refused(name: str, way: str) -> None:
    """Tests that a model with a user's constraint decodes into the constrained optimum, or refuses to decode."""
    few = way != "compact" or name not in REFUSING
    found = Counter(tried(name, way, *(((2,), 1) if few else ((2, 3), 2))))
    assert set(found) <= {"kept", "infeasible", "refused"}
    assert found["kept"] or (name, way) in PRUNED


@pytest.mark.thorough
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", models.names())
def test_many_own_constraints(name: str, way: str) -> None:
    """Tests the same with more instances and constraints."""
    assert set(tried(name, way, (2, 3, 4, 5), 4)) <= {"kept", "infeasible", "refused"}
