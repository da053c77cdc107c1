"""Stages of searches. A way leaves one out: what the stage finds or proves is what is lost without it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

#: How the names of such ways begin.
WITHOUT = "without "

_SCHEDULES = "optsched.solvers.searches.schedules"
_BOTH = {  # all but the first stage, from whose schedule the others go on
    "jobs alone": f"{_SCHEDULES}.ScheduleSearch._by_jobs_alone",
    "exchanges": f"{_SCHEDULES}.ScheduleSearch._by_exchanges",
}
_TRAFFIC = "optsched.solvers.searches.traffic"

#: By problem and stage: the function that runs it. Without the stage it does nothing, and returns None.
STAGES: dict[str, dict[str, str]] = {
    "makespan": {
        **_BOTH,
        "prices by time": f"{_SCHEDULES}.ScheduleSearch._by_end_prices",
        "windows": f"{_SCHEDULES}.ScheduleSearch._by_windows",
        "halving": f"{_SCHEDULES}.ScheduleSearch._by_halving",
    },
    "job-times": {
        **_BOTH,
        "prices by time": f"{_SCHEDULES}.ScheduleSearch._by_prices",
        "cases of ends": f"{_SCHEDULES}.ScheduleSearch._by_cases",
        "programs of ends": f"{_SCHEDULES}.ended_by",
    },
    "traffic": {
        "best places": f"{_TRAFFIC}.TrafficSearch._least_by_places",
        "cases of places": f"{_TRAFFIC}.TrafficSearch._by_cases",
    },
}


def without(problem: str, way: str) -> AbstractContextManager[Any]:
    """The package without a stage, within; `way` is its name after `WITHOUT`."""
    return mock.patch(STAGES[problem][way.removeprefix(WITHOUT)], return_value=None)
