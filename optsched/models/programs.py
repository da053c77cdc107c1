"""Models of a problem with its own program (`optsched.problems.programs`): the same names, variables and rows.

`build_pyomo` and `build_pulp` have a variable for each variable of the program, and a constraint for each of its rows.
The model of a second component takes a `limit`: the value of the first one.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
import pulp
import pyomo.environ as pyo

from optsched.core.deadline import check
from optsched.core.errors import TooLarge, UsageError
from optsched.core.instance import Ints
from optsched.core.placement import Placement
from optsched.core.results import Number
from optsched.models.base import (
    MAX_VARIABLES,
    Entries,
    ModelSize,
    Translation,
    Way,
    int_of,
    rational_limit,
    refuse_too_large,
    said_by,
)
from optsched.models.own_rows import is_per_pair, remember
from optsched.problems.assignment import AssignmentProblem, LevelledProblem, TabledProblem
from optsched.problems.counted_places import CountedPlaces
from optsched.problems.programs import Family, Label, Program
from optsched.problems.relaxations import UNBOUNDED
from optsched.solvers.algebraic import injective_names

#: The variable that is always 0, if a model needs one.
_ZERO = "_zero"


def _before(problem: Any, limit: Number | None) -> tuple[Number, ...]:
    """The argument of `Programmed.program`: nothing, or the first component at a limit."""
    if limit is None:
        return ()
    name = problem.components[0].name
    return (math.floor(rational_limit(limit, f"a value of {name}") * problem.program().unit),)


def _program(problem: Any, limit: Number | None = None) -> Program:
    """The first program, or that of the second component with the first one at a limit."""
    program: Program = problem.program(_before(problem, limit))
    return program


def objective_units(problem: Any) -> tuple[int, int]:
    """How many units of each program's objective are one of its component's; negative if that is maximised."""
    first = _program(problem).unit
    return first, first if len(problem.components) == 1 else problem.program((0,)).unit


def pyomo_of(program: Program, name: str, integral: bool = False) -> tuple[Any, list[Any]]:
    """The variables and rows of a program in a Pyomo model without an objective, and the list of the variables.

    `integral` says that every vertex of it is integral, so that its variables may be continuous.
    """
    model = pyo.ConcreteModel(name)
    variables: list[Any] = []
    for family in program.variables:
        within = pyo.Reals if integral or family.implied else pyo.Integers
        model.add_component(family.name, pyo.Var(*_labels(model, family), within=within, doc=family.doc))
        variables += [model.component(family.name)[_index(label)] for label in family.labels]
    for variable, lower, upper in zip(variables, program.numbers.lower, program.numbers.upper, strict=True):
        variable.setlb(int(lower))
        variable.setub(_limit(upper))
    for group in program.groups:
        members = dict(group.members)
        index = _set(model, group.over, list(members), 1, f"indices of {group.name}")
        model.add_component(group.name, pyo.Param(index, initialize=members, within=pyo.Any, doc="ids of the members"))
    if _needs_zero(program):
        model.add_component(_ZERO, pyo.Var(bounds=(0, 0), within=pyo.Integers, doc="0"))
        variables.append(model.component(_ZERO))
    rows = dict(_rows(program, variables))
    for family in program.rows:
        constraints = pyo.Constraint(*_labels(model, family), doc=family.doc)
        model.add_component(family.name, constraints)
        for row, label in enumerate(family.labels, family.first):
            check()
            if row in rows:
                terms, lower, upper = rows[row]
                constraints[_index(label)] = (lower, pyo.quicksum(terms), upper)
    return model, variables


def build_pyomo(problem: Any, limit: Number | None = None, *, per_pair: bool = False) -> Any:
    """Build the program in Pyomo; the model has its `program` as an attribute."""
    posed, before = problem.apart() if per_pair else problem, _before(problem, limit)
    model = whole_pyomo(posed.program(before), problem.name, before)
    remember(model, per_pair, pruned=False, shared=shared)
    return model


def whole_pyomo(
    program: Program, name: str, before: tuple[Number, ...] = (), integral: bool = False, unit: int = 1
) -> Any:
    """A program with its objective in Pyomo (`pyomo_of`); the model has `program` and `before` as attributes.

    `before` is the argument with which the program was made, `unit` how many units of its costs are one of the model's;
    negative if the model maximises.
    """
    model, variables = pyomo_of(program, name, integral)
    costs = (program.numbers.objective if unit == 1 else program.numbers.objective / unit).tolist()
    for family in program.variables:
        if family.cost:
            own = dict(zip(map(_index, family.labels), map(float, costs[program.family(family.name)]), strict=True))
            model.add_component(
                family.cost,
                pyo.Param(model.component(family.over), initialize=own, within=pyo.Reals, doc=f"cost of {family.name}"),
            )
    sense = pyo.minimize if unit > 0 else pyo.maximize
    model.objective = pyo.Objective(expr=pyo.quicksum(_costs(program, costs, variables)), sense=sense)
    model.program, model.before = program, before
    return model


def shared(model: Any, word: str, index: tuple[Any, ...]) -> Sequence[str]:
    """The ids of tasks, or of nodes, that a variable of a model counts together; for `remember`."""
    for group in model.program.groups:
        if word in group.position:
            members = group.members[index[group.position[word]]]
            if len(members) > 1:
                return tuple(members)
    return ()


def build_pulp(problem: Any, limit: Number | None = None, *, max_variables: int = MAX_VARIABLES) -> Any:
    """Build the program in PuLP; the model's attribute `program` has it, and `variables_of` the list of variables."""
    refuse_too_large(problem, literal_size(problem, limit), max_variables, "build_pyomo")
    program = _program(problem, limit)
    model = pulp.LpProblem(problem.name, pulp.LpMinimize)
    words = [[str(part) for part in name] for name in program.names]
    parts = list(dict.fromkeys(part for name in words for part in name[1:]))
    known = dict(zip(parts, injective_names(parts), strict=True))
    variables = [
        model.add_variable(".".join([family, *(known[part] for part in label)]), int(lower), _limit(upper), "Integer")
        for (family, *label), lower, upper in zip(words, program.numbers.lower, program.numbers.upper, strict=True)
    ]
    model.program, model.variables_of = program, list(variables)
    if _needs_zero(program):
        variables.append(model.add_variable(_ZERO, 0, 0, "Integer"))
    model.setObjective(pulp.lpSum(_costs(program, program.numbers.objective.tolist(), variables)))
    names = [f"{family.name}.{number}" for family in program.rows for number in range(1, len(family.labels) + 1)]
    for row, (terms, lower, upper) in _rows(program, variables):
        if lower == upper:
            model.addConstraint(pulp.lpSum(terms) == lower, names[row])
            continue
        if upper is not None:
            model.addConstraint(pulp.lpSum(terms) <= upper, names[row])
        if lower is not None:
            model.addConstraint(pulp.lpSum(terms) >= lower, f"{names[row]}.least")
    remember(model, False)
    return model


