"""Certificates of schedules: they prove what they claim, never more than the optimum, and hostile data is refused."""

import json
import random
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from over_time import batch, both, crowded, one_job, searched

from optsched.certificates import proved_bound
from optsched.certificates.schedules import counting_certificate, ends_alone, tree_certificate
from optsched.core.errors import CertificateInvalid
from optsched.core.instance import MAP, Cluster, Instance, Ragged, Workload
from optsched.core.placement import seconds
from optsched.core.results import Certificate, Number, Proof
from optsched.problems import schedule_program
from optsched.problems.job_times import JobTimes
from optsched.problems.makespan import Makespan
from optsched.problems.schedule_bounds import JobEnds, JobsAlone, PricedTime, Window, ruled_out
from optsched.routes.latency import latency_search
from optsched.solvers.profiles import Profile
from optsched.solvers.searches.enumeration import best_decision
from optsched.solvers.searches.program_tree import settling_tree
from optsched.solvers.searches.schedules import ScheduleSearch

SECOND = 10**6


def as_written(certificate: Certificate) -> Certificate:
    """A certificate as a file gives it back."""
    return replace(certificate, data=json.loads(json.dumps(certificate.data)))


def test_trees_over_the_program_prove_the_optimum_and_no_more() -> None:
    """Tests trees on drawn instances, and that other prices, claims and steps prove no more than the optimum."""
    grown, chance = 0, random.Random(0)
    for problem, optimum in both(range(5)):
        posed = problem.within(problem.value_below(optimum))
        program = posed.program()
        limit = int(optimum * program.unit)
        tree = settling_tree(program.numbers, limit, Profile("exact"), 60)
        if tree is None:
            continue
        grown += 1
        certificate = as_written(tree_certificate(problem, program, tree, optimum))
        assert proved_bound(problem, certificate) == certificate.claim == optimum
        for _ in range(4):
            forged = as_written(certificate)
            some = forged.data["multipliers"][chance.randrange(len(forged.data["multipliers"]))]
            if some["prices"]:
                some["prices"][chance.randrange(len(some["prices"]))] += chance.randrange(-(2**20), 2**20)
            with suppress(CertificateInvalid):  # a leaf may prove nothing
                assert proved_bound(problem, forged) <= optimum
        for claim in (optimum + Fraction(1, SECOND), optimum + 1, 2 * optimum + 10**9):
            with suppress(CertificateInvalid):  # there are more columns and rows then, so that the tree may not fit
                assert proved_bound(problem, replace(certificate, claim=claim)) <= optimum
    assert grown > 6


def refused(problem: Makespan | JobTimes, data: dict[str, Any], message: str) -> None:
    """A certificate with this data is refused with the message."""
    with pytest.raises(CertificateInvalid, match=message):
        proved_bound(problem, Certificate(problem.components[0].name, Proof.DUAL, 99, data))


#: A map of a second, on a node that has a slot for it, and where none has.
ONE, NO_SLOT = (JobTimes(Instance(Cluster(["a"], slots=[n]), Workload(["t"], duration=[1]))) for n in (1, 0))


