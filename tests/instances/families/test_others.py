"""The family of generalised assignment of Chu and Beasley's kind."""

from __future__ import annotations

import numpy as np
import pytest

from optsched.instances.generate import generate
from optsched.problems import problem


@pytest.mark.parametrize("correlated", [0, 1, 2])
def test_generalized_assignment_family(correlated: int) -> None:
    """Tests the ranges of OR-Library's types C to E, that capacities are scarce, and that the problem can be posed."""
    instance = generate("generalized-assignment", seed=5, nodes=4, tasks=60, correlated=correlated)
    posed = problem("generalized-assignment", instance)
    cost, demand, capacity = posed.units, posed.demand[0], posed.capacity[0]
    assert np.array_equal(capacity, np.floor(0.8 * demand.sum(axis=0) / 4))
    if correlated == 2:
        assert demand.min() == 1
        assert 9 < demand.mean() < 13  # 11, but for chance
        assert (cost * demand <= 1000 + demand).all()
        assert (cost * demand >= 1000 - 11 * demand).all()
    elif correlated:
        assert (demand.min(), demand.max()) == (1, 100)
        assert set(np.unique(cost + demand)) <= set(range(101, 122))
    else:
        assert (demand.min(), demand.max(), cost.min(), cost.max()) == (5, 25, 10, 50)
    assert instance.labels["pairs"].startswith(f"drawn as type {'CDE'[correlated]} of OR-Library")
    assert len(problem("generalized-assignment", generate("generalized-assignment", tasks=0)).tasks) == 0
