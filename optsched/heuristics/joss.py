"""`joss-t` and `joss-j`: JoSS's classes of jobs, policies and two ways to assign tasks (Sharmilarani et al., II.D).

The paper defines classes, policies and the threshold. It names the two variants and only says what each is for ("a fast
task assignment", "to further increase the VPS-locality"). A job is large if its input exceeds "the average datacenter
scale". Our own choices are marked where they are made.
"""

from __future__ import annotations

import copy
import math
from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from optsched.core.arrays import grouped
from optsched.core.decimals import decimal, total
from optsched.core.errors import UsageError
from optsched.core.instance import KINDS, MAP, PENDING, Ints, Ragged
from optsched.heuristics.running.base import Event, Heuristic, Offer, Policy, View
from optsched.problems.parameters import Parameter, choice, either, number


def threshold(datacenters: int) -> Fraction | float:
    """The ratio beyond which a job is reduce-heavy, td = k/(k-1), where worst cases cross (Sharmilarani et al., (5)).

    With one datacenter nothing ever crosses, and no job is reduce-heavy.

    >>> [str(threshold(k)) for k in (1, 2, 3, 4)]
    ['inf', '2', '3/2', '4/3']
    """
    if datacenters < 1:
        raise UsageError(f"datacenters={datacenters}: give 1 or more")
    return math.inf if datacenters == 1 else Fraction(datacenters, datacenters - 1)


