"""Any file of claims is read by what it says of itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import optsched
from optsched.decimals import MOST_DIGITS
from optsched.errors import InputError, TooLarge
from optsched.fronts import Frontier
from optsched.instances.claim_files import read_claim, read_decision, write_claim
from optsched.network import FlowNetwork
from optsched.results import Solution
from optsched.schedule import Schedule

NETWORK = FlowNetwork(["a", "b"], [0], [1], supply=[1, -1])


def test_each_format(tmp_path: Path) -> None:
    """Tests that a solution and a frontier come back as what they are; an ordered vector is no longer read."""
    file = tmp_path / "claim.json"
    problem = optsched.problem("latency", "papers/fsy-not-optimal")
    write_claim(optsched.solve(problem), problem.instance, file)
    assert isinstance(read_claim(file, problem.instance), Solution)
    write_claim(optsched.frontier(problem), problem.instance, file)
    assert isinstance(read_claim(file, problem.instance), Frontier)
    with pytest.raises(InputError, match="format: it is of an instance, and this is a flow network"):
        read_claim(file, NETWORK)
    with pytest.raises(InputError, match="optsched certify INSTANCE"):
        optsched.load(file)
    file.write_text('{"format": "optsched-leximin/1", "utilities": [0]}')
    with pytest.raises(InputError, match="an ordered vector of utilities, which optsched no longer reads, no instance"):
        optsched.load(file)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"format": "optsched-frontier/7"}', "is no frontier file"),
        ('{"format": "optsched-leximin/1"}', "an ordered vector of utilities, which optsched no longer reads"),
        ('{"format": "optsched-other/1"}', "is no solution file"),
        ("", "the file is empty"),
        ('{"format": "optsched-frontier/1", ', "is no JSON here"),
    ],
)
def test_others(tmp_path: Path, text: str, told: str) -> None:
    """Tests that what is none of these, or not whole, is one line."""
    file = tmp_path / "claim.json"
    file.write_text(text)
    with pytest.raises(InputError, match=told) as caught:
        read_claim(file, optsched.load("papers/fsy-not-optimal"))
    assert len(str(caught.value).splitlines()) == 1


def test_decisions(tmp_path: Path) -> None:
    """Tests that a decision is read of a solution and of a schedule file, and a schedule is no network's."""
    problem = optsched.problem("latency", "papers/fsy-not-optimal")
    held = optsched.solve(problem)
    for file in (tmp_path / "one.json", tmp_path / "one.npz"):
        write_claim(held, problem.instance, file)
        assert read_decision(file, problem.instance) == held.decision
        assert read_decision(file, optsched.load("papers/guo-fig2")) is None
        schedule = Schedule.of([(0, 5)] * len(problem.instance.workload))
        write_claim(schedule, problem.instance, file)
        assert read_decision(file, problem.instance) == schedule
        with pytest.raises(InputError, match="format: it is of an instance, and this is a flow network"):
            read_decision(file, NETWORK)
        with pytest.raises(InputError, match="format: is no solution file"):
            read_claim(file, problem.instance)


def long_solution(number: Any) -> tuple[Any, Any, Callable[..., None]]:
    """A solution, the same with a long number as claim, and what writes it."""
    problem = optsched.problem("latency", "papers/fsy-not-optimal")
    found = optsched.solve(problem)
    held = replace(found, certificates=(replace(found.certificates[0], claim=number), *found.certificates[1:]))
    return problem.instance, held, write_claim


def long_frontier(number: Any) -> tuple[Any, Any, Callable[..., None]]:
    """The same of a frontier."""
    problem = optsched.problem("latency", "papers/fsy-not-optimal")
    found = optsched.frontier(problem)
    first, second = found.points[0].certificates
    point = replace(found.points[0], certificates=(first, replace(second, claim=number)))
    return problem.instance, replace(found, points=(point, *found.points[1:])), write_claim


@pytest.mark.parametrize("long", [long_solution, long_frontier])
@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_bug_numbers_were_written_that_no_reader_takes(tmp_path: Path, long: Callable[..., Any], suffix: str) -> None:
    """Tests that the longest numbers are read back from each kind of file, and longer ones leave no file.

    Fractions of 1,001 digits, integers of 61 and fractions over 1 were written, and no reader took them.
    """
    most = 10**MOST_DIGITS
    file = tmp_path / f"claim{suffix}"
    for number in (Fraction(1 - most, most - 2), 1 - most, 10**59, 10**60, Fraction(3, 1)):
        instance, given, write = long(number)
        write(given, instance, file)
        again = read_claim(file, instance)
        entries = again.points[0].certificates if isinstance(again, Frontier) else again.certificates
        assert number in [entry.claim for entry in entries]
    file.unlink()
    for number in (most, Fraction(1, most)):
        instance, given, write = long(number)
        with pytest.raises(TooLarge, match="a number has more than 4,000 digits, which no file holds; give shorter"):
            write(given, instance, file)
        assert list(tmp_path.iterdir()) == []
