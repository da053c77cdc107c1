"""The checker of certificates: it proves what is true, catches every seeded fault, and cannot be talked into more."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from small_problems import small_problem
from solutions import LATENCY, LSAP, SOLVED

from optsched.certificates import Claim, Enumerated, Finding, certify, proved_bound
from optsched.core.deadline import check, deadline
from optsched.core.errors import CertificateInvalid, UsageError
from optsched.core.instance import Cluster, Instance, Pairs, Workload
from optsched.core.placement import NetworkFlow, Placement
from optsched.core.registry import Record
from optsched.core.results import FEASIBLE, Certificate, Limit, Proof, Solution, Termination
from optsched.instances.claim_files import read_solution
from optsched.instances.files import load
from optsched.problems import GeneralizedAssignment, JobTimes, Lsap, Problem, problem
from optsched.routes import solve


def changed(name: str, **fields: Any) -> tuple[Problem, Solution]:
    """The solution of a problem with some fields replaced."""
    return {"lsap": LSAP, "latency": LATENCY}[name], replace(SOLVED[name], **fields)


MAKESPAN, WORK = SOLVED["latency"].certificates
WORDS = tuple(replace(certificate, kind=Proof.SOLVER, data={}) for certificate in (MAKESPAN, WORK))
COST = SOLVED["lsap"].certificates[0]
NOTHING_HELD: dict[str, Any] = {"decision": None, "objective": None, "termination": Termination.NO_SOLUTION}
SILENT: dict[str, Any] = {"bound": (None, None), "certificates": ()}
WORSE: dict[str, Any] = {"decision": LATENCY.placement([0] * 5), "objective": (5, 5), "bound": (3, None)}
STRANGER = Certificate("cost", Proof.DUAL, 1)


def false_claims(problem: Problem, solution: Solution) -> list[str]:
    """What `certify` finds false."""
    verdict = certify(problem, solution)
    assert verdict.valid == all(check.holds for check in verdict.checks)
    assert verdict.proved == (verdict.valid and not verdict.unproved)
    return [check.what for check in verdict.checks if not check.holds]


def idle(slots: list[int]) -> Lsap:
    """The small `lsap` with other idle slots."""
    cluster, workload = LSAP.instance.cluster, LSAP.instance.workload
    return Lsap(Instance.initial(cluster, workload, idle_slots=slots))


@pytest.mark.parametrize(
    ("problem", "solution", "false"),
    [
        # Of something else.
        (LATENCY, SOLVED["lsap"], ["problem", "instance", "parameters"]),
        (idle([2, 2, 0]), SOLVED["lsap"], ["instance"]),
        (Lsap(LSAP.instance, levels=(0, 1, 2)), SOLVED["lsap"], ["parameters"]),
        (*changed("lsap", parameters={"levels": [0, 1, 1], "alpha": 3}), ["parameters"]),
        (*changed("lsap", parameters={"levels": [0, 1, 1]}), []),
        # Placements and values.
        (*changed("lsap", decision=Placement.of([0])), ["placement"]),
        (*changed("lsap", objective=(0,)), ["objective", "order of locality-cost", "termination"]),
        (*changed("lsap", objective=(0,), bound=(0,), certificates=(replace(COST, claim=0),)), ["objective"]),
        (*changed("latency", objective=(3, 9, 0)), ["objective", "objective"]),
        # Bounds and their certificates.
        (
            *changed("lsap", bound=(2,), certificates=(replace(COST, claim=2),)),
            ["dual proof of locality-cost", "order of locality-cost", "termination"],
        ),
        (*changed("latency", bound=(3,)), ["bound"]),
        (*changed("latency", certificates=(MAKESPAN,)), ["bound of work"]),
        (*changed("latency", certificates=(MAKESPAN, WORK, MAKESPAN)), ["certificate"]),
        (*changed("latency", certificates=(MAKESPAN, WORK, STRANGER)), ["certificate"]),
        # Terminations.
        (*changed("latency", termination=Termination.FEASIBLE, limit=Limit.GAP), ["termination"]),
        (*changed("latency", **WORSE), ["bound of work", "termination"]),
        (*changed("latency", **WORSE, certificates=(MAKESPAN,)), ["termination"]),
        (*changed("latency", **WORSE, certificates=(MAKESPAN,), termination=Termination.FEASIBLE), []),
    ],
)
def test_false_claims(problem: Problem, solution: Solution, false: list[str]) -> None:
    """Tests what is false of another problem, a wrong value, a bound without its certificate, a wrong termination."""
    assert false_claims(problem, solution) == false


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (changed("lsap", decision=Placement.of([0, 0, 0])), r"^placement: slots\(a\) by 1$"),
        (changed("lsap", decision=NetworkFlow([1])), "^placement: the decision is a flow$"),
        (changed("latency", decision=LATENCY.placement([0] * 5)), "objective: the placement's value is 5, 5"),
    ],
)
def test_wrong_placement(given: tuple[Problem, Solution], message: str) -> None:
    """Tests that an infeasible placement is raised with its violations, and a worse one with its true value."""
    with pytest.raises(CertificateInvalid, match=message):
        certify(*given).raise_if_invalid()


def test_word_is_no_proof() -> None:
    """Tests that a solver's word is valid but told as such, and that a kind cannot be borrowed from another problem."""
    verdict = certify(*changed("latency", certificates=WORDS))
    assert (verdict.valid, verdict.proved) == (True, False)
    assert verdict.unproved == ("bound 3 of makespan rests on: solver", "bound 9 of work rests on: solver")
    assert verdict.proofs == ()
    assert str(verdict).splitlines()[-1] == "claim  bound 9 of work rests on: solver"
    assert [verdict.accepted(allow) for allow in ([], ["enumeration"], [Proof.SOLVER])] == [False, False, True]
    verdict.raise_unless_proved(["solver"])
    verdict.raise_if_invalid()
    with pytest.raises(CertificateInvalid, match="bound 3 of makespan rests on: solver") as caught:
        verdict.raise_unless_proved()
    assert len(str(caught.value).splitlines()) == 2
    borrowed = tuple(replace(certificate, kind=Proof.DUAL) for certificate in (MAKESPAN, WORK))
    assert false_claims(*changed("latency", certificates=borrowed)) == ["dual proof of makespan", "dual proof of work"]
    with pytest.raises(CertificateInvalid, match="lsap has no proof of kind combinatorial"):
        proved_bound(LSAP, replace(COST, kind=Proof.COMBINATORIAL))