def test_trees_over_no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a tree is refused if no slot is there, or if the program would be too large to build."""
    data: dict[str, Any] = {"within": 3, "multipliers": [], "steps": []}
    refused(NO_SLOT, data, r"within: .*no slot")
    monkeypatch.setattr(schedule_program, "_MOST_UNITS", 0)
    refused(ONE, data, r"within: .*would have up to .* units; give times in coarser units")


def test_windows_prove_the_next_instant() -> None:
    """Tests that a window that rules an end out proves the next one that is possible, and another one nothing."""
    workload = Workload(list("tuvw"), replicas=Ragged.from_rows([[0]] * 4), times=[[3, 9, 9]] * 4)
    problem, prices = Makespan(Instance(Cluster(["a", "b"]), workload)), np.array([3, 1])
    ends = [end for end in range(1, 60) if ruled_out(problem, Window(MAP, end * SECOND, prices))]
    window = Window(MAP, max(ends) * SECOND, prices)
    certificate = as_written(counting_certificate(problem, window=window))
    assert proved_bound(problem, certificate) == certificate.claim == max(ends) + 1 == 9
    certificate.data["windows"][0]["to"] += SECOND
    path = counting_certificate(problem)
    assert proved_bound(problem, certificate) == path.claim == proved_bound(problem, path) == 6
    del certificate.data["windows"][0]["node_prices"]
    certificate.data["windows"][0]["to"] = 5 * SECOND
    assert proved_bound(problem, certificate) == 6


@pytest.mark.parametrize(
    "changes",
    [
        {"slots": "disk"},
        {"slots": ["map"]},
        {"to": None},
        {"to": 0},
        {"to": "15"},
        {"to": 2**53, "node_prices": {"n0": 2**40}},
        {"function": 1},
        {"function": True},
        {"tail": SECOND},
        {"to": 2**20, "node_prices": {"n0": 2**40}},
        {"node_prices": {"nowhere": 1}},
        {"node_prices": [1]},
        {"from": -1},
        {"from": SECOND},
    ],
)
def test_hostile_windows(changes: dict[str, Any]) -> None:
    """Tests that data that is no window is refused, with its place."""
    window = {"slots": "map", "from": 0, "to": 15 * SECOND, "function": 0, "node_prices": {"n0": 2, "n1": 2}} | changes
    refused(Makespan(batch(1)), {"windows": [window]}, "windows")


@pytest.mark.parametrize("windows", [3, [[]], [None]])
def test_what_holds_no_windows(windows: Any) -> None:
    """Tests that windows must be a list of objects, for `job-times` too, which reads them no longer."""
    refused(Makespan(batch(1)), {"windows": windows}, "windows")
    refused(JobTimes(batch(1)), {"windows": windows}, "windows: must" if windows == 3 else "solve again")


def slot_prices(**changes: Any) -> dict[str, Any]:
    """Prices by time, changed."""
    return {"step": SECOND, "scale": 2, "slot_prices": {"map": [1, 2, 3], "reduce": []}} | changes


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *(({"by": by}, "by: must be") for by in (None, -1, 10**7, 1.5)),
        ({"step": 0}, "step: must be above 0, not 0"),
        ({"step": 1.5}, "step: must be an integer"),
        ({"step": 1}, "slot_prices: .* steps"),
        ({"scale": 0}, "scale: must be above 0, not 0"),
        ({"slot_prices": []}, "slot_prices: must be an object"),
        ({"slot_prices": {"map": [1]}}, "reduce: must be a list"),
        ({"slot_prices": {"map": [1, "2"], "reduce": []}}, "map: must be an integer"),
        ({"slot_prices": {"map": [2**53] * 40, "reduce": []}}, r"slot_prices: .* 2\^57"),
    ],
)
def test_hostile_prices(changes: dict[str, Any], message: str) -> None:
    """Tests that data that is no prices of slots, or no number of steps, is refused with its place."""
    refused(Makespan(batch(1)), slot_prices(**{"by": 1, **changes}), message)
    refused(JobTimes(batch(1)), slot_prices(), "slot_prices: they alone prove no job times; solve again")
    refused(Makespan(NO_SLOT.instance), slot_prices(by=1), "slot_prices: no slot")


def test_ends_that_nothing_rules_out() -> None:
    """Tests that prices prove no end that is early or late, nor one at which slots earn no more than all tasks pay."""
    problem, equal = Makespan(batch(1)), {"map": [1] * 60, "reduce": []}

    def proved_by(**changes: Any) -> Number:
        return proved_bound(problem, Certificate("makespan", Proof.DUAL, 99, slot_prices(**changes)))

    least = seconds(int(problem.earliest_completions.max()) - problem.now)
    assert [proved_by(by=by) for by in (1, 400, 10**6)] == [least] * 3
    assert proved_by(slot_prices=equal, by=21) > proved_by(slot_prices=equal, by=24) == least > 2


def test_cases_prove_what_they_claim() -> None:
    """Tests that a tree of cases by jobs' ends is proved, and is weaker or refused where a part of it is changed."""
    problem = JobTimes(batch(5, tasks=48))
    search = ScheduleSearch(problem)
    search.run()
    assert search.closed
    certificate = as_written(search.proof)
    assert proved_bound(problem, certificate) == certificate.claim == search.value
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
    refused(problem, data, r"steps: \d+ costs would have to be compared in all")


# Jobs alone ---------------------------------------------------------------------------------------------------------


def alone_certificate(problem: Makespan | JobTimes, entries: Any) -> Certificate:
    """A certificate of jobs alone, as a file gives it back."""
    data = {"windows": [], "alone": entries}
    return as_written(Certificate(problem.components[0].name, Proof.DUAL, 99, data))


def test_jobs_alone_prove_what_they_claim() -> None:
    """Tests on drawn instances that covers and prices of jobs alone are proved again, and no more than the optimum.

    A job alone ends no later than with its maps on all slots, far from their data.
    """
    forms, late = set(), 0
    for seed in range(60):
        for kind in (Makespan, JobTimes):
            problem = kind(crowded(seed), slowstart=(0.05, 1, 0.5)[seed % 3])
            if problem.plainly_infeasible is not None:
                continue
            search, found = searched(problem), best_decision(problem)
            certificate = counting_certificate(problem, search.proofs)
            assert search.bound.value <= certificate.claim <= found[0][0]
            assert (search.ends <= np.maximum(JobsAlone(problem).latest, problem.earliest_completions)).all()
            late += len(search.entries)
            assert proved_bound(problem, as_written(certificate)) == certificate.claim
            forms |= {frozenset(entry) for entry in search.proofs}
    for seed in (1, 3, 11, 16):
        instance, alone = one_job(seed, nodes=3, maps=8)
        search = searched(Makespan(instance))
        certificate = counting_certificate(search.problem, search.proofs)
        least = latency_search(alone).first_feasible().limit
        assert proved_bound(search.problem, as_written(certificate)) == certificate.claim == Fraction(least, 10)
        forms |= {frozenset(entry) for entry in search.proofs}
    assert late > 20
    assert forms == {
        frozenset({"job", "to", "cover"}),
        frozenset({"job", "to", "weight", "task_prices", "remote_price"}),
    }


