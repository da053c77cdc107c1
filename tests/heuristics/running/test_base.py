"""What a heuristic is: a batch callable or a policy, which problems it serves, and what a policy may know."""

from typing import Any

import numpy as np
import pytest

from optsched.core.errors import UsageError
from optsched.core.instance import FINISHED, MAP, PENDING, REDUCE, RUNNING, Cluster, Ragged, Workload
from optsched.heuristics.running.base import Event, Heuristic, Offer, Policy, View, table_row
from optsched.problems.parameters import Parameter


def own(**changes: Any) -> Heuristic:
    """A batch heuristic for `lsap`, with changes."""
    given: dict[str, Any] = {"batch": list, "parameters": (Parameter("shift", 2, int, "nodes to go on"),)}
    return Heuristic("mine", "guo2012", "III.A", ("lsap",), "Mine.", **given | changes)


@pytest.mark.parametrize("ways", [{}, {"batch": list, "policy": list}])
def test_either_batch_or_policy(ways: dict[str, Any]) -> None:
    """Tests that a heuristic without a way to run, or with two, is wrong usage."""
    with pytest.raises(UsageError, match='heuristic "mine": give batch or policy, and one of them only'):
        Heuristic("mine", "", "", ("lsap",), "Mine.", **ways)


def test_what_is_shipped() -> None:
    """Tests that only listed code of this package is trusted: not a user's, nor that of a package of a similar name."""
    assert own(batch=None, policy=Policy).shipped
    assert not own(batch=None, policy=Policy, parameters=None).shipped
    assert not own().shipped

    def similar() -> None:
        """Of a package that is called like this one."""

    similar.__module__ = "optsched_more.rules"
    assert not own(batch=similar).shipped


def test_row_of_the_list() -> None:
    """Tests what a list says of a heuristic, and that one whose parameters are unknown has none there."""
    assert table_row(own()) == {
        "name": "mine",
        "doc": "Mine.",
        "paper": "guo2012",
        "algorithm": "III.A",
        "online": False,
        "problems": ["lsap"],
        "parameters": {"shift": {"default": 2, "doc": "nodes to go on"}},
    }
    assert table_row(own(parameters=None))["parameters"] == {}


def test_view() -> None:
    """Tests that a view tells waiting maps from waiting reduces, increasing, and the free slots of each kind."""
    workload = Workload(["r1", "m1", "m2", "m3", "r2"], kind=[REDUCE, MAP, MAP, MAP, REDUCE])
    status = np.array([PENDING, RUNNING, PENDING, FINISHED, PENDING])
    maps, reduces = np.array([1, 0]), np.array([0, 3])
    slots = maps, reduces, np.array([2, 1]), np.array([4, 5])
    rest = np.full(5, np.nan), np.zeros(2), Ragged.empty(2, float), np.zeros(0)
    view = View("lsap", {}, Cluster(["a", "b"]), workload, status, np.full(5, -1), *slots, *rest)
    assert view.pending.tolist() == view.pending_of("map").tolist() == [2]
    assert view.pending_of("reduce").tolist() == [0, 4]
    assert (view.free_slots("map") is maps, view.free_slots("reduce") is reduces) == (True, True)
    assert (view.slots("map").tolist(), view.slots("reduce").tolist()) == ([2, 1], [4, 5])
    assert (view.shuffle, view.true_shuffle) == (None, None)


def test_a_policy_need_not_start_or_listen() -> None:
    """Tests that a class with nothing but `offer` inherits the rest, and that a heartbeat is of one slot by default."""

    class Idle(Policy):
        """Takes nothing."""

        def offer(self, offer: Offer, view: View) -> tuple[int, ...]:
            return ()

    idle: Any = Idle()
    assert idle.start(None, np.random.default_rng(0)) is None
    assert idle.notify(Event(0.0, "job-arrived", 0), None) is None
    assert not idle.fills_nodes
