"""Limits on time asked for and kept: every problem by every route, on instances that no route finishes in time.

    python benchmarks/limits_kept.py [--limits 0.5,2,10] [--routes R,...] [--over SECONDS] [PROBLEM ...]

Prints a Markdown table with a row for each problem, route and limit: how long `optsched.solve` took beyond what was
asked, how it ended, and what was held (objective, bound, proofs). Each run has a process of its own, which is killed
20 s after its limit. Where a run took more than `--over` seconds (2) beyond its limit, its row says so and the program
fails. Reading, posing and the loading of libraries come before the limit, which is of `solve`. Times are of the clock:
on a machine that has other work all of it takes longer, so that its load is told.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import optsched
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
}

#: Seconds after its limit at which a run is killed.
_KILLED = 20.0

#: What the process of a run does: an instance's file, a problem, its parameters, a route and a limit.
_RUN = """
import json, sys, time
import optsched
from optsched.routes import routes_of
file, name, parameters, route, limit = json.loads(sys.argv[1])
problem = optsched.problem(name, optsched.load(file), **parameters)
routes_of(problem)
began = time.monotonic()
try:
    found = optsched.solve(problem, route=route, time_limit=limit)
except optsched.errors.TooLarge as error:
    told = {"ended": "refused", "held": str(error).rpartition("; ")[2]}
else:
    numbers = lambda values: ", ".join("?" if value is None else f"{float(value):.6g}" for value in values or ())
    proofs = "/".join(str(certificate.kind) for certificate in found.certificates)
    told = {"ended": f"{found.termination}{f' ({found.limit})' if found.limit else ''}",
            "held": f"{numbers(found.objective) or 'nothing'}; bound {numbers(found.bound)}, {proofs or 'no proof'}"}
print(json.dumps(told | {"taken": time.monotonic() - began}))
"""


@dataclass(frozen=True)
class Kept:
    """What came of one run."""

    problem: str
    size: str
    route: str
    asked: float
    taken: float
    ended: str
    held: str

    @property
    def over(self) -> float:
        """Seconds beyond what was asked."""
        return max(0.0, self.taken - self.asked)

    def row(self, most: float) -> str:
        """The row of the table."""
        late = "**" if self.over > most else ""
        return (
            f"| {self.problem} | {self.size} | {self.route} | {self.asked:g} | {self.taken:.2f} | "
            f"{late}{self.over:.2f}{late} | {self.ended} | {self.held} |"
        )


def measured(file: Path, name: str, size: str, parameters: dict[str, Any], route: str, limit: float) -> Kept:
    """One run, in a process of its own."""
    asked = json.dumps([str(file), name, parameters, route, limit])
    began = time.monotonic()
    try:
        done = subprocess.run(
            [sys.executable, "-c", _RUN, asked], capture_output=True, text=True, timeout=limit + _KILLED, check=False
        )
    except subprocess.TimeoutExpired:
        return Kept(name, size, route, limit, time.monotonic() - began, "killed", "nothing")
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [""])[-1]
        return Kept(name, size, route, limit, time.monotonic() - began, f"exit {done.returncode}", last)
    told = json.loads(done.stdout)
    return Kept(name, size, route, limit, told["taken"], told["ended"], told["held"])


def main() -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problems", nargs="*", default=[], metavar="PROBLEM", help=f"of {', '.join(PROBLEMS)}")
    parser.add_argument("--limits", default="0.5,2,10", help="seconds")
    parser.add_argument("--routes", default="", help="those alone")
    parser.add_argument("--over", type=float, default=2.0, help="seconds that a run may take beyond its limit")
    given = parser.parse_args()
    limits, wanted = [float(limit) for limit in given.limits.split(",")], set(filter(None, given.routes.split(",")))
    print(f"Load of the machine: {', '.join(f'{load:.1f}' for load in os.getloadavg())}\n")
    print("| problem | instance | route | asked | taken | over | ended | held |\n|---|---|---|---:|---:|---:|---|---|")
    late = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in given.problems or HARD:
            for position, (family, drawn, parameters) in enumerate(HARD[name]):
                noun = generate(family, seed=0, **drawn)
                file = Path(folder, f"{name}-{position}.npz")
                optsched.save(noun, file)
                posed = optsched.problem(name, noun, **parameters)
                size = ", ".join(f"{value:,} {word}" for word, value in drawn.items())
                for route in routes_of(posed):
                    for limit in limits if not wanted or route in wanted else ():
                        kept = measured(file, name, size, parameters, route, limit)
                        late += kept.over > given.over
                        print(kept.row(given.over), flush=True)
    if late:
        print(f"{late} runs took more than {given.over:g} s beyond their limit", file=sys.stderr)
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
