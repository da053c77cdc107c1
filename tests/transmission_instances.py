"""Instances of the problems of transmission: Shen et al.'s example, drawn ones, reduces by hand, trees over them."""

from dataclasses import replace
from functools import partial
from itertools import count, product
from typing import Any

import numpy as np
import strategies

from optsched.core.instance import (
    FINISHED,
    MAP,
    PENDING,
    REDUCE,
    RUNNING,
    Cluster,
    Instance,
    Ragged,
    Shuffle,
    State,
    Topology,
    Workload,
)
from optsched.core.placement import NONE
from optsched.problems import Problem
from optsched.problems.transmission import Transmission
from optsched.problems.transmission_bounds import Branching, ReduceBounds
from optsched.problems.transmission_maps import TransmissionMaps
from optsched.problems.transmission_reduces import TransmissionReduces

PROBLEMS: dict[str, type[Problem]] = {kind.name: kind for kind in (TransmissionMaps, TransmissionReduces, Transmission)}

#: Shen et al.'s worked example (section II-B): distances between D1 to D4, and MB that M1 and M2 have for R1 and R2.
DISTANCES = [[0.0, 4.0, 2.0, 8.0], [4.0, 0.0, 10.0, 4.0], [2.0, 10.0, 0.0, 6.0], [8.0, 4.0, 6.0, 0.0]]
SENT = [[10.0, 5.0], [20.0, 10.0]]


def example(
    placed: tuple[int, int] | None = None,
    reduce_slots: int = 2,
    slots: int = 2,
    distance: Any = DISTANCES,
    sizes: tuple[float, float] = (128.0, 128.0),
    sent: Any = SENT,
) -> Instance:
    """Shen et al.'s worked example, or one of other numbers; with `placed`, M1 and M2 run on these nodes."""
    nodes = len(distance)
    cluster = Cluster(
        [f"D{node}" for node in range(1, nodes + 1)],
        slots=[slots] * nodes,
        reduce_slots=[reduce_slots] * nodes,
        topology=Topology("distance", distance),
    )
    workload = Workload(
        ["M1", "M2", "R1", "R2"],
        kind=[MAP, MAP, REDUCE, REDUCE],
        job=[0] * 4,
        job_ids=["J"],
        size=[*sizes, np.nan, np.nan],
        replicas=Ragged.from_rows([[0], [1], [], []]),
        shuffle=Shuffle([0, 0, 1, 1], [2, 3, 2, 3], np.ravel(sent)),
    )
    if placed is None:
        return Instance(cluster, workload)
    running = [RUNNING, RUNNING, PENDING, PENDING]
    return Instance(cluster, workload, State.initial(cluster, workload, status=running, node=[*placed, -1, -1]))


instances = partial(strategies.instances, "transmission")
problems = strategies.problems


def drawn(seed: int, maps: int, reduces: int, nodes: int, slots: int = 2, reduce_slots: int = 1) -> Instance:
    """Random distances of 1 to 10, blocks of 128 MB with two replicas, and 1 to 20 MB from each map to each reduce."""
    rng = np.random.default_rng(seed)
    distance = np.triu(rng.integers(1, 11, (nodes, nodes)), 1).astype(float)
    cluster = Cluster(
        [f"n{node}" for node in range(nodes)],
        slots=[slots] * nodes,
        reduce_slots=[reduce_slots] * nodes,
        topology=Topology("distance", distance + distance.T),
    )
    replicas = [sorted(rng.choice(nodes, 2, replace=False).tolist()) for _ in range(maps)]
    pairs = [(one, maps + other) for one in range(maps) for other in range(reduces)]
    workload = Workload(
        [*(f"M{one}" for one in range(maps)), *(f"R{other}" for other in range(reduces))],
        kind=[MAP] * maps + [REDUCE] * reduces,
        job=[0] * (maps + reduces),
        job_ids=["J"],
        size=[128.0] * maps + [np.nan] * reduces,
        replicas=Ragged.from_rows(replicas + [[]] * reduces),
        shuffle=Shuffle(
            [one for one, _ in pairs],
            [other for _, other in pairs],
            rng.integers(1, 21, len(pairs)).astype(float),
        ),
    )
    return Instance(cluster, workload)


