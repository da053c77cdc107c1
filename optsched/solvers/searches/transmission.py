"""`transmission` exactly: branch and bound over the reduces, whose tree is the proof.

The problem (Shen et al. 2016, note 2) decides the nodes of maps j and of reduces f. With x_jp = 1 if map j runs on node
p, and y_fi = 1 if reduce f runs on node i, it is

    min  sum_jp C_jp x_jp  +  sum_fi R_fi y_fi  +  sum_jfpi I_jf h_pi x_jp y_fi

C is a map's own cost, R a reduce's own cost, I the MB that a map sends to a reduce, h the distance. Once all y are
fixed, the last sum is linear in x, and the maps are an assignment problem. So the search branches only over the
reduces.

**States.** The reduces have an order. A state fixes the choices of the first of them: each is on a node, or left out if
the slots do not hold all. Its children are the choices of the next reduce. The root fixes nothing. Of identical
reduces, the later one never gets an earlier node, so that no placement is searched twice.

**Bounds** (`problems.transmission_bounds`). All children of a state are bounded together, by three relaxations:

1. A map slot of node p has a price u_p. Maps pay it instead of obeying the slots, and the earnings of all slots are
   subtracted. Map j on node p now costs c_jp = C_jp + u_p, and I_jf h_pi for each reduce f that is fixed on a node i.
2. The cost c_jp is split among the open reduces, in proportion to what map j sends to each. Every open reduce f has its
   own copy of the maps, and places it where it suits it best. On node i that costs R_fi + sum_j min_p (share_jfp + I_jf
   h_pi). This is Lagrangian decomposition of RLT-1 (Shen et al. 2016, note 3) with multipliers that need no search.
3. Two open reduces may take the same place, unless one of them is the next in the order.

The bound of a child is the cost of the next reduce on that node, plus the least cost of each other open reduce. If that
is fast enough, two reduces share a copy of the maps, and every pair of their nodes is tried (`_PAIRED` says when).

**Prices.** The prices of map slots are found anew in every state, in rounds (`TransmissionSearch._bounded`). A round
completes the most promising child: its other reduces go where each by itself costs least, and the maps are assigned.
The result is a placement, which may be the best so far. It also gives new prices: the assignment's duals where no other
reduce was open, else a subgradient step. Each child keeps the best bound of all rounds. The prices of the best round
are what its own rounds begin with.

**Branching.** The next state is the one with the least bound (best first), except in two cases that go deep first: if
one reduce is left, since its children are settled at once, and if too many states wait. The order of the reduces begins
with those that would have no partner in a pair, then follows the amounts that reduces fetch, the largest first.

**Pruning.** A child is dropped if its bound is no less than the best placement's cost. The first placements are found
before the tree: the start, and the maps as if nothing were shuffled with the reduces that suit them best.

**Proof.** `Branching` keeps the order, and for each state its prices. From that alone `ReduceBounds.proved` computes
all bounds again in integers, for every child of every state, so that nothing can be left out.
`certificates.transmission` checks it that way.

**Tuned constants** here and in `problems.transmission_bounds` decide how long a search takes and how near it comes to a
proof within a limit. Its proofs are valid with any values. The comment at each constant says what it trades. Counts are
by `python benchmarks/transmission_constants.py NAME`, over 24 instances of up to 300 states each, or with `--large`
over 12 instances of 10 states each, with first placements that moves had improved. "States" are all expanded states;
"the gap" is the sum over the instances of best value less bound, in units of cost.
"""

from __future__ import annotations

import heapq
import itertools
import time
from typing import NamedTuple

import numpy as np

from optsched.core.deadline import unhurried
from optsched.core.errors import InputError, UsageError
from optsched.core.instance import Ints
from optsched.core.placement import NONE, Placement
from optsched.core.results import Limit
from optsched.problems.transmission import Transmission
from optsched.problems.transmission_bounds import (
    IMPOSSIBLE,
    MOST_PRODUCTS,
    OPEN,
    Branching,
    ReduceBounds,
)
from optsched.problems.transmission_maps import TransmissionMaps
from optsched.solvers.answers import STOPPED, stopped
from optsched.solvers.profiles import Profile
from optsched.solvers.searches.assignment import optimal_placement
from optsched.solvers.searches.transmission_stages import cheapest_reduces, cheapest_rows, slot_prices, stepped_prices

# Start placements ---------------------------------------------------------------------------------------------------


