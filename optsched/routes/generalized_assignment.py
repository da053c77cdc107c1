"""Routes of `generalized-assignment`: a tree of cases, or the integer program by arrays or a model, and prices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy

from optsched.certificates import (
    capacity_tree_certificate,
    generalized_assignment_certificate,
    no_packing_certificate,
)
from optsched.certificates.trees import Tree
from optsched.core.instance import Floats, Ints
from optsched.core.placement import Placement
from optsched.core.results import Certificate, Limit, Proof, Solution, Termination
from optsched.problems import GeneralizedAssignment
from optsched.routes.call import Call, Ended, Found, Held, proof_of
from optsched.routes.listing import MODELS
from optsched.solvers.profiles import Profile
from optsched.solvers.searches.capacity_tree import MOST_ENTRIES, CapacityClimb, CapacityNeighbourhoods, CapacityTree
from optsched.solvers.searches.generalized_assignment import (
    Assigned,
    CapacityPrices,
    capacity_prices,
    greedy_packing,
    plain_assignment,
    solve_integer_program,
)

#: The default first.
ROUTES = ("search", "arrays", *MODELS, "brute-force")

#: The tree is searched in these parts (see `capacity_tree`). After each part, this many neighbourhoods of the placement
#: are searched for a better one. Then HiGHS may take this many nodes, and then the search of the tree continues.
_PARTS, _NEAR, _NODES = (2 * 10**8, 6 * 10**8, 12 * 10**8, 2 * 10**9), 100, 5_000

#: With so few tasks, or with less than one part in a thousand open, the tree is as quick without neighbourhoods.
_FEW, _OPEN = 40, 1_000

#: Work for the first search for any placement; and for the rest of the tree if few nodes are allowed.
_SOON = sum(_PARTS)

#: From this many pairs of tasks and nodes, a step of HiGHS, or the posing, may take half a second.
OVERRUNS = {"search": 20_000, "arrays": 20_000}


def by_route(call: Call[GeneralizedAssignment], profile: Profile) -> Solution:
    """The tree, or the integer program by arrays or a model. The proof is prices, a tree, or the solver's claim.

    Route `search` solves plain assignment directly; otherwise it grows a tree. If the tree does not close, it continues
    as `arrays` does. It first looks for prices of the capacities, within the same time limit. They are the proof if
    their bound, rounded, equals the optimum.
    """
    problem = call.problem
    priced = _free(problem)
    if not len(problem.tasks):
        return call.settled(problem.placement([]), priced)
    if call.route == "search" and len(problem.stranded):
        return call.infeasible(Ended(problem.plainly_infeasible or ""))
    search, found = _Search(call), Found()
    with call.until_stopped():
        plain = plain_assignment(problem) if call.route == "search" else None
        if plain is not None:
            return _by_assignment(call, plain)
        prices = capacity_prices(problem, profile)
        priced = generalized_assignment_certificate(problem, *prices)
        call.incumbent.hold(lambda: (greedy_packing(problem), (priced,)))
        if call.route == "search":
            search.run(prices, priced, profile)
        else:
            found = call.by_model(profile) if call.route in MODELS else _by_arrays(call, profile, call.start)
    return search.solution(priced) if call.route == "search" else _answered(call, priced, found)


def plain(problem: GeneralizedAssignment) -> Held:
    """A greedy packing if one fits, and the bound with all capacities free."""
    return greedy_packing(problem), (_free(problem),)


def _free(problem: GeneralizedAssignment) -> Certificate:
    """The proof of the bound with all capacities free."""
    return generalized_assignment_certificate(problem, np.zeros_like(problem.capacity), 1)


def _answered(call: Call[GeneralizedAssignment], proof: Certificate, outcome: Found) -> Solution:
    """The solution from a solver's answer, with what is proved without it."""
    if outcome.outcome.status is Termination.INFEASIBLE:
        return call.infeasible(outcome)
    return call.answered(outcome.decision, (proof_of(call.problem, proof, outcome, call.problem.grid),), outcome)


