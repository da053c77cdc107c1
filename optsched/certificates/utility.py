"""Prices of tasks of a `utility` problem: a `dual` proof of either component.

With `phase=by-maps` the prices of reduces are by level: from so many placed maps of their job on
(`optsched.problems.utility_levels`), and a proof of the lowest utility says which threshold it rules out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from optsched.certificates.reading import denominator, entries, integer, mapping, priced, prices_of
from optsched.errors import CertificateInvalid
from optsched.instance import Ints
from optsched.problems.base import GRID, exact
from optsched.problems.utility import Utility
from optsched.problems.utility_levels import LevelPrices, rules_out, utilisation_bound_at
from optsched.results import Certificate, Number, Proof, Value

__all__ = [
    "level_utilisation_certificate",
    "level_utility_certificate",
    "utilisation_certificate",
    "utility_certificate",
    "utility_proof",
]


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
    if problem.coupled:
        levels = [{0: price} if price else {} for price in reduce_prices.tolist()]
        return level_utilisation_certificate(problem, units, LevelPrices(map_prices, levels), scale)
    claim = exact(problem.utilisation_bound(units, map_prices, reduce_prices, scale), GRID)
    return Certificate("utilisation", Proof.DUAL, claim, {**_data(problem, map_prices, reduce_prices), "scale": scale})


def level_utility_certificate(problem: Utility, threshold: int, prices: LevelPrices) -> Certificate:
    """The certificate that prices by level make: no lowest utility of `threshold` units, if they rule it out."""
    claim = exact(_below(problem, threshold, prices), GRID)
    return Certificate("lowest-utility", Proof.DUAL, claim, {"threshold": threshold, **_level_data(problem, prices)})


def level_utilisation_certificate(problem: Utility, units: int, prices: LevelPrices, scale: int) -> Certificate:
    """As `utilisation_certificate`, by prices of reduces by level."""
    claim = exact(utilisation_bound_at(problem, units, prices, scale), GRID)
    return Certificate("utilisation", Proof.DUAL, claim, {**_level_data(problem, prices), "scale": scale})


def _below(problem: Utility, threshold: int, prices: LevelPrices) -> int:
    """The highest lowest utility that is not ruled out, in units."""
    highest = problem.saturated_units if len(problem.jobs) else 0
    return min(problem.utility_below(threshold), highest) if rules_out(problem, threshold, prices) else highest


def _level_data(problem: Utility, prices: LevelPrices) -> dict[str, Any]:
    ids = problem.instance.workload.job_ids[problem.jobs].tolist()
    by_level = {
        job: {str(start): price for start, price in row.items()} for job, row in zip(ids, prices.reduces, strict=True)
    }
    return {"map_prices": priced(ids, prices.maps), "reduce_prices": {job: row for job, row in by_level.items() if row}}


def _data(problem: Utility, map_prices: Ints, reduce_prices: Ints) -> dict[str, Any]:
    ids = problem.instance.workload.job_ids[problem.jobs]
    return {"map_prices": priced(ids, map_prices), "reduce_prices": priced(ids, reduce_prices)}


def utility_proof(problem: Utility, certificate: Certificate, objective: Value | None) -> Number:
    """The bound that the certificate's prices prove; for the utilisation, given the lowest utility of `objective`."""
    data = certificate.data
    if problem.coupled and ("threshold" in data or certificate.component == "utilisation"):
        return _level_proof(problem, certificate, objective)
    jobs = _jobs(problem)
    of_maps, of_reduces = (prices_of(data, key, jobs, _JOB) for key in ("map_prices", "reduce_prices"))
    if certificate.component == "lowest-utility":
        return exact(problem.utility_bound(of_maps, of_reduces), GRID)
    scale = denominator(data)
    return exact(problem.utilisation_bound(_given(objective), of_maps, of_reduces, scale), GRID)


def _given(objective: Value | None) -> int:
    """The lowest utility at which a utilisation is bounded, in units."""
    if objective is None:
        raise CertificateInvalid("a bound on the utilisation needs a lowest utility that is given")
    return int(objective[0] * GRID)


def _level_proof(problem: Utility, certificate: Certificate, objective: Value | None) -> Number:
    """What prices by level prove."""
    data = certificate.data
    jobs = _jobs(problem)

    def by_level(given: Mapping[str, Any], job: str) -> dict[int, int]:
        levels = mapping(given, job)
        for level in levels:
            if not (level.isascii() and level.isdigit() and len(level) < 10):
                raise CertificateInvalid(f"reduce_prices.{job}: {level!r} is no number of maps")
        return {int(level): integer(levels, level) for level in levels}

    given = dict(entries(data, "reduce_prices", jobs, _JOB, by_level))
    reduces = [given.get(job, {}) for job in range(len(jobs))]
    prices = LevelPrices(prices_of(data, "map_prices", jobs, _JOB), reduces)
    if certificate.component == "lowest-utility":
        return exact(_below(problem, integer(data, "threshold"), prices), GRID)
    scale = denominator(data)
    return exact(utilisation_bound_at(problem, _given(objective), prices, scale), GRID)


#: What messages call a job that prices may name.
_JOB = "pending job"


def _jobs(problem: Utility) -> list[str]:
    """Ids of the jobs with pending tasks."""
    ids: list[str] = problem.instance.workload.job_ids[problem.jobs].tolist()
    return ids
