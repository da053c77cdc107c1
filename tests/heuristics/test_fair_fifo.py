"""FIFO and LARTS: jobs by arrival, maps as near their block as may be, reduces where room or most of their data is."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from transmission_instances import example, instances

from optsched.core.instance import Cluster, Instance, Ragged, Shuffle, State, Topology, Workload
from optsched.core.placement import NONE
from optsched.heuristics.fair import fifo, larts
from optsched.instances.files import load
from optsched.problems import Lsap
from optsched.problems.flow_congestion import FlowCongestion
from optsched.problems.transmission import Transmission
from optsched.problems.transmission_reduces import TransmissionReduces

RNG = np.random.default_rng(0)


class TestFifo:
    """Jobs by arrival, each task as near its block as the slots allow when its turn comes."""

    def test_prefers_node_then_rack_then_first(self) -> None:
        """Tests the three levels, each with the first free node, in a rack that holds a replica whichever it is."""
        cluster = Cluster(list("abcdef"), rack=[0, 0, 1, 1, 2, -1], rack_ids=["r1", "r2", "r3"])
        replicas = Ragged.from_rows([[3], [3], [5, 4], [5, 4], [5], [3]])
        problem = Lsap(Instance(cluster, Workload([f"t{task}" for task in range(6)], replicas=replicas)))
        assert fifo(problem, RNG).nodes.tolist() == [3, 2, 4, 5, 0, 1]

    def test_fills_the_first_node(self) -> None:
        """Tests that with separate storage, in no rack, FIFO fills node after node (Hsu and Freeh, note 10)."""
        cluster = Cluster(["a", "b", "s"], slots=[3, 3, 0])
        workload = Workload([f"t{task}" for task in range(4)], replicas=Ragged.from_rows([[2]] * 4))
        assert fifo(Lsap(Instance(cluster, workload)), RNG).nodes.tolist() == [0, 0, 0, 1]

    def test_jobs_by_arrival_then_file_order(self) -> None:
        """Tests the order of jobs: no arrival first, then by arrival, ties as in the file; the last ones wait."""
        workload = Workload(
            [f"t{task}" for task in range(6)],
            job=[0, 1, 2, 1, 3, -1],
            job_ids=["late", "early", "also-early", "unknown"],
            arrival=[9.0, 2.0, 2.0, float("nan")],
        )
        problem = Lsap(Instance(Cluster(list("abcde")), workload))
        order = [5, 4, 1, 3, 2]  # and t0, of the job "late", waits
        assert [fifo(problem, RNG).nodes.tolist().index(node) for node in range(5)] == order
        assert fifo(problem, RNG).nodes[0] == NONE

    def test_skips_what_does_not_wait(self) -> None:
        """Tests that jobs are looked up through the pending tasks, not through all tasks of the instance."""
        cluster = Cluster(["a", "b"])
        workload = Workload(["t0", "t1", "t2"], job=[0, 0, 1], job_ids=["late", "early"], arrival=[5.0, 1.0])
        state = State.initial(cluster, workload, status=[2, 0, 0], node=[0, -1, -1])
        assert fifo(Lsap(Instance(cluster, workload, state)), RNG).nodes.tolist() == [NONE, 1, 0]

    def test_reduces_fill_the_first_nodes(self) -> None:
        """Tests that reduces take the first free node, two of a job two nodes, and none where one of it runs."""
        problem = TransmissionReduces(example((2, 1)))
        assert problem.nodes_of(fifo(problem, RNG)).tolist() == [0, 1]
        shared = TransmissionReduces(example((2, 1)), distinct=False)
        assert shared.nodes_of(fifo(shared, RNG)).tolist() == [0, 0]
        both = Transmission(example())
        assert both.nodes_of(fifo(both, RNG)).tolist() == [0, 1, 0, 1]

    def test_reduces_where_no_rule_bars_them(self) -> None:
        """Tests that in `flow-congestion` reduces of a job share a node, and maps and reduces have their own slots."""
        cluster = Cluster(["a", "b"], slots=[1, 1], reduce_slots=[2, 1], rate_in=[85, 85], rate_out=[85, 85])
        workload = Workload(
            ["R1", "M1", "R2", "R3"], kind=[1, 0, 1, 1], job=[0] * 4, job_ids=["J"], rate_in=[1.0] * 4,
            replicas=Ragged.from_rows([[], [1], [], []]),
        )  # fmt: skip
        problem = FlowCongestion(Instance(cluster, workload))
        assert problem.nodes_of(fifo(problem, RNG)).tolist() == [0, 1, 0, 1]


class TestLarts:
    """Reduces near the node that holds most of what they read."""

    def test_the_node_with_most_then_the_nearest(self) -> None:
        """Tests Shen et al.'s example: both reduces have most input on D2; the second takes the nearest node."""
        problem = TransmissionReduces(example((2, 1)))
        assert problem.nodes_of(larts(problem, RNG)).tolist() == [1, 0]  # D1 and D4 are 4 from D2, D1 has more

    def test_direction_of_the_data(self) -> None:
        """Tests that near means from the data to the reduce, where distances are not the same both ways."""
        topology = Topology("distance", [[0.0, 1.0, 5.0], [9.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
        cluster = Cluster(["a", "b", "c"], topology=topology)
        workload = Workload(["M", "R"], kind=[0, 1], size=[1.0, 0.0], shuffle=Shuffle([0], [1], [4.0]))
        state = State.initial(cluster, workload, status=[1, 0], node=[0, -1], idle_reduce_slots=[0, 1, 1])
        problem = TransmissionReduces(Instance(cluster, workload, state))
        assert problem.nodes_of(larts(problem, RNG)).tolist() == [1]

    def test_sizes_decide(self) -> None:
        """Tests the estimate (3): by what is emitted M1 has most, by progress M2 has (Shen et al. 2016, II-B.2)."""
        problem = TransmissionReduces(load("papers/pna-estimate"))
        chosen = {
            sizes: int(problem.nodes_of(larts(problem, RNG, sizes=sizes))[0])
            for sizes in ("emitted", "extrapolated", "actual")
        }
        assert chosen == {"emitted": 0, "extrapolated": 1, "actual": 1}


@given(instances())
def test_maps_of_a_problem_of_reduces_stay(instance: Instance) -> None:
    """Tests that where only reduces are placed, waiting maps have no node."""
    if instance.workload.shuffle is not None:
        problem = TransmissionReduces(instance)
        assert problem.violations(fifo(problem, RNG)) == []
