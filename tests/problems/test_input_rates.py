"""Input rates of tasks by the types of nodes."""

from __future__ import annotations

import numpy as np

from optsched.core.instance import Cluster, Instance, Workload
from optsched.problems.input_rates import task_rates


def test_rates_by_type_and_without_one() -> None:
    """Tests a rate by type, one for all nodes, and none; the last column is that of nodes without a type."""
    cluster = Cluster(["a", "b", "c"], type=[0, 1, -1], type_ids=["c1", "c2"])
    by_type = [[2, np.nan], [np.nan, np.nan], [np.nan, np.nan]]
    workload = Workload(["t", "u", "v"], rate_in=[np.nan, 3, np.nan], rate_in_by_type=by_type)
    found = task_rates(Instance(cluster, workload), np.array([1, 0, 2]))
    assert np.array_equal(found, [[3, 3, 3], [2, np.nan, np.nan], [np.nan] * 3], equal_nan=True)
    plain = Workload(["t"], rate_in=[4])
    assert task_rates(Instance(Cluster(["a"]), plain), np.array([0])).tolist() == [[4]]
