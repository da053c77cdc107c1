"""Tests of `optsched.core.processes.containing`: limits that reach through all layers."""

import os
import time

import hostile_jobs
import pytest

from optsched.core.deadline import deadline
from optsched.core.errors import Fault, InputError, OutOfTime, UsageError
from optsched.core.processes import Limits, Status, contained, containing
from optsched.core.processes.containing import RunFailed, TracedElsewhere, call, in_force, value_of


def complain(_job: object) -> None:
    """Raises an error of the package that is not made from its own text."""
    raise InputError([Fault("tasks[1]", "is no task"), Fault("", "and more")], "file.json")


def wait_for_deadline(_job: object) -> None:
    """Runs until the deadline of who asked, which holds here as well."""
    from optsched.core.deadline import check

    while True:
        check()
        time.sleep(0.001)


def test_limits_hold_within_the_block() -> None:
    """Tests that limits are in force within a block, the inner ones of two, none without any, and none within a job."""
    assert in_force() is None
    with contained(None):
        assert in_force() is None
    with contained(Limits(5)):
        with contained(Limits(memory_mb=900)):
            assert in_force() == Limits(memory_mb=900)
        assert in_force() == Limits(5)
        found = [call(lambda _: (in_force(), os.getpid()), None).value for _ in range(2)]
        assert found[0] == found[1], "the process serves again"
        assert found[0][0] is None
    with pytest.raises(ZeroDivisionError), contained(Limits(5)):
        _ = 1 // 0
    assert in_force() is None


def test_errors_of_the_package_are_raised_here() -> None:
    """Tests that an error arrives with its class, its faults and its source."""
    with pytest.raises(InputError) as caught, contained(Limits(5)):
        call(complain, None)
    assert caught.value.faults == (Fault("tasks[1]", "is no task"), Fault("", "and more"))
    assert str(caught.value).startswith("file.json: tasks[1]: is no task")


def test_other_errors_are_reported() -> None:
    """Tests that what is no error of the package is shown with its traceback, and nothing where the job was killed."""
    with pytest.raises(RunFailed, match="raised ZeroDivisionError") as caught:
        value_of(call(lambda _: 1 // 0, None))
    assert isinstance(caught.value.__cause__, TracedElsewhere)
    assert "in another process:\nTraceback" in str(caught.value.__cause__)
    assert value_of(call(os._exit, 3)) is None
    assert value_of(call(hostile_jobs.double, 3)) == 6


def test_deadlines_hold_in_the_other_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a deadline of who asks is one of the job, and that who does not look at it is killed soon after."""
    monkeypatch.setattr(containing, "_GRACE", 0.1)
    with deadline(0.2), pytest.raises(OutOfTime):
        call(wait_for_deadline, None)
    with deadline(0.2), contained(Limits(60)), pytest.raises(OutOfTime):
        call(time.sleep, 60)
    with deadline(60), contained(Limits(0.2)):
        assert call(time.sleep, 60).status is Status.TIMED_OUT


def test_names_of_limits_of_runs() -> None:
    """Tests that limits which are called otherwise are refused by the names they were given under."""
    assert Limits.of_runs() is None
    assert Limits.of_runs(5) == Limits(5)
    assert Limits.of_runs(memory_limit=9) == Limits(None, 9)
    with pytest.raises(UsageError, match=r"^run_limit=0: give a number of seconds above 0"):
        Limits.of_runs(0)
    with pytest.raises(UsageError, match=r"^memory_limit=-1: give a number of MiB"):
        Limits.of_runs(None, -1)
