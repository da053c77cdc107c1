"""What is particular to the models of one problem; the contract suite holds the models of all against enumeration."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pulp
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from over_time import proved
from programmed import posed as gathering
from small_problems import EMPTY_TRAFFIC as EMPTY
from small_problems import ODD, ONE_SLOT, SWAPS, instance_of, racked
from small_problems import generalized_assignment as packed
from small_problems import min_cost_flow as network
from small_problems import traffic as sent
from small_problems import utility as posed
from transmission_instances import example, rich

from optsched import Termination, generate, models, solve
from optsched.core.errors import TooLarge, UsageError
from optsched.core.instance import MAP, REDUCE, Cluster, Instance, Ragged, Shuffle, Topology, Workload
from optsched.models import (
    flow,
    generalized_assignment,
    job_times,
    latency,
    lsap,
    makespan,
    programs,
    traffic,
    transmission,
    utility,
    worst_group,
)
from optsched.problems import Flow, JobTimes, Latency, Lsap, Makespan, Traffic, Utility
from optsched.problems.base import GRID
from optsched.problems.transmission import Transmission
from optsched.problems.utility import Allocation
from optsched.solvers.algebraic import solve_pulp, solve_pyomo
from optsched.solvers.profiles import Profile
from optsched.solvers.searches.enumeration import best_placement

EXACT = Profile("exact")

#: Problems of which nothing is feasible for a plain reason, and the reason.
STRANDED = {
    "traffic": (sent([[0]] * 3, slots=[1, 1], capacity="slots"), "3 maps are pending, and only 2 map slots are idle"),
    "generalized-assignment": (packed([[1]], {"weight": [[4]]}, {"weight": [3]}), "t0 fits on no node that it may use"),
    "min-cost-flow": (
        network([(0, 0, 0, 1, 0), (0, 1, 1, 1, 0)], [1, -2, 1]),
        "no arc can take what is left to send of v1: there is no flow to model",
    ),
}

#: Problems with limits that are none, and what is told of them.
WRONG_LIMITS: list[tuple[Any, tuple[Any, ...], str]] = [
    (EMPTY, (-1,), "give a whole number of maps"),
    (Latency(instance_of([[0]], 1)), (-1, 2.5, True, "3"), "give a whole number of units of work"),
    (ONE_SLOT, (-1, 0.5, True, "1/2"), "give a mean cost of a group as a whole number or a fraction, 0 or more"),
    (SWAPS, (1.5,), "the lowest utility is at most 1"),
    (SWAPS, ("1/2", [1], True, math.nan), "give a lowest utility, a finite number"),
]


@pytest.mark.parametrize("build", ["build_pyomo", "build_pulp"])
def test_what_cannot_be_modelled_is_reported(build: str) -> None:
    """Tests the messages where there is nothing to model, or a limit that is none."""
    for name, (problem, message) in STRANDED.items():
        with pytest.raises(UsageError, match=message):
            getattr(models.module(name), build)(problem)
    for problem, limits, message in WRONG_LIMITS:
        for limit in limits:
            with pytest.raises(UsageError, match=message):
                getattr(models.module(problem.name), build)(problem, limit=limit)
    for limit in ("1", [1], math.inf):
        with pytest.raises(UsageError, match="give a value of nodes, a finite number"):
            getattr(programs, build)(gathering(0), limit=limit)


def test_limits_on_the_mean() -> None:
    """Tests that an impossible limit of `worst-group` is infeasible, and that NumPy's numbers are taken."""
    for build, run in ((worst_group.build_pyomo, solve_pyomo), (worst_group.build_pulp, solve_pulp)):
        assert run(build(ONE_SLOT, limit=Fraction(1, 4)), EXACT).status is Termination.INFEASIBLE
        assert run(build(ONE_SLOT, limit=np.int64(1)), EXACT).objective == 1


def test_size_of_a_huge_literal_model_needs_no_model() -> None:
    """Tests that sizes are reported for instances whose literal model would not fit any machine."""
    problem = Lsap(instance_of([[0]] * 100_000, 10))
    size = lsap.literal_size(problem)
    assert size.variables == 100_000**2 + 1
    with pytest.raises(TooLarge, match=r"10,000,000,001 variables and 200,000 constraints and take about [0-9,]+ MB"):
        lsap.build_pulp(problem)


