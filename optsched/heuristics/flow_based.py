"""What Agosta et al. compare LABL with on `latency`: Hadoop's round robin and Fischer et al.'s flow-based algorithm.

Fischer et al. 2010 is "Assigning tasks for efficiency in Hadoop", SPAA. Both are batch heuristics and draw nothing at
random. LABL itself is in `labl`.
"""

from __future__ import annotations

import heapq
from collections import deque
from itertools import pairwise

import numpy as np

from optsched.deadline import check
from optsched.instance import Ragged
from optsched.placement import NONE, Placement
from optsched.problems.base import Parameter, choice, number
from optsched.problems.latency import Latency
from optsched.results import Value
from optsched.running.base import Heuristic

__all__ = ["HEURISTICS", "flow_based", "round_robin", "row_lists"]


def round_robin(problem: Latency, rng: np.random.Generator, *, start: int = 0) -> Placement:
    """Cycle through the servers; each takes its first waiting local task, else the first waiting task.

    Initial loads play no part. O(tasks + servers + replicas): each server reads its local tasks once.

    Parameters
    ----------
    start
        Position of the server with which the cycle begins; counted round where there are fewer servers.

    References
    ----------
    Agosta et al., section 3.5; Fischer et al. 2010, Algorithm 1.

    Examples
    --------
    >>> from optsched.instance import Cluster, Instance, Workload
    >>> workload = Workload(["t1", "t2"], replicas=Ragged.from_rows([[1], [1]]))
    >>> problem = Latency(Instance(Cluster(["s1", "s2"]), workload))
    >>> round_robin(problem, np.random.default_rng()).nodes.tolist()
    [0, 1]
    """
    nodes = [NONE] * len(problem.tasks)
    local = [iter(row) for row in row_lists(problem.server_tasks)]
    anywhere = iter(range(len(nodes)))
    for turn in range(start, start + len(nodes)):
        check()
        server = turn % len(local)
        task = next((task for task in local[server] if nodes[task] == NONE), None)
        if task is None:
            task = next(task for task in anywhere if nodes[task] == NONE)
        nodes[task] = server
    return problem.placement(nodes)


def flow_based(problem: Latency, rng: np.random.Generator, *, ties: str = "first", covers: str = "grown") -> Placement:
    """For each threshold cover most tasks locally and place the rest greedily; the best of these placements.

    A cover within threshold tau gives server s at most floor((tau - phi_s)/w_loc) tasks, all local, and covers as many
    tasks as possible. It grows from the cover of the threshold before by augmenting paths. So a covered task stays
    covered, though perhaps on another server, and no server's count drops. Uncovered tasks then go, one by one, to the
    server of least virtual load. Fischer et al. evaluate that load at a pessimistic w_rem, which may grow with the
    number of remote tasks; with Agosta et al. it is constant. Initial loads, which Fischer et al. do not have, enter
    capacities and virtual loads (Agosta et al., note 1).

    Fischer et al. take the thresholds 1, 2, ... while tasks are left. Two sorts of thresholds are left out here: those
    with a cover no larger than at the threshold before, and those past the least makespan so far, since a cover that
    has grown there is longer than that.

    O(R + T log S) for each threshold with T tasks, R replicas and S servers, and as much again for each augmenting
    path that is not direct. There are at most as many thresholds as the makespan has units: few, unless the replicas of
    thousands of tasks are on a handful of servers.

    With no initial load the makespan is at most the optimum plus (1 - 1/(n - 1)) w_rem on n >= 2 servers (Fischer et
    al. 2010, Theorem 5.4).

    Parameters
    ----------
    rng
        Not used: tasks are covered and given out by position, and of equally loaded servers the first is taken.
    ties
        Among placements of the least makespan: that of the first threshold (`first`), or that of the least work and
        then of the first threshold (`work`). Fischer et al. do not say which. An algorithm that keeps the best so far
        finds `first`, and with it Agosta et al.'s worked example comes out in all its numbers (`papers/labl-figure2`).
    covers
        `grown` from the cover of the threshold before, as Fischer et al. have it. Or each computed `fresh`, an
        ablation: it leaves the slack of early thresholds uneven, with more servers free enough for a remote task.

    References
    ----------
    Agosta et al., section 3.5; Fischer et al. 2010, Algorithm 2.

    Examples
    --------
    The makespan is not always the least: here (3, 9) is possible.

    >>> from optsched.instance import Cluster, Instance, Workload
    >>> replicas = Ragged.from_rows([[1], [1], [0, 1], [0, 2], [1], [0, 1], [1]])
    >>> workload = Workload([f"t{number}" for number in range(1, 8)], replicas=replicas)
    >>> problem = Latency(Instance(Cluster(["s1", "s2", "s3"]), workload))
    >>> problem.evaluate(flow_based(problem, np.random.default_rng()))
    (4, 11)
    """
    compared = {"work": 2, "first": 1}[ties]
    cover = _Cover(problem)
    fresh = {"grown": False, "fresh": True}[covers]
    threshold: int | None = 1
    best: tuple[Value, Placement] | None = None
    while threshold is not None and (best is None or threshold <= best[0][0]):
        check()
        if fresh:
            cover = _Cover(problem)
        following = cover.grow(threshold)
        placement = problem.placement(cover.completed())
        value = problem.objective(placement)
        if best is None or value[:compared] < best[0][:compared]:
            best = value, placement
        threshold = following
    assert best is not None
    return best[1]