def test_changed_covers_prove_no_more_than_the_optimum() -> None:
    """Tests that any cover and any time prove a bound, and that some add to counting and others do not."""
    chance, shown = random.Random(2), set()
    for seed in range(20, 40):
        problem = Makespan(crowded(seed))
        if problem.plainly_infeasible is not None:
            continue
        found = best_decision(problem)
        jobs, nodes = JobsAlone(problem), problem.instance.cluster.node_ids.tolist()
        plainly = counting_certificate(problem).claim
        for job in range(len(problem.jobs)):
            for _ in range(10 if jobs.posed(job) else 0):
                cover = [name for name in nodes if chance.random() < 0.7]
                time = chance.choice([0, 1, chance.randrange(8 * SECOND)])
                bound = proved_bound(problem, alone_certificate(problem, [{"job": job, "to": time, "cover": cover}]))
                assert plainly <= bound <= found[0][0]
                shown.add(bound > plainly)
    assert shown == {False, True}


def test_jobs_alone_with_cases() -> None:
    """Tests that cases count from when each job alone has ended, and prove more for that."""
    problem = JobTimes(one_job(3, slots=1, nodes=4, maps=12)[0])
    proofs = searched(problem).proofs
    later = counting_certificate(problem, proofs)
    assert later.claim == searched(problem).bound.value
    ends = JobEnds(problem, problem.lattice, 10**6, ends_alone(problem, later.data))
    assert ends.box.lower[0] * problem.lattice == later.claim * SECOND
    limit = PricedTime(problem, problem.lattice).limit_of(later.claim)
    tree = {"multipliers": [{"scale": 1, "slot_prices": {"map": [], "reduce": []}}], "steps": [{"by": [0]}]}
    data = {"step": problem.lattice, "limit": limit, **tree}
    assert proved_bound(problem, Certificate("job time", Proof.DUAL, 1, data | {"alone": proofs})) == later.claim
    assert proved_bound(problem, Certificate("job time", Proof.DUAL, 1, data)) < later.claim


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (3, "alone: must be a list"),
        ([3], "alone: must hold objects"),
        ([{}], r"alone\[0\]: there is no job None"),
        ([{"job": True, "to": 1, "cover": []}], r"alone\[0\]: there is no job True"),
        ([{"job": -1, "to": 1, "cover": []}], r"alone\[0\]: there is no job -1"),
        ([{"job": 0, "to": 1, "cover": []}] * 2, r"alone\[1\].job: 0 is there twice"),
        ([{"job": 0, "cover": []}], r"alone\[0\].to: must be an integer"),
        ([{"job": 0, "to": 2**60, "cover": []}], r"alone\[0\].to: must be an integer"),
        ([{"job": 0, "to": 1, "cover": ["nowhere"]}], r"alone\[0\].cover: there is no node 'nowhere'"),
        ([{"job": 0, "to": 1, "cover": [["n0"]]}], r"alone\[0\].cover: there is no node"),
        ([{"job": 0, "to": 1, "weight": 1, "task_prices": {"x": 1}, "remote_price": 1}], "task_prices: there is no"),
        ([{"job": 0, "to": 1, "weight": -1, "task_prices": {}, "remote_price": 1}], "weight: must be at least 0"),
        ([{"job": 0, "to": 1, "weight": 1, "task_prices": {}}], r"alone\[0\].remote_price: must be an integer"),
    ],
)
def test_hostile_jobs_alone(entries: Any, message: str) -> None:
    """Tests that data that is no proof of jobs alone is refused, with its place, by each form of certificate."""
    instance = one_job(1)[0]
    refused(Makespan(instance), {"windows": [], "alone": entries}, message)
    refused(JobTimes(instance), {"windows": [], "alone": entries}, message)
    refused(Makespan(instance), slot_prices(by=1, alone=entries), message)


def test_jobs_alone_that_have_no_maps() -> None:
    """Tests that an entry for a job without maps that take time, or without slots for them, is refused."""
    entry = {"job": 0, "to": 1, "cover": []}
    for cluster in (Cluster(["a"], reduce_slots=[1]), Cluster(["a"], slots=[0])):
        kind = int(cluster.reduce_slots[0])
        problem = Makespan(Instance(cluster, Workload(["t"], kind=[kind], duration=[1])))
        refused(problem, {"windows": [], "alone": [entry]}, r"alone\[0\].job: 0 has no maps")


def test_late_and_early_times_prove_nothing() -> None:
    """Tests that a time before the job may begin, and one far beyond its end, add nothing to counting."""
    for problem in (Makespan(one_job(1)[0]), JobTimes(batch(1))):
        for time in (-(2**53), -1, 10**9, 2**53):
            for entry in ({"cover": ["n0"]}, {"weight": 0, "task_prices": {"t0": 3}, "remote_price": 2}):
                given = alone_certificate(problem, [{"job": 0, "to": time, **entry}])
                assert proved_bound(problem, given) == counting_certificate(problem).claim
