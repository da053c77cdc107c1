"""Prices of an assignment problem: a `dual` proof."""

from __future__ import annotations

import numpy as np

from optsched.certificates.reading import integer, mapping, node_prices, priced
from optsched.errors import CertificateInvalid
from optsched.instance import Ints
from optsched.problems.assignment import AssignmentProblem
from optsched.problems.base import exact
from optsched.results import Certificate, Number, Proof, Value

__all__ = ["assignment_certificate", "assignment_proof"]


def assignment_certificate(problem: AssignmentProblem, task: int, nodes: Ints, pools: Ints) -> Certificate:
    """The certificate that prices make (see `AssignmentProblem.price_bound`). It claims exactly what they prove."""
    data = {
        "task_price": int(task),
        "node_prices": priced(problem.instance.cluster.node_ids, nodes),
        "pool_prices": priced([pool.name for pool in problem.pools], pools),
        "unit": f"1/{problem.grid}" if problem.grid > 1 else "1",
    }
    claim = exact(problem.price_bound(task, nodes, pools), problem.grid)
    return Certificate(problem.components[0].name, Proof.DUAL, claim, data)


def assignment_proof(problem: AssignmentProblem, certificate: Certificate, objective: Value | None) -> Number:
    """The bound that the certificate's prices prove."""
    data = certificate.data
    task = integer(data, "task_price")
    nodes = node_prices(problem.instance, mapping(data, "node_prices"))
    pools = np.zeros(len(problem.pools), dtype=np.int64)
    position_of = {pool.name: position for position, pool in enumerate(problem.pools)}
    prices = mapping(data, "pool_prices")
    for pool in prices:
        if pool not in position_of:
            raise CertificateInvalid(f'pool_prices: there is no pool "{pool}"')
        pools[position_of[pool]] = integer(prices, pool)
    return exact(problem.price_bound(task, nodes, pools), problem.grid)
