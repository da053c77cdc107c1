"""`flow-congestion`: a flow with an arc for each slot where the instance is convex, else patterns by HiGHS on arrays.

Potentials of the flow, or duals of the rows of tasks, are prices, which `FlowCongestion.price_bound` makes a bound of.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optsched.errors import SolverDisagreement
from optsched.instance import Floats, Ints
from optsched.placement import NONE, Placement
from optsched.problems.congestion_loads import CongestionLoads
from optsched.problems.flow_congestion import FlowCongestion
from optsched.results import Termination
from optsched.searches.assignment import solve_network
from optsched.searches.program_tree import as_arrays
from optsched.solvers.answers import rounded_prices
from optsched.solvers.highs import ArraySolution, LinearProgram, solve_arrays, solve_uninterrupted
from optsched.solvers.outcome import SolverOutcome
from optsched.solvers.profiles import Profile

__all__ = [
    "LoadProgram",
    "SlotNetwork",
    "TaskPrices",
    "distributed",
    "plain_prices",
    "solve_convex_flow",
    "solve_patterns",
    "solve_relaxed",
]

#: A solution this near to whole numbers is taken for whole.
_WHOLE = 1e-6


class TaskPrices(NamedTuple):
    """Prices of one more task of each kind, and of a task of each class, in units times `scale`; int64."""

    counts: Ints
    classes: Ints
    scale: int


def plain_prices(problem: FlowCongestion) -> TaskPrices:
    """Prices that need no solver. They prove the bound of `cheap_bounds`: each task on its best node without load."""
    least, kind = problem.least_units(), problem.type_kind[problem.class_type]
    counts = np.zeros(len(problem.counts), dtype=np.int64)
    for which, count in enumerate(problem.counts.tolist()):
        if count:
            ordered = np.sort(np.repeat(least[kind == which], problem.classes.size[kind == which]))
            counts[which] = ordered[count - 1]
    return TaskPrices(counts, np.maximum(counts[kind] - least, 0), 1)


class LoadProgram(CongestionLoads):
    """`CongestionLoads` as arrays for HiGHS, and what its answers stand for."""

    def arrays(self, relaxed: bool = False) -> LinearProgram:
        """The program as arrays, in the problem's units; `relaxed` makes whole numbers continuous."""
        program = self.program
        arrays = as_arrays(program, integer=not relaxed)
        if relaxed:  # the rows of supply limit the pairs; with a limit of their own, duals could settle on that instead
            arrays.col_upper[len(self.host) :] = np.inf
        return arrays

    def prices(self, duals: Floats | None) -> TaskPrices:
        """The prices that prove the best bound, of those that the rows' duals round to and the plain ones.

        The bound is valid whatever the prices are. So no solver is believed.
        """
        problem = self.problem
        classes, kinds = len(problem.classes.first), len(problem.counts)
        if duals is None:
            return plain_prices(problem)
        price = np.concatenate((duals[-kinds:], np.maximum(-duals[-kinds - classes : -kinds], 0.0)))
        found = [TaskPrices(prices[:kinds], prices[kinds:], scale) for prices, scale in rounded_prices(price)]
        return max([plain_prices(problem), *found], key=lambda prices: problem.price_bound(*prices))

    def start(self, placement: Placement) -> Floats:
        """The columns' values for a feasible placement, where loads are patterns."""
        problem = self.problem
        nodes = problem.nodes_of(placement)
        placed = np.flatnonzero(nodes != NONE)
        columns = np.searchsorted(problem.idle_nodes, nodes[placed])
        added = np.zeros((len(problem.idle_nodes), len(problem.type_kind)), dtype=np.int64)
        np.add.at(added, (columns, problem.types.of_task[placed]), 1)
        hosts = problem.hosts.of_task
        load_of = {
            (host, row.tobytes()): load
            for load, (host, row) in enumerate(zip(self.host.tolist(), self.added, strict=True))
        }
        values = np.zeros(len(self.host) + len(self.pair_class))
        for column in np.unique(columns).tolist():
            values[load_of[int(hosts[column]), added[column].tobytes()]] += 1
        amounts = np.zeros((len(problem.classes.first), len(problem.hosts.first)))
        np.add.at(amounts, (problem.classes.of_task[placed], hosts[columns]), 1)
        values[len(self.host) :] = amounts[self.pair_class, self.pair_host]
        return values

    def placement(self, x: Floats) -> Placement:
        """The placement that a solution stands for.

        Raises
        ------
        SolverDisagreement
            If it is no feasible placement.
        """
        problem = self.problem
        taken = np.rint(x).astype(np.int64)
        loads, pairs = taken[: len(self.host)], taken[len(self.host) :]
        amounts = np.zeros((len(problem.classes.first), len(problem.hosts.first)), dtype=np.int64)
        amounts[self.pair_class, self.pair_host] = pairs
        hosts = [self.host == host for host in range(len(problem.hosts.first))]
        found = distributed(problem, [np.repeat(self.added[own], loads[own], axis=0) for own in hosts], amounts)
        wrong = problem.violations(found)
        if wrong:
            raise SolverDisagreement(f"{problem.name}: HiGHS holds a placement that violates {wrong[0]}")
        return found


