"""The checker of certificates: it proves what is true, catches every seeded fault, and cannot be talked into more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from proved_solutions import LATENCY, LSAP, SOLVED
from small_problems import small_problem

from optsched.certificates import Claim, Enumerated, Finding, certify, proved_bound
from optsched.core.deadline import check, deadline
from optsched.core.errors import CertificateInvalid, UsageError
from optsched.core.instance import Cluster, Instance, Pairs, State, Workload
from optsched.core.placement import NetworkFlow, Placement
from optsched.core.registry import Record
from optsched.core.results import FEASIBLE, Certificate, Limit, Proof, Solution, Termination
from optsched.problems import GeneralizedAssignment, Lsap, Problem
from optsched.routes import solve


def false_claims(problem: Problem, solution: Solution) -> list[str]:
    """What `certify` finds false."""
    verdict = certify(problem, solution)
    assert verdict.valid == all(check.holds for check in verdict.checks)
    assert verdict.proved == (verdict.valid and not verdict.unproved)
    return [check.what for check in verdict.checks if not check.holds]


def test_another_problem_instance_or_parameters() -> None:
    """Tests that a solution of something else is refused before anything of it is read."""
    solution = SOLVED["lsap"]
    assert false_claims(LATENCY, solution) == ["problem", "instance", "parameters"]
    cluster, workload = LSAP.instance.cluster, LSAP.instance.workload
    other = Lsap(Instance(cluster, workload, State.initial(cluster, workload, idle_slots=[2, 2, 0])))
    assert false_claims(other, solution) == ["instance"]
    assert false_claims(Lsap(LSAP.instance, levels=(0, 1, 2)), solution) == ["parameters"]
    assert false_claims(LSAP, replace(solution, parameters={"levels": [0, 1, 1], "alpha": 3})) == ["parameters"]
    assert false_claims(LSAP, replace(solution, parameters={"levels": [0, 1, 1]})) == []


def test_wrong_placement() -> None:
    """Tests that an infeasible placement is caught with its violations, and a worse one with its true value."""
    overfull = replace(SOLVED["lsap"], decision=Placement.of([0, 0, 0]))
    verdict = certify(LSAP, overfull)
    assert not verdict.valid
    with pytest.raises(CertificateInvalid, match=r"^placement: slots\(a\) by 1$"):
        verdict.raise_if_invalid()
    assert "FALSE  placement" in str(verdict)
    worse = LATENCY.placement([0, 0, 0, 0, 0])
    verdict = certify(LATENCY, replace(SOLVED["latency"], decision=worse))
    with pytest.raises(CertificateInvalid, match="objective: the placement's value is 5, 5"):
        verdict.raise_if_invalid()
    short = replace(SOLVED["lsap"], decision=Placement.of([0]))
    assert false_claims(LSAP, short) == ["placement"]
    verdict = certify(LSAP, replace(SOLVED["lsap"], decision=NetworkFlow([1])))
    with pytest.raises(CertificateInvalid, match=r"^placement: the decision is a flow$"):
        verdict.raise_if_invalid()


def test_wrong_claimed_value() -> None:
    """Tests that an objective that the placement does not have is caught, alone and with a bound to match."""
    solution = SOLVED["lsap"]
    assert false_claims(LSAP, replace(solution, objective=(0,))) == [
        "objective",
        "order of locality-cost",
        "termination",
    ]
    cheaper = replace(solution, objective=(0,), bound=(0,), certificates=(replace(solution.certificates[0], claim=0),))
    assert false_claims(LSAP, cheaper) == ["objective"]
    dearer = replace(solution, bound=(2,), certificates=(replace(solution.certificates[0], claim=2),))
    assert false_claims(LSAP, dearer) == ["dual proof of locality-cost", "order of locality-cost", "termination"]


def test_bound_needs_its_certificate() -> None:
    """Tests that a bound without certificate, with another's claim, of a strange component or length is caught."""
    solution = SOLVED["latency"]
    assert false_claims(LATENCY, replace(solution, bound=(3,))) == ["bound"]
    assert false_claims(LATENCY, replace(solution, certificates=solution.certificates[:1])) == ["bound of work"]
    lower = (2, solution.bound[1])
    found = false_claims(LATENCY, replace(solution, bound=lower))
    assert found == ["bound of makespan", "termination"]
    longer = replace(solution, objective=(*LATENCY.evaluate(LATENCY.placement([0, 0, 0, 1, 2])), 0))
    assert false_claims(LATENCY, longer) == ["objective", "objective"]
    twice = replace(solution, certificates=(*solution.certificates, solution.certificates[0]))
    assert false_claims(LATENCY, twice) == ["certificate"]
    stranger = Certificate("cost", Proof.DUAL, 1)
    assert false_claims(LATENCY, replace(solution, certificates=(*solution.certificates, stranger))) == ["certificate"]


