"""The result of `explain`: tasks placed differently, the chains of moves, and their gains.

Numbers are exact. `Explanation.to_dict` has everything in the instance's ids, for JSON; `sentences` says it in words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from optsched.core.brief import brief, counted
from optsched.core.decimals import spelled
from optsched.core.instance import Ints
from optsched.core.placement import NONE
from optsched.core.results import Number, Sense, Termination, Value
from optsched.measuring.explaining.chains import Chain, Difference, own_costs_of, paid, total_gain
from optsched.measuring.explaining.changes import Conflict, Worth
from optsched.measuring.printing import number, value
from optsched.problems import Problem
from optsched.problems.base import OwnCosts, exact

if TYPE_CHECKING:
    from optsched.measuring.gaps import GapReport

#: The most chains that are written one by one, the most moves of each, and the most places of a cause, by default.
MOST, MOST_MOVES, MOST_PLACES = 10, 8, 3


@dataclass(frozen=True, slots=True)
class Move:
    """A task that is placed differently.

    Attributes
    ----------
    task
        Its id.
    here, there
        Ids of the nodes of the task in the heuristic's and in the better placement; None if it waits.
    cost_here, cost_there
        What the task pays by itself there, in the component `Explanation.cost_of`; None if it waits, or if costs depend
        only on tasks together.
    data_here, data_there
        `node`, `rack` or `off_rack`: how far a map is from the nearest replica of its block; None if it waits, or for a
        task without replicas.
    """

    task: str
    here: str | None
    there: str | None
    cost_here: Number | None
    cost_there: Number | None
    data_here: str | None
    data_there: str | None


@dataclass(frozen=True, eq=False, repr=False)
class ExplainedGap:
    """An explained gap: the common part of every explanation.

    `problem`: what is decided. `report`: the gap: the heuristic's decision, the reference, and their values.
    """

    problem: Any
    report: GapReport

    @property
    def who(self) -> str:
        """The source of the decision: the heuristic's name, or "the placement", "the schedule"."""
        return self.report.run.name

    @property
    def infeasible(self) -> bool:
        """Whether nothing is feasible."""
        return self.report.reference.solution.termination is Termination.INFEASIBLE

    @property
    def optimal(self) -> bool:
        """Whether the better decision is a proved optimum; else it is the best known one."""
        return self.report.reference.solution.optimal

    def gap_document(self, gap: Value | None) -> dict[str, Any]:
        """The explained gap, for JSON: whose, in which problem, and its size."""
        problem, reference = self.problem, self.report.reference
        components = [{"name": part.name, "sense": str(part.sense), "unit": part.unit} for part in problem.components]
        return {
            "instance": problem.instance.name,
            "problem": problem.name,
            "parameters": dict(problem.parameters),
            "heuristic": self.who,
            "heuristic_parameters": dict(self.report.run.parameters),
            "seed": self.report.seed,
            "components": components,
            "objective": _spelled(self.report.objective),
            "reference": _spelled(reference.solution.objective),
            "certificate": None if reference.certificate is None else str(reference.certificate),
            "gap": _spelled(gap),
        }

    def brief(self, gap: Value | None, rest: str) -> str:
        """Its representation, with `rest` after the gap."""
        where = self.problem.instance.name or "instance"
        if self.infeasible:
            return brief(f"{self.problem.name} on {where}: infeasible{rest}")
        gap_text = f"no better {self.problem.decided.noun} known" if gap is None else f"gap {', '.join(map(str, gap))}"
        return brief(f"{self.who} on {where}, {self.problem.name}: {gap_text}{rest}")

    def sentences(self, most: int = MOST) -> Iterator[str]:
        """The explanation in words, with `most` entries of each list."""
        raise NotImplementedError

    def __str__(self) -> str:
        return "\n".join(self.sentences())


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(ExplainedGap):
    """The reasons for the gap of a placement.

    Attributes
    ----------
    gap
        By how much the better placement is better, one number per component: positive if it is. All components are
        given, also after the first that differs. None without a better placement.
    difference
        The moves from the heuristic's placement to the better one; None if no better one is known.
    worths
        What one more slot, replica or room for a task would be worth, as far as it was asked for; the best first.
    no_worth
        Why there are no `worths` though they were asked for; else None.
    conflict
        If nothing is feasible: a few tasks that cannot be placed together. None also if none was found.
    """

    problem: Problem
    gap: Value | None
    difference: Difference | None
    worths: tuple[Worth, ...] = ()
    no_worth: str | None = None
    conflict: Conflict | None = None

    @property
    def chains(self) -> tuple[Chain, ...]:
        """The chains and cycles of moves; their gains sum to the gap."""
        return () if self.difference is None else self.difference.chains

    @cached_property
    def moved(self) -> int:
        """How many tasks are placed differently."""
        return sum(len(chain.positions) for chain in self.chains)

    @property
    def cost_of(self) -> str | None:
        """The component of `Move.cost_here` and `cost_there`; None if tasks pay nothing by themselves."""
        return None if self._own is None else self.problem.components[self._own.component].name

    def parted(self, most: int | None) -> tuple[tuple[Chain, ...], int, int, Value]:
        """The first `most` chains (None: all); of the others their number, their moves, and their gain."""
        left = () if most is None else self.chains[most:]
        moves = sum(len(chain.positions) for chain in left)
        return self.chains[:most], len(left), moves, total_gain(self.problem, left)

    def moves(self, chain: Chain) -> list[Move]:
        """The moves of a chain, in their order."""
        assert self.difference is not None
        tasks = self.problem.instance.workload.task_ids[self.problem.tasks[list(chain.positions)]].tolist()
        sides = [list(self._side(chain.positions, nodes)) for nodes in (self.difference.here, self.difference.there)]
        both = (tuple(zip(here, there, strict=True)) for here, there in zip(*sides, strict=True))
        return [Move(task, *place, *cost, *data) for task, (place, cost, data) in zip(tasks, both, strict=True)]

    @cached_property
    def _own(self) -> OwnCosts | None:
        """The own costs of tasks, computed in one pass over the tasks."""
        return own_costs_of(self.problem)

    def __getstate__(self) -> dict[str, Any]:
        """The state without derived values: own costs are functions, which cannot be sent to another process."""
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
        """Everything, in the instance's ids, for JSON; rationals that are no integers as `"p/q"`.

        Parameters
        ----------
        most
            The most chains that are written out; `rest` has the total gain of the others. None: all of them.
        """
        shown, left, moves, gain = self.parted(most)
        known = None if self.report.reference.solution.objective is None else "best-known"
        return {
            **self.gap_document(self.gap),
            "reference_kind": "infeasible" if self.infeasible else "optimum" if self.optimal else known,
            "moved": self.moved,
            "cost_of": self.cost_of,
            "fewest": self.difference is not None and self.difference.needed,
            "nearest": self.difference is not None and self.difference.nearest,
            "chains": [self._chain(chain) for chain in shown],
            "rest": {"chains": left, "moves": moves, "gain": _spelled(gain)},
            "worths": [
                {
                    **asdict(worth),
                    **{name: _spelled(getattr(worth, name)) for name in ("promised", "objective", "gain")},
                    "more": {resource: spelled(amount) for resource, amount in worth.more.items()},
                }
                for worth in self.worths
            ],
            "no_worth": self.no_worth,
            "conflict": None if self.conflict is None else asdict(self.conflict),
        }

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
        if self.infeasible:
            return self.brief(None, f", {self.conflict}")
        return self.brief(self.gap, f", {counted(len(self.chains), 'chain')} of {counted(self.moved, 'move')}")

    def sentences(self, most: int = MOST) -> Iterator[str]:
        """A line per sentence or chain; `most` chains are written one by one."""
        problem, report = self.problem, self.report
        where = f"{problem.instance.name or 'instance'}, {problem.name}"
        if self.infeasible:
            yield f"{where}: no placement is feasible."
            yield _conflict(self)
            return
        here, there = report.objective, report.reference.solution.objective
        parts = zip(problem.components, here or (), strict=True)
        values = ", ".join(f"{part.name} {value((number,))} ({part.unit})" for part, number in parts)
        best = "the proved optimum" if self.optimal else "the best placement known (not proved optimal)"
        best_value = "nothing" if there is None else value(there)
        yield f"{where}: {self.who} has {values}; {best}: {best_value}."
        if self.chains:
            yield from _heading(self)
            shown, left, moves, gain = self.parted(most)
            for rank, chain in enumerate(shown, start=1):
                yield f"{rank:3}. {_chain(self, chain)}"
            if left:
                yield f"     and {left} more of {counted(moves, 'move')}: together {gained(problem, gain)}"
            yield f"Together: {gained(problem, self.gap or ())}, which is the gap."
        elif self.optimal:
            yield "There is no gap: the placement is as good as the optimum."
        else:
            yield "No better placement is known to compare it with."
        if self.worths:
            yield "Solved again with one change of the cluster:"
            yield from (f"  -  {_worth(problem, worth)}" for worth in self.worths)
        if self.no_worth is not None:
            yield f"No change of the cluster was tried: {self.no_worth}."


