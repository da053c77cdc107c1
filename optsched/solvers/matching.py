"""Maximum b-matchings of tasks to the nodes that accept them, by augmenting paths, and the covers that prove them.

`GrowingMatching` grows with the nodes' room and never repeats a search: a node from which no unmatched task is reached
stays so, however much room nodes get. `maximum_b_matching` is one such growth. The loop runs on lists as it is, or on
arrays, compiled by numba, where there are many pairs. `Cover` grows task by task, and so in a known order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from optsched.core.arrays import Bools, Ints, Ragged
from optsched.core.deadline import check
from optsched.core.errors import SolverDisagreement, UsageError
from optsched.solvers.compiled import compiled, compiles, ready

#: The loop is compiled, where numba is installed, from this many pairs of task and node on: this takes some 0.3 s. Once
#: it is compiled in a process, it is taken for fewer too.
COMPILED_PAIRS = 20_000

#: Steps between two looks at the deadline: of the compiled loop, and of that on lists.
_STEPS, _STEPS_ON_LISTS = 10**7, 10**5

#: Marks a node from which no unmatched task is reached, now and later. Marks that are given are fewer than tasks and
#: nodes together, since each is of a search that matches a task or closes a node.
CLOSED = 2**30

#: Entries of the state of the loop: the next node, the last mark, whether this round opened a chunk, and how many
#: unmatched tasks must want a node that opens one; -1 while none is opened.
AT, STAMP, OPENED, OPENING, STATE = range(5)


class BMatching(NamedTuple):
    """A maximum b-matching of tasks to nodes, and the vertex cover that proves it (Kőnig).

    `node` is the node of each task, or -1 (int64). In `task_cover` and `node_cover` (bool) every pair (task, its node)
    has its task or its node. They weigh (1 a task, its capacity a node) what is matched, so no matching is larger.
    """

    node: Ints
    task_cover: Bools
    node_cover: Bools

    @property
    def size(self) -> int:
        """Number of matched tasks."""
        return int(np.count_nonzero(self.node >= 0))


def maximum_b_matching(
    indptr: npt.NDArray[np.integer[Any]], indices: npt.NDArray[np.integer[Any]], capacity: npt.NDArray[np.integer[Any]]
) -> BMatching:
    """Match as many tasks as possible to nodes that they accept, no node with more than its capacity.

    UsageError if a capacity is negative, or a task accepts a node that has none. OutOfTime if a deadline passes.

    Parameters
    ----------
    indptr, indices
        Nodes that each task accepts in CSR form, shapes (tasks + 1,) and (pairs,); each pair once.
    capacity
        Shape (nodes,): tasks that a node takes, at least 0.

    Examples
    --------
    Tasks 0 and 1 accept node 0 only, which takes one; task 2 accepts both nodes:

    >>> matching = maximum_b_matching(np.array([0, 1, 2, 4]), np.array([0, 0, 0, 1]), np.array([1, 1]))
    >>> matching.size, matching.node.tolist(), matching.node_cover.tolist()
    (2, [0, -1, 1], [True, True])
    """
    tasks, nodes = len(indptr) - 1, len(capacity)
    if (nodes and capacity.min() < 0) or (len(indices) and indices.max() >= nodes):
        raise UsageError(f"a b-matching of {nodes} nodes needs a capacity for each that is accepted, at least 0")
    accepting = Ragged(np.asarray(indptr, dtype=np.int64), np.asarray(indices, dtype=np.int64)).transposed(nodes)
    room = np.minimum(capacity, tasks + 1).astype(np.int64)  # a node that tasks cannot fill is none of the cover
    matching = GrowingMatching.empty(accepting.starts, accepting.values, tasks, 1, tasks + 2).grown(room)
    cover = matching.cover & (accepting.lengths > 0)
    found = BMatching(matching.node, (matching.node >= 0) & ~np.append(cover, True)[matching.node], cover)
    if int(found.task_cover.sum()) + int(room[cover].sum()) != found.size:
        raise SolverDisagreement("the matching that was found is not maximum: its cover weighs more")
    return found


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
        The tasks that each node accepts, in CSR form (int64); tasks with few nodes had better come first.
    unit, chunk
        Room that a task takes, at least 1, and that a chunk takes, at least as much.
    node, used, look, cover
        The node of each task, or -1; tasks on each node; where in `tasks` its next unmatched one may be; and whether it
        is in the cover: with the tasks that the other nodes accept, these weigh what is matched.
    pairs
        `starts` and `tasks` as the loop read them last: lists, or short integers.

    Notes
    -----
    Augmenting paths backwards, each a shortest one: from a node with room to an unmatched task. Where there is none,
    the nodes that are reached are closed. All tasks that they accept are matched to them, and remain so, since
    unmatched tasks become fewer only. Once no open node has room, the matching is maximum and the open nodes are its
    cover (König). All searches together, over any number of growths, look once at each pair of a closed node.

    Examples
    --------
    Node 0 accepts tasks 0, 1 and 2, node 1 task 2 alone. With room for a task each, the second one is left for later:

    >>> matching = GrowingMatching.empty(np.array([0, 3, 4]), np.array([0, 1, 2, 2]), 3, unit=1, chunk=3)
    >>> once = matching.grown(np.array([1, 1]))
    >>> once.node.tolist(), once.cover.tolist(), once.grown(np.array([2, 1])).size
    ([0, -1, 1], [True, True], 3)
    """

    starts: Ints
    tasks: Ints
    unit: int
    chunk: int
    node: Ints
    used: Ints
    look: Ints
    cover: Bools
    pairs: tuple[Any, Any] | None = field(default=None, repr=False)

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

    def grown(self, room: Ints) -> GrowingMatching:
        """A maximum matching where nodes have so much room (int64, shape (nodes,)): not less than before; OutOfTime."""
        check()
        largest = max(len(self.tasks), len(self.node) + len(room), self.chunk, int(room.max(initial=0)))
        kind = np.dtype(np.int32 if largest < 2**30 else np.int64)
        many = len(self.tasks) >= COMPILED_PAIRS or _compiled.cache_info().currsize > 0
        on_arrays = many and compiles()

        def read(column: npt.ArrayLike) -> Any:
            return np.array(column, dtype=kind) if on_arrays else np.asarray(column).tolist()

        pairs = self.pairs
        if pairs is None or getattr(pairs[0], "dtype", None) != (kind if on_arrays else None):
            pairs = read(self.starts), read(self.tasks)
        chunks = (room - self.unit * self.used) // self.chunk
        held = [room, chunks, self.node, self.used, self.look, np.where(self.cover, 0, CLOSED)]
        columns = [*map(read, held), *(read([0] * len(room)) for _ in range(3)), read([0, 0, 0, 0])]
        asked = (*pairs, self.unit, self.chunk, *columns, _STEPS if on_arrays else _STEPS_ON_LISTS)
        loop = _compiled() if on_arrays else grow
        ready(loop, *asked)
        while not loop(*asked):
            check()
        node, used, look, mark = (np.array(column, dtype=np.int64) for column in columns[2:6])
        return replace(self, node=node, used=used, look=look, cover=mark != CLOSED, pairs=pairs)


