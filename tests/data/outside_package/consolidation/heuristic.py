"""`fullest-first`: the tasks, in their order, onto the nodes with the most idle slots."""

import numpy as np

from optsched.core.placement import NONE, Placement
from optsched.heuristics.running.base import Heuristic
from optsched.problems.base import Parameter, Problem, switch


def fullest_first(problem: Problem, rng: np.random.Generator, *, smallest: bool) -> Placement:
    """Fill the node with the most idle slots (`smallest`: the fewest), then the next; ties by chance."""
    idle = problem.instance.state.idle_slots
    shuffled = rng.permutation(len(idle))
    order = shuffled[np.argsort(idle[shuffled] if smallest else -idle[shuffled], kind="stable")]
    slots = np.repeat(order, idle[order])[: len(problem.tasks)]
    nodes = np.full(len(problem.tasks), NONE, dtype=np.int64)
    nodes[: len(slots)] = slots
    return problem.placement(nodes)


FULLEST_FIRST = Heuristic(
    name="fullest-first",
    paper="",
    algorithm="first fit",
    problems=("consolidation", "lsap"),
    doc="tasks in their order onto the nodes with the most idle slots",
    parameters=(Parameter("smallest", False, switch, "the nodes with the fewest idle slots first"),),
    batch=fullest_first,
)
