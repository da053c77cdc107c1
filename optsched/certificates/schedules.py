"""Proofs of bounds on schedules: windows of time, with prices of nodes, and prices of slots by time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from optsched.certificates.reading import as_mapping, denominator, integer, items, mapping, prices_of, shown
from optsched.certificates.trees import Tree
from optsched.deadline import check
from optsched.errors import CertificateInvalid
from optsched.instance import KINDS, MAP, Ints
from optsched.problems.completion_counts import cheap_limits, least_total, most_ended
from optsched.problems.job_ends import MOST_WORK, JobEnds, packed, unpacked
from optsched.problems.job_times import JobTimes
from optsched.problems.makespan import Makespan
from optsched.problems.schedule_windows import Window, ruled_out, too_short
from optsched.problems.schedules import ScheduleProblem
from optsched.problems.time_prices import PricedTime, TimePrices
from optsched.results import Certificate, Number, Proof, Value
from optsched.schedule import seconds

__all__ = [
    "cases_certificate",
    "end_certificate",
    "job_times_proof",
    "makespan_certificate",
    "makespan_proof",
    "prices_certificate",
    "windows_certificate",
]

#: The most steps that a certificate may say that all tasks do not end within.
_STEPS = 10**6

#: The most that a limit of cases may be, in jobs' steps.
_LIMIT = 2**57

#: The most that a function of lengths may be; larger ones change lengths by less than a part in so many.
_FUNCTIONS = 10**6


# makespan -------------------------------------------------------------------------------------------------------------


def makespan_certificate(problem: Makespan, window: Window | None = None) -> Certificate:
    """The certificate that a window makes of the makespan, beside the longest job alone on all slots; or that alone."""
    windows = [] if window is None else [window]
    return Certificate("makespan", Proof.DUAL, _latest(problem, windows), _all_written(problem, windows))


def end_certificate(problem: Makespan, prices: TimePrices, by: int) -> Certificate:
    """The certificate that prices make, by which not all tasks end within so many steps (`PricedTime.paid_by`)."""
    data = {"by": by, **_prices_written(prices)}
    return Certificate("makespan", Proof.DUAL, _after(problem, PricedTime(problem, prices.step), prices, by), data)


def makespan_proof(problem: Makespan, certificate: Certificate, objective: Value | None) -> Number:
    """The bound on the makespan that windows or prices by time prove, or the longest job alone on all slots."""
    del objective
    if "slot_prices" in certificate.data:
        by = integer(certificate.data, "by")
        if not 0 <= by <= _STEPS:
            raise CertificateInvalid(f"by: must be from 0 to {_STEPS}, not {by}")
        return _after(problem, *_prices_read(problem, certificate.data), by)
    return _latest(problem, _all_read(problem, certificate.data))


def _after(problem: Makespan, priced: PricedTime, prices: TimePrices, by: int) -> Number:
    """The first value after so many steps, if tasks cannot all end within them; else what the longest job takes."""
    latest = int(problem.earliest_completions.max(initial=problem.now))
    if by >= priced.steps(prices.prices):
        return seconds(latest - problem.now)
    paid = priced.paid_by(prices, by)
    if paid is None or paid.units > 0:
        latest = max(latest, problem.next_end(problem.now + (by + 1) * prices.step))
    return seconds(latest - problem.now)


def _latest(problem: Makespan, windows: Iterable[Window]) -> Number:
    """The first value beyond the end of each window, with its tail, by which not all tasks can end."""
    latest = int(problem.earliest_completions.max(initial=problem.now))
    for window in windows:
        check()
        if ruled_out(problem, window):
            latest = max(latest, problem.next_end(window.end + window.tail + 1))
    return seconds(latest - problem.now)


# job-times ------------------------------------------------------------------------------------------------------------


def windows_certificate(problem: JobTimes, windows: Sequence[Window] = ()) -> Certificate:
    """The certificate that windows make of the sum of job times, beside counting (`cheap_limits`); or that alone."""
    return Certificate("job time", Proof.DUAL, _by_windows(problem, windows), _all_written(problem, windows))


def prices_certificate(problem: JobTimes, prices: TimePrices) -> Certificate:
    """The certificate that prices of slots by time make of the sum of job times; it claims just what they prove."""
    return Certificate("job time", Proof.DUAL, PricedTime(problem, prices.step).bound(prices), _prices_written(prices))


def cases_certificate(problem: JobTimes, step: int, limit: int, tree: Tree) -> Certificate:
    """The certificate that a tree of cases by jobs' ends makes of the sum of job times (`JobEnds`).

    It claims what `limit` stands for, without looking: where the tree proves less, `certify` says so.
    """
    ends = JobEnds(problem, step, limit)

    def multipliers(some: Ints) -> dict[str, Any]:
        prices = unpacked(some, step)
        columns = zip(KINDS, map(_trimmed, prices.prices), strict=True)
        return {"scale": prices.scale, "slot_prices": dict(columns)}

    data = {"step": step, "limit": limit, **tree.written(lambda job: job, multipliers)}
    return Certificate("job time", Proof.DUAL, ends.told(limit), data)


def job_times_proof(problem: JobTimes, certificate: Certificate, objective: Value | None) -> Number:
    """The bound on the sum of job times that prices of slots by time prove, or windows beside counting."""
    del objective
    if "steps" in certificate.data:
        return _by_cases(problem, certificate.data)
    if "slot_prices" in certificate.data:
        priced, prices = _prices_read(problem, certificate.data)
        return priced.bound(prices)
    return _by_windows(problem, _all_read(problem, certificate.data))


def _by_cases(problem: JobTimes, data: Mapping[str, Any]) -> Number:
    """The bound that a tree of cases by jobs' ends proves."""
    step, limit = _step_read(problem, data), integer(data, "limit")
    if not 0 <= limit <= _LIMIT:
        raise CertificateInvalid(f"limit: must be from 0 to 2^57, not {limit}")
    ends = JobEnds(problem, step, limit)

    def multipliers(entry: Mapping[str, Any]) -> Ints:
        check()
        some = packed(_scaled_read(entry, step, max(0, integer(entry, "scale"))))
        wrong = ends.too_large(some)
        if wrong is not None:
            raise CertificateInvalid(f"multipliers: {wrong}")
        return some

    def job(name: Any) -> int:
        if isinstance(name, bool) or not isinstance(name, int) or not 0 <= name < len(problem.jobs):
            raise CertificateInvalid(f"steps: there is no job {shown(name)}; jobs are counted from 0")
        return name

    tree = Tree.read(data, job, multipliers)
    costs = [ends.work(some) for some in tree.multipliers]
    work = sum(costs[which] for step in tree.steps for which in step.by)
    if work > MOST_WORK:
        raise CertificateInvalid(f"steps: {work} costs would have to be compared in all, more than {MOST_WORK}")
    return ends.told(tree.bound(ends, limit))


