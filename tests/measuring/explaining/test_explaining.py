"""`optsched.explain`: what it takes, what it refuses and how, and that it works for every problem that places tasks."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from small_problems import SWAPPED, small, wrong_way

import optsched
from optsched import Placement, explain, generate, solve
from optsched.core.errors import HeuristicFailed, UsageError
from optsched.core.registry import Record, records
from optsched.core.results import Limit, Termination, Value
from optsched.heuristics import applicable
from optsched.measuring.explaining.chains import better_by, total_gain
from optsched.measuring.gaps import Reference
from optsched.problems import Lsap, Problem, problem

pytestmark = pytest.mark.filterwarnings("ignore::optsched.problems.fair_lsap.RationRuleWarning")

PLACING = [entry for entry in records().values() if entry.problem_class.decided is Placement]


def crowd(problem: Problem, rng: np.random.Generator) -> list[str]:
    """Both on one slot."""
    return ["a", "a"]


@pytest.mark.parametrize("record", PLACING, ids=lambda record: record.name)
def test_every_problem_is_explained(record: Record) -> None:
    """Tests that each heuristic of each problem of the registry is explained, up to the gap itself, or has no gap."""
    posed = record.problem_class(generate(str(record.family), 2, **record.sizes))
    reference = Reference(posed)
    for entry in applicable(posed):
        if entry.name == "observed":
            continue
        try:
            found = explain(posed, entry, 1, reference)
        except HeuristicFailed as error:
            assert "infeasible" in str(error)  # noqa: PT017 (which is about the message of one of several)
            continue
        assert found.gap == better_by(posed, found.report.objective, reference.solution.objective)
        assert total_gain(posed, found.chains) == found.gap
        assert str(found).splitlines()
        assert found.to_dict()["moved"] == found.moved == sum(len(found.moves(chain)) for chain in found.chains)


@pytest.mark.parametrize("given", ["list", "indices", "array", "placement", "solution", "callable"])
def test_a_placement_in_any_form(given: str) -> None:
    """Tests that a heuristic, a placement, ids, indices and a solution that place alike are explained alike."""
    placed = SWAPPED.placement([0, 1])
    forms: dict[str, Any] = {
        "list": ["a", "b"],
        "indices": (0, 1),
        "array": np.array([0, 1]),
        "placement": placed,
        "solution": optsched.solve(SWAPPED, start=placed),
        "callable": wrong_way,
    }
    found = explain(SWAPPED, forms[given])
    if given == "solution":
        assert (found.gap, found.chains) == ((0,), ())
        assert str(found).endswith("There is no gap: the placement is as good as the optimum.")
        return
    assert [(chain.positions, chain.gain, chain.kind) for chain in found.chains] == [((1, 0), (1,), "cycle")]
    assert found.moves(found.chains[0])[0].data_there == "node"


LATENCY = solve(problem("latency", SWAPPED.instance))
FLOW = problem("min-cost-flow", generate("min-cost-flow", 1))
EMPTY = replace(solve(SWAPPED), decision=None, objective=None)
ALONE = solve(Lsap(small([[]])))


@pytest.mark.parametrize(
    ("posed", "given", "more", "error", "message"),
    [
        (FLOW, "dl", {}, UsageError, "explain takes a problem that places tasks, not min-cost-flow"),
        ("papers/guo-fig2", "dl", {}, UsageError, "explain takes a problem, not the text"),
        (SWAPPED, "dll", {}, UsageError, 'there is no heuristic "dll"; did you mean "dl"'),
        (SWAPPED, "labl", {}, UsageError, "labl does not serve lsap"),
        (SWAPPED, ["a", "a"], {}, UsageError, r"two: lsap: the placement is infeasible, .* explain: slots\(a\) by 1"),
        (SWAPPED, crowd, {}, HeuristicFailed, r"the placement of .*crowd is infeasible, .*: slots\(a\) by 1"),
        (SWAPPED, lambda *_: 1 / 0, {}, HeuristicFailed, "raised ZeroDivisionError"),
        (SWAPPED, ["a", "c"], {}, UsageError, 'placement has node "c" for task "t2": the instance has no such node'),
        (SWAPPED, ["a", "b"], {"window": 3}, UsageError, "a placement takes no parameters: leave window out"),
        (SWAPPED, "dl", {"reference": 3}, UsageError, "explain takes a reference or a solution"),
        (SWAPPED, ["a", "b"], {"reference": LATENCY}, UsageError, "of another problem or instance: latency"),
        (SWAPPED, ALONE, {}, UsageError, "the solution is of another instance than two"),
        (SWAPPED, EMPTY, {}, UsageError, "the solution holds no placement"),
    ],
)
def test_what_is_refused(posed: Any, given: Any, more: dict[str, Any], error: type[Exception], message: str) -> None:
    """Tests the messages for what cannot be explained: each says what is wrong."""
    with pytest.raises(error, match=message):
        explain(posed, given, **more)


def test_without_a_proved_optimum_the_best_known_is_taken() -> None:
    """Tests that an incumbent stands for the optimum, and is told to be no more than the best known."""
    best = solve(SWAPPED)
    held = replace(best, termination=Termination.FEASIBLE, limit=Limit.TIME, bound=(None,), certificates=())
    found = explain(SWAPPED, wrong_way, reference=held)
    assert (found.optimal, found.gap, found.to_dict()["reference_kind"]) == (False, (1,), "best-known")
    assert "the best placement known (not proved optimal): 0" in str(found)
    found = explain(SWAPPED, ["b", "a"], reference=held)
    assert (found.gap, found.chains) == (None, ())
    assert str(found).endswith("No better placement is known to compare it with.")
    assert "no better placement known" in repr(found)
    found = explain(SWAPPED, ["b", "a"], reference=replace(held, decision=None, objective=None))
    assert (found.gap, found.to_dict()["reference"]) == (None, None)


class Squared(Lsap):
    """An objective of a package outside that no record names: the square of the locality cost."""

    name = "squared"

    def objective(self, placement: Placement, /) -> Value:
        return (super().objective(placement)[0] ** 2,)


def test_a_problem_that_nobody_knows() -> None:
    """Tests that the optimum by enumeration, gains by the objective and worth serve a class without a record."""
    posed = Squared(small([[0], [1], [0]]))
    found = explain(posed, [1, 0, 2], worth=2)
    assert (found.gap, found.optimal) == ((8,), True)
    assert total_gain(posed, found.chains) == (8,)
    assert {(worth.change, worth.node, worth.gain) for worth in found.worths} >= {("slot", "n0", (1,))}
