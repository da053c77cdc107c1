"""`makespan` and `job-times`: tasks on slots over time, judged at every instant at which something happens."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import ceil
from typing import Any, ClassVar

from .common import Decision, Number, Oracle, Value
from .transmission import distances

__all__ = ["JobTimes", "Makespan"]

#: Slots of a kind: the field of those that are idle, and the one that holds for it where that is not given.
FIELDS = {"map": ("idle_slots", "slots"), "reduce": ("idle_reduce_slots", "reduce_slots")}

#: Where a task of a kind runs, from when, and until when.
Placed = dict[str, tuple[int, int, int]]


def micro(seconds: Number) -> int:
    """Whole microseconds, rounded half to even."""
    return round(Fraction(seconds) * 10**6)


class Makespan(Oracle):
    """A decision has the nodes of all pending tasks, and then their starts in microseconds."""

    defaults: ClassVar[Mapping[str, Any]] = {
        "factors": [1, 1, 1],
        "slowstart": 0.05,
        "service": "levels",
        "scale": 1,
    }
    kinds = ("map", "reduce")

    def prepare(self) -> None:
        self.now = micro(self.document.get("time", 0))
        self.share = Fraction(str(self.parameters["slowstart"]))
        if self.parameters["service"] == "transfer":
            self.away = distances(self.nodes, self.document["topology"])
        self.runs = {task["id"]: self.place[task["node"]] for task in self.running(*self.kinds)}
        self.until = {
            name: max(micro(self.task_of[name]["start"]) + self.takes(self.task_of[name], node), self.now)
            for name, node in self.runs.items()
        }
        self.room = {
            kind: [
                node.get(idle, node.get(every, 1))
                + sum(at == row and self.kind(self.task_of[name]) == kind for name, at in self.runs.items())
                for row, node in enumerate(self.nodes)
            ]
            for kind, (idle, every) in FIELDS.items()
        }
        self.left = [task for task in self.tasks if task.get("state", "pending") != "finished"]

    @staticmethod
    def kind(task: Mapping[str, Any]) -> str:
        """Map or reduce."""
        return str(task.get("kind", "map"))

    @staticmethod
    def job(task: Mapping[str, Any]) -> str:
        """The job of a task; one without is a job of its own."""
        return f"job {task['job']}" if "job" in task else f"task {task['id']}"

    def takes(self, task: Mapping[str, Any], node: int) -> int:
        """Microseconds of a task on a node."""
        hosts = self.hosts(task)
        if self.parameters["service"] == "transfer":
            computes = micro(task["duration"] if "duration" in task else task["times"]["node"])
            if self.kind(task) == "reduce" or not hosts:
                return computes
            nearest = min(self.away[host][node] for host in hosts)
            return computes + micro(task["size"] * nearest * self.parameters["scale"])
        racks = {self.nodes[host].get("rack") for host in hosts} - {None}
        level = 0 if node in hosts else 1 if self.nodes[node].get("rack") in racks else 2
        if "times" in task:
            return micro(task["times"][("node", "rack", "off_rack")[level]])
        factor = Fraction(str(self.parameters["factors"][level])) if hosts else 1
        return micro(task["duration"] * factor)

    def arrival(self, task: Mapping[str, Any]) -> int:
        """When a task's job arrives: at the snapshot at the latest, where a task of it has begun."""
        given = self.jobs[task["job"]].get("arrival") if "job" in task else None
        if given is None:
            return self.now
        begun = any(
            other.get("state", "pending") != "pending" and self.job(other) == self.job(task) for other in self.tasks
        )
        return min(self.now, micro(given)) if begun else micro(given)

    def needed(self, task: Mapping[str, Any]) -> int:
        """How many maps of a reduce's job have to end, beside those that have, before it starts."""
        maps = [other for other in self.tasks if self.kind(other) == "map" and self.job(other) == self.job(task)]
        ended = sum(other.get("state") == "finished" for other in maps)
        return max(0, ceil(self.share * len(maps)) - ended)

    def maps_end(self, task: Mapping[str, Any], placed: Placed) -> list[int]:
        """When the maps of a reduce's job end that run, the first one first."""
        ends = {name: end for name, (_, _, end) in placed.items()} | self.until
        return sorted(
            end
            for name, end in ends.items()
            if self.kind(self.task_of[name]) == "map" and self.job(self.task_of[name]) == self.job(task)
        )

    def ending(self, task: Mapping[str, Any], node: int, start: int, placed: Placed) -> int:
        """When a task ends that starts then; the maps of its job are placed."""
        end = start + self.takes(task, node)
        return max([end, *self.maps_end(task, placed)]) if self.kind(task) == "reduce" else end

    def held(self, kind: str, node: int, placed: Placed) -> list[int]:
        """When the tasks of a kind end that run at the snapshot on a node."""
        return [
            max([until, *(self.maps_end(self.task_of[name], placed) if kind == "reduce" else [])])
            for name, until in self.until.items()
            if self.runs[name] == node and self.kind(self.task_of[name]) == kind
        ]

    def placed(self, decision: Decision) -> Placed:
        """What runs, with its end; maps first."""
        found: Placed = {}
        count = len(self.pending)
        for kind in self.kinds:
            for row, task in enumerate(self.pending):
                node, start = decision[row], decision[count + row]
                if self.kind(task) == kind and node is not None and start is not None:
                    found[task["id"]] = node, start, self.ending(task, node, start, found)
        return found

    def at_once(self, kind: str, node: int, instant: int, placed: Placed) -> int:
        """How many tasks of a kind run on a node at an instant."""
        here = [place for name, place in placed.items() if self.kind(self.task_of[name]) == kind and place[0] == node]
        return sum(start <= instant < end for _, start, end in here) + sum(
            instant < end for end in self.held(kind, node, placed)
        )

    def wrong(self, decision: Decision) -> set[tuple[str, tuple[str, ...]]]:
        """The constraints that a decision breaks, each with the ids that it is about."""
        found: set[tuple[str, tuple[str, ...]]] = set()
        placed = self.placed(decision)
        for task in self.pending:
            name, kind = task["id"], self.kind(task)
            if name not in placed:
                found.add(("every-task-runs", (name,)))
                continue
            node, start, _ = placed[name]
            maps, room = self.maps_end(task, placed), self.room[kind][node]
            if start < max(self.now, self.arrival(task)):
                found.add(("released", (name,)))
            if kind == "reduce" and sum(end <= start for end in maps) < self.needed(task) <= len(maps):
                found.add(("slowstart", (name,)))
            if not room or self.at_once(kind, node, start, placed) > room:
                found.add(("slots", (kind, self.node_ids[node])))
        return found

    def feasible(self, decision: Decision) -> bool:
        return not self.wrong(decision)

    def decisions(self) -> Iterator[Decision]:
        for maps in self.followed({}, [task for task in self.pending if self.kind(task) == "map"]):
            for placed in self.followed(maps, [task for task in self.pending if self.kind(task) == "reduce"]):
                places = [placed[task["id"]] for task in self.pending]
                yield (*(node for node, _, _ in places), *(start for _, start, _ in places))

    def followed(
        self, placed: Placed, waiting: list[dict[str, Any]], last: tuple[int, int] | None = None
    ) -> Iterator[Placed]:
        """Every way to start the tasks that wait, one after another: when it may be, or as another or a map ends."""
        if not waiting:
            yield placed
        for task in waiting:
            kind, row = self.kind(task), self.tasks.index(task)
            others = [other for other in waiting if other is not task]
            maps, needed = self.maps_end(task, placed), self.needed(task)
            early = max(self.now, self.arrival(task), maps[needed - 1] if kind == "reduce" and needed else self.now)
            for node in range(len(self.nodes)):
                here = [
                    end for name, (at, _, end) in placed.items() if at == node and self.kind(self.task_of[name]) == kind
                ]
                for start in sorted({early, *here, *maps, *self.held(kind, node, placed)}):
                    if start < early or (last is not None and (start, row) < last):
                        continue
                    end, room = self.ending(task, node, start, placed), self.room[kind][node]
                    free = end == start or self.at_once(kind, node, start, placed) < room  # no time takes no slot
                    if room and free:
                        yield from self.followed({**placed, task["id"]: (node, start, end)}, others, (start, row))

    def instants(self) -> list[int]:
        """Some instants at which tasks may start, mostly in vain."""
        spans = [self.takes(task, node) for task in self.pending for node in range(len(self.nodes))]
        return (
            [self.now + step for step in (0, 0, *spans)]
            + [self.arrival(task) for task in self.pending]
            + [self.now - 1]
        )

    def completions(self, decision: Decision) -> dict[str, int]:
        """When each job with something left ends."""
        placed = self.placed(decision)
        ends = {name: end for name, (_, _, end) in placed.items()}
        for name in self.runs:
            task = self.task_of[name]
            ends[name] = max([self.until[name], *(self.maps_end(task, placed) if self.kind(task) == "reduce" else [])])
        found: dict[str, int] = {}
        for name, end in ends.items():
            job = self.job(self.task_of[name])
            found[job] = max(found.get(job, self.now), end)
        return found

    def value(self, decision: Decision) -> Value:
        return (Fraction(max([self.now, *self.completions(decision).values()]) - self.now, 10**6),)


class JobTimes(Makespan):
    """The sum over jobs of the time from arrival to end."""

    defaults: ClassVar[Mapping[str, Any]] = {**Makespan.defaults, "weights": "equal"}

    def value(self, decision: Decision) -> Value:
        groups = {group["id"]: group["weight"] for group in self.document.get("groups", [])}
        total: Number = 0
        for job, end in self.completions(decision).items():
            task = next(task for task in self.left if self.job(task) == job)
            weight = 1 if self.parameters["weights"] == "equal" else groups[self.jobs[task["job"]]["group"]]
            total += weight * (end - self.arrival(task))
        return (Fraction(total) / 10**6,)
