"""`dual` certificates of the assignment problems: prices of tasks and slots that prove a lower bound.

For `lsap-fairness`, the prices of `assignment_certificate` prove the locality cost, and those of
`lsap_fairness_certificate` the fairness distance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from optsched.certificates.reading import column_of, entries, integer, number, priced, prices_of, written
from optsched.core.arrays import ById
from optsched.core.errors import CertificateInvalid
from optsched.core.instance import Ints
from optsched.core.results import Certificate, Number, Proof, Value
from optsched.problems.assignment import AssignmentProblem
from optsched.problems.base import exact

if TYPE_CHECKING:
    from optsched.problems.lsap_fairness import LsapFairness


def assignment_certificate(problem: AssignmentProblem, task: int, nodes: Ints, pools: Ints) -> Certificate:
    """The certificate for prices (see `AssignmentProblem.price_bound`). It claims exactly what they prove."""
    data = {
        "task_price": int(task),
        "node_prices": ById.nonzero(problem.instance.cluster.node_ids, nodes),
        "pool_prices": priced([pool.name for pool in problem.pools], pools),
        "unit": f"1/{problem.grid}" if problem.grid > 1 else "1",
    }
    claim = exact(problem.price_bound(task, nodes, pools), problem.grid)
    return Certificate(problem.components[0].name, Proof.DUAL, claim, data)


def assignment_proof(problem: AssignmentProblem, certificate: Certificate, objective: Value | None) -> Number:
    """The bound that the certificate's prices prove."""
    data, instance = certificate.data, problem.instance
    task = integer(data, "task_price")
    nodes = column_of(data, "node_prices", instance.cluster.node_ids, lambda: instance.node_index)
    pools = prices_of(data, "pool_prices", [pool.name for pool in problem.pools], "pool")
    return exact(problem.price_bound(task, nodes, pools), problem.grid)


def lsap_fairness_certificate(
    problem: LsapFairness,
    locality_cost: int,
    locality_price: Fraction,
    task_price: Fraction,
    node_prices: Mapping[int, Fraction],
    group_prices: Sequence[Fraction],
) -> Certificate:
    """The certificate for prices (see `LsapFairness.distance_bound`). It claims exactly what they prove."""
    ids = problem.instance.cluster.node_ids
    data = {
        "locality_cost": locality_cost,
        "locality_price": written(locality_price),
        "task_price": written(task_price),
        "node_prices": {str(ids[node]): written(price) for node, price in node_prices.items()},
        "group_prices": {
            name: written(price) for name, price in zip(problem.groups.ids, group_prices, strict=True) if price
        },
        "unit": f"maps over {len(problem.groups.ids) * problem.total}",
    }
    claim = problem.distance_bound(locality_cost, locality_price, task_price, node_prices, group_prices)
    return Certificate("fairness-distance", Proof.DUAL, claim, data)


def lsap_fairness_proof(problem: LsapFairness, certificate: Certificate, objective: Value | None) -> Number:
    """The bound on the distance that the certificate proves, given the locality cost of the placement."""
    if certificate.component == "locality-cost":
        return assignment_proof(problem, certificate, objective)
    data = certificate.data
    locality_cost = integer(data, "locality_cost")
    if objective is None or objective[0] > locality_cost:
        message = f"a proof for up to {locality_cost} tasks off their data does not apply to this placement"
        raise CertificateInvalid(f"locality_cost: {message}")
    nodes = dict(entries(data, "node_prices", problem.instance.node_index, "node", number))
    given = dict(entries(data, "group_prices", problem.groups.ids, "group", number))
    groups = [given.get(group, 0) for group in range(len(problem.groups.ids))]
    return problem.distance_bound(
        locality_cost, number(data, "locality_price"), number(data, "task_price"), nodes, groups
    )
