"""Faults of a class from outside whose program contradicts its definition: each is named, by the suite and by solve."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from programmed import Gathering, posed

from optsched.certificates import certify
from optsched.core.errors import ProblemFailed
from optsched.core.instance import Ints
from optsched.core.placement import Placement
from optsched.core.registry import Record
from optsched.core.results import Bound, Component, Number, Sense, Value
from optsched.problems.programs import Builder, Program
from optsched.routes import routes_of, solve
from optsched.testing import CHECKS, ContractBroken, forget


class Uplink(Gathering):
    """Every task on an idle slot: the fewest remote tasks on the node that gets most, then the most of them on n1."""

    name = "uplink"
    components = (Component("busiest", Sense.MIN, "tasks"), Component("first", Sense.MAX, "tasks"))

    def cheap_bounds(self) -> tuple[()]:
        return ()

    def objective(self, placement: Placement) -> Value:
        return int(self.into(placement).max(initial=0)), int((self.nodes_of(placement) == 0).sum())

    def into(self, placement: Placement) -> Ints:
        """The remote tasks on each node."""
        nodes = self.nodes_of(placement)
        return np.bincount(nodes, 1 - self.local[np.arange(len(nodes)), nodes], len(self.idle)).astype(np.int64)

    def program(self, before: tuple[Number, ...] = ()) -> Program:
        builder, first = Builder(), not before
        tasks, nodes = self.instance.workload.task_ids[self.tasks].tolist(), self.instance.cluster.node_ids.tolist()
        peak = builder.variables("peak", [()], upper=len(tasks), cost=int(first))
        cost = np.zeros_like(self.local)
        cost[:, 0] = 0 if first else -1
        labels = [(task, node) for task in tasks for node in nodes]
        place = builder.variables("place", labels, upper=1, cost=cost.ravel()).reshape(self.local.shape)
        builder.enter(builder.rows("once", [(task,) for task in tasks], lower=1, upper=1)[:, None], place)
        builder.enter(builder.rows("slots", [(node,) for node in nodes], upper=self.idle), place)
        into = builder.rows("into", [(node,) for node in nodes], upper=0, over="NODES")
        builder.enter(into, place, 1 - self.local)
        builder.enter(into, peak, -1)
        builder.enter(builder.rows("as_low", [()], upper=len(tasks) if first else before[0]), peak)
        return builder.program(component=len(before), unit=1 if first else -1)

    def values_of(self, decision: Placement, program: Program) -> Ints:
        values = np.zeros(len(program.names), dtype=np.int64)
        values[program.family("peak")] = self.into(decision).max(initial=0)
        nodes = self.nodes_of(decision)
        values[program.family("place")].reshape(self.local.shape)[np.arange(len(nodes)), nodes] = 1
        return values


Honest = Uplink
RECORD = Record(
    name="uplink",
    problem=f"{__name__}:Uplink",
    family="lsap",
    sizes={"nodes": 3, "tasks": 4, "slots": 2, "idle_ratio": 1},
)


def numbers(**changes: Callable[[Any], Any]) -> Callable[[Any, tuple[Number, ...]], Program]:
    """`program` with other numbers: of each name a function of the right program."""

    def program(self: Any, before: tuple[Number, ...] = ()) -> Program:
        right = Honest.program(self, before)
        return replace(right, numbers=replace(right.numbers, **{name: of(right) for name, of in changes.items()}))

    return program


def limit(family: str, value: int, name: str = "row_upper") -> Callable[[Any], Any]:
    """The limits of a program's rows where a family has another."""

    def of(program: Program) -> Ints:
        limits: Ints = getattr(program.numbers, name).copy()
        limits[program.rows_of(family)] = value
        return limits

    return of


def ended(**given: int) -> Callable[[Any, tuple[Number, ...]], Program]:
    """`program` that says another component or unit."""
    return lambda self, before=(): replace(Honest.program(self, before), **given)


def values(change: Callable[[Ints, Program], Any]) -> Callable[[Any, Any, Program], Any]:
    """`values_of` that changes the right values."""
    return lambda self, decision, program: change(Honest.values_of(self, decision, program), program)


def without_peak(held: Ints, program: Program) -> Ints:
    """Values whose auxiliary variable is forgotten."""
    held[program.family("peak")] = 0
    return held


BY_PROGRAM = r"costs \d+ by Uplink.objective \(busiest\), and \d+ by Uplink.program\(\) with Uplink"

