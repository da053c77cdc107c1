"""RAS: the placement controller's rounds and what they keep, fair sharing, and moves that overload no tracker."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from small_problems import SWAPS
from small_problems import utility as posed
from small_problems import utility_snapshot as snapshot
from strategies import utilities

from optsched.core.errors import UsageError
from optsched.core.instance import MAP, REDUCE, Ints
from optsched.core.placement import NONE, Placement
from optsched.core.registry import Scaling
from optsched.heuristics import ras as controller
from optsched.heuristics.ras import Move, availability, enforce, fair_sharing, map_rounds, ras
from optsched.problems.base import GRID
from optsched.problems.utility import Utility, spread_reduces
from optsched.testing.neighbours import permuted, scaled

RNG = np.random.default_rng(0)  # RAS and fair sharing draw nothing
IMPROVEMENTS = st.sampled_from(["strict", "literal"])


def counts_within(room: Ints, demand: Ints, most: Ints) -> Iterator[tuple[int, ...]]:
    """Every way to put maps on one tracker: counts of each job."""
    for counts in product(*(range(int(limit) + 1) for limit in most)):
        if (np.array(counts, dtype=np.int64) @ demand <= room).all():
            yield counts


def best_lowest(problem: Utility, reduces: Ints) -> int:
    """The highest lowest utility, in units of 2^-20, beside given reduces: every sum of what the trackers can hold."""
    room = problem.free - reduces.T @ problem.demand_reduce
    totals = {(0,) * len(problem.jobs)}
    for node in room:
        more = list(counts_within(node, problem.demand_map, problem.pending_maps))
        sums = {tuple(np.minimum(np.add(total, counts), problem.pending_maps)) for total in totals for counts in more}
        totals = {tuple(int(count) for count in total) for total in sums}
    placed = reduces.sum(axis=1)
    return max(int(problem.utility_units(np.array(total), placed).min()) for total in totals)


# The endless swap -----------------------------------------------------------------------------------------------------


def test_swaps_as_worded_do_not_end() -> None:
    """Tests Sharmilarani et al., note 7: as worded the controller gives and takes the same map for ever, at -1.

    On the second tracker a map of the first job makes way for one of the second, which does not fit, and is given back.
    """
    problem = SWAPS
    reduces = spread_reduces(problem)
    states = [map_rounds(problem, reduces, rounds=rounds, improvement="literal") for rounds in (1, 2, 50)]
    assert [state.ended for state in states] == ["rounds", "endless", "endless"]
    assert [state.lowest for state in states] == [(-1,), (-1, -1), (-1, -1)]
    assert [state.maps.tolist() for state in states] == [[[1, 2], [0, 1]]] * 3
    assert best_lowest(problem, reduces) == -GRID // 2


@given(utilities(most=6))
def test_strict_rounds_settle_and_never_fall(problem: Utility) -> None:
    """Tests that the strict rounds end by themselves, and that the lowest utility rises from round to round."""
    found = map_rounds(problem, spread_reduces(problem), rounds=1000)
    assert found.ended == "settled"
    assert list(found.lowest) == sorted(found.lowest)


@given(utilities(most=6))
def test_each_strict_swap_raises_the_ordered_vector(problem: Utility) -> None:
    """Tests that a swap that is kept raises the paper's ordered vector of utilities, and any other changes nothing."""

    class Watched(controller._Trackers):
        def swap(self, node: int, strict: bool) -> bool:
            before, maps, free = sorted(self.utilities), self.rooms.digest(MAP), self.rooms.free.copy()
            kept = super().swap(node, strict)
            assert kept == (sorted(self.utilities) > before)
            assert kept == (maps != self.rooms.digest(MAP))
            assert kept or np.array_equal(free, self.rooms.free)
            return kept

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(controller, "_Trackers", Watched)
        map_rounds(problem, spread_reduces(problem))


@given(utilities(most=6))
def test_literal_rounds_say_when_they_would_not_end(problem: Utility) -> None:
    """Tests that an endless swap is one: more rounds never change the rest of the record."""
    reduces = spread_reduces(problem)
    found = map_rounds(problem, reduces, rounds=60, improvement="literal")
    assert found.ended in ("settled", "endless")
    more = map_rounds(problem, reduces, rounds=120, improvement="literal")
    assert (more.ended, more.lowest) == (found.ended, found.lowest)
    assert np.array_equal(more.maps, found.maps)