def rich(seed: int, slots: int | None = None) -> Transmission:
    """The problem on an oracle's instance that has reduces; on nodes with so many idle map slots, if any are given.

    Entries of the shuffle are named twice in every other one.
    """
    found = (strategies.posed("transmission", number, {}) for number in count(100 * seed))
    problem = next(problem for problem in found if len(problem.reduces))
    cluster, workload, state = problem.instance.cluster, problem.instance.workload, problem.instance.state
    if slots is not None:
        cluster = replace(cluster, slots=cluster.slots + slots)
        state = replace(state, idle_slots=np.full(len(cluster), slots))
    if seed % 2:
        sent = workload.shuffle
        columns = [np.repeat(column, 2) for column in (sent.map, sent.reduce, sent.size, state.emitted)]
        workload, state = replace(workload, shuffle=Shuffle(*columns[:3])), replace(state, emitted=columns[3])
    return Transmission(Instance(cluster, workload, state), **problem.parameters)


def posed(
    sent: list[float],
    slots: list[int],
    jobs: list[int] | None = None,
    running: list[tuple[int, int]] | None = None,
    matrix: Any = DISTANCES,
    **parameters: Any,
) -> TransmissionReduces:
    """Reduces r0, ... that get so many MB from one map on n0; `running` are pairs of a job and its reduce's node."""
    reduces, running = len(sent), running or []
    job = [0, *(jobs or [0] * reduces), *(job for job, _ in running)]
    cluster = Cluster(
        [f"n{node}" for node in range(len(slots))],
        reduce_slots=[9] * len(slots),
        topology=Topology("distance", np.array(matrix)[: len(slots), : len(slots)]),
    )
    tasks = 1 + reduces + len(running)
    workload = Workload(
        ["m", *(f"r{task}" for task in range(reduces)), *(f"busy{task}" for task in range(len(running)))],
        kind=[MAP] + [REDUCE] * (tasks - 1),
        job=job,
        job_ids=[f"j{number}" for number in range(max(1, *job) + 1)],
        shuffle=Shuffle([0] * reduces, range(1, reduces + 1), sent),
    )
    state = State.initial(
        cluster,
        workload,
        status=[FINISHED] + [PENDING] * reduces + [RUNNING] * len(running),
        node=[0] + [-1] * reduces + [node for _, node in running],
        idle_reduce_slots=slots,
    )
    return TransmissionReduces(Instance(cluster, workload, state, name="few"), **parameters)


def least_costs(problem: Transmission) -> dict[tuple[int, ...], int]:
    """Least cost, in units, beside each feasible choice of all reduces: a node, or the number of nodes for none."""
    nodes, maps, reduces = len(problem.distance), len(problem.maps), len(problem.reduces)
    placed = np.array(list(product(range(nodes + 1), repeat=maps)), dtype=np.int64).reshape((nodes + 1) ** maps, maps)
    used = (placed[:, :, None] == np.arange(nodes + 1)).sum(axis=1)
    room = np.append(problem.instance.state.idle_slots, maps - problem.map_count)
    placed = placed[(used <= room).all(axis=1)]
    linear = np.pad(problem.map_units, ((0, 0), (0, 1)))[np.arange(maps), placed].sum(axis=1)
    between = {pair: np.pad(units, (0, 1)) for pair, units in problem.units_between().items()}
    found = {}
    for choice in product(range(nodes + 1), repeat=reduces):
        on = np.where(np.array(choice) == nodes, NONE, choice)
        if list(problem.slots.violations(on)):
            continue
        costs = linear + int(np.pad(problem.reduce_units, ((0, 0), (0, 1)))[np.arange(reduces), list(choice)].sum())
        for (one, other), units in between.items():
            costs = costs + units[placed[:, one], choice[other]]
        found[choice] = int(costs.min())
    return found


def any_prices(rng: np.random.Generator, *shape: int) -> Any:
    """Prices that mean something, or nothing."""
    lowest, highest = [(0, 1), (-5, 10), (0, 5000), (-(2**53), 2**53), (0, 2**40)][rng.integers(5)]
    return rng.integers(lowest, highest, shape)


def any_tree(rng: np.random.Generator, bounds: ReduceBounds) -> Branching:
    """A tree with any states, in any order of the reduces, with any prices."""
    nodes, order = bounds.nowhere, rng.permutation(len(bounds.problem.reduces))
    share, states = rng.random(), {}
    for length in range(len(order) + 1):
        for state in product(range(nodes + 1), repeat=length):
            if not state or (state[:-1] in states and rng.random() < share):
                states[state] = [any_prices(rng, len(bounds.free)) for _ in range(rng.integers(3))]
    return Branching(order, states)


def enlarged(instance: Instance, power: int) -> Transmission:
    """The problem with all sizes 2^power times as large."""
    workload, shuffle = instance.workload, instance.workload.shuffle
    assert shuffle is not None
    larger = replace(shuffle, size=shuffle.size * 2.0**power)
    return Transmission(Instance(instance.cluster, replace(workload, size=workload.size * 2.0**power, shuffle=larger)))