def grow(
    starts: Any,
    tasks: Any,
    unit: int,
    chunk: int,
    room: Any,
    chunks: Any,
    node: Any,
    used: Any,
    look: Any,
    mark: Any,
    queue: Any,
    parent: Any,
    via: Any,
    state: Any,
    most: int,
) -> bool:
    """Match tasks to nodes with room until none more can be; returns whether it is done, after some `most` steps.

    Columns are lists or arrays, and changed in place: `chunks` kept free of each node, `node` of each task, tasks
    `used` on each node, where to `look` for its next unmatched task, its `mark`; `queue`, `parent` and `via` are for
    the search.
    """
    nodes, steps = len(room), 0
    following, stamp, opened, opening = state[AT], state[STAMP], state[OPENED], state[OPENING]
    while steps <= most:
        if following == nodes:  # a round is over
            if opened == 0:
                if opening:
                    return True
                opening = 1
            following, opened = 0, 0
            continue
        root = following
        following += 1
        steps += 1
        if mark[root] == CLOSED or (opening and chunks[root] == 0):
            continue
        chunks[root] -= opening
        gained, taken = 0, used[root]
        most_taken, own, end = (room[root] - chunks[root] * chunk) // unit, look[root], starts[root + 1]
        while taken < most_taken:
            while own < end and node[tasks[own]] >= 0:
                own += 1
            if own < end:
                node[tasks[own]] = root
                taken += 1
                gained += 1
                continue
            # Search breadth first for an unmatched task: from a node on to the nodes whose tasks have data on it.
            stamp += 1
            head, tail, found = 0, 1, -1
            queue[0], mark[root] = root, stamp
            while found < 0 and head < tail:
                here = queue[head]
                head += 1
                steps += starts[here + 1] - starts[here]
                for at in range(starts[here], starts[here + 1]):
                    other = node[tasks[at]]
                    if mark[other] < stamp:
                        mark[other], parent[other], via[other] = stamp, here, tasks[at]
                        queue[tail] = other
                        tail += 1
                        place = look[other]
                        while place < starts[other + 1] and node[tasks[place]] >= 0:
                            place += 1
                        look[other] = place
                        if place < starts[other + 1]:
                            found = other
                            break
            if found < 0:
                for at in range(tail):
                    mark[queue[at]] = CLOSED
                break
            # The unmatched task goes to the last node, and a task of each node on the path to the one before it.
            moved, here = tasks[look[found]], found
            while here != root:
                node[moved], moved, here = here, via[here], parent[here]
            node[moved] = root
            taken += 1
            gained += 1
        look[root], used[root] = own, taken
        if opening:
            opened |= gained > 0
            chunks[root] += gained == 0
    state[AT], state[STAMP], state[OPENED], state[OPENING] = following, stamp, opened, opening
    return False


