"""The search of `worst-group`: the least mean within which every group can stay, and the least locality cost then.

A limit on the mean is a limit on each group's cost, in whole steps. Either the tasks can be placed within the limits,
or prices of groups and slots prove that they cannot, and the same prices prove the first mean at which they might:
that is the next limit. Few limits are tried. Where tasks cost either nothing or one same level, a limit is a capacity
in a network, maximum flows settle it, and prices are a minimum cut (`FlowEngine`). In general the limits cross the
network, and HiGHS solves its linear program, and an integer one where that is not whole (`ProgramEngine`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import scipy
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from optsched.certificates.worst_group import (
    GroupPrices,
    cost_certificate,
    group_tree_certificate,
    worst_group_certificate,
)
from optsched.core.deadline import check
from optsched.core.errors import SolverDisagreement
from optsched.core.instance import LARGEST, Ints
from optsched.core.placement import Placement
from optsched.core.results import Certificate, Limit, Number, Proof, Termination
from optsched.problems.worst_group import WorstGroup
from optsched.problems.worst_group_program import GroupProgram, group_limits
from optsched.searches.assignment import TransportNetwork, fill_idle_slots, network_program, solve_network_program
from optsched.searches.program_tree import settling_tree
from optsched.solvers.answers import rounded_prices, stronger, whole_bound, whole_numbers
from optsched.solvers.highs import MOST_COEFFICIENT, ArraySolution, LinearProgram, solve_arrays
from optsched.solvers.networks import maximum_b_matching
from optsched.solvers.outcome import STOPPED, stopped
from optsched.solvers.profiles import Profile

__all__ = ["Cheapest", "Engine", "FlowEngine", "GroupSearch", "Priced", "ProgramEngine", "is_flow"]

#: What prices are multiplied with before they are rounded, 1 first: small denominators are exact, others nearly so.
_SCALES = (1, 2520, 2**30)

#: A tree that proves what HiGHS says takes at most so many linear programs, of so many columns together.
_MOST_PROGRAMS, _MOST_COLUMNS = 2_000, 4_000_000

#: How far a value may be from a whole number and stand for it.
_WHOLE = 1e-5


class Priced(NamedTuple):
    """Prices in the unit 1/`scale`, as `WorstGroup.cost_bound` takes them."""

    scale: int
    prices: GroupPrices


class Cheapest(NamedTuple):
    """What is known of the cheapest placement within a mean.

    `nodes` has the node of each of `problem.tasks`, or -1, in the cheapest that was found (None without any);
    `feasible` says whether there is one at all (None where a limit struck first); `bound` is what the engine says that
    the cost is at least (None if nothing).
    """

    nodes: Ints | None
    feasible: bool | None
    bound: int | None
    limit: Limit | None


class Engine(Protocol):
    """What settles a limit on the mean of each group."""

    solver: Mapping[str, Any]
    raw_status: str

    def excluded(self, mean: Number) -> GroupPrices | None:
        """Prices that exclude any placement within the mean, as far as rounding leaves them; None without any."""

    def priced(self, mean: Number) -> Priced | None:
        """Prices that bound the cost of placements within the mean, if there are some."""

    def cheapest(self, mean: Number, start: Placement | None) -> Cheapest:
        """The placement of least cost within the mean, beginning from one within it."""

    def left(self) -> Profile:
        """What is left of the limits, for linear programs."""


class _LimitedNetwork:
    """The compact network of the problem, and where in it the groups pay: what both engines start from.

    Attributes
    ----------
    network
        `TransportNetwork`: source, groups, classes, and nodes, racks and "anywhere", sink.
    paying
        Arcs from classes that cost something.
    group
        Group that pays for each of them.
    """

    def __init__(self, problem: WorstGroup) -> None:
        check()
        self.problem = problem
        self.network = TransportNetwork(problem)
        check()
        self.paying = np.flatnonzero(self.network.cost > 0)
        first_class = 1 + len(problem.group_ids)
        self.group = problem.pool[self.network.classes.first][self.network.tail[self.paying] - first_class]


def is_flow(problem: WorstGroup) -> bool:
    """Whether each task costs nothing or one same level: limits on the groups' costs are capacities then."""
    on_node, in_rack, off_rack = problem.levels
    return on_node == 0 and (in_rack in (0, off_rack) or not len(problem.instance.cluster.rack_ids))


