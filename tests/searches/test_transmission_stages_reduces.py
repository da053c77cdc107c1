"""The network of `transmission-reduces`: the nodes that it offers are enough."""

from __future__ import annotations

import numpy as np
import pytest

from optsched.instances.generate import generate
from optsched.problems.transmission_reduces import TransmissionReduces
from optsched.searches import transmission_stages as module
from optsched.searches.transmission_stages import by_arrays, posed_network
from optsched.solvers.profiles import Profile


@pytest.mark.parametrize("spread", [0, 9])
def test_cheapest_nodes_are_enough(spread: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that offering each class its cheapest nodes alone gives the optimum of all nodes, with a proof."""
    fewer = 0
    for seed in range(8):
        sizes = {"nodes": 14, "tasks": 12, "reduces": 5, "racks": 3, "finished": 1.0, "running": 0.3, "reduce_slots": 2}
        problem = TransmissionReduces(generate("transmission", seed, spread=spread, jobs=1 + seed % 2, **sizes))
        few = by_arrays(problem, Profile("exact"))[1:]
        fewer += len(posed_network(problem)[0].places.row_of) < np.count_nonzero(
            problem.usable[problem.classes().first]
        )
        with monkeypatch.context() as patch:
            patch.setattr(module, "cheapest_nodes", lambda posed: posed.usable[posed.classes().first])
            every = by_arrays(problem, Profile("exact"))[1:]
        for nodes, prices in (few, every):
            assert nodes is not None
            assert prices is not None
            assert problem.price_bound(*prices) == problem.cost_units(nodes)
        assert problem.cost_units(few[0]) == problem.cost_units(every[0])
    assert fewer >= 4
