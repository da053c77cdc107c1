"""Trees over a problem's own program: what they prove, and what is no proof."""

import re
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from programmed import Gathering
from programmed import posed as gathering
from small_problems import ONE_SLOT, RACKS
from small_problems import worst_group as posed

import optsched
from optsched.certificates import certify, programs, proved_bound
from optsched.certificates.programs import limit_certificate
from optsched.certificates.reading import written
from optsched.certificates.trees import Step, Tree
from optsched.core.errors import CertificateInvalid, ProblemFailed
from optsched.core.instance import Instance, Ints
from optsched.core.results import Certificate, Number, Solution
from optsched.instances.claim_files import claim_content, parse_claim
from optsched.instances.files import from_document
from optsched.instances.generate import generate
from optsched.problems import FlowCongestion, MinCostFlow, WorstGroup, flow_congestion
from optsched.problems.programs import Program
from optsched.testing.solutions import tampered


@cache
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
        (0, {"before": [1]}, "before: 1 components go before, unlike for nodes"),
        (1, {"before": [1, 2]}, "before: 2 components go before, unlike for local"),
        (1, {"before": [6]}, "before: a proof for a nodes of 6 units does not apply to 7"),
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


def test_proofs_of_an_earlier_form() -> None:
    """Tests that the prices that development versions wrote for `worst-group` are refused with the mend."""
    certificate = replace(optsched.solve(ONE_SLOT).certificates[0], data={"group_prices": {"g": 1}, "node_prices": {}})
    with pytest.raises(CertificateInvalid, match="an earlier form is no longer read: solve again"):
        proved_bound(ONE_SLOT, certificate)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in (1, 2))])
def test_tampered(seed: int) -> None:
    """Tests that whatever is changed in a tree, it is refused or proves no more than the truth."""
    problem, solution = solved()
    nodes, local = solution.objective
    first, second = solution.certificates
    for certificate, truth, sign in ((first, nodes, 1), (second, local, -1)):
        for data in tampered(certificate.data, np.random.default_rng(seed), 3):
            for beyond in (0, sign):
                changed = replace(certificate, data=data, claim=certificate.claim + beyond)
                assert sign * (bound_or(problem, changed, solution, truth) - truth) <= 0


def bound_or(problem: Any, certificate: Certificate, solution: Solution, otherwise: Any) -> Any:
    """What a certificate proves; `otherwise` where it is refused."""
    try:
        return proved_bound(problem, certificate, solution.objective)
    except CertificateInvalid:
        return otherwise