def distributed(problem: FlowCongestion, sets: list[Ints], amounts: Ints) -> Placement:
    """The placement in which nodes of each host get given sets of tasks.

    Parameters
    ----------
    problem
        The problem.
    sets
        For each host the tasks of each type that its first nodes get, shape (nodes of the host or fewer, types).
    amounts
        int64, shape (classes, hosts): how many tasks of each class the host's nodes get together. Over the classes of a
        type they sum to what the sets of the host hold of that type.
    """
    nodes = np.full(len(problem.tasks), NONE, dtype=np.int64)
    waiting = [members.tolist() for members in problem.classes.members]
    for host, (columns, added) in enumerate(zip(problem.hosts.members, sets, strict=True)):
        for kind in range(len(problem.type_kind)):
            hosts = np.repeat(problem.idle_nodes[columns[: len(added)]], added[:, kind])
            tasks: list[int] = []
            for row in np.flatnonzero((problem.class_type == kind) & (amounts[:, host] > 0)).tolist():
                sent = int(amounts[row, host])
                tasks += waiting[row][:sent]
                del waiting[row][:sent]
            nodes[tasks] = hosts
    return problem.placement(nodes)


class SlotNetwork:
    """The network of a problem with one type of tasks: source, classes, hosts, sink, and an arc for each slot.

    The k-th task on a node pays what it adds to the cost of the k - 1 before it. Where this never falls, the cheapest
    slots of a node are its first ones, so a flow of least cost costs what its placement costs.

    Attributes
    ----------
    tail, head, capacity, cost, supply
        As for `min_cost_flow`. The source is vertex 0, the sink the last. First are the arcs to classes, then those
        from each class to each host, then the slots.
    """

    def __init__(self, problem: FlowCongestion) -> None:
        self.problem = problem
        classes, hosts = len(problem.classes.first), len(problem.hosts.first)
        added = [np.diff(problem.pattern_units(host)) for host in range(hosts)]
        host = np.repeat(np.arange(hosts), np.array(list(map(len, added)), dtype=np.int64))
        of_class, of_host, sink = 1 + np.arange(classes), 1 + classes + np.arange(hosts), 1 + classes + hosts
        size = problem.classes.size
        self.tail = np.concatenate((np.zeros_like(size), np.repeat(of_class, hosts), of_host[host]))
        self.head = np.concatenate((of_class, np.tile(of_host, classes), np.full(len(host), sink)))
        self.capacity = np.concatenate((size, np.repeat(size, hosts), problem.hosts.size[host]))
        read = problem.read_units[:, problem.hosts.first]
        self.cost = np.concatenate((np.zeros_like(size), read.ravel(), *added))
        self.supply = np.zeros(sink + 1, dtype=np.int64)
        self.supply[0], self.supply[sink] = problem.due, -problem.due

    def placement(self, flow: Ints) -> Placement:
        """The placement that a flow stands for; alike nodes share their host's tasks evenly."""
        problem = self.problem
        classes, hosts = len(problem.classes.first), len(problem.hosts.first)
        amounts = flow[classes : classes * (1 + hosts)].reshape(classes, hosts)
        sets = [
            (total + np.arange(size)[::-1, None]) // size
            for total, size in zip(amounts.sum(axis=0).tolist(), problem.hosts.size.tolist(), strict=True)
        ]
        return distributed(problem, sets, amounts)

    def prices(self, potential: Ints) -> TaskPrices:
        """Prices of tasks by what lies between source, classes and sink; see `NetworkSolution` for the sign."""
        kind, classes = self.problem.type_kind[0], len(self.problem.classes.first)
        counts = np.zeros(len(self.problem.counts), dtype=np.int64)
        counts[kind] = potential[0] - potential[-1]
        return TaskPrices(counts, np.maximum(potential[0] - potential[1 : 1 + classes], 0), 1)


def solve_convex_flow(problem: FlowCongestion, profile: Profile) -> tuple[SolverOutcome, Placement | None, TaskPrices]:
    """Solve a convex problem as a minimum-cost flow with an arc for each slot of a host (`SlotNetwork`).

    Returns
    -------
    tuple
        What the engine says; the placement that it holds; and prices that prove it.

    Raises
    ------
    ValueError
        If the problem is not convex.
    """
    if not problem.convex:
        raise ValueError(f"{problem.name}: there are several types of tasks, or one more costs less than one before")
    network = SlotNetwork(problem)
    found = solve_network(network.tail, network.head, network.capacity, network.cost, network.supply, profile)
    if found.flow is None or found.potential is None:
        return found.outcome, None, plain_prices(problem)
    return found.outcome, network.placement(found.flow), network.prices(found.potential)


def solve_relaxed(problem: FlowCongestion, profile: Profile) -> tuple[SolverOutcome, Placement | None, TaskPrices]:
    """Solve the relaxed program of patterns.

    Returns
    -------
    tuple
        What HiGHS says, in units; the placement that it holds, which is optimal, or None where the solution is not
        whole; and the prices that its duals give.

    Raises
    ------
    KeyboardInterrupt
        If Ctrl-C came while HiGHS ran.
    """
    program = LoadProgram(problem)
    found = solve_uninterrupted(program.arrays(relaxed=True), profile)
    placement = None
    if found.x is not None and found.outcome.status is Termination.OPTIMAL:
        whole = np.abs(found.x - np.rint(found.x)).max(initial=0.0) <= _WHOLE
        placement = program.placement(found.x) if whole else None
    return found.outcome, placement, program.prices(found.row_duals)


def solve_patterns(
    problem: FlowCongestion, profile: Profile, start: Placement | None = None
) -> tuple[SolverOutcome, Placement | None]:
    """Solve the program of patterns, in units; `start` is a feasible placement to begin from."""
    program = LoadProgram(problem)
    hint = None if start is None else program.start(start)
    found: ArraySolution = solve_arrays(program.arrays(), profile, hint, program.placement)
    return found.outcome, None if found.x is None else program.placement(found.x)
