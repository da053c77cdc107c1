"""The search of `worst-group`: both engines against enumeration, thresholds, and engines that err."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from worst_group_instances import ONE_SLOT, posed, problems

from optsched.certificates import certify
from optsched.core.errors import SolverDisagreement
from optsched.core.placement import Placement
from optsched.core.results import Limit, Number, Proof
from optsched.instances.generate import generate
from optsched.problems import Lsap, WorstGroup
from optsched.routes import solve
from optsched.searches import worst_group
from optsched.searches.enumeration import best_placement
from optsched.searches.worst_group import (
    Cheapest,
    Engine,
    FlowEngine,
    GroupSearch,
    ProgramEngine,
    is_flow,
)
from optsched.solvers.profiles import Profile


def engines(problem: WorstGroup) -> list[Engine]:
    """The engines that settle a problem."""
    every: list[Engine] = [ProgramEngine(problem, Profile("exact"))]
    return [*every, FlowEngine(problem)] if is_flow(problem) else every


def searched(problem: WorstGroup, engine: Engine, start: Placement | None = None) -> GroupSearch:
    """A search that has run."""
    found = GroupSearch(problem, engine, start)
    found.run()
    return found


@settings(max_examples=50)
@given(problems())
def test_engines_find_the_optimum(problem: WorstGroup) -> None:
    """Tests both components against enumeration, the proofs, and that with two levels the cost is that of `lsap`."""
    found = best_placement(problem)
    assert found is not None
    best, _ = found
    solution = solve(problem)
    assert (solution.optimal, solution.objective) == (True, best)
    assert certify(problem, solution).valid
    if not problem.count:
        return
    for engine in engines(problem):
        end = searched(problem, engine)
        assert problem.evaluate(end.placement) == best
        assert tuple(certificate.claim for certificate in end.certificates) == best
    if is_flow(problem):
        assert solution.certificate is Proof.DUAL
        assert solve(Lsap(problem.instance, levels=problem.levels)).objective == best[1:]


# Thresholds that only a solver excludes ----------------------------------------------------------------------------


class Scripted:
    """An engine that knows the placements of `RACKS` and excludes nothing by prices."""

    raw_status = "scripted"

    def __init__(self, problem: WorstGroup, least: Number, stop: Number | None = None) -> None:
        self.problem, self.least, self.stop = problem, least, stop
        self.solver: dict[str, Any] = {}
        self.tried: list[Number] = []

    def left(self) -> Profile:
        return Profile("exact")

    def excluded(self, mean: Number) -> None:
        return None

    def priced(self, mean: Number) -> None:
        return None

    def cheapest(self, mean: Number, start: Placement | None) -> Cheapest:
        self.tried.append(mean)
        if self.stop is not None and mean >= self.stop:
            return Cheapest(None, None, None, Limit.NODES)
        if mean < self.least:
            return Cheapest(None, False, None, None)
        dear = int(self.least * self.problem.sizes[0])  # the other group is at its data
        nodes = np.array([1] * dear + [0] * (self.problem.sizes[0] - dear) + [2], dtype=np.int64)
        return Cheapest(nodes, True, dear, None)


def ladder() -> WorstGroup:
    """Sixteen tasks with data on one node, another beside it, and a second group at its data: means in sixteenths."""
    return posed([[0]] * 16 + [[2]], [0] * 16 + [1], slots=[16, 16, 1], levels=[0, 1, 1])


@pytest.mark.parametrize("least", range(1, 16))
def test_means_are_halved(least: int) -> None:
    """Tests that the least mean is found between one that is excluded and one that is held, in few programs."""
    problem = ladder()
    engine = Scripted(problem, Fraction(least, 16))
    all_away = problem.placement([1] * 16 + [2])
    end = searched(problem, engine, all_away)
    assert problem.evaluate(end.placement) == (Fraction(least, 16), least)
    mean, cost = end.certificates
    assert (mean.claim, mean.kind) == (Fraction(least, 16), Proof.SOLVER)
    assert (cost.claim, cost.kind) == (least, Proof.SOLVER)
    assert len(engine.tried) <= 7


def test_a_limit_between_the_means() -> None:
    """Tests that where a limit strikes the excluded means are claimed, and the start is held."""
    problem = ladder()
    end = searched(problem, Scripted(problem, Fraction(9, 16), Fraction(8, 16)), problem.placement([1] * 16 + [2]))
    assert (end.limit, len(end.certificates)) == (Limit.NODES, 1)
    assert end.certificates[0].claim < Fraction(9, 16)
    assert problem.evaluate(end.placement)[0] == 1


class Tolerant(Scripted):
    """An engine whose placements have a mean of `least` at any limit from `least` - 2/16 on."""

    def cheapest(self, mean: Number, start: Placement | None) -> Cheapest:
        return super().cheapest(mean + Fraction(2, 16), start)


@pytest.mark.parametrize("least", [1, 2, 3, 9, 16])
def test_a_placement_beyond_the_limit_settles_nothing(least: int) -> None:
    """Tests that it is held where it is better, that no mean above its limit is excluded, and that the search ends."""
    problem = ladder()
    engine = Tolerant(problem, Fraction(least, 16))
    end = searched(problem, engine, problem.placement([1] * 16 + [2]))
    assert problem.evaluate(end.placement)[0] in (Fraction(least, 16), 1)
    claims = {certificate.component: certificate.claim for certificate in end.certificates}
    assert claims["worst-mean"] <= Fraction(least, 16)
    if claims["worst-mean"] < Fraction(least, 16):
        assert list(claims) == ["worst-mean"]
        assert "beyond the limit on the mean" in end.raw_status


def test_bug_a_limit_that_tolerances_pass_was_tried_for_ever() -> None:
    """Tests levels of millions one apart, where HiGHS takes a cost of 4194304 for one of at most 4194292."""
    problem = posed([[0], [0], [0], [0], []], [0, 0, 0, 1, 0], slots=[2], levels=[2097152, 3145728, 3145729])
    solution = solve(problem)
    assert solution.objective == (1048576, 4194304)
    assert solution.optimal or solution.bound[1] is None
    assert solution.bound[0] is not None
    assert solution.bound[0] <= 1048576
    assert certify(problem, solution).valid


@pytest.mark.parametrize("levels", [(0, 2**40 - 3, 2**40), (0, 1, 2**40), (0, 10**6, 10**6 + 1)])
@pytest.mark.parametrize("seed", [2, 9])
def test_bug_large_levels_were_not_settled(levels: tuple[int, int, int], seed: int) -> None:
    """Tests levels of a million and more, where limits on costs are within HiGHS's tolerances: it was FEASIBLE."""
    sizes = {"nodes": 4, "tasks": 6, "slots": 1, "idle_ratio": 1.0, "replicas": 1, "groups": 2, "racks": 3}
    problem = WorstGroup(generate("worst-group", seed=seed, **sizes), levels=levels)
    best = best_placement(problem)
    assert best is not None
    solution = solve(problem, route="arrays")
    assert (solution.objective, solution.optimal) == (best[0], True)
    assert certify(problem, solution).valid


