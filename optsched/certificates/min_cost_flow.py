"""Certificates of `min-cost-flow`: potentials for its cost (`dual`), cuts if it is infeasible, cycles if unbounded."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optsched.certificates.reading import column_of
from optsched.core.arrays import ById
from optsched.core.errors import CertificateInvalid
from optsched.core.instance import LARGEST, Ints
from optsched.core.network import UNBOUNDED
from optsched.core.results import FEASIBLE, Certificate, Number, Proof, Value
from optsched.problems.min_cost_flow import MinCostFlow


def min_cost_flow_certificate(problem: MinCostFlow, potentials: Ints) -> Certificate | None:
    """The certificate for potentials (`MinCostFlow.potential_bound`).

    Only differences of potentials count. If one is past 2^53, which no certificate may contain, they are shifted so
    that the least and the largest are equally far from 0. None if one is still past it, or they prove nothing.
    """
    held = np.asarray(potentials)
    if _past(held):
        held = held - (int(held.min()) + int(held.max())) // 2
    claim = None if _past(held) else problem.potential_bound(held)
    if claim is None:
        return None
    data = {"potentials": ById.nonzero(problem.instance.node_ids, held)}
    return Certificate("cost", Proof.DUAL, claim, data)


def _past(potentials: Ints) -> bool:
    """Whether a potential is past 2^53, exactly."""
    return any(abs(value) > LARGEST for value in potentials.tolist())


def min_cost_flow_proof(problem: MinCostFlow, certificate: Certificate, objective: Value | None) -> Number:
    """The bound that the certificate's potentials prove."""
    bound = problem.potential_bound(_potentials(problem, certificate))
    if bound is None:
        raise CertificateInvalid("potentials: an arc without limit has a negative reduced cost, so they prove nothing")
    return bound


def _potentials(problem: MinCostFlow, certificate: Certificate) -> Ints:
    """The certificate's potentials, one per node."""
    network = problem.instance
    return column_of(certificate.data, "potentials", network.node_ids, lambda: network.node_index)


def no_flow_certificate(problem: MinCostFlow, potentials: Ints) -> Certificate | None:
    """The certificate that there is no flow, by potentials at which a flow without costs would cost more than 0.

    None if it would not. Potentials of 0 and 1 are a cut (Gale 1957, Hoffman 1960).
    """
    bound = _free(problem).potential_bound(potentials)
    if bound is None or bound <= 0:
        return None
    data = {"potentials": ById.nonzero(problem.instance.node_ids, np.asarray(potentials))}
    return Certificate(FEASIBLE, Proof.DUAL, 0, data)


def no_flow_proof(problem: MinCostFlow, certificate: Certificate) -> str:
    """The sentence that the certificate's potentials prove; CertificateInvalid if they leave a flow possible."""
    potentials = _potentials(problem, certificate)
    bound = _free(problem).potential_bound(potentials)
    if bound is None or bound <= 0:
        raise CertificateInvalid("potentials: they do not show that nodes must send more than arcs can take")
    return f"at these potentials nodes must send {bound} more than arcs can take"


def _free(problem: MinCostFlow) -> MinCostFlow:
    """The problem without costs: every flow costs 0."""
    network = problem.instance
    return type(problem)(replace(network, cost=np.zeros_like(network.cost)))


def limitless_cycle(problem: MinCostFlow) -> str | None:
    """The proof that a feasible flow can get cheaper for ever; None if there is none.

    It is the cycle of `MinCostFlow.unlimited_cycle`. Its arcs are checked one by one: each begins at the end of the
    previous one, none has a limit, and the costs sum to less than 0.
    """
    network, cycle = problem.instance, problem.unlimited_cycle
    if not cycle:
        return None
    arcs = list(cycle)
    costs = sum(network.cost[arcs].tolist())
    closed = network.head[arcs].tolist() == network.tail[[*arcs[1:], arcs[0]]].tolist()
    if costs >= 0 or not closed or (network.capacity[arcs] != UNBOUNDED).any():
        raise CertificateInvalid("the arcs that should be a cycle of negative cost without limit are none")
    return f"{len(arcs)} arcs without limit form a cycle of cost {costs}"
