"""Prices of the capacities of a `generalized-assignment` problem: a `dual` proof."""

from __future__ import annotations

from optsched.certificates.reading import denominator, price_table, priced
from optsched.instance import Ints
from optsched.problems import GeneralizedAssignment
from optsched.problems.base import exact
from optsched.results import Certificate, Number, Proof, Value

__all__ = ["generalized_assignment_certificate", "generalized_assignment_proof"]


def generalized_assignment_certificate(problem: GeneralizedAssignment, prices: Ints, scale: int) -> Certificate:
    """The certificate that prices make (`GeneralizedAssignment.price_bound`). It claims exactly what they prove."""
    ids = problem.instance.cluster.node_ids
    data = {
        "prices": {resource: priced(ids, row) for resource, row in zip(problem.resources, prices, strict=True)},
        "scale": scale,
    }
    return Certificate("cost", Proof.DUAL, exact(problem.price_bound(prices, scale), problem.grid), data)


def generalized_assignment_proof(
    problem: GeneralizedAssignment, certificate: Certificate, objective: Value | None
) -> Number:
    """The bound that the certificate's prices prove."""
    data = certificate.data
    scale = denominator(data)
    prices = price_table(data, "prices", problem.resources, "resource", problem.instance.node_index)
    return exact(problem.price_bound(prices, scale), problem.grid)
