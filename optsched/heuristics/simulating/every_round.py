"""Batch heuristics as policies: in each round they decide on all waiting tasks, and nodes get those decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from optsched.core.deprecated import former_names
from optsched.core.errors import MissingField, UsageError, expect
from optsched.core.instance import KINDS, MAP, PENDING, Instance, Ints, State, Workload
from optsched.core.placement import NONE, Placement
from optsched.heuristics import AnyHeuristic, heuristic
from optsched.heuristics.running.base import HELD, Event, Heuristic, Offer, Policy, View
from optsched.heuristics.running.run import run_heuristic, values_in_force
from optsched.problems import Problem, problem_class
from optsched.problems.parameters import Parameter, number, resolve

__all__ = ["EveryRound", "SOLVE"]

__getattr__ = former_names(__name__, Following="optsched.heuristics.observed:Following")

#: Stands for a heuristic: the optimum of each round's snapshot.
SOLVE = "solve"

#: The exact routes, loaded when a round is solved.
_ROUTES = "optsched.routes"

#: When rounds are held.
_HELD = (
    Parameter("period", 0, number(lowest=0), ""),
    Parameter("on_free", 1, number(lowest=1, integer=True), ""),
)


class EveryRound(Policy):
    """A batch heuristic that decides in rounds, each time on all waiting tasks and all free slots.

    A round is held when the last round has nothing for an offered node, and something has happened since: a task has
    ended, a job has arrived, reduces were released. What a round places on a node is started when the node is offered;
    tasks that were not started by the next round are decided again. Of a kind of tasks that the heuristic's problem
    does not place, the first waiting one is started.

    Parameters
    ----------
    heuristic
        A batch heuristic as for `optsched.heuristics.run`, or `solve` for the optimum of each snapshot.
    problem
        Name of the problem that is posed on each snapshot; by default the first that the heuristic serves. `solve`
        needs one.
    period
        The least seconds between two rounds.
    on_free
        Free slots for which a round waits; all slots, if there are fewer.
    problem_parameters
        Parameters of the problem.
    time_limit
        Seconds for each round of `solve`; its best result by then is used.
    **parameters
        The heuristic's own.

    Raises
    ------
    UsageError
        If it is no batch heuristic, does not serve the problem, or a value is out of its range.

    Notes
    -----
    If the problem needs what maps send to reduces, the snapshot has all true sizes.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Ragged
    >>> from optsched.heuristics.simulating import simulate
    >>> workload = Workload(["t1", "t2"], replicas=Ragged.from_rows([[0, 1], [0]]), times=[[10, 15, 15]] * 2)
    >>> run = simulate(Instance(Cluster(["a", "b"]), workload), EveryRound("lsap-sched"))
    >>> run.tasks["node"].tolist(), run.policy
    (['b', 'a'], 'lsap-sched')
    """

    fills_nodes = True

    def __init__(
        self,
        heuristic: AnyHeuristic,
        problem: str | None = None,
        period: float = 0,
        on_free: int = 1,
        problem_parameters: Mapping[str, Any] | None = None,
        time_limit: float | None = None,
        **parameters: Any,
    ) -> None:
        self._entry = None if heuristic == SOLVE else _batch(heuristic)
        self.name = SOLVE if self._entry is None else self._entry.name
        if problem is None:
            if self._entry is None:
                raise UsageError("every round is solved: name the problem that is posed, problem=...")
            problem = self._entry.problems[0]
        self._kind: Any = problem_class(problem)
        if not (isinstance(self._kind, type) and issubclass(self._kind, Problem)):
            raise UsageError(f"{problem} does not place tasks on a snapshot; name a problem that does")
        if self._entry is not None:
            values_in_force(self._entry, parameters)
            if self._entry.parameters is not None and problem not in self._entry.problems:
                raise UsageError(f"{self.name} does not serve {problem}, only {', '.join(self._entry.problems)}")
        elif parameters:
            raise UsageError(f"solve has no parameter {', '.join(parameters)}")
        held = resolve("every round", _HELD, {"period": period, "on_free": on_free})
        self.period, self.on_free = held["period"], held["on_free"]
        expect(problem_parameters, (Mapping, type(None)), "problem_parameters are a mapping")
        self._posed_with, self._limit, self.parameters = dict(problem_parameters or {}), time_limit, parameters
        #: Places the first maps in turn, if the entry can and its own problem is posed: without a snapshot.
        self._turn = None if self._entry is None or problem != self._entry.problems[0] else self._entry.in_turn
        #: The time until which it may let everything stand still, before the next round.
        self.waits_seconds = float(self.period)

    def __repr__(self) -> str:
        return f"EveryRound({self.name!r}, problem={self._kind.name!r}, period={self.period}, on_free={self.on_free})"

    def check(self, instance: Instance) -> None:
        """Raise if the problem cannot be posed on an instance, or the heuristic lacks a field of it."""
        posed = self._kind(instance, **self._posed_with)
        if self._entry is not None and (faults := self._entry.faults(posed)):
            raise MissingField(faults, f"{posed.place}: {self.name}")

    def start(self, view: View, rng: np.random.Generator) -> None:
        self._rng = rng
        self._plan: dict[tuple[str, int], list[int]] = {}
        self._changed, self._last = True, -np.inf
        self._workload: Workload | None = None
        followed = [kind for kind in range(len(KINDS)) if kind not in self._kind.kinds or self._turn is not None]
        self._lines, self._known = {kind: _Line() for kind in followed}, 0
        self._learn(view)

    def notify(self, event: Event, view: View) -> None:
        if event.what != "task-started":
            self._changed = True
        if event.what == "job-arrived":
            self._learn(view)
        elif event.what in ("task-returned", "task-released"):
            self._line_up([event.index], view)

    def _learn(self, view: View) -> None:
        """Add what has arrived since to the line."""
        arrived = np.arange(self._known, len(view.status))
        self._known = len(view.status)
        self._line_up(arrived[view.status[arrived] == PENDING], view)

    def _line_up(self, tasks: npt.ArrayLike, view: View) -> None:
        """Add waiting tasks to the line, by number; tasks that are placed in turn, by arrival and job first."""
        workload, tasks = view.workload, np.asarray(tasks, dtype=np.int64)
        arrival = np.nan_to_num(np.append(workload.arrival, np.nan), nan=-np.inf)
        for kind, line in self._lines.items():
            own = tasks[workload.kind[tasks] == kind]
            job = workload.job[own] if kind in self._kind.kinds else np.full_like(own, -1)
            for key in zip(arrival[job].tolist(), job.tolist(), own.tolist(), strict=True):
                line.add(key)

    def memory(self) -> Any:
        """The last round's decisions and its time, and whether something has happened since."""
        return {key: list(tasks) for key, tasks in self._plan.items()}, self._changed, self._last

    def recall(self, memory: Any, view: View) -> None:
        self._plan, self._changed, self._last = memory

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        if KINDS.index(offer.kind) not in self._kind.kinds:
            return self._lines[KINDS.index(offer.kind)].first(offer.free, view.status)
        planned = self._planned(offer, view)
        if not planned and self._is_due(offer, view):
            self._decide(view, offer.time)
            planned = self._planned(offer, view)
        return planned

    def _planned(self, offer: Offer, view: View) -> list[int]:
        """The tasks of the last round for the node that still wait."""
        tasks = self._plan.pop((offer.kind, offer.node), [])
        return [task for task in tasks if view.status[task] == PENDING][: offer.free]

    def _is_due(self, offer: Offer, view: View) -> bool:
        """Whether it is time for a round."""
        if not self._changed or offer.time < self._last + self.period:
            return False
        kinds = [KINDS[kind] for kind in self._kind.kinds]
        free, slots = (sum(int(of(kind).sum()) for kind in kinds) for of in (view.free_slots, view.slots))
        return bool(free >= min(self.on_free, slots))

    def _decide(self, view: View, time: float) -> None:
        """Hold a round."""
        self._plan, self._changed, self._last = {}, False, time
        if self._turn is not None:
            tasks = self._lines[MAP].first(int(view.free_map_slots.sum()), view.status)
            replicas = view.workload.replicas.take(np.array(tasks, dtype=np.int64))
            nodes = self._turn(replicas, view.free_map_slots, view.cluster.rack)
            for task, node in sorted(zip(tasks, nodes, strict=True)):
                self._plan.setdefault((KINDS[MAP], node), []).append(task)
            return
        rows = np.flatnonzero(view.status != HELD)
        posed = self._kind(self._snapshot(view, rows, time), **self._posed_with)
        placement = self._placed(posed)
        chosen = posed.tasks[placement.nodes[posed.tasks] != NONE]
        for task in chosen.tolist():
            kind = KINDS[posed.instance.workload.kind[task]]
            self._plan.setdefault((kind, int(placement.nodes[task])), []).append(int(rows[task]))

    def _snapshot(self, view: View, rows: Ints, time: float) -> Instance:
        """The instance as in the view, without held tasks."""
        if self._workload is not view.workload:
            self._workload = view.workload
            workload = replace(view.workload, shuffle=view.true_shuffle)
            self._instance = Instance(view.cluster, workload)
        state: State = replace(
            self._instance.state,
            status=np.where(view.status == HELD, PENDING, view.status),
            node=view.node,
            idle_slots=view.free_map_slots,
            idle_reduce_slots=view.free_reduce_slots,
            bytes_read=view.bytes_read,
            out_in_use=view.out_in_use,
            running_rates=view.running_rates,
            group_running_tasks=view.group_running_tasks,
            emitted=self._instance.state.emitted if view.true_shuffle is None else view.emitted,
            time=time,
        )
        present = self._instance.with_state(state).with_slots(view.map_slots, view.reduce_slots)
        if len(rows) < len(view.status):
            present = present.taken(rows, np.arange(len(view.workload.job_ids)))
        if view.true_shuffle is None or present.workload.shuffle is not None:
            return present
        # It is known what maps send to reduces: those that may start by now send nothing.
        return Instance(present.cluster, present.workload.sending_nothing(), present.state)

    def _placed(self, posed: Problem) -> Placement:
        """The placement of a snapshot by the heuristic, or the optimum."""
        if self._entry is not None:
            seed = self._rng.integers(2**32, size=1).tolist()
            return run_heuristic(posed, self._entry, seed, **self.parameters).raise_if_failed()
        solution = import_module(_ROUTES).solve(posed, time_limit=self._limit)
        found: Placement | None = solution.decision
        return Placement.empty(len(posed.instance.workload)) if found is None else found


class _Line:
    """Waiting tasks, in order of their keys, whose last entry is the task; some may occur twice."""

    def __init__(self) -> None:
        self._keys: list[tuple[float, int, int]] = []

    def add(self, key: tuple[float, int, int]) -> None:
        """Add a waiting task."""
        heappush(self._keys, key)

    def first(self, count: int, status: Ints) -> list[int]:
        """The first tasks that still wait; earlier ones that do not are dropped."""
        found: list[tuple[float, int, int]] = []
        while len(found) < count and self._keys:
            key = heappop(self._keys)
            if status[key[-1]] == PENDING and key not in found[-1:]:
                found.append(key)
        for key in found:
            heappush(self._keys, key)
        return [key[-1] for key in found]


def _batch(chosen: AnyHeuristic) -> Heuristic:
    """The entry of a batch heuristic."""
    entry = heuristic(chosen)
    if entry.online:
        raise UsageError(f"{entry.name} is a policy, which needs no rounds; simulate it as it is")
    return entry
