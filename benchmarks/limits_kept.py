"""Limits asked for and kept: every problem by every route, on instances that no route finishes in time.

    python benchmarks/limits_kept.py [--limits 0.5,2,10] [--routes R,...] [--over SECONDS] [--json FILE] [PROBLEM ...]
    python benchmarks/limits_kept.py --memory 300,600 [--routes R,...] [--json FILE] [PROBLEM ...]
    python benchmarks/limits_kept.py --table --json FILE

Prints a Markdown table with a row for each problem, route and limit: how long `optsched.solve` took beyond what was
asked, how it ended, and what was held (objective, bound, proofs). Besides routes there is `frontier`,
where a problem has it. Each run has a process of its own, which is killed 20 s after its limit. Where a run took more
than `--over` seconds (2) beyond its limit, its row says so and the program fails. Reading, posing and the loading of
libraries come before the limit, which is of `solve`. Times are of the clock: on a machine that has other work all of it
takes longer, so that its load shows.

With `--memory` the limits are of the memory of each solve, in MiB, with 10 s of time; the most that its process had is
shown. A run that fails in any other way than by a result or one line that refuses it fails the program too.

Rows are kept in the file of `--json`, a line each, as they come: what is in it is not measured again, so that a run
that was broken off goes on. `--table` prints of such a file a row for each problem, with the worst route at each limit.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

import optsched
from optsched.core.registry import record
from optsched.instances.generate import generate
from optsched.problems import PROBLEMS
from optsched.routes import routes_of

#: Instances of each problem that are hard for some route: the family, what differs from its defaults, parameters.
HARD: dict[str, list[tuple[str, dict[str, Any], dict[str, Any]]]] = {
    "lsap": [
        ("lsap", {"nodes": 1000, "slots": 2, "tasks": 1400}, {}),
        ("lsap", {"nodes": 20_000, "slots": 2, "tasks": 20_000, "racks": 200}, {"levels": (0, 1, 2)}),
    ],
    "fair-lsap": [
        ("fair-lsap", {"nodes": 1000, "tasks": 1400, "replicas": 3}, {}),
        ("fair-lsap", {"nodes": 20_000, "tasks": 40_000, "replicas": 3}, {}),
    ],
    "lsap-fairness": [
        ("lsap-fairness", {"nodes": 1000, "tasks": 1400, "replicas": 3}, {}),
        ("lsap-fairness", {"nodes": 50_000, "tasks": 100_000, "replicas": 3}, {}),
    ],
    "worst-group": [
        ("worst-group", {"nodes": 1000, "tasks": 900, "groups": 20}, {}),
        ("worst-group", {"nodes": 2000, "tasks": 1800, "groups": 40, "racks": 40}, {"levels": (0, 1, 2)}),
    ],
    "flow": [
        ("flow", {"nodes": 280, "tasks": 1400, "slots": 5}, {}),
        ("flow", {"nodes": 1000, "tasks": 10_000, "slots": 12}, {}),
    ],
    "flow-congestion": [("flow", {"nodes": 140, "tasks": 1400, "slots": 12}, {})],
    "latency": [
        ("latency", {"nodes": 800, "tasks": 1400}, {}),
        ("skewed-latency", {"nodes": 2000, "tasks": 3600}, {}),
    ],
    "transmission-maps": [
        ("transmission", {"nodes": 700, "tasks": 1400, "slots": 3}, {}),
        ("transmission", {"nodes": 3000, "tasks": 1500}, {}),
    ],
    "transmission-reduces": [
        ("transmission", {"nodes": 150, "tasks": 300, "reduces": 700, "jobs": 30, "reduce_slots": 6}, {}),
    ],
    "transmission": [("transmission", {"nodes": 40, "tasks": 60, "reduces": 30, "jobs": 6}, {})],
    "utility": [("utility", {"jobs": 20, "nodes": 150, "maps": 600}, {})],
    "traffic": [
        ("traffic", {"nodes": 400, "tasks": 2000, "jobs": 50, "datacenters": 8}, {"capacity": "slots"}),
        ("traffic", {"nodes": 1000, "tasks": 10_000, "jobs": 200, "datacenters": 20}, {}),
    ],
    "generalized-assignment": [("generalized-assignment", {"nodes": 40, "tasks": 800}, {})],
    "min-cost-flow": [("min-cost-flow", {"nodes": 20_000, "arcs": 200_000}, {})],
    "makespan": [("makespan", {"nodes": 60, "tasks": 1200, "reduces": 60, "slots": 4}, {})],
    "job-times": [("job-times", {"nodes": 60, "tasks": 1200, "reduces": 60, "slots": 4, "jobs": 20}, {})],
}

#: Seconds after its limit at which a run is killed, and the time that a run with a limit on memory has.
_KILLED, _WITH_MEMORY = 20.0, 10.0

#: Seconds between two looks at the memory of a run's processes.
_LOOKS = 0.02

#: What the process of a run does: an instance's file, a problem, its parameters, a route, a limit, and its unit.
_RUN = """
import json, sys, time
import optsched
from optsched.core.processes import Limits, contained
from optsched.routes import routes_of
file, name, parameters, route, limit, unit = json.loads(sys.argv[1])
problem = optsched.problem(name, optsched.load(file), **parameters)
routes_of(problem)
seconds = limit if unit == "s" else 10.0
numbers = lambda values: ", ".join("?" if value is None else f"{float(value):.6g}" for value in values or ())
def answered():
    if route == "frontier":
        found = optsched.frontier(problem, time_limit=seconds)
        return {"ended": str(found.limit or "complete"), "held": f"{len(found.points)} points"}
    found = optsched.solve(problem, route=route, time_limit=seconds)
    proofs = "/".join(str(certificate.kind) for certificate in found.certificates)
    said = f", {found.raw_status}" if unit != "s" and found.limit is not None else ""
    return {"ended": f"{found.termination}{f' ({found.limit}{said})' if found.limit else ''}",
            "held": f"{numbers(found.objective) or 'nothing'}; bound {numbers(found.bound)}, {proofs or 'no proof'}"}
