"""The scheduler stays near the optimum."""

import pytest
from scheduler.placing import place

import optsched


def test_near_the_optimum(optsched_gap):
    """On each trace at most 5 % above the optimum, which is proved."""
    optsched_gap("scheduler.placing:place", "traces/*.json", problem="lsap", max_gap="5%", certify=True)


@pytest.mark.optsched_gap(
    place, optsched.Family("lsap", range(10), {"nodes": 8, "tasks": 12}), "lsap", max_absolute=0.5, over="mean"
)
def test_generated():
    """The marker has held the heuristic to its gap."""


def test_not_worse_than_recorded(optsched_gap):
    """No run is worse than it was."""
    optsched_gap(place, ["papers/guo-fig2", "../traces/small.json"], "lsap", baseline=True)
