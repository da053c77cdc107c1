"""Routes: every one against enumeration, where a search may begin, what is refused, and processes of their own."""

import os
import time
from collections.abc import Callable
from typing import Any

import pytest
import strategies
import transmission_instances
from hypothesis import given, settings
from hypothesis import strategies as st
from small_problems import FIGURE_2, NAMES, small_problem
from solutions import check_routes

import optsched
from optsched import Limit, Placement, Proof, Termination, UsageError, generate
from optsched.certificates import Enumerated, certify
from optsched.core.errors import OutOfTime
from optsched.core.processes import Limits, contained, containing
from optsched.core.processes.containing import RunFailed
from optsched.core.registry import records
from optsched.core.results import Sense
from optsched.measuring.gaps import Reference, frontier_gap_fields
from optsched.problems import AnyProblem, Lsap
from optsched.routes import end_reason, frontier, routes_of, solve
from optsched.routes.call import Incumbent, quick_answer
from optsched.solvers.profiles import Profile
from optsched.solvers.searches.generalized_assignment import greedy_packing
from optsched.testing.neighbours import emptied


@pytest.mark.parametrize("name", NAMES)
def test_start_is_never_made_worse(name: str) -> None:
    """Tests that each route answers with the start or something better where it may do nothing."""
    posed = small_problem(name, 3)
    best = solve(posed)
    for route in routes_of(posed):
        for profile in (Profile("none", node_limit=0), Profile("none", time_limit=0)):
            held = solve(posed, profile, start=best.decision, route=route)
            assert held.objective == best.objective
            assert certify(posed, held).valid


@pytest.mark.parametrize("name", NAMES)
def test_limit_of_nodes_leaves_what_is_true(name: str) -> None:
    """Tests that each route cut short holds no bound beyond the optimum, and calls optimal only what is proved."""
    posed = small_problem(name, 4)
    best = solve(posed).objective
    for route in routes_of(posed):
        held = solve(posed, Profile("none", node_limit=0), route=route)
        assert certify(posed, held, enumerated=Enumerated(best)).valid, route
        assert held.optimal == (held.objective == held.bound), route
        assert held.optimal or held.limit in (Limit.NODES, Limit.GAP), route


def test_start_may_name_nodes() -> None:
    """Tests that a start is also taken as node ids."""
    assert solve(Lsap(FIGURE_2), start=["n2", "n1", "n0"]).objective == (0,)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (lambda: solve(Lsap(FIGURE_2), route="netwrok"), 'did you mean "network"'),
        (lambda: solve(Lsap(FIGURE_2), start=Placement.of([0, 0, 1])), r"the start is infeasible: slots\(n0\) by 1"),
        (lambda: solve(Lsap(FIGURE_2), start=["n9", "n1", "n0"]), r'the start answered node "n9"'),
        (lambda: frontier(Lsap(FIGURE_2)), "one component; .* with a frontier: lsap-fairness, latency, traffic$"),
        (lambda: frontier(small_problem("utility", 0)), "utility has no frontier: no route finds it; problems with"),
    ],
)
def test_what_is_refused(asked: Callable[[], object], message: str) -> None:
    """Tests the messages of unknown routes, starts that are none, and frontiers of problems that have none."""
    with pytest.raises(UsageError, match=message):
        asked()


#: Routes whose answers prices prove.
PRICED = ("network", "arrays", "network-simplex", "dense", "pyomo", "pulp")

#: Drawn problems, how many of them, and which routes must prove their first component how.
DRAWN: dict[str, tuple[st.SearchStrategy[Any], int, dict[str, Proof]]] = {
    "transmission-maps": (transmission_instances.problems("transmission-maps"), 40, dict.fromkeys(PRICED, Proof.DUAL)),
    "transmission-reduces": (
        transmission_instances.problems("transmission-reduces"),
        40,
        dict.fromkeys(PRICED, Proof.DUAL),
    ),
    "transmission": (transmission_instances.problems("transmission"), 40, {"search": Proof.COMBINATORIAL}),
    "flow-congestion": (strategies.problems("flow-congestion"), 60, {}),
    "generalized-assignment": (strategies.problems("generalized-assignment"), 120, {}),
    "utility": (strategies.problems("utility"), 40, {}),
    "traffic": (strategies.problems("traffic"), 40, {}),
}


