"""`transmission` jointly: enumeration, search and both models agree; its trees prove what they claim, and no more."""

from __future__ import annotations

import copy
import itertools
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import permutations, product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import command_line
import numpy as np
import pytest
from click.testing import Result
from hypothesis import given, settings
from hypothesis import strategies as st
from transmission_instances import drawn, example, problems, rich

from optsched.certificates import certify, proved_bound
from optsched.certificates.transmission import transmission_certificate
from optsched.deadline import deadline
from optsched.errors import CertificateInvalid, TooLarge, UsageError
from optsched.heuristics.sequential import sequential
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
from optsched.problems.transmission_bounds import IMPOSSIBLE, Branching, ReduceBounds, ReduceCharges
from optsched.problems.transmission_tables import OPEN
from optsched.results import Limit, Proof, Solution, Termination
from optsched.routes import call as routes
from optsched.routes import solve
from optsched.searches.enumeration import best_placement
from optsched.solvers.algebraic import solve_pyomo
from optsched.solvers.outcome import SolverOutcome
from optsched.solvers.profiles import Profile, load_profile


def tree(solution: Solution) -> Any:
    """A copy of the data of its certificate."""
    return copy.deepcopy(dict(solution.certificates[0].data))


@pytest.mark.parametrize(("distinct", "optimum"), [(True, 80), (False, 60)])
def test_the_papers_example(distinct: bool, optimum: int) -> None:
    """Tests the joint optima of 000's example (Shen et al. 2016, note 5) by every route."""
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


def test_the_size_told_beforehand() -> None:
    """Tests that variables and constraints of the literal model are as many as is said."""
    for problem in map(rich, range(30)):
        model, size = models.build_pulp(problem), models.literal_size(problem)
        assert (size.variables, size.constraints) == (len(model.variables()), len(list(model.constraints())))
    assert models.literal_size(Transmission(drawn(0, 100, 20, 50))).megabytes > 1


def test_routes_agree() -> None:
    """Tests that all routes find the enumerated optimum, and that the search proves it."""
    settings(max_examples=40)(given(problems("transmission"))(check_agreement))()


@pytest.mark.thorough
def test_routes_agree_on_many() -> None:
    """Tests the same on more instances."""
    settings(max_examples=200)(given(problems("transmission"))(check_agreement))()


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
        assert (problem.map_capacity[bounds.hosts] > 0).all()
        assert bounds.room.sum() == max(problem.map_capacity.sum(), len(problem.maps))
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


def test_charges_and_known_bounds_never_make_a_bound_weaker() -> None:
    """Tests that the better of the bounds with charges and without holds, and the better of new and known ones."""
    for seed in range(25):
        problem, rng = rich(seed), np.random.default_rng(seed)
        bounds = ReduceBounds(problem)
        for reduce in range(len(problem.reduces)):
            fixed = np.full(len(problem.reduces), OPEN)
            prices, charges = any_prices(rng, len(bounds.free)), any_tree(rng, bounds).charges
            plain = bounds.children(fixed, reduce, bounds.free)
            assert (bounds.children(fixed, reduce, bounds.free, charges) >= plain).all(), seed
            assert (bounds.children(fixed, reduce, prices, charges, plain) >= plain).all(), seed


def enlarged(instance: Instance, power: int) -> Transmission:
    """The problem with all sizes 2^power times as large."""
    workload, shuffle = instance.workload, instance.workload.shuffle
    assert shuffle is not None
    larger = replace(shuffle, size=shuffle.size * 2.0**power)
    return Transmission(Instance(instance.cluster, replace(workload, size=workload.size * 2.0**power, shuffle=larger)))


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


def test_bounds_of_large_costs() -> None:
    """Tests that bounds scale with the sizes, past what 31 bits hold, where they are exact."""
    instance = drawn(0, 3, 3, 4, slots=3)
    expected: dict[tuple[int, ...], list[int]] = {}
    for power in range(41):
        bounds = ReduceBounds(enlarged(instance, power))
        for fixed in ((0, OPEN, OPEN), (0, 1, OPEN)):
            found = bounds.children(np.array(fixed), 2, bounds.free).tolist()
            small = expected.setdefault(fixed, found)
            assert found == [one if one == IMPOSSIBLE else one * 2**power for one in small], power


