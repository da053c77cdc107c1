"""The least load of `traffic` among the placements of least traffic, where prices prove that traffic.

Prices whose bound a placement attains say which placements do: each job is in a datacenter that is best for it at these
prices, each map where it pays least given its job's, and every slot that has a price is taken. What is left to decide
is the jobs with several best datacenters, and maps with several, which differ in nothing but the set of these. So a
program of a few columns has the least load, however many maps there are. Its duals, added to the prices in parts so
small that no other choice becomes a best one, prove that less load causes more traffic.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from optsched.certificates.traffic import SlotPrices
from optsched.core.instance import LARGEST, Bools, Floats, Ints
from optsched.core.placement import Placement
from optsched.problems.traffic import Traffic
from optsched.solvers.answers import rounded_prices
from optsched.solvers.highs import LinearProgram

__all__ = ["BestPlaces", "LoadProgram"]

#: Sets of datacenters are bits of an integer.
_MOST_CENTERS = 62


class _Choice(NamedTuple):
    """A job in one of its best datacenters: `sets` has the set of datacenters that each of its maps may take then."""

    job: int
    host: int
    sets: Ints


class BestPlaces:
    """Where jobs and maps are in every placement that attains the bound of some prices.

    Parameters
    ----------
    problem
        Each of its jobs has one bundle of reduces at most (`BestPlaces.of` looks).
    prices
        Of the slots.
    limit
        The limit on the load that the bound is for.
    """

    def __init__(self, problem: Traffic, prices: SlotPrices, limit: int | None) -> None:
        self.problem, self.prices, self.limit = problem, prices, limit
        base = problem.map_units * prices.scale + prices.maps
        least = base.min(axis=1, initial=LARGEST)
        #: Of the jobs with one best datacenter, and those without reduces, the set of each map; 0 for the others.
        self.settled: Ints = np.zeros(len(problem.maps), dtype=np.int64)
        self.host: Ints = np.full(len(problem.jobs), -1, dtype=np.int64)
        self.choices: list[_Choice] = []
        for number, job in enumerate(problem.jobs):
            own, best = base[job.maps], least[job.maps]
            if not job.bundles:
                self.settled[job.maps] = _bits(own == best[:, None])
                continue
            (bundle,) = job.bundles
            elsewhere = best + bundle.send * prices.scale
            paid = np.minimum(own, elsewhere[:, None]).sum(axis=0)
            paid += bundle.settled * prices.scale + prices.reduces * len(bundle.reduces)
            found = [_Choice(number, host, _sets(own, best, elsewhere, host)) for host in _argmins(paid)]
            if len(found) == 1:
                self.settled[job.maps], self.host[number] = found[0].sets, found[0].host
            else:
                self.choices += found

    @classmethod
    def of(cls, problem: Traffic, prices: SlotPrices, limit: int | None) -> BestPlaces | None:
        """The best places; None where a job has several bundles, or numbers are too large."""
        several = any(len(job.bundles) > 1 for job in problem.jobs)
        largest = max((int(side.max(initial=0)) for side in (prices.maps, prices.reduces)), default=0)
        units = (int(problem.map_units.max(initial=0)) + problem.step) * prices.scale + largest
        size = len(problem.tasks) + 1
        if several or len(problem.datacenters) > _MOST_CENTERS or units * size > LARGEST:
            return None
        return cls(problem, prices, limit)


def _argmins(paid: Ints) -> list[int]:
    found: list[int] = np.flatnonzero(paid == paid.min()).tolist()
    return found


def _bits(chosen: Bools) -> Ints:
    bits: Ints = chosen @ (np.int64(1) << np.arange(chosen.shape[1]))
    return bits


def _sets(own: Ints, best: Ints, elsewhere: Ints, host: int) -> Ints:
    """Where maps pay least if their reduces are with `host`: there, or in the datacenters that are best by itself."""
    chosen = (own == best[:, None]) & (elsewhere <= own[:, host])[:, None]
    chosen[:, host] = own[:, host] <= elsewhere
    return _bits(chosen)


class LoadProgram:
    """The program of the least load among the best places.

    Columns: `u`, 1 where a choice of a job with several is taken; `z`, how many maps of each set are in each of its
    datacenters; the load. Rows: one choice a job; maps of each set; maps, and reduces, in each datacenter within the
    room, all of it where slots have a price; maps in each datacenter within the load.
    """

    def __init__(self, places: BestPlaces) -> None:
        self.places, problem = places, places.problem
        self.centers = count = len(problem.datacenters)
        sets = [places.settled[places.settled > 0], *(choice.sets for choice in places.choices)]
        self.sets: Ints = np.unique(np.concatenate(sets))
        self._set, self._center = np.nonzero(self.sets[:, None] >> np.arange(count) & 1)
        jobs, self._job = np.unique([choice.job for choice in places.choices], return_inverse=True)
        self._weight = np.array([len(entry.bundles[0].reduces) if entry.bundles else 0 for entry in problem.jobs])
        choices = len(places.choices)
        self._load = choices + len(self._set)
        # Rows: jobs, sets, room for maps, load, room for reduces.
        self._first: Ints = np.cumsum([0, len(jobs), len(self.sets), count, count, count])
        lower, upper = self._sides(len(jobs))
        objective = np.zeros(self._load + 1)
        objective[self._load] = 1.0
        most = np.append(np.ones(choices), np.full(len(self._set) + 1, float(len(problem.maps))))
        whole = np.zeros(len(most), dtype=bool)
        self.relaxed = LinearProgram(objective, np.zeros(len(most)), most, whole, lower, upper, self._matrix())

    def _matrix(self) -> sp.csr_array:
        """What each column has in each row."""
        chosen, first, count = self.places.choices, self._first, self.centers
        choices = len(chosen)
        u, z = np.arange(choices), choices + np.arange(len(self._set))
        host = np.array([choice.host for choice in chosen], dtype=np.int64)
        each, of = np.unique(
            np.concatenate([self._number(choice.sets) * choices + at for at, choice in enumerate(chosen)])
            if choices
            else np.zeros(0, dtype=np.int64),
            return_counts=True,
        )
        taken = each % max(choices, 1)
        entries = [
            (first[0] + self._job, u, np.ones(choices)),
            (first[1] + self._set, z, np.ones(len(z))),
            (first[1] + each // max(choices, 1), taken, -of),
            (first[2] + self._center, z, np.ones(len(z))),
            (first[3] + self._center, z, np.ones(len(z))),
            (first[3] + np.arange(count), np.full(count, self._load), -np.ones(count)),
            (first[4] + host, u, self._weight[[choice.job for choice in chosen]] if choices else np.zeros(0)),
        ]
        row, column, value = (np.concatenate([part[side] for part in entries]) for side in range(3))
        return sp.csr_array((value.astype(np.float64), (row, column)), shape=(first[5], self._load + 1))

    def _sides(self, jobs: int) -> tuple[Floats, Floats]:
        """The lower and upper sides of the rows; `jobs` of them have choices."""
        places, count = self.places, self.centers
        fixed = np.bincount(self._number(places.settled[places.settled > 0]), minlength=len(self.sets))
        hosted = places.host >= 0
        reduces = np.bincount(places.host[hosted], weights=self._weight[hosted], minlength=count)
        room, left = places.problem.room_within(places.limit), places.problem.reduce_room - reduces
        none, ones = np.full(count, -np.inf), np.ones(jobs)
        lower = [ones, fixed, np.where(places.prices.maps > 0, room, none), none]
        lower.append(np.where(places.prices.reduces > 0, left, none))
        upper = [ones, fixed, room, np.zeros(count), left]
        return np.concatenate(lower).astype(np.float64), np.concatenate(upper).astype(np.float64)

    def _number(self, sets: Ints) -> Ints:
        return np.searchsorted(self.sets, sets).astype(np.int64)

    def within(self, load: int) -> LinearProgram:
        """The program of a placement with at most this load: whole choices, and then a network of maps."""
        most, whole = self.relaxed.col_upper.copy(), self.relaxed.integer.copy()
        most[self._load] = load
        whole[: len(self.places.choices)] = True
        return LinearProgram(
            np.zeros(len(most)),
            self.relaxed.col_lower,
            most,
            whole,
            self.relaxed.row_lower,
            self.relaxed.row_upper,
            self.relaxed.matrix,
        )

    def with_choices(self, program: LinearProgram, x: Floats) -> LinearProgram:
        """The same program with the choices of a solution: a network, whose vertices are whole."""
        chosen = np.rint(x[: len(self.places.choices)])
        lower, upper = program.col_lower.copy(), program.col_upper.copy()
        lower[: len(chosen)] = upper[: len(chosen)] = chosen
        return LinearProgram(
            program.objective,
            lower,
            upper,
            np.zeros(len(upper), dtype=bool),
            program.row_lower,
            program.row_upper,
            program.matrix,
        )

    def placement(self, x: Floats) -> Placement | None:
        """The placement that a solution stands for; None where it is not whole."""
        problem, places = self.places.problem, self.places
        if np.abs(x - np.rint(x)).max(initial=0.0) > 1e-5:
            return None
        host, sets = places.host.copy(), places.settled.copy()
        for choice, taken in zip(places.choices, np.rint(x[: len(places.choices)]).tolist(), strict=True):
            if taken:
                host[choice.job] = choice.host
                sets[problem.jobs[choice.job].maps] = choice.sets
        order = np.argsort(sets, kind="stable")
        counts = np.rint(x[len(places.choices) : self._load]).astype(np.int64)
        at_map: Ints = np.zeros(len(problem.maps), dtype=np.int64)
        at_map[order] = np.repeat(self._center, counts)
        at_reduce = np.zeros(len(problem.reduces), dtype=np.int64)
        for job, center in zip(problem.jobs, host.tolist(), strict=True):
            for bundle in job.bundles:
                at_reduce[bundle.reduces] = center
        return problem.placed_in(at_map, at_reduce)

    def prices(self, row_duals: Floats) -> Iterator[SlotPrices]:
        """Prices of which one proves that less than the program's load causes more traffic; by its duals."""
        places, problem = self.places, self.places.problem
        rooms, loads = (row_duals[at : at + self.centers] for at in self._first[2:4])
        reduces = row_duals[self._first[4] :]
        most = max((len(job.maps) for job in problem.jobs), default=0) + 1
        weight = max((len(job.bundles[0].reduces) for job in problem.jobs if job.bundles), default=0)
        for whole, scale in rounded_prices(-np.concatenate([rooms + loads, reduces])):
            maps, held = whole[: self.centers], whole[self.centers :]
            parts = 2 * (most * int(np.abs(maps).max(initial=0)) + weight * int(np.abs(held).max(initial=0))) + 1
            if (max(places.prices.maps.max(), places.prices.reduces.max()) + scale) * parts < LARGEST:
                yield SlotPrices(
                    np.maximum(places.prices.maps * parts + maps, 0),
                    np.maximum(places.prices.reduces * parts + held, 0),
                    places.prices.scale * parts,
                )
