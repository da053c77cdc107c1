"""The driver of policies: rounds, waiting, arrivals, that nobody sees the future, and what may be answered."""

import itertools
import pickle
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policy_cases import answering, first

from optsched.core.errors import HeuristicFailed, UsageError
from optsched.core.instance import (
    FINISHED,
    MAP,
    PENDING,
    REDUCE,
    RUNNING,
    Cluster,
    Instance,
    Ragged,
    Shuffle,
    State,
    Topology,
    Workload,
)
from optsched.core.placement import Placement
from optsched.heuristics.fair import DelayPolicy
from optsched.heuristics.lsap_sched import LocalityPolicy
from optsched.heuristics.running import driver
from optsched.heuristics.running.base import Event, Offer, Policy, View
from optsched.heuristics.running.driver import ENTRIES_SHOWN, Answer, Drive, drive, placement_from, tasks_from
from optsched.problems import Latency, Lsap, Problem
from optsched.problems.transmission import Transmission
from optsched.routes import solve


def fill(offer: Offer, view: View) -> Sequence[int]:
    """The first tasks that wait, as many as there are slots."""
    return view.pending[: offer.free].tolist()


class Recorder(LocalityPolicy):
    """Keeps everything that it was told."""

    def __init__(self, reading: str = "sweep", randomness: float = 0) -> None:
        super().__init__(reading, randomness)
        self.told: list[Any] = []

    def start(self, view: View, rng: np.random.Generator) -> None:
        super().start(view, rng)
        self.told.append(("start", _seen(view)))

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        answer = super().offer(offer, view)
        self.told.append((offer, _seen(view), tuple(answer)))
        return answer

    def notify(self, event: Event, view: View) -> None:
        super().notify(event, view)
        self.told.append((event, _seen(view)))


def _seen(view: View) -> tuple[Any, ...]:
    """All that a view shows, in a form that compares."""
    workload = (_plain(getattr(view.workload, column.name)) for column in fields(Workload))
    cluster = (_plain(getattr(view.cluster, column.name)) for column in fields(Cluster))
    present = view.status.tolist(), view.node.tolist(), view.pending.tolist()
    return view.workload.task_ids.tolist(), *workload, *cluster, *present, view.problem, dict(view.parameters)


def _plain(column: Any) -> Any:
    if isinstance(column, Ragged):
        return [row.tolist() for row in column]
    if isinstance(column, Mapping):
        return {name: _plain(values) for name, values in column.items()}
    return [str(value) for value in column.tolist()] if isinstance(column, np.ndarray) else repr(column)


def snapshot(seed: int, tasks: int = 12, nodes: int = 8, slots: int = 2, **columns: Any) -> Instance:
    """A small random instance with racks."""
    rng = np.random.default_rng(seed)
    cluster = Cluster(
        [f"n{node}" for node in range(nodes)],
        rack=np.arange(nodes) % 3,
        rack_ids=["r1", "r2", "r3"],
        slots=[slots] * nodes,
    )
    rows = [np.sort(rng.choice(nodes, size=rng.integers(0, 3), replace=False)).tolist() for _ in range(tasks)]
    workload = Workload([f"t{task}" for task in range(tasks)], replicas=Ragged.from_rows(rows), **columns)
    return Instance(cluster, workload)


def small(slots: int, tasks: int) -> Instance:
    """Tasks and one node."""
    return Instance(Cluster(["n"], slots=[slots]), Workload([f"t{task}" for task in range(tasks)]))


def driven(problem: Problem, policy: Any, **options: Any) -> tuple[Drive, list[Answer]]:
    """The drive, and its decisions."""
    decisions: list[Answer] = []
    result = drive(problem, policy, observers=[lambda _time, _problem, decision: decisions.append(decision)], **options)
    return result, decisions


