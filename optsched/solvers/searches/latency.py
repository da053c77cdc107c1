"""`latency` exactly: one limit on the makespan after another, each by a bound, a packing, and cuts if they differ.

At a fixed limit on the makespan the least work is the least number of remote tasks. A maximum b-matching of tasks to
servers with replicas bounds it from below. A packing of the remote tasks into the remaining room bounds it from above.
If the two meet, the proof is a cover of servers. Otherwise, the duals of the compact program's relaxation, tightened by
cuts, are prices that prove more, or rule the limit out. If these do not suffice, the program itself decides, with
continuous local shares and integer remote counts. Only if no prices prove its result does the proof rest on the
solver's claim.
"""

from __future__ import annotations

import contextlib
import time
from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from optsched.certificates import latency_certificate, latency_prices
from optsched.core.arrays import places_in, rank_among
from optsched.core.deadline import check
from optsched.core.errors import OutOfTime, SolverDisagreement
from optsched.core.instance import Bools, Ints, Ragged
from optsched.core.placement import NONE, Placement
from optsched.core.processes.handing import hand_over
from optsched.core.results import Certificate, FrontierPoint, Limit, Proof
from optsched.problems import Latency
from optsched.problems.latency_definition import LatencyPrices
from optsched.solvers.answers import STOPPED, stopped, whole_bound
from optsched.solvers.matching import GrowingMatching
from optsched.solvers.profiles import Profile

# Packing at one limit: a placement with as few remote tasks as a maximum matching allows ------------------------------
# There are two attempts, both faster than a program. The first fills the remaining room with remote tasks. The second
# moves local tasks along paths of replicas, so that scattered room adds up to room for remote tasks. A placement that
# neither of them finds may still exist.


#: Matchings that are kept complete; for the others only size and cover.
_KEPT = 8


class GrowingMatchings:
    """Maximum matchings of tasks to servers with a replica within limits on the makespan, each grown from a lower one.

    `covers`, `sizes`: by limit: the cover of its matching (bool, shape (nodes,)), and how many tasks it matches.
    `packings`: by limit: the result of `LatencySearch.packed`, int32.
    """

    def __init__(self, problem: Latency) -> None:
        self._problem = problem
        self.covers: dict[int, Bools] = {}
        self.sizes: dict[int, int] = {}
        self.packings: dict[int, npt.NDArray[np.int32] | None] = {}
        self._matchings: dict[int, GrowingMatching] = {}

    @cached_property
    def _empty(self) -> GrowingMatching:
        # Tasks with the fewest replicas come first: matching in this order moves the fewest tasks.
        replicas, servers = self._problem.replicas, len(self._problem.initial_load)
        on = replicas.transposed(servers, replicas.lengths)
        return GrowingMatching.empty(on.starts, on.values, len(replicas), self._problem.w_loc, self._problem.w_rem)

    def at(self, limit: int) -> GrowingMatching:
        """The matching within `limit`.

        OutOfTime if it is not known yet, and a deadline passes.
        """
        if limit not in self._matchings:
            below = max((known for known in self._matchings if known < limit), default=None)
            lower = self._empty if below is None else self._matchings[below]
            found = lower.grown(self._problem.room(limit))
            while len(self._matchings) >= _KEPT:
                del self._matchings[next(iter(self._matchings))]
            self._matchings[limit] = found
            self.covers[limit], self.sizes[limit] = found.cover, found.size
        return self._matchings[limit]

    def size(self, limit: int) -> int:
        """The number of tasks in a maximum matching within `limit`; OutOfTime as for `at`."""
        return self.sizes[limit] if limit in self.sizes else self.at(limit).size

    @property
    def latest(self) -> tuple[int, GrowingMatching] | None:
        """The highest limit whose matching is kept, and the matching; None if there is none."""
        return max(self._matchings.items(), default=None, key=lambda entry: entry[0])


