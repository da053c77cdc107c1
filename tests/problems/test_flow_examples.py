"""`flow` on Hsu and Freeh's own numbers: rates by cluster, loads that deviation lightens, sources, stale loads."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from optsched.core.instance import Cluster, Instance, Ragged, Workload
from optsched.instances.files import load
from optsched.problems import Flow
from optsched.routes import solve


def on_grid(cost: float) -> Fraction:
    """A cost as the problem rounds it, to a multiple of 2^-20."""
    return Fraction(round(cost * 2**20), 2**20)


def nodes_of(problem: Flow) -> dict[str, str]:
    """The node that the optimum gives each task, by ids."""
    decision = solve(problem).decision
    assert decision is not None
    ids = problem.instance.cluster.node_ids
    return {
        str(task): str(ids[node]) for task, node in zip(problem.instance.workload.task_ids, decision.nodes, strict=True)
    }


def test_rates_by_cluster() -> None:
    """Tests Tables 2 and 3 of Hsu and Freeh on empty clusters: Terasort and NoComputation stay near the blocks."""
    problem = Flow(load("papers/hsu-two-clusters"))
    assert nodes_of(problem) == {"wordcount": "n2", "terasort": "n1", "grep": "n2", "nocomputation": "n1"}
    near, far = 2.1, 3.0  # R (1 + f_c) + R
    costs = [3.2 * far, 9.14 * near, 0.27 * far, 16 * near]
    assert solve(problem).objective == (sum(map(on_grid, costs)),)


def test_deviation_lightens_the_load() -> None:
    """Tests e_m of Hsu and Freeh: sum less standard deviation is smaller on the node whose sum is larger."""
    problem = Flow(load("papers/hsu-effective-load"))
    assert [rates.sum() for rates in problem.running_rates] == pytest.approx([18.28, 19.04])
    assert problem.effective_loads().tolist() == pytest.approx([18.28, 19.04 - 6.48])
    assert nodes_of(problem) == {"wordcount": "n2"}
    cost = 3.04 * (1 + 0.1) + 3.04 * (1 + 12.56 / 85)
    assert solve(problem).objective == (on_grid(cost),)


@pytest.mark.parametrize(("f_c", "cost"), [((0, 0.1, 1), 9.14 * 3), ((0, 0.1, 2), 9.14 * 3.1), ((0, 0, 1), 9.14 * 3)])
def test_idle_far_storage_beats_busy_near_storage(f_c: tuple[float, ...], cost: float) -> None:
    """Tests that a task reads from the source of least r_out/R_out + f_c, wherever that is."""
    problem = Flow(load("papers/hsu-storage-choice"), f_c=f_c)
    assert solve(problem).objective == (on_grid(cost),)


def test_frozen_loads_miss_what_the_batch_adds() -> None:
    """Tests that an example of Hsu and Freeh's stale loads costs the same on either node here: 0.54 (1 + 12.8/85).

    Two Greps on two equally loaded nodes: with the load that they add themselves, together would be cheaper than
    apart, by 0.0477 MB/s (e_m divided by nothing); with frozen loads any placement is optimal.
    """
    cluster = Cluster(["a", "b"], slots=[4, 4], rate_in=[85, 85])
    workload = Workload(["g1", "g2"], rate_in=[0.27, 0.27])
    running = Ragged.from_rows([[12.8] * 2] * 2, float)
    problem = Flow(Instance.initial(cluster, workload, running_rates=running), scale=1)
    values = {problem.evaluate(problem.placement(nodes)) for nodes in ([0, 0], [0, 1], [1, 0], [1, 1])}
    assert values == {(2 * on_grid(0.27 * (1 + 1) + 0.27 * (1 + 25.6)),)}

    def caused(*groups: list[float]) -> float:
        """Cost of the load terms when e_m counts what is placed, over the nodes."""
        return sum(
            rate * (1 + sum([12.8, 12.8, *rates]) - float(np.std([12.8, 12.8, *rates])))
            for rates in groups
            for rate in rates
        )

    assert caused([0.27], [0.27]) == pytest.approx(11.3202, abs=1e-4)
    assert caused([0.27, 0.27], []) == pytest.approx(11.2725, abs=1e-4)
