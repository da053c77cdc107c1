"""Quincy: its flow against SciPy's dense assignment of the same three levels, and what it does not see."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transmission_instances import example, problems

from optsched.heuristics.sequential import quincy
from optsched.problems.transmission import Transmission
from optsched.problems.transmission_maps import TransmissionMaps
from optsched.solvers.transport import assign_dense

RNG = np.random.default_rng(0)


def moved(problem: TransmissionMaps, rack: float, off_rack: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    """What Quincy pays for each map on each node, written down pair by pair."""
    racks = problem.instance.cluster.rack
    costs = np.zeros((len(problem.tasks), len(racks)))
    for task, holders in enumerate(problem.replicas):
        for node in range(len(racks)):
            near = any(racks[node] == racks[holder] >= 0 for holder in holders)
            level = 0.0 if node in holders else rack if near else off_rack
            costs[task, node] = level * problem.instance.workload.size[problem.tasks[task]]
    return costs


@settings(max_examples=25)
@given(st.data(), st.sampled_from([(1, 2), (1, 1), (0, 5), (3, 1), (0, 0)]))
def test_least_megabytes(data: st.DataObject, levels: tuple[int, int]) -> None:
    """Tests that the flow is feasible and moves as few MB, weighed by level, as the dense assignment does.

    Also where a core switch is cheaper than a rack's: then a map may go through the cluster to its own rack.
    """
    problem: Any = data.draw(problems("transmission-maps"))
    placement = quincy(problem, RNG, rack=levels[0], off_rack=levels[1])
    assert not problem.violations(placement)
    costs = moved(problem, min(levels), levels[1])
    dense = assign_dense(np.rint(costs * 10).astype(np.int64), problem.capacity, problem.count)
    found = problem.nodes_of(placement)
    paid = [costs[nodes >= 0, nodes[nodes >= 0]].sum() for nodes in (found, dense)]
    assert paid[0] == pytest.approx(paid[1])


def test_reduces_as_fifo() -> None:
    """Tests that reduces, which Quincy as Shen et al. have it does not weigh, fill the first nodes."""
    assert quincy(Transmission(example()), RNG).nodes.tolist() == [0, 1, 0, 1]
