"""Prices of groups and slots in `worst-group`: a `dual` proof of the worst mean, and of the locality cost within it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from optsched.certificates.reading import denominator, integer, number, priced, prices_of, written
from optsched.errors import CertificateInvalid
from optsched.instance import Ints
from optsched.problems.worst_group import WorstGroup
from optsched.results import Certificate, Number, Proof, Value

__all__ = ["GroupPrices", "cost_certificate", "worst_group_certificate", "worst_group_proof"]


class GroupPrices(NamedTuple):
    """Prices of a task more, of slots (int64, shape (nodes,)) and of a unit of each group's cost, shape (groups,)."""

    task: int
    nodes: Ints
    groups: Sequence[int]

    @classmethod
    def none(cls, problem: WorstGroup) -> GroupPrices:
        """Everything for nothing."""
        return cls(0, np.zeros_like(problem.capacity), [0] * len(problem.sizes))


def worst_group_certificate(problem: WorstGroup, prices: GroupPrices) -> Certificate:
    """The certificate that prices make of the worst mean (`WorstGroup.mean_bound`); it claims just what they prove."""
    claim = problem.mean_bound(prices.groups, prices.task, prices.nodes)
    return Certificate("worst-mean", Proof.DUAL, claim, _written(problem, prices))


def cost_certificate(problem: WorstGroup, mean: Number, scale: int, prices: GroupPrices) -> Certificate:
    """The certificate that prices make of the locality cost within a mean (`WorstGroup.cost_bound`)."""
    claim = problem.cost_bound(mean, scale, prices.groups, prices.task, prices.nodes)
    return Certificate(
        "locality-cost", Proof.DUAL, claim, {"mean": written(mean), "scale": scale, **_written(problem, prices)}
    )


def worst_group_proof(problem: WorstGroup, certificate: Certificate, objective: Value | None) -> Number:
    """The bound that the certificate's prices prove; on the cost given the worst mean of `objective`."""
    data = certificate.data
    prices = _read(problem, data)
    if certificate.component == "worst-mean":
        return problem.mean_bound(prices.groups, prices.task, prices.nodes)
    mean, scale = number(data, "mean"), denominator(data)
    if objective is None or objective[0] > mean:
        raise CertificateInvalid(f"mean: a proof for means up to {mean} says nothing of this placement")
    return problem.cost_bound(mean, scale, prices.groups, prices.task, prices.nodes)


def _written(problem: WorstGroup, prices: GroupPrices) -> dict[str, Any]:
    return {
        "task_price": int(prices.task),
        "node_prices": priced(problem.instance.cluster.node_ids, prices.nodes),
        "group_prices": {
            name: int(price) for name, price in zip(problem.group_ids, prices.groups, strict=True) if price
        },
    }


def _read(problem: WorstGroup, data: Mapping[str, Any]) -> GroupPrices:
    groups = prices_of(data, "group_prices", problem.group_ids, "group").tolist()
    nodes = prices_of(data, "node_prices", problem.instance.node_index)
    return GroupPrices(integer(data, "task_price"), nodes, groups)
