"""Assignment problems: the compact network, its flows and prices; and the nearest optimum, against every placement."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_problems import FIGURE_2
from strategies import problems

import optsched
from optsched import Limit, Proof, Termination, generate, solve
from optsched.core.errors import OptschedError, TooLarge
from optsched.core.instance import Cluster, Instance, Ragged, Topology, Workload
from optsched.core.placement import NONE
from optsched.core.processes import limits
from optsched.problems import PROBLEMS, Lsap, problem
from optsched.problems.assignment import AssignmentProblem
from optsched.solvers.answers import LinearProgram
from optsched.solvers.highs import ArraySolution, solve_arrays
from optsched.solvers.profiles import Profile
from optsched.solvers.searches import assignment as transport
from optsched.solvers.searches.assignment import (
    fill_idle_slots,
    near_data,
    nearest_optimum,
    optimal_placement,
    prices_of,
    solve_assignment,
)
from optsched.solvers.searches.tabled_assignment import is_tabled
from optsched.testing.contract import every_decision

ENGINES = ("network", "arrays", "network-simplex", "dense")


@pytest.mark.filterwarnings("ignore::optsched.problems.fair_lsap.RationRuleWarning")
@given(posed=st.one_of(problems("lsap"), problems("fair-lsap"), problems("flow")))
@settings(max_examples=100)
def test_engines_agree_and_their_prices_close(posed: AssignmentProblem) -> None:
    """Tests that every engine finds the same value, that its own prices prove it, and so do those of its placement."""
    values = set()
    for engine in ENGINES:
        if engine == "dense" and posed.parameters.get("selection") == "free":
            continue
        solution = solve_assignment(posed, engine=engine)
        placement = posed.placement(solution.nodes)
        assert not posed.violations(placement)
        values.add(posed.units(placement))
        own, found = (
            None if prices is None else posed.price_bound(*prices)
            for prices in (solution.prices, prices_of(posed, placement))
        )
        assert found == posed.units(placement)
        assert own in (None, found) or (own < found and posed.name == "fair-lsap")  # duals with tiers may prove less
        by_table = engine == "dense" or (engine == "network" and is_tabled(posed))
        assert (solution.prices is None) is (by_table and posed.count > 0)
    assert len(values) == 1


def test_bug_network_of_a_large_table_ran_out_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a network, a matrix or a table that would not fit is reported before it is built, by solve too."""
    posed = problem("flow", generate("flow", nodes=28, tasks=80))
    for name, size in {"_ALWAYS": 0, "available_mb": lambda: 0.1}.items():
        monkeypatch.setattr(limits, name, size)
    for route in ("arrays", "network-simplex"):
        with pytest.raises(TooLarge, match="a network of 51 kinds of tasks x 21 nodes would have 1,071 arcs, and"):
            solve(posed, route=route)
    assert solve(posed).optimal
    monkeypatch.setattr(limits, "available_mb", lambda: 0.01)
    with pytest.raises(TooLarge, match="80 tasks x 44 slots, and take about 0 MB where there are "):
        solve(posed, route="dense")
    with pytest.raises(TooLarge, match=r"flow: a network of .*; take fewer tasks or nodes$"):
        solve(posed)
    with pytest.raises(TooLarge, match="51 kinds of tasks on 21 nodes would have a table of 1,071 costs, and take"):
        problem("flow", generate("flow", nodes=28, tasks=80))


def test_bug_bad_alloc_was_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that memory that runs out in an engine all the same is a limit, with what is held until then."""

    def bad_alloc(*_: object) -> None:
        raise MemoryError("std::bad_alloc")

    posed = problem("transmission-maps", generate("transmission", seed=1))
    for engine in ("table_prices", "assign_table"):
        monkeypatch.setattr(transport, engine, bad_alloc)
        solution = solve(posed)
        assert (solution.limit, solution.raw_status) == (Limit.MEMORY, "out of memory")
        assert solution.decision is not None
        assert solution.bound[0] is not None


def test_optimal_placement_passes_interrupts_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that an interrupt during a scheduler's own solve is an interrupt, and giving up an error."""
    posed = Lsap(FIGURE_2)
    found = solve_assignment(posed)
    for limit, error in ((Limit.INTERRUPTED, KeyboardInterrupt), (Limit.MEMORY, OptschedError)):
        stopped = type(found)(None, "stopped", limit=limit)
        monkeypatch.setattr(transport, "solve_assignment", lambda problem, stopped=stopped: stopped)
        with pytest.raises(error):
            optimal_placement(posed)


