"""`generalized-assignment`: value, feasibility, missing fields, exact numbers and cheap bounds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from generalized_assignment_instances import SMALL, posed

from optsched.certificates import certify
from optsched.core.errors import InputError, MissingField, UsageError
from optsched.core.instance import REDUCE, Cluster, Instance, Pairs, Workload
from optsched.core.network import FlowNetwork
from optsched.core.placement import Placement
from optsched.core.results import Termination, Violation
from optsched.problems import GeneralizedAssignment, problem
from optsched.routes import bounds, solve
from optsched.routes.generalized_assignment import ROUTES as GENERALIZED_ASSIGNMENT_ROUTES


def test_value_and_violations() -> None:
    """Tests the value of a placement, and each constraint's violation with its ids and amount."""
    barred = posed(
        [[1.5, 4], [2, 9]],
        {"weight": [[2, 2], [2.25, 2]], "disk": [[1, 1], [1, 1.5]]},
        {"weight": [4, 3], "disk": [9, 1]},
        [[True, True], [True, False]],
    )
    assert SMALL.evaluate(SMALL.placement([1, 0])) == (6,)
    assert barred.grid == 2
    assert barred.objective(barred.placement([0, 0])) == (Fraction(7, 2),)
    assert barred.violations(barred.placement([-1, 1])) == [
        Violation("assigned", ("t0",), 1),
        Violation("allowed", ("t1", "n1"), 1),
        Violation("capacity", ("disk", "n1"), Fraction(1, 2)),
    ]
    assert barred.violations(barred.placement([0, 0])) == [Violation("capacity", ("weight", "n0"), Fraction(1, 4))]
    assert barred.usable.tolist() == [[True, True], [True, False]]
    with pytest.raises(ValueError, match="an infeasible placement has no value: assigned"):
        SMALL.evaluate(Placement.of([None, None]))


def test_only_pending_maps_are_placed() -> None:
    """Tests that the matrices are those of the instance's own tasks, of which reduces are not placed."""
    workload = Workload(["r", "m"], kind=[REDUCE, 0], pairs=Pairs([[7.0], [3.0]]))
    problem = GeneralizedAssignment(Instance(Cluster(["n"]), workload))
    assert problem.evaluate(Placement.of([None, 0])) == (3,)


def test_sense() -> None:
    """Tests that the sense is a parameter, which decides the component's sense, the optimum and the bounds."""
    greatest = posed([[1, 4], [2, 9]], sense="max")
    assert (str(greatest.components[0].sense), str(SMALL.components[0].sense)) == ("max", "min")
    assert GeneralizedAssignment.components[0].sense == "min"
    solution = solve(greatest)
    assert (solution.objective, solution.bound, str(solution.certificate)) == ((13,), (13,), "dual")
    assert bounds(greatest)[0].value == 13
    with pytest.raises(UsageError, match="sense='least'"):
        posed([[1]], sense="least")


def test_missing_fields() -> None:
    """Tests that absent costs and capacities are told with their places, and the noun that is due."""
    with pytest.raises(MissingField, match=r"pairs\.cost: generalized-assignment needs a cost"):
        GeneralizedAssignment(Instance(Cluster(["n"]), Workload(["t"])))
    with pytest.raises(MissingField, match=r"pairs\.cost"):
        GeneralizedAssignment(Instance(Cluster(["n"]), Workload(["t"], pairs=Pairs(allowed=[[True]]))))
    with pytest.raises(MissingField, match=r"nodes\[1\]\.capacity\.weight"):
        posed([[1, 1]], {"weight": [[1, 1]]}, {"weight": [1, float("nan")]})
    network = FlowNetwork(["s"], tail=[], head=[], name="net")
    with pytest.raises(InputError, match="net: format: generalized-assignment is posed on an instance, not on a flow"):
        problem("generalized-assignment", network)
    assert [str(fault) for fault in GeneralizedAssignment.applies(network)]