def compact_size(problem: Any, limit: Number | None = None) -> ModelSize:
    """The size of `build_pyomo`'s model."""
    return size_of(_program(problem, limit))


def size_of(program: Program) -> ModelSize:
    """The size of a program's model."""
    numbers = program.numbers
    terms = len(numbers.value) + int(np.count_nonzero(numbers.objective)) + len(_short(program))
    return ModelSize(len(numbers.objective) + _needs_zero(program), len(numbers.row_lower), terms)


literal_size = compact_size


def _labels(model: Any, family: Family) -> tuple[Any, ...]:
    """The set of a family's labels, shared by families with the same labels; a single variable or row has none."""
    if list(family.labels) == [()]:
        return ()
    dimension = len(family.labels[0]) if family.labels else None
    return (
        _set(
            model, family.over, list(map(_index, family.labels)), dimension, f"indices of {family.name}: {family.doc}"
        ),
    )


def _set(model: Any, name: str, members: list[Any], dimension: int | None, doc: str) -> Any:
    """The set of this name, which is made if it does not exist."""
    if model.component(name) is None:
        model.add_component(name, pyo.Set(initialize=members, dimen=dimension, doc=doc))
    return model.component(name)


def _index(label: Label) -> Any:
    return label[0] if len(label) == 1 else label or None


