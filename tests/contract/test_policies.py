"""The contract of policies, held against every one of the registry, and seen to fail where one misses an event."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from policy_cases import answering
from small_problems import NAMES, small_problem

from optsched.core.errors import UsageError
from optsched.core.instance import KINDS, MAP, PENDING, REDUCE, RUNNING
from optsched.heuristics import HEURISTICS, heuristic
from optsched.heuristics.fair import CapacityPolicy, DelayPolicy, FairPolicy
from optsched.heuristics.job_order import JobPolicy, WaitingMaps
from optsched.heuristics.joss import JossPolicy
from optsched.heuristics.lsap_sched import LocalityPolicy
from optsched.heuristics.probabilistic import CouplingPolicy, LeastCostPolicy, ProbabilisticPolicy
from optsched.heuristics.running.base import Event, Heuristic, Offer, Policy, View
from optsched.heuristics.seen_costs import SeenCosts
from optsched.problems import Lsap
from optsched.problems.traffic import Traffic
from optsched.problems.transmission import Transmission
from optsched.testing.contract import ContractBroken
from optsched.testing.policies import Dice, History, check_policy, drawn_snapshot, law

#: Every policy that is listed, those of installed packages too. None can be left out.
POLICIES = [name for name, entry in HEURISTICS.items() if entry.online]

#: Parameters, beside the defaults, with which a policy counts otherwise.
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "dl": [{"reading": "heartbeat"}],
    "rand": [{"randomness": 0.5}],
    "delay": [{"form": "two-level"}, {"D": 3}, {"form": "two-level", "D1": 1, "D2": 2}, {"D": 0}],
    "fair": [{"assign": "single"}, {"delay": 1}, {"delay": 0}, {"delay": "auto"}],
    "capacity": [{"reduce_delay": 0}, {"reduce_delay": 1, "sizes": "emitted"}],
    "probabilistic": [
        {"skip_limit": 1},
        {"form": "step", "distances": "hops"},
        {"jobs": "each"},
        {"average": "eligible", "sizes": "emitted"},
        {"sizes": "actual", "select": "min_cost"},
    ],
    "least-cost": [{"sizes": "emitted"}],
    "coupling": [{"progress": "finished", "sizes": "emitted"}, {"waits": 1, "centre": "free"}, {"waits_in": "offers"}],
    **{
        name: [{"idle": "steal"}, {"policy": "A"}, {"policy": "B"}, {"policy": "C", "idle": "steal"}]
        for name in ("joss-t", "joss-j")
    },
}


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_follows_what_happens(name: str) -> None:
    """Tests that after every event of a drawn history each policy decides as one that begins with the present."""
    check_policy(name, seeds=[0], problems=HEURISTICS[name].problems)
    for parameters in VARIANTS.get(name, []):
        check_policy(name, seeds=[1], problems=HEURISTICS[name].problems[-1:], **parameters)


@pytest.mark.thorough
@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_follows_long_histories(name: str) -> None:
    """Tests the same over more and longer histories, with all variants."""
    for parameters in ({}, *VARIANTS.get(name, [])):
        check_policy(name, seeds=range(2, 4), problems=HEURISTICS[name].problems, steps=40, **parameters)


def _deaf_to(kind: type[Any], *what: str) -> Callable[[], Any]:
    """A policy of a kind that is not told of some events."""

    def notify(self: Any, event: Event, view: View) -> None:
        if event.what not in what:
            kind.notify(self, event, view)

    return type(f"Deaf{kind.__name__}", (kind,), {"notify": notify})


#: A policy, and a problem, for each kind of thing that it may miss.
DEAF = [
    *[(DelayPolicy, "lsap", event) for event in ("job-arrived", "task-started", "task-finished", "task-returned")],
    *[(FairPolicy, "lsap", event) for event in ("job-arrived", "task-started", "task-finished", "task-returned")],
    (FairPolicy, "transmission", "node-changed"),
    *[(CapacityPolicy, "lsap", event) for event in ("job-arrived", "task-started", "task-finished", "task-returned")],
    *[(LocalityPolicy, "lsap", event) for event in ("job-arrived", "task-returned")],
    *[
        (kind, "transmission", event)
        for kind in (ProbabilisticPolicy, LeastCostPolicy, CouplingPolicy)
        for event in ("job-arrived", "task-started", "task-finished", "task-returned")
    ],
    *[(kind, "transmission", "task-released") for kind in (DelayPolicy, FairPolicy, CapacityPolicy, CouplingPolicy)],
]


@pytest.mark.parametrize(("kind", "problem", "event"), DEAF)
def test_a_policy_that_misses_an_event_breaks_the_contract(kind: type[Any], problem: str, event: str) -> None:
    """Tests that each shipped policy needs each event, and that the contract sees where it is not reported."""
    with pytest.raises(ContractBroken, match=problem):
        check_policy(_deaf_to(kind, event), seeds=range(12), problems=[problem])


def first(offer: Offer, view: View) -> Sequence[int]:
    """The first task that waits."""
    return view.pending_of(offer.kind)[:1].tolist()


class Oldest(Policy):
    """A user's own policy, of a few lines: the first task that waits, by what it counted itself."""

    def start(self, view: View, rng: np.random.Generator) -> None:
        self.waiting = view.pending.tolist()

    def notify(self, event: Event, view: View) -> None:
        self.waiting = view.pending.tolist()

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        return self.waiting[:1]