class Incumbent:
    """The best placement so far, by the tables of `bounds`."""

    def __init__(self, bounds: ReduceBounds) -> None:
        self.bounds = bounds
        #: Cost in units, choices of the reduces, rows of the maps: one assignment, since an interrupt may come between.
        self._best: tuple[int, Ints, Ints] | None = None

    @property
    def value(self) -> int:
        """The cost of the best placement, in units; `IMPOSSIBLE` if there is none yet."""
        return IMPOSSIBLE if self._best is None else self._best[0]

    @property
    def nodes(self) -> Ints | None:
        """Node of each of the problem's tasks in the best placement; None if there is none yet."""
        if self._best is None:
            return None
        problem, bounds, (_, fixed, rows) = self.bounds.problem, self.bounds, self._best
        nodes: Ints = np.full(len(problem.tasks), NONE, dtype=np.int64)
        nodes[problem.maps] = np.append(bounds.hosts, NONE)[rows]
        nodes[problem.reduces] = np.where(fixed == bounds.nowhere, NONE, fixed)
        return nodes

    def keep(self, fixed: Ints, rows: Ints, costs: Ints) -> None:
        """Keep a placement if it is the best so far.

        `fixed`: the choice of each reduce, as in `ReduceBounds`. `rows`: the row of each map. `costs`:
        `map_costs(fixed)` of the bounds.
        """
        problem = self.bounds.problem
        units = int(costs[rows, np.arange(len(rows))].sum()) // self.bounds.scale
        placed = np.flatnonzero(fixed != self.bounds.nowhere)
        value = units + int(problem.reduce_units[placed, fixed[placed]].sum())
        if self._best is None or value < self.value:
            self._best = value, fixed.copy(), rows

    def complete(self, fixed: Ints, costs: Ints) -> Ints:
        """The cheapest rows of the maps with all reduces placed, kept as by `keep`."""
        rows = cheapest_rows(costs, self.bounds.room)
        self.keep(fixed, rows, costs)
        return rows

    def begin(self, start: Placement) -> Ints:
        """Keep an initial placement as by `keep`; returns the choices of its reduces."""
        problem, bounds = self.bounds.problem, self.bounds
        nodes = problem.nodes_of(start)
        fixed: Ints = np.where(nodes[problem.reduces] == NONE, bounds.nowhere, nodes[problem.reduces])
        self.keep(fixed, self._rows_on(nodes[problem.maps]), bounds.map_costs(fixed))
        return fixed

    def in_turn(self, profile: Profile) -> Ints | None:
        """Keep maps as if nothing were shuffled, with the reduces that suit them best; returns these choices.

        None if the time is over, or if costs are near 2^53: sums of maps alone are less precise, and may be refused.
        """
        try:
            maps = TransmissionMaps(self.bounds.problem.instance)
            rows = self._rows_on(maps.nodes_of(optimal_placement(maps)))
        except (InputError, UsageError):
            return None
        fixed = cheapest_reduces(self.bounds, self.bounds.given_maps(rows), profile)
        if fixed is not None:
            with unhurried():
                self.keep(fixed, rows, self.bounds.map_costs(fixed))
        return fixed

    def _rows_on(self, nodes: Ints) -> Ints:
        """Rows of maps on these nodes (or on none)."""
        row = np.full(self.bounds.nowhere + 1, len(self.bounds.hosts))
        row[self.bounds.hosts] = np.arange(len(self.bounds.hosts))
        return row[nodes]


# The search ---------------------------------------------------------------------------------------------------------


#: A tree of more states is not kept as a proof: its size is weighed against having one. With 24 maps on single slots a
#: state took 2 kB of a solution file and 2 ms to check, so this many take 40 MB and 40 s.
MOST_STATES = 20_000

#: States that wait beyond this number are expanded depth first: memory against the bound at a limit, which best first
#: raises sooner. A waiting state took 400 bytes, so that this many take 40 MB. With 0, 100 and 100,000 here there
#: are 1,615, 1,596 and 1,596 states, and the gap is 587, 403 and 383.
_MOST_WAITING = 100_000

#: No search begins if a dense assignment of maps to slots has more cells than this: 128 MB. One of 2^23 cells took half
#: a second, and a search solves one in each round of prices.
_MOST_CELLS = 2**24

#: Rounds of prices in the root: each costs a bound of all its children, and its prices are where all states begin. With
#: 0, 10, 40 and 80 there are 1,708, 1,582, 1,596 and 1,597 states, and the gap is 599, 379, 383 and 390.
_FIRST_ROUNDS = 40

#: Rounds of prices in another state, by the number of open reduces after the next one: more of them make fewer states
#: of more bounds each. With half as many, these and twice as many: 1,632, 1,596 and 1,570 states; 6,394, 7,257 and
#: 9,102 bounds; the gap is 507, 383 and 349.
_ROUNDS = {1: 6, 2: 8}

