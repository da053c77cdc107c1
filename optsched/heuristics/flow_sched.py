"""Hsu and Freeh's heuristics for one snapshot: the flow scheduler's round, and their Balancing scheduler.

They are batch heuristics, draw nothing at random and place exactly as many tasks as there are slots for. `fair` has
FIFO, Fair and Capacity scheduling.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from optsched.core.deadline import check
from optsched.core.instance import KINDS, Floats, Ints
from optsched.core.placement import NONE, Placement
from optsched.heuristics.running.base import Heuristic
from optsched.problems.flow import Flow
from optsched.problems.flow_congestion import FlowCongestion
from optsched.problems.parameters import Parameter, choice
from optsched.solvers.searches.assignment import optimal_placement
from optsched.solvers.searches.program_network import cheapest_flow


def flow_sched(problem: Flow | FlowCongestion, rng: np.random.Generator) -> Placement:
    """The flow scheduler's round: a minimum-cost flow with frozen loads.

    It solves the problem `flow` itself, so its gap there is 0 by construction. In `flow-congestion` it ignores the load
    that its own placements add. There it places reduces as well as maps. Nodes without idle slots are left out. If
    there are more tasks than slots, the most expensive ones wait, as with arcs "unscheduled" (Hsu and Freeh, note 2).

    References
    ----------
    Hsu and Freeh, sections 3.3 and 4.1. The paper's solver is cs2; here it is the network engine for assignment
    problems, and in `flow-congestion` HiGHS on the network of classes and nodes.

    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> cluster = Cluster(["n1", "n2"], rate_in=[85, 85])
    >>> problem = Flow(Instance(cluster, Workload(["t1"], rate_in=[3])), scale=1)
    >>> flow_sched(problem, np.random.default_rng()).placed
    1
    """
    if isinstance(problem, Flow):
        return optimal_placement(problem)
    return _frozen_optimum(problem)


def _frozen_optimum(problem: FlowCongestion) -> Placement:
    """Least cost at the costs of `frozen_units`: for each kind classes, then nodes, then a sink."""
    nodes = np.full(len(problem.tasks), NONE, dtype=np.int64)
    idle, members = problem.idle_nodes, problem.classes.members
    for kind in problem.kinds:
        classes = np.flatnonzero(problem.type_kind[problem.class_type] == kind)
        columns = np.flatnonzero(problem.slots[kind, idle] > 0)
        count = int(problem.counts[kind])
        if not count:
            continue
        row, column = (side.ravel() for side in np.indices((len(classes), len(columns))))
        source, host = len(classes) + len(columns), len(classes) + np.arange(len(columns))
        supply = np.zeros(source + 2, dtype=np.int64)
        supply[-2:] = count, -count
        size, slots = problem.classes.size[classes], problem.slots[kind, idle[columns]]
        flow = cheapest_flow(
            tail=np.concatenate((np.full(len(classes), source), row, host)),
            head=np.concatenate((np.arange(len(classes)), host[column], np.full(len(columns), source + 1))),
            capacity=np.concatenate((size, size[row], slots)),
            cost=np.concatenate((0 * size, problem.frozen_units[classes[row], columns[column]], 0 * slots)),
            supply=supply,
            who="flow-sched",
        )
        sent = flow[len(classes) : len(classes) + len(row)].reshape(len(classes), len(columns))
        for line, amounts in zip(classes.tolist(), sent, strict=True):
            tasks = members[line][: int(amounts.sum())]
            nodes[tasks] = np.repeat(idle[columns], amounts)
    return problem.placement(nodes)


def flow_greedy(problem: FlowCongestion, rng: np.random.Generator, *, order: str = "given") -> Placement:
    """Place one task after another on the node where it adds least to the penalty; loads are re-evaluated after each.

    A task adds the true difference: its own cost and its effect on the tasks that are there already.

    Tasks go as `given` in the file, or by `largest` or `smallest` input rate first. The rate is the highest over the
    nodes with a slot for the task, and ties go by position. If there are more tasks than slots, the last ones wait.

    References
    ----------
    Hsu and Freeh, note 6. No paper proposes it: it re-evaluates Hsu and Freeh's loads within a round.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> cluster = Cluster(["n1", "n2"], slots=[2, 2], rate_in=[85, 85])
    >>> problem = FlowCongestion(Instance(cluster, Workload(["t1", "t2", "t3"], rate_in=[9, 9, 1])))
    >>> flow_greedy(problem, np.random.default_rng()).nodes.tolist()
    [0, 1, 0]
    """
    types, idle = problem.types.of_task, problem.idle_nodes
    added = np.zeros((len(idle), len(problem.type_kind)), dtype=np.int64)
    one_more = np.eye(len(problem.type_kind), dtype=np.int64)

    def marginal(column: int) -> Ints:
        """The cost that one task of each type would add on the node at `column`, by its load."""
        costs = problem.load_units(column, np.vstack((added[column], added[column] + one_more)))
        more: Ints = costs[1:] - costs[0]
        return more

    adds = np.array([marginal(column) for column in range(len(idle))], dtype=np.int64).reshape(added.shape)

    def costs(task: int, columns: Ints) -> Ints:
        own: Ints = adds[columns, types[task]] + problem.read_units[problem.classes.of_task[task], columns]
        return own

    def take(task: int, column: int) -> None:
        added[column, types[task]] += 1
        adds[column] = marginal(column)

    return _one_by_one(problem, order, costs, take)


def _one_by_one(
    problem: Flow | FlowCongestion,
    order: str,
    costs: Callable[[int, Ints], np.ndarray],
    take: Callable[[int, int], None],
) -> Placement:
    """Task after task where it costs least among the idle nodes with a free slot for it, the first of equal ones.

    `costs` returns the costs of a task (by position) on some of the idle nodes; `take` is called when it takes one.
    """
    rate = problem.idle_rates.max(axis=1, initial=0.0)
    keys = {"given": np.zeros(len(rate)), "largest": -rate, "smallest": rate}
    kinds = [KINDS[kind] for kind in problem.instance.workload.kind[problem.tasks].tolist()]
    free = {kind: slots[problem.idle_nodes] for kind, slots in problem.offered.items()}
    nodes = np.full(len(rate), NONE, dtype=np.int64)
    for task in np.argsort(keys[order], kind="stable").tolist():
        check()
        columns = np.flatnonzero(free[kinds[task]])
        if len(columns):
            column = int(columns[np.argmin(costs(task, columns))])
            nodes[task] = problem.idle_nodes[column]
            free[kinds[task]][column] -= 1
            take(task, column)
    return problem.placement(nodes)


def balancing(problem: Flow | FlowCongestion, rng: np.random.Generator, *, order: str = "largest") -> Placement:
    """Each task to the node whose sum of input rates is then least, so that demand is spread evenly.

    The sum of a node includes what runs there (in `flow` only maps); a task's demand is that on the node's type. Of
    nodes with equal sums the first is taken. The paper only names the goal; the rule is a guess (Hsu and Freeh, note
    7).

    Tasks go by `largest` demand first, which is the highest over the types of nodes with idle slots, ties by position;
    or as `given` in the file. If there are more tasks than slots, the last ones wait.

    References
    ----------
    Hsu and Freeh, section 5.2; Hsu and Freeh, note 7.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> cluster = Cluster(["n1", "n2"], slots=[2, 2], rate_in=[85, 85])
    >>> problem = Flow(Instance(cluster, Workload(["t1", "t2", "t3"], rate_in=[1, 2, 4])))
    >>> balancing(problem, np.random.default_rng()).nodes.tolist()
    [1, 1, 0]
    """
    demand = problem.idle_rates
    totals = np.array([rates.sum() for rates in problem.running_rates], dtype=np.float64)

    def sums(task: int, columns: Ints) -> Floats:
        after: Floats = totals[columns] + demand[task, columns]
        return after

    def take(task: int, column: int) -> None:
        totals[column] += demand[task, column]

    return _one_by_one(problem, order, sums, take)


HEURISTICS: tuple[Heuristic, ...] = (
    Heuristic(
        "flow-sched",
        "002",
        "3.3",
        ("flow", "flow-congestion"),
        "the flow scheduler's round: minimum-cost flow with frozen loads; optimal in `flow` by construction",
        batch=flow_sched,
    ),
    Heuristic(
        "flow-greedy",
        "002",
        "Hsu and Freeh, note 6",
        ("flow-congestion",),
        "task after task on the node where it adds least to the penalty, loads re-evaluated after each",
        (
            Parameter(
                "order",
                "given",
                choice("given", "largest", "smallest"),
                "as in the file, or by largest or smallest rate",
            ),
        ),
        batch=flow_greedy,
    ),
    Heuristic(
        "balancing",
        "002",
        "5.2",
        ("flow", "flow-congestion"),
        "each task to the node whose demands then add up to least",
        (Parameter("order", "largest", choice("largest", "given"), "largest demand first, or as in the file"),),
        batch=balancing,
    ),
)
