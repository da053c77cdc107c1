"""Prices of tasks of a `utility` problem: a `dual` proof of either component; and trees, a `combinatorial` one.

A tree is over what prices leave of patterns and of jobs' counts (`optsched.problems.utility_columns`), which the
checker lists anew. It proves a utilisation, or that not all jobs have the utilities that are asked for: of the lowest
utility, and of each entry of the ordered vector, the lower ones given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from optsched.certificates.reading import (
    as_mapping,
    denominator,
    entries,
    integer,
    items,
    priced,
    prices_of,
)
from optsched.certificates.trees import Tree, over_rows, rows_bound
from optsched.errors import CertificateInvalid
from optsched.fronts import entry_name
from optsched.instance import Ints
from optsched.problems.base import GRID, exact
from optsched.problems.utility import Utility
from optsched.problems.utility_choices import choices_at
from optsched.problems.utility_columns import Columns, TaskPrices, columns_at
from optsched.results import Certificate, Number, Proof, Value

__all__ = [
    "utilisation_certificate",
    "utilisation_tree_certificate",
    "utility_certificate",
    "utility_choices_certificate",
    "utility_proof",
    "utility_tree_certificate",
    "utility_tree_proof",
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
    claim = exact(problem.utilisation_bound(units, map_prices, reduce_prices, scale), GRID)
    return Certificate("utilisation", Proof.DUAL, claim, {**_data(problem, map_prices, reduce_prices), "scale": scale})


def _data(problem: Utility, map_prices: Ints, reduce_prices: Ints) -> dict[str, Any]:
    ids = problem.instance.workload.job_ids[problem.jobs]
    return {"map_prices": priced(ids, map_prices), "reduce_prices": priced(ids, reduce_prices)}


def utility_proof(problem: Utility, certificate: Certificate, objective: Value | None) -> Number:
    """The bound that the certificate's prices prove; for the utilisation, given the lowest utility of `objective`."""
    data = certificate.data
    jobs = _jobs(problem)
    of_maps, of_reduces = (prices_of(data, key, jobs, _JOB) for key in ("map_prices", "reduce_prices"))
    if certificate.component == "lowest-utility":
        return exact(problem.utility_bound(of_maps, of_reduces), GRID)
    scale = denominator(data)
    return exact(problem.utilisation_bound(_given(objective), of_maps, of_reduces, scale), GRID)


#: More units than any utility has; sums of some such are exact in int64.
_BEYOND = 2**60


def _given(objective: Value | None) -> int:
    """The lowest utility at which a utilisation is bounded, in units; those that nothing has are all the same."""
    if objective is None:
        raise CertificateInvalid("a bound on the utilisation needs a lowest utility that is given")
    return min(int(objective[0] * GRID), _BEYOND)


def _cut(problem: Utility, data: Mapping[str, Any]) -> Ints:
    """Prices of the maps of each job, then of the reduces of each job."""
    jobs = _jobs(problem)

    def price(given: Mapping[str, Any], job: str) -> int:
        if isinstance(given[job], Mapping):  # as version 0.1 wrote them: by numbers of placed maps, of which 0 counts
            return integer({job: given[job].get("0", 0)}, job)
        return integer(given, job)

    reduces = dict(entries(data, "reduce_prices", jobs, _JOB, price))
    of_reduces = np.array([reduces.get(job, 0) for job in range(len(jobs))], dtype=np.int64)
    return np.concatenate([prices_of(data, "map_prices", jobs, _JOB), of_reduces])


#: Cuts of a tree are at most so many, so that nobody fills knapsacks for ever.
_MOST_CUTS = 1_000

#: What messages call a job that prices may name.
_JOB = "pending job"


def _jobs(problem: Utility) -> list[str]:
    """Ids of the jobs with pending tasks."""
    ids: list[str] = problem.instance.workload.job_ids[problem.jobs].tolist()
    return ids


# Trees ------------------------------------------------------------------------------------------------------------


def utility_tree_certificate(problem: Utility, lower: Sequence[int], threshold: int, tree: Tree) -> Certificate:
    """The certificate that a tree makes: no placement has a utility of `threshold` units in the next entry.

    Parameters
    ----------
    lower
        The lower entries of the ordered vector that are given, in units, ascending; none for the lowest utility.
    threshold
        In units.
    tree
        Over the columns at no prices.
    """
    name = entry_name(problem.components[0].name, len(lower) + 1)
    data = {"threshold": threshold, **_written(problem, TaskPrices.none(problem), tree)}
    return Certificate(name, Proof.COMBINATORIAL, exact(_next_below(problem, len(lower), threshold), GRID), data)


