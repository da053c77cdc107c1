"""Certificates of schedules: they prove what they claim, never more than the optimum, and hostile data is refused."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from over_time import batch, both, proved

from optsched.certificates import certify, proved_bound
from optsched.certificates.schedules import (
    makespan_certificate,
    prices_certificate,
    windows_certificate,
)
from optsched.errors import CertificateInvalid
from optsched.instance import KINDS, MAP, Cluster, Instance, Workload
from optsched.problems.job_ends import JobEnds
from optsched.problems.job_times import JobTimes
from optsched.problems.makespan import Makespan
from optsched.problems.schedule_windows import Window, ruled_out
from optsched.problems.time_prices import TimePrices
from optsched.results import Certificate, Proof, Termination
from optsched.routes import solve
from optsched.searches.schedules import ScheduleSearch

SECOND = 10**6


def as_written(certificate: Certificate) -> Certificate:
    """A certificate as a file gives it back."""
    return replace(certificate, data=json.loads(json.dumps(certificate.data)))


def test_what_is_claimed_is_proved() -> None:
    """Tests on drawn instances that what the search claims is what the checker recomputes, and no schedule beats it."""
    kinds = set()
    for problem, optimum in both(range(30)):
        search = ScheduleSearch(problem)
        search.run()
        assert proved_bound(problem, as_written(search.proof)) == search.proof.claim <= optimum
        kinds.add((problem.name, search.proof.kind))
    assert kinds == {("makespan", Proof.DUAL), ("job-times", Proof.DUAL)}


def makespan_window(**changes: Any) -> dict[str, Any]:
    """The data of a window that proves something of `batch(1)`, changed."""
    window = {"slots": "map", "from": 0, "to": 15 * SECOND, "function": 0, "node_prices": {"n0": 2, "n1": 2}}
    return {name: value for name, value in (window | changes).items() if value is not None}


def test_windows_prove_the_next_instant() -> None:
    """Tests that a window that rules an end out proves the next one that is possible, and another one nothing."""
    problem = Makespan(batch(1))
    ends = [end for end in range(1, 60) if ruled_out(problem, Window(MAP, 0, end * SECOND))]
    window = Window(MAP, 0, max(ends) * SECOND, prices=np.array([3, 3, 3, 3]))
    certificate = as_written(makespan_certificate(problem, window))
    assert proved_bound(problem, certificate) == certificate.claim == max(ends) + 1
    certificate.data["windows"][0]["to"] += SECOND
    path = makespan_certificate(problem)
    assert proved_bound(problem, certificate) == path.claim == proved_bound(problem, path)
    assert 0 < path.claim < max(ends) + 1


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"window": []},
        {"window": None},
        {"window": makespan_window(slots="disk")},
        {"window": makespan_window(slots=["map"])},
        {"window": makespan_window(to=None)},
        {"window": makespan_window(to=0)},
        {"window": makespan_window(to="15")},
        {"window": makespan_window(to=2**53, node_prices={"n0": 2**40})},
        {"window": makespan_window(function=-1)},
        {"window": makespan_window(function=True)},
        {"window": makespan_window(function=10**7)},
        {"window": makespan_window(tail=-1)},
        {"window": makespan_window(slots="reduce", tail=SECOND)},
        {"window": makespan_window(to=2**20, node_prices={"n0": 2**40})},
        {"window": makespan_window(node_prices={"nowhere": 1})},
        {"window": makespan_window(node_prices=[1])},
        {"window": makespan_window(**{"from": -1})},
    ],
)
def test_hostile_windows(data: dict[str, Any]) -> None:
    """Tests that data that is no window is refused, with its place."""
    entries = {"windows": [data["window"]] if "window" in data else 3}
    for problem in (Makespan(batch(1)), JobTimes(batch(1))):
        with pytest.raises(CertificateInvalid, match="windows"):
            proved_bound(problem, Certificate(problem.components[0].name, Proof.DUAL, 99, entries))


def slot_prices(**changes: Any) -> dict[str, Any]:
    """Prices by time, changed."""
    return {"step": SECOND, "scale": 2, "slot_prices": {"map": [1, 2, 3], "reduce": []}} | changes


@pytest.mark.parametrize("by", [None, -1, 10**7, 1.5])
def test_hostile_ends(by: Any) -> None:
    """Tests that an end is a number of steps that is not too large, and that a late one proves nothing."""
    problem = Makespan(batch(1))
    with pytest.raises(CertificateInvalid, match="by"):
        proved_bound(problem, Certificate("makespan", Proof.DUAL, 99, slot_prices(by=by)))
    late = Certificate("makespan", Proof.DUAL, 99, slot_prices(by=400))
    assert proved_bound(problem, late) == makespan_certificate(problem).claim
    latest = Certificate("makespan", Proof.DUAL, 99, slot_prices(by=10**6))
    assert proved_bound(problem, latest) == makespan_certificate(problem).claim
    early = Certificate("makespan", Proof.DUAL, 99, slot_prices(by=1))
    assert proved_bound(problem, early) == makespan_certificate(problem).claim > 2


def test_prices_that_tasks_can_pay() -> None:
    """Tests that an end at which the slots earn no more than all tasks pay is ruled out by nothing."""
    problem = Makespan(batch(1))
    equal = {"map": [1] * 60, "reduce": []}
    proved_by = [
        proved_bound(problem, Certificate("makespan", Proof.DUAL, 99, slot_prices(slot_prices=equal, by=by)))
        for by in (21, 24)
    ]
    assert proved_by[0] > proved_by[1] == makespan_certificate(problem).claim


@pytest.mark.parametrize(
    "data",
    [
        slot_prices(step=0),
        slot_prices(step=1.5),
        slot_prices(scale=0),
        slot_prices(slot_prices=[]),
        slot_prices(slot_prices={"map": [1]}),
        slot_prices(slot_prices={"map": [1, "2"], "reduce": []}),
        slot_prices(slot_prices={"map": [2**53] * 40, "reduce": []}),
        slot_prices(step=1),
    ],
)
def test_hostile_prices(data: dict[str, Any]) -> None:
    """Tests that data that is no prices of slots is refused."""
    with pytest.raises(CertificateInvalid):
        proved_bound(JobTimes(batch(1)), Certificate("job time", Proof.DUAL, 99, data))


@pytest.mark.parametrize("problem_class", [Makespan, JobTimes])
def test_a_word_that_nothing_is_feasible(problem_class: type[Makespan | JobTimes]) -> None:
    """Tests that it is contradicted where slots tell that a schedule is feasible, and no certificate is given."""
    problem = problem_class(Instance(Cluster(["a"]), Workload(["t"], duration=[1])))
    solution = replace(
        solve(problem, route="search"),
        decision=None,
        objective=None,
        bound=(None,),
        termination=Termination.INFEASIBLE,
        certificates=(),
    )
    verdict = certify(problem, solution)
    assert not verdict.valid
    assert "nothing makes" in " ".join(verdict.contradicted)


def test_prices_without_slots() -> None:
    """Tests that prices of slots that do not exist are refused."""
    problem = JobTimes(Instance(Cluster(["a"], slots=[0]), Workload(["t"], duration=[1])))
    with pytest.raises(CertificateInvalid, match="slot"):
        proved_bound(problem, Certificate("job time", Proof.DUAL, 1, slot_prices()))


def test_changed_prices_prove_no_more_than_the_optimum() -> None:
    """Tests certificates with numbers changed at random: the checker still proves no more than the optimum."""
    chance, less = random.Random(9), 0
    for problem, optimum in proved(JobTimes, range(24)):
        columns = [np.array([chance.choice([0, 1, 5]) for _ in range(6)]) for _ in range(2)]
        given = TimePrices(SECOND, 3, (columns[0], columns[1]))
        window = Window(MAP, problem.now, problem.now + 2 * SECOND, 0, 1)
        for certificate in (prices_certificate(problem, given), windows_certificate(problem, [window])):
            held = as_written(certificate)
            assert proved_bound(problem, held) == certificate.claim <= optimum
            text = json.dumps(held.data)
            for digit in "123":
                changed = json.loads(text.replace(digit, "4").replace("4}", "-4}"))
                try:
                    found = proved_bound(problem, replace(held, data=changed))
                except CertificateInvalid:
                    continue
                assert found <= optimum
                less += found < certificate.claim
        assert proved_bound(problem, windows_certificate(problem)) <= optimum
    assert less


def test_cases_prove_what_they_claim() -> None:
    """Tests that a tree of cases by jobs' ends is proved, and is weaker or refused where a part of it is changed."""
    problem = JobTimes(batch(5, tasks=48))
    search = ScheduleSearch(problem)
    search.run()
    assert search.value is not None
    certificate = as_written(search.proof)
    assert proved_bound(problem, certificate) == certificate.claim == search.proof.claim
    data = certificate.data
    assert sum("branch" in step for step in data["steps"]) >= 1
    for forged in (
        data | {"steps": data["steps"][:-1]},
        data | {"steps": [*data["steps"], {"by": [0]}]},
        data | {"steps": [step | {"branch": 99, "at": 3} for step in data["steps"]]},
        data | {"steps": [step | {"branch": True, "at": 3} for step in data["steps"]]},
        data | {"steps": [step | {"branch": "j0", "at": 3} for step in data["steps"]]},
        data | {"step": 0},
        data | {"limit": -1},
        data | {"limit": 2**60},
        data | {"multipliers": [each | {"scale": 2**52} for each in data["multipliers"]]},
        data | {"multipliers": []},
    ):
        with pytest.raises(CertificateInvalid):
            proved_bound(problem, replace(certificate, data=forged))
    free = [each | {"slot_prices": {"map": [], "reduce": []}} for each in data["multipliers"]]
    assert proved_bound(problem, replace(certificate, data=data | {"multipliers": free})) < certificate.claim
    higher = proved_bound(problem, replace(certificate, data=data | {"limit": data["limit"] + 5}))
    assert higher <= search.value


