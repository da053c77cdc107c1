"""Every problem against an oracle that is written from the papers and shares no code with the package.

Value against value, feasibility against feasibility, and each claimed optimum against the best of all decisions, in
fractions, without a tolerance. `oracles` has the oracles and the instances.
"""

import random
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from oracles import ORACLES, Oracle
from oracles.common import GRID
from oracles.documents import FAMILIES, Posed, drawn
from oracles.flow import FlowCongestion
from oracles.latency import Latency
from oracles.min_cost_flow import MinCostFlow
from oracles.schedules import Makespan
from small_problems import undominated

from optsched.core.decimals import decimal
from optsched.core.errors import MissingField
from optsched.core.placement import NetworkFlow, Schedule
from optsched.core.results import Solution, Termination
from optsched.instances.files import parse
from optsched.problems import PROBLEMS
from optsched.problems.base import AnyProblem
from optsched.routes import frontier, has_frontier, routes_of, solve

pytestmark = pytest.mark.filterwarnings("ignore::optsched.problems.fair_lsap.RationRuleWarning")

#: Decisions of each instance that are evaluated on both sides, of those that are feasible and of all that are drawn.
SAMPLES = 4

#: Of so many instances one is solved by another route too, each in turn.
OTHERS = 8

#: Of some problems, instances that are the first to see a wrong line: of what runs, of a direction, of no job, or of a
#: parameter's value that the first six do not have.
MORE = {
    "fair-lsap": (9,),
    "flow": (6, 10, 18, 23),
    "flow-congestion": (10, 11, 19),
    "lsap-fairness": (7, 14),
    "makespan": (10, 16),
    "traffic": (32, 53),
    "transmission": (30, 36),
    "transmission-reduces": (8, 44, 47),
    "utility": (35, 57),
    "worst-group": (16,),
}

#: The frontier is asked of every so many instances of the problems that have one: it takes many times an optimum.
FRONTS = 3


