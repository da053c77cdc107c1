"""The branch and bound of `transmission`: its first placement, limits, gaps, interrupts, ways to the same optimum."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from engines import clock_of_looks
from solutions import check_routes
from transmission_instances import drawn, enlarged, example, rich

from optsched import InputError, Limit, Termination, certify, solve
from optsched.core.deadline import deadline
from optsched.core.instance import Ragged, Topology
from optsched.problems.transmission import Transmission
from optsched.problems.transmission_bounds import ReduceBounds
from optsched.problems.transmission_maps import TransmissionMaps
from optsched.solvers.profiles import Profile
from optsched.solvers.searches import transmission
from optsched.solvers.searches.transmission import Incumbent, Searched, TransmissionSearch
from optsched.testing.contract import every_decision


def branching() -> TransmissionSearch:
    """A search that looks into several states: four maps on five slots, three reduces, optimum 263."""
    return TransmissionSearch(Transmission(drawn(0, 4, 3, 5, slots=1)), Profile("exact"))


def check_honest(search: TransmissionSearch, found: Searched, optimum: int) -> None:
    """A feasible placement, and a bound that the tree proves and that is no more than the optimum."""
    problem = search.problem
    assert problem.violations(problem.placement(found.nodes)) == []
    assert found.bound <= optimum <= problem.evaluate(problem.placement(found.nodes))[0]
    assert search.bounds.proved(found.tree) >= found.bound


@pytest.mark.parametrize("seed", [5, 16, 19, 26, 33])
def test_the_first_of_the_best_placements_is_kept(seed: int) -> None:
    """Tests that the incumbent gives way to a better placement alone, with maps and reduces that wait."""
    problem = rich(seed)
    bounds = ReduceBounds(problem)
    incumbent = Incumbent(bounds)
    best = None
    assert incumbent.nodes is None
    for placement in every_decision(problem):
        if problem.violations(placement):
            continue
        incumbent.begin(placement)
        if best is None or problem.evaluate(placement) < problem.evaluate(best):
            best = placement
        assert incumbent.nodes.tolist() == problem.nodes_of(best).tolist()


@pytest.mark.parametrize("nodes", [0, 1, 4, 7, 10])
def test_node_limits_within_the_tree(nodes: int) -> None:
    """Tests the bound of a tree that is cut short at any state."""
    search = TransmissionSearch(branching().problem, Profile("some", node_limit=nodes))
    found = search.run()
    assert (found.limit, found.states) == (Limit.NODES, nodes)
    check_honest(search, found, 263)


@pytest.mark.parametrize("gap", [{"relative_gap": 0.5}, {"absolute_gap": 200.0}, {"relative_gap": 1e-9}])
def test_a_gap_is_a_limit(gap: dict[str, float]) -> None:
    """Tests that a gap is looked at from the first placement on, and that the one told is no wider."""
    search = TransmissionSearch(branching().problem, Profile("gap", **gap))
    found = search.run()
    check_honest(search, found, 263)
    value = search.problem.evaluate(search.problem.placement(found.nodes))[0]
    assert value - found.bound <= max(gap.get("absolute_gap", 0), gap.get("relative_gap", 0) * value)
    assert (found.limit is None) == (value == found.bound)


def test_nothing_is_searched_where_the_cheap_bound_is_met(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a first placement which costs no more than the cheap bound is proved by it, without a single state."""
    near = replace(example().cluster, topology=Topology("distance", np.zeros((4, 4))))
    problem = Transmission(replace(example(), cluster=near))
    search = TransmissionSearch(problem, Profile("exact"))
    monkeypatch.setattr(search, "_push", pytest.fail)
    found = search.run()
    assert (found.states, found.limit, found.bound) == (0, None, 0)
    check_honest(search, found, 0)


@pytest.mark.parametrize(("name", "after"), [("_expand", 0), ("_expand", 4), *(("_push", each) for each in range(6))])
def test_an_interrupt(name: str, after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C within a state, or before all that it leads to waits, leaves the placement and a bound."""
    search = branching()
    real, calls = getattr(search, name), itertools.count()

    def interrupted(*given: Any) -> None:
        if next(calls) == after:
            raise KeyboardInterrupt
        real(*given)

    monkeypatch.setattr(search, name, interrupted)
    found = search.run()
    assert found.limit is Limit.INTERRUPTED
    check_honest(search, found, 263)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("problems.transmission_bounds._PAIRED", -1),  # each reduce for itself, where pairs would take too long
        ("solvers.searches.transmission._MOST_WAITING", 0),  # depth first
        (
            "solvers.searches.transmission_stages.by_arrays",
            lambda problem, profile: (None, None, None),
        ),  # no first placement
    ],
)
def test_the_optimum_by_other_ways(place: str, value: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a search that may do less proves the same."""
    monkeypatch.setattr(f"optsched.{place}", value)
    search = branching()
    found = search.run()
    assert (found.bound, found.limit) == (263, None)
    assert search.bounds.paired == ("_PAIRED" not in place)
    check_honest(search, found, 263)


@pytest.mark.parametrize("constant", ["MOST_PRODUCTS", "_MOST_CELLS"])
def test_what_is_too_large_is_not_searched(constant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a problem with too many products or cells has the sequential placement and the cheap bound."""
    monkeypatch.setattr(transmission, constant, 0)
    search = branching()
    found = search.run()
    assert (found.limit, found.states, found.bound) == (Limit.MEMORY, 0, search.bounds.cheap)
    check_honest(search, found, 263)


@pytest.mark.parametrize("power", [30, 38, 41])
def test_the_largest_costs_are_proved(power: int) -> None:
    """Tests that prices of contended slots are not cut off where costs come near 2^53."""
    problem = enlarged(drawn(2, 4, 3, 5, slots=1), power)
    solution = solve(problem)
    assert solution.objective == (444 * 2**power,)
    assert certify(problem, solution).proved


def test_prices_that_are_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a search whose prices are larger than bounds read them claims no more than they prove."""
    monkeypatch.setattr("optsched.problems.transmission_bounds.LARGEST", 2**5)
    problem = Transmission(drawn(2, 4, 3, 5, slots=1))
    solution = solve(problem)
    assert (solution.objective, solution.termination) == ((444,), Termination.FEASIBLE)
    assert certify(problem, solution).proved


@pytest.mark.parametrize("held", [True, False])
def test_bug_first_placement_did_not_look_at_the_clock(held: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests a deadline at the first, second, ... look at the clock: always a placement and a bound that is proved."""
    problem = Transmission(drawn(0, 4, 3, 5, slots=1))
    monkeypatch.setattr("optsched.problems.transmission_bounds._HELD", 2**24 if held else 0)
    cut = []
    for looks in (0, 1, 2, 3, 5, 8, 13, 20, 30, 45, 70):
        with clock_of_looks(), deadline(looks):
            solution = solve(problem)
        assert solution.objective >= (263,) >= solution.bound
        assert certify(problem, solution).proved
        cut.append(solution.limit is Limit.TIME)
    assert cut[:4] == [True] * 4
    assert held or all(cut)


def test_bug_maps_alone_were_refused() -> None:
    """Tests sizes near 2^53 that maps alone may not have, since their costs are added up more roughly."""
    instance, near = drawn(0, 4, 1, 3), Ragged.from_rows([[0, 1, 2]] * 3 + [[2], []])
    workload = replace(instance.workload, size=[2.0**49] * 4 + [np.nan], replicas=near)
    problem = Transmission(replace(instance, workload=workload))
    with pytest.raises(InputError):
        TransmissionMaps(problem.instance)
    check_routes(problem, {})
