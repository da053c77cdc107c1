"""The importers of OR-Library files: what they read, and every fault with its line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from foreign_files import ASSIGN, GAP, faults, noun

from optsched.core.errors import UsageError
from optsched.instances.importers import IMPORTERS
from optsched.instances.importers.orlib import import_orlib_assign, import_orlib_gap
from optsched.problems import problem
from optsched.routes import solve


def test_gap(file: Callable[..., Path]) -> None:
    """Tests that matrices of agents x jobs become tasks x nodes, and the optimum by hand in either sense."""
    least = noun(import_orlib_gap(file(GAP, "gap1.txt")))
    assert least.workload.pairs.cost.tolist() == [[4, 7], [5, 8], [6, 9]]
    assert least.workload.pairs.demand["weight"].tolist() == [[1, 2], [1, 1], [2, 1]]
    assert (least.name, least.cluster.capacity["weight"].tolist()) == ("gap1", [3, 2])
    assert solve(problem("generalized-assignment", least)).objective == (18,)
    most = noun(import_orlib_gap(file(GAP, "gap1.txt"), "max"))
    assert solve(problem("generalized-assignment", most)).objective == (21,)


def test_gap_sets(file: Callable[..., Path]) -> None:
    """Tests that a file of several sets gives the one that is asked for, and asks where none is."""
    path = file("2\n" + GAP + "1 1  5  2  2.5\n", "gap2.txt")
    second = noun(import_orlib_gap(path, number=2))
    assert (second.name, second.source) == ("gap2-2", "OR-Library generalized-assignment file gap2.txt, set 2")
    assert second.cluster.capacity["weight"].tolist() == [2.5]
    assert noun(import_orlib_gap(path, number=1)).workload.pairs.cost.shape == (3, 2)
    with pytest.raises(UsageError, match="holds 2 sets; choose one by its number, 1 to 2"):
        import_orlib_gap(path)
    with pytest.raises(UsageError, match="has no set 3; it holds 2"):
        import_orlib_gap(path, number=3)
    for name in ("orlib-gap", "orlib-assign"):
        with pytest.raises(UsageError, match="sense='least': known: min, max"):
            IMPORTERS[name].read(path, sense="least")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", ["holds no number"]),
        ("3", ["line 1: is too short: expected agents, jobs and their numbers"]),
        ("a 2\n", ['line 1: expected how many there are, got "a"']),
        (
            "2 3\n 1 2\n",
            [
                "line 1: 2 agents and 3 jobs need 14 more numbers, but 2 follow; "
                "nor are these 2 sets one after the other"
            ],
        ),
        ("1\n1 x 3\n", None),
        ("2\n1 1 5 1 1\n1 1 5\n", None),
        ("0\n1\n2\n", None),
        (
            "1 2\n 1 nan\n -1 1e17\n -4\n",
            [
                'line 2: expected a number, got "nan"',
                'line 3: "-1" is negative',
                'line 3: "1e17" is past 2^53',
                'line 4: "-4" is negative',
            ],
        ),
    ],
)
def test_gap_faults(file: Callable[..., Path], text: str, told: list[str] | None) -> None:
    """Tests that each fault is told with its line, all of them at once."""
    found = faults(import_orlib_gap, file(text))
    assert found == told if told is not None else "nor are these" in found[0]


def test_assign(file: Callable[..., Path]) -> None:
    """Tests that every item has a place of its own, at the optimum by hand, proved by prices."""
    instance = noun(import_orlib_assign(file(ASSIGN, "assign2.txt")))
    solution = solve(problem("generalized-assignment", instance))
    assert (instance.name, solution.objective, str(solution.certificate)) == ("assign2", (3,), "dual")
    assert solve(problem("generalized-assignment", instance, sense="max")).objective == (7,)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", ["holds no number"]),
        ("x", ['line 1: expected how many there are, got "x"']),
        ("2\n 1 2\n 3\n", ["line 3: 2 items need 4 costs, but 3 numbers follow"]),
        ("1\n 1 2\n", ["line 2: 1 items need 1 costs, but 2 numbers follow"]),
        ("1\n 1,5\n", ['line 2: expected a number, got "1,5"']),
    ],
)
def test_assign_faults(file: Callable[..., Path], text: str, told: list[str]) -> None:
    """Tests that each fault is told with its line."""
    assert faults(import_orlib_assign, file(text)) == told