class JossPolicy(Policy):
    """Puts each arriving job's tasks into queues of datacenters; a node takes from those of its own.

    A small job (at most `large` maps) is reduce-heavy if S_reduce / S_map > td. Policy A serves reduce-heavy jobs,
    policy B the other small ones, and policy C the large ones (Sharmilarani et al., II.D).

    * A: all maps and reduces to the datacenter with the fewest tasks in its queues (the first of equals).
    * B: repeatedly, the datacenter with the most unassigned blocks of the job gets those maps; the reduces go to the
      one with the most blocks of all. Maps whose block is nowhere go with the reduces.
    * C: as B, but to the job's own queues in each datacenter, separate from those of the small jobs.

    A node takes one task per offer, from the queues of its datacenter in turn: the head of the queue (variant T), or
    the first map in it with its block on the node, else the head (variant J).

    Parameters
    ----------
    variant
        "t" or "j".
    td
        Ratio beyond which a job is reduce-heavy; "auto": `threshold` of the number of datacenters.
    policy
        "auto", or "A", "B", "C" for all jobs alike: an ablation.
    large
        Most maps of a small job; "auto": map slots of the average datacenter (the paper says "average datacenter
        scale").
    idle
        What a node does while the queues of its datacenter are empty. `wait`: nothing, since the paper only lets nodes
        of a task's datacenter run it. `steal`: it takes a map of the longest queue elsewhere, once each of its slots
        was offered in vain, so that a full datacenter starves no map; this is our own.
    """

    def __init__(
        self,
        variant: str,
        td: float | str = "auto",
        policy: str = "auto",
        large: float | str = "auto",
        idle: str = "wait",
    ) -> None:
        self.variant, self.td, self.policy, self.large, self.idle = variant, td, policy, large, idle

    def start(self, view: View, rng: np.random.Generator) -> None:
        cluster = view.cluster
        used, self._center = np.unique(cluster.datacenter, return_inverse=True)
        self._centers = len(used)
        self._turn = {kind: [0] * self._centers for kind in KINDS}
        self._passed: defaultdict[int, int] = defaultdict(int)  # free slots of a node that were offered in vain
        centers = max(1, self._centers)
        self._td = threshold(centers) if self.td == "auto" else decimal(self.td)
        self._large = float(cluster.slots.sum()) / centers if self.large == "auto" else float(self.large)
        #: The datacenter that was chosen for the reduces of each job, and under policy A for its maps.
        self._home: dict[int, int] = {}
        #: The queues of each datacenter: that of the small jobs, and those of large jobs with waiting tasks.
        self._queues: dict[str, list[dict[int | None, _Queue]]] = {
            kind: [{None: _Queue()} for _ in range(self._centers)] for kind in KINDS
        }
        self._known = 0
        self._members: dict[int, Ints] = {}
        self._sent: dict[int, Ints] = {}
        self._learn(view)
        for job in range(-1, len(view.workload.job_ids)):
            self._enter(job, view)

    def notify(self, event: Event, view: View) -> None:
        if event.what == "job-arrived":
            self._learn(view)
            self._enter(event.index, view)
        elif event.what in ("task-returned", "task-released"):
            # As if its job arrived with only this task: its former queue may have been dropped.
            self._enter(int(view.workload.job[event.index]), view, np.array([event.index]))
        elif event.what == "task-finished" and view.workload.kind[event.index] == MAP:
            self._not_passed(int(view.node[event.index]), view)
        elif event.what == "node-changed":
            self._not_passed(event.index, view)

    def _not_passed(self, node: int, view: View) -> None:
        """Note that a slot of a node that may be free now was not offered yet."""
        self._passed[node] = min(self._passed[node], max(0, int(view.free_map_slots[node]) - 1))

    def memory(self) -> Any:
        """The queues, whose turn it is in each datacenter, and slots that were offered in vain."""
        return copy.deepcopy((self._queues, self._turn, self._passed, self._home))

    def recall(self, memory: Any, view: View) -> None:
        self._queues, self._turn, self._passed, self._home = memory

    def _learn(self, view: View) -> None:
        """Note the tasks of jobs that are new in the view, and all entries of the shuffle by the jobs of their maps."""
        workload, tasks = view.workload, np.arange(self._known, len(view.workload))
        if not len(tasks):
            return
        self._known = len(workload)
        self._members.update((job, tasks[positions]) for job, positions in grouped(workload.job[tasks]))
        if view.true_shuffle is not None:
            self._sent = dict(grouped(workload.job[view.true_shuffle.map]))

    def _waiting(self, kind: str) -> Ints:
        """How many tasks wait in the queues of each datacenter."""
        waiting = [sum(len(queue.tasks) for queue in queues.values()) for queues in self._queues[kind]]
        return np.array(waiting, dtype=np.int64)

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        center = int(self._center[offer.node])
        task = self._from_turn(offer, center)
        if task is None and self.idle == "steal" and offer.kind == KINDS[MAP]:
            if self._passed[offer.node] < offer.free:
                self._passed[offer.node] += 1
            else:
                task = self._from_turn(offer, int(np.argmax(self._waiting(offer.kind))))
        return () if task is None else (task,)

    # Classes and policies ------------------------------------------------------------------------------------------

    def classify(self, job: int, view: View) -> str:
        """The policy that serves a job of the view: "A", "B" or "C"."""
        if self.policy != "auto":
            return self.policy
        members = self._members.get(job, _NONE)
        maps = members[view.workload.kind[members] == MAP]
        if len(maps) > self._large:
            return "C"
        return "A" if self._ratio(job, maps, view) > self._td else "B"

    def _ratio(self, job: int, maps: Ints, view: View) -> Fraction | float:
        """S_reduce / S_map of a job, known from its profile: its filter ratio, else what `shuffle` says it sends."""
        workload = view.workload
        if job >= 0 and not np.isnan(workload.filter_ratio[job]):
            return decimal(workload.filter_ratio[job])
        if view.true_shuffle is None:
            return 0.0
        received = total(view.true_shuffle.size[self._sent.get(job, _NONE)])
        read = total(np.nan_to_num(workload.size[maps]))
        return received / read if read else math.inf if received else 0.0

    def _enter(self, job: int, view: View, tasks: Ints | None = None) -> None:
        """Put waiting tasks of a job, by default all, into queues. Without a datacenter there are no queues."""
        workload = view.workload
        members = self._members.get(job, _NONE)
        waits = members[view.status[members] == PENDING] if tasks is None else tasks
        if not len(waits) or not self._centers:
            return
        policy = self.classify(job, view)
        maps, reduces = waits[workload.kind[waits] == MAP], waits[workload.kind[waits] != MAP]
        if policy == "A":
            self._append("map", self._home_of(job), maps, None, view)
            self._append("reduce", self._home_of(job), reduces, None, view)
            return
        blocks = members[workload.kind[members] == MAP]
        held = np.zeros((len(blocks), self._centers), dtype=bool)
        rows = workload.replicas.take(blocks)
        held[rows.row_of, self._center[rows.values]] = True
        most = int(np.argmax(held.sum(axis=0))) if held.any() else self._home_of(job)
        owner = job if policy == "C" else None
        left = held[np.isin(blocks, maps)]  # without the maps that have been assigned
        nowhere = ~left.any(axis=1)
        while left.any():
            center = int(np.argmax(left.sum(axis=0)))
            chosen = left[:, center].copy()
            self._append("map", center, maps[chosen], owner, view)
            left[chosen] = False
        self._append("map", most, maps[nowhere], owner, view)
        self._append("reduce", most, reduces, owner, view)

    def _home_of(self, job: int) -> int:
        """The datacenter that had the fewest waiting tasks when the job had to go somewhere."""
        if job not in self._home:
            self._home[job] = int(np.argmin(np.sum([self._waiting(kind) for kind in KINDS], axis=0)))
        return self._home[job]

    def _append(self, kind: str, center: int, tasks: Ints, owner: int | None, view: View) -> None:
        """Append tasks to a datacenter's queue of small jobs, or to that of a large job, the `owner`."""
        if len(tasks):
            queue = self._queues[kind][center].setdefault(owner, _Queue())
            queue.extend(tasks, view.workload.replicas.take(tasks) if self.variant == "j" else None)

    # Handing out ---------------------------------------------------------------------------------------------------

    def _from_turn(self, offer: Offer, center: int) -> int | None:
        """A task of the next queue of a datacenter that has one. A large job's queue goes with its last task."""
        queues, turn = self._queues[offer.kind][center], self._turn[offer.kind]
        owners = list(queues)
        for step in range(len(owners)):
            at = (turn[center] + step) % len(owners)
            queue = queues[owners[at]]
            if queue.tasks:
                turn[center] = at + 1
                task = queue.take(offer.node if self.variant == "j" else None)
                if owners[at] is not None and not queue.tasks:
                    del queues[owners[at]]
                return task
        return None


