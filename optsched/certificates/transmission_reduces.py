"""`dual` certificates of `transmission-reduces`: prices of places, or a tree over its program."""

from __future__ import annotations

import numpy as np

from optsched.certificates.programs import program_proof
from optsched.certificates.reading import integer, price_table, priced, prices_of
from optsched.core.instance import Ints
from optsched.core.results import Certificate, Number, Proof, Value
from optsched.problems.base import exact
from optsched.problems.transmission_reduces import TransmissionReduces

__all__ = ["transmission_reduces_certificate", "transmission_reduces_proof"]


def transmission_reduces_certificate(problem: TransmissionReduces, task: int, nodes: Ints, pairs: Ints) -> Certificate:
    """The certificate that prices make (see `TransmissionReduces.price_bound`). It claims exactly what they prove."""
    jobs, ids = problem.instance.workload.job_ids.tolist(), problem.instance.cluster.node_ids
    data = {
        "task_price": int(task),
        "node_prices": priced(ids, nodes),
        "job_prices": {jobs[job]: priced(ids, pairs[job]) for job in np.flatnonzero(pairs[:-1].any(axis=1)).tolist()},
        "unit": f"1/{problem.grid}" if problem.grid > 1 else "1",
    }
    claim = exact(problem.price_bound(task, nodes, pairs), problem.grid)
    return Certificate(problem.components[0].name, Proof.DUAL, claim, data)


def transmission_reduces_proof(
    problem: TransmissionReduces, certificate: Certificate, objective: Value | None
) -> Number:
    """The bound that the certificate's prices, or its tree over the program, prove."""
    if "before" in certificate.data:
        return program_proof(problem, certificate, objective)
    data, index = certificate.data, problem.instance.node_index
    task, nodes = integer(data, "task_price"), prices_of(data, "node_prices", index)
    jobs = price_table(data, "job_prices", problem.instance.workload.job_ids.tolist(), "job", index)
    pairs = np.pad(jobs, ((0, 1), (0, 0)))  # the last row is for reduces without a job
    return exact(problem.price_bound(task, nodes, pairs), problem.grid)
