"""Runs over time on drawn instances: each a feasible schedule that beats no proved bound, and keeps Little's law.

    python benchmarks/generated_runs.py [--runs 100000] [--seed 0] [--processes 2]
    python benchmarks/generated_runs.py --only NUMBER [--seed 0]

Run number N of a seed is always the same one. What it is of is drawn: a workload with jobs that arrive, reduces, tasks
that run or have ended; a policy of the list, or a batch heuristic of the list in rounds of a problem that can be posed;
a service; heartbeats, what they assign, slowstart, and the policy's own seed. Of each run is checked, in whole
microseconds:

- the problems `makespan` and `job-times` find its schedule feasible, and let each task end when it ended in the run.
  Times that no problem knows (services `transfer`, `rates`, `recorded`) are those that the run had;
- its value beats no cheap bound of either problem; of one in sixteen runs, which are tiny, nor the optimum, by
  enumeration;
- Little's law: the area under the number of jobs that are there is the sum of the times that they are there; so for
  the tasks that wait, and for those that run on each node;
- one in sixteen, run again, does the same.

A policy that leaves tasks for ever breaks nothing; the table counts those runs. It fails where a check fails, with the
number of the run, which `--only` shows.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numbered import checked, parsed

from optsched.core.deadline import deadline
from optsched.core.errors import HeuristicFailed, InputError, OutOfTime, UsageError
from optsched.core.instance import PENDING, RUNNING, Instance, State
from optsched.core.placement import MICRO, NONE, microseconds
from optsched.heuristics import HEURISTICS
from optsched.heuristics.simulating import EveryRound, Simulation, simulate
from optsched.heuristics.simulating.engine import ARRIVED, ENDED, NEVER, STARTED
from optsched.heuristics.simulating.services import service_named
from optsched.instances.generate import generate
from optsched.problems import PROBLEMS, JobTimes, Makespan, Problem
from optsched.problems.schedules import ScheduleProblem
from optsched.solvers.searches.enumeration import best_decision

#: One in so many runs is tiny, and measured against an enumerated optimum; one in so many is run twice.
TINY, AGAIN = 16, 16

#: Seconds after which a run is given up, which is a fault.
LONGEST = 120.0


@dataclass(frozen=True)
class Run:
    """What is run: `simulate(instance, policy, **options)`, where the policy is made by `made`."""

    instance: Instance
    policy: str
    problem: str | None
    options: dict[str, Any]
    tiny: bool

    def made(self) -> Any:
        """The policy."""
        return self.policy if self.problem is None else EveryRound(self.policy, problem=self.problem)

    def done(self) -> Simulation:
        """The run."""
        service = service_named(self.options["service"])()
        return simulate(self.instance, self.made(), **{**self.options, "service": service})

    def __str__(self) -> str:
        rounds = "" if self.problem is None else f" in rounds of {self.problem}"
        return f"{self.policy}{rounds} on {self.instance.name}, {self.options}"


def drawn(seed: int, number: int) -> Run:
    """Run number so and so of a seed."""
    rng = np.random.default_rng([seed, number])
    tiny = number % TINY == 0
    service = (
        "levels" if tiny else str(rng.choice(["levels", "transfer", "rates", "recorded"], p=[0.55, 0.15, 0.15, 0.15]))
    )
    instance = _mixed(rng, tiny) if service != "levels" or rng.random() < 0.5 else _over_time(rng, tiny)
    policy, problem = _policy(rng, instance)
    options = {
        "service": service,
        "heartbeat": float(rng.choice([0, 0.5, 1, 3, 3])),
        "assign": str(rng.choice(["all", "one"])),
        # A recorded time of a reduce has its wait for maps in it: it is the problem's where there is no wait.
        "slowstart": 1.0 if service == "recorded" else float(rng.choice([0, 0.05, 0.05, 0.5, 1])),
        "seed": int(rng.integers(2**31)),
    }
    return Run(instance, policy, problem, options, tiny)


def _sizes(rng: np.random.Generator, tiny: bool) -> dict[str, int]:
    """How large an instance is."""
    if tiny:
        nodes, tasks, reduces = 2, int(rng.integers(1, 4)), int(rng.integers(0, 2))
    else:
        nodes, tasks, reduces = int(rng.integers(2, 7)), int(rng.integers(1, 14)), int(rng.integers(0, 5))
    jobs = int(rng.integers(1, min(tasks, 5) + 1))
    sizes = {"nodes": nodes, "tasks": tasks, "reduces": reduces, "jobs": jobs, "racks": int(rng.integers(1, nodes + 1))}
    return {**sizes, "groups": int(rng.integers(1, jobs + 1)), "slots": int(rng.integers(1, 4))}


def _mixed(rng: np.random.Generator, tiny: bool) -> Instance:
    """An instance with every field that some policy or service needs, on which nothing runs yet."""
    sizes = _sizes(rng, tiny)
    centers = int(rng.integers(1, sizes["racks"] + 1))
    found = generate("mixed", int(rng.integers(2**31)), datacenters=centers, **sizes)
    assert isinstance(found, Instance)
    workload = found.workload
    times = rng.integers(0, 200, (len(workload), 3)) / 8
    if rng.random() < 0.7:  # nearer is faster, as a rule
        times = np.sort(times, axis=1)
    arrival = rng.integers(0, 60, len(workload.job_ids)) / 3
    workload = replace(workload, times=times, duration=times[:, 0], arrival=arrival)
    return Instance(found.cluster, workload, State.initial(found.cluster, workload), name=found.name)


def _over_time(rng: np.random.Generator, tiny: bool) -> Instance:
    """An instance of the families over time, in the middle of a run."""
    sizes = _sizes(rng, tiny)
    share = {name: float(rng.choice([0, 0, 0.2])) for name in ("running", "busy", "finished", "lost")}
    chosen = {
        **sizes,
        **share,
        "replicas": int(rng.integers(1, sizes["nodes"] + 1)),
        "longest": int(rng.integers(1, 20)),
        "gap": float(rng.choice([0, 2, 10])),
        "reduce_slots": int(rng.integers(1, 3)),
    }
    if share["running"] + share["busy"]:
        chosen["slots"] = max(chosen["slots"], 1 + sizes["tasks"] // sizes["nodes"])
    found = generate(str(rng.choice(["makespan", "job-times"])), int(rng.integers(2**31)), **chosen)
    assert isinstance(found, Instance)
    return found


def _policy(rng: np.random.Generator, instance: Instance) -> tuple[str, str | None]:
    """A heuristic of the list that can run, and for a batch heuristic the problem that each round poses."""
    names = [name for name in HEURISTICS if name != "observed"]
    for at in rng.permutation(len(names)).tolist():
        entry = HEURISTICS[names[at]]
        placing = [name for name in entry.problems if issubclass(PROBLEMS[name], Problem)]
        problem = None if entry.online else str(rng.choice(placing))
        try:
            if problem is not None:
                EveryRound(entry, problem=problem).check(instance)
            elif entry.faults(Makespan(instance)):
                continue
        except (InputError, UsageError):
            continue
        return entry.name, problem
    raise AssertionError("no policy runs on it")


def broken(run: Run, done: Simulation, twice: bool) -> list[str]:
    """What is wrong with a run, a line each; nothing, as a rule."""
    found = []
    for problem in _judges(run, done):
        wrong = problem.violations(done.schedule)
        left = [entry for entry in wrong if not (entry.constraint == "every-task-runs" and done.unfinished)]
        found += [f"{problem.name}: {entry}" for entry in left]
        if wrong:
            continue
        if (ends := problem.ends(done.schedule)[done.left]).tolist() != done.end[done.left].tolist():
            found.append(f"{problem.name}: tasks end at {ends.tolist()}, in the run at {done.end[done.left].tolist()}")
        (value,) = problem.evaluate(done.schedule)
        bounds = {bound.name: bound.value for bound in problem.cheap_bounds()}
        if run.tiny and (best := best_decision(problem)) is not None:
            bounds["enumeration"] = best[0][0]
        found += [f"{problem.name}: {value} beats {name} {bound}" for name, bound in bounds.items() if value < bound]
    if not done.unfinished:
        found += _not_of_little(done)
    if twice and not _same(done, run.done()):
        found.append("the same run does not do the same")
    return found


def _judges(run: Run, done: Simulation) -> Iterator[ScheduleProblem]:
    """The problems that a run is judged by."""
    instance = done.instance
    if run.options["service"] != "levels":
        # The times that it had, wherever a task might have run.
        begun = np.where(instance.state.status == RUNNING, microseconds(np.nan_to_num(instance.state.start)), 0)
        start = np.where(done.schedule.nodes == NONE, begun, done.schedule.starts)
        took = np.where(done.end < NEVER, done.end - start, MICRO) / MICRO
        workload = replace(instance.workload, times=np.repeat(took[:, None], 3, axis=1))
        instance = replace(instance, workload=workload)
    slowstart = run.options["slowstart"]
    yield Makespan(instance, slowstart=slowstart)
    yield JobTimes(instance, slowstart=slowstart)


def _same(one: Simulation, other: Simulation) -> bool:
    return one.record.tolist() == other.record.tolist() and one.schedule == other.schedule


def _not_of_little(run: Simulation) -> Iterator[str]:
    """Where Little's law does not hold: by what is there from moment to moment, and by how long each was there."""
    there = _areas(run)
    jobs = run.job_parts
    before = int(np.maximum(run.begin - jobs.arrival, 0).sum())
    if there["jobs"] + before != int(run.job_times.sum()):
        yield f"jobs: area {there['jobs']} and {before} before, times {int(run.job_times.sum())}"
    started, schedule = np.flatnonzero(run.schedule.nodes != NONE), run.schedule
    from_when = np.maximum(jobs.arrival[jobs.of_task[started]], run.begin)
    waited = int((schedule.starts[started] - from_when).sum())
    if there["waiting"] != waited:
        yield f"tasks that wait: area {there['waiting']}, times {waited}"
    nodes = schedule.nodes.copy()
    nodes[run.begun_before] = run.instance.state.node[run.begun_before]
    starts = np.where(schedule.nodes == NONE, run.begin, schedule.starts)
    for node, name in enumerate(run.instance.cluster.node_ids.tolist()):
        ran = int((run.end - starts)[(nodes == node) & run.left].sum())
        if there[node] != ran:
            yield f"tasks that run on {name}: area {there[node]}, times {ran}"


