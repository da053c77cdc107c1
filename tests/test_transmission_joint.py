"""`transmission` jointly: enumeration, search and both models agree; its trees prove what they claim, and no more."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transmission_instances import drawn, example, problems, rich

from optsched.certificates import certify, proved_bound
from optsched.certificates.transmission import branching_certificate
from optsched.errors import CertificateInvalid, TooLarge, UsageError
from optsched.instance import (
    MAP,
    PENDING,
    REDUCE,
    RUNNING,
    Cluster,
    Instance,
    Ragged,
    Shuffle,
    State,
    Topology,
    Workload,
)
from optsched.models import transmission as models
from optsched.placement import NONE
from optsched.problems import Problem
from optsched.problems.base import exact
from optsched.problems.transmission import Transmission
from optsched.problems.transmission_bounds import IMPOSSIBLE, OPEN, Branching, ReduceBounds, ReduceCharges
from optsched.results import Proof, Solution, Termination
from optsched.routes import solve
from optsched.solvers.algebraic import solve_pyomo
from optsched.solvers.brute_force import best_placement
from optsched.solvers.profiles import Profile, load_profile


def tree(solution: Solution) -> Any:
    """A copy of the data of its certificate."""
    return copy.deepcopy(dict(solution.certificates[0].data))


@pytest.mark.parametrize(("distinct", "optimum"), [(True, 80), (False, 60)])
def test_the_papers_example(distinct: bool, optimum: int) -> None:
    """Tests the joint optima of 000's example (digest 000, section 4) by every route."""
    problem = Transmission(example(), distinct=distinct)
    for route in ("search", "pyomo", "pulp", "brute-force"):
        solution = solve(problem, route=route)
        assert (solution.objective, solution.termination) == ((optimum,), Termination.OPTIMAL), route
        certify(problem, solution).raise_if_invalid()
    assert solve(problem).certificate is Proof.COMBINATORIAL


def check_agreement(problem: Problem) -> None:
    """Compares every route with enumeration."""
    found = best_placement(problem)
    assert found is not None
    for route in ("search", "pyomo", "pulp"):
        solution = solve(problem, route=route)
        assert (solution.objective, solution.termination) == (found[0], Termination.OPTIMAL), route
        verdict = certify(problem, solution)
        verdict.raise_if_invalid()
        assert verdict.proved or route != "search"


@st.composite
def alike(draw: st.DrawFn) -> Transmission:
    """Maps that nothing tells apart, each with output for several reduces, on nodes with few slots; whole costs."""
    nodes, maps, reduces = (draw(st.integers(2, 3)) for _ in range(3))
    entries = st.lists(st.integers(0, 6), min_size=nodes * nodes, max_size=nodes * nodes)
    distance = np.reshape(draw(entries), (nodes, nodes)) * (1.0 - np.eye(nodes))
    cluster = Cluster(
        [f"n{node}" for node in range(nodes)],
        slots=draw(st.lists(st.integers(1, 2), min_size=nodes, max_size=nodes)),
        reduce_slots=draw(st.lists(st.integers(0, 2), min_size=nodes, max_size=nodes)),
        topology=Topology("distance", distance),
    )
    sent = [draw(st.integers(0, 9)) for _ in range(reduces)]
    workload = Workload(
        [f"t{task}" for task in range(maps + reduces)],
        kind=[MAP] * maps + [REDUCE] * reduces,
        job=[0] * (maps + reduces),
        job_ids=["J"],
        size=[float(draw(st.integers(0, 9)))] * maps + [np.nan] * reduces,
        replicas=Ragged.from_rows([[0]] * maps + [[]] * reduces),
        shuffle=Shuffle(
            np.repeat(np.arange(maps), reduces),
            np.tile(np.arange(maps, maps + reduces), maps),
            sent * maps,
            [np.nan] * maps * reduces,
        ),
    )
    return Transmission(Instance(cluster, workload))


@given(alike())
@settings(max_examples=25)
def test_forms_agree_where_maps_are_alike(problem: Transmission) -> None:
    """Tests both forms of the compact model, with classes of maps and without, and the search against enumeration."""
    found = best_placement(problem)
    assert found is not None
    assert solve(problem).objective == found[0]
    for form in models.FORMS:
        for aggregate in (True, False):
            model = models.build_pyomo(problem, form=form, aggregate=aggregate)
            outcome = solve_pyomo(model, load_profile("exact"))
            placement = models.decode(model, problem)
            assert problem.evaluate(placement) == found[0], (form, aggregate)
            assert outcome.objective == pytest.approx(float(found[0][0]), abs=1e-4), (form, aggregate)


