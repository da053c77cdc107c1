"""`fair-lsap`: locality cost plus fairness cost between groups (Guo et al. 2012, section III.D, equations 8 to 15).

The paper's formulas are missing from its text. docs/papers.md, under Guo et al. 2012, has our readings and the reasons.
Here the fairness distances (14), (15) only measure a placement; in `lsap-fairness` they are part of the objective.
`Groups` has the weights of groups and their shares of the occupied slots.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from optsched.core.decimals import decimal
from optsched.core.errors import Fault
from optsched.core.instance import MAP, PENDING, RUNNING, Instance, Ints
from optsched.core.placement import NONE, Placement
from optsched.core.results import Component, Proof, Sense
from optsched.problems.assignment import LevelledProblem, Pool
from optsched.problems.base import GRID, exact_sum
from optsched.problems.parameters import Parameter, choice, either, number
from optsched.problems.programs import Programmed


def missing_groups(instance: Instance, problem: str, positive: str | None = None) -> Iterator[Fault]:
    """The faults of an instance that lacks weights of its groups: one fault per record.

    `problem` names the caller. `positive` says who needs every weight to be positive, and why; None: nobody.
    """
    workload = instance.workload
    if not len(workload.group_ids):
        yield Fault("groups", f"{problem} needs groups with weights")
        return
    for group in np.flatnonzero(np.isnan(workload.group_weight)).tolist():
        yield Fault(f"groups[{group}].weight", f"{problem} needs the group's share")
    if not np.nansum(workload.group_weight) > 0:
        yield Fault("groups.weight", "the weights must have a positive sum")
    elif positive is not None:
        for group in np.flatnonzero(workload.group_weight == 0).tolist():
            yield Fault(f"groups[{group}].weight", f"{positive}: give a positive share")
    yield from missing_group_of_tasks(instance, problem)


def missing_group_of_tasks(instance: Instance, problem: str, running: bool = True) -> Iterator[Fault]:
    """Pending maps without a group; also running ones, if they count (`running`)."""
    workload, status = instance.workload, instance.state.status
    active = (workload.kind == MAP) & ((status == PENDING) | (running & (status == RUNNING)))
    for task in np.flatnonzero(active & (workload.group < 0)).tolist():
        job = int(workload.job[task])
        place = f"tasks[{task}].job" if job < 0 else f"jobs[{job}].group"
        yield Fault(place, f'{problem} needs a group for task "{workload.task_ids[task]}"')


@dataclass(frozen=True)
class Groups:
    """The groups of an instance with their weights.

    Attributes
    ----------
    ids
        Ids of the groups.
    weights
        Share due to each group, w: fractions that sum to 1 (Guo et al. 2012, equation 8). Weights count as the decimals
        that they are written as, so that 0.2, 0.3, 0.5 are the shares of 2, 3, 5.
    running
        Running maps of each group, rt.
    """

    ids: list[str]
    weights: list[Fraction]
    running: list[int]

    @classmethod
    def of(cls, instance: Instance) -> Groups:
        """The groups of an instance without faults. Running maps are those that a group counts, and those listed."""
        workload, state = instance.workload, instance.state
        given = [decimal(weight) for weight in workload.group_weight.tolist()]
        total = sum(given)
        running = (state.status == RUNNING) & (workload.kind == MAP)
        listed = np.bincount(workload.group[running], minlength=len(given))
        counts = np.maximum(state.group_running_tasks, 0) + listed
        return cls(workload.group_ids.tolist(), [weight / total for weight in given], counts.tolist())

    def shares(self, placed: Sequence[int] | Ints | None = None) -> list[Fraction]:
        """Share of each group in all running maps, after `placed` more of each start; 0 if no map runs (eq. 9)."""
        more = [0] * len(self.running) if placed is None else [int(number) for number in placed]
        counts = [busy + extra for busy, extra in zip(self.running, more, strict=True)]
        total = sum(counts)
        return [Fraction(count, total) if total else Fraction(0) for count in counts]

    def distance(self, placed: Sequence[int] | Ints | None = None, relative: bool = False) -> Fraction:
        """Mean over the groups of |s - w|, after `placed` more of each start (Guo et al. 2012, equations 14 and 15).

        `relative` divides each group's distance by its weight, the other reading of equation 14.

        >>> groups = Groups(["g", "h"], [Fraction(1, 4), Fraction(3, 4)], [1, 1])
        >>> groups.distance(), groups.distance([0, 2]), groups.distance(relative=True)
        (Fraction(1, 4), Fraction(0, 1), Fraction(2, 3))
        """
        distances = [
            abs(share - weight) / (weight if relative else 1)
            for share, weight in zip(self.shares(placed), self.weights, strict=True)
        ]
        return sum(distances, Fraction(0)) / len(distances)


class RationRuleWarning(UserWarning):
    """With this beta a task beyond its group's ration may be cheaper than one within another group's ration."""


def rations(due: Sequence[Fraction], remainders: bool = False) -> list[int]:
    """Whole slots for each group from the slots due to it, rounded down (Guo et al. 2012, equation 12).

    With `remainders`, the sum of the fractions is distributed too: one slot each for the groups with the largest
    fractions; equal ones in the order of the file (Guo et al. 2012, note 5).

    >>> due = [Fraction(5, 2), Fraction(5, 3), Fraction(5, 6)]
    >>> rations(due), rations(due, remainders=True)
    ([2, 1, 0], [2, 2, 1])
    """
    floors = [math.floor(slots) for slots in due]
    if remainders:
        left = math.floor(sum(due, Fraction(0))) - sum(floors)
        for group in sorted(range(len(due)), key=lambda group: floors[group] - due[group])[:left]:
            floors[group] += 1
    return floors


class FairLsap(LevelledProblem, Programmed):
    """Exactly min(tasks, idle slots) tasks on idle slots, at least fairness cost FC plus locality cost DLC.

    Each group may take `ration` more slots (Guo et al.'s sto, equation 12, rounded down; Guo et al. 2012, note 5, has
    another reading). That many of its tasks cost the group's fairness cost (GFC, equation 10); its other tasks cost the
    overflow cost (equation 13). A task off its replicas' nodes costs `alpha` more (DLC, equation 11).

    With `selection=fixed` the rationed tasks are chosen in advance, as in the paper's lines 18 to 27: first tasks with
    a replica on an idle node, those with the fewest such nodes leading, then in the order of the file. With
    `selection=free` the placement itself chooses them (Guo et al. 2012, note 8).

    Attributes
    ----------
    groups
        The groups, with their shares.
    weights
        Share of each group, fractions that sum to 1 (equation 8).
    running
        Running maps of each group (rt).
    ration
        How many tasks of each group are within its share (sto).
    group_cost, overflow_cost
        GFC and the cost beyond the ration, as fractions, before rounding to the grid.
    beta
        The value in force.
    """

    name = "fair-lsap"
    title = "tasks to idle slots, least fairness cost plus locality cost"
    paper = "003"
    components = (Component("fairness-and-locality-cost", Sense.MIN, "cost"),)
    parameter_table = (
        Parameter("alpha", 50, number(lowest=0), "cost of a task off its replicas' nodes (DLC, Guo et al. 2012, (11))"),
        Parameter(
            "beta",
            None,
            either({"auto": None}, number(lowest=0)),
            "scale of the overflow cost; auto: 1.01 max(GFC)/min(w), at least 1",
        ),
        Parameter(
            "gfc", "ratio", choice("ratio", "difference"), "GFC (Guo et al. 2012, (10)): 100 s/w, or 100 (s - w)"
        ),
        Parameter(
            "rations",
            "floor",
            choice("floor", "largest-remainder"),
            "of fractions of slots (Guo et al. 2012, (12)): none, or whole slots to the groups with the largest ones",
        ),
        Parameter("selection", "fixed", choice("fixed", "free"), "who is within the ration: by the paper, or optimal"),
        Parameter(
            "overflow",
            "weight",
            choice("weight", "complement", "flat", "naive"),
            "beyond the ration: beta w (Guo et al. 2012, (13)), beta (1 - w), beta, or GFC as within (their straw man)",
        ),
        Parameter(
            "fairness", 1, number(lowest=0), "weight of the fairness cost; 0: plain lsap, levels 0, alpha, alpha"
        ),
    )
    requires = ("groups[].weight", "jobs[].group", "tasks[].job")
    proof = Proof.DUAL
    grid = GRID

    @classmethod
    def missing(cls, instance: Instance, parameters: Mapping[str, Any]) -> Iterator[Fault]:
        ratio = parameters["gfc"] == "ratio"
        return missing_groups(instance, "fair-lsap", "gfc=ratio divides by it" if ratio else None)

    def prepare_costs(self) -> None:
        parameters = self.parameters
        self.groups = Groups.of(self.instance)
        self.weights, self.running = self.groups.weights, self.groups.running
        groups = len(self.weights)
        self.task_group: Ints = self.instance.workload.group[self.tasks]
        waiting = np.bincount(self.task_group, minlength=groups).tolist()
        slots = exact_sum(self.instance.cluster.slots)
        self.ration = rations(
            [
                min(max(weight * slots - busy, Fraction(0)), Fraction(tasks))
                for weight, busy, tasks in zip(self.weights, self.running, waiting, strict=True)
            ],
            parameters["rations"] == "largest-remainder",
        )
        used = self.groups.shares()
        if parameters["gfc"] == "ratio":
            self.group_cost = [100 * share / weight for share, weight in zip(used, self.weights, strict=True)]
        else:
            self.group_cost = [100 * (share - weight) for share, weight in zip(used, self.weights, strict=True)]
        self.beta = self._beta()
        forms = {
            "weight": [self.beta * weight for weight in self.weights],
            "complement": [self.beta * (1 - weight) for weight in self.weights],
            "flat": [self.beta] * groups,
            "naive": list(self.group_cost),
        }
        self.overflow_cost = forms[parameters["overflow"]]
        fairness = decimal(parameters["fairness"])
        within = [round(fairness * cost * GRID) for cost in self.group_cost]
        beyond = [round(fairness * cost * GRID) for cost in self.overflow_cost]
        alpha = round(decimal(parameters["alpha"]) * GRID)
        self.levels = (0, alpha, alpha)
        if parameters["selection"] == "free":
            self._free_pools(within, beyond, waiting)
        else:
            self._fixed_pools(within, beyond)

    def _beta(self) -> Fraction:
        """The user's beta, or the smallest that keeps rationed tasks cheaper than all others, with a margin of 1 %."""
        highest, lowest = max(self.group_cost), min(self.weights)
        enough = highest / min(weight for weight in self.weights if weight)
        if self.parameters["beta"] is None:
            beta = max(Fraction(1), Fraction(101, 100) * enough)
        else:
            beta = decimal(self.parameters["beta"])
        if self.parameters["overflow"] == "weight" and beta * lowest <= highest:
            mend = f"take more than {float(enough):g}" if lowest else "give every group a positive weight"
            warnings.warn(
                f"beta={float(beta):g}: a group's overflow cost of {float(beta * lowest):g} is not above the "
                f"largest GFC of {float(highest):g}, so tasks beyond a ration may be favoured; {mend}",
                RationRuleWarning,
                stacklevel=2,
            )
        return beta

    def _free_pools(self, within: list[int], beyond: list[int], waiting: list[int]) -> None:
        """A pool for each group; the first of its placed tasks, whichever they are, pay the cheaper tier."""
        ids = self.instance.workload.group_ids.tolist()
        self.pool = self.task_group
        self.pools = tuple(
            Pool(ids[group], tuple(sorted([(within[group], rationed), (beyond[group], tasks - rationed)])))
            for group, (rationed, tasks) in enumerate(zip(self.ration, waiting, strict=True))
        )

    def _fixed_pools(self, within: list[int], beyond: list[int]) -> None:
        """Two pools for each group: the tasks chosen in advance (Guo et al. 2012, lines 19 to 27) and the others."""
        ids = self.instance.workload.group_ids.tolist()
        chosen = np.zeros(len(self.tasks), dtype=bool)
        chosen[self.selected()] = True
        self.pool = 2 * self.task_group + ~chosen
        sizes = np.bincount(self.pool, minlength=2 * len(ids)).tolist()
        self.pools = tuple(
            Pool(f"{name}:{part}", ((units[group], sizes[2 * group + late]),))
            for group, name in enumerate(ids)
            for late, (part, units) in enumerate((("ration", within), ("overflow", beyond)))
        )

    def selected(self) -> Ints:
        """Positions of the tasks within their groups' rations: the paper's DLT first, by fewest choices."""
        choices = self.idle_replicas.lengths
        order = np.lexsort((choices, choices == 0))  # ties in the order of the file
        groups = self.task_group[order]
        picked = [order[groups == group][:rationed] for group, rationed in enumerate(self.ration)]
        return np.concatenate(picked) if picked else np.zeros(0, dtype=np.int64)

    def fairness_distance(self, placement: Placement | None = None, relative: bool = False) -> Fraction:
        """Mean over the groups of |s - w|, before (None) or after a placement (Guo et al. 2012, equations 14 and 15).

        `relative` divides each group's distance by its weight, the other reading of equation 14; ValueError if a weight
        is 0.
        """
        if relative and not all(self.weights):
            raise ValueError("a group of weight 0 has no relative distance; leave relative out")
        placed = None
        if placement is not None:
            placed = np.bincount(self.task_group[self.nodes_of(placement) != NONE], minlength=len(self.weights))
        return self.groups.distance(placed, relative)