def _areas(run: Simulation) -> Counter[Any]:
    """The areas under the numbers of jobs that are there, of tasks that wait, and of tasks that run on each node."""
    status, jobs = run.instance.state.status, run.job_parts
    left = Counter(jobs.of_task[run.left].tolist())
    there = np.flatnonzero(jobs.arrival <= run.begin).tolist()
    waits = np.flatnonzero(status == PENDING)
    now: Counter[Any] = Counter({"jobs": len(there)})
    now["waiting"] = int((jobs.arrival[jobs.of_task[waits]] <= run.begin).sum())
    now.update(run.instance.state.node[run.begun_before].tolist())
    pending = Counter(jobs.of_task[waits].tolist())
    part = {row: place for place, row in enumerate(jobs.rows.tolist()) if row >= 0}
    area: Counter[Any] = Counter()
    last = run.begin
    for at, what, index, node in run.record.tolist():
        for key, number in now.items():
            area[key] += number * (at - last)
        last = at
        if what == ARRIVED and index in part:
            now["jobs"] += 1
            now["waiting"] += pending[part[index]]
        elif what == STARTED:
            now["waiting"] -= 1
            now[node] += 1
        elif what == ENDED:
            now[node] -= 1
            of = int(jobs.of_task[index])
            left[of] -= 1
            now["jobs"] -= not left[of]
    return area


