"""Locality classes of maps and reduces, as Shen et al. count them in their Table III."""

from dataclasses import replace

import numpy as np
import pytest
from transmission_instances import example

from optsched.core.instance import Cluster, Instance, Ragged, Shuffle, Workload
from optsched.problems import Lsap
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


@pytest.mark.parametrize("seed", range(20))
def test_classes_by_definition(seed: int) -> None:
    """Tests each count: on a replica's node, else in the rack of one, else off-rack; of what is placed alone."""
    rng = np.random.default_rng(seed)
    nodes, tasks, racks = 5, 7, 3
    rack = rng.integers(-1, racks, nodes).tolist()
    rows = [rng.choice(nodes, rng.integers(0, 3), replace=False).tolist() for _ in range(tasks)]
    cluster = Cluster(list("abcde"), rack=rack, rack_ids=["r1", "r2", "r3"])
    problem = Lsap(Instance(cluster, Workload([f"t{t}" for t in range(tasks)], replicas=Ragged.from_rows(rows))))
    places = rng.integers(-1, nodes, tasks).tolist()
    expected = {"node": 0, "rack": 0, "off_rack": 0}
    for place, row in zip(places, rows, strict=True):
        if place >= 0:
            near = rack[place] >= 0 and rack[place] in [rack[node] for node in row]
            expected["node" if place in row else "rack" if near else "off_rack"] += 1
    assert locality_counts(problem, problem.placement(places)) == {"map": expected}
