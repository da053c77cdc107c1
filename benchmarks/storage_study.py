"""What `flow-congestion` loses by freezing r_out: its optimum under readers that load the storage that they read from.

    python benchmarks/storage_study.py [--seeds 25]

Prints the table "Storage" of `docs/results-hsu.md`: small random rounds, decided by trying every placement with every
choice of sources.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from study_tables import mean, table

from optsched.core.instance import Cluster, Instance, Ints, Ragged, Workload
from optsched.core.placement import Placement
from optsched.instances.families.hsu import MAP_RATES, OUT_RATE
from optsched.problems import FlowCongestion
from optsched.routes import solve

#: Every choice of the three compute nodes; the first two are in segment c1, the last in c2.
COMPUTE = (0, 0, 1)


class Setting(NamedTuple):
    """Where data is read from, by whom.

    Attributes
    ----------
    title
        Of its line.
    maps
        Of a round.
    storage
        Segment of each storage node.
    types
        Rows of Table 3 that maps are drawn from.
    rate_out
        R_out of a storage node, MB/s.
    """

    title: str
    maps: int
    storage: tuple[int, ...]
    types: tuple[int, ...]
    rate_out: float


#: The first has Hsu and Freeh's shares of storage nodes (section 5.1); in the others storage is scarcer, or the maps
#: read more.
SETTINGS = (
    Setting("three storage nodes, two in c1; four maps of any type", 4, (0, 0, 1), (0, 1, 2, 3), OUT_RATE),
    Setting("one storage node a segment; five maps of any type", 5, (0, 1), (0, 1, 2, 3), OUT_RATE),
    Setting("the same, Terasort and NoComputation alone", 5, (0, 1), (1, 3), OUT_RATE),
    Setting("the same, storage of half the rate", 5, (0, 1), (1, 3), OUT_RATE / 2),
)


def drawn(seed: int, setting: Setting) -> Instance:
    """Compute nodes with up to three running maps each, storage up to half in use, two replicas a block."""
    rng = np.random.default_rng(seed)
    rates = MAP_RATES[list(setting.types)]
    segment = np.array(COMPUTE + setting.storage)
    kinds, nodes, storing = len(COMPUTE), len(segment), len(setting.storage)
    running = [rng.choice(rates[:, kind], size=int(rng.integers(0, 4))).tolist() for kind in COMPUTE]
    in_use = np.concatenate((np.zeros(kinds), rng.uniform(0, setting.rate_out / 2, storing).round(1)))
    cluster = Cluster(
        [f"n{number}" for number in range(1, kinds + 1)] + [f"s{number}" for number in range(1, storing + 1)],
        rack=segment,
        rack_ids=["c1", "c2"],
        type=segment,
        type_ids=["c1", "c2"],
        slots=[setting.maps] * kinds + [0] * storing,
        reduce_slots=[0] * nodes,
        rate_in=[OUT_RATE] * nodes,
        rate_out=[setting.rate_out] * nodes,
    )
    demand = rates[rng.integers(0, len(rates), setting.maps)]
    replicas = [(kinds + rng.choice(storing, 2, replace=False)).tolist() for _ in range(setting.maps)]
    workload = Workload(
        [f"t{number}" for number in range(1, setting.maps + 1)],
        rate_in_by_type=demand,
        replicas=Ragged.from_rows(replicas),
    )
    rates_now = Ragged.from_rows([*running, *[[]] * storing], float)
    return Instance.initial(cluster, workload, out_in_use=in_use, running_rates=rates_now)


def surcharges(problem: FlowCongestion, nodes: Ints) -> tuple[float, float]:
    """What a placement costs more than `flow-congestion` says: by the best sources, and by those that seemed best.

    r_out of a source is then what is in use of it and the rates of all the round's maps that read from it: Hsu and
    Freeh's first condition counts these rates (section 3.2). The effective load counts the round's tasks in the same
    way.
    """
    cluster, in_use = problem.instance.cluster, problem.instance.state.out_in_use
    f_c = problem.parameters["f_c"]
    rates = [problem.type_rates[kind, node] for kind, node in zip(problem.types.of_task, nodes, strict=True)]

    def term(source: int, node: int, readers: float) -> float:
        distance = f_c[1] if cluster.rack[source] == cluster.rack[node] else f_c[2]
        return float((in_use[source] + readers) / cluster.rate_out[source] + distance)

    def paid(sources: Sequence[int]) -> float:
        reading = dict.fromkeys(sources, 0.0)
        for rate, source in zip(rates, sources, strict=True):
            reading[source] += float(rate)
        reads = zip(rates, sources, nodes.tolist(), strict=True)
        return sum(float(rate) * term(source, node, reading[source]) for rate, source, node in reads)

    rows = [row.tolist() for row in problem.replicas]
    seeming = [
        min(row, key=lambda source, node=node: term(source, node, 0.0))  # type: ignore[misc]
        for row, node in zip(rows, nodes.tolist(), strict=True)
    ]
    reads = zip(rates, seeming, nodes.tolist(), strict=True)
    frozen = sum(float(rate) * term(source, node, 0.0) for rate, source, node in reads)
    return min(map(paid, itertools.product(*rows))) - frozen, paid(seeming) - frozen


def excess(instance: Instance, scale: float) -> tuple[float, float]:
    """By how much the frozen optimum lies above the optimum with readers counted, in percent.

    First with the best sources for its placement, then with those that seemed best where r_out was frozen.
    """
    problem = FlowCongestion(instance, scale=scale)

    def shared(nodes: Ints) -> tuple[float, float]:
        value = float(problem.evaluate(problem.placement(nodes))[0])
        best, seeming = surcharges(problem, nodes)
        return value + best, value + seeming

    tasks = len(problem.tasks)
    least = min(shared(np.array(nodes))[0] for nodes in itertools.product(range(len(COMPUTE)), repeat=tasks))
    solution = solve(problem)
    assert isinstance(solution.decision, Placement)
    best, seeming = shared(problem.nodes_of(solution.decision))
    return 100 * (best / least - 1), 100 * (seeming / least - 1)


def rounds(seeds: int) -> Iterator[Sequence[object]]:
    """A line for each setting, with e_m divided by 85 MB/s."""
    for setting in SETTINGS:
        best, seeming = zip(*(excess(drawn(seed, setting), OUT_RATE) for seed in range(seeds)), strict=True)
        parts = [(f"{mean(found, 1)} %", f"{max(found):.1f} %") for found in (best, seeming)]
        yield setting.title, seeds, sum(value > 1e-9 for value in best), *parts[0], *parts[1]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=25, help="rounds a setting")
    header = ["setting", "rounds", "placed otherwise", "best sources: mean", "worst", "own sources: mean", "worst"]
    print(f"## Storage\n\n{table(header, rounds(parser.parse_args().seeds))}")


if __name__ == "__main__":
    main()
