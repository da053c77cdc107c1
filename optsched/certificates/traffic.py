"""Prices of the slots of datacenters in a `traffic` problem: a `dual` proof of the traffic, and of the load at it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from optsched.certificates.reading import integer, mapping, priced
from optsched.errors import CertificateInvalid
from optsched.instance import Ints
from optsched.problems.base import exact
from optsched.problems.traffic import Traffic
from optsched.results import Certificate, Number, Proof, Value

__all__ = ["SlotPrices", "load_certificate", "slot_price_proof", "traffic_certificate"]


class SlotPrices(NamedTuple):
    """Prices of map slots and of reduce slots, int64, shape (datacenters,) each, in units of traffic times `scale`."""

    maps: Ints
    reduces: Ints
    scale: int

    @classmethod
    def none(cls, problem: Traffic) -> SlotPrices:
        """Every slot for nothing."""
        free = np.zeros(len(problem.datacenters), dtype=np.int64)
        return cls(free, free, 1)


def traffic_certificate(problem: Traffic, prices: SlotPrices) -> Certificate:
    """The certificate that prices make (`Traffic.price_bound`); it claims just what they prove."""
    claim = exact(problem.price_bound(*prices), problem.grid)
    return Certificate("traffic", Proof.DUAL, claim, _data(problem, prices))


def load_certificate(problem: Traffic, limit: int, prices: SlotPrices) -> Certificate:
    """The certificate that within a limit on the load the traffic is more than the one that is held.

    Below `Traffic.least_load`, which counting proves, no prices are needed.
    """
    return Certificate("load", Proof.DUAL, limit + 1, {"limit": limit, **_data(problem, prices)})


def slot_price_proof(problem: Traffic, certificate: Certificate, objective: Value | None) -> Number:
    """The bound that the certificate's prices prove; on the load given the traffic of `objective`."""
    data = certificate.data
    scale = integer(data, "scale")
    if scale < 1:
        raise CertificateInvalid(f"scale: must be above 0, not {scale}")
    prices = SlotPrices(_prices(problem, data, "map_prices"), _prices(problem, data, "reduce_prices"), scale)
    if certificate.component == "traffic":
        return exact(problem.price_bound(*prices), problem.grid)
    limit = integer(data, "limit")
    if limit < problem.least_load:
        return problem.least_load
    if objective is None:
        raise CertificateInvalid("limit: a proof of the load takes the traffic of a placement as given; there is none")
    beyond = exact(problem.price_bound(*prices, limit), problem.grid) > objective[0]
    return limit + 1 if beyond else problem.least_load


def _data(problem: Traffic, prices: SlotPrices) -> dict[str, Any]:
    return {
        "map_prices": priced(problem.datacenters, prices.maps),
        "reduce_prices": priced(problem.datacenters, prices.reduces),
        "scale": prices.scale,
    }


def _prices(problem: Traffic, data: Mapping[str, Any], key: str) -> Ints:
    given = mapping(data, key)
    prices = np.zeros(len(problem.datacenters), dtype=np.int64)
    for center in given:
        if center not in problem.datacenters:
            raise CertificateInvalid(f'{key}: there is no datacenter "{center}"')
        prices[problem.datacenters.index(center)] = integer(given, center)
    return prices
