"""Demands and capacities of resources in integer units, so that what fits is compared exactly.

The unit is 1 over the common denominator of the demands as decimals: three demands of 0.1 fill a capacity of 0.3.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from optsched.core.arrays import LARGEST, Floats, Ints
from optsched.core.decimals import common_denominator, for_each
from optsched.core.instance import REDUCE, Instance

__all__ = ["TOO_FINE", "capacity_units", "demand_fault", "demands_of"]

#: The warning about demands without a common unit.
TOO_FINE = "must have a common denominator of at most 2^20, as decimals of up to six places do; round or scale them"


def demand_fault(problem: str, demand: Floats, many: int) -> tuple[int, str | None]:
    """The unit of demands, and why they cannot be taken; None where they can.

    Parameters
    ----------
    problem
        The problem that takes them.
    demand
        Finite, 0 or more.
    many
        How many of them may come together on one node.

    Examples
    --------
    >>> import numpy as np
    >>> demand_fault("utility", np.array([0.1, 0.25]), 2)
    (20, None)
    """
    grid = common_denominator(demand)
    if grid is None:
        return 1, f"demands of {problem} {TOO_FINE}"
    if float(demand.max(initial=0.0)) * grid * many > LARGEST:
        return grid, f"demands may total too much, past 2^53/{grid}; scale them and the capacities down"
    return grid, None


def capacity_units(capacity: Floats, grid: int) -> Ints:
    """Capacities in whole units of 1/`grid`, rounded down, and no more than 2^53 of them; same shape.

    >>> import numpy as np
    >>> capacity_units(np.array([0.3, 0.35, 2.0]), 10).tolist()
    [3, 3, 20]
    """
    return for_each(capacity, lambda most: min(math.floor(most * grid), LARGEST))


def demands_of(instance: Instance, tasks: Ints, phase: str) -> dict[str, Any]:
    """The demand of each of `tasks` for each resource, shape (tasks,); what is not given is 0.

    In the shuffle phase a reduce takes its `demand_shuffle`, where it has one.
    """
    workload = instance.workload
    shuffling = np.zeros(len(tasks), dtype=bool)
    if phase == "shuffle":
        for column in workload.demand_shuffle.values():
            shuffling |= (workload.kind[tasks] == REDUCE) & ~np.isnan(column[tasks])
    absent = np.full(len(workload), np.nan)
    return {
        resource: np.nan_to_num(
            np.where(
                shuffling,
                workload.demand_shuffle.get(resource, absent)[tasks],
                workload.demand.get(resource, absent)[tasks],
            )
        )
        for resource in [*workload.demand, *(name for name in workload.demand_shuffle if name not in workload.demand)]
    }