def _short(program: Program) -> Ints:
    """The rows without entries that 0 violates: nothing is feasible."""
    numbers = program.numbers
    short = (numbers.row_lower > 0) | (numbers.row_upper < 0)
    short[numbers.row] = False
    return np.flatnonzero(short)


def _needs_zero(program: Program) -> bool:
    """Whether a model needs a variable that is always 0, for rows or for an objective that would have none."""
    return len(program.numbers.objective) == 0 or len(_short(program)) > 0


def _limit(value: int) -> int | None:
    """An upper or lower limit, None if there is none."""
    return None if abs(value) >= UNBOUNDED else int(value)


def _costs(program: Program, costs: list[Any], variables: list[Any]) -> list[Any]:
    """The terms of the objective, also of variables in no row, so that solvers give them values; never none."""
    idle = np.ones(len(costs), dtype=bool)
    idle[program.numbers.column] = False
    named = zip(costs, variables, idle.tolist(), strict=False)
    return [cost * variable for cost, variable, alone in named if cost or alone] or [0 * variables[-1]]


def _rows(program: Program, variables: list[Any]) -> Iterator[tuple[int, tuple[list[Any], int | None, int | None]]]:
    """Each row with entries, or that needs some: its number, its terms and its limits; None: no limit."""
    numbers = program.numbers
    terms: dict[int, list[Any]] = defaultdict(list)
    entries = zip(numbers.row.tolist(), numbers.column.tolist(), numbers.value.tolist(), strict=True)
    for row, column, value in entries:
        terms[row].append(value * variables[column])
    terms.update((row, [variables[-1]]) for row in _short(program).tolist())
    for row, own in sorted(terms.items()):
        yield row, (own, _limit(numbers.row_lower[row]), _limit(numbers.row_upper[row]))


def variables_of(model: Any, program: Program) -> list[Any]:
    """The variables of a Pyomo model, as a program numbers them; KeyError or AttributeError if one is missing."""
    return [getattr(model, family.name)[_index(label)] for family in program.variables for label in family.labels]


def decode_program(model: Any, problem: Any) -> Any:
    """The decision of a solved Pyomo model."""
    return _decoded(posed_program(model, problem), model.program, variables_of(model, model.program))


def started_program(model: Any, problem: Any, decision: Any) -> Entries:
    """A decision in a Pyomo model."""
    return _started(posed_program(model, problem), model.program, variables_of(model, model.program), decision)


def program_of(posed: Callable[[Any, Any], Any]) -> Way:
    """How a Pyomo model expresses a decision if its program is of a related problem, which `posed(model, problem)`
    returns.

    Traffic, for example, is modelled within the limit that the model has as an attribute.
    """
    return Way(
        lambda model, problem: decode_program(model, posed(model, problem)),
        lambda model, problem, decision: started_program(model, posed(model, problem), decision),
    )


#: The Pyomo model of a program.
PROGRAM = Way(decode_program, started_program)


def posed_program(model: Any, problem: Any) -> Any:
    """The problem posed by the program of a Pyomo model; UsageError if the model is of another instance."""
    posed, program = problem.apart() if is_per_pair(model) else problem, model.program
    own = posed.program(model.before)
    mend = "decode it with the problem that it was built from"
    if own.variables != program.variables:
        pairs = zip_longest(program.names, own.names)
        family, *label = next(name for name, due in pairs if name != due) or own.names[-1]
        raise UsageError(f"the model is of another instance: this one has no {family}[{','.join(label)}] there; {mend}")
    for bound in ("upper", "row_lower", "row_upper"):
        if not np.array_equal(getattr(own.numbers, bound), getattr(program.numbers, bound)):
            raise UsageError(f"the model is of another instance, with other limits; {mend}")
    return posed


def _decoded(problem: Any, program: Program, variables: list[Any]) -> Any:
    values = np.zeros(len(program.numbers.objective), dtype=np.int64)
    for family in program.variables:
        if not family.implied:
            where = program.family(family.name)
            values[where] = [int_of(variable) for variable in variables[where]]
    return problem.decision_of(values, program)