class Patient(Oldest):
    """One that lets an offer pass after each that it took, and does not tell that it remembers."""

    def __init__(self) -> None:
        self.passed = 0

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        self.passed += 1
        return self.waiting[: self.passed % 2]


class Telling(Patient):
    """The same, and it tells."""

    def memory(self) -> int:
        return self.passed

    def recall(self, memory: int, view: View) -> None:
        self.passed = memory


def test_a_users_own_policy() -> None:
    """Tests that a class of a few lines keeps the contract, that memory must be shown, and that one may only offer."""
    check_policy(Oldest, seeds=range(2), problems=["lsap"])
    check_policy(Telling, seeds=range(2), problems=["lsap"])
    with pytest.raises(ContractBroken, match="tell by memory and recall what no view tells"):
        check_policy(Patient, seeds=range(2), problems=["lsap"])

    class Plain:
        offer = staticmethod(first)

    check_policy(Plain, seeds=range(2), problems=["lsap", "transmission"])


def test_bug_a_policy_for_lsap_was_held_to_job_times() -> None:
    """Tests that by default a policy is held to the problems that it names, which may have no reduces."""
    named = Heuristic("oldest", "", "", ("lsap",), "the first task that waits", policy=Oldest)
    assert named.problems[-1] == "job-times"
    check_policy(named, seeds=[0])
    with pytest.raises(ContractBroken, match="job-times"):
        check_policy(named, seeds=[0], problems=["job-times"])


def test_bug_a_users_policy_was_asked_for_problems_without_slots() -> None:
    """Tests that a policy serves every problem that offers slots on some instance, and no other."""
    serves = set(heuristic(Oldest).problems)
    assert {name for policy in POLICIES for name in HEURISTICS[policy].problems} <= serves
    posed = {name: small_problem(name, 0) for name in NAMES}
    assert {name for name, problem in posed.items() if getattr(problem, "offered", None)} == serves


def test_what_breaks_is_reported() -> None:
    """Tests the words where a policy raises, or answers what does not wait."""

    def raises(policy: Policy, event: Event, view: View) -> None:
        raise ValueError(event.what)

    class Unprepared(Oldest):
        def start(self, view: View, rng: np.random.Generator) -> None:
            self.waiting.clear()

    raising = answering(first, notify=raises)
    greedy = answering(lambda offer, view: view.pending_of(offer.kind).tolist())
    again = answering(lambda offer, view: np.flatnonzero(view.status != PENDING)[:1].tolist())
    with pytest.raises(ContractBroken, match=r"lsap, seed 0: on event 1 \(task-started\) it raised ValueError: "):
        check_policy(raising, problems=["lsap"])
    with pytest.raises(ContractBroken, match=r"lsap, seed 0: after event 0 \(start\) it raised AttributeError: "):
        check_policy(Unprepared, problems=["lsap"])
    with pytest.raises(ContractBroken, match=r"which is no map that waits; take one of view\.pending_of"):
        check_policy(again, problems=["lsap"])
    with pytest.raises(ContractBroken, match=r"more than the (1 free slot|2 free slots)"):
        check_policy(greedy, problems=["lsap"], seeds=range(9))


