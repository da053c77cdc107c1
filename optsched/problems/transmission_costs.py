"""Costs of moving data: Shen et al.'s terms (1) and (2), which three problems share, on their grid.

A cost is MB times distance: MB x hops, or seconds where a distance is an inverse rate. Where sizes and distances are
whole multiples of some unit (`Scale`), nothing is rounded. Else each product of a size and a distance is rounded once.
Sums are exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from optsched.core.decimals import common_denominator, whole_units
from optsched.core.errors import Fault
from optsched.core.instance import LARGEST, MAP, Floats, Instance, Ints, Ragged
from optsched.problems.base import GRID, on_grid, pending_of
from optsched.problems.distances import (
    NestedAreas,
    Places,
    cluster_places,
    dense,
    missing_topology,
    nested_areas,
    whole_areas,
    whole_places,
)

__all__ = ["Scale", "map_costs", "missing_of_maps", "missing_of_shuffle", "summed_units", "too_much"]

#: Products computed at once, so that memory stays small.
_BLOCK = 2**22


@dataclass(frozen=True, eq=False)
class Scale:
    """The units in which sizes and distances are multiplied.

    Attributes
    ----------
    grid
        Costs are whole multiples of 1/`grid`: the product of the common denominators of sizes and of distances
        (distances as decimals or as 1 over decimals), 1 where all are whole. Where the product is above `GRID`, it is
        `GRID`, and products are rounded.
    denominator
        The common denominator of the sizes; None where products are rounded.
    nested
        The distances as nested areas, with lengths as they are multiplied; None where they are none.
    """

    grid: int
    denominator: int | None
    nested: NestedAreas | None
    _instance: Instance

    @classmethod
    def of(cls, instance: Instance, *megabytes: Floats) -> Scale:
        """The scale of these sizes and the instance's distances."""
        nested, denominator = nested_areas(instance), common_denominator(*megabytes)
        areas, unit = whole_areas(instance), None
        if nested is not None:
            unit = None if areas is None else areas[1]
        elif (whole := whole_places(instance)) is not None:
            unit = whole[1]
        if unit is None or denominator is None or denominator * unit > GRID:
            return cls(GRID, None, nested, instance)
        return cls(denominator * unit, denominator, None if areas is None else areas[0], instance)

    @property
    def remark(self) -> str | None:
        """The remark that products are rounded."""
        if self.denominator is not None:
            return None
        return (
            f"each cost, MB times distance, is rounded to a multiple of 1/{GRID}: sizes and distances need a finer unit"
        )

    @cached_property
    def places(self) -> Places:
        """Distances as they are multiplied, of places of nodes, also where these are nested areas; whole as `lengths`.

        They take memory for nodes and for pairs of places.
        """
        whole = None if self.denominator is None else whole_places(self._instance)
        return cluster_places(self._instance.cluster, self._instance.name) if whole is None else whole[0]

    @cached_property
    def lengths(self) -> Floats:
        """Distances as they are multiplied, `[from][to]`, float64, shape (nodes, nodes); whole if nothing is rounded.

        It is a matrix of all pairs of nodes, also where these are nested areas.
        """
        return dense(self.places, self._instance)

    def amounts(self, megabytes: Floats) -> Floats:
        """Sizes as they are multiplied: whole where nothing is rounded; same shape."""
        if self.denominator in (None, 1):
            return megabytes
        return whole_units(megabytes, self.denominator).astype(np.float64)

    def units(self, products: Floats) -> Ints:
        """Products of amounts and lengths in units of 1/`grid`; a product of 2^53 or more becomes 2^60.

        A double of 2^53 may stand for a product that is one more.
        """
        if self.denominator is None:
            return on_grid(products)
        return on_grid(np.where(products < LARGEST, products / GRID, np.inf))


def missing_of_maps(name: str, instance: Instance) -> Iterator[Fault]:
    """The faults of pending maps that lack what the cost (1) needs: size and replicas of each."""
    tasks = pending_of(instance, MAP)
    for task in tasks[np.isnan(instance.workload.size[tasks])].tolist():
        yield Fault(f"tasks[{task}].size", f"{name} needs the size of the block that the map reads, in MB")
    for task in tasks[instance.replicas.lengths[tasks] == 0].tolist():
        yield Fault(f"tasks[{task}].replicas", f"{name} needs a node that holds the map's block")


