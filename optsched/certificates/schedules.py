"""Certificates of `makespan` and `job-times`: windows of time, prices of slots over time, and jobs alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import ceil
from typing import Any

import numpy as np

from optsched.certificates.latency import latency_proof
from optsched.certificates.reading import as_mapping, denominator, integer, items, mapping, prices_of, shown, written
from optsched.certificates.trees import Tree, over_rows, rows_bound
from optsched.core.arrays import Chosen, plain
from optsched.core.deadline import check
from optsched.core.errors import CertificateInvalid, TooLarge
from optsched.core.instance import KINDS, Ints
from optsched.core.placement import seconds
from optsched.core.results import Certificate, Number, Proof, Value
from optsched.problems.base import exact
from optsched.problems.job_times import JobTimes
from optsched.problems.makespan import Makespan
from optsched.problems.programs import Program
from optsched.problems.schedule_bounds import (
    MOST_WORK,
    JobAlone,
    JobEnds,
    JobsAlone,
    PricedTime,
    TimePrices,
    Window,
    area_makespan,
    ruled_out,
    too_dear,
)
from optsched.problems.schedule_program import TimedProblem
from optsched.problems.schedules import ScheduleProblem

#: The most steps in a certificate's claim that not all tasks end within them.
_STEPS = 10**6

#: The largest limit of cases, in jobs' steps.
_LIMIT = 2**57


def counting_certificate(
    problem: ScheduleProblem, alone: Sequence[Mapping[str, Any]] = (), window: Window | None = None
) -> Certificate:
    """The certificate of counting: each job alone on all slots and, for `makespan`, what a window proves.

    `alone` is what is proved of jobs alone beyond counting, as from `alone_entry`.
    """
    windows = [] if window is None else [window]
    data = {"windows": [_written(problem, each) for each in windows], **_alone_written(alone)}
    bound = _counted(problem, windows, ends_alone(problem, data))
    return Certificate(problem.components[0].name, Proof.DUAL, bound, data)


def tree_certificate(problem: TimedProblem, program: Program, tree: Tree, claim: Number) -> Certificate:
    """The certificate of a tree over the program of all schedules with less than a claim (`within`)."""
    data = over_rows(tree, program.names.__getitem__)
    within = written(problem.value_below(claim))
    return Certificate(problem.components[0].name, Proof.DUAL, claim, {"within": within, **data})


def end_certificate(problem: Makespan, prices: TimePrices, by: int) -> Certificate:
    """The certificate for prices: not all tasks end within `by` steps (`PricedTime.rules_out`)."""
    data = {"by": by, "step": prices.step, "scale": prices.scale, "slot_prices": _columns(prices)}
    return Certificate("makespan", Proof.DUAL, _after(problem, PricedTime(problem, prices.step), prices, by), data)


def cases_certificate(
    problem: JobTimes, step: int, limit: int, tree: Tree, alone: Sequence[Mapping[str, Any]] = ()
) -> Certificate:
    """The certificate for a tree of cases by jobs' ends that bounds the sum of job times (`JobEnds`).

    It claims the value of `limit` without a check: if the tree proves less, `certify` reports it.
    """
    written = tree.written(lambda job: job, lambda prices: {"scale": prices.scale, "slot_prices": _columns(prices)})
    data = {"step": step, "limit": limit, **written, **_alone_written(alone)}
    return Certificate("job time", Proof.DUAL, PricedTime(problem, step).value(limit), data)


def schedule_proof(problem: TimedProblem, certificate: Certificate, objective: Value | None) -> Number:
    """The bound that a certificate proves; its keys show its form."""
    del objective
    data = certificate.data
    if "within" in data:
        return _by_program(problem, certificate)
    if "steps" in data and isinstance(problem, JobTimes):
        return _by_cases(problem, data)
    if "slot_prices" in data:
        if isinstance(problem, Makespan):
            return _by_prices(problem, data)
        raise CertificateInvalid("slot_prices: they alone prove no job times; solve again for cases")
    entries = items(data, "windows")
    if entries and isinstance(problem, JobTimes):
        raise CertificateInvalid("windows: they prove no job times; solve again for cases")
    windows = [
        _read(problem, as_mapping(entry, "windows"), f"windows[{number}]") for number, entry in enumerate(entries)
    ]
    return _counted(problem, windows, ends_alone(problem, data))


def _by_program(problem: TimedProblem, certificate: Certificate) -> Number:
    """The bound that a tree proves (`tree_certificate`) over the program of schedules worth less than the claim."""
    if problem.plainly_infeasible is not None:
        raise CertificateInvalid(f"within: {problem.plainly_infeasible}")
    try:
        program = problem.within(problem.value_below(certificate.claim)).program()
    except TooLarge as error:
        raise CertificateInvalid(f"within: {error}") from error
    limit = max(-_LIMIT, min(ceil(certificate.claim * program.unit), _LIMIT))
    return exact(rows_bound(certificate.data, program.numbers, limit, program.names), program.unit)


def _by_cases(problem: JobTimes, data: Mapping[str, Any]) -> Number:
    """The bound that a tree of cases by jobs' ends proves."""
    step, limit = _step_read(problem, data), integer(data, "limit")
    if not 0 <= limit <= _LIMIT:
        raise CertificateInvalid(f"limit: must be from 0 to 2^57, not {limit}")
    ends = JobEnds(problem, step, limit, ends_alone(problem, data))

    def multipliers(entry: Mapping[str, Any]) -> TimePrices:
        check()
        return _prices_read(entry, ends, max(0, integer(entry, "scale")), "multipliers")

    tree = Tree.read(data, lambda name: _job(problem, name, "steps"), multipliers)
    costs = [ends.work(some) for some in tree.multipliers]
    work = sum(costs[which] for step in tree.steps for which in step.by)
    if work > MOST_WORK:
        raise CertificateInvalid(f"steps: {work} costs would have to be compared in all, more than {MOST_WORK}")
    return ends.value(tree.bound(ends, limit))


