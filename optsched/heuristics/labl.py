"""LABL, locality aware and bounded latency (Agosta et al., Fig. 1), in the readings that its pseudo-code admits.

Line numbers in the comments are those of Fig. 1; a "note" is one on Agosta et al. in docs/papers.md.
The algorithms that Agosta et al. compare it with are in `flow_based`. Nothing here is drawn at random.

A limit at which no server has room for what waits is skipped.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from optsched.core.deadline import check
from optsched.core.instance import Ragged
from optsched.core.placement import NONE, Placement
from optsched.heuristics.labl import row_lists
from optsched.heuristics.running.base import Heuristic
from optsched.problems.base import Parameter, choice, number
from optsched.problems.latency import Latency

__all__ = ["HEURISTICS", "LINES_6", "VARIANTS", "labl"]

#: Agosta et al., note 6.
VARIANTS = ("literal", "strict", "rescan", "local-first", "restructured")

#: Readings of line 6: which tasks T_rem holds.
LINES_6 = ("mended", "printed")


def _limit(text: Any) -> int | str:
    """A parser of "l**", "l**+k" (of the bound l**) or a whole number."""
    if isinstance(text, str) and (match := re.fullmatch(r"l\*\*(\+\d+)?", text.replace(" ", ""))):
        return match[0]
    try:
        return int(number(integer=True)(text))
    except ValueError:
        raise ValueError("give l**, l**+1 (or more) or a whole number") from None


def _threshold(text: Any) -> int | str:
    """Parse a limit as `_limit` does, or "inf"."""
    if text in ("inf", math.inf):
        return "inf"
    try:
        return _limit(text)
    except ValueError:
        raise ValueError("give l**, l**+1 (or more), inf or a whole number") from None


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

    Each iteration has a limit l, and servers by their load at its start: S_sup has room for a remote task
    (phi <= l - w_rem), S_inf only for local ones (l - w_rem < phi < l), the rest are busy. Phase I fills S_inf, most
    loaded server first, with local tasks of fewest replicas first. Phase II gives the tasks T_rem, whose replicas are
    all on busy servers, to S_sup, round robin and least loaded first, if l <= lbar. Phase III gives each task that is
    left to the least loaded server with a replica, if that ends within l. Then l grows by 1. Tasks and servers that
    tie are taken by position. A task without replicas passes through Phase II at every limit, since otherwise the loop
    would not end (note 7).

    Parameters
    ----------
    variant
        `literal`: line 11 as printed, phi(s) <= l, so Phase I may end up to w_loc above l (note 6). `strict`:
        phi(s) + w_loc <= l instead; nothing but the first iteration then places tasks in Phase II. `rescan`: strict,
        with T_rem computed after Phase I. `local-first`: strict, in the order I, III, II, and Phase II takes every
        task that is left. `restructured`: literal, with the two loops that the proof of Theorem 3 puts in place of
        Fig. 1's. Up to lbar, Phase III goes over S_sup, least loaded first, and each server takes its waiting local
        tasks of fewest replicas while they end within l. Past lbar, servers in turn remove one task each from their
        lists of local tasks, fewest replicas first, and run it unless it was assigned in the meantime (a turn that
        finds it assigned is spent); neither limit nor load plays a part.
    lbar
        The threshold function CONSIDERREMOTEASSIGNMENTS(l) is l <= lbar: "l**", "l**+1" and so on, a number, or "inf".
        Agosta et al.'s experiments use l** and l**+1.
    start
        First limit: "l**", "l**+1" and so on, or a number.
    line6
        `mended`: T_rem has the tasks all of whose replicas are on busy servers, as section 3.3 defines it. `printed`:
        as line 6 has it, those without a replica on any busy server (note 5), so that with an idle cluster every
        task is for Phase II. Line 23 counts w_rem for each, also where the server happens to hold its block; the
        placement is judged by what it costs. With `local-first` the line plays no part.

    Notes
    -----
    O(T + R + S log S) for each iteration, with T tasks that wait, R replicas of theirs and S servers; only limits at
    which a task may be placed count.

    For `strict` and `literal` with lbar = l**, work is at most sum max(0, l** - phi_s): the repair of
    Theorem 2, which is false as printed, as is Theorem 1 in every variant (Agosta et al., note 8).

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
    """The limit that "l**", "l**+1", "inf" or a number stands for."""
    if isinstance(limit, int):
        return limit
    return math.inf if limit == "inf" else bound + int(limit[len("l**") :] or 0)


class _Run:
    """One run: loads, the node of each task, and for each server its local tasks that may still wait."""

    def __init__(self, problem: Latency, variant: str, printed: bool) -> None:
        self.variant, self.printed = variant, printed
        self.w_loc, self.w_rem = problem.w_loc, problem.w_rem
        overshoots = variant in ("literal", "restructured")
        #: Line 11: Phase I goes on while phi(s) <= l - margin; and the room below the limit that a server needs.
        self.margin, self.least_room = (0, 1) if overshoots else (self.w_loc, self.w_loc)
        self.load: list[int] = problem.initial_load.tolist()
        self.waiting = len(problem.tasks)
        self.node = [NONE] * self.waiting
        replicas = problem.replicas
        self.replicas = row_lists(replicas)
        #: The tasks by position, less those that had been placed when the iteration began.
        self._order = list(range(self.waiting))
        # Stacks with the next task on top; tasks that were assigned meanwhile are dropped when they come up.
        task, server, starts = replicas.row_of, replicas.values, problem.server_tasks.starts
        self.homeless: list[int] = np.flatnonzero(replicas.lengths == 0)[::-1].tolist()
        self.local = row_lists(Ragged(starts, task[np.lexsort((-task, server))]))
        by_choice = np.lexsort((-task, -replicas.lengths[task], server))
        self.constrained = row_lists(Ragged(starts, task[by_choice]))

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
                self._fill(server, limit - self.w_loc)  # Phase III as the proof of Theorem 3 has it
        else:
            self._place_least_loaded(ready, limit)

    def next_limit(self, limit: int, threshold: float) -> int:
        """The next limit at which a task may be placed; line 41 comes to it by steps of 1."""
        rises = [self.load[server] + self.least_room for server in self._with_local_tasks()]
        if limit < threshold or self._top(self.homeless) != NONE:
            rises.append(min(self.load) + self.w_rem)
        return max(limit + 1, min(rises, default=0))

    def take_turns(self) -> None:
        """The reduced loop in the proof of Theorem 3: each server in turn removes one task from its list R_s."""
        self.constrained = [[task for task in tasks if self.node[task] == NONE] for tasks in self.constrained]
        turns = deque(server for server, tasks in enumerate(self.constrained) if tasks)
        while turns:
            server = turns.popleft()
            task = self.constrained[server].pop()
            if self.node[task] == NONE:
                self._place(task, server, self.w_loc)
            if self.constrained[server]:
                turns.append(server)

    # The phases ----------------------------------------------------------------------------------------------------

    def _fill(self, server: int, highest: int) -> None:
        """Give `server` its waiting local tasks, fewest replicas first, while its load is at most `highest`."""
        while self.load[server] <= highest and (task := self._top(self.constrained[server])) != NONE:
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
        for task in self._tasks_with_data_on(servers):
            if any(roomy[server] for server in self.replicas[task]):
                # Line 34; it has room, since one of them has.
                server = min(self.replicas[task], key=lambda one: (self.load[one], one))
                self._place(task, server, self.w_loc)
                roomy[server] &= self.load[server] <= highest

    def _tasks_with_data_on(self, servers: Collection[int]) -> Iterator[int]:
        """Waiting tasks, in order, among them all with a replica on one of `servers`."""
        if 2 * sum(len(self.local[server]) for server in servers) > self.waiting:
            return self._in_order()
        held = {task for server in servers for task in self.local[server] if self.node[task] == NONE}
        return self._still_waiting(sorted(held))

    def _place(self, task: int, server: int, work: int) -> None:
        check()
        self.node[task] = server
        self.load[server] += work
        self.waiting -= 1

    # Who waits, and where there is room ----------------------------------------------------------------------------

    def _stranded(self, limit: int, below: Collection[int]) -> Iterator[int]:
        """T_rem of line 6: waiting tasks all of whose replicas are on busy servers; or as printed, none of whose are.

        They are found one by one while Phase II places them. `below` are servers that count as not busy, for any
        load that they have by then.
        """
        for task in self._in_order():
            busy = (self.load[server] >= limit and server not in below for server in self.replicas[task])
            if not any(busy) if self.printed else all(busy):
                yield task

    def _still_waiting(self, tasks: list[int]) -> Iterator[int]:
        """Those of `tasks` that wait when their turn comes."""
        return (task for task in tasks if self.node[task] == NONE)

    def _in_order(self) -> Iterator[int]:
        """The waiting tasks by position."""
        return self._still_waiting(self._order)

    def _with_local_tasks(self) -> list[int]:
        """The servers that hold the block of a waiting task."""
        return [server for server, tasks in enumerate(self.local) if self._top(tasks) != NONE]

    def _homeless(self) -> Iterator[int]:
        """The waiting tasks without replicas, by position."""
        while (task := self._top(self.homeless)) != NONE:
            yield task

    def _top(self, stack: list[int]) -> int:
        """The first waiting task of a stack, or NONE."""
        while stack and self.node[stack[-1]] != NONE:
            stack.pop()
        return stack[-1] if stack else NONE


HEURISTICS: tuple[Heuristic, ...] = (
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
