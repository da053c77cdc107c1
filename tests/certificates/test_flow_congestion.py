"""Prices of tasks: the checker recomputes what they prove, and no seeded fault is believed."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from congestion_instances import paper, problems
from hypothesis import given

from optsched.certificates import flow_congestion_certificate, proved_bound
from optsched.certificates.flow_congestion import plain_prices
from optsched.core.errors import CertificateInvalid
from optsched.core.results import Certificate
from optsched.problems import FlowCongestion, flow_congestion
from optsched.problems.base import GRID
from optsched.routes import solve


class TestCertificate:
    """Prices as proofs, and what is wrong with them."""

    def solved(self) -> tuple[FlowCongestion, Certificate]:
        """An instance, and a certificate of prices that need no solver."""
        problem = paper("hsu-two-clusters")
        return problem, flow_congestion_certificate(problem, *plain_prices(problem))

    def test_data(self) -> None:
        """Tests that the data is prices by kind and by the first task of a class, and proves the claim."""
        problem, certificate = self.solved()
        assert set(certificate.data) == {"count_prices", "class_prices", "scale", "unit"}
        assert set(certificate.data["count_prices"]) == {"map", "reduce"}
        assert set(certificate.data["class_prices"]) <= {"wordcount", "terasort", "grep", "nocomputation"}
        assert certificate.data["unit"] == f"1/{GRID * certificate.data['scale']}"
        assert proved_bound(problem, certificate) == certificate.claim

    @pytest.mark.parametrize(
        ("change", "told"),
        [
            ({"scale": 0}, "scale: must be above 0, not 0"),
            ({"scale": None}, "scale: must be an integer"),
            ({"count_prices": []}, "count_prices: must be an object"),
            ({"count_prices": {"map": 1}}, "reduce: must be an integer"),
            ({"count_prices": {"map": 1.5, "reduce": 0}}, "map: must be an integer"),
            ({"class_prices": {"sort": 1}}, 'class_prices: there is no class of tasks that begins with "sort"'),
            ({"class_prices": {"grep": 2**54}}, "grep: must be an integer up to"),
        ],
    )
    def test_wrong_data(self, change: dict[str, Any], told: str) -> None:
        """Tests that data of another form proves nothing, and says what is wrong."""
        problem, certificate = self.solved()
        with pytest.raises(CertificateInvalid, match=told):
            proved_bound(problem, replace(certificate, data={**certificate.data, **change}))

    def test_too_many_patterns_prove_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Tests that a certificate whose check would list too many patterns is invalid, not a crash."""
        problem, certificate = self.solved()
        again = FlowCongestion(problem.instance)
        monkeypatch.setattr(flow_congestion, "MOST_PATTERNS", 5)
        with pytest.raises(CertificateInvalid, match="too many to list"):
            proved_bound(again, certificate)

    def test_no_prices_prove_the_least(self) -> None:
        """Tests that prices of 0 prove 0: every node may stay empty."""
        problem = paper("hsu-two-clusters")
        assert flow_congestion_certificate(problem, np.zeros(2, dtype=int), np.zeros(4, dtype=int), 1).claim == 0

    @given(problems())
    def test_plain_prices(self, problem: FlowCongestion) -> None:
        """Tests that the prices that no solver gave prove at least what every task alone on its best node costs."""
        (cheap,) = problem.cheap_bounds()
        assert Fraction(problem.price_bound(*plain_prices(problem)), GRID) >= cheap.value

    def test_too_many_patterns_in_a_tree(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Tests the same of a tree."""
        problem = paper("hsu-two-clusters")
        solution = solve(problem)
        monkeypatch.setattr(flow_congestion, "MOST_PATTERNS", 5)
        with pytest.raises(CertificateInvalid, match="too many to list"):
            proved_bound(FlowCongestion(problem.instance), solution.certificates[0])
