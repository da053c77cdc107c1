"""The engine: lets time pass from event to event, notifies a policy of events, and offers it slots.

Events are in order of (time in whole microseconds, kind of event, index). The same instance, policy and seed give the
same run. A service (`services`) gives durations; `optsched.heuristics.running.known` makes the policy's view, and
`optsched.heuristics.running.driver.Asked` makes every offer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from optsched.core.arrays import grouped
from optsched.core.brief import brief, counted
from optsched.core.errors import Fault, MissingField
from optsched.core.instance import FINISHED, KINDS, MAP, REDUCE, RUNNING, Instance, Ints
from optsched.core.placement import MICRO, microseconds
from optsched.heuristics.running.base import Event, Offer, Policy
from optsched.heuristics.running.course import END, NEVER, WOKEN, Course, Service
from optsched.heuristics.running.driver import MAX_IDLE_ROUNDS, Asked, Observer, streams
from optsched.heuristics.running.known import Known
from optsched.problems.base import pending_of

# Without a problem a policy is driven over all waiting tasks, and slots of both kinds ---------------------------------


class Stage:
    """The pending tasks of an instance and its idle slots; it has what drivers and policies need of a problem.

    Its parameters are those that policies look up in a problem: with `distinct=True` no two reduces of a job run on one
    node at once.

    >>> from optsched.core.instance import Cluster, Workload
    >>> stage = Stage(Instance(Cluster(["a"], slots=[2]), Workload(["t1", "t2"], kind=[0, 1])))
    >>> stage.tasks.tolist(), {kind: slots.tolist() for kind, slots in stage.offered.items()}
    ([0, 1], {'map': [2], 'reduce': [1]})
    """

    name: ClassVar = "simulate"
    kinds: ClassVar = (MAP, REDUCE)

    def __init__(self, instance: Instance, /, **parameters: Any) -> None:
        self.instance = instance
        self.parameters: Mapping[str, Any] = MappingProxyType(parameters)
        self.tasks: Ints = pending_of(instance, MAP, REDUCE)
        self.tasks.setflags(write=False)
        self.replicas = instance.replicas.take(self.tasks)

    @property
    def offered(self) -> Mapping[str, Ints]:
        """Idle slots of each node, by kind of task; shape (nodes,)."""
        state = self.instance.state
        return dict(zip(KINDS, (state.idle_slots, state.idle_reduce_slots), strict=True))

    @property
    def due(self) -> int:
        """How many tasks must run."""
        return len(self.tasks)

    def __repr__(self) -> str:
        return brief(f"Stage on {self.instance}")


# Heartbeats ----------------------------------------------------------------------------------------------------------
# The next heartbeat of each node. Those at which nothing can be offered are skipped at no cost.


class Beats:
    """The heartbeats of all nodes, one after another; the first is at `begin`, and `at` is the next one.

    Each node has one in every interval (microseconds, more than 0). They are spread evenly over it, in an order drawn
    once, in which each node has its `place`. Heartbeats are numbered, from 0: number b is that of the node at place b
    mod nodes, in interval b div nodes.

    >>> beats = Beats(3, 3_000_000, 0, np.random.default_rng(0))
    >>> [(beats.node(number), beats.time(number)) for number in range(4)]
    [(2, 0), (0, 1000000), (1, 2000000), (2, 3000000)]
    >>> beats.open("map", 1, True)
    >>> beats.next(["map"], 1_000_001), beats.next(["map"], 2_000_001)
    (2, 5)
    """

    def __init__(self, nodes: int, interval: int, begin: int, rng: np.random.Generator) -> None:
        self.nodes, self._interval, self._begin = nodes, interval, begin
        order = rng.permutation(nodes)
        self._node_at = order.tolist()
        self.place: list[int] = np.argsort(order).tolist()
        self.at = 0
        #: For each kind, 1 at the place of each node whose slots should be offered.
        self._open = {kind: bytearray(nodes) for kind in KINDS}

    def node(self, number: int) -> int:
        """The node of a heartbeat."""
        node: int = self._node_at[number % self.nodes]
        return node

    def time(self, number: Any) -> Any:
        """The time of a heartbeat, or of each in an array, in microseconds."""
        interval, place = divmod(number, self.nodes)
        return self._begin + interval * self._interval + place * self._interval // self.nodes

    def first_from(self, now: int) -> int:
        """The first heartbeat at or after a time."""
        interval, within = divmod(now - self._begin, self._interval)
        return interval * self.nodes - (-within * self.nodes // self._interval)

    def last_by(self, now: int) -> Ints:
        """The last heartbeat of each node by a time, the beginning if it had none; shape (nodes,)."""
        coming = self.first_from(now + 1)
        numbers = coming - 1 - (coming - 1 - np.array(self.place)) % self.nodes
        last: Ints = np.maximum(self.time(numbers), self._begin)
        return last

    def open(self, kind: str, node: int, open_: bool) -> None:
        """Whether a node's slots of a kind should be offered at its heartbeats from now on."""
        self._open[kind][self.place[node]] = open_

    def next(self, kinds: Iterable[str], now: int) -> int | None:
        """The next heartbeat, at or after a time, at which slots of some kinds should be offered."""
        at = max(self.at, self.first_from(now))
        place = at % self.nodes
        found = []
        for kind in kinds:
            if (there := self._open[kind].find(1, place)) >= 0:
                found.append(there)
            elif (there := self._open[kind].find(1)) >= 0:  # in the next interval
                found.append(there + self.nodes)
        return at - place + min(found) if found else None


