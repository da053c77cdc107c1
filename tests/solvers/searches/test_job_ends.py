"""When jobs end at the earliest, against enumeration: by trees and prices of slots, by windows, and by jobs alone."""

import json
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from over_time import FORMS, batch, before, crowded, fetching, one_job, proved, searched

from optsched import Certificate, Proof, bounds
from optsched.certificates import proved_bound, schedules
from optsched.certificates.schedules import cases_certificate, counting_certificate, end_certificate
from optsched.core.errors import CertificateInvalid
from optsched.core.instance import MAP, Cluster, Instance, Ragged, Workload
from optsched.core.results import Number, Termination
from optsched.problems.job_times import JobTimes
from optsched.problems.makespan import Makespan
from optsched.problems.schedule_bounds import JobEnds, PricedTime, Window, ruled_out
from optsched.routes.latency import latency_search
from optsched.solvers.answers import Limit, SolverOutcome
from optsched.solvers.highs import ArraySolution
from optsched.solvers.searches import job_ends
from optsched.solvers.searches.enumeration import best_decision
from optsched.solvers.searches.job_ends import (
    AloneSearch,
    EndTree,
    StartProgram,
    ended_by,
    fine_enough,
    latest_priced,
    latest_window,
    node_prices,
)
from optsched.solvers.searches.schedules import JobPlacing, best_placed

SECOND = 10**6


def two() -> tuple[JobEnds, StartProgram]:
    """Two jobs of a task of 2 s each, on a slot, within 9 s in all, and the program for them."""
    ends = JobEnds(JobTimes(Instance(Cluster(["a"]), Workload(["t1", "t2"], duration=[2, 2]))), SECOND, 9)
    return ends, StartProgram(ends, ends.box, 10)


def test_prices_and_parts_of_a_box() -> None:
    """Tests that prices prove what the program costs, what parts of jobs end late, and a ray where nothing fits."""
    ends, program = two()
    found, box = program.solve(ends.box), ends.box
    assert ends.settle(ends.box, found.prices, 9) == 6
    assert sum(float(late.sum()) for late in found.late) == pytest.approx(2)
    assert program.size == 2 * (int(box.upper[0]) - 1)
    box.upper[:] = 3
    ray = program.solve(box, ray=True)
    assert (found.outside, program.solve(box).outside, ray.prices.scale) == (False, True, 0)
    assert ends.settle(box, ray.prices, 9) == 9


def test_duals_of_the_wrong_sign_are_no_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a dual value that would be a negative price of a slot, by a solver's tolerance, is a price of 0."""
    ends, program = two()
    honest = program._warm.solve

    def turned(*given: Any) -> Any:
        found = honest(*given)
        return replace(found, row_duals=np.where(np.arange(len(found.row_duals)) == 0, 1.0, found.row_duals))

    monkeypatch.setattr(program._warm, "solve", turned)
    assert program.solve(ends.box).prices.prices[0][0] == 0


def test_running_tasks_hold_slots() -> None:
    """Tests that slots of running tasks have no room until these end."""
    running = {"status": [0, 1], "node": [-1, 0], "start": [np.nan, 0.0], "idle_slots": [0]}
    instance = Instance.initial(Cluster(["a"]), Workload(["t1", "t2"], duration=[2, 5]), **running)
    ends = JobEnds(JobTimes(instance), SECOND, 20)
    found = StartProgram(ends, ends.box, 10).solve(ends.box)
    assert float(sum(late.sum() for late in found.late)) == pytest.approx(5)


def test_a_stopped_program_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a run of HiGHS without an optimum gives no prices."""
    ends, program = two()
    outcome = SolverOutcome(Termination.NO_SOLUTION, Limit.MEMORY, None, None, "out of memory", 0.0, None)
    monkeypatch.setattr(program._warm, "solve", lambda *_: ArraySolution(outcome, None, None, None))
    assert program.solve(ends.box) is None


def test_ends_that_prices_rule_out() -> None:
    """Tests that prices of no drawn instance rule out what is attained, and that some prove more than counting."""
    more = 0
    for problem, optimum in proved(Makespan, range(60)):
        if len(problem.tasks):
            found = latest_priced(problem, problem.now, best_placed(problem))
            if found is not None:
                certificate = end_certificate(problem, *found)
                assert proved_bound(problem, certificate) == certificate.claim <= optimum
                more += certificate.claim > counting_certificate(problem).claim
    assert more


def test_steps_are_as_long_as_the_program_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that steps grow until the program, and what prices compare, are small enough."""
    problem = JobTimes(batch(3))
    placed, ends = best_placed(problem), problem.earliest_completions
    assert fine_enough(problem, placed, ends).step == problem.lattice
    for limit in ("_COEFFICIENTS", "_COMPARED"):
        with monkeypatch.context() as patched:
            patched.setattr(job_ends, limit, 50)
            assert fine_enough(problem, placed, ends).step > problem.lattice


