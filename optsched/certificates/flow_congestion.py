"""Prices of tasks of a `flow-congestion` problem: a `dual` proof."""

from __future__ import annotations

import numpy as np

from optsched.certificates.reading import denominator, integer, mapping, prices_of
from optsched.errors import CertificateInvalid, TooLarge
from optsched.instance import KINDS, Ints
from optsched.problems.base import exact
from optsched.problems.flow_congestion import FlowCongestion
from optsched.results import Certificate, Number, Proof, Value

__all__ = ["flow_congestion_certificate", "flow_congestion_proof"]


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
    """The bound that the certificate's prices prove."""
    data = certificate.data
    scale = denominator(data)
    given = mapping(data, "count_prices")
    counts = np.array([integer(given, kind) for kind in KINDS], dtype=np.int64)
    first = problem.instance.workload.task_ids[problem.tasks[problem.classes.first]].tolist()
    classes = prices_of(data, "class_prices", first, "class of tasks that begins with")
    try:
        bound = problem.price_bound(counts, classes, scale)
    except TooLarge as error:
        raise CertificateInvalid(str(error)) from None
    return exact(bound, problem.grid)
