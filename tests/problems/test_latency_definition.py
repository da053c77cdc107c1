"""`latency`: values, feasibility, the bounds l*, l** and least work by hand, covers, and loads that it cannot take."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from small_problems import pareto_front, small

from optsched.core.errors import InputError, MissingField, UsageError
from optsched.core.results import Bound
from optsched.instances.generate import generate
from optsched.problems import Latency
from optsched.problems.latency_definition import LatencyPrices


def posed(loads: list[float], rows: list[list[int]], **parameters: Any) -> Latency:
    """Tasks with the given replicas on servers with the given loads."""
    return Latency(small(rows, [1] * len(loads), loads, name="posed"), **parameters)


def bound(problem: Latency, name: str) -> Bound:
    """The cheap bound of that name."""
    return next(entry for entry in problem.cheap_bounds() if entry.name == name)


def test_makespan_and_work() -> None:
    """Tests both components: only servers that get work count for the makespan (Agosta et al., note 2)."""
    problem = posed([2, 0, 9], [[0], [0, 1], []])
    placement = problem.placement([0, 1, 1])
    assert problem.evaluate(placement) == (4, 1 + 1 + 3)
    assert [counts.tolist() for counts in problem.counts(placement)] == [[1, 1, 0], [0, 1, 0]]
    assert (problem.cluster_makespan(placement), problem.throughput(placement)) == (9, 3 / 5)


def test_no_task() -> None:
    """Tests that without tasks everything is 0 and there is no throughput."""
    problem = posed([5, 0], [])
    placement = problem.placement([])
    assert (problem.evaluate(placement), problem.throughput(placement)) == ((0, 0), None)
    assert [entry.value for entry in problem.cheap_bounds()] == [0, 0, 0]
    assert posed([], []).evaluate(placement) == (0, 0)
    assert posed([0], []).cluster_makespan(placement) == 0


@pytest.mark.parametrize(
    ("loads", "mend"),
    [
        ([0.5, 2.25, 1], "multiply loads, w_loc and w_rem by 4"),
        ([1 / 3, 0, 0], "multiply loads, w_loc and w_rem by 3"),
        ([0.1, 10_000_000_000.6, 0], "multiply loads, w_loc and w_rem by 10"),  # no double is that: not by 524288
        ([0.1, 1 / 7, 0], "multiply loads, w_loc and w_rem by 70"),
        ([1e-6, 0, 0], "multiply loads, w_loc and w_rem by 1000000"),
        ([0.001, 1 / 1001, 0], "round the loads"),
        ([1e-7, 0, 0], "round the loads"),
    ],
)
def test_fractional_loads(loads: list[float], mend: str) -> None:
    """Tests that loads between units are refused, each by its place, with the factor that makes all whole."""
    with pytest.raises(MissingField) as caught:
        posed(loads, [[0]])
    fractional = [server for server, load in enumerate(loads) if load != int(load)]
    assert [fault.place for fault in caught.value.faults] == [f"nodes[{server}].load" for server in fractional]
    assert all(fault.message.endswith(mend) for fault in caught.value.faults)


def test_refused_weights_and_sizes() -> None:
    """Tests that remote work below local work, no server, and totals past 2^53 are bad input, other weights usage."""
    own = replace(posed([0], [[0]]).instance, parameters={"latency": {"w_loc": 2, "w_rem": 1}})
    with pytest.raises(InputError, match=r"posed: parameters\.latency\.w_rem: 1 is less than w_loc=2"):
        Latency(own)
    equal = replace(own, parameters={"latency": {"w_loc": 2, "w_rem": 2}})
    for instance, weights in ((equal, {"w_rem": 1}), (replace(own, parameters={}), {"w_loc": 2, "w_rem": 1})):
        with pytest.raises(UsageError, match="latency: w_rem=1 is less than w_loc=2"):
            Latency(instance, **weights)
    with pytest.raises(InputError, match=r"^posed: latency: nodes: latency needs a server to place tasks on"):
        posed([], [[]])
    posed([2**53 - 3], [[0]])
    posed([0], [[0]], w_rem=2**53)
    with pytest.raises(InputError, match=r"loads and work may total past 2\^53; scale them down"):
        posed([2**53 - 2], [[0]])
    for wrong, weight in product((0, 1.5, "x"), ("w_loc", "w_rem")):
        with pytest.raises(UsageError, match=f"latency: {weight}="):
            posed([0], [[0]], **{weight: wrong})


def test_counting_bound_by_hand() -> None:
    """Tests l** of Agosta et al.: all replicas of two tasks on a server busy until 5, and one with room elsewhere."""
    problem = posed([5, 0, 0], [[0]] * 5)
    assert problem.counting_bound() == 6
    assert problem.average_bound() == 4
    assert posed([0, 0], [[], [], []]).counting_bound() == 6
    assert posed([4, 0], [[0]]).counting_bound() == 3
    assert posed([0] * 5, [[server] for server in range(4) for _ in range(4)]).counting_bound() == 4
    assert bound(posed([9, 0], [[0], [0], []]), "least-work").value == 5  # only what has no replica is remote


@pytest.mark.parametrize(
    ("loads", "rows", "average", "component"),
    [
        ([0, 0], [[0], [1], [0]], 2, "makespan"),
        ([0, 100], [[0]], 51, None),
        ([5, 5, 5, 0], [[3], [3]], 5, None),
        ([4, 4, 4, 0], [[3]] * 8, 5, "makespan"),
        ([7], [], 0, "makespan"),
    ],
)
def test_average_bound(loads: list[float], rows: list[list[int]], average: int, component: str | None) -> None:
    """Tests l*, and that it bounds the job only where every load is below it.

    A regression: with a load equal to it (the third case) the cluster's makespan is l* without any task, and the job's
    may be less, here 2.
    """
    found = bound(posed(loads, rows), "l*")
    assert (found.value, found.component) == (average, component)
    assert found.bounds.endswith("not of the job" if component is None else "of the cluster")


def test_bug_loads_past_what_int64_adds() -> None:
    """Tests that l* of a thousand servers with loads of 2^53 is no negative number."""
    problem = posed([2**53 - 3] * 1024, [[0]])
    assert problem.average_bound() == 2**53 - 2
    assert problem.fits(2**53, 1)
    assert problem.least_remote(2**53, np.ones(1024, dtype=bool)) == 0


@pytest.mark.parametrize("weights", [(2, 5), (3, 4), (5, 9), (4, 10)])
def test_no_sharing_out_of_remote_tasks_makes_more_work(weights: tuple[int, int]) -> None:
    """Tests the most work of several servers with so many remote tasks, by trying every way to share them out."""
    w_loc, w_rem = weights
    rng, tight = np.random.default_rng(w_rem), 0
    for _ in range(30):
        room, remote = rng.integers(0, 4 * w_rem, 4).tolist(), int(rng.integers(0, 5))
        problem = posed([4 * w_rem - free for free in room], [[0]], w_loc=w_loc, w_rem=w_rem)
        best = max(
            sum(few * w_rem + (free - few * w_rem) // w_loc * w_loc for few, free in zip(shares, room, strict=True))
            for shares in product(range(remote + 1), repeat=4)
            if sum(shares) <= remote and all(few * w_rem <= free for few, free in zip(shares, room, strict=True))
        )
        usable = problem.usable_work(4 * w_rem, remote)
        assert best <= usable
        tight += best == usable
    assert tight > 20


def test_room_that_no_mix_of_tasks_fills_is_not_counted() -> None:
    """Tests the most work of whole tasks on a server, by enumeration, and where there are too many mixes to try."""
    for w_loc, w_rem in ((1, 3), (2, 5), (3, 4), (4, 6), (7, 7), (6, 15)):
        problem = posed([0], [[0]], w_loc=w_loc, w_rem=w_rem)
        sums = {a * w_loc + b * w_rem for a in range(46) for b in range(46)}
        for limit in range(45):
            assert problem.fillable(limit).tolist() == [max(total for total in sums if total <= limit)]
            for remote in range(8):  # one server: exact but for gains of single remote tasks that none can take
                sums = {a * w_loc + b * w_rem for a in range(46) for b in range(remote + 1)}
                most = max(total for total in sums if total <= limit)
                assert most <= problem.usable_work(limit, remote) <= problem.fillable(limit).sum()
    three = posed([0, 0, 1], [[0]] * 3, w_loc=2, w_rem=5)
    assert [three.usable_work(5, remote) for remote in range(5)] == [12, 13, 14, 14, 14]
    many = posed([0], [[0]], w_loc=3002, w_rem=3004)
    assert many.usable_work(3004 * 1500 + 1, 0) == 3004 * 1500
    assert many.fillable(3004 * 1500 + 1).tolist() == [3004 * 1500]  # a multiple of 2 is all that is asked for


def test_no_prices_prove_too_much() -> None:
    """Tests that whatever the prices, they prove no more remote tasks than the best placement within a limit has."""
    rng = np.random.default_rng(11)
    for seed in range(40):
        weights = [(1, 3), (2, 5), (1, 1), (3, 4)][seed % 4]
        problem = Latency(
            generate("latency", seed=seed, nodes=3, tasks=5, replicas=2), w_loc=weights[0], w_rem=weights[1]
        )
        front = pareto_front(problem)
        for limit in range(int(front[0][0]) - 1, int(front[-1][0]) + 2):
            least = [work for makespan, work in front if makespan <= limit]
            for _ in range(10):
                weight, remote = rng.integers(0, 5, 2).tolist()
                prices = LatencyPrices(weight, rng.integers(-1, 7, 5), remote)
                proved = problem.priced_remote(limit, prices)
                if least:
                    assert weights[0] * 5 + (weights[1] - weights[0]) * proved <= min(least)


@pytest.mark.parametrize(
    ("limit", "cover", "remote"),
    [
        (2, [], 1),
        (2, [0], 3),
        (2, [0, 1], 2),
        (2, [0, 1, 2], 2),
        (0, [], 6),
        (9, [0], 0),
        (10, [0], 0),
        (1, [0], 4),
    ],
)
def test_least_remote(limit: int, cover: list[int], remote: int) -> None:
    """Tests what a cover of servers proves: its capacity, plus tasks with a replica on other servers with room."""
    problem = posed([0, 0, 9], [[0], [0], [0], [0, 2], [1], []])
    assert problem.homeless == 1
    assert problem.least_remote(limit, np.isin(np.arange(3), cover)) == remote


def test_prices_bound_the_remote_tasks() -> None:
    """Tests the bound by prices by hand: a server of five units with three tasks of its own, and a remote task."""
    problem = posed([0], [[0], [0], [0], []])
    all_sold = LatencyPrices(0, np.array([1, 1, 1, 1]), 1)
    # Within 5 the server takes three local tasks, or two and a remote one: four tasks do not fit.
    assert [problem.price_bound(limit, all_sold) for limit in (0, 5)] == [4, 4 - 3]
    assert problem.price_bound(2**53, all_sold) <= 0
    assert [problem.priced_remote(limit, all_sold) for limit in (5, 6)] == [None, 0]
    for weight, tasks, remote in ((1, [0, 0, 0, 1], 1), (2, [0, 0, 0, 1], 1), (1, [-5, 0, 0, 0], 0)):
        assert problem.priced_remote(6, LatencyPrices(weight, np.array(tasks), 0)) == remote
    assert posed([], []).price_bound(3, LatencyPrices(1, np.zeros(0, dtype=np.int64), 7)) == 0