def test_bug_an_infeasible_model_decoded_to_the_earlier_placement() -> None:
    """Tests that both kinds of models refuse to be decoded after a solve that found nothing, and say what to do."""
    problem = Lsap(instance_of([[0, 1], [0, 1]], 2))
    model, literal = lsap.build_pyomo(problem, per_pair=True), lsap.build_pulp(problem)
    solve_pyomo(model, "exact")
    solve_pulp(literal, "exact")
    assert lsap.decode(model, problem).placed == lsap.decode(literal, problem).placed == 2
    model.none = pyo.Constraint(expr=sum(model.place.values()) <= 1)
    literal.addConstraint(pulp.lpSum(literal.place.values()) <= 1, "none")
    for changed, run in ((model, solve_pyomo), (literal, solve_pulp)):
        assert run(changed, "exact").status is Termination.INFEASIBLE
        with pytest.raises(UsageError, match="has no value: solve the model before decoding it"):
            lsap.decode(changed, problem)


def test_racks_only_where_they_save() -> None:
    """Tests that rack variables exist only for levels that tell racks from elsewhere."""
    assert lsap.build_pyomo(racked([0, 1, 1, 0], [[0]])).component("place_in_rack") is None
    model = lsap.build_pyomo(racked([0, 1, 1, 0], [[0]], levels=(0, 1, 2)))
    assert list(model.place_in_rack) == [("t0", "r1")]
    assert {name: row.upper for name, row in model.rack_slots.items()} == {"r1": 1}
    assert solve_pyomo(model, EXACT).objective == 1


