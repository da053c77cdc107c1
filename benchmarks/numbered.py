"""Numbered instances of a seed, each checked, in several processes.

The programs that check drawn instances share this: `generated_runs`, `generated_optima` and `latency_band`. It knows
nothing of what an instance is.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any

#: Counts what an instance is, and says what is wrong with it, a line each: `(number, counts) -> lines`.
Check = Callable[[int, Counter[str]], Sequence[str]]

#: Instances after which it is said how many are done.
_OFTEN = 100


@dataclass
class Checked:
    """The counts of all instances, pairs of a number and a line that says what is wrong with it, processor seconds."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[tuple[int, str]] = field(default_factory=list)
    seconds: float = 0.0


def parsed(
    parser: argparse.ArgumentParser,
    what: str,
    number: int,
    arguments: Sequence[str] | None,
    least: Mapping[str, float] | None = None,
) -> argparse.Namespace:
    """The options of such a program, the shared ones too; wrong usage where a number is less than its `least`."""
    parser.add_argument(f"--{what}", type=int, default=number)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", type=int, metavar="NUMBER", help=f"show one of the {what}")
    given = parser.parse_args(arguments)
    for name, lowest in {what: 1, "seed": 0, "processes": 1, "only": 0, **(least or {})}.items():
        value = getattr(given, name.replace("-", "_"))
        if value is not None and value < lowest:
            parser.error(f"--{name} {value}: give {lowest} or more")
    return given


def _checked(check: Check, number: int) -> Checked:
    counts: Counter[str] = Counter()
    began = time.process_time()
    wrong = [(number, line) for line in check(number, counts)]
    return Checked(counts, wrong, time.process_time() - began)


def checked(check: Check, number: int, processes: int) -> Checked:
    """Check instances 0 to `number` - 1; stderr shows how far it is. Other processes import `check` by its name."""
    total = Checked()
    with ExitStack() as stack:
        apply: Any = map
        if processes > 1:
            context = multiprocessing.get_context("spawn")
            pool = stack.enter_context(ProcessPoolExecutor(processes, mp_context=context))
            apply = partial(pool.map, chunksize=max(1, min(_OFTEN, number // processes)))
        for done, one in enumerate(apply(partial(_checked, check), range(number)), 1):
            total.counts.update(one.counts)
            total.wrong += one.wrong
            total.seconds += one.seconds
            if done % _OFTEN == 0 or done == number:
                print(f"{done:,} of {number:,}, {len(total.wrong)} lines wrong", file=sys.stderr, flush=True)
    return total
