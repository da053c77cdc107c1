"""The search over limits: packing, bounds, programs, and the whole frontier against enumeration."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from small_problems import pareto_front, small
from strategies import posed as drawn

from optsched import frontier, generate
from optsched.certificates import proved_bound
from optsched.core.errors import SolverDisagreement
from optsched.core.placement import NONE
from optsched.core.processes.handing import pack, unpack
from optsched.core.results import FrontierPoint, Limit, Proof, Value
from optsched.problems import Latency
from optsched.solvers.profiles import Profile
from optsched.solvers.searches.enumeration import best_placement
from optsched.solvers.searches.latency import (
    GrowingMatchings,
    LatencySearch,
    shifted,
    with_claimed_bound,
    with_placement,
    with_remote,
)
from optsched.solvers.searches.latency_program import compact_program, relaxation

EXACT = Profile("exact")


def hard(seed: int = 3, **weights: int) -> Latency:
    """A problem that has limits which bound and packing leave open."""
    return Latency(generate("latency", seed=seed, nodes=20, tasks=50, replicas=2), **weights)


def searched(problem: Latency, profile: Profile = EXACT, **options: Any) -> LatencySearch:
    """The search that settles open limits by the compact program."""
    return LatencySearch(problem, profile, compact_program, **options)


@pytest.fixture
def late() -> LatencySearch:
    """The search of a hard problem, without time for a program."""
    return searched(hard(), Profile("none", time_limit=0))


@pytest.mark.parametrize("weights", [(1, 3), (2, 5), (1, 1)])
def test_what_is_packed_keeps_its_promise(weights: tuple[int, int]) -> None:
    """Tests every limit around the optimum: a packing fits, is as good as the matching, and never beats the front."""
    failed = 0
    for seed in range(16):
        problem = Latency(
            generate("latency", seed=seed, nodes=4, tasks=6, replicas=2), w_loc=weights[0], w_rem=weights[1]
        )
        front = pareto_front(problem)
        search, matchings = searched(problem), GrowingMatchings(problem)
        for limit in range(int(front[0][0]) - 1, int(front[-1][0]) + 2):
            nodes = search.packed(limit)
            least = [work for makespan, work in front if makespan <= limit]
            if nodes is None:
                failed += bool(least)
                continue
            makespan, work = problem.evaluate(problem.placement(nodes))
            assert makespan <= limit
            remote = int(np.count_nonzero(matchings.at(limit).node == NONE))
            assert work == weights[0] * (6 - remote) + weights[1] * remote == min(least)
    assert failed <= 10


@pytest.mark.parametrize(
    ("weights", "limit", "load", "rows", "apart", "value"),
    [
        # Two servers with room for two each beside one local task; together they leave 1 and 3.
        ((1, 3), 3, [0, 0], [[0, 1], [1], []], [0, 1, NONE], (3, 5)),
        # s0 lacks one unit for a remote task, s2 has one to spare; only by way of s1 can a task get there.
        ((1, 3), 3, [0, 2, 1], [[0, 1], [1, 2], [2], []], [0, 1, 2, NONE], (3, 6)),
        # s0 lacks 3 units, which are all its tasks.
        ((2, 5), 6, [0, 2], [[0, 1], [0, 1], []], [0, 0, NONE], (6, 9)),
        # s0 lacks 1 unit, which is one of its tasks: s1 has no room for the other.
        ((2, 5), 8, [0, 6], [[0, 1], [0, 1], []], [0, 0, NONE], (8, 9)),
    ],
)
def test_scattered_room_is_gathered_along_replicas(
    weights: tuple[int, int], limit: int, load: list[int], rows: list[list[int]], apart: list[int], value: Value
) -> None:
    """Tests that as many local tasks move, along shortest paths of replicas, as a remote one needs room."""
    problem = Latency(small(rows, [1] * len(load), load), w_loc=weights[0], w_rem=weights[1])
    assert with_remote(problem, limit, np.array(apart)) is None
    nodes = with_remote(problem, limit, shifted(problem, limit, np.array(apart)))
    assert problem.evaluate(problem.placement(nodes)) == value


@pytest.mark.parametrize("seed", [3, 5, 11, 13, 21])
def test_papers_scale_needs_no_program(seed: int) -> None:
    """Tests that limits which the first matching does not pack are packed: 1600 servers, 3450 tasks, latency 5."""
    problem = Latency(generate("latency", seed=seed, nodes=1600, tasks=3450))
    assert with_remote(problem, 5, GrowingMatchings(problem).at(5).node) is None
    assert searched(problem).packed(5) is not None


def test_matchings_are_the_same_however_they_are_asked_for() -> None:
    """Tests sizes and covers upwards, downwards and past what is kept, and that the highest one held is reported."""
    problem = Latency(generate("latency", seed=7, nodes=30, tasks=60, replicas=2))
    upwards, downwards = GrowingMatchings(problem), GrowingMatchings(problem)
    assert upwards.latest is None
    sizes = [upwards.at(limit).size for limit in range(1, 15)]
    assert sizes == [downwards.at(limit).size for limit in range(14, 0, -1)][::-1]
    assert sizes == [upwards.size(limit) for limit in range(1, 15)]
    for limit in range(1, 15):
        assert problem.least_remote(limit, upwards.covers[limit]) == 60 - sizes[limit - 1]
        assert problem.least_remote(limit, downwards.covers[limit]) == 60 - sizes[limit - 1]
    assert upwards.latest == (14, upwards.at(14))


def test_bug_matchings_could_not_be_sent() -> None:
    """Tests that matchings go to another process, and grow on there."""
    posed = Latency(generate("latency", nodes=6, tasks=15, seed=1))
    grown = GrowingMatchings(posed)
    size = grown.size(3)
    matchings = unpack(pack(grown))
    assert matchings.sizes == {3: size}
    assert matchings.size(4) == grown.size(4)


@pytest.mark.parametrize("shortcuts", [True, False])
def test_frontier_equals_enumeration(shortcuts: bool) -> None:
    """Tests frontier, optimum and order of the bounds, with and without bound and packing, and every certificate."""
    named = set()
    for seed in range(30):
        posed = drawn("latency", seed, {})
        search = searched(posed, shortcuts=shortcuts)
        points, limit = search.frontier()
        assert [point.objective for point in points] == pareto_front(posed)
        assert limit is None
        optimum, _ = best_placement(posed)
        assert points[0].objective == optimum
        assert posed.counting_bound() <= search.flow_bound() <= optimum[0]
        for point in points:
            assert posed.evaluate(point.placement) == point.objective
            named.update(name for certificate in point.certificates for name in certificate.data)
        check_points(posed, points)
    assert {"cover", "task_prices"} <= named


def check_points(posed: Latency, points: Sequence[FrontierPoint]) -> None:
    """Recompute what the certificates of each point of a frontier prove."""
    previous = None
    for point in points:
        (earlier, work), value = point.certificates, point.objective
        assert (earlier.kind, work.kind) == (Proof.COMBINATORIAL, Proof.COMBINATORIAL)
        # One unit earlier nothing ends (first point), or nothing has less work than the point before.
        given = None if previous is None else (int(value[0]) - 1, 0)
        assert proved_bound(posed, earlier, given) >= (value[0] if previous is None else previous[1])
        assert proved_bound(posed, work, value) == value[1]
        previous = value


@pytest.mark.parametrize("seed", range(3))
def test_papers_scale_is_proved_whole(seed: int) -> None:
    """Tests that at 2000 servers and 3450 tasks every point of the frontier has a certificate that holds."""
    posed = Latency(generate("labl", seed=seed, nodes=2000, tasks=3450))
    points, limit = searched(posed).frontier()
    assert limit is None
    assert points[-1].objective[1] == posed.least_work
    check_points(posed, points)


def test_time_limit_holds_for_the_whole_search(late: LatencySearch) -> None:
    """Tests that an open limit stays open once time is up, and what the search then tells."""
    known = late.first_feasible()
    assert (known.closed, known.nodes, known.stopped) == (False, None, Limit.TIME)
    assert late.open_limit() is known
    assert late.frontier() == ([], Limit.TIME)
    assert not late.problem.violations(late.problem.placement(late.fallback(known.limit)))


def test_what_a_search_holds() -> None:
    """Tests the least limit that is not ruled out, and that the fallback is the held placement that ends first."""
    search = searched(hard(5))
    assert search.problem.counting_bound() < search.flow_bound() == search.open_limit().limit
    best = search.first_feasible()
    assert search.open_limit().limit == best.limit
    assert search.at(best.limit + 5).nodes is not None
    assert search.fallback(best.limit + 9).tolist() == best.nodes.tolist()


def test_claims_of_a_solver(late: LatencySearch) -> None:
    """Tests that a weaker or missing claim keeps the cover's bound, that a stronger one is called the solver's, and
    that a placement beyond the limit is a disagreement.
    """
    known = late.at(late.flow_bound())
    assert with_claimed_bound(known, None) is known
    assert with_claimed_bound(known, 0.0) is known
    stronger = with_claimed_bound(known, (known.remote_bound or 0) + 0.5)
    assert (stronger.remote_bound, stronger.proof) == ((known.remote_bound or 0) + 1, Proof.SOLVER)
    with pytest.raises(SolverDisagreement, match="does not keep the limit"):
        with_placement(late, known, np.zeros(50, dtype=np.int64), None)


@pytest.mark.parametrize("weights", [(1, 3), (2, 5)])
def test_start_is_handed_to_the_program(weights: tuple[int, int]) -> None:
    """Tests that a program stopped before it branches holds the start, and that a start beyond the limit is no hint."""
    posed = hard(w_loc=weights[0], w_rem=weights[1])
    points, _ = searched(posed).frontier()
    best = points[0]
    limit = int(best.objective[0])
    search = searched(posed, Profile("stopped", node_limit=0), start=best.placement, shortcuts=False)
    known = search.at(limit)
    assert search.work(known.remote) == best.objective[1]
    assert search.hint(limit - 1) is None


@pytest.mark.thorough
@pytest.mark.parametrize("weights", [(1, 3), (2, 5), (1, 2), (3, 4), (5, 9)])
def test_hard_band_is_proved_by_name(weights: tuple[int, int]) -> None:
    """Tests that with 1.5 to 2.2 tasks a server every limit is proved, none by a word, and as the Pyomo model says."""
    for seed in range(150):
        rng = np.random.default_rng(seed)
        servers = int(rng.integers(5, 60))
        tasks, replicas = int(servers * rng.uniform(1.5, 2.2)), int(rng.integers(2, 5))
        made = generate("latency", seed=seed, nodes=servers, tasks=tasks, replicas=replicas)
        posed = Latency(made, w_loc=weights[0], w_rem=weights[1])
        points, limit = searched(posed).frontier()
        assert limit is None
        check_points(posed, points)
        if seed % 15 == 0:
            assert frontier(posed, route="pyomo").values == [point.objective for point in points]


def test_the_relaxation_alone_gives_no_word() -> None:
    """Tests that without the program each limit is ruled out by a checked proof, or stays open, below the optimum."""
    ruled_out = 0
    for seed in range(40):
        posed = Latency(generate("latency", seed=seed, nodes=6, tasks=11, replicas=2), w_loc=2, w_rem=3)
        best = searched(posed).first_feasible()
        search = LatencySearch(posed, EXACT, relaxation)
        known = search.first_feasible()
        assert known.limit <= best.limit
        certificate = search.makespan_certificate(known.limit)
        assert certificate.kind is Proof.COMBINATORIAL
        assert proved_bound(posed, certificate) == known.limit
        ruled_out += "task_prices" in certificate.data
    assert ruled_out
