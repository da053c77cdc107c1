"""`utility` with `phase=by-maps`: what a reduce takes grows with its job's maps (Sharmilarani et al., III.J)."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from utility_instances import posed, problems

from optsched.certificates import certify
from optsched.instance import MAP, PENDING, REDUCE, RUNNING
from optsched.problems.utility import Utility
from optsched.results import Value
from optsched.routes import bounds, routes_of, solve

#: One tracker with 6 of cpu and 4 of memory; a reduce takes 1 of memory, and 4 of cpu once both maps are placed.
JOB = {"maps": 2, "reduces": 1, "map": {"cpu": 2}, "reduce": {"cpu": 4, "memory": 1}}
SMALL = posed({"cpu": [6], "memory": [4]}, [JOB], phase="by-maps")


def fits(problem: Utility, nodes: tuple[int, ...]) -> bool:
    """Whether a placement keeps all capacities, as the paper words it, in fractions, from the instance alone."""
    workload, cluster, state = problem.instance.workload, problem.instance.cluster, problem.instance.state
    names = {*workload.demand, *workload.demand_shuffle}

    def given_by(column: str, resource: str, task: int) -> Fraction | None:
        values = getattr(workload, column).get(resource)
        return None if values is None or np.isnan(values[task]) else Fraction(str(float(values[task])))

    where = dict(zip(problem.tasks.tolist(), nodes, strict=True))
    maps = [task for task in where if workload.kind[task] == MAP]
    pending, placed = (
        Counter(int(workload.job[task]) for task in maps),
        Counter(int(workload.job[task]) for task in maps if where[task] >= 0),
    )
    for node, resource in itertools.product(range(len(cluster)), names):
        taken, fresh = Fraction(0), Fraction(0)
        for task in range(len(workload)):
            whole = given_by("demand", resource, task) or Fraction(0)
            if state.status[task] == RUNNING and state.node[task] == node:
                taken += whole
            if state.status[task] == PENDING and where.get(task) == node:
                job = int(workload.job[task])
                if workload.kind[task] == MAP:
                    fresh += whole
                    continue
                shuffling = any(given_by("demand_shuffle", name, task) is not None for name in names)
                base = given_by("demand_shuffle", resource, task) if shuffling else None
                if not shuffling and resource == "memory":
                    base = whole
                least = base or Fraction(0)
                share = Fraction(placed[job], pending[job]) if pending[job] else Fraction(0)
                fresh += least + max(whole - least, Fraction(0)) * share
        if fresh and taken + fresh > Fraction(str(float(cluster.capacity[resource][node]))):
            return False
    return True


def test_room_depends_on_maps_elsewhere() -> None:
    """Tests by hand that a reduce takes its memory, and of its cpu the share of its job's maps that are placed."""
    assert SMALL.coupled
    assert SMALL.growth.tolist() == [[4, 0]]
    assert SMALL.violations(SMALL.placement([-1, -1, 0])) == []
    assert SMALL.violations(SMALL.placement([0, -1, 0])) == []  # 2 and half of 4
    assert [str(one) for one in SMALL.violations(SMALL.placement([0, 0, 0]))] == ["capacity(cpu, n0) by 2"]
    apart = posed({"cpu": [4, 3], "memory": [4, 4]}, [JOB], phase="by-maps")
    assert [str(one) for one in apart.violations(apart.placement([0, 0, 1]))] == ["capacity(cpu, n1) by 1"]
    thirds = posed({"cpu": [9], "memory": [0.5]}, [{**JOB, "maps": 3}], phase="by-maps")
    found = [str(one) for one in thirds.violations(thirds.placement([0, 0, -1, 0]))]
    assert found == ["capacity(memory, n0) by 1"]
    tight = posed({"cpu": [6.5], "memory": [9]}, [{**JOB, "maps": 3}], phase="by-maps")
    assert [str(one) for one in tight.violations(tight.placement([0, 0, -1, 0]))] == ["capacity(cpu, n0) by 1/3"]