def tree_of(problem: JobTimes, seconds: Number, found: list[list[int]] | None = None, more: int = 0) -> EndTree:
    """A tree up to a sum of job times, and some steps beyond it, for which no schedule is ever found."""
    limit = PricedTime(problem, problem.lattice).limit_of(seconds) + more

    def realised(ends: list[int]) -> int:
        (found if found is not None else []).append(ends)
        return limit

    return EndTree(JobEnds(problem, problem.lattice, limit), realised)


def certified(problem: JobTimes, tree: EndTree) -> Number:
    """What a tree proves, as its certificate in a file does."""
    certificate = cases_certificate(problem, problem.lattice, tree.proved, tree.tree())
    written = replace(certificate, data=json.loads(json.dumps(certificate.data)))
    assert proved_bound(problem, written) == certificate.claim
    return certificate.claim


def test_trees_prove_no_more_than_the_optimum() -> None:
    """Tests on drawn instances that a tree within any limit is right, and that its certificate is proved."""
    closed = count = 0
    for problem, optimum in proved(JobTimes, range(40)):
        limit = PricedTime(problem, problem.lattice).limit_of(optimum)
        if JobEnds(problem, problem.lattice, limit).box.upper.max(initial=0) > 10**3 or not len(problem.tasks):
            continue
        for more in (0, 3):
            tree = tree_of(problem, optimum, more=more)
            tree.run(200)
            claim = certified(problem, tree)
            assert claim <= optimum
            closed, count = closed + (claim == optimum), count + 1
    assert 4 * closed >= 3 * count


def test_cases_are_parted() -> None:
    """Tests that a tree proves more than prices for all cases together, and more with more programs."""
    problem = JobTimes(batch(5, tasks=48))
    search, _ = before(problem, "_by_cases")
    assert not search.closed
    bounds = []
    for most in (0, 1, 5, 40):
        tree = tree_of(problem, search.value)
        tree.run(most)
        bounds.append(certified(problem, tree))
        assert tree.size > 1
    assert bounds == sorted(bounds)
    assert bounds[0] < bounds[-1]


def test_a_schedule_that_is_found_lowers_the_limit() -> None:
    """Tests that where the program has all jobs whole a schedule is looked for, and closes what costs as much."""
    problem, asked = JobTimes(batch(5)), list[list[int]]()
    tree = tree_of(problem, 10**3, asked)
    tree.run(60)
    assert asked
    assert not tree.closed
    costs = [sum(ends) for ends in asked]
    again = EndTree(JobEnds(problem, problem.lattice, tree.limit), lambda ends: sum(ends))
    again.run(500)
    assert again.limit <= min(costs)
    assert again.closed


def test_a_limit_that_is_proved_at_once() -> None:
    """Tests that no program is solved where what each job takes alone costs as much as the limit."""
    problem = JobTimes(batch(5))
    tree = tree_of(problem, problem.total(problem.earliest_completions))
    tree.run(10)
    assert (tree.closed, tree.programs) == (True, 0)


