"""A maximum b-matching of tasks to nodes that grows with the nodes' room, and leaves free what it need not take.

No search is ever repeated: a node from which no unmatched task is reached stays so, however much room nodes get.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from optsched.deadline import check
from optsched.solvers.compiled import compiled, compiles
from optsched.solvers.compiling import ready
from optsched.solvers.growing_kernels import CLOSED, STAMP, STATE, WANTED, grow

__all__ = ["COMPILED_PAIRS", "GrowingMatching"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

#: The loop is compiled, where numba is installed, from so many pairs of task and node on: this takes some 0.3 s. Once
#: it is compiled in a process, it is taken for fewer too.
COMPILED_PAIRS = 20_000

#: Steps of the loop between two looks at the deadline.
_STEPS, _STEPS_IN_PYTHON = 10**7, 10**5

_compiled = cache(lambda: compiled(grow))


@dataclass(frozen=True, eq=False)
class GrowingMatching:
    """A maximum b-matching of tasks to nodes that accept them, where a task takes `unit` of a node's room.

    What a node does not give to matched tasks it can give to other work, in chunks. So there is a second aim among the
    maximum matchings: that many chunks are left, `(room - unit * used) // chunk` of a node. A node keeps all the chunks
    that it has room for, and opens one only where this matches a task, first where most unmatched tasks want it. How
    many are left is not the most that could be.

    Attributes
    ----------
    starts, tasks
        The tasks that each node accepts, in CSR form: int64, shapes (nodes + 1,) and (pairs,). Tasks with few nodes had
        better come first.
    unit, chunk
        Room that a task takes, at least 1, and that a chunk takes, at least as much.
    node
        int64, shape (tasks,): node of each task, or -1.
    used
        int64, shape (nodes,): tasks on each node.
    pairs
        `starts` and `tasks` as the loop reads them: lists, whose entries Python reads three times as fast, or short
        integers, of which more are in a cache.

    Notes
    -----
    Augmenting paths backwards, each a shortest one: from a node with room to an unmatched task. Where there is none,
    the nodes that are reached are closed. All tasks that they accept are matched to them, and remain so, since
    unmatched tasks become fewer only. Once no open node has room, the matching is maximum and the open nodes are its
    cover (König). All searches together, over any number of growths, look once at each pair of a closed node. The same
    steps are taken whether the loop is compiled or not.

    Examples
    --------
    Node 0 accepts tasks 0, 1 and 2, node 1 task 2 alone. With room for a task each, the second one is left for later:

    >>> matching = GrowingMatching.empty(np.array([0, 3, 4]), np.array([0, 1, 2, 2]), 3, unit=1, chunk=3)
    >>> once = matching.grown(np.array([1, 1]))
    >>> once.node.tolist(), once.cover.tolist(), once.size
    ([0, -1, 1], [True, True], 2)
    >>> once.grown(np.array([2, 1])).size
    3
    """

    starts: Ints
    tasks: Ints
    unit: int
    chunk: int
    node: Ints
    used: Ints
    look: Ints
    mark: Ints
    pairs: tuple[Any, Any] | None = field(default=None, repr=False)

    @classmethod
    def empty(cls, starts: Ints, tasks: Ints, count: int, unit: int, chunk: int) -> GrowingMatching:
        """The matching of none of `count` tasks."""
        nodes = len(starts) - 1
        none, zero = np.full(count, -1, dtype=np.int64), np.zeros(nodes, dtype=np.int64)
        return cls(starts, tasks, unit, chunk, none, zero, starts[:-1].copy(), zero)

    @property
    def size(self) -> int:
        """Number of matched tasks."""
        return int(self.used.sum())

    @property
    def cover(self) -> Bools:
        """bool, shape (nodes,): with the tasks that the other nodes accept, a cover that weighs what is matched."""
        return np.asarray(self.mark != CLOSED)

    def grown(self, room: Ints, wanted: int = 0) -> GrowingMatching:
        """A maximum matching where nodes have so much room: not less than before, and at least what they gave.

        Parameters
        ----------
        room
            int64, shape (nodes,).
        wanted
            Chunks are first opened where at least so many unmatched tasks want a node, then where fewer do. With 3 more
            chunks are left than with 0, which is up to ten times as fast.

        Raises
        ------
        OutOfTime
            If a deadline passes.
        """
        held = [self.node, self.used, self.look, self.mark]
        fast = (len(self.tasks) >= COMPILED_PAIRS or _compiled.cache_info().currsize > 0) and compiles()
        chunks = (room - self.unit * self.used) // self.chunk
        queue, parent, via = np.zeros((3, len(room)), dtype=np.int64)
        open_marks = self.mark[self.mark != CLOSED]
        state = np.zeros(STATE, dtype=np.int64)
        state[STAMP], state[WANTED] = open_marks.max(initial=0), -1
        columns = [room, chunks, *held, queue, parent, via, state]
        if fast:
            largest = max(len(self.tasks), len(self.node) + len(room), self.chunk, int(room.max(initial=0)))
            kind = np.dtype(np.int32 if largest < 2**30 else np.int64)
            pairs, columns = self._pairs_as(kind), [column.astype(kind) for column in columns]
            self._until_done(_compiled(), wanted, pairs, columns, _STEPS)
            held = [column.astype(np.int64) for column in columns[2:6]]
        else:
            pairs, lists = self._pairs_as(None), [column.tolist() for column in columns]
            self._until_done(grow, wanted, pairs, lists, _STEPS_IN_PYTHON)
            held = [np.array(array("q", column)) for column in lists[2:6]]
        node, used, look, mark = held
        return replace(self, node=node, used=used, look=look, mark=mark, pairs=pairs)

    def _pairs_as(self, kind: np.dtype[Any] | None) -> tuple[Any, Any]:
        """`starts` and `tasks` as arrays of a kind, or as lists."""
        if self.pairs is not None and getattr(self.pairs[0], "dtype", None) == kind:
            return self.pairs
        if kind is None:
            return self.starts.tolist(), self.tasks.tolist()
        return self.starts.astype(kind), self.tasks.astype(kind)

    def _until_done(
        self, loop: Callable[..., bool], wanted: int, pairs: Sequence[Any], columns: Sequence[Any], most: int
    ) -> None:
        """Run the loop, so many steps at a time, on arrays, or on lists of the same."""
        asked = *pairs, self.unit, self.chunk, wanted, *columns, most
        check()
        ready(loop, *asked)
        while not loop(*asked):
            check()
