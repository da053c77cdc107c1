"""What explaining a gap gives: the tasks placed differently, the chains that they make, and what the gap is made of.

Numbers are exact. `Explanation.to_dict` has everything in the instance's ids, for JSON; `words` says it in sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from optsched.brief import brief, counted
from optsched.decimals import spelled
from optsched.explaining.causes import data_distance
from optsched.explaining.chains import Chain, Difference, own_costs_of, total_gain
from optsched.explaining.conflict import Conflict
from optsched.explaining.worth import Worth
from optsched.instance import Ints
from optsched.placement import NONE
from optsched.problems import Problem
from optsched.problems.base import OwnCosts, exact
from optsched.results import Number, Termination, Value

if TYPE_CHECKING:
    from optsched.gaps import GapReport

__all__ = ["Explanation", "Move"]


@dataclass(frozen=True, slots=True)
class Move:
    """A task that is placed differently.

    Attributes
    ----------
    task
        Its id.
    here, there
        Ids of the nodes where the heuristic and the better placement have it; None where it waits.
    cost_here, cost_there
        What the task pays by itself there, in the component that `Explanation.cost_of` names; None where it waits, and
        where costs are of tasks together alone.
    data_here, data_there
        `node`, `rack` or `remote`: how far a map is from the nearest replica of its block; None where it waits, and for
        a task without replicas.
    """

    task: str
    here: str | None
    there: str | None
    cost_here: Number | None
    cost_there: Number | None
    data_here: str | None
    data_there: str | None


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Why the gap of a placement is there.

    Attributes
    ----------
    problem
        What is decided.
    report
        The gap: the heuristic's placement, the reference, and what was found of them.
    who
        What placed the tasks: the heuristic's name, or "the placement".
    gap
        By how much the better placement is better, one number a component: positive where it is. All components are
        told, also after the first that differs. None without a better placement.
    difference
        The moves from the heuristic's placement to the better one; None where no better one is known.
    worths
        What one more slot, replica or room for a task would be worth, as far as it was asked for; the best first.
    no_worth
        Why there are no `worths` though they were asked for; else None.
    conflict
        Where nothing is feasible: a few tasks that cannot be placed together. None also where none was found.
    """

    problem: Problem
    report: GapReport
    who: str
    gap: Value | None
    difference: Difference | None
    worths: tuple[Worth, ...] = ()
    no_worth: str | None = None
    conflict: Conflict | None = None

    @property
    def optimal(self) -> bool:
        """Whether the better placement is a proved optimum; else it is the best that is known."""
        return self.report.reference.solution.optimal

    @property
    def infeasible(self) -> bool:
        """Whether no placement is feasible."""
        return self.report.reference.solution.termination is Termination.INFEASIBLE

    @property
    def chains(self) -> tuple[Chain, ...]:
        """The chains and cycles of moves; their gains add up to the gap."""
        return () if self.difference is None else self.difference.chains

    @cached_property
    def moved(self) -> int:
        """How many tasks are placed differently."""
        return sum(len(chain.positions) for chain in self.chains)

    @property
    def cost_of(self) -> str | None:
        """The component that `Move.cost_here` and `cost_there` are of; None where tasks pay nothing by themselves."""
        return None if self._own is None else self.problem.components[self._own.component].name

    def moves(self, chain: Chain) -> list[Move]:
        """The moves of a chain, in their order."""
        assert self.difference is not None
        tasks = self.problem.instance.workload.task_ids[self.problem.tasks[list(chain.positions)]].tolist()
        sides = [list(self._side(chain.positions, nodes)) for nodes in (self.difference.here, self.difference.there)]
        return [
            Move(task, here[0], there[0], here[1], there[1], here[2], there[2])
            for task, here, there in zip(tasks, *sides, strict=True)
        ]

    @cached_property
    def _own(self) -> OwnCosts | None:
        """What tasks pay by themselves; it takes a pass over the tasks to tell."""
        return own_costs_of(self.problem)

    def __getstate__(self) -> dict[str, Any]:
        """Without what is worked out: own costs are functions, which another process cannot be sent."""
        return {name: value for name, value in vars(self).items() if name != "_own"}

    def _side(self, positions: Sequence[int], nodes: Ints) -> Iterator[tuple[str | None, Number | None, str | None]]:
        """The node, the own cost and the distance from its data of each task."""
        which = np.array([position for position in positions if nodes[position] != NONE], dtype=np.int64)
        own, ids = self._own, self.problem.instance.cluster.node_ids
        units = iter([] if own is None else own.units(which, nodes[which]).tolist())
        for position in positions:
            node = int(nodes[position])
            if node == NONE:
                yield None, None, None
            else:
                paid = None if own is None else exact(next(units), own.grid)
                yield str(ids[node]), paid, data_distance(self.problem, position, node)

    def to_dict(self, most: int | None = None) -> dict[str, Any]:
        """All of it, in the instance's ids, for JSON; rationals that are no integers as `"p/q"`.

        Parameters
        ----------
        most
            So many chains are written out; what the others gain together is in `rest`. None: all of them.
        """
        report = self.report
        shown = self.chains if most is None else self.chains[:most]
        left = self.chains[len(shown) :]
        return {
            "instance": self.problem.instance.name,
            "problem": self.problem.name,
            "parameters": dict(self.problem.parameters),
            "heuristic": self.who,
            "heuristic_parameters": dict(report.run.parameters),
            "seed": report.seed,
            "components": [
                {"name": part.name, "sense": str(part.sense), "unit": part.unit} for part in self.problem.components
            ],
            "objective": _spelled(report.objective),
            "reference": _spelled(report.reference.solution.objective),
            "reference_kind": self._reference_kind,
            "certificate": None if report.reference.certificate is None else str(report.reference.certificate),
            "gap": _spelled(self.gap),
            "moved": self.moved,
            "cost_of": self.cost_of,
            "fewest": self.difference is not None and self.difference.needed,
            "nearest": self.difference is not None and self.difference.nearest,
            "chains": [self._chain(chain) for chain in shown],
            "rest": {
                "chains": len(left),
                "moves": sum(len(chain.positions) for chain in left),
                "gain": _spelled(total_gain(self.problem, left)),
            },
            "worths": [
                {
                    "change": worth.change,
                    "node": worth.node,
                    "of": worth.of,
                    "promised": _spelled(worth.promised),
                    "objective": _spelled(worth.objective),
                    "gain": _spelled(worth.gain),
                    "placed": worth.placed,
                    "more": {resource: spelled(amount) for resource, amount in worth.more.items()},
                }
                for worth in self.worths
            ],
            "no_worth": self.no_worth,
            "conflict": None if self.conflict is None else asdict(self.conflict),
        }

    @property
    def _reference_kind(self) -> str | None:
        if self.infeasible:
            return "infeasible"
        if self.report.reference.solution.objective is None:
            return None
        return "optimum" if self.optimal else "best-known"

    def _chain(self, chain: Chain) -> dict[str, Any]:
        return {
            "kind": chain.kind,
            "gain": _spelled(chain.gain),
            "ordered": chain.ordered,
            "moves": [
                {
                    "task": move.task,
                    "from": move.here,
                    "to": move.there,
                    "cost_from": spelled(move.cost_here),
                    "cost_to": spelled(move.cost_there),
                    "data_from": move.data_here,
                    "data_to": move.data_there,
                }
                for move in self.moves(chain)
            ],
        }

    def __repr__(self) -> str:
        told = "no better placement known" if self.gap is None else f"gap {', '.join(map(str, self.gap))}"
        where = self.problem.instance.name or "instance"
        if self.infeasible:
            return brief(f"{self.problem.name} on {where}: infeasible, {self.conflict}")
        counts = f"{counted(len(self.chains), 'chain')} of {counted(self.moved, 'move')}"
        return brief(f"{self.who} on {where}, {self.problem.name}: {told}, {counts}")

    def __str__(self) -> str:
        from optsched.explaining.words import sentences

        return "\n".join(sentences(self))


def _spelled(value: Value | None) -> list[int | str | None] | None:
    return None if value is None else [spelled(entry) for entry in value]
