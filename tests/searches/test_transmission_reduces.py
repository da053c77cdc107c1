"""The network of `transmission-reduces`: shortest paths that prove an optimum, and flows that are placements."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from reduces_instances import posed
from transmission_instances import problems

from optsched.instances.generate import generate
from optsched.problems import Problem
from optsched.problems.transmission_reduces import TransmissionReduces
from optsched.searches import transmission_reduces as module
from optsched.searches.enumeration import best_placement
from optsched.searches.transmission_reduces import ReduceNetwork, by_arrays, prices_of
from optsched.solvers.profiles import Profile


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


@pytest.mark.parametrize("spread", [0, 9])
def test_cheapest_nodes_are_enough(spread: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that offering each class its cheapest nodes alone gives the optimum of all nodes, with a proof.

    The placements of either are proved on the other's network too.
    """
    fewer = 0
    for seed in range(8):
        sizes = {"nodes": 14, "tasks": 12, "reduces": 5, "racks": 3, "finished": 1.0, "running": 0.3, "reduce_slots": 2}
        problem = TransmissionReduces(generate("transmission", seed, spread=spread, jobs=1 + seed % 2, **sizes))
        few = by_arrays(problem, Profile("exact"))[1:]
        fewer += len(ReduceNetwork(problem).row) < np.count_nonzero(problem.usable[problem.classes().first])
        with monkeypatch.context() as patch:
            patch.setattr(module, "cheapest_nodes", lambda posed: posed.usable[posed.classes().first])
            every = by_arrays(problem, Profile("exact"))[1:]
        for nodes, prices in (few, every):
            assert nodes is not None
            for found in (prices, prices_of(problem, nodes)):
                assert found is not None
                assert problem.price_bound(*found) == problem.cost_units(nodes)
        assert problem.cost_units(few[0]) == problem.cost_units(every[0])
    assert fewer >= 4


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
