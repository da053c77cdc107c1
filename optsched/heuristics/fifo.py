"""`fifo` and `larts`: jobs by arrival, each task where it is best off among the slots that are left then.

Both are batch heuristics. They draw nothing at random and place as many tasks as there are slots for.
"""

from __future__ import annotations

import numpy as np

from optsched.core.deadline import check
from optsched.core.instance import KINDS, MAP, REDUCE, Floats, Ints, Ragged
from optsched.core.placement import NONE, Placement
from optsched.heuristics.fair import SLOT_PROBLEMS
from optsched.heuristics.labl import row_lists
from optsched.heuristics.running.base import Heuristic
from optsched.heuristics.seen_costs import all_stored, missing_sizes, sizes_parameter
from optsched.problems.base import Problem
from optsched.problems.distances import cluster_places
from optsched.problems.transmission import Transmission
from optsched.problems.transmission_reduces import ReduceSlots, TransmissionReduces
from optsched.searches.transmission_stages import first_fit

__all__ = ["HEURISTICS", "fifo", "job_order", "larts", "maps_in_order", "positions_of", "with_reduces"]


def fifo(problem: Problem, rng: np.random.Generator) -> Placement:
    """Jobs by arrival; each map on the first free node that holds its block, else in a rack that does, else anywhere.

    "First" is by position: where no node holds a block, as with separate storage, FIFO fills the first node of the
    rack and then the next (Hsu and Freeh, note 10). Jobs that arrive together are taken in the order of the file. Jobs
    without an arrival come first, and tasks without a job before them.

    Task by task is assumed: the papers say what FIFO prefers, not how it fills a snapshot (Hsu and Freeh, note 10).
    Hadoop's own takes one free slot after another.

    Reduces go to the first free node each, in the same order; where the problem wants that, no two of a job go to one
    node. Where fewer reduces than possible would find a node in this way, some are moved on (`first_fit`).

    Parameters
    ----------
    problem
        One with slots: `flow`, `lsap`, `fair-lsap`, `flow-congestion`, or a `transmission` problem.

    References
    ----------
    Hsu and Freeh, section 5.2: Hadoop's FIFO scheduler on one snapshot; Shen et al. 2016, section IV.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Ragged, Workload
    >>> from optsched.problems import Lsap
    >>> workload = Workload(["t1", "t2", "t3"], replicas=Ragged.from_rows([[1], [1], [1]]))
    >>> cluster = Cluster(["n1", "n2", "n3", "n4"], rack=[0, 1, 1, 0], rack_ids=["r1", "r2"])
    >>> fifo(Lsap(Instance(cluster, workload)), np.random.default_rng()).nodes.tolist()
    [1, 2, 0]
    """
    return with_reduces(problem, maps_in_order(problem))


def larts(
    problem: TransmissionReduces | Transmission, rng: np.random.Generator, *, sizes: str = "extrapolated"
) -> Placement:
    """Each reduce as near as it can be to the node that holds most of its input; maps as in `fifo`.

    Jobs go by arrival. A reduce takes, of the free nodes that it may use, the one nearest to the node that holds most
    of its MB, in the direction of the data; of equally near ones the node with most MB, then the first. A reduce for
    which no node holds anything takes the first free node.

    Parameters
    ----------
    problem
        `transmission-reduces` or `transmission`.
    sizes
        How MB are estimated; see `estimated_sizes`.

    References
    ----------
    LARTS: Hammoud and Sakr, CloudCom 2011, as Shen et al. 2016, section IV, sum it up: a reduce runs where, or near to
    where, most of its input is.
    """
    nodes = maps_in_order(problem)
    reduces = positions_of(problem, REDUCE)
    instance = problem.instance
    where = np.where(problem.placement(nodes).nodes != NONE, problem.placement(nodes).nodes, instance.state.node)
    amounts = all_stored(instance, where, problem.tasks[reduces], sizes)
    places = cluster_places(instance.cluster, instance.name)
    preference = np.zeros(amounts.shape)
    for reduce in np.flatnonzero(amounts.any(axis=1)).tolist():
        nearest = np.lexsort((-amounts[reduce], places.rows(amounts[reduce].argmax(keepdims=True))[0]))
        preference[reduce, nearest] = np.arange(len(nearest))
    return with_reduces(problem, nodes, preference)


