"""The program of `worst-group` with limits on what groups pay: counts, and what trees prove against enumeration."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from worst_group_instances import posed, problems

from optsched.problems import WorstGroup
from optsched.problems.worst_group_program import GroupProgram, group_limits
from optsched.searches.enumeration import best_placement
from optsched.searches.program_tree import settling_tree
from optsched.solvers.profiles import Profile


@given(problems(4))
@settings(max_examples=60)
def test_trees_settle_what_enumeration_says(problem: WorstGroup) -> None:
    """Tests that nothing is below the least mean and there is something within it, of the least cost and no less."""
    found = best_placement(problem)
    if found is None or not problem.count:
        return
    (mean, cost), _ = found
    exact = Profile("exact")
    below = GroupProgram(problem, problem.most_below(mean), costless=True).program
    assert settling_tree(below, 1, exact, 200) is not None
    above = GroupProgram(problem, problem.most_below(mean + Fraction(1, 100)), costless=True).program
    assert settling_tree(above, 1, exact, 200) is None
    within = GroupProgram(problem, problem.most_within(mean)).program
    assert settling_tree(within, int(cost), exact, 200) is not None
    assert settling_tree(within, int(cost) + 1, exact, 200) is None


def test_how_many_pay_the_cost_at_the_data_is_open() -> None:
    """Tests that limits are on costs where fewer tasks than all are placed and each costs something."""
    problem = posed([[0], [0], [1]], [0, 0, 1], slots=[1, 1], racks=[0, 1], levels=[1, 2, 4])
    assert group_limits(problem, problem.most_within(Fraction(1))) is None
    program = GroupProgram(problem, problem.most_within(Fraction(1, 2))).program
    assert set(program.value.tolist()) == {1, 2, 4}
    whole = posed([[0], [0], [1]], [0, 0, 1], slots=[2, 1], racks=[0, 1], levels=[1, 2, 4])
    assert group_limits(whole, whole.most_within(Fraction(1))) is not None
