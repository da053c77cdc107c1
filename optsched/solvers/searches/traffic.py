"""`traffic` exactly: least traffic within one limit on the load after another, by prices of slots, or else a MIP.

Once the slots of each datacenter have prices, the jobs are independent, and the best datacenter of each has a closed
form (`Traffic.price_bound`). Anybody can check this bound. The prices are duals of the linear relaxation of a program
over classes of maps. If the relaxation has whole reduces and its placement meets the bound, nothing else is needed.
Otherwise branch and bound finds the optimum. A search over the datacenters of single jobs then looks for prices that
prove it case by case. Only if that takes too many cases does the proof rest on the solver's claim.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from optsched.certificates.traffic import MOST_NESTED, Cases, SlotPrices, load_certificate, traffic_certificate
from optsched.core.deadline import remaining
from optsched.core.errors import SolverDisagreement
from optsched.core.instance import LARGEST, Floats
from optsched.core.placement import Placement
from optsched.core.processes.handing import hand_over
from optsched.core.results import Certificate, FrontierPoint, Limit, Proof, Termination
from optsched.problems.base import exact
from optsched.problems.relaxations import Box
from optsched.problems.traffic import Traffic
from optsched.solvers.answers import LinearProgram, SolverOutcome, check_claim, rounded_prices, whole_bound
from optsched.solvers.highs import WarmProgram, solve_arrays, solve_uninterrupted
from optsched.solvers.profiles import Profile
from optsched.solvers.searches.program_tree import as_arrays

#: The most relaxations that the search for a proof by cases solves, and the most columns in all.
_MOST_CASES = 4000
_MOST_COLUMNS = 10_000_000

#: The tolerance of a solver's values for whole numbers.
_WHOLE = 1e-5


@dataclass(frozen=True)
class WithinLimit:
    """The state of the search within one limit on the load; None: no limit.

    The best placement found within it causes `units` of traffic, every one at least `bound`. The best known `prices`
    prove `proved` of those units. `feasible` is False if a solver says that no placement is.
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


#: Decides what prices leave open: (search, limit, profile, start) -> the solver's outcome and its placement.
Decider = Callable[["TrafficSearch", int | None, Profile, Placement | None], tuple[SolverOutcome, Placement | None]]


