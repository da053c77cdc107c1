"""The search of `utility` with `phase=by-maps`: reduces by level, proofs by prices, and what it says at a limit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from utility_instances import posed, problems

from optsched.certificates import certify
from optsched.errors import TooLarge
from optsched.instances.generate import generate
from optsched.problems.utility import Utility
from optsched.results import Limit, Proof
from optsched.routes import solve
from optsched.searches import utility, utility_by_maps, utility_program
from optsched.searches.utility_by_maps import ByMapsSearch, every_level
from optsched.searches.utility_leximin import leximin
from optsched.searches.utility_patterns import Packing
from optsched.solvers.profiles import Profile, load_profile

#: Four maps on the first tracker, two reduces on the second, which take 1 of memory and 4 of cpu beside all maps.
JOB = {"maps": 4, "reduces": 2, "map": {"cpu": 1}, "reduce": {"cpu": 4, "memory": 1}}


def apart(cpu: float = 4, **parameters: Any) -> Utility:
    """A tracker for the maps and one for the reduces, with so much cpu."""
    return posed({"cpu": [4, cpu], "memory": [0, 2]}, [JOB], phase="by-maps", **parameters)


@pytest.mark.parametrize("reduces", ["free", "fixed"])
def test_proof_by_prices_by_hand(reduces: str) -> None:
    """Tests that with 4 of cpu both reduces leave room for two maps, with 8 for all, and prices prove the one of 4."""
    solution = solve(apart(reduces=reduces))
    counts = apart().allocated(solution.decision)  # type: ignore[arg-type]
    assert (counts.maps.sum(), counts.reduces.sum()) == (2, 2)
    assert solution.certificates[0].kind is Proof.DUAL
    assert certify(apart(reduces=reduces), solution).valid
    wide = solve(apart(8, reduces=reduces))
    assert apart(8).allocated(wide.decision).maps.sum() == 4  # type: ignore[arg-type]


@pytest.mark.parametrize("most", [1, 2])
@given(problem=problems(tasks=6, nodes=2, phase="by-maps"))
@settings(max_examples=15)
def test_few_levels_only_weaken_prices(most: int, problem: Utility) -> None:
    """Tests that with fewer levels than matter the optimum is found and certified all the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(utility_by_maps, "MOST_LEVELS", most)
        solution = solve(problem)
    assert solution.optimal
    assert solution.objective == solve(problem, route="brute-force").objective
    assert certify(problem, solution).valid


@pytest.mark.parametrize("reduces", ["free", "fixed"])
def test_limits(reduces: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that no time, and no exact program, leave a certified result, and that a start is kept."""
    problem = Utility(
        generate("utility", seed=0, jobs=2, nodes=4, types=2, maps=5, reduces=2), phase="by-maps", reduces=reduces
    )
    assert problem.coupled
    whole = solve(problem)
    for time_limit in (0.0, 0.2):
        short = solve(problem, time_limit=time_limit)
        assert certify(problem, short).valid
        assert short.optimal or short.limit is not None
    assert solve(problem, time_limit=0.0, start=whole.decision).objective == whole.objective
    monkeypatch.setattr(utility_by_maps, "exact_patterns", lambda _: None)
    monkeypatch.setattr(utility_by_maps, "MOST_COLUMNS", 0)
    monkeypatch.setattr(ByMapsSearch, "_settled", lambda *_, **__: None)
    monkeypatch.setattr(ByMapsSearch, "_fill", lambda *_: None)
    search = ByMapsSearch(problem, Profile("exact"))
    search.run()
    assert "too large" in search.raw_status
    assert not problem.violations(search.placement)
    with pytest.raises(TooLarge, match="leximin"):
        leximin(problem)


def test_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C, in Python or in a solver, leaves what is held and proved."""
    problem = apart()

    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    def stopped(packing: Packing, *_: Any) -> Any:
        zeros = np.zeros(len(packing.items.limit), dtype=np.int64)
        return utility_by_maps.Relaxation(
            packing, utility_by_maps.Patterns(), None, zeros, zeros[:0], zeros, zeros[:0], Limit.INTERRUPTED
        )

    for broken in (interrupted, stopped):
        monkeypatch.setattr(utility_by_maps, "least_shortage", broken)
        solution = solve(problem)
        assert solution.limit is Limit.INTERRUPTED
        assert certify(problem, solution).valid


def test_packings_that_are_not_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that what a program packs with reduces at too little is no placement, and no disagreement."""
    problem = apart()
    levels = every_level(problem, problem.lowest_units)
    packing = Packing.by_levels(problem, levels, use=True)
    assert packing.exact
    light = replace(levels, item_maps=np.zeros_like(levels.item_maps))
    loose = Packing.by_levels(problem, light, use=True)
    assert not loose.exact
    outcome, counts = utility_program.solve_integer_program(problem, loose, {}, load_profile("exact"), True)
    assert counts is None
    assert outcome.objective is not None
    # A range of several numbers of maps is what fixed reduces cannot be told for.
    fixed = apart(reduces="fixed")
    assert not Packing.by_levels(fixed, every_level(fixed, 0), use=True).exact
    assert Packing.by_levels(fixed, every_level(fixed, 0), use=True, taken=True).exact


def test_the_last_threshold_above_minus_infinity_is_ruled_out_by_prices() -> None:
    """Tests that where only minus infinity and one value may be, prices rule that value out: a program was asked."""
    problem = posed({"cpu": [1]}, [{"maps": 1, "map": {"cpu": 2}, "goal": 1, "time": 1}])
    search = utility.UtilitySearch(problem, load_profile("exact"), decide=lambda *_: None)
    search.run()
    assert search.certificates[0].kind is Proof.DUAL
    assert search.certificates[0].claim == -1000
