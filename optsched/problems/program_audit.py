"""Compares a problem's program with its definition: no proof over a program says anything of a decision that it lacks.

`Audit` compares one decision, or the values of the program's variables. `samples` are decisions to compare.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from optsched.core.instance import LARGEST, Ints
from optsched.core.network import negative_cycle
from optsched.core.placement import NONE, NetworkFlow, Placement, Schedule
from optsched.core.results import Number
from optsched.problems.base import Problem, exact, exact_product, in_ids
from optsched.problems.programs import Limited, Program, limit_unit
from optsched.problems.schedules import ScheduleProblem, as_early

#: Up to this many placements of a problem are all tried; otherwise this many decisions are drawn.
_ALL, _DRAWN = 4_000, 1_000

#: The same for schedules, whose programs have thousands of variables, and for flows.
_DRAWN_OTHERS = 200


class Audit:
    """A program held against its problem's definition, both ways; each method gives the fault with its mend, or None.

    A proof over a program says nothing of a decision that the program lacks or counts at too much, so that an "optimum"
    might be beaten. If the program counts a decision at too little, or admits an infeasible one, its optimum is the
    value of no decision.

    `before` is as `Programmed.program` takes it: what is worse in a component before may not be in the program.
    """

    def __init__(self, problem: Any, before: tuple[Number, ...], program: Program) -> None:
        self.problem, self.before, self.program = problem, before, program
        self._kind, self._noun = type(problem).__name__, problem.decided.noun
        self._call = f"{self._kind}.program({before or ''})"
        #: The units of the components before, and whether the objective only says where a search begins.
        limited = limit_unit(problem) if isinstance(problem, Limited) else None
        self._units = [limited or problem.program(before[:position]).unit for position in range(len(before))]
        self._searches = limited is not None and not before
        #: The value of the best known decision in the first component; what is worse may be left out by some programs.
        self.best: Number | None = None
        self._found: set[bytes] = set()

    def of_decision(self, decision: Any) -> str | None:
        """Whether the program has a decision, if it is feasible, at no more than its cost; and what its values mean."""
        due = None if self.problem.violations(decision) else self._worth(decision)
        try:
            values = self.problem.values_of(decision, self.program)
        except Exception:  # only a feasible decision has values for sure
            if due is not None:
                raise
            return None
        broken = self.program.broken(values)
        if broken:
            lacks = f"the program does not have the feasible {self._noun} {in_ids(self.problem, decision)}"
            fault = f"{lacks}: by {self._kind}.values_of, {broken}; mend {self._call}, or values_of"
            return None if due is None or self._may_lack(due) else fault
        cost = self._cost(values)
        if due is not None:
            most = due * self.program.unit
            if cost * self.program.unit > (math.ceil(most) if self._searches else most):
                return self._other_cost(decision, due, cost, "values_of")
        return self.of_values(values)

    def of_values(self, values: Ints) -> str | None:
        """Whether values that keep all rows mean a feasible decision that costs no more; looked at once."""
        if values.tobytes() in self._found:
            return None
        self._found.add(values.tobytes())
        decision = self.problem.decision_of(values, self.program)
        admits = f"{self._call} admits the {self._noun} {in_ids(self.problem, decision)}"
        wrong = self.problem.violations(decision)
        if wrong:
            return f"{admits}, which violates {wrong[0]}; mend the rows, or decision_of"
        worth = self._worth(decision)
        if worth is None:
            names = ", ".join(component.name for component in self.problem.components[: len(self.before)])
            value = ", ".join(map(str, self.problem.objective(decision)[: len(self.before)]))
            return f"{admits}, whose {names} is {value}; its rows must keep the components before at {self.before}"
        cost = self._cost(values)
        if not self._searches and worth * self.program.unit > cost * self.program.unit:
            return self._other_cost(decision, worth, cost, "decision_of")
        return None

    def _may_lack(self, due: Number) -> bool:
        """Whether the program may leave out a decision of a value: one that is worse than the best, if it is known."""
        if self.before or not self.problem.leaves_out_worse:
            return False
        return self.best is None or not self.problem.components[0].at_least(self.best, due)

    def _cost(self, values: Ints) -> Number:
        return exact(exact_product(self.program.numbers.objective, values), self.program.unit)

    def _worth(self, decision: Any) -> Number | None:
        """The program's component of a feasible decision; None if it is worse in a component before."""
        *first, worth = self.problem.objective(decision)[: len(self.before) + 1]
        late = (value * unit > most for value, unit, most in zip(first, self._units, self.before, strict=True))
        return None if any(late) else worth

    def _other_cost(self, decision: Any, worth: Number, cost: Number, by: str) -> str:
        name = self.problem.components[len(self.before)].name
        costs = f"{in_ids(self.problem, decision)} costs {worth} by {self._kind}.objective ({name})"
        return f"{costs}, and {cost} by {self._call} with {self._kind}.{by}; mend one of the three"


