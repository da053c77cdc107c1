"""`lsap`: the cost of each pair by its level."""

import numpy as np
from small_problems import racked


def test_levels() -> None:
    """Tests the cost of each pair: on a replica's node, in its rack, off-rack; a node without a rack is in none."""
    problem = racked([2, 2, 2, 2], [[0], [3], [], [0, 2]], levels=(1, 3, 8))
    rows, nodes = np.repeat(np.arange(4), 4), np.tile(np.arange(4), 4)
    assert problem.pair_units(rows, nodes).reshape(4, 4).tolist() == [
        [1, 3, 8, 8],
        [8, 8, 8, 1],
        [8, 8, 8, 8],
        [1, 3, 1, 8],
    ]
    placement = problem.placement([0, 3, 1, 1])
    assert problem.evaluate(placement) == (1 + 1 + 8 + 3,)
    assert problem.locality_counts(placement) == {"node": 2, "rack": 1, "off_rack": 1}
    assert problem.locality(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)).tolist() == []
