"""`transmission-maps`: Shen et al.'s map costs, classes, routes and proofs, against enumeration."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from transmission_instances import DISTANCES, example

from optsched.errors import InputError, MissingField
from optsched.instance import Cluster, Instance, Ragged, Topology, Workload
from optsched.problems.base import GRID
from optsched.problems.transmission_maps import TransmissionMaps
from optsched.routes import solve


def posed(
    sizes: list[float], replicas: list[list[int]], slots: list[int], matrix: object = DISTANCES
) -> TransmissionMaps:
    """The problem on nodes n0, ... with these distances."""
    cluster = Cluster([f"n{node}" for node in range(len(slots))], slots=slots, topology=Topology("distance", matrix))
    workload = Workload([f"m{task}" for task in range(len(sizes))], size=sizes, replicas=Ragged.from_rows(replicas))
    return TransmissionMaps(Instance(cluster, workload, name="few"))


def test_worked_example() -> None:
    """Tests Shen et al. 2016, section II-B.1: M1 on D3 costs 256, M2 on D2 nothing; and the whole table (Shen et al.
    2016, note 5).
    """
    problem = TransmissionMaps(example())
    assert problem.class_units.tolist() == [[0, 512, 256, 1024], [512, 0, 1280, 512]]
    assert problem.evaluate(problem.placement([2, 1])) == (256,)
    assert solve(problem).objective == (0,)


def test_probabilities_of_the_worked_example() -> None:
    """Tests the averages 448 and 576 and the probabilities worked out by hand (Shen et al. 2016, equation (4))."""
    costs = TransmissionMaps(example()).class_units
    averages = costs.mean(axis=1)
    assert averages.tolist() == [448, 576]
    with np.errstate(divide="ignore"):
        probability = 1 - np.exp(-averages[:, None] / costs)
    assert probability.round(4).tolist() == [[1.0, 0.5831, 0.8262, 0.3544], [0.6753, 1.0, 0.3624, 0.6753]]


def test_classes() -> None:
    """Tests that maps of equal size and replicas, in any order, are one class."""
    problem = posed([1.0, 1.0, 2.0, 1.0], [[0, 1], [1, 0], [0, 1], [0]], [1, 1, 1, 1])
    assert problem.classes().of_task.tolist() == [0, 0, 1, 2]


def test_only_idle_nodes_have_columns() -> None:
    """Tests that nodes without idle slots hold data, but take no map."""
    problem = posed([128.0], [[0]], [0, 1, 0, 1])
    assert problem.idle_nodes.tolist() == [1, 3]
    assert solve(problem).objective == (512,)
    assert [str(one) for one in problem.violations(problem.placement([0]))] == ["slots(n0) by 1"]


def test_grid() -> None:
    """Tests that costs are exact where sizes and distances have a common denominator, and else rounded once."""
    assert posed([3.0], [[0]], [1, 1, 1, 1]).grid == 1
    half = posed([0.5], [[0]], [0, 1, 0, 0])
    assert (half.grid, half.evaluate(half.placement([1]))) == (2, (2,))
    third = posed([1 / 3], [[0]], [0, 1, 0, 0])
    assert third.evaluate(third.placement([1])) == (Fraction(round(4 / 3 * GRID), GRID),)


def test_missing_fields() -> None:
    """Tests that the topology, each size and each replica that is missing are told, of pending maps alone."""
    workload = Workload(
        ["m0", "m1", "r"], kind=[0, 0, 1], size=[np.nan, 1.0, np.nan], replicas=Ragged.from_rows([[0], [], []])
    )
    with pytest.raises(MissingField) as caught:
        TransmissionMaps(Instance(Cluster(["a"]), workload))
    assert [fault.place for fault in caught.value.faults] == ["topology", "tasks[0].size", "tasks[1].replicas"]


def test_bad_distances_are_bad_input() -> None:
    """Tests that the problem tells faults of the topology."""
    instance = Instance(Cluster(["a", "b"], topology=Topology("rate", [[0.0, 0.0], [1.0, 0.0]])), Workload([]))
    assert [fault.place for fault in TransmissionMaps.applies(instance)] == ["topology.rate[0][1]"]


@pytest.mark.parametrize("size", [2.0**53, 2.0**34 + 1 / 3])
def test_costs_that_are_not_exact(size: float) -> None:
    """Tests that totals past 2^53 units are refused, with what to do."""
    with pytest.raises(InputError, match=r"few: transmission-maps: costs may total too much, past 2\^53"):
        posed([size, 1.0], [[0], [1]], [1, 1, 1, 1])