def test_many_pairs_of_reduces_without_a_place() -> None:
    """Tests the bound where ten jobs have one place each for two reduces, and all that may be left out are."""
    jobs, tasks = np.arange(10), 51
    pairs = np.repeat(jobs, 2)
    cluster = Cluster(["a", "b"], slots=[10, 10], reduce_slots=[0, 30], topology=Topology("distance", [[0, 1], [1, 0]]))
    workload = Workload(
        [f"t{task}" for task in range(tasks)],
        kind=[MAP] * 10 + [REDUCE] * 41,
        job=[*jobs, *pairs, *[-1] * 11, *jobs],
        job_ids=[f"j{job}" for job in jobs],
        size=[1.0] * tasks,
        replicas=Ragged.from_rows([[0]] * tasks),
        shuffle=Shuffle(pairs, np.arange(10, 30), np.ones(20), np.full(20, np.nan)),
    )
    state = State.initial(cluster, workload, status=[PENDING] * 41 + [RUNNING] * 10, node=[-1] * 41 + [0] * 10)
    problem = Transmission(Instance(cluster, workload, state))
    bounds = ReduceBounds(problem)
    assert (len(problem.reduces), problem.reduce_count) == (31, 21)
    fixed = np.array([OPEN] * 21 + [bounds.nowhere] * 10)
    assert bounds.children(fixed, 20, bounds.free).tolist() == [IMPOSSIBLE] * 3


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
    nothing = transmission_certificate(bounds, Branching(np.arange(2), {}, None), 80)
    assert proved_bound(problem, nothing) < 80
    claimed = replace(solution, bound=(81,), certificates=(replace(solution.certificates[0], claim=81),))
    assert not certify(problem, claimed).valid
    wrong: list[tuple[str, Any, str]] = [
        ("order", "R1", "order: must be a list, not 'R1'"),
        ("order", ["R1", "R1"], "order: must name every pending reduce once"),
        ("order", ["R1", 3], "order: must name every pending reduce once"),
        ("order", ["R1", "R2", "R9"], "order: must name every pending reduce once"),
        ("states", None, "states: must be a list, not None"),
        ("states", ["R1"], "states: must hold objects, not 'R1'"),
        ("states", [{"on": ["D9"], "prices": []}], "on: there is no node 'D9'"),
        ("states", [{"on": [["D1"]], "prices": []}], "on: there is no node ['D1']"),
        ("states", [{"on": [], "prices": [3]}], "prices: must hold objects, not 3"),
        (
            "states",
            [{"on": [], "prices": [{"nodes": {"D9": 1}, "unplaced": 0}]}],
            'prices.nodes: there is no node "D9"',
        ),
        ("states", [{"on": [], "prices": [{"nodes": {}, "unplaced": 0.5}]}], "unplaced: must be an integer"),
        ("charges", {"nodes": {}, "unplaced": 0, "jobs": {"J9": {}}}, 'charges.jobs: there is no job "J9"'),
        ("charges", {"nodes": {"D9": 1}, "unplaced": 0, "jobs": {}}, 'charges.nodes: there is no node "D9"'),
        ("charges", {"nodes": {}, "unplaced": 0, "jobs": {"J": {"D9": 1}}}, 'charges.jobs.J: there is no node "D9"'),
        ("charges", 3, "charges: must be an object"),
    ]
    for key, value, told in wrong:
        data = {**tree(solution), key: value}
        with pytest.raises(CertificateInvalid, match="^" + re.escape(told)):
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
    monkeypatch.setattr("optsched.problems.transmission_tables._HELD", 2**24 if held else 0)
    monkeypatch.setattr("optsched.problems.transmission_tables._BLOCK", 1)
    bounds = ReduceBounds(problem)
    for fixed in (np.array([1, OPEN]), np.array([OPEN, OPEN])):
        reduce = int(np.flatnonzero(fixed == OPEN)[0])
        ours, theirs = (one.children(fixed, reduce, one.free) for one in (bounds, expected))
        assert (ours <= theirs).all()
        assert (bounds.map_costs(fixed) == expected.map_costs(fixed)).all()
    assert (bounds.given_maps(np.array([0, 1])) == expected.given_maps(np.array([0, 1]))).all()