def test_a_cheap_bound_proves_a_word() -> None:
    """Tests that a claim which a cheap bound settles is told as proved, not as merely right."""
    least, word = LATENCY.cheap_bounds()[0], Certificate("makespan", Proof.SOLVER, 2)
    verdict = certify(*changed("latency", certificates=(word,), bound=(2, None), termination=Termination.FEASIBLE))
    proof = f"cheap bound {least.name} of makespan: proves 2, claimed 2"
    assert (least.component, least.value, verdict.proofs) == ("makespan", 2, (proof,))
    assert f"proved {proof}" in str(verdict).splitlines()


def test_what_is_told() -> None:
    """Tests each line of a proved solution after those that say what it is of."""
    assert str(certify(LATENCY, SOLVED["latency"])).splitlines()[3:] == [
        "ok     placement: feasible",
        "ok     objective: the placement's value is 3, 9",
        "proved combinatorial proof of makespan: proves 3, claimed 3",
        "ok     order of makespan: objective 3, bound 3",
        "proved combinatorial proof of work: proves 9, claimed 9",
        "ok     order of work: objective 9, bound 9",
        "ok     termination: OPTIMAL, closed",
    ]


PROVED = {name: f"combinatorial proof of {name}: proves {n}, claimed {n}" for name, n in (("makespan", 3), ("work", 9))}
OPEN = "termination: OPTIMAL, but a gap remains"


