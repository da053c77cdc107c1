"""The finder of `worst-group` with two levels of cost: flows against enumeration, cuts as proofs, flows that err."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from worst_group_instances import ONE_SLOT, RACKS, problems

from optsched.core.errors import SolverDisagreement
from optsched.core.results import Termination
from optsched.problems import Lsap, WorstGroup
from optsched.routes import solve
from optsched.searches.enumeration import best_placement
from optsched.searches.worst_group import FlowFinder, is_flow


def test_which_problems_are_flows() -> None:
    """Tests that a task must cost nothing or one same level."""
    assert is_flow(ONE_SLOT)
    assert not is_flow(RACKS)


@settings(max_examples=80)
@given(problems().filter(is_flow))
def test_flows_find_the_optimum(problem: WorstGroup) -> None:
    """Tests the least mean and its cost against enumeration, both proved by a cut, and that the cost is `lsap`'s."""
    found, finder = best_placement(problem), FlowFinder(problem)
    assert found is not None
    (mean, cost), _ = found
    assert not finder.empty(mean)
    program = problem.program((mean,))
    best = finder(mean, program)
    assert best.values is not None
    assert best.tree is not None
    assert problem.evaluate(problem.decision_of(best.values, program)) == (mean, cost)
    assert best.tree.bound(program.whole, int(cost)) == cost
    below = problem.value_below(mean)
    assert finder.empty(below)
    nothing = finder(below, problem.program((below,)))
    assert nothing.outcome.status is Termination.INFEASIBLE
    assert nothing.tree is not None
    whole = problem.program((below,)).whole
    assert nothing.tree.bound(whole, 10**6) == 10**6
    assert solve(Lsap(problem.instance, levels=problem.levels)).objective == (cost,)


def test_flows_check_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a flow that is not maximum is noticed."""
    finder, true, seen = FlowFinder(ONE_SLOT), FlowFinder._flow, list[int]()

    def short(*given: object) -> tuple[object, object, int]:
        network, flow, total = true(*given)  # type: ignore[arg-type]
        seen.append(total)
        return network, flow, total if len(seen) < 3 else total - 1

    monkeypatch.setattr(FlowFinder, "_flow", short)
    with pytest.raises(SolverDisagreement, match="SciPy places 2 of 3 tasks"):
        finder(1, ONE_SLOT.program((1,)))
