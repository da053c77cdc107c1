"""Programs as data: what a builder collects, and that a program and its problem's definition say the same."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st
from programmed import Gathering

import optsched
from optsched.core.errors import UsageError
from optsched.core.instance import Cluster, Instance, Ints, Ragged, Workload
from optsched.core.placement import Placement
from optsched.core.results import Number
from optsched.instances.generate import generate
from optsched.problems import FlowCongestion, Latency, Transmission
from optsched.problems.programs import Builder, Group, Program, fault_of, samples
from optsched.problems.relaxations import UNBOUNDED
from optsched.routes.call import Call
from optsched.routes.programs import by_route
from optsched.solvers.profiles import Profile


def posed(seed: int, **sizes: float) -> Gathering:
    """A drawn problem of few tasks and nodes."""
    instance = optsched.generate("lsap", seed, **{"nodes": 3, "tasks": 4, "slots": 2, "idle_ratio": 1.0, **sizes})
    assert isinstance(instance, Instance)
    return Gathering(instance)


def test_what_is_collected() -> None:
    """Tests that entries are broadcast, that families follow one another, and rows without a limit have none."""
    builder = Builder()
    x = builder.variables("x", [("a",), ("b",)], lower=-1, upper=[2, 3], cost=5, over="ALL", doc="numbers")
    y = builder.variables("y", [("a", "b")], upper=1)
    rows = builder.rows("at_least", [("a",), ("b",)], lower=[0, 1])
    builder.enter(rows[:, None], np.append(x, y), [[1, 2, 3], [4, 5, 6]])
    program = builder.program(component=1, unit=7)
    whole = program.numbers
    assert program.names == [["x", "a"], ["x", "b"], ["y", "a", "b"]]
    assert [(family.over, family.first, family.doc) for family in program.variables] == [
        ("ALL", 0, "numbers"),
        ("y_index", 2, ""),
    ]
    assert (whole.lower.tolist(), whole.upper.tolist(), whole.objective.tolist()) == ([-1, -1, 0], [2, 3, 1], [5, 5, 0])
    assert (whole.row_lower.tolist(), whole.row_upper.tolist()) == ([0, 1], [UNBOUNDED] * 2)
    assert list(zip(whole.row.tolist(), whole.column.tolist(), whole.value.tolist(), strict=True)) == [
        *((0, 0, 1), (0, 1, 2), (0, 2, 3)),
        *((1, 0, 4), (1, 1, 5), (1, 2, 6)),
    ]
    assert (program.component, program.unit) == (1, 7)
    assert program.broken(np.array([0, 0, 1])) is None
    assert program.broken(np.array([0, 0, 2])) == "y[a,b] is 2, and must be 0 to 1"
    assert program.broken(np.array([0, 0, 0])) == "at_least[b] is 0, and must be at least 1"


@given(strategies.problems("flow-congestion"), st.integers(0, 3))
def test_flow_congestion_both_ways(problem: FlowCongestion, seed: int) -> None:
    """Tests that a placement gives values that keep the rows and cost the same, and that these give one as dear."""
    nodes = np.full(len(problem.tasks), -1)
    random = np.random.default_rng(seed)
    for kind in problem.kinds:
        slots = random.permutation(np.repeat(np.arange(problem.slots.shape[1]), problem.slots[kind]))
        tasks = random.permutation(np.flatnonzero(problem.kind == kind))[: problem.counts[kind]]
        nodes[tasks] = slots[: len(tasks)]
    placement, program = problem.placement(nodes), problem.program()
    values = problem.values_of(placement, program)
    assert program.broken(values) is None
    assert int(program.numbers.objective @ values) == problem.units(placement)
    again = problem.decision_of(values, program)
    assert not problem.violations(again)
    assert problem.units(again) == problem.units(placement)
    classes = next(group.members for group in program.groups if group.name == "members")
    assert len(classes) == len(problem.classes.size)
    assert sorted(itertools.chain(*classes.values())) == sorted(problem.instance.workload.task_ids[problem.tasks])


@pytest.mark.parametrize("seed", range(4))
def test_a_right_program_has_no_fault(seed: int) -> None:
    """Tests both programs of a problem with two components against every placement."""
    problem = posed(seed)
    assert fault_of(problem, (), samples(problem)) is None
    assert fault_of(problem, (2,), samples(problem)) is None


class Lacking(Gathering):
    """Its program has one node fewer than it may."""

    def program(self, before: tuple[int, ...] = ()) -> Program:
        program = super().program(before)
        upper = program.numbers.upper.copy()
        upper[0] = 0
        return replace(program, numbers=replace(program.numbers, upper=upper))


class Dear(Gathering):
    """Its program counts a node as two."""

    def program(self, before: tuple[int, ...] = ()) -> Program:
        program = super().program(before)
        return replace(program, numbers=replace(program.numbers, objective=2 * program.numbers.objective))


def test_a_wrong_program_is_found() -> None:
    """Tests that what a program lacks, or counts at too much, is said with the placement, small or large."""
    for sizes in ({}, {"nodes": 9, "tasks": 12, "slots": 3}):
        instance = posed(0, **sizes).instance
        held = next(decision for decision in samples(Gathering(instance), filled(Gathering(instance))))
        assert isinstance(held, Placement)
        for kind, expected in ((Lacking, "use[n1] is 1, and must be 0 to 0"), (Dear, "units, and not")):
            problem = kind(instance)
            fault = fault_of(problem, (), samples(problem, filled(problem)))
            assert fault.startswith("the program does not have the feasible placement {")
            assert expected in fault


def filled(problem: Gathering) -> Placement:
    """The tasks on the first slots, which is feasible if there are enough."""
    slots: Ints = np.repeat(np.arange(len(problem.idle)), problem.idle)
    return problem.placement(slots[: len(problem.tasks)])


def test_samples() -> None:
    """Tests that a small problem is tried whole, a large one near to what is held, the same each time."""
    small = posed(0)
    every = [small.nodes_of(each).tolist() for each in samples(small)]
    assert every == [list(nodes) for nodes in itertools.product(range(-1, 3), repeat=4)]
    large = posed(0, nodes=9, tasks=12, slots=3)
    held = filled(large)
    near = [large.nodes_of(each) for each in samples(large, held)]
    assert len(near) == 1_000
    assert all(np.count_nonzero(nodes != large.nodes_of(held)) <= 2 for nodes in near)
    assert sum(not large.violations(large.placement(nodes)) for nodes in near) > 200
    drawn = [large.nodes_of(each).tolist() for each in samples(large)]
    assert drawn == [large.nodes_of(each).tolist() for each in samples(large)]


def test_no_task() -> None:
    """Tests that there is one placement of nothing."""
    problem = Gathering(Instance(Cluster(["a"]), Workload([], replicas=Ragged.from_rows([]))))
    assert [each.nodes.tolist() for each in samples(problem)] == [[]]
    assert fault_of(problem, (), samples(problem)) is None


def test_apart() -> None:
    """Tests that a program without groups is its own per pair, and that one with groups must say which it is."""
    problem = posed(0)
    assert problem.apart() is problem
    limited = Builder()
    limited.enter(limited.rows("few", [()], upper=1), limited.variables("x", [()], upper=5))
    assert limited.program().broken(np.array([2])) == "few[] is 2, and must be at most 1"

    class Grouped(Gathering):
        """Its program has a group."""

        def program(self, before: tuple[Number, ...] = ()) -> Program:
            return replace(super().program(before), groups=(Group("members", "CLASSES", {}, {}),))

    with pytest.raises(UsageError, match="Grouped has no program per pair: build its model without per_pair"):
        Grouped(problem.instance).apart()


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("weights", [(1, 3), (2, 4), (2, 5)])
def test_program_of_latency_within_a_limit(weights: tuple[int, int], apart: bool) -> None:
    """Tests every placement within a limit in the program of `latency`, and the optimum that it alone gives."""
    for seed in range(3):
        posed = generate("latency", seed=seed, nodes=3, tasks=4, replicas=1)
        problem = Latency(posed, w_loc=weights[0], w_rem=weights[1])
        best = optsched.solve(problem).objective
        view = problem.apart() if apart else problem
        assert fault_of(view, (int(best[0]) + 2,), samples(problem)) is None
        assert by_route(Call(view, "arrays", None), Profile("exact")).objective == best


@pytest.mark.parametrize(("form", "spread"), [("flow", 0), ("pairs", 0), ("pairs", 9)])
def test_program_of_transmission(form: str, spread: int) -> None:
    """Tests every placement in either form of the program of `transmission`, and the optimum that it alone gives."""
    sizes = {"nodes": 2, "tasks": 3, "jobs": 2, "reduces": 3, "replicas": 1, "slots": 1, "reduce_slots": 2}
    for seed in range(3):
        problem = Transmission(generate("transmission", seed=seed, spread=spread, **sizes)).in_form(form)
        assert fault_of(problem, (), samples(problem)) is None
        found = by_route(Call(problem, "arrays", None), Profile("exact"))
        assert found.objective == optsched.solve(problem).objective
