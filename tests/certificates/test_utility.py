"""Prices of `utility`: any prices bound, and no seeded fault is believed."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from utility_instances import SWAPS, posed, problems

from optsched.certificates import certify, proved_bound, utilisation_certificate, utility_certificate
from optsched.errors import CertificateInvalid
from optsched.problems import Utility
from optsched.problems.base import GRID
from optsched.results import Certificate, Proof, Termination
from optsched.routes import bounds, solve
from optsched.searches.enumeration import best_placement


def test_prices_by_hand() -> None:
    """Tests the proof of the instance of Sharmilarani et al., note 7: four maps fit, and more than -1/2 takes five;
    and thresholds beside.
    """
    ones, none = np.array([1, 1]), np.array([0, 0])
    assert SWAPS.utility_bound(ones, none) == -GRID // 2
    assert SWAPS.utility_bound(none, none) == GRID == SWAPS.saturated_units
    assert SWAPS.utility_bound(-ones, none) == GRID
    assert SWAPS.utility_below(-GRID) == SWAPS.lowest_units
    assert SWAPS.utility_below(0) == round(GRID * (np.log(3) / np.log(4) - 1))
    reduces, maps = SWAPS.least_maps(1, 1)
    assert (reduces.tolist(), maps.tolist()) == ([0], [5])
    assert [part.tolist() for part in SWAPS.least_maps(1, GRID + 1)] == [[], []]
    assert (
        SWAPS.utilisation_bound(-GRID // 2, none, none, 1)
        >= SWAPS.objective(SWAPS.placement([1, 1, -1, 0, 1] + [-1] * 3))[1] * GRID
    )
    assert SWAPS.utilisation_bound(2 * GRID, none, none, 2**21) == SWAPS.utilisation_bound(GRID, none, none, 1)


@given(problems(), st.data())
@settings(max_examples=60)
def test_any_prices_bound(problem: Utility, data: st.DataObject) -> None:
    """Tests weak duality: whatever the prices and their scale, the bounds are not below the enumerated optimum."""
    best = best_placement(problem)
    assert best is not None
    lowest, used = best[0]
    jobs = len(problem.jobs)

    def prices(least: int, most: int) -> tuple[Any, Any]:
        rows = [data.draw(st.lists(st.integers(least, most), min_size=jobs, max_size=jobs)) for _ in range(2)]
        return np.array(rows[0], dtype=np.int64), np.array(rows[1], dtype=np.int64)

    assert utility_certificate(problem, *prices(-2, 5)).claim >= lowest
    scale = data.draw(st.sampled_from([1, 3, 2**20, 2**31]))
    signed = prices(-2 * GRID * scale, 2 * GRID * scale)
    units = int(lowest * GRID)
    certificate = utilisation_certificate(problem, units, *signed, scale)
    assert certificate.claim >= used
    assert proved_bound(problem, certificate, (lowest, used)) == certificate.claim
    for bound in bounds(problem):
        assert bound.value >= (lowest if bound.component == "lowest-utility" else used), bound


@pytest.mark.parametrize(
    ("component", "data", "told"),
    [
        ("lowest-utility", {"reduce_prices": {}}, "map_prices: must be an object"),
        ("lowest-utility", {"map_prices": {}, "reduce_prices": []}, "reduce_prices: must be an object"),
        ("lowest-utility", {"map_prices": {"j9": 1}, "reduce_prices": {}}, 'map_prices: there is no pending job "j9"'),
        ("lowest-utility", {"map_prices": {"j0": 0.5}, "reduce_prices": {}}, "j0: must be an integer"),
        ("utilisation", {"map_prices": {}, "reduce_prices": {}}, "scale: must be an integer"),
        ("utilisation", {"map_prices": {}, "reduce_prices": {}, "scale": 0}, "scale: must be above 0, not 0"),
        ("utilisation", {"map_prices": {}, "reduce_prices": {}, "scale": 1}, "needs a lowest utility that is given"),
    ],
)
def test_malformed_certificates(component: str, data: dict[str, Any], told: str) -> None:
    """Tests that certificates of a wrong form are told, each with its place."""
    with pytest.raises(CertificateInvalid, match=re.escape(told)):
        proved_bound(SWAPS, Certificate(component, Proof.DUAL, 0, data))


def test_false_claims() -> None:
    """Tests that claims below what the prices prove are false, in either component, and a missing price is found."""
    solution = solve(SWAPS)
    assert solution.objective is not None
    verdict = certify(SWAPS, solution)
    assert verdict.proved
    first, second = solution.certificates
    lower = replace(
        solution,
        objective=(-1000, 0),
        decision=SWAPS.placement([-1] * 8),
        bound=(-1000, None),
        certificates=(replace(first, claim=-1000),),
        termination=Termination.FEASIBLE,
    )
    assert not certify(SWAPS, lower).valid
    less = solution.objective[1] - Fraction(1, GRID)
    wrong = replace(solution, bound=(first.claim, less), certificates=(first, replace(second, claim=less)))
    assert "FALSE  dual proof of utilisation" in str(certify(SWAPS, wrong))
    cheaper = replace(first, data={**first.data, "map_prices": {"j0": 1}})
    assert not certify(SWAPS, replace(solution, certificates=(cheaper, second))).valid
    boast = replace(solution, objective=(10**30, solution.objective[1]))
    assert "FALSE  objective" in str(certify(SWAPS, boast))
    stranger = replace(solution, decision=SWAPS.placement([0] * 8))
    assert not certify(SWAPS, stranger).valid


#: Four maps on the first tracker, two reduces on the second, which take 4 of cpu beside all maps: two maps fit.
BY_MAPS = posed(
    {"cpu": [4, 4], "memory": [0, 2]},
    [{"maps": 4, "reduces": 2, "map": {"cpu": 1}, "reduce": {"cpu": 4, "memory": 1}, "goal": 4, "time": 2}],
    phase="by-maps",
)


@pytest.mark.parametrize(
    ("component", "data", "told"),
    [
        ("lowest-utility", {"reduce_prices": {"j9": {}}}, 'reduce_prices: there is no pending job "j9"'),
        ("lowest-utility", {"reduce_prices": {"j0": 1}}, "j0: must be an object"),
        ("lowest-utility", {"reduce_prices": {"j0": {"-1": 1}}}, "reduce_prices.j0: '-1' is no number of maps"),
        ("lowest-utility", {"reduce_prices": {"j0": {"2": 0.5}}}, "2: must be an integer"),
        ("lowest-utility", {"reduce_prices": {}, "threshold": 1.5}, "threshold: must be an integer"),
        ("utilisation", {"reduce_prices": {}, "scale": 0}, "scale: must be above 0"),
        ("utilisation", {"reduce_prices": {}, "scale": 1}, "needs a lowest utility that is given"),
    ],
)
def test_malformed_levels(component: str, data: dict[str, Any], told: str) -> None:
    """Tests that prices by level of a wrong form are told, each with its place."""
    with pytest.raises(CertificateInvalid, match=re.escape(told)):
        proved_bound(BY_MAPS, Certificate(component, Proof.DUAL, 0, {"map_prices": {}, "threshold": 0, **data}))


def test_false_claims_by_maps() -> None:
    """Tests that no fault in prices by level is believed: a claim is what they prove, never less."""
    solution = solve(BY_MAPS)
    first, second = solution.certificates
    assert (first.kind, second.kind) == (Proof.DUAL, Proof.DUAL)
    assert certify(BY_MAPS, solution).proved
    threshold = first.data["threshold"]
    assert BY_MAPS.utility_below(threshold) == first.claim * GRID
    faults = [
        {**first.data, "threshold": BY_MAPS.utility_below(threshold)},
        {**first.data, "map_prices": {}, "reduce_prices": {}},
        {**first.data, "reduce_prices": {"j0": {"4": 1}}},
    ]
    for data in faults:
        assert proved_bound(BY_MAPS, replace(first, data=data)) == BY_MAPS.saturated_units / GRID
    lower = replace(
        solution, bound=(-1, None), certificates=(replace(first, claim=-1),), termination=Termination.FEASIBLE
    )
    assert not certify(BY_MAPS, lower).valid
    less = replace(second, claim=second.claim - 1)
    assert not certify(BY_MAPS, replace(solution, certificates=(first, less))).valid
    none = np.array([0])
    assert utilisation_certificate(BY_MAPS, 0, none, none, 1).claim >= second.claim
    assert utilisation_certificate(BY_MAPS, 0, none, none + 1, 1).claim >= second.claim