#: The most rounds of offers that a policy may deliberately let pass.
_MOST_VAIN = 20_000

#: How many times a run reports its progress.
_REPORTS = 200

#: The most tasks that a message names.
_NAMED = 3

#: What else happens at an instant, in this order, after tasks have ended; then come heartbeats.
CHANGE, ARRIVAL, _CALL = range(WOKEN + 1, WOKEN + 4)

#: The events in the record of a run: a job arrived, a task started, ended, was released, or waits again; a node was
#: lost, or is back.
ARRIVED, STARTED, ENDED, RELEASED, STOPPED, LOST, BACK = range(7)


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a run.

    Attributes
    ----------
    heartbeat
        Microseconds between two heartbeats of a node; 0: slots are offered as soon as they are free.
    one
        Whether a heartbeat starts at most one task of each kind; otherwise it may fill all slots.
    slowstart
        The share of a job's maps that must have ended before its reduces are offered.
    until
        The microsecond after which nothing happens any more; None: to the end.
    losses
        Nodes that are lost, each with the microsecond of its loss and of its return.
    """

    heartbeat: int = 3 * MICRO
    one: bool = False
    slowstart: Fraction = Fraction(1, 20)
    until: int | None = None
    losses: tuple[tuple[int, int, int], ...] = ()

    def record(self) -> dict[str, Any]:
        """The rules of all runs, as arguments of `optsched.simulate`, times in seconds; without losses."""
        return {
            "heartbeat": self.heartbeat / MICRO,
            "assign": "one" if self.one else "all",
            "slowstart": float(self.slowstart),
            "until": None if self.until is None else self.until / MICRO,
        }


class Engine(Asked, Course):
    """A run of a policy over time.

    Nodes may be lost: their slots are gone until they are back. Tasks that run there wait again. So do ended maps there
    whose job has a reduce that has not ended: their output is gone. Released reduces stay released. The stage is what
    is driven: a `Stage`, or a problem that places maps and reduces. The policy starts over. If it has
    `appointments(instance)`, these are pairs of a microsecond and a node at which the node is offered, with or without
    a free slot, instead of heartbeats.

    Attributes
    ----------
    node, start, end
        For each task of the instance: where it ran, and from when to when; -1 and `NEVER` if it did not.
    beats
        The heartbeats; None without.
    reports
        Whether the service reports the progress of tasks.
    record
        The events in order: (microsecond, `ARRIVED`, `STARTED`, `ENDED`, `RELEASED`, `STOPPED`, `LOST` or `BACK`, job,
        task or -1, node or -1).
    """

    def __init__(
        self,
        stage: Any,
        policy: Policy,
        service: Service,
        rules: Rules,
        seed: int | Sequence[int] = 0,
        observers: Sequence[Observer] = (),
        tell_share: Callable[[float], object] | None = None,
    ) -> None:
        order, self._own = streams(seed)
        instance: Instance = stage.instance
        workload, status = instance.workload, instance.state.status
        self.rules, self._tell_share = rules, tell_share
        #: Whether it ended with tasks that nobody will ever start or end.
        self.starved = False
        is_map = (workload.kind == MAP) & (workload.job >= 0)
        maps, ended = (
            np.bincount(workload.job[which], minlength=len(workload.job_ids))
            for which in (is_map, is_map & (status == FINISHED))
        )
        needed = [ceil(rules.slowstart * count) for count in maps.tolist()]
        #: For each job: maps that have not ended, maps that must end before its reduces are released. None for no job.
        self._maps_left: list[int] = [*(maps - ended).tolist(), 0]
        self._needed: list[int] = [*(np.array(needed, dtype=np.int64) - ended).tolist(), 0]
        reduces = stage.tasks[workload.kind[stage.tasks] == REDUCE]
        held: Ints = reduces[np.array(self._needed)[workload.job[reduces]] > 0]
        #: For each job the held reduces, and those whose time is over and that wait for its last map.
        self._held = {int(job): held[rows].tolist() for job, rows in grouped(workload.job[held])}
        self._late: dict[int, list[int]] = {}
        self._job: list[int] = workload.job.tolist()
        self._kind = [KINDS[kind] for kind in workload.kind.tolist()]
        Asked.__init__(self, policy, Known(stage, held), order, observers)
        Course.__init__(self, len(workload), service, int(microseconds(instance.time)))
        self._task_of: list[int] = self.known.order.tolist()
        self._number_of = self.known.numbers(range(len(workload)))
        self.record: list[tuple[int, int, int, int]] = []
        nodes = len(instance.cluster)
        self._calls = getattr(policy, "appointments", None)
        beating = rules.heartbeat and nodes and self._calls is None
        self.beats = Beats(nodes, rules.heartbeat, self.now, order) if beating else None
        #: The heartbeat at which slots are offered next, unless something happens before.
        self._coming = 0
        #: The number of rounds, the time and the heartbeat since which slots were offered and nothing has happened.
        self._vain, self._idle_since = 0, self.now
        self._idle_from: int | None = None
        self.reports = type(service).progress is not Service.progress
        self._reported = -NEVER
        #: How many tasks have ended, of how many, and since when, for the share of the run that is over.
        self._tasks_done, self._left, self._began_at = 0, int(np.count_nonzero(status != FINISHED)), self.now
        #: The nodes that are lost now.
        self._away: set[int] = set()

    # The run --------------------------------------------------------------------------------------------------------

    def run(self) -> str:
        """Process all events; returns why the run ended: "" if nothing is left to do, else in words."""
        self._start_run()
        until = NEVER if self.rules.until is None else self.rules.until
        while True:
            coming = self.coming
            # Events of this instant come before any offer.
            at = NEVER if coming <= self.now else self._next_offer()
            if coming == at == NEVER:
                return self._what_is_left()
            if min(at, coming) > until:
                self.moves_to(until)
                return f"stopped at {until / MICRO:g} s, as asked"
            if coming <= at:
                self.step()
            else:
                self.moves_to(at)
                self._offers()

    def _start_run(self) -> None:
        """Begin: tasks that run at the snapshot continue, and the policy begins."""
        instance: Instance = self.known.problem.instance
        state = instance.state
        self.ask("prepare", instance)
        running = np.flatnonzero(state.status == RUNNING).tolist()
        unknown = [task for task in running if np.isnan(state.start[task])]
        if unknown:
            message = "it runs: a simulation needs when it started"
            raise MissingField([Fault(f"tasks[{task}].start", message) for task in unknown], instance.name)
        self.resume(state)
        for node, lost, back in self.rules.losses:
            self.plan(lost, CHANGE, node)
            if back < NEVER:
                self.plan(back, CHANGE, node)
        self.await_arrival()
        self.begin(self._own)
        for kind in KINDS:
            for node in range(len(instance.cluster)):
                self._open(kind, node)
        if self._calls is not None:
            for time, node in self._calls(instance):
                self.plan(max(time, self.now), _CALL, node)

    def moves_to(self, time: int) -> None:
        self.now = time
        self.known.time = time / MICRO

    def happens(self, what: int, index: int) -> None:
        if what == ARRIVAL:
            self.arrive()
        elif what == CHANGE:
            self._change(index, index in self._away)
        else:
            self._offer_node(index, called=True)

    def label(self, task: int) -> str:
        return str(self.known.problem.instance.workload.task_ids[task])

    def _note(self, what: int, index: int, node: int) -> None:
        """Record an event, so that the simulation is not idle."""
        self.record.append((self.now, what, index, node))
        self._vain, self._idle_since, self._idle_from = 0, self.now, None

    # Tasks ----------------------------------------------------------------------------------------------------------

    def begun(self, task: int, node: int) -> None:
        index = self._task_of[task]
        self._note(STARTED, index, node)
        self._open(self._kind[index], node)
        self.starts(index, node)

    def ends(self, task: int) -> None:
        job, kind, node = self._job[task], self._kind[task], self.node[task]
        if kind == KINDS[REDUCE] and self._maps_left[job] > 0 and self.service.waits_for_maps:
            self._late.setdefault(job, []).append(task)
            return
        event = self.known.finish(self._number_of[task])
        self._note(ENDED, task, node)
        self._open(kind, node)
        self.tell(event)
        if kind == KINDS[MAP] and job >= 0:
            self._map_ended(job)
        super().ends(task)
        self._tasks_done += 1
        if self._tell_share is not None and self._tasks_done % max(1, self._left // _REPORTS) == 0:
            # The share of its tasks, or of its time if it will be stopped.
            until = NEVER if self.rules.until is None else self.rules.until
            over = (self.now - self._began_at) / max(1, until - self._began_at)
            self._tell_share(min(1.0, max(over, self._tasks_done / self._left)))

    def _map_ended(self, job: int) -> None:
        """A job has one map fewer to run: its reduces may be released, or end."""
        self._maps_left[job] -= 1
        self._needed[job] -= 1
        if not self._maps_left[job] and job in self._late:
            self._take((task, self.now) for task in self._late.pop(job))
        if self._needed[job] <= 0 and job in self._held:
            for task in self._held.pop(job):
                self._note(RELEASED, task, -1)
                self.tell(self.known.release(self._number_of[task]))

    def arrive(self) -> None:
        """The next jobs arrive."""
        known = self.known
        # Never before its arrival, even if that is not at a whole microsecond.
        events: list[Event] = known.move_to(max(self.now / MICRO, known.next_arrival))
        for event in events:
            self._note(ARRIVED, int(known.jobs[event.index]), -1)
            self.tell(event)
        self.await_arrival()

    def await_arrival(self) -> None:
        if not self.known.complete:
            self.plan(int(microseconds(self.known.next_arrival)), ARRIVAL, 0)

    # Nodes that are lost for a while --------------------------------------------------------------------------------

    @property
    def coming(self) -> int:
        known = self.known
        if self.rules.losses and known.complete and not (self.running or any(known.waiting.values()) or self._held):
            return NEVER  # all tasks have ended: nodes do not matter any more
        return super().coming

    def _change(self, node: int, back: bool) -> None:
        """A node comes back, or is lost with what runs there and with output that reduces have not fetched."""
        self._away ^= {node}
        cluster = self.known.problem.instance.cluster
        event = self.known.change_node(node, (cluster.slots[node], cluster.reduce_slots[node]) if back else (0, 0))
        self._note(BACK if back else LOST, -1, node)
        for kind in KINDS:
            self._open(kind, node)
        self.tell(event)
        self.ask("node_changed", node, back, self.now)
        if back:
            return
        workload, status = self.known.problem.instance.workload, self.known.problem.instance.state.status
        reduces = np.flatnonzero((workload.kind == REDUCE) & (status != FINISHED)).tolist()
        #: The jobs with a reduce that has to fetch its maps' output.
        fetching = {self._job[task] for task in reduces if self.end[task] == NEVER} - {-1}
        for task in [task for task, there in enumerate(self.node) if there == node]:
            if self.end[task] == NEVER or (self._kind[task] == KINDS[MAP] and self._job[task] in fetching):
                self._runs_again(task)

    def _runs_again(self, task: int) -> None:
        """A task is removed from its node, or its output there is gone: it waits again."""
        job = self._job[task]
        self._note(STOPPED, task, self.node[task])
        event = self.known.return_task(self._number_of[task])
        if self.end[task] == NEVER:
            if task in self._late.get(job, ()):
                self._late[job].remove(task)
            self.stops(task)
        else:
            self.node[task], self.start[task], self.end[task] = -1, NEVER, NEVER
            self._maps_left[job] += 1
            self._needed[job] += 1
        self.tell(event)

    # Offers ---------------------------------------------------------------------------------------------------------

    def _open(self, kind: str, node: int) -> None:
        """Let a node's heartbeats offer its slots of a kind, if it has a free one."""
        if self.beats is not None:
            self.beats.open(kind, node, bool(self.known.room[kind][node]))

    def _next_offer(self) -> int:
        """The time of the next offer; `NEVER`: not before something happens."""
        waiting = self.known.waiting
        kinds = [kind for kind in KINDS if waiting[kind]]
        if not kinds or self._calls is not None:
            return NEVER
        return self._next_round(kinds) if self.beats is None else self._next_beat(kinds, self.beats)

    def _next_beat(self, kinds: Sequence[str], beats: Beats) -> int:
        """The next heartbeat of a node with slots to offer. One interval is a round."""
        number = beats.next(kinds, self.now)
        if number is None:
            return NEVER
        self._coming = number  # unless something happens before
        time = beats.time(number)
        if self._idle_from is None:
            self._idle_from = number
        rounds = (number - self._idle_from) // beats.nodes
        gives_up = rounds >= MAX_IDLE_ROUNDS and self._stands_still and rounds >= self._most_vain
        return NEVER if gives_up and time >= self._until else time

    def _next_round(self, kinds: Sequence[str]) -> int:
        """Without heartbeats slots are offered at once; again while tasks start, or if nothing else will happen."""
        if not any(self.known.free[kind].any() for kind in kinds):
            return NEVER
        if not self._vain:
            return self.now
        if not self._stands_still:
            return NEVER
        if self.now < self._until:
            return self._until
        return self.now if self._vain < self._most_vain else NEVER

    @property
    def _most_vain(self) -> int:
        """The most rounds of offers in which the policy may start nothing."""
        return min(max(MAX_IDLE_ROUNDS, int(getattr(self._policy, "waits_rounds", 0)) + 1), _MOST_VAIN)

    @property
    def _until(self) -> int:
        """The time until which the policy may let everything stand still."""
        return self._idle_since + round(float(getattr(self._policy, "waits_seconds", 0)) * MICRO)

    @property
    def _stands_still(self) -> bool:
        """Whether no running task will end by itself, and no service will be woken.

        A reduce that waits for a map that has not started has no end by then.
        """
        # Ends that have moved since, or of stopped tasks, do not count.
        return self._wakes == NEVER and not any(
            what == END and self._due[task] == time for time, what, task in self._heap
        )

    def _offers(self) -> None:
        """Offer the slots of the node whose heartbeat it is; without heartbeats, those of all."""
        if self.beats is not None:
            self.beats.at = self._coming + 1
            self._offer_node(self.beats.node(self._coming))
            return
        self._report()
        if not sum(self.go_round(kind)[0] for kind in self.known.free if self.known.waiting[kind]):
            self._vain += 1

    def _offer_node(self, node: int, called: bool = False) -> None:
        """Offer the free slots of a node, kind after kind, until they are taken or one is declined.

        A `called` node is offered with or without a free slot.
        """
        self._report()
        known = self.known
        for kind in KINDS:
            room = known.room[kind]
            while known.waiting[kind] and (room[node] or called):
                if not self.offer(Offer(known.time, node, kind, room[node])) or self.rules.one:
                    break

    def _report(self) -> None:
        """Report to policies how far running tasks are, by the last heartbeat of each node."""
        if self.reports and self._reported != self.now:
            self._reported = self.now
            beats = np.full(len(self.known.room[KINDS[MAP]]), self.now)
            if self.beats is not None:
                beats = self.beats.last_by(self.now)
            if (found := self.service.progress(beats, self.now)) is not None:
                self.known.progress(found.tasks, found.bytes_read, found.entries, found.emitted)

    # The end --------------------------------------------------------------------------------------------------------

    def _what_is_left(self) -> str:
        """Why nothing happens any more although something is left to do: whose fault it is, and how to mend it."""
        running = [task for task, end in enumerate(self.end) if end == NEVER and self.start[task] < NEVER]
        # A reduce whose job has maps left has no end by then.
        jobs_left = {job for job, left in enumerate(self._maps_left) if left > 0}
        late = [task for task in running if self._kind[task] == KINDS[REDUCE] and self._job[task] in jobs_left]
        endless = sorted({*running} - {*late})
        reasons = []
        if endless:
            runs = f"{counted(len(endless), 'task')} run{'s' * (len(endless) == 1)}"
            reasons.append(
                f"{runs} for ever ({self._named(endless)}): the service {type(self.service).__name__} gives no end; a "
                "service must answer one for each task (a rate of 0 gives none)"
            )
        for kind in KINDS:
            reasons += self._why_waits(kind, bool(running))
        if late and not endless:
            one = len(late) == 1
            wait = (
                f"{counted(len(late), 'reduce')} run{'s' * one} until all maps of {'its job' if one else 'their jobs'}"
            )
            reasons.append(f"{wait} have ended ({self._named(late)})")
        self.starved = bool(reasons)
        return "; ".join(reasons)

    def _why_waits(self, name: str, running: bool) -> Iterator[str]:
        """Why tasks of a kind wait, if any do; `running`: whether anything runs for ever."""
        known = self.known
        waiting = known.waiting[name]
        if not waiting:
            return
        tasks = self._named([self._task_of[task] for task in known.view.pending_of(name).tolist()])
        wait = f"{counted(waiting, name)} wait{'s' * (waiting == 1)} ({tasks})"
        if not known.view.slots(name).any():
            lost = ", or let those that are lost come back" * bool(self.rules.losses)
            yield f"{wait}, and no node has a slot for {name}s; give one slots{lost}"
        elif not known.free[name].any():
            mend = "" if running else "; tasks that are not listed hold them all: list these, or give idle slots"
            yield f"{wait}, and no slot for {name}s ever becomes free{mend}"
        elif self._calls is not None:
            yield f"{wait}: the policy has no time and node for them; give each task where and when it started"
        else:
            yield (
                f"{wait}: the policy started nothing in {self._most_vain} rounds of offers while nothing "
                f'{"else ran" if running else "ran"}; it must start what view.pending_of("{name}") has, or say that it '
                "waits (waits_seconds, waits_rounds)"
            )

    def _named(self, tasks: Sequence[int]) -> str:
        """The first of some tasks, and how many more there are."""
        more = len(tasks) - _NAMED
        names = ", ".join(f'"{self.label(task)}"' for task in tasks[:_NAMED])
        return f"{names} and {more} more" if more > 0 else names
