"""The importers of OR-Library and DIMACS files: what they read, and every fault with its line."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from input_files import ASSIGN, DIMACS, GAP, cut, faults, noun

from optsched.core.errors import UsageError
from optsched.core.network import FlowNetwork
from optsched.instances.importers import IMPORTERS, Imported
from optsched.instances.importers.libraries import import_dimacs, import_orlib_assign, import_orlib_gap
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


def test_assign(file: Callable[..., Path]) -> None:
    """Tests that every item has a place of its own, at the optimum by hand, proved by prices."""
    instance = noun(import_orlib_assign(file(ASSIGN, "assign2.txt")))
    solution = solve(problem("generalized-assignment", instance))
    assert (instance.name, solution.objective, str(solution.certificate)) == ("assign2", (3,), "dual")
    assert solve(problem("generalized-assignment", instance, sense="max")).objective == (7,)


def test_dimacs(file: Callable[..., Path]) -> None:
    """Tests that parallel arcs, lower limits and negative costs stay what they are, and that DIMACS reads back."""
    network = noun(import_dimacs(file(DIMACS, "net.min")))
    assert isinstance(network, FlowNetwork)
    assert (network.name, network.source) == ("net", "DIMACS file net.min")
    assert network.supply.tolist() == [4, 0, -4]
    assert (network.lower.tolist(), network.capacity.tolist(), network.cost.tolist()) == (
        [0, 1, 0],
        [4, 3, 5],
        [2, -5, 8],
    )
    again = noun(import_dimacs(file(network.to_dimacs(), "again.min")))
    assert again.sha256 == network.sha256
    assert noun(import_dimacs(file(gzip.compress(DIMACS.encode()), "net.in.gz"), name="other")).name == "other"


#: What reads each format.
SETS, PLACES, FLOWS = import_orlib_gap, import_orlib_assign, import_dimacs


@pytest.mark.parametrize(
    ("importer", "text", "expected"),
    [
        (SETS, "", ["holds no number"]),
        (SETS, "3", ["line 1: is too short: expected agents, jobs and their numbers"]),
        (SETS, "a 2\n", ['line 1: expected how many there are, got "a"']),
        (
            SETS,
            "2 3\n 1 2\n",
            ["line 1: 2 agents and 3 jobs need 14 more numbers, but 2 follow; they are not 2 sets one"],
        ),
        (SETS, "0\n1\n2\n", ["line 1: 0 agents and 1 jobs need 0 more numbers, but 1 follow; they are not 0 sets"]),
        (
            SETS,
            "1 2\n 1 nan\n -1 1e17\n -4\n",
            [
                'line 2: expected a number, got "nan"',
                'line 3: "-1" is negative',
                'line 3: "1e17" is past 2^53',
                'line 4: "-4" is negative',
            ],
        ),
        (PLACES, "", ["holds no number"]),
        (PLACES, "2\n 1 2\n 3\n", ["line 3: 2 items need 4 costs, but 3 numbers follow"]),
        (PLACES, "1\n 1 2\n", ["line 2: 1 items need 1 costs, but 2 numbers follow"]),
        (PLACES, "1\n 1,5\n", ['line 2: expected a number, got "1,5"']),
        (FLOWS, "", ['there is no line "p min NODES ARCS"']),
        (FLOWS, "n 1 2\np min 1 0\n", ['line 1: stands before the line "p min NODES ARCS"']),
        (FLOWS, "p max 1 0\n", ['line 1: is a problem of kind "max"; only min (minimum-cost flow) is read']),
        (FLOWS, "p min 1\nn 1 1\n", ["line 1: has 3 words; it must be p min NODES ARCS"]),
        (FLOWS, "p min 1 0\np min 1 0\n", ["line 2: is a second problem; the first is on line 1"]),
        (FLOWS, "p min 99999999999 0\n", ["line 1: 99999999999 nodes are more than the 10000000 that are read"]),
        (FLOWS, "p min 1 1\n", ["line 1: says 1 arcs, but there are 0"]),
        (FLOWS, "p min 1 0\nn 1 4\n", ["line 1: the supplies of its nodes add up to 4, not 0: what enters must leave"]),
        (
            FLOWS,
            "p min 2 2\nn 3 1\nn 1 x\nn 1 0\nn 1 5\nz 1\na 1 2 5 4 0\na 0 2 -1 4 1e3\na 1 2 0 4\n",
            [
                "line 2: the node is 3; nodes are numbered from 1 to 2",
                'line 3: the supply must be a whole number, not "x"',
                "line 5: node 1 has a supply on line 4 already",
                'line 6: begins with "z"; a line is a comment (c), p min NODES ARCS, n NODE SUPPLY, '
                "a TAIL HEAD LOWER CAPACITY COST",
                "line 7: the lower limit 5 is more than the capacity 4",
                "line 8: the tail is 0; nodes are numbered from 1 to 2",
                "line 8: the lower limit is -1; it must be 0 or more",
                'line 8: the cost must be a whole number, not "1e3"',
                "line 9: has 5 words; it must be a TAIL HEAD LOWER CAPACITY COST",
            ],
        ),
        (
            FLOWS,
            "p min 1 1\na 1 1 0 9007199254740993 " + "9" * 5000 + "\n",
            [
                'line 2: the capacity "9007199254740993" is past 2^53',
                'line 2: the cost "' + "9" * 40 + '..." is past 2^53',
            ],
        ),
    ],
)
def test_faults(file: Callable[..., Path], importer: Callable[..., Imported], text: str, expected: list[str]) -> None:
    """Tests that each fault is reported with its line, all of them at once."""
    assert cut(faults(importer, file(text)), expected) == expected
