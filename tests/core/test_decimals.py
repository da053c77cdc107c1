"""Numbers count as the decimals that they are written as, wherever a file or a parameter gives them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optsched.core.decimals import FINEST, common_denominator, decimal, for_each, rounded_units, total, whole_units
from optsched.core.instance import (
    FINISHED,
    MAP,
    PENDING,
    REDUCE,
    RUNNING,
    Cluster,
    Instance,
    Pairs,
    Ragged,
    Shuffle,
    State,
    Topology,
    Workload,
)
from optsched.core.resources import folder
from optsched.heuristics import run
from optsched.instances.files import load
from optsched.measuring.gaps import gap
from optsched.problems import (
    FairLsap,
    FlowCongestion,
    GeneralizedAssignment,
    LsapFairness,
    Traffic,
    TransmissionMaps,
    Utility,
    problem,
)
from optsched.problems.distances import distances, whole_distances
from optsched.problems.flow import effective_load
from optsched.routes import routes_of, solve

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
        )
        cluster = Cluster(["a", "b"], slots=[slots, slots])
        return FairLsap(Instance.initial(cluster, workload, group_running_tasks=running))

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


# Capacities -------------------------------------------------------------------------------------------------------


def test_demands_of_tenths_fill_a_capacity_of_tenths() -> None:
    """Tests that 0.1 and 0.2 fit into 0.3, and three times 0.1 too, but not one demand more: no double says so."""
    pairs = Pairs(cost=[[1.0, 9.0]] * 3, demand={"cpu": [[0.1, 1.0], [0.2, 1.0], [0.1, 1.0]]})
    cluster = Cluster(["small", "large"], capacity={"cpu": [0.3, 1.0]})
    posed = GeneralizedAssignment(Instance(cluster, Workload(["a", "b", "c"], pairs=pairs)))
    assert posed.violations(posed.placement([0, 0, 1])) == []
    assert [str(one) for one in posed.violations(posed.placement([0, 0, 0]))] == ["capacity(cpu, small) by 1/10"]
    for route in routes_of(posed):
        assert solve(posed, route=route).objective == (11,), route


@pytest.mark.parametrize("scale", [1, 10], ids=["whole", "tenths"])
def test_trackers_in_tenths(scale: int) -> None:
    """Tests that RAS's capacities hold three maps of 0.1 in 0.3, beside what runs, as they hold three of 1 in 3."""
    workload = Workload(
        ["m1", "m2", "m3", "old"], job=[0] * 4, job_ids=["j"], demand={"cpu": [1 / scale] * 3 + [2 / scale]}
    )
    cluster = Cluster(["t"], capacity={"cpu": [5 / scale]})
    state = State.initial(cluster, workload, status=[PENDING] * 3 + [RUNNING], node=[-1] * 3 + [0])
    posed = Utility(Instance(cluster, workload, state))
    assert posed.free.tolist() == [[3]]
    assert solve(posed).objective == (1, Fraction(3 * round(2**20 / 5), 2**20))


# Costs ------------------------------------------------------------------------------------------------------------


def test_thirds_leave_a_tie_a_tie() -> None:
    """Tests that 10 MB in three equal shares are 10 MB: rounded, they undercut a block of 10 and cost a balanced load.

    Both maps at the data and the reduces in the west move 10 MB, as does a map of the other job elsewhere; then the
    load decides.
    """
    cluster = Cluster(["e", "w"], datacenter=[0, 1], datacenter_ids=["east", "west"])
    workload = Workload(
        ["m", "r1", "r2", "r3", "n", "o"],
        kind=[MAP, REDUCE, REDUCE, REDUCE, MAP, MAP],
        replicas=Ragged.from_rows([[0], [], [], [], [0], [0]]),
        size=[10.0, 0, 0, 0, 10.0, 10.0],
        job=[0, 0, 0, 0, 1, 1],
        job_ids=["j", "k"],
        filter_ratio=[1.0, 0.0],
    )
    state = State.initial(cluster, workload, idle_slots=[2, 9], idle_reduce_slots=[0, 3])
    cluster = Cluster(["e", "w"], datacenter=[0, 1], datacenter_ids=["east", "west"], slots=[2, 9], reduce_slots=[0, 3])
    posed = Traffic(Instance(cluster, workload, state), capacity="slots")
    assert posed.grid == 3
    assert posed.evaluate(posed.placement([1, 1, 1, 1, 0, 0])) == (10, 2)
    assert posed.evaluate(posed.placement([0, 1, 1, 1, 0, 1])) == (20, 2)
    for route in routes_of(posed):
        assert solve(posed, route=route).objective == (10, 2), route