#: The same with more reduces open. With 0, 6, 12 and 24 there are 1,675, 1,595, 1,596 and 1,595 states.
_MANY_ROUNDS = 12

#: A step that does not raise the least bound of the children makes the next steps shorter by this factor: fine steps
#: near the best prices against long ones on the way. With 0.3, 0.5, 0.7, 0.85 and 1 there are 1,755, 1,648, 1,596,
#: 1,541 and 1,501 states, and the gap is 572, 502, 383, 306 and 315.
_SHORTER = 0.7


class Searched(NamedTuple):
    """The result of a search.

    `nodes`: node of each of `problem.tasks` in the best placement found, or None. `bound`: the proved bound, in units.
    `tree`: its proof, or None if it has more than `MOST_STATES` states. `states`: how many were expanded, their
    children bounded. `limit`: what stopped the search.
    """

    nodes: Ints | None
    bound: int
    tree: Branching | None
    states: int
    limit: Limit | None


class _Waiting(NamedTuple):
    """A state to expand: the one with the least bound first; of equal ones the one that waits longest.

    `state`: choices of the first reduces in the order. `prices`: of map slots, with which its rounds begin.
    """

    bound: int
    number: int
    state: tuple[int, ...]
    prices: Ints


class TransmissionSearch:
    """The branch and bound for one problem, from a placement `start` if any; the module says how it works.

    The node limit of the profile counts expanded states.
    """

    def __init__(self, problem: Transmission, profile: Profile, start: Placement | None = None) -> None:
        self.problem, self.profile, self.start = problem, profile, start
        self._began = time.perf_counter()
        self.bounds = ReduceBounds(problem)
        self.order: Ints = self._order()
        self.best = Incumbent(self.bounds)
        self._states: dict[tuple[int, ...], list[Ints]] = {}
        self._count = 0
        self._heap: list[_Waiting] = []
        self._stack: list[_Waiting] = []
        #: Bound of the state that is being expanded: an interrupt may come before all of its children wait.
        self._at = IMPOSSIBLE
        #: Least bound of the states without open reduces.
        self._settled = IMPOSSIBLE
        self._tick = itertools.count()

    def run(self) -> Searched:
        """Search until the optimum is proved or a limit is reached."""
        try:
            limit = self._run()
        except STOPPED as error:
            limit = stopped(error)[0]
        unproved = [self._at, self._settled, *(entry.bound for entry in (*self._heap, *self._stack))]
        if not self._count:
            unproved.append(self.bounds.cheap)
        bound = min(*unproved, self.best.value)
        tree = Branching(self.order, self._states) if self._count <= MOST_STATES else None
        return Searched(self.best.nodes, bound, tree, self._count, limit)

    def _run(self) -> Limit | None:
        problem, bounds, best = self.problem, self.bounds, self.best
        fits = len(problem.maps) * int(bounds.room.sum()) <= _MOST_CELLS
        first = [self.best.begin(self.start) if self.start is not None else None, self.best.in_turn(self.profile)]
        for fixed in first if fits else ():
            if fixed is not None and best.value > bounds.cheap:
                best.complete(fixed, bounds.map_costs(fixed))
        if bounds.products > MOST_PRODUCTS or not fits:
            return Limit.MEMORY
        if best.value <= bounds.cheap:
            return None
        self._push(bounds.cheap, (), bounds.free)
        while self._stack or self._heap:
            if (limit := self._stopped()) is not None:
                return limit
            self._at = (self._stack[-1] if self._stack else self._heap[0]).bound
            entry = self._stack.pop() if self._stack else heapq.heappop(self._heap)
            if self._at < best.value:
                self._expand(entry)
            self._at = IMPOSSIBLE
        return None

    def _stopped(self) -> Limit | None:
        """The limit that is reached, if any."""
        profile, value = self.profile, self.best.value
        if profile.node_limit is not None and self._count >= profile.node_limit:
            return Limit.NODES
        if self._late():
            return Limit.TIME
        if value < IMPOSSIBLE and not self._stack and (profile.relative_gap or profile.absolute_gap):
            gap = value - (self._heap[0].bound if self._heap else self.bounds.cheap)
            if gap <= max(profile.absolute_gap * self.problem.grid, profile.relative_gap * abs(value)):
                return Limit.GAP
        return None

    def _late(self) -> bool:
        return self.profile.since(self._began).time_limit == 0

    def _push(self, bound: int, state: tuple[int, ...], prices: Ints) -> None:
        """Let a state wait: on the stack if it is expanded next, else on the heap by its bound."""
        entry = _Waiting(bound, next(self._tick), state, prices)
        if len(state) >= len(self.order) - 1 or len(self._heap) > _MOST_WAITING:
            self._stack.append(entry)
        else:
            heapq.heappush(self._heap, entry)

    def _order(self) -> Ints:
        """First the reduces that would have no partner in pairs, then those that fetch most."""
        most = np.argsort(-self.bounds.sent.sum(axis=1), kind="stable")
        if not self.bounds.paired:
            return most
        alone = [group[0] for group in self.bounds.groups(most[::-1].tolist()) if len(group) == 1]
        return np.array([*alone, *(reduce for reduce in most.tolist() if reduce not in alone)], dtype=np.int64)

    # A state ----------------------------------------------------------------------------------------------------------

    def _expand(self, entry: _Waiting) -> None:
        """Bound the children of a state, and let those wait that may contain a better placement.

        The most promising child is pushed last, since the stack returns the last one first.
        """
        bounds, order, state = self.bounds, self.order, entry.state
        fixed = bounds.fixed(order, state)
        if len(state) == len(order):  # there is no reduce at all, or prices are larger than bounds read them
            costs = bounds.map_costs(fixed)
            last = slot_prices(costs, bounds.room, self.best.complete(fixed, costs))
            self._note(state, [last])
            self._settled = min(self._settled, max(entry.bound, bounds.complete(fixed, last)))
            return
        found, prices, best = self._bounded(fixed, int(order[len(state)]), entry.prices)
        self._note(state, prices)
        found = np.maximum(found, entry.bound)
        choices = np.flatnonzero(found < self.best.value)
        for choice in choices[np.argsort(-found[choices], kind="stable")].tolist():
            self._push(int(found[choice]), (*state, choice), best)

    def _note(self, state: tuple[int, ...], prices: list[Ints]) -> None:
        """Count a state, and keep its prices for the proof as long as there are not too many states."""
        self._count += 1
        if self._count <= MOST_STATES:
            self._states[state] = prices

    def _bounded(self, fixed: Ints, reduce: int, prices: Ints) -> tuple[Ints, list[Ints], Ints]:
        """Bounds of the choices of the next reduce, the prices that give them, and those of the best round.

        A round completes the choice with the least bound. If no other reduce is open, prices that prove the cost of
        this completion settle the choice. Otherwise the prices take a subgradient step; it does not aim at one choice,
        so that the prices become good for many choices at once.
        """
        bounds, used = self.bounds, [prices] if prices.any() else []
        found = last = bounds.children(fixed, reduce, prices, None, self.best.value)
        others = int(np.count_nonzero(fixed == OPEN)) - 1
        best, highest, step = prices, last.min(), 1.0
        rounds = _FIRST_ROUNDS if others == len(self.order) - 1 else _ROUNDS.get(others, _MANY_ROUNDS)
        for _ in range(rounds if others else bounds.nowhere + 1):  # if no other is open, a round settles one choice
            choice = int(found.argmin())
            likely = self._completed(fixed, reduce, choice, prices) if found[choice] < self.best.value else None
            if likely is None or self._late():
                break
            costs = bounds.map_costs(likely)
            rows = self.best.complete(likely, costs)
            if others:
                missing = (self.best.value - int(last[choice])) * bounds.scale
                new = stepped_prices(costs, bounds.room, prices, max(0.0, step * missing))
            else:
                new = slot_prices(costs, bounds.room, rows)
            if np.array_equal(new, prices):
                break
            better = bounds.children(fixed, reduce, new, None, self.best.value)
            if (better > found).any():
                used.append(new)
            elif not others:
                break
            if better.min() > highest:
                best, highest = new, better.min()
            else:
                step *= _SHORTER
            found, last, prices = np.maximum(found, better), better, new
        return found, used, best

    def _completed(self, fixed: Ints, reduce: int, choice: int, prices: Ints) -> Ints | None:
        """All reduces placed: this one by this choice, the others one by one where each by itself costs least.

        None if one of them has no place left.
        """
        likely = fixed.copy()
        likely[reduce] = choice
        others = [other for other in self.order.tolist() if likely[other] == OPEN]
        if others:
            alone, _ = self.bounds.apart(likely, others, prices)
            for other, row in zip(others, alone, strict=True):
                allowed = np.flatnonzero(self.bounds.allowed(likely, other))
                if not len(allowed):
                    return None
                likely[other] = allowed[row[allowed].argmin()]
        return likely
