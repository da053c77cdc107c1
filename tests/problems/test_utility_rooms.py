"""What is free on trackers while tasks are placed and taken away: that of the problem itself."""

from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from utility_instances import utilities

from optsched.problems.utility import Allocation, Utility
from optsched.problems.utility_rooms import Rooms


@given(utilities(), st.data())
def test_rooms_are_those_of_the_problem(problem: Utility, data: st.DataObject) -> None:
    """Tests that after any tasks are put and taken what is free is the capacity less what the problem says is used."""
    jobs, nodes = len(problem.jobs), len(problem.free)
    rooms = Rooms(problem)
    counts = Allocation(*(np.zeros((jobs, nodes), dtype=np.int64) for _ in range(2)))
    for _ in range(data.draw(st.integers(0, 12)) if jobs else 0):
        kind, job, node = (data.draw(st.sampled_from(range(size))) for size in (2, jobs, nodes))
        if data.draw(st.booleans()):
            if counts[kind][job].sum() == (problem.pending_maps, problem.pending_reduces)[kind][job]:
                continue
            fits = rooms.fits(kind, job, node)
            counts[kind][job, node] += 1
            assert fits == bool((problem.used(counts) <= problem.free).all()) or (rooms.free < 0).any()
            rooms.put(kind, job, node)
        elif counts[kind][job, node]:
            counts[kind][job, node] -= 1
            rooms.put(kind, job, node, -1)
        assert np.array_equal(rooms.free, problem.free - problem.used(counts))
    assert np.array_equal(Rooms(problem, counts).free, rooms.free)


@given(utilities(), st.sampled_from([0, 1, 8]), st.data())
def test_first_job_that_fits(problem: Utility, tried: int, data: st.DataObject) -> None:
    """Tests that it is the first of an order, however many jobs are looked at one by one before all are at once."""
    rooms = Rooms(problem)
    for job in range(len(problem.jobs)):
        for kind, most in enumerate((problem.pending_maps, problem.pending_reduces)):
            node = data.draw(st.sampled_from(range(len(problem.free))))
            if most[job] and rooms.fits(kind, job, node):
                rooms.put(kind, job, node)
    drawn = data.draw(st.permutations(range(len(problem.jobs))))
    for kind, most in enumerate((problem.pending_maps, problem.pending_reduces)):
        order = [(0.5, job) for job in drawn if rooms.placed[kind][job] < most[job]]  # those that wait
        for node in range(len(problem.free)):
            with patch("optsched.problems.utility_rooms._TRIED", tried):
                found = rooms.first(kind, node, order)
            assert found == next((job for _, job in order if rooms.fits(kind, job, node)), None)
