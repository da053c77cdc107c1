"""Placements, schedules and flows in files: objects by id in JSON text, arrays by position in archives.

What is wrong with them is added to a list of faults, each with its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any

import numpy as np

from optsched.arrays import LARGEST, Bools, Ints
from optsched.errors import Fault
from optsched.instance import Instance
from optsched.instance_faults import key_in_place
from optsched.instances.documents import archive
from optsched.instances.documents.claim_archive import Apart
from optsched.network import FlowNetwork
from optsched.placement import NONE, NetworkFlow, Placement
from optsched.results import Decision
from optsched.schedule import Schedule

__all__ = ["decided", "flow_of", "moved_from", "placement_of", "schedule_of"]


def decided(
    decision: Decision, on: Any, apart: Apart | None, place: str, tasks: Ints | None = None
) -> dict[str, Any] | None:
    """A decision as a file has it at a place: by ids; in an archive, null, and `apart` takes it.

    Parameters
    ----------
    decision, on
        The decision, and what it is on.
    tasks
        Positions of the tasks that are told, of a placement, where it is not all of them.
    """
    if apart is not None:
        values = decision.on(on)
        values = np.array([values, decision.starts]) if isinstance(decision, Schedule) else values
        apart.put(place, values if tasks is None else np.array([tasks, values[tasks]]))
        return None
    return decision.to_dict(on, tasks) if isinstance(decision, Placement) else decision.to_dict(on)


def placement_of(value: Any, instance: Instance, faults: list[Fault], at: str = "placement") -> Placement:
    """What a file tells at a place: an object {task: node or null}, or the position of each task's node."""
    tasks = len(instance.workload)
    if isinstance(value, np.ndarray):
        wanted = f"positions of nodes, one for each of {tasks} tasks (-1: nowhere)"
        nodes = _numbers(value, (tasks,), at, wanted, faults)
        if nodes is None:
            return Placement.empty(tasks)
        _known(nodes, NONE, len(instance.cluster), "node", at, faults)
        return Placement(nodes)
    if not isinstance(value, Mapping):
        faults.append(Fault(at, "expected an object {task: node or null}"))
        return Placement.empty(tasks)
    if list(value) == instance.workload.task_ids.tolist() and set(map(type, value.values())) <= {str, NoneType}:
        numbers: dict[str | None, int] = {None: NONE}
        numbers.update(instance.node_index)
        found = [numbers.get(node) for node in value.values()]
        if None not in found:  # as we write it; what is wrong is told below
            return Placement(np.array(found, dtype=np.int64))
    placement = Placement.empty(tasks).with_tasks(*_named(value, instance, faults, at))
    if len(value) < tasks:
        missing = [task for task in instance.workload.task_ids.tolist() if task not in value]
        faults.extend(Fault(f"{at}.{key_in_place(task)}", "is missing; null is nowhere") for task in missing)
    return placement


def moved_from(before: Placement, value: Any, instance: Instance, faults: list[Fault], at: str) -> Placement:
    """A placement in which some tasks run elsewhere: an object {task: node or null}, or two rows of positions."""
    if isinstance(value, np.ndarray):
        shape = (2, value.shape[-1] if value.ndim else 0)
        rows = _numbers(value, shape, at, "two rows, positions of tasks and of their nodes", faults)
        if rows is None:
            return before
        tasks, nodes = rows
        known = _known(tasks, 0, len(instance.workload), "task", f"{at}[0]", faults)
        _known(nodes, NONE, len(instance.cluster), "node", f"{at}[1]", faults)
        if (np.diff(tasks) <= 0).any():
            faults.append(Fault(f"{at}[0]", "positions of tasks must increase"))
        return before.with_tasks(tasks[known], nodes[known])
    if not isinstance(value, Mapping):
        faults.append(Fault(at, "expected an object {task: node or null}"))
        return before
    return before.with_tasks(*_named(value, instance, faults, at))


def schedule_of(value: Any, instance: Instance, faults: list[Fault], at: str = "schedule") -> Schedule:
    """What a file tells at a place: an object {task: {node, start} or null}, or two rows, positions and starts."""
    tasks = len(instance.workload)
    if isinstance(value, np.ndarray):
        wanted = f"two rows for {tasks} tasks, positions of nodes (-1: does not run) and starts in microseconds"
        rows = _numbers(value, (2, tasks), at, wanted, faults)
        if rows is None:
            return Schedule.empty(tasks)
        _known(rows[0], NONE, len(instance.cluster), "node", f"{at}[0]", faults)
        for row in np.flatnonzero((rows[0] != NONE) & ((rows[1] < -LARGEST) | (rows[1] > LARGEST))).tolist():
            faults.append(Fault(f"{at}[1][{row}]", _wrong_start(int(rows[1][row]))))
        return Schedule.empty(tasks) if faults else Schedule(rows[0], rows[1])
    if not isinstance(value, Mapping):
        faults.append(Fault(at, "expected an object {task: {node, start} or null}"))
        return Schedule.empty(tasks)
    found: list[tuple[int, int] | None] = [None] * tasks
    for task, entry in value.items():
        place = f"{at}.{key_in_place(task)}"
        if task not in instance.task_index:
            faults.append(Fault(place, f'the instance has no task "{task}"'))
        elif entry is not None:
            found[instance.task_index[task]] = _timed(entry, instance, faults, place)
    missing = [task for task in instance.workload.task_ids.tolist() if task not in value]
    faults.extend(Fault(f"{at}.{key_in_place(task)}", "is missing; null does not run") for task in missing)
    return Schedule.of(found)