def test_word_is_no_proof() -> None:
    """Tests that a solver's word is valid but told as such, and that a kind cannot be borrowed from another problem."""
    solution = SOLVED["latency"]
    word = tuple(replace(certificate, kind=Proof.SOLVER, data={}) for certificate in solution.certificates)
    verdict = certify(LATENCY, replace(solution, certificates=word))
    assert verdict.valid
    assert not verdict.proved
    assert verdict.unproved == ("bound 3 of makespan rests on: solver", "bound 9 of work rests on: solver")
    assert verdict.proofs == ()
    assert str(verdict).splitlines()[-1] == "claim  bound 9 of work rests on: solver"
    assert [verdict.accepted(allow) for allow in ([], ["enumeration"], [Proof.SOLVER])] == [False, False, True]
    verdict.raise_unless_proved(["solver"])
    verdict.raise_if_invalid()
    with pytest.raises(CertificateInvalid, match="bound 3 of makespan rests on: solver") as caught:
        verdict.raise_unless_proved()
    assert len(str(caught.value).splitlines()) == 2
    borrowed = tuple(replace(certificate, kind=Proof.DUAL) for certificate in solution.certificates)
    found = false_claims(LATENCY, replace(solution, certificates=borrowed))
    assert found == ["dual proof of makespan", "dual proof of work"]
    borrowed = (replace(SOLVED["lsap"].certificates[0], kind=Proof.COMBINATORIAL),)
    with pytest.raises(CertificateInvalid, match="lsap has no proof of kind combinatorial"):
        proved_bound(LSAP, borrowed[0])


def test_a_cheap_bound_proves_a_word() -> None:
    """Tests that a claim which a cheap bound or trying everything settles is told as proved, not as merely right."""
    solution, least = SOLVED["latency"], LATENCY.cheap_bounds()[0]
    word = Certificate("makespan", Proof.SOLVER, 2)
    open_ = replace(solution, certificates=(word,), bound=(2, None), termination=Termination.FEASIBLE)
    proof = f"cheap bound {least.name} of makespan: proves 2, claimed 2"
    verdict = certify(LATENCY, open_)
    assert (least.component, least.value, verdict.proofs) == ("makespan", 2, (proof,))
    assert f"proved {proof}" in str(verdict).splitlines()
    words = tuple(replace(certificate, kind=Proof.SOLVER, data={}) for certificate in solution.certificates)
    tried = certify(LATENCY, replace(solution, certificates=words), enumerated=Enumerated(value=(3, 9)))
    text = "proof of {} by enumeration: every placement was tried: {}, claimed {}"
    assert tried.proofs == (text.format("makespan", 3, 3), text.format("work", 9, 9))


def test_dishonest_termination() -> None:
    """Tests that closed is not called open, nor open closed, and nothing that can be placed is called infeasible."""
    solution = SOLVED["latency"]
    assert false_claims(LATENCY, replace(solution, termination=Termination.FEASIBLE, limit=Limit.GAP)) == [
        "termination"
    ]
    value = LATENCY.evaluate(LATENCY.placement([0, 0, 0, 0, 0]))
    held = replace(solution, decision=LATENCY.placement([0, 0, 0, 0, 0]), objective=value, bound=(3, None))
    assert false_claims(LATENCY, held) == ["bound of work", "termination"]
    held = replace(held, certificates=solution.certificates[:1])
    assert false_claims(LATENCY, held) == ["termination"]
    feasible = replace(held, termination=Termination.FEASIBLE, limit=Limit.TIME)
    assert false_claims(LATENCY, feasible) == []
    for claimed in (Termination.INFEASIBLE, Termination.FEASIBLE):
        nothing = replace(feasible, decision=None, objective=None, termination=claimed)
        assert false_claims(LATENCY, nothing) == ["termination"]


def changed(name: str, **fields: Any) -> tuple[Problem, Solution]:
    """The solution of a problem with some fields replaced."""
    return {"lsap": LSAP, "latency": LATENCY}[name], replace(SOLVED[name], **fields)


