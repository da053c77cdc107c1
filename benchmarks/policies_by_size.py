"""Processor seconds of every heuristic at growing sizes: does each grow as its paper says?

    python benchmarks/policies_by_size.py [--tasks N ...] [--limit SECONDS] [--memory MB] [--json FILE]
        [--problem PROBLEM] [HEURISTIC ...]

Every heuristic of the list runs in the first problem that it serves (or in `--problem`) on instances of the family
`mixed`: a tenth as many nodes as tasks with 12 slots each, racks of 40 nodes, jobs of 1,000 maps in ten groups, up to 3
replicas, a record of where each ran; problems that place reduces have one for each 500 maps. Each run has a process of
its own with the posed problem in it, so that seconds are of the run alone; the rows "posing" are of the problem. The
exponent is that between the last two sizes: 1 is linear. What is over a limit is not tried at larger sizes.

Prints a Markdown table; `--json` writes a list of records: heuristic, problem, tasks, seconds, judging (violations,
objective, locality), megabytes (the process at its most), objective, rounds and tasks placed, or the error.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from optsched.core import processes
from optsched.core.instance import REDUCE, Instance
from optsched.core.processes import Limits
from optsched.heuristics import HEURISTICS, run
from optsched.instances.generate import generate
from optsched.problems import PROBLEMS, Problem
from optsched.problems.locality_counts import locality_counts

Record = dict[str, Any]


def posed(name: str, tasks: int) -> Problem:
    """The problem on an instance of the family."""
    nodes, jobs = max(2, tasks // 10), max(1, tasks // 1000)
    kind = PROBLEMS[name]
    assert issubclass(kind, Problem)
    reduces = tasks // 500 if REDUCE in kind.kinds else 0
    racks = max(1, nodes // 40)
    sizes = {"nodes": nodes, "tasks": tasks, "racks": racks, "datacenters": min(4, racks), "jobs": jobs}
    shared = {"reduces": reduces, "groups": min(10, jobs), "slots": 12, "replicas": min(3, nodes)}
    instance = generate("mixed", **sizes, **shared)
    assert isinstance(instance, Instance)
    workload = replace(instance.workload, observed=np.arange(len(instance.workload)) % nodes)
    return kind(replace(instance, workload=workload))


def serving(name: str, wanted: str | None) -> str | None:
    """The problem in which a heuristic is measured."""
    served = HEURISTICS[name].problems
    return next((problem for problem in served if wanted in (None, problem)), None)


def prepared(job: tuple[str, int]) -> tuple[float, Problem]:
    """The posed problem, and its processor seconds."""
    began = time.process_time()
    problem = posed(*job)
    return time.process_time() - began, problem


def measured(job: tuple[str, Problem]) -> Record:
    """What one run took, and what it gave."""
    name, problem = job
    began = time.process_time()
    found = run(problem, name)
    seconds = time.process_time() - began
    record: Record = {"seconds": seconds, "error": found.error}
    if found.placement is not None:
        infeasible = any(True for _ in problem.violations(found.placement))
        objective = None if infeasible else problem.evaluate(found.placement)
        locality_counts(problem, found.placement)
        record["judging"] = time.process_time() - began - seconds
        record["objective"] = None if objective is None else [float(part) for part in objective]
        record["rounds"] = found.rounds
        record["placed"] = found.placement.placed
    return record


def records(names: list[str], wanted: str | None, sizes: list[int], limits: Limits) -> Iterator[Record]:
    """A record for each heuristic and size, and for each problem's posing."""
    by_problem: dict[str, list[str]] = {}
    for name in names:
        problem = serving(name, wanted)
        if problem is not None:
            by_problem.setdefault(problem, []).append(name)
    for problem, left in by_problem.items():
        for tasks in sizes:
            about: Record = {"problem": problem, "tasks": tasks}
            posing = processes.run(prepared, (problem, tasks), limits)
            if not posing.done:
                yield {"heuristic": "posing", **about, "error": str(posing), "megabytes": posing.peak_mb}
                break
            seconds, made = posing.value
            yield {"heuristic": "posing", **about, "seconds": seconds, "megabytes": posing.peak_mb}
            for name in list(left):
                found = processes.run(measured, (name, made), limits)
                taken = found.value if found.done else {"error": str(found)}
                if not found.done:
                    left.remove(name)
                yield {"heuristic": name, **about, **taken, "megabytes": found.peak_mb}


def table(found: list[Record], sizes: list[int]) -> Iterator[str]:
    """The lines of a Markdown table: a row for each heuristic, in the order of measuring."""
    yield f"| heuristic | problem | {' | '.join(f'{tasks:,} tasks' for tasks in sizes)} | exponent | MB | |"
    yield f"|---|---|{'---:|' * len(sizes)}---:|---:|---|"
    rows = dict.fromkeys((record["heuristic"], record["problem"]) for record in found)
    for name, problem in rows:
        own = {
            record["tasks"]: record for record in found if (record["heuristic"], record["problem"]) == (name, problem)
        }
        timed = [(tasks, entry["seconds"]) for tasks, entry in own.items() if "seconds" in entry]
        cells = [f"{own[tasks]['seconds']:.2f}" if tasks in dict(timed) else "-" for tasks in sizes]
        growth = "-"
        if len(timed) > 1 and timed[-2][1] > 0:
            (small, before), (large, after) = timed[-2:]
            growth = f"{math.log(after / before) / math.log(large / small):.2f}"
        memory = next((entry["megabytes"] for entry in reversed(own.values()) if entry.get("megabytes")), math.nan)
        text = next((str(entry["error"]) for entry in own.values() if entry.get("error")), "")
        yield f"| {name} | {problem} | {' | '.join(cells)} | {growth} | {memory:,.0f} | {text} |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("heuristics", nargs="*", metavar="HEURISTIC", help="only these")
    parser.add_argument("--problem", help="in this problem, if the heuristic serves it")
    parser.add_argument("--tasks", type=int, nargs="+", default=[10_000, 100_000, 1_000_000], metavar="N")
    parser.add_argument("--limit", type=int, default=60, metavar="SECONDS", help="of each run")
    parser.add_argument("--memory", type=int, default=8000, metavar="MB", help="of each process")
    parser.add_argument("--json", metavar="FILE", help="write the records")
    arguments = parser.parse_args()
    names = [name for name in HEURISTICS if not arguments.heuristics or name in arguments.heuristics]
    found = []
    limits = Limits(arguments.limit, arguments.memory)
    for record in records(names, arguments.problem, arguments.tasks, limits):
        print(record, file=sys.stderr, flush=True)
        found.append(record)
    print("\n".join(table(found, arguments.tasks)))
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