def test_compact_table_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a compact model with a variable a pair is told of beforehand, with the route to take."""
    problem = Flow(instance_of([[0], [1], []], 4))
    pairs = problem.class_units.size
    monkeypatch.setattr("optsched.models.programs.MAX_VARIABLES", pairs - 1)
    with pytest.raises(TooLarge, match=f'the compact model would have {pairs} variables, .* use route="network"'):
        flow.build_pyomo(problem)
    monkeypatch.setattr("optsched.models.programs.MAX_VARIABLES", pairs)
    flow.build_pyomo(problem)


def test_weights_decide_which_integers_are_needed() -> None:
    """Tests that local counts are there only where w_loc does not divide w_rem, or is above 1 without a limit."""
    instance = instance_of([[0], [0, 1]], 2)
    needed = {(1, 3, 4): False, (2, 4, 8): False, (2, 3, 8): True, (1, 3, None): False, (2, 4, None): True}
    for (w_loc, w_rem, limit), counted in needed.items():
        model = latency.build_pyomo(Latency(instance, w_loc=w_loc, w_rem=w_rem), limit=limit)
        assert (model.component("local_count") is not None) is counted


@st.composite
def alike(draw: st.DrawFn) -> Transmission:
    """Maps that nothing tells apart, each with output for several reduces, on nodes with few slots; whole costs."""
    nodes, maps, reduces = (draw(st.integers(2, 3)) for _ in range(3))

    def several(most: int, count: int, least: int = 0) -> list[int]:
        return [draw(st.integers(least, most)) for _ in range(count)]

    distance = np.reshape(several(6, nodes * nodes), (nodes, nodes)) * (1.0 - np.eye(nodes))
    cluster = Cluster(
        [f"n{node}" for node in range(nodes)],
        slots=several(2, nodes, 1),
        reduce_slots=several(2, nodes),
        topology=Topology("distance", distance),
    )
    to = np.tile(np.arange(maps, maps + reduces), maps)
    workload = Workload(
        [f"t{task}" for task in range(maps + reduces)],
        kind=[MAP] * maps + [REDUCE] * reduces,
        job=[0] * (maps + reduces),
        job_ids=["J"],
        size=[float(draw(st.integers(0, 9)))] * maps + [np.nan] * reduces,
        replicas=Ragged.from_rows([[0]] * maps + [[]] * reduces),
        shuffle=Shuffle(np.repeat(np.arange(maps), reduces), to, several(9, reduces) * maps),
    )
    return Transmission(Instance(cluster, workload))


@given(alike())
@settings(max_examples=6)
def test_forms_agree_where_maps_are_alike(problem: Transmission) -> None:
    """Tests both forms of the compact model, with classes of maps and without, and the search against enumeration."""
    found = best_placement(problem)
    assert solve(problem).objective == found[0]
    for form in transmission.FORMS:
        for per_pair in (False, True):
            model = transmission.build_pyomo(problem, form=form, per_pair=per_pair)
            outcome = solve_pyomo(model, EXACT)
            placement = transmission.decode(model, problem)
            assert problem.evaluate(placement) == found[0], (form, per_pair)
            assert outcome.objective == pytest.approx(float(found[0][0]), abs=1e-4), (form, per_pair)


def test_forms_of_transmission() -> None:
    """Tests that forms have names, and that one needs whole costs."""
    problem = Transmission(example())
    with pytest.raises(UsageError, match="form='no': give one of flow, pairs"):
        transmission.build_pyomo(problem, form="no")
    rounded = next(made for made in map(rich, range(99)) if made.grid > 1)
    with pytest.raises(UsageError, match='needs whole sizes and distances: use form="pairs"'):
        transmission.build_pyomo(rounded, form="flow")


def test_equal_trackers_are_one_host() -> None:
    """Tests that the compact model lists patterns of equal trackers, and that its solution is dealt out to them."""
    job = {"maps": 9, "map": {"cpu": 2}}
    problem = posed({"cpu": [5] * 6}, [job, {"maps": 4, "map": {"cpu": 1}}])
    model = utility.build_pyomo(problem, limit=Fraction(1, 2))
    assert list(model.members) == ["n0"]
    assert len(model.PATTERNS) == 3
    assert solve_pyomo(model, EXACT).status is Termination.OPTIMAL
    placement = utility.decode(model, problem)
    assert problem.evaluate(placement) == solve(problem).objective
    allocation = Allocation(*problem.allocated(placement))
    assert allocation.maps.sum(axis=1).tolist() == [9, 4]


def test_bug_second_compact_program_of_utility_left_out_fixed_reduces() -> None:
    """Tests that with fixed reduces the compact program counts what these use, as the literal one does."""
    cluster = Cluster(["a", "b"], capacity={"cpu": [4.0, 4.0]})
    workload = Workload(["m", "r"], kind=[MAP, REDUCE], job=[0, 0], job_ids=["j"], demand={"cpu": np.array([1.0, 2.0])})
    problem = Utility(Instance(cluster, workload), reduces="fixed")
    for build, run in ((utility.build_pyomo, solve_pyomo), (utility.build_pulp, solve_pulp)):
        assert run(build(problem, limit=1), EXACT).objective == 0.75 * GRID


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_models_agree_beyond_enumeration(seed: int) -> None:
    """Tests that models and arrays agree on the least traffic where nothing can be enumerated."""
    instance = generate("traffic", seed, nodes=12, tasks=40, datacenters=4, jobs=5, smallest=1, spare=0.1)
    for reduces in ("together", "free"):
        posed_again = Traffic(instance, capacity="slots", reduces=reduces)
        values = {solve(posed_again, route=route).objective for route in ("search", "arrays", "pyomo")}
        assert len(values) == 1


def test_completions_are_those_of_the_schedule() -> None:
    """Tests that the completion of each job in the model is when it ends in the schedule that it stands for."""
    for problem, _ in proved(JobTimes, range(12)):
        model = job_times.build_pyomo(problem)
        solve_pyomo(model, EXACT)
        ends = problem.completions(job_times.decode(model, problem)) - problem.now
        said = [round(pyo.value(model.completion[name]) * pyo.value(model.tick) * 10**6) for name in model.JOBS]
        assert said == ends.tolist()


def test_area_rows_are_kept_by_optima() -> None:
    """Tests that the optimum is the same without the rows of areas, which only strengthen the relaxation."""
    for problem, best in proved(Makespan, range(8)):
        model = makespan.build_pyomo(problem)
        model.area.deactivate()
        found = solve_pyomo(model, EXACT).objective
        assert found == pytest.approx(float(best) * makespan.objective_units(problem)[0], abs=1e-5)
        assert pyo.value(model.makespan) == pytest.approx(found)


def test_classes_of_equal_tasks() -> None:
    """Tests that equal tasks are one class of the compact model, and that `per_pair=True` keeps them apart."""
    for module, problem, first in ((traffic, EMPTY, "j0m0 j0m1 j0m2"), (generalized_assignment, ODD, "t0 t1 t2")):
        compact, pairs = module.build_pyomo(problem), module.build_pyomo(problem, per_pair=True)
        assert compact.members[first.split()[0]] == tuple(first.split())
        assert [len(kept) for _, kept in pairs.members.items()] == [1] * len(pairs.CLASSES)