class _Search:
    """The tree, and HiGHS if the tree is too large; at a stop, the best decision and proof of either.

    If no packing is found quickly, a tree without costs finds one or proves that there is none.
    """

    def __init__(self, call: Call[GeneralizedAssignment]) -> None:
        self.call, self.problem = call, call.problem
        self.tree: CapacityClimb | None = None
        self.any: CapacityTree | None = None
        self.answer = Found()

    def run(self, prices: CapacityPrices, priced: Certificate, profile: Profile) -> None:
        """Search for a while, ask HiGHS for something better, and search on; in the end HiGHS may take as long as it
        needs.

        If the profile allows only few nodes, the tree is no larger than at first either.
        """
        problem, least = self.problem, prices.prices / prices.scale
        start = self.call.start or greedy_packing(problem)
        nodes = self._packed(least, _SOON) if start is None else problem.nodes_of(start)
        most = _NODES if profile.node_limit is None else min(_NODES, profile.node_limit)
        if nodes is not None:
            self.tree = CapacityClimb(problem, least, nodes)
            self.call.incumbent.hold(lambda: (self._incumbent, (self._proof(priced),)))
            self._by_turns(self.tree, priced)
        if self._closed:
            return
        self.call.incumbent.hold(lambda: (self._incumbent, (self._proof(priced),)))
        self.answer = _by_arrays(self.call, replace(profile, node_limit=most), self._incumbent)
        stopped, better = self.answer.outcome.limit, self._incumbent
        entries = _SOON if most == profile.node_limit else MOST_ENTRIES
        nodes = self._packed(least, entries) if better is None else problem.nodes_of(better)
        if nodes is not None:
            self.tree = self.tree or CapacityClimb(problem, least, nodes)
            self.tree.hold(nodes)
            self.tree.search(entries)
        if not self._closed and stopped is Limit.NODES and most != profile.node_limit:
            self.answer = _by_arrays(self.call, profile, self._incumbent)

    def _by_turns(self, tree: CapacityClimb, priced: Certificate) -> None:
        """Search the tree, and neighbourhoods of its incumbent, by turns, until the tree is closed."""
        near = None
        for part in _PARTS:
            if tree.search(part):
                return
            wide = _OPEN * (tree.limit - tree.bound) > abs(tree.limit)
            if len(self.problem.tasks) <= _FEW or not wide:
                continue
            near = near or CapacityNeighbourhoods(self.problem, tree.prices, tree.nodes)
            near.hold(tree.nodes)
            try:
                near.search(_NEAR)
            finally:
                tree.hold(near.nodes)
            self.call.incumbent.hold(lambda: (self._incumbent, (self._proof(priced),)))

    def _packed(self, least: Floats, most_entries: int) -> Ints | None:
        """Nodes of any placement, searched for with this much work; None if none was found."""
        if self.any is None:
            self.any = CapacityTree(self.problem, least, costless=True)
        self.any.search(most_entries)
        return self.any.nodes

    @property
    def _nowhere(self) -> Tree | None:
        """The proof that nothing is feasible."""
        return self.any.tree if self.any is not None and self.any.closed and self.any.nodes is None else None

    @property
    def _closed(self) -> bool:
        return self._nowhere is not None or (self.tree is not None and self.tree.closed)

    @property
    def _incumbent(self) -> Placement | None:
        """The best placement so far."""
        nodes = self.tree.nodes if self.tree is not None else None
        own = None if nodes is None else self.problem.placement(nodes)
        held = [placement for placement in (own, self.answer.decision) if placement is not None]
        problem = self.problem
        return min(held, key=lambda placement: problem.minimised(problem.evaluate(placement)), default=None)

    def solution(self, priced: Certificate) -> Solution:
        """What the tree proves, or else what HiGHS claims; prices are the proof if they are as good as the tree."""
        call, tree = self.call, self.tree
        ending = Ended("every case is settled", solver={"name": "Lagrangian branch and bound"})
        if self._nowhere is not None:
            return call.infeasible(ending, no_packing_certificate(self.problem, self._nowhere))
        proof = self._proof(priced)
        if tree is not None and tree.closed:
            return call.answered(self._incumbent, (proof,), ending)
        return _answered(call, proof, replace(self.answer, decision=self._incumbent))

    def _proof(self, priced: Certificate) -> Certificate:
        """The better of the two proofs: prices if the tree proves no more."""
        if self.tree is None or self.tree.tree is None:
            return priced
        grown = capacity_tree_certificate(self.problem, self.tree.tree, self.tree.bound)
        return max((priced, grown), key=lambda proof: self.problem.minimised((proof.claim,)))


def _by_arrays(call: Call[GeneralizedAssignment], profile: Profile, start: Placement | None) -> Found:
    """The answer of HiGHS to the integer program; its figures are in units and minimised."""
    problem, built = call.problem, call.elapsed
    outcome, placement = solve_integer_program(problem, profile.since(call.began), start)
    return Found(outcome, placement, units=problem.sign * problem.grid, build_seconds=built).checked(problem)


def _by_assignment(call: Call[GeneralizedAssignment], assigned: Assigned) -> Solution:
    """The result of plain assignment. Prices of the capacities prove it if they match its prices of slots."""
    problem = call.problem
    solver = {"name": "SciPy linear_sum_assignment", "version": scipy.__version__}
    if assigned.nodes is None:
        proof = None if assigned.crowd is None else no_packing_certificate(problem, assigned.crowd)
        return call.infeasible(Ended("no assignment of all tasks to slots", solver=solver), proof)
    placement = problem.placement(assigned.nodes)
    value = problem.evaluate(placement)[0]
    certificate = Certificate("cost", Proof.SOLVER, value)
    if assigned.prices is not None:
        priced = generalized_assignment_certificate(problem, *assigned.prices)
        certificate = priced if priced.claim == value else certificate
    return call.answered(placement, (certificate,), Ended("optimal", solver=solver))