# What the placements keep ---------------------------------------------------------------------------------------------


@given(utilities(most=6), IMPROVEMENTS, st.integers(1, 3))
def test_placements_are_feasible_and_work_conserving(problem: Utility, improvement: str, rounds: int) -> None:
    """Tests that nothing is overloaded, reduces stay where they were spread, and no map that waits fits anywhere."""
    placement = ras(problem, RNG, rounds=rounds, improvement=improvement)
    assert not problem.violations(placement)
    maps, reduces = problem.allocated(placement)
    assert np.array_equal(reduces, spread_reduces(problem))
    left = problem.free - maps.T @ problem.demand_map - reduces.T @ problem.demand_reduce
    for job in np.flatnonzero(maps.sum(axis=1) < problem.pending_maps):
        assert not (problem.demand_map[job] <= left).all(axis=1).any()


@given(utilities(), IMPROVEMENTS)
def test_never_above_the_optimum(problem: Utility, improvement: str) -> None:
    """Tests that the lowest utility never exceeds the most possible beside the same reduces."""
    assume(len(problem.jobs))
    found = problem.evaluate(ras(problem, RNG, improvement=improvement))[0]
    assert found * GRID <= best_lowest(problem, spread_reduces(problem))


@given(utilities(jobs=(1, 1)))
def test_one_job_gets_all_that_fits(problem: Utility) -> None:
    """Tests that with a single job the first round is optimal."""
    assume(len(problem.jobs) == 1)  # not one without any task
    assert problem.evaluate(ras(problem, RNG, rounds=1))[0] * GRID == best_lowest(problem, spread_reduces(problem))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 6)), min_size=1, max_size=3), st.integers(1, 12))
def test_optimal_with_one_resource_and_equal_demands(jobs: list[tuple[int, int]], room: int) -> None:
    """Tests that maps which all take the same of one resource are shared optimally (Sharmilarani et al., note 5)."""
    problem = Utility(snapshot([[2 * room], [2 * room + 1]], [(required, maps, [2]) for required, maps in jobs]))
    assert problem.evaluate(ras(problem, RNG))[0] * GRID == best_lowest(problem, spread_reduces(problem))


@given(utilities(), st.integers(2, 5), st.integers(0, 99))
def test_scales_and_orders_of_tasks_do_not_matter(problem: Utility, factor: int, seed: int) -> None:
    """Tests that the counts stay if a resource is measured in other units, or the tasks stand in another order."""
    assume(problem.free.any())
    units = Scaling((0, 0), {"nodes": ("capacity",), "tasks": ("demand", "demand_shuffle")})
    other: Any = scaled(permuted(problem, np.random.default_rng(seed), kept=["nodes"]), units, Fraction(factor))
    for one, same in zip(problem.allocated(ras(problem, RNG)), other.allocated(ras(other, RNG)), strict=True):
        assert np.array_equal(one, same)


# Single rules ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("capacity", "jobs", "given", "maps"),
    [
        # A job whose reduces found no room takes no map from others: with one its utility is as low.
        ([[3]], [(1, 3, [1], 1, [4]), (1, 2, [1])], {}, [[1], [2]]),
        # The paper's rule of fairness: a job gives up no map if that leaves it at the lowest utility.
        ([[2], [2]], [(1, 1, [2])] * 3, {}, [[1, 0], [0, 1], [0, 0]]),
        # A swap takes as many maps as the taker needs room for, here three, once their job has others.
        ([[7, 9], [6, 0]], [(6, 12, [1, 0]), (2, 2, [3, 1])], {"rounds": 1}, [[4, 6], [1, 0]]),
        ([[7, 9], [6, 0]], [(6, 12, [1, 0]), (2, 2, [3, 1])], {"rounds": 2}, [[1, 6], [2, 0]]),
        # Maps go in turn to equal jobs, and a job that requires more gets more.
        ([[4]], [(2, 6, [1])] * 2, {"rounds": 1}, [[2], [2]]),
        ([[6]], [(2, 6, [1]), (4, 6, [1])], {"rounds": 1}, [[2], [4]]),
        # Of two jobs that could make way, at 1/2 and at 0, the one of higher utility does. Both have maps on the second
        # tracker too, on which no map of the taker fits.
        ([[8, 9], [10, 0]], [(2, 4, [2, 0]), (2, 2, [3, 1]), (4, 9, [2, 0])], {"rounds": 1}, [[1, 2], [1, 0], [1, 3]]),
        ([[8, 9], [10, 0]], [(2, 4, [2, 0]), (2, 2, [3, 1]), (4, 9, [2, 0])], {"rounds": 2}, [[0, 2], [2, 0], [1, 3]]),
        # Two maps that could make way stay, since the taker needs room for three.
        ([[7]], [(3, 6, [1]), (2, 2, [3])], {}, [[4], [1]]),
        # A job does not make way for itself where another one, which has all its maps, is lower still.
        ([[8]], [(9, 1, [1]), (2, 5, [2])], {"improvement": "literal"}, [[1], [3]]),
    ],
)
def test_single_rules(capacity: list[list[int]], jobs: list[Any], given: dict[str, Any], maps: list[list[int]]) -> None:
    """Tests the maps of each job on each tracker, by what each rule says."""
    problem = Utility(snapshot(capacity, jobs))
    found = map_rounds(problem, spread_reduces(problem), **given)
    assert found.maps.tolist() == maps
    if "rounds" not in given:
        assert found.ended == "settled"
    if capacity == [[7]]:
        assert map_rounds(problem, spread_reduces(problem), improvement="literal").ended == "endless"


