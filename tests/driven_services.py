"""Services driven without the engine: tasks start when and where a test says, and end when the service says."""

from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from typing import Any

import pytest

from optsched.core.instance import Instance
from optsched.heuristics.running.course import WAKE, Service


def seeds(few: int, many: int) -> list[Any]:
    """The first few of many seeds, and the others in the thorough suite."""
    return [*range(few), *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(few, many))]


_END, _WOKEN, _START = range(3)


def driven(service: Service, instance: Instance, starts: Iterable[tuple[int, int, int]]) -> dict[int, int]:
    """When each task ends, of those that start as (microsecond, task, node) say; it looks at no snapshot."""
    service.prepare(instance)
    heap = [(time, _START, task, node) for time, task, node in starts]
    heapify(heap)
    due: dict[int, int] = {}
    ends: dict[int, int] = {}

    def take(answer: Iterable[tuple[int, int]], now: int) -> None:
        for task, end in answer:
            assert isinstance(end, int)
            assert end >= now
            assert task not in ends
            if due.get(task) != end:
                due[task] = end
                heappush(heap, (end, _WOKEN if task == WAKE else _END, task, 0))

    while heap:
        time, what, task, node = heappop(heap)
        if what == _START:
            take(service.started(task, node, time), time)
        elif due.get(task) == time:
            del due[task]
            if what == _WOKEN:
                take(service.woken(time), time)
            else:
                ends[task] = time
                take(service.ended(task, time), time)
    return ends