def _by_prices(problem: Makespan, data: Mapping[str, Any]) -> Number:
    """The bound that prices of slots over time prove: not all tasks end within `by` steps."""
    by = integer(data, "by")
    if not 0 <= by <= _STEPS:
        raise CertificateInvalid(f"by: must be from 0 to {_STEPS}, not {by}")
    priced = PricedTime(problem, _step_read(problem, data), ends_alone(problem, data))
    prices = _prices_read(data, priced, denominator(data), "slot_prices")
    return _after(problem, priced, prices, by)


def _after(problem: Makespan, priced: PricedTime, prices: TimePrices, by: int) -> Number:
    """The first value after `by` steps, if tasks cannot all end within them; else the longest job's."""
    latest = int(problem.earliest_completions.max(initial=problem.now))
    if by < priced.steps(prices.prices) and priced.rules_out(prices, by):
        latest = max(latest, problem.next_end(problem.now + (by + 1) * prices.step))
    return seconds(latest - problem.now)


def _counted(problem: ScheduleProblem, windows: Iterable[Window], alone: Ints) -> Number:
    """What counting proves; for `makespan` also the first value beyond the end of each window that is ruled out.

    `alone` is the earliest end of each job.
    """
    if isinstance(problem, JobTimes):
        return problem.counted_total(alone)
    areas = (area_makespan(problem, kind, problem.earliest_starts) for kind in range(len(KINDS)))
    latest = problem.next_end(max(int(alone.max(initial=problem.now)), *areas))
    for window in windows:
        check()
        if ruled_out(problem, window):
            latest = max(latest, problem.next_end(window.end + 1))
    return seconds(latest - problem.now)


# Jobs alone -----------------------------------------------------------------------------------------------------------


def alone_entry(problem: ScheduleProblem, alone: JobAlone, proof: Certificate) -> Mapping[str, Any]:
    """What a certificate of the makespan of a job alone proves, in the form of certificates: by nodes, in microseconds.

    `proof` is a certificate of `alone.posed` with a cover or prices.
    """
    limit = int(proof.data["limit"])
    time = alone.release + limit * alone.unit
    entry = {"job": alone.job, "to": time - problem.now}
    given = {key: value for key, value in proof.data.items() if key != "limit"}
    if "cover" in given:
        ids = problem.instance.cluster.node_ids
        given["cover"] = Chosen.where(ids, alone.nodes(proof.data["cover"].chosen(), limit, len(ids)))
    return entry | {key: plain(value) for key, value in given.items()}


def ends_alone(problem: ScheduleProblem, data: Mapping[str, Any]) -> Ints:
    """The earliest end of each of `jobs`, by counting and by the jobs alone in a certificate's data."""
    found = problem.earliest_completions.copy()
    if "alone" not in data:
        return found
    jobs, seen = JobsAlone(problem), set()
    for number, given in enumerate(items(data, "alone")):
        check()
        entry, place = as_mapping(given, "alone"), f"alone[{number}]"
        job = _job(problem, entry.get("job"), place)
        with _within(place):
            if job in seen:
                raise CertificateInvalid(f"job: {job} is there twice")
            seen.add(job)
            alone = jobs.posed(job)
            if alone is None:
                raise CertificateInvalid(f"job: {job} has no maps that wait and take time, or no slots for them")
            found[job] = max(int(found[job]), end_alone(problem, alone, entry))
    return found


