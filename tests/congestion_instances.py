"""Tiny but rich instances of `flow-congestion` for hypothesis: maps and reduces that wait, run or have ended.

At most 3 nodes with 0 to 2 idle slots of each kind, 3 pending maps and 2 pending reduces; few rates, so that types have
several members. Reduces read from maps that run, have finished, or wait.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import strategies

from optsched.core.instance import (
    Instance,
)
from optsched.core.resources import folder
from optsched.instances.files import load
from optsched.problems import FlowCongestion

__all__ = ["PARAMETERS", "instances", "paper", "problems"]

RATES = [0.0, 0.27, 3.2, 12.8]

#: Values from which each parameter is drawn.
PARAMETERS: dict[str, list[Any]] = {
    "f_c": [(0, 0.1, 1), (0, 0, 0), (0.5, 0.1, 0.2)],
    "scale": ["rate_in", "rate_process", 1, 7.5],
    "deviation": [True, False],
    "weights": ["literal", "shuffle"],
}


instances = partial(strategies.instances, "flow-congestion")
problems = partial(strategies.problems, "flow-congestion")


def paper(name: str, **parameters: Any) -> FlowCongestion:
    """The problem on a worked example of the library."""
    instance = load(folder("instances") / "papers" / f"{name}.json")
    assert isinstance(instance, Instance)
    return FlowCongestion(instance, **parameters)
