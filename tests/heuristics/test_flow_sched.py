"""The flow scheduler's round and Balancing of Hsu and Freeh."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from strategies import instances

from optsched.core.instance import MAP, Instance
from optsched.core.placement import NONE
from optsched.heuristics.flow_sched import balancing, flow_sched
from optsched.problems import Flow, FlowCongestion
from optsched.solvers.searches.assignment import solve_assignment

RNG = np.random.default_rng(0)


@settings(max_examples=25)
@given(instances("flow"))
def test_flow_sched_is_optimal_in_flow(instance: Instance) -> None:
    """Tests that the flow scheduler's gap in `flow` is 0 by construction, against another engine."""
    problem = Flow(instance)
    placement = flow_sched(problem, RNG)
    dense = problem.placement(solve_assignment(problem, engine="dense").nodes)
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