@given(utilities())
def test_worth_of_maps_is_utility(problem: Utility) -> None:
    """Tests that what RAS ranks jobs by is the utility that the problem evaluates."""
    reduces = spread_reduces(problem).sum(axis=1)
    for job in range(len(problem.jobs)):
        worth = problem.map_worth(job, int(reduces[job]))
        for maps in range(int(problem.pending_maps[job]) + 1):
            counts = np.zeros(len(problem.jobs), dtype=np.int64)
            counts[job] = maps
            assert problem.utility_units(counts, reduces)[job] == worth[maps]


ORDERS = st.sampled_from(["in-turn", "availability"])


@given(utilities(), st.integers(0, 3), st.integers(0, 3), ORDERS)
def test_placements_are_feasible_and_keep_the_slots(
    problem: Utility, slots: int, reduce_slots: int, advertised: str
) -> None:
    """Tests that no tracker is overloaded or runs more than its slots, and that none that could be used is left."""
    placement = fair_sharing(problem, RNG, slots=slots, reduce_slots=reduce_slots, advertised=advertised)
    assert not problem.violations(placement)
    maps, reduces = problem.allocated(placement)
    state = problem.instance.state
    offered = [slots or state.idle_slots, reduce_slots or state.idle_reduce_slots]
    free = problem.free - maps.T @ problem.demand_map - reduces.T @ problem.demand_reduce
    kinds = [
        (maps, problem.pending_maps, problem.demand_map),
        (reduces, problem.pending_reduces, problem.demand_reduce),
    ]
    if problem.fixed is not None:
        assert np.array_equal(reduces, spread_reduces(problem))
        kinds.pop()
    for (count, pending, demand), limit in zip(kinds, offered, strict=False):
        assert (count.sum(axis=0) <= limit).all()
        idle = count.sum(axis=0) < limit
        for job in np.flatnonzero(count.sum(axis=1) < pending):
            assert not (idle & (demand[job] <= free).all(axis=1)).any()


@given(st.lists(st.integers(1, 8), min_size=1, max_size=4), st.integers(1, 3), st.integers(1, 4))
def test_equal_shares(waiting: list[int], nodes: int, slots: int) -> None:
    """Tests that where everything fits a job has fewer slots than another, by more than one, only if it has no more.

    And that all slots are used, or all tasks placed.
    """
    problem = Utility(snapshot([[100]] * nodes, [(None, maps, [1]) for maps in waiting]))
    shares = problem.allocated(fair_sharing(problem, RNG, slots=slots)).maps.sum(axis=1)
    assert shares.sum() == min(sum(waiting), nodes * slots)
    wanting = shares[shares < np.array(waiting)]
    assert wanting.min(initial=100) >= shares.max() - 1


