"""Optima known by construction, against what is solved and proved: neither knows of the other."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched.certificates import certify
from optsched.core.errors import UsageError
from optsched.core.instance import Instance
from optsched.instances.generate import generate, known_optimum
from optsched.problems import problem
from optsched.routes import solve

CASES: list[tuple[str, dict[str, Any]]] = [
    ("planted-lsap", {}),
    ("planted-lsap", {"nodes": 30, "slots": 1, "tasks": 200, "remote": 4}),
    ("planted-lsap", {"nodes": 30, "slots": 1, "tasks": 15, "remote": 15, "replicas": 30}),
    ("planted-lsap", {"nodes": 20, "idle_ratio": 1, "tasks": 40, "remote": 9}),
    ("planted-fair-lsap", {}),
    ("planted-fair-lsap", {"nodes": 20, "tasks": 30, "remote": 0}),
    ("planted-fair-lsap", {"nodes": 8, "slots": 1, "tasks": 40, "remote": 2}),
    ("planted-latency", {"nodes": 30}),
    ("planted-latency", {"nodes": 20, "makespan": 4, "max_load": 9, "remote": 3}),
    ("hot-server", {"nodes": 5, "tasks": 20}),
    ("hot-server", {"nodes": 1, "tasks": 7}),
    ("hot-server", {"nodes": 30, "tasks": 3}),
    ("planted-flow", {}),
    ("planted-flow", {"tasks": 80}),
    ("planted-flow", {"racks": 1, "replicas": 1}),
    ("planted-flow", {"racks": 8, "replicas": 5, "slots": 1, "tasks": 19}),
]


def check(instance: Instance) -> None:
    """Each optimum that the labels state is what the problem is solved to, with a proof."""
    for name, optimum in known_optimum(instance).items():
        posed = problem(name, instance)
        found = solve(posed)
        assert found.objective == optimum
        assert certify(posed, found).proved


@pytest.mark.parametrize(("family", "case"), CASES)
@pytest.mark.parametrize("seed", range(2))
def test_stated_optima(family: str, case: dict[str, Any], seed: int) -> None:
    """Tests that the stated optimum is the proved one."""
    instance = generate(family, seed, **case)
    assert known_optimum(instance)
    check(instance)


@settings(max_examples=60)
@given(data=st.data())
def test_any_shape(data: st.DataObject) -> None:
    """Tests the same over all shapes of small instances; a family refuses `remote` only if a task is to be remote."""
    draw = data.draw
    nodes = draw(st.integers(1, 7))
    case: dict[str, Any] = {"nodes": nodes, "replicas": draw(st.integers(1, nodes)), "remote": draw(st.integers(0, 6))}
    family = draw(st.sampled_from(["planted-lsap", "planted-latency"]))
    if family == "planted-lsap":
        ratio = draw(st.sampled_from([0, 0.3, 0.5, 1]))
        case |= {"slots": draw(st.integers(1, 3)), "idle_ratio": ratio, "tasks": draw(st.integers(0, 12))}
    else:
        case |= {"max_load": draw(st.integers(0, 6)), "makespan": draw(st.integers(1, 8))}
    try:
        instance = generate(family, draw(st.integers(0, 9)), **case)
    except UsageError as error:
        if case["remote"] == 0 or not str(error).startswith(f"{family}: remote is"):
            raise
    else:
        check(instance)


def test_large() -> None:
    """Tests that 200,000 tasks on 20,000 nodes are made at once, without a loop over tasks."""
    instance = generate("planted-lsap", nodes=20_000, slots=20, tasks=200_000, remote=12_345)
    assert len(instance.workload) == 200_000
    assert known_optimum(instance)["lsap"] == (12_345,)