def _timed(entry: Any, instance: Instance, faults: list[Fault], place: str) -> tuple[int, int] | None:
    """The node and the start that an object tells; None, with its faults, where it tells none."""
    if not isinstance(entry, Mapping):
        faults.append(Fault(place, "expected an object {node, start}, the start in microseconds, or null"))
        return None
    before = len(faults)
    for key in entry:
        if key not in ("node", "start"):
            faults.append(Fault(f"{place}.{key_in_place(key)}", "there is no such field; known: node, start"))
    node, start = entry.get("node"), entry.get("start")
    if not isinstance(node, str) or node not in instance.node_index:
        faults.append(Fault(f"{place}.node", f"the instance has no node {node!r}" if "node" in entry else "is missing"))
    if isinstance(start, bool) or not isinstance(start, int) or abs(start) > LARGEST:
        faults.append(Fault(f"{place}.start", _wrong_start(start) if "start" in entry else "is missing"))
    return (instance.node_index[str(node)], int(start)) if len(faults) == before else None  # type: ignore[arg-type]


def _wrong_start(start: Any) -> str:
    return f"expected a whole number of microseconds, at most 2^53, got {start!r:.40}"


def flow_of(value: Any, network: FlowNetwork, faults: list[Fault]) -> NetworkFlow:
    """The flow that a file tells: an object {arc: units}, or the units of each arc."""
    if isinstance(value, np.ndarray):
        wanted = f"whole numbers, the units of each of {network.arcs} arcs"
        sent = _numbers(value, (network.arcs,), NetworkFlow.noun, wanted, faults)
        return NetworkFlow(np.zeros(network.arcs, dtype=np.int64) if sent is None else sent)
    row_of = {arc: row for row, arc in enumerate(network.arc_ids.tolist())}
    units = [0] * network.arcs
    for arc, flowing in value.items():
        if arc not in row_of:
            faults.append(Fault(f"flow.{key_in_place(arc)}", f'the network has no arc "{arc}"'))
        elif isinstance(flowing, bool) or not isinstance(flowing, int) or abs(flowing) >= 2**63:
            faults.append(Fault(f"flow.{key_in_place(arc)}", f"expected a whole number of units, got {flowing!r:.40}"))
        else:
            units[row_of[arc]] = flowing
    if len(value) < len(units):
        missing = [arc for arc in row_of if arc not in value]
        faults.extend(Fault(f"flow.{key_in_place(arc)}", "is missing; 0 is none") for arc in missing)
    return NetworkFlow(np.array(units, dtype=np.int64))


def _named(value: Mapping[str, Any], instance: Instance, faults: list[Fault], at: str) -> tuple[list[int], list[int]]:
    """The positions of the tasks that an object {task: node or null} names, and of their nodes."""
    tasks, nodes = [], []
    for task, node in value.items():
        place = f"{at}.{key_in_place(task)}"
        if task not in instance.task_index:
            faults.append(Fault(place, f'the instance has no task "{task}"'))
        elif node is not None and (not isinstance(node, str) or node not in instance.node_index):
            faults.append(Fault(place, f"the instance has no node {node!r}"))
        else:
            tasks.append(instance.task_index[task])
            nodes.append(NONE if node is None else instance.node_index[node])
    return tasks, nodes


def _numbers(values: Any, shape: tuple[int, ...], at: str, wanted: str, faults: list[Fault]) -> Ints | None:
    """An array of a file as int64; None, with a fault, where it is another one."""
    if archive.whole(values) and values.shape == shape:
        return np.asarray(values, dtype=np.int64)
    faults.append(Fault(at, f"expected {wanted}, got {archive.told(values)}"))
    return None


def _known(positions: Ints, least: int, count: int, noun: str, at: str, faults: list[Fault]) -> Bools:
    """Which positions there are; of the others each is a fault."""
    known = (positions >= least) & (positions < count)
    for row in np.flatnonzero(~known).tolist():
        told = f"the instance has {count} {noun}s, and none at {positions[row]}"
        faults.append(Fault(f"{at}[{row}]", told))
    return known
