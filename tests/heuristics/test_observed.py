"""`observed`: a trace's own placement, with its violations."""

from math import nan

import pytest

from optsched.core.errors import MissingField
from optsched.core.instance import Cluster, Instance, State, Workload
from optsched.heuristics import HEURISTICS, applicable, run
from optsched.problems import problem


def traced(observed: list[int], **columns: list[int]) -> Instance:
    """Two nodes with a slot each, a task for each record."""
    cluster = Cluster(["a", "b"])
    workload = Workload([f"t{task}" for task in range(len(observed))], observed=observed)
    return Instance(cluster, workload, State.initial(cluster, workload, **columns))


def test_instance_without_any_record() -> None:
    """Tests that it does not apply where no task says where it ran, but does where there is no task."""
    posed = problem("lsap", traced([-1, -1]))
    with pytest.raises(MissingField, match=r"observed: tasks\[\].observed: not one task"):
        run(posed, "observed")
    assert HEURISTICS["observed"] not in applicable(posed)
    assert HEURISTICS["observed"] in applicable(problem("lsap", traced([])))


def test_schedules_that_were_recorded() -> None:
    """Tests nodes and starts over time, what is wrong where tasks overlap, and tasks of which no start is known."""
    cluster = Cluster(["a", "b"])

    def recorded(*starts: float) -> Instance:
        workload = Workload(["t0", "t1"], observed=[0, 0], duration=[2, 3])
        return Instance(cluster, workload, State.initial(cluster, workload, start=starts))

    posed = problem("makespan", recorded(0.5, 2.5))
    found = run(posed, "observed")
    assert found.schedule.starts.tolist() == [500_000, 2_500_000]
    assert posed.evaluate(found.schedule) == (5.5,)
    assert (found.assumed, found.starved) == ("", False)
    early = problem("makespan", recorded(0.5, 1))
    assert [entry.constraint for entry in early.violations(run(early, "observed").schedule)] == ["slots"]
    with pytest.raises(MissingField, match=r"observed: tasks\[\].start: no task that waits says where and when"):
        run(problem("makespan", recorded(nan, nan)), "observed")
