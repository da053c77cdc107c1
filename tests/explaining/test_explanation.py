"""An explanation as a record: every field in the instance's ids, numbers exactly."""

from __future__ import annotations

from fractions import Fraction

from swapped_tasks import SWAPPED, wrong_way

import optsched
from optsched.explaining import explain
from optsched.problems import Problem


def test_the_record_in_ids() -> None:
    """Tests every field of `to_dict`, and that what is not written out is counted in `rest`."""
    document = explain(SWAPPED, wrong_way, 5).to_dict()
    chains = document.pop("chains")
    assert document == {
        "instance": "two",
        "problem": "lsap",
        "parameters": {"levels": (0, 1, 1)},
        "heuristic": "swapped_tasks:wrong_way",
        "heuristic_parameters": {},
        "seed": 5,
        "components": [{"name": "locality-cost", "sense": "min", "unit": "level"}],
        "objective": [1],
        "reference": [0],
        "reference_kind": "optimum",
        "certificate": "dual",
        "gap": [1],
        "moved": 2,
        "cost_of": "locality-cost",
        "fewest": True,
        "nearest": True,
        "rest": {"chains": 0, "moves": 0, "gain": [0]},
        "worths": [],
        "no_worth": None,
        "conflict": None,
    }
    first, second = chains[0].pop("moves")
    assert chains == [{"kind": "cycle", "gain": [1], "ordered": False}]
    assert first == {
        "task": "t2",
        "from": "b",
        "to": "a",
        "cost_from": 1,
        "cost_to": 0,
        "data_from": "remote",
        "data_to": "node",
    }
    assert (second["task"], second["cost_from"], second["cost_to"]) == ("t1", 0, 0)
    shortened = explain(SWAPPED, wrong_way).to_dict(most=0)
    assert shortened["chains"] == []
    assert shortened["rest"] == {"chains": 1, "moves": 2, "gain": [1]}


def test_fractions_are_written_exactly() -> None:
    """Tests that gains on a grid are written as rationals, which add up to the gap."""
    document = explain(flow(), "dl").to_dict()
    gains = [Fraction(chain["gain"][0]) for chain in document["chains"]]
    assert sum(gains) == Fraction(document["gap"][0])
    assert any("/" in str(chain["gain"][0]) for chain in document["chains"])


def flow() -> Problem:
    """The example of two clusters."""
    posed = optsched.problem("flow", "papers/hsu-two-clusters")
    assert isinstance(posed, Problem)
    return posed


def test_repr_is_short() -> None:
    """Tests that a notebook shows a line, whatever the size."""
    assert repr(explain(SWAPPED, wrong_way)) == "<swapped_tasks:wrong_way on two, lsap: gap 1, 1 chain of 2 moves>"
