"""Locality classes of maps and reduces, as Shen et al. count them in their Table III."""

from dataclasses import replace

from transmission_instances import example

from optsched.core.instance import Instance, Shuffle
from optsched.problems.locality_counts import locality_counts
from optsched.problems.transmission import Transmission
from optsched.problems.transmission_reduces import TransmissionReduces


def test_worked_example() -> None:
    """Tests Shen et al.'s example: M1 is off-rack, M2 local; one reduce is on a map's node. There are no racks."""
    problem = Transmission(example())
    counts = locality_counts(problem, problem.placement([2, 1, 0, 2]))
    assert counts == {"map": {"node": 1, "rack": 0, "off_rack": 1}, "reduce": {"node": 1, "rack": 0, "off_rack": 1}}


def test_data_of_a_reduce() -> None:
    """Tests that maps that run, have finished or are placed hold it, those that send 0 MB or are nowhere do not."""
    instance = example((2, 1))
    for sent, near in (([10.0, 5.0, 20.0, 10.0], 2), ([0.0, 0.0, 20.0, 10.0], 1), ([0.5, 0.0, 20.0, 10.0], 2)):
        workload = replace(instance.workload, shuffle=Shuffle([0, 0, 1, 1], [2, 3, 2, 3], sent))
        problem = TransmissionReduces(Instance(instance.cluster, workload, instance.state))
        counts = locality_counts(problem, problem.placement([2, 1]))
        assert counts == {"reduce": {"node": near, "rack": 0, "off_rack": 2 - near}}
    joint = Transmission(example())
    assert locality_counts(joint, joint.placement([-1, -1, 0, 1]))["reduce"] == {"node": 0, "rack": 0, "off_rack": 2}
