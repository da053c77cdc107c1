"""Numbers count as the decimals that they are written as, wherever a file or a parameter gives them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optsched.decimals import FINEST, common_denominator, decimal, for_each, total, whole_units
from optsched.gaps import gap
from optsched.instance import Cluster, Instance, Ragged, Workload
from optsched.instances.files import load
from optsched.problems import FairLsap, LsapFairness, problem
from optsched.resources import folder
from optsched.routes import solve

pytestmark = pytest.mark.filterwarnings("ignore::optsched.problems.fair_lsap.RationRuleWarning")

# The helper -------------------------------------------------------------------------------------------------------


@given(st.integers(-(10**15) + 1, 10**15 - 1), st.integers(0, 12))
def test_decimal_is_what_is_written(digits: int, places: int) -> None:
    """Tests that a decimal of up to 15 digits is read back from its double as it was written."""
    written = Fraction(digits, 10**places)
    assert decimal(float(written)) == written
    assert decimal(np.float64(float(written))) == written


def test_decimal_of_what_is_exact() -> None:
    """Tests that integers and fractions are what they are, numpy's integers too."""
    assert decimal(2**60 + 1) == 2**60 + 1
    assert decimal(np.int64(7)) == 7
    assert decimal(Fraction(1, 3)) == Fraction(1, 3)


@given(st.lists(st.tuples(st.integers(-(10**9), 10**9), st.integers(0, 7)), max_size=6), st.integers(1, FINEST))
def test_common_denominator(parts: list[tuple[int, int]], most: int) -> None:
    """Tests that the common denominator is the least common multiple of those of the decimals, or None above `most`."""
    exact = [Fraction(digits, 10**places) for digits, places in parts]
    due = int(np.lcm.reduce([part.denominator for part in exact])) if exact else 1
    values = np.array([float(part) for part in exact])
    assert common_denominator(values, most=most) == (due if due <= most else None)
    if due <= FINEST:
        assert whole_units(values, due).tolist() == [part * due for part in exact]


def test_common_denominator_of_long_numbers() -> None:
    """Tests that binary fractions of many digits and numbers near 2^53 are taken as they are, thirds not."""
    assert common_denominator(np.array([2.0**-20, 3.0])) == 2**20
    assert common_denominator(np.array([1234567890123456.5, np.nan])) == 2
    assert common_denominator(np.array([0.1]), np.array([2.0**-20])) is None
    assert common_denominator(np.array([1 / 3])) is None
    assert whole_units(np.array([1234567890123456.5]), 2).tolist() == [2469135780246913]
    assert whole_units(np.array([2.0**53]), 10).tolist() == [2**60]


def test_for_each_and_total() -> None:
    """Tests that a function sees decimals, that shapes are kept, and that sums do not depend on their order."""
    values = np.array([[0.3, 0.7], [0.3, 2.0**53]])
    assert for_each(values, lambda value: int(value * 10)).tolist() == [[3, 7], [3, 2**60]]
    assert total(np.array([0.1, 0.2, 0.3])) == total(np.array([0.3, 0.2, 0.1])) == Fraction(3, 5)


# Groups -----------------------------------------------------------------------------------------------------------


def test_decimal_weights_are_shares() -> None:
    """Tests that weights 0.2, 0.3, 0.5 give the rations, optima and gaps of 2, 3, 5: doubles gave 0.2 for 0."""
    written, whole = (load(folder("instances") / f"examples/weights-{form}.json") for form in ("decimal", "whole"))
    assert isinstance(written, Instance)
    assert isinstance(whole, Instance)
    for instance in (written, whole):
        posed = FairLsap(instance)
        assert posed.weights == [Fraction(1, 5), Fraction(3, 10), Fraction(1, 2)]
        assert posed.ration == [2, 3, 5]
        assert solve(posed).objective == (0,)
        assert solve(LsapFairness(instance)).objective == (0, 0)
    for name in ("fair-lsap", "lsap-fairness", "lsap"):
        for heuristic in ("lsap-sched", "lsap-fair-sched", "fifo"):
            reports = [gap(problem(name, instance), heuristic, seed=0) for instance in (written, whole)]
            assert reports[0].objective == reports[1].objective
            assert reports[0].relative_gap == reports[1].relative_gap


@given(
    st.lists(st.integers(1, 40), min_size=2, max_size=4),
    st.integers(1, 5),
    st.sampled_from([Fraction(1, 10), Fraction(1, 100), Fraction(3, 10), Fraction(7), Fraction(1, 8)]),
    st.data(),
)
def test_rescaled_weights(weights: list[int], slots: int, factor: Fraction, data: st.DataObject) -> None:
    """Tests that any rescaling of weights, by a tenth too, leaves rations, costs and shares as they are."""
    groups = len(weights)
    running = data.draw(st.lists(st.integers(0, 3), min_size=groups, max_size=groups))

    def posed(scale: Fraction) -> FairLsap:
        workload = Workload(
            [f"t{task}" for task in range(2 * groups)],
            replicas=Ragged.empty(2 * groups),
            job=[task % groups for task in range(2 * groups)],
            job_ids=[f"j{group}" for group in range(groups)],
            job_group=list(range(groups)),
            group_ids=[f"g{group}" for group in range(groups)],
            group_weight=[float(weight * scale) for weight in weights],
            group_running_tasks=running,
        )
        return FairLsap(Instance(Cluster(["a", "b"], slots=[slots, slots]), workload))

    first, second = posed(Fraction(1)), posed(factor)
    assert first.weights == second.weights
    assert first.ration == second.ration
    assert first.group_cost == second.group_cost
    assert first.pools == second.pools


def test_decimal_parameters_of_fair_lsap() -> None:
    """Tests that beta and the weight of fairness are the decimals that are given, in problem and literal model."""
    instance = load(folder("instances") / "examples/weights-decimal.json")
    assert isinstance(instance, Instance)
    posed = FairLsap(instance, beta=0.3, fairness=0.1, alpha=0.7, selection="free")
    assert posed.beta == Fraction(3, 10)
    assert posed.overflow_cost == [Fraction(3, 50), Fraction(9, 100), Fraction(3, 20)]
    assert posed.levels[1] == round(Fraction(7, 10) * FINEST)
    assert solve(posed, route="pulp").objective == solve(posed).objective