def test_inverse_rates_are_fractions() -> None:
    """Tests that a third of a second and two thirds are one second, by links and by rates, so that costs are whole."""
    links = Topology("links", links=[("a", "s", 3), ("b", "s", 1.5), ("c", "s", 0.6)])
    cluster = Cluster(["a", "b", "c"], topology=links, slots=[0, 1, 1])
    instance = Instance(cluster, Workload(["m"], size=[0.9], replicas=Ragged.from_rows([[0]])))
    found = whole_distances(instance)
    assert found is not None
    assert (found[0].tolist(), found[1]) == ([[0, 3, 6], [3, 0, 7], [6, 7, 0]], 3)
    assert distances(instance).tolist() == [[0, 1, 2], [1, 0, 7 / 3], [2, 7 / 3, 0]]
    assert TransmissionMaps(instance).evaluate(TransmissionMaps(instance).placement([1])) == (Fraction(9, 10),)
    rates = Topology("rate", [[0, 0.7, 3], [3, 0, 3], [3, 3, 0]])
    by_rate = Instance(Cluster(["a", "b", "c"], topology=rates), Workload([]))
    found = whole_distances(by_rate)
    assert found is not None
    assert (found[0].tolist(), found[1]) == ([[0, 30, 7], [7, 0, 7], [7, 7, 0]], 21)


def test_distances_past_all_units() -> None:
    """Tests that distances of too many digits, or whose whole multiples leave 2^53, have no unit."""
    for form, entry in (("distance", 3.14159265), ("rate", 3.14159265), ("rate", 1 / 7)):
        fine = Topology(form, [[0, 1], [entry, 0]])  # type: ignore[arg-type]
        assert whole_distances(Instance(Cluster(["a", "b"], topology=fine), Workload([]))) is None
    far = Cluster(["a", "b"], topology=Topology("distance", [[0, 2.0**52 + 0.5], [0.1, 0]]))
    assert whole_distances(Instance(far, Workload([]))) is None


def test_rounding_of_decimals_next_to_a_half() -> None:
    """Tests that a decimal is rounded as it is written where its double is next to a half of a unit."""
    for text in ("1234567.0000004768", "1234567.0000004769", "0.5", "-2.5", "1e-7"):
        for grid in (1, 10, FINEST):
            assert rounded_units(np.array([float(text)]), grid).tolist() == [round(Fraction(repr(float(text))) * grid)]
    assert rounded_units(np.array([2.0**53, -(2.0**52) - 1]), 1).tolist() == [2**53, -(2**52) - 1]
    assert rounded_units(np.array([2.0**53]), 3).tolist() == [2**60]


def test_loads_do_not_depend_on_the_order_of_rates() -> None:
    """Tests that e_m adds rates as decimals, so that 0.1, 0.2, 0.3 in any order weigh 0.6, and equal ones no less."""
    rates = np.array([0.1, 0.2, 0.3])
    assert effective_load(rates) == effective_load(rates[::-1])
    assert effective_load(np.array([0.1] * 3)) == 0.3


def test_shares_of_a_shuffle_do_not_depend_on_its_order() -> None:
    """Tests that what a reduce reads from a node is added as decimals: entries in any order make one class of tasks."""
    shuffle = Shuffle([0, 1, 2, 2, 1, 0], [3, 3, 3, 4, 4, 4], [0.1, 0.2, 0.3, 0.3, 0.2, 0.1])
    workload = Workload(
        ["m1", "m2", "m3", "r1", "r2"], kind=[MAP] * 3 + [REDUCE] * 2, rate_in=[1.0] * 5, shuffle=shuffle
    )
    cluster = Cluster(["a", "b"], rate_out=[9, 9], rate_in=[9, 9])
    ran = {"status": [FINISHED] * 3 + [PENDING] * 2, "node": [0, 0, 0, -1, -1]}
    posed = FlowCongestion(Instance.initial(cluster, workload, out_in_use=[3, 0], **ran), weights="shuffle")
    assert len(posed.classes.first) == 1


# Heuristics -------------------------------------------------------------------------------------------------------


def test_policies_weigh_in_decimals() -> None:
    """Tests that a fair scheduler serves pools of weights 0.1, 0.3, 0.7 as those of 1, 3, 7: three of 0.3 are ten."""

    def served(scale: int) -> list[int]:
        workload = Workload(
            [f"t{task}" for task in range(9)],
            job=[0, 1, 2] * 3,
            job_ids=["i", "j", "k"],
            job_group=[0, 1, 2],
            group_ids=["g", "h", "l"],
            group_weight=[1 / scale, 3 / scale, 7 / scale],
        )
        instance = Instance.initial(Cluster(["n"], slots=[4]), workload, group_running_tasks=[1, 3, 7])
        placement = run(LsapFairness(instance), "fair", seed=0).placement
        assert placement is not None
        nodes: list[int] = placement.nodes.tolist()
        return nodes

    assert served(1) == served(10) == served(100)
