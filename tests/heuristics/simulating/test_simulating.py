"""`simulate`: what it takes, and what it says where it cannot."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from over_time import arriving

from optsched.core.errors import UsageError
from optsched.core.instance import Cluster, Instance, Workload
from optsched.core.placement import MICRO
from optsched.heuristics.running.base import Offer, View
from optsched.heuristics.simulating import Levels, simulate


class Ten:
    """A user's own policy of ten lines: of what waits, the task with the most replicas."""

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        waiting = view.pending_of(offer.kind)
        return [int(waiting[view.workload.replicas.lengths[waiting].argmax()])] if len(waiting) else []


def test_a_users_own_policy() -> None:
    """Tests a class and an object, parameters of a policy of the list, and what a run says of itself."""
    instance = arriving(1)
    run = simulate(instance, Ten)
    assert run.unfinished == ""
    assert run.raise_if_unfinished() is run
    assert simulate(instance, Ten()).schedule == run.schedule
    assert run.policy.endswith("test_simulating:Ten")
    assert repr(run).startswith("<Simulation of ")
    fair = simulate(instance, "fair", delay=0)
    assert (fair.policy, fair.parameters["delay"], fair.service) == ("fair", 0, "levels")


def test_the_same_seed_gives_the_same_run() -> None:
    """Tests that runs are alike for one seed and not for all, by name, class or object of a service."""
    instance = arriving(2)
    runs = [simulate(instance, "probabilistic", service, seed=4) for service in (None, "levels", Levels, Levels())]
    assert all((run.record == runs[0].record).all() for run in runs)
    assert {run.schedule for run in (simulate(instance, "rand", seed=seed) for seed in range(9))} != {runs[0].schedule}
    assert simulate(instance, "dl", "recorded").service == "recorded"


def test_times_are_whole_microseconds() -> None:
    """Tests that time and arrivals in between are rounded, so that each arrives when the clock says so."""
    instance = arriving(3)
    odd = replace(instance.workload, arrival=instance.workload.arrival + 1e-8 / 3)
    run = simulate(Instance(instance.cluster, odd, replace(instance.state, time=1e-9)), "dl")
    assert run.schedule == simulate(instance, "dl").schedule
    assert run.instance.time == 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"heartbeat": -1}, "heartbeat=-1: give a number that is 0 or more"),
        ({"heartbeat": 1e-9}, r"heartbeat=1e-09: give 0\.000001 or more seconds"),
        ({"assign": "some"}, "assign='some'; known: all, one"),
        ({"slowstart": 2}, "slowstart=2: give a number that is 1 or less"),
        ({"until": -3}, "until=-3: give a number that is 0 or more"),
        ({"seed": -1}, "seed -1: give a whole number"),
        ({"observers": 3}, "observers are a list of callables"),
        ({"service": "level"}, "service='level'; did you mean \"levels\""),
        ({"service": 3}, "service: give one of levels, transfer, rates, recorded, overload, or a Service, not "),
        ({"policy": "fairr"}, 'there is no heuristic "fairr"; did you mean "fair"'),
        ({"delai": 3}, 'dl has no parameter "delai"'),
        ({"instance": "papers/guo-fig2"}, "simulate takes an instance, not the text"),
    ],
)
def test_wrong_usage(given: dict[str, Any], message: str) -> None:
    """Tests the words for each value that is none."""
    with pytest.raises(UsageError, match=message):
        simulate(**{"instance": arriving(0), "policy": "dl", **given})


def test_how_far_a_run_is() -> None:
    """Tests the shares that are reported, of the tasks or of the time until a stop, and that the run is the same."""
    instance = arriving(2)
    tasks = len(instance.workload)
    seen: list[float] = []
    run = simulate(instance, "fair", progress=seen.append)
    assert seen == [ended / tasks for ended in range(1, tasks + 1)]
    assert run.record_of() == simulate(instance, "fair").record_of()
    seen.clear()
    simulate(instance, "fair", until=20, progress=seen.append)
    ended = simulate(instance, "fair", until=20).end
    due = [int(end) / (20 * MICRO) for end in np.sort(ended[ended <= 20 * MICRO])]
    assert seen == [max(at, number / tasks) for number, at in enumerate(due, start=1)]
    assert seen
    seen.clear()
    simulate(instance, "fair", losses=[("n1", 30, 40), ("n2", 45, 60)], progress=seen.append)
    assert max(seen) == 1
    many = Instance(Cluster(["a"], slots=[50]), Workload([f"t{task}" for task in range(1000)], duration=[1] * 1000))
    seen.clear()
    simulate(many, "fifo", progress=seen.append)
    assert len(seen) == 200
