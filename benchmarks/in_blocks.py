"""Numbered instances in blocks: what is done of a seed is kept in a file and not done again, in several processes.

The programs that check drawn instances share this: `generated_runs`, `generated_optima` and `latency_band`. It knows
nothing of what an instance is. A block is a range of numbers of a seed. What came of it is a dictionary that JSON can
hold, with `counts` (how often something was met), `failed` (pairs of a number and a line that says what is wrong with
it) and `seconds` of processor time.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

__all__ = ["Done", "add_options", "blocks", "done_in_blocks", "given_options", "made_block"]

#: Settings besides seed and numbers that a block was done with, by name.
Settings = Mapping[str, Any]


@dataclass
class Done:
    """What came of all blocks together."""

    counts: Counter[str] = field(default_factory=Counter)
    failed: list[list[Any]] = field(default_factory=list)
    seconds: float = 0.0


def add_options(parser: argparse.ArgumentParser, what: str, number: int) -> None:
    """Add the options of all these programs: how many of `what`, from which seed, in how many processes, kept where."""
    parser.add_argument(f"--{what}", type=int, default=number)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep what is done, and go on where it ended")
    parser.add_argument("--only", type=int, metavar="NUMBER", help=f"tell of one of the {what}")


def given_options(
    parser: argparse.ArgumentParser, arguments: Sequence[str] | None, least: Mapping[str, float]
) -> argparse.Namespace:
    """The options that are given; wrong usage where a number is less than its `least`."""
    given = parser.parse_args(arguments)
    for name, lowest in {"seed": 0, "processes": 1, "only": 0, **least}.items():
        number = getattr(given, name.replace("-", "_"))
        if number is not None and number < lowest:
            parser.error(f"--{name} {number}: give {lowest} or more")
    return given


def made_block(
    of_number: Callable[[int, Counter[str]], Sequence[str]], seed: int, begin: int, end: int
) -> dict[str, Any]:
    """What came of numbers `begin` to `end` - 1 of a seed, where `of_number` counts and says what is wrong with one."""
    counts: Counter[str] = Counter()
    failed: list[list[Any]] = []
    began = time.process_time()
    for number in range(begin, end):
        failed += [[number, line] for line in of_number(number, counts)]
    seconds = time.process_time() - began
    return {"seed": seed, "begin": begin, "end": end, "counts": counts, "failed": failed, "seconds": seconds}


def _kept(path: Path | None, settings: Settings) -> dict[tuple[int, int, int], dict[str, Any]]:
    """Blocks that are done already with these settings."""
    lines = path.read_text().splitlines() if path is not None and path.exists() else []
    found = [json.loads(line) for line in lines]
    return {
        (entry["seed"], entry["begin"], entry["end"]): entry
        for entry in found
        if entry.get("settings", {}) == json.loads(json.dumps(settings))
    }


def _keep(found: dict[str, Any], path: Path | None, settings: Settings) -> dict[str, Any]:
    if settings:
        found = {**found, "settings": settings}
    if path is not None:
        with path.open("a") as file:
            file.write(json.dumps(found) + "\n")
    return found


def blocks(
    block: Callable[..., dict[str, Any]],
    seed: int,
    number: int,
    processes: int,
    path: Path | None,
    size: int,
    settings: Settings | None = None,
) -> Iterator[dict[str, Any]]:
    """What came of all blocks, those that are kept first.

    Parameters
    ----------
    block
        What does one: of seed, begin, end and the settings by name. It is a function of a module, so that other
        processes can import it.
    seed, number
        Numbers 0 to `number` - 1 of a seed.
    processes
        How many; with one it is done in this process.
    path
        Where blocks are kept, a line each; None: nowhere.
    size
        How many numbers are done, and kept, together.
    settings
        What the blocks depend on besides their numbers: only blocks that were done with the same are taken as done.
    """
    settings = dict(settings or {})
    kept = _kept(path, settings)
    todo = []
    for begin in range(0, number, size):
        key = (seed, begin, min(begin + size, number))
        if key in kept:
            yield kept[key]
        else:
            todo.append(key)
    do = partial(block, **settings)
    if processes == 1:
        for key in todo:
            yield _keep(do(*key), path, settings)
        return
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        for found in as_completed([pool.submit(do, *key) for key in todo]):
            yield _keep(found.result(), path, settings)


def done_in_blocks(found: Iterator[dict[str, Any]], number: int, what: str, counted: str) -> Done:
    """What came of blocks together; after each, stderr shows how many are done, by what counts them."""
    done = Done()
    for block in found:
        done.counts.update(block["counts"])
        done.failed += block["failed"]
        done.seconds += block["seconds"]
        text = f"{done.counts[counted]:,} of {number:,} {what}, {len(done.failed)} lines wrong"
        print(text, file=sys.stderr, flush=True)
    return done
