"""`flow`: Hsu and Freeh's penalties by hand, each parameter, the fields needed, and the bound of prices."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from optsched.core.errors import InputError, MissingField
from optsched.core.instance import RUNNING, Cluster, Instance, Ragged, Workload
from optsched.problems import Flow
from optsched.problems.flow import effective_load

#: Node a runs two maps of 3 and 5 MB/s, and 17 of its 85 MB/s out are in use.
LOADS: dict[str, Any] = {"out_in_use": [17.0, 0.0, 0.0], "running_rates": Ragged.from_rows([[3.0, 5.0], [], []], float)}


def cluster(**columns: Any) -> Cluster:
    """Nodes a and b in rack r1, c in r2."""
    given: dict[str, Any] = {
        "rack": [0, 0, 1],
        "rack_ids": ["r1", "r2"],
        "slots": [4, 4, 4],
        "rate_in": [80.0, 80.0, 40.0],
        "rate_process": [20.0, 20.0, 20.0],
        "rate_out": [85.0, 85.0, 85.0],
    }
    return Cluster(["a", "b", "c"], **{**given, **columns})


def posed(rows: list[list[int]], rates: list[float], idle: list[int] | None = None, **parameters: Any) -> Flow:
    """Maps with the given replicas and input rates."""
    workload = Workload([f"t{task}" for task in range(len(rows))], replicas=Ragged.from_rows(rows), rate_in=rates)
    return Flow(Instance.initial(cluster(), workload, idle_slots=idle or [2, 1, 1], **LOADS), **parameters)


def test_effective_load_rounds_once() -> None:
    """Tests that e_m is that of fractions: the sum and the variance are each rounded once, whatever the rates."""
    rng = np.random.default_rng(0)
    for scale in (1.0, 1e-7, 1e100):
        rates = np.round(rng.random(7) * 20, 3) * scale
        held = [Fraction(repr(rate)) for rate in rates.tolist()]
        mean = sum(held) / len(held)
        variance = sum((rate - mean) ** 2 for rate in held) / len(held)
        assert effective_load(rates) == float(sum(held)) - math.sqrt(variance)


def test_running_map_needs_its_rate() -> None:
    """Tests that a map that runs without a rate is a fault, even on a node that offers no slot."""
    nodes = cluster()
    workload = Workload(["m", "t"], rate_in=[np.nan, 1.0])
    with pytest.raises(MissingField, match=r"tasks\[0\]\.rate_in: flow needs the input rate of a running map, in MB/s"):
        Flow(Instance.initial(nodes, workload, status=[RUNNING, 0], node=[0, -1], idle_slots=[0, 1, 1]))


def test_classes_and_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that equal tasks are one class whatever the order of replicas, and that blocks of any size agree."""
    rows, rates = [[0, 2], [2, 0], [0], [0, 2]], [1.0, 1.0, 1.0, 2.0]
    whole = posed(rows, rates)
    assert whole.classes().of_task.tolist() == [0, 0, 1, 2]
    monkeypatch.setattr("optsched.problems.assignment.BLOCK", 1)
    assert np.array_equal(posed(rows, rates).class_units, whole.class_units)
    assert not whole.class_units.flags.writeable


def test_costs_past_exact_arithmetic() -> None:
    """Tests that rates whose total leaves exact arithmetic on the grid are refused."""
    with pytest.raises(InputError, match=r"past 2\^53/1048576; scale the costs or rates down"):
        posed([[]], [2.0**40])