def test_what_is_no_policy_of_slots() -> None:
    """Tests that batch heuristics, and problems without slots or tasks, are wrong usage."""
    with pytest.raises(UsageError, match="fifo is a batch heuristic"):
        check_policy("fifo")
    for problem in ("latency", "min-cost-flow", "generalized-assignment"):
        with pytest.raises(UsageError, match="none of its problems offers slots"):
            check_policy(Oldest, problems=[problem])


@pytest.mark.parametrize("given", [{"seeds": 3}, {"seeds": []}, {"problems": "lsap"}, {"steps": 0}, {"steps": "9"}])
def test_what_would_try_nothing(given: dict[str, Any]) -> None:
    """Tests that numbers and lists that are none, or without which nothing is compared, are wrong usage."""
    with pytest.raises(UsageError, match="check_policy"):
        check_policy(Oldest, **given)


#: Takes nothing.
IDLE = answering(lambda offer, view: ())


class TestLaw:
    """How likely each answer is."""

    def test_of_draws(self) -> None:
        """Tests numbers drawn one after another, and chances, compared any way round."""
        view, dice = History(Lsap(drawn_snapshot(0)), IDLE, 0, print).known.view, Dice(0)

        def drawing(offer: Offer, view: View) -> Sequence[int]:
            if dice.integers(1, 3) == 1:
                return (1,)
            return (2,) if dice.random() < 0.25 else (int(dice.random() >= 1.0),)

        found = law(answering(drawing), Offer(0.0, 0, "map", 1), view, dice)
        assert found == {(0,): 0.375, (1,): 0.5, (2,): 0.125}

    def test_too_many_ways(self) -> None:
        """Tests that where there are too many ways to draw there is no law, and that other draws are numpy's."""
        view, dice = History(Lsap(drawn_snapshot(0)), IDLE, 0, print).known.view, Dice(0)
        wide = answering(lambda offer, view: (int(dice.integers(30)) * int(dice.integers(30)),))
        assert law(wide, Offer(0.0, 0, "map", 1), view, dice) is None
        assert dice.integers(5) in range(5)
        assert 0 <= dice.random() < 1
        dice.follow(())
        assert dice.random(3).shape == dice.integers(5, size=3).shape == (3,)


# What is counted, against the view itself --------------------------------------------------------------------------


@settings(max_examples=8)
@given(seed=st.integers(0, 10**6), fair=st.booleans())
def test_what_job_policies_count_is_what_the_view_says(seed: int, fair: bool) -> None:
    """Tests tasks by job and status, queues, shares of pools and barred nodes after every event of a history."""
    policy: Any = FairPolicy(assign="single") if fair else LeastCostPolicy()
    history = History(Transmission(drawn_snapshot(seed)), policy, seed, lambda event: _compare(policy, history))
    for _ in range(30):
        history.step()


def _compare(policy: JobPolicy, history: History) -> None:
    view = history.known.view
    job, status = view.workload.job, view.status
    for number in np.unique(job).tolist():
        for kind in range(2):
            own = status[(job == number) & (view.workload.kind == kind)]
            assert policy.counts(number, kind) == tuple(np.bincount(own, minlength=3)[:3].tolist())  # none that is held
            waits = np.flatnonzero((job == number) & (view.workload.kind == kind) & (status == PENDING))
            assert policy.waiting(number, KINDS[kind], view).tolist() == waits.tolist()
        if number >= 0:
            runs = (job == number) & (view.workload.kind == REDUCE) & (status == RUNNING)
            assert set(policy.reduce_nodes(number)) == set(view.node[runs].tolist())
    groups = np.append(view.workload.job_group, -1)[job]
    for kind in range(2):
        found = [number for _, turns in policy.turns(kind) for _, number in turns]
        waiting = set(job[(status == PENDING) & (view.workload.kind == kind)].tolist())
        assert sorted(found) == sorted(waiting)
        assert policy.waiting_tasks[kind] == np.count_nonzero((status == PENDING) & (view.workload.kind == kind))
        if policy.pooled:
            runs = (status == RUNNING) & (view.workload.kind == kind)
            weight = np.append(view.workload.group_weight, 1.0)
            counted = np.append(np.maximum(view.group_running_tasks, 0) * (kind == MAP), 0)
            shares = [
                (np.count_nonzero(runs & (groups == pool)) + counted[pool]) / weight[pool]
                for pool, _ in policy.turns(kind)
            ]
            assert shares == sorted(shares)


