"""The family `consolidation`: nodes of unequal size, and blocks on any of them."""

import numpy as np

from optsched.core.instance import Cluster, Ragged, State, Workload
from optsched.instances.families.base import Drawn, Family, Setting


def _draw(rng: np.random.Generator, *, nodes: int, tasks: int) -> Drawn:
    cluster = Cluster([f"n{node}" for node in range(nodes)], slots=rng.integers(1, 4, nodes))
    rows = Ragged.from_rows([[int(rng.integers(nodes))] for _ in range(tasks)])
    workload = Workload([f"t{task}" for task in range(tasks)], replicas=rows)
    return Drawn(cluster, workload, State.initial(cluster, workload))


CONSOLIDATION = Family(
    name="consolidation",
    paper="",
    description="Nodes of 1 to 3 slots, and tasks with one replica each.",
    parameters={
        "nodes": Setting(4, "nodes", 1, 1000),
        "tasks": Setting(5, "pending tasks", 0, 10000),
    },
    draw=_draw,
)
