"""Importer of DIMACS minimum-cost-flow files (`p min`), as a document of a flow network.

Parallel arcs and loops are kept; nodes keep their numbers as ids, and arcs their order. `FlowNetwork.to_dimacs` writes
such files.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from optsched.core.errors import Fault, InputError
from optsched.instances.importers.foreign import Imported, Line, lines_of, shown, stem

__all__ = ["import_dimacs"]

#: More nodes are refused, since a line of the header may ask for any number.
MOST_NODES = 10_000_000

#: Words of each kind of line, and what they are.
_FORMS = {"p": "p min NODES ARCS", "n": "n NODE SUPPLY", "a": "a TAIL HEAD LOWER CAPACITY COST"}


def import_dimacs(path: str | os.PathLike[str], name: str | None = None) -> Imported:
    r"""Make a document (`optsched-network/1`) of a DIMACS minimum-cost-flow file, plain or gzipped.

    `name` is by default that of the file. InputError lists every fault with its line.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "small.min")
    ...     _ = file.write_text("c two nodes\np min 2 1\nn 1 3\nn 2 -3\na 1 2 0 5 7\n")
    ...     document = import_dimacs(file).documents[0]
    >>> document["nodes"], document["arcs"]  # doctest: +NORMALIZE_WHITESPACE
    ([{'id': '1', 'supply': 3}, {'id': '2', 'supply': -3}],
     [{'tail': '1', 'head': '2', 'lower': 0, 'capacity': 5, 'cost': 7}])
    """
    reader = _Reader()
    for line in lines_of(path):
        reader.read(line)
    faults = reader.faults
    if reader.nodes is None:
        if not faults:
            faults.append(Fault("", f'there is no line "{_FORMS["p"]}"'))
    elif not reader.misread:
        if len(reader.arcs) != reader.arcs_due:
            faults.append(Fault(reader.header, f"says {reader.arcs_due} arcs, but there are {len(reader.arcs)}"))
        total = sum(reader.supply.values())
        if total and not faults:
            message = f"the supplies of its nodes add up to {total}, not 0: what enters must leave somewhere"
            faults.append(Fault(reader.header, message))
    if faults:
        raise InputError(faults, os.fspath(path))
    nodes = [
        {"id": str(node), "supply": reader.supply[node]} if node in reader.supply else {"id": str(node)}
        for node in range(1, (reader.nodes or 0) + 1)
    ]
    document = {
        "format": "optsched-network/1",
        "name": stem(path, "dimacs|min|in|txt|gz", "dimacs") if name is None else name,
        "source": f"DIMACS file {Path(path).name}",
        "nodes": nodes,
        "arcs": reader.arcs,
    }
    return Imported((document,))


class _Reader:
    """What the lines said so far. `misread` is set once a line was not understood; counts then mean nothing."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self.nodes: int | None = None
        self.arcs_due = 0
        self.header = ""
        self.misread = False
        self.supply: dict[int, int] = {}
        self.supplied: dict[int, int] = {}
        self.arcs: list[dict[str, Any]] = []

    def read(self, line: Line) -> None:
        """Read one line; add its faults to the others."""
        kind = line.words[0]
        if kind == "c":
            return
        before = len(self.faults)
        if kind not in _FORMS:
            self._fault(line, f"begins with {shown(kind)}; a line is a comment (c), {', '.join(_FORMS.values())}")
        elif len(line.words) != len(_FORMS[kind].split()):
            self._fault(line, f"has {len(line.words)} words; it must be {_FORMS[kind]}")
        elif kind == "p":
            self._problem(line)
        elif self.nodes is None:
            if not self.misread:
                self._fault(line, f'stands before the line "{_FORMS["p"]}"')
        elif kind == "n":
            self._node(line)
        else:
            self._arc(line)
        self.misread |= len(self.faults) > before

    def _fault(self, line: Line, message: str) -> None:
        self.faults.append(Fault(line.place, message))

    def _problem(self, line: Line) -> None:
        if line.words[1] != "min":
            self._fault(line, f"is a problem of kind {shown(line.words[1])}; only min (minimum-cost flow) is read")
            return
        if self.header:
            self._fault(line, f"is a second problem; the first is on {self.header}")
            return
        nodes = line.integer(2, "the number of nodes", self.faults, 0)
        self.arcs_due = line.integer(3, "the number of arcs", self.faults, 0)
        if nodes > MOST_NODES:
            self._fault(line, f"{nodes} nodes are more than the {MOST_NODES} that are read")
            return
        self.nodes, self.header = nodes, line.place

    def _end(self, line: Line, at: int, noun: str) -> int:
        """The number of a node that exists; else a fault."""
        before = len(self.faults)
        node = line.integer(at, noun, self.faults)
        if len(self.faults) == before and not 1 <= node <= (self.nodes or 0):
            self._fault(line, f"{noun} is {node}; nodes are numbered from 1 to {self.nodes}")
        return node

    def _node(self, line: Line) -> None:
        before = len(self.faults)
        node = self._end(line, 1, "the node")
        supply = line.integer(2, "the supply", self.faults)
        if len(self.faults) > before:
            return
        if node in self.supplied:
            self._fault(line, f"node {node} has a supply on line {self.supplied[node]} already")
            return
        self.supplied[node] = line.number
        if supply:
            self.supply[node] = supply

    def _arc(self, line: Line) -> None:
        before = len(self.faults)
        tail, head = self._end(line, 1, "the tail"), self._end(line, 2, "the head")
        lower = line.integer(3, "the lower limit", self.faults, 0)
        capacity = line.integer(4, "the capacity", self.faults, 0)
        cost = line.integer(5, "the cost", self.faults)
        if len(self.faults) == before and lower > capacity:
            self._fault(line, f"the lower limit {lower} is more than the capacity {capacity}")
        arc = {"tail": str(tail), "head": str(head), "lower": lower, "capacity": capacity, "cost": cost}
        self.arcs.append(arc)