def test_programs_that_say_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a case of which no program says anything stays open, with what is proved without prices."""
    monkeypatch.setattr(StartProgram, "solve", lambda *_: None)
    problem, asked = JobTimes(batch(5)), list[list[int]]()
    tree = tree_of(problem, 10**3, asked)
    tree.run(10)
    assert (tree.programs, asked, tree.closed) == (1, [], False)
    assert certified(problem, tree) > 0


def test_trees_that_are_checked_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that no more boxes are settled than a checker settles: the tree proves less, and its certificate holds."""
    problem = JobTimes(batch(5, tasks=48))
    whole = tree_of(problem, 10**3)
    whole.run(10)
    for module in (job_ends, schedules):
        monkeypatch.setattr(module, "MOST_WORK", whole.work // 2)
    part = tree_of(problem, 10**3)
    part.run(10)
    assert 0 < part.work <= whole.work // 2
    certified(problem, part)
    monkeypatch.setattr(schedules, "MOST_WORK", 1000)
    with pytest.raises(CertificateInvalid, match="costs would have to be compared in all, more than 1000"):
        certified(problem, whole)


def test_jobs_end_in_time_where_they_can() -> None:
    """Tests that drawn problems get schedules that are feasible, and in which jobs end by the times that are given."""
    found = 0
    for problem, _ in proved(JobTimes, range(50)):
        best = best_decision(problem)
        ends = problem.completions(best[1])
        schedule = ended_by(problem, ends, 2000)
        if schedule is not None:
            assert problem.violations(schedule) == []
            assert (problem.completions(schedule) <= ends).all()
            found += len(problem.tasks) > 0
    assert found > 10


def test_times_that_are_too_short_or_programs_too_large() -> None:
    """Tests that there is nothing where a job has no time, where all have too little, and past so many starts."""
    problem = JobTimes(batch(4))
    late = np.full(len(problem.jobs), problem.now + 100 * problem.lattice)
    placed = ended_by(problem, late, 10**5)
    assert problem.violations(placed) == []
    assert ended_by(problem, late, 100) is None
    assert ended_by(problem, 0 * late, 10**5) is None
    assert ended_by(problem, problem.earliest_completions, 10**5) is None


# Windows --------------------------------------------------------------------------------------------------------------


def two_holders(seed: int) -> Makespan:
    """Twenty-four tasks whose data is on two of six nodes, which take three times as long elsewhere."""
    chance = random.Random(seed)
    replicas = [[chance.randrange(2)] for _ in range(24)]
    workload = Workload([f"t{n}" for n in range(24)], replicas=Ragged.from_rows(replicas), times=[[10, 25, 30]] * 24)
    cluster = Cluster([f"n{n}" for n in range(6)], rack=[n % 2 for n in range(6)], rack_ids=["a", "b"])
    return Makespan(Instance(cluster, workload))


def test_prices_of_crowded_nodes_prove_more() -> None:
    """Tests that windows at prices of nodes prove more than at equal ones, and no more than a schedule attains."""
    for seed in range(4):
        problem = two_holders(seed)
        placed = JobPlacing(problem).schedule(range(24), np.zeros(24, dtype=bool))
        value = problem.evaluate(placed)[0]
        assert not ruled_out(problem, Window(MAP, 40 * 10**6, np.ones(6, dtype=np.int64)))
        found = latest_window(problem, MAP, 40 * 10**6, int(value * 10**6))
        assert ruled_out(problem, found)
        certificate = counting_certificate(problem, window=found)
        assert 40 < certificate.claim <= value
        assert proved_bound(problem, certificate) == certificate.claim


def test_no_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that all nodes have the same price without tasks, and if the program is too large."""
    problem = Makespan(batch(1))
    none = Makespan(Instance(problem.instance.cluster, Workload([])))
    assert set(node_prices(none, MAP, 10**9).tolist()) == {1}
    monkeypatch.setattr(job_ends, "_ARCS", 10)
    assert set(node_prices(problem, MAP, 20 * 10**6).tolist()) == {1}


def test_the_latest_window_rules_out_what_it_says() -> None:
    """Tests that the checker agrees, and that some optima are closed so."""
    closed = 0
    for problem, optimum in proved(Makespan, range(60)):
        for kind in sorted(set(problem.kind.tolist())):
            window = latest_window(problem, kind, problem.now, problem.now + int(optimum * 10**6))
            if window is not None:
                assert ruled_out(problem, window)
                closed += counting_certificate(problem, window=window).claim == optimum
    assert closed > 5


# Each job alone on the empty cluster ----------------------------------------------------------------------------------


def test_covers_and_then_the_optimum() -> None:
    """Tests that covers give l_flow of a job, and the exact search the optimum of `latency`, in tenths of a second."""
    gained = 0
    for seed in range(60):
        instance, alone = one_job(seed)
        search, lone = AloneSearch(Makespan(instance)), latency_search(alone)
        search.by_covers()
        assert search.bound.value * 10 == max(lone.flow_bound(), search.problem.earliest_completions[0] // 10**5)
        before = search.bound.value
        search.exactly()
        assert search.bound.value * 10 == lone.first_feasible().limit
        gained += search.bound.value > before
    assert gained


def test_a_bound_by_name() -> None:
    """Tests that `job-alone` is among the bounds of both problems, and none where nothing is feasible."""
    instance = one_job(3)[0]
    for kind in (Makespan, JobTimes):
        *cheap, last = bounds(kind(instance))
        assert (last.name, last.component) == ("job-alone", kind.components[0].name)
        assert last.value > max(bound.value for bound in cheap)
        none = instance.with_slots(np.zeros(4, dtype=np.int64), np.zeros(4, dtype=np.int64))
        idle = replace(none.state, idle_slots=np.zeros(4, dtype=np.int64))
        assert bounds(kind(none.with_state(idle))) == ()


def test_makespan_holds_the_last_job_alone() -> None:
    """Tests that a proof of the makespan has one job, where it says more than counting, and that of job times each."""
    for seed in range(30):
        problem = Makespan(crowded(seed, 6))
        if problem.plainly_infeasible is not None:
            continue
        one, each = searched(problem), searched(JobTimes(problem.instance))
        assert len(one.proofs) == (one.ends.max() > problem.earliest_completions.max())
        later = np.flatnonzero(each.ends > problem.earliest_completions)
        assert [entry["job"] for entry in each.proofs] == later.tolist()


def test_work_has_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that only so many tasks and replicas are looked at, those jobs first that may gain most."""
    problem = JobTimes(batch(2, nodes=4, slots=1, tasks=40, jobs=4))
    search = AloneSearch(problem)
    search.by_covers()
    seen = len(search._searches)
    assert seen > 1
    monkeypatch.setattr(job_ends, "_SIZE", 2 * (job_ends._BEGUN + 60))
    few = AloneSearch(problem)
    few.by_covers()
    few.exactly()
    assert 0 < len(few._searches) < seen
    assert (few.ends <= search.ends).all()
    monkeypatch.setattr(job_ends, "_LITTLE", 0)
    none = AloneSearch(problem)
    none.by_covers()
    before = none.ends.copy()
    none.exactly()
    assert (none.ends == before).all()


def test_jobs_without_weight_are_left_out() -> None:
    """Tests that a job that does not count is not looked at."""
    instance = one_job(3)[0]
    given = {"job_group": [0], "group_ids": ["g"], "group_weight": [0.0]}
    weightless = replace(instance.workload, **given)
    search = AloneSearch(JobTimes(Instance(instance.cluster, weightless), weights="group"))
    search.by_covers()
    assert not len(search._searches)


def test_a_word_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that what a search of `latency` only claims changes nothing."""
    search = AloneSearch(Makespan(one_job(3)[0]))

    def word(self: Any, limit: int) -> Certificate:
        return Certificate("makespan", Proof.SOLVER, limit)

    monkeypatch.setattr(job_ends.LatencySearch, "makespan_certificate", word)
    search.by_covers()
    assert not search.entries


def test_jobs_that_fetch_over_distances() -> None:
    """Tests with times of transfer, over distances of each kind, that the bound holds, adds something and is proved."""
    more = dict.fromkeys(FORMS, 0)
    for seed in range(4):
        for form in FORMS:
            drawn = fetching(seed, form, nodes=3, tasks=5, jobs=1, slots=1)
            near = Ragged.from_rows([[0]] * len(drawn.workload))
            instance = replace(drawn, workload=replace(drawn.workload, replicas=near, size=drawn.workload.size + 1))
            problem = Makespan(instance, service="transfer", scale=2)
            search, found = searched(problem), best_decision(problem)
            certificate = counting_certificate(problem, search.proofs)
            assert proved_bound(problem, certificate) == search.bound.value <= found[0][0]
            more[form] += search.bound.value > max(bound.value for bound in problem.cheap_bounds())
    assert all(more.values())