class _Cover:
    """A largest set of tasks that run locally within a threshold, each on a server that holds its block."""

    def __init__(self, problem: Latency) -> None:
        self.problem = problem
        self.replicas = row_lists(problem.replicas)
        self.server = [NONE] * len(self.replicas)
        #: Tasks on each server, in the order in which they came.
        self.covered: list[dict[int, None]] = [{} for _ in problem.initial_load]
        self.uncovered = [task for task, replicas in enumerate(self.replicas) if replicas]

    def grow(self, threshold: int) -> int | None:
        """Augment until the cover is maximum within `threshold`; the next threshold at which it grows, if any."""
        capacity = self.problem.local_capacity(threshold).tolist()
        full: set[int] = set()
        self.uncovered = [task for task in self.uncovered if not self._augment(task, capacity, full)]
        load, step = self.problem.initial_load, self.problem.w_loc
        return min((int(load[server]) + step * (capacity[server] + 1) for server in full), default=None)

    def _augment(self, task: int, capacity: list[int], full: set[int]) -> bool:
        """Cover `task` along a shortest augmenting path, if there is one.

        Servers in `full` are known to lead to no free capacity. Those that a failed search reached join them: a later
        path at the same threshold never enters them, so the searches that fail take O(replicas) together.
        """
        check()
        reached: dict[int, int] = {}  # server -> the task that would move there
        queue = deque([task])
        while queue:
            moving = queue.popleft()
            for server in self.replicas[moving]:
                if server in reached or server in full:
                    continue
                reached[server] = moving
                if len(self.covered[server]) < capacity[server]:
                    self._shift(task, server, reached)
                    return True
                queue.extend(self.covered[server])
        full.update(reached)
        return False

    def _shift(self, task: int, server: int, reached: dict[int, int]) -> None:
        """Move every task of the path that leads from `task` to `server` one server on."""
        while True:
            moving = reached[server]
            left = self.server[moving]
            self.server[moving] = server
            self.covered[server][moving] = None
            if moving == task:
                return
            del self.covered[left][moving]
            server = left

    def completed(self) -> list[int]:
        """Node of each task: the cover, and the other tasks by position to servers of least virtual load (bal-assign).

        A server that happens to hold the task's block runs it in w_loc.
        """
        nodes = list(self.server)
        w_loc, w_rem = self.problem.w_loc, self.problem.w_rem
        loads = self.problem.initial_load.tolist()
        queue = [(load + w_loc * len(self.covered[server]), server) for server, load in enumerate(loads)]
        heapq.heapify(queue)
        for task, replicas in enumerate(self.replicas):
            if nodes[task] == NONE:
                load, server = queue[0]
                nodes[task] = server
                heapq.heapreplace(queue, (load + (w_loc if server in replicas else w_rem), server))
        return nodes


def row_lists(rows: Ragged) -> list[list[int]]:
    """The rows as lists, which Python's own loops read faster."""
    values = rows.values.tolist()
    return [values[begin:end] for begin, end in pairwise(rows.starts.tolist())]


HEURISTICS: tuple[Heuristic, ...] = (
    Heuristic(
        "round-robin",
        "004",
        "Fischer et al. 2010, Algorithm 1",
        ("latency",),
        "Hadoop's locality-aware round robin: each server in turn takes a local task, else any",
        (Parameter("start", 0, number(lowest=0, integer=True), "position of the server that comes first"),),
        batch=round_robin,
    ),
    Heuristic(
        "flow-based",
        "004",
        "Fischer et al. 2010, Algorithm 2",
        ("latency",),
        "Fischer-Su-Yin: largest local cover for each threshold, the rest to least loaded servers, the best of these",
        (
            Parameter("ties", "first", choice("first", "work"), "among least makespans: first threshold or least work"),
            Parameter(
                "covers", "grown", choice("grown", "fresh"), "from the threshold before, as in the paper, or anew"
            ),
        ),
        batch=flow_based,
    ),
)