@pytest.mark.parametrize(
    ("cost", "demand", "told"),
    [
        (2.0**53, 1.0, "costs may total too much, past 2^53/1"),
        (2.0**40 + 1 / 3, 1.0, "costs may total too much, past 2^53/10000"),
        (
            1.0,
            1 / 3,
            "pairs.demand.weight: demands of generalized-assignment must have a common denominator of at most 2",
        ),
        (1.0, 2.0**53, "demands may total too much, past 2^53/1"),
    ],
)
def test_numbers_that_are_not_exact(cost: float, demand: float, told: str) -> None:
    """Tests that totals past 2^53 and demands off the grid are refused, with what to do."""
    with pytest.raises(InputError, match=told.replace("^", r"\^").replace(r"\\^", r"\^")):
        posed([[cost], [cost]], {"weight": [[demand], [demand]]}, {"weight": [2.0**53]})


def test_numbers_at_their_limits() -> None:
    """Tests that one cost and one demand of 2^53 are taken, and that every resource with a fault is told."""
    assert posed([[2.0**53]], {"weight": [[2.0**53]]}, {"weight": [2.0**53]}).evaluate(Placement.of([0])) == (2**53,)
    fine = 2.0**42 + 2.0**-10  # as it is written, a multiple of 1/1000
    assert posed([[1.0]] * 2, {"weight": [[fine]] * 2}, {"weight": [2.0**53]}).demand_grid.tolist() == [1000]
    with pytest.raises(InputError, match=r"demands may total too much, past 2\^53/1000"):
        posed([[1.0]] * 3, {"weight": [[fine]] * 3}, {"weight": [2.0**53]})
    with pytest.raises(InputError) as caught:
        posed([[1.0]], {"one": [[1 / 3]], "two": [[1 / 3]]}, {"one": [1.0], "two": [1.0]})
    assert [fault.place for fault in caught.value.faults] == ["pairs.demand.one", "pairs.demand.two"]


def test_faults_of_an_instance_without_a_name() -> None:
    """Tests that a refusal begins with the problem where the instance has no name."""
    pairs = Pairs(cost=[[1.0]], demand={"weight": [[1 / 3]]})
    instance = Instance(Cluster(["n"], capacity={"weight": [1.0]}), Workload(["t"], pairs=pairs))
    with pytest.raises(InputError, match=r"^generalized-assignment: pairs\.demand\.weight"):
        GeneralizedAssignment(instance)


def test_capacities_beyond_all_demands() -> None:
    """Tests that a capacity is exact where it must be, and no limit where it is huge."""
    problem = posed([[1.0]], {"weight": [[0.5]]}, {"weight": [2.0**53]})
    assert problem.violations(problem.placement([0])) == []


def test_no_task_and_no_node() -> None:
    """Tests the empty cases: nothing to place costs nothing, and without a node nothing can be placed."""
    nothing = GeneralizedAssignment(Instance(Cluster(["n"]), Workload([], pairs=Pairs(np.zeros((0, 1))))))
    for route in GENERALIZED_ASSIGNMENT_ROUTES:
        assert solve(nothing, route=route).objective == (0,)
    assert certify(nothing, solve(nothing)).proved
    nowhere = GeneralizedAssignment(Instance(Cluster([]), Workload(["t"], pairs=Pairs(np.zeros((1, 0))))))
    assert nowhere.price_bound(np.zeros((0, 0), dtype=np.int64), 1) == 0
    assert solve(nowhere).termination is Termination.INFEASIBLE


# Agreement ---------------------------------------------------------------------------------------------------------


def test_rounded_costs_are_told() -> None:
    """Tests that a user hears how many costs were rounded and by how much, and nothing where all are exact."""
    told = "1 of 4 costs are rounded to multiples of 1/1048576, by up to 1e-07, 1 of them to 0"
    assert posed([[1, 0.5], [1e-7, 9]]).remark == told
    assert posed([[1, 0.1], [1e-6, 9]]).remark is None
    assert posed([]).remark is None
