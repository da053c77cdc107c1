"""What a service may leave out, and what it may not."""

from __future__ import annotations

import numpy as np
import pytest
from timed_workloads import arriving

from optsched.errors import UsageError
from optsched.running.service import Ends, Service
from optsched.simulating import simulate


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
    """Tests that a class of services without `started` is none, and is told what to define."""

    class Silent(Service):
        """Says nothing."""

    with pytest.raises(TypeError, match="abstract"):
        Silent()  # type: ignore[abstract]
    with pytest.raises(UsageError, match="service: Silent does not say when a task ends; define `started`"):
        simulate(arriving(0), "dl", Silent)
