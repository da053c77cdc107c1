"""`lsap-sched`: most tasks possible on nodes with their data, by an assignment problem (Guo et al. 2012, III.C)."""

from __future__ import annotations

import numpy as np

from optsched.deadline import check
from optsched.instance import Ints, Ragged
from optsched.placement import NONE, Placement
from optsched.problems.assignment import AssignmentProblem
from optsched.problems.base import Parameter, number
from optsched.running.base import Heuristic
from optsched.solvers.networks import maximum_b_matching

__all__ = ["HEURISTICS", "lsap_sched"]


def lsap_sched(problem: AssignmentProblem, rng: np.random.Generator, *, window: int = 0) -> Placement:
    """Place min(tasks, idle slots) tasks, with the most possible of them on nodes that hold their data.

    Guo et al. pad the 0/1 matrix of tasks and slots to a square and solve the LSAP. That is a maximum matching of tasks
    to the slots of their replicas' nodes, filled up with any other tasks. Which ones is arbitrary; here they are the
    first ones in the order of the instance, on the first nodes. It does not know racks: with three different levels it
    is not optimal. It looks at no other cost of the problem.

    Parameters
    ----------
    problem
        `lsap`, `fair-lsap` or `flow`: a problem with slots and replicas.
    rng
        Draws the order of the slots where there is a window.
    window
        Gather so many idle slots, in random order, place tasks on these, and go on (Guo et al. 2012, end of section
        III.C); 0: all at once.

    Returns
    -------
    Placement
        The same for every `rng` if `window` is 0.

    Notes
    -----
    A window costs one maximum flow over the replicas on its nodes: O(replicas sqrt(tasks + nodes)) all at once.

    Examples
    --------
    >>> from optsched.instance import Cluster, Instance, Workload
    >>> from optsched.problems import Lsap
    >>> workload = Workload(["t1", "t2"], replicas=Ragged.from_rows([[0, 1], [0]]))
    >>> problem = Lsap(Instance(Cluster(["a", "b"]), workload))
    >>> lsap_sched(problem, np.random.default_rng(0)).nodes.tolist()
    [1, 0]
    """
    slots = np.repeat(np.arange(len(problem.capacity)), problem.capacity)
    if window:
        slots = rng.permutation(slots)
    held = problem.replicas.transposed(len(problem.capacity))
    result = np.full(len(problem.tasks), NONE, dtype=np.int64)
    for start in range(0, len(slots), window or len(slots) or 1):
        nodes, capacity = np.unique(slots[start : start + window] if window else slots, return_counts=True)
        check()
        used = _match(result, held.take(nodes), nodes, capacity)
        left = np.repeat(nodes, capacity - used)
        waiting = np.flatnonzero(result == NONE)[: len(left)]
        result[waiting] = left[: len(waiting)]
        if len(waiting) < len(left):
            break
    return problem.placement(result)


def _match(result: Ints, held: Ragged, nodes: Ints, capacity: Ints) -> Ints:
    """Enter a maximum matching of waiting tasks to nodes, and say how many tasks each node got.

    Row `i` of `held` has the tasks with data on `nodes[i]`, which takes `capacity[i]` of them.
    """
    waits = result[held.values] == NONE
    tasks, task = np.unique(held.values[waits], return_inverse=True)
    node = held.row_of[waits]
    order = np.lexsort((node, task))
    starts = np.searchsorted(task[order], np.arange(len(tasks) + 1))
    matched = maximum_b_matching(starts, node[order], capacity, len(nodes)).node
    local = matched != NONE
    result[tasks[local]] = nodes[matched[local]]
    return np.bincount(matched[local], minlength=len(nodes))


HEURISTICS = (
    Heuristic(
        name="lsap-sched",
        paper="003",
        algorithm="III.C, lsap-sched",
        problems=("lsap", "fair-lsap", "lsap-fairness", "worst-group", "flow"),
        doc="the most tasks on nodes with their data, by an assignment problem; knows no racks",
        parameters=(
            Parameter(
                "window", 0, number(lowest=0, integer=True), "idle slots gathered before each decision; 0: all at once"
            ),
        ),
        batch=lsap_sched,
    ),
)
