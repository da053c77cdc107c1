"""Batch heuristics as policies."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from over_time import arriving

from optsched.core.errors import HeuristicFailed, MissingField, UsageError
from optsched.core.instance import REDUCE, Cluster, Instance, Ragged, Shuffle, Topology, Workload
from optsched.heuristics import HEURISTICS, heuristic
from optsched.heuristics.simulating import EveryRound, simulate
from optsched.problems import Problem
from optsched.problems.makespan import Makespan
from optsched.testing.policies import check_policy

#: Batch heuristics by which whatever waits is placed in slots.
BATCH = [
    name
    for name, entry in HEURISTICS.items()
    if not entry.online and name != "observed" and {"lsap", "fair-lsap", "flow", "transmission"} & set(entry.problems)
]


def test_shown() -> None:
    """Tests that a policy in rounds shows what it is, not where it is in memory."""
    shown = repr(EveryRound("quincy", period=5))
    assert shown == "EveryRound('quincy', problem='transmission-maps', period=5, on_free=1)"


@pytest.mark.parametrize("name", BATCH)
def test_every_batch_heuristic_runs_over_time(name: str) -> None:
    """Tests that each ends, feasibly, and twice alike."""
    for seed in range(2):
        instance = arriving(seed)
        run = simulate(instance, name, seed=seed, heartbeat=seed * 3)
        assert run.unfinished == ""
        assert Makespan(run.instance).violations(run.schedule) == []
        assert (run.record == simulate(instance, name, seed=seed, heartbeat=seed * 3).record).all()


@pytest.mark.parametrize("name", [name for name in BATCH if heuristic(name).in_turn is not None])
@pytest.mark.parametrize("seed", range(6))
def test_in_turn_as_from_snapshots(name: str, seed: int) -> None:
    """Tests that a heuristic that places maps in turn does over time what it does with a snapshot of each round."""
    instance = arriving(seed, nodes=5, tasks=30, reduces=6, jobs=8)
    rng = np.random.default_rng(seed)
    workload = replace(instance.workload, arrival=rng.choice([np.nan, 0, 4, 9], 8))
    job = np.where(rng.random(len(workload)) < 0.2, -1, workload.job)
    job[workload.kind == REDUCE] = workload.job[workload.kind == REDUCE]
    instance = Instance(instance.cluster, replace(workload, job=job), instance.state)
    plain = replace(heuristic(name), in_turn=None)
    losses = [(1, 6, 20), (3, 8, 31)] if seed % 2 else []
    for heartbeat, assign, rounds in ((0, "all", {}), (3, "one", {"on_free": 2}), (1, "all", {"period": 5})):
        runs = [
            simulate(
                instance, EveryRound(entry, **rounds), heartbeat=heartbeat, assign=assign, losses=losses, seed=seed
            )
            for entry in (name, plain)
        ]
        assert runs[0].unfinished == ""
        assert (runs[0].record == runs[1].record).all()
        assert runs[0].offers == runs[1].offers


def test_bug_fifo_over_time_took_a_snapshot_of_all_tasks_each_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that it needs none: over a day of 221,277 tasks snapshots took 300 s, where fair takes 24."""
    monkeypatch.delattr(EveryRound, "_snapshot")
    assert simulate(arriving(0), "fifo").unfinished == ""


def counting(rounds: list[tuple[float, int]]) -> Any:
    """A batch heuristic that counts its rounds, and starts everything on the first slots."""

    def place(problem: Problem, rng: np.random.Generator) -> Any:
        instance = problem.instance
        rounds.append((instance.time, len(problem.tasks)))
        slots = np.repeat(np.arange(len(instance.cluster)), instance.state.idle_slots).tolist()
        return [slots.pop() if slots else None for _ in problem.tasks]

    return place


def test_when_rounds_are_held() -> None:
    """Tests that a round waits for something to happen, for its period, and for so many free slots."""
    workload = Workload([f"t{task}" for task in range(6)], duration=[5, 7, 5, 5, 5, 5])
    instance = Instance(Cluster(["a", "b"]), workload)

    def times(**given: Any) -> list[float]:
        rounds: list[tuple[float, int]] = []
        assert simulate(instance, EveryRound(counting(rounds), "lsap", **given), heartbeat=0).unfinished == ""
        return [time for time, _ in rounds]

    assert times()[:3] == [0, 5, 7]
    assert times(period=6)[:2] == [0, 7]
    assert all(later - time >= 6 for time, later in zip(times(period=6), times(period=6)[1:], strict=False))
    assert times(on_free=2) == times(on_free=50) == [0, 7, 12]
    with pytest.raises(HeuristicFailed, match=r'^under policy "[^"]*": heuristic "[^"]*" answered an int'):
        simulate(instance, EveryRound(lambda problem, rng: 3, "lsap"))