def _spelled(value: Value | None) -> list[int | str | None] | None:
    return None if value is None else [spelled(entry) for entry in value]


# Causes: common features of moves to a better placement, such as maps that are avoidably off-rack ---------------------

#: How far a map may be from its data, nearest first.
_DISTANCES = ("node", "rack", "off_rack")


@dataclass(frozen=True, slots=True)
class Cause:
    """Maps that are equally far from their data, and nearer to it in a better placement.

    `data`: `rack` or `off_rack`: how far they are. `positions`: the maps, positions in `problem.tasks`. `gain`: how
    much less they pay by themselves; None if tasks pay nothing by themselves. `nodes`, `racks`: how many of them each
    node and each rack holds, by id, most first; no racks if all nodes share one.
    """

    data: str
    positions: tuple[int, ...]
    gain: Number | None
    nodes: Mapping[str, int]
    racks: Mapping[str, int]


def data_distance(problem: Problem, position: int, node: int) -> str | None:
    """`node`, `rack` or `off_rack`: how far a node is from the nearest replica of a task's block; None without any."""
    holders = problem.replicas[position]
    if not len(holders):
        return None
    if node in holders:
        return "node"
    rack = problem.instance.cluster.rack
    return "rack" if rack[node] != NONE and rack[node] in rack[holders] else "off_rack"