def utility_choices_certificate(
    problem: Utility, lower: Sequence[int], threshold: int, cuts: Sequence[Ints], tree: Tree
) -> Certificate:
    """As `utility_tree_certificate`, by a tree over the choices of counts that prices, as cuts, leave."""
    name = entry_name(problem.components[0].name, len(lower) + 1)
    written = over_rows(tree)
    data = {"threshold": threshold, "cuts": [_data(problem, *np.split(cut, 2)) for cut in cuts], **written}
    return Certificate(name, Proof.COMBINATORIAL, exact(_next_below(problem, len(lower), threshold), GRID), data)


def utilisation_tree_certificate(problem: Utility, used: int, given: TaskPrices, tree: Tree) -> Certificate:
    """The certificate that a tree over the columns at prices makes of the utilisation, in units with fixed reduces."""
    return Certificate("utilisation", Proof.COMBINATORIAL, exact(used, GRID), _written(problem, given, tree))


def utility_tree_proof(problem: Utility, certificate: Certificate, objective: Value | None) -> Number:
    """The bound that the certificate's tree proves.

    `objective` has what is taken as given: of a utilisation the lowest utility, of an entry of the ordered vector the
    lower ones.
    """
    data, jobs = certificate.data, len(problem.jobs)
    if certificate.component == "utilisation":
        used = int(certificate.claim * GRID // 1)
        columns = _columns(problem, data, [_given(objective)] * jobs, problem.fixed_use - used)
        limit = problem.fixed_use - used
        return exact(problem.fixed_use - rows_bound(data, columns.program, limit), GRID)
    threshold = integer(data, "threshold")
    first = certificate.component == problem.components[0].name
    lower = [] if first else [int(value * GRID // 1) for value in objective or ()]
    asked = [*lower, *[threshold] * (jobs - len(lower))]
    if certificate.component != entry_name(problem.components[0].name, len(lower) + 1) or len(lower) >= jobs:
        told = f"{len(lower)} lower utilities are given, of {jobs} jobs"
        raise CertificateInvalid(f"threshold: a proof of {certificate.component} does not go with that: {told}")
    if sorted(asked) != asked:
        raise CertificateInvalid(f"threshold: {threshold} is below a lower utility that is given, {lower[-1]}")
    if "cuts" in data:
        cuts = [_cut(problem, cut) for cut in _cuts(data)]
        program = choices_at(problem, asked, cuts).program
    else:
        program = _columns(problem, data, asked, None).program
    settled = rows_bound(data, program, 1) >= 1
    highest = sorted(problem.highest_units.tolist())[len(lower)]
    return exact(min(_next_below(problem, len(lower), threshold), highest) if settled else highest, GRID)


def _cuts(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Lists of prices, as a certificate has them."""
    given = items(data, "cuts")
    if len(given) > _MOST_CUTS:
        raise CertificateInvalid(f"cuts: {len(given)} lists of prices are more than {_MOST_CUTS}")
    return [as_mapping(cut, "cuts") for cut in given]


def _next_below(problem: Utility, lower: int, threshold: int) -> int:
    """The highest that an entry of the ordered vector may be below a threshold, in units."""
    highest: list[int] = sorted(problem.highest_units.tolist())
    return min(problem.utility_below(threshold), highest[lower])


def _written(problem: Utility, given: TaskPrices, tree: Tree) -> dict[str, Any]:
    jobs = len(problem.jobs)
    prices = _data(problem, given.prices[:jobs], given.prices[jobs:])
    return {**prices, "scale": given.scale, **over_rows(tree)}


def _columns(problem: Utility, data: Mapping[str, Any], asked: Sequence[int], limit: int | None) -> Columns:
    """The columns that are left at the certificate's prices."""
    jobs = _jobs(problem)
    parts = [prices_of(data, key, jobs, _JOB) for key in ("map_prices", "reduce_prices")]
    columns = columns_at(problem, asked, TaskPrices(np.concatenate(parts), denominator(data)), limit)
    if columns is None:
        raise CertificateInvalid("map_prices: too many patterns are left at these prices")
    return columns