def test_too_many_patterns_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a check whose program would be too large says so, and is no crash."""
    problem = optsched.problem("flow-congestion", "papers/hsu-two-clusters")
    (certificate,) = optsched.solve(problem).certificates
    monkeypatch.setattr(flow_congestion, "MOST_PATTERNS", 5)
    with pytest.raises(CertificateInvalid, match="too many to list"):
        proved_bound(FlowCongestion(problem.instance), certificate)


def test_limits_are_proved_by_what_is_empty() -> None:
    """Tests a highest mean and the cost within it: each claim is proved, from a file too, and no higher one."""
    for problem in (ONE_SLOT, RACKS):
        solution = optsched.solve(problem)
        mean, cost = solution.certificates
        assert certify(problem, parse_claim(claim_content(solution, problem.instance), problem.instance)).proved
        assert (mean.data["before"], cost.data["before"]) == ([], [written(solution.objective[0])])
        for claim in (mean.claim + Fraction(1, 1000), 7, 10**30):
            assert bound_or(problem, replace(mean, claim=claim), solution, 0) <= mean.claim
        assert proved_bound(problem, replace(cost, claim=99), solution.objective) == cost.claim
        with pytest.raises(CertificateInvalid, match=r"before: a proof for a worst-mean of .* does not apply to"):
            proved_bound(problem, cost, (9, 9))
        lower = replace(cost, data={**cost.data, "before": [0]})
        with pytest.raises(CertificateInvalid, match="before: a proof for a worst-mean of 0 units does not apply to"):
            proved_bound(problem, lower, solution.objective)


def test_bug_with_a_group_without_tasks_trees_proved_any_mean() -> None:
    """Tests that a tree over the limits of all groups proves the least mean, 0 here, and none above it."""
    problem = posed([[0], [1]], [0, 2], slots=[1, 1])
    for claim in (Fraction(1, 2), 1, 7):
        program = problem.program((problem.value_below(claim),))
        one = np.eye(len(program.numbers.row_lower), dtype=np.int64)
        tree = Tree([np.append(0, row) for row in (*one, *-one)], [Step(tuple(range(2 * len(one))))])
        with pytest.raises(CertificateInvalid, match="the leaf at step 0 proves nothing"):
            proved_bound(problem, limit_certificate(problem, claim, program, tree))


def test_bug_without_tasks_any_mean_was_proved() -> None:
    """Tests that no mean above 0 is proved of an instance in which no task waits."""
    document = {"format": "optsched/1", "name": "e", "nodes": [{"id": "a"}], "groups": [{"id": "g"}], "tasks": []}
    problem = WorstGroup(from_document(document))
    solution = optsched.solve(problem)
    assert (solution.objective, certify(problem, solution).proved) == ((0, 0), True)
    for prices in ([], [-1]):
        tree = {"before": [], "multipliers": [{"scale": 0, "prices": prices}], "steps": [{"by": [0]}]}
        forged = replace(solution.certificates[0], claim=7, data=tree)
        assert bound_or(problem, forged, solution, 0) <= 0


class Outside(WorstGroup):
    """A class of another package whose program keeps to its definition."""

    def program(self, before: tuple[Number, ...] = ()) -> Program:
        return super().program(before)


class Skipping(Outside):
    """One that says that fewer values are below another than there are."""

    def program(self, before: tuple[Number, ...] = ()) -> Program:
        return super().program(before)

    def value_below(self, value: Number) -> Number:
        return -1

    def value_left(self, multipliers: Ints, least: Number) -> Number:
        return 1


def test_limits_of_a_class_from_outside() -> None:
    """Tests that it is solved from nothing, and that what it says of its values is held against its placements."""
    for problem in (ONE_SLOT, RACKS):
        outside = Outside(problem.instance)
        solution, true = optsched.solve(outside), optsched.solve(problem)
        assert (solution.objective, solution.optimal) == (true.objective, True)
        assert certify(outside, solution).proved
        claim = replace(solution.certificates[0], claim=7)
        with pytest.raises(CertificateInvalid, match=r"worst-mean: a placement has .*, though none should be above -1"):
            proved_bound(Skipping(problem.instance), claim)
    with pytest.raises(
        ProblemFailed, match="worst-mean: a placement has 1/2, though none should be above -1 and below 1"
    ):
        optsched.solve(Skipping(ONE_SLOT.instance))


def test_programs_are_checked_as_far_as_bounds_are_attained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the program of a later component is looked at only if the bounds before it are attained."""
    problem = gathering(0)
    solution = optsched.solve(problem)
    nodes, local = solution.objective
    asked: list[object] = []
    monkeypatch.setattr(programs, "checked_program", lambda problem, before, _: asked.append(before))
    for bound in ((None, None), (nodes - 1, None), (nodes, None), (nodes, local)):
        programs.check_programs(problem, solution.decision, bound)
    assert asked == [(), (), (), (nodes,)]


class OwnFlow(MinCostFlow):
    """A class of another package that decides flows."""

    def program(self, before: tuple[Number, ...] = ()) -> Program:
        return super().program(before)


def test_a_program_of_flows_is_compared_on_a_walk() -> None:
    """Tests that a class of another package that decides flows is proved by its program."""
    problem = OwnFlow(generate("min-cost-flow", 0))
    solution = optsched.solve(problem)
    assert solution.objective == optsched.solve(MinCostFlow(problem.instance)).objective
    assert certify(problem, solution).proved
