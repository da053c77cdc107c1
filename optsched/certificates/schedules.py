"""Proofs of bounds on schedules: by counting (`combinatorial`), by windows of time or by prices (`dual`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from optsched.certificates.reading import as_mapping, denominator, integer, items, mapping, prices_of, shown
from optsched.deadline import check
from optsched.errors import CertificateInvalid
from optsched.instance import KINDS, Ints
from optsched.problems.completion_counts import cheap_limits, least_total, most_ended
from optsched.problems.job_times import JobTimes
from optsched.problems.makespan import Makespan
from optsched.problems.schedule_windows import Window, ruled_out, too_short
from optsched.problems.schedules import ScheduleProblem
from optsched.problems.time_prices import PricedTime, TimePrices
from optsched.results import Certificate, Number, Proof, Value
from optsched.schedule import seconds

__all__ = [
    "counted_certificate",
    "counted_makespan_proof",
    "counted_proof",
    "job_times_proof",
    "makespan_certificate",
    "makespan_proof",
    "path_certificate",
    "prices_certificate",
    "windows_certificate",
]

#: The most that a function of lengths may be; larger ones change lengths by less than a part in so many.
_FUNCTIONS = 10**6


# makespan -------------------------------------------------------------------------------------------------------------


def path_certificate(problem: Makespan) -> Certificate:
    """The proof that the longest job takes what it takes alone on all slots; there is nothing to be given."""
    return Certificate("makespan", Proof.COMBINATORIAL, _path(problem), {})


def counted_makespan_proof(problem: Makespan, certificate: Certificate, objective: Value | None) -> Number:
    """What the longest job takes alone on all slots."""
    del certificate, objective
    return _path(problem)


def _path(problem: Makespan) -> Number:
    return seconds(int(problem.earliest_completions.max(initial=problem.now)) - problem.now)


def makespan_certificate(problem: Makespan, window: Window) -> Certificate:
    """The proof that all tasks do not end by the end of a window (with its tail), which must be `ruled_out`."""
    return Certificate("makespan", Proof.DUAL, _after(problem, window), {"window": _written(problem, window)})


def makespan_proof(problem: Makespan, certificate: Certificate, objective: Value | None) -> Number:
    """The bound that the window of a certificate proves; 0 where it proves nothing."""
    del objective
    given = certificate.data.get("window")
    window = _read(problem, as_mapping(given, "window"), "window")
    return _after(problem, window) if ruled_out(problem, window) else 0


def _after(problem: Makespan, window: Window) -> Number:
    """The first value beyond the end of a window, with its tail."""
    return seconds(problem.next_end(window.end + window.tail + 1) - problem.now)


# job-times ------------------------------------------------------------------------------------------------------------


def counted_certificate(problem: JobTimes) -> Certificate:
    """The proof by counting alone (`cheap_limits`); there is nothing to be given."""
    claim = least_total(problem, cheap_limits(problem))
    return Certificate("job time", Proof.COMBINATORIAL, claim, {})


def counted_proof(problem: JobTimes, certificate: Certificate, objective: Value | None) -> Number:
    """What counting proves of the sum of job times."""
    del certificate, objective
    return least_total(problem, cheap_limits(problem))


def windows_certificate(problem: JobTimes, windows: Sequence[Window]) -> Certificate:
    """The certificate that windows make of the sum of job times, beside counting; it claims just what they prove."""
    claim = _by_windows(problem, windows)
    return Certificate("job time", Proof.DUAL, claim, {"windows": [_written(problem, window) for window in windows]})


def prices_certificate(problem: JobTimes, prices: TimePrices) -> Certificate:
    """The certificate that prices of slots by time make of the sum of job times; it claims just what they prove."""
    data = {
        "step": prices.step,
        "scale": prices.scale,
        "slot_prices": {name: column.tolist() for name, column in zip(KINDS, prices.prices, strict=True)},
    }
    return Certificate("job time", Proof.DUAL, PricedTime(problem, prices.step).bound(prices), data)


def job_times_proof(problem: JobTimes, certificate: Certificate, objective: Value | None) -> Number:
    """The bound on the sum of job times that prices of slots by time prove, or windows beside counting."""
    del objective
    if "slot_prices" in certificate.data:
        return _by_prices(problem, certificate.data)
    entries = items(certificate.data, "windows")
    windows = [
        _read(problem, as_mapping(entry, "windows"), f"windows[{number}]") for number, entry in enumerate(entries)
    ]
    return _by_windows(problem, windows)


def _by_prices(problem: JobTimes, data: Mapping[str, Any]) -> Number:
    step, scale = integer(data, "step"), denominator(data)
    if step < 1:
        raise CertificateInvalid(f"step: must be above 0, not {step}")
    if problem.plainly_infeasible is not None:
        raise CertificateInvalid(f"slot_prices: {problem.plainly_infeasible}")
    given = mapping(data, "slot_prices")
    maps, reduces = (_column(given, name) for name in KINDS)
    prices = TimePrices(step, scale, (maps, reduces))
    priced = PricedTime(problem, step)
    wrong = priced.too_large(prices)
    if wrong is not None:
        raise CertificateInvalid(f"slot_prices: {wrong}")
    return priced.bound(prices)


def _column(given: Mapping[str, Any], name: str) -> Ints:
    """The prices of slots of a kind, step by step; a negative one counts as 0."""
    column = [integer({name: price}, name) for price in items(given, name)]
    return np.maximum(np.array(column, dtype=np.int64), 0)


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
    prices = None
    if "node_prices" in entry:
        prices = np.maximum(prices_of(entry, "node_prices", problem.instance.node_index), 0)
    return Window(KINDS.index(slots), begin + problem.now, end + problem.now, tail, function, prices)
