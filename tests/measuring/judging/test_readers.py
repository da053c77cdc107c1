"""Readers that load the storage they read from: costs by hand, and bounds on drawn rounds."""

from __future__ import annotations

import pytest

from optsched import load, problem
from optsched.measuring.judging.quantities import Answer
from optsched.measuring.judging.readers import SETTINGS, drawn_round, excess, with_readers


def test_readers_by_hand() -> None:
    """Tests the costs that the instance's description derives: 91.294 together, 86.024 apart."""
    posed = problem("flow-congestion", load("papers/hsu-storage-load"))
    together, apart = (Answer(posed, f"nocomputation1@n1 nocomputation2@{node}") for node in ("n1", "n2"))
    assert float(together.value[0]) == pytest.approx(79.247, abs=5e-4)
    for answer, cost in ((together, 91.294), (apart, 86.024)):
        nodes = posed.nodes_of(answer.decision)
        assert with_readers(answer, nodes, "seeming") == pytest.approx(cost, abs=5e-4)


@pytest.mark.parametrize("setting", SETTINGS)
def test_readers_of_drawn_rounds(setting: str) -> None:
    """Tests that nothing is below the least cost, and that the best sources cost no more than those that seem best."""
    answer = Answer(problem("flow-congestion", drawn_round(0, setting), scale=85), "optimum")
    best, seeming = excess(answer, "best"), excess(answer, "seeming")
    assert -1e-9 <= best <= seeming + 1e-9
