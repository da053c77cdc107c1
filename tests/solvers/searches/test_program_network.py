"""Networks of programs: flows are values, and potentials prove them, for every problem that is a network."""

from typing import Any

import numpy as np
import pytest

from optsched import generate, problem, solve
from optsched.solvers.profiles import Profile
from optsched.solvers.searches.assignment import network_of
from optsched.solvers.searches.transmission_stages import posed_network

TREES: dict[str, Any] = {"levels": (0, 1, 2)}
CASES: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    ("lsap", "lsap", {"nodes": 9, "tasks": 12, "slots": 2, "racks": 3}, TREES),
    ("lsap", "lsap", {"nodes": 9, "tasks": 12, "slots": 2, "racks": 3}, {}),
    ("fair-lsap", "fair-lsap", {"nodes": 6, "tasks": 9}, {}),
    ("fair-lsap", "fair-lsap", {"nodes": 6, "tasks": 9}, {"selection": "free"}),
    ("lsap-fairness", "fair-lsap", {"nodes": 6, "tasks": 9}, {}),
    ("flow", "flow", {"nodes": 6, "tasks": 8}, {}),
    ("transmission-maps", "transmission", {"nodes": 8, "tasks": 8, "racks": 3}, {}),
    ("transmission-maps", "transmission", {"nodes": 8, "tasks": 8, "spread": 5}, {}),
    ("transmission-reduces", "transmission", {"nodes": 8, "tasks": 8, "reduces": 5, "jobs": 2, "finished": 1.0}, {}),
]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("name", "family", "sizes", "parameters"), CASES)
def test_flows_are_values(name: str, family: str, sizes: dict[str, Any], parameters: dict[str, Any], seed: int) -> None:
    """Tests that an optimum is a flow of its cost, that shortest paths prove it, and that it comes back."""
    posed: Any = problem(name, generate(family, seed, **sizes), **parameters)
    best = solve(posed).decision
    if name == "transmission-reduces":
        view, network = posed_network(posed)
        assert network.solved(Profile("exact")).flow is not None
    else:
        network = network_of(posed)
        view = posed.with_places(posed.network_places)
    if not posed.count or name == "transmission-reduces":
        return
    values = view.values_of(best, network.program)
    flow = network.flow_of(values)
    balance = np.zeros(len(network.supply), dtype=np.int64)
    np.add.at(balance, network.tail, flow)
    np.subtract.at(balance, network.head, flow)
    assert balance.tolist() == network.supply.tolist()
    assert ((flow >= 0) & (flow <= network.capacity)).all()
    assert int((flow * network.cost).sum()) == posed.units(best)
    again = view.decision_of(network.values(flow), network.program)
    assert posed.units(again) == posed.units(best)
    assert not posed.violations(again)
    assert network.proved(values) is not None
    assert int(network.cheapened(values) @ network.program.numbers.objective) == posed.units(best)
    found = network.solved(Profile("exact"), "arrays")
    assert int(found.flow @ network.cost) == posed.units(best)