MAKESPAN, WORK = SOLVED["latency"].certificates
WORDS = tuple(replace(certificate, kind=Proof.SOLVER, data={}) for certificate in (MAKESPAN, WORK))
NOTHING_HELD: dict[str, Any] = {"decision": None, "objective": None, "termination": Termination.NO_SOLUTION}
SILENT: dict[str, Any] = {"bound": (None, None), "certificates": ()}

#: Of a changed solution what stands after the three lines that say what it is of.
TOLD: list[tuple[tuple[Problem, Solution], str]] = [
    (
        changed("latency"),
        """
        ok     placement: feasible
        ok     objective: the placement's value is 3, 9
        proved combinatorial proof of makespan: proves 3, claimed 3
        ok     order of makespan: objective 3, bound 3
        proved combinatorial proof of work: proves 9, claimed 9
        ok     order of work: objective 9, bound 9
        ok     termination: OPTIMAL, closed
        """,
    ),
    (
        changed("lsap", **NOTHING_HELD),
        """
        ok     placement: none
        proved dual proof of locality-cost: proves 1, claimed 1
        """,
    ),
    (
        changed("lsap", decision=None),
        """
        FALSE  placement: there is none, but an objective is claimed
        proved dual proof of locality-cost: proves 1, claimed 1
        ok     order of locality-cost: objective 1, bound 1
        ok     termination: OPTIMAL, closed
        """,
    ),
    (
        changed("latency", bound=(2, 8)),
        """
        ok     placement: feasible
        ok     objective: the placement's value is 3, 9
        FALSE  bound of makespan: 2 is claimed, but the certificate says 3
        FALSE  bound of work: 8 is claimed, but the certificate says 9
        FALSE  termination: OPTIMAL, but a gap remains
        """,
    ),
    (
        changed("latency", bound=(None, 9)),
        """
        ok     placement: feasible
        ok     objective: the placement's value is 3, 9
        FALSE  bound of makespan: nothing is claimed, but the certificate says 3
        proved combinatorial proof of work: proves 9, claimed 9
        FALSE  termination: OPTIMAL, but a gap remains
        """,
    ),
    (
        changed("latency", bound=(None, 9), certificates=(WORK,)),
        """
        ok     placement: feasible
        ok     objective: the placement's value is 3, 9
        proved combinatorial proof of work: proves 9, claimed 9
        FALSE  termination: OPTIMAL, but a gap remains
        """,
    ),
    (
        changed("latency", certificates=(WORK,)),
        """
        ok     placement: feasible
        ok     objective: the placement's value is 3, 9
        FALSE  bound of makespan: 3 is claimed, but the certificate says nothing
        proved combinatorial proof of work: proves 9, claimed 9
        ok     order of work: objective 9, bound 9
        ok     termination: OPTIMAL, closed
        """,
    ),
    (  # a bound on the work is of placements with the least makespan: this one may have less
        changed(
            "latency",
            decision=LATENCY.placement([0, 0, 0, 0, 1]),
            objective=(4, 7),
            certificates=(MAKESPAN, WORDS[1]),
            termination=Termination.FEASIBLE,
        ),
        """
        ok     placement: feasible
        ok     objective: the placement's value is 4, 7
        proved combinatorial proof of makespan: proves 3, claimed 3
        ok     order of makespan: objective 4, bound 3
        claim  bound 9 of work rests on: solver
        """,
    ),
    (
        changed("latency", **{**NOTHING_HELD, **SILENT, "termination": Termination.INFEASIBLE}),
        """
        ok     placement: none
        FALSE  termination: INFEASIBLE, but latency always has a feasible placement
        claim  no bound is claimed
        """,
    ),
    (
        changed("latency", **SILENT, termination=Termination.INFEASIBLE),
        """
        ok     placement: feasible
        ok     objective: the placement's value is 3, 9
        FALSE  termination: INFEASIBLE: no placement, but there is one
        claim  no bound is claimed: how good the placement is, is not said
        """,
    ),
    (
        changed("latency", **SILENT, termination=Termination.NO_SOLUTION),
        """
        ok     placement: feasible
        ok     objective: the placement's value is 3, 9
        FALSE  termination: NO_SOLUTION, but there is a placement
        claim  no bound is claimed: how good the placement is, is not said
        """,
    ),
    (
        changed("latency", **{**NOTHING_HELD, **SILENT, "termination": Termination.FEASIBLE}),
        """
        ok     placement: none
        FALSE  termination: FEASIBLE, but there is no placement
        claim  no bound is claimed
        """,
    ),
]


