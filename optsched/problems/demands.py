"""What tasks demand of nodes: resources in whole units, input rates, and limits on numbers of tasks.

The unit of a resource is 1 over the common denominator of the demands as decimals. So three demands of 0.1 fill a
capacity of 0.3, and comparisons are exact.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from optsched.core.arrays import LARGEST, Floats, Ints
from optsched.core.decimals import common_denominator, for_each
from optsched.core.instance import REDUCE, Instance

#: The warning about demands without a common unit.
TOO_FINE = "must have a common denominator of at most 2^20, as decimals of up to six places do; round or scale them"


def demand_fault(problem: str, demand: Floats, many: int) -> tuple[int, str | None]:
    """The unit of demands, and why they are refused; None if they are not.

    Demands are finite, 0 or more; at most `many` of them are on one node. `problem` is its name, for messages.

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
    """Capacities in whole units of 1/`grid`, rounded down, and at most 2^53; same shape.

    >>> import numpy as np
    >>> capacity_units(np.array([0.3, 0.35, 2.0]), 10).tolist()
    [3, 3, 20]
    """
    return for_each(capacity, lambda most: min(math.floor(most * grid), LARGEST))


def demands_of(instance: Instance, tasks: Ints, phase: str) -> dict[str, Any]:
    """The demand of each of `tasks` for each resource, shape (tasks,); missing demands are 0.

    In the shuffle phase a reduce takes its `demand_shuffle`, if it has one.
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


def count_limits(size: int, near: int, far: int, most: int) -> list[tuple[int, int, int]]:
    """Limits on how many of `size` tasks pay `near`, and how many `far`, so that together they pay at most `most`.

    Each limit is (a, b, c): a x near + b x far <= c, in numbers of tasks. Pairs of whole numbers satisfy them exactly
    if they satisfy the limit on the payment: the limits are the sides of the convex hull of these pairs. However large
    `near` and `far` are, a and b are at most `size`. With the original coefficients a solver could accept a violation
    of a large limit: its tolerance for whole numbers is a millionth, and it refuses coefficients of 10^15.

    >>> count_limits(4, 2, 3, 7)
    [(1, 0, 3), (1, 1, 3), (1, 2, 4), (0, 1, 2)]
    """
    if most < 0:
        return [(0, 0, -1)]
    highest = min(size, most // far) if far else size
    pairs = [
        (min(size - count, (most - far * count) // near) if near else size - count, count)
        for count in range(highest + 1)
    ]
    hull: list[tuple[int, int]] = []
    for x, y in pairs:
        while len(hull) > 1 and (hull[-1][0] - hull[-2][0]) * (y - hull[-1][1]) <= (x - hull[-1][0]) * (
            hull[-1][1] - hull[-2][1]
        ):
            hull.pop()
        hull.append((x, y))
    sides = [(y - before_y, before_x - x) for (before_x, before_y), (x, y) in itertools.pairwise(hull)]
    limits = [(a, b, a * x + b * y) for (a, b), (x, y) in zip(sides, hull[1:], strict=True)]
    return [(1, 0, hull[0][0]), *limits, (0, 1, hull[-1][1])]