@pytest.mark.parametrize("name", DRAWN)
def test_routes_agree(name: str) -> None:
    """Tests every route against enumeration on drawn instances with running tasks, fractions and all parameters."""
    problems, number, kinds = DRAWN[name]
    settings(max_examples=number // 5)(given(problems, st.just(kinds))(check_routes))()


# In a process of its own -----------------------------------------------------------------------------------


#: Guo et al. 2012, Figure 2.
FIGURE: Any = optsched.problem("lsap", "papers/guo-fig2")


def slowly(*_given: Any) -> Any:
    """Does not answer in time."""
    time.sleep(60)


def crash(*_given: Any) -> Any:
    """Ends its process."""
    os._exit(5)


def fail(*_given: Any) -> Any:
    """Raises what a solver should not."""
    raise LookupError("a bug")


def run_out(*_given: Any) -> Any:
    """Takes what is not there."""
    raise MemoryError


def drawn(name: str, seed: int = 0, **sizes: int) -> AnyProblem:
    """A problem on an instance of its family."""
    return optsched.problem(name, generate(records()[name].family, seed=seed, **sizes))


@pytest.fixture
def doing(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Lets the process that solves do something else; it is sent with the job."""

    def put(function: Any) -> None:
        monkeypatch.setattr("optsched.routes._solve", function)
        monkeypatch.setattr("optsched.routes._frontier", function)

    return put


@pytest.mark.parametrize(
    "name", ["latency", *(pytest.param(name, marks=pytest.mark.thorough) for name in ("lsap", "lsap-fairness"))]
)
def test_same_as_without(name: str) -> None:
    """Tests that a solution, a frontier and what stands beside gaps are the same from another process."""
    problem: Any = optsched.problem(name, optsched.generate("lsap-fairness", nodes=4, tasks=6, seed=1))
    here = optsched.solve(problem)
    value = (9, 99)[: len(problem.components)]
    beside = Reference(problem).frontier_gaps(value)
    with contained(Limits(60)):
        there = optsched.solve(problem)
        reference = Reference(problem)
        assert reference.solution.objective == here.objective
        if beside:
            assert optsched.frontier(problem).values == optsched.frontier(problem).values
    assert (there.objective, there.bound, there.certificate) == (here.objective, here.bound, here.certificate)
    assert reference.frontier_gaps(value) == beside, "its limits hold on, once they are not in force any more"
    assert end_reason(there) is None


#: What is said of `crash`.
CRASHED = "crashed: ended with exit code 5 before it answered"


@pytest.mark.parametrize(
    ("function", "termination", "limit", "told"),
    [
        (run_out, Termination.NO_SOLUTION, Limit.MEMORY, "out-of-memory: memory was refused: MemoryError"),
        pytest.param(crash, Termination.ERROR, None, CRASHED, marks=pytest.mark.thorough),
    ],
)
def test_process_that_ended(doing: Any, function: Any, termination: Any, limit: Limit | None, told: str) -> None:
    """Tests that a solver without memory or that crashed is a solution without a value that says so, beside too."""
    doing(function)
    with contained(Limits(60)):
        problem: Any = optsched.problem("latency", "papers/guo-fig2")
        for solution in (optsched.solve(problem), Reference(problem).solution):
            assert (solution.termination, solution.limit, solution.objective) == (termination, limit, None)
            assert solution.raw_status.startswith(told)
            assert end_reason(solution) == solution.raw_status
        assert Reference(problem).frontier_gaps((9, 99)) == dict.fromkeys(frontier_gap_fields(problem))
        if limit is None:
            with pytest.raises(RunFailed, match=r"guo-fig2.*finding the frontier crashed: ended with exit code 5"):
                optsched.frontier(problem)
        else:
            frontier = optsched.frontier(problem)
            assert (frontier.points, frontier.complete, frontier.limit) == ((), False, limit)


@pytest.mark.thorough
def test_process_that_was_killed_at_a_limit_on_runs(doing: Any) -> None:
    """Tests that a run that is killed says so, and has what needs no search, beside and as a frontier too."""
    doing(slowly)
    with contained(Limits(0.2)):
        problem: Any = optsched.problem("latency", "papers/guo-fig2")
        for solution in (optsched.solve(problem), Reference(problem).solution):
            assert (solution.limit, solution.bound[0]) == (Limit.TIME, problem.counting_bound())
            assert solution.objective is not None
            assert end_reason(solution) == "timed-out: killed after 0.2 s"
        assert Reference(problem).frontier_gaps((9, 99)) == dict.fromkeys(frontier_gap_fields(problem))
        frontier = optsched.frontier(problem)
        assert (frontier.points, frontier.complete, frontier.limit) == ((), False, Limit.TIME)


#: Problems of which no feasible placement or flow is had without a search.
NO_PLACEMENT = ("min-cost-flow",)


def never_answers(*_given: Any) -> Any:
    """Stands for a process that is killed at the deadline, and has told nothing."""
    raise OutOfTime("out of time")


@pytest.mark.parametrize("name", NAMES)
def test_process_that_never_answers_leaves_what_needs_no_search(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that such a solve ends with the cheap bounds, and with a placement where one is quickly had."""
    problem = small_problem(name, 0)
    monkeypatch.setattr("optsched.routes.in_process", never_answers)
    monkeypatch.setattr("optsched.routes.may_overrun", lambda *given: True)
    for route in routes_of(problem):
        solution = optsched.solve(problem, route=route, time_limit=0.01)
        first = problem.components[0]
        cheap = [bound.value for bound in problem.cheap_bounds() if bound.component == first.name]
        best = max(cheap) if first.sense is Sense.MIN else min(cheap)
        bound = solution.bound[0]
        assert bound >= best if first.sense is Sense.MIN else bound <= best
        assert (solution.objective is None) == (name in NO_PLACEMENT)
        assert solution.limit in (None, Limit.TIME)
        assert certify(problem, solution).valid


@pytest.mark.parametrize("name", NAMES)
def test_what_needs_no_search_is_had_of_nothing(name: str) -> None:
    """Tests that it is made of an instance without tasks or arcs as well, and is proved."""
    for problem in emptied(small_problem(name, 0)):
        held, proofs = quick_answer(problem)
        assert held is None or not list(problem.violations(held))
        assert proofs
        assert not any(proof.claim for proof in proofs if proof.component == problem.components[0].name)


def test_start_is_held(doing: Any) -> None:
    """Tests that a start is not lost where the solver was killed, and is checked before."""
    start = optsched.solve(FIGURE).decision
    doing(slowly)
    with contained(Limits(0.2)):
        solution = optsched.solve(FIGURE, start=start)
        assert solution.objective == FIGURE.evaluate(start)
        assert end_reason(solution) is not None
        with pytest.raises(UsageError, match="start"):
            optsched.solve(FIGURE, start=[None] * len(FIGURE.tasks))


def hold_and_run_out(job: Any) -> Any:
    """Hands over an optimum with its proof, and takes what is not there."""
    problem, *_ = job
    whole = optsched.solve(problem)
    Incumbent(problem).hold(lambda: (whole.decision, whole.certificates))
    raise MemoryError


def hold_and_sleep(job: Any) -> Any:
    """Hands over a placement without a proof, and does not answer."""
    problem, *_ = job
    held = Incumbent(problem)
    held.hold_quick_answer()
    held.hold(lambda: (optsched.solve(problem).decision, ()))
    time.sleep(60)


def hold_less_and_run_out(job: Any) -> Any:
    """Hands over what needs no search, then less, and takes what is not there."""
    problem, *_ = job
    held = Incumbent(problem)
    held.hold_quick_answer()
    held.hold(lambda: (None, ()))
    raise MemoryError


def test_bug_less_was_held_than_needs_no_search(doing: Any) -> None:
    """Tests that a search which holds nothing yet does not take the place of what needs none."""
    problem: Any = optsched.problem("worst-group", optsched.generate("worst-group", nodes=6, tasks=8, seed=1))
    placement, proofs = quick_answer(problem)
    doing(hold_less_and_run_out)
    with contained(Limits(60)):
        solution = optsched.solve(problem)
    assert (solution.objective, solution.bound[0]) == (problem.evaluate(placement), proofs[0].claim)


def test_what_was_handed_over_is_held(doing: Any) -> None:
    """Tests that what a process handed over before it ended is the solution, and its proof a proof."""
    doing(hold_and_run_out)
    with contained(Limits(60)):
        solution = optsched.solve(FIGURE)
    assert (solution.termination, solution.limit) == (Termination.OPTIMAL, None), "its proof closes it"
    assert str(end_reason(solution)).startswith("out-of-memory: ")


@pytest.mark.thorough
def test_time_limit_leaves_what_was_held(doing: Any) -> None:
    """Tests that a process that does not see its time limit is killed, and leaves a result like any other's."""
    doing(hold_and_sleep)
    with contained(Limits(60)):
        solution = optsched.solve(FIGURE, time_limit=6)
    assert solution.objective == optsched.solve(FIGURE).objective
    assert solution.bound == tuple(bound.value for bound in FIGURE.cheap_bounds()), "no proof was handed over"
    assert end_reason(solution) is None


def find_better_and_crash(job: Any) -> Any:
    """Solves, and ends its process as soon as a placement that was found on the way is held."""
    problem, profile, start, route = job
    improve = Incumbent.improve

    def improve_and_crash(held: Incumbent, decision: Any) -> None:
        before = held._handed
        improve(held, decision)
        if held._handed is not before:
            os._exit(5)

    Incumbent.improve = improve_and_crash  # of this process, which ends by it
    return optsched.solve(problem, profile, start, route)


@pytest.mark.parametrize(
    "route", ["arrays", *(pytest.param(route, marks=pytest.mark.thorough) for route in ("pyomo", "pulp"))]
)
def test_bug_incumbent_of_a_program_was_lost(route: str, doing: Any) -> None:
    """Tests that a placement which HiGHS had found when its process was killed is held, with the bounds by then."""
    problem: Any = drawn("generalized-assignment", 2, nodes=4, tasks=20)
    doing(find_better_and_crash)
    with contained(Limits(600)):
        cut = optsched.solve(problem, route=route)
    assert (cut.termination, cut.raw_status) == (Termination.ERROR, CRASHED)
    assert greedy_packing(problem) is None, "what needs no search has no placement"
    assert cut.objective is not None
    assert cut.bound[0] is not None
    assert certify(problem, cut).valid


def find_and_sleep(job: Any) -> Any:
    """Finds the frontier, and does not answer."""
    problem, profile, route = job
    optsched.frontier(problem, profile, route=route)
    time.sleep(60)


@pytest.mark.thorough
def test_points_that_were_handed_over_are_held(doing: Any) -> None:
    """Tests that the points which a killed process had found are the frontier, which is not complete."""
    doing(find_and_sleep)
    for name in ("latency", "lsap-fairness", "traffic"):
        sizes = {"jobs": 2, "datacenters": 3} if name == "traffic" else {}
        problem: Any = optsched.problem(name, optsched.generate(name, nodes=6, tasks=9, seed=2, **sizes))
        with contained(Limits(6)):
            cut = optsched.frontier(problem)
        assert (cut.complete, cut.limit) == (False, Limit.TIME)
        assert cut.values == optsched.frontier(problem).values != []


@pytest.mark.thorough
def test_bug_of_a_solver_is_raised(doing: Any) -> None:
    """Tests that what a solver raises by mistake is no result."""
    doing(fail)
    problem: Any = optsched.problem("latency", "papers/guo-fig2")
    with contained(Limits(60)):
        with pytest.raises(RunFailed, match="LookupError: a bug"):
            optsched.solve(problem)
        with pytest.raises(RunFailed, match="LookupError: a bug"):
            _ = Reference(problem).solution


def test_process_is_for_a_deadline_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a route that may overrun gets a process where there is a deadline, but not within one of its own."""
    asked: list[str] = []
    monkeypatch.setattr("optsched.routes._contained", lambda call, *given: asked.append(call.route))
    monkeypatch.setattr("optsched.routes.may_overrun", lambda *given: True)
    assert solve(FIGURE).optimal
    assert not asked
    solve(FIGURE, time_limit=60)
    with optsched.core.deadline.deadline(60):
        solve(FIGURE)
    assert asked == ["network", "network"]
    token = containing._called.set(True)
    assert solve(FIGURE, time_limit=60).optimal
    containing._called.reset(token)
    assert len(asked) == 2
