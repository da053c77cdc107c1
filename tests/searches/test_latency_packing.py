"""Packing: what it packs keeps the limit with the promised number of remote tasks, and how often it fails."""

from __future__ import annotations

import numpy as np
import pytest
from small_problems import pareto_front

from optsched.core.instance import Cluster, Instance, Ragged, State, Workload
from optsched.core.placement import NONE
from optsched.instances.generate import generate
from optsched.problems import Latency
from optsched.processes.handing import pack, unpack
from optsched.searches.latency import GrowingMatchings, packed, shifted, with_remote


@pytest.mark.parametrize("weights", [(1, 3), (2, 5), (1, 1)])
def test_what_is_packed_keeps_its_promise(weights: tuple[int, int]) -> None:
    """Tests every limit around the optimum: a packing fits, is as good as the matching, and never beats the front."""
    failed = 0
    for seed in range(16):
        problem = Latency(
            generate("latency", seed=seed, nodes=4, tasks=6, replicas=2), w_loc=weights[0], w_rem=weights[1]
        )
        front = pareto_front(problem)
        matchings = GrowingMatchings(problem)
        for limit in range(int(front[0][0]) - 1, int(front[-1][0]) + 2):
            nodes = packed(problem, limit, matchings)
            least = [work for makespan, work in front if makespan <= limit]
            if nodes is None:
                failed += bool(least)
                continue
            makespan, work = problem.evaluate(problem.placement(nodes))
            assert makespan <= limit
            remote = int(np.count_nonzero(matchings.at(limit).node == NONE))
            assert work == weights[0] * (6 - remote) + weights[1] * remote == min(least)
    assert failed <= 10


def test_scattered_room_is_gathered_along_replicas() -> None:
    """Tests two servers with room for two each beside one local task, where one of the tasks has to move."""
    # Limit 3, weights 1 and 3: t1 and t2 are matched apart, which leaves 2 and 2; together they leave 1 and 3.
    cluster = Cluster(["s1", "s2"])
    workload = Workload(["t1", "t2", "t3"], replicas=Ragged.from_rows([[0, 1], [1], []]))
    problem = Latency(Instance(cluster, workload))
    apart = np.array([0, 1, -1])
    assert with_remote(problem, 3, apart) is None
    nodes = with_remote(problem, 3, shifted(problem, 3, apart))
    assert nodes is not None
    assert problem.evaluate(problem.placement(nodes)) == (3, 5)


def test_chains_of_replicas_are_followed() -> None:
    """Tests that room is gathered over servers in between, whose number of tasks stays what it is."""
    # s1 lacks one unit for a remote task; s3 has one to spare; only by way of s2 can a task get there.
    cluster = Cluster(["s1", "s2", "s3"])
    rows = [[0, 1], [1, 2], [2], []]
    workload = Workload([f"t{task}" for task in range(4)], replicas=Ragged.from_rows(rows))
    state = State.initial(cluster, workload, load=[0, 2, 1])
    problem = Latency(Instance(cluster, workload, state))
    nodes = with_remote(problem, 3, shifted(problem, 3, np.array([0, 1, 2, -1])))
    assert nodes is not None
    assert problem.evaluate(problem.placement(nodes)) == (3, 6)


@pytest.mark.parametrize("seed", [3, 5, 11, 13, 21])
def test_papers_scale_needs_no_program(seed: int) -> None:
    """Tests that limits which the first matching does not pack are packed: 1600 servers, 3450 tasks, latency 5."""
    problem = Latency(generate("latency", seed=seed, nodes=1600, tasks=3450))
    matchings = GrowingMatchings(problem)
    assert with_remote(problem, 5, matchings.at(5).node) is None
    assert packed(problem, 5, matchings) is not None


def test_matchings_are_the_same_however_they_are_asked_for() -> None:
    """Tests sizes and covers upwards, downwards and past what is kept, and that the highest one held is reported."""
    problem = Latency(generate("latency", seed=7, nodes=30, tasks=60, replicas=2))
    upwards, downwards = GrowingMatchings(problem), GrowingMatchings(problem)
    assert upwards.latest is None
    sizes = [upwards.at(limit).size for limit in range(1, 15)]
    assert sizes == [downwards.at(limit).size for limit in range(14, 0, -1)][::-1]
    assert sizes == [upwards.size(limit) for limit in range(1, 15)]
    for limit in range(1, 15):
        assert problem.least_remote(limit, upwards.covers[limit]) == 60 - sizes[limit - 1]
        assert problem.least_remote(limit, downwards.covers[limit]) == 60 - sizes[limit - 1]
    assert upwards.latest == (14, upwards.at(14))


def test_bug_matchings_could_not_be_sent() -> None:
    """Tests that matchings go to another process with their problem, and grow on there."""
    posed = Latency(generate("latency", nodes=6, tasks=15, seed=1))
    grown = GrowingMatchings(posed)
    size = grown.size(3)
    there, matchings = unpack(pack((posed, grown)))
    assert matchings.problem is there
    assert matchings.sizes == {3: size}
    assert matchings.size(4) == grown.size(4)
