"""Trees with any prices over the reduces of `transmission`, and what each choice of them costs at least."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from optsched.core.instance import Instance
from optsched.core.placement import NONE
from optsched.problems.transmission import Transmission
from optsched.problems.transmission_bounds import Branching, ReduceBounds, ReduceCharges


def least_costs(problem: Transmission) -> dict[tuple[int, ...], int]:
    """Least cost, in units, beside each feasible choice of all reduces: a node, or the number of nodes for none."""
    nodes, maps, reduces = len(problem.distance), len(problem.maps), len(problem.reduces)
    placed = np.array(list(product(range(nodes + 1), repeat=maps)), dtype=np.int64).reshape((nodes + 1) ** maps, maps)
    used = (placed[:, :, None] == np.arange(nodes + 1)).sum(axis=1)
    room = np.append(problem.instance.state.idle_slots, maps - problem.map_count)
    placed = placed[(used <= room).all(axis=1)]
    linear = np.pad(problem.map_units, ((0, 0), (0, 1)))[np.arange(maps), placed].sum(axis=1)
    entries = [np.pad(problem.entry_units(entry), (0, 1)) for entry in range(len(problem.entries.map))]
    found = {}
    for choice in product(range(nodes + 1), repeat=reduces):
        on = np.where(np.array(choice) == nodes, NONE, choice)
        if list(problem.slots.violations(on)):
            continue
        costs = linear + int(np.pad(problem.reduce_units, ((0, 0), (0, 1)))[np.arange(reduces), list(choice)].sum())
        for one, other, units in zip(problem.entries.map, problem.entries.reduce, entries, strict=True):
            costs = costs + units[placed[:, one], choice[other]]
        found[choice] = int(costs.min())
    return found


def any_prices(rng: np.random.Generator, *shape: int) -> Any:
    """Prices that mean something, or nothing."""
    lowest, highest = [(0, 1), (-5, 10), (0, 5000), (-(2**53), 2**53), (0, 2**40)][rng.integers(5)]
    return rng.integers(lowest, highest, shape)


def any_tree(rng: np.random.Generator, bounds: ReduceBounds) -> Branching:
    """A tree with any states, in any order of the reduces, with any prices and charges."""
    nodes, order = bounds.nowhere, rng.permutation(len(bounds.problem.reduces))
    share, states = rng.random(), {}
    for length in range(len(order) + 1):
        for state in product(range(nodes + 1), repeat=length):
            if not state or (state[:-1] in states and rng.random() < share):
                states[state] = [any_prices(rng, len(bounds.free)) for _ in range(rng.integers(3))]
    charges = ReduceCharges(any_prices(rng, nodes + 1), any_prices(rng, *bounds.problem.barred.shape))
    return Branching(order, states, charges if rng.random() < 0.7 else None)


def enlarged(instance: Instance, power: int) -> Transmission:
    """The problem with all sizes 2^power times as large."""
    workload, shuffle = instance.workload, instance.workload.shuffle
    assert shuffle is not None
    larger = replace(shuffle, size=shuffle.size * 2.0**power)
    return Transmission(Instance(instance.cluster, replace(workload, size=workload.size * 2.0**power, shuffle=larger)))
