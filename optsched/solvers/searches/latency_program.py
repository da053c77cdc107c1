"""The program of `latency` at a limit (Agosta et al., note 4) with cuts, and the prices of its relaxation.

Rounding makes the relaxation strong: if a server has three own tasks and room for five units, a remote task of three
displaces one of them, not none.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from optsched.core.deadline import check
from optsched.core.instance import Floats, Ints
from optsched.core.placement import Placement
from optsched.core.results import Proof, Termination
from optsched.problems import Latency
from optsched.problems.latency_definition import LatencyPrices
from optsched.solvers.answers import LinearProgram, whole_numbers
from optsched.solvers.highs import solve_arrays
from optsched.solvers.profiles import Profile
from optsched.solvers.searches.latency import FixedLimit, LatencySearch, with_claimed_bound, with_placement
from optsched.solvers.searches.program_tree import as_arrays

#: The most rounds of cuts: before a program is solved, which becomes many times as fast, and to prove its result.
_ROUNDS_BEFORE, _ROUNDS = 20, 50

#: Before it, the most rounds in a row without a gain. For 1,000 servers no limit was ruled out after more.
_PATIENCE = 5

#: From here on a cut counts as violated.
_BROKEN = 1e-6

#: The least gain of a round, in fractions of a remote task, that counts as one.
_GAIN = 1e-4

#: Duals become whole prices on this grid, or on a coarser one if their total would be too large.
_GRID = 10**6


class CompactProgram:
    """The program of a problem at a limit (`Latency.program`), with cuts, for the fewest remote tasks.

    Its last column is remote tasks without room: they exist only in the program that minimises their number.

    With q remote tasks, a server takes at most f(q) = min(k, (room - w_rem q) // w_loc) of any k own tasks. From the
    last q for which f equals f(0), f falls. A cut is the line down to the next q, no steeper than w_rem // w_loc; it
    removes the corner of the relaxation between (mixed-integer rounding, Nemhauser and Wolsey 1990). There is one for
    each server's own tasks together, and for others if a relaxation violates it.
    """

    def __init__(self, problem: Latency, limit: int) -> None:
        self.problem, self.posed = problem, problem.program((limit,))
        self.room = problem.room(limit)
        self._server = problem.local_pairs(limit).values
        #: Column of the remote tasks of each server, or -1.
        self._count = np.full(len(self.room), -1, dtype=np.int64)
        numbers = self.posed.family("remote_count")
        self._count[self.room >= problem.w_rem] = np.arange(numbers.start, numbers.stop)
        local, every = self.posed.family("local"), np.arange(len(self.room))
        assert not local.start
        own = np.bincount(self._server, minlength=len(every)).astype(np.int64)
        self._cuts: list[tuple[sp.csr_array, Floats]] = []
        self._add_cuts(every[own > 0], own[own > 0], np.arange(len(self._server)))

    def program(self, integer: bool = True, unroomed: bool = False) -> LinearProgram:
        """The program for the fewest remote tasks, or with `unroomed` the fewest without room."""
        posed, tasks = as_arrays(self.posed.numbers, integer=integer), len(self.problem.tasks)
        remote = np.zeros(len(posed.objective) + 1)
        remote[self.posed.family("remote")] = not unroomed
        remote[-1] = unroomed
        least = [np.full(len(most), -np.inf) for _, most in self._cuts]
        balance = sp.csr_array(([-1.0], ([tasks], [0])), shape=(posed.matrix.shape[0], 1))
        return replace(
            posed,
            objective=remote,
            col_lower=np.append(posed.col_lower, 0),
            col_upper=np.append(posed.col_upper, tasks if unroomed else 0),
            integer=np.append(posed.integer, False),
            row_lower=np.concatenate([posed.row_lower, *least]),
            row_upper=np.concatenate([posed.row_upper, *(most for _, most in self._cuts)]),
            matrix=sp.vstack([sp.hstack([posed.matrix, balance]), *(cut for cut, _ in self._cuts)], format="csc"),
        )

    def _cut(self, server: Ints, own: Ints) -> tuple[Ints, Floats]:
        """Slope and height of the cut for `own` tasks of a server: local + slope remote <= height."""
        w_loc, w_rem, room = self.problem.w_loc, self.problem.w_rem, self.room[server]
        most = np.minimum(own, room // w_loc)
        last = (room - w_loc * most) // w_rem
        beyond = np.maximum(room - w_rem * (last + 1), 0) // w_loc
        slope = np.minimum(most - beyond, w_rem // w_loc)
        return slope, (most + slope * last).astype(np.float64)

    def _add_cuts(self, servers: Ints, own: Ints, columns: Ints) -> None:
        """Add the cut for `own` tasks of each of some servers: those of these columns that belong to the server."""
        slope, most = self._cut(servers, own)
        row = np.searchsorted(servers, self._server[columns])
        takes = np.flatnonzero(self._count[servers] >= 0)
        entries = (
            np.concatenate([np.ones(len(columns)), slope[takes].astype(np.float64)]),
            (np.concatenate([row, takes]), np.concatenate([columns, self._count[servers[takes]]])),
        )
        self._cuts.append((sp.csr_array(entries, shape=(len(servers), len(self.posed.numbers.objective) + 1)), most))

    def prices(self, profile: Profile, rounds: int = 1, patience: int | None = None) -> Iterator[LatencyPrices]:
        """Prices from the relaxation's duals, after each round of cuts that the previous one violated.

        It ends if the profile's limits are reached, nothing is violated, the prices rule the limit out, or `patience`
        rounds in a row have gained nothing.
        """
        began, unroomed = time.perf_counter(), False
        best, idle = -np.inf, 0
        while rounds > 0:
            check()
            solution = solve_arrays(self.program(integer=False, unroomed=unroomed), profile.since(began))
            if solution.outcome.status is Termination.INFEASIBLE and not unroomed:
                unroomed = True  # remote tasks have no room, and the prices of this program show it
                continue
            if solution.x is None or solution.row_duals is None:
                return
            real = solution.row_duals[: len(self.problem.tasks) + 1]
            largest = 1 + int(np.abs(real).max(initial=0))
            grid = min(_GRID, LatencyPrices.largest(len(self.problem.tasks)) // largest)
            duals = np.rint(real * grid).astype(np.int64)
            yield LatencyPrices(0 if unroomed else grid, duals[:-1], max(0, -int(duals[-1])))
            rounds -= 1
            value = float(solution.x[self.posed.family("remote")].sum())
            best, idle = (value, 0) if value > best + _GAIN else (best, idle + 1)
            if unroomed or idle == patience or not self._sharpened(solution.x):
                return

    def _sharpened(self, x: Floats) -> bool:
        """Add the cut of each server that a solution of the relaxation violates most; False if it violates none."""
        each = x[: len(self._server)]
        order = np.lexsort((-each, self._server))  # the most local tasks of a server first
        server = self._server[order]
        first = np.searchsorted(server, server)
        number = np.arange(len(order)) - first + 1
        total = np.append(0.0, np.cumsum(each[order]))
        slope, height = self._cut(server, number)
        remote = np.where(self._count[server] >= 0, x[self._count[server]], 0.0)
        beyond = total[1:] - total[first] + slope * remote - height
        worst = np.lexsort((-beyond, server))
        worst = worst[np.diff(server[worst], prepend=-1) > 0]
        worst = worst[beyond[worst] > _BROKEN]
        if not len(worst):
            return False
        most = np.zeros(len(self.room), dtype=np.int64)
        most[server[worst]] = number[worst]
        self._add_cuts(server[worst], number[worst], order[number <= most[server]])
        return True


# What decides a limit -------------------------------------------------------------------------------------------------


def compact_program(search: LatencySearch, known: FixedLimit, profile: Profile) -> FixedLimit:
    """Least number of remote tasks within a limit, by the program of the problem with HiGHS and arrays.

    The duals of its relaxation are prices, stronger from one round of cuts to the next. They are the proof if they rule
    the limit out, or prove as many remote tasks as the program then finds. If they do not, after more rounds, it is the
    solver's claim.
    """
    problem, limit, began = search.problem, known.limit, time.perf_counter()
    compact = CompactProgram(problem, limit)
    known = _priced(known, problem, compact.prices(profile, _ROUNDS_BEFORE, _PATIENCE))
    if known.feasible is False:
        return known
    hint = search.hint(limit)

    def decode(x: Floats) -> Placement:
        return problem.decision_of(whole_numbers(x[:-1]), compact.posed)

    start = None if hint is None else np.append(problem.values_of(hint, compact.posed), 0).astype(np.float64)
    solution = solve_arrays(compact.program(), profile.since(began), start, decode)
    search.solver = dict(solution.outcome.solver)
    search.raw_status = solution.outcome.raw_status
    if solution.outcome.status is Termination.INFEASIBLE:
        ruled_out = _priced(known, problem, compact.prices(profile.since(began), _ROUNDS))
        claimed = replace(known, remote_bound=None, feasible=False, proof=Proof.SOLVER, prices=None)
        return ruled_out if ruled_out.closed else claimed
    bound = with_claimed_bound(known, solution.outcome.bound)
    if bound.proof is Proof.SOLVER:
        sharper = _priced(known, problem, compact.prices(profile.since(began), _ROUNDS), bound.remote_bound)
        bound = sharper if sharper.remote_bound == bound.remote_bound else bound
    if solution.x is None:
        return replace(bound, stopped=solution.outcome.limit)
    return with_placement(search, bound, problem.nodes_of(decode(solution.x)), solution.outcome.limit)


def relaxation(search: LatencySearch, known: FixedLimit, profile: Profile) -> FixedLimit:
    """The same without the program: what the duals of its relaxation prove, after a few rounds of cuts.

    The rest stays open. No answer rests on a solver's claim, and none takes long.
    """
    compact = CompactProgram(search.problem, known.limit)
    return _priced(known, search.problem, compact.prices(profile, _ROUNDS_BEFORE, _PATIENCE))


def _priced(
    known: FixedLimit, problem: Latency, some: Iterable[LatencyPrices], enough: int | None = None
) -> FixedLimit:
    """`known` with the most that any of some prices prove, up to `enough` remote tasks, if it is more than known."""
    for prices in some:
        remote = problem.priced_remote(known.limit, prices)
        if remote is None:
            return replace(known, remote_bound=None, feasible=False, prices=prices)
        assert known.remote_bound is not None
        if remote > known.remote_bound:
            known = replace(known, remote_bound=remote, prices=prices)
        if enough is not None and remote >= enough:
            break
    return known
