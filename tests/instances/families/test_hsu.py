"""The families of Hsu and Freeh have the paper's nodes, jobs and rates."""

from __future__ import annotations

import numpy as np

from optsched.instances.files import to_document
from optsched.instances.generate import generate


def test_hsu() -> None:
    """Tests Hsu and Freeh, section 5: nine jobs of 1 GB, 11 compute and 3 storage nodes, rates of Tables 2, 3."""
    instance = generate("hsu-table3")
    cluster, workload = instance.cluster, instance.workload
    assert np.bincount(cluster.type[cluster.slots > 0]).tolist() == [6, 5]
    assert np.bincount(cluster.type[cluster.slots == 0]).tolist() == [2, 1]
    assert np.array_equal(cluster.rack, cluster.type)
    assert cluster.rate_process[:11].tolist() == [60] * 6 + [20] * 5
    assert set(cluster.rate_out.tolist()) == {85}
    assert np.bincount(workload.job).tolist() == [16] * 9
    assert len(generate("hsu-table3", block=128).workload) == 72
    assert instance.replicas.lengths.tolist() == [2] * 144
    assert instance.replicas.values.min() == 11
    assert workload.job_ids.tolist()[-2:] == ["terasort4", "grep1"]
    assert workload.rate_in_by_type[0].tolist() == [3.04, 3.2]
    assert workload.rate_in_by_type[-1].tolist() == [0.23, 0.27]
    assert instance.time == workload.arrival.max() == 40


def test_flow_of_few_nodes_was_no_instance() -> None:
    """Tests that on a cluster too small for nodes of the second type no task has a rate there."""
    instance = generate("flow", seed=0, nodes=2, tasks=1, slots=1, replicas=1)
    (task,) = to_document(instance)["tasks"]
    assert set(task["rate_in"]) == {"c1"}


def test_the_experiment_as_a_run() -> None:
    """Tests that jobs arrive every 5 s from 0 on, and the reduces of Table 3: rates, and what they take in."""
    table, run = generate("hsu-table3", seed=4), generate("hsu-run", seed=4, reduces=2)
    workload, maps = run.workload, len(table.workload)
    assert np.array_equal(workload.replicas.take(np.arange(maps)).values, table.replicas.values)
    assert (run.time, workload.arrival.tolist()) == (0, [5.0 * job for job in range(9)])
    received = np.bincount(workload.shuffle.reduce, workload.shuffle.size)[maps:]
    assert np.allclose(received, np.repeat([102.4, 512.0] * 4 + [5.12], 2))
    assert workload.rate_in_by_type[maps : maps + 4].tolist() == [[7.63, 7.63]] * 2 + [[13.31, 22.18]] * 2
    assert workload.duration[[0, maps, -1]].tolist() == [21.053, 13.421, 5.12]
    assert not len(generate("hsu-run", reduces=0).workload.task_ids[maps:])
