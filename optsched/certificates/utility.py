"""Certificates of `utility`: prices of tasks for either component (`dual`), and trees of cases (`combinatorial`).

A tree is over the patterns and jobs' counts that prices leave (`optsched.problems.utility_program`); the checker lists
them anew. It proves a utilisation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from optsched.certificates.reading import denominator, priced, prices_of
from optsched.certificates.trees import Tree, over_rows, rows_bound
from optsched.core.errors import CertificateInvalid
from optsched.core.instance import Ints
from optsched.core.results import Certificate, Number, Proof, Value
from optsched.problems.base import GRID, exact
from optsched.problems.utility import Utility
from optsched.problems.utility_program import Columns, TaskPrices, columns_at


def utility_certificate(problem: Utility, map_prices: Ints, reduce_prices: Ints) -> Certificate:
    """The certificate on the lowest utility for prices (`Utility.utility_bound`): exactly what they prove."""
    claim = exact(problem.utility_bound(map_prices, reduce_prices), GRID)
    return Certificate("lowest-utility", Proof.DUAL, claim, _data(problem, map_prices, reduce_prices))


def utilisation_certificate(
    problem: Utility, units: int, map_prices: Ints, reduce_prices: Ints, scale: int
) -> Certificate:
    """The certificate on the utilisation for prices, with `units` as the lowest utility.

    See `Utility.utilisation_bound`. It claims exactly what they prove.
    """
    claim = exact(problem.utilisation_bound(units, map_prices, reduce_prices, scale), GRID)
    return Certificate("utilisation", Proof.DUAL, claim, {**_data(problem, map_prices, reduce_prices), "scale": scale})


def _data(problem: Utility, map_prices: Ints, reduce_prices: Ints) -> dict[str, Any]:
    ids = problem.instance.workload.job_ids[problem.jobs]
    return {"map_prices": priced(ids, map_prices), "reduce_prices": priced(ids, reduce_prices)}


def utility_proof(problem: Utility, certificate: Certificate, objective: Value | None) -> Number:
    """The bound that the certificate's prices prove.

    For the utilisation, the lowest utility of `objective` is given.
    """
    data = certificate.data
    of_maps, of_reduces = _prices(problem, data)
    if certificate.component == "lowest-utility":
        return exact(problem.utility_bound(of_maps, of_reduces), GRID)
    scale = denominator(data)
    return exact(problem.utilisation_bound(_first_value(objective), of_maps, of_reduces, scale), GRID)


#: More units than any utility has; sums of a few such numbers are exact in int64.
_BEYOND = 2**60


def _first_value(objective: Value | None) -> int:
    """The lowest utility for the bound of a utilisation, in units; values beyond any utility are all equal."""
    if objective is None:
        raise CertificateInvalid("a bound on the utilisation needs a lowest utility that is given")
    return min(int(objective[0] * GRID), _BEYOND)


def _prices(problem: Utility, data: Mapping[str, Any]) -> list[Ints]:
    """The certificate's prices of maps, and of reduces, shape (jobs,) each."""
    jobs = problem.instance.workload.job_ids[problem.jobs].tolist()
    return [prices_of(data, key, jobs, "pending job") for key in ("map_prices", "reduce_prices")]


# Trees ------------------------------------------------------------------------------------------------------------


def utilisation_tree_certificate(problem: Utility, used: int, by: TaskPrices, tree: Tree) -> Certificate:
    """The certificate for a tree over columns that bounds the utilisation, in units with fixed reduces."""
    jobs = len(problem.jobs)
    prices = _data(problem, by.prices[:jobs], by.prices[jobs:])
    data = {**prices, "scale": by.scale, **over_rows(tree)}
    return Certificate("utilisation", Proof.COMBINATORIAL, exact(used, GRID), data)


def utility_tree_proof(problem: Utility, certificate: Certificate, objective: Value | None) -> Number:
    """The bound on the utilisation that the certificate's tree proves, given the lowest utility of `objective`."""
    data = certificate.data
    if certificate.component != "utilisation":
        raise CertificateInvalid("a proof of the lowest utility by patterns is no longer read: solve again")
    limit = problem.fixed_use - int(certificate.claim * GRID // 1)
    columns = _columns(problem, data, _first_value(objective), limit)
    return exact(problem.fixed_use - rows_bound(data, columns.program, limit), GRID)


def _columns(problem: Utility, data: Mapping[str, Any], units: int, limit: int) -> Columns:
    """The columns that remain at the certificate's prices."""
    prices = TaskPrices(np.concatenate(_prices(problem, data)), denominator(data))
    columns = columns_at(problem, units, prices, limit)
    if columns is None:
        raise CertificateInvalid("map_prices: too many patterns are left at these prices")
    return columns
