"""Prices of the capacities of a `generalized-assignment` problem: a `dual` proof."""

from __future__ import annotations

import numpy as np

from optsched.certificates.reading import integer, mapping, node_prices, priced
from optsched.errors import CertificateInvalid
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
    scale = integer(data, "scale")
    if scale < 1:
        raise CertificateInvalid(f"scale: must be above 0, not {scale}")
    prices = np.zeros_like(problem.capacity)
    given = mapping(data, "prices")
    for resource in given:
        if resource not in problem.resources:
            raise CertificateInvalid(f'prices: there is no resource "{resource}"')
        row = node_prices(problem.instance, mapping(given, resource), f"prices.{resource}")
        prices[problem.resources.index(resource)] = row
    return exact(problem.price_bound(prices, scale), problem.grid)