def fault_of(problem: Any, before: tuple[Number, ...], decisions: Iterator[Any], best: Any = None) -> str | None:
    """The first contradiction of a problem's program and its definition (`Audit`) in decisions, feasible or not.

    `best`: the best known decision, if a program of the class may leave out what is worse (`leaves_out_worse`).
    """
    audit = Audit(problem, before, problem.program(before))
    audit.best = None if best is None else problem.evaluate(best)[0]
    return next(filter(None, map(audit.of_decision, decisions)), None)


def samples(problem: Any, around: Any = None) -> Iterator[Any]:
    """Decisions for checking a program: all placements of a small problem, else those on a walk.

    A step of the walk takes one to three tasks, and moves one of them or has them change places; or sends flow round a
    cycle. It is taken if the decision violates no more and costs no more, by the problem's own definition. So a walk
    from an "optimum" finds what is better nearby, which a wrong program lacks. The walk is the same each time. Some of
    its decisions are infeasible.

    Parameters
    ----------
    around
        The decision where the walk begins; None: no task is placed. A walk through flows needs one.
    """
    if isinstance(problem, Problem):
        tasks, nodes = len(problem.tasks), len(problem.instance.cluster)
        if (nodes + 1) ** tasks <= _ALL:
            yield from map(problem.placement, itertools.product(range(NONE, nodes), repeat=tasks))
            return
    steps: dict[Any, Any] = {Placement: _placement_nearby, Schedule: _schedule_nearby, NetworkFlow: _flow_nearby}
    if around is None and problem.decided is NetworkFlow:
        return
    held = problem.decided.empty(len(problem.instance.workload)) if around is None else around

    def rank(decision: Any) -> tuple[Any, ...]:
        if violations := problem.violations(decision):
            return True, sum(abs(entry.amount) for entry in violations)
        return False, *problem.minimised(problem.evaluate(decision))

    rng, least = np.random.default_rng(0), rank(held)
    yield held
    for _ in range(_DRAWN if isinstance(problem, Problem) else _DRAWN_OTHERS):
        drawn = steps[problem.decided](problem, held, rng)
        yield drawn
        if (found := rank(drawn)) <= least:
            held, least = drawn, found


def _placement_nearby(problem: Problem, placement: Placement, rng: np.random.Generator) -> Placement:
    """The placement with a task moved, or with two or three tasks on each other's nodes."""
    chosen = problem.nodes_of(placement).copy()
    moved = _some(len(problem.tasks), rng)
    chosen[moved] = np.roll(chosen[moved], 1) if len(moved) > 1 else rng.integers(NONE, len(problem.instance.cluster))
    return problem.placement(chosen)


def _schedule_nearby(problem: ScheduleProblem, schedule: Schedule, rng: np.random.Generator) -> Schedule:
    """The schedule with a task elsewhere, or two or three in each other's place; all as early as possible."""
    nodes, starts = schedule.nodes[problem.tasks].copy(), schedule.starts[problem.tasks].copy()
    moved = _some(len(problem.tasks), rng)
    if len(moved) > 1:
        nodes[moved], starts[moved] = np.roll(nodes[moved], 1), np.roll(starts[moved], 1)
    else:
        nodes[moved] = rng.integers(NONE, len(problem.instance.cluster))
        starts[moved] = rng.permutation(starts)[: len(moved)]
    return as_early(problem, problem.schedule(nodes, starts))


def _flow_nearby(problem: Any, flow: NetworkFlow, rng: np.random.Generator) -> NetworkFlow:
    """The flow with units added round a drawn cycle of arcs with room; the same flow if there is none."""
    network, units = problem.instance, flow.units.copy()
    onwards, back = np.flatnonzero(units < network.capacity), np.flatnonzero(units > network.lower)
    arc, sign = np.concatenate([onwards, back]), np.repeat([1, -1], [len(onwards), len(back)])
    room = np.concatenate([network.capacity[onwards] - units[onwards], units[back] - network.lower[back]])
    start = np.concatenate([network.tail[onwards], network.head[back]])
    end = np.concatenate([network.head[onwards], network.tail[back]])
    cycle = negative_cycle(start, end, rng.integers(-_DRAWN, _DRAWN, len(arc)), len(network))
    if cycle:
        most = int(room[cycle].min())
        np.add.at(units, arc[cycle], sign[cycle] * (most if most <= LARGEST and rng.integers(2) else 1))
    return NetworkFlow(units)


def _some(tasks: int, rng: np.random.Generator) -> Ints:
    """One to three drawn tasks."""
    return rng.choice(tasks, min(tasks, int(rng.integers(1, 4))), replace=False)
