"""`generalized-assignment`: SciPy's assignment if a node only counts its tasks, else HiGHS on arrays.

HiGHS solves the linear relaxation, whose duals are prices of the capacities, and the integer program.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment

from optsched.certificates.trees import Step, Tree
from optsched.core.deadline import remaining
from optsched.core.errors import SolverDisagreement
from optsched.core.instance import LARGEST, Floats, Ints
from optsched.core.placement import NONE, Placement
from optsched.core.results import Value
from optsched.problems.generalized_assignment import GeneralizedAssignment, NodePrices
from optsched.solvers.answers import LinearProgram, SolverOutcome, rounded_prices
from optsched.solvers.highs import solve_arrays, solve_uninterrupted
from optsched.solvers.matching import maximum_b_matching
from optsched.solvers.profiles import Profile
from optsched.solvers.searches.program_tree import as_arrays
from optsched.solvers.searches.tabled_assignment import seconds_at_worst, slot_prices, table_fits

#: The number of task orders that a greedy packing tries.
_ORDERS = 20

#: Units of an unusable pair: more than any path of usable pairs, which total at most 2^53.
_FORBIDDEN = 2**60

#: The most solves of the program with further covers.
_ROUNDS = 200


class CapacityPrices(NamedTuple):
    """Prices of a unit of each capacity, int64, shape (resources, nodes), in units of cost times `scale`."""

    prices: Ints
    scale: int


def capacity_prices(problem: GeneralizedAssignment, profile: Profile) -> CapacityPrices:
    """Prices for the best bound, among the roundings of the relaxation's duals; else prices of 0.

    The bound is valid for any prices (`GeneralizedAssignment.price_bound`). So no solver is trusted.

    KeyboardInterrupt if Ctrl-C came while HiGHS ran.
    """
    none = CapacityPrices(np.zeros_like(problem.capacity), 1)
    whole = problem.apart().program().numbers
    duals = solve_uninterrupted(as_arrays(whole, integer=False), profile).row_duals
    if duals is None:
        return none
    task, node = np.nonzero(problem.usable)
    price = -duals[len(problem.tasks) :].reshape(problem.capacity.shape)
    for position in range(len(problem.resources)):
        price[position] /= max(1, math.gcd(*problem.demand[position, task, node].tolist()))
    found = [CapacityPrices(*rounded) for rounded in rounded_prices(np.maximum(price, 0.0))]
    return max([none, *found], key=lambda prices: problem.sign * problem.price_bound(*prices))


class Assigned(NamedTuple):
    """An optimum of plain assignment: node of each task, and prices if they prove it; or a proof that there is none."""

    nodes: Ints | None
    prices: CapacityPrices | None
    crowd: Tree | None = None


def plain_assignment(problem: GeneralizedAssignment) -> Assigned | None:
    """Solve the problem if all tasks demand the same of a node, so that the node only counts them. None if not.

    SciPy assigns tasks to slots. The prices of slots, by shortest paths in integers, become prices of the capacity that
    a slot represents. None also if the integer program is the better way (`table_fits`), or if SciPy might miss a
    deadline.

    SolverDisagreement if SciPy says that nothing is feasible, but a matching of all tasks is.
    """
    slots = slots_counted(problem)
    if slots is None:
        return None
    tasks, nodes = problem.units.shape
    places, left = int(slots.sum()), remaining()
    if not table_fits(tasks, places, tasks * nodes, int(np.abs(problem.units).max())):
        return None
    if left is not None and seconds_at_worst(tasks, places) > left:
        return None
    units = np.where(problem.usable, problem.sign * problem.units, _FORBIDDEN)
    node_of = np.repeat(np.arange(nodes), slots)
    cost = np.where(problem.usable, problem.sign * problem.units, np.inf)[:, node_of]
    if tasks > len(node_of):
        return Assigned(None, None, _crowd(problem, slots))
    try:
        chosen = node_of[linear_sum_assignment(cost)[1]]
    except ValueError:  # "cost matrix is infeasible"
        return Assigned(None, None, _crowd(problem, slots))
    spare = slots > np.bincount(chosen, minlength=nodes)
    found = slot_prices(units, np.arange(tasks), chosen, spare, np.zeros(0, dtype=np.int64))
    return Assigned(chosen, None if found is None else _capacity_prices(problem, slots, found[1]))


def _crowd(problem: GeneralizedAssignment, slots: Ints) -> Tree:
    """Tasks that share too few slots (Hall), as a tree of one case: a place is worth 1 to each of them, at no cost."""
    task, node = np.nonzero(problem.usable)
    starts = np.searchsorted(task, np.arange(len(problem.tasks) + 1))
    matching = maximum_b_matching(starts, node, slots)
    if matching.size == len(problem.tasks):
        raise SolverDisagreement(f"{problem.name}: SciPy says that nothing is feasible, but it is") from None
    worth = (~matching.task_cover).astype(np.int64)
    return Tree([NodePrices(0, worth, np.zeros_like(problem.capacity)).multipliers], [Step((0,))])


def slots_counted(problem: GeneralizedAssignment) -> Ints | None:
    """How many tasks each node holds, at most all that may use it. None if tasks demand different amounts of it."""
    usable = problem.usable
    slots: Ints = usable.sum(axis=0).astype(np.int64)
    for demand, capacity in zip(problem.demand, problem.capacity, strict=True):
        most = np.where(usable, demand, 0).max(axis=0)
        if (usable & (demand != most)).any():
            return None
        slots = np.where(most > 0, np.minimum(slots, capacity // np.maximum(most, 1)), slots)
    return slots


def _capacity_prices(problem: GeneralizedAssignment, slots: Ints, prices: Ints) -> CapacityPrices | None:
    """Prices of capacities equivalent to these prices of slots; None if there are none, or only too large ones.

    On each node the resource that runs out first has the price. A unit of it costs the slot's price over the demand, so
    the scale is a common multiple of the demands that count.
    """
    result = np.zeros_like(problem.capacity)
    scale, dear = 1, np.flatnonzero(prices)
    demand = np.where(problem.usable, problem.demand, 0).max(axis=1)
    scarce = np.full(len(slots), -1)
    for position in range(len(problem.resources)):
        short = (demand[position] > 0) & (problem.capacity[position] // np.maximum(demand[position], 1) == slots)
        scarce = np.where((scarce < 0) & short, position, scarce)
    if (scarce[dear] < 0).any():
        return None
    counted = demand[scarce[dear], dear]
    scale = math.lcm(*(int(price_of) for price_of in np.unique(counted // np.gcd(counted, prices[dear]))))
    if int(prices.max(initial=0)) * scale > LARGEST:
        return None
    result[scarce[dear], dear] = prices[dear] * scale // counted
    return CapacityPrices(result, scale)


def solve_integer_program(
    problem: GeneralizedAssignment, profile: Profile, start: Placement | None = None
) -> tuple[SolverOutcome, Placement | None]:
    """Solve the integer program, with a cover for each capacity that HiGHS keeps only to its tolerance.

    HiGHS keeps a row to about a millionth of its size. With demands near 10^8 and more its placements may therefore
    exceed a capacity by a few units. Tasks that together exceed the capacity of a node are a cover: at least one of
    them must be elsewhere. Such rows are exact for any demands. They are added, and the program is solved again. What
    HiGHS proves without some of them (a bound, or that there is no placement) stays true with them.

    No task of `problem` may be without a usable node. Returns HiGHS's claims, in the problem's own sense and in units
    of 1/`grid`, and its placement.

    SolverDisagreement if HiGHS's solution is no feasible placement, however many covers are added.
    """
    began = time.perf_counter()
    task, node = np.nonzero(problem.usable)
    hint = None if start is None else (problem.nodes_of(start)[task] == node).astype(np.float64)
    program = as_arrays(problem.apart().program().numbers)

    def decode(x: Floats) -> Placement:
        chosen = x > 0.5
        nodes = np.full(len(problem.tasks), NONE, dtype=np.int64)
        nodes[task[chosen]] = node[chosen]
        return problem.placement(nodes)

    for _ in range(_ROUNDS):
        found = solve_arrays(program, profile.since(began), hint, decode)
        if found.x is None:
            return found.outcome, None
        placement = decode(found.x)
        wrong = problem.violations(placement)
        if not wrong:
            return found.outcome, placement
        covers = list(_covers(problem, problem.nodes_of(placement)))
        if not covers:
            break
        program = _with_covers(program, covers, task, node)
    raise SolverDisagreement(f"{problem.name}: HiGHS holds a placement that violates {wrong[0]}")


def _covers(problem: GeneralizedAssignment, nodes: Ints) -> Iterator[tuple[Ints, int]]:
    """For each exceeded capacity of a placement: as few of the node's tasks as still exceed it, and the node."""
    for position, column in itertools.product(range(len(problem.resources)), range(problem.units.shape[1])):
        held = np.flatnonzero(nodes == column)
        demand = problem.demand[position, held, column]
        total = np.cumsum(np.sort(demand)[::-1])
        size = int(np.searchsorted(total, problem.capacity[position, column], side="right")) + 1
        if size <= len(held):
            yield held[np.argsort(-demand, kind="stable")[:size]], column


