"""What is proved of schedules: `makespan` and `job-times` at growing sizes, with the share that each bound closes.

    python benchmarks/schedules.py [--seeds 3] [--seconds 60] [--size 20,2,240,12] [--reduces 0] [--hot 0] [--load 0.7]
    python benchmarks/schedules.py --stages [--seeds 3] [--seconds 8]

Jobs have sizes from a Pareto distribution and maps of one length each (6 to 30 s), which take a fifth longer in the
rack of their data and half as long again beyond it; each block has three replicas in two racks. A table row is an
instance: the value, the bound, the gap, processor seconds, and what each kind of bound proved in turn. With `--stages`
a row is a stage of the search: what becomes of small and hot instances, and of those of the library, without it.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import optsched
from optsched.core.deadline import deadline
from optsched.core.errors import OutOfTime
from optsched.core.instance import Cluster, Instance, Ragged, Workload
from optsched.instances.generate import generate
from optsched.instances.library import library
from optsched.problems import JobTimes, Makespan
from optsched.problems.schedules import ScheduleProblem
from optsched.solvers.searches.schedules import ScheduleSearch

#: Nodes, slots of each, tasks, jobs.
SIZES = ((20, 2, 240, 12), (60, 4, 1200, 40))

LENGTHS = (6, 8, 10, 12, 15, 20, 24, 30)


def shares(chance: random.Random, tasks: int, jobs: int) -> list[int]:
    """So many tasks among jobs, each with one or more, by a Pareto distribution."""
    weights = [chance.paretovariate(1.2) for _ in range(jobs)]
    found = [max(1, round(tasks * weight / sum(weights))) for weight in weights]
    while sum(found) != tasks:
        over = sum(found) > tasks
        job = max(range(jobs), key=found.__getitem__) if over else chance.randrange(jobs)
        found[job] += -1 if over else 1
    return found


def drawn(seed: int, size: Sequence[int], reduces: int, hot: float, load: float) -> Instance:
    """Jobs that arrive within `load` of the time that their maps take on all slots.

    Parameters
    ----------
    hot
        The share of blocks of which all replicas are on a quarter of the nodes.
    """
    nodes, slots, tasks, jobs = size
    chance, racks = random.Random(seed), max(2, nodes // 10)
    counts = shares(chance, tasks, jobs)
    lengths = [chance.choice(LENGTHS) for _ in range(jobs)]
    work = sum(count * length for count, length in zip(counts, lengths, strict=True))
    arrival = sorted(round(chance.uniform(0, load * work / (nodes * slots))) for _ in range(jobs))
    job = [of for of, count in enumerate(counts) for _ in range(count)]
    replicas = [block(chance, nodes // 4 if chance.random() < hot else nodes, racks) for _ in job]
    reduced = [of for of in range(jobs) for _ in range(reduces)]
    workload = Workload(
        [f"t{number}" for number in range(len(job) + len(reduced))],
        job=job + reduced,
        kind=[0] * len(job) + [1] * len(reduced),
        replicas=Ragged.from_rows([*replicas, *([] for _ in reduced)]),
        times=[[lengths[of], round(1.2 * lengths[of]), round(1.5 * lengths[of])] for of in job]
        + [[2 * lengths[of]] * 3 for of in reduced],
        job_ids=[f"j{number}" for number in range(jobs)],
        arrival=[time - arrival[0] for time in arrival],
    )
    cluster = Cluster(
        [f"n{number}" for number in range(nodes)],
        slots=[slots] * nodes,
        reduce_slots=[1] * nodes,
        rack=[number % racks for number in range(nodes)],
        rack_ids=[f"r{number}" for number in range(racks)],
    )
    return Instance(cluster, workload)


def block(chance: random.Random, nodes: int, racks: int) -> list[int]:
    """Three nodes, two of them in another rack than the first, where there are so many."""
    first = chance.randrange(nodes)
    others = [node for node in range(nodes) if node % racks != first % racks] or [first]
    second = chance.choice(others)
    third = chance.choice([node for node in range(nodes) if node % racks == second % racks])
    return sorted({first, second, third})


def rows(problem: ScheduleProblem, seconds: float) -> Iterator[str]:
    """The cells of a row."""
    search, began = ScheduleSearch(problem), time.process_time()
    lines = [f"counting {float(search.proof.claim):g}"]
    try:
        with deadline(seconds):
            for name, step in search.stages():
                if search.closed:
                    break
                before = search.proof.claim
                step()
                if search.proof.claim > before:
                    lines.append(f"{name} {float(search.proof.claim):g}")
    except OutOfTime:
        lines.append("out of time")
    bound = search.proof.claim
    if search.value is None:
        yield from (problem.name, "", f"{float(bound):g}", "", f"{time.process_time() - began:.1f}", ", ".join(lines))
        return
    yield problem.name
    yield f"{float(search.value):g}"
    yield f"{float(bound):g}"
    yield "proved" if search.closed else f"{100 * float((search.value - bound) / search.value):.1f} %"
    yield f"{time.process_time() - began:.1f}"
    yield ", ".join(lines)


class Outcome(NamedTuple):
    """How a search ended: what it holds, and the processor seconds of each stage."""

    closed: bool
    value: float
    bound: float
    seconds: dict[str, float]


def outcome(problem: ScheduleProblem, seconds: float, without: str = "") -> Outcome:
    """A search within a limit of time, without a stage."""
    search, taken = ScheduleSearch(problem), dict[str, float]()
    with suppress(OutOfTime), deadline(seconds):
        for name, step in search.stages():
            if search.closed:
                break
            began = time.process_time()
            taken[name] = 0.0
            if name != without:
                step()
                taken[name] = time.process_time() - began
    value = float("inf") if search.value is None else float(search.value)
    return Outcome(search.closed, value, float(search.proof.claim), taken)


def staged(seeds: int) -> Iterator[ScheduleProblem]:
    """Problems of the library, and generated ones with reduces, with many and few jobs, and with data on few nodes."""
    for name, entry in library().items():
        for kind, optimum in entry.optima.items():
            if kind in (Makespan.name, JobTimes.name):
                yield optsched.problem(kind, optsched.load(name), **optimum.parameters)
    for seed in range(seeds):
        for family, given in (
            ("makespan", {"nodes": 6, "tasks": 40, "reduces": 8, "jobs": 4, "slots": 2}),
            ("job-times", {"nodes": 6, "tasks": 40, "reduces": 8, "jobs": 4, "slots": 2}),
            ("makespan", {"nodes": 3, "tasks": 8, "reduces": 2, "jobs": 3, "slots": 1, "running": 0.2}),
        ):
            instance = generate(family, seed, **given)
            yield from (Makespan(instance), JobTimes(instance))
        for size, reduces, hot, load in (
            ((20, 2, 240, 12), 0, 0.0, 0.7),
            ((20, 2, 240, 12), 0, 0.0, 4.0),
            ((20, 2, 240, 4), 0, 1.0, 0.7),
            ((10, 2, 60, 6), 1, 0.0, 0.7),
        ):
            instance = drawn(seed, size, reduces, hot, load)
            yield from (Makespan(instance), JobTimes(instance))


def stage_rows(problems: Iterable[ScheduleProblem], seconds: float) -> Iterator[str]:
    """For each stage but the first: instances that come to it, that it closes, and what they are without it."""
    tallies: dict[str, Counter[str]] = {}
    for problem in problems:
        whole = outcome(problem, seconds)
        for name, taken in list(whole.seconds.items())[1:]:
            less, row = outcome(problem, seconds, name), tallies.setdefault(name, Counter())
            row["came"] += 1
            row["closed"] += whole.closed and name == list(whole.seconds)[-1]
            row["open"] += whole.closed and not less.closed
            row["value"] += less.value > whole.value
            row["bound"] += less.bound < whole.bound
            row["hundredths"] += round(100 * taken)
    for name, row in tallies.items():
        counts = [str(row[key]) for key in ("came", "closed", "open", "value", "bound")]
        yield " | ".join([name, *counts, f"{row['hundredths'] / 100:.1f}"])


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3, help="instances of each size")
    parser.add_argument("--seconds", type=float, default=60, help="time limit of each")
    parser.add_argument("--size", action="append", help="nodes,slots,tasks,jobs; may be given more than once")
    parser.add_argument("--reduces", type=int, default=0, help="reduces of each job")
    parser.add_argument("--hot", type=float, default=0, help="share of blocks that are on a quarter of the nodes")
    parser.add_argument("--load", type=float, default=0.7, help="arrivals are spread over so much of the work's time")
    parser.add_argument("--stages", action="store_true", help="what becomes of instances without each stage")
    given = parser.parse_args(arguments)
    if given.stages:
        print("| stage | came to it | closed by it | open without it | worse value | worse bound | cpu s |")
        print("|---|---|---|---|---|---|---|")
        for row in stage_rows(staged(given.seeds), given.seconds):
            print(f"| {row} |", flush=True)
        return
    sizes = [tuple(map(int, size.split(","))) for size in given.size] if given.size else SIZES
    print("| nodes x slots x tasks, jobs | seed | problem | value | bound | gap | cpu s | bounds |")
    print("|---|---|---|---|---|---|---|---|")
    for size in sizes:
        for seed in range(given.seeds):
            instance = drawn(seed, size, given.reduces, given.hot, given.load)
            for kind in (Makespan, JobTimes):
                cells = [" x ".join(map(str, size[:3])) + f", {size[3]}", str(seed)]
                print("| " + " | ".join([*cells, *rows(kind(instance), given.seconds)]) + " |", flush=True)


if __name__ == "__main__":
    main()
