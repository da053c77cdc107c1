"""Tests of the noun `Instance`: defaults, read-only columns, sharing and digests."""

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from optsched.core.instance import Cluster, Instance, Pairs, Ragged, Shuffle, State, Topology, Workload


def test_initial() -> None:
    """Tests that columns of the state and texts are given by name, and that the rest of the state is as at first."""
    nodes, tasks = Cluster(["a", "b"], slots=[2, 3]), Workload(["t"])
    rates = Ragged.from_rows([[], [3.0]], float)
    made = Instance.initial(nodes, tasks, time=5, out_in_use=[0, 7], running_rates=rates, name="x", labels={"a": "b"})
    assert (made.cluster, made.workload, made.name, made.labels) == (nodes, tasks, "x", {"a": "b"})
    assert (made.time, made.state.out_in_use.tolist(), made.state.idle_slots.tolist()) == (5, [0, 7], [2, 3])
    assert made.state.running_rates is rates
    state = State.initial(nodes, tasks, time=5, out_in_use=[0, 7], running_rates=rates)
    assert Instance(nodes, tasks, state).sha256 == made.sha256
    left_out = State([0], [-1], [np.nan], [2, 3], [1, 1], [0, 0])
    grouped = Workload(["t"], group_ids=["g", "h"])
    assert Instance(nodes, grouped, left_out).state.group_running_tasks.tolist() == [-1, -1]
    assert Instance(nodes, grouped).with_state(left_out).state.group_running_tasks.tolist() == [-1, -1]
    assert made.with_state(made.state).state is made.state
    sending = Workload(["m", "r"], kind=[0, 1], shuffle=Shuffle([0], [1], [5.0]))
    state = State.initial(nodes, sending, emitted=[2])
    assert Instance(nodes, sending, state).state is state
    assert np.isnan(Instance(nodes, sending).state.emitted).tolist() == [True]
    assert Instance(nodes, replace(sending, shuffle=None), state).state.emitted.size == 0
    with pytest.raises(TypeError, match="idle"):
        Instance.initial(nodes, tasks, idle=[1, 1])


def test_columns_are_read_only_and_private() -> None:
    """Tests that no array of an instance can be written to, and that it does not share one that can."""
    slots, ids, matrix = np.array([1, 2]), np.array(["a", "b"]), np.zeros((2, 2))
    cluster = Cluster(ids, slots=slots, capacity={"cpu": slots * 1.0}, topology=Topology("distance", matrix))
    workload = Workload(["t"], demand={"cpu": np.ones(1)}, pairs=Pairs(np.zeros((1, 2)), {"cpu": np.zeros((1, 2))}))
    instance = Instance(cluster, workload)
    slots[0], ids[0], matrix[0, 0] = 9, "z", 9
    assert (cluster.slots.tolist(), cluster.node_ids.tolist(), cluster.topology.matrix[0, 0]) == ([1, 2], ["a", "b"], 0)
    arrays = [held for part in (cluster, workload, instance.state) for held in vars(part).values()]
    arrays += [cluster.capacity["cpu"], workload.demand["cpu"], cluster.topology.matrix, instance.replicas.values]
    arrays += [workload.pairs.cost, workload.pairs.demand["cpu"], instance.replicas.starts]
    assert not any(isinstance(array, np.ndarray) and array.flags.writeable for array in arrays)
    with pytest.raises(TypeError):
        instance.parameters["lsap"] = {}  # type: ignore[index]


def test_digest_reads_what_a_problem_may_read() -> None:
    """Tests that time, parameters and resources count, but no name, label and way of writing a number."""
    cluster, workload = Cluster(["a", "b"], rack=[0, 1], rack_ids=["r", "s"]), Workload(["t"])
    base = Instance(cluster, workload)
    assert Instance(cluster, workload, name="x", labels={"a": "b"}, source="y").sha256 == base.sha256
    state = State.initial(cluster, workload, load=[-0.0, 0.0])
    assert Instance(cluster, workload, state).sha256 == base.sha256
    others = [
        Instance(cluster, workload, State.initial(cluster, workload, time=1)),
        Instance(cluster, workload, parameters={"lsap": {}}),
        Instance(cluster, Workload(["t"], demand={"cpu": [1.0]})),
        Instance(cluster, Workload(["t"], demand={"io": [1.0]})),
        Instance(cluster, Workload(["t"], demand_shuffle={"io": [1.0]})),
    ]
    assert len({other.sha256 for other in [base, *others]}) == 1 + len(others)


def test_equality_is_by_content() -> None:
    """Tests that instances are equal, and hashed alike, if all that they hold is: columns, parameters, name, labels."""

    def made(**others: Any) -> Instance:
        return Instance(Cluster(["a"]), Workload(["t"]), **others)

    given = {"name": "x", "labels": {"size": "assumed"}, "source": "s", "description": "d", "parameters": {"lsap": {}}}
    base = made(**given)
    assert base == made(**given)
    assert len({base, made(**given), pickle.loads(pickle.dumps(base))}) == 1
    assert base != "x"
    for key in given:
        assert made(**{name: value for name, value in given.items() if name != key}) != base
    assert Instance(Cluster(["a"], slots=[2]), Workload(["t"]), **given) != base


def test_what_says_nothing_is_left_out() -> None:
    """Tests that resources without a number, empty shuffles and empty pairs are as if they were not given."""
    cluster = Cluster(["a"], capacity={"cpu": [np.nan]})
    nothing = np.zeros(0)
    workload = Workload(
        ["t"],
        rate_in_by_type=np.full((1, 3), np.nan),
        shuffle=Shuffle(nothing.astype(int), nothing.astype(int), nothing),
        pairs=Pairs(),
    )
    assert Instance(cluster, workload).sha256 == Instance(Cluster(["a"]), Workload(["t"])).sha256


def test_indices() -> None:
    """Tests that nodes and tasks are found by id, and tasks find their group through their job."""
    workload = Workload(["t1", "t2", "t3"], job=[1, 0, -1], job_ids=["j1", "j2"], job_group=[-1, 0], group_ids=["g"])
    instance = Instance(Cluster(["a", "b"]), workload)
    assert instance.node_index["b"] == 1
    assert instance.task_index["t3"] == 2
    assert workload.group.tolist() == [0, -1, -1]
