"""What a policy is driven on where no problem is posed."""

from __future__ import annotations

from dataclasses import replace

from optsched.instance import FINISHED, PENDING, RUNNING
from optsched.running.known import posed_on
from optsched.simulating.stage import Stage
from optsched.testing.policies import drawn_snapshot


def test_all_that_waits_and_all_that_is_idle() -> None:
    """Tests the tasks, of both kinds, the slots, and the same stage on another snapshot."""
    instance = drawn_snapshot(3)
    stage = Stage(instance, distinct=True)
    status = instance.state.status
    assert stage.tasks.tolist() == [task for task, is_ in enumerate(status.tolist()) if is_ == PENDING]
    assert {RUNNING, FINISHED} & set(status.tolist())
    assert stage.due == len(stage.tasks) == len(stage.replicas)
    assert stage.offered["map"].tolist() == instance.state.idle_slots.tolist()
    assert stage.offered["reduce"].tolist() == instance.state.idle_reduce_slots.tolist()
    later = posed_on(stage, instance.with_state(replace(instance.state, time=5)))  # type: ignore[arg-type,type-var]
    assert later.instance.time == 5
    assert later.parameters == {"distinct": True}
    assert "Stage on" in repr(stage)