class TrafficSearch:
    """Answers about one `traffic` problem, each computed once.

    `solver`, `raw_status` and `stopped` describe the last engine that decided: names and options, its own words, and
    what stopped it.

    Parameters
    ----------
    problem
        What to solve; it must not be plainly infeasible.
    profile
        Limits; a time limit holds for the search as a whole.
    start
        An initial feasible placement.
    decide
        Settles what prices leave open; by default the program with HiGHS and arrays. Its figures are in MB.
    shortcuts
        Whether closed form and relaxation may give the placement; otherwise everything goes to `decide`.
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
        """The bound of closed form and prices within a limit, with the relaxation's placement if that is whole."""
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
        program = Arrays(problem.within(limit))
        found = solve_uninterrupted(program.relaxed, self.left())
        for prices in [] if found.row_duals is None else program.prices(found.row_duals):
            proved = problem.price_bound(*prices, limit)
            if proved > known.proved:
                known = replace(known, bound=proved, prices=prices, proved=proved)
        if self.shortcuts and found.x is not None:
            known = self._holding(known, program.placement_if_whole(found.x))
        return known

    @cached_property
    def _apart(self) -> Placement | None:
        """Each job where it is best by itself, without the limit."""
        return best_apart(self.problem)

    def at(self, limit: int | None) -> WithinLimit:
        """The least traffic within a limit, computed once. KeyboardInterrupt if Ctrl-C came."""
        if limit not in self._known:
            self._known[limit] = self._examine(self.priced(limit))
            if self.stopped is Limit.INTERRUPTED:
                raise KeyboardInterrupt
        return self._known[limit]

    @property
    def incumbent(self) -> Placement | None:
        """The best known placement without a limit."""
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
        """`known` with a placement, if that is feasible, within the limit, and better than the best one."""
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
        """Whether the time is over, which then stopped the search."""
        late = self.left().time_limit == 0 or remaining() == 0
        self.stopped = Limit.TIME if late else self.stopped
        return late

    def least_load(self, known: WithinLimit) -> tuple[WithinLimit, int]:
        """A placement of least load at the traffic of `known`, which is closed, and the proved least load there.

        The two loads differ if the search was stopped. Prices rule out limits by bisection. The remaining limits are
        decided from below.
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
        """As `least_load`, among the placements that the prices leave at the traffic; None if that settles nothing.

        At prices whose bound a placement attains, each job is in a datacenter that is best for it, each map where it
        pays least given its job's, and every slot with a price is taken. So the program of the least load has few
        columns left. Its duals are added to the prices, divided so finely that no other choice becomes a best one. They
        prove that less load causes more traffic.
        """
        assert known.units is not None
        assert known.placement is not None
        if self._late():
            return None
        places = BestPlaces(self.problem.within(known.limit), known.prices, known.units)
        found = solve_uninterrupted(places.relaxed, self.left())
        if found.x is None or found.row_duals is None:
            return None
        load = max(self.problem.least_load, math.ceil(found.x[-1] - _WHOLE))
        if load > self.problem.least_load:
            bounds = (
                (self.problem.price_bound(*prices, load - 1), prices) for prices in places.prices(found.row_duals)
            )
            proved, prices = max(bounds, key=lambda entry: entry[0], default=(0, known.prices))
            if proved <= known.units:
                return None
            self._programs[load - 1] = WithinLimit(load - 1, None, None, proved, prices, proved)
        if self.load(known.placement) == load:
            return known, load
        within = places.within(load)
        x = solve_uninterrupted(within, self.left()).x
        x = None if x is None else solve_uninterrupted(places.with_bundles_at(within, x), self.left()).x
        best = WithinLimit(load, None, None, known.units, known.prices, 0)
        best = self._holding(best, None if x is None else places.placement_if_whole(x))
        return (best, load) if best.units == known.units else None

    # Certificates and frontier -------------------------------------------------------------------------------------

    def traffic_certificate(self, known: WithinLimit, cases: bool = True) -> Certificate:
        """Proof of the traffic without a limit: its prices, by cases if asked for, or the solver's claim if more."""
        proof: Cases | None = Cases(known.prices)
        if known.bound > known.proved:
            proof = self.proof(None, known.bound) if known.closed and cases else None
        if proof is None:
            return Certificate("traffic", Proof.SOLVER, exact(known.bound, self.problem.grid))
        return traffic_certificate(self.problem, proof, known.bound)

    def load_certificate(self, load: int, traffic: int, cases: bool = True) -> Certificate:
        """Proof that no placement with at most `traffic` units has less than `load`: counting, prices, or a claim."""
        if load <= self.problem.least_load:
            return load_certificate(self.problem, load - 1, Cases(SlotPrices.none(self.problem)))
        known = self.priced(load - 1)
        proof = self.proof(load - 1, traffic + 1) if cases or known.proved > traffic else None
        if proof is None:
            return Certificate("load", Proof.SOLVER, load)
        return load_certificate(self.problem, load - 1, proof)

    def proof(self, limit: int | None, target: int) -> Cases | None:
        """Prices, by cases if necessary, that prove that placements within a limit cause `target` units or more.

        None if that would take too many cases.
        """
        known = self.priced(limit)
        return Cases(known.prices) if known.proved >= target else self._by_cases(limit, target)

    def _by_cases(self, limit: int | None, target: int) -> Cases | None:
        """The same by branch and bound on the datacenter of the bundle that the relaxation splits most.

        A case that the prices of the case above settle is not examined.
        """
        posed = self.problem.within(limit)
        program = Arrays(posed)
        left = min(_MOST_CASES, _MOST_COLUMNS // len(program.relaxed.objective))
        relaxed, overfull = WarmProgram(program.relaxed), WarmProgram(program.overfull)

        def cases(box: Box, depth: int) -> Cases | None:
            nonlocal left
            left -= 1
            if left < 0 or depth > MOST_NESTED:
                return None
            found = relaxed.solve(*program.with_hosts(program.relaxed, box), self.left())
            infeasible = found.outcome.status is Termination.INFEASIBLE
            if infeasible:
                found = overfull.solve(*program.with_hosts(program.overfull, box), self.left())
            if found.x is None or found.row_duals is None:
                return None
            best: tuple[int, Box, SlotPrices] | None = None
            for prices in program.prices(found.row_duals, self._enough(target) if infeasible else (1,)):
                narrowed = Box(box.lower.copy(), box.upper.copy())
                bound = posed.settle(narrowed, prices, target)
                if bound >= target:
                    return Cases(prices)
                if best is None or bound > best[0]:
                    best = bound, narrowed, prices
            bundle = None if best is None or infeasible else program.most_parted(found.x, best[1], box)
            if best is None or bundle is None:
                return None
            inside: dict[int, Cases] = {}
            for center in np.flatnonzero(posed.posing.open_hosts(best[1])[bundle]).tolist():
                case = cases(posed.posing.with_host(best[1], bundle, center), depth + 1)
                if case is None:
                    return None
                inside[center] = case
            return Cases(best[2], bundle, inside)

        return cases(posed.program().numbers.box, 0)

    def _enough(self, target: int) -> Iterator[int]:
        """Growing multiples at which prices that prove a case infeasible are tried, until they prove the target."""
        times = max(1, target // self.problem.step)
        while times < LARGEST // 2**22:
            yield times
            times *= 16

    def frontier(self) -> tuple[list[FrontierPoint], Limit | None]:
        """Every Pareto-optimal point by increasing traffic, and what stopped the search, if anything did."""
        points: list[FrontierPoint] = []
        known = self.at(None)
        while known.closed:
            assert known.units is not None
            best, load = self.least_load(known)
            assert best.placement is not None
            if self.load(best.placement) != load:
                return points, self.stopped
            value = self.problem.evaluate(best.placement)
            # Any placement with less traffic than this point has at least the load of the previous point.
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
    """Each job where it causes least traffic, as if slots were free; None if there are not enough slots there.

    Of equally good datacenters a bundle takes the first. Maps stay with their reduces if that costs nothing.
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


class Arrays:
    """The program of the least traffic in HiGHS's form; figures are in units of the problem's `step`.

    `relaxed`, `integral`: the linear relaxation, and the program with whole bundles: given these, the rest is a
    network, whose vertices are integral.
    """

    def __init__(self, problem: Traffic) -> None:
        self.problem, self.centers, self.program = problem, len(problem.datacenters), problem.program()
        whole = self.program.numbers
        self.relaxed = as_arrays(replace(whole, objective=whole.objective // problem.step), integer=False)
        self._hosts = self.program.family("host").stop
        self._placed = self.program.family("place").stop
        self._slots = slice(self.program.rows_of("map_slots").start, self.program.rows_of("reduce_slots").stop)
        integer = np.arange(len(whole.objective)) < self._hosts
        self.integral = replace(self.relaxed, integer=integer)

    def prices(self, row_duals: Floats, times: Iterable[int] = (1,)) -> Iterator[SlotPrices]:
        """The roundings of multiples of the relaxation's duals to prices, without those too large to be exact."""
        price = np.maximum(-row_duals[self._slots] * self.problem.step, 0.0)
        for factor in times:
            for whole, scale in rounded_prices(price * factor):
                yield SlotPrices(whole[: self.centers], whole[self.centers :], scale)

    def placement_if_whole(self, x: Floats) -> Placement | None:
        """The placement of a solution; None if it splits bundles or maps."""
        placed = x[: self._placed]
        whole = (np.abs(placed - np.rint(placed)) <= _WHOLE).all()
        return self.problem.decision_of(np.rint(x).astype(np.int64), self.program) if whole else None

    def most_parted(self, x: Floats, *boxes: Box) -> int | None:
        """The bundle that a solution splits most, of those that may be in several datacenters in the first box.

        If there is none, the same for the next box. None: there is none in any.
        """
        share = x[: self._hosts].reshape(-1, self.centers).max(axis=1, initial=0.0)
        for box in boxes:
            several = self.problem.posing.open_hosts(box).sum(axis=1) > 1
            if several.any():
                return int(np.where(several, share, 2.0).argmin())
        return None

    @cached_property
    def overfull(self) -> LinearProgram:
        """The least number of additional slots, with a column per room after those of the relaxation.

        If it is above 0, its duals are prices; some multiple of them exceeds any target.
        """
        rooms, columns = 2 * self.centers, len(self.relaxed.objective)
        own = np.arange(self._slots.start, self._slots.stop)
        more = sp.csr_array((-np.ones(rooms), (own, np.arange(rooms))), shape=(len(self.relaxed.row_lower), rooms))
        return replace(
            self.relaxed,
            objective=np.concatenate([np.zeros(columns), np.ones(rooms)]),
            col_lower=np.zeros(columns + rooms),
            col_upper=np.concatenate([self.relaxed.col_upper, np.full(rooms, np.inf)]),
            integer=np.zeros(columns + rooms, dtype=bool),
            matrix=sp.csr_array(sp.hstack([self.relaxed.matrix, more])),
        )

    def with_hosts(self, program: LinearProgram, box: Box) -> tuple[Floats, Floats]:
        """Bounds of the columns of the relaxation, or of `overfull`, with bundles only where a box has them."""
        lower, upper = program.col_lower.copy(), program.col_upper.copy()
        lower[: self._hosts], upper[: self._hosts] = box.lower[: self._hosts], box.upper[: self._hosts]
        return lower, upper

    def with_bundles_at(self, program: LinearProgram, x: Floats) -> LinearProgram:
        """The program with each bundle where a solution has it: a network, whose vertices are integral."""
        lower, upper = program.col_lower.copy(), program.col_upper.copy()
        lower[: self._hosts] = upper[: self._hosts] = np.rint(x[: self._hosts])
        return replace(program, col_lower=lower, col_upper=upper, integer=np.zeros(len(lower), dtype=bool))


class BestPlaces(Arrays):
    """The program of the least load among the placements that attain the bound of some prices.

    `problem`: its program has the limit on the load of the bound. `bought`: prices of the slots. `units`: the bound.
    """

    def __init__(self, problem: Traffic, bought: SlotPrices, units: int) -> None:
        super().__init__(problem)
        self._bought = bought
        box = self.program.numbers.box
        problem.settle(box, bought, units + 1)
        least = problem.posing.least_load(units)
        self._fullest = least.rows_of("fullest")
        whole = as_arrays(least.numbers, integer=False)
        # The rows of the first program come first; those that have a multiplier are tight, which keeps the traffic.
        own = self.program.numbers.row_upper
        tight = problem.posing.multipliers(*bought, self.program.numbers.box)[1:] < 0
        lower, upper = whole.row_lower.copy(), whole.row_upper.copy()
        lower[: len(own)][tight], upper[: len(own)], upper[-1] = own[tight], own, np.inf
        self.relaxed = replace(
            whole,
            col_lower=np.append(box.lower, whole.col_lower[-1]).astype(np.float64),
            col_upper=np.append(box.upper, whole.col_upper[-1]).astype(np.float64),
            row_lower=lower,
            row_upper=upper,
        )

    def within(self, load: int) -> LinearProgram:
        """The program of a placement with at most this load."""
        upper = np.append(self.relaxed.col_upper[:-1], load)
        integer = np.arange(len(upper)) < self._hosts
        return replace(self.relaxed, objective=np.zeros(len(upper)), col_upper=upper, integer=integer)

    def prices(self, row_duals: Floats, times: Iterable[int] = (1,)) -> Iterator[SlotPrices]:
        """Prices, by the program's duals: one of them proves that a smaller load than its own causes more traffic."""
        problem, bought = self.problem, self._bought
        maps, reduces = np.split(row_duals[self._slots], 2)
        most = max((len(job.maps) for job in problem.jobs), default=0) + 1
        weight = int(problem.posing.weight.max(initial=0))
        for whole, scale in rounded_prices(-np.concatenate([maps + row_duals[self._fullest], reduces])):
            own, held = whole[: self.centers], whole[self.centers :]
            parts = 2 * (most * int(np.abs(own).max(initial=0)) + weight * int(np.abs(held).max(initial=0))) + 1
            if (int(max(bought.maps.max(), bought.reduces.max())) + scale) * parts < LARGEST:
                yield SlotPrices(
                    np.maximum(bought.maps * parts + own, 0),
                    np.maximum(bought.reduces * parts + held, 0),
                    bought.scale * parts,
                )


def by_arrays(
    search: TrafficSearch, limit: int | None, _: Profile, start: Placement | None
) -> tuple[SolverOutcome, Placement | None]:
    """Branch and bound with HiGHS, within the time left for the search; its figures are converted to MB."""
    program = Arrays(search.problem.within(limit))
    hint = None if start is None else search.problem.values_of(start, program.program).astype(np.float64)
    found = solve_arrays(program.integral, search.left(), hint, program.placement_if_whole)
    outcome, x, unit = found.outcome, found.x, search.problem.step / search.problem.grid
    if x is None:
        return scaled(outcome, unit), None
    placement = program.placement_if_whole(x)
    if placement is None:
        x = solve_arrays(program.with_bundles_at(program.relaxed, x), replace(search.profile, time_limit=None)).x
        placement = None if x is None else program.placement_if_whole(x)
        if placement is None:
            raise SolverDisagreement(f"{search.problem.name}: HiGHS finds no vertex where its solution has the reduces")
    return scaled(outcome, unit), placement


def scaled(outcome: SolverOutcome, unit: float) -> SolverOutcome:
    """The outcome with its figures times `unit`."""
    objective, bound = (None if value is None else value * unit for value in (outcome.objective, outcome.bound))
    return replace(outcome, objective=objective, bound=bound)
