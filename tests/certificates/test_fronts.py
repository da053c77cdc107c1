"""Frontiers: what is true is proved part by part, and each change of a part is caught."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small_problems import traffic as posed

import optsched
from optsched.certificates import Enumerated, certify
from optsched.core.registry import records
from optsched.core.results import Certificate, Frontier, Limit, Proof
from optsched.instances.claim_files import write_claim
from optsched.problems import Latency, Traffic
from optsched.routes.doubts import examine
from optsched.testing.contract import cases

#: A frontier of two points, each proved by covers.
LATENCY = optsched.problem("latency", "papers/fsy-not-optimal")
FOUND = optsched.frontier(LATENCY)


def false(problem: Any, claimed: Any) -> list[str]:
    """What is found to be false."""
    return [check.what for check in certify(problem, claimed).checks if not check.holds]


def with_point(number: int, **changes: Any) -> Frontier:
    """The frontier with one point changed."""
    points = list(FOUND.points)
    points[number] = replace(points[number], **changes)
    return replace(FOUND, points=tuple(points))


def with_proof(number: int, place: int, proof: Certificate) -> Frontier:
    """The frontier with one certificate of a point another."""
    held = list(FOUND[number].certificates)
    held[place] = proof
    return with_point(number, certificates=tuple(held))


def test_sound() -> None:
    """Tests that a true frontier is proved, by a certificate before and at each point, and a bound behind the last."""
    verdict = certify(LATENCY, FOUND)
    assert verdict.proved
    assert [told.partition(": proves")[0] for told in verdict.proofs] == [
        "before point 1: combinatorial proof of makespan",
        "point 1: combinatorial proof of work",
        "before point 2: combinatorial proof of work",
        "point 2: combinatorial proof of work",
        "after point 2: cheap bound least-work of work",
    ]


def test_of_something_else() -> None:
    """Tests that a frontier of another problem, instance, parameters or components is refused, and is told so."""
    assert false(LATENCY, replace(FOUND, problem="traffic")) == ["problem"]
    assert false(Latency(LATENCY.instance, w_rem=4), FOUND) == ["parameters"]
    assert false(LATENCY, replace(FOUND, instance_sha256="0")) == ["instance"]
    assert false(LATENCY, replace(FOUND, components=("work", "makespan"))) == ["components"]
    lsap = optsched.problem("lsap", "papers/guo-fig2")
    wrong = replace(FOUND, problem="lsap", instance_sha256=lsap.instance.sha256, parameters={})
    assert false(lsap, wrong) == ["components"]


BEFORE = "before point 2: combinatorial proof of work"


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (replace(FOUND, points=FOUND.points[1:]), ["before point 1"]),
        (replace(FOUND, points=FOUND.points[::-1]), ["order"]),
        (replace(FOUND, points=(FOUND[0], FOUND[0])), ["order"]),
        (replace(FOUND, points=()), ["complete"]),
        (replace(FOUND, limit=Limit.TIME), ["complete"]),
        (with_point(0, objective=(3, 8)), ["point 1", "before point 2"]),
        (with_point(0, placement=FOUND[1].placement), ["point 1"]),
        (with_point(1, placement=LATENCY.placement([0] * 7)), ["point 2"]),
        (with_point(1, placement=LATENCY.placement([-1] * 7)), ["point 2"]),
        (with_point(0, certificates=FOUND[1].certificates), ["before point 1", "point 1"]),
        (
            with_proof(0, 1, Certificate("work", Proof.COMBINATORIAL, 9, {"limit": 3})),
            ["point 1: combinatorial proof of work"],
        ),
        *(
            (with_proof(1, 0, replace(FOUND[1].certificates[0], data={"limit": limit, "cover": []})), [BEFORE])
            for limit in (2, 3)
        ),
        # A certificate of the first component says nothing of what is between two points.
        (with_proof(1, 0, Certificate("makespan", Proof.COMBINATORIAL, 4, {"limit": 3, "cover": []})), [BEFORE[:14]]),
    ],
)
def test_false(changed: Frontier, told: list[str]) -> None:
    """Tests that a point that is missing, swapped, of another value, placement or certificate is false where it is."""
    assert false(LATENCY, changed) == told


def test_last_point_left_out() -> None:
    """Tests that what is called complete must end at a cheap bound; what is not may end anywhere."""
    short = replace(FOUND, points=FOUND.points[:1])
    verdict = certify(LATENCY, short)
    assert verdict.unproved == ("that nothing has better work than point 1 rests on: nothing",)
    assert not verdict.accepted(["solver", "enumeration"])
    assert certify(LATENCY, replace(short, complete=False, limit=Limit.TIME)).proved
    nothing = certify(LATENCY, replace(FOUND, points=(), complete=False, limit=Limit.TIME))
    assert nothing.unproved == ("no point is claimed",)


def test_words() -> None:
    """Tests that a solver's word is but a claim, unless a cheap bound or trying everything is as good."""
    words = [Certificate(entry.component, Proof.SOLVER, entry.claim) for point in FOUND for entry in point.certificates]
    points = [replace(point, certificates=tuple(words[2 * at : 2 * at + 2])) for at, point in enumerate(FOUND)]
    sworn = replace(FOUND, points=tuple(points))
    verdict = certify(LATENCY, sworn)
    assert verdict.valid
    assert verdict.unproved == (
        "point 1: bound 9 of work rests on: solver",
        "before point 2: bound 9 of work rests on: solver",
    )
    assert certify(LATENCY, sworn, enumerated=Enumerated(front=((3, 9), (4, 7)))).proved
    assert "enumeration" in examine(LATENCY, sworn).proofs[-1]
    wrong = certify(LATENCY, sworn, enumerated=Enumerated(front=((3, 8), (4, 7))))
    assert wrong.contradicted == ("enumeration: every placement was tried: 3, 8; 4, 7",)
    short = replace(sworn, points=sworn.points[:1], complete=False, limit=Limit.TIME)
    assert certify(LATENCY, short, enumerated=Enumerated(front=((3, 9), (4, 7)))).proved


