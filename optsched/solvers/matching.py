"""Maximum b-matchings of tasks to the nodes that accept them, by augmenting paths, and the covers that prove them.

`GrowingMatching` grows with the nodes' room and never repeats a search: a node that reaches no unmatched task never
will, however much room nodes get. `maximum_b_matching` is one such growth. The loop runs on lists or, for many pairs,
on arrays and compiled by numba. `Cover` grows task by task, and so in a known order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import accumulate, chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from optsched.core.arrays import Bools, Ints, Ragged
from optsched.core.deadline import check
from optsched.core.errors import SolverDisagreement, UsageError
from optsched.solvers.compiled import compiled, compiles, ready

#: From this many pairs of task and node, the loop is compiled if numba is installed: this takes some 0.3 s. Once it is
#: compiled in a process, it is used for fewer pairs too.
COMPILED_PAIRS = 20_000

#: Steps between two checks of the deadline: of the compiled loop, and of the one on lists.
_STEPS, _STEPS_ON_LISTS = 10**7, 10**5

#: Marks a node that reaches no unmatched task, now and later. There are fewer other marks than tasks and nodes
#: together, since each belongs to a search that matches a task or closes a node.
CLOSED = 2**30

#: Entries of the loop's state: the next node, the last mark, whether this round opened a chunk, and how many unmatched
#: tasks must want a node that opens one; -1 while none is opened.
AT, STAMP, OPENED, OPENING, STATE = range(5)


class BMatching(NamedTuple):
    """A maximum b-matching of tasks to nodes, and the vertex cover that proves it (Kőnig).

    `node` is the node of each task, or -1 (int64). In `task_cover` and `node_cover` (bool) every pair (task, its node)
    has its task or its node. Their weight (1 per task, a node's capacity) is the number of matched tasks, so no
    matching is larger.
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

    UsageError if a capacity is negative, or a task accepts a node that does not exist. OutOfTime if a deadline passes.

    Parameters
    ----------
    indptr, indices
        Nodes that each task accepts in CSR form, shapes (tasks + 1,) and (pairs,); each pair once.
    capacity
        Shape (nodes,): how many tasks each node takes, at least 0.

    Examples
    --------
    Tasks 0 and 1 accept only node 0, which takes one; task 2 accepts both nodes:

    >>> matching = maximum_b_matching(np.array([0, 1, 2, 4]), np.array([0, 0, 0, 1]), np.array([1, 1]))
    >>> matching.size, matching.node.tolist(), matching.node_cover.tolist()
    (2, [0, -1, 1], [True, True])
    """
    tasks, nodes = len(indptr) - 1, len(capacity)
    if (nodes and capacity.min() < 0) or (len(indices) and indices.max() >= nodes):
        raise UsageError(f"a b-matching of {nodes} nodes needs a capacity for each that is accepted, at least 0")
    accepting = Ragged(np.asarray(indptr, dtype=np.int64), np.asarray(indices, dtype=np.int64)).transposed(nodes)
    room = np.minimum(capacity, tasks + 1).astype(np.int64)  # a node that tasks cannot fill is not in the cover
    matching = GrowingMatching.empty(accepting.starts, accepting.values, tasks, 1, tasks + 2).grown(room)
    cover = matching.cover & (accepting.lengths > 0)
    found = BMatching(matching.node, (matching.node >= 0) & ~np.append(cover, True)[matching.node], cover)
    if int(found.task_cover.sum()) + int(room[cover].sum()) != found.size:
        raise SolverDisagreement("the matching that was found is not maximum: its cover weighs more")
    return found


@dataclass(frozen=True, eq=False)
class GrowingMatching:
    """A maximum b-matching of tasks to nodes that accept them; a task takes `unit` of a node's room.

    Room that a node does not give to matched tasks is for other work, in chunks. So there is a second aim among the
    maximum matchings: to keep many chunks, `(room - unit * used) // chunk` per node. A node keeps all the chunks that
    it has room for, and opens one only if this matches a task, first where most unmatched tasks want it. The number of
    chunks kept is not always the maximum.

    Attributes
    ----------
    starts, tasks
        The tasks that each node accepts, in CSR form (int64); tasks with few nodes should come first.
    unit, chunk
        Room of a task, at least 1, and room of a chunk, at least as much.
    node, used, look, cover
        The node of each task, or -1; tasks on each node; the earliest index in `tasks` of its next unmatched one; and
        whether it is in the cover. The cover and the tasks that the other nodes accept weigh as much as the matching.
    pairs
        `starts` and `tasks` as the loop last used them: lists, or short integers.

    Notes
    -----
    Shortest augmenting paths, backwards: from a node with room to an unmatched task. If there is none, the reached
    nodes are closed. All tasks that they accept are matched to them, and stay so, since the set of unmatched tasks only
    shrinks. Once no open node has room, the matching is maximum and the open nodes are its cover (König). All searches
    together, over any number of growths, examine each pair of a closed node once.

    Examples
    --------
    Node 0 accepts tasks 0, 1 and 2, node 1 only task 2. With room for a task each, the second one is left for later:

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
        """The empty matching of `count` tasks."""
        nodes = len(starts) - 1
        none, zero = np.full(count, -1, dtype=np.int64), np.zeros(nodes, dtype=np.int64)
        return cls(starts, tasks, unit, chunk, none, zero, starts[:-1], np.ones(nodes, dtype=bool))

    @property
    def size(self) -> int:
        """Number of matched tasks."""
        return int(self.used.sum())

    def grown(self, room: Ints) -> GrowingMatching:
        """A maximum matching for this room (int64, shape (nodes,)), which must not be less than before; OutOfTime."""
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
    """Match tasks to nodes with room until no more can be; returns whether it is done, after about `most` steps.

    Columns are lists or arrays, and changed in place: `chunks` kept free on each node, `node` of each task, tasks
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
            # Breadth-first search for an unmatched task: from a node to the nodes whose tasks have data on it.
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
            # The unmatched task goes to the last node, and a task of each node on the path to the previous one.
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


# A matching that grows task by task, and so in a known order ----------------------------------------------------------

#: From this many tasks, the loop is compiled if numba is installed.
COMPILED_TASKS = 20_000

#: Steps of the loop between two checks of the deadline.
_COVER_STEPS = 2**18


class Cover:
    """A matching of tasks to nodes with room that grows task by task, each along the first path that a search finds.

    A matched task stays matched, perhaps on another node.

    Attributes
    ----------
    node, count
        The node of each task, or -1; and how many tasks each node has.

    Examples
    --------
    >>> cover = Cover([[0, 1], [0], [0]], [0, 1, 2], 2)
    >>> cover.grow([1, 1]), cover.node
    ([1, 0], [1, 0, -1])
    """

    def __init__(self, homes: Sequence[Sequence[int]], waiting: Sequence[int], nodes: int) -> None:
        """`homes` are the nodes that each task accepts, `waiting` the tasks to match, in their order."""
        tasks = len(homes)
        self._on_arrays = tasks >= COMPILED_TASKS and compiles()
        self._read: Callable[[Sequence[int]], Any] = partial(np.array, dtype=np.int64) if self._on_arrays else list
        self._rows = self._read([0, *accumulate(map(len, homes))]), self._read([*chain.from_iterable(homes)])
        self._waiting, self.node, self.count = map(self._read, (waiting, [-1] * tasks, [0] * nodes))
        self._rings = [self._read(range(tasks + nodes)) for _ in range(2)]

    def grow(self, room: Sequence[int]) -> Any:
        """Match all tasks that can be, given the total room of nodes; returns 1 for nodes that reach no room."""
        nodes = len(room)
        closed, reached, queue, progress = map(self._read, ([0] * nodes, [-1] * nodes, [0] * nodes, [0, 0]))
        state = self._read(room), self.node, self.count, *self._rings, closed, reached, queue, progress
        loop = _compiled_cover() if self._on_arrays else augment
        asked = *self._rows, self._waiting, *state, _COVER_STEPS
        ready(loop, *asked)
        check()
        while not loop(*asked):
            check()
        self._waiting = self._waiting[: progress[1]]
        return closed


def augment(
    starts: Any,
    values: Any,
    waiting: Any,
    capacity: Any,
    node: Any,
    count: Any,
    before: Any,
    after: Any,
    closed: Any,
    reached: Any,
    queue: Any,
    progress: Any,
    most: int,
) -> bool:
    """Match the tasks of `waiting` one after another, each along an augmenting path, if there is one.

    It is the first path that a breadth-first search from the task finds.

    Columns are lists or arrays, and changed in place: `starts` and `values` are the nodes that each task accepts, as
    rows. `waiting` are tasks to match; those that stay unmatched are moved to its beginning. Nodes have a `capacity`
    and a `count` of tasks, tasks a `node`, or -1. The tasks of each node are a ring, `before` and `after`, in the order
    of arrival; node n has the entry behind all tasks, number tasks + n. `closed` nodes reach no room. `reached` (-1)
    and `queue` are work arrays for nodes. `progress` is how many of `waiting` are done, and how many stay. It returns
    after about `most` steps, and says whether all are done.
    After some `most` steps it returns, whether or not all are done, which it says.
    """
    tasks = len(node)
    done, stay = progress[0], progress[1]
    looked = 0
    while done < len(waiting) and looked < most:
        task = waiting[done]
        done += 1
        looked += 1
        first, last, end, moving = 0, 0, -1, task
        while moving != -1 and end == -1:
            for position in range(starts[moving], starts[moving + 1]):
                one = values[position]
                if reached[one] == -1 and closed[one] == 0:
                    reached[one] = moving
                    queue[last] = one
                    last += 1
                    if count[one] < capacity[one]:
                        end = one
                        break
            moving = after[moving] if first > 0 else tasks
            while moving >= tasks:  # the next reached node
                if first == last:
                    moving = -1
                else:
                    moving = after[tasks + queue[first]]
                    first += 1
        looked += last
        if end == -1:
            waiting[stay] = task
            stay += 1
            for place in range(last):
                closed[queue[place]] = 1
        else:
            count[end] += 1
        while end != -1:  # move every task of the path to the next node
            moving, ring = reached[end], tasks + end
            left = node[moving]
            if left != -1:
                after[before[moving]], before[after[moving]] = after[moving], before[moving]
            node[moving] = end
            before[moving], after[moving] = before[ring], ring
            after[before[ring]] = moving
            before[ring] = moving
            end = left
        for place in range(last):
            reached[queue[place]] = -1
    progress[0], progress[1] = done, stay
    return bool(done == len(waiting))


_compiled_cover = cache(lambda: compiled(augment))
