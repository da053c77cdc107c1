"""How far running tasks were: snapshots of a run that is over show what observers saw while it went on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from optsched.instance import RUNNING, Instance
from optsched.instances.generate import generate
from optsched.running.service import Service
from optsched.schedule import MICRO
from optsched.simulating import simulate
from optsched.simulating.rates import Rates
from optsched.simulating.transfer import Transfer


def reported(instance: Instance) -> tuple[dict[str, float], dict[tuple[str, str], float]]:
    """What is known of each running map: MB that it has read, and that it has given out to each reduce."""
    names, state, shuffle = instance.workload.task_ids.tolist(), instance.state, instance.workload.shuffle
    runs = np.flatnonzero(state.status == RUNNING).tolist()
    read = {names[task]: float(state.bytes_read[task]) for task in runs if not np.isnan(state.bytes_read[task])}
    given = {}
    if shuffle is not None:
        for entry in np.flatnonzero(state.status[shuffle.map] == RUNNING).tolist():
            key = names[shuffle.map[entry]], names[shuffle.reduce[entry]]
            given[key] = float(state.emitted[entry])
    return read, {key: emitted for key, emitted in given.items() if not np.isnan(emitted)}


@pytest.mark.parametrize("heartbeat", [3, 0])
@pytest.mark.parametrize(
    ("made", "service"),
    [
        (lambda: generate("shen-run", batch=3, divide=40), lambda: Transfer(scale=0.01)),
        (lambda: generate("hsu-run"), Rates),
    ],
    ids=["transfer", "rates"],
)
def test_snapshots_show_what_observers_saw(
    made: Callable[[], Instance], service: Callable[[], Service], heartbeat: float
) -> None:
    """Tests the snapshot of each tenth decision against the state in which its observer saw it taken."""
    seen: dict[tuple[float, int], Instance] = {}

    def observe(time: float, stage: Any, decision: Any) -> None:
        if decision.tasks and (time, decision.offer.node) not in seen:
            seen[time, decision.offer.node] = decision.before.instance

    run = simulate(made(), "fifo", service(), heartbeat=heartbeat, observers=[observe])
    told = 0
    for position, time, node, _ in list(run.decisions())[::10]:
        found = reported(run.snapshot(position, time))
        assert found == reported(seen[time / MICRO, node])
        told += len(found[0]) + len(found[1])
    assert told
    later, earlier = run.snapshots([30, 20])
    assert reported(earlier) == reported(run.snapshots(20)[0]) != reported(later)
