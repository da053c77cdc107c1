"""What 002 compares on one snapshot: the flow scheduler's round, FIFO, and the authors' Balancing scheduler.

They are batch heuristics, draw nothing at random and place exactly as many tasks as there are slots for. Fair and
capacity scheduling, which need time, are not here.
"""

from __future__ import annotations

import heapq

import numpy as np

from optsched.heuristics.base import Heuristic
from optsched.heuristics.latency_rules import row_lists
from optsched.instance import Ints
from optsched.placement import NONE, Placement
from optsched.problems.assignment import AssignmentProblem
from optsched.problems.base import Parameter, choice
from optsched.problems.flow import Flow
from optsched.solvers.transport import optimal_placement

__all__ = ["HEURISTICS", "balancing", "fifo", "flow_sched"]


def flow_sched(problem: Flow, rng: np.random.Generator) -> Placement:
    """The flow scheduler's round: a minimum-cost flow with the loads frozen as they are.

    It solves the problem `flow` itself, so its gap there is 0 by construction. What it overlooks, the load that its own
    placements add, is not in `flow`. Nodes without idle slots are left out; of more tasks than slots the dearest wait,
    as with arcs "unscheduled" (digest 002, erratum 1).

    Parameters
    ----------
    problem
        The problem.
    rng
        Not used.

    References
    ----------
    002, sections 3.3 and 4.1. The paper's solver is cs2; here it is the network engine for assignment problems.

    Examples
    --------
    >>> from optsched.instance import Cluster, Instance, Workload
    >>> cluster = Cluster(["n1", "n2"], rate_in=[85, 85])
    >>> problem = Flow(Instance(cluster, Workload(["t1"], rate_in=[3])), scale=1)
    >>> flow_sched(problem, np.random.default_rng()).placed
    1
    """
    return optimal_placement(problem)


def fifo(problem: AssignmentProblem, rng: np.random.Generator) -> Placement:
    """Jobs by arrival; each task on the first free node that holds its block, else in a rack that does, else at all.

    "First" is by position: where no node holds a block, as with separate storage, FIFO fills the first node of the
    rack and then the next (digest 002, erratum 9). Jobs that arrive together are taken in the order of the file. Those
    whose arrival is not given come first, and tasks without a job before them.

    Parameters
    ----------
    problem
        `flow`, `lsap` or `fair-lsap`.
    rng
        Not used.

    References
    ----------
    002, section 5.2: Hadoop's FIFO scheduler on one snapshot.

    Examples
    --------
    >>> from optsched.instance import Cluster, Instance, Ragged, Workload
    >>> from optsched.problems import Lsap
    >>> workload = Workload(["t1", "t2", "t3"], replicas=Ragged.from_rows([[1], [1], [1]]))
    >>> cluster = Cluster(["n1", "n2", "n3", "n4"], rack=[0, 1, 1, 0], rack_ids=["r1", "r2"])
    >>> fifo(Lsap(Instance(cluster, workload)), np.random.default_rng()).nodes.tolist()
    [1, 2, 0]
    """
    nodes = [NONE] * len(problem.tasks)
    free = problem.capacity.tolist()
    rack = problem.instance.cluster.rack.tolist()
    anywhere = [node for node in reversed(range(len(free))) if free[node]]  # stacks, the first free node on top
    in_rack: dict[int, list[int]] = {}
    for node in anywhere:
        in_rack.setdefault(rack[node], []).append(node)
    in_rack.pop(NONE, None)

    def first(stack: list[int]) -> int:
        while stack and not free[stack[-1]]:
            stack.pop()
        return stack[-1] if stack else len(free)

    replicas = row_lists(problem.replicas)
    for task in _job_order(problem)[: problem.count].tolist():
        holders = replicas[task]
        node = min((holder for holder in holders if free[holder]), default=len(free))
        if node == len(free):
            node = min((first(in_rack.get(rack[holder], [])) for holder in holders), default=len(free))
        if node == len(free):
            node = first(anywhere)
        nodes[task] = node
        free[node] -= 1
    return problem.placement(nodes)


def _job_order(problem: AssignmentProblem) -> Ints:
    """Positions of the tasks by arrival of their jobs, then by job, then by position."""
    workload = problem.instance.workload
    job = workload.job[problem.tasks]
    arrival = np.nan_to_num(np.append(workload.arrival, np.nan), nan=-np.inf)[job]  # no job picks the last entry
    return np.lexsort((job, arrival)).astype(np.int64)


def balancing(problem: Flow, rng: np.random.Generator, *, order: str = "largest") -> Placement:
    """Each task to the node whose input rates then add up to least, so that demand is spread evenly.

    The sum of a node counts the maps that run there, and a task's demand is that on the node's type. Of equal sums the
    first node is taken. The paper only names the goal; the rule is the digest's guess.

    Parameters
    ----------
    problem
        The problem.
    rng
        Not used.
    order
        `largest` demand first, by its maximum over the types of nodes with idle slots, ties by position; or as `given`
        in the file. The tasks that come last wait if there are more than slots.

    References
    ----------
    002, section 5.2; digest 002, section 1.

    Examples
    --------
    >>> from optsched.instance import Cluster, Instance, Workload
    >>> cluster = Cluster(["n1", "n2"], slots=[2, 2], rate_in=[85, 85])
    >>> problem = Flow(Instance(cluster, Workload(["t1", "t2", "t3"], rate_in=[1, 2, 4])))
    >>> balancing(problem, np.random.default_rng()).nodes.tolist()
    [1, 1, 0]
    """
    nodes = [NONE] * len(problem.tasks)
    idle = problem.idle_nodes
    types = problem.instance.cluster.type[idle]
    demand = problem.rates[:, types].max(axis=1, initial=0.0)
    positions = {"largest": np.argsort(-demand, kind="stable"), "given": np.arange(len(nodes))}[order]
    free = problem.capacity.tolist()
    # For each type a heap of (sum of rates, node): within a type the least sum before is the least after.
    queues: dict[int, list[tuple[float, int]]] = {}
    for node, kind, running in zip(idle.tolist(), types.tolist(), problem.running_rates, strict=True):
        queues.setdefault(kind, []).append((float(running.sum()), node))
    for queue in queues.values():
        heapq.heapify(queue)
    for task in positions[: problem.count].tolist():
        rates = problem.rates[task]
        total, node, kind = min(
            (queue[0][0] + float(rates[kind]), queue[0][1], kind) for kind, queue in queues.items() if queue
        )
        nodes[task] = node
        free[node] -= 1
        if free[node]:
            heapq.heapreplace(queues[kind], (total, node))
        else:
            heapq.heappop(queues[kind])
    return problem.placement(nodes)


HEURISTICS: tuple[Heuristic, ...] = (
    Heuristic(
        "flow-sched",
        "002",
        "3.3",
        ("flow",),
        "the flow scheduler's round: minimum-cost flow with frozen loads; optimal in `flow` by construction",
        batch=flow_sched,
    ),
    Heuristic(
        "fifo",
        "002",
        "5.2",
        ("lsap", "fair-lsap", "flow"),
        "jobs by arrival; each task to the first free node with its block, else in such a rack, else at all",
        batch=fifo,
    ),
    Heuristic(
        "balancing",
        "002",
        "5.2",
        ("flow",),
        "each task to the node whose demands then add up to least",
        (Parameter("order", "largest", choice("largest", "given"), "largest demand first, or as in the file"),),
        batch=balancing,
    ),
)
