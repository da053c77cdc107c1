"""`combinatorial` certificates of `latency`: covers of servers, or prices of tasks, limit the local tasks."""

from __future__ import annotations

import numpy as np

from optsched.certificates.reading import column_of, integer, shown
from optsched.core.arrays import ById, Chosen
from optsched.core.errors import CertificateInvalid
from optsched.core.instance import Bools
from optsched.core.results import Certificate, Number, Proof, Value
from optsched.problems import Latency
from optsched.problems.latency_definition import LatencyPrices


def latency_certificate(problem: Latency, component: str, claim: int, limit: int, cover: Bools) -> Certificate:
    """The certificate for a cover of servers at a limit on the makespan (`Latency.least_remote`).

    For the makespan, `limit` is the largest value that the cover rules out; for the work, it is the given makespan.
    """
    data = {"limit": int(limit), "cover": Chosen.where(problem.instance.cluster.node_ids, cover)}
    return Certificate(component, Proof.COMBINATORIAL, int(claim), data)


def latency_prices(problem: Latency, component: str, claim: int, limit: int, prices: LatencyPrices) -> Certificate:
    """The same for prices, which can prove more than a cover (`Latency.price_bound`)."""
    held = np.flatnonzero(prices.tasks)
    data = {
        "limit": int(limit),
        "weight": prices.weight,
        "task_prices": ById(problem.instance.workload.task_ids, problem.tasks[held], prices.tasks[held]),
        "remote_price": prices.remote,
    }
    return Certificate(component, Proof.COMBINATORIAL, int(claim), data)


def latency_proof(problem: Latency, certificate: Certificate, objective: Value | None) -> Number:
    """The bound that the certificate's cover or prices prove; for the work, given the makespan of `objective`."""
    limit = integer(certificate.data, "limit")
    if "task_prices" in certificate.data:
        priced_remote = problem.priced_remote(limit, _prices(problem, certificate))
        remote, ruled_out = priced_remote or 0, priced_remote is None
    else:
        remote = problem.least_remote(limit, _cover(problem, certificate))
        ruled_out = not problem.fits(limit, remote)
    if certificate.component == "makespan":
        return limit + 1 if len(problem.tasks) and ruled_out else 0
    if objective is None or objective[0] > limit:
        raise CertificateInvalid(f"limit: a proof for makespans up to {limit} does not apply to this placement's")
    return problem.w_loc * (len(problem.tasks) - remote) + problem.w_rem * remote


def _cover(problem: Latency, certificate: Certificate) -> Bools:
    """Whether each server is in the certificate's cover."""
    named = certificate.data.get("cover")
    if isinstance(named, Chosen) and named.ids is problem.instance.cluster.node_ids:
        return named.chosen()
    if not isinstance(named, list | Chosen):
        raise CertificateInvalid(f"cover: must be a list of servers, not {shown(named)}")
    cover = np.zeros(len(problem.initial_load), dtype=bool)
    for server in named:
        if not isinstance(server, str) or server not in problem.instance.node_index:
            raise CertificateInvalid(f"cover: there is no server {shown(server)}")
        cover[problem.instance.node_index[server]] = True
    return cover


def _prices(problem: Latency, certificate: Certificate) -> LatencyPrices:
    """The certificate's prices."""
    data, instance = certificate.data, problem.instance
    ids = instance.workload.task_ids
    tasks = column_of(data, "task_prices", ids, lambda: instance.task_index, "task")[problem.tasks]
    prices = LatencyPrices(integer(data, "weight"), tasks, integer(data, "remote_price"))
    largest = LatencyPrices.largest(len(tasks))
    if max(prices.weight, prices.remote, int(np.abs(tasks).max(initial=0))) > largest:
        raise CertificateInvalid(f"task_prices: the prices of {len(tasks)} tasks must be at most {largest}")
    for name, price in (("weight", prices.weight), ("remote_price", prices.remote)):
        if price < 0:
            raise CertificateInvalid(f"{name}: must be at least 0, not {price}")
    return prices
