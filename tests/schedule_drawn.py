"""Small instances with arrivals, running tasks and times, and an oracle of schedules that shares no code."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction
from math import ceil
from typing import Any

from optsched.core.instance import Cluster, Instance, Ragged, Workload

Text = dict[str, Any]
Starts = dict[str, tuple[str, Fraction] | None]


def document(seed: int, tasks: int = 4) -> Text:
    """An instance file with so many tasks at most, and numbers as people write them: tenths, ties, nothing at all."""
    chance = random.Random(seed)
    amounts = [0, 1, 2, 3, 0.1, 0.3, 2.5, 10, 1e-6]
    nodes = [f"n{number}" for number in range(chance.randint(1, 3))]
    jobs = [f"j{number}" for number in range(chance.randint(1, 3))]
    text: Text = {
        "format": "optsched/1",
        "time": chance.choice([0, 0, 1.5, -2]),
        "groups": [{"id": "g", "weight": chance.choice([1, 0.3])}],
        "nodes": [
            {"id": name, "slots": chance.randint(0, 2), "reduce_slots": chance.randint(0, 2)}
            | ({"rack": chance.choice("ab")} if chance.random() < 0.8 else {})
            for name in nodes
        ],
        "jobs": [
            {"id": name, "group": "g"} | ({"arrival": chance.choice([-1, 0, 2, 0.7])} if chance.random() < 0.7 else {})
            for name in jobs
        ],
        "tasks": [],
    }
    for number in range(chance.randint(0, tasks)):
        task: Text = {"id": f"t{number}", "kind": chance.choice(["map", "map", "reduce"])}
        if chance.random() < 0.9:
            task["job"] = chance.choice(jobs)
        if task["kind"] == "map" and chance.random() < 0.8:
            task["replicas"] = sorted(chance.sample(nodes, chance.randint(0, min(2, len(nodes)))))
        if chance.random() < 0.5:
            task["times"] = {level: chance.choice(amounts) for level in ("node", "rack", "off_rack")}
        else:
            task["duration"] = chance.choice(amounts)
        state = chance.random()
        if state > 0.7:
            task |= {"state": "running" if state > 0.8 else "finished", "node": chance.choice(nodes)}
            if state > 0.8:
                task["start"] = text["time"] - chance.choice([0, 1, 0.5, 30])
        text["tasks"].append(task)
    for node in text["nodes"]:
        for kind, slots, idle in (("map", "slots", "idle_slots"), ("reduce", "reduce_slots", "idle_reduce_slots")):
            runs = sum(
                task.get("state") == "running" and task["node"] == node["id"] and task["kind"] == kind
                for task in text["tasks"]
            )
            node[slots] = max(node[slots], runs)
            node[idle] = chance.randint(0, node[slots] - runs)
    return text


def whole(seed: int, tasks: int) -> Text:
    """A drawn instance file with small whole numbers, so that every start that matters is one."""
    text, chance = document(seed, tasks), random.Random(seed)
    text["time"] = chance.choice([0, 1, -1])
    for job in text["jobs"]:
        if "arrival" in job:
            job["arrival"] = chance.choice([-1, 0, 1, 2])
    for task in text["tasks"]:
        if "times" in task:
            task["times"] = {level: chance.choice([0, 1, 2, 3]) for level in task["times"]}
        else:
            task["duration"] = chance.choice([0, 1, 2])
        if "start" in task:
            task["start"] = text["time"] - chance.choice([0, 1])
    return text


def exactly(number: float) -> Fraction:
    """A number as it is written, in whole microseconds."""
    return Fraction(round(Fraction(repr(number)) * 10**6), 10**6)


class Oracle:
    """What is feasible, and what it is worth, by looking at every instant at which something happens."""

    def __init__(self, text: Text, factors: tuple[float, ...] = (1, 1, 1), slowstart: float = 0.05) -> None:
        self.text, self.factors, self.slowstart = text, factors, Fraction(repr(slowstart))
        self.now = exactly(text["time"])
        self.nodes = {node["id"]: node for node in text["nodes"]}
        self.jobs = {job["id"]: job for job in text["jobs"]}
        self.tasks = {task["id"]: task for task in text["tasks"]}
        self.pending = [name for name, task in self.tasks.items() if task.get("state", "pending") == "pending"]

    def takes(self, name: str, node: str) -> Fraction:
        """Seconds of a task on a node."""
        task, level = self.tasks[name], 2
        racks = [self.nodes[at].get("rack") for at in task.get("replicas", [])]
        if node in task.get("replicas", []):
            level = 0
        elif self.nodes[node].get("rack") is not None and self.nodes[node].get("rack") in racks:
            level = 1
        if "times" in task:
            return exactly(task["times"][("node", "rack", "off_rack")[level]])
        factor = Fraction(repr(self.factors[level])) if racks else 1
        return Fraction(round(Fraction(repr(task["duration"])) * factor * 10**6), 10**6)

    def job_of(self, name: str) -> str:
        """The job of a task, or the task itself."""
        return str(self.tasks[name].get("job", f"alone {name}"))

    def arrival(self, job: str) -> Fraction:
        """When a job arrives."""
        given = self.jobs.get(job, {}).get("arrival")
        begun = any(self.job_of(name) == job and name not in self.pending for name in self.tasks)
        return self.now if given is None else min(exactly(given), self.now) if begun else exactly(given)

    def ends(self, starts: Starts) -> dict[str, Fraction]:
        """When each task that runs, or has run, ends; what has ended by now is left out."""
        found: dict[str, Fraction] = {}
        for kind in ("map", "reduce"):
            for name, task in self.tasks.items():
                if task["kind"] != kind:
                    continue
                if task.get("state") == "running":
                    end = max(exactly(task["start"]) + self.takes(name, task["node"]), self.now)
                elif name in self.pending and starts.get(name):
                    node, start = starts[name]  # type: ignore[misc]
                    end = start + self.takes(name, node)
                else:
                    continue
                job = self.job_of(name)
                maps = [found[o] for o in found if self.tasks[o]["kind"] == "map" and self.job_of(o) == job]
                end = max([end, *maps]) if kind == "reduce" else end
                found[name] = end
        return found

    def wrong(self, starts: Starts) -> set[tuple[str, tuple[str, ...]]]:
        """Names of broken constraints, with the ids that they are about."""
        found: set[tuple[str, tuple[str, ...]]] = set()
        ends = self.ends(starts)
        for name in self.pending:
            if not starts.get(name):
                found.add(("every-task-runs", (name,)))
                continue
            start = starts[name][1]  # type: ignore[index]
            if start < max(self.now, self.arrival(self.job_of(name))):
                found.add(("released", (name,)))
            if self.tasks[name]["kind"] == "reduce" and "job" in self.tasks[name]:
                maps = [
                    o for o, t in self.tasks.items() if t["kind"] == "map" and t.get("job") == self.tasks[name]["job"]
                ]
                over = sum(self.tasks[o].get("state") == "finished" or (o in ends and ends[o] <= start) for o in maps)
                able = sum(self.tasks[o].get("state") == "finished" or o in ends for o in maps)
                if over < ceil(self.slowstart * len(maps)) <= able:
                    found.add(("slowstart", (name,)))
        for node, kind in itertools.product(self.nodes, ("map", "reduce")):
            idle = self.nodes[node]["idle_slots" if kind == "map" else "idle_reduce_slots"]
            here = [
                (starts[name][1], ends[name])  # type: ignore[index]
                for name in self.pending
                if starts.get(name) and starts[name][0] == node and self.tasks[name]["kind"] == kind  # type: ignore[index]
            ]
            held = [
                ends[name]
                for name, task in self.tasks.items()
                if task.get("state") == "running" and task["node"] == node and task["kind"] == kind
            ]
            if here and not idle + len(held):
                found.add(("slots", (kind, node)))
            for instant, _ in here:
                runs = sum(begin <= instant < end for begin, end in here)
                if runs > idle + sum(end <= instant for end in held):
                    found.add(("slots", (kind, node)))
        return found

    def makespan(self, starts: Starts) -> Fraction:
        """The last end, after the snapshot."""
        return max([self.now, *self.ends(starts).values()]) - self.now

    def job_times(self, starts: Starts) -> Fraction:
        """The sum over jobs that have something left."""
        ends = self.ends(starts)
        by_job: dict[str, list[Fraction]] = {}
        for name, end in ends.items():
            by_job.setdefault(self.job_of(name), []).append(end)
        return sum((max(self.now, *times) - self.arrival(job) for job, times in by_job.items()), Fraction(0))


def two_jobs(**columns: Any) -> Instance:
    """Two nodes in a rack and one beyond; a job with two maps and a reduce."""
    cluster = Cluster(["a", "b", "c"], rack=[0, 0, 1], rack_ids=["r", "s"])
    text = [[0], [0], []]
    workload = Workload(
        ["m1", "m2", "r1"],
        job=[0, 0, 0],
        kind=[0, 0, 1],
        replicas=Ragged.from_rows(text),
        job_ids=["j"],
        **columns,
    )
    return Instance(cluster, workload)
