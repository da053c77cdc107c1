"""`transmission` jointly: enumeration, search and both models agree; its trees prove what they claim, and no more."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transmission_instances import example, problems

from optsched.certificates import certify, proved_bound
from optsched.certificates.transmission import branching_certificate
from optsched.errors import CertificateInvalid, TooLarge, UsageError
from optsched.instance import MAP, REDUCE, Cluster, Instance, Ragged, Shuffle, Topology, Workload
from optsched.models import transmission as models
from optsched.problems import Problem
from optsched.problems.transmission import Transmission
from optsched.problems.transmission_bounds import OPEN, Branching, ReduceBounds
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


@given(problems("transmission"), st.randoms(use_true_random=False))
def test_no_tree_proves_too_much(problem: Transmission, random: Any) -> None:
    """Tests that trees with any states, prices and charges prove no more than the enumerated optimum."""
    found = best_placement(problem)
    assert found is not None
    bounds = ReduceBounds(problem)
    reduces = len(problem.reduces)
    order = np.array(random.sample(range(reduces), reduces), dtype=np.int64)
    states: dict[tuple[int, ...], list[Any]] = {(): []}
    for _ in range(4):
        length = random.randint(0, reduces)
        state = tuple(random.randint(0, bounds.nowhere) for _ in range(length))
        prices = [random.choice([-5, 0, 1, 700, 2**53]) for _ in bounds.free]
        for end in range(length + 1):
            states.setdefault(state[:end], []).append(np.array(prices, dtype=np.int64))
    assert bounds.proved(Branching(order, states, None)) <= found[0][0] * problem.grid


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
