"""Leximin of `utility`: the ordered vector of utilities against enumeration."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from stopping import interrupted
from utility_instances import posed, problems

from optsched.certificates import certify
from optsched.errors import UsageError
from optsched.problems import Utility
from optsched.problems.base import GRID
from optsched.results import Limit, Proof, Termination
from optsched.searches import utility_leximin
from optsched.searches.utility_leximin import leximin
from optsched.solvers.outcome import SolverOutcome
from optsched.solvers.profiles import Profile


@given(problems(tasks=5))
@settings(max_examples=45)
def test_leximin(problem: Utility) -> None:
    """Tests the ordered vector of utilities against enumeration, and that its first entry is the lowest utility."""
    nodes = range(-1, len(problem.instance.cluster))
    best: list[int] = []
    for hosts in itertools.product(nodes, repeat=len(problem.tasks)):
        placement = problem.placement(list(hosts))
        if not problem.violations(placement):
            counts = problem.allocated(placement)
            units = problem.utility_units(*(part.sum(axis=1) for part in counts))
            best = max(best, sorted(units.tolist()))
    found = leximin(problem)
    assert [int(utility * GRID) for utility in found.utilities] == best
    assert not problem.violations(found.placement)
    assert len(found.proofs) == len(best)
    assert None not in found.proofs
    assert found.limit is None
    assert all(proof is Proof.COMBINATORIAL for proof in found.proofs[1:])
    assert certify(problem, found).proved


def test_no_job() -> None:
    """Tests that without jobs there is no utility, and nothing is left to prove."""
    found = leximin(posed({"cpu": [1]}, []))
    assert (found.utilities, found.proofs, found.limit) == ((), (), None)


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that what is not proved is None, one entry a job, and that what cut the search short is told."""
    job = {"maps": 5, "map": {"cpu": 2, "disk": 3}, "goal": 3, "time": 2}
    problem = posed({"cpu": [5, 7], "disk": [8, 7]}, [job, {**job, "map": {"cpu": 3, "disk": 2}}])
    whole = leximin(problem)
    assert (len(whole.utilities), whole.limit) == (2, None)
    found = leximin(problem, Profile("none", time_limit=0))
    assert (found.limit, len(found.utilities), found.proofs[1]) == (Limit.TIME, 2, None)
    stopped = SolverOutcome(Termination.NO_SOLUTION, Limit.NODES, None, None, "stopped", 0.0, 0)
    monkeypatch.setattr(utility_leximin, "solve_integer_program", lambda *_, **__: (stopped, None))
    found = leximin(problem)
    assert (found.limit, found.utilities[0], found.proofs) == (Limit.NODES, whole.utilities[0], (whole.proofs[0], None))
    assert not problem.violations(found.placement)


def test_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C at the proof of an entry keeps the entry, by the solver's word, and ends the search."""
    job = {"maps": 5, "map": {"cpu": 2, "disk": 3}, "goal": 3, "time": 2}
    problem = posed({"cpu": [5, 7], "disk": [8, 7]}, [job] * 3)
    whole = leximin(problem)
    monkeypatch.setattr(utility_leximin, "highest_entry", interrupted)
    found = leximin(problem)
    assert (found.limit, found.utilities[:2]) == (Limit.INTERRUPTED, whole.utilities[:2])
    assert found.proofs == (whole.proofs[0], Proof.SOLVER, None)


class Alike(Utility):
    """A class that no record names."""

    name = "alike"


def test_bug_leximin_answered_for_a_derived_class() -> None:
    """Tests that a class without a record has no leximin: the search knows neither its utilities nor its limits."""
    derived = Alike(posed({"cpu": [4.0]}, [{"maps": 1, "map": {"cpu": 1.0}, "goal": 1.0, "time": 1.0}]).instance)
    with pytest.raises(UsageError, match=r"^alike: no record names leximin of Alike, and leximin knows its base class"):
        leximin(derived)
