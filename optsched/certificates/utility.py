"""Prices of tasks of a `utility` problem: a `dual` proof of either component."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from optsched.certificates.reading import integer, mapping, priced
from optsched.errors import CertificateInvalid
from optsched.instance import Ints
from optsched.problems.base import GRID, exact
from optsched.problems.utility import Utility
from optsched.results import Certificate, Number, Proof, Value

__all__ = ["utility_proof", "utilisation_certificate", "utility_certificate"]


def utility_certificate(problem: Utility, map_prices: Ints, reduce_prices: Ints) -> Certificate:
    """The certificate on the lowest utility that prices make (`Utility.utility_bound`): exactly what they prove."""
    claim = exact(problem.utility_bound(map_prices, reduce_prices), GRID)
    return Certificate("lowest-utility", Proof.DUAL, claim, _data(problem, map_prices, reduce_prices))


def utilisation_certificate(
    problem: Utility, units: int, map_prices: Ints, reduce_prices: Ints, scale: int
) -> Certificate:
    """The certificate on the utilisation that prices make, with `units` as the lowest utility.

    See `Utility.utilisation_bound`. It claims exactly what they prove.
    """
    claim = exact(problem.utilisation_bound(units, map_prices, reduce_prices, scale), GRID)
    return Certificate("utilisation", Proof.DUAL, claim, {**_data(problem, map_prices, reduce_prices), "scale": scale})


def _data(problem: Utility, map_prices: Ints, reduce_prices: Ints) -> dict[str, Any]:
    ids = problem.instance.workload.job_ids[problem.jobs]
    return {"map_prices": priced(ids, map_prices), "reduce_prices": priced(ids, reduce_prices)}


def utility_proof(problem: Utility, certificate: Certificate, objective: Value | None) -> Number:
    """The bound that the certificate's prices prove; for the utilisation, given the lowest utility of `objective`."""
    data = certificate.data
    prices = _prices(problem, data, "map_prices"), _prices(problem, data, "reduce_prices")
    if certificate.component == "lowest-utility":
        return exact(problem.utility_bound(*prices), GRID)
    scale = integer(data, "scale")
    if scale < 1:
        raise CertificateInvalid(f"scale: must be above 0, not {scale}")
    if objective is None:
        raise CertificateInvalid("a bound on the utilisation needs a lowest utility that is given")
    return exact(problem.utilisation_bound(int(objective[0] * GRID), *prices, scale), GRID)


def _prices(problem: Utility, data: Mapping[str, Any], key: str) -> Ints:
    """A price for each job, 0 where none is given."""
    given = mapping(data, key)
    row = {str(name): position for position, name in enumerate(problem.instance.workload.job_ids[problem.jobs])}
    prices = np.zeros(len(row), dtype=np.int64)
    for job in given:
        if job not in row:
            raise CertificateInvalid(f'{key}: there is no job "{job}" with pending tasks')
        prices[row[job]] = integer(given, job)
    return prices
