"""Input rates of tasks by type of node, for problems, heuristics and simulations."""

from __future__ import annotations

import numpy as np

from optsched.core.instance import Floats, Instance

__all__ = ["task_rates"]


def task_rates(instance: Instance, tasks: np.ndarray) -> Floats:
    """Input rate of each task on each node type, shape (tasks, types + 1); the last column is "no type".

    A node without a type has type -1, which picks the last column.
    """
    workload = instance.workload
    types = len(instance.cluster.type_ids)
    rates = np.repeat(workload.rate_in[tasks, None], types + 1, axis=1)
    if workload.rate_in_by_type is not None:
        by_type = workload.rate_in_by_type[tasks]
        rates[:, :types] = np.where(np.isnan(by_type), rates[:, :types], by_type)
    return rates
