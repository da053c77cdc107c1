"""`fair-lsap` and `lsap-fairness` from Guo et al. 2012, section III.D: equations (8) to (15).

The formulas are lost in the paper's text; these are reconstructed from its words.
"""

from collections.abc import Mapping
from fractions import Fraction
from math import floor
from typing import Any, ClassVar

from .common import Decision, Number, Slotted, Value, off_data, on_grid

__all__ = ["FairLsap", "LsapFairness"]


class Grouped(Slotted):
    """Groups with weights w (8), running maps rt and shares s (9)."""

    def prepare(self) -> None:
        groups = self.document["groups"]
        whole = sum(group["weight"] for group in groups)
        self.weight = {group["id"]: Fraction(group["weight"]) / whole for group in groups}
        listed = [self.group(task) for task in self.running("map")]
        self.busy = {group["id"]: group.get("running_tasks", 0) + listed.count(group["id"]) for group in groups}

    def group(self, task: dict[str, Any]) -> str:
        """The group of a task's job."""
        name: str = self.jobs[task["job"]]["group"]
        return name

    def shares(self, busy: dict[str, int]) -> dict[str, Fraction]:
        """(9): each group's part of what runs; 0 where nothing does."""
        every = sum(busy.values())
        return {name: Fraction(number, every) if every else Fraction(0) for name, number in busy.items()}


class FairLsap(Grouped):
    """FC + DLC: the group's cost (10) within its ration (12), overflow (13) beyond it, and alpha off the data (11)."""

    defaults: ClassVar[Mapping[str, Any]] = {
        "alpha": 50,
        "beta": None,
        "gfc": "ratio",
        "rations": "floor",
        "selection": "fixed",
        "overflow": "weight",
        "fairness": 1,
    }

    def prepare(self) -> None:
        super().prepare()
        share, every = self.shares(self.busy), sum(node.get("slots", 1) for node in self.nodes)
        ratio = self.parameters["gfc"] == "ratio"
        cost = {g: 100 * share[g] / w if ratio else 100 * (share[g] - w) for g, w in self.weight.items()}
        members = {g: [row for row, task in enumerate(self.pending) if self.group(task) == g] for g in self.weight}
        due = {g: max(Fraction(0), min(every * w - self.busy[g], len(members[g]))) for g, w in self.weight.items()}
        self.ration = {g: floor(slots) for g, slots in due.items()}
        if self.parameters["rations"] == "largest-remainder":  # Guo et al. 2012, note 5
            left = floor(sum(due.values())) - sum(self.ration.values())
            for g in sorted(due, key=lambda g: self.ration[g] - due[g])[:left]:
                self.ration[g] += 1
        beta = self.parameters["beta"]
        if beta is None or beta == "auto":
            lightest = min(w for w in self.weight.values() if w)
            beta = max(Fraction(1), Fraction(101, 100) * max(cost.values()) / lightest)
        form = self.parameters["overflow"]
        beyond = {"weight": lambda w: beta * w, "complement": lambda w: beta * (1 - w), "flat": lambda w: beta}
        over = {g: cost[g] if form == "naive" else beyond[form](w) for g, w in self.weight.items()}
        part = self.parameters["fairness"]
        self.within = {g: on_grid(part * cost[g]) for g in self.weight}
        self.over = {g: on_grid(part * over[g]) for g in self.weight}
        self.alpha = on_grid(self.parameters["alpha"])
        idle = self.idle("map")
        near = [sum(idle[host] > 0 for host in self.hosts(task)) for task in self.pending]
        self.members = members
        self.chosen = {
            row
            for g, rows in members.items()
            for row in sorted(rows, key=lambda row: (near[row] == 0, near[row], row))[: self.ration[g]]
        }

    def value(self, decision: Decision) -> Value:
        total: Number = off_data(self, decision) * self.alpha
        for g, rows in self.members.items():
            placed = [row for row in rows if decision[row] is not None]
            if self.parameters["selection"] == "fixed":
                total += sum(self.within[g] if row in self.chosen else self.over[g] for row in placed)
            else:  # which of the group's tasks are within its ration is for the placement to say
                fewest = max(0, len(placed) - (len(rows) - self.ration[g]))
                most = min(len(placed), self.ration[g])
                total += min(
                    number * self.within[g] + (len(placed) - number) * self.over[g]
                    for number in range(fewest, most + 1)
                )
        return (total,)


class LsapFairness(Grouped):
    """Tasks off their data (5); then the mean (15) over the groups of |s - w|, or of |s - w|/w (14)."""

    defaults: ClassVar[Mapping[str, Any]] = {"distance": "absolute"}
    senses = ("min", "min")

    def value(self, decision: Decision) -> Value:
        busy = dict(self.busy)
        for task, node in zip(self.pending, decision, strict=True):
            busy[self.group(task)] += node is not None
        share = self.shares(busy)
        relative = self.parameters["distance"] == "relative"
        apart = [abs(share[g] - w) / (w if relative else 1) for g, w in self.weight.items()]
        return off_data(self, decision), sum(apart) / len(apart)
