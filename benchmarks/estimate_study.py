"""What Shen et al.'s equation (3) is worth where maps run: reduces placed by it, and by what maps have emitted so far.

    python benchmarks/estimate_study.py [--seeds 200]

Prints the table "The estimate (3)" of `docs/results-shen.md`: small snapshots with running maps. Reduces are placed at
least cost of the sizes that are believed, which is proved, and judged by what the maps emit in the end.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from study_tables import mean, table

from optsched.core.instance import (
    MAP,
    PENDING,
    REDUCE,
    RUNNING,
    Cluster,
    Floats,
    Instance,
    Shuffle,
    State,
    Topology,
    Workload,
)
from optsched.core.placement import Placement
from optsched.problems import TransmissionReduces
from optsched.problems.shuffle_sizes import estimated_sizes
from optsched.routes import solve

#: Of a snapshot.
NODES, RACKS, MAPS, REDUCES, BLOCK = 12, 3, 12, 4, 128.0

Emission = Callable[[Floats, Floats, np.random.Generator], Floats]


def linear(size: Floats, progress: Floats, rng: np.random.Generator) -> Floats:
    """As much of the output as of the input: what (3) supposes."""
    return size * progress[:, None]


def four_spills(size: Floats, progress: Floats, rng: np.random.Generator) -> Floats:
    """A quarter each time that another quarter of the input is read, as a buffer spills when it is full."""
    return size * np.floor(4 * progress)[:, None] / 4


def sorted_input(size: Floats, progress: Floats, rng: np.random.Generator) -> Floats:
    """The first reduce's keys first, then the second's, and so on: the input is sorted, and parted by range."""
    return size * np.clip(progress[:, None] * REDUCES - np.arange(REDUCES), 0, 1)


def uneven(size: Floats, progress: Floats, rng: np.random.Generator, most: float = 4.0) -> Floats:
    """Early in some maps and late in others: progress to a power between 1/`most` and `most`."""
    return size * progress[:, None] ** (most ** rng.uniform(-1, 1, (MAPS, 1)))


def very_uneven(size: Floats, progress: Floats, rng: np.random.Generator) -> Floats:
    """As `uneven`, to a power between 1/16 and 16."""
    return uneven(size, progress, rng, 16.0)


HEADER = ["maps emit", "extrapolated (3)", "current sizes", "(3) is better", "(3) is worse"]

#: How maps emit, in the order of the table.
EMISSIONS: dict[str, Emission] = {
    "linear": linear,
    "four spills": four_spills,
    "sorted input": sorted_input,
    "uneven over time": uneven,
    "very uneven over time": very_uneven,
}


def drawn(seed: int, emission: Emission) -> Instance:
    """Running maps at any progress on nodes in racks, and reduces of their job that wait for as many slots as nodes.

    What a map emits for a reduce in the end is exponential with a mean of a quarter of the block; the same for every
    emission.
    """
    rng = np.random.default_rng(seed)
    rack = np.arange(NODES) % RACKS
    cluster = Cluster(
        [f"n{node}" for node in range(1, NODES + 1)],
        rack=rack,
        rack_ids=[f"r{rack}" for rack in range(1, RACKS + 1)],
        topology=Topology("hops", hops={"node": 0, "rack": 2, "off_rack": 4}),
    )
    size = rng.exponential(BLOCK / REDUCES, (MAPS, REDUCES)).round(1)
    progress = rng.uniform(0, 1, MAPS).round(2)
    node = rng.integers(0, NODES, MAPS)
    emitted = emission(size, progress, rng).round(3)
    shuffle = Shuffle(np.repeat(np.arange(MAPS), REDUCES), np.tile(MAPS + np.arange(REDUCES), MAPS), size.ravel())
    workload = Workload(
        [f"m{map}" for map in range(1, MAPS + 1)] + [f"f{reduce}" for reduce in range(1, REDUCES + 1)],
        kind=[MAP] * MAPS + [REDUCE] * REDUCES,
        job=[0] * (MAPS + REDUCES),
        job_ids=["j"],
        size=[BLOCK] * MAPS + [np.nan] * REDUCES,
        shuffle=shuffle,
    )
    state = State.initial(
        cluster,
        workload,
        status=[RUNNING] * MAPS + [PENDING] * REDUCES,
        node=[*node, *[-1] * REDUCES],
        bytes_read=[*(progress * BLOCK), *[np.nan] * REDUCES],
        emitted=emitted.ravel(),
    )
    return Instance(cluster, workload, state)


def excess(instance: Instance, sizes: str) -> float:
    """By how much the best placement for believed sizes costs more in the end than the optimum, in percent."""
    shuffle = instance.workload.shuffle
    assert shuffle is not None
    believed = replace(instance.workload, shuffle=replace(shuffle, size=estimated_sizes(instance, sizes).round(3)))
    problem = TransmissionReduces(instance)
    chosen = solve(TransmissionReduces(Instance(instance.cluster, believed, instance.state)))
    best = solve(problem)
    assert chosen.optimal
    assert best.optimal
    assert best.objective is not None
    assert isinstance(chosen.decision, Placement)
    least = float(best.objective[0])
    return 100 * (float(problem.evaluate(chosen.decision)[0]) / least - 1) if least else 0.0


def lines(seeds: int) -> Iterator[Sequence[object]]:
    """A line for each way to emit."""
    for title, emission in EMISSIONS.items():
        instances = [drawn(seed, emission) for seed in range(seeds)]
        by_progress, current = ([excess(made, sizes) for made in instances] for sizes in ("extrapolated", "emitted"))
        better = sum(one < other - 1e-9 for one, other in zip(by_progress, current, strict=True))
        worse = sum(one > other + 1e-9 for one, other in zip(by_progress, current, strict=True))
        yield title, f"{mean(by_progress, 1)} %", f"{mean(current, 1)} %", better, worse


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=200, help="snapshots for each way to emit")
    print(f"## The estimate (3)\n\n{table(HEADER, lines(parser.parse_args().seeds))}")


if __name__ == "__main__":
    main()
