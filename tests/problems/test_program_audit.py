"""A program and its problem's definition agree on every decision, and where they do not, the audit says so."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from programmed import Gathering, posed

from optsched.core.errors import ProblemFailed
from optsched.core.instance import Cluster, Instance, Ints, Ragged, Workload
from optsched.core.placement import Placement
from optsched.instances.generate import generate
from optsched.problems import PROBLEMS, Makespan, MinCostFlow, Problem
from optsched.problems.program_audit import fault_of, samples
from optsched.problems.programs import Limited, Program, Programmed, limit_unit
from optsched.routes import solve

#: Problems that place tasks and have programs.
PLACING = [name for name, kind in PROBLEMS.items() if issubclass(kind, Programmed) and issubclass(kind, Problem)]


@pytest.mark.parametrize("name", PLACING)
@given(data=st.data())
@settings(max_examples=12)
@pytest.mark.filterwarnings("ignore::optsched.problems.fair_lsap.RationRuleWarning")
def test_every_placement_is_in_the_programs(name: str, data: st.DataObject) -> None:
    """Tests that placements are in all programs, together and apart, at their cost, and come back at no more."""
    problem = data.draw(strategies.problems(name, tasks=4, nodes=3))
    if name == "transmission":
        problem = problem.in_form(data.draw(st.sampled_from(["flow", "pairs"])))
    placements = [each for each in samples(problem) if not problem.violations(each)][:150]
    if problem.plainly_infeasible is not None or not placements:
        return
    first = {problem.evaluate(placement)[0] for placement in placements}
    for view in (problem, problem.apart()):
        unit = limit_unit(view) if isinstance(view, Limited) else view.program().unit
        limits = [(value * unit,) for value in (min(first), max(first))] if len(problem.components) > 1 else []
        if not view.leaves_out_worse:
            limits.append(())
        for before in limits:
            if getattr(view, "form", None) != "flow":  # it counts less than a placement costs
                assert fault_of(view, before, iter(placements)) is None
            program = view.program(before)
            for placement in placements:
                if before and problem.evaluate(placement)[0] * unit > before[0]:
                    continue
                values = view.values_of(placement, program)
                if name in ("utility", "flow-congestion"):  # others may count less than a placement costs
                    cost = problem.evaluate(placement)[program.component] * program.unit
                    assert program.numbers.objective @ values == cost
                again = view.decision_of(values, program)
                assert not problem.violations(again)
                worth, given_ = (problem.minimised(problem.evaluate(each)) for each in (again, placement))
                assert worth[program.component] <= given_[program.component]
                assert view is problem or (again.nodes == placement.nodes).all()


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
        for kind, expected in (
            (Lacking, "use[n1] is 1, and must be 0 to 0"),
            (Dear, "by Dear.program() with Dear.values_of"),
        ):
            problem = kind(instance)
            assert expected in str(fault_of(problem, (), samples(problem, filled(problem))))


class LeavingOut(Lacking):
    """It says that its program may lack what is worse than the best."""

    leaves_out_worse = True


def test_a_program_may_leave_out_only_what_is_worse() -> None:
    """Tests that a lacking decision is a fault of such a class only if it is as good as one that is known."""
    problem = LeavingOut(posed(0).instance)
    assert fault_of(problem, (), samples(problem)) is None
    fault = fault_of(problem, (), samples(problem), filled(problem))
    assert fault is not None
    assert "the program does not have the feasible placement" in fault


def filled(problem: Gathering) -> Placement:
    """The tasks on the first slots, which is feasible if there are enough."""
    slots: Ints = np.repeat(np.arange(len(problem.idle)), problem.idle)
    return problem.placement(slots[: len(problem.tasks)])


class Barred(MinCostFlow):
    """Its program has no flow beyond the lower limit on the dearest arc that an optimum uses."""

    def program(self, before: tuple[Any, ...] = ()) -> Program:
        program, network = super().program(before), self.instance
        used = solve(MinCostFlow(network)).decision.units > network.lower
        upper = program.numbers.upper.copy()
        arc = network.arc_ids[np.argmax(np.where(used, network.cost, -1))]
        upper[[list(label) == ["extra", arc] for label in program.names]] = 0
        return replace(program, numbers=replace(program.numbers, upper=upper))


class Late(Makespan):
    """Its program lacks the earlier half of all starts."""

    def program(self, before: tuple[Any, ...] = ()) -> Program:
        program = super().program(before)
        start, upper = program.family("start"), program.numbers.upper.copy()
        upper[start.start : (start.start + start.stop) // 2] = 0
        return replace(program, numbers=replace(program.numbers, upper=upper))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("kind", "sizes"), [(Barred, {"nodes": 5, "arcs": 12}), (Late, {"nodes": 3, "tasks": 3, "reduces": 1})]
)
def test_bug_wrong_programs_of_flows_and_schedules_were_believed(
    kind: type[Any], sizes: dict[str, int], seed: int
) -> None:
    """Tests that a wrong program is found, too, where not all decisions can be tried; INFEASIBLE is no way out."""
    problem = kind(generate(kind.name, seed, **sizes))
    with pytest.raises(ProblemFailed, match=r"does not have the feasible|disagree"):
        solve(problem)


@pytest.mark.parametrize(("name", "sizes"), [("min-cost-flow", {"nodes": 6, "arcs": 15}), ("makespan", {"tasks": 5})])
def test_walks_of_flows_and_schedules(name: str, sizes: dict[str, int]) -> None:
    """Tests that walks from an optimum stay feasible mostly, never get better, and are the same each time."""
    problem = PROBLEMS[name](generate(name, 1, **sizes))
    best = solve(problem)
    walk = list(samples(problem, best.decision))
    assert walk == list(samples(problem, best.decision))
    feasible = [problem.evaluate(decision) for decision in walk if not problem.violations(decision)]
    assert len(feasible) > 50
    assert min(feasible) == best.objective
    assert any(decision != best.decision for decision in walk)


def test_samples() -> None:
    """Tests that a small problem is tried whole, a large one on a walk that gets no worse, the same each time."""
    small = posed(0)
    every = [small.nodes_of(each).tolist() for each in samples(small)]
    assert every == [list(nodes) for nodes in itertools.product(range(-1, 3), repeat=4)]
    large = posed(0, nodes=9, tasks=12, slots=3)
    for held in (filled(large), None):
        walk = list(samples(large, held))
        assert len(walk) == 1_001
        feasible = [large.minimised(large.evaluate(each)) for each in walk if not large.violations(each)]
        assert len(feasible) > 100
        best = large.minimised(solve(large).objective)
        assert best <= min(feasible) < feasible[0]
        assert [large.nodes_of(each).tolist() for each in walk] == [
            large.nodes_of(each).tolist() for each in samples(large, held)
        ]


def test_no_task() -> None:
    """Tests that there is one placement of nothing."""
    problem = Gathering(Instance(Cluster(["a"]), Workload([], replicas=Ragged.from_rows([]))))
    assert [each.nodes.tolist() for each in samples(problem)] == [[]]
    assert fault_of(problem, (), samples(problem)) is None
