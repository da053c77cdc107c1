"""Certificates of `transmission` and `transmission-reduces`.

A `combinatorial` one of `transmission` is the tree of a branch and bound over the reduces. The checker bounds every
choice of every state that the tree names, so nothing can be left out. A missing state makes the bound weaker, never
wrong. `ReduceBounds` recomputes what the prices prove. A `dual` one of `transmission-reduces` contains prices of
places, or a tree over its program.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from optsched.certificates.reading import as_mapping, integer, items, price_table, priced, prices_of, shown
from optsched.core.deadline import check
from optsched.core.errors import CertificateInvalid
from optsched.core.instance import LARGEST, Ints
from optsched.core.results import Certificate, Number, Proof, Value
from optsched.problems.base import exact
from optsched.problems.transmission import Transmission
from optsched.problems.transmission_bounds import Branching, ReduceBounds
from optsched.problems.transmission_reduces import TransmissionReduces


def transmission_certificate(bounds: ReduceBounds, branching: Branching, claim: int) -> Certificate:
    """The certificate for a tree that proves a claim in units (`ReduceBounds.proved`).

    `order` names the reduces in the order of their placement. Each state says on which nodes the first of them are
    (`on`; null: the reduce is left out), and which prices of map slots bound its choices. Prices are in units of
    1/`ReduceBounds.scale`.
    """
    problem = bounds.problem
    workload = problem.instance.workload
    ids = problem.instance.cluster.node_ids.tolist()
    reduce_ids = workload.task_ids[problem.tasks[problem.reduces]]
    states = [
        {
            "on": [None if choice == bounds.nowhere else ids[choice] for choice in state],
            "prices": [_written(bounds, some) for some in prices],
        }
        for state, prices in branching.states.items()
    ]
    data: dict[str, Any] = {"order": reduce_ids[branching.order].tolist(), "states": states}
    return Certificate(problem.components[0].name, Proof.COMBINATORIAL, exact(claim, problem.grid), data)


def _written(bounds: ReduceBounds, prices: Ints) -> dict[str, Any]:
    hosts = len(bounds.hosts)
    ids, prices = bounds.problem.instance.cluster.node_ids[bounds.hosts], _read(prices)
    return {"nodes": priced(ids, prices[:hosts]), "unplaced": int(prices[hosts:].sum())}


def _read(prices: Ints) -> Ints:
    """Prices in the form of `ReduceBounds`."""
    read: Ints = np.clip(prices, 0, LARGEST)
    return read


def transmission_proof(problem: Transmission, certificate: Certificate, objective: Value | None) -> Number:
    """The bound that the certificate's tree proves."""
    bounds, data = ReduceBounds(problem), certificate.data
    order = _order(problem, items(data, "order"))
    index, nowhere = problem.instance.node_index, bounds.nowhere
    states: dict[tuple[int, ...], list[Ints]] = {}
    for state in items(data, "states"):
        check()
        entry, prices = as_mapping(state, "states"), []
        for given in items(entry, "prices"):
            some = as_mapping(given, "prices")
            nodes = prices_of(some, "nodes", index, place="prices.nodes")[bounds.hosts]
            prices.append(np.append(nodes, integer(some, "unplaced"))[: len(bounds.free)])
        on = items(entry, "on")
        for node in on:
            if node is not None and (not isinstance(node, str) or node not in index):
                raise CertificateInvalid(f"on: there is no node {shown(node)}")
        states[tuple(nowhere if node is None else index[node] for node in on)] = prices
    claim = math.ceil(certificate.claim * problem.grid)
    return exact(bounds.proved(Branching(order, states), claim), problem.grid)


def _order(problem: Transmission, named: Sequence[Any]) -> Ints:
    ids = problem.task_ids[problem.reduces].tolist()
    position_of = {name: position for position, name in enumerate(ids)}
    order = [position_of.get(name) if isinstance(name, str) else None for name in named]
    found = [position for position in order if position is not None]
    if sorted(found) != list(range(len(ids))) or len(order) != len(ids):
        raise CertificateInvalid("order: must name every pending reduce once")
    return np.array(found, dtype=np.int64)


def transmission_reduces_certificate(problem: TransmissionReduces, task: int, nodes: Ints, pairs: Ints) -> Certificate:
    """The certificate for prices (see `TransmissionReduces.price_bound`). It claims exactly what they prove."""
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
    """The bound that the certificate's prices prove."""
    del objective
    data, index = certificate.data, problem.instance.node_index
    task, nodes = integer(data, "task_price"), prices_of(data, "node_prices", index)
    jobs = price_table(data, "job_prices", problem.instance.workload.job_ids.tolist(), "job", index)
    pairs = np.pad(jobs, ((0, 1), (0, 0)))  # the last row is for reduces without a job
    return exact(problem.price_bound(task, nodes, pairs), problem.grid)
