"""Certificates with something changed in them: other data, of which the prover has to make what it can."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from optsched.testing.tampering import tampered

DATA: dict[str, Any] = {"prices": {"n1": 3, "n2": [1, -4, 0]}, "limit": 7, "cover": ["t1", "t2"], "none": {}}


def test_what_is_tampered_with_is_a_copy() -> None:
    """Tests that as many copies come as were asked for, nearly all of them changed, and the data itself is not."""
    before = copy.deepcopy(DATA)
    found = list(tampered(DATA, np.random.default_rng(0), 200))
    assert before == DATA
    assert len(found) == 200
    assert sum(changed != DATA for changed in found) > 180
    assert len({repr(changed) for changed in found}) > 100


def test_every_place_and_every_sort_of_change() -> None:
    """Tests that numbers, entries, names and types are changed, deep inside too, and entries are left out."""
    found = list(tampered(DATA, np.random.default_rng(1), 400))
    assert any(changed.keys() < DATA.keys() for changed in found)
    assert any("limit" in changed and changed["limit"] in (6, 8) for changed in found)
    assert any(isinstance(changed.get("limit"), str | None) and "limit" in changed for changed in found)
    inner = [changed["prices"] for changed in found if isinstance(changed.get("prices"), dict)]
    assert any(isinstance(prices.get("n2"), list) and len(prices["n2"]) == 2 for prices in inner)
    assert any(prices.get("n1") == 4 and prices.get("n2") == [2, -3, 1] for prices in inner)
    assert any(changed.get("cover") == ["t2", "t1"] for changed in found)


def test_the_same_for_the_same_seed() -> None:
    """Tests that nothing but the generator decides."""
    one, other = (list(tampered(DATA, np.random.default_rng(5), 20)) for _ in range(2))
    assert one == other


def test_nothing_to_change() -> None:
    """Tests that a certificate without data has no copies, and one without anything inside stays as it is."""
    assert list(tampered({}, np.random.default_rng(0), 5)) == []
    assert list(tampered({"a": {}}, np.random.default_rng(0), 0)) == []