def _with_covers(program: LinearProgram, covers: list[tuple[Ints, int]], task: Ints, node: Ints) -> LinearProgram:
    """The program with a row for each cover: at least one of its tasks is elsewhere."""
    rows = [(np.isin(task, tasks) & (node == column)).astype(np.float64) for tasks, column in covers]
    return replace(
        program,
        matrix=sp.vstack([program.matrix, sp.csr_array(np.array(rows))], format="csr"),
        row_lower=np.concatenate([program.row_lower, np.full(len(rows), -np.inf)]),
        row_upper=np.concatenate([program.row_upper, [len(tasks) - 1.0 for tasks, _ in covers]]),
    )


# Quick packings -------------------------------------------------------------------------------------------------------


def greedy_packing(problem: GeneralizedAssignment) -> Placement | None:
    """The best of several greedy packings: the tasks in an order, each on its cheapest node with room."""
    rng = np.random.default_rng(0)
    cost = np.where(problem.usable, problem.sign * problem.units, _NEVER)
    spread = np.ptp(np.where(problem.usable, problem.units, problem.units.min(axis=1, keepdims=True)), axis=1)
    largest = problem.demand.max(axis=(0, 2), initial=0)
    tasks = len(problem.tasks)
    orders: list[Ints] = [np.argsort(-largest, kind="stable"), np.argsort(-spread, kind="stable")]
    orders += [rng.permutation(tasks) for _ in range(_ORDERS - len(orders))]
    best: tuple[Value, Placement] | None = None
    for order in orders:
        placement = problem.placement(_placed_in_turn(problem, order, cost))
        if not problem.violations(placement):
            value = problem.minimised(problem.evaluate(placement))
            if best is None or value < best[0]:
                best = value, placement
    return None if best is None else best[1]