@pytest.mark.parametrize("seed", range(30))
def test_costs_of_given_maps_and_reduces(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that costs beside maps or reduces that are placed are the objective's, held or computed in small parts."""
    problem = rich(seed)
    held = ReduceBounds(problem)
    monkeypatch.setattr("optsched.problems.transmission_tables._HELD", 0)
    monkeypatch.setattr("optsched.problems.transmission_tables._BLOCK", 1)
    computed = ReduceBounds(problem)
    rng = np.random.default_rng(seed)
    rows, fixed = rng.integers(0, len(held.room), len(problem.maps)), rng.integers(0, held.nowhere + 1, len(held.sent))
    assert np.array_equal(computed.given_maps(rows), held.given_maps(rows))
    assert np.array_equal(computed.map_costs(fixed), held.map_costs(fixed))
    on = np.append(held.hosts, NONE)[np.minimum(rows, held.rows)]
    there = np.where(fixed == held.nowhere, NONE, fixed)
    nodes = np.full(len(problem.tasks), NONE)
    nodes[problem.maps], nodes[problem.reduces] = on, there
    (value,) = problem.objective(problem.placement(nodes))
    every = np.arange(len(rows))
    of_maps = int(held.map_costs(np.full_like(fixed, held.nowhere))[rows, every].sum())
    of_reduces = int(held.given_maps(rows)[np.arange(len(fixed)), fixed].sum())
    assert of_maps + of_reduces == value * problem.grid * held.scale


# Routes ------------------------------------------------------------------------------------------------------------


def test_large_models_are_refused() -> None:
    """Tests that a literal model that does not fit says so, and that forms have names and need whole costs."""
    problem = Transmission(example())
    with pytest.raises(TooLarge, match=r"24 variables and .* use route=.* or build_pyomo"):
        models.build_pulp(problem, max_variables=3)
    with pytest.raises(UsageError, match="form='no': give one of flow, pairs"):
        models.build_pyomo(problem, form="no")
    rounded = next(made for made in map(rich, range(99)) if made.grid > 1)
    with pytest.raises(UsageError, match='needs whole sizes and distances: use form="pairs"'):
        models.build_pyomo(rounded, form="flow")


def test_a_start_is_never_made_worse() -> None:
    """Tests that a search that may do nothing answers with its start or better, and takes none that is infeasible."""
    problem = Transmission(drawn(0, 4, 3, 5, slots=1))
    best = solve(problem)
    assert best.objective == (263,)
    for profile in (Profile("exact"), Profile("none", node_limit=0)):
        assert solve(problem, profile, start=best.decision).objective == (263,)
    with pytest.raises(UsageError, match="start"):
        solve(problem, start=[0, 0, 0, 0, 1, 1, 1])


@pytest.mark.parametrize("route", ["search", "pyomo", "pulp"])
def test_limits_leave_honest_bounds(route: str) -> None:
    """Tests that a route cut short claims a bound that is no more than the optimum, and certifies."""
    problem = Transmission(drawn(0, 4, 3, 5, slots=1))
    solution = solve(problem, Profile("few", node_limit=1), route=route)
    bound = solution.bound[0]
    assert bound is not None
    assert 0 <= bound <= 263
    if solution.objective is not None:
        assert solution.objective[0] >= 263
    assert (solution.termination is Termination.OPTIMAL) == (solution.objective == solution.bound)
    certify(problem, solution).raise_if_invalid()


@pytest.mark.parametrize("route", ["pyomo", "pulp"])
@pytest.mark.parametrize(("said", "bound", "kind"), [(200.00001, 200, Proof.SOLVER), (-5.0, 0, Proof.COMBINATORIAL)])
def test_a_solver_that_gives_up(
    route: str, said: float, bound: int, kind: Proof, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that a solver's bound counts as its word, and only where it is better than the cheap one."""
    problem = Transmission(drawn(0, 4, 3, 5, slots=1))
    outcome = SolverOutcome(Termination.NO_SOLUTION, Limit.TIME, None, said, "time", 1.0, None)
    monkeypatch.setattr(routes, "solver_of", lambda route: lambda *given: outcome)
    solution = solve(problem, route=route)
    assert (solution.objective, solution.bound, solution.limit) == (None, (bound,), Limit.TIME)
    assert solution.certificates[0].kind is kind
    assert certify(problem, solution).proved == (kind is Proof.COMBINATORIAL)


@pytest.mark.parametrize("route", ["pyomo", "pulp"])
def test_an_optimum_that_the_cheap_bound_proves(route: str) -> None:
    """Tests that a model's optimum is no solver's word where the cheap bound says as much."""
    problem = next(made for made in map(rich, range(99)) if solve(made).bound == (made.cheap_bounds()[0].value,))
    solution = solve(problem, route=route)
    assert solution.certificate is Proof.COMBINATORIAL
    assert certify(problem, solution).proved


def test_an_interrupt_before_anything_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C in the first placement leaves tasks placed one by one, and the cheap bound."""

    def interrupted(maps: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("optsched.searches.transmission_start.optimal_placement", interrupted)
    problem = Transmission(drawn(0, 4, 3, 5, slots=1))
    solution = solve(problem)
    assert (solution.termination, solution.limit) == (Termination.FEASIBLE, Limit.INTERRUPTED)
    assert solution.bound == (problem.cheap_bounds()[0].value,)
    assert certify(problem, solution).proved


@pytest.mark.parametrize("seed", range(8))
def test_bug_no_placement_at_a_time_limit(seed: int) -> None:
    """Tests that with no time at all every task that may be is placed, beside the cheap bound."""
    problem = rich(seed)
    with deadline(0):
        solution = solve(problem)
    assert solution.objective is not None
    assert solution.limit is (None if solution.optimal else Limit.TIME)
    assert solution.bound[0] is not None
    assert solution.bound[0] >= problem.cheap_bounds()[0].value
    assert certify(problem, solution).proved


@pytest.mark.parametrize("held", [True, False])
def test_bug_first_placement_did_not_look_at_the_clock(held: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests a deadline at the first, second, ... look at the clock: always a placement and a bound that is proved."""
    problem = Transmission(drawn(0, 4, 3, 5, slots=1))
    monkeypatch.setattr("optsched.problems.transmission_tables._HELD", 2**24 if held else 0)
    cut = []
    for looks in (0, 1, 2, 3, 5, 8, 13, 20, 30, 45, 70):
        clock = itertools.count()
        with monkeypatch.context() as patched:
            patched.setattr("optsched.deadline.time", SimpleNamespace(monotonic=lambda clock=clock: next(clock)))
            with deadline(looks):
                solution = solve(problem)
        assert solution.objective is not None
        assert solution.objective >= (263,) >= solution.bound
        assert certify(problem, solution).proved
        cut.append(solution.limit is Limit.TIME)
    assert cut[:4] == [True] * 4
    assert held or all(cut)


def test_no_reduce_is_pending() -> None:
    """Tests that maps on contended slots, which send to running reduces only, are placed by one state of the tree."""
    instance = drawn(0, 4, 2, 5, slots=1)
    state = State.initial(
        instance.cluster,
        instance.workload,
        status=[PENDING] * 4 + [RUNNING] * 2,
        node=[-1] * 4 + [0, 1],
        idle_slots=[1, 1, 1, 1, 0],
    )
    check_agreement(Transmission(Instance(instance.cluster, instance.workload, state)))


def test_a_tree_that_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a tree with too many states leaves an optimum that is somebody's word."""
    monkeypatch.setattr("optsched.searches.transmission.MOST_STATES", 0)
    problem = Transmission(drawn(0, 4, 3, 5, slots=1))
    solution = solve(problem)
    assert (solution.objective, solution.certificate) == ((263,), Proof.ENUMERATION)
    verdict = certify(problem, solution)
    assert verdict.valid
    assert not verdict.proved


def test_what_is_too_large_to_be_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that where bounds would take minutes there is a placement, the cheap bound, and the limit."""
    monkeypatch.setattr("optsched.searches.transmission.MOST_PRODUCTS", 0)
    problem = Transmission(drawn(0, 4, 3, 5, slots=1))
    solution = solve(problem)
    assert (solution.termination, solution.limit) == (Termination.FEASIBLE, Limit.MEMORY)
    assert solution.bound == (problem.cheap_bounds()[0].value,)
    assert certify(problem, solution).proved


# Command line --------------------------------------------------------------------------------------------------------


def run(*args: str) -> Result:
    """What the command line does with the arguments, on 000's example."""
    return command_line.run(args[0], "papers/pna-example", *args[1:])


@pytest.fixture(name="solved")
def _solved(tmp_path: Path) -> Path:
    """The solution file of 000's example."""
    target = tmp_path / "solution.json"
    assert run("solve", "--problem", "transmission", "--output", str(target)).exit_code == 0
    return target


def test_command_line(solved: Path, tmp_path: Path) -> None:
    """Tests that what is solved certifies, that the cheap bound is told, and that both programs are written."""
    certified = run("certify", str(solved))
    assert certified.exit_code == 0, certified.stdout
    assert "proves 80, claimed 80" in certified.stdout
    assert "every claim is proved" in certified.stdout
    assert "best-node" in run("bounds", "--problem", "transmission").stdout
    for model, name in (("compact", "map_slots"), ("literal", "shuffle.R1.D1")):
        program = tmp_path / f"{model}.lp"
        assert run("export", "--problem", "transmission", "--model", model, "--to", str(program)).exit_code == 0
        assert name in program.read_text()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda solution: solution["placement"].update(R1="D1"), "distinct"),
        (lambda solution: solution["placement"].update(M1="D3"), "value is"),
        (lambda solution: solution["placement"].update(R2=None), "cardinality"),
        (lambda solution: (solution.update(bound=[81]), solution["certificates"][0].update(claim=81)), "claimed 81"),
        (lambda solution: solution["certificates"][0]["data"].update(states=[]), "proves 0"),
        (lambda solution: solution["certificates"][0]["data"].update(order=["R2"]), "every pending reduce once"),
        (lambda solution: solution["certificates"][0].pop("data"), "order: must be a list"),
        (lambda solution: solution.update(parameters={"distinct": False}), "of other parameters than those asked for"),
        (lambda solution: solution.update(termination="FEASIBLE", limit="GAP"), "closed"),
    ],
)
def test_false_claims_on_the_command_line(change: Callable[[Any], object], told: str, solved: Path) -> None:
    """Tests that each false claim of a solution file is exit code 4, and told."""
    document = json.loads(solved.read_text())
    change(document)
    solved.write_text(json.dumps(document))
    result = run("certify", str(solved))
    assert result.exit_code == 4, result.stderr
    assert told in result.stdout