@contextmanager
def _within(place: str) -> Iterator[None]:
    """Errors within name their place."""
    try:
        yield
    except CertificateInvalid as error:
        raise CertificateInvalid(f"{place}.{error}") from error


def end_alone(problem: ScheduleProblem, alone: JobAlone, entry: Mapping[str, Any]) -> int:
    """The earliest end of a job, in microseconds, by an entry of `alone_entry`; `now` if it proves nothing."""
    limit = (problem.now + integer(entry, "to") - alone.release) // alone.unit
    data = {**entry, "limit": limit}
    if "task_prices" not in entry:
        named = np.zeros(len(problem.instance.cluster), dtype=bool)
        for node in items(entry, "cover"):
            if not isinstance(node, str) or node not in problem.instance.node_index:
                raise CertificateInvalid(f"cover: there is no node {shown(node)}")
            named[problem.instance.node_index[node]] = True
        data["cover"] = Chosen.where(alone.posed.instance.cluster.node_ids, alone.servers(named))
    makespan = latency_proof(alone.posed, Certificate("makespan", Proof.COMBINATORIAL, 0, data), None)
    return problem.next_end(alone.release + int(makespan) * alone.unit + alone.tail) if makespan > 0 else problem.now


def _alone_written(alone: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {"alone": list(alone)} if alone else {}


def _job(problem: ScheduleProblem, name: Any, place: str) -> int:
    """The number of a job in data; `place` is where it is named."""
    if isinstance(name, bool) or not isinstance(name, int) or not 0 <= name < len(problem.jobs):
        raise CertificateInvalid(f"{place}: there is no job {shown(name)}; jobs are counted from 0")
    return name


# Windows as data ------------------------------------------------------------------------------------------------------


def _written(problem: ScheduleProblem, window: Window) -> dict[str, Any]:
    """A window in the form of certificates: times are microseconds after the snapshot."""
    names = problem.instance.cluster.node_ids.tolist()
    prices = {name: price for name, price in zip(names, window.prices.tolist(), strict=True) if price}
    return {"slots": KINDS[window.kind], "to": window.end - problem.now, "node_prices": prices}


def _read(problem: ScheduleProblem, entry: Mapping[str, Any], place: str) -> Window:
    """A window from data; CertificateInvalid names what is wrong."""
    with _within(place):
        slots = entry.get("slots")
        if slots not in KINDS:
            raise CertificateInvalid(f"slots: must be one of {', '.join(KINDS)}, not {shown(slots)}")
        for key in ("tail", "function", "from"):
            if entry.get(key, 0) != 0:
                raise CertificateInvalid(f"{key}: windows have none; solve again")
        end = integer(entry, "to")
        if end <= 0:
            raise CertificateInvalid(f"to: must be after the snapshot, not {end}")
        prices = np.ones(len(problem.instance.cluster), dtype=np.int64)
        if "node_prices" in entry:
            prices = np.maximum(prices_of(entry, "node_prices", problem.instance.node_index), 0)
        window = Window(KINDS.index(slots), end + problem.now, prices)
        if too_dear(problem, window):
            raise CertificateInvalid("node_prices: a price times the length of the window is 2^60 or more")
    return window


# Prices by time as data -----------------------------------------------------------------------------------------------


def _columns(prices: TimePrices) -> dict[str, list[int]]:
    """Prices of slots in the form of certificates: without trailing zeros."""
    pairs = zip(KINDS, prices.prices, strict=True)
    return {name: column[: int(np.flatnonzero(column).max(initial=-1)) + 1].tolist() for name, column in pairs}


def _prices_read(data: Mapping[str, Any], priced: PricedTime, scale: int, place: str) -> TimePrices:
    """Prices of slots over time that are valid for `priced`; a negative one counts as 0."""
    given = mapping(data, "slot_prices")
    columns = [[integer({name: price}, name) for price in items(given, name)] for name in KINDS]
    maps, reduces = (np.maximum(np.array(column, dtype=np.int64), 0) for column in columns)
    prices = TimePrices(priced.step, scale, (maps, reduces))
    wrong = priced.too_large(prices)
    if wrong is not None:
        raise CertificateInvalid(f"{place}: {wrong}")
    return prices


def _step_read(problem: ScheduleProblem, data: Mapping[str, Any]) -> int:
    """The microseconds of a step, for a problem with slots."""
    step = integer(data, "step")
    if step < 1:
        raise CertificateInvalid(f"step: must be above 0, not {step}")
    if problem.plainly_infeasible is not None:
        raise CertificateInvalid(f"slot_prices: {problem.plainly_infeasible}")
    return step
