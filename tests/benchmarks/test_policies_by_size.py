"""The benchmark of heuristics by size: all of the list are in it."""

from types import ModuleType

from optsched.heuristics import HEURISTICS


def test_every_heuristic_is_measured(study: ModuleType) -> None:
    """Tests that each of the list has a problem, the one that was asked for where it serves it."""
    assert all(study.serving(name, None) in HEURISTICS[name].problems for name in HEURISTICS)
    assert (study.serving("fifo", "flow"), study.serving("labl", "flow")) == ("flow", None)