_compiled = cache(lambda: compiled(grow))


class Cover:
    """A matching of tasks to nodes that grows task by task, each along the path that a search breadth first finds.

    A task that is matched stays so, perhaps on another node.

    Attributes
    ----------
    homes
        The nodes that each task accepts.
    node, held
        The node of each task, or -1; and the tasks of each node, in the order in which they came.
    closed
        Nodes from which no room was reached. They stay so as long as no node gets more, and searches leave them out.

    Examples
    --------
    >>> cover = Cover([[0, 1], [0], [0]])
    >>> [cover.add(task, [1, 1]) for task in range(3)], cover.node, cover.closed
    ([True, True, False], [1, 0, -1], {0})
    """

    def __init__(self, homes: Sequence[Sequence[int]]) -> None:
        self.homes, self.node = homes, [-1] * len(homes)
        self.held: defaultdict[int, dict[int, None]] = defaultdict(dict)
        self.closed: set[int] = set()

    def add(self, task: int, room: Sequence[int]) -> bool:
        """Match one more task, if that can be; `room` is how many tasks each node takes."""
        came: dict[int, int] = {}  # the task that looked at each node first
        reached: list[int] = []
        end = -1
        for looking in chain((task,), (held for node in reached for held in self.held[node])):
            for node in self.homes[looking]:
                if node not in came and node not in self.closed:
                    came[node] = looking
                    reached.append(node)
                    if len(self.held[node]) < room[node]:
                        end = node
                        break
            if end >= 0:
                break
        if end < 0:
            self.closed.update(reached)
            return False
        while end >= 0:  # every task of the path moves one node on
            moved = came[end]
            former = self.node[moved]
            self.held[former].pop(moved, None)
            self.held[end][moved] = None
            self.node[moved], end = end, former
        return True
