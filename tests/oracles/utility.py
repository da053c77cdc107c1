"""`utility` from Sharmilarani et al., sections III.F to III.J: equations (6) to (10)."""

from collections.abc import Iterator, Mapping
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations_with_replacement
from math import ceil
from typing import Any, ClassVar

from .common import Decision, Number, Oracle, Value, on_grid

__all__ = ["Utility"]


def logarithmic(count: int, full: int, smoothed: bool) -> Fraction | None:
    """log(count)/log(full) - 1, to the grid; None for minus infinity."""
    if count == full:
        return Fraction(0)
    if smoothed:
        count, full = count + 1, full + 1
    if not count:
        return None
    with localcontext() as context:
        context.prec = 50
        return on_grid(Fraction(Decimal(count).ln() / Decimal(full).ln()) - 1)


class Utility(Oracle):
    """Any of the tasks on trackers within each capacity: highest lowest utility, then most of the capacities used."""

    kinds = ("map", "reduce")
    senses = ("max", "max")
    defaults: ClassVar[Mapping[str, Any]] = {
        "reduces": "free",
        "tables": "literal",
        "phase": "shuffle",
        "penalty": 1000,
    }

    def prepare(self) -> None:
        self.job_ids = [job for job in self.jobs if any(task["job"] == job for task in self.pending)]
        self.members = {
            (job, kind): [
                row for row, task in enumerate(self.pending) if task["job"] == job and task.get("kind", "map") == kind
            ]
            for job in self.job_ids
            for kind in self.kinds
        }
        self.lowest = -on_grid(self.parameters["penalty"])
        smoothed = self.parameters["tables"] == "smoothed"
        self.worth: dict[tuple[str, str], list[Fraction | None]] = {}
        for (job, kind), rows in self.members.items():
            pending = len(rows)
            required = self.required(self.jobs[job], pending) if kind == "map" else pending
            self.worth[job, kind] = [
                self.table(count, required, pending, kind, smoothed) for count in range(pending + 1)
            ]
        self.free: list[dict[str, Number]] = []
        for position, node in enumerate(self.nodes):
            free = dict(node.get("capacity", {}))
            for task in self.running("map", "reduce"):
                if self.place[task["node"]] == position:
                    for resource, taken in self.demand(task).items():
                        free[resource] = free.get(resource, 0) - taken
            self.free.append(free)
        self.share = {
            (group, node): self.part(self.demand(self.pending[rows[0]]), node)
            for group, rows in self.members.items()
            for node in range(len(self.nodes))
            if rows
        }
        self.fixed = self.spread() if self.parameters["reduces"] == "fixed" else None

    def required(self, job: dict[str, Any], pending: int) -> int:
        """s_req (section III.G): maps at once so that the goal is met."""
        goal, now = job.get("goal"), self.document.get("time", 0)
        if goal is None or not pending:
            return 0
        return pending if goal <= now else ceil(pending * Fraction(job["map_time"]) / (goal - now))

    @staticmethod
    def table(count: int, required: int, pending: int, kind: str, smoothed: bool) -> Fraction | None:
        """(7), with what notes 1 and 2 on it say where it divides by zero."""
        if kind == "reduce" or count < required:
            return logarithmic(count, required, smoothed)
        return Fraction(1) if count == pending else on_grid(Fraction(count - required, pending - required))

    def demand(self, task: dict[str, Any]) -> dict[str, Number]:
        """Gamma of a task: of a reduce that shuffles its own profile, where it has one."""
        found: dict[str, Number] = task.get("demand", {})
        if task.get("kind", "map") == "reduce" and self.parameters["phase"] == "shuffle":
            found = task.get("demand_shuffle", found)
        return found

    def part(self, demand: dict[str, Number], node: int) -> Fraction:
        """What one task takes of a tracker's capacities, added up over the resources and rounded once."""
        capacity = self.nodes[node].get("capacity", {})
        if any(taken > capacity[resource] for resource, taken in demand.items() if taken):
            return Fraction(0)  # it does not fit
        taking = [(taken, capacity[resource]) for resource, taken in demand.items() if taken]
        return on_grid(sum((Fraction(taken) / most for taken, most in taking), Fraction(0)))

    def spread(self) -> dict[tuple[str, int], int]:
        """Section III.J: reduces before maps, each on the tracker with room that has fewest, then fewest of its job."""
        found: dict[tuple[str, int], int] = {}
        running = [(task["job"], self.place[task["node"]]) for task in self.running("reduce")]
        every = [sum(at == node for _, at in running) for node in range(len(self.nodes))]
        left = [dict(free) for free in self.free]
        for job in self.job_ids:
            for row in self.members[job, "reduce"]:
                demand = self.demand(self.pending[row])
                room = [
                    node
                    for node in range(len(self.nodes))
                    if all(taken <= left[node][resource] for resource, taken in demand.items() if taken)
                ]
                if not room:
                    break
                node = min(room, key=lambda at: (every[at], running.count((job, at)) + found.get((job, at), 0), at))
                found[job, node] = found.get((job, node), 0) + 1
                every[node] += 1
                for resource, taken in demand.items():
                    if taken:
                        left[node][resource] -= taken
        return found

    def within(self, decision: Decision) -> bool:
        """(10): no capacity overdrawn by what is placed; a node that running tasks overdraw takes none of it."""
        for node in range(len(self.nodes)):
            left = dict(self.free[node])
            taking: set[str] = set()
            for row, at in enumerate(decision):
                if at == node:
                    for resource, taken in self.demand(self.pending[row]).items():
                        if taken:
                            left[resource] -= taken
                            taking.add(resource)
            if any(left[resource] < 0 for resource in taking):
                return False
        return True

    def feasible(self, decision: Decision) -> bool:
        if not self.within(decision):
            return False
        if self.fixed is None:
            return True
        placed: dict[tuple[str, int], int] = {}
        for task, node in zip(self.pending, decision, strict=True):
            if node is not None and task.get("kind", "map") == "reduce":
                placed[task["job"], node] = placed.get((task["job"], node), 0) + 1
        return placed == self.fixed

    def decisions(self) -> Iterator[Decision]:
        return self._extended([None] * len(self.pending), list(self.members.values()))

    def _extended(self, chosen: list[int | None], groups: list[list[int]]) -> Iterator[Decision]:
        """Tasks of one job and kind are the same: how many of them a tracker gets is all that matters."""
        if not groups:
            if self.feasible(tuple(chosen)):
                yield tuple(chosen)
            return
        for nodes in combinations_with_replacement([None, *range(len(self.nodes))], len(groups[0])):
            for row, node in zip(groups[0], nodes, strict=True):
                chosen[row] = node
            if self.within(tuple(chosen)):
                yield from self._extended(chosen, groups[1:])
        for row in groups[0]:
            chosen[row] = None

    def value(self, decision: Decision) -> Value:
        used = sum(
            self.share[(job, kind), decision[row]]
            for (job, kind), rows in self.members.items()
            for row in rows
            if decision[row] is not None
        )
        return min(self.utilities(decision), default=Fraction(0)), used

    def utilities(self, decision: Decision) -> list[Fraction]:
        """(6) of each job."""
        utility = []
        for job in self.job_ids:
            parts = []
            for kind in self.kinds:
                hosts = [decision[row] for row in self.members[job, kind]]
                parts.append(self.worth[job, kind][sum(node is not None for node in hosts)])
            known = [part for part in parts if part is not None]
            utility.append(sum(known, Fraction(0)) if len(known) == len(parts) else self.lowest)
        return utility
