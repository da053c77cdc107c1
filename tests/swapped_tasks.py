"""Two tasks, each with its data on the other's node: the smallest placement that is to be explained."""

from __future__ import annotations

import numpy as np

from optsched.core.instance import Cluster, Instance, Ragged, Workload
from optsched.problems import Lsap, Problem

__all__ = ["SWAPPED", "wrong_way"]

_WORKLOAD = Workload(["t1", "t2"], replicas=Ragged.from_rows([[0, 1], [0]]))


SWAPPED = Lsap(Instance(Cluster(["a", "b"]), _WORKLOAD, name="two"))


def wrong_way(problem: Problem, rng: np.random.Generator) -> list[str]:
    """Each task on the other's node."""
    return ["a", "b"]
