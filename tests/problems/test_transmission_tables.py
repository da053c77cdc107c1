"""Tables of the bounds of `transmission`: the same held in memory or computed in parts, and the objective's costs."""

from __future__ import annotations

import numpy as np
import pytest
from transmission_instances import example, rich

from optsched.core.placement import NONE
from optsched.problems.transmission import Transmission
from optsched.problems.transmission_bounds import ReduceBounds
from optsched.problems.transmission_tables import OPEN


@pytest.mark.parametrize("held", [True, False])
def test_bounds_are_the_same_held_or_computed(held: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that products that do not fit into memory are computed block by block, to the same bounds."""
    problem = Transmission(example())
    expected = ReduceBounds(problem)
    monkeypatch.setattr("optsched.problems.transmission_tables._HELD", 2**24 if held else 0)
    monkeypatch.setattr("optsched.problems.transmission_tables._BLOCK", 1)
    bounds = ReduceBounds(problem)
    for fixed in (np.array([1, OPEN]), np.array([OPEN, OPEN])):
        reduce = int(np.flatnonzero(fixed == OPEN)[0])
        ours, theirs = (one.children(fixed, reduce, one.free) for one in (bounds, expected))
        assert (ours <= theirs).all()
        assert (bounds.map_costs(fixed) == expected.map_costs(fixed)).all()
    assert (bounds.given_maps(np.array([0, 1])) == expected.given_maps(np.array([0, 1]))).all()


@pytest.mark.parametrize("seed", range(30))
def test_costs_of_given_maps_and_reduces(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that costs beside maps or reduces that are placed are the objective's, held or computed in small parts."""
    problem = rich(seed)
    held = ReduceBounds(problem)
    monkeypatch.setattr("optsched.problems.transmission_tables._HELD", 0)
    monkeypatch.setattr("optsched.problems.transmission_tables._BLOCK", 1)
    computed = ReduceBounds(problem)
    rng = np.random.default_rng(seed)
    rows, fixed = rng.integers(0, len(held.room), len(problem.maps)), rng.integers(0, held.nowhere + 1, len(held.sent))
    assert np.array_equal(computed.given_maps(rows), held.given_maps(rows))
    assert np.array_equal(computed.map_costs(fixed), held.map_costs(fixed))
    on = np.append(held.hosts, NONE)[np.minimum(rows, held.rows)]
    there = np.where(fixed == held.nowhere, NONE, fixed)
    nodes = np.full(len(problem.tasks), NONE)
    nodes[problem.maps], nodes[problem.reduces] = on, there
    (value,) = problem.objective(problem.placement(nodes))
    every = np.arange(len(rows))
    of_maps = int(held.map_costs(np.full_like(fixed, held.nowhere))[rows, every].sum())
    of_reduces = int(held.given_maps(rows)[np.arange(len(fixed)), fixed].sum())
    assert of_maps + of_reduces == value * problem.grid * held.scale
