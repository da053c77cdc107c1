"""Prices of `utility`: any prices bound, and no seeded fault is believed."""

import re
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_problems import SWAPS
from strategies import problems

from optsched.certificates import proved_bound, utilisation_certificate, utility_certificate
from optsched.core.errors import CertificateInvalid
from optsched.core.results import Certificate, Proof
from optsched.instances.generate import generate
from optsched.problems import Utility, utility_program
from optsched.problems.base import GRID
from optsched.routes import bounds, solve
from optsched.solvers.searches.enumeration import best_placement
from optsched.testing.solutions import tampered


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


@given(problems("utility"), st.data())
def test_any_prices_bound(problem: Utility, data: st.DataObject) -> None:
    """Tests weak duality: whatever the prices and their scale, the bounds are not below the enumerated optimum."""
    best = best_placement(problem)
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
        ("lowest-utility", {"map_prices": {"j9": 1}, "reduce_prices": {}}, 'map_prices: there is no pending job "j9"'),
        ("utilisation", {"map_prices": {}, "reduce_prices": {}}, "scale: must be an integer"),
        ("utilisation", {"map_prices": {}, "reduce_prices": {}, "scale": 0}, "scale: must be above 0, not 0"),
        ("utilisation", {"map_prices": {}, "reduce_prices": {}, "scale": 1}, "needs a lowest utility that is given"),
    ],
)
def test_malformed_certificates(component: str, data: dict[str, Any], told: str) -> None:
    """Tests that certificates of a wrong form are told, each with its place."""
    with pytest.raises(CertificateInvalid, match=re.escape(told)):
        proved_bound(SWAPS, Certificate(component, Proof.DUAL, 0, data))


# Trees ------------------------------------------------------------------------------------------------------------

#: Prices alone leave a gap in the utilisation; and fixed reduces.
TREE = Utility(generate("utility", nodes=3, types=3, jobs=2, maps=4, reduces=2, seed=9))
FIXED = Utility(generate("utility", seed=0), reduces="fixed")


@cache
def tree_certificate() -> tuple[Certificate, Any]:
    """A tree of the utilisation, and what it takes as given."""
    solution = solve(TREE)
    return solution.certificates[1], solution.objective


def test_trees_do_not_prove_more() -> None:
    """Tests that a claim beyond the truth is refused, or proves the truth; without prices a leaf proves less."""
    certificate, given_values = tree_certificate()
    for more in (1, 100):
        beyond = replace(certificate, claim=certificate.claim - Fraction(more, GRID))
        assert proved_or(TREE, beyond, given_values, certificate.claim) >= certificate.claim
    rows = len(certificate.data["multipliers"][0]["prices"])
    leaf = {**certificate.data, "steps": [{"by": [0]}], "multipliers": [{"scale": 1, "prices": [0] * rows}]}
    assert proved_bound(TREE, replace(certificate, data=leaf), given_values) > certificate.claim


def proved_or(problem: Utility, certificate: Certificate, given_values: Any, otherwise: Any) -> Any:
    """What a certificate proves; `otherwise` where it is refused."""
    try:
        return proved_bound(problem, certificate, given_values)
    except CertificateInvalid:
        return otherwise


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"map_prices": {"nobody": 1}}, 'map_prices: there is no pending job "nobody"'),
        ({"scale": 0}, "scale: must be above 0"),
        ({"steps": []}, "steps: 1 boxes are left after the last step"),
        ({"steps": [{"branch": -1, "at": 0}]}, "branch: there is no column"),
        ({"steps": [{"branch": True, "at": 0}]}, "branch: there is no column"),
        ({"multipliers": [{"scale": 1, "prices": [1]}]}, "prices: must be"),
        ({"multipliers": [{"prices": [0] * 500}]}, "prices: must be"),
    ],
)
def test_what_is_no_tree(change: dict[str, Any], told: str) -> None:
    """Tests that data that is no tree over the columns is refused, and says what is wrong."""
    certificate, given_values = tree_certificate()
    with pytest.raises(CertificateInvalid, match=re.escape(told)):
        proved_bound(TREE, replace(certificate, data={**certificate.data, **change}), given_values)


def test_trees_of_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a tree is of a utilisation, needs what is given, and that there are not too many columns."""
    certificate, given_values = tree_certificate()
    with pytest.raises(CertificateInvalid, match="lowest utility by patterns is no longer read: solve again"):
        proved_bound(TREE, replace(certificate, component="lowest-utility"), given_values)
    with pytest.raises(CertificateInvalid, match="needs a lowest utility that is given"):
        proved_bound(TREE, certificate, None)
    monkeypatch.setattr(utility_program, "MOST_PATTERNS", 0)
    with pytest.raises(CertificateInvalid, match="map_prices: too many patterns are left at these prices"):
        proved_bound(TREE, certificate, given_values)


@pytest.mark.parametrize("seed", range(12))
def test_tampered_trees(seed: int) -> None:
    """Tests that whatever is changed in a tree, it is refused or proves no more than the truth."""
    certificate, given_values = tree_certificate()
    for data in tampered(certificate.data, np.random.default_rng(seed), 3):
        for claim in (certificate.claim, certificate.claim - Fraction(1, GRID)):
            changed = replace(certificate, data=data, claim=claim)
            assert proved_or(TREE, changed, given_values, certificate.claim) >= certificate.claim


@pytest.mark.parametrize("lowest", [2**53, 2**70, -(2**70)])
def test_bug_a_given_utility_past_int64(lowest: int) -> None:
    """Tests that a lowest utility that somebody claims is taken as given whatever it is, by prices and in a tree."""
    free: dict[str, Any] = {"map_prices": {}, "reduce_prices": {}, "scale": 1}
    for problem in (SWAPS, FIXED):
        certificate = Certificate("utilisation", Proof.DUAL, 0, free)
        near = (problem.saturated_units + 1) // GRID + 1 if lowest > 0 else -(problem.parameters["penalty"])
        assert proved_bound(problem, certificate, (lowest, 0)) == proved_bound(problem, certificate, (near, 0))
    tree = Certificate("utilisation", Proof.COMBINATORIAL, 0, {**free, "multipliers": [], "steps": [{}]})
    with pytest.raises(CertificateInvalid, match="the leaf at step 0 proves nothing"):
        proved_bound(SWAPS, tree, (lowest, 0))
