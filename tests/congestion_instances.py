"""Tiny but rich instances of `flow-congestion` for hypothesis: maps and reduces that wait, run or have ended.

At most 3 nodes with 0 to 2 idle slots of each kind, 3 pending maps and 2 pending reduces; few rates, so that types have
several members. Reduces read from maps that run, have finished, or wait.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from optsched.core.instance import (
    FINISHED,
    MAP,
    PENDING,
    REDUCE,
    RUNNING,
    Cluster,
    Instance,
    Ragged,
    Shuffle,
    State,
    Workload,
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


@st.composite
def instances(draw: st.DrawFn) -> Instance:
    """An instance with all that the problem reads."""
    nodes, maps, reduces = draw(st.integers(1, 3)), draw(st.integers(0, 3)), draw(st.integers(0, 2))
    others = draw(st.lists(st.sampled_from([RUNNING, FINISHED]), max_size=3))
    busy_reduces = draw(st.integers(0, 1))
    order = draw(st.permutations(range(maps + reduces + len(others) + busy_reduces)))
    kinds = np.array([MAP] * maps + [REDUCE] * reduces + [MAP] * len(others) + [REDUCE] * busy_reduces)[list(order)]
    status = np.array([PENDING] * (maps + reduces) + others + [RUNNING] * busy_reduces)[list(order)]
    tasks = len(order)

    def column(entry: st.SearchStrategy[Any], length: int) -> list[Any]:
        return [draw(entry) for _ in range(length)]

    idle, idle_reduce = column(st.integers(0, 2), nodes), column(st.integers(0, 2), nodes)
    columns: dict[str, Any] = {"slots": [2] * nodes, "reduce_slots": [2] * nodes}
    if draw(st.booleans()):
        columns |= {"rack": column(st.integers(-1, 1), nodes), "rack_ids": ["r1", "r2"]}
    typed = draw(st.booleans())
    if typed:
        columns |= {"type": column(st.integers(0, 1), nodes), "type_ids": ["c1", "c2"]}
    loads: dict[str, Any] = {}
    if RUNNING not in status:
        rows = column(st.lists(st.sampled_from(RATES), max_size=2), nodes)
        loads["running_rates"] = Ragged.from_rows(rows, float)
    for name, values in (("rate_in", [85.0, 20.0]), ("rate_process", [60.0, 20.0]), ("rate_out", [85.0, 40.0])):
        columns[name] = column(st.sampled_from(values), nodes)
    loads["out_in_use"] = column(st.sampled_from([0.0, 12.8, 85.0]), nodes)
    cluster = Cluster([f"n{node}" for node in range(nodes)], **columns)

    rates: dict[str, Any] = {"rate_in": column(st.sampled_from(RATES), tasks)}
    if typed:
        by_type = np.array([column(st.sampled_from(RATES), tasks) for _ in range(2)]).T.reshape(-1, 2)
        by_type[:, [kind for kind in (0, 1) if kind not in columns["type"]]] = np.nan
        rates = {"rate_in_by_type": by_type}
    senders, receivers = np.flatnonzero(kinds == MAP).tolist(), np.flatnonzero(kinds == REDUCE).tolist()
    pairs = [(sender, receiver) for sender in senders for receiver in receivers]
    sent = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    shuffle = Shuffle(
        [sender for sender, _ in sent],
        [receiver for _, receiver in sent],
        column(st.sampled_from([0.0, 1.0, 12.8]), len(sent)),
    )
    holders = column(st.lists(st.integers(0, nodes - 1), unique=True, max_size=2), tasks)
    workload = Workload(
        [f"t{task}" for task in range(tasks)],
        kind=kinds,
        replicas=Ragged.from_rows([row if kind == MAP else [] for row, kind in zip(holders, kinds, strict=True)]),
        shuffle=shuffle,
        **rates,
    )
    state = State.initial(
        cluster,
        workload,
        status=status,
        node=[-1 if entry == PENDING else draw(st.integers(0, nodes - 1)) for entry in status],
        idle_slots=idle,
        idle_reduce_slots=idle_reduce,
        **loads,
    )
    return Instance(cluster, workload, state)


@st.composite
def problems(draw: st.DrawFn, **fixed: Any) -> FlowCongestion:
    """The problem on an instance of `instances`; parameters are drawn too, but for those `fixed`."""
    instance = draw(instances())
    drawn = {name: draw(st.sampled_from(values)) for name, values in PARAMETERS.items() if name not in fixed}
    return FlowCongestion(instance, **{**drawn, **fixed})


def paper(name: str, **parameters: Any) -> FlowCongestion:
    """The problem on a worked example of the library."""
    instance = load(folder("instances") / "papers" / f"{name}.json")
    assert isinstance(instance, Instance)
    return FlowCongestion(instance, **parameters)
