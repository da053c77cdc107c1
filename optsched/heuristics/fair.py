"""Hadoop's schedulers `fifo`, `fair` and `capacity`, and the alternatives `larts` and `delay`.

`fifo` and `larts` are batch heuristics; they draw nothing at random and place as many tasks as there are slots for. The
others are policies. The multi-resource fair shares that Sharmilarani et al. compare with are not implemented.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from optsched.core.deadline import check
from optsched.core.instance import KINDS, MAP, REDUCE, Floats, Ints, Ragged
from optsched.core.placement import NONE, Placement
from optsched.heuristics.job_order import ANYWHERE, NODE, RACK, JobPolicy, Turn
from optsched.heuristics.running.base import Event, Heuristic, Offer, View
from optsched.heuristics.seen_costs import SeenCosts, all_stored, missing_sizes, sizes_parameter
from optsched.problems.base import Problem
from optsched.problems.distances import cluster_places
from optsched.problems.parameters import Parameter, choice, either, number
from optsched.problems.transmission import Transmission
from optsched.problems.transmission_reduces import ReduceSlots, TransmissionReduces
from optsched.solvers.searches.transmission_stages import first_fit

# Jobs by arrival, each task on its best remaining slot ---------------------------------------------------------------


def fifo(problem: Problem, rng: np.random.Generator) -> Placement:
    """Jobs by arrival; each map on the first free node with its block, else in a rack with it, else anywhere.

    "First" is by position: if no node holds a block, as with separate storage, FIFO fills the first node of the rack
    and then the next (Hsu and Freeh, note 10). Jobs that arrive together are taken in the order of the file. Jobs
    without an arrival come first, and tasks without a job before them.

    Task by task is an assumption: the papers say what FIFO prefers, not how it fills a snapshot (Hsu and Freeh, note
    10). Hadoop's own takes one free slot after another.

    Reduces go to the first free node each, in the same order; if the problem requires it, no two of a job share a node.
    If this would place fewer reduces than possible, some are moved on (`first_fit`).

    References
    ----------
    Hsu and Freeh, section 5.2: Hadoop's FIFO scheduler on one snapshot; Shen et al. 2016, section IV.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Ragged, Workload
    >>> from optsched.problems import Lsap
    >>> workload = Workload(["t1", "t2", "t3"], replicas=Ragged.from_rows([[1], [1], [1]]))
    >>> cluster = Cluster(["n1", "n2", "n3", "n4"], rack=[0, 1, 1, 0], rack_ids=["r1", "r2"])
    >>> fifo(Lsap(Instance(cluster, workload)), np.random.default_rng()).nodes.tolist()
    [1, 2, 0]
    """
    return with_reduces(problem, maps_in_order(problem))


def larts(
    problem: TransmissionReduces | Transmission, rng: np.random.Generator, *, sizes: str = "extrapolated"
) -> Placement:
    """Each reduce as near as possible to the node with most of its input; maps as in `fifo`.

    Jobs go by arrival. Among the free nodes that a reduce may use, it takes the one nearest to the node with most of
    its MB, in the direction of the data; of equally near ones the node with most MB, then the first. A reduce for which
    no node holds anything takes the first free node. `sizes` says how MB are estimated; see `estimated_sizes`.

    References
    ----------
    LARTS: Hammoud and Sakr, CloudCom 2011, as summarised by Shen et al. 2016, section IV: a reduce runs on or near the
    node with most of its input.
    """
    nodes = maps_in_order(problem)
    reduces = positions_of(problem, REDUCE)
    instance = problem.instance
    placed = problem.placement(nodes).nodes
    where = np.where(placed != NONE, placed, instance.state.node)
    amounts = all_stored(instance, where, problem.tasks[reduces], sizes)
    places = cluster_places(instance.cluster, instance.name)
    preference = np.zeros(amounts.shape)
    for reduce in np.flatnonzero(amounts.any(axis=1)).tolist():
        nearest = np.lexsort((-amounts[reduce], places.rows(amounts[reduce].argmax(keepdims=True))[0]))
        preference[reduce, nearest] = np.arange(len(nearest))
    return with_reduces(problem, nodes, preference)


def positions_of(problem: Problem, kind: int) -> Ints:
    """Positions in `problem.tasks` of the tasks of a kind."""
    return np.flatnonzero(problem.instance.workload.kind[problem.tasks] == kind).astype(np.int64)


def with_reduces(problem: Problem, nodes: Ints, preference: Floats | None = None) -> Placement:
    """The placement of `nodes`, with the reduces placed too, job after job by arrival (`first_fit`).

    `preference` has shape (reduces, nodes): the least is preferred; None: the first node. If the problem has no rule
    for the reduces of a job (its parameter `distinct`), these may share a node.
    """
    reduces = positions_of(problem, REDUCE)
    if len(reduces):
        slots = ReduceSlots(problem.instance, problem.tasks[reduces], problem.parameters.get("distinct", False))
        alike = np.zeros((len(reduces), len(slots.capacity)))
        chosen = first_fit(slots, job_order(problem, reduces), alike if preference is None else preference)
        nodes[reduces] = chosen
    return problem.placement(nodes)


def maps_in_order(problem: Problem) -> Ints:
    """The maps placed as in `fifo`: node or -1 of each of `problem.tasks`."""
    nodes = np.full(len(problem.tasks), NONE, dtype=np.int64)
    maps = positions_of(problem, MAP)
    offered = problem.offered.get(KINDS[MAP], np.zeros(len(problem.instance.cluster), dtype=np.int64))
    chosen = maps[job_order(problem, maps)][: int(offered.sum())]
    nodes[chosen] = nodes_in_turn(problem.replicas.take(chosen), offered, problem.instance.cluster.rack)
    return nodes


def nodes_in_turn(replicas: Ragged, offered: Ints, racks: Ints) -> list[int]:
    """A free node for each map in turn: the first with its block, else the first in a rack with it, else the first.

    `replicas` has a row for each map, and no more maps than slots; `offered` is the free slots of each node.
    """
    free, rack = offered.tolist(), racks.tolist()
    anywhere = np.flatnonzero(offered)[::-1].tolist()  # stacks, the first free node on top
    in_rack: dict[int, list[int]] = {}
    for node in anywhere:
        in_rack.setdefault(rack[node], []).append(node)
    in_rack.pop(NONE, None)

    def first(stack: list[int]) -> int:
        while stack and not free[stack[-1]]:
            stack.pop()
        return stack[-1] if stack else len(free)

    nodes = []
    for holders in replicas.lists():
        check()
        node = min((holder for holder in holders if free[holder]), default=len(free))
        if node == len(free):
            node = min((first(in_rack.get(rack[holder], [])) for holder in holders), default=len(free))
        if node == len(free):
            node = first(anywhere)
        nodes.append(node)
        free[node] -= 1
    return nodes


def job_order(problem: Problem, positions: Ints) -> Ints:
    """Order of the tasks at `positions` by arrival of their jobs, then by job, then by position."""
    workload = problem.instance.workload
    job = workload.job[problem.tasks[positions]]
    arrival = np.nan_to_num(np.append(workload.arrival, np.nan), nan=-np.inf)[job]  # no job picks the last entry
    return np.lexsort((job, arrival)).astype(np.int64)


# Delay scheduling ----------------------------------------------------------------------------------------------------
# `delay`: delay scheduling, in which a job lets a number of offers pass to get a node with its data. Hadoop's Fair
# Scheduler delays, too. Delay scheduling is by Zaharia et al., EuroSys 2010; Shen et al. compare with it as a part of
# the Fair Scheduler.

#: The problems whose slots are offered to policies.
SLOT_PROBLEMS = (
    "lsap",
    "fair-lsap",
    "lsap-fairness",
    "worst-group",
    "flow",
    "flow-congestion",
    "transmission-maps",
    "transmission-reduces",
    "transmission",
)

#: As many offers as there are nodes with a free slot when the job arrives: about one heartbeat each.
AUTO = "auto"

#: The delay of Hadoop 1's Fair Scheduler if none is set, in skipped heartbeats (`hadoop_delay`).
HADOOP = "hadoop"

#: Parsers of a number of offers, and of one that may be Hadoop's.
OFFERS = either((AUTO,), number(lowest=0, integer=True))
SKIPS = either((HADOOP,), OFFERS)


def hadoop_delay(nodes: int) -> int:
    """Skipped heartbeats after which a job of Hadoop 1's Fair Scheduler goes one level down: those of 1.5 intervals.

    If `mapred.fairscheduler.locality.delay` is not set, the delay is 1.5 times the interval between two heartbeats of a
    node. A job that is skipped on a heartbeat is credited with the time to the next heartbeat of any node. With N
    nodes, including busy ones, that is an N-th of the interval.

    References
    ----------
    Hadoop 1.2.1, `FairScheduler.java`: `updateLocalityWaitTimes`, `getAllowedLocalityLevel`.

    >>> hadoop_delay(60), hadoop_delay(15)
    (90, 23)
    """
    return math.ceil(1.5 * nodes)


class DelayPolicy(JobPolicy):
    """Jobs by fewest running tasks. A job without data near the node lets a limited number of offers pass.

    A reduce slot gets a random reduce of the first job that may run one there.

    Parameters
    ----------
    form
        `skip-count`: a job without data on the node is skipped until it was skipped `D` times. Then it takes any slot,
        with a task of the rack if there is one. A start on data resets its count to 0. `two-level`: a job waits for a
        node with its data for `D1` skips, then for a rack with its data for `D2` more, and then takes any slot. It
        keeps the level that it has reached until it starts a task nearer to its data.
    D, D1, D2
        Offers that a job lets pass. `auto`: as many as there were nodes with a free map slot when the job arrived.
        `hadoop`: `hadoop_delay` of the number of nodes. A job counts an offer only if no earlier job took it.
    """

    keeps_maps = True
    only_first = False
    remembers = ("_auto", "_level", "_skips")

    def __init__(
        self,
        form: str = "skip-count",
        D: int | str = AUTO,  # noqa: N803
        D1: int | str = AUTO,  # noqa: N803
        D2: int | str = AUTO,  # noqa: N803
    ) -> None:
        self.delays = (D1, D2) if form == "two-level" else (D, 0)  # with one delay, no job waits for a rack

    def start(self, view: View, rng: np.random.Generator) -> None:
        #: For each job, the level that it has reached by its last start, how often it was skipped since, and its value
        #: of `auto`.
        self._level: defaultdict[int, int] = defaultdict(int)
        self._skips: defaultdict[int, int] = defaultdict(int)
        self._auto: dict[int, int] = {}
        self._hadoop = hadoop_delay(len(view.cluster))
        super().start(view, rng)

    @property
    def waits_rounds(self) -> int:  # type: ignore[override]  # computed, since it depends on the nodes
        """The most skips of a job until it takes any slot; each round skips it once or more."""
        auto = max(self._auto.values(), default=0)
        return sum(self._offers(delay, auto) for delay in self.delays)

    def learn(self, tasks: Ints, view: View) -> None:
        free = int(np.count_nonzero(view.free_map_slots))
        for job in np.unique(view.workload.job[tasks]).tolist():
            self._auto.setdefault(job, free)

    def choose(self, job: int, offer: Offer, view: View) -> int | None:
        if offer.kind != KINDS[MAP]:
            return self.drawn(self.waiting(job, offer.kind, view))
        patience = self._patience(job)
        if patience or job in self.maps.at(NODE, offer.node, view):  # otherwise no draw finds anything
            for level in range(patience + 1):
                task = self.maps.draw(level, offer.node, view, self._rng, job)
                if task is not None:
                    self._level[job], self._skips[job] = level, 0
                    return task
        self.skip(job)
        return None

    def skip(self, job: int) -> None:
        """Count an offer that a job let pass."""
        self._skips[job] += 1

    def _patience(self, job: int) -> int:
        """The farthest level that a job takes now."""
        level, skips, auto = self._level[job], self._skips[job], self._auto.get(job, 0)
        to_rack = self._offers(self.delays[0], auto) if level == NODE else 0
        to_any = to_rack + self._offers(self.delays[1], auto) if level != ANYWHERE else 0
        return ANYWHERE if skips >= to_any else RACK if skips >= to_rack else NODE

    def _offers(self, delay: int | str, auto: int) -> int:
        """The number of offers of a delay; `auto` stands for the given one."""
        if delay == HADOOP:
            return self._hadoop
        return auto if delay == AUTO else int(delay)


class FairPolicy(DelayPolicy):
    """Fair sharing between pools, then between the jobs of a pool, with delay scheduling; reduces at random.

    The groups of the instance are the pools. The pool with the fewest running tasks over its weight goes first, and in
    it the job with the fewest running tasks. Without groups all jobs are in one pool. A job waits for a node with its
    data, and then for a rack with it. A free reduce slot gets a random reduce.

    The defaults are those of Hadoop 1.2.1, which Shen et al. ran: a heartbeat fills all free slots of its node, and a
    job waits 1.5 heartbeats per level. A job is skipped on a heartbeat if it was asked for a map and started none.
    While there are fewer tasks than slots, a node gets at most its share of them (Hadoop's CapBasedLoadManager).
    Reduces that must be on distinct nodes, a rule that Hadoop does not have, are not capped. Minimum shares and
    preemption are left out.

    Parameters
    ----------
    delay
        Heartbeats that a job lets pass to get a node with its data, and as many again to get a rack: `hadoop`
        (`hadoop_delay`), `auto` (the number of nodes with a free slot: about one heartbeat of each) or a number; 0: no
        delay.
    assign
        `multiple`: a heartbeat fills all free slots of its node, Hadoop's `mapred.fairscheduler.assignmultiple`;
        `single`: each slot has its own heartbeat, and no node is capped.

    References
    ----------
    Shen et al. 2016, section III; Hadoop 1.2.1, `FairScheduler.java` and `CapBasedLoadManager.java`.
    """

    pooled = True

    def __init__(self, delay: int | str = HADOOP, assign: str = "multiple") -> None:
        super().__init__("two-level", D1=delay, D2=delay)
        self.fills_nodes = assign == "multiple"

    def start(self, view: View, rng: np.random.Generator) -> None:
        #: The heartbeat that may go on: its time and node, the jobs that let it pass, and those that started tasks.
        self._beat: tuple[float, int] | None = None
        self._passed: set[int] = set()
        self._launched: set[int] = set()
        #: Slots of the cluster, and tasks that wait or hold one: a start does not change the sum.
        self._demand: dict[str, tuple[int, int]] = {}
        super().start(view, rng)

    def notify(self, event: Event, view: View) -> None:
        if event.what != "task-started":
            self._end_heartbeat()
            self._demand.clear()
        super().notify(event, view)

    def memory(self) -> Any:
        """The memory of delay scheduling, and which jobs were asked and started something in the current heartbeat."""
        return super().memory(), self._beat, set(self._passed), set(self._launched)

    def recall(self, memory: Any, view: View) -> None:
        jobs, self._beat, self._passed, self._launched = memory
        super().recall(jobs, view)

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        if not self.fills_nodes:
            return super().offer(offer, view)
        if offer.kind != KINDS[MAP]:
            return super().offer(offer, view) if self._distinct or self._below_cap(offer, view) else ()
        if (offer.time, offer.node) != self._beat:
            self._end_heartbeat()
        answer = super().offer(offer, view) if self._below_cap(offer, view) else ()
        self._beat = offer.time, offer.node
        if answer:
            self._launched.add(view.workload.job.item(answer[0]))
        else:
            self._end_heartbeat()
        return answer

    def _below_cap(self, offer: Offer, view: View) -> bool:
        """Whether the node runs fewer tasks of the kind than its share of all waiting and running ones, rounded up."""
        if offer.kind not in self._demand:
            every = int(view.slots(offer.kind).sum())
            waiting = self.waiting_tasks[KINDS.index(offer.kind)]
            self._demand[offer.kind] = every, waiting + every - int(view.free_slots(offer.kind).sum())
        every, tasks = self._demand[offer.kind]
        own = int(view.slots(offer.kind)[offer.node])
        return own - offer.free < -(-tasks * own // every)

    def skip(self, job: int) -> None:
        """Count a skip once, at the end of the heartbeat, and only if the job has started nothing by then."""
        if self.fills_nodes:
            self._passed.add(job)
        else:
            super().skip(job)

    def _end_heartbeat(self) -> None:
        """Count a skip for each job that was asked and started nothing."""
        for job in self._passed - self._launched:
            super().skip(job)
        self._passed, self._launched, self._beat = set(), set(), None


class CapacityPolicy(JobPolicy):
    """The queue furthest below its guaranteed share, and in it the job whose data is nearest to the slot.

    The groups of the instance are the queues, and their weights the guaranteed shares. The queue with the fewest
    running tasks over its share goes first. In it jobs go by arrival: the first with a map whose data is on the node,
    else the first with one in its rack, else the first with a map. Slots that a queue leaves go to the next queue.

    Reduces: the queue's jobs go by arrival, and the first starts the reduce for which the node holds the most MB. If
    the node holds nothing for any of its reduces while other nodes do, the job lets a limited number of offers pass
    ("delays reduce tasks to achieve data locality", Shen et al. 2016, section IV; Hadoop's own Capacity Scheduler does
    not).

    Parameters
    ----------
    reduce_delay
        Offers that a job lets pass to get a node with output of its maps. `auto`: the number of nodes with a free
        reduce slot when the job first does so. 0: it starts its first reduce at once.
    sizes
        How MB are known; see `estimated_sizes`. `extrapolated`: as for `probabilistic`. `emitted`: what maps have
        emitted so far, which is nothing for maps placed in the same snapshot.
    """

    pooled = True
    by_arrival = True
    keeps_maps = True
    remembers = ("_skips", "_auto")

    def __init__(self, reduce_delay: int | str = AUTO, sizes: str = "extrapolated") -> None:
        self.reduce_delay, self.sizes = reduce_delay, sizes

    def start(self, view: View, rng: np.random.Generator) -> None:
        self._costs = SeenCosts(view.cluster, self.sizes)
        #: For each job, how many offers it let pass for its reduces, and how many it may.
        self._skips: defaultdict[int, int] = defaultdict(int)
        self._auto: dict[int, int] = {}
        super().start(view, rng)

    @property
    def waits_rounds(self) -> int:  # type: ignore[override]  # computed, since it depends on the nodes
        """The most offers that a job lets pass for its reduces."""
        return max(self._auto.values(), default=0) if self.reduce_delay == AUTO else int(self.reduce_delay)

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        if offer.kind != KINDS[MAP]:
            found = (self._reduce(jobs, offer, view) for jobs in self.pools(offer))
        else:
            found = (self._map(turns, offer.node, view) for _, turns in self.turns(MAP))
        task = next((task for task in found if task is not None), None)
        return () if task is None else (task,)

    def _map(self, turns: list[Turn], node: int, view: View) -> int | None:
        """The map of these jobs that is nearest to its data; if several are as near, that of the first job."""
        for level in (NODE, RACK, ANYWHERE):
            held = self.maps.at(level, node, view)
            for _, job in turns:
                task = self.maps.draw(level, node, view, self._rng, job) if job in held else None
                if task is not None:
                    return task
        return None

    def _reduce(self, jobs: Iterator[int], offer: Offer, view: View) -> int | None:
        for job in jobs:
            tasks = self.waiting(job, offer.kind, view)
            if self.reduce_delay == 0 or view.shuffle is None:
                return int(tasks[0])
            held = self._costs.stored(tasks, view)
            here = held[:, offer.node]
            free = int(np.count_nonzero(view.free_reduce_slots))
            delay = self._auto.setdefault(job, free) if self.reduce_delay == AUTO else int(self.reduce_delay)
            if here.any() or not held.any() or self._skips[job] >= delay:
                self._skips[job] = 0
                return int(tasks[here.argmax()])
            self._skips[job] += 1
        return None


HEURISTICS: tuple[Heuristic, ...] = (
    Heuristic(
        "fifo",
        "000, 002",
        "Hadoop's FIFO (Hsu and Freeh, 5.2)",
        SLOT_PROBLEMS,
        "jobs by arrival; each map to the first free node with its block, else in a rack with it, else to any",
        batch=fifo,
        in_turn=nodes_in_turn,
    ),
    Heuristic(
        "larts",
        "000",
        "LARTS (Hammoud, Sakr 2011)",
        ("transmission-reduces", "transmission"),
        "each reduce as near as it can be to the node that holds most of its input; maps as in fifo",
        (sizes_parameter("extrapolated"),),
        batch=larts,
        missing=missing_sizes,
    ),
    Heuristic(
        name="delay",
        paper="000",
        algorithm="delay scheduling (Zaharia et al. 2010)",
        problems=SLOT_PROBLEMS,
        doc="jobs by fewest running tasks; one without data on the node declines a number of offers",
        parameters=(
            Parameter("form", "skip-count", choice("skip-count", "two-level"), "one delay, or one for node and rack"),
            Parameter("D", AUTO, SKIPS, "offers before any slot will do; auto: nodes with a free slot"),
            Parameter("D1", AUTO, SKIPS, "two-level: offers before a slot in a rack with data will do"),
            Parameter("D2", AUTO, SKIPS, "two-level: offers more before any slot will do"),
        ),
        policy=DelayPolicy,
    ),
    Heuristic(
        name="fair",
        paper="000, 002",
        algorithm="Hadoop's Fair Scheduler",
        problems=SLOT_PROBLEMS,
        doc="fair shares between groups and their jobs, with delay scheduling for maps; reduces at random",
        parameters=(
            Parameter("delay", HADOOP, SKIPS, "heartbeats to be skipped for node, and for rack; hadoop, auto, 0"),
            Parameter("assign", "multiple", choice("multiple", "single"), "slots that a heartbeat fills: all, or one"),
        ),
        policy=FairPolicy,
    ),
    Heuristic(
        name="capacity",
        paper="000, 002",
        algorithm="Hadoop's Capacity Scheduler",
        problems=SLOT_PROBLEMS,
        doc="the group furthest below its share, and in it the job whose data is nearest to the slot",
        parameters=(
            Parameter("reduce_delay", AUTO, OFFERS, "offers that a job lets pass for a node with its map output"),
            sizes_parameter("extrapolated"),
        ),
        policy=CapacityPolicy,
    ),
)
