"""Tiny but rich instances and problems for hypothesis: at most 5 pending maps and 4 nodes, with all that they may have.

Every instance has the fields of all four problems. Racks may be missing, nodes have 0 to 2 idle slots, blocks 0 to 3
replicas; some tasks run, are finished or are reduces, and stand anywhere in the order of the file.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from optsched.core.instance import FINISHED, MAP, PENDING, REDUCE, RUNNING, Cluster, Instance, Ragged, State, Workload
from optsched.problems import Problem, problem

__all__ = ["PARAMETERS", "instances", "problems"]

RATES = [0.0, 0.23, 3.04, 9.14, 12.8, 16.0]
FAIR = {
    "alpha": [50, 0, 20, 0.3],
    "beta": [None, 1000, 0.5],
    "gfc": ["ratio", "difference"],
    "selection": ["fixed", "free"],
    "rations": ["floor", "largest-remainder"],
    "overflow": ["weight", "complement", "flat", "naive"],
    "fairness": [1, 0, 0.25],
}

#: Values from which each parameter of each problem is drawn, the default first.
PARAMETERS: dict[str, dict[str, list[Any]]] = {
    "lsap": {"levels": [(0, 1, 1), (0, 1, 2), (0, 0, 3), (2, 5, 9), (0, 0, 0)]},
    "fair-lsap": FAIR,
    "lsap-fairness": {"distance": ["absolute", "relative"]},
    "flow": {
        "f_c": [(0, 0.1, 1), (0, 0, 1), (0.5, 0.1, 0.2)],
        "scale": ["rate_in", "rate_process", 1],
        "include_task": [False, True],
    },
    "flow-congestion": {
        "f_c": [(0, 0.1, 1), (0, 0, 1), (0.5, 0.1, 0.2)],
        "scale": ["rate_in", "rate_process", 1],
        "deviation": [True, False],
        "weights": ["literal", "shuffle"],
    },
    "latency": {},  # its two weights are drawn together
}
WEIGHTS = [(1, 3), (1, 1), (2, 5), (3, 7), (2, 2)]


@st.composite
def instances(draw: st.DrawFn) -> Instance:
    """An instance with the fields of all problems."""
    nodes, pending = draw(st.integers(1, 4)), draw(st.integers(0, 5))
    others = draw(st.lists(st.sampled_from(["running", "finished", "reduce"]), max_size=2))
    kinds = draw(st.permutations(["pending"] * pending + others))
    tasks, groups = len(kinds), draw(st.integers(1, 3))
    each = _Columns(draw, nodes, tasks, groups)

    idle = each.node(st.integers(0, 2))
    columns: dict[str, Any] = {"slots": np.add(idle, each.node(st.integers(0, 1)))}
    if draw(st.booleans()):
        columns |= {"rack": each.node(st.integers(-1, 1)), "rack_ids": ["r1", "r2"]}
    typed = draw(st.booleans())
    if typed:
        columns |= {"type": each.node(st.integers(0, 1)), "type_ids": ["c1", "c2"]}
    rows = each.node(st.lists(st.sampled_from(RATES), max_size=2))
    loads: dict[str, Any] = {"running_rates": Ragged.from_rows(rows, float)}
    for name, values in (("rate_in", [85.0, 20.0]), ("rate_process", [60.0, 20.0]), ("rate_out", [85.0, 40.0])):
        columns[name] = each.node(st.sampled_from(values))
    loads["out_in_use"] = each.node(st.sampled_from([0.0, 12.8, 85.0]))
    cluster = Cluster([f"n{node}" for node in range(nodes)], **columns)

    demand = _rates(each, columns["type"]) if typed else {"rate_in": each.task(st.sampled_from(RATES))}
    holders = st.lists(st.integers(0, nodes - 1), unique=True, max_size=3)
    workload = Workload(
        [f"t{task}" for task in range(tasks)],
        kind=[REDUCE if kind == "reduce" else MAP for kind in kinds],
        replicas=Ragged.from_rows(each.task(holders)),
        job=each.task(st.integers(0, groups - 1)),
        job_ids=[f"j{group}" for group in range(groups)],
        job_group=list(range(groups)),
        group_ids=[f"g{group}" for group in range(groups)],
        group_weight=each.group(st.sampled_from([1.0, 2.0, 4.0, 0.3])),
        **demand,
    )
    state = State.initial(
        cluster,
        workload,
        status=[{"running": RUNNING, "finished": FINISHED}.get(kind, PENDING) for kind in kinds],
        node=[draw(st.integers(0, nodes - 1)) if kind in ("running", "finished") else -1 for kind in kinds],
        idle_slots=idle,
        load=each.node(st.integers(0, 6)),
        group_running_tasks=each.group(st.integers(-1, 3)),
        **loads,
    )
    return Instance(cluster, workload, state)


class _Columns:
    """Draws a column: one value for each node, task or group (drawn one by one: `st.lists` takes twice as long)."""

    def __init__(self, draw: st.DrawFn, nodes: int, tasks: int, groups: int) -> None:
        self._draw, self._nodes, self._tasks, self._groups = draw, nodes, tasks, groups

    def _column(self, entry: st.SearchStrategy[Any], length: int) -> list[Any]:
        return [self._draw(entry) for _ in range(length)]

    def node(self, entry: st.SearchStrategy[Any]) -> list[Any]:
        return self._column(entry, self._nodes)

    def task(self, entry: st.SearchStrategy[Any]) -> list[Any]:
        return self._column(entry, self._tasks)

    def group(self, entry: st.SearchStrategy[Any]) -> list[Any]:
        return self._column(entry, self._groups)


def _rates(each: _Columns, types: list[int]) -> dict[str, Any]:
    """Input rates by type of node; a type that no node is of has none."""
    rates = np.array([each.task(st.sampled_from(RATES)) for _ in range(2)]).T.reshape(-1, 2)
    rates[:, [kind for kind in (0, 1) if kind not in types]] = np.nan
    return {"rate_in_by_type": rates}


@st.composite
def problems(draw: st.DrawFn, name: str, **fixed: Any) -> Problem:
    """The problem called `name` on an instance of `instances`; parameters are drawn too, but for those `fixed`."""
    instance = draw(instances())
    parameters = {key: draw(st.sampled_from(values)) for key, values in PARAMETERS[name].items() if key not in fixed}
    if name == "latency":
        parameters = dict(zip(("w_loc", "w_rem"), draw(st.sampled_from(WEIGHTS)), strict=True))
    return problem(name, instance, **{**parameters, **fixed})
