"""Inputs that no scheduler would send, and claims that nobody should believe: each once gave a traceback or worse."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from optsched.certificates import certify
from optsched.errors import TooLarge, UsageError
from optsched.instance import Cluster, Instance, Ragged, Workload
from optsched.problems import Latency, Lsap, problem
from optsched.results import Certificate, Proof, Solution, Termination
from optsched.routes import solve


def _latency() -> tuple[Latency, Solution]:
    """Two tasks whose blocks are on the first of two servers, and the proved optimum (2, 2)."""
    posed = Latency(Instance(Cluster(["a", "b"]), Workload(["t", "u"], replicas=Ragged.from_rows([[0], [0]]))))
    return posed, solve(posed)


@pytest.mark.parametrize("objective", [(), (2,), (2, 2, 2)])
def test_an_objective_of_the_wrong_length_is_a_false_claim(objective: tuple[int, ...]) -> None:
    """Tests that certify says so instead of looking for entries that are not there."""
    posed, solution = _latency()
    verdict = certify(posed, replace(solution, objective=objective))
    assert "objective" in {check.what for check in verdict.checks if not check.holds}


FALSE = Certificate("work", Proof.COMBINATORIAL, 10**9, {"limit": 2, "cover": []})


@pytest.mark.parametrize(
    "claims",
    [
        {"bound": (2, None), "termination": Termination.FEASIBLE, "certificates": ("own", FALSE)},
        {"certificates": ("own", FALSE, "own")},
    ],
    ids=["certificate of no bound", "certificate twice"],
)
def test_no_claim_is_passed_over(claims: dict[str, Any]) -> None:
    """Tests that a false certificate does not hide behind a missing bound, nor behind a true one."""
    posed, solution = _latency()
    own = iter(solution.certificates)
    given = tuple(next(own) if entry == "own" else entry for entry in claims["certificates"])
    assert not certify(posed, replace(solution, **(claims | {"certificates": given}))).valid


@pytest.mark.parametrize("name", ["name", "instance", "self"])
def test_a_parameter_may_have_any_name_and_still_be_unknown(name: str) -> None:
    """Tests that a parameter called like an argument of the call, as a solution file may have one, is wrong usage."""
    posed, _ = _latency()
    with pytest.raises(UsageError, match=f'no parameter "{name}"'):
        problem("latency", posed.instance, **{name: 1})


@pytest.mark.parametrize(("kind", "nodes"), [(Lsap, 4), (Lsap, 0), (Latency, 1)])
def test_enumeration_of_many_tasks_is_refused(kind: type[Lsap] | type[Latency], nodes: int) -> None:
    """Tests that neither the number of ways (too long to print) nor the depth of the recursion ends in a traceback."""
    instance = Instance(Cluster([f"n{n}" for n in range(nodes)]), Workload([f"t{t}" for t in range(20_000)]))
    with pytest.raises(TooLarge, match="brute-force"):
        solve(kind(instance), route="brute-force")