@pytest.mark.parametrize(("given", "expected"), TOLD)
def test_what_is_told(given: tuple[Problem, Solution], expected: str) -> None:
    """Tests each line that is said of a solution, true or changed, after those that say what it is of."""
    lines = str(certify(*given)).splitlines()
    assert lines[3:] == [line.strip() for line in expected.strip().splitlines()]


def test_what_is_no_problem_is_told() -> None:
    """Tests that anything else is refused by the call's name, and that a check proves nothing unless it says so."""
    with pytest.raises(UsageError, match=r"^certify takes a problem, not the text"):
        certify("lsap", SOLVED["lsap"])  # type: ignore[arg-type]
    assert not Finding("what", True, "found").proof


def test_what_it_is_of_is_told() -> None:
    """Tests the first three lines: name, digest and parameters, and each beside what is asked for where it differs."""
    digest = LSAP.instance.sha256[:12]
    assert str(certify(LSAP, SOLVED["lsap"])).splitlines()[:3] == [
        'ok     problem: the solution is of "lsap"',
        f"ok     instance: sha256 {digest}",
        "ok     parameters: levels=0,1,1",
    ]
    other = Lsap(Instance(LSAP.instance.cluster, LSAP.instance.workload), levels=(0, 1, 2))
    assert str(certify(other, replace(SOLVED["lsap"], problem="flow"))).splitlines() == [
        'FALSE  problem: the solution is of "flow"',
        f"FALSE  instance: sha256 {other.instance.sha256[:12]}, claimed {digest}",
        "FALSE  parameters: the solution has levels=0,1,1, asked for: levels=0,1,2",
    ]
    assert "ok     parameters: w_loc=1, w_rem=3" in str(certify(LATENCY, SOLVED["latency"])).splitlines()
    bare = small_problem("transmission-maps", 1)
    assert "ok     parameters: none" in str(certify(bare, solve(bare))).splitlines()


