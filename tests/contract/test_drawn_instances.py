"""The contract on instances of the oracles: numbers as people write them, every parameter, tasks that run or ended.

The family of a record draws what a check needs, with few parameters; these have what files have. A check that must see
something somewhere (a variant that matters, a proof of each kind) is held on the family alone.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from engines import THRESHOLDS, force
from oracles.documents import drawn

import optsched
from optsched.core import registry
from optsched.core.errors import InputError
from optsched.core.problem_record import imported
from optsched.core.registry import Record, records
from optsched.instances.files import parse
from optsched.testing import CHECKS, SEEDS, contract, forget

pytestmark = pytest.mark.filterwarnings("ignore::optsched.problems.fair_lsap.RationRuleWarning")

#: What is held on these instances, too.
HELD = ("enumeration", "routes", "bounds", "models", "frontier", "heuristics", "solution-file")

#: More decisions than these are left to the oracles.
MOST = 1500

#: From this seed on instances are those of the record's own family: the oracles' are too small for some proofs.
OWN = 1_000

#: No more documents are drawn for a kind of instances that is hard to meet.
MOST_DRAWN = 500

#: What makes a document degenerate: values of fields, wherever these stand.
DEGENERATE: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "as drawn": lambda document: document,
    "no tasks": lambda document: document if "arcs" in document else {**document, "tasks": [], "shuffle": []},
    "no slots": lambda document: _with(document, "nodes", slots=0, idle_slots=0, map_slots=0),
    "all replicas everywhere": lambda document: _with(
        document, "tasks", replicas=[node["id"] for node in document["nodes"]]
    ),
    "no replicas": lambda document: _with(document, "tasks", replicas=[]),
    "equal costs": lambda document: _with(_with(document, "tasks", size=1), "arcs", cost=1),
    "nothing costs": lambda document: _with(_with(document, "tasks", size=0), "arcs", cost=0),
    "large costs": lambda document: _with(_with(document, "tasks", size=2**40), "arcs", cost=2**40),
    "negative costs": lambda document: _with(document, "arcs", cost=-3),
}


def _with(document: dict[str, Any], part: str, **values: Any) -> dict[str, Any]:
    """The document with other values of fields that its records have."""
    changed = [{**record, **{key: values[key] for key in values if key in record}} for record in document.get(part, ())]
    return {**document, part: changed} if part in document else document


@cache
def instances(name: str, count: int, kind: str = "as drawn") -> list[Any]:
    """The first so many instances of a problem on which it can be posed, and which are small and have a limit."""
    entry, found, number = records()[name], [], 0
    while len(found) < count and number < MOST_DRAWN:
        posed = drawn(name, number)
        number += 1
        document = json.loads(posed.text)
        if posed.call:
            document["parameters"] = {name: posed.call}
        document = DEGENERATE[kind](document)
        try:
            problem = entry.problem_class(parse(json.dumps(document)))
        except InputError:  # loads that are no whole numbers, or what this kind leaves nothing of
            continue
        endless = entry.unlimited is not None and imported(entry.unlimited)(problem) is not None
        if not endless and (kind == "as drawn") < contract.number_of_decisions(problem) <= MOST:
            found.append(problem.instance)
    return found


@pytest.fixture
def by_oracles(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Record]:
    """The record of the parameter, whose family draws instances of the oracles."""
    own, generate = records()[request.param], contract.generate
    entry = replace(own, sizes={}, variants=())

    def drawn_instance(family: str, seed: int) -> Any:
        return generate(family, seed=seed - OWN, **own.sizes) if seed >= OWN else instances(entry.name, seed + 1)[seed]

    monkeypatch.setitem(registry._BY_NAME, entry.name, entry)
    monkeypatch.setitem(registry._BY_CLASS, entry.problem, entry)
    monkeypatch.setattr(contract, "generate", drawn_instance)
    forget()
    yield entry
    forget()


@pytest.mark.parametrize("by_oracles", records(), indirect=True)
def test_contract_on_drawn_instances(by_oracles: Record) -> None:
    """Tests that a problem keeps the contract on an instance of its oracle."""
    for check in HELD:
        if CHECKS[check].applies(by_oracles):
            CHECKS[check].function(by_oracles, SEEDS[:1])


@pytest.mark.thorough
@pytest.mark.parametrize("part", range(2))
@pytest.mark.parametrize("by_oracles", records(), indirect=True)
def test_contract_on_many_drawn_instances(by_oracles: Record, part: int) -> None:
    """Tests the same, and that no certificate proves too much, on many instances more."""
    for check in (*HELD, "certificates"):
        if CHECKS[check].applies(by_oracles):
            own = SEEDS if check == "certificates" else ()
            CHECKS[check].function(by_oracles, [*range(10 * part, 10 * part + 10), *(OWN + seed for seed in own)])


def test_every_engine_that_compiles_is_known() -> None:
    """Tests that each module which asks whether loops compile is among those that are forced to, below."""
    root = Path(optsched.__file__).parent
    asking = {
        ".".join(("optsched", *path.relative_to(root).with_suffix("").parts))
        for path in root.rglob("*.py")
        if "compiles()" in path.read_text(encoding="utf-8")
    } - {"optsched.solvers.compiled"}
    assert asking == set(THRESHOLDS)


@pytest.mark.thorough
@pytest.mark.parametrize("by_oracles", records(), indirect=True)
def test_engines_for_large_inputs_on_small_ones(by_oracles: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests every route on drawn and on degenerate instances, with the engines that are meant for large ones.

    Where numba is installed their loops are compiled; else the same loops run as plain Python.
    """
    force(monkeypatch)
    tried = 0
    for kind in DEGENERATE:
        found = [*instances(by_oracles.name, 1), *instances(by_oracles.name, 6, kind)]  # the first: to decide anything
        monkeypatch.setattr(contract, "generate", lambda family, seed, found=found: found[seed])
        forget()
        for check in ("enumeration", "routes", "frontier"):
            if CHECKS[check].applies(by_oracles):
                CHECKS[check].function(by_oracles, range(len(found)))
        tried += len(found) - 1
    assert tried > 40
