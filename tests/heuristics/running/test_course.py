"""What runs, from event to event: order of what happens, ends that move, tasks that are taken off."""

from collections.abc import Sequence

import numpy as np
import pytest
from over_time import arriving

from optsched.core.errors import HeuristicFailed, UsageError
from optsched.heuristics.running.course import NEVER, WAKE, WOKEN, Course, Ends, Service
from optsched.heuristics.simulating import simulate


class Lasting(Service):
    """Each task takes what it is said to; those that run and are named in `moved` end then, once the service wakes."""

    def __init__(self, takes: Sequence[int], moved: Ends = ()) -> None:
        self.takes, self.moved = takes, moved

    def started(self, task: int, node: int, now: int) -> Ends:
        return ((task, now + self.takes[task]),)

    def woken(self, now: int) -> Ends:
        return self.moved


class Noted(Course):
    """Notes what happens."""

    def __init__(self, service: Service, tasks: int) -> None:
        super().__init__(tasks, service)
        self.noted: list[tuple[int, str, int]] = []

    def ends(self, task: int) -> None:
        super().ends(task)
        self.noted.append((self.now, "ends", task))

    def happens(self, what: int, index: int) -> None:
        self.noted.append((self.now, f"happens {what}", index))


def passed(course: Noted) -> list[tuple[int, str, int]]:
    """All that happens."""
    while course.coming < NEVER:
        course.step()
    return course.noted


def test_what_happens_at_an_instant() -> None:
    """Tests that tasks end first, by their number, then what was planned, by kind and index."""
    course = Noted(Lasting([5, 5, 3]), 3)
    course.plan(5, WOKEN + 2, 0)
    course.plan(5, WOKEN + 1, 7)
    for task in (1, 0, 2):
        course.starts(task, task)
    assert (course.running, course.node, course.end) == (3, [0, 1, 2], [NEVER] * 3)
    assert passed(course) == [(3, "ends", 2), (5, "ends", 0), (5, "ends", 1), (5, "happens 2", 7), (5, "happens 3", 0)]
    assert (course.running, course.now, course.start, course.end) == (0, 5, [0] * 3, [5, 5, 3])


def test_ends_that_move() -> None:
    """Tests that the latest word on an end counts, there and back as well, and that of a wake."""

    class Waking(Lasting):
        def started(self, task: int, node: int, now: int) -> Ends:
            return (*super().started(task, node, now), (WAKE, 2), (WAKE, 1))

    course = Noted(Waking([5, 6], [(0, 9), (1, 3), (0, 5), (1, 6)]), 2)
    course.starts(0, 0)
    course.starts(1, 0)
    assert passed(course) == [(5, "ends", 0), (6, "ends", 1)]


def test_a_task_that_is_taken_off_its_node() -> None:
    """Tests that it does not end when it would have, may start anew, and that the service is notified."""

    class Told(Lasting):
        def stopped(self, task: int, now: int) -> Ends:
            return ((1, 7),)

    course = Noted(Told([5, 20]), 2)
    course.starts(0, 0)
    course.starts(1, 0)
    course.moves_to(2)
    course.stops(0)
    assert (course.running, course.node, course.start) == (1, [-1, 0], [NEVER, 0])
    course.moves_to(4)
    course.starts(0, 1)
    assert passed(course) == [(7, "ends", 1), (9, "ends", 0)]
    assert course.start == [4, 0]


def test_what_nobody_planned_for() -> None:
    """Tests that a course that plans something says what it is, and how a task is called in messages."""
    course = Course(1, Lasting([-1]))
    course.plan(1, WOKEN + 1, 0)
    with pytest.raises(AssertionError, match="nothing of kind 2 is planned"):
        course.step()
    with pytest.raises(HeuristicFailed, match=r'the service Lasting answers 0 for "0" at 1; give whole microseconds'):
        course.starts(0, 0)


def test_a_service_of_nobody() -> None:
    """Tests what a service does that says when tasks end and leaves out everything else: it changes nothing."""

    class Endless(Service):
        """No task ends."""

        def started(self, task: int, node: int, now: int) -> Ends:
            return ()

    service = Endless()
    service.prepare(arriving(0))
    assert list(service.ended(0, 0)) == list(service.stopped(0, 0)) == list(service.woken(0)) == []
    assert service.progress(np.zeros(1, dtype=np.int64), 0) is None
    assert repr(service) == "<Service Endless>"


def test_a_service_says_when_tasks_end() -> None:
    """Tests that a class of services without `started` is none, and is reported what to define."""

    class Silent(Service):
        """Says nothing."""

    with pytest.raises(TypeError, match="abstract"):
        Silent()
    with pytest.raises(UsageError, match="service: Silent does not say when a task ends; define `started`"):
        simulate(arriving(0), "dl", Silent)
