"""`min-cost-flow`: a flow through a network that takes every supply to a demand, at least total cost.

None of the five papers poses it by itself. The exact forms of several of their problems are such flows, and its files
(DIMACS) are an outside check.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np

from optsched.core.errors import Fault, TooLarge, expect
from optsched.core.instance import LARGEST, Ints
from optsched.core.network import UNBOUNDED, FlowNetwork, negative_cycle
from optsched.core.placement import NetworkFlow
from optsched.core.results import Bound, Component, Number, Proof, Sense, Value, Violation
from optsched.problems import relaxations
from optsched.problems.base import BaseProblem, exact_product
from optsched.problems.programs import Builder, Program, Programmed


class MinCostFlow(BaseProblem[FlowNetwork, NetworkFlow], Programmed):
    """A whole flow within the bounds of the arcs that conserves flow at each node, given its supply; least total cost.

    Parallel arcs and loops are kept, and costs may be negative. There may be no such flow. If a cycle of negative cost
    has no limit, there is no least cost.

    Attributes
    ----------
    left_to_send
        For each node: the supply that remains once every arc flows at its lower limit.
    free
        Indices of the arcs with something to decide.
    cut_off
        Indices of nodes that still have something to send but only arcs whose flow cannot change. If there is one, no
        flow is feasible.

    Examples
    --------
    >>> network = FlowNetwork(["s", "t"], tail=[0, 0], head=[1, 1], capacity=[1, 9], cost=[2, 5], supply=[3, -3])
    >>> problem = MinCostFlow(network)
    >>> problem.evaluate(NetworkFlow([1, 2]))
    (12,)
    >>> print(*problem.violations(NetworkFlow([2, 0])))
    capacity(0) by 1 conservation(s) by -1 conservation(t) by 1
    """

    name = "min-cost-flow"
    title = "a flow that takes every supply to a demand, least total cost"
    paper = "-"
    components = (Component("cost", Sense.MIN, "unit of cost"),)
    requires = ("a flow network",)
    proof = Proof.DUAL
    posed_on = FlowNetwork
    decided = NetworkFlow
    always_feasible = False

    @classmethod
    def missing(cls, instance: FlowNetwork, parameters: Mapping[str, Any]) -> Iterator[Fault]:
        return iter(())

    def prepare(self) -> None:
        """Compute what remains to send once every arc flows at its lower limit, and the nodes that it cannot leave."""
        network = self.instance
        leaves = _leaving(network, network.lower)
        left = [supply - sent for supply, sent in zip(network.supply.tolist(), leaves, strict=True)]
        self.left_to_send: tuple[int, ...] = tuple(left)
        self.free: Ints = np.flatnonzero(network.capacity > network.lower).astype(np.int64)
        moving = self.free[network.tail[self.free] != network.head[self.free]]  # a loop's flow returns to its node
        fixed = np.ones(len(network), dtype=bool)
        fixed[network.tail[moving]] = fixed[network.head[moving]] = False
        self.cut_off = tuple(node for node in np.flatnonzero(fixed).tolist() if left[node])

    @property
    def plainly_infeasible(self) -> str | None:
        if not self.cut_off:
            return None
        return f"no arc can take what is left to send of {self.instance.node_ids[self.cut_off[0]]}"

    @cached_property
    def unlimited_cycle(self) -> tuple[int, ...]:
        """Arcs, in order, of a cycle of negative cost without limits; empty if there is no such cycle.

        If there is one and a flow is feasible, the cost has no minimum: the cycle lowers it for ever.
        """
        network = self.instance
        free = np.flatnonzero(network.capacity == UNBOUNDED)
        cycle = negative_cycle(network.tail[free], network.head[free], network.cost[free], len(network))
        return tuple(int(free[arc]) for arc in cycle)

    def program(self, before: tuple[Number, ...] = ()) -> Program:
        """Least cost of the flow beyond the lower limits; a variable that is always 1 has the cost of the lower limits.

        The matrix is that of a network, so that every vertex is integral.

        TooLarge if the lower limits cost 2^63 or more.
        """
        network, builder = self.instance, Builder()
        fixed = exact_product(network.cost, network.lower)
        if abs(fixed) >= 2**63:
            raise TooLarge(
                f"{self.place}: its lower limits cost {fixed:,}, too much for a program: take the route network-simplex"
            )
        tail, head, capacity = (part[self.free] for part in (network.tail, network.head, network.capacity))
        extra = builder.variables(
            "extra",
            [(name,) for name in network.arc_ids[self.free].tolist()],
            upper=np.where(capacity == UNBOUNDED, relaxations.UNBOUNDED, capacity - network.lower[self.free]),
            cost=network.cost[self.free],
            over="ARCS",
            doc="flow beyond the lower limit",
            cost_name="cost",
        )
        if fixed:
            builder.variables("fixed_cost", [()], lower=1, upper=1, cost=fixed, doc="1: the lower limits")
        rows = builder.rows(
            "conservation",
            [(name,) for name in network.node_ids.tolist()],
            lower=self.left_to_send,
            upper=self.left_to_send,
            over="NODES",
            doc="what leaves a node less what enters it is what is left to send",
        )
        once = np.flatnonzero(tail != head)
        builder.enter(rows[tail[once]], extra[once])
        builder.enter(rows[head[once]], extra[once], -1)
        return builder.program()

    def values_of(self, decision: NetworkFlow, program: Program) -> Ints:
        beyond = (decision.units - self.instance.lower)[self.free]
        return np.append(beyond, np.ones(len(program.numbers.objective) - len(beyond), dtype=np.int64))

    def decision_of(self, values: Ints, program: Program) -> NetworkFlow:
        units = self.instance.lower.copy()
        units[self.free] += values[: len(self.free)]
        return NetworkFlow(units)

    def objective(self, flow: NetworkFlow, /) -> Value:
        return (exact_product(self.instance.cost, flow.units),)

    def violations(self, flow: NetworkFlow, /) -> list[Violation]:
        """Every violated constraint. `conservation` says by how much more leaves a node than enters it."""
        expect(
            flow,
            NetworkFlow,
            f"{self.name} judges a flow",
            "make one first: NetworkFlow(units), with a number for each arc",
        )
        network = self.instance
        if len(flow) != network.arcs:
            return [Violation("length", (), len(flow) - network.arcs)]
        arcs, units = network.arc_ids.tolist(), flow.units
        found = []
        for name, limit, sign in (("lower", network.lower, -1), ("capacity", network.capacity, 1)):
            beyond = units < limit if sign < 0 else units > limit
            found += [
                Violation(name, (arcs[arc],), sign * (int(units[arc]) - int(limit[arc])))
                for arc in np.flatnonzero(beyond).tolist()
            ]
        leaves = _leaving(network, units)
        names, supplies = network.node_ids.tolist(), network.supply.tolist()
        found += [
            Violation("conservation", (name,), sent - supply)
            for name, sent, supply in zip(names, leaves, supplies, strict=True)
            if sent != supply
        ]
        return found

    def potential_bound(self, potentials: Sequence[int] | Ints) -> int | None:
        """The lower bound that potentials of the nodes prove (weak duality). It is valid for any potentials.

        Each arc flows at its upper limit if its reduced cost, `cost + potential[tail] - potential[head]`, is negative,
        else at its lower one. None if an arc of negative reduced cost has no limit.
        """
        network = self.instance
        potential = np.array(potentials, dtype=object)
        if (np.abs(potential) <= LARGEST).all():
            potential = potential.astype(np.int64)
        reduced = network.cost + potential[network.tail] - potential[network.head]
        negative = np.array(reduced < 0, dtype=bool)
        if (negative & (network.capacity == UNBOUNDED)).any():
            return None
        limit = np.where(negative, network.capacity, network.lower)
        return exact_product(reduced, limit) - exact_product(potential, network.supply)

    def cheap_bounds(self) -> tuple[Bound, ...]:
        """The cost of each arc at its own best limit, for any flow into the nodes; no bound if one has no limit."""
        best = self.potential_bound([0] * len(self.instance))
        if best is None:
            return ()
        return (Bound("best-arc", "cost", best, "cost, with each arc at its cheaper limit"),)


def _leaving(network: FlowNetwork, units: Ints) -> list[int]:
    """How many more units leave each node than enter it, however many."""
    most = max(abs(int(units.min(initial=0))), abs(int(units.max(initial=0))))
    kind = np.int64 if most * 2 * network.arcs <= LARGEST else object
    leaves = np.zeros(len(network), dtype=kind)
    np.add.at(leaves, network.tail, units.astype(kind))
    np.subtract.at(leaves, network.head, units.astype(kind))
    return cast(list[int], leaves.tolist())