def causes_of(problem: Problem, here: Ints, there: Ints) -> list[Cause]:
    """The avoidable maps of a placement, those farthest from their data first.

    `here` and `there` are the node (or -1) of each of `problem.tasks` in the placement and in a better one.

    >>> from optsched.core.instance import Cluster, Instance, Ragged, Workload
    >>> from optsched.problems import Lsap
    >>> workload = Workload(["t1", "t2"], replicas=Ragged.from_rows([[0, 1], [0]]))
    >>> problem = Lsap(Instance(Cluster(["a", "b"]), workload))
    >>> causes_of(problem, np.array([0, 1]), np.array([1, 0]))
    [Cause(data='off_rack', positions=(1,), gain=1, nodes={'b': 1}, racks={})]
    """
    both = np.flatnonzero((here != there) & (here != NONE) & (there != NONE))
    own = own_costs_of(problem)
    gain = [0] * len(both)
    if own is not None:
        gain = (paid(problem, own, both, here[both]) - paid(problem, own, both, there[both])).tolist()
    order, cluster = _DISTANCES.index, problem.instance.cluster
    several = len(cluster.rack_ids) > 1
    found: dict[str, list[tuple[int, int]]] = {}
    for position, units in zip(both.tolist(), gain, strict=True):
        before, after = (data_distance(problem, position, int(nodes[position])) for nodes in (here, there))
        if before and after and order(after) < order(before) and (own is None or units > 0):
            found.setdefault(before, []).append((position, units))
    causes = []
    for data in sorted(found, key=order, reverse=True):
        positions = tuple(position for position, _ in found[data])
        nodes = here[list(positions)]
        racks = cluster.rack[nodes]
        causes.append(
            Cause(
                data,
                positions,
                None if own is None else exact(sum(units for _, units in found[data]), own.grid),
                dict(Counter(map(str, cluster.node_ids[nodes])).most_common()),
                dict(Counter(map(str, cluster.rack_ids[racks[several & (racks != NONE)]])).most_common()),
            )
        )
    return causes


_DATA = {"node": "where its data is", "rack": "in the rack of its data", "off_rack": "off-rack"}


def _heading(explanation: Explanation) -> Iterator[str]:
    problem, chains, found = explanation.problem, explanation.chains, explanation.difference
    assert found is not None
    tasks = f"{counted(explanation.moved, 'task')} of {len(problem.tasks)}"
    verb = "is" if explanation.moved == 1 else "are"
    if found.nearest:
        fewest = "; every optimum moves at least as many"
    else:
        fewest = "; every line is needed" if found.needed else ""
    yield f"{tasks} {verb} placed differently{fewest}."
    yield from (f"  -  {line}" for line in cause_lines(problem, causes_of(problem, found.here, found.there)))
    ordered = sum(chain.ordered for chain in chains)
    if ordered < len(chains):
        which = "Each line" if not ordered else f"Each of the first {counted(len(chains) - ordered, 'line')}"
        yield f"{which} is an independent change: it saves the same with or without the others."
    if ordered:
        which = "The lines" if ordered == len(chains) else f"The last {counted(ordered, 'line')}"
        yield f"{which} depend on their order: applied from the top, each saves the amount shown."


def _chain(explanation: Explanation, chain: Chain) -> str:
    moves = explanation.moves(replace(chain, positions=chain.positions[:MOST_MOVES]))
    text = gained(explanation.problem, chain.gain) + ": "
    pushes = chain.kind in ("chain", "cycle")
    for at, move in enumerate(moves):
        if at:
            text += ", which pushes " if pushes else "; "
        text += _move(move, pushed=bool(at) and pushes)
    more = len(chain.positions) - len(moves)
    if more:
        text += f", and so on, {counted(more, 'more move')}" if pushes else f"; and {counted(more, 'more move')}"
    if chain.kind == "cycle" and moves[-1].there is not None and not more:
        text += f", to the slot that {moves[0].task} leaves"
    return text + {"together": " (all at once)", "rest": " (in no separate moves)"}.get(chain.kind, "")