def test_prices_that_rounding_spoils(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a mean which prices exclude but do not prove is excluded on the engine's word, and then by a tree."""
    monkeypatch.setattr(FlowEngine, "_cut", lambda self, network, flow: worst_group.GroupPrices.none(self.problem))
    end = searched(ONE_SLOT, FlowEngine(ONE_SLOT))
    assert ONE_SLOT.evaluate(end.placement) == (Fraction(1, 2), 1)
    assert [(entry.kind, "steps" in entry.data) for entry in end.certificates] == [(Proof.DUAL, True)] * 2
    monkeypatch.setattr(worst_group, "_MOST_PROGRAMS", 0)
    end = searched(ONE_SLOT, FlowEngine(ONE_SLOT))
    assert [entry.kind for entry in end.certificates] == [Proof.SOLVER, Proof.SOLVER]


# Limits and disagreement -------------------------------------------------------------------------------------------


def test_flows_check_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a flow that is not maximum is noticed."""
    engine, true = FlowEngine(ONE_SLOT), FlowEngine._flow
    monkeypatch.setattr(FlowEngine, "_flow", lambda *given: (*true(*given)[:2], 2))
    with pytest.raises(SolverDisagreement, match="SciPy places 2 of 3 tasks"):
        engine.cheapest(1, None)


def test_levels_that_highs_would_refuse() -> None:
    """Tests levels that no coefficient may have: numbers of tasks take their place, or the cost is left open."""
    settled, left_open = 0, 0
    for seed in range(12):
        for idle_ratio in (1.0, 0.5):
            drawn = generate(
                "worst-group", seed=seed, nodes=4, tasks=4, idle_ratio=idle_ratio, replicas=1, groups=2, racks=2
            )
            for levels in ((0, 10**15 + 7, 2 * 10**15 + 9), (5, 10**15, 10**15 + 3)):
                problem = WorstGroup(drawn, levels=levels)
                found, solution = best_placement(problem), solve(problem)
                assert found is not None
                counted = not levels[0] or problem.count == len(problem.tasks)
                assert solution.objective is not None
                assert solution.objective >= found[0]
                assert certify(problem, solution).valid
                if counted:
                    assert (solution.optimal, solution.objective) == (True, found[0])
                settled += solution.optimal
                left_open += solution.raw_status == "costs are too large for HiGHS"
    assert settled > 12
    assert left_open
