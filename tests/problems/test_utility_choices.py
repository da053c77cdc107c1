"""Choices of counts of `utility`: that prices rule out nothing that some placement has."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from utility_instances import SWAPS, problems

from optsched.instance import Ints
from optsched.problems.base import GRID
from optsched.problems.relaxations import UNBOUNDED
from optsched.problems.utility import Allocation, Utility
from optsched.problems.utility_choices import Choices, choices_at
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
    steps, jobs = sorted(set(asked)), len(asked)
    pairs = np.array([choices_at(problem, [step] * jobs, ()).counts.shape[1] for step in steps])
    rank = np.repeat(np.arange(len(steps)), pairs)
    values = np.zeros(len(rank), dtype=np.int64)
    owner = choices.program.row[len(choices.program.row) - 2 * len(rank) : len(choices.program.row) - len(rank)]
    for job in range(jobs):
        own = np.zeros(2 * jobs, dtype=np.int64)
        own[[job, jobs + job]] = placed[0][job], placed[1][job]
        fits = (owner - owner.min() == job) & (rank == steps.index(int(units[job])))
        fits &= (choices.counts <= own[:, None]).all(axis=0)
        values[np.flatnonzero(fits)[0]] = 1
    return values


@given(problems(), st.data())
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
    prices = st.lists(price, min_size=2 * jobs, max_size=2 * jobs)
    cuts = [np.array(own, dtype=np.int64) for own in data.draw(st.lists(prices, max_size=2))]
    choices = choices_at(problem, asked, cuts)
    values, program = chosen(problem, choices, asked, counts), choices.program
    assert ((program.lower <= values) & (values <= program.upper)).all()
    sums = np.zeros(len(program.row_lower), dtype=object)
    np.add.at(sums, program.row, program.value.astype(object) * values[program.column])
    assert (sums <= program.row_upper).all()
    assert (sums >= program.row_lower).all()


def test_choices_by_hand() -> None:
    """Tests the pairs, a cut by what cpu allows, and that prices past 2^20 together are rounded down with their sum."""
    cpu = np.array([2, 1, 0, 0])
    choices = choices_at(SWAPS, [0, GRID // 2], [cpu, cpu * 2**30])
    program = choices.program
    # For 0 the jobs need 2 and 4 maps, for 1/2 one of them the next: cpu of 10 is enough, what patterns hold is not.
    assert choices.counts[:2, :2].tolist() == [[2, 0], [0, 4]]
    assert choices.counts.shape == (4, 4)
    first = program.value[program.row == 0].tolist()
    assert first == (cpu @ choices.counts).tolist()
    assert program.value[program.row == 1].max() < 2**20
    assert program.row_upper[1] < 2**24
    assert program.row_lower[:2].tolist() == [-UNBOUNDED] * 2
    assert (program.row_lower[2:] == program.row_upper[2:]).all()
