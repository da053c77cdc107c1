"""What data moves at what cost: the terms (1) and (2) of 000, which its three problems share, on their grid.

A cost is MB times distance: MB x hops, or seconds where a distance is an inverse rate. Each product of a size and a
distance is rounded once to a multiple of 1/`grid`, and sums are exact.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from optsched.errors import Fault
from optsched.instance import LARGEST, Floats, Instance, Ints, Ragged
from optsched.problems.base import GRID, on_grid
from optsched.problems.distances import missing_topology

__all__ = ["grid_of", "map_costs", "missing_of_maps", "missing_of_shuffle", "summed_units", "too_much", "units_of"]

#: Products computed at once, so that memory stays small.
_BLOCK = 2**22


def grid_of(*factors: Floats) -> int:
    """1 where all sizes and distances are whole, so that nothing needs rounding, else `GRID`."""
    return 1 if all((values == np.rint(values)).all() for values in factors) else GRID


def units_of(costs: Floats, grid: int) -> Ints:
    """Costs in whole units of 1/`grid`; what is past 2^53 becomes 2^60, as `on_grid` has it."""
    return on_grid(costs / (GRID // grid))


def missing_of_maps(name: str, instance: Instance, tasks: Ints) -> Iterator[Fault]:
    """What the cost (1) of these maps lacks: size and replicas of each."""
    for task in tasks[np.isnan(instance.workload.size[tasks])].tolist():
        yield Fault(f"tasks[{task}].size", f"{name} needs the size of the block that the map reads, in MB")
    for task in tasks[instance.replicas.lengths[tasks] == 0].tolist():
        yield Fault(f"tasks[{task}].replicas", f"{name} needs a node that holds the map's block")


def missing_of_shuffle(name: str, instance: Instance) -> Iterator[Fault]:
    """What the cost (2) lacks: topology and shuffle."""
    if instance.cluster.topology is None:
        yield missing_topology(name)
    if instance.workload.shuffle is None:
        yield Fault("shuffle", f"{name} needs what maps send to reduces, in MB")


def map_costs(sizes: Floats, replicas: Ragged, distance: Floats) -> Floats:
    """C_ij of (1) for each map (row) and node (column): its block's MB times the distance from the nearest replica.

    Parameters
    ----------
    sizes
        B_j, MB, shape (maps,).
    replicas
        For each map at least one node.
    distance
        Shape (nodes, columns), `[from][to]`; the columns may be some of the nodes only.
    """
    nearest: Floats = np.empty((len(replicas), distance.shape[1]))
    for row, sources in enumerate(replicas):
        nearest[row] = distance[sources].min(axis=0)
    with np.errstate(over="ignore"):
        costs: Floats = sizes[:, None] * nearest
    return costs


def summed_units(sizes: Floats, at: Ints, row: Ints, rows: int, distance: Floats, grid: int) -> Ints:
    """For each of `rows` and each node the sum of size times `distance[at]` over its entries, each rounded once.

    Parameters
    ----------
    sizes, at, row
        Of each entry: MB, the node where its other end is, and the row that it counts in.
    distance
        `[from][to]` where the other end sends, transposed where it receives.

    Returns
    -------
    int64, shape (rows, nodes)
        2^60 throughout where a sum is past 2^53 units.
    """
    weights: Floats = np.zeros((rows, len(distance)))
    np.add.at(weights, (row, at), sizes)
    with np.errstate(over="ignore"):
        sums = weights @ distance
    if not (sums * grid <= LARGEST).all():
        return np.full(sums.shape, 2**60, dtype=np.int64)
    if grid == 1:  # whole numbers, whose sums doubles hold exactly
        return sums.astype(np.int64)
    from scipy.sparse import csc_array

    # Equal sizes at one node (kept as one complex number) are one product: hash partitioners send the same to many.
    distinct, place = np.unique(at + 1j * sizes, return_inverse=True)
    counts = csc_array((np.ones(len(row), dtype=np.int64), (row, place)), shape=(rows, len(distinct)))
    units: Ints = np.zeros(sums.shape, dtype=np.int64)
    step = max(1, _BLOCK // max(1, len(distance)))
    for begin in range(0, len(distinct), step):
        part = distinct[begin : begin + step]
        products = units_of(part.imag[:, None] * distance[part.real.astype(np.int64)], grid)
        units += np.asarray(counts[:, begin : begin + step] @ products, dtype=np.int64)
    return units


def too_much(grid: int) -> Fault:
    """What is said where costs are too large to be summed exactly."""
    return Fault("", f"costs may total too much, past 2^53/{grid}; scale sizes or distances down")
