"""Certificates of `generalized-assignment`: prices of capacities (`dual`), and trees of cases (`combinatorial`).

A tree branches on whether a task is on a node. Its multipliers are prices of the tasks' places and of capacities.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from optsched.certificates.reading import denominator, integer, price_table, priced, prices_of, shown
from optsched.certificates.trees import Tree
from optsched.core.errors import CertificateInvalid
from optsched.core.instance import Ints
from optsched.core.results import FEASIBLE, Certificate, Number, Proof, Value
from optsched.problems import GeneralizedAssignment
from optsched.problems.base import exact
from optsched.problems.generalized_assignment import CapacityKnapsacks, NodePrices


def generalized_assignment_certificate(problem: GeneralizedAssignment, prices: Ints, scale: int) -> Certificate:
    """The certificate for prices (`GeneralizedAssignment.price_bound`). It claims exactly what they prove."""
    data = {"prices": _of_capacities(problem, prices), "scale": scale}
    return Certificate("cost", Proof.DUAL, exact(problem.price_bound(prices, scale), problem.grid), data)


def generalized_assignment_proof(
    problem: GeneralizedAssignment, certificate: Certificate, objective: Value | None
) -> Number:
    """The bound that the certificate's prices prove."""
    data = certificate.data
    scale = denominator(data)
    prices = _capacity_prices(problem, data)
    return exact(problem.price_bound(prices, scale), problem.grid)


def capacity_tree_certificate(problem: GeneralizedAssignment, tree: Tree, limit: int) -> Certificate:
    """The certificate for a tree that proves that no placement costs less than `limit` units, which are minimised.

    It claims `limit` without a check: if the tree proves less, `certify` reports it.
    """
    claim = exact(problem.sign * limit, problem.grid)
    return Certificate("cost", Proof.COMBINATORIAL, claim, _written(problem, tree))


def capacity_tree_proof(problem: GeneralizedAssignment, certificate: Certificate, objective: Value | None) -> Number:
    """The bound that the certificate's tree proves."""
    knapsacks = CapacityKnapsacks(problem)
    limit = min(math.ceil(problem.sign * certificate.claim * problem.grid), knapsacks.beyond)
    return exact(problem.sign * _read(problem, certificate).bound(knapsacks, limit), problem.grid)


def no_packing_certificate(problem: GeneralizedAssignment, tree: Tree) -> Certificate:
    """The certificate for a tree that proves that no placement is feasible; `certify` checks it."""
    return Certificate(FEASIBLE, Proof.COMBINATORIAL, 0, _written(problem, tree))


def no_packing_proof(problem: GeneralizedAssignment, certificate: Certificate) -> str:
    """The sentence that the certificate's tree proves; CertificateInvalid if it leaves a placement possible."""
    knapsacks = CapacityKnapsacks(problem)
    if _read(problem, certificate).bound(knapsacks, knapsacks.beyond) < knapsacks.beyond:
        raise CertificateInvalid("steps: a leaf leaves room for a placement")
    return "no case of the tree leaves room for a placement"


def _written(problem: GeneralizedAssignment, tree: Tree) -> dict[str, Any]:
    tasks = problem.task_ids.tolist()
    nodes = problem.instance.cluster.node_ids.tolist()
    knapsacks = CapacityKnapsacks(problem)

    def multipliers(some: Ints) -> dict[str, Any]:
        prices = knapsacks.read(some)
        return {
            "scale": prices.scale,
            "task_prices": priced(tasks, prices.tasks),
            "prices": _of_capacities(problem, prices.capacities),
        }

    def pair(variable: int) -> list[str]:
        task, node = divmod(variable, len(nodes))
        return [tasks[task], nodes[node]]

    return tree.written(pair, multipliers)


def _read(problem: GeneralizedAssignment, certificate: Certificate) -> Tree:
    index = problem.instance.node_index
    tasks = problem.task_ids.tolist()
    position_of = {name: position for position, name in enumerate(tasks)}

    def multipliers(data: Mapping[str, Any]) -> Ints:
        scale, prices = integer(data, "scale"), prices_of(data, "task_prices", position_of, "task")
        return NodePrices(scale, prices, _capacity_prices(problem, data)).multipliers

    def pair(named: Any) -> int:
        if not isinstance(named, list | tuple) or len(named) != 2 or not all(isinstance(name, str) for name in named):
            raise CertificateInvalid(f"branch: must be a task and a node, not {shown(named)}")
        task, node = named
        if task not in position_of or node not in index:
            raise CertificateInvalid(f"branch: there is no task {shown(task)} with a node {shown(node)}")
        return position_of[task] * len(index) + index[node]

    return Tree.read(certificate.data, pair, multipliers)


def _of_capacities(problem: GeneralizedAssignment, prices: Ints) -> dict[str, dict[str, int]]:
    """Prices of a unit of each capacity, by resource and node."""
    ids = problem.instance.cluster.node_ids
    return {resource: priced(ids, row) for resource, row in zip(problem.resources, prices, strict=True)}


def _capacity_prices(problem: GeneralizedAssignment, data: Mapping[str, Any]) -> Ints:
    """Read the output of `_of_capacities`."""
    return price_table(data, "prices", problem.resources, "resource", problem.instance.node_index)