def test_room_between_units_counts() -> None:
    """Tests that beside whole demands a third of a growth fits into 2 1/2 units: they were rounded down to 2."""
    problem = posed(
        {"cpu": [2.5]}, [{"maps": 3, "reduces": 1, "map": {"cpu": 2}, "reduce": {"cpu": 1}}], phase="by-maps"
    )
    assert problem.violations(problem.placement([0, -1, -1, 0])) == []
    assert solve(problem, route="brute-force").objective == problem.evaluate(problem.placement([0, -1, -1, 0]))


def test_shares_too_fine_for_a_unit_are_rounded_up() -> None:
    """Tests that where many numbers of maps have no common unit of 2^-20, reduces take no less than they do."""
    primes = [2, 3, 5, 7, 11, 13, 17, 19, 23]
    profile = {"reduces": 1, "map": {"cpu": 0}, "reduce": {"cpu": 1}}
    problem = posed({"cpu": [9]}, [{"maps": prime, **profile} for prime in primes], phase="by-maps")
    unit = int(problem.demand_grid[0])
    assert unit == 2**20
    for prime, table in zip(primes, problem.grown, strict=True):
        takes = [Fraction(int(amount), unit) for amount in table[:, 0]]
        assert takes[-1] == 1
        assert all(0 <= one - Fraction(maps, prime) < Fraction(1, unit) for maps, one in enumerate(takes))


def test_what_a_shuffle_takes_without_maps() -> None:
    """Tests that `demand_shuffle` is the start where it is given, and no job without pending maps grows."""
    shuffling = posed({"cpu": [9], "memory": [9]}, [{**JOB, "shuffle": {"cpu": 1}}], phase="by-maps")
    assert shuffling.demand_grid.tolist() == [2, 2]
    assert shuffling.demand_reduce.tolist() == [[2, 0]]
    assert shuffling.growth.tolist() == [[6, 2]]
    assert [table.tolist() for table in shuffling.grown] == [[[0, 0], [3, 1], [6, 2]]]
    alone = posed({"cpu": [9], "memory": [9]}, [{**JOB, "maps": 0}], phase="by-maps")
    assert not alone.coupled
    assert routes_of(alone)[0] == "thresholds"
    assert not posed({"cpu": [9], "memory": [9]}, [JOB]).coupled
    held = posed({"cpu": [9], "memory": [9]}, [JOB], running=[(0, REDUCE, 0)], phase="by-maps")
    assert held.free.tolist() == [[5, 8]]


def test_optimum_by_hand() -> None:
    """Tests that beside the reduce one map fits, not two; utilisation counts whole demands."""
    solution = solve(SMALL)
    assert solution.objective is not None
    assert solution.objective[0] == SMALL.evaluate(SMALL.placement([0, -1, 0]))[0]
    assert abs(solution.objective[1] - Fraction(6, 6) - Fraction(1, 4)) <= Fraction(2, 2**20)
    assert certify(SMALL, solution).valid


@settings(max_examples=10)
@given(problems(tasks=5, nodes=2, phase="by-maps"))
def test_every_route_against_the_words_of_001(problem: Utility) -> None:
    """Tests feasibility, each route's optimum and every bound against a plain reading of Sharmilarani et al."""
    nodes = range(-1, len(problem.instance.cluster))
    best: Value | None = None
    for chosen in itertools.product(nodes, repeat=len(problem.tasks)):
        placement = problem.placement(chosen)
        wrong = problem.violations(placement)
        assert any(one.constraint == "capacity" for one in wrong) == (not fits(problem, chosen))
        if not wrong:
            value = problem.objective(placement)
            best = value if best is None else max(best, value)
    for route in routes_of(problem):
        solution = solve(problem, route=route)
        assert (solution.objective, solution.optimal) == (best, True)
        assert certify(problem, solution).valid
    assert best is not None
    for bound in bounds(problem):
        position = [part.name for part in problem.components].index(str(bound.component))
        assert position or bound.value >= best[0]
        assert bound.value >= best[1] or not position
