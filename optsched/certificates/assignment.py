"""`dual` certificates of the assignment problems: prices of tasks and slots that prove a lower bound."""

from __future__ import annotations

from optsched.certificates.reading import column_of, integer, priced, prices_of
from optsched.core.by_id import ById
from optsched.core.instance import Ints
from optsched.core.results import Certificate, Number, Proof, Value
from optsched.problems.assignment import AssignmentProblem
from optsched.problems.base import exact

__all__ = ["assignment_certificate", "assignment_proof"]


def assignment_certificate(problem: AssignmentProblem, task: int, nodes: Ints, pools: Ints) -> Certificate:
    """The certificate that prices make (see `AssignmentProblem.price_bound`). It claims exactly what they prove."""
    data = {
        "task_price": int(task),
        "node_prices": ById.nonzero(problem.instance.cluster.node_ids, nodes),
        "pool_prices": priced([pool.name for pool in problem.pools], pools),
        "unit": f"1/{problem.grid}" if problem.grid > 1 else "1",
    }
    claim = exact(problem.price_bound(task, nodes, pools), problem.grid)
    return Certificate(problem.components[0].name, Proof.DUAL, claim, data)


def assignment_proof(problem: AssignmentProblem, certificate: Certificate, objective: Value | None) -> Number:
    """The bound that the certificate's prices prove."""
    data, instance = certificate.data, problem.instance
    task = integer(data, "task_price")
    nodes = column_of(data, "node_prices", instance.cluster.node_ids, lambda: instance.node_index)
    pools = prices_of(data, "pool_prices", [pool.name for pool in problem.pools], "pool")
    return exact(problem.price_bound(task, nodes, pools), problem.grid)