def test_cases_that_would_take_hours() -> None:
    """Tests that a small file that has a box settled again and again is refused before any is."""
    problem = JobTimes(Instance(Cluster(["a"]), Workload(["t1", "t2"], duration=[2, 2])))
    free = {"scale": 1, "slot_prices": {"map": [], "reduce": []}}
    data = {"step": 5, "limit": 1_300_000, "multipliers": [free], "steps": [{"by": [0] * 2000}]}
    with pytest.raises(CertificateInvalid, match=r"steps: \d+ costs would have to be compared in all"):
        proved_bound(problem, Certificate("job time", Proof.DUAL, 5, data))


def test_cases_of_drawn_instances_prove_no_more_than_the_optimum() -> None:
    """Tests that random prices and branches in a tree never prove more than the optimum, whatever its limit says."""
    chance, told = random.Random(4), 0
    for problem, optimum in proved(JobTimes, range(40)):
        if not len(problem.tasks):
            continue
        step = problem.lattice * chance.choice([1, 1, 2])
        limit = JobEnds.limit_of(problem, step, optimum) + chance.randint(1, 4)
        ends = JobEnds(problem, step, limit)
        if int(ends.box.upper.max()) > 10**4:
            continue
        multipliers = [
            {"scale": chance.randint(0, 3), "slot_prices": {name: chance.choices(range(4), k=9) for name in KINDS}}
            for _ in range(4)
        ]
        job = chance.randrange(len(problem.jobs))
        branch = {"branch": job, "at": chance.randint(int(ends.box.lower[job]) - 1, int(ends.box.upper[job]) + 1)}
        steps = [{"by": [0], **branch}, {"by": [1, 2]}, {"by": [3, 0]}]
        data = {"step": step, "limit": limit, "multipliers": multipliers, "steps": steps}
        try:
            bound = proved_bound(problem, Certificate("job time", Proof.DUAL, optimum, data))
        except CertificateInvalid:  # a leaf that only a ray settles proves nothing
            continue
        assert bound <= optimum
        told += 1
    assert told > 10