def test_rivals() -> None:
    """Tests that a placement that no point beats or meets contradicts a frontier, as far as it goes."""
    better = FOUND[1].placement
    short = replace(FOUND, points=FOUND.points[:1])
    assert certify(LATENCY, short, {"rival": better}).contradicted == ("rivals: rival found 4, 7",)
    assert certify(LATENCY, replace(short, complete=False), {"rival": better}).valid
    assert certify(LATENCY, FOUND, {"rival": better}).proved
    beside = replace(FOUND, points=FOUND.points[1:], complete=False)
    assert "rivals" in [check.what for check in certify(LATENCY, beside, {"r": FOUND[0].placement}).checks]


def test_no_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that nothing is proved to be missing between points of a problem that names no step of its values."""
    monkeypatch.setattr(Latency, "first_step", None)
    (claim,) = certify(LATENCY, FOUND).unproved
    assert claim.startswith("before point 2: latency does not say what values of makespan are multiples of")


def test_nothing_feasible() -> None:
    """Tests that a frontier without points is proved where one task or node shows why, else it is a word."""
    traffic = optsched.problem("traffic", "papers/joss-empty-datacenter")
    names = ("traffic", "load")
    empty = Frontier("traffic", names, (), True, None, traffic.parameters, traffic.instance.sha256)
    assert certify(traffic, empty).unproved == ("that there is no feasible placement rests on: solver",)
    assert false(traffic, replace(optsched.frontier(traffic), points=())) == []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Traffic, "plainly_infeasible", "there is no slot")
        assert certify(traffic, empty).proofs == ("complete: no point: there is no slot",)


def test_proof_that_nothing_is_feasible() -> None:
    """Tests that a frontier without points is proved by its certificate, which is refused anywhere else."""
    full = posed([[0]], reduces=2, nodes=[0, 1, 2], reduce_slots=[3, 3, 0], jobs=3, capacity="slots")
    empty = optsched.frontier(full)
    what = "dual proof that nothing is feasible"
    (proof,) = certify(full, empty).proofs
    assert proof.startswith(f"{what}: no point: ")
    assert certify(full, empty).proved
    for wrong in (replace(empty.infeasible, component="load"), replace(empty.infeasible, claim=1)):
        assert false(full, replace(empty, infeasible=wrong)) == [what]
    tried = replace(empty, infeasible=replace(empty.infeasible, kind=Proof.ENUMERATION))
    assert certify(full, tried).unproved == ("that there is no feasible placement rests on: enumeration",)
    assert false(full, replace(empty, complete=False, limit=Limit.TIME)) == ["infeasible"]
    roomy = posed([[0]], reduces=2, nodes=[0, 1, 2], reduce_slots=[3, 3, 2], jobs=3, capacity="slots")
    found = optsched.frontier(roomy)
    (told,) = certify(roomy, replace(found, infeasible=empty.infeasible)).contradicted
    assert told == "infeasible: a proof that nothing is feasible, but 1 point"
    assert false(roomy, replace(found, points=(), infeasible=empty.infeasible)) == [what]


#: Certifies files, given as pairs of an instance and a claim, where nothing that solves can be imported.
CHECKER = """
import sys

for name in ("highspy", "pyomo", "pulp", "scipy", "numba", "networkx"):
    sys.modules[name] = None
import optsched
from optsched.instances.claim_files import read_claim

for line in sys.stdin.read().splitlines():
    instance, claim, name = line.split("\t")
    posed = optsched.load(instance)
    found = read_claim(claim, posed)
    verdict = optsched.certify(optsched.problem(name, posed, **found.parameters), found)
    print(verdict.valid, *verdict.contradicted, *verdict.unproved)
"""


def test_from_files_without_solvers(tmp_path: Path) -> None:
    """Tests that frontiers of every problem that has them are proved from files, where no solver loads."""
    lines = []
    for name, entry in records().items():
        if not entry.frontier:
            continue
        found = [(case.problem, optsched.frontier(case.problem)) for case in cases(entry)]
        problem, claim = max((one for one in found if certify(*one).proved), key=lambda one: len(one[1]))
        optsched.save(problem.instance, tmp_path / f"{name}.json")
        for kind in ("json", "npz"):
            write_claim(claim, problem.instance, tmp_path / f"{name}.claim.{kind}")
            lines.append(f"{tmp_path}/{name}.json\t{tmp_path}/{name}.claim.{kind}\t{name}")
    done = subprocess.run(
        [sys.executable, "-c", CHECKER], input="\n".join(lines), capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    told = done.stdout.splitlines()
    assert [line.split()[0] for line in told] == ["True"] * len(lines)
    assert sum(line == "True" for line in told) >= len(lines) - 2
