"""Optima known by construction, against solvers that know nothing of the construction."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from local_tasks import assert_sound, cheapest_assignment, local, must_be_remote, slot_nodes
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from optsched.core.errors import UsageError
from optsched.core.instance import Instance
from optsched.instances.generate import generate, known_optimum
from optsched.problems import problem

LSAP_CASES: list[dict[str, Any]] = [
    {},
    {"remote": 0},
    {"remote": 80},
    {"nodes": 30, "slots": 1, "tasks": 200, "remote": 4},
    {"nodes": 30, "slots": 1, "tasks": 15, "remote": 15, "replicas": 30},
    {"nodes": 5, "slots": 4, "tasks": 3, "remote": 0, "replicas": 2},
    {"nodes": 1, "slots": 4, "tasks": 30, "remote": 0, "replicas": 1},
    {"nodes": 20, "idle_ratio": 1, "tasks": 40, "remote": 9},
    {"nodes": 20, "idle_ratio": 0, "tasks": 40, "remote": 0},
]


def planted_unless_refused(family: str, seed: int, case: dict[str, Any]) -> Instance | None:
    """The instance; None where the family refuses `remote`, which it may only if some task is to be remote."""
    try:
        return generate(family, seed, **case)
    except UsageError as error:
        if case["remote"] == 0 or not str(error).startswith(f"{family}: remote is"):
            raise
        return None


def least_work(instance: Instance, makespan: int) -> int | None:
    """Least work of a placement within `makespan`, w_loc 1 and w_rem 3; None if there is none (Agosta et al.).

    Columns: one a replica (the task runs there), one a task (it is remote), one a server (remote tasks on it).
    """
    replicas, load = instance.replicas, instance.state.load
    tasks, nodes, arcs = len(instance.workload), len(instance.cluster), len(instance.replicas.values)
    room = np.maximum(0, makespan - load)

    def entries() -> Iterator[tuple[int, int, float]]:
        for arc, (task, node) in enumerate(zip(replicas.row_of.tolist(), replicas.values.tolist(), strict=True)):
            yield task, arc, 1
            yield tasks + node, arc, 1
        for task in range(tasks):
            yield task, arcs + task, 1
            yield tasks + nodes, arcs + task, 1
        for node in range(nodes):
            yield tasks + node, arcs + tasks + node, 3
            yield tasks + nodes, arcs + tasks + node, -1

    rows, columns, values = zip(*entries(), strict=True)
    matrix = csr_array((values, (rows, columns)), shape=(tasks + nodes + 1, arcs + tasks + nodes))
    lower = np.concatenate((np.ones(tasks), np.full(nodes, -np.inf), [0]))
    upper = np.concatenate((np.ones(tasks), room, [0]))
    result = milp(
        np.concatenate((np.ones(arcs), np.full(tasks, 3), np.zeros(nodes))),
        constraints=LinearConstraint(matrix, lower, upper),
        bounds=Bounds(0, np.concatenate((np.ones(arcs + tasks), np.full(nodes, np.inf)))),
        integrality=np.repeat([0, 0, 1], [arcs, tasks, nodes]),
    )
    assert result.status in (0, 2)
    return round(result.fun) if result.status == 0 else None


class TestPlanted:
    """Optima known by construction, against solvers that know nothing of the construction."""

    @pytest.mark.parametrize("case", LSAP_CASES)
    @pytest.mark.parametrize("seed", range(5))
    def test_lsap(self, case: dict[str, Any], seed: int) -> None:
        """Tests the planted number of remote tasks against a maximum bipartite matching."""
        instance = generate("planted-lsap", seed, **case)
        assert_sound(instance)
        assert known_optimum(instance)["lsap"] == (must_be_remote(instance),) == (case.get("remote", 7),)

    @given(data=st.data())
    def test_lsap_of_any_shape(self, data: st.DataObject) -> None:
        """Tests the same over all shapes of small instances; values that do not go together are refused."""
        draw = data.draw
        nodes = draw(st.integers(1, 7))
        case = {
            "nodes": nodes,
            "slots": draw(st.integers(1, 3)),
            "idle_ratio": draw(st.sampled_from([0, 0.3, 0.5, 1])),
            "tasks": draw(st.integers(0, 12)),
            "replicas": draw(st.integers(1, nodes)),
            "remote": draw(st.integers(0, 6)),
        }
        instance = planted_unless_refused("planted-lsap", draw(st.integers(0, 9)), case)
        if instance is not None:
            assert (case["remote"],) == known_optimum(instance)["lsap"] == (must_be_remote(instance),)

    @pytest.mark.parametrize(
        "case",
        [
            {},
            {"nodes": 20, "tasks": 30, "remote": 0},
            {"nodes": 20, "tasks": 12, "remote": 6},
            {"nodes": 8, "slots": 1, "tasks": 40, "remote": 2},
        ],
    )
    @pytest.mark.parametrize("seed", range(5))
    def test_fair_lsap(self, case: dict[str, Any], seed: int) -> None:
        """Tests the planted cost against a dense assignment with Guo et al.'s costs, written out here once more."""
        instance = generate("planted-fair-lsap", seed, **case)
        assert_sound(instance)
        workload = instance.workload
        slots = int(instance.cluster.slots.sum())
        weight = [Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)]
        running = instance.state.group_running_tasks.tolist()
        gfc = [100 * Fraction(busy, sum(running)) / share for busy, share in zip(running, weight, strict=True)]
        beta = Fraction(101, 100) * max(gfc) / min(weight)
        waiting = np.bincount(workload.group, minlength=3).tolist()
        cost = []
        for group in range(3):
            ration = max(0, int(weight[group] * slots - running[group]))
            assert ration in (0, slots // 4)
            assert ration == 0 or waiting[group] <= ration
            cost.append(gfc[group] if ration else beta * weight[group])
        fairness = np.array([float(cost[group]) for group in workload.group.tolist()])
        costs = fairness[:, None] + np.where(local(instance)[:, slot_nodes(instance)], 0, 50)
        assert known_optimum(instance)["fair-lsap"] == (cheapest_assignment(costs),)
        assert known_optimum(instance)["lsap"] == (must_be_remote(instance),)

    @pytest.mark.parametrize(
        "case",
        [
            {"nodes": 3, "makespan": 2, "max_load": 2, "remote": 0, "replicas": 2},
            {"nodes": 3, "makespan": 4, "max_load": 1, "remote": 1, "replicas": 2},
            {"nodes": 2, "makespan": 4, "max_load": 0, "remote": 1, "replicas": 1},
            {"nodes": 4, "makespan": 3, "max_load": 5, "remote": 1, "replicas": 1},
        ],
    )
    @pytest.mark.parametrize("seed", range(4))
    def test_latency_by_enumeration(self, case: dict[str, Any], seed: int) -> None:
        """Tests makespan and work against all placements of a tiny instance."""
        instance = generate("planted-latency", seed, **case)
        tasks, nodes = len(instance.workload), len(instance.cluster)
        placements = np.indices((nodes,) * tasks, dtype=np.int8).reshape(tasks, -1)
        cost = np.where(local(instance), 1, 3)
        work = sum(cost[task, placements[task]] for task in range(tasks))
        makespan = np.zeros(placements.shape[1])
        for node in range(nodes):
            given = sum(np.where(placements[task] == node, cost[task, node], 0) for task in range(tasks))
            np.maximum(makespan, np.where(given > 0, instance.state.load[node] + given, 0), out=makespan)
        least = int(makespan.min())
        assert known_optimum(instance)["latency"] == (least, int(np.min(np.asarray(work)[makespan == least])))

    @pytest.mark.parametrize(
        ("name", "case"),
        [
            ("planted-latency", {"nodes": 30}),
            ("planted-latency", {"nodes": 30, "remote": 0}),
            ("planted-latency", {"nodes": 20, "makespan": 4, "max_load": 9, "remote": 3}),
            ("hot-server", {"nodes": 5, "tasks": 20}),
            ("hot-server", {"nodes": 1, "tasks": 7}),
            ("hot-server", {"nodes": 30, "tasks": 3}),
            ("hot-server", {"nodes": 4, "tasks": 3}),
        ],
    )
    @pytest.mark.parametrize("seed", range(2))
    def test_latency_by_milp(self, name: str, case: dict[str, Any], seed: int) -> None:
        """Tests that the stated makespan has the stated least work, and that one unit less is infeasible."""
        instance = generate(name, seed, **case)
        makespan, work = known_optimum(instance)["latency"]
        assert isinstance(makespan, int)
        assert least_work(instance, makespan) == work
        assert least_work(instance, makespan - 1) is None

    @settings(max_examples=40)
    @given(data=st.data())
    def test_latency_of_any_shape(self, data: st.DataObject) -> None:
        """Tests the same over all shapes of small instances; values that do not go together are refused."""
        draw = data.draw
        nodes = draw(st.integers(1, 6))
        case = {
            "nodes": nodes,
            "max_load": draw(st.integers(0, 6)),
            "makespan": draw(st.integers(1, 8)),
            "replicas": draw(st.integers(1, nodes)),
            "remote": draw(st.integers(0, 4)),
        }
        instance = planted_unless_refused("planted-latency", draw(st.integers(0, 9)), case)
        if instance is not None:
            makespan, work = known_optimum(instance)["latency"]
            assert makespan == case["makespan"]
            assert least_work(instance, case["makespan"]) == work
            assert least_work(instance, case["makespan"] - 1) is None

    @pytest.mark.parametrize(
        "case", [{}, {"tasks": 80}, {"racks": 1, "replicas": 1}, {"racks": 8, "replicas": 5, "slots": 1, "tasks": 19}]
    )
    @pytest.mark.parametrize("seed", range(5))
    def test_flow(self, case: dict[str, Any], seed: int) -> None:
        """Tests the planted penalty against a dense assignment with Hsu and Freeh's costs, written out once more."""
        instance = generate("planted-flow", seed, **case)
        assert_sound(instance)
        cluster = instance.cluster
        rate = instance.workload.rate_in
        busy = instance.state.out_in_use / cluster.rate_out
        slots = slot_nodes(instance)
        nearness = np.where(cluster.rack[:, None] == cluster.rack[slots], 0.1, 1.0) + busy[:, None]
        read = np.array([nearness[row].min(axis=0) for row in instance.replicas])
        load = np.array([rates.sum() - (rates.std() if len(rates) else 0) for rates in instance.state.running_rates])
        penalty = rate[:, None] * (1 + read) + rate[:, None] * (1 + (load / cluster.rate_in)[slots])
        # The costs are multiples of 1/64 by construction: what rounding removes is the float's own error.
        units = np.rint(penalty * 64)
        assert np.abs(units - penalty * 64).max() < 1e-8
        assert known_optimum(instance)["flow"] == (Fraction(cheapest_assignment(units), 64),)

    @pytest.mark.parametrize("name", ["lsap", "fair-lsap", "latency", "flow"])
    def test_problem_grid(self, name: str) -> None:
        """Tests that the problem itself, with default parameters, can state the optimum: its bounds do not pass it."""
        instance = generate(f"planted-{name}", seed=2)
        for bound in problem(name, instance).cheap_bounds():
            position = [component.name for component in problem(name, instance).components].index(bound.component)
            assert bound.value <= known_optimum(instance)[name][position]

    def test_large(self) -> None:
        """Tests that 200,000 tasks on 20,000 nodes are made at once, without a loop over tasks."""
        instance = generate("planted-lsap", nodes=20_000, slots=20, tasks=200_000, remote=12_345)
        assert len(instance.workload) == 200_000
        assert known_optimum(instance)["lsap"] == (12_345,)