def test_a_node_that_declines_a_slot_is_left_for_the_round() -> None:
    """Tests that then a slot declined ends the node's turn, and that its other slots count as offered in vain."""
    declines = itertools.cycle([False, True])
    policy = answering(lambda offer, view: () if next(declines) else first(offer, view), fills_nodes=True)
    result, decisions = driven(Lsap(small(slots=3, tasks=5)), policy)
    assert [len(decision.tasks) for decision in decisions] == [1, 0, 1, 0, 1]
    assert (result.rounds, result.idle_slot_time) == (3, 2 + 1)


def test_driver_and_policy_have_streams_of_their_own() -> None:
    """Tests that what a policy draws does not move the order of the offers."""
    problem = Lsap(snapshot(1))
    gambler = answering(fill, start=lambda self, view, rng: rng.random(1000))
    plain, gambled = driven(problem, answering(fill), seed=5)[1], driven(problem, gambler, seed=5)[1]
    assert plain == gambled
    assert plain != driven(problem, answering(fill), seed=6)[1]


def test_window_on_the_state_is_read_only() -> None:
    """Tests that a policy can write neither to what it is shown nor to the instance."""

    def vandal(offer: Offer, view: View) -> Sequence[int]:
        for array in (view.status, view.node, view.workload.replicas.values, view.cluster.slots):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1
        with pytest.raises(TypeError):
            view.parameters["levels"] = (0, 0, 0)
        return first(offer, view)

    assert drive(Lsap(snapshot(0)), answering(vandal)).placement.placed == 12


def test_problem_without_slots_is_wrong_usage() -> None:
    """Tests that `latency` has nothing to offer to a policy."""
    with pytest.raises(UsageError, match="latency has no slots to offer"):
        drive(Latency(snapshot(0)), answering(fill))


# The future -----------------------------------------------------------------------------------------------------------


def arriving(seed: int, arrivals: Sequence[float], time: float = 0) -> Instance:
    """Twelve tasks of four jobs that arrive at the given times; the tasks of the jobs are interleaved in the file."""
    columns = {"job": np.arange(12) % 4, "job_ids": ["j0", "j1", "j2", "j3"], "arrival": np.array(arrivals)}
    instance = snapshot(seed, **columns)
    return instance.with_state(replace(instance.state, time=time))


def test_a_plain_class_with_offer_is_a_policy() -> None:
    """Tests that one without `start` and `notify` sees later jobs all the same, and that arrays are answers."""

    class Plain:
        def offer(self, offer: Offer, view: View) -> np.ndarray:
            return view.pending[:1]

    assert drive(Lsap(arriving(0, [0, 30, 20, 10])), Plain()).placement.placed == 12


def test_begun_job_has_arrived() -> None:
    """Tests that a job with a running task is known, whatever its time of arrival says."""
    instance = arriving(0, [0, 99, 0, 0])
    state = instance.state
    status, node = state.status.copy(), state.node.copy()
    status[1], node[1] = RUNNING, 0
    policy = Recorder()
    drive(Lsap(instance.with_state(replace(state, status=status, node=node))), policy)
    assert len(policy.told[0][1][0]) == 12


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    changed=st.integers(0, 10**6),
    reading=st.sampled_from(["sweep", "heartbeat"]),
    randomness=st.sampled_from([0, 0.5]),
)
def test_policy_cannot_see_the_future(seed: int, changed: int, reading: str, randomness: float) -> None:
    """Tests that other durations, records and later jobs leave everything the same up to the next arrival."""
    rng = np.random.default_rng(changed)
    base = arriving(seed, [0, 0, 50, 60])
    workload, later = base.workload, np.arange(12) % 4 >= 2
    extra = int(rng.integers(0, 4))
    rows = [row.tolist() for row in workload.replicas]
    for task in np.flatnonzero(later).tolist():
        rows[task] = np.sort(rng.choice(8, size=2, replace=False)).tolist()
    other = replace(
        workload,
        task_ids=[*workload.task_ids, *(f"x{task}" for task in range(extra)), "reduce"],
        job=[*workload.job, *[2] * (extra + 1)],
        kind=[*workload.kind, *[0] * extra, REDUCE],
        replicas=Ragged.from_rows([*rows, *[[0]] * extra, []]),
        size=np.append(np.where(later, 64.0, np.nan), np.ones(extra + 1)),
        rate_in=np.full(13 + extra, np.nan),
        observed=rng.integers(0, 8, size=13 + extra),
        duration=rng.random(13 + extra),
        times=rng.random((13 + extra, 3)),
        arrival=[0, 0, 50, 50 + 10 * rng.random()],
        shuffle=Shuffle([0], [12 + extra], [1.0]),
    )
    changed_instance = Instance(base.cluster, other)
    one, two = Recorder(reading, randomness), Recorder(reading, randomness)
    drive(Lsap(base), one, seed)
    drive(Lsap(changed_instance), two, seed)
    assert _until_arrival(one.told) == _until_arrival(two.told)
    assert len(_until_arrival(one.told)) > 6