def decided(problem: AnyProblem, decision: tuple[Any, ...]) -> Any:
    """An oracle's decision as the package's noun."""
    if problem.decided is NetworkFlow:
        return NetworkFlow(list(decision))
    if problem.decided is Schedule:
        nodes, starts = decision[: len(decision) // 2], decision[len(decision) // 2 :]
        return problem.schedule([-1 if node is None else node for node in nodes], starts)
    return problem.placement([-1 if node is None else node for node in decision])


def anything(oracle: Oracle, chance: random.Random) -> tuple[Any, ...]:
    """A decision that is mostly not feasible: tasks on any node, or on none."""
    if hasattr(oracle, "ends"):
        return tuple(chance.randint(0, 4) for _ in oracle.ends)
    nodes = [*range(len(oracle.nodes)), *range(len(oracle.nodes)), None]
    placed = tuple(chance.choice(nodes) for _ in oracle.pending)
    if isinstance(oracle, Makespan):
        return (*placed, *(chance.choice(oracle.instants()) for _ in oracle.pending))
    return placed


def pose(posed: Posed) -> tuple[AnyProblem, Oracle, int]:
    """The package's problem, the oracle, and what values of the one are more than the other's.

    `latency` wants whole loads, and says how to get them. Whether a problem that is exact where it can be rounds its
    costs is its own to say by its `grid`, but it may not where there is no need.
    """
    name, given = posed.name, ORACLES[posed.name]
    if name == "latency":
        oracle = Latency(posed.text, posed.parameters)
        if oracle.factor > 1:
            scaled = f"multiply loads, w_loc and w_rem by {oracle.factor}"
            with pytest.raises(MissingField, match=f"{scaled if oracle.factor <= 10**6 else 'round the loads'}$"):
                PROBLEMS[name](parse(posed.text), **posed.call)
            text, parameters = oracle.scaled()
            return PROBLEMS[name](parse(text), **parameters), oracle, oracle.factor
    problem = PROBLEMS[name](parse(posed.text), **posed.call)
    rounded = getattr(problem, "grid", 1) == GRID
    oracle = given(posed.text, posed.parameters, rounded)
    assert not rounded or oracle.finest >= GRID, "rounded, though costs have a common denominator"
    return problem, oracle, 1


def others(problem: AnyProblem) -> list[str]:
    """The routes that are not the default; `dense` refuses pools whose tasks do not all cost the same."""
    tiered = any(len(pool.tiers) > 1 for pool in getattr(problem, "pools", ()))
    return [route for route in routes_of(problem)[1:] if route != "dense" or not tiered]


def check_answer(solution: Solution, oracle: Oracle, best: tuple[Any, ...] | None) -> None:
    """A solution claims what the oracle found: the optimum, that there is none, or that it has no limit."""
    if best is None:
        assert solution.termination is Termination.INFEASIBLE, solution.route
    elif isinstance(oracle, MinCostFlow) and oracle.unbounded():
        assert solution.termination is Termination.ERROR, solution.route
        assert "unbounded" in solution.raw_status, solution.route
    else:
        assert solution.optimal, solution.route
        assert solution.objective == best == solution.bound, solution.route


def compare(name: str, number: int) -> None:
    """The package and the oracle say the same of one instance."""
    posed = drawn(name, number)
    problem, oracle, factor = pose(posed)
    chance, kept, best, values = random.Random(number), [], None, set()
    for seen, decision in enumerate(oracle.decisions()):
        value = tuple(part * factor for part in oracle.value(decision))
        values.add(value)
        if best is None or oracle.key(value) < oracle.key(best):
            best = value
        position = seen if seen < SAMPLES else chance.randint(0, seen)
        if position < SAMPLES:
            kept[position : position + 1] = [(decision, value)]
    for decision, value in kept:
        assert not problem.violations(decided(problem, decision)), decision
        assert problem.evaluate(decided(problem, decision)) == value, decision
    for _ in range(SAMPLES):
        decision = anything(oracle, chance)
        assert bool(problem.violations(decided(problem, decision))) != oracle.feasible(decision), decision

    check_answer(solve(problem), oracle, best)
    if number % OTHERS == 0 and factor <= 10**4:  # beyond that a MIP stops a tolerance of HiGHS away, and says so
        route = others(problem)[number // OTHERS % len(others(problem))]
        check_answer(solve(problem, route=route), oracle, best)
    if has_frontier(problem) and number % FRONTS == 0:
        found = frontier(problem)
        assert found.complete
        assert found.values == undominated(values)


def compare_all(name: str, numbers: Sequence[int]) -> None:
    """Every instance is compared; what differs is reported together."""
    wrong = {}
    for number in numbers:
        try:
            compare(name, number)
        except Exception as error:
            wrong[number] = f"{type(error).__name__}: {error}"
    message = "".join(f"\n{number}: {text[:600]}" for number, text in list(wrong.items())[:5])
    assert not wrong, f"{name}: {len(wrong)} of {len(numbers)} instances differ{message}"


def test_oracles_know_every_parameter() -> None:
    """Tests that each problem has an oracle and instances, which know each parameter with its default."""
    assert set(ORACLES) >= set(PROBLEMS) <= set(FAMILIES), "problems without an oracle in tests/oracles"
    for name, problem in PROBLEMS.items():
        ours = {parameter.name: parameter.default for parameter in problem.parameter_table}
        theirs = ORACLES[name].defaults
        assert set(ours) == set(theirs), f"{name}: parameters that only the problem or only the oracle has"
        for parameter, value in ours.items():
            given = list(map(decimal, value)) if isinstance(value, tuple) else value
            assert given == theirs[parameter], f"{name}: default of {parameter}"


def test_oracles_share_nothing() -> None:
    """Tests that the oracles import the standard library and each other, and nothing else."""
    files = sorted((Path(__file__).parent / "oracles").glob("*.py"))
    assert len(files) > 10
    for file in files:
        for imported in re.findall(r"^\s*(?:import|from) (\w+)", file.read_text(), re.MULTILINE):
            assert imported in sys.stdlib_module_names, f"{file.name} imports {imported}"


def test_readers_of_frozen_storage_cost_no_less() -> None:
    """Tests that the optimum of flow-congestion bounds Hsu and Freeh's penalty with the round's readers in r_out."""
    dearer = 0
    for number in range(60):
        posed = drawn("flow-congestion", number)
        oracle = FlowCongestion(posed.text, posed.parameters)
        if any(task.get("kind") == "reduce" or not task["replicas"] for task in oracle.pending):
            continue
        problem = PROBLEMS["flow-congestion"](parse(posed.text), **posed.call)
        (bound,) = solve(problem).bound
        counted = min(oracle.with_readers(decision) for decision in oracle.decisions())
        assert bound <= counted
        dearer += bound < counted
    assert dearer >= 5


@pytest.mark.parametrize("name", PROBLEMS)
def test_few_against_the_oracle(name: str) -> None:
    """Tests that value, feasibility, optimum and frontier are the oracle's, on few instances with decimal numbers."""
    compare_all(name, [*range(6), *MORE.get(name, [])])


@pytest.mark.thorough
@pytest.mark.parametrize("block", range(10))
@pytest.mark.parametrize("name", PROBLEMS)
def test_against_the_oracle(name: str, block: int) -> None:
    """Tests that value, feasibility, optimum and frontier are the oracle's, on 1,000 instances with decimal numbers."""
    compare_all(name, range(100 * block, 100 * (block + 1)))
