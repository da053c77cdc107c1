"""The hard band of `latency`: frontiers of drawn instances, each level closed by a named proof, and as HiGHS says.

    python benchmarks/latency_band.py [--instances 3000] [--servers 1000] [--weights 1,3 2,5 1,2 3,4 5,9] [--seed 0]
                                      [--processes 2] [--limit 60] [--arrays-every 20]
    python benchmarks/latency_band.py --only NUMBER [--seed 0]

Where there are 1.5 to 2.2 tasks a server, bound and packing leave the most limits on the makespan open. Instance number
N of a seed is always the same one: servers from 5 to `--servers`, drawn evenly on a logarithmic scale; tasks by a ratio
drawn evenly from 1.5 to 2.2; 2, 3 or 4 replicas at most; the pairs of weights (local, remote) in turn.

The default route looks for every Pareto-optimal point in `--limit` seconds. Each limit on the makespan that it looks at
is a level, and is closed by one of these:

- bound and packing: a cover of servers shows how many tasks must be remote, and a packing attains that, or the cover
  shows that nothing fits;
- prices: those of the program's relaxation rule the level out, without the program;
- program, cover: the program finds a placement where the packing finds none, and the cover proves that it is the best;
- program, prices: the program settles the level, and prices prove what it says;
- a word: the solver settles it, and nothing proves that.

The frontier is written to a file, read again, and checked by `certify`. Of one instance in `--arrays-every` the route
`arrays` (the program at every level that the bound leaves open, by HiGHS), and of one in five of these the Pyomo model,
are asked too, in the same time each: what they close must be the same. What differs, is open, or is only claimed is
a line with the number of the instance, and the program fails then.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numbered import checked, parsed

from optsched.certificates import certify
from optsched.core.instance import Instance
from optsched.core.results import Proof
from optsched.instances.claim_files import read_frontier, write_claim
from optsched.instances.generate import generate
from optsched.problems import Latency
from optsched.routes import Frontier, frontier
from optsched.solvers.profiles import Profile
from optsched.solvers.searches.latency import FixedLimit, LatencySearch

#: The least servers, and tasks for each.
LEAST, RATIO = 5, (1.5, 2.2)

#: What Agosta et al. take, and what is harder.
WEIGHTS = ("1,3", "2,5", "1,2", "3,4", "5,9")

#: The largest number of servers of each band of the table.
BANDS = (20, 50, 100, 200, 500, 1000)

#: How a level is closed, in the order of the table.
WAYS = ("bound and packing", "prices", "program, cover", "program, prices", "a word", "open")

#: One in so many of the instances that HiGHS gets as arrays is solved by the Pyomo model too.
MODELLED = 5


class Watched(LatencySearch):
    """The search of the default route, which tells how each level that it looked at was closed."""

    latest: Watched

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.ways: dict[int, str] = {}
        self._decide, self.decide = self.decide, self._decided
        Watched.latest = self

    def at(self, limit: int) -> FixedLimit:
        """As the search does; a level that `decide` was not asked about was closed without it."""
        known = super().at(limit)
        self.ways.setdefault(limit, "bound and packing" if known.closed else "open")
        return known

    def _decided(self, search: LatencySearch, known: FixedLimit, profile: Profile) -> FixedLimit:
        before, search.solver = search.solver, {}
        found = self._decide(search, known, profile)
        asked, search.solver = bool(search.solver), search.solver or before
        if not found.closed:
            way = "open"
        elif found.proof is Proof.SOLVER:
            way = "a word"
        elif found.prices is not None:
            way = "program, prices" if asked else "prices"
        else:
            way = "program, cover"
        self.ways[known.limit] = way
        return found


def drawn(seed: int, number: int, servers: int, weights: Sequence[str]) -> Latency:
    """Instance number so and so of a seed."""
    rng = np.random.default_rng([seed, number])
    nodes = round(float(np.exp(rng.uniform(np.log(LEAST), np.log(servers)))))
    tasks, replicas = int(nodes * rng.uniform(*RATIO)), int(rng.integers(2, 5))
    instance = generate("latency", int(rng.integers(2**31)), nodes=nodes, tasks=tasks, replicas=replicas)
    assert isinstance(instance, Instance)
    local, remote = map(int, weights[number % len(weights)].split(","))
    return Latency(instance, w_loc=local, w_rem=remote)


def proved(problem: Latency, limit: float) -> tuple[Frontier, dict[int, str]]:
    """The frontier by the default route, and how each level was closed."""
    with patch("optsched.routes.latency.LatencySearch", Watched):
        found = frontier(problem, time_limit=limit)
    return found, Watched.latest.ways


def wrong_with(problem: Latency, found: Frontier, ways: dict[int, str]) -> Iterator[str]:
    """Levels without a named proof, and what `certify` says of the frontier's file."""
    for level, way in sorted(ways.items()):
        if way in ("a word", "open"):
            yield f"makespan {level}: {way}"
    if not found.complete:
        yield f"the frontier is not complete: {found.limit}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "frontier.json")
        write_claim(found, problem.instance, path)
        read = read_frontier(path, problem.instance)
    verdict = certify(Latency(problem.instance, w_loc=problem.w_loc, w_rem=problem.w_rem), read)
    yield from (f"contradicted: {text}" for text in verdict.contradicted)
    yield from (f"not proved: {text}" for text in verdict.unproved)