def _until_arrival(expected: list[Any]) -> list[Any]:
    """What a policy was told before the first job arrived after the start."""
    for position, entry in enumerate(expected):
        if isinstance(entry[0], Event) and entry[0].what == "job-arrived":
            return expected[:position]
    return expected


def two_stages() -> Transmission:
    """Two maps and two reduces of one job on two nodes with a slot of each kind; m1 is finished."""
    cluster = Cluster(["a", "b"], slots=[1, 1], topology=Topology("hops", hops={"node": 0, "rack": 2, "off_rack": 4}))
    shuffle = Shuffle(map=[0, 0, 1, 2], reduce=[3, 4, 3, 4], size=[9.0, 8.0, 7.0, 6.0])
    workload = Workload(
        ["m1", "m2", "m3", "r1", "r2"],
        kind=[MAP, MAP, MAP, REDUCE, REDUCE],
        job=[0] * 5,
        job_ids=["j"],
        size=[64.0] * 5,
        replicas=Ragged.from_rows([[0], [0], [1], [], []]),
        shuffle=shuffle,
    )
    ran = {"status": [FINISHED] + [PENDING] * 4, "node": [0] + [-1] * 4}
    return Transmission(Instance.initial(cluster, workload, **ran, emitted=[9.0, 8.0, 1.0, np.nan]))


def test_reduce_slots_are_offered_after_all_map_slots() -> None:
    """Tests the kinds of offers in a round, the free slots that a view shows, and that no kind is offered in vain."""
    seen: list[tuple[str, list[int], list[int]]] = []

    def noted(offer: Offer, view: View) -> Sequence[int]:
        assert view.free_slots(offer.kind)[offer.node] == offer.free
        seen.append((offer.kind, view.free_map_slots.tolist(), view.free_reduce_slots.tolist()))
        return first(offer, view)

    result = drive(two_stages(), answering(noted))
    assert [kind for kind, _, _ in seen] == ["map", "map", "reduce", "reduce"]
    assert seen[0][1:] == ([1, 1], [1, 1])
    assert seen[2][1] == [0, 0]
    assert sorted(seen[3][2]) == [0, 1]
    assert (result.placement.placed, result.rounds, result.starved) == (4, 1, False)


def test_sizes_are_seen_where_maps_are_finished() -> None:
    """Tests that a view hides what only the end of a map tells, but for ablations that ask for the truth."""
    views: list[View] = []

    drive(two_stages(), answering(lambda offer, view: views.append(view) or first(offer, view)))
    shuffle, true = views[0].shuffle, views[0].true_shuffle
    assert np.array_equal(shuffle.size, [9.0, 8.0, np.nan, np.nan], equal_nan=True)
    assert np.array_equal(views[0].emitted, [9.0, 8.0, 1.0, np.nan], equal_nan=True)
    assert true.size.tolist() == [9.0, 8.0, 7.0, 6.0]


def test_policy_that_places_one_kind_only_starves() -> None:
    """Tests that maps which never start end the drive within a bounded number of rounds."""
    no_maps = answering(lambda offer, view: first(offer, view) if offer.kind == "reduce" else ())
    result = drive(two_stages(), no_maps, max_idle_rounds=7)
    assert (result.placement.placed, result.starved, result.rounds) == (2, True, 8)


