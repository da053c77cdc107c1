"""Covers of the servers of a `latency` problem, which limit how many tasks can be local: a `combinatorial` proof."""

from __future__ import annotations

import numpy as np

from optsched.certificates.reading import integer
from optsched.errors import CertificateInvalid
from optsched.instance import Bools
from optsched.problems import Latency
from optsched.results import Certificate, Number, Proof, Value

__all__ = ["latency_certificate", "latency_proof"]


def latency_certificate(problem: Latency, component: str, claim: int, limit: int, cover: Bools) -> Certificate:
    """The certificate that a cover of servers makes at a limit on the makespan (`Latency.least_remote`).

    For the makespan, `limit` is the largest value that the cover rules out; for the work, it is the makespan taken as
    given.
    """
    ids = problem.instance.cluster.node_ids
    data = {"limit": int(limit), "cover": [str(ids[node]) for node in np.flatnonzero(cover).tolist()]}
    return Certificate(component, Proof.COMBINATORIAL, int(claim), data)


def latency_proof(problem: Latency, certificate: Certificate, objective: Value | None) -> Number:
    """The bound that the certificate's cover proves, given the makespan of `objective` for the work."""
    limit = integer(certificate.data, "limit")
    named = certificate.data.get("cover")
    if not isinstance(named, list):
        raise CertificateInvalid(f"cover: must be a list of servers, not {named!r}")
    cover = np.zeros(len(problem.initial_load), dtype=bool)
    for server in named:
        if not isinstance(server, str) or server not in problem.instance.node_index:
            raise CertificateInvalid(f"cover: there is no server {server!r}")
        cover[problem.instance.node_index[server]] = True
    remote = problem.least_remote(limit, cover)
    if certificate.component == "makespan":
        ruled_out = bool(len(problem.tasks)) and not problem.fits(limit, remote)
        return limit + 1 if ruled_out else 0
    if objective is None or objective[0] > limit:
        raise CertificateInvalid(f"limit: a proof for makespans up to {limit} says nothing of this placement's")
    return problem.w_loc * (len(problem.tasks) - remote) + problem.w_rem * remote
