"""Potentials, cuts and cycles: the checker recomputes what they prove, and no seeded fault is believed."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from small_problems import FLOWS as SMALL
from small_problems import min_cost_flow as posed

from optsched.certificates import certify, min_cost_flow_certificate, proved_bound
from optsched.certificates.min_cost_flow import limitless_cycle
from optsched.core.errors import CertificateInvalid
from optsched.core.network import UNBOUNDED, FlowNetwork
from optsched.core.results import FEASIBLE, Certificate, Proof, Termination
from optsched.problems import MinCostFlow
from optsched.routes import solve


def test_only_real_cycles_prove_that_there_is_no_least_cost() -> None:
    """Tests that the checker looks at the cycle arc by arc, and proves nothing without one or without a flow."""
    back = [(1, 0, 0, UNBOUNDED, 0), (1, 0, 0, 4, -1), (1, 0, 0, UNBOUNDED, 2), (1, 0, 0, UNBOUNDED, 1)]
    problem = posed([(0, 1, 0, UNBOUNDED, -1), *back], [0, 0])
    assert limitless_cycle(problem) == "2 arcs without limit form a cycle of cost -1"
    assert limitless_cycle(SMALL) is None
    for cycle in ((0, 2), (0, 3), (0, 4), (0,)):
        problem.__dict__["unlimited_cycle"] = cycle
        with pytest.raises(CertificateInvalid, match="are none"):
            limitless_cycle(problem)
    unbounded = posed([(0, 0, 0, UNBOUNDED, -1)], [0])
    shown, word = solve(unbounded), ("that there is no optimum to be found rests on: solver",)
    verdict = certify(unbounded, shown)
    assert verdict.proofs == ("termination: ERROR, unbounded: 1 arcs without limit form a cycle of cost -1",)
    assert verdict.proved
    assert certify(unbounded, replace(shown, decision=None, objective=None)).unproved == word
    claimed = replace(solve(SMALL), termination=Termination.ERROR, bound=(None,), certificates=())
    assert certify(SMALL, claimed).unproved == word
    assert not certify(problem, replace(claimed, decision=None, objective=None)).proved


def test_only_real_cuts_prove_that_there_is_no_flow() -> None:
    """Tests that potentials show that there is no flow only where there is none, and not by an arc without limit."""
    short = posed([(0, 1, 0, 3, 1), (1, 2, 0, UNBOUNDED, -2)], [4, 0, -4])
    claimed = replace(solve(SMALL), decision=None, objective=None, bound=(None,))
    claimed = replace(claimed, termination=Termination.INFEASIBLE, instance_sha256=short.instance.sha256)
    for potentials, proved in (({"v1": 1, "v2": 1}, True), ({"v2": 1}, False), ({"v0": 1}, False), ({}, False)):
        cut = Certificate(FEASIBLE, Proof.DUAL, 0, {"potentials": potentials})
        verdict = certify(short, replace(claimed, certificates=(cut,)))
        assert (verdict.proved, verdict.valid) == (proved, proved), potentials


@pytest.mark.parametrize(
    ("data", "message"),
    [({}, "potentials: must be an object"), ({"potentials": {"v7": 1}}, 'potentials: there is no node "v7"')],
)
def test_malformed_certificates(data: dict[str, Any], message: str) -> None:
    """Tests that certificates of a wrong form are reported, each with its place."""
    with pytest.raises(CertificateInvalid, match=re.escape(message)):
        proved_bound(SMALL, Certificate("cost", Proof.DUAL, 7, data))


def test_false_claims() -> None:
    """Tests that a claim beyond what potentials prove is false, and that some potentials prove nothing."""
    solution = solve(SMALL)
    weak = replace(solution.certificates[0], data={"potentials": {}})
    assert not certify(SMALL, replace(solution, certificates=(weak,))).valid
    open_ = posed([(0, 1, 0, UNBOUNDED, 2)], [3, -3])
    assert min_cost_flow_certificate(open_, np.array([-5, 0])) is None
    for largest, known in ((2**53, True), (2**53 + 1, False)):
        assert (min_cost_flow_certificate(open_, np.array([largest, -largest])) is not None) == known
    with pytest.raises(CertificateInvalid, match="an arc without limit has a negative reduced cost"):
        proved_bound(open_, Certificate("cost", Proof.DUAL, 6, {"potentials": {"v0": -5}}))


def test_potentials_past_2_53_are_put_around_0() -> None:
    """Tests that potentials of which only the differences fit twice into 2^53 prove a flow, and none further apart."""
    network = FlowNetwork(list("abc"), tail=[0, 1], head=[1, 2], cost=[2**53, 2**53], supply=[1, 0, -1])
    problem = MinCostFlow(network)
    certificate = min_cost_flow_certificate(problem, np.array([-(2**54), -(2**53), 0]))
    assert dict(certificate.data["potentials"].items()) == {"a": -(2**53), "c": 2**53}
    assert proved_bound(problem, certificate) == 2**54
    assert min_cost_flow_certificate(problem, np.array([-(2**54) - 2, -(2**53), 0])) is None


def test_potentials_past_2_53_are_no_certificate():
    """Tests that a flow whose potentials no certificate may hold is left without proof, not given one that is false."""
    ends = [f"n{node}" for node in range(5)]
    network = FlowNetwork(ends, tail=[0, 1, 2, 3], head=[1, 2, 3, 4], cost=[2**53] * 4, supply=[1, 0, 0, 0, -1])
    problem = MinCostFlow(network)
    solution = solve(problem, route="arrays")
    assert solution.termination is Termination.FEASIBLE
    assert certify(problem, solution).valid
