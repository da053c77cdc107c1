"""The loops of `flow_based`, as they are, in small steps and compiled, against the algorithm done plainly."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest

from optsched.heuristics import flow_based as module
from optsched.heuristics.flow_based import flow_based
from optsched.instances.generate import generate
from optsched.problems.latency import Latency
from optsched.solvers.compiled import compiles


def drawn(seed: int) -> Latency:
    """A random problem of up to 9 servers and 40 tasks, some without a block anywhere."""
    rng = np.random.default_rng(seed)
    nodes, tasks = int(rng.integers(1, 10)), int(rng.integers(0, 41))
    sizes = {"nodes": nodes, "tasks": tasks, "replicas": min(nodes, 3), "max_load": int(rng.integers(0, 6))}
    return Latency(generate("latency", seed=seed, lost=0.1, **sizes), w_loc=int(rng.integers(1, 3)))


def plain(problem: Latency, covers: str) -> list[int]:
    """Fischer et al. 2010, Algorithm 2: a breadth-first search for each task, then all servers compared.

    A threshold is left out if its cover is no larger than the one before.
    """
    rows = [row.tolist() for row in problem.replicas]
    loads = problem.initial_load.tolist()
    server: dict[int, int] = {}
    covered: list[list[int]] = [[] for _ in loads]
    best: tuple[int, list[int]] | None = None
    size = former = 0
    highest = max(loads, default=0) + problem.w_loc * len(rows)
    for threshold in range(1, highest + 1):
        if covers == "fresh":
            server, covered = {}, [[] for _ in loads]
        room = [max(0, (threshold - load) // problem.w_loc) for load in loads]
        for task in [task for task in range(len(rows)) if task not in server]:
            reached: dict[int, int] = {}
            queue, end = deque([task]), None
            while queue and end is None:
                moving = queue.popleft()
                for one in rows[moving]:
                    if one not in reached:
                        reached[one] = moving
                        queue.extend(covered[one])
                        if len(covered[one]) < room[one]:
                            end = one
                            break
            while end is not None:
                moving, left = reached[end], server.get(reached[end])
                covered[end].append(moving)
                server[moving] = end
                if left is not None:
                    covered[left].remove(moving)
                end = left if moving != task else None
        size, former = len(server), size
        if best is not None and size == former:
            continue
        virtual = [load + problem.w_loc * len(held) for load, held in zip(loads, covered, strict=True)]
        nodes = [server.get(task, -1) for task in range(len(rows))]
        for task in range(len(rows)):
            if nodes[task] < 0:
                nodes[task] = virtual.index(min(virtual))
                virtual[nodes[task]] += problem.w_loc if nodes[task] in rows[task] else problem.w_rem
        makespan = int(problem.objective(problem.placement(nodes))[0])
        if best is None or makespan < best[0]:
            best = makespan, nodes
    return best[1] if best else []


@pytest.mark.parametrize("covers", ["grown", "fresh"])
def test_as_the_algorithm_reads(covers: str) -> None:
    """Tests that the placement is that of every threshold, each with its largest cover found from scratch."""
    for seed in range(40):
        problem = drawn(seed)
        found = flow_based(problem, np.random.default_rng(), covers=covers)
        assert found.nodes.tolist() == plain(problem, covers), seed


def test_small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a loop that stops after each task goes on where it stopped."""
    expected = [flow_based(drawn(seed), np.random.default_rng()).nodes.tolist() for seed in range(20)]
    monkeypatch.setattr(module, "_STEPS", 1)
    assert [flow_based(drawn(seed), np.random.default_rng()).nodes.tolist() for seed in range(20)] == expected


@pytest.mark.thorough
@pytest.mark.skipif(not compiles(), reason="numba is not installed")
def test_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the compiled loops place as those that are not."""
    problems = [drawn(seed) for seed in range(60)] + [Latency(generate("latency", nodes=500, tasks=3000))]
    expected = [flow_based(problem, np.random.default_rng()).nodes.tolist() for problem in problems]
    monkeypatch.setattr(module, "_MANY", 0)
    assert [flow_based(problem, np.random.default_rng()).nodes.tolist() for problem in problems] == expected