# Beside one stage after the other ------------------------------------------------------------------------------------


def test_ties_are_where_joint_optimisation_pays() -> None:
    """Tests Shen et al. 2016, note 4: with maps on any of their replicas the stages cost more than both at once.

    In 80 % of its cases, 2.6 times as much on average; its sizes, distances and slots are not given, so those of
    `drawn` come near it only. The best of the maps' ties leaves next to nothing.
    """
    rng = np.random.default_rng(0)
    ratios, best_of_ties = [], []
    for seed in range(25):
        problem = Transmission(drawn(seed, 3, 2, 4))
        joint, bound = solve(problem).objective, problem.cheap_bounds()[0].value
        assert joint is not None
        assert joint[0] >= bound
        local = [some for some in product(*problem.replicas.take(problem.maps)) if max(np.bincount(some)) <= 2]
        some = local[rng.integers(len(local))]
        stages = min(problem.evaluate(problem.placement([*some, *pair]))[0] for pair in permutations(range(4), 2))
        ratios.append(float(stages / joint[0]))
        ties = problem.evaluate(sequential(problem, rng))[0]
        assert joint[0] <= ties <= stages
        best_of_ties.append(float(ties / joint[0]))
    assert 0.75 <= np.mean(np.array(ratios) > 1) <= 0.95
    assert 2.0 <= np.mean(ratios) <= 3.5
    assert np.mean(best_of_ties) <= 1.02


def test_sharing_nodes_never_costs_more() -> None:
    """Tests that reduces of a job that may share a node cost no more, where as many of them are placed."""
    for seed in range(40):
        apart, shared = (Transmission(rich(seed).instance, distinct=distinct) for distinct in (True, False))
        if apart.reduce_count == shared.reduce_count:
            assert min(least_costs(shared).values()) <= min(least_costs(apart).values())


@pytest.mark.parametrize("route", ["pyomo", "pulp"])
def test_bug_models_of_shuffles_too_large_for_binaries(route: str) -> None:
    """Tests that a shuffle near 10^10 is refused by a model, which took wrong placements for optimal, and searched."""
    cluster = Cluster(["a", "b"], topology=Topology("distance", [[0.0, 4.0], [4.0, 0.0]]))
    shuffle = Shuffle(map=[0], reduce=[1], size=[10.0**10], emitted=[np.nan])
    workload = Workload(
        ["m", "r"], kind=[MAP, REDUCE], size=[1.0, 0.0], replicas=Ragged.from_rows([[0], []]), shuffle=shuffle
    )
    problem = Transmission(Instance(cluster, workload))
    with pytest.raises(UsageError, match='take route "search"'):
        solve(problem, route=route)
    assert solve(problem).optimal
