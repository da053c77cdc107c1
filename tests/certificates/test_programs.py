"""Trees over a problem's own program: what they prove, and what is no proof."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from programmed import Gathering

import optsched
from optsched.certificates import certify, proved_bound
from optsched.core.errors import CertificateInvalid
from optsched.core.instance import Instance
from optsched.core.results import Certificate, Solution
from optsched.instances.claim_files import read_solution
from optsched.testing.tampering import tampered


def solved() -> tuple[Gathering, Solution]:
    """A problem of which the second component takes a tree."""
    instance = optsched.generate("lsap", 2, nodes=12, tasks=20, slots=3, idle_ratio=0.9)
    assert isinstance(instance, Instance)
    problem = Gathering(instance)
    return problem, optsched.solve(problem)


def test_proved() -> None:
    """Tests that both components are proved, the second by cases that name variables by their labels."""
    problem, solution = solved()
    first, second = solution.certificates
    assert certify(problem, solution).proved
    assert (first.data["before"], second.data["before"]) == ([], [solution.objective[0]])
    assert (first.cases, second.cases) == (1, 3)
    branch = next(step["branch"] for step in second.data["steps"] if "branch" in step)
    assert branch in problem.program((7,)).names


@pytest.mark.parametrize(
    ("which", "change", "told"),
    [
        (0, {"before": 3}, "before: must be a list"),
        (0, {"before": [1]}, "before: 1 components go before, which is not so of nodes"),
        (1, {"before": [1, 2]}, "before: 2 components go before, which is not so of local"),
        (1, {"before": [6]}, "before: a proof for a nodes of 6 units says nothing of 7"),
        (1, {"before": ["7"]}, "before: must be an integer"),
        (1, {"steps": [{"branch": ["use"], "at": 0}]}, "branch: there is no column ['use']"),
        (1, {"multipliers": [{"scale": 1, "prices": [1]}]}, "prices: must be"),
    ],
)
def test_what_is_no_proof(which: int, change: dict[str, Any], told: str) -> None:
    """Tests that data of another form, or of another component, proves nothing and says what is wrong."""
    problem, solution = solved()
    certificate = solution.certificates[which]
    with pytest.raises(CertificateInvalid, match=re.escape(told)):
        proved_bound(problem, replace(certificate, data={**certificate.data, **change}), solution.objective)


@pytest.mark.parametrize("seed", range(6))
def test_tampered(seed: int) -> None:
    """Tests that whatever is changed in a tree, it is refused or proves no more than the truth."""
    problem, solution = solved()
    assert solution.objective is not None
    nodes, local = solution.objective
    first, second = solution.certificates
    for certificate, truth, sign in ((first, nodes, 1), (second, local, -1)):
        for data in tampered(certificate.data, np.random.default_rng(seed), 3):
            for beyond in (0, sign):
                changed = replace(certificate, data=data, claim=certificate.claim + beyond)
                assert sign * (bound_or(problem, changed, solution, truth) - truth) <= 0


def bound_or(problem: Gathering, certificate: Certificate, solution: Solution, otherwise: Any) -> Any:
    """What a certificate proves; `otherwise` where it is refused."""
    try:
        return proved_bound(problem, certificate, solution.objective)
    except CertificateInvalid:
        return otherwise


@pytest.mark.parametrize("name", ["papers/hsu-two-clusters", "generated/flow-n9-t12-seed1"])
def test_files_of_version_0_1(name: str) -> None:
    """Tests that prices of tasks and trees over patterns, as the first version wrote them, prove what they did."""
    problem = optsched.problem("flow-congestion", name)
    file = f"tests/data/written_by_0.1/{name.rpartition('/')[2]}.json"
    solution = read_solution(file, problem.instance)
    assert certify(problem, solution).proved
    assert solution.objective == optsched.solve(problem).objective
    (certificate,) = solution.certificates
    higher = replace(certificate, claim=certificate.claim + 1)
    assert bound_or(problem, higher, solution, certificate.claim) < higher.claim
