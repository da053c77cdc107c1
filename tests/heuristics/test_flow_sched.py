"""The flow scheduler's round and Balancing of Hsu and Freeh."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from strategies import instances

from optsched.core.instance import MAP, Cluster, Instance, Ragged, Workload
from optsched.core.placement import NONE
from optsched.heuristics.flow_sched import balancing, flow_sched
from optsched.problems import Flow, FlowCongestion
from optsched.searches.assignment import solve_assignment

RNG = np.random.default_rng(0)


@settings(max_examples=25)
@given(instances("flow"))
def test_flow_sched_is_optimal_in_flow(instance: Instance) -> None:
    """Tests that the flow scheduler's gap in `flow` is 0 by construction, against another engine."""
    problem = Flow(instance)
    placement = flow_sched(problem, RNG)
    dense = problem.placement(solve_assignment(problem, engine="dense").nodes)
    assert dense is not None
    assert problem.evaluate(placement) == problem.evaluate(dense)


@settings(max_examples=25)
@given(instances("flow"))
def test_flow_sched_is_optimal_with_frozen_loads(instance: Instance) -> None:
    """Tests that no placement of maps costs less as `flow-congestion` freezes the loads, against SciPy."""
    problem = FlowCongestion(instance)
    nodes, units = problem.idle_nodes, problem.frozen_units[problem.classes.of_task]
    slots = np.repeat(np.arange(len(nodes)), problem.slots[MAP, nodes])
    best = units[:, slots][linear_sum_assignment(units[:, slots])]
    on = flow_sched(problem, RNG).nodes[problem.tasks]
    placed = np.flatnonzero(on != NONE)
    assert len(placed) == len(best)
    assert units[placed, np.searchsorted(nodes, on[placed])].sum() == best.sum()


class TestBalancing:
    """Demand spread evenly over the nodes."""

    def test_counts_what_runs(self) -> None:
        """Tests that running rates enter the sums: the node where 5 MB/s run gets a task only after the other has 6."""
        cluster = Cluster(
            ["busy", "idle"],
            slots=[4, 4],
            rate_in=[85, 85],
        )
        running = Ragged.from_rows([[5.0], []], dtype=float)
        workload = Workload([f"t{task}" for task in range(4)], rate_in=[2.0, 2.0, 2.0, 2.0])
        problem = Flow(Instance.initial(cluster, workload, running_rates=running))
        assert balancing(problem, RNG).nodes.tolist() == [1, 1, 1, 0]

    def test_largest_first(self) -> None:
        """Tests that the largest demands are spread first, ties by position, and that the smallest wait."""
        cluster = Cluster(["a", "b"], slots=[2, 1], rate_in=[85, 85])
        problem = Flow(Instance(cluster, Workload(["t0", "t1", "t2", "t3"], rate_in=[1.0, 4.0, 2.0, 4.0])))
        assert balancing(problem, RNG).nodes.tolist() == [NONE, 0, 0, 1]
        assert balancing(problem, RNG, order="given").nodes.tolist() == [0, 1, 0, NONE]

    def test_demand_on_the_node_counts(self) -> None:
        """Tests that a task's demand is that on the node's type: 12.8 on c2 loses to 3 + 9.14 on c1 (Table 3)."""
        cluster = Cluster(
            ["n1", "n2"],
            type=[0, 1],
            type_ids=["c1", "c2"],
            rate_in=[85, 85],
        )
        running = Ragged.from_rows([[3.0], []], dtype=float)
        workload = Workload(["terasort"], rate_in_by_type=np.array([[9.14, 12.8]]))
        problem = Flow(Instance.initial(cluster, workload, running_rates=running))
        assert balancing(problem, RNG).nodes.tolist() == [0]

    @given(instances("flow"), st.sampled_from(["largest", "given"]))
    def test_every_step_takes_the_least_sum(self, instance: Instance, order: str) -> None:
        """Tests the heaps against a search over all nodes at each step."""
        problem = Flow(instance)
        nodes, types = problem.idle_nodes.tolist(), instance.cluster.type
        sums = {node: sum(rates.tolist()) for node, rates in zip(nodes, problem.running_rates, strict=True)}
        free = problem.capacity.tolist()
        expected = [NONE] * len(problem.tasks)

        def largest(task: int) -> float:
            return -max((problem.rates[task, types[node]] for node in nodes), default=0)

        tasks = sorted(range(len(expected)), key=largest) if order == "largest" else range(len(expected))
        for task in list(tasks)[: problem.count]:
            rate = {node: float(problem.rates[task, types[node]]) for node in nodes}
            node = min((node for node in nodes if free[node]), key=lambda node: (sums[node] + rate[node], node))
            expected[task] = node
            sums[node] += rate[node]
            free[node] -= 1
        assert balancing(problem, RNG, order=order) == problem.placement(expected)
