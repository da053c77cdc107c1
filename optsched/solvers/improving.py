"""Solutions that a program with integers finds on its way, told at a small part of the time that it takes.

They are told in a callback of the solver, so nothing that telling raises may reach it: an exception that is thrown
through a library in another language, maybe on a thread of its own, can end the process.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextvars import copy_context

import numpy as np
import numpy.typing as npt

from optsched.core.errors import OutOfTime, SolverDisagreement

__all__ = ["Improving"]

#: Telling takes at most this part of the time, but for the first time.
_SHARE = 0.1


class Improving:
    """Tells each better solution, or the latest one where all would take too long.

    What stands for nothing (`SolverDisagreement`: a solver keeps rows to a tolerance only), or has neither time nor
    memory to be told, is passed over.

    Parameters
    ----------
    tell
        Gets the values of the columns, float64. It is called with the context (deadline, who waits) of who made this.
    clock
        Tells the time in seconds.

    Examples
    --------
    >>> told = Improving(print)
    >>> told.found(np.array([1.0, 2.0]))
    [1. 2.]
    """

    def __init__(
        self, tell: Callable[[npt.NDArray[np.float64]], None], clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._tell, self._clock, self._context = tell, clock, copy_context()
        self._began, self._spent = clock(), 0.0
        self._latest: npt.NDArray[np.float64] | None = None
        self._raised: BaseException | None = None
        self._one_at_a_time = threading.Lock()

    def found(self, values: npt.ArrayLike) -> None:
        """Take a solution that is better than all before; it is copied."""
        self._latest = np.array(values, dtype=np.float64)
        self.look()

    def look(self) -> None:
        """Tell the latest solution, unless it is told already, or telling has taken its part of the time by now."""
        if self._latest is None or self._raised is not None:
            return
        with self._one_at_a_time:
            began = self._clock()
            values = self._latest
            if values is None or self._spent > _SHARE * (began - self._began):
                return
            self._latest = None
            try:
                self._context.run(self._tell, values)
            except (SolverDisagreement, OutOfTime, MemoryError):
                pass
            except BaseException as error:  # it must not reach the solver, which calls this
                self._raised = error
            self._spent += self._clock() - began

    def end(self) -> None:
        """Raise what telling raised, now that the solver has ended."""
        if self._raised is not None:
            raise self._raised
