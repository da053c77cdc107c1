"""An explanation in sentences, for a reader who is no optimiser."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from optsched.explaining.causes import Cause, causes_of
from optsched.explaining.chains import Chain, own_costs_of, total_gain
from optsched.explaining.explanation import Explanation, Move
from optsched.explaining.worth import Worth
from optsched.problems import Problem
from optsched.results import Number, Sense

__all__ = ["MOST", "cause_lines", "gained", "sentences"]

#: So many chains are told one by one, and so many moves of each, unless more are asked for; so many places of a cause.
MOST, MOST_MOVES, MOST_PLACES = 10, 8, 3

_DATA = {"node": "where its data is", "rack": "in the rack of its data", "remote": "away from its data"}


def sentences(explanation: Explanation, most: int = MOST) -> Iterator[str]:
    """The explanation, a line a sentence or a chain; `most` chains are told one by one."""
    if explanation.infeasible:
        problem = explanation.problem
        yield f"{problem.instance.name or 'instance'}, {problem.name}: no placement is feasible."
        yield _conflict(explanation)
        return
    yield _values(explanation)
    if explanation.chains:
        yield from _differences(explanation, most)
    else:
        yield _nothing(explanation)
    if explanation.worths:
        yield "Solved again with one change of the cluster:"
        yield from (f"  -  {_worth(explanation.problem, worth)}" for worth in explanation.worths)
    if explanation.no_worth is not None:
        yield f"No change of the cluster was tried: {explanation.no_worth}."


def _differences(explanation: Explanation, most: int) -> Iterator[str]:
    yield from _heading(explanation)
    shown = explanation.chains[:most]
    for number, chain in enumerate(shown, start=1):
        yield f"{number:3}. {_chain(explanation, chain)}"
    left = explanation.chains[len(shown) :]
    if left:
        moves = sum(len(chain.positions) for chain in left)
        together = gained(explanation.problem, total_gain(explanation.problem, left))
        yield f"     and {_counted(len(left), 'more')} of {_counted(moves, 'move')}: together {together}"
    yield f"Together: {gained(explanation.problem, explanation.gap or ())}, which is the gap."


def _values(explanation: Explanation) -> str:
    problem, report = explanation.problem, explanation.report
    here, there = report.objective, report.reference.solution.objective
    names = ", then ".join(f"{part.name} ({part.unit})" for part in problem.components)
    best = "the proved optimum" if explanation.optimal else "the best placement known, which is not proved the best"
    told = f"{problem.instance.name or 'instance'}, {problem.name}: {explanation.who} has {_value(here)} {names}"
    return f"{told}; {best}: {_value(there)}."


def _nothing(explanation: Explanation) -> str:
    if explanation.optimal:
        return "There is no gap: the placement is as good as the optimum."
    return "No better placement is known, so that there is nothing to compare it with."


def _heading(explanation: Explanation) -> Iterator[str]:
    problem, chains, found = explanation.problem, explanation.chains, explanation.difference
    assert found is not None
    tasks = f"{_counted(explanation.moved, 'task')} of {len(problem.tasks)}"
    verb = "is" if explanation.moved == 1 else "are"
    fewest = "; no optimum moves fewer" if found.nearest else ", and no line can be left out" if found.needed else ""
    yield f"{tasks} {verb} placed differently{fewest}."
    yield from (f"  -  {line}" for line in cause_lines(problem, causes_of(problem, found.here, found.there)))
    ordered = sum(chain.ordered for chain in chains)
    if ordered < len(chains):
        which = "Each line" if not ordered else f"Each of the first {_counted(len(chains) - ordered, 'line')}"
        yield f"{which} is a change that can be made without the others, and always saves as much."
    if ordered:
        which = "The lines" if ordered == len(chains) else f"The last {_counted(ordered, 'line')}"
        yield f"{which} are made one after another, from the top; in another order each may save more or less."


def _chain(explanation: Explanation, chain: Chain) -> str:
    moves = explanation.moves(chain) if len(chain.positions) <= MOST_MOVES else explanation.moves(_cut(chain))
    text = gained(explanation.problem, chain.gain) + ": "
    pushes = chain.kind in ("chain", "cycle")
    for number, move in enumerate(moves):
        if number:
            text += ", which pushes " if pushes else "; "
        text += _move(move, pushed=bool(number) and pushes)
    more = len(chain.positions) - len(moves)
    if more:
        text += f", and so on, {_counted(more, 'more move')}" if pushes else f"; and {_counted(more, 'more move')}"
    if chain.kind == "cycle" and moves[-1].there is not None and not more:
        text += f", to the slot that {moves[0].task} leaves"
    return text + {"together": " (all at once)", "rest": " (not told apart)"}.get(chain.kind, "")


def _cut(chain: Chain) -> Chain:
    return Chain(chain.positions[:MOST_MOVES], chain.gain, chain.kind, chain.ordered)


def _move(move: Move, pushed: bool) -> str:
    """A move in words; where a task is pushed, the move before says from where."""
    if move.there is None:
        return f"{move.task} off {move.here}, to wait"
    where = "" if move.data_there in (None, move.data_here) else f", {_DATA[move.data_there or '']}"
    source = "" if pushed else " from waiting" if move.here is None else f" from {move.here}"
    return f"{move.task}{source} to {move.there}{where}{_pays(move)}"


def _pays(move: Move) -> str:
    if move.cost_there is None:
        return ""
    there = _shown(move.cost_there)
    if move.cost_here is None:
        return f" (pays {there})"
    here = _shown(move.cost_here)
    return f" (still pays {there})" if move.cost_here == move.cost_there else f" (pays {there}, not {here})"


def gained(problem: Problem, gain: Sequence[Number]) -> str:
    """A gain in words, by its components.

    Examples
    --------
    >>> from optsched.instance import Cluster, Instance, Workload
    >>> from optsched.problems import Latency
    >>> gained(Latency(Instance(Cluster(["a"]), Workload(["t"]))), (3, -1))
    '3 less makespan, 1 more work'
    """
    told = []
    for part, entry in zip(problem.components, gain, strict=True):
        if entry:
            more = (entry > 0) == (part.sense is Sense.MAX)
            told.append(f"{_shown(entry if entry > 0 else -entry)} {'more' if more else 'less'} {part.name}")
    return ", ".join(told) or "no change by itself"


def _worth(problem: Problem, worth: Worth) -> str:
    if worth.change == "slot":
        what = f"one more {worth.of} slot on {worth.node}"
    elif worth.change == "capacity":
        amounts = " and ".join(f"{_shown(amount)} more {resource}" for resource, amount in worth.more.items())
        what = f"{amounts} on {worth.node}, room for {worth.of}"
    else:
        what = f"one more replica of {worth.of}, on {worth.node}"
    if worth.gain is None:
        return f"{what}: not proved within the limit"
    told = gained(problem, worth.gain) if any(worth.gain) else "the optimum stays as it is"
    more = f", with {_counted(worth.placed, 'task')} more placed" if worth.placed else ""
    return f"{what}: {told} ({_value(worth.objective)}){more}"


def _conflict(explanation: Explanation) -> str:
    conflict = explanation.conflict
    if conflict is None:
        return "No set of tasks was found that explains it."
    tasks, nodes = ", ".join(conflict.tasks), ", ".join(conflict.nodes)
    several = len(conflict.tasks) > 1
    these = f"These {len(conflict.tasks)} tasks"
    if conflict.slots is None:
        told = f"{these} cannot be placed together" if several else "One task cannot be placed"
        told += f": {tasks}." + (f" What forbids it are the limits of {nodes}." if nodes else "")
    elif several:
        hold = "together hold" if len(conflict.nodes) > 1 else "holds"
        told = f"{these} can only go to {nodes}, which {hold} {conflict.slots} of them: {tasks}."
    else:
        told = f"There is no room for {tasks}" + (f" on {nodes}, where alone it may go." if nodes else " on any node.")
    if several and conflict.irreducible:
        return f"{told} Without any one of them the others can be placed."
    return told + ("" if conflict.irreducible else " Perhaps fewer of them do as well: not each was tried.")


def cause_lines(problem: Problem, causes: Sequence[Cause]) -> Iterator[str]:
    """A line for each cause: how many maps, what they pay too much, and on which nodes, in which racks.

    Examples
    --------
    >>> from optsched.instance import Cluster, Instance, Workload
    >>> from optsched.problems import Lsap
    >>> problem = Lsap(Instance(Cluster(["b"]), Workload(["t"])))
    >>> print(*cause_lines(problem, [Cause("rack", (0,), 1, {"b": 1}, {"r": 1})]))
    1 avoidable rack-local map (1 less locality-cost), on b, rack r
    """
    own = own_costs_of(problem)
    for cause in causes:
        told = ""
        if own is not None and cause.gain is not None:
            told = f" ({gained(problem, [cause.gain * (own.component == n) for n in range(len(problem.components))])})"
        called = "remote map" if cause.data == "remote" else "rack-local map"
        racks = f", {'rack' if len(cause.racks) == 1 else 'racks'} {_places(cause.racks)}" if cause.racks else ""
        yield f"{_counted(len(cause.positions), f'avoidable {called}')}{told}, on {_places(cause.nodes)}{racks}"


def _places(places: Mapping[str, int]) -> str:
    """The places that hold most, by name, each with its number where that is not 1."""
    names = [name if number == 1 else f"{name} ({number})" for name, number in places.items()]
    more = len(names) - MOST_PLACES
    return ", ".join(names[:MOST_PLACES]) + (f" and {more} more" if more > 0 else "")


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 or noun == 'more' else 's'}"


def _value(value: Sequence[Number] | None) -> str:
    return "nothing" if value is None else ", ".join(map(_shown, value))


def _shown(number: Number) -> str:
    return f"{float(number):.6g}" if isinstance(number, Fraction) else str(number)
