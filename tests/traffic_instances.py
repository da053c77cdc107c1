"""Small problems of `traffic` for its tests: written out and drawn."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import strategies

from optsched.core.instance import MAP, REDUCE, Cluster, Instance, Ragged, Workload
from optsched.problems import Traffic

NAN = float("nan")


def posed(
    blocks: Sequence[Sequence[int]],
    ratio: float = 1.0,
    reduces: int = 1,
    nodes: Sequence[int] = (0, 1),
    size: float | Sequence[float] = 10.0,
    slots: Sequence[int] | None = None,
    reduce_slots: Sequence[int] | None = None,
    jobs: int = 1,
    **parameters: Any,
) -> Traffic:
    """Jobs that each have these maps (the nodes of each block) and reduces; `nodes` says where the nodes are."""
    centers = [f"d{center}" for center in range(max(nodes, default=-1) + 1)]
    cluster = Cluster(
        [f"n{node}" for node in range(len(nodes))],
        datacenter=nodes,
        datacenter_ids=centers,
        slots=[9] * len(nodes) if slots is None else slots,
        reduce_slots=[9] * len(nodes) if reduce_slots is None else reduce_slots,
    )
    maps, each = len(blocks), len(blocks) + reduces
    sizes = [size] * maps if isinstance(size, float) else list(size)
    workload = Workload(
        [f"j{job}{kind}{at}" for job in range(jobs) for kind, n in (("m", maps), ("r", reduces)) for at in range(n)],
        job=np.repeat(np.arange(jobs), each),
        kind=([MAP] * maps + [REDUCE] * reduces) * jobs,
        replicas=Ragged.from_rows(([list(row) for row in blocks] + [[]] * reduces) * jobs),
        size=(sizes + [NAN] * reduces) * jobs,
        job_ids=[f"j{job}" for job in range(jobs)],
        filter_ratio=[ratio] * jobs,
    )
    return Traffic(Instance(cluster, workload, name="small"), **parameters)


def bound_at(problem: Traffic, hosts: Mapping[int, int], *prices: Any) -> int:
    """What prices prove of the placements with some bundles in given datacenters."""
    box = problem.program().numbers.box
    for bundle, center in hosts.items():
        box = problem.posing.with_host(box, bundle, center)
    return problem.settle(box, prices, None)


#: Sharmilarani et al., note 10: three blocks in each of two of three datacenters, FP = 1.2.
EMPTY = posed([[1]] * 3 + [[2]] * 3, 1.2, nodes=[0, 1, 2])


problems = partial(strategies.problems, "traffic")