def _by_windows(problem: JobTimes, windows: Iterable[Window]) -> Number:
    """Windows that end at one time, with their tails, are looked at together."""
    by_time: dict[int, list[Window]] = {}
    for window in windows:
        by_time.setdefault(window.end + window.tail, []).append(window)
    limits = list(cheap_limits(problem))
    for time, together in by_time.items():
        check()
        limits.append(most_ended(problem, time, together))
    return least_total(problem, limits)


# Windows as data ------------------------------------------------------------------------------------------------------


def _all_written(problem: ScheduleProblem, windows: Sequence[Window]) -> dict[str, Any]:
    return {"windows": [_written(problem, window) for window in windows]}


def _all_read(problem: ScheduleProblem, data: Mapping[str, Any]) -> list[Window]:
    """The windows of a certificate, each of which can be measured."""
    return [
        _read(problem, as_mapping(entry, "windows"), f"windows[{number}]")
        for number, entry in enumerate(items(data, "windows"))
    ]


def _written(problem: ScheduleProblem, window: Window) -> dict[str, Any]:
    """A window as certificates hold it: times are microseconds after the snapshot."""
    entry: dict[str, Any] = {
        "slots": KINDS[window.kind],
        "from": window.begin - problem.now,
        "to": window.end - problem.now,
        "function": window.function,
    }
    if window.tail:
        entry["tail"] = window.tail
    if window.prices is not None:
        names = problem.instance.cluster.node_ids.tolist()
        entry["node_prices"] = {name: price for name, price in zip(names, window.prices.tolist(), strict=True) if price}
    return entry


