"""How far running tasks were at a time of a run that is over, as their nodes had reported by then."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optsched.instance import RUNNING, Instance, Ints, State
from optsched.running.course import Course
from optsched.running.service import Service
from optsched.schedule import microseconds
from optsched.simulating.beats import Beats
from optsched.simulating.engine import STARTED

__all__ = ["Reports"]


class Reports(Course):
    """Lets the tasks of a run start once more, when and where they did, and asks the service how far they are.

    Parameters
    ----------
    instance
        What the run began with.
    record
        The record of the run; tasks start by it, and end as the service says.
    service
        The service of the run. It is prepared anew.
    beats
        The heartbeats by which nodes reported; None: they report at once.
    begin
        The microsecond at which the run began.
    """

    def __init__(self, instance: Instance, record: Ints, service: Service, beats: Beats | None, begin: int) -> None:
        super().__init__(len(instance.workload), service, begin)
        state = instance.state
        self._nodes = len(instance.cluster)
        self._record, self._beats, self._position = record, beats, 0
        self._bytes_read, self._emitted = state.bytes_read.copy(), state.emitted.copy()
        shuffle = instance.workload.shuffle
        #: The map of each entry of the shuffle.
        self._sender: Ints = np.zeros(0, dtype=np.int64) if shuffle is None else shuffle.map
        service.prepare(instance)
        begun = microseconds(np.nan_to_num(state.start)).tolist()
        for task in np.flatnonzero(state.status == RUNNING).tolist():
            self.goes_on(task, int(state.node[task]), begun[task])

    def seen(self, state: State, position: int, time: int) -> State:
        """The state of a snapshot at a time, once so many things had happened, with what was reported by then.

        To be asked in the order of time.
        """
        for when, what, task, node in self._record[self._position : position].tolist():
            if what == STARTED:
                self._pass_to(when)
                self.starts(task, node)
        self._position = max(self._position, position)
        self._pass_to(time)
        beats = np.full(self._nodes, time) if self._beats is None else self._beats.last_by(time)
        if (found := self.service.progress(beats, time)) is not None:
            # A heartbeat reports of its node, and only then starts tasks on it.
            began = [self.start[task] < int(beats[self.node[task]]) for task in found.tasks.tolist()]
            told = found.tasks[began]
            self._bytes_read[told] = found.bytes_read[began]
            if len(found.entries):
                of_told = np.isin(self._sender[found.entries], told)
                self._emitted[found.entries[of_told]] = found.emitted[of_told]
        runs = state.status == RUNNING
        return replace(
            state, bytes_read=np.where(runs, self._bytes_read, state.bytes_read), emitted=self._emitted.copy()
        )

    def is_past(self, position: int, time: int) -> bool:
        """Whether it has gone on from there already."""
        return position < self._position or time < self.now

    def _pass_to(self, time: int) -> None:
        """Let all happen that does by a time."""
        while self.coming <= time:
            self.step()
        self.moves_to(time)
