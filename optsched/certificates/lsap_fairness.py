"""`dual` certificates of `lsap-fairness`: prices that prove a lower bound on its fairness distance.

Its locality cost is proved by `certificates.assignment`, as in every assignment problem.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from optsched.certificates.assignment import assignment_proof
from optsched.certificates.programs import program_proof
from optsched.certificates.reading import entries, integer, number, written
from optsched.core.errors import CertificateInvalid
from optsched.core.results import Certificate, Number, Proof, Value
from optsched.problems.lsap_fairness import LsapFairness

__all__ = ["lsap_fairness_proof", "lsap_fairness_certificate"]


def lsap_fairness_certificate(
    problem: LsapFairness,
    locality_cost: int,
    locality_price: Fraction,
    task_price: Fraction,
    node_prices: Mapping[int, Fraction],
    group_prices: Sequence[Fraction],
) -> Certificate:
    """The certificate that prices make (see `LsapFairness.distance_bound`). It claims exactly what they prove."""
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
    """The bound on the distance that the certificate proves, with the locality cost of the placement taken as given."""
    if "before" in certificate.data:
        return program_proof(problem, certificate, objective)
    if certificate.component == "locality-cost":
        return assignment_proof(problem, certificate, objective)
    data = certificate.data
    locality_cost = integer(data, "locality_cost")
    if objective is None or objective[0] > locality_cost:
        message = f"a proof for up to {locality_cost} tasks off their data says nothing of this placement"
        raise CertificateInvalid(f"locality_cost: {message}")
    nodes = dict(entries(data, "node_prices", problem.instance.node_index, "node", number))
    given = dict(entries(data, "group_prices", problem.groups.ids, "group", number))
    groups = [given.get(group, 0) for group in range(len(problem.groups.ids))]
    return problem.distance_bound(
        locality_cost, number(data, "locality_price"), number(data, "task_price"), nodes, groups
    )