def test_routes_agree() -> None:
    """Tests that all routes find the enumerated optimum, and that the search proves it."""
    settings(max_examples=40)(given(problems("transmission"))(check_agreement))()


@pytest.mark.thorough
def test_routes_agree_on_many() -> None:
    """Tests the same on more instances."""
    settings(max_examples=300)(given(problems("transmission"))(check_agreement))()


def least_costs(problem: Transmission) -> dict[tuple[int, ...], int]:
    """Least cost, in units, beside each feasible choice of all reduces: a node, or the number of nodes for none."""
    nodes, maps, reduces = len(problem.distance), len(problem.maps), len(problem.reduces)
    placed = np.array(list(product(range(nodes + 1), repeat=maps)), dtype=np.int64).reshape((nodes + 1) ** maps, maps)
    used = (placed[:, :, None] == np.arange(nodes + 1)).sum(axis=1)
    room = np.append(problem.instance.state.idle_slots, maps - problem.map_count)
    placed = placed[(used <= room).all(axis=1)]
    linear = np.pad(problem.map_units, ((0, 0), (0, 1)))[np.arange(maps), placed].sum(axis=1)
    entries = [np.pad(problem.entry_units(entry), (0, 1)) for entry in range(len(problem.entries.map))]
    found = {}
    for choice in product(range(nodes + 1), repeat=reduces):
        on = np.where(np.array(choice) == nodes, NONE, choice)
        if list(problem.slots.violations(on)):
            continue
        costs = linear + int(np.pad(problem.reduce_units, ((0, 0), (0, 1)))[np.arange(reduces), list(choice)].sum())
        for one, other, units in zip(problem.entries.map, problem.entries.reduce, entries, strict=True):
            costs = costs + units[placed[:, one], choice[other]]
        found[choice] = int(costs.min())
    return found


def any_prices(rng: np.random.Generator, *shape: int) -> Any:
    """Prices that mean something, or nothing."""
    lowest, highest = [(0, 1), (-5, 10), (0, 5000), (-(2**53), 2**53), (0, 2**40)][rng.integers(5)]
    return rng.integers(lowest, highest, shape)


def any_tree(rng: np.random.Generator, bounds: ReduceBounds) -> Branching:
    """A tree with any states, in any order of the reduces, with any prices and charges."""
    nodes, order = bounds.nowhere, rng.permutation(len(bounds.problem.reduces))
    share, states = rng.random(), {}
    for length in range(len(order) + 1):
        for state in product(range(nodes + 1), repeat=length):
            if not state or (state[:-1] in states and rng.random() < share):
                states[state] = [any_prices(rng, len(bounds.free)) for _ in range(rng.integers(3))]
    charges = ReduceCharges(any_prices(rng, nodes + 1), any_prices(rng, *bounds.problem.barred.shape))
    return Branching(order, states, charges if rng.random() < 0.7 else None)


def check_sound(seed: int) -> None:
    """No tree proves more than the optimum, no bound of a choice is more than the least that it leads to."""
    problem, rng = rich(seed), np.random.default_rng(seed)
    least = least_costs(problem)
    optimum = min(least.values())
    bounds = ReduceBounds(problem)
    for _ in range(3):
        enough = [IMPOSSIBLE, optimum + int(rng.integers(-9, 9))][rng.integers(2)]
        assert bounds.proved(any_tree(rng, bounds), enough) <= optimum, seed
    bounds.twin = np.full_like(bounds.twin, -1)  # a choice that another of reduces that are alike stands for counts too
    for some in rng.integers(len(least), size=5):
        chosen = np.array(list(least)[some])
        assert bounds.complete(chosen, any_prices(rng, len(bounds.free))) <= least[tuple(chosen.tolist())], seed
        reduce = int(rng.integers(len(chosen)))
        fixed = np.where((rng.random(len(chosen)) < 0.5) | (np.arange(len(chosen)) == reduce), OPEN, chosen)
        found = bounds.children(fixed, reduce, any_prices(rng, len(bounds.free)), any_tree(rng, bounds).charges)
        for choice, cost in least.items():
            if all(one in (OPEN, other) for one, other in zip(fixed, choice, strict=True)):
                assert found[choice[reduce]] <= cost, (seed, fixed, choice)
    solution = solve(problem)
    assert solution.objective == solution.bound == (exact(optimum, problem.grid),), seed
    assert certify(problem, solution).proved, seed


