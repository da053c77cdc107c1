"""Why nothing is feasible: conflicts are infeasible, and none of their tasks can be left out, by trying everything."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from generalized_assignment_instances import posed

from optsched.core.errors import UsageError
from optsched.core.instance import MAP, REDUCE, Cluster, Instance, Workload
from optsched.core.results import Violation
from optsched.measuring.explaining import Conflict, conflict, explain
from optsched.measuring.explaining.conflict import conflict_of, only_with
from optsched.problems import GeneralizedAssignment, Problem, Traffic
from optsched.routes import solve
from optsched.solvers.profiles import load_profile
from optsched.testing.explanations import _conflicting

EXACT = load_profile("exact")


def check(problem: Problem) -> Conflict:
    """Hold the conflict of an infeasible problem against trying everything; gives it back."""
    _conflicting(problem, "here", counted=False)
    found = explain(problem)
    assert found.conflict is not None
    assert str(found).splitlines()[1]
    return found.conflict


def traffic(by_job: list[int], reduce_slots: list[int], maps: int = 1, slots: int = 1, **parameters: Any) -> Traffic:
    """Jobs with so many reduces each, on nodes with so many slots, each a datacenter."""
    kind = [MAP] * maps + [REDUCE] * sum(by_job)
    job = [0] * maps + [job for job, number in enumerate(by_job) for _ in range(number)]
    nodes = len(reduce_slots)
    cluster = Cluster(
        [f"n{node}" for node in range(nodes)],
        datacenter=list(range(nodes)),
        datacenter_ids=[f"d{node}" for node in range(nodes)],
        slots=[slots] * nodes,
        reduce_slots=reduce_slots,
    )
    workload = Workload(
        [f"t{task}" for task in range(len(kind))],
        kind=kind,
        job=job,
        job_ids=[f"j{job}" for job in range(len(by_job))],
        size=[1.0 if which == MAP else 0.0 for which in kind],
        filter_ratio=[1.0] * len(by_job),
    )
    return Traffic(Instance(cluster, workload), capacity="slots", **parameters)


def test_too_many_reduces_for_their_slots() -> None:
    """Tests that of more reduces than slots one more than the slots is the conflict."""
    found = check(traffic([3, 2], [2, 1], reduces="free"))
    assert (len(found.tasks), found.slots, found.nodes) == (4, 3, ("n0", "n1"))


def test_reduces_that_must_be_together() -> None:
    """Tests that a job whose reduces fit no datacenter together is a conflict of as many reduces as do not fit."""
    found = check(traffic([1, 3], [2, 2]))
    assert found.tasks == ("t2", "t3", "t4")
    assert (found.slots, found.nodes) == (None, ("n0", "n1"))


def test_reduces_of_several_jobs() -> None:
    """Tests that three jobs of two reduces each, in two datacenters with three slots each, are in conflict."""
    assert len(check(traffic([2, 2, 2], [3, 3])).tasks) == 6


def test_too_many_maps() -> None:
    """Tests that maps and reduces are counted apart."""
    found = check(traffic([1], [1, 1], maps=3))
    assert (found.tasks, found.slots) == (("t0", "t1", "t2"), 2)


def test_a_task_alone() -> None:
    """Tests the words for a task that fits nowhere, by counting and by its demand."""
    nowhere = posed([[1, 1]], {"w": [[1, 1]]}, {"w": [0, 0]})
    assert str(explain(nowhere)).endswith("There is no room for t0 on any node.")
    too_large = posed([[1, 1]] * 3, {"w": [[1, 2], [9, 8], [2, 2]]}, {"w": [3, 3]})
    assert check(too_large).tasks == ("t1",)
    assert "One task cannot be placed: t1." in str(explain(too_large))


class Never(GeneralizedAssignment):
    """A problem that nothing satisfies, not even no task at all. No record names it."""

    name = "never"

    def violations(self, placement: Any, /) -> list[Violation]:
        return [*super().violations(placement), Violation("never", (), 1)]


def test_what_no_tasks_explain() -> None:
    """Tests that a constraint that is not about tasks gives the tasks without which nobody asks, and that words fit."""
    problem = posed([[1, 1]] * 2, {"w": [[1, 2], [2, 1]]}, {"w": [9, 9]})
    found = explain(Never(problem.instance))
    assert found.infeasible
    assert found.conflict is not None
    assert len(found.conflict.tasks) == 1
    assert found.conflict.nodes == ()


def test_questions_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that with too few questions the conflict still is one, and is said to be perhaps not the smallest."""
    monkeypatch.setattr(conflict, "MOST_SOLVES", 2)
    problem = posed([[1, 1]] * 5, {"w": [[3, 3], [2, 2], [2, 2], [1, 1], [1, 1]]}, {"w": [3, 3]})
    found = conflict_of(problem, EXACT)
    assert found is not None
    assert not found.irreducible
    assert "A smaller set may suffice" in str(explain(problem))
    monkeypatch.setattr(conflict, "MOST_SOLVES", 0)
    assert conflict_of(problem, EXACT) is None
    assert str(explain(problem)).endswith("No set of tasks was found that explains it.")


def test_feasible_problems_have_no_conflict() -> None:
    """Tests that a feasible problem asks for a heuristic, and that a conflict is not looked for."""
    problem = posed([[1, 1]] * 2, {"w": [[1, 1]] * 2}, {"w": [1, 1]})
    with pytest.raises(UsageError, match="give a heuristic or a placement: there are feasible ones"):
        explain(problem)
    assert conflict_of(problem, EXACT) is None


def test_a_part_of_the_tasks() -> None:
    """Tests that the problem of some tasks has these alone, and no limits on the nodes named."""
    problem = posed([[1, 1]] * 3, {"w": [[1, 2], [2, 2], [2, 2]]}, {"w": [2, 2]})
    assert isinstance(only_with(problem, [0, 2]), GeneralizedAssignment)
    assert only_with(problem, [0, 2]).tasks.tolist() == [0, 2]
    assert solve(only_with(problem, [0, 1, 2])).decision is None
    assert solve(only_with(problem, [0, 1, 2], [0])).decision is not None


def test_a_conflict_needs_no_heuristic_to_run() -> None:
    """Tests that where nothing is feasible the heuristic is not asked, and the dictionary has the conflict."""
    problem = posed([[1]] * 2, {"w": [[1]] * 2}, {"w": [1]})

    def asked(problem: Problem, rng: np.random.Generator) -> list[int]:
        raise AssertionError("it was asked")

    found = explain(problem, asked)
    assert found.to_dict()["conflict"] == {"tasks": ("t0", "t1"), "nodes": ("n0",), "slots": 1, "irreducible": True}
    assert found.to_dict()["reference_kind"] == "infeasible"
    assert "infeasible" in repr(found)
