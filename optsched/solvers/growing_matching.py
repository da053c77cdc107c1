"""A maximum b-matching of tasks to nodes that grows with the nodes' room, and leaves free what it need not take.

No search is ever repeated: a node from which no unmatched task is reached stays so, however much room nodes get.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import numpy.typing as npt

from optsched.core.deadline import check
from optsched.solvers.compiled import compiled, compiles
from optsched.solvers.compiling import ready
from optsched.solvers.growing_kernels import CLOSED, STATE, WANTED, grow
from optsched.solvers.growing_lists import grow_lists

__all__ = ["COMPILED_PAIRS", "GrowingMatching"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

Lists = tuple[list[int], list[int], list[int], list[int], list[int]]

#: The loop is compiled, where numba is installed, from so many pairs of task and node on: this takes some 0.3 s. Once
#: it is compiled in a process, it is taken for fewer too.
COMPILED_PAIRS = 20_000

#: Steps of the compiled loop between two looks at the deadline.
_STEPS = 10**7

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
    look
        Where in `tasks` each node's next unmatched one may be: int64, shape (nodes,), or a list.
    cover
        bool, shape (nodes,): with the tasks that the other nodes accept, a cover that weighs what is matched.
    pairs
        `starts` and `tasks` as the compiled loop reads them, as short integers if they may be: more are in a cache.
    lists
        As the loop on lists reads them: `starts`, `tasks`, `node`, `used` and `look`.

    Notes
    -----
    Augmenting paths backwards, each a shortest one: from a node with room to an unmatched task. Where there is none,
    the nodes that are reached are closed. All tasks that they accept are matched to them, and remain so, since
    unmatched tasks become fewer only. Once no open node has room, the matching is maximum and the open nodes are its
    cover (König). All searches together, over any number of growths, look once at each pair of a closed node. The loop
    on lists takes the same steps as the compiled one.

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
    look: Ints | list[int]
    cover: Bools
    pairs: tuple[Ints, Ints] | None = field(default=None, repr=False)
    lists: Lists | None = field(default=None, repr=False)

    @classmethod
    def empty(cls, starts: Ints, tasks: Ints, count: int, unit: int, chunk: int) -> GrowingMatching:
        """The matching of none of `count` tasks."""
        nodes = len(starts) - 1
        none, zero = np.full(count, -1, dtype=np.int64), np.zeros(nodes, dtype=np.int64)
        return cls(starts, tasks, unit, chunk, none, zero, starts[:-1], np.ones(nodes, dtype=bool))

    @property
    def size(self) -> int:
        """Number of matched tasks."""
        return int(self.used.sum())

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
        check()
        chunks = (room - self.unit * self.used) // self.chunk
        if (len(self.tasks) >= COMPILED_PAIRS or _compiled.cache_info().currsize > 0) and compiles():
            return self._by_kernel(room, chunks, wanted)
        return self._by_lists(room, chunks, wanted)

    def _by_lists(self, room: Ints, chunks: Ints, wanted: int) -> GrowingMatching:
        """The same by the loop on lists."""
        columns = self.starts, self.tasks, self.node, self.used, np.asarray(self.look)
        starts, tasks, *before = self.lists or [column.tolist() for column in columns]
        node, used, look = changed = [column.copy() for column in before]
        cover = grow_lists(starts, tasks, self.unit, self.chunk, wanted, room, chunks, self.cover, *changed)
        placed, numbers = np.array(array("q", node)), np.array(array("q", used))
        lists = starts, tasks, node, used, look
        return replace(self, node=placed, used=numbers, look=look, cover=cover, lists=lists)

    def _by_kernel(self, room: Ints, chunks: Ints, wanted: int) -> GrowingMatching:
        """The same by the compiled loop."""
        largest = max(len(self.tasks), len(self.node) + len(room), self.chunk, int(room.max(initial=0)))
        kind = np.dtype(np.int32 if largest < 2**30 else np.int64)
        pairs = self.pairs
        if pairs is None or pairs[0].dtype != kind:
            pairs = self.starts.astype(kind), self.tasks.astype(kind)
        state = np.zeros(STATE, dtype=kind)
        state[WANTED] = -1
        held = [room, chunks, self.node, self.used, self.look, np.where(self.cover, 0, CLOSED)]
        columns = [*(np.array(column, dtype=kind) for column in held), *np.zeros((3, len(room)), dtype=kind), state]
        loop, asked = _compiled(), (*pairs, self.unit, self.chunk, wanted, *columns, _STEPS)
        ready(loop, *asked)
        while not loop(*asked):
            check()
        node, used, look = (column.astype(np.int64) for column in columns[2:5])
        cover = columns[5] != CLOSED
        return replace(self, node=node, used=used, look=look, cover=cover, pairs=pairs, lists=None)
