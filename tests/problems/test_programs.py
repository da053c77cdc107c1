"""Programs as data: what a builder collects, and that a program and its problem's definition say the same."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from programmed import Gathering, posed

from optsched.core.errors import UsageError
from optsched.core.instance import Cluster, Instance, Ints, Ragged, Workload
from optsched.core.placement import Placement
from optsched.core.results import Number
from optsched.problems import PROBLEMS, Problem
from optsched.problems.programs import Builder, Group, Limited, Program, Programmed, fault_of, limit_unit, samples
from optsched.problems.relaxations import UNBOUNDED
from optsched.routes import solve


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


TWO = [("a",), ("b",)]


@pytest.mark.parametrize(
    ("add", "message"),
    [
        (
            lambda b: b.variables("x", TWO, upper=1, cost=0.5),
            r'variables\("x"\): the cost 0.5 is no whole number; round it',
        ),
        (lambda b: b.variables("x", TWO, upper=[1, Fraction(3, 2)]), "the upper 3/2 is no whole number"),
        (lambda b: b.variables("x", TWO, upper=np.inf), "the upper inf is no whole number"),
        (lambda b: b.variables("x", TWO, upper=1, lower=[0, np.nan]), "the lower nan is no whole number"),
        (lambda b: b.rows("x", TWO, upper=[1.0, 2.5]), r'rows\("x"\): the upper 2.5 is no whole number'),
        (lambda b: b.enter(0, 0, [1, 0.1]), "Builder.enter: the value 0.1 is no whole number"),
        (
            lambda b: b.variables("x", TWO, upper=[1, 2, 3]),
            r"upper has the shape \(3,\); give one for each of 2 labels",
        ),
        (lambda b: b.rows("x", TWO, lower=[[1, 2]]), r"lower has the shape \(1, 2\); give one"),
        (lambda b: b.variables("first", TWO, upper=1), 'there is "first" already; give another name'),
        (lambda b: b.rows("first", TWO), 'there is "first" already'),
        (lambda b: b.rows("NODES", TWO), 'there is "NODES" already'),
        (lambda b: b.rows("objective", TWO), 'there is "objective" already'),
        (lambda b: b.variables("x", TWO, upper=1, cost_name="first"), 'there is "first" already'),
        (lambda b: b.group("first", "CLASSES", {}), r'group\("first"\): there is "first" already'),
        (lambda b: b.rows("as low", TWO), "'as low' is no name for models; give an identifier"),
        (lambda b: b.rows(3, TWO), "3 is no name for models"),
        (lambda b: b.rows("x", TWO, over="first"), 'over "first" is no identifier, or the name of a family'),
        (lambda b: b.rows("x", TWO, over="my nodes"), 'over "my nodes" is no identifier'),
        (lambda b: b.rows("x", [("a",)], over="NODES"), 'over "NODES" has other labels in another family'),
        (lambda b: b.rows("x", ["a", "b"]), r'rows\("x"\): a label is a tuple, such as .*, not \'a\''),
        (lambda b: b.rows("x", [("a",), ("b", "c")]), r"of as many entries as others, not \('b', 'c'\)"),
        (lambda b: b.rows("x", [("a",), ("b",), ("a",)]), r"there are two labels \('a',\)"),
        (
            lambda b: b.enter([0, 0, 0], [0, 0]),
            r"the shapes do not fit .*: row \(3,\), column \(2,\), value",
        ),
        (
            lambda b: b.variables("x", TWO, upper=1, cost=2**70),
            "11303424 is no whole number below",
        ),
        (lambda b: b.enter(7, 0), "Builder.enter: the rows are 7 to 7; there are 0, from 0"),
        (lambda b: b.enter(b.rows("x", TWO), -1), "Builder.enter: the columns are -1 to -1; there are 2, from 0"),
        (lambda b: b.program(unit=0), "the unit 0 must be a whole number other than 0"),
        (lambda b: b.program(unit=0.5), "the unit 0.5 must be a whole number other than 0"),
    ],
)
def test_what_a_builder_refuses(add: Callable[[Builder], object], message: str) -> None:
    """Tests that what a program or a model of it cannot have is refused where it is given, with place and mend."""

    def build() -> Program:
        builder = Builder()
        builder.variables("first", TWO, upper=1, over="NODES")
        add(builder)
        return builder.program()

    with pytest.raises(ValueError, match=message):
        build()


def test_a_family_that_is_not_there() -> None:
    """Tests that variables and rows of a wrong name are named, with those that exist."""
    builder = Builder()
    builder.variables("first", TWO, upper=[1.0, 2.0])
    builder.rows("second", TWO)
    program = builder.program()
    assert program.numbers.upper.tolist() == [1, 2]
    with pytest.raises(LookupError, match='the program has no variables "x"; it has first'):
        program.family("x")
    with pytest.raises(LookupError, match='the program has no rows "first"; it has second'):
        program.rows_of("first")


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
