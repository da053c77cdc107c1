"""Prices of groups and slots in `worst-group`: a `dual` proof of the worst mean, and of the locality cost within it.

Where prices alone leave a gap, the proof is a tree of cases over the program with limits on what groups pay.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from optsched.certificates.reading import denominator, integer, number, priced, prices_of, written
from optsched.certificates.trees import Tree, over_rows, rows_bound
from optsched.core.errors import CertificateInvalid
from optsched.core.instance import Ints
from optsched.core.results import Certificate, Number, Proof, Value
from optsched.problems.worst_group import WorstGroup
from optsched.problems.worst_group_program import GroupProgram

__all__ = ["GroupPrices", "cost_certificate", "group_tree_certificate", "worst_group_certificate", "worst_group_proof"]


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
    if "steps" in data:
        return _tree_proof(problem, certificate, objective)
    prices = _read(problem, data)
    if certificate.component == "worst-mean":
        return problem.mean_bound(prices.groups, prices.task, prices.nodes)
    mean, scale = number(data, "mean"), denominator(data)
    if objective is None or objective[0] > mean:
        raise CertificateInvalid(f"mean: a proof for means up to {mean} says nothing of this placement")
    return problem.cost_bound(mean, scale, prices.groups, prices.task, prices.nodes)


def group_tree_certificate(problem: WorstGroup, claim: Number, tree: Tree, mean: Number | None = None) -> Certificate:
    """The certificate that a tree makes of the locality cost within a mean, or (without one) of the worst mean.

    It claims `claim`, without looking: where the tree proves less, `certify` says so.
    """
    names = _program(problem, claim, mean).names
    data = over_rows(tree, lambda column: list(names[column]))
    if mean is None:
        return Certificate("worst-mean", Proof.DUAL, claim, data)
    return Certificate("locality-cost", Proof.DUAL, claim, {"mean": written(mean), **data})


def _program(problem: WorstGroup, claim: Number, mean: Number | None) -> GroupProgram:
    """What settles a claim of the cost within a mean; or of the worst mean, by what is below it."""
    if mean is None:
        return GroupProgram(problem, problem.most_below(claim), costless=True)
    return GroupProgram(problem, problem.most_within(mean))


def _tree_proof(problem: WorstGroup, certificate: Certificate, objective: Value | None) -> Number:
    data, claim = certificate.data, certificate.claim
    mean = number(data, "mean") if certificate.component == "locality-cost" else None
    if mean is not None and (objective is None or objective[0] > mean):
        raise CertificateInvalid(f"mean: a proof for means up to {mean} says nothing of this placement")
    if not problem.count:
        return 0
    posed = _program(problem, claim, mean)
    if mean is None:
        return claim if rows_bound(data, posed.program, 1, posed.names) >= 1 else 0
    limit = min(math.ceil(claim), len(problem.tasks) * problem.levels[2] + 1)
    return rows_bound(data, posed.program, limit, posed.names)


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
