"""Claims that nothing proves: over every problem, what is tampered with is contradicted or reported as a mere claim."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from small_problems import NAMES, small_problem

from optsched import FlowNetwork, Schedule, generate, solve
from optsched.certificates import Enumerated, certify
from optsched.core.instance import Cluster, Instance, Workload
from optsched.core.results import Certificate, Proof, Sense, Solution, Termination, Value
from optsched.problems import AnyProblem, Lsap, MinCostFlow, Problem, problem
from optsched.routes.doubts import enumerated, examine, quick_decisions

WORDS = (Proof.SOLVER, Proof.ENUMERATION)


def worst(posed: AnyProblem, best: Value) -> Solution | None:
    """A solution that claims the worst of 300 drawn decisions to be the best; None where none is worse."""
    rng = np.random.default_rng(0)
    if not isinstance(posed, Problem):
        return None
    drawn = (posed.placement(rng.integers(-1, len(posed.instance.cluster), len(posed.tasks))) for _ in range(300))
    feasible = [held for held in drawn if not posed.violations(held)]
    held = max(feasible, key=lambda held: posed.minimised(posed.evaluate(held)), default=None)
    if held is None or posed.evaluate(held) == best:
        return None
    value = posed.evaluate(held)
    return replace(solve(posed), decision=held, objective=value, bound=value, certificates=claimed(posed, value))


def claimed(posed: AnyProblem, value: Value, kind: Proof = Proof.SOLVER) -> tuple[Certificate, ...]:
    """Certificates that hold nothing but a word for each component of a value."""
    return tuple(Certificate(part.name, kind, entry) for part, entry in zip(posed.components, value, strict=True))


def tampered(posed: AnyProblem, solution: Solution) -> Iterator[tuple[str, Solution]]:
    """A true solution, changed so that something in it is false."""
    step = [1000 if part.sense is Sense.MIN else -1000 for part in posed.components]
    far = tuple(entry + more for entry, more in zip(solution.objective, step, strict=True))
    nothing = {"decision": None, "objective": None, "termination": Termination.NO_SOLUTION}
    for kind in WORDS:
        yield f"bound past the optimum, {kind}", replace(solution, bound=far, certificates=claimed(posed, far, kind))
        held = replace(solution, bound=far, certificates=claimed(posed, far, kind), **nothing)
        yield f"bound past the optimum without a decision, {kind}", held
    empty: dict[str, object] = {"bound": (None,) * len(far), "certificates": ()}
    yield "infeasible", replace(solution, **{**nothing, **empty, "termination": Termination.INFEASIBLE})
    yield "infeasible with a decision", replace(solution, **empty, termination=Termination.INFEASIBLE)
    yield "no solution with a decision", replace(solution, **empty, termination=Termination.NO_SOLUTION)
    yield "feasible without a decision", replace(solution, **{**nothing, **empty, "termination": Termination.FEASIBLE})
    yield "optimal and open", replace(solution, **empty)
    yield "objective", replace(solution, objective=far)
    yield "parameters", replace(solution, parameters={**solution.parameters, "strange": 1})
    worse = worst(posed, solution.objective)
    if worse is not None:
        for kind in WORDS:
            yield f"worse, {kind}", replace(worse, certificates=claimed(posed, worse.objective, kind))


@pytest.mark.parametrize("name", NAMES)
def test_bug_tampered_solutions_that_certify_passed(name: str) -> None:
    """Tests that no tampered solution of any problem is accepted, whatever words are allowed."""
    posed = small_problem(name, 1)
    solution = solve(posed)
    assert examine(posed, solution).valid
    for what, changed in tampered(posed, solution):
        verdict = examine(posed, changed, most=2000)
        assert not verdict.valid, (what, str(verdict))
        assert verdict.contradicted
        assert not verdict.accepted([*WORDS, "nothing"])


@pytest.mark.parametrize("name", NAMES)
def test_mere_words_are_reported(name: str) -> None:
    """Tests that an optimum whose proofs are words, or which has no bound, is proved anew or reported as a claim."""
    posed = small_problem(name, 1)
    solution = solve(posed)
    for kind in WORDS:
        verdict = certify(posed, replace(solution, certificates=claimed(posed, solution.objective, kind)))
        assert verdict.valid
        assert len(verdict.claims) + len(verdict.proofs) == len(posed.components)
        assert {claim.kind for claim in verdict.claims} <= {str(kind)}
        assert verdict.accepted() == verdict.proved == (not verdict.claims)
        assert verdict.accepted([kind])
    open_ = replace(solution, termination=Termination.FEASIBLE, bound=(None,) * len(solution.bound), certificates=())
    verdict = examine(posed, open_)
    assert (verdict.valid, verdict.proved, verdict.accepted()) == (True, False, False)
    assert verdict.accepted(["nothing"])


def test_what_is_said_where_nothing_is_claimed() -> None:
    """Tests that a false bound is not called none, and that nothing is said of a placement that there is not."""
    posed = small_problem("lsap", 1)
    solution = solve(posed)
    bad = replace(solution.certificates[0], data={"task_price": None})
    false = examine(posed, replace(solution, certificates=(bad,)))
    assert (false.valid, false.unproved) == (False, ())
    nothing = {"decision": None, "objective": None, "bound": (None,), "certificates": ()}
    silent = replace(solution, termination=Termination.NO_SOLUTION, **nothing)
    assert examine(posed, silent).unproved == ("no bound is claimed",)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "min-cost-flow"])
def test_quick_decisions(name: str) -> None:
    """Tests that what is found quickly is feasible, the same again, never better than the optimum, and as good here."""
    posed = small_problem(name, 5)
    best = solve(posed).objective
    found, again = quick_decisions(posed), quick_decisions(posed)
    assert list(found) == list(again)
    assert found == again
    values = [posed.minimised(posed.evaluate(held)) for held in found.values()]
    if posed.decided is Schedule:  # policies wait for heartbeats
        assert min(values) >= posed.minimised(best)
        assert enumerated(posed, 10**5) == Enumerated(best)
        return
    assert min(values) == posed.minimised(best)
    start = quick_decisions(posed, solve(posed).decision)["local search"]
    assert posed.evaluate(start) == best
    all_tried = enumerated(posed, 10**5)
    assert all_tried is None or all_tried.value == best


def test_networks() -> None:
    """Tests that any flow contradicts INFEASIBLE, and that none is looked for where there is none, or too many arcs."""
    posed = small_problem("min-cost-flow", 0)
    flow, walked = quick_decisions(posed).values()
    assert not posed.violations(flow)
    assert posed.evaluate(walked) <= posed.evaluate(flow)
    assert quick_decisions(MinCostFlow(FlowNetwork(["a", "b"], [0], [1], None, [1], None, [2, -2]))) == {}
    assert quick_decisions(MinCostFlow(FlowNetwork(["a", "b"], [], [], None, [], None, [2, -2]))) == {}
    large = MinCostFlow(FlowNetwork(["a", "b"], [0] * 2001, [1] * 2001, None, None, None, [2, -2]))
    assert quick_decisions(large) == {}
    assert enumerated(posed) is None


def test_what_is_too_large_or_lacks_fields() -> None:
    """Tests that nothing is looked for where there are more than a thousand tasks, or no task, or no packing."""
    many = Lsap(Instance(Cluster(["a"]), Workload([f"t{task}" for task in range(1001)])))
    assert quick_decisions(many) == {}
    assert enumerated(many) is None
    none = Lsap(Instance(Cluster(["a"]), Workload([])))
    assert "local search" not in quick_decisions(none)
    full = problem("generalized-assignment", generate("generalized-assignment", nodes=3, tasks=5, seed=0))
    assert quick_decisions(full) == {}
    assert enumerated(full) == Enumerated(None)


def test_infeasible_is_proved_by_trying_all() -> None:
    """Tests that INFEASIBLE on a solver's word is proved where all placements were tried, and contradicted by one."""
    full = problem("generalized-assignment", generate("generalized-assignment", nodes=3, tasks=5, seed=0))
    solution = replace(solve(full), termination=Termination.INFEASIBLE, certificates=())
    verdict = certify(full, solution)
    assert [claim.kind for claim in verdict.claims] == ["solver"]
    assert examine(full, solution).proved
    assert certify(full, solution, enumerated=Enumerated((3,))).contradicted == (
        "termination: INFEASIBLE: every placement was tried: one is feasible",
    )