def test_bug_large_costs_that_highs_gives_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that what HiGHS calls "Unknown" is solved with smaller costs, and proved by the true ones."""
    asked = []

    def gives_up(program: LinearProgram, profile: Profile) -> ArraySolution:
        asked.append(float(program.objective.max()))
        found = solve_arrays(program, profile)
        if asked[-1] <= 2**24:
            return found
        return replace(found, outcome=replace(found.outcome, status=Termination.ERROR, raw_status="Unknown"), x=None)

    monkeypatch.setattr("optsched.solvers.highs.solve_arrays", gives_up)
    rng = np.random.default_rng(0)
    distance = 1000 * rng.random((4, 4))
    np.fill_diagonal(distance, 0.0)
    cluster = Cluster([f"n{node}" for node in range(4)], slots=[1, 1, 2, 1], topology=Topology("distance", distance))
    replicas = Ragged.from_rows([[0], [0], [1], [0, 2], [3]])
    workload = Workload([f"t{task}" for task in range(5)], replicas=replicas, size=1e4 * rng.random(5))
    posed = problem("transmission-maps", Instance(cluster, workload))
    solution = solve(posed, route="arrays")
    assert asked[0] > 2**40
    assert len(asked) == 2
    assert solution.certificate is Proof.DUAL
    assert solution.objective == solve(posed, route="network-simplex").objective


@given(posed=problems("lsap"))
def test_what_is_placed_near_its_data(posed: Lsap) -> None:
    """Tests that tasks are on nodes with their data within the slots, and that no other one could join them."""
    nodes = near_data(posed)
    placed = np.flatnonzero(nodes >= 0)
    assert not posed.locality(placed, nodes[placed]).any()
    free = posed.capacity - np.bincount(nodes[placed], minlength=len(posed.capacity))
    assert free.min(initial=0) >= 0
    assert not any(free[posed.idle_replicas[task]].any() for task in np.flatnonzero(nodes < 0).tolist())
    fill_idle_slots(nodes, posed.capacity, posed.count)
    assert not posed.violations(posed.placement(nodes))


def test_bug_first_slots_were_held_at_a_limit() -> None:
    """Tests that what is held where nothing was solved is near the optimum. Before, the first tasks had the slots."""
    posed = Lsap(generate("lsap", seed=0, nodes=500, tasks=1000))
    held, best = (solve(posed, time_limit=limit).objective[0] for limit in (0, None))
    assert best <= held < best + 0.02 * len(posed.tasks)


CASES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("lsap", {"nodes": 3, "tasks": 5, "slots": 2, "replicas": 1, "racks": 2}, {"levels": (0, 1, 2)}),
    ("lsap", {"nodes": 4, "tasks": 4, "slots": 1, "idle_ratio": 1.0}, {}),
    ("fair-lsap", {"nodes": 3, "tasks": 4, "slots": 2}, {}),
    ("flow", {"nodes": 4, "tasks": 4, "slots": 2}, {}),
    ("lsap-fairness", {"nodes": 3, "tasks": 4, "slots": 2}, {}),
]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("name", "sizes", "parameters"), CASES)
def test_fewest_moves(name: str, sizes: dict[str, Any], parameters: dict[str, Any], seed: int) -> None:
    """Tests that it is an optimum, and that none moves fewer tasks."""
    problem = PROBLEMS[name](generate(name, seed, **sizes), **parameters)
    solution = solve(problem)
    there = problem.nodes_of(solution.decision)
    every = [problem.nodes_of(held) for held in every_decision(problem) if not problem.violations(held)]

    def placed(nodes: Any) -> Any:
        """The value, and what an optimum of several components keeps: how many tasks of each pool are placed."""
        pools = np.bincount(problem.pool[nodes != NONE], minlength=len(problem.pools)).tolist()
        return problem.evaluate(problem.placement(nodes)), pools if len(problem.components) > 1 else None

    optima = [nodes for nodes in every if placed(nodes) == placed(there)]
    here = every[np.random.default_rng(seed).integers(len(every))]
    found = nearest_optimum(problem, here, there)
    assert placed(found) == placed(there)
    classes = problem.classes().of_task

    def moved(nodes: Any) -> int:
        """How many tasks move, where those of a class may be swapped."""
        pairs = [list(zip(classes.tolist(), part.tolist(), strict=True)) for part in (here, nodes)]
        kept = sum(min(pairs[0].count(pair), pairs[1].count(pair)) for pair in set(pairs[0]) if pair[1] != NONE)
        return int((here != NONE).sum()) - kept

    assert moved(found) == min(map(moved, optima))


def test_no_optimum() -> None:
    """Tests that there is nothing nearest to be had from a placement that is not optimal."""
    problem = PROBLEMS["lsap"](optsched.load("papers/guo-fig2"))
    best = problem.nodes_of(solve(problem).decision)
    worst = np.roll(best, 1)
    assert problem.evaluate(problem.placement(worst)) != solve(problem).objective
    assert nearest_optimum(problem, best, worst) is None