@settings(max_examples=8)
@given(seed=st.integers(0, 10**6))
def test_maps_that_wait_are_found_once_at_each_place(seed: int) -> None:
    """Tests that after any history each waiting map is drawn from its nodes, its racks and anywhere, just once each."""
    policy = LocalityPolicy("heartbeat")
    history = History(Lsap(drawn_snapshot(seed)), policy, seed, lambda event: None)
    for _ in range(30):
        history.step()
    view, maps = history.known.view, policy._waiting
    for level, place in ((level, node) for level in range(3) for node in range(len(view.cluster))):
        if level == 1 and view.cluster.rack[place] < 0:
            continue
        held = maps.at(level, place, view)
        found = [task for task in held.get(0, []) if view.status[task] == PENDING]
        there = view.workload.replicas
        near = [place in there[task] for task in view.pending.tolist()]
        if level == 1:
            near = [view.cluster.rack[place] in view.cluster.rack[there[task]] for task in view.pending.tolist()]
        wanted = [task for task, close in zip(view.pending.tolist(), near, strict=True) if close or level == 2]
        assert sorted(found) == wanted


@settings(max_examples=8)
@given(seed=st.integers(0, 10**6), variant=st.sampled_from("tj"), policy=st.sampled_from(["auto", "A", "B", "C"]))
def test_every_waiting_task_is_in_one_queue_of_joss(seed: int, variant: str, policy: str) -> None:
    """Tests that queues hold what waits, as often as they count it, and reduces of a job in one datacenter."""
    assume(not Traffic.applies(drawn_snapshot(seed)))
    joss = JossPolicy(variant, policy=policy, idle="steal")

    def compare(event: Event) -> None:
        view = history.known.view
        if event.what == "job-arrived" and event.index + 1 < len(view.workload.job_ids):
            return  # others arrive together with it
        for kind in KINDS:
            found = [task for queues in joss._queues[kind] for queue in queues.values() for task in queue.tasks]
            assert sorted(found) == view.pending_of(kind).tolist()

    history = History(Traffic(drawn_snapshot(seed)), joss, seed, compare)
    for _ in range(30):
        history.step()


def test_costs_follow_maps_that_finish_and_return() -> None:
    """Tests that costs seen over a history are those of one that looks for the first time."""
    policy = LeastCostPolicy()
    compared = 0

    def compare(event: Event) -> None:
        nonlocal compared
        view = history.known.view
        for kind in KINDS:
            tasks = view.pending_of(kind)
            if len(tasks):
                compared += 1
                for sizes, costs in kept.items():
                    fresh = SeenCosts(view.cluster, sizes)
                    assert (costs.of(tasks, kind, view) == fresh.of(tasks, kind, view)).all()
                    assert (costs.here(tasks, kind, 1, view) == fresh.here(tasks, kind, 1, view)).all()

    for seed in range(4):
        instance = drawn_snapshot(seed)
        kept = {sizes: SeenCosts(instance.cluster, sizes) for sizes in ("extrapolated", "emitted")}
        history = History(Transmission(instance), policy, seed, compare)
        for _ in range(30):
            history.step()
        assert history.known.view.progress > 0
    assert compared > 100


def test_a_map_that_waits_again_is_added_where_it_is_not() -> None:
    """Tests a map that ran when the others were entered, and one that was drawn from one list but not the others."""
    view = History(Lsap(drawn_snapshot(0)), IDLE, 0, print).known.view
    maps = WaitingMaps()
    first, other = view.pending[:2].tolist()
    maps.add(np.array([first]), view)
    maps.add(np.array([other, first]), view, again=True)
    assert sorted(maps.at(2, 0, view)[0]) == sorted([first, other])