with contained(None if unit == "s" else Limits(memory_mb=int(limit))):
    began = time.monotonic()
    try:
        answer = answered()
    except optsched.core.errors.TooLarge as error:
        answer = {"ended": "refused", "held": str(error).rpartition("; ")[2]}
    print(json.dumps(answer | {"taken": time.monotonic() - began}))
"""


@dataclass(frozen=True)
class Kept:
    """What came of one run: a limit in seconds (`s`) or of memory (`MiB`), and what it took in seconds and MiB."""

    problem: str
    size: str
    route: str
    asked: float
    unit: str
    taken: float
    most: float
    ended: str
    held: str
    load: float

    @property
    def key(self) -> tuple[str, str, str, float, str]:
        """What was measured."""
        return self.problem, self.size, self.route, self.asked, self.unit

    @property
    def over(self) -> float:
        """What it took beyond what was asked, in the unit of the limit."""
        return max(0.0, (self.taken if self.unit == "s" else self.most) - self.asked)

    def late(self, most: float) -> bool:
        """Whether it kept its limit, in a way that is a result, or a line that refuses it."""
        failed = self.ended == "killed" or self.ended.startswith(("exit", "ERROR"))
        return failed or (self.unit == "s" and self.over > most)

    def row(self, most: float) -> str:
        """The row of the table."""
        mark = "**" if self.late(most) else ""
        figures = f"{self.taken:.2f} | {mark}{self.over:.2f}{mark}"
        if self.unit == "MiB":
            figures = f"{self.taken:.2f} | {mark}{self.most:.0f}{mark}"
        return (
            f"| {self.problem} | {self.size} | {self.route} | {self.asked:g} | {figures} | {self.ended} | {self.held} |"
        )


def measured(file: Path, posed: tuple[str, str, dict[str, Any]], route: str, limit: float, unit: str) -> Kept:
    """One run, in a process of its own."""
    name, size, parameters = posed
    asked = json.dumps([str(file), name, parameters, route, limit, unit])
    began, load, most = time.monotonic(), os.getloadavg()[0], 0.0
    until = began + (limit if unit == "s" else _WITH_MEMORY) + _KILLED

    def kept(taken: float, ended: str, held: str) -> Kept:
        return Kept(name, size, route, limit, unit, round(taken, 3), round(most), ended, held, round(load, 1))

    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        run = subprocess.Popen([sys.executable, "-c", _RUN, asked], stdout=out, stderr=errors)
        while run.poll() is None:
            if time.monotonic() > until:
                run.kill()
                run.wait()
                return kept(time.monotonic() - began, "killed", "nothing")
            most = max(most, _memory_of_workers(run.pid))
            time.sleep(_LOOKS)
        out.seek(0)
        errors.seek(0)
        if run.returncode:
            last = (errors.read().strip().splitlines() or [""])[-1]
            return kept(time.monotonic() - began, f"exit {run.returncode}", last)
        written = json.loads(out.read())
    return kept(written["taken"], written["ended"], written["held"])


def _memory_of_workers(pid: int) -> float:
    """The most that one of the processes has which a run has started, in MiB."""
    most = 0.0
    with suppress(psutil.Error):
        for process in psutil.Process(pid).children(recursive=True):
            with suppress(psutil.Error):
                most = max(most, process.memory_info().rss / 2**20)
    return most


def _asked(given: argparse.Namespace, done: set[Any], folder: Path) -> Iterator[Kept]:
    """All runs that were asked for and are not done."""
    unit = "MiB" if given.memory else "s"
    limits = [float(limit) for limit in (given.memory or given.limits).split(",")]
    wanted = set(filter(None, given.routes.split(",")))
    for name in given.problems or HARD:
        for position, (family, drawn, parameters) in enumerate(HARD[name]):
            noun = generate(family, seed=0, **drawn)
            posed = optsched.problem(name, noun, **parameters)
            size = ", ".join(f"{value:,} {word}" for word, value in drawn.items())
            entry = record(name)
            further = ["frontier"] * entry.frontier
            runs = [
                (route, limit)
                for route in (*routes_of(posed), *further)
                for limit in limits
                if (not wanted or route in wanted) and (name, size, route, limit, unit) not in done
            ]
            file = folder / f"{name}-{position}.npz"
            if runs:
                optsched.save(noun, file)
            for route, limit in runs:
                yield measured(file, (name, size, parameters), route, limit, unit)


def _worst(rows: Sequence[Kept]) -> str:
    """A row for each problem: at each limit the route that went furthest beyond it."""
    limits = sorted({(kept.unit, kept.asked) for kept in rows})
    head = ["problem", "runs", *(f"{asked:g} {unit}" for unit, asked in limits)]
    lines = [head, ["---", "---:", *["---"] * len(limits)]]
    for name in dict.fromkeys(kept.problem for kept in rows):
        cells = [f"`{name}`", str(sum(kept.problem == name for kept in rows))]
        for unit, asked in limits:
            of_these = [kept for kept in rows if (kept.problem, kept.unit, kept.asked) == (name, unit, asked)]
            worst = max(of_these, key=lambda kept: kept.over, default=None)
            cells.append("" if worst is None else f"{worst.over:.2f} `{worst.route}`")
        lines.append(cells)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", default=[], metavar="PROBLEM", help=f"of {', '.join(PROBLEMS)}")
    parser.add_argument("--limits", default="0.5,2,10", help="seconds")
    parser.add_argument("--memory", default="", help="MiB, instead of seconds")
    parser.add_argument("--routes", default="", help="those alone")
    parser.add_argument("--over", type=float, default=2.0, help="seconds that a run may take beyond its limit")
    parser.add_argument("--json", type=Path, help="file of rows, to go on from")
    parser.add_argument("--table", action="store_true", help="measure nothing: the worst of a file of rows")
    return parser.parse_args(given)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print the table."""
    given = _arguments(arguments)
    held = []
    if given.json is not None and given.json.exists():
        held = [Kept(**json.loads(line)) for line in given.json.read_text().splitlines()]
    if given.table:
        print(_worst(held))
        return 0
    print(f"Load of the machine: {', '.join(f'{load:.1f}' for load in os.getloadavg())}\n")
    beyond = "MiB taken" if given.memory else "over"
    print(f"| problem | instance | route | asked | seconds | {beyond} | ended | held |")
    print("|---|---|---|---:|---:|---:|---|---|")
    late = 0
    with tempfile.TemporaryDirectory() as folder:
        for kept in _asked(given, {kept.key for kept in held}, Path(folder)):
            late += kept.late(given.over)
            print(kept.row(given.over), flush=True)
            if given.json is not None:
                with given.json.open("a") as file:
                    print(json.dumps(asdict(kept)), file=file)
    if late:
        print(f"{late} runs failed, or took more than {given.over:g} s beyond their limit", file=sys.stderr)
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
