"""`lsap-fairness`: values by hand, steps and prices, bounds, and what is refused."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_problems import FAIRNESS as SMALL
from small_problems import lsap_fairness as posed
from small_problems import pareto_front
from strategies import problems

from optsched.core.errors import InputError, MissingField, TooLarge, UsageError
from optsched.core.instance import Cluster, Instance, Workload
from optsched.core.placement import NONE
from optsched.problems import LsapFairness
from optsched.problems.program_audit import fault_of, samples
from optsched.routes import solve


@given(problems("lsap-fairness"), st.data())
def test_steps_add_up(problem: LsapFairness, data: st.DataObject) -> None:
    """Tests that the distance of any placement is that of its groups' steps, cheapest first, each increasing."""
    tasks = data.draw(st.permutations(range(len(problem.tasks))))[: problem.count]
    slots = [node for node, free in enumerate(problem.instance.state.idle_slots.tolist()) for _ in range(free)]
    nodes = [NONE] * len(problem.tasks)
    for task, node in zip(tasks, data.draw(st.permutations(slots)), strict=False):
        nodes[task] = node
    placement = problem.placement(nodes)
    added = Fraction(0)
    for steps, placed in zip(problem.steps, problem.placed_by_group(placement), strict=True):
        each = [step for step, size in steps for _ in range(size)]
        assert each == sorted(each)
        assert len(steps) <= 3
        added += sum(each[:placed], Fraction(0))
    assert problem.distance_after(added) == problem.evaluate(placement)[1] >= problem.least_distance


prices = st.fractions(-2, 2, max_denominator=7) | st.sampled_from(
    [Fraction(1, 3**40), Fraction(-(10**20)), Fraction(9)]
)


@given(problems("lsap-fairness"), st.data())
def test_any_prices_prove_something_true(problem: LsapFairness, data: st.DataObject) -> None:
    """Tests that no prices prove more than is so: no placement within the locality cost is nearer to the shares."""
    nodes = data.draw(st.dictionaries(st.integers(0, len(problem.capacity) - 1), prices))
    groups = data.draw(st.lists(prices, min_size=len(problem.pools), max_size=len(problem.pools)))
    locality, task = data.draw(prices), data.draw(prices)
    front = pareto_front(problem)
    for off_data in range(int(front[0][0]), problem.count + 1):
        least = min(distance for cost, distance in front if cost <= off_data)
        assert problem.distance_bound(off_data, locality, task, nodes, groups) <= least


def test_bounds() -> None:
    """Tests the cheap bounds: each task on its best node, and the least distance wherever tasks run."""
    found = {entry.name: (entry.component, entry.value) for entry in SMALL.cheap_bounds()}
    assert found == {"best-node": ("locality-cost", 0), "fair-share": ("fairness-distance", Fraction(23, 90))}


def test_missing_fields() -> None:
    """Tests that groups, weights and the groups of tasks are asked for, each with its place."""
    bare = Instance(Cluster(["n"]), Workload(["t"]))
    with pytest.raises(MissingField, match="groups: lsap-fairness needs groups with weights"):
        LsapFairness(bare)
    with pytest.raises(MissingField) as caught:
        posed([5, 0, float("nan")], distance="relative")
    faults = [str(fault) for fault in caught.value.faults]
    assert faults == [
        "groups[2].weight: lsap-fairness needs the group's share",
        "groups[1].weight: distance=relative divides by it: give a positive share",
    ]
    assert posed([5, 0, 1]).evaluate(SMALL.placement([0, 1, NONE, NONE, NONE]))[0] == 2
    with pytest.raises(UsageError, match="distance='squared'"):
        posed(distance="squared")


def test_bug_fractions_of_more_digits_than_python_spells() -> None:
    """Tests that weights whose fractions no file could hold are refused at once, where values would be a traceback."""
    weights = [float(f"0.{10**15 + 2 * row + 1}") for row in range(300)]
    workload = Workload(
        ["t"], job=[0], job_ids=["j"], job_group=[0], group_ids=[f"g{row}" for row in range(300)], group_weight=weights
    )
    instance = Instance(Cluster(["a"]), workload)
    with pytest.raises(
        InputError, match=r"groups\.weight: distance=relative divides by 300 weights, .* than 4,000 digits"
    ):
        LsapFairness(instance, distance="relative")
    assert LsapFairness(instance).cheap_bounds()


@pytest.mark.parametrize("distance", ["absolute", "relative"])
@pytest.mark.parametrize("weights", [[5, 3, 2], [0.123456789123, 0.27182818284, 0.31415926535]])
def test_the_program_has_every_placement(weights: list[float], distance: str) -> None:
    """Tests both components' programs at each limit, and that distances without a small unit are rounded down alone."""
    problem = posed(weights, idle=[1, 1, 1], distance=distance)
    assert fault_of(problem, (), samples(problem)) is None
    for limit in range(4):
        program = problem.program((limit,))
        fault = fault_of(problem, (limit,), samples(problem))
        rounded = program.unit == 2**40  # other units are exact
        assert str(fault).endswith("with LsapFairness.decision_of; mend one of the three" if rounded else "None")
        for placement in samples(problem):
            if not problem.violations(placement):
                cost = int(program.numbers.objective @ problem.values_of(placement, program))
                lost = problem.evaluate(placement)[1] * program.unit - cost
                assert lost == 0 if weights[0] == 5 else 0 <= lost < 5


def test_distances_beyond_a_program() -> None:
    """Tests that distances of 10^20 have no program, and the default route needs none."""
    problem = posed([1, 1, 1e-20], distance="relative")
    with pytest.raises(TooLarge, match="too large for a program: take route flows"):
        problem.program((1,))
    assert solve(problem).optimal