#: Each fault: what a class defines in the place of what is right, and what is said of it.
FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "sum in place of maximum": (
        {"objective": lambda self, at: (int(self.into(at).sum()), Honest.objective(self, at)[1])},
        BY_PROGRAM,
    ),
    "least in place of most": (
        {"objective": lambda self, at: (int(self.into(at).min()), Honest.objective(self, at)[1])},
        BY_PROGRAM,
    ),
    "costs more": ({"program": numbers(objective=lambda program: 2 * program.numbers.objective)}, BY_PROGRAM),
    "costs nothing": ({"program": numbers(objective=lambda program: 0 * program.numbers.objective)}, BY_PROGRAM),
    "wrong unit": (
        {"program": lambda self, before=(): replace(Honest.program(self, before), unit=-2 if before else 2)},
        BY_PROGRAM,
    ),
    "wrong component": (
        {"program": ended(component=0)},
        r"its program is of the component 0; give builder.program\(component=1\)",
    ),
    "wrong sense": (
        {"program": ended(unit=1)},
        "its program has the unit 1; give one below 0, since first is maximised",
    ),
    "wrong sense of the definition": (
        {"components": (Component("busiest", Sense.MAX, "tasks"), Honest.components[1])},
        "its program has the unit 1; give one below 0, since busiest is maximised",
    ),
    "lacks a decision": (
        {"program": numbers(row_upper=limit("slots", 1))},
        r"the program does not have the feasible placement .* slots\[n\d\] is 2, and must be at most 1; mend Uplink",
    ),
    "admits an infeasible one": (
        {"program": numbers(row_upper=limit("slots", 9))},
        r"Uplink.program\(\) admits the placement .* which violates slots\(n\d\) by \d; mend the rows, or decision_of",
    ),
    "forgets the components before": (
        {"program": numbers(row_upper=limit("as_low", 9))},
        r"Uplink.program\(\(\d,\)\) admits the placement .*, whose busiest is \d; its rows must keep the components",
    ),
    "values without a maximum": (
        {"values_of": values(without_peak)},
        r"does not have the feasible placement .*: by Uplink.values_of, into\[n\d\] is \d, and must be at most 0; mend",
    ),
    "values too short": (
        {"values_of": values(lambda held, program: held[:-1])},
        "answered 12 values; the program has 13",
    ),
    "values as a list": (
        {"values_of": values(lambda held, program: held.tolist())},
        r"its values_of answered \[.*give an array",
    ),
    "values in floats": (
        {"values_of": values(lambda held, program: held / 1)},
        "its values_of answered .* array of int64",
    ),
    "another decision": (
        {"decision_of": lambda self, held, program: Gathering.decision_of(self, 1 - held, program)},
        r"Uplink.program\(\) admits the placement|with Uplink.decision_of; mend one of the three",
    ),
    "no decision": (
        {"decision_of": lambda self, held, program: [0]},
        r"its decision_of answered \[0\]; give a Placement",
    ),
    "a builder": (
        {"program": lambda self, before=(): Builder()},
        "its program answered a Builder; give a Program: end with",
    ),
    "a family that is not there": (
        {"values_of": lambda self, decision, program: program.family("peek")},
        'raised LookupError: the program has no variables "peek"; it has peak, place',
    ),
    "a bound that is none": (
        {"cheap_bounds": lambda self: (Bound("all", "busiest", 9, "tasks"),)},
        r'Uplink.cheap_bounds claims 9 for busiest \("all"\), but the feasible placement .* has \d; mend the bound',
    ),
}


@pytest.fixture
def wrong(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[type[Uplink], str]]:
    """The class with a fault, in the place of the right one, and what is said of it."""
    defined, message = FAULTS[request.param]
    kind = type("Uplink", (Honest,), {"__module__": __name__, "program": Honest.program, **defined})
    monkeypatch.setitem(globals(), "Uplink", kind)
    forget()
    yield kind, message
    forget()


def test_honest() -> None:
    """Tests that the class without a fault passes the check, and is proved by all routes."""
    forget()
    CHECKS["program"].function(RECORD)
    problem = Honest(posed(0).instance)
    for route in routes_of(problem):
        assert certify(problem, solve(problem, route=route)).valid


@pytest.mark.parametrize("wrong", FAULTS, indirect=True)
def test_a_program_or_a_definition_that_is_wrong(wrong: tuple[type[Uplink], str]) -> None:
    """Tests that the suite and every route name class, value and mend, and that nobody is asked to report a bug."""
    kind, message = wrong
    check = "bounds" if "cheap_bounds" in message else "program"
    with pytest.raises(ContractBroken, match=message if check == "program" else "all is 9, the optimum"):
        CHECKS[check].function(RECORD)
    problem = kind(posed(0).instance)
    for route in routes_of(problem)[:-1]:
        with pytest.raises(ProblemFailed, match=message):
            solve(problem, route=route)


def test_bug_a_sum_that_values_of_shares_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a program with a maximum is held against a definition and values with a sum, on instances that differ.

    Where one task is remote at most, both are the same; `sizes` made instances of that kind.
    """

    def objective(self: Any, placement: Placement) -> Value:
        return int(self.into(placement).sum()), Honest.objective(self, placement)[1]

    def values_of(self: Any, decision: Placement, program: Program) -> Ints:
        held = Honest.values_of(self, decision, program)
        held[program.family("peak")] = self.objective(decision)[0]
        return held

    own = {"__module__": __name__, "program": Honest.program, "objective": objective, "values_of": values_of}
    monkeypatch.setitem(globals(), "Uplink", type("Uplink", (Honest,), own))
    forget()
    with pytest.raises(ContractBroken, match=f"{BY_PROGRAM}.decision_of; mend one of the three"):
        CHECKS["program"].function(
            replace(RECORD, family="transmission", sizes={"nodes": 2, "tasks": 1, "reduces": 1, "jobs": 1})
        )
    forget()