def differing(problem: Latency, found: Frontier, route: str, limit: float, counts: Counter[str]) -> Iterator[str]:
    """Where HiGHS closes a point and has another one."""
    other = frontier(problem, time_limit=limit, route=route)
    counts[f"{route} asked"] += 1
    counts[f"{route} whole"] += other.complete
    counts[f"{route} points"] += len(other)
    ours, theirs = found.values[: len(other)], other.values
    if ours != theirs or (other.complete and len(other) != len(found)):
        yield f"{route} has {theirs}{'' if other.complete else ', and was stopped'}, the default {found.values}"


def _band(servers: int) -> int:
    """The position of the band of so many servers."""
    return sum(servers > most for most in BANDS)


def check_instance(seed: int, settings: dict[str, Any], number: int, counts: Counter[str]) -> list[str]:
    """What is wrong with an instance, a line each."""
    problem = drawn(seed, number, settings["servers"], settings["weights"])
    cluster = problem.instance.cluster
    band, began = _band(len(cluster)), time.process_time()
    text = f"{len(cluster)} servers, {len(problem.tasks)} tasks, weights {problem.w_loc}, {problem.w_rem}"
    found, ways = proved(problem, settings["limit"])
    counts["instances"] += 1
    counts[f"{band} instances"] += 1
    counts[f"{band} points"] += len(found)
    counts[f"{band} levels"] += len(ways)
    counts.update(f"{band} {way}" for way in ways.values())
    counts[f"{band} seconds"] += time.process_time() - began  # type: ignore[assignment]
    wrong = list(wrong_with(problem, found, ways))
    if number % settings["arrays_every"] == 0:
        again = partial(drawn, seed, number, settings["servers"], settings["weights"])
        wrong += differing(again(), found, "arrays", settings["limit"], counts)
        if number % (MODELLED * settings["arrays_every"]) == 0:
            wrong += differing(again(), found, "pyomo", settings["limit"], counts)
    return [f"{text}: {line}" for line in wrong]


def table(counts: Counter[str], seconds: float) -> str:
    """What was proved, as a Markdown table, and what HiGHS closed."""
    lines = [
        f"| servers | instances | points | levels | {' | '.join(WAYS)} | seconds |",
        "|---|" + "---:|" * (4 + len(WAYS)),
    ]
    names = ("instances", "points", "levels", *WAYS, "seconds")
    for band in (*range(len(BANDS) + 1), "all"):
        parts = range(len(BANDS) + 1) if band == "all" else [band]
        cells = [sum(counts[f"{part} {name}"] for part in parts) for name in names]
        if cells[0]:
            lines.append(f"| {_called(band)} | {' | '.join(f'{cell:,.0f}' for cell in cells)} |")
    lines.append("")
    for route, text in (("arrays", "HiGHS on arrays"), ("pyomo", "the Pyomo model")):
        lines.append(
            f"{text}: {counts[f'{route} asked']:,} instances, {counts[f'{route} whole']:,} of them whole, "
            f"{counts[f'{route} points']:,} points"
        )
    lines.append(f"processor seconds: {seconds:,.0f}")
    return "\n".join(lines)


def _called(band: int | str) -> str:
    if isinstance(band, str):
        return band
    least = BANDS[band - 1] + 1 if band else LEAST
    return f"{least}-{BANDS[band]}" if band < len(BANDS) else f"{least} or more"


def _printed(seed: int, number: int, settings: dict[str, Any]) -> int:
    """Tell of one instance; how many lines are wrong with it."""
    problem = drawn(seed, number, settings["servers"], settings["weights"])
    print(problem.instance.source)
    found, ways = proved(problem, settings["limit"])
    print(found)
    for level, way in sorted(ways.items()):
        print(f"makespan {level}: {way}")
    wrong = check_instance(seed, {**settings, "arrays_every": 1}, number, Counter())
    print("\n".join(wrong) or "nothing is wrong with it")
    return len(wrong)


def _weights(text: str) -> str:
    local, remote = text.split(",")
    if not 1 <= int(local) <= int(remote):
        raise ValueError(text)
    return text


def main(arguments: Sequence[str] | None = None) -> int:
    """Prove them; 1 where something differs, is open or rests on a word."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", type=int, default=1_000, help="the most")
    parser.add_argument("--weights", type=_weights, nargs="+", default=list(WEIGHTS), metavar="LOCAL,REMOTE")
    parser.add_argument("--limit", type=float, default=60.0, metavar="SECONDS", help="for each frontier")
    parser.add_argument("--arrays-every", type=int, default=20, metavar="N", help="HiGHS gets one instance in N")
    least = {"servers": LEAST, "limit": 0, "arrays-every": 1}
    given = parsed(parser, "instances", 3_000, arguments, least)
    settings = {name: getattr(given, name) for name in ("servers", "weights", "limit", "arrays_every")}
    if given.only is not None:
        return int(_printed(given.seed, given.only, settings) > 0)
    done = checked(partial(check_instance, given.seed, settings), given.instances, given.processes)
    print(table(done.counts, done.seconds))
    for number, line in done.wrong:
        print(f"instance {number}: {line}")
    return int(bool(done.wrong))


if __name__ == "__main__":
    sys.exit(main())
