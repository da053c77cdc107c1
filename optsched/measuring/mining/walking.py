"""The search: from random starts on to worse instances, then down to a minimal one; deterministic for a seed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from optsched.measuring.mining.documents import Changes, Document, numbered_anew, smaller
from optsched.measuring.mining.judging import BROKEN, Judge, Judged, Score, failure_of
from optsched.measuring.mining.starts import Starts

__all__ = ["Clock", "OutOfTime", "Search"]

#: So many instances are tried before the search starts anew, times the terms of Luby, Sinclair and Zuckerman (1993).
ROUND = 500

#: So many random instances each round starts from.
STARTS = 10

#: So many documents are gone on from.
POOL = 12

#: The share of a time limit that is for the search; the rest is for shrinking.
SEARCHED = 0.7


class OutOfTime(Exception):
    """The time is up."""


class Clock:
    """How much of a time limit is left.

    Parameters
    ----------
    seconds
        From now on; None: without end.
    """

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds

    def left(self) -> float | None:
        """Seconds; None: without end. Raises `OutOfTime` at the end."""
        if self._end is None:
            return None
        left = self._end - time.monotonic()
        if left <= 0:
            raise OutOfTime
        return left


def luby() -> Iterator[int]:
    """1, 1, 2, 1, 1, 2, 4, 1, ...: how long searches go on that start anew, where nobody knows how long is best.

    Examples
    --------
    >>> from itertools import islice
    >>> list(islice(luby(), 15))
    [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]
    """
    for number in count(1):
        while number & (number + 1):
            number -= (1 << (number.bit_length() - 1)) - 1
        yield (number + 1) // 2


@dataclass
class _Pool:
    """The worst documents of a round, the worst first."""

    entries: list[tuple[Score, int, Judged]] = field(default_factory=list)

    def add(self, found: Judged, number: int) -> None:
        """Of equals the newest comes first, so that the search drifts on."""
        self.entries.append((found.score, number, found))
        self.entries.sort(key=lambda entry: entry[:2], reverse=True)
        del self.entries[POOL:]

    def drawn(self, rng: np.random.Generator) -> Document:
        """One of them, rather a bad one."""
        at = min(rng.integers(len(self.entries)), rng.integers(len(self.entries)))
        return self.entries[at][2].document


class Search:
    """What was found so far, and how to go on.

    Parameters
    ----------
    judge
        Of documents.
    starts
        Where to start.
    most
        How many records a table may have.
    budget
        So many documents are tried; None: until the time is up.
    seed
        Of the search.
    step
        Told of each document.
    """

    def __init__(
        self,
        judge: Judge,
        starts: Starts,
        most: Mapping[str, int],
        budget: int | None,
        seed: int,
        step: Callable[[str], None],
    ) -> None:
        self._judge, self._starts, self._budget, self._step = judge, starts, budget, step
        #: Of each kind of starts what draws, and what changes: neither kind takes the other's luck.
        self._kinds = [(kind, np.random.default_rng(drawn), Changes(most)) for kind, drawn in starts.kinds(seed)]
        #: The worst that counts; whether any instance could be judged; how many the search tried, and how many in all.
        self.best: Judged | None = None
        self.posed = False
        self.searched = self.tried = 0
        #: Whether no single step of shrinking keeps it as bad.
        self.minimal = False

    def run(self) -> None:
        """Spend the budget, or less where there is nothing worse to be found: a round from each kind of starts in turn.

        A round mixes no kinds, since what is worst at the start would crowd out what is worse in the end.
        """
        for length in luby():
            for kind, rng, changes in self._kinds:
                pool = _Pool()
                for turn in range(ROUND * length):
                    if self.searched == self._budget or (self.best is not None and self.best.score >= BROKEN):
                        return
                    if turn < STARTS or not pool.entries:
                        document = self._starts.draw(rng, kind)
                        changes.learn(document)
                    else:
                        document = changes(pool.drawn(rng), rng)
                    found = self._try(document)
                    if found is not None:
                        pool.add(found, self.tried)

    def _try(self, document: Document) -> Judged | None:
        self._judge.left()
        self.searched = self.tried = self.tried + 1
        found = self._judge(document)
        if found is not None:
            self.posed = True
            if found.counts and (self.best is None or found.key > self.best.key):
                self.best = found
        worst = "" if self.best is None else f", worst so far: {self.best.told}"
        self._step(f"{self.tried}{'' if self._budget is None else f' of {self._budget}'}{worst}")
        return found

    def shrink(self) -> None:
        """Take away what can go while it stays as bad, until nothing can; number what is left anew."""
        if self.best is None:
            return
        at = kept = 0
        while True:
            steps = list(smaller(self.best.document))
            if kept >= len(steps):
                break
            at %= len(steps)
            if self._shrunk(steps[at]):
                kept = 0
            else:
                at, kept = at + 1, kept + 1
        self.minimal = True
        # The same under other ids is another instance: what was tried before does not show it to be minimal.
        numbered = self._as_bad(numbered_anew(self.best.document))
        if numbered is not None and not any(self._as_bad(step) for step in smaller(numbered.document)):
            self.best = numbered

    def _shrunk(self, document: Document) -> bool:
        """Whether a document is as bad as the worst, which it is then."""
        found = self._as_bad(document)
        if found is not None:
            self.best = found
        return found is not None

    def _as_bad(self, document: Document) -> Judged | None:
        assert self.best is not None
        self._judge.left()
        self.tried += 1
        self._step(f"shrinking: {self.best.told}")
        found = self._judge(document, self.best.score)
        if found is None or found.score < self.best.score:
            return None
        # A smaller instance on which the run fails for another reason shows another fault.
        alike = self.best.report.feasible or failure_of(found.report) == failure_of(self.best.report)
        return found if alike else None