def test_bug_a_deadline_in_cheap_bounds_lost_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that past a deadline a word stays a claim, and a placement that is no good is told all the same."""

    def late(_: Lsap) -> None:
        check()

    monkeypatch.setattr(Lsap, "cheap_bounds", late)
    (proof,) = SOLVED["lsap"].certificates
    word = replace(SOLVED["lsap"], certificates=(replace(proof, kind=Proof.SOLVER, data={}),))
    with deadline(0):
        verdict = certify(LSAP, word)
        assert (verdict.valid, [claim.kind for claim in verdict.claims]) == (True, ["solver"])
        assert false_claims(LSAP, replace(word, decision=Placement.of([0, 0, 0]))) == ["placement"]


def test_strangers_and_violations_are_told_in_order() -> None:
    """Tests that components which do not exist are told by name, and of many violations the first three."""
    strangers = tuple(Certificate(name, Proof.DUAL, 1) for name in ("zeal", "age", "cost"))
    solution = SOLVED["latency"]
    verdict = certify(LATENCY, replace(solution, certificates=(*solution.certificates, *strangers)))
    assert [check.found for check in verdict.checks if check.what == "certificate"] == [
        f'latency has no component "{name}"' for name in ("age", "cost", "zeal")
    ]
    verdict = certify(LATENCY, replace(solution, decision=Placement.empty(5)))
    (shown,) = verdict.contradicted
    assert shown == "placement: " + "; ".join(f"every-task-placed(t{task}) by 1" for task in range(3)) + "; and 2 more"


def test_enumeration_and_rivals_are_told() -> None:
    """Tests what trying every decision, and a decision that somebody found, make of words."""
    words = replace(SOLVED["latency"], certificates=WORDS)
    tried = certify(LATENCY, words, enumerated=Enumerated((3, 9)))
    assert tried.proofs == (
        "proof of makespan by enumeration: every placement was tried: 3, claimed 3",
        "proof of work by enumeration: every placement was tried: 9, claimed 9",
    )
    assert tried.proved
    tried = certify(LATENCY, words, enumerated=Enumerated((2, 9)))
    assert tried.contradicted == ("proof of makespan by enumeration: every placement was tried: 2, claimed 3",)
    assert tried.proofs == ()
    assert tried.unproved == ("bound 9 of work rests on: solver",)
    with pytest.raises(CertificateInvalid, match="proof of makespan by enumeration"):
        tried.raise_unless_proved(["solver"])
    slower, best = LATENCY.placement([0, 0, 0, 0, 1]), LATENCY.placement([0, 0, 0, 1, 2])
    verdict = certify(LATENCY, words, against={"slower": slower, "best": best, "none": Placement.empty(5)})
    assert str(verdict).splitlines()[-3] == "ok     rivals: slower, best found nothing better than the bound"
    far = replace(words, bound=(4, 9), certificates=(replace(WORDS[0], claim=4), WORDS[1]))
    verdict = certify(LATENCY, far, against={"none": Placement.empty(5), "best": best, "slower": slower})
    assert "bound of makespan: 4 is claimed, but best found 3, 9" in verdict.contradicted
    posed = small_problem("generalized-assignment", 1)
    solution = solve(posed)
    assert solution.decision is not None
    nothing = replace(
        solution, **{**NOTHING_HELD, "bound": (None,), "certificates": (), "termination": Termination.INFEASIBLE}
    )
    assert certify(posed, nothing).claims == (Claim("solver", "that there is no feasible placement rests on: solver"),)
    assert certify(posed, nothing, against={"first": solution.decision}).contradicted == (
        "termination: INFEASIBLE, but first found a feasible placement",
    )
    assert certify(posed, nothing, enumerated=Enumerated(None)).proofs == (
        "termination: INFEASIBLE: every placement was tried: none is feasible",
    )
    shown = Certificate(FEASIBLE, Proof.COMBINATORIAL, 0, {"multipliers": [], "steps": [{}]})
    tellings = {
        "claims feasible-decisions 1, not feasible-decisions 0": replace(shown, claim=1),
        "steps: the leaf at step 0 proves nothing": shown,
    }
    for ending, certificate in tellings.items():
        (found,) = certify(posed, replace(nothing, certificates=(certificate,))).contradicted
        assert found.endswith(ending)
    tried = replace(nothing, certificates=(replace(shown, kind=Proof.ENUMERATION),))
    assert certify(posed, tried).unproved == ("that there is no feasible placement rests on: enumeration",)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("optsched.certificates.checking.record_of", lambda kind: Record(name="x", problem="y"))
        (found,) = certify(posed, replace(nothing, certificates=(shown,))).contradicted
        assert found.endswith("generalized-assignment has no such proof")
    (found,) = certify(posed, replace(solution, certificates=(*solution.certificates, shown))).contradicted
    assert found == 'certificate: generalized-assignment has no component "feasible-decisions"'
    by_word = replace(nothing, certificates=(Certificate(FEASIBLE, Proof.SOLVER, 0),))
    assert certify(posed, by_word).claims == certify(posed, nothing).claims
    assert certify(posed, nothing, enumerated=Enumerated((3,))).contradicted == (
        "termination: INFEASIBLE: every placement was tried: one is feasible",
    )
    held = replace(solution, bound=(None,), certificates=(), termination=Termination.INFEASIBLE)
    assert certify(posed, held).contradicted == ("termination: INFEASIBLE: no placement, but there is one",)
    full = GeneralizedAssignment(
        Instance(
            Cluster(["a"], capacity={"weight": [1.0]}),
            Workload(["t"], pairs=Pairs([[1.0]], {"weight": [[2.0]]})),
        )
    )
    assert full.plainly_infeasible is not None
    assert certify(full, solve(full)).proofs == (f"termination: INFEASIBLE: {full.plainly_infeasible}",)
    stopped = replace(
        SOLVED["lsap"], termination=Termination.ERROR, raw_status="unbounded", bound=(None,), certificates=()
    )
    assert certify(LSAP, stopped).unproved == ("that there is no optimum to be found rests on: solver",)
    weak = replace(MAKESPAN, data={"cover": ["s1"]})
    false = certify(LATENCY, replace(words, bound=(3, None), certificates=(weak,), termination=Termination.FEASIBLE))
    assert false.unproved == ()
    assert len(false.contradicted) == 1
    silent = certify(LATENCY, replace(words, bound=(None, None), certificates=(), termination=Termination.FEASIBLE))
    assert [(claim.kind, claim.sentence) for claim in silent.claims] == [
        ("nothing", "no bound is claimed: how good the placement is, is not said")
    ]
