"""Max-min fair shares: against growing all rates alike in fractions."""

import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest

from optsched.heuristics.simulating.rates import Shares

#: Units of drawn capacities: whatever shares they are divided into, nothing is lost by rounding down.
UNIT = 840**8

Drawn = tuple[list[int], list[list[int]], list[int]]


def max_min(capacity: Sequence[int], uses: Sequence[Sequence[int]], most: Sequence[int]) -> list[int]:
    """The rate of each flow, if all come at once."""
    shares: Shares = Shares(capacity)
    for flow, (used, asked) in enumerate(zip(uses, most, strict=True)):
        shares.add(flow, used, asked)
    shares.settle()
    return [shares.rate[flow] for flow in range(len(uses))]


def seeds(few: int, many: int) -> list[Any]:
    """The first few of many seeds, and the others in the thorough suite."""
    return [*range(few), *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(few, many))]


def drawn(seed: int) -> Drawn:
    """Up to 6 resources and 8 flows, each on none to 3 of them; some capacities and wishes are 0 or equal."""
    rng = random.Random(seed)
    resources, flows = rng.randint(0, 6), rng.randint(0, 8)
    capacity = [rng.randint(0, 9) * UNIT for _ in range(resources)]
    uses = [rng.sample(range(resources), rng.randint(0, min(resources, 3))) for _ in range(flows)]
    return capacity, uses, [rng.randint(0, 9) * UNIT for _ in range(flows)]


def grown(capacity: list[int], uses: list[list[int]], most: list[int]) -> list[Fraction]:
    """The definition: all rates grow alike until a flow has what it asks for, or what it uses is full."""
    rates, left = [Fraction(0)] * len(uses), [Fraction(entry) for entry in capacity]
    grow = set(range(len(uses)))
    while grow:
        users = [[flow for flow in grow if resource in uses[flow]] for resource in range(len(capacity))]
        step = min(
            [most[flow] - rates[flow] for flow in grow]
            + [left[resource] / len(flows) for resource, flows in enumerate(users) if flows]
        )
        for flow in grow:
            rates[flow] += step
        for resource, flows in enumerate(users):
            left[resource] -= step * len(flows)
        grow = {flow for flow in grow if rates[flow] < most[flow] and all(left[entry] > 0 for entry in uses[flow])}
    return rates


@pytest.mark.parametrize("seed", seeds(60, 300))
def test_rates_are_those_of_the_definition(seed: int) -> None:
    """Tests drawn flows against the definition in fractions, and with small numbers, which are rounded down."""
    capacity, uses, most = drawn(seed)
    assert max_min(capacity, uses, most) == grown(capacity, uses, most)
    small = [room // UNIT for room in capacity]
    rates = max_min(small, uses, [asked // UNIT for asked in most])
    for resource, room in enumerate(small):
        assert sum(rate for rate, used in zip(rates, uses, strict=True) if resource in used) <= room


@pytest.mark.parametrize("seed", seeds(40, 150))
def test_flows_that_come_and_go(seed: int) -> None:
    """Tests that rates kept from before are those of filling all anew, and that only changes are reported."""
    capacity, uses, most = drawn(seed + 5000)
    rng, shares, before = random.Random(seed), Shares(capacity), {}
    for _ in range(15 if uses else 0):
        for flow in rng.sample(range(len(uses)), rng.randint(1, min(3, len(uses)))):
            if flow in shares:
                shares.remove(flow)
                before.pop(flow, None)
            else:
                shares.add(flow, uses[flow], most[flow])
        changed = shares.settle()
        there = [flow for flow in range(len(uses)) if flow in shares]
        anew = max_min(capacity, [uses[flow] for flow in there], [most[flow] for flow in there])
        assert ([shares.rate[flow] for flow in there], len(shares._uses)) == (anew, len(there))
        assert changed == {flow: rate for flow, rate in zip(there, anew, strict=True) if before.get(flow) != rate}
        before = dict(zip(there, anew, strict=True))
    assert shares.settle() == {}


def test_only_what_is_joined_by_scarce_resources_is_filled_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a flow on a resource with room for all, or on another one, is left alone."""
    shares = Shares([10, 10, 100])
    for flow, used in (("a", [0, 2]), ("b", [0]), ("c", [1, 2]), ("d", [2])):
        shares.add(flow, used, 9)
    assert shares.settle() == {"a": 5, "b": 5, "c": 9, "d": 9}
    filled: list[list[str]] = []
    whole = Shares._filled

    def seen(self: Shares, flows: list[str], tight: list[int]) -> dict[str, int]:
        filled.append(sorted(flows))
        return whole(self, flows, tight)

    monkeypatch.setattr(Shares, "_filled", seen)
    shares.remove("b")
    assert (shares.settle(), filled) == ({"a": 9}, [["a"]])