class FlowEngine:
    """Maximum flows (SciPy): the tasks of a group that cost something pass one vertex, whose capacity is the limit.

    Only for problems of which `is_flow` is true.
    """

    raw_status = "maximum flow"

    def __init__(self, problem: WorstGroup) -> None:
        parts = _LimitedNetwork(problem)
        self.problem, self._network = problem, parts.network
        self.solver: Mapping[str, Any] = {"name": "SciPy maximum_flow", "version": scipy.__version__}
        self._level = max(1, problem.levels[2])
        network, groups = parts.network, len(problem.group_ids)
        self._toll = len(network.labels) + np.arange(groups)
        self._tolls = len(network.labels) + groups  # where all tasks that cost something come together
        self._first_toll = len(network.tail)
        head = network.head.copy()
        head[parts.paying] = self._toll[parts.group]
        anywhere = network.head[parts.paying][:1]
        onwards = np.full(len(anywhere), self._tolls)
        self._tail = np.concatenate([network.tail, self._toll, onwards])
        self._head = np.concatenate([head, np.full(groups, self._tolls), anywhere])
        room = np.minimum(network.capacity, problem.count)
        self._room = np.concatenate([room, np.zeros(groups + len(anywhere), dtype=np.int64)])
        self._order = np.lexsort((self._head, self._tail))
        self._starts = np.searchsorted(self._tail[self._order], np.arange(self._tolls + 2)).astype(np.int32)

    def excluded(self, mean: Number) -> GroupPrices | None:
        network, flow, total = self._flow(self.problem.most_within(mean), self.problem.count)
        return None if total == self.problem.count else self._cut(network, flow)

    def priced(self, mean: Number) -> Priced:
        return self._fewest[1]

    def cheapest(self, mean: Number, start: Placement | None) -> Cheapest:
        """A placement with the fewest tasks that cost something of all, wherever they are: some within the mean has it.

        Sets of tasks that can run at their data at once are independent in a matroid, so that each is part of a largest
        one (Guo et al. 2012, note 12).
        """
        dear, _ = self._fewest
        _, flow, total = self._flow(self.problem.most_within(mean), dear)
        if total != self.problem.count:
            told = f"SciPy places {total} of {self.problem.count} tasks"
            raise SolverDisagreement(f"{self.problem.name}: {told}")
        arcs = slice(self._first_toll)
        sent = np.asarray(flow[self._tail[arcs], self._head[arcs]]).ravel().astype(np.int64)
        return Cheapest(self._network.decode(sent), True, dear * self._level, None)

    def left(self) -> Profile:
        return Profile("exact")

    @cached_property
    def _fewest(self) -> tuple[int, Priced]:
        """The fewest tasks that cost something in any placement, and the prices that prove it."""
        network, flow, total = self._flow([0] * len(self._toll), 0)
        cut = self._cut(network, flow)
        return self.problem.count - total, Priced(1, cut._replace(groups=[0] * len(cut.groups)))

    def _flow(self, most: Sequence[int], dear: int) -> tuple[Any, Any, int]:
        """A network with these limits and at most `dear` tasks that cost something, its maximum flow, and the value."""
        check()
        capacity = self._room.copy()
        limits = [min(self.problem.count, cost // self._level) for cost in most]
        capacity[self._first_toll : self._first_toll + len(limits)] = limits
        capacity[self._first_toll + len(limits) :] = dear
        parts = (capacity[self._order].astype(np.int32), self._head[self._order].astype(np.int32), self._starts)
        network = sp.csr_array(parts, shape=(self._tolls + 1, self._tolls + 1))
        found = maximum_flow(network, 0, self._network.sink)
        return network, found.flow, int(found.flow_value)

    def _cut(self, network: Any, flow: Any) -> GroupPrices:
        """The minimum cut as prices: one level for whatever leads out of what the residual network reaches."""
        residual = sp.csr_array(network - flow)
        residual.eliminate_zeros()
        height = np.zeros(self._tolls + 1, dtype=np.int64)
        height[breadth_first_order(residual, 0, return_predecessors=False)] = self._level
        found = self._network.prices(height[: self._network.sink + 1])
        return GroupPrices(found.task, found.nodes, (height[self._toll] // self._level).tolist())


class ProgramEngine:
    """HiGHS with arrays: the network's linear program with a row for each group, and the integer one if need be."""

    def __init__(self, problem: WorstGroup, profile: Profile) -> None:
        self.problem, self._profile, self._began = problem, profile, time.perf_counter()
        self.solver: Mapping[str, Any] = {}
        self.raw_status = ""
        parts = _LimitedNetwork(problem)
        self._network = network = parts.network
        self._groups, arcs = len(problem.group_ids), len(network.tail)
        self._paying, self._group = parts.paying, parts.group
        base = network_program(network.tail, network.head, network.capacity, network.cost, network.supply)
        costs = sp.csc_array((base.objective[parts.paying], (parts.group, parts.paying)), shape=(self._groups, arcs))
        self._program = replace(
            base,
            matrix=sp.vstack([base.matrix, costs], format="csc"),
            row_lower=np.append(base.row_lower, np.full(self._groups, -np.inf)),
            row_upper=np.append(base.row_upper, np.zeros(self._groups)),
        )

    @property
    def _priceable(self) -> bool:
        """Whether HiGHS takes costs as coefficients, so that limits on what groups pay have duals."""
        return int(self._network.cost.max(initial=0)) < MOST_COEFFICIENT

    def excluded(self, mean: Number) -> GroupPrices | None:
        """Prices where they prove that the groups must exceed their limits: those of the program of least excess."""
        if not self._priceable:
            return None
        program, groups = self._within(mean), self._groups
        above = sp.csc_array((program.matrix.shape[0] - groups, groups))
        found = self._solved(
            replace(
                program,
                objective=np.append(np.zeros_like(program.objective), np.ones(groups)),
                col_lower=np.append(program.col_lower, np.zeros(groups)),
                col_upper=np.append(program.col_upper, np.full(groups, np.inf)),
                integer=np.append(program.integer, np.zeros(groups, dtype=bool)),
                matrix=sp.hstack([program.matrix, sp.vstack([above, -sp.eye_array(groups)])], format="csc"),
            )
        )
        if found.row_duals is None:
            return None

        def proved(prices: GroupPrices) -> Number:
            return self.problem.mean_bound(prices.groups, prices.task, prices.nodes)

        best = max((prices for _, prices in self._rounded(found.row_duals)), key=proved, default=None)
        return best if best is not None and proved(best) > mean else None

    def priced(self, mean: Number) -> Priced | None:
        duals = self._solved(self._within(mean)).row_duals if self._priceable else None
        if duals is None:
            return None

        def proved(priced: Priced) -> Number:
            prices = priced.prices
            return self.problem.cost_bound(mean, priced.scale, prices.groups, prices.task, prices.nodes)

        return max(self._rounded(duals), key=proved, default=None)

    def cheapest(self, mean: Number, start: Placement | None) -> Cheapest:
        program = self._counted(mean)
        if program.matrix.size and np.abs(program.matrix.data).max() >= MOST_COEFFICIENT:
            self.raw_status = "costs are too large for HiGHS"
            return Cheapest(None, None, None, None)
        relaxed = self._solved(program)
        if relaxed.x is not None and (np.abs(relaxed.x - np.rint(relaxed.x)) <= _WHOLE).all():
            return self._told(relaxed)
        hint = None
        if start is not None:
            hint = self._network.flow_of(self.problem.nodes_of(start)).astype(np.float64)
        return self._told(self._solved(replace(program, integer=np.ones_like(program.integer)), hint))

    def left(self) -> Profile:
        return self._profile.since(self._began)

    def _placement(self, x: npt.NDArray[np.float64]) -> Placement:
        return self.problem.placement(self._network.decode(whole_numbers(x)))

    def _told(self, found: ArraySolution) -> Cheapest:
        """What HiGHS holds of the cheapest placement, and says of its cost: that is exact where it is an optimum."""
        outcome = found.outcome
        if found.x is None:
            return Cheapest(None, False if outcome.status is Termination.INFEASIBLE else None, None, outcome.limit)
        nodes = self._network.decode(whole_numbers(found.x))
        bound = None if outcome.bound is None else whole_bound(outcome.bound)
        if outcome.status is Termination.OPTIMAL:
            bound = int(self.problem.objective(self.problem.placement(nodes))[1])
        return Cheapest(nodes, True, bound, outcome.limit)

    def _counted(self, mean: Number) -> LinearProgram:
        """The program with limits on numbers of tasks in the place of those on costs, however large these are.

        HiGHS keeps whole numbers to a millionth: with costs of a million it takes a cost beyond the limit for one
        within it. Small whole coefficients leave no doubt.
        """
        limits = group_limits(self.problem, self.problem.most_within(mean))
        if limits is None:
            return self._within(mean)
        on_node, _, off_rack = self.problem.levels
        counts = []
        for group, racked, elsewhere, _ in limits:
            own = self._paying[self._group == group]
            paid = self._program.objective[own]
            row = np.where(paid == off_rack, elsewhere, np.where(paid > on_node, racked, 0))
            counts.append(sp.csr_array((row, (np.zeros_like(own), own)), shape=(1, len(self._program.objective))))
        kept = self._program.matrix.shape[0] - self._groups
        return replace(
            self._program,
            matrix=sp.vstack([self._program.matrix[:kept], *counts], format="csc"),
            row_lower=np.append(self._program.row_lower[:kept], np.full(len(limits), -np.inf)),
            row_upper=np.append(self._program.row_upper[:kept], np.array([limit[-1] for limit in limits], dtype=float)),
        )

    def _within(self, mean: Number) -> LinearProgram:
        limits = np.array(self.problem.most_within(mean), dtype=np.float64)
        return replace(self._program, row_upper=np.append(self._program.row_upper[: -self._groups], limits))

    def _solved(self, program: LinearProgram, start: npt.NDArray[np.float64] | None = None) -> ArraySolution:
        """What HiGHS finds in the time that is left; KeyboardInterrupt where Ctrl-C leaves nothing."""
        check()
        profile = self.left()
        if program.integer.any():
            found = solve_arrays(program, profile, start, self._placement)
        else:
            found = solve_network_program(program, profile)
        self.solver, self.raw_status = found.outcome.solver, found.outcome.raw_status
        if found.x is None and found.outcome.limit is Limit.INTERRUPTED:
            raise KeyboardInterrupt
        return found

    def _rounded(self, duals: npt.NDArray[np.float64]) -> Iterator[Priced]:
        """Duals of the rows as prices, at each of the scales at which they are exact as doubles."""
        for scaled, scale in rounded_prices(duals, _SCALES):
            found = self._network.prices(scaled[: -self._groups])
            groups = np.maximum(-scaled[-self._groups :], 0).tolist()
            if max(abs(found.task), int(found.nodes.max(initial=0))) <= LARGEST:
                yield Priced(scale, GroupPrices(found.task, found.nodes, groups))


class GroupSearch:
    """The least mean, then the least cost within it, with what proves them.

    Parameters
    ----------
    problem
        In which something is placed.
    engine
        What settles a limit on the mean.
    start
        A feasible placement to begin from.

    Attributes
    ----------
    placement
        The best that is held: the start, or a placement with most tasks at their data, until a better one is found.
    certificates
        Of the worst mean, and of the cost where the mean is settled.
    limit, raw_status
        What cut it short, and the words of the engine, or why they settle nothing.
    """

    def __init__(self, problem: WorstGroup, engine: Engine, start: Placement | None = None) -> None:
        self.problem, self.engine = problem, engine
        self.placement = self._most_local() if start is None else start
        self.certificates: tuple[Certificate, ...] = (worst_group_certificate(problem, GroupPrices.none(problem)),)
        self.limit: Limit | None = None
        self.raw_status = ""

    def _most_local(self) -> Placement:
        problem, local = self.problem, self.problem.idle_replicas
        nodes = maximum_b_matching(local.starts, local.values, problem.capacity, len(problem.capacity)).node.copy()
        fill_idle_slots(nodes, problem.capacity, problem.count)
        return problem.placement(nodes)

    def run(self) -> None:
        """Search to the end, or to where a limit strikes: what is known by then is held."""
        try:
            mean = self.exclude_means()
            mean, found = self._first_within(mean)
            if found is not None and found.nodes is not None:
                self.limit = found.limit
                self.certificates += (stronger(self.priced_cost(mean), found.bound),)
                self.certificates = tuple(map(self._shown, self.certificates))
        except STOPPED as error:
            self.limit, self.raw_status = stopped(error)
        else:
            self.raw_status = self.raw_status or self.engine.raw_status

    def exclude_means(self) -> Number:
        """The first mean that the engine does not exclude; of what prices prove of it there is a certificate then."""
        mean = self.certificates[0].claim
        while (prices := self.engine.excluded(mean)) is not None:
            proved = worst_group_certificate(self.problem, prices)
            if proved.claim > self.certificates[0].claim:
                self.certificates = (proved,)
            mean = proved.claim if proved.claim > mean else self._past(mean)
        return mean

    def _past(self, mean: Number) -> Number:
        """The next mean, on the engine's word that nothing is within this one."""
        following = self.problem.mean_above(mean)
        self.certificates = (Certificate("worst-mean", Proof.SOLVER, following),)
        return following

    def _first_within(self, mean: Number) -> tuple[Number, Cheapest | None]:
        """The least mean from this one on within which there is a placement, and the cheapest; by halving, if need be.

        None where a limit struck first.
        """
        problem, best = self.problem, self.placement
        found = self._try(mean)
        if found.feasible:
            return problem.evaluate(self.placement)[0], found
        highest = problem.evaluate(best)[0]
        within: tuple[Number, Cheapest] | None = None
        first = True
        while found.feasible is not None:
            following = self._past(mean)
            if following >= highest:
                break
            halfway = problem.mean_from(Fraction(mean + highest) / 2)
            probe = following if first or not mean < halfway < highest else halfway
            first = False
            assert mean < probe < highest, "each round excludes means from below or from above"
            found = self._try(probe)
            if found.feasible:
                highest = problem.evaluate(self.placement)[0]
                within = probe, found
            elif found.feasible is False:
                mean = probe
        if found.feasible is None:
            self.limit = found.limit
            return mean, None
        if within is None or within[0] != highest:
            return highest, self._try(highest)
        return within

    def _try(self, mean: Number) -> Cheapest:
        """The cheapest placement within a mean, which is held if it is better than what is.

        Where the engine's placement is not within the mean, its tolerances hide whether there is one: nothing is known.
        """
        problem = self.problem
        start = self.placement if problem.evaluate(self.placement)[0] <= mean else None
        found = self.engine.cheapest(mean, start)
        if found.nodes is None:
            return found
        placement = problem.placement(found.nodes)
        self.placement = min(self.placement, placement, key=problem.evaluate)
        if problem.evaluate(placement)[0] <= mean:
            return found
        self.raw_status = "the solver's placement is beyond the limit on the mean, by its tolerances"
        return Cheapest(None, None, None, found.limit)

    def _shown(self, certificate: Certificate) -> Certificate:
        """The certificate, or a tree that proves what is only a word there and is attained."""
        problem, claim = self.problem, certificate.claim
        value = dict(zip((part.name for part in problem.components), problem.evaluate(self.placement), strict=True))
        if certificate.kind is not Proof.SOLVER or value[certificate.component] != claim:
            return certificate
        mean = None if certificate.component == "worst-mean" else value["worst-mean"]
        most = problem.most_below(claim) if mean is None else problem.most_within(mean)
        program = GroupProgram(problem, most, costless=mean is None).program
        most_programs = min(_MOST_PROGRAMS, _MOST_COLUMNS // len(program.objective))
        tree = settling_tree(program, 1 if mean is None else int(claim), self.engine.left(), most_programs)
        return certificate if tree is None else group_tree_certificate(problem, claim, tree, mean)

    def priced_cost(self, mean: Number) -> Certificate:
        """What prices prove of the cost within a mean."""
        priced = self.engine.priced(mean) or Priced(1, GroupPrices.none(self.problem))
        return cost_certificate(self.problem, mean, *priced)
