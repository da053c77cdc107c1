"""Prices of groups: what certificates hold and prove, solution files, and seeded faults that must be caught."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from worst_group_instances import ONE_SLOT, RACKS, posed

from optsched.certificates import certify, proved_bound
from optsched.certificates.trees import Branch, Step, Tree
from optsched.certificates.worst_group import (
    GroupPrices,
    cost_certificate,
    group_tree_certificate,
    worst_group_certificate,
)
from optsched.core.errors import CertificateInvalid
from optsched.core.results import Number, Proof, Value
from optsched.instances.claim_files import claim_content, parse_claim, read_solution, write_claim
from optsched.problems.worst_group_program import GroupProgram
from optsched.routes import solve
from optsched.searches.program_tree import settling_tree
from optsched.solvers.profiles import Profile

SOLVED = solve(RACKS)


def test_certificates_claim_what_they_prove() -> None:
    """Tests both certificates by hand, and that free prices prove nothing but 0."""
    mean, cost = SOLVED.certificates
    assert (mean.component, mean.kind, mean.claim) == ("worst-mean", Proof.DUAL, 1)
    assert (cost.component, cost.kind, cost.claim) == ("locality-cost", Proof.DUAL, 3)
    assert proved_bound(RACKS, mean) == 1
    assert proved_bound(RACKS, cost, SOLVED.objective) == 3
    free = GroupPrices.none(ONE_SLOT)
    assert (
        worst_group_certificate(ONE_SLOT, free).claim == cost_certificate(ONE_SLOT, Fraction(1, 2), 1, free).claim == 0
    )


def test_solution_files_keep_the_proof(tmp_path: Path) -> None:
    """Tests that fractions survive a solution file, and certify there."""
    for problem in (ONE_SLOT, RACKS):
        solution = solve(problem)
        path = tmp_path / "solution.json"
        write_claim(solution, problem.instance, path)
        assert certify(problem, read_solution(path, problem.instance)).proved


#: Trees that prove nothing.
TREES = [
    group_tree_certificate(RACKS, 1, Tree([np.array([0])], [Step((0,))])),
    group_tree_certificate(RACKS, 3, Tree([np.array([0])], [Step((0,), Branch(0, 0)), Step(), Step()]), 1),
]


def test_trees_of_cases() -> None:
    """Tests that trees prove the mean and the cost within it, from a file too, and no more than is true."""
    found = []
    for claim, mean in ((SOLVED.objective[0], None), (SOLVED.objective[1], SOLVED.objective[0])):
        most = RACKS.most_below(claim) if mean is None else RACKS.most_within(mean)
        program = GroupProgram(RACKS, most, costless=mean is None).program
        tree = settling_tree(program, 1 if mean is None else int(claim), Profile("exact"), 100)
        assert tree is not None
        parted = Tree(tree.multipliers, [Step(tree.steps[0].by, Branch(0, 0)), *tree.steps, *tree.steps])
        assert proved_bound(RACKS, group_tree_certificate(RACKS, claim, parted, mean), SOLVED.objective) == claim
        found.append(group_tree_certificate(RACKS, claim, tree, mean))
        assert proved_bound(RACKS, found[-1], SOLVED.objective) == claim
    with pytest.raises(CertificateInvalid, match="prices: must be 11"):
        proved_bound(RACKS, replace(found[0], claim=found[0].claim + 1))
    assert proved_bound(RACKS, replace(found[1], claim=9), SOLVED.objective) == found[1].claim
    again = replace(SOLVED, certificates=tuple(found))
    document = json.loads(claim_content(again, RACKS.instance))
    assert certify(RACKS, parse_claim(json.dumps(document).encode(), RACKS.instance)).proved
    nothing = posed([[0]], [0], slots=[0])
    assert proved_bound(nothing, found[0]) == 0


@pytest.mark.parametrize(
    ("position", "changes", "message"),
    [
        (0, {"multipliers": [{"scale": 0, "prices": []}]}, "prices: must be"),
        (0, {"multipliers": [{"scale": 0, "prices": 1}]}, "prices: must be a list"),
        (0, {"steps": [{"branch": "t", "at": 0}]}, "branch: there is no column 't'"),
        (0, {"steps": [{"branch": ["t", "node", "Z"], "at": 0}]}, "branch: there is no column"),
        (0, {"steps": [{"branch": ["t", "node", 10**5000], "at": 0}]}, "branch: there is no column a list"),
        (1, {"mean": "1/2"}, "mean: a proof for means up to 1/2 says nothing of this placement"),
        (1, {"steps": [{}]}, "the leaf at step 0 proves nothing"),
    ],
)
def test_no_trees(position: int, changes: dict[str, Any], message: str) -> None:
    """Tests that what is no tree of this problem is refused with its place."""
    certificate = replace(TREES[position], data={**TREES[position].data, "multipliers": [], **changes})
    with pytest.raises(CertificateInvalid, match=re.escape(message)):
        proved_bound(RACKS, certificate, SOLVED.objective)


def test_bug_with_a_group_without_tasks_trees_proved_any_mean() -> None:
    """Tests that a tree over the limits of all groups proves the least mean, 0 here, and none above it."""
    problem = posed([[0], [1]], [0, 2], slots=[1, 1])
    for claim in (Fraction(1, 2), 1, 7):
        program = GroupProgram(problem, problem.most_below(claim), costless=True).program
        one = np.eye(len(program.row_lower), dtype=np.int64)
        tree = Tree([np.append(0, row) for row in (*one, *-one)], [Step(tuple(range(2 * len(one))))])
        with pytest.raises(CertificateInvalid, match="the leaf at step 0 proves nothing"):
            proved_bound(problem, group_tree_certificate(problem, claim, tree))


@pytest.mark.parametrize(
    ("position", "changes", "message"),
    [
        (0, {"task_price": None}, "task_price: must be an integer"),
        (0, {"task_price": 1.5}, "task_price: must be an integer"),
        (0, {"node_prices": {"Z": 1}}, 'node_prices: there is no node "Z"'),
        (0, {"node_prices": [1]}, "node_prices: must be an object"),
        (0, {"group_prices": {"x": 1}}, 'group_prices: there is no group "x"'),
        (0, {"group_prices": {"g": "1"}}, "g: must be an integer"),
        (0, {"group_prices": {"g": 2**54}}, "g: must be an integer up to 2^53"),
        (1, {"mean": "1/0"}, 'mean: must be an integer or a fraction "p/q"'),
        (1, {"mean": 0.5}, "mean: must be an integer"),
        (1, {"mean": "1/2"}, "mean: a proof for means up to 1/2 says nothing of this placement"),
        (1, {"scale": 0}, "scale: must be above 0, not 0"),
        (1, {"scale": "1"}, "scale: must be an integer"),
    ],
)
def test_faulty_certificates(position: int, changes: dict[str, Any], message: str) -> None:
    """Tests that data that is not what the proof needs is told."""
    certificate = SOLVED.certificates[position]
    with pytest.raises(CertificateInvalid) as caught:
        proved_bound(RACKS, replace(certificate, data={**certificate.data, **changes}), SOLVED.objective)
    assert message in str(caught.value)


def test_a_proof_of_the_cost_needs_its_placement() -> None:
    """Tests that a cost is proved within a mean only."""
    with pytest.raises(CertificateInvalid, match="says nothing of this placement"):
        proved_bound(RACKS, SOLVED.certificates[1])


@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize(
    ("key", "changed"), [("task_price", 0), ("node_prices", {"B": 100}), ("group_prices", {}), ("mean", 2)]
)
def test_changed_prices_prove_less(position: int, key: str, changed: Any) -> None:
    """Tests that each of the prices is needed: without it the true claim is caught."""
    certificate = SOLVED.certificates[position]
    if key not in certificate.data:
        return
    faulty = replace(certificate, data={**certificate.data, key: changed})
    assert proved_bound(RACKS, faulty, SOLVED.objective) < certificate.claim
    certificates = tuple(faulty if entry is certificate else entry for entry in SOLVED.certificates)
    assert not certify(RACKS, replace(SOLVED, certificates=certificates)).valid


@pytest.mark.parametrize(
    ("bound", "objective"),
    [((2, 3), (2, 3)), ((Fraction(3, 2), 3), (Fraction(3, 2), 3)), ((1, 4), (1, 4)), ((1, 2), (1, 2))],
)
def test_false_claims_are_caught(bound: tuple[Number, ...], objective: Value) -> None:
    """Tests that a claim other than what the prices prove, or the placement is worth, is not certified."""
    mean, cost = SOLVED.certificates
    certificates = (replace(mean, claim=bound[0]), replace(cost, claim=bound[1]))
    assert not certify(RACKS, replace(SOLVED, bound=bound, certificates=certificates, objective=objective)).valid
    assert not certify(RACKS, replace(SOLVED, objective=objective)).valid


def test_prices_of_another_problem_prove_nothing() -> None:
    """Tests the false optimum of the network of `lsap`: its prices call 1 the least mean, which they do not prove."""
    first, second = solve(ONE_SLOT).certificates
    sums = replace(first, claim=1, data={"task_price": 1, "node_prices": {"A": 1}, "pool_prices": {}, "unit": "1"})
    with pytest.raises(CertificateInvalid, match="group_prices: must be an object"):
        proved_bound(ONE_SLOT, sums)
    placement = ONE_SLOT.placement([0, 1, 1])
    false = replace(solve(ONE_SLOT), decision=placement, objective=(1, 1), bound=(1, 1), certificates=(sums, second))
    assert not certify(ONE_SLOT, false).valid
