"""`latency`: its exact program; `latency_definition` says what it is."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from optsched.core.arrays import Strings, places_in
from optsched.core.instance import Ints
from optsched.core.placement import NONE, Placement
from optsched.core.results import Number
from optsched.problems.demands import count_limits
from optsched.problems.latency_definition import LatencyDefinition
from optsched.problems.programs import Builder, Program, Programmed, labelled

#: From this weight of a remote task, limits on numbers of tasks express the room of a server (`count_limits`).
_LARGE_WEIGHT = 10_000


class Latency(LatencyDefinition, Programmed):
    """Every task on a server; least makespan over the servers that get work, then least work.

    A task takes `w_loc` (w_loc) on a server with a replica of its block, else `w_rem` (w_rem); the server starts it
    after its initial load (phi_s). Agosta et al. define the latency twice: in words as that of the job, and by a
    formula over all servers. The two differ if loaded servers get no work. This is the job's (Agosta et al., note 2);
    `cluster_makespan` is the other. Everything is an integer.

    Attributes
    ----------
    initial_load
        int64, shape (nodes,).
    w_loc, w_rem
        Work of a local and of a remote task.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Ragged, Workload
    >>> workload = Workload(["t1", "t2"], replicas=Ragged.from_rows([[0], [0]]))
    >>> problem = Latency(Instance(Cluster(["s1", "s2"]), workload))
    >>> problem.evaluate(problem.placement([0, 0])), problem.evaluate(problem.placement([0, 1]))
    ((2, 2), (3, 4))
    """

    leaves_out_worse = True

    @cached_property
    def posing(self) -> LatencyProgram:
        """The program, and what its variables stand for."""
        return LatencyProgram(self)

    def apart(self) -> Self:
        """The same problem with a program that has a variable for each task on each server."""
        view = copy.copy(self)
        vars(view)["posing"] = LatencyProgram(self, apart=True)
        return view

    def program(self, before: tuple[Number, ...] = ()) -> Program:
        """Least work within a limit on the makespan; or the least makespan with any work (Agosta et al., note 4)."""
        return self.posing.least_work(int(before[0])) if before else self.posing.least_makespan()

    def values_of(self, decision: Placement, program: Program) -> Ints:
        return self.posing.values_of(decision, program)

    def decision_of(self, values: Ints, program: Program) -> Placement:
        return self.posing.decision_of(values, program)


class LatencyProgram:
    """The program of `latency`, with or without a limit on the makespan.

    Pairs are only of a task and a server with its replica. Remote tasks are anonymous: a server takes a number of them,
    and none is named. If one lands on a server with its replica, its work only drops. A server that is loaded beyond
    the limit must not raise it: it is left out if the limit is given, and has a binary if not.

    `apart`: each task has a variable for each server instead.
    """

    def __init__(self, problem: LatencyDefinition, apart: bool = False) -> None:
        self.problem, self._apart = problem, apart
        self.ids = problem.task_ids, problem.instance.cluster.node_ids

    def least_work(self, limit: int) -> Program:
        """The least work with a makespan of at most `limit`."""
        builder, w_loc = Builder(), self.problem.w_loc
        scale = w_loc if self.problem.w_rem % w_loc == 0 else 1
        self._enter_room(builder, limit, scale, *self._enter(builder, limit, True, scale == 1 < w_loc))
        return builder.program(1)

    def least_makespan(self) -> Program:
        """The least makespan with any work."""
        builder, limit = Builder(), self._sufficient
        self._enter_makespan(builder, limit, *self._enter(builder, limit, False, self.problem.w_loc > 1))
        return builder.program(0)

    @property
    def _sufficient(self) -> int:
        """A makespan at which all tasks fit remotely; with variables per pair one at which they fit on any server."""
        problem = self.problem
        if self._apart:
            return int(problem.initial_load.max(initial=0)) + problem.w_rem * len(problem.tasks)
        return problem.least_limit(lambda limit: problem.fits(limit, len(problem.tasks)))

    def _enter(self, builder: Builder, limit: int, paid: bool, counted: bool) -> tuple[_OnServers, _OnServers]:
        """Add where tasks run; returns what is local there, and what is remote. `paid`: the cost is the work.

        `counted` adds numbers of local tasks: a limit needs these if the room for local tasks is no whole number of
        them.
        """
        if self._apart:
            return self._enter_places(builder, limit, paid)
        return self._enter_counts(builder, limit, paid, counted)

    def _enter_places(self, builder: Builder, limit: int, paid: bool) -> tuple[_OnServers, _OnServers]:
        """Add each task on each server; returns the local and the remote columns."""
        tasks, servers = self.ids
        task, server = np.divmod(np.arange(len(tasks) * len(servers)), max(1, len(servers)))
        local = self.problem.at_home(task, server)
        work = np.where(local, self.problem.w_loc, self.problem.w_rem)
        place = builder.variables(
            "place",
            list(zip(tasks[task].tolist(), servers[server].tolist(), strict=True)),
            upper=self.problem.room(limit)[server] >= work,
            cost=work * paid,
            doc="1 if the task runs on the server",
        )
        rows = builder.rows("every_task", _labels(tasks), lower=1, upper=1, over="TASKS", doc="every task runs")
        builder.enter(rows[task], place)
        return _OnServers(server[local], place[local]), _OnServers(server[~local], place[~local])

    def _enter_counts(self, builder: Builder, limit: int, paid: bool, counted: bool) -> tuple[_OnServers, _OnServers]:
        """Add local tasks on servers, and numbers of remote tasks."""
        (tasks, servers), room, pairs = self.ids, self.problem.room(limit), self.problem.local_pairs(limit)
        task, server, w_loc, w_rem = pairs.row_of, pairs.values, self.problem.w_loc, self.problem.w_rem
        local = builder.variables(
            "local",
            list(zip(tasks[task].tolist(), servers[server].tolist(), strict=True)),
            upper=1,
            cost=w_loc * paid,
            over="PAIRS",
            doc="1 if the task runs on this server, which has its replica",
        )
        remote = builder.variables(
            "remote",
            _labels(tasks),
            upper=1,
            cost=w_rem * paid,
            over="TASKS",
            doc="1 if the task runs remotely, on whichever server",
        )
        takes = np.flatnonzero(room >= w_rem)
        number = builder.variables(
            "remote_count", _labels(servers[takes]), upper=room[takes] // w_rem, doc="remote tasks of the server"
        )
        rows = builder.rows(
            "every_task", _labels(tasks), lower=1, upper=1, over="TASKS", doc="every task runs locally or remotely"
        )
        builder.enter(rows[task], local)
        builder.enter(rows, remote)
        balance = builder.rows("remote_balance", [()], lower=0, upper=0, doc="the servers take as many as are remote")
        builder.enter(balance, remote)
        builder.enter(balance, number, -1)
        if not counted:
            return _OnServers(server, local), _OnServers(takes, number)
        held, at = np.unique(server, return_inverse=True)
        names = _labels(servers[held])
        count = builder.variables(
            "local_count", names, upper=room[held] // w_loc, doc="local tasks of the server", over="HOLDERS"
        )
        within = builder.rows("local_tasks", names, upper=0, over="HOLDERS", doc="no more tasks than are counted")
        builder.enter(within[at], local)
        builder.enter(within, count, -1)
        return _OnServers(held, count), _OnServers(takes, number)

    def _enter_room(self, builder: Builder, limit: int, scale: int, local: _OnServers, remote: _OnServers) -> None:
        """Require each server to end within a limit, in units of `scale`."""
        servers, own = self.ids[1], np.unique(np.concatenate((local.server, remote.server)))
        room, w_loc, w_rem = self.problem.room(limit) // scale, self.problem.w_loc // scale, self.problem.w_rem // scale
        limits = [(server, 0, w_loc, w_rem, int(room[server])) for server in own.tolist()]
        if self.problem.w_rem >= _LARGE_WEIGHT:
            limits = [
                (server, row, *some)
                for server, *_, most in limits
                for row, some in enumerate(count_limits(len(self.problem.tasks), w_loc, w_rem, most), 1)
            ]
        of, number, near, far, most = np.array(limits, dtype=np.int64).reshape(-1, 5).T
        names = _labels(servers[of])
        rows = builder.rows(
            "server",
            [(*name, row) for name, row in zip(names, number.tolist(), strict=True)] if number.any() else names,
            upper=most,
            over="LIMITS" if number.any() else "SERVERS",
            doc="the server ends within the limit",
        )
        first = np.searchsorted(of, np.arange(len(servers) + 1))
        for part, weight in ((local, near), (remote, far)):
            each = np.diff(first)[part.server]
            row = np.repeat(first[part.server], each) + places_in(each)
            used = weight[row] != 0
            builder.enter(rows[row[used]], np.repeat(part.column, each)[used], weight[row[used]])

    def _enter_makespan(self, builder: Builder, most: int, local: _OnServers, remote: _OnServers) -> None:
        """Add the makespan, and require each server that gets work to end within it."""
        problem, servers, least = self.problem, self.ids[1], self.problem.counting_bound()
        makespan = builder.variables("makespan", [()], lower=least, upper=most, cost=1, doc="the latency")
        own = np.unique(np.concatenate((local.server, remote.server)))
        loaded = own[problem.initial_load[own] > least]
        names, room, load = _labels(servers[loaded]), problem.room(most), problem.initial_load
        used = builder.variables("used", names, upper=1, over="LOADED", doc="1 if the server gets work")
        rows = np.zeros(len(servers), dtype=np.int64)
        rows[own] = builder.rows(
            "server",
            _labels(servers[own]),
            upper=np.where(load[own] > least, 0, -load[own]),
            over="SERVERS",
            doc="the server ends within the makespan",
        )
        builder.enter(rows[own], makespan, -1)
        builder.enter(rows[loaded], used, load[loaded])
        for name, part, weight in (("used_local", local, problem.w_loc), ("used_remote", remote, problem.w_rem)):
            builder.enter(rows[part.server], part.column, weight)
            only = np.zeros(len(servers), dtype=np.int64)
            only[loaded] = builder.rows(name, names, upper=0, over="LOADED", doc="only a used server takes such tasks")
            asked = np.isin(part.server, loaded)
            builder.enter(only[part.server[asked]], part.column[asked])
            builder.enter(only[loaded], used, -(room[loaded] // weight))

    def values_of(self, decision: Placement, program: Program) -> Ints:
        """The values of the variables for a placement."""
        problem, (tasks, servers) = self.problem, self.ids
        nodes = problem.nodes_of(decision)
        placed = np.flatnonzero(nodes != NONE)
        host = dict(zip(tasks[placed].tolist(), servers[nodes[placed]].tolist(), strict=True))
        far = dict(zip(tasks[placed].tolist(), (~problem.at_home(placed, nodes[placed])).tolist(), strict=True))
        local, remote = (dict(zip(servers.tolist(), of.tolist(), strict=True)) for of in problem.counts(decision))
        value_of: dict[str, Callable[..., int]] = {
            "place": lambda task, server: host.get(task) == server,
            "local": lambda task, server: host.get(task) == server,
            "remote": lambda task: far.get(task, False),
            "local_count": local.__getitem__,
            "remote_count": remote.__getitem__,
            "makespan": lambda: int(problem.objective(decision)[0]),
            "used": lambda server: local[server] + remote[server] > 0,
        }
        return labelled(program, value_of)

    def decision_of(self, values: Ints, program: Program) -> Placement:
        """The placement that values of the variables stand for."""
        chosen, number = program.variables[0], self.problem.instance.node_index
        position = {task: row for row, task in enumerate(self.ids[0].tolist())}
        nodes = np.full(len(self.problem.tasks), NONE, dtype=np.int64)
        for column in np.flatnonzero(values[: len(chosen.labels)]).tolist():
            task, server = chosen.labels[column]
            nodes[position[task]] = number[server]
        for family in program.variables:
            if family.name == "remote_count":
                takes = [number[server] for (server,) in family.labels]
                left = np.flatnonzero(nodes == NONE)
                nodes[left] = np.repeat(takes, values[program.family("remote_count")])[: len(left)]
        return self.problem.placement(nodes)


class _OnServers(NamedTuple):
    """Columns of a program that are tasks on servers, and the server of each; a server may have several."""

    server: Ints
    column: Ints


def _labels(ids: Strings) -> list[tuple[str]]:
    return [(name,) for name in ids.tolist()]
