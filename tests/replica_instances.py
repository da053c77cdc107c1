"""Tasks with replicas on nodes with few slots, and Guo et al.'s Figure 2."""

from __future__ import annotations

from optsched.instance import Cluster, Instance, Ragged, State, Workload


def small(rows: list[list[int]], slots: list[int], loads: list[int] | None = None) -> Instance:
    """Tasks with the given replicas on nodes with the given slots."""
    cluster = Cluster([f"n{node}" for node in range(len(slots))], slots=slots)
    workload = Workload([f"t{task}" for task in range(len(rows))], replicas=Ragged.from_rows(rows))
    return Instance(cluster, workload, State.initial(cluster, workload, load=loads), name="small")


FIGURE_2 = small([[0, 1, 2], [0, 1], [0]], [1, 1, 1])
