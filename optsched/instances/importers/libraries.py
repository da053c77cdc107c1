"""Importers of the files of two libraries of optimization problems: OR-Library and DIMACS.

OR-Library's generalized assignment and assignment become documents of instances with `pairs`. Both formats have only
numbers, and line ends have no meaning. An agent becomes a node, a job or item a task; the files' matrices are agents x
jobs, an instance's tasks x nodes.

DIMACS minimum-cost-flow files (`p min`) become documents of flow networks. Parallel arcs and loops are kept; nodes keep
their numbers as ids, and arcs their order. `FlowNetwork.to_dimacs` writes such files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from optsched.core.errors import UsageError
from optsched.instances.documents.diagnosis import shown
from optsched.instances.importers import IMPORTERS, Imported
from optsched.instances.importers.foreign import LARGEST, ForeignFile, Line, stem

#: The one resource of generalized assignment, and of assignment, in which every node takes one task.
WEIGHT, PLACE = "weight", "place"

_NUMBER = re.compile(r"[+-]?([0-9]{1,20}(\.[0-9]{0,20})?|\.[0-9]{1,20})([eE][+-]?[0-9]{1,2})?")


def import_orlib_gap(
    path: str | os.PathLike[str], sense: str = "min", number: int | None = None, name: str | None = None
) -> Imported:
    """Make an instance document of an OR-Library generalized-assignment file, plain or gzipped.

    The file is `m n`, costs m x n, weights m x n, m capacities, for m agents and n jobs; or the number of such sets and
    then one after the other. `sense` is `min` or `max`, which the file does not say; `number` chooses a set, from 1.
    `name` is by default that of the file, with the set's number if there are several.

    InputError lists every fault with its line. UsageError if there are several sets and no number, or the number is of
    no set.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "small.txt")
    ...     _ = file.write_text("2 1  5 6  3 4  8 9")
    ...     document = import_orlib_gap(file, "max").documents[0]
    >>> document["nodes"], document["pairs"]  # doctest: +NORMALIZE_WHITESPACE
    ([{'id': 'agent1', 'capacity': {'weight': 8}}, {'id': 'agent2', 'capacity': {'weight': 9}}],
     {'cost': [[5, 6]], 'demand': {'weight': [[3, 4]]}})
    """
    IMPORTERS["orlib-gap"].check(locals())
    numbers = _Numbers(path)
    sets = numbers.gap_sets()
    if number is None and len(sets) > 1:
        raise UsageError(f"{os.fspath(path)} holds {len(sets)} sets; choose one by its number, 1 to {len(sets)}")
    if number is not None and not 1 <= number <= len(sets):
        raise UsageError(f"{os.fspath(path)} has no set {number}; it holds {len(sets)}")
    start = sets[(number or 1) - 1]
    agents, jobs = numbers.count(start), numbers.count(start + 1)
    cells = agents * jobs
    cost = numbers.matrix(start + 2, agents, jobs)
    weight = numbers.matrix(start + 2 + cells, agents, jobs, least=0)
    capacity = numbers.values(start + 2 + 2 * cells, agents, least=0)
    numbers.end()
    title = stem(path, "txt|dat|gz", "gap") if name is None else name
    document = {
        "format": "optsched/1",
        "name": f"{title}-{number}" if name is None and len(sets) > 1 else title,
        "source": f"OR-Library generalized-assignment file {Path(path).name}"
        + (f", set {number}" if len(sets) > 1 else ""),
        "parameters": {"generalized-assignment": {"sense": sense}},
        "nodes": [{"id": f"agent{agent}", "capacity": {WEIGHT: most}} for agent, most in enumerate(capacity, start=1)],
        "tasks": [{"id": f"job{job}"} for job in range(1, jobs + 1)],
        "pairs": {"cost": _transposed(cost, jobs), "demand": {WEIGHT: _transposed(weight, jobs)}},
    }
    return Imported((document,))


def import_orlib_assign(path: str | os.PathLike[str], sense: str = "min", name: str | None = None) -> Imported:
    r"""Make an instance document of an OR-Library assignment file: `n`, then costs n x n, one row for each item.

    `sense` is `min` or `max`; `name` is by default that of the file. InputError lists every fault with its line.
    """
    IMPORTERS["orlib-assign"].check(locals())
    numbers = _Numbers(path)
    items = numbers.count(0)
    numbers.end()
    due = 1 + items * items
    if len(numbers.words) != due:
        message = f"{items} items need {items * items} costs, but {len(numbers.words) - 1} numbers follow"
        raise numbers.refused(message, numbers.place(min(due, len(numbers.words) - 1)))
    cost = numbers.matrix(1, items, items)
    numbers.end()
    ids = range(1, items + 1)
    document = {
        "format": "optsched/1",
        "name": stem(path, "txt|dat|gz", "assign") if name is None else name,
        "source": f"OR-Library assignment file {Path(path).name}",
        "parameters": {"generalized-assignment": {"sense": sense}},
        "nodes": [{"id": f"place{number}", "capacity": {PLACE: 1}} for number in ids],
        "tasks": [{"id": f"item{number}"} for number in ids],
        "pairs": {"cost": cost, "demand": {PLACE: [[1] * items for _ in ids]}},
    }
    return Imported((document,))


def _transposed(rows: Sequence[Sequence[Any]], columns: int) -> list[list[Any]]:
    return [[row[column] for row in rows] for column in range(columns)]


class _Numbers(ForeignFile):
    """The words of a file with their lines, read as numbers when needed."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path)
        lines = self.lines()
        self.words = [word for line in lines for word in line.words]
        self._places = [line.place for line in lines for _ in line.words]
        self.end(self.words, "holds no number")

    def place(self, at: int) -> str:
        """The line of a word."""
        return self._places[at]

    def count(self, at: int) -> int:
        """A whole number that is a count; 0 and a fault if it is none."""
        word = self.words[at]
        if word.isdecimal() and word.isascii() and len(word) < 10:
            return int(word)
        self.fault(self.place(at), f"expected how many there are, got {shown(word)}")
        return 0

    def gap_sets(self) -> list[int]:
        """The position of the beginning of each generalized-assignment set; InputError if the file is neither one set
        nor as many as it says.
        """
        if len(self.words) < 2:
            raise self.refused("is too short: expected agents, jobs and their numbers", self.place(0))
        agents, jobs = self.count(0), self.count(1)
        self.end()
        if self._size(agents, jobs) == len(self.words):
            return [0]
        starts: list[int] = []
        at = 1
        while len(starts) < agents and at + 1 < len(self.words):
            size = self._size(self.count(at), self.count(at + 1))
            if self.faults or at + size > len(self.words):
                break
            starts.append(at)
            at += size
        if len(starts) == agents and starts and at == len(self.words):
            return starts
        message = (
            f"{agents} agents and {jobs} jobs need {self._size(agents, jobs) - 2} more numbers, but "
            f"{len(self.words) - 2} follow; they are not {agents} sets one after the other"
        )
        raise self.refused(message, self.place(0))

    def _size(self, agents: int, jobs: int) -> int:
        """How many numbers a set has, with the two at its beginning."""
        return 2 + 2 * agents * jobs + agents

    def matrix(self, start: int, rows: int, columns: int, least: float = -LARGEST) -> list[list[int | float]]:
        """Rows of numbers that follow each other."""
        return [self.values(start + row * columns, columns, least) for row in range(rows)]

    def values(self, start: int, count: int, least: float = -LARGEST) -> list[int | float]:
        """Numbers that follow each other."""
        return [self._value(at, least) for at in range(start, start + count)]

    def _value(self, at: int, least: float) -> int | float:
        word = self.words[at]
        if not _NUMBER.fullmatch(word):
            self.fault(self.place(at), f"expected a number, got {shown(word)}")
            return 0
        value = float(word)
        if value < least:
            self.fault(self.place(at), f"{shown(word)} is negative")
        elif abs(value) > LARGEST:
            self.fault(self.place(at), f"{shown(word)} is past 2^53")
        return int(value) if value.is_integer() else value


