"""Potentials of a flow: a `dual` proof."""

from __future__ import annotations

import numpy as np

from optsched.certificates.reading import integer, mapping, priced
from optsched.errors import CertificateInvalid
from optsched.instance import LARGEST, Ints
from optsched.problems import MinCostFlow
from optsched.results import Certificate, Number, Proof, Value

__all__ = ["potential_certificate", "potential_proof"]


def potential_certificate(problem: MinCostFlow, potentials: Ints) -> Certificate | None:
    """The certificate that potentials make (`MinCostFlow.potential_bound`).

    None where they prove nothing, or one is past 2^53, which no certificate may hold.
    """
    if any(abs(value) > LARGEST for value in np.asarray(potentials).tolist()):
        return None
    claim = problem.potential_bound(potentials)
    if claim is None:
        return None
    data = {"potentials": priced(problem.instance.node_ids, np.asarray(potentials))}
    return Certificate("cost", Proof.DUAL, claim, data)


def potential_proof(problem: MinCostFlow, certificate: Certificate, objective: Value | None) -> Number:
    """The bound that the certificate's potentials prove."""
    given = mapping(certificate.data, "potentials")
    potentials = [0] * len(problem.instance)
    for node in given:
        if node not in problem.instance.node_index:
            raise CertificateInvalid(f'potentials: there is no node "{node}"')
        potentials[problem.instance.node_index[node]] = integer(given, node)
    bound = problem.potential_bound(potentials)
    if bound is None:
        raise CertificateInvalid("potentials: an arc without limit has a negative reduced cost, so they prove nothing")
    return bound
