"""Checks the answers of heuristics, and makes the messages for wrong ones and for exceptions.

An infeasible placement (overfull slots, tasks left out) is not nonsense. It has violations, which its problem names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from traceback import walk_tb
from types import CodeType
from typing import Any

import numpy as np

from optsched.core.brief import counted
from optsched.core.errors import HeuristicFailed, OutOfTime, ProblemFailed
from optsched.core.instance import Ints
from optsched.core.outside import raised
from optsched.core.placement import NONE, Placement, Schedule
from optsched.problems.base import Problem, TaskProblem

__all__ = ["attempt", "placement_from", "schedule_from", "tasks_from"]

#: The most wrong entries that are named one by one.
ENTRIES_SHOWN = 10


def attempt(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Call a user's code; HeuristicFailed tells of any exception, also of an attempt to exit.

    Interrupts pass, and so do OutOfTime and what is wrong with the problem itself.
    """
    __tracebackhide__ = True  # pytest then shows that code alone
    try:
        return function(*arguments, **named)
    except (HeuristicFailed, OutOfTime, ProblemFailed):
        raise
    except (Exception, SystemExit) as error:
        own = getattr(function, "__code__", None)
        if own is not None and isinstance(error, TypeError) and own not in _codes(error):
            given = ", ".join(type(argument).__name__ for argument in arguments)
            message = f"was called with arguments that it does not take ({given}): {error}"
            raise HeuristicFailed(f"{message} ({own.co_filename}, line {own.co_firstlineno})") from error
        raise HeuristicFailed(f"raised {raised(error)}") from error


def _codes(error: BaseException) -> set[CodeType]:
    """The code of each call that an exception has passed."""
    return {frame.f_code for frame, _ in walk_tb(error.__traceback__)}


def placement_from(answer: Any, problem: Problem) -> Placement:
    """The placement that a batch heuristic means.

    Parameters
    ----------
    answer
        A `Placement` of the instance, or a sequence or one-dimensional array with a node id, a node index or None (-1)
        for each of `problem.tasks`, or a mapping from their ids to these. A task that a mapping leaves out waits.

    Raises
    ------
    HeuristicFailed
        With a line for each thing that is wrong: type, length, unknown nodes.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> from optsched.problems import Lsap
    >>> problem = Lsap(Instance(Cluster(["a", "b"]), Workload(["t1", "t2"])))
    >>> placement_from(["b", None], problem).nodes.tolist()
    [1, -1]
    >>> placement_from({"t2": "a"}, problem).nodes.tolist()
    [-1, 0]
    >>> placement_from([1, "c"], problem)
    Traceback (most recent call last):
    optsched.core.errors.HeuristicFailed: answered node "c" for task "t2": the instance has no such node
    """
    entries: Sequence[Any] | np.ndarray
    if isinstance(answer, Placement):
        tasks, entries, what = np.arange(len(problem.instance.workload)), answer.nodes, "task of the instance"
    else:
        given = _listed(answer, problem) if isinstance(answer, Mapping) else _sequence(answer)
        tasks, entries, what = problem.tasks, given, "of problem.tasks"
    if len(entries) != len(tasks):
        raise HeuristicFailed(f"answered {len(entries)} nodes; give exactly one for each {what}, that is {len(tasks)}")
    nodes, faults = _nodes(entries, tasks, problem)
    if faults:
        more = len(faults) - ENTRIES_SHOWN
        shown = faults[:ENTRIES_SHOWN] + ([f"and {more} more entries that are wrong"] if more > 0 else [])
        raise HeuristicFailed(*shown)
    return Placement(nodes) if isinstance(answer, Placement) else problem.placement(nodes)


def _listed(answer: Mapping[Any, Any], problem: Problem) -> list[Any]:
    """The entries of a mapping in the order of `problem.tasks`, None for each task that it leaves out."""
    ids = problem.instance.workload.task_ids[problem.tasks].tolist()
    known = set(ids)
    unknown = [task for task in answer if task not in known]
    if unknown:
        shown = [f'names task "{task}", which is none of problem.tasks' for task in unknown[:ENTRIES_SHOWN]]
        raise HeuristicFailed(*shown)
    return [answer.get(task) for task in ids]


