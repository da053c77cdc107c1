"""Contract checks of explanations: own costs, chains of moves and their gains, conflicts if nothing is feasible."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from optsched.core.placement import NONE, Placement
from optsched.core.registry import Record
from optsched.core.results import Number, Value
from optsched.measuring.explaining import explain
from optsched.measuring.explaining.chains import better_by, difference, own_costs_of
from optsched.measuring.explaining.changes import only_with
from optsched.problems import Problem
from optsched.problems.assignment import AssignmentProblem
from optsched.routes import solve
from optsched.testing.cases import Case, cases
from optsched.testing.changes import counting, tightened
from optsched.testing.contract import check, expect, places, placing

__all__: list[str] = []

#: The way to an optimum is explained from this many placements of a case, spread over all values.
_BEGUN = 6


@check(places)
def check_own_costs(record: Record, seeds: Sequence[int]) -> None:
    """Costs of single tasks explain each difference between placements with equal labels."""
    for case in cases(record, seeds):
        problem = placing(case)
        own = own_costs_of(problem)
        if own is None:
            continue
        known: dict[tuple[int, ...], tuple[Number, Value]] = {}
        for placed, value in case.judged.items():
            nodes = np.array(placed, dtype=np.int64)[problem.tasks]
            which = np.flatnonzero(nodes != NONE)
            cost = Fraction(int(own.units(which, nodes[which]).sum()), own.grid)
            labels = () if own.counted is None else tuple(np.bincount(own.counted[which]).tolist())
            exact = problem.minimised(value)
            first, other = known.setdefault(labels, (cost, exact))
            where = f"{case.name}, {placed}"
            expect(exact[own.component] - other[own.component] == cost - first, where, "own costs give another value")
            same = [one == two for one, two in zip(exact, other, strict=True)]
            same[own.component] = True
            expect(own.counted is None or all(same), where, "another component differs with the same labels placed")
            fits = own.slots is None or bool((np.bincount(nodes[which], minlength=len(own.slots)) <= own.slots).all())
            expect(fits, where, "it is feasible beyond the slots")


@check(places)
def check_explanation(record: Record, seeds: Sequence[int]) -> None:
    """The moves to an optimum add up to the gap, each with its gain, and stay feasible."""
    for case in cases(record, seeds):
        held = [decision for decision in case.decisions.values() if isinstance(decision, Placement)]
        optima = [best for best in case.optima if isinstance(best, Placement)]
        for here in held[:: 1 + len(held) // _BEGUN]:
            for there in {id(best): best for best in (optima[0], optima[-1])}.values():
                _check_explained(placing(case), here, there, case.name, optima)


def _check_explained(problem: Problem, here: Placement, there: Placement, where: str, optima: list[Placement]) -> None:
    """Make the moves one chain after another, and each that is independent also alone; hold their number to the least.

    All `optima` are given. Where there are several components, those count that place as many tasks of each label.
    """
    found = difference(problem, here, there)
    own = own_costs_of(problem)
    exact = isinstance(problem, AssignmentProblem) and own is not None and own.counted is not None
    expect(found.nearest or not exact, where, "the nearest optimum is not looked for, though costs are tasks' own")
    if found.nearest and own is not None and own.counted is not None:
        labels, several = own.counted, len(problem.components) > 1
        placed = np.sort(labels[problem.nodes_of(there) != NONE])
        least = min(
            int(np.count_nonzero(problem.nodes_of(best) != found.here))
            for best in optima
            if not several or np.array_equal(np.sort(labels[problem.nodes_of(best) != NONE]), placed)
        )
        moves = sum(len(chain.positions) for chain in found.chains)
        # With several components an optimum that places other tasks may be nearer still: moves that gain nothing go.
        fewest = moves <= least if several else moves == least
        expect(fewest, where, f"{moves} tasks move, where an optimum moves {least}")
    start = problem.objective(here)
    value, nodes = start, problem.nodes_of(here).copy()
    for chain in found.chains:
        moved = list(chain.positions)
        alone = problem.nodes_of(here).copy()
        for placed in (nodes, alone):
            placed[moved] = found.there[moved]
        wrong = problem.violations(problem.placement(nodes))
        expect(not wrong, where, f"a step leaves what is infeasible: {'; '.join(map(str, wrong))}")
        after = problem.objective(problem.placement(nodes))
        expect(better_by(problem, value, after) == chain.gain, where, f"a chain gains other than {chain.gain}")
        value = after
        if not chain.ordered:
            wrong = problem.violations(problem.placement(alone))
            expect(not wrong, where, f"a chain alone is infeasible: {'; '.join(map(str, wrong))}")
            gain = better_by(problem, start, problem.objective(problem.placement(alone)))
            expect(gain == chain.gain, where, f"a chain alone gains {gain}, not {chain.gain}")
    expect(value == problem.objective(there), where, "the chains do not lead to the optimum")
    expect(nodes.tolist() == found.there.tolist(), where, "the chains do not lead where they are said to")


@check(lambda record: places(record) and not record.problem_class.always_feasible)
def check_conflict(record: Record, seeds: Sequence[int]) -> None:
    """If nothing is feasible, a minimal set of tasks that cannot be placed is named."""
    short = 0
    for case in cases(record, seeds):
        posings = [case.problem] if record.slots is None else [case.problem, counting(case.problem)]
        for number, posed in enumerate(posings):
            problem = next((less for less in tightened(posed) if solve(less).decision is None), None)
            if isinstance(problem, Problem):
                short += 1
                _conflicting(problem, f"{case.name}, with less room{', tasks counted' * number}", bool(number))
    expect(short > 0, record.problem, "no instance is infeasible, however little room; name a variant that has one")


def _conflicting(problem: Problem, where: str, counted: bool) -> None:
    """Try all placements of the tasks that are named, and of these without each one of them."""
    found = explain(problem).conflict
    expect(found is not None and found.irreducible, where, "no irreducible conflict is found")
    assert found is not None
    expect(not counted or found.slots == len(found.tasks) - 1, where, f"the slots of the tasks are {found.slots}")
    index = {str(problem.instance.workload.task_ids[task]): place for place, task in enumerate(problem.tasks)}
    positions = [index[task] for task in found.tasks]
    expect(Case(only_with(problem, positions), where).best is None, where, f"{positions} can be placed")
    for left in positions:
        others = [position for position in positions if position != left]
        expect(Case(only_with(problem, others), where).best is not None, where, f"{left} can be left out")
