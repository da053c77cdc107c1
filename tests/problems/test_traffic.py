"""`traffic`: what is refused, and its bounds."""

from dataclasses import replace

from hypothesis import given
from small_problems import pareto_front
from small_problems import traffic as posed
from strategies import problems

from optsched.certificates import certify
from optsched.core.results import Termination
from optsched.problems import Traffic
from optsched.routes import frontier, solve
from optsched.routes.traffic import ROUTES


def test_plainly_infeasible() -> None:
    """Tests what counting alone rules out: too few slots of either kind, none for all reduces of a job, no node."""
    parted = posed([[0]], reduces=2, reduce_slots=[1, 1], capacity="slots")
    for problem, reason in (
        (posed([[0]] * 3, slots=[1, 1], capacity="slots"), "3 maps are pending, and only 2 map slots are idle"),
        (
            posed([[0]], reduces=2, reduce_slots=[0, 1], capacity="slots"),
            "2 reduces are pending, and only 1 reduce slots are idle",
        ),
        (parted, "no datacenter has 2 idle reduce slots, which job j0 needs in one"),
        (posed([[]], nodes=[]), "there is no node"),
    ):
        assert problem.plainly_infeasible == reason
        for route in ROUTES:
            solution = solve(problem, route=route)
            assert solution.termination is Termination.INFEASIBLE
            assert certify(problem, solution).proved
        assert len(frontier(problem)) == 0
    assert posed([[]], nodes=[]).cheap_bounds()[0].value == 0
    assert solve(Traffic(parted.instance, capacity="slots", reduces="free")).optimal


@given(problems("traffic", capacity="none"))
def test_together_is_no_restriction_without_capacities(problem: Traffic) -> None:
    """Tests Sharmilarani et al., note 9: without capacities, and with equal shares, reduces of a job stay together."""
    workload = replace(problem.instance.workload, shuffle=None)
    instance = replace(problem.instance, workload=workload)
    together, free = (Traffic(instance, capacity="none", reduces=reduces) for reduces in ("together", "free"))
    best = solve(together).objective
    assert pareto_front(free)[0][0] == best[0] == together.cheap_bounds()[0].value == free.cheap_bounds()[0].value
