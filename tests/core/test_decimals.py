"""Numbers count as the decimals that they are written as, wherever a file or a parameter gives them."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optsched.core.decimals import FINEST, common_denominator, decimal, for_each, rounded_units, total, whole_units
from optsched.core.instance import Cluster, Instance, Ragged, Topology, Workload
from optsched.core.resources import folder
from optsched.heuristics import run
from optsched.instances.files import load
from optsched.measuring.gaps import gap
from optsched.problems import FairLsap, LsapFairness, TransmissionMaps
from optsched.problems.distances import distances, whole_places
from optsched.routes import solve

pytestmark = pytest.mark.filterwarnings("ignore::optsched.problems.fair_lsap.RationRuleWarning")


@given(st.integers(-(10**15) + 1, 10**15 - 1), st.integers(0, 12))
def test_decimal_is_what_is_written(digits: int, places: int) -> None:
    """Tests that a decimal of up to 15 digits is read back from its double as it was written."""
    written = Fraction(digits, 10**places)
    assert decimal(float(written)) == written
    assert decimal(np.float64(float(written))) == written


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


def test_decimal_weights_are_shares() -> None:
    """Tests that weights 0.2, 0.3, 0.5 give the rations, optima and gaps of 2, 3, 5: doubles gave 0.2 for 0."""
    written, whole = (load(folder("instances") / f"examples/weights-{form}.json") for form in ("decimal", "whole"))
    for instance in (written, whole):
        posed = FairLsap(instance)
        assert posed.weights == [Fraction(1, 5), Fraction(3, 10), Fraction(1, 2)]
        assert posed.ration == [2, 3, 5]
        assert solve(posed).objective == (0,)
        assert solve(LsapFairness(instance)).objective == (0, 0)
    for heuristic in ("lsap-sched", "lsap-fair-sched", "fifo"):
        reports = [gap(LsapFairness(instance), heuristic, seed=0) for instance in (written, whole)]
        assert reports[0].objective == reports[1].objective


def test_inverse_rates_are_fractions() -> None:
    """Tests that a third of a second and two thirds are one second, by links and by rates, so that costs are whole."""
    links = Topology("links", links=[("a", "s", 3), ("b", "s", 1.5), ("c", "s", 0.6)])
    cluster = Cluster(["a", "b", "c"], topology=links, slots=[0, 1, 1])
    instance = Instance(cluster, Workload(["m"], size=[0.9], replicas=Ragged.from_rows([[0]])))
    found = whole_places(instance)
    assert (found[0].matrix.tolist(), found[1]) == ([[0, 3, 6], [3, 0, 7], [6, 7, 0]], 3)
    assert distances(instance).tolist() == [[0, 1, 2], [1, 0, 7 / 3], [2, 7 / 3, 0]]
    assert TransmissionMaps(instance).evaluate(TransmissionMaps(instance).placement([1])) == (Fraction(9, 10),)
    rates = Topology("rate", [[0, 0.7, 3], [3, 0, 3], [3, 3, 0]])
    by_rate = Instance(Cluster(["a", "b", "c"], topology=rates), Workload([]))
    found = whole_places(by_rate)
    assert (found[0].matrix.tolist(), found[1]) == ([[0, 30, 7], [7, 0, 7], [7, 7, 0]], 21)


def test_distances_past_all_units() -> None:
    """Tests that distances of too many digits, or whose whole multiples leave 2^53, have no unit."""
    for form, entry in (("distance", 3.14159265), ("rate", 3.14159265), ("rate", 1 / 7)):
        fine = Topology(form, [[0, 1], [entry, 0]])  # type: ignore[arg-type]
        assert whole_places(Instance(Cluster(["a", "b"], topology=fine), Workload([]))) is None
    far = Cluster(["a", "b"], topology=Topology("distance", [[0, 2.0**52 + 0.5], [0.1, 0]]))
    assert whole_places(Instance(far, Workload([]))) is None


def test_rounding_of_decimals_next_to_a_half() -> None:
    """Tests that a decimal is rounded as it is written where its double is next to a half of a unit."""
    for text in ("1234567.0000004768", "1234567.0000004769", "0.5", "-2.5", "1e-7"):
        for grid in (1, 10, FINEST):
            assert rounded_units(np.array([float(text)]), grid).tolist() == [round(Fraction(repr(float(text))) * grid)]
    assert rounded_units(np.array([2.0**53, -(2.0**52) - 1]), 1).tolist() == [2**53, -(2**52) - 1]
    assert rounded_units(np.array([2.0**53]), 3).tolist() == [2**60]


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