def test_rivals_that_say_nothing() -> None:
    """Tests that an infeasible rival contradicts nothing, nor one against a bound of the wrong length."""
    posed = small_problem("lsap", 1)
    solution = solve(posed)
    nowhere = {"nobody": posed.placement([-1] * len(posed.tasks))}
    assert certify(posed, solution, nowhere).proved
    own = {"somebody": solution.decision}
    verdict = certify(posed, replace(solution, bound=(1, 2)), {"somebody": solution.decision})
    assert [check.what for check in verdict.checks if not check.holds] == ["bound"]
    assert certify(posed, solution, own).checks[-1].found == "somebody found nothing better than the bound"


def test_unbounded_where_every_cycle_has_a_limit() -> None:
    """Tests that a claimed unbounded network is contradicted where no cycle shows it, and other errors are claims."""
    posed = small_problem("min-cost-flow", 0)
    solution = replace(solve(posed), termination=Termination.ERROR, bound=(None,), certificates=())
    verdict = certify(posed, replace(solution, raw_status="unbounded: a cycle"))
    assert verdict.contradicted == ("termination: ERROR, unbounded: but every cycle of negative cost has a limit",)
    verdict = certify(posed, replace(solution, raw_status="gave up"))
    assert (verdict.valid, [claim.kind for claim in verdict.claims]) == (True, ["solver"])