def test_an_order_drawn_as_far_as_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that of more slots than are shuffled at once a round offers each once too, in an order of the seed."""
    monkeypatch.setattr(driver, "LAZY", 10)
    monkeypatch.setattr(driver, "_DRAWN", 4)
    problem = Lsap(snapshot(0, tasks=40, nodes=6, slots=3))
    orders = []
    for seed in (0, 0, 1):
        _, decisions = driven(problem, LocalityPolicy("heartbeat"), seed=seed)
        orders.append([decision.offer.node for decision in decisions])
        assert sorted(orders[-1]) == sorted([*range(6)] * 3)
    assert orders[0] == orders[1] != orders[2]


@pytest.mark.thorough
def test_the_lazy_order_is_uniform(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that each of the 12 orders of slots of nodes a, a, b and c comes up about as often as any other."""
    monkeypatch.setattr(driver, "_DRAWN", 3)
    rng = np.random.default_rng(0)
    counts = Counter(tuple(driver._drawn(np.array([2, 1, 1]), 4, rng)) for _ in range(12_000))
    assert len(counts) == 12
    assert max(abs(count - 1000) for count in counts.values()) < 130  # four deviations


def test_far_more_slots_than_tasks() -> None:
    """Tests that a thousand million slots cost no more than the tasks that are started."""
    workload = Workload([f"t{task}" for task in range(20)])
    cluster = Cluster([f"n{node}" for node in range(1000)], slots=np.full(1000, 10**6))
    result = drive(Lsap(Instance(cluster, workload)), LocalityPolicy("heartbeat"))
    assert (result.rounds, result.idle_slot_time, result.starved) == (1, 0, False)
    assert (result.placement.nodes >= 0).all()


class TestObservers:
    """What who looks on gets."""

    def test_the_problem_on_the_present(self) -> None:
        """Tests that regrets against the present add up to the gap, which they do not against the problem at the start.

        A decision's regret is what it adds to the optimum of what is left.
        """
        instance = snapshot(3, tasks=14, nodes=5, slots=3)
        problem, regrets, at_start = Lsap(instance), [], []

        def observe(time: float, posed: Problem, decision: Answer) -> None:
            assert posed is problem
            cost = sum(decision.offer.node not in instance.replicas[task] for task in decision.tasks)
            before, after = (optimum(one) for one in (decision.before, decision.after))
            regrets.append(after + cost - before)
            at_start.append(optimum(posed) + cost - optimum(posed))
            assert decision.before.instance.workload is decision.after.instance.workload is instance.workload
            assert decision.placement.nodes[list(decision.tasks)].tolist() == [decision.offer.node] * len(
                decision.tasks
            )
            assert decision.placement.placed == len(decision.tasks)

        result = drive(problem, LocalityPolicy("heartbeat"), 1, observers=[observe])
        gap = problem.evaluate(result.placement)[0] - optimum(problem)
        assert gap > 0
        assert min(regrets) >= 0
        assert sum(regrets) == gap != sum(at_start)

    def test_what_a_policy_makes_of_an_offer_is_its_own_business(self) -> None:
        """Tests that offers and events that a policy changes change nothing of the run, or of what is observed."""

        def meddling(offer: Offer, view: View) -> Sequence[int]:
            answer = fill(offer, view)
            offer.time, offer.node, offer.kind, offer.free = -1, 10**6, "reduce", 99
            return answer

        def notify(self: Policy, event: Event, view: View) -> None:
            event.time, event.what, event.index = -1, "node-changed", 10**6

        problem, runs = Lsap(arriving(2, [0, 0, 20, 30])), []
        for policy in (answering(fill), answering(meddling, notify=notify)):
            run, shown = driven(problem, policy)
            runs.append((run.placement.nodes.tolist(), run.rounds, [decision.offer for decision in shown]))
        assert runs[0] == runs[1]

    def test_goes_to_another_process(self) -> None:
        """Tests that a kept decision is sent without its run, also where the policy could not be."""
        problem = Lsap(Instance(Cluster(["a", "b"]), Workload(["t", "u"], job=[0, 1], job_ids=["j", "k"])))
        kept: list[Answer] = []
        drive(problem, DelayPolicy(), 1, observers=[lambda *message: kept.append(message[2])])
        copied = pickle.loads(pickle.dumps(kept))
        assert copied == kept
        with pytest.raises(UsageError, match="this decision is past"):
            copied[0].after  # noqa: B018


