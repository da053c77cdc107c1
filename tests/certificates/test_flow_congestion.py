"""Prices of tasks: the checker recomputes what they prove, and no seeded fault is believed."""

from __future__ import annotations

import copy
import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from congestion_instances import paper

import optsched
from optsched.certificates import certify, flow_congestion_certificate, proved_bound
from optsched.errors import CertificateInvalid
from optsched.problems import FlowCongestion, flow_congestion
from optsched.problems.base import GRID
from optsched.results import Certificate, Proof, Solution
from optsched.routes import solve


class TestCertificate:
    """Prices as proofs, and what is wrong with them."""

    def solved(self) -> tuple[FlowCongestion, Certificate]:
        """An instance that prices close, and its certificate."""
        problem = paper("hsu-two-clusters")
        (certificate,) = solve(problem).certificates
        assert certificate.kind is Proof.DUAL
        return problem, certificate

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

    def test_seeded_faults(self) -> None:
        """Tests that a claim one unit too high is caught, and that moved prices prove less, never more."""
        problem, certificate = self.solved()
        solution = solve(problem)
        unit = Fraction(1, GRID)
        high = replace(certificate, claim=certificate.claim + unit)
        forged = replace(solution, certificates=(high,), bound=(high.claim,))
        assert not certify(problem, forged).valid
        for name in ("count_prices", "class_prices"):
            for key, price in certificate.data[name].items():
                for step in (-GRID * certificate.data["scale"], GRID * certificate.data["scale"]):
                    data = copy.deepcopy(dict(certificate.data))
                    data[name] = {**data[name], key: price + step}
                    assert proved_bound(problem, replace(certificate, data=data)) <= certificate.claim

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


def grown() -> tuple[FlowCongestion, Solution]:
    """An instance that prices leave open, and what proves it."""
    problem = FlowCongestion(optsched.load("generated/flow-n9-t12-seed1"))
    return problem, solve(problem)


class TestTree:
    """Trees over the program of patterns, where prices leave a gap."""

    def test_proved(self) -> None:
        """Tests that the tree closes what prices leave open, and names loads and pairs by ids."""
        problem, solution = grown()
        (certificate,) = solution.certificates
        assert (certificate.kind, certificate.cases) == (Proof.DUAL, 3)
        assert certify(problem, solution).proved
        branch = next(step["branch"] for step in certificate.data["steps"] if "branch" in step)
        assert branch[0] in problem.instance.node_index
        assert len(branch[1]) == len(problem.type_kind)
        as_pair = copy.deepcopy(dict(certificate.data))
        task = str(problem.instance.workload.task_ids[problem.tasks[0]])
        as_pair["steps"][0]["branch"] = [task, branch[0]]
        assert proved_bound(problem, replace(certificate, data=as_pair)) <= certificate.claim

    @pytest.mark.parametrize(
        ("change", "told"),
        [
            ({"branch": ["n1", [9, 9, 9, 9]], "at": 0}, "there is no column"),
            ({"branch": "n1", "at": 0}, "there is no column 'n1'"),
            ({"branch": 3, "at": 0}, "there is no column 3"),
            ({"branch": ["n1", [10**5000]], "at": 0}, "there is no column a list"),
        ],
    )
    def test_wrong_names(self, change: dict[str, Any], told: str) -> None:
        """Tests that what is branched on must be there."""
        problem, solution = grown()
        (certificate,) = solution.certificates
        data = {**certificate.data, "steps": [change]}
        with pytest.raises(CertificateInvalid, match=re.escape(told)):
            proved_bound(problem, replace(certificate, data=data))

    def test_seeded_faults(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Tests that a leaf, a step, a price or a scale that is tampered with is refused or proves too little."""
        problem, solution = grown()
        (certificate,) = solution.certificates
        steps, multipliers = certificate.data["steps"], certificate.data["multipliers"]
        beyond = certificate.claim + Fraction(1, GRID)
        faults: list[dict[str, Any]] = [
            {"steps": steps[:1]},
            {"steps": [{"by": steps[0]["by"]}]},
            {"steps": [*steps, {"by": [0]}]},
            {"steps": [{key: step[key] for key in step if key != "by"} for step in steps]},
            {"multipliers": [{**some, "prices": [0] * len(some["prices"])} for some in multipliers]},
            {"multipliers": [{**some, "prices": some["prices"][1:]} for some in multipliers]},
            {"multipliers": [{**some, "scale": 2 * some["scale"]} for some in multipliers]},
        ]
        for fault in faults:
            changed = replace(certificate, data={**certificate.data, **fault})
            assert not certify(problem, replace(solution, certificates=(changed,))).valid, fault
        assert proved_bound(problem, replace(certificate, claim=beyond)) < beyond
        monkeypatch.setattr(flow_congestion, "MOST_PATTERNS", 1)
        crowded = FlowCongestion(optsched.load("generated/flow-n9-t12-seed1"))
        with pytest.raises(CertificateInvalid, match="too many to list"):
            proved_bound(crowded, certificate)
