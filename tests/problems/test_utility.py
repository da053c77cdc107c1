"""`utility` where reduces are fixed: room, violations and optima."""

from fractions import Fraction

from small_problems import utility as posed

from optsched.core.results import Violation
from optsched.routes import solve
from optsched.routes.utility import ROUTES


def test_fixed_reduces() -> None:
    """Tests that fixed reduces take their room first, that any of a job do, and that another place is a violation."""
    problem = posed(
        {"memory": [2, 1]}, [{"maps": 2, "reduces": 2, "map": {"memory": 1}, "reduce": {"memory": 1}}], reduces="fixed"
    )
    assert problem.fixed.tolist() == [[1, 1]]
    assert problem.room.tolist() == [[1], [0]]
    assert problem.violations(problem.placement([0, -1, 1, 0])) == []
    assert problem.violations(problem.placement([-1, -1, 0, 0])) == [
        Violation("reduces-fixed", ("j0", "n0"), 1),
        Violation("reduces-fixed", ("j0", "n1"), 1),
    ]
    assert solve(problem).objective == (Fraction(1, 2), Fraction(2))
    starved = posed(
        {"memory": [0]},
        [{"maps": 1, "reduces": 1, "map": {}, "reduce": {"memory": 1}, "shuffle": {}} | {"map": {"memory": 0}}],
        reduces="fixed",
    )
    for route in ROUTES:
        assert solve(starved, route=route).objective == (-1000, 0), route
