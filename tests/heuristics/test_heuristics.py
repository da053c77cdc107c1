"""The list of all heuristics: whole, and true to the modules; what their parameters refuse."""

import re

import pytest

from optsched.core.errors import UsageError
from optsched.heuristics import HEURISTICS
from optsched.heuristics.running.base import table_row
from optsched.problems import PROBLEMS
from optsched.problems.base import resolve

#: Numbers that parameters of heuristics refuse; none takes a text that is no number or name.
OUT_OF_RANGE = {
    "rand": {"randomness": (1.5, -1)},
    "lsap-sched": {"window": (-1, 0.5)},
    "lsap-fair-sched": {"alpha": (-1,)},
    "delay": {"D": (-1, 0.5), "D1": (-1,), "D2": (-1,)},
    "fair": {"delay": (-1, 0.5)},
    "capacity": {"reduce_delay": (-1, 0.5)},
    "probabilistic": {"p_min": (1.5, -0.1), "skip_limit": (-1, 1.5)},
    "coupling": {"p_rack": (2,), "p_off": (-1,), "waits": (-1, 0.5)},
    "quincy": {"rack": (-1,), "off_rack": (-1,)},
    "sequential": {"starts": (0, 1.5)},
    "round-robin": {"start": (-1, 0.5)},
    "labl": {"lbar": ("l*", 1.5), "start": ("inf",)},
    "joss-t": {"td": (-1,), "large": (-1,)},
    "ras": {"rounds": (0, 1.5)},
    "fair-sharing": {"slots": (-1, 0.5), "reduce_slots": (-1, 0.5)},
}


@pytest.mark.parametrize("name", HEURISTICS)
def test_what_parameters_refuse(name: str) -> None:
    """Tests each parameter with values that are none, and a parameter that there is not."""
    table, refused = HEURISTICS[name].parameters or (), OUT_OF_RANGE.get(name, {})
    for parameter in table:
        for wrong in ("no such value", *refused.get(parameter.name, ())):
            with pytest.raises(UsageError, match=re.escape(f"{name}: {parameter.name}={wrong!r}: ")):
                resolve(name, table, {parameter.name: wrong})
    with pytest.raises(UsageError, match=f'{name} has no parameter "selection"'):
        resolve(name, table, {"selection": "free"})


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
