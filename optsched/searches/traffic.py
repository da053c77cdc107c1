"""`traffic` exactly: least traffic within one limit on the load after another, by prices of slots, or else a MIP.

Once the slots of each datacenter have prices, the jobs are independent, and the best datacenter of each is a closed
form (`Traffic.price_bound`). It is a bound that anybody can check. The prices are duals of the linear relaxation of a
program over classes of maps. Where the relaxation has the reduces whole and its placement meets the bound, nothing else
is needed. Else branch and bound finds the optimum, from a placement near the relaxation. A search over the datacenters
of single jobs then looks for prices that prove it case by case. Only where that takes too many cases is the proof the
solver's word.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from optsched.certificates.traffic import (
    MOST_NESTED,
    Cases,
    SlotPrices,
    load_certificate,
    nowhere_barred,
    traffic_certificate,
)
from optsched.core.deadline import remaining
from optsched.core.errors import SolverDisagreement
from optsched.core.instance import LARGEST, Bools, Floats, Ints
from optsched.core.placement import Placement
from optsched.core.results import Certificate, FrontierPoint, Limit, Proof, Termination
from optsched.problems.base import exact
from optsched.problems.traffic import PricedBundles, Traffic
from optsched.processes.handing import hand_over
from optsched.searches.traffic_load import BestPlaces, LoadProgram
from optsched.solvers.answers import check_claim, rounded_prices, whole_bound
from optsched.solvers.highs import ArraySolution, LinearProgram, WarmProgram, solve_arrays, solve_uninterrupted
from optsched.solvers.outcome import SolverOutcome
from optsched.solvers.profiles import Profile

__all__ = ["TrafficProgram", "TrafficSearch", "WithinLimit", "best_apart", "scaled"]

#: The search for a proof by cases solves at most so many relaxations, and so many columns in all.
_MOST_CASES = 4000
_MOST_COLUMNS = 10_000_000

#: Bundles are first tried where prices prove at most one part in so many more; then this is so many times more again.
_NEAR, _WIDER = 1000, 3

#: How far from a whole number a solver's value may be.
_WHOLE = 1e-5


@dataclass(frozen=True)
class WithinLimit:
    """What is known within one limit on the load.

    Attributes
    ----------
    limit
        The limit; None: no limit.
    placement, units
        The best placement held within it and its units of traffic; None where none is held.
    bound
        Every placement within it causes at least so many units.
    prices
        The best prices known, which prove `proved` units of that.
    proved
        The units that the prices prove.
    feasible
        False where a solver says that no placement is feasible.
    """

    limit: int | None
    placement: Placement | None
    units: int | None
    bound: int
    prices: SlotPrices
    proved: int
    feasible: bool = True

    @property
    def closed(self) -> bool:
        """Whether the least traffic within the limit is known."""
        return self.units == self.bound


#: Decides what prices leave open, from (search, limit, profile, start) to the solver's outcome and what it holds.
Decider = Callable[["TrafficSearch", int | None, Profile, Placement | None], tuple[SolverOutcome, Placement | None]]


class TrafficSearch:
    """Answers about one `traffic` problem, each computed once.

    Parameters
    ----------
    problem
        What to solve; it must not be plainly infeasible.
    profile
        Limits; a time limit holds for the search as a whole.
    start
        A feasible placement to begin from.
    decide
        What settles what prices leave open; by default the program with HiGHS and arrays. Its figures are in MB.
    shortcuts
        Whether closed form and relaxation may give the placement; without them everything goes to `decide`.

    Attributes
    ----------
    solver, raw_status, stopped
        Of the last engine that decided: names and options, its own words, and what cut it short.
    """

    def __init__(
        self,
        problem: Traffic,
        profile: Profile,
        start: Placement | None = None,
        decide: Decider | None = None,
        shortcuts: bool = True,
    ) -> None:
        self.problem, self.profile, self.start = problem, profile, start
        self.decide = decide if decide is not None else by_arrays
        self.shortcuts = shortcuts
        self.solver: dict[str, Any] = {}
        self.raw_status = "prices close it"
        self.stopped: Limit | None = None
        self._began = time.perf_counter()
        self._programs: dict[int | None, WithinLimit] = {}
        self._known: dict[int | None, WithinLimit] = {}

    def units(self, placement: Placement) -> int:
        """Units of traffic of a feasible placement."""
        return int(self.problem.objective(placement)[0] * self.problem.grid)

    def load(self, placement: Placement) -> int:
        """Load of a feasible placement."""
        return int(self.problem.objective(placement)[1])

    def priced(self, limit: int | None) -> WithinLimit:
        """What closed form and prices say within a limit, with the relaxation's placement where that is whole."""
        if limit not in self._programs:
            self._programs[limit] = self._priced(limit)
        return self._programs[limit]

    def _priced(self, limit: int | None) -> WithinLimit:
        problem = self.problem
        prices = SlotPrices.none(problem)
        proved = problem.price_bound(*prices, limit)
        known = WithinLimit(limit, None, None, proved, prices, proved)
        if self.shortcuts:
            known = self._holding(known, self._apart)
        if known.closed:
            return known
        program = TrafficProgram(problem, limit)
        found = solve_uninterrupted(program.relaxed, self.left())
        for prices in [] if found.row_duals is None else program.prices(found.row_duals):
            proved = problem.price_bound(*prices, limit)
            if proved > known.proved:
                known = replace(known, bound=proved, prices=prices, proved=proved)
        if self.shortcuts and found.x is not None:
            near = found.x if program.whole(found.x) else self._near(program, found.x)
            if near is not None and program.whole(near):
                known = self._holding(known, program.placement(near))
        return known

    @cached_property
    def _apart(self) -> Placement | None:
        """Each job where it is best by itself, whatever the limit."""
        return best_apart(self.problem)

    def _near(self, program: TrafficProgram, x: Floats) -> Floats | None:
        """A solution with the bundles about where a fractional one has them, to begin from; None if none was found."""
        hosted = program.with_room(x)
        return None if hosted is None else solve_uninterrupted(program.with_bundles_at(hosted), self.left()).x

    def at(self, limit: int | None) -> WithinLimit:
        """The least traffic within a limit, computed once. KeyboardInterrupt where Ctrl-C came."""
        if limit not in self._known:
            self._known[limit] = self._examine(self.priced(limit))
            if self.stopped is Limit.INTERRUPTED:
                raise KeyboardInterrupt
        return self._known[limit]

    @property
    def held(self) -> Placement | None:
        """The best placement that is held without a limit."""
        known = self._known.get(None)
        return None if known is None else known.placement

    def _examine(self, known: WithinLimit) -> WithinLimit:
        for held in (self.start, *(other.placement for other in self._known.values())):
            known = self._holding(known, held)
        if known.closed and self.shortcuts:
            return known
        outcome, placement = self.decide(self, known.limit, self.left(), known.placement)
        self.solver, self.raw_status, self.stopped = dict(outcome.solver), outcome.raw_status, outcome.limit
        if outcome.status is Termination.INFEASIBLE:
            if known.placement is not None:
                raise SolverDisagreement(f"{self.problem.name}: a solver says that nothing is feasible; it is")
            return replace(known, feasible=False)
        if placement is not None:
            if wrong := self.problem.violations(placement):
                raise SolverDisagreement(f"{self.problem.name}: a solver holds a placement that violates {wrong[0]}")
            if outcome.status is Termination.OPTIMAL:
                check_claim(self.problem.name, outcome.objective, self.problem.objective(placement)[0])
        known = self._holding(known, placement)
        if outcome.bound is not None:
            word = whole_bound(outcome.bound * self.problem.grid, self.problem.step)
            if outcome.status is Termination.OPTIMAL and known.units is not None:
                word = known.units
            known = replace(known, bound=max(known.bound, word))
        return known

    def _holding(self, known: WithinLimit, placement: Placement | None) -> WithinLimit:
        """`known` with a placement, if that is feasible, within the limit, and better than what is held."""
        if placement is None or self.problem.violations(placement):
            return known
        units, load = self.units(placement), self.load(placement)
        if (known.limit is not None and load > known.limit) or (known.units is not None and known.units <= units):
            return known
        return replace(known, placement=placement, units=units)

    def left(self) -> Profile:
        """The profile with the time that is left."""
        return self.profile.since(self._began)

    def _late(self) -> bool:
        """Whether the time is out, which is then what stopped the search."""
        late = self.left().time_limit == 0 or remaining() == 0
        self.stopped = Limit.TIME if late else self.stopped
        return late

    def least_load(self, known: WithinLimit) -> tuple[WithinLimit, int]:
        """A placement of least load at the traffic of `known`, which is closed, and the proved least load there.

        The two loads differ where the search was cut short. Prices rule out limits by bisection. The limits that are
        left are decided from below.
        """
        assert known.units is not None
        assert known.placement is not None
        traffic, low, high = known.units, self.problem.least_load, self.load(known.placement)
        if self.shortcuts and low < high and known.proved == traffic:
            best = self._least_by_places(known)
            if best is not None:
                return best
        if low < high and self.priced(high - 1).proved > traffic:
            return known, high
        while low < high:
            if self._late():
                return known, low
            middle = (low + high) // 2
            if self.priced(middle).proved > traffic:
                low = middle + 1
            else:
                high = middle
        while low < self.load(known.placement):
            if self._late():
                return known, low
            within = self.at(low)
            if within.units == traffic:
                return within, low
            if within.bound <= traffic:
                break
            low += 1
        return known, low

    def _least_by_places(self, known: WithinLimit) -> tuple[WithinLimit, int] | None:
        """As `least_load`, where prices say which places are the best ones; None where that does not settle it."""
        places = BestPlaces.of(self.problem, known.prices, known.limit)
        if places is None or self._late():
            return None
        program = LoadProgram(places)
        found = solve_uninterrupted(program.relaxed, self.left())
        if found.x is None or found.row_duals is None:
            return None
        assert known.units is not None
        assert known.placement is not None
        load = max(self.problem.least_load, math.ceil(found.x[-1] - _WHOLE))
        if load > self.problem.least_load:
            bounds = (
                (self.problem.price_bound(*prices, load - 1), prices) for prices in program.prices(found.row_duals)
            )
            proved, prices = max(bounds, key=lambda entry: entry[0], default=(0, known.prices))
            if proved <= known.units:
                return None
            self._programs[load - 1] = WithinLimit(load - 1, None, None, proved, prices, proved)
        if self.load(known.placement) == load:
            return known, load
        within = program.within(load)
        x = solve_uninterrupted(within, self.left()).x
        x = None if x is None else solve_uninterrupted(program.with_choices(within, x), self.left()).x
        placement = None if x is None else program.placement(x)
        best = WithinLimit(load, None, None, known.units, known.prices, 0)
        best = self._holding(best, placement)
        return (best, load) if best.units == known.units else None

    # Certificates and frontier -------------------------------------------------------------------------------------

    def traffic_certificate(self, known: WithinLimit, cases: bool = True) -> Certificate:
        """Proof of the traffic without a limit: its prices, by cases where asked for, or the solver's word if more."""
        proof: Cases | None = Cases(known.prices)
        if known.bound > known.proved:
            proof = self.proof(None, known.bound) if known.closed and cases else None
        if proof is None:
            return Certificate("traffic", Proof.SOLVER, exact(known.bound, self.problem.grid))
        return traffic_certificate(self.problem, proof, known.bound)

    def load_certificate(self, load: int, traffic: int, cases: bool = True) -> Certificate:
        """Proof that no placement with at most `traffic` units has less than `load`: counting, prices, or a word."""
        if load <= self.problem.least_load:
            return load_certificate(self.problem, load - 1, Cases(SlotPrices.none(self.problem)))
        known = self.priced(load - 1)
        proof = self.proof(load - 1, traffic + 1) if cases or known.proved > traffic else None
        if proof is None:
            return Certificate("load", Proof.SOLVER, load)
        return load_certificate(self.problem, load - 1, proof)

    def proof(self, limit: int | None, target: int) -> Cases | None:
        """Prices, by cases where need be, which prove that placements within a limit cause `target` units or more.

        Branch and bound on the datacenter of the bundle that the relaxation splits most. A case that the prices of the
        case above it settle is not looked into. None where that would take too many relaxations.
        """
        known = self.priced(limit)
        if known.proved >= target:
            return Cases(known.prices)
        program = TrafficProgram(self.problem, limit)
        left = min(_MOST_CASES, _MOST_COLUMNS // len(program.relaxed.objective))

        relaxed, overfull = WarmProgram(program.relaxed), WarmProgram(program.overfull)

        def cases(hosts: dict[int, int], barred: Bools) -> Cases | None:
            nonlocal left
            left -= 1
            if left < 0 or len(hosts) > MOST_NESTED:
                return None
            found = relaxed.solve(*program.with_hosts(hosts, barred), self.left())
            infeasible = found.outcome.status is Termination.INFEASIBLE
            if infeasible:
                found = overfull.solve(*program.with_hosts(hosts, barred, 2 * program.centers), self.left())
            if found.x is None or found.row_duals is None:
                return None
            times = self._enough(target) if infeasible else (1,)
            bounds = [
                (self.problem.priced(*prices, limit).narrowed(hosts, barred, target), prices)
                for prices in program.prices(found.row_duals, times)
            ]
            narrowed, prices = max(bounds, key=lambda entry: entry[0].bound, default=(None, known.prices))
            if narrowed is None:
                return None
            if narrowed.bound >= target:
                return Cases(prices)
            bundle = None if infeasible else program.most_parted(found.x)
            if bundle is None and not infeasible:
                bundle = self._most_torn(self.problem.priced(*prices, limit), hosts, narrowed.barred)
            if bundle is None:
                return None
            inside: dict[int, Cases] = {}
            for center in np.flatnonzero(~narrowed.barred[bundle]).tolist():
                case = cases({**hosts, bundle: center}, narrowed.barred)
                if case is None:
                    return None
                inside[center] = case
            return Cases(prices, bundle, inside)

        return cases({}, nowhere_barred(self.problem))

    def _most_torn(self, priced: PricedBundles, hosts: Mapping[int, int], barred: Bools) -> int | None:
        """A bundle not in `hosts`, of the job whose maps these prices part most, each bundle where it pays least."""
        likes = np.where(barred, priced.paid.max(initial=0) + 1, priced.paid).argmin(axis=1)
        beyond = priced.joined({**dict(enumerate(likes.tolist())), **hosts})
        torn = sorted(priced.shared, key=lambda shared: -beyond[shared.first])
        bundles = (shared.first + at for shared in torn for at in range(len(shared.send)))
        return next((bundle for bundle in bundles if bundle not in hosts), None)

    def _enough(self, target: int) -> Iterator[int]:
        """How many times a price in steps is tried that proves a case to be infeasible: until it proves the target."""
        times = max(1, target // self.problem.step)
        while times < LARGEST // 2**22:
            yield times
            times *= 16

    def frontier(self) -> tuple[list[FrontierPoint], Limit | None]:
        """Every Pareto-optimal point by increasing traffic, and what cut the search short, if anything did."""
        points: list[FrontierPoint] = []
        known = self.at(None)
        while known.closed:
            assert known.units is not None
            best, load = self.least_load(known)
            assert best.placement is not None
            if self.load(best.placement) != load:
                return points, self.stopped
            value = self.problem.evaluate(best.placement)
            # Less traffic than this point's, if there is any, has the load of the point before.
            first = points[-1].certificates[1] if points else self.traffic_certificate(known)
            if points:
                first = self.load_certificate(int(points[-1].objective[1]), known.units - 1)
            points.append(FrontierPoint(value, best.placement, (first, self.load_certificate(load, known.units))))
            hand_over(lambda: points[-1], more=True)
            if load <= self.problem.least_load:
                return points, None
            known = self.at(load - 1)
        return points, self.stopped


def best_apart(problem: Traffic) -> Placement | None:
    """Each job where it causes least traffic, as if slots were free; None where there are not enough slots there.

    Of equally good datacenters a bundle takes the first. Maps stay with their reduces where that costs nothing.
    """
    at_map = np.argmin(problem.map_units, axis=1)
    at_reduce = np.zeros(len(problem.reduces), dtype=np.int64)
    for job in problem.jobs:
        own = problem.map_units[job.maps]
        for bundle in job.bundles:
            elsewhere = own.min(axis=1) + bundle.send * len(job.bundles)
            with_maps = np.minimum(own, elsewhere[:, None]).sum(axis=0)
            host = int(np.argmin(with_maps + bundle.settled * len(job.bundles)))
            at_reduce[bundle.reduces] = host
            at_map[job.maps[own[:, host] <= elsewhere]] = host
    rooms = ((at_map, problem.map_room), (at_reduce, problem.reduce_room))
    if any((np.bincount(at, minlength=len(room)) > room).any() for at, room in rooms):
        return None
    return problem.placed_in(at_map, at_reduce)


class TrafficProgram:
    """The program of the least traffic within a limit on the load, over classes of maps.

    Columns: `u[b,w]` bundle b of reduces in datacenter w (binary); `x[c,d]` maps of class c in datacenter d; and for
    each pair p of a class and a bundle that it sends to, `z[p,w]`: maps of the class in w where the bundle is. Rows:
    room for maps and for reduces in each datacenter, each class and each bundle placed, z <= x, z <= size u. Objective:
    the traffic if nothing were together, less what is together. The program is as strong as with the products of all x
    and u, since each class is independent once u is given. Figures are in units of the problem's `step`.
    """

    def __init__(self, problem: Traffic, limit: int | None) -> None:
        self.problem = problem
        self.centers = count = len(problem.datacenters)
        self.classes = problem.map_classes()
        self.size = size = self.classes.size
        self.bundles = problem.bundles
        pair_class, pair_bundle, send = self._pairs()
        classes, bundles, pairs = len(size), len(self.bundles), len(send)
        center = np.arange(count)
        x_at, z_at = bundles * count, (bundles + classes) * count
        columns = z_at + pairs * count
        total = np.bincount(pair_class, weights=send, minlength=classes)
        alone = problem.map_units[self.classes.first] + total[:, None]
        settled = np.concatenate([bundle.settled for bundle in self.bundles]) if bundles else np.zeros(0)
        objective = np.concatenate([settled, alone.ravel(), -np.repeat(send, count)]) / problem.step
        self.rows = _Rows()
        weight = np.repeat([float(len(bundle.reduces)) for bundle in self.bundles], count)
        none = np.full(count, -np.inf)
        self.rows.add(
            np.tile(center, classes), x_at + np.arange(classes * count), 1.0, none, problem.room_within(limit)
        )
        self.rows.add(np.tile(center, bundles), np.arange(bundles * count), weight, none, problem.reduce_room)
        self.rows.add(np.repeat(np.arange(classes), count), x_at + np.arange(classes * count), 1.0, size, size)
        one = np.ones(bundles)
        self.rows.add(np.repeat(np.arange(bundles), count), np.arange(bundles * count), 1.0, one, one)
        row, upper = np.arange(pairs * count), np.zeros(pairs * count)
        z, x = z_at + row, x_at + np.repeat(pair_class, count) * count + np.tile(center, pairs)
        u, sizes = np.repeat(pair_bundle, count) * count + np.tile(center, pairs), np.repeat(size[pair_class], count)
        both = np.concatenate([row, row])
        for other, times in ((x, np.ones(len(row))), (u, sizes)):
            values = np.concatenate([np.ones(len(row)), -times])
            self.rows.add(both, np.concatenate([z, other]), values, np.full(len(row), -np.inf), upper)
        integer = np.zeros(columns, dtype=bool)
        integer[:x_at] = True
        self._x_at, self._z_at, self._pair = x_at, z_at, (pair_class, pair_bundle)
        most = np.concatenate([np.ones(x_at), np.repeat(size, count), sizes]).astype(np.float64)
        self.integral = self.rows.program(objective, most, integer)
        self.relaxed = replace(self.integral, integer=np.zeros(columns, dtype=bool))

    def _pairs(self) -> tuple[Ints, Ints, Ints]:
        """Each class and bundle of which one sends to the other, and how much a map sends."""
        class_of_map = self.classes.of_task
        first = np.zeros(len(class_of_map), dtype=bool)
        first[self.classes.first] = True
        found: list[tuple[Ints, Ints, Ints]] = []
        bundle_at = 0
        for job in self.problem.jobs:
            chosen = np.flatnonzero(first[job.maps])
            for bundle in job.bundles:
                sending = chosen[bundle.send[chosen] > 0]
                own = np.full(len(sending), bundle_at)
                found.append((class_of_map[job.maps[sending]], own, bundle.send[sending]))
                bundle_at += 1
        if not found:
            empty = np.zeros(0, dtype=np.int64)
            return empty, empty, empty
        classes, bundles, sends = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return classes, bundles, sends

    def prices(self, row_duals: Floats, times: Iterable[int] = (1,)) -> Iterator[SlotPrices]:
        """The prices that multiples of duals of the relaxation round to, without those too large to be exact."""
        price = np.maximum(-row_duals[: 2 * self.centers] * self.problem.step, 0.0)
        for factor in times:
            for whole, scale in rounded_prices(price * factor):
                yield SlotPrices(whole[: self.centers], whole[self.centers :], scale)

    def whole(self, x: Floats) -> bool:
        """Whether bundles and maps lie whole in a solution."""
        placed = x[: self._z_at]
        return bool((np.abs(placed - np.rint(placed)) <= _WHOLE).all())

    def placement(self, x: Floats) -> Placement:
        """The placement that a whole solution stands for."""
        host = x[: self._x_at].reshape(-1, self.centers).argmax(axis=1)
        at_reduce = np.zeros(len(self.problem.reduces), dtype=np.int64)
        for bundle, center in zip(self.bundles, host.tolist(), strict=True):
            at_reduce[bundle.reduces] = center
        at_map = np.zeros(len(self.problem.maps), dtype=np.int64)
        counts = np.rint(x[self._x_at : self._z_at]).astype(np.int64).reshape(-1, self.centers)
        for members, row in zip(self.classes.members, counts, strict=True):
            at_map[members] = np.repeat(np.arange(self.centers), row)
        return self.problem.placed_in(at_map, at_reduce)

    def placement_if_whole(self, x: Floats) -> Placement | None:
        """The placement that a solution stands for; None where it has bundles or maps in parts."""
        return self.placement(x) if self.whole(x) else None

    def most_parted(self, x: Floats) -> int | None:
        """The bundle that a solution splits most; None where all are whole."""
        share = x[: self._x_at].reshape(-1, self.centers).max(axis=1)
        return int(share.argmin()) if share.min(initial=1.0) < 1.0 - _WHOLE else None

    def with_room(self, x: Floats) -> Floats | None:
        """The solution with each bundle whole where most of it lies and there is room, the largest first; or None."""
        share, left = x[: self._x_at].reshape(-1, self.centers), self.problem.reduce_room.copy()
        weight = np.array([len(bundle.reduces) for bundle in self.bundles], dtype=np.int64)
        hosted = x.copy()
        hosted[: self._x_at] = 0.0
        for bundle in np.lexsort((-share.max(axis=1, initial=0.0), -weight)).tolist():
            center = int(np.argmax(np.where(left >= weight[bundle], share[bundle], -1.0)))
            if left[center] < weight[bundle]:
                return None
            left[center] -= weight[bundle]
            hosted[bundle * self.centers + center] = 1.0
        return hosted

    @cached_property
    def overfull(self) -> LinearProgram:
        """The least number of slots that would have to be added, a column a room after those of the relaxation.

        Where some are, its duals are prices that any multiple of makes dearer than anything.
        """
        rooms, columns = 2 * self.centers, len(self.relaxed.objective)
        more = sp.csr_array(
            (-np.ones(rooms), (np.arange(rooms), np.arange(rooms))), shape=(len(self.relaxed.row_lower), rooms)
        )
        return LinearProgram(
            np.concatenate([np.zeros(columns), np.ones(rooms)]),
            np.zeros(columns + rooms),
            np.concatenate([self.relaxed.col_upper, np.full(rooms, np.inf)]),
            np.zeros(columns + rooms, dtype=bool),
            self.relaxed.row_lower,
            self.relaxed.row_upper,
            sp.csr_array(sp.hstack([self.relaxed.matrix, more])),
        )

    def with_hosts(self, hosts: Mapping[int, int], barred: Bools, more: int = 0) -> tuple[Floats, Floats]:
        """Bounds of the columns with some bundles in given datacenters, and of `more` columns after them.

        `barred` has places that no bundle takes, shape (bundles, datacenters).
        """
        lower, upper = np.zeros(len(self.relaxed.objective)), self.relaxed.col_upper.copy()
        upper[: self._x_at][barred.ravel()] = 0.0
        for bundle, center in hosts.items():
            upper[bundle * self.centers : (bundle + 1) * self.centers] = 0.0
            lower[bundle * self.centers + center] = upper[bundle * self.centers + center] = 1.0
        return np.append(lower, np.zeros(more)), np.append(upper, np.full(more, np.inf))

    def without(self, apart: Bools) -> LinearProgram:
        """The program without some bundles in some datacenters, shape (bundles, datacenters)."""
        upper = self.integral.col_upper.copy()
        upper[: self._x_at][apart.ravel()] = 0.0
        return replace(self.integral, col_upper=upper)

    def with_bundles_at(self, x: Floats) -> LinearProgram:
        """The relaxation with each bundle where a solution has it: a network, whose vertices are whole."""
        lower, upper = np.zeros(len(x)), self.relaxed.col_upper.copy()
        chosen = np.rint(x[: self._x_at])
        lower[: self._x_at], upper[: self._x_at] = chosen, chosen
        return replace(self.relaxed, col_lower=lower, col_upper=upper)

    def values(self, placement: Placement) -> Floats:
        """The solution that a placement is."""
        problem, count = self.problem, self.centers
        at = problem.datacenter[problem.nodes_of(placement)]
        u = np.zeros((len(self.bundles), count))
        u[np.arange(len(self.bundles)), [at[problem.reduces[bundle.reduces[0]]] for bundle in self.bundles]] = 1.0
        x = np.zeros((len(self.size), count))
        np.add.at(x, (self.classes.of_task, at[problem.maps]), 1.0)
        pair_class, pair_bundle = self._pair
        z = np.minimum(x[pair_class], u[pair_bundle] * self.size[pair_class, None])
        return np.concatenate([u.ravel(), x.ravel(), z.ravel()])


class _Rows:
    """Rows of a program, gathered block by block."""

    def __init__(self) -> None:
        self._row: list[Ints] = []
        self._column: list[Ints] = []
        self._value: list[Floats] = []
        self._lower: list[Floats] = []
        self._upper: list[Floats] = []
        self._height = 0

    def add(self, row: Ints, column: Ints, value: Floats | float, lower: Any, upper: Any) -> None:
        """A block of rows, numbered from 0, one for each of `lower` and `upper`."""
        self._row.append(row + self._height)
        self._column.append(column)
        self._value.append(np.broadcast_to(np.asarray(value, dtype=np.float64), row.shape))
        self._lower.append(np.asarray(lower, dtype=np.float64))
        self._upper.append(np.asarray(upper, dtype=np.float64))
        self._height += len(self._lower[-1])

    def program(self, objective: Floats, upper: Floats, integer: Any) -> LinearProgram:
        """The program of all rows with variables from 0 to `upper`."""
        at = np.concatenate(self._row), np.concatenate(self._column)
        matrix = sp.csr_array((np.concatenate(self._value), at), shape=(self._height, len(objective)))
        rows = np.concatenate(self._lower), np.concatenate(self._upper)
        return LinearProgram(objective, np.zeros(len(objective)), upper, integer, *rows, matrix)


def by_arrays(
    search: TrafficSearch, limit: int | None, _: Profile, start: Placement | None
) -> tuple[SolverOutcome, Placement | None]:
    """Branch and bound with HiGHS, within the time that the search has left; its figures are turned into MB."""
    program = TrafficProgram(search.problem, limit)
    found = _among_near(search, program, limit)
    if found is None:
        hint = None if start is None else program.values(start)
        found = solve_arrays(program.integral, search.left(), hint, program.placement_if_whole)
    outcome, x, unit = found.outcome, found.x, search.problem.step / search.problem.grid
    if x is None:
        return scaled(outcome, unit), None
    if not program.whole(x):
        x = solve_arrays(program.with_bundles_at(x), replace(search.profile, time_limit=None)).x
        if x is None or not program.whole(x):
            raise SolverDisagreement(f"{search.problem.name}: HiGHS finds no vertex where its solution has the reduces")
    return scaled(outcome, unit), program.placement(x)


def _among_near(search: TrafficSearch, program: TrafficProgram, limit: int | None) -> ArraySolution | None:
    """Branch and bound where no bundle is in a datacenter in which prices prove much more traffic than anywhere.

    What it finds is the optimum, if it causes no more than what was left out; else more is let in. None where that
    would be everything.
    """
    problem, known = search.problem, search.priced(limit)
    apart = problem.priced(*known.prices, limit).everywhere
    below, best = known.proved + max(problem.step, known.proved // _NEAR), known.units
    hint: Floats | None = None
    while (apart >= below).any():
        near = program.without(np.asarray(apart >= below, dtype=bool))
        found = solve_arrays(near, search.left(), hint, program.placement_if_whole)
        outcome = found.outcome
        if outcome.status not in (Termination.OPTIMAL, Termination.INFEASIBLE):
            bound = None if outcome.bound is None else min(outcome.bound, below / problem.step)
            return replace(found, outcome=replace(outcome, bound=bound))
        if outcome.objective is not None:
            cost, hint = round(outcome.objective) * problem.step, found.x
            best = cost if best is None else min(best, cost)
            if cost <= below:
                return found
        wider = below + _WIDER * (below - known.proved)
        below = wider if best is None or best <= below else min(wider, best)
    return None


def scaled(outcome: SolverOutcome, unit: float) -> SolverOutcome:
    """The outcome with its figures times `unit`."""
    objective, bound = (None if value is None else value * unit for value in (outcome.objective, outcome.bound))
    return replace(outcome, objective=objective, bound=bound)