def test_running_tasks_count() -> None:
    """Tests that a job which runs two maps already gets its next slot only when the other one runs as many."""
    jobs = [{"maps": 3, "map": {"cpu": 1}}, {"maps": 3, "map": {"cpu": 1}}]
    problem = posed({"cpu": [9]}, jobs, running=[(0, MAP, 0), (0, MAP, 0), (1, REDUCE, 0)])
    shares = [problem.allocated(fair_sharing(problem, RNG, slots=slots)).maps.sum(axis=1) for slots in (1, 2, 3, 4)]
    assert [share.tolist() for share in shares] == [[0, 1], [0, 2], [1, 2], [1, 3]]


def test_looks_at_no_resource_but_to_refuse() -> None:
    """Tests that a slot goes to the job that has fewest, though another's map would leave room for two more."""
    problem = Utility(snapshot([[8]], [(None, 3, [5]), (None, 4, [2])]))
    assert problem.allocated(fair_sharing(problem, RNG, slots=4)).maps.tolist() == [[1], [1]]


@pytest.mark.parametrize(("advertised", "node"), [("in-turn", 0), ("availability", 1)])
def test_order_in_which_slots_are_advertised(advertised: str, node: int) -> None:
    """Tests that the only map goes to the first tracker, or to the one with the most of its scarcest resource free."""
    problem = Utility(snapshot([[4, 8], [4, 4]], [(None, 1, [1, 0]), (None, 0, [1, 1], 1, [3, 5])]), reduces="fixed")
    assert problem.fixed.tolist()[1] == [1, 0]
    maps = problem.allocated(fair_sharing(problem, RNG, advertised=advertised)).maps
    assert maps[0].nonzero()[0].tolist() == [node]


# The task scheduler: moves --------------------------------------------------------------------------------------------


def replayed(problem: Utility, current: Placement, seconds: list[float], move: Move) -> np.ndarray[Any, Any]:
    """Go through the steps, checking each against what runs; the node of each of the problem's tasks at the end."""
    node = problem.nodes_of(current).copy()
    begun = np.where(node == NONE, np.nan, 0.0)
    position_of = {task: position for position, task in enumerate(problem.tasks.tolist())}
    clock = 0.0
    for step in move.steps:
        task = position_of[step.task]
        assert step.time >= clock
        clock = step.time
        if step.what == "ended":
            assert node[task] == step.node
            assert step.time == begun[task] + seconds[task]
            node[task] = NONE
        else:
            assert np.isnan(begun[task])
            node[task], begun[task] = step.node, step.time
        assert not [fault for fault in problem.violations(problem.placement(node)) if fault.constraint == "capacity"]
    return node


@st.composite
def moves(draw: st.DrawFn) -> tuple[Utility, Placement, Placement, list[float], float]:
    """A problem, a placement that runs, one to move to, how long tasks take, and the buffer."""
    problem = draw(utilities(most=6, reduces="free"))
    placements = [
        problem.placement([NONE] * len(problem.tasks)),
        fair_sharing(problem, RNG, slots=draw(st.integers(1, 3))),
        ras(problem, RNG),
        ras(problem, RNG, rounds=1, improvement="literal"),
    ]
    current, target = draw(st.sampled_from(placements)), draw(st.sampled_from(placements))
    count = len(problem.tasks)
    # Other tasks of the same jobs run than the ones that a placement names first.
    order = np.array(draw(st.permutations(range(count))), dtype=np.int64)
    job, kind = (column[problem.tasks] for column in (problem.instance.workload.job, problem.instance.workload.kind))
    order = order[np.lexsort((job[order], kind[order]))]
    nodes = np.full(count, NONE)
    nodes[order] = problem.nodes_of(current)[np.lexsort((job, kind))]
    seconds = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0, 3.5, 10.0]), min_size=count, max_size=count))
    return problem, problem.placement(nodes), target, seconds, draw(st.sampled_from([0.0, 2.0]))