def _read(problem: ScheduleProblem, entry: Mapping[str, Any], place: str) -> Window:
    """A window that is given as data; CertificateInvalid names what is wrong."""
    try:
        window = _window(problem, entry)
    except CertificateInvalid as error:
        raise CertificateInvalid(f"{place}.{error}") from error
    wrong = too_short(problem, window)
    if wrong is not None:
        raise CertificateInvalid(f"{place}: {wrong}")
    return window


def _window(problem: ScheduleProblem, entry: Mapping[str, Any]) -> Window:
    slots = entry.get("slots")
    if slots not in KINDS:
        raise CertificateInvalid(f"slots: must be one of {', '.join(KINDS)}, not {shown(slots)}")
    begin, end, function = (integer(entry, key) for key in ("from", "to", "function"))
    tail = integer(entry, "tail") if "tail" in entry else 0
    if begin < 0 or end <= begin:
        raise CertificateInvalid(f"to: must be after the beginning, and that 0 or more, not {begin} to {end}")
    if not 0 <= function <= _FUNCTIONS or tail < 0:
        raise CertificateInvalid(f"function: must be from 0 to {_FUNCTIONS}, and the tail 0 or more")
    if tail and slots != KINDS[MAP]:
        raise CertificateInvalid(f"tail: {slots}s have none, only maps that reduces wait for")
    prices = None
    if "node_prices" in entry:
        prices = np.maximum(prices_of(entry, "node_prices", problem.instance.node_index), 0)
    return Window(KINDS.index(slots), begin + problem.now, end + problem.now, tail, function, prices)


# Prices by time as data -----------------------------------------------------------------------------------------------


def _prices_written(prices: TimePrices) -> dict[str, Any]:
    columns = {name: column.tolist() for name, column in zip(KINDS, prices.prices, strict=True)}
    return {"step": prices.step, "scale": prices.scale, "slot_prices": columns}


def _prices_read(problem: ScheduleProblem, data: Mapping[str, Any]) -> tuple[PricedTime, TimePrices]:
    """Prices by time that can be used, and what they are used on."""
    prices = _scaled_read(data, _step_read(problem, data), denominator(data))
    priced = PricedTime(problem, prices.step)
    wrong = priced.too_large(prices)
    if wrong is not None:
        raise CertificateInvalid(f"slot_prices: {wrong}")
    return priced, prices


def _step_read(problem: ScheduleProblem, data: Mapping[str, Any]) -> int:
    """The microseconds of a step, of a problem that has slots."""
    step = integer(data, "step")
    if step < 1:
        raise CertificateInvalid(f"step: must be above 0, not {step}")
    if problem.plainly_infeasible is not None:
        raise CertificateInvalid(f"slot_prices: {problem.plainly_infeasible}")
    return step


def _scaled_read(data: Mapping[str, Any], step: int, scale: int) -> TimePrices:
    """Prices of slots by time."""
    given = mapping(data, "slot_prices")
    maps, reduces = (_column(given, name) for name in KINDS)
    return TimePrices(step, scale, (maps, reduces))


def _trimmed(column: Ints) -> list[int]:
    """A column but for the zeros at its end."""
    trimmed: list[int] = column[: int(np.flatnonzero(column).max(initial=-1)) + 1].tolist()
    return trimmed


def _column(given: Mapping[str, Any], name: str) -> Ints:
    """The prices of slots of a kind, step by step; a negative one counts as 0."""
    column = [integer({name: price}, name) for price in items(given, name)]
    return np.maximum(np.array(column, dtype=np.int64), 0)
