"""`traffic`: value, feasibility, shares, bounds and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_problems import pareto_front
from small_problems import traffic as posed
from small_problems import traffic_bound as bound_at
from strategies import problems

from optsched.certificates import certify
from optsched.core.placement import Placement
from optsched.core.results import Termination, Violation
from optsched.problems import Traffic
from optsched.routes import frontier, solve
from optsched.routes.traffic import ROUTES
from optsched.testing.contract import every_decision

# Value and feasibility ---------------------------------------------------------------------------------------------


def test_violations() -> None:
    """Tests each constraint's violation with its ids and amount."""
    problem = posed([[0], [0]], reduces=3, slots=[1, 9], reduce_slots=[9, 1], capacity="slots")
    assert problem.violations(problem.placement([0, 0, 1, 1, 0])) == [
        Violation("slots", ("n0",), 1),
        Violation("reduce-slots", ("n1",), 1),
        Violation("reduces-together", ("j0",), 1),
    ]
    assert problem.violations(problem.placement([-1, 0, -1, 0, 0])) == [
        Violation("every-task-placed", ("j0m0",), 1),
        Violation("every-task-placed", ("j0r0",), 1),
    ]
    with pytest.raises(ValueError, match="an infeasible placement has no value: every-task-placed"):
        problem.evaluate(Placement.empty(5))
    parted = Traffic(problem.instance, reduces="free")
    assert parted.violations(parted.placement([0, 0, 1, 1, 0])) == []


def test_plainly_infeasible() -> None:
    """Tests what counting alone rules out: too few slots of either kind, none for all reduces of a job, no node."""
    parted = posed([[0]], reduces=2, reduce_slots=[1, 1], capacity="slots")
    for problem, reason in (
        (posed([[0]] * 3, slots=[1, 1], capacity="slots"), "3 maps are pending, and only 2 map slots are idle"),
        (
            posed([[0]], reduces=2, reduce_slots=[0, 1], capacity="slots"),
            "2 reduces are pending, and only 1 reduce slots are idle",
        ),
        (parted, "no datacenter has 2 idle reduce slots, which job j0 needs in one"),
        (posed([[]], nodes=[]), "there is no node"),
    ):
        assert problem.plainly_infeasible == reason
        for route in ROUTES:
            solution = solve(problem, route=route)
            assert solution.termination is Termination.INFEASIBLE
            assert certify(problem, solution).proved
        assert len(frontier(problem)) == 0
    assert posed([[]], nodes=[]).cheap_bounds()[0].value == 0
    assert solve(Traffic(parted.instance, capacity="slots", reduces="free")).optimal


def test_placed_in_spreads_over_slots() -> None:
    """Tests that tasks of a datacenter go to its nodes in turn, and only where there are slots."""
    problem = posed([[0]] * 4, nodes=[0, 0, 0, 1], slots=[1, 0, 3, 1], capacity="slots")
    placement = problem.placed_in(np.array([0, 0, 0, 1]), np.array([1]))
    assert problem.nodes_of(placement).tolist() == [0, 2, 2, 3, 3]


def test_locality_counts() -> None:
    """Tests maps on a replica's node, in its datacenter, and elsewhere."""
    problem = posed([[0], [1], [2], []], nodes=[0, 0, 1])
    counts = problem.locality_counts(problem.placement([0, 0, 0, 0, 0]))
    assert counts == {"node": 1, "datacenter": 1, "off_datacenter": 2}
    near = posed([[0], [0], [1], [2]], nodes=[0, 0, 1])
    assert near.locality_counts(near.placement([0, 0, 0, 0, 0])) == {"node": 2, "datacenter": 1, "off_datacenter": 1}


# Bounds and certificates -------------------------------------------------------------------------------------------


# Agreement ---------------------------------------------------------------------------------------------------------


@given(problems("traffic", capacity="none"))
def test_together_is_no_restriction_without_capacities(problem: Traffic) -> None:
    """Tests Sharmilarani et al., note 9: without capacities, and with equal shares, reduces of a job stay together."""
    workload = replace(problem.instance.workload, shuffle=None)
    instance = replace(problem.instance, workload=workload)
    together, free = (Traffic(instance, capacity="none", reduces=reduces) for reduces in ("together", "free"))
    best = solve(together).objective
    assert pareto_front(free)[0][0] == best[0] == together.cheap_bounds()[0].value == free.cheap_bounds()[0].value


# The exact program, and what prices of slots leave of it -------------------------------------------------------------


@given(problems("traffic"), st.data())
def test_what_prices_leave(problem: Traffic, data: st.DataObject) -> None:
    """Tests that placements with less traffic than a target cause what is proved of them, and are not left out."""
    count = len(problem.datacenters)
    prices = np.array(data.draw(st.lists(st.integers(-1, 9), min_size=2 * count, max_size=2 * count)), dtype=np.int64)
    given = range(len(problem.bundles)) if count and data.draw(st.booleans()) else range(0)
    hosts = {bundle: data.draw(st.integers(0, count - 1)) for bundle in given if data.draw(st.integers(0, 3))}
    target, program = data.draw(st.integers(0, 60)), problem.program()
    box = program.numbers.box
    for bundle, host in hosts.items():
        box = problem.posing.with_host(box, bundle, host)
    priced = prices[:count], prices[count:], data.draw(st.integers(1, 3))
    bound = bound_at(problem, hosts, *priced)
    found = problem.settle(box, priced, target)
    again = problem.settle(box, priced, target)
    assert min(target, bound) <= found <= again <= target
    for decision in every_decision(problem):
        if problem.violations(decision):
            continue
        at = problem.datacenter[problem.nodes_of(decision)][problem.reduces]
        own = [int(at[bundle.reduces[0]]) for bundle in problem.bundles]
        units = int(problem.objective(decision)[0] * problem.grid)
        if units < target and all(own[bundle] == host for bundle, host in hosts.items()):
            values = problem.values_of(decision, program)
            assert units >= again
            assert (box.lower <= values).all()
            assert (values <= box.upper).all()
