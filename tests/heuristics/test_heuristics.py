"""The list of all heuristics: whole, and true to the modules."""

from __future__ import annotations

from optsched.heuristics import HEURISTICS
from optsched.heuristics.running.base import table_row
from optsched.problems import PROBLEMS


def test_list_is_whole() -> None:
    """Tests that each entry has a unique name, a doc of one line, known problems, one way to run, and a row."""
    for name, entry in HEURISTICS.items():
        assert entry.name == name
        assert entry.doc
        assert "\n" not in entry.doc
        assert set(entry.problems) <= set(PROBLEMS)
        assert (entry.batch is None) == entry.online
        assert table_row(entry)["name"] == name
    design = """
        dl rand lsap-sched lsap-fair-sched flow-sched flow-greedy balancing fifo larts delay fair capacity
        probabilistic least-cost coupling quincy sequential round-robin flow-based labl
        joss-t joss-j ras fair-sharing observed
    """
    assert set(design.split()) == set(HEURISTICS)
