"""The importer of DIMACS networks: what it reads, and every fault with its line."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from foreign_files import DIMACS, faults, noun

from optsched.core.network import FlowNetwork
from optsched.instances.importers.dimacs import import_dimacs


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


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", ['there is no line "p min NODES ARCS"']),
        ("c only\n", ['there is no line "p min NODES ARCS"']),
        ("n 1 2\np min 1 0\n", ['line 1: stands before the line "p min NODES ARCS"']),
        ("p max 1 0\n", ['line 1: is a problem of kind "max"; only min (minimum-cost flow) is read']),
        ("p min 1\nn 1 1\n", ["line 1: has 3 words; it must be p min NODES ARCS"]),
        ("p min 1 0\np min 1 0\n", ["line 2: is a second problem; the first is on line 1"]),
        ("p min 99999999999 0\n", ["line 1: 99999999999 nodes are more than the 10000000 that are read"]),
        ("p min 1 1\n", ["line 1: says 1 arcs, but there are 0"]),
        (
            "p min 1 0\nn 1 4\n",
            ["line 1: the supplies of its nodes add up to 4, not 0: what enters must leave somewhere"],
        ),
        (
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
            "p min 1 1\na 1 1 0 9007199254740993 " + "9" * 5000 + "\n",
            [
                'line 2: the capacity "9007199254740993" is past 2^53',
                'line 2: the cost "' + "9" * 40 + '..." is past 2^53',
            ],
        ),
    ],
)
def test_dimacs_faults(file: Callable[..., Path], text: str, told: list[str]) -> None:
    """Tests that each fault is told with its line, all of them at once."""
    assert faults(import_dimacs, file(text)) == told
