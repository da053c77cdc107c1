"""`flow-congestion` by HiGHS on arrays: a flow with an arc for each slot where the instance is convex, else patterns.

Both are one program: it chooses loads for the nodes of each host, and how many tasks of each class go to each host.
Loads are patterns of which a node takes one, or slots that add up. The duals of the rows of tasks are prices, which
`FlowCongestion.price_bound` makes a bound of.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from optsched.errors import SolverDisagreement
from optsched.instance import Floats, Ints
from optsched.placement import NONE, Placement
from optsched.problems.flow_congestion import FlowCongestion
from optsched.results import Termination
from optsched.solvers.answers import rounded_prices
from optsched.solvers.highs import ArraySolution, LinearProgram, solve_arrays, solve_uninterrupted
from optsched.solvers.outcome import SolverOutcome
from optsched.solvers.profiles import Profile

__all__ = [
    "LoadProgram",
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


class LoadProgram:
    """Loads on hosts and tasks of classes on them, at least cost.

    Columns are the loads, then the pairs of class and host. Rows: a host has no more patterns than nodes; the loads of
    a host hold as many tasks of each type as go there; the supply of each class; how many tasks of each kind run.

    Parameters
    ----------
    problem
        What to solve.
    patterns
        Whether the loads are patterns, of which a node takes at most one. Else they are slots, one after another, and
        each costs what its task adds. Slots are right where the problem is convex; the program is then a network's.

    Attributes
    ----------
    host, added, units, most
        Of each load: its host; tasks of each type, shape (loads, types); cost; how often it may be taken.
    pair_class, pair_host
        Class and host of each pair.
    """

    def __init__(self, problem: FlowCongestion, patterns: bool) -> None:
        self.problem, self.patterns = problem, patterns
        hosts, types = len(problem.hosts.first), len(problem.type_kind)
        tables = [(problem.patterns(host), problem.pattern_units(host)) for host in range(hosts)]
        if patterns:
            added, units = [rows[1:] for rows, _ in tables], [costs[1:] for _, costs in tables]
        else:
            added, units = [np.diff(rows, axis=0) for rows, _ in tables], [np.diff(costs) for _, costs in tables]
        self.host: Ints = np.repeat(np.arange(hosts), np.array([len(rows) for rows in added], dtype=np.int64))
        self.added: Ints = np.concatenate((np.zeros((0, types), dtype=np.int64), *added))
        self.units: Ints = np.concatenate((np.zeros(0, dtype=np.int64), *units))
        self.most: Ints = problem.hosts.size[self.host]
        nodes = problem.idle_nodes[problem.hosts.first]
        offered = problem.slots[problem.type_kind[problem.class_type]][:, nodes] > 0
        self.pair_class, self.pair_host = (side.astype(np.int64) for side in np.nonzero(offered))

    def arrays(self, relaxed: bool = False) -> LinearProgram:
        """The program as arrays, in the problem's units; `relaxed` makes whole numbers continuous."""
        problem = self.problem
        hosts, types = len(problem.hosts.first), len(problem.type_kind)
        classes, loads, pairs = len(problem.classes.first), len(self.host), len(self.pair_class)
        linked = hosts + np.arange(hosts * types).reshape(hosts, types)
        supply = hosts + hosts * types
        load, type_of_load = np.nonzero(self.added)
        pair = loads + np.arange(pairs)
        pair_type = problem.class_type[self.pair_class]
        rows = (
            self.host,
            linked[self.host[load], type_of_load],
            linked[self.pair_host, pair_type],
            supply + self.pair_class,
            supply + classes + problem.type_kind[pair_type],
        )
        columns = (np.arange(loads), load, pair, pair, pair)
        values = (np.ones(loads), -self.added[load, type_of_load], *([np.ones(pairs)] * 3))
        shape = (supply + classes + len(problem.counts), loads + pairs)
        read = problem.read_units[self.pair_class, problem.hosts.first[self.pair_host]]
        nodes = problem.hosts.size if self.patterns else np.full(hosts, np.inf)
        none = np.zeros(supply - hosts)
        # The rows of supply limit the pairs; with a limit of their own, duals could settle on that instead.
        most = np.full(pairs, np.inf) if relaxed else problem.classes.size[self.pair_class]
        return LinearProgram(
            objective=np.concatenate((self.units, read)).astype(np.float64),
            col_lower=np.zeros(shape[1]),
            col_upper=np.concatenate((self.most, most)).astype(np.float64),
            integer=np.full(shape[1], not relaxed),
            row_lower=np.concatenate((np.zeros(supply + classes), problem.counts)),
            row_upper=np.concatenate((nodes, none, problem.classes.size, problem.counts)).astype(np.float64),
            matrix=sp.csr_array(
                (np.concatenate(values).astype(np.float64), (np.concatenate(rows), np.concatenate(columns))),
                shape=shape,
            ),
        )

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
        """The placement that a solution stands for; alike nodes share their host's slots evenly.

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
        sets = []
        for host, size in enumerate(problem.hosts.size.tolist()):
            own = self.host == host
            if self.patterns:
                sets.append(np.repeat(self.added[own], loads[own], axis=0))
            else:
                total = int(loads[own].sum())
                sets.append((total + np.arange(size)[::-1, None]) // size)
        found = distributed(problem, sets, amounts)
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


def solve_convex_flow(problem: FlowCongestion, profile: Profile) -> tuple[SolverOutcome, Placement | None, TaskPrices]:
    """Solve a convex problem as a minimum-cost flow with an arc for each slot of a host.

    The k-th task on a node pays what it adds to the cost of the k - 1 before it. Where this never falls, the cheapest
    slots of a node are its first ones, so the flow costs what its placement costs.

    Returns
    -------
    tuple
        What HiGHS says, in units; the placement that it holds; and prices that prove it.

    Raises
    ------
    ValueError
        If the problem is not convex.
    """
    if not problem.convex:
        raise ValueError(f"{problem.name}: there are several types of tasks, or one more costs less than one before")
    program = LoadProgram(problem, patterns=False)
    found = solve_arrays(program.arrays(relaxed=True), profile)
    return found.outcome, None if found.x is None else program.placement(found.x), program.prices(found.row_duals)


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
    program = LoadProgram(problem, patterns=True)
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
    program = LoadProgram(problem, patterns=True)
    found: ArraySolution = solve_arrays(program.arrays(), profile, None if start is None else program.start(start))
    return found.outcome, None if found.x is None else program.placement(found.x)
