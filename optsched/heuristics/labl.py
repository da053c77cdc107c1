"""LABL, locality aware and bounded latency (Agosta et al., Fig. 1), and its rivals on `latency`. None draws at random.

Line numbers in the comments are those of Fig. 1; a "note" is one on Agosta et al. in docs/papers.md. Limits at which no
server has room for waiting tasks are skipped.

The rivals are Hadoop's round robin and Fischer et al.'s flow-based algorithm (Fischer et al. 2010, "Assigning tasks for
efficiency in Hadoop", SPAA).
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Collection, Iterator
from heapq import heapreplace
from typing import Any

import numpy as np

from optsched.core.deadline import check
from optsched.core.instance import Ints, Ragged
from optsched.core.placement import NONE, Placement
from optsched.core.results import Value
from optsched.heuristics.running.base import Heuristic
from optsched.problems.latency import Latency
from optsched.problems.parameters import Parameter, choice, number
from optsched.solvers.matching import Cover

# Hadoop's round robin, and Fischer et al.'s algorithm -----------------------------------------------------------------


def round_robin(problem: Latency, rng: np.random.Generator, *, start: int = 0) -> Placement:
    """Cycle through the servers; each takes its first waiting local task, else the first waiting task.

    Initial loads play no part. O(tasks + servers + replicas): each server reads its local tasks once. `start` is the
    position of the server with which the cycle begins, modulo the number of servers.

    References
    ----------
    Agosta et al., section 3.5; Fischer et al. 2010, Algorithm 1.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> workload = Workload(["t1", "t2"], replicas=Ragged.from_rows([[1], [1]]))
    >>> problem = Latency(Instance(Cluster(["s1", "s2"]), workload))
    >>> round_robin(problem, np.random.default_rng()).nodes.tolist()
    [0, 1]
    """
    nodes = [NONE] * len(problem.tasks)
    local = [iter(row) for row in problem.server_tasks.lists()]
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
    tasks as possible. It grows from the previous threshold's cover by augmenting paths. So a covered task stays
    covered, though perhaps on another server, and no server's count drops. Uncovered tasks then go, one by one, to the
    server of least virtual load. Fischer et al. evaluate that load at a pessimistic w_rem, which may grow with the
    number of remote tasks; with Agosta et al. it is constant. Initial loads, which Fischer et al. do not have, enter
    capacities and virtual loads (Agosta et al., note 1).

    Fischer et al. take the thresholds 1, 2, ... while tasks are left. Two kinds of thresholds are skipped here: those
    whose cover is no larger than at the previous threshold, and those past the least makespan so far, since a cover
    that has grown there is longer than that.

    O(R + T log S) for each threshold with T tasks, R replicas and S servers, plus the servers that the search for each
    augmenting path visits (`Cover`). There are at most as many thresholds as the makespan has units: few, unless the
    replicas of thousands of tasks are on a handful of servers.

    Without initial load the makespan is at most the optimum plus (1 - 1/(n - 1)) w_rem on n >= 2 servers (Fischer et
    al. 2010, Theorem 5.4).

    Parameters
    ----------
    rng
        Not used: tasks are covered and assigned by position; of equally loaded servers the first is taken.
    ties
        Among placements of the least makespan: that of the first threshold (`first`), or that of the least work and
        then of the first threshold (`work`). Fischer et al. do not say which. An algorithm that keeps the best so far
        finds `first`, which reproduces Agosta et al.'s worked example in all its numbers (`papers/labl-figure2`).
    covers
        `grown` from the previous threshold's cover, as in Fischer et al. Or each computed `fresh`, an ablation: it
        leaves the slack of early thresholds uneven, with more servers free enough for a remote task.

    References
    ----------
    Agosta et al., section 3.5; Fischer et al. 2010, Algorithm 2.

    Examples
    --------
    The makespan is not always minimal: here (3, 9) is possible.

    >>> from optsched.core.instance import Cluster, Instance, Workload
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
        following = cover.grow_within(threshold)
        placement = problem.placement(cover.completed())
        value = problem.objective(placement)
        if best is None or value[:compared] < best[0][:compared]:
            best = value, placement
        threshold = following
    assert best is not None
    return best[1]


class _Cover(Cover):
    """A largest set of tasks that run locally within a threshold, each on a server with its block."""

    def __init__(self, problem: Latency) -> None:
        self._problem, self._homes = problem, problem.replicas.lists()
        waiting = [task for task, homes in enumerate(self._homes) if homes]
        super().__init__(self._homes, waiting, len(problem.initial_load))

    def grow_within(self, threshold: int) -> int | None:
        """Augment until the cover is maximum within `threshold`; the next threshold at which it grows, if any."""
        room = self._problem.local_capacity(threshold)
        closed = np.flatnonzero(self.grow(room.tolist()))
        ends = self._problem.initial_load[closed] + self._problem.w_loc * (room[closed] + 1)
        return int(ends.min()) if len(ends) else None

    def completed(self) -> Ints:
        """Node of each task: the cover, and the other tasks by position to servers of least virtual load (bal-assign).

        A server that happens to have the task's block runs it in w_loc.
        """
        problem, nodes = self._problem, np.array(self.node, dtype=np.int64)
        loads = problem.initial_load + problem.w_loc * np.bincount(
            nodes[nodes >= 0], minlength=len(problem.initial_load)
        )
        heap = sorted((load, server) for server, load in enumerate(loads.tolist()))  # a sorted list is a heap
        for task in np.flatnonzero(nodes == NONE).tolist():
            check()
            load, server = heap[0]
            work = problem.w_loc if server in self._homes[task] else problem.w_rem
            heapreplace(heap, (load + work, server))
            nodes[task] = server
        return nodes


# LABL, in the possible readings of its pseudo-code --------------------------------------------------------------------

#: Agosta et al., note 6.
VARIANTS = ("literal", "strict", "rescan", "local-first", "restructured")

#: Readings of line 6: which tasks are in T_rem.
LINES_6 = ("mended", "printed")


def _limit(text: Any, more: str = "") -> int | str:
    """A parser of "l**", "l**+k" (of the bound l**) or a whole number; messages name what `more` may be given."""
    if isinstance(text, str) and (match := re.fullmatch(r"l\*\*(\+\d+)?", text.replace(" ", ""))):
        return match[0]
    try:
        return int(number(integer=True)(text))
    except ValueError:
        raise ValueError(f"give l**, l**+1 (or more){more} or a whole number") from None


def _threshold(text: Any) -> int | str:
    """A parser of what `_limit` takes, or "inf"."""
    return "inf" if text in ("inf", math.inf) else _limit(text, ", inf")


def labl(
    problem: Latency,
    rng: np.random.Generator,
    *,
    variant: str = "literal",
    lbar: int | float | str = "l**+1",
    start: int | str = "l**",
    line6: str = "mended",
) -> Placement:
    """Place local tasks within a limit on the makespan and remote ones where the limit leaves room; raise the limit.

    Each iteration has a limit l, and classifies servers by their load at its start: S_sup has room for a remote task
    (phi <= l - w_rem), S_inf only for local ones (l - w_rem < phi < l), the rest are busy. Phase I fills S_inf, most
    loaded server first, with local tasks of fewest replicas first. Phase II gives the tasks T_rem, whose replicas are
    all on busy servers, to S_sup, round robin and least loaded first, if l <= lbar. Phase III gives each remaining task
    to the least loaded server with a replica, if it ends within l there. Then l grows by 1. Ties of tasks and servers
    go by position. A task without replicas passes through Phase II at every limit, since otherwise the loop would not
    end (note 7).

    Parameters
    ----------
    variant
        `literal`: line 11 as printed, phi(s) <= l, so Phase I may end up to w_loc above l (note 6). `strict`: phi(s) +
        w_loc <= l instead; then only the first iteration places tasks in Phase II. `rescan`: strict, with T_rem
        computed after Phase I. `local-first`: strict, in the order I, III, II, and Phase II takes every remaining task.
        `restructured`: literal, with the two loops of the proof of Theorem 3 instead of those of Fig. 1. Up to lbar,
        Phase III goes over S_sup, least loaded first, and each server takes its waiting local tasks of fewest replicas
        while they end within l. Past lbar, servers in turn remove one task each from their lists of local tasks, fewest
        replicas first, and run it unless it was assigned in the meantime (then the turn is lost); neither limit nor
        load plays a part.
    lbar
        The threshold function CONSIDERREMOTEASSIGNMENTS(l) is l <= lbar: "l**", "l**+1" and so on, a number, or "inf".
        Agosta et al.'s experiments use l** and l**+1.
    start
        First limit: "l**", "l**+1" and so on, or a number.
    line6
        `mended`: T_rem has the tasks whose replicas are all on busy servers, as section 3.3 defines it. `printed`: as
        in line 6, those without a replica on any busy server (note 5), so that with an idle cluster every task is for
        Phase II. Line 23 counts w_rem for each, even if the server happens to have its block; the placement is judged
        by its true cost. With `local-first` the line plays no part.

    Notes
    -----
    O(T + R + S log S) for each iteration, with T waiting tasks, their R replicas and S servers; only limits at which a
    task may be placed count.

    For `strict` and `literal` with lbar = l**, work is at most sum max(0, l** - phi_s): the repair of Theorem 2, which
    is false as printed, as is Theorem 1 in every variant (Agosta et al., note 8).

    References
    ----------
    Agosta et al., Fig. 1 and section 3.4; Theorem 3 for `restructured`.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Ragged, Workload
    >>> workload = Workload([f"t{number}" for number in range(5)], replicas=Ragged.from_rows([[0]] * 5))
    >>> problem = Latency(Instance(Cluster(["s1", "s2", "s3"]), workload))
    >>> for variant in VARIANTS:
    ...     print(variant, *problem.evaluate(labl(problem, np.random.default_rng(), variant=variant)))
    literal 3 9
    strict 5 5
    rescan 3 9
    local-first 3 9
    restructured 3 9
    """
    run = _Run(problem, choice(*VARIANTS)(variant), choice(*LINES_6)(line6) == "printed")
    bound = problem.counting_bound()
    threshold, limit = _value(_threshold(lbar), bound), int(_value(_limit(start), bound))
    while run.waiting:
        check()
        remote = limit <= threshold
        if variant == "restructured" and not remote:
            run.take_turns()
        run.iterate(limit, remote)
        limit = run.next_limit(limit, threshold)
    return problem.placement(run.node)


def _value(limit: int | str, bound: int) -> float:
    """The limit for "l**", "l**+1", "inf" or a number."""
    if isinstance(limit, int):
        return limit
    return math.inf if limit == "inf" else bound + int(limit[len("l**") :] or 0)


class _Run:
    """One run: loads, the node of each task, and for each server its local tasks that may still wait."""

    def __init__(self, problem: Latency, variant: str, printed: bool) -> None:
        self.variant, self.printed = variant, printed
        self.w_loc, self.w_rem = problem.w_loc, problem.w_rem
        overshoots = variant in ("literal", "restructured")
        #: Line 11: Phase I continues while phi(s) <= l - margin; and the room below the limit that a server needs.
        self.margin, self.least_room = (0, 1) if overshoots else (self.w_loc, self.w_loc)
        self.load: list[int] = problem.initial_load.tolist()
        self.waiting = len(problem.tasks)
        self.node = [NONE] * self.waiting
        replicas = problem.replicas
        self.replicas = replicas.lists()
        #: The tasks by position, without those that had been placed when the iteration began.
        self._order = list(range(self.waiting))
        #: A stack for each server, with the task of fewest replicas on top; tasks that no longer wait are dropped when
        #: they come up.
        task = replicas.row_of
        by_choice = np.lexsort((-task, -replicas.lengths[task], replicas.values))
        self.local = Ragged(problem.server_tasks.starts, task[by_choice]).lists()

    # The loop ------------------------------------------------------------------------------------------------------

    def iterate(self, limit: int, remote: bool) -> None:
        """Lines 3 to 40 at limit l; `remote` is CONSIDERREMOTEASSIGNMENTS(l)."""
        self._order = list(self._in_order())
        ready = [server for server in self._with_local_tasks() if self.load[server] <= limit - self.least_room]
        inf = [server for server in ready if self.load[server] > limit - self.w_rem]  # line 3
        sup = [server for server in ready if self.load[server] <= limit - self.w_rem]  # line 4, where it matters
        stranded = self._stranded(limit, set(ready))  # line 6
        for server in sorted(inf, key=lambda server: (-self.load[server], server)):
            self._fill(server, limit - self.margin)  # Phase I, lines 7 to 15; phi(s) counts what line 13 adds (note 7)
        if self.variant == "rescan":
            stranded = self._stranded(limit, set(sup))
        elif self.variant == "local-first":
            self._place_least_loaded(ready, limit)
            stranded = self._in_order()
        self._place_remote(stranded if remote else self._homeless(), limit)  # line 16
        if self.variant == "restructured":
            for server in sorted(sup, key=lambda server: (self.load[server], server)):
                self._fill(server, limit - self.w_loc)  # Phase III as in the proof of Theorem 3
        else:
            self._place_least_loaded(ready, limit)

    def next_limit(self, limit: int, threshold: float) -> int:
        """The next limit at which a task may be placed; line 41 reaches it in steps of 1."""
        rises = [self.load[server] + self.least_room for server in self._with_local_tasks()]
        if limit < threshold or next(self._homeless(), NONE) != NONE:
            rises.append(min(self.load) + self.w_rem)
        return max(limit + 1, min(rises, default=0))

    def take_turns(self) -> None:
        """The reduced loop in the proof of Theorem 3: each server in turn removes one task from its list R_s."""
        self.local = [[task for task in tasks if self.node[task] == NONE] for tasks in self.local]
        turns = deque(server for server, tasks in enumerate(self.local) if tasks)
        while turns:
            server = turns.popleft()
            task = self.local[server].pop()
            if self.node[task] == NONE:
                self._place(task, server, self.w_loc)
            if self.local[server]:
                turns.append(server)

    # The phases ----------------------------------------------------------------------------------------------------

    def _fill(self, server: int, highest: int) -> None:
        """Give `server` its waiting local tasks, fewest replicas first, while its load is at most `highest`."""
        while self.load[server] <= highest and (task := self._top(server)) != NONE:
            self._place(task, server, self.w_loc)

    def _place_remote(self, tasks: Iterator[int], limit: int) -> None:
        """Phase II, lines 17 to 29, with S_sup one queue, so that no server is lost (note 7)."""
        highest = limit - self.w_rem
        roomy = [(load, server) for server, load in enumerate(self.load) if load <= highest]
        queue = deque(server for _, server in sorted(roomy))
        for task in tasks if queue else ():
            server = queue.popleft()
            self._place(task, server, self.w_rem)
            if self.load[server] <= highest:  # line 25
                queue.append(server)
            if not queue:
                break

    def _place_least_loaded(self, servers: Collection[int], limit: int) -> None:
        """Phase III, lines 30 to 40, for the tasks in order that have a replica on one of `servers`.

        No other task has room within the limit.
        """
        highest = limit - self.w_loc
        roomy = bytearray(len(self.load))
        for server in servers:
            roomy[server] = self.load[server] <= highest
        for task in self._in_order():
            if any(roomy[server] for server in self.replicas[task]):
                # Line 34; it has room, since one of them has.
                server = min(self.replicas[task], key=lambda one: (self.load[one], one))
                self._place(task, server, self.w_loc)
                roomy[server] &= self.load[server] <= highest

    def _place(self, task: int, server: int, work: int) -> None:
        check()
        self.node[task] = server
        self.load[server] += work
        self.waiting -= 1

    # Who waits, and where there is room ----------------------------------------------------------------------------

    def _stranded(self, limit: int, below: Collection[int]) -> Iterator[int]:
        """T_rem of line 6: waiting tasks all of whose replicas are on busy servers; or as printed, none of whose are.

        They are found one by one while Phase II places them. `below` are servers that count as not busy, at any later
        load.
        """
        for task in self._in_order():
            busy = (self.load[server] >= limit and server not in below for server in self.replicas[task])
            if not any(busy) if self.printed else all(busy):
                yield task

    def _in_order(self) -> Iterator[int]:
        """The tasks by position that wait when their turn comes."""
        return (task for task in self._order if self.node[task] == NONE)

    def _homeless(self) -> Iterator[int]:
        """The waiting tasks without replicas, by position."""
        return (task for task in self._in_order() if not self.replicas[task])

    def _with_local_tasks(self) -> list[int]:
        """The servers with the block of a waiting task."""
        return [server for server in range(len(self.local)) if self._top(server) != NONE]

    def _top(self, server: int) -> int:
        """The waiting local task of a server with fewest replicas, or NONE."""
        stack = self.local[server]
        while stack and self.node[stack[-1]] != NONE:
            stack.pop()
        return stack[-1] if stack else NONE


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
                "covers",
                "grown",
                choice("grown", "fresh"),
                "grown from the threshold before, as in the paper, or fresh",
            ),
        ),
        batch=flow_based,
    ),
    Heuristic(
        "labl",
        "004",
        "Fig. 1",
        ("latency",),
        "local tasks within a limit on the makespan that grows from l**, remote ones up to lbar",
        (
            Parameter("variant", "literal", choice(*VARIANTS), "reading of Fig. 1, or the loops of Theorem 3's proof"),
            Parameter("lbar", "l**+1", _threshold, "last limit with remote tasks: l**, l**+1, inf or a number"),
            Parameter("start", "l**", _limit, "first limit: l**, l**+1 or a number"),
            Parameter("line6", "mended", choice(*LINES_6), "T_rem: no replica on a server with room, or as printed"),
        ),
        batch=labl,
    ),
)
