"""The engine: events in order, offers at heartbeats, reduces that wait for maps, and runs that would never end."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from over_time import arriving
from policy_cases import FIRST, answering, first

from optsched.core.errors import HeuristicFailed, MissingField, UsageError
from optsched.core.instance import (
    FINISHED,
    KINDS,
    PENDING,
    RUNNING,
    Cluster,
    Instance,
    Ragged,
    Shuffle,
    State,
    Topology,
    Workload,
)
from optsched.core.placement import MICRO
from optsched.heuristics import HEURISTICS
from optsched.heuristics.running.base import Offer, Policy, View
from optsched.heuristics.running.course import Progress, Service
from optsched.heuristics.running.known import posed_on
from optsched.heuristics.simulating import simulate
from optsched.heuristics.simulating.engine import RELEASED, Beats, Engine, Rules, Stage
from optsched.heuristics.simulating.services import Levels
from optsched.measuring.timelines import regret
from optsched.problems.makespan import Makespan
from optsched.testing.policies import drawn_snapshot

#: Starts nothing.
IDLE = answering(lambda offer, view: ())


def on(workload: Workload, **cluster: Any) -> Instance:
    """A workload on nodes of which the slots are given."""
    nodes = len(next(iter(cluster.values())))
    return Instance(Cluster([f"n{node}" for node in range(nodes)], **cluster), workload)


def lasting(*seconds: float, **columns: Any) -> Workload:
    """Tasks that last so long wherever they run."""
    return Workload([f"t{task}" for task in range(len(seconds))], duration=list(seconds), **columns)


def run(instance: Instance, policy: Any, service: Service | None = None, seed: int = 0, **rules: Any) -> Engine:
    """A run that has ended as it should."""
    engine = Engine(Stage(instance), policy, service or Levels(), Rules(**rules), seed)
    assert engine.run() == ""
    assert not engine.starved
    return engine


def test_a_policy_is_told_all_that_happens() -> None:
    """Tests events and offers, and that a heartbeat at which nothing can be offered costs no offer."""
    workload = lasting(7, 5, 1, job=[0, 0, 1], job_ids=["a", "b"], arrival=[0, 8], kind=[0, 1, 0])
    events, offered = [], []

    def offer(offer: Offer, view: View) -> Sequence[int]:
        offered.append((offer.time, offer.node, offer.kind, offer.free))
        return first(offer, view)

    policy = answering(offer, notify=lambda self, event, view: events.append((event.time, event.what, event.index)))
    engine = run(on(workload, slots=[1], reduce_slots=[1]), policy, slowstart=Fraction(1))
    assert events == [
        (0, "task-started", 0),
        (7, "task-finished", 0),
        (7, "task-released", 1),
        (8, "job-arrived", 1),
        (9, "task-started", 2),
        (9, "task-started", 1),
        (10, "task-finished", 2),
        (14, "task-finished", 1),
    ]
    assert offered == [(0, 0, "map", 1), (9, 0, "map", 1), (9, 0, "reduce", 1)]
    assert [what for _, what, *_ in engine.record].count(RELEASED) == 1


def test_what_runs_at_the_beginning_goes_on() -> None:
    """Tests running tasks: one that ends in time, one that is overdue, and a reduce that waits for a map."""
    workload = lasting(20, 3, 1, 2, 2, kind=[0, 0, 1, 0, 0], job=[0, 0, 0, 0, 0], job_ids=["a"])
    cluster = Cluster(["n"], slots=[2], reduce_slots=[1])
    state = State.initial(cluster, workload, time=10, idle_slots=[0], idle_reduce_slots=[0])
    state = replace(
        state,
        status=np.array([1, 1, 1, 0, 0]),
        node=np.array([0, 0, 0, -1, -1]),
        start=np.array([1, 2, 9, *[np.nan] * 2]),
    )
    instance = Instance(cluster, workload, state)
    engine = run(instance, FIRST, heartbeat=0)
    assert engine.end == [21 * MICRO, 10 * MICRO, 21 * MICRO, 12 * MICRO, 14 * MICRO]
    problem = Makespan(instance)
    schedule = problem.schedule(np.array(engine.node)[problem.tasks], np.array(engine.start)[problem.tasks])
    assert problem.evaluate(schedule) == (11,)
    assert problem.ends(schedule).tolist() == engine.end
    unknown = Instance(cluster, workload, replace(state, start=np.full(5, np.nan)))
    with pytest.raises(MissingField, match=r"tasks\[0\]\.start: it runs: a simulation needs when it started"):
        Engine(Stage(unknown), FIRST, Levels(), Rules()).run()


class Ends(Levels):
    """Answers the same ends at each start."""

    def __init__(self, *answers: Any) -> None:
        super().__init__()
        self.answers = answers

    def started(self, task: int, node: int, now: int) -> Any:
        return [(task, end) for end in self.answers]


def test_progress_is_seen_at_heartbeats() -> None:
    """Tests that what a service tells of running maps is in the view by the last heartbeat of their node."""

    class Reading(Levels):
        def progress(self, beats: Any, now: int) -> Progress | None:
            if not now:
                return None
            read = np.array([beats[0] / MICRO])
            return Progress(np.array([0]), read, np.array([0]), 2 * read)

    seen = []

    def seeing(offer: Offer, view: View) -> Sequence[int]:
        seen.append((offer.time, float(view.bytes_read[0])))
        assert not offer.time or view.emitted[0] == 2 * view.bytes_read[0]
        return first(offer, view)

    shuffle = Shuffle([0], [3], [99.0])
    jobs: dict[str, Any] = {"job": [0, 1, 2, 0], "job_ids": ["a", "b", "c"], "arrival": [0, 3, 7]}
    workload = lasting(30, 1, 1, 1, kind=[0, 0, 0, 1], shuffle=shuffle, **jobs)
    run(on(workload, slots=[2]), answering(seeing), Reading())
    assert seen[0][0] == 0
    assert seen[1:] == [(3, 3), (9, 9), (30, 30)]


# Runs that would never end -----------------------------------------------------------------------------------------


def said(instance: Instance, policy: Any, service: Service | None = None, **rules: Any) -> str:
    """Why a run ended though something was left."""
    engine = Engine(Stage(instance), policy, service or Levels(), Rules(**rules))
    shown = engine.run()
    assert engine.starved
    return shown


@pytest.mark.parametrize("heartbeat", [0, 3 * MICRO])
def test_a_policy_that_never_starts_anything(heartbeat: int) -> None:
    """Tests the words, with and without heartbeats, and that later jobs arrive first."""
    text = (
        '2 maps wait ("t0", "t1"): the policy started nothing in 100 rounds of offers while nothing ran; it must start '
        'what view.pending_of("map") has, or say that it waits (waits_seconds, waits_rounds)'
    )
    assert said(on(lasting(1, 1), slots=[1, 2]), IDLE, heartbeat=heartbeat) == text
    later = lasting(1, 1, job=[0, 1], job_ids=["a", "b"], arrival=[0, 10**6])
    assert said(on(later, slots=[1, 2]), IDLE, heartbeat=heartbeat) == text


def test_slots_that_there_are_none_of() -> None:
    """Tests tasks of a kind without slots, slots that never become free, and reduces whose maps cannot run."""
    reduces = lasting(1, 1, kind=[0, 1])
    assert (
        said(on(reduces, slots=[1], reduce_slots=[0]), FIRST)
        == '1 reduce waits ("t1"), and no node has a slot for reduces; give one slots'
    )
    of_one_job = lasting(1, 1, kind=[0, 1], job=[0, 0], job_ids=["a"])
    text = '1 map waits ("t0"), and no node has a slot for maps; give one slots'
    assert said(on(of_one_job, slots=[0], reduce_slots=[1]), FIRST) == text
    cluster = Cluster(["n"], slots=[1])
    full = Instance(cluster, lasting(1, 1), State.initial(cluster, lasting(1, 1), idle_slots=[0]))
    assert said(full, FIRST) == (
        '2 maps wait ("t0", "t1"), and no slot for maps ever becomes free; tasks that are not listed hold them all: '
        "list these, or give idle slots"
    )


def test_a_service_that_never_ends_a_task() -> None:
    """Tests the words where a running task has no end."""
    blamed = ": the service Ends gives no end; a service must answer one for each task (a rate of 0 gives none)"
    assert said(on(lasting(1), slots=[1]), FIRST, Ends()) == f'1 task runs for ever ("t0"){blamed}'
    shown = said(on(lasting(*[1] * 9), slots=[5]), FIRST, Ends())
    assert shown == (
        f'5 tasks run for ever ("t0", "t1", "t2" and 2 more){blamed}; '
        '4 maps wait ("t5", "t6", "t7" and 1 more), and no slot for maps ever becomes free'
    )
    # The reduce runs on for the map, which is the service's.
    late = lasting(1, 1, kind=[0, 1], job=[0, 0], job_ids=["a"])
    assert said(on(late, slots=[1]), FIRST, Ends(), slowstart=Fraction(0)) == f'1 task runs for ever ("t0"){blamed}'


@pytest.mark.parametrize("service", ["levels", "transfer", "rates"])
def test_a_policy_that_starts_no_maps(service: str) -> None:
    """Tests that the policy is blamed, not the service, where a reduce runs until maps end that nobody starts."""
    policy = answering(lambda offer, view: first(offer, view) if offer.kind == "reduce" else ())
    cluster = Cluster(["a"], slots=[2], reduce_slots=[1], rate_process=[9], topology=Topology("distance", [[0.0]]))
    columns = {"kind": [0, 0, 1], "job": [0, 0, 0], "job_ids": ["j"], "size": [1, 1, 1]}
    workload = lasting(1, 1, 1, **columns, shuffle=Shuffle([0, 1], [2, 2], [3.0, 4.0]))
    for heartbeat in (0, 3):
        run = simulate(Instance(cluster, workload), policy, service, heartbeat=heartbeat, slowstart=0)
        assert run.unfinished == (
            '2 maps wait ("t0", "t1"): the policy started nothing in 100 rounds of offers while nothing else ran; it '
            'must start what view.pending_of("map") has, or say that it waits (waits_seconds, waits_rounds); '
            '1 reduce runs until all maps of its job have ended ("t2")'
        )
        with pytest.raises(HeuristicFailed, match=r'^under policy ".*Answering": 2 maps wait'):
            run.raise_if_unfinished()


def test_patience() -> None:
    """Tests that a policy that says how long it may let everything stand still is given that time."""

    def late(waits_seconds: float) -> Policy:
        return answering(
            lambda offer, view: first(offer, view) if offer.time >= 900 else (), waits_seconds=waits_seconds
        )

    instance = on(lasting(1), slots=[1])
    assert run(instance, late(1000)).start == [900 * MICRO]
    assert run(instance, late(1000), heartbeat=0).start == [1000 * MICRO]
    assert "started nothing" in said(instance, late(0))
    everyday = answering(first, patience=None)  # an attribute with an everyday name is a policy's own
    assert run(instance, everyday).end == [MICRO]


def test_arrivals_between_microseconds() -> None:
    """Tests that a job that arrives between two microseconds arrives, and does so once."""
    workload = lasting(1, 1, job=[0, 1], job_ids=["a", "b"], arrival=[1 / 3, 2e-7])
    assert run(on(workload, slots=[1]), FIRST, heartbeat=0).start == [1_000_000, 0]


class EveryHeartbeat(Engine):
    """Visits every heartbeat of every node while a task waits, one after another."""

    def _next_beat(self, kinds: Any, beats: Any) -> int | None:
        self._coming = max(beats.at, beats.first_from(self.now))
        return int(beats.time(self._coming))


@pytest.mark.parametrize("name", ["fair", "delay", "probabilistic", "coupling", "dl"])
@pytest.mark.parametrize("seed", range(4))
def test_heartbeats_that_are_passed_over_change_nothing(name: str, seed: int) -> None:
    """Tests that a run is what it is where every heartbeat is visited, also those at which nothing can be offered."""
    instance, make = arriving(seed, nodes=5, tasks=16), HEURISTICS[name].policy
    assert make is not None
    for one in (False, True):
        rules = Rules(heartbeat=7 * MICRO, one=one)
        visited = EveryHeartbeat(Stage(instance), make(), Levels(), rules, seed)
        assert visited.run() == ""
        assert run(instance, make(), seed=seed, heartbeat=7 * MICRO, one=one).record == visited.record


# What a policy may do ----------------------------------------------------------------------------------------------


def test_a_policy_that_starts_what_it_cannot() -> None:
    """Tests the words where a policy starts a task twice, a reduce that is held, or more than a node has slots for."""

    def failed(answer: Callable[[Offer, View], Any], instance: Instance) -> str:
        with pytest.raises(HeuristicFailed) as caught:
            Engine(Stage(instance), answering(answer), Levels(), Rules()).run()
        return str(caught.value)

    wrong = 'on an offer of node "n0" answered task "'
    twice = failed(lambda offer, view: [0], on(lasting(1, 1), slots=[2]))
    assert twice.startswith(f'{wrong}t0", which is no map that waits')
    many = failed(lambda offer, view: view.pending.tolist(), on(lasting(1, 1), slots=[1]))
    assert many.endswith("answered 2 tasks, more than the 1 free slot")
    held = on(lasting(9, 1, 1, kind=[0, 1, 1], job=[0, 0, -1], job_ids=["a"]), slots=[1], reduce_slots=[1])
    early = failed(lambda offer, view: [1] if offer.kind == "reduce" else [0], held)
    assert early.startswith(f'{wrong}t1", which is no reduce that waits')


#: Lost twice and once, and for ever.
LOSSES = [("n1", 5, 20), ("n2", 7.5, 9), ("n1", 40, 61), ("n3", 30, None)]


def test_a_lost_node() -> None:
    """Tests by hand a map that runs again, one whose output is fetched no more and one whose output is still needed."""
    workload = lasting(4, 9, 3, 2, kind=[0, 0, 0, 1], job=[0, 0, 1, 0], job_ids=["with", "without"])
    on_a = answering(  # at first
        lambda offer, view: first(offer, view) if not offer.node or offer.kind == "reduce" or offer.time >= 6 else ()
    )
    losses = [("n0", 8, 10)]
    run = simulate(on(workload, slots=[2, 1], reduce_slots=[0, 1]), on_a, heartbeat=0, slowstart=0, losses=losses)
    # t0 and t1 begin on n0 at 0; t0 ends at 4, t2 runs from 4 to 7; t0's output is needed, t2's is not.
    assert list(run.attempts) == ["task_id", "job_id", "kind", "node", "starting_time", "finish_time", "lost_time"]
    assert str(run.attempts.values.tolist()) == (
        "[['t0', 'with', 'map', 'n0', 0.0, 4.0, 8.0], ['t1', 'with', 'map', 'n0', 0.0, nan, 8.0]]"
    )
    assert run.schedule.starts.tolist() == [8 * MICRO, 10 * MICRO, 4 * MICRO, 0]
    assert (run.end / MICRO).tolist() == [12, 19, 7, 19]
    assert run.unfinished == ""
    events = run.events
    assert events["event"].tolist().count("task-returned") == 2
    lost = events[events["event"].isin(["node-lost", "node-back"])]
    assert lost[["time", "node"]].values.tolist() == [[8, "n0"], [10, "n0"]]
    assert lost["task"].isna().all()


@pytest.mark.parametrize("policy", sorted(name for name, entry in HEURISTICS.items() if entry.online))
@pytest.mark.parametrize("heartbeat", [3, 0])
def test_runs_with_losses(policy: str, heartbeat: float) -> None:
    """Tests for every policy that all ends, nothing on a lost node, and that snapshots are what observers saw."""
    seen: list[Instance] = []

    def observe(time: float, stage: Any, decision: Any) -> None:
        if decision.tasks:
            seen.append(decision.before.instance)

    run = simulate(arriving(0), policy, heartbeat=heartbeat, losses=LOSSES, observers=[observe])
    assert run.unfinished == ""
    spans = [
        (row.node, row.starting_time, min(row.lost_time, np.nan_to_num(row.finish_time, nan=np.inf)))
        for row in run.attempts.itertuples()
    ] + [(row.node, row.starting_time, row.finish_time) for row in run.tasks.itertuples()]
    for name, lost, back in LOSSES:
        for node, start, end in spans:
            assert node != name or end <= lost or start >= (np.inf if back is None else back)
    first = {(inst.time, int((inst.state.status == RUNNING).sum())): inst for inst in reversed(seen)}
    for position, time, _, _ in run.decisions():
        snapshot = run.snapshot(position, time)
        key = snapshot.time, int((snapshot.state.status == RUNNING).sum())
        assert first[key].sha256 == snapshot.sha256
    with pytest.raises(UsageError, match="regret: nodes were lost in this run"):
        regret(run, "lsap")


def test_replicas_of_a_lost_node_are_not_read() -> None:
    """Tests that a map takes as long as without them, and that what ran at the beginning runs again."""
    cluster = Cluster(["a", "b", "c"], rack=[0, 0, 1], rack_ids=["r", "s"])
    workload = Workload(["t", "u"], replicas=Ragged.from_rows([[0], []]), times=[[1, 2, 4], [9, 9, 9]])
    state = State.initial(
        cluster, workload, idle_slots=[0, 1, 1], status=[0, 1], node=[-1, 0], start=[np.nan, -3], time=2
    )
    instance = Instance(cluster, workload, state)
    run = simulate(instance, "dl", heartbeat=0, losses=[("a", 2, 5)])
    assert sorted((run.end - run.schedule.starts).tolist()) == [4 * MICRO, 9 * MICRO]
    assert run.attempts[["task_id", "starting_time", "lost_time"]].values.tolist() == [["u", -3, 2]]
    assert run.tasks["starting_time"].tolist() == (run.schedule.starts / MICRO).tolist()
    assert len(run.begun_before) == 0


@pytest.mark.parametrize(
    ("losses", "message"),
    [
        (None, "losses: must be a list, not None; give a node, when it is lost"),
        ([("n9", 1, 2)], 'losses: there is no node "n9"'),
        ([(9, 1, 2)], "losses: (9, 1, 2); give a node, when it is lost, and when it is back"),
        ([("n1", 1)], "losses: ('n1', 1); give a node"),
        ([("n1", "x", 2)], "losses: ('n1', 'x', 2); give a node"),
        ([("n1", 2, 2)], "a node is lost once the run has begun, and comes back later"),
        ([("n1", -1, 2)], "a node is lost once the run has begun"),
        ([("n1", float("inf"), None)], "give a node, when it is lost"),
        ([("n1", 1e300, None)], "a time is at most 2^53 microseconds"),
        ([("n1", 1, 1e12)], "a time is at most 2^53 microseconds"),
        ([("n1", 1, 5), ("n1", 4, 6)], 'losses: node "n1" is lost at 4 s, and not yet back then'),
    ],
)
def test_losses_that_are_none(losses: Any, message: str) -> None:
    """Tests that each is reported."""
    with pytest.raises(UsageError) as caught:
        simulate(arriving(0), "dl", losses=losses)
    assert message in str(caught.value)


def test_runs_in_which_no_node_can_be_lost() -> None:
    """Tests that services that keep tasks, and traces, take no losses."""
    instance, losses = arriving(0), [("n1", 1, 5)]
    with pytest.raises(UsageError, match="losses: Transfer keeps tasks that run; take levels or recorded"):
        simulate(instance, "dl", "transfer", losses=losses)
    traced = replace(instance, workload=replace(instance.workload, observed=np.zeros(17, dtype=np.int64)))
    traced = traced.with_state(replace(traced.state, start=np.zeros(17)))
    with pytest.raises(UsageError, match="losses: observed follows a trace"):
        simulate(traced, "observed", losses=losses)


@given(nodes=st.integers(1, 9), interval=st.integers(1, 40), begin=st.integers(-50, 50), now=st.integers(0, 200))
def test_times_of_heartbeats(nodes: int, interval: int, begin: int, now: int) -> None:
    """Tests that each node beats once an interval, and that the first from and the last by a time are those."""
    beats = Beats(nodes, interval, begin, np.random.default_rng(0))
    now += begin
    times = [beats.time(number) for number in range(nodes * (200 // interval + 3))]
    assert times == sorted(times)
    assert sorted(beats.node(number) for number in range(nodes)) == list(range(nodes))
    assert all(later - time == interval for time, later in zip(times, times[nodes:], strict=False))
    assert beats.first_from(now) == sum(time < now for time in times)
    last = beats.last_by(now).tolist()
    for node in range(nodes):
        own = [time for number, time in enumerate(times) if beats.node(number) == node and time <= now]
        assert last[node] == max(own, default=begin)


@given(
    marks=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 4), st.booleans()), max_size=12), at=st.integers(0, 12)
)
def test_the_next_heartbeat_is_the_first_that_is_open(marks: list[tuple[int, int, bool]], at: int) -> None:
    """Tests the next heartbeat against a walk over all, with nodes opened and closed."""
    beats = Beats(5, 50, 0, np.random.default_rng(1))
    opened: dict[str, set[int]] = {"map": set(), "reduce": set()}
    for number, node, open_ in marks:
        kind = KINDS[number]
        beats.open(kind, node, open_)
        (opened[kind].add if open_ else opened[kind].discard)(node)
    for kinds in (["map"], ["reduce"], KINDS):
        among = set().union(*(opened[kind] for kind in kinds))
        beats.at = at
        walk = [number for number in range(at, at + 5) if beats.node(number) in among]
        assert beats.next(kinds, 0) == (walk[0] if walk else None)


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
