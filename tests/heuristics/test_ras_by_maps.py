"""RAS and fair sharing with `phase=by-maps`: a map fits only where the reduces of its job, anywhere, may take more."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from ras_cases import utilities
from utility_instances import posed

from optsched.heuristics.fair_sharing import fair_sharing
from optsched.heuristics.ras import map_rounds, ras
from optsched.heuristics.ras_enforcement import enforce
from optsched.instance import MAP, REDUCE
from optsched.placement import NONE
from optsched.problems.utility import Utility, spread_reduces
from optsched.routes import solve

RNG = np.random.default_rng(0)  # neither scheduler draws anything

#: The reduce goes to the second tracker, and takes 2 of cpu more for each of the two maps.
ELSEWHERE = {"maps": 2, "reduces": 1, "map": {"cpu": 1}, "reduce": {"cpu": 4, "memory": 1}}


def test_a_map_waits_for_room_beside_a_reduce_elsewhere() -> None:
    """Tests by hand that one map is placed though two fit their tracker: the reduce on the other has room for one."""
    problem = posed({"cpu": [9, 3], "memory": [0, 1]}, [ELSEWHERE], phase="by-maps")
    assert spread_reduces(problem).tolist() == [[0, 1]]
    placement = ras(problem, RNG)
    assert [part.tolist() for part in problem.allocated(placement)] == [[[1, 0]], [[0, 1]]]
    best = solve(problem, route="brute-force").objective
    assert best is not None
    assert problem.evaluate(placement)[0] == best[0]
    # Fair sharing offers the map slots of all trackers first: two maps run by then, and no room is left for a reduce.
    shared = fair_sharing(problem, RNG, slots=1, reduce_slots=1)
    assert [part.tolist() for part in problem.allocated(shared)] == [[[1, 1]], [[0, 0]]]


@given(utilities(phase="by-maps"), st.sampled_from(["strict", "literal"]), st.integers(1, 2))
@settings(max_examples=40)
def test_placements_are_feasible_and_work_conserving(problem: Utility, improvement: str, slots: int) -> None:
    """Tests that no tracker is overloaded, RAS leaves no map waiting that could run, and is no better than can be."""
    shared = fair_sharing(problem, RNG, slots=slots, reduce_slots=slots)
    assert not problem.violations(shared)
    placement = ras(problem, RNG, improvement=improvement)
    assert not problem.violations(placement)
    nodes = problem.nodes_of(placement)
    for tasks in problem.map_positions:
        for task in tasks[nodes[tasks] == NONE][:1]:
            for node in range(len(problem.free)):
                more = nodes.copy()
                more[task] = node
                assert problem.violations(problem.placement(more))
    assert map_rounds(problem, spread_reduces(problem), rounds=1000).ended == "settled"


@given(utilities(most=3, phase="by-maps", reduces="free"), st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=18))
@settings(max_examples=40)
def test_no_move_overloads_a_tracker(problem: Utility, lasts: list[float]) -> None:
    """Tests that the way from one placement to another keeps all capacities, and ends where it should."""
    current, target = fair_sharing(problem, RNG, slots=2, reduce_slots=1), ras(problem, RNG)
    seconds = np.resize(lasts, len(problem.tasks))
    move = enforce(problem, current, target, seconds)
    position_of = {task: position for position, task in enumerate(problem.tasks.tolist())}
    node = problem.nodes_of(current).copy()
    for step in move.steps:
        node[position_of[step.task]] = step.node if step.what == "started" else NONE
        assert not problem.violations(problem.placement(node))
    runs, wanted = problem.allocated(move.runs), problem.allocated(target)
    seen = {step.task for step in move.steps} | set(problem.tasks[problem.nodes_of(current) != NONE].tolist())
    kinds = ((MAP, problem.map_positions), (REDUCE, problem.reduce_positions))
    for kind, positions in kinds:
        for job, tasks in enumerate(positions):
            assert (runs[kind][job] <= wanted[kind][job]).all()
            if not set(problem.tasks[tasks].tolist()) <= seen:
                assert np.array_equal(runs[kind][job], wanted[kind][job])
