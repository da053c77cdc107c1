"""Problems that give a definition and a program, and nothing more: solved, proved, modelled, exported."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from programmed import Gathering, posed

from optsched.certificates import certify
from optsched.core.errors import ProblemFailed, TooLarge
from optsched.core.instance import Cluster, Instance, Ragged, Workload
from optsched.core.placement import NONE, Placement
from optsched.core.registry import SHIPPED, record
from optsched.core.results import Bound, Component, Limit, Number, Proof, Sense, Termination, Value, Violation
from optsched.instances.generate import generate
from optsched.models import programs as models
from optsched.problems.programs import Program, Programmed
from optsched.routes import programs, routes_of, solve
from optsched.routes.call import Call
from optsched.solvers.profiles import Profile


@pytest.mark.parametrize("seed", range(4))
def test_every_route(seed: int) -> None:
    """Tests that all routes find what trying every placement finds, both components proved without a solver."""
    problem = posed(seed)
    assert routes_of(problem) == ("arrays", "pyomo", "pulp", "brute-force")
    truth = solve(problem, route="brute-force")
    for route in routes_of(problem)[:-1]:
        found = solve(problem, route=route)
        assert (found.objective, found.termination) == (truth.objective, truth.termination)
        if truth.objective is not None:
            assert found.certificate is Proof.DUAL
            assert certify(problem, found).proved


class AtHome(Gathering):
    """Tasks run on their data alone, so that the row of a task without data has no entry."""

    def constraint_violations(self, placement: Placement) -> Iterator[Violation]:
        yield from super().constraint_violations(placement)
        nodes = self.nodes_of(placement)
        away = int(((self.local[np.arange(len(nodes)), nodes] == 0) & (nodes != NONE)).sum()) if self.local.size else 0
        if away:
            yield Violation("at-home", (), away)

    def program(self, before: tuple[int, ...] = ()) -> Program:
        made = super().program(before)
        upper = made.numbers.upper.copy()
        upper[made.family("place")] = self.local.ravel()
        kept = upper[made.numbers.column] > 0
        entries = {name: getattr(made.numbers, name)[kept] for name in ("row", "column", "value")}
        return replace(made, numbers=replace(made.numbers, upper=upper, **entries))


@pytest.mark.parametrize("nodes", [0, 1, 2])
def test_rows_without_entries(nodes: int) -> None:
    """Tests that a task that may run nowhere is INFEASIBLE by models too: their row must not be left out."""
    cluster = Cluster([f"n{node}" for node in range(nodes)])
    instance = Instance(cluster, Workload(["t", "u"], replicas=Ragged.from_rows([[0][:nodes], []])))
    problem = AtHome(instance)
    for route in routes_of(problem):
        assert solve(problem, route=route).termination is Termination.INFEASIBLE, route
    size = models.compact_size(problem)
    model = models.build_pyomo(problem)
    assert (size.variables, size.constraints) == (model.nvariables(), model.nconstraints())


#: The shipped problems with a program.
WITH_PROGRAMS = [entry.name for entry in SHIPPED if issubclass(entry.problem_class, Programmed)]


@pytest.mark.parametrize("name", WITH_PROGRAMS)
def test_every_problem_is_proved_by_its_program_alone(name: str) -> None:
    """Tests that the shared way finds and proves what the default route does, which may know the problem better."""
    entry = record(name)
    for seed in range(2):
        problem = entry.problem_class(generate(entry.family, seed, **entry.sizes))
        found = programs.by_route(Call(problem, "arrays"), Profile("exact"))
        assert found.objective == solve(problem).objective
        assert {each.kind for each in found.certificates} == {Proof.DUAL}
        assert certify(problem, found).proved


def test_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a limit leaves the start and a cheap bound, and that a tree that grows too large leaves a word."""
    problem = posed(2, nodes=12, tasks=20, slots=3, idle_ratio=0.9)
    monkeypatch.setattr(programs, "_MOST_PROGRAMS", 0)
    best = solve(problem)
    assert [entry.kind for entry in best.certificates] == [Proof.DUAL, Proof.SOLVER]
    assert not certify(problem, best).proved
    none = Profile("exact").with_limits(time_limit=0)
    held = solve(problem, none, start=best.decision)
    assert (held.objective, held.limit, held.bound[0]) == (best.objective, Limit.TIME, 1)
    assert certify(problem, held).valid
    assert solve(problem, none).decision is None


