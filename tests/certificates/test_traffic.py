"""Prices and cases of `traffic`: any prices bound, and no seeded fault is believed."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_problems import EMPTY_TRAFFIC as EMPTY
from small_problems import pareto_front
from small_problems import traffic as posed
from small_problems import traffic_bound as bound_at
from strategies import problems

from optsched.certificates import certify, load_certificate, proved_bound, traffic_certificate
from optsched.certificates.traffic import Cases, SlotPrices
from optsched.core.errors import CertificateInvalid
from optsched.core.results import Certificate, Limit, Proof, Termination
from optsched.instances.claim_files import claim_content, parse_claim
from optsched.problems import Traffic
from optsched.routes import solve
from optsched.routes.traffic import traffic_search
from optsched.solvers.profiles import load_profile


def test_false_claims_without_nodes() -> None:
    """Tests that where there is no datacenter prices and cases prove nothing, and do not make the checker stumble."""
    nowhere = posed([[]], nodes=[])
    prices = SlotPrices.none(nowhere)
    for cases in (Cases(prices), Cases(prices, 0)):
        proof = traffic_certificate(nowhere, cases)
        assert proof.claim == 0
        claimed = {"bound": (1, None), "certificates": (replace(proof, claim=1),)}
        assert not certify(nowhere, replace(solve(nowhere), termination=Termination.NO_SOLUTION, **claimed)).valid


def test_prices_of_any_size() -> None:
    """Tests prices by hand: two maps want one slot; 10 leaves a gap that cases close; negative prices count as none."""
    problem = posed([[0], [0]], 0.5, slots=[1, 9], capacity="slots")
    free = np.zeros(2, dtype=np.int64)
    assert problem.price_bound(free, free, 1) == 0
    assert problem.price_bound(np.array([10, 0]), free, 1) == 10
    assert bound_at(problem, {0: 0}, np.array([15, 0]), free, 1) == 15
    assert bound_at(problem, {0: 1}, np.array([5, 0]), free, 1) == 15
    assert problem.price_bound(np.array([-15, 0]), free - 1, 1) == 0
    assert problem.price_bound(np.array([10 * 2**58, 0]), free, 2**58) == 10  # past int64
    assert problem.price_bound(free, free, 1, limit=0) == 0
    solution = solve(problem)
    assert (solution.objective, str(solution.certificate)) == ((15, 1), "dual")


def test_proof_by_cases() -> None:
    """Tests that where prices leave a gap, a job's datacenters are gone through one by one, and the checker agrees."""
    search = traffic_search(EMPTY, load_profile("exact"))
    assert search.priced(5).proved == 30
    proof = search.proof(5, 31)
    assert proof.bundle == 0
    assert proof.bound(EMPTY.within(5)) >= 31
    certificate = load_certificate(EMPTY, 5, proof)
    assert certificate.data["reduce"] == "j0r0"
    assert proved_bound(EMPTY, certificate, (30, 6)) == 6
    assert proved_bound(EMPTY, certificate, (99, 6)) == EMPTY.least_load == 2
    assert search.proof(5, 33) is None  # it is false
    without = {**certificate.data, "in": {}}
    assert proved_bound(EMPTY, replace(certificate, data=without), (30, 6)) <= 6


LEAF: dict[str, Any] = {"map_prices": {}, "reduce_prices": {}, "scale": 1}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (LEAF | {"scale": 0}, "scale: must be above 0, not 0"),
        ({"reduce_prices": {}, "scale": 1}, "map_prices: must be an object"),
        (LEAF | {"map_prices": {"d7": 1}}, 'map_prices: there is no datacenter "d7"'),
        (LEAF | {"reduce": 3}, "reduce: 3 is not the first"),
        (LEAF | {"reduce": "j0m0"}, "reduce: 'j0m0' is not the first"),
        (LEAF | {"reduce": "j0r0"}, "in: must be an object"),
        (LEAF | {"reduce": "j0r0", "in": {"d7": LEAF}}, 'in: there is no datacenter "d7"'),
        (LEAF | {"reduce": "j0r0", "in": {"d1": {}}}, "scale: must be an integer"),
    ],
)
def test_malformed_certificates(data: dict[str, Any], message: str) -> None:
    """Tests that certificates of a wrong form are reported, each with its place."""
    with pytest.raises(CertificateInvalid, match="^" + re.escape(message)):
        proved_bound(EMPTY, Certificate("traffic", Proof.DUAL, 30, data))


def test_certificates_that_are_too_deep() -> None:
    """Tests that nesting without end is reported, not followed."""
    data = LEAF
    for _ in range(100):
        data = {**LEAF, "reduce": "j0r0", "in": {"d0": data}}
    assert proved_bound(EMPTY, Certificate("traffic", Proof.DUAL, 30, data)) == 30
    data = {**LEAF, "reduce": "j0r0", "in": {"d0": data}}
    with pytest.raises(CertificateInvalid, match="in: there are cases within more than 100 others"):
        proved_bound(EMPTY, Certificate("traffic", Proof.DUAL, 30, data))


def test_bug_nested_cases_are_read_from_a_file() -> None:
    """Tests that a proof as deep as any search makes is certified from a file."""
    cases = Cases(SlotPrices.none(EMPTY))
    for _ in range(100):
        cases = Cases(cases.prices, 0, {0: cases})
    own, load = traffic_certificate(EMPTY, cases), load_certificate(EMPTY, 1, cases)
    solution = solve(EMPTY)
    claimed = {"bound": (own.claim, load.claim), "certificates": (own, load)}
    weak = replace(solution, termination=Termination.FEASIBLE, limit=Limit.GAP, **claimed)
    read = parse_claim(claim_content(weak, EMPTY.instance), EMPTY.instance)
    assert read.certificates == weak.certificates
    assert certify(EMPTY, read).proved


def test_proofs_of_the_load() -> None:
    """Tests that counting proves the even spread, and that more needs the traffic of a placement."""
    free = Cases(SlotPrices.none(EMPTY))
    assert proved_bound(EMPTY, load_certificate(EMPTY, 1, free)) == 2
    with pytest.raises(CertificateInvalid, match="limit: a proof of the load takes the traffic of a placement"):
        proved_bound(EMPTY, load_certificate(EMPTY, 5, free))
    with pytest.raises(CertificateInvalid, match="limit: must be an integer"):
        proved_bound(EMPTY, replace(traffic_certificate(EMPTY, free), component="load"))


@given(problems("traffic"), st.data())
@settings(max_examples=40)
def test_any_prices_bound(problem: Traffic, data: st.DataObject) -> None:
    """Tests weak duality: whatever prices, scale and limit, the bound is not beyond the enumerated optimum."""
    if not problem.datacenters or problem.plainly_infeasible:
        return
    centers = len(problem.datacenters)
    column = st.lists(st.integers(-2, 9), min_size=centers, max_size=centers)
    limit = data.draw(st.sampled_from([None, 1, 2]))
    maps, reduces = (np.array(data.draw(column), dtype=np.int64) for _ in range(2))
    scale = data.draw(st.sampled_from([1, 3, 2**20]))
    bound = problem.price_bound(maps, reduces, scale, limit)
    within = [value for value in pareto_front(problem) if limit is None or value[1] <= limit]
    if within:
        assert bound <= within[0][0] * problem.grid
