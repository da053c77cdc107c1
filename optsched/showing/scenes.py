"""What a picture of a cluster shows: for each node its cells (tasks that run, tasks that are placed, idle slots), the
tasks that wait, and what is said of a placement. Nothing here draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from optsched.core.brief import counted
from optsched.core.errors import UsageError
from optsched.core.instance import KINDS, MAP, PENDING, REDUCE, RUNNING, Instance, Ints, Strings
from optsched.core.placement import NONE, Placement
from optsched.core.results import Sense, Value
from optsched.measuring.printing import number, percent
from optsched.problems import Problem
from optsched.problems.base import TaskProblem
from optsched.problems.locality_counts import CLASSES, locality

if TYPE_CHECKING:
    from optsched.core.results import Solution
    from optsched.measuring.gaps import GapReport

__all__ = [
    "IDLE",
    "NEAR",
    "NODE",
    "PLACED",
    "RACK",
    "REMOTE",
    "RUNS",
    "TAKEN",
    "WORDS",
    "Scene",
    "check_same",
    "gap_told",
    "grouped",
    "of_placement",
    "of_report",
    "of_snapshot",
    "of_solution",
    "placing",
    "value_told",
]

#: What a cell is, in the order in which they stand on a node: a task that runs, a slot that is taken by what is not
#: listed, a placed task by how near it is to its data or where nothing has data, an idle slot.
RUNS, TAKEN, NODE, RACK, REMOTE, PLACED, IDLE = range(7)

#: What legends call them.
WORDS = (
    "runs already",
    "slot in use",
    "on a node with its data",
    "in a rack with its data",
    "remote",
    "placed",
    "idle slot",
)

#: The cells of placed tasks by their class (`optsched.problems.locality_counts.CLASSES`).
NEAR = (NODE, RACK, REMOTE)


@dataclass(frozen=True, eq=False)
class Scene:
    """A cluster with one placement, or none.

    Attributes
    ----------
    instance
        The cluster and its tasks.
    name
        What placed the tasks.
    told
        What is said below the name, a line each.
    tasks
        int64: the tasks that are decided.
    placement
        Of the instance; only `tasks` are placed in it.
    kinds
        Which kinds of tasks are shown.
    slotted
        Of which of these kinds slots are shown.
    """

    instance: Instance
    name: str
    told: tuple[str, ...]
    tasks: Ints
    placement: Placement
    kinds: tuple[int, ...] = (MAP,)
    slotted: tuple[int, ...] = (MAP,)

    @cached_property
    def near(self) -> Ints:
        """What the cell of each of `tasks` is; `NONE` for one that waits."""
        nodes = self.placement.nodes[self.tasks]
        if not self.has_data:
            return np.where(nodes == NONE, NONE, PLACED)
        classes = locality(self.instance, self.placement)[self.tasks]
        return np.where(nodes == NONE, NONE, np.array(NEAR)[classes])

    @cached_property
    def has_data(self) -> bool:
        """Whether any task has data anywhere, so that some are nearer to theirs than others."""
        return bool(len(self.instance.replicas.values)) or self.instance.workload.shuffle is not None

    @cached_property
    def waiting(self) -> Ints:
        """The tasks that wait."""
        left: Ints = self.tasks[self.placement.nodes[self.tasks] == NONE]
        return left

    @cached_property
    def counts(self) -> dict[int, int]:
        """How many tasks are placed, by what their cells are, also where none is; racks only where there are some."""
        racks = bool((self.instance.cluster.rack != NONE).any())
        sorts = [cell for cell in NEAR if cell != RACK or racks] if self.has_data else [PLACED]
        return {cell: int(np.count_nonzero(self.near == cell)) for cell in sorts}

    def counted(self) -> str:
        """The counts in words: `14 node, 92 rack, 25 remote`, and how many wait."""
        words = dict(zip(NEAR, CLASSES, strict=True)) | {PLACED: "placed"}
        told = [f"{count} {words[cell]}" for cell, count in self.counts.items()]
        return ", ".join([*told, *([f"{len(self.waiting)} waiting"] if len(self.waiting) else [])])

    @cached_property
    def cells(self) -> tuple[Ints, Ints, Ints]:
        """The cells: node, what it is, and the task (or `NONE`), by node, then maps before reduces, then as above."""
        state, workload = self.instance.state, self.instance.workload
        columns: list[tuple[Ints, Ints, Ints, Ints]] = []

        def add(nodes: Ints, cell: int | Ints, tasks: Ints | int, kind: int) -> None:
            size = len(nodes)
            columns.append((nodes, np.full(size, kind), np.broadcast_to(cell, size), np.broadcast_to(tasks, size)))

        for kind in self.kinds:
            of_kind = workload.kind == kind
            runs = np.flatnonzero((state.status == RUNNING) & of_kind & (state.node != NONE))
            add(state.node[runs], RUNS, runs, kind)
            shown = of_kind[self.tasks] & (self.near != NONE)
            placed = self.tasks[shown]
            add(self.placement.nodes[placed], self.near[shown], placed, kind)
            if kind in self.slotted:
                taken, idle = self._slots(kind, state.node[runs], self.placement.nodes[placed])
                everywhere = np.arange(len(taken))
                add(np.repeat(everywhere, taken), TAKEN, NONE, kind)
                add(np.repeat(everywhere, idle), IDLE, NONE, kind)
        node, kinds, cell, task = (np.concatenate(column) for column in zip(*columns, strict=True))
        order = np.lexsort((task, cell, kinds, node))
        return node[order], cell[order], task[order]

    def _slots(self, kind: int, runs: Ints, placed: Ints) -> tuple[Ints, Ints]:
        """Slots of a kind on each node that are taken by what is not listed, and those that stay idle."""
        cluster, state, count = self.instance.cluster, self.instance.state, len(self.instance.cluster)
        slots, idle = (
            (cluster.slots, state.idle_slots) if kind == MAP else (cluster.reduce_slots, state.idle_reduce_slots)
        )
        taken = slots - idle - np.bincount(runs, minlength=count)
        return np.maximum(taken, 0), np.maximum(idle - np.bincount(placed, minlength=count), 0)

    @cached_property
    def size(self) -> int:
        """At most so many cells, found without making them."""
        cluster, tasks = self.instance.cluster, len(self.instance.workload)
        slots = {MAP: cluster.slots, REDUCE: cluster.reduce_slots}
        return tasks + sum(int(slots[kind].sum()) for kind in self.slotted)

    @cached_property
    def per_node(self) -> Ints:
        """How many tasks each node has: that run already, and that are placed."""
        state, kind = self.instance.state, self.instance.workload.kind
        runs = state.node[(state.status == RUNNING) & np.isin(kind, self.kinds) & (state.node != NONE)]
        placed = self.placement.nodes[self.tasks]
        held = np.concatenate([runs, placed[placed != NONE]])
        return np.bincount(held, minlength=len(self.instance.cluster)).astype(np.int64)


def grouped(instance: Instance) -> tuple[Ints, Strings, str]:
    """What nodes are drawn together by: the rack of each (or `NONE`), the racks' ids, and `rack`; of a cluster without
    racks the datacenters.
    """
    cluster = instance.cluster
    if bool((cluster.rack != NONE).any()) or not bool((cluster.datacenter != NONE).any()):
        return cluster.rack, cluster.rack_ids, "rack"
    return cluster.datacenter, cluster.datacenter_ids, "datacenter"


def of_snapshot(instance: Instance) -> Scene:
    """An instance before anything is decided: every pending task waits."""
    kinds = _kinds(instance)
    tasks = np.flatnonzero((instance.state.status == PENDING) & np.isin(instance.workload.kind, kinds))
    sizes = [counted(len(instance.cluster), "node"), counted(len(tasks), "task") + " to place"]
    _, ids, noun = grouped(instance)
    told = ", ".join([sizes[0], *([counted(len(ids), noun)] if len(ids) else []), sizes[1]])
    empty = Placement.empty(len(instance.workload))
    return Scene(instance, instance.name or "instance", (told,), tasks, empty, kinds, kinds)


def of_placement(posed: Problem | Instance, placement: Placement, name: str = "placement") -> Scene:
    """A placement on an instance, or judged by a problem.

    Raises
    ------
    UsageError
        If it has another number of tasks, or lacks a node.
    """
    instance = posed.instance if isinstance(posed, Problem) else posed
    placement.to_dict(instance)
    if not isinstance(posed, Problem):
        placed = np.flatnonzero((placement.nodes != NONE) | (instance.state.status == PENDING))
        kinds = _kinds(instance)
        scene = Scene(
            instance, name, (), placed[np.isin(instance.workload.kind[placed], kinds)], placement, kinds, kinds
        )
        return _with_counts(scene)
    wrong = posed.violations(placement)
    told = value_told(posed, None if wrong else posed.objective(placement))
    if wrong:
        told = f"infeasible: {'; '.join(map(str, wrong[:2]))}{'; ...' if len(wrong) > 2 else ''}"
    return _judged(posed, placement, name, (told,))


def placing(problem: TaskProblem[Any]) -> Problem:
    """The problem, whose placements can be drawn on the cluster; UsageError for one that decides when tasks run."""
    if isinstance(problem, Problem):
        return problem
    raise UsageError(f"{problem.name} decides when tasks run: a picture of a snapshot does not show that; draw does")


def of_report(report: GapReport, name: str = "") -> Scene:
    """What a heuristic did, with its value and gap; where it failed, nothing is placed, and the name says so."""
    problem, name = placing(report.problem), name or report.run.name
    if report.placement is None:
        nothing = _judged(problem, Placement.empty(len(problem.instance.workload)), name, ())
        return _with(nothing, f"{name}: {report.status}", (report.error or report.status).splitlines()[:1])
    scene = of_placement(problem, report.placement, name)
    if report.status == "starved":
        return _with(scene, f"{name}: starved", scene.told)
    if report.objective is None:
        return scene
    value, *others = scene.told
    return _with(scene, name, (f"{value}, {gap_told(report)}", *others))


def of_solution(problem: Problem, solution: Solution) -> Scene | None:
    """The optimum, or the best that is known; None where no placement is."""
    placement = solution.decision
    if not isinstance(placement, Placement):
        return None
    proved = f"proved: {solution.certificate}" if solution.certificate is not None else "proved"
    name = f"optimum ({proved})" if solution.optimal else "best that is known"
    return of_placement(problem, placement, name)


def _kinds(instance: Instance) -> tuple[int, ...]:
    """Maps, and reduces where there are any."""
    return (MAP, REDUCE) if bool((instance.workload.kind == REDUCE).any()) else (MAP,)


def _judged(problem: Problem, placement: Placement, name: str, told: tuple[str, ...]) -> Scene:
    slotted = tuple(kind for kind in problem.kinds if KINDS[kind] in problem.offered)
    return _with_counts(Scene(problem.instance, name, told, problem.tasks, placement, problem.kinds, slotted))


def _with_counts(scene: Scene) -> Scene:
    return _with(scene, scene.name, (*scene.told, scene.counted()))


def _with(scene: Scene, name: str, told: Sequence[str]) -> Scene:
    return Scene(scene.instance, name, tuple(told), scene.tasks, scene.placement, scene.kinds, scene.slotted)


def value_told(problem: TaskProblem[Any], value: Value | None) -> str:
    """A value with the names of its components; nothing where there is none."""
    if value is None:
        return ""
    parts = zip(problem.components, value, strict=True)
    return ", ".join(f"{part.name} {number(entry)}" for part, entry in parts)


def gap_told(report: GapReport) -> str:
    """The gap of the component that decides, in words."""
    if report.deciding is None:
        return "gap unknown"
    absolute, relative = report.deciding
    optimum = "optimum" if report.reference.kind == "optimum" else "bound"
    if not absolute:
        return f"at the {optimum}"
    first = next(entry for entry in zip(report.absolute_gap or (), report.problem.components, strict=True) if entry[0])
    side = "above" if first[1].sense is Sense.MIN else "below"
    if relative is None:
        return f"{number(absolute)} {side} the {optimum} (over 0)"
    return f"{percent(relative)} {side} the {optimum}"


def check_same(scenes: Sequence[Scene]) -> None:
    """Raise UsageError unless there are scenes, all on one cluster."""
    if not scenes:
        raise UsageError("there is nothing to draw: give an instance, or placements on it")
    if len({id(scene.instance.cluster) for scene in scenes}) > 1:
        raise UsageError("placements side by side are on one cluster; draw those on another one apart")
