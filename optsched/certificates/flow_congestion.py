"""Prices of tasks of a `flow-congestion` problem: a `dual` proof; where they leave a gap, a tree of cases.

The tree is over the program of patterns (`problems.congestion_loads`): its multipliers are prices of the rows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from optsched.certificates.reading import denominator, integer, mapping, prices_of
from optsched.certificates.trees import Tree, over_rows, rows_bound
from optsched.errors import CertificateInvalid, TooLarge
from optsched.instance import KINDS, Ints
from optsched.problems.base import exact
from optsched.problems.congestion_loads import CongestionLoads
from optsched.problems.flow_congestion import FlowCongestion
from optsched.results import Certificate, Number, Proof, Value

__all__ = ["congestion_tree_certificate", "flow_congestion_certificate", "flow_congestion_proof"]

#: More than any penalty: totals are at most 2^53.
_BEYOND = 2**54


def flow_congestion_certificate(problem: FlowCongestion, counts: Ints, classes: Ints, scale: int) -> Certificate:
    """The certificate that prices make (`FlowCongestion.price_bound`). It claims exactly what they prove.

    A class is named by its first task.
    """
    first = problem.instance.workload.task_ids[problem.tasks[problem.classes.first]].tolist()
    data = {
        "count_prices": {kind: int(price) for kind, price in zip(KINDS, counts.tolist(), strict=True)},
        "class_prices": {task: int(price) for task, price in zip(first, classes.tolist(), strict=True) if price},
        "scale": int(scale),
        "unit": f"1/{problem.grid * scale}",
    }
    claim = exact(problem.price_bound(counts, classes, scale), problem.grid)
    return Certificate("penalty", Proof.DUAL, claim, data)


def flow_congestion_proof(problem: FlowCongestion, certificate: Certificate, objective: Value | None) -> Number:
    """The bound that the certificate's prices, or its tree, prove."""
    data = certificate.data
    if "steps" in data:
        return _tree_proof(problem, certificate)
    scale = denominator(data)
    given = mapping(data, "count_prices")
    counts = np.array([integer(given, kind) for kind in KINDS], dtype=np.int64)
    first = problem.instance.workload.task_ids[problem.tasks[problem.classes.first]].tolist()
    classes = prices_of(data, "class_prices", first, "class of tasks that begins with")
    try:
        bound = problem.price_bound(counts, classes, scale)
    except TooLarge as error:
        raise CertificateInvalid(str(error)) from None
    return exact(bound, problem.grid)


def congestion_tree_certificate(problem: FlowCongestion, tree: Tree, limit: int) -> Certificate:
    """The certificate that a tree makes for the claim that no placement costs less than `limit` units."""
    data = over_rows(tree, _names(problem, CongestionLoads(problem)).__getitem__)
    return Certificate("penalty", Proof.DUAL, exact(limit, problem.grid), data)


def _names(problem: FlowCongestion, loads: CongestionLoads) -> list[list[Any]]:
    """What a tree calls the variables: a load by its host and numbers of tasks, a pair by its class and its host."""
    workload, ids = problem.instance.workload, problem.instance.cluster.node_ids
    hosts = ids[problem.idle_nodes[problem.hosts.first]].tolist()
    first = workload.task_ids[problem.tasks[problem.classes.first]].tolist()
    of_loads = [[hosts[host], added] for host, added in zip(loads.host.tolist(), loads.added.tolist(), strict=True)]
    pairs = zip(loads.pair_class.tolist(), loads.pair_host.tolist(), strict=True)
    return [*of_loads, *([first[row], hosts[host]] for row, host in pairs)]


def _tree_proof(problem: FlowCongestion, certificate: Certificate) -> Number:
    try:
        loads = CongestionLoads(problem)
    except TooLarge as error:
        raise CertificateInvalid(str(error)) from None
    limit = min(math.ceil(certificate.claim * problem.grid), _BEYOND)
    return exact(rows_bound(certificate.data, loads.program, limit, _names(problem, loads)), problem.grid)
