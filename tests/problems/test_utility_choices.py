"""Choices of counts of `utility`: that prices rule out nothing that some placement has."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from utility_instances import SWAPS, problems

from optsched.errors import TooLarge
from optsched.instance import Ints
from optsched.problems import utility_choices
from optsched.problems.base import GRID
from optsched.problems.relaxations import UNBOUNDED
from optsched.problems.utility import Allocation, Utility
from optsched.problems.utility_choices import Choices, Cut, choices_at, usage_at
from optsched.problems.utility_levels import LevelPrices
from optsched.problems.utility_rooms import Rooms


def packed(problem: Utility, order: list[int]) -> Allocation:
    """Some placement: of each pair of kind and job, in an order, tasks as long as they fit; fixed reduces first."""
    jobs, nodes = len(problem.jobs), len(problem.free)
    start = None
    if problem.fixed is not None:
        start = Allocation(np.zeros_like(problem.fixed), problem.fixed)
    rooms = Rooms(problem, start)
    pending = [problem.pending_maps, problem.pending_reduces * (problem.fixed is None)]
    for number in order:
        kind, job, node = number % 2, number // 2 % jobs, number // (2 * jobs) % nodes
        if rooms.counts[kind][job].sum() < pending[kind][job] and rooms.fits(kind, job, node):
            rooms.put(kind, job, node)
    return rooms.counts


def chosen(problem: Utility, choices: Choices, asked: list[int], counts: Allocation) -> Ints:
    """The pairs that a placement has, whose utilities ascending are `asked`: 1 for each, else 0."""
    placed = [part.sum(axis=1) for part in counts]
    units = problem.utility_units(*placed)
    steps, levels = sorted(set(asked)), choices.levels
    ranges = np.array([len(choices_at(problem, [step] * len(asked), ()).levels.job) for step in steps])
    rank = np.repeat(np.arange(len(steps)), ranges)
    values = np.zeros(len(levels.job), dtype=np.int64)
    for job in range(len(asked)):
        fits = (levels.job == job) & (rank == steps.index(int(units[job]))) & (levels.fewest <= placed[0][job])
        fits &= (placed[0][job] <= levels.most) & (levels.reduces <= placed[1][job])
        values[np.flatnonzero(fits)[0]] = 1
    return values


@given(st.one_of(problems(), problems(phase="by-maps")), st.data())
@settings(max_examples=40)
def test_no_placement_is_ruled_out(problem: Utility, data: st.DataObject) -> None:
    """Tests that the pairs of counts of a placement are within the rows, whatever the prices of the cuts."""
    jobs = len(problem.jobs)
    if not jobs:
        return
    counts = packed(problem, data.draw(st.lists(st.integers(0, 200), max_size=12)))
    if (problem.used(counts) > problem.free).any():  # fixed reduces, which running tasks leave no room for
        return
    asked = sorted(problem.utility_units(*(part.sum(axis=1) for part in counts)).tolist())
    price = st.one_of(st.integers(-2, 5), st.just(2**50))
    maps = [np.array(data.draw(st.lists(price, min_size=jobs, max_size=jobs))) for _ in range(2)]
    cuts = [
        LevelPrices(own, [data.draw(st.dictionaries(st.integers(0, 3), price, max_size=2)) for _ in range(jobs)])
        for own in maps
    ]
    choices = choices_at(problem, asked, cuts)
    values, program = chosen(problem, choices, asked, counts), choices.program
    assert ((program.lower <= values) & (values <= program.upper)).all()
    sums = np.zeros(len(program.row_lower), dtype=object)
    np.add.at(sums, program.row, program.value.astype(object) * values[program.column])
    assert (sums <= program.row_upper).all()
    assert (sums >= program.row_lower).all()


@given(st.one_of(problems(), problems(phase="by-maps")), st.data())
@settings(max_examples=60)
def test_no_use_is_ruled_out(problem: Utility, data: st.DataObject) -> None:
    """Tests that the counts of a placement are among the choices that use as much, whatever the cuts."""
    jobs = len(problem.jobs)
    counts = packed(problem, data.draw(st.lists(st.integers(0, 200), max_size=12)))
    if not jobs or (problem.used(counts) > problem.free).any():
        return
    placed = [part.sum(axis=1) for part in counts]
    units = int(problem.utility_units(*placed).min())
    free = counts.reduces if problem.fixed is None else np.zeros_like(counts.reduces)
    used = sum(
        int((part * share[:, problem.node_type]).sum())
        for part, share in ((counts.maps, problem.map_share), (free, problem.reduce_share))
    )
    price = st.one_of(st.integers(-5, 5), st.sampled_from([2**50, -(2**50)]))

    def numbers(each: st.SearchStrategy[int]) -> Ints:
        return np.array(data.draw(st.lists(each, min_size=jobs, max_size=jobs)), dtype=np.int64)

    levels = [data.draw(st.dictionaries(st.integers(0, 3), price, max_size=2)) for _ in range(jobs)]
    cuts = [
        Cut(LevelPrices(numbers(price), levels), data.draw(st.integers(0, 3)), numbers(st.integers(0, 4)))
        for _ in range(3)
    ]
    usage = usage_at(problem, units, used - 1, cuts)
    choices = usage.choices()
    assert choices is not None
    own = np.column_stack(placed).tolist()
    assert own in [np.column_stack([usage.maps[one], usage.reduces[one]]).tolist() for one in choices]
    use = usage.use[choices].sum(axis=1).tolist()
    assert use == sorted(use, reverse=True)


def test_use_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests the pairs, a cut by what cpu allows, prices that are rounded down, and what is too much to go through."""
    cpu, none = LevelPrices(np.array([2, 1]), [{}, {}]), np.zeros(2, dtype=np.int64)
    every = usage_at(SWAPS, 0, -1, [])
    assert set(every.job.tolist()) == {0, 1}
    assert every.limit.tolist() == []
    usage = usage_at(SWAPS, 0, -1, [Cut(cpu, 0, none), Cut(LevelPrices(cpu.maps * 2**45, [{}, {}]), 0, none)])
    assert usage.cost[:, 0].tolist() == (usage.maps * np.array([2, 1])[usage.job]).tolist()
    assert usage.cost[:, 1].max() < 2**40
    left = usage.choices()
    assert left is not None
    assert (usage.cost[left].sum(axis=1) <= usage.limit).all()
    with monkeypatch.context() as patch:
        patch.setattr(utility_choices, "_MOST_ENTRIES", 1)
        assert usage.choices() is None
    monkeypatch.setattr(utility_choices, "_MOST_PAIRS", 1)
    with pytest.raises(TooLarge, match="pairs of counts are more than 1"):
        usage_at(SWAPS, 0, -1, [])


def test_choices_by_hand() -> None:
    """Tests the pairs, a cut by what cpu allows, and that prices past 2^20 together are rounded down with their sum."""
    cpu = LevelPrices(np.array([2, 1]), [{}, {}])
    choices = choices_at(SWAPS, [0, GRID // 2], [cpu, LevelPrices(cpu.maps * 2**30, [{}, {}])])
    program = choices.program
    # For 0 the jobs need 2 and 4 maps, for 1/2 one of them the next: cpu of 10 is enough, what patterns hold is not.
    assert choices.levels.job.tolist() == [0, 1, 0, 1]
    assert choices.levels.fewest.tolist()[:2] == [2, 4]
    first = program.value[program.row == 0].tolist()
    assert first == (choices.levels.fewest * [2, 1, 2, 1]).tolist()
    assert program.value[program.row == 1].max() < 2**20
    assert program.row_upper[1] < 2**24
    assert program.row_lower[:2].tolist() == [-UNBOUNDED] * 2
    assert (program.row_lower[2:] == program.row_upper[2:]).all()