class Narrow(Gathering):
    """Its program forbids the first node, which its definition does not."""

    def program(self, before: tuple[int, ...] = ()) -> Program:
        program = super().program(before)
        program.numbers.upper[0] = 0
        return program


class Blind(Gathering):
    """Its program takes any number of tasks on a node."""

    def program(self, before: tuple[int, ...] = ()) -> Program:
        program = super().program(before)
        program.numbers.row_upper[len(self.tasks) :] = 99
        return program


@pytest.mark.parametrize("sizes", [{}, {"nodes": 9, "tasks": 12, "slots": 3}])
def test_a_program_that_is_not_the_definition(sizes: dict[str, float]) -> None:
    """Tests that nothing is called optimal over a program that lacks a placement, or has one that is not feasible."""
    instance = posed(0, **sizes).instance
    start = Gathering(instance).placement(
        [node for node, slots in enumerate(Gathering(instance).idle) for _ in range(slots)][: len(instance.workload)]
    )
    with pytest.raises(ProblemFailed, match="the program does not have the feasible placement"):
        solve(Narrow(instance), start=start)
    with pytest.raises(ProblemFailed, match=r"Blind.program\(\) admits the placement .* violates slots"):
        solve(Blind(instance))


class Near(Gathering):
    """Only the tasks on their data count."""

    components = (Component("local", Sense.MAX, "tasks"),)

    def objective(self, placement: Placement) -> Value:
        nodes = self.nodes_of(placement)
        return (int(self.local[np.arange(len(nodes)), nodes].sum()),)

    def cheap_bounds(self) -> tuple[Bound, ...]:
        return (Bound("all", "local", len(self.tasks), "tasks"),)

    def program(self, before: tuple[Number, ...] = ()) -> Program:
        return replace(super().program((len(self.idle),)), component=0)


class NotAtHome(Near):
    """Its program keeps every other task off its data."""

    def program(self, before: tuple[Number, ...] = ()) -> Program:
        program = super().program(before)
        upper = program.numbers.upper.copy()
        upper[program.family("place")].reshape(self.local.shape)[::2][self.local[::2] > 0] = 0
        return replace(program, numbers=replace(program.numbers, upper=upper))


@pytest.mark.parametrize("sizes", [(20, 20, 1), (15, 30, 2)])
def test_bug_nothing_was_held_against_a_program_if_placements_at_random_are_infeasible(
    sizes: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that on instances without a free slot a wrong program is found near its own optimum, by certify as well."""
    instance = posed(0, **dict(zip(("nodes", "tasks", "slots"), sizes, strict=True))).instance
    honest = solve(Near(instance))
    assert honest.optimal
    assert certify(Near(instance), honest).proved
    with pytest.raises(ProblemFailed, match="the program does not have the feasible placement"):
        solve(NotAtHome(instance))
    with monkeypatch.context() as patched:
        patched.setattr("optsched.routes.programs.checked_program", lambda problem, before, _: problem.program(before))
        false = solve(NotAtHome(instance))
    assert false.optimal
    assert false.objective < honest.objective
    assert "the program does not have the feasible placement" in str(certify(NotAtHome(instance), false).contradicted)


class Own(Gathering):
    """Nothing new, but a class of its own."""


def test_an_inherited_program_is_named_if_nothing_else_is_left() -> None:
    """Tests that the mend is named where a class inherits its program and there are too many placements to try."""
    with pytest.raises(TooLarge, match="Own inherits program from Gathering: define program in Own itself"):
        solve(Own(posed(0, nodes=12, tasks=20, slots=3).instance))
