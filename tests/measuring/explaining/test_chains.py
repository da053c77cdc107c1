"""Chains of moves between two placements: gains add up exactly, and what is between is feasible.

That it is so for every problem is a check of the contract suite, `explanation`.
"""

from itertools import combinations, pairwise

import numpy as np
import pytest
from small_problems import small

from optsched import Placement, generate, solve
from optsched.core.instance import Cluster, Instance, Pairs, Workload
from optsched.core.results import Value
from optsched.heuristics import run
from optsched.measuring.explaining.chains import Difference, better_by, chains_of, difference, nearer, total_gain
from optsched.problems import Lsap, Problem, problem

pytestmark = pytest.mark.filterwarnings("ignore::optsched.problems.fair_lsap.RationRuleWarning")


def check(posed: Problem, here: Placement, there: Placement) -> Difference:
    """The difference, held against the values of both placements."""
    found = difference(posed, here, there)
    assert total_gain(posed, found.chains) == better_by(posed, posed.evaluate(here), posed.evaluate(there))
    assert posed.evaluate(posed.placement(found.there)) == posed.evaluate(there)
    return found


#: Four tasks, each with its data on a node of its own.
FOUR = small([[0], [1], [2], [3]])


class Uneven(Lsap):
    """An objective that is no sum: the square of the locality cost. No record names it."""

    name = "uneven"

    def objective(self, placement: Placement) -> Value:
        return (super().objective(placement)[0] ** 2,)


class Mistaken(Uneven):
    """Says of itself that its costs are its tasks' own, which is wrong."""

    name = "mistaken"
    own_costs = Lsap.own_costs


@pytest.mark.parametrize("kind", [Uneven, Mistaken])
def test_own_costs_that_do_not_add_up_are_not_believed(kind: type[Lsap]) -> None:
    """Tests that gains are shown by the objective, in an order, whatever the class or its base says of own costs."""
    posed = kind(FOUR)
    found = check(posed, posed.placement([1, 0, 3, 2]), posed.placement([0, 1, 2, 3]))
    assert [(chain.gain, chain.ordered) for chain in found.chains] == [((12,), True), ((4,), True)]


def test_what_is_feasible_only_together_is_one_step() -> None:
    """Tests two tasks that change places on nodes which hold one of them each by capacity, beside one that is free."""
    pairs = Pairs(cost=[[5.0, 1.0, 9.0], [1.0, 5.0, 9.0], [9.0, 9.0, 3.0]], demand={"mb": [[2.0] * 3] * 3})
    cluster = Cluster(["a", "b", "c"], capacity={"mb": [3.0, 3.0, 2.0]})
    posed = problem("generalized-assignment", Instance(cluster, Workload(["t0", "t1", "t2"], pairs=pairs)))
    found = check(posed, posed.placement([0, 1, 2]), posed.placement([1, 0, 2]))
    assert [(set(chain.positions), chain.kind, chain.gain) for chain in found.chains] == [({0, 1}, "together", (8,))]


def test_many_moves_become_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that where few values can be asked for, the first moves are made one by one, and the rest at once."""
    monkeypatch.setattr("optsched.measuring.explaining.chains.LEAST_VALUES", 24)
    monkeypatch.setattr("optsched.measuring.explaining.chains.MOST_VALUES", 24)
    posed = problem("latency", generate("latency", 1, nodes=12, tasks=60, replicas=2))
    best = solve(posed).decision
    found = check(posed, posed.placement(np.arange(60) % 12), best)
    assert len(found.chains) <= 6
    assert {chain.kind for chain in found.chains} & {"rest"}
    assert not found.needed


@pytest.mark.parametrize(
    ("family", "name", "heuristic", "seed", "drawn"),
    [
        ("latency", "latency", "round-robin", 26, {"nodes": 3, "tasks": 13, "replicas": 2, "max_load": 2}),
        ("utility", "utility", "fair-sharing", 44, {"jobs": 2, "nodes": 3, "maps": 6, "reduces": 1}),
        ("traffic", "traffic", "joss-t", 2, {"nodes": 6, "tasks": 10, "datacenters": 3, "jobs": 3, "reduces": 2}),
    ],
)
def test_no_step_is_idle_also_once_others_were_left_out(
    family: str, name: str, heuristic: str, seed: int, drawn: dict[str, int]
) -> None:
    """Tests that what was needed only for a step that was left out later is left out too."""
    instance = generate(family, seed=seed, **drawn)
    posed = problem(name, instance)
    here, there = run(posed, heuristic, seed).placement, solve(posed).decision
    found = check(posed, here, there)
    assert found.needed
    goal = posed.evaluate(there)
    for chain in found.chains:
        nodes = found.there.copy()
        nodes[list(chain.positions)] = found.here[list(chain.positions)]
        without = posed.placement(nodes)
        assert posed.violations(without) or posed.objective(without) != goal


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray, dict[int, int]]:
    """Random moves between a few places, and their spare room."""
    rng = np.random.default_rng(seed)
    moves, places = rng.integers(1, 9), rng.integers(2, 6)
    tail, head = rng.integers(0, places, (2, moves))
    differing = tail != head
    spare = {place: int(rng.integers(0, 3)) for place in range(places)}
    return tail[differing], head[differing], spare


@pytest.mark.parametrize("seed", range(60))
def test_any_chains_keep_within_the_room(seed: int) -> None:
    """Tests that all moves are in chains that lead on, and that no choice of them fills a place beyond its room."""
    tail, head, spare = drawn(seed)
    chains = chains_of(tail, head, [0] * len(tail), spare)
    assert sorted(arc for chain in chains for arc in chain) == list(range(len(tail)))
    for chain in chains:
        assert all(head[one] == tail[other] for one, other in pairwise(chain))
        visited = [tail[chain[0]], *head[chain]]
        assert len(set(visited[:-1])) == len(visited) - 1, "a chain visits a place twice"
    for number in range(len(chains) + 1):
        for chosen in combinations(chains, number):
            arcs = [arc for chain in chosen for arc in chain]
            for place, room in spare.items():
                grown = np.count_nonzero(head[arcs] == place) - np.count_nonzero(tail[arcs] == place)
                both = np.count_nonzero(head == place) - np.count_nonzero(tail == place)
                assert grown <= max(both, 0) + room


def test_bug_nothing_to_place_and_no_idle_slot_divided_by_zero() -> None:
    """Tests that where nothing can be placed the optimum is the placement itself, and no task moves."""
    posed = problem("transmission-maps", "papers/pna-estimate")
    nothing = solve(posed).decision
    assert not len(posed.tasks)
    nodes, nearest = nearer(posed, nothing, nothing)
    assert (nodes.tolist(), nearest) == ([], True)