#: The most moves and swaps.
_MOVES = 200

#: The most tasks for which swaps are tried, since their number is that of pairs of tasks.
_MOST_SWAPPED = 1_000

#: More than any gain; and less than any change that counts.
_NEVER, _LITTLE = 2**62, 1e-9


def repaired(problem: GeneralizedAssignment, cost: Ints, gain: Ints) -> Ints | None:
    """Each task on its best node with room by `gain`, those that would lose most first; then `improved`.

    A task that finds no room goes where it gains most, and the later moves repair the excess.

    `cost` is minimised; the less a `gain`, the more a node wants a task; both int64, shape (tasks, nodes). Returns the
    node of each task, or None if no moves make it feasible.
    """
    width = gain.shape[1]
    gain = np.where(problem.usable, gain, _NEVER)
    spread = np.partition(gain, 1, axis=1)[:, 1] - gain.min(axis=1) if width > 1 else gain[:, 0]
    return improved(problem, cost, _placed_in_turn(problem, np.argsort(-spread, kind="stable"), gain))


def _placed_in_turn(problem: GeneralizedAssignment, order: Ints, gain: Ints) -> Ints:
    """Each task of an order on the node with room and the least `gain`; if it fits nowhere, on that with the least."""
    left, nodes = problem.capacity.copy(), np.full(len(order), NONE, dtype=np.int64)
    for task in order.tolist():
        fits = problem.usable[task] & (problem.demand[:, task] <= left).all(axis=0)
        node = int(np.argmin(np.where(fits, gain[task], _NEVER) if fits.any() else gain[task]))
        nodes[task] = node
        left[:, node] -= problem.demand[:, task, node]
    return nodes


