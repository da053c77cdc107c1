"""Models of `transmission`: both forms with and without classes, their size, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transmission_instances import drawn, example, rich

from optsched.core.errors import TooLarge, UsageError
from optsched.core.instance import (
    MAP,
    REDUCE,
    Cluster,
    Instance,
    Ragged,
    Shuffle,
    Topology,
    Workload,
)
from optsched.models import transmission
from optsched.problems.transmission import Transmission
from optsched.routes import solve
from optsched.searches.enumeration import best_placement
from optsched.solvers.algebraic import solve_pyomo
from optsched.solvers.profiles import load_profile


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
        ),
    )
    return Transmission(Instance(cluster, workload))


@given(alike())
@settings(max_examples=10)
def test_forms_agree_where_maps_are_alike(problem: Transmission) -> None:
    """Tests both forms of the compact model, with classes of maps and without, and the search against enumeration."""
    found = best_placement(problem)
    assert found is not None
    assert solve(problem).objective == found[0]
    for form in transmission.FORMS:
        for per_pair in (False, True):
            model = transmission.build_pyomo(problem, form=form, per_pair=per_pair)
            outcome = solve_pyomo(model, load_profile("exact"))
            placement = transmission.decode(model, problem)
            assert problem.evaluate(placement) == found[0], (form, per_pair)
            assert outcome.objective == pytest.approx(float(found[0][0]), abs=1e-4), (form, per_pair)


def test_the_size_told_beforehand() -> None:
    """Tests that variables and constraints of the literal model are as many as is said."""
    for problem in map(rich, range(30)):
        model, size = transmission.build_pulp(problem), transmission.literal_size(problem)
        assert (size.variables, size.constraints) == (len(model.variables()), len(list(model.constraints())))
    assert transmission.literal_size(Transmission(drawn(0, 100, 20, 50))).megabytes > 1


def test_large_models_are_refused() -> None:
    """Tests that a literal model that does not fit says so, and that forms have names and need whole costs."""
    problem = Transmission(example())
    with pytest.raises(TooLarge, match=r"24 variables and .* use route=.* or build_pyomo"):
        transmission.build_pulp(problem, max_variables=3)
    with pytest.raises(UsageError, match="form='no': give one of flow, pairs"):
        transmission.build_pyomo(problem, form="no")
    rounded = next(made for made in map(rich, range(99)) if made.grid > 1)
    with pytest.raises(UsageError, match='needs whole sizes and distances: use form="pairs"'):
        transmission.build_pyomo(rounded, form="flow")