def positions_of(problem: Problem, kind: int) -> Ints:
    """Positions in `problem.tasks` of the tasks of a kind."""
    return np.flatnonzero(problem.instance.workload.kind[problem.tasks] == kind).astype(np.int64)


def with_reduces(problem: Problem, nodes: Ints, preference: Floats | None = None) -> Placement:
    """The placement of `nodes`, with the reduces placed too, job after job by arrival (`first_fit`).

    `preference` has shape (reduces, nodes): the least is preferred; None: the first node. Where the problem has no rule
    for the reduces of a job (its parameter `distinct`), these may share a node.
    """
    reduces = positions_of(problem, REDUCE)
    if len(reduces):
        slots = ReduceSlots(problem.instance, problem.tasks[reduces], problem.parameters.get("distinct", False))
        alike = np.zeros((len(reduces), len(slots.capacity)))
        chosen = first_fit(slots, job_order(problem, reduces), alike if preference is None else preference)
        nodes[reduces] = chosen
    return problem.placement(nodes)


def maps_in_order(problem: Problem) -> Ints:
    """The maps placed as `fifo` has it: node or -1 of each of `problem.tasks`."""
    nodes = np.full(len(problem.tasks), NONE, dtype=np.int64)
    maps = positions_of(problem, MAP)
    offered = problem.offered.get(KINDS[MAP], np.zeros(len(problem.instance.cluster), dtype=np.int64))
    chosen = maps[job_order(problem, maps)][: int(offered.sum())]
    nodes[chosen] = nodes_in_turn(problem.replicas.take(chosen), offered, problem.instance.cluster.rack)
    return nodes


def nodes_in_turn(replicas: Ragged, offered: Ints, racks: Ints) -> list[int]:
    """A free node for each map in turn: the first with its block, else the first in a rack of one, else the first.

    Parameters
    ----------
    replicas
        A row for each map (no more maps than slots): the nodes that hold its block.
    offered, racks
        Free slots of each node, and its rack or -1.
    """
    free, rack = offered.tolist(), racks.tolist()
    anywhere = np.flatnonzero(offered)[::-1].tolist()  # stacks, the first free node on top
    in_rack: dict[int, list[int]] = {}
    for node in anywhere:
        in_rack.setdefault(rack[node], []).append(node)
    in_rack.pop(NONE, None)

    def first(stack: list[int]) -> int:
        while stack and not free[stack[-1]]:
            stack.pop()
        return stack[-1] if stack else len(free)

    nodes = []
    for holders in row_lists(replicas):
        check()
        node = min((holder for holder in holders if free[holder]), default=len(free))
        if node == len(free):
            node = min((first(in_rack.get(rack[holder], [])) for holder in holders), default=len(free))
        if node == len(free):
            node = first(anywhere)
        nodes.append(node)
        free[node] -= 1
    return nodes


def job_order(problem: Problem, positions: Ints) -> Ints:
    """Order of the tasks at `positions` by arrival of their jobs, then by job, then by position."""
    workload = problem.instance.workload
    job = workload.job[problem.tasks[positions]]
    arrival = np.nan_to_num(np.append(workload.arrival, np.nan), nan=-np.inf)[job]  # no job picks the last entry
    return np.lexsort((job, arrival)).astype(np.int64)


HEURISTICS = (
    Heuristic(
        "fifo",
        "000, 002",
        "Hadoop's FIFO (Hsu and Freeh, 5.2)",
        SLOT_PROBLEMS,
        "jobs by arrival; each map to the first free node with its block, else in a rack with it, else to any",
        batch=fifo,
        in_turn=nodes_in_turn,
    ),
    Heuristic(
        "larts",
        "000",
        "LARTS (Hammoud, Sakr 2011)",
        ("transmission-reduces", "transmission"),
        "each reduce as near as it can be to the node that holds most of its input; maps as in fifo",
        (sizes_parameter("extrapolated"),),
        batch=larts,
        missing=missing_sizes,
    ),
)
