"""Guo et al.'s schedulers: Hadoop's default rule `dl`, its random version `rand`, and two by an assignment problem.

Guo et al. describe dl-sched for one heartbeat. Their theory and figures only fit another reading: every idle slot has
its chance of a local task before any slot takes another task. Both readings are here (Guo et al. 2012, note 1).
`lsap-sched` (III.C) places the most tasks possible on nodes with their data; `lsap-fair-sched` (III.D) weighs fairness.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from optsched.core.deadline import check
from optsched.core.instance import KINDS, MAP, PENDING, REDUCE, Ints, Ragged
from optsched.core.placement import NONE, Placement
from optsched.heuristics.job_order import ANYWHERE, NODE, RACK, WaitingMaps
from optsched.heuristics.running.base import Event, Heuristic, Offer, Policy, View
from optsched.problems.assignment import AssignmentProblem, LevelledProblem
from optsched.problems.fair_lsap import FairLsap
from optsched.problems.parameters import Parameter, choice, number
from optsched.solvers.matching import maximum_b_matching
from optsched.solvers.searches.assignment import optimal_placement


class LocalityPolicy(Policy):
    """A task with data on the node, else one with data in its rack, else any; drawn at random among equals.

    A free reduce slot gets a random reduce. It starts one task per offer. The time of an offer does not depend on the
    number of waiting tasks (`WaitingMaps`), if ties are random.

    Parameters
    ----------
    reading
        `heartbeat`: the node takes the best task at once, perhaps one whose data is on another idle node. `sweep`: each
        slot passes once before it takes a task without data on the node, so that under the driver all idle slots have
        taken local tasks by then.
    randomness
        Probability, 0 to 1, that a slot gets a random task without regard to data (Guo et al. 2012, section IV.D).
    ties
        Among tasks with data on the node, or in its rack: `random`, or the `first` of the instance, as Hadoop takes the
        first of its list. Without either the task is always random, as the paper says.
    """

    def __init__(self, reading: str = "sweep", randomness: float = 0, ties: str = "random") -> None:
        self.reading, self.randomness, self.ties = reading, randomness, ties

    def start(self, view: View, rng: np.random.Generator) -> None:
        self._rng = rng
        self._known = 0
        self._passed: defaultdict[int, int] = defaultdict(int)  # free slots of each node that have passed once
        self._waiting = WaitingMaps()
        self._learn(view)

    def notify(self, event: Event, view: View) -> None:
        if event.what == "job-arrived":
            self._learn(view)
            self._passed.clear()
        elif event.what in ("task-returned", "task-released"):
            task = np.array([event.index])
            self._waiting.add(task, view, view.workload.kind[task], again=True)
            self._passed.clear()
        elif event.what == "node-changed":
            node = event.index
            self._passed[node] = min(self._passed[node], int(view.free_map_slots[node]))

    def memory(self) -> Any:
        """Free slots of each node that have passed once."""
        return dict(self._passed)

    def recall(self, memory: Any, view: View) -> None:
        self._passed.update(memory)

    def _learn(self, view: View) -> None:
        """Add the tasks that are new in the view."""
        tasks = self._known + np.flatnonzero(view.status[self._known :] == PENDING)
        self._known = len(view.workload)
        self._waiting.add(tasks, view, view.workload.kind[tasks])

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        node = offer.node
        if offer.kind != KINDS[MAP]:
            task = self._waiting.draw(ANYWHERE, node, view, self._rng, REDUCE)
            return () if task is None else (task,)
        waits_once = self.reading == "sweep" and self._passed[node] < offer.free
        levels = [NODE] if waits_once else [NODE, RACK, ANYWHERE]
        if self.randomness and (waits_once or self.reading == "heartbeat") and self._rng.random() < self.randomness:
            levels.insert(0, ANYWHERE)
        task = None
        for level in levels:
            if task is None:
                first = self.ties == "first" and level != ANYWHERE
                task = self._waiting.draw(level, node, view, self._rng, first=first)
        if waits_once:
            self._passed[node] += task is None
        elif self._passed[node]:
            self._passed[node] -= 1
        return () if task is None else (task,)


_READING = Parameter(
    "reading",
    "sweep",
    choice("sweep", "heartbeat"),
    "which slots are filled first: all with local tasks, or in the order of heartbeats",
)


# `lsap-sched`: the most tasks on nodes with their data (Guo et al. 2012, III.C) ---------------------------------------


def lsap_sched(problem: AssignmentProblem, rng: np.random.Generator, *, window: int = 0) -> Placement:
    """Place min(tasks, idle slots) tasks, with as many as possible on nodes with their data.

    Guo et al. pad the 0/1 matrix of tasks and slots to a square and solve the LSAP. That is a maximum matching of tasks
    to the slots of their replicas' nodes, filled up with any other tasks. Their choice is arbitrary; here they are the
    first ones in the order of the instance, on the first nodes. It ignores racks: with three different levels it is not
    optimal. It also ignores all other costs of the problem.

    With a `window` it collects this many idle slots, in random order, places tasks on these, and goes on (Guo et al.
    2012, end of section III.C); with 0 all are placed at once, the same for every `rng`. A window costs one maximum
    flow over the replicas on its nodes: O(replicas sqrt(tasks + nodes)) in total.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> from optsched.problems import Lsap
    >>> workload = Workload(["t1", "t2"], replicas=Ragged.from_rows([[0, 1], [0]]))
    >>> problem = Lsap(Instance(Cluster(["a", "b"]), workload))
    >>> lsap_sched(problem, np.random.default_rng(0)).nodes.tolist()
    [1, 0]
    """
    slots = np.repeat(np.arange(len(problem.capacity)), problem.capacity)
    if window:
        slots = rng.permutation(slots)
    held = problem.replicas.transposed(len(problem.capacity))
    result = np.full(len(problem.tasks), NONE, dtype=np.int64)
    for start in range(0, len(slots), window or len(slots) or 1):
        nodes, capacity = np.unique(slots[start : start + window] if window else slots, return_counts=True)
        check()
        used = _match(result, held.take(nodes), nodes, capacity)
        left = np.repeat(nodes, capacity - used)
        waiting = np.flatnonzero(result == NONE)[: len(left)]
        result[waiting] = left[: len(waiting)]
        if len(waiting) < len(left):
            break
    return problem.placement(result)


def _match(result: Ints, replicas: Ragged, nodes: Ints, capacity: Ints) -> Ints:
    """Enter a maximum matching of waiting tasks to nodes, and return how many tasks each node got.

    Row `i` of `replicas` has the tasks with data on `nodes[i]`, which takes `capacity[i]` of them.
    """
    waits = result[replicas.values] == NONE
    tasks, task = np.unique(replicas.values[waits], return_inverse=True)
    node = replicas.row_of[waits]
    order = np.lexsort((node, task))
    starts = np.searchsorted(task[order], np.arange(len(tasks) + 1))
    matched = maximum_b_matching(starts, node[order], capacity).node
    local = matched != NONE
    result[tasks[local]] = nodes[matched[local]]
    return np.bincount(matched[local], minlength=len(nodes))


# `lsap-fair-sched`: an assignment problem with costs of fairness and locality (Guo et al. 2012, III.D) ----------------


def lsap_fair_sched(problem: LevelledProblem, rng: np.random.Generator, **parameters: Any) -> Placement:
    """Place min(tasks, idle slots) tasks at least fairness cost plus locality cost, by Guo et al.'s lines 1 to 39.

    The heuristic's own costs are those of the problem `fair-lsap` with `selection=fixed` (the tasks within a group's
    ration are chosen in advance, lines 19 to 27) and these parameters. So its gap is 0 by construction on `fair-lsap`
    with the same parameters. It has a gap if the placement may choose who is within the ration (`selection=free`), if
    the parameters differ, and in the locality of `lsap`.

    Its parameters are alpha, beta, gfc, rations and overflow as in `fair-lsap`. Missing ones are the problem's own if
    it is `fair-lsap`, else the instance's or the defaults. `overflow=naive` is the rule that Guo et al. argue against:
    all tasks of a group at its GFC. MissingField if the instance has no groups, or tasks without one.

    Examples
    --------
    One slot of two is idle; group g1 has used up its ration with the other one:

    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> workload = Workload(
    ...     ["t1", "t2"], job=[0, 1], job_ids=["j1", "j2"], job_group=[0, 1], group_ids=["g1", "g2"],
    ...     group_weight=[1, 1])
    >>> cluster = Cluster(["a"], slots=[2])
    >>> problem = FairLsap(Instance.initial(cluster, workload, idle_slots=[1], group_running_tasks=[1, 0]))
    >>> lsap_fair_sched(problem, np.random.default_rng(0)).nodes.tolist()
    [-1, 0]
    """
    names = (parameter.name for parameter in FairLsap.parameter_table)
    own = {name: problem.parameters[name] for name in names if name in problem.parameters}
    given = {name: value for name, value in parameters.items() if value is not None}
    costs = {**own, **given, "selection": "fixed"}
    posed = problem if costs == own else FairLsap(problem.instance, **costs)
    return optimal_placement(posed)


def _checked(parameter: Parameter, value: Any) -> Any:
    """Refuse what `fair-lsap` refuses, but keep the given value: "auto" is not "not given"."""
    parsed = parameter.parse(value)
    return value if parsed is None else parsed


HEURISTICS: tuple[Heuristic, ...] = (
    Heuristic(
        name="dl",
        paper="003",
        algorithm="III.A, dl-sched",
        problems=("lsap", "fair-lsap", "lsap-fairness", "worst-group", "flow"),
        doc="Hadoop's default: a task with data on the offering node, else in its rack, else any",
        parameters=(
            _READING,
            Parameter("ties", "random", choice("random", "first"), "among tasks that are as near: any, or the first"),
        ),
        policy=LocalityPolicy,
    ),
    Heuristic(
        name="rand",
        paper="003",
        algorithm="IV.D, rand-sched",
        problems=("lsap", "fair-lsap", "lsap-fairness", "worst-group", "flow"),
        doc="with a chance of `randomness` any task, else as dl",
        parameters=(
            Parameter(
                "randomness",
                1,
                number(lowest=0, highest=1),
                "share of the slots that get a task at random (Guo et al. 2012: 0.3, 0.5, 0.7, 1)",
            ),
            _READING,
        ),
        policy=LocalityPolicy,
    ),
    Heuristic(
        name="lsap-sched",
        paper="003",
        algorithm="III.C, lsap-sched",
        problems=("lsap", "fair-lsap", "lsap-fairness", "worst-group", "flow"),
        doc="the most tasks on nodes with their data, by an assignment problem; knows no racks",
        parameters=(
            Parameter(
                "window", 0, number(lowest=0, integer=True), "idle slots gathered before each decision; 0: all at once"
            ),
        ),
        batch=lsap_sched,
    ),
    Heuristic(
        name="lsap-fair-sched",
        paper="003",
        algorithm="III.D, lsap-fair-sched",
        problems=("fair-lsap", "lsap-fairness", "worst-group", "lsap"),
        doc="least fairness cost plus locality cost, with the tasks within each ration chosen beforehand",
        parameters=tuple(  # those that shape the costs, with None for the problem's own value
            Parameter(parameter.name, None, partial(_checked, parameter), parameter.doc)
            for parameter in FairLsap.parameter_table
            if parameter.name in ("alpha", "beta", "gfc", "rations", "overflow")
        ),
        batch=lsap_fair_sched,
        missing=lambda problem: FairLsap.applies(problem.instance),
    ),
)