def test_the_optimum_of_each_round() -> None:
    """Tests that solved rounds place every map on its data where a matching has it so."""
    workload = Workload(["t1", "t2", "t3"], replicas=Ragged.from_rows([[0, 1], [0], [1, 2]]), times=[[10, 15, 15]] * 3)
    instance = Instance(Cluster(["a", "b", "c"]), workload)
    run = simulate(instance, "solve", problem="lsap", period=1)
    assert run.tasks["locality"].tolist() == ["node"] * 3
    assert run.policy == "solve"
    limited = simulate(instance, EveryRound("solve", "lsap", time_limit=0.0))
    assert limited.unfinished == ""


def test_a_round_that_waits_stands_still_no_longer_than_its_period() -> None:
    """Tests that a long period is no starving, with and without heartbeats."""
    rounds: list[tuple[float, int]] = []
    workload = Workload(["t1", "t2"], job=[0, 1], job_ids=["a", "b"], arrival=[0, 5], duration=[1, 1])
    policy = EveryRound(counting(rounds), "lsap", period=5000)
    for heartbeat in (0, 3):
        rounds.clear()
        assert simulate(Instance(Cluster(["a"]), workload), policy, heartbeat=heartbeat).unfinished == ""
        assert [time >= 5000 for time, _ in rounds] == [False, True]


def test_rounds_keep_the_contract_of_policies() -> None:
    """Tests that a policy of rounds follows what happens, and tells what it remembers."""
    check_policy(EveryRound("lsap-sched"), seeds=range(2), problems=["lsap"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("dl",), "dl is a policy, which needs no rounds"),
        (("solve",), "name the problem that is posed, problem="),
        (("lsap-sched", "traffic"), "lsap-sched does not serve traffic"),
        (("lsap-sched", "min-cost-flow"), "min-cost-flow does not place tasks on a snapshot"),
        (("lsap-sched", "lsap", -1), "every round: period=-1: give a number that is 0 or more"),
        (("lsap-sched", "lsap", 0, 0), "every round: on_free=0: give a number that is 1 or more"),
    ],
)
def test_wrong_usage(given: tuple[Any, ...], message: str) -> None:
    """Tests the words for what is no batch heuristic, no problem of it, and for values that are none."""
    with pytest.raises(UsageError, match=message):
        EveryRound(*given)


def test_parameters_that_are_none() -> None:
    """Tests parameters of heuristics, of solve, and of what is made already, and an instance without a field."""
    instance = arriving(0)
    with pytest.raises(UsageError, match='lsap-sched has no parameter "winow"'):
        simulate(instance, "lsap-sched", winow=3)
    with pytest.raises(UsageError, match="solve has no parameter winow"):
        EveryRound("solve", "lsap", winow=3)
    with pytest.raises(UsageError, match="lsap-sched is made already"):
        simulate(instance, EveryRound("lsap-sched"), window=3)
    bare = Instance(Cluster(["a"]), Workload(["t"], duration=[1]), name="bare")
    with pytest.raises(MissingField, match="bare: "):
        simulate(bare, "lsap-fair-sched")


def test_rounds_in_which_nothing_is_sent() -> None:
    """Tests a problem that needs a shuffle before any job with reduces has arrived, and while reduces are held."""
    held = Shuffle([1, 2], [3, 3], [4.0, 4.0])
    jobs = {"kind": [0, 0, 0, 1], "job": [0, 1, 1, 1], "job_ids": ["alone", "late"], "arrival": [0, 5]}
    sizes = {"size": [64, 64, 64, np.nan], "duration": [2] * 4, "shuffle": held}
    workload = Workload(["a", "b", "c", "r"], **jobs, **sizes, replicas=Ragged.from_rows([[0], [1], [1], []]))
    instance = Instance(Cluster(["n", "m"], topology=Topology("distance", np.array([[0.0, 1], [1, 0]]))), workload)
    for name in ("quincy", "sequential", "larts"):
        for slowstart in (0.0, 1.0):
            run = simulate(instance, EveryRound(name, problem="transmission"), heartbeat=0, slowstart=slowstart)
            assert (run.unfinished, run.schedule.placed) == ("", 4)