def improved(problem: GeneralizedAssignment, cost: Ints, nodes: Ints) -> Ints | None:
    """The placement after the best moves of a task, and swaps of two, as long as one improves it.

    Excess over a capacity counts first, in parts of the capacity, and then the cost. None if some excess remains.
    """
    nodes, every = nodes.copy(), np.arange(len(nodes))
    usable = np.where(problem.usable, cost, np.inf)
    demand = problem.demand / np.maximum(problem.capacity, 1)[:, None, :]
    exceeding = 1e3 * float(np.abs(cost).max(initial=0) + 1)
    for _ in range(_MOVES):
        used = np.zeros(problem.capacity.shape)
        for resource, taken in enumerate(demand[:, every, nodes]):
            np.add.at(used[resource], nodes, taken)
        over = _over(used)
        # A task where it must not run is as bad as one that fills its node twice.
        own = np.where(problem.usable[every, nodes], cost[every, nodes], exceeding)
        without = _over(used[:, nodes] - demand[:, every, nodes])
        moved = (
            usable
            - own[:, None]
            + exceeding * (_over(used[:, None, :] + demand) - over + (without - over[nodes])[:, None])
        )
        moved[every, nodes] = 0.0
        swapped = np.zeros((1, 1))
        if len(nodes) <= _MOST_SWAPPED:
            swapped = _swaps(usable, own, demand, used, nodes, exceeding)
        best = float(moved.min(initial=0.0)), float(swapped.min(initial=0.0))
        if min(best) > -_LITTLE:
            break
        if best[0] <= best[1]:
            task, node = np.unravel_index(int(moved.argmin()), moved.shape)
            nodes[task] = node
        else:
            one, other = np.unravel_index(int(swapped.argmin()), swapped.shape)
            nodes[[one, other]] = nodes[[other, one]]
    return None if problem.violations(problem.placement(nodes)) else nodes


def _swaps(usable: Floats, own: Floats, demand: Floats, used: Floats, nodes: Ints, exceeding: float) -> Floats:
    """The gain, or loss, if two tasks change places."""
    every = np.arange(len(nodes))
    over = _over(used)
    # What each node has with one of its tasks left out, and each other one in its place.
    there = usable[:, nodes].T - own[:, None]
    fuller = _over(used[:, nodes, None] - demand[:, every, nodes][:, :, None] + demand[:, :, nodes].transpose(0, 2, 1))
    swapped = there + exceeding * (fuller - over[nodes][:, None])
    return np.where(nodes[:, None] == nodes[None, :], 0.0, swapped + swapped.T)


def _over(used: Floats) -> Floats:
    """The total excess of the resources, in parts of their capacities."""
    over: Floats = np.maximum(used - 1.0 - _LITTLE, 0.0).sum(axis=0)
    return over