@given(moves())
def test_never_overloaded_and_reaches_the_target(
    case: tuple[Utility, Placement, Placement, list[float], float],
) -> None:
    """Tests each step of a move, and that at its end each tracker runs what it is to, or all that there is.

    A job never starts on a tracker that has none of it in the target; nothing moves once it runs. Between two steps at
    most `buffer` passes after a task has ended before its tracker is advertised.
    """
    problem, current, target, seconds, buffer = case
    move = enforce(problem, current, target, seconds, buffer=buffer)
    node = replayed(problem, current, seconds, move)
    assert np.array_equal(problem.nodes_of(move.runs), node)
    waiting = {step.task for step in move.steps if step.what == "started"}
    waiting |= set(problem.tasks[problem.nodes_of(current) != NONE].tolist())
    left = np.array([task not in waiting for task in problem.tasks.tolist()], dtype=bool)
    positions = (problem.map_positions, problem.reduce_positions)
    for runs, wanted, rows in zip(problem.allocated(move.runs), problem.allocated(target), positions, strict=True):
        for job, tasks in enumerate(rows):
            assert (runs[job] <= wanted[job]).all()
            assert not left[tasks].any() or np.array_equal(runs[job], wanted[job])
    kind, job, wanted = problem.instance.workload.kind, problem.instance.workload.job, problem.allocated(target)
    rows = {job: row for row, job in enumerate(problem.jobs.tolist())}
    for step in (step for step in move.steps if step.what == "started"):
        assert wanted[kind[step.task]][rows[int(job[step.task])], step.node] > 0
    ends = [step.time for step in move.steps if step.what == "ended"]
    assert all(time <= move.seconds for time in ends)
    assert move.seconds == 0 or ends


@given(utilities(reduces="free"))
def test_a_placement_that_runs_already_is_reached_at_once(problem: Utility) -> None:
    """Tests that nothing is started or awaited where the trackers run what they are to."""
    placement = ras(problem, RNG)
    move = enforce(problem, placement, placement, np.ones(len(problem.tasks)))
    assert (move.steps, move.seconds, move.runs) == ((), 0.0, placement)


def started(move: Move) -> list[tuple[float, int, int]]:
    """Time, task and node of what was started."""
    return [(step.time, step.task, step.node) for step in move.steps if step.what == "started"]


def test_the_most_available_tracker_is_advertised_first() -> None:
    """Tests that of two trackers that become free within the buffer the more available one is served first.

    With no buffer the one that becomes free first is.
    """
    problem = Utility(snapshot([[3], [1]], [(None, 4, [1]), (None, 2, [1])]))
    current, target = problem.placement([0, 0, 0, 1, NONE, NONE]), problem.placement([NONE] * 4 + [0, 1])
    seconds = [5.0, 30.0, 30.0, 6.0, 1.0, 1.0]
    assert started(enforce(problem, current, target, seconds, buffer=0))[:2] == [(5, 4, 0), (6, 5, 1)]
    assert started(enforce(problem, current, target, seconds, buffer=2))[:2] == [(7, 4, 1), (7, 5, 0)]


def test_availability_is_the_least_share() -> None:
    """Tests the slot advertisement's measure, with a resource that a tracker lacks, and with none at all."""
    assert availability([[1, 6], [4, 0], [2, 2]], [[2, 8], [4, 0], [2, 2]]).tolist() == [0.5, 0.0, 1.0]
    assert availability(np.zeros((2, 0)), np.zeros((2, 0))).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("current", "target", "seconds", "buffer", "said"),
    [
        ([0, 0], [0, NONE], [1, 1], 0, "the current placement is infeasible: capacity"),
        ([0, NONE], [0, 0], [1, 1], 0, "the target placement is infeasible: capacity"),
        ([0, NONE], [0, NONE], [1], 0, "give seconds, 0 or more, for each"),
        ([0, NONE], [0, NONE], [1, np.nan], 0, "give seconds, 0 or more, for each"),
        ([0, NONE], [0, NONE], [1, -1], 0, "give seconds, 0 or more, for each"),
        ([0, NONE], [0, NONE], [1, 1], -1, "buffer is -1"),
        ([0, NONE], [0, NONE], [1, 1], np.inf, "buffer is inf"),
        ([0, NONE], [0, NONE], [1, 1e10], 0, "for each of the problem's tasks, and 9e\\+09 at most"),
        ([0, NONE], [0, NONE], [1, 1], 1e10, "buffer is 10000000000.0; give seconds, 0 or more, and 9e\\+09 at most"),
    ],
)
def test_refuses(current: list[int], target: list[int], seconds: list[float], buffer: float, said: str) -> None:
    """Tests that placements that overload a tracker, and times that are none, are refused with what is wrong."""
    problem = Utility(snapshot([[1]], [(None, 2, [1])]))
    with pytest.raises(UsageError, match=said):
        enforce(problem, problem.placement(current), problem.placement(target), seconds, buffer=buffer)
