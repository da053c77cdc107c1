"""The exact program of `traffic`: what prices of slots leave of it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from small_problems import traffic_bound as bound_at
from strategies import problems

from optsched.problems import Traffic
from optsched.testing.contract import every_decision


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