def missing_of_shuffle(name: str, instance: Instance) -> Iterator[Fault]:
    """The faults of an instance that lacks what the cost (2) needs: topology and shuffle."""
    if instance.cluster.topology is None:
        yield missing_topology(name)
    if instance.workload.shuffle is None:
        yield Fault("shuffle", f"{name} needs what maps send to reduces, in MB")


def map_costs(sizes: Floats, replicas: Ragged, places: Places, nodes: Ints | None = None) -> Floats:
    """C_ij of (1) for each map (row) and node (column): its block's MB times the distance from the nearest replica.

    Parameters
    ----------
    sizes
        B_j in MB, shape (maps,); or amounts of a `Scale`, with its places.
    replicas
        Nodes with each map's block; a map without any is as far from every node as the farthest nodes are apart.
    places
        How far nodes are apart.
    nodes
        The columns, if not all nodes.
    """
    nearest = places.nearest(replicas, np.arange(len(places.place)) if nodes is None else nodes)
    with np.errstate(over="ignore"):
        costs: Floats = sizes[:, None] * nearest
    return costs


def summed_units(scale: Scale, amounts: Floats, at: Ints, row: Ints, rows: int, *, receiving: bool = False) -> Ints:
    """The costs of the entries of each of `rows` on each node, in units of `scale`.

    Parameters
    ----------
    scale
        Holds the distances.
    amounts, at, row
        For each entry: its amount in `scale`, the node where its other end is, and the row that it counts in.
    receiving
        Whether the other end receives; else it sends.

    Returns
    -------
    int64, shape (rows, nodes)
        2^60 throughout where a sum is 2^53 units or more: a double of 2^53 may stand for one more.
    """
    if scale.nested is not None:
        return _summed_by_areas(scale, scale.nested, amounts, at, row, rows)
    places = scale.places.backwards() if receiving else scale.places
    nodes = len(places.place)
    weights: Floats = np.zeros((rows, nodes))
    np.add.at(weights, (row, at), amounts)
    with np.errstate(over="ignore"):
        sums = places.sums(weights)
    exactly = scale.denominator is not None
    if not (sums * (1 if exactly else scale.grid) < LARGEST).all():
        return np.full(sums.shape, 2**60, dtype=np.int64)
    if exactly:  # these are whole numbers, whose sums doubles hold
        return sums.astype(np.int64)
    from scipy.sparse import csc_array

    # Equal sizes at one node make one product: hash partitioners send the same to many. Pairs are complex numbers.
    distinct, inverse = np.unique(at + 1j * amounts, return_inverse=True)
    counts = csc_array((np.ones(len(row), dtype=np.int64), (row, inverse)), shape=(rows, len(distinct)))
    units: Ints = np.zeros(sums.shape, dtype=np.int64)
    step = max(1, _BLOCK // max(1, nodes))
    for begin in range(0, len(distinct), step):
        part = distinct[begin : begin + step]
        products = scale.units(part.imag[:, None] * places.rows(part.real.astype(np.int64)))
        units += np.asarray(counts[:, begin : begin + step] @ products, dtype=np.int64)
    return units


def _summed_by_areas(scale: Scale, nested: NestedAreas, amounts: Floats, at: Ints, row: Ints, rows: int) -> Ints:
    """As `summed_units`: all pay for the greatest length, less for each area what those within it pay too much."""
    nodes = nested.areas.shape[1]
    with np.errstate(over="ignore"):
        paid = scale.units(amounts[:, None] * nested.lengths)
    total = np.zeros(rows)
    np.add.at(total, row, paid[:, -1].astype(np.float64))
    if not (total < 2.0**62).all():  # there are sums that int64 would not hold
        return np.full((rows, nodes), 2**60, dtype=np.int64)
    sums: Ints = np.zeros((rows, nodes), dtype=np.int64)
    for level, areas in enumerate((np.arange(nodes), *nested.areas)):
        less = np.zeros((rows, int(areas.max(initial=-1)) + 1), dtype=np.int64)
        longer = paid[:, level + 1] if level < len(nested.areas) else np.zeros(len(paid), dtype=np.int64)
        np.add.at(less, (row, areas[at]), paid[:, level] - longer)
        sums += less[:, areas]
    return sums if (sums < LARGEST).all() else np.full(sums.shape, 2**60, dtype=np.int64)


def too_much(grid: int) -> Fault:
    """The fault of costs that are too large to be summed exactly."""
    return Fault("", f"costs may total too much, past 2^53/{grid}; scale sizes or distances down")
