"""Certificates of `flow-congestion`: a tree of cases over its program, or prices of tasks, checked without a solver."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from optsched.certificates.programs import program_proof
from optsched.certificates.reading import denominator, integer, mapping, prices_of
from optsched.certificates.trees import rows_bound
from optsched.core.errors import CertificateInvalid, TooLarge
from optsched.core.instance import KINDS, Ints
from optsched.core.results import Certificate, Number, Proof, Value
from optsched.problems.base import exact
from optsched.problems.flow_congestion import FlowCongestion

__all__ = ["flow_congestion_certificate", "flow_congestion_proof", "plain_prices"]

#: More than any penalty: totals are at most 2^53.
_BEYOND = 2**54


def plain_prices(problem: FlowCongestion) -> tuple[Ints, Ints, int]:
    """Prices that need no solver. They prove the bound of `cheap_bounds`: each task on its best node without load.

    Returns
    -------
    tuple
        Of one more task of each kind; of a task of each class; the scale, as `FlowCongestion.price_bound` takes them.
    """
    least, kind = problem.least_units(), problem.type_kind[problem.class_type]
    counts = np.zeros(len(problem.counts), dtype=np.int64)
    for which, count in enumerate(problem.counts.tolist()):
        if count:
            ordered = np.sort(np.repeat(least[kind == which], problem.classes.size[kind == which]))
            counts[which] = ordered[count - 1]
    return counts, np.maximum(counts[kind] - least, 0), 1


def flow_congestion_certificate(problem: FlowCongestion, counts: Ints, classes: Ints, scale: int) -> Certificate:
    """The certificate that prices make (`FlowCongestion.price_bound`). It claims exactly what they prove.

    A class is named by its first task.
    """
    first = problem.instance.workload.task_ids[problem.tasks[problem.classes.first]].tolist()
    data = {
        "count_prices": {kind: int(price) for kind, price in zip(KINDS, counts.tolist(), strict=True)},
        "class_prices": {task: int(price) for task, price in zip(first, classes.tolist(), strict=True) if price},
        "scale": int(scale),
        "unit": f"1/{problem.grid * scale}",
    }
    claim = exact(problem.price_bound(counts, classes, scale), problem.grid)
    return Certificate("penalty", Proof.DUAL, claim, data)


def flow_congestion_proof(problem: FlowCongestion, certificate: Certificate, objective: Value | None) -> Number:
    """The bound that the certificate's tree, or its prices, prove."""
    data = certificate.data
    try:
        if "before" in data:
            return program_proof(problem, certificate, objective)
        if "steps" in data:  # as version 0.1 wrote trees
            program, limit = problem.program(), min(math.ceil(certificate.claim * problem.grid), _BEYOND)
            return exact(rows_bound(data, program.numbers, limit, _first_names(problem)), problem.grid)
        scale = denominator(data)
        given = mapping(data, "count_prices")
        counts = np.array([integer(given, kind) for kind in KINDS], dtype=np.int64)
        first = problem.instance.workload.task_ids[problem.tasks[problem.classes.first]].tolist()
        classes = prices_of(data, "class_prices", first, "class of tasks that begins with")
        return exact(problem.price_bound(counts, classes, scale), problem.grid)
    except TooLarge as error:
        raise CertificateInvalid(str(error)) from None


def _first_names(problem: FlowCongestion) -> list[list[Any]]:
    """The names of variables in version 0.1: a pattern by its host and numbers of tasks, a pair by class and host."""
    choose, place = problem.program().variables
    hosts = problem.instance.cluster.node_ids[problem.idle_nodes[problem.hosts.first]].tolist()
    patterns = {name: problem.patterns(host).tolist() for host, name in enumerate(hosts)}
    return [*([host, patterns[host][int(number)]] for host, number in choose.labels), *map(list, place.labels)]
