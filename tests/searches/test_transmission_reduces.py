"""The network of `transmission-reduces`: shortest paths that prove an optimum, and flows that are placements."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from reduces_instances import posed
from transmission_instances import problems

from optsched.problems import Problem
from optsched.problems.transmission_reduces import TransmissionReduces
from optsched.searches.enumeration import best_placement
from optsched.searches.transmission_reduces import ReduceNetwork, prices_of


@settings(max_examples=25)
@given(problems("transmission-reduces"))
def test_shortest_paths_prove_what_is_optimal_alone(problem: Problem) -> None:
    """Tests that prices are found for an optimal placement, and for no other."""
    assert isinstance(problem, TransmissionReduces)
    if not problem.count:
        return
    best = best_placement(problem)
    assert best is not None
    prices = prices_of(problem, best[1])
    assert prices is not None
    assert Fraction(problem.price_bound(*prices), problem.grid) == best[0][0]
    for chosen in itertools.product(range(-1, len(problem.instance.cluster)), repeat=len(problem.tasks)):
        placement = problem.placement(chosen)
        if not problem.violations(placement) and problem.evaluate(placement) > best[0]:
            assert prices_of(problem, problem.nodes_of(placement)) is None
            break


def test_network_round_trip() -> None:
    """Tests that a placement becomes a flow that conserves, and the flow a placement of the same cost."""
    problem = posed([1.0, 1.0, 4.0], [2, 1, 1, 0], [0, 0, -1])
    network = ReduceNetwork(problem)
    nodes = np.array([1, 0, 0])
    flow = network.flow_of(nodes)
    balance = np.zeros(len(network.supply), dtype=np.int64)
    np.add.at(balance, network.tail, flow)
    np.add.at(balance, network.head, -flow)
    assert (balance == network.supply).all()
    assert (flow <= network.capacity).all()
    assert int(flow @ network.cost) == problem.cost_units(nodes) == problem.cost_units(network.decode(flow))