def check_run(seed: int, number: int, counts: Counter[str]) -> list[str]:
    """What is wrong with a run, a line each; it is counted."""
    run = drawn(seed, number)
    counts[f"policy {run.policy}"] += 1
    counts[f"service {run.options['service']}"] += 1
    try:
        with deadline(LONGEST):
            done = run.done()
            wrong = broken(run, done, number % AGAIN == 1)
    except (HeuristicFailed, InputError, OutOfTime) as error:
        return [f"{type(error).__name__}: {error}"]
    counts["runs"] += 1
    counts["tasks"] += done.schedule.placed
    counts["events"] += len(done.record)
    counts["offers"] += done.offers
    counts["enumerated"] += run.tiny
    if done.unfinished:
        counts["unfinished"] += 1
        counts[f"unfinished {run.policy}"] += 1
    return wrong


def _table(counts: Counter[str], seconds: float) -> str:
    """What was run, as lines of a Markdown table."""
    of_all = {"events": "events", "offers": "offers", "tasks": "tasks that ran", "enumerated": "against an optimum"}
    lines = ["| | |", "|---|---:|", f"| runs | {counts['runs']:,} |"]
    lines += [f"| {text} | {counts[name]:,} |" for name, text in of_all.items()]
    lines.append(f"| left unfinished by their policy | {counts['unfinished']:,} |")
    for kind in ("service", "policy"):
        for name, number in sorted(counts.items()):
            if name.startswith(f"{kind} "):
                own = counts[f"unfinished {name.removeprefix('policy ')}"]
                lines.append(f"| {name} | {number:,}{f' ({own:,} unfinished)' * bool(own)} |")
    lines.append(f"| processor seconds | {seconds:,.0f} |")
    return "\n".join(lines)


def _printed(seed: int, number: int) -> int:
    """Tell of one run; how many lines are wrong with it."""
    run = drawn(seed, number)
    print(run)
    done = run.done()
    print(done)
    print(done.tasks.to_string())
    wrong = broken(run, done, True)
    print("\n".join(wrong) or "nothing is wrong with it")
    return len(wrong)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run them; 1 where a check fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given = parsed(parser, "runs", 100_000, arguments)
    if given.only is not None:
        return int(_printed(given.seed, given.only) > 0)
    done = checked(partial(check_run, given.seed), given.runs, given.processes)
    print(_table(done.counts, done.seconds))
    for number, line in done.wrong:
        print(f"run {number}: {line}")
    return int(bool(done.wrong))


if __name__ == "__main__":
    sys.exit(main())