def test_no_tree_proves_too_much() -> None:
    """Tests that bounds hold whatever the prices, charges, states and order; that the search's own are tight."""
    for seed in range(60):
        check_sound(seed)


@pytest.mark.thorough
def test_no_tree_of_many_proves_too_much() -> None:
    """Tests the same on more problems."""
    for seed in range(60, 600):
        check_sound(seed)


def choices(bounds: ReduceBounds, order: tuple[int, ...], state: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """Choices of all reduces that a tree in this order leads to."""
    fixed = bounds.fixed(np.array(order), state)
    if len(state) == len(order):
        yield tuple(fixed.tolist())
        return
    for choice in np.flatnonzero(bounds.allowed(fixed, order[len(state)])).tolist():
        yield from choices(bounds, order, (*state, choice))


def test_reduces_that_are_alike_in_any_order() -> None:
    """Tests that what is left out because of reduces that nothing tells apart costs no less, whichever comes first."""
    alike = 0
    for seed in range(200):
        problem = rich(seed)
        bounds = ReduceBounds(problem)
        if (bounds.twin < 0).all():
            continue
        alike += 1
        least = least_costs(problem)
        for order in permutations(range(len(problem.reduces))):
            assert min(least[choice] for choice in choices(bounds, order)) == min(least.values()), seed
    assert alike > 20


def test_what_makes_reduces_alike() -> None:
    """Tests that R2 is as R1, and that R3 to R6 differ in a size, a map, their job, and what a running map sends."""
    sent = [[1, 1, 1, 0, 1, 1], [2, 2, 3, 1, 2, 2], [0, 0, 0, 2, 0, 0], [0, 0, 0, 0, 0, 4]]
    senders, receivers = np.indices((4, 6)).reshape(2, -1)
    cluster = Cluster(["a", "b"], slots=[4, 4], reduce_slots=[9, 9], topology=Topology("distance", [[0, 1], [1, 0]]))
    workload = Workload(
        [f"t{task}" for task in range(10)],
        kind=[MAP] * 4 + [REDUCE] * 6,
        job=[0] * 8 + [1, 0],
        job_ids=["J", "K"],
        size=[1.0] * 10,
        replicas=Ragged.from_rows([[0]] * 10),
        shuffle=Shuffle(senders, 4 + receivers, np.ravel(sent), np.full(24, np.nan)),
    )
    state = State.initial(
        cluster, workload, status=[PENDING] * 3 + [RUNNING] + [PENDING] * 6, node=[-1] * 3 + [0] + [-1] * 6
    )
    instance = Instance(cluster, workload, state)
    assert ReduceBounds(Transmission(instance)).twin.tolist() == [-1, 0, -1, -1, -1, -1]
    assert ReduceBounds(Transmission(instance, distinct=False)).twin.tolist() == [-1, 0, -1, -1, 1, -1]


def test_bounds_of_the_last_two_reduces_are_exact() -> None:
    """Tests that with two reduces open and room for all maps everywhere, bounds are what the choices cost."""
    for seed in range(60):
        problem, rng = rich(seed, slots=4), np.random.default_rng(seed)
        bounds = ReduceBounds(problem)
        bounds.twin = np.full_like(bounds.twin, -1)
        least = least_costs(problem)
        chosen = np.array(list(least)[rng.integers(len(least))])
        some = rng.permutation(len(chosen))[:2]
        fixed = chosen.copy()
        fixed[some] = OPEN
        expected = np.full(bounds.nowhere + 1, IMPOSSIBLE)
        for choice, cost in least.items():
            if all(one in (OPEN, other) for one, other in zip(fixed, choice, strict=True)):
                expected[choice[some[0]]] = min(cost, expected[choice[some[0]]])
        assert bounds.children(fixed, int(some[0]), bounds.free).tolist() == expected.tolist(), seed


def test_bounds_of_large_costs() -> None:
    """Tests that bounds scale with the sizes, past what 31 bits hold, where they are exact."""
    instance = drawn(0, 3, 3, 4, slots=3)
    expected: dict[tuple[int, ...], list[int]] = {}
    for power in range(41):
        workload, shuffle = instance.workload, instance.workload.shuffle
        assert shuffle is not None
        larger = replace(shuffle, size=shuffle.size * 2.0**power)
        bounds = ReduceBounds(
            Transmission(Instance(instance.cluster, replace(workload, size=workload.size * 2.0**power, shuffle=larger)))
        )
        for fixed in ((0, OPEN, OPEN), (0, 1, OPEN)):
            found = bounds.children(np.array(fixed), 2, bounds.free).tolist()
            small = expected.setdefault(fixed, found)
            assert found == [one if one == IMPOSSIBLE else one * 2**power for one in small], power


@pytest.mark.parametrize(("maps", "reduces", "nodes", "slots"), [(150, 1, 2, 75), (1, 100, 100, 1)])
def test_prices_that_are_too_large(maps: int, reduces: int, nodes: int, slots: int) -> None:
    """Tests that prices whose sum is past what numbers hold prove nothing that is not so."""
    problem = Transmission(drawn(0, maps, reduces, nodes, slots=slots))
    bounds = ReduceBounds(problem)
    value = problem.objective(problem.placement([*np.arange(maps) // slots, *range(reduces)]))[0]
    largest = np.full(nodes + 1, 2**53)
    charges = ReduceCharges(largest, np.full(problem.barred.shape, 2**53))
    for prices in ([], [largest[: len(bounds.free)]]):
        assert bounds.proved(Branching(np.arange(reduces), {(): prices}, charges)) <= value


def test_seeded_faults() -> None:
    """Tests that a tree with a state left out proves less, and that data which means nothing is refused."""
    problem = Transmission(example())
    solution = solve(problem)
    bounds = ReduceBounds(problem)
    nothing = branching_certificate(bounds, Branching(np.arange(2), {}, None), 80)
    assert proved_bound(problem, nothing) < 80
    claimed = replace(solution, bound=(81,), certificates=(replace(solution.certificates[0], claim=81),))
    assert not certify(problem, claimed).valid
    wrong: list[tuple[str, Any]] = [
        ("order", "R1"),
        ("order", ["R1", "R1"]),
        ("order", ["R1", 3]),
        ("states", None),
        ("states", ["R1"]),
        ("states", [{"on": ["D9"], "prices": []}]),
        ("states", [{"on": [], "prices": [3]}]),
        ("states", [{"on": [], "prices": [{"nodes": {"D9": 1}, "unplaced": 0}]}]),
        ("states", [{"on": [], "prices": [{"nodes": {}, "unplaced": 0.5}]}]),
        ("charges", {"nodes": {}, "unplaced": 0, "jobs": {"J9": {}}}),
        ("charges", 3),
    ]
    for key, value in wrong:
        data = {**tree(solution), key: value}
        with pytest.raises(CertificateInvalid):
            proved_bound(problem, replace(solution.certificates[0], data=data))


def test_charges_of_jobs_are_read_back() -> None:
    """Tests that prices of a job's places, negative ones and large ones too, are read and prove no more than 80."""
    problem = Transmission(example())
    solution = solve(problem)
    for price in (-3, 0, 5, 2**53):
        charges = {"nodes": {"D1": price}, "unplaced": price, "jobs": {"J": {"D2": price}}}
        certificate = replace(solution.certificates[0], data={**tree(solution), "charges": charges})
        assert proved_bound(problem, certificate) == 80


@pytest.mark.parametrize("held", [True, False])
def test_bounds_are_the_same_held_or_computed(held: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that products that do not fit into memory are computed block by block, to the same bounds."""
    problem = Transmission(example())
    expected = ReduceBounds(problem)
    monkeypatch.setattr("optsched.problems.transmission_bounds._HELD", 2**24 if held else 0)
    monkeypatch.setattr("optsched.problems.transmission_bounds._BLOCK", 1)
    bounds = ReduceBounds(problem)
    for fixed in (np.array([1, OPEN]), np.array([OPEN, OPEN])):
        reduce = int(np.flatnonzero(fixed == OPEN)[0])
        ours, theirs = (one.children(fixed, reduce, one.free) for one in (bounds, expected))
        assert (ours <= theirs).all()
        assert (bounds.map_costs(fixed) == expected.map_costs(fixed)).all()
    assert (bounds.given_maps(np.array([0, 1])) == expected.given_maps(np.array([0, 1]))).all()


def test_large_models_are_refused() -> None:
    """Tests that a literal model that does not fit says so, and that forms have names."""
    problem = Transmission(example())
    with pytest.raises(TooLarge, match="transmission model would have"):
        models.build_pulp(problem, max_variables=3)
    with pytest.raises(UsageError, match="form='no': give one of flow, pairs"):
        models.build_pyomo(problem, form="no")
    profile = Profile("exact")
    assert solve(problem, profile, start=[2, 1, 0, 2]).objective == (80,)
    assert models.build_pyomo(problem, form="pairs", aggregate=False).both_of_map