def _decoded_literal(model: Any, problem: Any) -> Any:
    return _decoded(problem, model.program, model.variables_of)


def _started(problem: Any, program: Program, variables: list[Any], decision: Any) -> Entries:
    return zip(variables, problem.values_of(decision, program).tolist(), strict=True)


def _started_literal(model: Any, problem: Any, decision: Any) -> Entries:
    return _started(problem, model.program, model.variables_of, decision)


def _said(problem: Any) -> Translation[Any]:
    """How the models of any problem with a program express its decisions."""
    return said_by(type(problem), PROGRAM, Way(_decoded_literal, _started_literal))


def decode(model: Any, problem: Any) -> Any:
    """The decision of a solved model of either kind (see `optsched.models.base.decoder`)."""
    return _said(problem).decode(model, problem)


def start_values(model: Any, problem: Any, decision: Any) -> Mapping[Any, float]:
    """A decision as a start for a model of either kind (see `optsched.models.base.starter`)."""
    return _said(problem).start_values(model, problem, decision)


# Programs of assignment problems --------------------------------------------------------------------------------------
# Identical tasks are one class with a supply, and a node has a capacity. Tasks whose cost does not depend on the node
# are anonymous: a task in the rack of a replica, or anywhere, is only counted, and takes a remaining slot
# (`optsched.problems.counted_places`). Matrices of networks are totally unimodular: every vertex is a placement. Costs
# are in the papers' units, not in those of the grid; they are whole multiples of 1/`grid`, which doubles represent
# exactly.


def counted_model(problem: Any, per_pair: bool, before: tuple[Number, ...] = (), integral: bool = True) -> Any:
    """The model of a program of an assignment problem, in the paper's units.

    It has the expressions `placed` and, for a problem with levels, `locality_cost`. `problem`, `per_pair`: as for
    `ModelModule.build_pyomo`. `before`: the argument of the program. `integral`: whether the variables may be
    continuous, without `per_pair`.

    TooLarge if a table of costs has more than `MAX_VARIABLES` pairs.
    """
    if isinstance(problem, TabledProblem) and problem.pairs > MAX_VARIABLES:
        raise TooLarge(
            f"{problem.place}: the compact model would have {problem.pairs:,} variables, one for each kind of task and "
            f'node; at most {MAX_VARIABLES:,} are made: use route="network", which needs none of them'
        )
    posed = problem.apart() if per_pair else problem
    program = posed.program(before)
    model = whole_pyomo(program, problem.name, before, integral and not per_pair, problem.grid)
    model.placed = pyo.Expression(model.CLASSES, rule=lambda model, c: 0, doc="tasks of the class that are placed")
    for name, row in model.class_supply.items():
        model.placed[name] = row.body
    if isinstance(problem, LevelledProblem):
        model.locality_cost = pyo.Expression(
            expr=pyo.quicksum(cost for _, cost in place_costs(model, posed)), doc="what places cost"
        )
    return model


def place_costs(model: Any, posed: AssignmentProblem) -> Iterator[tuple[str, Any]]:
    """The class of each place that has a cost, and the total cost of its tasks."""
    units = (posed.places.units / posed.grid).tolist()
    named = zip(model.program.names, units, variables_of(model, model.program), strict=False)
    return ((task, cost * variable) for (_, task, *_), cost, variable in named if cost)


def decode_places(model: Any, problem: CountedPlaces) -> Placement:
    """The placement of a solved model of `counted_model`, which may have other variables, too."""
    posed = posed_program(model, problem)
    places = variables_of(model, model.program)[: len(posed.places.units)]
    values = np.array([int_of(variable) for variable in places], dtype=np.int64)
    placed: Placement = posed.decision_of(values, model.program)
    return placed


def started_places(model: Any, problem: CountedPlaces, placement: Placement) -> Entries:
    """A placement in a model of `counted_model`; everything else follows from the places."""
    values = posed_program(model, problem).place_values(placement).tolist()
    return zip(variables_of(model, model.program), values, strict=False)


#: A Pyomo model of `counted_model`.
PLACES = Way(decode_places, started_places)