def optimum(problem: Problem) -> Any:
    """The least locality cost."""
    return solve(problem).objective[0]


# Answers --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def problem() -> Lsap:
    """Two nodes, three tasks, the first of which is finished."""
    cluster, workload = Cluster(["a", "b"]), Workload(["t1", "t2", "t3"])
    return Lsap(Instance(cluster, workload, State.initial(cluster, workload, status=[FINISHED, 0, 0])))


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (None, "answered None; give a Placement"),
        ("ab", 'answered the text "ab"; give a Placement'),
        ({"t2": "a", "t8": "b"}, 'names task "t8", which is none of problem.tasks'),
        (iter(["a", "b"]), "iterator; give a Placement"),
        (3, "answered an int"),
        (["a"], "answered 1 nodes; give exactly one for each of problem.tasks, that is 2"),
        (["a", "b", "a"], "answered 3 nodes"),
        (Placement.of([0, 1]), "answered 2 nodes; give exactly one for each task of the instance, that is 3"),
        (np.zeros((2, 2), dtype=np.int64), r"an array of shape \(2, 2\)"),
        (["a", "z"], 'answered node "z" for task "t3": the instance has no such node'),
        ([0, 2], 'answered node index 2 for task "t3": indices run from 0 to 1, and -1 is nowhere'),
        (np.array([-2, 0]), 'answered node index -2 for task "t2"'),
        (Placement.of([0, 2, 0]), 'answered node index 2 for task "t2"'),
        ([float("nan"), 0], 'answered nan for task "t2": give a node id, a node index, or None'),
        (np.array([0.0, np.nan]), 'answered 0.0 for task "t2"'),
        ([True, 0], 'answered True for task "t2"'),
        ([["a"], "b"], r"answered \['a'\] for task"),
    ],
)
def test_nonsense_told(problem: Lsap, answer: Any, complaint: str) -> None:
    """Tests that each wrong type, length and entry is reported with the task that it concerns."""
    with pytest.raises(HeuristicFailed, match=complaint):
        placement_from(answer, problem)


def test_every_wrong_entry_told_up_to_a_limit() -> None:
    """Tests that wrong entries have a line each, and that many of them are counted."""
    tasks = ENTRIES_SHOWN + 5
    problem = Lsap(Instance(Cluster(["a"]), Workload([f"t{task}" for task in range(tasks)])))
    with pytest.raises(HeuristicFailed) as failed:
        placement_from(["z"] * tasks, problem)
    lines = str(failed.value).splitlines()
    assert len(lines) == ENTRIES_SHOWN + 1
    assert lines[-1] == "and 5 more entries that are wrong"


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (None, "answered None; give a sequence of tasks"),
        ("01", "answered '01'"),
        (1, "answered 1; give a sequence"),
        ([0.0], "answered 0.0; give the tasks' numbers"),
        ([float("nan")], "answered nan"),
        ([True], "answered True"),
        ([3], "answered task 3, which is no map that waits"),
        ([-1], "answered task -1, which is no map that waits"),
        ([0, 0], "answered task 0 twice"),
        ([0, 1, 2], "answered 3 tasks, more than the 2 free slots"),
    ],
)
def test_policy_nonsense_told(answer: Any, complaint: str) -> None:
    """Tests that a policy's wrong types, unknown, repeated and too many tasks are reported."""
    with pytest.raises(HeuristicFailed, match=complaint):
        tasks_from(answer, 2, "map", range(3).__contains__, lambda task: f"task {task}")
