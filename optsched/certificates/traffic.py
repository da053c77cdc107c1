"""`dual` certificates of `traffic`: prices of slots of datacenters prove the traffic, and the load at it.

If prices alone leave a gap, the proof goes by cases: a bundle of reduces is in one datacenter after another. Each case
that the prices of the case above do not settle has its own prices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from optsched.certificates.reading import denominator, entries, integer, mapping, priced, prices_of, shown
from optsched.core.deadline import check
from optsched.core.errors import CertificateInvalid
from optsched.core.instance import Ints
from optsched.core.results import FEASIBLE, Certificate, Number, Proof, Value
from optsched.problems.base import exact
from optsched.problems.relaxations import Box
from optsched.problems.traffic import Traffic

#: The greatest depth of cases: no search makes more, and the checker must not run out of stack.
MOST_NESTED = 100


class SlotPrices(NamedTuple):
    """Prices of map slots and of reduce slots, int64, shape (datacenters,) each, in units of traffic times `scale`."""

    maps: Ints
    reduces: Ints
    scale: int

    @classmethod
    def none(cls, problem: Traffic) -> SlotPrices:
        """Prices of 0."""
        free = np.zeros(len(problem.datacenters), dtype=np.int64)
        return cls(free, free, 1)


@dataclass(frozen=True)
class Cases:
    """Prices; and if they do not suffice, a bundle (its position in `Traffic.bundles`) that is put in each datacenter.

    `inside` has the cases of those datacenters for which these prices prove too little with the bundle there.
    """

    prices: SlotPrices
    bundle: int | None = None
    inside: Mapping[int, Cases] = field(default_factory=dict)

    def bound(
        self,
        problem: Traffic,
        look: Callable[[], None] | None = None,
        target: int | None = None,
        box: Box | None = None,
    ) -> int:
        """Units of traffic that every placement causes at least, or `target` if more; within a limit if the problem is.

        Parameters
        ----------
        look
            Called for each case: a checker of a file's cases uses it to stop; a prover of its own incumbent does not.
        target
            The units to prove. A place of a bundle for which prices prove them is left out of the cases below, where
            prices then prove more. None: only what the prices prove alone.
        box
            The part of the program that is bounded; None: all of it.
        """
        if look is not None:
            look()
        box = problem.program().numbers.box if box is None else box
        alone = problem.settle(box, self.prices, target)
        if self.bundle is None or alone == target or not problem.datacenters:
            return alone
        cases = [
            self.inside.get(center, Cases(self.prices)).bound(
                problem, look, target, problem.posing.with_host(box, self.bundle, center)
            )
            for center in np.flatnonzero(problem.posing.open_hosts(box)[self.bundle]).tolist()
        ]
        return max(alone, min(cases, default=alone))


def traffic_certificate(problem: Traffic, cases: Cases, target: int | None = None) -> Certificate:
    """The certificate for prices (`Traffic.price_bound`). It claims what they prove; `target` units are enough."""
    claim = exact(cases.bound(problem, target=target), problem.grid)
    return Certificate("traffic", Proof.DUAL, claim, _written(problem, cases))


def load_certificate(problem: Traffic, limit: int, cases: Cases) -> Certificate:
    """The certificate that within a limit on the load the traffic exceeds that of the incumbent.

    Below `Traffic.least_load` no prices are needed, since counting proves it.
    """
    return Certificate("load", Proof.DUAL, limit + 1, {"limit": limit, **_written(problem, cases)})


def traffic_proof(problem: Traffic, certificate: Certificate, objective: Value | None) -> Number:
    """The bound that the certificate's prices prove; for the load, given the traffic of `objective`."""
    data = certificate.data
    cases = _cases(problem, data)
    if certificate.component == "traffic":
        due = min(max(math.ceil(certificate.claim * problem.grid), 0), problem.beyond)
        return exact(cases.bound(problem, look=check, target=due), problem.grid)
    limit = integer(data, "limit")
    if limit < problem.least_load:
        return problem.least_load
    if objective is None:
        raise CertificateInvalid("limit: a proof of the load takes the traffic of a placement as given; there is none")
    due = min(max(math.floor(objective[0] * problem.grid) + 1, 0), problem.beyond)
    proved = exact(cases.bound(problem.within(limit), look=check, target=due), problem.grid)
    return limit + 1 if proved > objective[0] else problem.least_load


def no_room_certificate(problem: Traffic, cases: Cases) -> Certificate | None:
    """The certificate that nothing is feasible: prices prove more traffic than is possible. None if they do not."""
    if cases.bound(problem, target=problem.beyond) < problem.beyond:
        return None
    return Certificate(FEASIBLE, Proof.DUAL, 0, _written(problem, cases))


def no_room_proof(problem: Traffic, certificate: Certificate) -> str:
    """The sentence that the certificate's prices prove; CertificateInvalid if they leave a placement possible."""
    proved = exact(_cases(problem, certificate.data).bound(problem, look=check, target=problem.beyond), problem.grid)
    most = exact(problem.beyond - 1, problem.grid)
    if proved <= most:
        raise CertificateInvalid(f"prices prove traffic of {proved}, and there can be as much: up to {most}")
    return f"prices prove traffic of {proved}, and no placement has more than {most}"


def _cases(problem: Traffic, data: Mapping[str, Any]) -> Cases:
    names = problem.task_ids[problem.reduces]
    return _read(problem, data, {str(names[bundle.reduces[0]]): at for at, bundle in enumerate(problem.bundles)})


def _written(problem: Traffic, cases: Cases) -> dict[str, Any]:
    data: dict[str, Any] = {
        "map_prices": priced(problem.datacenters, cases.prices.maps),
        "reduce_prices": priced(problem.datacenters, cases.prices.reduces),
        "scale": cases.prices.scale,
    }
    if cases.bundle is not None:
        first = problem.reduces[problem.bundles[cases.bundle].reduces[0]]
        data["reduce"] = str(problem.task_ids[first])
        data["in"] = {problem.datacenters[center]: _written(problem, case) for center, case in cases.inside.items()}
    return data


def _read(problem: Traffic, data: Mapping[str, Any], bundles: Mapping[str, int], depth: int = 0) -> Cases:
    scale = denominator(data)
    if depth > MOST_NESTED:
        raise CertificateInvalid(f"in: there are cases within more than {MOST_NESTED} others")
    centers = problem.datacenters
    maps, reduces = (prices_of(data, key, centers, "datacenter") for key in ("map_prices", "reduce_prices"))
    if "reduce" not in data:
        return Cases(SlotPrices(maps, reduces, scale))
    named = data["reduce"]
    if not isinstance(named, str) or named not in bundles:
        raise CertificateInvalid(f"reduce: {shown(named)} is not the first of reduces that go together")

    def case(data: Mapping[str, Any], center: str) -> Cases:
        return _read(problem, mapping(data, center), bundles, depth + 1)

    return Cases(
        SlotPrices(maps, reduces, scale), bundles[named], dict(entries(data, "in", centers, "datacenter", case))
    )