def with_remote(problem: Latency, limit: int, local: Ints) -> Ints | None:
    """`local` (server or -1 of each task) with all others remote, if they fit within `limit`; else None."""
    space = _spare(problem, limit, local) // problem.w_rem
    waiting = np.flatnonzero(local == NONE)
    space = np.minimum(space, len(waiting))
    if int(space.sum()) < len(waiting):
        return None
    # Servers take remote tasks in turns, so that the load is spread rather than piled up.
    turns = bisect_left(range(len(waiting)), len(waiting), key=lambda each: int(np.minimum(space, each).sum()))
    space = np.minimum(space, turns)
    servers = np.repeat(np.arange(len(space)), space)
    nodes = local.copy()
    nodes[waiting] = servers[np.argsort(places_in(space), kind="stable")][: len(waiting)]
    return nodes


def _spare(problem: Latency, limit: int, local: Ints) -> Ints:
    """Room of each server within `limit` after its local tasks."""
    used = np.bincount(local[local != NONE], minlength=len(problem.initial_load))
    return problem.room(limit) - problem.w_loc * used


def shifted(problem: Latency, limit: int, local: Ints) -> Ints:
    """`local` with tasks moved to other servers with their replicas, so that more remote tasks fit.

    Room beyond whole remote tasks is useless. A server that lacks little room for one more gives up local tasks. They
    move one by one, along a shortest path of replicas, to servers where they only take useless room. Servers that lack
    least come first.
    """
    w_loc, w_rem = problem.w_loc, problem.w_rem
    placed = np.flatnonzero(local != NONE)
    counts = np.bincount(local[placed], minlength=len(problem.initial_load))
    placed_on = Ragged.of_lengths(counts, placed[np.argsort(local[placed], kind="stable")])
    # Rows as lists, each made on first use: large instances need few. Those of tasks change on the way.
    tasks_on, replicas = (cache(lambda row, rows=rows: rows[row].tolist()) for rows in (placed_on, problem.replicas))
    nodes, room = local.tolist(), _spare(problem, limit, local)
    lacking = len(local) - len(placed) - int((room // w_rem).sum())
    spare = room.tolist()
    for source in np.argsort(-(room % w_rem), kind="stable").tolist():
        check()
        if lacking <= 0:
            break
        moves = -(-(w_rem - spare[source] % w_rem) // w_loc)
        if moves > len(tasks_on(source)):
            continue
        for _ in range(moves):
            path = _path_to_room(source, tasks_on, replicas, lambda server: spare[server] % w_rem >= w_loc)
            if path is None:
                break
            for task, server in path:
                tasks_on(nodes[task]).remove(task)
                tasks_on(server).append(task)
                nodes[task] = server
            spare[source] += w_loc
            spare[path[0][1]] -= w_loc
        else:
            lacking -= 1
    return np.array(nodes, dtype=np.int64)


def _path_to_room(
    source: int,
    tasks_on: Callable[[int], list[int]],
    replicas: Callable[[int], list[int]],
    has_room: Callable[[int], bool],
) -> list[tuple[int, int]] | None:
    """Moves (task, server), the last one first, that take one task off `source` and add one where there is room."""
    reached: dict[int, tuple[int, int]] = {source: (NONE, NONE)}
    queue = deque([source])
    while queue:
        check()
        server = queue.popleft()
        for task in tasks_on(server):
            for other in replicas(task):
                if other in reached:
                    continue
                reached[other] = (task, server)
                if has_room(other):
                    moves = []
                    while other != source:
                        task, previous = reached[other]
                        moves.append((task, other))
                        other = previous
                    return moves
                queue.append(other)
    return None


# The search -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FixedLimit:
    """The state of the search at one limit on the makespan.

    Attributes
    ----------
    limit
        The limit.
    nodes
        Node of each task in the best placement within it; None if there is none.
    remote, remote_bound
        Remote tasks of that placement, and their proved least number; None if unknown, or the limit is infeasible.
    feasible
        False if it is proved that nothing fits; None if it is open.
    proof
        Kind of proof of `remote_bound`, or of infeasibility.
    cover, prices
        The cover of servers that proves it, if the proof is combinatorial; the prices if a cover does not suffice.
    stopped
        What stopped the search at this limit.
    """

    limit: int
    remote_bound: int | None
    cover: Bools
    nodes: Ints | None = None
    remote: int | None = None
    feasible: bool | None = None
    proof: Proof = Proof.COMBINATORIAL
    prices: LatencyPrices | None = None
    stopped: Limit | None = None

    @property
    def closed(self) -> bool:
        """Whether the least work within the limit is proved, or that nothing fits."""
        return self.feasible is False or (self.remote is not None and self.remote == self.remote_bound)


#: Decides a limit where bound and packing differ: (search, what is known of the limit, profile) to what is known then.
FixedLimitSolver = Callable[["LatencySearch", FixedLimit, Profile], FixedLimit]


class LatencySearch:
    """Answers about one `latency` problem, each computed once.

    `profile`: limits; a time limit holds for the search as a whole. `decide`: settles limits that bound and packing
    leave open, such as `latency_program.compact_program`. `start`: an initial placement; it is a hint to every program
    whose limit it satisfies. `shortcuts`: whether the packing is tried; otherwise every limit that the bound leaves
    open goes to `decide`.
    """

    def __init__(
        self,
        problem: Latency,
        profile: Profile,
        decide: FixedLimitSolver,
        start: Placement | None = None,
        shortcuts: bool = True,
    ) -> None:
        self.problem, self.profile, self.start = problem, profile, start
        self.decide, self.shortcuts = decide, shortcuts
        self.solver: dict[str, Any] = {}
        self.raw_status = "bound and packing meet"
        self._began = time.perf_counter()
        self._matchings = GrowingMatchings(problem)
        self._known: dict[int, FixedLimit] = {}

    # Bounds --------------------------------------------------------------------------------------------------------

    def remote_bound(self, limit: int) -> int:
        """Least number of remote tasks within `limit`, by the matching's cover."""
        return len(self.problem.tasks) - self._matchings.size(limit)

    def flow_bound(self) -> int:
        """l_flow: the least limit that matching and counting do not rule out; never below l** (Agosta et al., note
        3).
        """
        return self.problem.least_limit(
            lambda limit: self.problem.fits(limit, self.remote_bound(limit)), self.problem.counting_bound()
        )

    def _cover(self, limit: int) -> Bools:
        """A cover for `limit` without a search: that of a known matching, else an empty one, as for l**."""
        if limit in self._matchings.covers:
            return self._matchings.covers[limit]
        return np.zeros(len(self.problem.initial_load), dtype=bool)

    # One limit -----------------------------------------------------------------------------------------------------

    def at(self, limit: int) -> FixedLimit:
        """Everything that the search can say about placements within `limit`."""
        if limit not in self._known:
            self._known[limit] = self._examine(limit)
        return self._known[limit]

    def _examine(self, limit: int) -> FixedLimit:
        bound = self.remote_bound(limit)
        known = FixedLimit(limit, bound, self._cover(limit))
        if not self.problem.fits(limit, bound):
            return replace(known, remote_bound=None, feasible=False)
        if self.shortcuts:
            nodes = self.packed(limit)
            if nodes is not None:
                return replace(known, nodes=nodes, remote=bound, feasible=True)
        left = self.profile.since(self._began)
        return replace(known, stopped=Limit.TIME) if left.time_limit == 0 else self.decide(self, known, left)

    def hint(self, limit: int) -> Placement | None:
        """The start, if its makespan is within `limit`."""
        if self.start is None or self.problem.evaluate(self.start)[0] > limit:
            return None
        return self.start

    def packed(self, limit: int) -> Ints | None:
        """A placement within `limit` with as few remote tasks as the bound says, or None if the packing fails."""
        problem, packings = self.problem, self._matchings.packings
        if limit not in packings:
            local = self._matchings.at(limit).node
            nodes = with_remote(problem, limit, local)
            if nodes is None:
                nodes = with_remote(problem, limit, shifted(problem, limit, local))
            packings[limit] = None if nodes is None else nodes.astype(np.int32)
        known = packings[limit]
        return None if known is None else known.astype(np.int64)

    # The optimum, and questions about the frontier -----------------------------------------------------------------

    def first_feasible(self) -> FixedLimit:
        """The least limit that is not proved infeasible."""
        return self._least_beyond(self.flow_bound() - 1, lambda known: known.feasible is False)

    def _least_beyond(self, low: int, ruled_out: Callable[[FixedLimit], bool]) -> FixedLimit:
        """The least limit beyond `low` that is not ruled out; all limits up to `low` are.

        A limit is ruled out only if all limits below it are. Steps double until a limit is not ruled out, and then they
        halve: with large weights the answer may be far away.
        """
        step = 1
        while ruled_out(self.at(low + step)):
            low, step = low + step, 2 * step
        between = range(low + 1, low + step)
        return self.at(low + 1 + bisect_left(between, True, key=lambda limit: not ruled_out(self.at(limit))))

    def fallback(self, limit: int) -> Ints:
        """Some placement with a makespan of at least `limit`: the best known, or the first packing that succeeds."""
        held = [known for known in self._known.values() if known.nodes is not None]
        if held:
            best = min(held, key=lambda known: known.limit).nodes
            assert best is not None
            return best
        with contextlib.suppress(OutOfTime):
            return _first_that_fits(self.packed, limit)
        # One without a search: local tasks as in a known matching, else in turn; the others remote.
        problem = self.problem
        if (latest := self._matchings.latest) is not None:
            limit, local = max(limit, latest[0]), latest[1].node
        else:
            local = np.full(len(problem.tasks), NONE, dtype=np.int64)
            homes = np.flatnonzero(problem.replicas.lengths)
            first = problem.replicas.values[problem.replicas.starts[homes]]
            order = np.argsort(first, kind="stable")
            fits = rank_among(first[order]) < problem.local_capacity(limit)[first[order]]
            local[homes[order[fits]]] = first[order[fits]]
        return _first_that_fits(lambda limit: with_remote(problem, limit, local), limit)

    def work(self, remote: int) -> int:
        """Work with this many remote tasks."""
        problem = self.problem
        return problem.w_loc * (len(problem.tasks) - remote) + problem.w_rem * remote

    def open_limit(self) -> FixedLimit:
        """The least limit that nothing rules out so far, with what is known there; for a search that was stopped."""
        problem = self.problem
        infeasible = [limit for limit, known in self._known.items() if known.feasible is False]
        counted = [limit for limit in self._matchings.covers if not problem.fits(limit, self.remote_bound(limit))]
        limit = max([problem.counting_bound() - 1, *infeasible, *counted]) + 1
        cover = self._cover(limit)
        return self._known.get(limit, FixedLimit(limit, problem.least_remote(limit, cover), cover))

    def makespan_certificate(self, limit: int) -> Certificate:
        """Proof that no placement ends before `limit`: counting or prices that rule out `limit - 1`, else a claim."""
        cover = self._cover(limit - 1)
        if self.problem.fits(limit - 1, self.problem.least_remote(limit - 1, cover)):
            return self._certificate("makespan", limit, self._known[limit - 1])
        return latency_certificate(self.problem, "makespan", limit, limit - 1, cover)

    def work_certificate(self, known: FixedLimit) -> Certificate:
        """Proof of the least work within a limit."""
        assert known.remote_bound is not None
        return self._certificate("work", self.work(known.remote_bound), known)

    def _certificate(self, component: str, claim: int, known: FixedLimit) -> Certificate:
        """The proof of what is known at a limit: its prices, its cover, or a solver's claim."""
        if known.prices is not None:
            return latency_prices(self.problem, component, claim, known.limit, known.prices)
        if known.proof is Proof.COMBINATORIAL:
            return latency_certificate(self.problem, component, claim, known.limit, known.cover)
        return Certificate(component, known.proof, claim)

    def frontier(self) -> tuple[list[FrontierPoint], Limit | None]:
        """Every Pareto-optimal point by increasing makespan, and what stopped the search, if anything did."""
        points: list[FrontierPoint] = []
        try:
            return points, self._frontier(points)
        except STOPPED as error:
            return points, stopped(error)[0]

    def _frontier(self, points: list[FrontierPoint]) -> Limit | None:
        """Add the points in order. Returns what stopped the search, if anything did."""
        problem = self.problem
        if not len(problem.tasks):
            return None
        known = self.first_feasible()
        while known.closed:
            assert known.nodes is not None
            assert known.remote is not None
            placement = problem.placement(known.nodes)
            if points:
                makespan = self._earlier_certificate(points[-1], known.limit)
            else:
                makespan = self.makespan_certificate(known.limit)
            work = self.work_certificate(known)
            points.append(FrontierPoint(problem.evaluate(placement), placement, (makespan, work)))
            if points[-1].objective != (known.limit, self.work(known.remote)):
                raise SolverDisagreement(f"{problem.name}: {points[-1].objective} contradicts an earlier proof")
            hand_over(lambda: points[-1], more=True)
            if self.work(known.remote) == problem.least_work:
                return None
            known = self._next(known.limit, known.remote)
        return known.stopped

    def _next(self, limit: int, remote: int) -> FixedLimit:
        """The least limit beyond `limit` at which fewer than `remote` remote tasks are not ruled out."""
        top = int(self.problem.initial_load.max()) + self.problem.w_loc * len(self.problem.tasks)
        low = self.problem.least_limit(lambda limit: self.remote_bound(limit) < remote, limit + 1, top)
        return self._least_beyond(
            low - 1, lambda known: known.closed and (known.remote is None or known.remote >= remote)
        )

    def _earlier_certificate(self, previous: FrontierPoint, limit: int) -> Certificate:
        """Proof that below `limit` no placement has less work than the previous point: counting, prices, or a claim."""
        least = int(previous.objective[1])
        if self.work(self.remote_bound(limit - 1)) < least:
            return self._certificate("work", least, self.at(limit - 1))
        return latency_certificate(self.problem, "work", least, limit - 1, self._cover(limit - 1))


def _first_that_fits(pack: Callable[[int], Ints | None], limit: int) -> Ints:
    """The result of `pack` for a limit, or for the first one beyond it, in growing steps, at which it succeeds."""
    step = 0
    while (nodes := pack(limit + step)) is None:
        step = 2 * step + 1
    return nodes


def with_claimed_bound(known: FixedLimit, claimed: float | None) -> FixedLimit:
    """`known` with a solver's bound on the number of remote tasks, if this is stronger than the cover's."""
    assert known.remote_bound is not None
    bound = None if claimed is None else whole_bound(claimed)
    if bound is None or bound <= known.remote_bound:
        return known
    return replace(known, remote_bound=bound, proof=Proof.SOLVER, prices=None)


def with_placement(search: LatencySearch, known: FixedLimit, nodes: Ints, stopped: Limit | None) -> FixedLimit:
    """`known` with a placement within the limit (node of each task)."""
    problem = search.problem
    placement = problem.placement(nodes)
    _, remote = problem.counts(placement)
    if problem.violations(placement) or int(problem.objective(placement)[0]) > known.limit:
        raise SolverDisagreement(f"{problem.name}: a solver's placement does not keep the limit {known.limit}")
    # If remote tasks take no longer, their number does not matter, and programs that minimise work leave it open.
    number = known.remote_bound if problem.w_rem == problem.w_loc else int(remote.sum())
    found = replace(known, nodes=nodes, remote=number, feasible=True)
    return found if found.closed else replace(found, stopped=stopped)