def schedule_from(answer: Any, problem: TaskProblem[Schedule]) -> Schedule:
    """The schedule that a batch heuristic means: a `Schedule` of the instance, on nodes that it has.

    Raises
    ------
    HeuristicFailed
        If it is none.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> from optsched.problems import Makespan
    >>> problem = Makespan(Instance(Cluster(["a"]), Workload(["t"], duration=[2])))
    >>> schedule_from(problem.schedule([0], [0]), problem)
    <Schedule: 1 of 1 task run>
    >>> schedule_from(["a"], problem)
    Traceback (most recent call last):
    optsched.core.errors.HeuristicFailed: answered a list; give a Schedule: problem.schedule(nodes, starts)
    """
    if not isinstance(answer, Schedule):
        given = "None" if answer is None else f"a {type(answer).__name__}"
        raise HeuristicFailed(f"answered {given}; give a Schedule: problem.schedule(nodes, starts)")
    if len(answer) != len(problem.instance.workload):
        raise HeuristicFailed(
            f"answered {len(answer)} tasks; give exactly one for each task of the instance, that is "
            f"{len(problem.instance.workload)}"
        )
    _, faults = _nodes(answer.nodes, np.arange(len(answer)), problem)
    if faults:
        raise HeuristicFailed(*faults[:ENTRIES_SHOWN])
    return answer


def _sequence(answer: Any) -> Sequence[Any] | np.ndarray:
    """The answer as something with entries; a text has no order that says anything."""
    if isinstance(answer, Sequence) and not isinstance(answer, str | bytes | bytearray):
        return answer
    entries = np.asarray(answer) if hasattr(answer, "__array__") else None
    if entries is None:
        given = "None" if answer is None else f"a {type(answer).__name__}"
        raise HeuristicFailed(f"answered {given}; give a Placement, or a sequence of one node for each task")
    if entries.ndim != 1:
        raise HeuristicFailed(f"answered an array of shape {entries.shape}; give one node for each task")
    return entries


def _nodes(entries: Sequence[Any] | np.ndarray, tasks: Ints, problem: TaskProblem[Any]) -> tuple[Ints, list[str]]:
    """Node index of each entry, and what is wrong with those that mean no node."""
    count = len(problem.instance.cluster)
    if isinstance(entries, np.ndarray) and entries.dtype.kind in "iu":
        wrong = np.flatnonzero((entries < NONE) | (entries >= count)).tolist()
        if not wrong:
            return entries.astype(np.int64), []
    nodes, faults = np.full(len(entries), NONE, dtype=np.int64), []
    for position, entry in enumerate(entries.tolist() if isinstance(entries, np.ndarray) else entries):
        node = _node(entry, problem)
        if isinstance(node, int):
            nodes[position] = node
        else:
            given, mend = node
            task = problem.instance.workload.task_ids[tasks[position]]
            faults.append(f'answered {given} for task "{task}": {mend}')
    return nodes, faults


def _node(entry: Any, problem: TaskProblem[Any]) -> int | tuple[str, str]:
    """Index of the node that an entry means; or in words what it is instead, and how to mend it."""
    count = len(problem.instance.cluster)
    if entry is None:
        return NONE
    if isinstance(entry, str):
        return problem.instance.node_index.get(entry, (f'node "{entry}"', "the instance has no such node"))
    if isinstance(entry, int | np.integer) and not isinstance(entry, bool):
        mend = f"indices run from 0 to {count - 1}, and -1 is nowhere"
        return int(entry) if NONE <= entry < count else (f"node index {entry}", mend)
    return f"{entry!r}", "give a node id, a node index, or None"


def tasks_from(
    answer: Any, free: int, kind: str, waits: Callable[[int], bool], label: Callable[[int], str]
) -> list[int]:
    """The tasks that a policy means to start on an offer.

    Parameters
    ----------
    answer
        A sequence or array of whole numbers.
    free, kind
        How many slots of what kind were offered.
    waits
        Whether a task of this number is of this kind and waits; False for a number that is no task.
    label
        How to call it in a message.

    Raises
    ------
    HeuristicFailed
        If it is no such sequence, has more tasks than slots, the same task twice, or one that does not wait.
    """
    if isinstance(answer, str | bytes) or not isinstance(answer, Sequence | np.ndarray):
        given = "None" if answer is None else repr(answer)
        raise HeuristicFailed(f"answered {given}; give a sequence of tasks, empty to leave the slots idle")
    tasks: list[Any] = list(answer)
    for task in tasks:
        if isinstance(task, bool) or not isinstance(task, int | np.integer):
            raise HeuristicFailed(f"answered {task!r}; give the tasks' numbers in the view")
        if not waits(int(task)):
            mend = f'take one of view.pending_of("{kind}")'
            raise HeuristicFailed(f"answered {label(int(task))}, which is no {kind} that waits; {mend}")
    if len(tasks) > free:
        raise HeuristicFailed(f"answered {len(tasks)} tasks, more than the {counted(free, 'free slot')}")
    if len(set(tasks)) < len(tasks):
        twice = next(_repeated(tasks))
        raise HeuristicFailed(f"answered {label(int(twice))} twice; start each task once")
    return [int(task) for task in tasks]


def _repeated(tasks: list[Any]) -> Iterator[Any]:
    return (task for position, task in enumerate(tasks) if task in tasks[:position])
