"""What each decision of a run cost, in its own snapshot."""

from __future__ import annotations

import pytest
from over_time import arriving

from optsched.core.errors import UsageError
from optsched.measuring.regrets import regret
from optsched.problems import problem
from optsched.routes import solve
from optsched.simulating import EveryRound, simulate


@pytest.mark.parametrize("name", ["lsap", "transmission-maps"])
def test_regrets_are_gaps_of_single_decisions(name: str) -> None:
    """Tests that none is negative, each optimum is that of its snapshot, and that only maps are judged."""
    run = simulate(arriving(2, tasks=8), "rand", seed=1, heartbeat=2, randomness=1)
    told = regret(run, name)
    starts = [(time, node, tasks) for _, time, node, tasks in run.decisions()]
    maps = [(time, tasks) for time, _, tasks in starts if (run.instance.workload.kind[tasks] == 0).all()]
    assert [row.split() for row in told["tasks"]] == [
        run.instance.workload.task_ids[tasks].tolist() for _, tasks in maps
    ]
    assert (told["regret"].astype(float) >= 0).all()
    assert (told["regret"].astype(float) > 0).any()
    assert told["proved"].all()
    position = next(iter(run.decisions()))[0]
    first = solve(problem(name, run.snapshot(position, starts[0][0])))
    assert first.objective is not None
    assert told["optimum"][0] == first.objective[0]
    assert run.regret(name).equals(told)


def test_the_optimum_of_each_round_has_no_regret_at_once() -> None:
    """Tests that decisions taken at one instant from one optimum have no regret, whatever is decided later."""
    run = simulate(arriving(1, reduces=0), EveryRound("solve", "lsap"), heartbeat=0)
    assert (regret(run, "lsap", profile="quick")["regret"].astype(float) == 0).all()


def test_decisions_that_no_placement_has() -> None:
    """Tests that a decision with which nothing is feasible has no regret, and that networks are no snapshots."""
    run = simulate(arriving(2, tasks=6), "fair", heartbeat=0)
    told = regret(run, "latency", parameters={"w_rem": 3})
    assert told["regret"].isna().sum() + (told["regret"].dropna() >= 0).sum() == len(told)
    with pytest.raises(UsageError, match="min-cost-flow does not place tasks on a snapshot"):
        regret(run, "min-cost-flow")
