"""`ras`: Sharmilarani et al.'s placement controller: reduces first, then rounds in which jobs of low utility gain maps.

`optsched.problems.utility.spread_reduces` says where the reduces go. How a cluster moves from one placement to the next
is in `ras_enforcement`, and what Sharmilarani et al. compare with in `fair_sharing`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

import numpy as np

from optsched.deadline import check
from optsched.instance import MAP, Ints
from optsched.placement import Placement
from optsched.problems.base import GRID, Parameter, choice, exact, number
from optsched.problems.utility import Allocation, Utility, spread_reduces
from optsched.problems.utility_rooms import Rooms
from optsched.results import Number
from optsched.running.base import Heuristic

__all__ = ["HEURISTICS", "ROUNDS", "Rounds", "map_rounds", "ras"]

#: Rounds after which the controller stops by default; it settles within five on all instances of
#: docs/results-sharmilarani.md.
ROUNDS = 100


@dataclass(frozen=True, eq=False, slots=True)
class Rounds:
    """What came of the rounds.

    Attributes
    ----------
    maps
        Maps of each job on each tracker, shape (jobs, nodes).
    lowest
        The lowest utility of a job after each round, exact.
    ended
        `settled`: a round changed nothing. `endless`: the placement after a round had been there before, so the swaps
        would go on for ever. `rounds`: the limit on the rounds was reached.
    """

    maps: Ints
    lowest: tuple[Number, ...]
    ended: Literal["settled", "endless", "rounds"]


def ras(problem: Utility, rng: np.random.Generator, *, rounds: int = ROUNDS, improvement: str = "strict") -> Placement:
    """Spread the reduces evenly, then give maps to the jobs of lowest utility, taking them from those of the highest.

    Parameters
    ----------
    problem
        The problem. Even with `reduces=free` the reduces stay where they are spread.
    rng
        Not used: ties go to the first job.
    rounds, improvement
        See `map_rounds`.

    References
    ----------
    Sharmilarani et al., section III.J; the loop's details are after Polo et al., "Resource-aware adaptive scheduling
    for MapReduce clusters", Middleware 2011, Algorithm 1.

    Examples
    --------
    Two trackers, two jobs (Sharmilarani et al., note 7): the lowest utility -1/2 is the most possible.

    >>> from optsched.instance import Cluster, Instance, Workload
    >>> cluster = Cluster(["t1", "t2"], capacity={"cpu": [5.0, 5.0], "memory": [3.0, 7.0]})
    >>> workload = Workload(
    ...     [f"m{map}" for map in range(8)], job=[0] * 3 + [1] * 5, job_ids=["a", "b"], goal=[3.0, 5.0],
    ...     map_time=[2.0, 4.0], demand={"cpu": [2.0] * 3 + [1.0] * 5, "memory": [2.0] * 3 + [3.0] * 5})
    >>> problem = Utility(Instance(cluster, workload))
    >>> placement = ras(problem, np.random.default_rng())
    >>> problem.allocated(placement).maps.tolist(), str(problem.evaluate(placement)[0])
    ([[0, 2], [1, 1]], '-1/2')
    """
    reduces = spread_reduces(problem)
    maps = map_rounds(problem, reduces, rounds=rounds, improvement=improvement).maps
    return problem.placement_of(Allocation(maps, reduces))


def map_rounds(problem: Utility, reduces: Ints, *, rounds: int = ROUNDS, improvement: str = "strict") -> Rounds:
    """Place maps beside given reduces, round after round, so that the lowest utility of a job rises.

    A round visits the trackers in order. At each one, maps are given while any fits, always to the job of lowest
    utility whose map fits (work conserving). Then there is one swap: the waiting job of lowest utility takes the place
    of maps of the jobs of highest utility. A job gives up a map only if it stays above the lowest utility of any other
    (Sharmilarani et al.'s rule of fairness). After the last round what is free is given out once more. A map that
    raises no utility, because no reduce of its job found room, is the last to be given, and takes nobody's place. With
    `phase=by-maps` a map fits only if each tracker with reduces of its job has room for what these then take in
    addition.

    Parameters
    ----------
    reduces
        Reduces of each job on each tracker, shape (jobs, nodes).
    rounds
        At most so many rounds; it stops sooner where a round changed nothing.
    improvement
        `strict`: a swap must raise the lowest utility. The taker gets its map, and no giver ends at or below what the
        taker had; else all is put back. Each swap then raises Sharmilarani et al.'s ordered vector of utilities, so the
        rounds end whatever `rounds` says. `literal`: maps are taken away as the paper's words say, even if the taker's
        map does not fit where they were. They are given back in the next round, and so on for ever (Sharmilarani et
        al., note 7). The rounds stop where a placement comes back.

    Returns
    -------
    Rounds
        O(maps x jobs) for the first round, and O(nodes x jobs) for each further one, times the resources.

    Examples
    --------
    >>> from optsched.instance import Cluster, Instance, Workload
    >>> cluster = Cluster(["t1", "t2"], capacity={"cpu": [5.0, 5.0], "memory": [3.0, 7.0]})
    >>> workload = Workload(
    ...     [f"m{map}" for map in range(8)], job=[0] * 3 + [1] * 5, job_ids=["a", "b"], goal=[3.0, 5.0],
    ...     map_time=[2.0, 4.0], demand={"cpu": [2.0] * 3 + [1.0] * 5, "memory": [2.0] * 3 + [3.0] * 5})
    >>> problem = Utility(Instance(cluster, workload))
    >>> for improvement in ("strict", "literal"):
    ...     record = map_rounds(problem, spread_reduces(problem), improvement=improvement)
    ...     print(improvement, [str(lowest) for lowest in record.lowest], record.ended)
    strict ['-1', '-1/2', '-1/2'] settled
    literal ['-1', '-1'] endless
    """
    strict = {"strict": True, "literal": False}[improvement]
    trackers = _Trackers(problem, reduces)
    nodes = range(reduces.shape[1])
    lowest: list[Number] = []
    seen: set[bytes] = set()
    ended: Literal["settled", "endless", "rounds"] = "rounds"
    for _ in range(rounds):
        changed = False
        for node in nodes:
            given = trackers.fill(node)
            swapped = trackers.swap(node, strict)
            changed = changed or given or swapped
        lowest.append(trackers.lowest)
        state = hashlib.sha256(trackers.maps.tobytes()).digest()
        if not changed or state in seen:
            ended = "endless" if changed else "settled"
            break
        seen.add(state)
    for node in nodes:
        trackers.fill(node)
    return Rounds(trackers.maps, tuple(lowest), ended)


class _Trackers:
    """Maps on the trackers while they are moved, with what is free and what each job's count of maps is worth.

    Attributes
    ----------
    maps
        Shape (jobs, nodes).
    waiting
        Maps of each job that have no tracker.
    utility, fewer
        Utility of each job, and what it would be with one map fewer (the same for a job that has none).
    gains
        Whether one more map raises it.
    """

    def __init__(self, problem: Utility, reduces: Ints) -> None:
        jobs = range(len(problem.jobs))
        self._worth = [problem.map_worth(job, count) for job, count in zip(jobs, reduces.sum(axis=1), strict=True)]
        self._rooms = Rooms(problem, Allocation(np.zeros_like(reduces), reduces))
        self._coupled = problem.coupled
        self.maps = self._rooms.counts.maps
        self.waiting: Ints = problem.pending_maps.copy()
        self.utility: Ints = np.zeros(len(jobs), dtype=np.int64)
        self.fewer, self.gains = self.utility.copy(), np.zeros(len(jobs), dtype=bool)
        for job in jobs:
            self._weigh(job)

    @property
    def lowest(self) -> Number:
        """The lowest utility of a job; 0 without jobs."""
        return exact(int(self.utility.min()) if len(self.utility) else 0, GRID)

    def fill(self, node: int) -> bool:
        """Give maps while any fits, to the job of lowest utility first; whether one was given."""
        given = False
        while True:
            check()
            job = self._first_fit(np.flatnonzero((self.waiting > 0) & self._rooms.beside(MAP, node)), node)
            if job is None:
                return given
            self._move(job, node, 1)
            given = True

    def _first_fit(self, jobs: Ints, node: int) -> int | None:
        """The job that goes first of those whose map fits what is free on the tracker itself."""
        if self._coupled:
            order = jobs[np.lexsort((self.utility[jobs], ~self.gains[jobs]))].tolist()
            return next((job for job in order if self._rooms.fits(MAP, job, node)), None)
        gaining = jobs[self.gains[jobs]]
        jobs = gaining if len(gaining) else jobs
        return int(jobs[np.argmin(self.utility[jobs])]) if len(jobs) else None

    def swap(self, node: int, strict: bool) -> bool:
        """One more map for the waiting job of lowest utility, if others can make room; whether a map was moved."""
        waiting = np.flatnonzero((self.waiting > 0) & self.gains)
        if not len(waiting):
            return False
        taker = int(waiting[np.argmin(self.utility[waiting])])
        before, givers = int(self.utility[taker]), list[int]()
        while not (fits := self._rooms.fits(MAP, taker, node)):
            check()
            floor = before if strict else self.utility.min()  # a job at this minimum has none to give
            able = (self.maps[:, node] > 0) & (self.fewer > floor)
            able[taker] = False
            if not able.any():
                break
            candidates = np.flatnonzero(able)
            givers.append(int(candidates[np.argmax(self.utility[candidates])]))
            self._move(givers[-1], node, -1)
        if fits:
            self._move(taker, node, 1)
        elif strict:
            for giver in givers:
                self._move(giver, node, 1)
            return False
        return bool(givers)

    def _move(self, job: int, node: int, count: int) -> None:
        """`count` (1 or -1) maps more of a job on a tracker."""
        self._rooms.put(MAP, job, node, count)
        self.waiting[job] -= count
        self._weigh(job)

    def _weigh(self, job: int) -> None:
        worth, count = self._worth[job], len(self._worth[job]) - 1 - int(self.waiting[job])
        self.utility[job], self.fewer[job] = worth[count], worth[max(count - 1, 0)]
        self.gains[job] = count + 1 < len(worth) and bool(worth[count + 1] > worth[count])


HEURISTICS = (
    Heuristic(
        "ras",
        "001",
        "III.J, RAS placement controller",
        ("utility",),
        "reduces spread first, then rounds that give maps to the job of lowest utility, taken from the highest",
        (
            Parameter(
                "rounds", ROUNDS, number(lowest=1, integer=True), "most rounds; it stops where one changes nothing"
            ),
            Parameter(
                "improvement",
                "strict",
                choice("strict", "literal"),
                "a swap must raise the lowest utility, or as worded, which can swap for ever",
            ),
        ),
        batch=ras,
    ),
)
