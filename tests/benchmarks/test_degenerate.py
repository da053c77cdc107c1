"""Degenerate instances: each kind is what it is called, and who does not see a kind is named."""

import json
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from oracles.documents import drawn

from optsched.core.errors import InputError, UsageError
from optsched.core.registry import SHIPPED, record
from optsched.instances.files import from_document
from optsched.problems import Problem

pytestmark = pytest.mark.filterwarnings("ignore::optsched.problems.fair_lsap.RationRuleWarning")


#: Each problem; the quick run takes one of each sort: tasks to place, a schedule, a flow.
EACH = [
    pytest.param(name, marks=[] if name in ("latency", "job-times", "min-cost-flow") else pytest.mark.thorough)
    for name in (entry.name for entry in SHIPPED)
]


def given(study: ModuleType, name: str, number: int) -> Any:
    """A document of the oracles, with its parameters."""
    posed = drawn(name, number)
    document = json.loads(posed.text)
    document.pop("parameters", None)
    return study.Given(document, posed.parameters)


def posed_as(study: ModuleType, kind: str, name: str, number: int) -> tuple[Any, Any] | None:
    """What is posed first of a kind of a document, and its problem; None where the domain refuses it."""
    for some in study.changed(kind, given(study, name, number), record(name), np.random.default_rng(number)):
        try:
            return some, record(name).problem_class(from_document(some.document), **some.parameters)
        except (InputError, UsageError):
            continue
    return None


def numbers(value: Any) -> list[Any]:
    """All numbers of a part of a document."""
    if isinstance(value, dict):
        return [number for entry in value.values() for number in numbers(entry)]
    if isinstance(value, list):
        return [number for entry in value for number in numbers(entry)]
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else []


@pytest.mark.parametrize("name", EACH)
def test_kinds_are_what_they_are_called(study: ModuleType, name: str) -> None:
    """Tests each kind that a problem sees on documents: its domain allows some, and these are as the kind says."""
    met: dict[str, int] = {}
    for kind in study.KINDS:
        for number in range(12):
            found = posed_as(study, kind, name, number)
            if found is None:
                continue
            met[kind] = met.get(kind, 0) + 1
            some, problem = found
            document, network = some.document, "arcs" in some.document
            if kind == "no tasks":
                assert not problem.instance.supply.any() if network else not len(problem.tasks)
            elif kind == "one node":
                assert len(problem.instance if network else problem.instance.cluster) == 1
            elif kind == "no slots" and network:
                assert not problem.instance.capacity.any()
            elif kind == "no slots":
                assert not problem.instance.cluster.slots.any()
                assert not any(numbers([node.get("capacity", 0) for node in document["nodes"]]))
            elif kind.endswith("where"):
                everywhere = [node["id"] for node in document["nodes"]] if kind.startswith("all") else []
                maps = [task for task in document["tasks"] if task.get("kind", "map") == "map"]
                assert all(task["replicas"] == everywhere for task in maps)
            elif kind == "huge numbers":
                assert some.bits
            elif kind == "negative costs":
                assert min(numbers([document.get("pairs", {}).get("cost", 0), *document.get("arcs", [])])) < 0
    unseen = {kind for kind, names in study.OVERLOOKED.items() if name in names}
    assert not unseen & set(met)
    refused = set() if name in ("generalized-assignment", "min-cost-flow") else {"negative costs"}
    assert set(met) == set(study.KINDS) - unseen - refused


def test_huge_numbers_are_near_what_is_allowed(study: ModuleType) -> None:
    """Tests that costs of pairs and arcs reach 2^50, and that the largest of a field has the bits that are reported."""
    for name in ("generalized-assignment", "min-cost-flow"):
        found = [posed_as(study, "huge numbers", name, number) for number in range(20)]
        assert max(some.bits for some, _ in filter(None, found)) >= 50
    for number in range(20):
        held = posed_as(study, "huge numbers", "min-cost-flow", number)
        assert held is not None
        costs = [abs(arc["cost"]) for arc in held[0].document["arcs"] if "cost" in arc]
        if any(costs):
            assert 2 ** held[0].bits - 4 <= max(costs) <= 2 ** held[0].bits


@pytest.mark.parametrize("name", EACH)
def test_who_does_not_see_a_kind_is_named(study: ModuleType, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a kind changes what some decisions are worth, or violate, just where the problem is said to see it."""
    kind_of = record(name).problem_class
    if not issubclass(kind_of, Problem):
        return  # of schedules and flows these decisions are none
    unseen = {kind for kind, names in study.OVERLOOKED.items() if name in names}
    monkeypatch.setattr(study, "OVERLOOKED", {})
    seen = set()
    for number in range(30):
        try:
            document, parameters, _ = given(study, name, number)
            as_drawn = kind_of(from_document(document), **parameters)
        except (InputError, UsageError):
            continue
        for kind in ("no slots", "all replicas everywhere", "no replicas anywhere"):
            found = posed_as(study, kind, name, number)
            if found is not None and worth(found[1]) != worth(as_drawn):
                seen.add(kind)
    assert seen == {"no slots", "all replicas everywhere", "no replicas anywhere"} - unseen


def worth(problem: Any) -> list[Any]:
    """What some decisions, always the same, are worth, and what each violates."""
    rng, size = np.random.default_rng(0), len(problem.tasks)
    nodes = [rng.integers(-1, len(problem.instance.cluster), size=size) for _ in range(20)]
    judged = [(problem.violations(placement), placement) for placement in map(problem.placement, nodes)]
    return [str(wrong) if wrong else problem.objective(placement) for wrong, placement in judged]
