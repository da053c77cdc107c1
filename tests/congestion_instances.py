"""Small problems of `flow-congestion` for its tests: drawn, and the worked examples of the library."""

from __future__ import annotations

from functools import partial
from typing import Any

import strategies

from optsched.core.instance import Instance
from optsched.core.resources import folder
from optsched.instances.files import load
from optsched.problems import FlowCongestion

instances = partial(strategies.instances, "flow-congestion")
problems = partial(strategies.problems, "flow-congestion")


def paper(name: str, **parameters: Any) -> FlowCongestion:
    """The problem on a worked example of the library."""
    instance = load(folder("instances") / "papers" / f"{name}.json")
    assert isinstance(instance, Instance)
    return FlowCongestion(instance, **parameters)