def _move(move: Move, pushed: bool) -> str:
    """A move in words; if a task is pushed, the previous move says from where."""
    if move.there is None:
        return f"{move.task} off {move.here}, to wait"
    where = "" if move.data_there in (None, move.data_here) else f", {_DATA[move.data_there or '']}"
    source = "" if pushed else " from waiting" if move.here is None else f" from {move.here}"
    before, after = move.cost_here, move.cost_there
    same = "still " if before == after else ""
    changed = "" if before in (None, after) else f", not {number(before)}"
    pays = "" if after is None else f" ({same}pays {number(after)}{changed})"
    return f"{move.task}{source} to {move.there}{where}{pays}"


def gained(problem: Problem, gain: Sequence[Number]) -> str:
    """A gain in words, by its components.

    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> from optsched.problems import Latency
    >>> gained(Latency(Instance(Cluster(["a"]), Workload(["t"]))), (3, -1))
    '3 less makespan, 1 more work'
    """
    parts = []
    for part, entry in zip(problem.components, gain, strict=True):
        if entry:
            more = (entry > 0) == (part.sense is Sense.MAX)
            parts.append(f"{number(entry if entry > 0 else -entry)} {'more' if more else 'less'} {part.name}")
    return ", ".join(parts) or "no change by itself"


def _worth(problem: Problem, worth: Worth) -> str:
    if worth.change == "slot":
        what = f"one more {worth.of} slot on {worth.node}"
    elif worth.change == "capacity":
        amounts = " and ".join(f"{number(amount)} more {resource}" for resource, amount in worth.more.items())
        what = f"{amounts} on {worth.node}, room for {worth.of}"
    else:
        what = f"one more replica of {worth.of}, on {worth.node}"
    if worth.gain is None:
        return f"{what}: not proved within the limit"
    optimum = value(worth.objective)
    stays = f"the optimum stays {optimum}"
    change = f"{gained(problem, worth.gain)} (optimum {optimum})" if any(worth.gain) else stays
    more = f", with {counted(worth.placed, 'task')} more placed" if worth.placed else ""
    return f"{what}: {change}{more}"


def _conflict(explanation: Explanation) -> str:
    conflict = explanation.conflict
    if conflict is None:
        return "No set of tasks was found that explains it."
    tasks, nodes = ", ".join(conflict.tasks), ", ".join(conflict.nodes)
    several = len(conflict.tasks) > 1
    these = f"These {len(conflict.tasks)} tasks"
    if conflict.slots is None:
        text = f"{these} cannot be placed together" if several else "One task cannot be placed"
        text += f": {tasks}." + (f" What forbids it are the limits of {nodes}." if nodes else "")
    elif several:
        hold = "together hold" if len(conflict.nodes) > 1 else "holds"
        text = f"{these} can only go to {nodes}, which {hold} {conflict.slots} of them: {tasks}."
    else:
        text = f"There is no room for {tasks}" + (f" on {nodes}, where alone it may go." if nodes else " on any node.")
    if several and conflict.irreducible:
        return f"{text} Without any one of them the others can be placed."
    return text + ("" if conflict.irreducible else " A smaller set may suffice: not every subset was tried.")


def cause_lines(problem: Problem, causes: Sequence[Cause]) -> Iterator[str]:
    """A line for each cause: how many maps, what they pay too much, and on which nodes, in which racks.

    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> from optsched.problems import Lsap
    >>> problem = Lsap(Instance(Cluster(["b"]), Workload(["t"])))
    >>> print(*cause_lines(problem, [Cause("rack", (0,), 1, {"b": 1}, {"r": 1})]))
    1 avoidable rack-local map (1 less locality-cost), on b, rack r
    """
    own = own_costs_of(problem)
    for cause in causes:
        gain = ""
        if own is not None and cause.gain is not None:
            gain = f" ({gained(problem, [cause.gain * (own.component == n) for n in range(len(problem.components))])})"
        called = "off-rack map" if cause.data == "off_rack" else "rack-local map"
        racks = f", {'rack' if len(cause.racks) == 1 else 'racks'} {_places(cause.racks)}" if cause.racks else ""
        yield f"{counted(len(cause.positions), f'avoidable {called}')}{gain}, on {_places(cause.nodes)}{racks}"


def _places(places: Mapping[str, int]) -> str:
    """The places that hold most, by name, each with its number unless that is 1."""
    names = [name if number == 1 else f"{name} ({number})" for name, number in places.items()]
    more = len(names) - MOST_PLACES
    return ", ".join(names[:MOST_PLACES]) + (f" and {more} more" if more > 0 else "")