#: More nodes are refused, since the header may declare any number.
MOST_NODES = 10_000_000

#: Words of each kind of line, and their meanings.
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
    reader = _Network(path)
    supplied = {str(node): supply for node, (_, supply) in reader.supply.items() if supply}
    ids = map(str, range(1, (reader.nodes or 0) + 1))
    document = {
        "format": "optsched-network/1",
        "name": stem(path, "dimacs|min|in|txt|gz", "dimacs") if name is None else name,
        "source": f"DIMACS file {Path(path).name}",
        "nodes": [{"id": node} | ({"supply": supplied[node]} if node in supplied else {}) for node in ids],
        "arcs": reader.arcs,
    }
    return Imported((document,))


class _Network(ForeignFile):
    """The contents of the lines. An unknown line is a fault; after one, counts are not checked."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path)
        self.nodes: int | None = None
        self.arcs_due = 0
        self.header = ""
        self.supply: dict[int, tuple[str, int]] = {}  # the line, and the units
        self.arcs: list[dict[str, Any]] = []
        for line in self.lines():
            self._read(line)
        self.end(self.nodes is not None, f'there is no line "{_FORMS["p"]}"')
        if len(self.arcs) != self.arcs_due:
            raise self.refused(f"says {self.arcs_due} arcs, but there are {len(self.arcs)}", self.header)
        if total := sum(supply for _, supply in self.supply.values()):
            message = f"the supplies of its nodes add up to {total}, not 0: what enters must leave somewhere"
            raise self.refused(message, self.header)

    def _read(self, line: Line) -> None:
        """Read one line; add its faults to the others."""
        kind, before = line.words[0], len(self.faults)
        if kind == "c":
            return
        if kind not in _FORMS:
            line.fault(f"begins with {shown(kind)}; a line is a comment (c), {', '.join(_FORMS.values())}")
        elif len(line.words) != len(_FORMS[kind].split()):
            line.fault(f"has {len(line.words)} words; it must be {_FORMS[kind]}")
        elif kind == "p":
            self._problem(line)
        elif self.nodes is None:
            if not self.faults:
                line.fault(f'stands before the line "{_FORMS["p"]}"')
        elif kind == "n":
            node, supply = self._node(line, 1, "the node"), line.integer(2, "the supply")
            if len(self.faults) == before and node in self.supply:
                line.fault(f"node {node} has a supply on {self.supply[node][0]} already")
            elif len(self.faults) == before:
                self.supply[node] = line.place, supply
        else:
            tail, head = self._node(line, 1, "the tail"), self._node(line, 2, "the head")
            lower, capacity = line.integer(3, "the lower limit", 0), line.integer(4, "the capacity", 0)
            cost = line.integer(5, "the cost")
            if len(self.faults) == before and lower > capacity:
                line.fault(f"the lower limit {lower} is more than the capacity {capacity}")
            arc = {"tail": str(tail), "head": str(head), "lower": lower, "capacity": capacity, "cost": cost}
            self.arcs.append(arc)

    def _problem(self, line: Line) -> None:
        if line.words[1] != "min":
            line.fault(f"is a problem of kind {shown(line.words[1])}; only min (minimum-cost flow) is read")
        elif self.header:
            line.fault(f"is a second problem; the first is on {self.header}")
        else:
            nodes, self.arcs_due = line.integer(2, "the number of nodes", 0), line.integer(3, "the number of arcs", 0)
            if nodes > MOST_NODES:
                line.fault(f"{nodes} nodes are more than the {MOST_NODES} that are read")
            else:
                self.nodes, self.header = nodes, line.place

    def _node(self, line: Line, at: int, noun: str) -> int:
        """The number of an existing node; else a fault."""
        before = len(self.faults)
        node = line.integer(at, noun)
        if len(self.faults) == before and not 1 <= node <= (self.nodes or 0):
            line.fault(f"{noun} is {node}; nodes are numbered from 1 to {self.nodes}")
        return node
