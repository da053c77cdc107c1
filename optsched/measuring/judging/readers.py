"""Measures what `flow-congestion` loses by freezing r_out: maps of a round also load the storage that they read from.

Hsu and Freeh's first condition counts these readers (section 3.2), as the effective load counts the round's tasks.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from optsched.core.instance import Cluster, Instance, Ints, Ragged, Workload
from optsched.instances.families.base import numbered
from optsched.instances.families.hsu import MAP_RATES, OUT_RATE
from optsched.measuring.judging.quantities import Answer

__all__ = ["SETTINGS", "drawn_round", "excess", "with_readers"]

#: The segment of each compute node.
COMPUTE = (0, 0, 1)


class Setting(NamedTuple):
    """The maps of a round, their job types (rows of Table 3), the segment of each storage node, and its R_out."""

    maps: int
    storage: tuple[int, ...]
    types: tuple[int, ...]
    rate_out: float = OUT_RATE


#: The first has the paper's share of storage nodes (section 5.1). In the others storage is scarcer, or maps read more.
SETTINGS = {
    "three storage nodes": Setting(4, (0, 0, 1), (0, 1, 2, 3)),
    "two storage nodes": Setting(5, (0, 1), (0, 1, 2, 3)),
    "two and heavy maps": Setting(5, (0, 1), (1, 3)),
    "two of half the rate": Setting(5, (0, 1), (1, 3), OUT_RATE / 2),
}


def drawn_round(seed: int, setting: str) -> Instance:
    """Compute nodes with up to three running maps each, storage up to half in use, two replicas a block."""
    maps, storage, types, rate_out = SETTINGS[setting]
    rng = np.random.default_rng(seed)
    rates = MAP_RATES[list(types)]
    segment = np.array(COMPUTE + storage)
    compute, storing = len(COMPUTE), len(storage)
    running = [rng.choice(rates[:, kind], size=int(rng.integers(0, 4))).tolist() for kind in COMPUTE]
    in_use = np.concatenate((np.zeros(compute), rng.uniform(0, rate_out / 2, storing).round(1)))
    cluster = Cluster(
        np.concatenate((numbered("n", compute), numbered("s", storing))),
        rack=segment,
        rack_ids=numbered("c", 2),
        type=segment,
        type_ids=numbered("c", 2),
        slots=np.repeat([maps, 0], [compute, storing]),
        reduce_slots=np.zeros(len(segment), dtype=np.int64),
        rate_in=np.full(len(segment), OUT_RATE),
        rate_out=np.full(len(segment), rate_out),
    )
    demand = rates[rng.integers(0, len(rates), maps)]
    replicas = [(compute + rng.choice(storing, 2, replace=False)).tolist() for _ in range(maps)]
    workload = Workload(numbered("t", maps), rate_in_by_type=demand, replicas=Ragged.from_rows(replicas))
    rates_now = Ragged.from_rows([*running, *[[]] * storing], float)
    return Instance.initial(cluster, workload, out_in_use=in_use, running_rates=rates_now)


def with_readers(answer: Answer, nodes: Ints, sources: str) -> float:
    """The cost of a placement if a map's source also serves the round's other maps that read from it.

    `sources`: `best` for these costs, or `seeming`, those that are best without the round's readers.
    """
    problem = answer.problem
    cluster, in_use = problem.instance.cluster, problem.instance.state.out_in_use
    f_c = problem.parameters["f_c"]
    where = nodes.tolist()
    rates = [float(problem.type_rates[kind, node]) for kind, node in zip(problem.types.of_task, where, strict=True)]
    replicas = [row.tolist() for row in problem.replicas]

    def term(source: int, node: int, readers: float = 0.0) -> float:
        distance = f_c[1] if cluster.rack[source] == cluster.rack[node] else f_c[2]
        return float((in_use[source] + readers) / cluster.rate_out[source] + distance)

    def paid(chosen: Sequence[int]) -> float:
        reading = dict.fromkeys(chosen, 0.0)
        for rate, source in zip(rates, chosen, strict=True):
            reading[source] += rate
        reads = zip(rates, chosen, where, strict=True)
        return sum(rate * term(source, node, reading[source]) for rate, source, node in reads)

    seeming = []
    for row, node in zip(replicas, where, strict=True):
        terms = [term(source, node) for source in row]
        seeming.append(row[terms.index(min(terms))])
    frozen = sum(rate * term(source, node) for rate, source, node in zip(rates, seeming, where, strict=True))
    value = float(problem.evaluate(problem.placement(nodes))[0])
    return value - frozen + (paid(seeming) if sources == "seeming" else min(map(paid, itertools.product(*replicas))))


def excess(answer: Answer, sources: str) -> float:
    """How far a decision is above the least cost with readers, in percent; found by trying every placement."""
    tried = itertools.product(range(len(COMPUTE)), repeat=len(answer.problem.tasks))
    least = min(with_readers(answer, np.array(nodes), "best") for nodes in tried)
    return 100 * (with_readers(answer, answer.problem.nodes_of(answer.decision), sources) / least - 1)
