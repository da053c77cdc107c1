"""Routes of `latency`: the search and the models, what limits and interrupts leave, the frontier and its proofs."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from small_problems import FIGURE_2, small

from optsched import Limit, Proof, Solution, Termination, UsageError, bounds, certify, frontier, generate, solve
from optsched.problems import Latency, Lsap
from optsched.routes.call import Call
from optsched.routes.latency import by_route, latency_search
from optsched.solvers.profiles import Profile
from optsched.solvers.searches.latency import LatencySearch

#: Bound and packing do not meet at limit 5, and HiGHS needs branching there.
OPEN_LIMIT = {"seed": 3, "nodes": 20, "tasks": 50, "replicas": 2}


@contextmanager
def ctrl_c_after(seconds: float) -> Iterator[None]:
    """Send this process an interrupt after some seconds."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def test_interrupt_is_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C outside the solver leaves a feasible placement and a bound, with limit INTERRUPTED."""
    posed = Latency(generate("latency", seed=1, nodes=50, tasks=100))

    def slow(self: LatencySearch, limit: int) -> None:
        time.sleep(30)

    monkeypatch.setattr(LatencySearch, "packed", slow)
    with ctrl_c_after(0.3):
        monkeypatch.setattr(LatencySearch, "fallback", lambda self, limit: np.zeros(100, dtype=np.int64))
        solution = solve(posed)
    assert (solution.termination, solution.limit) == (Termination.FEASIBLE, Limit.INTERRUPTED)
    assert solution.bound[0] is not None
    assert certify(posed, solution).valid


def test_bounds_name_what_they_bound() -> None:
    """Tests that l* is no bound of the job where a server is loaded beyond it, and the order l** <= l_flow."""
    found = {entry.name: entry for entry in bounds(Latency(small([[0]], [1, 1], [0, 100])))}
    assert (found["l*"].value, found["l*"].component) == (51, None)
    assert (found["l**"].value, found["l_flow"].value, found["least-work"].value) == (1, 1, 1)
    assert "not of the job" in found["l*"].bounds
    assert bounds(Lsap(FIGURE_2))[0].value == 0


def test_limits_that_only_a_program_rules_out_are_proved() -> None:
    """Tests that where a model says that nothing ends within a limit, the default route's cover or prices prove it."""
    words = 0
    for seed in range(10, 35):
        posed = Latency(generate("latency", seed=seed, nodes=3, tasks=6, replicas=2, max_load=4), w_rem=4)
        best = solve(posed, route="brute-force").objective
        for route in ("search", "pyomo"):
            solution = solve(posed, route=route)
            assert (solution.objective, solution.certificate) == (best, Proof.COMBINATORIAL)
            assert certify(posed, solution).proved
        said = by_route(Call(posed, "pyomo"), Profile("exact"))
        words += said.certificate is Proof.SOLVER
    assert words


def test_bug_frontier_where_remote_tasks_take_no_longer() -> None:
    """Tests that the Pyomo model, which is indifferent to remote tasks of equal work, still closes the frontier."""
    problem = Latency(small([[1], [2], [0], [0]], [1, 1, 1]), w_loc=1, w_rem=1)
    for route in ("search", "arrays", "pyomo"):
        found = frontier(problem, route=route)
        assert (found.values, found.complete) == ([(2, 4)], True), route


class Waiting(Latency):
    """A class that no record names."""

    name = "waiting"


def test_bug_search_answered_for_a_derived_class() -> None:
    """Tests that a class without a record has no search: it knows neither its objective nor its constraints."""
    derived = Waiting(FIGURE_2)
    with pytest.raises(UsageError, match=r"^waiting: no record names routes of Waiting, and the search knows its base"):
        latency_search(derived)


@pytest.mark.parametrize("order", list(permutations(["bounds", "solve", "frontier"])), ids="-".join)
def test_what_was_asked_before_changes_no_answer(order: tuple[str, ...]) -> None:
    """Tests that bounds, optimum and frontier of one problem are what each is by itself, in any order, and again."""
    for drawn in (OPEN_LIMIT, {"seed": 5, "nodes": 120, "tasks": 260}):
        instance = generate("latency", **drawn)
        asked = {"bounds": bounds, "solve": solve, "frontier": frontier}
        alone = {name: _told(asked[name](Latency(instance))) for name in order}
        problem = Latency(instance)
        for name in (*order, *order):
            assert _told(asked[name](problem)) == alone[name]


def _told(found: Any) -> Any:
    """What bounds, a solution or a frontier say, without times."""
    if isinstance(found, Solution):
        return found.decision, found.objective, found.certificates, dict(found.solver), found.raw_status
    return found
