"""`observed`: a trace's own placement, with its violations."""

from collections.abc import Iterator
from dataclasses import replace
from math import nan
from pathlib import Path

import numpy as np
import pytest
from over_time import arriving

from optsched.core.errors import HeuristicFailed, MissingField
from optsched.core.instance import Cluster, Instance, State, Workload
from optsched.core.placement import microseconds
from optsched.heuristics import HEURISTICS, applicable, run
from optsched.heuristics.simulating import Following, observed_schedule, simulate
from optsched.instances.files import load
from optsched.instances.importers.rumen import import_rumen
from optsched.instances.importers.sls import import_sls
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


@pytest.mark.parametrize("seed", range(3))
def test_a_schedule_is_followed(seed: int) -> None:
    """Tests that what a policy did is done again by following its schedule, at the same microseconds."""
    instance = arriving(seed)
    first = simulate(instance, "fair", seed=seed)
    again = simulate(instance, Following(instance, first.schedule), service="levels")
    assert again.schedule == first.schedule
    assert (again.end == first.end).all()
    assert again.policy == "observed"


def test_a_schedule_that_does_not_fit() -> None:
    """Tests the words where a slot is not free, and where a task is left without a time."""
    instance = Instance(
        Cluster(["a"]), Workload(["t", "u", "v"], duration=[5, 5, 5], observed=[0, 0, -1]), name="short"
    )
    instance = instance.with_state(replace(instance.state, start=np.array([1.5, 3, np.nan])))
    with pytest.raises(HeuristicFailed, match=r'policy "observed" starts "u" on "a" at 3 s, where no slot for maps is'):
        simulate(instance, "observed")
    late = instance.with_state(replace(instance.state, start=np.array([1.5, 6.5, np.nan])))
    run = simulate(late, "observed")
    assert (
        run.unfinished
        == '1 map waits ("v"): the policy has no time and node for them; give each task where and when it started'
    )
    assert observed_schedule(late).starts.tolist() == [1_500_000, 6_500_000, 0]
    with pytest.raises(MissingField, match=r"arriving-0: observed: tasks\[\]\.start: no task that waits says where"):
        simulate(arriving(0), "observed")


def recorded(real_data: Path) -> Iterator[Instance]:
    """What of each trace with starts is known whole."""
    traces = sorted((real_data / "hadoop").glob("*trace*.json*")) + sorted((real_data / "hadoop").glob("gridmix_w*"))
    traces += sorted((real_data / "sls").glob("*rumen*"))
    assert traces
    documents = [
        document
        for trace in traces
        for slots in ("observed", "inferred")
        for document in import_rumen(trace, slots=slots).documents
    ]
    documents += import_sls(real_data / "sls" / "inputsls.json").documents
    for instance in map(load, documents):
        known = ~np.isnan(instance.state.start) & ~np.isnan(instance.workload.duration)
        known &= instance.workload.observed >= 0
        assert known.any()
        yield instance.taken(np.flatnonzero(known), np.arange(len(instance.workload.job_ids)))


def test_recorded_traces_come_out_as_recorded(real_data: Path) -> None:
    """Tests on every trace of Rumen and SLS that starts and ends are those of the trace, to the microsecond."""
    for instance in recorded(real_data):
        run = simulate(instance, "observed")
        begin = microseconds(instance.state.start)
        assert (run.schedule.starts == begin).all()
        assert (run.schedule.nodes == instance.workload.observed).all()
        assert (run.end == begin + microseconds(instance.workload.duration)).all()
        assert run.unfinished == ""
