"""Readers that load the storage they read from: costs by hand, and bounds on drawn rounds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from oracles.flow import FlowCongestion as Oracle

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


@pytest.mark.parametrize("nodes", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_best_sources_are_the_oracle_s(nodes: tuple[int, int]) -> None:
    """Tests what a placement costs more than with r_out frozen, and that no sources are better."""
    path = Path(__file__).parents[3] / "instances" / "papers" / "hsu-storage-load.json"
    posed, oracle = problem("flow-congestion", load(str(path))), Oracle(path.read_text(), {})
    value = float(posed.evaluate(posed.placement(np.array(nodes)))[0])
    best, seeming = (with_readers(Answer(posed, None), np.array(nodes), which) - value for which in ("best", "seeming"))
    assert best == pytest.approx(float(oracle.with_readers(nodes) - oracle.value(nodes)[0]), abs=1e-5)
    assert seeming >= best > 0


@pytest.mark.parametrize("setting", SETTINGS)
def test_readers_of_drawn_rounds(setting: str) -> None:
    """Tests that nothing is below the least cost, and that the best sources cost no more than those that seem best."""
    answer = Answer(problem("flow-congestion", drawn_round(0, setting), scale=85), "optimum")
    best, seeming = excess(answer, "best"), excess(answer, "seeming")
    assert -1e-9 <= best <= seeming + 1e-9