@pytest.mark.parametrize(
    ("given", "false", "proved", "claimed"),
    [
        (
            changed("lsap", decision=None),
            ["placement: there is none, but an objective is claimed"],
            ["dual proof of locality-cost: proves 1, claimed 1"],
            [],
        ),
        (
            changed("latency", bound=(2, 8)),
            [
                f"bound of {of}: {n} is claimed, but the certificate says {n + 1}"
                for of, n in (("makespan", 2), ("work", 8))
            ]
            + [OPEN],
            [],
            [],
        ),
        (
            changed("latency", bound=(None, 9)),
            ["bound of makespan: nothing is claimed, but the certificate says 3", OPEN],
            [PROVED["work"]],
            [],
        ),
        (  # a bound on the work is of placements with the least makespan: this one may have less
            changed(
                "latency",
                decision=LATENCY.placement([0, 0, 0, 0, 1]),
                objective=(4, 7),
                certificates=(MAKESPAN, WORDS[1]),
                termination=Termination.FEASIBLE,
            ),
            [],
            [PROVED["makespan"]],
            ["bound 9 of work rests on: solver"],
        ),
        (
            changed("latency", **{**NOTHING_HELD, **SILENT, "termination": Termination.INFEASIBLE}),
            ["termination: INFEASIBLE, but latency always has a feasible placement"],
            [],
            ["no bound is claimed"],
        ),
        (
            changed("latency", **SILENT, termination=Termination.INFEASIBLE),
            ["termination: INFEASIBLE: no placement, but there is one"],
            [],
            ["no bound is claimed: how good the placement is, is not said"],
        ),
        (
            changed("latency", **SILENT, termination=Termination.NO_SOLUTION),
            ["termination: NO_SOLUTION, but there is a placement"],
            [],
            ["no bound is claimed: how good the placement is, is not said"],
        ),
        (
            changed("latency", **{**NOTHING_HELD, **SILENT, "termination": Termination.FEASIBLE}),
            ["termination: FEASIBLE, but there is no placement"],
            [],
            ["no bound is claimed"],
        ),
    ],
)
def test_what_is_false_proved_and_claimed(
    given: tuple[Problem, Solution], false: list[str], proved: list[str], claimed: list[str]
) -> None:
    """Tests all that is said of changed solutions but for what holds and proves nothing."""
    lines = str(certify(*given)).splitlines()
    for mark, expected in (("FALSE", false), ("proved", proved), ("claim", claimed)):
        assert [line[7:] for line in lines if line.startswith(mark)] == expected


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
    assert (tried.proofs, tried.unproved) == ((), ("bound 9 of work rests on: solver",))
    with pytest.raises(CertificateInvalid, match="proof of makespan by enumeration"):
        tried.raise_unless_proved(["solver"])
    slower, best = LATENCY.placement([0, 0, 0, 0, 1]), LATENCY.placement([0, 0, 0, 1, 2])
    verdict = certify(LATENCY, words, against={"slower": slower, "best": best, "none": Placement.empty(5)})
    assert str(verdict).splitlines()[-3] == "ok     rivals: slower, best found nothing better than the bound"
    far = replace(words, bound=(4, 9), certificates=(replace(WORDS[0], claim=4), WORDS[1]))
    verdict = certify(LATENCY, far, against={"none": Placement.empty(5), "best": best, "slower": slower})
    assert "bound of makespan: 4 is claimed, but best found 3, 9" in verdict.contradicted


