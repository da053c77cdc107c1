"""The families of latency: the paper's sizes and loads, and how Zipf families crowd replicas."""

from __future__ import annotations

import numpy as np

from optsched.instances.generate import generate


def test_labl() -> None:
    """Tests Agosta et al., section 4: sizes, integer loads uniform from 0 to 5 with a free server, 1 to 4 replicas."""
    instance = generate("labl")
    assert (len(instance.cluster), len(instance.workload)) == (2000, 3450)
    loads, counts = np.unique(instance.state.load, return_counts=True)
    assert loads.tolist() == [0, 1, 2, 3, 4, 5]
    assert np.all(np.abs(counts - 2000 / 6) < 5 * np.sqrt(2000 * 5 / 36))
    lengths = np.bincount(instance.replicas.lengths)[1:]
    assert np.all(np.abs(lengths - 3450 / 4) < 5 * np.sqrt(3450 * 3 / 16))
    assert instance.labels["load"].startswith("assumed integers")


def test_labl_available() -> None:
    """Tests that fewer available servers keep placement and loads of the others: Agosta et al., section 4.2."""
    whole, part = generate("labl", seed=5), generate("labl", seed=5, available=1600)
    assert len(part.cluster) == 1600
    assert np.array_equal(part.state.load, whole.state.load[:1600])
    for row in (0, 17, 3449):
        assert part.replicas[row].tolist() == [node for node in whole.replicas[row].tolist() if node < 1600]


def test_skew() -> None:
    """Tests that Zipf families crowd replicas on few nodes, and that exponent 0 does not."""
    shares = []
    for exponent in (0.0, 1.0, 2.0):
        held = np.bincount(generate("skewed-latency", exponent=exponent, tasks=2000, replicas=1).replicas.values)
        shares.append(held.max() / 2000)
    assert shares[0] < 0.02
    assert abs(shares[1] - 1 / sum(1 / rank for rank in range(1, 201))) < 0.04
    assert abs(shares[2] - 1 / sum(1 / rank**2 for rank in range(1, 201))) < 0.04