class _Queue:
    """Tasks in the order of arrival, each with the nodes of its block, and for each node its local tasks."""

    def __init__(self) -> None:
        self.tasks: OrderedDict[int, list[int]] = OrderedDict()
        self._local: defaultdict[int, OrderedDict[int, None]] = defaultdict(OrderedDict)

    def extend(self, tasks: Ints, holders: Ragged | None) -> None:
        """Append tasks; `holders` has the nodes with the block of each, if these matter."""
        for row, task in enumerate(tasks.tolist()):
            self.tasks[task] = [] if holders is None else holders[row].tolist()
            for node in self.tasks[task]:
                self._local[node][task] = None

    def take(self, node: int | None) -> int:
        """Remove and return the first task with its block on `node`, else the head."""
        local = None if node is None else self._local.get(node)
        task = next(iter(local or self.tasks))
        for holder in self.tasks.pop(task):
            self._local[holder].pop(task, None)
        return task


_NONE: Ints = np.zeros(0, dtype=np.int64)

_NUMBER_OR_AUTO = either(("auto",), number(lowest=0))

_PARAMETERS = (
    Parameter("td", "auto", _NUMBER_OR_AUTO, "ratio beyond which a job is reduce-heavy; auto: k/(k-1), the paper's"),
    Parameter("policy", "auto", choice("auto", "A", "B", "C"), "one policy for all jobs: an ablation; auto: by class"),
    Parameter("large", "auto", _NUMBER_OR_AUTO, "most maps of a small job; auto: map slots of the average datacenter"),
    Parameter(
        "idle",
        "wait",
        choice("wait", "steal"),
        "while its datacenter's queues are empty a node waits (Sharmilarani et al.), or steals a map",
    ),
)


def _entry(variant: str, doc: str) -> Heuristic:
    def policy(**values: Any) -> JossPolicy:
        return JossPolicy(variant, **values)

    return Heuristic(
        name=f"joss-{variant}",
        paper="001",
        algorithm=f"II.D, JoSS-{variant.upper()}",
        problems=("traffic",),
        doc=doc,
        parameters=_PARAMETERS,
        policy=policy,
    )


HEURISTICS = (
    _entry("t", "jobs to queues of datacenters by class; a node takes the heads of its datacenter's queues in turn"),
    _entry("j", "the same queues; a node prefers a map of the queue that has its block on it"),
)
