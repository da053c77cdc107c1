"""Whether a step of a route may be so long that a deadline needs a process that can be killed.

Loops of this package look at the deadline, and so does HiGHS between its steps. What cannot is the building of a model,
a single step of a solver on a large program, and a call of a library (SciPy, networkx). How long these are is told from
sizes that are at hand: nothing is built or imported for it, and where they are small no process is started.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from optsched.core.network import FlowNetwork
from optsched.problems import AnyProblem

__all__ = ["may_overrun"]

#: Routes of the same name do the same whatever the problem. From so many pairs of tasks and nodes on one may overrun a
#: deadline by half a second: what a model has may be the square of their number.
_PAIRS = {"pyomo": 500, "pulp": 500, "dense": 500_000}

#: From so many tasks, nodes, replicas and arcs on.
_ENTRIES = {"pyomo": 2_000, "pulp": 2_000, "network-simplex": 2_000}


def may_overrun(problem: AnyProblem, route: str, further: Mapping[str, int]) -> bool:
    """Whether a route may overrun a deadline by half a second or more.

    Parameters
    ----------
    problem, route
        What is solved, and how.
    further
        Routes of the problem's own, with how many pairs of tasks and nodes (of a flow network: nodes and arcs) it
        takes (`OVERRUNS` of its module).

    Examples
    --------
    >>> import optsched
    >>> small = optsched.problem("lsap", "papers/guo-fig2")
    >>> large = optsched.problem("lsap", optsched.generate("lsap", nodes=500, tasks=500))
    >>> [may_overrun(problem, "pulp", {}) for problem in (small, large)], may_overrun(large, "network", {})
    ([False, True], False)
    """
    noun: Any = problem.instance
    if isinstance(noun, FlowNetwork):
        pairs = entries = len(noun) + noun.arcs
    else:
        tasks, nodes = len(problem.tasks), len(noun.cluster.node_ids)  # type: ignore[attr-defined]
        pairs, entries = tasks * nodes, tasks + nodes + len(noun.workload.replicas.values)
    if pairs >= {**_PAIRS, **further}.get(route, pairs + 1):
        return True
    return entries >= _ENTRIES.get(route, entries + 1)