def test_that_nothing_is_feasible_is_told() -> None:
    """Tests a word that no placement is feasible, against enumeration, rivals, plain reasons and certificates."""
    posed = small_problem("generalized-assignment", 1)
    solution = solve(posed)
    infeasible: dict[str, Any] = {"bound": (None,), "certificates": (), "termination": Termination.INFEASIBLE}
    nothing = replace(solution, **{**NOTHING_HELD, **infeasible})
    assert certify(posed, nothing).claims == (Claim("solver", "that there is no feasible placement rests on: solver"),)
    text = "termination: INFEASIBLE: every placement was tried: {} feasible"
    assert certify(posed, nothing, enumerated=Enumerated(None)).proofs == (text.format("none is"),)
    shown = Certificate(FEASIBLE, Proof.COMBINATORIAL, 0, {"multipliers": [], "steps": [{}]})
    for verdict, ending in (
        (certify(posed, nothing, against={"first": solution.decision}), "but first found a feasible placement"),
        (certify(posed, nothing, enumerated=Enumerated((3,))), text.format("one is")),
        (certify(posed, replace(solution, **infeasible)), "INFEASIBLE: no placement, but there is one"),
        (
            certify(posed, replace(nothing, certificates=(replace(shown, claim=1),))),
            "claims feasible-decisions 1, not feasible-decisions 0",
        ),
        (certify(posed, replace(nothing, certificates=(shown,))), "steps: the leaf at step 0 proves nothing"),
        (
            certify(posed, replace(solution, certificates=(*solution.certificates, shown))),
            'certificate: generalized-assignment has no component "feasible-decisions"',
        ),
    ):
        (found,) = verdict.contradicted
        assert found.endswith(ending)
    for kind in (Proof.ENUMERATION, Proof.SOLVER):
        word = replace(nothing, certificates=(Certificate(FEASIBLE, kind, 0),))
        assert certify(posed, word).unproved == (f"that there is no feasible placement rests on: {kind}",)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("optsched.certificates.checking.record_of", lambda kind: Record(name="x", problem="y"))
        (found,) = certify(posed, replace(nothing, certificates=(shown,))).contradicted
        assert found.endswith("generalized-assignment has no such proof")
    pairs = Pairs([[1.0]], {"weight": [[2.0]]})
    full = GeneralizedAssignment(Instance(Cluster(["a"], capacity={"weight": [1.0]}), Workload(["t"], pairs=pairs)))
    assert full.plainly_infeasible is not None
    assert certify(full, solve(full)).proofs == (f"termination: INFEASIBLE: {full.plainly_infeasible}",)
    plain = JobTimes(Instance(Cluster(["a"]), Workload(["t"], duration=[1])))
    (found,) = certify(plain, replace(solve(plain), **{**NOTHING_HELD, **infeasible})).contradicted
    assert found == "termination: INFEASIBLE, but nothing makes that so: a schedule is feasible"


#: Made by version 0.1.0 (commit 4bb37c4b): instances by `generate`, whose command is their `source`, and what `solve
#: --problem NAME --output` wrote for each. They stay as they are: docs/reference/stability.md promises to read them.
WRITTEN_BY_0_1_0 = Path(__file__).resolve().parent.parent / "data" / "written_by_0.1.0"


@pytest.mark.parametrize("name", ["lsap", "fair-lsap", "flow", "latency"])
def test_files_of_version_0_1_0(name: str) -> None:
    """Tests that files of the first version are read, and that every claim in them is still valid and proved."""
    file = WRITTEN_BY_0_1_0 / f"{name}-solution.json"
    document = json.loads(file.read_text(encoding="utf-8"))
    instance = load(WRITTEN_BY_0_1_0 / f"{name}.json")
    solution = read_solution(file, instance)
    posed = problem(name, instance, **solution.parameters)
    assert document["versions"]["optsched"] == "0.1.0"
    assert (solution.problem, solution.instance_sha256) == (name, instance.sha256)
    assert solution.objective == tuple(map(Fraction, document["objective"])) == solve(posed).objective
    verdict = certify(posed, solution)
    assert (verdict.valid, verdict.proved, len(verdict.proofs)) == (True, True, len(posed.components))
