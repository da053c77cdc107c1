"""A decision as a start for a model: values of the variables that it decides, which HiGHS completes.

Modules of models share `starter`, which makes their `start_values`, and the translation of a placement into binaries
and counts of classes. That a start is taken and completed is for `optsched.solvers.algebraic`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import pulp
import pyomo.environ as pyo

from optsched.core.errors import UsageError, described, expect
from optsched.core.placement import NONE, Placement
from optsched.problems.base import AnyProblem, Problem, expect_problem

__all__ = ["Entries", "binaries", "counted", "host_of", "started_binaries", "started_counts", "starter"]

#: Variables of a model with the values that a decision gives them.
Entries = Iterable[tuple[Any, float]]

Posed = TypeVar("Posed", bound=AnyProblem)


def starter(
    kind: type[Posed], compact: Callable[[Any, Posed, Any], Entries], literal: Callable[[Any, Posed, Any], Entries]
) -> Callable[[Any, Posed, Any], Mapping[Any, float]]:
    """Make the `start_values` of a module from two functions that say a decision in its Pyomo and its PuLP model."""

    def start_values(model: Any, problem: Posed, decision: Any) -> Mapping[Any, float]:
        """A decision as a start for `solve_pyomo` or `solve_pulp`; see `ModelModule.start_values`."""
        expect_problem(problem, "start_values", kind)
        noun = problem.decided.noun
        expect(decision, problem.decided, f"start_values takes a {noun} of {kind.name}", "solve or run a heuristic")
        wrong = problem.violations(decision)
        strange = next((entry for entry in wrong if entry.constraint in ("length", "known-node")), None)
        if strange is not None:
            raise UsageError(f"start_values: the {noun} is of another instance than the problem ({strange})")
        due = f"start_values takes a model of {kind.name}, as build_pyomo or build_pulp made it"
        if not isinstance(model, pulp.LpProblem | pyo.ConcreteModel):
            raise UsageError(f"{due}, not {described(model)}")
        named = isinstance(model, pulp.LpProblem)
        try:
            entries = list((literal if named else compact)(model, problem, decision))
        except (AttributeError, KeyError) as error:  # what it looks for is not in the model
            raise UsageError(f"{due}; this one lacks {error}") from error
        if wrong:
            entries = [(variable, value) for variable, value in entries if value]
        if named:
            return {variable.name: float(value) for variable, value in entries}
        start: Mapping[Any, float] = pyo.ComponentMap(
            (variable, float(value)) for variable, value in entries if not variable.fixed
        )
        return start

    return start_values


def host_of(problem: Problem, placement: Placement) -> dict[str, str]:
    """The node of each task to place that has one, by their ids."""
    names = problem.instance.cluster.node_ids.tolist()
    tasks = problem.instance.workload.task_ids[problem.tasks].tolist()
    nodes = problem.nodes_of(placement).tolist()
    return {task: names[node] for task, node in zip(tasks, nodes, strict=True) if node != NONE}


def binaries(variables: Mapping[tuple[str, str], Any], host: Mapping[str, str]) -> Iterator[tuple[Any, float]]:
    """Binaries by (task, place): 1 where the task is.

    >>> list(binaries({("t", "a"): "x", ("t", "b"): "y"}, {"t": "b"}))
    [('x', 0), ('y', 1)]
    """
    return ((variable, int(host.get(task) == place)) for (task, place), variable in variables.items())


def counted(members: Mapping[str, Iterable[str]], host: Mapping[str, str]) -> Counter[tuple[str, str]]:
    """How many members of each class are at each place.

    >>> counted({"t": ["t", "u", "v"]}, {"t": "a", "u": "a", "w": "b"})
    Counter({('t', 'a'): 2})
    """
    return Counter((name, host[member]) for name, held in members.items() for member in held if member in host)


def started_counts(model: Any, problem: Problem, placement: Placement) -> Entries:
    """A placement in a Pyomo model whose `place[c, n]` counts the tasks of a class on a node."""
    counts = counted(model.members, host_of(problem, placement))
    return ((variable, counts[pair]) for pair, variable in model.place.items())


def started_binaries(model: Any, problem: Problem, placement: Placement) -> Entries:
    """A placement in a PuLP model whose attribute `place` has a variable for each (task id, node id)."""
    return binaries(model.place, host_of(problem, placement))
