"""The contract on instances of the oracles: numbers as people write them, every parameter, tasks that run or ended.

The family of a record draws what a check needs, with few parameters; these have what files have. A check that must see
something somewhere (a variant that matters, a proof of each kind) is held on the family alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from oracles.documents import drawn

from optsched import registry
from optsched.errors import InputError
from optsched.instances.files import parse
from optsched.registry import Record, imported, records
from optsched.testing import CHECKS, SEEDS, cases, forget

pytestmark = pytest.mark.filterwarnings("ignore::optsched.problems.fair_lsap.RationRuleWarning")

#: What is held on these instances, too.
HELD = ("enumeration", "routes", "bounds", "models", "frontier", "heuristics", "solution-file")

#: More decisions than these are left to the oracles.
MOST = 1500


@cache
def instances(name: str, count: int) -> list[Any]:
    """The first so many instances of a problem on which it can be posed, and which are small and have a limit."""
    entry, found, number = records()[name], [], 0
    while len(found) < count:
        posed = drawn(name, number)
        number += 1
        document = json.loads(posed.text)
        if posed.call:
            document["parameters"] = {name: posed.call}
        try:
            problem = entry.problem_class(parse(json.dumps(document)))
        except InputError:  # loads that are no whole numbers
            continue
        endless = entry.unlimited is not None and imported(entry.unlimited)(problem) is not None
        if not endless and 1 < cases.number_of_decisions(problem) <= MOST:
            found.append(problem.instance)
    return found


@pytest.fixture
def by_oracles(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Record]:
    """The record of the parameter, whose family draws instances of the oracles."""
    entry = replace(records()[request.param], sizes={}, variants=())
    monkeypatch.setitem(registry._BY_NAME, entry.name, entry)
    monkeypatch.setitem(registry._BY_CLASS, entry.problem, entry)
    monkeypatch.setattr(cases, "generate", lambda family, seed: instances(entry.name, seed + 1)[seed])
    forget()
    yield entry
    forget()


@pytest.mark.parametrize("check", HELD)
@pytest.mark.parametrize("by_oracles", records(), indirect=True)
def test_contract_on_drawn_instances(by_oracles: Record, check: str) -> None:
    """Tests that a problem keeps the contract on two instances of its oracle, its models on one."""
    if CHECKS[check].applies(by_oracles):
        CHECKS[check].function(by_oracles, SEEDS[:1] if check == "models" else SEEDS)


@pytest.mark.thorough
@pytest.mark.parametrize("part", range(2))
@pytest.mark.parametrize("by_oracles", records(), indirect=True)
def test_contract_on_many_drawn_instances(by_oracles: Record, part: int) -> None:
    """Tests the same, and that no certificate proves too much, on many instances more."""
    for check in (*HELD, "certificates"):
        if CHECKS[check].applies(by_oracles):
            CHECKS[check].function(by_oracles, range(10 * part, 10 * part + 10))
